"""IdealPoint: likelihood, gradient and prior; the posterior against brute force; symmetries."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.frame import Frame
from geoduel.methods.people import ideal_point
from geoduel.methods.people.chart import Chart, features
from geoduel.methods.people.observer import WEBER
from geoduel.methods.people.perception import (
    OTHERS,
    Answers,
    Perception,
    Prior,
    Seen,
    evaluate,
    outcomes,
)
from geoduel.oracles import draw_person
from geoduel.oracles.people import DEGREE

FLAT, SPHERE = gd.Euclidean(2), gd.Sphere(3)
PRIOR = Prior(1.0, 0.1 / 9, 0.9, True)


def flat_answers(rng, n, d=2):
    """Random questions on a flat space, in a chart there, answered at random."""
    manifold = gd.Euclidean(d)
    chart = Chart.about(manifold, Frame(np.zeros(d), np.eye(d)), 0.5, np.zeros(d))
    answers = Answers.none(np.zeros(d), d)
    for _ in range(n):
        a, b = rng.standard_normal((2, d))
        answer, left = int(rng.integers(-1, 2)), int(rng.integers(-1, 2))
        answers = answers.append(Answers.one(a, b, answer, left, 0, d, chart, manifold))
    return answers


def log_likelihood(model, theta, answers, prior):
    """By the formulas, for one particle."""
    d = model.d
    c, u = theta[:d], theta[d : d + 6]
    L = model.factor(theta[None])[0] if model.metric else np.eye(d)
    middle = math.sqrt(prior.least * prior.most)
    near = middle * (prior.most / prior.least) ** (math.tanh(0.8 * u[0]) / 2)
    weber = WEBER * max(u[5], 0) ** 2
    lapse = 1 / (1 + math.exp(-(math.log(0.03 / 0.97) + 0.8 * u[1])))
    rho = 1 / (1 + math.exp(-1.2 * u[2]))
    bias, tie = 0.25 * u[3], 0.35 * math.exp(u[4])
    total = 0.0
    for a, b, answer, left in zip(*answers[:4], strict=True):
        to_a, to_b = (np.linalg.norm(L.T @ (x - c)) for x in (a, b))
        jnd = near + weber * (to_a + to_b) / 2
        x = math.log(3) * (to_b - to_a) / jnd + left * bias
        first, second = (1 / (1 + math.exp(-(s * x - tie))) for s in (1, -1))
        seen = {-1: first, 1: second, 0: 1 - first - second}[int(answer)]
        share = 1e-3 if answer == 0 else 0.5 - answer * left * (rho - 0.5)
        total += math.log(lapse * share + (1 - lapse) * seen)
    return total


@pytest.mark.parametrize("metric", [False, True])
@pytest.mark.parametrize("d", [2, 5])
def test_likelihood_is_that_of_the_formulas(metric, d):
    rng = np.random.default_rng(0)
    answers, model = flat_answers(rng, 8, d), Perception(d, metric)
    particles = model.draw(rng, 5, PRIOR)
    value, _ = evaluate(model, particles, answers, PRIOR)
    expected = [log_likelihood(model, theta, answers, PRIOR) for theta in particles]
    assert np.allclose(value, expected, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("metric", [False, True])
def test_gradient_is_the_derivative(metric):
    """Central differences of a value in single precision: right to about 1e-5/h + h²."""
    rng = np.random.default_rng(1)
    answers, model = flat_answers(rng, 6, 3), Perception(3, metric)
    prior = Prior(1.0, 0.5 / 9, 4.5, True)
    particles = model.draw(rng, 4, prior)
    particles[:, 3 + OTHERS - 1] = [-1.0, 0.5, 1.0, 2.0]  # Weber fractions of 0 and more

    def target(x):
        value, slope = evaluate(model, x, answers, prior)
        more, tilt = model.prior(x, np.full(3, 0.1), prior)
        return value + more, slope + tilt

    _, slope = target(particles)
    h = 5e-3
    for j in range(particles.shape[1]):
        e = h * np.eye(particles.shape[1])[j]
        numeric = (target(particles + e)[0] - target(particles - e)[0]) / (2 * h)
        assert np.allclose(numeric, slope[:, j], rtol=0.02, atol=0.02)


def test_without_a_weber_fraction_the_jnd_is_the_same_everywhere():
    """And with one, as large as if it were that of each question."""
    rng = np.random.default_rng(4)
    particles = np.zeros((2, OTHERS))
    particles[:, -1] = [-2.0, 1.5]
    none, some = (Seen.of(row[None], PRIOR) for row in particles)
    loss = abs(rng.standard_normal((1, 10))).astype(np.float32)
    difference = loss[:, 5:] - loss[:, :5]
    assert none.weber == 0
    assert np.array_equal(none.at(loss)[0], math.log(3) * difference / none.jnd)
    jnd = some.jnd + WEBER * 1.5**2 * (loss[:, 5:] + loss[:, :5]) / 2
    assert np.allclose(some.at(loss)[0], math.log(3) * difference / jnd, rtol=1e-5)


def test_swapping_the_points_swaps_the_answers():
    rng = np.random.default_rng(2)
    answers, model = flat_answers(rng, 9), Perception(2, True)
    particles = model.draw(rng, 20, PRIOR)
    swapped = answers._replace(
        answer=-answers.answer, left=-answers.left, seen=answers.seen[:, :, ::-1]
    )
    assert np.allclose(
        evaluate(model, particles, answers, PRIOR)[0],
        evaluate(model, particles, swapped, PRIOR)[0],
        rtol=1e-4,
    )


def test_outcomes_add_up_and_agree_with_the_likelihood():
    rng = np.random.default_rng(3)
    answers, model = flat_answers(rng, 5), Perception(2, True)
    particles = model.draw(rng, 10, PRIOR)
    chances = outcomes(
        particles[:, :2], model.factor(particles), particles[:, 2:], answers.seen, PRIOR
    )
    assert np.allclose(chances.sum(axis=0), 1)
    for k in range(5):
        one = answers.part(slice(k, k + 1))._replace(answer=np.array([1.0]), left=np.zeros(1))
        expected = np.exp(evaluate(model, particles, one, PRIOR)[0])
        assert np.allclose(chances[1, :, k], expected, rtol=1e-3, atol=1e-6)


def test_prior_favours_no_axes():
    """E[L L'] = I; the distribution of v' L L' v, χ²/ν, is that of any unit v."""
    model = Perception(4, True)
    L = model.factor(model.draw(np.random.default_rng(0), 20_000, PRIOR))
    G = L @ np.swapaxes(L, 1, 2)
    error = np.sqrt(2 / model.freedom / len(G))
    assert np.allclose(G.mean(axis=0), np.eye(4), atol=5 * error)
    for v in (np.eye(4)[0], np.eye(4)[3], np.ones(4) / 2):
        along = np.einsum("i,nij,j->n", v, G, v)
        assert np.var(along) == pytest.approx(2 / model.freedom, rel=0.1)


def test_prior_is_uniform_in_the_distance():
    c = Perception(5, False).draw(np.random.default_rng(0), 4000, PRIOR)[:, :5]
    length = np.linalg.norm(c, axis=1)
    assert np.mean(length > PRIOR.radius) < 0.15
    inside = np.sort(length[(length > 0.4) & (length < 1)])
    assert np.quantile((inside - 0.4) / 0.6, 0.5) == pytest.approx(0.5, abs=0.05)


def test_chart_sees_what_the_manifold_sees():
    """Right at the nodes; in between to third order in the size."""
    rng = np.random.default_rng(0)
    for manifold, x0 in (
        (SPHERE, np.eye(3)[0]),
        (gd.Rotations(3), np.eye(3)),
        (gd.SPD(2), np.eye(2)),
    ):
        d = manifold.dim
        x = manifold.exp(x0, 0.8 * manifold.unit_tangent(rng, x0, (6,)))
        errors = []
        for size in (0.3, 0.15):
            chart = Chart.about(manifold, Frame(x0, np.eye(d)), size, np.zeros(d))
            seen = chart.logs(manifold, x)
            at_nodes = features(chart.nodes) @ seen.reshape(len(seen), -1)
            lengths = np.linalg.norm(at_nodes.reshape(-1, d, 6), axis=1)
            assert np.allclose(lengths, manifold.dist(chart.points[:, None], x[None]), atol=1e-5)
            c = size * rng.standard_normal((50, d)) / 2
            between = (features(c) @ seen.reshape(len(seen), -1)).reshape(-1, d, 6)
            exact = manifold.dist(chart.frame.at(manifold, c)[:, None], x[None])
            errors.append(abs(np.linalg.norm(between, axis=1) - exact).max())
        assert errors[0] < 0.02
        assert errors[1] < errors[0] / 3


def ask_and_answer(method, manifold, x0, person, n, seed=0):
    rng = np.random.default_rng(seed)
    state, asked = method.start(manifold, x0, rng), []
    for _ in range(n):
        a, b = method.propose(manifold, state, rng)
        answer = person.answer(a, b, 1)
        asked.append((a, b, answer))
        state = method.update(manifold, state, a, b, answer, rng, left=1)
    return state, asked


def test_posterior_is_that_of_importance_sampling():
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
        answers = answers.append(Answers.one(a, b, answer, 1, 0, 2, chart, FLAT))
    c, w = [], []
    prior = method._prior(FLAT, ties=0)
    for share, model in (
        (ideal_point.ALIKE, Perception(2, False)),
        (1 - ideal_point.ALIKE, Perception(2, True)),
    ):
        particles = model.draw(rng, 100_000, prior)
        c.append(particles[:, :2])
        w.append(share * np.exp(evaluate(model, particles, answers, prior)[0]))
    c, w = np.concatenate(c), np.concatenate(w)
    w /= w.sum()
    assert 1 / (w @ w) > 300
    median = ideal_point._median(c, w)
    away = np.linalg.norm(c - median, axis=1)
    order = np.argsort(away)
    radius = np.interp(ideal_point._level(9, 2), np.cumsum(w[order]), away[order])
    assert np.linalg.norm(np.mean([s.best for s in states], axis=0) - median) < 0.2 * radius
    assert np.mean([s.uncertainty for s in states]) == pytest.approx(radius, rel=0.3)


def test_a_turned_sphere_gives_the_turned_answer():
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
def test_finds_the_ideal_on_any_manifold(manifold):
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


def test_same_generator_same_questions_and_points_stay_on_the_manifold():
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


def test_folding_old_answers_keeps_the_posterior(monkeypatch):
    person = draw_person(SPHERE, np.eye(3)[0], np.random.default_rng(2))
    state, asked = ask_and_answer(gd.IdealPoint(), SPHERE, np.eye(3)[0], person, 55)
    monkeypatch.setattr(ideal_point, "KEPT", 32)
    rng = np.random.default_rng(1)
    method = gd.IdealPoint()
    folded = method.start(SPHERE, np.eye(3)[0], rng)
    for a, b, answer in asked:
        folded = method.update(SPHERE, folded, a, b, answer, rng, left=1)
    assert len(folded.answers.answer) <= 32
    assert sum(folded.counts) == 55
    assert SPHERE.dist(state.best, folded.best) < state.uncertainty
    assert 0.5 < folded.uncertainty / state.uncertainty < 2


def test_median_is_the_point_of_least_expected_distance():
    rng = np.random.default_rng(0)
    c, w = rng.standard_normal((300, 3)), rng.random(300)
    w /= w.sum()
    median = ideal_point._median(c, w)

    def expected(x):
        return w @ np.linalg.norm(c - x, axis=1)

    for step in 0.1 * rng.standard_normal((20, 3)):
        assert expected(median) < expected(median + step)


def test_moves_wait_for_later_answers(monkeypatch):
    """At most so many particles per answer, copies first; the posterior stays what it is."""
    person = draw_person(SPHERE, np.eye(3)[0], np.random.default_rng(2))
    state, asked = ask_and_answer(gd.IdealPoint(), SPHERE, np.eye(3)[0], person, 30)
    moved = []
    move = ideal_point._moved
    monkeypatch.setattr(ideal_point, "WORK", 6000)
    monkeypatch.setattr(
        ideal_point, "_moved", lambda *given: moved.append(given[2]) or move(*given)
    )
    rng, method = np.random.default_rng(1), gd.IdealPoint()
    slow = method.start(SPHERE, np.eye(3)[0], rng)
    for k, (a, b, answer) in enumerate(asked, 1):
        moved.clear()
        slow = method.update(SPHERE, slow, a, b, answer, rng, left=1)
        assert sum(moved) * k <= 6000
    assert SPHERE.dist(state.best, slow.best) < state.uncertainty
    assert 0.5 < slow.uncertainty / state.uncertainty < 2


def test_resampling_puts_copies_last():
    rng = np.random.default_rng(0)
    logw = np.full(6, -50.0)
    logw[[1, 4]] = np.log([0.2, 0.4])
    nothing = np.zeros(2), np.zeros((2, 2))
    before = ideal_point.Population(np.arange(12.0).reshape(6, 2), logw, 0.5, 0, nothing)
    after = ideal_point._resampled(before, rng)
    assert after.waiting == 6
    assert after.particles[:, 0].tolist() == [2, 8, 2, 8, 8, 8]
    assert np.exp(after.logw).sum() == pytest.approx(0.6)


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
def test_who_tells_less_far_away_is_found_out():
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
    method = gd.IdealPoint()
    state = method.start(SPHERE, np.eye(3)[0], np.random.default_rng(0))
    state = state._replace(spread=1e-4 * np.eye(2))
    none, some = np.zeros((2, 1, OTHERS))
    some[0, -1] = 1.0
    assert method._half_width(SPHERE, state, none) == state.widest
    expected = (ideal_point.COARSER - 1) * DEGREE / WEBER
    assert method._half_width(SPHERE, state, some) == pytest.approx(expected, rel=1e-4)


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
        prior = gd.IdealPoint(jnd=jnd)._prior(SPHERE, ties=0)
        assert prior.least == pytest.approx(min(jnd, DEGREE) / 9)
        assert prior.most == pytest.approx(9 * DEGREE)


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


def test_torch_points():
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
        (lambda: gd.IdealPoint(jnd=0.0), "jnd"),
        (lambda: gd.IdealPoint(half_width=-1.0), "half_width"),
        (lambda: gd.IdealPoint(initial_step=1.0), "prior_radius"),
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
