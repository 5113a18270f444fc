"""Pairs of points with leading axes: their shape, laid out one a row, and answers alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import Array, device, namespace

__all__ = ["as_like", "flat_pairs", "leading_shape"]


def leading_shape(x: Array, y: Array, point_ndim: int) -> tuple[int, ...]:
    return np.broadcast_shapes(x.shape[: x.ndim - point_ndim], y.shape[: y.ndim - point_ndim])


def flat_pairs(x: Array, y: Array, point_ndim: int) -> tuple[tuple[int, ...], Array, Array]:
    """Leading shape, and both arrays with one leading axis that counts the pairs."""
    xp = namespace(x, y)
    lead = leading_shape(x, y, point_ndim)

    def flat(a: Array) -> Array:
        point = tuple(a.shape[a.ndim - point_ndim :])
        return xp.reshape(xp.broadcast_to(a, (*lead, *point)), (math.prod(lead), *point))

    return lead, flat(x), flat(y)


def as_like(x: Array, a: Any) -> Array:
    """Return the numbers ``a`` as an array of the kind and dtype and on the device of ``x``."""
    return namespace(x).asarray(a, dtype=x.dtype, device=device(x))
