"""The commands for studies: ``geoduel studies``, ``show``, ``ask``, ``tell`` and so on.

Each is a thin shell over a public function. A table or a few lines go to people, and ``--json``
writes the same for programs.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ..errors import ArgumentError, GeoduelError, OlderStudyWarning
from .create import copy_study, delete_study, import_study, load_study, study_names
from .log import GRADED, INFEASIBLE, WORDS
from .names import JOINERS, revoke_link
from .storage.place import as_storage
from .study import Study
from .summary import study_summary
from .transfer import export_text, stored, write_export

__all__ = ["COMMANDS"]


def complete_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names for the shell, of the studies in the storage that was typed before."""
    with suppress(GeoduelError):
        return [n for n in study_names(ctx.params["storage"]) if n.startswith(incomplete)]
    return []


def complete_answers(incomplete: str) -> list[str]:
    """Answers for the shell."""
    words = dict.fromkeys(" ".join((*WORDS, *GRADED, *INFEASIBLE)).split())
    return [word for word in words if word.startswith(incomplete)]


URL = Annotated[str, typer.Argument(metavar="URL", help="Such as sqlite:///duels.db.")]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Name of the study.", autocompletion=complete_names),
]
AsJSON = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
Rater = Annotated[str | None, typer.Option(help="Name of who answers.")]
NewName = Annotated[str | None, typer.Option("--name", help="Another name for it.")]


def studies(storage: URL, as_json: AsJSON = False) -> None:
    """List the studies of a storage."""
    place, found = as_storage(storage, create=False), []
    for name in study_names(place):
        try:
            found.append(study_summary(name, place))
        except GeoduelError as error:  # the others can still be listed
            print(f"geoduel: {printable(name)} is left out: {error}", file=sys.stderr)
    if as_json:
        write_json(found)
        return
    table = Table(
        "name", "method", "manifold", "answers", "open", "known to", "finished", "changed"
    )
    for s in found:
        answers = f"{s.answered}" if s.budget is None else f"{s.answered} of {s.budget}"
        changed = time.strftime("%Y-%m-%d %H:%M", time.localtime(s.changed))
        known = length(s.uncertainty)
        row = s.name, s.method, s.manifold, answers, str(s.open), known, s.finished or "", changed
        table.add_row(*map(printable, row))
    show_table(table)


def show(storage: URL, name: Name, as_json: AsJSON = False) -> None:
    """Show how far a study is: its best point, its settings, and its raters."""
    study = load(storage, name)
    p, best = study.progress(), study.recommend()
    if as_json:
        about = {"name": name, "method": study.method_name, "manifold": repr(study.manifold)}
        domain = None if study.domain is None else repr(study.domain)
        write_json({**about, "domain": domain, "best": best, "progress": p})
        return
    budget = "" if p.budget is None else f" of {p.budget}"
    lines = {
        "study": name,
        "manifold": repr(study.manifold),
        "domain": "" if study.domain is None else repr(study.domain),
        "method": study.method_name,
        "answers": f"{p.answered}{budget}, {p.ties} ties among them; {p.skips} skipped",
        "reports": str(p.reports or ""),
        "open": str(p.open),
        "best point": entries(best),
        "known to": length(p.uncertainty),
        "noise": "" if p.noise is None else f"{p.noise:.2g}",
        "answers left": "" if p.remaining is None else f"about {p.remaining}",
        "finished": p.finished or "",
        "note": p.note or "",
    }
    table = Table(show_header=False, box=None)
    for what, value in lines.items():
        if value:
            table.add_row(what, printable(value))
    show_table(table)
    named = {rater: r for rater, r in p.raters.items() if rater}
    if named:
        table = Table("rater", "answers", "skips", "consistency", "verdict", "evidence")
        for rater, r in named.items():
            alike = "" if r.consistency is None else f"{r.consistency:.0%}"
            row = rater, str(r.answers), str(r.skips), alike, r.verdict, r.evidence
            table.add_row(*map(printable, row))
        show_table(table)


def ask(
    storage: URL,
    name: Name,
    n: Annotated[int, typer.Option("-n", min=1, help="Most questions.")] = 1,
    rater: Rater = None,
    as_json: AsJSON = False,
) -> None:
    """Ask for the next questions; with --json one to a line."""
    study = load(storage, name)
    found = study.ask(n, rater=rater)
    for duel in found if isinstance(found, list) else [found]:
        if as_json:
            write_json(duel, indent=None)
        else:
            print(f"duel {duel.id}")
            for letter, point in zip(duel.shown, duel.in_order, strict=True):  # a side for each
                print(f"  {letter}  {entries(study.manifold.unpack(point))}")


