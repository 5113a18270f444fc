"""The Rayleigh quotient: known values, its law, its eigenpairs, one point and stacks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.problems import Rayleigh


def test_rayleigh_has_the_paper_s_law():
    """Off the diagonal the entries of A have variance 1/(2n), on it 1/n; mean 0."""
    n = 60
    rng = np.random.default_rng(7)
    A = np.array([Rayleigh.random(n, rng).A for _ in range(20)])
    off = A[:, *np.triu_indices(n, 1)].ravel()
    diagonal = A.diagonal(axis1=1, axis2=2).ravel()
    for sample, variance in ((off, 1 / (2 * n)), (diagonal, 1 / n)):
        assert abs(sample.mean()) < 4 * math.sqrt(variance / sample.size)
        assert abs(sample.var() / variance - 1) < 4 * math.sqrt(2 / sample.size)


def test_rayleigh_eigenpairs():
    problem = Rayleigh.random(30, 8)
    values, vectors = np.linalg.eigh(problem.A)
    assert problem.smoothness == pytest.approx(values[-1] - values[0])
    for value, vector in zip(values, vectors.T, strict=True):
        assert problem.objective(vector) == pytest.approx(-value / 2)
        assert np.linalg.norm(problem.gradient(vector)) < 1e-13
    assert problem.optimum @ problem.x0 > 0


def test_rayleigh_gradient_stays_tangent_off_the_sphere():
    """Otherwise descent leaves the sphere: its error would grow by L/f'' every step."""
    problem = Rayleigh.random(10, 9)
    x = (1 + 1e-6) * problem.x0
    assert abs(x @ problem.gradient(x)) < 1e-15


@pytest.mark.parametrize(
    "A", [np.ones((2, 3)), np.array([[1.0, 1.0], [0.0, 1.0]]), np.diag([1.0, math.nan]), np.ones(3)]
)
def test_wrong_rayleigh_matrix(A):
    with pytest.raises(ArgumentError, match="A must be"):
        Rayleigh(A, np.array([1.0, 0.0]))


def test_rayleigh_start_is_on_the_sphere():
    with pytest.raises(NotOnManifoldError, match="x0"):
        Rayleigh(np.eye(2), np.array([1.0, 1.0]))


PROBLEM = Rayleigh(np.diag([3.0, 2.0, 1.0]), np.array([0.0, 0.6, 0.8]))


def test_values_at_eigenvectors_are_half_their_eigenvalues():
    np.testing.assert_array_equal(PROBLEM.objective(np.eye(3)), [-1.5, -1.0, -0.5])
    assert [PROBLEM.objective(x) for x in np.eye(3)] == [-1.5, -1.0, -0.5]
    assert PROBLEM.optimal_value == -1.5
    assert PROBLEM.smoothness == 2
    np.testing.assert_array_equal(abs(PROBLEM.optimum), [1, 0, 0])


def test_one_point_has_the_value_it_has_in_a_stack():
    problem = Rayleigh.random(50, 0)
    x = problem.manifold.random_point(np.random.default_rng(1), (4,))
    singles = [problem.objective(a) for a in x]
    np.testing.assert_allclose(singles, problem.objective(x), rtol=0, atol=1e-15)
    low = problem.objective(x.astype(np.float32))
    assert low.dtype == np.float32
    np.testing.assert_allclose(low, singles, rtol=0, atol=1e-6)


def test_the_gradient_vanishes_at_eigenvectors_only():
    np.testing.assert_array_equal(PROBLEM.gradient(np.eye(3)), 0)
    g = PROBLEM.gradient(PROBLEM.x0)
    assert abs(g @ PROBLEM.x0) < 1e-15
    assert np.linalg.norm(g) > 0.1


@pytest.mark.parametrize("A", [np.ones(3), np.ones((2, 3)), np.triu(np.ones((3, 3))), np.nan])
def test_a_matrix_must_be_symmetric(A):
    with pytest.raises(ArgumentError, match="matrix"):
        Rayleigh(np.full((3, 3), A) if np.ndim(A) == 0 else A, PROBLEM.x0)


def test_the_start_must_be_a_unit_vector():
    with pytest.raises(NotOnManifoldError, match="x0"):
        Rayleigh(np.eye(3), np.ones(3))
