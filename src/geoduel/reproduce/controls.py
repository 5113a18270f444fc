"""Negative controls: oracles with which a method must not get anywhere."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import numpy as np

from .._numerics.arrays import Array
from .._support.check import one_of
from ..oracles.base import Oracle, answers
from ..oracles.noisy import Noisy
from ..oracles.wrappers import Reversed, Wrapper

__all__ = ["CONTROLS", "control"]

CONTROLS = ("reversed", "constant", "coin")
"""Names of the controls: oracles that lie, never decide, and toss a coin."""


class Constant(Wrapper):
    """Answers 0 to everything, as duels of a constant function do."""

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        return 0 * answers(self.oracle, x, y, point_ndim, executor)


def control(oracle: Oracle, kind: str, rng: np.random.Generator | int) -> Oracle:
    """Replace an oracle by one that tells nothing true.

    Parameters
    ----------
    oracle : Oracle
        What the method would be given.
    kind : {"reversed", "constant", "coin"}
        "reversed" prefers the worse point, "constant" answers 0 to everything, and "coin" answers
        at random.
    rng : numpy.random.Generator or int
        Of the coin.

    Returns
    -------
    Oracle
        The control.

    Examples
    --------
    >>> from geoduel.oracles import from_objective
    >>> oracle = from_objective(lambda x: x @ x)
    >>> near, far = np.array([1.0]), np.array([2.0])
    >>> [control(oracle, kind, 0)(far, near) for kind in CONTROLS]
    [-1, 0, 1]
    """
    one_of(kind, "kind", CONTROLS)
    if kind == "reversed":
        return Reversed(oracle)
    return Constant(oracle) if kind == "constant" else Noisy(oracle, lapse=1.0, rng=rng)
