"""The protocol: what an oracle may answer, and what happens when it fails."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR, square

import geoduel as gd
from geoduel.errors import ArgumentError, OracleError
from geoduel.oracles import Counted, Recorded, Reversed, answers, from_objective, from_preference
from geoduel.oracles.base import handed


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


# -- points with named parts -----------------------------------------------------------------------

SOUND = gd.Product(gd.Euclidean(1), gd.Simplex(2), names=["gain", "mix"])
LOUD, SOFT = SOUND.pack((9, [0.5, 0.5])), SOUND.pack((1, [0.5, 0.5]))


def gain(p):
    return p["gain"]


def softer(a, b):
    return "a" if a["gain"] < b["gain"] else "b"


async def softer_later(a, b):
    return softer(a, b)


def sign(a, b):
    return 1 if a["gain"] > b["gain"] else -1


ORACLES = {
    "function": lambda: gd.from_objective(gain),
    "vectorized": lambda: gd.from_objective(gain, vectorized=True),
    "without a cache": lambda: gd.from_objective(gain, cache=False),
    "judge": lambda: gd.from_preference(softer),
    "judge to be awaited": lambda: gd.from_preference(softer_later),
    "simulation": lambda: gd.paired(lambda p, seed: p["gain"]),
    "own": lambda: sign,
    "wrapped": lambda: gd.Counted(gd.Repeated(gd.Noisy(gd.from_objective(gain)))),
    "wrapped own": lambda: gd.Recorded(gd.Counted(sign)),
}


@pytest.mark.parametrize("kind", ORACLES)
def test_functions_are_handed_dictionaries_and_wrappers_arrays(kind):
    with handed(ORACLES[kind](), SOUND.unpack) as oracle:
        assert answers(oracle, LOUD, SOFT, 1) == 1
        pairs = np.stack([LOUD, SOFT]), np.stack([SOFT, LOUD])
        np.testing.assert_array_equal(answers(oracle, *pairs, 1), [1, -1])
        with ThreadPoolExecutor(2) as pool:
            np.testing.assert_array_equal(answers(oracle, *pairs, 1, pool), [1, -1])


def test_the_next_run_may_have_no_names():
    for make in (lambda f: f, gd.Counted):
        oracle = make(lambda a, b: 1 if a["gain"] > b["gain"] else -1)
        with handed(oracle, SOUND.unpack) as first:
            assert answers(first, LOUD, SOFT, 1) == 1
        with handed(oracle, None) as second, pytest.raises(OracleError, match="IndexError"):
            answers(second, LOUD, SOFT, 1)


def test_the_next_run_may_have_other_names():
    """Nothing is remembered of points that were the same numbers under other names."""
    first = gd.Product(gd.Euclidean(1), gd.Euclidean(1), names=["gain", "bass"])
    second = gd.Product(gd.Euclidean(1), gd.Euclidean(1), names=["bass", "gain"])
    for vectorized in (False, True):
        oracle = gd.from_objective(gain, vectorized)
        for m, loud in ((first, np.array([2.0, 1.0])), (second, np.array([1.0, 2.0]))):
            pairs = np.stack([loud, loud[::-1]]), np.stack([loud[::-1], loud])
            with handed(oracle, m.unpack):
                assert answers(oracle, loud, loud[::-1].copy(), 1) == 1
                np.testing.assert_array_equal(answers(oracle, *pairs, 1), [1, -1])


@pytest.mark.parametrize("kind", ORACLES)
def test_runs_at_the_same_time_need_the_same_names(kind):
    """One object serves runs whose points are alike; else it is refused, and both are right."""
    oracle = ORACLES[kind]()
    bare, equal = gd.Counted(oracle), gd.Product(*SOUND.factors, names=SOUND.names)
    other = gd.Product(*SOUND.factors, names=["gain", "bass"])
    with handed(oracle, SOUND.unpack) as one, handed(oracle, equal.unpack) as two:
        assert answers(one, LOUD, SOFT, 1) == answers(two, LOUD, SOFT, 1) == 1
        if kind == "own":
            return  # a caller's function is wrapped, for each run
        for unpack in (None, other.unpack):
            with pytest.raises(ArgumentError, match="at work in another run"), handed(bare, unpack):
                pass
        assert answers(one, LOUD, SOFT, 1) == 1
    with handed(bare, None):
        pass


def test_what_goes_to_workers_takes_the_names_along():
    with handed(gd.from_objective(gain), SOUND.unpack) as oracle:
        travelled = pickle.loads(pickle.dumps(oracle))
        assert answers(travelled, LOUD, SOFT, 1) == 1
        with handed(travelled, None):  # it is at work elsewhere
            pass
    with handed(sign, SOUND.unpack) as own:
        assert answers(pickle.loads(pickle.dumps(own)), LOUD, SOFT, 1) == 1
        assert repr(own) == repr(sign)


def test_functions_may_overwrite_the_parts():
    def spoils(p):
        cost = p["mix"][0]
        p["mix"][:] = 0
        return cost

    before = LOUD.copy()
    with handed(gd.from_objective(spoils), SOUND.unpack) as oracle:
        oracle(LOUD, SOFT)
    np.testing.assert_array_equal(LOUD, before)
