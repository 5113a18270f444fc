"""Majorities are right with the stated confidence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples.duels import FAR, NEAR, QUADRATIC

from geoduel.errors import ArgumentError, BudgetExhaustedError
from geoduel.oracles import Counted, Repeated, answers


class Script:
    """An oracle that gives prepared answers, one a duel."""

    def __init__(self, *script):
        self.script = list(script)

    def __call__(self, x, y):
        return self.script.pop(0)


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
