"""Logs in memory: what they share with their caller, and what they need not keep."""

from __future__ import annotations

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
