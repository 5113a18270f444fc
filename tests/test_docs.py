"""The guide and the docstrings: sentences one can read to their end, and names that exist."""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "geoduel"
GUIDE = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "learn").glob("*.md")),
    *sorted((ROOT / "docs" / "gallery").glob("*.md")),
]
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


@pytest.mark.parametrize("page", [*GUIDE, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_code_of_the_guide_is_narrow(page):
    """A page shows 88 characters of code; longer lines scroll sideways."""
    blocks = re.findall(r"^ *```\w+\n(.*?)^ *```$", page.read_text("utf-8"), re.M | re.S)
    long = [line for block in blocks for line in block.splitlines() if len(line) > 88]
    assert not long


def test_recipes_are_short():
    """A heading, a sentence or two before the block, at most a dozen lines in it."""
    page = (ROOT / "docs" / "how-to.md").read_text(encoding="utf-8")
    recipes = re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    assert len(recipes) >= 25
    for recipe in recipes:
        name, text = recipe.split("\n", 1)
        found = re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        assert found, f"{name!r} has no block"
        long = [block for block in found if len(block.strip().splitlines()) > 12]
        assert not long, f"{name!r} has a block of more than 12 lines"


def test_pictures_of_the_guide_have_their_maker():
    """`docs/images/make.py` draws each of them, no other, and each is shown."""
    folder = ROOT / "docs" / "images"
    made = set(runpy.run_path(str(folder / "make.py"))["PICTURES"])
    shown = {
        name
        for page in GUIDE
        for name in re.findall(r"images/((?:learn|explain)-[\w-]+)\.png", page.read_text("utf-8"))
    }
    assert made == shown
    assert made == {
        path.stem for kind in ("learn", "explain") for path in folder.glob(f"{kind}-*.png")
    }


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("learn-first-duel", {}),
        ("learn-manifolds", {}),
        ("learn-noise", {"runs": 1}),
        ("learn-people", {"runs": 1}),
        ("learn-workers", {"dimensions": (4,)}),
        ("explain-bits", {}),
        ("explain-geodesic", {}),
        ("explain-noise", {}),
        ("explain-speed", {"runs": 1}),
    ],
)
def test_pictures_are_drawn(name, size, tmp_path):
    """At reduced size: that the script goes with the present package."""
    pytest.importorskip("matplotlib")
    draw = runpy.run_path(str(ROOT / "docs" / "images" / "make.py"))["PICTURES"][name]
    draw(**size).savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


GALLERY = sorted(p for p in (ROOT / "docs" / "gallery").glob("*.md") if p.stem != "index")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]\d+)?")


@pytest.mark.parametrize("page", GALLERY, ids=lambda p: p.stem)
def test_pages_of_the_gallery_do_what_they_say(page):
    """The code runs, and saves a picture; it prints the words that the page shows.

    Numbers may differ from machine to machine, as runs do once a digit differs: what a person is
    asked then, and what a run states of its distance. The code itself says what has to hold.
    """
    for need in ("matplotlib", "PIL"):
        pytest.importorskip(need)
    made = runpy.run_path(str(page.parent / "make.py"))
    said, picture = made["run"](page)
    assert picture.startswith(b"\x89PNG")
    text = page.read_text(encoding="utf-8")
    shown = made["OUTPUT"].search(text)[2]
    words, known = (re.sub(r" *# *", " # ", NUMBER.sub("#", text)) for text in (said, shown))
    assert words == known, "run `docs/gallery/make.py`"  # signs move the columns of an array
    for now, then in zip(NUMBER.findall(said), NUMBER.findall(shown), strict=True):
        a, b = abs(float(now)), abs(float(then))
        assert max(a, b) <= 10 * min(a, b) + 3, f"{now} is shown as {then}"
    assert len(picture) < 60_000
    assert (ROOT / "docs" / "images" / f"gallery-{page.stem}.png").stat().st_size < 60_000
    assert f"../images/gallery-{page.stem}.png" in text
    (code,) = made["CODE"].findall(text)
    assert len([line for line in code.splitlines() if line.strip()]) <= 45


def test_the_gallery_has_an_index():
    index = (ROOT / "docs" / "gallery" / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\(([\w-]+)\.md\)", index))
    assert linked == {page.stem for page in GALLERY}
    assert len(GALLERY) >= 10


def running_text(docstring: str) -> str:
    """A docstring without references, examples, types, pseudo-code and tables."""
    text = re.sub(r"^(.+)\n-{3,}$", r"\n# \1\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    paragraphs, section = [], ""
    for paragraph in re.split(r"\n\s*\n", text):
        if heading := re.fullmatch(r"\s*# (.+)", paragraph):
            section = heading[1]
        elif section in {"Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns"}:
            paragraphs += re.split(r"^\S.*$", paragraph, flags=re.MULTILINE)
        elif section not in {"References", "Examples"} and not re.match(r"    |>>>|=", paragraph):
            paragraphs.append(paragraph)
    lines = "\n\n".join(paragraphs).replace("``", "`").splitlines()
    return "\n".join(line.strip().replace("* ", "- ", 1) for line in lines)


def docstrings(path: Path) -> list[str]:
    """Docstrings of a module and all in it, those of attributes, too."""
    return [
        part.value.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for part in node.body
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
        if isinstance(part.value.value, str)
    ]


ROOMS = sorted({path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")})


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_have_short_sentences(room):
    place = SOURCE / room
    long = {
        f"{path.relative_to(SOURCE)}: {sentence}"
        for path in ([place] if place.is_file() else place.rglob("*.py"))
        for docstring in docstrings(path)
        for sentence in sentences(running_text(docstring))
        if words(sentence) > WORDS
    }
    assert not long, "\n".join(sorted(long))


def test_the_rule_finds_what_it_forbids():
    text = "# A heading of any length\n\nShort. " + "word " * 31 + "\n\n| " + "cell " * 40 + "|\n"
    assert [words(s) for s in sentences(text)] == [1, 31]
    assert sentences("See [the page](https://a.b/c d), `f(x, y)`.") == ["See the page, code."]
    assert sentences("- one\n- two\n  goes on. Three") == ["one", "two goes on.", "Three"]


def test_the_running_text_of_a_docstring():
    text = running_text(
        """First line.

        Pseudo-code:

            repeat: this is none of it

        Parameters
        ----------
        x : float, of any length
            What it is; ``f(x, y)`` is not
            three words.

            Nor is this left out.

        References
        ----------
        A long one.

        >>> 1 + 1
        2
        """
    )
    found = ["First line.", "Pseudo-code:", "What it is; code is not three words."]
    assert sentences(text) == [*found, "Nor is this left out."]


def test_tables_are_those_of_the_results():
    """No number is copied by hand: `make tables` writes them."""
    script = ROOT / "benchmarks" / "_tables.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
