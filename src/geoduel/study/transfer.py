"""Exports: a study as one file of JSON lines, which another storage can take in.

    {"geoduel": "study", "format": 2, "name": ..., "settings": ...}
    one event of the log a line, as in `geoduel.study.log`
    {"events": count, "digest": ...}

By the last line a reader sees that nothing is missing or altered.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._support.files import write_whole
from ..errors import ArgumentError, ReplayError, StorageError
from .log import EMPTY, Row, chain, event_line
from .settings import FORMAT

__all__ = ["Export", "export_text", "read_export", "write_export"]


class Export(NamedTuple):
    """What a file holds of a study."""

    name: str
    settings: dict[str, Any]
    rows: list[Row]


def export_text(name: str, settings: dict[str, Any], rows: Sequence[Row]) -> str:
    """A study as JSON lines."""
    head = {"geoduel": "study", "format": settings["format"], "name": name, "settings": settings}
    tail = {"events": len(rows), "digest": rows[-1].digest if rows else EMPTY}
    return "\n".join([event_line(head), *(row.line for row in rows), event_line(tail)]) + "\n"


def write_export(path: Path, text: str) -> None:
    """Write a file that is complete or not there at all; StorageError if it cannot be."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise StorageError(f"path {str(path)!r} cannot be written: {error}") from error


def read_export(path: Path) -> Export:
    """Read and check what `write_export` wrote.

    Raises
    ------
    ArgumentError
        If the file is no export, or not all of one.
    ReplayError
        If it was altered, or has a later format.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"path {str(path)!r} cannot be read: {error}") from None
    try:
        head, tail = json.loads(lines[0]), json.loads(lines[-1])
        count, digest = tail["events"], tail["digest"]
        is_export = head["geoduel"] == "study" and isinstance(head["settings"], dict)
    except (IndexError, KeyError, TypeError, ValueError):
        is_export, head, count, digest = False, {}, 0, ""
    if not is_export or len(lines) != count + 2:
        raise ArgumentError(
            f"path {str(path)!r} is no export of a study, or not all of it: expected JSON lines, "
            'from {"geoduel":"study",...} to {"events":count,...}'
        )
    if head["format"] > FORMAT:
        raise ReplayError(
            f"path {str(path)!r} has format {head['format']}; this version of geoduel reads "
            f"formats up to {FORMAT}"
        )
    rows, running = [], EMPTY
    for number, line in enumerate(lines[1:-1], 1):
        running = chain(running, line)
        rows.append(Row(number, line, running))
    if running != digest:
        raise ReplayError(f"path {str(path)!r} was altered: its digest does not match its events")
    return Export(str(head["name"]), head["settings"], rows)
