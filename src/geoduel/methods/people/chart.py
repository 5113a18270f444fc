"""Where points are, as seen from many possible ideals: a chart with log(c, x) polynomial in c.

`particles` makes charts and moves to new ones, `perception` turns their logs into losses.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from ..._numerics.arrays import Array, namespace
from ...errors import CutLocusError, MissingOperationError
from ...manifolds.base import Manifold
from ..frame import Frame, to_numpy

__all__ = ["Chart", "features", "upper"]


class Chart(NamedTuple):
    """Normal coordinates c about a point, in which ideals are believed to lie.

    An ideal c sees a point x as log(c, x), in the frame transported from the centre along the
    geodesic to c. The quadratic polynomial in c interpolates it that is right at 1 + d + d(d+1)/2
    nodes: the centre, ±r e_i and r (e_i + e_j)/√2. Many ideals then cost matrix products alone, on
    any manifold with exp, log and transport.

    Attributes
    ----------
    frame : Frame
        The centre and its axes.
    size : float
        r, about the deviation of the ideals.
    origin : ndarray of shape (d,)
        Where the prior is centred.
    nodes : ndarray of shape (F, d)
    axes : ndarray of shape (F, d, d)
        The transported frames, rows in the own basis at each node.
    points : array of shape (F, *point_shape)
    solve : ndarray of shape (F, F)
        From values at the nodes to coefficients.
    """

    frame: Frame
    size: float
    origin: np.ndarray
    nodes: np.ndarray
    axes: np.ndarray
    points: Array
    solve: np.ndarray

    @classmethod
    def about(cls, manifold: Manifold, frame: Frame, size: float, origin: np.ndarray) -> Chart:
        """Chart about the point of a frame."""
        d = manifold.dim
        unit = np.eye(d)
        i, j = np.triu_indices(d, 1)
        nodes = np.concatenate([np.zeros((1, d)), unit, -unit, (unit[i] + unit[j]) / np.sqrt(2)])
        solve = np.linalg.inv(features(nodes))
        nodes = size * nodes
        scale = np.r_[1.0, np.full(d, 1 / size), np.full(len(nodes) - 1 - d, 1 / size**2)]
        v = frame.tangent(manifold, nodes)
        points = manifold.exp(frame.point, v)
        basis = np.eye(d) if frame.rotation is None else frame.rotation.T
        try:
            w = manifold.transport_along(frame.point, v[:, None], frame.vectors(manifold, basis))
            axes = to_numpy(manifold.to_coords(points[:, None], w))
        except (CutLocusError, MissingOperationError):
            axes = np.full((len(nodes), d, d), np.nan)
        axes = np.where(np.isfinite(axes), axes, basis)
        return cls(frame, size, origin, nodes, axes, points, scale[:, None] * solve)

    def logs(self, manifold: Manifold, x: Array) -> np.ndarray:
        """Coefficients of log(c, x) for points x of shape (m, ...); shape (F, d, m), float32.

        Where a log does not exist, at a cut locus, that of a flat space takes its place.
        """
        v = manifold.log(self.points[:, None], x[None])
        own = to_numpy(manifold.to_coords(self.points[:, None], v))
        values = np.einsum("fjk,fmk->fjm", self.axes, own)
        if not np.isfinite(values).all():
            flat = np.nan_to_num(values[:1]) - self.nodes[:, :, None]
            values = np.where(np.isfinite(values), values, flat)
        coefficients = self.solve @ values.reshape(len(values), -1)
        return coefficients.reshape(values.shape).astype(np.float32)

    def pair_logs(self, manifold: Manifold, a: Array, b: Array) -> np.ndarray:
        """Coefficients of log(c, a_j) and log(c, b_j) for m pairs, shape (F, d, 2, m), float32."""
        both = self.logs(manifold, namespace(a).concat([a, b]))
        return both.reshape(*both.shape[:2], 2, -1)

    def in_frame(
        self, manifold: Manifold, frame: Frame, centre: np.ndarray, c: np.ndarray
    ) -> np.ndarray:
        """Coordinates of the points c of this chart in a frame about its point ``centre``."""
        own = frame.coordinates(manifold, self.frame.at(manifold, c))
        return np.where(np.isfinite(own), own, c - centre)


def features(c: np.ndarray) -> np.ndarray:
    """1, c_i, and c_i c_j for i <= j, shape (n, 1 + d + d(d+1)/2)."""
    i, j = upper(c.shape[1])
    return np.concatenate([np.ones((len(c), 1), c.dtype), c, c[:, i] * c[:, j]], axis=1)


@cache
def upper(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices i <= j of a (d, d) array."""
    return np.triu_indices(d)
