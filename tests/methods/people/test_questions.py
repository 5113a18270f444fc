"""What the methods for people share: settings, and pairs that can be asked."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.people.attention import stated_radius, wary
from geoduel.methods.people.questions import REGION, best_question, check_answer, inside, stacked
from geoduel.oracles import draw_person

PLANE, LINE = gd.Rotations(2), gd.Euclidean(1)
METHODS = {gd.Bisection: PLANE, gd.IdealPoint: gd.Sphere(3)}


@pytest.mark.parametrize("kind", METHODS)
def test_scales_follow_from_the_manifold_or_are_given(kind):
    manifold = METHODS[kind]
    radius = manifold.typical_dist / 2
    assert kind().scales(manifold) == (radius, radius / 45)
    assert kind(prior_radius=0.09).scales(manifold) == pytest.approx((0.09, 0.002))
    assert kind(jnd=0.1, prior_radius=0.9).scales(manifold) == (0.9, 0.1)
    for wide in (2 * radius, math.inf):  # the JND does not grow with what is not known of the ideal
        assert kind(prior_radius=wide).scales(manifold) == (wide, radius / 45)


@pytest.mark.parametrize("kind", METHODS)
def test_one_question_more_is_open_than_there_are_dimensions(kind):
    manifold = METHODS[kind]
    assert kind().open_at_once(manifold) == manifold.dim + 1
    assert kind(parallel=7).open_at_once(manifold) == 7


@pytest.mark.parametrize("kind", METHODS)
def test_it_stops_once_the_region_is_as_small_as_wanted(kind):
    assert kind(x_tol=0.1).settled(0.1) == "x_tol"
    assert kind(x_tol=0.1).settled(0.11) is None
    assert kind().settled(0.0) is None


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jnd", 0.0),
        ("prior_radius", -1.0),
        ("x_tol", 0.0),
        ("parallel", 0),
        ("min_radius", -1.0),
        ("catch", 0.6),
        ("catch", -0.1),
    ],
)
def test_bad_settings_are_named(kind, name, value):
    with pytest.raises(ArgumentError, match=name):
        kind(**{name: value})


@pytest.mark.parametrize("kind", METHODS)
def test_there_is_no_first_step_to_set(kind):
    """The prior takes its place."""
    with pytest.raises(TypeError, match="initial_step"):
        kind(initial_step=1.0)


@pytest.mark.parametrize(("name", "d"), [("bisection", 2), ("ideal-point", 3)])
def test_minimize_says_which_options_there_are(name, d):
    oracle = gd.from_objective(lambda x: x[0])
    with pytest.raises(ArgumentError, match=r"no option 'initial_step'; it takes .*prior_radius"):
        gd.minimize(oracle, gd.Sphere(d), method=name, budget=3, initial_step=0.1)


@pytest.mark.parametrize("kind", METHODS)
def test_several_problems_at_once_are_refused(kind):
    manifold = METHODS[kind]
    x0 = np.stack([manifold.random_point(np.random.default_rng(s)) for s in (0, 1)])
    with pytest.raises(ArgumentError, match="one problem"):
        kind().plan(manifold, x0, iterations=None, budget=5)


@pytest.mark.parametrize("kind", METHODS)
def test_without_a_start_the_ideal_may_lie_anywhere_on_a_bounded_manifold(kind):
    """From the origin; unless a radius is given, or the manifold is not known to be bounded."""
    rng = np.random.default_rng(0)
    manifold = METHODS[kind]
    method, x0 = kind(x_tol=0.1).without_start(manifold, rng)
    assert method == kind(x_tol=0.1, prior_radius=math.inf)
    assert np.array_equal(x0, manifold.origin())
    narrow = kind(prior_radius=0.3)
    for method, place in ((narrow, manifold), (kind(), gd.Euclidean(2))):
        same, x0 = method.without_start(place, rng)
        assert same is method
        assert np.array_equal(x0, place.origin())


def test_where_distances_are_dear_the_prior_keeps_its_radius():
    """A uniform prior needs distances of points far apart."""
    frames, method = gd.Stiefel(4, 2), gd.IdealPoint()
    assert frames.bounded
    same, x0 = method.without_start(frames, np.random.default_rng(0))
    assert same is method
    assert np.array_equal(x0, frames.origin())


@pytest.mark.parametrize("kind", METHODS)
def test_an_infinite_radius_needs_a_bounded_manifold(kind):
    bounded, flat = METHODS[kind], gd.Euclidean(METHODS[kind].dim)
    everywhere, none = kind(prior_radius=math.inf), {"iterations": None, "budget": 5}
    assert everywhere.plan(bounded, bounded.origin(), **none) == (everywhere, None)
    with pytest.raises(ArgumentError, match="prior_radius=inf needs a bounded manifold; Euclidean"):
        everywhere.plan(flat, flat.origin(), **none)


def test_answers_are_minus_one_zero_or_one():
    check_answer(0, -1)
    for answer, left, word in ((2, 0, "answer"), (1, 5, "left")):
        with pytest.raises(ArgumentError, match=word):
            check_answer(answer, left)


def ends(centres):
    return lambda h: ((centres + h)[:, None], (centres - h)[:, None])


def test_questions_are_shortened_until_they_are_inside():
    box = gd.Box(np.array([-1.0]), np.array([1.0]))
    centres, h = np.array([0.0, 0.5, 0.9]), np.full(3, 0.6)
    a, b = inside(box, ends(centres), h)
    assert np.all(box.contains(a))
    assert np.all(box.contains(b))
    assert a[0, 0] == -b[0, 0] == 0.6  # as it was
    assert np.allclose((a + b)[:, 0] / 2, centres)  # about the same middles
    assert np.array_equal(inside(None, ends(centres), h)[0], ends(centres)(h)[0])


def test_a_question_outside_ends_on_the_edge():
    box = gd.Box(np.array([-1.0]), np.array([1.0]))
    a, b = inside(box, ends(np.array([2.0])), np.array([0.1]))
    assert a == b == 1


def test_best_question_can_be_told_apart_if_any_can():
    a, b = np.array([[0.0], [0.0], [0.0]]), np.array([[0.1], [1.0], [2.0]])
    gain = np.array([3.0, 1.0, 2.0])
    assert best_question(LINE, a, b, gain, jnd=0.5) == 2
    assert best_question(LINE, a, b, gain, jnd=5.0) == 0


def test_stacked_questions_are_arrays_of_both_sides():
    a, b = stacked([(np.eye(2), np.zeros((2, 2))), (2 * np.eye(2), np.ones((2, 2)))])
    assert a.shape == b.shape == (2, 2, 2)
    assert np.array_equal(a[1], 2 * np.eye(2))
    assert np.array_equal(b[0], np.zeros((2, 2)))


def test_without_easy_questions_the_rater_is_taken_to_look():
    """The stated region is then that of the posterior alone, and so never wider."""
    x0, rng = np.eye(3)[0], np.random.default_rng(0)
    sphere, person = gd.Sphere(3), draw_person(gd.Sphere(3), np.eye(3)[0], np.random.default_rng(1))
    trusting, careful = gd.IdealPoint(catch=0.0), gd.IdealPoint()
    state = trusting.start(sphere, x0, rng)
    for _ in range(8):
        a, b = trusting.propose(sphere, state, rng)
        state = trusting.update(sphere, state, a, b, person.answer(a, b, 1), rng, left=1)
    assert state.uncertainty == state.known
    away, w = np.linspace(0, 0.5, 11), np.full(11, 1 / 11)
    doubt = wary(state.attention.doubt())
    for method, share in ((trusting, 0.0), (careful, doubt)):
        farthest = math.pi / 4 + 0.3  # the prior's radius, and how far the centre is off
        expected = stated_radius(REGION, away, w, share, farthest)
        assert method.stated(sphere, 0.3, away, w, state.attention) == expected


@pytest.mark.parametrize(("d", "answers"), [(1, 10), (4, 40), (5, 50), (6, 50)])
def test_people_are_asked_ten_times_a_dimension_and_fifty_times_at_most(d, answers):
    assert gd.IdealPoint().typical_answers(gd.Euclidean(d)) == answers
    assert gd.DuelNewton().typical_answers(gd.Euclidean(d)) == 10 * d
    assert gd.DuelNewton().typical_answers(gd.Euclidean(1000)) == 300


def test_without_a_start_ideals_may_be_anywhere_if_that_is_somewhere():
    rng = np.random.default_rng(0)
    for manifold, radius in ((gd.Sphere(3), math.inf), (gd.Euclidean(3), None)):
        method, start = gd.IdealPoint().without_start(manifold, rng)
        assert method.prior_radius == radius
        np.testing.assert_array_equal(start, manifold.origin())
    assert gd.IdealPoint(prior_radius=1.0).without_start(gd.Sphere(3), rng)[0].prior_radius == 1
    anywhere = gd.IdealPoint(prior_radius=math.inf)
    with pytest.raises(ArgumentError, match="prior_radius=inf needs a bounded manifold"):
        anywhere.plan(gd.Euclidean(3), np.zeros(3), iterations=None, budget=None)
