"""How noisy are the answers? A few duels are asked again, and the probes widened accordingly."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

__all__ = ["Noise", "lead", "votes"]

ALARM = 0.40  # share of re-asked duels with another answer above which probes are widened
FADE = 0.3  # counts are multiplied by r^FADE where probes shrink by r
DECADES = 1.0  # re-asked duels for each power of ten by which probes shrink
RIPPLES = 0.2  # share of the answers that is put down to ripples of f, where it is smoothed
PACE = 0.15  # factor on the rate at which probes shrink meanwhile, at a smoothing of 1

# Flip rates that may be, the bits one answer is then worth, and log P(two answers differ / agree).
FLIPS = (np.arange(16) + 0.5) / 32
BITS = 1 + FLIPS * np.log2(FLIPS) + (1 - FLIPS) * np.log2(1 - FLIPS)
DIFFER, AGREE = np.log(2 * FLIPS * (1 - FLIPS)), np.log(1 - 2 * FLIPS * (1 - FLIPS))


def votes(p: float) -> int:
    """Odd number of answers whose majority is right in 19 of 20 cases.

    Parameters
    ----------
    p : float
        Probability of a wrong answer; above 0.45 it is taken as that.

    Examples
    --------
    >>> votes(0.0), votes(0.1), votes(0.2)
    (1, 3, 7)
    """
    p = min(0.45, p)
    return 2 * math.ceil(2.7 * 2 * p * (1 - p) / (1 - 2 * p) ** 2) + 1


def lead(p: float) -> int:
    """How far ahead an answer has to be, asked again and again, to be right in 19 of 20 cases.

    Parameters
    ----------
    p : float
        Probability of a wrong answer; above 0.45 it is taken as that.

    Examples
    --------
    >>> lead(0.0), lead(0.1), lead(0.2)
    (1, 2, 3)
    """
    p = min(0.45, p)
    return 1 if p < 0.01 else math.ceil(math.log(19) / math.log((1 - p) / p))


# Bits that such an answer is worth.
_LEFT = 1 + RIPPLES * math.log2(RIPPLES) + (1 - RIPPLES) * math.log2(1 - RIPPLES)


class Noise(NamedTuple):
    """Running estimate of the flip rate p, from duels asked twice.

    Two answers to one duel differ with probability 2p(1-p) if each is wrong with probability p. An
    answer then carries the capacity 1 + p log2 p + (1-p) log2(1-p) of a binary symmetric channel in
    bits. As long as no two answers differ, p is taken to be 0. From then on p is the mean over all
    flip rates that explain the answers, since few pairs alone would say 0 or 1/2.

    From the mean capacity, the value that as many coin tosses would give is subtracted: steps that
    get shorter where nothing is learned would never be long enough again. Half of the time, coins
    show a little more by chance. So while probes are widened, the average over coins is subtracted,
    and steps that have got too short may grow.

    Every hundredth duel is asked again as long as the answers agree, every tenth once they do not,
    and more in low dimension, where fewer duels move the point. Noise may grow as probes shrink,
    and would be found too late if answers at longer probes still counted. So one more duel is asked
    again for each power of ten, and the counts fade. While answers differ like coins, the points
    compared are too close for the oracle: probes widen with each differing pair, and narrow again
    once answers are better.

    Attributes
    ----------
    asked, differed : float
        Duels asked twice and those with two answers, both with a memory of about 100 (a tie against
        a win counts half).
    total : int
        Duels asked twice so far.
    widen : float
        β >= 1, factor on the length of the probes.
    credit : float
        Fractions of duels that are due to be asked again.
    coarse : float
        Length of the probes, geodesic, above which ripples of f decide some of the answers; 0 if
        none do. A duel asked twice does not show them.
    slow : float
        Factor on the rate at which probes shrink as long as they are that long.
    """

    asked: float = 0.0
    differed: float = 0.0
    total: int = 0
    widen: float = 1.0
    credit: float = 0.0
    coarse: float = 0.0
    slow: float = 1.0

    def smoothed(self, coarse: float, smoothing: float) -> Noise:
        """With ripples that decide answers to probes longer than ``coarse``."""
        return self._replace(coarse=coarse, slow=PACE / smoothing)

    def at(self, length: float) -> Noise:
        """For probes of that length."""
        return self._replace(coarse=0.0, slow=1.0) if length < self.coarse else self

    def due(self, duels: int, d: int) -> tuple[int, Noise]:
        """How many of the next duels to ask again, in d dimensions."""
        if self.flip_rate > 0.02:
            share = max(0.1, 0.4 / d)
        else:
            share = max(0.05, 0.4 / d) if self.total < 4 else 0.01
        credit = self.credit + share * duels
        count = min(int(credit), duels)
        return count, self._replace(credit=credit - count)

    def see(self, first: np.ndarray, again: np.ndarray) -> Noise:
        """Learn from the two answers to each duel that was asked again."""
        asked, differed, total, widen = self[:4]
        for a, b in zip(first, again, strict=True):
            asked = 0.99 * asked + 1
            differed = 0.99 * differed + (1.0 if a * b < 0 else 0.5 if a * b == 0 and a != b else 0)
            total += 1
            rate = differed / max(1.0, asked)
            if rate > ALARM and asked > 2:
                widen = min(1.6 * widen, 1e6)
            elif rate < ALARM - 0.08:
                widen = max(1.0, widen / 1.1)
        return self._replace(asked=asked, differed=differed, total=total, widen=widen)

    def rescaled(self, r: float) -> Noise:
        """After the probes, but for widening, have become r times as long."""
        fade = min(1.0, r) ** FADE
        credit = max(0.0, self.credit - DECADES * math.log10(r))
        return self._replace(asked=fade * self.asked, differed=fade * self.differed, credit=credit)

    @property
    def flip_rate(self) -> float:
        """Estimate of p, the probability of a wrong answer at the present probes, 0 to 1/2."""
        return _means(self.asked, self.differed)[0] if self.differed else 0.0

    @property
    def learned(self) -> float:
        """Bits an answer by which steps get shorter; where coins widen probes, 0 on average."""
        spread = math.sqrt(self.asked) / 2 if self.widen > 1 else 0.0
        learned = self._beyond_coins(spread) if self.differed else 1.0
        return self.slow * min(learned, _LEFT) if self.coarse else learned

    @property
    def capacity(self) -> float:
        """Information of one answer in bits, at least 0.005: 1 without noise."""
        capacity = max(0.005, self._beyond_coins(0.0)) if self.differed else 1.0
        return min(capacity, _LEFT) if self.coarse else capacity

    @property
    def astray(self) -> float:
        """Share of the answers that say nothing of f: wrong ones, and those that ripples decide."""
        return max(self.flip_rate, RIPPLES) if self.coarse else self.flip_rate

    def _beyond_coins(self, spread: float) -> float:
        """Information beyond that of as many coins, half of whose pairs differ, ± a spread."""
        most, half = self.asked, self.asked / 2
        more, fewer = min(most, half + spread), max(0.0, half - spread)
        coins = (_means(most, more)[1] + _means(most, fewer)[1]) / 2
        return _means(most, self.differed)[1] - coins

    def uncertainty(self, length: float, longest: float, widen: float = 1.0) -> float:
        """Distance to the optimum that an estimate ``length`` for clean answers becomes with noise.

        Answers of capacity C know it 1/√C as well. Where probes had to be widened, to at most
        ``longest``, the distance lies between the steps and the probes, nearer to the steps. Where
        answers tie that was by a factor ``widen``. On quadratics the result is mostly half to 40
        times the distance (benchmarks/duels.py).
        """
        widened = min(max(self.widen, widen) * length, max(length, longest))
        return length**0.75 * widened**0.25 / math.sqrt(max(0.05, self.capacity))


@lru_cache(maxsize=32)
def _means(asked: float, differed: float) -> tuple[float, float]:
    """Flip rate, and information of an answer, given pairs of answers and a flat prior."""
    fit = differed * DIFFER + (asked - differed) * AGREE
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    return float(weight @ FLIPS), float(weight @ BITS)
