"""SCOBO, of Cai, McKenzie, Yin and Zhang: one-bit compressed sensing of the gradient."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import positive, positive_int
from ...manifolds.base import Manifold
from ..base import default_radius
from ..duels import duels
from ..frame import Frame
from .base import Rival, furthest

__all__ = ["SCOBO", "SCOBOState", "one_bit"]

DECAY, FLOOR = 0.95, 1e-4  # of the least step, as in the authors' program


class SCOBOState(NamedTuple):
    """State of SCOBO after k iterations."""

    frame: Frame
    Z: np.ndarray  # rows: the sampling directions, drawn once
    length: float  # the last step
    least: float  # the least step, which is taken whatever the line search says

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.frame.point

    @property
    def best(self) -> Array:
        """The iterate."""
        return self.frame.point


def one_bit(v: np.ndarray, s: float) -> np.ndarray:
    """Maximise <v, g> subject to |g|_1 <= √s and |g|_2 <= 1: v soft-thresholded, and normalised.

    Examples
    --------
    >>> one_bit(np.array([3.0, 4.0]), 2)
    array([0.6, 0.8])
    >>> one_bit(np.array([3.0, 4.0, 0.1]), 1).round(6)
    array([0., 1., 0.])
    """

    def direction(threshold: float) -> np.ndarray:
        g = np.sign(v) * np.maximum(abs(v) - threshold, 0)
        return g / max(float(np.linalg.norm(g)), 1e-300)

    low, high = 0.0, float(abs(v).max())
    if abs(direction(low)).sum() <= math.sqrt(s):
        return direction(low)
    for _ in range(60):  # |g|_1 falls as the threshold rises
        middle = (low + high) / 2
        ok = 0 < abs(direction(middle)).sum() <= math.sqrt(s) + 1e-12
        low, high = (low, middle) if ok else (middle, high)
    return direction(low if high == abs(v).max() else high)


@dataclass(frozen=True)
class SCOBO(Rival):
    """Sparsity-aware comparison-based optimization: a gradient from one-bit measurements.

        z_1..z_m uniform on the unit sphere, drawn once
        repeat, in coordinates of a transported frame:
            y_i = sign(f(Exp_x(r z_i)) - f(x))
            g = argmax <Σ y_i z_i, g> subject to |g|_1 <= √s, |g|_2 <= 1
            α doubled or halved from the last one while duels along -g say so
            x = Exp_x(-α g)

    For an s-sparse gradient, m = O(s log(2d/s)) duels give its direction, and the gap falls as that
    of gradient descent does, down to what the least step allows.

    Parameters
    ----------
    initial_step : float, optional
        First α, a geodesic length.
    domain : Domain, optional
        Feasible set: infeasible points lose, and the iterates are projected.
    sparsity : int, optional
        s, how many entries of the gradient matter; by default all d.
    samples : int, optional
        m; by default 20 s log(2d/s), as in the authors' experiments.
    radius : float, optional
        r, a geodesic length; by default `geoduel.methods.base.default_radius`.

    References
    ----------
    Cai, McKenzie, Yin and Zhang, A one-bit, comparison-based gradient estimator, Applied and
    Computational Harmonic Analysis 60 (2022), with the warm-started line search of their program.
    A step has a least length, which falls by a twentieth each time.

    Examples
    --------
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: x[0] ** 2 + x[3] ** 2)
    >>> result = gd.minimize(oracle, gd.Euclidean(20), np.ones(20), method="scobo", sparsity=2,
    ...                      budget=4000, rng=0)
    >>> bool(result.x[0] ** 2 + result.x[3] ** 2 < 1e-2)
    True
    """

    sparsity: int | None = None
    samples: int | None = None
    radius: float | None = None

    one_set: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("sparsity", "samples"):
            if getattr(self, name) is not None:
                positive_int(getattr(self, name), name)
        if self.radius is not None:
            positive(self.radius, "radius")

    def memory_needed(self, manifold: Manifold) -> float:
        """The sensing matrix and the points of its duels, and the frame."""
        d = manifold.dim
        return 8.0 * (4 * self._rows(d) + 2 * d) * d

    def _rows(self, d: int) -> int:
        """Of the sensing matrix."""
        s = min(self.sparsity or d, d)
        return self.samples or math.ceil(20 * s * math.log(2 * d / s))

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> SCOBOState:
        d = manifold.dim
        Z = rng.standard_normal((self._rows(d), d))
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        length = self.first_step(manifold)
        return SCOBOState(Frame(x0, np.eye(d)), Z, length, length)

    def step(
        self, manifold: Manifold, state: SCOBOState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, SCOBOState]:
        frame, Z, length, least = state
        r = self.radius or default_radius(manifold, frame.point)
        y = yield from duels(manifold, frame, r * Z, 0 * Z)
        least = max(DECAY * least, FLOOR * self.first_step(manifold))
        if y.any():
            g = one_bit(y @ Z, self.sparsity or manifold.dim)
            length = yield from self._length(manifold, frame, -g, length, least)
            frame, _ = frame.move(manifold, -length * g)
            frame, _, _ = frame.enter(manifold, self.domain)
        return SCOBOState(frame, Z, length, least)

    def _length(
        self, manifold: Manifold, frame: Frame, h: np.ndarray, a: float, least: float
    ) -> Generator[tuple[Array, Array], Any, float]:
        """The last length, doubled while that wins, or halved until it does; at least the least."""

        def better(new: float, old: float) -> Generator[tuple[Array, Array], Any, bool]:
            x, y = (frame.at(manifold, t * h, self.domain) for t in (new, old))
            return (yield x, y) < 0

        if (yield from better(a, 0.0)):
            while 2 * a <= furthest(manifold) and (yield from better(2 * a, a)):
                a *= 2
            return a
        while a / 2 >= least:
            a /= 2
            if (yield from better(a, 0.0)):
                return a
        return least
