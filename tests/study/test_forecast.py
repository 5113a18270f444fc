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
    assert answers_left([(5, 0.1)], 0.1) == 0


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_units_do_not_matter(unit):
    power = [(n, unit * n**-0.5) for n in range(1, 101)]
    assert answers_left(power, 0.05 * unit) == 300
    exponential = [(n, unit * 0.8**n) for n in range(1, 21)]
    assert answers_left(exponential, unit * 0.8**30) == 10


def test_the_later_half_tells():
    history = [(n, 1.0) for n in range(1, 21)] + [(n, 0.8 ** (n - 20)) for n in range(21, 42)]
    assert answers_left(history, 0.8**31) == 10


def test_a_slope_within_two_standard_errors_is_none():
    for slope in (-0.01, 0.0, 0.01):
        zigzag = [(n, math.exp(slope * n + (-1) ** n)) for n in range(40)]
        assert answers_left(zigzag, 1e-2) is None
    assert answers_left([(n, math.exp(-0.3 * n + (-1) ** n)) for n in range(40)], 1e-6) is not None


@pytest.mark.parametrize("n", [20, 80])
def test_it_looks_ahead_ten_times_as_far_as_there_are_answers(n):
    history = [(k, 0.99**k) for k in range(1, n + 1)]
    assert answers_left(history, 0.99 ** (10.9 * n)) == pytest.approx(9.9 * n)
    assert answers_left(history, 0.99 ** (11.1 * n)) is None
