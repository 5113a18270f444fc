"""The protocol: what an oracle may answer, and what happens when it fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR, square

from geoduel.errors import ArgumentError, OracleError
from geoduel.oracles import Counted, Recorded, Reversed, answers, from_objective, from_preference


def test_plain_callables_are_oracles():
    def duel(x, y):
        return int(np.sign(square(x) - square(y)))

    assert answers(duel, FAR, NEAR, 1) == 1
    np.testing.assert_array_equal(answers(duel, BATCH, NEAR, 1), [1, 0, -1])
    duel.vectorized = True
    duel_many = lambda x, y: np.sign(square(x) - square(y))  # noqa: E731
    duel_many.vectorized = True
    np.testing.assert_array_equal(answers(duel_many, BATCH, NEAR, 1), [1, 0, -1])
    assert answers(duel_many, FAR, NEAR, 1) == 1
    assert type(answers(duel_many, FAR, NEAR)) is int


@pytest.mark.parametrize("kind", [int, float, np.float32, np.int8, np.array])
def test_answers_may_be_any_kind_of_number(kind):
    for sign in (-1, 0, 1):
        one, many = (answers(lambda x, y: kind(sign), x, NEAR, 1) for x in (FAR, BATCH))  # noqa: B023
        assert type(one) is int
        assert one == sign
        np.testing.assert_array_equal(many, [sign] * 3)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (2, "answered 2"),
        (-2, "answered -2"),
        (-2.0, r"answered -2\.0"),
        (2.0, r"answered 2\.0"),
        (-math.inf, "answered -inf"),
        (0.5, "answered 0.5"),
        (math.nan, "answered nan"),
        (None, "answered None"),
        ("a", "answered 'a'"),
        (True, "a bool, which could mean either"),
        (np.array([1.0]), r"an array of shape \(1,\)"),
    ],
)
def test_wrong_answers(answer, words):
    with pytest.raises(OracleError, match=words):
        answers(lambda x, y: answer, FAR, NEAR, 1)
    with pytest.raises(OracleError, match=words):
        answers(lambda x, y: answer, BATCH, NEAR, 1)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.array([1.0, 0.0]), r"shape \(2,\), expected \(3,\)"),
        (np.array([[1.0], [0.0], [1.0]]), r"shape \(3, 1\), expected \(3,\)"),
        (np.array([1.0, math.nan, 7.0]), r"nan at index \(1,\) \(2 of 3"),
        (np.array([-2.0, 1.0, 0.0]), r"-2\.0 at index \(0,\) \(1 of 3"),
        (np.array([True, False, True]), "a bool"),
        (np.array(["a", "b", "a"]), "answered"),
        (1, r"shape \(\), expected \(3,\)"),
    ],
)
def test_wrong_answers_of_vectorized_oracles(answer, words):
    def oracle(x, y):
        return answer

    oracle.vectorized = True
    with pytest.raises(OracleError, match=words):
        answers(oracle, BATCH, NEAR, 1)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("vectorized", [False, True])
def test_what_an_oracle_writes_to_its_points_changes_nothing(kind, vectorized):
    """In-place code works, and the method's points stay as they were."""
    xp = pytest.importorskip(kind)

    def halved(x):
        x *= 0.5
        return square(x) if vectorized else float(square(x))

    def duel(x, y):
        difference = halved(x) - halved(y)
        return 1.0 * (difference > 0) - 1.0 * (difference < 0)

    def prefers(x, y):
        return {-1: "a", 0: "tie", 1: "b"}[duel(x, y)]

    duel.vectorized = vectorized
    many, one = (xp.asarray(a.tolist(), dtype=xp.float64) for a in (BATCH, NEAR))
    for oracle in (from_objective(halved, vectorized), duel, from_preference(prefers)):
        if vectorized and not oracle.vectorized:
            continue
        for x in (many, many[0]):
            got = answers(oracle, x, one, 1)
            assert np.asarray(got).tolist() == ([1, 0, -1] if x is many else 1)
            assert np.asarray(many).tolist() == BATCH.tolist()
            assert np.asarray(one).tolist() == NEAR.tolist()


def test_exceptions_are_chained():
    def broken(*points):
        raise ZeroDivisionError("of all things")

    for oracle in (from_objective(broken), from_preference(broken), broken):
        for x in (FAR, BATCH):
            with pytest.raises(OracleError, match="ZeroDivisionError: of all things") as caught:
                answers(oracle, x, NEAR, 1)
            assert isinstance(caught.value.__cause__, ZeroDivisionError)
            assert caught.value.result is None


def test_ctrl_c_passes_through():
    def interrupted(*points):
        raise KeyboardInterrupt

    for oracle in (from_objective(interrupted), from_preference(interrupted), interrupted):
        with pytest.raises(KeyboardInterrupt):
            answers(oracle, FAR, NEAR, 1)


@pytest.mark.parametrize("make", [from_objective, from_preference, Counted, Reversed, Recorded])
def test_only_callables_make_oracles(make):
    with pytest.raises(ArgumentError, match=r"got 3\.0"):
        make(3.0)
