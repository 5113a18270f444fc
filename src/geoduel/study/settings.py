"""The manifold and the method of a study: described in its settings, or given by the caller."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from .._support.check import positive_int
from .._version import __version__
from ..domains.catalogue import Catalogue
from ..errors import ArgumentError, ReplayError
from ..manifolds.base import Manifold
from ..methods import Method
from ..methods.base import check_method
from ..methods.people.questions import QuestionMethod
from .codec import NotStorableError, check_depth, decode_settings, encode_settings
from .ranking import MOST_CHOICES

__all__ = [
    "FORMAT",
    "catalogue_of",
    "check_choices",
    "describe",
    "described_items",
    "method_version",
    "part",
    "read_settings",
    "version_note",
]

FORMAT = 2  # of settings, events and exports
FOREIGN = "foreign"  # in the place of a type: of the user's own, or with a function in it


def read_settings(text: str, study: str) -> dict[str, Any]:
    """Settings of a study from their JSON.

    Raises
    ------
    ReplayError
        If a later version wrote them, or they are no settings.
    """
    try:
        settings = json.loads(text)
        of_later = settings["format"] > FORMAT
        check_settings(settings if not of_later else {})
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ReplayError(
            f"the settings of study {study!r} are not what was written: {error}"
        ) from None
    if of_later:
        raise ReplayError(
            f"study {study!r} has format {settings['format']}, made by geoduel "
            f"{settings['geoduel']}; version {__version__} reads formats up to {FORMAT}"
        )
    return settings


def check_settings(settings: dict[str, Any]) -> None:
    """ValueError that names the first of the plain settings that a study would not write."""
    for key in KNOWN:
        if key in settings and not KNOWN[key](settings[key]):
            raise ValueError(f"{key} is {settings[key]!r:.80}")
    if settings and (missing := sorted(NEEDED - settings.keys())):
        raise ValueError(f"{missing[0]} is missing")
    check_depth(settings)


def _whole(least: int, optional: bool = False) -> Callable[[Any], bool]:
    return lambda v: (type(v) is int and v >= least) if v is not None or not optional else optional


def _number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _described(value: Any) -> bool:
    """A manifold or a method: of the package, or what can be said of another one."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    return value["type"] != FOREIGN or all(isinstance(value.get(k), str) for k in ("class", "repr"))


def _shape(value: Any) -> bool:
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[1], list)):
        return False
    return all(type(n) is int and n >= 0 for n in [value[0], *value[1]])


def _catalogued(value: Any) -> bool:
    """What is said of a catalogue: how many items, and their digest; None without one."""
    if value is None:
        return True
    fits = isinstance(value, dict) and value.keys() == {"items", "digest"}
    return fits and _whole(2)(value["items"]) and isinstance(value["digest"], str)


KNOWN: dict[str, Callable[[Any], bool]] = {
    "format": _whole(1),
    "geoduel": lambda v: isinstance(v, str),
    "numpy": lambda v: isinstance(v, str),
    "machine": lambda v: isinstance(v, str),
    "created": _number,
    "manifold": _described,
    "shape": _shape,
    "asked": lambda v: v is None or isinstance(v, str),
    "method": _described,
    "method_name": lambda v: isinstance(v, str),
    "method_version": _whole(0),
    "seed": _whole(0),
    "x0": lambda v: v is None or (isinstance(v, dict) and v.get("type") == "array"),
    "budget": _whole(1, optional=True),
    "iterations": _whole(1, optional=True),
    "lease": lambda v: _number(v) and v > 0,
    "repeats": lambda v: _number(v) and 0 <= v < 1,
    "repeats_after": _whole(0),
    "votes": _whole(1),
    "among": _catalogued,
    "choices": lambda v: type(v) is int and 3 <= v <= MOST_CHOICES,
}
"""What each plain setting must be."""

NEEDED = KNOWN.keys() - {"repeats_after", "among", "choices"}


def check_choices(choices: int, method: Any, items: Any = None) -> int:
    """How many points a question shows, from 2 on; more are for methods that take any answer."""
    if positive_int(choices, "choices", least=2) > MOST_CHOICES:
        raise ArgumentError(f"choices must be from 2 to {MOST_CHOICES}, got {choices}")
    if choices > 2 and not isinstance(method, QuestionMethod):
        raise ArgumentError(
            f"choices={choices} is for methods made for people; {type(method).__name__} asks pairs"
        )
    if choices > 2 and items is not None:
        raise ArgumentError(f"choices={choices}: questions about items of a catalogue show two")
    return choices


