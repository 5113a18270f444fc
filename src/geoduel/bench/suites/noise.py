"""Answers with errors: flips, near points told by chance, ties, and lapses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...manifolds.euclidean import Euclidean
from ...manifolds.sphere import Sphere
from ..case import SHARES, Case, Suite

__all__ = ["NOISE"]

KINDS: dict[str, dict[str, Any]] = {
    "flip-5": {"flip": 0.05},
    "flip-20": {"flip": 0.2},
    "flip-35": {"flip": 0.35},
    "logistic-1e-3": {"model": "bradley-terry", "scale": 1e-3},
    "logistic-1e-2": {"model": "bradley-terry", "scale": 1e-2},
    "logistic-0.3": {"model": "bradley-terry", "scale": 0.3},
    "jnd-1e-3": {"model": "thurstone", "scale": 1e-9, "ties": 1e-3},
    "jnd-1e-2": {"model": "thurstone", "scale": 1e-9, "ties": 1e-2},
    "jnd-0.1": {"model": "thurstone", "scale": 1e-9, "ties": 0.1},
    "lapse-10": {"lapse": 0.1},
}
"""Settings of `geoduel.Noisy`; sizes are shares of the first gap."""

TARGETS = SHARES[:12]


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([29, seed])


def bowl(condition: float, d: int, kind: str, seed: int) -> Case:
    """A quadratic of that condition."""
    rng = _rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    H, c = (Q * np.geomspace(1, condition, d)) @ Q.T, rng.uniform(-2, 2, d)

    def f(x: np.ndarray) -> float:
        return float((x - c) @ H @ (x - c)) / 2

    return _case(Euclidean(d), f, rng.uniform(-4, 4, d), kind)


def kinked(d: int, kind: str, seed: int) -> Case:
    """Σ|x_i| in turned coordinates."""
    rng = _rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    c = rng.uniform(-2, 2, d)
    return _case(
        Euclidean(d), lambda x: float(np.sum(abs(Q @ (x - c)))), rng.uniform(-4, 4, d), kind
    )


def direction(kind: str, seed: int) -> Case:
    """The squared distance on a sphere."""
    rng, manifold = _rng(seed), Sphere(5)
    goal, x0 = manifold.random_point(rng), manifold.random_point(rng)
    return _case(manifold, lambda x: float(manifold.dist(x, goal)) ** 2, x0, kind)


def _case(manifold: Any, f: Callable[[Any], float], x0: np.ndarray, kind: str) -> Case:
    return Case(manifold, f, x0, 0.0, kind, noise=KINDS[kind], targets=f(x0) * TARGETS)


PROBLEMS: dict[str, Callable[[int], Case]] = {
    f"{name}-{kind}": partial(make, kind)
    for kind in KINDS
    for name, make in {
        "bowl-2": partial(bowl, 1e2, 2),
        "bowl-10": partial(bowl, 1e2, 10),
        "kinked-5": partial(kinked, 5),
        "sphere-4": direction,
    }.items()
}

NOISE = Suite(
    "Answers with errors",
    PROBLEMS,
    budget=200,
    quick=("bowl-2-flip-20", "sphere-4-logistic-1e-2", "bowl-2-jnd-1e-2"),
)
