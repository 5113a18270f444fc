"""IdealPoint: what a person likes best, and how they see it, from few answers.

The belief about a person is a set of weighted `particles` of the models of `perception`. This file
chooses the questions from them, and the recommendation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array, namespace
from ..._support.check import positive
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..frame import Frame, to_numpy
from .observer import Observer
from .particles import (
    Belief,
    before_answers,
    fold,
    hear,
    judge,
    median,
    moments,
    move,
    pooled,
    recentre,
    resample,
    weigh,
)
from .perception import People, Prior, Traits, outcomes
from .questions import PersonMethod, best_question, check_answer, inside, stacked
from .weights import drawn, imagined, information, radius_holding

__all__ = [
    "IdealPoint",
    "IdealPointState",
    "accuracy",
    "imagined_worlds",
    "stated_share",
    "suited_half_width",
    "widest_question",
]

# Frozen; docs/notebook/ideal-point.md says what they were tuned on.
# Share of the particles in the region said to hold the ideal with 80 %: at first, and from so many
# answers a dimension on.
FIRST_SHARE, SETTLED_SHARE, SETTLED = 0.56, 0.80, 25
# Half-width of a question: in radii of the prior, where geodesics do not bend; where they do, in
# radii of curvature, and in radii of the prior at most.
FLAT_WIDTH, CURVED_WIDTH, MOST_WIDTH = 3 / 2, 4 * math.pi / 9, 3.0
COARSER = 2.5  # JND at the half-width that suits a Weber fraction, over the JND near the ideal
LEAST_WIDTH = 8.0  # least half-width, in deviations of the posterior
CANDIDATES = 24  # questions that are compared
INFORMATION = 15  # answers asked for information; from then on for accuracy
FANTASIES = 6  # worlds imagined
IN_A_WORLD = 40  # effective particles in each of them, at least


class IdealPointState(NamedTuple):
    """State of IdealPoint: a belief, and what follows from it.

    Attributes
    ----------
    belief : Belief
        The posterior of the person, as particles.
    widest : float
        Half-width of a question to people without a Weber fraction, a geodesic length.
    best, uncertainty
        What is recommended, and the radius about it that holds the ideal of four people in five.
    noise : float
        Share of wrong answers, however different the points: half the lapse rate.
    """

    belief: Belief
    widest: float
    best: Array
    uncertainty: float = math.inf
    noise: float = 0.0
    stop: str | None = None

    @property
    def point(self) -> Array:
        """The point the method would return now."""
        return self.best


@dataclass(frozen=True)
class IdealPoint(PersonMethod):
    """The ideal point of a person, with the metric they see by; 2 to about 6 dimensions.

    A person's loss is |W log(ideal, x)|: the distance to the point they like best, in a metric of
    their own. Ideal and metric have a joint posterior with six numbers: just-noticeable difference,
    its growth with the distance (Weber fraction), lapse rate, share of "left" in lapses, side bias,
    tie width. Two populations of particles hold it: people who see all directions alike, and people
    with a metric. Their weights are the evidences of both models.

        candidates Exp_m(±h u) about the posterior mean m, u along posterior directions, with the
            half-width h that suits one particle, drawn at random
        ask the one that tells most (first 15), then the one that shrinks the squared error most
        reweight; where few particles are left, resample and move them by Hamiltonian steps,
            after many answers some now and the others after the next ones
        recommend the point of least expected distance to the ideal

    Questions are wide. On a flat space the points that seem as good as each other lie on a plane
    that the metric tilts. On a sphere the metric tilts it the less, the farther the two points are,
    and at 90 degrees to either side not at all. But people with a Weber fraction tell far points
    apart poorly, so such questions say little. Only questions of several widths show which kind a
    person is. They are as wide as suits some particle, and so the more often narrow the more likely
    a large fraction is.

    `uncertainty` is the radius of a ball about the recommended point that holds the ideal of four
    people in five. While the prior still counts, for typical people such a ball covers more often
    than the particles say. So the ball holds 56 % of the particles at first, and 80 % from 25
    answers a dimension on.

    Parameters
    ----------
    domain, x_tol, parallel, min_radius, prior_radius
        As in `geoduel.methods.people.questions.PersonMethod`.
    jnd : float, optional
        Roughly the just-noticeable difference, a geodesic length. By default a forty-fifth of
        `prior_radius`. Believed possible is anything from a ninth of it, or of the default if that
        is less, to a fifth of `prior_radius`.
    half_width : float, optional
        Largest h, a geodesic length. By default 80 degrees on spheres, and 135 on `Rotations(3)`,
        where geodesics bend half as much; on flat manifolds 3/2 of `prior_radius`.

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

    half_width: float | None = None

    version: ClassVar[int] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.half_width is not None:
            positive(self.half_width, "half_width")

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> IdealPointState:
        if manifold.dim < 2:
            raise ArgumentError(f"IdealPoint needs a manifold of dimension >= 2, got {manifold}")
        radius, jnd = self.scales(manifold)
        least, most = min(jnd, radius / 45) / 9, max(3 * jnd, radius / 5)
        belief = before_answers(manifold, x0, Prior(radius, least, most), rng)
        widest = self.half_width or widest_question(manifold, x0, radius)
        return self._concluded(manifold, IdealPointState(belief, widest, x0))

    def propose(
        self,
        manifold: Manifold,
        state: IdealPointState,
        rng: np.random.Generator,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> tuple[Array, Array]:
        belief = state.belief
        people, w = pooled(belief)
        worlds = w[None]  # what may be believed once the open questions are answered
        if pending:
            chances = _chances(manifold, belief, people, *stacked(pending))
            worlds = imagined_worlds(rng, w, chances)
        h = self._half_width(state, people, w, rng)
        a, b = self._candidates(manifold, belief, people, w, worlds, h, rng)
        chances = _chances(manifold, belief, people, a, b)
        if sum(belief.raters.answers) < INFORMATION:
            gain = information(worlds, chances)
        else:
            gain = accuracy(worlds, chances, people.ideals)
        j = best_question(manifold, a, b, gain, self.scales(manifold)[1])
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
        belief = hear(manifold, state.belief, a, b, answer, left, rater or "")
        belief = judge(belief, rng)
        belief = weigh(belief)
        belief = resample(belief, rng)
        belief = move(belief, rng)
        belief = fold(belief)
        belief = recentre(manifold, belief)
        return self._concluded(manifold, state._replace(belief=belief))

    def observers(self, manifold: Manifold, state: IdealPointState) -> dict[str, Observer]:
        """What is known about each rater."""
        belief = state.belief
        people, w = pooled(belief)
        found = {}
        for name, n, offset in zip(*belief.raters, belief.offsets, strict=True):
            found[name] = Traits.of(people.others + offset, belief.prior).observer(n, w)
        return found

    # -- pieces ----------------------------------------------------------------------------------

    def _half_width(
        self, state: IdealPointState, people: People, w: np.ndarray, rng: np.random.Generator
    ) -> float:
        """The half-width that suits one particle, drawn at random."""
        one = people.part(drawn(w, 1, rng.random()))
        traits = Traits.of(one.others, state.belief.prior)
        _, spread = moments(people.ideals, w)
        return suited_half_width(traits, math.sqrt(np.trace(spread) / len(spread)), state.widest)

    def _candidates(
        self,
        manifold: Manifold,
        belief: Belief,
        people: People,
        w: np.ndarray,
        worlds: np.ndarray,
        h: float,
        rng: np.random.Generator,
    ) -> tuple[Array, Array]:
        """Questions of half-width h about the mean of each world.

        Their directions are the principal ones of the posterior as the person sees it, and random
        mixtures of these. Where no question is open, the principal ones of the posterior as it is
        are tried, too.
        """
        d = manifold.dim
        g, Q = np.linalg.eigh(np.einsum("n,nij,nkj->ik", w, people.factors, people.factors))
        root, inverse = (Q * np.sqrt(g)) @ Q.T, (Q / np.sqrt(g)) @ Q.T
        ends = []
        for world, mean in zip(worlds, worlds @ people.ideals, strict=True):
            away = people.ideals - mean
            spread = (away * world[:, None]).T @ away + 1e-12 * np.eye(d)
            size, V = np.linalg.eigh(root @ spread @ root)
            u = [(inverse @ V).T[::-1]]
            if len(worlds) == 1:
                u.append(np.linalg.eigh(spread)[1].T)
            u.append(rng.standard_normal((CANDIDATES, d)) @ (V * size).T @ inverse)
            directions = np.concatenate(u)[: CANDIDATES // len(worlds)]
            ends.append(self._ends(manifold, belief, mean, directions, h))
        xp = namespace(ends[0][0])
        return tuple(xp.concat([pair[i] for pair in ends]) for i in (0, 1))

    def _ends(
        self, manifold: Manifold, belief: Belief, centre: np.ndarray, u: np.ndarray, h: float
    ) -> tuple[Array, Array]:
        """Exp(±h u) about a point of the chart, inside the domain."""
        frame, _ = belief.chart.frame.move(manifold, centre)
        frame, _, _ = frame.enter(manifold, self.domain)
        u = u / np.linalg.norm(u, axis=1, keepdims=True)
        # Farther out than geodesics are shortest, points are nearer than they seem.
        widths = np.maximum(np.minimum(h, 0.9 * frame.extent(manifold, u)), self.min_radius)

        def ends(h: np.ndarray) -> tuple[Array, Array]:
            return manifold.exp_pair(frame.point, frame.tangent(manifold, h[:, None] * u))

        return inside(self.domain, ends, widths)

    def _concluded(self, manifold: Manifold, state: IdealPointState) -> IdealPointState:
        """The state with what follows from its belief."""
        belief = state.belief
        people, w = pooled(belief)
        centre = median(people.ideals, w)
        away = np.linalg.norm(people.ideals - centre, axis=1)
        share = stated_share(sum(belief.raters.answers), manifold.dim)
        radius = radius_holding(share, away, w)
        lapse = Traits.of(people.others, belief.prior).lapse[:, 0]
        return state._replace(
            best=belief.chart.frame.at(manifold, centre, self.domain),
            uncertainty=radius,
            noise=float(w @ lapse) / 2,
            stop=self.settled(radius),
        )


def widest_question(manifold: Manifold, x0: Array, radius: float) -> float:
    """The half-width that is best for people who see far points as well as near ones.

    On a sphere the metric matters least a quarter of the way round. How long that is, shows in how
    far apart geodesics get that leave a point in different directions.
    """
    frame = Frame(x0, np.eye(manifold.dim))
    c = radius * np.eye(manifold.dim)
    turned = math.cos(0.1) * c + math.sin(0.1) * np.roll(c, 1, axis=0)
    apart = to_numpy(manifold.dist(frame.at(manifold, c), frame.at(manifold, turned)))
    # A sixth of the square of the radius, in radii of curvature.
    bend = 1 - float(np.mean(apart)) / (2 * math.sin(0.05) * radius)
    if not bend > 0.01:
        return FLAT_WIDTH * radius
    return radius * min(CURVED_WIDTH / math.sqrt(6 * bend), MOST_WIDTH)


def suited_half_width(traits: Traits, deviation: float, widest: float) -> float:
    """The half-width that suits one kind of person, given the deviation of the posterior.

    If the JND grows with the distance, no question is wider than where it has grown to `COARSER`
    times that near the ideal. But most of what remains of the ideal is to lie in between.
    """
    near = (COARSER - 1) * traits.jnd.item() / max(traits.weber.item(), 1e-12)
    return min(widest, max(near, LEAST_WIDTH * deviation))


def stated_share(answers: int, d: int) -> float:
    """Share of the particles in the stated region."""
    settled = min(1.0, answers / (SETTLED * d))
    return FIRST_SHARE + settled * (SETTLED_SHARE - FIRST_SHARE)


def accuracy(worlds: np.ndarray, chances: np.ndarray, ideals: np.ndarray) -> np.ndarray:
    """Expected decrease of the squared error of the mean for each question, averaged over worlds.

    The variance of the posterior mean after the answer; arguments as in `information`.
    """
    means = worlds @ ideals
    gain = np.zeros(chances.shape[-1])
    for p in chances:
        total = worlds @ p
        shift = np.einsum("wn,nm,nd->wmd", worlds, p, ideals) / total[..., None]
        gain += np.mean(total * np.sum((shift - means[:, None]) ** 2, axis=-1), axis=0)
    return gain


def imagined_worlds(rng: np.random.Generator, w: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Weights as they may be once the open questions are answered, shape (FANTASIES, n).

    Each takes a particle for the truth and draws its answers. Many open questions would leave a
    handful of particles, so the answers are believed only as far as `IN_A_WORLD` are effective.
    """
    worlds = []
    for truth in drawn(w, FANTASIES, rng.random()):
        loglik = np.sum(np.log(np.maximum(imagined(rng, chances, truth), 1e-9)), axis=0)
        for belief in (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.0):
            world = w * np.exp(belief * (loglik - loglik.max()))
            world /= world.sum()
            if world @ world < 1 / IN_A_WORLD:
                break
        worlds.append(world)
    return np.array(worlds)


def _chances(manifold: Manifold, belief: Belief, people: People, a: Array, b: Array) -> np.ndarray:
    """Probabilities of "a", "b" and a tie for questions, given each particle, shape (3, n, m)."""
    return outcomes(people, belief.chart.pair_logs(manifold, a, b), belief.prior)
