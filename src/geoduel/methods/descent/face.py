"""The boundary of a domain about a point: the directions along it, and the ways back inside.

A domain tells only which points it contains and how it projects. Probes that leave it and come back
by projection tell the rest. The part they lost is normal to the boundary, and the part that remains
of probes sent outwards spans its edges. That costs no duel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...domains.base import Domain
from ...manifolds.base import Manifold
from ..frame import Frame

__all__ = ["NO_EXITS", "Exits", "Face", "face_at"]

LOST = 0.03  # share of a probe's length that counts: more than rounding and curvature
FLAT = 0.05  # singular values of unit normals below which they only show a curved boundary


class Face(NamedTuple):
    """The face of a domain that a point lies on; coordinates are those of a frame at the point.

    Attributes
    ----------
    normals : ndarray of shape (k, d)
        Orthonormal, spanning the normals of the boundary; k = 0 inside, k = d at a vertex.
    edges : ndarray of shape (m, d)
        Unit vectors across the face that lead back inside. Where several constraints meet, each
        leaves as few of them as possible.
    """

    normals: np.ndarray
    edges: np.ndarray

    @classmethod
    def none(cls, d: int) -> Face:
        """The face of a point inside: all directions."""
        return cls(np.zeros((0, d)), np.zeros((0, d)))

    def along(self, metric: np.ndarray) -> np.ndarray:
        """Orthonormal columns T of shape (d, d - k) such that A T lies along the face."""
        k, d = self.normals.shape
        if k == 0:
            return np.eye(d)
        return np.linalg.qr(metric.T @ self.normals.T, mode="complete")[0][:, k:]

    def flatten(self, c: np.ndarray) -> np.ndarray:
        """Vectors without their part normal to the face."""
        return c - (c @ self.normals.T) @ self.normals


class Exits(NamedTuple):
    """What duels have said about the ways back inside, over the blocks.

    Attributes
    ----------
    edges : ndarray of shape (m, d)
        Unit vectors.
    ahead : ndarray of shape (m,)
        Duels won by a step along the edge, less those lost.
    """

    edges: np.ndarray
    ahead: np.ndarray

    def at(self, edges: np.ndarray) -> np.ndarray:
        """The tally of edges seen from another point: that of the nearest, within 20 degrees."""
        if not len(self.ahead) or not len(edges):
            return np.zeros(len(edges))
        alike = edges @ self.edges.T
        return np.where(alike.max(axis=1) > 0.94, self.ahead[alike.argmax(axis=1)], 0.0)


NO_EXITS = Exits(np.zeros((0, 0)), np.zeros(0))


def face_at(manifold: Manifold, frame: Frame, domain: Domain, probes: np.ndarray) -> Face:
    """The face of the domain at the base point, as short probes see it.

    Parameters
    ----------
    manifold, frame, domain
        Where; the base point is in the domain.
    probes : ndarray of shape (n, d)
        Coordinates of vectors of about one length, in directions of all kinds. They are used in
        both directions.

    Returns
    -------
    Face

    Examples
    --------
    >>> import geoduel as gd
    >>> square = gd.Box(np.zeros(2), np.ones(2))
    >>> frame = Frame(np.array([1.0, 0.5]), np.eye(2))
    >>> face = face_at(gd.Euclidean(2), frame, square, 0.01 * np.array([[0.6, 0.8], [0.8, -0.6]]))
    >>> abs(face.normals).round(6) + 0.0
    array([[1., 0.]])
    >>> face.edges[0].round(6) + 0.0
    array([-1.,  0.])
    """

    def kept(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a = frame.coordinates(manifold, frame.at(manifold, w, domain))
        return a, np.sqrt(np.sum(a * a, axis=1))

    d = probes.shape[1]
    probes = np.concatenate([probes, -probes])
    size = float(np.median(np.linalg.norm(probes, axis=1)))
    lost = probes - kept(probes)[0]
    length = np.sqrt(np.sum(lost * lost, axis=1))
    outside = length > LOST * size
    if not outside.any():
        return Face.none(d)
    lost = lost[outside] / length[outside, None]
    _, spread, normals = np.linalg.svd(lost, full_matrices=False)
    normals = normals[spread > FLAT * spread[0]]
    outwards = lost.mean(axis=0)
    outwards /= max(1e-9, float(np.linalg.norm(outwards)))  # none, where a set has no interior

    # The farther out the probes across the face are sent, the fewer come back to another point,
    # and those last ones along an edge.
    across = probes @ normals.T @ normals
    length = np.linalg.norm(across, axis=1)
    far = length > 1e-6 * size
    across = across[far] * (size / length[far])[:, None]
    edges = np.zeros((0, d))
    for shift in np.arange(0.0, 4.0, 0.25):
        a, length = kept(across + shift * size * outwards)
        inside = length > LOST * size
        if inside.any():
            edges = a[inside] / length[inside, None]
        if np.mean(inside) <= 0.3:
            break
    return Face(normals, edges)
