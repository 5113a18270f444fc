"""IdealPoint: the posterior against brute force, symmetries, questions, people, raters."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.frame import Frame
from geoduel.methods.people.attention import Attention
from geoduel.methods.people.chart import Chart
from geoduel.methods.people.cloud import Cloud, anywhere
from geoduel.methods.people.ideal_point import (
    LEAST_WIDTH,
    MOST_STRETCH,
    SOME,
    SOON,
    WIDTH,
    WIDTHS,
    _known,
    _thinned,
    accuracy,
    imagined_worlds,
)
from geoduel.methods.people.particles import ALIKE, PARTICLES, Belief, median, settle
from geoduel.methods.people.perception import Answers, Perception, Prior
from geoduel.methods.people.questions import REGION
from geoduel.methods.people.weights import radius_holding
from geoduel.oracles import draw_person
from geoduel.oracles.people import DEGREE, HABITS

FLAT, SPHERE = gd.Euclidean(2), gd.Sphere(3)
NORTH = np.eye(3)[0]


def test_posterior_is_that_of_importance_sampling(from_prior):
    """200,000 draws from each prior, weighted by the likelihood, on a flat space.

    The questions are no choice of the method's, which by rounding may be another one.

    Radii of particles differ by 18 % from run to run, so those of four are averaged. So is the
    probability that all directions are seen alike, which differs by 0.05.
    The particles begin from a cloud that knows no metric: their radii fall short by 20 to 35 %.
    """
    method = gd.IdealPoint(prior_radius=1.0, jnd=0.05)
    person = draw_person(FLAT, np.zeros(2), np.random.default_rng(5), 0.5, spread=2.0, jnd=0.05)
    pairs = np.random.default_rng(1).normal(scale=0.5, size=(13, 2, 2))
    asked = [(a, b, person.answer(a, b, 1)) for a, b in pairs]
    rng, states = np.random.default_rng(0), []
    for _ in range(4):
        state = method.start(FLAT, np.zeros(2), rng)
        for a, b, answer in asked:
            state = method.update(FLAT, state, a, b, answer, rng, left=1)
        states.append(state)
    chart = Chart.about(FLAT, Frame(np.zeros(2), np.eye(2)), 0.5, np.zeros(2))
    answers = Answers.none(np.zeros(2)).in_chart(FLAT, chart)
    for a, b, answer in asked:
        answers = answers.append(Answers.one(FLAT, chart, a, b, answer, 1, 0))
    prior = states[0].belief.prior

    def drawn_from_prior(wary):
        """Ideals and their weights, those who see all directions alike first."""
        c, w = [], []
        for share, metric in ((ALIKE, False), (1 - ALIKE, True)):
            model = Perception(2, metric, wary)
            particles = from_prior(rng, model, 100_000, prior)
            c.append(particles[:, :2])
            w.append(share * np.exp(model.log_likelihood(particles, answers, prior)[0]))
        w = np.concatenate(w) / np.sum(w)
        assert 1 / (w @ w) > 50
        return np.concatenate(c), w

    c, w = drawn_from_prior(wary=False)
    centre = median(c, w)
    radius = radius_holding(REGION, np.linalg.norm(c - centre, axis=1), w)
    assert np.linalg.norm(np.mean([s.best for s in states], axis=0) - centre) < 0.2 * radius
    believed = [(s.belief.people.ideals, s.belief.weights) for s in states]
    off = [(np.linalg.norm(x - median(x, v), axis=1), v) for x, v in believed]
    plain = np.mean([radius_holding(REGION, *one) for one in off])
    assert 0.55 * radius < plain < 1.3 * radius
    alike = [s.belief.weights[: sum(PARTICLES[0])].sum() for s in states]
    assert np.mean(alike) == pytest.approx(w[:100_000].sum(), abs=0.2)
    # The stated region allows for more of a tilt.
    c, w = drawn_from_prior(wary=True)
    wider = radius_holding(REGION, np.linalg.norm(c - centre, axis=1), w)
    assert wider > radius
    assert 0.6 * wider < np.mean([s.known for s in states]) < 1.3 * wider


def test_a_turned_sphere_gives_the_turned_answer(ask_and_answer):
    """The same answers about a rotated sphere, up to the Monte Carlo error of the particles."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    method, x0 = gd.IdealPoint(), np.eye(3)[0]
    person = draw_person(SPHERE, x0, np.random.default_rng(1))
    state, asked = ask_and_answer(method, SPHERE, x0, person, 14)
    other = method.start(SPHERE, turn @ x0, rng)
    for a, b, answer in asked:
        other = method.update(SPHERE, other, turn @ a, turn @ b, answer, rng, left=1)
    assert SPHERE.dist(turn @ state.best, other.best) < 0.5 * state.known
    assert 0.5 < other.known / state.known < 2


