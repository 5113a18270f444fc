"""What a run returns: a `Result` with its `History`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._numerics.arrays import Array

__all__ = ["History", "Result"]


@dataclass
class History:
    """What a run recorded, thinned so that it never grows beyond a few thousand entries.

    Attributes
    ----------
    iteration, duels : list of int
        Iterations finished and duels asked (of one problem) at each record.
    seconds : list of float
        Wall-clock time since the start of the run.
    monitor : list
        What ``monitor(x)`` returned at each record; empty without a monitor.
    """

    iteration: list[int] = field(default_factory=list)
    duels: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    monitor: list[Any] = field(default_factory=list)

    def at(self, iteration: int) -> int:
        """Index of the last record at or before the iteration."""
        return max(i for i, k in enumerate(self.iteration) if k <= iteration)


@dataclass(frozen=True, repr=False)
class Result:
    """What a run found.

    Attributes
    ----------
    x : array of shape (..., *point_shape)
        Best point: what the method returns.
    x_last : array of shape (..., *point_shape)
        Last iterate.
    iterations : int
        Iterations finished.
    duels : int
        Duels asked, ties included. Of each problem, where leading axes hold several.
    ties : int
        Duels answered with a tie, over all problems.
    rounds : int
        How often the oracle was asked, one duel or a batch at once: what parallel duels save.
    stop_reason : str
        "iterations", "budget", "callback", "interrupted", or the method's own words: "x_tol",
        "resolution". "ties" after 200 of them in a row; "idle" where a thousand times in a row
        there was no duel to ask. "diverges" where nothing stopped the descent: x is the best point
        before the end of the manifold, or of what its dtype holds.
    seconds : float
        Wall-clock time.
    history : History
        Records along the way.
    noise : float or None
        Estimated probability that an answer is wrong, from duels asked twice; None if the method
        does not ask any.
    uncertainty : float or None
        Estimated distance of x to the optimum, a geodesic length, right to an order of magnitude;
        None if the method has no idea.
    """

    x: Array
    x_last: Array
    iterations: int
    duels: int
    ties: int
    rounds: int
    stop_reason: str
    seconds: float
    history: History = field(repr=False)
    noise: float | None = None
    uncertainty: float | None = None

    def __repr__(self) -> str:
        shape = tuple(self.x.shape)
        return (
            f"Result(x=array of shape {shape}, iterations={self.iterations}, duels={self.duels}, "
            f"ties={self.ties}, rounds={self.rounds}, stop_reason={self.stop_reason!r}, "
            f"seconds={self.seconds:.3g})"
        )
