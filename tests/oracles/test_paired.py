"""Simulations with common random numbers."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR
from scipy import stats

import geoduel as gd
from geoduel.errors import ArgumentError, InfeasibleError, OracleError
from geoduel.oracles import answers, paired
from geoduel.oracles.paired import evidence


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


# -- races -----------------------------------------------------------------------------------------


def separate(x, seed):
    """Noise of deviation 1 that has nothing in common."""
    return float(x[0]) + np.random.default_rng([seed, *x.astype(np.float64).view("u8")]).normal()


def test_races_of_equal_means_are_seldom_called():
    """In 5 % of 2,000 at most, though one looks after each of 40; four standard errors are 2 %."""
    d = np.random.default_rng(0).normal(size=(2000, 40))
    called = np.zeros(2000, dtype=bool)
    for n in range(2, 41):
        called |= evidence(d[:, :n]) >= np.log(20)
    assert 0.005 < called.mean() < 0.07


def test_a_race_ends_sooner_the_farther_apart_the_points_are():
    used = []
    for gap in (0.5, 1.0, 4.0):
        oracle = paired(separate, confidence=0.95, rng=0)
        x, y = np.full((50, 1), gap), np.zeros((50, 1))
        wrong = (answers(oracle, x, y, 1) < 0).sum()
        assert wrong <= 6  # 5 % of 50 are 2.5; two standard errors more
        used.append(oracle.runs / 100)
    assert used[0] > used[1] > used[2]
    assert used[2] < 10


def test_the_evidence_is_that_of_an_integral():
    """The likelihood of t averaged over effects δ ~ N(0, 1): noncentral t against central t."""
    d = np.random.default_rng(0).normal(0.7, 1.0, (1, 8))
    n = d.shape[1]
    t = d.mean() / d.std(ddof=1) * np.sqrt(n)
    effects, weights = np.polynomial.hermite_e.hermegauss(60)
    under = stats.nct.pdf(t, n - 1, effects * np.sqrt(n)) @ weights / weights.sum()
    expected = np.log(under / stats.t.pdf(t, n - 1))
    assert evidence(d)[0] == pytest.approx(expected, rel=1e-6)
    assert evidence(1e6 * d)[0] == pytest.approx(expected, rel=1e-6)  # whatever the scale
    assert evidence(np.zeros((1, 5)))[0] == evidence(d[:, :1])[0] == 0


def test_folds_are_each_used_once_and_decide_in_the_end():
    """The mean over all ten folds, which differ less in nine of them than the other way in one."""
    losses = np.r_[np.full(9, -0.1), 2.0]
    seen = []
    oracle = paired(
        lambda x, fold: seen.append(fold) or float(x[0] * losses[fold]), seeds=range(10), rng=0
    )
    assert oracle(np.ones(1), np.zeros(1)) == 1
    assert sorted(seen[::2]) == list(range(10))
    assert seen[::2] != list(range(10))
    race = paired(lambda x, fold: float(x[0] * losses[fold]), seeds=range(10), confidence=0.9999)
    assert race(np.ones(1), np.zeros(1)) == 1
    assert race.runs == 20


def test_a_race_needs_five_equal_differences():
    """Those of a function without noise: ((1 + n)^(n-1))^(1/2) reaches 20 at n = 5."""
    oracle = paired(lambda x, seed: float(x[0]), confidence=0.95)
    assert oracle(np.ones(1), np.zeros(1)) == 1
    assert oracle.runs == 10
    assert oracle(np.ones(1), np.ones(1)) == 0  # after a hundred seeds


def test_an_infeasible_point_ends_a_race():
    def simulate(x, seed):
        if x[0] < 0:
            raise InfeasibleError("left of zero")
        return x[0] + np.random.default_rng(seed).normal()

    oracle = paired(simulate, confidence=0.95)
    good, bad = np.array([9.0]), np.array([-1.0])
    assert [oracle(good, bad), oracle(bad, good), oracle(bad, 2 * bad)] == [-1, 1, 0]
    assert oracle.runs == 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"confidence": 1.0}, "confidence must be between 0 and 1"),
        ({"seeds": []}, "seeds must be different numbers"),
        ({"seeds": [1, 1]}, "seeds must be different numbers"),
        ({"seeds": [1.5]}, "seeds must be an integer"),
        ({"seeds": [1, 2], "repeats": 3}, "repeats=3 is more than there are seeds, 2"),
    ],
)
def test_bad_settings_of_a_race_are_named(options, words):
    with pytest.raises(ArgumentError, match=words):
        paired(separate, **options)
