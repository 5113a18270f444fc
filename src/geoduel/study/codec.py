"""Settings and states as JSON: nothing is pickled, and nothing is run when a file is read.

Two kinds of things are written. *Settings* are objects of the package, each described by its name
and the arguments of its constructor. People can read them, and later versions can too:

    {"type": "Sphere", "shape": [3]}

*States* are what a method carries from question to question: nested tuples of arrays and numbers,
kept to the last bit, and read only by the version that wrote them.
"""

from __future__ import annotations

import base64
import inspect
import json
import math
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import ArgumentError, GeoduelError

__all__ = [
    "NotStorableError",
    "check_depth",
    "check_json",
    "decode_settings",
    "decode_state",
    "encode_settings",
    "encode_state",
    "is_text",
]

MOST_DEPTH = 64  # of nested lists and dictionaries
MOST_TEXT = 2**20  # characters of a user attribute
MOST_INT = 10**300
PACKAGE = __name__.split(".")[0]


class NotStorableError(GeoduelError, TypeError):
    """A setting that JSON cannot hold: a function, a class of the user's own."""


# -- settings --------------------------------------------------------------------------------------


@cache
def _types() -> dict[str, type]:
    """The package's classes that may stand in settings, by name."""
    from .. import domains, methods, schedules
    from .. import manifolds as geometries

    found: dict[str, type] = {kind.__name__: kind for kind in methods.METHODS.values()}
    found["Mixed"] = methods.Mixed
    for module in (geometries, domains, schedules):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and is_dataclass(thing):
                found[name] = thing
    return found


def encode_settings(thing: Any) -> Any:
    """JSON value that describes an object of the package, or what it was given.

    Raises
    ------
    NotStorableError
        If it holds something that is neither a plain value, a real array, nor of the package.

    Examples
    --------
    >>> import geoduel as gd
    >>> encode_settings(gd.Product(gd.Sphere(3), gd.SPD(2), weights=[1, 0.5]))["weights"]
    [1.0, 0.5]
    >>> encode_settings(gd.Sphere(3))
    {'type': 'Sphere', 'shape': [3]}
    """
    if thing is None or isinstance(thing, bool | int | str):
        return thing
    if isinstance(thing, float | np.floating):
        thing = float(thing)
        return thing if math.isfinite(thing) else {"type": "float", "value": repr(thing)}
    if isinstance(thing, np.integer):
        return int(thing)
    if isinstance(thing, list | tuple) and not hasattr(thing, "_fields"):
        return [encode_settings(item) for item in thing]
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "fiub":
        entries = thing.tolist() if np.isfinite(thing).all() else thing.astype(str).tolist()
        return {"type": "array", "dtype": thing.dtype.name, "entries": entries}
    name = type(thing).__name__
    if _types().get(name) is type(thing):
        given = {key: getattr(thing, key) for key in inspect.signature(type(thing)).parameters}
        return {"type": name} | {key: encode_settings(value) for key, value in given.items()}
    raise NotStorableError(f"{thing!r:.80} of type {type(thing).__qualname__} cannot be stored")


def decode_settings(value: Any, lenient: bool = False) -> Any:
    """Inverse of `encode_settings`.

    Where it is ``lenient``, settings that the class itself no longer has are left out.

    Raises
    ------
    ArgumentError
        If the description is of something this version does not have.

    Examples
    --------
    >>> decode_settings({"type": "Sphere", "shape": [3]})
    Sphere(3)
    """
    if isinstance(value, list):
        return tuple(decode_settings(item) for item in value)
    if not isinstance(value, dict):
        return value
    given = dict(value)
    name = given.pop("type", None)
    if name == "float":
        return float(given["value"])
    if name == "array":
        dtype = np.dtype(given["dtype"])
        if dtype.kind not in "fiub":
            raise ArgumentError(f"an array of settings has dtype {given['dtype']!r:.40}")
        return np.array(given["entries"], dtype=dtype)
    if name not in _types():
        raise ArgumentError(f"this version of geoduel has nothing called {name!r}")
    kind = _types()[name]
    parameters = inspect.signature(kind).parameters
    # A setting that was left out then, and that the class no longer has, changes nothing.
    left_out = {k for k, item in given.items() if k not in parameters and (lenient or item is None)}
    given = {k: item for k, item in given.items() if k not in left_out}
    positional: tuple[Any, ...] = ()
    for key, parameter in parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            if key not in given:
                raise ArgumentError(f"{name} of this version takes {key}, which is not there")
            positional = decode_settings(given.pop(key))
    try:
        return kind(*positional, **{key: decode_settings(item) for key, item in given.items()})
    except TypeError as error:
        raise ArgumentError(f"{name} of this version does not take {given}: {error}") from error


# -- states ----------------------------------------------------------------------------------------


