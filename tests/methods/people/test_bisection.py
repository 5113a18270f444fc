"""Bisection: the posterior against brute force, symmetries, raters, open questions."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.people import attention, bisection
from geoduel.methods.people.attention import wary
from geoduel.methods.people.bisection import (
    densest,
    middle_of_half,
    posterior,
    prior_below,
    space_of,
)
from geoduel.oracles import Person
from geoduel.oracles.people import DEGREE, draw_person

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
    axes = (bisection.JNDS, bisection.ASYMMETRIES, bisection.WEBERS, bisection.LAPSES)
    total = np.zeros(len(ideals))
    for combination in itertools.product(*(zip(*axis, strict=True) for axis in axes)):
        (jnd, alpha, weber, (lapse, left)), weights = zip(*combination, strict=True)
        product = np.full(len(ideals), math.prod(weights))
        for a, b, answer, side, _ in answers:
            losses = [abs(x - ideals) * (1 + alpha * np.sign(x - ideals)) for x in (a, b)]
            noise = jnd + weber * (losses[0] + losses[1]) / 2
            x = math.log(3) * (losses[1] - losses[0]) / noise
            if answer == 0:
                seen, share = 0.0, 1e-3
                for tie, weight in zip(*bisection.TIES, strict=True):
                    seen += weight * (1 - sum(1 / (1 + np.exp(tie - s * x)) for s in (1, -1)))
            else:
                seen, share = expit(-answer * x), 0.5 - answer * side * (left - 0.5)
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


def test_the_best_of_three_by_brute_force():
    """1/(1 + Σ exp(-x)) with the arguments of the duels won; a lapse takes any of the three."""
    points = [at(12), at(-20), at(30)]
    state = METHOD.start(LINE, at(0), np.random.default_rng(0))
    state = METHOD.choose(LINE, state, np.array(points), 0, np.random.default_rng(0))
    ideals, total = state.grid, np.zeros(len(state.grid))
    axes = (bisection.JNDS, bisection.ASYMMETRIES, bisection.WEBERS, bisection.LAPSES)
    for combination in itertools.product(*(zip(*axis, strict=True) for axis in axes)):
        (jnd, alpha, weber, (lapse, _)), weights = zip(*combination, strict=True)
        first, *rest = (abs(x - ideals) * (1 + alpha * np.sign(x - ideals)) for x in points)
        odds = sum(
            math.e ** (-math.log(3) * (loss - first) / (jnd + weber * (loss + first) / 2))
            for loss in rest
        )
        total += math.prod(weights) * (lapse / 3 + (1 - lapse) / (1 + odds))
    expected = state.prior * total / np.sum(state.prior * total)
    assert np.allclose(posterior(state), expected, rtol=1e-4, atol=1e-9)


def test_the_worst_of_two_is_a_duel():
    rng = np.random.default_rng(0)
    best, worst = (
        METHOD.choose(LINE, METHOD.start(LINE, at(0), rng), np.array(pair), 0, rng, worst=w)
        for pair, w in (([at(9), at(-3)], False), ([at(-3), at(9)], True))
    )
    assert np.allclose(posterior(best), posterior(worst), rtol=1e-5)


def test_the_best_of_two_is_a_duel():
    rng = np.random.default_rng(0)
    duel = answered(METHOD, LINE, at(0), [(at(9), at(-3), -1, 0, None)])
    state = METHOD.choose(LINE, METHOD.start(LINE, at(0), rng), np.array([at(9), at(-3)]), 0, rng)
    assert np.array_equal(posterior(state), posterior(duel))
    assert state.attention.looks == pytest.approx(duel.attention.looks, rel=1e-4)  # float32


def test_a_strength_is_heard_again_once_more_is_known_of_its_meaning():
    """The table of the rater is what all answers say with the meaning that is known by now."""
    state, rng = METHOD.start(LINE, at(0), np.random.default_rng(0)), np.random.default_rng(0)
    for a, b, answer, strength in ((20, -30, -1, 1), (25, -5, 1, 2), (9, -3, -1, 1)):
        pair = at(a), at(b)
        state = METHOD.update(LINE, state, *pair, answer, rng, rater="ann", strength=strength)
    anew = bisection._fresh(len(state.grid))
    for one in state.answers.each():
        METHOD._hear(LINE, state, anew, one)
    p = [x.sum(axis=1).sum(axis=1)[0] for x in (anew, state.tables)]
    assert np.allclose(p[0] / p[0].sum(), p[1] / p[1].sum(), rtol=1e-4, atol=1e-12)


def test_naming_the_points_the_other_way_round_changes_nothing():
    swapped = [(b, a, -answer, -left, rater) for a, b, answer, left, rater in SOME]
    one, two = (answered(METHOD, LINE, at(0), answers) for answers in (SOME, swapped))
    assert np.allclose(posterior(one), posterior(two), rtol=1e-3)
    assert one.best == pytest.approx(two.best)
    (seen,), (other,) = (METHOD.observers(LINE, state).values() for state in (one, two))
    assert (seen.tie, seen.bias) == pytest.approx((other.tie, other.bias), rel=1e-3)


def test_half_of_the_answers_that_ignore_the_question_are_wrong():
    """Of each rater, who count as often as they have answered."""
    answers = [(*q[:4], rater) for q, rater in zip(SOME, ("ann", "bob", "ann", "ann"), strict=True)]
    state = answered(METHOD, LINE, at(0), answers)
    seen = METHOD.observers(LINE, state)
    assert state.noise == pytest.approx((3 * seen["ann"].lapse + seen["bob"].lapse) / 8)


def test_mirrored_answers_give_the_mirrored_ideal():
    mirrored = [(-a, -b, answer, left, rater) for a, b, answer, left, rater in SOME]
    one, two = (answered(METHOD, LINE, at(0), answers) for answers in (SOME, mirrored))
    assert one.best == pytest.approx(-two.best, abs=1e-6)
    assert one.uncertainty == pytest.approx(two.uncertainty, rel=1e-4)


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


def test_on_a_circle_it_does_not_matter_where_the_start_is():
    """Answers on both sides of the start's antipode, every point as likely."""
    method = gd.Bisection(prior_radius=math.inf)
    asked = [(2.8, 1.0, -1), (-2.6, 2.6, -1), (-3.1, 2.9, -1), (-2.9, 3.0, 1)]
    found = []
    for turn in (0.0, 1.3, 3.1, -2.2):
        rng = np.random.default_rng(0)
        state = method.start(PLANE, PLANE.from_angle(turn), rng)
        for a, b, answer in asked:
            pair = PLANE.from_angle(a), PLANE.from_angle(b)
            state = method.update(PLANE, state, *pair, answer, rng, left=1)
        assert posterior(state).sum() == pytest.approx(1)
        found.append((float(PLANE.dist(state.best, PLANE.from_angle(3.0))), state.uncertainty))
    assert np.ptp(found, axis=0) == pytest.approx(0, abs=2 * DEGREE)  # the cells differ
    assert found[0][0] < 30 * DEGREE


