"""The walk on plateaus: what it moves by, what it returns, and where the default begins it."""

import math
from itertools import pairwise

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.descent.plateau import FAR, QUIET, STILL, PlateauWalk


def walked(f, manifold, x, longest, steps, seed=0, noticed=0.0, domain=None):
    """States of a walk whose duels tie up to a difference of ``noticed``."""
    walk, rng = PlateauWalk(domain), np.random.default_rng(seed)
    states = [walk.start(manifold, x, longest)]
    while len(states) < steps and states[-1].stop is None:
        step = walk.step(manifold, states[-1], rng)
        answer = None
        try:
            while True:
                a, b = step.send(answer)
                answer = float(np.sign(f(a) - f(b))) if abs(f(a) - f(b)) > noticed else 0.0
        except StopIteration as end:
            states.append(end.value)
    return states


def terraced(d, seed):
    """A turned bowl of condition 100 in whole steps, and in tenths of them near the optimum."""
    rng = np.random.default_rng(seed)
    R, Q = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
    optimum = rng.uniform(-3, 3, d)

    def f(x):
        z = R @ (x - optimum)
        z = np.where(abs(z) > 0.5, np.round(z), np.round(10 * z) / 10)
        return float(np.geomspace(1, 100, d) @ (Q @ z) ** 2)

    return f


def test_it_moves_by_ties_and_returns_the_last_that_won():
    f = terraced(3, 0)
    states = walked(f, gd.Euclidean(3), np.full(3, 4.0), 2.0, 400)
    values = np.array([(f(s.point), f(s.best)) for s in states])
    np.testing.assert_array_equal(values[:, 0], values[:, 1])  # ties are as good, exactly
    assert (np.diff(values[:, 1]) <= 0).all()
    by_ties = sum(a.best is b.best and a.point is not b.point for a, b in pairwise(states))
    assert by_ties > 40


@pytest.mark.parametrize("better", [-1.0, 0.0])
def test_only_a_longer_trial_that_wins_lengthens_those_that_come(better):
    """After a tie they would be those of a plateau however narrow."""
    plane, ratios = gd.Euclidean(2), []
    for seed in range(40):
        start = PlateauWalk().start(plane, np.zeros(2), 1.0)._replace(sigma=0.01)
        walk = PlateauWalk().step(plane, start, np.random.default_rng(seed))
        next(walk)
        try:
            while True:
                walk.send(better)
        except StopIteration as end:
            if np.random.default_rng(seed).random() < FAR:
                ratios.append(end.value.sigma / start.sigma)
    assert len(ratios) > 2
    assert (max(ratios) > 1) == (better < 0)


def test_differences_too_small_to_be_noticed_do_not_add_up():
    """A slope of which a duel notices differences above 1; a thousand of them end nowhere else."""
    states = walked(lambda x: x[0], gd.Euclidean(2), np.zeros(2), 0.5, 1000, noticed=1.0)
    for state in states:
        assert state.point[0] <= state.best[0] + 1.0 + 1e-12


def test_it_leaves_a_corner_at_which_nearly_all_short_trials_lose():
    """f has a minimum of 0 at which (1+1)-CMA-ES converges, and is -1 from 2 away."""

    def f(x):
        return -1.0 if x[0] > 2 else float(np.sum(abs(x)))

    for seed in range(3):
        states = walked(f, gd.Euclidean(2), np.array([-1.0, 0.3]), 8.0, 1000, seed)
        assert f(states[-1].best) == -1.0


@pytest.mark.parametrize("noticed", [0.01, 1.0])
def test_the_reach_of_a_plateau_is_stated_once_nothing_has_won_for_long(noticed):
    """Points that a duel with the optimum does not tell from it fill a ball of radius r."""
    r = math.sqrt(noticed)
    states = walked(lambda x: float(x @ x), gd.Euclidean(3), np.full(3, 2.0), 8.0, 400, 0, noticed)
    quiet = [s for s in states if s.quiet >= STILL * 3]
    assert all(s.uncertainty is None for s in states if s.quiet < STILL * 3)
    assert len(quiet) > 50
    assert all(r / 5 < (s.uncertainty or 0) < 5 * r for s in quiet)
    assert np.linalg.norm(states[-1].best) < 2 * r


