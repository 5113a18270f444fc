"""Euclidean space: known values, in any shape."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError

SPACE = gd.Euclidean(2, 3)
X, Y, V = np.random.default_rng(0).standard_normal((3, 4, 2, 3))


def test_geodesics_are_straight():
    np.testing.assert_array_equal(SPACE.geodesic(X, V)(0.25), X + 0.25 * V)
    np.testing.assert_array_equal(SPACE.exp(X, SPACE.log(X, Y)), X + (Y - X))
    np.testing.assert_array_equal(SPACE.transport(X, Y, V), V)


def test_lengths_are_those_of_the_entries():
    np.testing.assert_allclose(SPACE.dist(X, Y), np.linalg.norm(X - Y, axis=(-2, -1)), rtol=1e-15)
    np.testing.assert_allclose(SPACE.inner(X, Y, V), np.sum(Y * V, axis=(-2, -1)), rtol=1e-13)


def test_gradient_is_the_array_of_derivatives():
    assert SPACE.riemannian_gradient(X, V) is V
    assert SPACE.to_tangent(X, V) is V


def test_coordinates_are_the_entries_row_by_row():
    np.testing.assert_array_equal(SPACE.to_coords(X, V), V.reshape(4, 6))
    np.testing.assert_array_equal(SPACE.from_coords(X, V.reshape(4, 6)), V)


@pytest.mark.parametrize("shape", [(), (0,), (2.5,), (-3,), ("3",), (True, 3)])
def test_a_space_needs_a_shape(shape):
    with pytest.raises(ArgumentError, match="Euclidean"):
        gd.Euclidean(*shape)
