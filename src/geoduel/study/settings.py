"""The manifold and the method of a study: described in its settings, or given by the caller."""

from __future__ import annotations

import json
from typing import Any

from .._version import __version__
from ..errors import ArgumentError, ReplayError
from ..methods import Method
from ..methods.base import check_method
from ..methods.people.questions import QuestionMethod
from .codec import NotStorableError, decode_settings, encode_settings

__all__ = ["FORMAT", "check_version", "describe", "method_version", "part", "read_settings"]

FORMAT = 1  # of settings, events and exports
FOREIGN = "foreign"  # in the place of a type: of the user's own, or with a function in it


def read_settings(text: str, study: str) -> dict[str, Any]:
    """Settings of a study from their JSON; ReplayError if a later version wrote them."""
    settings = json.loads(text)
    if settings["format"] > FORMAT:
        raise ReplayError(
            f"study {study!r} has format {settings['format']}, made by geoduel "
            f"{settings['geoduel']}; version {__version__} reads formats up to {FORMAT}"
        )
    return settings


def describe(thing: Any) -> Any:
    """Settings of a manifold or a method; of the user's own, only what it is."""
    try:
        return encode_settings(thing)
    except NotStorableError:
        return {"type": FOREIGN, "class": _class_name(thing), "repr": repr(thing)}


def part(settings: dict[str, Any], key: str, given: Any, study: str) -> Any:
    """The manifold or method of a study: as described, or as the caller gave it."""
    described = settings[key]
    foreign = isinstance(described, dict) and described["type"] == FOREIGN
    if given is not None and not foreign:  # in terms of this version, which may have fewer settings
        described = describe(decode_settings(described))
    if given is None:
        if not foreign:
            return decode_settings(described)
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


def method_version(method: Method) -> int:
    """The version that a method names; it is raised when the same answers lead elsewhere."""
    return method.version


def check_version(settings: dict[str, Any], method: Any, study: str) -> str | None:
    """Refuse a study of another version of its method, unless this one can learn from its answers.

    Methods whose questions stand alone learn from any answered pair. They open the studies of their
    earlier versions; what is to be said of such a study is returned.
    """
    made, now = settings["method_version"], method_version(method)
    if made == now:
        return None
    if isinstance(method, QuestionMethod) and made < now:
        return (
            f"made with version {made} of method {settings['method_name']!r}, and read by version "
            f"{now}, which learns from the same answers anew: its results may differ"
        )
    raise ReplayError(
        f"study {study!r} was made with version {made} of method {settings['method_name']!r} "
        f"(geoduel {settings['geoduel']}); this is version {now} (geoduel {__version__}), "
        "which would ask something else: install that version of geoduel to go on with it"
    )


def _class_name(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _is_of(thing: Any, described: str) -> bool:
    """Whether a thing is of the class described; the package's own may have moved since."""
    now, package = _class_name(thing), __name__.split(".")[0] + "."
    if now.startswith(package) and described.startswith(package):
        return now.rpartition(".")[2] == described.rpartition(".")[2]
    return now == described
