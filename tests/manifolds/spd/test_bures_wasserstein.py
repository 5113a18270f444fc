"""The Bures-Wasserstein metric: second formulas, its equation of transport, its boundary."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples.matrices import EPS, every_size, sample
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_lyapunov, sqrtm

from geoduel._numerics.symmetric import sym
from geoduel.errors import NotOnManifoldError
from geoduel.manifolds.spd import SPD


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
        spd.exp(x, 8 * v)  # a singular matrix is none of the manifold
    with pytest.raises(NotOnManifoldError, match="left the manifold"):
        spd.transport_along(x, 10 * v, v)
    ends = spd.geodesic(x, v)(np.array([0.0, 7.9, 8.0, 10.0]))
    assert np.isnan(ends).all(axis=(1, 2)).tolist() == [False, False, True, True]
    many = spd.transport_along(np.stack([x, x]), np.stack([v, 10 * v]), v)
    assert np.isnan(many).all(axis=(1, 2)).tolist() == [False, True]
    assert spd.norm(x, -8 * v) == pytest.approx(2.0)  # √λ_min
