"""Duels: what an oracle answers, what it costs, and what happens when it fails."""

from __future__ import annotations

import importlib
import json
import math
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from geoduel import Ball, Euclidean
from geoduel.domains import feasible_first
from geoduel.errors import ArgumentError, BudgetExhaustedError, OracleError
from geoduel.oracles import (
    Counted,
    Noisy,
    Recorded,
    Repeated,
    Reversed,
    answers,
    from_objective,
    from_preference,
)

torch: Any = importlib.import_module("torch") if find_spec("torch") else None

needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


def square(x):
    return (x * x).sum(-1)


class Spy:
    """An objective that notes how many points it was asked for."""

    def __init__(self, f):
        self.f, self.points = f, 0

    def __call__(self, x):
        self.points += math.prod(x.shape[:-1])
        return self.f(x)


class Script:
    """An oracle that gives prepared answers, one a duel."""

    def __init__(self, *script):
        self.script = list(script)

    def __call__(self, x, y):
        return self.script.pop(0)


NEAR, FAR = np.array([1.0, 0.0]), np.array([3.0, 4.0])
BATCH = np.array([[3.0, 4.0], [1.0, 0.0], [0.5, 0.0]])


# -- what is answered ------------------------------------------------------------------------------


@pytest.mark.parametrize("vectorized", [False, True])
def test_answers_say_which_value_is_smaller(vectorized):
    oracle = from_objective(square, vectorized=vectorized)
    assert (oracle(FAR, NEAR), oracle(NEAR, FAR), oracle(NEAR, -NEAR)) == (1, -1, 0)
    assert all(type(oracle(x, NEAR)) is int for x in (FAR, NEAR))


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor])
def test_leading_axes_broadcast(vectorized, executor):
    """A batch is answered as its pairs are, in the dtype of the points."""
    oracle = from_objective(square, vectorized=vectorized)
    x = np.stack([BATCH, BATCH[::-1]]).astype(np.float32)
    y = NEAR.astype(np.float32)
    pool = executor and executor(2)
    got = answers(oracle, x, y, 1, pool)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, [[1, 0, -1], [-1, 0, 1]])
    if pool:
        pool.shutdown()


def test_float32_points_are_compared_by_values_of_full_precision():
    """Rounding the values to the dtype of the points would make a tie of this."""
    oracle = from_objective(lambda x: 1.0 + 1e-12 * float(x[0]))
    x = np.array([[0.0], [1.0]], dtype=np.float32)
    np.testing.assert_array_equal(answers(oracle, x, x[::-1], 1), [-1, 1])


@pytest.mark.parametrize(
    "value", [np.float64(2), np.float32(2), np.array(2.0), 2, np.int64(2), np.array(2)]
)
def test_objectives_may_return_any_kind_of_number(value):
    oracle = from_objective(lambda x: value if x[0] == 1 else 1.0)
    assert oracle(NEAR, FAR) == 1


def test_infeasible_points_lose_and_tie_among_themselves():
    for vectorized in (False, True):
        oracle = from_objective(
            lambda x: np.where(x[..., 0] > 2, np.inf, square(x)), vectorized=vectorized
        )
        assert (oracle(FAR, NEAR), oracle(NEAR, FAR), oracle(FAR, 2 * FAR)) == (1, -1, 0)
        np.testing.assert_array_equal(
            answers(oracle, np.stack([FAR, NEAR]), np.stack([2 * FAR, FAR]), 1), [0, -1]
        )
        noisy = Noisy(oracle, model="thurstone", scale=1e-9, rng=0)
        assert answers(noisy, NEAR, FAR, 1) == -1
        assert {answers(noisy, FAR, 2 * FAR, 1) for _ in range(50)} == {-1, 1}


@pytest.mark.parametrize(
    ("said", "answer"),
    [("a", -1), ("b", 1), ("tie", 0), (True, -1), (False, 1), (np.True_, -1), (np.False_, 1)],
)
def test_preferences(said, answer):
    oracle = from_preference(lambda a, b: said)
    assert answers(oracle, NEAR, FAR, 1) == answer
    np.testing.assert_array_equal(answers(oracle, BATCH, FAR, 1), [answer] * 3)


