"""LockStep: many problems at once, by any method that runs one."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._numerics.arrays import Array, host, namespace
from ..errors import NotOnManifoldError, OutOfRangeError
from ..manifolds.base import Manifold
from ..result import Each
from .base import IDLE, SOUND, TIES_IN_A_ROW, Method, are_sound
from .rounds import Failed, Round, renumbered

__all__ = ["LockStep", "LockStepState", "Tally", "in_lock_step_if_many"]


@dataclass(eq=False)
class Tally:
    """What has been asked for each of the problems; arrays of shape (n,).

    ``idle`` counts pairs and steps in a row without a duel, as for a problem that runs alone.
    """

    duels: np.ndarray
    ties: np.ndarray
    ties_in_a_row: np.ndarray
    idle: np.ndarray

    @classmethod
    def of(cls, n: int) -> Tally:
        """Nothing yet."""
        return cls(*(np.zeros(n, dtype=int) for _ in range(4)))

    def count(self, asked: np.ndarray, tied: np.ndarray) -> None:
        """Count pairs, arrays of bool of shape (k, *lead)."""
        n = len(self.duels)
        asked, tied = (np.reshape(a, (len(a), n)) for a in (asked, tied))
        asks, ties = asked.sum(axis=0), (asked & tied).sum(axis=0)
        self.duels += asks
        self.ties += ties
        self.ties_in_a_row = np.where(ties < asks, 0, self.ties_in_a_row + ties)
        self.idle[asks > 0] = 0


@dataclass(frozen=True, eq=False)
class LockStepState:
    """State of many runs.

    Attributes
    ----------
    x0 : array
        The starts.
    lead : tuple of int
        Leading axes of the problems; they are numbered along all of them.
    runs : tuple
        The state of each.
    rngs : tuple of numpy.random.Generator
        The source of randomness of each: what one does has no effect on the others.
    reasons : tuple of str or None
        Why each has stopped.
    tally : Tally
        What has been asked.
    k : int
        Steps so far.
    sound : tuple
        States that are known to be on the manifold.
    """

    x0: Array
    lead: tuple[int, ...]
    runs: tuple[Any, ...]
    rngs: tuple[np.random.Generator, ...]
    reasons: tuple[str | None, ...]
    tally: Tally
    k: int = 0
    sound: tuple[Any, ...] = ()

    @cached_property
    def point(self) -> Array:
        """The current iterates."""
        return self._stack([run.point for run in self.runs])

    @cached_property
    def best(self) -> Array:
        """The points the runs would return now."""
        return self._stack([run.best for run in self.runs])

    def _stack(self, points: list[Array]) -> Array:
        if not points:
            return self.x0
        xp = namespace(points[0])
        return xp.reshape(xp.stack(points), (*self.lead, *points[0].shape))


@dataclass(frozen=True)
class LockStep(Method):
    """One run for each of many problems, whose duels are asked together.

    The leading axes of the start hold the problems. Each has a run of its own, with the random
    numbers of one of ``rng.spawn(n)``. It does what it would do alone, ends for its own reason, and
    is not asked about any more. Where the method can take steps of many problems at once
    (`Method.steps`), that is so up to rounding.

    Parameters
    ----------
    method : Method
        A method that runs one problem.
    budget : int, optional
        Most duels of each problem.
    """

    method: Method
    budget: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("domain", "parallel", "x_tol", "version", "feasible_first", "projects"):
            object.__setattr__(self, name, getattr(self.method, name))

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[LockStep, int | None]:
        """What one of the problems would plan."""
        one = _points(manifold, x0)
        one = one[0, ...] if len(one) else manifold.random_point(np.random.default_rng(0), like=x0)
        method, iterations = self.method.plan(manifold, one, iterations=iterations, budget=budget)
        return replace(self, method=method, budget=budget), iterations

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> LockStepState:
        points = _points(manifold, x0)
        n = len(points)
        rngs = tuple(rng.spawn(n))
        runs = tuple(self.method.start(manifold, points[i, ...], rngs[i]) for i in range(n))
        lead = tuple(x0.shape[: x0.ndim - len(manifold.point_shape)])
        return LockStepState(x0, lead, runs, rngs, (None,) * n, Tally.of(n), sound=runs)

    def step(
        self, manifold: Manifold, state: LockStepState, rng: np.random.Generator
    ) -> Generator[Any, Any, LockStepState]:
        """One iteration of every problem that has not ended."""
        tally, lost = state.tally, set[int]()
        going = [j for j, reason in enumerate(state.reasons) if reason is None]
        rounds = self.method.steps(
            manifold, [state.runs[j] for j in going], [state.rngs[j] for j in going]
        )
        rounds, answer = renumbered(rounds, going), None
        while True:
            try:
                new = rounds.send(answer)
            except StopIteration as end:
                ends = end.value
                break
            answer = yield from self._served(state, new, lost)

        runs, reasons = list(state.runs), list(state.reasons)
        tally.idle[going] += 1
        for j, run in zip(going, ends, strict=True):
            if isinstance(run, Failed) and not self._lost(manifold, run, runs[j]):
                raise run.error
            if isinstance(run, Failed) or j in lost:
                runs[j], reasons[j] = state.sound[j], "diverges"
                continue
            if run is None:
                reasons[j] = "idle" if tally.idle[j] > IDLE else "budget"
                continue
            runs[j] = run
            reasons[j] = self.method.stop_reason(run)
            if reasons[j] is None and tally.ties_in_a_row[j] >= TIES_IN_A_ROW:
                reasons[j] = "ties"
            if reasons[j] is None and tally.idle[j] > IDLE:
                reasons[j] = "idle"
        new = replace(state, runs=tuple(runs), reasons=tuple(reasons), k=state.k + 1)
        return self._checked(manifold, new) if new.k % SOUND == 0 else new

    def settled(self, manifold: Manifold, state: LockStepState, reason: str) -> LockStepState:
        """The state at the end of a run, with its reason for the problems that have none."""
        reasons = tuple(reason if own is None else own for own in state.reasons)
        return self._checked(manifold, replace(state, reasons=reasons))

    def _checked(self, manifold: Manifold, state: LockStepState) -> LockStepState:
        """Runs that have left the manifold are set back, and have ended."""
        if are_sound(manifold, state.point, state.best):
            return replace(state, sound=state.runs)
        runs, reasons = list(state.runs), list(state.reasons)
        for j, run in enumerate(runs):
            if not are_sound(manifold, run.point, run.best):
                runs[j], reasons[j] = state.sound[j], "diverges"
        return replace(state, runs=tuple(runs), reasons=tuple(reasons), sound=tuple(runs))

    def each(self, state: LockStepState) -> Each:
        """What is known of each problem."""
        method, tally = self.method, state.tally
        arrays = [
            tally.duels,
            tally.ties,
            np.array([str(reason) for reason in state.reasons]),
            np.array([method.noise(run) for run in state.runs], dtype=float),
            np.array([method.uncertainty(run) for run in state.runs], dtype=float),
        ]
        return Each(*(np.reshape(a, state.lead) for a in arrays))

    def _served(
        self, state: LockStepState, new: Round, lost: set[int]
    ) -> Generator[tuple[Array, Array, np.ndarray], Array, tuple[Array, np.ndarray]]:
        """Ask a round within the budgets, as pairs of all problems.

        Those of which the domain has decided `IDLE` pairs in a row are not asked about any more.
        Problems that ask about what is no point are ``lost``, and take none of the others along.
        """
        who, x, y, asked = new
        xp, tally = namespace(x), state.tally
        axes = (0, *range(2, x.ndim))
        served = finite = host(xp.all(xp.isfinite(x) & xp.isfinite(y), axis=axes))
        lost.update(who[~finite].tolist())
        if self.budget is not None:
            served = finite & (tally.duels[who] + asked.sum(axis=0) <= self.budget)
        tally.idle[who] += 1
        served = served & (tally.idle[who] <= IDLE)
        if not served.any():
            return np.zeros(asked.shape), served
        n, lead, k = len(state.runs), state.lead, len(x)
        all_asked = np.zeros((k, n), dtype=bool)
        all_asked[:, who] = asked & served
        whole = np.flatnonzero(finite)
        if len(whole) < n:
            points = xp.reshape(state.x0, (n, *x.shape[2:]))
            x, y = (_among(points, who[whole], a[:, whole, ...]) for a in (x, y))
        x, y = (xp.reshape(a, (k, *lead, *a.shape[2:])) for a in (x, y))
        answer = yield x, y, np.reshape(all_asked, (k, *lead))
        return namespace(answer).reshape(answer, (k, n))[:, who], served

    def _lost(self, manifold: Manifold, failed: Failed, run: Any) -> bool:
        """Whether a step has failed since its points are none."""
        if isinstance(failed.error, OutOfRangeError | NotOnManifoldError):
            return True
        return not are_sound(manifold, run.point, *(failed.pair or ()))

    def stop_reason(self, state: LockStepState) -> str | None:
        """That of all problems, once all have one; "mixed" where they differ."""
        if None in state.reasons:
            return None
        return _common(state.reasons)

    def noise(self, state: LockStepState) -> float | None:
        """The mean over the problems, where it is known."""
        known = [p for p in map(self.method.noise, state.runs) if p is not None]
        return float(np.mean(known)) if known else None

    def uncertainty(self, state: LockStepState) -> float | None:
        """The largest one; None where one of them is not known."""
        each = [self.method.uncertainty(run) for run in state.runs]
        return max(each, default=None) if None not in each else None  # type: ignore[type-var]


def _common(reasons: tuple[str | None, ...]) -> str:
    """The reason of all; "mixed" if they differ."""
    found = set(reasons)
    return str(found.pop()) if len(found) == 1 else "mixed" if found else "idle"


def in_lock_step_if_many(method: Method, manifold: Manifold, x0: Array) -> Method:
    """The method; where it runs one problem and there are several, in lock step."""
    return LockStep(method) if method.single and x0.ndim > len(manifold.point_shape) else method


def _points(manifold: Manifold, x: Array) -> Array:
    """Points along one leading axis."""
    lead = x.shape[: x.ndim - len(manifold.point_shape)]
    return namespace(x).reshape(x, (math.prod(lead), *manifold.point_shape))


def _among(points: Array, who: np.ndarray, x: Array) -> Array:
    """All points, k times, with those of some problems replaced by ``x``."""
    xp = namespace(points)
    every = xp.stack([points] * len(x))
    every[:, who, ...] = x
    return every
