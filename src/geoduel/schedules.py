"""Step-size schedules η_k.

A schedule is called with the iteration, ``schedule(k)`` for k = 0, 1, ..., and answers a float: a
geodesic length (an angle in radians on a sphere or a rotation group). Schedules are small frozen
values: they hold no state, compare equal when their settings do, and can be pickled.

Some need to know how many iterations are planned. Without ``total``, the run that uses the
schedule fills it in with ``schedule.bind(total)``.

>>> eta = cosine(0.5, 0.1)
>>> eta
Cosine(first=0.5, last=0.1, total=None)
>>> eta = eta.bind(10)
>>> [round(eta(k), 6) for k in (0, 5, 10)]
[0.5, 0.3, 0.1]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, nan, pi, sin
from numbers import Real
from typing import Protocol, runtime_checkable

import numpy as np

from ._support.check import function, nonnegative, positive, positive_int
from .errors import ArgumentError

__all__ = [
    "Constant",
    "Cosine",
    "Custom",
    "Geometric",
    "Schedule",
    "as_schedule",
    "constant",
    "cosine",
    "draw_iterate",
    "geometric",
    "iterate_probabilities",
    "planned",
]


@runtime_checkable
class Schedule(Protocol):
    """What every schedule does: answer η_k, and accept the planned number of iterations."""

    def __call__(self, k: int, /) -> float:
        """Step size η_k of iteration k."""
        ...

    def bind(self, total: int, /) -> Schedule:
        """Return the schedule planned for ``total`` iterations; itself if it needs no plan."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """η_k = ``value``; see `constant`."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", positive(self.value, "value"))

    def __call__(self, k: int, /) -> float:
        return self.value

    def bind(self, total: int, /) -> Constant:
        """Return itself: a constant needs no plan."""
        return self


@dataclass(frozen=True, slots=True)
class Cosine:
    """Cosine annealing from ``first`` to ``last`` in ``total`` iterations; see `cosine`."""

    first: float
    last: float
    total: int | None = None
    # The constants of a call, worked out once: the call is on the path of every iteration.
    _end: int = field(init=False, repr=False, compare=False)
    _span: float = field(init=False, repr=False, compare=False)
    _rate: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_span(self, positive(self.first, "first"), nonnegative(self.last, "last"))
        object.__setattr__(self, "_end", self.total or 0)
        object.__setattr__(self, "_span", self.first - self.last)
        object.__setattr__(self, "_rate", pi / 2 / (self.total or 1))

    def __call__(self, k: int, /) -> float:
        left = self._end - k
        if left <= 0:
            if self.total is None:
                raise _unbound(self)
            return self.last
        # (1 + cos t)/2 = sin²((π - t)/2), which keeps its digits where cos t is close to -1.
        s = sin(left * self._rate)
        return self.last + self._span * (s * s)

    def bind(self, total: int, /) -> Cosine:
        """Return the schedule planned for ``total`` iterations, unless it already has a plan."""
        return self if self.total is not None else replace(self, total=total)

    @property
    def sum(self) -> float:
        """Exact Σ η_k over k = 0, ..., T-1 (Lemma B.1 with any last step): T last + b (T+1)."""
        T, b = self._plan()
        return T * self.last + b * (T + 1)

    @property
    def sum_of_squares(self) -> float:
        """Exact Σ η_k² over k = 0, ..., T-1: T m² + 2 m b + b² T/2 with m = last + b."""
        T, b = self._plan()
        m = self.last + b
        # Σ cos²(kπ/T) is T/2 only from T = 2 on; the printed lemma overlooks T = 1.
        return T * m**2 + 2 * m * b + b**2 * (T / 2 if T > 1 else 1)

    def _plan(self) -> tuple[int, float]:
        if self.total is None:
            raise _unbound(self)
        return self.total, (self.first - self.last) / 2


@dataclass(frozen=True, slots=True)
class Geometric:
    """Steps that shrink by a fixed factor; see `geometric`."""

    first: float
    ratio: float | None = None
    last: float | None = None
    total: int | None = None

    def __post_init__(self) -> None:
        first = positive(self.first, "first")
        if (self.ratio is None) == (self.last is None):
            raise ArgumentError(
                "geometric needs a ratio, or the last step and the total; "
                f"got ratio={self.ratio!r}, last={self.last!r}"
            )
        if self.last is not None:
            _check_span(self, first, positive(self.last, "last"))
            return
        ratio = positive(self.ratio, "ratio")
        if ratio > 1:
            raise ArgumentError(f"ratio must be in (0, 1], got {self.ratio!r}")
        if self.total is not None:
            raise ArgumentError(f"total goes with last, not with ratio; got total={self.total!r}")
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "ratio", ratio)

    def __call__(self, k: int, /) -> float:
        if self.ratio is not None:
            return self.first * self.ratio**k
        if self.total is None or self.last is None:
            raise _unbound(self)
        if k >= self.total:
            return self.last
        return self.first * (self.last / self.first) ** (k / self.total)

    def bind(self, total: int, /) -> Geometric:
        """Return the schedule planned for ``total`` iterations, unless it needs no plan."""
        planned = self.ratio is not None or self.total is not None
        return self if planned else replace(self, total=total)


