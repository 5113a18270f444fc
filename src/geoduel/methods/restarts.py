"""Runs that begin again where one has ended: from where, until when, and which end is kept."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from .._numerics.arrays import Array
from ..domains.base import Domain, random_step
from ..errors import CutLocusError
from ..manifolds.base import Manifold
from .descent.doubt import beats
from .descent.first_step import directions
from .frame import Frame, reach

__all__ = ["LONGER", "NEAR", "Restarted", "alike", "elsewhere", "joined", "judged", "scale_of"]

# Starts around the best end are farther off by a factor 2, so many times, and then near again.
LONGER = 5
# Probes, in the distance of the start, below which a run may have joined the best end.
JOINED = 1e-3
NEAR = 3.0  # how near it then is, in the distance to the optimum that it states


class Restarted(NamedTuple):
    """State of a run that was, or will be, started more than once.

    Attributes
    ----------
    local : state
        Of the method of the present run.
    champion : array
        Best end of the runs so far.
    scale : float
        How far off the next runs begin, at least.
    run : int
        Number of the present run; that of the start was 0.
    doubt : float
        Largest flip rate at the end of a run: a short one may have seen none.
    stop : str or None
        Why no other run follows.
    reason, distance : str and float or None
        Why the champion's run ended, and what it stated as the distance to the optimum.
    smoothing, length : float
        Smoothing of the present run, and how far from the champion it has begun, about.
    alone : int
        Ends of runs that knew nothing of the champion.
    others : tuple of array
        Different ends that are worse than the champion.
    asked : float or None
        Distance to its end that the present run stated when it was compared with the champion last.
    """

    local: Any
    champion: Array
    scale: float
    run: int = 0
    doubt: float = 0.0
    stop: str | None = None
    reason: str | None = None
    distance: float | None = None
    smoothing: float = 0.0
    length: float = 0.0
    alone: int = 1
    others: tuple[Array, ...] = ()
    asked: float | None = None

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.local.point

    @property
    def best(self) -> Array:
        """The champion: the present run has met it in no duel."""
        return self.champion

    @property
    def noise(self) -> float | None:
        """Of the present run."""
        return self.local.noise

    @property
    def uncertainty(self) -> float | None:
        """Of the champion."""
        return self.distance

    def ended(self, reason: str) -> str:
        """What ends a budget that is left over does not end the run that returned the point."""
        return self.reason or reason if reason in ("budget", "ties") else reason

    @property
    def complete(self) -> bool:
        """Whether the runs have probably found all minima: then no other one is worth its duels.

        If n independent runs have found w minima, w (n - 1)/(n - w - 2) are expected in all, where
        nothing is known of their number and their basins. The rule is to end once that is w + 1/2
        at most: after seven runs to one minimum. Ends in different places that are worse than the
        champion are taken for different minima.

        References
        ----------
        Boender and Rinnooy Kan, Bayesian stopping rules for multistart global optimization
        methods, Mathematical Programming 37 (1987).
        """
        n, w = self.alone, 1 + len(self.others)
        return n > w + 2 and w * (n - 1) <= (w + 0.5) * (n - w - 2)


def scale_of(manifold: Manifold, domain: Domain | None, local: Any) -> float:
    """How far from an end to begin again: a first step of the run, or the manifold's own scale."""
    if reach(manifold, domain) < math.inf:
        return min(reach(manifold, domain), manifold.typical_dist) / 2
    first = getattr(local, "longest", math.inf) / 2
    return first if math.isfinite(first) else manifold.typical_dist / 5


def elsewhere(
    manifold: Manifold, x: Array, rng: np.random.Generator, length: float, domain: Domain | None
) -> Array:
    """A random point; where there is no end, one at about a distance from x, if that is given.

    Parameters
    ----------
    manifold : Manifold
        Where the points live.
    x : array
        The best end.
    rng : numpy.random.Generator
        Source of the choice.
    length : float
        Root mean square of the distance, for normal coordinates; 0 for any random point.
    domain : Domain or None
        Feasible set; the point is one of it.
    """
    if not length or math.isfinite(reach(manifold, domain)):
        return (domain or manifold).random_point(rng, like=x)
    length *= math.sqrt(rng.chisquare(manifold.dim) / manifold.dim)
    y = random_step(manifold, rng, x, float(min(length, reach(manifold, domain, x) / 2)))
    try:
        return y if domain is None else domain.project(y)
    except CutLocusError:  # several points are as near
        return x


def judged(
    state: Restarted, distance: float | None
) -> Generator[tuple[Array, Array], Any, tuple[bool, Array, Restarted]]:
    """At the end of a run, which states a distance: whether duels make it the champion.

    Also returns the worse of the two points, and the state with the better one.
    """
    local, champion = state.local, state.champion
    state = state._replace(doubt=max(state.doubt, local.noise or 0.0))
    won = local.stop != "diverges" and (yield from beats(local.best, champion, state.doubt)) > 0
    if not won:
        return False, local.best, state
    state = state._replace(champion=local.best, reason=local.stop, distance=distance)
    return True, champion, state


def joined(
    manifold: Manifold, state: Restarted, rng: np.random.Generator, domain: Domain | None
) -> Generator[tuple[Array, Array], Any, tuple[bool, Restarted]]:
    """Whether the present run is about to end at the champion, too; asked once a decade of length.

    Its point is then as good as the champion, at the distance that it states. Also returns the
    state, which remembers when it was asked.
    """
    local, stated = state.local, state.local.uncertainty
    last = JOINED * state.length if state.asked is None else 0.1 * state.asked
    if stated is None or not 0 < stated <= last:
        return False, state
    state = state._replace(asked=stated)
    if (yield from beats(local.best, state.champion, state.doubt)) > 0:
        return False, state
    near = NEAR * stated
    same = yield from alike(manifold, state.champion, local.best, near, rng, domain, state.doubt)
    return same, state


def alike(
    manifold: Manifold,
    better: Array,
    worse: Array,
    near: float,
    rng: np.random.Generator,
    domain: Domain | None,
    flip_rate: float,
) -> Generator[tuple[Array, Array], Any, bool]:
    """Whether two ends are the same, or as good: then so are points near the better one.

    Two points at a distance ``near`` to either side of the better end are compared with the worse
    one. If it is no worse than one of them, it is as good.
    """
    with suppress(CutLocusError):  # then they are far apart
        if manifold.dist(better, worse) <= near:
            return True
    frame = Frame(better, None)
    for side in near * directions(rng, manifold.dim, 1)[0] * np.array([[1.0], [-1.0]]):
        if (yield from beats(worse, frame.at(manifold, side, domain), flip_rate)) >= 0:
            return True
    return False
