"""Manifolds of pymanopt, geoopt and geomstats made ours: what is true of all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import (
    ArgumentError,
    GeoduelError,
    MissingOperationError,
    NotOnManifoldError,
    NotTangentError,
)
from geoduel.manifolds.adapters import from_geomstats, from_geoopt, from_pymanopt
from geoduel.manifolds.hyperbolic import Hyperbolic
from geoduel.manifolds.product import Power
from geoduel.manifolds.rotations import Rotations
from geoduel.manifolds.spd import SPD
from geoduel.manifolds.sphere import Sphere
from geoduel.optimize import minimize
from geoduel.study import create_study


@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_coordinates_are_isometric(manifold, batch, sample):
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


def test_batches_are_single_points_side_by_side(manifold, sample):
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


def test_riemannian_gradient_represents_the_derivative(manifold, sample):
    x, _, v, _ = sample(manifold, 3)
    g = np.random.default_rng(4).standard_normal(x.shape)
    if x.shape == (2, 2) or "symmetric" in str(manifold):
        g = g + g.T  # partial derivatives along symmetric matrices
    # pymanopt's rotations keep tangent vectors in other terms than the ambient ones.
    ambient = manifold.peer.embedding(x, v) if hasattr(manifold.peer, "embedding") else v
    gradient = manifold.riemannian_gradient(x, g)
    assert manifold.inner(x, gradient, v) == pytest.approx(np.sum(g * ambient), abs=1e-10)


def test_nothing_moves_along_a_zero_vector(manifold, sample):
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
def test_peers_with_our_conventions_agree_with_us(peer, own, peers, sample):
    manifold = peers[peer]()
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
def test_parallel_transport_of_the_peers_that_have_it(peer, peers, sample):
    own = {
        "geomstats sphere": Sphere(4),
        "geomstats SPD": SPD(2),
        "geomstats SO": Rotations(3),
    }.get(peer, Hyperbolic(3))
    manifold = peers[peer]()
    x, y, v, w = sample(own, 9, (4,))
    np.testing.assert_allclose(manifold.transport(x, y, v), own.transport(x, y, v), atol=1e-8)
    np.testing.assert_allclose(
        manifold.transport_along(x, v, w), own.transport_along(x, v, w), atol=1e-8
    )


def test_the_poincare_balls_are_our_hyperbolic_space(peers, sample):
    own = Hyperbolic(3)
    x, y, v, _ = sample(own, 10, (4,))
    p, q, u = own.to_poincare(x), own.to_poincare(y), own.to_poincare_tangent(x, v)
    for peer in ("pymanopt Poincare", "geoopt Poincare"):
        ball = peers[peer]()
        # pymanopt goes through arcosh, geoopt rounds its curvature to single precision.
        np.testing.assert_allclose(ball.dist(p, q), own.dist(x, y), rtol=1e-6)
        np.testing.assert_allclose(ball.exp(p, u), own.to_poincare(own.exp(x, v)), atol=1e-6)
        np.testing.assert_allclose(ball.norm(p, u), own.norm(x, v), rtol=1e-6)


@pytest.mark.parametrize("peer", ["pymanopt sphere", "geoopt sphere", "geomstats sphere"])
def test_the_kind_of_array_is_kept(peer, peers, sample):
    torch = pytest.importorskip("torch")
    manifold = peers[peer]()
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


def test_the_basis_is_that_of_the_point_asked(peers):
    """The last basis is remembered; another point, or the same array written to, gets its own."""
    manifold = peers["pymanopt SPD"]()
    x = np.diag([100.0, 1.0])
    c = np.ones(3)
    first = manifold.from_coords(x, c)
    np.testing.assert_array_equal(manifold.from_coords(x, c), first)
    x[0, 0] = 1.0
    assert manifold.norm(x, manifold.from_coords(x, c)) == pytest.approx(math.sqrt(3), rel=1e-12)


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
def test_missing_operations_are_named(peer, name, peers, sample):
    manifold = peers[peer]()
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
        with pytest.raises(ArgumentError, match=r"instance, such as Sphere\(.*got the class"):
            convert(Sphere)


def test_a_projection_of_the_wrong_rank_is_reported(peer_of_pymanopt):
    """pymanopt's elliptope does not project on its own tangent spaces."""
    manifold = peer_of_pymanopt("Elliptope", 4, 2)
    with pytest.raises(GeoduelError, match="do not span 3 dimensions"):
        manifold.unit_tangent(
            np.random.default_rng(20), manifold.random_point(np.random.default_rng(20))
        )


def test_points_and_vectors_are_checked_where_the_peer_can(peers):
    sphere = peers["geoopt sphere"]()
    with pytest.raises(NotOnManifoldError, match="of geoopt"):
        sphere.check_point(np.ones(4))
    for manifold in (sphere, peers["pymanopt sphere"]()):
        x = np.eye(4)[0]
        manifold.check_tangent(x, np.eye(4)[1])
        with pytest.raises(NotTangentError):
            manifold.check_tangent(x, x)
        with pytest.raises(ArgumentError, match="shape"):
            manifold.check_point(np.ones(3))


@pytest.mark.parametrize("start", [lambda m: minimize(lambda x, y: 0, m), create_study])
@pytest.mark.parametrize("package", ["pymanopt", "geomstats", "geoopt"])
def test_a_manifold_that_was_not_converted_is_told_how(start, package):
    kind = type("Sphere", (type("Manifold", (), {"__module__": f"{package}.base"}),), {})
    with pytest.raises(ArgumentError, match=rf"one of {package}, Sphere: .*gd\.from_{package}\("):
        start(kind())