@pytest.mark.parametrize(
    "manifold", [gd.Rotations(3), gd.SPD(2), gd.Torus(2), gd.Hyperbolic(3)], ids=str
)
def test_finds_the_ideal_on_any_manifold(ask_and_answer, manifold):
    rng = np.random.default_rng(0)
    x0 = manifold.random_point(rng)
    distance = 0.3 * manifold.typical_dist / 2
    person = draw_person(manifold, x0, rng, distance, jnd=distance / 20)
    state, _ = ask_and_answer(gd.IdealPoint(), manifold, x0, person, 20)
    assert person.error(state.best) < distance / 2
    manifold.check_point(state.best)


def half_widths(manifold, asked):
    return np.array([manifold.dist(a, b) / 2 for a, b, _ in asked])


def test_early_questions_are_as_wide_as_the_median_distance_of_the_cloud():
    """WIDTH times; fewer points stand for the cloud when questions are compared."""
    method = gd.IdealPoint()
    state = method.start(SPHERE, NORTH, np.random.default_rng(0))
    assert isinstance(state.belief, Cloud)
    median_distance = np.median(SPHERE.dist(state.belief.points, state.best))
    for seed in range(5):
        a, b = method.propose(SPHERE, state, np.random.default_rng(seed))
        assert SPHERE.dist(a, b) / 2 == pytest.approx(WIDTH * median_distance, rel=0.15)


@pytest.mark.parametrize("shrunk", [1.0, 0.05])
def test_later_questions_are_as_wide_as_the_median_distance_or_some_jnd(shrunk):
    """Of a belief in a chart that is the prior, or as much narrower; no direction counts more."""
    method, rng = gd.IdealPoint(jnd=0.5, prior_radius=1.0), np.random.default_rng(0)
    state = method.start(FLAT, np.zeros(2), rng)
    prior = state.belief.prior
    belief = settle(FLAT, anywhere(FLAT, np.zeros(2), prior, rng), np.zeros(2), 0.5, rng)
    narrow = [p._replace(particles=p.particles.copy()) for p in belief.populations]
    for population in narrow:
        population.particles[:, :2] *= shrunk
    belief = replace(belief, populations=tuple(narrow))
    people, w = belief.people, belief.weights
    by_spread = WIDTH * radius_holding(0.5, np.linalg.norm(people.ideals, axis=1), w)
    by_jnd = LEAST_WIDTH * math.sqrt(prior.least * prior.most)
    assert (by_jnd > by_spread) == (shrunk < 1)
    a, b = method.propose(FLAT, state._replace(belief=belief), rng)
    assert FLAT.dist(a, b) / 2 == pytest.approx(max(by_spread, by_jnd), rel=0.15)


