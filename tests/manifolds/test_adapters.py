"""Manifolds of pymanopt, geoopt and geomstats made ours, and ours run by pymanopt's solvers."""

from __future__ import annotations

import importlib
import math
import sys

import numpy as np
import pytest

from geoduel.errors import (
    ArgumentError,
    GeoduelError,
    MissingExtraError,
    MissingOperationError,
    NotOnManifoldError,
    NotTangentError,
)
from geoduel.manifolds.adapters import from_geomstats, from_geoopt, from_pymanopt, to_pymanopt
from geoduel.manifolds.euclidean import Euclidean
from geoduel.manifolds.hyperbolic import Hyperbolic
from geoduel.manifolds.product import Power, Product
from geoduel.manifolds.rotations import Rotations
from geoduel.manifolds.spd import SPD
from geoduel.manifolds.sphere import Sphere
from geoduel.optimize import minimize
from geoduel.oracles import from_objective


def pymanopt_manifold(name, *arguments, **options):
    return from_pymanopt(
        getattr(pytest.importorskip("pymanopt.manifolds"), name)(*arguments, **options)
    )


def geoopt_manifold(name, shape, **options):
    peer = getattr(pytest.importorskip("geoopt"), name)(**options)
    return from_geoopt(peer.double(), shape)


def geomstats_manifold(module, name, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        if not hasattr(np, "trapz"):  # NumPy 2.4 has dropped it, geomstats 2.8.0 imports it
            patch.setattr(np, "trapz", np.trapezoid, raising=False)
        pytest.importorskip("geomstats", exc_type=ImportError)
        space = getattr(importlib.import_module(f"geomstats.{module}"), name)
    return from_geomstats(space(*arguments))


PEERS = {
    "pymanopt sphere": lambda: pymanopt_manifold("Sphere", 4),
    "pymanopt SPD": lambda: pymanopt_manifold("SymmetricPositiveDefinite", 2),
    "pymanopt SPD^2": lambda: pymanopt_manifold("SymmetricPositiveDefinite", 2, k=2),
    "pymanopt SO": lambda: pymanopt_manifold("SpecialOrthogonalGroup", 3),
    "pymanopt Stiefel": lambda: pymanopt_manifold("Stiefel", 4, 2),
    "pymanopt Grassmann": lambda: pymanopt_manifold("Grassmann", 4, 2),
    "pymanopt Poincare": lambda: pymanopt_manifold("PoincareBall", 3),
    "pymanopt positive": lambda: pymanopt_manifold("Positive", 2, 2),
    "pymanopt symmetric": lambda: pymanopt_manifold("Symmetric", 3),
    "geoopt sphere": lambda: geoopt_manifold("Sphere", 4),
    "geoopt SPD": lambda: geoopt_manifold("SymmetricPositiveDefinite", (2, 2)),
    "geoopt Stiefel": lambda: geoopt_manifold("CanonicalStiefel", (4, 2)),
    "geoopt Poincare": lambda: geoopt_manifold("PoincareBall", 3),
    "geoopt Lorentz": lambda: geoopt_manifold("Lorentz", 4),
    "geoopt scaled": lambda: from_geoopt(
        pytest.importorskip("geoopt").Scaled(pytest.importorskip("geoopt").Sphere(), 2.0).double(),
        4,
    ),
    "geomstats sphere": lambda: geomstats_manifold("geometry.hypersphere", "Hypersphere", 3),
    "geomstats SPD": lambda: geomstats_manifold("geometry.spd_matrices", "SPDMatrices", 2),
    "geomstats SO": lambda: geomstats_manifold(
        "geometry.special_orthogonal", "SpecialOrthogonal", 3
    ),
    "geomstats Stiefel": lambda: geomstats_manifold("geometry.stiefel", "Stiefel", 4, 2),
    "geomstats Grassmann": lambda: geomstats_manifold(
        "geometry.grassmannian", "Grassmannian", 4, 2
    ),
    "geomstats hyperboloid": lambda: geomstats_manifold("geometry.hyperboloid", "Hyperboloid", 3),
}


@pytest.fixture(params=PEERS, scope="module")
def manifold(request):
    return PEERS[request.param]()


def sample(manifold, seed, batch=()):
    """Points x, y and tangent vectors v, w at x of length 1/2, at random."""
    rng = np.random.default_rng(seed)
    x, y = manifold.random_point(rng, batch), manifold.random_point(rng, batch)
    return x, y, manifold.unit_tangent(rng, x) / 2, manifold.unit_tangent(rng, x) / 2


# -- every peer -----------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_coordinates_are_isometric(manifold, batch):
    x, _, v, w = sample(manifold, 0, batch)
    c, d = manifold.to_coords(x, v), manifold.to_coords(x, w)
    assert c.shape == (*batch, manifold.dim)
    np.testing.assert_allclose(np.vecdot(c, d), manifold.inner(x, v, w), atol=1e-12)
    np.testing.assert_allclose(manifold.from_coords(x, c), v, atol=1e-12)
    np.testing.assert_allclose(manifold.norm(x, v), 1 / 2, rtol=1e-12)


def test_unit_tangents_are_tangent_and_uniform_in_the_metric(manifold):
    """In a Gram-Schmidt basis of the peer's product: E cᵢcⱼ = δᵢⱼ/d, within 5 standard errors."""
    rng = np.random.default_rng(1)
    x = manifold.random_point(rng)
    basis = []
    while len(basis) < manifold.dim:
        e = manifold.to_tangent(x, manifold.unit_tangent(rng, x))
        for _ in range(2):
            e = e - sum(manifold.inner(x, e, b) * b for b in basis)
        basis.append(e / manifold.norm(x, e))
    u = manifold.unit_tangent(rng, x, (400,))
    manifold.check_tangent(x, u[:3])
    c = np.stack([manifold.inner(x, u, b) for b in basis], axis=-1)
    products = c[:, :, None] * c[:, None, :]
    error = np.std(products, axis=0) / math.sqrt(len(c))
    gap = np.abs(np.mean(products, axis=0) - np.eye(manifold.dim) / manifold.dim)
    assert np.all(gap < 5 * error + 1e-12)


def test_batches_are_single_points_side_by_side(manifold):
    x, y, v, _ = sample(manifold, 2, (2, 2))
    for name, arrays in [
        ("exp", (x, v)),
        ("log", (x, y)),
        ("dist", (x, y)),
        ("transport", (x, y, v)),
        ("inner", (x, v, v)),
        ("to_tangent", (x, y)),
        ("riemannian_gradient", (x, y)),
    ]:
        operation = getattr(manifold, name)
        try:
            whole = operation(*arrays)
        except MissingOperationError:
            continue
        single = np.stack(
            [operation(*parts) for parts in zip(*(a[1] for a in arrays), strict=True)]
        )
        np.testing.assert_allclose(whole[1], single, rtol=1e-9, atol=1e-9, err_msg=name)


def test_riemannian_gradient_represents_the_derivative(manifold):
    x, _, v, _ = sample(manifold, 3)
    g = np.random.default_rng(4).standard_normal(x.shape)
    if x.shape == (2, 2) or "symmetric" in str(manifold):
        g = g + g.T  # partial derivatives along symmetric matrices
    # pymanopt's rotations keep tangent vectors in other terms than the ambient ones.
    ambient = manifold.peer.embedding(x, v) if hasattr(manifold.peer, "embedding") else v
    gradient = manifold.riemannian_gradient(x, g)
    assert manifold.inner(x, gradient, v) == pytest.approx(np.sum(g * ambient), abs=1e-10)


def test_nothing_moves_along_a_zero_vector(manifold):
    x, _, v, _ = sample(manifold, 5, (3,))
    mixed = v * np.array([0.0, 1.0, 0.0]).reshape(3, *(1,) * (v.ndim - 1))
    y = manifold.exp(x, mixed)
    np.testing.assert_array_equal(y[::2], x[::2])
    assert np.all(np.isfinite(y))
    assert np.any(y[1] != x[1])


def test_points_are_repeatable_and_no_global_generator_is_touched(manifold):
    np.random.seed(7)  # noqa: NPY002
    x = manifold.random_point(np.random.default_rng(6), (2,))
    first = np.random.random()  # noqa: NPY002
    np.random.seed(7)  # noqa: NPY002
    assert np.random.random() == first  # noqa: NPY002
    np.testing.assert_array_equal(manifold.random_point(np.random.default_rng(6), (2,)), x)
    assert np.any(x[0] != x[1])
    manifold.check_point(x)
    np.testing.assert_allclose(manifold.to_manifold(x), x, atol=1e-6)


# -- against our own ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peer", "own"),
    [
        ("pymanopt sphere", Sphere(4)),
        ("geoopt sphere", Sphere(4)),
        ("geomstats sphere", Sphere(4)),
        ("pymanopt SPD", SPD(2)),
        ("geoopt SPD", SPD(2)),
        ("geomstats SPD", SPD(2)),
        ("geomstats SO", Rotations(3)),
        ("geoopt Lorentz", Hyperbolic(3)),
        ("geomstats hyperboloid", Hyperbolic(3)),
        ("pymanopt SPD^2", Power(SPD(2), 2)),
    ],
)
def test_peers_with_our_conventions_agree_with_us(peer, own):
    manifold = PEERS[peer]()
    assert (manifold.dim, manifold.point_shape) == (own.dim, own.point_shape)
    x, y, v, w = sample(own, 8, (5,))
    x, y = own.to_manifold(x), own.to_manifold(y)
    close = {"rtol": 1e-6, "atol": 1e-6}  # geoopt's and pymanopt's arccos loses half the digits
    np.testing.assert_allclose(manifold.exp(x, v), own.exp(x, v), **close)
    np.testing.assert_allclose(manifold.log(x, y), own.log(x, y), **close)
    np.testing.assert_allclose(manifold.dist(x, y), own.dist(x, y), **close)
    np.testing.assert_allclose(manifold.inner(x, v, w), own.inner(x, v, w), **close)
    np.testing.assert_allclose(
        manifold.riemannian_gradient(x, v), own.riemannian_gradient(x, v), **close
    )
    np.testing.assert_allclose(manifold.unit_tangent(np.random.default_rng(0), x).shape, x.shape)


