"""Duels that a hidden function decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from .._numerics.arrays import Array, device, host, namespace
from .._numerics.batches import as_like
from ..errors import ArgumentError, BudgetExhaustedError, OracleError
from .base import OracleBase, index_of

__all__ = ["Objective", "from_objective"]


def from_objective(
    f: Callable[[Array], Any], vectorized: bool = False, cache: bool = True
) -> Objective:
    """Oracle that compares the values of a function; nothing but the comparison leaves it.

    Equal values are a tie, so a duel of a point with itself is one.

    Parameters
    ----------
    f : callable
        Maps a point to a number (a float, or an array without axes): smaller is better. ``+inf``
        is allowed and loses to every number, which suits points that are infeasible; NaN and
        ``-inf`` are errors.
    vectorized : bool
        f takes leading axes, ``(..., *point_shape)``, and returns an array of shape ``(...)``.
    cache : bool
        Remember the values at the points (or arrays of points) of the last two duels, so that an
        incumbent that is asked again is not evaluated again: three evaluations an iteration of
        RDNGD in place of four. Points are recognised by their content, so arrays may be reused and
        overwritten; a single torch tensor by its identity and version counter. Turn it off for a
        function that returns another value each time.

    Returns
    -------
    Oracle

    Raises
    ------
    OracleError
        On a duel, if f raises, or returns NaN, ``-inf`` or something of the wrong kind or shape.

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
    if not callable(f):
        raise ArgumentError(f"f must be a function of a point, got {f!r:.80}")
    return Objective(f, vectorized, cache)


_LOWEST = -math.inf


