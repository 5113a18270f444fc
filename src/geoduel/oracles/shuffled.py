"""An oracle that draws which of two points is shown first, and says how much that matters."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np

from .._numerics.arrays import Array, device, host, namespace
from .._numerics.batches import along_one_axis, as_like
from .._support.check import as_generator
from .base import Oracle, answers
from .wrappers import Wrapper, counting

__all__ = ["PositionBias", "Shuffled"]


class PositionBias(NamedTuple):
    """How often a judge prefers what is shown first.

    Attributes
    ----------
    first : float
        Share of the answers without ties; 1/2 where the place does not matter.
    error : float
        Its standard error.
    answers : int
        How many there were.
    """

    first: float
    error: float
    answers: int

    @property
    def found(self) -> bool:
        """Whether the share is farther from 1/2 than three standard errors of a fair judge."""
        return abs(self.first - 0.5) > 3 * 0.5 / max(1, self.answers) ** 0.5


class Shuffled(Wrapper):
    """Draw the order in which the two points of a duel are shown, and turn the answer back.

    Many judges, language models and people among them, prefer what stands first. With the order
    drawn, that becomes noise, which methods allow for; left as it is, it becomes an error.

    Parameters
    ----------
    oracle : Oracle
        The judge.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the order.

    Attributes
    ----------
    position_bias : PositionBias
        What the answers so far say of the judge.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.oracles import from_preference
    >>> oracle = Shuffled(lambda x, y: -1, rng=0)  # always the first
    >>> sum(oracle(np.zeros(2), np.ones(2)) for _ in range(400)) / 400
    -0.085
    >>> oracle.position_bias.first, oracle.position_bias.found
    (1.0, True)
    """

    def __init__(self, oracle: Oracle, rng: np.random.Generator | int | None = None) -> None:
        super().__init__(oracle)
        self._rng = as_generator(rng)
        self._first = self._told = 0

    @property
    def position_bias(self) -> PositionBias:
        """What the answers so far say of the judge."""
        n = max(1, self._told)
        share = self._first / n if self._told else 0.5
        return PositionBias(share, (share * (1 - share) / n) ** 0.5, self._told)

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        if x.ndim == y.ndim and point_ndim in (None, x.ndim):
            turned = bool(self._rng.random() < 0.5)
            pair = (y, x) if turned else (x, y)
            answer = answers(self.oracle, *pair, point_ndim, executor)
            if isinstance(answer, int):
                self._count(np.array([answer]))
                return -answer if turned else answer
            self._count(host(answer))  # many pairs, of an oracle that knows the shape of a point
            return -answer if turned else answer
        assert point_ndim is not None
        lead, (x, y) = along_one_axis(point_ndim, x, y)
        turned = self._rng.random(len(x)) < 0.5
        xp = namespace(x)
        swap = xp.asarray(turned, device=device(x))[(..., *[None] * point_ndim)]
        pairs = xp.where(swap, y, x), xp.where(swap, x, y)
        answer = host(answers(self.oracle, *pairs, point_ndim, executor))
        self._count(answer)
        return as_like(np.reshape(np.where(turned, -answer, answer), lead), x)

    def _count(self, answer: np.ndarray) -> None:
        first, told = int(np.count_nonzero(answer == -1)), int(np.count_nonzero(answer))
        with counting:
            self._first += first
            self._told += told