@pytest.mark.parametrize(
    "peer", ["geomstats sphere", "geomstats SPD", "geomstats SO", "geoopt Lorentz"]
)
def test_parallel_transport_of_the_peers_that_have_it(peer):
    own = {
        "geomstats sphere": Sphere(4),
        "geomstats SPD": SPD(2),
        "geomstats SO": Rotations(3),
    }.get(peer, Hyperbolic(3))
    manifold = PEERS[peer]()
    x, y, v, w = sample(own, 9, (4,))
    np.testing.assert_allclose(manifold.transport(x, y, v), own.transport(x, y, v), atol=1e-8)
    np.testing.assert_allclose(
        manifold.transport_along(x, v, w), own.transport_along(x, v, w), atol=1e-8
    )


def test_the_poincare_balls_are_our_hyperbolic_space():
    own = Hyperbolic(3)
    x, y, v, _ = sample(own, 10, (4,))
    p, q, u = own.to_poincare(x), own.to_poincare(y), own.to_poincare_tangent(x, v)
    for peer in ("pymanopt Poincare", "geoopt Poincare"):
        ball = PEERS[peer]()
        # pymanopt goes through arcosh, geoopt rounds its curvature to single precision.
        np.testing.assert_allclose(ball.dist(p, q), own.dist(x, y), rtol=1e-6)
        np.testing.assert_allclose(ball.exp(p, u), own.to_poincare(own.exp(x, v)), atol=1e-6)
        np.testing.assert_allclose(ball.norm(p, u), own.norm(x, v), rtol=1e-6)


