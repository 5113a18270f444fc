"""Rayleigh quotient maximisation on the sphere: f(x) = -x'Ax/2 (the paper's first experiment)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..baselines import zo_rgd
from ..domains import Domain
from ..errors import TiesWarning
from ..optimize import History, minimize
from ..problems import Rayleigh
from ..schedules import constant, cosine
from .experiment import Experiment, Line

__all__ = ["RAYLEIGH", "duelled"]

RADIUS = 1e-8


def problem(size: int, seed: int) -> Rayleigh:
    """B with entries N(0, 1/d), A = (B + B')/2, start uniform on the sphere."""
    return Rayleigh.random(size, np.random.default_rng(3000 + seed))


def lines(size: int, quick: bool) -> list[Line]:
    """RDNGD with constant and cosine steps, the default method, and ZO-RGD, which sees values."""
    T = 5_000 if quick else 50_000
    return [
        duelled("RDNGD constant", "rdngd", T, step_size=constant(1e-2), radius=RADIUS),
        duelled("RDNGD cosine", "rdngd", T, step_size=cosine(1e-1, 1e-8), radius=RADIUS),
        duelled("default method", "auto", ties="skip", budget=2_000 if quick else 10_000),
        Line(
            "ZO-RGD",
            lambda p, rng: zo_rgd(p, iterations=T, smoothing=1e-6, rng=rng).history,
            {"iterations": T, "smoothing": 1e-6, "step_size": "1/(2dL)"},
            sees="values",
        ),
    ]


def duelled(
    label: str,
    method: str,
    iterations: int | None = None,
    domain: Callable[[Any], Domain] | None = None,
    ties: Literal["paper", "skip"] = "paper",
    **settings: Any,
) -> Line:
    """Return a line that runs a method of the package through duels alone."""

    def run(problem: Any, rng: np.random.Generator) -> History:
        with warnings.catch_warnings():  # the paper's radius gives ties near the optimum
            warnings.simplefilter("ignore", TiesWarning)
            return minimize(
                problem.oracle(),
                problem.manifold,
                problem.x0,
                method=method,
                iterations=iterations,
                rng=rng,
                monitor=problem.gap,
                ties=ties,
                domain=None if domain is None else domain(problem),
                **settings,
            ).history

    recorded = {"method": method, "iterations": iterations, "ties": ties, **settings}
    return Line(
        label, run, {k: v if isinstance(v, int | float) else str(v) for k, v in recorded.items()}
    )


RAYLEIGH = Experiment(
    "rayleigh", "Rayleigh quotient on the sphere", (100, 150), "d", problem, lines
)
