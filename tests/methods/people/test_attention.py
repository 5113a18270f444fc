"""Whether raters look: evidence by hand, as probabilities, and the radius that is stated."""

import itertools
import math

import numpy as np
import pytest

from geoduel.methods.people.attention import (
    COIN,
    EASY,
    NEVER,
    SIDE,
    SURE,
    TURN,
    Attention,
    Verdict,
    stated_radius,
)
from geoduel.methods.people.weights import radius_holding

LOOKS = 1 - COIN - SIDE - TURN


def heard(answers, expected=0.5, left=1, r=0, attention=None):
    """Evidence after these answers to questions whose "b" is as probable as expected."""
    attention = attention or Attention.none()
    for k, answer in enumerate(answers):
        p = expected[k] if isinstance(expected, list) else expected
        attention = attention.hear(r, p, answer, left)
    return attention


# -- log odds --------------------------------------------------------------------------------------


def test_without_answers_the_doubt_is_that_of_the_prior():
    assert Attention.none().doubt() == pytest.approx(COIN + SIDE + TURN)
    assert heard([0]).doubt() == pytest.approx(COIN + SIDE + TURN)


@pytest.mark.parametrize("passed", [1, 3, 6])
@pytest.mark.parametrize("p", [0.9, 0.95])
def test_a_coin_passes_k_easy_questions_with_probability_2_to_the_minus_k(passed, p):
    """Those who look pass with p^k; where sides are not known, the habits are coins, too."""
    found = heard([1] * passed, p, left=0)
    chance = (COIN + SIDE + TURN) * 2.0**-passed
    assert found.doubt() == pytest.approx(chance / (chance + LOOKS * p**passed))
    assert found.easy.tolist() == [[passed, 0]]


def test_log_odds_of_two_answers_by_hand():
    """Expected with 0.8 and 0.6; "left" both times, of which a Beta(1/2, 1/2) makes 3/8.

    The second answer was for the same side as the first, of which it makes 1/2.
    """
    found = heard([-1, -1], [0.2, 0.4])
    odds = {"looks": LOOKS * 0.8 * 0.6 * 4, "coin": COIN, "side": SIDE * 3 / 8 * 4, "turn": TURN}
    for kind, weight in found.weights(0).items():
        assert weight == pytest.approx(odds[kind] / sum(odds.values()))
    assert found.sides.tolist() == [[2, 0]]
    assert found.turns.tolist() == [[1, 0]]
    assert found.last.tolist() == [1]


def test_an_answer_that_is_never_given_counts_as_seldom():
    for expected, answer in ((0.0, 1), (1.0, -1)):
        assert heard([answer], expected).looks == pytest.approx(math.log(2 * NEVER))
        assert heard([-answer], expected).looks == pytest.approx(math.log(2 * (1 - NEVER)))


def test_the_evidence_of_each_habit_is_a_probability_of_the_answers():
    """Over all sequences of five answers the probabilities sum to 1, whichever the habit."""
    n, expected = 5, [0.1, 0.5, 0.7, 0.95, 0.3]
    prior = {"looks": LOOKS, "coin": COIN, "side": SIDE, "turn": TURN}
    total = dict.fromkeys(prior, 0.0)
    for answers in itertools.product((-1, 1), repeat=n):
        w = heard(answers, expected).weights(0)
        assert sum(w.values()) == pytest.approx(1)
        for kind in prior:
            total[kind] += w[kind] / prior[kind] / (w["coin"] / prior["coin"]) * 2.0**-n
    assert list(total.values()) == pytest.approx([1] * 4)


def test_which_point_is_on_which_side_does_not_matter_to_those_who_look():
    """Swapping the points and the answer is the same question."""
    one, two = heard([1, -1, 1], [0.9, 0.4, 0.7]), heard([-1, 1, -1], [0.1, 0.6, 0.3], left=-1)
    for x, y in zip(one, two, strict=True):
        assert np.allclose(x, y)


def test_ties_tell_nothing_of_habits():
    before = heard([1, -1], 0.6)
    after = before.hear(0, 0.99, 0, 1)
    for x, y in zip(before, after, strict=True):
        assert np.array_equal(x, y)


def test_easy_questions_are_those_whose_answer_is_all_but_known():
    found = heard([1, -1, 1, -1], [EASY, EASY, EASY - 0.01, 1 - EASY])
    assert found.easy.tolist() == [[2, 1]]


def test_raters_are_counted_by_themselves_and_one_who_looks_is_enough():
    both = heard([1, -1] * 4, 0.95, r=1, attention=heard([1] * 5, 0.95))
    alone = heard([1] * 5, 0.95)
    assert both.weights(0) == pytest.approx(alone.weights(0))
    assert both.doubt() == pytest.approx(alone.doubt())
    assert 1 - both.weights(1)["looks"] > 0.8


def test_a_choice_is_easy_from_the_same_chance_on_as_a_duel():
    """Right where the likeliest was chosen; where one is less likely, it was no easy choice."""
    found = Attention.none()
    for likeliest, best in ((EASY, 0), (EASY, 1), (EASY - 0.01, 0)):
        found = found.hear_choice(0, np.array([likeliest, 1 - likeliest]), best)
    assert found.easy[0].tolist() == [1, 1]