def test_questions_are_wide_at_first_and_narrow_later(ask_and_answer):
    """Late ones come in two widths, the usual one LEAST_WIDTH JND at least, as the person sees."""
    method, person = gd.IdealPoint(catch=0), draw_person(SPHERE, NORTH, np.random.default_rng(3))
    state, asked = ask_and_answer(method, SPHERE, NORTH, person, 30)
    h = half_widths(SPHERE, asked)
    assert h[:3].min() > 20 * DEGREE
    assert h[-5:].max() < h[:3].min() / 2
    jnd = method.observers(SPHERE, state)[""].jnd
    least = LEAST_WIDTH * jnd / 2  # the JND was thought to be less
    assert min(WIDTHS) * least < h[-5:].min()
    assert h[-5:].max() < 2 * MOST_STRETCH * LEAST_WIDTH * jnd


def test_half_width_limits_all_questions(ask_and_answer):
    person = draw_person(SPHERE, NORTH, np.random.default_rng(3))
    method = gd.IdealPoint(half_width=0.2)
    _, asked = ask_and_answer(method, SPHERE, NORTH, person, 14)
    assert half_widths(SPHERE, asked).max() < 0.2 + 1e-9
    assert half_widths(SPHERE, asked[:3]).min() > 0.2 - 1e-9


def test_questions_are_no_wider_than_geodesics_are_shortest():
    """On the simplex they turn back at the boundary: their middles are points of the cloud."""
    manifold = gd.Simplex(3)
    method, x0 = gd.IdealPoint(prior_radius=math.inf), np.array([0.01, 0.04, 0.95])
    state = method.start(manifold, x0, np.random.default_rng(0))
    for seed in range(12):
        a, b = method.propose(manifold, state, np.random.default_rng(seed))
        middle = manifold.exp(a, manifold.log(a, b) / 2)
        assert manifold.dist(middle, state.belief.points).min() < 1e-6
        assert min(a.min(), b.min()) > 0


def test_same_generator_same_questions_and_points_stay_on_the_manifold(ask_and_answer):
    person = [draw_person(SPHERE, np.eye(3)[0], np.random.default_rng(3)) for _ in range(2)]
    runs = [ask_and_answer(gd.IdealPoint(), SPHERE, np.eye(3)[0], p, 6) for p in person]
    for one, two in zip(runs[0][1], runs[1][1], strict=True):
        assert np.array_equal(one[0], two[0])
        SPHERE.check_point(one[0])
    assert np.array_equal(runs[0][0].best, runs[1][0].best)


def test_open_questions_lead_to_others():
    rng = np.random.default_rng(0)
    method = gd.IdealPoint()
    state = method.start(SPHERE, np.eye(3)[0], rng)
    pending = []
    for _ in range(7):
        pending.append(method.propose(SPHERE, state, rng, pending))
    middles = np.array([(a + b) / np.linalg.norm(a + b) for a, b in pending])
    apart = SPHERE.dist(middles[:, None], middles[None])
    across = np.array([a - b for a, b in pending])
    across /= np.linalg.norm(across, axis=1)[:, None]
    same = (apart < 0.02) & (abs(across @ across.T) > 0.98)
    assert same.sum() <= 9  # itself, and at most one pair


def test_whatever_is_open_each_world_is_a_distribution(ask_and_answer, monkeypatch):
    seen = []

    def spy(worlds, chances, ideals):
        seen.append(worlds)
        return accuracy(worlds, chances, ideals)

    monkeypatch.setattr("geoduel.methods.people.ideal_point.accuracy", spy)
    person, method = draw_person(FLAT, np.zeros(2), np.random.default_rng(5)), gd.IdealPoint()
    state, asked = ask_and_answer(method, FLAT, np.zeros(2), person, 16)
    pending = [(a, b) for a, b, _ in asked[-3:]]
    method.propose(FLAT, state, np.random.default_rng(0), pending)
    assert seen[-1].shape[0] > 1
    assert np.allclose(seen[-1].sum(axis=1), 1)


