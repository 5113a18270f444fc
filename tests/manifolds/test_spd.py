"""SPD matrices: isometries, second formulas, ill-conditioning, gradients, bad inputs."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigvalsh, expm, logm, solve_continuous_lyapunov, sqrtm

from geoduel._numerics.symmetric import sym, unpack
from geoduel.errors import ArgumentError, NotOnManifoldError, NotTangentError
from geoduel.manifolds.spd import SPD

EPS = np.finfo(float).eps
METRICS = ("affine-invariant", "log-euclidean", "bures-wasserstein")
every_metric = pytest.mark.parametrize("metric", METRICS)
every_size = pytest.mark.parametrize("n", [1, 2, 3, 6])


def sample(seed, n=3, metric="affine-invariant", batch=(20,)):
    """Points x, y and tangent vectors v, w of length 0.2 at x, at random."""
    spd, rng = SPD(n, metric=metric), np.random.default_rng(seed)
    x, y = spd.random_point(rng, batch), spd.random_point(rng, batch)
    v, w = (0.2 * spd.unit_tangent(rng, x) for _ in range(2))
    return spd, x, y, v, w


def with_condition(rng, n, condition):
    """Eigenvalues from 1/condition to 1, log-uniform; random eigenvectors."""
    exponents = np.concatenate([[0, 1], rng.random(n - 2)])
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return sym((q * condition**-exponents) @ q.T)


# -- affine-invariant: isometries, second formulas -------------------------------------------------


@every_size
def test_congruences_are_isometries(n):
    spd, x, y, v, w = sample(0, n)
    g = np.random.default_rng(1).standard_normal((n, n)) + 2 * np.eye(n)

    def move(a):
        return sym(g @ a @ g.T)

    np.testing.assert_allclose(spd.dist(move(x), move(y)), spd.dist(x, y), rtol=1e-11)
    np.testing.assert_allclose(
        spd.inner(move(x), move(v), move(w)), spd.inner(x, v, w), rtol=1e-10, atol=1e-13
    )
    for moved, still in [
        (spd.exp(move(x), move(v)), spd.exp(x, v)),
        (spd.log(move(x), move(y)), spd.log(x, y)),
        (spd.transport(move(x), move(y), move(v)), spd.transport(x, y, v)),
        (spd.transport_along(move(x), move(v), move(w)), spd.transport_along(x, v, w)),
    ]:
        np.testing.assert_allclose(moved, move(still), rtol=0, atol=1e-11 * np.max(abs(moved)))


@every_size
def test_inversion_is_an_isometry(n):
    spd, x, y, v, w = sample(2, n)
    inverse = np.linalg.inv

    def pushed(a):  # the derivative of the inverse at x
        return sym(-inverse(x) @ a @ inverse(x))

    np.testing.assert_allclose(spd.dist(inverse(x), inverse(y)), spd.dist(x, y), rtol=1e-11)
    np.testing.assert_allclose(
        spd.inner(inverse(x), pushed(v), pushed(w)), spd.inner(x, v, w), rtol=1e-10, atol=1e-13
    )
    np.testing.assert_allclose(
        spd.exp(inverse(x), pushed(v)), inverse(spd.exp(x, v)), rtol=1e-11, atol=1e-11
    )


@every_size
def test_distance_from_generalised_eigenvalues(n):
    spd, x, y, _, _ = sample(3, n)
    expected = [np.linalg.norm(np.log(eigvalsh(b, a))) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(spd.dist(x, y), expected, rtol=1e-12)


def test_exp_is_that_of_x_inverse_v():
    spd, x, _, v, _ = sample(4, 4, batch=(5,))
    for size in (1e-3, 1.0, 10.0, 40.0):  # 0.2 times this: by products and by eigenvalues
        pairs = zip(x, size * v, strict=True)
        expected = np.stack([a @ expm(np.linalg.solve(a, u)) for a, u in pairs])
        result = spd.exp(x, size * v)
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12 * np.max(abs(expected)))
        np.testing.assert_allclose(
            spd.exp(x[0], size * v[0]), result[0], rtol=0, atol=1e-13 * np.max(abs(expected))
        )


def test_midpoint_is_the_geometric_mean():
    spd = SPD(2)
    x, y = np.diag([math.e**2, 1.0]), np.eye(2)
    expected = np.diag([math.e, 1.0])
    np.testing.assert_allclose(spd.exp(x, spd.log(x, y) / 2), expected, rtol=4 * EPS, atol=EPS)
    np.testing.assert_allclose(spd.exp(y, spd.log(y, x) / 2), expected, rtol=4 * EPS, atol=EPS)


def test_transport_is_congruence_by_the_root():
    spd, x, y, v, _ = sample(5, batch=(4,))
    for a, b, u in zip(x, y, v, strict=True):
        e = np.real(sqrtm(b @ np.linalg.inv(a)))
        np.testing.assert_allclose(spd.transport(a, b, u), e @ u @ e.T, rtol=0, atol=1e-13)


def test_triangles_are_thin():
    """Law of cosines of nonpositive curvature: c² >= a² + b² - 2ab cos γ."""
    spd, x, y, _, _ = sample(6)
    z = spd.random_point(np.random.default_rng(7), (20,))
    u, w = spd.log(x, y), spd.log(x, z)
    flat = spd.inner(x, u - w, u - w)
    assert np.all(spd.dist(y, z) ** 2 >= flat * (1 - 1e-12))


def test_sectional_curvature_reaches_its_lower_bound():
    """K = <R(u, w)w, u> = -|[u, w]|² / 4 at the identity, -1/2 at most, for orthonormal u, w.

    Read off distances: |exp(su) exp(sw)|² = 2s² (1 - K s² / 6) + O(s⁶) for perpendicular u, w.
    """
    spd, eye, s = SPD(2), np.eye(2), 1e-2
    u, w = np.diag([1.0, -1.0]) / math.sqrt(2), np.array([[0.0, 1.0], [1.0, 0.0]]) / math.sqrt(2)
    d2 = spd.dist(spd.exp(eye, s * u), spd.exp(eye, s * w)) ** 2
    assert (1 - d2 / (2 * s**2)) * 6 / s**2 == pytest.approx(-0.5, rel=1e-3)
    assert spd.curvature == (-0.5, 0.0)


# -- log-euclidean and bures-wasserstein: second formulas ------------------------------------------


@every_size
def test_log_euclidean_formulas(n):
    spd, x, y, v, w = sample(10, n, "log-euclidean", (4,))
    step = 1e-6
    for a, b, u, z in zip(x, y, v, w, strict=True):
        assert spd.dist(a, b) == pytest.approx(np.linalg.norm(logm(a) - logm(b)), rel=1e-11)
        slope = (logm(a + step * u) - logm(a - step * u)) / (2 * step)
        assert spd.norm(a, u) == pytest.approx(np.linalg.norm(slope), rel=1e-8)
        np.testing.assert_allclose(spd.exp(a, u), expm(logm(a) + slope), rtol=0, atol=1e-8)
        # Parallel transport leaves the coordinates of the logarithm alone.
        moved = spd.transport(a, b, z)
        back = (logm(b + step * moved) - logm(b - step * moved)) / (2 * step)
        here = (logm(a + step * z) - logm(a - step * z)) / (2 * step)
        np.testing.assert_allclose(back, here, rtol=0, atol=1e-8)


def test_log_euclidean_is_right_for_close_eigenvalues():
    """D log at distinct eigenvalues, 1e-15 to 1 apart: entries log(a/b) / (a - b)."""
    spd = SPD(2, metric="log-euclidean")
    off = np.array([[0.0, 1.0], [1.0, 0.0]])
    for gap in 10.0 ** np.arange(-15, 1):
        a = 1 + gap
        exact = math.log1p(a - 1) / (a - 1)
        assert spd.norm(np.diag([1.0, a]), off) == pytest.approx(math.sqrt(2) * exact, rel=8 * EPS)


@every_size
def test_bures_wasserstein_formulas(n):
    spd, x, y, v, w = sample(11, n, "bures-wasserstein", (4,))
    for a, b, u, z in zip(x, y, v, w, strict=True):
        root = np.real(sqrtm(a))
        cross = np.trace(np.real(sqrtm(root @ b @ root)))
        expected = np.trace(a) + np.trace(b) - 2 * cross
        assert spd.dist(a, b) ** 2 == pytest.approx(expected, abs=1e-13)
        lift = solve_continuous_lyapunov(a, u)
        assert spd.inner(a, u, z) == pytest.approx(np.trace(lift @ z) / 2, abs=1e-15)
        eye = np.eye(n)
        np.testing.assert_allclose(
            spd.exp(a, u), (eye + lift) @ a @ (eye + lift), rtol=0, atol=1e-14
        )


def test_bures_wasserstein_of_diagonal_matrices_is_that_of_their_roots():
    spd = SPD(3, metric="bures-wasserstein")
    x, y = np.array([1.0, 4.0, 1e-8]), np.array([9.0, 1.0, 1e-10])
    expected = np.linalg.norm(np.sqrt(x) - np.sqrt(y))
    assert spd.dist(np.diag(x), np.diag(y)) == pytest.approx(expected, rel=4 * EPS)


def test_bures_wasserstein_distance_of_near_points_keeps_its_digits():
    """sqrt((a + h) / a) by series; the trace formula has no digit left at h = 1e-9."""
    spd = SPD(2, metric="bures-wasserstein")
    for h in 2.0 ** -np.arange(3, 53):
        expected = math.hypot(h / (math.sqrt(1 + h) + 1), 2 * h / (math.sqrt(4 + 2 * h) + 2))
        x, y = np.diag([1.0, 4.0]), np.diag([1.0 + h, 4.0 + 2 * h])
        assert spd.dist(x, y) == pytest.approx(expected, rel=8 * EPS)


def bures_christoffel(x, u, w):
    """Γ(u, w) from the metric: <Γ(u, w), z> = (D_u<w, z> + D_w<u, z> - D_z<u, w>) / 2."""

    def lyap(a):
        return solve_continuous_lyapunov(x, a)

    lu, lw = lyap(u), lyap(w)
    # D_u <w, z> = -tr(L[u Lw + Lw u] z) / 2, and the gradient of x -> <u, w> is -sym(Lu Lw).
    g = -0.5 * (lyap(u @ lw + lw @ u) + lyap(w @ lu + lu @ w)) / 2 + sym(lu @ lw) / 2
    gx = g @ x
    return 2 * (gx + gx.T)  # the vector with <., z> = tr(g z)


@pytest.mark.parametrize("n", [2, 3])
def test_bures_wasserstein_transport_solves_its_equation(n):
    """W' = -Γ(X', W) along the geodesic, integrated by other means."""
    spd, x, y, _, w = sample(12, n, "bures-wasserstein", ())
    v = spd.log(x, y)
    lift, eye = solve_continuous_lyapunov(x, v), np.eye(n)

    def slope(t, flat):
        go = eye + t * lift
        point, speed = go @ x @ go, lift @ x @ go + go @ x @ lift
        return -bures_christoffel(point, speed, flat.reshape(n, n)).ravel()

    solution = solve_ivp(slope, (0, 1), w.ravel(), method="DOP853", rtol=1e-13, atol=1e-15)
    expected = solution.y[:, -1].reshape(n, n)
    np.testing.assert_allclose(spd.transport(x, y, w), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(spd.transport_along(x, v, w), expected, rtol=0, atol=1e-12)
    assert np.max(abs(expected - w)) > 0.01  # there was something to integrate


def test_bures_wasserstein_transport_reaches_near_the_end_of_the_geodesic():
    spd, x, _, _, w = sample(13, 3, "bures-wasserstein", ())
    v = spd.log(x, 1e-6 * x[::-1, ::-1])
    assert spd.norm(x, v) > 0.9 * math.sqrt(np.trace(x))  # the distance to zero is √tr X
    moved = spd.transport_along(x, v, w)
    end = spd.exp(x, v)
    assert spd.norm(end, moved) == pytest.approx(spd.norm(x, w), rel=1e-9)
    np.testing.assert_allclose(spd.transport(end, x, moved), w, rtol=0, atol=1e-9)


def test_bures_wasserstein_exp_ends_where_the_manifold_does():
    spd = SPD(2, metric="bures-wasserstein")
    x, v = np.diag([4.0, 9.0]), np.diag([-1.0, 0.0])  # the root of 4 falls by 1/4 a unit of t
    np.testing.assert_allclose(spd.exp(x, 7.9 * v), np.diag([0.0125**2 * 4, 9.0]), atol=1e-15)
    with pytest.raises(NotOnManifoldError, match=r"left the manifold.*-0\.25"):
        spd.exp(x, 10 * v)
    with pytest.raises(NotOnManifoldError, match="left the manifold"):
        spd.transport_along(x, 10 * v, v)
    ends = spd.geodesic(x, v)(np.array([0.0, 7.9, 8.0, 10.0]))
    assert np.isnan(ends).all(axis=(1, 2)).tolist() == [False, False, True, True]
    many = spd.transport_along(np.stack([x, x]), np.stack([v, 10 * v]), v)
    assert np.isnan(many).all(axis=(1, 2)).tolist() == [False, True]
    assert spd.norm(x, -8 * v) == pytest.approx(2.0)  # √λ_min


# -- what the three metrics share ------------------------------------------------------------------


@every_metric
@every_size
def test_exp_log_and_transport_fit_together(metric, n):
    spd, x, y, v, w = sample(20, n, metric)
    tol = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(spd.log(x, spd.exp(x, v)), v, **tol)
    np.testing.assert_allclose(spd.exp(x, spd.log(x, y)), y, **tol)
    np.testing.assert_allclose(spd.dist(x, y), spd.norm(x, spd.log(x, y)), **tol)
    np.testing.assert_allclose(spd.dist(x, y), spd.dist(y, x), **tol)
    a, b = spd.transport(x, y, v), spd.transport(x, y, w)
    np.testing.assert_allclose(spd.inner(y, a, b), spd.inner(x, v, w), **tol)
    np.testing.assert_allclose(spd.transport(x, y, spd.log(x, y)), -spd.log(y, x), **tol)
    np.testing.assert_allclose(spd.transport(y, x, a), v, **tol)
    along = spd.transport_along(x, v, w)
    end = spd.exp(x, v)
    np.testing.assert_allclose(along, spd.transport(x, end, w), **tol)
    np.testing.assert_allclose(spd.inner(end, along, along), spd.inner(x, w, w), **tol)
    g = np.random.default_rng(21).standard_normal(x.shape)
    np.testing.assert_allclose(
        spd.inner(x, spd.riemannian_gradient(x, g), v), np.sum(g * v, axis=(-2, -1)), **tol
    )


@every_metric
def test_to_the_last_bit(metric):
    spd, x, y, v, w = sample(22, 4, metric)
    for scale in (1e-4, 1.0, 1e4):
        a, b, u = scale * x, scale * y, scale * v
        for result in (
            spd.exp(a, u),
            spd.exp(a[0], u[0]),
            spd.geodesic(a, u)(-0.3),
            spd.log(a, b),
            spd.transport(a, b, u),
            spd.transport_along(a, u, scale * w),
            spd.unit_tangent(np.random.default_rng(0), a),
            spd.random_point(np.random.default_rng(0), (3,)),
            spd.riemannian_gradient(a, w + 1),
        ):
            np.testing.assert_array_equal(result, result.mT)
        np.testing.assert_array_equal(spd.exp(a, 0 * u), a)
        np.testing.assert_array_equal(spd.exp(a[0], 0 * u[0]), a[0])
        np.testing.assert_array_equal(spd.geodesic(a, u)(0.0), a)
        np.testing.assert_array_equal(spd.dist(a, a), 0)
        np.testing.assert_array_equal(spd.log(a, a), 0)
        assert spd.dist(a[0], a[0]) == 0


@every_metric
def test_leading_axes_broadcast(metric):
    spd, x, y, v, w = sample(23, 3, metric, (4,))
    t = np.array([0.0, 0.5, 1.0, -1.0])
    along = spd.geodesic(x[0], v[0])(t)
    np.testing.assert_allclose(along, spd.exp(x[0], v[0] * t[:, None, None]), atol=1e-14)
    ends = [spd.geodesic(x[i], v[i])(t[i]) for i in range(4)]
    np.testing.assert_allclose(spd.geodesic(x, v)(t), ends, rtol=0, atol=1e-14)
    assert spd.dist(x[:, None], y).shape == (4, 4)
    assert spd.log(x[0], y).shape == spd.log(x, y[0]).shape == (4, 3, 3)
    assert spd.inner(x[0], v, w[0]).shape == (4,)
    assert spd.transport(x[0], y, v[0]).shape == (4, 3, 3)
    assert spd.transport_along(x[0], v[0], w).shape == (4, 3, 3)
    assert spd.unit_tangent(np.random.default_rng(0), x, (2, 5)).shape == (2, 5, 4, 3, 3)
    none = x[:0]
    assert spd.exp(none, v[0]).shape == spd.log(none, y[0]).shape == (0, 3, 3)
    assert spd.dist(none, y[0]).shape == (0,)


@pytest.mark.parametrize("reach", [0.0, 1e-8, 0.03, 0.3, 0.7, 1.0, 1.3, 1.6, 3.0])
@pytest.mark.parametrize("n", [1, 3, 10])
def test_stacks_agree_with_single_points_at_every_distance(n, reach):
    spd, rng = SPD(n), np.random.default_rng(61)
    x = spd.random_point(rng, (6,))
    v, w = reach * spd.unit_tangent(rng, x), spd.unit_tangent(rng, x)
    y = spd.exp(x, v)
    for stack, single in zip(
        spd.exp_pair(x, v),
        zip(*(spd.exp_pair(a, b) for a, b in zip(x, v, strict=True)), strict=True),
        strict=True,
    ):
        np.testing.assert_array_equal(stack, stack.mT)
        # Each is within 16 units of the value to 40 digits, so both within 32 of each other.
        np.testing.assert_allclose(stack, single, rtol=0, atol=32 * EPS * np.max(stack))
    np.testing.assert_allclose(spd.dist(x, y), reach, rtol=1e-14 if reach > 1e-3 else 1e-7)
    for stack, single in [
        (spd.log(x, y), [spd.log(a, b) for a, b in zip(x, y, strict=True)]),
        (spd.transport(x, y, w), [spd.transport(*abc) for abc in zip(x, y, w, strict=True)]),
    ]:
        np.testing.assert_array_equal(stack, stack.mT)
        np.testing.assert_allclose(stack, single, rtol=0, atol=3e-14)


@pytest.mark.parametrize("far", [1, 9])
def test_stacks_of_uneven_distances(far):
    """The few pairs that are very far apart go a way of their own; many take the others along."""
    spd, rng = SPD(3), np.random.default_rng(63)
    x = spd.random_point(rng, (12,))
    reach = np.resize([1e-9, 0.3, 1.3, 2.0], 12)
    reach[2 : 2 + far] = 9.0
    v, w = reach[:, None, None] * spd.unit_tangent(rng, x), spd.unit_tangent(rng, x)
    y = spd.exp(x, v)
    np.testing.assert_allclose(spd.dist(x, y), reach, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(spd.dist(x[2], y)[2], reach[2], rtol=1e-11)
    singles = [spd.transport(*abc) for abc in zip(x, y, w, strict=True)]
    for got, expected in [(spd.log(x, y), v), (spd.transport(x, y, w), singles)]:
        size = np.max(abs(np.asarray(expected)), axis=(-2, -1), keepdims=True)
        np.testing.assert_array_equal(got, got.mT)
        assert np.all(abs(got - expected) <= 1e-11 * size + 1e-14)


@pytest.mark.parametrize("condition", [1e3, 1e6, 1e9])
def test_stacks_of_near_and_ill_conditioned_points(condition):
    """Against eigenvalues of Y - X relative to X, as right as X is: to its condition times EPS."""
    spd, rng = SPD(4), np.random.default_rng(62)
    x = np.stack([with_condition(rng, 4, condition) for _ in range(8)])
    for reach in (1e-8, 1e-3, 0.5):
        y = spd.exp(x, reach * spd.unit_tangent(rng, x))
        logs = np.log1p([eigvalsh(b - a, a) for a, b in zip(x, y, strict=True)])
        expected = np.linalg.norm(logs, axis=-1)
        np.testing.assert_allclose(spd.dist(x, y), expected, rtol=8 * EPS * condition)
        np.testing.assert_allclose(spd.norm(x, spd.log(x, y)), expected, rtol=8 * EPS * condition)


@every_metric
def test_dist_from_is_dist(metric):
    spd, x, y, _, _ = sample(24, 4, metric)
    np.testing.assert_array_equal(spd.dist_from(x)(y[0]), spd.dist(x, y[0]))
    assert spd.dist_from(x[0])(y[0]) == spd.dist(x[0], y[0])
    steep = np.stack([x[0], np.diag([1.0, 1e-3, 1e-3, 1e-6])])
    one_by_one = [spd.dist(a, y[0]) for a in steep]
    np.testing.assert_allclose(spd.dist_from(steep)(y[0]), one_by_one, rtol=1e-9)
    np.testing.assert_array_equal(spd.dist_from(steep)(steep), 0)


@every_metric
def test_unit_tangents_are_uniform_at_an_elongated_point(metric):
    """Second moments δᵢⱼ / d in orthonormal coordinates found by Gram-Schmidt, at diag(100, 1).

    The fourth moments of a uniform direction, d = 3: variances 4/45 of cᵢ² and 1/15 of cᵢcⱼ.
    """
    spd, x, draws = SPD(2, metric=metric), np.diag([100.0, 1.0]), 20_000
    basis = np.array([[[1.0, 0], [0, 0]], [[0, 0], [0, 1.0]], [[0, 1.0], [1.0, 0]]])
    basis = basis / spd.norm(x, basis)[:, None, None]  # orthogonal at a diagonal x, all metrics
    gram = spd.inner(x, basis[:, None], basis)
    np.testing.assert_allclose(gram, np.eye(3), atol=1e-14)
    u = spd.unit_tangent(np.random.default_rng(25), x, (draws,))
    np.testing.assert_allclose(spd.norm(x, u), 1, rtol=1e-13)
    c = spd.inner(x, u[:, None], basis)
    deviation = np.abs(c.T @ c / draws - np.eye(3) / 3) * math.sqrt(draws)
    assert np.all(deviation < 4.5 * np.sqrt(np.where(np.eye(3), 4 / 45, 1 / 15)))
    assert np.all(np.abs(np.mean(c, axis=0)) * math.sqrt(3 * draws) < 4.5)


@every_metric
def test_coordinates_are_isometric(metric):
    spd, x, _, v, w = sample(26, 3, metric)
    c = spd.to_coords(x, v)
    assert c.shape == (20, spd.dim)
    np.testing.assert_allclose(np.vecdot(c, spd.to_coords(x, w)), spd.inner(x, v, w), atol=1e-15)
    np.testing.assert_allclose(spd.from_coords(x, c), v, atol=1e-14)


@pytest.mark.parametrize(
    ("metric", "shape", "steps"),
    [
        ("affine-invariant", (), 20_000),
        ("affine-invariant", (3,), 1_000),
        ("log-euclidean", (), 1_000),
        ("bures-wasserstein", (), 400),
    ],
)
def test_long_walks_do_not_drift(metric, shape, steps):
    """Along a geodesic and back by the transported velocity, again and again."""
    spd, rng = SPD(3, metric=metric), np.random.default_rng(27)
    x = start = spd.random_point(rng, shape)
    ways = 0.1 * spd.unit_tangent(rng, x, (10,))
    for k in range(steps // 2):
        v = ways[k % 10]
        y = spd.exp(x, v)
        x = spd.exp(y, -spd.transport_along(x, v, v))
    np.testing.assert_array_equal(x, x.mT)
    assert np.all(spd.dist(start, x) < 2 * steps * EPS)
    spd.check_point(x)


@every_metric
def test_float32(metric):
    spd, *arrays = sample(28, 4, metric)
    x, y, v, w = (a.astype(np.float32) for a in arrays)
    bound = 2e-5
    rng = np.random.default_rng(0)
    for f in (
        lambda x, y, v, w: spd.exp(x, v),
        lambda x, y, v, w: spd.exp(x[0], v[0]),
        lambda x, y, v, w: spd.log(x, y),
        lambda x, y, v, w: spd.log(x[0], y[0]),
        lambda x, y, v, w: spd.dist(x, y),
        lambda x, y, v, w: spd.inner(x, v, w),
        lambda x, y, v, w: spd.transport(x, y, v),
        lambda x, y, v, w: spd.transport_along(x, v, w),
        lambda x, y, v, w: spd.to_coords(x, v),
        lambda x, y, v, w: spd.riemannian_gradient(x, w),
    ):
        single, double = f(x, y, v, w), f(*arrays)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=bound, atol=bound)
    assert spd.unit_tangent(rng, x).dtype == spd.random_point(rng, (2,), x).dtype == np.float32
    np.testing.assert_array_equal(spd.exp(x, 0 * v), x)


@every_metric
def test_inputs_are_not_written_to(metric):
    spd, x, y, v, w = sample(29, 3, metric)
    for a in (x, y, v, w):
        a.flags.writeable = False
    for _ in range(2):
        spd.exp_pair(x, v)
        spd.log(x, y)
        spd.dist(x, y)
        spd.inner(x, v, w)
        spd.transport(x, y, v)
        spd.transport_along(x, v, w)
        spd.from_coords(x, spd.to_coords(x, v))
        spd.to_manifold(x)
        spd.check_point(x)
        spd.check_tangent(x, v)
        x, y, v, w = x[0], y[0], v[0], w[0]


@every_metric
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_lost_problem_leaves_the_others_alone(metric, library):
    """Leading axes are independent: NaN in one of them stays there."""
    spd, x, y, v, w = sample(30, 3, metric, (3,))
    for a in (x, y, v, w):
        a[1] = np.nan
    kind = np.asarray if library == "numpy" else pytest.importorskip("torch").from_numpy
    calls = (
        lambda x, y, v, w: spd.exp(x, v),
        lambda x, y, v, w: spd.log(x, y),
        lambda x, y, v, w: spd.dist(x, y),
        lambda x, y, v, w: spd.transport(x, y, v),
        lambda x, y, v, w: spd.transport_along(x, v, w),
        lambda x, y, v, w: spd.to_coords(x, v),
    )
    for call in calls:
        result = np.asarray(call(*map(kind, (x, y, v, w))))
        assert np.isnan(result[1]).all()
        one = np.asarray(call(*(kind(a[2]) for a in (x, y, v, w))))
        np.testing.assert_allclose(result[2], one, rtol=0, atol=1e-13)


# -- ill-conditioned -------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", [1e6, 1e10, 1e12])
@pytest.mark.parametrize("n", [2, 5, 10])
def test_ill_conditioned_round_trips(condition, n):
    """Unrelated eigenvectors. In X's frame Y has condition up to the square of theirs."""
    spd, rng = SPD(n), np.random.default_rng(30)
    x = np.stack([with_condition(rng, n, condition) for _ in range(5)])
    y = np.stack([with_condition(rng, n, condition) for _ in range(5)])
    error = 10 * n * EPS * condition  # of log λ, by half an ulp of X and Y
    np.testing.assert_allclose(spd.dist(x, y), spd.dist(y, x), rtol=0, atol=error)
    np.testing.assert_allclose(spd.dist(x[0], y[0]), spd.dist(x, y)[0], rtol=0, atol=error)
    np.testing.assert_allclose(spd.exp(x, spd.log(x, y)), y, rtol=0, atol=error)
    half = spd.exp(x, spd.log(x, y) / 2)
    np.testing.assert_allclose(spd.dist(x, half), spd.dist(half, y), rtol=0, atol=error)


