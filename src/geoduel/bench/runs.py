"""Runs: one solver on one problem from one seed, many of them, kept as they finish."""

from __future__ import annotations

import gzip
import json
import math
import time
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from dataclasses import dataclass
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np

from .._support.check import as_path, instance, one_of, positive_int, several, truth
from .._support.files import naming
from .._support.pools import ended_by_interrupts
from .._version import __version__
from ..errors import (
    ArgumentError,
    BudgetExhaustedError,
    GeoduelError,
    GeoduelWarning,
    MissingExtraError,
)
from ..methods import Auto
from ..methods.base import Method
from ..methods.named import METHODS, OTHER_NAMES, named
from ..methods.rivals.base import Rival
from ..optimize import minimize
from .case import Case, Suite
from .meter import Meter, ReachedError
from .others import OTHERS
from .suites import SUITES

__all__ = ["SMOOTHED", "Task", "load", "plan", "run", "run_one", "solver"]

Record = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One run: its names, and what they stand for.

    Parameters
    ----------
    suite, problem : str
        Names, as stored.
    seed : int
        Of the problem, and of the solver.
    method : str
        Name, as stored.
    budget : int
        Duels a dimension.
    make : callable
        ``make(seed)`` is the case.
    solve : Method or callable
        A method, or a solver ``solve(meter)``.
    """

    suite: str
    problem: str
    seed: int
    method: str
    budget: int
    make: Any
    solve: Any

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells one run from another in a file."""
        return self.suite, self.problem, self.seed, self.method, self.budget


SMOOTHED = {"auto-smoothed": Auto(smoothing=1.0, restarts=1000)}
"""The default with the settings for many minima."""


def solver(name: str) -> Any:
    """A method of the package or a solver of another by name."""
    if name in OTHERS:
        return OTHERS[name]
    if name in SMOOTHED:
        return SMOOTHED[name]
    if name in METHODS or name in OTHER_NAMES:
        return named(name)
    raise ArgumentError(
        f"method {name!r} is none of {', '.join((*METHODS, *OTHER_NAMES, *SMOOTHED, *OTHERS))}"
    )


def plan(
    suites: Sequence[str] | Mapping[str, Suite] = ("manifolds",),
    methods: Sequence[str] | Mapping[str, Any] = ("auto",),
    *,
    seeds: int | None = None,
    budget: int | None = None,
    problems: Sequence[str] = (),
    quick: bool = False,
) -> list[Task]:
    """The runs of some methods on some suites.

    Parameters
    ----------
    suites : names or dict of Suite
        Names in `SUITES`, or suites of your own by name.
    methods : names or dict
        Names of methods and solvers, or methods of your own by name: an instance of
        `geoduel.Method`, or a function of a `Meter`.
    seeds : int, optional
        How many; by default the suite's.
    budget : int, optional
        Duels a dimension; by default the suite's.
    problems : sequence of str
        Only those whose names begin with one of these, as whole words between hyphens.
    quick : bool
        Only the suite's short form, with two seeds.

    Returns
    -------
    list of Task

    Raises
    ------
    ArgumentError
        For names that are none, for what is no method, and for words that no problem begins with.

    Examples
    --------
    >>> [task.problem for task in plan(["paper"], ["auto"], seeds=1, problems=["karcher-3"])]
    ['karcher-3', 'karcher-3-interval']
    """
    for value, name in ((seeds, "seeds"), (budget, "budget")):
        if value is not None:
            positive_int(value, name)
    truth(quick, "quick")
    if not isinstance(suites, Mapping):
        wanted = several(suites, "suites", "names")
        suites = {name: SUITES[one_of(name, "suites", tuple(SUITES))] for name in wanted}
    if not isinstance(methods, Mapping):
        methods = {name: solver(name) for name in several(methods, "methods", "names")}
    for name, chosen in {"suites": suites, "methods": methods}.items():
        if not chosen:
            raise ArgumentError(f"{name} must be names, at least one; got none")
    for name, suite in suites.items():
        instance(suite, f"suites[{name!r}]", Suite, "a geoduel.bench.Suite")
        if quick and not suite.quick:
            raise ArgumentError(f"quick: the suite {name!r} names no problems of a short form")
    for name, solve in methods.items():
        if isinstance(solve, type) or not (isinstance(solve, Method) or callable(solve)):
            raise ArgumentError(
                f"methods[{name!r}] must be an instance of a method, or a function of a Meter; "
                f"got {solve!r:.80}"
            )
    problems = several(problems, "problems", "names")
    names = {key: suite.quick if quick else tuple(suite.problems) for key, suite in suites.items()}
    begun = [f"{name}-" for those in names.values() for name in those]
    for begin in problems:
        if not any(n.startswith(f"{begin}-") for n in begun):
            raise ArgumentError(f"no problem of {', '.join(suites)} begins with {begin!r}")
    begins = tuple(f"{begin}-" for begin in problems)
    found = []
    for suite_name, suite in suites.items():
        first, count = suite.seeds
        count = seeds or (min(2, count) if quick else count)
        chosen = [n for n in names[suite_name] if not problems or f"{n}-".startswith(begins)]
        found += [
            Task(
                suite_name, name, seed, method, budget or suite.budget, suite.problems[name], solve
            )
            for name in chosen
            for method, solve in methods.items()
            for seed in range(first, first + count)
        ]
    return found


