"""The duel protocol, and how an oracle of any kind is asked and its answers checked.

An oracle is a callable that compares two points,

    oracle(x, y) -> +1 if y is preferred (f(x) > f(y)), -1 if x is preferred, 0 for a tie.

The points it is given are copies, which it may overwrite.

It may have an attribute ``vectorized``. Without it, or where it is false, the oracle is given one
pair of points and answers one number. Where it is true, x and y may have leading axes and the
answer is an array with one entry a pair.

Anything else an oracle can do is a wrapper around another oracle, and wrappers nest:
``Counted(Noisy(from_objective(f), flip=0.1, rng=0), budget=1000)``.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from .._numerics.arrays import Array, copied, host, namespace
from .._numerics.batches import along_one_axis, as_like, leading_shape
from .._support.check import is_async, is_bool, takes
from .._support.pools import run_each
from ..errors import ArgumentError, BudgetExhaustedError, OracleError

__all__ = [
    "Oracle",
    "OracleBase",
    "alike",
    "answers",
    "answers_of",
    "check_oracle",
    "checked_answer",
    "handed",
    "index_of",
    "told",
]


class Oracle(Protocol):
    """What a method is given: answers to duels, and nothing else.

    ``oracle(x, y)`` returns +1 if y is preferred, -1 if x is preferred, 0 for a tie. An attribute
    ``vectorized = True`` says that x and y may have leading axes, one pair for each index.
    """

    def __call__(self, x: Array, y: Array, /) -> Any: ...


def answers(
    oracle: Oracle,
    x: Array,
    y: Array,
    point_ndim: int | None = None,
    executor: Executor | None = None,
) -> Any:
    """Ask an oracle, whatever its kind, and check what comes back.

    Parameters
    ----------
    oracle : callable
        See `Oracle`. One that is not vectorized is asked pair by pair.
    x, y : array of shape (..., *point_shape)
        The pairs; leading axes broadcast.
    point_ndim : int, optional
        Number of axes of a point. Left out, an oracle that is not vectorized is given x and y as
        one pair, and the leading axes of a vectorized one are those of its answer.
    executor : concurrent.futures.Executor, optional
        Asks the pairs of a batch at once, where the oracle takes one pair at a time.

    Returns
    -------
    int or array of shape (...)
        -1, 0 or +1: an int for one pair, otherwise an array of the dtype and on the device of x.

    Raises
    ------
    OracleError
        If the oracle raises, or answers something else; the message says what.
    BudgetExhaustedError
        If a `Counted` oracle has no duels left.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.oracles import from_objective
    >>> larger = from_objective(lambda x: -x[0])  # one point at a time
    >>> answers(larger, np.array([[1.0], [5.0]]), np.array([2.0]), point_ndim=1)
    array([ 1., -1.])
    """
    return answers_of(oracle)(x, y, point_ndim, executor)


def check_oracle(oracle: Any) -> Oracle:
    """Return the oracle, or raise an error that says why it is none.

    Raises
    ------
    ArgumentError
        If it cannot be called with two points.
    """
    if not callable(oracle):
        raise ArgumentError(f"oracle must be callable, oracle(x, y) -> answer; got {oracle!r:.80}")
    if isinstance(oracle, OracleBase):
        return oracle
    if takes(oracle, 1) and not takes(oracle, 2):
        raise ArgumentError(
            f"oracle must take two points, oracle(x, y); {oracle!r:.80} takes one: if it is the "
            "function to minimise, wrap it, gd.from_objective(f)"
        )
    if is_async(oracle):
        raise ArgumentError(
            f"oracle must answer at once; {oracle!r:.80} has to be awaited: if it is a judge that "
            'answers "a" or "b", wrap it, gd.from_preference(judge)'
        )
    return oracle


def answers_of(oracle: Oracle) -> Callable[..., Any]:
    """`answers` of one oracle, for callers that ask it often."""
    return oracle.answers if isinstance(oracle, OracleBase) else partial(_checked_answers, oracle)


def _checked_answers(
    oracle: Oracle,
    x: Array,
    y: Array,
    point_ndim: int | None = None,
    executor: Executor | None = None,
) -> Any:
    """Ask a user's oracle, with copies: whatever it writes to them, the method's points stay."""
    if getattr(oracle, "vectorized", False) or point_ndim is None:
        answer = _said(oracle, copied(x), copied(y))
    elif x.ndim == y.ndim == point_ndim:
        return checked_answer(_said(oracle, copied(x), copied(y)))
    else:
        lead, pairs = along_one_axis(point_ndim, x, y)
        rows = zip(*map(copied, pairs), strict=True)
        each = run_each(partial(_said, oracle), rows, executor)
        return as_like(np.reshape([checked_answer(a) for a in each], lead), x)
    lead = tuple(np.shape(answer)) if point_ndim is None else leading_shape(point_ndim, x, y)
    return _checked_batch(answer, lead, x) if lead else checked_answer(answer)


def _said(oracle: Oracle, x: Array, y: Array) -> Any:
    """What a user's oracle says; what it raises becomes an OracleError."""
    try:
        return oracle(x, y)
    except (OracleError, BudgetExhaustedError):
        raise
    except Exception as error:
        raise OracleError(f"the oracle raised {type(error).__name__}: {error}") from error


