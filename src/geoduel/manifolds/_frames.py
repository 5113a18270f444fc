"""Orthonormal frames: what Stiefel and Grassmann share.

Functions of small matrices are summed as power series, by products alone. For stacks of small
matrices that is several times quicker than eigenvectors, and unlike them it has a derivative where
eigenvalues coincide, at the zero vector for one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._numerics.arrays import (
    HIDDEN,
    Array,
    constant,
    device,
    dot,
    eps,
    expand,
    fails,
    namespace,
    normal,
    safe_sqrt,
    top,
)
from .._numerics.exponential import expm1
from .._numerics.linalg import eigh, fast_matmul, identity, svd
from ..errors import ArgumentError, NotOnManifoldError
from ._border import Seed
from .base import Manifold

__all__ = [
    "FrameManifold",
    "expm",
    "finite",
    "flat",
    "frobenius",
    "generator",
    "gram_defect",
    "identity",
    "largest",
    "long_way",
    "polar",
    "reflector",
    "refuse_far_transport",
    "relative",
    "renew",
    "shortened",
    "skew_action",
    "too_long",
    "turned",
]


class FrameManifold(Manifold):
    """A manifold whose points are n x p arrays with orthonormal columns."""

    n: int
    p: int

    def to_manifold(self, a: Array) -> Array:
        """Orthonormal basis of the column space that is nearest to ``a``, its polar factor.

        Raises
        ------
        NotOnManifoldError
            If the columns are linearly dependent.
        """
        return polar(a, self)

    def origin(self) -> Array:
        """The first p unit vectors."""
        return np.eye(self.n, self.p)

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Uniform (Haar) frames; for p = n in both components of O(n)."""
        return polar(normal(rng, (*batch, self.n, self.p), like), self)

    def point_defect(self, x: Array) -> tuple[str, Array]:
        return gram_defect(x)


def flat(a: Array) -> Array:
    """Matrices as vectors, row by row."""
    return namespace(a).reshape(a, (*a.shape[:-2], a.shape[-2] * a.shape[-1]))


def frobenius(u: Array, v: Array) -> Array:
    """Sum of the products of the entries; a Python float for two NumPy matrices."""
    if type(u) is np.ndarray and u.ndim == v.ndim == 2 and u.dtype == np.float64:
        return float(np.vdot(u, v))
    return dot(flat(u), flat(v))


def relative(part: Array, whole: Array) -> Array:
    """Frobenius norm of one array over that of another, and 0 over 0 is 0."""
    xp = namespace(part, whole)
    size = xp.asarray(safe_sqrt(frobenius(whole, whole)))
    return safe_sqrt(frobenius(part, part)) / xp.where(size == 0, xp.ones_like(size), size)


def gram_defect(x: Array) -> tuple[str, Array]:
    """What measures how far columns are from orthonormal (words), and its value."""
    gram = x.mT @ x - identity(x, x.shape[-1])
    return "|xᵀx - 1|", safe_sqrt(frobenius(gram, gram))


def largest(a: Array) -> float:
    """Largest of some numbers >= 0, as a plain float without derivatives.

    Numbers that are not finite do not count: they spoil their own problem alone.
    """
    if isinstance(a, float):
        return a
    xp = namespace(a)
    a = a.detach() if getattr(a, "requires_grad", False) else a
    a = xp.where(xp.isfinite(a), a, xp.zeros_like(a))
    return float(xp.max(a)) if math.prod(a.shape) else 0.0


def finite(a: Array) -> tuple[Array, Array]:
    """Matrices with those set to zero that are not finite, which LAPACK refuses; and which are."""
    xp = namespace(a)
    sound = xp.isfinite(xp.sum(a, axis=(-2, -1)))
    return xp.where(sound[..., None, None], a, xp.zeros_like(a)), sound


_LONG = 64.0  # lengths from which on series and squarings of matrices lose too much


def too_long(length: Array) -> bool:
    """Whether a geodesic turns so often that its end is to be found by eigenvectors.

    Where a transformation hides its length, it may be so long.
    """
    try:
        return largest(length) > _LONG
    except HIDDEN:
        return True


def shortened(v: Array, length2: Array) -> tuple[Array, Array]:
    """Tangent vectors and their squared lengths; those whose squares overflow made shorter.

    They turn so often that no digit of their angle is left: any of their points is as good.
    """
    if top(length2) < math.inf:
        return v, length2
    xp, limit = namespace(v), 1e-10 * math.sqrt(namespace(v).finfo(v.dtype).max)
    size = xp.max(abs(v), axis=(-2, -1))
    over = size > limit
    v = v * expand(xp.where(over, limit / xp.where(over, size, xp.ones_like(size)), 1.0), 2)
    return v, frobenius(v, v)


def refuse_far_transport(owner: object, v: Array) -> None:
    """Raise where transport along so long a way would take hours and mean nothing."""
    size = top(namespace(v).max(abs(v), axis=(-2, -1)))
    if size > 1e4:
        raise ArgumentError(
            f"v is too long for transport_along on {owner}: an entry is {size:.3g}, at most 1e4"
        )


def turned(omega: Array) -> Array:
    """``e^Ω`` of skew matrices of any size, orthogonal to rounding: by eigenvectors."""
    xp = namespace(omega)
    angle, q = eigh(1j * omega)
    angle = 0.5 * (angle - xp.flip(angle, axis=-1))  # they come in pairs
    e = xp.real((q * xp.exp(-1j * angle)[..., None, :]) @ xp.conj(q).mT)
    u, _, vt = svd(xp.astype(e, omega.dtype))
    return u @ vt


