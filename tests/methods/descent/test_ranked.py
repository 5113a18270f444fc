"""Descent by rankings: what is asked, what is heard, and that judges of either kind lead alike."""

import itertools
import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.descent.fit import fit
from geoduel.methods.descent.noise import Noise
from geoduel.methods.descent.ranked import (
    corners,
    corners_of_block,
    coverage,
    groups,
    heard,
    ranked,
    scores,
    whole,
)
from geoduel.methods.frame import Frame
from geoduel.methods.sorting import most_duels
from geoduel.problems import Quadratic, Rayleigh

METHODS = ("duel-newton", "duel-csa")


def places_in(values):
    return (values[..., :, None] > values[..., None, :]).sum(axis=-1)


def judge(problem, seen=None):
    """Ranks by the values of a problem, and notes how many points it was given."""

    def rank(points):
        if seen is not None:
            seen.append(len(points))
        return np.argsort([problem.objective(x) for x in points])

    return rank


@pytest.mark.parametrize("k", [3, 5, 8])
def test_corners_of_a_simplex(k):
    e = corners(np.random.default_rng(0), k, k - 1)
    np.testing.assert_allclose(e @ e.T, (k * np.eye(k) - 1) / (k - 1), atol=1e-14)


def test_corners_seen_from_fewer_directions_are_of_unit_length():
    e = corners(np.random.default_rng(0), 8, 2)
    np.testing.assert_allclose(np.linalg.norm(e, axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 8), (6, 8), (7, 8), (30, 8), (30, 3)])
def test_groups_of_a_block_are_in_subspaces_orthogonal_to_each_other(d, k):
    e = corners_of_block(np.random.default_rng(0), k, d)
    count, each = groups(d, k)
    assert e.shape == (count, k, d)
    assert np.linalg.matrix_rank(e.reshape(-1, d)) == count * each == round(coverage(d, k) * d)
    for one, other in itertools.combinations(e, 2):
        np.testing.assert_allclose(one @ other.T, 0, atol=1e-14)


@pytest.mark.parametrize("k", [3, 8])
def test_the_sum_by_scores_is_of_one_length_whatever_the_order(k):
    rng = np.random.default_rng(0)
    e = corners(rng, k, k - 1)
    for _ in range(10):
        assert np.linalg.norm(scores(rng.permutation(k)) @ e) == pytest.approx(whole(k))


def test_lengths_of_sums_by_scores():
    assert whole(2) == 2  # the corners are opposite
    assert whole(3) == pytest.approx(math.sqrt(3))  # of three, two at 120°
    np.testing.assert_array_equal(scores(np.array([3, 1, 1, 0, 4])), [0.5, -0.25, -0.25, -1, 1])


def test_neighbours_in_an_order_are_heard_as_duels():
    rng = np.random.default_rng(0)
    e, g = corners_of_block(rng, 5, 9), rng.standard_normal(9)
    places = places_in(e @ g)
    duels = heard(e, places, 0.3)
    assert len(duels.answers) == len(e) * 4
    assert (duels.answers == np.sign(duels.directions @ g)).all()
    places[0] = 0  # all alike
    assert (heard(e, places, 0.3).answers[:4] == 0).all()


@pytest.mark.parametrize(("apart", "answers"), [(1, [1, 0, 1, 1]), (2, [1, 1, 1]), (4, [1])])
def test_what_is_heard_of_an_order_with_a_tie(apart, answers):
    """Of corners that are unit vectors: half their differences, about their middles."""
    e = np.eye(5)[[2, 0, 1, 4, 3]]  # in the order of their places, up to the tie
    duels = heard(e[None], np.array([[1, 0, 1, 4, 3]]), 0.3, apart)
    order = e[[1, 0, 2, 4, 3]]
    assert duels.answers.tolist() == answers
    np.testing.assert_allclose(duels.directions, (order[apart:] - order[:-apart]) / 2)
    np.testing.assert_allclose(duels.centres, 0.15 * (order[apart:] + order[:-apart]))
    np.testing.assert_allclose(duels.blurs, 0.03)


