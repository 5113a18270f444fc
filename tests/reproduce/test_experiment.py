"""Tasks of experiments: none is run twice, and their turns are kept."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from geoduel.reproduce.cache import Cache
from geoduel.reproduce.experiment import Experiment, Plan, Task, evenly, run_all


class Counting(Experiment):
    """An experiment that writes down what it runs."""

    name, title = "counting", "Counting"

    def __init__(self, folder):
        self.folder = folder

    def tasks(self, plan):
        return [Task(f"task {i}", {"i": i}) for i in range(plan.seeds)]

    def run(self, settings):
        if settings["i"] == 2 and not (self.folder / "mended").exists():
            raise KeyboardInterrupt
        with (self.folder / "log").open("a") as log:
            log.write(f"{settings['i']}\n")
        return {"square": settings["i"] ** 2}

    def section(self, plan, outcomes):
        raise NotImplementedError


def run(experiment, cache):
    jobs = [(experiment, task) for task in experiment.tasks(Plan(seeds=4))]
    return [o.record["square"] for o in run_all(jobs, cache)]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    experiment, cache = Counting(tmp_path), Cache(tmp_path / "cache")
    with pytest.raises(KeyboardInterrupt):
        run(experiment, cache)
    (tmp_path / "mended").touch()
    assert sorted(run(experiment, cache)) == [0, 1, 4, 9]
    assert (tmp_path / "log").read_text().split() == ["0", "1", "2", "3"]  # none twice


def test_one_seed_of_everything_comes_before_two_of_anything(tmp_path):
    (tmp_path / "mended").touch()
    experiment = Counting(tmp_path)
    jobs = [(experiment, Task("", {"i": 10 * e + turn}, turn)) for e in range(3) for turn in (0, 1)]
    list(run_all(jobs, Cache(tmp_path / "cache")))
    assert (tmp_path / "log").read_text().split() == ["0", "10", "20", "1", "11", "21"]


def test_another_version_runs_again(tmp_path):
    (tmp_path / "mended").touch()
    experiment, cache = Counting(tmp_path), Cache(tmp_path / "cache")
    run(experiment, cache)
    experiment.version = 2
    run(experiment, cache)
    assert len((tmp_path / "log").read_text().split()) == 8


def test_outcomes_know_what_made_them(tmp_path):
    (tmp_path / "mended").touch()
    experiment, cache = Counting(tmp_path), Cache(tmp_path / "cache")
    jobs = [(experiment, experiment.tasks(Plan(seeds=1))[0])]
    first, again = (next(iter(run_all(jobs, cache))) for _ in range(2))
    assert first.about["geoduel"]
    assert first.about["numpy"]
    assert first.about["cpu_seconds"] >= 0
    assert "cached" not in first.about
    assert again.about["cached"]
    assert again.record == first.record
    stored = json.loads(next(cache.folder.iterdir()).read_text())
    assert stored["settings"] == {"i": 0}


@pytest.mark.parametrize(("length", "most"), [(1, 5), (5, 5), (1000, 300), (301, 300)])
def test_entries_are_kept_evenly(length, most):
    kept = evenly(length, most)
    assert kept[0] == 0
    assert kept[-1] == length - 1
    assert len(kept) == min(length, most)
    steps = {b - a for a, b in pairwise(kept)}
    assert not steps or max(steps) - min(steps) <= 1
