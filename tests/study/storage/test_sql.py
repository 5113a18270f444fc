"""Logs in a database: nothing is lost and nothing is there twice, whatever happens to writers."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import pickle
import pwd
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.log import Row
from geoduel.study.storage import sql

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


def test_a_full_disk(url, sqlite):
    """The error is clear, nothing is half written, and what was answered stays."""
    newton(url).optimize(gd.from_objective(lambda x: -x[2]), 5)
    with contextlib.closing(sqlite3.connect(path(url))) as db:
        sqlite.pages = db.execute("PRAGMA page_count").fetchone()[0]
    study = gd.load_study("s", url)
    with pytest.raises(errors.StorageError, match="full"):
        study.optimize(gd.from_objective(lambda x: -x[2]), 500)
    answered = study.progress().answered
    assert answered >= 5
    again = gd.load_study("s", url)
    assert again.duels == study.duels
    sqlite.pages = 100_000
    with contextlib.closing(sqlite3.connect(path(url))) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    again = gd.load_study("s", url)
    again.optimize(gd.from_objective(lambda x: -x[2]), 10)
    assert again.progress().answered == study.progress().answered == answered + 10


def test_a_lost_connection(url, sqlite, caplog):
    """The transaction is tried again; what was stored before the connection went is not doubled."""
    caplog.set_level(logging.INFO, logger="geoduel")
    study = newton(url)
    duel = study.ask()
    lost = sqlite3.OperationalError("stored, but the answer got lost")
    lost.sqlite_errorcode = sqlite3.SQLITE_BUSY
    sqlite.failures.append(lost)
    assert study.tell(duel, "a").answer == "a"
    assert not sqlite.failures
    assert "duels.db is tried again: stored, but the answer got lost" in caplog.text
    assert sqlite.ran.count("BEGIN IMMEDIATE") >= 2
    assert gd.load_study("s", url).progress().answered == 1
    kinds = [json.loads(row.line)["kind"] for row in study.storage.read("s", 0)]
    assert kinds == ["settings", "question", "answer", "result"]


def test_other_errors_are_not_tried_again(url, sqlite):
    study = newton(url)
    duel = study.ask()
    sqlite.failures += [sqlite3.OperationalError("disk I/O error")]
    with pytest.raises(errors.StorageError, match=r"duels\.db: disk I/O error"):
        study.tell(duel, "a")
    assert study.tell(duel, "a", skip_if_finished=True).answer == "a"


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
            if version < 3:
                db.execute("ALTER TABLE geoduel_studies DROP COLUMN events")
            if version < 2:
                db.execute("DROP TABLE geoduel_snapshots")
            if version < 1:
                db.execute("DROP TABLE geoduel_events")
                db.execute("DROP TABLE geoduel_studies")
        db.close()
        storage = sql.SQLStorage(url)
        if version >= 1:
            old = gd.load_study("s", storage)
            assert old.export() == log
            old.set_user_attr("version", version)  # which changes the schema first
            log = old.export()
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
        last = db.execute("SELECT max(number) FROM geoduel_events").fetchone()[0]
        db.execute("DELETE FROM geoduel_events WHERE number = ?", (last,))
        db.execute("UPDATE geoduel_studies SET events = ?", (last - 1,))
    db.close()
    with pytest.raises(errors.ReplayError, match=rf"lost event {last}.*load the study anew"):
        study.tell(duel, "a")
    again = gd.load_study("s", url)
    assert np.array_equal(again.ask().a, duel.a)


SETTINGS = "UPDATE geoduel_studies SET settings = "
ALTERATIONS = {
    "answers": "UPDATE geoduel_events SET line = replace(line, ':\"a\"', ':\"b\"')",
    "the end": "DELETE FROM geoduel_events WHERE number > 9",
    "the seed": SETTINGS + "replace(settings, '\"seed\": 0', '\"seed\": 1')",
    "the lease": SETTINGS + "replace(settings, '600.0', '\"x\"')",
    "a bracket": SETTINGS + "replace(settings, '[', '(')",
    "all settings": SETTINGS + "'[]'",
}


@pytest.mark.parametrize("what", ALTERATIONS)
def test_what_was_altered_is_refused(what, url, north):
    study = newton(url)
    for _ in range(5):
        duel = study.ask()
        study.tell(duel, north(duel))
    with sqlite3.connect(path(url)) as db:
        db.execute(ALTERATIONS[what])
    db.close()
    with pytest.raises(errors.ReplayError, match=r"not what was written|was altered"):
        gd.load_study("s", url)


def test_altered_snapshots_change_nothing(url, north, monkeypatch):
    """Any character may be wrong: then the log is replayed."""
    monkeypatch.setattr("geoduel.study.study.COSTLY", 0.0)
    study = newton(url)
    for _ in range(30):
        duel = study.ask()
        study.tell(duel, north(duel))
    monkeypatch.setattr("geoduel.study.study.COSTLY", 9e9)
    expected, text = study.recommend(), study.storage.load_snapshot("s")
    rng = np.random.default_rng(0)
    for at in rng.integers(len(text), size=40):
        other = "A" if text[at] != "A" else "B"
        study.storage.save_snapshot("s", 10**6, text[:at] + other + text[at + 1 :])
        assert np.array_equal(gd.load_study("s", url).recommend(), expected)


def test_a_file_that_is_removed_or_replaced(url, tmp_path):
    """Nothing that is told goes nowhere: the file is looked at before and after."""
    study = newton(url)
    study.tell(study.ask(), "a")
    duel, file = study.ask(), tmp_path / "duels.db"
    study.backup(tmp_path / "copy.db")
    for lost in (["-wal"], ["", "-wal", "-shm"]):
        for end in lost:
            (tmp_path / f"duels.db{end}").unlink(missing_ok=True)
        with pytest.raises(errors.StorageError, match="removed or replaced while it was open"):
            study.tell(duel, "a")
        if "" not in lost:
            study = gd.load_study("s", url)
    assert not file.exists()  # nor was an empty one made
    with pytest.raises(errors.StorageError, match="removed or replaced"):
        study.ask()
    (tmp_path / "copy.db").rename(file)
    with pytest.raises(errors.StorageError, match="removed or replaced"):
        study.tell(duel, "a")
    again = gd.load_study("s", url)
    assert again.progress().answered == 1
    assert again.tell(again.ask(), "a").answer == "a"


def test_a_backup_is_whole(url, tmp_path, north):
    """The file alone may lack the end of its log, which is in the -wal."""
    study = newton(url)
    for _ in range(5):
        duel = study.ask()
        study.tell(duel, north(duel))
    study.backup(tmp_path / "copy.db")
    assert {file.name for file in tmp_path.iterdir()} >= {"copy.db", "duels.db"}
    assert not list(tmp_path.glob("*.part"))
    copy = gd.load_study("s", f"sqlite:///{tmp_path / 'copy.db'}")
    assert copy.export() == study.export()
    with pytest.raises(errors.ArgumentError, match="is there already"):
        study.backup(tmp_path / "copy.db")
    with pytest.raises(errors.StorageError):
        study.backup(tmp_path / "absent" / "copy.db")


@contextlib.contextmanager
def somebody_else():
    """Without the rights of root, whom none bind."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