def test_hearing_leaves_what_was_known_before_as_it_was():
    before = heard([1, 1], 0.9)
    kept = [x.copy() for x in before]
    before.hear(0, 0.9, -1, 1)
    before.hear(1, 0.9, -1, 1)
    for x, y in zip(before, kept, strict=True):
        assert np.array_equal(x, y)


# -- verdicts --------------------------------------------------------------------------------------


def habit(kind, n=30, seed=0):
    """Answers to questions one in three of which is easy."""
    rng, found, chosen = np.random.default_rng(seed), Attention.none(), 1
    for k in range(n):
        expected = float(rng.choice([0.03, 0.97])) if k % 3 == 0 else 0.5
        left = int(rng.choice([-1, 1]))
        side = {
            "looks": -left if rng.random() < expected else left,
            "answers like a coin": int(rng.choice([-1, 1])),
            "favours left": 1,
            "favours right": -1,
            "alternates sides": -chosen,
            "keeps a side": 1 if k < n / 2 else -1,
        }[kind]
        chosen, answer = side, -side * left
        found = found.hear(0, expected, answer, left)
    return found


@pytest.mark.parametrize(
    ("kind", "evidence"),
    [
        ("looks", "10 of 10 easy questions answered as expected"),
        ("answers like a coin", "of 10 easy questions answered as expected"),
        ("favours left", "30 of 30 answers were left"),
        ("favours right", "30 of 30 answers were right"),
        ("alternates sides", "29 of 29 answers were for the side not chosen before"),
    ],
)
def test_verdicts_in_words(kind, evidence):
    verdict = habit(kind).verdict(0)
    assert verdict.kind == kind
    assert verdict.evidence.endswith(evidence)
    assert (verdict.doubt < 1 - SURE) == (kind == "looks")


def test_who_keeps_a_side_for_long_is_told_apart_from_who_changes_it_each_time():
    verdict = habit("keeps a side").verdict(0)
    assert verdict.kind == "alternates sides"
    assert verdict.evidence == "28 of 29 answers were for the side chosen before"


def test_it_is_too_early_before_there_is_evidence():
    """Answers to open questions are as probable either way."""
    early = heard([1, -1, -1, 1], 0.5)
    kind, evidence = "too early to say", "0 of 0 easy questions answered as expected"
    assert early.verdict(0) == Verdict(kind, early.doubt(), evidence)
    assert heard([1, 1], 0.95, left=0).verdict(0).kind == kind
    assert heard([1] * 3, 0.95, left=0).verdict(0).kind == "looks"


def test_few_who_look_are_taken_for_others_and_few_coins_for_who_looks():
    """At most one in five by the prior; in 200 people each, of 20 answers, fewer than one in 20."""
    looking, coins = (
        [habit(kind, 20, seed).verdict(0).kind for seed in range(200)]
        for kind in ("looks", "answers like a coin")
    )
    assert sum(kind not in ("looks", "too early to say") for kind in looking) < 10
    assert coins.count("looks") < 10
    assert looking.count("looks") > 150


# -- the radius ------------------------------------------------------------------------------------


def belief(seed=0, n=400):
    rng = np.random.default_rng(seed)
    w = rng.random(n)
    return abs(rng.standard_normal(n)), w / w.sum()


def test_without_doubt_the_radius_is_that_of_who_looks():
    away, w = belief()
    for share in (0.5, 0.8):
        assert stated_radius(share, away, w, 0.0, 3.0) == radius_holding(share, away, w)


def test_the_radius_grows_with_the_doubt_up_to_the_farthest():
    away, w = belief()
    radii = [stated_radius(0.8, away, w, doubt, 3.0) for doubt in np.linspace(0, 1, 21)]
    assert np.all(np.diff(radii) > 0)
    assert radii[0] == pytest.approx(stated_radius(0.8, away, w, 1e-9, 3.0), rel=1e-2)
    assert radii[-1] < 3.0


def test_if_nobody_looks_the_logarithm_of_the_distance_is_evenly_distributed():
    away, w = belief()
    known = radius_holding(0.8, away, w)
    found = stated_radius(0.8, away, w, 1.0, 3.0)
    assert math.log(found / known) == pytest.approx(0.8 * math.log(3.0 / known), rel=1e-3)


def test_the_radius_holds_its_share_of_the_mixture():
    away, w = belief(1)
    known, doubt = radius_holding(0.8, away, w), 0.3
    radius = stated_radius(0.8, away, w, doubt, 3.0)
    lost = math.log(radius / known) / math.log(3.0 / known)
    assert (1 - doubt) * w[away <= radius].sum() + doubt * lost == pytest.approx(0.8, abs=0.01)


def test_what_is_known_to_be_farther_is_stated_so():
    away, w = belief()
    assert stated_radius(0.8, away, w, 0.5, 0.1) == radius_holding(0.8, away, w)