@pytest.mark.parametrize("said", ["left", None, 1, 0.0, np.array([True]), "A"])
def test_preferences_of_another_kind_are_errors(said):
    with pytest.raises(OracleError, match='expected "a", "b", "tie"'):
        from_preference(lambda a, b: said)(NEAR, FAR)


@needs_torch
@pytest.mark.parametrize("vectorized", [False, True])
def test_torch(vectorized):
    oracle = from_objective(square, vectorized=vectorized)
    x, y = torch.tensor(FAR), torch.tensor(NEAR)
    assert answers(oracle, x, y, 1) == 1
    got = answers(oracle, torch.tensor(BATCH), y, 1)
    assert got.dtype == torch.float64
    assert got.tolist() == [1, 0, -1]
    weight = torch.ones(2, dtype=torch.float64, requires_grad=True)  # as in a network
    network = from_objective(lambda x: (weight * x * x).sum(-1), vectorized=vectorized)
    assert answers(network, x, y, 1) == 1
    assert not answers(network, torch.tensor(BATCH), y, 1).requires_grad
    half = torch.tensor(BATCH).bfloat16()  # which NumPy does not have
    for _ in range(2):
        assert answers(oracle, half, half[1], 1).tolist() == [1, 0, -1]
        assert answers(oracle, half[0], half[1], 1) == 1


# -- plain callables -------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (2, "answered 2"),
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


# -- failures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "returned nan at array"),
        (-math.inf, "returned -inf"),
        (np.array([1.0]), r"shape \(1,\) for one point of shape \(2,\)"),
        (None, "returned NoneType"),
        ("1.0", "returned str"),
        (1j, "returned complex"),
    ],
)
def test_objectives_that_return_no_number(value, words):
    with pytest.raises(OracleError, match=words):
        from_objective(lambda x: value)(NEAR, FAR)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: np.where(x[..., 0] < 1, math.nan, 1.0), "returned nan at 1 of 3 points.*2,"),
        (lambda x: np.where(x[..., 0] < 2, -math.inf, 1.0), "returned -inf at 2 of 3 points.*1,"),
        (lambda x: x, r"shape \(3, 2\) for points of shape \(3, 2\); expected \(3,\)"),
        (lambda x: 1.0, r"shape \(\) for points"),
        (lambda x: np.array(["a"] * 3), "array of numbers"),
    ],
)
def test_vectorized_objectives_that_return_no_numbers(f, words):
    with pytest.raises(OracleError, match=words):
        answers(from_objective(f, vectorized=True), BATCH, NEAR, 1)


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


# -- remembering -----------------------------------------------------------------------------------


def test_an_iteration_of_rdngd_costs_three_evaluations():
    """It asks (ahead, behind), then (x, incumbent), whether or not the incumbent changes."""
    f = Spy(square)
    oracle = from_objective(f)
    rng = np.random.default_rng(0)
    best = rng.standard_normal(5)
    oracle(rng.standard_normal(5), best)
    f.points = 0
    for k in range(20):
        oracle(rng.standard_normal(5), rng.standard_normal(5))
        x = rng.standard_normal(5)
        if oracle(x, best) < 0 or k % 3 == 0:
            best = x
    assert f.points == 3 * 20


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("vectorized", [False, True])
def test_a_batch_of_directions_does_not_make_it_forget_the_incumbent(batch, vectorized):
    f = Spy(square)
    oracle = from_objective(f, vectorized=vectorized)
    rng = np.random.default_rng(0)
    best = rng.standard_normal(5)
    oracle.answers(rng.standard_normal(5), best, 1)
    f.points = 0
    for _ in range(10):
        answers(oracle, *rng.standard_normal((2, batch, 5)), 1)
        answers(oracle, rng.standard_normal(5), best, 1)
    assert f.points == 10 * (2 * batch + 1)


