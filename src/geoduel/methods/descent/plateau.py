"""A walk on plateaus, where most mirrored duels tie: no slope is to be had from their answers."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...domains.base import Domain
from ...manifolds.base import Manifold
from ..base import default_radius
from ..frame import Frame
from .covariance import SUCCESS, CholeskyFactor, success_rule

__all__ = ["PlateauWalk", "WalkState"]

# Frozen; docs/notebook/duel-newton.md says what they were chosen on.
FAR = 0.1  # share of the trials that are longer
LEAST = 1e-3  # least length of those, in the longest
STILL = 20  # trials without a better point, in dimensions, after which the plateau is the best
QUIET = 200  # trials without a better point, in dimensions, after which to end


class WalkState(NamedTuple):
    """State of PlateauWalk.

    Attributes
    ----------
    frame : Frame
        At the point where the walk is.
    best : array
        The last point that has won; the walk has not met a better one.
    there : bool
        Whether the walk is at that point, or has gone on from it by ties.
    sigma, success, factor : float, float and CholeskyFactor
        As in (1+1)-CMA-ES.
    longest : float
        Length of the longest trials, a geodesic length.
    quiet : int
        Trials since the last one that won.
    confirmed, differed : int
        Duels asked again after a win, and those of them that were not won again.
    known : float or None
        What was stated of the first point, until another one wins.
    stop : str or None
        Why to stop.
    """

    frame: Frame
    best: Array
    there: bool
    sigma: float
    success: float
    factor: CholeskyFactor
    longest: float
    quiet: int = 0
    confirmed: int = 0
    differed: int = 0
    known: float | None = None
    stop: str | None = None

    @property
    def point(self) -> Array:
        """Where the walk is."""
        return self.frame.point

    @property
    def noise(self) -> float | None:
        """Flip rate p by the duels asked again, of which 2 p (1 - p) differ; None before any."""
        if not self.confirmed:
            return None
        return (1 - math.sqrt(max(0.0, 1 - 2 * self.differed / self.confirmed))) / 2

    @property
    def uncertainty(self) -> float | None:
        """What was stated of the first point, until another one has won.

        Then it is not known, until many trials have found nothing better: then it is how far the
        plateau reaches. The length of the trials settles where one in five stays on it, and the
        point is on average nearer to the middle than its rim.
        """
        if self.known is not None:
            return self.known
        quiet = self.quiet >= STILL * len(self.factor.A)
        return self.size / 2 if quiet and self.size < self.longest else None

    @property
    def size(self) -> float:
        """Root mean square of the length of a trial."""
        return self.sigma * float(np.linalg.norm(self.factor.A))


@dataclass(frozen=True)
class PlateauWalk:
    """(1+1)-CMA-ES that also moves by ties: across a plateau, to where it ends.

        repeat, in coordinates of a transported frame:
            y = Exp_x(r σ A z), z ~ N(0, I), r = 1;  in one trial of ten r is log-uniform, up to far
            y wins twice:  x = best = y;  y ties with x, and is no worse than best:  x = y
            x has moved:  A Aᵀ learns from A z
            σ grows or shrinks by the share of trials that x moved by, if r = 1

    A walk that moved by wins alone would learn no shape and stay at the edge where it came in. All
    points of one tie with the last winner, so that differences too small to be noticed do not add
    up. Where the same duel is answered otherwise the walk ends, for one win in error would mislead
    it. The longer trials leave a corner at which most short ones lose: σ shrinks without end there.

    References
    ----------
    Igel, Suttorp and Hansen, A computational efficient covariance matrix update and a (1+1)-CMA for
    evolution strategies, GECCO 2006; Golovin et al., Gradientless descent: high-dimensional
    zeroth-order optimization, ICLR 2020, for trials at lengths of all scales.
    """

    domain: Domain | None = None

    def start(
        self, manifold: Manifold, x: Array, longest: float, known: float | None = None
    ) -> WalkState:
        """At a point of a known distance, with trials of the length that the longest may have."""
        d = manifold.dim
        factor = CholeskyFactor.identity(d)
        frame, sigma = Frame(x, np.eye(d)), longest / math.sqrt(d)
        return WalkState(frame, x, True, sigma, SUCCESS, factor, longest, known=known)

    def step(
        self, manifold: Manifold, state: WalkState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, WalkState]:
        """One trial."""
        d, best, there = manifold.dim, state.best, state.there
        frame, sigma, success, factor = state.frame, state.sigma, state.success, state.factor
        far, r = rng.random() < FAR, 1.0
        h = factor.A @ rng.standard_normal(d)
        if far:
            least = max(state.size, LEAST * state.longest)
            r = least / state.size * max(1.0, state.longest / least) ** rng.random()
        c, y = frame.land(manifold, r * sigma * h, self.domain)

        answer = float((yield y, frame.point))
        confirmed, differed = state.confirmed, state.differed
        if answer < 0:
            again = float((yield y, frame.point))
            confirmed, differed = confirmed + 1, differed + (again >= 0)
            answer = max(answer, again)
        moves = answer < 0 or (answer == 0 and (there or float((yield y, best)) <= 0))
        if moves:
            frame, _ = frame.move(manifold, c, end=y)
            best, there = (y, True) if answer < 0 else (best, False)
            factor = factor.learn(h, success)
        if far:
            sigma *= math.sqrt(r) if answer < 0 else 1.0
        else:
            success, grown = success_rule(success, moves, d)
            sigma *= grown
        sigma = min(sigma, 10 * state.longest / float(np.linalg.norm(factor.A)))
        quiet = 0 if answer < 0 else state.quiet + 1
        new = state._replace(
            frame=frame,
            best=best,
            there=there,
            sigma=sigma,
            success=success,
            factor=factor,
            quiet=quiet,
            confirmed=confirmed,
            differed=differed,
            known=state.known if best is state.best else None,
        )
        if new.size < default_radius(manifold, best):  # a slope ends at the edge of a plateau
            return new._replace(stop="resolution")
        return new._replace(stop="ties") if differed or quiet >= QUIET * d else new