def run_one(task: Task) -> Record:
    """Run a task, and say what it took: a record that JSON can hold.

    Raises
    ------
    MissingExtraError
        If the solver is of a package that is not installed, which is no result of the solver.
    """
    case: Case = task.make(task.seed)
    d = case.dim
    rng = np.random.default_rng([task.seed, *task.method.encode()])
    meter = Meter(case, task.budget * d, rng)
    began, more = time.perf_counter(), {}
    meter.recommend(case.x0)
    with ended_by_interrupts(), warnings.catch_warnings():
        warnings.simplefilter("ignore", GeoduelWarning)
        try:
            if isinstance(task.solve, Method):
                stop, more = _run_method(task.solve, case, meter)
            else:
                said = task.solve(meter)
                stop = said if isinstance(said, str) and said else "stopped"
        except ReachedError:
            stop = "reached"
        except BudgetExhaustedError:
            stop = "budget"
        except MissingExtraError:
            raise
        except ArgumentError as error:
            stop = f"refused: {error}"[:200]
        except Exception as error:  # the run of a night should not end with one solver's fault
            stop = f"failed: {type(error).__name__}: {error}"[:200]
    return {
        "suite": task.suite,
        "problem": task.problem,
        "group": case.group,
        "seed": task.seed,
        "method": task.method,
        "budget": task.budget,
        "geoduel": __version__,
        "d": d,
        "duels": meter.duels,
        "evaluations": meter.evaluations,
        "stop": stop,
        "targets": [_plain(t) for t in case.targets],
        "hits": meter.hits,
        "gap": _plain(meter.best),
        "last": _plain(meter.last),
        **more,
        "seconds": round(time.perf_counter() - began, 3),
    }


def _run_method(method: Method, case: Case, meter: Meter) -> tuple[str, Record]:
    """A method of the package; those of others, and what smooths, are told the problem's scale."""
    if isinstance(method, Rival | Auto) and case.step:
        method = method.at_scale(case.step)
    seed = int(meter.rng.integers(2**63))
    result = minimize(
        meter.oracle,
        case.manifold,
        case.x0,
        method=method,
        domain=case.domain,
        budget=meter.budget,
        rng=seed,
        callback=lambda p: meter.recommend(p.x, p.duels),
    )
    meter.duels = result.duels
    stop = "reached" if result.stop_reason == "callback" else result.stop_reason
    if stop != "reached":
        meter.recommend(result.x)
    return stop, {"uncertainty": _plain(result.uncertainty), "noise": _plain(result.noise)}


