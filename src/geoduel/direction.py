"""Directions from duels: the estimators h and h̄ of the paper.

A duel between the two ends of a short geodesic through x tells the sign of the slope along it. With
u uniform on the unit sphere of T_x M (in the metric),

    h = Q(Exp_x(ν u), Exp_x(-ν u)) u,        E<h, v> ≈ Ĉ(d)/√d <grad f/|grad f|, v>   (Prop. 3.3)

points uphill on average; h̄ averages M of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np

from ._arrays import Array, expand, namespace
from .manifolds.base import Manifold

__all__ = ["Ask", "Direction", "estimate"]

Ask = Generator[tuple[Array, Array], Any, Any]
"""A generator that yields pairs of points (x, y) to compare and is sent their answers."""


class Direction(NamedTuple):
    """An estimated uphill direction at a point.

    Attributes
    ----------
    answer : int or array of shape (M, ...)
        The answers to the duels.
    tangents : array of shape (..., *point_shape), with a leading axis M for a batch
        The unit tangent vectors that were tried.
    walk : callable or None
        For a single pair, the geodesic t -> Exp_x(t u), whose work the duel has done already.
    """

    answer: Any
    tangents: Array
    walk: Callable[[Any], Array] | None

    def mean(self, manifold: Manifold) -> Array:
        """H of one pair, or h̄ = (1/M) Σ h_j of a batch; |h̄| <= 1, not normalised."""
        h = expand(self.answer, len(manifold.point_shape)) * self.tangents
        return h if self.walk else namespace(h).mean(h, axis=0)

    def move(self, manifold: Manifold, x: Array, t: float) -> Array:
        """Exp_x(t h): from x along the direction, a geodesic length t per unit of h."""
        if self.walk:
            return self.walk(t * self.answer)
        return manifold.exp(x, t * self.mean(manifold))


def estimate(
    manifold: Manifold, rng: np.random.Generator, x: Array, radius: float, batch: int = 1
) -> Generator[tuple[Array, Array], Any, Direction]:
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
    Direction
        The directions with their answers; `Direction.mean` is h or h̄.

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
    ...     h = done.value.mean(Euclidean(2))
    >>> bool(np.allclose(h, ahead / 1e-3))
    True
    """
    u = manifold.unit_tangent(rng, x, () if batch == 1 else (batch,))
    walk = manifold.geodesic(x, u)
    answer = yield walk(radius), walk(-radius)
    return Direction(answer, u, walk if batch == 1 else None)
