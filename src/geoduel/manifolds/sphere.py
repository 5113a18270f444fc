"""The unit sphere."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from .._arrays import (
    Array,
    arc_over_sin,
    at_zero,
    blas,
    combine,
    cos_sin,
    cos_sinc,
    dot,
    expand,
    namespace,
    normal,
    safe_sqrt,
    surely,
    vectors,
    where,
)
from .._check import positive_shape
from ..errors import ArgumentError, NotOnManifoldError
from .base import Manifold

__all__ = ["Sphere"]


@dataclass(frozen=True, init=False)
class Sphere(Manifold):
    """Unit sphere of arrays of one shape, with arc length.

    Point         Array of the shape with sum of squares 1.
    Tangent       Array v of the shape with <x, v> = 0.
    Metric        <u, v> = sum of the products (ambient); distances are angles in radians.
    Dimension     number of entries - 1; curvature 1; injectivity radius π.
    Source        Absil, Mahony and Sepulchre, Optimization Algorithms on Matrix Manifolds (2008),
                  examples 3.6.1 and 5.4.1.

    Parameters
    ----------
    *shape : int
        Shape of a point: ``Sphere(100)`` are the unit vectors of R¹⁰⁰, ``Sphere(3, 32, 32)`` the
        images of unit norm.

    Examples
    --------
    >>> import numpy as np
    >>> sphere = Sphere(3)
    >>> x, y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    >>> float(sphere.dist(x, y))  # a quarter of a great circle
    1.5707963267948966
    >>> sphere.exp(x, np.pi * y)  # half a great circle leads to the antipode
    array([-1.0000000e+00,  1.2246468e-16,  0.0000000e+00])
    """

    shape: tuple[int, ...]
    _dot: Callable[[Array, Array], Array] = field(repr=False, compare=False)

    def __init__(self, *shape: int) -> None:
        shape = positive_shape(shape, "Sphere")
        if math.prod(shape) < 2:
            raise ArgumentError(f"Sphere needs at least 2 entries (a circle), got shape {shape}")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "_dot", dot if len(shape) == 1 else partial(_dot, len(shape)))

    @property
    def dim(self) -> int:
        return math.prod(self.shape) - 1

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.shape

    @property
    def curvature(self) -> tuple[float, float]:
        return (1.0, 1.0)

    @property
    def injectivity_radius(self) -> float:
        return math.pi

    @property
    def typical_dist(self) -> float:
        return math.pi / 2

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return namespace(u, v).vecdot(self._flat(u), self._flat(v))

    def dist(self, x: Array, y: Array) -> Array:
        # Chords are right for tiny and for nearly opposite angles; the arccosine is not.
        c = self._dot(x, y)
        apart = abs(c) < 0.8  # far from both ends: an error of c is at most 5/3 of it in the angle
        if surely(apart):
            return math.acos(c) if isinstance(c, float) else np.acos(c)
        if isinstance(apart, np.ndarray) and 2 * np.count_nonzero(apart) > apart.size:
            distance, others = np.acos(np.where(apart, c, 0.0)), ~apart
            x, y = np.broadcast_arrays(x, y)
            distance[others] = self.dist(x[others], y[others])
            return distance
        minus = self._length(x - y)
        if surely(c > 0):
            return 2 * (math.asin(minus / 2) if isinstance(minus, float) else np.asin(minus / 2))
        return 2 * _atan2(minus, self._length(x + y))

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        if vectors(x, v):
            return self._great_circle(x, v, blas.nrm2(v))
        arc = self._arc(x, v)
        return lambda t: self._combined(arc(t), x, v)

    def exp(self, x: Array, v: Array) -> Array:
        if not vectors(x, v):
            return self.geodesic(x, v)(1.0)
        c, s = _turn(x, blas.nrm2(v))
        return blas.rot(x, v, c, s)[0]

    def exp_pair(self, x: Array, v: Array) -> tuple[Array, Array]:
        if vectors(x, v):
            c, s = _turn(x, blas.nrm2(v))
            return blas.rotm(x, v, (-1.0, c, c, s, -s))  # c x + s v and c x - s v
        c, s = self._arc(x, v)(1.0)
        return self._combined((c, s), x, v), self._combined((c, -s), x, v)

    def log(self, x: Array, y: Array) -> Array:
        minus = x - y
        m = self._dot(minus, minus)
        if surely(m < 2):  # all within a right angle
            ratio = arc_over_sin(m)
            return self._combined((m / 2 * ratio, -ratio), x, minus)
        plus = x + y
        p = self._dot(plus, plus)
        # Tangential part of y at x, from the nearer of y and -y: no cancellation at either end.
        close = m <= p
        u = self._times(m / 2, x) - minus
        if not surely(close):
            u = where(expand(close, len(self.shape)), u, plus - self._times(p / 2, x))
        sin = self._length(u)
        angle = 2 * _atan2(safe_sqrt(m), safe_sqrt(p))
        if surely(sin != 0):
            return self._times(angle / sin, u)
        zero = sin == 0
        scale = where(zero, 1.0, angle / where(zero, 1.0, sin))
        return self._mark_cut_locus(zero & (m > p), self._times(scale, u), x, y)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        plus = x + y
        p = self._dot(plus, plus)
        opposite = p == 0
        ratio = 2 * self._dot(y, v) / where(opposite, 1.0, p)
        return self._mark_cut_locus(opposite, v - self._times(ratio, plus), x, y)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        # In the plane of x and v the transport is the rotation of the geodesic; outside, identity.
        t2 = self._dot(v, v)
        _, s = cos_sinc(t2)
        half = cos_sinc(t2 / 4)[1]
        vw = self._dot(v, w)
        return w - self._times(s * vw, x) - self._times(half * half / 2 * vw, v)

    def to_coords(self, x: Array, v: Array) -> Array:
        x, v = self._flat(x), self._flat(v)
        sign, last = self._reflection(x)
        ratio = expand(v[..., -1] / last, 1)
        return v[..., :-1] - ratio * sign * x[..., :-1]

    def from_coords(self, x: Array, c: Array) -> Array:
        xp = namespace(x)
        flat = self._flat(x)
        sign, last = self._reflection(flat)
        head = flat[..., :-1]
        along = expand(xp.vecdot(head, c), 1)
        front = c - along / expand(last, 1) * head
        v = xp.concat([front, xp.broadcast_to(-sign * along, (*front.shape[:-1], 1))], axis=-1)
        return xp.reshape(v, (*v.shape[:-1], *self.shape))

    def unit_tangent(
        self, rng: np.random.Generator, x: Array, batch: tuple[int, ...] = ()
    ) -> Array:
        # The metric is the ambient one, so a projected Gaussian is uniform and needs no basis.
        g = normal(rng, batch + tuple(x.shape), x)
        if vectors(x, g):
            return _projected(x, g)
        a, g2 = self._dot(x, g), self._dot(g, g)
        rest = g2 - a * a
        if surely(rest > 0.5 * g2):
            # |g - a x|² = |g|² - a², without cancellation; so one combination is enough.
            r = 1 / safe_sqrt(rest)
            return self._combined((r, -r * a), g, x)
        u = g - self._times(a, x)
        return u / expand(safe_sqrt(self._dot(u, u)), len(self.shape))

    def random_geodesic(self, rng: np.random.Generator, x: Array) -> Callable[..., Array]:
        # u has length 1, which `geodesic` would have to find out.
        if vectors(x, x):
            return self._great_circle(x, _projected(x, rng.standard_normal(x.size)), 1.0)
        u = self.unit_tangent(rng, x)
        renew = self._renewal(x)

        def point(t: float | Array) -> Array:
            c, s = cos_sin(t)
            return self._combined((at_zero(t, c, c * renew), s), x, u)

        return point

    def to_tangent(self, x: Array, a: Array) -> Array:
        # Dividing by <x, x>: an x longer than 1 by rounding would leave a radial part of <x, a>
        # times that, which grows from step to step where a is large.
        return a - self._times(self._dot(x, a) / self._dot(x, x), x)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return self.to_tangent(x, g)

    def to_manifold(self, a: Array) -> Array:
        xp = namespace(a)
        # Dividing by the largest entry first keeps the squares from under- and overflowing.
        flat = self._flat(a)
        top = xp.max(xp.abs(flat), axis=-1)
        if not bool(xp.all((top > 0) & xp.isfinite(top))):
            raise NotOnManifoldError(f"to_manifold on {self}: zero or not finite, so no direction")
        return self._divide(self._divide(a, top), self._length(self._divide(a, top)))

    def random_point(
        self, rng: np.random.Generator, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Uniform points."""
        # One number is skipped: from the same seed, `unit_tangent` would otherwise project the very
        # Gaussian that made x, and be left with rounding errors.
        flat = normal(rng, (*batch, math.prod(self.shape) + 1), like)[..., 1:]
        return self.to_manifold(namespace(flat).reshape(flat, (*batch, *self.shape)))

    def _point_defect(self, x: Array) -> tuple[str, Array]:
        return "| |x| - 1 |", abs(self._length(x) - 1)

    def _tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        xp, size = namespace(x, v), self._length(v)
        size = xp.where(size == 0, xp.ones_like(size), size)
        return "|<x, v>| / |v|", abs(self._dot(x, v)) / size

    # -- private -----------------------------------------------------------------------------------

    def _renewal(self, x: Array) -> Array:
        """Return 1/|x| by one Newton step.

        Rounding drifts off the sphere like a random walk; this pulls it back.
        """
        return 1.5 - 0.5 * self._dot(x, x)

    def _great_circle(self, x: Array, v: Array, speed: float) -> Callable[[float | Array], Array]:
        """`geodesic` for one pair of vectors, where a run on one problem spends its time."""
        renew, rotate = 1.5 - 0.5 * blas.dot(x, x), blas.rot

        def point(t: float | Array) -> Array:
            if not isinstance(t, float):
                if np.ndim(t):  # several points of one geodesic
                    return self.geodesic(x[None], v[None])(t)
                t = float(t)
            angle = t * speed
            if not angle:
                return x.copy()
            return rotate(x, v, math.cos(angle) * renew, math.sin(angle) / speed)[0]

        return point

    def _arc(self, x: Array, v: Array) -> Callable[[float | Array], tuple[Array, Array]]:
        """Numbers c and s with exp(x, t v) = c x + s v, as a function of t."""
        v2 = self._dot(v, v)
        renew = self._renewal(x)
        moving = surely(v2)
        speed = safe_sqrt(v2) if moving else v2

        def numbers(t: float | Array) -> tuple[Array, Array]:
            if moving and isinstance(t, float) and t:  # nothing to mask: half the time
                c, s = cos_sin(speed if t == 1.0 else t * speed)
                return c * renew, s / speed
            angle2 = t * t * v2
            c, s = cos_sinc(angle2)
            return at_zero(angle2, c, c * renew), s * t  # exp(x, 0) is x to the last bit

        return numbers

    def _flat(self, a: Array) -> Array:
        return a if len(self.shape) == 1 else _flat(len(self.shape), a)

    def _length(self, u: Array) -> Array:
        return safe_sqrt(self._dot(u, u))

    def _times(self, a: Array, u: Array) -> Array:
        return expand(a, len(self.shape)) * u

    def _combined(self, by: tuple[Array, Array], x: Array, v: Array) -> Array:
        return combine(by[0], x, by[1], v, len(self.shape))

    def _divide(self, u: Array, a: Array) -> Array:
        return u / expand(a, len(self.shape))

    def _reflection(self, x: Array) -> tuple[Array, Array]:
        """Basis at x: the Householder reflection that maps the last axis to ±x.

        Returns the sign of x's last entry and 1 + its size, which never cancels.
        """
        xp = namespace(x)
        sign = xp.where(x[..., -1:] < 0, -xp.ones_like(x[..., -1:]), xp.ones_like(x[..., -1:]))
        return sign, 1 + xp.abs(x[..., -1])

    def __repr__(self) -> str:
        return f"Sphere({', '.join(map(str, self.shape))})"


