"""The Grassmann manifold: subspaces."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._numerics.arrays import (
    Array,
    at_zero,
    eps,
    expand,
    holds,
    namespace,
    normal,
    safe_sqrt,
    settled,
    tangent_if_short,
)
from .._numerics.linalg import fast_matmul, svd, svdvals
from .._support.check import positive_int
from ..errors import ArgumentError
from ._border import Seed
from ._frames import (
    FrameManifold,
    expm,
    finite,
    flat,
    frobenius,
    generator,
    long_way,
    reflector,
    refuse_far_transport,
    relative,
    renew,
    shortened,
    too_long,
)
from .sphere import directions

__all__ = ["Grassmann"]


@dataclass(frozen=True)
class Grassmann(FrameManifold):
    """Subspaces of dimension p of Rⁿ, given by orthonormal bases.

    Point         (n, p), XᵀX = I; X and X Q with Q orthogonal are the same point.
    Tangent       (n, p), the horizontal lift: XᵀV = 0. It belongs to the basis X: at X Q the same
                  tangent vector is V Q.
    Metric        <U, V> = tr(Uᵀ V); distances are the 2-norm of the principal angles in radians.
    Dimension     p (n - p); sectional curvature 1 for lines and hyperplanes (p or n - p is 1), in
                  [0, 2] otherwise; injectivity radius π/2.
    Cost          O(n p²) for every method; no n x n matrix is formed.
    Source        Edelman, Arias and Smith, The geometry of algorithms with orthogonality
                  constraints (1998), section 2.5; Bendokat, Zimmermann and Absil, A Grassmann
                  manifold handbook (2024).

    `log` is not unique where a principal angle is π/2 (to n rounding units); `dist` is right there
    too. `exp` and `transport_along` return the basis, and the lift there, that parallel translation
    along the geodesic gives; `transport` gives the lift at the basis ``y``.

    Parameters
    ----------
    n, p : int, 1 <= p < n
        Dimensions of the space and of its subspaces.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.manifolds.grassmann import Grassmann
    >>> planes = Grassmann(4, 2)
    >>> e = np.eye(4)
    >>> round(float(planes.dist(e[:, :2], e[:, 1:3])), 12)  # one axis in common, one orthogonal
    1.570796326795
    >>> float(planes.dist(e[:, :2], e[:, [1, 0]]))  # the same plane
    0.0
    """

    n: int
    p: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive_int(self.n, "n", 2))
        object.__setattr__(self, "p", positive_int(self.p, "p"))
        if self.p >= self.n:
            raise ArgumentError(f"p must be < n = {self.n} on Grassmann, got {self.p}")

    @property
    def dim(self) -> int:
        return self.p * (self.n - self.p)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.n, self.p)

    @property
    def curvature(self) -> tuple[float, float]:
        return (1.0, 1.0) if 1 in (self.p, self.n - self.p) else (0.0, 2.0)

    @property
    def injectivity_radius(self) -> float:
        return math.pi / 2

    @property
    def bounded(self) -> bool:
        return True

    @property
    def typical_dist(self) -> float:
        return math.pi / 4 * math.sqrt(min(self.p, self.n - self.p))

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return frobenius(u, v)

    def dist(self, x: Array, y: Array) -> Array:
        k = fast_matmul(x.mT, y)
        move, off = y - x, y - fast_matmul(x, k)
        single = type(k) is np.ndarray and k.ndim == 2 and k.dtype == np.float64
        length2 = fast_squared_angles(k, off) if single else squared_angles(k, off)
        return safe_sqrt(at_zero(frobenius(move, move), 0 * length2, length2))

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        v, length2 = shortened(v, frobenius(v, v))
        gram = v.mT @ v
        m, length = generator(0.0 * gram, gram), safe_sqrt(length2)

        def point(t: float | Array) -> Array:
            if too_long(abs(t) * length):
                y = long_way(x, 0.0 * gram, v, 1, t)
            else:
                e = expm(expand(t, 2) * m, abs(t) * length)[..., : self.p]
                y = renew(x @ e[..., : self.p, :] + v @ e[..., self.p :, :])
            straight = x + expand(t, 2) * v
            return at_zero(expand(t * t * length2, 2), straight, y)  # exp(x, 0) is x

        return point

    def log(self, x: Array, y: Array) -> Array:
        k = y.mT @ x
        stretch, cos = _angle_over_sine(k)
        bad = cos[..., -1] <= self.n * eps(cos)
        v = (y - x @ k.mT) @ stretch
        v = tangent_if_short(x, v, frobenius(v, v), 2, self.to_tangent)
        return self.mark_cut_locus(bad, v, x, y)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        u = self.log(x, y)
        # The lift at exp(x, u), another basis of the subspace y, turned to the basis y.
        return self.transport_along(x, u, v) @ (self.exp(x, u).mT @ y)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        refuse_far_transport(self, v)
        gram, p = v.mT @ v, self.p
        e = expm(generator(0.0 * gram, gram, integral=True), safe_sqrt(frobenius(v, v)))
        mean = x @ e[..., :p, 2 * p :] + v @ e[..., p : 2 * p, 2 * p :]  # of the moving basis
        return w - mean @ (v.mT @ w)

    def to_coords(self, x: Array, v: Array) -> Array:
        return flat(reflector(x)(v)[..., self.p :, :])

    def from_coords(self, x: Array, c: Array) -> Array:
        xp = namespace(c)
        rows = xp.reshape(c, (*c.shape[:-1], self.n - self.p, self.p))
        top = xp.zeros_like(rows[..., :1, :])
        top = xp.broadcast_to(top, (*rows.shape[:-2], self.p, self.p))
        return reflector(x)(xp.concat([top, rows], axis=-2))

    def unit_tangent(self, rng: Seed, x: Array, batch: tuple[int, ...] = ()) -> Array:
        if self.p == 1:
            return directions(rng, x[..., 0], batch)[..., None]
        # The metric is the ambient one, so a projected Gaussian is uniform and needs no basis.
        g = normal(rng, (*batch, *x.shape), x)
        u = g - x @ (x.mT @ g)
        u, length2 = settled(x, u, self.n * self.p / 32, self.to_tangent, frobenius)
        return u / expand(safe_sqrt(length2), 2)

    def to_tangent(self, x: Array, a: Array) -> Array:
        return a - x @ (x.mT @ a)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return self.to_tangent(x, g)

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        return "|xᵀv| / |v|", relative(x.mT @ v, v)

    def __repr__(self) -> str:
        return f"Grassmann({self.n}, {self.p})"


def squared_angles(k: Array, off: Array) -> Array:
    """Sum of the squared angles between subspaces, from K = XᵀY and Y - XK.

    Small angles come from sines, the singular values of Y - XK, large ones from cosines, those of
    K: either alone loses half the digits at one end.
    """
    xp = namespace(k)
    gram, sound = finite(off.mT @ off)
    sin2 = xp.linalg.eigvalsh(gram)  # rising, as the cosines fall
    usual = (sin2 > eps(sin2)) & (sin2 < 1)
    theta = xp.asin(xp.sqrt(xp.where(usual, sin2, 0.5)))
    theta2 = xp.where(usual, theta * theta, xp.where(sin2 > 0, sin2, 0.0))
    far = sin2[..., -1] > 0.9
    if not holds(~far, False):
        large = far[..., None] & (sin2 > 0.5)
        sure = xp.where(far[..., None, None], k, xp.zeros_like(k))  # LAPACK raises where NaN is
        theta = xp.acos(xp.where(large, xp.linalg.svdvals(sure), 0.5))
        theta2 = xp.where(large, theta * theta, theta2)
    return xp.where(sound, xp.sum(theta2, axis=-1), math.nan)


def fast_squared_angles(k: np.ndarray, off: np.ndarray) -> float:
    """`squared_angles` of one pair of subspaces, angle by angle.

    The squared sines sum to |Y - XK|², and in θ² - sin²θ = O(θ⁴) cosines lose nothing. Where the
    sum is at rounding level, so is that difference to it.
    """
    sines2 = float(np.vdot(off, off))
    if sines2 < eps(k):
        return sines2
    cosines = svdvals(k).tolist()
    return sines2 + sum(math.acos(c) ** 2 - (1 - c) * (1 + c) for c in cosines if not c >= 1)


def _angle_over_sine(k: Array) -> tuple[Array, Array]:
    """Q f(C) Rᵀ with f(cos θ) = θ / sin θ, for K = Q C Rᵀ; and C, the cosines in falling order.

    f is smooth up to cos θ = 1, so no accuracy is lost where singular vectors are ill-determined.
    """
    xp = namespace(k)
    tracked = getattr(k, "requires_grad", False)
    value = k.detach() if tracked else k
    q, cos, rt = svd(value)
    inside = ~(cos >= 1)  # beyond 1 by rounding, f is 1
    c = xp.where(inside, cos, xp.zeros_like(cos))
    f = xp.where(inside, xp.acos(c) / xp.sqrt((1 - c) * (1 + c)), xp.ones_like(cos))
    stretch = (q * f[..., None, :]) @ rt
    if tracked:
        # Equal angles: singular vectors have no derivative, this function of K has. In the singular
        # basis its differential weighs the symmetric and the skew part of the change of K.
        change = q.mT @ (k - value) @ rt.mT  # zero, but for its derivative
        even, odd = change + change.mT, change - change.mT
        stretch = stretch + 0.5 * q @ (_slopes(cos, f) * even + _means(cos, f) * odd) @ rt
    return stretch, cos


def _means(cos: Array, f: Array) -> Array:
    """(fᵢ + fⱼ) / (cᵢ + cⱼ), and 0 in the cut locus."""
    xp = namespace(cos)
    below = cos[..., :, None] + cos[..., None, :]
    zero = below == 0
    above = f[..., :, None] + f[..., None, :]
    return xp.where(zero, xp.zeros_like(below), above / xp.where(zero, xp.ones_like(below), below))


def _slopes(cos: Array, f: Array) -> Array:
    """(fᵢ - fⱼ) / (cᵢ - cⱼ), and where that cancels the derivative of f in the middle."""
    xp = namespace(cos)
    small = eps(cos) ** (1 / 3)
    below = cos[..., :, None] - cos[..., None, :]
    near = abs(below) < small
    middle = 0.5 * (cos[..., :, None] + cos[..., None, :])
    level = 0.5 * (f[..., :, None] + f[..., None, :])
    gap = 1 - middle
    end = gap < small  # there the series of the derivative, for it is 0/0 at 1
    sin2 = xp.where(end, xp.ones_like(gap), gap * (1 + middle))
    slope = xp.where(end, -1 / 3 - gap * (4 / 15), (middle * level - 1) / sin2)
    chord = (f[..., :, None] - f[..., None, :]) / xp.where(near, xp.ones_like(below), below)
    return xp.where(near, slope, chord)
