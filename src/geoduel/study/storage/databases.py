"""The two databases for studies: how each is opened, how writers take turns, what may pass.

On SQLite a writing transaction begins with BEGIN IMMEDIATE, in WAL mode so that readers never wait.
Its turn ends before the disk has what it wrote, and the writer alone waits for that. On PostgreSQL
it locks the study's row. Every wait has an end, whatever a server or a network does.
"""

from __future__ import annotations

import math
import os
import re
import socket
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..._support.check import text
from ..._support.files import on_disk
from ...errors import ArgumentError, MissingExtraError

__all__ = ["Database", "PostgreSQL", "SQLite", "database"]

GRACE = 1.0  # seconds by which a server may be late to say that it gives up
PASSING = ("08", "40", "53300", "57P01", "57P02", "57P03")  # beginnings of PostgreSQL's codes
ASLEEP = "25P03"  # its transaction was ended since it did nothing for too long
CLOCK = 10.0  # seconds after which a server is asked for its time again
LIMITS = "statement_timeout", "idle_in_transaction_session_timeout"


class Database(ABC):
    """A database and its driver, of PEP 249.

    Attributes
    ----------
    url : str
        Where it is.
    shown : str
        The same without a password, for messages.
    Error, IntegrityError : type
        What the driver raises, and what it raises where a key is there already.
    mark : str
        What stands for a value in a statement.
    row_lock : str
        End of a SELECT that holds its rows until the transaction ends.
    serial : str
        What makes a key count up by itself.
    migration_lock : str or None
        Statement that lets one process at a time change the schema.
    find_schema : str
        Statement that finds the table with the version of the schema, or NULL.
    """

    url: str
    shown: str
    Error: type[Exception]
    IntegrityError: type[Exception]
    mark: str
    row_lock = ""
    serial = ""
    migration_lock: str | None = None
    find_schema: str

    def is_there(self) -> bool:
        """Whether it can be opened without being made."""
        return True

    @abstractmethod
    def connect(self, timeout: float, patience: float) -> Any:
        """Open a connection within some seconds; its writers wait ``timeout`` for their turn."""

    def keeps(self, db: Any) -> bool:
        """Whether a connection may be used again."""
        return True

    def check(self, written: bool) -> None:  # noqa: B027 - most databases cannot be exchanged
        """Raise `Error` where the database is no longer the one that was opened."""

    def settle(self) -> None:  # noqa: B027 - a server answers when its disk has it
        """Wait until the disk has what was committed; the next writer's turn may have begun."""

    @contextmanager
    def bounded(self, db: Any, seconds: float) -> Iterator[None]:
        """End what takes longer than so many seconds; by default the driver does."""
        yield

    def now(self) -> float:
        """Seconds since 1970, as in `Storage.now`; a file is on the disk of one machine."""
        return time.time()

    def backup(self, db: Any, path: Path) -> None:
        """Copy the whole database to a file that is not there yet."""
        raise ArgumentError(
            f"storage {self.shown} is copied by its own tools, such as pg_dump; study.export "
            "writes one study"
        )

    @abstractmethod
    def begin(self, db: Any, reading: bool, durable: bool) -> None:
        """Begin a transaction."""

    @abstractmethod
    def is_passing(self, error: Exception) -> bool:
        """Whether what failed may succeed if it is tried again."""


def database(url: str) -> Database:
    """The database that a URL names.

    Raises
    ------
    ArgumentError
        If the URL cannot be read, or is of another database.
    MissingExtraError
        If the driver is not installed.

    Examples
    --------
    >>> database("sqlite:////data/duels.db").file
    PosixPath('/data/duels.db')
    """
    scheme, is_url, rest = text(url, "storage").partition("://")
    if not is_url:
        hint = f"; perhaps 'sqlite:///{url}' is meant" if url.endswith((".db", ".sqlite")) else ""
        raise ArgumentError(
            f"storage must be a URL such as 'sqlite:///duels.db', got {url!r}{hint}"
        )
    kind = scheme.partition("+")[0]  # a driver may follow; each database has one here
    if kind == "sqlite":
        return SQLite(url, rest)
    if kind == "postgresql":
        return PostgreSQL(url, rest)
    raise ArgumentError(f"storage must be sqlite or postgresql, got {kind!r}")


