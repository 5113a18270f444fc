"""Which method for a person: from the dimension, and whether only items are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._numerics.arrays import Array, host
from ..._support.check import truth
from ...domains.base import Domain
from ...domains.catalogue import Catalogue
from ...domains.mixture import is_mixed
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..auto import Auto
from ..base import Method
from ..frame import to_numpy
from ..mixed import Mixed
from .bisection import Bisection
from .ideal_direction import IdealDirection
from .ideal_point import IdealPoint
from .questions import PersonMethod, QuestionMethod

__all__ = ["for_items", "for_people", "no_choice"]

IDEAL = 6  # most dimensions for IdealPoint
DIRECTION = 50  # and for IdealDirection
SWEEPS = 20  # of IdealPoint beyond, where there is a catalogue
TRIED, SAMPLED = 60, 300  # items tried as the middle of a catalogue, and those that tell how far
MOST = 0.9  # share of the items within the radius of the prior
EVERYWHERE = 0.8  # radius, in typical distances, of items that are all over a bounded manifold
VISIBLE = 4 / 90  # least probe of Auto, in typical distances: four degrees on a sphere


def for_people(manifold: Manifold | Domain, of_items: bool = False) -> Method:
    """The method for questions that a person answers.

    Parameters
    ----------
    manifold : Manifold or Domain
        Where the points live; of a domain, such as a `space`, its manifold.
    of_items : bool
        Whether questions are about items of a catalogue, as only methods made for people ask.

    Returns
    -------
    Method
        `Bisection` for one dimension, `IdealPoint` for 2 to 6, and beyond that for items,
        `IdealDirection` for 7 to 50. Otherwise `Auto`, with a ``min_radius`` that a person can
        tell: 4 degrees on a sphere. With categories or whole numbers it is `Mixed`, around such an
        `Auto`: an ideal knows no values.

    Examples
    --------
    >>> import geoduel as gd
    >>> type(for_people(gd.Rotations(2))).__name__
    'Bisection'
    """
    if isinstance(manifold, Domain):
        manifold = manifold.manifold
    if not isinstance(manifold, Manifold):
        raise ArgumentError(f"manifold must be a Manifold such as Sphere(3), got {manifold!r:.80}")
    truth(of_items, "of_items")
    if is_mixed(manifold):
        return Mixed(Auto(min_radius=VISIBLE * manifold.typical_dist))
    if manifold.dim == 1:
        return Bisection()
    if manifold.dim <= IDEAL or of_items:
        return IdealPoint()
    if manifold.dim <= DIRECTION:
        return IdealDirection()
    return Auto(min_radius=VISIBLE * manifold.typical_dist)


def no_choice(name: str) -> ArgumentError:
    """The error for a method that cannot choose among items."""
    return ArgumentError(
        f"among= goes with methods that can ask about any pair: 'bisection' in one dimension, "
        f"'ideal-point' in more; {name} asks about points that it makes itself"
    )


def for_items(
    manifold: Manifold, items: Catalogue, method: Method, x0: Any = None
) -> tuple[QuestionMethod, Array | None]:
    """The method for the items of a catalogue, and where it starts.

    The items tell where ideals may lie, unless the caller does. Nine in ten items are within the
    radius of the prior, about the one in their middle.

    Parameters
    ----------
    manifold : Manifold
        Where the items lie.
    items : Catalogue
        The items.
    method : Method
        The caller's, or that of `for_people`.
    x0 : array_like of shape point_shape, optional
        The caller's start.

    Raises
    ------
    ArgumentError
        If the method cannot choose among items, or has a domain; or x0 is no point.
    """
    if is_mixed(manifold):
        raise ArgumentError(f"among= takes no categories and integers, as {manifold} has them")
    if not isinstance(method, QuestionMethod):
        raise no_choice(type(method).__name__)
    if method.domain is not None:
        raise ArgumentError("among= and domain= are both given: leave out the items outside")
    chosen: Any = method
    if isinstance(chosen, IdealPoint) and chosen.sweeps is None and manifold.dim > IDEAL:
        chosen = replace(chosen, sweeps=SWEEPS)
    if not isinstance(chosen, PersonMethod) or chosen.prior_radius is not None:
        return chosen, x0
    some = items[_evenly(items.distinct, SAMPLED)]
    if x0 is None:
        tried = items[_evenly(items.distinct, TRIED)]
        apart = to_numpy(manifold.dist(tried[:, None], some[None]))
        centre = tried[int(np.argmin(apart.mean(axis=1)))]
    else:
        centre = np.asarray(host(manifold.pack(x0, "x0")))
        manifold.check_point(centre, "x0")
    radius = float(np.quantile(to_numpy(manifold.dist(some, centre[None])), MOST))
    if manifold.bounded and radius > EVERYWHERE * manifold.typical_dist:
        return chosen, centre if x0 is not None or not manifold.closed_form else None
    return replace(chosen, prior_radius=radius), centre


def _evenly(indices: np.ndarray, most: int) -> np.ndarray:
    """At most so many of the indices, evenly spaced."""
    return indices[np.linspace(0, len(indices) - 1, min(most, len(indices))).astype(int)]
