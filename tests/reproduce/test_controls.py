"""Controls tell nothing true, and methods get nowhere with them."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel.errors import ArgumentError
from geoduel.oracles import from_objective
from geoduel.reproduce.controls import CONTROLS, control


def answers(kind, n=2_000):
    oracle = from_objective(lambda x: (x * x).sum(axis=-1), vectorized=True)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, n, 3))
    return oracle(x, y), control(oracle, kind, 1)(x, y)


def test_reversed_is_the_opposite():
    true, lied = answers("reversed")
    assert np.array_equal(lied, -true)


def test_constant_never_decides():
    assert not answers("constant")[1].any()


def test_the_coin_is_fair_and_knows_nothing():
    true, lied = answers("coin")
    assert set(np.unique(lied)) == {-1, 1}
    assert abs(lied.mean()) <= 4 / np.sqrt(len(lied))
    assert abs((lied * true).mean()) <= 4 / np.sqrt(len(lied))


def test_the_coin_decides_ties_too():
    same = from_objective(lambda x: 0.0 * x.sum(axis=-1), vectorized=True)
    x = np.zeros((50, 2))
    assert np.abs(control(same, "coin", 0)(x, x)).all()


def test_unknown_controls_are_refused():
    with pytest.raises(ArgumentError, match="kind must be"):
        control(from_objective(sum), "liar", 0)
    assert len(CONTROLS) == 3
