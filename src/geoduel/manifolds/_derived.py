"""What follows from the metric, geodesics, `log` and the projections of a manifold, numerically.

These functions are the defaults of `Manifold`: right on every manifold, and slower than formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Protocol

import numpy as np

from .._numerics.arrays import Array, device, eps, host, namespace
from ..errors import GeoduelError

__all__ = [
    "dist_by_variation",
    "ladder_transport",
    "median_dist",
    "orthonormal_basis",
    "relative_gap",
    "tangent_rank",
]


class Geometry(Protocol):
    """The members of a manifold that these functions use."""

    @property
    def dim(self) -> int: ...
    @property
    def point_shape(self) -> tuple[int, ...]: ...
    @property
    def typical_dist(self) -> float: ...
    def inner(self, x: Array, u: Array, v: Array) -> Array: ...
    def norm(self, x: Array, u: Array) -> Array: ...
    def extent(self, x: Array, v: Array) -> Array: ...
    def exp(self, x: Array, v: Array) -> Array: ...
    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]: ...
    def log(self, x: Array, y: Array) -> Array: ...
    def to_tangent(self, x: Array, a: Array) -> Array: ...
    def from_coords(self, x: Array, c: Array) -> Array: ...
    def random_point(self, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Array: ...


# -- an orthonormal basis --------------------------------------------------------------------------


def orthonormal_basis(m: Geometry, x: Array, tilt: float = 1.0) -> tuple[Array, Array]:
    """Orthonormal basis at x and its dual, rows of flat tangent vectors: ``(..., dim, size)``.

    The projections of the ambient unit vectors span the tangent space; their right singular vectors
    are dim of its directions. With the Gram matrix G = L Lᵀ of these in the metric, L⁻¹ makes them
    orthonormal and Lᵀ gives coordinates. Where G is ill-conditioned, a second pass removes the
    rounding errors of the first. The basis is a function of x alone, without derivatives.

    The singular values of a projection coincide, so that its singular vectors are anybody's choice.
    Weights from 1 to 1 + ``tilt`` on the unit vectors tell them apart: the basis is then smooth in
    x almost everywhere, and the same in every array library.

    Raises
    ------
    GeoduelError
        If the projections do not span ``dim`` dimensions.
    """
    x = _detached(x)
    xp, d = namespace(x), m.dim
    rows, s, sound = _directions(m, x, tilt)
    # Single precision is enough to tell zero from not: x itself may be no better.
    beyond = s[..., d] if d < s.shape[-1] else eps(x) * s[..., 0]
    bad = sound & ~(beyond < 1e-3 * s[..., d - 1])
    if bool(xp.any(bad)):
        first = ", ".join(f"{value:.3g}" for value in host(s)[host(bad)][0][:20])
        raise GeoduelError(
            f"{m}: the projections on the tangent space at a point do not span {d} dimensions; "
            f"their singular values are {first}"
        )
    spoilt, sound = not bool(xp.all(sound)), sound[..., None, None]
    rows = rows[..., :d, :]
    dual = rows
    for _ in range(2):
        gram = _gram(m, x, rows)
        if spoilt:  # LAPACK refuses what is not finite
            gram = xp.where(sound, gram, xp.eye(d, dtype=x.dtype, device=device(x)))
        factor = xp.linalg.cholesky(gram)
        rows = xp.linalg.solve(factor, rows)
        dual = xp.matmul(xp.matrix_transpose(factor), dual)
        pivots = xp.linalg.diagonal(factor)
        if not bool(xp.any(xp.max(pivots, axis=-1) > 1e3 * xp.min(pivots, axis=-1))):
            break
    if not spoilt:
        return rows, dual
    nan = xp.asarray(math.nan, dtype=x.dtype, device=device(x))
    return xp.where(sound, rows, nan), xp.where(sound, dual, nan)


def tangent_rank(m: Geometry, x: Array) -> int:
    """Dimension of the tangent space at a point, from the projections of the unit vectors."""
    _, s, _ = _directions(m, x, 0.0)
    return int(np.sum(host(s) > math.sqrt(eps(s)) * float(s[0])))


def _directions(m: Geometry, x: Array, tilt: float) -> tuple[Array, Array, Array]:
    """Right singular vectors of the projections, their weights, and where x is finite."""
    xp, shape = namespace(x), m.point_shape
    lead, size = tuple(x.shape[: x.ndim - len(shape)]), math.prod(shape)
    units = xp.eye(size, dtype=x.dtype, device=device(x))
    spanning = m.to_tangent(_more(x, len(shape)), xp.reshape(units, (size, *shape)))
    spanning = xp.reshape(xp.broadcast_to(spanning, (*lead, size, *shape)), (*lead, size, size))
    sound = xp.isfinite(xp.sum(spanning, axis=(-2, -1)))
    if not bool(xp.all(sound)):
        spanning = xp.where(sound[..., None, None], spanning, units)
    if not tilt:
        return (*xp.linalg.svd(spanning, full_matrices=False)[:0:-1], sound)
    weights = xp.asarray(_weights(size, tilt), dtype=x.dtype, device=device(x))
    _, s, rows = xp.linalg.svd(weights * spanning, full_matrices=False)
    return xp.where(xp.matmul(rows, weights) < 0, -rows, rows), s, sound


@cache
def _weights(size: int, tilt: float) -> np.ndarray:
    return np.linspace(1.0, 1.0 + tilt, size)[:, None]


_BLOCK = 2**22  # numbers in an argument of one call of `inner`


def _gram(m: Geometry, x: Array, rows: Array) -> Array:
    """Inner products of flat tangent vectors at x: ``(..., d, d)``."""
    xp, d, axes = namespace(x), rows.shape[-2], len(m.point_shape)
    vectors = xp.reshape(rows, (*rows.shape[:-1], *m.point_shape))
    first, second, place = (xp.asarray(k, device=device(x)) for k in _pairs(d))
    lead, x = tuple(rows.shape[:-2]), _more(x, axes)
    count = max(1, _BLOCK // math.prod((*lead, rows.shape[-1])))
    products = []
    for start in range(0, first.shape[0], count):
        part = slice(start, min(start + count, first.shape[0]))
        u, v = (xp.take(vectors, k[part], axis=-axes - 1) for k in (first, second))
        product = m.inner(x, u, v)
        products.append(xp.broadcast_to(product, (*lead, product.shape[-1])))
    pairs = products[0] if len(products) == 1 else xp.concat(products, axis=-1)
    return xp.reshape(xp.take(pairs, place, axis=-1), (*lead, d, d))


@cache
def _pairs(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns of the lower triangle, and the place there of each entry of the whole."""
    first, second = np.tril_indices(d)
    place = np.zeros((d, d), dtype=np.int64)
    place[first, second] = place[second, first] = np.arange(first.size)
    return first, second, place.ravel()


