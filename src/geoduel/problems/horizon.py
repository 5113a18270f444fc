"""Levelling a tilted picture: the paper's horizon experiment, on the rotations of the plane."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .._numerics.arrays import Array, expand, namespace
from .._support.check import one_of, real
from ..manifolds._border import as_array
from ..manifolds.rotations import Rotations
from .base import PortableArray, Problem

__all__ = ["Leveling"]


@dataclass(frozen=True, eq=False)
class Leveling(Problem):
    """Find the rotation R that undoes a tilt, R R_tilt = I.

    With θ in (-π, π] the angle of R R_tilt, the loss is

    * "frobenius": |R R_tilt - I|² = 8 sin²(θ/2), as the paper prints it, or
    * "angle": θ²/2, as its code has it.

    Both order rotations alike, so duels cannot tell them apart; near 0 their values differ by 4.

    Parameters
    ----------
    tilt : float
        Angle of R_tilt in radians, positive counter-clockwise.
    loss : {"frobenius", "angle"}
        The objective.

    References
    ----------
    Ren, Roy and Ma, Riemannian Dueling Optimization, section 5.2.2.

    Examples
    --------
    >>> problem = Leveling(np.pi / 2)
    >>> round(float(problem.objective(problem.x0)), 12)
    4.0
    >>> Leveling.degrees(-30.0).optimum.round(3)  # turns counter-clockwise by 30 degrees
    array([[ 0.866, -0.5  ],
           [ 0.5  ,  0.866]])
    """

    tilt: float
    loss: Literal["frobenius", "angle"] = "frobenius"
    x0: np.ndarray = field(default_factory=lambda: np.eye(2), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tilt", real(self.tilt, "tilt"))
        one_of(self.loss, "loss", ("frobenius", "angle"))
        object.__setattr__(self, "x0", as_array(self.x0, "x0"))
        self.manifold.check_point(self.x0, "x0")

    @classmethod
    def degrees(cls, tilt: float, loss: Literal["frobenius", "angle"] = "frobenius") -> Leveling:
        """Problem with the tilt in degrees."""
        return cls(math.radians(tilt), loss)

    @property
    def manifold(self) -> Rotations:
        return _PLANE

    @property
    def optimum(self) -> np.ndarray:
        return _PLANE.from_angle(-self.tilt)

    @property
    def optimal_value(self) -> float:
        return 0.0

    @property
    def smoothness(self) -> float:
        """4 for the Frobenius norm (f'' = 4 cos θ), 1 for the angle, away from a half turn."""
        return 4.0 if self.loss == "frobenius" else 1.0

    @cached_property
    def _tilt(self) -> PortableArray:
        return PortableArray(_PLANE.from_angle(self.tilt))

    def residual_angle(self, x: Array) -> Array:
        """Angle θ still left after the correction ``x``, radians in (-π, π], shape ``(...)``."""
        return _PLANE.to_angle(x @ self._tilt.like(x))

    def objective(self, x: Array) -> Any:
        xp = namespace(x)
        theta = self.residual_angle(x)
        if self.loss == "angle":
            return 0.5 * theta * theta
        s = xp.sin(0.5 * theta)
        return 8 * s * s

    def gradient(self, x: Array) -> Array:
        xp = namespace(x)
        theta = self.residual_angle(x)
        slope = theta if self.loss == "angle" else 4 * xp.sin(theta)
        return expand(slope, 2) * (x @ _QUARTER.like(x))


_PLANE = Rotations(2)
_QUARTER = PortableArray(
    np.array([[0.0, -1.0], [1.0, 0.0]])
)  # the unit tangent at x is x times this
