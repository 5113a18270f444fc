"""Points that exist: pictures, products, recipes, and which of them are near a point."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from .._numerics.arrays import Array, host
from .._support.check import positive_int
from ..errors import ArgumentError
from ..manifolds.base import Manifold
from ..manifolds.euclidean import Euclidean
from ..manifolds.product import Power, Product
from ..manifolds.rotations import Rotations
from ..manifolds.simplex import Simplex
from ..manifolds.sphere import Sphere
from ..manifolds.torus import Torus
from .base import Domain

__all__ = ["Catalogue"]

FEW = 256  # items that are looked through one by one in any case
FLAT = 8  # dimensions up to which a tree is faster than looking at all items
CHUNK = 2_000_000  # numbers in an array of distances, at most


class Catalogue:
    """Items, each a point of a manifold; only these can be shown and recommended.

    It is immutable. Items at the same point cannot be told apart: the first one stands for them.

    Parameters
    ----------
    manifold : Manifold or Domain
        Where the items lie; a domain, such as `geoduel.space` makes, stands for its manifold.
    items : array of shape (n, *point_shape), or list
        At least two different points. Lists are taken as float64. A list may hold tuples of parts,
        or dictionaries where these have names.

    Attributes
    ----------
    manifold : Manifold
        Where the items lie.
    items : ndarray of shape (n, *point_shape)
        Read-only.

    Raises
    ------
    ArgumentError
        If there are not at least two different points, an array has another shape, or an item is
        not in the domain.
    NotOnManifoldError
        If an item is not on the manifold.

    Notes
    -----
    In up to eight dimensions a tree of SciPy finds the nearest items, in coordinates whose
    distances are no longer than geodesics. So all items within the radius of those found first are
    enough. Such are the entries of points on `Euclidean`, `Sphere`, `Rotations` and `Simplex`, and
    the chart log(o, x) where no sectional curvature is positive, as on `Hyperbolic` and `SPD`.
    Products have those of their factors. Elsewhere every item is looked at.

    Examples
    --------
    >>> import geoduel as gd
    >>> catalogue = Catalogue(gd.Sphere(3), [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> len(catalogue), catalogue.nearest(np.array([0.6, 0.8, 0.0]), k=2).tolist()
    (3, [1, 0])
    >>> catalogue.index(catalogue[2])
    2
    """

    def __init__(self, manifold: Manifold | Domain, items: Any) -> None:
        place, manifold = manifold, _manifold(manifold)
        if isinstance(items, list | tuple) and any(isinstance(x, Mapping | tuple) for x in items):
            items = [manifold.pack(item, f"items[{i}]") for i, item in enumerate(items)]
        try:
            items = np.array(host(items) if hasattr(items, "dtype") else items)
            items = items if items.dtype.kind == "f" else items.astype(np.float64)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"items must be an array of points, of shape (n, {_words(manifold)}); "
                f"got {items!r:.80}"
            ) from None
        if items.shape[1:] != manifold.point_shape or not items.ndim:
            raise ArgumentError(
                f"items must have shape (n, {_words(manifold)}), one point of {manifold} each; "
                f"got shape {items.shape}"
            )
        manifold.check_point(items, "items")
        items += 0.0  # no -0.0, which is equal to 0.0 and written otherwise
        items.flags.writeable = False
        self.manifold, self.items = manifold, items
        rows = _rows(items)
        self._index = dict(zip(reversed(rows), reversed(range(len(rows))), strict=True))
        if len(self._index) < 2:
            raise ArgumentError(
                f"items must hold at least two different points, got {len(self._index)} in "
                f"{len(items)} items"
            )
        self._check_in(place)
        self._first = np.sort(np.fromiter(self._index.values(), int, len(self._index)))

    @classmethod
    def of(cls, manifold: Manifold | Domain, among: Any) -> Catalogue:
        """The catalogue, or one of the points given."""
        if not isinstance(among, Catalogue):
            try:
                return cls(manifold, among)
            except ArgumentError as error:  # which names the argument of this class
                raise type(error)(f"among: {error}") from None
        if among.manifold != _manifold(manifold):
            raise ArgumentError(
                f"among is a catalogue in {among.manifold}, expected {_manifold(manifold)}"
            )
        among._check_in(manifold)
        return among

    def _check_in(self, place: Manifold | Domain) -> None:
        """Refuse items outside a domain."""
        if isinstance(place, Domain):
            inside = np.ravel(place.contains(self.items))
            if not inside.all():
                i = int(np.argmin(inside))
                raise ArgumentError(
                    f"items[{i}] is not in {place!r:.80}: {self.manifold.unpack(self[i])!r:.80}"
                )

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> np.ndarray:
        return self.items[index]

    def __repr__(self) -> str:
        return f"Catalogue({self.manifold}, {len(self)} items)"

    def __contains__(self, x: object) -> bool:
        return self._found(x) is not None

    def index(self, x: Array) -> int:
        """Index of an item, the first one at this very point.

        Raises
        ------
        ArgumentError
            If there is none.
        """
        if (found := self._found(x)) is None:
            raise ArgumentError(f"x is at no item of {self}: {x!r:.80}")
        return found

    def _found(self, x: Any) -> int | None:
        x = np.asarray(host(x) if hasattr(x, "dtype") else x)
        if x.shape != self.manifold.point_shape or x.dtype.kind not in "iuf":
            return None
        return self._index.get(_rows(np.asarray(x[None], self.items.dtype) + 0.0)[0])

    def without(self, indices: Iterable[int]) -> Catalogue:
        """The same items by the same indices, some of which are not found any more.

        Raises
        ------
        ArgumentError
            If none is left.
        """
        gone = set(indices)
        left = copy.copy(self)
        for name in ("_points", "_flat", "_squares", "_tree"):
            vars(left).pop(name, None)
        left._index = {row: i for row, i in self._index.items() if i not in gone}
        left._first = np.array([i for i in self._first if i not in gone], dtype=int)
        if not len(left._first):
            raise ArgumentError(f"no item is left of {self}")
        return left

    @property
    def distinct(self) -> np.ndarray:
        """Indices of the items, those left out that are at the point of an earlier one."""
        return self._first

    @cached_property
    def digest(self) -> str:
        """Digits that tell this catalogue from others."""
        about = f"{self.items.dtype} {self.items.shape}".encode()
        return hashlib.blake2b(about + self.items.tobytes(), digest_size=16).hexdigest()

    # -- the nearest ones --------------------------------------------------------------------------

    def nearest(self, x: Array, k: int = 1) -> np.ndarray:
        r"""Indices of the k items nearest to a point, the nearest first, shape ``(..., k)``.

        Fewer, if there are not so many at different points. Leading axes are several points.

        Parameters
        ----------
        x : array of shape (..., \*point_shape)
            Points.
        k : int
            How many.
        """
        x = np.asarray(host(self.manifold.pack(x)), self.items.dtype)
        axes = len(self.manifold.point_shape)
        lead, k = x.shape[: x.ndim - axes], min(positive_int(k, "k"), len(self._first))
        points = x.reshape(-1, *self.manifold.point_shape)
        if self._tree is None:
            found = [self._looked_up(point, k) for point in points]
        else:
            found = self._in_tree(points, k)
        return self._first[np.reshape(found, (*lead, k)).astype(int)]

    def pairs(self, a: Array, b: Array) -> tuple[np.ndarray, np.ndarray]:
        """Indices of two items for each pair of points: those nearest, and never the same twice."""
        i, j = self.nearest(a)[..., 0], self.nearest(b, 2)
        return i, np.where(j[..., 0] == i, j[..., 1], j[..., 0])

    def pair(self, a: Array, b: Array) -> tuple[np.ndarray, np.ndarray]:
        """Two different items, those nearest to two points."""
        i, j = self.pairs(a, b)
        return self[i], self[j]

    def spread(self, x: Array, k: int, rng: np.random.Generator) -> np.ndarray:
        """Indices of the k items nearest to a point and of k others, drawn, by their distance."""
        near = self.nearest(x, k)
        if len(self._first) <= 2 * k:
            return self.nearest(x, 2 * k)
        far = rng.choice(self._first, k, replace=False)
        far = far[~np.isin(far, near)]
        away = host(self.manifold.dist(self.items[far], np.asarray(x)[None]))
        return np.concatenate([near, far[np.argsort(away, kind="stable")]])

    def _looked_up(self, point: np.ndarray, k: int) -> np.ndarray:
        """The nearest of the distinct items, by looking at all."""
        away = self._away(point)
        some = np.argpartition(away, k - 1)[:k] if k < len(away) else np.arange(len(away))
        return some[np.lexsort((some, away[some]))]

    def _away(self, point: np.ndarray) -> np.ndarray:
        """Distances of the distinct items to a point, or what grows with them."""
        if isinstance(self.manifold, Sphere | Euclidean):
            flat = self._flat
            return self._squares - 2 * (flat @ point.ravel())
        chunk = max(1, CHUNK // max(1, point.size))
        parts = np.array_split(self._points, -(-len(self._points) // chunk))
        return np.concatenate([host(self.manifold.dist(part, point[None])) for part in parts])

    @cached_property
    def _points(self) -> np.ndarray:
        return self.items[self._first]

    @cached_property
    def _flat(self) -> np.ndarray:
        return self._points.reshape(len(self._points), -1)

    @cached_property
    def _squares(self) -> np.ndarray:
        return np.vecdot(self._flat, self._flat)

    @cached_property
    def _tree(self) -> Any:
        """A tree of the distinct items in their chart; None where all items are looked at."""
        if self.manifold.dim > FLAT or len(self._first) <= FEW:
            return None
        if (charted := _charted(self.manifold, self._points)) is None:
            return None
        from scipy.spatial import KDTree  # not needed to import the package

        return KDTree(charted)

    def _in_tree(self, points: np.ndarray, k: int) -> np.ndarray:
        charted = _charted(self.manifold, points)
        assert charted is not None
        _, found = self._tree.query(charted, k)
        found = np.reshape(found, (len(points), k))
        if isinstance(self.manifold, Sphere | Euclidean):  # whose distances grow with the chart's
            return found
        exact = []
        for point, at, some in zip(points, charted, found, strict=True):
            most = float(np.max(host(self.manifold.dist(self._points[some], point[None]))))
            some = np.sort(self._tree.query_ball_point(at, most * (1 + 1e-9) + 1e-300))
            away = host(self.manifold.dist(self._points[some], point[None]))
            exact.append(some[np.lexsort((some, away))][:k])
        return np.array(exact)


def _charted(manifold: Manifold, points: Array) -> np.ndarray | None:
    """Coordinates of points, shape (n, m), whose distances are no longer than geodesics.

    None where no such coordinates are known.
    """
    n = len(points)
    match manifold:
        case Euclidean() | Sphere():
            return points.reshape(n, -1)
        case Rotations():
            return points.reshape(n, -1) / math.sqrt(2)
        case Torus():
            return np.concatenate([np.cos(points), np.sin(points)], axis=1)
        case Simplex():
            return 2 * np.sqrt(points)
        case Power():
            each = _charted(manifold.manifold, points.reshape(-1, *manifold.manifold.point_shape))
            return None if each is None else each.reshape(n, -1)
        case Product():
            parts = zip(manifold.factors, manifold.split(points), strict=True)
            charts = [_charted(factor, host(part)) for factor, part in parts]
            known = [chart for chart in charts if chart is not None]
            if len(known) < len(charts):
                return None
            pairs = zip(known, manifold.weights, strict=True)
            return np.concatenate([math.sqrt(w) * chart for chart, w in pairs], axis=1)
    endless = manifold.complete and manifold.injectivity_radius == np.inf
    if not endless or manifold.curvature[1] > 0:
        return None
    o = np.asarray(host(manifold.origin()), points.dtype)
    return host(manifold.to_coords(o, manifold.log(o, points)))


def _manifold(place: Any) -> Manifold:
    """The manifold that is meant."""
    manifold = place.manifold if isinstance(place, Domain) else place
    if not isinstance(manifold, Manifold):
        raise ArgumentError(f"manifold must be a Manifold such as Sphere(3), got {place!r:.80}")
    return manifold


def _rows(items: np.ndarray) -> list[bytes]:
    """The bytes of each item."""
    flat = np.ascontiguousarray(items).reshape(len(items), -1)
    return flat.view(f"V{flat.dtype.itemsize * flat.shape[1]}").ravel().tolist()


def _words(manifold: Manifold) -> str:
    return ", ".join(map(str, manifold.point_shape))