@pytest.mark.parametrize("condition", [1.0, 1e6])
@pytest.mark.parametrize("length", [0.0, 1e-9, 0.2, 0.3, 0.7, 1.0, 3.0, 5.0, 12.0])
@pytest.mark.parametrize("n", [1, 3, 5, 6, 10])
def test_exp_of_every_length_is_that_of_the_eigenvalues(n, length, condition):
    """L e^{±W} Lᵀ, with W = L⁻¹ V L⁻ᵀ from the test itself, by each of the ways there are."""
    spd, rng = SPD(n), np.random.default_rng(44)
    x = with_condition(rng, n, condition) if n > 1 else np.full((1, 1), condition)
    low = np.linalg.cholesky(x)
    w = sym(rng.standard_normal((n, n)))
    w *= length / np.linalg.norm(w)
    v = sym(low @ w @ low.T)
    values, q = np.linalg.eigh(w)
    for t, one, many in zip(
        (1, -1), spd.exp_pair(x, v), spd.exp_pair(x[None], v[None]), strict=True
    ):
        expected = (low @ q * np.exp(t * values)) @ (low @ q).T
        # X and V are rounded to half a unit, of which L⁻¹ can make the condition times as much.
        units = 8 * n * (1 + length) * (condition if length else 1)
        for y in (one, many[0], spd.exp(x, t * v), spd.geodesic(x, v)(float(t))):
            np.testing.assert_array_equal(y, y.T)
            atol = units * EPS * np.max(np.abs(expected))
            np.testing.assert_allclose(y, expected, rtol=0, atol=atol)
    if length == 0:
        np.testing.assert_array_equal(spd.exp_pair(x, v)[1], x)


