"""Functions of symmetric matrices, and their derivatives.

Automatic differentiation of an eigendecomposition divides by the gaps between eigenvalues and is
NaN where two agree: at the identity, at zero vectors. A function f of a symmetric matrix is smooth
there all the same. Its derivative is exact in the eigenbasis (Daleckii and Krein),

    D f(S)[V] = Q (f[λᵢ, λⱼ] ∘ Qᵀ V Q) Qᵀ,      f[a, b] = (f(a) - f(b)) / (a - b),

and these divided differences are formed here without cancellation, equal eigenvalues included.

Source: Bhatia, Matrix Analysis (1997), section V.3; Higham, Functions of Matrices (2008), 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import OutOfRangeError
from .arrays import Array, constant, device, eps, expand, namespace, top
from .gradients import attach, detached, tracked
from .linalg import congruence, eigh, eigh_positive, fast_matmul

__all__ = [
    "ExpLog",
    "exp_difference",
    "exp_differences",
    "exponential",
    "hadamard",
    "pack",
    "refuse_beyond",
    "spectral",
    "sym",
    "unpack",
]


def sym(a: Array) -> Array:
    """Symmetric part; symmetric to the last bit, since addition commutes."""
    return 0.5 * (a + a.mT)


def pack(s: Array) -> Array:
    """Coordinates of symmetric matrices in the orthonormal basis of the Frobenius product.

    Row by row below the diagonal; entries off the diagonal count √2. Shape ``(..., n (n+1) / 2)``.
    """
    xp, n = namespace(s), s.shape[-1]
    place, _, weight = _layout(n, xp, s.dtype, device(s))
    return xp.take(xp.reshape(s, (*s.shape[:-2], n * n)), place, axis=-1) * weight


def unpack(c: Array, n: int) -> Array:
    """Symmetric matrices with the coordinates ``c``; the inverse of `pack`."""
    xp = namespace(c)
    _, index, weight = _layout(n, xp, c.dtype, device(c))
    return xp.reshape(xp.take(c / weight, index, axis=-1), (*c.shape[:-1], n, n))


@constant
def _layout(n: int, xp: Any, dtype: Any, where: Any) -> tuple[Array, Array, Array]:
    """Place of each coordinate in the matrix, coordinate of each entry, weights."""
    rows, columns = np.tril_indices(n)
    index = np.zeros((n, n), dtype=np.int64)
    index[rows, columns] = index[columns, rows] = np.arange(rows.size)
    weight = np.where(rows == columns, 1.0, math.sqrt(2))
    return (
        xp.asarray(rows * n + columns, device=where),
        xp.asarray(index.ravel(), device=where),
        xp.asarray(weight, dtype=dtype, device=where),
    )


# -- derivatives -----------------------------------------------------------------------------------


def hadamard(vectors: Array, weights: Array, v: Array) -> Array:
    """Q (weights ∘ Qᵀ V Q) Qᵀ: multiply the entries that V has in the eigenbasis Q."""
    return sym(congruence(vectors, weights * congruence(vectors.mT, v)))


def exp_difference(a: Array, b: Array) -> Array:
    """Divided difference of exp, (e^a - e^b) / (a - b), right for equal and for close numbers.

    Its reciprocal is the divided difference of log at e^a and e^b.
    """
    xp = namespace(a)
    gap = abs(a - b)
    same = gap == 0
    quotient = -xp.expm1(-gap) / xp.where(same, xp.ones_like(gap), gap)
    return xp.exp(xp.maximum(a, b)) * xp.where(same, xp.ones_like(gap), quotient)


def exp_differences(a: Array) -> Array:
    """Divided differences of exp at all pairs of the last axis, shape ``(..., n, n)``."""
    return exp_difference(a[..., :, None], a[..., None, :])


def _exp_second_differences(a: Array) -> Array:
    """Second divided differences of exp at all triples, shape ``(..., n, n, n)``."""
    xp = namespace(a)
    i, j, k = a[..., :, None, None], a[..., None, :, None], a[..., None, None, :]
    triples = xp.sort(xp.stack(xp.broadcast_arrays(i, j, k)), axis=0)
    low, middle, high = triples[0, ...], triples[1, ...], triples[2, ...]
    gap = high - low
    # The quotient loses eps / gap, half the second derivative in the middle is off by gap².
    close = gap < eps(a) ** (1 / 3)
    rise = exp_difference(high, middle) - exp_difference(middle, low)
    centre = xp.exp((low + middle + high) / 3) / 2
    return xp.where(close, centre, rise / xp.where(close, xp.ones_like(gap), gap))


class ExpLog:
    """A symmetric matrix S and X = e^S from one eigendecomposition, with both derivatives.

    Attributes
    ----------
    log : array of shape (..., n, n)
        S.
    values, vectors : arrays of shape (..., n) and (..., n, n)
        Eigenvalues and eigenvectors of S; X has the same vectors.

    Examples
    --------
    >>> pair = ExpLog.of_point(np.diag([1.0, np.e]))
    >>> pair.log
    array([[0., 0.],
           [0., 1.]])
    >>> pair.dlog(np.diag([3.0, 0.0]))  # derivative of the logarithm, d log t = dt / t
    array([[3., 0.],
           [0., 0.]])
    """

    def __init__(self, log: Array, values: Array, vectors: Array) -> None:
        self.log, self.values, self.vectors = log, values, vectors

    @classmethod
    def of_point(cls, x: Array) -> ExpLog:
        """From a positive definite matrix X; raises `NotOnManifoldError` if it is not one."""
        values, vectors = eigh_positive(detached(x))
        values = namespace(x).log(values)
        log = attach(
            spectral(vectors, values),
            (x,),
            lambda g: (hadamard(vectors, 1 / exp_differences(values), g),),
        )
        return cls(log, values, vectors)

    @classmethod
    def of_log(cls, s: Array) -> ExpLog:
        """From a symmetric matrix S."""
        return cls(s, *eigh(detached(s)))

    def point(self) -> Array:
        """X = e^S."""
        value = spectral(self.vectors, namespace(self.values).exp(self.values))
        return attach(value, (self.log,), lambda g: (self.dexp(g),))

    def dexp(self, h: Array) -> Array:
        """Derivative of exp at S in the direction h, a tangent vector at X."""
        q, weights = self.vectors, exp_differences(self.values)
        value = hadamard(q, weights, detached(h))
        return attach(
            value,
            (self.log, h),
            lambda g: (self._second(detached(h), sym(g)), hadamard(q, weights, g)),
        )

    def dlog(self, v: Array) -> Array:
        """Derivative of log at X in the direction v; undoes `dexp`."""
        q, weights = self.vectors, 1 / exp_differences(self.values)
        value = hadamard(q, weights, detached(v))

        def adjoint(g: Array) -> tuple[Array, Array]:
            back = hadamard(q, weights, g)
            return -self._second(value, back), back

        return attach(value, (self.log, v), adjoint)

    def _second(self, u: Array, v: Array) -> Array:
        """Second derivative of exp at S in the directions u and v."""
        q = self.vectors
        u, v = q.mT @ u @ q, q.mT @ v @ q
        pairs = u[..., :, None, :] * v[..., None, :, :] + v[..., :, None, :] * u[..., None, :, :]
        total = namespace(u).sum(_exp_second_differences(self.values) * pairs, axis=-1)
        return sym(q @ total @ q.mT)


def spectral(vectors: Array, values: Array) -> Array:
    """Q diag(values) Qᵀ."""
    return sym(fast_matmul(vectors * values[..., None, :], vectors.mT))


# -- the exponential along a line ------------------------------------------------------------------


def refuse_beyond(reach: Array, like: Array, what: str) -> None:
    """Raise where eigenvalues e^±reach leave the numbers of an array's dtype."""
    if top(reach) > math.log(namespace(like).finfo(like.dtype).max):
        raise OutOfRangeError(
            f"v is too long for exp on SPD: eigenvalues {what} exp({top(reach):.6g}), beyond the "
            f"numbers of {like.dtype}"
        )


