"""Categories and whole numbers: values that no geodesic joins."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._numerics.arrays import Array, eps, host, namespace
from .._numerics.batches import as_like
from .._support.check import as_generator, truth
from ..errors import ArgumentError
from ._border import Seed, as_array
from .base import Manifold

__all__ = ["Categories", "Discrete", "Integers"]


class Discrete(Manifold):
    """Finitely many values, a manifold of dimension 0, to stand beside others in a `Product`.

    Point         (1,), a whole number that stands for the value.
    Tangent       (1,), zero.
    Metric        <u, v> = 0;  dist is stated by each kind, and finite.
    Dimension     0;  curvature 0;  injectivity radius infinite.

    Geodesics stay where they are, so methods that walk never change a value: see
    `geoduel.methods.Mixed` for the one that does. Between different values there is no `log`.
    """

    @property
    @abstractmethod
    def bounds(self) -> tuple[int, int]:
        """The least and the largest number of a point."""

    @property
    def dim(self) -> int:
        return 0

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (1,)

    @property
    def curvature(self) -> tuple[float, float]:
        return (0.0, 0.0)

    @property
    def bounded(self) -> bool:
        return True

    @property
    def typical_dist(self) -> float:
        return 0.0  # of a step: none leads anywhere

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return (0 * (x + u + v))[..., 0]

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        return lambda t: x + 0 * v * (t if isinstance(t, float | int) else t[..., None])

    def log(self, x: Array, y: Array) -> Array:
        """Zero for equal values.

        Raises
        ------
        CutLocusError
            If they differ: no geodesic joins them. Entries of batches are NaN instead.
        """
        return self.mark_cut_locus((x != y)[..., 0], 0 * (x + y), x, y)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        return 0 * (x + v + w)

    def to_coords(self, x: Array, v: Array) -> Array:
        return (x + v)[..., :0]

    def from_coords(self, x: Array, c: Array) -> Array:
        return 0 * x + namespace(c).sum(c, axis=-1, keepdims=True)  # of none, which is 0

    def to_tangent(self, x: Array, a: Array) -> Array:
        return 0 * (x + a)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return 0 * (x + g)

    def to_manifold(self, a: Array) -> Array:
        """The nearest number that stands for a value."""
        xp = namespace(a)
        return xp.clip(xp.round(a), *map(float, self.bounds))

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Any value, all equally likely."""
        low, high = self.bounds
        x = as_generator(rng).integers(low, high + 1, (*batch, 1)).astype(float)
        return x if like is None else as_like(x, like)

    def check_point(self, x: Array, name: str = "x") -> None:
        """Raise an error that names ``x`` unless it stands for a value, in a dtype that has all."""
        if hasattr(x, "dtype") and max(map(abs, self.bounds)) * eps(x) > 2:
            raise ArgumentError(
                f"{name} must be of float64 for {self}: {x.dtype} does not hold all numbers to "
                f"{self.bounds[1]}"
            )
        super().check_point(x, name)

    def point_defect(self, x: Array) -> tuple[str, Array]:
        low, high = self.bounds
        defect = namespace(x).max(abs(x - self.to_manifold(x)), axis=-1)
        return f"the distance to the nearest whole number from {low} to {high}", defect

    @abstractmethod
    def pack(self, a: Any, name: str = "x") -> Array:
        """The point that stands for a value; arrays of numbers are points already."""

    @abstractmethod
    def unpack(self, x: Array) -> Any:
        """The value that a point stands for; an array of values where there are leading axes."""


@dataclass(frozen=True, init=False)
class Categories(Discrete):
    r"""One of several values without an order: texts, numbers, True and False, None.

    Point         (1,), the place of the value among all of them, from 0 on.
    Tangent       (1,), zero.
    Metric        <u, v> = 0;  dist = 1 between different values.
    Dimension     0;  curvature 0;  injectivity radius infinite.

    It stands in a `geoduel.space`, or a `Product`: functions and people are handed the value.

    Parameters
    ----------
    \*values : str, float, bool or None
        The values, two at least, all different.

    Examples
    --------
    >>> kind = Categories("sgd", "adam", "lion")
    >>> kind.pack("lion"), kind.unpack(np.array([1.0]))
    (array([2.]), 'adam')
    >>> float(kind.dist(kind.pack("sgd"), kind.pack("lion")))
    1.0
    """

    values: tuple[str | float | bool | None, ...]

    def __init__(self, *values: Any) -> None:
        found = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
        for i, value in enumerate(found):
            plain = value is None or isinstance(value, str | bool | int | float)
            if not plain or (isinstance(value, float) and not math.isfinite(value)):
                raise ArgumentError(
                    f"Categories values[{i}] must be a text, a finite number, True, False or None; "
                    f"got {value!r:.80}"
                )
        if len(found) < 2 or len(set(found)) < len(found):
            raise ArgumentError(
                f"Categories needs two values at least, all different; got {found!r:.80}"
            )
        object.__setattr__(self, "values", found)

    @property
    def bounds(self) -> tuple[int, int]:
        return 0, len(self.values) - 1

    def dist(self, x: Array, y: Array) -> Array:
        xp = namespace(x, y)
        d = xp.astype((x != y)[..., 0], (x + y).dtype)
        return d if d.ndim else d[()]

    def origin(self) -> Array:
        """The first value."""
        return np.zeros(1)

    def pack(self, a: Any, name: str = "x") -> Array:
        """The point of a value, or of lists of texts; arrays and lists of numbers are points.

        Raises
        ------
        ArgumentError
            If there is no such value.
        """
        if getattr(a, "ndim", 0) or isinstance(a, list | tuple):
            if not isinstance(a, np.ndarray | list | tuple) or np.asarray(a).dtype.kind in "fiu":
                return Manifold.pack(self, a, name)
            return np.stack([self.pack(value, f"{name}[{i}]") for i, value in enumerate(a)])
        a = a.item() if hasattr(a, "dtype") else a
        for i, value in enumerate(self.values):
            if value == a and isinstance(value, str) == isinstance(a, str):
                return np.array([float(i)])
        known = ", ".join(map(repr, self.values))
        raise ArgumentError(f"{name} must be one of {known}; got {a!r:.80}")

    def unpack(self, x: Array) -> Any:
        at = np.asarray(host(self.to_manifold(x)))[..., 0].astype(int)
        if not at.ndim:
            return self.values[int(at)]
        texts = all(isinstance(value, str) for value in self.values)
        return np.array(self.values, dtype=None if texts else object)[at]

    def __repr__(self) -> str:
        return f"Categories({', '.join(map(repr, self.values))})"