def test_before_answers_raters_are_what_people_are_believed_to_be():
    """The posterior mean of each number is that of its prior."""
    usual = METHOD.observers(LINE, answered(METHOD, LINE, at(0), []))[""]
    lapses = [(lapse, lapse * left) for lapse, left in bisection.LAPSES[0]]
    lapse, left = np.average(lapses, axis=0, weights=bisection.LAPSES[1])
    assert (usual.answers, usual.lapse, usual.left) == pytest.approx((0, lapse, left / lapse))
    assert (usual.jnd, usual.bias) == pytest.approx((1.0, 0.0))
    weber = np.average(bisection.WEBERS[0], weights=bisection.WEBERS[1])
    assert usual.weber == pytest.approx(weber)
    assert usual.verdict is None


def test_a_tie_says_that_the_ideal_is_halfway():
    """Or far away, where people may tell nothing apart; so the region stays wide."""
    state = answered(METHOD, LINE, at(0), [(at(20), at(-4), 0, 1, None)])
    density = posterior(state) / np.diff(state.edges)
    assert abs(state.grid[np.argmax(density)] - 8) < 0.5
    assert state.uncertainty > 10
    state = answered(METHOD, LINE, at(0), [(at(20), at(-4), 0, 1, None)] * 4)
    assert abs(state.best[0] - 8) < 1


