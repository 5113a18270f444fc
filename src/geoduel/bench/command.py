"""The command ``geoduel bench``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Annotated, Any

import typer

from .._support.pools import deaf_to_interrupts

__all__ = ["bench"]

METHODS = "auto,duel-csa,one-plus-one-cma,nelder-mead"


def bench(
    methods: Annotated[
        str, typer.Option(help="Names, with commas between; `geoduel bench --list` shows them.")
    ] = METHODS,
    suites: Annotated[
        str,
        typer.Option(help="Of paper, bbob, mixint, manifolds, noise, people, with commas between."),
    ] = "manifolds",
    problems: Annotated[
        str, typer.Option(help="Only problems whose names begin so, with commas between.")
    ] = "",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds a problem; by default the suite's.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, help="Duels a dimension; by default the suite's.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, in place of workers.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for runs.jsonl and report.html; runs there are kept.")
    ] = Path("bench"),
    against: Annotated[
        Path | None,
        typer.Option(help="Runs of another version: exit code 1 if duels grew by over 5 %."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few problems, two seeds.")] = False,
    page: Annotated[bool, typer.Option(help="Write the page, which needs matplotlib.")] = True,
    show: Annotated[
        bool, typer.Option("--list", help="Show methods, solvers and suites, and end.")
    ] = False,
) -> int:
    """Measure methods on suites of problems, in duels; resumes, extends, compares versions."""
    from ..methods.named import METHODS as OWN
    from ..methods.named import OTHER_NAMES
    from .others import OTHERS
    from .runs import SMOOTHED, load, plan, run
    from .suites import SUITES

    if show:
        print("methods:", ", ".join((*OWN, *SMOOTHED, *OTHER_NAMES)))
        print("solvers of other packages:", ", ".join(OTHERS))
        for name, suite in SUITES.items():
            print(f"{name}: {suite.title}: {', '.join(suite.problems)}")
        return 0
    if page:
        from ..plotting import require

        require()  # before the work, not after it
    then = load_other(against) if against is not None else []
    tasks = plan(
        _words(suites), _words(methods), seeds=seeds, budget=budget, problems=_words(problems),
        quick=quick,
    )  # fmt: skip
    path, records = out / "runs.jsonl", []
    try:
        with _executor(min(workers, len(tasks)), dask) as executor:
            for record in run(tasks, path, executor):
                records.append(record)
                _progress(len(records), len(tasks), record)
    except KeyboardInterrupt:
        print(
            f"\ngeoduel: interrupted after {len(records)} of {len(tasks)} runs; the same command "
            "goes on from there",
            file=sys.stderr,
        )
        return 130
    return report(records, load(path), then, out, page)


def report(
    records: list[dict[str, Any]],
    everything: list[dict[str, Any]],
    then: list[dict[str, Any]],
    out: Path,
    page: bool,
) -> int:
    """Print the areas and the comparison, write the page of all that is stored; the exit code."""
    from .against import changes, copied
    from .measures import split

    found = changes(records, then)
    for suite, runs in split(records, "suite").items():
        print(f"\n{suite}: area under the distribution of solved pairs, by group")
        _print_areas(runs)
    for change in found:
        print(
            f"{change.suite} {change.method}: {change.ratio:.3f} times the duels "
            f"(log error {change.error:.3f}, {change.runs} runs; worst {change.worst})"
            + (", SLOWER" if change.failed else "")
        )
    copies = copied(records, then)
    if copies:
        print(
            f"geoduel: {copies} of {len(records)} runs are those of --against themselves, which "
            f"{out / 'runs.jsonl'} holds: with another --out they are run anew",
            file=sys.stderr,
        )
    elif then and not found:
        print("geoduel: no run of --against is among these runs", file=sys.stderr)
    if then and not found:
        return 1
    if page:
        from .page import write_page

        print(write_page(everything, out, found))
    return int(any(change.failed for change in found))


def _print_areas(runs: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from .measures import areas

    found = areas(runs)
    methods = list(dict.fromkeys(r["method"] for r in runs))
    table = Table("group", *methods, box=None)
    for group, row in found.items():
        table.add_row(group, *(f"{row[m]:.3f}" if m in row else "–" for m in methods))
    Console(width=None if sys.stdout.isatty() else 132).print(table)


def load_other(path: Path) -> list[dict[str, Any]]:
    """Records of another version; an error if there are none."""
    from ..errors import ArgumentError
    from .runs import load

    found = load(path)
    if not found:
        raise ArgumentError(f"--against {path} holds no runs")
    return found


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


@contextmanager
def _executor(workers: int, dask: str | None) -> Iterator[Executor | None]:
    """A pool of processes, a cluster's, or none."""
    if dask is not None:
        from ..errors import MissingExtraError

        try:
            from distributed import Client  # type: ignore[import-not-found]
        except ImportError:
            raise MissingExtraError("--dask needs Dask: pip install 'geoduel[dask]'") from None
        with Client(dask) as client:
            yield client.get_executor()
    elif workers > 1:
        # Spawned, since a fork copies threads of linear algebra in any state.
        pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        try:
            with deaf_to_interrupts():
                for _ in range(workers):  # each call starts one, while none is idle
                    pool.submit(int)
            yield pool
        except BaseException:  # of Ctrl-C they know nothing, and a run may take minutes
            for worker in active_children():
                worker.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    else:
        yield None


def _progress(done: int, total: int, record: dict[str, Any]) -> None:
    if sys.stderr.isatty():
        line = f"{done}/{total} {record['suite']} {record['problem']} {record['method']}"
        print(f"\r{line:78.78s}", end="\n" if done == total else "", file=sys.stderr, flush=True)
