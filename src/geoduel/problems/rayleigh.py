"""Rayleigh quotient: the paper's first experiment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._numerics.arrays import Array, blas, dot, expand
from .._support.check import as_generator, positive_int
from ..errors import ArgumentError
from ..manifolds._border import as_array
from ..manifolds.sphere import Sphere
from .base import PortableArray, Problem

__all__ = ["Rayleigh"]


@dataclass(frozen=True, eq=False)
class Rayleigh(Problem):
    """Maximise xᵀAx on the sphere: f(x) = -xᵀAx/2.

    The minimisers are the unit eigenvectors of the largest eigenvalue, f* = -λ_max/2; every other
    eigenvector is a saddle, or a maximum. f is geodesically smooth with L = λ_max - λ_min.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric matrix.
    x0 : array of shape (n,)
        Start on the unit sphere.

    Raises
    ------
    ArgumentError
        If A is no symmetric matrix of finite numbers.

    References
    ----------
    Ren, Roy and Ma, Riemannian Dueling Optimization, section 5.1.1; Kim and Yang, ICML 2022, for L.

    Examples
    --------
    >>> problem = Rayleigh(np.diag([3.0, 2.0, 1.0]), np.array([0.0, 0.6, 0.8]))
    >>> float(problem.objective(problem.x0)), problem.optimal_value, problem.smoothness
    (-0.68, -1.5, 2.0)
    """

    A: np.ndarray
    x0: np.ndarray

    def __post_init__(self) -> None:
        A = np.asarray(as_array(self.A, "A"), dtype=np.float64)
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ArgumentError(f"A must be a square matrix, got shape {A.shape}")
        if not np.isfinite(A).all() or abs(A - A.T).max() > 1e-8 * abs(A).max():
            raise ArgumentError("A must be a symmetric matrix of finite numbers")
        object.__setattr__(self, "A", (A + A.T) / 2)
        object.__setattr__(self, "x0", np.asarray(as_array(self.x0, "x0"), float))
        self.manifold.check_point(self.x0, "x0")

    @classmethod
    def random(cls, n: int, rng: np.random.Generator | int | None = None) -> Rayleigh:
        """The paper's random problem: A = (B + Bᵀ)/2, entries of B independent N(0, 1/n).

        The start is uniform on the sphere.
        """
        positive_int(n, "n", least=2)
        rng = as_generator(rng)
        B = rng.standard_normal((n, n)) / np.sqrt(n)
        x = rng.standard_normal(n)
        return cls((B + B.T) / 2, x / np.linalg.norm(x))

    @cached_property
    def _sphere(self) -> Sphere:
        return Sphere(len(self.A))

    @property
    def manifold(self) -> Sphere:
        return self._sphere

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        return np.linalg.eigh(self.A)

    @property
    def optimum(self) -> np.ndarray:
        """Eigenvector of the largest eigenvalue, of the two the one nearer to the start."""
        top = self._eigen[1][:, -1]
        return top if top @ self.x0 >= 0 else -top

    @property
    def optimal_value(self) -> float:
        return -0.5 * float(self._eigen[0][-1])

    @property
    def smoothness(self) -> float:
        """λ_max - λ_min."""
        return float(self._eigen[0][-1] - self._eigen[0][0])

    @cached_property
    def _matrix(self) -> PortableArray:
        return PortableArray(self.A)

    def objective(self, x: Array) -> Any:
        if x.shape == self.x0.shape and x.dtype is self.x0.dtype:  # one point, a NumPy array
            b = blas()  # A is symmetric, and Aᵀ is laid out as BLAS reads it
            return b.ddot(x, b.dgemv(-0.5, self.A.T, x))
        return -0.5 * dot(x @ self._matrix.like(x), x)

    def gradient(self, x: Array) -> Array:
        ax = x @ self._matrix.like(x)
        # Divided by |x|²: a gradient that is tangent but for the rounding of |x| = 1 would drive a
        # long descent off the sphere.
        return expand(dot(ax, x) / dot(x, x), 1) * x - ax
