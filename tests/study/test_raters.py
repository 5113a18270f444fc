"""What repeats tell of a rater."""

from __future__ import annotations

import math

import pytest

from geoduel.study.raters import MOST, Tally


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


def test_a_skip_says_nothing():
    tally = Tally()
    tally.compare("skip", "a", 1)
    assert tally.report().consistency is None


def test_a_report_says_what_was_counted():
    report = Tally(answers=9, ties=2, skips=1, repeats=4, agreed=3.0).report()
    assert (report.answers, report.ties, report.skips, report.consistency) == (9, 2, 1, 0.75)
    assert 0 < report.weight < MOST
