"""Duels on a feasible set: the set decides first (Deb's rules)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._numerics.arrays import Array, device, eps, expand, host, namespace
from .._numerics.batches import along_one_axis, as_like
from .base import Domain

__all__ = ["feasible_first", "let_in", "verdicts"]


def feasible_first(
    domain: Domain, x: Array, y: Array, point_ndim: int, ask: Callable[[Array, Array], Any]
) -> Any:
    """Answer duels on a feasible set: the set decides first, and asks only about feasible pairs.

    A feasible point beats an infeasible one, a smaller violation beats a larger one, and two
    feasible points are compared by the oracle: the order of Deb's rules. Feasible is what the
    domain contains within its tolerance; where a violation is NaN the point is infinitely far out.

    Parameters
    ----------
    domain : Domain
        The set; see `geoduel.Domain.violation`.
    x, y : array of shape (..., *point_shape)
        The pairs.
    point_ndim : int
        Number of axes of a point.
    ask : callable
        ``ask(x, y)`` answers pairs with at most one leading axis; it is given the feasible ones.

    Returns
    -------
    int or array of shape (...)
        As from `answers`.

    References
    ----------
    Deb, An efficient constraint handling method for genetic algorithms, Computer Methods in Applied
    Mechanics and Engineering 186 (2000).
    """
    decided, open_ = verdicts(domain, x, y)
    if not decided.ndim:
        return ask(x, y) if open_ else int(decided)
    if open_.all():
        return ask(x, y)
    if open_.any():
        _, pair = along_one_axis(point_ndim, x, y)
        index = namespace(x).asarray(np.flatnonzero(open_), device=device(x))
        decided[open_] = host(ask(*(namespace(x).take(a, index, axis=0) for a in pair)))
    return as_like(decided, x)


def verdicts(domain: Domain, x: Array, y: Array) -> tuple[np.ndarray, np.ndarray]:
    """Answers of the set alone, and which duels are open: of two feasible points."""
    over_x, over_y = (host(domain.violation(a)) for a in (x, y))
    tolerance = math.sqrt(eps(x))
    over_x, over_y = (np.where(v <= tolerance, 0.0, v) for v in (over_x, over_y))
    over_x, over_y = (np.where(np.isnan(v), math.inf, v) for v in (over_x, over_y))
    decided = np.where(over_x > over_y, 1.0, 0.0) - np.where(over_x < over_y, 1.0, 0.0)
    return decided, (over_x == 0) & (over_y == 0)


def let_in(domain: Domain, x: Array, point_ndim: int) -> Array:
    """Points as they are, but those outside by less than a tolerance become the nearest inside.

    A search whose points are judged by `feasible_first` ends outside by up to that tolerance. There
    rounding decides what the domain contains, and may decide otherwise for a point among others.
    """
    over = host(domain.violation(x))
    outside = (over > 0) & (over <= 2 * math.sqrt(eps(x)))
    if not outside.any():
        return x
    if not outside.ndim:
        return domain.project(x)
    xp = namespace(x)
    return xp.where(expand(xp.asarray(outside, device=device(x)), point_ndim), domain.project(x), x)
