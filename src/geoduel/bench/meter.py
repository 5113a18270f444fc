"""Duels and evaluations counted, and the accuracies noted when they are reached."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import numpy as np

from .._numerics.arrays import Array
from ..domains.feasibility import feasible_first
from ..domains.mixture import Mixture, is_mixed
from ..errors import BudgetExhaustedError
from ..methods.frame import within
from ..methods.rivals.base import furthest
from ..oracles.base import answers_of
from .case import Case

__all__ = ["Meter", "ReachedError"]


class ReachedError(Exception):
    """Every accuracy is reached: nothing is left to measure."""


class Meter:
    """What a solver sees of a case, and what is noted about it.

    Attributes
    ----------
    duels, evaluations : int
        Duels asked, and calls of f that they took.
    hits : list
        Duels after which each target was reached; None so far.
    best : float
        Least gap of a recommended point.
    """

    def __init__(self, case: Case, budget: int, rng: np.random.Generator) -> None:
        self.case, self.budget, self.rng = case, budget, rng
        self.duels = self.evaluations = 0
        self.best, self.last = math.inf, math.inf
        self.hits: list[int | None] = [None] * len(case.targets)
        self._next = 0
        self.oracle = case.oracle(self._count, rng.spawn(1)[0])
        self._answer = answers_of(self.oracle)
        self._axes = len(case.manifold.point_shape)
        self._parts = Mixture(case.manifold) if is_mixed(case.manifold) else None
        self._ground: Any = self._parts.continuous if self._parts else case.manifold

    def _count(self, x: Array) -> Any:
        self.evaluations += 1
        return self.case.objective(x)

    def recommend(self, x: Array, duels: int | None = None) -> bool:
        """Note the gap of the point that would be returned now; whether all targets are reached.

        Where answers have errors, a target has to be reached for good: a lucky visit is forgotten.
        """
        self.last = self.case.gap(x)
        self.best = min(self.best, self.last)
        duels = self.duels if duels is None else duels
        while self._next < len(self.hits) and self.last <= self.case.targets[self._next]:
            self.hits[self._next] = duels
            self._next += 1
        if self.case.noise:
            while self._next and self.last > self.case.targets[self._next - 1]:
                self._next -= 1
                self.hits[self._next] = None
            return False
        return self._next == len(self.hits)

    # -- for solvers that are no methods of the package --------------------------------------------

    def better(self, x: Array, y: Array) -> bool:
        """One duel: whether x is better than y. Ends the run by an exception with the budget."""
        return self.ask(x, y) < 0

    def ask(self, x: Array, y: Array) -> int:
        """One duel: -1 where x is better, +1 where y is, 0 for a tie."""
        if self.case.domain is None:
            return self._ask(x, y)
        return feasible_first(self.case.domain, x, y, self._axes, self._ask)

    def _ask(self, x: Array, y: Array) -> int:
        if self.duels >= self.budget:
            raise BudgetExhaustedError
        self.duels += 1
        return int(self._answer(x, y, self._axes))

    def settle(self, duels: Generator[tuple[Array, Array], Any, Any]) -> Any:
        """Answer a generator of duels, such as a ranking; what it returns."""
        answer = None
        try:
            while True:
                answer = self.ask(*duels.send(answer))
        except StopIteration as done:
            return done.value

    def returns(self, x: Array) -> None:
        """Recommend a point; ends the run by an exception once all targets are reached."""
        if self.recommend(x):
            raise ReachedError

    def point(self, c: np.ndarray) -> Array:
        """The point with normal coordinates ``c`` at the start, shape (dim,).

        Whole numbers come first: their coordinates are rounded, and what is beyond is the last one.
        """
        m, x0, c = self._ground, self.case.x0, np.clip(c, -1e100, 1e100)
        if self._parts is None:
            return m.exp(x0, m.from_coords(x0, within(c, furthest(m))))
        (x0, numbers), n = self._parts.split(x0), self.whole
        bounds = np.array([factor.bounds for factor in self._parts.factors]).T
        x = m.exp(x0, m.from_coords(x0, within(c[n:], furthest(m))))
        return self._parts.join(x, np.clip(np.round(numbers + c[:n]), *bounds))

    def another_start(self) -> np.ndarray:
        """Normal coordinates of a random start, for restarts."""
        m, x0 = self._ground, self.case.x0
        x = (
            self.case.draw(self.rng)
            if self.case.draw
            else self.case.manifold.random_point(self.rng)
        )
        if self._parts is None:
            return np.asarray(m.to_coords(x0, m.log(x0, x)))
        (x0, old), (x, new) = self._parts.split(x0), self._parts.split(x)
        return np.concatenate([new - old, np.asarray(m.to_coords(x0, m.log(x0, x)))])

    @property
    def whole(self) -> int:
        """How many of the coordinates are whole numbers."""
        return len(self._parts.factors) if self._parts else 0

    @property
    def sigma(self) -> float:
        """First standard deviation of a coordinate, for evolution strategies and their like."""
        step = self.case.step or self.case.manifold.typical_dist / 5
        return step / math.sqrt(self.case.dim)
