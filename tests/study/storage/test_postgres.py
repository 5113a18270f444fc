"""Studies on a PostgreSQL server of the test's own, where PostgreSQL is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.storage import SQLStorage

pytest.importorskip("psycopg", reason="PostgreSQL needs the package psycopg")

SPHERE = gd.Sphere(3)


def binary(name: str) -> str:
    """Debian keeps the server's programs off the path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which(name, path=os.pathsep.join(map(str, folders))) or shutil.which(name)
    if found is None:
        pytest.skip(f"PostgreSQL is not installed: no program {name}")
    return found


class Server:
    """A server on a socket in a folder of its own; it refuses to run as root, so it does not."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.user: dict = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam("nobody")
            os.chown(folder, entry.pw_uid, entry.pw_gid)
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self.settings = {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}}
        self.run(binary("initdb"), "-D", "data", "-U", "geoduel", "--auth=trust", "--no-sync")

    def run(self, *command: str) -> None:
        done = subprocess.run(
            command, **self.settings, **self.user, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=100"]
        self.process = subprocess.Popen(
            [binary("postgres"), "-D", "data", "-k", self.folder, *options],
            **self.settings,
            **self.user,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(200):
            try:
                SQLStorage(self.url, timeout=0.05)
                return
            except errors.StorageError:
                time.sleep(0.05)
        raise AssertionError("PostgreSQL does not start")

    def stop(self, how: signal.Signals) -> None:
        """Stop: SIGINT closes connections first, SIGQUIT does not even write to disk."""
        self.process.send_signal(how)
        self.process.wait(30)

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://geoduel@/postgres?host={self.folder}"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    folder = tempfile.mkdtemp(prefix="pg")  # sockets have short names
    try:
        server = Server(folder)
        try:
            server.start()
            yield server
        finally:
            server.stop(signal.SIGINT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def name(request) -> str:
    return request.node.name


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "postgresql+psycopg2"])
def test_addresses(server, name, scheme):
    """With a driver or without, it is the same database."""
    url = server.url.replace("postgresql+psycopg", scheme)
    newton(server, name + scheme)
    study = gd.load_study(name + scheme, url)
    assert study.storage.url == url
    assert study.tell(study.ask(), "a").answer == "a"


def newton(server: Server, name: str, **more):
    return gd.create_study(
        SPHERE, "duel-newton", storage=server.url, study_name=name, rng=0, **more
    )


def test_the_same_as_in_memory(server, name, north):
    """Resumed after every few duels, to the last bit; undo, attributes and export included."""
    straight, broken = gd.create_study(SPHERE, "duel-newton", rng=0), newton(server, name)
    for step in range(30):
        for study in (straight, broken):
            duel = study.ask()
            study.tell(duel, north(duel))
        if step % 8 == 7:
            undone = straight.undo(), broken.undo()
            assert np.array_equal(undone[0].a, undone[1].a)
            broken = gd.load_study(name, server.url)
            for study, duel in zip((straight, broken), undone, strict=True):
                study.tell(duel, "b", rater="ann")
    assert np.array_equal(straight.recommend(), broken.recommend())
    broken.set_user_attr("room", "2ä\u0000")
    assert gd.load_study(name, server.url).user_attrs == {"room": "2ä\u0000"}
    assert len(broken.export().splitlines()) == len(broken.storage.read(name, 0)) + 2


@pytest.mark.parametrize("wrong", [86400.0, -86400.0])
def test_leases_are_counted_by_the_clock_of_the_server(server, name, wrong, monkeypatch):
    """Of a machine whose own clock is a day off: it takes nobody's question, and keeps none."""
    study = gd.create_study(
        SPHERE, "rdngd", storage=server.url, study_name=name, rng=0, iterations=9, lease=600.0
    )
    began = time.time()
    held = study.ask(rater="ann")
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + wrong)
    other = gd.load_study(name, server.url)
    assert 0 <= other.storage.now() - began < 60
    with pytest.raises(errors.NothingToAskError) as caught:
        other.ask(rater="bob")
    assert 500 < caught.value.retry_after <= 600
    answered = other.tell(held, "a", rater="ann").answered
    assert answered is not None
    assert 0 <= answered - began < 60
    monkeypatch.undo()
    assert other.storage.names()
    assert 0 <= other.storage.now() - began < 60  # a clock that is set right is noticed


def test_names(server, name):
    newton(server, name)
    assert name in gd.study_names(server.url)
    with pytest.raises(errors.DuplicateStudyError):
        newton(server, name)
    assert newton(server, name, load_if_exists=True).name == name
    gd.delete_study(name, server.url)
    assert name not in gd.study_names(server.url)
    with pytest.raises(errors.UnknownStudyError):
        gd.load_study(name, server.url)


