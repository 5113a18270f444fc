"""Descent along the gradient's direction, found by binary search, of Zhang and Li."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import positive
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..base import default_radius
from ..duels import duels
from ..frame import Frame
from .base import Rival

__all__ = ["ComparisonNGD", "NGDState", "direction"]


class NGDState(NamedTuple):
    """State of ComparisonNGD: the point with its coordinates, and the best iterate by duels."""

    frame: Frame
    best: Array

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.frame.point


def direction(
    manifold: Manifold, frame: Frame, radius: float, accuracy: float
) -> Generator[tuple[Array, Array], Any, np.ndarray]:
    """Unit vector within ``accuracy`` of the direction of the gradient (Comparison-GDE).

    A duel between Exp_x(r v) and x tells the sign of <g, v>. Its own duels find the sign of each
    g_i and the largest |g_i|; then a binary search each finds the ratio of g_i to that one.
    """

    def uphill(v: np.ndarray) -> Generator[tuple[Array, Array], Any, np.ndarray]:
        return (yield from duels(manifold, frame, radius * v, 0 * v)) > 0

    d = manifold.dim
    e = np.eye(d)
    sign = np.where((yield from uphill(e)), 1.0, -1.0)
    e = sign[:, None] * e  # now no partial derivative is negative
    top = 0
    for i in range(1, d):  # the largest, by a tournament
        if (yield from uphill((e[i] - e[top])[None] / math.sqrt(2)))[0]:
            top = i
    low, high = np.zeros(d), np.ones(d)
    low[top] = 1.0
    others = np.flatnonzero(np.arange(d) != top)
    for _ in range(math.ceil(math.log2(math.sqrt(d) / accuracy)) if d > 1 else 0):
        ratio = (low + high)[others] / 2
        v = (e[others] - ratio[:, None] * e[top]) / np.sqrt(1 + ratio[:, None] ** 2)
        above = yield from uphill(v)  # g_i > ratio g_top
        low[others] = np.where(above, ratio, low[others])
        high[others] = np.where(above, high[others], ratio)
    g = sign * (low + high) / 2
    return g / np.linalg.norm(g)


@dataclass(frozen=True)
class ComparisonNGD(Rival):
    """Normalised gradient descent with directions from comparisons, by binary search.

        for k = 0, ..., T-1, in coordinates of a transported frame:
            g within δ of grad f/|grad f|, by O(d log(d/δ)) duels
            x = Exp_x(-η g),   η = R √(2/T)
            the best iterate so far, by a duel

    For convex smooth f the best gap is O(L R²/T).

    Parameters
    ----------
    initial_step : float, optional
        η, a geodesic length, the same for all steps. By default R √(2/T).
    domain : Domain, optional
        Feasible set: infeasible points lose, and the iterates are projected.
    distance : float, optional
        R, how far the optimum may be. By default the typical distance of the manifold.
    accuracy : float
        δ.
    radius : float, optional
        r, a geodesic length; by default `geoduel.methods.base.default_radius`.

    References
    ----------
    Zhang and Li, Comparisons are all you need for optimizing smooth functions, arXiv:2405.11454
    (2024), Comparison-GDE and the normalised descent for convex f.

    Examples
    --------
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: x @ x)
    >>> result = gd.minimize(oracle, gd.Euclidean(3), np.ones(3), method="comparison-ngd",
    ...                      budget=4000, rng=0)
    >>> bool(result.x @ result.x < 0.1)
    True
    """

    distance: float | None = None
    accuracy: float = 1 / 6
    radius: float | None = None

    matrices: ClassVar[int] = 8
    one_set: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("distance", "radius"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name)
        if positive(self.accuracy, "accuracy") > 1:
            raise ArgumentError(f"accuracy must be at most 1, got {self.accuracy!r}")

    def at_scale(self, length: float) -> Self:
        """For a problem of that scale, if it was given none: how far the optimum may be."""
        return self if self.initial_step or self.distance else replace(self, distance=length)

    def duels_per_iteration(self, d: int) -> int:
        """Signs, the largest, the searches, and one for the incumbent."""
        searches = math.ceil(math.log2(math.sqrt(d) / self.accuracy)) if d > 1 else 0
        return d + (d - 1) * (1 + searches) + 1

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Self, int | None]:
        super().plan(manifold, x0, iterations=iterations, budget=budget)
        if self.initial_step is not None:
            return self, iterations
        total = self.planned(iterations, budget, self.duels_per_iteration(manifold.dim))
        step = (self.distance or manifold.typical_dist) * math.sqrt(2 / total)
        return replace(self, initial_step=step), iterations

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> NGDState:
        return NGDState(Frame(x0, np.eye(manifold.dim)), x0)

    def step(
        self, manifold: Manifold, state: NGDState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, NGDState]:
        frame, best = state
        r = self.radius or default_radius(manifold, frame.point)
        g = yield from direction(manifold, frame, r, self.accuracy)
        frame, _ = frame.move(manifold, -self.first_step(manifold) * g)
        frame, _, _ = frame.enter(manifold, self.domain)
        answer = yield frame.point, best
        return NGDState(frame, frame.point if answer < 0 else best)
