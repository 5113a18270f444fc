"""What is believed of a person: weighted particles of several models, and what answers do to them.

Each function takes a `Belief` and returns the next. `IdealPoint.update` calls them in this order:

    hear       one more answer, of a rater who may be new
    judge      how this rater differs from the others
    weigh      particles by the likelihood of the answer
    resample   where few particles are effective
    move       copies apart, by Hamiltonian Monte Carlo
    fold       the oldest answers into a quadratic
    recentre   the chart, where the posterior has left its middle

The models are those of `perception`; the chart in which ideals are coordinates is that of `chart`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...manifolds.base import Manifold
from ..frame import Frame
from .chart import Chart
from .cloud import Cloud
from .observer import Raters
from .perception import (
    OTHERS,
    TILT,
    WARY_TILT,
    Answers,
    People,
    Perception,
    Prior,
    log_prior_of_tilt,
    log_probability,
    rater_offset,
    usage_of,
)
from .weights import drawn

__all__ = [
    "Belief",
    "Population",
    "fold",
    "hear",
    "judge",
    "median",
    "moments",
    "move",
    "recentre",
    "resample",
    "settle",
    "weigh",
]

# Frozen; docs/notebook/ideal-point.md says what they were tuned on.
# Of people who see all directions alike, and of people with a metric: those who are lopsided as
# usual, and those who may be more so.
PARTICLES = ((200, 200), (300, 300))
ALIKE = 0.35  # prior probability that a person sees all directions alike
EFFECTIVE = 0.6  # share of effective particles below which they are resampled
LEAPS = 8  # leapfrog steps of a move
SHORT = (0.25, 0.1)  # share of moves that are short, and their length in that of the others
ACCEPTED = 0.75  # share of moves that the step size aims at
WORK = 84_000  # particles moved after one answer, times answers so far, times d: at most
KEPT_ANSWERS = 200  # answers kept as they are; older ones are folded
JUDGES = 16  # particles from which raters are judged
GRADERS = 48  # and from which it is judged what they mean by strengths
# Raters who look with less than this probability, where another's is larger, are taken to lapse
# nearly always: so many deviations more often.
IGNORED, LAPSES = 0.25, 7.0
SETTLING = 4  # moves of each particle when the chart is new


class Population(NamedTuple):
    """Weighted particles of one model.

    Attributes
    ----------
    model : Perception
    particles : ndarray of shape (n, D)
        Rows as in the model.
    logw : ndarray of shape (n,)
        Logarithms of weights; the sum of the weights is the evidence of the model.
    step : float
        Step of the leapfrog, in units of the posterior deviation.
    waiting : int
        Number of particles, the first ones, yet to be moved since the last resampling.
    folded : tuple of ndarray
        b and H such that b'θ - θ'Hθ/2 is the log likelihood of the folded answers.
    """

    model: Perception
    particles: np.ndarray
    logw: np.ndarray
    step: float
    waiting: int
    folded: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Belief:
    """A posterior: particles, in a chart, and what they were weighted by.

    Attributes
    ----------
    prior : Prior
    chart : Chart
        Normal coordinates about a point near the posterior mean.
    populations : tuple of Population
        Those who see all directions alike, the usual ones and those who may be lopsided; then the
        same with a metric.
    answers : Answers
        The answers that are kept, the last one last.
    raters : Raters
    offsets : ndarray of shape (raters, 6)
        How each rater differs from what is common to them, in the six numbers of a particle.
    """

    prior: Prior
    chart: Chart
    populations: tuple[Population, ...]
    answers: Answers
    raters: Raters
    offsets: np.ndarray

    @cached_property
    def people(self) -> People:
        """The particles of all populations."""
        d = self.populations[0].model.d
        ideals = np.concatenate([p.particles[:, :d] for p in self.populations])
        factors = np.concatenate([p.model.factor(p.particles) for p in self.populations])
        tilts = np.concatenate([p.model.tilts(p.particles) for p in self.populations])
        return People(ideals, factors, tilts, self.others)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of these, which sum to 1."""
        return self._weighted(TILT)

    @cached_property
    def wary_weights(self) -> np.ndarray:
        """The same, if people are expected to be more lopsided: for the stated region."""
        return self._weighted(WARY_TILT)

    def _weighted(self, prior: tuple[float, float]) -> np.ndarray:
        """Weights under a prior of tilts, from the particles of both.

        Those of either prior are draws from what it believes, and all of them from the mixture. So
        they are weighed by the ratio of the two densities, which is bounded (the balance heuristic
        of Veach and Guibas, 1995). The evidences, sums of weights, make the densities comparable.
        """
        logs = []
        for pair in zip(self.populations[::2], self.populations[1::2], strict=True):
            tilts = np.concatenate([p.model.tilts(p.particles) for p in pair])
            sizes, evidences = zip(*((len(p.logw), _log_sum(p.logw)) for p in pair), strict=True)
            own = [
                math.log(n) - evidence + log_prior_of_tilt(tilts, *law)[0]
                for n, evidence, law in zip(sizes, evidences, (TILT, WARY_TILT), strict=True)
            ]
            drawn_from = np.logaddexp(*own)
            shares = [
                math.log(n) + p.logw - evidence
                for n, p, evidence in zip(sizes, pair, evidences, strict=True)
            ]
            logs.append(np.concatenate(shares) + log_prior_of_tilt(tilts, *prior)[0] - drawn_from)
        logw = np.concatenate(logs)
        w = np.exp(logw - logw.max())
        return w / w.sum()

    @property
    def others(self) -> np.ndarray:
        """The six numbers of the particles of all populations."""
        d = self.populations[0].model.d
        return np.concatenate([p.particles[:, d : d + OTHERS] for p in self.populations])


