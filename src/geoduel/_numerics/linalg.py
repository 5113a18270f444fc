"""Factorisations of small matrices and of stacks of them.

On one small matrix NumPy's checks cost several times the arithmetic. A single NumPy matrix
therefore goes straight to LAPACK; stacks, torch and other arrays go to their own namespace.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import NotOnManifoldError
from .arrays import Array, device, eps, expand, in_blocks, namespace
from .gradients import detached

__all__ = [
    "Polynomials",
    "cholesky",
    "congruence",
    "economised",
    "eigh",
    "eigh_positive",
    "eigvalsh",
    "expm1",
    "expm1_pair",
    "factor",
    "halvings",
    "identity",
    "lanes",
    "matmul",
    "plus_product",
    "positive",
    "svd",
    "svdvals",
]


_FLOAT64 = np.dtype(np.float64)


class _Lapack(NamedTuple):
    gemm: Callable[..., Any]
    potrf: Callable[..., Any]
    trtri: Callable[..., Any]
    eigh: Callable[..., Any]
    gesdd: Callable[..., Any]


def _lapack(a: Array) -> _Lapack | None:
    """Routines for one NumPy matrix, of which `eigh` takes complex ones; None for all else."""
    return _routines(a.dtype) if type(a) is np.ndarray and a.ndim == 2 else None


@cache
def _routines(dtype: Any) -> _Lapack | None:
    if dtype not in (np.float64, np.float32, np.complex128, np.complex64):
        return None
    # Imported here: it takes a tenth of a second.
    from scipy.linalg import get_blas_funcs, get_lapack_funcs

    gemm: Any = get_blas_funcs("gemm", dtype=dtype)
    eigh = "heevd" if np.dtype(dtype).kind == "c" else "syevd"
    return _Lapack(gemm, *get_lapack_funcs(("potrf", "trtri", eigh, "gesdd"), dtype=dtype))


def matmul(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """A B; for two small matrices NumPy's dot takes half the time of its @.

    NumPy stacks may say where the result belongs.
    """
    if type(a) is np.ndarray:
        if a.ndim == 2 == b.ndim:
            return a.dot(b)
        if _in_lanes(a):
            return np.einsum("...ij,...jk->...ik", a, lanes(b), out=out)
        if b.ndim > 2 and b.strides[-1] != b.itemsize and b.shape[-1] <= _SHORT:
            b = np.ascontiguousarray(b)
        return np.matmul(a, b, out)
    return a @ b


def lanes(a: Array) -> Array:
    """Large NumPy stacks of the smallest matrices with another layout, all else as it is.

    The entries at one place in all the matrices then lie side by side in memory, and operations run
    along the stack, as along lanes. Products, by `matmul`, take a fifth of the time.
    """
    if type(a) is not np.ndarray or a.ndim < 3 or _in_lanes(a):
        return a
    rows, columns = a.shape[-2:]
    if rows > _TINY or columns > _TINY or a.size <= _MANY * rows * columns or a.dtype.kind != "f":
        return a
    return np.asfortranarray(a.mT).mT


_SHORT = 16  # rows of matrices in a stack that are copied quicker than read across
_TINY, _MANY = 4, 128  # size of the matrices, and number of them beyond which it pays


def _in_lanes(a: np.ndarray) -> bool:
    return a.ndim > 2 and a.strides[0] == a.itemsize and a.shape[-1] <= _TINY


def congruence(a: Array, s: Array) -> Array:
    """A S Aᵀ."""
    if type(a) is np.ndarray is type(s) and a.ndim == 2 == s.ndim:
        return a.dot(s).dot(a.T)
    return matmul(matmul(a, s), a.mT)


def plus_product(beta: float, c: Array, alpha: float, a: Array, b: Array) -> Array:
    """``beta C + alpha A B``; for single matrices a single call of BLAS."""
    lapack = _lapack(c)
    if lapack and a.ndim == 2 == b.ndim and a.dtype is c.dtype is b.dtype:
        # Rows, to NumPy, are columns to BLAS: it sees the transposes.
        return lapack.gemm(alpha, b.T, a.T, beta, c.T).T
    product = matmul(a, b)
    return beta * c + (product if alpha == 1.0 else alpha * product)


def identity(like: Array, size: int | None = None) -> Array:
    """Identity matrix of the kind, and if not told the size, of ``like``; not to be written to."""
    where = None if type(like) is np.ndarray else device(like)
    return _identity(namespace(like), size or like.shape[-1], like.dtype, where)


@cache
def _identity(xp: Any, n: int, dtype: Any, where: Any) -> Array:
    return xp.eye(n, dtype=dtype, device=where)


class Polynomials:
    """One or several polynomials of square matrices, called with a matrix or a stack.

    Paterson and Stockmeyer (1973): as polynomials in A⁴ whose coefficients are combinations of A to
    A⁴ they take three products for the powers and one for each further four terms. The powers lie
    side by side in memory, so that a single product forms all the combinations, and several
    polynomials of the same matrix hardly take longer than one.

    Parameters
    ----------
    coefficients : sequence of floats, or of such sequences
        From the constant on, of one polynomial or of several of the same length.

    Examples
    --------
    >>> a = np.array([[0.0, 2.0], [0.0, 0.0]])
    >>> Polynomials([1.0, 1.0, 0.5])(a)
    array([[1., 2.],
           [0., 1.]])
    >>> there, back = Polynomials([[1.0, 1.0], [1.0, -1.0]])(a)
    >>> there @ back
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, coefficients: Any) -> None:
        c = np.asarray(coefficients, float)
        self._single = c.ndim == 1
        c = np.atleast_2d(c)
        c = np.pad(c, ((0, 0), (0, -(c.shape[1] - 1) % 4)))
        self._count, self._constants = len(c), c[:, 0].tolist() if np.any(c[:, 0]) else ()
        # A row for four terms of one polynomial. The lowest terms of all come first.
        self._rows = np.swapaxes(c[:, 1:].reshape(len(c), -1, 4), 0, 1).reshape(-1, 4)
        self._cast: dict[Any, Array] = {}

    def __call__(self, a: Array) -> Any:
        if lapack := _lapack(a):
            total = self._of_one(a, lapack.gemm)
            if self._single and not self._constants:
                return total
            n = len(a)
            totals = [total[i : i + n] for i in range(0, len(total), n)]
        else:
            totals = list(in_blocks(self._of_stack, 2, a))  # of powers there are several
        for i, constant in enumerate(self._constants):
            totals[i] = totals[i] + constant * identity(a)
        return totals[0] if self._single else totals

    def _of_one(self, a: np.ndarray, gemm: Callable[..., Any]) -> np.ndarray:
        """All the polynomials in one matrix, one below the other: they commute with A."""
        n = len(a)
        powers = np.empty((4, n, n), a.dtype)
        one, two, three, high = powers[0], powers[1], powers[2], powers[3]
        one[:] = a
        one.dot(one, two)
        two.dot(one, three)
        two.dot(two, high)
        rows = self._rows if a.dtype is _FLOAT64 else self._rows_like(a)
        parts = rows.dot(powers.reshape(4, -1)).reshape(-1, self._count * n, n)
        i = len(parts) - 1
        total, high = parts[i].T, high.T
        while i:
            i -= 1
            total = gemm(1.0, high, total, 1.0, parts[i].T, 0, 0, 1)  # as in `plus_product`
        return total.T

    def _of_stack(self, a: Array) -> tuple[Array, ...]:
        xp = namespace(a)
        if type(a) is np.ndarray:
            # In `lanes` the axes in reverse order are those of the memory.
            beside = _in_lanes(a)
            memory: Array = np.empty((4, *(a.mT.T if beside else a).shape), a.dtype)
            one, two, three, high = (p.T.mT if beside else p for p in memory)
            one[...] = a
            matmul(one, one, two)
            matmul(two, one, three)
            matmul(two, two, high)
        else:
            beside, two = False, a @ a
            high = two @ two
            memory = xp.stack([a, two, two @ a, high])
        parts = self._rows_like(a) @ xp.reshape(memory, (4, -1))
        parts = xp.reshape(parts, (len(self._rows), *memory.shape[1:]))
        totals = []
        for i in range(self._count):
            terms = [parts[j, ...] for j in range(i, len(self._rows), self._count)]
            if beside:
                terms = [t.T.mT for t in terms]
            total = terms.pop()
            while terms:
                total = matmul(total, high)
                total += terms.pop()
            totals.append(total)
        return tuple(totals)

    def _rows_like(self, a: Array) -> Array:
        key = a.dtype if type(a) is np.ndarray else (a.dtype, device(a))
        rows = self._cast.get(key)
        if rows is None:
            where = None if type(a) is np.ndarray else device(a)
            rows = namespace(a).asarray(self._rows, dtype=a.dtype, device=where)
            self._cast[key] = rows
        return rows


