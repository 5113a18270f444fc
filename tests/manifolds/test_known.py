"""What is known of each manifold in closed form: size, curvature, and where geodesics meet."""

from __future__ import annotations

from math import acosh, hypot, inf, pi, sqrt

import numpy as np
import pytest

import geoduel as gd

FREE, ROUND = (False, True), (True, True)  # bounded, complete
# Dimension, shape, curvature, injectivity radius, bounded and complete, length scale.
KNOWN = {
    gd.Sphere(4): (3, (4,), (1, 1), pi, ROUND, pi / 2),
    gd.Euclidean(3): (3, (3,), (0, 0), inf, FREE, sqrt(3)),
    gd.Hyperbolic(3): (3, (4,), (-1, -1), inf, FREE, acosh(2)),
    gd.SPD(1): (1, (1, 1), (0, 0), inf, FREE, 1),
    gd.SPD(2): (3, (2, 2), (-1 / 2, 0), inf, FREE, sqrt(3)),
    gd.SPD(2, metric="log-euclidean"): (3, (2, 2), (0, 0), inf, FREE, sqrt(3)),
    gd.SPD(3, metric="bures-wasserstein"): (6, (3, 3), (0, inf), inf, (False, False), sqrt(3) / 2),
    gd.Rotations(2): (1, (2, 2), (0, 0), pi, ROUND, pi / 2),
    gd.Rotations(3): (3, (3, 3), (1 / 4, 1 / 4), pi, ROUND, pi / 2),
    gd.Rotations(4): (6, (4, 4), (0, 1 / 2), pi, ROUND, pi / sqrt(2)),
    gd.Stiefel(5, 2): (7, (5, 2), (-1 / 2, 1), pi, ROUND, pi / sqrt(2)),
    gd.Grassmann(5, 2): (6, (5, 2), (0, 2), pi / 2, ROUND, pi / 2 / sqrt(2)),
    gd.Torus(2): (2, (2,), (0, 0), pi, ROUND, pi / sqrt(2)),
    gd.Simplex(3): (2, (3,), (1 / 4, 1 / 4), pi, ROUND, pi / 2),
    gd.Unitary(2): (4, (2, 2, 2), (0, 1 / 2), pi, ROUND, pi / sqrt(2)),
    gd.manifolds.Line(0, 4): (1, (1,), (0, 0), inf, FREE, 2 / 3),
    gd.manifolds.Line(1, 9, ratios=True): (1, (1,), (0, 0), inf, FREE, 2 / 3),
    gd.Product(gd.Sphere(3), gd.Euclidean(2)): (4, (5,), (0, 1), pi, FREE, hypot(pi / 2, sqrt(2))),
    gd.Power(gd.Sphere(3), 2): (4, (2, 3), (0, 1), pi, ROUND, pi / sqrt(2)),
}


@pytest.mark.parametrize("manifold", KNOWN, ids=repr)
def test_what_is_known(manifold):
    dim, shape, curvature, radius, ends, typical = KNOWN[manifold]
    assert (manifold.dim, manifold.point_shape) == (dim, shape)
    assert manifold.curvature == curvature
    assert manifold.injectivity_radius == radius
    assert (manifold.bounded, manifold.complete) == ends
    assert manifold.typical_dist == pytest.approx(typical, rel=1e-15)
    assert manifold.closed_form is (not isinstance(manifold, gd.Stiefel))
    if manifold.closed_form:  # the median distance of random points is 0.4 to 1.6 times that
        x = manifold.random_point(0, (800,))
        assert 0.4 < np.median(manifold.dist(x[::2], x[1::2])) / typical < 1.6


@pytest.mark.parametrize("values", [gd.Categories("a", "b"), gd.Integers(1, 8)], ids=repr)
def test_values_have_no_length(values):
    assert (values.dim, values.point_shape, values.curvature) == (0, (1,), (0, 0))
    assert (values.bounded, values.typical_dist) == (True, 0)
    x = values.random_point(0, (5,))
    assert not values.inner(x, x, x).any()
    assert values.to_coords(x, x).shape == (5, 0)
    np.testing.assert_array_equal(values.exp(x, 0 * x), x)


def test_room_is_what_is_left_to_the_cube_root_of_the_largest_number():
    """Below a hundredth of that it is a thousandth of the length scale."""
    plane, most = gd.Euclidean(2), np.finfo(np.float64).max ** (1 / 3)
    assert plane.room(np.array([3.0, -4.0])) == most
    assert plane.room(np.array([0.0, -0.9 * most])) == pytest.approx(0.1 * most)
    assert plane.room(np.array([[0.0, 0.0], [0.9898 * most, 0]])) == pytest.approx(0.0102 * most)
    assert plane.room(np.array([0.99005 * most, 0.0])) == sqrt(2) / 1000
    assert plane.room(np.array([2 * most, 0.0])) == 0
    assert gd.Sphere(3).room(np.eye(3)[0]) == inf
