"""The report: one HTML file that needs nothing else, for screen and paper, light and dark.

Sections hold parts: paragraphs (plain strings), figures, tables and pictures, which the template
``report.html`` lays out. Figures go into the file as SVG whose text and grid take the page's
colours, and beside it as PNG and PDF; tables as CSV.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.files import naming
from ..errors import MissingExtraError
from ..plotting import as_svg, save
from .claims import FAILS, PARTLY, UNTESTED, VERDICTS, Claim, by_setting, conflicts, count
from .estimates import Estimate, number

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure as Drawing

__all__ = [
    "Claim",
    "Figure",
    "Gallery",
    "Pace",
    "Part",
    "Section",
    "Table",
    "quantity",
    "report_template",
    "write_report",
]


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption; ``name`` names the PNG and the PDF."""

    name: str
    drawing: Drawing
    caption: str


@dataclass(frozen=True)
class Table:
    """Rows of text; written as CSV too if it has a name, folded away if it is long.

    A cell may be a `Picture`'s bytes (JPEG), which CSV leaves out.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | bytes]]
    caption: str
    name: str | None = None
    folded: bool = False

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers alone, and stand to the right."""
        columns = zip(*self.rows, strict=True) if self.rows else [["?"]] * len(self.head)
        return [all(isinstance(c, str) and _NUMBER.fullmatch(c) for c in each) for each in columns]


_NUMBER = re.compile(r"[−\-+]?[\d,.∞–]*(·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?( ?%|°)?")


@dataclass(frozen=True)
class Gallery:
    """Rows of JPEG pictures, each with a line below it."""

    rows: Sequence[Sequence[tuple[bytes, str]]]
    caption: str


Part = str | Figure | Table | Gallery


@dataclass(frozen=True)
class Pace:
    """Duels to the accuracy where the paper's run ends: the paper's method and the default one.

    Medians over seeds; ``ratio`` is theirs over ours, seed by seed with its interval, and
    ``missed`` how many seeds of the default method never got there.
    """

    problem: str
    method: str
    accuracy: float
    theirs: float
    ours: float
    ratio: Estimate
    missed: int
    seeds: int


@dataclass(frozen=True)
class Section:
    """What one experiment contributes; ``rows`` are for the summary in JSON."""

    name: str
    title: str
    parts: Sequence[Part]
    claims: Sequence[Claim] = ()
    paces: Sequence[Pace] = ()
    rows: Sequence[dict[str, Any]] = field(default_factory=list)


