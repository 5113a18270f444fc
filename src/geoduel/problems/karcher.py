"""Karcher mean of positive definite matrices: the paper's second and third experiments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .._numerics.arrays import Array, namespace
from .._numerics.linalg import cholesky
from .._support.check import as_generator, one_of, positive_int, real
from ..domains.spd_interval import SPDInterval
from ..errors import ArgumentError
from ..manifolds._border import as_array
from ..manifolds.spd.spd import SPD
from .base import PortableArray, Problem
from .karcher_mean import karcher_mean, largest_curvature, whiten

__all__ = ["Karcher", "random_spd"]


@dataclass(frozen=True, eq=False)
class Karcher(Problem):
    """Geometric mean: f(X) = Σ d²(X, A_i) / (2m) on positive definite matrices, d affine-invariant.

    Geodesically convex, even 1-strongly so. Not smooth on the whole manifold: the Hessian of
    d²(·, A)/2 reaches φ(d/√2), φ(z) = z coth z. As φ(√t) is concave, that of f is at most φ(√f),
    so `smoothness_bound` = φ(√f(x0)) holds wherever f(X) <= f(x0). The Hessians of the m terms peak
    in different directions. On the way from the start to the optimum `smoothness` is therefore
    three to five times smaller; this is the L of the paper's step sizes.

    With W_i A_i W_iᵀ = I, d²(X, A_i) is the sum of the squared logarithms of the eigenvalues of
    W_i X W_iᵀ. Those differ by the condition of A_i, a million in the paper, and rounding would
    leave 1e-12 of noise in f, which decides the duels near the optimum. The rows of W_i are
    therefore sorted by size, which makes W_i X W_iᵀ graded, and one step of the Cholesky-LR
    iteration brings it closer to diagonal. The eigenvalues of such matrices come out to their own
    last digits as long as X is well conditioned. What remains is about half a unit in the last
    place of f, the same as with singular values.

    Parameters
    ----------
    matrices : array of shape (m, n, n)
        Symmetric positive definite A_i.
    x0 : array of shape (n, n), optional
        Start; the arithmetic mean by default.

    Raises
    ------
    NotOnManifoldError
        If a matrix is not symmetric positive definite.

    References
    ----------
    Bhatia, Positive Definite Matrices (2007), chapter 6; Ren, Roy and Ma, Riemannian Dueling
    Optimization, sections 5.1.2 and 5.1.3. Graded matrices: Barlow and Demmel, SIAM J. Numer. Anal.
    27 (1990).

    Examples
    --------
    >>> problem = Karcher(np.array([np.diag([np.e**2, 1.0]), np.eye(2)]))
    >>> problem.optimum.round(9)
    array([[2.71828183, 0.        ],
           [0.        , 1.        ]])
    >>> round(problem.optimal_value, 9)
    0.5
    """

    matrices: np.ndarray
    x0: Any = None

    def __post_init__(self) -> None:
        matrices = np.asarray(as_array(self.matrices, "matrices"), dtype=np.float64)
        if matrices.ndim != 3 or not matrices.shape[1] == matrices.shape[2] > 0 < len(matrices):
            raise ArgumentError(f"matrices must have shape (m, n, n), got {matrices.shape}")
        SPD(matrices.shape[-1]).check_point(matrices, "matrices")
        object.__setattr__(self, "matrices", (matrices + matrices.swapaxes(1, 2)) / 2)
        start = self.arithmetic_mean if self.x0 is None else as_array(self.x0, "x0")
        object.__setattr__(self, "x0", np.asarray(start, dtype=np.float64))
        self.manifold.check_point(self.x0, "x0")

    @classmethod
    def random(
        cls,
        n: int,
        m: int = 50,
        condition: float = 1e6,
        eigenvalues: Literal["uniform", "log-uniform", "toolbox"] = "uniform",
        rng: np.random.Generator | int | None = None,
    ) -> Karcher:
        """Mean of m random matrices of one condition number; see `random_spd` for their law.

        The law matters more than the size: with n = 5 the gap at the start is 18 with uniform
        eigenvalues, 20 from the toolbox and 79 with log-uniform ones.
        """
        positive_int(m, "m")
        rng = as_generator(rng)
        return cls(np.array([random_spd(n, condition, eigenvalues, rng) for _ in range(m)]))

    @cached_property
    def _manifold(self) -> SPD:
        return SPD(self.matrices.shape[-1])

    @property
    def manifold(self) -> SPD:
        return self._manifold

    @property
    def arithmetic_mean(self) -> np.ndarray:
        """Mean of the matrices, an upper bound of the Karcher mean."""
        return self.matrices.mean(axis=0)

    @property
    def harmonic_mean(self) -> np.ndarray:
        """Inverse of the mean of the inverses, a lower bound of the Karcher mean."""
        w = self._whitening[0].array.reshape(self.matrices.shape)
        mean = np.linalg.inv((w.swapaxes(1, 2) @ w).mean(axis=0))  # A⁻¹ = WᵀW
        return (mean + mean.T) / 2

    def domain(self) -> SPDInterval:
        """The interval from the harmonic to the arithmetic mean, which holds the optimum."""
        return SPDInterval(self.harmonic_mean, self.arithmetic_mean)

    @cached_property
    def _optimum(self) -> np.ndarray:
        return karcher_mean(self.matrices).point

    @property
    def optimum(self) -> np.ndarray:
        """The Karcher mean, by `geoduel.problems.karcher_mean.karcher_mean`."""
        return self._optimum

    @cached_property
    def _optimal_value(self) -> float:
        return float(self.objective(self._optimum))

    @property
    def optimal_value(self) -> float:
        return self._optimal_value

    @cached_property
    def _smoothness(self) -> float:
        return max(largest_curvature(self.matrices, x) for x in (self.x0, self.optimum))

    @property
    def smoothness(self) -> float:
        """Largest eigenvalue of the Hessian at the start and at the optimum."""
        return self._smoothness

    @property
    def smoothness_bound(self) -> float:
        """√f coth √f at the start: L for certain wherever f is not above its start."""
        z = math.sqrt(self.objective(self.x0))
        return z / math.tanh(z) if z > 0 else 1.0

    @cached_property
    def _whitening(self) -> tuple[PortableArray, PortableArray]:
        w = whiten(self.matrices)
        return (
            PortableArray(w.reshape(-1, w.shape[-1])),  # stacked, for one product instead of m
            PortableArray(np.ascontiguousarray(w.swapaxes(1, 2))),
        )

    def objective(self, x: Array) -> Any:
        xp = namespace(x)
        w, wt = self._whitening
        logs = fast_log_eigenvalues(w.like(x), wt.like(x), x)
        squares = xp.vecdot(logs, logs)
        # The mean about a provisional mean: a plain sum would lose two more digits.
        m = len(self.matrices)
        mean = xp.sum(squares, axis=-1) / m
        return 0.5 * (mean + xp.sum(squares - mean[..., None], axis=-1) / m)

    def gradient(self, x: Array) -> Array:
        """-Σ Log_X(A_i) / m."""
        xp = namespace(x)
        w = self._whitening[0].like(x)
        low = cholesky(x)
        _, s, vt = xp.linalg.svd(xp.reshape(w @ low, (*x.shape[:-2], *self.matrices.shape)))
        logs = vt.mT @ (2 * xp.log(s)[..., None] * vt)  # of Lᵀ A_i⁻¹ L
        g = low @ xp.mean(logs, axis=-3) @ low.mT
        return 0.5 * (g + g.mT)


def log_eigenvalues(w: Array, x: Array) -> Array:
    """Logarithms of the eigenvalues of A_i⁻¹X for W_i A_i W_iᵀ = I, shape ``(..., m, n)``.

    The W_i are one below the other, shape ``(m n, n)``.
    """
    xp, n = namespace(x), x.shape[-1]
    factors = xp.reshape(w @ cholesky(x), (*x.shape[:-2], -1, n, n))
    return 2 * xp.log(xp.linalg.svdvals(factors))


def fast_log_eigenvalues(w: Array, wt: Array, x: Array) -> Array:
    """`log_eigenvalues` from one step of the Cholesky-LR iteration; ``wt`` holds the W_iᵀ."""
    xp = namespace(x)
    graded = xp.reshape(w @ x, (*x.shape[:-2], *wt.shape)) @ wt
    try:
        r = xp.linalg.cholesky(graded)
    except (np.linalg.LinAlgError, RuntimeError):  # torch's error is a RuntimeError
        # X as ill conditioned as this squares away what the factors still hold.
        return log_eigenvalues(w, x)
    return xp.log(xp.linalg.eigvalsh(r.mT @ r))


def random_spd(
    n: int,
    condition: float,
    eigenvalues: Literal["uniform", "log-uniform", "toolbox"] = "uniform",
    rng: np.random.Generator | int | None = None,
) -> np.ndarray:
    """Random positive definite matrix of a given condition number and largest eigenvalue 1.

    Parameters
    ----------
    n : int, >= 2
        Size.
    condition : float, > 1
        Quotient of the largest and the smallest eigenvalue.
    eigenvalues : {"uniform", "log-uniform", "toolbox"}
        "uniform": Haar eigenvectors; eigenvalues 1, 1/condition, and the others uniform between.
        "log-uniform": the same with logarithms uniform, far harder. "toolbox": WᵀW, shifted and
        scaled to the spectrum [0, 1], plus 1/(condition - 1), as ``random.m`` of the Matrix Means
        Toolbox, which the paper names, is said to do. W is the difference of two matrices of
        uniform entries.
    rng : int or numpy.random.Generator, optional
        Source of randomness.

    Returns
    -------
    array of shape (n, n)

    References
    ----------
    Bini and Iannazzo, Linear Algebra and its Applications 438 (2013), and their Matrix Means
    Toolbox, version 2.3.

    Examples
    --------
    >>> a = random_spd(4, 1e3, "log-uniform", rng=0)
    >>> round(float(np.linalg.cond(a)), 6), round(float(np.linalg.norm(a, 2)), 12)
    (1000.0, 1.0)
    """
    positive_int(n, "n", least=2)
    if not real(condition, "condition") > 1:
        raise ArgumentError(f"condition must be > 1, got {condition!r}")
    one_of(eigenvalues, "eigenvalues", ("uniform", "log-uniform", "toolbox"))
    rng = as_generator(rng)
    if eigenvalues == "toolbox":
        W = rng.random((n, n)) - rng.random((n, n))
        values, Q = np.linalg.eigh(W.T @ W)
        values = (values - values[0]) / (values[-1] - values[0]) + 1 / (condition - 1)
        values /= values[-1]
    else:
        Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
        inner = rng.random(n - 2)
        low = 1 / condition
        inner = low + (1 - low) * inner if eigenvalues == "uniform" else low**inner
        values = np.concatenate([[1.0, low], inner])
    a = (Q * values) @ Q.T
    return (a + a.T) / 2
