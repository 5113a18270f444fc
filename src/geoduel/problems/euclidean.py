"""Two classics on Euclidean space: a lopsided quadratic and Rosenbrock's valley."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._numerics.arrays import Array, namespace
from .._support.check import as_generator, positive_int, real
from ..errors import ArgumentError
from ..manifolds._border import as_array
from ..manifolds.euclidean import Euclidean
from .base import PortableArray, Problem

__all__ = ["Quadratic", "Rosenbrock"]


@dataclass(frozen=True, eq=False)
class Quadratic(Problem):
    """f(x) = |R (x - x*)|²/2 with the Hessian RᵀR; the least value is 0.

    Parameters
    ----------
    root : array of shape (n, n)
        R.
    centre : array of shape (n,)
        x*.
    x0 : array of shape (n,)
        Start.

    Examples
    --------
    >>> problem = Quadratic(np.diag([1.0, 10.0]), np.zeros(2), np.ones(2))
    >>> float(problem.objective(problem.x0)), round(problem.smoothness, 9)
    (50.5, 100.0)
    """

    root: np.ndarray
    centre: np.ndarray
    x0: np.ndarray

    def __post_init__(self) -> None:
        for name in ("root", "centre", "x0"):
            object.__setattr__(self, name, as_array(getattr(self, name), name))
        if self.x0.ndim != 1 or self.centre.shape != self.x0.shape:
            raise ArgumentError(
                f"x0 and centre must be vectors of one length, got shapes {self.x0.shape} and "
                f"{self.centre.shape}"
            )
        n = len(self.x0)
        if self.root.shape != (n, n):
            raise ArgumentError(f"root must have shape {(n, n)}, got {self.root.shape}")

    @classmethod
    def random(
        cls, n: int, condition: float = 1e2, rng: np.random.Generator | int | None = None
    ) -> Quadratic:
        """Hessian with eigenvalues evenly spaced in their logarithm from 1 to the condition.

        The eigenvectors are Haar distributed; centre and x0 - centre are standard Gaussian.
        """
        positive_int(n, "n")
        if real(condition, "condition") < 1:
            raise ArgumentError(f"condition must be >= 1, got {condition!r}")
        rng = as_generator(rng)
        Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
        root = np.sqrt(np.geomspace(1, condition, n))[:, None] * Q.T
        centre = rng.standard_normal(n)
        return cls(root, centre, centre + rng.standard_normal(n))

    @cached_property
    def _space(self) -> Euclidean:
        return Euclidean(len(self.x0))

    @property
    def manifold(self) -> Euclidean:
        return self._space

    @property
    def optimum(self) -> np.ndarray:
        return self.centre

    @property
    def optimal_value(self) -> float:
        return 0.0

    @cached_property
    def _largest(self) -> float:
        return float(np.linalg.norm(self.root, 2)) ** 2

    @property
    def smoothness(self) -> float:
        """Largest eigenvalue of the Hessian."""
        return self._largest

    @cached_property
    def _constants(self) -> tuple[PortableArray, PortableArray]:
        return PortableArray(np.ascontiguousarray(self.root.T)), PortableArray(self.centre)

    def objective(self, x: Array) -> Any:
        root, centre = self._constants
        y = (x - centre.like(x)) @ root.like(x)
        return 0.5 * namespace(x).vecdot(y, y)

    def gradient(self, x: Array) -> Array:
        root, centre = self._constants
        transposed = root.like(x)
        return (x - centre.like(x)) @ transposed @ transposed.T


@dataclass(frozen=True, eq=False)
class Rosenbrock(Problem):
    """f(x) = Σ 100 (x_{i+1} - x_i²)² + (1 - x_i)²: a curved valley that ends at (1, ..., 1).

    Parameters
    ----------
    x0 : array of shape (n,), n >= 2
        Start.

    Examples
    --------
    >>> problem = Rosenbrock(np.array([-1.2, 1.0]))
    >>> round(float(problem.objective(problem.x0)), 9)
    24.2
    """

    x0: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "x0", as_array(self.x0, "x0"))
        if self.x0.ndim != 1 or len(self.x0) < 2:
            raise ArgumentError(f"x0 must have shape (n,) with n >= 2, got {self.x0.shape}")

    @classmethod
    def random(cls, n: int, rng: np.random.Generator | int | None = None) -> Rosenbrock:
        """Start uniform in the cube [-1/2, 1/2]^n."""
        positive_int(n, "n", least=2)
        return cls(as_generator(rng).uniform(-0.5, 0.5, n))

    @cached_property
    def _space(self) -> Euclidean:
        return Euclidean(len(self.x0))

    @property
    def manifold(self) -> Euclidean:
        return self._space

    @property
    def optimum(self) -> np.ndarray:
        return np.ones(len(self.x0))

    @property
    def optimal_value(self) -> float:
        return 0.0

    @property
    def smoothness(self) -> float:
        """Infinite: the curvature grows with |x|²."""
        return math.inf

    def objective(self, x: Array) -> Any:
        head, tail = x[..., :-1], x[..., 1:]
        off, short = tail - head * head, 1 - head
        xp = namespace(x)
        return 100 * xp.vecdot(off, off) + xp.vecdot(short, short)

    def gradient(self, x: Array) -> Array:
        head, tail = x[..., :-1], x[..., 1:]
        off = tail - head * head
        xp = namespace(x)
        nothing = xp.zeros_like(head[..., :1])
        along = xp.concat([-400 * off * head - 2 * (1 - head), nothing], axis=-1)
        return along + xp.concat([nothing, 200 * off], axis=-1)