def test_shares_of_lapses_and_of_left_among_them_are_shares():
    assert all(0 < share < 1 for kind in bisection.LAPSES[0] for share in kind)


def test_one_who_always_says_left_is_found_out():
    rng = np.random.default_rng(1)
    answers = []
    for _ in range(14):
        t, left = rng.uniform(-30, 30), rng.choice([-1, 1])
        answers.append((at(t + 20), at(t - 20), -left, left, "left"))
    state = answered(METHOD, LINE, at(0), answers)
    found = METHOD.observers(LINE, state)["left"]
    assert found.left > 0.8
    assert found.lapse > 2 * 0.03
    assert found.answers == 14
    assert found.verdict.kind == "favours left"
    assert state.uncertainty > 20  # next to nothing was learned of the ideal


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
    edges = np.linspace(-45, 45, 362)
    grid = (edges[1:] + edges[:-1]) / 2
    p = np.where(abs(grid - 7.5) <= 2.5, 0.6 / 21, 0.4 / 340)[::turned]
    shortest = 0.5 / 0.6 * 21 * 0.25
    middle = middle_of_half(edges, p)
    assert abs(middle - turned * 7.5) <= (21 * 0.25 - shortest) / 2 + 0.1
    assert middle_of_half(edges, np.ones(361) / 361) == pytest.approx(0, abs=1e-9)
    assert middle_of_half(edges, np.eye(361)[100]) == pytest.approx(grid[100])


def test_on_a_circle_the_shortest_half_may_cross_the_cut():
    edges = np.linspace(-180, 180, 361)
    p = np.zeros(360)
    p[:10], p[-20:] = 1, 1
    assert (middle_of_half(edges, p, circle=True) + 180) % 360 == pytest.approx(355, abs=0.1)
    assert middle_of_half(edges, np.ones(360), circle=True) == pytest.approx(0, abs=0.4)
    one = middle_of_half(edges, np.roll(p, 90), circle=True)
    assert one == pytest.approx(-95, abs=0.1)


@pytest.mark.parametrize("asymmetry", [-0.6, -0.45, 0.0, 0.8])
def test_two_widths_tell_an_asymmetry_from_another_ideal(asymmetry):
    """m ± h are as good for the ideal m + a·h, whatever is asked at one width alone."""
    answers = []
    for half, step in ((18.0, 2.0), (2.0, 0.5)):
        for side in (-1, 1) * 4:
            m = 5 - asymmetry * half + side * step
            answers.append((at(m + half), at(m - half), side, 0, None))
    state = answered(METHOD, LINE, at(0), answers)
    assert abs(state.best[0] - 5) < 0.6
    p, away = posterior(state, stated=True), abs(state.grid - state.best[0])
    assert p[away <= 1.5].sum() > 0.8


def test_densest_window_by_loops():
    rng = np.random.default_rng(0)
    points, p = np.sort(rng.uniform(size=40)), rng.random((3, 40))
    for width in (0, 0.1, 0.7):
        loops = [max(q[abs(points - x) <= width].sum() for x in points) for q in p]
        assert np.allclose(densest(points, p, width), loops)


@pytest.mark.parametrize("n", [1, 4])
def test_ideals_have_as_much_of_what_is_believed_between_them(n):
    state = answered(METHOD, LINE, at(0), SOME)
    below = np.append(0.0, np.cumsum(posterior(state)))
    found = np.interp(METHOD.ideals(LINE, state, n)[:, 0], state.edges, below)
    assert np.allclose(found, (np.arange(n) + 0.5) / n)


