"""`geoduel reproduce`: run, report, and keep what is there if interrupted."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .._support.files import naming
from ..errors import ArgumentError
from ..plotting import require
from . import EXPERIMENTS
from .cache import Cache
from .claims import count
from .convergence import Convergence, summary
from .experiment import Experiment, Outcome, Plan, run_all, versions
from .report import Section, report_template, write_report

__all__ = ["choose", "reproduce", "write"]

TITLE = "Riemannian dueling optimization, reproduced"


def choose(names: Sequence[str]) -> list[Experiment]:
    """Experiments by name, "all" for all of them; unknown names raise ArgumentError."""
    unknown = [n for n in names if n not in EXPERIMENTS and n != "all"]
    if unknown:
        raise ArgumentError(
            f"unknown experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}, and all"
        )
    wanted = EXPERIMENTS if "all" in names else dict.fromkeys(names)
    return [EXPERIMENTS[n] for n in wanted]


def reproduce(
    experiments: Sequence[Experiment],
    plan: Plan,
    out: Path,
    *,
    workers: int,
    fresh: bool = False,
) -> int:
    """Run the experiments, print a table, and write the report; return the exit code.

    Parameters
    ----------
    experiments : sequence of Experiment
        In the order of the report.
    plan : Plan
        What is asked of them.
    out : Path
        Folder; results of single runs are kept in its ``cache``.
    workers : int
        Processes.
    fresh : bool
        Run again what the cache holds.

    Returns
    -------
    int
        0, or 130 after Ctrl-C, when what had finished is reported.
    """
    require()  # before the work, not after it
    report_template()
    _prepare(out)
    began = time.perf_counter()
    jobs = [(experiment, task) for experiment in experiments for task in experiment.tasks(plan)]
    outcomes: list[Outcome] = []
    interrupted = False
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    with bar:
        line = bar.add_task("running", total=len(jobs))
        try:
            for outcome in run_all(jobs, Cache(out / "cache", fresh=fresh), workers=workers):
                outcomes.append(outcome)
                bar.update(line, advance=1, description=outcome.task.label)
        except KeyboardInterrupt:
            interrupted = True
    if outcomes or not jobs:
        rows = _rows(experiments, outcomes)
        if rows:
            Console(width=None if sys.stdout.isatty() else 132).print(_table(rows))
        cached = sum(bool(o.about.get("cached")) for o in outcomes)
        if cached:
            print(f"{cached} of {len(jobs)} runs were found in {out / 'cache'}")
        seconds = time.perf_counter() - began
        about = _about(experiments, plan, outcomes, seconds, len(jobs))
        sections = _sections(experiments, plan, outcomes)
        if claims := [claim for section in sections for claim in section.claims]:
            print("claims of the paper: " + ", ".join(f"{n} {v}" for v, n in count(claims).items()))
        for path in write(sections, plan, outcomes, out, about):
            print(path)
    if interrupted:
        print(
            f"geoduel: interrupted after {len(outcomes)} of {len(jobs)} runs; the same command "
            "goes on from there",
            file=sys.stderr,
        )
        return 130
    return 0


def _sections(
    experiments: Sequence[Experiment], plan: Plan, outcomes: Sequence[Outcome]
) -> list[Section]:
    """What each experiment contributes to the report."""
    sections: list[Section] = []
    for experiment in experiments:
        own = [o for o in outcomes if o.experiment == experiment.name]
        if own or not experiment.tasks(plan):  # what cannot run says why
            section = experiment.section(plan, own)
            # A quick run judges no claim about full ones.
            sections.append(replace(section, claims=(), paces=()) if plan.quick else section)
    return sections


def write(
    sections: Sequence[Section],
    plan: Plan,
    outcomes: Sequence[Outcome],
    out: Path,
    about: dict[str, Any],
) -> list[Path]:
    """Write the report, the records (CSV) and the summary (JSON); return the files."""
    claims = [claim for section in sections for claim in section.claims]
    records, table = out / "records.csv", out / "summary.json"
    _write_records(outcomes, records)
    document = {
        **about,
        "verdicts": count(claims),
        "claims": [claim.as_json() for claim in claims],
        "results": {s.name: list(s.rows) for s in sections},
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, default=_plain) + "\n"
    with naming(table):
        table.write_text(text, encoding="utf-8")
    page = write_report(
        sections, out, title=TITLE, notes=_notes(plan, outcomes, about), about=about
    )
    return [page, table, records]


def _plain(value: Any) -> Any:
    """NumPy numbers as Python's."""
    return value.item()