def long_way(x: Array, a: Array, b: Array, c: int, t: float | Array) -> Array:
    """``e^{tΞ} X e^{(1-c)tA}``, Ξ = N Xᵀ - X Nᵀ + c X A Xᵀ with b = N, however long the way."""
    xp, p = namespace(x, b), x.shape[-1]
    q, r = xp.linalg.qr(b)
    t = expand(t, 2)
    zero = xp.zeros((*r.shape[:-2], r.shape[-2], r.shape[-2]), dtype=r.dtype, device=device(r))
    upper = xp.concat([c * t * a, -t * r.mT], axis=-1)
    lower = xp.concat([t * r, t * zero], axis=-1)
    e = turned(xp.concat([upper, lower], axis=-2))[..., :p]
    y, sound = finite(x @ e[..., :p, :] + q @ e[..., p:, :])
    u, _, vt = xp.linalg.svd(y, full_matrices=False)  # where b is short of rank, q is not normal
    y = xp.where(expand(sound, 2), u @ vt, math.nan)
    return y if c == 1 else y @ turned(-t * a)


def renew(y: Array) -> Array:
    """One Newton-Schulz step to the nearest frame, so that rounding does not drift off."""
    return 1.5 * y - fast_matmul(y, 0.5 * fast_matmul(y.mT, y))


def polar(a: Array, owner: object) -> Array:
    """Nearest orthonormal frame, the polar factor of ``a``.

    Raises
    ------
    NotOnManifoldError
        If the columns are dependent, so that it is not unique, or not finite.
    """
    xp = namespace(a)
    if fails(xp.isfinite(a)):
        raise NotOnManifoldError(f"to_manifold on {owner}: not finite")
    u, s, vt = xp.linalg.svd(a, full_matrices=False)
    if fails(s[..., -1] > a.shape[-2] * eps(a) * s[..., 0]):
        raise NotOnManifoldError(
            f"to_manifold on {owner}: the columns are linearly dependent, smallest singular value "
            f"{float(xp.min(s)):.3g}, expected > 0"
        )
    return u @ vt


def reflector(x: Array) -> Callable[[Array], Array]:
    """Reflection of Rⁿ that takes the span of the frame ``x`` to the first p axes, and back.

    The rows below the first p of the reflected tangent vector are its coordinates in a fixed
    orthonormal basis of the complement. Like a Householder reflection it costs O(n p²) and no
    n x n matrix: I - B (I + P)⁻¹ Bᵀ with B = x + [W; 0]. Here W P is the polar decomposition of
    the top of x, so that I + P never is near singular.
    """
    xp = namespace(x)
    p = x.shape[-1]
    u, s, vt = svd(x[..., :p, :])
    b = xp.concat([x[..., :p, :] + u @ vt, x[..., p:, :]], axis=-2)
    inverse = (vt.mT / (1 + s)[..., None, :]) @ vt
    return lambda v: v - b @ (inverse @ (b.mT @ v))


def expm(a: Array, size: Array) -> Array:
    """Exponential of square matrices of norm at most ``size``, a number for each."""
    return identity(a) + expm1(a, largest(size))


def generator(a: Array, gram: Array, integral: bool = False) -> Array:
    """M with ``e^{tΞ} [X N] = [X N] e^{tM}`` for Ξ = N Xᵀ - X Nᵀ + X A Xᵀ, Xᵀ N = 0, Nᵀ N = gram.

    N is not made orthonormal, so nothing special happens where it is short of full rank. With
    ``integral`` M gets a third row and column, and e^M there ∫ e^{sM} ds for its first.
    """
    xp = namespace(a)
    top = [a, -gram]
    lower = _lower(a.shape[-1], integral, xp, a.dtype, device(a))
    if integral:
        top.append(xp.broadcast_to(lower[: a.shape[-1], : a.shape[-1]], a.shape))
    lower = xp.broadcast_to(lower, (*a.shape[:-2], *lower.shape))
    return xp.concat([xp.concat(top, axis=-1), lower], axis=-2)


@constant
def _lower(p: int, integral: bool, xp: Any, dtype: Any, where: Any) -> Array:
    """Rows [I 0], or [I 0 0] and [0 0 0]."""
    rows = 2 if integral else 1
    return xp.eye(rows * p, (rows + 1) * p, dtype=dtype, device=where) * xp.asarray(
        [[1.0]] * p + [[0.0]] * (rows - 1) * p, dtype=dtype, device=where
    )


def skew_action(apply: Callable[[Array], Array], w: Array, bound: float) -> Array:
    """``e^K w`` for an operator K that is skew in some metric, of norm at most ``bound``.

    Chebyshev series J₀ + 2 Σ Jₖ(bound) Tₖ: some bound + 20 applications of K, and no rounding
    errors that grow (Tal-Ezer and Kosloff 1984).
    """
    if not 0 < bound < math.inf:
        return w + apply(w)  # nothing more in the series; what is not finite stays so
    count = int(bound + 10 * bound ** (1 / 3)) + 20
    from scipy.special import jv

    bessel = jv(np.arange(count), bound)
    count = int(np.flatnonzero(abs(bessel) > eps(w) / 8)[-1]) + 1
    before, now = w, apply(w) / bound
    total = float(bessel[0]) * before + 2 * float(bessel[1]) * now
    for k in range(2, count):
        before, now = now, (2 / bound) * apply(now) + before
        total = total + 2 * float(bessel[k]) * now
    return total
