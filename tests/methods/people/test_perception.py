"""How people answer: likelihood, gradient and prior, against the formulas and by symmetry."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import geoduel as gd
from geoduel.methods.frame import Frame
from geoduel.methods.people.chart import Chart
from geoduel.methods.people.observer import WEBER_MEDIAN, WEBER_SPREAD
from geoduel.methods.people.perception import (
    MOST_TILT,
    OTHERS,
    TILT,
    WARY_TILT,
    Answers,
    People,
    Perception,
    Prior,
    Traits,
    chosen,
    log_prior_of_length,
    log_prior_of_tilt,
    log_probability,
    outcomes,
    rater_offset,
)
from geoduel.methods.people.strengths import CLEARLY, SLIGHTLY

PRIOR = Prior(1.0, 0.1 / 9, 0.9, True)


def log_likelihood(model, theta, answers, prior):
    """By the formulas, for one particle."""
    d = model.d
    c, u = theta[:d], theta[d : d + 6]
    L = model.factor(theta[None])[0] if model.metric else np.eye(d)
    t = theta[d + 6 : 2 * d + 6]
    middle = math.sqrt(prior.least * prior.most)
    near = middle * (prior.most / prior.least) ** (math.tanh(0.8 * u[0]) / 2)
    weber = WEBER_MEDIAN * math.exp(WEBER_SPREAD * u[5])
    lapse = 1 / (1 + math.exp(-(math.log(0.03 / 0.97) + 0.8 * u[1])))
    rho = 1 / (1 + math.exp(-1.2 * u[2]))
    bias, tie = 0.25 * u[3], 0.35 * math.exp(u[4])
    total = 0.0
    for a, b, answer, left in zip(*answers[:4], strict=True):
        to_a, to_b = (np.linalg.norm(u) + t @ u for u in (L.T @ (x - c) for x in (a, b)))
        jnd = near + weber * (to_a + to_b) / 2
        x = math.log(3) * (to_b - to_a) / jnd + left * bias
        first, second = (1 / (1 + math.exp(-(s * x - tie))) for s in (1, -1))
        seen = {-1: first, 1: second, 0: 1 - first - second}[int(answer)]
        share = 1e-3 if answer == 0 else 0.5 - answer * left * (rho - 0.5)
        total += math.log(lapse * share + (1 - lapse) * seen)
    return total


def people_of(model, particles):
    """In the terms that all models share."""
    d = model.d
    parts = model.factor(particles), model.tilts(particles), particles[:, d : d + OTHERS]
    return People(particles[:, :d], *parts)


@pytest.mark.parametrize("metric", [False, True])
@pytest.mark.parametrize("d", [2, 5])
def test_likelihood_is_that_of_the_formulas(flat_answers, from_prior, metric, d):
    rng = np.random.default_rng(0)
    answers, model = flat_answers(rng, 8, d), Perception(d, metric)
    particles = from_prior(rng, model, 5, PRIOR)
    value, _ = model.log_likelihood(particles, answers, PRIOR)
    expected = [log_likelihood(model, theta, answers, PRIOR) for theta in particles]
    assert np.allclose(value, expected, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("metric", [False, True])
def test_the_best_of_several_is_chosen_as_plackett_and_luce_say(flat_choices, from_prior, metric):
    """1/(1 + Σ exp(-x)) with the arguments x of the duels won, and 1/k in a lapse."""
    rng = np.random.default_rng(3)
    answers, model = flat_choices(rng), Perception(2, metric)
    particles = from_prior(rng, model, 5, PRIOR)
    value, _ = model.log_likelihood(particles, answers, PRIOR)
    expected = np.zeros(5)
    for n, theta in enumerate(particles):
        _, lapse, *_ = (float(x[0, 0]) for x in Traits.of(theta[None, 2:8], PRIOR))
        for start, size in zip(*answers.choices(), strict=True):
            odds = 0.0
            for j in range(start, start + size):
                p = math.exp(log_likelihood(model, theta, answers.part(slice(j, j + 1)), PRIOR))
                odds += 1 / ((p - lapse / 2) / (1 - lapse)) - 1
            expected[n] += math.log(lapse / (size + 1) + (1 - lapse) / (1 + odds))
    assert list(answers.choices()[1]) == [1, 2, 3, 1]
    assert np.allclose(value, expected, rtol=2e-3, atol=2e-3)


def test_whom_people_choose_adds_up_and_agrees_with_duels(from_prior):
    """Of two points as `outcomes` says, and of four with probabilities that sum to one."""
    rng, prior = np.random.default_rng(4), PRIOR._replace(ties=False)
    others, losses = rng.standard_normal((6, OTHERS)), rng.random((6, 4)).astype(np.float32)
    assert np.allclose(chosen(losses, others, prior).sum(axis=0), 1, atol=1e-6)
    two = chosen(losses[:, :2], others, prior)
    assert np.allclose(two, outcomes(losses[:, :2], others, prior)[:2, :, 0], atol=1e-5)


def test_the_worst_is_the_best_of_losses_of_the_other_sign(from_prior):
    """And of two points one is the best where the other is the worst."""
    rng, prior = np.random.default_rng(5), PRIOR._replace(ties=False)
    others, losses = rng.standard_normal((6, OTHERS)), rng.random((6, 2)).astype(np.float32)
    best = chosen(losses, others, prior)
    assert np.allclose(chosen(losses, others, prior, worst=True), best[::-1], atol=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_what_may_be_answered_adds_up(flat_choices, from_prior, sign):
    """To a duel without ties, and to the choice of the best of four; one of them is the answer.

    So it does for the worst.
    """
    rng, model = np.random.default_rng(6), Perception(2, True)
    prior = PRIOR._replace(ties=False, radius=1.0, least=0.5, most=2.0)  # JNDs alike for all pairs
    particles = from_prior(rng, model, 3, prior)
    particles[:, 2 + OTHERS - 1] = -20.0  # no Weber fraction
    answers = flat_choices(rng)
    for start, size in zip(*answers.choices(), strict=True):
        one = answers.part(slice(start, start + size))
        one = one._replace(answer=sign * np.ones(size))
        said, was = one.outcomes()
        values = [model.log_likelihood(particles, x, prior)[0] for x in said]
        assert np.array_equal(values[was], model.log_likelihood(particles, one, prior)[0])
        # A lapse answers with a tie one time in a thousand.
        assert np.allclose(np.exp(values).sum(axis=0), 1, atol=2e-3)


def test_strengths_of_an_answer_add_up_to_it(flat_strengths, from_prior):
    """Clearly and slightly are as likely together as the answer, and `outcomes` says the same."""
    rng, model = np.random.default_rng(7), Perception(2, True)
    answers = flat_strengths(rng, 6)
    particles = from_prior(rng, model, 5, PRIOR)
    each = [answers._replace(strength=np.full(6, s)) for s in (0, SLIGHTLY, CLEARLY)]
    for j in range(6):
        plain, slight, clear = (
            np.exp(model.log_likelihood(particles, x.part(slice(j, j + 1)), PRIOR)[0]) for x in each
        )
        assert np.allclose(slight + clear, plain, rtol=1e-4)
    others, losses = rng.standard_normal((6, OTHERS)), rng.random((6, 8)).astype(np.float32)
    five = outcomes(losses, others, PRIOR, answers.usage[:, 0])
    three = outcomes(losses, others, PRIOR)
    assert np.allclose(five[:2] + five[3:], three[:2], atol=1e-5)
    assert np.allclose(five[2], three[2])


def test_each_outcome_of_a_graded_duel_is_one_of_its_answers(flat_strengths):
    answers = flat_strengths(np.random.default_rng(8), 5)
    for j in range(5):
        one = answers.part(slice(j, j + 1))
        said, was = one.outcomes()
        assert len(said) == 5
        assert (said[was].answer[0], said[was].strength[0]) == (one.answer[0], one.strength[0])


@pytest.mark.parametrize("kind", ["duels", "choices", "strengths"])
@pytest.mark.parametrize("metric", [False, True])
def test_gradient_is_the_derivative(
    flat_answers, flat_choices, flat_strengths, from_prior, metric, kind
):
    """Central differences of a value in single precision: right to about 1e-5/h + h²."""
    rng = np.random.default_rng(1)
    model = Perception(3, metric)
    if kind == "choices":
        answers = flat_choices(rng, 3)
    else:
        answers = (flat_answers if kind == "duels" else flat_strengths)(rng, 6, 3)
    prior = Prior(1.0, 0.5 / 9, 4.5, True)
    particles = from_prior(rng, model, 4, prior)
    particles[:, 3 + OTHERS - 1] = [0.0, 0.5, 1.0, 2.0]  # Weber fractions, small and large
    particles[0, :3] = [1.5, -2.0, 0.5]  # beyond the radius of the prior

    def target(x):
        value, slope = model.log_likelihood(x, answers, prior)
        more, tilt = model.log_prior(x, np.full(3, 0.1), prior)
        return value + more, slope + tilt

    _, slope = target(particles)
    for j in range(particles.shape[1]):
        # The prior of tilts bends within hundredths; elsewhere float32 wants longer steps.
        h = 1e-3 if 3 + OTHERS <= j < 6 + OTHERS else 5e-3
        e = h * np.eye(particles.shape[1])[j]
        numeric = (target(particles + e)[0] - target(particles - e)[0]) / (2 * h)
        assert np.allclose(numeric, slope[:, j], rtol=0.02, atol=0.02)


def test_the_jnd_grows_with_the_mean_loss_of_a_question():
    """By the Weber fraction, which is log-normal; hardly at all where it is tiny."""
    rng = np.random.default_rng(4)
    particles = np.zeros((2, OTHERS))
    particles[:, -1] = [-8.0, 1.5]
    none, some = (Traits.of(row[None], PRIOR) for row in particles)
    loss = abs(rng.standard_normal((1, 10))).astype(np.float32)
    difference, mean = loss[:, 5:] - loss[:, :5], (loss[:, 5:] + loss[:, :5]) / 2
    assert none.weber == pytest.approx(WEBER_MEDIAN * math.exp(-8 * WEBER_SPREAD), rel=1e-5)
    assert np.allclose(none.difference(loss)[0], math.log(3) * difference / none.jnd, rtol=1e-4)
    jnd = some.jnd + WEBER_MEDIAN * math.exp(1.5 * WEBER_SPREAD) * mean
    found, at, jnds = some.difference(loss)
    assert np.allclose(found, math.log(3) * difference / jnd, rtol=1e-5)
    assert np.allclose(at, mean, rtol=1e-6)
    assert np.allclose(jnds, jnd, rtol=1e-6)


def test_swapping_the_points_swaps_the_answers(flat_answers, from_prior):
    rng = np.random.default_rng(2)
    answers, model = flat_answers(rng, 9), Perception(2, True)
    particles = from_prior(rng, model, 20, PRIOR)
    swapped = answers._replace(
        answer=-answers.answer, left=-answers.left, logs=answers.logs[:, :, ::-1]
    )
    assert np.allclose(
        model.log_likelihood(particles, answers, PRIOR)[0],
        model.log_likelihood(particles, swapped, PRIOR)[0],
        rtol=1e-4,
    )


def test_outcomes_add_up_and_agree_with_the_likelihood(flat_answers, from_prior):
    rng = np.random.default_rng(3)
    answers, model = flat_answers(rng, 5), Perception(2, True)
    particles = from_prior(rng, model, 10, PRIOR)
    people = people_of(model, particles)
    chances = outcomes(people.losses(answers.logs), people.others, PRIOR)
    assert np.allclose(chances.sum(axis=0), 1)
    for k in range(5):
        one = answers.part(slice(k, k + 1))._replace(answer=np.array([1.0]), left=np.zeros(1))
        expected = np.exp(model.log_likelihood(particles, one, PRIOR)[0])
        assert np.allclose(chances[1, :, k], expected, rtol=1e-3, atol=1e-6)


def test_log_probability_is_the_likelihood_from_the_losses(flat_answers, from_prior):
    """Also of no answers, which is 1."""
    rng = np.random.default_rng(12)
    answers, model = flat_answers(rng, 6), Perception(2, True)
    particles = from_prior(rng, model, 15, PRIOR)
    people = people_of(model, particles)
    found = log_probability(people.losses(answers.logs), people.others, answers, PRIOR)
    expected, _ = model.log_likelihood(particles, answers, PRIOR)
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-4)
    none = log_probability(np.zeros((15, 0), np.float32), people.others, answers.part([]), PRIOR)
    assert np.array_equal(none, np.zeros(15))


def test_prior_favours_no_axes():
    """E[L L'] = I; the distribution of v' L L' v, χ²/ν, is that of any unit v."""
    model = Perception(4, True)
    n = 20_000
    L = model.factor(model.draw(np.random.default_rng(0), np.zeros((n, 4)), np.zeros((n, OTHERS))))
    G = L @ np.swapaxes(L, 1, 2)
    error = np.sqrt(2 / model.freedom / len(G))
    assert np.allclose(G.mean(axis=0), np.eye(4), atol=5 * error)
    for v in (np.eye(4)[0], np.eye(4)[3], np.ones(4) / 2):
        along = np.einsum("i,nij,j->n", v, G, v)
        assert np.var(along) == pytest.approx(2 / model.freedom, rel=0.1)


@pytest.mark.parametrize("d", [2, 5])
def test_prior_is_about_uniform_in_the_distance_and_has_a_tail_of_power_4(d):
    """But for a smooth core of 0.18 radii; without it 1/(1 + 1/3) would be within the radius."""

    def density(r):
        """Of the distance r, in units of the radius of the prior."""
        logp, _ = log_prior_of_length(np.array([r * r]), PRIOR._replace(radius=1.0), d)
        return r ** (d - 1) * math.exp(logp[0])

    for r in (0.01, 0.1, 0.4, 0.9, 1.1, 3.0, 50.0):
        core = (r * r / (r * r + 0.18**2)) ** ((d - 1) / 2)
        assert density(r) == pytest.approx(core * min(1, r**-4), rel=1e-6)
    inside, beyond = quad(density, 0, 1)[0], quad(density, 1, np.inf)[0]
    assert beyond == pytest.approx(1 / 3, rel=0.02 * (d - 1))
    assert 0.65 < inside / (inside + beyond) < 3 / 4


def test_an_infinite_radius_makes_all_ideals_as_likely():
    square = np.geomspace(1e-6, 1e6, 5)
    value, slope = log_prior_of_length(square, PRIOR._replace(radius=math.inf), 3)
    assert np.array_equal(value, np.zeros(5))
    assert np.array_equal(slope, np.zeros(5))


def test_particles_begin_with_what_they_are_drawn_for():
    rng = np.random.default_rng(13)
    ideals, others = rng.standard_normal((9, 3)), rng.standard_normal((9, OTHERS))
    for metric in (False, True):
        particles = Perception(3, metric).draw(rng, ideals, others)
        assert particles.shape == (9, 3 + OTHERS + 3 + 6 * metric)
        assert np.array_equal(particles[:, : 3 + OTHERS], np.c_[ideals, others])


@pytest.mark.parametrize("wary", [False, True])
@pytest.mark.parametrize("d", [2, 5])
def test_the_prior_of_tilts_is_students_and_ends(d, wary):
    """Shares of its drawn lengths beyond some, by the F distribution of their squares."""
    n, (scale, freedom) = 20_000, WARY_TILT if wary else TILT
    rng, model = np.random.default_rng(15), Perception(d, False, wary)
    tilts = model.tilts(model.draw(rng, np.zeros((n, d)), np.zeros((n, OTHERS))))
    lengths = np.linalg.norm(tilts, axis=1)
    law = stats.f(d, freedom)
    ends = law.cdf((MOST_TILT / scale) ** 2)
    for most in (0.05, 0.2, 0.5):
        expected = 1 - law.cdf((most / scale) ** 2) / ends
        assert np.mean(lengths > most) == pytest.approx(expected, abs=5 * np.sqrt(expected / n))
    assert lengths.max() < MOST_TILT
    density = stats.multivariate_t(np.zeros(d), scale**2 / d * np.eye(d), df=freedom)
    expected = density.logpdf(tilts) - np.log(ends)
    assert np.allclose(log_prior_of_tilt(tilts, scale, freedom)[0], expected, rtol=0, atol=1e-6)
    beyond = np.zeros((1, 2 * d + OTHERS))
    beyond[0, -1] = MOST_TILT + 1e-6
    assert model.log_prior(beyond, np.zeros(d), PRIOR)[0] == -np.inf


@pytest.mark.parametrize("metric", [False, True])
def test_likelihood_does_not_hang_on_how_many_particles_there_are(flat_answers, from_prior, metric):
    """Many are taken in chunks."""
    rng = np.random.default_rng(5)
    answers, model = flat_answers(rng, 40), Perception(2, metric)
    particles = from_prior(rng, model, 900, PRIOR)
    value, slope = model.log_likelihood(particles, answers, PRIOR)
    few, few_slope = model.log_likelihood(particles[700:720], answers, PRIOR)
    assert np.allclose(value[700:720], few, rtol=1e-5)
    assert np.allclose(slope[700:720], few_slope, rtol=1e-2, atol=1e-2)


def test_likelihood_of_answers_is_the_sum_of_their_own(flat_answers, from_prior):
    """Raters may differ; an offset counts as if it were added to the six numbers."""
    rng = np.random.default_rng(6)
    answers, model = flat_answers(rng, 5), Perception(2, True)
    particles, offsets = from_prior(rng, model, 7, PRIOR), rng.standard_normal((5, OTHERS))
    total, _ = model.log_likelihood(particles, answers, PRIOR, offsets)
    each = np.zeros(7)
    for k in range(5):
        own = particles.copy()
        own[:, 2 : 2 + OTHERS] += offsets[k]
        each += model.log_likelihood(own, answers.part(slice(k, k + 1)), PRIOR)[0]
    assert np.allclose(total, each, rtol=1e-4, atol=1e-4)
    losses, others = model.losses(particles, answers), particles[:, 2 : 2 + OTHERS]
    assert np.array_equal(total, log_probability(losses, others, answers, PRIOR, offsets))


def test_until_there_is_a_tie_none_is_expected():
    never = PRIOR._replace(ties=False)
    u = np.random.default_rng(7).standard_normal((4, OTHERS))
    assert np.all(Traits.of(u, never).tie == 0)
    losses = 0.1 + 1e-3 * np.random.default_rng(8).standard_normal((4, 6))  # hardly differ
    assert outcomes(losses.astype(np.float32), u, never)[2].max() < 1e-6
    assert outcomes(losses.astype(np.float32), u, PRIOR)[2].min() > 0.01


def test_typical_traits_are_the_medians():
    """Zeros are the middle of each prior."""
    found = Traits.of(np.zeros((1, OTHERS)), PRIOR).observer(12, np.ones(1))
    assert found.answers == 12
    assert found.jnd == pytest.approx(math.sqrt(PRIOR.least * PRIOR.most))
    assert (found.lapse, found.left) == pytest.approx((0.03, 0.5))
    assert found.bias == 0
    assert found.weber == pytest.approx(WEBER_MEDIAN, rel=1e-6)
    assert found.tie == pytest.approx(0.35 / math.log(3))


def test_the_jnd_stays_within_its_range():
    u = np.zeros((2, OTHERS))
    u[:, 0] = [-8, 8]
    assert Traits.of(u, PRIOR).jnd.ravel() == pytest.approx([PRIOR.least, PRIOR.most], rel=1e-4)


def test_traits_end_at_eight_standard_deviations():
    far = np.array([[-9.0], [-8.0], [8.0], [9.0]]) * np.ones(OTHERS)
    for trait in Traits.of(far, PRIOR)[:6]:
        assert trait[0] == trait[1] != trait[2] == trait[3]


def answered_by(flat, ideal, answer_to):
    """Twelve wide questions about a plane, answered by a function of the losses."""
    rng = np.random.default_rng(9)
    chart = Chart.about(flat, Frame(np.zeros(2), np.eye(2)), 0.5, np.zeros(2))
    answers = Answers.none(np.zeros(2)).in_chart(flat, chart)
    for _ in range(12):
        a, b = rng.standard_normal((2, 2))
        said = answer_to(np.linalg.norm(a - ideal), np.linalg.norm(b - ideal))
        answers = answers.append(Answers.one(flat, chart, a, b, said, 0, 0))
    return answers


def test_a_rater_who_contradicts_what_is_known_gets_a_larger_jnd_or_lapses():
    flat, ideal = gd.Euclidean(2), np.array([0.3, 0.2])
    people = People(ideal[None], np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, OTHERS)))
    right = answered_by(flat, ideal, lambda a, b: 1 if b < a else -1)
    wrong = right._replace(answer=-right.answer)
    agrees, contradicts = (rater_offset(people, said, PRIOR) for said in (right, wrong))
    assert np.all(abs(agrees) < 0.2)
    assert contradicts[0] > 0.5 or contradicts[1] > 0.5
    assert contradicts[5] > agrees[5]  # the Weber fraction goes with the JND


