"""A study that was interrupted goes on as if it had not been, to the last bit."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.methods.named import METHODS as METHODS_BY_NAME
from geoduel.study import players
from geoduel.study import study as module

LOGS = Path(__file__).parent / "logs"
SPHERE = gd.Sphere(3)
CAP = gd.Ball(SPHERE, np.array([0.0, 0.6, 0.8]), 1.2)
METHODS = {
    "rdngd": {"budget": 60},
    "rdngd batch": {"budget": 60, "batch": 3, "returns": "last"},
    "rdngd random": {"budget": 60, "returns": "random"},
    "rrdngd": {"phase_length": 5, "budget": 60},
    "rdfw": {"domain": CAP, "iterations": 60},
    "duel-newton": {},
    "duel-newton set": {"domain": CAP},
    "duel-csa": {},
    "block": {},
    "auto": {"method": gd.Auto()},
    "ideal-point": {},
    "ideal-direction": {"manifold": gd.Sphere(8)},
    "bisection": {"manifold": gd.Torus(1)},
    "mixed": {
        "manifold": gd.Product(gd.Categories("a", "b", "c"), gd.Integers(1, 8), gd.Torus(2)),
        "method": "auto",
    },
}


def create(key: str, **more):
    options = {"manifold": SPHERE, "method": key.split()[0], "rng": 3, **METHODS[key], **more}
    return gd.create_study(**options)


def play(study: gd.Study, answer, count: int, n: int = 1) -> None:
    """Answer duels until the study has that many, several open at once, the last first."""
    while len(study.duels) < count:
        try:
            duels = study.ask(n)
        except errors.StudyFinishedError:
            return
        for duel in reversed(duels if n > 1 else [duels]):
            study.tell(duel, answer(duel))


def history(study: gd.Study):
    return [(d.id, d.a.tolist(), d.b.tolist(), d.role, d.left, d.answer) for d in study.duels]


def resumed(study: gd.Study) -> gd.Study:
    return gd.load_study(study.name, study.storage)


@pytest.mark.parametrize("key", METHODS)
def test_resumed_is_uninterrupted(key, url, person):
    """After every few duels the study is loaded anew, from its log alone."""
    count = 12 if key == "ideal-point" else 30
    manifold = METHODS[key].get("manifold", SPHERE)
    answer = person(manifold, manifold.random_point(np.random.default_rng(1)))
    straight, broken = create(key), create(key, storage=url)
    for end in (5, 11, count):
        play(straight, answer, end)
        play(broken, answer, end)
        broken = resumed(broken)
        assert np.array_equal(straight.recommend(), broken.recommend())
    assert history(straight) == history(broken)
    assert straight.progress().uncertainty == broken.progress().uncertainty
    assert len(straight.duels) == count


@pytest.mark.parametrize("key", METHODS)
def test_resumed_from_snapshot(key, url, person, monkeypatch):
    """A stored state gives what the replay gives, and is really used: little is given anew."""
    monkeypatch.setattr(module, "COSTLY", 0.0)
    count = 20 if key == "ideal-point" else 40
    manifold = METHODS[key].get("manifold", SPHERE)
    answer = person(manifold, manifold.random_point(np.random.default_rng(1)))
    straight, broken = create(key), create(key, storage=url)
    play(straight, answer, count)
    play(broken, answer, count - 4)
    assert broken.storage.load_snapshot(broken.name) is not None
    given = []
    for kind in (players.QuestionPlayer, players.StepPlayer):
        give = kind.give
        monkeypatch.setattr(kind, "give", lambda *a, give=give: given.append(a) or give(*a))
    broken = resumed(broken)
    assert len(given) < broken.progress().answered + broken.progress().skips
    play(broken, answer, count)
    assert history(straight) == history(broken)
    assert np.array_equal(straight.recommend(), broken.recommend())


@pytest.mark.parametrize("key", ["duel-newton", "rdngd batch", "bisection"])
def test_several_open_at_once(key, url, person):
    """Answers in another order than the questions, across interruptions."""
    manifold = METHODS[key].get("manifold", SPHERE)
    answer = person(manifold, manifold.random_point(np.random.default_rng(1)))
    straight, broken = create(key), create(key, storage=url)
    for end in range(6, 30, 6):
        play(straight, answer, end, n=3)
        play(broken, answer, end, n=3)
        broken = resumed(broken)
    assert history(straight) == history(broken)
    assert np.array_equal(straight.recommend(), broken.recommend())


@pytest.mark.parametrize("key", METHODS)
def test_undo_is_as_if_never_given(key, person):
    """Wrong answers that are taken back leave no trace in what follows."""
    manifold = METHODS[key].get("manifold", SPHERE)
    answer = person(
        manifold, manifold.random_point(np.random.default_rng(1)), ties=9**9, skips=9**9
    )
    plain, corrected = create(key), create(key)
    for step in range(14):
        duel = plain.ask()
        plain.tell(duel, answer(duel))
        for wrong in ("tie", "skip", "b")[: step % 4]:
            corrected.tell(corrected.ask(rater="ann"), wrong)
            assert corrected.undo().answer is None
        again = corrected.ask(rater="ann")
        if "bisection" not in key and "ideal" not in key:  # those draw by the number of the event
            assert np.array_equal(again.a, duel.a)
        corrected.tell(again, answer(again))
    assert corrected.progress().answered == 14
    if "bisection" not in key and "ideal" not in key:
        assert np.array_equal(plain.recommend(), corrected.recommend())


def test_undo_beyond_what_is_remembered(north, url):
    """Thirty undos in a row, and the study is where it was."""
    study = create("duel-newton", storage=url)
    play(study, north, 12)
    before = study.recommend()
    play(study, north, 42)
    while study.progress().answered + study.progress().skips > 12:
        study.undo()
    assert np.array_equal(study.recommend(), before)
    assert np.array_equal(resumed(study).recommend(), before)
    play(study, north, 60)
    assert np.array_equal(study.recommend(), resumed(study).recommend())


@pytest.mark.parametrize("method", ["duel-newton", "duel-csa", "block", "rdngd", "rrdngd"])
def test_a_study_is_minimize(method):
    """The same seed and oracle give the same run, no matter which side holds the loop."""
    oracle = gd.from_objective(lambda x: -x[2] + 0.3 * x[0] * x[1])
    study = gd.create_study(SPHERE, method, rng=5, budget=80)
    study.optimize(oracle, 1000)
    result = gd.minimize(oracle, SPHERE, method=method, rng=5, budget=80)
    assert np.array_equal(study.recommend(), result.x)
    assert study.progress().answered == 80


def test_float32_stays(url, north):
    x0 = np.array([1.0, 0.0, 0.0], dtype=np.float32)
    study = gd.create_study(SPHERE, "duel-newton", rng=0, x0=x0, storage=url)
    play(study, north, 20)
    again = resumed(study)
    assert again.ask().a.dtype == np.float32 == again.recommend().dtype
    assert all(np.array_equal(p.a, q.a) for p, q in zip(study.duels, again.duels, strict=True))
    assert np.array_equal(study.recommend(), again.recommend())


def test_a_method_of_the_users_own(url, nudge, north):
    """It is passed when loading, and checked."""
    study = gd.create_study(SPHERE, nudge(), storage=url, study_name="own", rng=0)
    play(study, north, 10)
    with pytest.raises(errors.ArgumentError, match="pass method="):
        gd.load_study("own", url)
    with pytest.raises(errors.ArgumentError, match="Nudge"):
        gd.load_study("own", url, method=gd.Auto())
    again = gd.load_study("own", url, method=nudge())
    assert np.array_equal(again.recommend(), study.recommend())
    wrong = gd.load_study("own", url, method=nudge(shrink=0.5))  # a question method: not seen
    assert wrong.progress().uncertainty < again.progress().uncertainty


def test_functions_as_settings(url, north):
    """A schedule of the user's own cannot be stored; the method is passed when loading."""
    method = gd.RDNGD(step_size=lambda k: 0.5 / (k + 1))
    study = gd.create_study(SPHERE, method, storage=url, study_name="own", rng=0)
    play(study, north, 12)
    again = gd.load_study("own", url, method=method)
    assert np.array_equal(again.recommend(), study.recommend())
    with pytest.raises(errors.ReplayError, match=r"does not replay.*NumPy"):
        gd.load_study("own", url, method=gd.RDNGD(step_size=lambda k: 0.4 / (k + 1)))


