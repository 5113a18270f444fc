"""Logs in a database, through SQLAlchemy: SQLite in one file, or PostgreSQL.

Writers take turns. On SQLite a transaction begins with BEGIN IMMEDIATE, in WAL mode so that readers
never wait; on PostgreSQL it locks the study's row. Whoever waits longer than the time-out gets a
`StorageError`, and a killed process leaves nothing behind: its transaction is rolled back.

The schema has a version. `MIGRATIONS` lists the steps from each version to the next; a new database
takes all of them, an old one those it lacks, and one of a later version is refused.
"""

from __future__ import annotations

import os
import random
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import (
    ArgumentError,
    DuplicateStudyError,
    MissingExtraError,
    StorageError,
    UnknownStudyError,
)
from ..log import Row
from .base import Log, Storage

try:
    import sqlalchemy as sa
    from sqlalchemy import event, exc
except ImportError:
    raise MissingExtraError(
        "a study in a database needs SQLAlchemy: pip install 'geoduel[web]'"
    ) from None

__all__ = ["MIGRATIONS", "SQLStorage"]

DURABLE = "FULL"  # SQLite: on the disk, not on its way there, when an answer counts as stored
TIMEOUT = 60.0  # seconds that a writer waits for its turn, or for a server that went away
LOCK = 0x67656F6475656C  # "geoduel": PostgreSQL's advisory lock around migrations

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
)
"""SQL that leads from version i to version i + 1."""


