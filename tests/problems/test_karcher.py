"""The Karcher objective: how noisy it is, what it equals, where it is least."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.problems import Karcher
from geoduel.problems.karcher import random_spd

EPS = np.finfo(float).eps


def roughness(f, points):
    """Rounding noise of f, from second differences along a line; σ of each value."""
    values = [float(f(p)) for p in points]
    middle = values[len(values) // 2]
    return float(np.std(np.diff([v - middle for v in values], 2)) / math.sqrt(6))


def fine_line(problem, rng, distance):
    """Points 1e-8 apart on a geodesic at a distance from the optimum."""
    manifold = problem.manifold
    x = manifold.exp(problem.optimum, distance * manifold.unit_tangent(rng, problem.optimum))
    walk = manifold.geodesic(x, manifold.unit_tangent(rng, x))
    return [walk(1e-8 * k) for k in range(-60, 61)]


@pytest.mark.parametrize("n", [5, 10])
@pytest.mark.parametrize("distance", [0.0, 1e-3, 0.1])
def test_karcher_is_quiet_near_the_optimum(n, distance):
    """Condition 1e6, and the noise is below a unit in the last place of f, 1.4e-14."""
    problem = Karcher.random(n, rng=np.random.default_rng(11))
    noise = roughness(problem.objective, fine_line(problem, np.random.default_rng(12), distance))
    assert noise <= 1e-14


@pytest.mark.parametrize("n", [5, 10])
def test_karcher_is_quiet_with_log_uniform_eigenvalues(n):
    """Relative to f; eigenvalues of the product leave a hundred times as much."""
    rng = np.random.default_rng(13)
    problem = Karcher.random(n, eigenvalues="log-uniform", rng=rng)
    line = fine_line(problem, rng, 1e-3)
    assert roughness(problem.objective, line) <= 1e-15 * problem.optimal_value

    def naive(x):
        inverse_root = np.linalg.inv(np.linalg.cholesky(problem.matrices))
        values = np.linalg.eigvalsh(inverse_root @ x @ inverse_root.mT)
        return (np.log(values) ** 2).sum() / (2 * len(values))

    assert roughness(naive, line) > 1e-14 * problem.optimal_value


def test_karcher_is_half_the_mean_squared_distance():
    """Against the manifold's own distance, X well and badly conditioned."""
    rng = np.random.default_rng(14)
    problem = Karcher.random(4, m=7, condition=1e6, rng=rng)
    manifold = problem.manifold
    for x in (problem.x0, problem.optimum, problem.matrices[0], np.diag([1.0, 1e3, 1e-3, 1e5])):
        squares = manifold.dist(x, problem.matrices) ** 2
        assert problem.objective(x) == pytest.approx(squares.mean() / 2, rel=1e-10)


def test_karcher_survives_condition_1e12():
    """The products have condition 1e24, where their Cholesky factor does not exist any more."""
    rng = np.random.default_rng(15)
    problem = Karcher.random(4, m=5, condition=1e12, eigenvalues="log-uniform", rng=rng)
    x = random_spd(4, 1e12, "log-uniform", rng)
    squares = problem.manifold.dist(x, problem.matrices) ** 2
    assert problem.objective(x) == pytest.approx(squares.mean() / 2, rel=1e-4)
    assert problem.manifold.norm(problem.optimum, problem.gradient(problem.optimum)) < 1e-9


def test_karcher_reference_values(golden):
    for case in golden("karcher")["cases"]:
        problem = Karcher(np.array(case["inputs"]["A"]))
        expected = case["expected"]
        for value, key in (
            (problem.optimal_value, "f_star"),
            (problem.objective(problem.x0), "f_at_arithmetic_mean"),
        ):
            assert value == pytest.approx(expected[key]["value"], rel=expected[key]["rel_tol"])
        np.testing.assert_allclose(
            problem.x0, expected["arithmetic_mean"]["value"], rtol=0, atol=EPS
        )
        # The inverses lose as many digits as the condition number has.
        condition = np.linalg.cond(problem.matrices).max()
        harmonic = np.array(expected["harmonic_mean"]["value"])
        gap = problem.manifold.dist(problem.harmonic_mean, harmonic)
        assert gap < 64 * EPS * condition
        reference = expected["smoothness_bound_at_arithmetic_mean"]
        assert reference <= problem.smoothness_bound <= 1.05 * reference
        assert 1 <= problem.smoothness <= problem.smoothness_bound


def test_karcher_interval_holds_the_optimum():
    """Harmonic mean ⪯ Karcher mean ⪯ arithmetic mean."""
    problem = Karcher.random(4, m=6, rng=np.random.default_rng(16))
    domain = problem.domain()
    assert bool(domain.contains(problem.optimum))
    assert bool(domain.contains(problem.x0))
    for larger, smaller in (
        (problem.arithmetic_mean, problem.optimum),
        (problem.optimum, problem.harmonic_mean),
    ):
        assert np.linalg.eigvalsh(larger - smaller)[0] > -1e-15


def test_karcher_of_commuting_matrices_is_the_geometric_mean():
    """diag(e², 1) and I: diag(e, 1), where another package once found diag(4.19, ...)."""
    problem = Karcher(np.array([np.diag([math.e**2, 1.0]), np.eye(2)]))
    np.testing.assert_allclose(problem.optimum, np.diag([math.e, 1.0]), rtol=0, atol=1e-14)
    assert problem.optimal_value == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("law", ["uniform", "log-uniform", "toolbox"])
def test_random_spd_has_the_condition(law):
    rng = np.random.default_rng(17)
    for n in (2, 7):
        values = np.linalg.eigvalsh(random_spd(n, 1e4, law, rng))
        assert values[-1] == pytest.approx(1)
        assert values[0] == pytest.approx(1e-4, rel=1e-9)


@pytest.mark.parametrize(("law", "mean"), [("uniform", 0.5), ("log-uniform", (1 - 1e-6) / 13.8155)])
def test_random_spd_inner_eigenvalues(law, mean):
    """Mean of the eigenvalues between the ends: (1 + c)/2 and (1 - c)/log(1/c), c = 1e-6."""
    rng = np.random.default_rng(18)
    inner = np.concatenate(
        [np.linalg.eigvalsh(random_spd(12, 1e6, law, rng))[1:-1] for _ in range(200)]
    )
    assert abs(inner.mean() - mean) < 4 * inner.std() / math.sqrt(inner.size)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n": 1}, "n must be"),
        ({"condition": 1.0}, "condition must be > 1"),
        ({"condition": math.inf}, "condition must be a finite"),
        ({"eigenvalues": "gamma"}, "eigenvalues must be one of"),
        ({"m": 0}, "m must be"),
    ],
)
def test_wrong_random_karcher(settings, words):
    with pytest.raises(ArgumentError, match=words):
        Karcher.random(**({"n": 3, "rng": 0} | settings))


def test_wrong_matrices():
    with pytest.raises(ArgumentError, match="shape"):
        Karcher(np.eye(3))
    with pytest.raises(NotOnManifoldError, match="matrices"):
        Karcher(np.array([np.eye(2), np.diag([1.0, -1.0])]))
    with pytest.raises(NotOnManifoldError, match="x0"):
        Karcher(np.array([np.eye(2)]), -np.eye(2))
