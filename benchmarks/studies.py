"""Studies at full size: how long a person waits, how long loading takes, what a crowd loses.

    python benchmarks/studies.py                         # all, on SQLite, few answers
    python benchmarks/studies.py --full --save           # all, on SQLite
    python benchmarks/studies.py crowd --full --workers 64 --url postgresql+psycopg://...
    python benchmarks/studies.py load --answers 100000 --methods rdngd --save
    python benchmarks/studies.py share --full --save     # four processes beside one

`wait` times ask and tell together after 200 answers (without --full 10), `load` times a long study:
its import, loading, export, and what a person then waits for. `crowd` lets many processes answer
one study and counts what was lost or doubled: nothing. `share` times `study.optimize` of duels that
take 40 ms: in several processes at once, beside one. Where other programs keep the cores busy, that
says more of them than of a study. So it also adds up the time that `ask` and `tell` take of the
processor, for workers with cores that nobody else uses.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import _timing
import numpy as np
from _results import Results
from _results import parser as results_parser

import geoduel as gd
from geoduel import errors
from geoduel.study.answering import LONGER, WAITS

BATCH = 512  # questions open at once in the study that the crowd answers


def likes(manifold: gd.Manifold, seed: int = 1) -> Any:
    """A rater with an ideal point, by distance."""
    ideal = manifold.random_point(np.random.default_rng(seed))
    return gd.from_objective(lambda x: float(manifold.dist(x, ideal)))


# -- what a person waits for -----------------------------------------------------------------------


def wait(method: str, manifold: gd.Manifold, url: str | None, before: int) -> list[float]:
    """Seconds for ask and tell together, 20 times after that many answers."""
    study = gd.create_study(manifold, method, storage=url, rng=0, repeats=0.0)
    oracle = likes(manifold)
    study.optimize(oracle, before)
    seconds = []
    for _ in range(20):
        began = time.perf_counter()
        try:
            duel = study.ask()
        except errors.StudyFinishedError:
            break
        asked = time.perf_counter() - began
        answer = {-1: "a", 0: "tie", 1: "b"}[int(oracle(duel.a, duel.b))]
        began = time.perf_counter()
        study.tell(duel, answer)
        seconds.append(asked + time.perf_counter() - began)
    return seconds


def load(method: str, manifold: gd.Manifold, url: str, answers: int) -> dict[str, float]:
    """A long study in a database: seconds of import, loading, export, ask and tell; megabytes.

    The import replays all of it, loading takes the state that was stored then.
    """
    options: dict[str, Any] = {"budget": answers + 100} if method == "rdngd" else {}
    study = gd.create_study(manifold, method, rng=0, **options)
    rng = np.random.default_rng(0)
    while study.progress().answered < answers:
        try:
            duels = study.ask(64)
        except errors.StudyFinishedError:
            break
        for duel in duels:  # coins, so that no method thinks it is done
            study.tell(duel, str(rng.choice(["a", "b"])))
    file = Path(tempfile.mkdtemp()) / "study.jsonl"
    name = f"load-{time.time_ns()}"
    again = study

    def open_it() -> None:
        nonlocal again
        again = gd.load_study(name, url)

    def answer() -> None:
        with suppress(errors.StudyFinishedError):
            again.tell(again.ask(), "a")

    row = {
        "export": took(lambda: study.export(file)),
        "replay": took(lambda: gd.import_study(file, url, study_name=name)),
        "load": took(open_it),
    }
    assert np.array_equal(again.recommend(), study.recommend())
    row |= {
        "first": took(answer),
        "wait": float(np.median([took(answer) for _ in range(20)])),
        "megabytes": file.stat().st_size / 1e6,
        "answers": study.progress().answered,
    }
    gd.delete_study(name, url)
    return row


def took(work: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


# -- a crowd ---------------------------------------------------------------------------------------


def crowd(url: str, workers: int, answers: int) -> dict[str, Any]:
    """Let processes answer one study; returns counts of what went wrong, and the rate.

    Returns
    -------
    dict
        ``lost`` and ``doubled`` answers, questions that went ``out_twice``, ``errors`` of workers,
        ``seconds`` and ``answers``.
    """
    sphere = gd.Sphere(3)
    name = f"crowd-{time.time_ns()}"
    method = gd.RDNGD(batch=BATCH, returns="last")
    length: dict[str, Any] = {"budget": answers, "iterations": math.ceil(answers / BATCH)}
    gd.create_study(sphere, method, storage=url, study_name=name, rng=0, **length)
    command = [sys.executable, __file__, "--worker", name, "--url", url]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    began = time.perf_counter()
    crew = [
        subprocess.Popen(
            [*command, "--rater", f"rater {i}"], env=environment, stdout=subprocess.PIPE, text=True
        )
        for i in range(workers)
    ]
    reports = [worker.communicate()[0] for worker in crew]
    seconds = time.perf_counter() - began
    done = [json.loads(text) for text in reports if text.strip()]
    asked = Counter(i for report in done for i in report["asked"])
    told = Counter(i for report in done for i in report["told"])

    study = gd.load_study(name, url)
    stored = {duel.id: duel for duel in study.duels if duel.answer is not None}
    raters = {i: report["rater"] for report in done for i in report["told"]}
    outcome = {
        "answers": study.progress().answered,
        "lost": sum(i not in stored or stored[i].rater != raters[i] for i in told),
        "doubled": sum(count > 1 for count in told.values()) + len(set(stored) - set(told)),
        "out_twice": sum(count > 1 for count in asked.values()),
        "errors": sum(worker.returncode != 0 for worker in crew),
        "seconds": seconds,
    }
    study.export()  # reads and chains the whole log
    gd.delete_study(name, url)
    return outcome


def work(name: str, url: str, rater: str) -> None:
    """One process of the crowd: answer until there is nothing left, and report what was told."""
    study = gd.load_study(name, url)
    asked, told = [], []
    while True:
        try:
            duel = study.ask(rater=rater)
        except errors.StudyFinishedError:
            break
        except errors.NothingToAskError:
            time.sleep(0.02)
            continue
        asked.append(duel.id)
        study.tell(duel, "a" if duel.a[2] > duel.b[2] else "b", rater=rater)
        told.append(duel.id)
    json.dump({"rater": rater, "asked": asked, "told": told}, sys.stdout)


# -- several processes that optimise together ------------------------------------------------------


def share(url: str, processes: int, seed: int, duels: int, each: float = 0.04) -> float:
    """Seconds until processes have answered all duels of a study; their starts do not count."""
    name = f"share-{processes}-{seed}-{time.time_ns()}"
    sphere = gd.Sphere(8)
    gd.create_study(sphere, "duel-newton", storage=url, study_name=name, rng=seed, budget=duels)
    command = [sys.executable, __file__, "--partner", name, "--url", url, "--each", str(each)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    crew = [subprocess.Popen(command, env=environment, **pipes) for _ in range(processes)]
    for worker in crew:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    began = time.perf_counter()
    for worker in crew:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in crew:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "done\n"
    seconds = time.perf_counter() - began
    assert [worker.wait() for worker in crew] == [0] * processes
    assert gd.load_study(name, url).progress().answered == duels
    return seconds


def partner(name: str, url: str, each: float) -> None:
    """One of these processes."""
    study = gd.load_study(name, url)
    nearer = likes(study.manifold)

    def slowly(x: Any, y: Any) -> int:
        time.sleep(each)
        return nearer(x, y)

    print("ready", flush=True)
    sys.stdin.readline()
    study.optimize(slowly)
    print("done", flush=True)


def share_by_the_clock(
    url: str, workers: int, cores: int, seed: int, duels: int, each: float = 0.04
) -> float:
    """Seconds that `share` would take on cores that nobody else uses, by a clock of its own.

    Each `ask` and `tell` is called in the order of that clock, in the worker's thread, and keeps a
    core for the time that it took of the processor. The oracle and the waits take theirs, and no
    core. The disk, which workers need not wait for, takes none.
    """
    name = f"clock-{workers}-{cores}-{seed}-{time.time_ns()}"
    sphere = gd.Sphere(8)
    gd.create_study(sphere, "duel-newton", storage=url, study_name=name, rng=seed, budget=duels)
    studies = [gd.load_study(name, url) for _ in range(workers)]
    threads = [ThreadPoolExecutor(1) for _ in range(workers)]
    nearer, free, end = likes(sphere), [0.0] * cores, 0.0
    due: list[Any] = [(0.0, i, None, WAITS[0]) for i in range(workers)]
    while due:  # the next moment, whose it is, the duel to answer or None to ask, the wait if none
        when, i, duel, wait = heapq.heappop(due)
        begin = max(when, min(free))
        if duel is None:
            act = studies[i].ask
        else:
            answer = {-1: "a", 0: "tie", 1: "b"}[int(nearer(duel.a, duel.b))]
            act = partial(studies[i]._tell, duel, answer, durable=False)
        found, taken = threads[i].submit(_clocked, act).result()
        now = free[free.index(min(free))] = begin + taken
        if isinstance(found, errors.StudyFinishedError):
            end = max(end, now)
        elif isinstance(found, errors.NothingToAskError):
            heapq.heappush(due, (now + wait, i, None, min(LONGER * wait, WAITS[1])))
        elif duel is None:
            heapq.heappush(due, (now + each, i, found, WAITS[0]))
        else:
            heapq.heappush(due, (now, i, None, WAITS[0]))
    assert studies[0].progress().answered == duels
    return end


def _clocked(act: Callable[[], Any]) -> tuple[Any, float]:
    """What an act returns, or that there is no question, and its seconds of the processor."""
    began = time.thread_time()
    try:
        found = act()
    except (errors.NothingToAskError, errors.StudyFinishedError) as error:
        found = error
    return found, time.thread_time() - began


def add_share(results: Results, key: str, pairs: np.ndarray, row: dict[str, Any]) -> None:
    """Store and show the seconds of one worker and of four, a row for each seed."""
    shares = pairs[:, 1] / pairs[:, 0]
    told = f"{np.median(shares):.2f}, {shares.min():.2f} to {shares.max():.2f}"
    print(f"  {told} on {len(shares)} seeds, {key.removeprefix('share ')}", flush=True)
    alone, four = (float(seconds) for seconds in np.median(pairs, axis=0))
    share = float(np.median(shares))
    results.add(key, alone=alone, four=four, share=share, most=float(shares.max()), **row)


# -- the command -----------------------------------------------------------------------------------


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("what", nargs="*", default=["wait", "load", "crowd", "share"])
    parser.add_argument("--url", help="where the studies are; by default an SQLite file")
    parser.add_argument("--workers", type=int, help="by default 4, in full 32")
    parser.add_argument("--answers", type=int, help="by default 100, in full 10,000")
    parser.add_argument(
        "--methods", nargs="+", default=["duel-newton", "duel-csa", "rdngd", "bisection"]
    )
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--rater", help=argparse.SUPPRESS)
    parser.add_argument("--partner", help=argparse.SUPPRESS)
    parser.add_argument("--each", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return work(given.worker, given.url, given.rater)
    if given.partner:
        return partner(given.partner, given.url, given.each)

    given.workers = given.workers or (32 if given.full else 4)
    given.answers = given.answers or (10_000 if given.full else 100)
    results = Results(__file__, given.save)
    print(_timing.describe_machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        url = given.url or f"sqlite:///{Path(folder) / 'studies.db'}"
        if "wait" in given.what:
            before = 200 if given.full else 10
            print(f"\nask and tell after {before} answers, milliseconds: median, worst of 20")
            methods = [
                ("auto", gd.Rotations(2)),
                ("duel-newton", gd.Sphere(7)),
                ("auto", gd.Sphere(3)),
                ("auto", gd.Rotations(3)),
                ("auto", gd.Sphere(6)),
                ("auto", gd.Euclidean(6)),
            ]
            for method, manifold in methods if given.full else methods[:3]:
                for place, where in (("memory", None), ("database", url)):
                    ms = 1e3 * np.array(wait(method, manifold, where, before))
                    if ms.size:
                        print(f"  {method:12s} {manifold!s:28s} {place:9s}", end="")
                        print(f"{np.median(ms):7.1f} {ms.max():7.1f}", flush=True)
                        row = f"wait {method} {manifold} {place}"
                        results.add(row, median=np.median(ms), worst=ms.max())
        if "load" in given.what:
            for method in given.methods:
                manifold = gd.Rotations(2) if method == "bisection" else gd.Sphere(7)
                row = load(method, manifold, url, given.answers)
                told = ", ".join(f"{key} {value:.3g}" for key, value in row.items())
                print(f"  {method:12s} {manifold!s:28s} {told}", flush=True)
                results.add(f"load {method} {given.answers}", **row)
        if "crowd" in given.what:
            outcome = crowd(url, given.workers, given.answers)
            rate = outcome["answers"] / outcome["seconds"]
            print(f"\n{given.workers} processes, {given.answers} answers: {outcome}")
            print(f"  {rate:.0f} answers a second", flush=True)
            place = url.split(":")[0].split("+")[0]
            results.add(f"crowd {place}", workers=given.workers, rate=rate, **outcome)
        if "share" in given.what:
            seeds, duels = (range(5), 160) if given.full else (range(1), 20)
            pairs = np.array([[share(url, n, seed, duels) for n in (1, 4)] for seed in seeds])
            row = {"duels": duels, "seeds": len(seeds), "load": os.getloadavg()[0]}
            print(f"\n{duels} duels of 40 ms, four processes in the time of one:")
            add_share(results, "share measured", pairs, row)
            for cores in (4, 2):
                pairs = np.array(
                    [
                        [share_by_the_clock(url, n, min(n, cores), seed, duels) for n in (1, 4)]
                        for seed in seeds
                    ]
                )
                add_share(results, f"share {cores} cores", pairs, row)
            # If there were always a question for everybody, and one's own work took its time.
            waits = 0.04 * duels
            ideal = float(np.median((waits / 4 + pairs[:, 0] - waits) / pairs[:, 0]))
            print(f"  {ideal:.2f} if no worker ever waited for a question")
            results.add("share ideal", share=ideal, duels=duels, seeds=len(seeds))
    return None


if __name__ == "__main__":
    main()
