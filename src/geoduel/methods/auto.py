"""Auto: the default method, without settings."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from .._numerics.arrays import Array
from .._support.check import positive_int
from ..manifolds.base import Manifold
from .descent.base import DescentMethod
from .descent.doubt import beats
from .descent.duel_csa import CSAState, DuelCSA
from .descent.duel_newton import DuelNewton, NewtonState
from .descent.first_step import Begin
from .rounds import Rounds

__all__ = ["Auto"]

NEWTON = 2000  # most dimensions for DuelNewton: 1.5 ms a duel and 1 GB; both grow as d²
BOUNDED = 300  # the same in a domain: 2 ms a duel where most are projected; grows as d²

Local: TypeAlias = NewtonState | CSAState


class Restarted(NamedTuple):
    """State of a run that was, or will be, started more than once."""

    local: Any
    champion: Array  # best end of the runs so far
    left: int  # restarts left
    doubt: float = 0.0  # largest flip rate at the end of a run: a short one may have seen none
    stop: str | None = None

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.local.point

    @property
    def best(self) -> Array:
        """The champion: the present run has met it in no duel."""
        return self.champion

    @property
    def noise(self) -> float | None:
        """Of the present run."""
        return self.local.noise

    @property
    def uncertainty(self) -> float | None:
        """Of the present run."""
        return self.local.uncertainty


@dataclass(frozen=True)
class Auto(DescentMethod):
    """The default: `DuelNewton`, and `DuelCSA` where its matrices would be too large.

        first step by doubling duels
        d <= 2000 (in a domain 300): blocks of DuelNewton; else, and in a domain that is known by a
        test alone, steps of DuelCSA
        where that has ended: once more from a random point, ``restarts`` times; duels between the
        ends decide

    Several problems (leading axes of the start) are run at once, each as if alone; without a domain
    DuelNewton then works on all of them together.

    Parameters
    ----------
    domain, initial_step, x_tol, parallel, min_radius
        As in `geoduel.DuelNewton`.
    restarts : int
        Runs from random points, each begun when the one before has ended by ``x_tol`` or at the
        resolution of the dtype; for functions with several minima.

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

    restarts: int = 0

    version: ClassVar[int] = 6

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.restarts:
            positive_int(self.restarts, "restarts")

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Begin:
        return self._method(manifold).start(manifold, x0, rng)

    def step(
        self, manifold: Manifold, state: Begin | Local | Restarted, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Begin | Local | Restarted]:
        champion, left, doubt, local = None, self.restarts, 0.0, state
        if isinstance(state, Restarted):
            local, champion, left, doubt, _ = state
        local = yield from self._method(manifold).step(manifold, local, rng)
        if local.stop is None or not self.restarts:
            return local if champion is None else Restarted(local, champion, left, doubt)

        doubt = max(doubt, local.noise or 0.0)
        if champion is None or (yield from beats(local.best, champion, doubt)) > 0:
            champion = local.best
        if not left:
            return Restarted(local, champion, 0, doubt, local.stop)
        x = manifold.random_point(rng, like=champion)
        x = x if self.domain is None else self.domain.project(x)
        return Restarted(self.start(manifold, x, rng), champion, left - 1, doubt)

    def steps(
        self, manifold: Manifold, states: list[Any], rngs: list[np.random.Generator]
    ) -> Rounds:
        if self.restarts:
            return super().steps(manifold, states, rngs)
        return self._method(manifold).steps(manifold, states, rngs)

    def again(
        self,
        manifold: Manifold,
        state: Begin | Local | Restarted,
        rng: np.random.Generator,
        length: float,
    ) -> Begin | Local | Restarted:
        method = self._method(manifold)
        if not isinstance(state, Restarted):
            return method.again(manifold, state, rng, length)
        return state._replace(local=method.again(manifold, state.local, rng, length), stop=None)

    def _method(self, manifold: Manifold) -> Any:
        most = NEWTON if self.domain is None else BOUNDED
        settings = {f.name: getattr(self, f.name) for f in fields(DescentMethod)}
        near = self.domain is None or self.domain.has_nearest
        return (DuelNewton if near and manifold.dim <= most else DuelCSA)(**settings)
