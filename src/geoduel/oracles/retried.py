"""An oracle that is asked again where it fails, or does not answer in time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

import numpy as np

from .._numerics.arrays import Array
from .._numerics.batches import along_one_axis, as_like
from .._support.check import nonnegative, positive, positive_int
from .._support.pools import run_each
from ..errors import OracleError
from .base import Oracle, answers
from .wrappers import Wrapper

__all__ = ["Retried", "attempted"]

logger = logging.getLogger("geoduel")
T = TypeVar("T")


class Retried(Wrapper):
    """Ask again where the oracle raises, answers nonsense, or does not answer in time.

    Each duel has its own attempts, and its own time. Oracles that are vectorized or ``async`` are
    asked for a batch in one call: then the batch has them. An oracle that is out of its budget is
    not asked again.

    Parameters
    ----------
    oracle : Oracle
        The oracle to ask.
    attempts : int
        Most calls for one answer; after the last one the error is raised.
    wait : float
        Seconds before the second attempt; each further wait is twice as long.
    timeout : float, optional
        Most seconds of an attempt. A call that takes longer goes on in a thread of its own, since
        nothing can end it. Its answer is ignored, and the program does not wait for it at its end.
        So give web clients a timeout of their own beside.

    Raises
    ------
    OracleError
        On a duel, if the last attempt failed. Where it took too long, the cause is a TimeoutError,
        which ``catch=(TimeoutError,)`` of `geoduel.Study.optimize` turns into a skip.

    Examples
    --------
    >>> import numpy as np
    >>> tries = []
    >>> def busy(x, y):
    ...     tries.append(1)
    ...     return 1 if len(tries) == 3 else 1 / 0
    >>> Retried(busy, wait=0)(np.ones(2), np.zeros(2)), len(tries)
    (1, 3)
    """

    def __init__(
        self,
        oracle: Oracle,
        attempts: int = 3,
        wait: float = 1.0,
        timeout: float | None = None,
    ) -> None:
        super().__init__(oracle)
        self.attempts = positive_int(attempts, "attempts")
        self.wait = nonnegative(wait, "wait")
        self.timeout = None if timeout is None else positive(timeout, "timeout")

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        single = point_ndim is None or x.ndim == y.ndim == point_ndim
        if single or self.vectorized or self.awaited:
            return self._tried(x, y, point_ndim, executor)
        assert point_ndim is not None
        lead, pairs = along_one_axis(point_ndim, x, y)
        each = run_each(self._one, zip(*pairs, strict=True), executor)
        return as_like(np.reshape(each, lead), x)

    def _one(self, x: Array, y: Array) -> int:
        return self._tried(x, y, x.ndim, None)

    def _tried(self, x: Array, y: Array, point_ndim: int | None, executor: Executor | None) -> Any:
        return attempted(
            lambda: answers(self.oracle, x, y, point_ndim, executor),
            self.attempts,
            self.wait,
            self.timeout,
        )


def attempted(call: Callable[[], T], attempts: int, wait: float, timeout: float | None = None) -> T:
    """Result of a call, made again where it raises an OracleError; arguments as in `Retried`."""
    for attempt in range(1, attempts):
        try:
            return in_time(call, timeout)
        except OracleError as error:
            logger.warning("attempt %d of %d to get an answer failed: %s", attempt, attempts, error)
        time.sleep(wait * 2 ** (attempt - 1))
    return in_time(call, timeout)


def in_time(call: Callable[[], T], timeout: float | None) -> T:
    """Result of a call that takes no longer than so many seconds, else an OracleError."""
    if timeout is None:
        return call()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="geoduel duel", daemon=True)
    thread.start()
    thread.join(timeout)
    if results:
        return results[0]
    if errors:
        raise errors[0]
    late = f"the oracle did not answer within {timeout:g} seconds"
    raise OracleError(late) from TimeoutError(late)
