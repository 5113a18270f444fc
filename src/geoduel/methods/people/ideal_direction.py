"""IdealDirection: what a person likes best, among many dimensions of which few may matter.

`slopes` holds the belief: a linear model of how much better one point is than another. This file
keeps its coordinates, chooses the questions, and states the region.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array, namespace
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..frame import Frame, reach
from .attention import Attention
from .observer import Observer, Raters
from .questions import REGION, PersonMethod, check_answer, inside, stacked
from .slopes import LAPSE, NORMAL_JND, Pairs, Posterior, Scales, Sites, fit, looked
from .weights import radius_holding

__all__ = ["IdealDirection", "IdealDirectionState"]

# Frozen; docs/notebook/ideal-direction.md says what they were tuned on.
STEP = 0.35  # of the grids of the JND and of the radius, in logarithms
# JND and radius of the prior: least and most steps, the middle, and the deviation in logarithms.
JNDS, RADII = (-4, 4, 0.0, 0.6), (-3, 2, -0.6, 0.7)
NARROWEST, WIDEST, WIDTHS = 4.0, 4 / 3, 8  # half-widths: in JND, in radii of the prior, how many
DIRECTIONS, PEAKED = 8, 8  # drawn for a question; power of the variances that they are drawn by
OPEN = 0.3  # precision that the answer to an open question is expected to bring
FAR = 0.1  # of the ideal from the base of the chart, in typical distances; then the chart moves
MEMORY = 400  # answers that are believed: the latest
SETTLED, SELDOM = 100, 4  # answers after which scales are looked at only at every fourth
WIDER = 1.5  # times the radius of the belief is stated: people are no quadratics
PATIENT = 8  # answers a dimension before questions are asked to see whether the rater looks
EASY = 0.95  # probability of the expected answer to an easy question
SAMPLES = 200  # points that stand for the belief


class Heard(NamedTuple):
    """Questions and answers, in the chart.

    Attributes
    ----------
    a, b : array of shape (m, *point_shape)
    first, second : ndarray of shape (m, d)
        Their coordinates. Where there are none, at a cut locus, both points have those of the base.
    answer, left : ndarray of shape (m,)
        As in `QuestionMethod.update`.
    """

    a: Array
    b: Array
    first: np.ndarray
    second: np.ndarray
    answer: np.ndarray
    left: np.ndarray

    def append(self, new: Heard, most: int) -> Heard:
        """These and a new one; of more than ``most`` the latest."""
        xp = namespace(self.a)
        points = (xp.concat([x, y])[-most:, ...] for x, y in zip(self[:2], new[:2], strict=True))
        rest = (np.concatenate([x, y])[-most:] for x, y in zip(self[2:], new[2:], strict=True))
        return Heard(*points, *rest)


class IdealDirectionState(NamedTuple):
    """State of IdealDirection: answers, and what follows from them.

    Attributes
    ----------
    frame : Frame
        Base and axes of the chart.
    start, centre : ndarray of shape (d,)
        Coordinates of the start and of the ideal that is believed in.
    blur : float
        Root mean square distance of the ideal from ``centre``.
    steps : tuple of int
        Steps from the assumed JND, and from the radius of the prior, on their grids.
    heard : Heard
    sites : Sites
        What each answer told.
    raters : Raters
    attention : Attention
        Whether the raters look.
    best, uncertainty
        What is recommended, and the radius about it that holds the ideal of four people in five,
        or a point that is as good.
    noise : float
        Share of wrong answers, however different the points: half the share of lapses.
    known : float
        That radius if the rater looks.
    """

    frame: Frame
    start: np.ndarray
    centre: np.ndarray
    blur: float
    steps: tuple[int, int]
    heard: Heard
    sites: Sites
    raters: Raters
    attention: Attention
    best: Array
    uncertainty: float = math.inf
    noise: float = LAPSE / 2
    known: float = math.inf
    stop: str | None = None

    @property
    def point(self) -> Array:
        """The point the method would return now."""
        return self.best


@dataclass(frozen=True)
class IdealDirection(PersonMethod):
    """The direction in which a person's ideal lies, and then the ideal; 7 to about 50 dimensions.

    People who care about five directions of fifty have a loss that falls along one direction only,
    whatever the other forty-nine are. To know it takes about as many answers as there are
    dimensions; to know all that such people see would take many times more. So the method learns
    the slope of the loss at the best point so far, and how the slope changes, by a linear model:

        chart about the best point c; a question Exp_c(±h u) tells the sign of u' M (c* - c) plus
            noise, whatever h is, for the ideal c* and the metric M
        posterior of M c* and M: normal, by expectation propagation
        ask along u, where the slope at c is known least, with the h that tells most of it
        grids of the JND and of the distance expected: a step where the evidence grows
        c <- M^-1 (M c*), with the means of both

    Wide questions tell most of people whose loss is a distance. Far out, the two points differ by
    twice the part of the ideal along u as the person sees it, however faint u is to them.
    But asymmetric people have a slope that grows with the width. The model has such a slope, too,
    and questions get narrow as the rest gets known.

    Parameters
    ----------
    domain, x_tol, parallel, min_radius, jnd, prior_radius, catch
        As in `geoduel.methods.people.questions.PersonMethod`. The JND is learned, from a quarter to
        four times what is assumed, and so is the distance of the ideal.

    Notes
    -----
    `uncertainty` is the radius of a ball about the recommended point that holds, for four people in
    five, the ideal or a point that is as good. In directions that a person hardly sees the ideal
    may be anywhere. Raters are not told apart, except for whether they look. The answers used are
    the latest 400.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> sphere, x0 = gd.Sphere(10), np.eye(10)[0]
    >>> ideal = sphere.exp(x0, np.full(10, 0.2) * (x0 == 0))
    >>> oracle = gd.from_objective(lambda x: sphere.dist(x, ideal))
    >>> result = gd.minimize(oracle, sphere, x0, method="ideal-direction", budget=60, rng=0)
    >>> bool(sphere.dist(x0, ideal) > 0.5 and sphere.dist(result.x, ideal) < 0.1)
    True
    """

    version: ClassVar[int] = 1
    matrices: ClassVar[int] = 3

    def typical_answers(self, manifold: Manifold) -> int:
        """Forty, and five for every two dimensions, of which most tell a person little."""
        return 40 + 5 * manifold.dim // 2

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> IdealDirectionState:
        d = manifold.dim
        if d < 2:
            raise ArgumentError(
                f"IdealDirection needs a manifold of dimension >= 2, got {manifold}"
            )
        zero, none, points = np.zeros(d), np.zeros(0), x0[None][:0]
        heard = Heard(points, points, np.zeros((0, d)), np.zeros((0, d)), none, none)
        state = IdealDirectionState(
            frame=Frame(x0, np.eye(d)),
            start=zero,
            centre=zero,
            blur=self._scales(manifold, (0, -1)).radius,
            steps=(0, -1),
            heard=heard,
            sites=Sites(none, none),
            raters=Raters(),
            attention=Attention.none(),
            best=x0,
        )
        return self._concluded(manifold, state, self._posterior(manifold, state))

    def propose(
        self,
        manifold: Manifold,
        state: IdealDirectionState,
        rng: np.random.Generator,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> tuple[Array, Array]:
        believed = self._posterior(manifold, state, pending)
        widths = self._widths(manifold)
        if not pending and self._in_doubt(manifold, state) and rng.random() < 2 * self.catch:
            return self._easy(manifold, state, believed, widths)
        # Directions drawn among those where the slope is known least.
        offset = state.centre - state.start
        variance, axes = np.linalg.eigh(believed.slope(offset))
        shares = np.maximum(variance / variance[-1], 0) ** PEAKED
        u = rng.standard_normal((DIRECTIONS, manifold.dim)) @ (axes * shares).T
        u = np.repeat(u / np.linalg.norm(u, axis=1, keepdims=True), len(widths), axis=0)
        h = np.tile(widths, DIRECTIONS)
        c, step = state.centre, h[:, None] * u
        asked = self._seen(state, c - step, c + step, np.zeros(len(h)))
        j = int(np.argmax(believed.gain(offset, asked)))
        return self._ends(manifold, state, u[j], float(h[j]))

    def update(
        self,
        manifold: Manifold,
        state: IdealDirectionState,
        a: Array,
        b: Array,
        answer: int,
        rng: np.random.Generator,
        *,
        left: int = 0,
        rater: str | None = None,
    ) -> IdealDirectionState:
        check_answer(answer, left)
        first, second = _coordinates(manifold, state.frame, a[None], b[None])
        one = np.array([float(answer)]), np.array([float(left)])
        raters, r = state.raters.hear(rater or "")
        believed = self._posterior(manifold, state)
        expected = _chance(believed, self._seen(state, first, second, -one[1]))
        attention = state.attention.hear(r, float(expected[0]), answer, left)
        heard = state.heard.append(Heard(a[None], b[None], first, second, *one), MEMORY)
        lost = len(state.heard.answer) + 1 - len(heard.answer)
        state = state._replace(
            heard=heard,
            sites=Sites(*(x[lost:] for x in state.sites)),
            raters=raters,
            attention=attention,
        )
        state, believed = self._learned(manifold, state)
        return self._concluded(manifold, state, believed)

    def choose(
        self,
        manifold: Manifold,
        state: IdealDirectionState,
        points: Array,
        best: int,
        rng: np.random.Generator,
        *,
        worst: bool = False,
        rater: str | None = None,
        more: bool = False,
    ) -> IdealDirectionState:
        """As by default, by duels, which are one answer to those who count."""
        told = super().choose(manifold, state, points, best, rng, worst=worst, rater=rater)
        counted, _ = state.raters.hear(rater or "", more=more)
        return told._replace(raters=told.raters._replace(questions=counted.questions))

    def ideals(self, manifold: Manifold, state: IdealDirectionState, n: int) -> Array:
        spread = self._posterior(manifold, state).ideal()[1]
        return state.frame.at(manifold, state.centre + _scattered(spread, n))

    def observers(self, manifold: Manifold, state: IdealDirectionState) -> dict[str, Observer]:
        """What is known about each rater: the same of all, apart from whether they look."""
        believed = self._posterior(manifold, state)
        return {
            name: Observer(
                answers=n,
                jnd=believed.scales.jnd,
                lapse=LAPSE,
                left=0.5,
                bias=believed.bias() / NORMAL_JND,
                tie=0.0,
                verdict=state.attention.verdict(r),
            )
            for r, (name, _, n) in enumerate(zip(*state.raters, strict=True))
        }

    # -- pieces ----------------------------------------------------------------------------------

    def _prior(self, manifold: Manifold) -> tuple[float, float]:
        """Radius of the prior, finite, and assumed JND."""
        radius, jnd = self.scales(manifold)
        return min(radius, manifold.typical_dist) if math.isinf(radius) else radius, jnd

    def _scales(self, manifold: Manifold, steps: tuple[int, int]) -> Scales:
        radius, jnd = self._prior(manifold)
        return Scales(jnd * math.exp(STEP * steps[0]), radius * math.exp(STEP * steps[1]))

    def _widths(self, manifold: Manifold) -> np.ndarray:
        radius, jnd = self._prior(manifold)
        widest = max(WIDEST * radius, 2 * NARROWEST * jnd)
        return np.maximum(np.geomspace(NARROWEST * jnd, widest, WIDTHS), self.min_radius)

    def _seen(
        self, state: IdealDirectionState, a: np.ndarray, b: np.ndarray, left: np.ndarray
    ) -> Pairs:
        """Pairs with these coordinates; ``left``: +1 where the second is on the left."""
        return Pairs.of(a, b, left, state.start, state.centre, state.blur)

    def _posterior(
        self,
        manifold: Manifold,
        state: IdealDirectionState,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> Posterior:
        """What is believed; with open questions, as far as their answers are expected to tell."""
        heard, sites = state.heard, state.sites
        pairs = self._seen(state, heard.first, heard.second, -heard.left)
        if pending:
            first, second = _coordinates(manifold, state.frame, *stacked(pending))
            pairs = pairs.and_(self._seen(state, first, second, np.zeros(len(pending))))
            open_ = np.full(len(pending), OPEN)
            sites = Sites(np.append(sites.precision, open_), np.append(sites.pull, 0 * open_))
        return Posterior.of(pairs, sites, self._scales(manifold, state.steps))

    def _learned(
        self, manifold: Manifold, state: IdealDirectionState
    ) -> tuple[IdealDirectionState, Posterior]:
        """The state that has learned from all answers, in a chart about its ideal."""
        heard, m = state.heard, len(state.heard.answer)
        pairs = self._seen(state, heard.first, heard.second, -heard.left)
        jnd, radius = state.steps
        tried = [state.steps]
        if m < SETTLED or m % SELDOM == 0:
            along = m // (1 if m < SETTLED else SELDOM) % 2
            tried += [(jnd + e * along, radius + e * (1 - along)) for e in (1, -1)]
        found = []
        for steps in tried:
            if JNDS[0] <= steps[0] <= JNDS[1] and RADII[0] <= steps[1] <= RADII[1]:
                scales = self._scales(manifold, steps)
                sites, believed, evidence = fit(pairs, heard.answer, scales, state.sites)
                found.append((evidence + _log_prior(steps), steps, sites, believed))
        _, steps, sites, believed = max(found, key=lambda one: one[0])
        c, spread = believed.ideal()
        frame, start = state.frame, state.start
        c = frame.within(manifold, start + c, reach(manifold, None, frame.point))
        state = state._replace(centre=c, blur=math.sqrt(np.trace(spread)), steps=steps, sites=sites)
        if np.linalg.norm(c) > FAR * manifold.typical_dist:
            state = self._recentred(manifold, state)
        return state, believed

    def _recentred(self, manifold: Manifold, state: IdealDirectionState) -> IdealDirectionState:
        """The same answers in the chart about the ideal that is believed in."""
        frame, _ = state.frame.move(manifold, state.centre)
        heard = state.heard
        first, second = _coordinates(manifold, frame, heard.a, heard.b)
        before = state.start - state.centre
        x = state.frame.at(manifold, state.start)
        start, _ = _coordinates(manifold, frame, x[None], x[None])
        return state._replace(
            frame=frame,
            start=start[0] if start.any() else before,
            centre=np.zeros_like(before),
            heard=heard._replace(first=first, second=second),
        )

    def _concluded(
        self, manifold: Manifold, state: IdealDirectionState, believed: Posterior
    ) -> IdealDirectionState:
        """The state with what follows from its belief."""
        best = state.frame.at(manifold, state.centre)
        if self.domain is not None:
            best = self.domain.project(best)
        away = WIDER * np.linalg.norm(_scattered(believed.ideal()[1], SAMPLES), axis=1)
        w = np.full(SAMPLES, 1 / SAMPLES)
        off = float(np.linalg.norm(state.centre - state.start))
        radius = self.stated(manifold, off, away, w, state.attention)
        return state._replace(
            best=best,
            uncertainty=radius,
            known=radius_holding(REGION, away, w),
            stop=self.settled(radius),
        )

    def _in_doubt(self, manifold: Manifold, state: IdealDirectionState) -> bool:
        """Whether an easy question is due, to see whether the rater looks."""
        answers = sum(state.raters.answers)
        return (
            answers > PATIENT * manifold.dim
            and state.uncertainty > 1.1 * state.known
            and state.attention.easy.sum() < self.catch * answers
        )

    def _easy(
        self,
        manifold: Manifold,
        state: IdealDirectionState,
        believed: Posterior,
        widths: np.ndarray,
    ) -> tuple[Array, Array]:
        """A question whose answer is all but known: the best point, and one far off as they see."""
        u = np.linalg.eigh(believed.metric())[1][:, -1]
        c, step = state.centre, 2 * widths[:, None] * u
        p = _chance(believed, self._seen(state, c + 0 * step, c + step, np.zeros(len(widths))))
        sure = np.flatnonzero(p < 1 - EASY)
        h = float(widths[sure[0] if len(sure) else -1])
        return self._ends(manifold, state, u, h, at=h)

    def _ends(
        self, manifold: Manifold, state: IdealDirectionState, u: np.ndarray, h: float, at: float = 0
    ) -> tuple[Array, Array]:
        """Exp(±h u) about the ideal believed in, or ``at`` a length beside it, in the domain."""
        frame, _ = state.frame.move(manifold, state.centre + at * u)
        frame, _, _ = frame.enter(manifold, self.domain)
        h = max(min(h, 0.9 * float(frame.extent(manifold, u))), self.min_radius)

        def ends(h: np.ndarray) -> tuple[Array, Array]:
            return manifold.exp_pair(frame.point, frame.tangent(manifold, h[:, None] * u))

        a, b = inside(self.domain, ends, np.array([h]))
        return a[0, ...], b[0, ...]


def _log_prior(steps: tuple[int, int]) -> float:
    """Logarithm of the prior of the JND and of the radius."""
    each = zip(steps, (JNDS, RADII), strict=True)
    return -sum((STEP * (k - middle) / spread) ** 2 for k, (_, _, middle, spread) in each) / 2


def _coordinates(
    manifold: Manifold, frame: Frame, a: Array, b: Array
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of pairs of points, both zero where there are none: such a pair tells nothing."""
    first, second = frame.coordinates(manifold, a), frame.coordinates(manifold, b)
    sound = np.all(np.isfinite(first) & np.isfinite(second), axis=1)
    return np.where(sound[:, None], first, 0.0), np.where(sound[:, None], second, 0.0)


def _chance(believed: Posterior, pairs: Pairs) -> np.ndarray:
    """Probabilities that the second points are preferred, by a rater who looks."""
    mean, variance = believed.difference(pairs)
    return looked(mean / np.sqrt(1 + variance))


def _scattered(spread: np.ndarray, n: int) -> np.ndarray:
    """Vectors that stand for a normal distribution about zero, always the same, shape (n, d)."""
    value, axes = np.linalg.eigh(spread)
    scale = np.sqrt(np.maximum(value, 0))
    return np.random.default_rng(0).standard_normal((n, len(value))) * scale @ axes.T
