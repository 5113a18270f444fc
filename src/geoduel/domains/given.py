"""The set that is meant: by bounds, by a test, by sets of some factors, by named parameters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ..errors import ArgumentError, EmptySetError
from ..manifolds._border import look_over
from ..manifolds.base import Manifold
from ..manifolds.discrete import Categories, Integers
from ..manifolds.euclidean import Euclidean
from ..manifolds.line import Line
from ..manifolds.product import Product
from .base import Domain
from .bounds import Interval
from .factors import Space
from .flat import Box
from .intersection import Intersection
from .predicate import Where

__all__ = ["as_domain", "as_place", "space"]


def space(parameters: Mapping[str, Any] | None = None, /, **parts: Any) -> Space:
    """Named parameters to search: points are dictionaries, for functions, judges and in results.

    Give it to `geoduel.minimize` or `geoduel.create_study` where a manifold is expected.

    Parameters
    ----------
    parameters : dict, optional
        Parameters by their names, for names that are no words of Python, such as "learning rate".
    **parts
        Each by its name. A pair of bounds is an `Interval`. A `Manifold` is all of it, a `Domain`
        the part that it is, such as ``Interval(20, 20e3, log=True, unit="Hz")``. A pair of a
        manifold and a domain takes all domains that `geoduel.minimize` takes. A list of texts, or
        of True and False, is a `Categories`, and ``range(1, 13)`` is an `Integers`.

    Returns
    -------
    Space
        ``space.manifold`` is a `Product` with these names, each part with the metric of its own.

    Raises
    ------
    ArgumentError
        If a part is none of these; the message names it.

    Examples
    --------
    >>> import geoduel as gd
    >>> sound = gd.space(gain=(-12, 12), delay=gd.Interval(1, 1000, log=True, unit="ms"))
    >>> oracle = gd.from_objective(lambda p: abs(p["gain"] - 3) + abs(p["delay"] - 20))
    >>> result = gd.minimize(oracle, sound, {"gain": 0, "delay": 100}, x_tol=1e-4, rng=0)
    >>> {name: round(value, 1) for name, value in result.x.items()}
    {'gain': 3.0, 'delay': 20.0}

    Categories and whole numbers stand beside them:

    >>> rate = gd.Interval(1e-4, 1, log=True)
    >>> net = gd.space(act=["relu", "tanh"], layers=range(1, 9), rate=rate)
    >>> net.manifold.unpack(net.manifold.origin())
    {'act': 'relu', 'layers': 4, 'rate': 0.01}
    """
    if not isinstance(parameters, Mapping | None):
        raise ArgumentError(
            "space needs parameters with names, e.g. space(gain=(-12, 12)); got "
            f"{parameters!r:.80} without one"
        )
    if twice := [name for name in parameters or {} if name in parts]:
        raise ArgumentError(
            f"space has the parameter {twice[0]!r} twice: in its dictionary and by name"
        )
    parts = {**(parameters or {}), **parts}
    if not parts:
        raise ArgumentError("space needs parameters, e.g. space(gain=(-12, 12)); got none")
    pairs = [_part(part, name) for name, part in parts.items()]
    product = Product(*(m for m, _ in pairs), names=tuple(parts))
    return Space(product, tuple(d for _, d in pairs))


def _part(part: Any, name: str) -> tuple[Manifold, Domain | None]:
    """The manifold of a parameter, and the set in it."""
    if isinstance(part, Manifold):
        return part, None
    if isinstance(part, Domain):
        return part.manifold, part
    if isinstance(part, range) or _is_list_of_values(part):
        try:
            return _discrete(part), None
        except ArgumentError as error:
            raise type(error)(f"{name}: {error}") from None
    first: Any = None
    second: Any = None
    with suppress(TypeError, ValueError):
        first, second = part
    if isinstance(first, Manifold) and second is not None:
        return first, as_domain(second, first, name)
    if any(map(_is_number, (first, second))):
        if not all(map(_is_number, (first, second))):
            raise ArgumentError(
                f"{name} needs two bounds, which also say how large a change is; got {part!r:.80}. "
                "A number without bounds is Euclidean(1)"
            )
        if first == second:
            raise ArgumentError(
                f"{name} has two bounds that are alike, {part!r:.80}: leave it out, as it has one "
                "value"
            )
        try:
            domain = Interval(*part)
        except ArgumentError as error:
            raise type(error)(f"{name}: {error}") from None
        return domain.manifold, domain
    hint = ""
    if isinstance(part, list | tuple) and len(part) > 2 and all(map(_is_number, part)):
        hint = f"; to choose among numbers, Categories{tuple(part)!r:.80}"
    raise ArgumentError(
        f"{name} must be a pair of bounds, a Manifold, a Domain, a pair of a manifold and a "
        f"domain in it, a list of texts, or a range of whole numbers; got {part!r:.80}{hint}"
    )


def _discrete(part: Any) -> Manifold:
    """Whole numbers, or values without an order."""
    if not isinstance(part, range):
        return Categories(*part)
    if part.step != 1 or part.stop - part.start < 2:  # of a long one len is an error
        raise ArgumentError(f"a range must have two numbers at least and no gaps, got {part}")
    return Integers(part.start, part.stop - 1)


def _is_list_of_values(part: Any) -> bool:
    return isinstance(part, list | tuple) and all(isinstance(v, str | bool) for v in part)


def as_place(place: Any, domain: Any = None, inside: Any = None) -> tuple[Manifold, Domain | None]:
    """The manifold and the feasible set of a run, from what callers give for both.

    Parameters
    ----------
    place : Manifold or Domain
        Where the points live; a domain stands for its manifold, and holds beside ``domain``.
    domain : object
        As in `as_domain`.
    inside : array_like, optional
        A point of the set, where it is known by a test alone.

    Raises
    ------
    ArgumentError
        If either is something else.

    Examples
    --------
    >>> as_place(Interval(0, 1))
    (Line(0.0, 1.0), Interval(0.0, 1.0))
    """
    if isinstance(place, Manifold):
        if not type(place).__module__.startswith("geoduel."):
            look_over(place)
        return place, as_domain(domain, place, inside=inside)
    if not isinstance(place, Domain):
        raise ArgumentError(
            f"manifold must be a Manifold such as Sphere(3), or a space(...), got {place!r:.80}"
        )
    more = as_domain(domain, place.manifold, inside=inside)
    if isinstance(place, Space) and not any(place.domains):
        return place.manifold, more
    return place.manifold, place if more is None else _both(place, more)


def as_domain(
    domain: Any, manifold: Manifold, name: str = "domain", inside: Any = None
) -> Domain | None:
    """The feasible set that is meant.

    Parameters
    ----------
    domain : object
        A `Domain`, or None for all of the manifold. Pairs of bounds, with None for no bound, or
        SciPy's ``Bounds``, are a `Box` in Euclidean space; one pair is an `Interval` of a `Line`. A
        dictionary gives sets of factors of a product, by their names or numbers. A function is the
        test of a `Where`.
    manifold : Manifold
        Where it lies.
    name : str
        What to call it in an error.
    inside : array_like, optional
        A point of the set, where it is known by a test alone.

    Raises
    ------
    ArgumentError
        If it is none of these, or does not fit the manifold.

    Examples
    --------
    >>> box = as_domain([(0, 1), (-1, None)], Euclidean(2))
    >>> box.lower, box.upper
    (array([ 0., -1.]), array([ 1., inf]))
    >>> as_domain({1: [(0, 1)]}, Product(Euclidean(2), Euclidean(1))).domains
    (None, Box(Euclidean(1)))
    """
    if isinstance(domain, Domain | None):
        return domain
    if isinstance(domain, Mapping):
        return _of_factors(domain, manifold, name)
    if callable(domain):
        return Where(manifold, domain, inside)
    if hasattr(domain, "lb") and hasattr(domain, "ub"):
        domain = _of_scipy(domain, manifold)
    if isinstance(manifold, Line) and len(pair := _bounds(domain, name, pairs=False)) == 2:
        low, high = max(pair[0], manifold.lower), min(pair[1], manifold.upper)
        try:
            return Interval(low, high, manifold=manifold)
        except EmptySetError:
            raise EmptySetError(
                f"{name} is {tuple(pair.tolist())}, which has no number in common with the "
                f"interval from {manifold.lower} to {manifold.upper}"
            ) from None
    low, high = np.moveaxis(_bounds(domain, name), -1, 0)
    if not isinstance(manifold, Euclidean) or manifold.point_shape != low.shape:
        raise ArgumentError(
            f"{name} is {low.size} pairs of bounds, which are a box in {Euclidean(*low.shape)}; "
            f"the manifold is {manifold}"
        )
    return Box(low, high)


def _of_scipy(bounds: Any, manifold: Manifold) -> np.ndarray:
    """Pairs of SciPy's bounds, of which one number holds for all entries; one pair of a line."""
    pairs = np.stack(np.broadcast_arrays(bounds.lb, bounds.ub), axis=-1)
    if pairs.size == 2 and isinstance(manifold, Euclidean):
        return np.broadcast_to(pairs.ravel(), (*manifold.point_shape, 2))
    return pairs.ravel() if isinstance(manifold, Line) else pairs