def test_pymanopt_rotations_keep_their_convention():
    """Tangent vectors are skew factors; lengths are √2 times the angle."""
    manifold, own = PEERS["pymanopt SO"](), Rotations(3)
    x, y, _, _ = sample(own, 11, (3,))
    omega = manifold.log(x, y)
    np.testing.assert_allclose(omega, -omega.mT, atol=1e-14)
    np.testing.assert_allclose(x @ omega, own.log(x, y), atol=1e-9)
    np.testing.assert_allclose(manifold.dist(x, y), math.sqrt(2) * own.dist(x, y), rtol=1e-9)
    np.testing.assert_allclose(manifold.to_tangent(x, omega), omega, atol=1e-14)


def test_uniform_directions_at_an_ill_conditioned_point():
    """Whitened second moments are a third each; pymanopt's own are .003, .907 and .091."""
    spd, x = PEERS["pymanopt SPD"](), np.diag([100.0, 1.0])
    u = spd.unit_tangent(np.random.default_rng(12), x, (20_000,))
    w = u / np.sqrt(np.outer(np.diag(x), np.diag(x)))
    moments = np.stack([w[:, 0, 0], w[:, 1, 1], math.sqrt(2) * w[:, 0, 1]], axis=-1) ** 2
    error = np.std(moments, axis=0) / math.sqrt(len(u))
    assert np.all(np.abs(np.mean(moments, axis=0) - 1 / 3) < 4 * error)


