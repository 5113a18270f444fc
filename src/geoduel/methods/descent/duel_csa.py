"""DuelCSA: mirrored duels, cumulative step-size adaptation, a covariance that travels along."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...manifolds.base import Manifold
from ..duels import differ
from ..frame import Frame, at_least, reach
from ..rounds import Rounds, in_lock_step, renumbered
from .base import RankedMethod, asked_twice, capped, converged, recommend
from .covariance import Covariance, Factors, cumulated
from .doubt import Symmetry, doubted, levelled
from .first_step import Begin, First, begin, directions, first_step
from .noise import Noise
from .ranked import corners, ranked, scores, whole
from .rates import NOISY
from .stacks import STACKED
from .steps import strides
from .ties import Ties

__all__ = ["CSAState", "DuelCSA"]

FULL = 300  # most dimensions with a full covariance
OUTSIDE = 0.25  # how far the search may be outside of a domain, in lengths of probes
WIDEST = 1e-6  # least eigenvalue of C in a domain, relative to the largest: there are none across


class CSAState(NamedTuple):
    """State of DuelCSA after k steps."""

    k: int
    frame: Frame
    best: Array
    sigma: float  # σ
    metric: Covariance | Factors
    path: np.ndarray  # p, of the steps before A
    answering: Noise
    longest: float  # cap of a widened probe, a geodesic length
    to_mean: np.ndarray  # from the present point to the mean of the recent ones
    draws: float  # running share of ties, also between points that rounding makes equal
    ties: Ties
    symmetry: Symmetry  # of f about x
    stop: str | None = None
    outside: np.ndarray | float = 0.0  # from the point to where the search is, out of the domain
    ends: int = 0  # ends so far that were no minimum

    @property
    def point(self) -> Array:
        """The base point of the frame."""
        return self.frame.point

    @property
    def noise(self) -> float:
        """Estimated flip rate."""
        return self.answering.flip_rate

    @property
    def size(self) -> float:
        """Length of the probes, σ (tr C)^½."""
        return self.sigma * math.sqrt(self.metric.trace)

    @property
    def unchecked(self) -> bool:
        """Whether probes have shrunk so far that symmetry has to be asked about."""
        return self.noise <= NOISY and self.symmetry.due(self.size)

    @property
    def asks(self) -> bool:
        """Whether there is something to doubt."""
        return bool(self.stop) or self.unchecked or self.ties.unclear(self.longest)

    @property
    def widened(self) -> float:
        """Factor on the length of the probes, where answers are wrong or too often ties."""
        return max(self.answering.widen, self.ties.widen)

    def tied(self, unnoticed: float, blocks: float) -> Ties:
        """The ties, with the share of those between different points in the present step."""
        length = min(self.widened * self.size, max(self.size, self.longest))
        return self.ties.after(unnoticed, length, blocks)

    def ended(self, manifold: Manifold, x_tol: float | None, probe: float) -> CSAState:
        """With a reason to stop, after probes the longest of which had that length.

        Where they were lengthened, shorter ones tie; those count.
        """
        draws, widened = self.draws, self.ties.widen > max(4.0, self.answering.widen)
        if widened:
            draws, probe = 1.0, min(probe, self.size)
        stop = converged(manifold, self, x_tol, draws, probe)
        if stop is None and self.ties.endless:
            stop = "ties"
        return self._replace(stop=stop)

    @property
    def uncertainty(self) -> float | None:
        """Estimated distance to the optimum, σ (tr C)^½ √(d/2).

        A step has length σ (tr C)^½, and is best at about a √d-th of the distance; the constant is
        measured, on quadratics of condition 1 to 100. None after an end that was none, and where f
        is not symmetric about x, as beside a kink. That is asked once probes are a hundredth of the
        longest ones; before, the distance may be far too small.
        """
        if self.ends or self.symmetry.doubt or self.ties.lost(self.longest):
            return None
        length = self.size * math.sqrt(max(2, len(self.path)) / 2)
        return self.answering.uncertainty(length, self.longest, self.ties.widen)


@dataclass(frozen=True)
class DuelCSA(RankedMethod):
    """Mirrored evolution strategy that only compares.

    Two orthogonal directions a step, each a duel between the two ends of a geodesic through x; the
    step averages the winners. Steps that go on in one direction lengthen σ, steps that turn back
    shorten it, and the covariance learns from their path.

        first step: see `geoduel.methods.descent.first_step`
        repeat, in coordinates of a transported frame:
            z_1, z_2 orthogonal, |z_i| = √d
            s_i = Q(Exp_x(σ A z_i), Exp_x(-σ A z_i));   h = -Σ s_i z_i / √2
            x = Exp_x(σ A h), frame transported
            p = (1-c) p + √(c(2-c)) h;   σ = σ exp(c/(1+c) (|p|/E|N(0,I)| - 1))
            A from the path of the steps A h
        now and then: two pairs far longer than the probes tell whether f is symmetric about x
        where that has ended: points at several distances are compared with x; once more from one
        that is better

    A full covariance up to d = 300, above that limited memory: O(d log d) a step, and instead of a
    frame the few memory vectors are transported. Some duels are asked twice; while their answers
    differ like coins, the probes are longer than the steps. ``parallel=k`` takes k directions a
    step in place of two, up to d/3, where it needs about 1.25 times the duels.

    With ``ranking=k`` the z_i are the k corners of a regular simplex in k - 1 directions. They are
    put in order, and h = -Σ w_i z_i with weights that fall evenly from the worst to the best.

    In a domain, f of the projection is minimised, and only projections are compared. The search may
    then be outside by a few probes. From there the probes tell of directions along the boundary,
    while those about a point on it would mostly tell how to leave.

    Parameters
    ----------
    domain, initial_step, x_tol, min_radius, ranking
        As in `geoduel.DuelNewton`.

    References
    ----------
    Hansen and Ostermeier, Evolutionary Computation 9 (2001), for cumulation and covariance;
    Brockhoff et al., Mirrored sampling and sequential selection for evolution strategies, PPSN
    2010; Loshchilov, Glasmachers and Beyer, Large scale black-box optimization by limited-memory
    matrix adaptation, IEEE Transactions on Evolutionary Computation 23 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: -x[0])
    >>> result = gd.minimize(oracle, gd.Sphere(3), np.array([0.0, 1.0, 0.0]), method="duel-csa",
    ...                      budget=200, rng=0)
    >>> bool(result.x[0] > 1 - 1e-6)
    True
    """

    version: ClassVar[int] = 9
    matrices: ClassVar[int] = 7

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Begin:
        return begin(manifold, x0, self.initial_step, frame=manifold.dim <= FULL)

    def step(
        self, manifold: Manifold, state: Begin | CSAState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Begin | CSAState]:
        if isinstance(state, Begin):
            first = yield from first_step(manifold, state, rng, self.domain, self.min_radius)
            return first if isinstance(first, Begin) else self._first_state(manifold, first)
        state = yield from self._step(manifold, state, rng)
        return (yield from self._doubted(manifold, state, rng))

    def steps(
        self, manifold: Manifold, states: list[Any], rngs: list[np.random.Generator]
    ) -> Rounds:
        """Steps of all problems together, where stacked matrices are faster than one by one."""
        if self.domain is not None or self.ranking or manifold.dim > STACKED:
            return (yield from super().steps(manifold, states, rngs))
        new, m = states.copy(), self.per_step(manifold.dim)
        begun = [j for j, state in enumerate(states) if isinstance(state, CSAState)]
        rest = [j for j, state in enumerate(states) if isinstance(state, Begin)]
        if begun:
            these = [states[j] for j in begun], [rngs[j] for j in begun]
            ends = yield from renumbered(strides(self, m, manifold, *these), begun)
            for j, end in zip(begun, ends, strict=True):
                new[j] = end
            asks = [j for j in begun if new[j] is not None and new[j].asks]
            each = (self._doubted(manifold, new[j], rngs[j]) for j in asks)
            ends = yield from renumbered(in_lock_step(each, len(manifold.point_shape)), asks)
            for j, end in zip(asks, ends, strict=True):
                new[j] = end
        if rest:
            these = [states[j] for j in rest], [rngs[j] for j in rest]
            ends = yield from renumbered(super().steps(manifold, *these), rest)
            for j, end in zip(rest, ends, strict=True):
                new[j] = end
        return new

    def per_step(self, d: int) -> int:
        """How many directions a step takes in d dimensions."""
        return min(d, max(2, min(self.parallel or 2, d // 3)))

    def _doubted(
        self, manifold: Manifold, state: CSAState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, CSAState]:
        def begun(frame: Frame, length: float) -> CSAState:
            return self._begun(manifold, frame, length)

        state = yield from levelled(manifold, state, rng, self.min_radius, self.domain)
        asks = not self.min_radius
        return (yield from doubted(manifold, state, rng, self.domain, asks, begun))

    def _first_state(self, manifold: Manifold, first: First) -> CSAState:
        return self._begun(manifold, first.frame, first.length)

    def _begun(self, manifold: Manifold, frame: Frame, length: float) -> CSAState:
        d = manifold.dim
        return CSAState(
            k=0,
            frame=frame,
            best=recommend(manifold, frame, None, self.domain),
            sigma=1.25 * length / d,
            metric=Covariance.of(np.eye(d)) if d <= FULL else Factors.empty(d),
            path=np.zeros(d),
            answering=Noise(),
            longest=2 * length,
            to_mean=np.zeros(d),
            draws=0.0,
            ties=Ties(),
            symmetry=Symmetry.begun(2 * length),
        )

    def _step(
        self, manifold: Manifold, state: CSAState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, CSAState]:
        k, frame, A, sigma = state.k, state.frame, state.metric, state.sigma
        d = manifold.dim
        count = self.ranking or 0
        m = min(d, count - 1) if count else self.per_step(d)

        z = math.sqrt(d) * directions(rng, d, m)
        if count:
            z = corners(rng, count, m) @ z
        noise = state.answering
        probe = sigma * (A @ z)
        if state.widened > 1:
            length = np.linalg.norm(probe, axis=1)
            factor = np.maximum(1, np.minimum(state.widened, state.longest / length))
            probe = frame.lengthened(manifold, probe, factor)
        probe = at_least(probe, self.min_radius)
        if count:
            [places], noise = yield from ranked(manifold, frame, probe[None], noise, rng)
            tied = unnoticed = 1 - (len(np.unique(places)) - 1) / (count - 1)
            h = -(scores(places) @ z) / whole(count)
        else:
            s, noise = yield from self._mirrored(manifold, state, probe, noise, rng)
            tied, h = float(np.mean(s == 0)), -(s @ z) / math.sqrt(m)
            unnoticed = tied
            if tied and self.domain is not None:  # ends that are projected on one point
                ends = state.outside + probe, state.outside - probe
                unnoticed = float(np.mean((s == 0) & differ(manifold, frame, *ends, self.domain)))
        step = sigma * (A @ h)
        ahead, outside = state.outside + step, state.outside
        step, end = frame.land(manifold, ahead, self.domain)
        if self.domain is not None:  # what the cap takes away is no part of the path
            most = OUTSIDE * float(np.median(np.linalg.norm(probe, axis=1)))
            outside = capped(ahead - step, most)
            h = h - A.solve(ahead - step - outside) / sigma

        ties = state.tied(unnoticed, m / d)
        path, steady, power = cumulated(state.path, h, k, m, ties.share)
        A = A.learn(h, steady, k, m, 1e-14 if self.domain is None else WIDEST)
        sigma *= math.exp(power)
        farthest = reach(manifold, self.domain, frame.point)
        sigma = min(sigma, farthest / (2 * math.sqrt(A.trace)))

        noise = noise.rescaled(sigma / state.sigma)
        # One step says m/d as much about where the optimum is as a block of d duels.
        forget = 1 - (1 - noise.capacity) ** (m / d)
        to_mean = (1 - forget) * (state.to_mean - step)
        carried = np.stack([path, to_mean, outside + np.zeros(d), *A.vectors()])
        frame, along = frame.move(manifold, step, carried, end)
        path, to_mean, outside = along[:3]
        share = m / (m + d)
        new = CSAState(
            k + 1,
            frame,
            recommend(manifold, frame, to_mean, self.domain),
            sigma,
            A.with_vectors(along[3:]),
            path,
            noise,
            state.longest,
            to_mean,
            (1 - share) * state.draws + share * tied,
            ties,
            state.symmetry,
            outside=outside,
            ends=state.ends,
        )
        return new.ended(manifold, self.x_tol, float(abs(probe).max()))

    def _mirrored(
        self,
        manifold: Manifold,
        state: CSAState,
        probe: np.ndarray,
        noise: Noise,
        rng: np.random.Generator,
    ) -> Generator[tuple[Array, Array], Any, tuple[np.ndarray, Noise]]:
        """Answers to a duel along each probe; some are asked twice."""
        m, d = probe.shape
        repeats, noise = noise.due(m, d)
        again = rng.permutation(m)[:repeats] if repeats else np.arange(0)
        return (
            yield from asked_twice(
                manifold, state.frame, probe, again, noise, state.outside, self.domain
            )
        )
