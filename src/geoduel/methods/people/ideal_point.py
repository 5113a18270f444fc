"""IdealPoint: what a person likes best, and how they see it, from few answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array, namespace
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..frame import Frame, to_numpy
from .chart import Chart
from .observer import LAPSE, Observer
from .perception import (
    OTHERS,
    TINY,
    Answers,
    Perception,
    Prior,
    Seen,
    evaluate,
    outcomes,
    rater_offset,
)
from .questions import QuestionMethod, best_question, check_answer, check_settings, inside, scales

__all__ = ["IdealPoint", "IdealPointState", "Population"]

# Frozen. What they were tuned on, and what had been seen by then: docs/people.md.
PARTICLES = (400, 600)  # people alike in all directions, people with a metric
ALIKE = 0.35  # prior probability of the former
# Share of the particles in the region said to hold the ideal with 80 %: at first, and from so many
# answers a dimension on.
LEVEL, SETTLED = (0.56, 0.80), 25
# Half-width of a question, in radii of the prior, where geodesics do not bend; where they do, in
# radii of curvature, and in radii of the prior at most.
FLAT, CURVED, MOST = 3 / 2, 4 * math.pi / 9, 3.0
COARSER = 2.5  # times as large is the JND of who has one at the half-width that suits them
LEAST = 8.0  # of a half-width, in deviations of the posterior
CANDIDATES = 24
INFORMATION = 15  # answers asked for information; from then on for accuracy
ESS = 0.6  # share of effective particles below which they are moved
LEAPS = 4
WORK = 84_000  # particles moved after one answer, times answers so far, times d: at most
FANTASIES = 6
KEPT = 200  # answers kept as they are
FEW = 16  # particles from which raters are judged


class Population(NamedTuple):
    """Weighted particles of one model.

    Attributes
    ----------
    particles : ndarray of shape (n, D)
        See `geoduel.methods.people.perception.Perception`.
    logw : ndarray of shape (n,)
        Their sum of weights, over populations, is the evidence of the model.
    step : float
        Of the leapfrog, in units of the posterior deviation.
    waiting : int
        How many particles, the first ones, are yet to be moved since the last resampling.
    folded : tuple of ndarray
        b and H such that b'θ - θ'Hθ/2 is the log likelihood of answers that are not kept.
    """

    particles: np.ndarray
    logw: np.ndarray
    step: float
    waiting: int
    folded: tuple[np.ndarray, np.ndarray]


class IdealPointState(NamedTuple):
    """State of IdealPoint: a posterior as particles, in a chart about its mean."""

    chart: Chart
    populations: tuple[Population, Population]
    answers: Answers
    raters: tuple[str, ...]
    counts: tuple[int, ...]  # answers of each rater
    ties: int
    offsets: np.ndarray  # (raters, 6), how each differs from what is common to them
    mean: np.ndarray  # coordinates of the posterior mean in the chart
    spread: np.ndarray  # (d, d), posterior covariance
    best: Array
    uncertainty: float
    noise: float
    widest: float  # half-width of a question, of who has no Weber fraction
    stop: str | None = None

    @property
    def point(self) -> Array:
        """The point the method would return now."""
        return self.best


@dataclass(frozen=True)
class IdealPoint(QuestionMethod):
    """The ideal point of a person, with the metric they see by; 2 to about 6 dimensions.

    A person's loss is |W log(ideal, x)|: the distance to what they like best, in a metric of their
    own. Ideal, metric, just-noticeable difference and its growth with the distance (Weber
    fraction), lapse rate, share of "left" in lapses, side bias and tie width have a joint
    posterior, held by two populations of particles: people who see all directions alike, and
    people with a metric. The weights of the populations are their evidences.

        candidates Exp_m(±h u) about the posterior mean m, u along posterior directions, with the
            half-width h that suits one particle, drawn at random
        ask the one that tells most (first 15), then the one that shrinks the squared error most
        reweight; where few particles are left, resample and move them by Hamiltonian steps,
            after many answers some now and the others after the next ones
        recommend the point of least expected distance to the ideal

    Questions are wide. On a flat space the points that seem as good as each other lie on a plane
    that the metric tilts; on a sphere the less so, the farther the two points are, and at 90
    degrees to either side not at all. Who has a Weber fraction, though, tells little of far points.
    Which of both a person is, only questions of several widths can tell: so they are as wide as
    suits some particle, and the more often narrow the more likely a large fraction is.

    `uncertainty` is the radius of a ball about the recommended point that holds the ideal of four
    people in five. While the prior still counts, people from its middle, whom this is made for, are
    inside more often than the particles say: the ball holds 56 % of these at first, and 80 % from
    25 answers a dimension on.

    Parameters
    ----------
    domain : Domain, optional
        Feasible set, for the questions and the recommendation.
    initial_step : None
        Not used: `prior_radius` takes its place.
    parallel : int, optional
        Most questions open at once, where one program asks for several people: by default one more
        than there are dimensions, as more would be asked too blindly.
    x_tol : float, optional
        Stop once the 80 % region is smaller than this geodesic length.
    min_radius : float
        Least half-width of a question, a geodesic length.
    jnd : float, optional
        Roughly the just-noticeable difference, a geodesic length. By default a forty-fifth of
        `prior_radius`. Believed possible is anything from a ninth of it, or of the default if that
        is less, to a fifth of `prior_radius`.
    prior_radius : float, optional
        The ideal is expected within this distance of the start, a geodesic length. By default half
        the manifold's typical distance, 45 degrees on spheres.
    half_width : float, optional
        Largest h, a geodesic length; by default 80 degrees on spheres and 135 on `Rotations(3)`,
        whose geodesics bend half as much; 3/2 of `prior_radius` on flat manifolds.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> sphere, ideal = gd.Sphere(3), np.array([0.9, 0.3, np.sqrt(0.1)])
    >>> oracle = gd.from_objective(lambda x: sphere.dist(x, ideal))
    >>> result = gd.minimize(oracle, sphere, np.eye(3)[0], method="ideal-point", budget=20, rng=0)
    >>> bool(sphere.dist(result.x, ideal) < 0.05)
    True
    """

    jnd: float | None = None
    prior_radius: float | None = None
    half_width: float | None = None

    version: ClassVar[int] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, "jnd", "prior_radius", "half_width")

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> IdealPointState:
        d = manifold.dim
        if d < 2:
            raise ArgumentError(f"IdealPoint needs a manifold of dimension >= 2, got {manifold}")
        prior = self._prior(manifold, 0)
        populations = []
        for n, share, metric in zip(PARTICLES, (ALIKE, 1 - ALIKE), (False, True), strict=True):
            particles = Perception(d, metric).draw(rng, n, prior)
            logw = np.full(n, math.log(share / n))
            D = particles.shape[1]
            nothing = np.zeros(D), np.zeros((D, D))
            populations.append(Population(particles, logw, 0.5, 0, nothing))
        state = IdealPointState(
            chart=Chart.about(manifold, Frame(x0, np.eye(d)), prior.radius / 2, np.zeros(d)),
            populations=tuple(populations),
            answers=Answers.none(x0, d),
            raters=(),
            counts=(),
            ties=0,
            offsets=np.zeros((0, OTHERS)),
            mean=np.zeros(d),
            spread=np.eye(d),
            best=x0,
            uncertainty=math.inf,
            noise=LAPSE[0] / 2,
            widest=self.half_width or _widest(manifold, Frame(x0, np.eye(d)), prior.radius),
        )
        return self._concluded(manifold, _measured(state))

    def open_at_once(self, manifold: Manifold) -> int | None:
        """One more than there are dimensions, or what ``parallel`` says."""
        return self.parallel or manifold.dim + 1

    def propose(
        self,
        manifold: Manifold,
        state: IdealPointState,
        rng: np.random.Generator,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> tuple[Array, Array]:
        d = manifold.dim
        ideals, factors, others, w = _all_particles(state, d)
        worlds = w[None]
        if pending:
            xp = namespace(state.best)
            open_pairs = [xp.stack([pair[i] for pair in pending]) for i in (0, 1)]
            chances = self._chances(manifold, state, open_pairs, (ideals, factors, others))
            worlds = _fantasies(rng, w, chances)

        # Directions: principal ones of the posterior as the person sees it and as it is, and
        # random mixtures of the former; about the mean, or about what open answers may make of it.
        metric = np.einsum("n,nij,nkj->ik", w, factors, factors)
        g, Q = np.linalg.eigh(metric)
        root, inverse = (Q * np.sqrt(g)) @ Q.T, (Q / np.sqrt(g)) @ Q.T
        means = worlds @ ideals
        h = self._half_width(manifold, state, others[_drawn(rng, w, 1)])
        ends = []
        for world, mean in zip(worlds, means, strict=True):
            away = ideals - mean
            spread = (away * world[:, None]).T @ away + 1e-12 * np.eye(d)
            size, V = np.linalg.eigh(root @ spread @ root)
            u = (inverse @ V).T[::-1]
            if not pending:
                u = np.concatenate([u, np.linalg.eigh(spread)[1].T])
            random = rng.standard_normal((CANDIDATES, d)) @ (V * size).T @ inverse
            u = np.concatenate([u, random])[: CANDIDATES // len(worlds)]
            ends.append(self._ends(manifold, state, mean, u, h))
        xp = namespace(state.best)
        a, b = (xp.concat([pair[i] for pair in ends]) for i in (0, 1))
        chances = self._chances(manifold, state, (a, b), (ideals, factors, others))

        gain = np.zeros(chances.shape[-1])
        accurate = sum(state.counts) >= INFORMATION
        for p in chances:
            total = np.maximum(worlds @ p, 1e-12)
            if accurate:
                shift = np.einsum("wn,nm,nd->wmd", worlds, p, ideals) / total[..., None]
                gain += np.mean(total * np.sum((shift - means[:, None]) ** 2, axis=-1), axis=0)
            else:
                gain += np.mean(worlds @ _xlogx(p) - _xlogx(total), axis=0)
        j = best_question(manifold, a, b, gain, scales(self, manifold)[1])
        return a[j], b[j]

    def update(
        self,
        manifold: Manifold,
        state: IdealPointState,
        a: Array,
        b: Array,
        answer: int,
        rng: np.random.Generator,
        *,
        left: int = 0,
        rater: str | None = None,
    ) -> IdealPointState:
        check_answer(answer, left)
        d = manifold.dim
        state = state._replace(ties=state.ties + (answer == 0))
        prior = self._prior(manifold, state.ties)
        state, r = _with_rater(state, rater or "")
        new = Answers.one(a, b, answer, left, r, d, state.chart, manifold)
        state = _judged(state._replace(answers=state.answers.append(new)), r, d, prior, rng)
        populations = []
        for metric, old in zip((False, True), state.populations, strict=True):
            model = Perception(d, metric)
            more, _ = evaluate(model, old.particles, new, prior, state.offsets[[r]])
            populations.append(_resampled(old._replace(logw=old.logw + more), rng))
        most = WORK // (d * len(state.answers.answer))
        for i, population in enumerate(populations):
            n = min(population.waiting, most)
            most -= n
            if n:
                populations[i] = _moved(Perception(d, i > 0), population, n, state, prior, rng)
        state = state._replace(populations=tuple(populations))
        state = _measured(_folded(state, d, prior))
        size = float(np.trace(state.spread))
        if state.mean @ state.mean > 0.25 * size or size < 0.15 * d * state.chart.size**2:
            state = _measured(_recentred(manifold, state))
        return self._concluded(manifold, state)

    def observers(self, manifold: Manifold, state: IdealPointState) -> dict[str, Observer]:
        """What is known about each rater."""
        prior = self._prior(manifold, state.ties)
        _, _, others, w = _all_particles(state, manifold.dim)
        found = {}
        for name, n, offset in zip(state.raters, state.counts, state.offsets, strict=True):
            found[name] = Seen.of(others + offset, prior).observer(n, w)
        return found

    # -- pieces ----------------------------------------------------------------------------------

    def _prior(self, manifold: Manifold, ties: int) -> Prior:
        radius, jnd = scales(self, manifold)
        least, most = min(jnd, radius / 45) / 9, max(3 * jnd, radius / 5)
        return Prior(radius, least, most, ties > 0)

    def _half_width(self, manifold: Manifold, state: IdealPointState, others: np.ndarray) -> float:
        """The half-width that suits people with these six numbers, shape (1, 6).

        Whose JND grows with the distance is not asked of points much farther than where it has
        grown: most of what remains of the ideal is to lie in between.
        """
        deviation = math.sqrt(np.trace(state.spread) / manifold.dim)
        by = Seen.of(others, self._prior(manifold, state.ties))
        near = (COARSER - 1) * by.jnd.item() / max(by.weber.item(), TINY)
        return min(state.widest, max(near, LEAST * deviation))

    def _ends(
        self,
        manifold: Manifold,
        state: IdealPointState,
        centre: np.ndarray,
        u: np.ndarray,
        h: float,
    ) -> tuple[Array, Array]:
        """Exp(±h u) about a point of the chart, inside the domain."""
        frame, _ = state.chart.frame.move(manifold, centre)
        frame, _, _ = frame.enter(manifold, self.domain)
        u = u / np.linalg.norm(u, axis=1, keepdims=True)
        # Farther out than geodesics are shortest, points are nearer than they seem.
        widths = np.maximum(np.minimum(h, 0.9 * frame.extent(manifold, u)), self.min_radius)

        def ends(h: np.ndarray) -> tuple[Array, Array]:
            return manifold.exp_pair(frame.point, frame.tangent(manifold, h[:, None] * u))

        return inside(self.domain, ends, widths)

    def _chances(
        self,
        manifold: Manifold,
        state: IdealPointState,
        pairs: Sequence[Array],
        particles: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> np.ndarray:
        seen = state.chart.logs(manifold, namespace(pairs[0]).concat(pairs))
        seen = seen.reshape(*seen.shape[:2], 2, -1)
        return outcomes(*particles, seen, self._prior(manifold, state.ties))

    def _concluded(self, manifold: Manifold, state: IdealPointState) -> IdealPointState:
        d = manifold.dim
        ideals, _, others, w = _all_particles(state, d)
        centre = _median(ideals, w)
        best = state.chart.frame.at(manifold, centre, self.domain)
        away = np.linalg.norm(ideals - centre, axis=1)
        order = np.argsort(away)
        level = _level(sum(state.counts), d)
        radius = float(np.interp(level, np.cumsum(w[order]), away[order]))
        lapse = Seen.of(others, self._prior(manifold, state.ties)).lapse[:, 0]
        noise = float(w @ lapse) / 2
        stop = "x_tol" if self.x_tol is not None and radius <= self.x_tol else None
        return state._replace(best=best, uncertainty=radius, noise=noise, stop=stop)


def _widest(manifold: Manifold, frame: Frame, radius: float) -> float:
    """How wide questions are best, of who sees far points as well as near ones.

    On a sphere the metric matters least a quarter of the way round. How long that is, shows in how
    far apart geodesics get that leave a point in different directions.
    """
    c = radius * np.eye(manifold.dim)
    turned = math.cos(0.1) * c + math.sin(0.1) * np.roll(c, 1, axis=0)
    apart = to_numpy(manifold.dist(frame.at(manifold, c), frame.at(manifold, turned)))
    # A sixth of the square of the radius, in radii of curvature.
    bend = 1 - float(np.mean(apart)) / (2 * math.sin(0.05) * radius)
    if not bend > 0.01:
        return FLAT * radius
    return radius * min(CURVED / math.sqrt(6 * bend), MOST)


def _level(answers: int, d: int) -> float:
    """Share of the particles in the stated region."""
    settled = min(1.0, answers / (SETTLED * d))
    return LEVEL[0] + settled * (LEVEL[1] - LEVEL[0])


def _drawn(rng: np.random.Generator, w: np.ndarray, n: int) -> np.ndarray:
    """Indices of n particles drawn by their weights, evenly."""
    return np.minimum(np.searchsorted(np.cumsum(w), (np.arange(n) + rng.random()) / n), len(w) - 1)


def _median(ideals: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The point of least expected distance to the ideal, by Weiszfeld's iteration."""
    centre = w @ ideals
    small = 1e-3 * math.sqrt(w @ np.sum((ideals - centre) ** 2, axis=1))
    for _ in range(10):
        pull = w / (np.linalg.norm(ideals - centre, axis=1) + small)
        centre = pull @ ideals / pull.sum()
    return centre


