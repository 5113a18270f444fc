"""Factorisations of small matrices and of stacks of them.

On one small matrix NumPy's checks cost several times the arithmetic. A single NumPy matrix
therefore goes straight to LAPACK; stacks, torch and other arrays go to their own namespace.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..errors import NotOnManifoldError
from .arrays import Array, constant, device, eps, expand, fails, namespace
from .gradients import detached

__all__ = [
    "cholesky",
    "congruence",
    "eigh",
    "eigh_positive",
    "eigvalsh",
    "factor",
    "fast_lapack",
    "fast_matmul",
    "has_cholesky",
    "identity",
    "positive_definite",
    "svd",
    "svdvals",
]


def fast_matmul(a: Array, b: Array) -> Array:
    """A B; for two small NumPy matrices `dot` takes half the time of @."""
    return a.dot(b) if type(a) is np.ndarray and a.ndim == 2 == b.ndim else a @ b


def congruence(a: Array, s: Array) -> Array:
    """A S Aᵀ."""
    return fast_matmul(fast_matmul(a, s), a.mT)


def identity(like: Array, size: int | None = None) -> Array:
    """Identity matrix of the kind, and if not told the size, of ``like``; not to be written to."""
    where = None if type(like) is np.ndarray else device(like)
    return _identity(namespace(like), size or like.shape[-1], like.dtype, where)


@constant
def _identity(xp: Any, n: int, dtype: Any, where: Any) -> Array:
    return xp.eye(n, dtype=dtype, device=where)


# -- factorisations --------------------------------------------------------------------------------

_FAILURES = (np.linalg.LinAlgError, RuntimeError)  # torch's error is a RuntimeError


def fast_lapack(name: str, a: Array, *options: int) -> Any:
    """Results of LAPACK for one NumPy matrix of floats; None for all else, and if it fails."""
    if type(a) is not np.ndarray or a.ndim != 2 or a.dtype not in (np.float64, np.float32):
        return None
    *results, info = _routine(name, a.dtype)(a, *options)
    return None if info else results


@cache
def _routine(name: str, dtype: Any) -> Any:
    from scipy.linalg import get_lapack_funcs  # a slow import, for `import geoduel`

    return get_lapack_funcs(name, dtype=dtype)


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
        return _marked(routine, a, finite)


def _marked(routine: Callable[[Array], Any], a: Array, finite: Array) -> Any:
    """Factorise the finite matrices of a stack; the results of the others are NaN."""
    xp = namespace(a)
    parts = routine(xp.where(finite[..., None, None], a, identity(a)))

    def marked(part: Array) -> Array:
        return xp.where(expand(finite, part.ndim - finite.ndim), part, math.nan * part)

    return tuple(map(marked, parts)) if isinstance(parts, tuple) else marked(parts)


def _endless(a: Array) -> bool:
    """Whether LAPACK's gesdd may never return: infinite numbers make it go in circles.

    Libraries other than NumPy look at their numbers first.
    """
    return type(a) is np.ndarray and not np.isfinite(a).all()


def eigh(a: Array) -> tuple[Array, Array]:
    """Ascending eigenvalues and orthonormal eigenvectors (columns) of symmetric matrices.

    Examples
    --------
    >>> eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))[0].round(12)
    array([1., 3.])
    """
    # The transpose of a symmetric matrix is in the order LAPACK wants.
    return tuple(fast_lapack("syevd", a.mT) or _nan_in_nan_out("eigh", a))


def eigvalsh(a: Array) -> Array:
    """Ascending eigenvalues of symmetric matrices."""
    found = fast_lapack("syevd", a.mT, 0)
    return found[0] if found else _nan_in_nan_out("eigvalsh", a)


def svd(a: Array) -> tuple[Array, Array, Array]:
    """Singular value decomposition ``u, s, vt`` of square matrices."""
    if _endless(a):
        return _marked(np.linalg.svd, a, np.isfinite(a).all(axis=(-2, -1)))
    return tuple(fast_lapack("gesdd", a) or _nan_in_nan_out("svd", a))


def svdvals(a: Array) -> Array:
    """Descending singular values of square matrices."""
    if _endless(a):
        return svd(a)[1]
    found = fast_lapack("gesdd", a, 0)
    return found[1] if found else _nan_in_nan_out("svdvals", a)


def cholesky(x: Array) -> Array:
    """Lower triangular L of positive definite matrices X = L Lᵀ.

    Raises
    ------
    NotOnManifoldError
        If an eigenvalue is negative by more than rounding explains; the message names it.
    """
    if found := fast_lapack("potrf", x.mT, 1):
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
    low = cholesky(x)
    if found := fast_lapack("trtri", low, 1):
        return low, found[0]
    linalg = namespace(low).linalg
    if hasattr(linalg, "solve_triangular"):
        return low, linalg.solve_triangular(low, identity(low).expand(low.shape), upper=False)
    # The elimination of an upper triangular matrix swaps nothing: it is back substitution.
    return low, linalg.inv(low.mT).mT


def eigh_positive(x: Array) -> tuple[Array, Array]:
    """`eigh` of positive definite matrices, with all eigenvalues > 0.

    Raises
    ------
    NotOnManifoldError
        If an eigenvalue is negative by more than rounding explains; the message names it.
    """
    values, vectors = eigh(x)
    if fails(~(values[..., 0] <= 0)):
        values, vectors = eigh(_repaired(x, "x"))
    return values, vectors


def positive_definite(a: Array, name: str) -> Array:
    """Symmetric matrices as they are, but for eigenvalues that rounding made zero or negative.

    These are raised to the least value that survives rounding.

    Raises
    ------
    NotOnManifoldError
        If an eigenvalue is negative by more than rounding explains; the message names it.
    """
    return a if has_cholesky(a) else _repaired(a, name)


def has_cholesky(a: Array) -> bool:
    """Whether all symmetric matrices of a stack are positive definite, but for rounding."""
    try:
        low = namespace(a).linalg.cholesky(a)
    except _FAILURES:
        return False
    return not fails(low[..., -1, -1] > 0)  # JAX does not raise: its factor is NaN


def _repaired(a: Array, name: str) -> Array:
    xp = namespace(a)
    values, vectors = eigh(detached(a))
    rounding = 4 * a.shape[-1] * eps(a) * values[..., -1:]
    if fails(~((values[..., -1] <= 0) | (values[..., 0] <= -rounding[..., 0]))):
        raise NotOnManifoldError(
            f"{name} is not positive definite: its smallest eigenvalue is "
            f"{float(xp.min(values)):.6g}, expected > 0"
        )
    raised = xp.where(values < rounding, rounding - values, xp.zeros_like(values))
    change = (vectors * raised[..., None, :]) @ vectors.mT
    return a + 0.5 * (change + change.mT)