def exponential(
    w: Array,
    left: Array,
    product: Array,
    right: Array | None = None,
    spectrum: tuple[Array, Array] | None = None,
) -> Callable[[float | Array], Array]:
    """Return ``t -> left e^{tW} right`` for symmetric W, sharing the work over t.

    Where tW is small it is ``product + left (e^{tW} - I) right``, exact at t = 0 and with every
    digit of a short step; where tW is large that sum would cancel.

    Parameters
    ----------
    w, left, right : arrays of shape (..., n, n)
        ``right`` is the transpose of ``left`` if not given, and results then are symmetric to the
        last bit.
    product : array of shape (..., n, n)
        ``left right``, known to the last bit.
    spectrum : tuple of arrays, optional
        Eigenvalues and eigenvectors of W, where they are known.
    """
    xp = namespace(w)
    values, vectors = spectrum or eigh(detached(w))
    size = xp.maximum(abs(values[..., 0]), abs(values[..., -1]))
    start = fast_matmul(left, vectors)
    end = start if right is None else fast_matmul(right.mT, vectors)

    def at(t: float | Array) -> Array:
        numbers = detached(t)
        a = expand(numbers, 1) * values
        reach = abs(numbers) * size
        refuse_beyond(reach, w, "change by a factor of")
        near = reach <= 1
        if isinstance(near, np.bool):  # one problem
            e, before = (xp.expm1(a), product) if near else (xp.exp(a), 0.0)
        else:
            near = near[..., None]
            e = xp.where(near, xp.expm1(a), xp.exp(a))
            before = xp.where(near[..., None], product, 0.0)
        if tracked(w, t):
            tw = expand(t, 2) * w
            middle = attach(
                spectral(vectors, e), (tw,), lambda g: (hadamard(vectors, exp_differences(a), g),)
            )
            moved = left @ middle @ (left.mT if right is None else right)
        else:
            moved = fast_matmul(start * e[..., None, :], end.mT)
        if right is None:
            moved = sym(moved)
        return before + moved

    return at
