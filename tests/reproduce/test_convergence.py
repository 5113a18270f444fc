"""Runs of a figure: they repeat, and their medians, ends and paces are those of the records."""

from __future__ import annotations

import pytest

from geoduel.reproduce import EXPERIMENTS, Plan
from geoduel.reproduce.convergence import DEFAULT, convergence_figure, paces, summary


def test_a_run_repeats_but_for_its_times():
    experiment = EXPERIMENTS["rayleigh"]
    task = next(
        t for t in experiment.tasks(Plan(quick=True, seeds=1)) if t.settings["label"] == "RGD"
    )
    one, two = (experiment.run(task.settings) for _ in range(2))
    for record in (one, two):
        assert all(t >= 0 for t in record.pop("seconds"))
    assert one == two
    assert one["gap"][0] == one["start"] > one["gap"][-1]


def test_the_default_method_is_paced_by_the_paper_s_final_gap(curve):
    paper = curve("RDNGD cosine", [[1.0, 0.5, 0.1], [1.0, 0.4, 0.2]], [0, 100, 200])
    own = curve(DEFAULT, [[1.0, 0.1, 0.01], [1.0, 0.3, 0.1]], [0, 10, 20])
    (pace,) = paces(EXPERIMENTS["rayleigh"], [paper, own])
    assert pace.theirs == 200
    assert pace.ours == 15  # 10 on the first seed, 20 on the second
    assert pace.ratio == 15  # 200/10 and 200/20
    assert (pace.missed, pace.seeds) == (0, 2)


def test_a_run_that_ended_where_it_began_is_no_goal(curve):
    paper = curve("RDFW", [[1.0, 3.0, 2.0]], [0, 100, 200])
    own = curve(DEFAULT, [[1.0, 0.1, 0.01]], [0, 10, 20])
    assert paces(EXPERIMENTS["rayleigh"], [paper, own]) == []


def test_summary_takes_medians_over_seeds(curve):
    gaps = [[1.0, 0.5, 0.1], [1.0, 0.4, 0.3], [1.0, 0.6, 0.2]]
    (row,) = summary([curve("RDNGD cosine", gaps, [0, 100, 200])])
    assert row["at 50 %"] == 0.5
    assert row["at 100 %"] == 0.2
    assert (row["duels"], row["seeds"], row["iterations"]) == (200, 3, 2)


def test_a_curve_knows_when_it_was_there(curve):
    found = curve("RDNGD cosine", [[1.0, 0.5, 0.1], [1.0, 0.9, 0.8]], [0, 100, 200])
    assert [found.reach(0, gap) for gap in (0.5, 0.2, 0.01)] == [100, 200, float("inf")]
    assert found.reach(0, 0.5, "seconds") == 0.1
    assert found.final() == pytest.approx(0.45)
    assert found.at(50) == pytest.approx(0.7)


def test_a_run_that_stopped_early_keeps_its_last_gap(curve):
    found = curve("RDNGD cosine", [[1.0, 0.5, 0.1], [1.0, 0.2]], [0, 100, 200])
    assert found.column("gap").tolist() == [[1.0, 0.5, 0.1], [1.0, 0.2, 0.2]]


def test_the_figure_has_a_row_a_size_and_a_colour_a_method(curve):
    pytest.importorskip("matplotlib")
    curves = [
        curve(label, [[1.0, 0.5, 0.1]], [0, 100, 200], size=size)
        for size in (10, 20)
        for label in ("RDNGD cosine", "mine")
    ]
    figure = convergence_figure(curves, {10: "d = 10", 20: "d = 20"}, {"RDNGD cosine": 1})
    assert len(figure.axes) == 6
    colours = [line.get_color() for line in figure.axes[0].lines]
    assert len(set(colours)) == 2
    assert colours == [line.get_color() for line in figure.axes[5].lines]