class SQLStorage(Storage):
    """Logs in an SQLite file or a PostgreSQL database.

    Parameters
    ----------
    url : str
        As in SQLAlchemy: ``sqlite:///duels.db`` (relative), ``sqlite:////data/duels.db``
        (absolute), ``postgresql+psycopg://user:password@host/database``.
    timeout : float
        Seconds to wait for a turn to write, or for a server that went away.

    Raises
    ------
    ArgumentError
        If the URL cannot be read, or is of another database.
    MissingExtraError
        If the driver is not installed.
    StorageError
        If the database cannot be opened, or was made by a later version of the package.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        self.timeout = timeout
        address = _address(url)
        self.url = address.render_as_string(hide_password=False)
        self._shown = address.render_as_string(hide_password=True)
        self._engine = _engine(address, timeout)
        self._pid = os.getpid()
        self._ids: dict[str, int] = {}
        weakref.finalize(self, _close, self._engine, self._pid).atexit = False
        self._run(self._migrate, patience=min(5.0, timeout))

    # -- the interface ---------------------------------------------------------------------------

    def names(self) -> list[str]:
        return self._run(lambda db: list(db.scalars(_NAMES)), reading=True)

    def create(self, name: str, settings: str, rows: Sequence[Row] = ()) -> None:
        def act(db: sa.Connection) -> None:
            if db.scalar(_FIND, {"name": name}) is not None:
                raise DuplicateStudyError(name)
            db.execute(_CREATE, {"name": name, "settings": settings})
            if rows:
                _append(db, self._id(db, name), rows)

        try:
            self._run(act)
        except exc.IntegrityError:  # PostgreSQL: somebody created it at the same time
            raise DuplicateStudyError(name) from None
        finally:
            self._ids.pop(name, None)

    def settings(self, name: str) -> str:
        found = self._run(lambda db: db.scalar(_SETTINGS, {"name": name}), reading=True)
        if found is None:
            raise UnknownStudyError(name)
        return found

    def delete(self, name: str) -> None:
        def act(db: sa.Connection) -> None:
            key = {"study": self._id(db, name)}
            for statement in _DELETE:
                db.execute(statement, key)

        self._run(act)
        self._ids.pop(name, None)

    def read(self, name: str, after: int) -> list[Row]:
        return self._run(lambda db: _read(db, self._id(db, name), after), reading=True)

    def write(self, name: str, act: Callable[[Log], Any], durable: bool = True) -> Any:
        def turn(db: sa.Connection) -> Any:
            study = self._id(db, name)
            lock = " FOR UPDATE" if db.dialect.name == "postgresql" else ""
            if db.scalar(sa.text(_EXISTS + lock), {"study": study}) is None:
                raise UnknownStudyError(name)
            return act(_OpenLog(db, study))

        return self._run(turn, durable=durable)

    def load_snapshot(self, name: str) -> str | None:
        return self._run(
            lambda db: db.scalar(_SNAPSHOT, {"study": self._id(db, name)}), reading=True
        )

    def save_snapshot(self, name: str, number: int, text: str) -> None:
        self._run(
            lambda db: db.execute(
                _SAVE_SNAPSHOT, {"study": self._id(db, name), "number": number, "body": text}
            ),
            durable=False,
        )

    # -- transactions ----------------------------------------------------------------------------

    def _id(self, db: sa.Connection, name: str) -> int:
        if name not in self._ids:
            found = db.scalar(_FIND, {"name": name})
            if found is None:
                raise UnknownStudyError(name)
            self._ids[name] = found
        return self._ids[name]

    def _run(
        self,
        act: Callable[[sa.Connection], Any],
        reading: bool = False,
        durable: bool = True,
        patience: float | None = None,
    ) -> Any:
        """Return ``act(connection)`` in a transaction of its own; try again after a lost one."""
        until = time.monotonic() + (self.timeout if patience is None else patience)
        pause = 0.01
        while True:
            try:
                with self._transaction(reading, durable) as db:
                    return act(db)
            except exc.IntegrityError:
                raise
            except (exc.DBAPIError, exc.TimeoutError) as error:
                if time.monotonic() + pause > until or not _passing(error):
                    raise StorageError(f"{self._shown}: {_reason(error)}") from error
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(1.0, 2 * pause)

    @contextmanager
    def _transaction(self, reading: bool, durable: bool) -> Iterator[sa.Connection]:
        if os.getpid() != self._pid:  # a fork: the connections are the parent's
            self._engine.dispose(close=False)
            self._pid = os.getpid()
        with self._engine.connect() as db:
            db = db.execution_options(geoduel_reading=reading, geoduel_durable=durable)
            with db.begin():
                yield db

    def _migrate(self, db: sa.Connection) -> None:
        """Bring the schema to this version."""
        if db.dialect.name == "postgresql":
            db.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        db.execute(sa.text("CREATE TABLE IF NOT EXISTS geoduel_schema (version INTEGER NOT NULL)"))
        version = db.scalar(sa.text("SELECT version FROM geoduel_schema")) or 0
        if version > len(MIGRATIONS):
            raise StorageError(
                f"{self._shown} has schema {version}; this version of geoduel knows schemas up to "
                f"{len(MIGRATIONS)}: a later one made it"
            )
        if version == len(MIGRATIONS):
            return
        serial = "GENERATED BY DEFAULT AS IDENTITY" if db.dialect.name == "postgresql" else ""
        for step in MIGRATIONS[version:]:
            for statement in step:
                db.execute(sa.text(statement.format(serial=serial)))
        db.execute(sa.text("DELETE FROM geoduel_schema"))
        db.execute(
            sa.text("INSERT INTO geoduel_schema VALUES (:version)"), {"version": len(MIGRATIONS)}
        )

    def __repr__(self) -> str:
        return f"SQLStorage({self._shown!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return SQLStorage, (self.url, self.timeout)


class _OpenLog:
    """The log of one study within a transaction."""

    def __init__(self, db: sa.Connection, study: int) -> None:
        self.db, self.study = db, study

    def read(self, after: int) -> list[Row]:
        return _read(self.db, self.study, after)

    def append(self, rows: Sequence[Row]) -> None:
        _append(self.db, self.study, rows)


def _read(db: sa.Connection, study: int, after: int) -> list[Row]:
    found = db.execute(_READ, {"study": study, "after": after})
    return [Row(*row) for row in found]


def _append(db: sa.Connection, study: int, rows: Sequence[Row]) -> None:
    if rows:
        db.execute(_APPEND, [{"study": study} | row._asdict() for row in rows])


_NAMES = sa.text("SELECT name FROM geoduel_studies ORDER BY name")
_FIND = sa.text("SELECT id FROM geoduel_studies WHERE name = :name")
_SETTINGS = sa.text("SELECT settings FROM geoduel_studies WHERE name = :name")
_CREATE = sa.text("INSERT INTO geoduel_studies (name, settings) VALUES (:name, :settings)")
_DELETE = (
    sa.text("DELETE FROM geoduel_snapshots WHERE study = :study"),
    sa.text("DELETE FROM geoduel_events WHERE study = :study"),
    sa.text("DELETE FROM geoduel_studies WHERE id = :study"),
)
_EXISTS = "SELECT id FROM geoduel_studies WHERE id = :study"
_READ = sa.text(
    "SELECT number, line, digest FROM geoduel_events "
    "WHERE study = :study AND number > :after ORDER BY number"
)
_APPEND = sa.text(
    "INSERT INTO geoduel_events (study, number, line, digest) "
    "VALUES (:study, :number, :line, :digest)"
)
_SNAPSHOT = sa.text("SELECT body FROM geoduel_snapshots WHERE study = :study")
_SAVE_SNAPSHOT = sa.text(
    "INSERT INTO geoduel_snapshots (study, number, body) VALUES (:study, :number, :body) "
    "ON CONFLICT (study) DO UPDATE SET number = excluded.number, body = excluded.body "
    "WHERE geoduel_snapshots.number < excluded.number"
)


# -- connections -----------------------------------------------------------------------------------


def _address(url: str) -> sa.URL:
    try:
        address = sa.make_url(url)
        backend = address.get_backend_name()
    except (exc.ArgumentError, exc.NoSuchModuleError) as error:
        raise ArgumentError(
            f"storage must be a URL such as 'sqlite:///duels.db', got {url!r}: {error}"
        ) from None
    if backend == "postgresql" and "+" not in address.drivername:
        address = address.set(drivername="postgresql+psycopg")
    elif backend not in ("sqlite", "postgresql"):
        raise ArgumentError(f"storage must be sqlite or postgresql, got {backend!r}")
    if backend == "sqlite" and address.database in (None, "", ":memory:"):
        raise ArgumentError(
            f"storage {url!r} is a database in memory, which only one thread sees: take "
            "storage=None, or a file such as 'sqlite:///duels.db'"
        )
    if backend == "sqlite":  # so that it stays the same file when the working directory changes
        address = address.set(database=str(Path(address.database or "").absolute()))
    return address


def _engine(address: sa.URL, timeout: float) -> sa.Engine:
    sqlite = address.get_backend_name() == "sqlite"
    arguments: dict[str, Any] = {"timeout": timeout} if sqlite else {}
    if address.get_driver_name().startswith("psycopg"):
        arguments = {"client_encoding": "utf8"}  # a server without an encoding answers in bytes
    try:
        # One connection stays open; more are opened as threads need them.
        engine = sa.create_engine(
            address,
            pool_size=1,
            max_overflow=-1,
            pool_pre_ping=not sqlite,
            connect_args=arguments,
        )
    except ModuleNotFoundError as error:
        package = "geoduel[postgres]" if error.name == "psycopg" else error.name
        raise MissingExtraError(
            f"storage {address.drivername!r} needs the package {error.name}: "
            f"pip install '{package}'"
        ) from None
    if sqlite:
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
    return engine


def _close(engine: sa.Engine, pid: int) -> None:
    """Close what is open; after a fork it is the parent's."""
    engine.dispose(close=os.getpid() == pid)