def test_one_point_against_a_batch_is_evaluated_once():
    f = Spy(square)
    answers(from_objective(f), BATCH, NEAR, 1)
    assert f.points == 4


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_rows_of_a_batch_that_are_known_are_not_evaluated(kind, vectorized):
    """Each row of the new incumbent is a row of the last iterate or of the old incumbent."""
    if kind == "torch" and torch is None:
        pytest.skip("torch is not installed")
    make = np.asarray if kind == "numpy" else torch.asarray
    f = Spy(square)
    oracle = from_objective(f, vectorized=vectorized)
    rng = np.random.default_rng(1)
    draw = lambda: rng.standard_normal((2, 4, 5))  # noqa: E731
    x, best = draw(), draw()
    answers(oracle, make(x), make(best), 1)
    for _ in range(10):
        f.points = 0
        answers(oracle, make(draw()), make(draw()), 1)
        best = np.where(rng.random((2, 4, 1)) < 0.5, x, best)
        x = draw()
        got = answers(oracle, make(x), make(best), 1)
        np.testing.assert_array_equal(np.asarray(got), np.sign(square(x) - square(best)))
        assert f.points == 3 * 8
    best[0, 0] += 1  # one row that is new: the whole is evaluated
    f.points = 0
    got = answers(oracle, make(x), make(best), 1)
    np.testing.assert_array_equal(np.asarray(got), np.sign(square(x) - square(best)))
    assert f.points == 2 * 8


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("lead", [(), (3,)])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_buffers_may_be_overwritten(vectorized, lead, kind):
    if kind == "torch" and torch is None:
        pytest.skip("torch is not installed")
    oracle = from_objective(square, vectorized=vectorized)
    x, y = np.ones((*lead, 2)), 2 * np.ones((*lead, 2))
    if kind == "torch":
        x, y = torch.asarray(x), torch.asarray(y)
    assert np.all(np.asarray(answers(oracle, x, y, 1)) == -1)
    x *= 3
    assert np.all(np.asarray(answers(oracle, x, y, 1)) == 1)
    y *= 2
    assert np.all(np.asarray(answers(oracle, x, y, 1)) == -1)
    np.asarray(x)[...] = 9  # past torch's own book-keeping
    assert np.all(np.asarray(answers(oracle, x, y, 1)) == 1)


def test_points_of_another_shape_or_kind_are_not_confused():
    oracle = from_objective(lambda x: float(x[0].sum()))
    a = np.arange(6.0)
    assert oracle(a.reshape(2, 3), np.zeros((2, 3))) == 1  # 0 + 1 + 2
    assert oracle(a.reshape(3, 2), np.ones((3, 2))) == -1  # 0 + 1
    if torch is not None:
        assert oracle(torch.asarray(a.reshape(2, 3)), torch.ones(2, 3)) == 0
        assert oracle(torch.ones(2, 3, dtype=torch.bfloat16), torch.zeros(2, 3)) == 1
        assert oracle(a.reshape(3, 2), np.ones((3, 2))) == -1


def test_a_changing_objective_is_asked_each_time():
    f = Spy(square)
    oracle = from_objective(f, cache=False)
    for vectorized in (False, True):
        oracle = from_objective(f, vectorized=vectorized, cache=False)
        f.points = 0
        for _ in range(3):
            answers(oracle, FAR, FAR, 1)
            answers(oracle, BATCH, BATCH, 1)
        assert f.points == 3 * (2 + 6), vectorized


# -- executors -------------------------------------------------------------------------------------


def test_objectives_travel_to_other_processes():
    oracle = from_objective(square)
    oracle(FAR, NEAR)
    copy = pickle.loads(pickle.dumps(oracle))
    assert copy(FAR, NEAR) == 1
    assert len(pickle.dumps(oracle)) < 300  # nothing remembered goes along


def test_wrappers_count_in_the_process_that_asks():
    """The pool only runs the objective, so counts, records and noise are the same without it."""

    def run(executor):
        oracle = Recorded(Counted(Noisy(from_objective(square), flip=0.3, rng=5), budget=9))
        got = [answers(oracle, BATCH, k * NEAR, 1, executor).tolist() for k in range(3)]
        return got, oracle.oracle.duels, oracle.oracle.ties, [r.answer for r in oracle.records]

    with ThreadPoolExecutor(2) as pool:
        assert run(pool) == run(None)