def test_the_region_leans_neither_on_the_assumed_jnd_nor_on_symmetry(monkeypatch):
    """Weights of the JND and the asymmetry other than those of the questions, by brute force."""
    state = answered(METHOD, LINE, at(0), SOME)
    for axis, stated in (("JNDS", "STATED"), ("ASYMMETRIES", "STATED_ASYMMETRIES")):
        values, _ = getattr(bisection, axis)
        monkeypatch.setattr(bisection, axis, (values, getattr(bisection, stated)))
    expected = state.prior * brute_force(SOME, state.grid)
    expected /= expected.sum()
    found = posterior(state, stated=True)
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-9)


def test_the_region_holds_as_much_of_a_mixture():
    """Of what follows if somebody looks, and else of an even log distance up to the prior's end."""
    state = answered(METHOD, LINE, at(0), SOME)
    doubt = wary(state.attention.doubt())
    assert 0.1 < doubt < 0.9
    p, away = posterior(state, stated=True), abs(state.grid - state.best[0])
    order = np.argsort(away)
    known = np.interp(0.8, np.cumsum(p[order]), away[order])

    def held(radius):
        lost = np.log(radius / known) / np.log((45.0 + abs(state.best[0])) / known)
        return (1 - doubt) * p[away <= radius].sum() + doubt * lost

    assert held(state.uncertainty * 1.05) >= 0.8 >= held(state.uncertainty / 1.05)


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


def test_the_grid_is_refined_and_long_runs_find_a_tenth_of_a_degree(ask_and_answer):
    method = gd.Bisection()
    person = Person(PLANE, PLANE.from_angle(0.2), 4)
    first = method.start(PLANE, np.eye(2), np.random.default_rng(0))
    state, _ = ask_and_answer(method, PLANE, np.eye(2), person, 150, seed=3)
    assert np.diff(state.edges).min() < np.diff(first.edges).min() / 3
    assert person.error(state.best) < 0.35 * DEGREE
    assert 0.1 < method.observers(PLANE, state)[""].jnd / DEGREE < 3


def test_another_grid_is_the_same_posterior():
    """Answers are heard again, so that nothing is lost where the cells were coarse."""
    state = answered(METHOD, LINE, at(0), SOME)
    expected = state.prior * brute_force(SOME, state.grid)
    assert len(state.answers.a) == len(SOME)
    assert posterior(state).max() <= bisection.HEAVY
    assert np.allclose(posterior(state), expected / expected.sum(), rtol=1e-4, atol=1e-9)


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
    ("manifold", "start", "ends", "circle"),
    [
        (PLANE, 0.0, (-math.pi, math.pi), True),
        (gd.Sphere(2), 2.0, (-math.pi, math.pi), True),
        (gd.Torus(1), 3.0, (-math.pi, math.pi), True),
        (gd.Grassmann(2, 1), 1.0, (-math.pi / 2, math.pi / 2), True),
        (gd.Simplex(2), 0.0, (-math.pi / 2, math.pi / 2), False),
        (gd.Simplex(2), 0.5, (-math.pi / 2 - 0.5, math.pi / 2 - 0.5), False),
    ],
)
def test_where_a_geodesic_closes_or_ends(manifold, start, ends, circle):
    x0 = manifold.origin()
    x0 = manifold.exp(x0, manifold.from_coords(x0, np.array([start])))
    space = space_of(manifold, x0, 1.0)
    assert (space.circle, space.bounded) == (circle, True)
    assert space[:2] == pytest.approx(ends, abs=1e-5) or space[:2] == pytest.approx(
        (-ends[1], -ends[0]), abs=1e-5
    )


def test_an_ideal_outside_of_a_domain_is_asked_about_at_its_end():
    ends = []

    def oracle(x, y):
        ends.append(max(x[0], y[0]))
        return 1 if x[0] < y[0] else -1

    domain = gd.Ball(LINE, at(0), 60.0)
    gd.minimize(oracle, LINE, at(0), method=METHOD, domain=domain, budget=9, rng=0)
    assert min(ends[3:]) > 45


