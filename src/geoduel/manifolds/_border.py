"""The border of a manifold: lists, whole numbers and seeds, where arrays and generators belong.

Inside, every method is written for floating-point arrays. `at_the_border` puts a check in front of
the methods that a class defines: arrays of doubles pass at once, and all else goes through
`Manifold.pack`. So do arrays of another shape than points have, for `pack` to name: of two such
arrays the formulas would give a number. A method that looks at its arguments anyway, or only hands
them on, is marked with `own_border`. Leading axes are looked at once something has failed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from .._numerics.arrays import Array, namespace
from .._support.check import as_generator, positive_int
from ..errors import ArgumentError, GeoduelError

__all__ = [
    "Seed",
    "as_array",
    "at_the_border",
    "look_over",
    "name_misfits",
    "one_kind",
    "own_border",
]

Seed: TypeAlias = Any
"""A `numpy.random.Generator`, a seed, or None, which seeds from the operating system."""

POINTS = (
    "inner",
    "norm",
    "dist",
    "exp",
    "geodesic",
    "exp_pair",
    "extent",
    "room",
    "log",
    "transport",
    "transport_along",
    "to_coords",
    "from_coords",
    "to_tangent",
    "riemannian_gradient",
    "to_manifold",
    "point_defect",
    "tangent_defect",
)
"""Methods of points, tangent vectors and coordinates alone."""
IDLE = (
    "inner",
    "geodesic",
    "to_coords",
    "from_coords",
    "to_tangent",
    "riemannian_gradient",
    "tangent_defect",
)
"""Those of them that may have no use for x, so that its leading axes would be taken for right."""
CHECKS = ("check_point", "check_tangent")
"""Methods that say what is wrong with points and tangent vectors, by a name."""
SEEDED = ("random_point", "unit_tangent", "random_geodesic")
"""Methods that take a generator first."""

_FLOAT64, _NDARRAY = np.dtype(np.float64), np.ndarray


def as_array(a: Any, name: str = "x") -> Array:
    """An array of floating-point numbers: as it is, or of whole numbers, or of numbers in lists.

    Raises
    ------
    ArgumentError
        If it holds anything but real numbers.

    Examples
    --------
    >>> as_array([1, 0]), as_array(np.array([1, 0]))
    (array([1., 0.]), array([1., 0.]))
    """
    if type(a) is _NDARRAY and a.dtype.kind == "f":
        return a
    if hasattr(a, "dtype") and not isinstance(a, np.ndarray | np.generic):
        with suppress(TypeError):  # of pandas, whose columns are read as lists are
            xp = namespace(a)
            if xp.isdtype(a.dtype, "real floating"):
                return a
            if xp.isdtype(a.dtype, "integral"):
                return xp.astype(a, xp.float64)
    try:
        array = np.asarray(a)
        if array.dtype.kind == "f":
            return array
        if array.dtype.kind in "iu":
            return array.astype(np.float64)
    except (TypeError, ValueError):  # lists of several lengths
        pass
    raise ArgumentError(
        f"{name} must be an array of real numbers, or lists of them, got {type(a).__name__}: "
        f"{a!r:.80}"
    )


def one_kind(arrays: Iterable[Any]) -> None:
    """Raise an error where arrays of NumPy and torch, say, are mixed."""
    owners = dict.fromkeys(type(a).__module__.split(".")[0] for a in arrays if hasattr(a, "dtype"))
    if len(owners) > 1:
        raise ArgumentError(
            f"arrays must be of one kind, got some of {' and some of '.join(owners)}"
        )


def name_misfits(manifold: Any, error: Exception | None, **given: Any) -> None:
    """Raise an error that says which array has a wrong shape, where that is why a method failed.

    Parameters
    ----------
    manifold : Manifold
        Whose method it was.
    error : Exception or None
        What it raised; those of the package say enough. None before it is called.
    **given : array
        Its arguments: points and vectors by their names, coordinates as c.
    """
    if isinstance(error, GeoduelError):
        return
    one_kind(given.values())
    leads = {}
    for name, a in given.items():
        if (shape := getattr(a, "shape", None)) is None:
            return
        wanted = (manifold.dim,) if name == "c" else manifold.point_shape
        cut = max(len(shape) - len(wanted), 0)
        if tuple(shape[cut:]) != tuple(wanted):
            words = ", ".join(map(str, wanted))
            raise ArgumentError(
                f"{name} has shape {tuple(shape)}, expected (..., {words}) for {manifold}"
            ) from error
        leads[name] = tuple(shape[:cut])
    try:
        np.broadcast_shapes(*leads.values())
    except ValueError:
        words = " and ".join(f"{lead} of {name}" for name, lead in leads.items())
        raise ArgumentError(f"the leading axes do not broadcast: {words}") from error


def look_over(manifold: Any) -> None:
    """Refuse a manifold of a caller's own with methods that give arrays of wrong shapes.

    `geoduel.testing.ManifoldContract` tests more, and this takes no longer than a duel or two.

    Raises
    ------
    ArgumentError
        It names what is wrong.
    """
    shape, dim = manifold.point_shape, manifold.dim
    if not isinstance(shape, tuple):
        raise ArgumentError(f"point_shape of {manifold} must be a tuple, as (3,), got {shape!r}")
    positive_int(dim, f"dim of {manifold}")
    x, y = manifold.random_point(0, (2,)), manifold.random_point(1, (2,))
    v = manifold.to_tangent(x, np.ones((2, *shape)))
    made = {"to_manifold": (x, shape), "to_tangent": (v, shape)}
    made["exp"] = manifold.exp(x, 0.01 * v), shape
    made["log"] = manifold.log(x, y), shape
    made["inner"] = manifold.inner(x, v, v), ()
    for name, (value, wanted) in made.items():
        if np.shape(value) != (2, *wanted):
            raise ArgumentError(
                f"{name} of {manifold} gave an array of shape {np.shape(value)} for two points, "
                f"expected {(2, *wanted)}: leading axes are independent problems; "
                "geoduel.testing.ManifoldContract tests the rest"
            )


def own_border(method: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method that sees itself to what is no array of doubles."""
    method.own_border = True  # type: ignore[attr-defined]
    return method