@dataclass(frozen=True, slots=True)
class Custom:
    """A caller's own function k -> η_k, its answers checked; see `as_schedule`."""

    function: Callable[[int], float]
    name: str = field(default="step_size", repr=False, compare=False)

    def __call__(self, k: int, /) -> float:
        value = self.function(k)
        try:
            step = float(value)
        except (TypeError, ValueError):
            step = nan
        if not 0.0 <= step < inf:
            raise ArgumentError(
                f"{self.name}({k}) must be a finite number >= 0, got {value!r} from "
                f"{self.function!r}"
            )
        return step

    def bind(self, total: int, /) -> Custom:
        """Pass the plan on to the function if it has a ``bind`` of its own."""
        bind = getattr(self.function, "bind", None)
        return self if bind is None else Custom(bind(total), self.name)


def constant(value: float) -> Constant:
    """Constant step size η_k = value.

    Parameters
    ----------
    value : float, > 0
        Step, a geodesic length.

    Returns
    -------
    Constant
        The schedule.

    Raises
    ------
    ArgumentError
        If the value is not a finite number > 0.

    Examples
    --------
    >>> constant(0.01)(7)
    0.01
    """
    return Constant(value)


def cosine(first: float, last: float = 0.0, total: int | None = None) -> Cosine:
    """Cosine annealing step size: long steps first, then a smooth landing on the last one.

    ``η_k = last + (first - last) (1 + cos(π k / total)) / 2`` for k = 0, ..., total. Beyond
    the plan it stays at ``last``.

    Parameters
    ----------
    first, last : float, first >= last >= 0 and first > 0
        Steps at k = 0 and k = total, geodesic lengths: η_0 and η_min of the paper.
    total : int, positive, optional
        Planned number of iterations T. Left out, the run that uses the schedule fills in its own.

    Returns
    -------
    Cosine
        The schedule. Its ``sum`` and ``sum_of_squares`` over k = 0, ..., T-1 are closed forms.

    Raises
    ------
    ArgumentError
        If an argument is outside its range; on a call if no total was ever given.

    References
    ----------
    Ren, Roy and Ma, Riemannian Dueling Optimization, Definition 3.5 and Lemma B.1; Loshchilov and
    Hutter, SGDR, ICLR 2017.

    Examples
    --------
    >>> eta = cosine(0.4, 0.0, total=4)
    >>> [round(eta(k), 4) for k in range(5)]
    [0.4, 0.3414, 0.2, 0.0586, 0.0]
    >>> eta.sum, round(sum(eta(k) for k in range(4)), 12)
    (1.0, 1.0)
    """
    return Cosine(first, last, total)


def geometric(
    first: float,
    ratio: float | None = None,
    *,
    last: float | None = None,
    total: int | None = None,
) -> Geometric:
    """Geometric step size: the same factor from each step to the next.

    Give the factor, ``η_k = first ratio^k``; or the last step,
    ``η_k = first (last/first)^(k/total)`` for k = 0, ..., total, and ``last`` from then on.

    Parameters
    ----------
    first : float, > 0
        Step at k = 0, a geodesic length.
    ratio : float, in (0, 1], optional
        Factor between one step and the next.
    last : float, in (0, first], optional
        Step at k = total, in place of the ratio.
    total : int, positive, optional
        Planned number of iterations, with ``last``. Left out, the run fills in its own.

    Returns
    -------
    Geometric
        The schedule.

    Raises
    ------
    ArgumentError
        If an argument is outside its range, or both or neither of ratio and last are given.

    Examples
    --------
    >>> [geometric(1.0, 0.5)(k) for k in range(4)]
    [1.0, 0.5, 0.25, 0.125]
    >>> [round(geometric(1.0, last=0.01, total=2)(k), 6) for k in range(4)]
    [1.0, 0.1, 0.01, 0.01]
    """
    return Geometric(first, ratio, last, total)


