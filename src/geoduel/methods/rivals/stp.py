"""The stochastic three points method of Bergou, Gorbunov and Richtarik."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...manifolds.base import Manifold
from ..base import default_step
from .base import Rival

__all__ = ["STP", "STPState", "three_points"]


class STPState(NamedTuple):
    """State of STP after k iterations."""

    k: int
    point: Array

    @property
    def best(self) -> Array:
        """The iterate: it never gets worse."""
        return self.point


def three_points(
    manifold: Manifold, x: Array, length: float, rng: np.random.Generator
) -> Generator[tuple[Array, Array], Any, Array]:
    """The best of x and the two ends of a random geodesic through it: two duels."""
    walk = manifold.random_geodesic(rng, x)
    ahead, behind = walk(length), walk(-length)
    y = behind if (yield ahead, behind) > 0 else ahead
    return y if (yield y, x) < 0 else x


@dataclass(frozen=True)
class STP(Rival):
    """Stochastic three points: the best of x and of a step to either side of it.

        for k = 0, 1, ...:
            s uniform on the unit sphere of T_x M;   α_k = α_0/√(k+1)
            x = the best of x, Exp_x(α_k s), Exp_x(-α_k s)

    Two duels an iteration. For smooth f, the least gradient of K iterations is O(√(d/K)).

    Parameters
    ----------
    initial_step : float, optional
        α_0, a geodesic length. By default `geoduel.methods.base.default_step`.
    domain : Domain, optional
        Feasible set: an infeasible point loses.

    References
    ----------
    Bergou, Gorbunov and Richtarik, Stochastic three points method for unconstrained smooth
    minimization, SIAM Journal on Optimization 30 (2020), Algorithm 1 and the decreasing steps of
    its section on nonconvex problems.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: -x[0])
    >>> result = gd.minimize(oracle, gd.Sphere(3), np.array([0.0, 1.0, 0.0]), method="stp",
    ...                      budget=600, rng=0)
    >>> bool(result.x[0] > 0.999)
    True
    """

    def first_step(self, manifold: Manifold) -> float:
        """α_0."""
        return self.initial_step or default_step(manifold)

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> STPState:
        return STPState(0, x0)

    def step(
        self, manifold: Manifold, state: STPState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, STPState]:
        k, x = state
        length = self.first_step(manifold) / math.sqrt(k + 1)
        return STPState(k + 1, (yield from three_points(manifold, x, length, rng)))
