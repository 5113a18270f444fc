"""The Grassmann manifold: subspaces."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._numerics.arrays import Array, at_zero, eps, expand, namespace, normal, safe_sqrt
from .._numerics.linalg import svd
from .._support.check import positive_int
from ..errors import ArgumentError
from ._frames import (
    FrameManifold,
    cosine_series,
    finite,
    flat,
    frobenius,
    reflector,
    relative,
    renew,
)

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
    def typical_dist(self) -> float:
        return math.pi / 4 * math.sqrt(min(self.p, self.n - self.p))

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return frobenius(u, v)

    def dist(self, x: Array, y: Array) -> Array:
        # Small angles from sines, the singular values of (I - XXᵀ) Y, large ones from cosines,
        # those of XᵀY: either alone loses half the digits at one end.
        xp = namespace(x, y)
        k = x.mT @ y
        off = y - x @ k
        if xp is np and k.ndim == 2 and k.dtype == np.float64:
            # The squares of the sines sum to |off|², and in θ² - sin²θ = O(θ⁴) cosines do.
            excess = sum(math.acos(c) ** 2 - (1 - c) * (1 + c) for c in _cosines(k) if not c >= 1)
            distance = math.sqrt(float(np.vdot(off, off)) + excess)
            return 0.0 if distance < 1e-6 and np.array_equal(x, y) else distance
        gram, sound = finite(off.mT @ off)
        sin2 = xp.linalg.eigvalsh(gram)  # rising, as the cosines fall
        usual = (sin2 > eps(sin2)) & (sin2 < 1)
        theta = xp.asin(xp.sqrt(xp.where(usual, sin2, 0.5)))
        theta2 = xp.where(usual, theta * theta, xp.where(sin2 > 0, sin2, 0.0))
        far = sin2[..., -1] > 0.9
        if bool(xp.any(far)):
            large = sin2[far] > 0.5
            theta = xp.acos(xp.where(large, xp.linalg.svdvals(k[far]), 0.5))
            theta2[far] = xp.where(large, theta * theta, theta2[far])
        distance = safe_sqrt(xp.sum(theta2, axis=-1))
        distance = xp.where(sound, distance, math.nan)
        same = xp.all(flat(x) == flat(y), axis=-1)
        return xp.where(same, xp.zeros_like(distance), distance)

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        s = v.mT @ v
        length2 = frobenius(v, v)
        length = safe_sqrt(length2)

        def point(t: float | Array) -> Array:
            t2 = t * t
            s_t, step = expand(t2, 2) * s, expand(t, 2) * v
            versine, sinc = cosine_series(s_t, abs(t) * length)
            y = renew(x - x @ (s_t @ versine) + step @ sinc)
            return at_zero(expand(t2 * length2, 2), x + step, y)  # exp(x, 0) is x to the last bit

        return point

    def log(self, x: Array, y: Array) -> Array:
        k = y.mT @ x
        stretch, cos = _angle_over_sine(k)
        bad = cos[..., -1] <= self.n * eps(cos)
        return self.mark_cut_locus(bad, (y - x @ k.mT) @ stretch, x, y)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        u = self.log(x, y)
        # The lift at exp(x, u), another basis of the subspace y, turned to the basis y.
        return self.transport_along(x, u, v) @ (self.exp(x, u).mT @ y)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        versine, sinc = cosine_series(v.mT @ v, safe_sqrt(frobenius(v, v)))
        return w - (v @ versine + x @ sinc) @ (v.mT @ w)

    def to_coords(self, x: Array, v: Array) -> Array:
        return flat(reflector(x)(v)[..., self.p :, :])

    def from_coords(self, x: Array, c: Array) -> Array:
        xp = namespace(c)
        rows = xp.reshape(c, (*c.shape[:-1], self.n - self.p, self.p))
        top = xp.zeros_like(rows[..., :1, :])
        top = xp.broadcast_to(top, (*rows.shape[:-2], self.p, self.p))
        return reflector(x)(xp.concat([top, rows], axis=-2))

    def unit_tangent(
        self, rng: np.random.Generator, x: Array, batch: tuple[int, ...] = ()
    ) -> Array:
        # The metric is the ambient one, so a projected Gaussian is uniform and needs no basis.
        g = normal(rng, (*batch, *x.shape), x)
        u = g - x @ (x.mT @ g)
        return u / expand(safe_sqrt(frobenius(u, u)), 2)

    def to_tangent(self, x: Array, a: Array) -> Array:
        return a - x @ (x.mT @ a)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return self.to_tangent(x, g)

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        return "|xᵀv| / |v|", relative(x.mT @ v, v)

    def __repr__(self) -> str:
        return f"Grassmann({self.n}, {self.p})"


def _cosines(k: np.ndarray) -> list[float]:
    """Singular values of one small matrix, as plain floats: far quicker than an array of three."""
    return svd(k)[1].tolist()


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
