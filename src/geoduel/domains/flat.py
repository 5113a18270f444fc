"""Sets in Euclidean space: boxes, balls of two norms, the probability simplex."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._numerics.arrays import Array, copied, device, host, namespace
from .._numerics.batches import as_like, bounds_like
from .._support.check import as_generator, positive, positive_int, real
from ..errors import ArgumentError, EmptySetError
from ..manifolds._border import Seed
from ..manifolds.base import Manifold
from ..manifolds.euclidean import Euclidean
from .ball import Ball
from .base import Domain, tolerance_of

__all__ = ["Box", "L1Ball", "L2Ball", "ProbabilitySimplex"]


@dataclass(frozen=True, eq=False)
class Box(Domain):
    """Box {z : lower <= z <= upper} in Euclidean space, entry by entry.

    Projection clips, the linear minimiser is the corner against h, the diameter is the diagonal.

    Parameters
    ----------
    lower, upper : array or number
        Bounds; at least one is an array, the other broadcasts. They may be infinite, then there is
        no linear minimiser.

    Raises
    ------
    EmptySetError
        If a lower bound is above its upper bound.

    Examples
    --------
    >>> import numpy as np
    >>> box = Box(np.zeros(2), np.array([1.0, 2.0]))
    >>> box.project(np.array([-3.0, 1.5]))
    array([0. , 1.5])
    >>> box.linear_minimizer(np.zeros(2), np.array([1.0, -1.0]))
    array([0., 2.])
    """

    lower: Array
    upper: Array
    manifold: Manifold = field(init=False, repr=False)

    def __post_init__(self) -> None:
        lower, upper = _vector(self.lower, "lower"), _vector(self.upper, "upper")
        if lower.ndim == upper.ndim == 0:
            raise ArgumentError("lower and upper are both numbers: one must be an array")
        like = lower if lower.ndim else upper
        xp = namespace(like)
        try:
            lower, upper = xp.broadcast_arrays(as_like(lower, like), as_like(upper, like))
        except (ValueError, RuntimeError):
            raise ArgumentError(
                f"lower of shape {tuple(lower.shape)} and upper of shape {tuple(upper.shape)} "
                "do not broadcast"
            ) from None
        if bool(xp.any(lower > upper)):
            raise EmptySetError(
                f"lower exceeds upper by {float(xp.max(lower - upper)):.6g}: the box is empty"
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "manifold", Euclidean(*lower.shape))

    @property
    def diameter(self) -> float:
        """Length of the diagonal, exact; infinite for an unbounded box."""
        return float(namespace(self.lower).sum((self.upper - self.lower) ** 2)) ** 0.5

    def contains(self, x: Array, tol: float | None = None) -> Array:
        x = self._check(x, "x")
        xp, tol = namespace(x), tolerance_of(tol, x)
        lower, upper = bounds_like(self.lower, self.upper, x)
        inside = (x >= lower - tol) & (x <= upper + tol)
        return xp.all(inside, axis=tuple(range(-len(self.manifold.point_shape), 0)))

    def project(self, y: Array) -> Array:
        y = self._check(y, "y")
        xp = namespace(y)
        lower, upper = bounds_like(self.lower, self.upper, y)
        return xp.minimum(xp.maximum(y, lower), upper)

    def random_point(self, rng: Seed = None, like: Array = None) -> Array:
        """Uniform between finite bounds; normal inwards from a bound alone, and without any."""
        rng, low, high = as_generator(rng), host(self.lower), host(self.upper)
        share, off = rng.random(low.shape), rng.standard_normal(low.shape)
        one, other = np.isfinite(low), np.isfinite(high)
        inwards = np.where(one, low + abs(off), np.where(other, high - abs(off), off))
        low, high = (np.where(one & other, a, 0.0) for a in (low, high))
        x = np.where(one & other, (1 - share) * low + share * high, inwards)
        return self.project(x if like is None else as_like(x, like))

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        x = self._check(x, "x")
        h = self._check(h, "h")
        if math.isinf(self.diameter):
            raise ArgumentError(
                "linear_minimizer needs a bounded box; this one has infinite bounds"
            )
        xp = namespace(x, h)
        lower, upper = bounds_like(self.lower, self.upper, h)
        corner = xp.where(h > 0, lower, upper)
        return xp.where(h == 0, self.project(x), corner)

    def __repr__(self) -> str:
        return f"Box({self.manifold})"


def _vector(a: object, name: str) -> Array:
    """A floating-point array with the numbers of ``a``, a copy, NaN refused."""
    array: Any = a if hasattr(a, "dtype") else np.asarray(a)
    xp = namespace(array)
    if not xp.isdtype(array.dtype, "numeric"):
        raise ArgumentError(f"{name} must hold real numbers, got {array.dtype}")
    if not xp.isdtype(array.dtype, "real floating"):
        array = xp.astype(array, xp.float64)
    if bool(xp.any(xp.isnan(array))):
        raise ArgumentError(f"{name} holds NaN")
    return copied(array)


def L2Ball(n: int, radius: float, center: Array | None = None) -> Ball:
    """Ball of R^n in the Euclidean norm: ``Ball(Euclidean(n), center, radius)``.

    Parameters
    ----------
    n : int
        Dimension.
    radius : float
        Radius, >= 0.
    center : array of shape (..., n), optional
        Centre, by default the origin.

    Examples
    --------
    >>> import numpy as np
    >>> L2Ball(2, 5.0).project(np.array([6.0, 8.0]))
    array([3., 4.])
    """
    n = positive_int(n, "n")
    return Ball(Euclidean(n), np.zeros(n) if center is None else _vector(center, "center"), radius)


@dataclass(frozen=True, eq=False)
class L1Ball(Domain):
    """Ball {z : |z - c|₁ <= r} of R^n in the sum norm; diameter 2 r.

    Projection sorts (Duchi et al., ICML 2008) and is exact; the linear minimiser is the vertex
    against the largest entry of h.

    Parameters
    ----------
    n : int
        Dimension.
    radius : float
        Radius r >= 0 in the sum norm.
    center : array of shape (..., n), optional
        Centre c, by default the origin.

    Raises
    ------
    EmptySetError
        If the radius is negative.

    Examples
    --------
    >>> import numpy as np
    >>> ball = L1Ball(3, 1.0)
    >>> ball.project(np.array([2.0, -1.5, 0.1]))
    array([ 0.75, -0.25,  0.  ])
    >>> ball.linear_minimizer(np.zeros(3), np.array([1.0, -3.0, 2.0])) + 0.0
    array([0., 1., 0.])
    """

    n: int
    radius: float
    center: Array = None
    manifold: Manifold = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "manifold", Euclidean(positive_int(self.n, "n")))
        radius = real(self.radius, "radius")
        if radius < 0:
            raise EmptySetError(f"radius must be >= 0 or the ball is empty, got {self.radius!r}")
        center = np.zeros(self.n) if self.center is None else _vector(self.center, "center")
        self.manifold.check_point(center, "center")
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "center", center)

    @property
    def diameter(self) -> float:
        """Distance of opposite vertices, exact."""
        return 2 * self.radius

    def contains(self, x: Array, tol: float | None = None) -> Array:
        x = self._check(x, "x")
        return self.violation(x) <= tolerance_of(tol, x)

    def project(self, y: Array) -> Array:
        y = self._check(y, "y")
        xp, center = namespace(y), as_like(self.center, y)
        offset = y - center
        size = abs(offset)
        inside = xp.sum(size, axis=-1, keepdims=True) <= self.radius
        # From the largest on, so that no digit of the centre is lost in entries far larger.
        sign, top = xp.sign(offset), xp.argmax(size, axis=-1, keepdims=True)
        size = _less_that_at(top, sign * y) - _less_that_at(top, sign * center)
        near = center + sign * _nearest_on_simplex(size, self.radius)
        return xp.where(inside, y, near)

    def random_point(self, rng: Seed = None, like: Array = None) -> Array:
        """Uniform: sizes are entries of a point of a simplex of one dimension more."""
        rng, center = as_generator(rng), host(self.center)
        shape = center.shape[:-1]
        offset = self.radius * rng.dirichlet(np.ones(self.n + 1), shape)[..., :-1]
        x = center + offset * rng.choice([-1.0, 1.0], (*shape, self.n))
        return self.project(x if like is None else as_like(x, like))

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        x = self._check(x, "x")
        h = self._check(h, "h")
        xp = namespace(x, h)
        top = xp.argmax(abs(h), axis=-1, keepdims=True)
        vertex = as_like(self.center, h) - self.radius * xp.sign(h) * _entry(top, h)
        still = xp.all(h == 0, axis=-1, keepdims=True)
        return xp.where(still, self.project(x), vertex)

    def __repr__(self) -> str:
        return f"L1Ball({self.n}, radius={self.radius!r})"


@dataclass(frozen=True, eq=False)
class ProbabilitySimplex(Domain):
    """Simplex {z : z >= 0, sum z = scale} of R^n, with the Euclidean metric.

    With the Fisher-Rao metric its interior is a manifold, `Simplex`. Projection sorts and is exact;
    the linear minimiser is the vertex at the least entry of h; the diameter is √2 scale.

    Parameters
    ----------
    n : int
        Number of entries.
    scale : float
        Sum of the entries, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> simplex = ProbabilitySimplex(3)
    >>> simplex.project(np.array([1.0, 0.5, -2.0]))
    array([0.75, 0.25, 0.  ])
    >>> simplex.linear_minimizer(np.ones(3) / 3, np.array([1.0, 3.0, 0.5]))
    array([0., 0., 1.])
    """

    n: int
    scale: float = 1.0
    manifold: Manifold = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "manifold", Euclidean(positive_int(self.n, "n")))
        object.__setattr__(self, "scale", positive(self.scale, "scale"))

    @property
    def diameter(self) -> float:
        """Distance of two vertices, exact."""
        return math.sqrt(2) * self.scale if self.n > 1 else 0.0

    def contains(self, x: Array, tol: float | None = None) -> Array:
        x = self._check(x, "x")
        return self.violation(x) <= tolerance_of(tol, x)

    def project(self, y: Array) -> Array:
        y = self._check(y, "y")
        return _nearest_on_simplex(y, self.scale)

    def random_point(self, rng: Seed = None, like: Array = None) -> Array:
        """Uniform."""
        x = self.scale * as_generator(rng).dirichlet(np.ones(self.n))
        return self.project(x if like is None else as_like(x, like))

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        x = self._check(x, "x")
        h = self._check(h, "h")
        xp = namespace(x, h)
        least = xp.argmin(h, axis=-1, keepdims=True)
        vertex = xp.astype(_entry(least, h), h.dtype) * self.scale
        still = xp.all(h == h[..., :1], axis=-1, keepdims=True)
        return xp.where(still, self.project(x), vertex)


def _nearest_on_simplex(y: Array, scale: float) -> Array:
    """Nearest point with entries >= 0 and the sum: max(y - θ, 0) with the θ that gives the sum.

    θ is the largest of (sum of the k largest entries - scale) / k over k. Entries are measured from
    the largest one: sums of numbers far larger than the set would lose it. Those that are further
    below it than the scale become 0.
    """
    xp = namespace(y)
    y = y - xp.max(y, axis=-1, keepdims=True)
    y = xp.maximum(y, xp.full_like(y, -scale))
    ordered = -xp.sort(-y, axis=-1)
    total = xp.cumulative_sum(ordered, axis=-1)
    count = xp.arange(1, y.shape[-1] + 1, dtype=y.dtype, device=device(y))
    theta = xp.max((total - scale) / count, axis=-1, keepdims=True)
    return xp.maximum(y - theta, xp.zeros_like(y))


def _less_that_at(index: Array, a: Array) -> Array:
    """Entries of the last axis less one of them."""
    xp = namespace(a)
    one = xp.where(_entry(index, a), a, xp.zeros_like(a))
    return a - xp.sum(one, axis=-1, keepdims=True)


def _entry(index: Array, like: Array) -> Array:
    """Indicator of one entry of the last axis, as an array of bool."""
    return namespace(like).arange(like.shape[-1], device=device(like)) == index
