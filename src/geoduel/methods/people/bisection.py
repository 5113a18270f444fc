"""Bisection: one dimension from a person's answers, on a grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..._numerics.arrays import Array, device, eps, namespace
from ...errors import ArgumentError, GeoduelError
from ...manifolds.base import Manifold
from ...oracles.people import SLOPE
from ..frame import to_numpy
from .attention import EASY, Attention
from .observer import BIAS_SPREAD, LAPSED_TIES, TIE_MEDIAN, Observer, Raters, sigmoid
from .questions import PersonMethod, best_question, check_answer, inside, stacked
from .strengths import CLEARLY, learned, share_clear, stated, unheard
from .weights import drawn, imagined, information

__all__ = [
    "Answers",
    "Bisection",
    "BisectionState",
    "Space",
    "densest",
    "middle_of_half",
    "posterior",
    "prior_below",
    "space_of",
]

# Frozen; docs/notebook/bisection.md says what they were tuned on.
CELLS = 281  # of the grid
HEAVY = 0.03  # mass of a cell that makes the grid too coarse
FOCUS = 0.65  # share of the cells where the posterior is
SAMPLE = 128  # ideals that stand for the posterior where questions are compared
GRADERS = 48  # kinds of raters and ideals from which it is judged what strengths mean
RATERS = 16  # tables at most; later raters share the last
RARE = 0.02  # weight of what raters may be like that questions do not count on
FANTASIES = 8  # worlds imagined
DENSE = (4, 7)  # numbers of answers between which questions are for the densest window
WIDTHS = 4  # half-widths compared
NARROW, NARROWER = 2.0, 1.4  # the least of them, in JND, before the posterior is `NEAR` and then
USUAL = 5.0  # the least that the widest may be, in JND
DECAY_BEYOND = 30.0  # decay rate of the prior's core beyond its radius, per radius
TAIL = 0.08  # share of the prior in its tail, which reaches everywhere
EVEN = 0.2  # share of the prior that is even, where the space is bounded
REACH = 1e9  # furthest ideal, in radii of the prior
FLOOR = 1e-30  # of what a table may say against an ideal, which it might take back
CLOSE = 15.0  # JND that hold nine tenths of the posterior, where questions are for a window
NEAR = 4.0  # JND that hold nine tenths of the posterior, which is near its end then
EASY_FROM = 9  # answers before the first easy question, if it is
EASY_ANYWAY = 20  # answers before it if the posterior is not `NEAR`
SETTLED = 0.03  # doubt whether they look that needs no further easy questions
EASY_AT = 0.95  # predicted probability of the likelier answer to an easy question

# Grid of what a rater may be like, with prior weights. The first three shape the logistic.
JNDS = ((1 / 9, 1 / 3, 1.0, 3.0, 9.0), (0.02, 0.39, 1.0, 0.39, 0.02))  # factors
# Where the steps are larger than a quarter, people between two of them contradict both.
ASYMMETRIES = (
    (-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75),
    (0.01, 0.015, 0.115, 0.72, 0.115, 0.015, 0.01),
)
WEBERS = ((0.0, 0.08, 0.25), (0.6, 0.25, 0.15))
# Shares of lapses, and of "left" among those.
LAPSES = (
    ((0.01, 0.5), (0.03, 0.5), (0.12, 0.5), (0.12, 0.95), (0.12, 0.1), (0.35, 0.5), (0.35, 0.95)),
    (0.3, 0.4, 0.12, 0.07, 0.03, 0.05, 0.03),
)
# Not learned: side bias and tie width, in units of the logistic's argument.
BIASES = ((-1.2 * BIAS_SPREAD, 0.0, 1.2 * BIAS_SPREAD), (0.25, 0.5, 0.25))
TIES = ((TIE_MEDIAN, 3 * TIE_MEDIAN), (0.5, 0.5))
# Weights for the stated region: of the JNDs, the first of which stands for all smaller ones, too,
# and of the asymmetries.
STATED = (2.0, 1.0, 1.0, 1.0, 1.0)
STATED_ASYMMETRIES = (1 / 7,) * 7


class Space(NamedTuple):
    """The coordinates that a point may have: signed geodesic lengths from the start.

    Attributes
    ----------
    low, high : float
        The ends.
    circle : bool
        Whether the two ends are one point.
    bounded : bool
        Whether there is nothing beyond the ends.
    """

    low: float
    high: float
    circle: bool
    bounded: bool

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The way from b to a, with its sign; on a circle the shorter one."""
        if not self.circle:
            return a - b
        turn = self.high - self.low
        return (a - b + turn / 2) % turn - turn / 2


