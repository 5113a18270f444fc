"""Crowds: whether raters share a taste, as far as their answers tell.

What a rater's own answers say about the rater's ideal is kept as a Gaussian in coordinates about
the common result, found by importance sampling. Raters of one taste have ideals that scatter about
a common one by a few degrees: m_i ~ N(μ, V_i + τ²I), with V_i what the answers of rater i leave
open. The evidence of one taste against several is then a closed form, as in a meta-analysis with
random effects:

    each rater a camp; merge the two camps whose evidence gains most (or loses least), until one
        is left
    report the camps of the step that is the most likely, if by far more likely than one taste

The model of a person is blunt on purpose: it tells far tastes apart for people of all kinds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

from .._numerics.arrays import Array
from ..errors import CutLocusError
from ..manifolds.base import Manifold
from ..methods.frame import Frame, to_numpy

__all__ = ["Camp", "Disagreement", "Heard", "Own", "Split", "own_ideal", "partition", "shrunk"]

# Lengths in units of half the manifold's typical distance, 45 degrees on spheres.
JNDS = (1 / 30, 1 / 15, 1 / 8)  # just-noticeable differences of a rater, equally likely
FAR = 0.05  # their growth with the distance of the two points from the ideal
LAPSE = 0.08  # share of answers that ignore the question
NEAR = 1 / 9  # own ideals are as likely within this of the common result as beyond
SCATTER = {1 / 45: 0.5, 1 / 11: 0.5}  # of own ideals about a common one, and how often
SAMPLES, ROUNDS, LEAST = 600, 6, 30  # of importance sampling; effective samples in each round
SURE = 2.5  # log-odds of several camps against one taste, from which on they are reported


@dataclass(frozen=True, eq=False)
class Camp:
    """Raters of one taste.

    Attributes
    ----------
    members : tuple of str
        Their names, in alphabetical order.
    point : ndarray of shape point_shape, or dict
        The best point from the answers of the members alone.
    uncertainty : float
        Radius of the region that holds their common ideal with 80 %, a geodesic length.
    """

    members: tuple[str, ...]
    point: Any
    uncertainty: float


@dataclass(frozen=True)
class Disagreement:
    """How far one rater is from the common result.

    Attributes
    ----------
    distance : float
        Geodesic distance between the best point of the rater alone and the common one.
    explained : float
        The distance that the uncertainties of the two points explain: four times in five it is
        less where the rater shares the common taste.
    words : str
        What follows from the two.
    """

    distance: float
    explained: float
    words: str

    @classmethod
    def of(cls, distance: float, own: float, common: float) -> Disagreement:
        """From the distance, and the 80 % radii of the rater's own point and the common one."""
        explained = math.hypot(own, common)
        if not distance > explained:
            words = "no farther than the uncertainty explains"
        elif distance <= 2 * explained:
            words = "a little farther than the uncertainty explains"
        else:
            words = "farther than the uncertainty explains: another taste"
        return cls(distance, explained, words)


class Heard(NamedTuple):
    """Answers of one rater: the pairs, and -1 for a, 0 for a tie, 1 for b."""

    a: Array
    b: Array
    answers: np.ndarray


class Own(NamedTuple):
    """What the answers of one rater say about the rater's ideal: mean and covariance."""

    mean: np.ndarray
    cov: np.ndarray


def own_ideal(manifold: Manifold, frame: Frame, heard: Heard, rng: np.random.Generator) -> Own:
    """Where the ideal of a rater is, in coordinates of a frame, by tempered importance sampling."""
    d, unit = manifold.dim, manifold.typical_dist / 2
    near = NEAR * unit
    mean, cov = np.zeros(d), (2 * near) ** 2 * np.eye(d)
    for _ in range(ROUNDS):
        root = np.linalg.cholesky(cov)
        z = rng.standard_normal((SAMPLES, d)) / np.sqrt(rng.chisquare(3, SAMPLES) / 3)[:, None]
        c = mean + z @ root.T
        log_q = -(3 + d) / 2 * np.log1p(np.sum(z**2, axis=1) / 3) - np.sum(np.log(np.diag(root)))
        square = np.sum(c**2, axis=1)
        # Cauchy's about the common result: most own ideals are near it, and any may be far.
        prior = -np.log1p(square / near**2) - 0.5 * square / unit**2
        fit = log_likelihood(manifold, frame.at(manifold, c), heard, unit)
        for heat in (1.0, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05, 0.0):
            log_w = heat * fit + prior - log_q
            w = np.exp(log_w - log_w.max())
            w /= w.sum()
            if 1 / (w @ w) >= LEAST:
                break
        mean = w @ c
        away = c - mean
        cov = (away * w[:, None]).T @ away + (unit / 200) ** 2 * np.eye(d)
    return Own(mean, cov)


def log_likelihood(manifold: Manifold, ideals: Array, heard: Heard, unit: float) -> np.ndarray:
    """Log probability of a rater's answers for each of several ideals, whatever the JND."""
    to_a, to_b = (
        to_numpy(manifold.dist(ideals[:, None], points[None])) for points in (heard.a, heard.b)
    )
    logs = []
    for jnd in JNDS:
        scale = np.hypot(jnd * unit, FAR * (to_a + to_b) / 2)
        says_b = LAPSE / 2 + (1 - LAPSE) / (1 + np.exp(-np.clip((to_a - to_b) / scale, -30, 30)))
        b, a = np.log(says_b), np.log1p(-says_b)
        answers = heard.answers
        logs.append(np.sum(np.where(answers > 0, b, np.where(answers < 0, a, (a + b) / 2)), axis=1))
    most = np.max(logs, axis=0)
    return most + np.log(np.mean(np.exp(np.array(logs) - most), axis=0))


