"""Symmetric positive definite matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..._numerics.arrays import Array, eps, fails, host, largest, namespace, normal
from ..._numerics.gradients import detached
from ..._numerics.linalg import eigvalsh, has_cholesky, positive_definite
from ..._numerics.symmetric import ExpLog, sym, unpack
from ..._support.check import one_of, positive_int
from ...errors import NotOnManifoldError
from .._border import Seed
from ..base import Manifold
from .affine_invariant import AffineInvariant
from .bures_wasserstein import BuresWasserstein
from .log_euclidean import LogEuclidean
from .metric import Metric

__all__ = ["SPD"]

METRICS: dict[str, Callable[[int], Metric]] = {
    "affine-invariant": AffineInvariant,
    "log-euclidean": LogEuclidean,
    "bures-wasserstein": BuresWasserstein,
}


@dataclass(frozen=True)
class SPD(Manifold):
    """Symmetric positive definite n x n matrices, with one of three metrics.

    Point         (n, n), symmetric, positive eigenvalues.
    Tangent       (n, n), symmetric.
    Dimension     n (n+1)/2.

    **affine-invariant** (default). <U, V>_X = tr(X⁻¹ U X⁻¹ V), dist(X, Y) = |log λ| with λ the
    eigenvalues of X⁻¹Y. Complete; sectional curvature in [-1/2, 0] (0 for n = 1); injectivity
    radius ∞. Congruences X -> G X Gᵀ and inversion are isometries.
    Source: Bhatia, Positive Definite Matrices (2007), chapter 6.

    **log-euclidean**. <U, V>_X = tr(D log_X[U] D log_X[V]), dist(X, Y) = |log X - log Y|.
    Complete and flat; injectivity radius ∞. Source: Arsigny, Fillard, Pennec and Ayache,
    "Geometric means in a novel vector space structure on symmetric positive-definite matrices",
    SIAM J. Matrix Anal. Appl. 29 (2007).

    **bures-wasserstein**. <U, V>_X = tr(A V) / 2 with AX + XA = U;
    dist(X, Y)² = tr X + tr Y - 2 tr (X^{1/2} Y X^{1/2})^{1/2}. Curvature ≥ 0 and unbounded (0 for
    n = 1). Not complete: `exp` is defined while I + A is positive definite, up to length
    sqrt(λ_min(X)) for sure. Beyond, single points raise `NotOnManifoldError` and entries of a stack
    are NaN. Where defined, exp is one-to-one and its geodesics are the shortest ones, hence the
    injectivity radius ∞. Parallel transport has no closed form; it is integrated, to rounding.
    Source: Bhatia, Jain and Lim, "On the Bures-Wasserstein distance between positive definite
    matrices", Expo. Math. 37 (2019); Massart, Hendrickx and Absil, "Curvature of the manifold of
    fixed-rank positive-semidefinite matrices endowed with the Bures-Wasserstein metric" (2019).

    Results are symmetric to the last bit. A matrix whose smallest eigenvalue is zero or negative by
    no more than rounding explains counts as a point and is repaired where it matters. Beyond that
    the methods raise `NotOnManifoldError`, which names the eigenvalue.

    Parameters
    ----------
    n : int
        Size of the matrices.
    metric : {"affine-invariant", "log-euclidean", "bures-wasserstein"}
        Metric.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.manifolds.spd import SPD
    >>> spd = SPD(2)
    >>> x, y = np.diag([np.e**2, 1.0]), np.eye(2)
    >>> float(spd.dist(x, y))
    2.0
    >>> spd.exp(x, spd.log(x, y) / 2).round(6)  # their geometric mean, diag(e, 1)
    array([[2.718282, 0.      ],
           [0.      , 1.      ]])
    >>> SPD(2, metric="log-euclidean").curvature
    (0.0, 0.0)
    """

    n: int
    metric: Literal["affine-invariant", "log-euclidean", "bures-wasserstein"] = "affine-invariant"
    _metric: Metric = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive_int(self.n, "n"))
        metric = METRICS[one_of(self.metric, "metric", tuple(METRICS))](self.n)
        object.__setattr__(self, "_metric", metric)

    @property
    def dim(self) -> int:
        return self.n * (self.n + 1) // 2

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    @property
    def curvature(self) -> tuple[float, float]:
        return self._metric.curvature

    @property
    def injectivity_radius(self) -> float:
        return math.inf

    @property
    def typical_dist(self) -> float:
        return self._metric.typical_dist

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return self._metric.inner(x, u, v)

    def dist(self, x: Array, y: Array) -> Array:
        return self._metric.dist(x, y)

    def dist_from(self, x: Array) -> Callable[[Array], Array]:
        """Return ``y -> dist(x, y)``, with the work on ``x`` done once.

        For distances from many points to the same stack of matrices, such as a Karcher objective.

        Examples
        --------
        >>> import numpy as np
        >>> from geoduel.manifolds.spd import SPD
        >>> data = np.stack([np.diag([1.0, 1.0]), np.diag([np.e, 1.0])])
        >>> to_data = SPD(2).dist_from(data)
        >>> to_data(np.eye(2))
        array([0., 1.])
        """
        return self._metric.dist_from(x)

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        return self._metric.geodesic(x, v)

    @property
    def complete(self) -> bool:
        return not isinstance(self._metric, BuresWasserstein)

    def extent(self, x: Array, v: Array) -> Array:
        if isinstance(self._metric, BuresWasserstein):
            return self._metric.extent(x, v)
        return super().extent(x, v)

    def room(self, x: Array) -> float:
        """Length of the steps that leave a fifth of the digits to the smallest eigenvalue."""
        if isinstance(self._metric, BuresWasserstein):
            return super().room(x)
        w = host(eigvalsh(detached(x)))
        if not (np.all(w > 0) and np.all(np.isfinite(w))):
            return 0.0
        logs = np.log(w)  # a step of length r spreads them by √2 r, and shifts them by r, at most
        spread = -0.8 * math.log(eps(x)) - np.max(logs[..., -1] - logs[..., 0])
        shift = math.log(largest(x)) / 3 - np.max(abs(logs))
        return max(0.0, float(min(spread / math.sqrt(2), shift)))

    def log(self, x: Array, y: Array) -> Array:
        return self._metric.log(x, y)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        return self._metric.transport(x, y, v)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        return self._metric.transport_along(x, v, w)

    def to_coords(self, x: Array, v: Array) -> Array:
        return self._metric.to_coords(x, v)

    def from_coords(self, x: Array, c: Array) -> Array:
        return self._metric.from_coords(x, c)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return self._metric.gradient(x, g)

    def to_tangent(self, x: Array, a: Array) -> Array:
        """Symmetric part."""
        return sym(a)

    def to_manifold(self, a: Array) -> Array:
        """Symmetric part; eigenvalues that rounding made zero or negative are raised above it.

        Raises
        ------
        NotOnManifoldError
            If ``a`` is not near a symmetric matrix (to a tenth of its largest entry), or not
            positive definite by more than rounding explains.
        """
        self._check_array(a, "a")
        words, defect = self.point_defect(a)
        if fails(~(defect > 0.1)):
            worst = float(namespace(a).max(defect))
            raise NotOnManifoldError(f"a is not near {self}: {words} is {worst:.3g}, not <= 0.1")
        return positive_definite(sym(a), "a")

    def origin(self) -> Array:
        """The identity."""
        return np.eye(self.n)

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Matrix exponentials of symmetric Gaussian matrices, scaled by 1/√n.

        The eigenvalues lie about between e^-√2 and e^√2; the distribution is rotation invariant.
        """
        s = unpack(normal(rng, (*batch, self.dim), like), self.n)
        return ExpLog.of_log(s / math.sqrt(self.n)).point()

    def check_point(self, x: Array, name: str = "x") -> None:
        super().check_point(x, name)
        values, xp = eigvalsh(detached(x)), namespace(x)
        doubtful = ~(values[..., 0] > 0)
        # At zero rounding decides: what `to_manifold` leaves or makes may have its sign either way.
        if bool(xp.any(doubtful)) and not has_cholesky(detached(x)[doubtful]):
            least = float(xp.min(values))
            raise NotOnManifoldError(
                f"{name} is not on {self}: its smallest eigenvalue is {least:.6g}, expected > 0"
            )

    def point_defect(self, x: Array) -> tuple[str, Array]:
        return self.tangent_defect(x, x)

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        xp = namespace(v)
        size = xp.max(abs(v), axis=(-2, -1))
        gap = xp.max(abs(v - v.mT), axis=(-2, -1))
        words = "the largest difference from its transpose, relative to its largest entry,"
        return words, gap / xp.where(size == 0, xp.ones_like(size), size)

    def __repr__(self) -> str:
        named = "" if self.metric == "affine-invariant" else f", metric={self.metric!r}"
        return f"SPD({self.n}{named})"
