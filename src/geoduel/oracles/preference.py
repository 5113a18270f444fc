"""Duels that a function or a person decides, without any value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._numerics.arrays import Array
from ..errors import ArgumentError, BudgetExhaustedError, OracleError
from .base import is_bool

__all__ = ["from_preference"]

ANSWERS = {"a": -1, "left": -1, "b": +1, "right": +1, "tie": 0}


def from_preference(prefers: Callable[[Array, Array], Any]) -> _Preference:
    """Oracle from a function, or a person behind it, that says which of two points is better.

    Parameters
    ----------
    prefers : callable
        ``prefers(a, b)`` returns "a", "b" or "tie", or a bool: True if a is preferred. "left" and
        "right" are a and b, for code that shows them side by side.

    Returns
    -------
    Oracle
        It takes one pair at a time.

    Raises
    ------
    OracleError
        On a duel, if the function raises or returns something else.

    Examples
    --------
    >>> import numpy as np
    >>> oracle = from_preference(lambda a, b: "tie" if a[0] == b[0] else "ab"[int(b[0] > a[0])])
    >>> oracle(np.array([1.0]), np.array([2.0])), oracle(np.array([1.0]), np.array([1.0]))
    (1, 0)
    """
    if not callable(prefers):
        raise ArgumentError(f"prefers must be a function of two points, got {prefers!r:.80}")
    return _Preference(prefers)


class _Preference:
    """See `from_preference`."""

    vectorized = False

    def __init__(self, prefers: Callable[[Array, Array], Any]) -> None:
        self._prefers = prefers

    def __repr__(self) -> str:
        return f"from_preference({self._prefers!r})"

    def __call__(self, x: Array, y: Array) -> int:
        try:
            choice = self._prefers(x, y)
        except (OracleError, BudgetExhaustedError):
            raise
        except Exception as error:
            raise OracleError(f"the preference raised {type(error).__name__}: {error}") from error
        if isinstance(choice, str):
            if (answer := ANSWERS.get(choice)) is not None:
                return answer
        elif is_bool(choice) and getattr(choice, "ndim", 0) == 0:
            return -1 if choice else +1
        raise OracleError(
            f'the preference answered {choice!r:.80}, expected "a", "b", "tie", "left" (a), '
            '"right" (b) or a bool (True: a is preferred)'
        )
