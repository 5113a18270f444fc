"""Numbers between two bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._numerics.arrays import Array, eps, namespace
from .._numerics.batches import as_like, bounds_like
from .._support.check import as_generator, real, truth
from ..errors import ArgumentError, EmptySetError
from ..manifolds._border import Seed
from ..manifolds.base import Manifold
from ..manifolds.line import Line
from .base import Domain, tolerance_of

__all__ = ["Interval"]

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False, repr=False)
class Interval(Domain):
    """Numbers from ``lower`` to ``upper``, on a scale of their own.

    It lies in a `Line`, in whose metric it is two units long, whatever the numbers are. So several
    parameters in several units count alike, as parts of `geoduel.space`.

    Parameters
    ----------
    lower, upper : float
        Bounds; both are in the set.
    log : bool
        Whether ratios count, and not differences: for rates, sizes and frequencies. The bounds are
        then positive.
    unit : str
        Shown behind the number on the duel page.
    manifold : Line, optional
        Another scale, with its unit; for part of an interval.

    Raises
    ------
    EmptySetError
        If the lower bound is above the upper one.

    Examples
    --------
    >>> import numpy as np
    >>> rate = Interval(1e-4, 1.0, log=True)
    >>> rate.project(np.array([3.0]))
    array([1.])
    >>> rate.diameter
    2.0
    """

    lower: float
    upper: float
    log: bool = False
    unit: str = ""
    manifold: Manifold = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        lower, upper = real(self.lower, "lower"), real(self.upper, "upper")
        if lower > upper:
            raise EmptySetError(
                f"lower must be below upper, got {self.lower!r} and {self.upper!r}: there is no "
                "number between"
            )
        truth(self.log, "log")
        line = Line(lower, upper, self.log, self.unit) if self.manifold is None else self.manifold
        if not isinstance(line, Line):
            raise ArgumentError(f"manifold must be a Line, got {line!r:.80}")
        if line.ratios and not lower > 0:
            raise ArgumentError(f"lower must be > 0 where ratios count, got {self.lower!r}")
        given = {"lower": lower, "upper": upper, "log": line.ratios, "unit": line.unit}
        for name, value in (given | {"manifold": line}).items():
            object.__setattr__(self, name, value)

    @property
    def diameter(self) -> float:
        """Distance of the bounds, exact."""
        return float(self.manifold.dist([self.lower], [self.upper]))

    def contains(self, x: Array, tol: float | None = None) -> Array:
        x = self._check(x, "x")
        return self.violation(x) <= tolerance_of(tol, x)

    def project(self, y: Array) -> Array:
        y = self._check(y, "y")
        return namespace(y).clip(y, *self._bounds(y))

    def random_point(self, rng: Seed = None, like: Array = None) -> Array:
        """Uniform, on the scale."""
        low, high = np.array([self.lower]), np.array([self.upper])
        way = self.manifold.log(low, high)
        x = self.manifold.exp(low, as_generator(rng).random() * way)
        return self.project(x if like is None else as_like(x, like))

    def linear_minimizer(self, x: Array, h: Array) -> Array:
        x = self._check(x, "x")
        h = self._check(h, "h")
        xp, (lower, upper) = namespace(x, h), self._bounds(x)
        end = xp.where(h > 0, lower, upper)
        return xp.where(h == 0, self.project(x), xp.astype(end, x.dtype))

    def _bounds(self, x: Array) -> tuple[float, float]:
        """Both bounds, as numbers of the array's dtype."""
        if eps(x) <= EPS:
            return self.lower, self.upper
        low, high = bounds_like(np.array(self.lower), np.array(self.upper), x)
        return float(low), float(high)

    def __repr__(self) -> str:
        more = ", log=True" * self.log + f", unit={self.unit!r}" * bool(self.unit)
        scale = self.manifold
        own = isinstance(scale, Line) and (scale.lower, scale.upper) == (self.lower, self.upper)
        more += "" if own else f", manifold={scale!r}"
        return f"Interval({self.lower!r}, {self.upper!r}{more})"