def test_created_by_many_at_once(server, name):
    found, failed = [], []

    def create(load_if_exists):
        try:
            found.append(newton(server, name, load_if_exists=load_if_exists))
        except errors.DuplicateStudyError:
            failed.append(load_if_exists)

    threads = [threading.Thread(target=create, args=(i % 2 == 0,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) in (4, 5)
    assert failed == [False] * (8 - len(found))


def test_threads(threads, server, name):
    """Eight connections, one study: each question once, each answer once."""
    method = gd.RDNGD(batch=16, returns="last")
    more = {"storage": server.url, "study_name": name, "budget": 96, "iterations": 6}
    gd.create_study(SPHERE, method, rng=0, **more)
    assert sorted(threads(lambda i: gd.load_study(name, server.url))) == list(range(96))


def test_processes(processes, server):
    processes(server.url, workers=2, answers=60)


@pytest.mark.slow
def test_many_processes(processes, server):
    processes(server.url, workers=16, answers=1500)


def waited(call, least: float, most: float) -> str:
    """The words of a StorageError that came in time."""
    began = time.monotonic()
    with pytest.raises(errors.StorageError) as caught:
        call()
    assert least <= time.monotonic() - began <= most
    return str(caught.value)


def test_no_wait_is_endless(server, name):
    """A row that somebody else holds, and a server that falls silent; both end after the time-out.

    A second and a half more is for the grace given to the server, and for a busy machine.
    """
    import psycopg

    newton(server, name)
    study = gd.load_study(name, SQLStorage(server.url, timeout=1.0))
    duel = study.ask()
    with psycopg.connect(f"host={server.folder} user=geoduel dbname=postgres") as other:
        hold = "SELECT id FROM geoduel_studies WHERE name = %s FOR UPDATE"
        other.execute(hold, (name,))
        assert "statement timeout" in waited(lambda: study.tell(duel, "a"), 0.9, 3.5)
        assert study.progress().answered == 0  # reading takes no turn
    assert study.tell(duel, "a").answer == "a"

    (db,) = study.storage._idle
    backend = db.info.backend_pid
    os.kill(backend, signal.SIGSTOP)  # accepts all that is sent, and answers nothing
    try:
        waited(study.recommend, 0.9, 3.5)
    finally:
        os.kill(backend, signal.SIGCONT)
    assert study.progress().answered == 1


def test_a_writer_asleep_in_its_turn_holds_nobody_up(server, name):
    """The server takes its turn away; awake again, it looks at what was stored and goes on."""
    newton(server, name)
    slow, quick = (gd.load_study(name, SQLStorage(server.url, timeout=t)) for t in (1.0, 30.0))
    asleep, tries = threading.Event(), []

    def decide():
        tries.append(len(slow._book.attributes))
        asleep.set()
        if len(tries) == 1:
            time.sleep(1.5)
        return [{"kind": "attribute", "key": "slow", "value": len(tries)}]

    caught: list[Exception] = []

    def write():
        try:
            slow._journal.write(decide)
        except errors.StorageError as error:
            caught.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    asleep.wait()
    began = time.monotonic()
    quick.set_user_attr("quick", 1)
    assert time.monotonic() - began < 5
    thread.join()
    assert caught  # its time is over, too
    assert quick.user_attrs == {"quick": 1}
    slow.set_user_attr("slow", 2)
    assert quick.user_attrs == {"quick": 1, "slow": 2}


def test_a_user_who_may_only_read(server, name):
    import psycopg

    study = newton(server, name)
    study.tell(study.ask(), "a")
    with psycopg.connect(f"host={server.folder} user=geoduel dbname=postgres") as db:
        db.execute("DO $$ BEGIN CREATE ROLE looker LOGIN; EXCEPTION WHEN others THEN NULL; END $$")
        db.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO looker")
    url = server.url.replace("geoduel@", "looker@")
    seen = gd.load_study(name, url)
    assert name in gd.study_names(url)
    assert seen.export() == study.export()
    assert np.array_equal(seen.recommend(), study.recommend())
    with pytest.raises(errors.StorageError, match="permission denied"):
        seen.ask()
    with pytest.raises(errors.ArgumentError, match="pg_dump"):
        study.backup("copy")


def test_the_server_restarts(server, name):
    """Connections are lost, once politely and once not; the study goes on, nothing is missing."""
    study = newton(server, name)
    study.optimize(gd.from_objective(lambda x: -x[2]), 10)
    duel = study.ask()
    for how in (signal.SIGINT, signal.SIGQUIT):
        server.stop(how)
        starter = threading.Timer(0.3, server.start)
        starter.start()
        study.tell(duel, "a")  # waits for the server
        starter.join()
        duel = study.ask()
    assert gd.load_study(name, server.url).progress().answered == 12
    study.optimize(gd.from_objective(lambda x: -x[2]), 5)
    assert study.progress().answered == 17