def encode_state(state: Any) -> Any:
    """JSON value that holds a state to the last bit.

    Raises
    ------
    NotStorableError
        If it holds something else than arrays, plain values, and tuples or dataclasses that are
        defined in the package.
    """
    if state is None or isinstance(state, bool | str) or type(state) is int:
        return state
    if type(state) is float:
        return state if math.isfinite(state) else {"float": repr(state)}
    if isinstance(state, np.ndarray | np.generic):
        if state.dtype.hasobject:
            raise NotStorableError(f"an array of objects cannot be stored: {state!r:.80}")
        raw = base64.b64encode(state.tobytes()).decode("ascii")
        if isinstance(state, np.generic):
            return {"number": raw, "dtype": state.dtype.str}
        layout = {"shape": list(state.shape), "strides": list(state.strides)}
        return {"array": raw, "dtype": state.dtype.str, **layout}
    if type(state) in (tuple, list):
        return {type(state).__name__: [encode_state(item) for item in state]}
    if type(state) is dict:
        return {"dict": [[encode_state(k), encode_state(v)] for k, v in state.items()]}
    kind = type(state)
    if kind.__module__.split(".")[0] == PACKAGE:
        where = f"{kind.__module__}:{kind.__qualname__}"
        if hasattr(state, "_fields"):
            return {"of": where, "items": [encode_state(item) for item in state]}
        if is_dataclass(state) and all(f.init for f in fields(state)):
            items = [getattr(state, f.name) for f in fields(state)]
            return {"of": where, "items": [encode_state(item) for item in items]}
    raise NotStorableError(f"a state holds {state!r:.80} of type {kind.__qualname__}")


def decode_state(value: Any) -> Any:
    """Inverse of `encode_state`. Makes arrays, plain values and the package's tuples only.

    Examples
    --------
    >>> import numpy as np
    >>> state = (np.float32(0.1), [np.array([1.0, -0.0])], {"k": float("inf")})
    >>> decode_state(encode_state(state))
    (np.float32(0.1), [array([ 1., -0.])], {'k': inf})
    """
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "number" in value:
        return np.frombuffer(base64.b64decode(value["number"]), np.dtype(value["dtype"]))[0]
    if "array" in value:
        return _array(**value)
    if "tuple" in value:
        return tuple(decode_state(item) for item in value["tuple"])
    if "list" in value:
        return [decode_state(item) for item in value["list"]]
    if "dict" in value:
        return {decode_state(k): decode_state(v) for k, v in value["dict"]}
    module, _, name = value["of"].partition(":")
    kind = getattr(import_module(module), name) if module.split(".")[0] == PACKAGE else None
    if not (inspect.isclass(kind) and (hasattr(kind, "_fields") or is_dataclass(kind))):
        raise NotStorableError(f"{value['of']} is no state of the package")
    return kind(*(decode_state(item) for item in value["items"]))


def _array(array: str, dtype: str, shape: list[int], strides: list[int]) -> np.ndarray:
    """An array with the layout in memory that it had: products round differently in another one."""
    entries = np.frombuffer(base64.b64decode(array), np.dtype(dtype)).reshape(shape)
    spans = [step * (n - 1) for step, n in zip(strides, shape, strict=True)] if entries.size else []
    room = np.zeros(sum(map(abs, spans)) + entries.itemsize, np.uint8)
    start = -sum(span for span in spans if span < 0)
    result = np.ndarray(shape, entries.dtype, room, start, strides)
    result[...] = entries
    return result


# -- what users attach -----------------------------------------------------------------------------


def is_text(value: str) -> bool:
    """Whether UTF-8 can write a text, and databases can hold it: no half characters, no NUL."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def check_depth(value: Any, most: int = MOST_DEPTH) -> None:
    """ValueError if lists and dictionaries are nested deeper than that, or hold themselves."""
    if isinstance(value, list | tuple | dict):
        if most == 0:
            raise ValueError(f"it is nested more than {MOST_DEPTH} deep")
        for item in value.values() if isinstance(value, dict) else value:
            check_depth(item, most - 1)


def check_json(value: Any, name: str) -> Any:
    """Return ``value`` if JSON can hold it and it is not too large; an error names it otherwise."""
    try:
        check_depth(value)
    except ValueError as error:
        raise ArgumentError(f"{name} cannot be stored: {error}") from None
    found = _plain(value, name)
    size = len(json.dumps(found))
    if size > MOST_TEXT:
        raise ArgumentError(f"{name} has {size:,} characters as JSON, beyond {MOST_TEXT:,}")
    return found


def _plain(value: Any, name: str) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int) and abs(value) < MOST_INT:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, f"{name}[{key!r:.40}]") for key, item in value.items()}
    shown = "an integer of more than 300 digits" if isinstance(value, int) else f"{value!r:.80}"
    raise ArgumentError(
        f"{name} must be what JSON can hold (texts, finite numbers, true, false, null, lists, "
        f"dictionaries with texts as keys), got {shown}"
    )