# -- parallel transport ----------------------------------------------------------------------------


def ladder_transport(m: Geometry, x: Array, v: Array, w: Array) -> Array:
    """Transport w from x along t -> exp(x, t v) to t = 1 by pole ladders, isometrically.

    A rung takes the tip of a vector at its beginning to the mirror image of the tip in its middle.
    The vector from its end to that image, turned round, is the transported one. On symmetric spaces
    that is exact. Elsewhere the error of n rungs is a series in 1/n², whose terms are removed one
    by one with n, 2n, 4n, ... rungs (Romberg), until two results agree to 1e-10.

    A whole orthonormal basis is carried, the direction of v first. It is made an orthogonal matrix
    in coordinates that keeps the velocity, so lengths and angles are right to rounding. Derivatives
    go through w alone.
    """
    x, v = _detached(x), _detached(v)
    y, axes = m.exp(x, v), len(m.point_shape)
    xp, x1, y1 = namespace(y), _more(x, axes), _more(y, axes)
    identity = xp.eye(m.dim, dtype=y.dtype, device=device(y))
    here, there = m.from_coords(x1, identity), m.from_coords(y1, identity)
    turn = _reflection(m.inner(x1, _more(v, axes), here))
    turned = xp.reshape(xp.matmul(turn, _flat(here, axes)), (*turn.shape[:-1], *m.point_shape))
    moved = xp.matmul(turn, _romberg(m, x, v, turned, (y1, there)))
    c = m.inner(x1, _more(w, axes), here)
    flat = xp.matmul(xp.matmul(c[..., None, :], moved), _flat(there, axes))[..., 0, :]
    return xp.reshape(flat, (*flat.shape[:-1], *m.point_shape))


def _reflection(c: Array) -> Array:
    """Householder reflections, ``(..., d, d)``; the first row has the direction of ±c."""
    xp, d = namespace(c), c.shape[-1]
    identity = xp.eye(d, dtype=c.dtype, device=device(c))
    length = xp.linalg.vector_norm(c, axis=-1, keepdims=True)
    c = c / xp.where(length == 0, xp.ones_like(length), length)
    u = c + identity[0, :] * xp.where(c[..., :1] < 0, -xp.ones_like(length), xp.ones_like(length))
    u2 = xp.sum(u * u, axis=-1)[..., None, None]
    return identity - 2 * u[..., :, None] * u[..., None, :] / u2


