"""Oracles that answer a study: one after the other, several at once, beside other processes."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Executor
from typing import Any, Protocol

from .._numerics.arrays import Array
from .._support.progress import progress_bar
from ..errors import (
    AlreadyAnsweredError,
    GeoduelError,
    NothingToAskError,
    OracleError,
    StudyFinishedError,
)
from ..oracles.base import Oracle, answers
from . import holders
from .ranking import LETTERS
from .records import Duel
from .storage.base import Storage

__all__ = ["Answering", "Asked"]

WAITS = (0.005, 1.0)  # seconds between two looks at whether there is a question, first and longest
LONGER = 1.25  # each is so much longer than the last, so that no wait is much longer than needed
RENEWALS = 3  # of a lease while it runs, so that one may fail
FAILURES = 50  # in a row: such a judge does not fail now and then, and skips would spoil the study
OFTEN = 0.2  # seconds between two of them at least: each is an event in the log
logger = logging.getLogger("geoduel")


class Asked(Protocol):
    """What is needed of a study."""

    @property
    def storage(self) -> Storage: ...

    settings: dict[str, Any]

    def ask(self) -> Duel: ...
    def _tell(self, duel: Duel, answer: str, *, durable: bool) -> Duel: ...
    def _renew(self, at_work: dict[int, str]) -> None: ...


class Settler:
    """Waits for the disk in a thread of its own, while the next questions are answered.

    One wait is for all that was written before it begins, so that it costs the same for one answer
    as for many.

    Parameters
    ----------
    settle : callable
        Waits for the disk; see `Storage.settle`.
    """

    def __init__(self, settle: Callable[[], None]) -> None:
        self._settle = settle
        self._due = threading.Event()
        self._over = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Settler:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._over = True
        self._due.set()
        self._thread.join()
        if error is None and self._error is not None:
            raise self._error

    def soon(self) -> None:
        """Have on the disk what was written; raise if that has failed before."""
        if self._error is not None:
            raise self._error
        self._due.set()

    def _work(self) -> None:
        over = False
        while not over and self._error is None:
            self._due.wait()
            self._due.clear()
            over = self._over  # then this wait is for all there is
            try:
                self._settle()
            except Exception as error:
                self._error = error


class Renewer:
    """Renews the leases of questions at work in a thread of its own, however long they take.

    Parameters
    ----------
    study : Study
        Which asked them.
    at_work : dict of int to str
        Who holds which question; it may change at any time.
    """

    def __init__(self, study: Asked, at_work: dict[int, str]) -> None:
        self._study, self._at_work = study, at_work
        self._every = max(OFTEN, study.settings["lease"] / RENEWALS)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Renewer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._over.wait(min(self._every, threading.TIMEOUT_MAX)):
            try:
                self._study._renew(dict(self._at_work))
            except GeoduelError as error:  # the next one may succeed; telling says what is wrong
                logger.info("leases were not renewed: %s", error)


def answered(oracle: Oracle, points: Sequence[Array], executor: Any = None) -> str:
    """The answer of an oracle, which compares pairs: of several points the best, by duels."""

    def duel(x: Array, y: Array) -> int:
        if executor is None:
            return answers(oracle, x, y, x.ndim)
        return int(answers(oracle, x[None], y[None], x.ndim, executor)[0])

    sign = duel(points[0], points[1])
    if len(points) == 2:
        return {-1: "a", 0: "tie", 1: "b"}[sign]
    best = int(sign > 0)
    for j in range(2, len(points)):
        if duel(points[best], points[j]) > 0:
            best = j
    return LETTERS[best]


class Answering:
    """Let an oracle answer questions of a study, in several threads.

    Parameters
    ----------
    study : Study
        Which is asked and told.
    oracle : callable
        As in `geoduel.minimize`.
    n_duels : int or None
        Most answers; None for as many as the study wants.
    deadline : float
        Moment of `time.monotonic` after which no question is asked.
    callbacks : sequence of callable
        ``callback(study, duel)`` after each answer, one at a time.
    executor : concurrent.futures.Executor or None
        Runs the oracle; None runs it in the threads themselves.
    catch : tuple of exception types
        Errors of the oracle whose questions are skipped, unless so many come in a row that it is
        the oracle that has failed, or the executor is broken.
    """

    def __init__(
        self,
        study: Asked,
        oracle: Oracle,
        n_duels: int | None,
        deadline: float,
        callbacks: Iterable[Callable[[Any, Duel], Any]],
        executor: Executor | None,
        catch: tuple[type[Exception], ...],
    ) -> None:
        self.study, self.oracle, self.executor, self.catch = study, oracle, executor, catch
        self.most = math.inf if n_duels is None else n_duels
        self.deadline, self.callbacks = deadline, tuple(callbacks)
        self.begun = self.answered = self.failed = 0
        self.over = threading.Event()
        self.at_work: dict[int, str] = {}  # questions, and who holds them
        self.threads: set[int] = set()  # at work: who calls `Study.stop` from one means this run
        self.error: BaseException | None = None
        self.turn = threading.Lock()
        self.show: Callable[[int, int], None] | None = None

    def run(self, workers: int, progress: bool) -> None:
        """Answer until enough, or the study or the time is over; raise what went wrong first."""
        total = None if math.isinf(self.most) else int(self.most)
        settle = self.study.storage.settle
        with (
            Renewer(self.study, self.at_work),
            progress_bar(progress, None, total) as self.show,
            Settler(settle) as self.disk,
        ):
            others = [threading.Thread(target=self._work, daemon=True) for _ in range(workers - 1)]
            for thread in others:
                thread.start()
            try:
                self._work()
                if self.begun < self.most:  # no more are wanted by the study, or in this time
                    self.stop()
                for thread in others:
                    thread.join()
            finally:  # Ctrl-C while others are at work
                self.stop()
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """Ask no further question."""
        self.over.set()

    def _work(self) -> None:
        self.threads.add(threading.get_ident())
        counts = True
        try:
            while (duel := self._next(in_place=not counts)) is not None:
                self.at_work[duel.id] = holders.me()
                try:
                    counts = self._answer(duel)
                finally:
                    del self.at_work[duel.id]
        except BaseException as error:
            with self.turn:
                self.error = self.error or error
            self.over.set()
        finally:
            self.threads.discard(threading.get_ident())

    def _next(self, in_place: bool = False) -> Duel | None:
        """The next question; None where no more are wanted. It waits while others hold them all.

        It may be in place of the last one, which others have answered.
        """
        with self.turn:
            if not in_place and self.begun >= self.most:
                return None
            self.begun += not in_place
        wait, longest = WAITS
        while not self.over.is_set() and time.monotonic() < self.deadline:
            try:
                return self.study.ask()
            except StudyFinishedError:
                break
            except NothingToAskError:  # until others have answered, or their time is over
                self.over.wait(min(wait, max(0.0, self.deadline - time.monotonic())))
                wait = min(LONGER * wait, longest)
        with self.turn:
            self.begun -= 1
        return None

    def _answer(self, duel: Duel) -> bool:
        """Answer a question; False where others were faster, or took back what it followed from."""
        try:
            if self.executor is None:
                answer = answered(self.oracle, duel.points)
            else:  # a batch of one: what the oracle draws and counts stays in this process
                answer = answered(self.oracle, duel.points, self.executor)
        except Exception as error:
            cause = error.__cause__ if isinstance(error, OracleError) else None
            if not isinstance(error, self.catch) and not isinstance(cause, self.catch):
                raise
            if isinstance(cause, BrokenExecutor):  # it would fail of all others, too
                raise
            with self.turn:
                self.failed += 1
            if self.failed >= FAILURES:
                error.add_note(f"{FAILURES} questions in a row failed, which catch= does not skip")
                raise
            logger.warning("duel %d is skipped: %s", duel.id, error)
            return self._tell(duel, "skip") is not None
        told = self._tell(duel, answer)
        if told is None:
            return False
        with self.turn:
            self.answered += 1
            self.failed = 0
            if self.show is not None:
                self.show(0, self.answered)
        for callback in self.callbacks:
            with self.turn:
                callback(self.study, told)
        return True

    def _tell(self, duel: Duel, answer: str) -> Duel | None:
        """Store an answer, None if none is wanted; a callback is a promise that the disk has it."""
        try:
            told = self.study._tell(duel, answer, durable=bool(self.callbacks))
        except AlreadyAnsweredError as error:  # it slept beyond its lease, or an undo came
            logger.info("an answer came too late: %s", error)
            return None
        if not self.callbacks:
            self.disk.soon()
        return told
