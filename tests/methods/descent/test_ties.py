"""Ties: what they tell of the probes, and what a run says of its distance where answers tie."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.descent.covariance import cumulated
from geoduel.methods.descent.ties import MANY, TIED, WIDEST, Ties

RNG = np.random.default_rng
NOTICED = 0.01  # least difference that is noticed, in the first gap

pytestmark = pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")


def test_blocks_of_ties_are_counted():
    ties = Ties()
    for share in (1.0, MANY, 0.0, 0.0, 0.3):
        ties = ties.after(share, 1.0)
    assert ties.many == 0.5
    assert not ties.endless
    assert Ties(many=TIED).endless
    assert Ties().after(0.0, 1.0).many == 0  # never less


def test_parts_of_a_block_add_up():
    """A block in five parts counts and widens as one; the running share is one of duels."""
    whole, parts = Ties(many=3.0).after(0.7, 1.0), Ties(many=3.0)
    for _ in range(5):
        parts = parts.after(0.7, 1.0, 0.2)
    assert parts.many == pytest.approx(whole.many)
    assert parts.widen == pytest.approx(whole.widen) == pytest.approx(math.exp(0.7 - MANY))
    many = Ties()
    for _ in range(200):
        many = many.after(0.7, 1.0, 0.2)
    assert many.share == pytest.approx(0.7)


def test_probes_are_widened_by_ties_and_narrowed_by_other_answers():
    ties, widths = Ties(), []
    for share in (1.0, 1.0, 0.0, 0.0, 0.0, 0.0):
        ties = ties.after(share, 1.0)
        widths.append(ties.widen)
    assert widths[0] < widths[1] > widths[2] > widths[3] > widths[5] == 1
    assert Ties(widen=WIDEST).after(1.0, 1.0).widen == WIDEST


def test_what_the_longest_probes_say_is_asked_once_and_forgotten_where_differences_are_noticed():
    ties = Ties().after(1.0, 5.0)
    assert not ties.everywhere(6.0)
    assert ties.everywhere(5.0)
    assert ties.unclear(5.0)
    assert ties.lost(5.0)  # until it has been asked
    near, plateau = (ties._replace(level=level) for level in (False, True))
    assert not near.unclear(5.0)
    assert not near.lost(5.0)
    assert not plateau.unclear(5.0)
    assert plateau.lost(5.0)
    noticed = plateau.after(0.0, 1.0).after(0.0, 1.0)
    assert (noticed.alike, noticed.level) == (0.0, None)
    assert not noticed.lost(5.0)


@pytest.mark.parametrize("d", [2, 7, 40])
def test_directions_that_tie_do_not_shorten_the_steps(d):
    """Coins, of which 70 % tie: log σ does not drift, but for what chance does in 4,000 steps.

    By 4 standard errors, of values whose correlation fades in 1/c steps.
    """
    rng, path, powers, m = RNG(d), np.zeros(d), [], 2
    for k in range(4000):
        z = math.sqrt(d) * np.linalg.qr(rng.standard_normal((d, m)))[0].T
        s = rng.choice([-1.0, 1.0], m) * (rng.random(m) > 0.7)
        path, _, power = cumulated(path, -(s @ z) / math.sqrt(m), k, m, 0.7)
        powers.append(float(power))
    c = (m + 2) / (d + m + 5)
    error = np.std(powers[100:]) * math.sqrt(2 / c / len(powers[100:]))
    # E|p| of few directions is a little less than that of a normal vector.
    bias = c / (1 + c) * math.sqrt(0.3) / (2 * d) * 3
    assert abs(np.mean(powers[100:])) < 4 * error + bias


def noticing(f, gap, seed):
    """Answers of somebody who does not notice small differences."""
    return gd.Noisy(
        gd.from_objective(f), model="thurstone", scale=1e-9, ties=NOTICED * gap, rng=seed
    )


@pytest.mark.parametrize("method", ["duel-csa", "duel-newton"])
@pytest.mark.parametrize("d", [2, 5])
def test_where_small_differences_are_not_noticed_the_distance_is_said_all_the_same(method, d):
    """The end is better than could be noticed, and the stated distance is within a factor of 30."""
    for seed in range(4):
        rng = RNG([seed, d])
        goal, x0 = rng.uniform(-4, 4, d), rng.uniform(-4, 4, d)

        def f(x, goal=goal):
            return float((x - goal) @ (x - goal))

        result = gd.minimize(
            noticing(f, f(x0), seed), gd.Euclidean(d), x0, method=method, budget=300 * d, rng=seed
        )
        assert f(result.x) < NOTICED * f(x0)
        assert result.uncertainty is not None
        distance = math.sqrt(f(result.x))
        assert distance / 30 < result.uncertainty < 30 * distance


@pytest.mark.parametrize("method", ["duel-csa", "duel-newton"])
def test_on_a_plateau_the_distance_is_not_known(method):
    """Far from all slopes the longest probes tie, and so do their ends with x."""
    result = gd.minimize(
        gd.from_objective(lambda x: float(np.linalg.norm(x - 1e3) < 10)), gd.Euclidean(4),
        np.zeros(4), method=method, initial_step=1.0, budget=2000, rng=0,
    )  # fmt: skip
    assert result.stop_reason == "ties"
    assert result.uncertainty is None


def test_rounded_values_are_followed_below_their_steps():
    """DuelCSA on values rounded to 1/100 of the first: long pairs tell what short ones do not."""
    for seed in range(4):
        rng = RNG([seed, 7])
        goal, x0 = rng.uniform(-3, 3, 5), rng.uniform(-3, 3, 5)
        gap = float((x0 - goal) @ (x0 - goal))

        def share(x, goal=goal, gap=gap):
            return float((x - goal) @ (x - goal)) / gap

        oracle = gd.from_objective(lambda x, share=share: math.floor(100 * share(x)))
        result = gd.minimize(oracle, gd.Euclidean(5), x0, method="duel-csa", budget=1000, rng=seed)
        assert share(result.x) < 1e-4  # by short pairs alone: 1e-3
        assert result.stop_reason == "ties"


def test_points_that_are_projected_on_one_are_no_ties():
    """At a vertex of a box both ends of most pairs are the vertex; the search looks in again."""
    f = gd.from_objective(lambda x: float(np.sum(x)))
    states = []
    result = gd.minimize(
        f, gd.Euclidean(3), np.full(3, 0.5), method="duel-csa", budget=400, rng=0,
        domain=gd.Box(np.zeros(3), np.ones(3)), callback=lambda p: states.append(p.state),
    )  # fmt: skip
    np.testing.assert_allclose(result.x, 0, atol=1e-6)
    assert all(s.ties.widen == 1 for s in states if hasattr(s, "ties"))
