"""Rankings made of duels, as few as a sort can need: each duel is counted as one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from ..._numerics.arrays import Array

__all__ = ["place", "top"]

Duels = Generator[tuple[Array, Array], Any, Any]


def place(
    x: Array, ranked: Sequence[Array], low: int = 0, high: int | None = None
) -> Generator[tuple[Array, Array], Any, int]:
    """Place of x among points sorted from the best, between two places, by bisection.

    Points that tie with x stay before it.

    Examples
    --------
    >>> search = place(2.5, [1.0, 2.0, 3.0])
    >>> next(search)  # is 2.5 better than 2.0?
    (2.5, 2.0)
    >>> search.send(+1)  # no
    (2.5, 3.0)
    """
    high = len(ranked) if high is None else high
    while low < high:
        middle = (low + high) // 2
        answer = yield x, ranked[middle]
        low, high = (low, middle) if answer < 0 else (middle + 1, high)
    return low


def top(points: Sequence[Array], k: int) -> Generator[tuple[Array, Array], Any, list[int]]:
    """Indices of the k best points, the best first: the (m, k)-ranking oracle, in duels.

    Each point is put in its place among the k best so far by bisection. Once there are k, a first
    duel with the last of them tells whether that is worth while.
    """
    order: list[int] = []
    for i, x in enumerate(points):
        full = len(order) == k
        if full and (yield x, points[order[-1]]) >= 0:
            continue
        ranked = [points[j] for j in order]
        order.insert((yield from place(x, ranked, 0, len(order) - full)), i)
        del order[k:]
    return order
