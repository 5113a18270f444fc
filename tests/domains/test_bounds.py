"""Intervals: clipping is exact, diameter and minimisers are known, bad bounds are refused."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, EmptySetError
from geoduel.manifolds import Line


@pytest.mark.parametrize("log", [False, True])
def test_numbers_end_at_the_bounds_to_the_last_bit(log):
    interval = gd.Interval(0.1, 0.7, log=log)
    y = np.array([[1e-9], [0.1], [0.3], [0.7], [1e9]])
    z = interval.project(y)
    np.testing.assert_array_equal(z[:, 0], [0.1, 0.1, 0.3, 0.7, 0.7])
    np.testing.assert_array_equal(interval.contains(y), [False, True, True, True, False])
    np.testing.assert_array_equal(interval.violation(z), 0)
    assert interval.diameter == pytest.approx(2)


@pytest.mark.parametrize("log", [False, True])
def test_the_linear_minimiser_is_the_end_against_the_slope(log):
    interval = gd.Interval(1, 9, log=log)
    x, h = np.full((3, 1), 4.0), np.array([[2.0], [-2.0], [0.0]])
    z = interval.linear_minimizer(x, h)
    np.testing.assert_array_equal(z[:, 0], [1, 9, 4])


def test_part_of_an_interval_keeps_its_scale():
    scale = Line(-12, 12, unit="dB")
    part = gd.Interval(-3, 3, manifold=scale)
    assert part.diameter == pytest.approx(0.5)
    assert part.unit == "dB"
    assert repr(part) == "Interval(-3.0, 3.0, unit='dB', manifold=Line(-12.0, 12.0, unit='dB'))"
    assert repr(gd.Interval(1, 10, log=True)) == "Interval(1.0, 10.0, log=True)"
    assert gd.Interval(1, 2, manifold=Line(1, 4, ratios=True)).log is not False


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"lower": 2, "upper": 1}, EmptySetError, "lower must be below upper, got 2 and 1"),
        ({"lower": 1, "upper": 1}, ArgumentError, "lower must be below upper"),
        ({"lower": 0, "upper": 1, "log": True}, ArgumentError, "lower must be > 0"),
        ({"lower": 0, "upper": math.inf}, ArgumentError, "upper must be a finite number"),
        ({"lower": 0, "upper": 1, "manifold": gd.Euclidean(1)}, ArgumentError, "must be a Line"),
        (
            {"lower": 0, "upper": 1, "manifold": Line(1, 2, ratios=True)},
            ArgumentError,
            "lower must be > 0 where ratios count",
        ),
    ],
)
def test_bad_bounds_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        gd.Interval(**settings)


@pytest.mark.parametrize("domain", [gd.Interval(0.1, 0.3), gd.Box(np.array([0.1]), 0.3)])
def test_no_point_in_single_precision_is_beyond_a_bound(domain):
    x = np.array([[0.0], [1.0]], np.float32)
    for z in (domain.project(x), domain.linear_minimizer(domain.project(x), 1 - 2 * x)):
        assert z.dtype == np.float32
        assert (z.astype(float) >= 0.1).all()
        assert (z.astype(float) <= 0.3).all()
        assert domain.contains(z, tol=0.0).all()
    assert float(np.float32(0.3)) > 0.3