def test_who_answers_by_coin_counts_less():
    rng = np.random.default_rng(0)
    method, x0 = gd.IdealPoint(), np.eye(3)[0]
    person = draw_person(SPHERE, x0, np.random.default_rng(7), lapse=0.0)
    state = method.start(SPHERE, x0, rng)
    for rater in ["careful"] * 16 + ["coin"] * 30:
        a, b = method.propose(SPHERE, state, rng)
        if rater == "coin":  # 30 degrees from what is best: the careful rater would find it easy
            a = state.best
            b = SPHERE.exp(a, 30 * DEGREE * SPHERE.unit_tangent(rng, a))
        answer = person.answer(a, b, 1) if rater == "careful" else int(rng.choice([-1, 1]))
        state = method.update(SPHERE, state, a, b, answer, rng, left=1, rater=rater)
    seen = method.observers(SPHERE, state)
    coin, careful = seen["coin"], seen["careful"]
    assert (coin.answers, careful.answers) == (30, 16)
    assert coin.lapse > 0.5 > 0.1 > careful.lapse
    assert coin.verdict.kind == "answers like a coin"
    assert person.error(state.best) < 5 * DEGREE


def test_raters_who_do_not_differ_are_taken_for_one():
    rng = np.random.default_rng(0)
    method, x0 = gd.IdealPoint(), np.eye(3)[0]
    person = draw_person(SPHERE, x0, np.random.default_rng(3))
    state = method.start(SPHERE, x0, rng)
    for k in range(20):
        a, b = method.propose(SPHERE, state, rng)
        answer = person.answer(a, b, 1)
        state = method.update(SPHERE, state, a, b, answer, rng, left=1, rater=f"{k % 4}")
    jnd = [seen.jnd for seen in method.observers(SPHERE, state).values()]
    assert len(jnd) == 4
    assert max(jnd) < 1.5 * min(jnd)


@pytest.mark.slow
def test_who_tells_less_far_away_is_found_out(ask_and_answer):
    """Weber fractions of 0.3 and 0, six people each: what is believed of them, on average."""
    method, x0 = gd.IdealPoint(), np.eye(3)[0]
    believed = []
    for weber in (0.3, 0.0):
        for seed in range(6):
            person = draw_person(SPHERE, x0, np.random.default_rng(seed), lapse=0.0, weber=weber)
            state, _ = ask_and_answer(method, SPHERE, x0, person, 40, seed)
            believed.append(method.observers(SPHERE, state)[""].weber)
    assert np.mean(believed[:6]) > 2 * np.mean(believed[6:])


def test_a_chart_takes_over_once_the_cloud_is_narrow_or_has_many_answers(ask_and_answer):
    """Someone who answers by coin may leave it wide until then."""
    rng, method = np.random.default_rng(1), gd.IdealPoint(prior_radius=math.inf)
    person = draw_person(SPHERE, NORTH, np.random.default_rng(2))
    state, asked = ask_and_answer(method, SPHERE, NORTH, person, 12)
    assert isinstance(state.belief, Belief)
    assert sum(state.belief.raters.answers) == len(asked) == 12
    state, kinds = method.start(SPHERE, NORTH, rng), []
    for _ in range(SOON * SPHERE.dim + 1):
        kinds.append(type(state.belief))
        a, b = method.propose(SPHERE, state, rng)
        state = method.update(SPHERE, state, a, b, int(rng.choice([-1, 1])), rng)
    early = kinds.count(Cloud)
    assert early >= 3
    assert kinds == [Cloud] * early + [Belief] * (len(kinds) - early)
    assert isinstance(state.belief, Belief)


def test_where_distances_are_dear_there_is_no_cloud(ask_and_answer):
    frames = gd.Stiefel(4, 2)
    person = draw_person(frames, frames.origin(), np.random.default_rng(0), 0.5, jnd=0.03)
    state, _ = ask_and_answer(gd.IdealPoint(), frames, frames.origin(), person, 3)
    assert isinstance(state.belief, Belief)
    assert len(state.belief.answers.answer) == 3
    frames.check_point(state.best)


