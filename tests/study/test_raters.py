"""What repeats, sides and turns tell of a rater."""

from __future__ import annotations

import math

import pytest

from geoduel.methods.people.attention import Verdict
from geoduel.study.raters import MOST, Tally, against_others


def test_weights_of_raters():
    """The prior is one error in nine; agreement raises it, contradiction takes it to nothing."""
    assert Tally().weight == pytest.approx(math.log(8), abs=0.1)
    weights = [Tally(repeats=n, agreed=n).weight for n in range(30)]
    assert weights == sorted(weights)
    assert weights[-1] == pytest.approx(math.log(19))
    assert Tally(repeats=20, agreed=10).weight < 0.8
    assert Tally(repeats=20, agreed=0).weight == 0


def test_what_is_counted_can_be_taken_back():
    tally = Tally()
    for by in (1, -1):
        for word in ("a", "tie", "skip"):
            tally.count(word, by)
            tally.compare("a", word, by)
        assert (tally.answers, tally.ties, tally.skips) == ((2, 1, 1) if by > 0 else (0, 0, 0))
    assert tally == Tally()


def test_the_same_answer_agrees_and_a_tie_half():
    tally = Tally()
    for again, agreed in [("a", 1.0), ("tie", 1.5), ("b", 1.5)]:
        tally.compare("a", again, 1)
        assert tally.agreed == agreed
    assert tally.repeats == 3


def test_a_skip_says_nothing():
    tally = Tally()
    tally.compare("skip", "a", 1)
    assert tally.report().consistency is None


def test_a_report_says_what_was_counted():
    report = Tally(answers=9, ties=2, skips=1, repeats=4, agreed=3.0).report()
    assert (report.answers, report.ties, report.skips, report.consistency) == (9, 2, 1, 0.75)
    assert 0 < report.weight < MOST


def heard(sides: str, agreed: int = 0, repeats: int = 0) -> Tally:
    tally = Tally(repeats=repeats, agreed=agreed)
    for side in sides:
        tally.count("a", 1, left="a" if side == "l" else "b")
    return tally


@pytest.mark.parametrize(
    ("tally", "verdict", "evidence"),
    [
        (heard(""), "too early to say", "no question was repeated"),
        (heard("lrrlrlllrr"), "too early to say", "no question was repeated"),
        (heard("lrrlrlllrr", 5, 5), "looks", "5 of 5 repeats answered as before"),
        (heard("lrrlrlllrr", 4, 9), "answers like a coin", "4 of 9 repeats answered as before"),
        (heard("l" * 10), "favours left", "10 of 10 answers were left"),
        (heard("r" * 10, 0, 3), "favours right", "10 of 10 answers were right"),
        (heard("lr" * 6), "alternates sides", "11 of 11 answers were for the side not chosen"),
    ],
)
def test_verdicts(tally, verdict, evidence):
    report = tally.report()
    assert report.verdict == verdict
    assert evidence in report.evidence
    assert (report.doubt > 0.8) == (verdict not in ("looks", "too early to say"))
    assert 0 <= report.doubt <= 1


def test_a_verdict_can_be_taken_back():
    tally = heard("lrrl")
    before = tally.report()
    for by in (1, -1):
        tally.count("b", by, left="b")
    assert tally.report() == before
    tally.count("tie", 1, left="a")  # ties and skips have no side
    tally.count("skip", 1, left="a")
    assert len(tally.sides) == 4


def test_the_verdict_of_a_method_comes_first():
    said = Verdict("looks", 0.01, "9 of 9 easy questions answered as expected")
    report = heard("llllllllll").report(said)
    assert (report.verdict, report.evidence, report.doubt) == (said.kind, said.evidence, 0.01)


def test_who_answers_easy_questions_the_other_way_contradicts():
    coin, looks = (Verdict(kind, 0.5, kind) for kind in ("answers like a coin", "looks"))
    early = Verdict("too early to say", 0.5, "")
    assert against_others(coin, coin, 1, 8).kind == "contradicts"
    assert "8 of 9" in against_others(early, early, 1, 8).evidence
    for right, wrong in ((0, 0), (0, 4), (4, 4), (8, 1)):  # a coin does that now and then
        assert against_others(coin, coin, right, wrong) == coin
    assert against_others(looks, looks, 0, 9) == looks


def test_whose_answers_go_together_but_not_with_others_contradicts():
    coin, looks = (Verdict(kind, 0.9, kind) for kind in ("answers like a coin", "looks"))
    said = against_others(coin, looks, 1, 1)
    assert said.kind == "contradicts"
    assert "by the own answers, looks" in said.evidence
    assert against_others(coin, coin, 1, 1) == coin
