"""IdealPoint: what a person likes best, and how they see it, from few answers.

The belief about a person is a `Cloud` of points at first, and then a set of weighted `particles` of
the models of `perception`. This file chooses the questions from them, and the recommendation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array, namespace
from ..._support.check import positive, positive_int
from ...domains.catalogue import Catalogue
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..frame import Frame, to_numpy
from .attention import Attention
from .cloud import Cloud, anywhere, deviation, hear_early, losses_of, middle
from .observer import Observer
from .particles import (
    Belief,
    fold,
    hear,
    judge,
    median,
    moments,
    move,
    recentre,
    resample,
    settle,
    weigh,
)
from .perception import Prior, Traits, chosen, outcomes
from .questions import REGION, PersonMethod, best_question, check_answer, inside, stacked
from .weights import drawn, imagined, information, radius_holding

__all__ = ["IdealPoint", "IdealPointState", "accuracy", "imagined_worlds"]

# Frozen; docs/notebook/ideal-point.md says what they were tuned on.
CLOSED = 2.0  # power of the tail of the prior where the farthest ideals are not far
NARROW = 1 / 6  # deviation at which a chart takes over from the cloud, in typical distances
SOON = 6  # answers a dimension after which it does in any case
# Half-width of a question: in median distances of the belief from its middle, as the person sees
# them, and at least in JND.
WIDTH, LEAST_WIDTH = 1.3, 6.0
WIDTHS = (1.0, 1 / 3)  # shares of that, among which late questions choose
MOST_STRETCH = 2.5  # longest half-width across directions, in those of a person who sees all alike
CANDIDATES = 24  # questions that are compared
SOME = 300  # points of the cloud that stand for it when questions are compared
INFORMATION = (15, 5)  # answers asked for information, or so many a dimension; then for accuracy
FANTASIES = 6  # worlds imagined
IN_A_WORLD = 40  # effective particles in each of them, at least
# An easy question is as likely answered one way, and about a point so many deviations off.
EASY, OFF = 0.95, (1.5, 2.5, 4.0, 6.0)
# Of a catalogue: items among which the best are looked for, pairs drawn, and particles that vote.
SHORTLIST, DRAWN, VOTERS = 250, 100, 200
VERIFY = 2.5  # radius for those who look, in JND, below which easy questions are asked


class IdealPointState(NamedTuple):
    """State of IdealPoint: a belief, and what follows from it.

    Attributes
    ----------
    belief : Cloud or Belief
        The posterior of the person: as points at first, then as particles in a chart.
    attention : Attention
        Whether the raters look.
    best, uncertainty
        What is recommended, and the radius about it that holds the ideal of four people in five.
    noise : float
        Share of wrong answers, however different the points: half the lapse rate.
    known : float
        That radius if the rater looks.
    """

    belief: Cloud | Belief
    attention: Attention
    best: Array
    uncertainty: float = math.inf
    noise: float = 0.0
    known: float = math.inf
    stop: str | None = None

    @property
    def point(self) -> Array:
        """The point the method would return now."""
        return self.best


@dataclass(frozen=True)
class IdealPoint(PersonMethod):
    """The ideal point of a person, with the metric they see by; 2 to about 6 dimensions.

    A person's loss is about |W log(ideal, x)|: the distance to the point they like best, in a
    metric of their own. One side of the ideal may be worse than that, and the other better, by a
    tilt. All of it has a joint posterior with six numbers: just-noticeable difference, its growth
    with the distance (Weber fraction), lapse rate, share of "left" in lapses, side bias, tie width.

        at first: the posterior is a cloud of points anywhere on the manifold
        once it is narrow: particles in a chart, some alike in all directions, some with a metric
        candidates Exp_m(±h u) about the posterior mean m, where h is 1.3 times the median distance
            of the particles from m, or 6 JND if that is more; later a third of that, too
        ask the one that tells most, then (after 15 or 5 d) the one that shrinks the squared error
            most, if people may be lopsided; and now and then an easy one, if it is in doubt
            whether the rater looks
        reweight; where few particles are left, resample and move them by Hamiltonian steps,
            after many answers some now and the others after the next ones
        recommend the point of least expected distance to the ideal

    Questions get narrow as the posterior does. Wide ones tell as much of people whose loss is a
    distance exactly. But a tilt of a tenth moves their answers by a tenth of the half-width, and
    what levels off far away is not told apart there. So answers to questions of one width are
    believed up to a share of that width only, and those of two widths tell the tilt. Far questions
    count less: the Weber fraction stands for all that is not known of a loss far from its ideal.

    `uncertainty` is the radius of a ball about the recommended point that holds the ideal of four
    people in five. It is wide until easy questions have shown that the rater looks, and allows for
    larger tilts than questions and recommendation do.

    Parameters
    ----------
    domain, x_tol, parallel, min_radius, prior_radius
        As in `geoduel.methods.people.questions.PersonMethod`.
    jnd : float, optional
        Roughly the just-noticeable difference, a geodesic length. By default a forty-fifth of
        `prior_radius`, or of its default if that is less. Believed possible is anything from a
        ninth of it, or of the default if that is less, to three times it. A fifth of the default of
        `prior_radius`, or of what is given if that is less, is believed possible in any case.
    half_width : float, optional
        Largest h, a geodesic length. By default what the posterior suggests.
    sweeps : int, optional
        Random steps of each point of the cloud after an answer, for more than six dimensions. The
        cloud then stays until it is narrow in all of them together. By default two steps, and a
        chart takes over earlier.

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
    sweeps: int | None = None

    version: ClassVar[int] = 10
    graded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.half_width is not None:
            positive(self.half_width, "half_width")
        if self.sweeps is not None:
            positive_int(self.sweeps, "sweeps")

    def memory_needed(self, manifold: Manifold) -> float:
        """The features of the chart at its nodes, and back; the axes at each node."""
        d = manifold.dim
        nodes = 1 + 2 * d + d * (d - 1) // 2
        return 8.0 * (2 * nodes**2 + nodes * d**2)

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> IdealPointState:
        if manifold.dim < 2:
            raise ArgumentError(f"IdealPoint needs a manifold of dimension >= 2, got {manifold}")
        radius, jnd = self.scales(manifold)
        usual = min(radius, manifold.typical_dist / 2)
        prior = Prior(radius, min(jnd, usual / 45) / 9, max(3 * jnd, usual / 5))
        if math.isfinite(manifold.injectivity_radius):
            prior = prior._replace(tail=CLOSED)
        belief = anywhere(manifold, x0, prior, rng)
        if not manifold.closed_form:
            belief = settle(manifold, belief, x0, usual / 2, rng)
        return self._concluded(manifold, IdealPointState(belief, Attention.none(), x0))

    def propose(
        self,
        manifold: Manifold,
        state: IdealPointState,
        rng: np.random.Generator,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> tuple[Array, Array]:
        a, b = self._question(manifold, state, rng, 2, pending)
        return a, b

    def propose_several(
        self,
        manifold: Manifold,
        state: IdealPointState,
        rng: np.random.Generator,
        k: int = 2,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> Array:
        return self._question(manifold, state, rng, k, pending)

    def propose_among(
        self,
        manifold: Manifold,
        state: IdealPointState,
        rng: np.random.Generator,
        items: Catalogue,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> tuple[Array, Array]:
        a, b = self._question(manifold, state, rng, 2, pending, items)
        return a, b

    def _question(
        self,
        manifold: Manifold,
        state: IdealPointState,
        rng: np.random.Generator,
        k: int,
        pending: Sequence[tuple[Array, Array]],
        items: Catalogue | None = None,
    ) -> Array:
        """Points to ask about, shape (k, *point_shape); fewer if they are an easy question."""
        belief, jnd = state.belief, self.scales(manifold)[1]
        if isinstance(belief, Cloud):
            belief = _thinned(belief)
        # Easy questions that are overdue come one by one, among others.
        elif self._in_doubt(state, jnd) and not pending and rng.random() < 2 * self.catch:
            a, b = self._easy(manifold, belief)
            if items is not None:
                a, b = items.pair(a, b)
            return namespace(a).stack([a, b])
        w = belief.weights
        worlds = w[None]  # what may be believed once the open questions are answered
        if pending:
            chances = _chances(manifold, belief, *stacked(pending))
            worlds = imagined_worlds(rng, w, chances)
        seen = None
        if isinstance(belief, Cloud):
            a, b = self._early_candidates(manifold, belief, rng)
        elif sum(belief.raters.answers) < max(INFORMATION[0], INFORMATION[1] * manifold.dim):
            a, b, _ = self._candidates(manifold, belief, worlds, rng)
        else:
            a, b, seen = self._candidates(manifold, belief, worlds, rng, WIDTHS)
            # What narrow questions tell of lopsided people counts only where these are expected.
            worlds = worlds * (belief.wary_weights / np.maximum(w, 1e-300))
            worlds /= worlds.sum(axis=1, keepdims=True)
        if items is not None:
            a, b = _pairs_of_items(items, a, b, state.best, rng)

        def gain(chances: np.ndarray) -> np.ndarray:
            return information(worlds, chances) if seen is None else accuracy(worlds, chances, seen)

        losses = _losses(manifold, belief, a, b)
        value = gain(outcomes(losses, belief.others, belief.prior, _usage(state.belief)))
        if items is not None:
            value = np.where(_known(a, b, state, pending), -np.inf, value)
        j = best_question(manifold, a, b, value, self.min_radius)
        m, xp = len(a), namespace(a)
        points, taken = xp.concat([a, b]), [j, m + j]
        while len(taken) < k:  # with each other candidate beside those taken, its ends or one
            more = [[i, m + i] if len(taken) + 2 <= k else [i] for i in range(m) if i not in taken]
            sets = [losses[:, [*taken, *some]] for some in more]
            value = gain(np.stack([chosen(x, belief.others, belief.prior) for x in sets], axis=2))
            taken += more[int(np.argmax(value))]
        return points[np.array(taken)]

    def rank(
        self, manifold: Manifold, state: IdealPointState, items: Catalogue, k: int
    ) -> np.ndarray:
        """The items that are most probably the best one; among others, those less far away."""
        order = items.nearest(state.best, max(k, SHORTLIST))
        some, others = order[:SHORTLIST], order[SHORTLIST:]
        losses = _votes(manifold, state.belief, items[some])
        best = np.bincount(losses.argmin(axis=1), minlength=len(some))
        some = some[np.lexsort((losses.mean(axis=0), -best))]
        return np.concatenate([some, others])[:k]

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
        strength: int = 0,
    ) -> IdealPointState:
        check_answer(answer, left, strength)
        belief = state.belief
        expected = _chances(manifold, belief, a[None], b[None])[:2, :, 0] @ belief.weights
        _, r = belief.raters.hear(rater or "")
        attention = state.attention.hear(r, float(expected[1] / expected.sum()), answer, left)
        return self._told(
            manifold, state, attention, a, b, answer, left, rater or "", rng, strength
        )

    def choose(
        self,
        manifold: Manifold,
        state: IdealPointState,
        points: Array,
        best: int,
        rng: np.random.Generator,
        *,
        worst: bool = False,
        rater: str | None = None,
        more: bool = False,
    ) -> IdealPointState:
        belief = state.belief
        losses = _losses(manifold, belief, points, points)[:, : len(points)]
        expected = chosen(losses, belief.others, belief.prior, worst) @ belief.weights
        _, r = belief.raters.hear(rater or "")
        attention = state.attention.hear_choice(r, expected, best)
        others = np.delete(np.arange(len(points)), best)
        a, b = points[np.full(len(others), best)], points[others]
        answer = 1 if worst else -1
        return self._told(manifold, state, attention, a, b, answer, 0, rater or "", rng, more=more)

    def _told(
        self,
        manifold: Manifold,
        state: IdealPointState,
        attention: Attention,
        a: Array,
        b: Array,
        answer: int,
        left: int,
        rater: str,
        rng: np.random.Generator,
        strength: int = 0,
        more: bool = False,
    ) -> IdealPointState:
        """The state that knows one more answer, to a duel or to all duels of a choice."""
        belief = state.belief
        if isinstance(belief, Cloud):
            sweeps = {} if self.sweeps is None else {"sweeps": self.sweeps}
            told = a, b, answer, left, rater, rng
            belief = hear_early(manifold, belief, *told, strength=strength, more=more, **sweeps)
            centre = middle(manifold, belief)
            size = deviation(manifold, belief, centre)
            late = len(belief.answers.choices()[0]) > SOON * manifold.dim
            wide = size if self.sweeps is None else size * math.sqrt(manifold.dim)
            if late or wide < NARROW * manifold.typical_dist:
                belief, centre = settle(manifold, belief, centre, size, rng), None
        else:
            centre = None
            belief = hear(manifold, belief, a, b, answer, left, rater, strength, more)
            looks = [attention.weights(i)["looks"] for i in range(len(belief.raters.names))]
            belief = judge(belief, rng, looks)
            belief = weigh(belief)
            belief = resample(belief, rng)
            belief = move(belief, rng)
            belief = fold(belief)
            belief = recentre(manifold, belief)
        state = state._replace(belief=belief, attention=attention)
        return self._concluded(manifold, state, centre)

    def ideals(self, manifold: Manifold, state: IdealPointState, n: int) -> Array:
        belief = state.belief
        pick = drawn(belief.weights, n, 0.5)
        if isinstance(belief, Cloud):
            return belief.points[pick]
        return belief.chart.frame.at(manifold, belief.people.ideals[pick])

    def observers(self, manifold: Manifold, state: IdealPointState) -> dict[str, Observer]:
        """What is known about each rater."""
        belief = state.belief
        w, others = belief.weights, belief.others
        found = {}
        for r, (name, _, n) in enumerate(zip(*belief.raters, strict=True)):
            offset = 0.0 if isinstance(belief, Cloud) else belief.offsets[r]
            seen = Traits.of(others + offset, belief.prior).observer(n, w)
            found[name] = replace(seen, verdict=state.attention.verdict(r))
        return found

    # -- pieces ----------------------------------------------------------------------------------

    def _in_doubt(self, state: IdealPointState, jnd: float) -> bool:
        """Whether an easy question is due, to see whether the rater looks."""
        answers = sum(state.belief.raters.answers)
        return (
            state.known < VERIFY * jnd
            and state.uncertainty > 1.1 * state.known
            and state.attention.easy.sum() < self.catch * answers
        )

    def _early_candidates(
        self, manifold: Manifold, cloud: Cloud, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Questions about the middle of the cloud and about points of it, in random directions."""
        centre = middle(manifold, cloud)
        away = to_numpy(manifold.dist(cloud.points, centre[None]))
        h = WIDTH * radius_holding(0.5, away, cloud.weights)
        d, xp = manifold.dim, namespace(centre)
        centres = [centre] * (CANDIDATES // 2) + list(cloud.points[: CANDIDATES // 2])
        ends = [
            self._ends(manifold, Frame(x, np.eye(d)), rng.standard_normal((1, d)), np.array([h]))
            for x in centres
        ]
        return tuple(xp.concat([pair[i] for pair in ends]) for i in (0, 1))

    def _candidates(
        self,
        manifold: Manifold,
        belief: Belief,
        worlds: np.ndarray,
        rng: np.random.Generator,
        shares: tuple[float, ...] = (1.0,),
    ) -> tuple[Array, Array, np.ndarray]:
        """Questions about the mean of each world, and the ideals in the metric of the questions.

        Each direction is tried with these ``shares`` of the usual half-width.

        Their directions are the principal ones of the posterior as the person sees it, and random
        mixtures of these. Where no question is open, the principal ones of the posterior as it is
        are tried, too.
        """
        people, w = belief.people, belief.weights
        d = manifold.dim
        g, Q = np.linalg.eigh(np.einsum("n,nij,nkj->ik", w, people.factors, people.factors))
        g = np.maximum(g, np.mean(g) / MOST_STRETCH**2)
        root, inverse = (Q * np.sqrt(g)) @ Q.T, (Q / np.sqrt(g)) @ Q.T
        jnd = math.exp(float(w @ np.log(Traits.of(people.others, belief.prior).jnd[:, 0])))
        ends = []
        for world, mean in zip(worlds, worlds @ people.ideals, strict=True):
            away = people.ideals - mean
            spread = (away * world[:, None]).T @ away + 1e-12 * np.eye(d)
            size, V = np.linalg.eigh(root @ spread @ root)
            u = [(inverse @ V).T[::-1]]
            if len(worlds) == 1:
                u.append(np.linalg.eigh(spread)[1].T)
            u.append(rng.standard_normal((CANDIDATES, d)) @ (V * size).T @ inverse)
            u = np.concatenate(u)[: CANDIDATES // (len(worlds) * len(shares))]
            u = np.tile(u, (len(shares), 1))
            seen = np.linalg.norm(away @ root, axis=1)
            h = max(WIDTH * radius_holding(0.5, seen, world), LEAST_WIDTH * jnd)
            h = h * np.repeat(shares, len(u) // len(shares))
            frame, _ = belief.chart.frame.move(manifold, mean)
            u = u / np.linalg.norm(u @ root, axis=1, keepdims=True)
            ends.append(self._ends(manifold, frame, u, h * np.linalg.norm(u, axis=1)))
        xp = namespace(ends[0][0])
        a, b = (xp.concat([pair[i] for pair in ends]) for i in (0, 1))
        return a, b, people.ideals @ root

    def _easy(self, manifold: Manifold, belief: Belief) -> tuple[Array, Array]:
        """A question whose answer is all but known: its middle lies well beside the posterior."""
        people, w = belief.people, belief.weights
        mean, spread = moments(people.ideals, w)
        size, V = np.linalg.eigh(spread)
        ends = []
        for size_, axis in zip(np.sqrt(size), V.T, strict=True):
            for off in OFF:
                frame, _ = belief.chart.frame.move(manifold, mean + off * size_ * axis)
                h = np.array([max(off * size_, self.scales(manifold)[1])])
                ends.append(self._ends(manifold, frame, axis[None], h))
        xp = namespace(ends[0][0])
        a, b = (xp.concat([pair[i] for pair in ends]) for i in (0, 1))
        first, second, _ = np.einsum("n,knm->km", w, _chances(manifold, belief, a, b))
        likelier = np.maximum(first, second) / (first + second)
        j = int(np.argmin(abs(np.minimum(likelier, EASY) - EASY)))
        return a[j], b[j]

    def _ends(
        self, manifold: Manifold, frame: Frame, u: np.ndarray, h: np.ndarray
    ) -> tuple[Array, Array]:
        """Exp(±h u) about the point of a frame, inside the domain, for directions u."""
        frame, _, _ = frame.enter(manifold, self.domain)
        u = u / np.linalg.norm(u, axis=1, keepdims=True)
        # Farther out than geodesics are shortest, points are nearer than they seem.
        h = np.minimum(np.minimum(h, self.half_width or math.inf), 0.9 * frame.extent(manifold, u))
        h = np.maximum(np.minimum(h, manifold.typical_dist * 10), self.min_radius)

        def ends(h: np.ndarray) -> tuple[Array, Array]:
            return manifold.exp_pair(frame.point, frame.tangent(manifold, h[:, None] * u))

        return inside(self.domain, ends, h)

    def _concluded(
        self, manifold: Manifold, state: IdealPointState, centre: Array | None = None
    ) -> IdealPointState:
        """The state with what follows from its belief; ``centre``: of a cloud, if it is known."""
        belief = state.belief
        if isinstance(belief, Cloud):
            w = wary = belief.weights
            best = middle(manifold, belief) if centre is None else centre
            away = to_numpy(manifold.dist(belief.points, best[None]))
            off = float(to_numpy(manifold.dist(belief.start, best)))
        else:
            ideals, w, wary = belief.people.ideals, belief.weights, belief.wary_weights
            c = median(ideals, w)
            best = belief.chart.frame.at(manifold, c)
            away = np.linalg.norm(ideals - c, axis=1)
            off = float(np.linalg.norm(belief.chart.origin - c))
        if self.domain is not None:
            best = self.domain.project(best)
        known = radius_holding(REGION, away, wary)
        radius = self.stated(manifold, off, away, wary, state.attention)
        lapse = Traits.of(belief.others, belief.prior).lapse[:, 0]
        return state._replace(
            best=best,
            uncertainty=radius,
            known=known,
            noise=float(w @ lapse) / 2,
            stop=self.settled(radius),
        )


def accuracy(worlds: np.ndarray, chances: np.ndarray, ideals: np.ndarray) -> np.ndarray:
    """Expected decrease of the squared error of the mean for each question, averaged over worlds.

    It equals the variance, over the answers, of the posterior mean after them; arguments as in
    `information`.
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


def _chances(manifold: Manifold, belief: Cloud | Belief, a: Array, b: Array) -> np.ndarray:
    """Probabilities of "a", "b" and a tie for questions, given each particle, shape (3, n, m)."""
    return outcomes(_losses(manifold, belief, a, b), belief.others, belief.prior)


def _usage(belief: Cloud | Belief) -> np.ndarray | None:
    """What is meant by strengths, if the last answer had one: the next is expected to have one."""
    answers = belief.answers
    return answers.usage[:, -1] if len(answers.strength) and answers.strength[-1] else None


def _losses(manifold: Manifold, belief: Cloud | Belief, a: Array, b: Array) -> np.ndarray:
    """Losses of the m first and then of the m second points to each particle, shape (n, 2m)."""
    if isinstance(belief, Cloud):
        return losses_of(manifold, belief.points, a, b).reshape(len(belief.others), -1)
    return belief.people.losses(belief.chart.pair_logs(manifold, a, b))


def _pairs_of_items(
    items: Catalogue, a: Array, b: Array, best: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Pairs of items: those nearest to the pairs of points, and others near the best point or far.

    Where items are sparse, those nearest to a good question make a poor one. The others are drawn
    by their place in the order of distance, evenly in its logarithm.
    """
    i, j = items.pairs(a, b)
    order = items.spread(best, SHORTLIST, rng)
    n = len(order)
    first, second = np.exp(rng.random((2, DRAWN)) * math.log(n)).astype(int) % n
    second = np.where(second == first, (second + 1) % n, second)
    i, j = np.concatenate([i, order[first]]), np.concatenate([j, order[second]])
    return items[i].astype(best.dtype), items[j].astype(best.dtype)


def _known(
    a: Array, b: Array, state: IdealPointState, pending: Sequence[tuple[Array, Array]]
) -> np.ndarray:
    """Which of the pairs have been asked already, either way round."""
    heard = state.belief.answers
    asked = [*zip(heard.a, heard.b, strict=True), *pending]
    known = {frozenset((x.tobytes(), y.tobytes())) for x, y in asked}
    pairs = zip(a, b, strict=True)
    return np.array([frozenset((x.tobytes(), y.tobytes())) in known for x, y in pairs])


def _votes(manifold: Manifold, belief: Cloud | Belief, points: Array) -> np.ndarray:
    """Losses of points to some particles of equal weight, shape (VOTERS, m)."""
    pick = drawn(belief.weights, VOTERS, 0.5)
    if isinstance(belief, Cloud):
        return to_numpy(manifold.dist(belief.points[pick][:, None], points[None]))
    return belief.people.part(pick).losses(belief.chart.logs(manifold, points))


def _thinned(cloud: Cloud) -> Cloud:
    """Fewer points of equal weight, for comparing questions."""
    pick = drawn(cloud.weights, SOME, 0.5)
    return cloud._replace(points=cloud.points[pick], others=cloud.others[pick], logw=np.zeros(SOME))
