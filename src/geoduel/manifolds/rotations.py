"""Rotation groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._numerics.arrays import (
    Array,
    at_zero,
    constant,
    cos_sinc,
    device,
    dot,
    eps,
    expand,
    fails,
    holds,
    namespace,
    normal,
    safe_sqrt,
    signs,
    where,
)
from .._numerics.exponential import expm1
from .._numerics.gradients import detached
from .._numerics.linalg import eigh, fast_matmul, identity, svd, svdvals
from .._support.check import positive_int
from ..errors import ArgumentError, NotOnManifoldError
from ._border import Seed, as_array
from ._frames import flat, frobenius, largest, renew, shortened, too_long, turned
from .base import Manifold

__all__ = ["Rotations"]


@dataclass(frozen=True)
class Rotations(Manifold):
    """Rotations of Rⁿ, the group SO(n), with the bi-invariant metric.

    Point         (n, n), XᵀX = I, det X = 1.
    Tangent       (n, n), V = X Ω with Ω skew.
    Metric        <U, V> = tr(Uᵀ V) / 2: distances in SO(2) and SO(3) are the angle in radians, and
                  sqrt(sum θ²) over the planes of rotation in general.
    Dimension     n (n-1)/2; sectional curvature 0 for n = 2, 1/4 for n = 3, in [0, 1/2] beyond;
                  injectivity radius π.
    Source        Edelman, Arias and Smith, The geometry of algorithms with orthogonality
                  constraints (1998), section 2; Milnor, Curvatures of left invariant metrics on
                  Lie groups (1976).

    `log` is not unique where a plane turns by exactly π (to 2n rounding units); `dist` is right
    there too. For n = 2, `from_angle` and `to_angle` convert angles. For n = 3, quaternions, Euler
    angles and rotation vectors are the business of `scipy.spatial.transform.Rotation`: its
    ``as_matrix()`` gives points of this manifold, stacks included.

    Parameters
    ----------
    n : int, >= 2
        Size of the matrices.

    Examples
    --------
    >>> plane = Rotations(2)
    >>> x, y = plane.from_angle(0.5), plane.from_angle(2.0)
    >>> float(plane.dist(x, y))
    1.5
    >>> halfway = plane.exp(x, plane.log(x, y) / 2)
    >>> round(float(plane.to_angle(halfway)), 12)
    1.25
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive_int(self.n, "n", 2))

    @property
    def dim(self) -> int:
        return self.n * (self.n - 1) // 2

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    @property
    def curvature(self) -> tuple[float, float]:
        return {2: (0.0, 0.0), 3: (0.25, 0.25)}.get(self.n, (0.0, 0.5))

    @property
    def injectivity_radius(self) -> float:
        return math.pi

    @property
    def bounded(self) -> bool:
        return True

    @property
    def typical_dist(self) -> float:
        return math.pi / 2 * math.sqrt(self.n // 2)

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return 0.5 * frobenius(u, v)

    def dist(self, x: Array, y: Array) -> Array:
        xp = namespace(x, y)
        if self.n <= 3:
            return abs(_axis_angle(fast_matmul(x.mT, y - x))[1])
        # The singular values of Y ∓ X are 2 sin(θ/2) and 2 cos(θ/2), twice for each plane, and one
        # rises as the other falls. Arccosines of eigenvalues would lose half the digits.
        sin, cos = svdvals(y - x), xp.flip(svdvals(y + x), axis=-1)
        theta = 2 * xp.atan2(sin, cos)
        return safe_sqrt(0.5 * dot(theta, theta))

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        omega, fresh = self._omega(x, v), renew(x)  # one Newton-Schulz step ends rounding drift
        omega, size2 = shortened(omega, frobenius(omega, omega))
        size2 = 0.5 * size2
        turn = _exponential(omega, size2)

        def point(t: float | Array) -> Array:
            base = at_zero(expand(t * t * size2, 2), x, fresh)  # exp(x, 0) is x to the last bit
            return base + fast_matmul(fresh, turn(t))

        return point

    def log(self, x: Array, y: Array) -> Array:
        g = fast_matmul(x.mT, y - x)  # R - I of the rotation R = XᵀY; exactly zero for equal points
        if self.n <= 3:
            coords, angle = _axis_angle(g)
            omega = _skew(namespace(g).stack(coords, axis=-1), self.n)
        else:
            omega, angle = _logarithm(g)
        bad = abs(angle) > math.pi - 2 * self.n * eps(g)
        return self.mark_cut_locus(bad, fast_matmul(x, omega), x, y)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        omega = self._omega(x, v)
        omega, size2 = shortened(omega, frobenius(omega, omega))
        half = _exponential(omega, 0.5 * size2)(0.5)  # e^{Ω/2} - I
        moved = self._omega(x, w)
        moved = moved + fast_matmul(half, moved)
        return fast_matmul(x, moved + fast_matmul(moved, half))

    def to_coords(self, x: Array, v: Array) -> Array:
        omega, xp = flat(x.mT @ v), namespace(x)
        return xp.take(omega, _layout(self.n, xp, x.dtype, device(x))[0], axis=-1)

    def from_coords(self, x: Array, c: Array) -> Array:
        return fast_matmul(x, _skew(c, self.n))

    def to_tangent(self, x: Array, a: Array) -> Array:
        return fast_matmul(x, self._omega(x, a))

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return 2 * self.to_tangent(x, g)

    def to_manifold(self, a: Array) -> Array:
        """Nearest rotation in the Frobenius norm.

        Raises
        ------
        NotOnManifoldError
            Where it is not unique, such as for a reflection or a matrix of rank below n - 1.
        """
        xp = namespace(a)
        if fails(xp.isfinite(a)):
            raise NotOnManifoldError(f"to_manifold on {self}: not finite")
        u, s, vt = xp.linalg.svd(a, full_matrices=False)
        sign = signs(xp.linalg.det(u @ vt))  # ±1; -1 turns the direction that matters least
        gap = s[..., -2] + sign * s[..., -1]
        if fails(gap > self.n * eps(a) * s[..., 0]):
            raise NotOnManifoldError(
                f"to_manifold on {self}: no unique nearest rotation; the two smallest singular "
                f"values, signed by the determinant, sum to {float(xp.min(gap)):.3g}, expected > 0"
            )
        last = expand(sign - 1, 2) * u[..., :, -1:]
        return u @ vt + last * vt[..., -1:, :]

    def origin(self) -> Array:
        """The identity."""
        return np.eye(self.n)

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Uniform (Haar) rotations."""
        a = normal(rng, (*batch, self.n, self.n), like)
        xp = namespace(a)
        q, r = xp.linalg.qr(a)
        # QR is unique, and then Haar on O(n), only with a positive diagonal of r.
        q = q * xp.sign(xp.linalg.diagonal(r))[..., None, :]
        flip = xp.sign(xp.linalg.det(q))
        return xp.concat([expand(flip, 2) * q[..., :, :1], q[..., :, 1:]], axis=-1)

    def from_angle(self, theta: Any) -> Array:
        """Rotation of the plane by ``theta`` radians, shape ``(..., 2, 2)``; ``Rotations(2)`` only.

        Examples
        --------
        >>> Rotations(2).from_angle(0.5)
        array([[ 0.87758256, -0.47942554],
               [ 0.47942554,  0.87758256]])
        """
        self._need_plane("from_angle")
        theta = as_array(theta, "theta")
        xp = namespace(theta)
        c, s = xp.cos(theta), xp.sin(theta)
        return xp.stack([xp.stack([c, -s], axis=-1), xp.stack([s, c], axis=-1)], axis=-2)

    def to_angle(self, x: Array) -> Array:
        """Angle of a rotation of the plane, radians in [-π, π]; ``Rotations(2)`` only.

        Examples
        --------
        >>> plane = Rotations(2)
        >>> float(plane.to_angle(plane.from_angle(0.5)))
        0.5
        """
        self._need_plane("to_angle")
        self._check_array(x := self.pack(x, "x"), "x")
        return namespace(x).atan2(x[..., 1, 0] - x[..., 0, 1], x[..., 0, 0] + x[..., 1, 1])

    def point_defect(self, x: Array) -> tuple[str, Array]:
        xp = namespace(x)
        det = xp.linalg.det(x)
        if fails(~(det < 0)):
            worst = float(xp.min(det))
            return f"|det x - 1|, with determinant {worst:.3g} (a reflection),", abs(det - 1)
        return "the largest entry of |xᵀx - 1|", _peak(x.mT @ x - identity(x))

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        a, size, xp = x.mT @ v, _peak(v), namespace(x, v)
        size = xp.where(size == 0, xp.ones_like(size), size)
        return "the symmetric part of xᵀv, relative to v,", _peak(a + a.mT) / (2 * size)

    # -- private -----------------------------------------------------------------------------------

    def _omega(self, x: Array, v: Array) -> Array:
        """Skew part of XᵀV."""
        a = fast_matmul(x.mT, v)
        return 0.5 * (a - a.mT)

    def _need_plane(self, name: str) -> None:
        if self.n != 2:
            raise ArgumentError(
                f"{name} is for Rotations(2), got {self}; for n = 3 convert with "
                "scipy.spatial.transform.Rotation"
            )

    def __repr__(self) -> str:
        return f"Rotations({self.n})"


def _exponential(omega: Array, size2: Array) -> Callable[[float | Array], Array]:
    """The function t -> e^{tΩ} - I for skew Ω, |Ω|² / 2 = ``size2``."""
    if omega.shape[-1] <= 3:  # Rodrigues: (1 - cos tθ)/θ² Ω² + sin(tθ)/θ Ω
        square = fast_matmul(omega, omega)

        def turn(t: float | Array) -> Array:
            cos, sinc = cos_sinc(t * t * size2 / 4)
            return expand(t * t * sinc * sinc / 2, 2) * square + expand(t * sinc * cos, 2) * omega

    else:

        def turn(t: float | Array) -> Array:
            length = safe_sqrt(t * t * size2)
            if too_long(length):
                return turned(expand(t, 2) * omega) - identity(omega)
            size = largest(length)
            e = expm1(expand(t, 2) * omega, size)
            if size > 4:  # each of the squarings has doubled the rounding errors
                e = renew(identity(e) + e) - identity(e)
            return e

    return turn


def _axis_angle(g: Array) -> tuple[list[Array], Array]:
    """Coordinates of the logarithm of R = I + g for n = 2 or 3, and its angle in [-π, π]."""
    xp = namespace(g)
    if g.shape[-1] == 2:
        a, b, c, d = (g[..., i, j] for i in range(2) for j in range(2))
        angle = xp.atan2(c - b, 2 + a + d)
        return [angle], angle
    a, b, c, d, e, f, p, q, r = (g[..., i, j] for i in range(3) for j in range(3))
    # The products of the unit quaternion (w, z, -y, x) with itself, times 4. Each row is a multiple
    # of it; the one with the largest entry on the diagonal has full accuracy at every angle.
    products = (
        (4 + a + e + r, d - b, p - c, q - f),
        (d - b, r - a - e, -f - q, c + p),
        (p - c, -f - q, e - a - r, -b - d),
        (q - f, c + p, -b - d, a - e - r),
    )
    row, top = products[0], products[0][0]
    for i in (1, 2, 3):
        better = products[i][i] > top
        row = [where(better, new, old) for new, old in zip(products[i], row, strict=True)]
        top = where(better, products[i][i], top)
    cos, *axis = row
    sin = safe_sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2])
    angle = 2 * xp.atan2(sin, abs(cos))
    still = sin == 0  # then cos is 4, and the derivative of 2 atan(sin / 4) / sin is wanted
    scale = where(still, 0.5, angle / where(still, 1.0, sin))
    scale = where(cos < 0, -scale, scale)
    return [scale * a for a in axis], angle


def _logarithm(g: Array) -> tuple[Array, Array]:
    """Principal logarithm of R = I + g for any n, and its largest angle.

    The symmetric part of R has the eigenvalues cos θ, and the skew part maps each eigenspace to
    itself. Divided by 1 + cos θ it has the eigenvalues ±i tan(θ/2), and its arctangent gives the
    angles, well-conditioned but near π. Divided by 1 - cos θ it has ±i tan((π-θ)/2), which serves
    there, with the turn by π added. The planes are sorted into the two kinds at a gap of the
    spectrum, so no eigenspace is cut.
    """
    xp = namespace(g)
    r = detached(g)
    versine, q = eigh(0.5 * (r + r.mT))
    cos = 1 + versine
    far = cos < _widest_gap(cos, -0.6, 0.0)[..., None]
    root = 1 / xp.sqrt(1 + xp.where(far, -cos, cos))
    tan = root[..., :, None] * (q.mT @ (0.5 * (r - r.mT)) @ q) * root[..., None, :]
    tan = xp.where(far[..., :, None] ^ far[..., None, :], xp.zeros_like(tan), tan)
    tan2, p = eigh(tan.mT @ tan)
    length = xp.sqrt(abs(tan2))
    zero = length == 0
    ones = xp.ones_like(length)
    slope = xp.where(zero, ones, xp.atan(length) / xp.where(zero, ones, length))
    omega = 2 * (tan @ (p * slope[..., None, :]) @ p.mT)
    longest = 2 * xp.atan(length[..., -1])
    if not holds(~far, False):
        far = far[..., :, None] & far[..., None, :]
        turn, least = _complex_structure(tan, far)
        omega = xp.where(far, math.pi * turn - omega, omega)
        longest = xp.where(xp.any(far, axis=(-2, -1)), math.pi - 2 * least, longest)
    omega = q @ omega @ q.mT
    omega = 0.5 * (omega - omega.mT)
    if r is not g:
        omega = omega + _change_of_logarithm(omega, g - r)  # zero, but for its derivative
    return omega, longest


def _complex_structure(a: Array, block: Array) -> tuple[Array, Array]:
    """Orthogonal polar factor of a diagonal block of a skew matrix, and its least singular value.

    The block may hold sizes from 1 to 1e-9. The polar factor alone would be off by the rounding
    unit over the least. The part that is not skew is the first order of that error, and the steps
    towards J² = -1 remove the second.
    """
    xp = namespace(a)
    a = xp.where(block, a, xp.zeros_like(a))
    size = xp.sqrt(0.5 * frobenius(a, a))
    size = xp.where(size == 0, xp.ones_like(size), size)
    u, s, vt = svd(xp.where(block, a / expand(size, 2), identity(a)))
    turn = xp.where(block, u @ vt, xp.zeros_like(a))
    turn = 0.5 * (turn - turn.mT)
    for _ in range(3):
        turn = 1.5 * turn + 0.5 * turn @ turn @ turn
    return turn, s[..., -1] * size


def _change_of_logarithm(omega: Array, change: Array) -> Array:
    """Differential of the logarithm at R = e^Ω, applied to a change of R.

    Planes have double eigenvalues, where eigenvectors have no derivative; the logarithm has. In the
    eigenbasis of Ω each entry is divided by (e^{ia} - e^{ib}) / (ia - ib).
    """
    xp = namespace(omega)
    angle, u = xp.linalg.eigh(-1j * omega)
    u_h = xp.conj(u).mT
    a, b = angle[..., :, None], angle[..., None, :]
    divisor = xp.exp(0.5j * (a + b)) * cos_sinc((a - b) ** 2 / 4)[1]
    return xp.real(u @ ((u_h @ (change * (1 + 0j)) @ u) / divisor) @ u_h)


def _widest_gap(a: Array, low: float, high: float) -> Array:
    """Middle of the widest gap in [low, high] between the ascending numbers ``a``."""
    xp = namespace(a)
    end = xp.ones_like(a[..., :1])
    a = xp.concat([low * end, xp.clip(a, low, high), high * end], axis=-1)
    gap = a[..., 1:] - a[..., :-1]
    widest = xp.argmax(gap, axis=-1)[..., None] == xp.arange(gap.shape[-1], device=device(a))
    middle = 0.5 * (a[..., 1:] + a[..., :-1])
    return xp.sum(xp.where(widest, middle, xp.zeros_like(middle)), axis=-1)


def _skew(c: Array, n: int) -> Array:
    """Skew matrices whose entries below the diagonal, row by row, are ``c``."""
    xp = namespace(c)
    _, places, sign = _layout(n, xp, c.dtype, device(c))
    return sign * xp.reshape(xp.take(c, places, axis=-1), (*c.shape[:-1], n, n))


@constant
def _layout(n: int, xp: Any, dtype: Any, where: Any) -> tuple[Array, Array, Array]:
    """Places of the coordinates among the n² entries; the coordinate of each entry; its sign."""
    rows, columns = np.tril_indices(n, -1)
    coordinate = np.zeros((n, n), dtype=np.int64)
    coordinate[rows, columns] = coordinate[columns, rows] = np.arange(rows.size)
    sign = np.tri(n, k=-1) - np.tri(n, k=-1).T
    return (
        xp.asarray(n * rows + columns, device=where),
        xp.asarray(coordinate.ravel(), device=where),
        xp.asarray(sign, dtype=dtype, device=where),
    )


def _peak(a: Array) -> Array:
    """Largest size of an entry, one for each matrix."""
    return namespace(a).max(abs(a), axis=(-2, -1))