@pytest.mark.parametrize(("credit", "again"), [(0.0, 0), (2.0, 2), (1000.0, 80)])
def test_pairs_half_of_all_places_apart_are_asked_again(credit, again):
    rng, plane = np.random.default_rng(0), gd.Euclidean(3)
    steps, g = rng.standard_normal((20, 5, 3)), rng.standard_normal(3)
    places = places_in(steps @ g)
    noise = Noise(credit=credit, total=9)  # a hundredth of 80 duels is due besides
    questions = ranked(plane, Frame(np.zeros(3), np.eye(3)), steps, noise, rng)
    np.testing.assert_array_equal(next(questions).points, steps)
    try:
        x, y = questions.send(places)
        at = [[places[np.all(steps == one, axis=-1)][0] for one in side] for side in (x, y)]
        assert again < 80 or set(at[0]) == {0, 1, 2}
        assert set(np.subtract(*at)) == {-2}
        questions.send(np.sign((x - y) @ g))
    except StopIteration as end:
        found, noise = end.value
    else:
        pytest.fail("more is asked than the ranking and what is due")
    np.testing.assert_array_equal(found, places)
    assert (noise.total, noise.differed) == (9 + again, 0)


@pytest.mark.parametrize(("k", "d"), [(3, 5), (4, 5), (4, 2)])
def test_the_points_of_a_ranking_lead_into_all_directions_that_they_can(k, d):
    seen = []

    def rank(points):
        seen.append(points)
        return np.argsort(np.sum((points - 1) ** 2, axis=-1))

    oracle = gd.from_ranking(rank, most=k)
    options = {"method": "duel-csa", "ranking": k, "iterations": 12, "rng": 0}
    gd.minimize(oracle, gd.Euclidean(d), np.zeros(d), **options)
    whole = [points - points.mean(axis=0) for points in seen if len(points) == k]
    assert len(whole) > 3
    assert {np.linalg.matrix_rank(points) for points in whole} == {min(k - 1, d)}


def test_the_fit_of_rankings_finds_the_gradient_better_than_that_of_as_many_signs():
    d, k, tau = 21, 8, 0.05
    cosines = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        g = rng.standard_normal(d)
        e = np.concatenate([corners_of_block(rng, k, d) for _ in range(2)])
        found, _ = fit(heard(e, places_in(e @ g), 1.0), tau, 0.01)
        signs = 2.0 * (e @ g > 0) - 1
        crude = np.einsum("rk,rkd->d", signs, e)
        cosines.append([v @ g / np.linalg.norm(v) / np.linalg.norm(g) for v in (found, crude)])
    ranked, crude = np.mean(cosines, axis=0)
    assert ranked > crude


@pytest.mark.parametrize(("method", "rounds"), [("duel-newton", 0.25), ("duel-csa", 0.25)])
def test_rankings_save_three_rounds_in_four(method, rounds):
    problem, calls = Quadratic.random(10, 30.0, 5), []
    goal = 1e-5 * problem.gap(problem.x0)

    def found(progress):
        return problem.gap(progress.x) < goal

    duels = gd.minimize(
        problem.oracle(), problem.manifold, problem.x0, method=method, callback=found, rng=0
    ).duels
    gd.minimize(
        gd.from_ranking(judge(problem, calls)), problem.manifold, problem.x0, method=method,
        callback=found, rng=0,
    )  # fmt: skip
    assert len([k for k in calls if k == 8]) < rounds * duels
    assert set(calls) == {2, 8}


@pytest.mark.parametrize("method", METHODS)
def test_a_ranking_and_its_sort_lead_to_the_same_run(method):
    problem = Rayleigh.random(6, 1)
    settings = {"method": method, "iterations": 25, "ranking": 5, "rng": 0}
    start = problem.manifold, problem.x0
    ranked = gd.minimize(gd.from_ranking(judge(problem)), *start, **settings)
    seen = gd.minimize(gd.from_objective(problem.objective), *start, **settings)
    assert (ranked.x == seen.x).all()
    assert ranked.rounds < seen.rounds
    assert seen.duels <= ranked.duels  # a ranking counts as the most that its sort takes


def test_a_sort_is_counted_and_ends_within_the_budget():
    problem = Quadratic.random(4, 3.0, 2)
    for budget in range(20, 60, 3):
        counted = gd.Counted(problem.oracle(), budget=budget)
        result = gd.minimize(counted, problem.manifold, problem.x0, ranking=5, budget=budget, rng=0)
        assert counted.duels == result.duels <= budget
        assert result.stop_reason == "budget"


