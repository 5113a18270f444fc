"""The linear minimiser turns an error of the direction into one as wide as the domain."""

from __future__ import annotations

import pytest

from geoduel.reproduce import EXPERIMENTS, Plan
from geoduel.reproduce.experiments.amplification import CONTENDERS, STEP

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


@pytest.mark.parametrize("method", CONTENDERS)
def test_runs_end_within_their_duels_and_below_their_start(method):
    task = next(t for t in EXPERIMENT.tasks(Plan(quick=True)) if t.settings.get("method") == method)
    record = EXPERIMENT.run({**task.settings, "duels": 600})
    assert record["duels"][-1] <= 600
    assert record["final"] < record["gap"][0]
    assert len(record["duels"]) == len(record["gap"]) <= 300
