"""Verdicts follow from rule, intervals and controls, and from nothing else."""

from __future__ import annotations

import json
import math

import pytest

from geoduel.errors import ArgumentError
from geoduel.reproduce.claims import (
    FAILS,
    HOLDS,
    PARTLY,
    UNTESTED,
    Claim,
    above,
    at_least,
    at_most,
    below,
    between,
    by_setting,
    conflicts,
    count,
    equal,
)
from geoduel.reproduce.estimates import exact, median


def claim(cases, rule=None, controls=None, says="fast", **options):
    medians = {name: median(values) for name, values in cases.items()}
    lies = {name: median(values) for name, values in (controls or {}).items()}
    return Claim(("5.1.1",), says, "ratio", rule or at_most(10), medians, lies, **options)


GOOD, BAD, MIXED = [1.0, 2, 3, 4, 5], [11.0, 20, 30, 40, 50], [1.0, 2, 3, 80, 90]


@pytest.mark.parametrize(
    ("cases", "verdict", "why"),
    [
        ({"a": GOOD, "b": GOOD}, HOLDS, ""),
        ({"a": BAD, "b": BAD}, FAILS, "a: 30; b: 30"),
        ({"a": GOOD, "b": BAD}, PARTLY, "b: 30"),
        ({"a": MIXED}, PARTLY, "a: undecided, 1.0 to 90"),
        ({"a": GOOD[:3]}, UNTESTED, "3 seeds are too few for a 90 % interval"),
        ({"a": GOOD, "b": GOOD[:3]}, PARTLY, "b: 3 seeds are too few for a 90 % interval"),
    ],
)
def test_the_verdict_follows_from_the_intervals(cases, verdict, why):
    made = claim(cases)
    assert (made.verdict, made.why) == (verdict, why)


def test_in_all_cases_means_each_of_them():
    rule = at_most(10).of_each()
    assert claim({"": GOOD}, rule).verdict == HOLDS
    assert claim({"": BAD}, rule).verdict == FAILS
    some = claim({"photos": MIXED}, rule)
    assert some.verdict == PARTLY
    assert some.why == "photos: 3 of 5 seeds"
    assert claim({"": GOOD[:2]}, rule).verdict == HOLDS  # two of two: nothing is estimated


def test_a_rule_that_a_control_passes_decides_nothing():
    made = claim({"a": GOOD}, controls={"coin": MIXED, "reversed": BAD})
    assert made.verdict == UNTESTED
    assert made.why == "the rule does not tell the methods from coin"
    assert claim({"a": GOOD}, controls={"coin": BAD}).verdict == HOLDS


def test_what_could_not_be_measured_says_why():
    made = claim({}, missing="it needs torch")
    assert (made.verdict, made.why) == (UNTESTED, "it needs torch")
    with pytest.raises(ArgumentError, match="must say what is missing"):
        claim({})


def test_places_must_be_the_paper_s():
    with pytest.raises(ArgumentError, match="where must name places"):
        Claim(("5.5",), "fast", "ratio", below(1), {"": exact(0.5)})


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        (at_most(2), 2, 2.1),
        (below(2), 1.9, 2),
        (at_least(2), 2, 1.9),
        (above(2), 2.1, 2),
        (between(1, 2), 1, 2.1),
        (equal(2, 1e-3), 2.0009, 2.0011),
    ],
)
def test_rules_say_what_they_do(rule, inside, outside):
    assert rule.judge(exact(inside)) == HOLDS
    assert rule.judge(exact(outside)) == FAILS
    assert "2" in rule.words


def test_claims_tried_again_are_shown_and_not_counted():
    claims = [
        claim({"n = 5": GOOD}, under="A"),
        claim({"n = 5": BAD}, under="B", again=True),
        claim({"n = 5": BAD}, says="exact", under="A"),
        claim({"n = 5": GOOD}, says="exact", under="B", again=True),
        claim({"n = 5": GOOD}, says="simple"),
    ]
    assert count(claims) == {HOLDS: 2, PARTLY: 0, FAILS: 1, UNTESTED: 0}
    assert list(by_setting(claims)) == ["fast", "exact"]
    (sentence,) = conflicts(claims)
    assert "both “fast” and “exact”" in sentence
    assert "the first holds under A only, the second under B only" in sentence
    assert conflicts(claims[:3]) == []


def test_everything_is_in_the_summary():
    made = claim({"a": [1.0, 2, 3, 4, math.inf]}, controls={"coin": BAD}, remark="slow")
    read = json.loads(json.dumps(made.as_json(), allow_nan=False))
    assert read["cases"]["a"]["median"] == 3
    assert read["cases"]["a"]["high"] == "inf"
    assert read["cases"]["a"]["verdict"] == read["verdict"] == PARTLY
    assert read["controls"]["coin"]["values"] == BAD
    assert read["rule"] == "at most 10"
