"""Whatever cites the paper cites a place that exists there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from geoduel.reproduce.places import PLACES

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "geoduel"
ABOUT = [
    ROOT / "docs" / "paper.md",
    ROOT / "docs" / "reproduce.md",
    *sorted((SOURCE / "reproduce").rglob("*.py")),
]
"""Files about the paper alone: every number of a section or figure in them is the paper's."""
ELSEWHERE = sorted({*(ROOT / "docs").glob("*.md"), *SOURCE.rglob("*.py")} - set(ABOUT))
KINDS = {
    "Theorem": r"(?:Theorems?|Thms?\.?)",
    "Lemma": "Lemmas?",
    "Proposition": r"Prop(?:osition|\.)",
    "Algorithm": "Algorithms?",
    "Definition": "Definitions?",
    "Assumption": "Assumptions?",
    "Remark": "Remarks?",
    "figure": "[Ff]igures?",
    "table": "[Tt]able",
    "equation": r"(?:[Ee]quations?|eqs?\.)",
    "appendix": "[Aa]ppendix",
    "": r"(?:[Ss]ections?)",
}
NUMBER = {"equation": r"\(\d+\)", "appendix": r"[A-I]\b(?:\.\d)?"}


def cited(text: str) -> set[str]:
    """Places that a text names: "Lemmas 3.1, 3.2 and B.1" are three."""
    found = set()
    for kind, word in KINDS.items():
        one = NUMBER.get(kind, r"(?:[A-I]\.)?\d+(?:\.\d+)*(?![\d.]*\d)")
        several = rf"\b{word}\s+({one}(?:(?:,\s+and|,|\s+and|\s+to|–)\s*{one})*)"
        for match in re.finditer(several, text):
            found |= {f"{kind} {n}".strip() for n in re.findall(one, match[1])}
    return found


def test_numbers_are_found_in_running_text():
    text = "Lemmas 3.1, 3.2 and B.1; Thm 3.6(ii), figure 5, eq. (13), sections 5.1.2 and 5.1.3."
    assert cited(text) == {
        *("Lemma 3.1", "Lemma 3.2", "Lemma B.1", "Theorem 3.6", "figure 5", "equation (13)"),
        *("5.1.2", "5.1.3"),
    }


@pytest.mark.parametrize("path", ABOUT, ids=lambda p: p.name)
def test_what_is_about_the_paper_cites_it_right(path):
    assert cited(path.read_text(encoding="utf-8")) <= set(PLACES)


def test_what_names_the_authors_cites_them_right():
    """Elsewhere a number counts if the sentence names the paper or its authors."""
    for path in ELSEWHERE:
        text = " ".join(path.read_text(encoding="utf-8").split())
        for sentence in re.findall(r"Ren, Roy and Ma[^;]*?(?=;|\. [A-Z]|\"\"\"|$)", text):
            assert cited(sentence) <= set(PLACES), path


def test_the_numbers_are_complete():
    """Equations, figures and results follow one another as in the paper."""
    assert [p for p in PLACES if p.startswith("figure")] == [f"figure {i + 1}" for i in range(14)]
    equations = [p for p in PLACES if p.startswith("equation")]
    assert equations == [f"equation ({i + 1})" for i in range(14)]
    third = [p.split()[1] for p in PLACES if re.search(r" 3\.\d", p)]
    assert third == [f"3.{i + 1}" for i in range(10)]
    sections = [p for p in PLACES if p[0] == "5"]
    assert sections == ["5", "5.1", "5.1.1", "5.1.2", "5.1.3", "5.2", "5.2.1", "5.2.2"]