def _prepare(connection: Any, record: Any) -> None:
    """Let readers of an SQLite file not wait for writers, and leave transactions to `_begin`."""
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(db: sa.Connection) -> None:
    # A transaction that first reads and then writes would fail if another wrote in between.
    options = db.get_execution_options()
    if options.get("geoduel_reading"):
        db.exec_driver_sql("BEGIN")
        return
    # A power cut ends the programs with the file, but not those that write to a server: there,
    # nothing may be lost that others have seen, and all transactions are durable.
    wanted = DURABLE if options.get("geoduel_durable") else "NORMAL"
    db.exec_driver_sql(f"PRAGMA synchronous = {wanted}")
    db.exec_driver_sql("BEGIN IMMEDIATE")


PASSING = ("locked", "busy", "too many", "starting up", "shutting down", "deadlock", "serialize")


def _passing(error: Exception) -> bool:
    """Whether trying again may help."""
    if isinstance(error, exc.TimeoutError) or getattr(error, "connection_invalidated", False):
        return True
    return isinstance(error, exc.OperationalError) and (
        any(word in str(error.orig) for word in PASSING) or _lost(error)
    )


def _lost(error: exc.OperationalError) -> bool:
    """Whether a server went away, or is not there yet."""
    return "sqlite" not in type(error.orig).__module__ and "connection" in str(error.orig)


def _reason(error: Exception) -> str:
    """The driver's own words, in one line."""
    return " ".join(str(getattr(error, "orig", None) or error).split())
