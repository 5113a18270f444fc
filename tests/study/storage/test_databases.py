"""Addresses of databases: which are understood, and what is said of the others."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.storage import SQLStorage
from geoduel.study.storage.databases import LIMITS, database


def newton(url: str):
    return gd.create_study(gd.Sphere(3), "duel-newton", storage=url, study_name="s", rng=0)


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        ("duels.db", errors.ArgumentError, "URL such as"),
        ("sqlite://", errors.ArgumentError, "memory"),
        ("sqlite:///:memory:", errors.ArgumentError, "memory"),
        ("sqlite://data/duels.db", errors.ArgumentError, "names no file"),
        ("sqlite:///duels.db?mode=ro", errors.ArgumentError, r"options after '\?'"),
        ("mysql://localhost/duels", errors.ArgumentError, "sqlite or postgresql"),
        ("nonsense://x", errors.ArgumentError, "storage"),
        ("sqlite:////nowhere/at/all/duels.db", errors.StorageError, "unable to open"),
    ],
)
def test_bad_addresses(bad, error, words):
    with pytest.raises(error, match=words):
        newton(bad)


@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pysqlite"])
def test_relative_files_stay_the_same_file(scheme, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = newton(f"{scheme}:///here.db")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    study.tell(study.ask(), "a")
    assert study.storage.url == f"sqlite:///{tmp_path / 'here.db'}"
    assert gd.load_study("s", study.storage.url).progress().answered == 1
    assert (tmp_path / "here.db").is_file()


@pytest.mark.parametrize("name", ["a b.db", "50 %.db", "ä#1@home.db"])
def test_names_of_files_are_taken_as_they_are(name, tmp_path):
    newton(f"sqlite:///{tmp_path / name}")
    assert (tmp_path / name).is_file()


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'geoduel\[postgres\]'"):
        newton("postgresql://ann@localhost/duels")


def test_a_file_needs_no_extra(tmp_path):
    """Nor does it load a library for databases, but for Python's own."""
    code = (
        "import sys, geoduel as gd; study = gd.create_study(gd.Sphere(3), storage=sys.argv[1]);"
        "study.tell(study.ask(), 'a'); print(*{'sqlalchemy', 'psycopg'} & set(sys.modules))"
    )
    url = f"sqlite:///{tmp_path / 'duels.db'}"
    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr


def test_passwords_are_not_shown():
    pytest.importorskip("psycopg", reason="PostgreSQL needs the package psycopg")
    with pytest.raises(errors.StorageError) as caught:
        SQLStorage("postgresql://ann:secret@127.0.0.1:1/duels", timeout=0.2)
    assert "secret" not in str(caught.value)
    assert "ann" in str(caught.value)
    with pytest.raises(errors.ArgumentError, match="no URL of a PostgreSQL") as caught:
        SQLStorage("postgresql://ann:secret@localhost/duels?colour=red")
    assert "secret" not in str(caught.value)
    found = database("postgresql+psycopg://geoduel@/postgres?host=/tmp/a:b")
    assert found.shown == found.url == "postgresql+psycopg://geoduel@/postgres?host=/tmp/a:b"


def test_what_may_pass():
    """Lost connections, servers that start or stop, deadlocks; not what will fail again."""
    psycopg = pytest.importorskip("psycopg", reason="PostgreSQL needs the package psycopg")
    server = database("postgresql://ann@localhost/duels")
    passing = psycopg.errors
    for kind in (
        psycopg.OperationalError,  # without a code: no connection
        passing.AdminShutdown,
        passing.CannotConnectNow,
        passing.TooManyConnections,
        passing.DeadlockDetected,
        passing.SerializationFailure,
        passing.IdleInTransactionSessionTimeout,
    ):
        assert server.is_passing(kind("lost"))
    for kind in (
        passing.DiskFull,
        passing.UndefinedTable,
        passing.UniqueViolation,
        psycopg.InternalError,
    ):
        assert not server.is_passing(kind("for good"))


def test_what_may_pass_in_a_file(tmp_path):
    """Somebody else's turn, whatever the details; not a disk that is full or cannot be written."""
    file = database(f"sqlite:///{tmp_path / 'duels.db'}")

    def passes(code: int) -> bool:
        error = sqlite3.OperationalError("no")
        error.sqlite_errorcode = code
        return file.is_passing(error)

    details = (0, 1 << 8, 2 << 8)
    assert all(passes(code | more) for code in (5, 6) for more in details)  # busy, locked
    assert not any(passes(code | more) for code in (0, 1, 8, 10, 13) for more in details)
    assert not file.is_passing(ValueError("no"))


class Line:
    """Stands for a connection, and remembers what was set."""

    def __init__(self):
        self.sent, self.closed = [], False

    def execute(self, text, values):
        self.sent.append(values)

    def commit(self):
        if not self.sent:
            raise AssertionError("nothing was set")

    def close(self):
        self.closed = True


def connected(url, timeout, patience, line):
    pytest.importorskip("psycopg", reason="PostgreSQL needs the package psycopg")
    server, options = database(url), {}
    server._connect = lambda address, **given: options.update(given) or line
    return server.connect(timeout, patience), options


@pytest.mark.parametrize("timeout", [0.5, 8.0, 60.0])
def test_every_wait_for_a_server_ends_with_the_time(timeout):
    """On both sides; a dead line is noticed in the time and a few whole seconds, not before."""
    line, options = connected("postgresql://ann@localhost/duels", timeout, 5.5, Line())
    assert line.sent == [(name, str(round(1000 * timeout))) for name in LIMITS]
    assert options["tcp_user_timeout"] == 1000 * timeout
    assert options["connect_timeout"] == 6
    count, step = options["keepalives_count"], options["keepalives_interval"]
    assert timeout <= options["keepalives_idle"] + count * step <= timeout + 4


def test_the_least_that_a_driver_takes_and_what_an_address_says_are_kept():
    url = "postgresql://ann@localhost/duels?connect_timeout=9&keepalives_count=7"
    assert "connect_timeout" not in (found := connected(url, 8.0, 0.1, Line())[1])
    assert "keepalives_count" not in found
    assert connected("postgresql://ann@localhost/duels", 1e-9, 0.1, Line())[1] == {
        "client_encoding": "utf8",
        "connect_timeout": 2,
        "keepalives_idle": 1,
        "keepalives_interval": 1,
        "keepalives_count": 3,
        "tcp_user_timeout": 1,
    }


def test_a_line_that_cannot_be_limited_is_closed():
    line = Line()
    line.commit = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        connected("postgresql://ann@localhost/duels", 8.0, 5.5, line)
    assert line.closed
