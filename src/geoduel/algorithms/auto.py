"""Auto: the default method, without settings."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array
from ..manifolds.base import Manifold
from .base import DuelMethod
from .duel_csa import CSAState, DuelCSA
from .duel_newton import DuelNewton, NewtonState
from .first_step import Begin
from .rdngd import RDNGD

__all__ = ["Auto"]

NEWTON = 300  # most dimensions for DuelNewton: above, a fit costs more than a few ms a duel
HAND_OVER = 4.0  # widening of the probes above which DuelCSA goes on


@dataclass(frozen=True)
class Auto(DuelMethod):
    """The default: `DuelNewton`, and `DuelCSA` where that one does better.

        first step by doubling duels
        d <= 300: blocks of DuelNewton, until the answers need probes four times as long
        then, and for d > 300: steps of DuelCSA, which starts from the frame and metric learned

    Answers that are wrong at a constant rate stay with DuelNewton, whose fit allows for them; noise
    that grows as probes shrink (Bradley-Terry) is what makes the probes longer.

    Several problems at once (leading axes of the start) are run by `RDNGD` with its cosine step.

    Parameters
    ----------
    domain, initial_step, x_tol
        As in `geoduel.DuelNewton`.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> A = np.diag([1.0, 2.0, 3.0])
    >>> oracle = gd.from_objective(lambda x: -0.5 * x @ A @ x)
    >>> result = gd.minimize(oracle, gd.Sphere(3), budget=200, rng=0)
    >>> abs(result.x).round(6)
    array([0., 0., 1.])
    """

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Auto | RDNGD, int | None]:
        if x0.ndim > len(manifold.point_shape):
            return RDNGD(domain=self.domain).plan(
                manifold, x0, iterations=iterations, budget=budget
            )
        return super().plan(manifold, x0, iterations=iterations, budget=budget)

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Begin:
        return self._method(manifold, None).start(manifold, x0, rng)

    def step(
        self, manifold: Manifold, state: Begin | NewtonState | CSAState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Begin | NewtonState | CSAState]:
        state = yield from self._method(manifold, state).step(manifold, state, rng)
        if isinstance(state, NewtonState) and state.answering.widen > HAND_OVER:
            return DuelCSA.take_over(state)
        return state

    def _method(self, manifold: Manifold, state: Any) -> Any:
        settings = (self.domain, self.initial_step, self.x_tol)
        if manifold.dim > NEWTON or isinstance(state, CSAState):
            return DuelCSA(*settings)
        return DuelNewton(*settings)
