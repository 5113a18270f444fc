"""Logs in memory keep the contract of storages."""

from __future__ import annotations

import threading

import pytest

from geoduel.errors import DuplicateStudyError, UnknownStudyError
from geoduel.study.log import Row
from geoduel.study.storage import MemoryStorage

ROWS = [Row(n, "{}", str(n)) for n in range(1, 4)]


def test_names_settings_and_rows():
    storage = MemoryStorage()
    storage.create("b", "{}", ROWS)
    storage.create("a", '{"format":1}')
    assert storage.url is None
    assert storage.names() == ["a", "b"]
    assert storage.settings("a") == '{"format":1}'
    assert storage.read("b", 1) == ROWS[1:]
    assert storage.read("a", 0) == []
    with pytest.raises(DuplicateStudyError):
        storage.create("a", "{}")
    storage.delete("b")
    for call in (storage.settings, storage.delete, lambda name: storage.read(name, 0)):
        with pytest.raises(UnknownStudyError):
            call("b")


def test_rows_of_the_caller_are_its_own():
    storage, rows = MemoryStorage(), list(ROWS)
    storage.create("s", "{}", rows)
    rows.clear()
    storage.read("s", 0).clear()
    assert storage.read("s", 0) == ROWS


def test_writers_take_turns():
    storage, width = MemoryStorage(), 8
    storage.create("s", "{}")

    def act(log):
        number = len(log.read(0)) + 1
        log.append([Row(number, "{}", "")])
        return number

    threads = [
        threading.Thread(target=lambda: [storage.write("s", act) for _ in range(50)])
        for _ in range(width)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.number for row in storage.read("s", 0)] == list(range(1, 50 * width + 1))


def test_there_is_nothing_to_load_faster():
    storage = MemoryStorage()
    storage.create("s", "{}")
    storage.save_snapshot("s", 1, "text")
    assert storage.load_snapshot("s") is None