@contextmanager
def handed(oracle: Oracle, unpack: Callable[[Array], Any] | None) -> Iterator[Oracle]:
    """The oracle for one run, whose function is handed what ``unpack`` makes of a point.

    Points are arrays all the way to the function, or judge, that a caller wrote. Where their parts
    have names, this function is given dictionaries; what it is wrapped in notices nothing. An
    oracle of the package is told, for the run that begins; a caller's is wrapped.

    Parameters
    ----------
    oracle : Oracle
        The oracle of the run.
    unpack : callable or None
        Makes of a point what the function takes; None hands it the array.

    Raises
    ------
    ArgumentError
        If the oracle, or one within it, is at work in another run, whose points have other names:
        one object cannot hand its function both.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.manifolds import Euclidean, Product
    >>> sound = Product(Euclidean(1), Euclidean(1), names=["gain", "bass"])
    >>> with handed(lambda a, b: 1 if a["gain"] > b["gain"] else -1, sound.unpack) as quieter:
    ...     answers(quieter, np.array([3.0, 0.0]), np.array([2.0, 5.0]), 1)
    1
    """
    nested = _nested(oracle)
    with _handing:
        for one in nested:
            runs, other = _at_work.get(one, (0, unpack))
            if runs and not alike(other, unpack):
                raise ArgumentError(
                    f"oracle {one!r:.80} is at work in another run, whose points have other names "
                    "or none: make an oracle for each run, of the same function if you like"
                )
        for one in nested:
            _at_work[one] = _at_work.get(one, (0, unpack))[0] + 1, unpack
        ready = told(oracle, unpack)
    try:
        yield ready
    finally:
        with _handing:
            for one in nested:
                _at_work[one] = _at_work[one][0] - 1, unpack


# The oracles of the package in runs: how many, and what these hand to functions. It is kept beside
# the oracles, since what travels to a process is not at work there.
_at_work: WeakKeyDictionary[OracleBase, tuple[int, Callable[[Array], Any] | None]]
_at_work = WeakKeyDictionary()
_handing = threading.Lock()


def _nested(oracle: Oracle) -> list[OracleBase]:
    """An oracle of the package with all that it is wrapped around."""
    found: list[OracleBase] = []
    inner: Any = oracle
    while isinstance(inner, OracleBase):
        found.append(inner)
        inner = getattr(inner, "oracle", None)
    return found


def told(oracle: Oracle, unpack: Callable[[Array], Any] | None) -> Oracle:
    """The oracle once it hands its function what ``unpack`` makes of a point."""
    if isinstance(oracle, OracleBase):
        oracle.hand(unpack)
        return oracle
    oracle = oracle.oracle if isinstance(oracle, _Handed) else oracle
    return oracle if unpack is None else _Handed(oracle, unpack)


def alike(one: Callable[[Array], Any] | None, other: Callable[[Array], Any] | None) -> bool:
    """Whether two make the same of a point: methods of equal manifolds do."""
    owner = getattr(one, "__self__", None)
    return one == other or (owner is not None and owner == getattr(other, "__self__", None))