@dataclass(frozen=True)
class Newer(gd.RDNGD):
    version: ClassVar[int] = 2


def test_a_method_of_the_users_own_may_change_its_version(url, north):
    study = gd.create_study(SPHERE, Newer(step_size=0.1), storage=url, study_name="old", rng=0)
    play(study, north, 6)
    expected = study.recommend()
    Newer.version = 3
    try:
        with pytest.warns(errors.OlderStudyWarning, match="2 of.*this is version 3"):
            old = gd.load_study("old", url, method=Newer(step_size=0.1))
        assert np.array_equal(old.recommend(), expected)
        assert old.duels == study.duels
    finally:
        Newer.version = 2
    assert len(gd.load_study("old", url, method=Newer(step_size=0.1)).duels) == 6


@pytest.mark.parametrize("name", sorted(p.stem for p in (LOGS / "older").glob("*.jsonl")))
def test_studies_of_earlier_versions_open(name, url, monkeypatch):
    """Two raters, 15 answers, a tie, a skip and an undo, as the version in the name wrote them.

    Format 1 holds no results, so the present version learns from the answers; it goes on after
    `upgrade`.
    """
    for kind in (gd.IdealPoint, gd.Bisection):
        monkeypatch.setattr(kind, "version", kind.version + 1)
    file = LOGS / "older" / f"{name}.jsonl"
    with pytest.warns(errors.OlderStudyWarning, match="was made with version"):
        study = gd.import_study(file, url)
    assert study.export() == file.read_text(encoding="ascii")
    progress = study.progress()
    assert progress.note == study.note
    assert (progress.answered, progress.ties, progress.skips) == (15, 1, 1)
    assert set(progress.raters) == {"ann", "bob"}
    ideal = np.array(study.user_attrs["ideal"])
    start = np.array(study.settings["x0"]["entries"])
    assert study.manifold.dist(study.recommend(), ideal) < study.manifold.dist(start, ideal) / 2
    assert study.upgrade().moved == 0
    study.tell(study.ask(rater="ann"), "a")
    again = gd.load_study(name, url)
    assert np.array_equal(again.recommend(), study.recommend())