class Sums(NamedTuple):
    """What the evidence of a camp is made of, for each scatter: sums over its members."""

    precision: np.ndarray  # of (V_i + τ²I)⁻¹, shape (scatters, d, d)
    pull: np.ndarray  # of (V_i + τ²I)⁻¹ m_i
    rest: np.ndarray  # of log N(m_i; 0, V_i + τ²I)

    @classmethod
    def of(cls, own: Own, unit: float) -> Sums:
        """One rater."""
        size, V = np.linalg.eigh(np.linalg.inv(own.cov))
        spread = 1 / size + np.array([[(tau * unit) ** 2] for tau in SCATTER])
        away = V.T @ own.mean
        return cls(
            np.einsum("ij,tj,kj->tik", V, 1 / spread, V),
            np.einsum("ij,tj->ti", V, away / spread),
            -0.5 * np.sum(np.log(2 * math.pi * spread) + away**2 / spread, axis=1),
        )

    def __add__(self, other: Sums) -> Sums:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Sums(*(x + y for x, y in zip(self, other, strict=True)))

    def evidences(self, unit: float) -> np.ndarray:
        """Log probability of the members' ideals under one taste, for each scatter."""
        d = self.pull.shape[-1]
        precision = self.precision + np.eye(d) / unit**2
        pull = np.linalg.solve(precision, self.pull[..., None])[..., 0]
        gain = 0.5 * np.einsum("ti,ti->t", self.pull, pull)
        return self.rest + gain - 0.5 * np.linalg.slogdet(precision * unit**2)[1]

    def evidence(self, unit: float) -> float:
        """The same, whatever the scatter."""
        logs = self.evidences(unit) + np.log(list(SCATTER.values()))
        return float(logs.max() + np.log(np.sum(np.exp(logs - logs.max()))))

    def scatter(self, unit: float) -> float:
        """Expected scatter of own ideals about the common one, a geodesic length."""
        logs = self.evidences(unit) + np.log(list(SCATTER.values()))
        w = np.exp(logs - logs.max())
        return float(w @ np.array(list(SCATTER))) * unit / float(w.sum())


class Split(NamedTuple):
    """Raters in camps: their indices, and how much own ideals scatter within each."""

    camps: list[list[int]]
    scatters: list[float]
    log_odds: float  # of the most likely several camps against one taste


def partition(owns: Sequence[Own], unit: float) -> Split:
    """Split raters into camps, by far more likely than one taste; otherwise all are one camp."""
    alone = [Sums.of(own, unit) for own in owns]
    camps = [([i], sums, sums.evidence(unit)) for i, sums in enumerate(alone)]
    steps = [camps]
    gains: dict[tuple[int, int], float] = {}  # of merging two camps, by their first members
    while len(camps) > 1:
        for j, k in combinations(camps, 2):
            if (j[0][0], k[0][0]) not in gains:
                gains[j[0][0], k[0][0]] = (j[1] + k[1]).evidence(unit) - j[2] - k[2]
        first, second = max(
            combinations(camps, 2), key=lambda pair: gains[pair[0][0][0], pair[1][0][0]]
        )
        sums = first[1] + second[1]
        both = (sorted(first[0] + second[0]), sums, sums.evidence(unit))
        camps = sorted(c for c in [*camps, both] if c is not first and c is not second)
        changed = (first[0][0], second[0][0])
        gains = {pair: g for pair, g in gains.items() if not set(pair) & set(changed)}
        steps.append(camps)

    def log_odds(camps: list[Any]) -> float:
        total = sum(evidence for _, _, evidence in camps)
        return total - steps[-1][0][2] - rarer([len(members) for members, *_ in camps])

    several = [(log_odds(c) - SURE * (len(c) - 1), -i) for i, c in enumerate(steps[:-1])]
    surplus, i = max(several, default=(-math.inf, 0))
    chosen = steps[-i] if surplus > 0 else steps[-1]
    most = max((log_odds(c) for c in steps[:-1]), default=-math.inf)
    return Split([c[0] for c in chosen], [c[1].scatter(unit) for c in chosen], most)


def shrunk(
    manifold: Manifold,
    own: tuple[Array, float],
    common: tuple[Array, float],
    scatter: float,
) -> tuple[Array, float]:
    """A rater's own point and 80 % radius, drawn to the common one as far as they are uncertain.

    The own ideal scatters about the common one, and the own answers tell it to within their radius:
    the mean of two Gaussians, along the geodesic between the points.
    """
    (x, radius), (y, around) = own, common
    holds = math.sqrt(chi2.ppf(0.8, manifold.dim))  # the 80 % radius, in deviations
    around = math.hypot(scatter * holds, around)
    if not math.isfinite(radius):
        return y, around
    if not math.isfinite(around):
        return x, radius
    weight = around**2 / (around**2 + radius**2)
    try:
        point = manifold.exp(y, weight * manifold.log(y, x))
    except CutLocusError:
        point = x if weight > 0.5 else y
    return point, math.sqrt(weight) * radius


def rarer(sizes: Sequence[int]) -> float:
    """Log of how much rarer a split into camps of these sizes is than one taste, a priori.

    Raters come one after another, and each joins a camp the likelier, the larger it is: the Chinese
    restaurant process. So one who stands alone is not as rare as each of all possible splits.
    """
    return math.lgamma(sum(sizes)) - sum(map(math.lgamma, sizes))