@pytest.mark.parametrize("share", [0.0, 1 / 6])
def test_easy_questions_are_asked_once_only_doubt_keeps_the_region_wide(ask_and_answer, share):
    """Never with catch=0, and none while questions are open: then it asks as without doubt."""
    method = gd.IdealPoint(catch=share)
    person = draw_person(SPHERE, NORTH, np.random.default_rng(3))
    state, asked = ask_and_answer(method, SPHERE, NORTH, person, 20)
    sure = state._replace(attention=Attention.none(), known=0.01, uncertainty=0.01)
    unverified = sure._replace(uncertainty=1.0)
    for pending in ((), [asked[0][:2]]):
        (a, _), (usual, _) = (
            method.propose(SPHERE, which, np.random.default_rng(0), pending)
            for which in (unverified, sure)
        )
        easy = share > 0 and not pending
        assert np.array_equal(a, usual) != easy


def test_the_region_is_wide_until_the_rater_is_known_to_look(ask_and_answer):
    """Easy questions, answered as expected, do away with the doubt."""
    method = gd.IdealPoint()
    person = draw_person(SPHERE, NORTH, np.random.default_rng(1), lapse=0.0)
    state, _ = ask_and_answer(method, SPHERE, NORTH, person, 16)
    assert state.uncertainty > state.known
    rng, radii, doubts = np.random.default_rng(0), [], []
    for _ in range(10):
        a = state.best
        b = SPHERE.exp(a, 60 * DEGREE * SPHERE.unit_tangent(rng, a))
        state = method.update(SPHERE, state, a, b, -1, rng, left=0)
        radii.append(state.uncertainty / state.known)
        doubts.append(state.attention.doubt())
    assert np.all(np.diff(doubts) < 0)
    assert doubts[-1] < 0.05
    assert radii[-1] < 1.2


def test_before_answers_the_region_is_that_of_the_prior():
    """Or what a rater who does not look would leave of it."""
    method = gd.IdealPoint(prior_radius=math.inf)
    state = method.start(SPHERE, NORTH, np.random.default_rng(0))
    # A cap of 80 % of the sphere: (1 - cos r)/2.
    assert state.known == pytest.approx(math.acos(1 - 2 * REGION), rel=0.1)
    assert state.known <= state.uncertainty


def test_noise_is_half_the_lapse_rate(ask_and_answer):
    method, person = gd.IdealPoint(), draw_person(SPHERE, NORTH, np.random.default_rng(3))
    state, _ = ask_and_answer(method, SPHERE, NORTH, person, 6)
    assert state.noise == pytest.approx(method.observers(SPHERE, state)[""].lapse / 2, rel=1e-5)


# -- whoever answers -------------------------------------------------------------------------------

