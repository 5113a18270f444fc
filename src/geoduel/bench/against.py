"""Two files of records compared, run by run: which methods became slower, beyond the noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .measures import split, usable

__all__ = ["TOLERATED", "Change", "changes"]

TOLERATED = 0.05
"""The loss that is not a failure: 5 % more duels."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """How a method's duels changed on a suite.

    Attributes
    ----------
    suite, method : str
        Which.
    ratio : float
        Duels now over duels then, a geometric mean over runs and targets.
    error : float
        Standard error of the logarithm of the ratio, over the runs.
    runs : int
        Runs that both have.
    worst : str
        The problem with the largest ratio, and that ratio.
    """

    suite: str
    method: str
    ratio: float
    error: float
    runs: int
    worst: str

    @property
    def failed(self) -> bool:
        """Whether duels grew by more than 5 %, and by more than twice the standard error."""
        return self.ratio > 1 + TOLERATED and math.log(self.ratio) > 2 * self.error


def changes(now: Iterable[Record], then: Iterable[Record]) -> list[Change]:
    """Compare the runs that two sets of records share.

    A target that was not reached counts as reached with twice the budget.

    Examples
    --------
    >>> old = {"suite": "s", "problem": "p", "seed": 0, "method": "m", "budget": 10, "d": 2,
    ...        "hits": [4, 8], "stop": "reached"}
    >>> [change] = changes([old | {"hits": [6, 12]}], [old])
    >>> round(change.ratio, 6), change.runs, change.failed
    (1.5, 1, False)
    """
    before = {_key(r): r for r in usable(then)}
    shared = [r for r in usable(now) if _key(r) in before]
    found = []
    for (suite, method), runs in split(shared, "suite", "method").items():
        logs = [float(np.mean(_log_duels(r) - _log_duels(before[_key(r)]))) for r in runs]
        problems: dict[str, list[float]] = {}
        for log, r in zip(logs, runs, strict=True):
            problems.setdefault(r["problem"], []).append(log)
        worst = max(problems, key=lambda name: float(np.mean(problems[name])))
        error = float(np.std(logs, ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
        found.append(
            Change(
                suite, method, math.exp(float(np.mean(logs))), error, len(logs),
                f"{worst}: {math.exp(float(np.mean(problems[worst]))):.2f}",
            )
        )  # fmt: skip
    return found


def _key(record: Record) -> tuple[Any, ...]:
    return tuple(record[k] for k in ("suite", "problem", "seed", "method", "budget"))


def _log_duels(record: Record) -> np.ndarray:
    never = 2 * record["budget"] * record["d"]
    return np.log([never if h is None else max(h, 1) for h in record["hits"]])
