"""Manifolds from geoopt."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import positive_int
from ...errors import ArgumentError
from ..base import Manifold
from ..euclidean import Euclidean
from ..product import Power
from .foreign import ForeignManifold, require, seeded

__all__ = ["from_geoopt"]


def from_geoopt(
    manifold: Any,
    shape: int | tuple[int, ...] | None = None,
    *,
    curvature: tuple[float, float] = (-math.inf, math.inf),
    injectivity_radius: float = math.inf,
) -> Manifold:
    """Make a manifold of geoopt usable by every method here.

    Points, tangent vectors and metric are those of geoopt. Manifolds with a curvature or a scale
    compute in its dtype, which is float32 unless changed: ``geoopt.PoincareBall().double()``.

    Parameters
    ----------
    manifold : geoopt.Manifold
        A manifold whose points are real tensors.
    shape : int or tuple of int
        Shape of a point: geoopt's manifolds leave it open, except for products. Axes in front of
        those that one point of the manifold has make it a `Power`.
    curvature : tuple of float, optional
        Bounds of the sectional curvature, which geoopt does not tell.
    injectivity_radius : float, optional
        The injectivity radius, which geoopt does not tell either.

    Returns
    -------
    Manifold
        Computes in torch, and converts NumPy arrays. `transport` is geoopt's, which on some of
        its manifolds is no parallel transport but a projection.

    Raises
    ------
    ArgumentError
        If it is no such manifold, its points are not real, or the shape is missing or wrong.

    Examples
    --------
    >>> import geoopt
    >>> ball = from_geoopt(geoopt.PoincareBall().double(), 2)
    >>> round(float(ball.dist(np.zeros(2), np.array([0.5, 0.0]))), 6)  # 2 artanh(1/2)
    1.098612
    """
    require(manifold, "manifold", "geoopt", ("expmap", "proju", "inner", "ndim"))
    if shape is None:
        shape = getattr(manifold, "n_elements", None)
    if shape is None:
        raise ArgumentError(
            f"shape is missing: {manifold} of geoopt leaves the shape of a point open, "
            f"e.g. from_geoopt(manifold, 3)"
        )
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    shape = tuple(positive_int(n, f"shape[{i}]") for i, n in enumerate(shape))
    if type(manifold).__name__ == "Euclidean":
        return Euclidean(*shape)
    if len(shape) < manifold.ndim:
        raise ArgumentError(f"shape must have {manifold.ndim} axes for {manifold}, got {shape}")
    if len(shape) > manifold.ndim:
        bounds = {"curvature": curvature, "injectivity_radius": injectivity_radius}
        return Power(from_geoopt(manifold, shape[1:], **bounds), shape[0])

    import torch
    from geoopt.manifolds.stiefel import CanonicalStiefel, EuclideanStiefel

    # The canonical metric's `proju` converts gradients: it does not keep tangent vectors.
    canonical = isinstance(manifold, CanonicalStiefel)
    project = EuclideanStiefel().proju if canonical else manifold.proju
    last = (0,) * manifold.ndim

    def random_points(rng: np.random.Generator, count: int) -> Array:
        draw = getattr(manifold, "random_normal", manifold.random)  # Lorentz has the first alone
        with seeded(rng), torch.no_grad():
            points = draw(count, *shape, dtype=manifold.dtype or torch.float64)
        return points.as_subclass(torch.Tensor)

    return ForeignManifold(
        manifold,
        {
            # Without keepdim the hyperbolic models multiply batches with each other.
            "inner": lambda x, u, v: manifold.inner(x, u, v, keepdim=True)[(..., *last)],
            "dist": manifold.dist,
            "exp": manifold.expmap,
            "log": manifold.logmap,
            "transport": manifold.transp,
            "transport_along": manifold.transp_follow_expmap,
            "to_tangent": project,
            "riemannian_gradient": manifold.egrad2rgrad,
            "to_manifold": manifold.projx,
            "check_point": manifold.check_point_on_manifold,
        },
        random_points,
        leading_axes=lambda f, k, *arrays: f(*arrays),
        curvature=curvature,
        injectivity_radius=injectivity_radius,
    )
