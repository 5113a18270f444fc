"""Duels that a function or a person decides, without any value."""

from __future__ import annotations

import math
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import numpy as np

from .._numerics.arrays import Array, copied
from .._numerics.batches import along_one_axis, as_like
from .._support.check import function, is_async, is_bool, plain_word, positive_int, truth
from .._support.pools import run_each
from ..errors import BudgetExhaustedError, OracleError
from .base import OracleBase
from .shuffled import Shuffled

if TYPE_CHECKING:
    import asyncio  # half as long to import as NumPy, and few judges need it

__all__ = ["from_preference"]

ANSWERS = {
    **dict.fromkeys(("a", "left", "first"), -1),
    **dict.fromkeys(("b", "right", "second"), +1),
    **dict.fromkeys(("tie", "equal", "same"), 0),
}
INFEASIBLE = {"a": +1, "left": +1, "first": +1, "b": -1, "right": -1, "second": -1, "both": 0}


def from_preference(
    prefers: Callable[[Array, Array], Any],
    *,
    parse: Callable[[Any], Any] | None = None,
    concurrency: int = 8,
    shuffle: bool = True,
    rng: np.random.Generator | int | None = 0,
) -> Shuffled | Preference:
    """Oracle from a judge, a function or a person behind it, that says which point is better.

    Parameters
    ----------
    prefers : callable
        ``prefers(a, b)`` returns "a", "b" or "tie", or a bool: True if a is preferred. "left" and
        "first" are a, "right" and "second" are b, "equal" and "same" a tie. Capitals, and spaces,
        quotes or a full stop around the word, do not matter. The numbers 1 and 0 are refused, since
        an oracle's +1 says that the second point is better. Of points that cannot be, "a
        infeasible" says that a loses, "b infeasible" that b does, and "both infeasible" is a tie.
        It may be an ``async`` function: the duels of a batch are then awaited at once, in one event
        loop of their own.
    parse : callable, optional
        ``parse(said)`` finds one of these answers in what the judge said, as in a long text.
    concurrency : int
        Most duels awaited at once, of an ``async`` judge.
    shuffle : bool
        Draw which point is a. A judge that favours the first is then noisy and not wrong;
        ``oracle.position_bias`` tells how much it does. See `geoduel.Shuffled`.
    rng : int or numpy.random.Generator, optional
        Seed or generator of that order.

    Returns
    -------
    Oracle
        It takes one pair at a time.

    Raises
    ------
    OracleError
        On a duel, if the judge raises or returns something else. Numbers are refused, since 1 may
        mean either point.

    Examples
    --------
    >>> import numpy as np
    >>> oracle = from_preference(lambda a, b: "tie" if a[0] == b[0] else "ab"[int(b[0] > a[0])])
    >>> oracle(np.array([1.0]), np.array([2.0])), oracle(np.array([1.0]), np.array([1.0]))
    (1, 0)
    >>> wordy = from_preference(lambda a, b: "I prefer B.", parse=lambda text: text.split()[-1],
    ...                         shuffle=False)
    >>> wordy(np.zeros(2), np.ones(2))
    1
    """
    function(prefers, "prefers", "two points", 2, may_wait=True)
    if parse is not None:
        function(parse, "parse", "an answer")
    judge = Preference(prefers, parse, positive_int(concurrency, "concurrency"))
    return Shuffled(judge, rng) if truth(shuffle, "shuffle") else judge