@pytest.mark.slow
def test_process_pools():
    oracle = Counted(from_objective(square))
    with ProcessPoolExecutor(2) as pool:
        np.testing.assert_array_equal(answers(oracle, BATCH, NEAR, 1, pool), [1, 0, -1])
    assert (oracle.duels, oracle.ties) == (3, 1)


# -- wrappers --------------------------------------------------------------------------------------


WRAPPERS = [
    Counted,
    Recorded,
    Reversed,
    lambda oracle: Noisy(oracle, rng=0),
    lambda oracle: Repeated(oracle, 0.9),
]


@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize("vectorized", [False, True])
def test_wrappers_of_a_certain_oracle_change_nothing_else(wrap, vectorized):
    oracle = wrap(from_objective(square, vectorized=vectorized))
    sign = -1 if isinstance(oracle, Reversed) else 1
    assert oracle.vectorized is vectorized
    assert answers(oracle, FAR, NEAR, 1) == oracle(FAR, NEAR) == sign
    np.testing.assert_array_equal(answers(oracle, BATCH, NEAR, 1), sign * np.array([1, 0, -1]))
    if vectorized:
        np.testing.assert_array_equal(oracle(BATCH, NEAR), sign * np.array([1, 0, -1]))
    if torch is not None:
        got = answers(oracle, torch.asarray(BATCH).float(), torch.asarray(NEAR).float(), 1)
        assert got.dtype == torch.float32
        assert got.tolist() == [sign, 0, -sign]
    assert answers(oracle, BATCH[:0], NEAR, 1).shape == (0,)


@pytest.mark.parametrize("vectorized", [False, True])
def test_budget_is_hard(vectorized):
    f = Spy(square)
    oracle = Counted(from_objective(f, vectorized=vectorized, cache=False), budget=4)
    answers(oracle, BATCH, NEAR, 1)
    f.points = 0
    with pytest.raises(BudgetExhaustedError, match="3 more duels asked for, 1 of the budget of 4"):
        answers(oracle, BATCH, NEAR, 1)
    assert f.points == 0  # refused as a whole
    assert oracle.duels == 3
    answers(oracle, FAR, NEAR, 1)
    with pytest.raises(BudgetExhaustedError, match="1 more duel asked for, 0 of"):
        oracle(FAR, NEAR)
    assert (oracle.duels, oracle.ties) == (4, 1)


def test_budget_of_a_vectorized_oracle_called_directly():
    def oracle(x, y):
        return np.sign(square(x) - square(y))

    oracle.vectorized = True
    with pytest.raises(ArgumentError, match="point_ndim"):
        Counted(oracle, budget=9)(BATCH, NEAR)
    counted = Counted(oracle)
    counted(BATCH, NEAR)
    assert (counted.duels, counted.ties) == (3, 1)


@pytest.mark.parametrize("budget", [-1, 2.5, "9"])
def test_wrong_budget(budget):
    with pytest.raises(ArgumentError, match="budget must be an integer >= 0"):
        Counted(from_objective(square), budget)


def test_recorded_duels_are_copies():
    oracle = Recorded(from_objective(square))
    x, y = FAR.copy(), NEAR.copy()
    oracle(x, y)
    x[:], y[:] = 0, 0
    record = oracle.records[0]
    assert (record.x.tolist(), record.y.tolist(), record.answer) == ([3, 4], [1, 0], 1)
    batch = BATCH.copy()
    answers(oracle, batch, NEAR, 1)
    batch[:] = 0
    assert [r.x.tolist() for r in oracle.records[1:]] == BATCH.tolist()
    assert [r.answer for r in oracle.records[1:]] == [1, 0, -1]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_records_survive_a_file_to_the_last_bit(tmp_path, dtype):
    oracle = Recorded(from_objective(square))
    rng = np.random.default_rng(2)
    answers(oracle, rng.standard_normal((5, 2, 3)).astype(dtype)[:, 0], NEAR[:1].astype(dtype), 1)
    oracle.write(tmp_path / "duels.jsonl")
    for ours, theirs in zip(oracle.records, Recorded.read(tmp_path / "duels.jsonl"), strict=True):
        assert ours.x.tobytes() == theirs.x.tobytes()
        assert ours.y.tobytes() == theirs.y.tobytes()
        assert theirs.x.dtype == dtype
        assert ours.answer == theirs.answer


