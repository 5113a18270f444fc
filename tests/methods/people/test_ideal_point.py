"""IdealPoint: the posterior against brute force, symmetries, questions, raters."""

import itertools
import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.frame import Frame
from geoduel.methods.people.chart import Chart
from geoduel.methods.people.ideal_point import (
    COARSER,
    LEAST_WIDTH,
    accuracy,
    imagined_worlds,
    stated_share,
    suited_half_width,
)
from geoduel.methods.people.observer import WEBER_SCALE
from geoduel.methods.people.particles import ALIKE, median
from geoduel.methods.people.perception import OTHERS, Answers, Perception, Traits
from geoduel.methods.people.weights import radius_holding
from geoduel.oracles import draw_person
from geoduel.oracles.people import DEGREE

FLAT, SPHERE = gd.Euclidean(2), gd.Sphere(3)


def test_posterior_is_that_of_importance_sampling(ask_and_answer):
    """200,000 draws from the prior, weighted by the likelihood, on a flat space.

    Radii of particles differ by 18 % from run to run, so those of four are averaged.
    """
    method = gd.IdealPoint(prior_radius=1.0, jnd=0.05)
    person = draw_person(FLAT, np.zeros(2), np.random.default_rng(5), 0.5, spread=2.0, jnd=0.05)
    _, asked = ask_and_answer(method, FLAT, np.zeros(2), person, 9)
    rng, states = np.random.default_rng(0), []
    for _ in range(4):
        state = method.start(FLAT, np.zeros(2), rng)
        for a, b, answer in asked:
            state = method.update(FLAT, state, a, b, answer, rng, left=1)
        states.append(state)
    chart = Chart.about(FLAT, Frame(np.zeros(2), np.eye(2)), 0.5, np.zeros(2))
    answers = Answers.none(np.zeros(2), 2)
    for a, b, answer in asked:
        answers = answers.append(Answers.one(FLAT, chart, a, b, answer, 1, 0))
    c, w = [], []
    prior = states[0].belief.prior
    for share, model in ((ALIKE, Perception(2, False)), (1 - ALIKE, Perception(2, True))):
        particles = model.draw(rng, 100_000, prior)
        c.append(particles[:, :2])
        w.append(share * np.exp(model.log_likelihood(particles, answers, prior)[0]))
    c, w = np.concatenate(c), np.concatenate(w)
    w /= w.sum()
    assert 1 / (w @ w) > 300
    centre = median(c, w)
    radius = radius_holding(stated_share(9, 2), np.linalg.norm(c - centre, axis=1), w)
    assert np.linalg.norm(np.mean([s.best for s in states], axis=0) - centre) < 0.2 * radius
    assert np.mean([s.uncertainty for s in states]) == pytest.approx(radius, rel=0.3)


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
    assert SPHERE.dist(turn @ state.best, other.best) < 0.5 * state.uncertainty
    assert 0.5 < other.uncertainty / state.uncertainty < 2


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


def test_questions_are_no_wider_than_geodesics_are_shortest():
    """On the simplex they turn back at the boundary, and 80 degrees lead there from anywhere."""
    manifold, method = gd.Simplex(3), gd.IdealPoint()
    state = method.start(manifold, np.array([0.2, 0.3, 0.5]), np.random.default_rng(0))
    for seed in range(5):
        a, b = method.propose(manifold, state, np.random.default_rng(seed))
        middle = manifold.exp(a, manifold.log(a, b) / 2)
        assert manifold.dist(middle, state.best) < 0.05  # a mean and a median of particles
        assert min(a.min(), b.min()) < 0.05  # nine tenths of the way


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


def test_who_answers_by_coin_counts_less():
    rng = np.random.default_rng(0)
    method, x0 = gd.IdealPoint(), np.eye(3)[0]
    person = draw_person(SPHERE, x0, np.random.default_rng(7), lapse=0.0)
    state = method.start(SPHERE, x0, rng)
    for rater in ["careful"] * 16 + ["coin"] * 30:
        a, b = method.propose(SPHERE, state, rng)
        # Questions that the careful rater would find easy.
        c = SPHERE.exp(a, 0.2 * SPHERE.log(a, b)) if rater == "coin" else b
        answer = person.answer(a, c, 1) if rater == "careful" else int(rng.choice([-1, 1]))
        state = method.update(SPHERE, state, a, c, answer, rng, left=1, rater=rater)
    seen = method.observers(SPHERE, state)
    coin, careful = seen["coin"], seen["careful"]
    assert (coin.answers, careful.answers) == (30, 16)
    assert coin.jnd > 1.5 * careful.jnd or coin.lapse > 1.5 * careful.lapse
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


def test_who_has_a_weber_fraction_is_asked_of_nearer_points():
    """As far as the JND has grown to COARSER times the least; at least 8 posterior deviations."""
    prior = gd.IdealPoint().start(SPHERE, np.eye(3)[0], np.random.default_rng(0)).belief.prior
    none, some = np.zeros((2, 1, OTHERS))
    some[0, -1] = 1.0
    none, some = Traits.of(none, prior), Traits.of(some, prior)
    assert suited_half_width(none, 0.01, widest=1.4) == 1.4
    grown = (COARSER - 1) * DEGREE / WEBER_SCALE
    assert suited_half_width(some, 0.01, widest=1.4) == pytest.approx(grown, rel=1e-4)
    assert suited_half_width(some, 0.1, widest=1.4) == LEAST_WIDTH * 0.1
    assert suited_half_width(some, 1.0, widest=1.4) == 1.4


def test_questions_are_as_wide_as_geodesics_bend():
    """80 degrees where the curvature is 1, to second order; 3 radii of the prior at most."""
    rng = np.random.default_rng(0)
    for manifold, expected in (
        (gd.Sphere(4), 80 * DEGREE),
        (gd.Rotations(3), 135 * DEGREE),
        (gd.Grassmann(4, 1), 67.5 * DEGREE),
        (gd.Torus(2), gd.Torus(2).typical_dist * 3 / 4),
        (gd.Hyperbolic(2), gd.Hyperbolic(2).typical_dist * 3 / 4),
    ):
        state = gd.IdealPoint().start(manifold, manifold.random_point(rng), rng)
        assert state.widest == pytest.approx(expected, rel=0.03)
    assert gd.IdealPoint(half_width=0.4).start(SPHERE, np.eye(3)[0], rng).widest == 0.4


def test_the_range_of_jnds_reaches_what_is_usual():
    """Whatever is assumed: from a ninth of the smaller to what a person has who tells little."""
    for jnd in (DEGREE / 3, DEGREE, 3 * DEGREE):
        state = gd.IdealPoint(jnd=jnd).start(SPHERE, np.eye(3)[0], np.random.default_rng(0))
        prior = state.belief.prior
        assert prior.least == pytest.approx(min(jnd, DEGREE) / 9)
        assert prior.most == pytest.approx(9 * DEGREE)


def test_the_stated_share_grows_to_what_is_said():
    assert stated_share(0, 2) == 0.56
    assert stated_share(25, 2) == pytest.approx((0.56 + 0.8) / 2)
    assert stated_share(50, 2) == stated_share(500, 2) == pytest.approx(0.8)


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
