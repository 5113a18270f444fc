"""Calls that an executor or a pool runs at once, and what is said when its workers die."""

from __future__ import annotations

import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from ..errors import ArgumentError, BudgetExhaustedError, InfeasibleError, OracleError

__all__ = ["as_executor", "deaf_to_interrupts", "ended_by_interrupts", "run_each"]

LOOK = 0.5  # seconds between two looks at whether the workers of a pool are alive


def as_executor(executor: Any) -> Any:
    """Return what has the ``map`` that `run_each` needs, or raise an error that says what has.

    Raises
    ------
    ArgumentError
        If it is no executor, pool or Dask client.
    """
    if hasattr(executor, "get_executor"):  # a Dask client, whose own map returns futures
        return executor.get_executor()
    if isinstance(executor, type):
        raise ArgumentError(
            f"executor must be an instance, such as {executor.__name__}(8); got the class"
        )
    if executor is not None and not hasattr(executor, "map"):
        raise ArgumentError(
            "executor must have a method map, as concurrent.futures.Executor has, got "
            f"{executor!r:.80}; a number of threads is workers="
        )
    return executor


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Let processes that are started meanwhile ignore Ctrl-C, from their first moment on.

    A terminal sends it to all. What imports modules just then would print a traceback.
    """
    if threading.current_thread() is not threading.main_thread():  # others may set no handler
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Ended(BaseException):
    """Ctrl-C, by a name that `geoduel.minimize` does not take for an early end."""


@contextmanager
def ended_by_interrupts() -> Iterator[None]:
    """Let Ctrl-C end the whole task: `geoduel.minimize` would return what it has, as a result."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not main or not callable(before):  # deaf, or not the one that hears of it
        yield
        return

    def end(*_: Any) -> None:
        raise _Ended

    signal.signal(signal.SIGINT, end)
    try:
        yield
    except _Ended:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)


def run_each(f: Callable[..., Any], rows: Iterable[tuple[Any, ...]], executor: Any = None) -> list:
    """Return ``f(*row)`` for each row, in order; the executor runs them at once.

    Parameters
    ----------
    f : callable
        Raises `OracleError` for what goes wrong inside it.
    rows : iterable of tuple
        The arguments of each call.
    executor : object, optional
        Has ``map(function, items)``, as Python's executors and pools and those of others have.

    Raises
    ------
    OracleError
        That of a call, or one that says why the executor failed: a function that cannot be sent, a
        worker that died.
    """
    if executor is None:
        return [f(*row) for row in rows]
    # Numbered, for Dask takes calls that look alike for one, and a noisy function for an exact one.
    call, rows = _Call(f), [(next(_numbers), row) for row in rows]
    pools = sys.modules.get("multiprocessing.pool")  # where it is not loaded, this is no such pool
    try:
        if pools is not None and isinstance(executor, pools.Pool):
            return _watched(executor, call, rows)
        return list(executor.map(call, rows))
    except (OracleError, BudgetExhaustedError, InfeasibleError) as error:
        cause = getattr(error, "_cause", None)
        if cause is None or cause is error.__cause__ or isinstance(cause, _Bare):
            raise  # nothing was pickled, or nothing is left
        cause.__cause__ = error.__cause__  # of another process: its traceback, as text
        raise error from cause
    except Exception as error:
        hint = ""
        if "pickle" in str(error).lower():
            hint = "; processes need functions at the top level of a file, and no lambdas"
        raise OracleError(f"the executor raised {type(error).__name__}: {error}{hint}") from error


_numbers = count()


class _Call:
    """One call with its number and arguments as one item, since pools map over one list alone."""

    __name__ = "duel"  # what a dashboard of the workers shows

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f

    def __call__(self, numbered: tuple[int, tuple[Any, ...]]) -> Any:
        try:
            return self.f(*numbered[1])
        except OracleError as error:
            # Pickling drops the other.
            error._cause = _sendable(error.__cause__)  # type: ignore[attr-defined]
            raise


class _Bare:
    """An exception that is made without its ``__init__`` where it arrives.

    Pickle calls the class with `BaseException.args`, and many take other arguments: those of HTTP
    clients want the response by name. A pool's thread that fails of that waits for ever.
    """

    def __init__(self, kind: type[BaseException], args: tuple[Any, ...], state: dict) -> None:
        self.parts = kind, args, state

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, self.parts


def _made(kind: type[BaseException], args: tuple[Any, ...], state: dict) -> BaseException:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(state)
    return error


def _sendable(error: BaseException | None) -> Any:
    """What arrives as that exception in another process, with all that can be sent; or None."""
    if error is None:
        return None
    kind = type(error)
    texts = tuple(map(str, error.args))
    for sent in (error, _Bare(kind, error.args, vars(error)), _Bare(kind, texts, {})):
        if _arrives(sent):
            return sent
    return None


def _arrives(sent: Any) -> bool:
    """Whether it can be pickled and made again, by Python's pickle or a better one that is here."""
    names = ("pickle", "cloudpickle", "joblib.externals.cloudpickle", "ray.cloudpickle")
    for module in filter(None, map(sys.modules.get, names)):
        try:
            return isinstance(pickle.loads(module.dumps(sent)), BaseException)
        except Exception:
            continue
    return False


def _watched(pool: Any, call: _Call, rows: list[Any]) -> list:
    """`map` of a `multiprocessing.Pool`, which would wait for ever for a worker that died."""
    running, workers = pool.map_async(call, rows, 1), set()
    while True:
        workers |= set(getattr(pool, "_pool", ()))  # private, and there since Python 2.6
        running.wait(LOOK)
        if running.ready():
            return running.get()
        if any(worker.exitcode for worker in workers):
            raise ChildProcessError("a worker of the pool died, and its duel was lost")
