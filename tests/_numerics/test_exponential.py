"""The exponential by its series: known values, its inverse, SciPy's, and polynomials."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm

from geoduel._numerics.exponential import expm1, fast_series, series

EPS = np.finfo(float).eps
SIZES = (0.0, 1e-300, 1e-12, 1e-5, 4e-4, 0.02, 0.09, 0.3, 0.6, 0.77, 0.81, 1.0, 1.5, 2.0, 7.0)


@pytest.mark.parametrize("size", SIZES)
def test_it_is_right_to_rounding(size):
    """On numbers, as 1 x 1 and as diagonal matrices; and on rotations of the plane.

    The sum rounds each term, in all as much as e^|a| - 1 is; each of the halvings doubles that.
    """
    rounding = 4 * EPS * math.expm1(size) * max(size, 1)
    for a in (size, -size, size / 3):
        matrix = np.diag([a, -a / 2])
        turn = np.array([[0.0, -a], [a, 0.0]])
        versine = 2 * math.sin(a / 2) ** 2
        for one, expected in [
            (matrix, np.diag(np.expm1([a, -a / 2]))),
            (turn, np.array([[-versine, -math.sin(a)], [math.sin(a), -versine]])),
        ]:
            for stack in (one, one[None], np.full((300, 1, 1), 1.0) * one):
                got = expm1(stack, size)
                np.testing.assert_allclose(got - expected, 0 * stack, rtol=0, atol=rounding)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("n", [2, 5, 10])
def test_the_exponential_of_the_opposite_is_the_inverse(library, n):
    a = np.random.default_rng(17).standard_normal((6, n, n))
    sizes = np.array([1e-8, 0.05, 0.4, 0.9, 2.0, 6.0])
    a *= (sizes / np.linalg.norm(a, axis=(1, 2)))[:, None, None]
    kind = np.asarray if library == "numpy" else pytest.importorskip("torch").asarray
    for stack in (a, *a):
        size = float(np.max(np.linalg.norm(stack, axis=(-2, -1))))
        there, back = (np.asarray(expm1(kind(s), size)) for s in (stack, -stack))
        # (I + F)(I + B) = I; both are right to some rounding units of e^size, halvings included.
        product = there + back + there @ back
        tolerance = 8 * n * EPS * math.exp(2 * size) * max(size, 1)
        np.testing.assert_allclose(product, 0 * stack, rtol=0, atol=tolerance)
        expected = np.stack([expm(b) for b in np.reshape(stack, (-1, n, n))]) - np.eye(n)
        got = np.reshape(there, (-1, n, n))
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)


def test_what_is_not_finite_stays_so():
    for size in (math.nan, math.inf):
        assert np.isnan(expm1(np.full((2, 2), math.nan), size)).all()


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_series_are_polynomials(rows):
    a = np.random.default_rng(8).standard_normal((200, 4, 4))
    c = np.random.default_rng(9).standard_normal((rows, 4))
    powers = np.stack([np.linalg.matrix_power(a, k) for k in range(1, 4 * rows + 1)])
    expected = np.einsum("k,k...->...", c.ravel(), powers)
    tolerance = 100 * EPS * np.max(np.abs(powers))
    np.testing.assert_allclose(series(a, c), expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(fast_series(a[3], c), expected[3], rtol=0, atol=tolerance)
