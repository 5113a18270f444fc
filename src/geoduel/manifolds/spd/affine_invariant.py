"""The affine-invariant metric of SPD matrices."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..._numerics.arrays import Array, dot, holds, namespace, safe_sqrt
from ..._numerics.gradients import attach, detached, tracked
from ..._numerics.linalg import (
    cholesky,
    congruence,
    eigh,
    eigvalsh,
    factor,
    fast_matmul,
    identity,
    svd,
)
from ..._numerics.symmetric import (
    exp_differences,
    exponential,
    hadamard,
    pack,
    spectral,
    sym,
    unpack,
)
from .metric import Metric, flat_dot, flattened

__all__ = ["AffineInvariant"]


class AffineInvariant(Metric):
    """<U, V>_X = tr(X⁻¹ U X⁻¹ V), the metric that every congruence X -> G X Gᵀ preserves.

    With X = L Lᵀ and everything seen from X (W = L⁻¹ V L⁻ᵀ, B = L⁻¹ Y L⁻ᵀ):

        exp_X(V)     = L e^W Lᵀ
        log_X(Y)     = L log(B) Lᵀ
        dist(X, Y)   = |log B|, from the eigenvalues
        transport of U along V is E U Eᵀ with E = L e^{W/2} L⁻¹
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.curvature = (-0.5, 0.0) if n > 1 else (0.0, 0.0)
        self.typical_dist = math.sqrt(n * (n + 1) / 2)

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        _, inverse = factor(x)
        a = congruence(inverse, u)
        return flat_dot(a, a if v is u else congruence(inverse, v))

    def dist_from(self, x: Array) -> Callable[[Array], Array]:
        low, inverse = factor(x)

        def dist(y: Array) -> Array:
            e = congruence(inverse, y - x)
            if tracked(e):
                logs = flattened(_log_matrix(e, *_log_spectrum(e, low, inverse, y)))
            else:
                logs = _log_spectrum(e, low, inverse, y, vectors=False)[0]
            return safe_sqrt(dot(logs, logs))

        return dist

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        low, inverse = factor(x)
        return exponential(congruence(inverse, v), low, x)

    def log(self, x: Array, y: Array) -> Array:
        low, inverse = factor(x)
        e = congruence(inverse, y - x)
        logs, q = _log_spectrum(e, low, inverse, y)
        if tracked(low, e):
            return sym(congruence(low, _log_matrix(e, logs, q)))
        return spectral(fast_matmul(low, q), logs)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        low, inverse = factor(x)
        e = congruence(inverse, y - x)
        spectrum = _log_spectrum(e, low, inverse, y)
        half = exponential(_log_matrix(e, *spectrum), low, identity(x), inverse, spectrum)(0.5)
        return sym(congruence(half, v))

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        low, inverse = factor(x)
        half = exponential(congruence(inverse, v), low, identity(x), inverse)(0.5)
        return sym(congruence(half, w))

    def to_coords(self, x: Array, v: Array) -> Array:
        _, inverse = factor(x)
        return pack(congruence(inverse, v))

    def from_coords(self, x: Array, c: Array) -> Array:
        return sym(congruence(cholesky(x), unpack(c, self.n)))

    def gradient(self, x: Array, g: Array) -> Array:
        return sym(congruence(x, sym(g)))


def _log_spectrum(
    e: Array, low: Array, inverse: Array, y: Array, vectors: bool = True
) -> tuple[Array, Array | None]:
    """Logarithms of the eigenvalues of B = I + E = L⁻¹ Y L⁻ᵀ, and its eigenvectors.

    They come from E, which is exactly zero for equal points and accurate for near ones. Where the
    spectrum of B is wide, its small eigenvalues are lost in rounding, at condition 1e12 even their
    sign. There the singular values of L⁻¹ M, Y = M Mᵀ, are their roots and keep twice the digits.
    """
    xp = namespace(e)
    values, q = eigh(detached(e)) if vectors else (eigvalsh(detached(e)), None)
    least, most = values[..., 0], values[..., -1]
    narrow = (xp.maximum(-least, most) <= _WIDE * (1 + least))[..., None]
    if holds(narrow, False):
        return xp.log1p(values), q
    u, s, _ = svd(_relative(low, inverse, y))
    logs = xp.where(narrow, xp.log1p(xp.where(narrow, values, 0.0)), 2 * xp.log(s))
    return logs, q if q is None else xp.where(narrow[..., None], q, u)


_WIDE = 64.0  # loss of accuracy by the spread of a spectrum that is accepted for speed


def _relative(low: Array, inverse: Array, y: Array) -> Array:
    """L⁻¹ M with Y = M Mᵀ; exactly I for Y = X."""
    low = detached(low)
    return identity(low) + detached(inverse) @ (cholesky(detached(y)) - low)


def _log_matrix(e: Array, logs: Array, vectors: Array) -> Array:
    """log(I + E) from its spectrum."""
    return attach(
        spectral(vectors, logs),
        (e,),
        lambda g: (hadamard(vectors, 1 / exp_differences(logs), g),),
    )
