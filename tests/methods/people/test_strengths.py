"""What raters mean by strengths: mixtures that add up, and what is learned from answers."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.people.observer import sigmoid
from geoduel.methods.people.strengths import (
    CLEARLY,
    SLIGHTLY,
    THRESHOLDS,
    USAGE,
    learned,
    share_clear,
    stated,
    unheard,
)
from geoduel.oracles.people import draw_person

SPHERE, X0 = gd.Sphere(3), np.eye(3)[0]


def answers(rng, n, threshold, arbitrary=0.0, often=0.5):
    """Differences in favour of what was preferred, all known, and the strengths of a rater."""
    y = rng.normal(0, 10, n)
    seen = y + rng.logistic(size=n)
    drawn = rng.random(n) < arbitrary
    clear = np.where(drawn, rng.random(n) < often, np.abs(seen) > threshold)
    return (y * np.sign(seen))[None], np.ones((1, n)), np.where(clear, CLEARLY, SLIGHTLY)


def test_a_usage_is_a_mixture():
    usage = unheard()
    assert usage.shape == (USAGE,)
    assert usage[:-1].sum() == pytest.approx(1)
    assert share_clear(np.array([SLIGHTLY, CLEARLY]), usage[:, None]) == pytest.approx(0.5)


def test_derivatives_are_the_slopes_of_the_probability():
    y, unit, h = np.linspace(-3, 6, 7)[None], np.full((1, 7), 1.3), 1e-6
    usage = np.repeat(unheard()[:, None], 7, axis=1)
    for strength in (SLIGHTLY, CLEARLY):

        def p(y, unit, strength=strength):
            return stated(y, unit, np.full(7, strength), usage)

        _, slope, stretch = p(y, unit)
        assert np.allclose((p(y + h, unit)[0] - p(y - h, unit)[0]) / (2 * h), slope, atol=1e-6)
        numeric = (p(y, unit * (1 + h))[0] - p(y, unit * (1 - h))[0]) / (2 * h)
        assert np.allclose(numeric, stretch, atol=1e-6)


def test_both_strengths_together_are_a_duel():
    y, unit = np.linspace(-5, 5, 9)[None], np.ones((1, 9))
    usage = np.repeat(unheard()[:, None], 9, axis=1)
    slight, clear = (stated(y, unit, np.full(9, s), usage)[0] for s in (SLIGHTLY, CLEARLY))
    assert np.allclose(slight + clear, sigmoid(y))
    assert np.all(np.diff(clear / (slight + clear)) > 0)  # clear differences are large


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_threshold_is_found(k):
    usage = learned(*answers(np.random.default_rng(k), 60, THRESHOLDS[k]))
    assert int(np.argmax(usage[: len(THRESHOLDS)])) == k
    assert usage[: len(THRESHOLDS)].sum() > 0.8


@pytest.mark.parametrize("often", [0.1, 0.5, 1.0])
def test_strengths_that_mean_nothing_are_found_out(often):
    """Then the strength of an answer hardly changes what it tells."""
    rng = np.random.default_rng(1)
    usage = learned(*answers(rng, 100, 4.0, arbitrary=1.0, often=often))
    y = np.linspace(0, 40, 20)[None]
    clear = stated(y, np.ones((1, 20)), np.full(20, CLEARLY), np.repeat(usage[:, None], 20, 1))[0]
    share = clear / sigmoid(y)
    assert np.ptp(share) < 0.3 * max(share.max(), 0.5)
    assert share.mean() == pytest.approx(often, abs=0.15)


@pytest.mark.parametrize("manifold", [SPHERE, gd.Rotations(2)])
def test_who_states_strengths_is_asked_and_known_as_well(manifold):
    """Both methods take them; a tie has none."""
    method, x0 = gd.for_people(manifold), manifold.origin()
    rng = np.random.default_rng(0)
    person = draw_person(manifold, x0, rng)
    state, a, b = method.start(manifold, x0, rng), x0, x0
    for _ in range(22):
        a, b = method.propose(manifold, state, rng)
        said, strength = person.graded(a, b)
        state = method.update(manifold, state, a, b, said, rng, left=1, strength=strength)
    assert person.regret(state.best) < 3
    for bad in ((0, CLEARLY), (1, 3), (1, -1)):
        with pytest.raises(ArgumentError, match="strength must be 0, 1 or 2"):
            method.update(manifold, state, a, b, bad[0], rng, strength=bad[1])


def test_what_was_preferred_is_given_when_strengths_are_judged():
    """Without thresholds all preferences are clear, however small the difference."""
    zero = np.zeros((1, 1))
    for strength in (CLEARLY, SLIGHTLY):
        found = [learned(zero + y, zero, np.array([strength])) for y in (-2.0, 0.0, 5.0)]
        np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-4)
