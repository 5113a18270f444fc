"""Where people want to go, and how that changes as one goes: the belief behind `IdealDirection`.

In normal coordinates z the squared loss of a person is about (z - c)' M (z - c), with the ideal c
and their metric M. Half the difference of those of two points a and b is linear in M c and in M:

    (M c)' w - s' M w,   where w = b - a and s = (a + b)/2,

and the difference of the losses themselves is that over their mean n, about the mean distance to
c. So if M c and M are normal a priori, so are all differences, and an answer tells the sign of one
of them plus noise. In this linear model a question costs products of short vectors. `Pairs` are the
questions as the model sees them, `Posterior` what is believed after the answers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .observer import BIAS_SPREAD

__all__ = ["Pairs", "Posterior", "Scales", "Sites", "answer_moments", "fit", "looked"]

# Frozen; docs/notebook/ideal-direction.md says what they were tuned on.
METRIC = 0.3  # deviation of M from the mean one, over the root of the dimension
UNEVEN = 0.07  # asymmetry: by such a share one side of the ideal may be worse than the other
LAPSE = 0.04  # share of answers that ignore the question
TIE = 1.0  # deviation of a difference that is called a tie, in those of the noise
NORMAL_JND = 0.6744897501960817  # a JND in deviations of normal noise: right 3 times out of 4
LEAST_CURVED = 0.3  # of the mean curvature; less is not believed when the ideal is computed
LEAST_PRECISION = 1e-8  # of what an answer tells: a surprising one may tell nothing
DAMPING, SWEEPS = 0.9, 2  # of expectation propagation


class Scales(NamedTuple):
    """What the prior is scaled by; see `kernel`.

    Attributes
    ----------
    jnd : float
        Just-noticeable difference, a geodesic length, of a person who sees all directions alike.
    radius : float
        How far the ideal is expected from the start, a geodesic length.
    """

    jnd: float
    radius: float

    @property
    def steep(self) -> float:
        """Rise of a difference with its length, in deviations of the noise."""
        return NORMAL_JND / self.jnd


class Pairs(NamedTuple):
    """Questions as the linear model sees them.

    Attributes
    ----------
    turn : ndarray of shape (m, d)
        w/n: from the first to the second point, over the mean distance to the ideal.
    middle : ndarray of shape (m, d)
        s, relative to the start.
    across : ndarray of shape (m, d)
        w.
    left : ndarray of shape (m,)
        +1 if the second point was shown on the left, -1 if the first was, 0 if unknown.
    """

    turn: np.ndarray
    middle: np.ndarray
    across: np.ndarray
    left: np.ndarray

    @classmethod
    def of(
        cls,
        a: np.ndarray,
        b: np.ndarray,
        left: np.ndarray,
        start: np.ndarray,
        ideal: np.ndarray,
        blur: float,
    ) -> Pairs:
        """From coordinates of the points, of the start, and of an ideal known up to ``blur``."""
        far = [np.sqrt(np.sum((x - ideal) ** 2, axis=1) + blur**2) for x in (a, b)]
        n = np.maximum((far[0] + far[1]) / 2, 1e-300)
        return cls((b - a) / n[:, None], (a + b) / 2 - start, b - a, left)

    def part(self, part: slice) -> Pairs:
        """Some of the pairs."""
        return Pairs(*(x[part] for x in self))

    def and_(self, more: Pairs) -> Pairs:
        """These pairs and others."""
        return Pairs(*(np.concatenate(both) for both in zip(self, more, strict=True)))


class Sites(NamedTuple):
    """What each answer tells of its difference, as a normal density.

    Precisions, and precisions times means; these are relative to the means of the prior.
    """

    precision: np.ndarray
    pull: np.ndarray

    def room(self, m: int) -> Sites:
        """As many as there are answers; those to come tell nothing yet."""
        return Sites(*(np.concatenate([x, np.zeros(m - len(x))]) for x in self))


class Posterior(NamedTuple):
    """What is believed of the differences, the slope and the metric.

    Attributes
    ----------
    scales : Scales
    pairs : Pairs
        The questions answered so far.
    root : ndarray of shape (m,)
        Roots of the sites' precisions.
    factor : ndarray of shape (m, m)
        Cholesky factor of I + root K root', with the prior covariance K of the differences.
    weights : ndarray of shape (m,)
        K weights is by how much the answers have moved the differences.
    """

    scales: Scales
    pairs: Pairs
    root: np.ndarray
    factor: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, pairs: Pairs, sites: Sites, scales: Scales) -> Posterior:
        """From the questions and what the answers told."""
        K = kernel(pairs, pairs, scales)
        root = np.sqrt(sites.precision)
        factor = np.linalg.cholesky(np.eye(len(root)) + root[:, None] * K * root)
        weights = sites.pull - root * _solved(
            factor, _solved(factor, root * (K @ sites.pull)), trans=1
        )
        return cls(scales, pairs, root, factor, weights)

    def difference(self, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the differences of other pairs, in deviations of the noise."""
        cross = kernel(self.pairs, pairs, self.scales)
        mean = prior_mean(pairs, self.scales) + self.weights @ cross
        told = self._whitened(cross)
        return mean, prior_variance(pairs, self.scales) - np.sum(told * told, axis=0)

    def slope(self, y: np.ndarray) -> np.ndarray:
        """Covariance of the slope M (c - y) at a point y, relative to the start, shape (d, d)."""
        told = self._whitened(slope_with(y, self.pairs, self.scales).T)
        return slope_variance(y, self.scales) - told.T @ told

    def gain(self, y: np.ndarray, pairs: Pairs) -> np.ndarray:
        """By how much answers are expected to shrink the trace of `slope`, up to a factor.

        For questions whose answer may go either way.
        """
        slope, asked = slope_with(y, self.pairs, self.scales), slope_with(y, pairs, self.scales)
        before = self._whitened(slope.T)
        told = self._whitened(kernel(self.pairs, pairs, self.scales))
        variance = prior_variance(pairs, self.scales) - np.sum(told * told, axis=0)
        return np.sum((asked - before.T @ told) ** 2, axis=0) / (1 + variance)

    def metric(self) -> np.ndarray:
        """Mean of M."""
        p, (jnd, _) = self.pairs, self.scales
        d = p.turn.shape[1]
        X = (p.middle * self.weights[:, None]).T @ p.turn
        steep = NORMAL_JND / jnd
        return steep * np.eye(d) - steep**2 * METRIC**2 / (2 * d) * (X + X.T)

    def ideal(self) -> tuple[np.ndarray, np.ndarray]:
        """The ideal, relative to the start, and its covariance."""
        s = self.scales
        d = self.pairs.turn.shape[1]
        value, axes = np.linalg.eigh(self.metric())
        inverse = (axes / np.maximum(value, LEAST_CURVED * s.steep)) @ axes.T
        pull = (s.steep * s.radius) ** 2 / d * (self.weights @ self.pairs.turn)
        c = inverse @ pull
        return c, inverse @ self.slope(c) @ inverse

    def bias(self) -> float:
        """Advantage of the left point, in deviations of the noise."""
        return BIAS_SPREAD**2 * float(self.weights @ self.pairs.left)

    def _whitened(self, cross: np.ndarray) -> np.ndarray:
        return _solved(self.factor, self.root[:, None] * cross)