def test_a_log_of_format_1_is_sealed_with_its_next_event(url, tmp_path):
    """It is opened as it was written, and protected from then on."""
    file = LOGS / "older" / "bisection-2.jsonl"
    with pytest.warns(errors.OlderStudyWarning):
        study = gd.import_study(file, url)
    assert study.export() == file.read_text(encoding="ascii")
    study.set_user_attr("room", 3)
    events = [json.loads(row.line) for row in study.storage.read(study.name, 0)]
    assert [event["kind"] for event in events[-2:]] == ["attribute", "settings"]
    text = study.export(tmp_path / "s.jsonl")
    (tmp_path / "s.jsonl").write_text(text.replace('"seed":7', '"seed":8'))
    with pytest.raises(errors.ReplayError, match="settings of study 'bisection-2' are not what"):
        gd.import_study(tmp_path / "s.jsonl")


def test_leases_change_no_question(url, person):
    """Questions without a name that go out again in between, as after a crash."""
    answer = person(gd.Torus(1), np.array([0.3]))
    for key in ("bisection", "duel-newton"):
        straight, broken = create(key), create(key, lease=1e-9)
        for step in range(12):
            for study in (straight, broken):
                duel = study.ask()
                for _ in range(step % 3 if study is broken else 0):
                    time.sleep(0.002)  # times are stored in milliseconds
                    assert study.ask() == duel  # its time is over: a lease
                study.tell(duel, answer(duel) if key == "bisection" else "ab"[step % 2])
        assert history(straight) == history(broken)
        assert np.array_equal(straight.recommend(), broken.recommend())


def test_a_snapshot_of_another_version_is_not_used(url, person, monkeypatch):
    """The state that it holds means something else; the answers are given anew."""
    monkeypatch.setattr(module, "COSTLY", 0.0)
    study = create("bisection", storage=url)
    play(study, person(gd.Torus(1), np.array([0.3])), 12)
    assert study.storage.load_snapshot(study.name) is not None
    given = []
    give = players.QuestionPlayer.give
    monkeypatch.setattr(players.QuestionPlayer, "give", lambda *a: given.append(a) or give(*a))
    resumed(study)
    few = len(given)
    monkeypatch.setattr(gd.Bisection, "version", gd.Bisection.version + 1)
    with pytest.warns(errors.OlderStudyWarning):
        resumed(study)
    assert len(given) - few == study.progress().answered + study.progress().skips > few


@pytest.mark.parametrize("name", [*METHODS_BY_NAME, "mixed"])
def test_methods_still_ask_what_their_version_asked(name):
    """Logs made earlier. Should one fail, a method has changed: raise its `version`.

    Then write the log anew, with ``tests/study/make_logs.py``. Other processors round differently,
    which the tolerance allows for; particles amplify it, to a fraction of what they are unsure of.
    """
    study = gd.import_study(LOGS / f"{name}.jsonl")
    error = study.manifold.dist(study.recommend(), np.array(study.user_attrs["recommended"]))
    unsure = study.progress().uncertainty if "ideal-point" in name else None
    assert error <= (1e-6 if unsure is None else unsure / 2)
    study.ask(rater="ann")