WHOEVER = {  # settings of a person, largest median regret after the answers, in JND
    "asymmetric 20 %": (SPHERE, 20, {"kind": "asymmetric 20 %"}, 2.5),
    "saturating at 15 JND": (SPHERE, 20, {"kind": "saturating at 15 JND"}, 2.0),
    "two ideals": (SPHERE, 20, {"kind": "two ideals"}, 2.0),
    "150 degrees off": (SPHERE, 20, {"distance": 150 * DEGREE}, 4.0),
    "no x0": (SPHERE, 20, {"distance": 90 * DEGREE}, 2.5),
    "no x0 on SO(3)": (gd.Rotations(3), 30, {"distance": 90 * DEGREE}, 3.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOEVER)
def test_whoever_answers(ask_and_answer, name):
    """Seven people each: the median regret, and five at least inside the stated region."""
    manifold, n, settings, most = WHOEVER[name]
    regrets, inside = [], 0
    for seed in range(7):
        method, x0 = gd.IdealPoint(), manifold.origin()
        if "no x0" in name:
            method, x0 = method.without_start(manifold, np.random.default_rng(0))
        person = draw_person(manifold, x0, np.random.default_rng(1000 + seed), **settings)
        state, _ = ask_and_answer(method, manifold, x0, person, n, seed)
        regrets.append(person.regret(state.best))
        inside += person.error(state.best) <= state.uncertainty
    assert np.median(regrets) < most
    assert inside >= 5


def habitual(method, habit, seed, n=40):
    """Someone who does not look, with drawn sides: the smallest region stated, and the verdict."""
    rng, least = np.random.default_rng(seed), math.inf
    person = draw_person(SPHERE, NORTH, np.random.default_rng(1000 + seed), kind=habit)
    state = method.start(SPHERE, NORTH, rng)
    for _ in range(n):
        a, b = method.propose(SPHERE, state, rng)
        left = int(rng.choice([-1, 1]))
        state = method.update(SPHERE, state, a, b, person.answer(a, b, left), rng, left=left)
        least = min(least, state.uncertainty)
    return least, state.attention.verdict(0)


@pytest.mark.slow
def test_coins_are_not_told_the_ideal():
    """Within 40 answers at most one in twenty is ever told 1 degree; of thirty, none was."""
    found = [habitual(gd.IdealPoint(), "coin flips", seed) for seed in range(6)]
    assert sum(least <= DEGREE for least, _ in found) <= 1
    assert np.median([least for least, _ in found]) > 4 * DEGREE
    for _, verdict in found:
        assert verdict.doubt > 0.2
        assert verdict.kind in ("answers like a coin", "too early to say")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("habit", "kind"), [("always left", "favours left"), ("alternating", "alternates sides")]
)
def test_habits_are_told_and_nothing_else(habit, kind):
    assert set(HABITS) == {"coin flips", "always left", "alternating"}
    for seed in range(3):
        least, verdict = habitual(gd.IdealPoint(), habit, seed)
        assert least > 10 * DEGREE
        assert verdict.kind == kind
        assert verdict.doubt > 0.99


@pytest.mark.slow
def test_who_changes_their_mind_is_found_again(ask_and_answer):
    """The ideal jumps by 20 degrees after 12 answers; 25 more find it."""
    errors = []
    for seed in range(7):
        method, rng = gd.IdealPoint(), np.random.default_rng(seed)
        person = draw_person(SPHERE, NORTH, np.random.default_rng(1000 + seed))
        state, _ = ask_and_answer(method, SPHERE, NORTH, person, 12, seed)
        away = SPHERE.unit_tangent(rng, person.ideal)
        person.ideal = SPHERE.exp(person.ideal, 20 * DEGREE * away)
        assert person.error(state.best) > 10 * DEGREE
        for _ in range(25):
            a, b = method.propose(SPHERE, state, rng)
            state = method.update(SPHERE, state, a, b, person.answer(a, b, 1), rng, left=1)
        errors.append(person.error(state.best) / DEGREE)
    assert np.median(errors) < 2
    assert max(errors) < 6


def test_without_x0_the_ideal_is_looked_for_everywhere():
    """Opposite of where it starts."""
    ideal = SPHERE.exp(SPHERE.origin(), 150 * DEGREE * np.array([0.0, 0.6, 0.8]))
    oracle = gd.from_objective(lambda x: SPHERE.dist(x, ideal))
    result = gd.minimize(oracle, SPHERE, method="ideal-point", budget=25, rng=0)
    assert SPHERE.dist(result.x, ideal) < 5 * DEGREE


def test_the_range_of_jnds_reaches_what_is_usual():
    """Whatever is assumed: from a ninth of the smaller to what a person has who tells little."""
    for jnd in (DEGREE / 3, DEGREE, 3 * DEGREE):
        state = gd.IdealPoint(jnd=jnd).start(SPHERE, np.eye(3)[0], np.random.default_rng(0))
        prior = state.belief.prior
        assert prior.least == pytest.approx(min(jnd, DEGREE) / 9)
        assert prior.most == pytest.approx(9 * DEGREE)


