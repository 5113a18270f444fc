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
from ..duels import duels, mirrored_duels
from ..frame import Frame, reach

__all__ = ["Begin", "First", "begin", "directions", "first_step", "line_search"]


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
    manifold: Manifold, state: Begin, rng: np.random.Generator, domain: Domain | None = None
) -> Generator[tuple[Array, Array], Any, Begin | First]:
    """Step down the average of d orthogonal duels; its length by doubling or halving.

        e_1..e_d random orthonormal,   s_i = Q(Exp_x(ν e_i), Exp_x(-ν e_i)),   ν = t/√d
        h = -Σ s_i e_i/√d,   t doubled or halved while duels along h say so

    Starting with steps too small or too large by a factor k costs log2 k duels. Where all d duels
    tie, the probes were too short to tell: the next first step is tried with four times the length.
    """
    frame, t, d = state.frame, state.length, manifold.dim
    Q = directions(rng, d, d)
    v = t / math.sqrt(d) * Q
    if domain is None:
        s = yield from mirrored_duels(manifold, frame, v)
    else:
        s = yield from duels(manifold, frame, v, -v, domain)
    if not s.any():
        furthest = min(reach(manifold), 1e6 * manifold.typical_dist)
        return state._replace(length=max(t, min(4 * t, furthest)))
    h = -(s @ Q) / np.linalg.norm(s)
    t = yield from line_search(manifold, frame, h, t, domain)
    frame, _ = frame.move(manifold, t * h)
    frame, inwards, _ = frame.enter(manifold, domain)
    return First(frame, t * h + inwards, t, Q, s)


def line_search(
    manifold: Manifold,
    frame: Frame,
    h: np.ndarray,
    t: float,
    domain: Domain | None = None,
    refine: bool = False,
) -> Generator[tuple[Array, Array], Any, float]:
    """Length t of the step along the unit vector ``h``, up to a factor 2, or √2 if refined.

    Duels between Exp_x(2th) and Exp_x(th) tell whether to double or to halve, and then when to end.
    With a domain it is their projections that are compared.
    """

    def better(new: float) -> Generator[tuple[Array, Array], Any, bool]:
        answer = yield from duels(manifold, frame, new * h[None], t * h[None], domain)
        return bool(answer[0] < 0)

    furthest = reach(manifold)
    factor = 0.5
    if 2 * t <= furthest and (yield from better(2 * t)):
        factor, t = 2.0, 2 * t
    for _ in range(60):
        if factor * t > furthest or not (yield from better(factor * t)):
            break
        t *= factor
    if refine:
        for factor in (math.sqrt(2), math.sqrt(0.5)):
            if factor * t <= furthest and (yield from better(factor * t)):
                return factor * t
    return t
