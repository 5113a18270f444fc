"""Where logs are kept: in memory here, in a database in `geoduel.study.sql`.

A storage knows names, settings and lines, nothing else. What a study needs of it is one thing: to
read the log and append to it with nobody in between.
"""

from __future__ import annotations

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from ..errors import ArgumentError, DuplicateStudyError, UnknownStudyError
from .log import Row

__all__ = ["DeferredStorage", "Log", "MemoryStorage", "Storage", "as_storage", "deferred"]


class Log(Protocol):
    """The log of one study while nobody else can write to it."""

    def read(self, after: int) -> list[Row]:
        """Rows with a number above ``after``."""
        ...

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows, all or none."""
        ...


class Storage(ABC):
    """What a study asks of a place to keep its log.

    All methods may be called from several threads at once, and from several processes where the
    storage is shared.
    """

    url: str | None
    """Where it is, for `geoduel.load_study`; None for memory."""

    @abstractmethod
    def names(self) -> list[str]:
        """Names of the studies, in alphabetical order."""

    @abstractmethod
    def create(self, name: str, settings: str, rows: Sequence[Row] = ()) -> None:
        """Create a study, with what its log holds already; DuplicateStudyError if it exists."""

    @abstractmethod
    def settings(self, name: str) -> str:
        """Settings of a study as JSON; UnknownStudyError if there is none."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a study; UnknownStudyError if there is none."""

    @abstractmethod
    def read(self, name: str, after: int) -> list[Row]:
        """Rows with a number above ``after``."""

    @abstractmethod
    def write(self, name: str, act: Callable[[Log], Any], durable: bool = True) -> Any:
        """Return ``act(log)``, with nobody else writing meanwhile.

        What it appended is stored when this returns, and nothing of it if this raises. After a
        lost connection ``act`` is called again: it must look first at what was stored. Where it
        need not be ``durable``, a power cut that ends all writers may take it back.
        """

    @abstractmethod
    def load_snapshot(self, name: str) -> str | None:
        """The last snapshot, if any."""

    @abstractmethod
    def save_snapshot(self, name: str, number: int, text: str) -> None:
        """Replace the snapshot, unless there is one of a later event."""


@dataclass
class _Kept:
    """One study in memory."""

    described: str
    rows: list[Row] = field(default_factory=list)

    def read(self, after: int) -> list[Row]:
        return self.rows[after:]

    def append(self, rows: Sequence[Row]) -> None:
        self.rows.extend(rows)


class MemoryStorage(Storage):
    """Logs in the memory of this process, gone when it ends."""

    url = None

    def __init__(self) -> None:
        self._studies: dict[str, _Kept] = {}
        self._lock = threading.RLock()

    def names(self) -> list[str]:
        return sorted(self._studies)

    def create(self, name: str, settings: str, rows: Sequence[Row] = ()) -> None:
        with self._lock:
            if name in self._studies:
                raise DuplicateStudyError(name)
            self._studies[name] = _Kept(settings, list(rows))

    def settings(self, name: str) -> str:
        return self._find(name).described

    def delete(self, name: str) -> None:
        with self._lock:
            self._find(name)
            del self._studies[name]

    def read(self, name: str, after: int) -> list[Row]:
        return self._find(name).read(after)

    def write(self, name: str, act: Callable[[Log], Any], durable: bool = True) -> Any:
        with self._lock:
            return act(self._find(name))

    def load_snapshot(self, name: str) -> str | None:
        return None

    def save_snapshot(self, name: str, number: int, text: str) -> None:
        """Memory ends with the process: there is nothing to load faster."""

    def _find(self, name: str) -> _Kept:
        if name not in self._studies:
            raise UnknownStudyError(name)
        return self._studies[name]


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
            # The table of `geoduel.study.sql`, in all versions of its schema.
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
    from .sql import SQLStorage  # needs an extra

    return SQLStorage(storage)
