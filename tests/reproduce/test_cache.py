"""What is finished is found again, and only if nothing it depends on has changed."""

import json

import pytest

from geoduel.reproduce.cache import Cache, key
from geoduel.reproduce.experiment import Experiment, Plan, Task, run_all

SETTINGS = {"size": 5, "seed": 0, "step_size": "cosine", "radius": 1e-8}


@pytest.mark.parametrize(
    ("experiment", "version", "settings"),
    [
        ("other", 1, SETTINGS),
        ("one", 2, SETTINGS),
        ("one", 1, {**SETTINGS, "seed": 1}),
        ("one", 1, {**SETTINGS, "radius": 1.0000001e-8}),
        ("one", 1, {k: v for k, v in SETTINGS.items() if k != "radius"}),
    ],
)
def test_whatever_changes_makes_another_key(experiment, version, settings):
    assert key(experiment, version, settings) != key("one", 1, SETTINGS)


def test_the_order_of_settings_does_not_matter():
    assert key("one", 1, dict(reversed(SETTINGS.items()))) == key("one", 1, SETTINGS)


def test_settings_that_are_no_numbers_are_refused():
    """NaN differs from itself, so a result kept for it would never be found."""
    with pytest.raises(ValueError, match="JSON"):
        key("one", 1, {"radius": float("nan")})


def test_records_come_back_as_they_were(tmp_path):
    cache = Cache(tmp_path / "cache")
    record = {"gap": [0.1, 1e-300, 4.2e-8], "ties": 3}
    assert cache.load("a") is None
    cache.save("a", record)
    assert cache.load("a") == record
    assert [p.name for p in cache.folder.iterdir()] == ["a.json"]  # no part is left behind
    assert Cache(cache.folder, fresh=True).load("a") is None


@pytest.mark.parametrize("text", ["", '{"gap": [0.1', "[1, 2]", "\x00\xff"])
def test_damaged_files_count_as_absent(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    assert Cache(tmp_path).load("a") is None


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
