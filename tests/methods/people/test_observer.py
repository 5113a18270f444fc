"""Raters: names and counts, and the probability of an answer."""

import math

import numpy as np
import pytest

from geoduel.methods.people.observer import Raters, chance, sigmoid
from geoduel.oracles.people import SLOPE


def test_one_jnd_is_told_three_times_out_of_four():
    assert sigmoid(np.array(SLOPE)) == pytest.approx(3 / 4)


def test_sigmoid_is_the_logistic_in_the_dtype_and_does_not_overflow():
    x = np.array([-1e4, -2.0, 0.0, 2.0, 1e4], np.float32)
    y = sigmoid(x)
    assert y.dtype == np.float32
    assert np.allclose(y[1:4], [1 / (1 + math.exp(-t)) for t in (-2, 0, 2)], rtol=1e-6)
    assert np.allclose(y + sigmoid(-x), 1)
    assert 0 < y[0] < 1e-15 < y[-1] <= 1


def test_chance_mixes_looking_and_lapsing():
    """The three answers add up to one if their shares among lapses do."""
    looked, share = np.array([0.2, 0.7, 0.1]), np.array([0.3, 0.6, 0.1])
    assert chance(looked, np.array(0.25), share).sum() == pytest.approx(1)
    assert np.array_equal(chance(looked, np.array(0.0), share), looked)
    assert np.array_equal(chance(looked, np.array(1.0), share), share)


def test_a_ranking_is_several_choices_and_one_answer():
    raters, _ = Raters().hear("ann")
    for more in (False, True, True):
        raters, r = raters.hear("ann", more=more)
    assert (raters.answers, raters.questions, r) == ((4,), (2,), 0)


def heard(*names, most=math.inf):
    raters, indices = Raters(), []
    for name in names:
        raters, r = raters.hear(name, most)
        indices.append(r)
    return raters, indices


def test_raters_are_counted_in_the_order_of_their_first_answers():
    raters, indices = heard("bob", "ann", "bob", "", "ann", "ann")
    assert raters == Raters(("bob", "ann", ""), (2, 3, 1), (2, 3, 1))
    assert indices == [0, 1, 0, 2, 1, 1]


def test_the_first_to_answer_takes_the_place_kept_for_whoever_it_is():
    raters, r = Raters(("",), (0,), (0,)).hear("ann")
    assert (raters, r) == (Raters(("ann",), (1,), (1,)), 0)


def test_beyond_the_most_new_raters_share_the_last_place():
    raters, indices = heard("a", "b", "c", "d", "a", most=2)
    assert raters == Raters(("a", "b"), (2, 3), (2, 3))
    assert indices == [0, 1, 1, 1, 0]