@pytest.mark.parametrize(
    "line",
    [
        "{",
        json.dumps({"x": [1.0], "y": [2.0], "answer": 3, "dtype": "float64"}),
        json.dumps({"x": [1.0], "answer": 1, "dtype": "float64"}),
        json.dumps({"x": ["a"], "y": [2.0], "answer": 1, "dtype": "float64"}),
        "3",
    ],
)
def test_files_that_are_no_records(tmp_path, line):
    good = json.dumps({"x": [1.0], "y": [2.0], "answer": 1, "dtype": "float64"})
    (tmp_path / "duels.jsonl").write_text(f"{good}\n{line}\n")
    with pytest.raises(ArgumentError, match="line 2, is not a record"):
        Recorded.read(tmp_path / "duels.jsonl")


# -- noise -----------------------------------------------------------------------------------------


DRAWS = 10_000


def shares(oracle, x, y):
    """Shares of the answers -1, 0 and 1, asked as one batch."""
    got = answers(oracle, np.broadcast_to(x, (DRAWS, 2)), y, 1)
    return np.array([(got == a).mean() for a in (-1, 0, 1)])


def assert_shares(got, expected):
    """Within five standard errors."""
    expected = np.asarray(expected)
    np.testing.assert_array_less(
        abs(got - expected), 5 * np.sqrt(expected * (1 - expected) / DRAWS) + 1e-12
    )


def logistic(t):
    return 1 / (1 + math.exp(-t))


def normal(t):
    return math.erfc(-t / math.sqrt(2)) / 2


QUADRATIC = from_objective(square, vectorized=True)
AWAY = np.sqrt(np.array([1.8, 0.0]))  # f(AWAY) - f(NEAR) = 0.8


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"flip": 0.1}, [0.1, 0, 0.9]),
        ({"lapse": 0.1}, [0.05, 0, 0.95]),
        ({"flip": 0.2, "lapse": 0.1}, [0.9 * 0.2 + 0.05, 0, 0.9 * 0.8 + 0.05]),
        (
            {"model": "bradley-terry", "scale": 0.5},
            [1 - logistic(1.6), 0, logistic(1.6)],
        ),
        ({"model": "thurstone", "scale": 0.5}, [1 - normal(1.6), 0, normal(1.6)]),
        (
            {"model": "thurstone", "scale": 0.5, "lapse": 0.2},
            [0.8 * (1 - normal(1.6)) + 0.1, 0, 0.8 * normal(1.6) + 0.1],
        ),
        (  # Rao and Kupper
            {"model": "bradley-terry", "scale": 0.5, "ties": 0.3},
            [logistic(-2.2), logistic(-1.0) - logistic(-2.2), logistic(1.0)],
        ),
        (
            {"model": "thurstone", "scale": 0.5, "ties": 0.3},
            [normal(-2.2), normal(-1.0) - normal(-2.2), normal(1.0)],
        ),
    ],
)
def test_noise_has_the_stated_probabilities(settings, expected):
    assert_shares(shares(Noisy(QUADRATIC, **settings, rng=3), AWAY, NEAR), expected)
    # The sign of the difference is all that turns round.
    assert_shares(shares(Noisy(QUADRATIC, **settings, rng=4), NEAR, AWAY), expected[::-1])


