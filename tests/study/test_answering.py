"""`Study.optimize`: several at once, in threads and processes, with limits of time and errors."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle, pairwise

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.answering import WAITS, Answering, answered
from geoduel.study.holders import me
from geoduel.study.storage import MemoryStorage

GOAL = np.array([0.5, 0.5, 0.5, 0.5])


def size(x):
    """Of a point's distance to the goal; it can be sent to other processes."""
    return float((x - GOAL) @ (x - GOAL))


def fresh(method="duel-newton", **settings):
    return gd.create_study(gd.Sphere(4), method, rng=0, **settings)


@pytest.mark.parametrize("best", [0, 1, 2, 3])
def test_of_several_points_the_best_is_found_by_duels(best):
    points = np.eye(4) - np.eye(4)[best] / 2
    assert answered(gd.from_objective(lambda x: float(x @ x)), list(points)) == "abcd"[best]


def test_without_a_number_it_answers_all_that_is_asked():
    study = fresh(x_tol=1e-3)
    study.optimize(gd.from_objective(size))
    assert study.progress().finished == "x_tol"
    budget = fresh(budget=25)
    budget.optimize(gd.from_objective(size))
    assert budget.progress().answered == 25


def test_workers_answer_at_once():
    """Blocks of three duels: with three threads, each waits for the others once."""
    together = threading.Barrier(3, timeout=20)

    def f(x, y):
        together.wait()
        return int(np.sign(size(x) - size(y)))

    study = fresh()
    study.optimize(gd.from_objective(size), 30)  # beyond the first steps, which come one by one
    study.optimize(f, 3, workers=3)
    assert study.progress().answered == 33


def test_exactly_so_many_answers_whoever_gives_them():
    study = fresh()
    study.optimize(gd.from_objective(size), 50, workers=4)
    assert study.progress().answered == 50
    assert study.progress().open == 0


@pytest.mark.parametrize("workers", [1, 3])
def test_an_executor_runs_the_oracle(workers):
    with ProcessPoolExecutor(2) as executor:
        study = fresh()
        study.optimize(gd.from_objective(size), 20, executor=executor, workers=workers)
    plain = fresh()
    plain.optimize(gd.from_objective(size), 20)
    assert study.progress().answered == 20
    if workers == 1:
        assert np.array_equal(study.recommend(), plain.recommend())


def test_an_oracle_runs_in_the_executor_and_nowhere_else():
    names = set()

    def oracle(x, y):
        names.add(threading.current_thread().name.split("_")[0])
        return -1

    with ThreadPoolExecutor(2, "executor") as executor:
        fresh().optimize(oracle, 5, executor=executor)
    assert names == {"executor"}


@pytest.mark.parametrize("workers", [1, 3])
def test_a_bar_shows_how_many_are_answered(monkeypatch, workers):
    shown = []

    @contextmanager
    def bar(wanted, iterations, budget):
        assert (wanted, iterations, budget) == (True, None, 7)
        yield lambda iteration, duels: shown.append(duels)

    monkeypatch.setattr("geoduel.study.answering.progress_bar", bar)
    fresh().optimize(gd.from_objective(size), 7, workers=workers, progress=True)
    assert shown == list(range(1, 8))


def test_time_is_a_limit():
    study = fresh()
    began = time.monotonic()
    study.optimize(gd.from_objective(lambda x: time.sleep(0.01) or size(x)), timeout=0.2)
    assert 0.2 <= time.monotonic() - began < 10
    assert 0 < study.progress().answered <= 21
    with pytest.raises(errors.ArgumentError, match="timeout must be > 0"):
        study.optimize(gd.from_objective(size), timeout=0)


def test_it_waits_for_questions_that_others_hold():
    """The (1+1)-ES asks one question at a time; who comes second waits until it is answered."""
    study = fresh("one-plus-one")
    duel = study.ask(rater="ann")

    def later():
        time.sleep(0.2)
        study.tell(duel, "a")

    thread = threading.Thread(target=later)
    thread.start()
    study.optimize(gd.from_objective(size), 5)
    thread.join()
    assert study.progress().answered == 6


def test_looks_for_a_question_are_ever_further_apart_up_to_the_longest_wait():
    class Busy:
        storage = MemoryStorage()
        settings = {"lease": 600.0}  # noqa: RUF012

        def ask(self):
            raise errors.NothingToAskError("others hold all questions", 1.0)

    waits, most = [], 40
    answering = Answering(Busy(), gd.from_objective(size), 1, math.inf, (), None, ())

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == most:
            answering.stop()

    answering.over.wait = wait
    answering.run(1, progress=False)
    first, longest = WAITS
    assert waits[0] == first
    assert np.all(np.diff(waits) >= 0)
    # A question that came just after a look waits little longer than it took to come.
    assert max(b / a for a, b in pairwise(waits)) <= 1.5
    assert waits[-1] == longest


def test_waiting_ends_with_the_time():
    study = fresh("one-plus-one")
    study.ask(rater="ann")
    study.optimize(gd.from_objective(size), 5, timeout=0.1)
    assert study.progress().answered == 0