class Answers(NamedTuple):
    """Answers, oldest first: coordinates of the two points, answer, side, rater's index, strength.

    Who chooses the best of k points lets it win k - 1 duels, or lose them as the worst. These have
    the number of that choice.
    """

    a: np.ndarray
    b: np.ndarray
    answer: np.ndarray
    left: np.ndarray
    rater: np.ndarray
    strength: np.ndarray
    choice: np.ndarray

    @classmethod
    def none(cls) -> Answers:
        """No answers yet."""
        return cls(*np.zeros((7, 0)))

    def append(self, *one: ArrayLike) -> Answers:
        """With one more, of one or several duels."""
        number = self.choice[-1] + 1 if len(self.choice) else 0.0
        new = np.broadcast_arrays(*map(np.atleast_1d, (*one, number)))
        return Answers(*(np.append(x, y) for x, y in zip(self, new, strict=True)))

    def each(self) -> Iterator[Answers]:
        """The duels of one answer after another."""
        cuts = np.flatnonzero(np.diff(self.choice)) + 1
        for some in np.split(np.arange(len(self.choice)), cuts) if len(self.choice) else ():
            yield Answers(*(x[some] for x in self))


class BisectionState(NamedTuple):
    """State of Bisection: a posterior on a grid.

    Attributes
    ----------
    start : array of shape point_shape
        x0, from which the geodesic of the grid leaves.
    space : Space
        Coordinates on that geodesic.
    answers : Answers
        All of them, for another grid needs them again.
    edges : ndarray of shape (n + 1,)
        Cells of the grid, of ideals.
    prior : ndarray of shape (n,)
        Mass of each cell.
    tables : ndarray of shape (raters, 105, 7, n)
        Likelihood times prior of what the rater is like: (JND, asymmetry, Weber fraction), lapses.
    raters : Raters
        The raters of the tables.
    usages : ndarray of shape (raters, USAGE)
        What they mean by strengths.
    attention : Attention
        Whether they look.
    """

    start: Array
    space: Space
    answers: Answers
    edges: np.ndarray
    prior: np.ndarray
    tables: np.ndarray
    raters: Raters
    usages: np.ndarray
    attention: Attention
    best: Array
    uncertainty: float = math.inf
    noise: float = 0.0
    stop: str | None = None

    @property
    def point(self) -> Array:
        """The point the method would return now."""
        return self.best

    @property
    def grid(self) -> np.ndarray:
        """Middles of the cells."""
        return (self.edges[1:] + self.edges[:-1]) / 2


class RaterGrid(NamedTuple):
    """The raters' parameters, flattened: 105 that shape the logistic, 7 that mix it."""

    jnd: np.ndarray
    asymmetry: np.ndarray
    weber: np.ndarray
    lapse: np.ndarray
    left: np.ndarray
    weight: np.ndarray  # (105, 7)
    stated: np.ndarray  # (105,): times these the weights are those for the stated region


def _rater_grid() -> RaterGrid:
    axes = JNDS, ASYMMETRIES, WEBERS
    jnd, asymmetry, weber = np.array(list(itertools.product(*(v for v, _ in axes)))).T
    shape = np.prod(list(itertools.product(*(np.array(w) / sum(w) for _, w in axes))), axis=1)
    lapse, left = np.array(LAPSES[0]).T
    mix = np.array(LAPSES[1]) / sum(LAPSES[1])
    stated = np.interp(jnd, JNDS[0], STATED) / np.interp(jnd, *JNDS)
    stated *= np.interp(asymmetry, ASYMMETRIES[0], STATED_ASYMMETRIES)
    stated /= np.interp(asymmetry, *ASYMMETRIES)
    return RaterGrid(jnd, asymmetry, weber, lapse, left, shape[:, None] * mix, stated)


RATER_GRID = _rater_grid()


