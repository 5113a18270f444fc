"""DuelCSA: duels needed with full covariance and limited memory, and what they learn."""

import numpy as np
import pytest

import geoduel as gd

MEDIANS = {"quadratic": 898, "quartic": 471, "karcher": 355, "rotation": 203}


@pytest.mark.parametrize("name", MEDIANS)
def test_duels_to_nine_digits(name, measure):
    assert np.median([measure(name, "duel-csa", s) for s in range(3)]) <= 1.3 * MEDIANS[name]


def test_orders_without_ties_count_none():
    """Ties end a run; a ranking of k points says k - 1 things."""
    states = []
    gd.minimize(
        gd.from_ranking(lambda points: np.argsort(np.sum(points**2, axis=-1))), gd.Euclidean(4),
        np.ones(4), method="duel-csa", ranking=6, iterations=20, rng=0,
        callback=lambda p: states.append(p.state),
    )  # fmt: skip
    assert {getattr(state, "ties", 0.0) for state in states} == {0.0}
    assert hasattr(states[-1], "ties")


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
