"""What the descent methods share: the first step as a setting, where to end, and what to return."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import positive, positive_int
from ...domains.base import Domain
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..base import DuelMethod, Method, default_radius
from ..duels import duels, mirrored_duels
from ..frame import Frame
from .noise import Noise

__all__ = [
    "DescentMethod",
    "RankedMethod",
    "asked_twice",
    "beyond_digits",
    "capped",
    "converged",
    "recommend",
    "stranded",
]


@dataclass(frozen=True)
class DescentMethod(DuelMethod):
    """A method that walks, from a first step whose length may be given.

    Parameters
    ----------
    domain, x_tol, parallel, min_radius, initial_step
        As in `geoduel.DuelNewton`.
    """

    initial_step: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.initial_step is not None:
            positive(self.initial_step, "initial_step")

    def without_start(self, manifold: Manifold, rng: np.random.Generator) -> tuple[Method, Array]:
        """A random start, anywhere in the domain."""
        return self, (self.domain or manifold).random_point(rng)


@dataclass(frozen=True)
class RankedMethod(DescentMethod):
    """A method that walks, and may ask for rankings.

    Parameters
    ----------
    domain, x_tol, parallel, min_radius, initial_step, ranking
        As in `geoduel.DuelNewton`.
    """

    ranking: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ranking is None:
            return
        positive_int(self.ranking, "ranking", least=3)
        if self.domain is not None:
            raise ArgumentError(
                f"ranking={self.ranking} is for runs without a domain, got {self.domain!r:.80}"
            )


def stranded(manifold: Manifold, frame: Frame, length: float) -> bool:
    """Whether steps of a length no longer fit between the point and the end of all points.

    That is the rim of an incomplete manifold, or where numbers of the dtype hold no more points.
    A descent that gets there with long steps, cut to a quarter of the way, had nothing to end at.
    """
    room = manifold.room(frame.point)
    if 20 * length > room and room < manifold.typical_dist / 4:
        return True
    if manifold.complete:
        return False
    rim = float(frame.extent(manifold, np.eye(min(manifold.dim, 64), manifold.dim)).min())
    return 20 * length > rim and rim < default_radius(manifold, frame.point)


def asked_twice(
    manifold: Manifold,
    frame: Frame,
    probes: np.ndarray,
    again: np.ndarray,
    noise: Noise,
    outside: np.ndarray | float,
    domain: Domain | None,
) -> Generator[tuple[Array, Array], Any, tuple[np.ndarray, Noise]]:
    """Answers to a mirrored duel along each probe; the second ones to some tell of the noise.

    Parameters
    ----------
    probes : ndarray of shape (m, d)
        Coordinates; a duel compares the ends of a probe and of its negative.
    again : ndarray of int
        Which are asked twice.
    outside : ndarray of shape (d,) or 0
        The middle of all pairs, in a domain; what is compared are the projections.
    """
    m, c = len(probes), np.concatenate([probes, probes[again]])
    if domain is None:
        s = yield from mirrored_duels(manifold, frame, c)
    else:
        s = yield from duels(manifold, frame, outside + c, outside - c, domain)
    return s[:m], noise.see(s[again], s[m:])


def capped(outside: np.ndarray, most: float) -> np.ndarray:
    """A vector shortened to a length."""
    return outside * min(1.0, most / max(1e-300, float(np.linalg.norm(outside))))


def recommend(
    manifold: Manifold, frame: Frame, to_mean: np.ndarray | None, domain: Domain | None
) -> Array:
    """The point to return: the base point, or the mean of recent ones, inside the domain.

    ``to_mean`` leads from the base point to the mean. No duel decides, so that one lucky answer
    cannot.
    """
    x = frame.point if to_mean is None or not to_mean.any() else frame.at(manifold, to_mean)
    return x if domain is None else domain.project(x)


def beyond_digits(manifold: Manifold, state: Any) -> str:
    """Why to stop where a metric or a step is beyond the dtype.

    Probes shorter than it resolves came there by shrinking: where a coordinate of the optimum is
    zero, duels tell points apart down to the least number. Along a sharp valley only those across
    it are as short, and the metric is singular. Probes longer than the first ones were led away.
    """
    shorter = state.size < max(default_radius(manifold, state.point), 1e-3 * state.longest)
    return "resolution" if shorter else "diverges"


def converged(
    manifold: Manifold, state: Any, x_tol: float | None, ties: float, probe: float
) -> str | None:
    """Why to stop: the wanted accuracy, the dtype's resolution, or no room for steps of any use."""
    if x_tol is not None and state.uncertainty is not None and state.uncertainty <= x_tol:
        return "x_tol"
    if stranded(manifold, state.frame, probe):
        return "diverges"
    if ties >= 0.5 and probe < default_radius(manifold, state.point):
        return "resolution"
    return None