def settle(
    manifold: Manifold, cloud: Cloud, centre: Array, size: float, rng: np.random.Generator
) -> Belief:
    """The belief of a cloud as particles, in a chart about its centre.

    All particles start from its ideals. Their weights say how much better, or worse, their tilt
    and their metric explain the answers than none.
    """
    d = manifold.dim
    frame = Frame(centre, np.eye(d))
    origin = np.zeros(d)
    if not math.isinf(cloud.prior.radius):
        origin = _coordinates(manifold, frame, cloud.start[None])[0]
    chart = Chart.about(manifold, frame, size, origin)
    answers = cloud.answers.in_chart(manifold, chart)
    ideals = _coordinates(manifold, frame, cloud.points)
    alike = Perception(d, metric=False)
    many = len(answers.answer)
    populations = []
    for metric, wary in itertools.product((False, True), repeat=2):
        n, share = PARTICLES[metric][wary], 1 - ALIKE if metric else ALIKE
        model = Perception(d, metric, wary)
        pick = drawn(cloud.weights, n, rng.random())
        particles = model.draw(rng, ideals[pick], cloud.others[pick])
        logw = np.full(n, math.log(share / n))
        if many:
            without = particles[:, : 2 * d + OTHERS].copy()
            alike.tilts(without)[:] = 0
            logw += model.log_likelihood(particles, answers, cloud.prior)[0]
            logw -= alike.log_likelihood(without, answers, cloud.prior)[0]
        folded = np.zeros(particles.shape[1]), np.zeros((particles.shape[1],) * 2)
        populations.append(Population(model, particles, logw, 0.5, 0, folded))
    offsets = np.zeros((len(cloud.raters.names), OTHERS))
    belief = Belief(cloud.prior, chart, tuple(populations), answers, cloud.raters, offsets)
    for _ in range(SETTLING if many else 0):
        belief = move(resample(belief, rng, share=1.0), rng, work=WORK * 10)
    return recentre(manifold, belief)


def _coordinates(manifold: Manifold, frame: Frame, points: Array) -> np.ndarray:
    """Normal coordinates of points about that of a frame; 0 where there are none."""
    c = frame.coordinates(manifold, points)
    return np.where(np.isfinite(c), c, 0.0)


# -- what an answer does ---------------------------------------------------------------------------


def hear(
    manifold: Manifold,
    belief: Belief,
    a: Array,
    b: Array,
    answer: int,
    left: int,
    rater: str,
    strength: int = 0,
    more: bool = False,
) -> Belief:
    """Add an answer, which nothing is concluded from yet."""
    raters, r = belief.raters.hear(rater, more=more)
    offsets = belief.offsets
    if r == len(offsets):
        offsets = np.concatenate([offsets, np.zeros((1, OTHERS))])
    new = Answers.one(manifold, belief.chart, a, b, answer, left, r, strength)
    if strength:
        usage = _usage(belief, r)
        belief, new = _reheard(belief, belief.answers.meant(r, usage)), new.meant(r, usage)
    return replace(
        belief,
        prior=belief.prior._replace(ties=belief.prior.ties or answer == 0),
        answers=belief.answers.append(new),
        raters=raters,
        offsets=offsets,
    )


def _usage(belief: Belief, rater: int) -> np.ndarray:
    """What a rater has meant by strengths so far."""
    graded = np.flatnonzero((belief.answers.rater == rater) & (belief.answers.strength > 0))
    answers = belief.answers.part(graded)
    people, w = belief.people, belief.weights
    few = people.part(drawn(w, GRADERS, 0.5))
    others = few.others
    if len(belief.raters.names) > 1 and rater < len(belief.offsets):
        others = others + belief.offsets[rater]
    return usage_of(few.losses(answers.logs), others, belief.prior, answers)


