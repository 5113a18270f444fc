"""Logs in memory: what they share with their caller, and what they need not keep."""

from __future__ import annotations

from pathlib import Path

import pytest

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
