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
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from ._arrays import Array, device, dot, eps, expand, namespace
from ._linalg import congruence, eigh, eigh_positive, matmul, stop, tracked, weighted

__all__ = [
    "ExpLog",
    "attach",
    "economised",
    "exp_difference",
    "exp_differences",
    "exponential",
    "exponential_pair",
    "hadamard",
    "pack",
    "spectral",
    "sym",
    "unpack",
]


def sym(a: Array) -> Array:
    """Symmetric part; symmetric to the last bit, since addition commutes."""
    even = 0.5 * (a + a.mT)
    if type(a) is np.ndarray and a.ndim > 2:
        return np.ascontiguousarray(even)  # results do not stay in `lanes`
    return even


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


@cache
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


def attach(
    value: Array, inputs: tuple[Array, ...], adjoint: Callable[[Array], tuple[Array, ...]]
) -> Array:
    """Give ``value`` its derivative where torch asks for gradients; otherwise return it as it is.

    Parameters
    ----------
    value : array
        Computed from the numbers of ``inputs`` alone (`stop`).
    inputs : tuple of arrays
        What the value depends on.
    adjoint : callable
        Maps the gradient with respect to the value to those with respect to the inputs. It is not
        differentiated itself: second derivatives raise `NotImplementedError`.
    """
    return _attached().apply(value, adjoint, *inputs) if tracked(*inputs) else value


@cache
def _attached() -> Any:
    import torch

    class Attached(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any, adjoint: Any, *inputs: Any) -> Any:
            ctx.adjoint = adjoint
            ctx.save_for_backward(*inputs)
            return value.view_as(value)

        @staticmethod
        def backward(ctx: Any, *grad_outputs: Any) -> Any:
            inputs = ctx.saved_tensors
            grads = zip(ctx.adjoint(*map(stop, grad_outputs)), inputs, strict=True)
            fit = (g.sum_to_size(a.shape) for g, a in grads)
            return None, None, *(Final.apply(g, *grad_outputs, *inputs) for g in fit)

    class Final(torch.autograd.Function):
        """A gradient that depends on inputs in a way not worked out: refused rather than wrong."""

        @staticmethod
        def forward(ctx: Any, value: Any, *inputs: Any) -> Any:
            return value.view_as(value)

        @staticmethod
        def backward(ctx: Any, *grad_outputs: Any) -> Any:
            raise NotImplementedError("second derivatives of this function are not implemented")

    return Attached


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
        values, vectors = eigh_positive(stop(x))
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
        return cls(s, *eigh(stop(s)))

    def point(self) -> Array:
        """X = e^S."""
        value = spectral(self.vectors, namespace(self.values).exp(self.values))
        return attach(value, (self.log,), lambda g: (self.dexp(g),))

    def dexp(self, h: Array) -> Array:
        """Derivative of exp at S in the direction h, a tangent vector at X."""
        q, weights = self.vectors, exp_differences(self.values)
        value = hadamard(q, weights, stop(h))
        return attach(
            value,
            (self.log, h),
            lambda g: (self._second(stop(h), sym(g)), hadamard(q, weights, g)),
        )

    def dlog(self, v: Array) -> Array:
        """Derivative of log at X in the direction v; undoes `dexp`."""
        q, weights = self.vectors, 1 / exp_differences(self.values)
        value = hadamard(q, weights, stop(v))

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
    return sym(matmul(vectors * values[..., None, :], vectors.mT))


