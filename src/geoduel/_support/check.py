"""Checks of arguments; errors name the argument, its value, what was expected."""

from __future__ import annotations

import inspect
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError

__all__ = [
    "as_generator",
    "as_path",
    "function",
    "instance",
    "is_async",
    "is_bool",
    "nonnegative",
    "one_of",
    "plain_word",
    "positive",
    "positive_int",
    "positive_shape",
    "real",
    "several",
    "takes",
    "text",
    "truth",
]


def real(value: object, name: str) -> float:
    """Return ``value`` as a finite float, or raise an error that names it."""
    try:
        if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    except OverflowError:  # a whole number beyond all floats
        raise ArgumentError(
            f"{name} must be a finite number, at most {sys.float_info.max:.2g} in size, got more"
        ) from None
    raise ArgumentError(f"{name} must be a finite number, got {value!r}")


def positive(value: object, name: str) -> float:
    """Return ``value`` as a finite float > 0, or raise an error that names it."""
    if (number := real(value, name)) <= 0:
        raise ArgumentError(f"{name} must be > 0, got {value!r}")
    return number


def nonnegative(value: object, name: str) -> float:
    """Return ``value`` as a finite float >= 0, or raise an error that names it."""
    if (number := real(value, name)) < 0:
        raise ArgumentError(f"{name} must be >= 0, got {value!r}")
    return number


def one_of(value: str, name: str, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of the words, or raise an error that lists them."""
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(map(repr, choices))
        near = _spelt_otherwise(value, choices) if isinstance(value, str) else None
        hint = "" if near is None else f"; perhaps {near!r} is meant"
        raise ArgumentError(f"{name} must be one of {words}, got {value!r}{hint}")
    return value


def _spelt_otherwise(word: str, choices: tuple[str, ...]) -> str | None:
    """The choice that somebody means who writes "Duel_Newton" or "duel-newtn"; None for others."""
    from difflib import get_close_matches  # for errors alone

    def plain(text: str) -> str:
        return "".join(filter(str.isalnum, text.lower()))

    same = {plain(choice): choice for choice in choices}
    near = get_close_matches(plain(word), same, n=1, cutoff=0.82)
    return same[near[0]] if near else None


def is_bool(value: object) -> bool:
    """Whether a value is a truth value, or an array of them."""
    return isinstance(value, bool) or str(getattr(value, "dtype", "")).endswith("bool")


def truth(value: object, name: str, word: str | None = None) -> Any:
    """Return ``value`` if it is True or False, or the word, or raise an error that names it.

    Whatever Python takes for true, such as "no", is refused.
    """
    if word is not None and isinstance(value, str) and value == word:
        return word
    if not isinstance(value, bool | np.bool_):
        choices = "True or False" if word is None else f'True, False or "{word}"'
        raise ArgumentError(f"{name} must be {choices}, got {value!r:.80}")
    return bool(value)


def positive_int(value: object, name: str, least: int = 1) -> int:
    """Return ``value`` as an int, or raise an error that names it."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < least:
        raise ArgumentError(f"{name} must be an integer >= {least}, got {value!r}")
    return number


def function(value: object, name: str, of: str, count: int = 1, *, may_wait: bool = False) -> None:
    """Raise an error that names ``value`` unless it can be called with what ``of`` says.

    One that only makes something to be awaited, or a generator, does nothing when it is called, and
    what it returns counts as true. It is refused unless ``may_wait``.
    """
    if not callable(value):
        raise ArgumentError(f"{name} must be a function of {of}, got {value!r:.80}")
    if not takes(value, count):
        raise ArgumentError(
            f"{name} must be a function of {of}; {value!r:.80} takes other arguments"
        )
    if not may_wait and is_async(value):
        raise ArgumentError(f"{name} must answer at once; {value!r:.80} has to be awaited")
    if inspect.isgeneratorfunction(value) or inspect.isasyncgenfunction(value):
        raise ArgumentError(
            f"{name} must return its answer; {value!r:.80} has a yield, and returns a generator"
        )


def is_async(f: Callable[..., Any]) -> bool:
    """Whether a call returns at once, with what has to be awaited."""
    return inspect.iscoroutinefunction(f) or inspect.iscoroutinefunction(type(f).__call__)


def takes(f: Callable[..., Any], count: int) -> bool:
    """Whether a function takes so many arguments, as far as that can be seen."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # of builtin code, which does not tell
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def text(value: object, name: str) -> str:
    """Return ``value`` if it is a text, or raise an error that names it."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name} must be a text, got {value!r:.80}")
    return value


def plain_word(said: str) -> str:
    """A word without what does not matter: capitals, spaces, quotes, a full stop."""
    return said.strip(" \t\r\n\"'`*.").lower()


def as_path(value: object, name: str) -> Path:
    """Return ``value`` as a path, or raise an error that names it."""
    if not isinstance(value, str | os.PathLike):
        raise ArgumentError(f"{name} must be a path such as 'run.log', got {value!r:.80}")
    return Path(value)


def several(value: object, name: str, of: str) -> tuple[Any, ...]:
    """Return the items of a list or its like, or raise an error that names it; a text is none."""
    try:
        if not isinstance(value, str) and isinstance(value, Iterable):
            return tuple(value)
    except TypeError:  # an array of no axis
        pass
    raise ArgumentError(f"{name} must be a list of {of}, got {value!r:.80}")


def instance(value: object, name: str, kind: type | tuple[type, ...], words: str) -> None:
    """Raise an error that names ``value`` unless it is of the type that the words describe."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{name} must be {words}, got {value!r:.80}")


def positive_shape(shape: tuple[object, ...], owner: str) -> tuple[int, ...]:
    """Return the shape as ints; at least one axis, each at least 1."""
    if not shape:
        raise ArgumentError(f"{owner} needs the shape of a point, e.g. {owner}(3); got no argument")
    return tuple(positive_int(n, f"{owner} shape[{i}]") for i, n in enumerate(shape))


def as_generator(rng: object, name: str = "rng") -> np.random.Generator:
    """Return the generator, or a new one from a seed; None seeds from the operating system."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None or (isinstance(rng, int | np.integer) and rng >= 0 and not is_bool(rng)):
        return np.random.default_rng(rng)
    raise ArgumentError(
        f"{name} must be an int >= 0, a numpy.random.Generator or None, got {rng!r}"
    )
