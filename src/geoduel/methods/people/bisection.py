"""Bisection: one angle from a person's answers, on a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array, device, namespace
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ...oracles.people import SLOPE
from ..frame import to_numpy
from .observer import (
    BIAS_SPREAD,
    LAPSE_MEDIAN,
    LAPSED_TIES,
    TIE_MEDIAN,
    Observer,
    Raters,
    sigmoid,
)
from .questions import PersonMethod, best_question, check_answer, inside, stacked
from .weights import drawn, imagined, information, radius_holding

__all__ = ["Bisection", "BisectionState", "densest_window", "middle_of_half", "posterior"]

# Frozen; docs/notebook/bisection.md says what they were tuned on.
CELLS = 361  # of the grid
RATERS = 16  # tables at most; later raters share the last
FANTASIES = 8  # worlds imagined
DENSE = (4, 7)  # numbers of answers between which questions are for the densest window
WIDE = 5.0  # half-width of a question, in JND, at least
DECAY_BEYOND = 30.0  # decay rate of the prior beyond its radius, per radius
REGION = 0.8  # share of the belief in the stated region

# Grid of what a rater may be like, with prior weights: JND (factor), bias, tie width; lapse, left.
JNDS = ((1 / 9, 1 / 3, 1.0, 3.0, 9.0), (0.02, 0.39, 1.0, 0.39, 0.02))
# Weights of the JNDs for the stated region; the first stands for all smaller ones, too.
STATED = (2.0, 1.0, 1.0, 1.0, 1.0)
BIASES = ((-1.2 * BIAS_SPREAD, 0.0, 1.2 * BIAS_SPREAD), (0.25, 0.5, 0.25))
TIES = ((0.0, TIE_MEDIAN, 3 * TIE_MEDIAN), (0.6, 0.2, 0.2))
LAPSES = ((LAPSE_MEDIAN / 3, LAPSE_MEDIAN, 4 * LAPSE_MEDIAN), (0.3, 0.45, 0.25))
LEFTS = ((0.1, 0.5, 0.95), (0.1, 0.65, 0.25))


class BisectionState(NamedTuple):
    """State of Bisection: a posterior on a grid.

    Attributes
    ----------
    start : array of shape point_shape
        x0, from which the geodesic of the grid leaves.
    grid : ndarray of shape (n,)
        Ideals, as signed geodesic lengths from x0.
    prior : ndarray of shape (n,)
    tables : ndarray of shape (raters, 45, 9, n)
        Likelihood times prior of what the rater is like: (JND, bias, tie width), (lapse, left).
    raters : Raters
        The raters of the tables.
    """

    start: Array
    grid: np.ndarray
    prior: np.ndarray
    tables: np.ndarray
    raters: Raters
    best: Array
    uncertainty: float = math.inf
    noise: float = 0.0
    stop: str | None = None

    @property
    def point(self) -> Array:
        """The point the method would return now."""
        return self.best


class RaterGrid(NamedTuple):
    """The raters' parameters, flattened: 45 that shape the logistic, 9 that mix it."""

    slope: np.ndarray
    bias: np.ndarray
    tie: np.ndarray
    lapse: np.ndarray
    left: np.ndarray
    weight: np.ndarray  # (45, 9)
    stated: np.ndarray  # (45,): times these the weights are those for the stated region


def _rater_grid() -> RaterGrid:
    def flat(*axes: tuple[Sequence[float], Sequence[float]]) -> tuple[list[np.ndarray], np.ndarray]:
        values = np.meshgrid(*(np.array(v) for v, _ in axes), indexing="ij")
        weights = np.meshgrid(*(np.array(w) / sum(w) for _, w in axes), indexing="ij")
        return [v.ravel() for v in values], np.prod(weights, axis=0).ravel()

    (jnd, bias, tie), shape = flat(JNDS, BIASES, TIES)
    (lapse, left), mix = flat(LAPSES, LEFTS)
    stated = np.interp(jnd, JNDS[0], STATED) / np.interp(jnd, *JNDS)
    return RaterGrid(SLOPE / jnd, bias, tie, lapse, left, shape[:, None] * mix, stated)


RATER_GRID = _rater_grid()