def test_wide_spectra_keep_their_small_eigenvalues():
    """dist(I, diag(1, c)) = log c, where eigenvalues of a product would be lost or negative."""
    rng = np.random.default_rng(31)
    q = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    for c in (1e-3, 1e-6, 1e-9):
        y = sym((q * [1.0, c]) @ q.T)
        batch = SPD(2).dist(np.stack([np.eye(2)] * 2), np.stack([y, 2 * np.eye(2)]))
        assert SPD(2).dist(np.eye(2), y) == pytest.approx(-math.log(c), abs=20 * EPS / c)
        assert batch[0] == pytest.approx(-math.log(c), abs=20 * EPS / c)
        assert batch[1] == pytest.approx(math.sqrt(2) * math.log(2), rel=4 * EPS)


def test_tiny_steps_keep_their_digits():
    """A step of 1e-12 is resolved as well as the entries of x allow."""
    spd, x, _, v, _ = sample(32, 3)
    step = 5e-12 * v
    np.testing.assert_allclose(spd.exp(x, step) - x, step, rtol=0, atol=4 * EPS)
    np.testing.assert_allclose(spd.dist(x, spd.exp(x, step)), 1e-12, rtol=1e-2)


def test_karcher_objective_is_free_of_noise():
    """f = Σ dist²/2m near its minimum, 5x5 of condition 1e6: second differences are its curvature.

    Along a geodesic f is convex with f'' between 1 and 10; a noise of 1e-14 in f would show as
    1e-14 / h² beside it.
    """
    rng = np.random.default_rng(33)
    data = np.stack([with_condition(rng, 5, 1e6) for _ in range(50)])
    spd = SPD(5)
    x = np.mean(data, axis=0)
    to_data = spd.dist_from(data)
    for _ in range(30):
        x = spd.exp(x, 0.3 * sym(np.mean(spd.log(x, data), axis=0)))
    h = 1e-4
    curve = spd.geodesic(x, spd.unit_tangent(rng, x))
    f = np.array([np.mean(to_data(curve(h * k)) ** 2) / 2 for k in range(-40, 41)])
    k = np.arange(-40, 41)
    rest = f - np.polyval(np.polyfit(k, f, 4), k)
    assert np.std(rest) < 2e-14 * f.max()
    assert f.max() > 1