# -- the exponential along a line ------------------------------------------------------------------


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

    A single matrix is diagonalised. Stacks, and what torch differentiates, use matrix products
    alone while tW is small: several times faster there, and differentiable as they are.

    Parameters
    ----------
    w, left, right : arrays of shape (..., n, n)
        ``right`` is the transpose of ``left`` if not given, and results then are symmetric to the
        last bit.
    product : array of shape (..., n, n)
        ``left right``, known to the last bit.
    spectrum : tuple of arrays, optional
        Eigenvalues, in order, and eigenvectors of W, where they are known.
    """
    watched = type(w) is not np.ndarray and tracked(w, left, product)
    if spectrum or (w.ndim == 2 and not watched):
        return _by_eigenvalues(w, left, product, right, spectrum, watched)
    point = _by_products(w, left, product, left.mT if right is None else right, watched)
    return point if right is not None else lambda t: sym(point(t))


def exponential_pair(w: Array, left: Array, product: Array) -> tuple[Array, Array]:
    """``left e^W leftᵀ`` and ``left e^-W leftᵀ``, as `exponential` has them."""
    if type(w) is not np.ndarray or w.ndim > 2:
        point = exponential(w, left, product)
        return point(1.0), point(-1.0)
    # One matrix: a stack of two, because what costs is the number of calls.
    values, vectors = eigh(w)
    left = left.dot(vectors)
    near = max(-values[0], values[-1]) <= 1
    a = _signs(values.dtype) * values
    e = np.expm1(a) if near else np.exp(a)
    both = _of_one(e, near, left, product, 0.5 * left.T, True)
    return both[0], both[1]


@cache
def _signs(dtype: Any) -> np.ndarray:
    return np.asarray([[[1]], [[-1]]], dtype=dtype)


def _by_eigenvalues(
    w: Array,
    left: Array,
    product: Array,
    right: Array | None,
    spectrum: tuple[Array, Array] | None,
    watched: bool,
) -> Callable[[float | Array], Array]:
    values, vectors = spectrum or eigh(stop(w) if watched else w)
    if watched:
        right = left.mT if right is None else right

        def differentiable(t: float | Array) -> Array:
            a = expand(stop(t), 1) * values
            near, e = _small_or_whole(a)
            value = attach(
                spectral(vectors, e),
                (expand(t, 2) * w,),
                lambda g: (hadamard(vectors, exp_differences(a), g),),
            )
            return near * product + left @ value @ right

        return differentiable

    xp = namespace(values)
    left = matmul(left, vectors)
    symmetric = right is None
    right = 0.5 * left.mT if right is None else matmul(vectors.mT, right)
    size = max(abs(float(values[0])), abs(float(values[-1]))) if values.ndim == 1 else None

    def at(t: float | Array) -> Array:
        if size is None or not isinstance(t, float):
            near, e = _small_or_whole(expand(t, 1) * values)
            change = matmul(left * e[..., None, :], right)
            return near * product + (change + change.mT if symmetric else change)
        near, a = abs(t) * size <= 1, values if t == 1.0 else t * values
        e = xp.expm1(a) if near else xp.exp(a)
        return _of_one(e, near, left, product, right, symmetric)

    return at


def _of_one(
    e: Array, near: bool, left: Array, product: Array, right: Array, symmetric: bool
) -> Array:
    """For one matrix, with as few calls as can be: they cost more than the arithmetic."""
    change = matmul(left * e, right)
    if symmetric:
        change = change + change.mT
    return product + change if near else change


def _small_or_whole(a: Array) -> tuple[Array, Array]:
    """1 and e^a - 1 for rows of numbers in [-1, 1], else 0 and e^a."""
    xp = namespace(a)
    near = xp.max(abs(a), axis=-1, keepdims=True) <= 1
    return xp.astype(near, a.dtype)[..., None], xp.where(near, xp.expm1(a), xp.exp(a))


def _by_products(
    w: Array, left: Array, product: Array, right: Array, watched: bool
) -> Callable[[float | Array], Array]:
    xp = namespace(w)
    flat = xp.reshape(stop(w), (*w.shape[:-2], w.shape[-1] ** 2))
    size = xp.sqrt(dot(flat, flat))
    far = cache(lambda: _by_eigenvalues(w, left, product, right, None, watched))
    parts: dict[float, tuple[Array, Array]] = {}  # of the last |t|: a duel asks for t and -t

    def at(t: float | Array) -> Array:
        largest = 0.0 if 0 in size.shape else float(xp.max(abs(stop(t) * size)))
        if not largest <= 2:
            return far()(t)
        if not isinstance(t, float):
            even, odd = _cosh_sinh(expand(t, 2) * w, largest)
            return product + matmul(matmul(left, even + odd), right)
        if abs(t) not in parts:
            parts.clear()
            parts[abs(t)] = _cosh_sinh(w if abs(t) == 1.0 else abs(t) * w, largest)
        even, odd = parts[abs(t)]
        return product + matmul(matmul(left, even - odd if t < 0 else even + odd), right)

    return at


def _cosh_sinh(a: Array, size: float) -> tuple[Array, Array]:
    """Cosh A - I and sinh A of symmetric matrices of norm at most ``size``.

    Polynomials in A², right to rounding up to norm 1, and half as long up to norm 1/100. Larger
    norms come down by halving, and go up again by the addition theorems.
    """
    halvings = math.ceil(math.log2(size)) if size > 1.05 else 0
    if halvings:
        a = 0.5**halvings * a
    b = matmul(a, a)
    powers = [b, matmul(b, b)]
    if size > 0.01:
        powers.append(matmul(powers[1], b))
    even, odd = weighted(_COSH[1:4], powers), weighted(_SINH[1:4], powers)
    if size > 0.01:
        even += matmul(powers[2], weighted(_COSH[4:], powers))
        odd += matmul(powers[2], weighted(_SINH[4:], powers))
    even, odd = _COSH[0] * b + matmul(b, even), _SINH[0] * a + matmul(a, odd)
    for _ in range(halvings):
        even, odd = 2 * matmul(odd, odd), 2 * (odd + matmul(odd, even))
    return even, odd


def economised(taylor: list[Fraction], terms: int, reach: Fraction) -> list[float]:
    """Coefficients of a power series cut to few terms, with its error spread over [0, reach].

    Lanczos' economisation: the highest power is exchanged, again and again, for the Chebyshev
    polynomial that has it, of which the lower ones stay and the rest is below rounding.

    Examples
    --------
    >>> economised([Fraction(1), Fraction(1), Fraction(1, 2)], 2, Fraction(1))  # of e^z, 3 terms
    [0.9375, 1.5]
    """
    scaled = [c * reach**k for k, c in enumerate(taylor)]
    for n in range(len(scaled) - 1, terms - 1, -1):
        top = scaled.pop() * Fraction(2, 4**n)
        for k in range(n):
            scaled[k] -= top * Fraction((-1) ** (n - k) * n * 4**k * math.comb(n + k, 2 * k), n + k)
    return [float(c / reach**k) for k, c in enumerate(scaled)]


def _halves(first: int) -> list[float]:
    """Σ bᵏ / (first + 2k)! for b in [0, 1.1]: seven terms are as good as nine of Taylor's."""
    taylor = [Fraction(1, math.factorial(first + 2 * k)) for k in range(14)]
    return economised(taylor, 7, Fraction(11, 10))


_COSH, _SINH = _halves(2), _halves(1)  # (cosh √b - 1) / b and sinh √b / √b
