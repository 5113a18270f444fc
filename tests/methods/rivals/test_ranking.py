"""Rankings: right, and with no more duels than a sort by bisection needs."""

import math

import numpy as np
import pytest

from geoduel.methods.rivals.ranking import place, top


def answered(duels, f=float):
    """What the duels come to, and how many there were."""
    answer, count = None, 0
    try:
        while True:
            x, y = duels.send(answer)
            answer, count = int(np.sign(f(x) - f(y))), count + 1
    except StopIteration as done:
        return done.value, count


@pytest.mark.parametrize("n", [0, 1, 2, 7, 30])
def test_a_place_by_bisection(n):
    ranked = [float(i) for i in range(n)]
    for x in np.arange(-0.5, n):
        at, count = answered(place(x, ranked))
        assert at == np.searchsorted(ranked, x)
        assert count <= math.ceil(math.log2(n + 1))


def test_ties_go_behind():
    assert answered(place(1.0, [0.0, 1.0, 1.0, 2.0]))[0] == 3


@pytest.mark.parametrize("k", [1, 3, 15])
def test_the_best_k_are_found_in_order(k):
    values = np.random.default_rng(0).permutation(15).astype(float)
    order, count = answered(top(list(values), k))
    assert order == list(np.argsort(values)[:k])
    if k == 1:
        assert count == 14
    if k == 15:  # Σ ⌈log2 i⌉, the least that a sort by insertion can promise
        assert count <= sum(math.ceil(math.log2(i)) for i in range(2, 16))
    assert count >= math.log2(math.factorial(15) / math.factorial(15 - k)) - 1e-9 or k == 1
