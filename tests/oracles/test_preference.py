"""Duels without values: what a preference may say."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR

from geoduel.errors import ArgumentError, OracleError
from geoduel.oracles import answers, from_preference


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        *[("a", -1), ("b", 1), ("tie", 0), ("left", -1), ("right", 1)],
        *[("first", -1), ("second", 1), ("same", 0), ("equal", 0)],
        *[("A", -1), (" b\n", 1), ("Tie.", 0), ('"B"', 1), ("**A**", -1)],
        *[(True, -1), (False, 1), (np.True_, -1), (np.False_, 1)],
    ],
)
def test_preferences(said, answer):
    oracle = from_preference(lambda a, b: said, shuffle=False)
    assert answers(oracle, NEAR, FAR, 1) == answer
    np.testing.assert_array_equal(answers(oracle, BATCH, FAR, 1), [answer] * 3)


@pytest.mark.parametrize("said", ["middle", None, 1, 0.0, np.ones(2, bool), "A or B", ""])
def test_preferences_of_another_kind_are_errors(said):
    with pytest.raises(OracleError, match='expected "a", "b", "tie"'):
        from_preference(lambda a, b: said)(NEAR, FAR)


def nearer(a, b):
    """A judge that can be sent to other processes."""
    return bool(a @ a < b @ b)


def test_the_order_is_drawn_and_turned_back():
    """What a judge sees first is either point; what it answers does not depend on that."""
    seen = []

    def judge(a, b):
        seen.append(bool(a @ a < b @ b))
        return seen[-1]

    oracle = from_preference(judge)
    assert all(oracle(NEAR, FAR) == -oracle(FAR, NEAR) for _ in range(50))
    assert 20 < sum(seen) < 80
    assert oracle.position_bias.answers == 100
    assert not oracle.position_bias.found


def test_a_text_is_parsed():
    oracle = from_preference(
        lambda a, b: {"choice": "b"}, parse=lambda d: d["choice"], shuffle=False
    )
    assert oracle(NEAR, FAR) == 1
    with pytest.raises(ArgumentError, match="parse must be a function"):
        from_preference(nearer, parse="b")


def test_a_judge_gets_copies():
    point = NEAR.copy()

    def judge(a, b):
        a[...] = b[...] = 7.0
        return True

    from_preference(judge)(point, FAR)
    assert np.array_equal(point, NEAR)


def test_async_judges_are_awaited_at_once_but_no_more_than_asked_for():
    now, most = 0, 0

    async def judge(a, b):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return nearer(a, b)

    oracle = from_preference(judge, concurrency=3)
    pairs = np.stack([NEAR, FAR] * 6)
    want = [0 if i % 2 else 1 for i in range(12)]
    began = time.perf_counter()
    got = answers(oracle, pairs, np.broadcast_to(FAR, pairs.shape), 1)
    assert time.perf_counter() - began < 12 * 0.01 * 10
    assert most == 3
    tied = [not nearer(p, FAR) and not nearer(FAR, p) for p in pairs]
    assert [int(g) for g, t in zip(got, tied, strict=True) if not t] == [-1] * want.count(1)
    assert oracle(NEAR, FAR) == -1  # a single duel, in the same loop


def test_async_judges_work_where_a_loop_runs_already():
    async def judge(a, b):
        return nearer(a, b)

    async def notebook():
        return from_preference(judge)(NEAR, FAR)

    assert asyncio.run(notebook()) == -1


def test_errors_of_async_judges_name_what_was_raised():
    async def judge(a, b):
        raise ValueError("no quota left")

    with pytest.raises(OracleError, match="the preference raised ValueError: no quota left"):
        answers(from_preference(judge), BATCH, FAR, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore:.*fork")  # newer Pythons warn of threads
def test_async_judges_answer_in_a_forked_process():
    """It inherits the event loop and not the thread that runs it."""

    async def judge(a, b):
        return nearer(a, b)

    assert from_preference(judge)(NEAR, FAR) == -1
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        assert pool.submit(_by_awaiting, NEAR, FAR).result(timeout=20) == -1
    assert from_preference(judge)(NEAR, FAR) == -1  # the parent's loop goes on


def _by_awaiting(a, b):
    async def judge(a, b):
        return nearer(a, b)

    return from_preference(judge)(a, b)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_what_ends_an_async_judge_does_not_end_those_after_it(raised, batch):
    async def judge(a, b):
        raise raised

    async def other(a, b):
        return nearer(a, b)

    with pytest.raises(OracleError if raised is asyncio.CancelledError else raised):
        answers(from_preference(judge), BATCH if batch else NEAR, FAR, 1)
    assert from_preference(other)(NEAR, FAR) == -1


def test_an_async_judge_that_asks_another_is_told_how():
    async def judge(a, b):
        return nearer(a, b)

    async def waits(a, b):
        return from_preference(judge, shuffle=False)(a, b) < 0

    async def awaits(a, b):
        return await asyncio.to_thread(from_preference(judge, shuffle=False), a, b) < 0

    with pytest.raises(OracleError, match=r"await asyncio.to_thread\(oracle, a, b\)"):
        from_preference(waits)(NEAR, FAR)
    assert from_preference(awaits)(NEAR, FAR) == -1


def test_what_a_function_leaves_to_be_awaited_is_awaited():
    async def judge(a, b):
        if a is None:
            raise TimeoutError("nobody is there")
        return bool(a @ a < b @ b)

    asked = from_preference(lambda a, b: judge(a, b))
    assert asked(NEAR, FAR) == -1 == -asked(FAR, NEAR)
    with pytest.raises(OracleError, match="TimeoutError: nobody is there"):
        from_preference(lambda a, b: judge(None, b))(NEAR, FAR)


def test_a_judge_travels_to_other_processes():
    oracle = pickle.loads(pickle.dumps(from_preference(nearer)))
    assert oracle(NEAR, FAR) == -1


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("a infeasible", 1),
        ("b infeasible", -1),
        ("Both infeasible.", 0),
        ("left infeasible", 1),
        ("second infeasible", -1),
    ],
)
def test_a_point_that_cannot_be_loses(said, answer):
    assert from_preference(lambda a, b: said, shuffle=False)(np.ones(1), np.zeros(1)) == answer


@pytest.mark.parametrize("said", ["infeasible", "c infeasible", "a is infeasible", "a  infeasible"])
def test_whom_it_is_about_has_to_be_said(said):
    with pytest.raises(OracleError, match="both infeasible"):
        from_preference(lambda a, b: said, shuffle=False)(np.ones(1), np.zeros(1))
