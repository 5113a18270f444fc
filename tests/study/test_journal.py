"""The log in a storage, and snapshots: a cache, on which nothing depends."""

from __future__ import annotations

import json
from hashlib import blake2b

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel._version import __version__
from geoduel.methods.named import METHODS
from geoduel.study import study as module
from geoduel.study.journal import Journal, opening
from geoduel.study.log import seal
from geoduel.study.storage import MemoryStorage, SQLStorage

SPHERE = gd.Sphere(3)
NOTE = {"kind": "attribute", "key": "room", "value": 3}


def journals(storage=None, count: int = 2) -> list[Journal]:
    """Journals of one study, as of several processes."""
    storage = storage or MemoryStorage()
    storage.create("s", "{}", opening({}, 0.0))
    return [Journal("s", storage, {}) for _ in range(count)]


def play(study: gd.Study, answer, count: int) -> None:
    while len(study.duels) < count:
        duel = study.ask()
        study.tell(duel, answer(duel))


def test_writers_see_what_others_wrote():
    one, other = journals()
    written = one.write(lambda: [NOTE])
    assert written[0].items() >= NOTE.items()
    seen = []
    other.write(lambda: seen.append(other.book.number) or [NOTE, NOTE])
    assert seen == [2]
    assert one.book.number == 2
    one.read()
    assert one.book.digests == other.book.digests
    assert one.book.number == 4


def test_what_cannot_be_decided_is_not_written():
    (journal,) = journals(count=1)

    def decide():
        raise errors.ArgumentError("there is no such duel")

    with pytest.raises(errors.ArgumentError):
        journal.write(decide)
    assert journal.write(list) == []
    journal.read()
    assert journal.book.number == 1


def test_a_second_try_finds_what_the_first_stored():
    """The storage calls ``act`` again after a lost connection: nothing is doubled."""

    class Forgetful(MemoryStorage):
        def write(self, name, act, durable=True):
            super().write(name, act, durable)
            return super().write(name, act, durable)

    one, other = journals(Forgetful())
    one.write(lambda: [NOTE])
    other.read()
    assert one.book.number == other.book.number == 2


def test_a_log_that_lost_events_is_refused():
    one, _ = journals()
    one.write(lambda: [NOTE])
    backup = MemoryStorage()
    backup.create("s", "{}")
    one.storage = backup
    with pytest.raises(errors.ReplayError, match="lost event 2"):
        one.write(lambda: [NOTE])


def test_snapshot_of_another_log_is_not_used(url, north, monkeypatch):
    """An answer taken back after the snapshot, another version, a damaged text: replay instead."""
    monkeypatch.setattr(module, "COSTLY", 0.0)
    study = gd.create_study(SPHERE, "duel-newton", rng=3, storage=url)
    play(study, north, 30)
    text = study.storage.load_snapshot(study.name)
    body = json.loads(text)
    monkeypatch.setattr(module, "COSTLY", 1e9)
    expected = study.recommend()
    again = gd.load_study(study.name, url)
    assert np.array_equal(again.recommend(), expected)
    for damaged in (
        body | {"settings": "other"},
        body | {"digest": "0" * 32},
        body | {"checkpoint": {"tuple": []}},
        body | {"checkpoint": {"of": "os:system", "items": ["true"]}},
        {},
    ):
        for sum_of in (damaged, body):  # a checksum that fits, and one of what was written
            bare = {key: value for key, value in sum_of.items() if key != "checksum"}
            text_of = json.dumps(damaged | {"checksum": seal(bare)})
            monkeypatch.setattr(study.storage, "load_snapshot", lambda name, t=text_of: t)
        assert np.array_equal(gd.load_study(study.name, study.storage).recommend(), expected)
    monkeypatch.setattr(study.storage, "load_snapshot", lambda name: text)
    while study.progress().answered + study.progress().skips > 10:
        study.undo()
    assert np.array_equal(gd.load_study(study.name, study.storage).recommend(), study.recommend())


