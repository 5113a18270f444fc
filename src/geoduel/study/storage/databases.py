"""The two databases for studies: how each is opened, how writers take turns, what may pass.

On SQLite a writing transaction begins with BEGIN IMMEDIATE, in WAL mode so that readers never wait.
On PostgreSQL it locks the study's row.
"""

from __future__ import annotations

import re
import sqlite3
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from ...errors import ArgumentError, MissingExtraError

__all__ = ["Database", "PostgreSQL", "SQLite", "database"]

DURABLE = "FULL"  # SQLite: on the disk, not on its way there, when an answer counts as stored


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
    """

    url: str
    shown: str
    Error: type[Exception]
    IntegrityError: type[Exception]
    mark: str
    row_lock = ""
    serial = ""
    migration_lock: str | None = None

    def is_there(self) -> bool:
        """Whether it can be opened without being made."""
        return True

    @abstractmethod
    def connect(self, timeout: float) -> Any:
        """Open a connection, whose writers wait that many seconds for their turn."""

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
    scheme, is_url, rest = url.partition("://")
    if not is_url:
        raise ArgumentError(f"storage must be a URL such as 'sqlite:///duels.db', got {url!r}")
    kind = scheme.partition("+")[0]  # a driver may follow; each database has one here
    if kind == "sqlite":
        return SQLite(url, rest)
    if kind == "postgresql":
        return PostgreSQL(url, rest)
    raise ArgumentError(f"storage must be sqlite or postgresql, got {kind!r}")


class SQLite(Database):
    """One file, for any number of threads and processes of one machine."""

    Error, IntegrityError = sqlite3.Error, sqlite3.IntegrityError
    mark = "?"

    def __init__(self, url: str, rest: str) -> None:
        slash, name = rest[:1], rest[1:]
        if name in ("", ":memory:"):
            raise ArgumentError(
                f"storage {url!r} is a database in memory, which only one thread sees: take "
                "storage=None, or a file such as 'sqlite:///duels.db'"
            )
        if slash != "/" or "?" in name:
            raise ArgumentError(
                f"storage {url!r} names no file: sqlite:///duels.db is one in this folder, "
                "sqlite:////data/duels.db one in /data; options after '?' are not taken"
            )
        # Absolute, so that it stays the same file when the working directory changes.
        self.file = Path(name).absolute()
        self.url = self.shown = f"sqlite:///{self.file}"

    def is_there(self) -> bool:
        return self.file.is_file()

    def connect(self, timeout: float) -> sqlite3.Connection:
        db = sqlite3.connect(
            self.file, timeout=timeout, isolation_level=None, check_same_thread=False
        )
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            db.close()
            raise
        return db

    def begin(self, db: sqlite3.Connection, reading: bool, durable: bool) -> None:
        if reading:
            db.execute("BEGIN")
            return
        # A power cut ends the programs with the file, but not those that write to a server. There,
        # nothing may be lost that others have seen, and all transactions are durable.
        db.execute(f"PRAGMA synchronous = {DURABLE if durable else 'NORMAL'}")
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
        self.url, self.shown = url, re.sub("(://[^:/?]*):[^@]*@", r"\1:***@", url)
        try:
            conninfo_to_dict(self._address)
        except psycopg.Error:
            raise ArgumentError(
                f"storage {self.shown!r} is no URL of a PostgreSQL server"
            ) from None

    def connect(self, timeout: float) -> Any:
        # Without an encoding of its own, a server answers in bytes.
        return self._connect(self._address, client_encoding="utf8")

    def begin(self, db: Any, reading: bool, durable: bool) -> None:
        """The driver begins one with the first statement."""

    def is_passing(self, error: Exception) -> bool:
        if not isinstance(error, self._passing):
            return False
        code = getattr(error, "sqlstate", None)  # None: the connection was lost, or never there
        # Lost; too many; shutting down, crashed, starting up; deadlock and the like.
        return code is None or code.startswith(("08", "40", "53300", "57P01", "57P02", "57P03"))