def _romberg(m: Geometry, x: Array, v: Array, vectors: Array, end: tuple[Array, Array]) -> Array:
    """Coordinates of transported vectors in the basis at the end, as rows: ``(..., d, d)``."""
    axes, (y, basis) = len(m.point_shape), end
    y, basis = _more(y, axes), _more(basis, axes + 1)
    short = m.typical_dist / 4
    for room in (m.extent(_more(x, axes), vectors), m.extent(*end)):
        short = min(short, float(_finite(room).min(initial=math.inf)) / 4)
    rungs = math.ceil(_finite(m.norm(x, v)).max(initial=0.0) / (4 * short)) or 1
    table: list[Array] = []
    last = math.inf
    for level in range(_LEVELS):
        moved = _ladder(m, x, v, vectors, rungs * 2**level, short / 2**level)
        row = [m.inner(y, _more(moved, axes), basis)]
        for j, coarse in enumerate(table):
            row.append(row[-1] + (row[-1] - coarse) / (4 ** (j + 1) - 1))
        if table:
            gap = abs(_finite(row[-1] - table[-1])).max(initial=0.0)
            if gap > last / 2:  # rounding has taken over
                break
            last = gap
        table = row
        if last <= eps(moved) ** (2 / 3):
            break
    return _orthogonal(table[-1])


_LEVELS = 6  # of ladders, each with twice the rungs of the one before


def _ladder(m: Geometry, x: Array, v: Array, vectors: Array, n: int, side: float) -> Array:
    """Transport by n rungs with sides of one length."""
    axes = len(m.point_shape)
    path, begin, w = m.geodesic(_more(x, axes), _more(v, axes)), _more(x, axes), side * vectors
    for k in range(n):
        middle, end = path((k + 0.5) / n), path((k + 1) / n)
        image = m.exp(middle, -m.log(middle, m.exp(begin, w)))
        begin, w = end, -m.log(end, image)
    return w / side


def _orthogonal(rows: Array) -> Array:
    """Nearest orthogonal matrix among those whose first row has the direction of the first row."""
    xp = namespace(rows)
    first = rows[..., :1, :] / xp.linalg.vector_norm(rows[..., :1, :], axis=-1, keepdims=True)
    rest = rows[..., 1:, :]
    rest = rest - xp.matmul(rest, xp.matrix_transpose(first)) * first
    rows = xp.concat([first, rest], axis=-2)
    for _ in range(5):  # Newton-Schulz: the error is squared each time
        rows = 1.5 * rows - 0.5 * xp.matmul(xp.matmul(rows, xp.matrix_transpose(rows)), rows)
    return rows


# -- distances -------------------------------------------------------------------------------------


def dist_by_variation(m: Geometry, x: Array, y: Array) -> Array:
    """Distance where log(x, y) is not unique: from a point z beside y, by the first variation.

        d(x, y) = d(x, z) - <log_z x, log_z y> / d(x, z) + O(d(y, z)²)

    All shortest geodesics from x to y are of one length, so it does not matter which one z chooses.
    With d(y, z) the cube root of the rounding unit, the second order, and the digits that `log` may
    lose close to where it ends, both leave ten digits right.
    """
    xp = namespace(y)
    aside = np.random.default_rng(0).standard_normal(m.dim)  # in no direction of a symmetry
    aside *= eps(y) ** (1 / 3) * m.typical_dist / np.linalg.norm(aside)
    z = m.exp(y, m.from_coords(y, xp.asarray(aside, dtype=y.dtype, device=device(y))))
    d = m.norm(x, m.log(x, z))
    return d - m.inner(z, m.log(z, x), m.log(z, y)) / d


def median_dist(m: Geometry) -> float:
    """Median distance of 32 pairs of random points, always the same ones."""
    x, y = m.random_point(np.random.default_rng(0), (2, 32))
    return float(np.median(_finite(m.norm(x, m.log(x, y)))))


# -- distances from the manifold -------------------------------------------------------------------


def relative_gap(a: Array, b: Array, axes: int) -> Array:
    """Largest difference of the entries of points, relative to the largest entry of the first."""
    xp, last = namespace(a), tuple(range(-axes, 0))
    size = xp.max(xp.abs(a), axis=last)
    return xp.max(xp.abs(a - b), axis=last) / xp.where(size == 0, xp.ones_like(size), size)


def _more(x: Array, axes: int) -> Array:
    """Points with an axis of length one in front of those of a point."""
    return x[(..., None, *(slice(None),) * axes)]


def _flat(vectors: Array, axes: int) -> Array:
    lead, last = vectors.shape[: vectors.ndim - axes], vectors.shape[vectors.ndim - axes :]
    return namespace(vectors).reshape(vectors, (*lead, math.prod(last)))


def _finite(numbers: Array) -> np.ndarray:
    numbers = host(numbers)
    return numbers[np.isfinite(numbers)]


def _detached(a: Array) -> Array:
    """The array without its derivatives."""
    return a.detach() if hasattr(a, "detach") else a