# -- off the manifold, bad inputs ------------------------------------------------------------------


def test_rounding_below_zero_is_repaired():
    """A smallest eigenvalue of -1e-17 counts as rounding; what comes out is positive definite."""
    q = np.linalg.qr(np.random.default_rng(34).standard_normal((3, 3)))[0]
    for least in (-1e-16, -1e-17, 0.0, 1e-17):
        a = sym((q * [1.0, 0.5, least]) @ q.T)
        for metric in METRICS:
            spd = SPD(3, metric=metric)
            repaired = spd.to_manifold(a)
            np.testing.assert_allclose(repaired, a, atol=20 * EPS)
            np.testing.assert_array_equal(repaired, repaired.T)
            np.linalg.cholesky(repaired)
            assert np.isfinite(spd.dist(a, np.eye(3)))
            assert np.isfinite(spd.log(np.eye(3), a)).all()
            pair = np.stack([a, np.eye(3)])
            np.testing.assert_array_equal(spd.to_manifold(pair)[1], np.eye(3))
            assert np.isfinite(spd.dist(pair, np.eye(3))).all()


def test_points_are_left_alone():
    spd, x, _, _, _ = sample(35, 3)
    np.testing.assert_array_equal(spd.to_manifold(x), x)
    tiny = np.diag([1.0, 1e-200, 1e-20])
    np.testing.assert_array_equal(spd.to_manifold(tiny), tiny)


