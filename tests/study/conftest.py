"""A rater who can be asked again, a method of a user's own, and studies on both."""

from __future__ import annotations

import importlib.util
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from samples.nudge import Nudge

import geoduel as gd
from geoduel import errors
from geoduel.study.log import Book
from geoduel.study.players import Player, player


@pytest.fixture
def nudge() -> type[Nudge]:
    """A method of the user's own, which settings cannot hold."""
    return Nudge


@pytest.fixture
def person():
    """A rater that answers by the distance to an ideal, with ties and skips now and then.

    The answers depend on the duel alone, so that they are the same in whatever process.
    """

    def make(manifold: gd.Manifold, ideal: np.ndarray, ties: int = 7, skips: int = 11):
        def answer(duel: gd.Duel) -> str:
            if duel.id % ties == ties - 1:
                return "tie"
            if duel.id % skips == skips - 1:
                return "skip"
            return "a" if manifold.dist(duel.a, ideal) < manifold.dist(duel.b, ideal) else "b"

        return answer

    return make


@pytest.fixture
def north(person):
    """The rater who likes the north pole of the sphere in R^3."""
    return person(gd.Sphere(3), np.array([0.0, 0.0, 1.0]))


@pytest.fixture
def replay():
    """Plays a method from the log of a study, which settings need not hold."""

    def run(study: gd.Study, method: gd.Method) -> Player:
        book, seed = Book(), study.settings["seed"]
        book.take(study.storage.read(study.name, 0))
        made = player(method, study.manifold, seed, budget=study.budget)
        made.follow(book)
        return made

    return run


@pytest.fixture
def url(tmp_path, monkeypatch) -> str:
    """An SQLite file of its own, which need not survive a power cut."""
    monkeypatch.setattr("geoduel.study.storage.databases.on_disk", lambda file: None)
    return f"sqlite:///{tmp_path / 'duels.db'}"


@pytest.fixture
def sqlite(monkeypatch) -> type[sqlite3.Connection]:
    """Connections to SQLite: what they ran, how large they let a file grow, how commits fail."""

    class Connection(sqlite3.Connection):
        ran: ClassVar[list[str]] = []
        pages: ClassVar[int | None] = None
        failures: ClassVar[list[sqlite3.Error]] = []

        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.set_trace_callback(self.ran.append)
            if self.pages is not None:
                self.execute(f"PRAGMA max_page_count = {self.pages}")

        def commit(self):
            super().commit()
            if self.failures:
                raise self.failures.pop()

    plain = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **o: plain(*a, factory=Connection, **o))
    return Connection


@pytest.fixture
def threads():
    """Lets threads answer studies until these are finished; returns the duels they told."""

    def run(studies) -> list[int]:
        told: list[int] = []

        def work(i: int) -> None:
            study = studies(i)
            while True:
                try:
                    duel = study.ask(rater=f"rater {i}")
                except errors.StudyFinishedError:
                    return
                except errors.NothingToAskError:
                    time.sleep(0.005)
                    continue
                study.tell(duel, "a")
                told.append(duel.id)

        crew = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        return told

    return run


@pytest.fixture(scope="session")
def processes():
    """Lets processes answer one study: the benchmark's crowd, at a size for tests."""
    file = Path(__file__).resolve().parents[2] / "benchmarks" / "studies.py"
    if not file.is_file():
        pytest.skip("no benchmarks beside the tests")
    sys.path.insert(0, str(file.parent))
    try:
        spec = importlib.util.spec_from_file_location("studies", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))

    def run(url: str, workers: int, answers: int) -> None:
        outcome = module.crowd(url, workers, answers)
        assert outcome.pop("seconds") > 0
        assert outcome == {"answers": answers, "lost": 0, "doubled": 0, "out_twice": 0, "errors": 0}

    return run
