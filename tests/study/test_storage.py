"""Logs in a database: nothing is lost and nothing is there twice, whatever happens to writers."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study import storage

sql = pytest.importorskip(
    "geoduel.study.storage.sql", reason="studies in a database need the extra web"
)

SPHERE = gd.Sphere(3)


def newton(url, **more):
    return gd.create_study(SPHERE, "duel-newton", storage=url, study_name="s", rng=0, **more)


def path(url: str) -> str:
    return url.removeprefix("sqlite:///")


def test_two_processes_of_one_study(url):
    """Each sees what the other wrote; a question goes out once, an answer counts once."""
    first = newton(url)
    second = gd.load_study("s", url)
    a, b = first.ask(rater="ann"), second.ask(rater="bob")
    assert (a.id, b.id) == (0, 1)
    second.tell(a, "a")
    with pytest.raises(errors.AlreadyAnsweredError):
        first.tell(a, "b")
    first.tell(b, "b")
    assert first.duels == second.duels
    assert np.array_equal(first.ask(rater="ann").a, second.ask(rater="ann").a)
    assert second.undo().id == 1
    assert first.duels[1].state == "open"
    assert first.duels[2].state == "withdrawn"


def test_a_crowd_of_processes(processes, url):
    processes(url, workers=2, answers=60)


@pytest.mark.slow
def test_a_large_crowd_of_processes(processes, url):
    processes(url, workers=16, answers=1500)


def test_threads_with_connections_of_their_own(threads, url):
    """Each thread loads the study itself, as workers of a web server do."""
    method = gd.RDNGD(batch=16, returns="last")
    more = {"storage": url, "study_name": "s", "budget": 64, "iterations": 4}
    gd.create_study(SPHERE, method, rng=0, **more)
    assert sorted(threads(lambda i: gd.load_study("s", url))) == list(range(64))
    assert gd.load_study("s", url).progress().answered == 64


WORKER = """
import sys, geoduel as gd
study = gd.load_study("s", sys.argv[1])
while True:
    duel = study.ask()
    study.tell(duel, "a" if duel.a[2] > duel.b[2] else "b")
    print(duel.id, flush=True)