def test_accuracy_is_what_the_squared_error_loses():
    """By loops over answers: expected decrease of the variance of the ideal."""
    rng = np.random.default_rng(0)
    worlds, ideals = rng.random((2, 5)), rng.standard_normal((5, 3))
    worlds /= worlds.sum(axis=1, keepdims=True)
    chances = np.moveaxis(rng.dirichlet(np.ones(3), (5, 4)), -1, 0)

    def variance(w):
        return w @ np.sum((ideals - w @ ideals) ** 2, axis=1)

    expected = np.zeros(4)
    for w, j in itertools.product(worlds, range(4)):
        after = sum((w @ p) * variance(w * p / (w @ p)) for p in chances[:, :, j])
        expected[j] += (variance(w) - after) / len(worlds)
    assert np.allclose(accuracy(worlds, chances, ideals), expected)


def test_imagined_worlds_keep_enough_particles():
    """And are beliefs: on average what is believed now, where the answers are few."""
    rng, w = np.random.default_rng(0), np.full(500, 1 / 500)
    chances = np.moveaxis(rng.dirichlet(np.ones(3), (500, 30)), -1, 0)
    worlds = imagined_worlds(rng, w, chances)
    assert np.allclose(worlds.sum(axis=1), 1)
    assert np.all(1 / np.sum(worlds**2, axis=1) > 40)
    one = [imagined_worlds(rng, w, chances[..., :1]).mean(axis=0) for _ in range(300)]
    assert np.allclose(np.mean(one, axis=0), w, atol=0.25 / 500)


def test_before_answers_nothing_is_known_of_raters():
    method = gd.IdealPoint()
    assert (
        method.observers(SPHERE, method.start(SPHERE, np.eye(3)[0], np.random.default_rng(0))) == {}
    )


def test_ties_teach_the_tie_width():
    rng = np.random.default_rng(0)
    method, x0 = gd.IdealPoint(), np.eye(3)[0]
    state = method.start(SPHERE, x0, rng)
    before = 0.35 / math.log(3)
    for _ in range(8):
        a, b = method.propose(SPHERE, state, rng)
        state = method.update(SPHERE, state, a, b, 0, rng)
    assert method.observers(SPHERE, state)[""].tie > before


def test_domain_and_accuracy():
    ball = gd.Ball(SPHERE, np.eye(3)[0], 0.6)
    ideal = SPHERE.exp(np.eye(3)[0], np.array([0.0, 0.5, 0.0]))
    oracle = gd.from_objective(lambda x: SPHERE.dist(x, ideal))
    result = gd.minimize(
        gd.Recorded(oracle), SPHERE, np.eye(3)[0], method="ideal-point", domain=ball,
        x_tol=0.05, budget=60, rng=0,
    )  # fmt: skip
    assert ball.contains(result.x)
    assert result.stop_reason == "x_tol"
    assert SPHERE.dist(result.x, ideal) < 0.1


def test_torch_points(ask_and_answer):
    torch = pytest.importorskip("torch")
    x0 = torch.eye(3, dtype=torch.float32)[0]
    person = draw_person(SPHERE, x0, np.random.default_rng(0))
    state, asked = ask_and_answer(gd.IdealPoint(), SPHERE, x0, person, 4)
    assert state.best.dtype == asked[0][0].dtype == torch.float32


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (
            lambda: gd.IdealPoint().start(gd.Euclidean(1), np.zeros(1), np.random.default_rng(0)),
            "dim",
        ),
        (lambda: gd.IdealPoint(half_width=-1.0), "half_width"),
    ],
)
def test_bad_arguments_are_named(call, word):
    with pytest.raises(ArgumentError, match=word):
        call()


def test_an_answer_is_minus_one_zero_or_one():
    rng = np.random.default_rng(0)
    state = gd.IdealPoint().start(SPHERE, np.eye(3)[0], rng)
    a, b = gd.IdealPoint().propose(SPHERE, state, rng)
    with pytest.raises(ArgumentError, match="answer"):
        gd.IdealPoint().update(SPHERE, state, a, b, 3, rng)


