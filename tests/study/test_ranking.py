"""Answers to questions of several points: what they say, and what is no answer."""

import itertools

import pytest

from geoduel.errors import ArgumentError
from geoduel.study.ranking import LETTERS, Choice, canonical, choices_in, decided


@pytest.mark.parametrize(
    ("said", "held"),
    [
        ("c", "c>abd"),
        ("C > A", "c>a>bd"),
        ("c>db>a", "c>bd>a"),
        ("c>d=b>a", "c>b=d>a"),
        ("c>b>d>a", "c>b>d>a"),
        ("ba", "ab>cd"),
        ("a=b", "a=b>cd"),
        ("d=c=b=a", "a=b=c=d"),
        ("tie", "tie"),
        ("skip", "skip"),
    ],
)
def test_the_log_holds_all_letters_in_one_form(said, held):
    assert canonical(said, 4) == held
    assert canonical(held, 4) == held


@pytest.mark.parametrize(
    "said", ["", ">", "e", "aa", "a>a", "a>", ">a", "abcd", "a==b", "a=bc", "1", "best", None, 3]
)
def test_what_is_no_answer_is_refused(said):
    with pytest.raises(ArgumentError, match="from the best to the worst"):
        canonical(said, 4)


def test_every_whole_ranking_is_choices_of_the_best_of_those_left():
    for order in itertools.permutations(range(4)):
        answer = ">".join(LETTERS[j] for j in order)
        found = choices_in(canonical(answer, 4), 4)
        assert found == [Choice(order[i], order[i + 1 :]) for i in range(3)]


def test_the_best_and_the_worst():
    worst = Choice(0, (1, 3), worst=True)
    assert choices_in(canonical("c>bd>a", 4), 4) == [Choice(2, (1, 3, 0)), worst]
    assert choices_in(canonical("b>a", 3), 3) == [Choice(1, (0, 2)), Choice(0, (2,))]
    lost = [(0, 1, 1), (0, 3, 1)]
    assert decided("c>bd>a", 4) == [(2, 1, -1), (2, 3, -1), (2, 0, -1), *lost]


def test_those_alike_tie_and_one_stands_for_them():
    found = choices_in(canonical("b=d>a", 4), 4)
    assert found == [Choice(1, (0, 2)), Choice(None, (1, 3)), Choice(0, (2,))]
    ties = [Choice(None, (0, 1)), Choice(None, (1, 2))]
    assert choices_in("tie", 3) == choices_in("a=b=c", 3) == ties
    assert choices_in("skip", 3) == []