def quantity(value: Any) -> str:
    """A setting in words: numbers as short as they are exact."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def write_report(
    sections: Sequence[Section],
    out: Path,
    *,
    title: str,
    notes: Sequence[str],
    about: dict[str, Any],
) -> Path:
    """Write ``report.html``, and the figures and tables beside it.

    Parameters
    ----------
    sections : sequence of Section
        In order.
    out : Path
        Folder.
    title : str
        Of the page.
    notes : sequence of str
        Paragraphs below the title.
    about : dict
        Versions and settings, shown at the end.

    Returns
    -------
    Path
        The page.
    """
    claims = [claim for section in sections for claim in section.claims]
    first, table = (_verdicts(claims), _claims(claims)) if claims else ([], [])
    shown = [*first, *sections, *table, *_paces(sections)]
    for part in (part for section in shown for part in section.parts):
        if isinstance(part, Figure):
            with naming(figure := out / "figures" / part.name):
                save(part.drawing, figure)
        elif isinstance(part, Table) and part.name:
            _write_csv(part, out / "tables" / f"{part.name}.csv")
    text = report_template().render(
        title=title,
        notes=notes,
        sections=shown,
        about=json.dumps(about, indent=2, ensure_ascii=False),
    )
    path = out / "report.html"
    with naming(path):
        path.write_text(text, encoding="utf-8")
    return path


def report_template() -> Template:
    """Return the page's template; raise MissingExtraError unless Jinja is installed."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("reports need jinja2: pip install 'geoduel[plot]'") from None
    environment = Environment(
        loader=PackageLoader("geoduel.reproduce", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": _code, "svg": _svg, "data_url": _data_url}
    environment.tests |= {
        kind.__name__.lower(): lambda part, kind=kind: isinstance(part, kind)
        for kind in (Figure, Table, bytes)
    }
    return environment.get_template("report.html")


def _verdicts(claims: Sequence[Claim]) -> list[Section]:
    """The first page: how many claims have each verdict, which do not hold, and why."""
    found = count(claims)
    total = sum(found.values())
    counted = ", ".join(f"{found[v]} {_PLURAL[v]}" for v in VERDICTS)
    parts: list[Part] = [
        f"The paper makes {total} statements that a run can decide. Of these {counted}. Each "
        "verdict follows from a rule that was fixed beforehand and from the 90 % interval over "
        "seeds: the statement holds where the whole interval obeys the rule, and fails where "
        "none of it does.",
        *conflicts(claims),
    ]
    rows = [
        [c.verdict, ", ".join(c.where), c.says, c.rule_text, c.why]
        for verdict in (FAILS, PARTLY, UNTESTED)
        for c in claims
        if c.verdict == verdict and not c.again
    ]
    if rows:
        head = ["verdict", "where", "the paper says", "rule", "where not, or why not"]
        parts.append(
            Table(head, rows, "What does not hold, or only in part.", name="claims-that-fail")
        )
    if tried := by_setting(claims):
        names = list(dict.fromkeys(c.under for c in claims if c.under))
        body = [
            [says, *(_cell(by[name]) if name in by else "" for name in names)]
            for says, by in tried.items()
        ]
        caption = (
            "The same statements under each law of the matrices; the first is the paper's, and "
            "the others are not counted above."
        )
        parts.append(Table(["the paper says", *names], body, caption, name="claims-by-law"))
    return [Section("verdicts", "Which claims hold", parts)]


_PLURAL = {"holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"} | {
    "not tested": "were not tested"
}


def _cell(claim: Claim) -> str:
    """Verdict and numbers of a claim in one cell."""
    numbers = "; ".join(f"{name}: {number(e.value)}" for name, e in claim.cases.items())
    return f"{claim.verdict} ({numbers})" if numbers else claim.verdict


def _claims(claims: Sequence[Claim]) -> list[Section]:
    """Every claim with its rule, numbers, controls and remark."""
    rows = []
    for c in claims:
        cases = [f"{name}: {e.text}".removeprefix(": ") for name, e in c.cases.items()]
        controls = [f"{name}: {e.text}" for name, e in c.controls.items()]
        place = ", ".join(c.where) + (f" ({c.under})" if c.under else "")
        measured = "; ".join(cases) or "–"
        rows.append(
            [place, c.says, c.rule_text, measured, "; ".join(controls), c.verdict, c.remark]
        )
    head = ["where", "the paper says", "rule", "measured", "controls", "verdict", "remark"]
    caption = (
        "Measured: the median with its 90 % interval, and how many seeds (or images, or runs) it "
        "rests on. Controls: the same number with an oracle that lies, never decides, or tosses a "
        "coin; the rule must refuse them. Remarks are no part of the measurement; E-numbers are "
        "the errata in docs/paper.md."
    )
    return [
        Section(
            "claims",
            "Every claim, its rule and its numbers",
            [Table(head, rows, caption, name="claims")],
        )
    ]


def _paces(sections: Sequence[Section]) -> list[Section]:
    paces = [pace for section in sections for pace in section.paces]
    if not paces:
        return []
    rows = [
        [
            p.problem,
            p.method,
            number(p.accuracy),
            f"{p.theirs:,.0f}",
            f"{p.ours:,.0f}" if math.isfinite(p.ours) else "–",
            number(p.ratio.value),
            f"{number(p.ratio.low)} … {number(p.ratio.high)}",
            f"{p.seeds - p.missed} of {p.seeds}",
        ]
        for p in paces
    ]
    head = ["problem", "paper's method", "its final gap", "its duels", "default's duels", "ratio"]
    table = Table(
        [*head, "90 % interval", "seeds that got there"],
        rows,
        "Duels until the gap is that of the paper's run at its end, on the same problems; medians "
        "over seeds. Ratio: the paper's duels over the default's, seed by seed. Where the paper's "
        "run left more than a hundredth of the start's gap it reached nothing to compare with.",
        name="default-method",
    )
    intro = "The package's default method has no settings. It sees the same duels and nothing else."
    return [Section("default", "The default method on the same problems", [intro, table])]


# -- what the template asks for --------------------------------------------------------------------


def _code(text: str) -> Any:
    """Plain text as HTML, with `code` between backquotes."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _svg(figure: Figure) -> Any:
    from markupsafe import Markup

    return Markup(as_svg(figure.drawing, figure.caption))


def _data_url(data: bytes) -> str:
    kind = "png" if data.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _write_csv(table: Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    pictures = {i for row in table.rows for i, cell in enumerate(row) if isinstance(cell, bytes)}
    for row in (table.head, *table.rows):
        writer.writerow([cell for i, cell in enumerate(row) if i not in pictures])
    with naming(path):
        path.write_text(stream.getvalue(), encoding="utf-8")