class _Handed:
    """A caller's oracle that is given unpacked points."""

    def __init__(self, oracle: Oracle, unpack: Callable[[Array], Any]) -> None:
        self.oracle, self.unpack = oracle, unpack
        self.vectorized = getattr(oracle, "vectorized", False)

    def __call__(self, x: Array, y: Array) -> Any:
        return self.oracle(self.unpack(x), self.unpack(y))

    def __repr__(self) -> str:
        return repr(self.oracle)


class OracleBase:
    """Base of the oracles of this package, whose answers need no check."""

    vectorized: bool = False
    point_ndim: int | None = None
    """Number of axes of a point, once that is known."""
    unpack: Callable[[Array], Any] | None = None
    """How the caller's function is handed a point, where not as an array: see `handed`."""

    def __call__(self, x: Array, y: Array) -> Any:
        x, y = (a if hasattr(a, "ndim") else np.asarray(a, dtype=float) for a in (x, y))
        return self.answers(x, y)

    def hand(self, unpack: Callable[[Array], Any] | None) -> None:
        """Give the function what ``unpack`` makes of a point, from now on; see `handed`."""
        self.unpack = unpack

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        """Answer one pair or many; the arguments are those of `geoduel.oracles.base.answers`."""
        raise NotImplementedError


def answer_of(first_larger: Any, second_larger: Any, x: Array) -> Any:
    """Answers from which of two numbers is larger: an int for one pair, else an array like x."""
    if isinstance(first_larger, bool):
        return first_larger - second_larger
    xp = namespace(first_larger)
    sign = xp.astype(first_larger, xp.int8) - xp.astype(second_larger, xp.int8)
    return as_like(sign, x) if sign.ndim else int(sign)


def index_of(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Index of an entry by its number."""
    return tuple(int(i) for i in np.unravel_index(flat, shape))


_EXPECTED = "expected +1 (y is preferred), -1 (x is preferred) or 0 (tie)"


def _no_bool(answer: Any) -> None:
    if is_bool(answer):
        raise OracleError(
            f"the oracle answered {answer!r:.80}, a bool, which could mean either; {_EXPECTED}, "
            "or use from_preference"
        )


def checked_answer(answer: Any) -> int:
    """One answer as an int."""
    if type(answer) is int and -1 <= answer <= 1:
        return answer
    _no_bool(answer)
    shape = tuple(getattr(answer, "shape", ()))
    try:
        if not shape and not isinstance(answer, str) and (number := float(answer)) in (-1, 0, 1):
            return int(number)
    except (TypeError, ValueError):
        pass
    words = f"an array of shape {shape}" if shape else f"{answer!r:.80}"
    hint = ""
    if isinstance(answer, str):
        hint = "; a judge that answers in words is wrapped, gd.from_preference(judge)"
    elif isinstance(answer, float | np.floating):
        hint = "; of a difference that is its sign, int(np.sign(...))"
    raise OracleError(f"the oracle answered {words}; {_EXPECTED}{hint}")


def _checked_batch(answer: Any, lead: tuple[int, ...] | None, x: Array) -> Array:
    """Answers of a vectorized oracle as an array like x."""
    _no_bool(answer)
    shape = tuple(np.shape(answer))
    if lead is not None and shape != lead:
        raise OracleError(
            f"the vectorized oracle answered with shape {shape}, expected {lead}, one answer a pair"
        )
    try:
        answer = as_like(answer, x)
    except Exception as error:
        raise OracleError(f"the oracle answered {answer!r:.80}; {_EXPECTED}") from error
    xp = namespace(x)
    right = (answer == 0) | (xp.abs(answer) == 1)
    if not bool(xp.all(right)):
        bad = np.flatnonzero(~host(right).ravel())
        first = float(host(answer).ravel()[bad[0]])
        raise OracleError(
            f"the oracle answered {first} at index {index_of(int(bad[0]), shape)} "
            f"({bad.size} of {math.prod(shape)} answers are wrong); {_EXPECTED}"
        )
    return answer