def kernel(p: Pairs, q: Pairs, scales: Scales) -> np.ndarray:
    """Prior covariance of the differences of pairs p and q, shape (m, k).

    A priori the slope M c has independent components, and M differs from its mean by a symmetric
    matrix with normal entries. Besides both there are a slope that grows with the width, of people
    who are asymmetric, and a favoured side.
    """
    d = p.turn.shape[1]
    turns = p.turn @ q.turn.T
    bent = (p.middle @ q.middle.T) * turns + (p.middle @ q.turn.T) * (p.turn @ q.middle.T)
    found = scales.radius**2 * turns + METRIC**2 / 2 * bent + UNEVEN**2 * (p.across @ q.across.T)
    return scales.steep**2 / d * found + BIAS_SPREAD**2 * np.outer(p.left, q.left)


def prior_variance(p: Pairs, scales: Scales) -> np.ndarray:
    """The diagonal of `kernel`."""
    turn, middle, across = (np.sum(x * x, axis=1) for x in p[:3])
    bent = middle * turn + np.sum(p.middle * p.turn, axis=1) ** 2
    found = scales.radius**2 * turn + METRIC**2 / 2 * bent + UNEVEN**2 * across
    return scales.steep**2 / p.turn.shape[1] * found + BIAS_SPREAD**2 * p.left**2


def prior_mean(p: Pairs, scales: Scales) -> np.ndarray:
    """Differences for people who see all directions alike and whose ideal is at the start."""
    return -scales.steep * np.sum(p.middle * p.turn, axis=1)