def _notes(plan: Plan, outcomes: Sequence[Outcome], about: dict[str, Any]) -> list[str]:
    notes = [
        "The experiments of Riemannian Dueling Optimization (Ren, Roy and Ma) with the settings "
        "that the paper prints, beside what its theorems state and its numerical section claims. "
        f"Made by geoduel {about['versions']['geoduel']} on {about['made']}: {len(outcomes)} runs, "
        f"{about['cpu_seconds'] / 60:.1f} minutes of CPU time. The command: `{about['command']}`."
    ]
    if plan.quick:
        notes.append(
            "A quick run: a tenth of the iterations. Its numbers show that everything works, and "
            "cannot be put beside the paper's; so it judges no claim."
        )
    if len(outcomes) < about["planned runs"]:
        notes.append(f"Interrupted: {len(outcomes)} of {about['planned runs']} runs are shown.")
    return notes


def _about(
    experiments: Sequence[Experiment],
    plan: Plan,
    outcomes: Sequence[Outcome],
    seconds: float,
    planned: int,
) -> dict[str, Any]:
    """Command, versions, settings and times of the whole."""
    return {
        "made": time.strftime("%Y-%m-%d %H:%M"),
        "command": _command(experiments, plan),
        "versions": versions(),
        "quick": plan.quick,
        "seeds": list(range(plan.seeds)),
        "photos": None if plan.photos is None else plan.photos.name,
        "planned runs": planned,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(sum(o.about.get("cpu_seconds", 0.0) for o in outcomes), 1),
        "cached runs": sum(bool(o.about.get("cached")) for o in outcomes),
        "settings": _settings(outcomes),
    }


def _command(experiments: Sequence[Experiment], plan: Plan) -> str:
    """The command that makes this report; folders by their last name."""
    names = [e.name for e in experiments]
    words = ["all"] if set(names) == set(EXPERIMENTS) else names
    words += ["--quick"] if plan.quick else []
    words += ["--seeds", str(plan.seeds), "--sizes", "all" if plan.all_sizes else "first"]
    for option, folder in (("--photos", plan.photos), ("--attack-data", plan.attack_data)):
        words += [] if folder is None else [option, folder.name]
    return " ".join(["geoduel reproduce", *words])


def _settings(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Settings of each task once, for all its seeds."""
    found: dict[str, Any] = {}
    for o in outcomes:
        settings = {k: v for k, v in o.task.settings.items() if k != "seed"}
        if "data" in settings:  # a folder of this machine
            settings["data"] = Path(settings["data"]).name
        found.setdefault(o.task.label, settings)
    return found


def _rows(experiments: Sequence[Experiment], outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    rows = []
    for experiment in experiments:
        own = [o for o in outcomes if o.experiment == experiment.name]
        if own and isinstance(experiment, Convergence):
            rows += summary([c for c in experiment.curves(own) if not c.control])
    return rows


def _write_records(outcomes: Sequence[Outcome], path: Path) -> None:
    """Every record of the runs that have a gap against iterations."""
    with naming(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["experiment", "size", "method", "seed", "iteration", "duels", "seconds", "gap"]
        )
        for o in outcomes:
            s, r = o.task.settings, o.record
            if "size" in s and "gap" in r:
                head = [o.experiment, s["size"], s["label"], s["seed"]]
                columns = (r["iteration"], r["duels"], r["seconds"], r["gap"])
                writer.writerows([*head, *row] for row in zip(*columns, strict=True))


def _prepare(out: Path) -> None:
    """Find out before the work, not after it, whether the results can be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".geoduel-probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise ArgumentError(f"--out {out}: cannot write there ({error.strerror})") from None


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(
        title="Gap f - f* to the optimum after a share of the iterations, median over seeds",
        title_justify="left",
    )
    gaps = [name for name in rows[0] if str(name).startswith("at ")]
    for name, justify in [("experiment", "left"), ("method", "left"), ("duels", "right")]:
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name in ["start", *gaps, "CPU s"]:
        table.add_column(name, justify="right")
    for row in rows:
        duels = f"{row['duels']:,}" + ("" if row["sees"] == "duels" else f" {row['sees']}")
        numbers = [f"{row[name]:.1e}" for name in ("start gap", *gaps)]
        table.add_row(
            f"{row['experiment']} {row['size']}",
            str(row["method"]),
            duels,
            *numbers,
            f"{row['seconds']:.1f}",
        )
    return table