class Objective(OracleBase):
    """See `from_objective`."""

    def __init__(self, f: Callable[[Array], Any], vectorized: bool, cache: bool) -> None:
        self._f, self.vectorized, self._cache = f, vectorized, cache
        # Shape of the points of the last two duels, and the key and the value of each, newest
        # first. Replaced as a whole and never changed, so that threads may share it.
        self._known: tuple[Any, ...] = (None,) * 9
        self._arrays: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # What is remembered stays behind: it would travel to every worker with every pair.
        return Objective, (self._f, self.vectorized, self._cache)

    def __repr__(self) -> str:
        return f"from_objective({self._f!r})"

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        if x.ndim == point_ndim == y.ndim or self._is_single(x, y, point_ndim):
            fx, fy = self._both(x, y)
            return (fx > fy) - (fx < fy)
        fx, fy = self._values(x, y, point_ndim, executor)
        xp = namespace(fx)
        # Not the sign of a difference: infinite values may meet.
        sign = xp.astype(fx > fy, fx.dtype) - xp.astype(fx < fy, fx.dtype)
        return as_like(x, sign) if sign.ndim else int(sign)

    def difference(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        """f(x) - f(y), for models of noise that depend on it; 0 for equal infinite values."""
        if self._is_single(x, y, point_ndim):
            fx, fy = self._both(x, y)
            return 0.0 if fx == fy else fx - fy
        fx, fy = self._values(x, y, point_ndim, executor)
        xp = namespace(fx)
        zero = xp.zeros_like(fx)
        difference = xp.where(fx == fy, zero, fx - xp.where(fx == fy, zero, fy))
        return difference if difference.ndim else float(difference)

    def _is_single(self, x: Array, y: Array, point_ndim: int | None) -> bool:
        if point_ndim is None:
            if not self.vectorized:
                return True
            point_ndim = self.point_ndim
        return x.ndim == point_ndim == y.ndim

    # -- one point ---------------------------------------------------------------------------------

    def _both(self, x: Array, y: Array) -> tuple[float, float]:
        """Values at two points, remembered or new."""
        if self._cache and type(x) is np.ndarray is type(y):
            kx, ky, shape = x.tobytes(), y.tobytes(), x.shape
        else:
            kx, ky, shape = _key(x), _key(y), tuple(x.shape)
            if not self._cache or kx is None or ky is None:
                return self._evaluate_one(x), self._evaluate_one(y)
        held, k1, f1, k2, f2, k3, f3, k4, f4 = self._known
        if held != shape:  # the same bytes in another shape are another point
            k1 = k2 = k3 = k4 = None
        # Written out: around a cheap function this is what a run spends its time on.
        try:
            if kx == k1:
                fx = f1
            elif kx == k2:
                fx = f2
            elif kx == k3:
                fx = f3
            else:
                fx = f4 if kx == k4 else self._f(x)
            if ky == kx:
                fy = fx
            elif ky == k1:
                fy = f1
            elif ky == k2:
                fy = f2
            elif ky == k3:
                fy = f3
            else:
                fy = f4 if ky == k4 else self._f(y)
        except (OracleError, BudgetExhaustedError):  # of an oracle inside it
            raise
        except Exception as error:
            raise _objective_failed(error) from error
        if not (type(fx) is float is type(fy) and fx > _LOWEST and fy > _LOWEST):
            fx, fy = _value(fx, x), _value(fy, y)
        self._known = shape, kx, fx, ky, fy, k1, f1, k2, f2
        return fx, fy

    def _evaluate_one(self, x: Array) -> float:
        try:
            value = self._f(x)
        except (OracleError, BudgetExhaustedError):  # of an oracle inside it
            raise
        except Exception as error:
            raise _objective_failed(error) from error
        return _value(value, x)

    # -- leading axes ------------------------------------------------------------------------------

    def _values(
        self, x: Array, y: Array, point_ndim: int | None, executor: Executor | None
    ) -> tuple[Array, Array]:
        """Values at all points; of a function of single points as float64 NumPy arrays."""
        if point_ndim is not None:
            self.point_ndim = point_ndim
        fy = self._recall(y)  # an incumbent is asked second
        wanted = [x, y] if fy is None else [x]
        if self.vectorized:
            values = [self._evaluate(points) for points in wanted]
            if fy is not None:
                values.append(namespace(y).asarray(fy, device=device(y)))
        else:
            values = self._evaluate_each(wanted, executor)
            if fy is not None:
                values.append(fy)
        self._remember(x, values[0])
        self._remember(y, values[1])
        return values[0], values[1]

    def _evaluate_each(self, arrays: list[Array], executor: Executor | None) -> list[np.ndarray]:
        """Values of a function of single points, all asked at once."""
        p = self.point_ndim or 0
        leads = [tuple(a.shape[: a.ndim - p]) for a in arrays]
        rows = [a[i] for a, lead in zip(arrays, leads, strict=True) for i in np.ndindex(*lead)]
        values = np.array(
            list((map if executor is None else executor.map)(self._evaluate_one, rows))
        )
        ends = np.cumsum([math.prod(lead) for lead in leads])
        parts = np.split(values.astype(np.float64), ends[:-1])
        return [part.reshape(lead) for part, lead in zip(parts, leads, strict=True)]

    def _evaluate(self, x: Array) -> Array:
        try:
            value = self._f(x)
        except (OracleError, BudgetExhaustedError):  # of an oracle inside it
            raise
        except Exception as error:
            raise _objective_failed(error) from error
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
            value = xp.asarray(value, device=device(x))
            finite = value > -math.inf
        except Exception as error:
            raise OracleError(
                f"the objective returned {type(value).__name__}, expected an array of numbers: "
                f"{value!r:.80}"
            ) from error
        if not bool(xp.all(finite)):
            bad = np.flatnonzero(~host(finite).ravel())
            raise OracleError(
                f"the objective returned {float(host(value).ravel()[bad[0]])} at {bad.size} of "
                f"{math.prod(lead)} points, first at index {index_of(int(bad[0]), lead)}"
            )
        return value

    def _recall(self, x: Array) -> np.ndarray | None:
        """Values at an array of points, if each of them is one of those remembered."""
        points = self._table(x)
        if points is None:
            return None
        tables = [e for e in self._arrays if e[0].shape == points.shape]
        row = 0
        known = np.zeros(len(points), dtype=bool)
        value = np.zeros(len(points))
        while tables:
            # A table is compared as a whole only if it has the next point that is not known yet, so
            # that new points cost next to nothing.
            wanted = points[row].tobytes()
            hit = next((e for e in tables if e[0][row].tobytes() == wanted), None)
            if hit is None:
                return None
            value = np.where(known, value, hit[1])
            known |= (points == hit[0]).all(axis=1)
            if known.all():
                return value.reshape(x.shape[: x.ndim - (self.point_ndim or 0)])
            row = int(known.argmin())
            tables = [e for e in tables if e is not hit]
        return None

    def _remember(self, x: Array, value: Array) -> None:
        if (points := self._table(x)) is not None:
            self._arrays = ((points.copy(), host(value).ravel()), *self._arrays[:3])

    def _table(self, x: Array) -> np.ndarray | None:
        """Points as rows of a NumPy array; None where looking them up would not pay."""
        lead = x.shape[: x.ndim - (self.point_ndim or 0)]
        if not self._cache or len(lead) == 0 or 0 in x.shape:
            return None
        if type(x) is not np.ndarray:
            if not hasattr(x, "detach") or x.device.type != "cpu":
                return None  # on an accelerator each look would wait for what runs there
            x = host(x)
        return x.reshape(math.prod(lead), -1)


def _key(x: Array) -> bytes | tuple[int, int] | None:
    """What tells a point that is no NumPy array from others, now and after it was overwritten.

    Its content in main memory; identity and version of a tensor on an accelerator, since reading
    it would wait for what runs there; None for arrays that have neither.
    """
    try:
        if x.device.type == "cpu":
            return host(x).tobytes()
        return id(x), x._version
    except (AttributeError, RuntimeError):
        return None


def _objective_failed(error: Exception) -> OracleError:
    return OracleError(f"the objective raised {type(error).__name__}: {error}")


def _value(value: Any, x: Array) -> float:
    """Value of an objective at one point as a float that can be compared."""
    shape = tuple(getattr(value, "shape", ()))
    if shape:
        raise OracleError(
            f"the objective returned shape {shape} for one point of shape {tuple(x.shape)}; "
            "expected a number"
        )
    try:
        if isinstance(value, str):  # float() would read it
            raise TypeError("a string is not a number")
        value = float(value.detach() if hasattr(value, "detach") else value)
    except Exception as error:
        raise OracleError(
            f"the objective returned {type(value).__name__}, expected a number: {value!r:.80}"
        ) from error
    if not value > _LOWEST:  # NaN, too
        raise OracleError(f"the objective returned {value} at {x!r:.200}")
    return value
