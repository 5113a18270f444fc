"""Summaries say what a study itself would, without its method."""

from __future__ import annotations

import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study import MemoryStorage, study_summary

SPHERE = gd.Sphere(3)


@pytest.mark.parametrize("method", ["ideal-point", "duel-newton", "rdngd"])
def test_it_agrees_with_the_progress(method, north, url):
    study = gd.create_study(SPHERE, method, storage=url, study_name="s", budget=12, rng=0)
    found = study_summary("s", url)
    while study.progress().finished is None:
        duel = study.ask()
        study.tell(duel, north(duel))
        found, progress = study_summary("s", url), study.progress()
        assert (found.answered, found.open) == (progress.answered, progress.open)
        assert found.finished == progress.finished
        assert found.uncertainty == progress.uncertainty
    assert found.finished in ("budget", "iterations")  # RDNGD plans as many as the budget pays
    assert (found.method, found.manifold) == (method, "Sphere(3)")
    assert found.created <= found.changed


def test_a_budget_that_was_raised(nudge):
    study = gd.create_study(SPHERE, nudge(), study_name="s", budget=1, rng=0)
    study.tell(study.ask(), "a")
    url = study.storage
    assert study_summary("s", url).finished == "budget"
    study.budget = 20
    assert (study_summary("s", url).budget, study_summary("s", url).finished) == (20, None)


def test_a_method_of_ones_own_is_not_needed(nudge):
    study = gd.create_study(SPHERE, nudge(), study_name="s", rng=0)
    assert study_summary("s", study.storage).method == "Nudge"


def test_a_manifold_of_ones_own_is_named_as_it_names_itself():
    class Plane(gd.Euclidean):
        def __repr__(self) -> str:
            return "my plane"

    study = gd.create_study(Plane(2), "duel-newton", study_name="s", rng=0)
    assert study_summary("s", study.storage).manifold == "my plane"


def test_what_is_not_there_or_altered():
    storage = MemoryStorage()
    with pytest.raises(errors.UnknownStudyError):
        study_summary("s", storage)
    gd.create_study(SPHERE, storage=storage, study_name="s", rng=0)
    kept = storage._studies["s"]
    kept.described = kept.described.replace('"seed": 0', '"seed": 1')
    with pytest.raises(errors.ReplayError, match="settings of study 's' are not what was written"):
        study_summary("s", storage)
