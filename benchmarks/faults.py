"""Faults: what is lost, doubled or torn when programs are killed and disks, files and clocks fail.

    python benchmarks/faults.py                          # all, on SQLite, a few of each
    python benchmarks/faults.py --full --save            # 200 kills and more
    python benchmarks/faults.py runs imports --full --url postgresql://user@host/database

`runs` kills processes that ask, tell and undo, `imports` those that import a study, `server` that
of the duel page; `faults` has one of each other kind. After each kill the database is checked, and
the log is compared with what had been acknowledged. Kills need POSIX: they are sent to forks.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import resource
import signal
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import _timing
import numpy as np
from _results import Results
from _results import parser as results_parser

import geoduel as gd
from geoduel import errors

SPHERE = gd.Sphere(3)
METHODS = {  # by name: manifold and options
    "duel-newton": (SPHERE, {}),
    "rdngd": (SPHERE, {"budget": 100_000, "votes": 3, "repeats": 0.2}),
    "duel-csa": (SPHERE, {}),
    "bisection": (gd.Torus(1), {}),
}
BAD = ("lost", "doubled", "torn", "unsound", "differ", "errors")
RATERS = ("ann", "bob", "cyd")


def word(duel: gd.Duel) -> str:
    """An answer that depends on the question alone, whoever is asked, and in whatever process."""
    if duel.id % 11 == 5:
        return ("tie", "skip")[duel.id % 2]
    return "a" if duel.a[-1] > duel.b[-1] else "b"


# -- killing ---------------------------------------------------------------------------------------


def killed(work: Callable[[Callable[[str], None]], None], after: float) -> list[str]:
    """What a fork reported line by line until it was killed, so many seconds after its first."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(lambda line: os.write(writing, f"{line}\n".encode()) and None)
        except BaseException as error:
            os.write(writing, f"failed {error!r}\n".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        first = pipe.readline()
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        text = (first + pipe.read()).decode()
    os.waitpid(child, 0)
    return [line for line in text.split("\n")[:-1] if line != "ready"]


def operations(name: str, url: str) -> list[str]:
    """Answers and undos of a log, in order, as the forks report them."""
    numbers, found = {}, []
    for row in gd.load_study(name, url).storage.read(name, 0):
        event = json.loads(row.line)
        if event["kind"] == "answer":
            numbers[row.number] = event["duel"]
            found.append(f"tell {event['duel']} {event['answer']}")
        elif event["kind"] == "undo":
            found.append(f"undo {numbers[event['number']]}")
    return found


def is_sound(url: str) -> bool:
    """What SQLite says of its file."""
    if not url.startswith("sqlite"):
        return True
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
        return db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def compare(before: list[str], told: list[str], after: list[str]) -> dict[str, int]:
    """What a fork said against what its log holds: one more may be stored, and not said yet."""
    new = after[len(before) :]
    for line in (failed := [line for line in told if line.startswith("failed")]):
        print(line)
    told = [line for line in told if line not in failed]
    same = sum(said == stored for said, stored in zip(told, new, strict=False))
    return {
        "torn": int(after[: len(before)] != before),
        "lost": len(told) - same,
        "doubled": max(0, len(new) - len(told) - 1),
        "errors": len(failed),
    }


def add(counts: dict[str, int], more: dict[str, int]) -> None:
    for key, value in more.items():
        counts[key] = counts.get(key, 0) + value


def kill_runs(url: str, method: str, kills: int, rng: random.Random, undo: bool) -> dict[str, int]:
    """Kill processes that answer one study; in the end it must be as if nothing had happened."""
    manifold, options = METHODS[method]
    name = f"run-{time.time_ns()}"
    more: dict[str, Any] = {"rng": 5, "lease": 1e-3, **options}
    gd.create_study(manifold, method, storage=url, study_name=name, **more)

    def work(say: Callable[[str], None]) -> None:
        study = gd.load_study(name, url)
        say("ready")
        while True:
            try:
                duel = study.ask(rater=RATERS[len(study.duels) % 3])
            except errors.NothingToAskError as error:  # held by one that was killed
                time.sleep(error.retry_after)
                continue
            except errors.StudyFinishedError:
                time.sleep(9)  # to be killed as well
                continue
            study.tell(duel, word(duel), rater=duel.rater)
            say(f"tell {duel.id} {word(duel)}")
            if undo and duel.id % 5 == 3 and random.random() < 0.5:
                back = study.undo(rater=duel.rater)
                if back is not None:
                    say(f"undo {back.id}")

    counts, ops = {"kills": 0}, operations(name, url)
    for _ in range(kills):
        told = killed(work, rng.uniform(0.0, 0.6))
        now = operations(name, url)
        add(counts, compare(ops, told, now) | {"kills": 1, "unsound": int(not is_sound(url))})
        ops = now
    study = gd.load_study(name, url)
    counts["answers"] = study.progress().answered
    if not undo:
        counts["differ"] = int(not as_uninterrupted(study, more))
    gd.delete_study(name, url)
    return counts


def as_uninterrupted(study: gd.Study, options: dict[str, Any]) -> bool:
    """Whether one process is asked the same, and recommends the same to the last bit."""
    straight = gd.create_study(study.manifold, study.method_name, **options | {"lease": 9e9})
    for duel in study.duels:
        again = straight.ask(rater=RATERS[duel.id % 3])
        if not (np.array_equal(again.a, duel.a) and np.array_equal(again.b, duel.b)):
            return False
        if duel.answer is not None:
            straight.tell(again, duel.answer, rater=duel.rater)
    return np.array_equal(straight.recommend(), study.recommend())


def kill_imports(url: str, kills: int, answers: int, rng: random.Random) -> dict[str, int]:
    """Kill processes that import a study: it is there as a whole, or not at all."""
    study = gd.create_study(SPHERE, "rdngd", budget=answers, rng=0, study_name="import")
    study.optimize(gd.from_objective(lambda x: -x[2]), answers)
    file = Path(tempfile.mkdtemp(), "study.jsonl")
    text = study.export(file)
    began = time.perf_counter()
    name = f"import-{time.time_ns()}"
    gd.import_study(file, url, study_name=name)
    whole = time.perf_counter() - began
    counts = {"kills": 0, "torn": 0, "unsound": 0, "there": 0}
    for i in range(kills):
        name = f"import-{time.time_ns()}-{i}"

        def work(say: Callable[[str], None], name: str = name) -> None:
            say("ready")
            gd.import_study(file, url, study_name=name)

        killed(work, rng.uniform(0.5, 1.3) * whole)
        there = name in gd.study_names(url)
        same = (
            there and gd.load_study(name, url).export().split("\n", 1)[1] == text.split("\n", 1)[1]
        )
        torn = int(there and not same)
        add(counts, {"kills": 1, "torn": torn, "unsound": int(not is_sound(url)), "there": there})
        if there:
            gd.delete_study(name, url)
    return counts


def kill_server(url: str, kills: int, rng: random.Random) -> dict[str, int]:
    """Kill the server of the page while somebody answers there."""
    import uvicorn

    from geoduel.web import Board, create_app

    name = f"server-{time.time_ns()}"
    gd.create_study(SPHERE, "duel-newton", storage=url, study_name=name, rng=0)
    counts, ops = {"kills": 0}, operations(name, url)
    for _ in range(kills):
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        child = os.fork()
        if child == 0:
            try:
                app = create_app(Board(gd.load_study(name, url), key="s"))
                config = uvicorn.Config(app, log_level="critical", lifespan="off")
                uvicorn.Server(config).run(sockets=[listener])
            finally:
                os._exit(0)
        listener.close()
        told: list[str] = []
        killer = threading.Timer(9.0, os.kill, [child, signal.SIGKILL])
        killer.start()
        try:
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=9)
            while True:
                question = posted(line, "/api/studies/s/ask", {"beyond": True})
                if not told and killer.interval == 9.0:
                    killer.cancel()
                    killer = threading.Timer(
                        rng.uniform(0.0, 0.3), os.kill, [child, signal.SIGKILL]
                    )
                    killer.start()
                answer = "ab"[question["id"] % 2]
                posted(line, "/api/studies/s/tell", {"id": question["id"], "answer": answer})
                told.append(f"tell {question['id']} {answer}")
        except (OSError, http.client.HTTPException):
            pass
        killer.join()
        os.waitpid(child, 0)
        now = operations(name, url)
        add(counts, compare(ops, told, now) | {"kills": 1, "unsound": int(not is_sound(url))})
        ops = now
    counts["answers"] = gd.load_study(name, url).progress().answered
    gd.delete_study(name, url)
    return counts


