"""Yardsticks: the Karcher solver against reference values, descent methods against theory."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.baselines import frank_wolfe, rgd, zo_rgd
from geoduel.domains import Ball
from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.manifolds.spd import SPD
from geoduel.problems import Karcher, Quadratic, Rayleigh
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


# -- Karcher mean ----------------------------------------------------------------------------------


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


# -- gradient descent ------------------------------------------------------------------------------


def test_rgd_converges_at_the_rate_of_its_constant_step():
    """η = 1/L on an α-strongly convex f: the gap shrinks by 1 - α/L every step."""
    problem = Quadratic.random(6, 20.0, 10)
    result = rgd(problem, iterations=60, step_size=1 / problem.smoothness)
    gaps = np.array(result.history.monitor)
    assert np.all(gaps[1:] <= (1 - 1 / 20) * gaps[:-1])
    assert result.duels == 1 + 2 * 60
    assert result.history.iteration == list(range(61))


@pytest.mark.parametrize(
    "problem",
    [
        Rayleigh.random(10, 11),
        Karcher.random(3, m=5, condition=1e4, rng=12),
        Quadratic.random(4, 50.0, 13),
    ],
    ids=lambda p: type(p).__name__,
)
def test_rgd_with_armijo_reaches_the_optimum(problem):
    result = rgd(problem, iterations=2000, tolerance=1e-8)
    assert result.stop_reason == "gradient"
    x = result.x_last
    assert problem.manifold.norm(x, problem.gradient(x)) <= 1e-8
    problem.manifold.check_point(x)
    assert abs(problem.gap(result.x)) < 1e-12
    assert np.all(np.diff(result.history.monitor) <= 0)


def test_rgd_at_the_optimum_stays_there():
    problem = Quadratic.random(4, 50.0, 14)
    result = rgd(problem, iterations=10, x0=problem.optimum)
    assert (result.iterations, result.stop_reason) == (0, "gradient")


# -- zeroth order ----------------------------------------------------------------------------------


def test_zo_rgd_reaches_what_the_prototype_measured():
    """Rayleigh d = 100 with the paper's step: 6.5e-4 after 10,000 iterations, within a factor 3.

    Here at a tenth of the length, where the gap is still of the size of the spectrum; the full
    runs are the reproduction's.
    """
    problem = Rayleigh.random(20, np.random.default_rng(15))
    result = zo_rgd(problem, iterations=4000, rng=0)
    assert result.history.monitor[-1] < 1e-3 * problem.gap(problem.x0)
    assert result.duels == 2 * 4000 + 1
    assert len(result.history.iteration) == 1001
    problem.manifold.check_point(result.x)


@pytest.mark.parametrize("directions", [1, 4])
def test_zo_rgd_estimates_the_gradient(directions):
    """One step from x0 has the mean -η grad f: E[<g, u> u] = g for Gaussian u in any metric.

    On SPD, where a Gaussian of the ambient space would give another vector.
    """
    problem = Karcher.random(2, m=3, condition=1e2, rng=16)
    manifold, x, runs, step = problem.manifold, problem.x0, 4000, 1e-7
    x0 = np.broadcast_to(x, (runs, 2, 2))
    result = zo_rgd(
        problem,
        iterations=1,
        step_size=step,
        directions=directions,
        x0=x0,
        rng=np.random.default_rng(17),
    )
    moved = manifold.to_coords(x, manifold.log(x, result.x_last)) / -step
    expected = manifold.to_coords(x, problem.gradient(x))
    error = moved.std(axis=0) / math.sqrt(runs)
    assert np.all(abs(moved.mean(axis=0) - expected) < 5 * error)
    # Var g_i = (|g|² + g_i²)/m.
    variance = ((expected**2).sum() + expected**2) / directions
    np.testing.assert_allclose(moved.var(axis=0), variance, rtol=0.2)


def test_zo_rgd_runs_in_lock_step_record_each_gap():
    problem = Rayleigh.random(6, 18)
    x0 = problem.manifold.random_point(np.random.default_rng(19), (3,))
    result = zo_rgd(problem, iterations=300, x0=x0, rng=1)
    gaps = np.array(result.history.monitor)
    assert gaps.shape == (301, 3)
    assert np.all(np.diff(gaps, axis=0) <= 0)
    np.testing.assert_allclose(problem.gap(result.x), gaps[-1], rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"iterations": 0}, "iterations"),
        ({"step_size": -1.0}, "step_size"),
        ({"smoothing": 0.0}, "smoothing"),
        ({"directions": 0}, "directions"),
    ],
)
def test_wrong_zo_rgd_settings(settings, words):
    with pytest.raises(ArgumentError, match=words):
        zo_rgd(Rayleigh.random(4, 0), **({"iterations": 5} | settings))


# -- Frank-Wolfe -----------------------------------------------------------------------------------


def test_frank_wolfe_converges_like_one_over_k():
    """f(x_k) - f* <= 2 L diam²/(k+2) on a geodesically convex set, optimum inside."""
    problem = Karcher.random(2, m=4, condition=1e2, rng=20)
    domain = problem.domain()
    result = frank_wolfe(problem, iterations=60)
    k = np.arange(1, 61)
    bound = 2 * problem.smoothness_bound * float(domain.diameter) ** 2 / (k + 2)
    assert np.all(np.array(result.history.monitor)[1:] <= bound)
    assert bool(domain.contains(result.x))


def test_frank_wolfe_gap_certifies_a_boundary_optimum():
    """The unconstrained optimum is outside the ball; on R^n the constrained one is known."""
    problem = Quadratic(np.eye(3), np.array([3.0, 0.0, 4.0]), np.zeros(3))
    ball = Ball(problem.manifold, np.zeros(3), 1.0)
    result = frank_wolfe(problem, iterations=500, domain=ball, tolerance=0.05)
    assert result.stop_reason == "duality gap"
    excess = problem.objective(result.x_last) - 0.5 * 4.0**2
    assert 0 <= excess <= 0.05


def test_frank_wolfe_needs_a_domain():
    with pytest.raises(ArgumentError, match="Rayleigh has no domain of its own: give domain="):
        frank_wolfe(Rayleigh.random(3, 0), iterations=5)
