"""What a feasible set can do: contain, project, minimise linearly, measure a violation."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any

import numpy as np

from .._numerics.arrays import Array, eps, expand, namespace
from .._support.check import as_generator, real
from ..errors import CutLocusError
from ..manifolds._border import Seed
from ..manifolds.base import Manifold

__all__ = [
    "Domain",
    "all_finite",
    "may_be_the_same",
    "number_of",
    "positive_part",
    "random_step",
    "tolerance_of",
]

SPREAD = 4  # steps that spread a random point over a set


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

    def random_point(self, rng: Seed = None, like: Array = None) -> Array:
        """A random point of the set, of the kind of ``like`` if given: where a run may begin.

        Any region of the set may be drawn. By default a step in a random direction leads to the
        boundary, or about a typical distance where the set has no finite diameter. Then the point
        goes back a random share of the way. Sets that can be drawn from do better.

        Parameters
        ----------
        rng : numpy.random.Generator or int, optional
            Source of randomness, or a seed.
        like : array, optional
            An array of the kind, dtype and device that is wanted; by default NumPy float64.

        Returns
        -------
        array of shape (..., *point_shape)
            One point for each of the leading axes that the set has.
        """
        rng, manifold = as_generator(rng), self.manifold
        x = self.project(manifold.random_point(rng, like=like))
        length = self.diameter if math.isfinite(self.diameter) else manifold.typical_dist
        length = min(length, manifold.injectivity_radius / 2)
        for _ in range(SPREAD):
            with suppress(CutLocusError):
                y = random_step(manifold, rng, x, min(length, manifold.room(x) / 2))
                back = manifold.log(x, self.project(y))
                x = self.project(manifold.exp(x, rng.random() * back))
        return x

    def _check(self, a: Any, name: str) -> Array:
        """The array that is meant, of points or of tangent vectors."""
        return self.manifold.pack(a, name)


def all_finite(x: Array, axes: int) -> Array:
    """Whether all entries of points are finite, shape ``(...)``: else they are in no set."""
    xp = namespace(x)
    return xp.all(xp.isfinite(x), axis=tuple(range(-axes, 0)))


def tolerance_of(tol: float | None, x: Array) -> float:
    """``tol``, or by default the square root of the rounding unit."""
    return math.sqrt(eps(x)) if tol is None else real(tol, "tol")


def random_step(manifold: Manifold, rng: np.random.Generator, x: Array, length: float) -> Array:
    """The end of a geodesic of a length in a random direction; of a shorter one where some end."""
    v = length * manifold.unit_tangent(rng, x)
    if not manifold.complete:
        half = number_of(manifold.extent(x, v)) / 2
        v = expand(namespace(half).clip(half, 0.0, 1.0), len(manifold.point_shape)) * v
    return manifold.exp(x, v)


def may_be_the_same(one: Manifold, other: Manifold) -> bool:
    """Whether two manifolds are the same, as far as those of other packages can be compared."""
    if type(one) is not type(other):
        return isinstance(one, type(other)) or isinstance(other, type(one))
    return one == other or not type(one).__module__.startswith("geoduel.")


def number_of(a: Array) -> Array:
    """Numbers as an array: manifolds answer one pair of points with a plain float."""
    return a if hasattr(a, "ndim") else np.asarray(a)


def positive_part(a: Array) -> Array:
    """The numbers above zero, and zero for the others."""
    xp = namespace(a)
    return xp.maximum(a, xp.zeros_like(a))
