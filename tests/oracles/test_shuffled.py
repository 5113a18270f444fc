"""The order of a duel, drawn: answers are turned back, and a bias for a place is seen."""

from __future__ import annotations

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR

import geoduel as gd
from geoduel.oracles import PositionBias, Shuffled, answers, from_objective


def size(x):
    return float(x @ x)


def test_answers_are_those_of_the_oracle():
    oracle = Shuffled(from_objective(size), rng=0)
    plain = from_objective(size)
    for x, y in ((NEAR, FAR), (FAR, NEAR), (NEAR, NEAR)):
        assert [oracle(x, y) for _ in range(20)] == [plain(x, y)] * 20
    for _ in range(5):
        np.testing.assert_array_equal(answers(oracle, BATCH, FAR, 1), answers(plain, BATCH, FAR, 1))


def test_vectorized_oracles_are_asked_once_a_batch():
    asked = []

    def larger(x, y):
        asked.append(x.shape)
        return np.sign(np.vecdot(x, x) - np.vecdot(y, y))

    larger.vectorized = True
    oracle = Shuffled(larger, rng=0)
    want = np.sign(np.vecdot(BATCH, BATCH) - FAR @ FAR)
    np.testing.assert_array_equal(answers(oracle, BATCH, FAR, 1), want)
    assert asked == [BATCH.shape]


@pytest.mark.parametrize("share", [0.5, 0.6, 0.9])
def test_the_bias_of_a_judge_is_estimated(share):
    """Of 2,000 answers the share is within four standard errors, 0.045 for 1/2."""
    rng = np.random.default_rng(1)
    oracle = Shuffled(lambda x, y: -1 if rng.random() < share else 1, rng=0)
    for _ in range(2000):
        oracle(NEAR, FAR)
    bias = oracle.position_bias
    assert abs(bias.first - share) < 4 * (share * (1 - share) / 2000) ** 0.5
    assert bias.found == (share > 0.5)
    assert bias.error == pytest.approx((bias.first * (1 - bias.first) / 2000) ** 0.5)


def test_without_answers_nothing_is_known():
    oracle = Shuffled(lambda x, y: 0, rng=0)
    assert oracle.position_bias == PositionBias(0.5, 0.0, 0) or oracle.position_bias.answers == 0
    oracle(NEAR, FAR)
    assert oracle.position_bias.answers == 0
    assert not oracle.position_bias.found


def test_a_judge_that_says_first_too_often_is_noise_and_no_error():
    """40 % of the answers are the first point whatever it is; then f is minimised all the same."""

    def judge(rng):
        return lambda x, y: -1 if rng.random() < 0.4 else int(np.sign(size(x) - size(y)))

    def worst(shuffled):
        gaps = []
        for seed in range(3):
            oracle = judge(np.random.default_rng(seed))
            oracle = Shuffled(oracle, rng=seed) if shuffled else oracle
            result = gd.minimize(
                oracle, gd.Euclidean(3), np.ones(3), budget=600, restarts=0, rng=seed
            )
            gaps.append(size(result.x))
        return max(gaps)

    assert worst(shuffled=True) < 1e-4
    assert worst(shuffled=False) > 1e-2
