"""Values of an objective that are remembered, so that no incumbent is evaluated twice.

What is remembered is what the last two duels were about. In an iteration of RDNGD, which asks for
two duels and whose second one holds the incumbent, that saves one evaluation of four.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._numerics.arrays import Array, host

__all__ = ["ArrayMemory", "PointMemory"]


class PointMemory:
    """Values at the four points of the last two duels.

    Points are recognised by their content, so arrays may be overwritten. What is known is replaced
    as a whole and never changed, so that threads may share it.
    """

    def __init__(self) -> None:
        self._known: tuple[tuple[Any, float], ...] = ()

    def values(self, f: Callable[[Array], float], x: Array, y: Array) -> tuple[float, float]:
        """f(x) and f(y), remembered or new."""
        known = self._known
        kx, ky = _key(x), _key(y)
        if (fx := _find(kx, known)) is None:
            fx = f(x)
        if (fy := fx if kx == ky is not None else _find(ky, known)) is None:
            fy = f(y)
        self._known = ((kx, fx), (ky, fy), *known[:2])
        return fx, fy


def _find(wanted: Any, known: tuple[tuple[Any, float], ...]) -> float | None:
    for key, value in known:
        if key == wanted is not None:
            return value
    return None


def _key(x: Array) -> Any:
    """What tells a point from others, now and after it was overwritten.

    Its content in main memory; identity and version of a tensor on an accelerator, since reading
    it would wait for what runs there; None for arrays that have neither.
    """
    if type(x) is np.ndarray:
        return x.tobytes() if x.ndim == 1 else (x.tobytes(), x.shape)
    try:
        if x.device.type == "cpu":
            return host(x).tobytes(), tuple(x.shape)
        return id(x), x._version
    except (AttributeError, RuntimeError):
        return None


class ArrayMemory:
    """Values at the arrays of points of the last two duels, looked up row by row."""

    def __init__(self) -> None:
        self._tables: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def recall(self, x: Array, point_ndim: int) -> np.ndarray | None:
        """Values at an array of points, if each of them is one of those remembered."""
        points = _rows(x, point_ndim)
        if points is None:
            return None
        tables = [table for table in self._tables if table[0].shape == points.shape]
        row, value = 0, np.zeros(len(points))
        known = np.zeros(len(points), dtype=bool)
        while tables:
            # A table is compared as a whole only if it has the next point that is not known yet, so
            # that new points cost next to nothing.
            wanted = points[row].tobytes()
            hit = next((table for table in tables if table[0][row].tobytes() == wanted), None)
            if hit is None:
                return None
            value = np.where(known, value, hit[1])
            known |= (points == hit[0]).all(axis=1)
            if known.all():
                return value.reshape(x.shape[: x.ndim - point_ndim])
            row = int(known.argmin())
            tables = [table for table in tables if table is not hit]
        return None

    def keep(self, x: Array, value: Array, point_ndim: int) -> None:
        """Remember the values at an array of points."""
        if (points := _rows(x, point_ndim)) is not None:
            self._tables = ((points.copy(), host(value).ravel()), *self._tables[:3])


def _rows(x: Array, point_ndim: int) -> np.ndarray | None:
    """Points as rows of a NumPy array; None where looking them up would not pay."""
    lead = x.shape[: x.ndim - point_ndim]
    if len(lead) == 0 or 0 in x.shape:
        return None
    if type(x) is not np.ndarray:
        if not hasattr(x, "detach") or x.device.type != "cpu":
            return None  # on an accelerator each look would wait for what runs there
        x = host(x)
    return x.reshape(math.prod(lead), -1)
