"""How people answer: likelihood, gradient and prior, against the formulas and by symmetry."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.frame import Frame
from geoduel.methods.people.chart import Chart
from geoduel.methods.people.observer import WEBER_SCALE
from geoduel.methods.people.perception import (
    OTHERS,
    Answers,
    People,
    Perception,
    Prior,
    Traits,
    outcomes,
    rater_offset,
)

PRIOR = Prior(1.0, 0.1 / 9, 0.9, True)


def log_likelihood(model, theta, answers, prior):
    """By the formulas, for one particle."""
    d = model.d
    c, u = theta[:d], theta[d : d + 6]
    L = model.factor(theta[None])[0] if model.metric else np.eye(d)
    middle = math.sqrt(prior.least * prior.most)
    near = middle * (prior.most / prior.least) ** (math.tanh(0.8 * u[0]) / 2)
    weber = WEBER_SCALE * max(u[5], 0) ** 2
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
def test_likelihood_is_that_of_the_formulas(flat_answers, metric, d):
    rng = np.random.default_rng(0)
    answers, model = flat_answers(rng, 8, d), Perception(d, metric)
    particles = model.draw(rng, 5, PRIOR)
    value, _ = model.log_likelihood(particles, answers, PRIOR)
    expected = [log_likelihood(model, theta, answers, PRIOR) for theta in particles]
    assert np.allclose(value, expected, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("metric", [False, True])
def test_gradient_is_the_derivative(flat_answers, metric):
    """Central differences of a value in single precision: right to about 1e-5/h + h²."""
    rng = np.random.default_rng(1)
    answers, model = flat_answers(rng, 6, 3), Perception(3, metric)
    prior = Prior(1.0, 0.5 / 9, 4.5, True)
    particles = model.draw(rng, 4, prior)
    particles[:, 3 + OTHERS - 1] = [-1.0, 0.5, 1.0, 2.0]  # Weber fractions of 0 and more

    def target(x):
        value, slope = model.log_likelihood(x, answers, prior)
        more, tilt = model.log_prior(x, np.full(3, 0.1), prior)
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
    none, some = (Traits.of(row[None], PRIOR) for row in particles)
    loss = abs(rng.standard_normal((1, 10))).astype(np.float32)
    difference = loss[:, 5:] - loss[:, :5]
    assert none.weber == 0
    assert np.array_equal(none.difference(loss)[0], math.log(3) * difference / none.jnd)
    jnd = some.jnd + WEBER_SCALE * 1.5**2 * (loss[:, 5:] + loss[:, :5]) / 2
    assert np.allclose(some.difference(loss)[0], math.log(3) * difference / jnd, rtol=1e-5)


def test_swapping_the_points_swaps_the_answers(flat_answers):
    rng = np.random.default_rng(2)
    answers, model = flat_answers(rng, 9), Perception(2, True)
    particles = model.draw(rng, 20, PRIOR)
    swapped = answers._replace(
        answer=-answers.answer, left=-answers.left, logs=answers.logs[:, :, ::-1]
    )
    assert np.allclose(
        model.log_likelihood(particles, answers, PRIOR)[0],
        model.log_likelihood(particles, swapped, PRIOR)[0],
        rtol=1e-4,
    )


def test_outcomes_add_up_and_agree_with_the_likelihood(flat_answers):
    rng = np.random.default_rng(3)
    answers, model = flat_answers(rng, 5), Perception(2, True)
    particles = model.draw(rng, 10, PRIOR)
    people = People(particles[:, :2], model.factor(particles), particles[:, 2 : 2 + OTHERS])
    chances = outcomes(people, answers.logs, PRIOR)
    assert np.allclose(chances.sum(axis=0), 1)
    for k in range(5):
        one = answers.part(slice(k, k + 1))._replace(answer=np.array([1.0]), left=np.zeros(1))
        expected = np.exp(model.log_likelihood(particles, one, PRIOR)[0])
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


@pytest.mark.parametrize("metric", [False, True])
def test_likelihood_does_not_hang_on_how_many_particles_there_are(flat_answers, metric):
    """Many are taken in chunks."""
    rng = np.random.default_rng(5)
    answers, model = flat_answers(rng, 40), Perception(2, metric)
    particles = model.draw(rng, 900, PRIOR)
    value, slope = model.log_likelihood(particles, answers, PRIOR)
    few, few_slope = model.log_likelihood(particles[700:720], answers, PRIOR)
    assert np.allclose(value[700:720], few, rtol=1e-5)
    assert np.allclose(slope[700:720], few_slope, rtol=1e-2, atol=1e-2)


def test_likelihood_of_answers_is_the_sum_of_their_own(flat_answers):
    """Raters may differ; an offset counts as if it were added to the six numbers."""
    rng = np.random.default_rng(6)
    answers, model = flat_answers(rng, 5), Perception(2, True)
    particles, offsets = model.draw(rng, 7, PRIOR), rng.standard_normal((5, OTHERS))
    total, _ = model.log_likelihood(particles, answers, PRIOR, offsets)
    each = np.zeros(7)
    for k in range(5):
        own = particles.copy()
        own[:, 2 : 2 + OTHERS] += offsets[k]
        each += model.log_likelihood(own, answers.part(slice(k, k + 1)), PRIOR)[0]
    assert np.allclose(total, each, rtol=1e-4, atol=1e-4)


def test_until_there_is_a_tie_none_is_expected():
    never = PRIOR._replace(ties=False)
    u = np.random.default_rng(7).standard_normal((4, OTHERS))
    assert np.all(Traits.of(u, never).tie == 0)
    people = People(np.zeros((4, 2)), np.broadcast_to(np.eye(2), (4, 2, 2)), u)
    logs = np.zeros((6, 2, 2, 3), np.float32)
    logs[0] = 0.1 + 1e-3 * np.random.default_rng(8).standard_normal((2, 2, 3))  # hardly differ
    assert outcomes(people, logs, never)[2].max() < 1e-6
    assert outcomes(people, logs, PRIOR)[2].min() > 0.01


def test_typical_traits_are_the_medians():
    """Zeros are the middle of each prior; a Weber fraction is what half of the people have."""
    found = Traits.of(np.zeros((1, OTHERS)), PRIOR).observer(12, np.ones(1))
    assert found.answers == 12
    assert found.jnd == pytest.approx(math.sqrt(PRIOR.least * PRIOR.most))
    assert (found.lapse, found.left) == pytest.approx((0.03, 0.5))
    assert (found.bias, found.weber) == (0, 0)
    assert found.tie == pytest.approx(0.35 / math.log(3))


def test_the_jnd_stays_within_its_range():
    u = np.zeros((2, OTHERS))
    u[:, 0] = [-8, 8]
    assert Traits.of(u, PRIOR).jnd.ravel() == pytest.approx([PRIOR.least, PRIOR.most], rel=1e-4)


def answered_by(flat, ideal, answer_to):
    """Twelve wide questions about a plane, answered by a function of the losses."""
    rng, answers = np.random.default_rng(9), Answers.none(np.zeros(2), 2)
    chart = Chart.about(flat, Frame(np.zeros(2), np.eye(2)), 0.5, np.zeros(2))
    for _ in range(12):
        a, b = rng.standard_normal((2, 2))
        said = answer_to(np.linalg.norm(a - ideal), np.linalg.norm(b - ideal))
        answers = answers.append(Answers.one(flat, chart, a, b, said, 0, 0))
    return answers


def test_a_rater_who_contradicts_what_is_known_gets_a_larger_jnd_or_lapses():
    flat, ideal = gd.Euclidean(2), np.array([0.3, 0.2])
    people = People(ideal[None], np.eye(2)[None], np.zeros((1, OTHERS)))
    right = answered_by(flat, ideal, lambda a, b: 1 if b < a else -1)
    wrong = right._replace(answer=-right.answer)
    agrees, contradicts = (rater_offset(people, said, PRIOR) for said in (right, wrong))
    assert np.all(abs(agrees) < 0.2)
    assert contradicts[0] > 0.5 or contradicts[1] > 0.5
    assert contradicts[5] > agrees[5]  # the Weber fraction goes with the JND


def test_answers_are_appended_and_taken_apart(flat_answers):
    rng = np.random.default_rng(10)
    answers = flat_answers(rng, 4)
    again = answers.part(slice(0, 1)).append(answers.part(np.array([1, 2, 3])))
    for one, two in zip(again, answers, strict=True):
        assert np.array_equal(one, two)


def test_answers_look_the_same_in_another_chart(flat_answers):
    """On a flat space: the log of a moved ideal is what it was."""
    flat, shift = gd.Euclidean(2), np.array([0.2, -0.1])
    answers = flat_answers(np.random.default_rng(11), 5)
    chart = Chart.about(flat, Frame(shift, np.eye(2)), 0.3, np.zeros(2))
    moved = answers.in_chart(flat, chart)
    c = np.array([[0.4, 0.5]])
    factors, others = np.eye(2)[None], np.zeros((1, OTHERS))
    before = People(c, factors, others).losses(answers.logs)
    after = People(c - shift, factors, others).losses(moved.logs)
    assert np.allclose(before, after, atol=1e-5)
    none = Answers.none(np.zeros(2), 2)
    assert none.in_chart(flat, chart) is none
