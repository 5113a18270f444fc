"""Zeroth-order descent: its estimate of the gradient, and what it reaches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.baselines import zo_rgd
from geoduel.errors import ArgumentError
from geoduel.problems import Karcher, Rayleigh


def test_zo_rgd_reaches_what_the_prototype_measured():
    """Rayleigh d = 100 with the paper's step: 6.5e-4 after 10,000 iterations, within a factor 3.

    Here at a tenth of the length, where the gap is still of the size of the spectrum; the full
    runs are the reproduction's.
    """
    problem = Rayleigh.random(20, np.random.default_rng(15))
    result = zo_rgd(problem, iterations=4000, rng=0)
    assert result.history.monitor[-1] < 1e-3 * problem.gap(problem.x0)
    assert result.duels == 2 * 4000 + 1
    assert len(result.history.iteration) == 1001
    problem.manifold.check_point(result.x)


@pytest.mark.parametrize("directions", [1, 4])
def test_zo_rgd_estimates_the_gradient(directions):
    """One step from x0 has the mean -η grad f: E[<g, u> u] = g for Gaussian u in any metric.

    On SPD, where a Gaussian of the ambient space would give another vector.
    """
    problem = Karcher.random(2, m=3, condition=1e2, rng=16)
    manifold, x, runs, step = problem.manifold, problem.x0, 4000, 1e-7
    x0 = np.broadcast_to(x, (runs, 2, 2))
    result = zo_rgd(
        problem,
        iterations=1,
        step_size=step,
        directions=directions,
        x0=x0,
        rng=np.random.default_rng(17),
    )
    moved = manifold.to_coords(x, manifold.log(x, result.x_last)) / -step
    expected = manifold.to_coords(x, problem.gradient(x))
    error = moved.std(axis=0) / math.sqrt(runs)
    assert np.all(abs(moved.mean(axis=0) - expected) < 5 * error)
    # Var g_i = (|g|² + g_i²)/m.
    variance = ((expected**2).sum() + expected**2) / directions
    np.testing.assert_allclose(moved.var(axis=0), variance, rtol=0.2)


def test_zo_rgd_runs_in_lock_step_record_each_gap():
    problem = Rayleigh.random(6, 18)
    x0 = problem.manifold.random_point(np.random.default_rng(19), (3,))
    result = zo_rgd(problem, iterations=300, x0=x0, rng=1)
    gaps = np.array(result.history.monitor)
    assert gaps.shape == (301, 3)
    assert np.all(np.diff(gaps, axis=0) <= 0)
    np.testing.assert_allclose(problem.gap(result.x), gaps[-1], rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"iterations": 0}, "iterations"),
        ({"step_size": -1.0}, "step_size"),
        ({"smoothing": 0.0}, "smoothing"),
        ({"directions": 0}, "directions"),
    ],
)
def test_wrong_zo_rgd_settings(settings, words):
    with pytest.raises(ArgumentError, match=words):
        zo_rgd(Rayleigh.random(4, 0), **({"iterations": 5} | settings))
