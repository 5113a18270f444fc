"""Bisection: the posterior against brute force, symmetries, raters, open questions."""

import itertools
import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.people import bisection
from geoduel.methods.people.bisection import densest_window, middle_of_half, posterior
from geoduel.oracles import Person
from geoduel.oracles.people import DEGREE

LINE, PLANE = gd.Euclidean(1), gd.Rotations(2)
METHOD = gd.Bisection(prior_radius=45.0, jnd=1.0)


def answered(method, manifold, x0, answers, rng=0):
    """State after answers (a, b, answer, left, rater)."""
    rng = np.random.default_rng(rng)
    state = method.start(manifold, x0, rng)
    for a, b, answer, left, rater in answers:
        state = method.update(manifold, state, a, b, answer, rng, left=left, rater=rater)
    return state


def at(t):
    return np.array([float(t)])


SOME = [
    (at(20), at(-30), -1, 1, None),
    (at(25), at(-5), 1, -1, None),
    (at(0), at(14), 0, 1, None),
    (at(9), at(-3), -1, 0, None),
]


def brute_force(answers, ideals):
    """Likelihood of each ideal, by loops over everything a rater may be like."""
    axes = (bisection.JNDS, bisection.BIASES, bisection.TIES, bisection.LAPSES, bisection.LEFTS)
    total = np.zeros(len(ideals))
    for combination in itertools.product(*(zip(*axis, strict=True) for axis in axes)):
        (jnd, bias, tie, lapse, left), weights = zip(*combination, strict=True)
        product = np.full(len(ideals), math.prod(weights))
        for a, b, answer, side, _ in answers:
            x = math.log(3) / jnd * (abs(ideals - b) - abs(ideals - a)) + side * bias
            first, second = (1 / (1 + np.exp(-(s * x - tie))) for s in (1, -1))
            seen = {-1: first, 1: second, 0: 1 - first - second}[answer]
            share = 1e-3 if answer == 0 else 0.5 - answer * side * (left - 0.5)
            product *= lapse * share + (1 - lapse) * seen
        total += product
    return total


@pytest.mark.parametrize("raters", [(None,) * 4, ("ann", "bob", "ann", "bob")])
def test_posterior_is_that_of_brute_force(raters):
    """One rater's parameters are shared by their answers; raters are independent."""
    answers = [(*q[:4], rater) for q, rater in zip(SOME, raters, strict=True)]
    state = answered(METHOD, LINE, at(0), answers)
    expected = state.prior.copy()
    for rater in set(raters):
        expected *= brute_force([q for q in answers if q[4] == rater], state.grid)
    expected /= expected.sum()
    assert np.allclose(posterior(state), expected, rtol=1e-4, atol=1e-9)


def test_naming_the_points_the_other_way_round_changes_nothing():
    swapped = [(b, a, -answer, -left, rater) for a, b, answer, left, rater in SOME]
    one, two = (answered(METHOD, LINE, at(0), answers) for answers in (SOME, swapped))
    assert np.allclose(one.tables, two.tables, rtol=1e-5)
    assert one.best == pytest.approx(two.best)


def test_mirrored_answers_give_the_mirrored_ideal():
    mirrored = [(-a, -b, answer, left, rater) for a, b, answer, left, rater in SOME]
    one, two = (answered(METHOD, LINE, at(0), answers) for answers in (SOME, mirrored))
    assert one.best == pytest.approx(-two.best, abs=1e-9)
    assert one.uncertainty == pytest.approx(two.uncertainty, rel=1e-6)


def test_a_turned_start_turns_everything():
    method, turn = gd.Bisection(), PLANE.from_angle(1.1)
    states = []
    for x0 in (np.eye(2), turn):
        rng = np.random.default_rng(0)
        state = method.start(PLANE, x0, rng)
        for answer in (1, -1, -1, 0):
            a, b = method.propose(PLANE, state, rng)
            state = method.update(PLANE, state, a, b, answer, rng)
        states.append(state)
    assert np.allclose(turn @ states[0].best, states[1].best, atol=1e-9)
    assert states[0].uncertainty == pytest.approx(states[1].uncertainty)