def slope_with(y: np.ndarray, p: Pairs, scales: Scales) -> np.ndarray:
    """Prior covariance of the slope at y and the differences, shape (d, m)."""
    bent = (p.middle @ y)[:, None] * p.turn + (p.turn @ y)[:, None] * p.middle
    return scales.steep**2 / len(y) * (scales.radius**2 * p.turn + METRIC**2 / 2 * bent).T


def slope_variance(y: np.ndarray, scales: Scales) -> np.ndarray:
    """Prior covariance of the slope at y, shape (d, d)."""
    bent = y @ y * np.eye(len(y)) + np.outer(y, y)
    return scales.steep**2 / len(y) * (scales.radius**2 * np.eye(len(y)) + METRIC**2 / 2 * bent)


def looked(z: np.ndarray) -> np.ndarray:
    """Probability λ/2 + (1 - λ) Φ(z) that the second point is preferred, lapses included."""
    from scipy.special import ndtr  # a slow import, for `import geoduel`

    return LAPSE / 2 + (1 - LAPSE) * ndtr(z)


def answer_moments(
    mean: np.ndarray, variance: np.ndarray, answer: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log probability of answers about normal differences, and its derivatives in their means.

    λ/2 + (1 - λ) Φ(±difference) for +1 and -1; a tie, 0, is a difference that was seen as about 0.
    """
    spread = np.sqrt(1 + variance)
    z = answer * mean / spread
    p = looked(z)
    ratio = (1 - LAPSE) * np.exp(-z * z / 2) / math.sqrt(2 * math.pi) / p
    tie, about = answer == 0, TIE**2 + variance
    return (
        np.where(tie, -(mean * mean / about + np.log(about)) / 2, np.log(p)),
        np.where(tie, -mean / about, answer * ratio / spread),
        np.where(tie, -1 / about, -ratio * (z + ratio) / spread**2),
    )


def fit(
    pairs: Pairs, answer: np.ndarray, scales: Scales, sites: Sites
) -> tuple[Sites, Posterior, float]:
    """Expectation propagation: sites, posterior and log evidence, from sites of an earlier fit.

    A mode would lie at the edge of what the answers rule out, since the noise is small beside the
    prior; expectation propagation has the mean. Rasmussen and Williams, Gaussian Processes for
    Machine Learning (2006), section 3.6, with all sites at once.
    """
    K, mean = kernel(pairs, pairs, scales), prior_mean(pairs, scales)
    m = len(answer)

    def without(sites: Sites) -> tuple[np.ndarray, ...]:
        """Factor and means of the posterior; precisions and means of it without each answer."""
        root = np.sqrt(sites.precision)
        factor = np.linalg.cholesky(np.eye(m) + root[:, None] * K * root)
        told = _solved(factor, root[:, None] * K)
        variance = np.maximum(np.diag(K) - np.sum(told * told, axis=0), 1e-12)
        centre = K @ sites.pull - told.T @ (told @ sites.pull)
        rest = np.maximum(1 / variance - sites.precision, 1e-10)
        return factor, centre, rest, (centre / variance - sites.pull) / rest

    sites = sites.room(m)
    for _ in range(SWEEPS):
        _, _, rest, about = without(sites)
        _, first, second = answer_moments(about + mean, 1 / rest, answer)
        share = 1 + second / rest
        precision = np.maximum(-second / share, LEAST_PRECISION)
        pulled = np.where(precision > LEAST_PRECISION, about * -second, 0.0)
        new = precision, (first + pulled) / share
        both = zip(sites, new, strict=True)
        sites = Sites(*((1 - DAMPING) * old + DAMPING * now for old, now in both))
    precision, pull = sites
    factor, centre, rest, about = without(sites)
    log_p, _, _ = answer_moments(about + mean, 1 / rest, answer)
    evidence = np.sum(log_p + np.log1p(precision / rest) / 2) - np.sum(np.log(np.diag(factor)))
    evidence += (pull @ centre - np.sum(pull**2 / (rest + precision))) / 2
    shift = about * rest / (precision + rest)
    evidence += np.sum(shift * (precision * about - 2 * pull)) / 2
    return sites, Posterior.of(pairs, sites, scales), float(evidence)


def _solved(factor: np.ndarray, b: np.ndarray, trans: int = 0) -> np.ndarray:
    """L⁻¹ b, or L'⁻¹ b."""
    from scipy.linalg import solve_triangular  # a slow import, for `import geoduel`

    if not len(factor):  # before SciPy 1.15 an error
        return b
    return solve_triangular(factor, b, trans=trans, lower=True)
