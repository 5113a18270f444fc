"""The Rayleigh quotient: known values, one point and stacks."""

import numpy as np
import pytest

from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.problems import Rayleigh

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