def test_the_best_of_two_is_a_duel():
    sphere, method = gd.Sphere(3), gd.IdealPoint()
    a, b = sphere.random_point(np.random.default_rng(0), (2,))
    states = []
    for choose in (False, True):
        rng = np.random.default_rng(1)
        state = method.start(sphere, np.eye(3)[0], rng)
        for _ in range(20):  # until a chart has taken over
            if choose:
                state = method.choose(sphere, state, np.array([a, b]), 0, rng)
            else:
                state = method.update(sphere, state, a, b, -1, rng)
        states.append(state)
    assert np.array_equal(states[0].best, states[1].best)
    assert np.allclose(states[0].attention.looks, states[1].attention.looks, rtol=1e-4)


@pytest.mark.parametrize(
    ("form", "answers"), [pytest.param("best", 16, marks=pytest.mark.slow), ("ranking", 9)]
)
def test_several_points_a_question_need_fewer_answers(form, answers):
    """Pairs take about 20 answers to a regret of 1.5 JND here; the median of five people."""
    sphere, method, found = gd.Sphere(3), gd.IdealPoint(), []
    for seed in range(5):
        rng = np.random.default_rng([11, seed])
        person = draw_person(sphere, np.eye(3)[0], rng)
        state = method.start(sphere, np.eye(3)[0], rng)
        for _ in range(answers):
            points = method.propose_several(sphere, state, rng, 4)
            assert len(np.unique(points, axis=0)) == len(points)
            assert len(points) in (2, 4)  # two if it is an easy question
            ranking = person.rank(points)
            for i in range(len(points) - 1 if form == "ranking" else 1):
                state = method.choose(sphere, state, points[ranking[i:]], 0, rng)
        found.append(person.regret(state.best))
    assert np.median(found) < 1.5


@pytest.mark.slow
def test_lopsided_people_are_found_by_questions_of_two_widths(ask_and_answer):
    """One side of the ideal 40 % worse: the ideal is nearer than such a share of the width."""
    found = []
    for seed in range(101_000, 101_004):
        rng = np.random.default_rng(seed)
        person = draw_person(SPHERE, NORTH, rng, kind="asymmetric 40 %")
        state, _ = ask_and_answer(gd.IdealPoint(catch=0), SPHERE, NORTH, person, 45, seed)
        found.append((person.error(state.best) / DEGREE, person.error(state.best) < state.known))
    error, inside = np.array(found).T
    assert np.median(error) < 0.4 * LEAST_WIDTH
    assert inside.sum() >= 2  # of 4


@pytest.mark.slow
def test_rankings_of_lopsided_people_are_not_believed_too_much():
    """One side of the ideal a fifth worse, the other better: the region holds it for most."""
    method, inside = gd.IdealPoint(catch=0), 0
    for seed in range(87_900, 87_908):
        rng = np.random.default_rng(seed)
        person = draw_person(SPHERE, NORTH, rng, kind="asymmetric 20 %")
        state = method.start(SPHERE, NORTH, rng)
        for _ in range(14):
            points = method.propose_several(SPHERE, state, rng, 4)
            order = person.rank(points)
            for left in range(3):
                state = method.choose(SPHERE, state, points[order[left:]], 0, rng)
        inside += person.error(state.best) <= state.uncertainty
    assert inside >= 4  # of 8; without a tilt one


def test_a_cloud_of_few_equal_points_is_not_thinned():
    cloud = anywhere(SPHERE, NORTH, Prior(0.8, 0.002, 0.2), np.random.default_rng(0))
    first = cloud._replace(
        points=cloud.points[:SOME], others=cloud.others[:SOME], logw=np.zeros(SOME)
    )
    for before, after in zip(first, _thinned(first), strict=True):
        assert before is after or np.array_equal(before, after)


def test_pairs_that_were_asked_are_known_either_way_round():
    x, y, z = np.eye(3)
    state = gd.IdealPoint().start(SPHERE, x, np.random.default_rng(0))
    first, second = np.array([x, y, y, z]), np.array([y, x, z, x])
    found = _known(first, second, state, [(y, x), (z, y)])
    np.testing.assert_array_equal(found, [True, True, True, False])