_is_none = np.frompyfunc(lambda end: end is None, 1, 1)


def _bounds(given: Any, name: str, pairs: bool = True) -> np.ndarray:
    """Bounds as numbers, infinite for None."""
    ends = np.array([-np.inf, np.inf])
    try:
        entries = np.array(given, dtype=float)  # None becomes NaN
        missing = np.asarray(_is_none(np.array(given, dtype=object)), dtype=bool)
        if not entries.size or (entries.ndim > 1) != pairs or entries.shape[-1:] != (2,):
            raise ValueError
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{name} must be a Domain such as Ball(...), pairs of bounds (lower, upper) in "
            "Euclidean space, a function that says whether a point is feasible, or a dictionary "
            f"of these for the factors of a product; got {given!r:.80}"
        ) from None
    if bool(np.any(np.isnan(entries) & ~missing)):
        raise ArgumentError(f"{name} holds NaN, which is no bound; None is for no bound")
    return np.where(missing, ends, entries)


def _of_factors(given: Mapping[Any, Any], manifold: Manifold, name: str) -> Domain | None:
    """Sets of some factors of a product, by their names or numbers."""
    if not isinstance(manifold, Product):
        raise ArgumentError(
            f"{name} is a dictionary, which is for the factors of a product; the manifold is "
            f"{manifold}"
        )
    labels = [*(manifold.names or ()), *range(len(manifold.factors))]
    if strange := [key for key in given if key not in labels]:
        expected = ", ".join(map(repr, manifold.names or labels))
        raise ArgumentError(f"{name} has {strange[0]!r}, expected some of {expected}")
    domains: list[Domain | None] = [None] * len(manifold.factors)
    for key, value in given.items():
        at: Any = manifold.names.index(key) if manifold.names and isinstance(key, str) else key
        domains[at] = as_domain(value, manifold.factors[at], f"{name}[{key!r}]")
    return Space(manifold, domains) if any(domains) else None


def _both(one: Domain, other: Domain) -> Domain:
    """Points in both sets; of two that go factor by factor, again one that does."""
    if isinstance(one, Space) and isinstance(other, Space) and one.manifold == other.manifold:
        pairs = zip(one.domains, other.domains, strict=True)
        return Space(one.manifold, [_both(a, b) if a and b else a or b for a, b in pairs])
    if isinstance(one, Interval) and isinstance(other, Interval) and one.manifold == other.manifold:
        lower, upper = max(one.lower, other.lower), min(one.upper, other.upper)
        return Interval(lower, upper, manifold=one.manifold)
    return Intersection(one, other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
