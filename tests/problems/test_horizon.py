"""Levelling: the two losses of the paper, and how they order rotations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError
from geoduel.problems import Leveling

EPS = np.finfo(float).eps


@pytest.mark.parametrize("tilt", [-170.0, -38.0, 9.0, 20.0, 179.0])
def test_leveling_is_the_frobenius_norm(tilt):
    """|R R_tilt - I|² of the paper's text, and four times less from its code near the optimum."""
    problem, angle = Leveling.degrees(tilt), Leveling.degrees(tilt, "angle")
    plane = problem.manifold
    rng = np.random.default_rng(19)
    for x in plane.random_point(rng, (20,)):
        rest = x @ plane.from_angle(math.radians(tilt)) - np.eye(2)
        assert problem.objective(x) == pytest.approx((rest**2).sum(), abs=32 * EPS)
    close = plane.from_angle(1e-4 - math.radians(tilt))
    assert problem.objective(close) / angle.objective(close) == pytest.approx(4, rel=1e-6)
    assert math.degrees(problem.residual_angle(problem.x0)) == pytest.approx(tilt)


def test_both_losses_order_rotations_alike():
    points = Leveling(0.3).manifold.random_point(np.random.default_rng(20), (2, 500))
    one, two = Leveling(0.3), Leveling(0.3, "angle")
    np.testing.assert_array_equal(
        np.sign(one.objective(points[0]) - one.objective(points[1])),
        np.sign(two.objective(points[0]) - two.objective(points[1])),
    )


def test_wrong_leveling():
    with pytest.raises(ArgumentError, match="loss must be one of"):
        Leveling(0.1, "squared")
    with pytest.raises(ArgumentError, match="tilt must be"):
        Leveling(math.nan)
