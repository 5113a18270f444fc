"""How people answer: the model of a person behind `IdealPoint`, its prior, likelihood, gradients.

`particles` keeps what is believed of a person as particles of these models and learns from their
likelihoods; `ideal_point` asks for the `outcomes` of questions not yet put. Another kind of person
is another model here, with `draw`, `factor`, `log_prior` and `log_likelihood`. The particles of
any model begin with the ideal, the six numbers of `Traits`, and the tilt.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import NamedTuple

import numpy as np

from ..._numerics.arrays import Array, namespace
from ...manifolds.base import Manifold
from ...oracles.people import SLOPE
from .chart import Chart, features, upper
from .observer import (
    BIAS_SPREAD,
    JND_SPREAD,
    LAPSE_MEDIAN,
    LAPSE_SPREAD,
    LAPSED_TIES,
    LEFT_MEDIAN,
    LEFT_SPREAD,
    TIE_MEDIAN,
    TIE_SPREAD,
    WEBER_MEDIAN,
    WEBER_SPREAD,
    Observer,
    chance,
    sigmoid,
)
from .strengths import CLEARLY, SLIGHTLY, USAGE, learned, share_clear, stated, unheard

__all__ = [
    "OTHERS",
    "Answers",
    "People",
    "Perception",
    "Prior",
    "Traits",
    "chosen",
    "log_prior_of_length",
    "log_prior_of_tilt",
    "log_probability",
    "outcomes",
    "rater_offset",
    "usage_of",
]

OTHERS = 6  # JND, lapse, left, bias, tie, Weber fraction: standard normal a priori
# How lopsided people are: scale and degrees of freedom of Student's distribution of the tilt, as
# believed, and as the stated region allows for; and the largest tilt.
TILT, WARY_TILT, MOST_TILT = (0.03, 1.5), (0.3, 3.0), 0.9
SMOOTH_CORE = 0.18  # the density of the ideal is smooth within this share of the prior radius
TAIL = 4.0  # power of the length by which that density decays beyond the prior radius
CHUNK = 40_000  # most numbers in an array: larger ones are allocated page by page each time
TINY = 1e-12

RATER_DIFFERS = 0.15  # prior probability that a rater differs from what is common to all
# Grid of the steps by which such a rater differs, in the first five of the six numbers, and the
# size of a step in standard deviations. A step of the JND is a factor of about exp(0.8); the Weber
# fraction takes the steps of the JND, in standard deviations.
OFFSET_STEPS = ((-2, -1, 0, 1, 2), (0, 2, 4.5), (-2, 0, 2), (-2, 0, 2), (0,))
STEP_SIZES = (1 / math.log(9), 1, 1, 1, 1)


class Prior(NamedTuple):
    """Scales of what is believed before the first answer.

    Attributes
    ----------
    radius : float
        The ideal is expected within, a geodesic length. Infinite: it is as likely everywhere.
    least, most : float
        Range of the JND, geodesic lengths.
    ties : bool
        Whether there have been any. Until then the tie width is 0: otherwise the absence of ties
        would shrink it by pretending that all differences were large.
    tail : float
        Power of the distance by which ideals beyond the radius get rarer.
    """

    radius: float
    least: float
    most: float
    ties: bool = False
    tail: float = TAIL


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
    choice : ndarray of shape (m,)
        Number of the choice that the duel is part of. Who chooses the best of k points lets it win
        k - 1 duels, or lose them as the worst. They stand side by side and are one answer.
    strength : ndarray of shape (m,)
        `SLIGHTLY` or `CLEARLY`, 0 where none was stated.
    usage : ndarray of shape (USAGE, m)
        What the rater of each answer means by these; see `strengths`.
    logs : ndarray of shape (F, d, 2, m)
        Coefficients of log(c, a) and log(c, b) in the chart; see `Chart.pair_logs`.
    """

    a: Array
    b: Array
    answer: np.ndarray
    left: np.ndarray
    rater: np.ndarray
    choice: np.ndarray
    strength: np.ndarray
    usage: np.ndarray
    logs: np.ndarray

    @classmethod
    def none(cls, x0: Array) -> Answers:
        """No answers yet, and no chart."""
        points, zeros = x0[None][:0], np.zeros(0)
        index = zeros.astype(int)
        logs = np.zeros((0, 0, 2, 0), np.float32)
        usage = np.zeros((USAGE, 0))
        return cls(points, points, zeros, zeros, index, index, index, usage, logs)

    @classmethod
    def one(
        cls,
        manifold: Manifold,
        chart: Chart | None,
        a: Array,
        b: Array,
        answer: int,
        left: int,
        rater: int,
        strength: int = 0,
    ) -> Answers:
        """A single answer, as seen in the chart, if there is one.

        ``a`` and ``b`` are the two points, or those of all duels of a choice, with an axis more.
        """
        if len(a.shape) == len(manifold.point_shape):
            a, b = a[None], b[None]
        m = len(a)
        said = np.full(m, float(answer)), np.full(m, float(left)), np.full(m, rater)
        logs = np.zeros((0, 0, 2, m), np.float32)
        if chart is not None:
            logs = chart.pair_logs(manifold, a, b)
        usage = np.repeat(unheard()[:, None], m, axis=1)
        return cls(a, b, *said, np.zeros(m, int), np.full(m, strength), usage, logs)

    @property
    def last(self) -> slice:
        """Of the duels that are the last answer."""
        return slice(int(np.searchsorted(self.choice, self.choice[-1])), None)

    def choices(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each choice begins, and how many duels it has."""
        starts = np.flatnonzero(np.diff(self.choice, prepend=-1))
        return starts, np.diff(starts, append=len(self.choice))

    def outcomes(self) -> tuple[list[Answers], int]:
        """What may be answered to this one question, and which of these was."""
        said: list[Answers] = []
        if len(self.answer) == 1:
            strengths = (SLIGHTLY, CLEARLY) if self.strength[0] else (0,)
            found = [(e, s) for e in (-1.0, 0.0, 1.0) for s in (strengths if e else (0,))]
            for e, s in found:
                said.append(self._replace(answer=np.array([e]), strength=np.array([s])))
            return said, found.index((float(self.answer[0]), int(self.strength[0])))
        xp = namespace(self.a)
        points = xp.concat([self.a[:1], self.b])
        logs = np.concatenate([self.logs[..., 0, :1], self.logs[..., 1, :]], axis=-1)
        for best in range(len(points)):
            rest = np.delete(np.arange(len(points)), best)
            same = np.full(len(rest), best)
            both = np.stack([logs[..., same], logs[..., rest]], axis=-2)
            said.append(self._replace(a=points[same], b=points[rest], logs=both))
        return said, 0

    def append(self, new: Answers) -> Answers:
        """These answers and new ones."""
        xp = namespace(self.a)
        first = self.choice[-1] + 1 if len(self.choice) else 0
        new = new._replace(choice=new.choice - new.choice[0] + first)
        return Answers(
            xp.concat([self.a, new.a]),
            xp.concat([self.b, new.b]),
            *(np.concatenate(pair, axis=-1) for pair in zip(self[2:], new[2:], strict=True)),
        )

    def meant(self, rater: int, usage: np.ndarray) -> Answers:
        """The same answers, with what one of the raters means by strengths."""
        mine = self.rater == rater
        return self._replace(usage=np.where(mine, usage[:, None], self.usage))

    def part(self, part: slice | np.ndarray) -> Answers:
        """Some of the answers."""
        return Answers(self.a[part], self.b[part], *(x[..., part] for x in self[2:]))

    def in_chart(self, manifold: Manifold, chart: Chart) -> Answers:
        """The same answers in another chart."""
        if not len(self.answer):
            return self._replace(logs=np.zeros((*chart.nodes.shape, 2, 0), np.float32))
        return self._replace(logs=chart.pair_logs(manifold, self.a, self.b))


class People(NamedTuple):
    """Particles of any model, in the terms that all models share.

    Attributes
    ----------
    ideals : ndarray of shape (n, d)
        In the chart.
    factors : ndarray of shape (n, d, d)
        L of the metric L L'.
    tilts : ndarray of shape (n, d)
        t of the loss |u| + t·u of x, where u = L' log(ideal, x).
    others : ndarray of shape (n, 6)
        Numbers that `Traits` are made of.
    """

    ideals: np.ndarray
    factors: np.ndarray
    tilts: np.ndarray
    others: np.ndarray

    def part(self, part: slice | np.ndarray) -> People:
        """Some of the particles."""
        return People(*(x[part] for x in self))

    def losses(self, logs: np.ndarray) -> np.ndarray:
        """Losses (n, 2m) of the points of m pairs, from the coefficients (F, d, 2, m) of logs."""
        n, d = self.ideals.shape
        Y = features(self.ideals.astype(np.float32)) @ logs.reshape(len(logs), -1)
        U = np.swapaxes(self.factors.astype(np.float32), 1, 2) @ Y.reshape(n, d, -1)
        tilted = self.tilts.astype(np.float32)[:, None] @ U
        return np.sqrt(np.einsum("ndm,ndm->nm", U, U)) + tilted[:, 0]


class Traits(NamedTuple):
    """What answers depend on besides the losses; arrays of shape (n, 1), or (n, m) by rater.

    The JND is that near the ideal. It grows by ``weber`` times the mean loss of the two points.
    Bias and tie width are in units of the logistic's argument.
    """

    jnd: np.ndarray
    lapse: np.ndarray
    left: np.ndarray
    bias: np.ndarray
    tie: np.ndarray
    weber: np.ndarray
    jnd_slope: np.ndarray  # derivative of log JND with the first of the six numbers
    weber_slope: np.ndarray  # derivative of the Weber fraction with the last

    @classmethod
    def of(cls, others: np.ndarray, prior: Prior, offsets: np.ndarray | None = None) -> Traits:
        """From the six numbers of each particle, plus ``offsets`` of shape (m, 6) of raters."""
        u = others[:, None, :] if offsets is None else others[:, None, :] + offsets
        u = np.clip(u, -8, 8).astype(np.float32)
        level = np.tanh(JND_SPREAD * u[..., 0])
        middle, half = math.sqrt(prior.least * prior.most), math.log(prior.most / prior.least) / 2
        weber = WEBER_MEDIAN * np.exp(WEBER_SPREAD * u[..., 5])
        return cls(
            jnd=middle * np.exp(half * level),
            lapse=sigmoid(_logit(LAPSE_MEDIAN) + LAPSE_SPREAD * u[..., 1]),
            left=sigmoid(_logit(LEFT_MEDIAN) + LEFT_SPREAD * u[..., 2]),
            bias=BIAS_SPREAD * u[..., 3],
            tie=TIE_MEDIAN * prior.ties * np.exp(TIE_SPREAD * u[..., 4]),
            weber=weber,
            jnd_slope=half * JND_SPREAD * (1 - level * level),
            weber_slope=WEBER_SPREAD * weber,
        )

    def difference(self, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Difference of the losses (n, 2m) of m pairs, in units of the logistic's argument.

        Also their means, and the JND there.
        """
        m = losses.shape[1] // 2
        first, second = losses[:, :m], losses[:, m:]
        mean = (first + second) / 2
        jnd = self.jnd + self.weber * mean
        return SLOPE * (second - first) / jnd, mean, jnd

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


class Perception(NamedTuple):
    """One model of how people see: alike in all directions, or with a metric.

    A particle is the row (c, JND, lapse, left, bias, tie, Weber fraction, t | log L_ii, L_ij). It
    begins with the ideal c in the chart and six numbers that are standard normal a priori. With a
    metric L L' the lower triangular L follows the tilt t. The loss of x is |u| + t·u, where
    u = L' log(c, x): one side of the ideal is worse than the distance, and the other better.

    The prior of L L' is Wishart with mean I, so that no axes are special. With its ν = 2d - 1
    degrees of freedom, the largest sensitivity is typically 3 to 4 times the smallest. By
    Bartlett's decomposition ν L_ii² is χ² with ν - i + 1 degrees of freedom and √ν L_ij standard
    normal.

    The prior of c is that of `log_prior_of_length`. That of t is Student's, about 0: some
    hundredths are usual, and four tenths are possible; ``wary``: tenths are usual. An answer to
    Exp(±h u) then tells where the ideal is up to such a share of h, however often it is given.
    """

    d: int
    metric: bool
    wary: bool = False

    @property
    def freedom(self) -> int:
        """ν."""
        return 2 * self.d - 1

    @property
    def law(self) -> tuple[float, float]:
        """Scale and degrees of freedom of the prior of t."""
        return WARY_TILT if self.wary else TILT

    def draw(self, rng: np.random.Generator, ideals: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Particles with these ideals and six numbers, the rest from the prior, shape (n, D)."""
        (n, d), nu = ideals.shape, self.freedom
        parts = [ideals, others, _drawn_tilts(rng, n, d, *self.law)]
        if self.metric:
            squares = rng.chisquare(nu - np.arange(d), (n, d)) / nu
            parts.append(0.5 * np.log(squares))
            parts.append(rng.standard_normal((n, d * (d - 1) // 2)) / math.sqrt(nu))
        return np.concatenate(parts, axis=1)

    def factor(self, particles: np.ndarray) -> np.ndarray:
        """L, shape (n, d, d)."""
        n, d = len(particles), self.d
        if not self.metric:
            return np.broadcast_to(np.eye(d), (n, d, d))
        L = np.zeros((n, d, d))
        diagonal = np.arange(d)
        start = 2 * d + OTHERS
        L[:, diagonal, diagonal] = np.exp(np.clip(particles[:, start : start + d], -8, 4))
        i, j = _lower(d)
        L[:, i, j] = particles[:, start + d :]
        return L

    def tilts(self, particles: np.ndarray) -> np.ndarray:
        """t, shape (n, d)."""
        return particles[:, self.d + OTHERS : 2 * self.d + OTHERS]

    def log_prior(
        self, particles: np.ndarray, origin: np.ndarray, prior: Prior
    ) -> tuple[np.ndarray, np.ndarray]:
        """Logarithm of the prior density, centred at ``origin`` of the chart, and its gradient."""
        d, nu = self.d, self.freedom
        c = particles[:, :d] - origin
        value, slope = log_prior_of_length(np.sum(c * c, axis=1), prior, d)
        u = particles[:, d : d + OTHERS]
        value = value - 0.5 * np.sum(u * u, axis=1)
        gradient = np.empty_like(particles)
        gradient[:, :d] = 2 * slope[:, None] * c
        gradient[:, d : d + OTHERS] = -u
        more, slope = log_prior_of_tilt(self.tilts(particles), *self.law)
        value += more
        gradient[:, d + OTHERS : 2 * d + OTHERS] = slope
        if self.metric:
            degrees = nu - np.arange(d)
            log = np.clip(particles[:, 2 * d + OTHERS : 3 * d + OTHERS], -8, 4)
            rest = particles[:, 3 * d + OTHERS :]
            square = nu * np.exp(2 * log)
            value = value + np.sum(degrees * log - square / 2, axis=1)
            value -= 0.5 * nu * np.sum(rest * rest, axis=1)
            gradient[:, 2 * d + OTHERS : 3 * d + OTHERS] = degrees - square
            gradient[:, 3 * d + OTHERS :] = -nu * rest
        return value, gradient

    def log_likelihood(
        self,
        particles: np.ndarray,
        answers: Answers,
        prior: Prior,
        offsets: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log likelihood of the answers, shape (n,), and its gradient, shape (n, D).

        ``offsets`` of shape (m, 6) say how the rater of each answer differs from what is common.
        In single precision: losses are then right to a millionth of a radian.
        """
        d = self.d
        each = self._each(particles, answers)
        losses = np.concatenate([sight.losses for _, sight in each])
        traits = Traits.of(particles[:, d : d + OTHERS], prior, offsets)
        difference, mean, jnd = traits.difference(losses)
        p, looked, share, rise, drop, stretch, lean, part = _answered(
            difference, jnd, traits, answers, prior
        )
        value = (part * np.log(p)).astype(np.float64).sum(axis=1)

        # Derivatives with the six numbers, by way of the difference and the JND of each question.
        by_looking = (1 - traits.lapse) / p
        pull = by_looking * rise
        push = -(pull * difference + by_looking * stretch) / jnd
        side = answers.left.astype(np.float32)
        lapse, left = traits.lapse, traits.left
        gradient = np.empty_like(particles)
        u = gradient[:, d : d + OTHERS]
        u[:, 0] = np.sum(push * traits.jnd * traits.jnd_slope, axis=1)
        u[:, 1] = LAPSE_SPREAD * np.sum(part * lapse * (1 - lapse) * (share - looked) / p, axis=1)
        u[:, 2] = LEFT_SPREAD * np.sum(lapse * left * (1 - left) * lean / p, axis=1)
        u[:, 3] = BIAS_SPREAD * np.sum(pull * side, axis=1)
        u[:, 4] = TIE_SPREAD * np.sum(by_looking * drop * traits.tie, axis=1)
        u[:, 5] = np.sum(push * mean * traits.weber_slope, axis=1)

        # Derivatives with the ideal, the tilt and the metric, by way of the losses.
        pull, push = SLOPE * pull / jnd, push * traits.weber / 2
        slopes = np.concatenate([push - pull, push + pull], axis=1)
        for i, sight in each:
            gradient[i, :d], gradient[i, d + OTHERS :] = sight.gradient(slopes[i])
        return value, gradient

    def losses(self, particles: np.ndarray, answers: Answers) -> np.ndarray:
        """Losses (n, 2m) of the first and then of the second points, in single precision."""
        return np.concatenate([sight.losses for _, sight in self._each(particles, answers)])

    def _each(self, particles: np.ndarray, answers: Answers) -> list[tuple[slice, _Sight]]:
        """What some particles at a time see, and which these are."""
        n, d, m = len(particles), self.d, len(answers.answer)
        most = max(16, CHUNK // (2 * m * d))
        cuts = np.array_split(np.arange(n), -(-n // most))
        parts = [slice(i[0], i[-1] + 1) for i in cuts]
        return [(i, _Sight.of(self, particles[i], answers)) for i in parts]


class _Sight(NamedTuple):
    """How n particles see the points of m pairs: losses |U| + t·U, where U = L' Y.

    ``flat`` are the coefficients of the logs, shape (F, 2md), and Y the logs from the ideals c,
    shape (n, d, 2m). L is None for people who see all directions alike. In single precision.
    """

    c: np.ndarray
    tilts: np.ndarray
    L: np.ndarray | None
    flat: np.ndarray
    Y: np.ndarray
    U: np.ndarray
    lengths: np.ndarray
    losses: np.ndarray

    @classmethod
    def of(cls, model: Perception, particles: np.ndarray, answers: Answers) -> _Sight:
        """What particles of a model see."""
        n, d = len(particles), model.d
        flat = answers.logs.reshape(len(answers.logs), -1)
        c = particles[:, :d].astype(np.float32)
        tilts = model.tilts(particles).astype(np.float32)
        L = model.factor(particles).astype(np.float32) if model.metric else None
        Y = (features(c) @ flat).reshape(n, d, -1)
        U = Y if L is None else np.swapaxes(L, 1, 2) @ Y
        lengths = np.sqrt(np.einsum("ndm,ndm->nm", U, U) + np.float32(TINY))
        return cls(c, tilts, L, flat, Y, U, lengths, lengths + (tilts[:, None] @ U)[:, 0])

    def gradient(self, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From derivatives with the losses, those with c, and with what follows the six numbers."""
        c, tilts, L, flat, Y, U, lengths, _ = self
        n, d = c.shape
        parts = [(U @ slopes[:, :, None])[:, :, 0]]
        V = U * (slopes / lengths)[:, None]
        V += tilts[:, :, None] * slopes[:, None]
        if L is not None:
            dL = np.swapaxes(V @ np.swapaxes(Y, 1, 2), 1, 2)
            diagonal, (i, j) = np.arange(d), _lower(d)
            parts += [(dL * L)[:, diagonal, diagonal], dL[:, i, j]]
            V = L @ V
        by_features = V.reshape(n, -1) @ flat.T
        i, j = upper(d)
        square = np.zeros((n, d, d), np.float32)
        square[:, i, j] = by_features[:, 1 + d :]
        by_c = by_features[:, 1 : 1 + d].astype(np.float64)
        by_c += np.einsum("nij,nj->ni", square + np.swapaxes(square, 1, 2), c)
        return by_c, np.concatenate(parts, axis=1)


def outcomes(
    losses: np.ndarray, others: np.ndarray, prior: Prior, usage: np.ndarray | None = None
) -> np.ndarray:
    """Probabilities of "a", "b" and a tie for m new pairs whose sides are drawn, shape (3, n, m).

    ``losses`` of shape (n, 2m) are those of all first and then of all second points, to n particles
    with the six numbers ``others``. With a rater's ``usage`` of strengths, of "a slightly", "b
    slightly" and a tie, and then of "a clearly" and "b clearly", shape (5, n, m).
    """
    traits = Traits.of(others, prior)
    x, _, jnd = traits.difference(losses)
    first = chance(sigmoid(x - traits.tie), traits.lapse, 0.5)
    second = chance(sigmoid(-x - traits.tie), traits.lapse, 0.5)
    tied = np.maximum(1 - first - second, 1e-9)
    if usage is None:
        return np.stack([first, second, tied]).astype(np.float64)
    unit, strong = _threshold_unit(jnd, prior), np.array([CLEARLY])
    share = share_clear(strong, usage[:, None]) / 2
    clear = [
        chance(stated(y - traits.tie, unit, strong, usage[:, None])[0], traits.lapse, share)
        for y in (x, -x)
    ]
    slight = [np.maximum(p - q, 1e-9) for p, q in zip((first, second), clear, strict=True)]
    return np.stack([*slight, tied, *clear]).astype(np.float64)


def usage_of(losses: np.ndarray, others: np.ndarray, prior: Prior, answers: Answers) -> np.ndarray:
    """What the rater of these answers means by strengths, shape (USAGE,); see `strengths`.

    As particles of equal weight see them, from the losses (n, 2m) of the points.
    """
    traits = Traits.of(others, prior)
    x, _, jnd = traits.difference(losses)
    e, side = answers.answer.astype(np.float32), answers.left.astype(np.float32)
    y = -e * (x + side * traits.bias) - traits.tie
    return learned(y, np.broadcast_to(_threshold_unit(jnd, prior), y.shape), answers.strength)


def chosen(losses: np.ndarray, others: np.ndarray, prior: Prior, worst: bool = False) -> np.ndarray:
    """Probability that each of k points is chosen as the best, shape (k, n), from losses (n, k).

    The losses are seen with Gumbel noise, so that two of the points are told apart as in a duel.
    ``worst``: as the worst, by the same law for losses of the other sign.
    """
    traits = Traits.of(others, prior)
    jnd = traits.jnd + traits.weber * losses.mean(axis=1, keepdims=True)
    x = (SLOPE if worst else -SLOPE) * losses / jnd
    looked = np.exp(x - x.max(axis=1, keepdims=True))
    looked /= looked.sum(axis=1, keepdims=True)
    return chance(looked, traits.lapse, 1 / losses.shape[1]).T.astype(np.float64)


def log_probability(
    losses: np.ndarray,
    others: np.ndarray,
    answers: Answers,
    prior: Prior,
    offsets: np.ndarray | None = None,
) -> np.ndarray:
    """Log likelihood of the answers, shape (n,), from the losses (n, 2m) of their points."""
    traits = Traits.of(others, prior, offsets)
    difference, _, jnd = traits.difference(losses)
    p, *_, part = _answered(difference, jnd, traits, answers, prior)
    return (part * np.log(p)).astype(np.float64).sum(axis=1)


def rater_offset(people: People, answers: Answers, prior: Prior) -> np.ndarray:
    """How the rater of the answers differs from what is common, in the six numbers, shape (6,).

    Posterior mean over a grid, given a few particles. Raters who contradict what is known of the
    ideal get a larger JND or more lapses, so that their answers weigh less.
    """
    steps = np.array(list(itertools.product(*OFFSET_STEPS)))
    grid = np.column_stack([steps * STEP_SIZES, steps[:, 0]])
    traits = Traits.of((grid[:, None] + people.others).reshape(-1, OTHERS), prior)
    losses = np.tile(people.losses(answers.logs), (len(grid), 1))
    difference, _, jnd = traits.difference(losses)
    p, *_, part = _answered(difference, jnd, traits, answers, prior)
    score = (part * np.log(p)).sum(axis=1).reshape(len(grid), -1).mean(axis=1)
    count = np.sum(abs(steps), axis=1)
    differs = np.where(count > 0, np.exp(-count), 0.0)
    prior_weight = np.where(count > 0, RATER_DIFFERS * differs / differs.sum(), 1 - RATER_DIFFERS)
    score = score + np.log(prior_weight)
    weight = np.exp(score - score.max())
    return weight @ grid / weight.sum()


class _Answered(NamedTuple):
    """Probabilities p = λ·share + (1 - λ)·looked of answers, and derivatives, shape (n, m).

    ``rise`` and ``drop`` are derivatives of ``looked`` with the difference of the losses and with
    the tie width, in units of the logistic's argument. ``stretch`` is that with the logarithm of
    the unit of thresholds, and ``lean`` that of ``share`` with the share of "left". Duels of one
    choice all have its p, and ``part`` says which part of its logarithm each stands for.
    """

    p: np.ndarray
    looked: np.ndarray
    share: np.ndarray
    rise: np.ndarray
    drop: np.ndarray
    stretch: np.ndarray | float
    lean: np.ndarray
    part: np.ndarray | float


def _answered(
    difference: np.ndarray, jnd: np.ndarray, traits: Traits, answers: Answers, prior: Prior
) -> _Answered:
    """How probable the answers are, from the differences of the losses and the JND there."""
    e, side = answers.answer.astype(np.float32), answers.left.astype(np.float32)
    x = difference + side * traits.bias
    looked = sigmoid(-e * x - traits.tie)
    lean = -e * side
    share = 0.5 + lean * (traits.left - 0.5)
    bump = looked * (1 - looked)
    rise, drop = -e * bump, -bump
    tied = e == 0
    if tied.any():
        xt = x[:, tied]
        width = traits.tie if traits.tie.shape[1] == 1 else traits.tie[:, tied]
        right, wrong = sigmoid(xt - width), sigmoid(-xt - width)
        looked[:, tied] = np.maximum(1 - right - wrong, 0)
        right, wrong = right * (1 - right), wrong * (1 - wrong)
        rise[:, tied], drop[:, tied] = wrong - right, wrong + right
        share = np.where(tied, np.float32(LAPSED_TIES), share)
    stretch = 0.0
    if (graded := answers.strength > 0).any():
        y, unit = (-e * x - traits.tie)[:, graded], _threshold_unit(jnd, prior)
        unit = np.broadcast_to(unit, x.shape)[:, graded]
        strength, usage = answers.strength[graded], answers.usage[:, graded]
        looked[:, graded], slope, stretched = stated(y, unit, strength, usage)
        rise[:, graded], drop[:, graded] = -e[graded] * slope, -slope
        stretch = np.zeros_like(x)
        stretch[:, graded] = stretched
        likely = np.ones(len(e), np.float32)
        likely[graded] = share_clear(strength, usage)
        share, lean = share * likely, lean * likely
    part = 1.0
    if (answers.choice[1:] == answers.choice[:-1]).any():
        # The best of several, whose losses are seen with Gumbel noise: 1/(1 + Σ exp(-x)).
        starts, sizes = answers.choices()
        size = np.repeat(sizes, sizes).astype(np.float32)
        odds = np.exp(np.clip(e * x + traits.tie, -40, 40))
        looked_all = np.repeat(1 / (1 + np.add.reduceat(odds, starts, axis=1)), sizes, axis=1)
        several = size > 1
        looked = np.where(several, looked_all, looked)
        rise = np.where(several, -e * looked_all**2 * odds, rise)
        drop = np.where(several, -(looked_all**2) * odds, drop)
        share = np.where(several, 1 / (1 + size), share)
        part = 1 / size
    p = chance(looked, traits.lapse, share) + np.float32(1e-9)
    return _Answered(p, looked, share, rise, drop, stretch, lean, part)


def _threshold_unit(jnd: np.ndarray, prior: Prior) -> np.ndarray:
    """The unit of the thresholds of strengths, in those of the logistic's argument."""
    return np.float32(SLOPE * math.sqrt(prior.least * prior.most)) / jnd


def log_prior_of_length(square: np.ndarray, prior: Prior, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Log prior density of ideals in coordinates, at squared lengths, and its derivative.

    Lengths are evenly distributed up to the radius of the prior, but for a core in which the
    density is smooth. Beyond they fall as a power, for people may be anywhere. With an infinite
    radius the density is the same everywhere.
    """
    if math.isinf(prior.radius):
        return np.zeros_like(square), np.zeros_like(square)
    square = square + TINY
    core = (SMOOTH_CORE * prior.radius) ** 2
    beyond = square > prior.radius**2
    value = -(d - 1) / 2 * np.log(square + core)
    value -= prior.tail / 2 * np.log(np.maximum(square / prior.radius**2, 1))
    slope = -(d - 1) / 2 / (square + core) - np.where(beyond, prior.tail / 2 / square, 0.0)
    return value, slope


def log_prior_of_tilt(
    tilts: np.ndarray, scale: float, freedom: float
) -> tuple[np.ndarray, np.ndarray]:
    """Log density of tilts (n, d) up to the largest one: Student's distribution; its gradient."""
    d = tilts.shape[1]
    size, power = freedom * scale**2 / d, (freedom + d) / 2
    square = np.sum(tilts * tilts, axis=1)
    value = _log_tilt_constant(d, scale, freedom) - power * np.log1p(square / size)
    value = np.where(square < MOST_TILT**2, value, -np.inf)
    return value, -2 * power * tilts / (size + square)[:, None]


@cache
def _log_tilt_constant(d: int, scale: float, freedom: float) -> float:
    """What makes that density one of the ball of tilts: by the trapezoidal rule along its radius.

    With the surface of the unit sphere, 2 π^(d/2)/Γ(d/2).
    """
    r = MOST_TILT * np.linspace(0, 1, 10_001) ** 3  # finest where the density is
    f = r ** (d - 1) * (1 + r * r * d / (freedom * scale**2)) ** (-(freedom + d) / 2)
    radial = float(np.sum((f[1:] + f[:-1]) / 2 * np.diff(r)))
    return math.lgamma(d / 2) - math.log(2) - d / 2 * math.log(math.pi) - math.log(radial)


def _drawn_tilts(
    rng: np.random.Generator, n: int, d: int, scale: float, freedom: float
) -> np.ndarray:
    """Tilts from their prior, shape (n, d)."""
    tilts = np.empty((0, d))
    while len(tilts) < n:
        more = scale / math.sqrt(d) * rng.standard_normal((n, d))
        more /= np.sqrt(rng.chisquare(freedom, (n, 1)) / freedom)
        tilts = np.concatenate([tilts, more[np.sum(more * more, axis=1) < MOST_TILT**2]])
    return tilts[:n]


def _logit(p: float) -> float:
    return math.log(p / (1 - p))


@cache
def _lower(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices i > j of a (d, d) array."""
    return np.tril_indices(d, -1)
