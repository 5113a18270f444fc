"""The Karcher mean against reference values, closed forms and invariances."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.manifolds.spd import SPD
from geoduel.problems.karcher import random_spd
from geoduel.problems.karcher_mean import karcher_mean, largest_curvature, whiten

EPS = np.finfo(float).eps
METHODS = ["newton", "richardson"]


def draw(n, m, condition, seed, law="log-uniform"):
    rng = np.random.default_rng(seed)
    return np.array([random_spd(n, condition, law, rng) for _ in range(m)])


def gradient_norm(matrices, x):
    """|Σ Log_X(A_i)|/m by the manifold, which shares nothing with the solver."""
    manifold = SPD(x.shape[-1])
    return float(manifold.norm(x, manifold.log(x, matrices).mean(axis=0)))


@pytest.mark.parametrize("method", METHODS)
def test_karcher_reference_values(golden, method):
    for case in golden("karcher")["cases"]:
        matrices, expected = np.array(case["inputs"]["A"]), case["expected"]
        found = karcher_mean(matrices, method=method)
        reference = np.array(expected["mean"]["value"])
        distance = float(SPD(case["n"]).dist(found.point, reference))
        assert distance <= expected["mean"]["dist_tol"], case["id"]
        assert found.converged
        assert found.residual < 1e-13
        f = expected["f_star"]
        assert found.value == pytest.approx(f["value"], rel=f["rel_tol"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("m", [2, 20])
def test_karcher_converges_at_condition_1e12(method, m):
    """Where a unit step diverges; a mean of two has the closed form A^½ (A^-½ B A^-½)^½ A^½."""
    matrices = draw(5, m, 1e12, 1)
    found = karcher_mean(matrices, method=method)
    assert found.converged
    assert found.residual < 1e-12
    if m == 2:
        manifold = SPD(5)
        half = manifold.exp(matrices[0], 0.5 * manifold.log(matrices[0], matrices[1]))
        assert manifold.dist(found.point, half) < 16 * EPS * 1e12


def test_karcher_of_a_hundred_large_matrices():
    """100 matrices 15 x 15 of condition 1e6, on which another package stopped at 0.065."""
    matrices = draw(15, 100, 1e6, 2)
    found = karcher_mean(matrices)
    assert found.converged
    assert found.iterations < 20
    assert gradient_norm(matrices, found.point) < 1e-8  # what the rounding of Log leaves


@pytest.mark.parametrize("size", [1e-150, 1e-4, 1e150])
def test_karcher_is_homogeneous_and_symmetric_to_the_last_bit(size):
    matrices = draw(4, 6, 1e3, 3)
    found, scaled = karcher_mean(matrices), karcher_mean(size * matrices)
    np.testing.assert_allclose(scaled.point / size, found.point, rtol=1e-10)
    np.testing.assert_array_equal(scaled.point, scaled.point.T)


def test_karcher_minimum_where_another_package_was_wrong():
    found = karcher_mean(np.array([np.diag([math.e**2, 1.0]), np.eye(2)]))
    np.testing.assert_allclose(found.point, np.diag([math.e, 1.0]), rtol=0, atol=4 * EPS)


def test_karcher_mean_is_invariant():
    """Congruence, inversion, order, and repetition as weights."""
    rng = np.random.default_rng(4)
    matrices = draw(3, 5, 1e2, 5)
    mean = karcher_mean(matrices).point
    g = rng.standard_normal((3, 3))
    np.testing.assert_allclose(
        karcher_mean(g @ matrices @ g.T).point, g @ mean @ g.T, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        np.linalg.inv(karcher_mean(np.linalg.inv(matrices)).point), mean, rtol=0, atol=1e-13
    )
    np.testing.assert_allclose(karcher_mean(matrices[::-1]).point, mean, rtol=0, atol=1e-14)
    repeated = np.concatenate([matrices, matrices[:1], matrices[:1]])
    weighted = karcher_mean(matrices, weights=np.array([3.0, 1, 1, 1, 1])).point
    np.testing.assert_allclose(karcher_mean(repeated).point, weighted, rtol=0, atol=1e-14)


def test_karcher_of_equal_and_of_single_matrices():
    a = random_spd(4, 1e4, rng=6)
    for m in (1, 3):
        found = karcher_mean(np.array([a] * m))
        assert found.residual < 1e-14
        np.testing.assert_allclose(found.point, a, rtol=0, atol=16 * EPS)
    assert karcher_mean(np.array([[[4.0]], [[9.0]]])).point == pytest.approx(6.0)


def test_karcher_says_so_when_it_did_not_converge():
    matrices = draw(5, 10, 1e6, 7)
    found = karcher_mean(matrices, iterations=1)
    assert not found.converged
    assert found.iterations == 1
    assert found.residual == pytest.approx(gradient_norm(matrices, found.point), rel=1e-6)
    assert found.residual > 1e-3


def test_karcher_stops_at_the_tolerance():
    matrices = draw(4, 10, 1e4, 8)
    loose, tight = (karcher_mean(matrices, tolerance=t, method="richardson") for t in (1e-2, 1e-8))
    assert loose.converged
    assert 1e-8 < loose.residual <= 1e-2
    assert loose.iterations < tight.iterations
    # 1-strongly convex: the distance is at most the residual.
    assert SPD(4).dist(loose.point, tight.point) <= loose.residual + tight.residual


def test_whitened_matrices_are_the_identity_and_graded():
    matrices = draw(5, 8, 1e6, 9)
    w = whiten(matrices)
    error = abs(w @ matrices @ w.mT - np.eye(5)).max()
    assert error < 64 * EPS * 1e6
    sizes = np.linalg.norm(w, axis=-1)
    assert np.all(np.diff(sizes, axis=1) <= 0)


def test_largest_curvature_of_two_matrices():
    """At their mean it is z coth z, 4z the widest difference of logarithms of A⁻¹B."""
    a, b = np.diag([1.0, 1.0, 1.0]), np.diag([1.0, math.e**2, math.e**6])
    middle = np.diag([1.0, math.e, math.e**3])
    z = 3 / 2
    assert largest_curvature(np.array([a, b]), middle) == pytest.approx(z / math.tanh(z))


@pytest.mark.parametrize(
    ("matrices", "error", "words"),
    [
        (np.eye(2), ArgumentError, r"shape \(m, n, n\), got \(2, 2\)"),
        (np.zeros((0, 2, 2)), ArgumentError, "shape"),
        (np.full((1, 2, 2), np.nan), ArgumentError, "not finite"),
        (np.array([np.eye(2), [[1, 1], [0, 1]]]), NotOnManifoldError, r"matrices\[1\].*symmetric"),
        (np.array([np.eye(2), np.diag([1, -2])]), NotOnManifoldError, r"\[1\].*eigenvalue is -2"),
        (np.array([np.eye(2), np.diag([1, 0])]), NotOnManifoldError, r"\[1\].*eigenvalue is 0"),
    ],
)
def test_wrong_matrices(matrices, error, words):
    with pytest.raises(error, match=words):
        karcher_mean(matrices)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"weights": np.ones(3)}, "weights must be 2 positive numbers"),
        ({"weights": np.array([1.0, 0.0])}, "weights must be 2 positive numbers"),
        ({"method": "gradient"}, "method must be one of"),
        ({"tolerance": 0.0}, "tolerance must be > 0"),
        ({"iterations": 0}, "iterations must be"),
    ],
)
def test_wrong_settings(settings, words):
    with pytest.raises(ArgumentError, match=words):
        karcher_mean(np.array([np.eye(2)] * 2), **settings)
