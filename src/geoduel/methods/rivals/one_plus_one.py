"""The (1+1) evolution strategy with Rechenberg's 1/5 success rule."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...manifolds.base import Manifold
from ..frame import Frame
from .base import Rival, furthest

__all__ = ["OnePlusOne", "OnePlusOneState"]


class OnePlusOneState(NamedTuple):
    """State of OnePlusOne."""

    point: Array
    sigma: float  # σ

    @property
    def best(self) -> Array:
        """The parent: it never gets worse."""
        return self.point


@dataclass(frozen=True)
class OnePlusOne(Rival):
    """(1+1)-ES: a Gaussian step is taken if it wins; one in five should.

        repeat:
            y = Exp_x(σ z), z ~ N(0, I) in T_x M
            y not worse than x:  x = y,  σ = σ exp(1/√(d+1))
            else:                        σ = σ exp(-1/(4 √(d+1)))

    One duel an iteration. On sphere functions the gap falls by a constant factor each d duels.

    Parameters
    ----------
    initial_step : float, optional
        Expected length of the first step: σ is that over √d.
    domain : Domain, optional
        Feasible set: an infeasible point loses.

    References
    ----------
    Rechenberg, Evolutionsstrategie (1973); Kern et al., Learning probability distributions in
    continuous evolutionary algorithms: a comparative review, Natural Computing 3 (2004), for the
    constants.

    Examples
    --------
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: x @ x)
    >>> result = gd.minimize(oracle, gd.Euclidean(3), np.ones(3), method="one-plus-one",
    ...                      budget=300, rng=0)
    >>> bool(result.x @ result.x < 1e-6)
    True
    """

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> OnePlusOneState:
        return OnePlusOneState(x0, self.first_step(manifold) / math.sqrt(manifold.dim))

    def step(
        self, manifold: Manifold, state: OnePlusOneState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, OnePlusOneState]:
        x, sigma = state
        d = manifold.dim
        y = Frame(x, None).at(manifold, sigma * rng.standard_normal(d))
        answer = yield y, x
        if answer <= 0:
            return OnePlusOneState(
                y, min(sigma * math.exp(1 / math.sqrt(d + 1)), furthest(manifold))
            )
        return OnePlusOneState(x, sigma * math.exp(-0.25 / math.sqrt(d + 1)))
