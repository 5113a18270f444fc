"""Factorisations of small matrices and of stacks of them.

On one small matrix NumPy's checks cost several times the arithmetic. A single NumPy matrix
therefore goes straight to LAPACK; stacks, torch and other arrays go to their own namespace.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ._arrays import Array, device, eps, expand, namespace
from .errors import NotOnManifoldError

__all__ = [
    "cholesky",
    "congruence",
    "eigh",
    "eigh_positive",
    "eigvalsh",
    "factor",
    "horner",
    "identity",
    "lanes",
    "matmul",
    "positive",
    "stop",
    "svd",
    "svdvals",
    "tracked",
    "weighted",
]


class _Lapack(NamedTuple):
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
    from scipy.linalg import get_lapack_funcs  # imported here: it takes a tenth of a second

    eigh = "heevd" if np.dtype(dtype).kind == "c" else "syevd"
    return _Lapack(*get_lapack_funcs(("potrf", "trtri", eigh, "gesdd"), dtype=dtype))


def tracked(*arrays: Array) -> bool:
    """Whether torch records what is done to any of the arrays, to differentiate it."""
    for a in arrays:  # noqa: SIM110  (`any` of a generator takes three times as long)
        if getattr(a, "requires_grad", False):
            return True
    return False


def stop(a: Array) -> Array:
    """The numbers of an array without their gradient."""
    return a.detach() if tracked(a) else a


def matmul(a: Array, b: Array) -> Array:
    """A B; for two small matrices NumPy's dot takes half the time of its @."""
    if type(a) is np.ndarray:
        if a.ndim == 2 == b.ndim:
            return a.dot(b)
        if _in_lanes(a):
            return np.einsum("...ij,...jk->...ik", a, lanes(b))
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


_TINY, _MANY = 4, 128  # size of the matrices, and number of them beyond which it pays


def _in_lanes(a: np.ndarray) -> bool:
    return a.ndim > 2 and a.strides[0] == a.itemsize and a.shape[-1] <= _TINY


def congruence(a: Array, s: Array) -> Array:
    """A S Aᵀ."""
    return matmul(matmul(a, s), a.mT)


def identity(like: Array, size: int | None = None) -> Array:
    """Identity matrix of the kind, and if not told the size, of ``like``; not to be written to."""
    where = None if type(like) is np.ndarray else device(like)
    return _identity(namespace(like), size or like.shape[-1], like.dtype, where)


@cache
def _identity(xp: Any, n: int, dtype: Any, where: Any) -> Array:
    return xp.eye(n, dtype=dtype, device=where)


def horner(rows: list[list[float]], powers: list[Array], high: Array) -> Array:
    """Σᵢ Rᵢ Hⁱ with Rᵢ the combination of I and of the powers whose coefficients are row i.

    A polynomial of the lowest of the powers, if H is the next after them, at the cost of one
    product for each row (Paterson and Stockmeyer 1973).
    """
    total, above = None, 0.0  # above: the constant of the row before, which still waits for its H
    for constant, *coefficients in reversed(rows):
        part = weighted(coefficients, powers)
        if total is not None:
            part += above * high
            part = part + matmul(high, total)
        total, above = part, constant
    return total + above * identity(high)


def weighted(coefficients: list[float], arrays: list[Array]) -> Array:
    """Sum of the arrays times their coefficients, as far as there are both."""
    total = coefficients[0] * arrays[0]
    for c, a in zip(coefficients[1:], arrays[1:], strict=False):
        total += c * a
    return total


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
    if x.ndim > 2 and (found := _factor_of_lanes(x)):
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
    values, vectors = eigh(stop(a))
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
