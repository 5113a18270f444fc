"""The command ``geoduel``.

Bad input ends with exit code 2 and one line on standard error, never a traceback.
"""

from __future__ import annotations

import importlib.metadata
import io
import os
import platform
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ._version import __version__
from .attack.command import attack_app
from .bench.command import bench
from .errors import ArgumentError, GeoduelError
from .reproduce import NAMES
from .study.command import COMMANDS

__all__ = ["app", "main"]

app = typer.Typer(
    name="geoduel",
    help='Optimise on curved spaces when all you can get is "A is better than B".',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

app.add_typer(attack_app, name="attack")
app.command()(bench)
for _name, _command in COMMANDS.items():
    app.command(_name, rich_help_panel="Studies")(_command)


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
    _take_any_streams()
    if os.environ.get("COLUMNS", "").strip("0") == "":
        os.environ.pop("COLUMNS", None)  # nobody has a screen of no width: as if it were not set
    try:
        arguments = None if argv is None else list(argv)
        code = app(args=arguments, prog_name="geoduel", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort) as stop:
        if isinstance(stop.__cause__, EOFError):  # typer takes it for Ctrl-D at a question
            print(f"geoduel: a file ends too early: {stop.__cause__}", file=sys.stderr)
            return 2
        print("geoduel: interrupted", file=sys.stderr)
        return 130
    except typer.Exit as stop:
        return stop.exit_code
    except Exception as error:
        usage_message = getattr(error, "format_message", None)  # of a click exception
        expected = isinstance(error, GeoduelError | OSError | UnicodeError)
        if usage_message is None and not expected:
            raise
        message = usage_message() if usage_message else str(error)
        message = message.encode(errors="backslashreplace").decode()  # file names can be any bytes
        if message:  # without arguments the help has said it all
            print(f"geoduel: {' '.join(message.split())}", file=sys.stderr)
        return 2
    return code if isinstance(code, int) else 0


def _take_any_streams() -> None:
    """Make it no error to use streams that are closed, or that lack characters of a name."""
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:  # as after <&-
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # as on standard error
        sys.stdout.reconfigure(errors="backslashreplace")


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
    experiments: Annotated[list[str], typer.Argument(help=f"Any of: {', '.join(NAMES)}; or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the iterations.")] = False,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Seeds 0, 1, ... of each line; by default 5, with --quick 1."),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(help="first: the paper's first size; all: all of them, as with all."),
    ] = None,
    photos: Annotated[
        Path | None,
        typer.Option(help="Folder with truth.csv, or HLW's metadata.csv; else painted seascapes."),
    ] = None,
    attack_data: Annotated[
        Path | None, typer.Option(help="Folder with the attack's pictures and network.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the report and all its parts.")] = Path(
        "results"
    ),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run again what is kept in OUT/cache.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; by default one a core.")
    ] = None,
) -> int:
    """Run experiments of the paper; end with a table and a report. Resumes after Ctrl-C."""
    from .reproduce import Plan
    from .reproduce.command import choose
    from .reproduce.command import reproduce as run

    chosen = choose(experiments)
    if sizes not in (None, "first", "all"):
        raise ArgumentError(f"--sizes must be first or all, got {sizes!r}")
    everything = "all" in experiments
    plan = Plan(
        quick=quick,
        seeds=seeds or (1 if quick else 5),
        all_sizes=everything if sizes is None else sizes == "all",
        photos=photos,
        attack_data=attack_data,
    )
    return run(chosen, plan, out, workers=workers or os.cpu_count() or 1, fresh=fresh)


NoToken = Annotated[
    bool,
    typer.Option("--no-token", help="Let in everybody on this machine, as the owner."),
]


@app.command()
def level(
    photos: Annotated[
        list[Path] | None, typer.Argument(help="Photos, or folders of them, one after another.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the levelled photos; by default their own.")
    ] = None,
    method: Annotated[str, typer.Option(help="Name of the method.")] = "auto",
    demo: Annotated[bool, typer.Option("--demo", help="A seascape with a hidden tilt.")] = False,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of the page.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed.")] = None,
    no_token: NoToken = False,
) -> None:
    """Level photos by duels, on a page in the browser."""
    from .level import level as run

    run(
        photos or [],
        out=out,
        method=method,
        demo=demo,
        browser=browser,
        port=port,
        rng=seed,
        token=_token(os.environ.get("GEODUEL_TOKEN"), None, no_token),
    )


