"""Rates of DuelNewton: their limits, and that they go the right way."""

import numpy as np
import pytest

from geoduel.methods.descent.noise import Noise
from geoduel.methods.descent.rates import freedom, gain, lapse_of, nearness, recent, shrink

CLEAN = Noise()
WRONG = Noise().see(np.tile([1.0, -1.0], 20), np.tile([1.0, 1.0, -1.0, -1.0], 10))
DIMS = [1, 2, 5, 10, 40, 200, 2000]


def test_without_wrong_answers_nothing_is_held_back():
    assert lapse_of(CLEAN) == 0.05
    assert nearness(100, CLEAN) == 0
    assert nearness(100, WRONG) > nearness(6, WRONG) > nearness(5, WRONG) == 0


def test_a_lapse_is_no_coin():
    assert 0.05 < lapse_of(WRONG) <= 0.4


@pytest.mark.parametrize("d", DIMS)
def test_limits(d):
    assert 0.7 <= shrink(d) <= 0.8
    assert 4 * d <= recent(d) <= 7.5 * d
    assert recent(d, 1.0) == 4 * d
    assert 0 < gain(d, 0.01) <= gain(d, 0.5) <= 1.2
    assert freedom(d, 0.5, CLEAN) > freedom(d, 0.0, CLEAN) == freedom(d, -1.0, CLEAN) > 0


def test_larger_models_lag_more():
    assert np.all(np.diff([shrink(d) for d in DIMS]) >= 0)
    assert np.all(np.diff([recent(d) / d for d in (20, 40, 200, 2000)]) <= 0)
    assert np.all(np.diff([freedom(d, 0.0, CLEAN) for d in DIMS]) < 0)