def _projected(x: Array, g: Array) -> Array:
    """The unit vector along the part of g that is tangent at x, for one pair of vectors.

    Overwrites g.
    """
    dot = blas.dot
    a, g2 = dot(x, g), dot(g, g)
    rest = g2 - a * a  # |g - a x|²
    if rest < 0.5 * g2:  # a difference that cancels
        blas.axpy(x, g, g.size, -a)
        a, rest = 0.0, dot(g, g)
    r = 1 / math.sqrt(rest)
    return blas.axpy(x, blas.scal(r, g), g.size, -r * a)


def _turn(x: Array, angle: float) -> tuple[float, float]:
    """Numbers c and s with exp(x, v) = c x + s v, for one vector v of length ``angle``."""
    if not angle:
        return 1.0, 1.0
    return math.cos(angle) * (1.5 - 0.5 * blas.dot(x, x)), math.sin(angle) / angle


def _flat(axes: int, a: Array) -> Array:
    return namespace(a).reshape(a, (*a.shape[: a.ndim - axes], -1))


def _dot(axes: int, u: Array, v: Array) -> Array:
    return dot(_flat(axes, u), _flat(axes, v))


def _atan2(a: Array, b: Array) -> Array:
    return math.atan2(a, b) if isinstance(a, float) else namespace(a).atan2(a, b)
