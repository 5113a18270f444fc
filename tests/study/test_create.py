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
        ({"method": "ideal-point", "budget": 0}, "budget must be an integer >= 1"),
        ({"method": "stp", "iterations": 2.5}, "iterations must be an integer >= 1"),
        ({"lease": 0}, "lease must be > 0"),
        ({"repeats": 1.0}, "repeats must be a share"),
        ({"votes": 0}, "votes must be an integer >= 1"),
        ({"votes": 3}, "votes=3 is for methods that believe"),
        ({"x0": "north"}, "x0 must be an array of real numbers"),
        ({"x0": [0, 1]}, "x0 has shape"),
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


def test_options_of_the_method_that_walks_inside_another_are_compared():
    """Where some values have no geodesics, the method for the rest is a part of one for all."""
    mixed = gd.space(kind=["a", "b"], gain=(-12, 12), bass=(-6, 6))
    again = {"storage": MemoryStorage(), "study_name": "s", "load_if_exists": True}
    first = gd.create_study(mixed, rng=0, x_tol=0.1, **again)
    assert "method" in first.settings["method"]
    gd.create_study(mixed, x_tol=0.1, **again)
    with pytest.raises(errors.ArgumentError, match=r"x_tol=0.2 differs"):
        gd.create_study(mixed, x_tol=0.2, **again)


def test_auto_is_for_people():
    names = {1: "bisection", 2: "ideal-point", 6: "ideal-point"}
    for dim, name in names.items():
        study = gd.create_study(gd.Euclidean(dim), rng=0)
        assert study.method_name == name
        assert study.settings["repeats"] > 0
    high = gd.create_study(gd.Sphere(12), rng=0)
    assert high.method_name not in names.values()


def test_a_start_is_an_array_of_numpy():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(errors.ArgumentError, match="x0 must be a NumPy array, which a log can"):
        gd.create_study(SPHERE, "stp", x0=strict.asarray([0.0, 0.0, 1.0]))


def test_a_generator_draws_seeds_of_63_bits():
    """So that studies made with one do not share theirs."""
    rng = np.random.default_rng(0)
    seeds = [gd.create_study(SPHERE, "stp", rng=rng).settings["seed"] for _ in range(8)]
    assert 2**60 < max(seeds) < 2**63


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


# -- named parameters ------------------------------------------------------------------------------

SOUND = gd.space(gain=gd.Interval(-12, 12, unit="dB"), mix=gd.Simplex(2), freq=(1, 9))
GOAL = {"gain": 3.0, "mix": [0.3, 0.7], "freq": 4.0}


def off(p):
    return float(SOUND.manifold.dist(p, GOAL))


def told(study, count, rater=None):
    for _ in range(count):
        duel = study.ask(rater=rater)
        study.tell(duel, "a" if off(duel.a) < off(duel.b) else "b")
    return study


def test_a_study_of_named_parameters_hands_out_dictionaries(tmp_path):
    place = f"sqlite:///{tmp_path / 'sound.db'}"
    study = told(gd.create_study(SOUND, storage=place, study_name="sound", rng=0), 12, "ann")
    duel = study.ask()
    assert list(duel.a) == ["gain", "mix", "freq"]
    assert -12 <= duel.a["gain"] <= 12
    np.testing.assert_array_equal(study.manifold.pack(duel.b), duel.points[1])
    study.report_preference(GOAL, GOAL | {"gain": -5})
    best = study.recommend()
    assert off(best) < 0.5 < off({"gain": -12, "mix": [0.5, 0.5], "freq": 5})
    assert study.recommend("ann").keys() == best.keys() == study.camps()[0].point.keys()
    assert study.trace()[-1][1].keys() == best.keys()

    for again in (
        gd.load_study("sound", place),
        gd.load_study("sound", place, SOUND),
        gd.create_study(SOUND, storage=place, study_name="sound", load_if_exists=True),
    ):
        assert again.duels == study.duels
        assert again.recommend()["gain"] == best["gain"]
    study.export(tmp_path / "sound.jsonl")
    assert gd.import_study(tmp_path / "sound.jsonl").recommend()["freq"] == best["freq"]


def test_oracles_of_a_named_study_are_handed_dictionaries():
    start = {"gain": 0, "mix": [0.5, 0.5], "freq": 5}
    study = gd.create_study(SOUND, method="duel-newton", x0=start, rng=0)
    study.optimize(gd.Counted(gd.from_objective(off)), 60, workers=2)
    study.optimize(lambda a, b: 1 if off(a) > off(b) else -1, 60)
    assert off(study.recommend()) < 1e-2
    run = gd.minimize(gd.from_objective(off), SOUND, start, method="duel-newton", budget=40, rng=0)
    same = gd.create_study(SOUND, method="duel-newton", x0=start, rng=0, budget=40)
    same.optimize(gd.from_objective(off))
    assert run.x["gain"] == same.recommend()["gain"]  # to the last bit


def test_one_oracle_is_not_lent_to_a_run_with_other_names():
    """Within a callback of a study another run starts: refused by name, and the study goes on."""
    oracle = gd.from_objective(off)
    study = gd.create_study(SOUND, method="duel-newton", rng=0)
    same = gd.create_study(SOUND, method="duel-newton", rng=0)
    refused = []

    def elsewhere(*_):
        same.optimize(oracle, 1)
        for place in (gd.Euclidean(3), gd.space(gain=(0, 1), mix=gd.Simplex(2), freq=(1, 9))):
            with pytest.raises(errors.ArgumentError, match=r"^oracle .* in another run") as error:
                gd.minimize(oracle, place, budget=5, rng=0)
            refused.append(error)

    study.optimize(oracle, 5, callbacks=[elsewhere])
    assert len(refused) == 10
    assert study.progress().answered == same.progress().answered == 5
    with pytest.raises(errors.OracleError, match="the objective raised"):
        gd.minimize(oracle, gd.Euclidean(3), budget=5, rng=0)  # it takes dictionaries


def test_a_named_study_keeps_to_a_set_of_one_parameter():
    study = gd.create_study(SOUND, domain={"freq": (2, 3)}, rng=0)
    told(study, 8)
    assert all(2 <= p["freq"] <= 3 for duel in study.duels for p in (duel.a, duel.b))
    with pytest.raises(errors.ArgumentError, match="domain has 'fraq', expected some of 'gain'"):
        gd.create_study(SOUND, domain={"fraq": (2, 3)})


def test_a_domain_that_is_a_function_has_to_be_given_again(tmp_path):
    place = f"sqlite:///{tmp_path / 'quiet.db'}"
    quiet = {"storage": place, "study_name": "quiet", "rng": 0, "method": "duel-csa"}
    start = {"gain": 0, "mix": [0.5, 0.5], "freq": 5}
    study = gd.create_study(SOUND, domain=lambda p: p["gain"] < 1, x0=start, **quiet)
    told(study, 30)
    assert all(p["gain"] < 1 for duel in study.duels for p in (duel.a, duel.b))
    with pytest.raises(errors.ArgumentError, match="pass method= when loading it"):
        gd.load_study("quiet", place)
    again = gd.load_study("quiet", place, method=study.method)
    assert again.recommend()["gain"] == study.recommend()["gain"] < 1


def test_to_delete_or_load_what_is_not_there_makes_no_file(tmp_path):
    url = f"sqlite:///{tmp_path / 'none.db'}"
    for use in (gd.delete_study, gd.load_study):
        with pytest.raises(errors.ArgumentError, match="there is no database"):
            use("s", url)
    assert list(tmp_path.iterdir()) == []
