"""The report stands alone: nothing is loaded from elsewhere, and what it says is escaped."""

import csv
import math
import re
from html.parser import HTMLParser

import pytest

from geoduel.reproduce.report import (
    Claim,
    Figure,
    Gallery,
    Pace,
    Section,
    Table,
    number,
    quantity,
    write_report,
)

pytest.importorskip("matplotlib")
from geoduel.plotting import COLOURS, INK, band, panels

JPEG = b"\xff\xd8\xff\xe0picture"


def drawing():
    import numpy as np

    with panels(1, 2) as (figure, axes):
        x = np.linspace(0, 1, 5)
        band(axes[0, 0], x, np.array([x, x + 1]), colour=COLOURS[0], label="one")
        axes[0, 1].set_title("<two>")
    return figure


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    section = Section(
        "one",
        "First & <only>",
        [
            "Text with `code` and a < b.",
            Figure("one", drawing(), 'A "caption"'),
            Table(["x", "picture"], [["1.5", JPEG], ["−2·10⁻³", JPEG]], "Numbers.", name="one"),
            Gallery([[(JPEG, "before"), (JPEG, "after")]], "Both."),
        ],
        claims=[Claim("5.1", "fast", "10", "20", 2.0, "because")],
        paces=[Pace("one", "RDNGD", 1e-6, 1000.0, 100.0, 10.0, 1, 3)],
    )
    path = write_report([section], out, title="A & B", notes=["note"], about={"numpy": "2"})
    return path, path.read_text(encoding="utf-8")


class Reader(HTMLParser):
    """Collects addresses and checks that tags which need it are closed."""

    def __init__(self):
        super().__init__()
        self.addresses, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.addresses += [v for k, v in attrs if k in ("src", "href", "xlink:href", "action")]
        if tag in ("section", "figure", "table", "svg", "main", "details", "nav", "div"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ("section", "figure", "table", "svg", "main", "details", "nav", "div"):
            assert self.open.pop() == tag


def test_nothing_is_loaded_from_elsewhere(page):
    _, text = page
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    for address in reader.addresses:
        assert address.startswith(("#", "data:image/", "figures/")), address
    assert not re.search(r"url\((?!#)|@import|<script|<link", text)


def test_text_is_escaped(page):
    _, text = page
    assert "A &amp; B" in text
    assert "First &amp; &lt;only&gt;" in text
    assert "a &lt; b" in text
    assert "<code>code</code>" in text
    assert "<only>" not in text


def test_figures_take_the_colours_of_the_page(page):
    _, text = page
    assert "currentColor" in text
    assert INK not in text
    assert 'aria-label="A &quot;caption&quot;"' in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_files_lie_beside_the_page(page):
    path, _ = page
    for ending, head in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert (path.parent / "figures" / f"one.{ending}").read_bytes().startswith(head)
    with (path.parent / "tables" / "one.csv").open(encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["x"], ["1.5"], ["−2·10⁻³"]]


def test_the_report_ends_with_claims_and_the_default_method(page):
    _, text = page
    heads = re.findall(r'<h2 id="(\w+)">', text)
    assert heads == ["one", "claims", "default", "about"]
    assert "2 of 3" in text  # one seed of the default method missed


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0"),
        (1.234, "1.2"),
        (12.34, "12"),
        (0.0123, "0.012"),
        (0.00999, "1.0·10⁻²"),
        (-4.2e-8, "−4.2·10⁻⁸"),
        (12345.6, "12,346"),
        (1e5, "1.0·10⁵"),
        (math.inf, "∞"),
        (math.nan, "–"),
    ],
)
def test_numbers(x, text):
    assert number(x) == text


@pytest.mark.parametrize(
    ("x", "text"), [(50_000, "50,000"), (1e-8, "1e-08"), ("paper", "paper"), (True, "True")]
)
def test_settings_in_words(x, text):
    assert quantity(x) == text


def test_columns_of_numbers_stand_to_the_right():
    table = Table(["a", "b", "c"], [["1", "−2·10⁻³", "x"], ["3.5 %", "∞", "4"]], "Mixed.")
    assert table.numeric == [True, True, False]
    assert Table(["a", "b"], [], "Empty.").numeric == [False, False]


def test_without_jinja_the_extra_is_named(monkeypatch):
    import sys

    from geoduel.errors import MissingExtraError
    from geoduel.reproduce.report import report_template

    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"geoduel\[plot\]"):
        report_template()


def test_long_tables_are_folded_under_their_caption(tmp_path):
    table = Table(["a"], [["1"]], "All of <them>.", folded=True)
    path = write_report([Section("s", "S", [table])], tmp_path, title="t", notes=[], about={})
    text = path.read_text(encoding="utf-8")
    assert "<summary>All of &lt;them&gt;.</summary>" in text
    assert "<caption>" not in text
