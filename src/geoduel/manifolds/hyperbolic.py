"""Hyperbolic space: the hyperboloid, with the Poincare ball beside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._numerics.arrays import (
    Array,
    at_zero,
    cosh_sinhc,
    dot,
    eps,
    expand,
    fails,
    namespace,
    normal,
    safe_sqrt,
    surely,
    top,
    vectors,
    where,
)
from .._support.check import positive_int
from ..errors import ArgumentError, NotOnManifoldError, OutOfRangeError
from . import _far_out as far_out
from ._border import Seed, as_array
from .base import Manifold

__all__ = ["Hyperbolic"]


@dataclass(frozen=True)
class Hyperbolic(Manifold):
    """Hyperbolic space Hⁿ of curvature -1, as the upper sheet of the hyperboloid.

    Point         (n + 1,), time coordinate first: x = (x₀, xₛ) with x₀ = √(1 + |xₛ|²).
    Tangent       (n + 1,), v with <x, v>_L = 0, where <u, v>_L = -u₀v₀ + uₛ·vₛ.
    Metric        <u, v>_L, positive on tangents;  exp_x(v) = cosh|v| x + sinh|v| v/|v|.
    Dimension     n;  curvature -1;  injectivity radius ∞.
    Source        Ratcliffe, Foundations of Hyperbolic Manifolds (2019), chapters 3, 4 and 6.

    The spatial part is a global chart and carries the numbers: a point's time coordinate is
    computed from it, so points stay on the sheet for ever. Lengths are measured after the boost
    that moves x to the apex (1, 0), where the metric is the dot product. So no square is ever
    negative. Distances, logarithms, inner products and transport are right to rounding for the
    spatial entries as they are stored. That holds at every radius that floats hold, 709 for float64
    and 89 for float32. At radius r floats hold the place of a point, and vectors, to eʳ rounding
    units, no better. A geodesic that ends beyond what floats hold is refused by an error.

    `to_poincare` gives the same point in the Poincare ball, `to_poincare_tangent` the same vector;
    the `from_` functions lead back. The ball takes its metric from here: 4 |u|² / (1 - |p|²)².

    Parameters
    ----------
    n : int
        Dimension, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> plane = Hyperbolic(2)
    >>> apex = np.array([1.0, 0.0, 0.0])
    >>> y = plane.exp(apex, np.array([0.0, 2.0, 0.0]))
    >>> round(float(plane.dist(apex, y)), 12)
    2.0
    >>> plane.to_poincare(y).round(6)  # tanh(2/2) of the radius
    array([0.761594, 0.      ])
    """

    n: int

    def __post_init__(self) -> None:
        positive_int(self.n, "Hyperbolic n")

    @property
    def dim(self) -> int:
        return self.n

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.n + 1,)

    @property
    def curvature(self) -> tuple[float, float]:
        return (-1.0, -1.0)

    @property
    def injectivity_radius(self) -> float:
        return math.inf

    @property
    def typical_dist(self) -> float:
        return math.asinh(math.sqrt(self.n))  # of a random point from the apex

    # Intermediate vectors keep a time entry that is not used: whole arrays are faster than slices.

    # -- metric ----------------------------------------------------------------------------------

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        if _is_far(x, _time(x)):
            a = self.to_coords(x, u)
            return dot(a, a if u is v else self.to_coords(x, v))
        at_apex = _to_apex(x, u)
        return _dot(at_apex, at_apex if u is v else _to_apex(x, v))

    def dist(self, x: Array, y: Array) -> Array:
        times = _times(x, y)
        if _is_far(x, times[2]):
            with np.errstate(all="ignore"):
                p, q = _spatial(x, y)  # the mean of both ways is symmetric to the last bit
                return _as(x, 0.5 * (far_out.pair(p, q).d + far_out.pair(q, p).d))
        *_, q = _pair(x, y, times)
        return _arc(q)[0]

    # -- geodesics -------------------------------------------------------------------------------

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        if _is_far(x, _time(x)):
            return lambda t: self._far_point(x, v, t)
        at_apex = _to_apex(x, v)
        if vectors(x, v):
            longest = v2 = _dot(at_apex, at_apex)
        else:
            with np.errstate(over="ignore", under="ignore"):
                v2 = _dot(at_apex, at_apex)
            longest = top(v2)

        def point(t: float | Array) -> Array:
            length2 = t * t * v2
            if not (t * t * longest if isinstance(t, float) else top(length2)) < _LONG:
                return self._far_point(x, v, t)
            c, s = cosh_sinhc(length2)
            y = expand(c, 1) * x + expand(s * t, 1) * v
            # The time entry of y itself, at zero: exp(x, 0) is x to the last bit.
            return _with_time(at_zero(length2, _time(y), safe_sqrt(1 + _dot(y, y))), y)

        return point

    def room(self, x: Array) -> float:
        """Distance to where a fifth of the digits of the dtype are left."""
        farthest = float(namespace(x).max(x[..., 0]))  # cosh of the distance from the apex
        room = -0.8 * math.log(eps(x)) - math.acosh(max(1.0, farthest))
        return room if room > 0 else 0.0  # NaN, too

    def log(self, x: Array, y: Array) -> Array:
        times = _times(x, y)
        if _is_far(x, times[2]):
            return self._far_log(x, y)
        # The part of y that is tangent at x is y - cosh(d) x, of length sinh(d).
        across, _, q = _pair(x, y, times)
        ratio = _arc_over_sinh(q)
        u = expand(ratio, 1) * across - expand(q / 2 * ratio, 1) * x
        return _with_time(_dot(x, u) / _time(x), u)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        # It is v + ratio (x + y) with ratio = <y, v>_L / (1 + cosh d). Both terms are written in
        # coordinates c at x: they cancel where x is far out and y is not, and rounding must too.
        times = _times(x, y)
        if _is_far(x, times[2]):
            with np.errstate(all="ignore"):
                return self.from_coords(y, _as(x, far_out.carried(*_spatial(x, y, v))))
        across, up, q = _pair(x, y, times)
        above = 1 + times[0]
        c = _to_apex(x, v)
        tangential = across - expand((up + q / 2) / above, 1) * x  # of y, in coordinates
        ratio = _dot(tangential, c) / (2 + q / 2)
        w = c + expand(_dot(x, c) / above + ratio, 1) * x + expand(ratio, 1) * y
        return _with_time(_dot(y, w) / _time(y), w)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        return self.transport(x, self.exp(x, v), w)  # every geodesic is minimising

    # -- coordinates: the boost that moves x to the apex -------------------------------------------

    def to_coords(self, x: Array, v: Array) -> Array:
        if _is_far(x, _time(x)):
            with np.errstate(all="ignore"):
                return _as(x, far_out.coords(*_spatial(x, v)))
        return _to_apex(x, v)[..., 1:]

    def from_coords(self, x: Array, c: Array) -> Array:
        xp = namespace(x, c)
        return _from_apex(x, xp.concat([xp.zeros_like(c[..., :1]), c], axis=-1))

    # -- between the ambient space and the manifold ----------------------------------------------

    def to_tangent(self, x: Array, a: Array) -> Array:
        v = a + expand(_dot(x, a) - _time(x) * _time(a), 1) * x
        return _with_time(_dot(x, v) / _time(x), v)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        # <grad, v>_L = g·v: the sign of time turns, which leaves g·x along x; then project.
        v = g + expand(dot(x, g), 1) * x
        return _with_time(_dot(x, v) / _time(x), v)

    def to_manifold(self, a: Array) -> Array:
        xp = namespace(a)
        if fails(xp.isfinite(a)):
            raise NotOnManifoldError(f"to_manifold on {self}: the array is not finite")
        return _lift(a[..., 1:])

    def origin(self) -> Array:
        """The apex of the hyperboloid."""
        return _lift(np.zeros(self.n))

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Points whose spatial parts have independent standard Gaussian entries."""
        return _lift(normal(rng, (*batch, self.n), like))

    # -- the Poincare ball ------------------------------------------------------------------------

    def to_poincare(self, x: Array) -> Array:
        """Point of the Poincare ball, shape ``(..., n)``: xₛ / (1 + x₀)."""
        x = self.pack(x)
        return x[..., 1:] / (1 + x[..., :1])

    def from_poincare(self, p: Array) -> Array:
        """Point of the hyperboloid from one of the Poincare ball, |p| < 1."""
        p = as_array(p, "p")
        room = self._room(p)
        return _lift(2 / room * p)

    def to_poincare_tangent(self, x: Array, v: Array) -> Array:
        """Tangent vector of the Poincare ball at `to_poincare` of x: the pushforward of ``v``."""
        x = self.pack(x)
        return self.to_coords(x, v) / (1 + x[..., :1])

    def from_poincare_tangent(self, p: Array, u: Array) -> Array:
        """Tangent vector of the hyperboloid at ``from_poincare(p)``, from ``u`` in the ball."""
        x = self.from_poincare(p)
        return self.from_coords(x, (1 + x[..., :1]) * as_array(u, "u"))

    def _room(self, p: Array) -> Array:
        """1 - |p|², or an error that tells how far out p is."""
        xp = namespace(p)
        if tuple(p.shape[-1:]) != (self.n,):
            raise ArgumentError(
                f"p has shape {tuple(p.shape)}, expected (..., {self.n}) in the Poincare ball"
            )
        room = xp.asarray(1 - dot(p, p))[..., None]
        if not bool(xp.all(room > 0)):
            raise NotOnManifoldError(
                f"p is not in the open unit ball: 1 - |p|² is {float(xp.min(room)):.3g}, "
                f"expected > 0"
            )
        return room

    # -- checks ----------------------------------------------------------------------------------

    def point_defect(self, x: Array) -> tuple[str, Array]:
        time = far_out.time(far_out.length(x[..., 1:]))
        return "|x₀ - √(1 + |xₛ|²)| / √(1 + |xₛ|²)", abs(_time(x) - time) / time

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        xp, size = namespace(x, v), far_out.length(v)
        x = x / far_out.length(x)[..., None]
        v = v / xp.where(size == 0, xp.ones_like(size), size)[..., None]
        return "|<x, v>_L| / (|x| |v|)", abs(_dot(x, v) - _time(x) * _time(v))

    # -- far from the apex -------------------------------------------------------------------------

    def _far_point(self, x: Array, v: Array, t: float | Array) -> Array:
        xp = namespace(x, v)
        with np.errstate(all="ignore"):
            wide_x, wide_v = _spatial(x, v)
            y, size = far_out.moved(wide_x, wide_v, t)
            y = _as(x, xp.concat([far_out.time(far_out.length(y))[..., None], y], axis=-1))
            y = xp.where(expand(size == 0, 1), x, y)  # to the last bit
            lost = xp.isfinite(xp.sum(0 * x + 0 * v, axis=-1) + 0 * t)
            lost = lost & ~xp.all(xp.isfinite(y), axis=-1)
        if fails(~lost):
            worst = float(xp.max(xp.where(lost, size, xp.zeros_like(size))))
            raise OutOfRangeError(
                f"v is too long for exp on {self}: a geodesic of length {worst:.6g} from this x "
                f"ends beyond the numbers of {y.dtype}"
            )
        return y

    def _far_log(self, x: Array, y: Array) -> Array:
        xp = namespace(x, y)
        with np.errstate(all="ignore"):
            wide_x, wide_y = _spatial(x, y)
            seen, hat = far_out.pair(wide_x, wide_y), far_out.split(wide_x, wide_y).hat
            length = xp.hypot(far_out.length(seen.across), seen.forth)
            ratio = seen.d / xp.where(length == 0, xp.ones_like(length), length)
            along, size = ratio * seen.forth, far_out.length(wide_x)
            u = expand(ratio, 1) * seen.across
            u = u + expand(along * far_out.time(size), 1) * hat
            return _as(x, xp.concat([(along * size)[..., None], u], axis=-1))

    def __repr__(self) -> str:
        return f"Hyperbolic({self.n})"


