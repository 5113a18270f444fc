"""Sets in a product, factor by factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .._numerics.arrays import Array, namespace
from .._support.check import as_generator
from ..errors import ArgumentError
from ..manifolds._border import Seed
from ..manifolds.line import Line
from ..manifolds.product import Product
from .base import Domain, all_finite, may_be_the_same, number_of

__all__ = ["Space"]


@dataclass(frozen=True, eq=False)
class Space(Domain):
    """Points of a product whose parts lie in sets of their factors.

    All is done factor by factor: projection, linear minimiser and diameter are those of the sets,
    and exact where these are. `space` makes one whose parts have names.

    Parameters
    ----------
    manifold : Product
        The product.
    domains : sequence of (Domain or None)
        One set a factor; None for all of the factor.

    Examples
    --------
    A position in a box, and any angle:

    >>> import numpy as np
    >>> import geoduel as gd
    >>> poses = gd.Product(gd.Euclidean(2), gd.Torus(1))
    >>> space = Space(poses, [gd.Box(np.zeros(2), np.ones(2)), None])
    >>> space.project(np.array([0.5, 7.0, 3.0]))
    array([0.5, 1. , 3. ])
    """

    manifold: Product  # type: ignore[assignment]
    domains: Sequence[Domain | None]

    def __post_init__(self) -> None:
        product = self.manifold
        if not isinstance(product, Product):
            raise ArgumentError(f"manifold must be a Product, got {product!r:.80}")
        domains = tuple(self.domains)
        if len(domains) != len(product.factors):
            raise ArgumentError(
                f"domains must be one for each factor of {product}, {len(product.factors)}, or "
                f"None; got {len(domains)}"
            )
        labels = product.names or range(len(domains))
        for label, factor, domain in zip(labels, product.factors, domains, strict=True):
            if domain is None:
                continue
            if not isinstance(domain, Domain):
                raise ArgumentError(f"domains[{label!r}] must be a Domain, got {domain!r:.80}")
            fits = domain.manifold.point_shape == factor.point_shape
            lines = isinstance(domain.manifold, Line) and isinstance(factor, Line)
            if not (fits and (lines or may_be_the_same(domain.manifold, factor))):
                raise ArgumentError(
                    f"domains[{label!r}] is a set in {domain.manifold}; the factor is {factor}"
                )
        object.__setattr__(self, "domains", domains)

    @property
    def diameter(self) -> float:
        """Largest distance of two points: exact where those of the sets are."""
        pairs = zip(self.domains, self.manifold.weights, strict=True)
        sizes = [math.inf if d is None else math.sqrt(w) * d.diameter for d, w in pairs]
        return math.hypot(*sizes)

    @property
    def has_nearest(self) -> bool:
        return all(d is None or d.has_nearest for d in self.domains)

    def contains(self, x: Array, tol: float | None = None) -> Array:
        x = self._check(x, "x")
        inside = all_finite(x, 1)
        triples = zip(self.domains, self.manifold.split(x), self.manifold.weights, strict=True)
        for domain, part, weight in triples:
            if domain is not None:
                own = None if tol is None else tol / math.sqrt(weight)
                inside = inside & domain.contains(part, own)
        return inside

    def violation(self, x: Array) -> Array:
        """Length of the violations of all sets."""
        x = self._check(x, "x")
        pairs = zip(self.domains, self.manifold.split(x), self.manifold.weights, strict=True)
        squares = [w * d.violation(part) ** 2 for d, part, w in pairs if d is not None]
        zero = namespace(x).zeros_like(x[..., 0])
        return number_of(namespace(x).sqrt(sum(squares, start=zero)))

    def project(self, y: Array) -> Array:
        y = self._check(y, "y")
        pairs = zip(self.domains, self.manifold.split(y), strict=True)
        return self.manifold.join(*(part if d is None else d.project(part) for d, part in pairs))

    def random_point(self, rng: Seed = None, like: Array = None) -> Array:
        """Random points of the sets, and of factors without one."""
        rng, pairs = as_generator(rng), zip(self.domains, self.manifold.factors, strict=True)
        parts = [(domain or factor).random_point(rng, like=like) for domain, factor in pairs]
        return self.manifold.join(*parts)

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        """The linear minimisers of the sets.

        Raises
        ------
        ArgumentError
            If a factor has no set, or its set has none.
        """
        x = self._check(x, "x")
        h = self._check(h, "h")
        parts = []
        split = self.manifold.split
        for i, (domain, *pair) in enumerate(zip(self.domains, split(x), split(h), strict=True)):
            if domain is None:
                raise ArgumentError(
                    "linear_minimizer needs a set in every factor; there is none in "
                    f"{self.manifold.factors[i]}"
                )
            parts.append(domain.linear_minimizer(*pair))
        return self.manifold.join(*parts)

    def __repr__(self) -> str:
        product = self.manifold
        if product.names is None or set(product.weights) != {1.0}:
            return f"Space({product!r}, {self.domains!r})"
        sets = [d or m for d, m in zip(self.domains, product.factors, strict=True)]
        pairs = zip(product.names, sets, strict=True)
        return f"space({', '.join(f'{name}={part!r}' for name, part in pairs)})"
