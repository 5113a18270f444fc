"""Convergence and consistency: the numbers of runs, as they lie in the axes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.plotting import consistency, convergence
from geoduel.plotting.runs import Course, course_of, length, name_of, unit_of

SPHERE = gd.Sphere(4)
FAR = np.array([0.0, 0.6, 0.8, 0.0])


def f(x):
    return 1 - x[0]


def run(seed=0, monitor=f, budget=200, flip=0.0, **settings):
    oracle = gd.Noisy(gd.from_objective(f), flip=flip, rng=seed)
    return gd.minimize(
        oracle, SPHERE, FAR, rng=seed, budget=budget, monitor=monitor, **settings
    )  # fmt: skip


def study(answers=30, repeats=0.3, flips=()):
    made = gd.create_study(gd.Sphere(3), rng=0, repeats=repeats)
    for i in range(answers):
        duel = made.ask()
        better = "a" if (duel.a[2] > duel.b[2]) != (i in flips) else "b"
        made.tell(duel, better)
    return made


def lines(ax) -> dict:
    return {line.get_label(): np.asarray(line.get_xydata()) for line in ax.get_lines()}


def test_a_run_is_a_line_of_its_records():
    result = run()
    ax = convergence(result, optimum=0.0)
    (line,) = ax.get_lines()
    assert np.asarray(line.get_xdata()).tolist() == result.history.duels
    values = np.array(result.history.monitor)
    drawn = np.asarray(line.get_ydata())
    assert (drawn[values > 0] == values[values > 0]).all()
    assert (drawn[values <= 0] == values[values > 0].min()).all()  # what a logarithm cannot show
    assert ax.get_yscale() == "log"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("duels", "gap to the optimum")


def test_a_history_is_drawn_like_its_result():
    result = run()
    one, other = (
        np.asarray(convergence(r).get_lines()[0].get_xydata()) for r in (result, result.history)
    )
    assert (one == other).all()


def test_gaps_are_to_the_optimum_that_is_given():
    result = run(budget=20)
    (line,) = convergence(result, optimum=-2.0).get_lines()
    assert np.allclose(np.asarray(line.get_ydata()), np.array(result.history.monitor) + 2)


def test_values_that_cross_zero_have_a_linear_axis():
    assert convergence(run(monitor=lambda x: x[0] - 0.5)).get_yscale() == "linear"


def test_several_runs_are_their_median_and_quartiles():
    """A run that has ended stays where it was."""
    histories = [
        gd.History([0, 1, 2], [0, 10, 20], [], [9.0, 5.0 + i, 1.0 + i]) for i in range(4)
    ] + [gd.History([0, 1], [0, 10], [], [9.0, 100.0])]
    ax = convergence(histories)
    (line,), (area,) = ax.get_lines(), ax.collections
    assert np.asarray(line.get_xydata()).tolist() == [[0, 9], [10, 7], [20, 3]]
    corners = {tuple(v) for v in np.asarray(area.get_paths()[0].vertices)}
    assert {(10.0, 6.0), (10.0, 8.0), (20.0, 2.0), (20.0, 4.0)} <= corners
    assert line.get_label() == "5 runs"


def test_names_are_those_of_the_dictionary():
    ax = convergence({"clean": run(), "noisy": [run(s, flip=0.2) for s in range(3)]})
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["clean", "noisy, 3 runs"]
    colours = {line.get_color() for line in ax.get_lines()}
    assert len(colours) == 2


def test_without_values_the_stated_distance_and_the_steps_are_drawn():
    result = run(monitor=None)
    history = result.history
    drawn = lines(convergence(result, manifold=SPHERE))
    stated = np.array(history.uncertainty, float)
    assert np.array_equal(drawn["stated distance"][:, 1], stated, equal_nan=True)
    steps = SPHERE.dist(np.array(history.points[:-1]), np.array(history.points[1:]))
    assert np.allclose(drawn["step"][:, 1], steps[steps > 0])
    assert np.allclose(drawn["step"][:, 0], np.array(history.duels)[1:][steps > 0])


def test_a_study_is_drawn_by_its_answers():
    made = study(repeats=0.0)
    ax = convergence(made)
    told = np.array(made.progress().history)
    assert np.array_equal(lines(ax)["stated distance"], told)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("answers", "distance, radians")


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], "runs is empty"),
        ("run.log", "must be a Result"),
        (gd.Sphere(3), "must be a Result"),
        (gd.History([0], [0], [0.0]), "neither a monitor"),
    ],
)
def test_what_cannot_be_drawn_is_refused(runs, message):
    with pytest.raises(ArgumentError, match=message):
        convergence(runs)


def test_consistency_is_that_of_the_noise():
    """Two answers that are wrong with probability p agree with 1 - 2p(1-p)."""
    result = run(flip=0.2, budget=400)
    (line, coin) = consistency(result).get_lines()
    p = np.array(result.history.noise, float)
    p = p[np.isfinite(p)]
    assert np.allclose(np.asarray(line.get_ydata()), 100 * ((1 - p) ** 2 + p**2))
    assert set(np.asarray(coin.get_ydata())) == {50}


def test_consistency_of_a_study_counts_its_repeats():
    made = study(flips=range(12, 18))
    rater = made.progress().raters[""]
    ax = consistency(made)
    assert len(np.asarray(ax.get_lines()[0].get_xdata())) == rater.repeats > 3
    assert np.asarray(ax.get_lines()[0].get_ydata())[-1] == pytest.approx(100 * rater.consistency)
    corners = np.asarray(ax.collections[0].get_paths()[0].vertices)[:, 1]
    assert corners.min() < 100 * rater.consistency < corners.max()


def test_a_repeat_that_somebody_else_answered_is_none():
    """As in `progress`: Bob's other answer says nothing of how consistent Ann is."""
    made = gd.create_study(gd.Rotations(2), rng=0, repeats=0.5)
    while (duel := made.ask(rater="ann")).role != "repeat":
        made.tell(duel, "a")
    made.tell(duel, "b", rater="bob")
    with pytest.raises(ArgumentError, match="no question was asked twice"):
        consistency(made)
    made.undo()
    made.tell(duel, "b", rater="ann")
    assert np.asarray(consistency(made).get_lines()[0].get_ydata())[-1] == 0
    assert made.progress().raters["ann"].consistency == 0