def at_the_border(cls: type) -> None:
    """Let the methods that a class defines itself take what people write instead of arrays."""
    for name, method in [*vars(cls).items()]:
        if not inspect.isfunction(method) or hasattr(method, "own_border"):
            continue
        if name in SEEDED:
            setattr(cls, name, functools.update_wrapper(_seeded(method), method))
        elif name in CHECKS:
            setattr(cls, name, functools.update_wrapper(_checking(method), method))
        elif name in POINTS and not method.__defaults__:
            names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
            method = _of_coordinates(method) if name == "from_coords" else method
            guard = _guard(names, name in IDLE)
            setattr(cls, name, functools.update_wrapper(guard(method), method))


@cache
def _guard(names: tuple[str, ...], idle: bool) -> Callable[..., Any]:
    """What puts the check before methods with these arguments, one of which may be `IDLE`.

    It is compiled, as the methods of dataclasses are: one that takes any arguments would keep the
    arrays that pass waiting for twice as long.
    """
    passes = " and ".join(f"type({a}) is ndarray and {a}.dtype is double" for a in names)
    points = [a for a in names if a != "c"]
    alike = " == ".join(f"{a}.shape" for a in points)  # single points mostly, without a slice
    fits = " and ".join(f"{a}.shape[-len(shape):] == shape" for a in points)
    packed = ", ".join(f"self.pack({a}, '{a}')" if a != "c" else "as_array(c, 'c')" for a in names)
    given, named = ", ".join(names), ", ".join(f"{a}={a}" for a in names)
    leads = "pass"
    if idle:
        differ = f"{names[0]}.ndim > len(shape) and not {' == '.join(f'{a}.shape' for a in names)}"
        leads = f"if {differ}: name_misfits(self, None, {named})"
    source = f"""
def guard(method):
    def guarded(self, {given}):
        try:
            if {passes}:
                shape = self.point_shape
                if {alike} == shape:
                    return method(self, {given})
                if {fits}:
                    {leads}
                    return method(self, {given})
            {given} = {packed}
            shape = self.point_shape
            {leads}
            return method(self, {given})
        except Exception as error:
            name_misfits(self, error, {named})
            raise
    return guarded
"""
    found: dict[str, Any] = {"ndarray": _NDARRAY, "double": _FLOAT64, "as_array": as_array}
    found["name_misfits"] = name_misfits
    exec(source, found)
    return found["guard"]


def _of_coordinates(method: Callable[..., Any]) -> Callable[..., Any]:
    """`from_coords`, which would not notice coordinates beyond the dimension."""

    def checked(self: Any, x: Any, c: Any) -> Any:
        if tuple(c.shape[-1:]) != (self.dim,):
            raise ArgumentError(
                f"c has shape {tuple(c.shape)}, expected (..., {self.dim}) for {self}"
            )
        return method(self, x, c)

    return functools.update_wrapper(checked, method)


def _checking(method: Callable[..., Any]) -> Callable[..., Any]:
    """A check of arrays; what it is given besides them, it calls by its name."""
    if method.__name__ == "check_point":

        def check_point(self: Any, x: Any, name: str = "x") -> None:
            method(self, self.pack(x, name), name)

        return check_point

    def check_tangent(self: Any, x: Any, v: Any, name: str = "v") -> None:
        method(self, self.pack(x, "x"), self.pack(v, name), name)

    return check_tangent


def _axes(batch: Any) -> tuple[int, ...]:
    """Leading axes."""
    if isinstance(batch, int | np.integer):
        batch = (batch,)
    if not isinstance(batch, tuple | list):
        raise ArgumentError(f"batch must be a tuple of integers such as (3,), got {batch!r}")
    return tuple(positive_int(n, "batch", least=0) for n in batch)


def _seeded(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose first argument may be a seed, or left out."""
    if method.__name__ == "random_point":

        def random_point(
            self: Any, rng: Any = None, batch: Any = (), *more: Any, **named: Any
        ) -> Array:
            like = named.get("like", more[0] if more else None)
            if like is not None and not hasattr(like, "dtype"):
                raise ArgumentError(f"like must be an array of the wanted kind, got {like!r:.80}")
            return method(self, as_generator(rng), _axes(batch), *more, **named)

        return random_point

    def guarded(self: Any, rng: Any, x: Any, *more: Any, **named: Any) -> Any:
        more = tuple(map(_axes, more))  # `batch` is all there can be
        named = {name: _axes(batch) for name, batch in named.items()}
        return method(self, as_generator(rng), self.pack(x, "x"), *more, **named)

    return guarded
