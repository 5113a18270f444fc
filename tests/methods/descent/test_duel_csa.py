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
    assert {getattr(state, "draws", 0.0) for state in states} == {0.0}
    assert states[-1].ties.share == 0


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


def test_all_that_limited_memory_remembers_travels_along():
    space, sizes = gd.Euclidean(301), []
    gd.minimize(
        gd.from_objective(lambda x: np.vecdot(x, x), vectorized=True), space, np.ones(301),
        method="duel-csa", iterations=12, rng=0,
        callback=lambda p: sizes.append(getattr(p.state, "metric", None)) and None,
    )  # fmt: skip
    sizes = [len(metric.m) for metric in sizes if metric is not None]
    assert len(sizes) > 9
    assert len(set(sizes)) == 1


@pytest.mark.parametrize("seed", range(3))
def test_beside_a_kink_no_distance_is_stated_that_is_far_too_small(seed):
    """Steps turn back and forth across the kink of |x| + 3|y|, and the probes shrink too soon."""
    oracle = gd.from_objective(lambda x: abs(x[0]) + 3 * abs(x[1]))
    result = gd.minimize(
        oracle, gd.Euclidean(2), np.ones(2), method=gd.DuelCSA(initial_step=1.0), budget=3000,
        rng=seed,
    )  # fmt: skip
    off = float(np.linalg.norm(result.x))
    assert result.uncertainty is None or result.uncertainty > 0.1 * off or off < 1e-12


SQUARE, DISC = gd.Box(np.full(2, -1.0), np.ones(2)), gd.Ball(gd.Euclidean(2), np.zeros(2), 1.0)
HALF = gd.Where(gd.Euclidean(2), lambda x: bool(x[0] <= 0.5), inside=np.zeros(2))


@pytest.mark.parametrize(
    ("domain", "goal"),
    [
        *((SQUARE, [0.3, 0.2]), (SQUARE, [0.3, -1.0])),
        *((DISC, [0.3, 0.2]), (DISC, [0.6, -0.8]), (HALF, [0.3, 0.2]), (HALF, [0.5, 0.2])),
    ],
)
def test_a_kink_is_seen_in_sets_too_and_soon(domain, goal):
    """300 duels on |x| + 30|y| in turned coordinates; the optimum is inside or on the boundary."""
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    oracle = gd.from_objective(lambda x: float(np.array([1, 30]) @ abs(turn @ (x - goal))))
    result = gd.minimize(
        oracle, gd.Euclidean(2), np.array([-0.7, 0.5]), method="duel-csa", domain=domain,
        budget=300, rng=0,
    )  # fmt: skip
    off = float(np.linalg.norm(result.x - goal))
    assert result.uncertainty is None or result.uncertainty > 0.1 * off


@pytest.mark.parametrize(
    ("domain", "goal"),
    [
        *((SQUARE, [0.3, 0.2]), (SQUARE, [0.3, -1.0]), (SQUARE, [1.0, -1.0])),
        *((DISC, [0.3, 0.2]), (DISC, [0.6, -0.8]), (HALF, [0.3, 0.2]), (HALF, [0.5, 0.2])),
    ],
)
def test_where_f_is_smooth_the_distance_is_stated_in_sets_too(domain, goal):
    oracle = gd.from_objective(lambda x: (x[0] - goal[0]) ** 2 + 4 * (x[1] - goal[1]) ** 2)
    result = gd.minimize(
        oracle, gd.Euclidean(2), np.array([-0.7, 0.5]), method="duel-csa", domain=domain,
        budget=250, rng=1,
    )  # fmt: skip
    off = float(np.linalg.norm(result.x - goal))
    assert result.uncertainty is not None
    assert off / 10 < result.uncertainty < 1e-2


def test_x_tol_is_not_believed_on_a_slope():
    """Pairs far longer than the probes show that the minimum is farther than x_tol says."""
    oracle = gd.from_objective(lambda x: abs(x[0]) + 10 * abs(x[1]))
    method = gd.DuelCSA(initial_step=1.0, x_tol=1e-4)
    for seed in range(4):
        result = gd.minimize(
            oracle, gd.Euclidean(2), np.ones(2), method=method, budget=200, rng=seed
        )
        assert result.stop_reason != "x_tol" or np.linalg.norm(result.x) < 1e-3


def test_an_end_at_which_another_point_is_better_is_none():
    """The descent begins again there, with probes as long as the way."""
    plane, method = gd.Euclidean(2), gd.DuelCSA()
    oracle, states = gd.from_objective(lambda x: float(x @ x)), []
    gd.minimize(
        oracle, plane, np.ones(2), method=method, budget=60, rng=0,
        callback=lambda p: states.append(p.state) and None,
    )  # fmt: skip
    ended = states[-1]._replace(stop="resolution")
    asked = method._doubted(plane, ended, np.random.default_rng(0))
    others, points = next(asked)
    np.testing.assert_array_equal(points, np.broadcast_to(ended.point, points.shape))
    with pytest.raises(StopIteration) as end:
        asked.send(np.where(np.arange(len(others)) == 1, -1.0, 1.0))
    again = end.value.value
    assert (again.stop, again.ends, again.uncertainty) == (None, 1, None)
    np.testing.assert_allclose(again.point, others[1], rtol=1e-12)
    assert again.size == pytest.approx(1.25 * plane.dist(others[1], ended.point) / np.sqrt(2))