@every_metric
def test_indefinite_matrices_are_refused(metric):
    spd, bad = SPD(2, metric=metric), np.array([[1.0, 2.0], [2.0, 1.0]])
    eye = np.eye(2)
    for call in (
        lambda: spd.check_point(bad),
        lambda: spd.to_manifold(bad),
        lambda: spd.to_manifold(np.stack([eye, bad])),
        lambda: spd.dist(bad, eye),
        lambda: spd.log(bad, eye),
        lambda: spd.inner(bad, eye, eye),
        lambda: spd.geodesic(np.stack([eye, bad]), eye),
    ):
        with pytest.raises(NotOnManifoldError, match="smallest eigenvalue is -1"):
            call()
    with pytest.raises(NotOnManifoldError, match="smallest eigenvalue is 0"):
        spd.check_point(np.diag([1.0, 0.0]))
    with pytest.raises(NotOnManifoldError, match="smallest eigenvalue"):
        spd.to_manifold(np.zeros((2, 2)))


@every_metric
def test_asymmetric_matrices_are_refused(metric):
    spd, eye = SPD(2, metric=metric), np.eye(2)
    skewed = np.array([[2.0, 1.0], [0.0, 2.0]])
    for call in (spd.check_point, spd.to_manifold):
        with pytest.raises(NotOnManifoldError, match=r"difference from its transpose.* is 0\.5"):
            call(skewed)
    with pytest.raises(NotTangentError, match="transpose"):
        spd.check_tangent(eye, skewed)
    spd.check_tangent(eye, np.zeros((2, 2)))
    near = spd.to_manifold(eye + 1e-3 * skewed)
    np.testing.assert_array_equal(near, near.T)
    np.testing.assert_allclose(near, [[1.002, 0.0005], [0.0005, 1.002]], rtol=4 * EPS)
    np.testing.assert_array_equal(spd.to_tangent(eye, skewed), [[2.0, 0.5], [0.5, 2.0]])


