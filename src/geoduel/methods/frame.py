"""Coordinates that stay while the point moves: an orthonormal frame, parallel-transported.

A method that learns from past answers (a covariance, a window of duels, a path) keeps them as
numbers. The numbers stay right if the basis they refer to travels along:

    y = Exp_x(v),   E_i(y) = transport of E_i(x) along t -> Exp_x(t v),   v = Σ c_i E_i(x).

Coordinates are NumPy float64 whatever the points are; only points and tangent vectors have the
kind, dtype and device of x.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._numerics.arrays import Array, device, expand, host, namespace
from ..domains.base import Domain
from ..errors import CutLocusError, MissingOperationError
from ..manifolds.base import Manifold

__all__ = [
    "Frame",
    "at_least",
    "reach",
    "to_numpy",
    "within",
]

RENEW = 32  # moves between two corrections of the rounding
NOTHING = np.zeros((0, 0))


class Frame(NamedTuple):
    """A point with an orthonormal basis of its tangent space.

    The manifold has a basis of its own at every point (`Manifold.from_coords`), which jumps about
    as the point moves. ``rotation`` holds the transported frame in that basis, so that a move costs
    one batched transport of d vectors. Where dimension or manifold forbid that, see `move`.

    Attributes
    ----------
    point : array of shape point_shape
        x.
    rotation : ndarray of shape (d, d) or None
        Columns are the E_i in the manifold's own basis at x. None: the own basis is the frame.
    moves : int
        Moves so far.
    """

    point: Array
    rotation: np.ndarray | None
    moves: int = 0

    def tangent(self, manifold: Manifold, c: np.ndarray, domain: Domain | None = None) -> Array:
        """Tangent vectors with coordinates ``c`` of shape (..., d), shortened to the `reach`."""
        return self.vectors(manifold, self._own(self._short(manifold, c, domain)))

    def _short(self, manifold: Manifold, c: np.ndarray, domain: Domain | None) -> np.ndarray:
        return self.within(manifold, c, reach(manifold, domain, self.point))

    def vectors(self, manifold: Manifold, own: np.ndarray) -> Array:
        """Tangent vectors with these coordinates in the manifold's own basis, of any length."""
        x = self.point
        return manifold.from_coords(x, namespace(x).asarray(own, dtype=x.dtype, device=device(x)))

    def within(
        self, manifold: Manifold, c: np.ndarray, radius: float, share: float = 0.9
    ) -> np.ndarray:
        """Coordinates shortened to a length, and to a share of the time their geodesics exist.

        Sums of vectors within two shares are within the sum of the shares.
        """
        c = within(c, radius)
        if manifold.complete:
            return c
        return c * np.minimum(1, share * self.extent(manifold, c))[..., None]

    def extent(self, manifold: Manifold, c: np.ndarray) -> np.ndarray:
        """Times up to which the geodesics with velocities ``c`` and ``-c`` are shortest."""
        v = self.vectors(manifold, self._own(c))
        return to_numpy(manifold.extent(self.point, v))

    def lengthened(self, manifold: Manifold, c: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Coordinates times factors of at least 1, but not by them beyond half of their `extent`.

        A geodesic that has turned back, as on the simplex, does not end opposite to its twin.
        """
        return c * np.clip(self.extent(manifold, c) / 2, 1.0, factor)[..., None]

    def at(self, manifold: Manifold, c: np.ndarray, domain: Domain | None = None) -> Array:
        """Points Exp_x(Σ c_i E_i), projected on the domain, shape (..., *point_shape)."""
        with np.errstate(all="ignore"):  # what overflows is not held
            y = manifold.exp(self.point, self.tangent(manifold, c, domain))
            y = self.held(manifold, y)
        return y if domain is None else _projected(domain, y, self.point)

    def pair(self, manifold: Manifold, c: np.ndarray) -> tuple[Array, Array]:
        """Points Exp_x(Σ c_i E_i) and Exp_x(-Σ c_i E_i)."""
        with np.errstate(all="ignore"):
            y, z = manifold.exp_pair(self.point, self.tangent(manifold, c))
            return self.held(manifold, y), self.held(manifold, z)

    def held(self, manifold: Manifold, y: Array) -> Array:
        """Points as they are, but those that numbers of the dtype cannot hold become the base.

        There are none unless the base is about to be such a point: see `reach`.
        """
        if 0 in y.shape or manifold.room(y) > 0:
            return y
        if y.ndim == self.point.ndim:
            return self.point
        return namespace(y).stack([self.held(manifold, y[i, ...]) for i in range(len(y))])

    def land(
        self, manifold: Manifold, c: np.ndarray, domain: Domain | None
    ) -> tuple[np.ndarray, Array]:
        """Where a step from here ends: the projection of Exp_x(Σ c_i E_i), and its coordinates."""
        c = self._short(manifold, c, domain)
        with np.errstate(all="ignore"):
            y = manifold.exp(self.point, self.vectors(manifold, self._own(c)))
            if not manifold.room(y) > 0:
                return 0 * c, self.point
        if domain is None:
            return c, y
        z = _projected(domain, y, self.point)
        if bool(namespace(z).all(z == y)):
            return c, z
        try:
            return self.coordinates(manifold, z), z
        except CutLocusError:
            return 0 * c, self.point

    def move(
        self,
        manifold: Manifold,
        c: np.ndarray,
        along: np.ndarray = NOTHING,
        end: Array | None = None,
    ) -> tuple[Frame, np.ndarray]:
        """Move to Exp_x(Σ c_i E_i), and carry the vectors with coordinates ``along`` there.

        That point may be given as ``end``, to the last bit.

        A frame with a rotation carries its basis: coordinates stay. One without is cheap in high
        dimension: the few vectors ``along``, of shape (k, d), are transported themselves and get
        new coordinates.

        Where the manifold has no transport (a geometry of another package, a cut locus on the way),
        the coordinates stay in the own basis at the new point. That is right to first order in the
        step where the own basis is smooth.

        Rounding turns orthonormal columns by some units a move. Every 32 moves one Newton-Schulz
        step R (3I - RᵀR)/2 squares the error away.
        """
        v = self.tangent(manifold, c)
        y = manifold.exp(self.point, v) if end is None else end
        if self.rotation is None:
            return Frame(y, None, self.moves + 1), self._carry(manifold, v, y, along)
        R = self._carry(manifold, v, y, self.rotation.T).T
        if (self.moves + 1) % RENEW == 0:
            R = R @ (1.5 * np.eye(len(R)) - 0.5 * (R.T @ R))
        return Frame(y, R, self.moves + 1), along

    def enter(
        self, manifold: Manifold, domain: Domain | None, along: np.ndarray = NOTHING
    ) -> tuple[Frame, np.ndarray | float, np.ndarray]:
        """Move to the nearest point of the domain; also returns the coordinates of that move."""
        if domain is None or bool(domain.contains(self.point)):
            return self, 0.0, along
        c, end = self.land(manifold, np.zeros(manifold.dim), domain)
        frame, along = self.move(manifold, c, along, end)
        return frame, c, along

    def coordinates(self, manifold: Manifold, y: Array) -> np.ndarray:
        """Coordinates of Log_x y, shape (..., d)."""
        c = to_numpy(manifold.to_coords(self.point, manifold.log(self.point, y)))
        return c if self.rotation is None else c @ self.rotation

    def _carry(self, manifold: Manifold, v: Array, y: Array, own: np.ndarray) -> np.ndarray:
        """Coordinates in the own basis at y of transported vectors, given those at x."""
        if not own.size:
            return own
        try:
            w = manifold.transport_along(self.point, v, self.vectors(manifold, own))
            moved = to_numpy(manifold.to_coords(y, w))
        except (CutLocusError, MissingOperationError):
            return own
        return moved if np.isfinite(moved).all() else own

    def _own(self, c: np.ndarray) -> np.ndarray:
        """Coordinates in the manifold's own basis."""
        return c if self.rotation is None else c @ self.rotation.T


def reach(manifold: Manifold, domain: Domain | None = None, x: Array | None = None) -> float:
    """Longest step that makes sense, a geodesic length.

    The injectivity radius, since geodesics come back beyond it; in a domain its diameter. From the
    point ``x`` also its `Manifold.room`, beyond which numbers of its dtype hold no points. Where
    the curvature is known and negative also 100 in its unit, since points at distance r have
    entries of size e^r.
    """
    low = manifold.curvature[0]
    curved = -math.inf < low < 0
    return min(
        manifold.injectivity_radius,
        100 / math.sqrt(-low) if curved else math.inf,
        math.inf if domain is None else domain.diameter,
        math.inf if x is None else manifold.room(x),
    )


def _projected(domain: Domain, y: Array, instead: Array) -> Array:
    """Nearest points of the domain; ``instead``, one of its points, where several are as near."""
    if y.ndim == instead.ndim:
        try:
            return domain.project(y)
        except CutLocusError:
            return instead
    z = domain.project(y)  # of several points, those are NaN
    xp, axes = namespace(z), tuple(range(-instead.ndim, 0))
    lost = xp.any(xp.isnan(z), axis=axes)
    return xp.where(expand(lost, instead.ndim), instead, z) if bool(xp.any(lost)) else z


def to_numpy(a: Array) -> np.ndarray:
    """Doubles in main memory."""
    return np.asarray(host(a), dtype=np.float64)


def at_least(c: np.ndarray, radius: float) -> np.ndarray:
    """Vectors lengthened to the radius; those of length zero stay."""
    if radius == 0:
        return c
    length = np.sqrt(np.sum(c * c, axis=-1, keepdims=True))
    return c * np.maximum(1.0, radius / np.maximum(length, 1e-300))


def within(c: np.ndarray, radius: float) -> np.ndarray:
    """Vectors shortened to just below the radius."""
    if radius == math.inf:
        return c
    length = np.sqrt(np.sum(c * c, axis=-1, keepdims=True))
    if (length <= radius).all():
        return c
    return c * np.minimum(1.0, 0.999 * radius / np.maximum(length, 1e-300))
