"""How many answers are left, from how the uncertainty has fallen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.study.forecast import answers_left


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.99])
def test_exponential_decay_is_extrapolated(rate):
    rng = np.random.default_rng(1)
    history = [(n, rate**n * math.exp(0.1 * rng.standard_normal())) for n in range(1, 61)]
    left = answers_left(history, rate**90)
    assert left is not None
    assert 20 < left < 46


def test_power_decay_is_extrapolated():
    rng = np.random.default_rng(1)
    history = [(n, n**-0.5 * math.exp(0.02 * rng.standard_normal())) for n in range(1, 201)]
    left = answers_left(history, 400**-0.5)
    assert left is not None
    assert 120 < left < 320


def test_nothing_is_said_without_reason():
    assert answers_left([], 0.1) is None
    assert answers_left([(1, 1.0), (2, 0.5), (3, 0.25)], 0.1) is None  # short
    assert answers_left([(n, 2.0**n) for n in range(20)], 0.1) is None  # growing
    rng = np.random.default_rng(2)
    scatter = [(n, math.exp(rng.standard_normal())) for n in range(40)]
    assert answers_left(scatter, 1e-3) is None
    slow = [(n, 0.999**n) for n in range(40)]
    assert answers_left(slow, 1e-9) is None  # too far ahead to be believed
    assert answers_left([(5, 0.01)], 0.1) == 0  # there already
