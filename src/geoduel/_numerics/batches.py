"""Arrays with leading axes: their common shape, laid out along one axis, and made alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import Array, device, eps, host, namespace

__all__ = ["along_one_axis", "as_like", "bounds_like", "leading_shape"]


def leading_shape(point_ndim: int, *arrays: Array) -> tuple[int, ...]:
    """Common shape of the leading axes of arrays of points."""
    return np.broadcast_shapes(*(tuple(a.shape[: a.ndim - point_ndim]) for a in arrays))


def along_one_axis(point_ndim: int, *arrays: Array) -> tuple[tuple[int, ...], list[Array]]:
    """Common leading shape, and the arrays with one leading axis in its place."""
    xp = namespace(*arrays)
    lead = leading_shape(point_ndim, *arrays)

    def flat(a: Array) -> Array:
        point = tuple(a.shape[a.ndim - point_ndim :])
        return xp.reshape(xp.broadcast_to(a, (*lead, *point)), (math.prod(lead), *point))

    return lead, [flat(a) for a in arrays]


def as_like(a: Any, x: Array) -> Array:
    """Return the numbers ``a`` as an array of the kind and dtype and on the device of ``x``."""
    if type(a) is type(x) and a.dtype == x.dtype and device(a) == device(x):
        return a
    if hasattr(a, "detach"):
        a = a.detach()
    return namespace(x).asarray(a, dtype=x.dtype, device=device(x))


def bounds_like(lower: Array, upper: Array, x: Array) -> tuple[Array, Array]:
    """Both bounds as arrays like ``x``; where its dtype is shorter, rounded inwards.

    So nothing within them is beyond what they were. Where no number of the dtype is between the
    bounds, they are the nearest ones.

    Examples
    --------
    >>> low, high = bounds_like(np.array([0.1]), np.array([0.3]), np.zeros(1, np.float32))
    >>> bool(low[0] >= 0.1), bool(high[0] <= 0.3), float(np.float32(0.3)) > 0.3
    (True, True, True)
    """
    near = as_like(lower, x), as_like(upper, x)
    if eps(x) <= eps(lower):
        return near
    wide = np.asarray(host(lower)), np.asarray(host(upper))
    low, high = (a.astype(np.float32) for a in wide)
    up, down = np.nextafter(low, np.inf), np.nextafter(high, -np.inf)
    low, high = np.where(low < wide[0], up, low), np.where(high > wide[1], down, high)
    some = low <= high
    low, high = (np.where(some, a, b) for a, b in zip((low, high), map(host, near), strict=True))
    return as_like(low, x), as_like(high, x)