def _reheard(belief: Belief, answers: Answers) -> Belief:
    """The particles weighed by the same answers, whose strengths mean something else by now."""
    graded = np.flatnonzero(answers.strength > 0)
    before, now = belief.answers.part(graded), answers.part(graded)
    offsets = belief.offsets[now.rater]

    def weighed(p: Population) -> Population:
        was, is_ = (_told(p, heard, belief.prior, offsets) for heard in (before, now))
        return p._replace(logw=p.logw + is_ - was)

    populations = map(weighed, belief.populations) if len(graded) else belief.populations
    return replace(belief, answers=answers, populations=tuple(populations))


def judge(belief: Belief, rng: np.random.Generator, looks: Sequence[float] = ()) -> Belief:
    """Find how the last rater differs, where there are several; one alone is what is common.

    ``looks`` are the probabilities that each of the raters looks. Answers of those who do not would
    otherwise be explained by what is common: a large JND, or an ideal elsewhere.
    """
    if len(belief.raters.names) < 2:
        return belief
    answers = belief.answers
    r = answers.rater[-1]
    people, w = belief.people, belief.weights
    few = people.part(drawn(w, JUDGES, rng.random()))
    own = answers.part(np.flatnonzero(answers.rater == r))
    offsets = belief.offsets.copy()
    offsets[r] = rater_offset(few, own, belief.prior)
    if looks and max(looks) > IGNORED:
        offsets[np.array(looks) < IGNORED, 1] = LAPSES
    return replace(belief, offsets=offsets)


def weigh(belief: Belief) -> Belief:
    """Weigh the particles by the likelihood of the last answer."""
    last = belief.answers.part(belief.answers.last)
    offsets = belief.offsets[last.rater]

    def weighed(p: Population) -> Population:
        return p._replace(logw=p.logw + _told(p, last, belief.prior, offsets))

    return replace(belief, populations=tuple(map(weighed, belief.populations)))


def _told(p: Population, answers: Answers, prior: Prior, offsets: np.ndarray) -> np.ndarray:
    """Log likelihood of answers, shape (n,), by raters with these offsets."""
    d = p.model.d
    others = p.particles[:, d : d + OTHERS]
    return log_probability(p.model.losses(p.particles, answers), others, answers, prior, offsets)


def resample(belief: Belief, rng: np.random.Generator, share: float = EFFECTIVE) -> Belief:
    """Draw particles by their weights where fewer than a share are effective; all wait for moves.

    The weights of a population become equal and keep their sum. Copies of a particle come last.
    """

    def resampled(p: Population) -> Population:
        n, w = len(p.logw), np.exp(p.logw - p.logw.max())
        total = w.sum()
        if total**2 > share * n * (w @ w):
            return p
        pick = drawn(w / total, n, rng.random())
        copies = np.arange(n) - np.searchsorted(pick, pick)
        particles = p.particles[pick[np.argsort(copies, kind="stable")]]
        even = np.full(n, p.logw.max() + math.log(total / n))
        return p._replace(particles=particles, logw=even, waiting=n)

    return replace(belief, populations=tuple(map(resampled, belief.populations)))


def move(belief: Belief, rng: np.random.Generator, work: int = WORK) -> Belief:
    """Move particles that wait for it, as many as ``work`` allows; the others wait on.

    A move leaves the posterior as it is, and so the weights, whenever it comes.
    """
    populations = []
    allowed = work // (belief.populations[0].model.d * len(belief.answers.answer))
    for p in belief.populations:
        count = min(p.waiting, allowed)
        allowed -= count
        populations.append(_moved(p, count, belief, rng) if count else p)
    return replace(belief, populations=tuple(populations))


def fold(belief: Belief, keep: int = KEPT_ANSWERS) -> Belief:
    """Replace the oldest answers by a quadratic, once there are more than are kept.

    By then the posterior is narrow and their log likelihood about quadratic over it. The slope is
    that at the mean; the curvature is Fisher's information there, which cannot be negative.
    """
    starts, sizes = belief.answers.choices()
    many = len(belief.answers.answer) - keep
    if many <= 0:
        return belief
    starts, sizes = starts[starts < many], sizes[starts < many]
    old = int(starts[-1] + sizes[-1])

    def folded(p: Population) -> Population:
        w = np.exp(p.logw - p.logw.max())
        mean = w @ p.particles / w.sum()
        slope, information = np.zeros(len(mean)), np.zeros((len(mean), len(mean)))
        for start, size in zip(starts, sizes, strict=True):
            outcomes, was = belief.answers.part(slice(start, start + size)).outcomes()
            for k, one in enumerate(outcomes):
                offsets = belief.offsets[one.rater]
                logp, score = p.model.log_likelihood(mean[None], one, belief.prior, offsets)
                information += math.exp(logp[0]) * np.outer(score, score)
                if k == was:
                    slope += score[0]
        b, H = p.folded
        return p._replace(folded=(b + slope + information @ mean, H + information))

    return replace(
        belief,
        populations=tuple(map(folded, belief.populations)),
        answers=belief.answers.part(slice(old, None)),
    )


