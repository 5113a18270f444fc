"""The affine-invariant metric of SPD matrices."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..._numerics.arrays import Array, dot, namespace, safe_sqrt
from ..._numerics.gradients import attach, detached, tracked
from ..._numerics.linalg import (
    cholesky,
    congruence,
    eigh,
    eigvalsh,
    factor,
    identity,
    lanes,
    matmul,
    svd,
)
from ..._numerics.symmetric import (
    exp_differences,
    exponential,
    exponentials,
    hadamard,
    pack,
    spectral,
    sym,
    unpack,
)
from .metric import Metric, flat_dot, flattened
from .near import Between

__all__ = []


class AffineInvariant(Metric):
    """<U, V>_X = tr(X⁻¹ U X⁻¹ V), the metric that every congruence X -> G X Gᵀ preserves.

    With X = L Lᵀ and everything seen from X (W = L⁻¹ V L⁻ᵀ, B = L⁻¹ Y L⁻ᵀ):

        exp_X(V)     = L e^W Lᵀ
        log_X(Y)     = L log(B) Lᵀ
        dist(X, Y)   = |log B|, from the eigenvalues
        transport of U along V is E U Eᵀ with E = L e^{W/2} L⁻¹

    Stacks of points, unless they are very far apart, and single near ones are seen from
    X + Y = M Mᵀ instead. The eigenvalues of S = M⁻¹ (Y - X) M⁻ᵀ are tanh(λ/2), λ those of log B.
    It is small for near points, so that products alone lead to

        log_X(Y)     = M (I - S) artanh(S) Mᵀ
        dist(X, Y)   = 2 |artanh S|
        transport    E = M (I + S) (I - S²)^{-1/2} M⁻¹
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
        low = inverse = steep = None

        def dist(y: Array) -> Array:
            nonlocal low, inverse, steep
            if low is None:  # else y was far, and it hardly pays to try again
                if (seen := Between.of(x, y, 16)) and (distance := seen.dist()) is not None:
                    return seen.mended(distance, self.dist, x, y)
                low, inverse = factor(x)
                steep = low.ndim > 2 and _is_steep(low)
            if steep and not tracked(x, y):
                logs = _log_singular_values(low, inverse, y)
            else:
                e = congruence(inverse, y - x)
                if tracked(e):
                    logs = flattened(_log_matrix(e, *_log_spectrum(e, low, inverse, y)))
                else:
                    logs = _log_spectrum(e, low, inverse, y, vectors=False)[0]
            return safe_sqrt(dot(logs, logs))

        return dist

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        low, inverse = factor(x)
        return exponential(congruence(inverse, v), low, lanes(x))

    def exp(self, x: Array, v: Array) -> Array:
        low, inverse = factor(x)
        return exponentials(congruence(inverse, v), low, lanes(x), pair=False)[0]

    def exp_pair(self, x: Array, v: Array) -> tuple[Array, Array]:
        low, inverse = factor(x)
        ahead, behind = exponentials(congruence(inverse, v), low, lanes(x), pair=True)
        return ahead, behind

    def log(self, x: Array, y: Array) -> Array:
        if (seen := Between.of(x, y, 8)) and (v := seen.log()) is not None:
            return seen.mended(v, self.log, x, y)
        low, inverse = factor(x)
        e = congruence(inverse, y - x)
        logs, q = _log_spectrum(e, low, inverse, y)
        if tracked(low, e):
            return sym(congruence(low, _log_matrix(e, logs, q)))
        return spectral(matmul(low, q), logs)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        return sym(congruence(self._carrier(x, y), v))

    def _carrier(self, x: Array, y: Array) -> Array:
        """E for which the transport of V is E V Eᵀ."""
        if (seen := Between.of(x, y, 2)) and (carrier := seen.carrier()) is not None:
            return seen.mended(carrier, self._carrier, x, y)
        low, inverse = factor(x)
        e = congruence(inverse, y - x)
        spectrum = _log_spectrum(e, low, inverse, y)
        return exponential(_log_matrix(e, *spectrum), low, identity(x), inverse, spectrum)(0.5)

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

    From E, which is exactly zero for equal points and accurate for near ones, unless the spectrum
    of B is wide: its small eigenvalues are then lost in rounding, at condition 1e12 even their
    sign. The singular values of L⁻¹ M, Y = M Mᵀ, are their roots and keep twice the digits.
    """
    xp = namespace(e)
    values, q = eigh(detached(e)) if vectors else (eigvalsh(detached(e)), None)
    if values.ndim == 1:
        least, most = float(values[0]), float(values[-1])
        if max(-least, most) <= _WIDE * (1 + least):
            return xp.log1p(values), q
        u, s, _ = svd(_relative(low, inverse, y))
        return 2 * xp.log(s), u
    least, most = values[..., 0], values[..., -1]
    narrow = xp.maximum(-least, most) <= _WIDE * (1 + least)
    if bool(xp.all(narrow)):
        return xp.log1p(values), q
    values = xp.log1p(xp.where(narrow[..., None], values, xp.zeros_like(values)))
    u, s, _ = svd(_relative(low, inverse, y)[~narrow])
    values[~narrow] = 2 * xp.log(s)
    if q is not None:
        q[~narrow] = u
    return values, q


_WIDE = 64.0  # loss of accuracy by the spread of a spectrum that is accepted for speed


def _log_singular_values(low: Array, inverse: Array, y: Array) -> Array:
    """The logarithms of `_log_spectrum`, where most spectra are wide."""
    xp = namespace(low)
    return 2 * xp.log(xp.linalg.svdvals(_relative(low, inverse, y)))


def _relative(low: Array, inverse: Array, y: Array) -> Array:
    """L⁻¹ M with Y = M Mᵀ; exactly I for Y = X."""
    low = detached(low)
    return identity(low) + detached(inverse) @ (cholesky(detached(y)) - low)


def _is_steep(low: Array) -> bool:
    """Whether a matrix of the stack has a condition number of 1e3 or more, by its factor."""
    xp = namespace(low)
    pivots = detached(xp.linalg.diagonal(low))
    return bool(xp.any(xp.max(pivots, axis=-1) > 30 * xp.min(pivots, axis=-1)))


def _log_matrix(e: Array, logs: Array, vectors: Array) -> Array:
    """log(I + E) from its spectrum."""
    return attach(
        spectral(vectors, logs),
        (e,),
        lambda g: (hadamard(vectors, 1 / exp_differences(logs), g),),
    )
