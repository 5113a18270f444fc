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


@pytest.mark.parametrize("seed", range(6))
def test_beside_a_kink_no_distance_is_stated_that_is_far_too_small(seed):
    """Steps turn back and forth across the kink of |x| + 3|y|, and the probes shrink too soon."""
    oracle = gd.from_objective(lambda x: abs(x[0]) + 3 * abs(x[1]))
    result = gd.minimize(
        oracle, gd.Euclidean(2), np.ones(2), method=gd.DuelCSA(initial_step=1.0), budget=3000,
        rng=seed,
    )  # fmt: skip
    off = float(np.linalg.norm(result.x))
    assert result.uncertainty is None or result.uncertainty > 0.1 * off or off < 1e-12


def test_an_end_at_which_another_point_is_better_is_none():
    """The descent begins again there, with probes as long as the way."""
    plane, method = gd.Euclidean(2), gd.DuelCSA()
    oracle, states = gd.from_objective(lambda x: float(x @ x)), []
    gd.minimize(
        oracle, plane, np.ones(2), method=method, budget=60, rng=0,
        callback=lambda p: states.append(p.state) and None,
    )  # fmt: skip
    ended = states[-1]._replace(stop="resolution", checked=0.0)
    asked = method._doubted(plane, ended, np.random.default_rng(0))
    others, points = next(asked)
    np.testing.assert_array_equal(points, np.broadcast_to(ended.point, points.shape))
    with pytest.raises(StopIteration) as end:
        asked.send(np.where(np.arange(len(others)) == 1, -1.0, 1.0))
    again = end.value.value
    assert (again.stop, again.ends, again.uncertainty) == (None, 1, None)
    np.testing.assert_allclose(again.point, others[1], rtol=1e-12)
    assert again.size == pytest.approx(1.25 * plane.dist(others[1], ended.point) / np.sqrt(2))
