"""The command ``geoduel``.

Bad input ends with exit code 2 and one line on standard error, never a traceback.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ._version import __version__
from .errors import ArgumentError, GeoduelError
from .reproduce import EXPERIMENTS, Experiment, Run, run_all, summary, write

__all__ = ["app", "main"]

app = typer.Typer(
    name="geoduel",
    help='Optimise on curved spaces when all you can get is "A is better than B".',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; by default those of the process.

    Returns
    -------
    int
        0; 2 for bad input; 130 after Ctrl-C; 1 where something else failed.
    """
    try:
        arguments = None if argv is None else list(argv)
        code = app(args=arguments, prog_name="geoduel", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        print("geoduel: interrupted", file=sys.stderr)
        return 130
    except typer.Exit as stop:
        return stop.exit_code
    except Exception as error:
        usage_message = getattr(error, "format_message", None)  # of a click exception
        if usage_message is None and not isinstance(error, GeoduelError | OSError):
            raise
        message = usage_message() if usage_message else str(error)
        if message:  # without arguments the help has said it all
            print(f"geoduel: {' '.join(message.split())}", file=sys.stderr)
        return 2
    return code if isinstance(code, int) else 0


def _version(wanted: bool) -> None:
    if wanted:
        print(f"geoduel {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def info() -> None:
    """Show versions and the backends found."""
    table = Table(show_header=False, box=None)
    table.add_row("geoduel", __version__)
    table.add_row("python", f"{platform.python_version()} on {platform.platform()}")
    for name in ("numpy", "scipy", "array-api-compat", "torch", "matplotlib"):
        try:
            table.add_row(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            table.add_row(name, "not installed")
    table.add_row("backends", ", ".join(_backends()))
    Console().print(table)


def _backends() -> list[str]:
    found = ["numpy (cpu)"]
    try:
        import torch
    except ImportError:
        return found
    found.append("torch (cpu)")
    if torch.cuda.is_available():
        found += [
            f"torch (cuda: {torch.cuda.get_device_name(i)})"
            for i in range(torch.cuda.device_count())
        ]
    return found


@app.command()
def reproduce(
    experiments: Annotated[
        list[str], typer.Argument(help=f"Any of: {', '.join(EXPERIMENTS)}; or all.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the iterations.")] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0, 1, ... of each line.")] = 3,
    sizes: Annotated[
        str, typer.Option(help="first: the paper's first size; all: all of them.")
    ] = "first",
    out: Annotated[Path, typer.Option(help="Folder for the figure and the records.")] = Path(
        "results"
    ),
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; by default one a core.")
    ] = None,
) -> int:
    """Run experiments of the paper; end with a table and a figure."""
    jobs = _jobs(experiments, sizes)
    _prepare(out)
    workers = workers or os.cpu_count() or 1
    console = Console(stderr=True)
    runs: list[Run] = []
    total = seeds * sum(len(e.lines(size, quick)) for e, size in jobs)
    interrupted = False
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )
    with bar:
        task = bar.add_task("running", total=total)
        try:
            for run in run_all(jobs, seeds=seeds, quick=quick, workers=min(workers, total)):
                runs.append(run)
                bar.update(task, advance=1, description=f"{run.experiment} {run.size}: {run.label}")
        except KeyboardInterrupt:
            interrupted = True
    if runs:
        runs.sort(key=lambda r: [e.name for e, _ in jobs].index(r.experiment))
        Console(width=None if sys.stdout.isatty() else 120).print(_table(summary(runs)))
        for path in _save(runs, out):
            print(path)
    if interrupted:
        print(f"geoduel: interrupted after {len(runs)} of {total} runs", file=sys.stderr)
        return 130
    return 0


def _jobs(names: Sequence[str], sizes: str) -> list[tuple[Experiment, int]]:
    if sizes not in ("first", "all"):
        raise ArgumentError(f"--sizes must be first or all, got {sizes!r}")
    unknown = [n for n in names if n not in EXPERIMENTS and n != "all"]
    if unknown:
        raise ArgumentError(
            f"unknown experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}, and all"
        )
    chosen = list(EXPERIMENTS) if "all" in names else list(dict.fromkeys(names))
    return [
        (EXPERIMENTS[n], size)
        for n in chosen
        for size in (EXPERIMENTS[n].sizes if sizes == "all" else EXPERIMENTS[n].sizes[:1])
    ]


def _prepare(out: Path) -> None:
    """Find out before the work, not after it, whether the results can be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".geoduel-probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise ArgumentError(f"--out {out}: cannot write there ({error.strerror})") from None


def _save(runs: Sequence[Run], out: Path) -> list[Path]:
    from .plotting import convergence_figure

    files = write(runs, out)
    titles = {e.name: f"{e.title}, {e.size_name} =" for e in EXPERIMENTS.values()}
    return [convergence_figure(runs, titles, out / "convergence.png"), *files]


def _table(rows: Sequence[dict[str, object]]) -> Table:
    table = Table(
        title="Gap f - f* to the optimum after a share of the iterations, median over seeds",
        title_justify="left",
    )
    gaps = [name for name in rows[0] if str(name).startswith("at ")]
    for name, justify in [("experiment", "left"), ("method", "left"), ("duels", "right")]:
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name in ["start", *gaps, "seconds"]:
        table.add_column(name, justify="right")
    for row in rows:
        duels = f"{row['duels']:,}" + ("" if row["sees"] == "duels" else " values")
        numbers = [f"{row[name]:.1e}" for name in ("start gap", *gaps)]
        table.add_row(
            f"{row['experiment']} {row['size']}",
            str(row["method"]),
            duels,
            *numbers,
            f"{row['seconds']:.1f}",
        )
    return table
