"""What is taken in from a file of someone else: everything is looked at before anything is stored.

Nothing in a file is run. Beyond that, each line must be what a study writes, the points must be on
the manifold, and the work that the settings ask for must be within limits. The replay then says
whether the answers belong to the questions of the method.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from ..errors import ArgumentError, GeoduelError, MalformedExportError
from ..manifolds.base import Manifold
from .codec import check_depth, is_text
from .log import KINDS, STRENGTHS, WORDS, Book, Row
from .ranking import LETTERS, MOST_CHOICES, canonical

__all__ = [
    "MOST_BYTES",
    "MOST_COUNT",
    "MOST_EVENTS",
    "MOST_NUMBERS",
    "check_events",
    "check_size",
    "check_sizes",
    "malformed",
    "parsed",
]

MOST_BYTES = 2**30  # of a file
MOST_EVENTS = 400_000  # 100,000 answers with their questions and results, and more
MOST_NUMBERS = 4096  # in a point, unless the caller gives the manifold
MOST_COUNT = 100_000  # any whole number in the settings of a manifold, a method or a domain
MOST_AT_ONCE = 10_000_000  # numbers in the questions that a method asks at once
CHUNK = 512  # points that are checked together
ROLES = ("question", "repeat", "vote", "enqueued")
HOLDER = re.compile(r"[0-9a-f]{8}:[0-9]{1,10}:[0-9]{1,20}")


def parsed(text: str, what: str) -> dict[str, Any]:
    """A line of JSON as a dictionary; MalformedExportError if it is none."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number of JSON")

    def finite(number: str) -> float:
        if math.isinf(value := float(number)):  # such as 1e999, which no export could hold again
            raise ValueError(f"{number:.40} is no number that a study writes")
        return value

    try:
        found = json.loads(text, parse_constant=refuse, parse_float=finite)
        check_depth(found)
    except (ValueError, RecursionError) as error:
        raise MalformedExportError(f"{what} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise MalformedExportError(f"{what} must be an object of JSON, got {text:.40}")
    return found


# -- sizes -----------------------------------------------------------------------------------------


def check_sizes(described: Any, what: str) -> None:
    """Refuse settings of a manifold or a method with numbers that nobody can compute with."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(described, dict):
        items = ((k, v) for k, v in described.items() if k != "total")
    elif isinstance(described, list):
        items = enumerate(described)
    for key, value in items:
        if isinstance(value, int) and abs(value) > MOST_COUNT:
            raise MalformedExportError(
                f"{what} has {key} = {value:.4g}, beyond the {MOST_COUNT:,} that are taken from a "
                f"file; give {what}= of your own"
            )
        check_sizes(value, what)


def check_size(manifold: Manifold, method: Any) -> None:
    """Refuse points too large for what is taken from a file."""
    numbers = math.prod(manifold.point_shape)
    if numbers > MOST_NUMBERS:
        raise MalformedExportError(
            f"points of {manifold!r} have {numbers:,} numbers, beyond the {MOST_NUMBERS:,} that "
            "are taken from a file; give manifold= if you mean it"
        )
    batch = getattr(method, "batch", 1)
    if isinstance(batch, int) and batch * numbers > MOST_AT_ONCE:
        raise MalformedExportError(
            f"method asks {batch:,} questions of {numbers:,} numbers at once, beyond the "
            f"{MOST_AT_ONCE:,} that are taken from a file; give method= if you mean it"
        )


# -- events ----------------------------------------------------------------------------------------


def check_events(rows: Iterable[Row], manifold: Manifold, dtype: np.dtype) -> None:
    """Check each event of a log.

    Raises
    ------
    MalformedExportError
        With the line of the file, if a study would not write such an event there.
    """
    book = Book()
    points = _Points(manifold, dtype)
    for row in rows:
        where = f"line {row.number + 1}"
        event = parsed(row.line, where)
        kind = event.get("kind")
        if kind not in KINDS:
            raise MalformedExportError(f"{where} is of an unknown kind {kind!r:.40}")
        for field, rule in {**ANY, **FIELDS[kind]}.items():
            what, holds = RULES[rule.rstrip("?")]
            value = event.get(field)
            if not (holds(value) or (value is None and rule.endswith("?"))):
                raise MalformedExportError(
                    f"{where}: {field} of this {kind} must be {what}, got {value!r:.80}"
                )
        for field in POINTS.get(kind, ()):
            points.add(event[field], f"{where}: {field}")
        for point in event.get("more") or () if kind == "question" else ():
            points.add(point, f"{where}: more")
        try:
            book.take([row])
        except Exception as error:
            raise MalformedExportError(
                f"{where}: this {kind} does not fit what is before it ({error})"
            ) from None
    points.check()


class _Points:
    """Points of a file, checked a chunk at a time."""

    def __init__(self, manifold: Manifold, dtype: np.dtype) -> None:
        self.manifold, self.dtype = manifold, dtype
        self.held: list[tuple[np.ndarray, str]] = []

    def add(self, entries: Any, where: str) -> None:
        try:
            point = np.array(entries)
        except ValueError:  # ragged
            point = np.array(None)
        if point.dtype.kind not in "iuf" or point.shape != self.manifold.point_shape:
            raise MalformedExportError(
                f"{where} must be numbers of shape {self.manifold.point_shape}, got {entries!r:.80}"
            )
        self.held.append((point.astype(self.dtype), where))
        if len(self.held) >= CHUNK:
            self.check()

    def check(self) -> None:
        held, self.held = self.held, []
        if not held:
            return
        try:
            self.manifold.check_point(np.array([point for point, _ in held]), "points")
        except Exception:
            for point, where in held:
                try:
                    self.manifold.check_point(point, "it")
                except Exception as error:
                    raise MalformedExportError(f"{where} is no point: {error}") from None
            raise


def _is_int(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**53


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _is_level(value: Any) -> bool:
    """A number as states hold it; infinite ones are written as texts."""
    if isinstance(value, dict):
        return set(value) == {"float"} and value["float"] in ("inf", "-inf", "nan")
    return _is_number(value)


def _is_answer(value: Any) -> bool:
    """A word, or a ranking; whether its letters fit the question is for the book to say."""
    if not isinstance(value, str) or value in WORDS:
        return isinstance(value, str)
    letters = sum(map(str.isalpha, value))
    with suppress(ArgumentError):
        return letters > 0 and canonical(value, letters) == value
    return False


Rule = tuple[str, Callable[[Any], bool]]
RULES: dict[str, Rule] = {
    "count": ("a whole number >= 0", _is_int),
    "version": ("a whole number >= 1", lambda v: _is_int(v, 1)),
    "time": ("seconds since 1970", lambda v: _is_number(v) and v >= 0),
    "name": ("a name", lambda v: isinstance(v, str) and bool(v.strip()) and is_text(v)),
    "text": ("a text", lambda v: isinstance(v, str)),
    "holder": (
        "host:process:thread",
        lambda v: isinstance(v, str) and HOLDER.fullmatch(v) is not None,
    ),
    "answer": (f"one of {', '.join(WORDS)}, or a ranking", _is_answer),
    "points": (
        f"at most {MOST_CHOICES - 2} points",
        lambda v: isinstance(v, list) and 1 <= len(v) <= MOST_CHOICES - 2,
    ),
    "order": (
        "the letters of all points",
        lambda v: isinstance(v, str) and sorted(v) == list(LETTERS[: len(v)]),
    ),
    "role": (f"one of {', '.join(ROLES)}", lambda v: isinstance(v, str) and v in ROLES),
    "side": ("a or b", lambda v: isinstance(v, str) and v in ("a", "b")),
    "place": (
        "a batch and a place in it",
        lambda v: isinstance(v, list) and len(v) == 2 and _is_int(v[0], 1) and _is_int(v[1]),
    ),
    "items": (
        "the indices of two items",
        lambda v: isinstance(v, list) and len(v) == 2 and all(map(_is_int, v)),
    ),
    "which": ("a, b or both", lambda v: isinstance(v, str) and v in ("a", "b", "both")),
    "strength": (
        f"one of {', '.join(STRENGTHS)}",
        lambda v: isinstance(v, str) and v in STRENGTHS,
    ),
    "digest": (
        "a digest",
        lambda v: isinstance(v, str) and re.fullmatch("[0-9a-f]{32}", v) is not None,
    ),
    "yes": ("true", lambda v: v is True),
    "level": ("a number", _is_level),
    "value": ("anything", lambda v: True),
    "point": ("numbers", lambda v: v is not None),
}
"""Rules of fields: words for messages, and the test. A question mark: it may be absent, or null."""

ANY = {"time": "time", "rater": "name?", "holder": "holder?", "token": "text?"}
FIELDS: dict[str, dict[str, str]] = {
    "question": {
        "duel": "count",
        "a": "point",
        "b": "point",
        "role": "role",
        "left": "side?",
        "at": "place?",
        "of": "count?",
        "items": "items?",
        "more": "points?",
        "order": "order?",
    },
    "lease": {"duel": "count", "renewed": "yes?"},
    "answer": {
        "duel": "count",
        "answer": "answer",
        "infeasible": "which?",
        "strength": "strength?",
    },
    "report": {"better": "point", "worse": "point"},
    "undo": {"number": "count"},
    "attribute": {"key": "text", "value": "value"},
    "settings": {"digest": "digest"},
    "result": {"point": "point", "uncertainty": "level?", "noise": "level?", "stopped": "text?"},
    "upgrade": {"version": "version"},
    "budget": {"value": "count"},
}
POINTS = {"question": ("a", "b"), "report": ("better", "worse"), "result": ("point",)}


def malformed(error: BaseException) -> MalformedExportError:
    """The error that says that a study cannot be made from a file."""
    words = str(error) if isinstance(error, GeoduelError) else f"{type(error).__name__}: {error}"
    return MalformedExportError(f"no study can be made from this file: {words}")
