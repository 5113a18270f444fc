"""The model of a person behind `IdealPoint`: prior, likelihood and their gradients."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import NamedTuple

import numpy as np

from ..._numerics.arrays import Array, namespace
from ...manifolds.base import Manifold
from .chart import Chart, features, upper
from .observer import BIAS, JND, LAPSE, LEFT, SLOPE, TIE, WEBER, Observer, chance, sigmoid

__all__ = ["Answers", "Perception", "Prior", "Seen", "evaluate", "outcomes", "rater_offset"]

OTHERS = 6  # JND, lapse, left, bias, tie, Weber fraction: standard normal a priori
CORE = 0.18  # of the prior radius: the density of the ideal is smooth within
WALL = 12.0  # decay of the prior beyond its radius, per radius
BLOCK = 40_000  # numbers in an array: larger ones are allocated page by page each time
WEAK = 1e-3  # least probability of an answer
TINY = 1e-12

ODD = 0.15  # prior probability that a rater differs from the others
# Grid of what such a rater may differ by, in the same order. A unit is a factor of about exp(0.8)
# of the JND, and a standard deviation of the others; the Weber fraction goes with the JND.
OFFSETS = ((-2, -1, 0, 1, 2), (0, 2, 4.5), (-2, 0, 2), (-2, 0, 2), (0,))
UNITS = (1 / math.log(9), 1, 1, 1, 1)


class Prior(NamedTuple):
    """Scales of the prior: radius within which the ideal is expected, and range of the JND.

    ``ties`` tells whether there have been any. Until then nobody calls them: a tie width that the
    absence of ties has to shrink would pretend that all differences were large.
    """

    radius: float
    least: float
    most: float
    ties: bool


class Answers(NamedTuple):
    """Questions and answers.

    Attributes
    ----------
    a, b : array of shape (m, *point_shape)
    answer : ndarray of shape (m,)
        +1 if b was preferred, -1 if a was, 0 for a tie.
    left : ndarray of shape (m,)
        +1 if a was shown on the left, -1 if b was, 0 if unknown.
    rater : ndarray of shape (m,)
        Index of who answered.
    seen : ndarray of shape (F, d, 2, m)
        Coefficients of log(c, a) and log(c, b) in the chart; see `Chart.logs`.
    """

    a: Array
    b: Array
    answer: np.ndarray
    left: np.ndarray
    rater: np.ndarray
    seen: np.ndarray

    @classmethod
    def none(cls, x0: Array, d: int) -> Answers:
        """No answers yet."""
        empty = x0[None][:0]
        zero = np.zeros(0)
        count = 1 + d + d * (d + 1) // 2
        return cls(
            empty, empty, zero, zero, zero.astype(int), np.zeros((count, d, 2, 0), np.float32)
        )

    @classmethod
    def one(
        cls,
        a: Array,
        b: Array,
        answer: int,
        left: int,
        rater: int,
        d: int,
        chart: Chart,
        manifold: Manifold,
    ) -> Answers:
        """A single one, as seen in the chart."""
        seen = chart.logs(manifold, namespace(a).stack([a, b]))[..., None]
        one = np.array([float(answer)]), np.array([float(left)]), np.array([rater])
        return cls(a[None], b[None], *one, seen)

    def append(self, new: Answers) -> Answers:
        """With more answers."""
        xp = namespace(self.a)
        return Answers(
            xp.concat([self.a, new.a]),
            xp.concat([self.b, new.b]),
            *(np.concatenate(pair, axis=-1) for pair in zip(self[2:], new[2:], strict=True)),
        )

    def part(self, part: slice | np.ndarray) -> Answers:
        """Some of them."""
        return Answers(self.a[part], self.b[part], *(x[..., part] for x in self[2:]))

    def seen_from(self, manifold: Manifold, chart: Chart) -> Answers:
        """The same answers in another chart."""
        if not len(self.answer):
            return self
        seen = [chart.logs(manifold, x) for x in (self.a, self.b)]
        return self._replace(seen=np.stack(seen, axis=2))


class Perception(NamedTuple):
    """One model of how people see: alike in all directions, or with a metric.

    A particle is the row (c, JND, lapse, left, bias, tie, Weber fraction | log L_ii, L_ij): the
    ideal c in the chart; six numbers that are standard normal a priori; and, with a metric, the
    lower triangular L of the metric L L'. The loss of x is |L' log(c, x)|.

    The prior of L L' is Wishart with mean I, so that no axes are special; its ν = 2d - 1 degrees of
    freedom give sensitivities whose largest is typically 3 to 4 times the smallest. By Bartlett's
    decomposition ν L_ii² is χ² with ν - i + 1 degrees of freedom and √ν L_ij standard normal.

    The prior of c is uniform in the length |c| up to its radius, and decays beyond.
    """

    d: int
    metric: bool

    @property
    def freedom(self) -> int:
        """ν."""
        return 2 * self.d - 1

    def draw(self, rng: np.random.Generator, n: int, prior: Prior) -> np.ndarray:
        """Particles from the prior, shape (n, D), for a chart about its centre."""
        d, nu = self.d, self.freedom
        lengths = np.linspace(0, 2 * prior.radius, 2001)
        density = np.exp(_radial(lengths**2, prior, d)[0]) * lengths ** (d - 1)
        cumulated = np.cumsum(density) - density / 2
        stratified = (rng.permutation(n) + rng.random(n)) / n
        length = np.interp(stratified * cumulated[-1], cumulated, lengths)
        c = rng.standard_normal((n, d))
        c *= (length / np.linalg.norm(c, axis=1))[:, None]
        parts = [c, rng.standard_normal((n, OTHERS))]
        if self.metric:
            squares = rng.chisquare(nu - np.arange(d), (n, d)) / nu
            parts.append(0.5 * np.log(squares))
            parts.append(rng.standard_normal((n, d * (d - 1) // 2)) / math.sqrt(nu))
        return np.concatenate(parts, axis=1)

    def factor(self, particles: np.ndarray) -> np.ndarray:
        """L, shape (n, d, d)."""
        d = self.d
        L = np.zeros((len(particles), d, d))
        diagonal = np.arange(d)
        start = d + OTHERS
        L[:, diagonal, diagonal] = np.exp(np.clip(particles[:, start : start + d], -8, 4))
        i, j = lower(d)
        L[:, i, j] = particles[:, start + d :]
        return L

    def prior(
        self, particles: np.ndarray, origin: np.ndarray, prior: Prior
    ) -> tuple[np.ndarray, np.ndarray]:
        """Logarithm of the prior density, and its gradient."""
        d, nu = self.d, self.freedom
        c = particles[:, :d] - origin
        value, slope = _radial(np.sum(c * c, axis=1), prior, d)
        u = particles[:, d : d + OTHERS]
        value = value - 0.5 * np.sum(u * u, axis=1)
        gradient = np.empty_like(particles)
        gradient[:, :d] = 2 * slope[:, None] * c
        gradient[:, d : d + OTHERS] = -u
        if self.metric:
            degrees = nu - np.arange(d)
            log = np.clip(particles[:, d + OTHERS : 2 * d + OTHERS], -8, 4)
            rest = particles[:, 2 * d + OTHERS :]
            square = nu * np.exp(2 * log)
            value = value + np.sum(degrees * log - square / 2, axis=1)
            value -= 0.5 * nu * np.sum(rest * rest, axis=1)
            gradient[:, d + OTHERS : 2 * d + OTHERS] = degrees - square
            gradient[:, 2 * d + OTHERS :] = -nu * rest
        return value, gradient


@cache
def lower(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices i > j of a (d, d) array."""
    return np.tril_indices(d, -1)