def test_pymanopt_products_become_ours():
    peers = pytest.importorskip("pymanopt.manifolds")
    product = from_pymanopt(peers.Product([peers.Sphere(3), peers.Euclidean(2, 2)]))
    own = Product(Sphere(3), Euclidean(2, 2))
    assert isinstance(product, Product)
    x, y, _, _ = sample(own, 13, (2,))
    np.testing.assert_allclose(product.dist(x, y), own.dist(x, y), rtol=1e-9)


def test_geoopt_axes_in_front_make_a_power():
    power = geoopt_manifold("Sphere", (3, 4))
    assert isinstance(power, Power)
    x, y, _, _ = sample(Power(Sphere(4), 3), 14)
    assert power.dist(x, y) == pytest.approx(Power(Sphere(4), 3).dist(x, y), rel=1e-9)
    assert geoopt_manifold("Euclidean", (2, 3)) == Euclidean(2, 3)


def test_geoopt_products_know_their_shape():
    geoopt = pytest.importorskip("geoopt")
    product = from_geoopt(geoopt.ProductManifold((geoopt.Sphere(), 3), (geoopt.Euclidean(1), 2)))
    own = Product(Sphere(3), Euclidean(2))
    assert (product.dim, product.point_shape) == (own.dim, own.point_shape)
    x, y, v, _ = sample(own, 15, (2,))
    np.testing.assert_allclose(product.dist(x, y), own.dist(x, y), rtol=1e-6)
    np.testing.assert_allclose(product.exp(x, v), own.exp(x, v), atol=1e-12)


def test_geoopt_canonical_stiefel_projects():
    """Its own `proju` doubles the part of a tangent vector along x."""
    manifold = PEERS["geoopt Stiefel"]()
    x, _, v, _ = sample(manifold, 16)
    np.testing.assert_allclose(manifold.to_tangent(x, v), v, atol=1e-13)


# -- arrays ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("peer", ["pymanopt sphere", "geoopt sphere", "geomstats sphere"])
def test_the_kind_of_array_is_kept(peer):
    torch = pytest.importorskip("torch")
    manifold = PEERS[peer]()
    x, y, v, _ = sample(Sphere(4), 17, (2,))
    for like in (torch.zeros(1), torch.zeros(1, dtype=torch.float64), np.zeros(1, np.float32)):
        kind = (
            (lambda a, like=like: a.astype(like.dtype))
            if isinstance(like, np.ndarray)
            else (lambda a, like=like: torch.as_tensor(a, dtype=like.dtype))
        )
        for result in (
            manifold.exp(kind(x), kind(v)),
            manifold.dist(kind(x), kind(y)),
            manifold.unit_tangent(np.random.default_rng(0), kind(x)),
            manifold.random_point(np.random.default_rng(0), (2,), like),
        ):
            assert type(result) is type(like)
            assert result.dtype == like.dtype
        np.testing.assert_allclose(manifold.exp(kind(x), kind(v)), manifold.exp(x, v), atol=1e-6)


def test_gradients_flow_through_geoopt():
    torch = pytest.importorskip("torch")
    manifold = PEERS["geoopt sphere"]()
    x, _, v, _ = (torch.as_tensor(a) for a in sample(Sphere(4), 18))
    v.requires_grad_()
    manifold.exp(x, v)[0].backward()
    expected = torch.func.grad(lambda v: Sphere(4).exp(x, v)[0])(v.detach())
    torch.testing.assert_close(v.grad, expected)