def test_a_line_goes_on_and_a_number_may_not_hold_all_of_it():
    assert space_of(LINE, at(0), 2.0) == (-2e9, 2e9, False, False)
    space = space_of(gd.SPD(1), np.eye(1), 1.0)
    assert min(space.high, -space.low) > 50
    assert not space.bounded


@pytest.mark.parametrize("radius", [1e-3, 0.8, math.pi, math.inf])
def test_the_prior_is_about_flat_in_its_radius_and_reaches_everywhere(radius):
    space = space_of(PLANE, np.eye(2), radius)
    t = np.linspace(-math.pi, math.pi, 100_001)
    below = prior_below(space, radius, t)
    assert below[-1] - below[0] == pytest.approx(1)
    assert np.allclose(below, -below[::-1])
    assert np.allclose(
        np.diff(below), prior_below(space, radius, t[1:] + 6 * math.pi) - 3 - below[:-1]
    )
    assert np.diff(below).min() > 0.1 / 100_000 * (1 if radius == math.inf else 0.5)
    within = 2 * prior_below(space, radius, np.array([min(radius, math.pi)]))[0]
    assert within > 0.7


def found(method, manifold, x0, truth, n, seed=0):
    """State after n answers of somebody without noise."""
    rng = np.random.default_rng(seed)
    state = method.start(manifold, x0, rng)
    for _ in range(n):
        a, b = method.propose(manifold, state, rng)
        answer = -1 if manifold.dist(a, truth) < manifold.dist(b, truth) else 1
        left = 1 if rng.random() < 0.5 else -1
        state = method.update(manifold, state, a, b, answer, rng, left=left)
    return state


@pytest.mark.parametrize(("truth", "n"), [(3.0, 12), (-40.0, 18), (1e3, 24), (1e6, 40)])
def test_on_a_line_the_range_grows_until_it_holds_the_ideal(truth, n):
    """The start expects it within 1/2, and half of the answers only tell how far."""
    state = found(gd.Bisection(), LINE, at(0), at(truth), n)
    assert abs(state.best[0] - truth) < 1.0


@pytest.mark.parametrize(
    ("manifold", "radius"),
    [
        *((m, math.pi / 4) for m in (PLANE, gd.Torus(1), gd.Simplex(2), gd.Grassmann(2, 1))),
        *((m, radius) for m in (PLANE, gd.Simplex(2)) for radius in (1e-3, math.inf)),
    ],
)
def test_whatever_the_radius_the_ideal_is_found_anywhere(manifold, radius):
    x0, method = manifold.origin(), gd.Bisection(prior_radius=radius, jnd=DEGREE)
    high = 0.98 * space_of(manifold, x0, radius).high
    for t in (-high, 0.4 * high):
        truth = manifold.exp(x0, manifold.from_coords(x0, np.array([t])))
        state = found(method, manifold, x0, truth, 18)
        assert manifold.dist(state.best, truth) < 1.5 * DEGREE


def test_a_small_radius_is_a_small_scale():
    method = gd.Bisection(prior_radius=1e-3)
    state = found(method, PLANE, np.eye(2), PLANE.from_angle(4e-4), 12)
    assert abs(PLANE.to_angle(state.best) - 4e-4) < 5e-5


def test_without_a_start_the_ideal_is_found_anywhere():
    oracle = gd.from_objective(lambda R: float(PLANE.dist(R, PLANE.from_angle(2.9))))
    result = gd.minimize(oracle, PLANE, method="bisection", budget=12, rng=0)
    assert abs(PLANE.to_angle(result.x) - 2.9) < 1.5 * DEGREE