def recentre(manifold: Manifold, belief: Belief) -> Belief:
    """Put the chart about the posterior mean, once that or the spread no longer suits the chart."""
    people, w = belief.people, belief.weights
    mean, spread = moments(people.ideals, w)
    d, old, size = len(mean), belief.chart, float(np.trace(spread))
    if mean @ mean <= 0.25 * size and size >= 0.15 * d * old.size**2:
        return belief
    frame, _ = old.frame.move(manifold, mean)

    def recentred(p: Population) -> Population:
        particles = p.particles.copy()
        particles[:, :d] = old.in_frame(manifold, frame, mean, particles[:, :d])
        b, H = p.folded
        return p._replace(particles=particles, folded=(b - H[:, :d] @ mean, H))

    origin = old.in_frame(manifold, frame, mean, old.origin[None])[0]
    chart = Chart.about(manifold, frame, min(1.5 * math.sqrt(size / d), 2 * old.size), origin)
    return replace(
        belief,
        chart=chart,
        populations=tuple(map(recentred, belief.populations)),
        answers=belief.answers.in_chart(manifold, chart),
    )


# -- what the particles say ------------------------------------------------------------------------


def moments(ideals: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance."""
    mean = w @ ideals
    away = ideals - mean
    return mean, (away * w[:, None]).T @ away


def median(ideals: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The point of least expected distance to the ideal, by Weiszfeld's iteration."""
    centre = w @ ideals
    small = 1e-3 * math.sqrt(w @ np.sum((ideals - centre) ** 2, axis=1))
    for _ in range(10):
        pull = w / (np.linalg.norm(ideals - centre, axis=1) + small)
        centre = pull @ ideals / pull.sum()
    return centre


# -- Hamiltonian Monte Carlo -----------------------------------------------------------------------


def _moved(p: Population, count: int, belief: Belief, rng: np.random.Generator) -> Population:
    """Move the last ``count`` of the particles that wait for it: copies are among these.

    Momenta are Gaussian in coordinates in which the population has covariance I, so that a few
    leapfrog steps take a particle across the posterior.
    """
    prior, answers, root = belief.prior, belief.answers, _root(p)
    offsets = belief.offsets[answers.rater] if len(belief.raters.names) > 1 else None
    b, H = p.folded

    def target(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log posterior and its gradient."""
        value, slope = p.model.log_likelihood(x, answers, prior, offsets)
        more, tilt = p.model.log_prior(x, belief.chart.origin, prior)
        bent = x @ H
        value += more + x @ b - 0.5 * np.sum(bent * x, axis=1)
        return value, (slope + tilt + b - bent) @ root

    part = slice(p.waiting - count, p.waiting)
    x = y = p.particles[part]
    momentum = rng.standard_normal(x.shape)
    value, slope = target(x)
    before = value - 0.5 * np.sum(momentum * momentum, axis=1)
    eps = p.step * np.exp(rng.uniform(-0.3, 0.3, (count, 1)))
    # Where the belief is in two places its covariance is that of their distance: too long a step.
    eps *= np.where(rng.random((count, 1)) < SHORT[0], SHORT[1], 1.0)
    for _ in range(LEAPS):
        momentum = momentum + 0.5 * eps * slope
        y = y + (eps * momentum) @ root.T
        value, slope = target(y)
        momentum = momentum + 0.5 * eps * slope
    gain = value - 0.5 * np.sum(momentum * momentum, axis=1) - before
    accept = np.log(rng.random(count)) < np.where(np.isfinite(gain), gain, -np.inf)
    particles = p.particles.copy()
    particles[part] = np.where(accept[:, None], y, x)
    step = float(np.clip(p.step * math.exp(0.7 * (accept.mean() - ACCEPTED)), 0.05, 1.0))
    return p._replace(particles=particles, step=step, waiting=p.waiting - count)


def _log_sum(logw: np.ndarray) -> float:
    """Logarithm of the sum of weights."""
    return float(np.logaddexp.reduce(logw))


def _root(p: Population) -> np.ndarray:
    """A root of the covariance of the particles, with a little more."""
    w = np.exp(p.logw - p.logw.max())
    _, covariance = moments(p.particles, w / w.sum())
    covariance += np.diag(0.01 * np.diag(covariance) + 1e-14)
    return np.linalg.cholesky(covariance)
