"""Arrays with leading axes: their common shape, laid out along one axis, and made alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import Array, device, namespace

__all__ = ["along_one_axis", "as_like", "leading_shape"]


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