def _plain(value: Any) -> float | None:
    """A number of six digits; None for what is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{float(value):.6g}")


def load(path: Path | str) -> list[Record]:
    """Records of a file, one a line, packed if its name ends in .gz.

    What is no record is left out, such as a line that was cut off. So are runs whose solver was not
    installed: earlier versions stored them, as if it had found nothing.

    Raises
    ------
    ArgumentError
        If the file cannot be unpacked.
    """
    path = as_path(path, "path")
    if not path.exists():
        return []
    text = path.read_bytes()
    try:
        text = gzip.decompress(text) if path.suffix == ".gz" else text
    except (EOFError, OSError, zlib.error) as error:
        raise ArgumentError(f"{path} cannot be unpacked, it is damaged: {error}") from None
    found = []
    for line in text.decode("utf-8", errors="replace").split("\n"):  # names may hold other ends
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if _is_record(record) and not record["stop"].startswith(_MISSING):
            found.append(record)
    return found


_MISSING = f"failed: {MissingExtraError.__name__}"


def _is_record(value: Any) -> bool:
    """Whether a line of a file is what `run_one` makes, as far as that is read anywhere."""
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(k), kind) for k, kind in _FIELDS.items())
        and len(value["hits"]) == len(value["targets"])
        and all(isinstance(hit, int | None) for hit in value["hits"])
        and all(isinstance(target, int | float | None) for target in value["targets"])
    )


_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("suite", "problem", "group", "method", "geoduel", "stop"), str),
    **dict.fromkeys(("seed", "budget", "d", "duels", "evaluations"), int),
    **dict.fromkeys(("targets", "hits"), list),
    "seconds": int | float,
}
"""What every record has, and of which type."""


def run(
    tasks: Iterable[Task], path: Path | str | None = None, executor: Executor | None = None
) -> Iterator[Record]:
    """Yield the records of the tasks, those that the file holds first; append the others to it.

    Parameters
    ----------
    tasks : iterable of Task
        From `plan`.
    path : path, optional
        File of records. A run that it holds is not run again, so an interrupted call goes on, and
        one with more seeds or methods extends it.
    executor : concurrent.futures.Executor, optional
        Where they run: a pool of processes, or a cluster's.

    Raises
    ------
    GeoduelError
        If the executor fails: a task cannot be sent, or a worker dies. What was finished before is
        in the file.

    Examples
    --------
    >>> [record] = run(plan(["paper"], ["auto"], seeds=1, problems=["horizon"]))
    >>> record["stop"], record["duels"] < 200
    ('reached', True)
    """
    tasks = list(tasks)
    stored = {_key(r): r for r in load(path)} if path is not None else {}
    todo = [task for task in tasks if task.key not in stored]
    yield from (stored[task.key] for task in tasks if task.key in stored)
    found = map(run_one, todo) if executor is None else _at_once(todo, executor)
    for record in found:
        if path is not None:
            _append(Path(path), record)
        yield record


def _at_once(tasks: Sequence[Task], executor: Executor) -> Iterator[Record]:
    """Records as an executor finishes them."""
    if not hasattr(executor, "submit"):
        raise ArgumentError(
            "executor must have a method submit, as concurrent.futures.Executor has, got "
            f"{executor!r:.80}"
        )
    try:
        for future in as_completed([executor.submit(run_one, task) for task in tasks]):
            yield future.result()
    except BrokenExecutor as error:
        raise GeoduelError(
            "a worker died, as where memory runs out; the runs that were finished are kept, and "
            f"the same call goes on from there ({error})"
        ) from error
    except (PicklingError, AttributeError, TypeError) as error:
        if "pickle" not in str(error).lower():
            raise
        raise GeoduelError(
            f"a task cannot be sent to another process: {error}; its problems and methods have to "
            "be functions at the top level of a file, and no lambdas"
        ) from error


def _key(record: Record) -> tuple[Any, ...]:
    return tuple(record[k] for k in ("suite", "problem", "seed", "method", "budget"))


def _append(path: Path, record: Record) -> None:
    """Add a line; after a line that was cut off, on a new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path), path.open("a+b") as file:
        if file.tell():
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(record).encode() + b"\n")
