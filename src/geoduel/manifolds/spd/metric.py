"""What a metric of SPD matrices provides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..._numerics.arrays import Array, dot, namespace

__all__ = ["Metric", "flat_dot", "flattened"]


class Metric(Protocol):
    """What a metric on SPD(n) has to offer; the meaning is that of `Manifold`."""

    curvature: tuple[float, float]
    typical_dist: float

    def inner(self, x: Array, u: Array, v: Array) -> Array: ...
    def dist_from(self, x: Array) -> Callable[[Array], Array]: ...
    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]: ...

    def dist(self, x: Array, y: Array) -> Array:
        return self.dist_from(x)(y)

    def log(self, x: Array, y: Array) -> Array: ...
    def transport(self, x: Array, y: Array, v: Array) -> Array: ...
    def transport_along(self, x: Array, v: Array, w: Array) -> Array: ...
    def to_coords(self, x: Array, v: Array) -> Array: ...
    def from_coords(self, x: Array, c: Array) -> Array: ...
    def gradient(self, x: Array, g: Array) -> Array: ...


def flattened(a: Array) -> Array:
    """Matrices as vectors."""
    return namespace(a).reshape(a, (*a.shape[:-2], a.shape[-1] ** 2))


def flat_dot(a: Array, b: Array) -> Array:
    """Sum of the products of the entries of matrices."""
    return dot(flattened(a), flattened(b))
