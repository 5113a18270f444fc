"""Duels of a simulation with itself: the same random numbers for both points."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from .._numerics.arrays import Array, copied
from .._numerics.batches import along_one_axis, as_like
from .._support.check import as_generator, positive_int
from .._support.pools import run_each
from ..errors import ArgumentError, BudgetExhaustedError, OracleError
from .base import OracleBase
from .objective import number_at

__all__ = ["paired"]


def paired(
    simulate: Callable[[Array, int], Any],
    *,
    repeats: int = 1,
    maximize: bool = False,
    rng: np.random.Generator | int | None = None,
) -> Paired:
    """Oracle from a random simulation: both points of a duel see the same random numbers.

    The difference of two runs then has far less noise than each run (common random numbers). Every
    duel draws fresh ones, so that the search cannot fit a single draw.
    ``Repeated(paired(simulate))`` goes on until one side is ahead with confidence.

    Parameters
    ----------
    simulate : callable
        ``simulate(x, seed)`` returns a number, smaller is better, that depends on the point and the
        integer seed alone; the seed is meant for ``numpy.random.default_rng(seed)``, or for a
        simulator's own ``reset(seed=seed)``.
    repeats : int
        Seeds of a duel; the means are compared.
    maximize : bool
        Larger is better.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the seeds.

    Returns
    -------
    Oracle
        Not vectorized; an executor runs the simulations of a batch at once.

    Raises
    ------
    OracleError
        On a duel, if the simulation raises or returns NaN or no number.

    References
    ----------
    Glasserman and Yao, Some guidelines and guarantees for common random numbers, Management Science
    38 (1992).

    Examples
    --------
    >>> import numpy as np
    >>> def simulate(x, seed):
    ...     return float(x @ x) + 10 * np.random.default_rng(seed).normal()
    >>> oracle = paired(simulate, rng=0)
    >>> [oracle(np.ones(2), np.zeros(2)) for _ in range(5)]
    [1, 1, 1, 1, 1]
    """
    if not callable(simulate):
        raise ArgumentError(f"simulate must be a function of point and seed, got {simulate!r:.80}")
    return Paired(simulate, positive_int(repeats, "repeats"), maximize, as_generator(rng))


class Paired(OracleBase):
    """See `paired`."""

    def __init__(
        self,
        simulate: Callable[[Array, int], Any],
        repeats: int,
        maximize: bool,
        rng: np.random.Generator,
    ) -> None:
        self._one, self._repeats, self._rng = _Simulation(simulate, maximize), repeats, rng

    def __repr__(self) -> str:
        return f"paired({self._one.simulate!r})"

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        lead, xs, ys = (), x[None], y[None]
        if point_ndim is not None and max(x.ndim, y.ndim) > point_ndim:
            lead, (xs, ys) = along_one_axis(point_ndim, x, y)
        seeds = self._rng.integers(2**31, size=(len(xs), self._repeats)).tolist()
        runs = [
            (copied(point), seed)
            for i, row in enumerate(seeds)
            for seed in row
            for point in (xs[i], ys[i])
        ]
        values = run_each(self._one, runs, executor)
        means = np.reshape(values, (len(xs), self._repeats, 2)).mean(axis=1)
        signs = np.sign(means[:, 0] - means[:, 1])
        return as_like(np.reshape(signs, lead), x) if lead else int(signs[0])


class _Simulation:
    """One run, with its errors and its sign; it goes to workers without the generator."""

    def __init__(self, simulate: Callable[[Array, int], Any], maximize: bool) -> None:
        self.simulate, self.maximize = simulate, maximize

    def __call__(self, x: Array, seed: int) -> float:
        try:
            value = self.simulate(x, seed)
        except (OracleError, BudgetExhaustedError):
            raise
        except Exception as error:
            raise OracleError(f"the simulation raised {type(error).__name__}: {error}") from error
        return number_at(value, x, self.maximize)
