"""Points that are in several sets at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._numerics.arrays import Array, eps, host, namespace
from .._support.check import positive, positive_int
from ..errors import ArgumentError, EmptySetError
from ..manifolds.base import Manifold
from ..manifolds.euclidean import Euclidean
from .ball import Ball
from .base import Domain, number_of
from .flat import Box, L1Ball, ProbabilitySimplex

__all__ = ["Intersection"]


@dataclass(frozen=True, init=False, eq=False)
class Intersection(Domain):
    r"""Points in all of several sets of one manifold.

    Projection           Euclidean: Dykstra's algorithm, which converges to the nearest point; it
                         stops by the rule of Birgin and Raydan (2005). Elsewhere alternating
                         projections: they end in the intersection, not necessarily at its nearest
                         point. Either to ``tol``, and often slowly where boundaries meet at small
                         angles.
    Linear minimiser     That of a member which is known to lie in all the others; else an error.
    Diameter             The least of the members', an upper bound.

    Parameters
    ----------
    \*domains : Domain
        Sets of one manifold.
    tol : float
        Length at which projections stop.
    max_cycles : int
        Most rounds of projections.

    Raises
    ------
    EmptySetError
        From `project`, if no common point is found.

    References
    ----------
    Boyle and Dykstra, A method for finding projections onto the intersection of convex sets in
    Hilbert spaces (1986); Birgin and Raydan, Robust stopping criteria for Dykstra's algorithm,
    SIAM J. Sci. Comput. 26 (2005); Bačák, Convex Analysis and Optimization in Hadamard Spaces
    (2014), chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.domains import Box, L2Ball
    >>> corner = Intersection(L2Ball(2, 1.0), Box(np.array([0.6, -2.0]), np.array([2.0, 2.0])))
    >>> corner.project(np.array([0.0, 3.0])).round(9)
    array([0.6, 0.8])
    """

    domains: tuple[Domain, ...]
    tol: float
    max_cycles: int
    manifold: Manifold

    def __init__(self, *domains: Domain, tol: float = 1e-10, max_cycles: int = 10_000) -> None:
        if not domains:
            raise ArgumentError("Intersection needs at least one domain, got none")
        for i, domain in enumerate(domains):
            if not isinstance(domain, Domain):
                raise ArgumentError(f"domains[{i}] must be a Domain, got {domain!r:.80}")
            if domain.manifold != domains[0].manifold:
                raise ArgumentError(
                    f"domains[{i}] lies in {domain.manifold}, domains[0] in {domains[0].manifold}: "
                    "they must share one manifold"
                )
        object.__setattr__(self, "domains", domains)
        object.__setattr__(self, "tol", positive(tol, "tol"))
        object.__setattr__(self, "max_cycles", positive_int(max_cycles, "max_cycles"))
        object.__setattr__(self, "manifold", domains[0].manifold)

    @property
    def diameter(self) -> float:
        """Least diameter of a member, an upper bound."""
        return min(domain.diameter for domain in self.domains)

    @property
    def has_nearest(self) -> bool:
        return all(domain.has_nearest for domain in self.domains)

    def contains(self, x: Array, tol: float | None = None) -> Array:
        inside = self.domains[0].contains(x, tol)
        for domain in self.domains[1:]:
            inside = inside & domain.contains(x, tol)
        return inside

    def violation(self, x: Array) -> Array:
        """Largest violation of a member."""
        worst = self.domains[0].violation(x)
        for domain in self.domains[1:]:
            worst = namespace(worst).maximum(worst, domain.violation(x))
        return worst

    def project(self, y: Array) -> Array:
        y = self._check(y, "y")
        if 0 in y.shape:
            return y
        z = self._dykstra(y) if isinstance(self.manifold, Euclidean) else self._alternate(y)
        tol = max(math.sqrt(eps(y)), 10 * self.tol)
        for domain in self.domains:
            if not bool(namespace(z).all(domain.contains(z, tol))):
                raise EmptySetError(
                    f"no common point found in {self.max_cycles} rounds of projections, still "
                    f"outside {domain}: the intersection seems empty, or max_cycles is too small"
                )
        return z

    def _dykstra(self, y: Array) -> Array:
        xp = namespace(y)
        z, tol2 = y, (self.tol + self._rounding(y)) ** 2
        corrections = [xp.zeros_like(y) for _ in self.domains]
        for _ in range(self.max_cycles):
            change = 0.0
            for i, domain in enumerate(self.domains):
                moved = z + corrections[i]
                z = domain.project(moved)
                # Corrections settle only once z has: z alone may pause on its way.
                change += float(xp.max(xp.abs(moved - z - corrections[i]))) ** 2
                corrections[i] = moved - z
            if change <= tol2:
                break
        return z

    def _alternate(self, y: Array) -> Array:
        xp, z = namespace(y), y
        for _ in range(self.max_cycles):
            moved = 0.0
            for domain in self.domains:
                ahead = domain.project(z)
                moved = max(moved, float(xp.max(number_of(self.manifold.dist(z, ahead)))))
                z = ahead
            if moved <= self.tol + self._rounding(y):
                break
        return z

    def _rounding(self, y: Array) -> float:
        return 4 * eps(y) * max(1.0, float(namespace(y).max(abs(y))))

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        """Linear minimiser of a member that is known to lie in all the others.

        Known are balls in balls, of one norm, and what lies in a box, or a box in a ball, by its
        bounds.

        Raises
        ------
        ArgumentError
            If no member is known to.
        """
        if self._least is None:
            raise ArgumentError(
                f"{self} has no linear minimiser, unless one of its sets is seen to lie in all the "
                'others: leave out what the others imply, or take a method that projects, "auto" '
                'or "rdngd"'
            )
        return self._least.linear_minimizer(x, h)

    @cached_property
    def _least(self) -> Domain | None:
        """The member that lies in all the others, where there is one that is known to."""
        for one in self.domains:
            if all(one is other or _lies_in(one, other) for other in self.domains):
                return one
        return None

    def __repr__(self) -> str:
        return f"Intersection({', '.join(map(repr, self.domains))})"


def _lies_in(inner: Domain, outer: Domain) -> bool:
    """Whether a set is known to lie in another one."""
    if isinstance(inner, Ball) and isinstance(outer, Ball):
        apart = number_of(inner.manifold.dist(host(inner.center), host(outer.center)))
        return bool(np.all(apart + inner.radius <= outer.radius))
    if isinstance(inner, L1Ball) and isinstance(outer, L1Ball):
        apart = np.abs(host(inner.center) - host(outer.center)).sum(axis=-1)
        return bool(np.all(apart + inner.radius <= outer.radius))
    if (bounds := _bounds_of(inner)) is None:
        return False
    low, high = bounds
    if isinstance(outer, Box):
        return bool(np.all((low >= host(outer.lower)) & (high <= host(outer.upper))))
    if isinstance(outer, Ball | L1Ball) and isinstance(outer.manifold, Euclidean):
        center = host(outer.center)
        corner = np.maximum(np.abs(low - center), np.abs(high - center))  # the furthest
        norm = 1 if isinstance(outer, L1Ball) else 2
        axes = tuple(range(-len(outer.manifold.point_shape), 0))
        length = np.sum(corner**norm, axis=axes) ** (1 / norm)
        return bool(np.all(length <= outer.radius))
    return False


def _bounds_of(domain: Domain) -> tuple[np.ndarray, np.ndarray] | None:
    """Least and largest entries of a set in Euclidean space, where they are known."""
    if isinstance(domain, Box):
        return host(domain.lower), host(domain.upper)
    if isinstance(domain, ProbabilitySimplex):
        return np.zeros(domain.n), np.full(domain.n, domain.scale)
    if isinstance(domain, Ball | L1Ball) and isinstance(domain.manifold, Euclidean):
        center = host(domain.center)
        return center - domain.radius, center + domain.radius
    return None
