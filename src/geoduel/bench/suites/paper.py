"""The paper's problems, small enough for minutes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...problems import Karcher, Leveling, Problem, Rayleigh
from ..case import Case, Suite

__all__ = ["PAPER"]


def _case(problem: Problem, group: str, bounded: bool = False) -> Case:
    domain = problem.domain() if bounded else None
    return Case(
        problem.manifold, problem.objective, problem.x0, problem.optimal_value, group, domain
    )


def rayleigh(n: int, seed: int) -> Case:
    """The paper's section 5.1.1."""
    return _case(Rayleigh.random(n, np.random.default_rng([5, 1, seed])), "Rayleigh")


def karcher(n: int, bounded: bool, seed: int) -> Case:
    """The paper's sections 5.1.2 and 5.1.3."""
    problem = Karcher.random(n, m=20, rng=np.random.default_rng([5, 2, seed]))
    return _case(problem, "constrained Karcher" if bounded else "Karcher", bounded)


def horizon(seed: int) -> Case:
    """The paper's section 5.2.2, without photographs: the tilt itself."""
    tilt = float(np.random.default_rng([5, 5, seed]).uniform(-0.5, 0.5))
    return _case(Leveling(tilt), "horizon")


PROBLEMS: dict[str, Callable[[int], Case]] = {
    "rayleigh-20": partial(rayleigh, 20),
    "rayleigh-100": partial(rayleigh, 100),
    "karcher-3": partial(karcher, 3, False),
    "karcher-5": partial(karcher, 5, False),
    "karcher-3-interval": partial(karcher, 3, True),
    "horizon": horizon,
}

PAPER = Suite(
    "The paper's problems",
    PROBLEMS,
    budget=200,
    seeds=(0, 5),
    quick=("rayleigh-20", "karcher-3", "horizon"),
)
