"""A storage from what a caller may pass, and one that is opened when it is needed."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from ...errors import ArgumentError, DuplicateStudyError
from ..log import Row
from .base import Log, Storage
from .memory import MemoryStorage

__all__ = ["DeferredStorage", "as_storage", "deferred"]


class DeferredStorage(Storage):
    """Logs in memory until something has to last, such as an answer; from then on in a database.

    To open a database takes a library that loads for half a second, in which a first question can
    be shown.

    Parameters
    ----------
    wanted : str
        Where to keep the logs. A study that is there already, by its name, is left alone: the one
        here then stays in memory.
    """

    def __init__(self, wanted: str) -> None:
        self.url: str | None = None
        self._wanted, self._place = wanted, cast(Storage, MemoryStorage())
        self._lock, self._moved = threading.RLock(), False

    def move(self) -> None:
        """Open the database and move there, unless that is done."""
        with self._lock:
            if self._moved:
                return
            place = as_storage(self._wanted)
            try:
                for name in self._place.names():
                    rows = self._place.read(name, 0)
                    place.create(name, self._place.settings(name), rows)
                self._place, self.url = place, place.url
            except DuplicateStudyError:
                pass
            self._moved = True

    def names(self) -> list[str]:
        return self._place.names()

    def create(self, name: str, settings: str, rows: Sequence[Row] = ()) -> None:
        self._place.create(name, settings, rows)

    def settings(self, name: str) -> str:
        return self._place.settings(name)

    def delete(self, name: str) -> None:
        self._place.delete(name)

    def read(self, name: str, after: int) -> list[Row]:
        return self._place.read(name, after)

    def write(self, name: str, act: Callable[[Log], Any], durable: bool = True) -> Any:
        with self._lock:
            if durable:
                self.move()
            return self._place.write(name, act, durable)

    def load_snapshot(self, name: str) -> str | None:
        return self._place.load_snapshot(name)

    def save_snapshot(self, name: str, number: int, text: str) -> None:
        self._place.save_snapshot(name, number, text)


def deferred(url: str, name: str) -> str | Storage:
    """Where to keep the study of a name: in an SQLite file at once if it is there already.

    To find that out takes no library.
    """
    file = url.removeprefix("sqlite:///")
    if not Path(file).is_file():
        return DeferredStorage(url)
    try:
        with closing(sqlite3.connect(file)) as db:
            # The table of `geoduel.study.storage.sql`, in all versions of its schema.
            found = db.execute("SELECT 1 FROM geoduel_studies WHERE name = ?", (name,)).fetchone()
    except sqlite3.Error:  # the storage's own words on what is wrong are better
        return url
    return DeferredStorage(url) if found is None else url


def as_storage(storage: str | Storage | None) -> Storage:
    """Turn what a caller may pass as ``storage`` into one: a URL, a storage, or None for memory."""
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, Storage):
        return storage
    if not isinstance(storage, str):
        raise ArgumentError(
            "storage must be a URL such as 'sqlite:///duels.db', a Storage or None for memory; "
            f"got {storage!r:.80}"
        )
    from .sql import SQLStorage

    return SQLStorage(storage)