def expm1(a: Array, size: float, square: int = 0, halved: bool = False) -> Array:
    """``e^A - I`` of square matrices of norm at most ``size``.

    As many terms of a power series as ``size`` needs; larger norms come down by halving, and the
    exponential goes up again by squares. Unlike `scipy.linalg.expm` it has all the digits of a
    small A. PyTorch's exponential is off by 1e-10 at norms near 0.05, up to version 2.13 at least.

    Parameters
    ----------
    a : array of shape (..., n, n)
        The matrices.
    size : float
        Bound of their norms.
    square : {1, -1, 0}
        The sign of A²: 1 for symmetric matrices, -1 for skew ones, where fewer terms are enough,
        and 0 for all others.
    halved : bool
        Whether A/2 is meant, where A is given: one operation less.

    Examples
    --------
    >>> expm1(np.array([[0.0, 1e-20], [0.0, 0.0]]), 1e-20)
    array([[0.e+00, 1.e-20],
           [0.e+00, 0.e+00]])
    """
    reaches, series = _expm1_series(square, halved=halved)
    if size <= reaches[-1]:
        return series[bisect_left(reaches, size)](a)
    times = halvings(size / reaches[-1])
    e = series[-1](0.5**times * a)
    for _ in range(times):
        e = plus_product(2.0, e, 1.0, e, e)
    return e


