"""Noise: what duels asked twice tell of the flip rate."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.descent.noise import FADE, PACE, RIPPLES, Noise


def test_answers_that_never_differ_are_right():
    noise = Noise().see(np.ones(20), np.ones(20))
    assert (noise.flip_rate, noise.capacity, noise.widen) == (0.0, 1.0, 1.0)


def test_coins_tell_nothing_and_widen_the_probes():
    first = np.ones(200)
    noise = Noise().see(first, np.where(np.arange(200) % 2, 1.0, -1.0))
    assert noise.capacity == 0.005
    assert noise.flip_rate > 0.4
    assert noise.widen > 10


def test_steps_neither_shrink_nor_grow_on_coins_once_probes_are_widened():
    """The mean over all numbers of pairs that may differ, with the probabilities of coins."""
    for asked in (10, 50, 100):
        chances = np.array([math.comb(asked, k) / 2.0**asked for k in range(asked + 1)])
        told = [Noise(asked, k, widen=2.0).learned for k in range(asked + 1)]
        at_once = [Noise(asked, k).learned for k in range(asked + 1)]
        spread = math.sqrt(chances @ np.square(told))
        assert abs(chances @ np.array(told)) < 0.05 * spread
        assert chances @ np.array(at_once) > 0.1 * spread  # what this is for
        assert min(told) < 0 < told[0]


def test_a_constant_flip_rate_is_found():
    rng = np.random.default_rng(0)
    first, again = (np.where(rng.random(1000) < 0.2, -1.0, 1.0) for _ in range(2))
    # The memory counts as some 200 pairs, so 2p(1-p) is known to 0.033 and p to 0.028.
    assert abs(Noise().see(first, again).flip_rate - 0.2) < 3 * 0.028


def test_shorter_probes_let_counts_fade_and_ask_again():
    noise = Noise(asked=10.0, differed=2.0)
    shorter, longer = noise.rescaled(0.1), noise.rescaled(10.0)
    assert shorter.asked / noise.asked == shorter.differed / noise.differed == 0.1**FADE
    assert shorter.credit == pytest.approx(1.0)
    assert longer == noise


def test_ripples_count_as_wrong_answers_until_probes_are_short():
    """They cost what a channel with as many flips costs; a duel asked twice shows nothing."""
    noise = Noise().smoothed(1.0, 2.0)
    channel = 1 + RIPPLES * math.log2(RIPPLES) + (1 - RIPPLES) * math.log2(1 - RIPPLES)
    assert (noise.flip_rate, noise.astray) == (0.0, RIPPLES)
    assert noise.capacity == channel
    assert noise.learned == channel * PACE / 2
    assert noise.at(1.0) == noise
    assert noise.at(0.9) == Noise()


def test_more_wrong_answers_than_ripples_still_count():
    rng = np.random.default_rng(0)
    first, again = (np.where(rng.random(400) < 0.35, -1.0, 1.0) for _ in range(2))
    seen, smoothed = (n.see(first, again) for n in (Noise(), Noise().smoothed(1.0, 1.0)))
    assert smoothed.astray == seen.flip_rate > RIPPLES
    assert smoothed.capacity == seen.capacity


@pytest.mark.parametrize(
    ("noise", "d", "share"),
    [
        (Noise(), 100, 0.05),
        (Noise(total=3), 2, 0.2),
        (Noise(total=4), 2, 0.01),  # the first four tell enough
        (Noise(20.0, 5.0, 20), 100, 0.1),
        (Noise(20.0, 5.0, 20), 1, 0.4),
    ],
)
def test_shares_of_the_duels_are_due_and_fractions_are_kept(noise, d, share):
    count, after = noise.due(10_000, d)
    assert count == round(10_000 * share)
    few, after = noise.due(3, d)
    assert few + after.credit == pytest.approx(3 * share)
    assert 0 <= after.credit < 1
    assert noise._replace(credit=99.0).due(3, d) == (3, noise._replace(credit=96 + 3 * share))


@pytest.mark.parametrize(
    ("first", "again", "differed"), [(1, -1, 1), (1, 1, 0), (0, 0, 0), (0, 1, 0.5), (-1, 0, 0.5)]
)
def test_a_tie_against_a_win_differs_by_half(first, again, differed):
    seen = Noise(asked=10.0, differed=2.0, total=7).see(np.array([first]), np.array([again]))
    assert (seen.asked, seen.total) == (pytest.approx(10.9), 8)
    assert seen.differed == pytest.approx(1.98 + differed)
    assert Noise().see(np.array([first]), np.array([again])).widen == 1  # one pair says too little


@pytest.mark.parametrize(
    ("method", "seed"), [("duel-newton", 2), ("duel-newton", 5), ("duel-csa", 1)]
)
def test_wide_probes_of_a_simplex_do_not_turn_back_at_its_walls(method, seed):
    """By reflection: pairs were no longer mirrored, and led to the walls with certainty."""
    simplex = gd.Simplex(4)
    goal, x0 = simplex.random_point(np.random.default_rng([seed, 12]), batch=(2,))
    f = gd.from_objective(lambda x: simplex.dist(goal, x) ** 2)
    oracle = gd.Noisy(f, flip=0.2, rng=seed)
    result = gd.minimize(oracle, simplex, x0, method=method, budget=500, rng=seed)
    assert simplex.dist(goal, result.x) < 0.02
