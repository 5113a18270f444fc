"""The classics on Euclidean space: spectra, values that are known, wrong sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError
from geoduel.problems import Quadratic, Rosenbrock


@pytest.mark.parametrize("condition", [1.0, 1e4])
def test_quadratic_spectrum(condition):
    problem = Quadratic.random(6, condition, 10)
    values = np.linalg.eigvalsh(problem.root.T @ problem.root)
    np.testing.assert_allclose(values, np.geomspace(1, condition, 6), rtol=1e-10)
    assert problem.smoothness == pytest.approx(condition)


def test_quadratic_is_half_the_squared_length():
    root, centre = np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([1.0, -1.0])
    problem = Quadratic(root, centre, np.zeros(2))
    assert problem.objective(np.array([2.0, 1.0])) == 0.5 * (5**2 + 6**2)
    np.testing.assert_allclose(problem.gradient(np.array([2.0, 1.0])), [5, 28])


def test_rosenbrock_has_its_known_values():
    problem = Rosenbrock.random(5, 0)
    assert np.all(abs(problem.x0) <= 0.5)
    assert problem.objective(np.zeros(5)) == 4
    assert problem.objective(-np.ones(5)) == 4 * (400 + 4)
    assert math.isinf(problem.smoothness)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Quadratic.random(0), "n must be"),
        (lambda: Quadratic.random(3, condition=0.5), "condition must be >= 1"),
        (lambda: Rosenbrock(np.zeros(1)), "x0 must have shape"),
        (lambda: Rosenbrock(np.zeros((2, 2))), "x0 must have shape"),
        (lambda: Rosenbrock.random(1), "n must be"),
    ],
)
def test_wrong_arguments_are_named(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()