def test_rankings_are_counted_as_their_sorts_and_end_within_the_budget():
    problem, calls = Quadratic.random(4, 3.0, 2), []
    oracle = gd.from_ranking(judge(problem, calls), most=6)
    result = gd.minimize(oracle, problem.manifold, problem.x0, budget=100, rng=0)
    assert result.duels == sum(map(most_duels, calls)) <= 100
    assert 6 in calls


def test_who_ranks_fewer_points_is_asked_pairs():
    problem, calls = Quadratic.random(4, 3.0, 2), []
    oracle = gd.from_ranking(judge(problem, calls), most=3)
    gd.minimize(oracle, problem.manifold, problem.x0, ranking=5, budget=100, rng=0)
    assert set(calls) == {2}


def test_runs_with_a_log_and_methods_of_pairs_ask_pairs(tmp_path):
    problem, calls, log = Quadratic.random(3, 3.0, 2), [], tmp_path / "run.log"
    oracle = gd.from_ranking(judge(problem, calls))
    short = gd.minimize(oracle, problem.manifold, problem.x0, budget=30, rng=0, log=log)
    asked = len(calls)
    again = gd.minimize(oracle, problem.manifold, problem.x0, budget=40, rng=0, log=log)
    assert len(calls) - asked <= 40 - short.duels + 3  # the others are in the file
    assert problem.gap(again.x) <= problem.gap(short.x)
    assert "ranking" not in log.read_text().splitlines()[0]  # as before there were any
    gd.minimize(oracle, problem.manifold, problem.x0, method="stp", budget=20, rng=0)
    assert set(calls) == {2}


def test_ties_of_all_points_end_a_run():
    flat = gd.from_ranking(lambda points: [list(range(len(points)))])
    with pytest.warns(gd.errors.TiesWarning):
        result = gd.minimize(flat, gd.Sphere(4), budget=5_000, rng=0)
    assert result.stop_reason == "ties"


def test_several_problems_do_what_each_would_do_alone():
    problem = Rayleigh.random(5, 3)
    starts = problem.manifold.random_point(np.random.default_rng(0), batch=(2,))
    settings = {"method": "duel-newton", "ranking": 4, "budget": 150}
    oracle = gd.from_objective(problem.objective)
    together = gd.minimize(oracle, problem.manifold, starts, rng=0, **settings)
    for x, start, rng in zip(together.x, starts, np.random.default_rng(0).spawn(2), strict=True):
        alone = gd.minimize(oracle, problem.manifold, start, rng=rng, **settings)
        np.testing.assert_allclose(x, alone.x, atol=1e-12)


def test_a_study_asks_pairs_and_leads_to_the_same_point():
    problem = Rayleigh.random(4, 3)
    method = gd.DuelNewton(ranking=4)
    oracle = gd.from_objective(problem.objective)
    study = gd.create_study(problem.manifold, method, x0=problem.x0, rng=0)
    study.optimize(oracle, 60)
    run = gd.minimize(oracle, problem.manifold, problem.x0, method=method, budget=60, rng=0)
    np.testing.assert_allclose(study.recommend(), run.x, atol=1e-12)


def test_wrong_answers_are_noticed():
    problem = Quadratic.random(8, 10.0, 1)
    noisy = gd.Noisy(problem.oracle(), flip=0.15, rng=0)
    result = gd.minimize(noisy, problem.manifold, problem.x0, ranking=6, budget=1_500, rng=0)
    assert problem.gap(result.x) < 1e-2 * problem.gap(problem.x0)
    assert result.noise is not None
    assert result.noise > 0.03


@pytest.mark.parametrize("method", [gd.DuelNewton, gd.DuelCSA, gd.Auto])
def test_settings_that_cannot_be_are_named(method):
    with pytest.raises(ArgumentError, match="ranking must be an integer >= 3"):
        method(ranking=2)
    with pytest.raises(ArgumentError, match="without a domain"):
        method(ranking=4, domain=gd.Box(np.zeros(2), np.ones(2)))
