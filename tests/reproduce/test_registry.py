"""All experiments: they ask what the paper asks, and every name is in one list."""

from __future__ import annotations

import json
from importlib import import_module
from pkgutil import iter_modules

import pytest

from geoduel.reproduce import EXPERIMENTS, NAMES, Experiment, Plan, experiments

PUBLISHED = {
    ("rayleigh", "RDNGD constant"): {"iterations": 50_000, "radius": 1e-8},
    ("rayleigh", "RDNGD cosine"): {"iterations": 50_000, "radius": 1e-8},
    ("rayleigh", "ZO-RGD"): {"iterations": 50_000, "smoothing": 1e-6},
    ("karcher", "RDNGD constant"): {"iterations": 5_000, "radius": 1e-8},
    ("karcher", "RDNGD cosine"): {"iterations": 5_000, "radius": 1e-8},
    ("karcher-uniform", "ZO-RGD"): {"iterations": 5_000, "smoothing": 1e-6},
    ("constrained", "RDFW"): {"iterations": 5_000, "radius": 1e-8},
    ("constrained-log-uniform", "RDFW"): {"iterations": 5_000, "radius": 1e-8},
}


@pytest.mark.parametrize(("name", "label"), PUBLISHED)
def test_full_runs_have_the_settings_of_the_paper(name, label):
    tasks = EXPERIMENTS[name].tasks(Plan(seeds=1, all_sizes=True))
    found = [t.settings for t in tasks if t.settings["label"] == label]
    assert len(found) == 2  # both sizes of the paper
    for settings in found:
        assert settings | PUBLISHED[name, label] == settings


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tasks_are_json_and_the_same_in_every_process(name):
    """Settings hold no address of a function, or a cache would never be hit."""
    tasks = EXPERIMENTS[name].tasks(Plan(quick=True, seeds=2))
    texts = [json.dumps(t.settings, allow_nan=False) for t in tasks]
    assert len(set(texts)) == len(texts)
    assert not any(" at 0x" in text for text in texts)


def test_names_are_those_of_the_experiments():
    """The command's help lists the names: a list of its own would go stale."""
    assert tuple(EXPERIMENTS) == NAMES
    assert all(name == experiment.name for name, experiment in EXPERIMENTS.items())


def test_every_experiment_of_the_folder_is_registered():

    homes = (
        import_module(f"{experiments.__name__}.{m.name}")
        for m in iter_modules(experiments.__path__)
    )
    found = [x for home in homes for x in vars(home).values() if isinstance(x, Experiment)]
    assert {x.name for x in found} == set(NAMES)
