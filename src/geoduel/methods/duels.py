"""Duels between points given by their coordinates in a frame."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from .._numerics.arrays import Array, namespace
from ..domains.base import Domain
from ..manifolds.base import Manifold
from .frame import Frame, to_numpy
from .sorting import Ranks

__all__ = ["differ", "duels", "mirrored_duels", "projected_duels", "rankings"]


def mirrored_duels(
    manifold: Manifold, frame: Frame, c: np.ndarray
) -> Generator[tuple[Array, Array], Any, np.ndarray]:
    """Compare Exp_x(c_j) with Exp_x(-c_j); answers as numbers, -1 where the first is preferred."""
    return (yield from _ask(manifold, *frame.pair(manifold, c)))


def duels(
    manifold: Manifold,
    frame: Frame,
    a: np.ndarray,
    b: np.ndarray,
    domain: Domain | None = None,
) -> Generator[tuple[Array, Array], Any, np.ndarray]:
    """Compare Exp_x(a_j) with Exp_x(b_j), for coordinates of shape (k, d); or their projections."""
    x, y = (frame.at(manifold, c, domain) for c in (a, b))
    return (yield from _ask(manifold, x, y))


def projected_duels(
    manifold: Manifold, frame: Frame, a: np.ndarray, b: np.ndarray, domain: Domain | None
) -> Generator[tuple[Array, Array], Any, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Compare the projections of Exp_x(a_j) and Exp_x(b_j): answers, and where they really were.

    A duel between any two points tells the slope along half their difference, at their middle.
    """
    x, y = (frame.at(manifold, c, domain) for c in (a, b))
    a, b = (frame.coordinates(manifold, p) for p in (x, y))
    return (yield from _ask(manifold, x, y)), (a - b) / 2, (a + b) / 2


def differ(
    manifold: Manifold, frame: Frame, a: np.ndarray, b: np.ndarray, domain: Domain | None
) -> np.ndarray:
    """Whether the points that `duels` would compare differ; their projections may not."""
    x, y = (frame.at(manifold, c, domain) for c in (a, b))
    return to_numpy(_differ(manifold, x, y))


def rankings(manifold: Manifold, frame: Frame, c: np.ndarray) -> Generator[Any, Any, np.ndarray]:
    """Put points Exp_x(c_ij), for coordinates of shape (r, k, d), in order for each i.

    Their places, shape (r, k), are the numbers of better points.
    """
    return (yield Ranks(frame.at(manifold, c)))


def _ask(manifold: Manifold, x: Array, y: Array) -> Generator[tuple[Array, Array], Any, np.ndarray]:
    if not len(x):
        return np.zeros(0)
    apart = _differ(manifold, x, y)
    answer = yield x, y
    # Points that rounding makes equal tell nothing, whatever a noisy oracle says about them.
    return to_numpy(answer * namespace(x).astype(apart, answer.dtype))


def _differ(manifold: Manifold, x: Array, y: Array) -> Array:
    return namespace(x).any(x != y, axis=tuple(range(1, 1 + len(manifold.point_shape))))
