"""How many answers are left? An extrapolation of how the uncertainty has fallen."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["answers_left"]

LEAST = 6  # records below which nothing is said
FURTHEST = 10.0  # how many times as many answers as there are it looks ahead


def answers_left(history: Sequence[tuple[int, float]], accuracy: float) -> int | None:
    """About how many more answers bring the uncertainty down to ``accuracy``.

    Fits two laws to the later half of the history. Clean answers make it exponential,
    log u = c - r n, and noisy ones a power, log u = c - r log n. The law that explains more is
    carried on.

    Parameters
    ----------
    history : sequence of (int, float)
        Answers given, and the uncertainty after them.
    accuracy : float
        What is wanted, of the same unit.

    Returns
    -------
    int or None
        None while there is no telling: a short history, one that does not fall by more than it
        scatters, or an answer that lies too far ahead.

    Examples
    --------
    >>> answers_left([(n, 0.8**n) for n in range(1, 21)], 0.8**30)
    10
    >>> answers_left([(n, n**-0.5) for n in range(1, 101)], 0.05)
    300
    >>> answers_left([(n, 1.0) for n in range(1, 21)], 0.1) is None
    True
    """
    if not history:
        return None
    if history[-1][1] <= accuracy:
        return 0
    late = [(n, u) for n, u in history if u > 0 and n > 0]
    late = late[-max(LEAST, (len(late) + 1) // 2) :]
    if len(late) < LEAST:
        return None
    n, log_u = np.array([n for n, _ in late], float), np.log([u for _, u in late])
    exponential, power = _line(n, log_u), _line(np.log(n), log_u)
    by_power = power[-1] < exponential[-1]
    slope, error, level, _ = power if by_power else exponential
    if not slope < -2 * error:
        return None
    where = level + math.log(accuracy) / slope
    end = math.exp(min(where, 700.0)) if by_power else where
    left = end - n[-1]
    if left > FURTHEST * n[-1]:
        return None
    return max(1, round(left))


def _line(t: np.ndarray, y: np.ndarray) -> tuple[float, float, float, float]:
    """Least squares y = slope (t - level): slope, its error, level, and the sum of squares."""
    centred = t - t.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread if spread else 0.0
    rest = y - y.mean() - slope * centred
    squares = float(rest @ rest)
    error = math.sqrt(squares / max(1, len(t) - 2) / spread) if spread else math.inf
    level = float(t.mean() - y.mean() / slope) if slope else math.inf
    return slope, error, level, squares