def test_snapshots_of_the_first_layout_are_replayed(url, north, monkeypatch):
    """They name modules that have moved: nobody is warned, and a new one takes their place."""
    monkeypatch.setattr(module, "COSTLY", 0.0)
    study = gd.create_study(SPHERE, "duel-newton", rng=3, storage=url, study_name="s")
    play(study, north, 30)
    expected, asked = study.recommend(), study.ask()
    text = study.storage.load_snapshot("s")
    assert "geoduel.methods.descent.duel_newton:NewtonState" in text
    old = json.loads(text.replace("geoduel.methods.descent.", "geoduel.algorithms."))
    made_by = json.dumps([study.settings, __version__, np.__version__], sort_keys=True)
    old["settings"] = blake2b(made_by.encode(), digest_size=16).hexdigest()
    number = next(n for n, digest in enumerate(_digests(study), 1) if digest == old["digest"])
    study.storage.save_snapshot("s", number, json.dumps(old))
    assert "geoduel.algorithms." in study.storage.load_snapshot("s")
    again = gd.load_study("s", SQLStorage(url))  # any warning is an error here
    assert np.array_equal(again.recommend(), expected)
    assert np.array_equal(again.ask().a, asked.a)
    assert "geoduel.algorithms." not in study.storage.load_snapshot("s")


def _digests(study: gd.Study) -> list[str]:
    return [row.digest for row in study.storage.read("s", 0)]


FIRST = (
    '"geoduel": "0.1.0", "numpy": "2.4.6", "machine": "x86_64", "created": 1795905103.384, '
    '"seed": 7, "x0": {"type": "array", "dtype": "float64", "entries": %s}, "budget": 200, '
    '"iterations": null, "lease": 600.0, "repeats": 0.0, "votes": 1}'
)
PRODUCT = (
    '{"format": 1, "manifold": {"type": "Product", "factors": [{"type": "Sphere", "shape": [3]}, '
    '{"type": "Torus", "n": 1}], "weights": [1.0, 0.5]}, "shape": [3, [4]], "asked": '
    '"duel-newton", "method": {"type": "DuelNewton", "domain": null, "initial_step": null, '
    '"x_tol": null, "parallel": null, "min_radius": 0.0}, "method_name": "duel-newton", '
    '"method_version": 5, ' + FIRST % "[0.0, 0.0, 1.0, 0.5]"
)
SCHEDULE = (
    '{"format": 1, "manifold": {"type": "Sphere", "shape": [3]}, "shape": [2, [3]], "asked": null, '
    '"method": {"type": "RDNGD", "step_size": {"type": "Cosine", "first": 0.1, "last": 0.01, '
    '"total": null}, "radius": 0.001, "batch": 2, "domain": null, "returns": "best", "total": '
    'null}, "method_name": "rdngd", "method_version": 2, ' + FIRST % "[0.0, 0.0, 1.0]"
)
FUNCTION = (
    '{"format": 1, "manifold": {"type": "Sphere", "shape": [3]}, "shape": [2, [3]], "asked": null, '
    '"method": {"type": "foreign", "class": "geoduel.algorithms.rdngd.RDNGD", "repr": "RDNGD()"}, '
    '"method_name": "rdngd", "method_version": 2, ' + FIRST % "[0.0, 0.0, 1.0]"
)


@pytest.mark.parametrize(
    ("settings", "manifold", "method"),
    [
        (PRODUCT, gd.Product(gd.Sphere(3), gd.Torus(1), weights=[1.0, 0.5]), None),
        (SCHEDULE, SPHERE, None),
        (FUNCTION, SPHERE, gd.RDNGD(step_size=lambda k: 0.1)),
    ],
    ids=["product", "schedule", "function"],
)
def test_settings_of_the_first_version(settings, manifold, method, url):
    """As 0.1.0 wrote them, but for the version of the method, which may grow."""
    settings = json.loads(settings)
    settings["method_version"] = METHODS[settings["method_name"]].version
    storage = SQLStorage(url)
    storage.create("s", json.dumps(settings))
    study = gd.load_study("s", storage, method=method)
    assert study.manifold == manifold
    assert np.array_equal(study.recommend(), settings["x0"]["entries"])
    study.tell(study.ask(), "a")
    assert gd.load_study("s", storage, method=method).progress().answered == 1
