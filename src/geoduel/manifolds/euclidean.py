"""Euclidean space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._numerics.arrays import Array, dot, expand, namespace, normal
from .._support.check import positive_shape
from ._border import Seed
from .base import Manifold

__all__ = ["Euclidean"]


@dataclass(frozen=True, init=False)
class Euclidean(Manifold):
    """Arrays of one shape with the dot product: the flat reference case.

    Point         Any array of the shape.
    Tangent       Any array of the shape.
    Metric        <u, v> = sum of the products; curvature 0; injectivity radius infinite.

    Here RDNGD and RRDNGD are the methods β-NGD and (α, β)-NGD of Saha, Koren and Mansour,
    "Dueling convex optimization", ICML 2021.

    Parameters
    ----------
    *shape : int
        Shape of a point, ``Euclidean(3)`` for vectors in R³, ``Euclidean(4, 5)`` for matrices.

    Examples
    --------
    >>> import numpy as np
    >>> space = Euclidean(2)
    >>> float(space.dist(np.array([0.0, 0.0]), np.array([3.0, 4.0])))
    5.0
    """

    shape: tuple[int, ...]

    def __init__(self, *shape: int) -> None:
        object.__setattr__(self, "shape", positive_shape(shape, "Euclidean"))

    @property
    def dim(self) -> int:
        return math.prod(self.shape)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.shape

    @property
    def curvature(self) -> tuple[float, float]:
        return (0.0, 0.0)

    @property
    def injectivity_radius(self) -> float:
        return math.inf

    @property
    def typical_dist(self) -> float:
        return math.sqrt(self.dim)

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return dot(self._flat(u), self._flat(v))

    def dist(self, x: Array, y: Array) -> Array:
        return self.norm(x, y - x)

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        return lambda t: x + expand(t, len(self.shape)) * v

    def log(self, x: Array, y: Array) -> Array:
        return y - x

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        return w + namespace(x).zeros_like(x) * v  # broadcasts the leading axes

    def to_coords(self, x: Array, v: Array) -> Array:
        return self._flat(v)

    def from_coords(self, x: Array, c: Array) -> Array:
        return namespace(c).reshape(c, (*c.shape[:-1], *self.shape))

    def to_tangent(self, x: Array, a: Array) -> Array:
        return a

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return g

    def to_manifold(self, a: Array) -> Array:
        return a

    def origin(self) -> Array:
        """Zero."""
        return np.zeros(self.shape)

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Gaussian points with independent standard coordinates."""
        return normal(rng, (*batch, *self.shape), like)

    def _flat(self, a: Array) -> Array:
        if len(self.shape) == 1:
            return a
        return namespace(a).reshape(a, (*a.shape[: a.ndim - len(self.shape)], self.dim))

    def __repr__(self) -> str:
        return f"Euclidean({', '.join(map(str, self.shape))})"