def test_before_answers_raters_are_what_people_are_believed_to_be():
    """The posterior mean of each number is that of its prior."""
    usual = METHOD.observers(LINE, answered(METHOD, LINE, at(0), []))[""]
    left = sum(value * weight for value, weight in zip(*bisection.LEFTS, strict=True))
    assert (usual.answers, usual.left, usual.bias) == pytest.approx((0, left, 0), abs=1e-6)
    assert usual.jnd == pytest.approx(1.0)


def test_a_tie_says_that_the_ideal_is_halfway():
    state = answered(METHOD, LINE, at(0), [(at(20), at(-4), 0, 1, None)])
    assert abs(state.best[0] - 8) < 1


def test_one_who_always_says_left_is_found_out():
    rng = np.random.default_rng(1)
    answers = []
    for _ in range(12):
        t, left = rng.uniform(-30, 30), rng.choice([-1, 1])
        answers.append((at(t + 20), at(t - 20), -left, left, "left"))
    state = answered(METHOD, LINE, at(0), answers)
    found = METHOD.observers(LINE, state)["left"]
    assert found.left > 0.8
    assert found.lapse > 2 * 0.03
    assert found.answers == 12
    assert state.uncertainty > 5  # next to nothing was learned of the ideal


def test_who_contradicts_themselves_counts_less():
    """The careless rater asks for +20 and -20 by turns, the careful one says +10 throughout."""
    careful = [(at(10 + w), at(10 - w), s, 0, "careful") for w, s in ((5, -1), (6, 1))] * 2
    careful = [(at(8), at(4), -1, 0, "careful"), (at(12), at(16), -1, 0, "careful")] * 4
    careless = [(at(-20), at(30), s, 0, "careless") for s in (-1, -1, 1, -1)]
    state = answered(METHOD, LINE, at(0), careful + careless)
    assert 6 <= state.best[0] <= 14
    seen = METHOD.observers(LINE, state)
    assert seen["careless"].jnd > seen["careful"].jnd


@pytest.mark.parametrize("turned", [1, -1])
def test_recommends_the_middle_of_the_shortest_half(turned):
    """Most lies evenly from 5 to 10, the rest evenly elsewhere, which does not pull."""
    grid = np.linspace(-45, 45, 361)
    p = np.where(abs(grid - 7.5) <= 2.5, 0.6 / 21, 0.4 / 340)[::turned]
    shortest = 0.5 / 0.6 * 21 * 0.25
    middle = middle_of_half(grid, p)
    assert abs(middle - turned * 7.5) <= (21 * 0.25 - shortest) / 2 + 1e-9
    assert middle_of_half(grid, np.ones(361) / 361) == pytest.approx(0, abs=1e-9)
    assert middle_of_half(grid, np.eye(361)[100]) == pytest.approx(grid[100])


def test_densest_window_by_loops():
    p = np.random.default_rng(0).random((3, 40))
    for width in (0, 4, 30):
        loops = [max(q[max(i - width, 0) : i + width + 1].sum() for i in range(40)) for q in p]
        assert np.allclose(densest_window(p, width), loops)


def test_the_region_does_not_lean_on_the_assumed_jnd(monkeypatch):
    """Weights of the JND other than those of the questions, by brute force."""
    state = answered(METHOD, LINE, at(0), SOME)
    monkeypatch.setattr(bisection, "JNDS", (bisection.JNDS[0], bisection.STATED))
    expected = state.prior * brute_force(SOME, state.grid)
    expected /= expected.sum()
    found = posterior(state, stated=True)
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-9)
    away = abs(state.grid - state.best[0])
    assert found[away <= state.uncertainty + 0.25].sum() >= 0.8
    assert found[away <= state.uncertainty - 0.25].sum() <= 0.8


