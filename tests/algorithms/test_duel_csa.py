"""DuelCSA: duels needed with full covariance and limited memory, and what they learn."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.algorithms.duel_csa import Covariance, DuelCSA, Memory
from geoduel.algorithms.duel_newton import DuelNewton

MEDIANS = {"quadratic": 898, "quartic": 471, "karcher": 355, "rotation": 203}


@pytest.mark.parametrize("name", MEDIANS)
def test_duels_to_nine_digits(name, measure):
    assert np.median([measure(name, "duel-csa", s) for s in range(3)]) <= 1.3 * MEDIANS[name]


@pytest.mark.parametrize("metric", [Covariance.of(np.eye(20)), Memory.empty(20)])
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


def test_limited_memory_takes_over_without_a_frame():
    """The point, the recommended one and the expected distance stay."""
    manifold, rng = gd.Sphere(322), np.random.default_rng(0)
    goal = manifold.random_point(rng)
    oracle = gd.Noisy(gd.from_objective(lambda x: -np.vecdot(x, goal)), flip=0.2, rng=0)
    states = []
    gd.minimize(
        oracle, manifold, manifold.random_point(rng), method="duel-newton", budget=1200, rng=0,
        callback=lambda p: states.append(p.state) and None,
    )  # fmt: skip
    before = states[-1]
    after = DuelCSA.take_over(before)
    assert after.frame.rotation is None
    assert isinstance(after.metric, Memory)
    assert np.array_equal(after.point, before.point)
    np.testing.assert_allclose(after.frame.at(manifold, after.behind), before.best, atol=1e-14)
    assert 0.5 < after.uncertainty / before.uncertainty < 2


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


def test_it_takes_over_where_newton_stopped(cases):
    case, rng = cases["quadratic"](0), np.random.default_rng(0)
    oracle = gd.from_objective(case.objective, vectorized=True)
    states = []
    gd.minimize(oracle, case.manifold, case.x0, method=DuelNewton(), budget=300, rng=rng,
                callback=lambda p: states.append(p.state))  # fmt: skip
    newton = states[-1]
    csa = DuelCSA.take_over(newton)
    assert np.array_equal(csa.point, newton.point)
    # A whitened unit vector of length δ/√d is mapped to the same coordinates.
    z = np.eye(10)[0]
    ours, theirs = csa.sigma * csa.metric.C, newton.scale / np.sqrt(10) * newton.metric
    np.testing.assert_allclose(
        csa.sigma * ours @ z, theirs @ theirs.T @ z, rtol=1e-9, atol=1e-12 * np.abs(ours).max()
    )
