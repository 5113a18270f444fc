"""Retried: attempts, waits and times of duels; oracles that fail, hang, or are asked in batches."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, BudgetExhaustedError, OracleError
from geoduel.oracles import answers, retried

A, B = np.ones(2), np.zeros(2)
SPHERE = gd.Sphere(3)


class Failing:
    """Right from the attempt ``at`` on, for each pair."""

    def __init__(self, at, fail=lambda: 1 / 0):
        self.at, self.fail, self.tried = at, fail, {}

    def __call__(self, x, y):
        key = x.tobytes() + y.tobytes()
        self.tried[key] = self.tried.get(key, 0) + 1
        if self.tried[key] < self.at:
            return self.fail()
        return int(np.sign(x.sum() - y.sum()))


@pytest.mark.parametrize("fail", [lambda: 1 / 0, lambda: "maybe", lambda: None])
def test_an_oracle_that_fails_is_asked_again(fail):
    oracle = Failing(3, fail)
    assert gd.Retried(oracle, attempts=3, wait=0)(A, B) == 1
    with pytest.raises(OracleError):
        gd.Retried(Failing(4, fail), attempts=3, wait=0)(A, B)


def test_waits_double(monkeypatch):
    waits = []
    monkeypatch.setattr(retried.time, "sleep", waits.append)
    gd.Retried(Failing(5), attempts=5, wait=0.5)(A, B)
    assert waits == [0.5, 1.0, 2.0, 4.0]


def test_failures_are_logged(caplog):
    gd.Retried(Failing(2), wait=0)(A, B)
    assert "attempt 1 of 3 to get an answer failed: the oracle raised ZeroDiv" in caplog.text


def test_each_duel_of_a_batch_has_its_own_attempts():
    """Of the three pairs none is asked a third time, also where an executor asks them."""
    x, y = np.arange(6.0).reshape(3, 2), np.full((3, 2), 2.5)
    for executor in (None, ThreadPoolExecutor(2)):
        oracle = Failing(2)
        found = answers(gd.Retried(oracle, attempts=2, wait=0), x, y, 1, executor)
        assert found.tolist() == [-1, 0, 1]
        assert list(oracle.tried.values()) == [2, 2, 2]


def test_a_judge_that_hangs_does_not_hang_the_run():
    """Its error holds what was found before."""
    gate, goal = threading.Event(), np.array([0.6, 0.0, 0.8])
    asked = []

    def judge(x, y):
        asked.append(1)
        if len(asked) > 30:
            gate.wait(60)
        return int(np.sign(y @ goal - x @ goal))

    began = time.perf_counter()
    with pytest.raises(OracleError, match=r"within 0.05 seconds") as error:
        gd.minimize(gd.Retried(judge, attempts=2, wait=0, timeout=0.05), SPHERE, rng=0)
    assert time.perf_counter() - began < 10
    gate.set()
    assert 28 <= error.value.result.duels <= 30  # a batch that failed does not count
    assert isinstance(error.value.__cause__, TimeoutError)


def test_a_study_skips_what_takes_too_long():
    gate, goal, asked = threading.Event(), np.array([0.6, 0.0, 0.8]), []

    def judge(x, y):
        asked.append(1)
        if len(asked) == 3:
            gate.wait(60)
        return int(np.sign(y @ goal - x @ goal))

    study = gd.create_study(SPHERE, "duel-newton", rng=0)
    slow = gd.Retried(judge, attempts=1, timeout=0.2)
    study.optimize(slow, n_duels=3, catch=(TimeoutError,))
    gate.set()
    assert study.progress().skips == 1


def test_an_attempt_may_be_late_and_the_next_in_time():
    first = threading.Event()

    def judge(x, y):
        if not first.is_set():
            first.set()
            time.sleep(0.5)
            return -1  # nobody listens any more
        return 1

    assert gd.Retried(judge, wait=0, timeout=0.1)(A, B) == 1


def test_a_spent_budget_is_not_asked_again():
    inner = gd.Counted(Failing(1), budget=1)
    oracle = gd.Retried(inner, wait=1e3, timeout=5.0)
    assert oracle(A, B) == 1
    with pytest.raises(BudgetExhaustedError):
        oracle(A, B)


def test_vectorized_and_async_judges_get_a_batch_at_once():
    sizes = []

    def f(x):
        sizes.append(len(x))
        return (x * x).sum(-1) if len(sizes) > 2 else 1 / 0

    x, y = np.ones((4, 2)), np.zeros((4, 2))
    many = gd.Retried(gd.from_objective(f, vectorized=True), wait=0)
    assert answers(many, x, y, 1).tolist() == [1, 1, 1, 1]
    together = []

    async def prefers(a, b):
        together.append(1)
        await asyncio.sleep(0.01)
        return len(together) == 4 and "b"  # all had begun before the first went on

    judge = gd.Retried(gd.from_preference(prefers, shuffle=False), attempts=1)
    assert answers(judge, x, y, 1).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "options", [{"attempts": 0}, {"wait": -1}, {"timeout": 0}, {"timeout": np.inf}]
)
def test_bad_settings_are_named(options):
    with pytest.raises(ArgumentError, match=next(iter(options))):
        gd.Retried(Failing(1), **options)
