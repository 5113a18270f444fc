"""What is pymanopt's own: its conventions, its products, and its solvers on our manifolds."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from geoduel.errors import ArgumentError, MissingExtraError, OracleError
from geoduel.manifolds.adapters import from_pymanopt, to_pymanopt
from geoduel.manifolds.discrete import Categories, Integers
from geoduel.manifolds.euclidean import Euclidean
from geoduel.manifolds.hyperbolic import Hyperbolic
from geoduel.manifolds.product import Product
from geoduel.manifolds.rotations import Rotations
from geoduel.manifolds.spd import SPD
from geoduel.manifolds.sphere import Sphere
from geoduel.optimize import minimize
from geoduel.oracles import from_objective


def test_pymanopt_rotations_keep_their_convention(peers, sample):
    """Tangent vectors are skew factors; lengths are √2 times the angle."""
    manifold, own = peers["pymanopt SO"](), Rotations(3)
    x, y, _, _ = sample(own, 11, (3,))
    omega = manifold.log(x, y)
    np.testing.assert_allclose(omega, -omega.mT, atol=1e-14)
    np.testing.assert_allclose(x @ omega, own.log(x, y), atol=1e-9)
    np.testing.assert_allclose(manifold.dist(x, y), math.sqrt(2) * own.dist(x, y), rtol=1e-9)
    np.testing.assert_allclose(manifold.to_tangent(x, omega), omega, atol=1e-14)


def test_pymanopt_products_become_ours(sample):
    peers = pytest.importorskip("pymanopt.manifolds")
    product = from_pymanopt(peers.Product([peers.Sphere(3), peers.Euclidean(2, 2)]))
    own = Product(Sphere(3), Euclidean(2, 2))
    assert isinstance(product, Product)
    x, y, _, _ = sample(own, 13, (2,))
    np.testing.assert_allclose(product.dist(x, y), own.dist(x, y), rtol=1e-9)


def test_uniform_directions_at_an_ill_conditioned_point(peers):
    """Whitened second moments are a third each; pymanopt's own are .003, .907 and .091."""
    spd, x = peers["pymanopt SPD"](), np.diag([100.0, 1.0])
    u = spd.unit_tangent(np.random.default_rng(12), x, (20_000,))
    w = u / np.sqrt(np.outer(np.diag(x), np.diag(x)))
    moments = np.stack([w[:, 0, 0], w[:, 1, 1], math.sqrt(2) * w[:, 0, 1]], axis=-1) ** 2
    error = np.std(moments, axis=0) / math.sqrt(len(u))
    assert np.all(np.abs(np.mean(moments, axis=0) - 1 / 3) < 4 * error)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("ComplexCircle", (3,)), ("FixedRankEmbedded", (4, 3, 2)), ("ComplexGrassmann", (4, 2))],
)
def test_points_that_are_no_real_arrays_are_refused(name, arguments, peer_of_pymanopt):
    with pytest.raises(ArgumentError, match="must be arrays of real numbers"):
        peer_of_pymanopt(name, *arguments)


def test_bounds_are_told_by_the_caller():
    peer = pytest.importorskip("pymanopt.manifolds").Sphere(3)
    assert from_pymanopt(peer).curvature == (-math.inf, math.inf)
    told = from_pymanopt(peer, curvature=(1.0, 1.0), injectivity_radius=math.pi)
    assert (told.curvature, told.injectivity_radius) == ((1.0, 1.0), math.pi)


def test_bounds_of_a_product_hold_for_its_factors():
    peers = pytest.importorskip("pymanopt.manifolds")
    product = peers.Product([peers.Sphere(3), peers.Sphere(2)])
    told = from_pymanopt(product, curvature=(0.0, 1.0), injectivity_radius=math.pi)
    assert (told.curvature, told.injectivity_radius) == ((0.0, 1.0), math.pi)


def test_minimize_runs_on_a_manifold_of_pymanopt(peers):
    sphere = peers["pymanopt sphere"]()
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


def test_our_manifold_and_back(sample):
    pytest.importorskip("pymanopt")
    own = Hyperbolic(3)
    back = from_pymanopt(to_pymanopt(own, rng=0))
    assert (back.dim, back.point_shape, back.typical_dist) == (own.dim, (4,), own.typical_dist)
    x, y, v, _ = sample(own, 24, (3,))
    np.testing.assert_allclose(back.exp(x, v), own.exp(x, v), rtol=1e-14)
    np.testing.assert_allclose(back.dist(x, y), own.dist(x, y), rtol=1e-14)
    np.testing.assert_allclose(back.transport(x, y, v), own.transport(x, y, v), atol=1e-13)


