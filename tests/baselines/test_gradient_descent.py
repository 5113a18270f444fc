"""Riemannian gradient descent against its rate, and at the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel.baselines import rgd
from geoduel.problems import Karcher, Quadratic, Rayleigh


def test_rgd_converges_at_the_rate_of_its_constant_step():
    """η = 1/L on an α-strongly convex f: the gap shrinks by 1 - α/L every step."""
    problem = Quadratic.random(6, 20.0, 10)
    result = rgd(problem, iterations=60, step_size=1 / problem.smoothness)
    gaps = np.array(result.history.monitor)
    assert np.all(gaps[1:] <= (1 - 1 / 20) * gaps[:-1])
    assert result.duels == 1 + 2 * 60
    assert result.history.iteration == list(range(61))


@pytest.mark.parametrize(
    "problem",
    [
        Rayleigh.random(10, 11),
        Karcher.random(3, m=5, condition=1e4, rng=12),
        Quadratic.random(4, 50.0, 13),
    ],
    ids=lambda p: type(p).__name__,
)
def test_rgd_with_armijo_reaches_the_optimum(problem):
    result = rgd(problem, iterations=2000, tolerance=1e-8)
    assert result.stop_reason == "gradient"
    x = result.x_last
    assert problem.manifold.norm(x, problem.gradient(x)) <= 1e-8
    problem.manifold.check_point(x)
    assert abs(problem.gap(result.x)) < 1e-12
    assert np.all(np.diff(result.history.monitor) <= 0)


def test_rgd_at_the_optimum_stays_there():
    problem = Quadratic.random(4, 50.0, 14)
    result = rgd(problem, iterations=10, x0=problem.optimum)
    assert (result.iterations, result.stop_reason) == (0, "gradient")