def describe(thing: Any) -> Any:
    """Settings of a manifold or a method; of the user's own, only what it is."""
    try:
        return encode_settings(thing)
    except NotStorableError:
        return {"type": FOREIGN, "class": _class_name(thing), "repr": repr(thing)}


def catalogue_of(
    settings: dict[str, Any], manifold: Manifold, given: Any, study: str
) -> Catalogue | None:
    """The catalogue of a study, as the caller gave it; None where it is not at hand.

    Raises
    ------
    ArgumentError
        If it is another one than the study was made with.
    """
    if given is None:
        return None
    found, made = Catalogue.of(manifold, given), settings.get("among")
    if made is None:
        raise ArgumentError(
            f"study {study!r} was made without a catalogue; study.ask(among=items) takes one"
        )
    if made != described_items(found):
        raise ArgumentError(
            f"among= of study {study!r} has {made['items']} items with digest {made['digest']}, "
            f"got {len(found)} items with digest {found.digest}"
        )
    return found


def described_items(items: Catalogue) -> dict[str, Any]:
    """What settings say of a catalogue, which they cannot hold."""
    return {"items": len(items), "digest": items.digest}


def part(settings: dict[str, Any], key: str, given: Any, study: str) -> Any:
    """The manifold or method of a study: as described, or as the caller gave it."""
    described = settings[key]
    foreign = isinstance(described, dict) and described["type"] == FOREIGN
    if given is not None and not foreign:  # in terms of this version, which may have fewer settings
        described = describe(decode_settings(described))
    if given is None:
        if not foreign:
            found = _decoded(described, settings["method_version"] if key == "method" else None)
            if key == "manifold" and [found.dim, list(found.point_shape)] != settings["shape"]:
                raise ReplayError(
                    f"the settings of study {study!r} are not what was written: {found!r:.200} has "
                    f"not the shape {settings['shape']}"
                )
            return found
        raise ArgumentError(
            f"study {study!r} uses a {key} of its own, {described['repr']}, which its settings "
            f"cannot hold: pass {key}= when loading it"
        )
    matches = _is_of(given, described["class"]) if foreign else describe(given) == described
    if matches and key == "manifold":
        matches = [given.dim, list(given.point_shape)] == settings["shape"]
    if not matches:
        wanted = described["repr"] if foreign else described
        raise ArgumentError(f"{key} of study {study!r} is {wanted}, got {given!r:.200}")
    return check_method(given) if key == "method" else given


def _decoded(described: Any, made: int | None) -> Any:
    """A manifold or a method; one of another version may have had settings that are gone."""
    try:
        return decode_settings(described)
    except ArgumentError:
        found = None if made is None else decode_settings(described, lenient=True)
        if found is None or method_version(found) == made:
            raise
        return found


def method_version(method: Method) -> int:
    """The version that a method names; it is raised when the same answers lead elsewhere."""
    return method.version


def version_note(settings: dict[str, Any], method: Any, made: int) -> str | None:
    """What is to be said of a study that another version of its method made; None of others."""
    now = method_version(method)
    if made == now:
        return None
    if made > now:
        what = "a later version of geoduel has to be installed to go on with it"
    elif isinstance(method, QuestionMethod):
        what = "study.upgrade() lets this version learn from its answers, and goes on with it"
    else:
        what = "create_study(..., x0=study.recommend()) goes on from its result with a new study"
    return (
        f"made with version {made} of method {settings['method_name']!r} (geoduel "
        f"{settings['geoduel']}), and this is version {now} (geoduel {__version__}): answers and "
        f"results are as they were, and nothing is asked; {what}"
    )


def _class_name(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _is_of(thing: Any, described: str) -> bool:
    """Whether a thing is of the class described; the package's own may have moved since."""
    now, package = _class_name(thing), __name__.split(".")[0] + "."
    if now.startswith(package) and described.startswith(package):
        return now.rpartition(".")[2] == described.rpartition(".")[2]
    return now == described
