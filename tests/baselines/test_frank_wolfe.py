"""Frank-Wolfe against its rate and its certificate."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel.baselines import frank_wolfe
from geoduel.domains import Ball
from geoduel.errors import ArgumentError
from geoduel.problems import Karcher, Quadratic, Rayleigh


def test_frank_wolfe_converges_like_one_over_k():
    """f(x_k) - f* <= 2 L diam²/(k+2) on a geodesically convex set, optimum inside."""
    problem = Karcher.random(2, m=4, condition=1e2, rng=20)
    domain = problem.domain()
    result = frank_wolfe(problem, iterations=60)
    k = np.arange(1, 61)
    bound = 2 * problem.smoothness_bound * float(domain.diameter) ** 2 / (k + 2)
    assert np.all(np.array(result.history.monitor)[1:] <= bound)
    assert bool(domain.contains(result.x))


def test_frank_wolfe_gap_certifies_a_boundary_optimum():
    """The unconstrained optimum is outside the ball; on R^n the constrained one is known."""
    problem = Quadratic(np.eye(3), np.array([3.0, 0.0, 4.0]), np.zeros(3))
    ball = Ball(problem.manifold, np.zeros(3), 1.0)
    result = frank_wolfe(problem, iterations=500, domain=ball, tolerance=0.05)
    assert result.stop_reason == "duality gap"
    excess = problem.objective(result.x_last) - 0.5 * 4.0**2
    assert 0 <= excess <= 0.05


def test_frank_wolfe_needs_a_domain():
    with pytest.raises(ArgumentError, match="Rayleigh has no domain of its own: give domain="):
        frank_wolfe(Rayleigh.random(3, 0), iterations=5)
