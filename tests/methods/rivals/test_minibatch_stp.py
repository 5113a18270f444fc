"""Minibatch STP: the theorem with the whole batch, and what smaller batches leave."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.rivals.minibatch_stp import MinibatchDuels, MinibatchSTP


def test_theorem_2_with_the_whole_batch(bowl):
    """α = εμ/(LR) and K = LR²/(μ²ε) log(4 gap/ε) iterations leave a gap of ε."""
    f, d, share = bowl(4, 5), 4, 0.05
    mu = math.gamma(d / 2) / (math.sqrt(math.pi) * math.gamma((d + 1) / 2))
    gap = f(f.x0)
    epsilon, R = share * gap, math.sqrt(2 * gap / f.mu)  # the level set is within R
    K = math.ceil(f.L * R**2 / (mu**2 * epsilon) * math.log(4 * gap / epsilon))
    step = epsilon * mu / (f.L * R)
    ends = [f.run("minibatch-stp", 2 * K, s, initial_step=step)[1][-1, 2] for s in range(2)]
    assert np.mean(ends) <= epsilon


def test_larger_minibatches_come_closer():
    data = np.random.default_rng(0).standard_normal((200, 3))
    mean = data.mean(axis=0)

    def left(size):
        errors = []
        for seed in range(3):
            oracle = MinibatchDuels(
                lambda x, which: np.sum((x - data[which]) ** 2, 1), 200, size, rng=seed
            )
            result = gd.minimize(
                oracle, gd.Euclidean(3), np.ones(3), method="minibatch-stp", initial_step=0.02,
                budget=1000, rng=seed,
            )  # fmt: skip
            errors.append(np.sum((result.x - mean) ** 2))
        return np.mean(errors)

    assert left(200) < left(50) < left(2)


def test_the_duels_of_an_iteration_see_one_minibatch():
    seen = []
    oracle = MinibatchDuels(
        lambda x, which: seen.append(tuple(which)) or np.zeros(2), n=50, size=2, rng=0
    )
    for _ in range(4):
        assert oracle(np.zeros(1), np.ones(1)) == 0
    assert len(set(seen[:4])) == len(set(seen[4:])) == 1
    assert seen[0] != seen[4]


def test_its_state_counts_iterations():
    counted = []
    gd.minimize(
        lambda x, y: 1, gd.Euclidean(2), np.zeros(2), method="minibatch-stp", initial_step=0.1,
        budget=6, rng=0, callback=lambda p: counted.append((p.iteration, p.state.k)) and None,
    )  # fmt: skip
    assert [k for _, k in counted] == [iteration for iteration, _ in counted]


def test_the_step_is_planned():
    with pytest.raises(ArgumentError, match="plans its step"):
        gd.minimize(lambda x, y: 0, gd.Euclidean(2), np.zeros(2), method="minibatch-stp")
    method, _ = MinibatchSTP(distance=3.0).plan(
        gd.Euclidean(8), np.zeros(8), iterations=None, budget=200
    )
    assert method.initial_step == pytest.approx(3 / (math.sqrt(2 / (8 * math.pi)) * 100))


@pytest.mark.parametrize(("n", "size"), [(0, 1), (3, 4), (3, 0), (3, 1.5)])
def test_sizes_are_counts(n, size):
    with pytest.raises(ArgumentError, match=r"^(n|size) must be"):
        MinibatchDuels(lambda x, which: x, n, size)


@pytest.mark.parametrize("distance", [0.0, -1.0, np.inf])
def test_the_distance_is_a_length(distance):
    with pytest.raises(ArgumentError, match="distance must be"):
        MinibatchSTP(distance=distance)