def test_bad_arguments_are_named():
    spd = SPD(2)
    for bad in (0, -1, 2.5, "2", True, None):
        with pytest.raises(ArgumentError, match=r"n must be an integer >= 1"):
            SPD(bad)
    with pytest.raises(ArgumentError, match=r"metric must be one of 'affine-invariant'.*'euclid'"):
        SPD(2, metric="euclid")
    with pytest.raises(ArgumentError, match=r"shape \(3, 3\), expected \(\.\.\., 2, 2\)"):
        spd.check_point(np.eye(3))
    with pytest.raises(ArgumentError, match="not finite"):
        spd.check_point(np.full((2, 2), np.nan))
    with pytest.raises(ArgumentError, match="not finite"):
        spd.to_manifold(np.full((2, 2), np.inf))
    with pytest.raises(ArgumentError, match="real floating"):
        spd.check_point(np.eye(2, dtype=int))


@every_metric
def test_it_is_a_value(metric):
    spd = SPD(3, metric=metric)
    assert isinstance(spd, SPD)
    assert spd == SPD(3, metric=metric) == pickle.loads(pickle.dumps(spd)) == eval(repr(spd))
    assert spd != SPD(2, metric=metric)
    assert hash(spd) == hash(SPD(3, metric=metric))
    assert (spd.dim, spd.point_shape) == (6, (3, 3))
    assert spd.curvature[0] <= spd.curvature[1]
    assert SPD(1, metric=metric).curvature == (0.0, 0.0)
    with pytest.raises(AttributeError):
        spd.n = 4