def test_noise_one_pair_at_a_time_has_the_same_law():
    oracle = Noisy(
        from_objective(square), 0.1, model="bradley-terry", scale=0.5, ties=0.3, lapse=0.1, rng=5
    )
    got = np.array([answers(oracle, AWAY, NEAR, 1) for _ in range(DRAWS)])
    p = np.array([logistic(-2.2), logistic(-1.0) - logistic(-2.2), logistic(1.0)])
    flipped = 0.9 * p + 0.1 * p[::-1]
    expected = 0.9 * flipped + 0.05 * np.array([1, 0, 1])
    assert_shares(np.array([(got == a).mean() for a in (-1, 0, 1)]), expected)


def test_exact_ties_stay_ties_under_flips():
    oracle = Noisy(QUADRATIC, flip=0.5, rng=0)
    np.testing.assert_array_equal(shares(oracle, NEAR, -NEAR), [0, 1, 0])


@needs_torch
def test_noise_on_torch_is_the_same():
    settings = {"flip": 0.1, "model": "thurstone", "scale": 5.0, "lapse": 0.1, "rng": 6}
    ours = answers(Noisy(QUADRATIC, **settings), BATCH, NEAR, 1)
    theirs = answers(Noisy(QUADRATIC, **settings), torch.asarray(BATCH), torch.asarray(NEAR), 1)
    assert theirs.tolist() == ours.tolist()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"flip": 1.5}, "flip must be a probability"),
        ({"flip": -0.1}, "flip must be a probability"),
        ({"lapse": math.nan}, "lapse must be a finite number"),
        ({"model": "logistic"}, "model must be one of"),
        ({"model": "thurstone", "scale": 0}, "scale must be > 0"),
        ({"ties": 0.1}, "needs a model"),
        ({"model": "thurstone", "ties": -1}, "ties must be >= 0"),
    ],
)
def test_wrong_noise(settings, words):
    with pytest.raises(ArgumentError, match=words):
        Noisy(QUADRATIC, **settings)


@pytest.mark.parametrize(
    "oracle", [from_preference(lambda a, b: "a"), Reversed(QUADRATIC), lambda x, y: 1]
)
def test_models_of_noise_need_values(oracle):
    with pytest.raises(ArgumentError, match="made by from_objective directly"):
        Noisy(oracle, model="thurstone")


# -- repetition ------------------------------------------------------------------------------------


class Voters:
    """Answers +1 with probability p and 0 with probability q, each time anew."""

    vectorized = True

    def __init__(self, p, q=0.0, seed=0):
        self.p, self.q, self.rng = p, q, np.random.default_rng(seed)

    def __call__(self, x, y):
        u = self.rng.random(x.shape[:-1])
        return np.where(u < self.p, 1.0, np.where(u < self.p + self.q, 0.0, -1.0))


PAIRS = np.zeros((1000, 1))


def wrong(oracle, right):
    return float((answers(oracle, PAIRS, PAIRS, 1) != right).mean())


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("rate", [0.55, 0.6, 0.65, 0.74, 0.85, 0.95])
def test_majorities_are_right_with_the_stated_confidence(rate, confidence):
    """Win rates at which repeated votes elsewhere returned the loser; both winners."""
    for p, right in ((rate, 1), (1 - rate, -1)):
        oracle = Repeated(Voters(p, seed=round(100 * p)), confidence)
        error = wrong(oracle, right)
        allowed = 1 - confidence
        assert error <= allowed + 4 * math.sqrt(allowed * confidence / len(PAIRS))
        assert oracle.duels < len(PAIRS) * oracle.max_repeats


def test_a_fair_coin_is_rarely_declared_to_have_a_winner():
    """The test of either side errs with probability δ/2, however often one looks (Ville)."""
    oracle = Repeated(Voters(0.5), confidence=0.9, max_repeats=500)
    answers(oracle, PAIRS, PAIRS, 1)
    declared = 1 - oracle.capped / len(PAIRS)
    assert declared <= 0.1 + 4 * math.sqrt(0.1 * 0.9 / len(PAIRS))


