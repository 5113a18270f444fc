"""Runs of a figure: they repeat, and their medians, ends and paces are those of the records."""

from __future__ import annotations

import pytest

from geoduel.reproduce import EXPERIMENTS, Plan
from geoduel.reproduce.claims import FAILS, HOLDS
from geoduel.reproduce.convergence import (
    DEFAULT,
    accuracy,
    convergence_figure,
    paces,
    ratio,
    slower,
    summary,
)


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
    paper = curve("RDNGD cosine", [[1.0, 0.5, 1e-3], [1.0, 0.4, 2e-3]], [0, 100, 200])
    own = curve(DEFAULT, [[1.0, 1e-3, 1e-4], [1.0, 0.3, 1e-3]], [0, 10, 20])
    (pace,) = paces(EXPERIMENTS["rayleigh"], [paper, own])
    assert pace.theirs == 200
    assert pace.ours == 15  # 10 on the first seed, 20 on the second
    assert pace.ratio.value == 15  # 200/10 and 200/20
    assert (pace.missed, pace.seeds) == (0, 2)


def test_a_run_that_got_nowhere_is_no_goal(curve):
    paper = curve("RDFW", [[1.0, 3.0, 0.02]], [0, 100, 200])
    own = curve(DEFAULT, [[1.0, 0.1, 0.01]], [0, 10, 20])
    assert paces(EXPERIMENTS["rayleigh"], [paper, own]) == []


def test_summary_takes_medians_over_seeds(curve):
    gaps = [[1.0, 0.5, 0.1], [1.0, 0.4, 0.3], [1.0, 0.6, 0.2]]
    (row,) = summary([curve("RDNGD cosine", gaps, [0, 100, 200])])
    assert row["at 50 %"] == 0.5
    assert row["at 100 %"] == 0.2
    assert row["final gap"] == [0.1, 0.2, 0.3]
    assert row["coverage"] == 0.75  # three seeds
    assert (row["duels"], row["seeds"], row["iterations"]) == (200, 3, 2)


def test_a_curve_knows_when_it_was_there(curve):
    found = curve("RDNGD cosine", [[1.0, 0.5, 0.1], [1.0, 0.9, 0.8]], [0, 100, 200])
    assert [found.reach(0, gap) for gap in (0.5, 0.2, 0.01)] == [100, 200, float("inf")]
    assert found.reach(0, 0.5, "seconds") == 0.1
    assert found.final().value == pytest.approx(0.45)
    assert found.at(50).value == pytest.approx(0.7)


def ends(curve, last, label, **options):
    """Five seeds that end at ``last``, a little apart, after a start of 1."""
    gaps = [[1.0, last * 1.5 * (1 + 0.01 * i), last * (1 + 0.01 * i)] for i in range(5)]
    return curve(label, gaps, [0, 100, 200], **options)


def test_accuracy_is_judged_seed_by_seed(curve):
    found = [
        ends(curve, 1e-3, "RDNGD constant"),
        ends(curve, 5e-8, "RDNGD cosine"),
        ends(curve, 1e-8, "ZO-RGD"),
        ends(curve, 0.7, "RDNGD cosine, coin", control="coin"),
        ends(curve, 0.9, "RDNGD constant, coin", control="coin"),
    ]
    by = {(c.size, c.label): c for c in found}
    similar, acceptable = accuracy(by, {100: "d = 100"}, ("5.1.1",))
    assert list(similar.cases) == ["d = 100", "d = 100, x_T"]
    assert similar.cases["d = 100"].value == pytest.approx(5)
    assert similar.controls["coin, d = 100"].value == pytest.approx(7e7)
    assert acceptable.cases["d = 100"].value == pytest.approx(1.02e-3)
    assert acceptable.controls["coin, d = 100"].value == pytest.approx(0.918)
    assert (similar.verdict, acceptable.verdict) == (HOLDS, HOLDS)
    assert acceptable.remark.startswith("d = 100: settled")


def test_the_slope_at_the_end_tells_few_steps_from_coarse_ones(curve):
    falling = [[1.0] + [0.5] * 7 + [0.4, 0.2, 0.1]] * 5
    found = [curve(name, falling, list(range(11))) for name in ("RDNGD constant", "RDNGD cosine")]
    found.append(ends(curve, 1e-8, "ZO-RGD"))
    by = {(c.size, c.label): c for c in found}
    _, acceptable = accuracy(by, {100: "d = 100"}, ("5.1.1",))
    assert acceptable.remark == "d = 100: still falling at the end, 0.40 to 0.10."


def test_cpu_times_are_compared_where_the_rival_arrived(curve):
    found = [ends(curve, 1e-4, name) for name in ("RDNGD constant", "RDNGD cosine", "ZO-RGD")]
    by = {(c.size, c.label): c for c in found}
    claim = slower(by, {100: "d = 100"}, ("appendix I.1",))
    assert claim.cases["d = 100, RDNGD cosine"].value == 1
    assert claim.verdict == FAILS
    by[100, "ZO-RGD"] = ends(curve, 1e-2, "ZO-RGD")
    assert slower(by, {100: "d = 100"}, ("appendix I.1",)).missing


def test_ratios_are_taken_seed_by_seed(curve):
    a = curve("a", [[1.0, 2.0], [1.0, 30.0]], [0, 1])
    b = curve("b", [[1.0, 1.0], [1.0, 10.0]], [0, 1])
    assert ratio(a.final(), b.final()).values == (2.0, 3.0)
    nothing = curve("c", [[1.0, 0.0], [1.0, 0.0]], [0, 1])
    assert ratio(a.final(), nothing.final()).value == float("inf")
    assert ratio(nothing.final(), nothing.final()).value == 1


def test_controls_run_with_another_oracle():
    experiment = EXPERIMENTS["karcher"]
    lines = {line.label: line for line in experiment.lines(5, True)}
    assert [name for name, line in lines.items() if line.control] == [
        f"{method}, {lie}"
        for method in ("RDNGD constant", "RDNGD cosine")
        for lie in ("reversed", "constant", "coin")
    ]
    assert not any(line.control for line in experiment.lines(10, True))
    seeds = {
        name: {t.settings["seed"] for t in experiment.tasks(Plan()) if t.settings["label"] == name}
        for name in ("RDNGD cosine", "RDNGD cosine, coin")
    }
    assert seeds == {"RDNGD cosine": {0, 1, 2, 3, 4}, "RDNGD cosine, coin": {0, 1}}


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
