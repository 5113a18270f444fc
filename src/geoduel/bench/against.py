"""Two files of records compared, run by run: which methods became slower, beyond the noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .measures import split, usable

__all__ = ["TOLERATED", "Change", "changes", "copied"]

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

    A target that was not reached counts as reached with twice the budget. Runs of problems that
    have other targets by now are left out. So is a record that is in both sets to the last digit,
    its seconds included: that is one run and not two.

    Examples
    --------
    >>> old = {"suite": "s", "problem": "p", "seed": 0, "method": "m", "budget": 10, "d": 2,
    ...        "hits": [4, 8], "targets": [1.0, 0.1], "stop": "reached"}
    >>> [change] = changes([old | {"hits": [6, 12]}], [old])
    >>> round(change.ratio, 6), change.runs, change.failed
    (1.5, 1, False)
    """
    before = {_key(r): r for r in usable(then)}
    shared = [r for r in usable(now) if _comparable(r, before.get(_key(r)))]
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


def copied(now: Iterable[Record], then: Iterable[Record]) -> int:
    """How many records are in both sets to the last digit: one run and not two."""
    before = {_key(r): r for r in then}
    return sum(before.get(_key(r)) == r for r in now)


def _comparable(now: Record, then: Record | None) -> bool:
    """Whether both are runs of the same problem, and not one run."""
    return (
        then is not None
        and now != then
        and now["d"] == then["d"]
        and len(now["hits"]) == len(then["hits"])
        and np.allclose(_targets(now), _targets(then), rtol=1e-3, atol=0.0, equal_nan=True)
    )


def _targets(record: Record) -> np.ndarray:
    return np.array(record["targets"], dtype=float)


def _key(record: Record) -> tuple[Any, ...]:
    return tuple(record[k] for k in ("suite", "problem", "seed", "method", "budget"))


def _log_duels(record: Record) -> np.ndarray:
    never = 2 * record["budget"] * record["d"]
    return np.log([never if h is None else max(h, 1) for h in record["hits"]])
