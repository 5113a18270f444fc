"""Intervals of SPD matrices in the Löwner order."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from .._numerics.arrays import Array, copied, eps, expand, namespace, safe_sqrt
from .._numerics.batches import as_like
from .._numerics.linalg import eigh, factor
from .._numerics.symmetric import sym
from .._support.check import as_generator, one_of, positive_int
from ..errors import ArgumentError, EmptySetError
from ..manifolds._border import Seed, as_array
from ..manifolds.base import Manifold
from ..manifolds.spd.spd import SPD
from ._interval import (
    HalfSquaredDist,
    LogTrace,
    linear_bound,
    newton,
    newton_log_trace,
    value_and_gap,
)
from .base import Domain, all_finite, positive_part, tolerance_of

__all__ = ["LinearMinimum", "Nearest", "SPDInterval"]


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
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
    O(n⁶) operations, some milliseconds for n = 3 to 5. Where U = cL a projection is one
    eigendecomposition.

    Projection           Minimises half the squared distance, which is geodesically strongly convex:
                         the first-order conditions are sufficient, and the duality gap of `nearest`
                         bounds the error. For U = cL it clips the eigenvalues of L⁻¹Y to [1, c]:
                         d(Y, Z) >= |log λ(L⁻¹Y) - log λ(L⁻¹Z)|, λ in descending order (Bhatia,
                         chapter 6), with equality there.
    Linear minimiser     The published closed form L + P'[S < 0]P is exact only where bounds and h
                         commute, seen from x. Elsewhere it depends on the choice of P and can be
                         worse than standing still. Here Frank-Wolfe steps from several starts, and
                         Newton steps from the best of them, end at a stationary point. Minima that
                         are not global exist, mostly where U - L is singular; `linear_minimum`
                         returns a proved lower bound along with the point.
    Diameter             d(L, U), exact. For A, B in the set let a be the logarithms of the
                         eigenvalues of A⁻¹B, and μ >= 0 those of L⁻¹U. Take coordinates with A = I,
                         B = diag(e^a), and any k of them. There U ⪰ I, B and L ⪯ I, B. By Schur
                         complements det U is at least the product of the e^a > 1, and det L at most
                         that of the e^a < 1. So the sum of |a| over these k is at most
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
        for name in ("lower", "upper"):
            object.__setattr__(self, name, copied(as_array(getattr(self, name), name)))
        shape = tuple(self.lower.shape)
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
        x = self._check(x, "x")
        return self.violation(x) <= tolerance_of(tol, x)

    def violation(self, x: Array) -> Array:
        """Length of the logarithms of eigenvalues beyond a bound: of L⁻¹X < 1 and of U⁻¹X > 1.

        At most √2 times the distance, and much cheaper. Infinite where an entry of X is not finite.
        """
        x = self._check(x, "x")
        xp, finite = namespace(x), all_finite(x, 2)
        x = xp.where(expand(finite, 2), x, as_like(self.lower, x))  # LAPACK may stop at infinity
        tiny = xp.finfo(x.dtype).tiny  # rounding may turn eigenvalues near zero negative
        squares = 0.0
        for sign, bound in zip((-1, 1), self._inverse_factors, strict=True):
            inverse = as_like(bound, x)
            w = xp.linalg.eigvalsh(sym(inverse @ x @ inverse.mT))
            excess = positive_part(sign * xp.log(xp.where(w > tiny, w, xp.full_like(w, tiny))))
            squares = squares + xp.vecdot(excess, excess)
        return xp.where(finite, xp.sqrt(squares), math.inf)

    def project(self, y: Array) -> Array:
        return self.nearest(y).point

    def random_point(self, rng: Seed = None, like: Array = None) -> Array:
        """L + F W Fᵀ, where W has uniform eigenvalues and axes."""
        rng, root = as_generator(rng), self._root
        shape = (*self._bounds[0].shape[:-2], root.shape[-1])
        axes = root @ np.linalg.qr(rng.standard_normal((*shape, shape[-1])))[0]
        x = sym(self._bounds[0] + (axes * rng.random(shape)[..., None, :]) @ axes.mT)
        return x if like is None else as_like(x, like)

    def nearest(self, y: Array) -> Nearest:
        """Nearest point, its distance, and a proof of both.

        For every Z in the set, d(y, Z)²/2 >= d(y, P)²/2 + <-Log_P y, Log_P Z> + d(P, Z)²/2. The
        least value of the linear term over the set, bounded as in `linear_minimum` and then zero
        at the projection, is the gap.
        """
        self._check_finite(y, "y")
        given, y = y, _numpy(y)
        shape = np.broadcast_shapes(y.shape, self._bounds[0].shape)
        lower, upper, root, ys = _flat(shape, *self._bounds, self._root, y)
        ratios = np.broadcast_to(self._widths[0], shape[:-1]).reshape(-1, shape[-1])
        multiple = np.ptp(ratios, axis=1) <= 1e-13 * ratios.max(axis=1)
        points, distances, gaps = np.array(ys), np.zeros(len(ys)), np.zeros(len(ys))
        # Rounding leaves a projected point this far outside; it then stays where it is.
        outside = np.flatnonzero(~np.asarray(self.contains(y, 1e-12)))
        for i in outside:
            if multiple[i]:
                points[i], distances[i] = _clipped(ys[i], lower[i], ratios[i].max())
                continue
            outer, inverse = factor(ys[i])
            low, half = _seen(inverse, lower[i]), inverse @ root[i]
            back = np.linalg.pinv(half)
            w, axes = eigh(sym(back @ (np.eye(len(low)) - low) @ back.T))
            w = (axes * np.clip(w, 0.0, 1.0)) @ axes.T
            z, value, _ = newton(HalfSquaredDist(), low, half, w)
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
            point = as_like(points.reshape(shape), given)
        lead = shape[:-2]
        return Nearest(point, *(as_like(a.reshape(lead), given) for a in (distances, gaps)))

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        return self._linear(x, h)[0]

    def linear_minimum(self, x: Array, h: Array) -> LinearMinimum:
        """Linear minimiser with its value, first-order gap, and a proved lower bound.

        Seen from x, the objective is tr(S log Z). The logarithm is split into operator monotone
        pieces g, for which g(L) ⪯ g(Z) ⪯ g(U). On each of these intervals the linear form has an
        exact minimum, and the sum of these is the lower bound. It is the minimum itself where
        everything commutes, and for S ⪰ 0 or S ⪯ 0; otherwise it is typically below by one percent
        of the objective's range or less.
        """
        z, value, stationarity, (s, low, inverse) = self._linear(x, h)
        (up,) = _flat((*value.shape, *s.shape[1:]), _seen(inverse, self._bounds[1]))
        bound = linear_bound(s, low, up).reshape(value.shape)
        bound = np.minimum(bound, value)  # rounding alone could put it above
        return LinearMinimum(z, *(as_like(a, x) for a in (value, bound, stationarity)))

    def _linear(self, x: Array, h: Array) -> tuple[Array, Array, Array, tuple[Array, ...]]:
        """Point, value and first-order gap; S, L and the factor of x⁻¹, for the certificate."""
        self._check_finite(x, "x")
        self._check_finite(h, "h")
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
            y, value, gap = newton_log_trace(unit, low, half, self.starts)
        lead = shape[:-2]
        z = sym(outer @ y.reshape(shape) @ outer.mT)
        if not size.all():
            still = (size == 0).reshape(*lead, 1, 1)
            z = np.where(still, self.project(np.broadcast_to(x, shape)), z)
        value, gap = (size * value).reshape(lead), (size * gap).reshape(lead)
        return as_like(z, given), value, gap, (s, low, inverse)

    def _check_finite(self, a: Array, name: str) -> None:
        self._check(a, name)
        if not bool(namespace(a).all(all_finite(a, 2))):  # LAPACK would only say that it stopped
            raise ArgumentError(f"{name} is not finite: it holds NaN or infinite entries")

    def __repr__(self) -> str:
        return f"SPDInterval(n={self.manifold.point_shape[0]})"


def _numpy(a: Array) -> Array:
    """Numbers of any array as NumPy float64."""
    if isinstance(a, np.ndarray):
        return np.asarray(a, dtype=np.float64)
    if hasattr(a, "detach"):
        a = a.detach().cpu()
    return np.asarray(a, dtype=np.float64)


def _clipped(y: Array, lower: Array, ratio: float) -> tuple[Array, float]:
    """Nearest point of {Z : L ⪯ Z ⪯ cL} and its distance."""
    outer, inverse = factor(lower)
    w, axes = eigh(_seen(inverse, y))
    w = np.maximum(w, np.finfo(w.dtype).tiny)
    inside = np.clip(w, 1.0, ratio)
    z = outer @ ((axes * inside) @ axes.T) @ outer.T
    return sym(z), float(np.linalg.norm(np.log(w / inside)))


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