def expm1_pair(a: Array, size: float, halved: bool = False) -> list[Array]:
    """``e^A - I`` and ``e^-A - I`` of symmetric matrices, as `expm1` has them."""
    if a.ndim == 2:
        reaches, series = _expm1_series(1, pair=True, halved=halved)
        if size <= reaches[-1]:
            return series[bisect_left(reaches, size)](a)
    # Where each product counts, by the hyperbolic functions, series in A².
    a = 0.5 * a if halved else a
    reaches, series = _cosh_sinh_series()
    times = halvings(size / reaches[-1])
    if times:
        a, size = 0.5**times * a, 0.5**times * size
    even, rest = series[bisect_left(reaches, size)](matmul(a, a))
    odd = a + matmul(a, rest)
    for _ in range(times):
        even, odd = 2 * matmul(odd, odd), 2 * (odd + matmul(odd, even))
    return [even + odd, even - odd]


def halvings(size: float) -> int:
    """How often to halve ``size`` to come below 1; never, if it is not finite."""
    return max(0, math.frexp(size)[1])


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


def _hyperbolic(first: int, terms: int, square: int, reach: float) -> list[float]:
    """Coefficients in z = a² of cosh a - 1, for first = 0, or of sinh a / a - 1, for 1.

    Economised for z of the sign of ``square`` up to reach², Taylor's for 0. None for z⁰.
    """
    sign = square or 1
    taylor = [Fraction(sign**k, math.factorial(2 * k + first)) for k in range(1, 18)]
    c = economised(taylor, terms, Fraction(reach) ** 2) if square else taylor[:terms]
    return [sign**k * float(ck) for k, ck in enumerate(c, 1)]


