"""The report: one HTML file that needs nothing else, for screen and paper, light and dark.

Sections hold blocks: paragraphs (plain strings), figures, tables and pictures. Figures go into the
file as SVG whose text and grid take the page's colours, and beside it as PNG and PDF; tables as
CSV.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

__all__ = [
    "Claim",
    "Figure",
    "Pace",
    "Pictures",
    "Section",
    "Table",
    "number",
    "quantity",
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


@dataclass(frozen=True)
class Pictures:
    """Rows of JPEG pictures, each with a line below it."""

    rows: Sequence[Sequence[tuple[bytes, str]]]
    caption: str


Block = str | Figure | Table | Pictures


@dataclass(frozen=True)
class Claim:
    """A statement of the paper beside a measurement.

    Attributes
    ----------
    where, says : str
        Section, and what it says.
    paper, measured : str
        The two values, in words where they are no numbers.
    ratio : float or None
        Measured over the paper's, where that means something.
    why : str
        Why they differ, or what to make of it.
    """

    where: str
    says: str
    paper: str
    measured: str
    ratio: float | None
    why: str


@dataclass(frozen=True)
class Pace:
    """Duels to the accuracy where the paper's run ends: the paper's method and the default one.

    Medians over seeds; ``ratio`` is theirs over ours, seed by seed, and ``missed`` how many seeds
    of the default method never got there.
    """

    problem: str
    method: str
    accuracy: float
    theirs: float
    ours: float
    ratio: float
    missed: int
    seeds: int


@dataclass(frozen=True)
class Section:
    """What one experiment contributes; ``rows`` are for the summary in JSON."""

    name: str
    title: str
    blocks: Sequence[Block]
    claims: Sequence[Claim] = ()
    paces: Sequence[Pace] = ()
    rows: Sequence[dict[str, Any]] = field(default_factory=list)


def number(x: float) -> str:
    """Write a number with two digits, as a power of ten where it is small or large.

    Examples
    --------
    >>> number(4.2e-8), number(0.31), number(78.8), number(0.0)
    ('4.2·10⁻⁸', '0.31', '79', '0')
    """
    if x == 0 or not math.isfinite(x):
        return {0.0: "0", math.inf: "∞", -math.inf: "−∞"}.get(x, "–")
    if 0.01 <= abs(x) < 1e5:
        digits = max(0, 1 - math.floor(math.log10(abs(x))))
        return f"{x:,.{digits}f}".replace("-", "−")
    mantissa, power = f"{x:.1e}".split("e")
    return f"{mantissa}·10{str(int(power)).translate(_RAISED)}".replace("-", "−", 1)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
    closing = [*_claims(sections), *_paces(sections)]
    parts, entries = [], []
    for section in [*sections, *closing]:
        body = "\n".join(_block(block, out) for block in section.blocks)
        head = f'<h2 id="{section.name}">{escape(section.title)}</h2>'
        parts.append(f"<section>\n{head}\n{body}\n</section>")
        entries.append(f'<a href="#{section.name}">{escape(section.title)}</a>')
    page = Template(files("geoduel.reproduce").joinpath("report.html").read_text(encoding="utf-8"))
    text = page.substitute(
        title=escape(title),
        notes="\n".join(f"<p>{_inline(note)}</p>" for note in notes),
        contents="\n".join(entries),
        sections="\n".join(parts),
        about=escape(json.dumps(about, indent=2, ensure_ascii=False)),
    )
    path = out / "report.html"
    path.write_text(text, encoding="utf-8")
    return path


def _claims(sections: Sequence[Section]) -> list[Section]:
    claims = [claim for section in sections for claim in section.claims]
    if not claims:
        return []
    rows = [
        [c.where, c.says, c.paper, c.measured, "" if c.ratio is None else number(c.ratio), c.why]
        for c in claims
    ]
    head = ["where", "the paper says", "its value", "measured", "ratio", "why"]
    table = Table(
        head,
        rows,
        "E-numbers are the errata listed in docs/paper.md.",
        name="paper-and-measurement",
    )
    return [
        Section(
            "claims",
            "Paper against measurement",
            [
                "Every statement of the numerical section, beside what was measured with the "
                "settings it names. The ratio is the measured value over the paper's, or of the "
                "two values compared.",
                table,
            ],
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
            f"{p.ratio:.0f}" if p.ratio >= 10 else f"{p.ratio:.1f}",
            f"{p.seeds - p.missed} of {p.seeds}",
        ]
        for p in paces
    ]
    head = ["problem", "paper's method", "its final gap", "its duels", "default's duels", "ratio"]
    table = Table(
        [*head, "seeds that got there"],
        rows,
        "Duels until the gap is that of the paper's run at its end, on the same problems; medians "
        "over seeds. Ratio: the paper's duels over the default's, seed by seed. Where the paper's "
        "run ended no better than it began there is nothing to reach.",
        name="default-method",
    )
    intro = "The package's default method has no settings. It sees the same duels and nothing else."
    return [Section("default", "The default method on the same problems", [intro, table])]


# ---- Blocks as HTML ------------------------------------------------------------------------------


def _block(block: Block, out: Path) -> str:
    if isinstance(block, str):
        return f"<p>{_inline(block)}</p>"
    if isinstance(block, Figure):
        return _figure(block, out)
    if isinstance(block, Table):
        return _table(block, out)
    return _pictures(block)


def _inline(text: str) -> str:
    """Plain text, with `code` between backquotes."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def _figure(block: Figure, out: Path) -> str:
    from ..plotting import as_svg, save

    save(block.drawing, out / "figures" / block.name)
    links = " ".join(
        f'<a href="figures/{block.name}.{ending}">{ending.upper()}</a>' for ending in ("png", "pdf")
    )
    svg = as_svg(block.drawing, block.caption)
    caption = f"{_inline(block.caption)} <span class=files>{links}</span>"
    return f"<figure>\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>"


