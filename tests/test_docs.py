"""The guide: sentences one can read to their end, and names that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GUIDE = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WORDS = 30
"""The notebook (`docs/notebook/`) is a log and may ramble; the guide may not."""


def sentences(page: str) -> list[str]:
    """Sentences of the running text: no code, tables, headings, comments or addresses of links."""
    page = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
    page = re.sub(r"^(?:#|\||--8<--|:::| {4}).*$", "", page, flags=re.MULTILINE)
    page = re.sub(r"`[^`]+`", "code", page)
    page = re.sub(r"!?\[([^]]*)\]\([^)]*\)(?:\{[^}]*\})?", r"\1", page)
    paragraphs = re.split(r"\n\s*\n|^ *(?:-|\d+\.) ", page, flags=re.MULTILINE)
    return [
        " ".join(sentence.split())
        for paragraph in paragraphs
        for sentence in re.split(r"(?<=[.!?])[\"')*]*\s+", paragraph)
        if sentence.strip()
    ]


def words(sentence: str) -> int:
    return len([word for word in sentence.split() if re.search(r"\w", word)])


@pytest.mark.parametrize("page", GUIDE, ids=lambda p: p.name)
def test_sentences_are_short(page):
    long = [s for s in sentences(page.read_text(encoding="utf-8")) if words(s) > WORDS]
    assert not long, f"{page.name} has sentences of more than {WORDS} words: {long}"


@pytest.mark.parametrize("page", GUIDE, ids=lambda p: p.name)
def test_relative_clauses_have_a_head(page):
    """Say "five boxes, three of them full": "of which" makes a reader go back."""
    headless = r"\bof (?:which|whom)\b|\b(?:[Ww]hoever|[Ww]hat is more)\b"
    found = [s for s in sentences(page.read_text(encoding="utf-8")) if re.search(headless, s)]
    assert not found, f"{page.name}: {found}"


def test_the_rule_finds_what_it_forbids():
    text = "# A heading of any length\n\nShort. " + "word " * 31 + "\n\n| " + "cell " * 40 + "|\n"
    assert [words(s) for s in sentences(text)] == [1, 31]
    assert sentences("See [the page](https://a.b/c d), `f(x, y)`.") == ["See the page, code."]
    assert sentences("- one\n- two\n  goes on. Three") == ["one", "two goes on.", "Three"]


def test_tables_are_those_of_the_results():
    """No number is copied by hand: `make tables` writes them."""
    script = ROOT / "benchmarks" / "_tables.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
