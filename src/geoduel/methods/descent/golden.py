"""Golden-section search by duels, along a geodesic: one duel a section."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any

from ..._numerics.arrays import Array

__all__ = ["golden_section"]

SECTION = (math.sqrt(5) - 1) / 2


def golden_section(
    point: Callable[[float], Array], length: float, accuracy: float, most: float = math.inf
) -> Generator[tuple[Array, Array], Any, float]:
    """Time t at which ``point(t)`` is best, for an f that has one valley along the line.

    Steps from 0 are doubled while they win, which brackets the best t, however far it is. Then the
    bracket is cut in the golden ratio until it is ``accuracy`` times as wide.

    Parameters
    ----------
    point : callable
        ``point(t)``, a point of the line for every number t.
    length : float
        The first step, > 0.
    accuracy : float
        Final width of the bracket, as a share of its first one.
    most : float
        Where the line ends, to either side.

    Examples
    --------
    >>> search = golden_section(lambda t: t, 1.0, 1e-3)
    >>> answer = None
    >>> try:
    ...     while True:
    ...         x, y = search.send(answer)
    ...         answer = 1 if abs(x - 5) > abs(y - 5) else -1
    ... except StopIteration as done:
    ...     found = done.value
    >>> abs(found - 5) < 0.01
    True
    """
    length = min(length, most)
    t = length if (yield point(length), point(0.0)) < 0 else 0.0
    if not t:
        t = -length if (yield point(-length), point(0.0)) < 0 else 0.0
    low, high = -length, length
    while t:
        low, high = sorted((t / 2 if abs(t) > length else 0.0, 2 * t))
        if abs(2 * t) > most or (yield point(2 * t), point(t)) >= 0:
            break
        t *= 2

    low, high = max(low, -most), min(high, most)
    width = accuracy * (high - low)
    left, right = high - SECTION * (high - low), low + SECTION * (high - low)
    while high - low > width:
        if (yield point(left), point(right)) <= 0:
            high, right = right, left
            left = high - SECTION * (high - low)
        else:
            low, left = left, right
            right = low + SECTION * (high - low)
    return (low + high) / 2
