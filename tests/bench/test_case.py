"""Cases: gaps, targets, and noise in units of the first gap."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.bench import SHARES, Case
from geoduel.errors import ArgumentError


def f(x):
    return float(x @ x)


def case(**more):
    return Case(gd.Euclidean(2), f, np.array([3.0, 4.0]), 5.0, **more)


def test_targets_are_shares_of_the_first_gap():
    found = case()
    assert found.gap(found.x0) == 20
    np.testing.assert_array_equal(found.targets, 20 * SHARES)
    assert SHARES[0] == pytest.approx(10**-0.5)
    assert SHARES[-1] == pytest.approx(1e-9)


def test_a_start_at_the_optimum_is_refused():
    with pytest.raises(ArgumentError, match="worse than least, its gap is 0"):
        Case(gd.Euclidean(2), f, np.zeros(2), 0.0)


def test_the_oracle_compares_and_the_noise_has_the_size_of_the_first_gap():
    rng = np.random.default_rng(0)
    x, y = np.array([1.0, 0.0]), np.array([2.0, 0.0])  # f differs by 3
    assert case().oracle(f, rng)(x, y) == -1
    jnd = {"model": "thurstone", "scale": 1e-9}
    assert case(noise={**jnd, "ties": 0.1}).oracle(f, rng)(x, y) == -1  # 2 of 20
    assert case(noise={**jnd, "ties": 0.2}).oracle(f, rng)(x, y) == 0
    assert case(noise={"flip": 1.0}).oracle(f, rng)(x, y) == 1