def test_the_basis_is_that_of_the_point_asked():
    """The last basis is remembered; another point, or the same array written to, gets its own."""
    manifold = PEERS["pymanopt SPD"]()
    x = np.diag([100.0, 1.0])
    c = np.ones(3)
    first = manifold.from_coords(x, c)
    np.testing.assert_array_equal(manifold.from_coords(x, c), first)
    x[0, 0] = 1.0
    assert manifold.norm(x, manifold.from_coords(x, c)) == pytest.approx(math.sqrt(3), rel=1e-12)


# -- what is missing or wrong ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peer", "name"),
    [
        ("pymanopt Stiefel", "log"),
        ("pymanopt Stiefel", "dist"),
        ("pymanopt Poincare", "transport"),
        ("geoopt Stiefel", "log"),
        ("geomstats Stiefel", "transport"),
    ],
)
def test_missing_operations_are_named(peer, name):
    manifold = PEERS[peer]()
    x, y, v, _ = sample(manifold, 19)
    with pytest.raises(
        MissingOperationError, match=f"of {peer.split()[0]} has no {name}"
    ) as caught:
        getattr(manifold, name)(*((x, y, v) if name == "transport" else (x, y)))
    assert isinstance(caught.value, NotImplementedError)


def test_what_is_no_manifold_is_refused():
    for convert, package in [
        (from_pymanopt, "pymanopt"),
        (from_geomstats, "geomstats"),
        (from_geoopt, "geoopt"),
    ]:
        with pytest.raises(ArgumentError, match=f"must be a manifold of {package}, got Sphere"):
            convert(Sphere(3))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("ComplexCircle", (3,)), ("FixedRankEmbedded", (4, 3, 2)), ("ComplexGrassmann", (4, 2))],
)
def test_points_that_are_no_real_arrays_are_refused(name, arguments):
    with pytest.raises(ArgumentError, match="must be arrays of real numbers"):
        pymanopt_manifold(name, *arguments)


def test_geoopt_needs_a_shape_that_fits():
    with pytest.raises(ArgumentError, match="shape is missing: Sphere manifold of geoopt"):
        geoopt_manifold("Sphere", None)
    with pytest.raises(ArgumentError, match=r"shape must have 2 axes .* got \(3,\)"):
        geoopt_manifold("EuclideanStiefel", 3)
    with pytest.raises(ArgumentError, match=r"shape\[0\] must be an integer >= 1"):
        geoopt_manifold("Sphere", (0,))
    with pytest.raises(ArgumentError, match="must be arrays of real numbers"):
        geoopt_manifold("UpperHalf", (2, 2))


def test_a_space_of_geomstats_needs_a_metric():
    class Space:
        shape, metric = (3,), None
        belongs = to_tangent = None

    with pytest.raises(ArgumentError, match="equip_with_metric"):
        from_geomstats(Space())


def test_a_projection_of_the_wrong_rank_is_reported():
    """pymanopt's elliptope does not project on its own tangent spaces."""
    manifold = pymanopt_manifold("Elliptope", 4, 2)
    with pytest.raises(GeoduelError, match="do not span 3 dimensions"):
        manifold.unit_tangent(
            np.random.default_rng(20), manifold.random_point(np.random.default_rng(20))
        )


def test_points_and_vectors_are_checked_where_the_peer_can():
    sphere = PEERS["geoopt sphere"]()
    with pytest.raises(NotOnManifoldError, match="of geoopt"):
        sphere.check_point(np.ones(4))
    for manifold in (sphere, PEERS["pymanopt sphere"]()):
        x = np.eye(4)[0]
        manifold.check_tangent(x, np.eye(4)[1])
        with pytest.raises(NotTangentError):
            manifold.check_tangent(x, x)
        with pytest.raises(ArgumentError, match="shape"):
            manifold.check_point(np.ones(3))


def test_bounds_are_told_by_the_caller():
    peer = pytest.importorskip("pymanopt.manifolds").Sphere(3)
    assert from_pymanopt(peer).curvature == (-math.inf, math.inf)
    told = from_pymanopt(peer, curvature=(1.0, 1.0), injectivity_radius=math.pi)
    assert (told.curvature, told.injectivity_radius) == ((1.0, 1.0), math.pi)