def tell(
    storage: URL,
    name: Name,
    duel: Annotated[int, typer.Argument(metavar="DUEL", min=0, help="Its number.")],
    answer: Annotated[
        list[str],
        typer.Argument(
            metavar="ANSWER",
            help=f"One of {', '.join((*WORDS, *GRADED, *INFEASIBLE))}.",
            autocompletion=complete_answers,
        ),
    ],
    rater: Rater = None,
    as_json: AsJSON = False,
) -> None:
    """Answer a question."""
    study = load(storage, name)
    told = study.tell(duel, " ".join(answer), rater=rater)
    if as_json:
        write_json(told)
        return
    said = told.answer if told.infeasible is None else f"{told.infeasible} infeasible"
    said = said if told.strength is None else f"{said} {told.strength}"
    print(f"duel {told.id}: {said}; known to {length(study.uncertainty()) or 'nothing yet'}")


def undo(storage: URL, name: Name, rater: Rater = None, as_json: AsJSON = False) -> None:
    """Take the last answer back."""
    duel = load(storage, name).undo(rater=rater)
    if as_json:
        write_json(duel)
        return
    print("there is no answer to take back" if duel is None else f"duel {duel.id} is {duel.state}")


def export(
    storage: URL,
    name: Name,
    out: Annotated[
        Path | None, typer.Option(help="File to write; by default the lines are printed.")
    ] = None,
) -> None:
    """Write a study as JSON lines: its settings and its whole log."""
    found = stored(name, as_storage(storage, create=False))
    text = export_text(found.name, found.settings, found.rows)
    if out is None:
        print(text, end="")
    else:
        write_export(out, text)


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `geoduel export` wrote.")],
    storage: URL,
    name: NewName = None,
) -> None:
    """Read an exported study, check it, and store it."""
    print(f"imported {printable(import_study(file, storage, name).name)}")


def copy(
    storage: URL,
    name: Name,
    to: Annotated[
        str | None, typer.Argument(metavar="TO_URL", help="Where; by default the same storage.")
    ] = None,
    new_name: NewName = None,
) -> None:
    """Copy a study to another storage, or under another name."""
    copy_study(name, storage, to, new_name)
    print(f"copied {printable(name)} to {printable(new_name or name)}")


def revoke(
    storage: URL,
    name: Name,
    rater: Annotated[str, typer.Argument(metavar="RATER", help="Whose link it is.")],
) -> None:
    """Take a rater's own link to the duel page back; those of others stay good."""
    revoke_link(load(storage, name), rater)
    print(f"{printable(rater)}'s link is void; the owner's page makes a new one")


def delete(
    storage: URL,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
) -> int:
    """Delete a study and its log for good, once it is confirmed."""
    place = as_storage(storage, create=False)
    if not yes:
        count = study_summary(name, place).answered
        try:
            said = input(f"Delete {printable(name)} with {count} answers for good? [y/N] ")
        except EOFError:
            raise ArgumentError("nobody confirmed; --yes deletes without asking") from None
        if said.strip().lower() not in ("y", "yes"):
            print("nothing was deleted")
            return 1
    delete_study(name, place)
    print(f"deleted {printable(name)}")
    return 0


COMMANDS: dict[str, Callable[..., Any]] = {
    "studies": studies,
    "show": show,
    "ask": ask,
    "tell": tell,
    "undo": undo,
    "export": export,
    "import": import_,
    "copy": copy,
    "revoke": revoke,
    "delete": delete,
}
"""What is typed, and what runs."""


def load(storage: str, name: str) -> Study:
    """The study; `show` says it in a line if another version of the method made it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OlderStudyWarning)
        return load_study(name, storage)


# -- what is shown ---------------------------------------------------------------------------------


def show_table(table: Table) -> None:
    """Print a table; a line of it stays a line where no screen is to be fitted."""
    plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    wide = None if sys.stdout.isatty() else 1000
    Console(width=wide, **plain).print(table)


def printable(text: str) -> str:
    """A text of others without what steers a terminal."""
    shown = (c if c.isprintable() or c in JOINERS else "\N{REPLACEMENT CHARACTER}" for c in text)
    return "".join(shown)


def entries(point: Any) -> str:
    """A point in one line, shortened where it is long; with the names of its parts."""
    if isinstance(point, dict):
        return ", ".join(f"{name}={entries(part)}" for name, part in point.items())
    shown = np.array2string(
        np.asarray(point),
        separator=", ",
        threshold=50,
        formatter={"float_kind": lambda number: f"{number:.6g}"},
    )
    return " ".join(shown.split())


def length(value: float | None) -> str:
    """A geodesic length, nothing where it is not known."""
    return f"{value:.2g}" if value is not None and math.isfinite(value) else ""


def write_json(value: Any, indent: int | None = 2) -> None:
    """Print what JSON can hold of a value."""
    print(json.dumps(as_json_value(value), indent=indent, allow_nan=False))


def as_json_value(value: Any) -> Any:
    """Dataclasses as objects, arrays as lists; numbers that JSON has not are null."""
    if is_dataclass(value):
        return {f.name: as_json_value(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return as_json_value(value.tolist())
    if isinstance(value, dict):
        return {key: as_json_value(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [as_json_value(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
