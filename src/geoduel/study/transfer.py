"""Exports: a study as one file of JSON lines, which another storage can take in.

    {"geoduel": "study", "format": 2, "name": ..., "settings": ...}
    one event of the log a line, as in `geoduel.study.log`
    {"events": count, "digest": ...}

By the last line a reader sees that nothing is missing or altered.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._support.files import write_whole
from ..errors import ArgumentError, MalformedExportError, StorageError
from .intake import MOST_BYTES, MOST_EVENTS, parsed
from .journal import Journal
from .log import EMPTY, Row, chain, event_line
from .settings import FORMAT, read_settings
from .storage.base import Storage

__all__ = ["Export", "export_text", "read_export", "stored", "write_export"]


class Export(NamedTuple):
    """What a file holds of a study."""

    name: str
    settings: dict[str, Any]
    rows: list[Row]


def stored(study_name: str, storage: Storage) -> Export:
    """A study as it is stored; ReplayError if it was altered. Its method need not be at hand."""
    settings = read_settings(storage.settings(study_name), study_name)
    rows = storage.read(study_name, 0)
    Journal(study_name, storage, settings).follow(rows)
    return Export(study_name, settings, rows)


def export_text(name: str, settings: dict[str, Any], rows: Sequence[Row]) -> str:
    """A study as JSON lines."""
    head = {"geoduel": "study", "format": settings["format"], "name": name, "settings": settings}
    tail = {"events": len(rows), "digest": rows[-1].digest if rows else EMPTY}
    return "\n".join([event_line(head), *(row.line for row in rows), event_line(tail)]) + "\n"


def write_export(path: Path, text: str) -> None:
    """Write a file that is complete or not there at all; StorageError if it cannot be."""
    if path.suffix.lower() == ".csv":
        raise ArgumentError(
            f"path {str(path)!r} ends in .csv, but an export is JSON lines, as in 'study.jsonl'; "
            "study.to_dataframe().to_csv(path) writes a table"
        )
    try:
        write_whole(path, text)
    except OSError as error:
        raise StorageError(
            f"path {str(path)!r} cannot be written: {error.strerror or error}"
        ) from error


def read_export(path: Path) -> Export:
    """Read and check what `write_export` wrote.

    Raises
    ------
    ArgumentError
        If the file cannot be read.
    MalformedExportError
        If it is no export, not all of one, altered, or of a later format.
    """
    shown = f"path {str(path)!r}"
    try:
        if (size := path.stat().st_size) > MOST_BYTES:
            raise MalformedExportError(f"{shown} has {size:,} bytes, beyond {MOST_BYTES:,}")
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError as error:
        raise MalformedExportError(f"{shown} is no export of a study: {error}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, MalformedExportError):
            raise
        raise ArgumentError(f"{shown} cannot be read: {error}") from None
    try:
        head, tail = parsed(lines[0], "line 1"), parsed(lines[-1], "the last line")
        count, digest, settings = tail["events"], tail["digest"], head["settings"]
        name, of_format = head["name"], head["format"]
        is_export = head["geoduel"] == "study" and isinstance(settings, dict)
        is_export &= type(count) is type(of_format) is int and isinstance(name, str)
    except (LookupError, MalformedExportError):
        is_export, count, digest, settings, name, of_format = False, 0, "", {}, "", 0
    if not is_export or len(lines) != count + 2:
        raise MalformedExportError(
            f"{shown} is no export of a study, or not all of it: expected JSON lines, "
            'from {"geoduel":"study",...} to {"events":count,...}'
        )
    if of_format > FORMAT:
        raise MalformedExportError(
            f"{shown} has format {of_format}; this version of geoduel reads formats up to {FORMAT}"
        )
    if count > MOST_EVENTS:
        raise MalformedExportError(f"{shown} has {count:,} events, beyond {MOST_EVENTS:,}")
    rows, running = [], EMPTY
    for number, line in enumerate(lines[1:-1], 1):
        running = chain(running, line)
        rows.append(Row(number, line, running))
    if running != digest:
        raise MalformedExportError(f"{shown} was altered: its digest does not match its events")
    return Export(name, settings, rows)
