"""Numbers, measured by an interval of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .._numerics.arrays import Array, expand, fails, largest, namespace
from .._numerics.batches import as_like
from .._support.check import as_generator, real, truth
from ..errors import ArgumentError, NotOnManifoldError
from ._border import Seed
from .base import Manifold

__all__ = ["Line"]


@dataclass(frozen=True)
class Line(Manifold):
    """Numbers, in a metric in which a given interval is two units long.

    Point         (1,), any number; with ``ratios`` any positive one.
    Tangent       (1,), any number.
    Metric        <u, v> = s² u v;  dist = s |x - y|, with s = 2 / (upper - lower).
                  With ``ratios``: s² u v / x² and s |log x - log y|, s = 2 / log(upper / lower).
    Dimension     1;  curvature 0;  injectivity radius infinite.
    Source        The second is the affine-invariant metric of 1 x 1 matrices: Bhatia, Positive
                  Definite Matrices (2007), chapter 6.

    The interval is a unit of length and no bound: `geoduel.Interval` is the set of numbers in it.
    So numbers of several units, each with its own interval, count alike in a product.

    Parameters
    ----------
    lower, upper : float
        Ends of the interval.
    ratios : bool
        Whether ratios count, and not differences: for rates, sizes and frequencies.
    unit : str
        Shown behind the number.

    Examples
    --------
    >>> import numpy as np
    >>> rate = Line(1e-4, 1.0, ratios=True)
    >>> float(rate.dist([1e-4], [1e-2])), rate.origin()  # half the way, in the middle
    (1.0, array([0.01]))
    """

    lower: float
    upper: float
    ratios: bool = False
    unit: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        lower, upper = real(self.lower, "lower"), real(self.upper, "upper")
        if not lower < upper:
            raise ArgumentError(f"lower must be below upper, got {self.lower!r} and {self.upper!r}")
        if truth(self.ratios, "ratios") and not lower > 0:
            raise ArgumentError(f"lower must be > 0 where ratios count, got {self.lower!r}")
        if self.ratios and not math.log(lower) < math.log(upper):
            raise ArgumentError(
                f"lower and upper must be further apart, got {self.lower!r} and {self.upper!r}, "
                "whose logarithms are one number"
            )
        if not isinstance(self.unit, str):
            raise ArgumentError(f"unit must be a text, got {self.unit!r:.80}")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def scale(self) -> float:
        """Length of a unit of the number, or with ``ratios`` of its logarithm."""
        if self.ratios:
            return 2 / (math.log(self.upper) - math.log(self.lower))
        return 1 / (self.upper / 2 - self.lower / 2)

    @property
    def dim(self) -> int:
        return 1

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (1,)

    @property
    def curvature(self) -> tuple[float, float]:
        return (0.0, 0.0)

    @property
    def typical_dist(self) -> float:
        return 2 / 3  # the mean distance of two numbers of the interval

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return (self.to_coords(x, u) * self.to_coords(x, v))[..., 0]

    def norm(self, x: Array, u: Array) -> Array:
        """Length of a tangent vector."""
        return abs(self.to_coords(x, u))[..., 0]

    def dist(self, x: Array, y: Array) -> Array:
        return self.norm(x, self.log(x, y))

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        if not self.ratios:
            return lambda t: x + expand(t, 1) * v
        rate, exp = v / x, namespace(x).exp
        return lambda t: x * exp(expand(t, 1) * rate)

    def log(self, x: Array, y: Array) -> Array:
        if not self.ratios:
            return y - x
        xp, change = namespace(x, y), (y - x) / x  # which has the digits where points are close
        near = abs(change) < 0.5
        return x * xp.where(near, xp.log1p(xp.where(near, change, 0.0)), xp.log(y) - xp.log(x))

    def room(self, x: Array) -> float:
        """By the numbers of its dtype, and with ``ratios`` by the small ones as well."""
        if not self.ratios:
            return self.scale * super().room(x)
        xp, most = namespace(x), math.log(largest(x)) / 3
        left = most - float(xp.max(abs(xp.log(x))))
        return max(0.0, self.scale * (left if left > most / 100 else left / 1000))

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        return w * namespace(x).exp(v / x) if self.ratios else w + 0 * (x + v)

    def to_coords(self, x: Array, v: Array) -> Array:
        return self.scale * v / x if self.ratios else self.scale * v

    def from_coords(self, x: Array, c: Array) -> Array:
        return c * x / self.scale if self.ratios else c / self.scale

    def to_tangent(self, x: Array, a: Array) -> Array:
        return a

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return g * (x / self.scale) ** 2 if self.ratios else g / self.scale**2

    def to_manifold(self, a: Array) -> Array:
        """The number itself.

        Raises
        ------
        NotOnManifoldError
            If ratios count and it is not positive.
        """
        if self.ratios and fails(a > 0):
            raise NotOnManifoldError(f"to_manifold on {self}: the number is not positive")
        return a

    def origin(self) -> Array:
        """The middle of the interval."""
        return self._at(np.full(1, 0.5))

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Uniform in the interval."""
        x = self._at(as_generator(rng).random((*batch, 1)))
        return x if like is None else as_like(x, like)

    def _at(self, share: np.ndarray) -> np.ndarray:
        """Numbers at shares of the way from the lower to the upper end."""
        if self.ratios:
            return self.lower ** (1 - share) * self.upper**share
        return (1 - share) * self.lower + share * self.upper

    def __repr__(self) -> str:
        more = ", ratios=True" * self.ratios + f", unit={self.unit!r}" * bool(self.unit)
        return f"Line({self.lower!r}, {self.upper!r}{more})"
