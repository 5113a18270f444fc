"""What the descent methods share: the first step as a setting, where to end, and what to return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import positive
from ...domains.base import Domain
from ...manifolds.base import Manifold
from ..base import DuelMethod, default_radius
from ..frame import Frame

__all__ = ["DescentMethod", "converged", "recommend"]


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


def recommend(
    manifold: Manifold, frame: Frame, to_mean: np.ndarray | None, domain: Domain | None
) -> Array:
    """The point to return: the base point, or the mean of recent ones, inside the domain.

    ``to_mean`` leads from the base point to the mean. No duel decides, so that one lucky answer
    cannot.
    """
    x = frame.point if to_mean is None or not to_mean.any() else frame.at(manifold, to_mean)
    if domain is not None and not bool(domain.contains(x)):
        x = domain.project(x)
    return x


def converged(
    manifold: Manifold, state: Any, x_tol: float | None, ties: float, probe: float
) -> str | None:
    """Why to stop: the wanted accuracy, or duels that tie at probes of the dtype's resolution."""
    if x_tol is not None and state.uncertainty is not None and state.uncertainty <= x_tol:
        return "x_tol"
    if ties >= 0.5 and probe < default_radius(manifold, state.point):
        return "resolution"
    return None
