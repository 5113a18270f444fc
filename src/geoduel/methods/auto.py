"""Auto: the default method, without settings."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from .._numerics.arrays import Array
from .._support.check import nonnegative, positive_int
from ..errors import ArgumentError
from ..manifolds.base import Manifold
from .base import default_radius
from .descent.base import RankedMethod
from .descent.duel_csa import CSAState, DuelCSA
from .descent.duel_newton import DuelNewton, NewtonState
from .descent.first_step import Begin
from .descent.plateau import PlateauWalk, WalkState
from .frame import reach
from .restarts import LONGER, NEAR, Restarted, alike, elsewhere, joined, judged, scale_of
from .rounds import Rounds

__all__ = ["Auto"]

NEWTON = 2000  # most dimensions for DuelNewton: 1.5 ms a duel and 1 GB; both grow as d²
BOUNDED = 300  # the same in a domain: 2 ms a duel where most are projected; grows as d²
SAME = 30.0  # how far apart ends may be that are taken for one, in the dtype's resolution
PLATEAU = 20  # blocks of ties, more than of others, after which to walk in place of DuelNewton

Local: TypeAlias = NewtonState | CSAState | WalkState


@dataclass(frozen=True)
class Auto(RankedMethod):
    """The default: `DuelNewton`, and `DuelCSA` where its matrices would be too large.

        first step by doubling duels
        d <= 2000 (in a domain 300): blocks of DuelNewton; else, and in a domain that is known by a
        test alone, steps of DuelCSA
        where most duels of many blocks tie: a walk that moves by ties, too (PlateauWalk)
        where that has ended: once more from elsewhere, ``restarts`` times, or until no other
        minimum is to be expected; duels between the ends decide
        in turns from the best end, smoothed, and from elsewhere, not smoothed

    What is left of a budget is spent on plateaus and on other minima. The first run asks what it
    would ask without, until 20 more blocks have tied than not. Its end is returned, for the reason
    that it had, unless a later one beats it in a duel. A run that is about to end where the best
    one has ended is not finished. After seven runs to one minimum no other is expected
    (`geoduel.methods.restarts.Restarted.complete`).

    Several problems (leading axes of the start) are run at once, each as if alone; without a domain
    DuelNewton then works on all of them together.

    Parameters
    ----------
    domain, initial_step, x_tol, parallel, min_radius, ranking, smoothing
        As in `geoduel.DuelNewton`.
    restarts : int, math.inf or None
        Runs that begin when the one before has ended by ``x_tol`` or at the resolution of the
        dtype. A number: from random points, so many; with ``smoothing`` every other one from the
        best end, twice as smooth as the one before. ``math.inf``: until no other minimum is
        expected; from random points, on manifolds without end around the best one, and every other
        one smoothed once ends have differed. None, the default, is ``math.inf`` for one problem
        whose ``budget`` is given, without ``x_tol`` and ``min_radius``; else 0.

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

    restarts: float | None = None
    smoothing: float = 0.0

    version: ClassVar[int] = 11

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.restarts not in (None, math.inf):
            positive_int(self.restarts, "restarts", least=0)
        nonnegative(self.smoothing, "smoothing")

    def spending(self) -> Auto:
        """With restarts as a budget allows, unless their number is set or a run ends early."""
        ends_early = self.x_tol is not None or self.min_radius > 0
        return self if self.restarts is not None or ends_early else replace(self, restarts=math.inf)

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Begin:
        return self._method(manifold, self.smoothing).start(manifold, x0, rng)

    def step(
        self, manifold: Manifold, state: Begin | Local | Restarted, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Begin | Local | Restarted]:
        before = state if isinstance(state, Restarted) else None
        local = before.local if before else state
        if isinstance(local, WalkState):
            local = yield from PlateauWalk(self.domain).step(manifold, local, rng)
        else:
            local = yield from self._present(manifold, before).step(manifold, local, rng)
            local = self._walking(manifold, local)
        if before is None:
            if local.stop is None or not self.restarts or local.stop == "diverges":
                return local
            scale = scale_of(manifold, self.domain, local)
            ended = Restarted(local, local.best, scale, doubt=local.noise or 0.0)
            ended = ended._replace(reason=local.stop, distance=local.uncertainty)
        else:
            ended = before._replace(local=local)
            same = False
            if local.stop is None and self.restarts == math.inf and not self.min_radius:
                same, ended = yield from joined(manifold, ended, rng, self.domain)
            if local.stop is None and not same:
                return ended
            ended = yield from self._judged(manifold, ended, same, rng)
        if ended.run == self.restarts or (ended.complete and self.restarts == math.inf):
            return ended._replace(stop=ended.reason)
        return self._restarted(manifold, ended, rng)

    def _walking(self, manifold: Manifold, local: Begin | Local) -> Begin | Local:
        """A walk in place of DuelNewton on a plateau, if a budget is to be spent."""
        spends = self.restarts == math.inf and not self.min_radius  # its trials may be short
        if not spends or not isinstance(local, NewtonState):
            return local
        if local.noisy or local.ties.many < PLATEAU:
            return local
        longest = min(local.longest, reach(manifold, self.domain) / 2)
        return PlateauWalk(self.domain).start(manifold, local.best, longest)

    def _judged(
        self, manifold: Manifold, state: Restarted, same: bool, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Restarted]:
        """At the end of a run: the better of its end and the champion, by duels."""
        state = state._replace(alone=state.alone if state.smoothing else state.alone + 1)
        near = 2 * self.min_radius  # which nobody could tell
        if same or (near and manifold.dist(state.local.best, state.champion) < near):
            return state
        won, worse, state = yield from judged(state, state.local.uncertainty)
        if self.restarts != math.inf:
            return state
        best, others = state.champion, state.others
        near = max(SAME * default_radius(manifold, best), NEAR * (self.x_tol or 0.0))
        same = yield from alike(manifold, best, worse, near, rng, self.domain, state.doubt)
        new = all(float(manifold.dist(worse, x)) > near for x in others)
        if new and not (same or (state.smoothing and not won)):
            others = (*others, worse)
        return state._replace(others=others)

    def _restarted(
        self, manifold: Manifold, state: Restarted, rng: np.random.Generator
    ) -> Restarted:
        """The next run, before its first step."""
        run, x = state.run + 1, state.champion
        if self.restarts == math.inf:
            length = state.scale * 2.0 ** (state.alone % LONGER)
            turn = run % 2 == 0 and bool(state.others) and self._newton(manifold)
            smoothing = (self.smoothing or 1.0) if turn else 0.0
        else:
            length = 2 * (self.initial_step or 0.0) if self.smoothing else 0.0
            smoothing = 0.0 if run % 2 else self.smoothing * 2.0 ** (run // 2)
        if not smoothing:
            x = elsewhere(manifold, x, rng, length, self.domain)
        state = state._replace(run=run, smoothing=smoothing, length=length, asked=None)
        return state._replace(local=self._present(manifold, state).start(manifold, x, rng))

    def learns(self, manifold: Manifold) -> bool:
        return self._method(manifold).learns(manifold)

    def learn(self, manifold: Manifold, state: Any, a: Array, b: Array, answer: int) -> Any:
        restarted = isinstance(state, Restarted)
        local = state.local if restarted else state
        if not isinstance(local, WalkState):  # which has no use for other duels
            local = self._method(manifold).learn(manifold, local, a, b, answer)
        return state._replace(local=local) if restarted and local is not None else local

    def steps(
        self, manifold: Manifold, states: list[Any], rngs: list[np.random.Generator]
    ) -> Rounds:
        if self.restarts:
            return super().steps(manifold, states, rngs)
        return self._method(manifold, self.smoothing).steps(manifold, states, rngs)

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
        restarted = isinstance(state, Restarted)
        method = self._present(manifold, state if restarted else None)
        local = state.local if restarted else state
        if isinstance(local, WalkState):
            local = method.start(manifold, local.best, rng)
        else:
            local = method.again(manifold, local, rng, length)
        return state._replace(local=local, stop=None) if restarted else local

    def ended(self, state: Begin | Local | Restarted, reason: str) -> str:
        if isinstance(state, Restarted) and self.restarts == math.inf:
            return state.ended(reason)
        return reason

    def _present(self, manifold: Manifold, state: Restarted | None) -> Any:
        """The method of the present run, before it walks."""
        if state is None:
            return self._method(manifold, self.smoothing)
        if state.smoothing and self.restarts == math.inf:
            return replace(self, initial_step=state.length)._method(manifold, state.smoothing)
        return self._method(manifold, state.smoothing)

    def _method(self, manifold: Manifold, smoothing: float = 0.0) -> Any:
        """DuelNewton or DuelCSA, with these settings."""
        settings: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(RankedMethod)}
        if self._newton(manifold):
            return DuelNewton(**settings, smoothing=smoothing)
        if self.smoothing:
            most = NEWTON if self.domain is None else BOUNDED
            raise ArgumentError(
                f"smoothing needs a domain with nearest points and at most {most} dimensions, "
                f"got {self.smoothing} for {self.domain or manifold}"
            )
        return DuelCSA(**settings)

    def _newton(self, manifold: Manifold) -> bool:
        """Whether DuelNewton can do it."""
        if self.domain is None:
            return manifold.dim <= NEWTON
        return self.domain.has_nearest and manifold.dim <= BOUNDED