def test_however_many_answers_there_are_a_rater_differs_by_numbers():
    flat, ideal = gd.Euclidean(2), np.array([0.3, 0.2])
    people = People(ideal[None], np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, OTHERS)))
    some = answered_by(flat, ideal, lambda a, b: 1 if b < a else -1)
    some = some._replace(answer=-some.answer)
    many = some
    for _ in range(60):
        many = many.append(some)
    offset = rater_offset(people, many, PRIOR)
    assert np.all(np.isfinite(offset))
    assert offset[1] >= rater_offset(people, some, PRIOR)[1]


def test_answers_are_appended_and_taken_apart(flat_answers):
    rng = np.random.default_rng(10)
    answers = flat_answers(rng, 4)
    again = answers.part(slice(0, 1)).append(answers.part(np.array([1, 2, 3])))
    for one, two in zip(again, answers, strict=True):
        assert np.array_equal(one, two)
    assert answers.choice.tolist() == [0, 1, 2, 3]


def test_answers_look_the_same_in_another_chart(flat_answers):
    """On a flat space: the log of a moved ideal is what it was."""
    flat, shift = gd.Euclidean(2), np.array([0.2, -0.1])
    answers = flat_answers(np.random.default_rng(11), 5)
    chart = Chart.about(flat, Frame(shift, np.eye(2)), 0.3, np.zeros(2))
    moved = answers.in_chart(flat, chart)
    c = np.array([[0.4, 0.5]])
    rest = np.eye(2)[None], np.array([[0.3, -0.2]]), np.zeros((1, OTHERS))
    before = People(c, *rest).losses(answers.logs)
    after = People(c - shift, *rest).losses(moved.logs)
    assert np.allclose(before, after, atol=1e-5)
    none = Answers.none(np.zeros(2)).in_chart(flat, chart)
    assert none.logs.shape == (6, 2, 2, 0)


def test_answers_without_a_chart_get_their_logs_later(flat_answers):
    flat, rng = gd.Euclidean(2), np.random.default_rng(14)
    chart = Chart.about(flat, Frame(np.zeros(2), np.eye(2)), 0.5, np.zeros(2))
    early, now = Answers.none(np.zeros(2)), Answers.none(np.zeros(2)).in_chart(flat, chart)
    for k in range(3):
        a, b = rng.standard_normal((2, 2))
        early = early.append(Answers.one(flat, None, a, b, 1 - k, k - 1, 0))
        now = now.append(Answers.one(flat, chart, a, b, 1 - k, k - 1, 0))
    assert early.logs.shape == (0, 0, 2, 3)
    for one, two in zip(early.in_chart(flat, chart), now, strict=True):
        assert np.allclose(one, two, atol=1e-6)
