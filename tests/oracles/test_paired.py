"""Simulations with common random numbers."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR

import geoduel as gd
from geoduel.errors import ArgumentError, InfeasibleError, OracleError
from geoduel.oracles import answers, paired


def noisy(x, seed):
    """A common shift of 10 standard deviations, and a small part that differs by point."""
    return float(x @ x) + 10 * np.random.default_rng(seed).normal()


def test_both_points_see_the_same_numbers_and_every_duel_others():
    seen = []
    oracle = paired(lambda x, seed: seen.append(seed) or float(x @ x), repeats=2, rng=0)
    assert oracle(NEAR, FAR) == -oracle(FAR, NEAR) == np.sign(NEAR @ NEAR - FAR @ FAR)
    assert seen[0::2] == seen[1::2]
    assert len(set(seen)) == 4


def test_what_is_common_cancels():
    oracle = paired(noisy, rng=0)
    assert {oracle(np.ones(2), np.zeros(2)) for _ in range(50)} == {1}


def test_the_mean_of_repeats_is_compared():
    """A draw that reverses one duel in four is outvoted by the mean of 30."""

    def simulate(x, seed):
        return float(x[0]) * (1 if np.random.default_rng(seed).random() < 0.75 else -1)

    one, many = (paired(simulate, repeats=n, rng=0) for n in (1, 30))
    x, y = np.array([1.0]), np.array([0.0])
    right = [sum(oracle(x, y) == 1 for _ in range(200)) for oracle in (one, many)]
    assert 120 < right[0] < 180
    assert right[1] > 195  # the binomial of 30 and 1/4 exceeds 14 in one of 200 draws


def test_larger_is_better_on_request():
    assert paired(noisy, maximize=True, rng=0)(np.ones(2), np.zeros(2)) == -1


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor, ProcessPoolExecutor])
def test_a_batch_is_that_many_duels(pool):
    oracle = paired(noisy, rng=0)
    want = np.sign(np.vecdot(BATCH, BATCH) - FAR @ FAR)
    if pool is None:
        np.testing.assert_array_equal(answers(oracle, BATCH, FAR, 1), want)
        return
    with pool(2) as executor:
        np.testing.assert_array_equal(answers(oracle, BATCH, FAR, 1, executor), want)


def test_a_run_is_the_same_for_the_same_seed():
    runs = [
        gd.minimize(paired(noisy, rng=3), gd.Euclidean(2), np.ones(2), budget=100, rng=0).x
        for _ in range(2)
    ]
    assert np.array_equal(*runs)
    assert np.linalg.norm(runs[0]) < 1e-3


@pytest.mark.parametrize(
    ("simulate", "words"),
    [
        (lambda x, seed: 1 / 0, "the simulation raised ZeroDivisionError"),
        (lambda x, seed: float("nan"), "returned nan"),
        (lambda x, seed: "3", "returned str"),
    ],
)
def test_failures_are_oracle_errors(simulate, words):
    with pytest.raises(OracleError, match=words):
        paired(simulate, rng=0)(NEAR, FAR)


def test_bad_arguments_are_named():
    with pytest.raises(ArgumentError, match="simulate must be a function"):
        paired(3)
    with pytest.raises(ArgumentError, match="repeats must be an integer"):
        paired(noisy, repeats=0)


def test_an_infeasible_point_loses_and_two_of_them_tie():
    def simulate(x, seed):
        if x[0] < 0:
            raise InfeasibleError("left of zero")
        return x[0] + np.random.default_rng(seed).normal()

    oracle = gd.paired(simulate, rng=0, repeats=3)
    good, bad = np.array([9.0]), np.array([-1.0])
    assert [oracle(good, bad), oracle(bad, good), oracle(bad, 2 * bad)] == [-1, 1, 0]
