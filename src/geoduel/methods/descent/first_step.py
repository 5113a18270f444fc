"""The first step, from nothing: d duels for the direction, and a few more for the length."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import positive
from ...domains.base import Domain
from ...manifolds.base import Manifold
from ..base import default_radius
from ..duels import duels, mirrored_duels
from ..frame import Frame, at_least, reach

__all__ = [
    "POINT",
    "Begin",
    "First",
    "begin",
    "directions",
    "first_step",
    "line_search",
    "mirrored_or_off",
]

FEW = 8  # mirrored duels that all tie before the point itself is asked about

POINT = 1e-150  # diameter below which a domain is one point: squares of lengths in it would be 0


class Begin(NamedTuple):
    """State before the first step, of the methods that begin with it."""

    frame: Frame
    length: float  # geodesic length of the first trial
    stop: str | None = None
    noise: float | None = None
    uncertainty: float | None = None

    @property
    def point(self) -> Array:
        """The start."""
        return self.frame.point

    @property
    def best(self) -> Array:
        """The start: nothing has been asked."""
        return self.frame.point


class First(NamedTuple):
    """What the first step found, in coordinates of the frame at the new point."""

    frame: Frame
    step: np.ndarray  # coordinates of the step
    length: float  # |step|
    directions: np.ndarray  # (d, d), orthonormal rows: directions of the duels
    answers: np.ndarray  # (d,)


def begin(manifold: Manifold, x0: Array, initial_step: float | None, frame: bool = True) -> Begin:
    """State before the first step; the length by default a fifth of the typical distance."""
    length = manifold.typical_dist / 5 if initial_step is None else initial_step
    return Begin(
        Frame(x0, np.eye(manifold.dim) if frame else None), positive(length, "initial_step")
    )


def directions(rng: np.random.Generator, d: int, m: int) -> np.ndarray:
    """M <= d random orthonormal directions as rows, uniform, shape (m, d)."""
    return np.linalg.qr(rng.standard_normal((d, m)))[0].T


def first_step(
    manifold: Manifold,
    state: Begin,
    rng: np.random.Generator,
    domain: Domain | None = None,
    min_radius: float = 0.0,
) -> Generator[tuple[Array, Array], Any, Begin | First]:
    """Step down the average of d orthogonal duels; its length by doubling or halving.

        e_1..e_d random orthonormal,   s_i = Q(Exp_x(ν e_i), Exp_x(-ν e_i)),   ν = t/√d
        h = -Σ s_i e_i/√d,   t doubled or halved while duels along h say so

    Starting with steps too small or too large by a factor k costs log2 k duels. A point about which
    f is even, a maximum or a saddle, is left all the same: see `mirrored_or_off`. Where rounding
    decides the duels at such a point, h leads nowhere, and a step of the first length leaves it.
    Where all duels tie, the probes were too short to tell: the next first step is tried with four
    times the length, at most that of the manifold. Whoever runs the method says when to give up.

    With a ``min_radius`` neither ν nor half the distance of any other pair is below it.
    """
    frame, t, d = state.frame, max(state.length, 2 * min_radius), manifold.dim
    if domain is not None and domain.diameter < POINT:
        return state._replace(stop="resolution")
    Q = directions(rng, d, d)
    probe = max(t / math.sqrt(d), min_radius)
    s, off = yield from mirrored_or_off(manifold, frame, probe * Q, t, domain)
    if off is None and not s.any():
        longer = max(t, min(4 * t, reach(manifold, domain), 1e6 * manifold.typical_dist))
        return state._replace(length=longer)
    if off is None:
        h = -(s @ Q) / np.linalg.norm(s)
        found = yield from line_search(
            manifold, frame, h, t, domain, doubt=True, min_radius=min_radius
        )
        # In a corner of a domain, projections may win along an h that leads up, however short.
        lost = domain is not None and found < default_radius(manifold, frame.point)
        if found and not lost:
            t, off = found, found * h
        else:
            s, off = 0 * s, t / 2 * h
    step, end = frame.land(manifold, off, domain)
    frame, _ = frame.move(manifold, step, end=end)
    return First(frame, step, t, Q, s)


def mirrored_or_off(
    manifold: Manifold, frame: Frame, v: np.ndarray, t: float, domain: Domain | None = None
) -> Generator[tuple[Array, Array], Any, tuple[np.ndarray, np.ndarray | None]]:
    """Answers of mirrored duels along ``v``, or a step of length t off a point they cannot judge.

    Where f is even about x, mirrored duels tie for ever, whatever x is. So if the first few tie,
    x itself is compared with points at distance t along them. The step is one that wins, or any if
    none does: beside a saddle, mirrored duels see. There is no step where these duels tie, too.
    """

    def ask(v: np.ndarray) -> Generator[tuple[Array, Array], Any, np.ndarray]:
        if domain is None:
            return (yield from mirrored_duels(manifold, frame, v))
        return (yield from duels(manifold, frame, v, -v, domain))

    s = yield from ask(v[:FEW])
    if s.any():
        rest = (yield from ask(v[FEW:])) if len(v) > FEW else s[:0]
        return np.concatenate([s, rest]), None
    away = t / np.linalg.norm(v[:FEW], axis=1)[:, None] * v[:FEW]
    won = yield from duels(manifold, frame, away, 0 * away, domain)
    return np.zeros(len(v)), away[int(np.argmin(won))] if won.any() else None


def line_search(
    manifold: Manifold,
    frame: Frame,
    h: np.ndarray,
    t: float,
    domain: Domain | None = None,
    refine: bool = False,
    base: np.ndarray | float = 0.0,
    most: int = 60,
    doubt: bool = False,
    min_radius: float = 0.0,
) -> Generator[tuple[Array, Array], Any, float]:
    """Length t of the step along the unit vector ``h``, up to a factor 2, or √2 if refined.

    Duels between Exp_x(2th) and Exp_x(th) tell whether to double or to halve, and then when to end.
    With a domain it is their projections that are compared; the line may then start at a ``base``
    outside. At most ``most`` of them follow the first. ``doubt``: after three halvings three
    mirrored duels ask whether ``h`` leads downhill at all, and the length is 0 if it does not.
    Lengths that differ by less than twice ``min_radius`` are not compared: the one there is stays.
    """

    def better(new: float) -> Generator[tuple[Array, Array], Any, bool]:
        if abs(new - t) < 2 * min_radius:
            return False
        one, other = base + new * h[None], base + t * h[None]
        answer = yield from duels(manifold, frame, one, other, domain)
        return bool(answer[0] < 0)

    furthest = reach(manifold, domain, frame.point)
    factor = 0.5
    if 2 * t <= furthest and (yield from better(2 * t)):
        factor, t = 2.0, 2 * t
    for k in range(most):
        if doubt and factor < 1 and k == 3:
            ends = at_least(t * np.array([[1.0], [0.5], [0.25]]) * h, min_radius)
            if (yield from duels(manifold, frame, ends, -ends, domain)).max() >= 0:
                return 0.0
        if factor * t > furthest or not (yield from better(factor * t)):
            break
        t *= factor
    if refine:
        for factor in (math.sqrt(2), math.sqrt(0.5)):
            if factor * t <= furthest and (yield from better(factor * t)):
                return factor * t
    return t
