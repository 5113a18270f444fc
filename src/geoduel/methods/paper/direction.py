"""Directions from duels: the estimators h and h̄ of the paper.

A duel between the two ends of a short geodesic through x tells the sign of the slope along it. With
u uniform on the unit sphere of T_x M (in the metric),

    h = Q(Exp_x(ν u), Exp_x(-ν u)) u,        E<h, v> ≈ Ĉ(d)/√d <grad f/|grad f|, v>   (Prop. 3.3)

points uphill on average; h̄ averages M of them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from ..._numerics.arrays import Array, expand, namespace
from ...manifolds.base import Manifold

__all__ = ["estimate"]


def estimate(
    manifold: Manifold, rng: np.random.Generator, x: Array, radius: float, batch: int = 1
) -> Generator[tuple[Array, Array], Any, Array]:
    """Estimate an uphill direction at ``x`` from ``batch`` duels (equations of h and h̄).

    Parameters
    ----------
    manifold : Manifold
        The geometry.
    rng : numpy.random.Generator
        Source of the directions.
    x : array of shape (..., *point_shape)
        Base point; leading axes are independent problems.
    radius : float
        ν, the geodesic length of the perturbation.
    batch : int
        M, the number of directions averaged.

    Yields
    ------
    ahead, behind : array of shape (..., *point_shape), with a leading axis M if ``batch > 1``
        The pairs to compare; the answers are sent back with their leading shape.

    Returns
    -------
    array of shape (..., *point_shape)
        h, or h̄ = (1/M) Σ h_j, a tangent vector at x; |h̄| <= 1, not normalised.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel import Euclidean
    >>> duels = estimate(Euclidean(2), np.random.default_rng(0), np.zeros(2), 1e-3)
    >>> ahead, behind = next(duels)
    >>> bool(np.allclose(ahead, -behind))
    True
    >>> try:
    ...     duels.send(+1)  # f(ahead) > f(behind): uphill is ahead
    ... except StopIteration as done:
    ...     h = done.value
    >>> bool(np.allclose(h, ahead / 1e-3))
    True
    """
    u = manifold.unit_tangent(rng, x, () if batch == 1 else (batch,))
    answer = yield manifold.exp_pair(x, radius * u)
    h = expand(answer, len(manifold.point_shape)) * u
    return h if batch == 1 else namespace(h).mean(h, axis=0)
