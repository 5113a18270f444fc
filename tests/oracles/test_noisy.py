"""Noise has the stated probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples.duels import BATCH, NEAR, QUADRATIC, needs_torch, square, torch

from geoduel.errors import ArgumentError
from geoduel.oracles import Noisy, Reversed, answers, from_objective, from_preference

DRAWS = 10_000


def shares(oracle, x, y):
    """Shares of the answers -1, 0 and 1, asked as one batch."""
    got = answers(oracle, np.broadcast_to(x, (DRAWS, 2)), y, 1)
    return np.array([(got == a).mean() for a in (-1, 0, 1)])


def assert_shares(got, expected):
    """Within five standard errors."""
    expected = np.asarray(expected)
    np.testing.assert_array_less(
        abs(got - expected), 5 * np.sqrt(expected * (1 - expected) / DRAWS) + 1e-12
    )


def logistic(t):
    return 1 / (1 + math.exp(-t))


def normal(t):
    return math.erfc(-t / math.sqrt(2)) / 2


AWAY = np.sqrt(np.array([1.8, 0.0]))  # f(AWAY) - f(NEAR) = 0.8


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"flip": 0.1}, [0.1, 0, 0.9]),
        ({"lapse": 0.1}, [0.05, 0, 0.95]),
        ({"flip": 0.2, "lapse": 0.1}, [0.9 * 0.2 + 0.05, 0, 0.9 * 0.8 + 0.05]),
        (
            {"model": "bradley-terry", "scale": 0.5},
            [1 - logistic(1.6), 0, logistic(1.6)],
        ),
        ({"model": "thurstone", "scale": 0.5}, [1 - normal(1.6), 0, normal(1.6)]),
        (
            {"model": "thurstone", "scale": 0.5, "lapse": 0.2},
            [0.8 * (1 - normal(1.6)) + 0.1, 0, 0.8 * normal(1.6) + 0.1],
        ),
        (  # Rao and Kupper
            {"model": "bradley-terry", "scale": 0.5, "ties": 0.3},
            [logistic(-2.2), logistic(-1.0) - logistic(-2.2), logistic(1.0)],
        ),
        (
            {"model": "thurstone", "scale": 0.5, "ties": 0.3},
            [normal(-2.2), normal(-1.0) - normal(-2.2), normal(1.0)],
        ),
    ],
)
def test_noise_has_the_stated_probabilities(settings, expected):
    assert_shares(shares(Noisy(QUADRATIC, **settings, rng=3), AWAY, NEAR), expected)
    # The sign of the difference is all that turns round.
    assert_shares(shares(Noisy(QUADRATIC, **settings, rng=4), NEAR, AWAY), expected[::-1])


def test_noise_one_pair_at_a_time_has_the_same_law():
    oracle = Noisy(
        from_objective(square), 0.1, model="bradley-terry", scale=0.5, ties=0.3, lapse=0.1, rng=5
    )
    got = np.array([answers(oracle, AWAY, NEAR, 1) for _ in range(DRAWS)])
    p = np.array([logistic(-2.2), logistic(-1.0) - logistic(-2.2), logistic(1.0)])
    flipped = 0.9 * p + 0.1 * p[::-1]
    expected = 0.9 * flipped + 0.05 * np.array([1, 0, 1])
    assert_shares(np.array([(got == a).mean() for a in (-1, 0, 1)]), expected)


def test_exact_ties_stay_ties_under_flips():
    oracle = Noisy(QUADRATIC, flip=0.5, rng=0)
    np.testing.assert_array_equal(shares(oracle, NEAR, -NEAR), [0, 1, 0])


@needs_torch
def test_noise_on_torch_is_the_same():
    settings = {"flip": 0.1, "model": "thurstone", "scale": 5.0, "lapse": 0.1, "rng": 6}
    ours = answers(Noisy(QUADRATIC, **settings), BATCH, NEAR, 1)
    theirs = answers(Noisy(QUADRATIC, **settings), torch.asarray(BATCH), torch.asarray(NEAR), 1)
    assert theirs.tolist() == ours.tolist()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"flip": 1.5}, "flip must be a probability"),
        ({"flip": -0.1}, "flip must be a probability"),
        ({"lapse": math.nan}, "lapse must be a finite number"),
        ({"model": "logistic"}, "model must be one of"),
        ({"model": "thurstone", "scale": 0}, "scale must be > 0"),
        ({"ties": 0.1}, "needs a model"),
        ({"scale": 0.3}, "scale=0.3 needs a model"),
        ({"flip": 0.1, "scale": 1.0}, "scale=1.0 needs a model"),
        ({"model": "thurstone", "ties": -1}, "ties must be >= 0"),
    ],
)
def test_wrong_noise(settings, words):
    with pytest.raises(ArgumentError, match=words):
        Noisy(QUADRATIC, **settings)


@pytest.mark.parametrize(
    "oracle", [from_preference(lambda a, b: "a"), Reversed(QUADRATIC), lambda x, y: 1]
)
def test_models_of_noise_need_values(oracle):
    with pytest.raises(ArgumentError, match="made by from_objective directly"):
        Noisy(oracle, model="thurstone")
