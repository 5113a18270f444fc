"""Geodesic balls of any manifold."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._numerics.arrays import Array, copied, device, eps, expand, host, namespace, safe_sqrt
from .._numerics.batches import as_like
from .._support.check import as_generator, real
from ..errors import ArgumentError, EmptySetError
from ..manifolds._border import Seed
from ..manifolds.base import Manifold
from .base import Domain, all_finite, number_of, positive_part, random_step, tolerance_of

__all__ = ["Ball"]


def _unit(v: Array, length: Array, axes: int) -> Array:
    """``v`` divided by its length; zero where that is zero."""
    zero = length == 0
    xp = namespace(length)
    return v / expand(xp.where(zero, xp.ones_like(length), length), axes)


@dataclass(frozen=True, eq=False)
class Ball(Domain):
    r"""Closed geodesic ball {z : d(c, z) <= r}.

    Projection           Along the geodesic to the centre; `CutLocusError` where that is not unique
                         (the antipode of the centre).
    Linear minimiser     Exact at constant curvature: Euclidean, Sphere, Hyperbolic, Rotations(2)
                         and (3), Torus, Simplex. On other manifolds exact for x = c, where it is
                         Exp_c(-r h/|h|). For other x it is a numerical solution, feasible and
                         stationary but not certified to be global. It comes from an ascent on the
                         boundary from three starts, in normal coordinates at c, with central
                         differences.
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
    >>> from geoduel.manifolds import Euclidean
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
        center = copied(self.manifold.pack(self.center, "center"))  # the caller may write to it
        object.__setattr__(self, "center", center)
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
        x = self._check(x, "x")
        return self.violation(x) <= tolerance_of(tol, x)

    def violation(self, x: Array) -> Array:
        x = self._check(x, "x")
        distance = number_of(self.manifold.dist(as_like(self.center, x), x))
        finite = all_finite(x, len(self.manifold.point_shape))
        return namespace(x).where(finite, positive_part(distance - self.radius), math.inf)

    def project(self, y: Array) -> Array:
        y = self._check(y, "y")
        manifold, axes = self.manifold, len(self.manifold.point_shape)
        center, xp = as_like(self.center, y), namespace(y)
        distance = number_of(manifold.dist(center, y))
        inside = distance <= self.radius
        if distance.ndim == 0 and bool(inside):
            return y
        radius = self.radius * (1 - eps(y))  # no larger than the radius as a number of the dtype
        share = radius / xp.where(inside, xp.ones_like(distance), distance)
        way, less, edge = manifold.log(center, y), 4 * eps(y), y
        for _ in range(4):  # rounding may leave the point outside, by a little
            edge = manifold.exp(center, expand(share, axes) * way)
            if not bool(xp.any(manifold.dist(center, edge) > radius)):
                break
            share, less = share * (1 - less), 4 * less
        return xp.where(expand(inside, axes), y, edge)

    def random_point(self, rng: Seed = None, like: Array = None) -> Array:
        """Uniform in normal coordinates about the centre."""
        rng, center = as_generator(rng), self.center
        # One number is skipped, as by `Sphere.random_point`, whose Gaussian would be the same.
        length = self.radius * float(rng.random(2)[1]) ** (1 / self.manifold.dim)
        center = host(center).astype(float) if like is None else as_like(center, like)
        return self.project(random_step(self.manifold, rng, center, length))

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        x = self._check(x, "x")
        h = self._check(h, "h")
        if not self.convex:
            raise ArgumentError(
                f"linear_minimizer needs a convex ball; radius {self.radius!r} is too large for "
                f"that in {self.manifold}"
            )
        low, high = self.manifold.curvature
        solve = self._flat if low == high == 0 else self._curved if low == high else self._general
        center, xp, axes = as_like(self.center, x), namespace(x, h), len(self.manifold.point_shape)
        still = number_of(self.manifold.norm(x, h)) == 0
        z = solve(center, x, h)
        return xp.where(expand(still, axes), self.project(x), z) if bool(xp.any(still)) else z

    def _flat(self, center: Array, x: Array, h: Array) -> Array:
        manifold, axes = self.manifold, len(self.manifold.point_shape)
        uphill = manifold.transport(x, center, _unit(h, number_of(manifold.norm(x, h)), axes))
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
            length = number_of(manifold.norm(x, v))
            return _unit(v, length, axes), length

        # Twice: scaled up, a short vector is off the tangent space by its rounding.
        inwards, rho = unit(manifold.log(x, center))
        inwards, _ = unit(inwards)
        downhill = -unit(h)[0]
        cos = number_of(manifold.inner(x, downhill, inwards))
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
        unit = _unit(h, number_of(manifold.norm(x, h)), axes)
        central = number_of(manifold.dist(x, center)) == 0
        if bool(xp.all(central)):
            return manifold.exp(center, -radius * unit)

        def value(w: Array) -> Array:
            z = manifold.exp(center, manifold.from_coords(center, w))
            return -number_of(manifold.inner(x, unit, manifold.log(x, z)))

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
