"""What a problem is: an objective on a manifold, a start, and an optimum to measure against."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .._numerics.arrays import Array, device, namespace
from ..domains.base import Domain
from ..manifolds.base import Manifold
from ..oracles.base import Oracle
from ..oracles.objective import from_objective

__all__ = ["PortableArray", "Problem"]


class Problem(ABC):
    """An objective on a manifold.

    Methods see it through duels, `oracle`. Gradient, optimum and constants are for yardsticks, for
    theory and for measuring.

    Attributes
    ----------
    x0 : array of shape point_shape
        Start.
    """

    x0: Array

    @property
    @abstractmethod
    def manifold(self) -> Manifold:
        """Where the points live."""

    @property
    @abstractmethod
    def optimum(self) -> np.ndarray:
        """A point where the objective is least."""

    @property
    @abstractmethod
    def optimal_value(self) -> float:
        """Least value of the objective."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Largest curvature L between the start and the optimum."""

    @abstractmethod
    def objective(self, x: Array) -> Any:
        """Value f(x), for points of shape ``(..., *point_shape)`` of shape ``(...)``."""

    @abstractmethod
    def gradient(self, x: Array) -> Array:
        """Riemannian gradient, shape ``(..., *point_shape)``."""

    def domain(self) -> Domain | None:
        """Feasible set of the constrained version of the problem, None if it has none."""
        return None

    def oracle(self) -> Oracle:
        """Duels of the objective, vectorized."""
        return from_objective(self.objective, vectorized=True)

    def gap(self, x: Array) -> Any:
        """Objective above its least value, f(x) - f*, shape ``(...)``."""
        return self.objective(x) - self.optimal_value


class PortableArray:
    """A float64 NumPy array that is kept in each kind, dtype and place of arrays that met it.

    Examples
    --------
    >>> pi = PortableArray(np.array([np.pi]))
    >>> pi.like(np.zeros(3, dtype=np.float32))
    array([3.1415927], dtype=float32)
    """

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self._kept: dict[Any, Array] = {}

    def like(self, x: Array) -> Array:
        """Return the array in the kind and dtype of ``x`` and on its device."""
        if type(x) is np.ndarray and x.dtype == self.array.dtype:
            return self.array
        kind = type(x), x.dtype, device(x)
        if kind not in self._kept:
            self._kept[kind] = namespace(x).asarray(self.array, dtype=x.dtype, device=device(x))
        return self._kept[kind]

    def __reduce__(self) -> tuple[Any, ...]:
        return PortableArray, (self.array,)