@pytest.mark.parametrize("held", [False, True], ids=["closed", "open elsewhere"])
@pytest.mark.parametrize("rights", [(0o444, 0o555), (0o444, 0o777), (0o666, 0o555)])
def test_what_cannot_be_written_to_can_be_read(held, rights):
    """A file, a folder, or both; with a writer of other rights, or without."""
    with tempfile.TemporaryDirectory() as folder:  # others may enter it, as not those of pytest
        os.chmod(folder, 0o755)
        url = f"sqlite:///{folder}/duels.db"
        study = newton(url)
        study.tell(study.ask(), "a")
        study.ask()
        expected, point = study.export(), study.recommend()
        if not held:
            del study
            gc.collect()
        for file in os.listdir(folder):
            os.chmod(f"{folder}/{file}", rights[0])
        os.chmod(folder, rights[1])
        seen = None
        with somebody_else():
            for _ in range(2):
                seen = gd.load_study("s", url)
                assert gd.study_names(url) == ["s"]
                assert seen.export() == expected
                assert np.array_equal(seen.recommend(), point)
                if rights[0] == 0o666 and held:  # its -wal is there, and may be written to
                    continue
                with pytest.raises(errors.StorageError, match="readonly"):
                    seen.tell(seen.open_duels[0], "a")
            del seen
            gc.collect()
        os.chmod(folder, 0o755)


