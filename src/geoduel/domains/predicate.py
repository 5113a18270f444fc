"""Sets that are known by a test alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._numerics.arrays import Array, copied, namespace
from .._numerics.batches import along_one_axis
from .._support.check import as_generator, function, is_bool
from ..errors import ArgumentError, CutLocusError, EmptySetError
from ..manifolds.base import Manifold
from .base import Domain, tolerance_of

__all__ = ["Where"]

HALVINGS = 50  # of the way to a point outside: to rounding
TRIALS = 1000  # points that are tried before a set is taken to be empty


@dataclass(frozen=True, eq=False)
class Where(Domain):
    """Points for which a test holds: a constraint that is only a function.

    Projection           The end of the geodesic from ``inside`` to the point, as far as the set
                         goes, by halving: some 50 tests. It is in the set, but not its nearest
                         point.
    Linear minimiser     None.
    Diameter             Not known; infinite.

    Methods that project reach optima on the boundary where every point of the set is seen from
    ``inside``, as in convex sets. From elsewhere they still end in the set, but maybe not at its
    optimum.

    Parameters
    ----------
    manifold : Manifold
        Where the points live.
    test : callable
        ``test(x)`` says whether one point is in the set. It is given what functions are given: a
        copy of the array, or a dictionary where the parts of a point have names.
    inside : array_like, optional
        A point of the set. By default the first found of `Manifold.origin` and random points.

    Raises
    ------
    EmptySetError
        If no point of the set is found.
    ArgumentError
        If ``inside`` is not in the set, or the test returns no bool.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.manifolds import Euclidean
    >>> half = Where(Euclidean(2), lambda x: x[0] + x[1] >= 1, inside=[2, 1])
    >>> half.project(np.array([0.0, -1.0])).round(9)
    array([1., 0.])
    """

    manifold: Manifold
    test: Callable[[Any], Any]
    inside: Array = None

    def __post_init__(self) -> None:
        if not isinstance(self.manifold, Manifold):
            raise ArgumentError(f"manifold must be a Manifold, got {self.manifold!r:.80}")
        function(self.test, "test", "a point")
        if self.inside is None:
            inside = self._found()
        else:
            inside = copied(self.manifold.pack(self.inside, "inside"))
            self.manifold.check_point(inside, "inside")
            if not self._holds(inside):
                raise ArgumentError(
                    f"x0, or inside, must be in the domain: its test is false of {inside!r:.80}"
                )
        object.__setattr__(self, "inside", inside)

    @property
    def diameter(self) -> float:
        """Infinite, for unknown."""
        return math.inf

    @property
    def has_nearest(self) -> bool:
        return False

    def contains(self, x: Array, tol: float | None = None) -> Array:
        x = self._check(x, "x")
        lead, (points,) = along_one_axis(len(self.manifold.point_shape), x)
        found = [self._holds(point) for point in points]
        return namespace(x).asarray(np.reshape(np.array(found, dtype=bool), lead))

    def violation(self, x: Array) -> Array:
        """Distance to the projection, and for points outside always more than a tolerance.

        So a point for which the test is false loses against all for which it is true.
        """
        x = self._check(x, "x")
        outside = ~self.contains(x)
        least = namespace(x).astype(outside, x.dtype) * 2 * tolerance_of(None, x)
        return super().violation(x) + least

    def project(self, y: Array) -> Array:
        y = self._check(y, "y")
        lead, (points,) = along_one_axis(len(self.manifold.point_shape), y)
        if not lead:
            return self._seen(y)
        xp = namespace(y)
        each = [self._seen(point) for point in points]
        return xp.reshape(xp.stack(each), y.shape) if each else y

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        """There is none: an `ArgumentError`."""
        raise ArgumentError(
            f"linear_minimizer: {self} is known by a test alone; take a method that projects"
        )

    def _holds(self, x: Array) -> bool:
        try:
            said = self.test(self.manifold.unpack(copied(x)))
        except Exception as error:
            raise ArgumentError(
                f"the test of a domain raised {type(error).__name__}: {error}"
            ) from error
        if is_bool(said) and math.prod(getattr(said, "shape", ())) == 1:
            return bool(said)
        raise ArgumentError(f"the test of a domain must return a bool, it returned {said!r:.80}")

    def _seen(self, y: Array) -> Array:
        """The last point of the set on the way to y, for one point."""
        if self._holds(y):
            return y
        inside = namespace(y).asarray(self.inside, dtype=y.dtype)
        try:
            way = self.manifold.geodesic(inside, self.manifold.log(inside, y))
        except CutLocusError:
            return inside
        low, high, last = 0.0, 1.0, inside
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            point = way(middle)
            if self._holds(point):
                low, last = middle, point
            else:
                high = middle
        return last

    def _found(self) -> Array:
        rng = as_generator(0)
        for trial in range(TRIALS):
            x = self.manifold.random_point(rng) if trial else self.manifold.origin()
            if self._holds(x):
                return x
        raise EmptySetError(
            f"the test of the domain was false of {TRIALS} random points of {self.manifold}: give "
            "a point of the set, x0= or Where(..., inside=)"
        )

    def __repr__(self) -> str:
        return f"Where({self.manifold!r}, {self.test!r})"
