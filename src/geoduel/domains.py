"""Feasible sets: projection, linear minimiser, membership and diameter.

RDNGD and RRDNGD project after each step; RDFW asks for the linear minimiser instead.

    set                        manifold    projection            linear minimiser
    Ball                       any         along a geodesic      exact at constant curvature
    SPDInterval                SPD         Newton, certified     refined, certified
    Box, L1Ball, L2Ball,
    ProbabilitySimplex         Euclidean   exact                 exact
    Intersection               any         Dykstra, alternating  where one member's serves
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ._arrays import Array, device, eps, expand, namespace, safe_sqrt
from ._check import one_of, positive, positive_int, real
from ._interval import (
    HalfSquaredDist,
    LogTrace,
    linear_bound,
    minimize,
    minimize_log_trace,
    value_and_gap,
)
from ._linalg import eigh, factor, stop
from ._symmetric import sym
from .errors import ArgumentError, EmptySetError
from .manifolds.base import Manifold
from .manifolds.euclidean import Euclidean
from .manifolds.spd import SPD

__all__ = [
    "Ball",
    "Box",
    "Domain",
    "Intersection",
    "L1Ball",
    "L2Ball",
    "LinearMinimum",
    "Nearest",
    "ProbabilitySimplex",
    "SPDInterval",
]


class Domain(ABC):
    """A closed feasible set X in a manifold.

    Leading axes are independent problems, as in `Manifold`: they broadcast, dtype and device are
    kept, and inputs are never written to.

    Attributes
    ----------
    manifold : Manifold
        Where the set lies.
    """

    manifold: Manifold

    @abstractmethod
    def project(self, y: Array) -> Array:
        """Nearest point of the set; ``y`` itself if it is in the set."""

    @abstractmethod
    def linear_minimizer(self, x: Array, h: Array) -> Array:
        """Point z of the set with the least <h, Log_x z>, for a tangent vector ``h`` at ``x``.

        Where every point is one, as for h = 0, the answer is ``x`` or the point nearest to it.
        """

    @abstractmethod
    def contains(self, x: Array, tol: float | None = None) -> Array:
        r"""Whether points are in the set, shape ``(...)``.

        Parameters
        ----------
        x : array of shape (..., \*point_shape)
            Points.
        tol : float, optional
            How far outside, as a length, still counts as inside; by default the square root of the
            rounding unit of the dtype, 1.5e-8 for float64.
        """

    def violation(self, x: Array) -> Array:
        """How far points are outside, shape ``(...)``: zero inside, growing with the distance.

        By default the distance to the projection; sets with a cheaper measure use it.
        """
        return _number(self.manifold.dist(x, self.project(x)))

    @property
    @abstractmethod
    def diameter(self) -> float:
        """Largest distance of two points of the set, a geodesic length."""

    def _check(self, a: Array, name: str) -> None:
        shape = self.manifold.point_shape
        if tuple(getattr(a, "shape", ())[-len(shape) :]) != shape:
            words = "(..., " + ", ".join(map(str, shape)) + ")"
            raise ArgumentError(
                f"{name} must be an array of shape {words} for {self}, got "
                f"{tuple(a.shape) if hasattr(a, 'shape') else type(a).__name__}"
            )


def _tolerance(tol: float | None, x: Array) -> float:
    return math.sqrt(eps(x)) if tol is None else tol


def _like(a: Array, x: Array) -> Array:
    """``a`` in the namespace, dtype and on the device of ``x``."""
    if type(a) is type(x) and a.dtype == x.dtype and device(a) == device(x):
        return a
    return namespace(x).asarray(stop(a), dtype=x.dtype, device=device(x))


def _number(a: Array) -> Array:
    """Numbers as an array: manifolds answer one pair of points with a plain float."""
    return a if hasattr(a, "ndim") else np.asarray(a)


def _positive_part(a: Array) -> Array:
    xp = namespace(a)
    return xp.maximum(a, xp.zeros_like(a))


def _unit(v: Array, length: Array, axes: int) -> Array:
    """``v`` divided by its length; zero where that is zero."""
    zero = length == 0
    xp = namespace(length)
    return v / expand(xp.where(zero, xp.ones_like(length), length), axes)


# -- balls -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ball(Domain):
    r"""Closed geodesic ball {z : d(c, z) <= r}.

    Projection           Along the geodesic to the centre; `CutLocusError` where that is not unique
                         (the antipode of the centre).
    Linear minimiser     Exact at constant curvature: Euclidean, Sphere, Hyperbolic, Rotations(2)
                         and (3), Torus, Simplex. On other manifolds exact for x = c, where it is
                         Exp_c(-r h/|h|); for other x a numerical solution, feasible and stationary
                         but not certified to be global (ascent on the boundary from three starts,
                         in normal coordinates at c, with central differences).
    Diameter             2 r: exact while 2 r is at most the injectivity radius, else a bound.

    Balls are geodesically convex for r below half of min(injectivity radius, π / sqrt(largest
    curvature)), see `convex`: π/2 on the unit sphere, any r in a Hadamard manifold. Projection on
    a convex ball shortens distances in Hadamard manifolds; on spheres it may not, and the proofs
    then ask for a diameter of at most π/2.

    Parameters
    ----------
    manifold : Manifold
        Where the ball lies.
    center : array of shape (..., \*point_shape)
        Centre c; leading axes are the centres of independent problems.
    radius : float
        Geodesic length r >= 0, below the injectivity radius.

    Raises
    ------
    EmptySetError
        If the radius is negative.
    ArgumentError
        If the radius reaches the injectivity radius, or, from `linear_minimizer`, if the ball is
        not convex.

    Examples
    --------
    >>> import numpy as np
    >>> disc = Ball(Euclidean(2), np.zeros(2), 1.0)
    >>> disc.project(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    >>> disc.linear_minimizer(np.zeros(2), np.array([0.0, 2.0])) + 0.0
    array([ 0., -1.])
    """

    manifold: Manifold
    center: Array
    radius: float

    def __post_init__(self) -> None:
        if not isinstance(self.manifold, Manifold):
            raise ArgumentError(f"manifold must be a Manifold, got {self.manifold!r:.80}")
        self.manifold.check_point(self.center, "center")
        radius = real(self.radius, "radius")
        if radius < 0:
            raise EmptySetError(f"radius must be >= 0 or the ball is empty, got {self.radius!r}")
        if radius >= self.manifold.injectivity_radius:
            raise ArgumentError(
                f"radius must be below the injectivity radius of {self.manifold}, "
                f"{self.manifold.injectivity_radius:.6g}, got {self.radius!r}"
            )
        object.__setattr__(self, "radius", radius)

    @property
    def diameter(self) -> float:
        """Twice the radius: exact up to the injectivity radius, an upper bound beyond."""
        return 2 * self.radius

    @property
    def convex(self) -> bool:
        """Whether curvature and injectivity radius prove the ball geodesically convex."""
        high = self.manifold.curvature[1]
        conjugate = math.pi / math.sqrt(high) if high > 0 else math.inf
        return self.radius < min(self.manifold.injectivity_radius, conjugate) / 2

    def contains(self, x: Array, tol: float | None = None) -> Array:
        self._check(x, "x")
        return self.violation(x) <= _tolerance(tol, x)

    def violation(self, x: Array) -> Array:
        distance = _number(self.manifold.dist(_like(self.center, x), x))
        return _positive_part(distance - self.radius)

    def project(self, y: Array) -> Array:
        self._check(y, "y")
        manifold, axes = self.manifold, len(self.manifold.point_shape)
        center, xp = _like(self.center, y), namespace(y)
        distance = _number(manifold.dist(center, y))
        inside = distance <= self.radius
        if distance.ndim == 0 and bool(inside):
            return y
        share = self.radius / xp.where(inside, xp.ones_like(distance), distance)
        edge = manifold.exp(center, expand(share, axes) * manifold.log(center, y))
        return xp.where(expand(inside, axes), y, edge)

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        self._check(x, "x")
        self._check(h, "h")
        if not self.convex:
            raise ArgumentError(
                f"linear_minimizer needs a convex ball; radius {self.radius!r} is too large for "
                f"that in {self.manifold}"
            )
        low, high = self.manifold.curvature
        solve = self._flat if low == high == 0 else self._curved if low == high else self._general
        center, xp, axes = _like(self.center, x), namespace(x, h), len(self.manifold.point_shape)
        still = _number(self.manifold.norm(x, h)) == 0
        z = solve(center, x, h)
        return xp.where(expand(still, axes), self.project(x), z) if bool(xp.any(still)) else z

    def _flat(self, center: Array, x: Array, h: Array) -> Array:
        manifold, axes = self.manifold, len(self.manifold.point_shape)
        uphill = manifold.transport(x, center, _unit(h, _number(manifold.norm(x, h)), axes))
        return manifold.exp(center, -self.radius * uphill)

    def _curved(self, center: Array, x: Array, h: Array) -> Array:
        """Point of the boundary, in the plane of Log_x c and h, at the best angle ψ.

        With curvature -1, ρ = d(x, c), t = d(x, z), and θ the angle of -h and Log_x c, the laws of
        sines and cosines at c give

            -<h, Log_x z> = |h| t/sinh t (sinh ρ cosh r cos θ - cosh ρ sinh r cos θ cos ψ
                                          + sinh r sin θ sin ψ).

        (The point at the transported -h, the obvious guess, can be worse than standing still.)
        """
        manifold, xp, axes = self.manifold, namespace(x, h), len(self.manifold.point_shape)

        def unit(v: Array) -> tuple[Array, Array]:
            v = manifold.to_tangent(x, v)
            length = _number(manifold.norm(x, v))
            return _unit(v, length, axes), length

        # Twice: scaled up, a short vector is off the tangent space by its rounding.
        inwards, rho = unit(manifold.log(x, center))
        inwards, _ = unit(inwards)
        downhill = -unit(h)[0]
        cos = _number(manifold.inner(x, downhill, inwards))
        across, sin = unit(downhill - expand(cos, axes) * inwards)
        psi = _best_angle(rho, self.radius, cos, sin, manifold.curvature[0])
        across, _ = unit(across)
        # At the centre, x lies against the way that leads there.
        turned = expand(xp.sin(psi), axes) * across - expand(xp.cos(psi), axes) * inwards
        return manifold.exp(center, self.radius * manifold.transport(x, center, turned))

    def _general(self, center: Array, x: Array, h: Array) -> Array:
        """Ascent of -<h, Log_x z> over the boundary, z = Exp_c(w), |w| = r in coordinates at c.

        Each round tries the point where the linear model is best, w = r ∇/|∇|, then shorter ways
        towards it. Every start keeps its own problem; the best end wins.
        """
        manifold, xp, d = self.manifold, namespace(x, h), self.manifold.dim
        axes, radius = len(manifold.point_shape), self.radius
        unit = _unit(h, _number(manifold.norm(x, h)), axes)
        central = _number(manifold.dist(x, center)) == 0
        if bool(xp.all(central)):
            return manifold.exp(center, -radius * unit)

        def value(w: Array) -> Array:
            z = manifold.exp(center, manifold.from_coords(center, w))
            return -_number(manifold.inner(x, unit, manifold.log(x, z)))

        def sphere(w: Array) -> Array:
            return radius * _unit(w, safe_sqrt(xp.vecdot(w, w)), 1)

        # Central differences balance eps / step against step²; units of the radius.
        step = eps(x) ** (1 / 3) * (radius or 1.0)
        shifts = step * xp.eye(d, dtype=x.dtype, device=device(x))

        def gradient(w: Array) -> Array:
            e = xp.reshape(shifts, (d,) + (1,) * (w.ndim - 1) + (d,))
            return xp.moveaxis((value(w + e) - value(w - e)) / (2 * step), 0, -1)

        guess = -manifold.to_coords(center, manifold.transport(x, center, unit))
        ahead = manifold.to_coords(center, manifold.log(center, manifold.exp(x, -radius * unit)))
        uphill = gradient(xp.zeros_like(guess))
        margin = 4 * eps(x) * radius
        w = sphere(xp.stack([guess, xp.where(xp.isfinite(ahead), ahead, guess), uphill]))
        best = value(w)
        for _ in range(200):
            target = sphere(gradient(w))
            moved = xp.zeros_like(best, dtype=xp.bool)
            share = xp.ones_like(best)
            for _ in range(8):
                trial = sphere(w + expand(share, 1) * (target - w))
                reached = value(trial)
                better = ~moved & (reached > best + margin)
                w = xp.where(expand(better, 1), trial, w)
                best = xp.where(better, reached, best)
                moved = moved | better
                share = share / 3
            if not bool(xp.any(moved)):
                break
        top = xp.argmax(best, axis=0, keepdims=True)
        index = xp.reshape(xp.arange(w.shape[0], device=device(x)), (-1,) + (1,) * (best.ndim - 1))
        w = xp.sum(xp.where(expand(index == top, 1), w, xp.zeros_like(w)), axis=0)
        w = xp.where(expand(central, 1), sphere(guess), w)
        return manifold.exp(center, manifold.from_coords(center, w))

    def __repr__(self) -> str:
        return f"Ball({self.manifold}, radius={self.radius!r})"


def _best_angle(rho: Array, radius: float, cos: Array, sin: Array, curvature: float) -> Array:
    """Angle ψ in [0, π] at the centre at which -<h, Log_x z> is largest; see `Ball`.

    The value rises at 0 and falls at π. A grid finds the highest cell, so nothing hangs on it being
    unimodal; the sign of the derivative then narrows the cell 64 times a round.
    """
    xp = namespace(rho)
    k = math.sqrt(abs(curvature))
    s, c = (xp.sin, xp.cos) if curvature > 0 else (xp.sinh, xp.cosh)
    rho, r = expand(k * rho, 1), xp.asarray(k * radius, dtype=rho.dtype, device=device(rho))
    cos, sin = expand(cos, 1), expand(sin, 1)
    sides, straight = s(rho) * s(r), s(rho) * c(r) * cos
    along, across = c(rho) * s(r) * cos, s(r) * sin

    def model(psi: Array) -> tuple[Array, Array]:
        """Value and derivative; t from the half angle, right for near points too."""
        half = xp.sqrt(s((rho - r) / 2) ** 2 + sides * xp.sin(psi / 2) ** 2)
        t = 2 * (xp.asin(xp.minimum(half, xp.ones_like(half))) if curvature > 0 else xp.asinh(half))
        small = t < 1e-2
        safe = xp.where(small, xp.ones_like(t), t)
        sign = 1.0 if curvature > 0 else -1.0
        ratio = xp.where(small, 1 + sign * t * t / 6, safe / s(safe))
        slope = (s(safe) - safe * c(safe)) / s(safe) ** 3
        slope = xp.where(small, sign / 3 + 2 / 15 * t * t, slope)
        flat = straight - along * xp.cos(psi) + across * xp.sin(psi)
        rise = along * xp.sin(psi) + across * xp.cos(psi)
        return ratio * flat, slope * sides * xp.sin(psi) * flat + ratio * rise

    grid = xp.linspace(0.0, 1.0, 65, dtype=rho.dtype, device=device(rho))
    low, width = xp.zeros_like(rho), math.pi + xp.zeros_like(rho)
    for narrowed in range(10):
        value, slope = model(low + width * grid)
        if narrowed == 0:
            cell = xp.argmax(value, axis=-1, keepdims=True) - 1
            cells = 2
        else:
            cell = xp.sum(xp.astype(slope > 0, xp.int64), axis=-1, keepdims=True) - 1
            cells = 1
        cell = xp.clip(cell, 0, 64 - cells)
        low = low + width * xp.astype(cell, rho.dtype) / 64
        width = width * cells / 64
    return (low + width / 2)[..., 0]


# -- sets of symmetric positive definite matrices --------------------------------------------------


@dataclass(frozen=True)
class LinearMinimum:
    """A linear minimiser of `SPDInterval` and what is known about it.

    Attributes
    ----------
    point : array of shape (..., n, n)
        Feasible point z, the best found.
    value : array of shape (...)
        <h, Log_x z>.
    lower_bound : array of shape (...)
        No feasible point has a smaller value: a proof up to rounding, not an estimate.
    stationarity : array of shape (...)
        Frank-Wolfe gap at z, the most that the objective's linear model at z promises: zero up to
        rounding where z satisfies the first-order conditions. By itself that proves no minimum,
        since the objective is not convex.
    """

    point: Array
    value: Array
    lower_bound: Array
    stationarity: Array

    @property
    def gap(self) -> Array:
        """``value - lower_bound``: ``point`` is within this of the global minimum."""
        return self.value - self.lower_bound


@dataclass(frozen=True)
class Nearest:
    """A projection on `SPDInterval` and its certificate.

    Attributes
    ----------
    point : array of shape (..., n, n)
        Feasible point z.
    dist : array of shape (...)
        Distance d(y, z).
    gap : array of shape (...)
        Proved bound of d(y, z)²/2 - d(y, X)²/2, up to rounding.
    """

    point: Array
    dist: Array
    gap: Array

    @property
    def error_bound(self) -> Array:
        """Proved bound of the distance of ``point`` and the exact projection: sqrt(gap)."""
        return safe_sqrt(self.gap)


@dataclass(frozen=True, eq=False)
class SPDInterval(Domain):
    """Interval {Z : L ⪯ Z ⪯ U} of symmetric positive definite matrices, affine-invariant metric.

    Geodesically convex, since the weighted geometric mean is monotone. Computed in NumPy float64
    whatever comes in, one matrix at a time: gradients do not pass through, and a point costs
    O(n⁶) operations, about 1 ms for n = 5.

    Projection           Minimises half the squared distance, which is geodesically strongly convex:
                         the first-order conditions are sufficient, and the duality gap of `nearest`
                         bounds the error.
    Linear minimiser     The published closed form L + P'[S < 0]P is exact only where bounds and h
                         commute, seen from x; elsewhere it depends on the choice of P and can be
                         worse than standing still. Here Frank-Wolfe steps from several starts, and
                         Newton steps from the best of them, end at a stationary point. Minima that
                         are not global exist, mostly where U - L is singular; `linear_minimum`
                         returns a proved lower bound along with the point.
    Diameter             d(L, U), exact. For A, B in the set let a be the logarithms of the
                         eigenvalues of A⁻¹B, and μ >= 0 those of L⁻¹U. In coordinates with A = I,
                         B = diag(e^a), restricted to any k of them: det U is at least the product
                         of the e^a > 1, and det L at most that of the e^a < 1 (Schur complements,
                         from U ⪰ I, B and L ⪯ I, B). So the sum of |a| over these k is at most
                         log det L⁻¹U there, and by interlacing at most the sum of the k largest μ:
                         |a| is weakly majorised by μ, hence |a|₂ <= |μ|₂.

    Parameters
    ----------
    lower, upper : array of shape (..., n, n)
        Bounds L ⪯ U, positive definite; U - L may be singular, or zero.
    starts : int
        Random starts of the linear minimiser, besides one for each rank of the minimiser and the
        solution for small intervals. With 0 only the last is used: half the time, and enough on
        nearly every interval with regular U - L.
    method : {"refined", "closed-form"}
        ``"closed-form"`` returns the published linear minimiser, with P the symmetric square root:
        for reproductions.

    Raises
    ------
    EmptySetError
        If the lower bound is not below the upper one.

    References
    ----------
    Weber and Sra, Riemannian optimization via Frank-Wolfe methods, Math. Program. 199 (2023);
    Bhatia, Positive Definite Matrices (2007), chapters 4 and 6.

    Examples
    --------
    >>> import numpy as np
    >>> interval = SPDInterval(np.eye(2), np.diag([4.0, 9.0]))
    >>> interval.project(np.diag([16.0, 2.0])).round(12)
    array([[4., 0.],
           [0., 2.]])
    >>> answer = interval.linear_minimum(np.eye(2), np.diag([1.0, -1.0]))
    >>> answer.point.round(12) + 0.0
    array([[1., 0.],
           [0., 9.]])
    >>> bool(answer.gap < 1e-12)
    True
    """

    lower: Array
    upper: Array
    starts: int = 4
    method: Literal["refined", "closed-form"] = "refined"
    manifold: Manifold = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shape = tuple(getattr(self.lower, "shape", ()))
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ArgumentError(f"lower must be an array of shape (..., n, n), got {shape}")
        object.__setattr__(self, "manifold", SPD(shape[-1]))
        self.manifold.check_point(self.lower, "lower")
        self.manifold.check_point(self.upper, "upper")
        positive_int(self.starts, "starts", least=0)
        one_of(self.method, "method", ("refined", "closed-form"))
        least = float(self._widths[0].min())
        if least < 1 - math.sqrt(eps(self.lower)):
            raise EmptySetError(
                "lower is not below upper: the smallest eigenvalue of inverse(lower) @ upper is "
                f"{least:.6g}, expected >= 1"
            )

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        lower, upper = np.broadcast_arrays(_numpy(self.lower), _numpy(self.upper))
        return lower, upper

    @cached_property
    def _inverse_factors(self) -> tuple[Array, Array]:
        """C⁻¹ with C Cᵀ = L, and D⁻¹ with D Dᵀ = U."""
        return factor(self._bounds[0])[1], factor(self._bounds[1])[1]

    @cached_property
    def _widths(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the upper bound in coordinates of the lower one."""
        inverse = self._inverse_factors[0]
        return eigh(sym(inverse @ self._bounds[1] @ inverse.mT))

    @cached_property
    def _root(self) -> Array:
        """F with F Fᵀ = U - L, zero to the last bit or absent in directions without width."""
        ratios, axes = self._widths
        width = np.where(ratios - 1 > 1e-13 * ratios, ratios - 1, 0.0)
        rank = max(1, int(np.sum(width > 0)))
        if width.ndim == 1:
            width, axes = width[-rank:], axes[:, -rank:]
        return factor(self._bounds[0])[0] @ (axes * np.sqrt(width)[..., None, :])

    @property
    def diameter(self) -> float:
        """Distance of the bounds, exact; the largest one where there are leading axes."""
        return float(np.max(np.linalg.norm(np.log(np.maximum(self._widths[0], 1)), axis=-1)))

    def contains(self, x: Array, tol: float | None = None) -> Array:
        """Whether points are in the interval: tolerance on relative eigenvalues, so a length."""
        self._check(x, "x")
        return self.violation(x) <= _tolerance(tol, x)

    def violation(self, x: Array) -> Array:
        """Length of the logarithms of eigenvalues beyond a bound: of L⁻¹X < 1 and of U⁻¹X > 1.

        At most √2 times the distance, and much cheaper.
        """
        xp = namespace(x)
        tiny = xp.finfo(x.dtype).tiny  # rounding may turn eigenvalues near zero negative
        squares = 0.0
        for sign, bound in zip((-1, 1), self._inverse_factors, strict=True):
            inverse = _like(bound, x)
            w = xp.linalg.eigvalsh(sym(inverse @ x @ inverse.mT))
            excess = _positive_part(sign * xp.log(xp.where(w > tiny, w, xp.full_like(w, tiny))))
            squares = squares + xp.vecdot(excess, excess)
        return xp.sqrt(squares)

    def project(self, y: Array) -> Array:
        return self.nearest(y).point

    def nearest(self, y: Array) -> Nearest:
        """Nearest point, its distance, and a proof of both.

        For every Z in the set, d(y, Z)²/2 >= d(y, P)²/2 + <-Log_P y, Log_P Z> + d(P, Z)²/2. The
        least value of the linear term over the set, bounded as in `linear_minimum` and then zero
        at the projection, is the gap.
        """
        self._check(y, "y")
        given, y = y, _numpy(y)
        shape = np.broadcast_shapes(y.shape, self._bounds[0].shape)
        lower, upper, root, ys = _flat(shape, *self._bounds, self._root, y)
        points, distances, gaps = np.array(ys), np.zeros(len(ys)), np.zeros(len(ys))
        # Rounding leaves a projected point this far outside; it then stays where it is.
        outside = np.flatnonzero(~np.asarray(self.contains(y, 1e-12)))
        for i in outside:
            outer, inverse = factor(ys[i])
            low, half = _seen(inverse, lower[i]), inverse @ root[i]
            back = np.linalg.pinv(half)
            w, axes = eigh(sym(back @ (np.eye(len(low)) - low) @ back.T))
            w = (axes * np.clip(w, 0.0, 1.0)) @ axes.T
            z, value, _ = minimize(HalfSquaredDist(), low, half, w)
            points[i], distances[i] = sym(outer @ z @ outer.T), math.sqrt(2 * value)
            # The certificate, in coordinates where the projection is the identity.
            inverse = factor(points[i])[1]
            values, axes = eigh(_seen(inverse, ys[i]))
            values = np.maximum(values, eps(values) * values[-1])
            slope = -(axes * np.log(values)) @ axes.T
            bound = linear_bound(slope, _seen(inverse, lower[i]), _seen(inverse, upper[i]))
            gaps[i] = max(-float(bound), 0.0)
        if not len(outside) and tuple(given.shape) == shape:
            point = given
        else:
            point = _like(points.reshape(shape), given)
        lead = shape[:-2]
        return Nearest(point, *(_like(a.reshape(lead), given) for a in (distances, gaps)))

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        return self._linear(x, h)[0]

    def linear_minimum(self, x: Array, h: Array) -> LinearMinimum:
        """Linear minimiser with its value, first-order gap, and a proved lower bound.

        Seen from x, the objective is tr(S log Z). The logarithm is split into operator monotone
        pieces g, for which g(L) ⪯ g(Z) ⪯ g(U); on each of these intervals the linear form has an
        exact minimum, and the sum of these is the lower bound. It is the minimum itself where
        everything commutes, and for S ⪰ 0 or S ⪯ 0; otherwise it is typically below by one percent
        of the objective's range or less.
        """
        z, value, stationarity, (s, low, inverse) = self._linear(x, h)
        (up,) = _flat((*value.shape, *s.shape[1:]), _seen(inverse, self._bounds[1]))
        bound = linear_bound(s, low, up).reshape(value.shape)
        bound = np.minimum(bound, value)  # rounding alone could put it above
        return LinearMinimum(z, *(_like(a, x) for a in (value, bound, stationarity)))

    def _linear(self, x: Array, h: Array) -> tuple[Array, Array, Array, tuple[Array, ...]]:
        """Point, value and first-order gap; S, L and the factor of x⁻¹, for the certificate."""
        self._check(x, "x")
        self._check(h, "h")
        given, x, h = x, _numpy(x), _numpy(h)
        outer, inverse = factor(x)
        s, low, half = _seen(inverse, h), _seen(inverse, self._bounds[0]), inverse @ self._root
        shape = np.broadcast_shapes(s.shape, low.shape)
        s, low, half = _flat(shape, s, low, half)
        size = np.linalg.norm(s, axis=(-2, -1))
        unit = s / np.where(size == 0, 1.0, size)[:, None, None]
        if self.method == "closed-form":
            (up,) = _flat(shape, _seen(inverse, self._bounds[1]))
            y = _closed_form(unit, low, up)
            value, gap = value_and_gap(LogTrace(unit), y, low, half)
        else:
            y, value, gap = minimize_log_trace(unit, low, half, self.starts)
        lead = shape[:-2]
        z = sym(outer @ y.reshape(shape) @ outer.mT)
        if not size.all():
            still = (size == 0).reshape(*lead, 1, 1)
            z = np.where(still, self.project(np.broadcast_to(x, shape)), z)
        value, gap = (size * value).reshape(lead), (size * gap).reshape(lead)
        return _like(z, given), value, gap, (s, low, inverse)

    def __repr__(self) -> str:
        return f"SPDInterval(n={self.manifold.point_shape[0]})"


def _numpy(a: Array) -> Array:
    """Numbers of any array as NumPy float64."""
    if isinstance(a, np.ndarray):
        return np.asarray(a, dtype=np.float64)
    if hasattr(a, "detach"):
        a = a.detach().cpu()
    return np.asarray(a, dtype=np.float64)


def _seen(inverse: Array, a: Array) -> Array:
    """A symmetric matrix in coordinates where the point with this inverse factor is I."""
    return sym(inverse @ a @ inverse.mT)


def _flat(shape: tuple[int, ...], *arrays: Array) -> tuple[Array, ...]:
    """Matrices broadcast to the shape, with one leading axis of problems."""
    lead = shape[:-2]
    return tuple(
        np.broadcast_to(a, (*lead, *a.shape[-2:])).reshape(-1, *a.shape[-2:]) for a in arrays
    )


def _closed_form(s: Array, low: Array, up: Array) -> Array:
    """Y = L + P'[S < 0]P with P the symmetric square root of U - L."""
    width, axes = eigh(sym(up - low))
    p = (axes * np.sqrt(np.maximum(width, 0.0))[..., None, :]) @ axes.mT
    mu, axes = eigh(s)
    return sym(low + p @ ((axes * (mu < 0)[..., None, :]) @ axes.mT) @ p)


# -- sets of Euclidean space -----------------------------------------------------------------------


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
            lower, upper = xp.broadcast_arrays(_like(lower, like), _like(upper, like))
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
        self._check(x, "x")
        xp, tol = namespace(x), _tolerance(tol, x)
        inside = (x >= _like(self.lower, x) - tol) & (x <= _like(self.upper, x) + tol)
        return xp.all(inside, axis=tuple(range(-len(self.manifold.point_shape), 0)))

    def project(self, y: Array) -> Array:
        self._check(y, "y")
        xp = namespace(y)
        return xp.minimum(xp.maximum(y, _like(self.lower, y)), _like(self.upper, y))

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        self._check(x, "x")
        self._check(h, "h")
        if math.isinf(self.diameter):
            raise ArgumentError(
                "linear_minimizer needs a bounded box; this one has infinite bounds"
            )
        xp = namespace(x, h)
        corner = xp.where(h > 0, _like(self.lower, h), _like(self.upper, h))
        return xp.where(h == 0, self.project(x), corner)

    def __repr__(self) -> str:
        return f"Box({self.manifold})"


def _vector(a: object, name: str) -> Array:
    """A floating-point array of ``a``, NaN refused."""
    array: Any = a if hasattr(a, "dtype") else np.asarray(a)
    xp = namespace(array)
    if not xp.isdtype(array.dtype, "numeric"):
        raise ArgumentError(f"{name} must hold real numbers, got {array.dtype}")
    if not xp.isdtype(array.dtype, "real floating"):
        array = xp.astype(array, xp.float64)
    if bool(xp.any(xp.isnan(array))):
        raise ArgumentError(f"{name} holds NaN")
    return array


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
        self._check(x, "x")
        size = namespace(x).sum(abs(x - _like(self.center, x)), axis=-1)
        return size <= self.radius + _tolerance(tol, x)

    def project(self, y: Array) -> Array:
        self._check(y, "y")
        xp, center = namespace(y), _like(self.center, y)
        offset = y - center
        size = abs(offset)
        inside = xp.sum(size, axis=-1, keepdims=True) <= self.radius
        near = center + xp.sign(offset) * _nearest_on_simplex(size, self.radius)
        return xp.where(inside, y, near)

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        self._check(x, "x")
        self._check(h, "h")
        xp = namespace(x, h)
        top = xp.argmax(abs(h), axis=-1, keepdims=True)
        vertex = _like(self.center, h) - self.radius * xp.sign(h) * _entry(top, h)
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
        self._check(x, "x")
        xp, tol = namespace(x), _tolerance(tol, x)
        return (xp.min(x, axis=-1) >= -tol) & (abs(xp.sum(x, axis=-1) - self.scale) <= tol)

    def project(self, y: Array) -> Array:
        self._check(y, "y")
        return _nearest_on_simplex(y, self.scale)

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        self._check(x, "x")
        self._check(h, "h")
        xp = namespace(x, h)
        least = xp.argmin(h, axis=-1, keepdims=True)
        vertex = xp.astype(_entry(least, h), h.dtype) * self.scale
        still = xp.all(h == h[..., :1], axis=-1, keepdims=True)
        return xp.where(still, self.project(x), vertex)


def _nearest_on_simplex(y: Array, scale: float) -> Array:
    """Nearest point with entries >= 0 and the sum: max(y - θ, 0) with the θ that gives the sum.

    θ is the largest of (sum of the k largest entries - scale) / k over k.
    """
    xp = namespace(y)
    ordered = -xp.sort(-y, axis=-1)
    total = xp.cumulative_sum(ordered, axis=-1)
    count = xp.arange(1, y.shape[-1] + 1, dtype=y.dtype, device=device(y))
    theta = xp.max((total - scale) / count, axis=-1, keepdims=True)
    return xp.maximum(y - theta, xp.zeros_like(y))


def _entry(index: Array, like: Array) -> Array:
    """Indicator of one entry of the last axis, as an array of bool."""
    return namespace(like).arange(like.shape[-1], device=device(like)) == index


# -- intersections ---------------------------------------------------------------------------------


@dataclass(frozen=True, init=False, eq=False)
class Intersection(Domain):
    r"""Points in all of several sets of one manifold.

    Projection           Euclidean: Dykstra's algorithm, which converges to the nearest point; it
                         stops by the rule of Birgin and Raydan (2005). Elsewhere alternating
                         projections: they end in the intersection, not necessarily at its nearest
                         point. Either to ``tol``, and often slowly where boundaries meet at small
                         angles.
    Linear minimiser     That of a member, where it lies in all the others; else an error.
    Diameter             The least of the members', an upper bound.

    Parameters
    ----------
    \*domains : Domain
        Sets of one manifold.
    tol : float
        Length at which projections stop.
    max_cycles : int
        Most rounds of projections.

    Raises
    ------
    EmptySetError
        From `project`, if no common point is found.

    References
    ----------
    Boyle and Dykstra, A method for finding projections onto the intersection of convex sets in
    Hilbert spaces (1986); Birgin and Raydan, Robust stopping criteria for Dykstra's algorithm,
    SIAM J. Sci. Comput. 26 (2005); Bačák, Convex Analysis and Optimization in Hadamard Spaces
    (2014), chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> corner = Intersection(L2Ball(2, 1.0), Box(np.array([0.6, -2.0]), np.array([2.0, 2.0])))
    >>> corner.project(np.array([0.0, 3.0])).round(9)
    array([0.6, 0.8])
    """

    domains: tuple[Domain, ...]
    tol: float
    max_cycles: int
    manifold: Manifold

    def __init__(self, *domains: Domain, tol: float = 1e-10, max_cycles: int = 10_000) -> None:
        if not domains:
            raise ArgumentError("Intersection needs at least one domain, got none")
        for i, domain in enumerate(domains):
            if not isinstance(domain, Domain):
                raise ArgumentError(f"domains[{i}] must be a Domain, got {domain!r:.80}")
            if domain.manifold != domains[0].manifold:
                raise ArgumentError(
                    f"domains[{i}] lies in {domain.manifold}, domains[0] in {domains[0].manifold}: "
                    "they must share one manifold"
                )
        object.__setattr__(self, "domains", domains)
        object.__setattr__(self, "tol", positive(tol, "tol"))
        object.__setattr__(self, "max_cycles", positive_int(max_cycles, "max_cycles"))
        object.__setattr__(self, "manifold", domains[0].manifold)

    @property
    def diameter(self) -> float:
        """Least diameter of a member, an upper bound."""
        return min(domain.diameter for domain in self.domains)

    def contains(self, x: Array, tol: float | None = None) -> Array:
        inside = self.domains[0].contains(x, tol)
        for domain in self.domains[1:]:
            inside = inside & domain.contains(x, tol)
        return inside

    def violation(self, x: Array) -> Array:
        """Largest violation of a member."""
        worst = self.domains[0].violation(x)
        for domain in self.domains[1:]:
            worst = namespace(worst).maximum(worst, domain.violation(x))
        return worst

    def project(self, y: Array) -> Array:
        self._check(y, "y")
        z = self._dykstra(y) if isinstance(self.manifold, Euclidean) else self._alternate(y)
        tol = max(math.sqrt(eps(y)), 10 * self.tol)
        for domain in self.domains:
            if not bool(namespace(z).all(domain.contains(z, tol))):
                raise EmptySetError(
                    f"no common point found in {self.max_cycles} rounds of projections, still "
                    f"outside {domain}: the intersection seems empty, or max_cycles is too small"
                )
        return z

    def _dykstra(self, y: Array) -> Array:
        xp = namespace(y)
        z, tol2 = y, (self.tol + self._rounding(y)) ** 2
        corrections = [xp.zeros_like(y) for _ in self.domains]
        for _ in range(self.max_cycles):
            change = 0.0
            for i, domain in enumerate(self.domains):
                moved = z + corrections[i]
                z = domain.project(moved)
                # Corrections settle only once z has: z alone may pause on its way.
                change += float(xp.max(xp.abs(moved - z - corrections[i]))) ** 2
                corrections[i] = moved - z
            if change <= tol2:
                break
        return z

    def _alternate(self, y: Array) -> Array:
        xp, z = namespace(y), y
        for _ in range(self.max_cycles):
            moved = 0.0
            for domain in self.domains:
                ahead = domain.project(z)
                moved = max(moved, float(xp.max(_number(self.manifold.dist(z, ahead)))))
                z = ahead
            if moved <= self.tol + self._rounding(y):
                break
        return z

    def _rounding(self, y: Array) -> float:
        return 4 * eps(y) * max(1.0, float(namespace(y).max(abs(y))))

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        """Linear minimiser of a member that lies in all the others.

        Raises
        ------
        ArgumentError
            If no member's does.
        """
        self._check(x, "x")
        self._check(h, "h")
        axes, z, found = len(self.manifold.point_shape), None, None
        for domain in self.domains:
            try:
                candidate = domain.linear_minimizer(x, h)
            except ArgumentError:  # this member has none; another may serve
                continue
            xp, inside = namespace(candidate), self.contains(candidate)
            if found is None:
                z, found = candidate, inside
            else:
                z = xp.where(expand(inside & ~found, axes), candidate, z)
                found = found | inside
            if bool(xp.all(found)):
                return z
        raise ArgumentError(
            "linear_minimizer of an intersection is that of a member which lies in all the others; "
            f"none of {', '.join(map(str, self.domains))} gives one here: project instead"
        )

    def __repr__(self) -> str:
        return f"Intersection({', '.join(map(repr, self.domains))})"
