"""One page of what was measured: distributions, profiles, convergence, tables. Needs ``plot``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..plotting import COLOURS, panels
from ..reproduce.report import Figure, Section, Table, write_report
from .against import Change
from .measures import areas, digits, distribution, expected, profiles, share, split, usable
from .suites import SUITES

__all__ = ["write_page"]

Record = dict[str, Any]
STYLES = ("-", "--", ":", "-.")


def write_page(records: Iterable[Record], out: Path, changes: Sequence[Change] = ()) -> Path:
    """Write ``report.html`` with all records, its pictures inside; return its path.

    Parameters
    ----------
    records : iterable of dict
        From `geoduel.bench.run`.
    out : Path
        Folder; figures and tables are put beside the page, too.
    changes : sequence of Change
        A comparison with other records, shown first.
    """
    records = list(records)
    sections = [_against(changes)] if changes else []
    for name, runs in split(records, "suite").items():
        sections.append(_section(name, runs))
    versions = sorted({r["geoduel"] for r in records})
    return write_report(
        sections,
        out,
        title="Comparison-only methods, measured",
        notes=[
            "Duels that each method needs, by accuracy. A run and a target make a pair; the curves "
            "show the share of pairs solved within so many duels a dimension. Rankings of solvers "
            "from other packages are counted in the duels that make them."
        ],
        about={"geoduel": versions, "runs": len(records)},
    )


def _section(name: str, runs: list[Record]) -> Section:
    title = SUITES[name].title if name in SUITES else name
    methods = list(dict.fromkeys(r["method"] for r in runs))
    table = areas(runs)
    rows = [
        [group, *(f"{row[m]:.3f}" if m in row else "–" for m in methods)]
        for group, row in table.items()
    ]
    parts = [
        f"{len(runs)} runs of {len(methods)} methods on {len(split(runs, 'problem'))} problems.",
        Table(["group", *methods], rows, "Area under the distribution; 1 is best.", f"{name}-area"),
        _distributions(name, runs, methods),
        _profiles(name, runs, methods),
        _convergence(name, runs, methods),
        _duels(name, runs, methods),
        _stops(name, runs, methods),
    ]
    return Section(name, title, parts)


def _line(methods: Sequence[str], method: str) -> dict[str, Any]:
    i = methods.index(method)
    return {
        "color": COLOURS[i % len(COLOURS)],
        "ls": STYLES[i // len(COLOURS) % len(STYLES)],
        "label": method,
    }


def _grid(count: int) -> tuple[int, int]:
    columns = min(3, count)
    return math.ceil(count / columns), columns


def _distributions(name: str, runs: list[Record], methods: list[str]) -> Figure:
    groups = split(usable(runs), "group")
    with panels(*_grid(len(groups))) as (figure, axes):
        for axis, (group, those) in zip(axes.flat, groups.items(), strict=False):
            most = max(r["budget"] for r in those)
            duels = np.geomspace(1, most, 200)
            for m, each in split(those, "method").items():
                axis.step(duels, distribution(each, duels), where="post", **_line(methods, m))
            axis.set(xscale="log", title=group, xlabel="duels / d", ylim=(0, 1), xlim=(1, most))
        for axis in list(axes.flat)[len(groups) :]:
            axis.set_axis_off()
        axes.flat[0].set_ylabel("share of pairs solved")
        axes.flat[0].legend(fontsize=6, ncols=1 + len(methods) // 12)
    return Figure(
        f"{name}-distributions", figure, "Pairs of runs and targets solved, by group of problems."
    )


def _profiles(name: str, runs: list[Record], methods: list[str]) -> Figure:
    ratios = np.geomspace(1, 64, 200)
    with panels(1, 1) as (figure, axes):
        for m, values in profiles(runs, ratios).items():
            axes[0, 0].step(ratios, values, where="post", **_line(methods, m))
        axes[0, 0].set(
            xscale="log", xlabel="expected duels, over those of the best", ylim=(0, 1),
            ylabel="share of problems and targets",
        )  # fmt: skip
        axes[0, 0].legend(fontsize=6, ncols=1 + len(methods) // 12)
    return Figure(f"{name}-profiles", figure, "Performance profiles of Dolan and Moré.")


def _convergence(name: str, runs: list[Record], methods: list[str]) -> Figure:
    groups = split(usable(runs), "group")
    with panels(*_grid(len(groups))) as (figure, axes):
        for axis, (group, those) in zip(axes.flat, groups.items(), strict=False):
            for m, each in split(those, "method").items():
                shares, duels = digits(each)
                known = np.isfinite(duels)
                if known.any():
                    axis.plot(duels[known], shares[known], **_line(methods, m))
            axis.set(xscale="log", yscale="log", title=group, xlabel="duels / d")
        for axis in list(axes.flat)[len(groups) :]:
            axis.set_axis_off()
        axes.flat[0].set_ylabel("gap, over the first target")
    return Figure(f"{name}-convergence", figure, "Median duels a dimension to each accuracy.")


def _duels(name: str, runs: list[Record], methods: list[str]) -> Table:
    rows = []
    for problem, those in split(usable(runs), "problem").items():
        each = split(those, "method")
        last = len(those[0]["hits"]) - 1
        cells = [
            " / ".join(_count(expected(each.get(m, []), k)) for k in (last // 3, last))
            for m in methods
        ]
        rows.append([problem, str(those[0]["d"]), *cells])
    return Table(
        ["problem", "d", *methods],
        rows,
        "Expected duels to a third of the digits and to all of them.",
        f"{name}-duels",
        folded=len(rows) > 12,
    )


def _stops(name: str, runs: list[Record], methods: list[str]) -> Table:
    rows = []
    for m in methods:
        those = [r for r in runs if r["method"] == m]
        used = usable(those)
        words = [r["stop"].split(":")[0] for r in those]
        most = sorted(set(words), key=words.count, reverse=True)
        per = [r["evaluations"] / r["duels"] for r in used if r["duels"]]
        rows.append(
            [
                m,
                f"{share(used):.2f}" if used else "–",
                ", ".join(f"{words.count(w)} {w}" for w in most),
                f"{np.mean(per):.2f}" if per else "–",
                f"{np.median([1e3 * r['seconds'] / r['duels'] for r in used if r['duels']]):.2f}"
                if per
                else "–",
            ]
        )
    head = ["method", "share solved", "ends", "evaluations a duel", "ms a duel"]
    return Table(head, rows, "How runs ended, and what a duel costs.", f"{name}-ends")


def _against(changes: Sequence[Change]) -> Section:
    rows = [
        [c.suite, c.method, f"{c.ratio:.3f}", f"{c.error:.3f}", str(c.runs), c.worst,
         "slower" if c.failed else ""]
        for c in changes
    ]  # fmt: skip
    head = ["suite", "method", "ratio of duels", "error of its log", "runs", "worst problem", ""]
    table = Table(head, rows, "Duels now over duels then.", "against")
    return Section("against", "Against the other version", [table])


def _count(duels: float) -> str:
    return f"{duels:.0f}" if math.isfinite(duels) else "∞"