def test_a_straggler_holds_up_nobody():
    """Methods made for people learn from answers in any order; DuelNewton asks blocks of d."""
    for method, others in (("ideal-point", 8), ("duel-newton", 2)):
        first, rest = threading.Lock(), threading.Semaphore(0)

        def oracle(x, y, first=first, rest=rest, others=others):
            if first.acquire(blocking=False):  # the first question is answered after the others
                assert all(rest.acquire(timeout=20) for _ in range(others))
            else:
                rest.release()
            return int(np.sign(size(x) - size(y)))

        study = fresh(method)
        study.optimize(gd.from_objective(size), 30)
        study.optimize(oracle, others + 1, workers=2)
        assert study.progress().answered == 31 + others


def test_errors_that_are_caught_skip_the_question(caplog):
    failures = iter([True, False, True, *[False] * 100])

    def oracle(x, y):
        if next(failures):
            raise TimeoutError("the line is dead")
        return int(np.sign(size(x) - size(y)))

    study = fresh()
    with caplog.at_level(logging.WARNING, logger="geoduel"):
        study.optimize(oracle, 10, catch=(TimeoutError,))
    assert study.progress().answered == 8
    assert study.progress().skips == 2
    assert [record.name for record in caplog.records] == ["geoduel"] * 2
    assert "the line is dead" in caplog.text


@pytest.mark.parametrize("workers", [1, 4])
def test_a_judge_that_fails_each_time_ends_all(workers):
    """Skips went on for ever, until the method took them for ties and called the study finished."""

    def oracle(x, y):
        if len(told) >= 5:
            raise TimeoutError("the key has expired")
        told.append(1)
        return int(np.sign(size(x) - size(y)))

    told, study = [], fresh()
    with pytest.raises(errors.OracleError, match="the key has expired") as caught:
        study.optimize(oracle, workers=workers, catch=Exception)
    assert caught.value.__notes__ == ["50 questions in a row failed, which catch= does not skip"]
    assert study.progress().answered >= 5
    assert 49 - workers <= study.progress().skips < 50 + workers
    assert study.progress().finished is None


def test_failures_between_answers_end_nothing():
    failures = cycle([True] * 49 + [False])

    def oracle(x, y):
        if next(failures):
            raise TimeoutError("the line is dead")
        return int(np.sign(size(x) - size(y)))

    study = fresh()
    study.optimize(oracle, 150, catch=(TimeoutError,))
    assert (study.progress().answered, study.progress().skips) == (3, 147)


def test_a_broken_executor_skips_nothing():
    class Broken:
        def map(self, f, items):
            raise BrokenExecutor("a worker died")

    study = fresh()
    with pytest.raises(errors.OracleError, match="a worker died"):
        study.optimize(gd.from_objective(size), executor=Broken(), catch=Exception)
    assert study.progress().skips == 0


@pytest.mark.parametrize("workers", [1, 4])
def test_other_errors_end_all_and_leave_the_question_open(workers):
    calls = []

    def oracle(x, y):
        calls.append(1)
        if len(calls) > 20:
            raise ValueError("the lab is closed")
        return int(np.sign(size(x) - size(y)))

    study, before = fresh(), threading.active_count()
    with pytest.raises(errors.OracleError, match="lab is closed"):
        study.optimize(oracle, 200, workers=workers, catch=(TimeoutError,))
    assert study.progress().answered == 20
    assert study.progress().open >= 1
    assert threading.active_count() == before


def test_callbacks_are_called_one_at_a_time_and_may_stop():
    inside, most = [], []

    def callback(study, duel):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.001)
        inside.pop()
        if len(most) == 10:
            study.stop()

    study = fresh()
    study.optimize(gd.from_objective(size), 200, callbacks=[callback], workers=3)
    assert max(most) == 1
    assert 10 <= study.progress().answered <= 12