@dataclass(frozen=True)
class Integers(Discrete):
    """Whole numbers from one to another, both of them included.

    Point         (1,), the number.
    Tangent       (1,), zero.
    Metric        <u, v> = 0;  dist = 2 |x - y| / (upper - lower), so that all are two units long.
                  With ``ratios``: 2 |log x - log y| / log(upper / lower).
    Dimension     0;  curvature 0;  injectivity radius infinite.

    It stands in a `geoduel.space`, or a `Product`: functions and people are handed an int.

    Parameters
    ----------
    lower, upper : int
        The least and the largest number.
    ratios : bool
        Whether ratios count, and not differences: for sizes and widths. ``lower`` is then positive.
    unit : str
        Shown behind the number on the duel page.

    Examples
    --------
    >>> layers = Integers(1, 12)
    >>> layers.pack(3), layers.unpack(np.array([7.0]))
    (array([3.]), 7)
    """

    lower: int
    upper: int
    ratios: bool = False
    unit: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, _whole(getattr(self, name), name))
        if not self.lower < self.upper:
            raise ArgumentError(f"lower must be below upper, got {self.lower} and {self.upper}")
        if truth(self.ratios, "ratios") and self.lower < 1:
            raise ArgumentError(f"lower must be > 0 where ratios count, got {self.lower}")
        if not isinstance(self.unit, str):
            raise ArgumentError(f"unit must be a text, got {self.unit!r:.80}")

    @property
    def bounds(self) -> tuple[int, int]:
        return self.lower, self.upper

    def dist(self, x: Array, y: Array) -> Array:
        if not self.ratios:
            d = 2 / (self.upper - self.lower) * abs(x - y)[..., 0]
        else:
            log = namespace(x, y).log
            d = 2 / math.log(self.upper / self.lower) * abs(log(x) - log(y))[..., 0]
        return d if d.ndim else d[()]

    def origin(self) -> Array:
        """The number in the middle."""
        return self.pack(self.beyond(self.lower, 1, 1.0))

    def beyond(self, number: int, side: int, way: float = 0.0) -> int:
        """The number at a distance, above (side 1) or below (-1): at least the next, if any."""
        if self.ratios:
            found = number * (self.upper / self.lower) ** (side * way / 2)
        else:
            found = number + side * way * (self.upper - self.lower) / 2
        found = min(max(found, self.lower), self.upper)
        nearest = max(round(found), number + 1) if side > 0 else min(round(found), number - 1)
        return min(max(nearest, self.lower), self.upper)

    def pack(self, a: Any, name: str = "x") -> Array:
        """The point of a number, or of arrays and lists of them.

        Raises
        ------
        ArgumentError
            If it is none of the numbers; arrays are checked by `check_point` alone.
        """
        array = as_array(a, name)
        if array.ndim == 0:
            number = float(array)
            if not (number.is_integer() and self.lower <= number <= self.upper):
                raise ArgumentError(
                    f"{name} must be a whole number from {self.lower} to {self.upper}, got {a!r}"
                )
        return array[..., None] if array.ndim == 0 or array.shape[-1] != 1 else array

    def unpack(self, x: Array) -> Any:
        numbers = np.asarray(host(self.to_manifold(x)))[..., 0].astype(int)
        return numbers if numbers.ndim else int(numbers)

    def __repr__(self) -> str:
        more = ", ratios=True" * self.ratios + f", unit={self.unit!r}" * bool(self.unit)
        return f"Integers({self.lower}, {self.upper}{more})"


def _whole(value: Any, name: str) -> int:
    """A whole number that a float holds exactly."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(value) < 2**53:
        return int(value)
    raise ArgumentError(f"{name} must be a whole number of at most 15 digits, got {value!r:.80}")
