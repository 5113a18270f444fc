"""Generated problems, and how many duels a method needs on them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import geoduel as gd
from geoduel.problems import Karcher, Quadratic


class Case(NamedTuple):
    """A problem whose duels, start and least value are known."""

    manifold: gd.Manifold
    objective: Any
    x0: np.ndarray
    least: float


def quadratic(seed: int, condition: float = 1e2) -> Case:
    problem = Quadratic.random(10, condition, seed)
    return Case(problem.manifold, problem.objective, problem.x0, 0.0)


def quartic(seed: int) -> Case:
    """f = Σ D_i p_i/2 + Σ p_i²/8 with p_i = (Qx)_i² on the sphere in R^8.

    Stationary on the simplex of p: D_i/2 + p_i/4 is one level where p_i > 0 (water filling).
    """
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((8, 8)))
    D = np.sort(rng.random(8))
    level = 0.0
    for k in range(1, 9):
        level = (0.5 + D[:k].sum()) / k
        if k == 8 or level < D[k]:
            break
    p = np.maximum(0, 2 * (level - D))

    def objective(x):
        q = (x @ Q.T) ** 2
        return 0.5 * (q @ D) + 0.125 * np.vecdot(q, q)

    x0 = rng.standard_normal(8)
    least = float(0.5 * D @ p + 0.125 * p @ p)
    return Case(gd.Sphere(8), objective, x0 / np.linalg.norm(x0), least)


def karcher(seed: int) -> Case:
    problem = Karcher.random(3, m=10, rng=seed)
    return Case(problem.manifold, problem.objective, problem.x0, problem.optimal_value)


def rotation(seed: int) -> Case:
    """f = -tr(W Tᵀ R)/2 in SO(3), W = diag(1, 2, 4): least where R = T, saddles at half turns."""
    manifold, rng = gd.Rotations(3), np.random.default_rng(seed)
    target, W = manifold.random_point(rng), np.diag([1.0, 2.0, 4.0])

    def objective(x):
        return -0.5 * np.sum((target @ W) * x, axis=(-2, -1))

    return Case(manifold, objective, manifold.random_point(rng), -3.5)


CASES = {"quadratic": quadratic, "quartic": quartic, "karcher": karcher, "rotation": rotation}


def duels_to(
    case: Case,
    method: str | gd.Method,
    seed: int,
    target: float = 1e-9,
    budget: int = 5000,
    **options,
) -> float:
    """Duels until f - f* is below the target share of its start; infinite if it never is."""
    first = case.objective(case.x0) - case.least

    def near(progress: gd.Progress) -> bool:
        return case.objective(progress.x) - case.least <= target * first

    oracle = options.pop("oracle", None) or gd.from_objective(case.objective, vectorized=True)
    result = gd.minimize(
        oracle,
        case.manifold,
        case.x0,
        method=method,
        budget=budget,
        rng=seed,
        callback=near,
        **options,
    )
    return result.duels if result.stop_reason == "callback" else math.inf


@pytest.fixture(scope="session")
def measure():
    """`duels_to`, for problems by name."""

    def measure(name, method, seed, **options):
        return duels_to(CASES[name](seed), method, seed, **options)

    return measure


@pytest.fixture(scope="session")
def cases():
    """The problems by name: functions of a seed."""
    return CASES