"""


def test_killed_while_writing(url):
    """What was told before kill -9 is there, the log is whole, and the next process goes on."""
    newton(url)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, url], env=environment, stdout=subprocess.PIPE, text=True
    )
    told = [int(worker.stdout.readline()) for _ in range(10)]
    worker.send_signal(signal.SIGKILL)
    told += [int(line) for line in worker.communicate()[0].split()]
    study = gd.load_study("s", url)
    answered = [d.id for d in study.duels if d.answer is not None]
    assert answered[: len(told)] == told
    assert len(answered) <= len(told) + 1  # stored, and killed before it could say so
    study.optimize(gd.from_objective(lambda x: -x[2]), 10)  # its open question first
    ids = [d.id for d in study.duels if d.answer is not None]
    assert ids == list(range(len(answered) + 10))
    straight = gd.create_study(SPHERE, "duel-newton", rng=0)
    straight.optimize(gd.from_objective(lambda x: -x[2]), len(ids))
    assert np.array_equal(study.recommend(), straight.recommend())


def test_a_locked_database_is_waited_for(url):
    """Another program holds the file for a while: the answer waits. Too long: a clear error."""
    study = newton(sql.SQLStorage(url, timeout=0.4))
    duel = study.ask()
    holder = sqlite3.connect(path(url), isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, lambda: holder.execute("ROLLBACK"))
    release.start()
    study.tell(duel, "a")
    release.join()
    duel = study.ask()
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(errors.StorageError, match=r"duels\.db: database is locked"):
        study.tell(duel, "a")
    assert study.recommend().shape == (3,)  # reading does not wait
    holder.execute("ROLLBACK")
    assert study.tell(duel, "a").answer == "a"
    assert study.progress().answered == 2


def test_a_full_disk(url):
    """The error is clear, nothing is half written, and what was answered stays."""
    study = newton(url)
    study.optimize(gd.from_objective(lambda x: -x[2]), 5)
    engine = study.storage._engine
    with engine.connect() as db:
        pages = db.exec_driver_sql("PRAGMA page_count").scalar()
        db.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(errors.StorageError, match="full"):
        study.optimize(gd.from_objective(lambda x: -x[2]), 500)
    answered = study.progress().answered
    assert answered >= 5
    again = gd.load_study("s", url)
    assert again.duels == study.duels
    with engine.connect() as db:
        db.exec_driver_sql("PRAGMA max_page_count = 100000")
        assert db.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    study.optimize(gd.from_objective(lambda x: -x[2]), 10)
    assert study.progress().answered == answered + 10


def test_a_lost_connection(url, monkeypatch):
    """The transaction is tried again; what was stored before the connection went is not doubled."""
    study = newton(url)
    duel = study.ask()
    calls = []
    transaction = study.storage._transaction

    @contextmanager
    def failing(reading, durable):
        with transaction(reading, durable) as db:
            yield db
        calls.append(reading)
        if calls.count(False) == 1 and not reading:  # stored, but the answer got lost
            raise sql.exc.OperationalError("COMMIT", {}, Exception("connection lost"))

    monkeypatch.setattr(study.storage, "_transaction", failing)
    assert study.tell(duel, "a").answer == "a"
    assert calls.count(False) == 2
    monkeypatch.undo()
    assert gd.load_study("s", url).progress().answered == 1
    assert len(study.storage.read("s", 0)) == 2


def test_an_old_schema_is_migrated(url, north):
    """A database of each earlier version gets what it lacks, and keeps what it has."""
    study = newton(url)
    for _ in range(6):
        duel = study.ask()
        study.tell(duel, north(duel))
    log = study.export()
    for version in range(len(sql.MIGRATIONS)):
        with sqlite3.connect(path(url)) as db:
            db.execute("UPDATE geoduel_schema SET version = ?", (version,))
            if version < 2:
                db.execute("DROP TABLE geoduel_snapshots")
            if version < 1:
                db.execute("DROP TABLE geoduel_events")
                db.execute("DROP TABLE geoduel_studies")
        db.close()
        storage = sql.SQLStorage(url)
        if version >= 1:
            assert gd.load_study("s", storage).export() == log
        else:
            assert storage.names() == []
            newton(storage)
            log = gd.load_study("s", storage).export()
        with sqlite3.connect(path(url)) as db:
            assert db.execute("SELECT version FROM geoduel_schema").fetchall() == [
                (len(sql.MIGRATIONS),)
            ]
        db.close()


def test_a_later_schema_is_refused(url):
    newton(url)
    with sqlite3.connect(path(url)) as db:
        db.execute("UPDATE geoduel_schema SET version = 99")
    db.close()
    with pytest.raises(errors.StorageError, match="schema 99; this version of geoduel knows"):
        gd.load_study("s", url)


def test_a_restored_backup_is_noticed(url):
    """Events that a process has seen and that are gone: nothing is written over the gap."""
    study = newton(url)
    study.tell(study.ask(), "a")
    duel = study.ask()
    with sqlite3.connect(path(url)) as db:
        db.execute("DELETE FROM geoduel_events WHERE number = 3")
    db.close()
    with pytest.raises(errors.ReplayError, match=r"lost event 3.*load the study anew"):
        study.tell(duel, "a")
    again = gd.load_study("s", url)
    assert np.array_equal(again.ask().a, duel.a)


def test_an_altered_log_is_refused(url, north):
    study = newton(url)
    for _ in range(4):
        duel = study.ask()
        study.tell(duel, north(duel))
    with sqlite3.connect(path(url)) as db:
        db.execute(
            'UPDATE geoduel_events SET line = replace(line, \'"answer":"a"\', \'"answer":"b"\')'
        )
    db.close()
    with pytest.raises(errors.ReplayError, match=r"event \d+ does not follow event"):
        gd.load_study("s", url)


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        ("duels.db", errors.ArgumentError, "URL such as"),
        ("sqlite://", errors.ArgumentError, "memory"),
        ("sqlite:///:memory:", errors.ArgumentError, "memory"),
        ("mysql://localhost/duels", errors.ArgumentError, "sqlite or postgresql"),
        ("nonsense://x", errors.ArgumentError, "storage"),
        ("sqlite:////nowhere/at/all/duels.db", errors.StorageError, "unable to open"),
    ],
)
def test_bad_addresses(bad, error, words):
    with pytest.raises(error, match=words):
        newton(bad)


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'geoduel\[postgres\]'"):
        newton("postgresql://ann@localhost/duels")


def test_not_a_database(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("this is no database, and stays what it is " * 50)
    with pytest.raises(errors.StorageError, match="not a database"):
        newton(f"sqlite:///{file}")
    assert file.read_text().startswith("this is no database")


def test_passwords_are_not_shown():
    with pytest.raises(errors.StorageError) as caught:
        sql.SQLStorage("postgresql://ann:secret@127.0.0.1:1/duels", timeout=0.2)
    assert "secret" not in str(caught.value)
    assert "ann" in str(caught.value)


def test_a_study_can_be_sent_to_other_processes(url, north):
    study = newton(url)
    duel = study.ask()
    other = pickle.loads(pickle.dumps(study))
    other.tell(duel, "a")
    assert study.duels == other.duels
    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(gd.create_study(SPHERE, "duel-newton"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forks_open_their_own_connections(url):
    study = newton(url)
    study.tell(study.ask(), "a")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            study.tell(study.ask(), "b")
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert study.progress().answered == 2
    study.tell(study.ask(), "a")
    assert study.progress().answered == 3


def test_created_by_many_at_once(url):
    """All but one find it there already; all work on the same one."""
    found: list[gd.Study] = []

    def create():
        found.append(newton(url, load_if_exists=True))

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    found[0].tell(found[1].ask(), "a")
    assert all(study.progress().answered == 1 for study in found)
    assert gd.study_names(url) == ["s"]


def test_relative_files_stay_the_same_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = newton("sqlite:///here.db")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    study.tell(study.ask(), "a")
    assert gd.load_study("s", study.storage.url).progress().answered == 1
    assert (tmp_path / "here.db").is_file()


def test_answers_are_on_the_disk(url, monkeypatch):
    """Questions need not be: one that a power cut takes back is asked again."""
    monkeypatch.undo()
    study = newton(url)
    seen = []

    def listen(db, cursor, statement, *rest):
        seen.append(statement)

    sql.event.listen(study.storage._engine, "before_cursor_execute", listen)
    duel = study.ask()
    assert "PRAGMA synchronous = NORMAL" in seen
    assert "PRAGMA synchronous = FULL" not in seen
    study.tell(duel, "a")
    assert "PRAGMA synchronous = FULL" in seen


def test_a_deferred_storage_opens_the_database_at_the_first_answer(url):
    study = newton(storage.DeferredStorage(url))
    duel = study.ask()
    assert not os.path.exists(path(url))
    study.tell(duel, "a")
    study.tell(study.ask(), "b")
    again = gd.load_study("s", url)
    assert [d.answer for d in again.duels] == ["a", "b"]
    np.testing.assert_array_equal(again.ask().a, study.ask().a)
    assert study.storage.url == again.storage.url


def test_a_deferred_study_whose_name_is_taken_stays_in_memory(url):
    newton(url)
    study = newton(storage.DeferredStorage(url))
    study.tell(study.ask(), "a")
    assert study.storage.url is None
    assert [d.answer for d in study.duels] == ["a"]
    assert not gd.load_study("s", url).duels


def test_a_deferred_answer_is_not_taken_where_the_database_fails(tmp_path):
    study = newton(storage.DeferredStorage(f"sqlite:///{tmp_path}/missing/duels.db"))
    duel = study.ask()
    for _ in range(2):
        with pytest.raises(errors.StorageError):
            study.tell(duel, "a")
    assert study.duels[0].answer is None