def _radial(square: np.ndarray, prior: Prior, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Log density of the ideal as a function of |c|², and its derivative."""
    core = (CORE * prior.radius) ** 2
    length = np.sqrt(square + TINY)
    beyond = length > prior.radius
    value = -(d - 1) / 2 * np.log(square + core)
    value = value - np.where(beyond, WALL * (length / prior.radius - 1), 0.0)
    slope = -(d - 1) / 2 / (square + core) - np.where(
        beyond, WALL / (2 * prior.radius * length), 0.0
    )
    return value, slope


class Seen(NamedTuple):
    """What a rater's answers depend on besides the losses, of shape (n, 1) or (n, m) each.

    The JND, near the ideal, grows by ``weber`` times the mean loss of the two points shown.
    """

    jnd: np.ndarray
    lapse: np.ndarray
    left: np.ndarray
    bias: np.ndarray
    tie: np.ndarray
    weber: np.ndarray
    coarser: np.ndarray  # derivatives: of log JND with the first number
    grown: np.ndarray  # and of the Weber fraction with the last

    @classmethod
    def of(cls, u: np.ndarray, prior: Prior, offsets: np.ndarray | None = None) -> Seen:
        """From the six numbers of each particle, plus ``offsets`` of shape (m, 6) of raters."""
        u = u[:, None, :] if offsets is None else u[:, None, :] + offsets
        u = np.clip(u, -8, 8).astype(np.float32)
        level = np.tanh(JND * u[..., 0])
        middle, half = math.sqrt(prior.least * prior.most), math.log(prior.most / prior.least) / 2
        far = np.maximum(u[..., 5], 0)
        return cls(
            jnd=middle * np.exp(half * level),
            lapse=sigmoid(math.log(LAPSE[0] / (1 - LAPSE[0])) + LAPSE[1] * u[..., 1]),
            left=sigmoid(math.log(LEFT[0] / (1 - LEFT[0])) + LEFT[1] * u[..., 2]),
            bias=BIAS * u[..., 3],
            tie=TIE[0] * prior.ties * np.exp(TIE[1] * u[..., 4]),
            weber=WEBER * far * far,
            coarser=half * JND * (1 - level * level),
            grown=2 * WEBER * far,
        )

    def at(self, loss: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Difference of the losses (n, 2m) of m pairs, in units of the logistic's argument.

        Also their means, and the JND there.
        """
        m = loss.shape[1] // 2
        away = (loss[:, :m] + loss[:, m:]) / 2
        jnd = self.jnd + self.weber * away
        return SLOPE * (loss[:, m:] - loss[:, :m]) / jnd, away, jnd

    def observer(self, answers: int, w: np.ndarray) -> Observer:
        """Means over particles with weights w."""
        lapse = float(w @ self.lapse[:, 0])
        return Observer(
            answers=answers,
            jnd=math.exp(float(w @ np.log(self.jnd[:, 0]))),
            lapse=lapse,
            left=float(w @ (self.lapse * self.left)[:, 0]) / lapse,
            bias=float(w @ self.bias[:, 0]) / SLOPE,
            tie=float(w @ self.tie[:, 0]) / SLOPE,
            weber=float(w @ self.weber[:, 0]),
        )


def evaluate(
    model: Perception,
    particles: np.ndarray,
    answers: Answers,
    prior: Prior,
    offsets: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Log likelihood of the answers, shape (n,), and its gradient, shape (n, D).

    In single precision: losses are then right to a millionth of a radian.
    """
    n, d, m = len(particles), model.d, len(answers.answer)
    most = max(16, BLOCK // (2 * m * d))
    if n > most:
        cuts = np.array_split(particles, -(-n // most))
        each = [evaluate(model, part, answers, prior, offsets) for part in cuts]
        return np.concatenate([v for v, _ in each]), np.concatenate([g for _, g in each])
    count = len(answers.seen)
    flat = answers.seen.reshape(count, -1)
    c = particles[:, :d].astype(np.float32)
    Y = (features(c) @ flat).reshape(n, d, 2 * m)
    L = model.factor(particles).astype(np.float32) if model.metric else None
    U = Y if L is None else np.swapaxes(L, 1, 2) @ Y
    loss = np.sqrt(np.einsum("ndm,ndm->nm", U, U) + np.float32(TINY))

    by = Seen.of(particles[:, d : d + OTHERS], prior, offsets)
    difference, away, jnd = by.at(loss)
    p, seen, share, rise, drop = _answered(difference, by, answers)
    value = np.log(p).sum(axis=1, dtype=np.float64)

    looked = (1 - by.lapse) / p
    pull = looked * rise
    gradient = np.empty_like(particles)
    u = gradient[:, d : d + OTHERS]
    push = -pull * difference / jnd  # derivative with the JND of each question
    u[:, 0] = np.sum(push * by.jnd * by.coarser, axis=1)
    u[:, 1] = LAPSE[1] * np.sum(by.lapse * (1 - by.lapse) * (share - seen) / p, axis=1)
    side = answers.left.astype(np.float32)
    turned = answers.answer.astype(np.float32) * side
    u[:, 2] = -LEFT[1] * np.sum(by.lapse * by.left * (1 - by.left) * turned / p, axis=1)
    u[:, 3] = BIAS * np.sum(pull * side, axis=1)
    u[:, 4] = TIE[1] * np.sum(looked * drop * by.tie, axis=1)
    u[:, 5] = np.sum(push * away * by.grown, axis=1)

    pull, push = SLOPE * pull / jnd, push * by.weber / 2
    V = U * (np.concatenate([push - pull, push + pull], axis=1) / loss)[:, None]
    if L is not None:
        dL = np.swapaxes(V @ np.swapaxes(Y, 1, 2), 1, 2)
        diagonal, (i, j) = np.arange(d), lower(d)
        gradient[:, d + OTHERS : 2 * d + OTHERS] = (dL * L)[:, diagonal, diagonal]
        gradient[:, 2 * d + OTHERS :] = dL[:, i, j]
        V = L @ V
    slopes = V.reshape(n, -1) @ flat.T
    i, j = upper(d)
    square = np.zeros((n, d, d), np.float32)
    square[:, i, j] = slopes[:, 1 + d :]
    gradient[:, :d] = slopes[:, 1 : 1 + d]
    gradient[:, :d] += np.einsum("nij,nj->ni", square + np.swapaxes(square, 1, 2), c)
    return value, gradient


def _answered(difference: np.ndarray, by: Seen, answers: Answers) -> tuple[np.ndarray, ...]:
    """Probability p = λ·share + (1 - λ)·seen of each answer, shape (n, m).

    Returns p, seen, share, and the derivatives of ``seen`` with the difference of the losses, in
    units of the logistic's argument, and with the tie width.
    """
    e, side = answers.answer.astype(np.float32), answers.left.astype(np.float32)
    x = difference + side * by.bias
    seen = sigmoid(-e * x - by.tie)
    share = 0.5 - (e * side) * (by.left - 0.5)
    bump = seen * (1 - seen)
    rise, drop = -e * bump, -bump
    tied = e == 0
    if tied.any():
        xt = x[:, tied]
        width = by.tie if by.tie.shape[1] == 1 else by.tie[:, tied]
        right, wrong = sigmoid(xt - width), sigmoid(-xt - width)
        seen[:, tied] = np.maximum(1 - right - wrong, 0)
        right, wrong = right * (1 - right), wrong * (1 - wrong)
        rise[:, tied], drop[:, tied] = wrong - right, wrong + right
        share = np.where(tied, np.float32(WEAK), share)
    return chance(seen, by.lapse, share) + np.float32(1e-9), seen, share, rise, drop


def rater_offset(
    ideals: np.ndarray, factors: np.ndarray, others: np.ndarray, answers: Answers, prior: Prior
) -> np.ndarray:
    """How the rater of the answers differs from the common parameters, shape (6,), standard units.

    Posterior mean over a grid, given a few particles: a rater who contradicts what is known of
    the ideal gets a larger JND or more lapses, so that his answers weigh less.
    """
    steps = np.array(list(itertools.product(*OFFSETS)))
    grid = np.column_stack([steps * UNITS, steps[:, 0]])
    loss = _losses(ideals, factors, answers.seen)
    by = Seen.of((grid[:, None] + others).reshape(-1, OTHERS), prior)
    p = _answered(by.at(np.tile(loss, (len(grid), 1)))[0], by, answers)[0]
    score = np.log(p).sum(axis=1).reshape(len(grid), len(ideals)).mean(axis=1)
    units = np.sum(abs(steps), axis=1)
    odd = np.where(units > 0, np.exp(-units), 0.0)
    score = score + np.log(np.where(units > 0, ODD * odd / odd.sum(), 1 - ODD))
    weight = np.exp(score - score.max())
    return weight @ grid / weight.sum()


def _losses(ideals: np.ndarray, factors: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Loss of points for particles (c, L), shape (n, ...), from coefficients (F, d, ...)."""
    n, d = ideals.shape
    Y = features(ideals.astype(np.float32)) @ seen.reshape(len(seen), -1)
    U = np.swapaxes(factors.astype(np.float32), 1, 2) @ Y.reshape(n, d, -1)
    return np.sqrt(np.einsum("ndm,ndm->nm", U, U))


def outcomes(
    ideals: np.ndarray, factors: np.ndarray, others: np.ndarray, seen: np.ndarray, prior: Prior
) -> np.ndarray:
    """Probabilities of "a", "b" and a tie for new pairs whose sides are drawn, shape (3, n, m).

    ``seen`` of shape (F, d, 2, m) as in `Answers`; ``factors`` are L, of shape (n, d, d).
    """
    by = Seen.of(others, prior)
    x, _, _ = by.at(_losses(ideals, factors, seen))
    first = chance(sigmoid(x - by.tie), by.lapse, 0.5)
    second = chance(sigmoid(-x - by.tie), by.lapse, 0.5)
    return np.stack([first, second, np.maximum(1 - first - second, 1e-9)]).astype(np.float64)
