"""What a feasible set can do: contain, project, minimise linearly, measure a violation."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .._numerics.arrays import Array, eps, namespace
from .._support.check import real
from ..errors import ArgumentError
from ..manifolds.base import Manifold

__all__ = ["Domain", "all_finite", "number_of", "positive_part", "tolerance_of"]


class Domain(ABC):
    """A closed feasible set X in a manifold.

    Leading axes are independent problems, as in `Manifold`: they broadcast, dtype and device are
    kept, and inputs are never written to.

    Attributes
    ----------
    manifold : Manifold
        Where the set lies.
    """

    manifold: Manifold

    @abstractmethod
    def project(self, y: Array) -> Array:
        """Nearest point of the set; ``y`` itself if it is in the set."""

    @property
    def has_nearest(self) -> bool:
        """Whether `project` is meant to lead to the nearest point; by default it is.

        On sets that are known by a test alone it leads to another one. There the default method is
        DuelCSA, which learns where its steps end and not where they should have ended.
        """
        return True

    @abstractmethod
    def linear_minimizer(self, x: Array, h: Array) -> Array:
        """Point z of the set with the least <h, Log_x z>, for a tangent vector ``h`` at ``x``.

        Where every point is one, as for h = 0, the answer is ``x`` or the point nearest to it.
        """

    @abstractmethod
    def contains(self, x: Array, tol: float | None = None) -> Array:
        r"""Whether points are in the set, shape ``(...)``.

        Parameters
        ----------
        x : array of shape (..., \*point_shape)
            Points.
        tol : float, optional
            How far outside, as a length, still counts as inside; by default the square root of the
            rounding unit of the dtype, 1.5e-8 for float64.
        """

    def violation(self, x: Array) -> Array:
        """How far points are outside, shape ``(...)``: zero inside, growing with the distance.

        Infinite, or NaN, where an entry is not finite.
        By default the distance to the projection; sets with a cheaper measure use it.
        """
        return number_of(self.manifold.dist(x, self.project(x)))

    @property
    @abstractmethod
    def diameter(self) -> float:
        """Largest distance of two points of the set, a geodesic length."""

    def _check(self, a: Any, name: str) -> Array:
        """The array that is meant, of points or of tangent vectors."""
        a, shape = self.manifold.pack(a, name), self.manifold.point_shape
        if tuple(a.shape[-len(shape) :]) != shape:
            words = "(..., " + ", ".join(map(str, shape)) + ")"
            raise ArgumentError(
                f"{name} must be an array of shape {words} for {self}, got {tuple(a.shape)}"
            )
        return a


def all_finite(x: Array, axes: int) -> Array:
    """Whether all entries of points are finite, shape ``(...)``: else they are in no set."""
    xp = namespace(x)
    return xp.all(xp.isfinite(x), axis=tuple(range(-axes, 0)))


def tolerance_of(tol: float | None, x: Array) -> float:
    """``tol``, or by default the square root of the rounding unit."""
    return math.sqrt(eps(x)) if tol is None else real(tol, "tol")


def number_of(a: Array) -> Array:
    """Numbers as an array: manifolds answer one pair of points with a plain float."""
    return a if hasattr(a, "ndim") else np.asarray(a)


def positive_part(a: Array) -> Array:
    """The numbers above zero, and zero for the others."""
    xp = namespace(a)
    return xp.maximum(a, xp.zeros_like(a))
