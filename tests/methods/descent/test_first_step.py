"""The first step: its direction from d duels, its length from a few more."""

from __future__ import annotations

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.descent.first_step import (
    Begin,
    First,
    begin,
    directions,
    first_step,
    line_search,
)
from geoduel.methods.frame import Frame

PLANE = gd.Euclidean(2)


def played(questions, f):
    """What a generator returns when f answers, and how many duels it asked."""
    answers, asked = None, 0
    while True:
        try:
            x, y = questions.send(answers)
        except StopIteration as end:
            return end.value, asked
        answers = np.sign(np.array([f(a) - f(b) for a, b in zip(x, y, strict=True)]))
        asked += len(x)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_directions_are_orthonormal(m):
    e = directions(np.random.default_rng(0), 5, m)
    assert e.shape == (m, 5)
    np.testing.assert_allclose(e @ e.T, np.eye(m), atol=1e-14)


def test_directions_are_uniform():
    """E e e' = I/d; the entries of one direction in R³ have variance 4/45."""
    rng, n = np.random.default_rng(1), 4000
    e = np.array([directions(rng, 3, 1)[0] for _ in range(n)])
    np.testing.assert_allclose(e.T @ e / n, np.eye(3) / 3, atol=5 * np.sqrt(4 / 45 / n))


def test_the_state_before_says_nothing_yet():
    state = begin(PLANE, np.ones(2), None)
    assert state.length == PLANE.typical_dist / 5
    assert state.point is state.best
    assert (state.stop, state.noise, state.uncertainty) == (None, None, None)
    assert begin(PLANE, np.ones(2), 3.0, frame=False).frame.rotation is None
    with pytest.raises(ArgumentError, match="initial_step"):
        begin(PLANE, np.ones(2), 0.0)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_a_line_search_costs_the_logarithm_of_its_error(factor):
    """From t to the least of |t - 1|, within a factor of two; refined, of √2 and a little."""
    frame, h = Frame(np.zeros(2), np.eye(2)), np.array([1.0, 0.0])

    def f(x):
        return abs(x[0] - 1)

    t, asked = played(line_search(PLANE, frame, h, factor), f)
    assert 0.5 <= t <= 2
    assert asked <= abs(np.log2(factor)) + 3
    finer, _ = played(line_search(PLANE, frame, h, factor, refine=True), f)
    assert f([finer]) <= f([t])


def test_a_direction_that_leads_uphill_is_found_out_after_three_halvings():
    """By mirrored duels at the length so far, its half and its quarter."""
    frame, h, asked = Frame(np.zeros(2), np.eye(2)), np.array([1.0, 0.0]), []

    def f(x):
        asked.append(x[0])
        return x[0]

    assert played(line_search(PLANE, frame, h, 1.0, doubt=True), f) == (0.0, 7)
    assert asked[:8] == [2, 1, 0.5, 1, 0.25, 0.5, 0.125, 0.25]
    assert asked[8:] == [0.125, -0.125, 0.0625, -0.0625, 0.03125, -0.03125]
    t, _ = played(line_search(PLANE, frame, h, 1.0, most=5), f)
    assert t == 2.0**-5  # who does not doubt goes on, and so many times at most


def test_mirrored_duels_that_tie_lead_nowhere_either():
    frame, h = Frame(np.zeros(2), np.eye(2)), np.array([1.0, 0.0])
    assert played(line_search(PLANE, frame, h, 1.0, doubt=True), lambda x: abs(x[0])) == (0.0, 7)
    assert played(line_search(PLANE, frame, h, 1.0), lambda x: 0.0) == (1.0, 2)  # ties: stay


@pytest.mark.parametrize("doubt", [False, True])
def test_a_line_search_doubles_and_then_takes_half_a_doubling_back_or_more(doubt):
    frame, h, asked = Frame(np.zeros(2), np.eye(2)), np.array([1.0, 0.0]), []

    def f(x):
        asked.append(x[0])
        return abs(x[0] - 1)

    t, _ = played(line_search(PLANE, frame, h, 0.01, refine=True, doubt=doubt), f)
    assert t == pytest.approx(1.28 / np.sqrt(2))
    lengths = [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 1.28 * 2**0.5, 1.28 / 2**0.5]
    assert asked[::2] == pytest.approx(lengths)
    t, _ = played(line_search(PLANE, frame, h, 0.012, refine=True), f)
    assert t == pytest.approx(0.768 * np.sqrt(2))


