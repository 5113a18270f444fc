"""The interval is two units long, in differences or in ratios; and bad ones are refused."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.manifolds import Line


@pytest.mark.parametrize("line", [Line(-3, 5), Line(1e-6, 1e6, ratios=True), Line(2e300, 3e300)])
def test_the_interval_is_two_units_long(line):
    ends = np.array([[line.lower], [line.upper]])
    assert line.dist(*ends) == pytest.approx(2, rel=1e-15)
    np.testing.assert_allclose(line.dist(ends, line.origin()), 1, rtol=1e-14)


def test_numbers_are_uniform_in_the_interval():
    """Of n uniform numbers the mean is 1/2 within 5 standard errors, sqrt(1/12n)."""
    for line in (Line(10, 30), Line(1e-3, 1e3, ratios=True)):
        x = line.random_point(0, (4000,))
        share = line.dist([line.lower], x) / 2
        assert 0 <= share.min() < 0.01
        assert 0.99 < share.max() <= 1
        assert abs(share.mean() - 0.5) < 5 / math.sqrt(12 * 4000)


def test_ratios_are_the_metric_of_positive_matrices():
    """Up to the scale it is SPD(1)."""
    line, spd = Line(1, math.e**2, ratios=True), gd.SPD(1)  # scale 1
    x, v = np.array([0.3]), np.array([2.0])
    assert line.dist(x, v) == pytest.approx(spd.dist(x[None], v[None]), rel=1e-14)
    np.testing.assert_allclose(line.exp(x, v), spd.exp(x[None], v[None])[0], rtol=1e-14)


@pytest.mark.parametrize("far", [1e-300, 1e-20, 1 - 1e-12, 1 + 1e-12, 7.0, 1e300])
def test_ratios_keep_their_digits_near_and_far(far):
    line = Line(1, math.e**2, ratios=True)
    want = math.log1p(far - 1) if abs(far - 1) < 0.5 else math.log(far)
    assert line.log([1.0], [far])[0] == pytest.approx(want, rel=1e-15)


def test_room_is_left_until_numbers_end():
    """In the metric, to the cube root of the largest and of the smallest number."""
    line = Line(1, math.e**2, ratios=True)
    most = math.log(np.finfo(float).max) / 3
    assert line.room(np.ones(1)) == pytest.approx(most)
    assert line.room(np.array([1e-50])) == pytest.approx(most - 50 * math.log(10))
    assert line.room(np.array([1e200])) == 0
    assert Line(0, 4).room(np.zeros(1)) == pytest.approx(np.finfo(float).max ** (1 / 3) / 2)
    for left, room in ((0.0102 * most, 0.0102 * most), (0.00995 * most, 0.00995e-3 * most)):
        assert line.room(np.exp([most - left])) == pytest.approx(room)
        assert line.room(np.exp([[left - most], [left - most]])) == pytest.approx(room)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ((1, 1), "lower must be below upper, got 1 and 1"),
        ((0, 1, True), "lower must be > 0 where ratios count, got 0"),
        ((0, math.inf), "upper must be a finite number"),
        (("0", 1), "lower must be a finite number"),
        ((0, 1, False, 3), "unit must be a text"),
        ((0, 10**400), "upper must be a finite number, at most"),
        ((1e16, 1e16 + 4, True), "must be further apart"),
    ],
)
def test_bad_intervals_are_refused(settings, words):
    with pytest.raises(ArgumentError, match=words):
        Line(*settings)


def test_only_positive_numbers_have_ratios():
    line = Line(1, 2, ratios=True)
    with pytest.raises(NotOnManifoldError, match="not positive"):
        line.to_manifold([-1.0])
    with pytest.raises(NotOnManifoldError, match="x is not on Line"):
        line.check_point(np.zeros(1))
    assert line.to_manifold([0.5]) == 0.5
    assert Line(1, 2).to_manifold([-1.0]) == -1  # where differences count, all numbers are points
    assert repr(line) == "Line(1.0, 2.0, ratios=True)"
    assert repr(Line(0, 1, unit="dB")) == "Line(0.0, 1.0, unit='dB')"
    assert Line(0, 1, unit="dB") == Line(0, 1)  # it is for people


@pytest.mark.parametrize("line", [Line(-3, 5), Line(0.5, 20, ratios=True)])
def test_coordinates_are_lengths_and_geodesics_go_at_their_speed(line):
    x, c = np.array([[0.3], [4.0]]), np.array([[1.5], [-2.0]])
    v = line.from_coords(x, c)
    np.testing.assert_allclose(line.to_coords(x, v), c, rtol=1e-15)
    np.testing.assert_allclose(line.norm(x, v), [1.5, 2.0])
    np.testing.assert_allclose(line.inner(x, v, -2 * v), [-4.5, -8.0])
    times = np.array([[0.0, 0.0], [-0.5, 1.0], [2.0, 0.25]])
    way = line.geodesic(x, v)(times)
    assert way.shape == (3, 2, 1)
    np.testing.assert_allclose(line.dist(x, way), abs(times) * [1.5, 2.0], atol=1e-15)
    np.testing.assert_allclose(line.log(x, way), times[..., None] * v, atol=1e-15)
    # The gradient of the first number in the metric: <grad, v> = v.
    gradient = line.riemannian_gradient(x, np.ones((2, 1)))
    np.testing.assert_allclose(line.inner(x, gradient, v), v[:, 0])
    carried = line.transport_along(x, v, v)
    np.testing.assert_allclose(line.to_coords(line.exp(x, v), carried), c)
