"""Studies are made, found and removed."""

from __future__ import annotations

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.storage import MemoryStorage

SPHERE = gd.Sphere(3)


def newton(**more):
    return gd.create_study(SPHERE, "duel-newton", **{"rng": 0, **more})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"manifold": 3}, "manifold must be a Manifold"),
        ({"method": "newton"}, "method must be one of"),
        ({"method": "auto", "colour": 1}, "no option 'colour'"),
        ({"method": "rdngd"}, "give iterations= or budget=: Cosine"),
        ({"method": "rrdngd"}, "phases="),
        ({"rng": -1}, "rng must be an int >= 0"),
        ({"budget": 0}, "budget must be an integer >= 1"),
        ({"lease": 0}, "lease must be > 0"),
        ({"repeats": 1.0}, "repeats must be a share"),
        ({"votes": 0}, "votes must be an integer >= 1"),
        ({"votes": 3}, "votes=3 is for methods that believe"),
        ({"x0": [0, 0, 1]}, "x0 must be a NumPy array"),
        ({"x0": np.array([0.0, 0.0, 2.0])}, "x0 is not on"),
        ({"x0": np.eye(3), "method": "rdngd", "budget": 9}, "x0 must be one point"),
        ({"storage": 3}, "storage must be a URL"),
        ({"study_name": " "}, "study_name must be a text"),
    ],
)
def test_bad_settings(given, words):
    with pytest.raises(errors.ArgumentError, match=words):
        gd.create_study(**{"manifold": SPHERE, **given})


def test_studies_share_a_storage():
    storage = MemoryStorage()
    first = newton(storage=storage, study_name="b")
    newton(storage=storage, study_name="a")
    assert gd.study_names(storage) == ["a", "b"]
    first.tell(first.ask(), "a")
    other = gd.load_study("b", storage)
    assert other.duels == first.duels
    with pytest.raises(errors.DuplicateStudyError, match="load_if_exists"):
        newton(storage=storage, study_name="b")
    again = newton(storage=storage, study_name="b", load_if_exists=True)
    assert again.progress().answered == 1
    with pytest.raises(errors.ArgumentError, match="manifold of study 'b'"):
        gd.create_study(
            gd.Sphere(4), "duel-newton", storage=storage, study_name="b", load_if_exists=True
        )
    with pytest.raises(errors.ArgumentError, match="method of study 'b'"):
        gd.create_study(SPHERE, "block", storage=storage, study_name="b", load_if_exists=True)
    gd.delete_study("b", storage)
    with pytest.raises(errors.UnknownStudyError, match="no study 'b'"):
        gd.load_study("b", storage)
    with pytest.raises(errors.UnknownStudyError):
        gd.delete_study("b", storage)
    with pytest.raises(errors.UnknownStudyError):
        first.ask()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rng": 1}, r"rng=1 differs from the study 's' that exists, which has 0"),
        ({"budget": 9}, "budget=9 differs"),
        ({"iterations": 9}, "iterations=9 differs"),
        ({"lease": 60.0}, "lease=60.0 differs"),
        ({"repeats": 0.1}, "repeats=0.1 differs"),
        ({"votes": 2}, "votes=2 differs"),
        ({"x0": np.array([0.0, 1.0, 0.0])}, "x0=.* differs"),
        ({"x_tol": 0.1}, "method of study 's' is"),
    ],
)
def test_an_existing_study_is_not_silently_another_one(given, words):
    """Settings that are given must be those of the study; what is left out may be anything."""
    storage = MemoryStorage()
    own = {"x0": np.array([1.0, 0.0, 0.0]), "lease": 30.0, "budget": 20, "repeats": 0.2}
    newton(storage=storage, study_name="s", **own)
    again = {"storage": storage, "study_name": "s", "load_if_exists": True}
    gd.create_study(SPHERE, "duel-newton", **again)
    gd.create_study(SPHERE, "duel-newton", rng=np.random.default_rng(5), **again)
    newton(**own, **again)
    with pytest.raises(errors.ArgumentError, match=words):
        newton(**{**own, **again, **given})


def test_options_of_auto_are_compared():
    storage = MemoryStorage()
    gd.create_study(SPHERE, storage=storage, study_name="s", rng=0, catch=0.1)
    again = {"storage": storage, "study_name": "s", "load_if_exists": True}
    gd.create_study(SPHERE, catch=0.1, **again)
    with pytest.raises(errors.ArgumentError, match=r"catch=0.2 differs"):
        gd.create_study(SPHERE, catch=0.2, **again)


def test_auto_is_for_people():
    names = {1: "bisection", 2: "ideal-point", 6: "ideal-point"}
    for dim, name in names.items():
        study = gd.create_study(gd.Euclidean(dim), rng=0)
        assert study.method_name == name
        assert study.settings["repeats"] > 0
    high = gd.create_study(gd.Sphere(12), rng=0)
    assert high.method_name not in names.values()


@pytest.mark.parametrize("rng", [5, np.int64(5), np.random.default_rng(1)])
def test_a_seed_gives_the_same_questions(rng):
    first = gd.create_study(SPHERE, "rdngd", budget=9, rng=rng)
    again = gd.create_study(SPHERE, "rdngd", budget=9, rng=first.settings["seed"])
    assert np.array_equal(first.ask().a, again.ask().a)


def test_nothing_is_stored_that_cannot_be_opened():
    storage = MemoryStorage()
    with pytest.raises(errors.ArgumentError, match="give iterations= or budget="):
        gd.create_study(SPHERE, "rdngd", storage=storage, study_name="s")
    assert gd.study_names(storage) == []


def test_a_study_in_memory_cannot_be_loaded_by_name():
    with pytest.raises(errors.ArgumentError, match="keep the Study itself"):
        gd.load_study("s", None)


def test_a_copy_goes_its_own_way(tmp_path, nudge):
    """From memory to a file, and within one; a study of a user's own method, too."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    study = gd.create_study(SPHERE, nudge(), rng=0, study_name="first")
    study.tell(study.ask(), "b")
    gd.copy_study("first", study.storage, url)
    gd.copy_study("first", url, to_name="second")
    assert gd.study_names(url) == ["first", "second"]
    copy = gd.load_study("second", url, method=nudge())
    assert copy.duels == study.duels
    assert np.array_equal(copy.ask().a, study.ask().a)
    copy.tell(copy.ask(), "a")
    assert gd.load_study("first", url, method=nudge()).progress().answered == 1
    for call, kind in (
        (("second", url), errors.DuplicateStudyError),
        (("third", url), errors.UnknownStudyError),
        (("second", url, None, " "), errors.ArgumentError),
        (("second", f"sqlite:///{tmp_path / 'typo.db'}"), errors.ArgumentError),
        (("third", url, f"sqlite:///{tmp_path / 'b.db'}"), errors.UnknownStudyError),
    ):
        with pytest.raises(kind):
            gd.copy_study(*call)
    assert [path.name for path in tmp_path.glob("*.db")] == ["a.db"]  # no file for a failure


def test_an_altered_study_is_not_copied():
    storage = MemoryStorage()
    study = newton(storage=storage, study_name="s")
    study.tell(study.ask(), "a")
    rows = storage._studies["s"].rows
    rows[1] = rows[1]._replace(line=rows[1].line.replace('"left":"a"', '"left":"b"'))
    rows[1] = rows[1]._replace(line=rows[1].line + " ")
    with pytest.raises(errors.ReplayError, match="not what was written"):
        gd.copy_study("s", storage, to_name="t")
    assert gd.study_names(storage) == ["s"]