@cache
def _expm1_series(
    square: int, pair: bool = False, halved: bool = False
) -> tuple[list[float], list[Polynomials]]:
    """Norms, and polynomials whose error up to there is below half a rounding unit of a.

    For a pair the polynomials are two each, the other for -a.
    """
    reaches, series = [], []
    for n in (4, 8, 12, 16):
        reach = (math.factorial(n + 1) * 2**-53) ** (1 / n)
        if square:
            reach *= 2 * 8 ** (-1 / n)
        reaches.append(reach)
        c = [0.0, 1.0] + [0.0] * (n - 1)
        c[2::2] = _hyperbolic(0, n // 2, square, reach)
        c[3::2] = _hyperbolic(1, n // 2 - 1, square, reach)
        if halved:
            c = [0.5**k * ck for k, ck in enumerate(c)]
        signed = [-ck if k % 2 else ck for k, ck in enumerate(c)]
        series.append(Polynomials([c, signed] if pair else c))
    return reaches, series


@cache
def _cosh_sinh_series() -> tuple[list[float], list[Polynomials]]:
    """The same for cosh a - 1 and sinh a / a - 1 in a²."""
    reaches, series = [], []
    for n in (4, 8):
        reach = 2 * (math.factorial(2 * n + 2) * 2**-55) ** (1 / (2 * n + 1))
        reaches.append(reach)
        series.append(Polynomials([[0.0, *_hyperbolic(odd, n, 1, reach)] for odd in (0, 1)]))
    return reaches, series


_FAILURES = (np.linalg.LinAlgError, RuntimeError)  # torch's error is a RuntimeError


def _nan_in_nan_out(name: str, a: Array) -> Any:
    """Factorise a stack; a matrix that is not finite spoils its own result alone."""
    xp = namespace(a)
    routine = getattr(xp.linalg, name)
    try:
        return routine(a)
    except _FAILURES:
        finite = xp.all(xp.isfinite(a), axis=(-2, -1))
        if bool(xp.all(finite)):
            raise
        parts = routine(xp.where(finite[..., None, None], a, identity(a)))

        def marked(part: Array) -> Array:
            return xp.where(expand(finite, part.ndim - finite.ndim), part, math.nan * part)

        return tuple(map(marked, parts)) if isinstance(parts, tuple) else marked(parts)


def eigh(a: Array) -> tuple[Array, Array]:
    """Ascending eigenvalues and orthonormal eigenvectors (columns) of Hermitian matrices.

    Examples
    --------
    >>> eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))[0].round(12)
    array([1., 3.])
    """
    if lapack := _lapack(a):
        # The transpose of a symmetric matrix is in the order LAPACK wants.
        values, vectors, info = lapack.eigh(a if a.dtype.kind == "c" else a.T)
        if info == 0:
            return values, vectors
    return tuple(_nan_in_nan_out("eigh", a))


def eigvalsh(a: Array) -> Array:
    """Ascending eigenvalues of symmetric matrices."""
    if lapack := _lapack(a):
        values, _, info = lapack.eigh(a.T, 0)
        if info == 0:
            return values
    return _nan_in_nan_out("eigvalsh", a)


def svd(a: Array) -> tuple[Array, Array, Array]:
    """Singular value decomposition ``u, s, vt`` of square matrices."""
    if lapack := _lapack(a):
        u, s, vt, info = lapack.gesdd(a)
        if info == 0:
            return u, s, vt
    return tuple(_nan_in_nan_out("svd", a))


def svdvals(a: Array) -> Array:
    """Descending singular values of square matrices."""
    if lapack := _lapack(a):
        _, s, _, info = lapack.gesdd(a, 0)
        if info == 0:
            return s
    return _nan_in_nan_out("svdvals", a)


def cholesky(x: Array) -> Array:
    """Lower triangular L of positive definite matrices X = L Lᵀ.

    Raises
    ------
    NotOnManifoldError
        If an eigenvalue is negative by more than rounding explains; the message names it.
    """
    if lapack := _lapack(x):
        low, info = lapack.potrf(x.T, 1)
        if info == 0:
            return low
    if found := _factor_of_lanes(x):
        return found[0]
    try:
        return _nan_in_nan_out("cholesky", x)
    except _FAILURES:
        return _nan_in_nan_out("cholesky", _repaired(x, "x"))


def factor(x: Array) -> tuple[Array, Array]:
    """Cholesky factor L of positive definite matrices X = L Lᵀ, and its inverse.

    ``L⁻¹ A L⁻ᵀ`` whitens a symmetric matrix A: it is A seen from X. The inverse is computed by
    substitution, as accurate as triangular solves.

    Raises
    ------
    NotOnManifoldError
        If an eigenvalue is negative by more than rounding explains; the message names it.

    Examples
    --------
    >>> factor(np.array([[4.0, 2.0], [2.0, 2.0]]))[0]
    array([[2., 0.],
           [1., 1.]])
    """
    if lapack := _lapack(x):
        low, info = lapack.potrf(x.T, 1)
        if info == 0:
            return low, lapack.trtri(low, 1)[0]
    elif found := _factor_of_lanes(x):
        return found
    low = cholesky(x)
    return low, _triangular_inverse(low)


def _factor_of_lanes(x: Array) -> tuple[np.ndarray, np.ndarray] | None:
    """`factor` of what `lanes` are for; None of all else, and if a pivot is not positive."""
    x = lanes(x)
    if not (type(x) is np.ndarray and _in_lanes(x) and x.size and x.dtype.kind == "f"):
        return None
    low: dict[tuple[int, int], np.ndarray] = {}
    inverse: dict[tuple[int, int], np.ndarray] = {}

    def rest(i: int, j: int) -> np.ndarray:
        """What the columns before the j-th leave of an entry."""
        return x[..., i, j] - sum(low[i, k] * low[j, k] for k in range(j))

    for i in range(x.shape[-1]):
        for j in range(i):
            low[i, j] = rest(i, j) * inverse[j, j]
        square = rest(i, i)
        if not square.min() > 0:
            return None
        low[i, i] = np.sqrt(square)
        inverse[i, i] = 1 / low[i, i]
        for j in range(i):
            total = sum(low[i, k] * inverse[k, j] for k in range(j, i))
            inverse[i, j] = -inverse[i, i] * total
    stacks = np.zeros_like(x), np.zeros_like(x)
    for stack, entries in zip(stacks, (low, inverse), strict=True):
        for (i, j), entry in entries.items():
            stack[..., i, j] = entry
    return stacks


def eigh_positive(x: Array) -> tuple[Array, Array]:
    """`eigh` of positive definite matrices, with all eigenvalues > 0.

    Raises
    ------
    NotOnManifoldError
        If an eigenvalue is negative by more than rounding explains; the message names it.
    """
    values, vectors = eigh(x)
    if bool(namespace(x).any(values[..., 0] <= 0)):
        values, vectors = eigh(_repaired(x, "x"))
    return values, vectors


def positive(a: Array, name: str) -> Array:
    """Symmetric matrices as they are, but for eigenvalues that rounding made zero or negative.

    These are raised to the least value that survives rounding.

    Raises
    ------
    NotOnManifoldError
        If an eigenvalue is negative by more than rounding explains; the message names it.
    """
    try:
        namespace(a).linalg.cholesky(a)
        return a
    except _FAILURES:
        return _repaired(a, name)


def _repaired(a: Array, name: str) -> Array:
    xp = namespace(a)
    values, vectors = eigh(detached(a))
    rounding = 4 * a.shape[-1] * eps(a) * values[..., -1:]
    if bool(xp.any((values[..., -1] <= 0) | (values[..., 0] <= -rounding[..., 0]))):
        raise NotOnManifoldError(
            f"{name} is not positive definite: its smallest eigenvalue is "
            f"{float(xp.min(values)):.6g}, expected > 0"
        )
    raised = xp.where(values < rounding, rounding - values, xp.zeros_like(values))
    change = (vectors * raised[..., None, :]) @ vectors.mT
    return a + 0.5 * (change + change.mT)


def _triangular_inverse(low: Array) -> Array:
    if lapack := _lapack(low):
        return lapack.trtri(low, 1)[0]
    xp, n = namespace(low), low.shape[-1]
    if xp is np and low.ndim > 2 and n <= 16:
        # Row by row over the whole stack: LAPACK's calls, one a matrix, take three times as long.
        inverse = np.zeros_like(low)
        for i in range(n):
            pivot = 1 / low[..., i, i]
            inverse[..., i, i] = pivot
            if i:
                row = low[..., i : i + 1, :i] @ inverse[..., :i, :i]
                inverse[..., i, :i] = -pivot[..., None] * row[..., 0, :]
        return inverse
    if hasattr(xp.linalg, "solve_triangular"):
        return xp.linalg.solve_triangular(low, identity(low).expand(low.shape), upper=False)
    # The elimination of an upper triangular matrix swaps nothing: it is back substitution.
    return xp.linalg.inv(low.mT).mT
