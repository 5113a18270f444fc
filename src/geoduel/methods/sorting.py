"""Rankings as questions: several points put in order, by an oracle that ranks or by duels."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np

from .._numerics.arrays import Array, host, namespace
from ..oracles.ranking import places_of

__all__ = ["Ranks", "in_pairs", "merge_insertion", "most_duels", "sorted_by_duels"]

Pairs = Generator[tuple[int, int], int, Any]


class Ranks(NamedTuple):
    """A question: each of r groups of k points is to be put in order.

    It is answered by their places, an array of shape (r, k): the number of better points.

    Attributes
    ----------
    points : array of shape (r, k, *point_shape)
        The points.
    """

    points: Array


def most_duels(k: int) -> int:
    """Duels that sorting k points takes at most by `merge_insertion`.

    Examples
    --------
    >>> [most_duels(k) for k in range(1, 11)]
    [0, 1, 3, 5, 7, 10, 13, 16, 19, 22]
    """
    return sum(math.ceil(math.log2(3 * i / 4)) for i in range(2, k + 1))


def merge_insertion(k: int) -> Pairs:
    """Sort k points by as few comparisons as are known to suffice for up to eleven.

        compare pairs; sort the worse ones of all pairs, the chain
        put the better ones before theirs, by bisection, in this order: 1; 3, 2; 5, 4; 11, ..., 6

    In this order the places to choose from are one fewer than a power of two. Of points that are
    alike, one stands for all.

    Yields pairs of numbers (i, j), and is sent -1 if i is better, +1 if j is, 0 if they are alike.
    Returns the groups of points that are alike, the best first.

    References
    ----------
    Ford and Johnson, A tournament problem, American Mathematical Monthly 66 (1959); Knuth, The art
    of computer programming 3, section 5.3.1.

    Examples
    --------
    >>> sort = merge_insertion(2)
    >>> next(sort)
    (0, 1)
    >>> try:
    ...     sort.send(+1)
    ... except StopIteration as end:
    ...     end.value
    [[1], [0]]
    """
    alike = {i: [i] for i in range(k)}  # of each that stands for others: which

    def join(i: int, j: int) -> None:
        alike[i] += alike.pop(j)

    def sort(items: list[int]) -> Generator[tuple[int, int], int, list[int]]:
        if len(items) < 2:
            return items
        better_of: dict[int, int] = {}
        worse = []
        for i, j in zip(items[::2], items[1::2], strict=False):
            answer = yield i, j
            i, j = (j, i) if answer < 0 else (i, j)  # j is better, or alike
            worse.append(i)
            if answer:
                better_of[i] = j
            else:
                join(i, j)
        chain = yield from sort(worse)
        waiting: list[list[int]] = []
        for stands in chain:
            waiting.append([better_of[i] for i in alike[stands] if i in better_of])
        ends: list[int | None] = [*chain, None]  # each waits before its end; an odd one anywhere
        waiting.append(items[len(items) - len(items) % 2 :])
        for place in _insertions(len(ends)):
            for new in waiting[place]:
                end = ends[place]
                low, high = 0, len(chain) if end is None else chain.index(end)
                while low < high:
                    middle = (low + high) // 2
                    answer = yield new, chain[middle]
                    if not answer:
                        join(chain[middle], new)
                        break
                    low, high = (low, middle) if answer < 0 else (middle + 1, high)
                else:
                    chain.insert(low, new)
        return chain

    order = yield from sort(list(range(k)))
    return [alike[i] for i in order]


def _insertions(n: int) -> list[int]:
    """0; 2, 1; 4, 3; 10, ..., 5; and so on: each run backwards from the next (2^j ± 1)/3."""
    order: list[int] = []
    j = 1
    while len(order) < n:
        j += 1
        order += reversed(range(len(order), min(n, (2**j + (-1) ** (j - 1)) // 3)))
    return order


def sorted_by_duels(points: Array) -> Generator[tuple[Array, Array], Any, np.ndarray]:
    """Places of the points of `Ranks`, by duels; all groups are sorted at once.

    Points that rounding makes equal are alike, whatever a noisy oracle says about them.
    """
    r, k = points.shape[:2]
    xp, axes = namespace(points), tuple(range(1, points.ndim - 1))
    sorts, places = [merge_insertion(k) for _ in range(r)], np.zeros((r, k), dtype=int)
    answers: dict[int, int | None] = dict.fromkeys(range(r))
    while answers:
        pairs: dict[int, tuple[int, int]] = {}
        for row, answer in answers.items():
            try:
                pairs[row] = sorts[row].send(answer)  # type: ignore[arg-type]
            except StopIteration as end:
                places[row] = places_of(end.value, k)
        if not pairs:
            break
        x, y = (
            xp.stack([points[row, pair[side], ...] for row, pair in pairs.items()])
            for side in (0, 1)
        )
        differ = host(xp.any(x != y, axis=axes))
        told = host((yield x, y)) * differ
        answers = dict(zip(pairs, map(int, told), strict=True))
    return places


def in_pairs(
    step: Generator[Any, Any, Any], rank: Callable[[Array], np.ndarray] | None = None
) -> Generator[tuple[Array, Array], Any, Any]:
    """The same step, whose rankings are answered by ``rank``, or made of duels."""
    answer = None
    while True:
        try:
            question = step.send(answer)
        except StopIteration as end:
            return end.value
        if not isinstance(question, Ranks):
            answer = yield question
        elif rank is None:
            answer = yield from sorted_by_duels(question.points)
        else:
            answer = rank(question.points)
