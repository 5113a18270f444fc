"""Correlation matrices, as a product of hyperbolic spaces."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._numerics.arrays import Array, eps, fails, namespace
from .._numerics.linalg import cholesky, congruence, factor, identity
from .._support.check import positive_int
from ..errors import NotOnManifoldError
from ._border import Seed
from .base import Manifold
from .hyperbolic import Hyperbolic
from .product import Product

__all__ = ["Correlation"]


@dataclass(frozen=True)
class Correlation(Manifold):
    """Correlation matrices of full rank, poly-hyperbolic Cholesky metric.

    Point         (n, n), symmetric, positive definite, ones on the diagonal.
    Tangent       (n, n), symmetric, zeros on the diagonal.
    Metric        That of H¹ x ... x Hⁿ⁻¹ through the rows of C = L Lᵀ, which are unit vectors with
                  a positive last entry: row (y, l) is the point (1, y) / l of a hyperboloid.
    Dimension     n(n-1)/2;  curvature in [-1, 0];  injectivity radius infinite;  complete.
    Source        Thanwerdas and Pennec, Theoretically and computationally convenient geometries on
                  full-rank correlation matrices, SIAM J. Matrix Anal. Appl. 43 (2022).

    Between any two matrices there is one geodesic, and no geodesic leaves the manifold. The metric
    depends on the order of the variables: relabelling them changes distances, and turning the
    signs of some does not. For two variables the distance is that of Fisher's z, atanh ρ.

    A matrix holds its last Cholesky entries only as differences from 1. So digits are lost towards
    singular matrices: half of them at distance 9 from the identity.

    Parameters
    ----------
    n : int
        Number of variables, at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = Correlation(2)
    >>> x, y = np.eye(2), np.array([[1.0, 0.6], [0.6, 1.0]])
    >>> round(float(pairs.dist(x, y)), 12), round(float(np.arctanh(0.6)), 12)
    (0.69314718056, 0.69314718056)
    """

    n: int

    def __post_init__(self) -> None:
        positive_int(self.n, "Correlation n", least=2)

    @cached_property
    def _model(self) -> Product:
        return Product(*(Hyperbolic(k) for k in range(1, self.n)))

    @property
    def dim(self) -> int:
        return self.n * (self.n - 1) // 2

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    @property
    def curvature(self) -> tuple[float, float]:
        return self._model.curvature

    @property
    def injectivity_radius(self) -> float:
        return math.inf

    @property
    def typical_dist(self) -> float:
        return self._model.typical_dist

    # -- metric and geodesics: those of the hyperboloids -----------------------------------------

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        low, inverse = factor(x)
        z = self._rows(low)
        return self._model.inner(z, *(self._pushed(low, inverse, w) for w in (u, v)))

    def dist(self, x: Array, y: Array) -> Array:
        return self._model.dist(self._rows(cholesky(x)), self._rows(cholesky(y)))

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        low, inverse = factor(x)
        z = self._rows(low)
        path, start = self._model.geodesic(z, self._pushed(low, inverse, v)), self._matrix(z)
        # The start is x up to rounding: by differences from it, exp(x, 0) is x to the last bit.
        return lambda t: x + (self._matrix(path(t)) - start)

    def log(self, x: Array, y: Array) -> Array:
        low = cholesky(x)
        z = self._rows(low)
        return self._pulled(low, self._model.log(z, self._rows(cholesky(y))))

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        low, inverse = factor(x)
        there = cholesky(y)
        w = self._pushed(low, inverse, v)
        return self._pulled(there, self._model.transport(self._rows(low), self._rows(there), w))

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        low, inverse = factor(x)
        z, a, b = self._rows(low), *(self._pushed(low, inverse, u) for u in (v, w))
        return self._pulled(
            self._lower(self._model.exp(z, a)), self._model.transport_along(z, a, b)
        )

    def room(self, x: Array) -> float:
        """What is left of the distance from the identity at which half the digits are lost."""
        most = -math.log(eps(x)) / 4
        far = namespace(x).max(self.dist(identity(x), x))
        return max(0.0, most - float(far))

    # -- coordinates -----------------------------------------------------------------------------

    def to_coords(self, x: Array, v: Array) -> Array:
        low, inverse = factor(x)
        return self._model.to_coords(self._rows(low), self._pushed(low, inverse, v))

    def from_coords(self, x: Array, c: Array) -> Array:
        low = cholesky(x)
        return self._pulled(low, self._model.from_coords(self._rows(low), c))

    # -- between the ambient space and the manifold ----------------------------------------------

    def to_tangent(self, x: Array, a: Array) -> Array:
        """The symmetric part, with zeros on the diagonal."""
        even = (a + a.mT) / 2
        return namespace(a).where(identity(a) == 1, 0.0, even)

    def to_manifold(self, a: Array) -> Array:
        """The symmetric part, scaled to ones on the diagonal.

        Raises
        ------
        NotOnManifoldError
            If that is not positive definite.
        """
        xp, a = namespace(a), (a + a.mT) / 2
        variance = xp.linalg.diagonal(a)
        if fails(xp.isfinite(a)) or fails(variance > 0):
            raise NotOnManifoldError(
                f"to_manifold on {self}: a variance is not positive, or an entry not finite"
            )
        spread = xp.sqrt(variance)
        x = self._with_ones(a / (spread[..., None] * spread[..., None, :]))
        try:
            cholesky(x)
        except NotOnManifoldError as error:
            raise NotOnManifoldError(f"to_manifold on {self}: {error}") from None
        return x

    def origin(self) -> Array:
        """The identity: no correlations."""
        return np.eye(self.n)

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Gaussian vectors as the spatial parts of the hyperboloids' points."""
        return self._matrix(self._model.random_point(rng, batch, like))

    def point_defect(self, x: Array) -> tuple[str, Array]:
        xp = namespace(x)
        ones = xp.max(abs(xp.linalg.diagonal(x) - 1), axis=-1)
        cholesky(x)
        return "its asymmetry, or the distance of its diagonal from 1,", xp.maximum(
            ones, xp.max(abs(x - x.mT), axis=(-2, -1))
        )

    # -- between matrices and hyperboloids -------------------------------------------------------

    def _with_ones(self, x: Array) -> Array:
        return namespace(x).where(identity(x) == 1, identity(x), x)

    def _rows(self, low: Array) -> Array:
        """Points of the hyperboloids from a Cholesky factor: row (y, l) is (1, y) / l."""
        xp, parts = namespace(low), []
        for k in range(1, self.n):
            last = low[..., k, k : k + 1]
            parts += [1 / last, low[..., k, :k] / last]
        return xp.concat(parts, axis=-1)

    def _lower(self, z: Array) -> Array:
        """The Cholesky factor of points of the hyperboloids: row (y, 1) / t of a point (t, y)."""
        xp = namespace(z)
        first = xp.zeros_like(z[..., :1])
        rows = [xp.concat([first + 1, *[first] * (self.n - 1)], axis=-1)]
        for k, part in enumerate(self._model.split(z), 1):
            time, rest = part[..., :1], [first] * (self.n - k - 1)
            rows.append(xp.concat([part[..., 1:] / time, 1 / time, *rest], axis=-1))
        return xp.stack(rows, axis=-2)

    def _matrix(self, z: Array) -> Array:
        low = self._lower(z)
        x = low @ low.mT
        return self._with_ones((x + x.mT) / 2)

    def _pushed(self, low: Array, inverse: Array, v: Array) -> Array:
        """The tangent vectors of the hyperboloids that a tangent vector of C = L Lᵀ stands for."""
        xp = namespace(low, v)
        half = 1 - identity(low) / 2
        change = low @ (xp.tril(congruence(inverse, v)) * half)  # of L
        parts = []
        for k in range(1, self.n):
            last, moved = low[..., k, k : k + 1], change[..., k, k : k + 1]
            parts += [-moved / last**2]
            parts += [(change[..., k, :k] - low[..., k, :k] * moved / last) / last]
        return xp.concat(_spread(parts), axis=-1)

    def _pulled(self, low: Array, w: Array) -> Array:
        """The inverse of `_pushed`."""
        xp = namespace(low, w)
        z = self._rows(low)
        zero = xp.zeros_like(z[..., :1] + w[..., :1])
        rows = [xp.concat([zero] * self.n, axis=-1)]
        pairs = zip(self._model.split(z), self._model.split(w), strict=True)
        for k, (part, moved) in enumerate(pairs, 1):
            time, dt = part[..., :1], moved[..., :1]
            y = (moved[..., 1:] - part[..., 1:] * dt / time) / time
            row = [y, -dt / time**2, *[zero] * (self.n - k - 1)]
            rows.append(xp.concat(_spread(row), axis=-1))
        change = xp.stack(rows, axis=-2)
        v = change @ low.mT
        return (v + v.mT) * (1 - identity(v))

    def __repr__(self) -> str:
        return f"Correlation({self.n})"


def _spread(parts: list[Array]) -> list[Array]:
    """Parts of one row, with the same leading axes."""
    xp, lead = namespace(parts[0]), np.broadcast_shapes(*(tuple(p.shape[:-1]) for p in parts))
    return [xp.broadcast_to(p, (*lead, p.shape[-1])) for p in parts]
