"""What an experiment is, and how its runs are made, stored, tabled and drawn.

A run is one line of a figure on one seed. Runs are independent, so they go to worker processes;
what they return are plain arrays, kept whatever happens to the others.
"""

from __future__ import annotations

import csv
import json
import platform
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..optimize import History

__all__ = ["Experiment", "Line", "Run", "run_all", "summary", "write"]


@dataclass(frozen=True)
class Line:
    """One method of a figure.

    Attributes
    ----------
    label : str
        As in the legend.
    run : callable
        ``run(problem, rng)`` makes the run and returns its history, with the gap f - f* recorded.
    settings : dict
        What the run depends on, recorded beside the result.
    sees : {"duels", "values"}
        What the method is told. For "values" the history's ``duels`` count evaluations of f.
    """

    label: str
    run: Callable[[Any, np.random.Generator], History]
    settings: dict[str, Any] = field(default_factory=dict)
    sees: str = "duels"


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper.

    Attributes
    ----------
    name, title : str
        On the command line, and above the figure.
    sizes : tuple of int
        Sizes of the paper; the first is the one that runs by default.
    size_name : str
        How the paper calls the size, "d" or "n".
    problem : callable
        ``problem(size, seed)`` makes the problem.
    lines : callable
        ``lines(size, quick)`` are the methods of the figure; quick runs are a tenth as long.
    """

    name: str
    title: str
    sizes: tuple[int, ...]
    size_name: str
    problem: Callable[[int, int], Any]
    lines: Callable[[int, bool], Sequence[Line]]


@dataclass(frozen=True)
class Run:
    """One line on one seed, with what it recorded."""

    experiment: str
    size: int
    label: str
    sees: str
    seed: int
    settings: dict[str, Any]
    start_gap: float
    history: History

    @property
    def gap(self) -> np.ndarray:
        """Best value so far minus the optimum, at each record."""
        return np.asarray(self.history.monitor, dtype=float)


def run_one(experiment: Experiment, size: int, number: int, seed: int, quick: bool) -> Run:
    """Make one run; the seed fixes the problem and, apart from it, the method's directions."""
    problem = experiment.problem(size, seed)
    line = experiment.lines(size, quick)[number]
    rng = np.random.default_rng([seed, size, number])
    history = line.run(problem, rng)
    gap = float(problem.gap(problem.x0))
    return Run(experiment.name, size, line.label, line.sees, seed, line.settings, gap, history)


def run_all(
    jobs: Sequence[tuple[Experiment, int]], *, seeds: int, quick: bool, workers: int
) -> Iterator[Run]:
    """Yield the runs of all lines on all seeds as they finish.

    Parameters
    ----------
    jobs : sequence of (experiment, size)
        What to run.
    seeds : int
        Seeds 0, 1, ..., seeds - 1.
    quick : bool
        A tenth of the iterations.
    workers : int
        Processes.
    """
    tasks = [
        (experiment, size, number, seed, quick)
        for seed in range(seeds)
        for experiment, size in jobs
        for number in range(len(experiment.lines(size, quick)))
    ]
    if workers == 1:
        yield from (run_one(*task) for task in tasks)
        return
    # Spawned, since a fork would copy the progress bar's thread. Leaving the block, also by Ctrl-C,
    # terminates the workers, which therefore need not hear of it themselves.
    with get_context("spawn").Pool(workers, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        yield from pool.imap_unordered(_run_task, tasks)


def _run_task(task: tuple[Experiment, int, int, int, bool]) -> Run:
    return run_one(*task)


def summary(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One row a line: medians over seeds of duels, gaps at checkpoints and at the end, seconds."""
    rows = []
    for key in dict.fromkeys((r.experiment, r.size, r.label) for r in runs):
        group = [r for r in runs if (r.experiment, r.size, r.label) == key]
        last = min(r.history.iteration[-1] for r in group)
        gaps = {
            f"at {percent} %": float(
                np.median([r.gap[r.history.at(last * percent // 100)] for r in group])
            )
            for percent in (10, 50, 80, 100)
        }
        rows.append(
            {
                "experiment": key[0],
                "size": key[1],
                "method": key[2],
                "sees": group[0].sees,
                "seeds": len(group),
                "iterations": last,
                "duels": int(np.median([r.history.duels[-1] for r in group])),
                "start gap": float(np.median([r.start_gap for r in group])),
                **gaps,
                "seconds": float(np.median([r.history.seconds[-1] for r in group])),
            }
        )
    return rows


def write(runs: Sequence[Run], out: Path) -> list[Path]:
    """Write the summary (JSON) and every record (CSV); return the files."""
    records, table = out / "records.csv", out / "summary.json"
    with records.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["experiment", "size", "method", "seed", "iteration", "duels", "seconds", "gap"]
        )
        for r in runs:
            h = r.history
            for row in zip(h.iteration, h.duels, h.seconds, r.gap, strict=True):
                writer.writerow([r.experiment, r.size, r.label, r.seed, *row])
    document = {
        "geoduel": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "settings": {f"{r.experiment} {r.size} {r.label}": r.settings for r in runs},
        "summary": summary(runs),
    }
    table.write_text(json.dumps(document, indent=2) + "\n")
    return [records, table]