@pytest.mark.parametrize(
    ("p", "q", "right"), [(0.5, 0.3, 1), (0.3, 0.5, 0), (0.1, 0.7, 0), (0.15, 0.3, -1)]
)
def test_ties_are_answers(p, q, right):
    oracle = Repeated(Voters(p, q), confidence=0.9)
    assert wrong(oracle, right) <= 0.1 + 4 * math.sqrt(0.1 * 0.9 / len(PAIRS))


@pytest.mark.parametrize("answer", [-1, 0, 1])
def test_unanimous_answers_stop_at_once(answer):
    """Seven reach 2/δ = 40: 2^7 (2/π) B(7.5, 0.5) I_½(0.5, 7.5) = 53.6, six only 28.9."""
    oracle = Repeated(Script(*[answer] * 7), confidence=0.95)
    assert oracle(NEAR, FAR) == answer
    assert (oracle.duels, oracle.capped) == (7, 0)


def test_the_cap():
    split = [1, -1] * 5
    oracle = Repeated(Script(*split), max_repeats=10)
    assert oracle(NEAR, FAR) == 0  # no most frequent answer
    assert (oracle.duels, oracle.capped) == (10, 1)
    assert Repeated(Script(1, -1, 0, 1, 0, 1), max_repeats=6)(NEAR, FAR) == 1
    assert Repeated(Script(-1), max_repeats=1)(NEAR, FAR) == -1


def test_batches_settle_pair_by_pair():
    """Every pair gets the answers it would get alone, and is asked no more often."""
    rng = np.random.default_rng(7)
    script = np.where(rng.random((200, 12)) < 0.8, 1, -1)

    class Scripts:
        def __init__(self):
            self.asked = np.zeros(12, dtype=int)

        def __call__(self, x, y):
            i = int(x[0])
            self.asked[i] += 1
            return int(script[self.asked[i] - 1, i])

    together, alone = Scripts(), Scripts()
    x = np.arange(12.0).reshape(3, 4, 1)
    got = answers(Repeated(together, max_repeats=200), x, x, 1)
    single = Repeated(alone, max_repeats=200)
    expected = [answers(single, row, row, 1) for row in x.reshape(12, 1)]
    np.testing.assert_array_equal(got, np.reshape(expected, (3, 4)))
    np.testing.assert_array_equal(together.asked, alone.asked)
    assert len(set(together.asked)) > 1


def test_repetition_respects_a_budget_inside():
    oracle = Repeated(Counted(Script(1, -1, 1, -1), budget=4))
    with pytest.raises(BudgetExhaustedError):
        oracle(NEAR, FAR)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan])
def test_wrong_confidence(confidence):
    with pytest.raises(ArgumentError, match="confidence"):
        Repeated(QUADRATIC, confidence)


@pytest.mark.parametrize("cap", [0, 1.5, None])
def test_wrong_cap(cap):
    with pytest.raises(ArgumentError, match="max_repeats"):
        Repeated(QUADRATIC, max_repeats=cap)


# -- on a feasible set -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [np.asarray, pytest.param(lambda a: torch.asarray(a), marks=needs_torch)]
)
def test_the_set_decides_before_the_oracle_is_asked(kind):
    disc = Ball(Euclidean(2), np.zeros(2), 2.0)
    x = kind(np.array([[3.0, 0.0], [1.0, 0.0], [4.0, 0.0], [3.0, 0.0], [0.5, 0.0]]))
    y = kind(np.array([[1.0, 0.0], [3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [1.0, 0.0]]))
    asked = []

    def ask(a, b):
        asked.append((np.asarray(a), np.asarray(b)))
        return answers(from_objective(square, vectorized=True), a, b, 1)

    got = feasible_first(disc, x, y, 1, ask)
    assert type(got) is type(x)
    # Infeasible loses, so does the larger violation; equal ones tie; only feasible pairs are asked.
    assert got.tolist() == [1, -1, 1, 0, -1]
    assert len(asked) == 1
    np.testing.assert_array_equal(asked[0], [[[0.5, 0.0]], [[1.0, 0.0]]])
    assert feasible_first(disc, x[0], y[0], 1, ask) == 1
    assert feasible_first(disc, x[4], y[4], 1, ask) == -1
