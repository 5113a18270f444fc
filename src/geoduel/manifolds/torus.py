"""The flat torus."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._numerics.arrays import Array, dot, eps, expand, fails, namespace, normal, safe_sqrt
from .._support.check import positive_int
from ..errors import NotOnManifoldError
from ._border import Seed
from .base import Manifold

__all__ = ["Torus"]


@dataclass(frozen=True)
class Torus(Manifold):
    """Flat torus of n angles.

    Point         (n,), angles in radians, in (-π, π].
    Tangent       (n,), any rates of the angles.
    Metric        <u, v> = u·v;  dist is the length of y - x, each angle taken in [-π, π].
    Dimension     n;  curvature 0;  injectivity radius π.
    Source        do Carmo, Riemannian Geometry (1992), chapter 1, example 2.7 (quotient of Rⁿ).

    All results are wrapped to (-π, π]. The cut locus of x are the points with an angle exactly
    opposite to that of x: there `dist` is right, and `log` is not unique.

    Parameters
    ----------
    n : int
        Number of angles, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> torus = Torus(2)
    >>> x, y = np.array([3.0, 0.0]), np.array([-3.0, 0.5])
    >>> torus.log(x, y).round(6)  # over π, not through 0
    array([0.283185, 0.5     ])
    >>> torus.exp(x, np.array([0.5, 0.0])).round(6)
    array([-2.783185,  0.      ])
    """

    n: int

    def __post_init__(self) -> None:
        positive_int(self.n, "Torus n")

    @property
    def dim(self) -> int:
        return self.n

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.n,)

    @property
    def curvature(self) -> tuple[float, float]:
        return (0.0, 0.0)

    @property
    def injectivity_radius(self) -> float:
        return math.pi

    @property
    def bounded(self) -> bool:
        return True

    @property
    def typical_dist(self) -> float:
        return math.pi * math.sqrt(self.n) / 2

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return dot(u, v)

    def dist(self, x: Array, y: Array) -> Array:
        d = _wrap(y - x)
        return safe_sqrt(dot(d, d))

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        return lambda t: _wrap(x + expand(t, 1) * v)

    def log(self, x: Array, y: Array) -> Array:
        d = _wrap(y - x)
        xp = namespace(d)
        return self.mark_cut_locus(xp.any(xp.abs(d) >= math.pi, axis=-1), d, x, y)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        return w + namespace(x).zeros_like(x) * v  # broadcasts the leading axes

    def to_coords(self, x: Array, v: Array) -> Array:
        return v

    def from_coords(self, x: Array, c: Array) -> Array:
        return c

    def to_tangent(self, x: Array, a: Array) -> Array:
        return a

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return g

    def to_manifold(self, a: Array) -> Array:
        """Wrap the angles to (-π, π]."""
        xp = namespace(a)
        if fails(xp.isfinite(a)):
            raise NotOnManifoldError(f"to_manifold on {self}: the array is not finite")
        return _wrap(a)

    def origin(self) -> Array:
        """All angles zero."""
        return np.zeros(self.n)

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Uniform points."""
        g = normal(rng, (*batch, self.n, 2), like)
        return namespace(g).atan2(g[..., 1], g[..., 0])

    def point_defect(self, x: Array) -> tuple[str, Array]:
        xp = namespace(x)
        excess = xp.max(xp.abs(x), axis=-1) - math.pi
        return "the excess of its largest angle, in radians, over π", 0.5 * (excess + abs(excess))

    def __repr__(self) -> str:
        return f"Torus({self.n})"


def _wrap(a: Array) -> Array:
    """Angles in (-π, π]; those within stay to the last bit."""
    if type(a) is np.ndarray and a.size:
        low, high = a.item(a.argmin()), a.item(a.argmax())
        if -math.pi < low and high <= math.pi:
            return a
        few = low > -9 and high < 9
    else:
        few = False
    xp = namespace(a)
    if not few:  # after many turns the digits of 2π do not suffice; those of sin and cos do
        a = xp.where(abs(a) < 9, a, xp.atan2(xp.sin(a), xp.cos(a)))
    turn, rest = _TURNS[eps(a) > 1e-10]
    times = xp.round(a / (2 * math.pi))  # -1, 0 or 1
    a = a - times * turn - times * rest
    return xp.where((a <= -math.pi) | (a > math.pi), math.pi, a)  # by rounding


def _turn(kind: type[np.floating]) -> tuple[float, float]:
    """2π as a number of the kind, and what is left of it."""
    turn = float(kind(2 * math.pi))
    return turn, 2 * math.pi - turn + 2.4492935982947064e-16  # of 2π as a double


_TURNS = _turn(np.float64), _turn(np.float32)
