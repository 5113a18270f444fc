"""What an experiment is: tasks that run anywhere and are kept, and the section they end in.

A task is plain JSON and independent of the others, so that tasks go to worker processes, are cached
by their content and resume after an interruption. What they return is plain JSON as well; figures
and tables are made from it afterwards, in the report's process.
"""

from __future__ import annotations

import platform
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.pools import deaf_to_interrupts, ended_by_interrupts
from .._version import __version__
from .cache import Cache, key

if TYPE_CHECKING:
    from .report import Section

__all__ = ["Experiment", "Outcome", "Plan", "Task", "evenly", "run_all", "versions"]


@dataclass(frozen=True)
class Plan:
    """What is asked of the experiments.

    Attributes
    ----------
    quick : bool
        A tenth of the iterations.
    seeds : int
        Seeds 0, 1, ..., seeds - 1 of each line. A 90 % interval of a median takes five.
    all_sizes : bool
        All of the paper's sizes, or the first.
    photos : Path or None
        Folder of photos for the horizon; by default seascapes are made.
    attack_data : Path or None
        Folder with the attack's pictures and network.
    """

    quick: bool = False
    seeds: int = 5
    all_sizes: bool = False
    photos: Path | None = None
    attack_data: Path | None = None


@dataclass(frozen=True)
class Task:
    """One piece of an experiment.

    Attributes
    ----------
    label : str
        For the progress bar.
    settings : dict
        JSON values, everything that the result depends on.
    turn : int
        Tasks of earlier turns of all experiments run first, so that an interrupted run has one
        seed of everything before two of anything.
    """

    label: str
    settings: dict[str, Any]
    turn: int = 0


@dataclass(frozen=True)
class Outcome:
    """A finished task.

    Attributes
    ----------
    experiment : str
        Name.
    task : Task
        What was asked.
    record : dict
        What `Experiment.run` returned.
    about : dict
        Versions, date, CPU seconds of the task; ``cached`` if it was found and not run.
    """

    experiment: str
    task: Task
    record: dict[str, Any]
    about: dict[str, Any] = field(default_factory=dict)


class Experiment(ABC):
    """One experiment of the paper.

    Attributes
    ----------
    name, title : str
        On the command line, and above its section.
    version : int
        Raised when the code changes what a task returns; cached results of others are not used.
    """

    name: str
    title: str
    version: int = 1

    @abstractmethod
    def tasks(self, plan: Plan) -> list[Task]:
        """What is to be run, long tasks first where their lengths differ much."""

    @abstractmethod
    def run(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Run one task, in any process; the settings fix the result but for the times."""

    @abstractmethod
    def section(self, plan: Plan, outcomes: Sequence[Outcome]) -> Section:
        """Figures, tables and claims from what was run, which may be only a part of the tasks."""


def evenly(length: int, most: int) -> list[int]:
    """At most so many indices of a list, evenly spread, the first and the last among them.

    Examples
    --------
    >>> evenly(5, 3), evenly(2, 3)
    ([0, 2, 4], [0, 1])
    """
    return np.unique(np.linspace(0, length - 1, most).round().astype(int)).tolist()


def versions() -> dict[str, str]:
    """What the results may depend on besides the settings."""
    return {
        "geoduel": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def run_all(
    jobs: Sequence[tuple[Experiment, Task]], cache: Cache, *, workers: int = 1
) -> Iterator[Outcome]:
    """Yield what the tasks return, the cached ones first, the others as they finish.

    Parameters
    ----------
    jobs : sequence of (experiment, task)
        What to run; earlier turns go first.
    cache : Cache
        Where results are looked up, and stored as soon as they are there.
    workers : int
        Processes.
    """
    open_jobs = []
    for experiment, task in sorted(jobs, key=lambda job: job[1].turn):
        name = key(experiment.name, experiment.version, task.settings)
        found = cache.load(name)
        if found is None:
            open_jobs.append((experiment, task, name))
        else:
            about = {**found.get("about", {}), "cached": True}
            yield Outcome(experiment.name, task, found["record"], about)
    for name, outcome in _run(open_jobs, min(workers, len(open_jobs))):
        stored = {"settings": outcome.task.settings, "record": outcome.record}
        cache.save(name, {**stored, "about": outcome.about})
        yield outcome


Job = tuple[Experiment, Task, str]


def _run(jobs: Sequence[Job], workers: int) -> Iterator[tuple[str, Outcome]]:
    if workers <= 1:
        yield from map(_run_one, jobs)
        return
    # Spawned, since a fork would copy the progress bar's thread. Leaving the block, also by Ctrl-C,
    # terminates the workers, which therefore need not hear of it themselves.
    with deaf_to_interrupts():
        pool = get_context("spawn").Pool(workers, signal.signal, (signal.SIGINT, signal.SIG_IGN))
    with pool:
        yield from pool.imap_unordered(_run_one, jobs)


def _run_one(job: Job) -> tuple[str, Outcome]:
    experiment, task, name = job
    wall, cpu = time.perf_counter(), time.process_time()
    with ended_by_interrupts():
        record = experiment.run(task.settings)
    about = {
        **versions(),
        "finished": time.strftime("%Y-%m-%d %H:%M:%S"),
        "seconds": round(time.perf_counter() - wall, 3),
        "cpu_seconds": round(time.process_time() - cpu, 3),
    }
    return name, Outcome(experiment.name, task, record, about)
