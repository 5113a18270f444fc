"""Logs in a database: SQLite in one file, or PostgreSQL.

Writers take turns. A writer that waits longer than the time-out gets a `StorageError`, and so does
anyone whom the server or the network keeps waiting that long. A killed process leaves nothing
behind: its transaction is rolled back. What cannot be written to can be read.

The schema has a version. `MIGRATIONS` lists the steps from each version to the next: a new database
takes all of them, an old one those it lacks. A database of a later version is refused.
"""

from __future__ import annotations

import logging
import os
import random
import secrets
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..._support.check import positive, truth
from ...errors import (
    ArgumentError,
    DuplicateStudyError,
    ReplayError,
    StorageError,
    UnknownStudyError,
)
from ..log import Row
from .base import Log, Storage
from .databases import database

__all__ = ["MIGRATIONS", "SQLStorage"]

logger = logging.getLogger("geoduel")

TIMEOUT = 60.0  # seconds that a writer waits for its turn, or for a server that went away

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (  # 1: studies and their logs
        """CREATE TABLE geoduel_studies (
            id INTEGER {serial} PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            settings TEXT NOT NULL
        )""",
        """CREATE TABLE geoduel_events (
            study INTEGER NOT NULL REFERENCES geoduel_studies (id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            line TEXT NOT NULL,
            digest TEXT NOT NULL,
            PRIMARY KEY (study, number)
        )""",
    ),
    (  # 2: states of methods, so that long logs load fast
        """CREATE TABLE geoduel_snapshots (
            study INTEGER PRIMARY KEY REFERENCES geoduel_studies (id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            body TEXT NOT NULL
        )""",
    ),
    (  # 3: how many events there are, NULL where an earlier version wrote the last one
        "ALTER TABLE geoduel_studies ADD COLUMN events INTEGER",
    ),
)
"""SQL that leads from version i to version i + 1."""


