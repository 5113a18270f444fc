"""The unit sphere."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from .._numerics.arrays import (
    BLOCK,
    Array,
    arc_over_sin,
    at_zero,
    blas,
    combine,
    combine_both,
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
from .._support.check import positive_shape
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
        if type(x) is np.ndarray and x.size > BLOCK and self._begins_near(x, y):
            return self._dist_by_chords(x, y)
        c = self._dot(x, y)
        if isinstance(c, float):
            if abs(c) < _MIDDLE:
                return math.acos(c)
            if c > 0:
                return 2 * math.asin(self._length(x - y) / 2)
        elif isinstance(c, np.ndarray):
            good = abs(c) < _MIDDLE
            if surely(good):
                return np.acos(c)
            if _mostly(good):
                return self._dist_mostly(np.acos, c, good, x, y)
            return self._dist_by_chords(x, y)
        return self._dist_everywhere(x, y)

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        if vectors(x, v):
            return self._great_circle(x, v, blas.nrm2(v))
        arc = self._arc(x, v)
        return lambda t: self._combined(arc(t), x, v)

    def exp(self, x: Array, v: Array) -> Array:
        if not vectors(x, v):
            return self._combined(self._arc(x, v)(1.0), x, v)
        # Written out, here and in `exp_pair`: calls of our own would take a tenth of the time.
        angle = blas.nrm2(v)
        if not angle:
            return x.copy()
        c = math.cos(angle) * (1.5 - 0.5 * blas.dot(x, x))
        return blas.rot(x, v, c, math.sin(angle) / angle)[0]

    def exp_pair(self, x: Array, v: Array) -> tuple[Array, Array]:
        if vectors(x, v):
            angle = blas.nrm2(v)
            if not angle:
                return x.copy(), x.copy()
            c = math.cos(angle) * (1.5 - 0.5 * blas.dot(x, x))
            # With w = -s/c v the two are c x - c w and c w + c x, what BLAS calls a rotation.
            return blas.rot(x, blas.scal(-math.sin(angle) / (angle * c), v.copy()), c, -c)
        c, s = self._arc(x, v)(1.0)
        return combine_both(c, x, s, v, len(self.shape))

    def log(self, x: Array, y: Array) -> Array:
        minus = x - y
        m = self._dot(minus, minus)
        near = m < _FAR
        if surely(near):
            return self._log_near(x, minus, m)
        if _mostly(near):
            m, far = np.where(near, m, 1.0), ~near
            return _replace(self._log_near(x, minus, m), far, self._log_everywhere, x, y)
        return self._log_everywhere(x, y)

    def _log_near(self, x: Array, minus: Array, m: Array) -> Array:
        ratio = arc_over_sin(m)
        return self._combined((m / 2 * ratio, -ratio), x, minus, spend=True)

    def _log_everywhere(self, x: Array, y: Array) -> Array:
        minus, plus = x - y, x + y
        m, p = self._dot(minus, minus), self._dot(plus, plus)
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
        return self.mark_cut_locus(zero & (m > p), self._times(scale, u), x, y)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        plus = x + y
        p = self._dot(plus, plus)
        opposite = p == 0
        ratio = 2 * self._dot(y, v) / where(opposite, 1.0, p)
        moved = self._combined((1.0, -ratio), v, plus, spend=True)
        return self.mark_cut_locus(opposite, moved, x, y)

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
            return self._combined((-r * a, r), x, g, spend=True)
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

    def point_defect(self, x: Array) -> tuple[str, Array]:
        return "| |x| - 1 |", abs(self._length(x) - 1)

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
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

    def _combined(self, by: tuple[Array, Array], x: Array, v: Array, spend: bool = False) -> Array:
        return combine(by[0], x, by[1], v, len(self.shape), spend)

    def _begins_near(self, x: np.ndarray, y: Array) -> bool:
        """Whether the arccosine does not suit the first pair of two stacks."""
        if x.ndim == len(self.shape) or x.shape != y.shape:
            return False
        return bool(abs(self._dot(x[:1], y[:1]).flat[0]) >= _MIDDLE)

    def _dist_by_chords(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        minus = x - y
        m = self._dot(minus, minus)
        return self._dist_mostly(_angle_of_chord, m, m < _FAR, x, y)

    def _dist_mostly(
        self,
        f: Callable[[np.ndarray], np.ndarray],
        a: np.ndarray,
        good: np.ndarray,
        x: np.ndarray,
        y: np.ndarray,
    ) -> np.ndarray:
        """Distances ``f(a)``, but for the exceptions to what is good to rounding."""
        if surely(good):
            return f(a)
        return _replace(f(np.where(good, a, 0.5)), ~good, self._dist_everywhere, x, y)

    def _dist_everywhere(self, x: Array, y: Array) -> Array:
        return 2 * _atan2(self._length(x - y), self._length(x + y))

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


_MIDDLE = 0.8  # cosine, up to which its error is not above 5/3 of it in the angle
_FAR = 3.0  # squared chord of 120 degrees, up to which the same holds for the arcsine


def _angle_of_chord(m: np.ndarray) -> np.ndarray:
    return 2 * np.asin(0.5 * np.sqrt(m))


def _mostly(good: Array) -> bool:
    """Whether a condition holds for most of a NumPy stack, so that exceptions are worth a mask."""
    return isinstance(good, np.ndarray) and bool(2 * np.count_nonzero(good) > good.size)


def _replace(
    values: np.ndarray,
    exceptions: np.ndarray,
    f: Callable[[np.ndarray, np.ndarray], np.ndarray],
    x: np.ndarray,
    y: np.ndarray,
) -> np.ndarray:
    """Set some of the values, one a problem, to what ``f`` says."""
    places = np.nonzero(exceptions)
    x, y = np.broadcast_arrays(x, y)
    values[places] = f(x[places], y[places])
    return values


def _flat(axes: int, a: Array) -> Array:
    return namespace(a).reshape(a, (*a.shape[: a.ndim - axes], -1))


def _dot(axes: int, u: Array, v: Array) -> Array:
    return dot(_flat(axes, u), _flat(axes, v))


def _atan2(a: Array, b: Array) -> Array:
    return math.atan2(a, b) if isinstance(a, float) else namespace(a).atan2(a, b)
