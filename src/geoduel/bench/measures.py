"""What is drawn from records: expected duels, empirical distributions, areas, profiles.

As in COCO, a run and a target make a pair, and a pair is solved after so many duels a dimension.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "area",
    "areas",
    "digits",
    "distribution",
    "expected",
    "profiles",
    "share",
    "split",
    "usable",
]

Record = dict[str, Any]


def usable(records: Iterable[Record]) -> list[Record]:
    """Those whose method took the problem: a refusal is no failure."""
    return [r for r in records if not r["stop"].startswith("refused")]


def split(records: Iterable[Record], *keys: str) -> dict[Any, list[Record]]:
    """Records by the value of a key, or by tuples of several, in the order of appearance."""
    found: dict[Any, list[Record]] = {}
    for r in records:
        name = r[keys[0]] if len(keys) == 1 else tuple(r[k] for k in keys)
        found.setdefault(name, []).append(r)
    return found


def share(records: Sequence[Record]) -> float:
    """Share of the pairs of runs and targets that were solved."""
    return float(np.mean([h is not None for r in records for h in r["hits"]]))


def expected(records: Sequence[Record], k: int) -> float:
    """Expected duels to target k, were the method started again until it gets there.

    All duels of all runs, up to the target, over the number of runs that reach it.

    Examples
    --------
    >>> runs = [{"hits": [40], "duels": 90}, {"hits": [None], "duels": 100}]
    >>> expected(runs, 0)
    140.0
    """
    reached = sum(r["hits"][k] is not None for r in records)
    spent = sum(r["duels"] if r["hits"][k] is None else r["hits"][k] for r in records)
    return max(spent, 1) / reached if reached else math.inf


def distribution(records: Sequence[Record], duels: np.ndarray) -> np.ndarray:
    """Share of the pairs that are solved within so many duels a dimension."""
    hits = np.concatenate([_per_dimension(r) for r in records])
    return (hits[:, None] <= duels).mean(axis=0)


def area(records: Sequence[Record]) -> float:
    """Area under the distribution over the logarithm of duels a dimension, from 1 to the budget.

    1 is to solve all at once, 0 nothing.

    Examples
    --------
    >>> area([{"hits": [20, None], "d": 2, "budget": 100}])
    0.25
    """
    gained = [
        np.clip(1 - np.log10(np.maximum(_per_dimension(r), 1)) / _decades(r["budget"]), 0, 1)
        for r in records
    ]
    return float(np.mean(np.concatenate(gained)))


def _decades(budget: int) -> float:
    """Those from 1 to the budget; next to none where it is 1, so that what is solved counts."""
    return max(math.log10(budget), 1e-9)


def areas(runs: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Areas under the distributions, ``areas[group][method]``; "all" is the mean over groups."""
    found = {
        group: {m: area(each) for m, each in split(those, "method").items()}
        for group, those in split(usable(runs), "group").items()
    }
    methods = dict.fromkeys(m for row in found.values() for m in row)
    mean = {
        m: float(np.mean([row[m] for row in found.values()]))
        for m in methods
        if all(m in row for row in found.values())
    }
    return {**found, "all": mean}


def profiles(records: Iterable[Record], ratios: np.ndarray) -> dict[str, np.ndarray]:
    """Performance profiles of Dolan and Moré, by method.

    For each problem and target, the expected duels of a method over those of the best one; the
    share of them within each ratio. Only what all methods were run on, and what some one solves.
    """
    by_problem = split(usable(records), "suite", "problem")
    methods = list(dict.fromkeys(r["method"] for runs in by_problem.values() for r in runs))
    rows = []
    for runs in by_problem.values():
        each = split(runs, "method")
        if len(each) < len(methods):
            continue
        for k in range(len(runs[0]["hits"])):
            duels = np.array([expected(each[m], k) for m in methods])
            if np.isfinite(duels).any():
                rows.append(duels / duels.min())
    table = np.array(rows).reshape(-1, len(methods))
    return {
        m: (table[:, i, None] <= ratios).mean(axis=0) if len(table) else np.zeros(len(ratios))
        for i, m in enumerate(methods)
    }


def digits(records: Sequence[Record]) -> tuple[np.ndarray, np.ndarray]:
    """Targets, as shares of the first one, and the median duels a dimension to each."""
    targets = np.array(records[0]["targets"], dtype=float)
    hits = np.array([_per_dimension(r) for r in records])
    with np.errstate(invalid="ignore"):
        return targets / targets[0], np.median(hits, axis=0)


def _per_dimension(record: Record) -> np.ndarray:
    return np.array([math.inf if h is None else h / record["d"] for h in record["hits"]])