def test_it_ends_where_nothing_has_won_for_long_or_at_the_resolution():
    flat = walked(lambda x: 0.0, gd.Sphere(3), np.array([0, 0, 1.0]), 1.0, 10**4)
    assert (flat[-1].stop, len(flat)) == ("ties", 1 + 2 * QUIET)
    assert (flat[-1].noise, flat[-1].uncertainty) == (None, None)
    smooth = walked(lambda x: float(x @ x), gd.Euclidean(2), np.ones(2), 1.0, 10**4)
    assert smooth[-1].stop == "resolution"
    assert np.linalg.norm(smooth[-1].best) < 1e-5  # a thousand lengths of the last trials


def test_in_a_domain_all_points_are_feasible():
    box = gd.Box(-np.ones(2), np.ones(2))
    seen = []

    def f(x):
        seen.append(x)
        return float(np.round(np.sum(x)))

    states = walked(f, gd.Euclidean(2), np.zeros(2), 1.0, 300, domain=box)
    assert all(box.contains(x) for x in seen)
    assert f(states[-1].best) == -2


@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")
def test_a_left_over_budget_is_walked_on_a_plateau():
    """DuelNewton alone ends on a terrace above the least one; the walk takes its end along."""
    for seed in (0, 1, 3):
        f, options = terraced(2, seed), {"budget": 600, "rng": seed}
        oracle, x0 = gd.from_objective(f), np.full(2, 4.0)
        assert f(gd.minimize(oracle, gd.Euclidean(2), x0, method="duel-newton", **options).x) > 1
        assert f(gd.minimize(oracle, gd.Euclidean(2), x0, **options).x) == 0


@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")
def test_a_study_that_walks_is_resumed_where_it_was(tmp_path):
    f, x0 = terraced(2, 1), np.full(2, 4.0)
    options = {"budget": 1200, "rng": 3}
    oracle = gd.from_objective(f)
    whole = gd.minimize(oracle, gd.Euclidean(2), x0, **options)
    log = tmp_path / "run.jsonl"
    stopped = []

    def stop(progress):
        stopped.append(type(progress.state).__name__)
        return len(stopped) > 10 and stopped[-10] == "WalkState"

    gd.minimize(oracle, gd.Euclidean(2), x0, log=log, callback=stop, **options)
    assert stopped[-1] == "WalkState"
    again = gd.minimize(oracle, gd.Euclidean(2), x0, log=log, **options)
    np.testing.assert_array_equal(again.x, whole.x)
    assert again.duels == whole.duels


@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")
def test_no_walk_where_probes_have_a_least_length():
    """Its trials may be shorter than `min_radius`."""
    oracle = gd.from_objective(terraced(2, 1))
    method = gd.Auto(restarts=float("inf"), min_radius=0.2)
    kinds = set()
    gd.minimize(
        oracle, gd.Euclidean(2), np.full(2, 4.0), method=method, budget=600, rng=3,
        callback=lambda p: kinds.add(type(getattr(p.state, "local", p.state)).__name__) and None,
    )  # fmt: skip
    assert "NewtonState" in kinds
    assert "WalkState" not in kinds


def test_where_a_duel_is_answered_otherwise_it_ends():
    """One win in error would mislead it; of duels asked twice 2 p (1 - p) differ."""
    rng = np.random.default_rng(0)

    def f(x):  # answers of the walk compare f; a third of them are about other numbers
        return float(np.sum(abs(x))) if rng.random() < 0.7 else float(rng.standard_normal())

    states = walked(f, gd.Euclidean(2), np.ones(2), 1.0, 1000)
    end = states[-1]
    assert (end.stop, end.differed) == ("ties", 1)
    assert 2 * end.noise * (1 - end.noise) == pytest.approx(1 / end.confirmed)
    assert states[0].noise is None


@pytest.mark.parametrize("better", [-1.0, 0.0, 1.0])
def test_what_is_known_of_the_first_point_holds_until_another_one_wins(better):
    """Ties do not change it, nor trials without end that lose."""
    plane = gd.Euclidean(2)
    state = PlateauWalk().start(plane, np.zeros(2), 1.0, 0.3)
    for seed in range(60):
        assert state.uncertainty == (None if seed and better < 0 else 0.3)
        walk = PlateauWalk().step(plane, state, np.random.default_rng(seed))
        next(walk)
        try:
            while True:
                walk.send(better)
        except StopIteration as end:
            state = end.value
