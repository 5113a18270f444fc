"""Intervals cover as often as they say, and numbers are written with two digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError
from geoduel.reproduce.estimates import (
    LEVEL,
    exact,
    fitted,
    mean,
    median,
    median_band,
    number,
    share,
)


@pytest.mark.parametrize(("n", "coverage"), [(1, 0.0), (3, 0.75), (5, 0.9375), (8, 1 - 18 / 256)])
def test_coverage_is_that_of_the_binomial_law(n, coverage):
    """P(X_(k) <= median <= X_(n+1-k)) = 1 - 2 P(Binomial(n, 1/2) < k)."""
    assert median(list(range(n))).coverage == pytest.approx(coverage)


@pytest.mark.parametrize("n", [5, 8, 20])
def test_intervals_of_medians_cover_the_true_one(n):
    rng = np.random.default_rng(n)
    draws = rng.exponential(size=(4_000, n))
    low, middle, high = median_band(draws.T)
    covered = ((low <= math.log(2)) & (math.log(2) <= high)).mean()
    stated = median(draws[0].tolist()).coverage
    assert stated >= LEVEL
    assert abs(covered - stated) <= 4 * math.sqrt(stated * (1 - stated) / 4_000)
    assert np.allclose(middle, np.median(draws, axis=1))


def test_runs_that_never_arrive_take_part():
    e = median([1.0, 2.0, math.inf, math.inf, math.inf])
    assert (e.value, e.low, e.high) == (math.inf, 1.0, math.inf)
    assert e.text == "∞ (1.0 to ∞; 5 seeds)"


def test_shares_have_the_exact_interval():
    """Clopper and Pearson: at the lower end as many successes or more have a chance of 5 %."""
    n, k = 20, 7
    e = share([True] * k + [False] * (n - k), "images")

    def at_least(p, k):
        return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))

    assert at_least(e.low, k) == pytest.approx(0.05)
    assert 1 - at_least(e.high, k + 1) == pytest.approx(0.05)
    assert (share([True] * 4).high, share([False] * 4).low) == (1.0, 0.0)


def test_intervals_of_means_are_student_s():
    """With two values x and y: half the difference times the quantile tan(0.45 π) = 6.31."""
    e = mean([1.0, 3.0])
    assert (e.value, e.high) == (2.0, pytest.approx(2 + math.tan(0.45 * math.pi)))
    with pytest.raises(ArgumentError, match="two or more"):
        mean([1.0])


def test_fits_and_counts():
    fit = fitted(2.0, 0.1, 50)
    assert (fit.low, fit.high) == (pytest.approx(2 - 0.1645), pytest.approx(2 + 0.1645))
    assert exact(3.0).text == "3.0"


@pytest.mark.parametrize("values", [[], [math.nan]])
def test_what_is_no_number_is_refused(values):
    with pytest.raises(ArgumentError, match="values must be numbers"):
        median(values)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0"),
        (1.234, "1.2"),
        (12.34, "12"),
        (0.0123, "0.012"),
        (0.00999, "1.0·10⁻²"),
        (-4.2e-8, "−4.2·10⁻⁸"),
        (12345.6, "12,346"),
        (1e5, "1.0·10⁵"),
        (math.inf, "∞"),
        (math.nan, "–"),
    ],
)
def test_numbers(x, text):
    assert number(x) == text
