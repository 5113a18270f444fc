"""Beliefs as weights: draws, radii, and what an answer would tell, by loops."""

import itertools
import math

import numpy as np
import pytest

from geoduel.methods.people.weights import drawn, imagined, information, radius_holding


def belief(rng, *shape):
    w = rng.random(shape)
    return w / w.sum(axis=-1, keepdims=True)


def test_drawn_are_as_many_of_each_as_its_weight_says_but_for_one():
    w = belief(np.random.default_rng(0), 30)
    for offset in (0.0, 0.5, 0.999):
        counts = np.bincount(drawn(w, 200, offset), minlength=30)
        assert counts.sum() == 200
        assert np.all(abs(counts - 200 * w) < 1)


def test_drawn_are_within_range_though_weights_add_up_to_less_than_one():
    assert drawn(np.full(3, 0.3), 5, 0.99).max() == 2


def test_radius_holds_its_share():
    rng = np.random.default_rng(1)
    w, distances = belief(rng, 2000), rng.random(2000)
    for share in (0.1, 0.56, 0.8):
        radius = radius_holding(share, distances, w)
        assert w[distances <= radius].sum() == pytest.approx(share, abs=2 * w.max())


def entropy(p):
    return -sum(x * math.log(x) for x in p if x > 0)


def test_information_is_what_the_entropy_of_the_weights_loses():
    """By loops over answers, as the expected decrease of H(w)."""
    rng = np.random.default_rng(2)
    worlds, chances = belief(rng, 3, 6), np.moveaxis(belief(rng, 6, 4, 3), -1, 0)
    expected = np.zeros(4)
    for w, j in itertools.product(worlds, range(4)):
        after = 0.0
        for p in chances[:, :, j]:
            after += (w @ p) * entropy(w * p / (w @ p))
        expected[j] += (entropy(w) - after) / len(worlds)
    assert np.allclose(information(worlds, chances), expected)


def test_information_of_a_sure_answer_is_one_bit_and_of_a_coin_is_none():
    sure = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])[..., None]
    coin = np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]])[..., None]
    half = np.full((1, 2), 0.5)
    assert information(half, sure) == pytest.approx(math.log(2))
    assert information(half, coin) == pytest.approx(0)


def test_imagined_answers_are_as_frequent_as_the_truth_makes_them():
    """Particles 1 to 3 tell which answer it was."""
    p = np.array([0.5, 0.2, 0.3])
    m = 4000
    chances = np.zeros((3, 4, m))
    chances[:, 0] = p[:, None]
    chances[:, 1:] = np.eye(3)[..., None]
    likelihoods = imagined(np.random.default_rng(0), chances, 0)
    assert likelihoods.shape == (m, 4)
    assert np.allclose(likelihoods[:, 1:].mean(axis=0), p, atol=4 * 0.5 / math.sqrt(m))
    assert np.array_equal(likelihoods[:, 0], likelihoods[:, 1:] @ p)
