"""The affine-invariant metric: isometries, second formulas, stacks, ill-conditioned points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples.matrices import EPS, every_size, sample, with_condition
from scipy.linalg import eigvalsh, expm, sqrtm

from geoduel._numerics.symmetric import sym
from geoduel.manifolds.spd import SPD


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


# -- stacks ----------------------------------------------------------------------------------------


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
