"""Products of manifolds: different factors side by side, or one manifold many times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .._numerics.arrays import Array, copied, expand, namespace, safe_sqrt
from .._support.check import positive, positive_int, several
from ..errors import ArgumentError
from ._border import Seed, as_array, one_kind
from .base import Manifold
from .discrete import Discrete

__all__ = ["Power", "Product", "is_mixed"]


@dataclass(frozen=True, init=False)
class Product(Manifold):
    r"""Product of manifolds, with the sum of their metrics.

    Point         (N,), the points of the factors, flattened and put end to end.
    Tangent       (N,), the tangent vectors likewise.
    Metric        <u, v> = sum of wᵢ <uᵢ, vᵢ>, all weights wᵢ = 1 by default;
                  dist² = sum of wᵢ distᵢ². Geodesics and transports are those of the factors.
    Dimension     sum of the dimensions;  injectivity radius the least √wᵢ rᵢ;  curvature between
                  the bounds of the factors, each over wᵢ, and 0 (planes across two factors).
    Source        O'Neill, Semi-Riemannian Geometry (1983), chapter 3, products.

    `split` gives the factors' parts of a point or tangent vector in their own shapes, as views, and
    `join` puts parts together. Products nest. Weights fit factors in different units to each other:
    a length in metres beside an angle, say.

    Parameters
    ----------
    \*factors : Manifold
        The factors, at least one.
    weights : sequence of float, optional
        One positive number a factor.
    names : sequence of str, optional
        One name a factor. Points are then handed to people, and to the functions they write, as
        dictionaries: see `unpack`.

    Examples
    --------
    Poses of a rigid body, SE(3) as a manifold, with the metric that is a sum over rotation and
    translation (invariant under changes of the world frame):

    >>> import numpy as np
    >>> from geoduel.manifolds.euclidean import Euclidean
    >>> from geoduel.manifolds.rotations import Rotations
    >>> poses = Product(Rotations(3), Euclidean(3))  # an angle in radians beside a length
    >>> start = poses.join(np.eye(3), np.zeros(3))
    >>> turn = np.array([[0.0, -0.4, 0.0], [0.4, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> end = poses.exp(start, poses.join(turn, np.array([0.0, 0.0, 0.3])))
    >>> rotation, position = poses.split(end)
    >>> rotation.round(6)
    array([[ 0.921061, -0.389418,  0.      ],
           [ 0.389418,  0.921061,  0.      ],
           [ 0.      ,  0.      ,  1.      ]])
    >>> position
    array([0. , 0. , 0.3])
    >>> round(float(poses.dist(start, end)), 12)
    0.5
    """

    factors: tuple[Manifold, ...]
    weights: tuple[float, ...]
    names: tuple[str, ...] | None

    def __init__(
        self,
        *factors: Manifold,
        weights: Iterable[float] | None = None,
        names: Iterable[str] | None = None,
    ) -> None:
        if not factors:
            raise ArgumentError(
                "Product needs factors, e.g. Product(Sphere(3), Euclidean(3)); got none"
            )
        for i, factor in enumerate(factors):
            if not isinstance(factor, Manifold):
                raise ArgumentError(f"Product factors[{i}] must be a Manifold, got {factor!r:.80}")
        numbers = (1.0,) * len(factors)
        if weights is not None:
            numbers = several(weights, "Product weights", "numbers, one a factor")
        if len(numbers) != len(factors):
            raise ArgumentError(
                f"Product weights must be one number a factor, {len(factors)}; got {len(numbers)}"
            )
        checked = tuple(positive(w, f"Product weights[{i}]") for i, w in enumerate(numbers))
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "weights", checked)
        object.__setattr__(self, "names", None if names is None else _names(names, factors))

    @cached_property
    def _places(self) -> tuple[tuple[slice, tuple[int, ...]], ...]:
        """Where each factor's part lies in a point, and its shape."""
        shapes = [factor.point_shape for factor in self.factors]
        return tuple(zip(_slices(math.prod(s) for s in shapes), shapes, strict=True))

    @cached_property
    def _coord_places(self) -> tuple[slice, ...]:
        return _slices(factor.dim for factor in self.factors)

    @property
    def dim(self) -> int:
        return self._coord_places[-1].stop

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self._places[-1][0].stop,)

    @property
    def curvature(self) -> tuple[float, float]:
        bounds = [
            k / w for m, w in zip(self.factors, self.weights, strict=True) for k in m.curvature
        ]
        across = [0.0] * (len(self.factors) > 1)
        return min(bounds + across), max(bounds + across)

    @property
    def injectivity_radius(self) -> float:
        pairs = zip(self.factors, self.weights, strict=True)
        return min(math.sqrt(w) * m.injectivity_radius for m, w in pairs)

    @property
    def closed_form(self) -> bool:
        return all(m.closed_form for m in self.factors)

    @property
    def bounded(self) -> bool:
        return all(m.bounded for m in self.factors)

    @property
    def typical_dist(self) -> float:
        pairs = zip(self.factors, self.weights, strict=True)
        return math.hypot(*(math.sqrt(w) * m.typical_dist for m, w in pairs))

    @property
    def complete(self) -> bool:
        return all(m.complete for m in self.factors)

    # -- parts -----------------------------------------------------------------------------------

    def split(self, x: Array) -> tuple[Array, ...]:
        """Parts of a point or tangent vector, one a factor, in the factors' shapes.

        They are views: cheap, and they see later changes of ``x``, where that is an array.
        """
        x = x if hasattr(x, "shape") else self.pack(x)
        xp, lead = namespace(x), tuple(x.shape[:-1])
        if tuple(x.shape[-1:]) != self.point_shape:
            raise ArgumentError(
                f"a point or vector has shape {tuple(x.shape)}, expected "
                f"(..., {self.point_shape[0]}) for {self}"
            )
        return tuple(
            x[..., place] if len(shape) == 1 else xp.reshape(x[..., place], (*lead, *shape))
            for place, shape in self._places
        )

    def join(self, *parts: Array) -> Array:
        """Point or tangent vector from its parts; leading axes broadcast.

        Raises
        ------
        ArgumentError
            If the number of parts or the shape of one is wrong.
        """
        if len(parts) != len(self.factors):
            raise ArgumentError(
                f"join on {self} needs one part a factor, {len(self.factors)}; got {len(parts)}"
            )
        flat = []
        for i, (part, (place, shape)) in enumerate(zip(parts, self._places, strict=True)):
            part = part if hasattr(part, "shape") else as_array(part, f"parts[{i}]")
            lead = tuple(part.shape[: max(part.ndim - len(shape), 0)])
            if tuple(part.shape) != (*lead, *shape):
                raise ArgumentError(
                    f"parts[{i}] has shape {tuple(part.shape)}, expected (..., "
                    f"{', '.join(map(str, shape))}) for {self.factors[i]}"
                )
            size = place.stop - place.start
            flat.append(part if len(shape) == 1 else namespace(part).reshape(part, (*lead, size)))
        return _concat(flat)

    def pack(self, a: Any, name: str = "x") -> Array:
        """The flat array that is meant: also of a tuple of parts, or of a dictionary of named ones.

        Each part is what its factor takes; where it is one number, a number will do.

        Raises
        ------
        ArgumentError
            If a part is missing, has no place here, or holds anything but real numbers.

        Examples
        --------
        >>> from geoduel.manifolds import Euclidean, Sphere
        >>> view = Product(Sphere(2), Euclidean(1), names=["heading", "zoom"])
        >>> view.pack({"heading": [0, 1], "zoom": 2.5}), view.pack(([0, 1], 2.5))
        (array([0. , 1. , 2.5]), array([0. , 1. , 2.5]))
        """
        if isinstance(a, Mapping):
            a = self._in_order(a, name)
        elif not isinstance(a, tuple) or (len(a) != len(self.factors) and _numbers(a)):
            try:
                return super().pack(a, name)
            except ArgumentError:
                if not isinstance(a, list) or len(a) != len(self.factors):
                    raise
        if len(a) != len(self.factors):
            raise ArgumentError(
                f"{name} must have one part for each factor of {self}, {len(self.factors)}; got "
                f"{len(a)}"
            )
        labels = self.names or range(len(a))
        parts = zip(a, labels, self.factors, strict=True)
        return self.join(*(_part(m, part, f"{name}[{label!r}]") for part, label, m in parts))

    def unpack(self, x: Array) -> Any:
        """The array itself, or a dictionary of its parts where these have names.

        A part that is one number is a float; the others are arrays, copied. Leading axes stay.

        Examples
        --------
        >>> from geoduel.manifolds import Euclidean, Sphere
        >>> view = Product(Sphere(2), Euclidean(1), names=["heading", "zoom"])
        >>> view.unpack(np.array([0.0, 1.0, 2.5]))
        {'heading': array([0., 1.]), 'zoom': 2.5}
        """
        if self.names is None:
            return x
        parts = zip(self.factors, self.split(x), strict=True)
        return dict(zip(self.names, (_handed(m, part) for m, part in parts), strict=True))

    def _shape_words(self) -> str:
        parts = f"{len(self.factors)} parts" if self.names is None else f"a dictionary {self.names}"
        return f"{super()._shape_words()}, or {parts},"

    def _in_order(self, a: Mapping[str, Any], name: str) -> tuple[Any, ...]:
        if self.names is None:
            raise ArgumentError(
                f"{name} is a dictionary, but the factors of {self} have no names; give them, "
                "Product(..., names=[...]), or a tuple of parts"
            )
        lacks = [key for key in self.names if key not in a]
        strange = [key for key in a if key not in self.names]
        if lacks or strange:
            words = [f"lacks {', '.join(map(repr, lacks))}"] if lacks else []
            words += [f"has {', '.join(map(repr, strange))}, which are unknown"] if strange else []
            raise ArgumentError(
                f"{name} {' and '.join(words)}; expected {', '.join(map(repr, self.names))}"
            )
        return tuple(a[key] for key in self.names)

    def _each(self, method: str, *arrays: Array) -> list[Any]:
        """What one method of every factor returns for its parts of the arrays."""
        parts = zip(*map(self.split, arrays), strict=True)
        return [getattr(m, method)(*p) for m, p in zip(self.factors, parts, strict=True)]

    def _scaled(self, values: list[Any], power: float = 1) -> list[Any]:
        """The factors' values times powers of their weights."""
        return [w**power * value for w, value in zip(self.weights, values, strict=True)]

    # -- metric ----------------------------------------------------------------------------------

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return sum(self._scaled(self._each("inner", x, u, v)))

    def dist(self, x: Array, y: Array) -> Array:
        return safe_sqrt(sum(self._scaled([d**2 for d in self._each("dist", x, y)])))

    # -- geodesics -------------------------------------------------------------------------------

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        paths = self._each("geodesic", x, v)
        return lambda t: self.join(*(path(t) for path in paths))

    def extent(self, x: Array, v: Array) -> Array:
        return reduce(namespace(x).minimum, self._each("extent", x, v))

    def room(self, x: Array) -> float:
        """The least one of the factors, in the metric with weights."""
        return min(self._scaled(self._each("room", x), 1 / 2))

    def log(self, x: Array, y: Array) -> Array:
        v = self.join(*self._each("log", x, y))
        if v.ndim == 1:  # else a factor has raised
            return v
        xp = namespace(v)
        return self.mark_cut_locus(xp.any(xp.isnan(v), axis=-1), v, x, y)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        return self.join(*self._each("transport", x, y, v))

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        return self.join(*self._each("transport_along", x, v, w))

    # -- coordinates -----------------------------------------------------------------------------

    def to_coords(self, x: Array, v: Array) -> Array:
        return _concat(self._scaled(self._each("to_coords", x, v), 1 / 2))

    def from_coords(self, x: Array, c: Array) -> Array:
        parts = zip(self.factors, self.split(x), self._coord_places, strict=True)
        return self.join(
            *self._scaled([m.from_coords(xi, c[..., place]) for m, xi, place in parts], -1 / 2)
        )

    # -- between the ambient space and the manifold ----------------------------------------------

    def to_tangent(self, x: Array, a: Array) -> Array:
        return self.join(*self._each("to_tangent", x, a))

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return self.join(*self._scaled(self._each("riemannian_gradient", x, g), -1))

    def to_manifold(self, a: Array) -> Array:
        return self.join(*self._each("to_manifold", a))

    def origin(self) -> Array:
        """The origins of the factors."""
        return self.join(*(m.origin() for m in self.factors))

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Independent random points of the factors."""
        return self.join(*(m.random_point(rng, batch, like) for m in self.factors))

    # -- checks ----------------------------------------------------------------------------------

    def check_point(self, x: Array, name: str = "x") -> None:
        self._check_array(x, name)
        for i, (m, part) in enumerate(zip(self.factors, self.split(x), strict=True)):
            m.check_point(part, f"{name} (factor {i})")

    def check_tangent(self, x: Array, v: Array, name: str = "v") -> None:
        self._check_array(v, name)
        parts = zip(self.factors, self.split(x), self.split(v), strict=True)
        for i, (m, xi, vi) in enumerate(parts):
            m.check_tangent(xi, vi, f"{name} (factor {i})")

    def point_defect(self, x: Array) -> tuple[str, Array]:
        return "the sum over the factors", sum(d for _, d in self._each("point_defect", x))

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        return "the sum over the factors", sum(d for _, d in self._each("tangent_defect", x, v))

    def __repr__(self) -> str:
        weights = f", weights={self.weights}" if set(self.weights) != {1.0} else ""
        names = f", names={self.names}" if self.names else ""
        return f"Product({', '.join(map(repr, self.factors))}{weights}{names})"


@dataclass(frozen=True)
class Power(Manifold):
    r"""Points of one manifold, k of them, as one point, with the sum of the metrics.

    Point         (k, \*shape) for points of that shape, stacked.
    Tangent       (k, \*shape), tangent vectors stacked.
    Metric        <u, v> = sum of <uᵢ, vᵢ>;  dist² = sum of distᵢ².
    Dimension     k times that of the manifold;  its injectivity radius;  its curvature, and 0.
    Source        O'Neill, Semi-Riemannian Geometry (1983), chapter 3, products.

    The same geometry as ``Product(manifold, ..., manifold)``, but all copies are computed at once
    through a leading axis.

    Parameters
    ----------
    manifold : Manifold
        The manifold of one copy.
    k : int
        Number of copies, at least 1.

    Examples
    --------
    The oblique manifold, matrices with rows of unit length:

    >>> import numpy as np
    >>> from geoduel.manifolds.sphere import Sphere
    >>> oblique = Power(Sphere(3), 2)
    >>> oblique.point_shape, oblique.dim
    ((2, 3), 4)
    >>> x, y = np.eye(3)[:2], np.eye(3)[1:]
    >>> bool(np.isclose(oblique.dist(x, y), np.hypot(np.pi / 2, np.pi / 2)))
    True
    """

    manifold: Manifold
    k: int

    def __post_init__(self) -> None:
        if not isinstance(self.manifold, Manifold):
            raise ArgumentError(f"Power manifold must be a Manifold, got {self.manifold!r:.80}")
        if is_mixed(self.manifold):
            raise ArgumentError(f"Power of {self.manifold} has no geodesics: use a Product of them")
        positive_int(self.k, "Power k")

    @property
    def dim(self) -> int:
        return self.k * self.manifold.dim

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.k, *self.manifold.point_shape)

    @property
    def curvature(self) -> tuple[float, float]:
        low, high = self.manifold.curvature
        return (low, high) if self.k == 1 else (min(low, 0.0), max(high, 0.0))

    @property
    def injectivity_radius(self) -> float:
        return self.manifold.injectivity_radius

    @property
    def closed_form(self) -> bool:
        return self.manifold.closed_form

    @property
    def bounded(self) -> bool:
        return self.manifold.bounded

    @property
    def typical_dist(self) -> float:
        return math.sqrt(self.k) * self.manifold.typical_dist

    @property
    def complete(self) -> bool:
        return self.manifold.complete

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return _sum(self.manifold.inner(x, u, v))

    def dist(self, x: Array, y: Array) -> Array:
        return safe_sqrt(_sum(self.manifold.dist(x, y) ** 2))

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        path = self.manifold.geodesic(x, v)
        return lambda t: path(expand(t, 1))

    def extent(self, x: Array, v: Array) -> Array:
        return namespace(x).min(self.manifold.extent(x, v), axis=-1)

    def room(self, x: Array) -> float:
        """The least one of the copies."""
        return self.manifold.room(x)

    def log(self, x: Array, y: Array) -> Array:
        return self._whole(self.manifold.log(x, y), x, y)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        return self._whole(self.manifold.transport(x, y, v), x, y)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        return self.manifold.transport_along(x, v, w)

    def to_coords(self, x: Array, v: Array) -> Array:
        c = self.manifold.to_coords(x, v)
        return namespace(c).reshape(c, (*c.shape[:-2], self.dim))

    def from_coords(self, x: Array, c: Array) -> Array:
        stacked = namespace(c).reshape(c, (*c.shape[:-1], self.k, self.manifold.dim))
        return self.manifold.from_coords(x, stacked)

    def to_tangent(self, x: Array, a: Array) -> Array:
        return self.manifold.to_tangent(x, a)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return self.manifold.riemannian_gradient(x, g)

    def to_manifold(self, a: Array) -> Array:
        return self.manifold.to_manifold(a)

    def origin(self) -> Array:
        """The origin of the manifold, k times."""
        return np.stack([self.manifold.origin()] * self.k)

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Independent random points of the manifold."""
        return self.manifold.random_point(rng, (*batch, self.k), like)

    def check_point(self, x: Array, name: str = "x") -> None:
        self._check_array(x, name)
        self.manifold.check_point(x, name)

    def check_tangent(self, x: Array, v: Array, name: str = "v") -> None:
        self._check_array(v, name)
        self.manifold.check_tangent(x, v, name)

    def point_defect(self, x: Array) -> tuple[str, Array]:
        words, defect = self.manifold.point_defect(x)
        return words, namespace(defect).max(defect, axis=-1)

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        words, defect = self.manifold.tangent_defect(x, v)
        return words, namespace(defect).max(defect, axis=-1)

    def _whole(self, value: Array, x: Array, y: Array) -> Array:
        """Carry a cut locus from a copy, to itself an entry of a batch, to the whole point."""
        xp = namespace(value)
        bad = xp.isnan(value) & xp.isfinite(x + y)
        axes = tuple(range(-len(self.point_shape), 0))
        return self.mark_cut_locus(xp.any(bad, axis=axes), value, x, y)

    def __repr__(self) -> str:
        return f"Power({self.manifold!r}, {self.k})"


def is_mixed(manifold: Manifold) -> bool:
    """Whether some factors have values that no geodesic joins."""
    if isinstance(manifold, Product):
        return any(map(is_mixed, manifold.factors))
    return isinstance(manifold, Discrete)


def _names(names: Iterable[str], factors: tuple[Manifold, ...]) -> tuple[str, ...]:
    """Names of factors, checked."""
    found = several(names, "Product names", "texts, one a factor")
    if not all(isinstance(n, str) and n.strip() for n in found):
        raise ArgumentError(f"Product names must be texts, one a factor, got {names!r:.80}")
    if len(found) != len(factors) or len(set(found)) != len(found):
        raise ArgumentError(
            f"Product names must be {len(factors)} different ones, one a factor; got {found}"
        )
    return found


def _numbers(a: tuple[Any, ...]) -> bool:
    """Whether a tuple holds the entries of a flat point, and no parts."""
    return all(isinstance(item, float | int) for item in a)


def _part(factor: Manifold, a: Any, name: str) -> Array:
    """A part of a point in the shape of its factor: numbers are points of one entry."""
    if factor.point_shape != (1,) or isinstance(factor, Discrete):
        part, shape = factor.pack(a, name), factor.point_shape
        if tuple(part.shape[max(part.ndim - len(shape), 0) :]) != shape:
            raise ArgumentError(
                f"{name} has shape {tuple(part.shape)}, expected (..., "
                f"{', '.join(map(str, shape))}) for {factor}"
            )
        return part
    part = as_array(a, name)
    return part[..., None] if part.ndim == 0 or part.shape[-1] != 1 else part


def _handed(factor: Manifold, part: Array) -> Any:
    """A part as people are handed it: a number where it is one, else an array of its own."""
    if factor.point_shape != (1,) or isinstance(factor, Discrete):
        return factor.unpack(copied(part))
    number = part[..., 0]
    return float(number) if isinstance(number, np.ndarray) and not number.ndim else copied(number)


def _slices(sizes: Iterable[int]) -> tuple[slice, ...]:
    """Places of blocks of the given sizes put end to end."""
    ends = [0, *accumulate(sizes)]
    return tuple(slice(a, b) for a, b in pairwise(ends))


def _concat(parts: list[Array]) -> Array:
    """Put arrays end to end along the last axis; their leading axes broadcast."""
    if len({*map(type, parts)}) > 1:
        one_kind(parts)
    xp = namespace(parts[0])
    if len({tuple(part.shape[:-1]) for part in parts}) > 1:
        lead = np.broadcast_shapes(*(tuple(part.shape[:-1]) for part in parts))
        parts = [xp.broadcast_to(part, (*lead, part.shape[-1])) for part in parts]
    return xp.concat(parts, axis=-1)


def _sum(a: Array) -> Array:
    return namespace(a).sum(a, axis=-1)