# -- torch -----------------------------------------------------------------------------------------


@every_metric
def test_torch_agrees_with_numpy(metric):
    torch = pytest.importorskip("torch")
    spd, *arrays = sample(40, 4, metric)
    tensors = [torch.from_numpy(a) for a in arrays]
    for f in (
        lambda x, y, v, w: spd.exp(x, v),
        lambda x, y, v, w: spd.exp(x[0], v[0]),
        lambda x, y, v, w: spd.exp(x, 20 * v @ v),
        lambda x, y, v, w: spd.log(x, y),
        lambda x, y, v, w: spd.log(x[0], 1e-6 * y[0] + y[1]),
        lambda x, y, v, w: spd.dist(x, y),
        lambda x, y, v, w: spd.norm(x, v),
        lambda x, y, v, w: spd.transport(x, y, v),
        lambda x, y, v, w: spd.transport_along(x, v, w),
        lambda x, y, v, w: spd.from_coords(x, spd.to_coords(x, v)),
        lambda x, y, v, w: spd.unit_tangent(np.random.default_rng(0), x, (2,)),
        lambda x, y, v, w: spd.random_point(np.random.default_rng(0), (2,), x),
        lambda x, y, v, w: spd.riemannian_gradient(x, w),
        lambda x, y, v, w: spd.to_manifold(x),
    ):
        ours = f(*tensors)
        assert isinstance(ours, torch.Tensor)
        assert ours.dtype == torch.float64
        np.testing.assert_allclose(ours.numpy(), f(*arrays), rtol=1e-12, atol=1e-12)
    with pytest.raises(NotOnManifoldError, match="smallest eigenvalue is -1"):
        spd.dist(torch.diag(torch.tensor([1.0, 1.0, 1.0, -1.0])), torch.eye(4))