@dataclass(frozen=True)
class Bisection(PersonMethod):
    """Bayesian bisection: one dimension, human answers.

    A person's loss is the distance to an ideal. The one of two points m ± h that they prefer tells
    on which side of m the ideal lies, more surely the further away. The posterior of the ideal is
    kept on a grid, for every combination of a rater's just-noticeable difference, lapse rate, share
    of "left" in lapses, side bias and tie width.

        p(ideal) = prior(ideal) Π_raters Σ_parameters p(parameters) Π_answers P(answer | ...)
        ask: m ± h with the m, among quantiles of p, whose answer tells most about the ideal, or,
             for the fifth to the seventh, leaves the densest window of ± one JND;
             h = 5 JND, or the length that holds nine tenths of p if that is more
        recommend: the middle of the shortest interval that holds half of p

    Raters are independent given the ideal, so raters who contradict themselves get a flat factor
    and count less. Questions and recommendation lean on the assumed JND. The stated region does
    not: there p(JND) is about flat, over a factor of nine either way.

    Parameters
    ----------
    domain, x_tol, parallel, min_radius, jnd, prior_radius
        As in `geoduel.methods.people.questions.PersonMethod`. An assumed JND that is wrong by a
        factor of 3 does little harm, and 3 % of the belief lies beyond the radius of the prior.

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

    version: ClassVar[int] = 2

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> BisectionState:
        if manifold.dim != 1:
            raise ArgumentError(
                f"Bisection needs a manifold of dimension 1, got {manifold} of dimension "
                f"{manifold.dim}; for 2 to 6 see IdealPoint"
            )
        radius, _ = self.scales(manifold)
        furthest = min(1.5 * radius, manifold.injectivity_radius)
        grid = np.linspace(-furthest, furthest, int(CELLS * furthest / radius) | 1)
        prior = np.exp(-DECAY_BEYOND * np.maximum(abs(grid) / radius - 1, 0))
        state = BisectionState(x0, grid, prior, _fresh(len(grid)), Raters(("",), (0,)), x0)
        return self._concluded(manifold, state)

    def propose(
        self,
        manifold: Manifold,
        state: BisectionState,
        rng: np.random.Generator,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> tuple[Array, Array]:
        radius, assumed = self.scales(manifold)
        p = posterior(state)
        possible = np.flatnonzero(p > 1e-7 * p.max())
        keep = slice(possible[0], possible[-1] + 1)
        grid, p = state.grid[keep], p[keep] / p[keep].sum()
        cumulated = np.cumsum(p)
        shape, lapsed = self._average(state, keep)
        jnd = assumed * float((SLOPE / RATER_GRID.slope) @ (shape @ p) / np.sum(shape @ p))
        spread = np.interp([0.05, 0.95], cumulated, grid)
        half = min(max(WIDE * jnd, float(spread[1] - spread[0])), radius)
        half = max(half, self.min_radius)

        worlds = p[None]  # what may be believed once the open questions are answered
        outer = 0.2
        if pending:
            outer = 0.04
            chances = self._predict(manifold, state, *stacked(pending), grid, shape, lapsed)
            truths = drawn(p, FANTASIES, 0.5)
            worlds = p * [np.prod(imagined(rng, chances, t), axis=0) for t in truths]
            worlds /= worlds.sum(axis=1, keepdims=True)
        centres = np.interp(np.linspace(outer, 1 - outer, 15), cumulated, grid)
        if self.domain is not None:  # the ideal may lie outside, where nothing can be asked
            around = np.linspace(state.grid[0], state.grid[-1], 45)
            allowed = to_numpy(self.domain.contains(self._points(manifold, state.start, around)))
            centres = np.concatenate([centres, around[allowed > 0]])
        a, b = self._ends(manifold, state.start, centres, half)
        chances = self._predict(manifold, state, a, b, grid, shape, lapsed)
        if DENSE[0] <= sum(state.raters.answers) < DENSE[1]:
            deviation = math.sqrt(max(p @ grid**2 - (p @ grid) ** 2, 0))
            cells = round(min(assumed, deviation) / (grid[1] - grid[0]))
            gain = sum(
                np.mean(densest_window(worlds[:, None] * q.T, cells), axis=0) for q in chances
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
    ) -> BisectionState:
        check_answer(answer, left)
        raters, r = state.raters.hear(rater or "", RATERS)
        if r == len(state.tables):
            tables = np.concatenate([state.tables, _fresh(len(state.grid))])
        else:
            tables = state.tables.copy()
        _, jnd = self.scales(manifold)
        z = self._difference(manifold, state, a[None], b[None], state.grid)[0] / jnd
        g = RATER_GRID
        x = g.slope[:, None] * z + left * g.bias[:, None]
        tie = g.tie[:, None]
        if answer == 0:
            looked = np.maximum(1 - sigmoid(x - tie) - sigmoid(-x - tie), 0)
            share = np.full(len(g.left), LAPSED_TIES)
        else:
            looked = sigmoid(-answer * x - tie)
            share = 0.5 - answer * left * (g.left - 0.5)
        lapse = g.lapse[:, None].astype(np.float32)
        guess = (g.lapse * share)[:, None].astype(np.float32)
        tables[r] *= guess + (1 - lapse) * looked[:, None, :].astype(np.float32)
        tables[r] /= tables[r].max()
        state = state._replace(tables=tables, raters=raters)
        return self._concluded(manifold, _refined(state))

    def observers(self, manifold: Manifold, state: BisectionState) -> dict[str, Observer]:
        """What is known about each rater."""
        _, jnd = self.scales(manifold)
        p = posterior(state)
        found = {}
        for name, n, table in zip(*state.raters, state.tables, strict=True):
            w = _conditional(table) @ p
            shape, mix = w.sum(axis=1), w.sum(axis=0)
            found[name] = Observer(
                answers=n,
                jnd=jnd * math.exp(float(shape @ np.log(SLOPE / RATER_GRID.slope))),
                lapse=float(mix @ RATER_GRID.lapse),
                left=float(mix @ (RATER_GRID.lapse * RATER_GRID.left) / (mix @ RATER_GRID.lapse)),
                bias=float(shape @ (RATER_GRID.bias / SLOPE)),
                tie=float(shape @ (RATER_GRID.tie / SLOPE)),
            )
        return found

    # -- pieces ----------------------------------------------------------------------------------

    def _points(self, manifold: Manifold, start: Array, t: np.ndarray) -> Array:
        xp = namespace(start)
        c = xp.asarray(t[:, None], dtype=start.dtype, device=device(start))
        return manifold.exp(start, manifold.from_coords(start, c))

    def _ends(
        self, manifold: Manifold, start: Array, centres: np.ndarray, half: float
    ) -> tuple[Array, Array]:
        """Pairs at centres ± half of the grid, inside the domain."""

        def ends(h: np.ndarray) -> tuple[Array, Array]:
            return tuple(self._points(manifold, start, centres + t) for t in (h, -h))

        return inside(self.domain, ends, np.full(len(centres), half))

    def _difference(
        self, manifold: Manifold, state: BisectionState, a: Array, b: Array, grid: np.ndarray
    ) -> np.ndarray:
        """By how much each ideal prefers a to b: d(ideal, b) - d(ideal, a), shape (pairs, n)."""
        ideals = self._points(manifold, state.start, grid)[None]
        return to_numpy(manifold.dist(ideals, b[:, None]) - manifold.dist(ideals, a[:, None]))

    @staticmethod
    def _average(state: BisectionState, keep: slice) -> tuple[np.ndarray, np.ndarray]:
        """For each ideal, of a typical rater: weights of the 45 shapes, and the share of lapses."""
        q = sum(_conditional(t[..., keep]) for t in state.tables) / len(state.tables)
        lapse = RATER_GRID.lapse.astype(np.float32)
        looked = np.matmul(1 - lapse, q)
        return looked, 1 - looked.sum(axis=0)

    def _predict(
        self,
        manifold: Manifold,
        state: BisectionState,
        a: Array,
        b: Array,
        grid: np.ndarray,
        shape: np.ndarray,
        lapsed: np.ndarray,
    ) -> np.ndarray:
        """Probabilities of "a", "b" and a tie given the ideal, shape (3, n, pairs)."""
        _, jnd = self.scales(manifold)
        z = self._difference(manifold, state, a, b, grid) / jnd
        pa, pb = np.empty_like(z), np.empty_like(z)
        # Sides are not known yet: the bias has no say.
        shape = shape.reshape(len(JNDS[0]), len(BIASES[0]), len(TIES[0]), -1).sum(axis=1)
        for row, x, y in zip(z, pa, pb, strict=True):
            steep = row / np.array(JNDS[0])[:, None, None] * SLOPE
            width = np.array(TIES[0])[:, None]
            x[:] = np.sum(shape * sigmoid(steep - width), axis=(0, 1)) + lapsed / 2
            y[:] = np.sum(shape * sigmoid(-steep - width), axis=(0, 1)) + lapsed / 2
        return np.stack([pa, pb, np.maximum(1 - pa - pb, 0)]).swapaxes(1, 2)

    def _concluded(self, manifold: Manifold, state: BisectionState) -> BisectionState:
        p, grid = posterior(state), state.grid
        middle = middle_of_half(grid, p)
        best = self._points(manifold, state.start, np.array([middle]))[0]
        if self.domain is not None:
            best = self.domain.project(best)
        radius = radius_holding(REGION, abs(grid - middle), posterior(state, stated=True))
        lapse = RATER_GRID.lapse
        wrong = [float((_conditional(t) @ p).sum(axis=0) @ lapse) / 2 for t in state.tables]
        noise = float(np.average(wrong, weights=np.array(state.raters.answers) + 1e-9))
        stop = self.settled(radius)
        return state._replace(best=best, uncertainty=radius, noise=noise, stop=stop)


def _fresh(n: int) -> np.ndarray:
    """The table of a rater who has not answered yet."""
    return np.repeat(RATER_GRID.weight[None, :, :, None].astype(np.float32), n, axis=3)


def posterior(state: BisectionState, stated: bool = False) -> np.ndarray:
    """Posterior of the ideal on the grid; with the weights for the stated region, or the others."""
    shapes = state.tables.sum(axis=2, dtype=np.float64)
    likelihood = RATER_GRID.stated @ shapes if stated else shapes.sum(axis=1)
    with np.errstate(divide="ignore"):
        logp = np.log(state.prior) + np.log(likelihood).sum(axis=0)
    p = np.exp(logp - logp.max())
    return p / p.sum()


def _conditional(table: np.ndarray) -> np.ndarray:
    """Posterior of a rater's parameters given the ideal."""
    return table / np.maximum(table.sum(axis=(0, 1)), 1e-30)


