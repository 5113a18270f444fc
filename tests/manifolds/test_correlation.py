"""Correlation matrices: known distances, what keeps them, and what is none."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, NotOnManifoldError


def pair(rho):
    return np.array([[1.0, rho], [rho, 1.0]])


@pytest.mark.parametrize("rho", [1e-12, 0.3, -0.9, 0.9999])
def test_two_variables_are_apart_by_fishers_z(rho):
    got = gd.Correlation(2).dist(np.eye(2), pair(rho))
    assert got == pytest.approx(abs(np.arctanh(rho)), rel=1e-11)


def test_rows_of_the_cholesky_factor_move_in_hyperbolic_spaces():
    """dist² is the sum of those of the points (1, y) / l of the rows (y, l)."""
    corr = gd.Correlation(4)
    x, y = corr.random_point(0, (2,))
    total = 0.0
    for k in range(1, 4):
        a, b = (np.linalg.cholesky(c)[k, : k + 1] for c in (x, y))
        a, b = (np.concatenate([[1.0], row[:-1]]) / row[-1] for row in (a, b))
        total += np.arccosh(a[0] * b[0] - a[1:] @ b[1:]) ** 2
    assert corr.dist(x, y) == pytest.approx(np.sqrt(total), rel=1e-10)


def test_the_velocity_is_the_derivative_of_the_geodesic():
    corr = gd.Correlation(3)
    x = corr.random_point(1)
    v, h = corr.unit_tangent(2, x), 1e-6
    slope = (corr.exp(x, h * v) - corr.exp(x, -h * v)) / (2 * h)
    np.testing.assert_allclose(slope, v, atol=1e-9)


def test_covariances_are_scaled():
    cov = np.array([[4.0, 1.0], [1.0, 9.0]])
    np.testing.assert_allclose(gd.Correlation(2).to_manifold(cov), pair(1 / 6))


def test_room_is_left_as_long_as_half_the_digits():
    corr = gd.Correlation(2)
    assert corr.room(np.eye(2)) == pytest.approx(np.log(2**52) / 4)
    assert corr.room(pair(np.tanh(20.0))) == 0


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (pair(1.5), "not positive definite"),
        (2 * np.eye(2), "distance of its diagonal from 1, is 1"),
        (np.array([[1.0, 0.1], [0.2, 1.0]]), "its asymmetry"),
    ],
)
def test_what_is_no_correlation_matrix_is_refused(x, words):
    with pytest.raises(NotOnManifoldError, match=words):
        gd.Correlation(2).check_point(x)


def test_bad_sizes_and_arrays_are_refused():
    with pytest.raises(ArgumentError, match="Correlation n must be an integer >= 2"):
        gd.Correlation(1)
    with pytest.raises(NotOnManifoldError, match="variance is not positive"):
        gd.Correlation(2).to_manifold([[0.0, 0.1], [0.1, 1.0]])
    with pytest.raises(NotOnManifoldError, match=r"to_manifold on .* not positive definite"):
        gd.Correlation(2).to_manifold(pair(2.0))


def test_the_default_finds_a_correlation_matrix():
    corr = gd.Correlation(3)
    goal = corr.random_point(3)
    oracle = gd.from_objective(lambda x: corr.dist(x, goal))
    result = gd.minimize(oracle, corr, np.eye(3), budget=300, rng=0)
    assert corr.dist(result.x, goal) < 1e-4