def _dot(u: Array, v: Array) -> Array:
    """Dot product of the spatial parts."""
    return dot(u, v, 1)


def _time(x: Array) -> Array:
    """Time coordinate, a plain float for one NumPy point."""
    return float(x[0]) if type(x) is np.ndarray and x.ndim == 1 else x[..., 0]


def _times(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Time coordinates and their sum."""
    x0, y0 = _time(x), _time(y)
    return x0, y0, x0 + y0


def _with_time(time: Array, a: Array) -> Array:
    """Set the time entry of a fresh array: in place, where no gradient needs the old one."""
    if type(a) is np.ndarray:
        a[..., 0] = time
        return a
    return namespace(a).concat([time[..., None], a[..., 1:]], axis=-1)


_FAR = 64.0, 8.0  # time entries of float64 and of others up to which the loss of digits is borne
_LONG = 1600.0  # squared lengths up to 40 lead from there to nothing huge


def _is_far(x: Array, time: Array) -> bool:
    """Whether one of some time entries is so large that formulas for near points lose digits."""
    largest = time if type(time) is float else top(time)
    return largest > _FAR[1] and largest > _FAR[eps(x) > 1e-10]


def _spatial(*arrays: Array) -> list[Array]:
    """Spatial parts, in float64."""
    xp = namespace(*arrays)
    return [xp.astype(a[..., 1:], xp.float64) for a in arrays]


def _as(x: Array, a: Array) -> Array:
    """Numbers in the dtype of x."""
    return a if a.dtype == x.dtype else namespace(a).astype(namespace(a).asarray(a), x.dtype)


def _lift(space: Array) -> Array:
    """Point of the hyperboloid over its spatial part."""
    xp = namespace(space)
    with np.errstate(over="ignore"):
        square = dot(space, space)
    time = xp.asarray(safe_sqrt(1 + square), dtype=space.dtype)
    if top(time) == math.inf:
        time = far_out.time(far_out.length(space))
    return xp.concat([time[..., None], space], axis=-1)


def _to_apex(x: Array, v: Array) -> Array:
    """Boost of the tangent vector v at x to the apex; its time entry is not set."""
    return v - expand(_time(v) / (1 + _time(x)), 1) * x


def _from_apex(x: Array, c: Array) -> Array:
    """Boost of a vector at the apex, whose time entry does not matter, to a tangent vector at x."""
    time = _dot(x, c)
    return _with_time(time, c + expand(time / (1 + _time(x)), 1) * x)


def _pair(x: Array, y: Array, times: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Return y - x, its time entry y₀ - x₀ apart, and q = |y - x|²_L = 4 sinh²(d/2).

    q is |p - r|² (1 + x₀) (1 + y₀) for the points p, r of the Poincare ball. Written with the
    difference of x and y, and the point nearer the apex beside it, nothing cancels at any distance.
    """
    x0, y0, total = times
    across = y - x
    up = _dot(across, x + y) / total
    x_nearer = x0 <= y0
    if isinstance(x_nearer, np.ndarray):
        # One stack for all is as good, unless a point is much farther out: no copy is needed.
        whole = bool(up.sum() >= 0)
        if surely(x0 <= 4 * y0 if whole else y0 <= 4 * x0):
            x_nearer = whole
    near, far = where(x_nearer, x0, y0), where(x_nearer, y0, x0)
    moved = across - expand(up / (1 + near), 1) * where(expand(x_nearer, 1), x, y)
    return across, up, _dot(moved, moved) * ((1 + near) / (1 + far))


def _arc(q: Array) -> tuple[Array, Array]:
    """``d`` and ``sinh d`` from q = 4 sinh²(d/2)."""
    versine = q / 2  # cosh d - 1
    sinh = safe_sqrt(versine) * safe_sqrt(2 + versine)  # the product would overflow far out
    e = versine + sinh  # e^d - 1
    return math.log1p(e) if isinstance(e, float) else namespace(e).log1p(e), sinh


def _arc_over_sinh(q: Array) -> Array:
    """Ratio d / sinh(d) from q = 4 sinh²(d/2), smooth at zero."""
    zero = q == 0
    arc, sinh = _arc(where(zero, 1.0, q))
    return where(zero, 1 - q / 6, arc / sinh)
