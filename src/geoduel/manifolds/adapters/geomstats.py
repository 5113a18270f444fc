"""Manifolds from geomstats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._numerics.arrays import Array, namespace
from ...errors import ArgumentError
from ..base import Manifold
from .foreign import ForeignManifold, require, seeded, together

__all__ = ["from_geomstats"]


def from_geomstats(
    space: Any,
    *,
    curvature: tuple[float, float] = (-math.inf, math.inf),
    injectivity_radius: float = math.inf,
) -> Manifold:
    """Make a space of geomstats, with its metric, usable by every method here.

    Points, tangent vectors and metric are those of geomstats.

    Parameters
    ----------
    space : geomstats.geometry.manifold.Manifold
        A space that is equipped with a metric.
    curvature : tuple of float, optional
        Bounds of the sectional curvature, which geomstats does not tell.
    injectivity_radius : float, optional
        The injectivity radius. That of geomstats is not asked: it is wrong on some spaces.

    Returns
    -------
    Manifold
        Computes in the backend of geomstats; other arrays are converted.

    Raises
    ------
    ArgumentError
        If it is no such space, or has no metric.

    Notes
    -----
    geomstats 2.8.0 does not import on NumPy 2.4, which lacks `numpy.trapz`. Until a release mends
    this, ``numpy.trapz = numpy.trapezoid`` before the import does.

    Examples
    --------
    >>> from geomstats.geometry.spd_matrices import SPDMatrices  # doctest: +SKIP
    >>> spd = from_geomstats(SPDMatrices(3))  # doctest: +SKIP
    >>> spd.dim  # doctest: +SKIP
    6
    """
    require(space, "space", "geomstats", ("to_tangent", "belongs", "shape"))
    if (metric := getattr(space, "metric", None)) is None:
        raise ArgumentError(f"space has no metric: call equip_with_metric() on {space!r:.60}")

    def random_points(rng: np.random.Generator, count: int) -> Array:
        with seeded(rng):
            points = space.random_point(count)
        return namespace(points).reshape(points, (count, *space.shape))

    return ForeignManifold(
        space,
        {
            "inner": lambda x, u, v: metric.inner_product(u, v, x),
            "dist": metric.dist,
            "exp": lambda x, v: metric.exp(v, x),
            "log": lambda x, y: metric.log(y, x),
            "transport": lambda x, y, v: metric.parallel_transport(v, x, end_point=y),
            "transport_along": lambda x, v, w: metric.parallel_transport(w, x, direction=v),
            "to_tangent": lambda x, a: space.to_tangent(a, x),
            "to_manifold": space.projection,
            "check_point": space.belongs,
        },
        random_points,
        leading_axes=_one_axis,
        dim=int(space.dim),
        curvature=curvature,
        injectivity_radius=injectivity_radius,
    )


def _one_axis(f: Callable[..., Any], axes: int, *arrays: Array) -> Any:
    """Batches for a package that takes one leading axis, the same in every argument."""
    if all(a.ndim == axes for a in arrays):
        return f(*arrays)
    lead, stacks = together(axes, arrays)
    results = f(*stacks)
    return namespace(results).reshape(results, (*lead, *results.shape[1:]))
