"""One style for all figures: hues of Okabe and Ito, no box, a faint grid.

Colour-blind readers and grey prints tell these hues apart. Figures are plain matplotlib figures: no
pyplot, no global state, no display.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "as_svg", "band", "drawn_on", "panels", "require", "save", "superscript"]

COLOURS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7a828c"]
INK, GRID = "#1d2025", "#d9dde3"  # the page's own colours take their place in SVG
FAINT = "#9aa1aa"
STYLE = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.7,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "white",
    "svg.hashsalt": "geoduel",
    "svg.fonttype": "path",
    "path.simplify_threshold": 0.4,  # of a pixel: finer than the lines
}


def require() -> None:
    """Raise MissingExtraError unless matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("figures need matplotlib: pip install 'geoduel[plot]'") from None


@contextmanager
def panels(rows: int, columns: int, width: float = 12.0, height: float = 3.4) -> Iterator[Any]:
    """Give ``(figure, axes)`` in the package's style; ``axes`` has shape (rows, columns)."""
    require()
    from matplotlib import rc_context

    with rc_context(STYLE):  # type: ignore[arg-type]
        figure = _shown()[0](figsize=(width, height * rows), layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False)
        for axis in figure.axes:
            _label_powers(axis)
        figure.draw_without_rendering()  # the style holds only in here,
        figure.set_layout_engine("none")  # and the layout need not be found again for each file


@cache
def _shown() -> tuple[type[Figure], type[Axes]]:
    """Kinds of figures and axes that a notebook shows as the last line of a cell."""
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    class Shown:
        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            figure: Any = self.figure  # type: ignore[attr-defined]
            figure.savefig(stream, format="png", dpi=110, facecolor="white")
            return stream.getvalue()

    class ShownFigure(Shown, Figure):
        pass

    class ShownAxes(Shown, Axes):
        def set_title(self, *args: Any, **settings: Any) -> Any:  # another one, in the same style
            with rc_context(STYLE):  # type: ignore[arg-type]
                return super().set_title(*args, **settings)

    return ShownFigure, ShownAxes


@contextmanager
def drawn_on(ax: Axes | None, width: float = 5.6, height: float = 3.8) -> Iterator[Axes]:
    """Give the axes, or those of a new figure in the package's style."""
    require()
    from matplotlib import rc_context

    if ax is not None and not hasattr(ax, "plot"):
        raise ArgumentError(f"ax must be axes of Matplotlib, got {ax!r:.80}")
    if ax is not None and not isinstance(ax, _shown()[1]):  # of the user's own style
        yield ax
        return
    with rc_context(STYLE):  # type: ignore[arg-type]
        if ax is not None:
            yield ax
            return
        figure = _shown()[0](figsize=(width, height), layout="constrained")
        new = figure.add_subplot(axes_class=_shown()[1])
        yield new
        _label_powers(new)
        figure.draw_without_rendering()  # the style holds only in here


def superscript(number: int) -> str:
    """Write an integer in raised digits.

    Examples
    --------
    >>> f"10{superscript(-12)}"
    '10⁻¹²'
    """
    return str(number).translate(_RAISED)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _label_powers(axis: Any) -> None:
    """Label powers of ten alone, where there are some, and as plain text, which draws fast."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    def power(value: float, _: int) -> str:
        return f"10{superscript(round(np.log10(value)))}"

    for scale, (low, high), side in (
        (axis.get_xscale(), axis.get_xlim(), axis.xaxis),
        (axis.get_yscale(), axis.get_ylim(), axis.yaxis),
    ):
        if scale == "log" and high > 20 * low and isinstance(side.get_major_locator(), LogLocator):
            side.set_major_formatter(FuncFormatter(power))
            side.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: Path) -> list[Path]:
    """Write ``path`` as PNG and PDF, on white."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = [path.with_name(f"{path.name}.{ending}") for ending in ("png", "pdf")]
    for file in made:
        figure.savefig(file, dpi=150, facecolor="white")
    return made


_DIGITS = re.compile(r"(\.\d\d)\d+")


def as_svg(figure: Figure, alt: str) -> str:
    """Return an SVG element for a page, whose text and grid take the page's colours."""
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context(STYLE):  # type: ignore[arg-type]
        figure.savefig(stream, format="svg", facecolor="none", metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # A hundredth of a point is finer than any screen, and half the bytes.
    text = re.sub(r' d="[^"]*"', lambda path: _DIGITS.sub(r"\1", path[0]), text)
    text = text.replace(INK, "currentColor").replace(GRID, "var(--line)")
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(alt)}"', 1).strip()


AREA_POINTS = 120  # of the area of a `band`


def band(
    axis: Any,
    x: np.ndarray,
    low: np.ndarray,
    middle: np.ndarray,
    high: np.ndarray,
    *,
    colour: str,
    label: str,
    style: str = "-",
) -> None:
    """Draw a line and, around it, the area between its lower and upper ends.

    One place alone, of which a line and an area show nothing, is a dot with a bar.
    """
    if len(x) == 1:
        ends = np.clip([np.subtract(middle, low), np.subtract(high, middle)], 0, None)
        axis.errorbar(x, middle, ends, fmt="o", color=colour, label=label)
        return
    axis.plot(x, middle, style, color=colour, label=label)
    # Lines are simplified as they are drawn, and areas are not: too many points make long files.
    x, low, high = map(np.asarray, (x, low, high))
    few = np.unique(np.linspace(0, len(x) - 1, AREA_POINTS).round().astype(int))
    axis.fill_between(x[few], low[few], high[few], color=colour, alpha=0.16, linewidth=0)
