"""A space with categories and whole numbers, taken apart: a manifold to walk on, and the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._numerics.arrays import Array, host, namespace
from .._numerics.batches import as_like
from ..errors import ArgumentError
from ..manifolds.base import Manifold
from ..manifolds.discrete import Discrete
from ..manifolds.product import Product, is_mixed
from .base import Domain
from .factors import Space

__all__ = ["Mixture", "is_mixed"]


@dataclass(frozen=True)
class Mixture:
    """A manifold in two parts: its continuous factors, and the values of the discrete ones.

    Parameters
    ----------
    manifold : Manifold
        A product, which may have others as factors; or a discrete one alone.

    Examples
    --------
    >>> import geoduel as gd
    >>> net = gd.space(act=["relu", "tanh"], turn=gd.Torus(1), layers=range(1, 9))
    >>> parts = Mixture(net.manifold)
    >>> parts.continuous, parts.factors
    (Product(Torus(1)), (Categories('relu', 'tanh'), Integers(1, 8)))
    >>> parts.split(net.manifold.pack({"act": "tanh", "turn": 0.5, "layers": 3}))
    (array([0.5]), array([1., 3.]))
    >>> parts.join(np.array([0.5]), np.array([1.0, 3.0]))
    array([1. , 0.5, 3. ])
    """

    manifold: Manifold

    @cached_property
    def continuous(self) -> Product | None:
        """The product of the continuous factors; None where there are none."""
        return _continuous(self.manifold)

    @cached_property
    def factors(self) -> tuple[Discrete, ...]:
        """The discrete factors, in order."""
        return tuple(m for m, _ in _leaves(self.manifold) if isinstance(m, Discrete))

    @cached_property
    def _discrete(self) -> np.ndarray:
        """Which entries of a point are values."""
        sizes = ((isinstance(m, Discrete), size) for m, size in _leaves(self.manifold))
        return np.concatenate([np.full(size, discrete) for discrete, size in sizes])

    @cached_property
    def _order(self) -> np.ndarray:
        """Where each entry of a point is found behind the continuous ones and the values."""
        return np.argsort(np.concatenate([np.flatnonzero(~self._discrete), self._values]))

    @cached_property
    def _values(self) -> np.ndarray:
        return np.flatnonzero(self._discrete)

    def split(self, x: Array) -> tuple[Array, np.ndarray]:
        """A point's continuous part, and its values: whole numbers as `Discrete` points are."""
        moving = np.flatnonzero(~self._discrete)
        return x[..., moving], np.asarray(host(x))[..., self._values]

    def join(self, moving: Array, values: np.ndarray) -> Array:
        """The point, or points, of a continuous part and values of shape (n,)."""
        xp = namespace(moving)
        shape = (*moving.shape[:-1], len(values))
        values = xp.broadcast_to(as_like(values, moving), shape)
        return xp.concat([moving, values], axis=-1)[..., self._order]

    def domain(self, domain: Domain | None) -> Domain | None:
        """The feasible set of the continuous part.

        Raises
        ------
        ArgumentError
            If the set does not go factor by factor, or restricts values.
        """
        if domain is None or self.continuous is None:
            return None
        return _domain(domain, self.manifold)


def _leaves(manifold: Manifold) -> Iterator[tuple[Manifold, int]]:
    """Factors that are no products of several kinds, with the entries that a point has in each."""
    if isinstance(manifold, Product) and is_mixed(manifold):
        for factor in manifold.factors:
            yield from _leaves(factor)
    else:
        yield manifold, int(np.prod(manifold.point_shape))


def _continuous(manifold: Manifold) -> Product | None:
    if not isinstance(manifold, Product):
        return None
    kept = [
        (factor if not is_mixed(factor) else _continuous(factor), weight)
        for factor, weight in zip(manifold.factors, manifold.weights, strict=True)
    ]
    pairs = [(factor, weight) for factor, weight in kept if factor is not None]
    if not pairs:
        return None
    return Product(*(factor for factor, _ in pairs), weights=[weight for _, weight in pairs])


def _domain(domain: Domain, manifold: Manifold) -> Domain | None:
    if not isinstance(domain, Space) or not isinstance(manifold, Product):
        raise ArgumentError(
            "in a space with categories or integers a domain goes factor by factor: give bounds "
            f"and sets of the other factors, by their names; got {domain!r:.80}"
        )
    kept: list[Domain | None] = []
    for factor, part in zip(manifold.factors, domain.domains, strict=True):
        if not is_mixed(factor):
            kept.append(part)
        elif part is not None and isinstance(factor, Discrete):
            raise ArgumentError(f"{factor} takes no domain, got {part!r:.80}: give fewer values")
        elif _continuous(factor) is not None:
            kept.append(None if part is None else _domain(part, factor))
    found = _continuous(manifold)
    assert found is not None  # `Mixture.domain` has asked
    return Space(found, kept) if any(kept) else None
