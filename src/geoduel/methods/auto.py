"""Auto: the default method, without settings."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from .._numerics.arrays import Array
from .._support.check import positive, positive_int
from ..errors import ArgumentError
from ..manifolds.base import Manifold
from .descent.base import RankedMethod
from .descent.doubt import beats
from .descent.duel_csa import CSAState, DuelCSA
from .descent.duel_newton import DuelNewton, NewtonState
from .descent.first_step import Begin
from .frame import reach
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
class Auto(RankedMethod):
    """The default: `DuelNewton`, and `DuelCSA` where its matrices would be too large.

        first step by doubling duels
        d <= 2000 (in a domain 300): blocks of DuelNewton; else, and in a domain that is known by a
        test alone, steps of DuelCSA
        where that has ended: once more from a random point, ``restarts`` times; duels between the
        ends decide
        with ``smoothing``: in turns from the best end, twice as smooth, and from a random point,
        not smoothed

    Several problems (leading axes of the start) are run at once, each as if alone; without a domain
    DuelNewton then works on all of them together.

    Parameters
    ----------
    domain, initial_step, x_tol, parallel, min_radius, ranking, smoothing
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
    smoothing: float = 0.0

    version: ClassVar[int] = 6

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.restarts:
            positive_int(self.restarts, "restarts")
        if self.smoothing:
            positive(self.smoothing, "smoothing")

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Begin:
        return self._method(manifold).start(manifold, x0, rng)

    def step(
        self, manifold: Manifold, state: Begin | Local | Restarted, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Begin | Local | Restarted]:
        champion, left, doubt, local = None, self.restarts, 0.0, state
        if isinstance(state, Restarted):
            local, champion, left, doubt, _ = state
        method = self._method(manifold, self.restarts - left)
        local = yield from method.step(manifold, local, rng)
        if local.stop is None or not self.restarts:
            return local if champion is None else Restarted(local, champion, left, doubt)

        doubt = max(doubt, local.noise or 0.0)
        if champion is None or (yield from beats(local.best, champion, doubt)) > 0:
            champion = local.best
        if not left:
            return Restarted(local, champion, 0, doubt, local.stop)
        method = self._method(manifold, self.restarts - left + 1)
        x = (
            champion
            if getattr(method, "smoothing", 0)
            else self._elsewhere(manifold, champion, rng)
        )
        return Restarted(method.start(manifold, x, rng), champion, left - 1, doubt)

    def _elsewhere(self, manifold: Manifold, x: Array, rng: np.random.Generator) -> Array:
        """A random point; on a manifold without end, of a scale that was given, about ``x``."""
        if self.smoothing and self.initial_step and math.isinf(reach(manifold, self.domain)):
            length = self.initial_step * math.sqrt(rng.chisquare(manifold.dim) / manifold.dim)
            y = manifold.exp(x, 2 * length * manifold.unit_tangent(rng, x))
        else:
            y = manifold.random_point(rng, like=x)
        return y if self.domain is None else self.domain.project(y)

    def learns(self, manifold: Manifold) -> bool:
        return self._method(manifold).learns(manifold)

    def learn(self, manifold: Manifold, state: Any, a: Array, b: Array, answer: int) -> Any:
        inner = self._method(manifold)
        if not isinstance(state, Restarted):
            return inner.learn(manifold, state, a, b, answer)
        local = inner.learn(manifold, state.local, a, b, answer)
        return None if local is None else state._replace(local=local)

    def steps(
        self, manifold: Manifold, states: list[Any], rngs: list[np.random.Generator]
    ) -> Rounds:
        if self.restarts:
            return super().steps(manifold, states, rngs)
        return self._method(manifold).steps(manifold, states, rngs)

    def at_scale(self, length: float) -> Auto:
        """The same for a problem whose scale is known: what it is smoothed over, if anything."""
        return replace(self, initial_step=length) if self.smoothing else self

    def again(
        self,
        manifold: Manifold,
        state: Begin | Local | Restarted,
        rng: np.random.Generator,
        length: float,
    ) -> Begin | Local | Restarted:
        if not isinstance(state, Restarted):
            return self._method(manifold).again(manifold, state, rng, length)
        method = self._method(manifold, self.restarts - state.left)
        return state._replace(local=method.again(manifold, state.local, rng, length), stop=None)

    def _method(self, manifold: Manifold, run: int = 0) -> Any:
        """The method of a run; that of the start is number 0."""
        most = NEWTON if self.domain is None else BOUNDED
        settings: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(RankedMethod)}
        near = self.domain is None or self.domain.has_nearest
        if near and manifold.dim <= most:
            smoothing = 0.0 if run % 2 else self.smoothing * 2.0 ** (run // 2)
            return DuelNewton(**settings, smoothing=smoothing)
        if self.smoothing:
            raise ArgumentError(
                f"smoothing needs a domain with nearest points and at most {most} dimensions, "
                f"got {self.smoothing} for {self.domain or manifold}"
            )
        return DuelCSA(**settings)