def test_a_single_repeat_is_a_dot_with_a_bar():
    made = next(made for n in range(1, 40) if (made := study(n)).progress().raters[""].repeats)
    assert made.progress().raters[""].repeats == 1
    ax = consistency(made)
    dot = ax.get_lines()[0]
    assert (dot.get_marker(), len(np.asarray(dot.get_xdata()))) == ("o", 1)
    (bar,) = ax.collections[0].get_paths()
    low, high = np.asarray(bar.vertices)[:, 1]
    assert low < 100 == high == np.asarray(dot.get_ydata())[0]


@pytest.mark.parametrize("made", [run(budget=30, method="rdngd"), study(6, repeats=0.0)], ids=str)
def test_without_repeats_nothing_is_known(made):
    with pytest.raises(ArgumentError, match="no question was asked twice"):
        consistency(made)


def test_a_given_axes_is_drawn_on_and_keeps_its_style():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert convergence(run(), ax=ax) is ax
    assert consistency(run(flip=0.2), ax=ax) is ax
    assert len(ax.get_lines()) == 3


def test_the_course_of_a_run():
    result = run(monitor=None)
    course = course_of(result)
    assert isinstance(course, Course)
    assert len(course.values) == 0
    assert course.points.shape == (len(course.duels), 4)
    assert (course.points[-1] == result.x).all()
    assert course.uncertainty[-1] == result.uncertainty


def test_the_monitor_may_keep_large_points():
    big = gd.Sphere(200)
    oracle = gd.from_objective(lambda x: -x[0])
    result = gd.minimize(oracle, big, budget=50, rng=0)
    assert course_of(result).points.shape == (0,)
    result = gd.minimize(oracle, big, budget=50, rng=0, monitor=np.copy)
    assert course_of(result).points.shape[1:] == (200,)


def test_lengths_have_their_unit_where_it_is_an_angle():
    assert unit_of(gd.Torus(2)) == "radians"
    assert (length(0.123, gd.SPD(2)), length(0.123, gd.Sphere(3))) == ("0.12", "0.12 radians")


def test_long_names_are_cut_short():
    assert name_of(gd.Sphere(3)) == "Sphere(3)"
    assert name_of(gd.Product(gd.Rotations(3), gd.Euclidean(3), gd.SPD(4))) == "Product"