class Preference(OracleBase):
    """See `from_preference`."""

    def __init__(
        self,
        prefers: Callable[[Array, Array], Any],
        parse: Callable[[Any], Any] | None,
        concurrency: int,
    ) -> None:
        self._prefers, self._parse, self._concurrency = prefers, parse, concurrency

    @property
    def awaited(self) -> bool:
        """Whether the duels of a batch are awaited together."""
        return is_async(self._prefers)

    def __repr__(self) -> str:
        return f"from_preference({self._prefers!r})"

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        if point_ndim is None or x.ndim == y.ndim == point_ndim:
            return self._answer(x, y)
        lead, pairs = along_one_axis(point_ndim, x, y)
        if self.awaited:
            each = _gathered(
                [self._said(*pair) for pair in zip(*pairs, strict=True)], self._concurrency
            )
            each = [self._read(said) for said in each]
        else:
            each = run_each(self._answer, zip(*pairs, strict=True), executor)
        return as_like(np.reshape(each, lead), x)

    def _answer(self, x: Array, y: Array) -> int:
        if self.awaited:
            return self._read(_gathered([self._said(x, y)], 1)[0])
        try:
            said = self._prefers(self._handed(x), self._handed(y))
            if isinstance(said, Awaitable):  # of a function that calls an async one
                said = _gathered([_awaited(said)], 1)[0]
            return self._read(said)
        except (OracleError, BudgetExhaustedError):
            raise
        except Exception as error:
            raise OracleError(f"the preference raised {type(error).__name__}: {error}") from error

    def _handed(self, x: Array) -> Any:
        return copied(x) if self.unpack is None else self.unpack(x)

    async def _said(self, x: Array, y: Array) -> Any:
        try:
            return await self._prefers(self._handed(x), self._handed(y))
        except (OracleError, BudgetExhaustedError):
            raise
        except Exception as error:
            raise OracleError(f"the preference raised {type(error).__name__}: {error}") from error

    def _read(self, said: Any) -> int:
        """The answer in what a judge said."""
        choice = said if self._parse is None else self._parse(said)
        if isinstance(choice, str):
            word = plain_word(choice)
            if (answer := ANSWERS.get(word)) is not None:
                return answer
            who, _, what = word.partition(" ")
            if what == "infeasible" and who in INFEASIBLE:
                return INFEASIBLE[who]
        elif is_bool(choice) and math.prod(getattr(choice, "shape", ())) == 1:
            return -1 if choice else +1
        hint = "; parse= finds it in a longer text" if isinstance(choice, str) else ""
        if isinstance(choice, int | float | np.number):
            hint = "; numbers may mean either point, so compare: bool(score_a > score_b)"
        raise OracleError(
            f'the preference answered {choice!r:.80}, expected "a", "b", "tie", "left" (a), '
            '"right" (b), "a infeasible", "b infeasible", "both infeasible" or a bool (True: a is '
            f"preferred){hint}"
        )


async def _awaited(said: Awaitable[Any]) -> Any:
    return await said


def _gathered(tasks: list[Coroutine[Any, Any, Any]], most: int) -> list[Any]:
    """Results of coroutines, so many at once, in the event loop of this package."""
    import asyncio

    thread, loop = _running_loop()
    if threading.current_thread() is thread:
        for task in tasks:
            task.close()
        raise OracleError(
            "an async judge asked another one, and would wait for ever, since both share an event "
            "loop; expected await asyncio.to_thread(oracle, a, b) inside of an async judge"
        )

    async def all_of_them() -> list[Any]:
        gate = asyncio.Semaphore(most)

        async def one(task: Coroutine[Any, Any, Any]) -> Any:
            async with gate:
                try:
                    return await task
                except asyncio.CancelledError as error:
                    this = asyncio.current_task()
                    if this is not None and this.cancelling():  # by what comes below
                        raise
                    raise OracleError("the preference raised CancelledError") from error
                except (SystemExit, KeyboardInterrupt) as error:
                    raise _EndsAll(error) from None

        async with asyncio.TaskGroup() as group:  # a failure cancels the others
            running = [group.create_task(one(task)) for task in tasks]
        return [task.result() for task in running]

    future = asyncio.run_coroutine_threadsafe(all_of_them(), loop)
    try:
        return future.result()
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
        raise (first.args[0] if isinstance(first, _EndsAll) else first) from None
    except BaseException:  # Ctrl-C: nobody waits any more
        future.cancel()
        raise


class _EndsAll(Exception):
    """What a judge raised that would end the loop's thread; it is for the caller's."""


_loops: list[tuple[threading.Thread, asyncio.AbstractEventLoop]] = []
_starting = threading.Lock()


def _running_loop() -> tuple[threading.Thread, asyncio.AbstractEventLoop]:
    """The event loop of this package, and its thread.

    The loop stays, since clients of web services belong to the loop they were first used in. It has
    a thread of its own, since a notebook's thread has a running loop already. A forked process has
    the loop without its thread, and makes another. The first is kept, since closing it would close
    that of the parent, too.
    """
    import asyncio

    with _starting:
        if not _loops or not _loops[-1][0].is_alive():
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="geoduel judges", daemon=True)
            thread.start()
            _loops.append((thread, loop))
        return _loops[-1]
