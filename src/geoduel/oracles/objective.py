"""Duels that a hidden function decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from .._numerics.arrays import Array, copied, device, host, namespace
from .._support.check import function, is_async, truth
from .._support.pools import run_each
from ..errors import ArgumentError, BudgetExhaustedError, InfeasibleError, OracleError
from .base import OracleBase, alike, answer_of, index_of
from .memory import ArrayMemory, PointMemory

__all__ = ["Objective", "from_objective", "number_at"]


def from_objective(
    f: Callable[[Array], Any],
    vectorized: bool = False,
    cache: bool = True,
    *,
    maximize: bool = False,
) -> Objective:
    """Oracle that compares the values of a function; nothing but the comparison leaves it.

    Equal values are a tie, so a duel of a point with itself is one.

    Parameters
    ----------
    f : callable
        Maps a point to a number (a float, or an array of one entry): smaller is better. The point
        is a copy, which it may overwrite. ``+inf`` is allowed and loses to every number, which
        suits points that are infeasible; NaN and ``-inf`` are errors.
    vectorized : bool
        f takes leading axes, ``(..., *point_shape)``, and returns an array of shape ``(...)``.
    cache : bool
        Remember the values at the points (or arrays of points) of the last two duels, so that an
        incumbent that is asked again is not evaluated again. An iteration of RDNGD then takes three
        evaluations in place of four. Points are recognised by their content, so arrays may be
        reused and overwritten; a single torch tensor by its identity and version counter. Turn it
        off for a function that returns another value each time.
    maximize : bool
        Larger is better, and ``-inf`` is the value that loses to every number.

    Returns
    -------
    Oracle

    Raises
    ------
    OracleError
        On a duel, if f raises, or returns NaN, the infinity that would win, or something of the
        wrong kind or shape.

    Examples
    --------
    >>> import numpy as np
    >>> oracle = from_objective(lambda x: float(x @ x))
    >>> oracle(np.array([3.0, 4.0]), np.array([1.0, 0.0]))  # y is preferred
    1
    >>> oracle = from_objective(lambda x: np.vecdot(x, x), vectorized=True)
    >>> oracle(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, 0.0]))
    array([ 1., -1.])
    """
    if isinstance(f, OracleBase):
        raise ArgumentError(f"f must be a function of a point; {f!r:.80} is an oracle already")
    function(f, "f", "a point", may_wait=True)
    if is_async(f):
        raise ArgumentError(
            f"f must answer at once; {f!r:.80} has to be awaited: an async judge of two points is "
            "wrapped by gd.from_preference(judge)"
        )
    for name, value in {"vectorized": vectorized, "cache": cache, "maximize": maximize}.items():
        truth(value, name)
    return Objective(f, vectorized, cache, maximize)


class Objective(OracleBase):
    """See `from_objective`."""

    def __init__(
        self, f: Callable[[Array], Any], vectorized: bool, cache: bool, maximize: bool = False
    ) -> None:
        self._f, self.vectorized, self._cache, self._maximize = f, vectorized, cache, maximize
        self._forget()

    def _forget(self) -> None:
        self._points = PointMemory() if self._cache else None
        self._arrays = ArrayMemory() if self._cache else None

    def hand(self, unpack: Callable[[Array], Any] | None) -> None:
        if not alike(unpack, self.unpack):
            self._forget()  # the same numbers are another point now
            self.point_ndim = None
        super().hand(unpack)

    def __reduce__(self) -> tuple[Any, ...]:
        # The remembered values stay behind: they would travel to every worker with every pair.
        settings = (self._f, self.vectorized, self._cache, self._maximize)
        return Objective, settings, {"unpack": self.unpack}

    def __repr__(self) -> str:
        return f"from_objective({self._f!r}{', maximize=True' * self._maximize})"

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        # No sign of a difference, since infinite values may meet.
        fx, fy = self._values(x, y, point_ndim, executor)
        return (fx > fy) - (fx < fy) if type(fx) is float else answer_of(fx > fy, fx < fy, x)

    def difference(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        """f(x) - f(y), for models of noise that depend on it; 0 for equal infinite values."""
        fx, fy = self._values(x, y, point_ndim, executor)
        if isinstance(fx, float):
            return 0.0 if fx == fy else fx - fy
        xp = namespace(fx)
        zero = xp.zeros_like(fx)
        difference = xp.where(fx == fy, zero, fx - xp.where(fx == fy, zero, fy))
        return difference if difference.ndim else float(difference)

    def _values(
        self, x: Array, y: Array, point_ndim: int | None, executor: Executor | None
    ) -> tuple[Any, Any]:
        """Values at two points, as floats; at two arrays of points, as arrays."""
        if point_ndim is None:
            point_ndim = self.point_ndim if self.vectorized else x.ndim
        if x.ndim == point_ndim == y.ndim:
            if self._points is None:
                return self._evaluate_one(x), self._evaluate_one(y)
            return self._points.values(self._evaluate_one, x, y)
        if point_ndim is not None:
            self.point_ndim = point_ndim
        fy = None if self._arrays is None else self._arrays.recall(y, self.point_ndim or 0)
        wanted = [x, y] if fy is None else [x]  # an incumbent is asked second
        if self.vectorized:
            values = [self._evaluate(points) for points in wanted]
            if fy is not None:
                values.append(namespace(y).asarray(fy, device=device(y)))
        else:
            values = self._evaluate_each(wanted, executor)
            if fy is not None:
                values.append(fy)
        if self._arrays is not None:
            self._arrays.keep(x, values[0], self.point_ndim or 0)
            self._arrays.keep(y, values[1], self.point_ndim or 0)
        return values[0], values[1]

    def _call(self, x: Array) -> Any:
        """What the function returns at a copy; what it raises becomes an OracleError."""
        x = copied(x)
        try:
            return self._f(x if self.unpack is None else self.unpack(x))
        except (OracleError, BudgetExhaustedError, InfeasibleError):  # of an oracle inside it
            raise
        except Exception as error:
            raise _failed(error) from error

    def _evaluate_one(self, x: Array) -> float:
        try:
            value = self._call(x)
        except InfeasibleError:
            return math.inf
        if self._maximize:
            return number_at(value, x, maximize=True)
        return value if type(value) is float and value > -math.inf else number_at(value, x)

    def _evaluate_each(self, arrays: list[Array], executor: Executor | None) -> list[np.ndarray]:
        """Values of a function of single points, all asked at once."""
        p = self.point_ndim or 0
        leads = [tuple(a.shape[: a.ndim - p]) for a in arrays]
        rows = [(a[i],) for a, lead in zip(arrays, leads, strict=True) for i in np.ndindex(*lead)]
        each = run_each(self._evaluate_one, rows, executor)
        ends = np.cumsum([math.prod(lead) for lead in leads])
        parts = np.split(np.array(each, dtype=np.float64), ends[:-1])
        return [part.reshape(lead) for part, lead in zip(parts, leads, strict=True)]

    def _evaluate(self, x: Array) -> Array:
        try:
            value = self._call(x)
        except InfeasibleError as error:
            raise OracleError(
                "a vectorized objective cannot say of which point it raised InfeasibleError; "
                "expected an infinite value there"
            ) from error
        xp = namespace(x)
        shape = getattr(value, "shape", None)
        if shape is None:
            shape = np.shape(value)
        if self.point_ndim is None:
            self.point_ndim = x.ndim - len(shape)
        lead = tuple(x.shape[: x.ndim - self.point_ndim])
        if tuple(shape) != lead:
            raise OracleError(
                f"the objective returned shape {tuple(shape)} for points of shape "
                f"{tuple(x.shape)}; expected {lead}, one value a point"
            )
        if hasattr(value, "detach"):
            value = value.detach()  # remembering a graph would keep a network's activations
        try:
            value = _as_floats(xp.asarray(value, device=device(x)))
            value = -value if self._maximize else value
            finite = value > -math.inf
        except Exception as error:
            raise OracleError(
                f"the objective returned {type(value).__name__}, expected an array of numbers: "
                f"{value!r:.80}"
            ) from error
        if not bool(xp.all(finite)):
            bad = np.flatnonzero(~host(finite).ravel())
            worst = float(host(value).ravel()[bad[0]])
            raise OracleError(
                f"the objective returned {-worst if self._maximize else worst} at {bad.size} of "
                f"{math.prod(lead)} points, first at index {index_of(int(bad[0]), lead)}"
            )
        return value


def _as_floats(value: Array) -> Array:
    """Values of any kind of real number; unsigned ones have no negatives, and bools no order."""
    if type(value) is np.ndarray:
        if value.dtype.kind == "f":
            return value
        if value.dtype.kind == "O":
            return value.astype(np.float64)
    xp = namespace(value)
    if xp.isdtype(value.dtype, "real floating"):
        return value
    if not xp.isdtype(value.dtype, ("bool", "integral")):
        raise TypeError("they are neither smaller nor larger")
    widened: Any = value
    return widened.double() if hasattr(widened, "double") else widened * 1.0


def _failed(error: Exception) -> OracleError:
    return OracleError(f"the objective raised {type(error).__name__}: {error}")


def number_at(value: Any, x: Array, maximize: bool = False) -> float:
    """Value at one point as a float that can be compared, smaller is better.

    Raises
    ------
    OracleError
        If it is no number, NaN, or the infinity that would win.
    """
    shape = tuple(getattr(value, "shape", ()))
    if math.prod(shape) != 1:
        raise OracleError(
            f"the objective returned shape {shape} for one point of shape {tuple(x.shape)}; "
            "expected a number"
        )
    try:
        if isinstance(value, str):  # float() would read it
            raise TypeError("a string is not a number")
        value = value.detach() if hasattr(value, "detach") else value
        value = value.item() if shape else value
        if isinstance(value, complex):  # float() of NumPy's would drop a part of it
            raise TypeError("a complex number is neither smaller nor larger")
        number = float(value)
    except Exception as error:
        raise OracleError(
            f"the objective returned {type(value).__name__}, expected a number: {value!r:.80}"
        ) from error
    cost = -number if maximize else number
    if not cost > -math.inf:  # NaN, too
        raise OracleError(f"the objective returned {number} at {x!r:.200}")
    return cost