def posted(line: http.client.HTTPConnection, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The reply of the page to a request that its script would send."""
    headers = {"Content-Type": "application/json"}
    line.request("POST", path, json.dumps(body), headers)
    reply = line.getresponse()
    text = reply.read()
    if reply.status != 200:
        raise RuntimeError(f"{path}: {reply.status} {text!r:.200}")
    return json.loads(text)


# -- other faults ----------------------------------------------------------------------------------


def fresh(folder: Path, name: str) -> gd.Study:
    """A study with five answers and an open question, in a file of its own."""
    url = f"sqlite:///{folder / name}.db"
    study = gd.create_study(SPHERE, "duel-newton", storage=url, study_name="s", rng=0)
    study.optimize(gd.from_objective(lambda x: -x[2]), 5)
    study.ask()
    return study


def refused(call: Callable[[], Any]) -> bool:
    """Whether a call ends in the error that is documented."""
    try:
        call()
    except errors.StorageError:
        return True
    return False


def full_disk(folder: Path) -> bool:
    """A file that may not grow, while answers come; then it may."""
    study = fresh(folder, "full")
    size = max(file.stat().st_size for file in folder.glob("full.db*"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    told = []
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40_000, limits[1]))
    try:

        def answer() -> None:
            for _ in range(2000):
                duel = study.ask()
                study.tell(duel, "a")
                told.append(duel.id)

        full = refused(answer)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    again = gd.load_study("s", study.storage.url)
    kept = {duel.id for duel in again.duels if duel.answer}
    study.optimize(gd.from_objective(lambda x: -x[2]), 3)
    return full and set(told) <= kept and again.duels == study.duels


def read_only(folder: Path) -> bool:
    """A folder and a file without the right to write: read, exported, and refused to be told."""
    study = fresh(folder, "readonly")
    url, text = study.storage.url, study.export()
    del study
    place = folder / "ro"
    place.mkdir()
    for file in folder.glob("readonly.db*"):
        file.rename(place / file.name)
    url = url.replace("readonly.db", "ro/readonly.db")
    folder.chmod(0o755)
    for file in place.iterdir():
        file.chmod(0o444)
    place.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        seen = gd.load_study("s", url)
        return seen.export() == text and refused(lambda: seen.tell(seen.open_duels[0], "a"))
    finally:
        if root:
            os.seteuid(0)
        place.chmod(0o755)


def locked(folder: Path) -> bool:
    """Another program holds the file: reading goes on, telling ends after its time-out."""
    from geoduel.study.storage import SQLStorage

    made = fresh(folder, "locked")
    study = gd.load_study("s", SQLStorage(made.storage.url, timeout=0.5))
    with closing(sqlite3.connect(folder / "locked.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        late = refused(lambda: study.tell(5, "a")) and time.monotonic() - began < 3
        shown = study.progress().answered == 5
        holder.execute("ROLLBACK")
    return late and shown and study.tell(5, "a").answer == "a"


def removed(folder: Path) -> bool:
    """The file is removed while it is open."""
    study = fresh(folder, "removed")
    for file in folder.glob("removed.db*"):
        file.unlink()
    return refused(lambda: study.tell(5, "a")) and not (folder / "removed.db").exists()


def replaced(folder: Path) -> bool:
    """A backup takes the place of the file while it is open."""
    study = fresh(folder, "replaced")
    study.backup(folder / "copy.db")
    study.tell(5, "a")
    for file in folder.glob("replaced.db*"):
        file.unlink()
    (folder / "copy.db").rename(folder / "replaced.db")
    again = gd.load_study("s", study.storage.url)
    return refused(study.ask) and again.progress().answered == 5 and again.tell(5, "b").id == 5


def clock_back(folder: Path) -> bool:
    """A question goes out a year ahead; then the clock is right."""
    study, now = fresh(folder, "clock"), time.time()
    study.tell(5, "a")
    with mock.patch("time.time", return_value=now + 365 * 86400):
        held = study.ask(9, rater="ann")
    try:
        study.ask(rater="bob")
    except errors.NothingToAskError as error:
        wait = error.retry_after
    else:
        return False
    with mock.patch("time.time", return_value=now + 601):
        return wait <= 600 and study.ask(rater="bob").id == held[0].id


def worker_lost(folder: Path) -> bool:
    """A process dies with a question in hand: the next one gets it at once."""
    study = fresh(folder, "worker")
    study.tell(5, "a")
    url = study.storage.url

    def work(say: Callable[[str], None]) -> None:
        say(str(gd.load_study("s", url).ask().id))
        time.sleep(9)

    (held,) = killed(work, 0.0)
    return study.ask().id == int(held)


FAULTS = {
    "full disk": full_disk,
    "read-only": read_only,
    "locked": locked,
    "file removed": removed,
    "file replaced": replaced,
    "clock turned back": clock_back,
    "worker lost": worker_lost,
}


# -- the command -----------------------------------------------------------------------------------


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("what", nargs="*", default=["runs", "imports", "server", "faults"])
    parser.add_argument("--url", help="where the studies are; by default an SQLite file")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), help="of the runs")
    parser.add_argument("--kills", type=int, help="of each kind of run; by default 2, in full 30")
    given = parser.parse_args()
    if not hasattr(os, "fork"):
        print("kills need POSIX")
        return
    kills = given.kills or (30 if given.full else 2)
    results = Results(__file__, given.save)
    print(_timing.describe_machine(), flush=True)
    rng = random.Random(0)
    bad = 0

    def say(row: str, counts: dict[str, int]) -> None:
        nonlocal bad
        bad += sum(
            counts.get(k, 0) for k in ("lost", "doubled", "torn", "unsound", "differ", "errors")
        )
        print(f"{row:40s} {counts}", flush=True)
        results.add(row, **counts)

    with tempfile.TemporaryDirectory() as folder:
        url = given.url or f"sqlite:///{Path(folder) / 'faults.db'}"
        place = url.split(":")[0].split("+")[0]
        if "runs" in given.what:
            for method in given.methods:
                for undo in (False, True):
                    name = f"{place}, {method}{', undo' if undo else ''}"
                    say(name, kill_runs(url, method, kills, rng, undo))
        if "imports" in given.what:
            answers = 1500 if given.full else 200
            say(f"{place}, imports", kill_imports(url, kills, answers, rng))
        if "server" in given.what:
            say(f"{place}, server", kill_server(url, kills, rng))
        if "faults" in given.what:
            for name, fault in FAULTS.items():
                say(name, {"errors": int(not fault(Path(folder)))})
    sys.exit(f"{bad} things went wrong" if bad else 0)


if __name__ == "__main__":
    main()
