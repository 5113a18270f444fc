"""ZO-RankSGD: the estimator, what a ranking costs, and that it descends."""

import math
from itertools import combinations

import numpy as np
import pytest

from geoduel.errors import ArgumentError
from geoduel.methods.rivals.rank_sgd import RankSGD, rank_weights


@pytest.mark.parametrize(("m", "k"), [(2, 1), (5, 5), (6, 2), (7, 6)])
def test_the_weights_sum_over_the_edges_of_the_ranking(m, k):
    order = [int(i) for i in np.random.default_rng(m).permutation(m)]
    edges = list(combinations(order[:k], 2))
    edges += [(i, j) for i in order[:k] for j in order[k:]]
    weights = np.zeros(m)
    for i, j in edges:
        weights[j] += 1 / len(edges)
        weights[i] -= 1 / len(edges)
    np.testing.assert_allclose(rank_weights(order[:k], m), weights, atol=1e-15)


def test_the_estimator_points_uphill_on_average():
    """Of two points: along the gradient E|ξ_1 - ξ_2| = 2/√π, across it nothing."""
    rng = np.random.default_rng(0)
    xi = rng.standard_normal((4000, 2, 5))
    worse = (xi[:, 1, 0] > xi[:, 0, 0]).astype(int)  # f = x_1: the larger is worse
    g = np.array([rank_weights([1 - w, w], 2) @ x for w, x in zip(worse, xi, strict=True)])
    error = g.std(axis=0) / math.sqrt(len(g))
    assert abs(g[:, 0].mean() - 2 / math.sqrt(math.pi)) < 5 * error[0]
    assert (abs(g[:, 1:].mean(axis=0)) < 5 * error[1:]).all()


def test_an_iteration_pays_for_a_sort_and_for_the_best_length(bowl):
    result, _ = bowl(5).run("rank-sgd", 2000)
    sort = sum(math.ceil(math.log2(i)) for i in range(2, 16))
    least = math.lgamma(16) / math.log(2)
    assert least - 1 + 13 <= result.duels / result.iterations <= sort + 13 + 5


def test_the_gap_falls_by_a_constant_factor_until_the_shortest_step(bowl):
    f = bowl(5, 3)
    ends = [f.run("rank-sgd", 1500, seed)[1] for seed in range(3)]
    assert np.median([rows[-1, 2] / rows[0, 2] for rows in ends]) < 1e-7
    for rows in ends:
        assert (np.diff(rows[:, 2]) <= 0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"directions": 1}, "directions must be an integer >= 2"),
        ({"directions": 4, "ranked": 5}, "ranked must be at most directions = 4"),
        ({"lengths": 0}, "lengths must be"),
        ({"radius": -1.0}, "radius must be"),
    ],
)
def test_bad_settings_are_named(options, words):
    with pytest.raises(ArgumentError, match=words):
        RankSGD(**options)
