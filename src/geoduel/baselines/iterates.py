"""What all baselines keep of their iterates: the best one, its gap, evaluations and time."""

from __future__ import annotations

import time
from typing import Any

from .._numerics.arrays import Array, expand, namespace
from .._support.check import instance
from .._support.progress import RECORDS
from ..problems.base import Problem
from ..result import History, Result

__all__ = ["Iterates", "started"]


def started(problem: Problem, x0: Any) -> Array:
    """The start of a run: the caller's, a point of the problem's manifold, or the problem's own."""
    instance(problem, "problem", Problem, "a Problem such as Rayleigh.random(10)")
    if x0 is None:
        return problem.x0
    x0 = problem.manifold.pack(x0, "x0")
    problem.manifold.check_point(x0, "x0")
    return x0


class Iterates:
    """Collects the iterates of one run and makes its `Result`.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    iterations : int
        Iterations planned; about a thousand of them are kept in the history.
    """

    def __init__(self, problem: Problem, iterations: int) -> None:
        self.problem = problem
        self.stride = -(-iterations // RECORDS)
        self.iteration = -1
        self.history = History()
        self.began = time.perf_counter()

    def add(self, x: Array, value: Any, evaluations: int) -> None:
        """Take the next iterate, its value, and the evaluations so far."""
        self.iteration += 1
        self.last, self.evaluations = x, evaluations
        if self.iteration == 0:
            self.best, self.value = x, value
        elif getattr(value, "ndim", 0) == 0:
            if value < self.value:
                self.best, self.value = x, value
        else:
            xp = namespace(value)
            better = value < self.value
            axes = len(self.problem.manifold.point_shape)
            self.best = xp.where(expand(better, axes), x, self.best)
            self.value = xp.where(better, value, self.value)
        if self.iteration % self.stride == 0:
            self._keep()

    def result(self, stop_reason: str) -> Result:
        """What the run found."""
        if self.history.iteration[-1] != self.iteration:
            self._keep()
        return Result(
            self.best,
            self.last,
            self.iteration,
            self.evaluations,
            0,
            self.iteration,
            stop_reason,
            time.perf_counter() - self.began,
            self.history,
        )

    def _keep(self) -> None:
        h = self.history
        h.iteration.append(self.iteration)
        h.duels.append(self.evaluations)
        h.seconds.append(time.perf_counter() - self.began)
        h.monitor.append(self.value - self.problem.optimal_value)
