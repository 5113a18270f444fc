"""Measured numbers with their 90 % intervals, and how the report writes them.

The interval of a median is distribution-free: it runs between two order statistics, chosen so that
it covers the true median in at least 90 % of all repetitions. With five seeds it is their range
(94 %); fewer seeds have none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from ..plotting import superscript

__all__ = [
    "LEVEL",
    "Estimate",
    "exact",
    "fitted",
    "mean",
    "median",
    "median_band",
    "number",
    "share",
]

LEVEL = 0.9
NORMAL = 1.645  # quantile of the normal law, 5 % on each side


@dataclass(frozen=True)
class Estimate:
    """A measured number.

    Attributes
    ----------
    value, low, high : float
        The number and the ends of its interval.
    coverage : float
        Probability that such an interval covers what is estimated; 1 if nothing is random.
    values : tuple of float
        What it was made from, one a seed.
    over : str
        What those are: "seeds", "images", "runs"; empty if their number says nothing.
    """

    value: float
    low: float
    high: float
    coverage: float
    values: tuple[float, ...]
    over: str = "seeds"

    @property
    def text(self) -> str:
        """The number, its interval and how many values it rests on."""
        if self.coverage == 1:
            return number(self.value)
        ends = f"{number(self.low)} to {number(self.high)}"
        many = f"; {len(self.values)} {self.over}" if self.over else ""
        return f"{number(self.value)} ({ends}{many})"


def median(values: Sequence[float], over: str = "seeds") -> Estimate:
    """Median with its interval between order statistics; infinite values may take part.

    Examples
    --------
    >>> e = median([3.0, 1.0, 2.0, 5.0, 4.0])
    >>> e.value, e.low, e.high, e.coverage
    (3.0, 1.0, 5.0, 0.9375)
    """
    low, middle, high = median_band(_checked(values))
    n = len(values)
    return Estimate(
        float(middle), float(low), float(high), _coverage(n, _rank(n)), tuple(values), over
    )


def median_band(values: Sequence[float] | np.ndarray) -> tuple[np.ndarray, ...]:
    """Lower end, median and upper end over the first axis."""
    ordered = np.sort(np.asarray(values, dtype=float), axis=0)
    n = len(ordered)
    k = _rank(n)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    return ordered[k - 1], middle, ordered[n - k]


def mean(values: Sequence[float], over: str = "runs") -> Estimate:
    """Mean with Student's interval, for statements about expectations; at least two values.

    Examples
    --------
    >>> mean([1.0, 2.0, 3.0]).text
    '2.0 (0.31 to 3.7; 3 runs)'
    """
    from scipy.special import stdtrit

    x = np.asarray(_checked(values), dtype=float)
    if len(x) < 2:
        raise ArgumentError(f"values must be two or more for a mean's interval, got {list(values)}")
    middle, error = float(x.mean()), float(x.std(ddof=1) / math.sqrt(len(x)))
    reach = float(stdtrit(len(x) - 1, (1 + LEVEL) / 2)) * error
    return Estimate(middle, middle - reach, middle + reach, LEVEL, tuple(values), over)


def share(outcomes: Sequence[bool], over: str = "seeds") -> Estimate:
    """Share of successes with the exact interval of Clopper and Pearson.

    Examples
    --------
    >>> share([True] * 16 + [False] * 40, "photos").text
    '0.29 (0.19 to 0.40; 56 photos)'
    """
    from scipy.special import betaincinv

    values = _checked([float(bool(x)) for x in outcomes])
    n, k, tail = len(values), int(sum(values)), (1 - LEVEL) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return Estimate(k / n, low, high, LEVEL, tuple(values), over)


def fitted(value: float, error: float, points: int) -> Estimate:
    """A fitted number with its standard error; ``points`` is how many values the fit rests on."""
    reach = NORMAL * error
    return Estimate(value, value - reach, value + reach, LEVEL, (value,) * points, "runs")


def exact(value: float) -> Estimate:
    """A number without chance: counted, or computed."""
    return Estimate(value, value, value, 1.0, (value,), "")


def _checked(values: Sequence[float]) -> Sequence[float]:
    if not len(values) or any(math.isnan(x) for x in values):
        raise ArgumentError(f"values must be numbers, at least one, got {list(values)}")
    return values


def _rank(n: int) -> int:
    """The order statistic at which the interval begins: the largest that keeps its coverage."""
    return max([k for k in range(1, (n + 1) // 2 + 1) if _coverage(n, k) >= LEVEL], default=1)


def _coverage(n: int, k: int) -> float:
    """P(X_(k) <= median <= X_(n+1-k)) = 1 - 2 P(Binomial(n, 1/2) < k)."""
    return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n


def number(x: float) -> str:
    """Write a number with two digits, as a power of ten where it is small or large.

    Examples
    --------
    >>> number(4.2e-8), number(0.31), number(78.8), number(0.0)
    ('4.2·10⁻⁸', '0.31', '79', '0')
    """
    if x == 0 or not math.isfinite(x):
        return {0.0: "0", math.inf: "∞", -math.inf: "−∞"}.get(x, "–")
    if 0.01 <= abs(x) < 1e5:
        digits = max(0, 1 - math.floor(math.log10(abs(x))))
        return f"{x:,.{digits}f}".replace("-", "−")
    mantissa, power = f"{x:.1e}".split("e")
    return f"{mantissa}·10{superscript(int(power))}".replace("-", "−", 1)
