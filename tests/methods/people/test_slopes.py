"""The linear model of slopes: derivatives, identities, and brute force."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from geoduel.methods.people.slopes import (
    BIAS_SPREAD,
    LAPSE,
    METRIC,
    NORMAL_JND,
    UNEVEN,
    Pairs,
    Posterior,
    Scales,
    Sites,
    answer_moments,
    fit,
    prior_mean,
)

SCALES = Scales(jnd=0.1, radius=0.6)
NOTHING = Sites(np.zeros(0), np.zeros(0))


def pairs_of(rng, m, d, ideal=None, blur=0.3):
    a, b = rng.standard_normal((2, m, d))
    left = rng.choice([-1.0, 1.0], m)
    return a, b, Pairs.of(a, b, left, np.zeros(d), np.zeros(d) if ideal is None else ideal, blur)


@pytest.mark.parametrize("answer", [1.0, -1.0, 0.0])
def test_derivatives_of_an_answer_are_finite_differences(answer):
    mean, variance = np.linspace(-4, 4, 17), np.linspace(0.1, 3, 17)
    said, h = np.full(17, answer), 1e-4

    def value(x):
        return answer_moments(x, variance, said)[0]

    _, first, second = answer_moments(mean, variance, said)
    rise = (value(mean + h) - value(mean - h)) / (2 * h)
    bend = (value(mean + h) - 2 * value(mean) + value(mean - h)) / h**2
    assert np.allclose(first, rise, atol=1e-7)  # h² and ε/h
    assert np.allclose(second, bend, atol=1e-6)  # h² and ε/h²


def test_both_answers_together_are_certain():
    mean, variance = np.linspace(-5, 5, 11), np.linspace(0, 2, 11)
    total = sum(np.exp(answer_moments(mean, variance, np.full(11, s))[0]) for s in (1.0, -1.0))
    assert np.allclose(total, 1, atol=1e-14)


def test_a_difference_is_that_of_the_losses_for_people_who_see_all_alike():
    """Mean over the prior: an ideal at the start, |b| - |a|, in deviations of the noise."""
    a, b, pairs = pairs_of(np.random.default_rng(0), 20, 4, blur=0.0)
    lengths = np.linalg.norm(a, axis=1) - np.linalg.norm(b, axis=1)
    assert np.allclose(prior_mean(pairs, SCALES), lengths * NORMAL_JND / SCALES.jnd)


def test_a_question_at_a_point_is_about_the_slope_there():
    """Differences of pairs about y along u have the variance u' S u, with the slope's S."""
    rng, d = np.random.default_rng(1), 3
    _, _, pairs = pairs_of(rng, 12, d)
    _, believed, _ = fit(pairs, rng.choice([-1.0, 1.0], 12), SCALES, NOTHING)
    y, u = rng.standard_normal((2, d))
    about = Pairs(u[None], y[None], np.zeros((1, d)), np.zeros(1))
    mean, variance = believed.difference(about)
    assert variance[0] == pytest.approx(u @ believed.slope(y) @ u, rel=1e-9)
    c, spread = believed.ideal()
    assert np.all(np.linalg.eigvalsh(spread) > 0)
    # The mean slope is M (c - y), as long as no curvature is below what is believed.
    assert np.linalg.eigvalsh(believed.metric())[0] > 0.3 * SCALES.steep
    assert mean[0] == pytest.approx(u @ believed.metric() @ (c - y), rel=1e-9)


def test_gain_is_what_the_slope_loses():
    """An answer of precision 1 takes from the trace of the slope's covariance what `gain` says."""
    rng, d = np.random.default_rng(2), 3
    _, _, pairs = pairs_of(rng, 10, d)
    sites = Sites(np.full(10, 0.5), rng.standard_normal(10))
    y = rng.standard_normal(d)
    _, _, more = pairs_of(rng, 1, d)
    before = Posterior.of(pairs, sites, SCALES)
    after = Posterior.of(
        pairs.and_(more), Sites(np.append(sites.precision, 1.0), np.append(sites.pull, 0)), SCALES
    )
    lost = np.trace(before.slope(y)) - np.trace(after.slope(y))
    assert before.gain(y, more)[0] == pytest.approx(lost, rel=1e-8)


def test_posterior_is_that_of_importance_sampling():
    """200,000 people from the prior, weighted by the likelihood."""
    rng, d, m, n = np.random.default_rng(3), 2, 8, 200_000
    _, _, pairs = pairs_of(rng, m, d)
    s = SCALES.steep
    pull = s * SCALES.radius / math.sqrt(d) * rng.standard_normal((n, d))
    square = rng.standard_normal((n, d, d))
    metric = s * METRIC / math.sqrt(d) * (square + np.swapaxes(square, 1, 2)) / 2
    metric[:, [0, 1], [0, 1]] = s * METRIC / math.sqrt(d) * rng.standard_normal((n, d))
    metric += s * np.eye(d)
    uneven = s * UNEVEN / math.sqrt(d) * rng.standard_normal((n, d))
    side = BIAS_SPREAD * rng.standard_normal(n)
    seen = pull @ pairs.turn.T - np.einsum("mi,nij,mj->nm", pairs.middle, metric, pairs.turn)
    seen += uneven @ pairs.across.T + side[:, None] * pairs.left
    answer = np.sign(seen[0])  # of the first of them
    sites = NOTHING
    for _ in range(5):  # until nothing changes
        sites, _, _ = fit(pairs, answer, SCALES, sites)
    _, believed, evidence = fit(pairs, answer, SCALES, sites)
    p = np.prod(LAPSE / 2 + (1 - LAPSE) * ndtr(answer * seen), axis=1)
    w = p / p.sum()
    error = 1 / math.sqrt(1 / (w @ w))
    assert error < 0.02
    assert evidence == pytest.approx(math.log(p.mean()), abs=0.1)
    spread = s * SCALES.radius / math.sqrt(d)
    found = (s * SCALES.radius) ** 2 / d * (believed.weights @ pairs.turn)
    assert np.allclose(found, w @ pull, atol=0.1 * spread)
    away = pull - w @ pull
    exact = (away * w[:, None]).T @ away
    assert np.allclose(believed.slope(np.zeros(d)), exact, atol=0.15 * spread**2)
    assert believed.bias() == pytest.approx(w @ side, abs=0.1 * BIAS_SPREAD)


def test_ties_say_that_two_points_are_about_as_good():
    _, _, pairs = pairs_of(np.random.default_rng(4), 6, 3)
    _, before, _ = fit(pairs.part(slice(0)), np.zeros(0), SCALES, NOTHING)
    _, after, _ = fit(pairs, np.zeros(6), SCALES, NOTHING)
    length = [np.linalg.norm(one.difference(pairs)[0]) for one in (before, after)]
    assert length[1] < length[0] / 4