def middle_of_half(grid: np.ndarray, p: np.ndarray) -> float:
    """Middle of the shortest interval that holds half of p; the mean of several as short."""
    cell = grid[1] - grid[0]
    edges = np.append(grid, grid[-1] + cell) - cell / 2
    cumulated = np.append(0.0, np.cumsum(p))
    below = (np.arange(1000) + 0.5) / 2000  # mass to its left
    low, high = (np.interp(q, cumulated / cumulated[-1], edges) for q in (below, below + 0.5))
    shortest = high - low <= np.min(high - low) + 1e-6 * cell
    return float(np.mean((low + high)[shortest]) / 2)


def densest_window(p: np.ndarray, width: int) -> np.ndarray:
    """Most mass within ``width`` cells of a cell, along the last axis."""
    n = p.shape[-1]
    total = np.concatenate([np.zeros((*p.shape[:-1], 1)), np.cumsum(p, axis=-1)], axis=-1)
    i = np.arange(n)
    mass = total[..., np.minimum(i + width + 1, n)] - total[..., np.maximum(i - width, 0)]
    return mass.max(axis=-1)


def _refined(state: BisectionState) -> BisectionState:
    """A finer grid, once all but 1e-6 of the posterior fits into a third of the present one."""
    grid, cumulated = state.grid, np.cumsum(posterior(state))
    low, high = np.searchsorted(cumulated, [5e-7, 1 - 5e-7])
    if 3 * (high - low + 2) > len(grid):
        return state
    margin = (high - low) // 4 + 1
    low, high = max(low - margin, 0), min(high + margin, len(grid) - 1)
    new = np.linspace(grid[low], grid[high], CELLS)
    at = np.clip((new - grid[0]) / (grid[1] - grid[0]), 0, len(grid) - 1.000001)
    i = at.astype(int)
    f = at - i
    prior = state.prior[i] * (1 - f) + state.prior[i + 1] * f
    f = f.astype(np.float32)
    tables = state.tables[..., i] * (1 - f) + state.tables[..., i + 1] * f
    return state._replace(grid=new, prior=prior, tables=tables)
