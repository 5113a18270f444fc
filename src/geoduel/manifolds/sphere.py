"""The unit sphere."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._numerics.arrays import (
    Array,
    at_zero,
    blas,
    cos_sinc,
    dot,
    eps,
    expand,
    fails,
    namespace,
    normal,
    safe_sqrt,
    settled,
    surely,
    tangent_if_short,
    top,
    vectors,
    where,
)
from .._support.check import as_generator, positive_shape
from ..errors import ArgumentError, NotOnManifoldError
from ._border import Seed, name_misfits, own_border
from .base import Manifold

__all__ = ["Sphere", "directions"]


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
    >>> round(float(sphere.dist(x, y)), 12)  # a quarter of a great circle
    1.570796326795
    >>> sphere.exp(x, np.pi * y)  # half a great circle leads to the antipode
    array([-1.0000000e+00,  1.2246468e-16,  0.0000000e+00])
    """

    shape: tuple[int, ...]

    def __init__(self, *shape: int) -> None:
        shape = positive_shape(shape, "Sphere")
        if math.prod(shape) < 2:
            raise ArgumentError(f"Sphere needs at least 2 entries (a circle), got shape {shape}")
        object.__setattr__(self, "shape", shape)

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
    def bounded(self) -> bool:
        return True

    @property
    def typical_dist(self) -> float:
        return math.pi / 2

    # -- metric ----------------------------------------------------------------------------------

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return self._dot(u, v)

    def dist(self, x: Array, y: Array) -> Array:
        if (angle := fast_angle(self._dot(x, y))) is not None:
            return angle
        far, _, m, _ = self._chord(x, y)
        return self._angle(far, m)

    # -- geodesics -------------------------------------------------------------------------------

    @own_border
    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        if vectors(x, v) and x.shape == self.shape:
            return fast_geodesic(self, x, v)
        x, v = self.pack(x, "x"), self.pack(v, "v")
        if x.ndim > len(self.shape) and x.shape != v.shape:
            name_misfits(self, None, x=x, v=v)
        return self._geodesic(x, v)

    def _geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        v2 = self._dot(v, v)
        if top(v2) == math.inf:
            return self._far_geodesic(x, v)
        # Rounding drifts off the sphere like a random walk; 1/|x|, by a Newton step, pulls back.
        renew = 1.5 - 0.5 * self._dot(x, x)

        def point(t: float | Array) -> Array:
            angle2 = t * t * v2
            c, s = cos_sinc(angle2)
            c = at_zero(angle2, c, c * renew)  # exp(x, 0) is x to the last bit
            return self._times(c, x) + self._times(s * t, v)

        return point

    def _far_geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        """The geodesic of vectors whose squares overflow."""
        v, speed = self._unit(v)

        def point(t: float | Array) -> Array:
            xp = namespace(x, v)
            angle = t * speed
            return self._times(xp.cos(angle), x) + self._times(xp.sin(angle), v)

        return point

    def _unit(self, v: Array) -> tuple[Array, Array]:
        """Directions and lengths of vectors of any length; zero has the direction zero."""
        xp, flat = namespace(v), self._flat(v)
        size = xp.max(abs(flat), axis=-1)
        v = self._divide(v, xp.where(size == 0, xp.ones_like(size), size))
        length = self._length(v)
        return self._divide(v, xp.where(size == 0, xp.ones_like(size), length)), size * length

    @own_border
    def random_geodesic(self, rng: Seed, x: Array) -> Callable[..., Array]:
        fast = vectors(x, x) and type(rng) is np.random.Generator and type(self) is Sphere
        if fast and x.shape == self.shape:
            return fast_walk(self, rng, x)
        rng, x = as_generator(rng), self.pack(x)
        if type(self).unit_tangent is not Sphere.unit_tangent:  # a subclass has its own directions
            return super().random_geodesic(rng, x)
        if vectors(x, x):
            return fast_walk(self, rng, x)
        # The direction is of length 1, and its product with x zero: less to compute than for a v.
        xp = namespace(x)
        u, x2 = _across(self._flat(x), self._flat(normal(rng, tuple(x.shape), x)))
        u, renew = xp.reshape(u, x.shape), 1.5 - 0.5 * x2

        def point(t: float | Array) -> Array:
            c, s = (math.cos(t), math.sin(t)) if isinstance(t, float) else (xp.cos(t), xp.sin(t))
            return self._times(at_zero(t, 1.0, c * renew), x) + self._times(s, u)

        return point

    def log(self, x: Array, y: Array) -> Array:
        far, chord, m, radial = self._chord(x, y)
        # With z = ±y as there, chord + radial x is the tangential part of z, and sin its length.
        same, sin = m == 0, safe_sqrt(m * (1 - m / 4))
        ratio = where(same, 1.0, self._angle(far, m) / where(same, 1.0, sin))
        ratio = where(far, -ratio, ratio)
        v = self._times(ratio, chord) + self._times(ratio * radial, x)
        return self.mark_cut_locus(same & far, v, x, y)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        plus = x + y
        p = self._dot(plus, plus)
        opposite = p == 0
        ratio = 2 * self._dot(y, v) / where(opposite, 1.0, p)
        return self.mark_cut_locus(opposite, v - self._times(ratio, plus), x, y)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        # In the plane of x and v the transport is the rotation of the geodesic; outside, identity.
        t2 = self._dot(v, v)
        if top(t2) == math.inf:
            xp, (v, angle) = namespace(v), self._unit(v)
            aside = self._times(1 - xp.cos(angle), v) + self._times(xp.sin(angle), x)
            return w - self._times(self._dot(v, w), aside)
        _, s = cos_sinc(t2)
        half = cos_sinc(t2 / 4)[1]
        vw = self._dot(v, w)
        return w - self._times(s * vw, x) - self._times(half * half / 2 * vw, v)

    # -- coordinates -----------------------------------------------------------------------------

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
        along = expand(dot(head, c), 1)
        front = c - along / expand(last, 1) * head
        v = xp.concat([front, -sign * along], axis=-1)
        return v if len(self.shape) == 1 else xp.reshape(v, (*v.shape[:-1], *self.shape))

    def unit_tangent(self, rng: Seed, x: Array, batch: tuple[int, ...] = ()) -> Array:
        u = directions(rng, self._flat(x), batch)
        return u if len(self.shape) == 1 else namespace(x).reshape(u, (*batch, *x.shape))

    # -- between the ambient space and the manifold ----------------------------------------------

    def to_tangent(self, x: Array, a: Array) -> Array:
        # The division by <x, x> matters: an x longer than 1 by rounding would leave a radial part
        # of <x, a> times that excess. Where a is large, this part grows from step to step.
        return a - self._times(self._dot(x, a) / self._dot(x, x), x)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return self.to_tangent(x, g)

    def to_manifold(self, a: Array) -> Array:
        xp = namespace(a)
        # Dividing by the largest entry first keeps the squares from under- and overflowing.
        flat = self._flat(a)
        size = xp.max(xp.abs(flat), axis=-1)
        if fails((size > 0) & xp.isfinite(size)):
            raise NotOnManifoldError(f"to_manifold on {self}: zero or not finite, so no direction")
        a = self._divide(a, size)
        return self._divide(a, self._length(a))

    def origin(self) -> Array:
        """The first unit vector."""
        return np.eye(1, math.prod(self.shape)).reshape(self.shape)

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
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

    def _chord(self, x: Array, y: Array) -> tuple[Array, Array, Array, Array]:
        """Whether -y is nearer to x than y; z - x, where z is the nearer of the two; |z - x|²; r.

        The angle between x and z is at most a right one, and the chord z - x has its digits however
        small it is. So nothing cancels, neither near x nor near the antipode. The chord and r x
        add up to a tangent vector, of length sin of the angle.
        """
        chord = y - x
        m = self._dot(chord, chord)
        far = m > 2
        if not surely(m <= 2):  # else no copy of all points is needed
            chord = where(expand(far, len(self.shape)), -y - x, chord)
            m = self._dot(chord, chord)
        radial = m / 2
        if not surely(long := m >= 16 * eps(x)):
            # A short chord is also what rounding makes the points differ in length: without that.
            chord = tangent_if_short(x, chord, m, len(self.shape), self.to_tangent)
            m = where(long, m, self._dot(chord, chord))
            radial = where(long, radial, 0 * m)
        return far, chord, m, radial

    def _angle(self, far: Array, m: Array) -> Array:
        """Angle between x and y, from the squared length of the `_chord`."""
        half = safe_sqrt(m) / 2
        if isinstance(half, float):  # longer than 1 if a point is none
            angle = 2 * math.asin(half) if half <= 1 else math.nan
        else:
            angle = 2 * namespace(half).asin(half)
        return where(far, math.pi - angle, angle)

    def _flat(self, a: Array) -> Array:
        axes = len(self.shape)
        if axes == 1:
            return a
        size = math.prod(a.shape[a.ndim - axes :])
        return namespace(a).reshape(a, (*a.shape[: a.ndim - axes], size))

    def _dot(self, u: Array, v: Array) -> Array:
        return dot(self._flat(u), self._flat(v))

    def _length(self, u: Array) -> Array:
        return safe_sqrt(self._dot(u, u))

    def _times(self, a: Array, u: Array) -> Array:
        return expand(a, len(self.shape)) * u

    def _divide(self, u: Array, a: Array) -> Array:
        return u / expand(a, len(self.shape))

    def _reflection(self, x: Array) -> tuple[Array, Array]:
        """Basis at x: the Householder reflection that maps the last axis to ±x.

        Returns the sign of x's last entry and 1 + its size, which never cancels.
        """
        xp, last = namespace(x), x[..., -1:]
        sign = xp.copysign(xp.ones_like(last), last + 0.0)  # + 0.0: that of -0.0 is 1, too
        return sign, 1 + xp.abs(x[..., -1])

    def __repr__(self) -> str:
        return f"Sphere({', '.join(map(str, self.shape))})"


