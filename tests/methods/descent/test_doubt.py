"""What a descent doubts: growth of its probes, their contraction, and its ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import geoduel as gd
from geoduel.methods.descent.doubt import (
    CLEARED,
    LAG,
    SHRUNK,
    Anchor,
    Claim,
    Symmetry,
    Trail,
    beats,
    both_sides,
    look_around,
    middle,
    off_centre,
    sloping,
)
from geoduel.methods.frame import Frame


def played(questions, f):
    """What a generator returns when f answers, and how many duels it asked."""
    answers, asked = None, 0
    while True:
        try:
            x, y = questions.send(answers)
        except StopIteration as end:
            return end.value, asked
        answers = np.sign(np.apply_along_axis(f, -1, x) - np.apply_along_axis(f, -1, y))
        asked += answers.size


def test_an_anchor_follows_probes_that_shrink_and_doubts_those_that_grow():
    here, there = np.zeros(2), np.ones(2)
    anchor = Anchor(here, 1.0)
    assert anchor.follow(there, 0.9) is anchor
    assert anchor.follow(there, 0.5) == (there, 0.5)
    assert not anchor.doubts(2.0, 10**6, 1.2)
    assert anchor.doubts(2.01, 10**6, 1.2)
    # In few dimensions κ is often near one by chance.
    assert not anchor.doubts(2.01, 2, 1.2)


@pytest.mark.parametrize(("flip_rate", "duels"), [(0.0, 1), (0.2, 7)])
def test_a_majority_decides_where_answers_are_wrong(flip_rate, duels):
    near, far = np.zeros(2), np.ones(2)
    assert played(beats(near, far, flip_rate), np.sum) == (duels, duels)
    assert played(beats(far, near, flip_rate), np.sum) == (-duels, duels)
    assert played(beats(near, near, flip_rate), np.sum) == (0, duels)


@pytest.mark.parametrize(("flip_rate", "duels"), [(0.0, 1), (0.1, 28), (0.2, 28), (0.3, 68)])
def test_an_end_is_given_up_less_lightly(flip_rate, duels):
    """Wrong once in a thousand, and one answer in five wrong is allowed for."""
    near, far = np.zeros(2), np.ones(2)
    assert played(beats(near, far, flip_rate, end=True), np.sum) == (duels, duels)
    if flip_rate:
        wrong = binom.sf(duels / 2, duels, max(0.2, flip_rate))  # that y, which is worse, wins
        assert wrong < 1e-3


@pytest.mark.parametrize("goal", [1e-3, 0.1, 5.0])
def test_looking_around_finds_what_is_better_at_any_distance(goal):
    """A dent of radius 0.9 r at distance r; 40 directions would miss it in R² once in 10⁶."""
    frame, rng = Frame(np.zeros(2), np.eye(2)), np.random.default_rng(0)
    centre = np.array([goal, 0.0])

    def f(x):
        return -float(np.linalg.norm(x - centre) < 0.9 * goal)

    found = [
        played(look_around(gd.Euclidean(2), frame, 1e-4, 10.0, rng, None, 0.0), f)[0]
        for _ in range(20)
    ]
    better = [c for c in found if c is not None]
    assert better
    assert all(f(c) < 0 for c in better)


def test_looking_around_from_the_best_point_finds_nothing():
    frame, rng = Frame(np.zeros(3), np.eye(3)), np.random.default_rng(0)
    found, asked = played(
        look_around(gd.Euclidean(3), frame, 1e-4, 10.0, rng, None, 0.0), lambda x: float(x @ x)
    )
    assert found is None
    assert asked == 3 * 6  # three directions at the six distances 1e-4 to 10


def test_looking_around_goes_from_the_longest_to_the_shortest_distance():
    frame, rng = Frame(np.ones(3), np.eye(3)), np.random.default_rng(0)
    around, centre = next(look_around(gd.Euclidean(3), frame, 1e-4, 10.0, rng, None, 0.0))
    assert np.array_equal(centre, np.ones((18, 3)))
    away = np.linalg.norm(around - centre, axis=1)
    np.testing.assert_allclose(away, np.repeat([10, 1, 0.1, 1e-2, 1e-3, 1e-4], 3), rtol=1e-10)


def test_wrong_answers_alone_find_nothing_better():
    """A winner is asked again: of twenty looks around the best point few leave it."""
    frame, rng, coins = Frame(np.zeros(3), np.eye(3)), np.random.default_rng(0), []

    def f(x):
        coins.append(rng.random() < 0.2)
        return float(x @ x) * (-1 if coins[-1] else 1)

    found = [
        played(look_around(gd.Euclidean(3), frame, 1e-2, 10.0, rng, None, 0.2), f)[0]
        for _ in range(20)
    ]
    assert sum(c is not None for c in found) <= 5


def test_a_claim_is_contested_when_probes_have_changed_and_only_by_points_that_are_away():
    claim = Claim.of(np.zeros(1), 1.0, 1e-9)
    assert not claim.due(1.0)
    assert claim.due(0.3)
    assert claim.due(3.1)
    assert not claim.asked(0.3).due(0.3)
    assert 0 < claim.least < 0.01


def test_a_trail_is_prolonged_rarely_and_more_often_after_a_doubt():
    """One duel in 32 in one dimension, one in eight blocks from four on, and twice as many then."""

    def blocks(trail):
        """Until the next duel; and until the way begins that it prolongs."""
        passed = 0
        while not trail.due:
            passed += 1
            trail = trail.older(np.array([passed]))
        return passed, int(trail.point[0])

    start = Trail(np.zeros(1))
    for d, apart in ((1, 32), (2, 16), (4, 8), (100, 8)):
        assert blocks(start.asked(np.zeros(1), False, d)) == (apart, apart - LAG)
        assert blocks(start.asked(np.zeros(1), True, d)) == (LAG, 0)


def test_a_doubt_needs_eleven_lost_duels():
    x = np.zeros(2)
    trail, lost = Trail(x).asked(x, True, 2), 0
    while trail.lost:
        trail, lost = trail.asked(x, False, 2), lost + 1
    assert lost == 11  # 0.8^11 < 0.1 < 0.8^10


def test_a_point_that_is_off_the_middle_is_doubted_as_one_that_is_beaten():
    x = np.zeros(2)
    assert Trail(x).centred(False).doubt == Trail(x).asked(x, True, 2).doubt == 1
    assert Trail(x, doubt=1.0).centred(True).doubt < 1


@pytest.mark.parametrize(
    ("f", "off"),
    [
        (lambda y: float((y[0] - 1e-4) ** 2 + y[1] ** 2), 2e-4),
        (lambda y: float((y[0] - 8e-4) ** 2 + y[1] ** 2), 1e-3),
        (lambda y: float((y[0] - 0.1) ** 2 + y[1] ** 2), np.inf),
        (lambda y: float((y[0] - 0.1) ** 2 + 30 * abs(y[1])), np.inf),  # no short pair tells that
        (lambda y: 0.0, 2e-4),
    ],
)
def test_long_pairs_tell_how_far_off_the_middle_of_f_is(f, off):
    frame = Frame(np.array([0.0, 1e-9]), np.eye(2))
    line = np.array([1.0, 1e-4])
    asked = off_centre(gd.Euclidean(2), frame, line, 0.1, 2e-4, 1e-3, None)
    assert played(asked, f)[0] == pytest.approx(off)


@pytest.mark.parametrize(
    ("line", "off", "found", "duels"),
    [
        ([3.0, 0.0], 1e-3, np.inf, 3),  # at 1e-3 and 5e-3, and the side
        ([0.0, 3.0], 1e-3, 1e-3, 1),  # a tie about x
        ([0.0, 0.0], 1e-3, 1e-3, 0),
        ([3.0, 0.0], 0.12, None, 0),  # pairs of length √0.12 could not be thrice as long
    ],
)
def test_the_middle_is_looked_for_by_pairs_between_two_lengths(line, off, found, duels):
    """f has its middle 0.02 away along the first axis."""
    frame = Frame(np.zeros(2), np.eye(2))
    asked = middle(gd.Euclidean(2), frame, np.array(line), off, 5.0, 1.0, None)
    said, count = played(asked, lambda y: float((y[0] - 0.02) ** 2 + y[1] ** 2))
    assert (said, count) == (found, duels)


def test_a_tie_about_a_point_says_that_the_middle_is_no_farther():
    frame, line = Frame(np.zeros(2), np.eye(2)), np.array([1.0, 0.0])
    asked = off_centre(gd.Euclidean(2), frame, line, 0.5, 0.25, 4.0, None)
    assert played(asked, lambda y: abs(float(y[0]) - 0.25))[0] == 0.25


def test_what_two_descents_say_is_no_nearer_than_their_ends_are():
    claim = Claim.of(np.zeros(2), 1.0, 1e-9)
    assert claim.asked(0.1).uncertainty == 1e-9
    assert claim.asked(0.1, 1e-3).uncertainty == 1e-3
    assert Claim.of(np.zeros(2), 1.0, None).asked(0.1, 1e-3).uncertainty is None


def test_an_end_on_a_ridge_states_nothing():
    """A start on the ridge itself: no mirrored pair of short probes feels the slope along it."""

    def f(x):
        return (x[0] - 1) ** 2 + 100 * abs(x[1] + x[0] - 1)

    result = gd.minimize(
        gd.from_objective(f), gd.Euclidean(2), [-2.0, 3.0], method="duel-newton", rng=0,
        budget=1_000,
    )  # fmt: skip
    off = float(np.linalg.norm(result.x - [1, 0]))
    assert result.uncertainty is None or result.uncertainty > off / 10


def test_symmetry_is_asked_about_as_probes_shrink_and_believed_after_several_answers():
    symmetry = Symmetry.begun(1.0)
    assert not symmetry.due(SHRUNK * symmetry.checked)
    assert symmetry.due(0.9 * SHRUNK * symmetry.checked)
    symmetry = symmetry.asked(1e-3, True)
    for left in range(CLEARED, 0, -1):
        assert symmetry.doubt == left
        symmetry = symmetry.asked(1e-4, False)
    assert symmetry == (1e-4, 0)


@pytest.mark.parametrize(
    ("point", "line", "kept"),
    [
        ([0.0, 0.0], [0.3, 0.4], [0.3, 0.4]),  # inside
        ([0.0, 1.0], [0.3, 0.4], [0.3, 0.0]),  # along a face
        ([0.0, 0.9], [0.3, 0.4], [0.3, 0.1]),  # near one
        ([1.0, 1.0], [0.3, -0.4], [0.0, 0.0]),  # a vertex
    ],
)
def test_what_a_box_holds_to_both_sides_of_a_point(point, line, kept):
    square = gd.Box(-np.ones(2), np.ones(2))
    frame = Frame(np.array(point), np.eye(2))
    found, most = both_sides(gd.Euclidean(2), frame, np.array(line), square)
    np.testing.assert_allclose(found, kept, atol=1e-15)
    assert most > 1e100 or not found.any()


def test_along_a_curved_boundary_pairs_are_short_beside_its_radius():
    """On a circle of radius r a line of length l leaves it by l²/2r."""
    disc = gd.Ball(gd.Euclidean(2), np.zeros(2), 5.0)
    frame = Frame(np.array([0.0, 5.0]), np.eye(2))
    found, most = both_sides(gd.Euclidean(2), frame, np.array([0.06, 0.08]), disc)
    np.testing.assert_allclose(found, [0.06, 0.0], atol=1.2e-3)
    assert most == pytest.approx(0.04 * 5, rel=1e-2)


@pytest.mark.parametrize(("goal", "found"), [(1e-4, False), (0.5, True)])
@pytest.mark.parametrize("height", [0.0, 1.0])
def test_a_slope_along_a_ridge_is_felt_on_a_face_and_inside(goal, found, height):
    """The minimum is (goal, height), on the ridge; x is the point of the ridge at 0."""
    square, rng = gd.Box(-np.ones(2), np.ones(2)), np.random.default_rng(0)
    frame = Frame(np.array([0.0, height]), np.eye(2))

    def f(y):
        return abs(y[0] - goal) + 3 * abs(y[1] - height)

    said = [
        played(sloping(gd.Euclidean(2), frame, 1e-4, 1.0, rng, square), f)[0] for _ in range(20)
    ]
    assert (np.mean(said) > 0.7) == found
    assert np.any(said) == found
