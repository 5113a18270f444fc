"""The minibatch stochastic three points method of Boucherouite and others, and its duels."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import as_generator, function, positive, positive_int
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from .base import Rival
from .stp import STPState, three_points

__all__ = ["MinibatchDuels", "MinibatchSTP"]


class MinibatchDuels:
    """Oracle for f = (1/n) Σ f_i that compares sums over a random few of the n.

    The two duels of an iteration see the same minibatch.

    Parameters
    ----------
    losses : callable
        ``losses(x, which)`` gives the f_i(x) of the indices ``which``, an array.
    n : int
        How many there are.
    size : int
        Size of a minibatch.
    rng : int or numpy.random.Generator, optional
        Source of the minibatches.

    Examples
    --------
    >>> data = np.arange(10.0)
    >>> oracle = MinibatchDuels(lambda x, which: (x - data[which]) ** 2, n=10, size=3, rng=0)
    >>> oracle(np.zeros(()), np.array(4.5))
    1
    """

    def __init__(
        self, losses: Callable[[Array, np.ndarray], Array], n: int, size: int, rng: Any = None
    ) -> None:
        function(losses, "losses", "a point and rows", 2)
        self.losses, self.n = losses, positive_int(n, "n")
        self.size, self.rng = positive_int(size, "size"), as_generator(rng)
        if size > n:
            raise ArgumentError(f"size must be at most n = {n}, got {size}")
        self.asked = 0

    def __call__(self, x: Array, y: Array) -> int:
        """Answer one duel."""
        if self.asked % 2 == 0:
            self.which = self.rng.choice(self.n, self.size, replace=False)
        self.asked += 1
        fx, fy = (float(self.losses(p, self.which).sum()) for p in (x, y))
        return (fx > fy) - (fx < fy)


@dataclass(frozen=True)
class MinibatchSTP(Rival):
    """Stochastic three points with a constant step, for duels that see a minibatch each time.

        for k = 0, ..., K-1:
            s uniform on the unit sphere of T_x M;   B a minibatch
            x = the best by f_B of x, Exp_x(α s), Exp_x(-α s)

    Two duels an iteration; `MinibatchDuels` answers them. For convex f the gap after K iterations
    is O(d L R²/K), up to a logarithm and the deviation of f_B.

    Parameters
    ----------
    initial_step : float, optional
        α, a geodesic length. By default that of Theorem 2, α = εμ/(LR), with the ε that K
        iterations reach: R/(μK), where μ = √(2/(πd)) and R is ``distance``.
    domain : Domain, optional
        Feasible set: an infeasible point loses.
    distance : float, optional
        R, how far the optimum may be. By default the typical distance of the manifold.

    References
    ----------
    Boucherouite, Malinovsky, Richtarik and Bergou, Minibatch stochastic three points method for
    unconstrained smooth minimization, AAAI 2024, Algorithm 1 and Theorem 2.

    Examples
    --------
    >>> import geoduel as gd
    >>> data = np.random.default_rng(0).normal([1.0, 2.0], 0.1, (50, 2))
    >>> oracle = MinibatchDuels(lambda x, which: np.sum((x - data[which]) ** 2, 1), 50, 10, rng=0)
    >>> result = gd.minimize(oracle, gd.Euclidean(2), np.zeros(2), method="minibatch-stp",
    ...                      distance=3.0, budget=1000, rng=0)
    >>> bool(np.linalg.norm(result.x - [1.0, 2.0]) < 0.1)
    True
    """

    distance: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance is not None:
            positive(self.distance, "distance")

    def at_scale(self, length: float) -> Self:
        """For a problem of that scale, if it was given none: how far the optimum may be."""
        return self if self.initial_step or self.distance else replace(self, distance=length)

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Self, int | None]:
        super().plan(manifold, x0, iterations=iterations, budget=budget)
        if self.initial_step is not None:
            return self, iterations
        total = self.planned(iterations, budget, 2)
        mu = math.sqrt(2 / (math.pi * manifold.dim))
        step = (self.distance or manifold.typical_dist) / (mu * total)
        return replace(self, initial_step=step), iterations

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> STPState:
        return STPState(0, x0)

    def step(
        self, manifold: Manifold, state: STPState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, STPState]:
        k, x = state
        x = yield from three_points(manifold, x, self.first_step(manifold), rng)
        return STPState(k + 1, x)