class SQLStorage(Storage):
    """Logs in an SQLite file or a PostgreSQL database.

    Parameters
    ----------
    url : str
        ``sqlite:///duels.db`` (relative), ``sqlite:////data/duels.db`` (absolute), or
        ``postgresql://user:password@host/database``, as libpq reads it.
    timeout : float
        Seconds to wait for a turn to write, for a server that went away, and for any answer of it.
    create : bool
        Make the SQLite file if there is none.

    Raises
    ------
    ArgumentError
        If the URL cannot be read, is of another database, or of a file that is not to be made.
    MissingExtraError
        If the driver is not installed.
    StorageError
        If the database cannot be opened, or was made by a later version of the package.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT, create: bool = True) -> None:
        self.timeout = positive(timeout, "timeout")
        truth(create, "create")
        self._database = database(url)
        if not create and not self._database.is_there():
            raise ArgumentError(f"there is no database {self._database.shown}")
        self.url = self._database.url
        self._idle: list[Any] = []  # one connection stays open; threads that need more open them
        self._pid = os.getpid()
        self._ids: dict[str, int] = {}
        weakref.finalize(self, _close, self._idle, self._pid).atexit = False
        patience = min(5.0, timeout)
        # Only looked at, since that takes no turn and no right to write.
        self._schema: int = self._run(self._find_schema, reading=True, patience=patience)
        if self._schema == 0:
            self._run(lambda db: None, patience=patience)

    # -- the interface ---------------------------------------------------------------------------

    def names(self) -> list[str]:
        found = "SELECT name FROM geoduel_studies ORDER BY name"
        return self._run(lambda db: [name for (name,) in self._do(db, found)], reading=True)

    def create(self, name: str, settings: str, rows: Sequence[Row] = ()) -> None:
        def act(db: Any) -> None:
            if self._one(db, _FIND, name) is not None:
                raise DuplicateStudyError(name)
            add = "INSERT INTO geoduel_studies (name, settings) VALUES (?, ?)"
            self._do(db, add, name, settings)
            self._append(db, self._one(db, _FIND, name), rows)

        self._ids.pop(name, None)
        try:
            self._run(act)
        except self._database.IntegrityError:  # somebody created it at the same time
            raise DuplicateStudyError(name) from None

    def settings(self, name: str) -> str:
        asked = "SELECT settings FROM geoduel_studies WHERE name = ?"
        found = self._run(lambda db: self._one(db, asked, name), reading=True)
        if found is None:
            raise UnknownStudyError(name, others=self.names())
        return found

    def delete(self, name: str) -> None:
        def act(db: Any) -> None:
            self._ids.pop(name, None)  # SQLite gives the number of a deleted study to the next one
            study = self._id(db, name)
            self._do(db, "DELETE FROM geoduel_snapshots WHERE study = ?", study)
            self._do(db, "DELETE FROM geoduel_events WHERE study = ?", study)
            self._do(db, "DELETE FROM geoduel_studies WHERE id = ?", study)

        self._run(act)
        self._ids.pop(name, None)

    def read(self, name: str, after: int) -> list[Row]:
        return self._run(lambda db: self._read(db, name, self._id(db, name), after), reading=True)

    def write(self, name: str, act: Callable[[Log], Any], durable: bool = True) -> Any:
        def turn(db: Any) -> Any:
            study = self._id(db, name)
            self._look(db, name, study, self._database.row_lock)
            return act(_OpenLog(self, db, name, study))

        return self._run(turn, durable=durable)

    def settle(self) -> None:
        try:
            self._database.settle()
        except self._database.Error as error:
            raise StorageError(f"{self._database.shown}: {error}") from error

    def now(self) -> float:
        return self._database.now()

    def load_snapshot(self, name: str) -> str | None:
        if self._schema < 2:
            return None
        found = "SELECT body FROM geoduel_snapshots WHERE study = ?"
        return self._run(lambda db: self._one(db, found, self._id(db, name)), reading=True)

    def save_snapshot(self, name: str, number: int, text: str) -> None:
        save = (
            "INSERT INTO geoduel_snapshots (study, number, body) VALUES (?, ?, ?) "
            "ON CONFLICT (study) DO UPDATE SET number = excluded.number, body = excluded.body "
            "WHERE geoduel_snapshots.number <= excluded.number"
        )
        self._run(lambda db: self._do(db, save, self._id(db, name), number, text), durable=False)

    def backup(self, path: Path) -> None:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        if path.exists():
            raise ArgumentError(f"path {str(path)!r} is there already")
        try:
            self._run(lambda db: self._database.backup(db, part), reading=True)
            os.replace(part, path)
        except OSError as error:
            raise StorageError(f"path {str(path)!r} cannot be written: {error}") from error
        finally:
            with suppress(OSError):
                part.unlink()

    # -- statements ------------------------------------------------------------------------------

    def _do(self, db: Any, statement: str, *values: Any) -> Any:
        return db.execute(statement.replace("?", self._database.mark), values)

    def _one(self, db: Any, statement: str, *values: Any) -> Any:
        """The first column of the first row, None if there is none."""
        row = self._do(db, statement, *values).fetchone()
        return None if row is None else row[0]

    def _id(self, db: Any, name: str) -> int:
        if name not in self._ids:
            found = self._one(db, _FIND, name)
            if found is None:
                raise UnknownStudyError(name)
            self._ids[name] = found
        return self._ids[name]

    def _look(self, db: Any, name: str, study: int, lock: str = "") -> None:
        """UnknownStudyError if a study is there no longer."""
        here = "SELECT name FROM geoduel_studies WHERE id = ?" + lock
        if self._one(db, here, study) != name:
            self._forget(name)

    def _forget(self, name: str) -> None:
        self._ids.pop(name, None)  # another one may come to have the name, or the number
        raise UnknownStudyError(name)

    def _read(self, db: Any, name: str, study: int, after: int) -> list[Row]:
        rows = (
            "SELECT number, line, digest FROM geoduel_events "
            "WHERE study = ? AND number > ? ORDER BY number"
        )
        events = "events" if self._schema >= 3 else "NULL"
        about = self._do(db, f"SELECT name, {events} FROM geoduel_studies WHERE id = ?", study)
        called, count = about.fetchone() or (None, None)
        if called != name:
            self._forget(name)
        found = [Row(*row) for row in self._do(db, rows, study, after)]
        last = found[-1].number if found else after
        if count is not None and last < count:  # more are there where somebody wrote meanwhile
            raise ReplayError(
                f"{self._database.shown} was altered: event {last + 1} of a study and what "
                f"followed are missing, up to event {count}"
            )
        return found

    def _append(self, db: Any, study: int, rows: Sequence[Row]) -> None:
        add = "INSERT INTO geoduel_events (study, number, line, digest) VALUES (?, ?, ?, ?)"
        if rows:
            marked = add.replace("?", self._database.mark)
            db.cursor().executemany(marked, [(study, *row) for row in rows])
            held = "UPDATE geoduel_studies SET events = ? WHERE id = ?"
            self._do(db, held, rows[-1].number, study)

    # -- transactions ----------------------------------------------------------------------------

    def _run(
        self,
        act: Callable[[Any], Any],
        reading: bool = False,
        durable: bool = True,
        patience: float | None = None,
    ) -> Any:
        """Return ``act(connection)`` in a transaction of its own; try again after a lost one."""
        until = time.monotonic() + (self.timeout if patience is None else patience)
        pause = 0.01
        while True:
            left = max(0.0, until - time.monotonic())
            try:
                with self._transaction(reading, durable, left) as db:
                    if not reading and self._schema < len(MIGRATIONS):
                        self._migrate(db)
                    result = act(db)
                if not reading:
                    self._schema = len(MIGRATIONS)
                return result
            except self._database.IntegrityError:
                raise
            except self._database.Error as error:
                reason = " ".join(str(error).split())
                if time.monotonic() + pause > until or not self._database.is_passing(error):
                    raise StorageError(f"{self._database.shown}: {reason}") from error
                logger.info("%s is tried again: %s", self._database.shown, reason)
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(1.0, 2 * pause)

    @contextmanager
    def _transaction(self, reading: bool, durable: bool, left: float) -> Iterator[Any]:
        if os.getpid() != self._pid:  # a fork: the connection is the parent's
            _inherited.extend(self._idle)
            self._idle.clear()
            self._pid = os.getpid()
        try:
            db = self._idle.pop()
        except IndexError:
            db = self._database.connect(self.timeout, left)
        try:
            with self._database.bounded(db, left):
                self._database.begin(db, reading, durable)
                yield db
                db.commit()
            if not reading:
                self._database.check(written=True)
                if durable:
                    self._database.settle()
        except BaseException:
            db.close()  # which takes back what it did
            raise
        if self._idle or not self._database.keeps(db):
            db.close()
        else:
            self._idle.append(db)

    def _find_schema(self, db: Any) -> int:
        """Version of the schema; 0 if there is none."""
        if self._one(db, self._database.find_schema) is None:
            return 0
        version = self._one(db, "SELECT version FROM geoduel_schema") or 0
        if version > len(MIGRATIONS):
            raise StorageError(
                f"{self._database.shown} has schema {version}; this version of geoduel knows "
                f"schemas up to {len(MIGRATIONS)}: a later one made it"
            )
        return version

    def _migrate(self, db: Any) -> None:
        """Bring the schema to this version, before anything else is written."""
        if self._database.migration_lock is not None:
            self._do(db, self._database.migration_lock)
        self._do(db, "CREATE TABLE IF NOT EXISTS geoduel_schema (version INTEGER NOT NULL)")
        version = self._find_schema(db)
        if version == len(MIGRATIONS):
            return
        for step in MIGRATIONS[version:]:
            for statement in step:
                self._do(db, statement.format(serial=self._database.serial))
        self._do(db, "DELETE FROM geoduel_schema")
        self._do(db, "INSERT INTO geoduel_schema VALUES (?)", len(MIGRATIONS))

    def __repr__(self) -> str:
        return f"SQLStorage({self._database.shown!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return SQLStorage, (self.url, self.timeout)


class _OpenLog:
    """The log of one study within a transaction."""

    def __init__(self, storage: SQLStorage, db: Any, name: str, study: int) -> None:
        self._storage, self._db, self._name, self._study = storage, db, name, study

    def read(self, after: int) -> list[Row]:
        return self._storage._read(self._db, self._name, self._study, after)

    def append(self, rows: Sequence[Row]) -> None:
        self._storage._append(self._db, self._study, rows)


_FIND = "SELECT id FROM geoduel_studies WHERE name = ?"

_inherited: list[Any] = []
"""Connections of a parent process: to let go of one would end it there."""


def _close(connections: list[Any], pid: int) -> None:
    """Close what is open; after a fork it is the parent's."""
    if os.getpid() == pid:
        for db in connections:
            db.close()