# -- unit tangent vectors --------------------------------------------------------------------------


def directions(rng: np.random.Generator, x: Array, batch: tuple[int, ...] = ()) -> Array:
    """`Sphere.unit_tangent` at vectors."""
    if not batch and vectors(x, x):
        return fast_unit_tangent(rng, x)[0]
    # The metric is the ambient one, so a projected Gaussian is uniform and needs no basis.
    return _across(x, normal(rng, (*batch, *x.shape), x))[0]


def _across(x: Array, g: Array) -> tuple[Array, Array]:
    """Directions across the vectors x, of length 1, from fresh Gaussian vectors g; and <x, x>."""
    x2, n = dot(x, x), x.shape[-1]
    if n == 2:  # of the two directions, the one on the side of g: nothing cancels
        turned = namespace(x).stack([-x[..., 1], x[..., 0]], axis=-1)
        inverse = namespace(x).copysign(1 / safe_sqrt(x2), dot(turned, g))
        return expand(inverse, 1) * turned, x2
    # The division matters: else what x lacks of length 1 would grow from step to step.
    u = g - expand(dot(x, g) / x2, 1) * x
    u, square = settled(x, u, n / 512, _project, dot)
    return u / expand(safe_sqrt(square), 1), x2


def _project(x: Array, a: Array) -> Array:
    return a - expand(dot(x, a) / dot(x, x), 1) * x


