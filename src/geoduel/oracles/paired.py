"""Duels of a simulation with itself: the same random numbers for both points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from .._numerics.arrays import Array, copied
from .._numerics.batches import along_one_axis, as_like
from .._support.check import as_generator, function, positive_int, real, several, truth
from .._support.pools import run_each
from ..errors import ArgumentError, BudgetExhaustedError, InfeasibleError, OracleError
from .base import OracleBase
from .objective import number_at

__all__ = ["paired"]

RACE = 100  # seeds of a race, at most, by default


def paired(
    simulate: Callable[[Array, int], Any],
    *,
    repeats: int | None = None,
    confidence: float | None = None,
    seeds: Sequence[int] | None = None,
    maximize: bool = False,
    rng: np.random.Generator | int | None = None,
) -> Paired:
    """Oracle from a random simulation: both points of a duel see the same random numbers.

    The difference of two runs then has far less noise than each run (common random numbers). Every
    duel draws fresh ones, so that the search cannot fit a single draw.

    With a ``confidence`` a duel is a race: it goes on from seed to seed until the mean of one side
    is ahead. The test is sequential, so that one may look after every seed. The evidence is the
    likelihood of the differences d_1..d_n averaged over all scales and over effects δ ~ N(0, 1),
    against equal means. With t their t-statistic and ν = n - 1 it is

        (1 + n)^(-1/2) [(1 + t²/ν) / (1 + t²/(ν (1 + n)))]^(n/2).

    Where means are equal and differences normal it ever reaches 1/(1 - confidence) with probability
    at most 1 - confidence. A race without a winner is decided by the means so far.

    Parameters
    ----------
    simulate : callable
        ``simulate(x, seed)`` returns a number, smaller is better, that depends on the point and the
        integer seed alone; the seed is meant for ``numpy.random.default_rng(seed)``, or for a
        simulator's own ``reset(seed=seed)``. Where it raises `geoduel.errors.InfeasibleError`, the
        point loses.
    repeats : int, optional
        Seeds of a duel, at most; the means are compared. By default 1, or 100 in a race, or all
        ``seeds``.
    confidence : float, optional
        In (0, 1): end a duel as soon as one side is ahead with this confidence.
    seeds : sequence of int, optional
        Seeds, or numbers of folds or of test cases, to which duels keep; each takes them in an
        order of its own, and none twice.
    maximize : bool
        Larger is better.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the seeds, or of their order.

    Returns
    -------
    Oracle
        Not vectorized; an executor runs the simulations of a batch at once. Its attribute ``runs``
        counts them.

    Raises
    ------
    OracleError
        On a duel, if the simulation raises or returns NaN or no number.

    References
    ----------
    Glasserman and Yao, Some guidelines and guarantees for common random numbers, Management Science
    38 (1992). Of the test: Lai, Annals of Statistics 4 (1976); Pérez-Ortiz, Lardy, de Heide and
    Grünwald, E-statistics, group invariance and anytime-valid testing, Annals of Statistics 52
    (2024).

    Examples
    --------
    >>> import numpy as np
    >>> def simulate(x, seed):
    ...     return float(x @ x) + 10 * np.random.default_rng(seed).normal()
    >>> oracle = paired(simulate, rng=0)
    >>> [oracle(np.ones(2), np.zeros(2)) for _ in range(5)]
    [1, 1, 1, 1, 1]
    >>> def noisy(x, seed):
    ...     return float(x @ x) + np.random.default_rng([seed, int(x[0] > 0)]).normal()
    >>> race = paired(noisy, confidence=0.95, rng=0)
    >>> [race(np.ones(2), np.zeros(2)) for _ in range(5)], race.runs
    ([1, 1, 1, 1, 1], 124)
    """
    function(simulate, "simulate", "a point and a seed", 2)
    if confidence is not None and not 0 < real(confidence, "confidence") < 1:
        raise ArgumentError(f"confidence must be between 0 and 1, got {confidence!r}")
    folds = None
    if seeds is not None:
        each = several(seeds, "seeds", "integers")
        folds = tuple(positive_int(seed, "seeds", least=0) for seed in each)
    if folds is not None and (not folds or len(set(folds)) < len(folds)):
        raise ArgumentError(f"seeds must be different numbers, at least one; got {seeds!r:.80}")
    most = len(folds) if folds is not None else 1 if confidence is None else RACE
    if repeats is not None:
        count = positive_int(repeats, "repeats")
        if folds is not None and count > most:
            raise ArgumentError(f"repeats={repeats} is more than there are seeds, {most}")
        most = count
    return Paired(simulate, most, confidence, folds, truth(maximize, "maximize"), as_generator(rng))


class Paired(OracleBase):
    """See `paired`."""

    def __init__(
        self,
        simulate: Callable[[Array, int], Any],
        repeats: int,
        confidence: float | None,
        folds: tuple[int, ...] | None,
        maximize: bool,
        rng: np.random.Generator,
    ) -> None:
        self._one, self._repeats, self._rng = _Simulation(simulate, maximize), repeats, rng
        self._enough = None if confidence is None else -math.log1p(-confidence)
        self._folds = folds
        self.runs = 0

    def hand(self, unpack: Callable[[Array], Any] | None) -> None:
        self._one.unpack = unpack

    def __repr__(self) -> str:
        return f"paired({self._one.simulate!r})"

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        lead, xs, ys = (), x[None], y[None]
        if point_ndim is not None and max(x.ndim, y.ndim) > point_ndim:
            lead, (xs, ys) = along_one_axis(point_ndim, x, y)
        seeds, m = self._seeds(len(xs)), len(xs)
        if self._enough is None:
            fx, fy = self._values(xs, ys, range(m), seeds, executor)
            means = fx.mean(axis=1), fy.mean(axis=1)
        else:
            means = self._race(xs, ys, seeds, executor)
        signs = (means[0] > means[1]) - 1.0 * (means[0] < means[1])  # they may be infinite
        return as_like(np.reshape(signs, lead), x) if lead else int(signs[0])

    def _seeds(self, m: int) -> np.ndarray:
        """Seeds of m duels, shape (m, repeats)."""
        if self._folds is None:
            return self._rng.integers(2**31, size=(m, self._repeats))
        return self._rng.permuted(np.tile(self._folds, (m, 1)), axis=1)[:, : self._repeats]

    def _values(
        self,
        xs: Array,
        ys: Array,
        which: Iterable[int],
        seeds: np.ndarray,
        executor: Executor | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values of both points of some duels with the seeds of each, of the shape of ``seeds``."""
        runs = [
            (copied(point), seed)
            for i, row in zip(which, seeds.tolist(), strict=True)
            for seed in row
            for point in (xs[i], ys[i])
        ]
        values = run_each(self._one, runs, executor)
        self.runs += len(runs)
        both = np.reshape(values, (*seeds.shape, 2))
        return both[..., 0], both[..., 1]

    def _race(
        self, xs: Array, ys: Array, seeds: np.ndarray, executor: Executor | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Means of both points of each duel, from the seeds that it took to see who is ahead."""
        assert self._enough is not None
        m = len(seeds)
        sums, still_open = np.zeros((2, m)), np.arange(m)
        differences = np.zeros(seeds.shape)
        for k in range(seeds.shape[1]):
            fx, fy = self._values(xs, ys, still_open, seeds[still_open, k : k + 1], executor)
            sums[:, still_open] += fx[:, 0], fy[:, 0]
            finite = np.isfinite(fx[:, 0]) & np.isfinite(fy[:, 0])  # else the mean is infinite, too
            still_open = still_open[finite]
            differences[still_open, k] = fx[finite, 0] - fy[finite, 0]
            ahead = evidence(differences[still_open, : k + 1])
            still_open = still_open[ahead < self._enough]
            if not still_open.size:
                break
        return sums[0], sums[1]  # of as many seeds on either side


def evidence(differences: np.ndarray) -> np.ndarray:
    """Logarithm of the evidence of `paired` that means differ, from differences of shape (m, n).

    Examples
    --------
    >>> evidence(np.array([[1.0, 1.0, 1.0, 1.0, 1.0]])).round(3)  # at most n - 1 halves of log(1+n)
    array([3.584])
    """
    n = differences.shape[1]
    if n < 2:
        return np.zeros(len(differences))
    mean = differences.mean(axis=1)
    within = np.sum((differences - mean[:, None]) ** 2, axis=1)
    between = n * mean**2
    total = within + between
    with np.errstate(divide="ignore", invalid="ignore"):  # no difference at all: no evidence
        ratio = np.log(total) - np.log(within + between / (1 + n))
    return np.where(total > 0, (n * ratio - np.log1p(n)) / 2, 0.0)


class _Simulation:
    """One run, with its errors and its sign; it goes to workers without the generator."""

    def __init__(self, simulate: Callable[[Array, int], Any], maximize: bool) -> None:
        self.simulate, self.maximize = simulate, maximize
        self.unpack: Callable[[Array], Any] | None = None

    def __call__(self, x: Array, seed: int) -> float:
        try:
            value = self.simulate(x if self.unpack is None else self.unpack(x), seed)
        except (OracleError, BudgetExhaustedError):
            raise
        except InfeasibleError:
            return math.inf
        except Exception as error:
            raise OracleError(f"the simulation raised {type(error).__name__}: {error}") from error
        return number_at(value, x, self.maximize)