def test_a_callback_stops_the_run_that_called_it_and_others_stop_all():
    study, told = fresh(), {"a": 0, "b": 0, "inner": 0}
    both = threading.Barrier(2, timeout=20)

    def counted(name):
        def callback(study, duel):
            told[name] += 1
            if told[name] == 1 and name != "inner":
                both.wait()  # both runs are at work
            if name == "a" and told[name] == 3:
                study.optimize(gd.from_objective(size), 9, [counted("inner")])
                study.stop()
            if name == "inner":
                study.stop()

        return callback

    def run(name, most):
        study.optimize(gd.from_objective(size), most, [counted(name)])

    threads = [threading.Thread(target=run, args=args) for args in (("a", 20), ("b", 12))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert told == {"a": 3, "b": 12, "inner": 1}

    threads = [threading.Thread(target=run, args=(name, 10**6)) for name in "ab"]
    for thread in threads:
        thread.start()
    while told["a"] < 4 or told["b"] < 13:  # until both are at work
        time.sleep(0.001)
    study.stop()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("threads", [True, False])
def test_a_question_stays_with_an_oracle_beyond_its_lease(url, tmp_path, threads):
    """Beside it others work on other questions, of threads as of processes; none is put twice."""
    study = fresh("ideal-point", storage=url, study_name="s", lease=0.6)
    put, working, ended = [], threading.Event(), threading.Event()

    def oracle(x, y):
        put.append((x.tobytes(), y.tobytes()))
        if len(put) == 1:
            working.set()
            assert ended.wait(20)
        return int(np.sign(size(x) - size(y)))

    slow = threading.Thread(target=study.optimize, args=(oracle, 1))
    slow.start()
    assert working.wait(20)
    time.sleep(1.0)
    other = study if threads else gd.load_study("s", url)
    other.optimize(oracle, 3)
    held = other.duel(0).held
    ended.set()
    slow.join(20)
    assert len(set(put)) == len(put) == other.progress().answered == 4
    told = other.duel(0)
    assert told.held == held == told.asked  # it is renewed, and was always there
    assert told.answered - told.held >= 1.0
    assert 1 <= study.export(tmp_path / "s.jsonl").count('"renewed":true') <= 8
    assert gd.import_study(tmp_path / "s.jsonl").duels == study.duels


def test_a_question_that_others_were_given_is_not_taken_from_them():
    """As after a laptop slept: its lease was over before it could be renewed."""
    study = fresh("ideal-point", lease=0.1)
    duel = study.ask()
    time.sleep(0.15)
    assert study.ask(rater="ann").id == duel.id
    rows = len(study.storage.read(study.name, 0))
    study._renew({duel.id: me()})
    assert len(study.storage.read(study.name, 0)) == rows


def test_a_lease_that_is_over_is_answered_once_and_ends_nothing(url):
    """Somebody else was faster: another question is asked in place of that one."""
    fresh("rdngd", storage=url, study_name="s", lease=0.05, budget=40)
    first, answered = threading.Event(), threading.Event()

    def slow(x, y):
        if not first.is_set():
            first.set()
            assert answered.wait(20)
        return int(np.sign(size(x) - size(y)))

    mine, late = gd.load_study("s", url), []
    worker = threading.Thread(target=lambda: late.append(mine.optimize(slow, 3)))
    worker.start()
    assert first.wait(20)
    time.sleep(0.1)
    gd.load_study("s", url).optimize(gd.from_objective(size), 2)
    answered.set()
    worker.join(20)
    assert late == [None]  # it ended well
    assert mine.progress().answered == 5


def test_a_function_of_one_point_is_told_to_be_wrapped():
    with pytest.raises(errors.ArgumentError, match="wrap it"):
        fresh().optimize(size, 5)


class Disk(MemoryStorage):
    """Counts what was written durably, and how often the disk was waited for; it may fail."""

    def __init__(self, fails=False):
        super().__init__()
        self.fails, self.durable, self.settled, self.rows = fails, 0, 0, 0

    def write(self, name, act, durable=True):
        self.durable += durable
        return super().write(name, act, durable)

    def settle(self):
        if self.fails:
            raise errors.StorageError("input/output error")
        self.rows = len(self.read("s", 0))
        self.settled += 1


def test_the_disk_is_waited_for_beside_the_oracle():
    """When it returns, or fails, the disk has all answers."""
    disk = Disk()
    study = fresh(storage=disk, study_name="s")
    study.optimize(gd.from_objective(size), 20)
    assert disk.durable == 0
    assert 0 < disk.settled <= 21  # one at the end
    assert disk.rows == len(disk.read("s", 0))
    study.optimize(gd.from_objective(size), 5, callbacks=[lambda study, duel: None])
    assert disk.durable == 5

    calls = []

    def oracle(x, y):
        calls.append(1)
        if len(calls) > 10:
            raise ValueError("the lab is closed")
        return int(np.sign(size(x) - size(y)))

    with pytest.raises(errors.OracleError, match="lab is closed"):
        study.optimize(oracle, 50)
    assert disk.rows == len(disk.read("s", 0))


def test_a_disk_that_fails_ends_it():
    study = fresh(storage=Disk(fails=True), study_name="s")
    before = threading.active_count()
    with pytest.raises(errors.StorageError, match="input/output"):
        study.optimize(gd.from_objective(size), 5000)
    assert study.progress().answered < 5000
    assert threading.active_count() == before


PROGRAM = """
import sys, time, numpy as np, geoduel as gd
study = gd.load_study("s", sys.argv[1])
study.optimize(gd.from_objective(lambda x: time.sleep(0.005) or float(((x - 0.5) ** 2).sum())))
"""


def test_several_processes_share_a_study(tmp_path):
    """All end well, and together they have given every answer once."""
    url = f"sqlite:///{tmp_path}/s.db"
    study = fresh(storage=url, study_name="s", budget=60)
    programs = [subprocess.Popen([sys.executable, "-c", PROGRAM, url]) for _ in range(2)]
    assert [program.wait(120) for program in programs] == [0, 0]
    assert study.progress().answered == 60
    assert study.progress().open == 0
