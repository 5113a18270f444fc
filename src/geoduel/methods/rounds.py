"""Duels of many problems, asked together: steps of one problem each, in lock step."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._numerics.arrays import Array, device, host, namespace

__all__ = ["Failed", "Round", "Rounds", "in_lock_step", "renumbered"]


class Round(NamedTuple):
    """What some of the problems ask at one time; the others ask nothing.

    Attributes
    ----------
    who : ndarray of shape (b,)
        Numbers of the problems that ask.
    x, y : array of shape (k, b, *point_shape)
        Their pairs.
    asked : ndarray of bool, shape (k, b)
        The others are there to fill the arrays; answers to them mean nothing.
    """

    who: np.ndarray
    x: Array
    y: Array
    asked: np.ndarray


class Failed(NamedTuple):
    """In place of a state: the error that ended a step, and the pair asked before."""

    error: Exception
    pair: tuple[Array, Array] | None


Rounds: TypeAlias = Generator[Round, Any, list[Any]]
"""Yields rounds; is sent the answers, of shape (k, b), and which of the b problems get them.

The others have no duels left, and end their step. It returns the next state of each problem; None
for one that has not come to the end of its step, and `Failed` where an error was raised."""


def in_lock_step(steps: Iterable[Generator[tuple[Array, Array], Any, Any]], axes: int) -> Rounds:
    """The steps of `Method.step`, one a problem, whose next questions are asked together.

    Parameters
    ----------
    steps : iterable of generators
        Each is sent what it would be sent alone, so each does what it would do alone.
    axes : int
        Number of axes of a point.
    """
    steps = list(steps)
    ends: list[Any] = [None] * len(steps)
    answers: dict[int, Any] = dict.fromkeys(range(len(steps)))
    asked: dict[int, tuple[Array, Array]] = {}
    while answers:
        pairs: dict[int, tuple[Array, Array]] = {}
        for j, answer in answers.items():
            try:
                pairs[j] = steps[j].send(answer)
            except StopIteration as end:
                ends[j] = end.value
            except Exception as error:
                ends[j] = Failed(error, asked.get(j))
        if not pairs:
            break
        asked |= pairs
        new = _round(pairs, axes)
        together, served = yield new
        numbers = host(together)
        answers = {}
        for i, (j, (x, _)) in enumerate(pairs.items()):
            if served[i]:
                answers[j] = int(numbers[0, i]) if x.ndim == axes else together[: len(x), i]
            else:
                steps[j].close()
    return ends


def renumbered(rounds: Rounds, who: list[int]) -> Rounds:
    """The same rounds, of problems that have these numbers."""
    numbers, answer = np.array(who, dtype=int), None
    while True:
        try:
            new = rounds.send(answer)
        except StopIteration as end:
            return end.value
        answer = yield new._replace(who=numbers[new.who])


def _round(pairs: dict[int, tuple[Array, Array]], axes: int) -> Round:
    """Pairs of points, or of as many points as a problem likes, side by side."""
    one = next(iter(pairs.values()))[0]
    xp = namespace(one)
    counts = [1 if x.ndim == axes else len(x) for x, _ in pairs.values()]
    shape = (max(counts), len(counts), *one.shape[one.ndim - axes :])
    a, b = (xp.empty(shape, dtype=one.dtype, device=device(one)) for _ in "ab")
    for i, (x, y) in enumerate(pairs.values()):
        k = counts[i]
        a[:k, i, ...], b[:k, i, ...] = x, y
        if k < shape[0]:  # the first point, against itself
            a[k:, i, ...] = b[k:, i, ...] = x if x.ndim == axes else x[0, ...]
    asked = np.arange(shape[0])[:, None] < np.array(counts)
    return Round(np.fromiter(pairs, int), a, b, asked)
