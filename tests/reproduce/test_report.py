"""The report stands alone: nothing is loaded from elsewhere, and what it says is escaped."""

import csv
import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from geoduel.reproduce.claims import Claim, at_most
from geoduel.reproduce.estimates import median
from geoduel.reproduce.report import Figure, Gallery, Pace, Section, Table, quantity, write_report

pytest.importorskip("matplotlib")
from geoduel.plotting import COLOURS, INK, band, panels

JPEG = b"\xff\xd8\xff\xe0picture"


def drawing():
    import numpy as np

    with panels(1, 2) as (figure, axes):
        x = np.linspace(0, 1, 5)
        band(axes[0, 0], x, x, x, x + 1, colour=COLOURS[0], label="one")
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
        claims=[
            Claim(("5.1.1",), "fast", "ratio", at_most(10), {"d = 2": median([1.0, 2, 3, 4, 5])}),
            Claim(
                ("5.1.2", "figure 2"),
                "exact",
                "gap",
                at_most(1),
                {"n = 5": median([2.0, 3, 4, 5, 6])},
                {"coin": median([9.0])},
                remark="by far",
            ),
            Claim(("5.2.1",), "secret", "gap", at_most(1), {}, missing="it needs torch"),
        ],
        paces=[Pace("one", "RDNGD", 1e-6, 1000.0, 100.0, median([10.0]), 1, 3)],
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
        assert address.startswith(("#", "data:image/")), address
    assert not re.search(r"url\((?!#)|@import|<script|<link", text)


STORED = Path(__file__).resolve().parents[2] / "docs" / "reports" / "paper.html"


@pytest.mark.skipif(not STORED.is_file(), reason="no report is stored")
def test_the_stored_report_is_full_and_small():
    """One file below 5 MB, of a full run with five seeds, that needs nothing beside it."""
    text = STORED.read_text(encoding="utf-8")
    assert STORED.stat().st_size < 5_000_000
    reader = Reader()
    reader.feed(text)
    assert all(a.startswith(("#", "data:image/")) for a in reader.addresses)
    about = json.loads(unescape(re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)[-1]))
    assert about["command"].startswith("geoduel reproduce all ")
    assert not about["quick"]
    assert len(about["seeds"]) >= 5


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


def test_the_report_begins_with_verdicts_and_ends_with_the_numbers(page):
    _, text = page
    heads = re.findall(r'<h2 id="(\w+)">', text)
    assert heads == ["verdicts", "one", "claims", "default", "about"]
    assert "2 of 3" in text  # one seed of the default method missed


def test_the_first_page_counts_the_claims_and_names_those_that_fail(page):
    path, text = page
    assert "3 statements that a run can decide" in text
    assert "1 hold, 0 hold in part, 1 do not hold, 1 were not tested" in text
    with (path.parent / "tables" / "claims-that-fail.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[1:] == [
        ["does not hold", "5.1.2, figure 2", "exact", "gap: at most 1", "n = 5: 4.0"],
        ["not tested", "5.2.1", "secret", "gap: at most 1", "it needs torch"],
    ]


def test_every_claim_shows_rule_interval_controls_and_remark(page):
    path, _ = page
    with (path.parent / "tables" / "claims.csv").open(encoding="utf-8") as file:
        rows = {row["the paper says"]: row for row in csv.DictReader(file)}
    assert rows["fast"]["measured"] == "d = 2: 3.0 (1.0 to 5.0; 5 seeds)"
    assert rows["fast"]["verdict"] == "holds"
    assert rows["exact"]["controls"].startswith("coin: 9.0")
    assert rows["exact"]["remark"] == "by far"


def test_laws_stand_side_by_side(tmp_path):
    def tried(says, law, value, again=False):
        numbers = {"n = 5": median([value] * 5)}
        options = {"under": law, "again": again}
        return Claim(("5.1.2",), says, "gap", at_most(1), numbers, **options)

    claims = [
        *(tried("near", "toolbox", 0.5), tried("near", "uniform", 2.0, again=True)),
        *(tried("exact", "toolbox", 3.0), tried("exact", "uniform", 0.1, again=True)),
    ]
    section = Section("s", "S", [], claims=claims)
    path = write_report([section], tmp_path, title="t", notes=[], about={})
    text = path.read_text(encoding="utf-8")
    assert "2 statements that a run can decide" in text
    assert "No setting bears out both “near” and “exact”" in text
    with (tmp_path / "tables" / "claims-by-law.csv").open(encoding="utf-8") as file:
        assert next(csv.reader(file)) == ["the paper says", "toolbox", "uniform"]


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
