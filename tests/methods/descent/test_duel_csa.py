"""DuelCSA: duels needed with full covariance and limited memory, and what they learn."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.descent.covariance import Covariance, Factors

MEDIANS = {"quadratic": 898, "quartic": 471, "karcher": 355, "rotation": 203}


@pytest.mark.parametrize("name", MEDIANS)
def test_duels_to_nine_digits(name, measure):
    assert np.median([measure(name, "duel-csa", s) for s in range(3)]) <= 1.3 * MEDIANS[name]


@pytest.mark.parametrize("metric", [Covariance.of(np.eye(20)), Factors.empty(20)])
def test_steps_that_agree_stretch_the_metric_their_way(metric):
    h = np.sqrt(20) * np.eye(20)[0]
    for k in range(60):
        metric = metric.learn(h, True, k, 2)
    across = np.linalg.norm(metric @ np.eye(20)[1])
    assert np.linalg.norm(metric @ np.eye(20)[0]) > 2 * across


def test_the_root_of_the_covariance_is_a_root():
    rng = np.random.default_rng(0)
    metric = Covariance.of(np.eye(4))
    for k in range(30):  # in four dimensions the root is never late
        metric = metric.learn(rng.standard_normal(4), True, k, 2)
    np.testing.assert_allclose(metric.A @ metric.A.T, metric.C, rtol=1e-12, atol=1e-12)


def test_limited_memory_above_300_dimensions():
    """The distance halves, and no array has d² entries."""
    manifold = gd.Sphere(402)
    goal = np.eye(402)[0]
    oracle = gd.from_objective(lambda x: -np.vecdot(x, goal), vectorized=True)
    x0 = manifold.to_manifold(np.ones(402))
    states = []
    result = gd.minimize(
        oracle, manifold, x0, method="duel-csa", budget=2500, rng=0,
        callback=lambda p: states.append(p.state),
    )  # fmt: skip
    assert manifold.dist(result.x, goal) < 0.5 * manifold.dist(x0, goal)
    assert states[-1].frame.rotation is None
    assert max(np.size(part) for part in states[-1].metric) < 402 * 30
