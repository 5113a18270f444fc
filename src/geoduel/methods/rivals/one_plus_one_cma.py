"""The (1+1)-CMA-ES of Igel, Suttorp and Hansen, its covariance carried in a transported frame."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...manifolds.base import Manifold
from ..descent.covariance import SUCCESS, CholeskyFactor, success_rule
from ..frame import Frame
from .base import Rival, furthest

__all__ = ["OnePlusOneCMA", "OnePlusOneCMAState"]


class OnePlusOneCMAState(NamedTuple):
    """State of OnePlusOneCMA."""

    frame: Frame
    sigma: float  # σ
    success: float  # p, the running share of successes
    factor: CholeskyFactor

    @property
    def point(self) -> Array:
        """The parent."""
        return self.frame.point

    @property
    def best(self) -> Array:
        """The parent: it never gets worse."""
        return self.frame.point


@dataclass(frozen=True)
class OnePlusOneCMA(Rival):
    """(1+1)-CMA-ES: one duel an iteration, and a covariance learned from the steps that won.

        repeat, in coordinates of a transported frame:
            y = Exp_x(σ A z), z ~ N(0, I);   p = (11 p + [y not worse])/12
            y not worse than x:  x = y, frame transported
                path = (1-c) path + √(c(2-c)) A z;   A Aᵀ = (1-c_1) A Aᵀ + c_1 path pathᵀ
            σ = σ exp((p - 2/11)/(1 - 2/11)/(1 + d/2))

    On a quadratic, the gap ends up falling as fast as on a sphere function.

    Parameters
    ----------
    initial_step : float, optional
        Expected length of the first step: σ is that over √d.
    domain : Domain, optional
        Feasible set: an infeasible point loses.

    References
    ----------
    Igel, Suttorp and Hansen, A computational efficient covariance matrix update and a (1+1)-CMA for
    evolution strategies, GECCO 2006, with its constants.

    Examples
    --------
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: x[0] ** 2 + 100 * x[1] ** 2)
    >>> result = gd.minimize(oracle, gd.Euclidean(2), np.ones(2), method="one-plus-one-cma",
    ...                      budget=400, rng=0)
    >>> bool(np.linalg.norm(result.x) < 1e-4)
    True
    """

    matrices: ClassVar[int] = 4

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> OnePlusOneCMAState:
        d = manifold.dim
        sigma = self.first_step(manifold) / math.sqrt(d)
        return OnePlusOneCMAState(Frame(x0, np.eye(d)), sigma, SUCCESS, CholeskyFactor.identity(d))

    def step(
        self, manifold: Manifold, state: OnePlusOneCMAState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, OnePlusOneCMAState]:
        frame, sigma, success, factor = state
        d = manifold.dim
        step = factor.A @ rng.standard_normal(d)
        answer = yield frame.at(manifold, sigma * step), frame.point
        won = answer <= 0
        success, grown = success_rule(success, bool(won), d)
        if won:
            frame, _ = frame.move(manifold, sigma * step)
            factor = factor.learn(step, success)
        return OnePlusOneCMAState(frame, min(grown * sigma, furthest(manifold)), success, factor)