def _all_particles(
    state: IdealPointState, d: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ideals, factors L of the metrics, other parameters and weights of both populations."""
    alike, metric = state.populations
    logw = np.concatenate([alike.logw, metric.logw])
    w = np.exp(logw - logw.max())
    particles = np.concatenate([alike.particles, metric.particles[:, : d + OTHERS]])
    factors = np.concatenate(
        [
            np.broadcast_to(np.eye(d), (len(alike.particles), d, d)),
            Perception(d, True).factor(metric.particles),
        ]
    )
    return particles[:, :d], factors, particles[:, d:], w / w.sum()


def _measured(state: IdealPointState) -> IdealPointState:
    """With posterior mean and covariance."""
    ideals, _, _, w = _all_particles(state, len(state.mean))
    mean = w @ ideals
    away = ideals - mean
    return state._replace(mean=mean, spread=(away * w[:, None]).T @ away)


def _with_rater(state: IdealPointState, rater: str) -> tuple[IdealPointState, int]:
    """The state with one more answer of the rater to come, and the rater's index."""
    raters, counts, offsets = state.raters, state.counts, state.offsets
    if rater not in raters:
        raters, counts = (*raters, rater), (*counts, 0)
        offsets = np.concatenate([offsets, np.zeros((1, OTHERS))])
    r = raters.index(rater)
    counts = tuple(n + (i == r) for i, n in enumerate(counts))
    return state._replace(raters=raters, counts=counts, offsets=offsets), r


def _judged(
    state: IdealPointState, r: int, d: int, prior: Prior, rng: np.random.Generator
) -> IdealPointState:
    """With how rater r differs, where there are several; one alone is what is common."""
    if len(state.raters) < 2:
        return state
    ideals, factors, others, w = _all_particles(state, d)
    few = _drawn(rng, w, FEW)
    own = state.answers.part(np.flatnonzero(state.answers.rater == r))
    offsets = state.offsets.copy()
    offsets[r] = rater_offset(ideals[few], factors[few], others[few], own, prior)
    return state._replace(offsets=offsets)


def _folded(state: IdealPointState, d: int, prior: Prior) -> IdealPointState:
    """With the oldest answers replaced by a quadratic, once there are many.

    By then the posterior is narrow and their log likelihood about quadratic over it. The slope is
    that at the mean; the curvature is Fisher's information there, which cannot be negative.
    """
    old = len(state.answers.answer) - KEPT
    if old <= 0:
        return state
    populations = []
    for metric, population in zip((False, True), state.populations, strict=True):
        w = np.exp(population.logw - population.logw.max())
        mean = w @ population.particles / w.sum()
        slope, information = np.zeros(len(mean)), np.zeros((len(mean), len(mean)))
        for k in range(old):
            one = state.answers.part(slice(k, k + 1))
            for answer in (-1.0, 0.0, 1.0):
                logp, score = evaluate(
                    Perception(d, metric),
                    mean[None],
                    one._replace(answer=np.array([answer])),
                    prior,
                    state.offsets[one.rater],
                )
                information += math.exp(logp[0]) * np.outer(score, score)
                if answer == one.answer[0]:
                    slope += score[0]
        b, H = population.folded
        folded = b + slope + information @ mean, H + information
        populations.append(population._replace(folded=folded))
    return state._replace(
        populations=tuple(populations), answers=state.answers.part(slice(old, None))
    )


def _recentred(manifold: Manifold, state: IdealPointState) -> IdealPointState:
    """The same posterior in a chart about its mean."""
    d = len(state.mean)
    size = math.sqrt(float(np.trace(state.spread)) / d)
    old = state.chart
    frame, _ = old.frame.move(manifold, state.mean)
    populations = []
    for population in state.populations:
        particles = population.particles.copy()
        particles[:, :d] = old.seen_from(manifold, frame, particles[:, :d], state.mean)
        b, H = population.folded
        b = b - H[:, :d] @ state.mean
        populations.append(population._replace(particles=particles, folded=(b, H)))
    origin = old.seen_from(manifold, frame, old.origin[None], state.mean)[0]
    chart = Chart.about(manifold, frame, min(1.5 * size, 2 * old.size), origin)
    answers = state.answers.seen_from(manifold, chart)
    return state._replace(chart=chart, populations=tuple(populations), answers=answers)


def _root(population: Population) -> np.ndarray:
    """A root of the covariance, with a little more."""
    w = np.exp(population.logw - population.logw.max())
    w /= w.sum()
    away = population.particles - w @ population.particles
    covariance = (away * w[:, None]).T @ away
    covariance += np.diag(0.01 * np.diag(covariance) + 1e-14)
    return np.linalg.cholesky(covariance)


def _resampled(population: Population, rng: np.random.Generator) -> Population:
    """With equal weights where few particles are effective; all then wait to be moved."""
    particles, logw = population.particles, population.logw
    n, w = len(logw), np.exp(logw - logw.max())
    total = w.sum()
    if total**2 >= ESS * n * (w @ w):
        return population
    pick = _drawn(rng, w / total, n)
    copies = np.arange(n) - np.searchsorted(pick, pick)
    particles = particles[pick[np.argsort(copies, kind="stable")]]
    even = np.full(n, logw.max() + math.log(total / n))
    return population._replace(particles=particles, logw=even, waiting=n)


def _moved(
    model: Perception,
    population: Population,
    count: int,
    state: IdealPointState,
    prior: Prior,
    rng: np.random.Generator,
) -> Population:
    """Move the last ``count`` of the particles that wait for it by Hamiltonian Monte Carlo.

    Copies of others are last. A move leaves the posterior as it is, and so the weights, whenever
    it comes. Momenta are Gaussian in coordinates in which the population has covariance I, so that
    a few leapfrog steps take a particle across the posterior.
    """
    particles, _, step, waiting, (b, H) = population
    answers, root = state.answers, _root(population)
    part = slice(waiting - count, waiting)
    x = particles[part]
    offsets = state.offsets[answers.rater] if len(state.raters) > 1 else None

    def target(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slope = evaluate(model, x, answers, prior, offsets)
        more, tilt = model.prior(x, state.chart.origin, prior)
        bent = x @ H
        value += more + x @ b - 0.5 * np.sum(bent * x, axis=1)
        return value, (slope + tilt + b - bent) @ root

    p = rng.standard_normal(x.shape)
    value, slope = target(x)
    before = value - 0.5 * np.sum(p * p, axis=1)
    y = x
    eps = step * np.exp(rng.uniform(-0.3, 0.3, (count, 1)))
    for _ in range(LEAPS):
        p = p + 0.5 * eps * slope
        y = y + (eps * p) @ root.T
        value, slope = target(y)
        p = p + 0.5 * eps * slope
    gain = value - 0.5 * np.sum(p * p, axis=1) - before
    accept = np.log(rng.random(count)) < np.where(np.isfinite(gain), gain, -np.inf)
    moved = particles.copy()
    moved[part] = np.where(accept[:, None], y, x)
    step = float(np.clip(step * math.exp(0.7 * (accept.mean() - 0.75)), 0.05, 1.0))
    return population._replace(particles=moved, step=step, waiting=waiting - count)


def _fantasies(rng: np.random.Generator, w: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Weights as they may be once the open questions are answered, shape (FANTASIES, n).

    Each takes a particle for the truth and draws its answers. Many open questions would leave a
    handful of particles, so the answers are believed only as far as 40 remain effective.
    """
    count = chances.shape[-1]
    worlds = []
    for truth in _drawn(rng, w, FANTASIES):
        steps = np.cumsum(chances[:, truth], axis=0)
        answer = np.sum(rng.random(count) * steps[-1] > steps[:2], axis=0)
        loglik = np.sum(np.log(np.maximum(chances[answer, :, np.arange(count)], 1e-9)), axis=0)
        for belief in (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.0):
            world = w * np.exp(belief * (loglik - loglik.max()))
            world /= world.sum()
            if world @ world < 1 / 40:
                break
        worlds.append(world)
    return np.array(worlds)


def _xlogx(x: np.ndarray) -> np.ndarray:
    return x * np.log(np.maximum(x, 1e-30))