def _table(block: Table, out: Path) -> str:
    if block.name:
        _write_csv(block, out / "tables" / f"{block.name}.csv")
    numeric = [
        all(isinstance(c, str) and _is_number(c) for c in column)
        for column in zip(*block.rows, strict=True)
    ]
    classes = ["" if not n else " class=n" for n in numeric] or [""] * len(block.head)
    head = "".join(f"<th{c}>{_inline(h)}" for c, h in zip(classes, block.head, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{c}>{_cell(v)}" for c, v in zip(classes, row, strict=True))
        for row in block.rows
    )
    caption = f"<caption>{_inline(block.caption)}</caption>"
    table = f"<table>{caption}\n<thead><tr>{head}</thead>\n<tbody>{body}</tbody></table>"
    table = f"<div class=wide>{table}</div>"
    if block.folded:
        summary = f"<summary>{_inline(block.caption)}</summary>"
        return f"<details>{summary}{table.replace(caption, '')}</details>"
    return table


def _cell(value: str | bytes) -> str:
    return _image(value, "") if isinstance(value, bytes) else _inline(value)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[−\-+]?[\d,.∞–]*(·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?( ?%|°)?", text) is not None


def _pictures(block: Pictures) -> str:
    rows = []
    for row in block.rows:
        cells = "".join(
            f"<figure>{_image(data, text)}<figcaption>{_inline(text)}</figcaption></figure>"
            for data, text in row
        )
        rows.append(f"<div class=row>{cells}</div>")
    caption = f"<p class=caption>{_inline(block.caption)}</p>"
    return f"<div class=pictures>{''.join(rows)}</div>\n{caption}"


def _image(data: bytes, text: str) -> str:
    kind = "png" if data.startswith(b"\x89PNG") else "jpeg"
    encoded = base64.b64encode(data).decode("ascii")
    return f'<img alt="{escape(text)}" src="data:image/{kind};base64,{encoded}">'


def _write_csv(table: Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    kept = [i for i in range(len(table.head)) if not _holds_pictures(table.rows, i)]
    writer.writerow([table.head[i] for i in kept])
    writer.writerows([row[i] for i in kept] for row in table.rows)
    path.write_text(stream.getvalue(), encoding="utf-8")


def _holds_pictures(rows: Iterable[Sequence[str | bytes]], column: int) -> bool:
    return any(isinstance(row[column], bytes) for row in rows)