@pytest.mark.parametrize(
    ("t", "far", "asked"), [(np.pi / 2, np.pi, 1), (1.6, 1.6, 1), (np.pi / 4, np.pi, 2)]
)
def test_a_line_search_goes_to_the_end_of_the_manifold_and_not_beyond(t, far, asked):
    circle = gd.Sphere(2)
    frame = Frame(np.array([1.0, 0.0]), np.eye(1))
    # The farther from the start, the better; no more than half around makes sense.
    assert played(line_search(circle, frame, np.ones(1), t), lambda x: x[0]) == (far, asked)


def test_the_first_step_goes_down():
    goal = np.array([3.0, -4.0])

    def f(x):
        return float(np.sum((x - goal) ** 2))

    state = begin(PLANE, np.zeros(2), 0.01)
    first, asked = played(first_step(PLANE, state, np.random.default_rng(0)), f)
    assert isinstance(first, First)
    np.testing.assert_allclose(first.frame.point, first.step)
    assert first.length == pytest.approx(np.linalg.norm(first.step))
    assert f(first.frame.point) < 0.5 * f(np.zeros(2))
    assert asked <= 2 + 12
    # Each answer says on which side of the start f is lower.
    np.testing.assert_array_equal(first.answers, np.sign(first.directions @ -goal))


def test_a_domain_is_not_left():
    disc = gd.Ball(PLANE, np.zeros(2), 1.0)
    first, _ = played(
        first_step(PLANE, begin(PLANE, np.zeros(2), 0.5), np.random.default_rng(0), disc),
        lambda x: float(np.sum((x - 5) ** 2)),
    )
    assert np.linalg.norm(first.frame.point) == pytest.approx(1.0)
    np.testing.assert_allclose(first.frame.point, first.step)


@pytest.mark.parametrize("start", [np.zeros(2), np.array([1.0, 0.0])])
def test_all_points_that_are_compared_are_in_the_domain(start):
    disc, asked = gd.Ball(PLANE, np.zeros(2), 1.0), []

    def f(x):
        asked.append(x)
        return float(np.sum((x - 5) ** 2))

    rng = np.random.default_rng(0)
    played(first_step(PLANE, begin(PLANE, start, 3.0), rng, disc), f)
    assert np.linalg.norm(asked, axis=1).max() == pytest.approx(1.0)


def test_ties_alone_ask_again_four_times_as_far_and_end_at_the_size_of_the_manifold():
    state = begin(gd.Sphere(3), np.array([0.0, 0.0, 1.0]), 0.1)
    for length in (0.4, 1.6, np.pi):  # no farther than half around
        state, _ = played(first_step(gd.Sphere(3), state, np.random.default_rng(0)), lambda x: 0.0)
        assert isinstance(state, Begin)
        assert state.length == pytest.approx(length)
        assert state.stop is None
    state, _ = played(first_step(gd.Sphere(3), state, np.random.default_rng(0)), lambda x: 0.0)
    assert (state.length, state.stop) == (np.pi, None)


@pytest.mark.parametrize("d", [1, 3, 30])
@pytest.mark.parametrize("bends", ["down", "up", "both"])
def test_a_point_about_which_f_is_even_is_left(d, bends):
    """A maximum for a better point, a minimum or a saddle for one beside it: d duels at most 8."""
    curvature = {"down": -np.ones(d), "up": np.ones(d), "both": np.r_[-1, np.ones(d - 1)]}[bends]
    f = lambda x: float(curvature @ (x * x))  # noqa: E731
    state = begin(gd.Euclidean(d), np.zeros(d), 0.5)
    first, asked = played(first_step(gd.Euclidean(d), state, np.random.default_rng(0)), f)
    assert isinstance(first, First)
    assert asked == 2 * min(d, 8)
    assert np.linalg.norm(first.frame.point) == pytest.approx(0.5)
    assert not first.answers.any()
    if bends == "down" or d == 1:
        assert (f(first.frame.point) < 0) == (curvature[0] < 0)


