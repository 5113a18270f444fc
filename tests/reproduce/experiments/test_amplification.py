"""The linear minimiser turns an error of the direction into one as wide as the domain."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel.reproduce import EXPERIMENTS, Plan
from geoduel.reproduce.experiments.amplification import CONTENDERS, STEP, _drawing

EXPERIMENT = EXPERIMENTS["amplification"]


def noise(r, M):
    return EXPERIMENT.run({"r": r, "M": M, "draws": 400, "seed": 5})


def test_the_search_point_moves_with_the_radius_and_the_step_does_not():
    narrow, wide = noise(2.0, 10), noise(8.0, 10)
    assert wide["search"] > 3 * narrow["search"]
    assert wide["step"] <= narrow["step"] * 1.2
    assert narrow["step"] <= 2 * STEP


def test_larger_batches_are_less_noisy():
    few, many = noise(2.0, 3), noise(2.0, 300)
    assert many["search"] < 0.3 * few["search"]
    assert many["step"] < 0.3 * few["step"]


def test_a_projected_step_is_off_by_at_most_its_length_times_the_noise():
    """Projections shorten distances."""
    found = noise(2.0, 10)
    assert found["step"] <= STEP * found["noise"] * (1 + 1e-12)


def test_the_picture_shows_a_wide_and_a_narrow_ball():
    pytest.importorskip("matplotlib")
    figure = _drawing()
    wide, narrow = figure.axes
    spread = [np.ptp(axis.lines[1].get_xydata(), axis=0).max() for axis in (wide, narrow)]
    assert spread[0] > 2 * spread[1]
    steps = [np.ptp(axis.lines[2].get_xydata(), axis=0).max() for axis in (wide, narrow)]
    assert max(steps) <= 2 * STEP


@pytest.mark.parametrize("method", CONTENDERS)
def test_runs_end_within_their_duels_and_below_their_start(method):
    task = next(t for t in EXPERIMENT.tasks(Plan(quick=True)) if t.settings.get("method") == method)
    record = EXPERIMENT.run({**task.settings, "duels": 600})
    assert record["duels"][-1] <= 600
    assert record["final"] < record["gap"][0]
    assert len(record["duels"]) == len(record["gap"]) <= 300