@dataclass(frozen=True)
class Bisection(PersonMethod):
    """Bayesian bisection: one dimension, human answers.

    A person's loss is the distance to an ideal, about. The one of two points m ± h that they
    prefer tells on which side of m the ideal lies. The posterior of the ideal is kept on a grid,
    for every combination of what a rater may be like. That is the just-noticeable difference (JND),
    the Weber fraction, the asymmetry, the lapse rate and the share of "left" in lapses. Asymmetry
    is by how much one side of the ideal is worse than the distance, and the other better.

        p(ideal) = prior(ideal) Π_raters Σ_parameters p(parameters) Π_answers P(answer | ...)
        ask: m ± h with the m and h whose answer tells most about the ideal, or,
             for the fifth to the seventh, leaves the densest window of ± one JND; h ≥ 2 JND,
             and h ≥ 1.4 JND once the ideal is nearly known: an asymmetry a moves where both
             are as good by a·h, so that two widths tell it from another ideal
        now and then, from the tenth on and as long as they may not look at what they see:
             a question whose likelier answer has probability 0.95
        recommend: the middle of the shortest interval that holds half of p

    The prior is about flat within its radius, and has a tail that reaches everywhere: the whole
    circle, or an endless line. Raters are independent given the ideal, so raters who contradict
    themselves get a flat factor and count less. Questions and recommendation lean on the assumed
    JND, and expect little asymmetry. The stated region does not: there p(JND) is about flat, over a
    factor of nine either way, and so is p(asymmetry), up to three quarters. The region also allows
    for the possibility that nobody looks, and is then as wide as the prior.

    Parameters
    ----------
    domain, x_tol, parallel, min_radius, jnd, prior_radius, catch
        As in `geoduel.methods.people.questions.PersonMethod`. An assumed JND that is wrong by a
        factor of 3 does little harm. On a circle, a fifth to a quarter of the belief lies beyond
        the radius.

    References
    ----------
    Watson and Pelli, QUEST: a Bayesian adaptive psychometric method, Perception & Psychophysics 33
    (1983); Kontsevich and Tyler, Bayesian adaptive estimation of psychometric slope and threshold,
    Vision Research 39 (1999).

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> plane = gd.Rotations(2)
    >>> oracle = gd.from_objective(lambda R: abs(plane.to_angle(R) - 0.3))
    >>> result = gd.minimize(oracle, plane, np.eye(2), method="bisection", budget=12, rng=0)
    >>> bool(abs(plane.to_angle(result.x) - 0.3) < 0.02)
    True
    """

    version: ClassVar[int] = 6
    graded: ClassVar[bool] = True

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> BisectionState:
        if manifold.dim != 1:
            raise ArgumentError(
                f"Bisection needs a manifold of dimension 1, got {manifold} of dimension "
                f"{manifold.dim}; for 2 to 6 see IdealPoint"
            )
        radius, _ = self.scales(manifold)
        space = space_of(manifold, x0, radius)
        edges = np.array([space.low, space.high])
        state = BisectionState(
            x0,
            space,
            Answers.none(),
            edges,
            np.ones(1),
            _fresh(1),
            Raters(("",), (0,), (0,)),
            unheard()[None],
            Attention.none(),
            x0,
        )
        return self._concluded(manifold, self._refined(manifold, state))

    def propose(
        self,
        manifold: Manifold,
        state: BisectionState,
        rng: np.random.Generator,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> tuple[Array, Array]:
        _, assumed = self.scales(manifold)
        sample = drawn(posterior(state), SAMPLE, 0.5)
        ideals = state.grid[sample]
        w = np.full(SAMPLE, 1 / SAMPLE)
        shape, lapsed = self._average(state, sample)

        worlds = w[None]  # what may be believed once the open questions are answered
        outer = 0.2
        easy = state.attention.easy.sum()
        if pending:
            outer = 0.04
            ta, tb = (_coordinate(manifold, state, x) for x in stacked(pending))
            chances = self._predict(manifold, state, ta, tb, ideals, shape, lapsed)
            truths = drawn(w, FANTASIES, 0.5)
            worlds = w * [np.prod(imagined(rng, chances, t), axis=0) for t in truths]
            worlds /= worlds.sum(axis=1, keepdims=True)
            easy += np.sum(chances[:2].mean(axis=1).max(axis=0) >= EASY)
        spread = np.quantile(ideals, [0.05, 0.95])
        widest = max(spread[1] - spread[0], USUAL * assumed)
        if state.space.circle:
            widest = min(widest, (state.space.high - state.space.low) / 4)
        n = sum(state.raters.answers)
        nine_tenths = (spread[1] - spread[0]) / assumed
        near = nine_tenths <= NEAR
        least = assumed * (NARROWER if near else NARROW)
        halves = np.geomspace(min(least, widest), widest, WIDTHS)
        halves = np.maximum(halves, self.min_radius)
        if (
            n >= (EASY_FROM if near else EASY_ANYWAY)
            and easy < self.catch * n
            and state.attention.doubt() > SETTLED
        ):
            half = max(USUAL * assumed, self.min_radius)
            pair = self._easy_question(manifold, state, rng, ideals, shape, lapsed, half)
            if pair is not None:
                return pair
        centres = np.quantile(ideals, np.linspace(outer, 1 - outer, 13))
        if self.domain is not None:  # the ideal may lie outside, where nothing can be asked
            radius = min(3 * self.scales(manifold)[0], state.space.high - state.space.low)
            around = np.linspace(-radius, radius, 45) / 2
            allowed = to_numpy(self.domain.contains(_points(manifold, state.start, around)))
            centres = np.concatenate([centres, around[allowed > 0]])
        centres, halves = (x.ravel() for x in np.meshgrid(centres, halves))
        a, b, ta, tb = self._ends(manifold, state, centres, halves)
        last = state.answers.strength[-1:].any()  # the next one is expected to have one, too
        usage = state.usages[int(state.answers.rater[-1])] if last else None
        chances = self._predict(manifold, state, ta, tb, ideals, shape, lapsed, usage)
        if DENSE[0] <= n < DENSE[1] and nine_tenths <= CLOSE:
            width = min(assumed, float(np.std(ideals)))
            gain = sum(
                np.mean(densest(ideals, worlds[:, None] * q.T, width), axis=0) for q in chances
            )
        else:
            gain = information(worlds, chances)
        j = best_question(manifold, a, b, np.round(gain, 9), assumed)
        return a[j], b[j]

    def update(
        self,
        manifold: Manifold,
        state: BisectionState,
        a: Array,
        b: Array,
        answer: int,
        rng: np.random.Generator,
        *,
        left: int = 0,
        rater: str | None = None,
        strength: int = 0,
    ) -> BisectionState:
        check_answer(answer, left, strength)
        state, r = _heard(state, rater or "")
        ta, tb = _coordinate(manifold, state, namespace(a, b).stack([a, b]))
        expected = self._expected(manifold, state, ta, tb, r)
        attention = state.attention.hear(r, expected, answer, left)
        state = state._replace(attention=attention)
        if strength:
            state = self._meant(manifold, state, r)
        return self._told(manifold, state, ta, tb, answer, left, r, strength)

    def choose(
        self,
        manifold: Manifold,
        state: BisectionState,
        points: Array,
        best: int,
        rng: np.random.Generator,
        *,
        worst: bool = False,
        rater: str | None = None,
        more: bool = False,
    ) -> BisectionState:
        answer = 1 if worst else -1
        state, r = _heard(state, rater or "", more)
        t = _coordinate(manifold, state, points)
        others = np.delete(np.arange(len(t)), best)
        chances = np.array([self._chosen(manifold, state, t, j, answer, r) for j in range(len(t))])
        attention = state.attention.hear_choice(r, chances, best)
        state = state._replace(attention=attention)
        return self._told(manifold, state, t[best], t[others], answer, 0, r)

    def _told(
        self,
        manifold: Manifold,
        state: BisectionState,
        a: ArrayLike,
        b: ArrayLike,
        answer: int,
        left: int,
        rater: int,
        strength: int = 0,
    ) -> BisectionState:
        """The state that knows one more answer, to a duel or to all duels of a choice."""
        answers = state.answers.append(a, b, answer, left, rater, strength)
        state = state._replace(answers=answers, tables=state.tables.copy())
        *_, last = answers.each()
        self._hear(manifold, state, state.tables, last)
        return self._concluded(manifold, self._refined(manifold, state))

    def _meant(self, manifold: Manifold, state: BisectionState, r: int) -> BisectionState:
        """The state with what a rater has meant by strengths so far."""
        graded = (state.answers.rater == r) & (state.answers.strength > 0)
        a, b, answer, _, _, strength, _ = (x[graded] for x in state.answers)
        joint = _conditional(state.tables[r]).sum(axis=1) * posterior(state)
        few = drawn(joint.ravel() / joint.sum(), GRADERS, 0.5)
        shapes, cells = np.unravel_index(few, joint.shape)
        seen = self._seen(manifold, state.space, a, b, state.grid[cells], shapes)
        each = np.arange(GRADERS)
        x, unit = (y[each, :, each] for y in seen)
        usages, tables = state.usages.copy(), state.tables.copy()
        usages[r] = learned(-answer.astype(np.float32) * x, unit, strength)
        tables[r] = _fresh(len(state.grid))[0]
        state = state._replace(usages=usages, tables=tables)
        for one in state.answers.each():  # again: their strengths mean something else by now
            if one.rater[0] == r:
                self._hear(manifold, state, tables, one)
        return state

    def ideals(self, manifold: Manifold, state: BisectionState, n: int) -> Array:
        below = np.append(0.0, np.cumsum(posterior(state)))
        return _points(
            manifold, state.start, np.interp((np.arange(n) + 0.5) / n, below, state.edges)
        )

    def observers(self, manifold: Manifold, state: BisectionState) -> dict[str, Observer]:
        """What is known about each rater."""
        _, jnd = self.scales(manifold)
        p, g = posterior(state), RATER_GRID
        names, _, counts = state.raters
        found = {}
        for r, (name, n, table) in enumerate(zip(names, counts, state.tables, strict=True)):
            w = _conditional(table) @ p
            shape, mix = w.sum(axis=1), w.sum(axis=0)
            factor = math.exp(float(shape @ np.log(g.jnd)))
            bias, tie = self._manners(manifold, state, r, factor)
            found[name] = Observer(
                answers=n,
                jnd=jnd * factor,
                lapse=float(mix @ g.lapse),
                left=float(mix @ (g.lapse * g.left) / (mix @ g.lapse)),
                bias=bias,
                tie=tie,
                weber=float(shape @ g.weber),
                verdict=state.attention.verdict(r) if r < len(state.attention.looks) else None,
            )
        return found

    # -- pieces ----------------------------------------------------------------------------------

    def _easy_question(
        self,
        manifold: Manifold,
        state: BisectionState,
        rng: np.random.Generator,
        ideals: np.ndarray,
        shape: np.ndarray,
        lapsed: np.ndarray,
        half: float,
    ) -> tuple[Array, Array] | None:
        """A narrow question beside the posterior, whose likelier answer is all but known."""
        middle, side = np.median(ideals), rng.choice([-1, 1])
        away = np.geomspace(half / 10, max(10 * half, 3 * np.ptp(ideals)), 40)
        a, b, ta, tb = self._ends(manifold, state, middle + side * away, np.full(40, half))
        chances = self._predict(manifold, state, ta, tb, ideals, shape, lapsed)
        likelier = chances[:2].mean(axis=1).max(axis=0)
        j = int(np.argmax(likelier >= min(EASY_AT, likelier.max())))  # the nearest
        return (a[j], b[j]) if likelier[j] >= EASY else None

    def _ends(
        self, manifold: Manifold, state: BisectionState, centres: np.ndarray, halves: np.ndarray
    ) -> tuple[Array, Array, np.ndarray, np.ndarray]:
        """Pairs at centres ± halves of the grid, inside the domain, and their coordinates."""
        space = state.space

        def at(t: np.ndarray) -> np.ndarray:
            return t if space.circle else np.clip(t, space.low, space.high)

        def ends(h: np.ndarray) -> tuple[Array, Array]:
            return tuple(_points(manifold, state.start, at(centres + t)) for t in (h, -h))

        a, b = inside(self.domain, ends, halves)
        if self.domain is None:
            return a, b, at(centres + halves), at(centres - halves)
        return a, b, _coordinate(manifold, state, a), _coordinate(manifold, state, b)

    def _argument(
        self,
        manifold: Manifold,
        space: Space,
        a: np.ndarray | float,
        b: np.ndarray | float,
        ideals: np.ndarray,
        shapes: np.ndarray | slice = slice(None),
    ) -> np.ndarray:
        """The logistic's argument, "a" rather than "b", for shapes of raters, pairs and ideals."""
        return self._seen(manifold, space, a, b, ideals, shapes)[0]

    def _seen(
        self,
        manifold: Manifold,
        space: Space,
        a: np.ndarray | float,
        b: np.ndarray | float,
        ideals: np.ndarray,
        shapes: np.ndarray | slice = slice(None),
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same, and the assumed JND in its units, in which thresholds of strengths are."""
        _, jnd = self.scales(manifold)
        ways = [space.between(np.asarray(t)[..., None], ideals) / jnd for t in (a, b)]
        g, ndim = RATER_GRID, ways[0].ndim
        alphas, which = np.unique(g.asymmetry[shapes], return_inverse=True)
        losses = [abs(d) + alphas.reshape(-1, *[1] * ndim) * d for d in ways]
        difference = (SLOPE * (losses[1] - losses[0])).astype(np.float32)[which]
        mean = ((losses[0] + losses[1]) / 2).astype(np.float32)[which]
        jnds, webers = (
            x[shapes].astype(np.float32).reshape(-1, *[1] * ndim) for x in (g.jnd, g.weber)
        )
        jnd_there = jnds + webers * mean
        return difference / jnd_there, np.float32(SLOPE) / jnd_there

    def _hear(
        self,
        manifold: Manifold,
        state: BisectionState,
        tables: np.ndarray,
        one: Answers,
    ) -> None:
        """Multiply the table of a rater by the likelihood of one answer."""
        answer, left, r = one.answer[0], one.left[0], one.rater[0]
        g, table = RATER_GRID, tables[int(r)]
        if len(one.a) > 1:
            share = np.full(len(g.left), 1 / (1 + len(one.a)))
            looked = self._best(manifold, state, one.a, one.b, answer)
        elif answer == 0:
            share = np.full(len(g.left), LAPSED_TIES)
            looked = _tied(self._argument(manifold, state.space, one.a[0], one.b[0], state.grid))
        else:
            share = 0.5 - answer * left * (g.left - 0.5)
            x, unit = self._seen(manifold, state.space, one.a[0], one.b[0], state.grid)
            looked = sigmoid(-np.float32(answer) * x)
            if one.strength[0]:
                usage = state.usages[int(r)][:, None]
                share = share * share_clear(one.strength, usage)
                looked, *_ = stated(-np.float32(answer) * x, unit, one.strength, usage)
        table *= (g.lapse * share).astype(np.float32)[:, None] + (
            (1 - g.lapse).astype(np.float32)[:, None] * looked[:, None, :]
        )
        table /= table.max()
        np.maximum(table, FLOOR, out=table)

    def _best(
        self,
        manifold: Manifold,
        state: BisectionState,
        a: np.ndarray,
        b: np.ndarray,
        answer: float,
    ) -> np.ndarray:
        """Probability that the first point is the best (-1) or the worst (1) one, if they look."""
        odds = np.zeros((), np.float32)
        for ta, tb in zip(a, b, strict=True):
            x = self._argument(manifold, state.space, ta, tb, state.grid)
            odds = odds + np.exp(np.clip(np.float32(answer) * x, -40, 40))
        return 1 / (1 + odds)

    def _chosen(
        self,
        manifold: Manifold,
        state: BisectionState,
        t: np.ndarray,
        best: int,
        answer: float,
        r: int,
    ) -> float:
        """Predicted probability that rater r chooses one of several points, as in `_best`."""
        q = _conditional(state.tables[r]) * posterior(state)
        lapse, others = RATER_GRID.lapse, np.delete(t, best)
        looked = self._best(manifold, state, np.full(len(others), t[best]), others, answer)
        lapsed = float(q.sum(axis=(0, 2)) @ lapse) / len(t)
        return float(np.sum(np.matmul(1 - lapse, q) * looked)) + lapsed

    def _expected(
        self, manifold: Manifold, state: BisectionState, a: float, b: float, r: int
    ) -> float:
        """Predicted probability that rater r says "b" rather than "a"."""
        p = posterior(state)
        x = self._argument(manifold, state.space, a, b, state.grid)
        q = _conditional(state.tables[r]) * p
        lapse = RATER_GRID.lapse
        weight = np.matmul(1 - lapse, q)
        lapsed = float(q.sum(axis=(0, 2)) @ lapse) / 2
        return float(np.sum(weight * sigmoid(-x))) + lapsed

    def _manners(
        self, manifold: Manifold, state: BisectionState, r: int, factor: float
    ) -> tuple[float, float]:
        """Posterior means of a rater's bias and tie width, in JND, with the rest as believed."""
        _, jnd = self.scales(manifold)
        mine = state.answers.rater == r
        a, b, answer, left, *_ = (x[mine] for x in state.answers)
        ideals = state.grid[drawn(posterior(state), 24, 0.5)]
        ways = [state.space.between(t[:, None], ideals) for t in (a, b)]
        x = (abs(ways[1]) - abs(ways[0])) / (jnd * factor) * SLOPE  # (answers, ideals)
        logs = []
        pairs = list(itertools.product(zip(*BIASES, strict=True), zip(*TIES, strict=True)))
        for (bias, wb), (tie, wt) in pairs:
            y = x + left[:, None] * bias
            first, second = sigmoid(y - tie), sigmoid(-y - tie)
            seen = np.where(answer[:, None] < 0, first, second)
            seen = np.where(answer[:, None] == 0, np.maximum(1 - first - second, 0), seen)
            logs.append(np.log(0.03 + 0.94 * seen).sum(axis=0) + math.log(wb * wt))
        w = np.exp(np.array(logs) - np.max(logs)).sum(axis=1)
        w /= w.sum()
        return tuple(float(w @ [pair[i][0] for pair in pairs]) / SLOPE for i in (0, 1))  # pyright: ignore

    @staticmethod
    def _average(state: BisectionState, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each ideal, of a typical rater: weights of the shapes, and the share of lapses."""
        q = sum(_conditional(t[..., cells]) for t in state.tables) / len(state.tables)
        lapse = RATER_GRID.lapse.astype(np.float32)
        looked = np.matmul(1 - lapse, q)
        return looked, 1 - looked.sum(axis=0)

    def _predict(
        self,
        manifold: Manifold,
        state: BisectionState,
        a: np.ndarray,
        b: np.ndarray,
        ideals: np.ndarray,
        shape: np.ndarray,
        lapsed: np.ndarray,
        usage: np.ndarray | None = None,
    ) -> np.ndarray:
        """Probabilities of "a", "b" and a tie given the ideal, shape (3, n, pairs).

        With a ``usage`` of strengths as in `perception.outcomes`, shape (5, n, pairs).
        """
        # Sides are not known yet, nor whether this rater calls any ties: neither has a say.
        likely = np.flatnonzero(shape.max(axis=1) > RARE)
        x, unit = self._seen(manifold, state.space, a, b, ideals, likely)
        w = shape[likely] * (shape.sum(axis=0) / shape[likely].sum(axis=0))

        def expected(looked: np.ndarray, share: float) -> np.ndarray:
            looks = np.einsum("sn,smn->nm", w, looked).astype(np.float64)
            return looks + lapsed[:, None] * share

        pa = expected(sigmoid(x), 0.5)
        tied = np.zeros_like(pa)
        if usage is None:
            return np.stack([pa, 1 - pa, tied])
        strong = np.array([CLEARLY])
        share = float(share_clear(strong, usage[:, None])[0]) / 2
        first, second = (
            expected(stated(y, unit, strong, usage[:, None])[0], share) for y in (x, -x)
        )
        slight = [np.maximum(p - q, 0) for p, q in ((pa, first), (1 - pa, second))]
        return np.stack([*slight, tied, first, second])

    def _refined(self, manifold: Manifold, state: BisectionState) -> BisectionState:
        """Another grid, until no cell is heavy."""
        radius, jnd = self.scales(manifold)
        for _ in range(4):
            p = posterior(state)
            if len(p) > 1 and p.max() <= HEAVY:
                break
            edges = _mesh(state.space, state.edges, p, radius)
            if len(p) > 1 and np.min(np.diff(edges)) < 1e-6 * jnd:
                break
            prior = np.diff(prior_below(state.space, radius, edges))
            tables = np.repeat(_fresh(len(prior)), len(state.tables), axis=0)
            state = state._replace(edges=edges, prior=prior, tables=tables)
            for one in state.answers.each():
                self._hear(manifold, state, tables, one)
        return state

    def _concluded(self, manifold: Manifold, state: BisectionState) -> BisectionState:
        p, space = posterior(state), state.space
        middle = middle_of_half(state.edges, p, space.circle)
        best = _points(manifold, state.start, np.array([middle]))[0]
        if self.domain is not None:
            best = self.domain.project(best)
        away, w = _away(space, state.edges, posterior(state, stated=True), middle)
        off = float(abs(space.between(np.array(middle), np.zeros(()))))
        region = self.stated(manifold, off, away, w, state.attention)
        lapse = RATER_GRID.lapse
        wrong = [float((_conditional(t) @ p).sum(axis=0) @ lapse) / 2 for t in state.tables]
        noise = float(np.average(wrong, weights=np.array(state.raters.answers) + 1e-9))
        stop = self.settled(region)
        return state._replace(best=best, uncertainty=region, noise=noise, stop=stop)


def _points(manifold: Manifold, start: Array, t: np.ndarray) -> Array:
    """The points of these coordinates."""
    xp = namespace(start)
    c = xp.asarray(np.asarray(t)[:, None], dtype=start.dtype, device=device(start))
    return manifold.exp(start, manifold.from_coords(start, c))


def _coordinate(manifold: Manifold, state: BisectionState, x: Array) -> np.ndarray:
    """Coordinates of points: their distance, on the side where a point at this distance is x."""
    start = state.start
    t = np.atleast_1d(to_numpy(manifold.dist(start[None], x))).astype(np.float64)
    off = [to_numpy(manifold.dist(_points(manifold, start, s * t), x)) for s in (1, -1)]
    return np.where(off[0] <= off[1], t, -t)


def space_of(manifold: Manifold, x0: Array, radius: float) -> Space:
    """Whether the geodesic through x0 closes, ends or goes on, and where."""

    def straight(t: float) -> bool:
        try:
            d = float(to_numpy(manifold.dist(x0, _points(manifold, x0, np.array([t]))[0])))
        except (GeoduelError, ArithmeticError):  # too far for the numbers of the points
            return False
        return abs(d - abs(t)) <= 10 * eps(x0) ** 0.5 * abs(t)

    furthest = manifold.injectivity_radius
    if math.isfinite(furthest):
        ends = _points(manifold, x0, np.array([-furthest, furthest]))
        closed = float(to_numpy(manifold.dist(ends[0], ends[1]))) <= 1e-3 * furthest
        if closed and straight(0.9 * furthest) and straight(-0.9 * furthest):
            return Space(-furthest, furthest, True, True)
    ends = [0.0, 0.0]
    with np.errstate(all="ignore"):
        for side in (-1, 1):
            low, high = 0.0, min(furthest, REACH * radius)
            if not straight(side * high):
                for _ in range(60):
                    half = (low + high) / 2
                    low, high = (half, high) if straight(side * half) else (low, half)
                high = low
            ends[side > 0] = side * high
    return Space(ends[0], ends[1], False, manifold.bounded)


def _heard(state: BisectionState, rater: str, more: bool = False) -> tuple[BisectionState, int]:
    """The state that counts one more choice of a rater, who may be new, and the rater's index."""
    raters, r = state.raters.hear(rater, RATERS, more)
    if r == len(state.tables):
        tables = np.concatenate([state.tables, _fresh(len(state.grid))])
        usages = np.concatenate([state.usages, unheard()[None]])
        state = state._replace(tables=tables, usages=usages)
    return state._replace(raters=raters), r


def _fresh(n: int) -> np.ndarray:
    """The table of a rater who has not answered yet."""
    return np.repeat(RATER_GRID.weight[None, :, :, None].astype(np.float32), n, axis=3)


def prior_below(space: Space, radius: float, t: np.ndarray) -> np.ndarray:
    """Prior probability of the coordinates from the middle of the space to t."""

    def core(t: np.ndarray) -> np.ndarray:
        beyond = np.maximum(abs(t) / radius - 1, 0)
        return np.sign(t) * (
            np.minimum(abs(t), radius) - radius / DECAY_BEYOND * np.expm1(-DECAY_BEYOND * beyond)
        )

    def tail(t: np.ndarray) -> np.ndarray:
        return np.sign(t) * (1 - 1 / (1 + np.log1p(abs(t) / radius)))

    ends = np.array([space.low, space.high])
    turns = 0.0
    if space.circle:
        turn = space.high - space.low
        turns = np.round(t / turn)
        t = t - turns * turn
    if radius == math.inf:
        return turns + t / (space.high - space.low)
    parts = [f(t) / np.diff(f(ends)) for f in (core, tail)]
    share = EVEN if space.bounded else 0.0
    even = t / (space.high - space.low)
    return turns + (1 - TAIL - share) * parts[0] + TAIL * parts[1] + share * even


def _mesh(space: Space, edges: np.ndarray, p: np.ndarray, radius: float) -> np.ndarray:
    """Cells of about the same share of the posterior, and some everywhere else."""
    if space.circle:  # the cut goes opposite to where the posterior is
        turn = space.high - space.low
        middle = middle_of_half(edges, p, True)
        middle -= turn * round(middle / turn)
        ends = middle - turn / 2, middle + turn / 2
        edges = np.concatenate([edges[:-1] + k * turn for k in (-1, 0, 1)] + [edges[-1:] + turn])
        p = np.tile(p, 3)
    else:
        ends = space.low, space.high
    cumulated = np.append(0.0, np.cumsum(p))
    low, high = np.interp(ends, edges, cumulated)

    def scale(t: np.ndarray, c: float, s: float) -> np.ndarray:
        """Even in the logarithm of the distance from c."""
        f = np.arcsinh((t - c) / s)
        f0, f1 = np.arcsinh((np.array(ends) - c) / s)
        return (f - f0) / (f1 - f0)

    where = np.union1d(np.interp(np.linspace(low, high, 200), cumulated, edges), edges)
    where = where[(where > ends[0]) & (where < ends[1])]
    extra = min(radius, ends[1] - ends[0]) * np.sinh(np.linspace(-21, 21, 300))
    where = np.unique(np.concatenate([where, extra[(extra > ends[0]) & (extra < ends[1])], ends]))
    posterior = (np.interp(where, edges, cumulated) - low) / (high - low)
    q = np.interp(low + (high - low) * np.array([0.02, 0.5, 0.98]), cumulated, edges)
    spread = max(q[2] - q[0], 1e-9 * (ends[1] - ends[0]))
    about = scale(where, float(q[1]), float(spread))
    even = scale(where, 0.0, min(radius, ends[1] - ends[0]))
    total = FOCUS * posterior + (1 - FOCUS) / 2 * (about + even)
    return np.interp(np.linspace(0, 1, CELLS + 1), total, where)


def posterior(state: BisectionState, stated: bool = False) -> np.ndarray:
    """Posterior of the ideal on the grid; with the weights for the stated region, or the others."""
    shapes = state.tables.sum(axis=2, dtype=np.float64)
    likelihood = RATER_GRID.stated @ shapes if stated else shapes.sum(axis=1)
    with np.errstate(divide="ignore"):
        logp = np.log(state.prior) + np.log(likelihood).sum(axis=0)
    p = np.exp(logp - logp.max())
    return p / p.sum()


def _tied(x: np.ndarray) -> np.ndarray:
    """Probability of a tie, by one who looks and calls some, over the widths that there are."""
    total = np.zeros_like(x)
    for tie, weight in zip(*TIES, strict=True):
        tied = 1 - sigmoid(x - np.float32(tie)) - sigmoid(-x - np.float32(tie))
        total = total + np.float32(weight / sum(TIES[1])) * np.maximum(tied, 0)
    return total


def _conditional(table: np.ndarray) -> np.ndarray:
    """Posterior of a rater's parameters given the ideal."""
    return table / np.maximum(table.sum(axis=(0, 1)), 1e-30)


def _away(
    space: Space, edges: np.ndarray, p: np.ndarray, middle: float
) -> tuple[np.ndarray, np.ndarray]:
    """Distances of the cells from the middle, and their weights; each cell is cut into four."""
    inner = edges[:-1, None] + np.diff(edges)[:, None] * (np.arange(4) + 0.5) / 4
    return abs(space.between(inner.ravel(), np.array(middle))), np.repeat(p / 4, 4)


def middle_of_half(edges: np.ndarray, p: np.ndarray, circle: bool = False) -> float:
    """Middle of the shortest interval that holds half of p; the mean of several as short."""
    cumulated = np.append(0.0, np.cumsum(p)) / np.sum(p)
    turn = center = 0.0
    below = (np.arange(1000) + 0.5) / 2000  # mass to its left
    if circle:
        below = 2 * below - 0.25
        turn, center = edges[-1] - edges[0], (edges[-1] + edges[0]) / 2
        edges = np.concatenate([edges[:-1] - turn, edges[:-1], edges + turn])
        cumulated = np.concatenate([cumulated[:-1] - 1, cumulated[:-1], cumulated + 1])
    low, high = (np.interp(q, cumulated, edges) for q in (below, below + 0.5))
    lengths = high - low
    middles = (low + high)[lengths <= lengths.min() * (1 + 1e-6)] / 2
    if circle:
        nearest = middles[np.argmin(abs(middles - center))]
        middles -= turn * np.round((middles - nearest) / turn)
    return float(np.mean(middles))


def densest(points: np.ndarray, p: np.ndarray, width: float) -> np.ndarray:
    """Most mass within ``width`` of one of the sorted points, along the last axis."""
    total = np.concatenate([np.zeros((*p.shape[:-1], 1)), np.cumsum(p, axis=-1)], axis=-1)
    high = np.searchsorted(points, points + width, "right")
    low = np.searchsorted(points, points - width, "left")
    return (total[..., high] - total[..., low]).max(axis=-1)