def test_a_saddle_where_rounding_decides_is_left():
    """Mirrored duels at an eigenvector of a full matrix: their answers are those of rounding."""
    sphere, left = gd.Sphere(9), []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        Q = np.linalg.qr(rng.standard_normal((9, 9)))[0]
        A = (Q * np.arange(9.0)) @ Q.T
        first, asked = played(
            first_step(sphere, begin(sphere, Q[:, 7].copy(), None), rng), lambda x, A=A: -x @ A @ x
        )
        if isinstance(first, First):
            left.append((float(sphere.dist(first.frame.point, Q[:, 7])), asked))
    distances, asked = np.transpose(left)
    assert np.median(asked) <= 20
    # Three duels tell seven times in eight that a direction leads nowhere.
    assert np.mean(distances > 0.01 * sphere.typical_dist) > 0.5


def test_a_first_step_that_is_far_too_long_is_shortened_all_the_same():
    goal = np.array([3e-4, -4e-4])
    state = begin(PLANE, np.zeros(2), 1.0)
    first, _ = played(
        first_step(PLANE, state, np.random.default_rng(0)), lambda x: float(np.sum((x - goal) ** 2))
    )
    assert np.linalg.norm(first.frame.point - goal) < 5e-4


def test_a_start_in_a_corner_is_no_end():
    """There the first step finds no length that wins, which says nothing about the minimum."""
    rng = np.random.default_rng(47)
    away, square = 2 * rng.standard_normal(5), rng.standard_normal((5, 5))
    hessian, corner = square @ square.T + 0.1 * np.eye(5), np.array([1.0, -1, -1, -1, -1])

    def f(x):
        return (x - away) @ hessian @ (x - away) / 2

    def projected_gradient(x):
        return x - np.clip(x - hessian @ (x - away), -1, 1)

    box = gd.Box(-np.ones(5), np.ones(5))
    result = gd.minimize(
        gd.from_objective(f),
        gd.Euclidean(5),
        corner,
        method=gd.DuelNewton(domain=box),
        budget=3000,
        rng=47,
    )
    assert np.linalg.norm(projected_gradient(corner)) > 0.5
    assert np.linalg.norm(projected_gradient(result.x)) < 1e-5


@pytest.mark.parametrize("method", ["auto", "duel-newton", "duel-csa", "block"])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_no_pair_is_closer_than_people_can_tell(method, start):
    """Not in first steps, line searches and comparisons of ends either; from afar, and from x*."""
    apart, f = [], lambda x: np.geomspace(1, 10, 4) @ (x - 1) ** 2

    def oracle(x, y):
        apart.append(np.linalg.norm(x - y))
        return int(np.sign(f(x) - f(y)))

    options = {"method": method, "min_radius": 0.2, "budget": 150, "rng": 0}
    result = gd.minimize(oracle, gd.Euclidean(4), np.full(4, start), **options)
    assert min(apart) >= 0.4 * (1 - 1e-9)
    assert np.linalg.norm(result.x - 1) < 0.4


@pytest.mark.parametrize("method", ["auto", "duel-newton", "duel-csa", "block"])
def test_no_pair_in_a_set_is_closer_before_its_projection(method):
    apart = []

    def oracle(x, y):
        apart.append(np.linalg.norm(x - y))
        return int(np.sign(np.sum((x - 0.1) ** 2 - (y - 0.1) ** 2)))

    options = {"method": method, "min_radius": 0.2, "budget": 100, "rng": 0}
    gd.minimize(oracle, gd.Euclidean(3), np.zeros(3), domain=[(-50, 50)] * 3, **options)
    assert min(apart) >= 0.4 * (1 - 1e-9)


def test_people_see_points_that_differ_in_high_dimension_from_the_first_question_on():
    """A step of a typical length has probes a √d-th as long: less than two degrees here."""
    sphere = gd.Sphere(121)
    duel = gd.create_study(sphere, rng=0, x0=np.eye(121)[0]).ask()
    assert np.degrees(sphere.dist(duel.a, duel.b)) / 2 > 3.999
