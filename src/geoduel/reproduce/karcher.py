"""Karcher mean of SPD matrices, free and on an interval (second and third experiments)."""

from __future__ import annotations

import numpy as np

from ..baselines import zo_rgd
from ..domains import SPDInterval
from ..problems import Karcher
from ..schedules import constant, cosine
from .experiment import Experiment, Line
from .rayleigh import duelled

__all__ = ["KARCHER", "KARCHER_UNIFORM", "frank_wolfe_batch"]

RADIUS = 1e-8


def problem(size: int, seed: int, eigenvalues: str = "log-uniform") -> Karcher:
    """M = 50 matrices of condition 1e6; start: the arithmetic mean.

    The paper names the condition number and a toolbox, not the law of the eigenvalues, and the law
    decides: with uniform eigenvalues the interval [H, A] is so wide that RDFW hardly moves.
    """
    rng = np.random.default_rng(4000 + seed)
    return Karcher.random(size, m=50, condition=1e6, eigenvalues=eigenvalues, rng=rng)


def uniform(size: int, seed: int) -> Karcher:
    """The same with uniform eigenvalues."""
    return problem(size, seed, "uniform")


def frank_wolfe_batch(k: int) -> int:
    """M_k = ceil((k+1)/500), the paper's batch."""
    return -(-(k + 1) // 500)


def interval(problem: Karcher) -> SPDInterval:
    """Harmonic to arithmetic mean, with the published closed form for the linear minimiser.

    The closed form is not exact (see `SPDInterval`), but a direction from a few duels is far less
    so, and the exact minimiser costs a hundred times the duels.
    """
    return SPDInterval(problem.harmonic_mean, problem.arithmetic_mean, method="closed-form")


def lines(size: int, quick: bool) -> list[Line]:
    """RDNGD, RRDNGD with a practical phase length, RDFW on the interval, the default, ZO-RGD."""
    T = 500 if quick else 5_000
    phase = 20 * size  # the theorem's phase length is in the hundreds of thousands
    return [
        duelled("RDNGD constant", "rdngd", T, step_size=constant(1e-2), radius=RADIUS),
        duelled("RDNGD cosine", "rdngd", T, step_size=cosine(1e-1, 1e-6), radius=RADIUS),
        duelled("RRDNGD", "rrdngd", T, phase_length=phase, step_size=0.5, radius=RADIUS),
        duelled("RDFW on [H, A]", "rdfw", T, interval, batch=frank_wolfe_batch, radius=RADIUS),
        duelled("default method", "auto", ties="skip", budget=40 * size**2),
        Line(
            "ZO-RGD",
            lambda p, rng: (
                zo_rgd(
                    p,
                    iterations=T,
                    smoothing=1e-6,
                    step_size=1 / (20 * size * p.smoothness),
                    rng=rng,
                ).history
            ),
            {"iterations": T, "smoothing": 1e-6, "step_size": "1/(20nL)"},
            sees="values",
        ),
    ]


TITLE = "Karcher mean of 50 SPD matrices"
KARCHER = Experiment("karcher", TITLE, (5, 10), "n", problem, lines)
KARCHER_UNIFORM = Experiment(
    "karcher-uniform", f"{TITLE}, uniform eigenvalues", (5, 10), "n", uniform, lines
)