def test_a_jnd_assumed_too_large_does_not_coarsen_the_result():
    """Recommended is no window of the assumed JND, but where the belief is densest."""
    rng = np.random.default_rng(5)
    method = gd.Bisection(prior_radius=45.0, jnd=5.0)
    state = method.start(LINE, at(0), rng)
    for _ in range(14):
        a, b = method.propose(LINE, state, rng)
        answer = -1 if abs(a[0] - 17.3) < abs(b[0] - 17.3) else 1
        state = method.update(LINE, state, a, b, answer, rng)
    assert abs(state.best[0] - 17.3) < 1
    assert method.observers(LINE, state)[""].jnd < 5


def test_the_grid_is_refined_and_long_runs_find_a_hundredth_of_a_degree():
    rng = np.random.default_rng(3)
    method = gd.Bisection()
    person = Person(PLANE, PLANE.from_angle(0.2), 4)
    state = method.start(PLANE, np.eye(2), rng)
    cell = state.grid[1] - state.grid[0]
    for _ in range(150):
        a, b = method.propose(PLANE, state, rng)
        state = method.update(PLANE, state, a, b, person.answer(a, b), rng, left=1)
    assert state.grid[1] - state.grid[0] < cell / 3
    assert person.error(state.best) < 0.35 * DEGREE
    assert 0.1 < method.observers(PLANE, state)[""].jnd / DEGREE < 3


def test_questions_lie_wide_enough_to_be_told_apart():
    rng = np.random.default_rng(0)
    method = gd.Bisection(jnd=3 * DEGREE)
    person = Person(PLANE, PLANE.from_angle(-0.3), 1)
    state = method.start(PLANE, np.eye(2), rng)
    for _ in range(20):
        a, b = method.propose(PLANE, state, rng)
        assert PLANE.dist(a, b) > 3 * DEGREE
        state = method.update(PLANE, state, a, b, person.answer(a, b), rng, left=1)


def test_open_questions_are_not_asked_again():
    rng = np.random.default_rng(0)
    state = METHOD.start(LINE, at(0), rng)
    pending = []
    for _ in range(7):
        pending.append(METHOD.propose(LINE, state, rng, pending))
    centres = np.array([(a[0] + b[0]) / 2 for a, b in pending])
    assert len(np.unique(centres.round(3))) >= 5
    assert np.ptp(centres) > 30


def test_the_same_generator_asks_the_same():
    ask = [
        METHOD.propose(LINE, METHOD.start(LINE, at(0), r), r)
        for r in map(np.random.default_rng, [7, 7])
    ]
    assert np.array_equal(ask[0], ask[1])


def test_stops_at_the_wanted_accuracy_and_stays_in_the_domain():
    oracle = gd.from_objective(lambda x: abs(x[0] - 30))
    method = gd.Bisection(prior_radius=45.0, jnd=1.0, x_tol=1.0)
    result = gd.minimize(oracle, LINE, at(0), method=method, budget=100, rng=0)
    assert result.stop_reason == "x_tol"
    assert abs(result.x[0] - 30) < 2
    box = gd.Ball(LINE, at(0), 20.0)
    result = gd.minimize(oracle, LINE, at(0), method=method, domain=box, budget=15, rng=0)
    assert box.contains(result.x)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: gd.Bisection().start(gd.Sphere(3), np.eye(3)[0], np.random.default_rng(0)), "dim"),
        (lambda: answered(METHOD, LINE, at(0), [(at(1), at(2), 2, 0, None)]), "answer"),
        (lambda: answered(METHOD, LINE, at(0), [(at(1), at(2), 1, 5, None)]), "left"),
    ],
)
def test_bad_arguments_are_named(call, word):
    with pytest.raises(ArgumentError, match=word):
        call()
