"""Figures: one style, labels that draw fast, files and SVG for the page."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from geoduel.plotting import COLOURS, INK, as_svg, band, panels, save, superscript
from geoduel.plotting.style import drawn_on


def drawing():
    with panels(1, 2) as (figure, axes):
        x = np.linspace(0, 1, 5)
        band(axes[0, 0], x, x, x, x + 1, colour=COLOURS[0], label="one")
        axes[0, 1].set_title("<two>")
    return figure


def test_the_same_figure_gives_the_same_svg():
    assert as_svg(drawing(), "x") == as_svg(drawing(), "x")


def test_svg_paths_have_two_decimals_and_pass_through_the_same_places():
    svg = as_svg(drawing(), "x")
    numbers = re.findall(r"\d+\.\d+", " ".join(re.findall(r' d="([^"]*)"', svg)))
    assert len(numbers) > 50
    assert all(len(n.split(".")[1]) <= 2 for n in numbers)


def test_svg_takes_the_colours_of_the_page_and_its_width():
    svg = as_svg(drawing(), 'a "caption"')
    assert "currentColor" in svg
    assert INK not in svg
    assert svg.startswith('<svg role="img" aria-label="a &quot;caption&quot;"')
    head = svg[: svg.index(">")]
    assert "viewBox=" in head
    assert "width=" not in head


@pytest.mark.parametrize(("n", "raised"), [(0, "⁰"), (-12, "⁻¹²"), (3_456_789, "³⁴⁵⁶⁷⁸⁹")])
def test_raised_digits(n, raised):
    assert superscript(n) == raised


def test_powers_of_ten_alone_are_labelled():
    with panels(1, 1) as (figure, axes):
        axes[0, 0].plot([1, 10, 100], [1, 2, 3])
        axes[0, 0].set_xscale("log")
    figure.canvas.draw()
    words = {t.get_text() for t in figure.axes[0].get_xticklabels()}
    assert {"10⁰", "10¹", "10²"} <= words


def test_a_band_is_a_line_between_its_ends():
    low, middle, high = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    with panels(1, 1) as (figure, axes):
        x = np.array([0.0, 1.0])
        band(axes[0, 0], x, low, middle, high, colour=COLOURS[0], label="x")
    (line,), (area,) = figure.axes[0].lines, figure.axes[0].collections
    assert line.get_ydata().tolist() == [2.0, 4.0]
    heights = area.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (1.0, 6.0)


def test_long_bands_make_short_files():
    x = np.linspace(0, 1, 2_000)
    with panels(1, 1) as (figure, axes):
        band(axes[0, 0], x, x, x, x + 1, colour=COLOURS[0], label="x")
    (area,) = figure.axes[0].collections
    corners = area.get_paths()[0].vertices
    assert len(corners) < 300
    assert corners[:, 0].min() == 0  # from end to end
    assert corners[:, 0].max() == 1
    assert len(as_svg(figure, "x")) < 30_000  # all corners would take 60,000 more


def test_the_style_leaves_no_trace():
    import matplotlib

    before = dict(matplotlib.rcParams)
    drawing()
    assert dict(matplotlib.rcParams) == before


def test_png_and_pdf_are_written(tmp_path):
    made = save(drawing(), tmp_path / "new" / "one")
    assert [p.name for p in made] == ["one.png", "one.pdf"]
    assert [p.read_bytes()[:4] for p in made] == [b"\x89PNG", b"%PDF"]


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    import sys

    from geoduel.errors import MissingExtraError
    from geoduel.plotting import require

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"geoduel\[plot\]"):
        require()


def test_new_axes_have_the_style_and_show_themselves():
    """A notebook asks an object for `_repr_png_`; axes and figures of pyplot have none."""
    with drawn_on(None) as ax:
        ax.plot([1, 2], [1, 1000])
        ax.set_yscale("log")
    assert not ax.spines["top"].get_visible()
    assert ax._repr_png_() == ax.figure._repr_png_()
    assert drawing()._repr_png_().startswith(b"\x89PNG")
    assert "10³" in {t.get_text() for t in ax.get_yticklabels()}
    with drawn_on(ax) as same:
        assert same is ax
        assert not same.legend(["one"]).get_frame_on()  # drawn in the same style


def test_a_title_can_be_replaced():
    with drawn_on(None) as ax:
        ax.set_title("one")
    ax.set(title="two")
    assert (ax.get_title(loc="left"), ax.get_title()) == ("two", "")
    assert ax.title.get_fontweight() == ax._left_title.get_fontweight() == "bold"
