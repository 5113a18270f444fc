"""An oracle that asks another one several times and takes the majority."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from typing import Any

import numpy as np

from .._numerics.arrays import Array, device, host, namespace
from .._numerics.batches import along_one_axis, as_like
from .._support.check import positive_int, real
from ..errors import ArgumentError
from .base import Oracle, answers
from .wrappers import Wrapper

__all__ = ["Repeated"]


class Repeated(Wrapper):
    """Ask again until the most frequent answer holds with a stated confidence.

    An answer a is returned as soon as it beats each other answer b in a sequential sign test at
    level δ/2, δ = 1 - ``confidence``. With w times a and l times b, the test stops when the
    evidence for "a is more probable than b" reaches 2/δ. The evidence is the likelihood of the
    answers averaged over all win rates p > 1/2 of a (with Jeffreys' prior), against p = 1/2:

        2^(w+l) (2/π) B(w+½, l+½) I_½(l+½, w+½).

    As long as b is at least as probable as a, this is a supermartingale of mean at most 1. By Ville
    it then ever reaches 2/δ with probability at most δ/2, however often one looks; a plain binomial
    test at each look would err far more often. At most two wrong answers can be returned, so the
    answer is right with probability at least ``confidence``, whatever the win rate.

    With confidence 0.95, seven answers that agree are enough. At a win rate of 0.9, 0.75, 0.6 and
    0.55 it takes about 12, 35, 260 and 1,200 answers if there is no cap.

    Parameters
    ----------
    oracle : Oracle
        The oracle to ask, whose answers to one pair are independent of each other.
    confidence : float, in (0, 1)
        Least probability of the right answer.
    max_repeats : int
        Cap. Where it is reached first, the most frequent answer so far is returned (a tie if there
        is no such answer). This adds an error of at most exp(-2 max_repeats (p - 1/2)²) at win rate
        p, 0.7 % for 1,000 repeats and p = 0.55.

    Attributes
    ----------
    duels : int
        Duels asked of the oracle inside so far.
    capped : int
        Duels on which the cap was reached.

    References
    ----------
    Robbins, Annals of Mathematical Statistics 41 (1970), on mixtures of likelihood ratios; Howard,
    Ramdas, McAuliffe and Sekhon, Annals of Statistics 49 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.oracles import Noisy, from_objective
    >>> noisy = Noisy(from_objective(lambda x: float(x @ x)), flip=0.3, rng=0)
    >>> oracle = Repeated(noisy, confidence=0.99)
    >>> [oracle(np.ones(2), np.zeros(2)) for _ in range(5)]
    [1, 1, 1, 1, 1]
    """

    def __init__(self, oracle: Oracle, confidence: float = 0.95, max_repeats: int = 1000) -> None:
        super().__init__(oracle)
        if not 0 < real(confidence, "confidence") < 1:
            raise ArgumentError(f"confidence must be between 0 and 1, got {confidence!r}")
        self.confidence = confidence
        self.max_repeats = positive_int(max_repeats, "max_repeats")
        self.duels = 0
        self.capped = 0
        self._needed = _Needed(math.log(2 / (1 - confidence)))

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        answer = answers(self.oracle, x, y, point_ndim, executor)
        if isinstance(answer, int):
            return self._settle_one(answer, x, y, point_ndim, executor)
        return self._settle_many(answer, x, y, executor)

    def _settle_one(
        self, answer: Any, x: Array, y: Array, point_ndim: int | None, executor: Executor | None
    ) -> int:
        counts = [0, 0, 0]  # of -1, 0, +1
        asked = 1
        while True:
            counts[answer + 1] += 1
            _, second, most = sorted(counts)
            settled = most >= self._needed[second]
            if settled or asked == self.max_repeats:
                self.duels += asked
                self.capped += not settled
                return 0 if second == most else counts.index(most) - 1
            answer = answers(self.oracle, x, y, point_ndim, executor)
            asked += 1

    def _settle_many(self, answer: Array, x: Array, y: Array, executor: Executor | None) -> Array:
        # The pairs that are still open are asked in rounds, each time as one batch.
        lead = tuple(answer.shape)
        point_ndim = max(x.ndim, y.ndim) - len(lead)
        _, (x, y) = along_one_axis(point_ndim, x, y)
        xp = namespace(x)
        counts = np.zeros((math.prod(lead), 3), dtype=int)
        still_open = np.arange(len(counts))
        like, answer = answer, host(answer).ravel()
        for asked in range(1, self.max_repeats + 1):
            self.duels += still_open.size
            counts[still_open, answer.astype(int) + 1] += 1
            ranked = np.sort(counts[still_open], axis=1)
            still_open = still_open[ranked[:, 2] < self._needed.array(ranked[:, 1])]
            if not still_open.size or asked == self.max_repeats:
                break
            index = xp.asarray(still_open, device=device(x))
            pairs = xp.take(x, index, axis=0), xp.take(y, index, axis=0)
            answer = host(answers(self.oracle, *pairs, point_ndim, executor))
        self.capped += still_open.size
        ranked = np.sort(counts, axis=1)
        most = np.where(ranked[:, 2] > ranked[:, 1], counts.argmax(axis=1) - 1, 0)
        return as_like(np.reshape(most, lead), like)


class _Needed:
    """Least number of wins that settles a sign test, by the number of losses; see `Repeated`."""

    def __init__(self, log_level: float) -> None:
        self._log_level = log_level
        self._wins: list[int] = []

    def __getitem__(self, losses: int) -> int:
        wins = self._wins
        while len(wins) <= losses:
            needed = max(len(wins), wins[-1] if wins else 0)
            while self._log_evidence(needed, len(wins)) < self._log_level:
                needed += 1
            wins.append(needed)
        return wins[losses]

    def array(self, losses: np.ndarray) -> np.ndarray:
        """Wins needed for an array of losses."""
        self[int(losses.max(initial=0))]
        return np.asarray(self._wins)[losses]

    @staticmethod
    def _log_evidence(wins: int, losses: int) -> float:
        from scipy.special import betainc, betaln  # not needed to import the package

        w, l = wins + 0.5, losses + 0.5
        prior = (wins + losses + 1) * math.log(2) - math.log(math.pi)
        return prior + float(betaln(w, l)) + math.log(betainc(l, w, 0.5))