def test_opening_takes_no_turn(url):
    """While another program holds the file, it can be opened and read."""
    study = newton(url)
    study.tell(study.ask(), "a")
    with contextlib.closing(sqlite3.connect(path(url), isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        again = gd.load_study("s", sql.SQLStorage(url, timeout=5.0))
        assert np.array_equal(again.recommend(), study.recommend())
        assert gd.study_names(url) == ["s"]
        assert time.monotonic() - began < 4.0
        holder.execute("ROLLBACK")


def test_names_that_are_no_text(url):
    """Half characters and NUL, which databases cannot hold; others can."""
    newton(url)

    def named(name, url):
        return gd.create_study(SPHERE, "duel-newton", storage=url, study_name=name)

    for name in ("caf\udce9", "a\0b", "\ud800"):
        for call in (named, gd.load_study, gd.delete_study):
            with pytest.raises(errors.ArgumentError, match="study_name must be a text"):
                call(name, url)
    for name in ("café", "\U0001f600", "a\nb", "'; DROP TABLE geoduel_studies; --"):
        named(name, url)
        assert gd.load_study(name, url).name == name
    with pytest.raises(errors.ArgumentError, match="rater must be a name"):
        gd.load_study("s", url).ask(rater="caf\udce9")


def test_a_mistyped_path_makes_no_file(tmp_path):
    url = f"sqlite:///{tmp_path / 'duesl.db'}"
    for call in (gd.load_study, gd.delete_study):
        with pytest.raises(errors.ArgumentError, match="there is no database"):
            call("s", url)
    with pytest.raises(errors.ArgumentError, match="there is no database"):
        gd.study_names(url)
    assert list(tmp_path.iterdir()) == []


def test_not_a_database(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("this is no database, and stays what it is " * 50)
    with pytest.raises(errors.StorageError, match="not a database"):
        newton(f"sqlite:///{file}")
    assert file.read_text().startswith("this is no database")


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


def test_answers_are_on_the_disk(url, sqlite, monkeypatch):
    """Questions need not be: one that a power cut takes back is asked again."""
    study = newton(url)
    other, on_disk = sqlite3.connect(path(url), timeout=0.1), []

    def wait_for_the_disk(file):
        with other:  # whose turn it may be already
            other.execute("BEGIN IMMEDIATE")
        on_disk.append(str(file))

    monkeypatch.setattr("geoduel.study.storage.databases.on_disk", wait_for_the_disk)
    with contextlib.closing(other):
        duel = study.ask()
        assert on_disk == []
        study.tell(duel, "a")
    assert on_disk == [path(url) + "-wal"]
    assert "PRAGMA synchronous = OFF" not in sqlite.ran


def test_without_a_log_of_its_own_the_file_is_on_the_disk(url, sqlite, monkeypatch):
    """Where SQLite has no WAL mode, such as in some folders of a network, it waits itself."""
    study = newton(url)
    monkeypatch.setattr(study.storage._database, "_is_logged", False)
    duel = study.ask()
    assert "PRAGMA synchronous = FULL" not in sqlite.ran
    study.tell(duel, "a")
    assert "PRAGMA synchronous = FULL" in sqlite.ran


def test_a_disk_that_fails(url, monkeypatch):
    """The answer may be there or not: the study says so, and goes on with what is there."""

    def fail(file):
        raise OSError("input/output error")

    study = newton(url)
    duel = study.ask()
    with monkeypatch.context() as broken:
        broken.setattr("geoduel.study.storage.databases.on_disk", fail)
        with pytest.raises(errors.StorageError, match="may not outlive a power cut"):
            study.tell(duel, "a")
    assert gd.load_study("s", url).duels == study.duels
    study.tell(duel, "a", skip_if_finished=True)
    assert study.progress().answered == 1


def test_readers_do_not_wait_for_writers(url, sqlite):
    newton(url)
    with contextlib.closing(sqlite3.connect(path(url))) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert "PRAGMA foreign_keys = ON" in sqlite.ran


def test_one_connection_stays_open(url, sqlite):
    study = newton(url)
    sqlite.ran.clear()
    study.optimize(gd.from_objective(lambda x: -x[2]), 5)
    assert sum("journal_mode" in statement for statement in sqlite.ran) == 0


def test_a_name_that_was_deleted_elsewhere_is_free(url):
    here, there = sql.SQLStorage(url), sql.SQLStorage(url)
    here.create("s", "{}", [Row(1, "{}", "0")])
    assert len(here.read("s", 0)) == 1
    there.create("t", "{}")
    there.delete("s")
    with pytest.raises(errors.UnknownStudyError):
        here.read("s", 0)
    here.create("s", "{}")
    assert here.read("s", 0) == []
    there.delete("s")
    there.create("u", "{}")  # so that it is no other row of the same number
    there.create("s", "{}", [Row(1, "{}", "0")])
    with pytest.raises(errors.UnknownStudyError):
        here.read("s", 0)
    assert len(here.read("s", 0)) == 1
    with pytest.raises(errors.DuplicateStudyError):
        there.create("s", "{}")


@pytest.mark.parametrize("what", ["delete", "read", "write"])
def test_a_deleted_study_is_not_taken_for_the_one_that_has_its_number(url, what):
    """SQLite gives a number again: to delete a study twice deleted another one."""
    here, there = sql.SQLStorage(url), sql.SQLStorage(url)
    here.create("s", "{}", [Row(1, "{}", "0")])
    assert len(there.read("s", 0)) == 1
    here.delete("s")
    here.create("t", "{}", [Row(1, "{}", "1")])
    calls = {
        "delete": lambda: there.delete("s"),
        "read": lambda: there.read("s", 0),
        "write": lambda: there.write("s", lambda log: log.append([Row(2, "{}", "2")])),
    }
    with pytest.raises(errors.UnknownStudyError):
        calls[what]()
    assert there.names() == ["t"]
    assert here.read("t", 0) == there.read("t", 0) == [Row(1, "{}", "1")]


def test_the_last_snapshot_is_kept(url):
    storage = sql.SQLStorage(url)
    storage.create("s", "{}")
    assert storage.load_snapshot("s") is None
    for number, text in ((3, "three"), (2, "two"), (3, "three again")):
        storage.save_snapshot("s", number, text)
    assert storage.load_snapshot("s") == "three again"


def test_nothing_of_a_failed_transaction_is_stored(url):
    storage = sql.SQLStorage(url)
    storage.create("s", "{}")

    def act(log):
        log.append([Row(1, "{}", "0")])
        assert log.read(0) == [Row(1, "{}", "0")]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        storage.write("s", act)
    assert storage.read("s", 0) == []
    with pytest.raises(errors.UnknownStudyError):
        storage.write("t", act)