class _Frozen(sqlite3.Connection):
    """A connection to a file that SQLite takes to change no more."""


class SQLite(Database):
    """One file, for any number of threads and processes of one machine."""

    Error, IntegrityError = sqlite3.Error, sqlite3.IntegrityError
    mark = "?"
    find_schema = "SELECT max(name) FROM sqlite_master WHERE name = 'geoduel_schema'"

    def __init__(self, url: str, rest: str) -> None:
        slash, name = rest[:1], rest[1:]
        if name in ("", ":memory:"):
            raise ArgumentError(
                f"storage {url!r} is a database in memory, which only one thread sees: take "
                "storage=None, or a file such as 'sqlite:///duels.db'"
            )
        if slash != "/" or "?" in name or "\0" in name:
            raise ArgumentError(
                f"storage {url!r} names no file: sqlite:///duels.db is one in this folder, "
                "sqlite:////data/duels.db one in /data; options after '?' are not taken"
            )
        # Absolute, so that it stays the same file when the working directory changes.
        self.file = Path(name).absolute()
        self.url = self.shown = f"sqlite:///{self.file}"
        self._identity: tuple[int, int] | None = None  # of the file that was opened
        self._log = self.file.with_name(self.file.name + "-wal")
        self._is_logged = False

    def is_there(self) -> bool:
        return self.file.is_file()

    def connect(self, timeout: float, patience: float) -> sqlite3.Connection:
        self.check(written=False)
        try:
            db = self._open(str(self.file), timeout)
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
                raise
            if not self.is_there() or (self._log.exists() and self._log.stat().st_size):
                raise
            # In a folder that cannot be written to, SQLite opens only what it may take for frozen.
            # So it is, but for users with other rights: it is opened anew each time.
            db = self._open(f"file:{quote(str(self.file))}?immutable=1", timeout, frozen=True)
        if self._identity is None:
            self._identity = self._found()
        return db

    def _open(self, place: str, timeout: float, frozen: bool = False) -> sqlite3.Connection:
        kind: Any = {"uri": True, "factory": _Frozen} if frozen else {}
        db = sqlite3.connect(
            place, timeout=timeout, isolation_level=None, check_same_thread=False, **kind
        )
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens it really
            if not frozen:
                mode = db.execute("PRAGMA journal_mode = WAL").fetchone()
                self._is_logged = mode == ("wal",)
            db.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            db.close()
            raise
        return db

    def keeps(self, db: sqlite3.Connection) -> bool:
        return not isinstance(db, _Frozen)

    def _found(self) -> tuple[int, int] | None:
        """What tells the file at this place from others; None if there is none."""
        try:
            status = os.stat(self.file)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def check(self, written: bool) -> None:
        if self._identity is None:  # not opened yet
            return
        gone = self._found() != self._identity
        if gone or (written and self._is_logged and not self._log.exists()):
            lost = "what was written is lost" if written else "nothing is written"
            raise sqlite3.DatabaseError(
                f"the file, or its -wal, was removed or replaced while it was open: {lost}; load "
                "the study anew"
            )

    def settle(self) -> None:
        # FULL would wait within the turn, and keep all other writers waiting. The log is written
        # from its beginning again only once the file itself has all of it and is on the disk.
        if not self._is_logged:
            return
        try:
            on_disk(self._log)
        except OSError as error:
            raise sqlite3.DatabaseError(
                f"what was written may not outlive a power cut, since its -wal cannot be written "
                f"to the disk: {error}"
            ) from error

    def backup(self, db: sqlite3.Connection, path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as copy:
            db.backup(copy)

    def begin(self, db: sqlite3.Connection, reading: bool, durable: bool) -> None:
        self.check(written=False)
        if reading:
            db.execute("BEGIN")
            return
        # A power cut ends the programs with the file, but not those that write to a server. There,
        # nothing may be lost that others have seen, and all transactions are durable. Here, in WAL
        # mode, NORMAL commits without waiting for the disk, and `settle` waits afterwards.
        waits = durable and not self._is_logged
        db.execute(f"PRAGMA synchronous = {'FULL' if waits else 'NORMAL'}")
        # A transaction that first reads and then writes would fail if another wrote in between.
        db.execute("BEGIN IMMEDIATE")

    def is_passing(self, error: Exception) -> bool:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details
        return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class PostgreSQL(Database):
    """A server, through psycopg."""

    mark = "%s"
    row_lock = " FOR UPDATE"
    serial = "GENERATED BY DEFAULT AS IDENTITY"
    migration_lock = f"SELECT pg_advisory_xact_lock({0x67656F6475656C})"  # "geoduel"
    find_schema = "SELECT to_regclass('geoduel_schema')"

    def __init__(self, url: str, rest: str) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:  # also where psycopg misses PostgreSQL's own library
            raise MissingExtraError(
                f"storage {url.partition(':')[0]!r} needs the package {error.name or 'psycopg'}: "
                "pip install 'geoduel[postgres]'"
            ) from None
        self.Error, self.IntegrityError = psycopg.Error, psycopg.IntegrityError
        self._connect, self._passing = psycopg.connect, psycopg.OperationalError
        self._address = f"postgresql://{rest}"
        self._ahead, self._asked = 0.0, -math.inf  # its clock, and when that was asked for
        self.url, self.shown = url, re.sub("(://[^:/?]*):[^@]*@", r"\1:***@", url)
        try:
            self._chosen = conninfo_to_dict(self._address)
        except psycopg.Error:
            raise ArgumentError(
                f"storage {self.shown!r} is no URL of a PostgreSQL server"
            ) from None

    def connect(self, timeout: float, patience: float) -> Any:
        limit = max(1, math.ceil(1000 * timeout))  # milliseconds
        patient = {
            "client_encoding": "utf8",  # without one of its own, a server answers in bytes
            "connect_timeout": max(2, math.ceil(patience)),  # the least that is taken
            "keepalives_idle": max(1, math.ceil(timeout / 4)),
            "keepalives_interval": max(1, math.ceil(timeout / 4)),
            "keepalives_count": 3,
            "tcp_user_timeout": limit,
        }
        db = self._connect(
            self._address, **{k: v for k, v in patient.items() if k not in self._chosen}
        )
        try:
            # The server's part: a turn that is not given, a statement without end, and a writer who
            # fell asleep in its turn, whom the others need not wait for.
            for name in LIMITS:
                db.execute("SELECT set_config(%s, %s, false)", (name, str(limit)))
            db.commit()
        except BaseException:
            db.close()
            raise
        return db

    @contextmanager
    def bounded(self, db: Any, seconds: float) -> Iterator[None]:
        # The server and the network may both fall silent: then the connection is cut on this side.
        with socket.socket(fileno=os.dup(db.fileno())) as line:
            timer = threading.Timer(seconds + GRACE, _cut, [line])
            timer.daemon = True
            timer.start()
            try:
                yield
            finally:
                timer.cancel()

    def begin(self, db: Any, reading: bool, durable: bool) -> None:
        """The driver begins one with the first statement, which may ask for the server's time."""
        before = time.time()
        if 0 <= before - self._asked < CLOCK:
            return
        (there,) = db.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
        self._asked = time.time()
        self._ahead = there - (before + self._asked) / 2

    def now(self) -> float:
        return time.time() + self._ahead

    def is_passing(self, error: Exception) -> bool:
        if getattr(error, "sqlstate", None) == ASLEEP:
            return True
        if not isinstance(error, self._passing):
            return False
        code = getattr(error, "sqlstate", None)  # None: the connection was lost, or never there
        # Lost; too many; shutting down, crashed, starting up; deadlock and the like.
        return code is None or code.startswith(PASSING)


def _cut(line: socket.socket) -> None:
    """End a connection whatever it is doing."""
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
