"""The Karcher mean of positive definite matrices: a reference solver that says how far it got."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from .._numerics.symmetric import pack, unpack
from .._support.check import one_of, positive, positive_int
from ..errors import ArgumentError, NotOnManifoldError
from ..manifolds._border import as_array

__all__ = ["KarcherMean", "karcher_mean", "largest_curvature", "whiten"]


class KarcherMean(NamedTuple):
    """What `karcher_mean` found.

    Attributes
    ----------
    point : array of shape (n, n)
        The mean, symmetric to the last bit.
    residual : float
        Norm of the Riemannian gradient there. The objective is 1-strongly convex along geodesics,
        so the exact mean is no further away than this, up to rounding.
    converged : bool
        Whether the residual is at most the tolerance.
    iterations : int
        Steps made.
    value : float
        The objective there, Σ w_i d²(X, A_i) / 2.
    """

    point: np.ndarray
    residual: float
    converged: bool
    iterations: int
    value: float


def karcher_mean(
    matrices: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    method: Literal["newton", "richardson"] = "newton",
    tolerance: float | None = None,
    iterations: int = 500,
) -> KarcherMean:
    """Minimise Σ w_i d²(X, A_i) / 2 over positive definite X, d affine-invariant.

    The iterate is X = L Lᵀ and is moved as L ← L exp(N/2), which keeps it positive definite. One
    batched SVD of the whitened factors W_i L, with W_i A_i W_iᵀ = I, gives value, gradient and
    Hessian without ever forming a product that squares condition numbers. In the eigenbasis of
    Lᵀ A_i⁻¹ L the Hessian of d²/2 is diagonal, with entries z coth z, 2z the difference of two
    logarithms of eigenvalues; so

    * "newton" solves for the Newton step by conjugate gradients,
    * "richardson" steps along the gradient with the optimal fixed length of Bini and Iannazzo,
      2/(1 + β). The bounds of the Hessian are 1 and β.

    Either step is halved until the objective falls, so the iteration cannot diverge, and it goes on
    until rounding stops it.

    Parameters
    ----------
    matrices : array of shape (m, n, n)
        Symmetric positive definite matrices A_i.
    weights : array of shape (m,), optional
        Positive weights, scaled to sum 1; equal by default.
    method : {"newton", "richardson"}
        The step.
    tolerance : float, optional
        Residual at which the iteration stops. By default it goes on as long as it makes progress,
        and ``converged`` means a residual of at most 1e-10.
    iterations : int
        Most steps.

    Returns
    -------
    KarcherMean
        Point, residual, whether it converged, iterations, value.

    Raises
    ------
    ArgumentError
        If an argument has a wrong shape or range.
    NotOnManifoldError
        If a matrix is not symmetric positive definite; the message names it and its eigenvalue.

    References
    ----------
    Bini and Iannazzo, Computing the Karcher mean of symmetric positive definite matrices, Linear
    Algebra and its Applications 438 (2013). The Hessian: Ferreira, Xavier, Costeira and Barroso,
    Newton algorithms for Riemannian distance related problems (2013).

    Examples
    --------
    >>> mean = karcher_mean(np.array([np.diag([4.0, 1.0]), np.eye(2)]))
    >>> mean.point.round(12)
    array([[2., 0.],
           [0., 1.]])
    >>> mean.converged, mean.residual < 1e-12
    (True, True)
    """
    a = _checked(matrices)
    w = _weights(weights, len(a))
    one_of(method, "method", ("newton", "richardson"))
    limit = 0.0 if tolerance is None else positive(tolerance, "tolerance")
    positive_int(iterations, "iterations")

    solver = _Solver(whiten(a), w)
    best = now = solver.at(np.linalg.cholesky(np.tensordot(w, a, axes=1)))
    done = stalled = 0
    while best.residual > limit and done < iterations and stalled < 3:
        step = solver.newton(now) if method == "newton" else solver.richardson(now)
        moved = solver.descend(now, step)
        if moved is None:
            break
        now, done = moved, done + 1
        # Near the mean the residual goes on falling when the value is lost in rounding already.
        falls = now.residual < 0.98 * best.residual or now.value < best.value - _slack(best.value)
        stalled = 0 if falls else stalled + 1
        if now.residual < best.residual:
            best = now
    point = best.factor @ best.factor.T
    converged = best.residual <= (limit or 1e-10)
    return KarcherMean((point + point.T) / 2, best.residual, converged, done, best.value)


def largest_curvature(matrices: np.ndarray, x: np.ndarray) -> float:
    """Largest eigenvalue of the Hessian of Σ d²(X, A_i) / (2m) at ``x``."""
    m, n, _ = matrices.shape
    solver = _Solver(whiten(matrices), np.full(m, 1 / m))
    hessian = solver.hessian(solver.at(np.linalg.cholesky(x)))
    basis = unpack(np.eye(n * (n + 1) // 2), n)
    return float(np.linalg.eigvalsh([pack(hessian(e)) for e in basis])[-1])


def whiten(matrices: np.ndarray) -> np.ndarray:
    """Matrices W_i with W_i A_i W_iᵀ = I, of shape (m, n, n), rows in falling order of size.

    With the rows in that order every product W_i X W_iᵀ is graded, large entries first, if X is
    well conditioned. LAPACK's singular values and eigenvalues of graded matrices are accurate far
    beyond what the condition number promises.
    """
    # The factor first: its singular values are positive whatever the rounding.
    u, s, _ = np.linalg.svd(np.linalg.cholesky(matrices))
    return np.ascontiguousarray((u / s[..., None, :]).swapaxes(-1, -2)[..., ::-1, :])


class _Iterate(NamedTuple):
    factor: np.ndarray  # L, with X = L Lᵀ
    logs: np.ndarray  # logarithms of the eigenvalues of L⁻¹ A_i L⁻ᵀ, shape (m, n)
    basis: np.ndarray  # their eigenvectors as rows, shape (m, n, n)
    value: float
    gradient: np.ndarray  # in the frame: the tangent vector is L G Lᵀ, its norm |G|
    residual: float


class _Solver:
    """The objective in the frame of a factor of X."""

    def __init__(self, whitened: np.ndarray, weights: np.ndarray) -> None:
        self.whitened, self.weights = whitened, weights

    def at(self, factor: np.ndarray) -> _Iterate:
        _, s, basis = np.linalg.svd(self.whitened @ factor)
        logs = -2 * np.log(s)
        value = 0.5 * math.fsum(self.weights * np.vecdot(logs, logs))
        gradient = -self._mean(basis, logs[:, :, None] * basis)
        return _Iterate(factor, logs, basis, value, gradient, float(np.linalg.norm(gradient)))

    def hessian(self, at: _Iterate) -> Callable[[np.ndarray], np.ndarray]:
        """The Hessian as a map of symmetric matrices, in the frame."""
        z = abs(at.logs[:, :, None] - at.logs[:, None, :]) / 2
        curvature = _z_coth_z(z)

        def times(v: np.ndarray) -> np.ndarray:
            inner = curvature * (at.basis @ v @ at.basis.swapaxes(1, 2))
            return self._mean(at.basis, inner @ at.basis)

        return times

    def newton(self, at: _Iterate) -> np.ndarray:
        """Newton step by conjugate gradients, solved as far as it is worth so far from the mean."""
        hessian = self.hessian(at)
        step = np.zeros_like(at.gradient)
        rest = direction = -at.gradient
        size = start = np.vdot(rest, rest)
        goal = start * min(0.1, at.residual) ** 2
        for _ in range(rest.size):
            if size <= goal:
                break
            curved = hessian(direction)
            t = size / np.vdot(direction, curved)
            step, rest = step + t * direction, rest - t * curved
            size, last = np.vdot(rest, rest), size
            direction = rest + size / last * direction
        return step

    def richardson(self, at: _Iterate) -> np.ndarray:
        """Gradient step of length 2/(1 + β), β the largest possible curvature."""
        z = (at.logs.max(axis=1) - at.logs.min(axis=1)) / 2
        return -2 / (1 + float(self.weights @ _z_coth_z(z))) * at.gradient

    def descend(self, at: _Iterate, step: np.ndarray) -> _Iterate | None:
        """Move by the step, or by a shorter one, so that the value falls up to its rounding."""
        values, vectors = np.linalg.eigh(step)
        slope = float(np.vdot(at.gradient, step))
        slack = _slack(at.value)
        t = 1.0
        while t > 1e-6:
            move = (vectors * np.exp(t * values / 2)) @ vectors.T
            there = self.at(at.factor @ move)
            if there.value <= at.value + 1e-4 * t * slope + slack:
                return there
            t /= 2
        return None

    def _mean(self, basis: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Σ w_i B_iᵀ C_i, made symmetric."""
        total = np.tensordot(self.weights, basis.swapaxes(1, 2) @ columns, axes=1)
        return (total + total.T) / 2