def as_schedule(
    value: float | Schedule | Callable[[int], float], name: str = "step_size"
) -> Schedule:
    """Turn what a caller may pass as ``step_size`` into a schedule.

    Parameters
    ----------
    value : float, schedule, or callable
        A number > 0 becomes `constant`; a schedule of this module stays what it is. Any other
        callable k -> η_k is wrapped, so that each answer is checked to be finite and >= 0.
    name : str
        What to call it in an error.

    Returns
    -------
    Schedule
        Callable, with ``bind(total)``, which does nothing where no plan is needed.

    Raises
    ------
    ArgumentError
        If the value is none of these; later, if the callable answers something else than a finite
        number >= 0.

    Examples
    --------
    >>> as_schedule(0.1)
    Constant(value=0.1)
    >>> as_schedule(lambda k: 1 / (k + 1)).bind(100)(3)
    0.25
    """
    if isinstance(value, Constant | Cosine | Geometric | Custom):
        return value
    if callable(value):
        function(value, name, "the iteration k")
        return Custom(value, name)
    if isinstance(value, Real) and not isinstance(value, bool):
        return Constant(positive(value, name))
    raise ArgumentError(
        f"{name} must be a number > 0, a schedule, or a callable k -> step; got {value!r}"
    )


def _check_span(schedule: Cosine | Geometric, first: float, last: float) -> None:
    """Check the order of first and last; store them as floats, and the total as an int."""
    if last > first:
        raise ArgumentError(f"last must be <= first, got first={first!r}, last={last!r}")
    object.__setattr__(schedule, "first", first)
    object.__setattr__(schedule, "last", last)
    if schedule.total is not None:
        object.__setattr__(schedule, "total", positive_int(schedule.total, "total"))


def planned(schedule: float | Schedule | Callable[[int], float], total: int | None) -> Schedule:
    """The schedule for a run of that many iterations; None for a run without a known end.

    Raises
    ------
    ArgumentError
        If the schedule needs a plan and the run has none.

    Examples
    --------
    >>> planned(cosine(0.4), 100).total
    100
    """
    schedule = as_schedule(schedule)
    if total:
        return schedule.bind(total)
    try:
        schedule(0)
    except ArgumentError as error:
        raise ArgumentError(f"give iterations= or budget=: {error}") from None
    return schedule


def _unbound(schedule: Cosine | Geometric) -> ArgumentError:
    return ArgumentError(
        f"{schedule!r} does not know the planned number of iterations: "
        "give total=..., or call bind(total)"
    )


# ---- The random iterate of Theorem 3.6 -----------------------------------------------------------


def iterate_probabilities(step_size: Schedule, iterations: int) -> np.ndarray:
    """Distribution of the random iterate x_R that Theorem 3.6 returns.

    ``P(R = r) = η_r / Σ_{k=0}^{T-1} η_k``, uniform for a constant step size. (The paper sums over
    k = 1, ..., T, with which the probabilities do not add up to 1.)

    Parameters
    ----------
    step_size : schedule
        η_k, see `geoduel.schedules`.
    iterations : int, positive
        T.

    Returns
    -------
    ndarray of shape (iterations,)
        The probabilities.

    Raises
    ------
    ArgumentError
        If iterations is not a positive integer, or every step is zero.

    Examples
    --------
    >>> iterate_probabilities(cosine(1.0, 0.0, total=2), 2).round(6)
    array([0.666667, 0.333333])
    """
    iterations = positive_int(iterations, "iterations")
    step_size = step_size.bind(iterations)
    steps = np.array([step_size(k) for k in range(iterations)])
    if not (total := steps.sum()) > 0:
        raise ArgumentError(f"step_size must be > 0 somewhere in {iterations} iterations")
    return steps / total


def draw_iterate(
    step_size: Schedule, iterations: int, rng: np.random.Generator, size: tuple[int, ...] = ()
) -> int | np.ndarray:
    """Draw the index R of the iterate that Theorem 3.6 returns, to be done before the run.

    Parameters
    ----------
    step_size, iterations
        As in `iterate_probabilities`.
    rng : numpy.random.Generator
        Source of randomness.
    size : tuple of int
        Shape of independent draws; () draws one.

    Returns
    -------
    int, or ndarray of int of the given shape
        R, from 0 to iterations - 1. Iterations after R need not be run.

    Examples
    --------
    >>> draw_iterate(constant(0.1), 1000, np.random.default_rng(0))
    636
    """
    cumulative = np.cumsum(iterate_probabilities(step_size, iterations))
    # Scaled by the last entry, since rounding may leave it a little below 1.
    draws = rng.random(size) if size else rng.random()
    chosen = np.searchsorted(cumulative, draws * cumulative[-1], side="right")
    return chosen if size else int(chosen)