class Results(StrEnum):
    """What raters see at the end, as it is typed."""

    ALL = "all"
    OWN = "own"
    NONE = "none"

    @property
    def meaning(self) -> Any:
        """The value that `geoduel.web.Board` takes."""
        return {"all": True, "own": "own", "none": False}[self.value]


@app.command()
def serve(
    study: Annotated[str, typer.Argument(metavar="FILE.py:STUDY", help="Where the study is.")],
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of the page.")] = None,
    token: Annotated[str | None, typer.Option(envvar="GEODUEL_TOKEN", hidden=True)] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the owner's token; made if it does not exist.")
    ] = None,
    no_token: NoToken = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name the server is called by.")
    ] = None,
    raters: Annotated[
        bool | None, typer.Option("--raters/--solo", help="Several people by name, or one.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = False,
    public_url: Annotated[
        str | None, typer.Option(help="Address at which a proxy shows the server.")
    ] = None,
    trust_proxy: Annotated[
        list[str] | None, typer.Option(help="Address of a proxy that is not on this machine.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Name on the page.")] = None,
    question: Annotated[str | None, typer.Option(help="What to ask.")] = None,
    lang: Annotated[
        str | None, typer.Option(help="Language of the question, such as de or pt-BR.")
    ] = None,
    accuracy: Annotated[
        float | None, typer.Option(help="End when the best point is known as well as this.")
    ] = None,
    answers: Annotated[
        int | None, typer.Option(min=1, help="End after so many answers of each rater.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="Names of a point's numbers, with commas between.")
    ] = None,
    results: Annotated[
        Results | None, typer.Option(help="What raters see at the end: all, own or none.")
    ] = None,
    scripts: Annotated[
        bool | None, typer.Option("--scripts", help="Let HTML run scripts in its frame.")
    ] = None,
    strengths: Annotated[
        bool | None, typer.Option("--strengths", help="Ask how much better a choice is.")
    ] = None,
    infeasible: Annotated[
        bool | None, typer.Option("--infeasible", help="Offer to say that a choice is impossible.")
    ] = None,
) -> None:
    """Serve the duel page of a study; the file's `render` shows its points."""
    from .web.server import load_study_file
    from .web.server import serve as run

    found, render = load_study_file(study)
    solo = None if raters is None else not raters
    options: dict[str, Any] = {
        "title": title,
        "question": question,
        "lang": lang,
        "accuracy": accuracy,
        "answers": answers,
        "labels": None if labels is None else [name.strip() for name in labels.split(",")],
        "results": None if results is None else results.meaning,
        "scripts": scripts,
        "strengths": strengths,
        "infeasible": infeasible,
    }
    run(
        found,
        render,
        host=host,
        port=port,
        token=_token(token, token_file, no_token),
        hosts=allow_host or [],
        solo=solo,
        browser=browser,
        public_url=public_url,
        trust_proxy=trust_proxy or [],
        **{name: value for name, value in options.items() if value is not None},
    )


@app.command()
def dashboard(
    storage: Annotated[str, typer.Argument(help="Such as sqlite:///duels.db.")],
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of the page.")] = None,
    token: Annotated[str | None, typer.Option(envvar="GEODUEL_TOKEN", hidden=True)] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the owner's token; made if it does not exist.")
    ] = None,
    no_token: NoToken = False,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = False,
    public_url: Annotated[
        str | None, typer.Option(help="Address at which a proxy shows the server.")
    ] = None,
    trust_proxy: Annotated[
        list[str] | None, typer.Option(help="Address of a proxy that is not on this machine.")
    ] = None,
) -> None:
    """Show all studies of a storage, live."""
    from .web import dashboard as run

    run(
        storage,
        host=host,
        port=port,
        token=_token(token, token_file, no_token),
        browser=browser,
        public_url=public_url,
        trust_proxy=trust_proxy or [],
    )


def _token(token: str | None, file: Path | None, none: bool) -> Any:
    """The owner's token as the options and the environment give it."""
    from .web.keys import token_in

    if token is not None and token != os.environ.get("GEODUEL_TOKEN"):
        print(
            "geoduel: others on this machine can read --token; put it into GEODUEL_TOKEN or "
            "into a file, for --token-file",
            file=sys.stderr,
        )
    return False if none else token if file is None else token_in(file)
