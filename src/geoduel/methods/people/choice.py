"""Which method for a person: from the dimension, and how many answers there will be."""

from __future__ import annotations

from ..._support.check import positive_int
from ...manifolds.base import Manifold
from ..auto import Auto
from ..base import Method
from .bisection import Bisection
from .ideal_point import IdealPoint

__all__ = ["for_people"]

IDEAL = 6  # most dimensions for IdealPoint
VISIBLE = 4 / 90  # least probe of Auto, in typical distances: four degrees on a sphere


def for_people(manifold: Manifold, budget: int | None = None) -> Method:
    """The method for questions that a person answers.

    Parameters
    ----------
    manifold : Manifold
        Where the points live.
    budget : int, optional
        How many answers there will be, if known.

    Returns
    -------
    Method
        `Bisection` for one dimension, `IdealPoint` for 2 to 6. Beyond that `Auto`, with a
        ``min_radius`` that a person can tell: 4 degrees on a sphere.

    Examples
    --------
    >>> import geoduel as gd
    >>> type(for_people(gd.Rotations(2))).__name__
    'Bisection'
    """
    if budget is not None:
        positive_int(budget, "budget")
    if manifold.dim == 1:
        return Bisection()
    if manifold.dim <= IDEAL:
        return IdealPoint()
    return Auto(min_radius=VISIBLE * manifold.typical_dist)