def functions(spd):
    return {
        "exp": lambda x, y, v: spd.exp(x, v),
        "log": lambda x, y, v: spd.log(x, y),
        "dist": lambda x, y, v: spd.dist(x, y),
        "norm": lambda x, y, v: spd.norm(x, v),
        "transport": lambda x, y, v: spd.transport(x, y, v),
        "transport_along": lambda x, y, v: spd.transport_along(x, v, v @ v),
    }


@every_metric
@pytest.mark.parametrize("name", ["exp", "log", "dist", "norm", "transport", "transport_along"])
@pytest.mark.parametrize("case", ["generic", "stack", "degenerate", "far"])
def test_gradients_are_those_of_finite_differences(metric, name, case):
    """In coordinates of x, y, v, so that all stay symmetric. Degenerate: x = y = I, v = 0."""
    torch = pytest.importorskip("torch")
    if metric == "bures-wasserstein" and "transport" in name and case in ("stack", "far"):
        pytest.skip("seconds of integration; the generic case tests the same")
    spd = SPD(2, metric=metric)
    rng = np.random.default_rng(41)
    batch = (2,) if case == "stack" else ()
    x, y = (torch.from_numpy(spd.random_point(rng, batch)) for _ in range(2))
    v = 0.3 * torch.from_numpy(spd.unit_tangent(rng, x.numpy()))
    if case == "degenerate":
        x = y = torch.eye(2, dtype=torch.float64)
        v = torch.zeros(2, 2, dtype=torch.float64)
        if name in ("dist", "norm"):
            pytest.skip("not differentiable where it is zero")
    if case == "far":
        v, y = 9 * v, 400 * y
        v = v @ v if metric == "bures-wasserstein" else v  # away from the boundary
    f = functions(spd)[name]

    def of_coords(a, b, c):
        return f(x + unpack(a, 2), y + unpack(b, 2), v + unpack(c, 2))

    zeros = [torch.zeros(*batch, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    atol = 1e-7 * max(1, float(f(x, y, v).abs().max()))
    assert torch.autograd.gradcheck(of_coords, zeros, eps=1e-6, atol=atol, rtol=1e-5)


@every_metric
def test_gradients_are_finite_where_it_is_zero(metric):
    torch = pytest.importorskip("torch")
    spd = SPD(3, metric=metric)
    x = torch.eye(3, dtype=torch.float64, requires_grad=True)
    v = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    for f in functions(spd).values():
        for inputs in ((x, y, v), (x[None], y[None], v[None])):
            grads = torch.autograd.grad(f(*inputs).sum(), (x, y, v), allow_unused=True)
            assert all(torch.isfinite(g).all() for g in grads if g is not None)


def test_gradients_along_a_geodesic():
    """d/dt exp(x, tv) at t = 0 is v, also for t from torch."""
    torch = pytest.importorskip("torch")
    for metric in METRICS:
        spd, x, _, v, _ = sample(42, 3, metric, ())
        t = torch.zeros((), dtype=torch.float64, requires_grad=True)
        curve = spd.geodesic(torch.from_numpy(x), torch.from_numpy(v))(t)
        (slope,) = torch.autograd.grad(curve[0, 1], t)
        assert float(slope) == pytest.approx(v[0, 1], rel=1e-12)


@every_metric
def test_array_api_strict(metric):
    strict = pytest.importorskip("array_api_strict")
    spd, *arrays = sample(43, 3, metric, (2,))
    x, y, v, w = (strict.asarray(a) for a in arrays)
    for result, expected in [
        (spd.exp(x, v), spd.exp(arrays[0], arrays[2])),
        (spd.log(x, y), spd.log(arrays[0], arrays[1])),
        (spd.dist(x, y), spd.dist(arrays[0], arrays[1])),
        (spd.transport(x, y, w), spd.transport(arrays[0], arrays[1], arrays[3])),
        (spd.to_coords(x, v), spd.to_coords(arrays[0], arrays[2])),
        (spd.from_coords(x, spd.to_coords(x, v)), arrays[2]),
        (spd.to_manifold(x), arrays[0]),
    ]:
        np.testing.assert_allclose(np.asarray(result), expected, rtol=0, atol=1e-13)