def _slack(value: float) -> float:
    """What rounding may add to a value."""
    return 8 * float(np.finfo(float).eps) * value


def _z_coth_z(z: np.ndarray) -> np.ndarray:
    small = z < 1e-4
    safe = np.where(small, 1.0, z)
    return np.where(small, 1 + z * z / 3, safe / np.tanh(safe))


def _checked(matrices: np.ndarray) -> np.ndarray:
    a = np.asarray(as_array(matrices, "matrices"), dtype=np.float64)
    if a.ndim != 3 or a.shape[1] != a.shape[2] or 0 in a.shape:
        raise ArgumentError(f"matrices must have shape (m, n, n), got {a.shape}")
    if not np.isfinite(a).all():
        raise ArgumentError("matrices are not finite: they hold NaN or infinite entries")
    skew = abs(a - a.swapaxes(1, 2)).max(axis=(1, 2)) / abs(a).max(axis=(1, 2))
    if skew.max() > math.sqrt(np.finfo(float).eps):
        i = int(skew.argmax())
        raise NotOnManifoldError(
            f"matrices[{i}] is not symmetric: its skew part is {skew[i]:.3g} of its largest entry"
        )
    a = (a + a.swapaxes(1, 2)) / 2
    smallest = np.linalg.eigvalsh(a)[:, 0]
    i = int(smallest.argmin())
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        raise NotOnManifoldError(
            f"matrices[{i}] is not positive definite: its smallest eigenvalue is {smallest[i]:.3g}"
        ) from None
    return a


def _weights(weights: np.ndarray | None, m: int) -> np.ndarray:
    w = np.full(m, 1 / m) if weights is None else np.asarray(as_array(weights, "weights"), float)
    if w.shape != (m,) or not (w > 0).all() or not np.isfinite(w).all():
        raise ArgumentError(f"weights must be {m} positive numbers, got {weights!r:.80}")
    return w / w.sum()
