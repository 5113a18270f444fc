"""Restarts: what a budget that is left over is spent on, and when no other run is worth it."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.descent.plateau import PlateauWalk
from geoduel.methods.restarts import Restarted, alike, elsewhere, judged, scale_of

BOWL = np.geomspace(1, 10, 3)
OTHER = (np.ones(1),)  # one more minimum


def bowl(x):
    return float(BOWL @ (x - 1) ** 2)


def wavy(x):
    """Nine local minima on the torus of angles, the best at 0."""
    return float(np.sum(2 - np.cos(x) - np.cos(3 * x)))


def answered(f, steps):
    """What a generator of duels returns, when f answers them."""
    try:
        pair = next(steps)
        while True:
            pair = steps.send(float(np.sign(f(pair[0]) - f(pair[1]))))
    except StopIteration as end:
        return end.value


def asked(**options):
    """The points of every duel of a run, and its result."""
    seen = []

    def oracle(x, y):
        seen.append((x, y))
        return int(np.sign(bowl(x) - bowl(y)))

    result = gd.minimize(oracle, gd.Euclidean(3), np.zeros(3), rng=0, **options)
    return np.array(seen), result


def test_what_is_left_of_a_budget_is_spent_after_the_run_and_changes_nothing_before():
    alone, first = asked(budget=4000, restarts=0)
    more, result = asked(budget=4000)
    np.testing.assert_array_equal(more[: len(alone)], alone)
    assert (first.runs, result.runs) == (1, 7)
    assert result.stop_reason == first.stop_reason == "resolution"
    assert len(alone) < result.duels < 4 * len(alone)  # runs to the same end are not finished
    assert bowl(result.x) <= bowl(first.x)


def test_a_run_that_is_over_keeps_its_reason_when_the_budget_ends_the_next_one():
    _, alone = asked(budget=4000, restarts=0)
    _, result = asked(budget=alone.duels + 20)
    assert (result.stop_reason, result.runs) == ("resolution", 2)
    np.testing.assert_array_equal(result.x, alone.x)
    assert result.uncertainty == alone.uncertainty


@pytest.mark.parametrize(
    "options",
    [{}, {"x_tol": 1e-3, "budget": 4000}, {"min_radius": 0.1, "budget": 900}, {"timeout": 60.0}],
)
def test_runs_that_are_to_end_early_end(options):
    assert asked(**options)[1].runs == 1


def test_ends_that_differ_by_the_accuracy_asked_for_are_one_minimum():
    """Two minima on the sphere, known to 1e-4; counted as new, their ends took all of a budget."""
    g = np.array([0.6, 0.0, 0.8])
    oracle = gd.from_objective(lambda x: -((x @ g) ** 2) - 0.2 * (x @ g))
    x0 = gd.Sphere(3).exp(-g, np.array([0.0, 0.1, 0.0]))
    for seed in range(2):
        result = gd.minimize(
            oracle, gd.Sphere(3), x0, x_tol=1e-4, restarts=math.inf, budget=10_000, rng=seed
        )
        assert result.stop_reason == "x_tol"
        assert result.duels < 5000
        assert gd.Sphere(3).dist(result.x, g) < 1e-3


def test_several_problems_are_not_begun_again_by_themselves():
    oracle = gd.from_objective(lambda x: ((x - 1) ** 2).sum(-1), vectorized=True)
    result = gd.minimize(oracle, gd.Euclidean(2), np.zeros((2, 2)), budget=600, rng=0)
    assert result.runs == 1
    assert result.stop_reason == "resolution"


def test_what_is_expected_counts_the_runs_that_were_not_smoothed():
    smoothed, seen = {}, []

    def note(progress):
        state = progress.state
        if isinstance(state, Restarted):
            smoothed[state.run] = bool(state.smoothing)
            seen.append((state.run, state.alone))

    oracle = gd.from_objective(wavy)
    options = {"restarts": math.inf, "x_tol": 3e-2, "budget": 120, "rng": 0, "callback": note}
    gd.minimize(oracle, gd.Torus(1), np.array([2.0]), **options)
    assert seen[-1][0] > 2
    for run, alone in seen:
        assert alone == 1 + sum(not smoothed[k] for k in range(1, run))


def test_the_best_of_several_minima_is_found_without_settings():
    oracle = gd.from_objective(wavy)
    x0 = np.array([2.0, -2.0])
    first = gd.minimize(oracle, gd.Torus(2), x0, budget=900, restarts=0, rng=0)
    result = gd.minimize(oracle, gd.Torus(2), x0, budget=900, rng=0)
    assert wavy(first.x) > 1
    assert wavy(result.x) < 1e-10
    assert result.stop_reason == "resolution"
    assert result.uncertainty is not None
    assert gd.Torus(2).dist(result.x, np.zeros(2)) < 10 * result.uncertainty + 1e-7


def test_a_descent_without_end_is_not_begun_again():
    oracle = gd.from_objective(lambda x: float(x[1]))  # of a hyperboloid
    with pytest.warns(gd.errors.DivergenceWarning):
        result = gd.minimize(oracle, gd.Hyperbolic(2), budget=9000, rng=0)
    assert (result.stop_reason, result.runs) == ("diverges", 1)


@pytest.mark.parametrize("w", [1, 2, 5])
def test_it_is_over_once_no_other_minimum_is_expected(w):
    """w minima in n runs: Boender and Rinnooy Kan expect w (n - 1)/(n - w - 2) in all."""
    state = Restarted(None, np.zeros(1), 1.0, others=(np.zeros(1),) * (w - 1))
    enough = [n for n in range(w + 3, 200) if w * (n - 1) / (n - w - 2) <= w + 0.5]
    over = [n for n in range(1, 200) if state._replace(alone=n).complete]
    assert over == enough
    assert over[0] == {1: 7, 2: 16, 5: 67}[w]


def test_the_next_start_is_about_as_far_as_asked_or_anywhere():
    rng = np.random.default_rng(0)
    plane, x = gd.Euclidean(3), np.array([5.0, 0.0, -2.0])
    far = [plane.dist(x, elsewhere(plane, x, rng, 4.0, None)) for _ in range(2000)]
    # the mean of |normal|² = 16 has the standard error 16 √(2/3)/√2000
    assert abs(np.mean(np.square(far)) - 16) < 4 * 16 * math.sqrt(2 / 3 / 2000)
    sphere = gd.Sphere(3)
    y = np.array([elsewhere(sphere, np.eye(3)[0], rng, 0.01, None) for _ in range(2000)])
    assert abs(y.mean(axis=0)).max() < 4 / math.sqrt(3 * 2000)
    spd = gd.SPD(2, metric="bures-wasserstein")  # its geodesics end
    assert all(
        np.linalg.eigvalsh(elsewhere(spd, np.eye(2), rng, 50.0, None))[0] > 0 for _ in range(50)
    )
    ball = gd.Ball(plane, np.zeros(3), 1.0)
    assert ball.contains(elsewhere(plane, np.zeros(3), rng, 9.0, ball))


@pytest.mark.parametrize("corner", [100.0, 0.0, -5.0])
def test_starts_in_a_box_are_all_over_it_wherever_it_is(corner):
    """Points near the origin, projected, would all be in its nearest corner."""
    box = gd.Box(np.full(2, corner), np.full(2, corner + 10))
    rng, champion = np.random.default_rng(0), np.full(2, corner + 2)
    starts = np.array([elsewhere(box.manifold, champion, rng, 5.0, box) for _ in range(40)])
    np.testing.assert_allclose(starts.mean(axis=0), corner + 5, atol=1.5)
    assert starts.std(axis=0).min() > 2
    first = [gd.minimize(lambda x, y: 1, box, budget=1, rng=seed).x for seed in range(8)]
    assert np.std(first, axis=0).min() > 1


@pytest.mark.parametrize(("end", "won"), [(0.5, True), (1.0, False), (2.0, False)])
def test_a_run_whose_end_is_better_makes_the_champion(end, won):
    """One that ties does not. The worse of the two is returned beside."""
    run = PlateauWalk().start(gd.Euclidean(1), np.full(1, end), 0.5)._replace(stop="budget")
    before = Restarted(run, np.ones(1), 1.0, reason="x_tol", distance=9.0)
    new, worse, after = answered(lambda x: float(x[0]), judged(before, 0.1))
    assert new == won
    assert (after.champion[0], worse[0]) == ((end, 1.0) if won else (1.0, end))
    assert (after.reason, after.distance) == (("budget", 0.1) if won else ("x_tol", 9.0))


def test_ends_of_the_same_value_are_alike_wherever_they_are():
    line, rng = gd.Euclidean(1), np.random.default_rng(0)
    ends = np.array([1.0]), np.array([-1.0])
    for higher in (0.0, 1e-6):  # the minimum at -1; the barrier is 1 high

        def two(x, higher=higher):
            return float((x[0] ** 2 - 1) ** 2 + higher * (x[0] < 0))

        assert answered(two, alike(line, *ends, 1e-5, rng, None, 0.0)) is (higher == 0)
        assert answered(two, alike(line, ends[0], ends[0] + 1e-6, 1e-5, rng, None, 0.0))


def test_the_scale_of_a_start_is_a_first_step_or_that_of_the_manifold():
    class Local:
        longest = 3.0

    sphere, plane = gd.Sphere(3), gd.Euclidean(2)
    assert scale_of(sphere, None, Local()) == sphere.typical_dist / 2
    assert scale_of(plane, None, Local()) == 1.5
    assert scale_of(plane, None, object()) == plane.typical_dist / 5
    ball = gd.Ball(plane, np.zeros(2), 0.25)
    assert scale_of(plane, ball, Local()) <= 0.25


@pytest.mark.parametrize(
    ("method", "before", "after"),
    [
        (gd.Auto(restarts=9), {}, (1, 0.0, 0.0)),  # anywhere
        (gd.Auto(restarts=9, smoothing=0.8, initial_step=0.5), {}, (1, 0.0, 1.0)),
        (gd.Auto(restarts=9, smoothing=0.8, initial_step=0.5), {"run": 1}, (2, 1.6, 1.0)),
        (gd.Auto(restarts=9, smoothing=0.8), {"run": 3}, (4, 3.2, 0.0)),
        (gd.Auto(restarts=math.inf), {}, (1, 0.0, 6.0)),
        (gd.Auto(restarts=math.inf), {"alone": 5}, (1, 0.0, 3.0)),  # near again
        (
            gd.Auto(restarts=math.inf),
            {"run": 1, "others": (np.ones(1),), "alone": 4},
            (2, 1.0, 48.0),
        ),
        (
            gd.Auto(restarts=math.inf),
            {"run": 2, "others": (np.ones(1),), "alone": 2},
            (3, 0.0, 12.0),
        ),
        (gd.Auto(restarts=math.inf), {"run": 1, "alone": 2}, (2, 0.0, 12.0)),
    ],
)
def test_where_and_how_the_next_run_begins(method, before, after):
    """Its number, its smoothing, and its distance from the best end."""
    plane, champion = gd.Euclidean(2), np.ones(2)
    ended = Restarted(None, champion, 3.0, **before)
    begun = method._restarted(plane, ended, np.random.default_rng(0))
    assert (begun.run, begun.smoothing, begun.length) == after
    assert (begun.champion, begun.asked) == (champion, None)
    assert (begun.point is champion) == (begun.smoothing > 0)
