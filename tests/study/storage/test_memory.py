"""Logs in memory: what they share with their caller, and what they need not keep."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.log import Row
from geoduel.study.storage import MemoryStorage

ROWS = [Row(n, "{}", str(n)) for n in range(1, 4)]


def test_rows_of_the_caller_are_its_own():
    storage, rows = MemoryStorage(), list(ROWS)
    storage.create("s", "{}", rows)
    rows.clear()
    storage.read("s", 0).clear()
    assert storage.read("s", 0) == ROWS


def test_there_is_nothing_to_load_faster():
    storage = MemoryStorage()
    storage.create("s", "{}")
    storage.save_snapshot("s", 1, "text")
    assert storage.load_snapshot("s") is None


def test_what_fails_is_not_kept():
    storage = MemoryStorage()
    storage.create("s", "{}")

    def act(log):
        log.append([Row(1, "{}", "x")])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        storage.write("s", act)
    assert storage.read("s", 0) == []
    with pytest.raises(errors.ArgumentError, match="a study in memory"):
        storage.backup(Path("copy"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_reads_and_does_not_write():
    """What it wrote nobody else would see."""
    study = gd.create_study(gd.Rotations(2), rng=0)
    duel = study.ask()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert study.duels == [duel]
            refused = [
                pytest.raises(errors.StorageError, match="stays in the process that made it")
                for _ in range(3)
            ]
            with refused[0]:
                study.tell(duel, "a")
            with refused[1]:
                study.storage.delete(study.name)
            with refused[2]:
                gd.create_study(gd.Rotations(2), storage=study.storage)
            gd.create_study(gd.Rotations(2)).ask()  # of its own
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert study.tell(duel, "a").answer == "a"
