"""The numerical work behind intervals: derivatives, stationary points, the proved lower bound."""

from __future__ import annotations

import numpy as np
import pytest
from samples.sets import RNG, spd, symmetric

from geoduel._numerics.symmetric import sym
from geoduel.domains._interval import (
    HalfSquaredDist,
    LogTrace,
    linear_bound,
    newton,
    newton_log_trace,
    value_and_gap,
)

N = 3


def log(y):
    values, q = np.linalg.eigh(y)
    return (q * np.log(values)) @ q.T


def objectives(rng):
    s = symmetric(rng, N)
    return {
        "log trace": (LogTrace(s), lambda y: np.trace(s @ log(y))),
        "half squared distance": (HalfSquaredDist(), lambda y: np.sum(log(y) ** 2) / 2),
    }


@pytest.mark.parametrize("name", ["log trace", "half squared distance"])
def test_values_and_derivatives_are_those_of_the_matrix_function(name):
    """Differences of step h err by h² in the gradient and the Hessian, and by rounding over h²."""
    rng, h = RNG(0), 1e-4
    objective, f = objectives(rng)[name]
    y, a, b = spd(rng, N), symmetric(rng, N), symmetric(rng, N)
    values, q = np.linalg.eigh(y)
    turned = np.stack([q.T @ a @ q, q.T @ b @ q])
    assert objective.value(values, q) == pytest.approx(f(y), rel=1e-13)
    slope = (f(y + h * a) - f(y - h * a)) / (2 * h)
    assert np.sum(objective.gradient(values, q) * turned[0]) == pytest.approx(slope, rel=1e-5)
    hessian = objective.hessian(values, q, turned)
    mixed = f(y + h * (a + b)) - f(y + h * (a - b)) - f(y - h * (a - b)) + f(y - h * (a + b))
    assert hessian[0, 1] == pytest.approx(mixed / (4 * h * h), rel=1e-3, abs=1e-5)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-10)


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 0.0])
def test_eigenvalues_that_meet_lose_no_digits(apart):
    """At Y = I the form of tr(S log Y) is that of tr(S (Y - I)): its gradient is S."""
    s = symmetric(RNG(1), N)
    values = np.array([1.0, 1.0 + apart, 1.0 + 2 * apart])
    np.testing.assert_allclose(
        LogTrace(s).gradient(values, np.eye(N)), s, rtol=0, atol=4 * apart + 1e-15
    )


def interval_coordinates(rng):
    low = spd(rng, N)
    width = spd(rng, N)
    return low, low + width, np.linalg.cholesky(width)


def test_newton_ends_where_the_gap_is_rounding():
    rng = RNG(2)
    low, _, root = interval_coordinates(rng)
    y, value, gap = newton(HalfSquaredDist(), low, root, np.eye(N) / 2)
    again, proved = value_and_gap(HalfSquaredDist(), y, low, root)
    assert value == pytest.approx(float(again), rel=1e-12)
    assert gap <= 1e-12 * (1 + value)
    assert proved <= 1e-8 * (1 + value)
    inside = np.linalg.eigvalsh(np.linalg.solve(root, np.linalg.solve(root, y - low).T))
    assert inside.min() > -1e-9
    assert inside.max() < 1 + 1e-9


def test_the_nearest_point_to_the_identity_is_the_identity_where_it_is_inside():
    root = np.sqrt(2.0) * np.eye(N)
    y, value, _ = newton(HalfSquaredDist(), np.eye(N) / 2, root, np.eye(N) / 2)
    np.testing.assert_allclose(y, np.eye(N), rtol=0, atol=1e-7)
    assert value < 1e-14


def test_the_bound_is_below_every_point():
    rng = RNG(3)
    low, up, root = interval_coordinates(rng)
    s = symmetric(rng, N)
    bound = linear_bound(s, low, up)
    for _ in range(200):
        q, _ = np.linalg.qr(rng.standard_normal((N, N)))
        y = sym(low + root @ (q * rng.random(N)) @ q.T @ root.T)
        assert np.trace(s @ log(y)) >= bound - 1e-12


@pytest.mark.parametrize("pieces", [2, 8, 32])
def test_the_bound_is_attained_where_all_commutes(pieces):
    low, up = np.array([0.5, 1.0, 2.0]), np.array([1.5, 4.0, 2.0])
    s = np.array([1.0, -2.0, 3.0])
    least = np.sum(np.where(s > 0, s * np.log(low), s * np.log(up)))
    found = linear_bound(np.diag(s), np.diag(low), np.diag(up), pieces)
    assert found == pytest.approx(least, rel=1e-12)


def test_more_pieces_never_lower_the_bound_and_no_start_is_below_it():
    rng = RNG(4)
    low, up, root = interval_coordinates(rng)
    s = symmetric(rng, N)
    bounds = [float(linear_bound(s, low, up, pieces)) for pieces in (2, 4, 8)]
    free = newton_log_trace(s[None], low[None], root[None], starts=0)
    many = newton_log_trace(s[None], low[None], root[None], starts=8)
    assert many[1][0] <= free[1][0] + 1e-12
    assert max(bounds) <= many[1][0] + 1e-12