# -- methods here on their manifolds, solvers there on ours ---------------------------------------


def test_minimize_runs_on_a_manifold_of_pymanopt():
    sphere = PEERS["pymanopt sphere"]()
    a = np.diag([4.0, 3.0, 2.0, 1.0])
    oracle = from_objective(lambda x: -x @ a @ x)
    result = minimize(oracle, sphere, np.full(4, 0.5), budget=1500, rng=0)
    assert result.x @ a @ result.x == pytest.approx(4.0, abs=0.05)
    assert np.linalg.norm(result.x) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("solver", ["SteepestDescent", "ConjugateGradient"])
def test_pymanopt_minimises_a_rayleigh_quotient_on_our_sphere(solver):
    pymanopt = pytest.importorskip("pymanopt")
    rng = np.random.default_rng(21)
    a = rng.standard_normal((10, 10))
    a = a + a.T
    sphere = to_pymanopt(Sphere(10), rng=rng)
    cost = pymanopt.function.numpy(sphere)(lambda x: x @ a @ x)
    gradient = pymanopt.function.numpy(sphere)(lambda x: 2 * a @ x)
    problem = pymanopt.Problem(sphere, cost, euclidean_gradient=gradient)
    optimizer = getattr(pymanopt.optimizers, solver)(verbosity=0, max_iterations=2000)
    result = optimizer.run(problem)
    assert result.cost == pytest.approx(np.linalg.eigvalsh(a)[0], abs=1e-8)


def test_pymanopt_finds_a_geometric_mean_on_our_matrices():
    """Half the sum of squared distances to A and B; its gradient is minus the sum of the logs."""
    pymanopt = pytest.importorskip("pymanopt")
    spd = SPD(3)
    a, b = spd.random_point(np.random.default_rng(22), (2,))
    peer = to_pymanopt(spd, rng=23)
    cost = pymanopt.function.numpy(peer)(
        lambda x: (peer.dist(x, a) ** 2 + peer.dist(x, b) ** 2) / 2
    )
    gradient = pymanopt.function.numpy(peer)(lambda x: -peer.log(x, a) - peer.log(x, b))
    problem = pymanopt.Problem(peer, cost, riemannian_gradient=gradient)
    result = pymanopt.optimizers.ConjugateGradient(verbosity=0).run(problem)
    assert spd.dist(result.point, peer.pair_mean(a, b)) < 1e-5


def test_our_manifold_and_back():
    pytest.importorskip("pymanopt")
    own = Hyperbolic(3)
    back = from_pymanopt(to_pymanopt(own, rng=0))
    assert (back.dim, back.point_shape, back.typical_dist) == (own.dim, (4,), own.typical_dist)
    x, y, v, _ = sample(own, 24, (3,))
    np.testing.assert_allclose(back.exp(x, v), own.exp(x, v), rtol=1e-14)
    np.testing.assert_allclose(back.dist(x, y), own.dist(x, y), rtol=1e-14)
    np.testing.assert_allclose(back.transport(x, y, v), own.transport(x, y, v), atol=1e-13)


def test_to_pymanopt_draws_from_the_generator_given():
    pytest.importorskip("pymanopt")
    first, second = (to_pymanopt(Sphere(3), rng=25) for _ in range(2))
    x = first.random_point()
    np.testing.assert_array_equal(x, second.random_point())
    assert first.norm(x, first.random_tangent_vector(x)) == pytest.approx(1, rel=1e-14)
    np.testing.assert_array_equal(first.zero_vector(x), np.zeros(3))
    with pytest.raises(ArgumentError, match="must be a Manifold of geoduel, got 3"):
        to_pymanopt(3)


def test_without_pymanopt_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymanopt", None)
    monkeypatch.setitem(sys.modules, "pymanopt.manifolds", None)
    monkeypatch.setitem(sys.modules, "pymanopt.manifolds.manifold", None)
    with pytest.raises(MissingExtraError, match=r"geoduel\[bench\]"):
        to_pymanopt(Sphere(3))