@pytest.mark.parametrize("distance", [60, 90, 180])
def test_tilts_far_off_are_found_within_eighteen_answers(distance, ask_and_answer):
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        person = draw_person(PLANE, np.eye(2), rng, distance=distance * DEGREE)
        state, _ = ask_and_answer(gd.Bisection(), PLANE, np.eye(2), person, 18, seed=seed)
        errors.append(person.error(state.best) / DEGREE)
    assert np.sort(errors)[5] < 1.5


def test_who_changes_their_mind_is_followed_and_the_region_says_so():
    rng = np.random.default_rng(2)
    method, inside = gd.Bisection(), []
    state = method.start(PLANE, np.eye(2), rng)
    for k in range(22):
        person = Person(PLANE, PLANE.from_angle((10 if k < 5 else 30) * DEGREE), k)
        a, b = method.propose(PLANE, state, rng)
        state = method.update(PLANE, state, a, b, person.answer(a, b), rng, left=1)
        inside.append(person.error(state.best) <= state.uncertainty)
    assert PLANE.dist(PLANE.from_angle(30 * DEGREE), state.best) < 2 * DEGREE
    assert np.mean(inside) > 0.7


@pytest.mark.parametrize(
    "kind",
    [
        "fits the model",
        "asymmetric 20 %",
        "saturating at 15 JND",
        "Weber fraction 0.15",
        "two ideals",
        "drifting",
        "heavy-tailed noise",
    ],
)
def test_the_tilt_is_right_or_the_region_wide_whatever_the_person_is_like(kind, ask_and_answer):
    regrets, inside = [], []
    for seed in range(9):
        rng = np.random.default_rng(seed)
        person = draw_person(PLANE, np.eye(2), rng, kind=kind, distance=20.07 * DEGREE)
        state, _ = ask_and_answer(gd.Bisection(), PLANE, np.eye(2), person, 10, seed=seed)
        regrets.append(person.regret(state.best))
        inside.append(person.error(state.best) <= state.uncertainty)
    assert np.median(regrets) < 1.6
    assert np.mean(inside) > 0.7


@pytest.mark.parametrize("habit", ["coin flips", "always left", "alternating"])
def test_nobody_who_does_not_look_is_told_the_tilt(habit):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        person = draw_person(PLANE, np.eye(2), rng, kind=habit)
        method = gd.Bisection()
        state = method.start(PLANE, np.eye(2), rng)
        for _ in range(25):
            a, b = method.propose(PLANE, state, rng)
            left = 1 if rng.random() < 0.5 else -1
            answer = person.answer(a, b, left)
            state = method.update(PLANE, state, a, b, answer, rng, left=left)
            assert state.uncertainty > DEGREE


def test_who_looks_is_told_so():
    method = gd.Bisection(x_tol=1.5 * DEGREE)
    assert [wary(0.0), wary(1.0)] == [0.0, 1.0]
    assert wary(0.5) == pytest.approx(attention.WARY / (1 + attention.WARY))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        person = draw_person(PLANE, np.eye(2), rng)
        result = gd.minimize(person, PLANE, np.eye(2), method=method, budget=40, rng=rng)
        assert result.stop_reason == "x_tol"
        assert 9 < result.duels < 36


def easy_ones(method, n=24):
    """Numbers of the questions whose answer is all but known."""
    rng = np.random.default_rng(1)
    person = draw_person(PLANE, np.eye(2), rng)
    state, easy = method.start(PLANE, np.eye(2), rng), []
    for k in range(n):
        a, b = method.propose(PLANE, state, rng)
        before = state.attention.easy.sum()
        state = method.update(PLANE, state, a, b, person.answer(a, b), rng, left=1)
        easy += [k] * int(state.attention.easy.sum() - before)
    return easy


def test_easy_questions_are_asked_late_seldom_and_only_if_wanted():
    assert easy_ones(gd.Bisection(catch=0.0)) == []
    easy = easy_ones(gd.Bisection())
    assert 2 <= len(easy) <= 24 / 6 + 1
    assert min(easy) >= bisection.EASY_FROM
    assert len(easy_ones(gd.Bisection(catch=0.5))) >= len(easy)


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
