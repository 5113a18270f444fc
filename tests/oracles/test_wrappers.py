"""Wrappers count, record and turn round, and change nothing else."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR, Spy, square, torch

from geoduel.errors import ArgumentError, BudgetExhaustedError
from geoduel.oracles import (
    Counted,
    Noisy,
    Recorded,
    Repeated,
    Reversed,
    Shuffled,
    answers,
    from_objective,
)


def test_wrappers_count_in_the_process_that_asks():
    """The pool only runs the objective, so counts, records and noise are the same without it."""

    def run(executor):
        oracle = Recorded(Counted(Noisy(from_objective(square), flip=0.3, rng=5), budget=9))
        got = [answers(oracle, BATCH, k * NEAR, 1, executor).tolist() for k in range(3)]
        return got, oracle.oracle.duels, oracle.oracle.ties, [r.answer for r in oracle.records]

    with ThreadPoolExecutor(2) as pool:
        assert run(pool) == run(None)


@pytest.fixture
def hurried():
    """Threads that take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hurried")
def test_threads_that_share_a_counter_lose_no_duel_and_keep_to_its_budget():
    oracle = Counted(Shuffled(from_objective(square), rng=0), budget=3000)

    def ask(_):
        try:
            return answers(oracle, BATCH, NEAR, 1).tolist()
        except BudgetExhaustedError:
            return None

    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(ask, range(1500)))
    assert (oracle.duels, oracle.ties) == (3000, 1000)
    assert (got.count([1, 0, -1]), got.count(None)) == (1000, 500)
    assert oracle.oracle.position_bias.answers == 2000


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