def fast_unit_tangent(rng: np.random.Generator, x: np.ndarray) -> tuple[np.ndarray, float]:
    """`Sphere.unit_tangent` at one vector by BLAS, and <x, x>."""
    b, g = blas(), rng.standard_normal(x.size)
    x2 = b.ddot(x, x)
    if g.size == 2:
        (p, q), (r, s) = x.tolist(), g.tolist()
        inverse = math.copysign(1 / math.sqrt(x2), p * s - q * r)
        return np.array([-q * inverse, p * inverse]), x2
    along = b.ddot(x, g) / x2
    length = b.dnrm2(b.daxpy(x, g, a=-along))  # in place
    if not -4 * length < along < 4 * length:
        length = b.dnrm2(b.daxpy(x, g, a=-b.ddot(x, g) / x2))
    return b.dscal(1 / length, g), x2


def fast_walk(sphere: Sphere, rng: np.random.Generator, x: np.ndarray) -> Callable[..., Array]:
    """`Sphere.random_geodesic` from one vector: RDNGD takes two thirds as long."""
    u, x2 = fast_unit_tangent(rng, x)
    renew, rotate = 1.5 - 0.5 * x2, blas().drot

    def point(t: float | Array) -> Array:
        if not isinstance(t, float):
            return sphere.geodesic(x, u)(t)
        return rotate(x, u, math.cos(t) * renew, math.sin(t))[0] if t else x.copy()

    return point


def fast_geodesic(sphere: Sphere, x: np.ndarray, v: np.ndarray) -> Callable[..., Array]:
    """`Sphere.geodesic` from one vector, by BLAS: in half the time."""
    b = blas()
    speed = b.dnrm2(v)
    if not speed < math.inf:
        return lambda t: x + np.nan * expand(t, 1) * v

    def point(t: float | Array) -> Array:
        if not isinstance(t, float):
            return sphere._geodesic(x, v)(t)
        if not (angle := t * speed):
            return x + t * v
        y = b.drot(x, v, math.cos(angle), math.sin(angle) / speed)[0]
        return b.dscal(1.5 - 0.5 * b.ddot(y, y), y)

    return point


def fast_angle(cosine: Array) -> Array | None:
    """Angles from their cosines, in one pass; None unless all are far from 0 and π.

    The error of a cosine up to 0.8 is at most 5/3 of it in the angle.
    """
    if not surely(abs(cosine) < 0.8):
        return None
    return math.acos(cosine) if isinstance(cosine, float) else np.acos(cosine)