@pytest.mark.parametrize("has", [{}, {"cost": len}, {"manifold": Sphere(3)}])
def test_what_lacks_a_cost_or_a_manifold_is_no_problem(has):
    with pytest.raises(ArgumentError, match="manifold is missing"):
        minimize(SimpleNamespace(**has))


def test_to_pymanopt_draws_from_the_generator_given():
    pytest.importorskip("pymanopt")
    first, second = (to_pymanopt(Sphere(3), rng=25) for _ in range(2))
    x = first.random_point()
    np.testing.assert_array_equal(x, second.random_point())
    assert first.norm(x, first.random_tangent_vector(x)) == pytest.approx(1, rel=1e-14)
    np.testing.assert_array_equal(first.zero_vector(x), np.zeros(3))
    with pytest.raises(ArgumentError, match="must be a Manifold of geoduel, got 3"):
        to_pymanopt(3)


def test_values_that_no_geodesic_changes_are_refused():
    """A solver of pymanopt would have left them as they were, without a word."""
    mixed = Product(Sphere(3), Integers(0, 3))
    for manifold in (mixed, Product(mixed, Sphere(2)), Categories("a", "b")):
        with pytest.raises(ArgumentError, match="to_pymanopt takes no categories and integers"):
            to_pymanopt(manifold)


def test_without_pymanopt_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymanopt", None)
    monkeypatch.setitem(sys.modules, "pymanopt.manifolds", None)
    monkeypatch.setitem(sys.modules, "pymanopt.manifolds.manifold", None)
    with pytest.raises(MissingExtraError, match=r"geoduel\[bench\]"):
        to_pymanopt(Sphere(3))


def problem(manifold, cost):
    """A problem of pymanopt, without any gradient."""
    pymanopt = pytest.importorskip("pymanopt")
    return pymanopt.Problem(manifold, pymanopt.function.numpy(manifold)(cost))


def test_minimize_takes_a_problem():
    peers = pytest.importorskip("pymanopt.manifolds")
    a = np.diag([4.0, 3.0, 2.0, 1.0])
    of_pymanopt = problem(peers.Sphere(4), lambda x: -x @ a @ x)
    result = minimize(of_pymanopt, x0=np.full(4, 0.5), rng=0)
    assert result.x @ a @ result.x == pytest.approx(4.0, abs=1e-12)
    assert of_pymanopt.cost(result.x) == pytest.approx(-4.0, abs=1e-12)


def test_minimize_takes_a_problem_of_several_parts():
    peers = pytest.importorskip("pymanopt.manifolds")
    goal, wanted = np.array([0.0, 0.6, 0.8]), np.array([[1.0, 2.0]])
    product = peers.Product([peers.Sphere(3), peers.Euclidean(1, 2)])
    of_pymanopt = problem(product, lambda x, m: -x @ goal + ((m - wanted) ** 2).sum())
    result = minimize(of_pymanopt, x0=([1, 0, 0], [[0, 0]]), budget=1000, rng=0)
    x, m = from_pymanopt(product).split(result.x)
    np.testing.assert_allclose(x, goal, atol=1e-5)
    np.testing.assert_allclose(m, wanted, atol=1e-5)


def test_a_problem_on_our_own_manifold():
    """The problem is solved with our manifold's own operations behind pymanopt's names."""
    spd = SPD(2)
    of_pymanopt = problem(to_pymanopt(spd, rng=0), lambda x: spd.dist(x, 2 * np.eye(2)))
    result = minimize(of_pymanopt, x0=np.eye(2), budget=400, rng=0)
    np.testing.assert_allclose(result.x, 2 * np.eye(2), atol=1e-5)


def test_what_is_no_problem_needs_a_manifold():
    with pytest.raises(ArgumentError, match=r"manifold is missing.*pymanopt\.Problem"):
        minimize(from_objective(np.sum))


def test_errors_of_a_problem_are_errors_of_the_oracle():
    peers = pytest.importorskip("pymanopt.manifolds")
    with pytest.raises(OracleError, match="returned nan"):
        minimize(problem(peers.Sphere(3), lambda x: math.nan), rng=0)
