"""SCOBO: the estimator is the maximiser it claims to be, and sparse gradients are found."""

import numpy as np
import pytest
from scipy.optimize import minimize

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.frame import Frame
from geoduel.methods.rivals.scobo import SCOBO, one_bit


@pytest.mark.parametrize("s", [1, 2, 5])
def test_one_bit_maximises_over_both_balls(s):
    v = np.random.default_rng(s).standard_normal(5)
    g = one_bit(v, s)
    assert np.linalg.norm(g) <= 1 + 1e-9
    assert abs(g).sum() <= np.sqrt(s) + 1e-9
    best = minimize(  # in the signs of v, so that |g|_1 is a sum
        lambda a: -abs(v) @ a, np.full(5, 0.1), bounds=[(0, 1)] * 5, method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": lambda a: 1 - a @ a},
            {"type": "ineq", "fun": lambda a: np.sqrt(s) - a.sum()},
        ],
    )  # fmt: skip
    assert v @ g == pytest.approx(-best.fun, rel=1e-6)


@pytest.mark.parametrize(
    ("ends", "asked", "length"),
    [
        (0.1, [(1, 0), (0.5, 0), (0.25, 0)], 0.2),  # never: the least, not below
        (0.9, [(1, 0), (0.5, 0)], 0.5),
        (1.5, [(1, 0), (2, 1)], 1.0),
        (7.0, [(1, 0), (2, 1), (4, 2), (8, 4)], 4.0),
    ],
)
def test_the_line_search_doubles_while_that_wins_or_halves_until_it_does(ends, asked, length):
    """Where the best length is half of ``ends``, all shorter than ``ends`` are worth it."""
    plane, seen = gd.Euclidean(1), []
    search = SCOBO()._length(plane, Frame(np.zeros(1), np.eye(1)), np.ones(1), 1.0, 0.2)
    answer = None
    try:
        while True:
            x, y = (float(p[0]) for p in search.send(answer))
            seen.append((x, y))
            answer = abs(x - ends / 2) - abs(y - ends / 2)
    except StopIteration as end:
        found = end.value
    assert (found, seen) == (length, asked)


def test_signs_of_many_directions_tell_a_sparse_gradient():
    """|g - ĝ| falls like (s log(2d/s)/m)^¼ or faster."""
    rng, d, s = np.random.default_rng(0), 200, 4
    gradient = np.r_[rng.standard_normal(s), np.zeros(d - s)]
    gradient /= np.linalg.norm(gradient)

    def error(m):
        Z = rng.standard_normal((m, d))
        return np.linalg.norm(one_bit(np.sign(Z @ gradient) @ Z, s) - gradient)

    errors = [np.mean([error(m) for _ in range(5)]) for m in (100, 1600)]
    assert errors[1] < errors[0] / 2 * 1.1
    assert errors[1] < 0.3


def test_few_duels_where_few_entries_matter():
    """d = 100, three of them in f: an iteration has 20 s log(2d/s) = 252 duels and a few."""
    oracle = gd.from_objective(lambda x: np.sum(x[..., :3] ** 2, axis=-1), vectorized=True)
    left = {}
    for sparsity in (3, 100):
        result = gd.minimize(
            oracle, gd.Euclidean(100), np.ones(100), method="scobo", sparsity=sparsity,
            budget=1380, rng=0,
        )  # fmt: skip
        left[sparsity] = np.sum(result.x[:3] ** 2)
    assert left[3] < 0.5 * 3
    assert left[100] == 3  # 20 d log 2 = 1387 duels, and nothing is known yet


@pytest.mark.parametrize("name", ["sparsity", "samples", "radius"])
def test_settings_are_positive(name):
    with pytest.raises(ArgumentError, match=f"{name} must be"):
        SCOBO(**{name: 0})
