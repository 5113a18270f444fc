"""The journal of a study: its log in a storage, and snapshots from which a long log loads fast."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from .._version import __version__
from ..errors import ReplayError, StorageError
from .codec import NotStorableError, decode_state, encode_state
from .log import Book, Event, Row, chain, event_line
from .players import Checkpoint
from .storage.base import Log, Storage

__all__ = ["Journal"]

LAYOUT = 2  # of snapshots: raised when classes of states move or change, so that old ones go unread


class Journal:
    """Reads and writes the log of one study, and keeps the book. Not for several threads at once.

    Parameters
    ----------
    name : str
        Name of the study in the storage.
    storage : Storage
        Where its log is.
    settings : dict
        Of the study: a snapshot is used for the very same ones only.
    version : int
        Of the method that reads it: a snapshot is used by the very same one only.
    """

    def __init__(self, name: str, storage: Storage, settings: dict[str, Any], version: int) -> None:
        self.name, self.storage, self.book = name, storage, Book()
        made_by = [settings, __version__, np.__version__, LAYOUT, version]
        text = json.dumps(made_by, sort_keys=True)
        self._fingerprint = blake2b(text.encode(), digest_size=16).hexdigest()

    def read(self) -> None:
        """Take what others have written.

        Raises
        ------
        ReplayError
            If the log is not what was written.
        """
        self._follow(self.storage.read(self.name, self._seen))

    def write(self, decide: Callable[[], list[Event]], durable: bool = True) -> list[Event]:
        """Append the events that ``decide`` returns, having seen all that others wrote.

        Raises
        ------
        ReplayError
            If the log is not what was written.
        StorageError
            If the storage fails; then nothing is written.
        """
        token = secrets.token_hex(4)
        written: list[Row] = []

        def act(log: Log) -> list[Event]:
            news = self._follow(log.read(self._seen))
            stored = [event for event in news if event.get("token") == token]
            if stored:  # the answer to the last try was lost, not what it wrote
                return stored
            events = [event | {"time": round(time.time(), 3), "token": token} for event in decide()]
            written[:] = _rows(events, self.book)
            log.append(written)
            return events

        events = self.storage.write(self.name, act, durable)
        self._take(written)
        return events

    @property
    def _seen(self) -> int:
        """The event before the last one known, which is read again to see that it is there."""
        return max(0, self.book.number - 1)

    def _follow(self, rows: Sequence[Row]) -> list[Event]:
        """Take the rows that follow the last event known, which is the first of them."""
        book = self.book
        if book.number and (not rows or rows[0].digest != book.digest):
            raise ReplayError(
                f"the log of study {self.name!r} has lost event {book.number}, which was "
                "written (was a backup restored?); load the study anew"
            )
        return self._take(rows)

    def _take(self, rows: Sequence[Row]) -> list[Event]:
        try:
            return self.book.take(rows)
        except (ValueError, LookupError, TypeError, StopIteration) as error:
            raise ReplayError(
                f"the log of study {self.name!r} is not what was written: {error}"
            ) from error

    # -- snapshots: a cache, on which nothing depends ----------------------------------------------

    def save_snapshot(self, at: Checkpoint) -> None:
        """Store where the player was, if it can be."""
        try:
            body = {
                "settings": self._fingerprint,
                "digest": self.book.digests[at.number - 1],
                "checkpoint": encode_state(tuple(at)),
            }
            self.storage.save_snapshot(self.name, at.number, json.dumps(body))
        except (NotStorableError, StorageError):
            pass

    def load_snapshot(self) -> Checkpoint | None:
        """The last snapshot, if it is of this log and was written by this version."""
        text = self.storage.load_snapshot(self.name)
        if text is None:
            return None
        try:
            body = json.loads(text)
            if body["settings"] != self._fingerprint:
                return None
            at = Checkpoint(*decode_state(body["checkpoint"]))
            same = body["digest"] == self.book.digests[at.number - 1]
            # Had an answer before it been taken back, the one at its end would have moved up.
            same &= self.book.given[at.given - 1].number == at.number
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, ImportError):
            return None
        return at if same else None


def _rows(events: Sequence[Event], book: Book) -> list[Row]:
    """Events as rows that follow the last one of the book."""
    rows, digest = [], book.digest
    for number, event in enumerate(events, book.number + 1):
        line = event_line(event)
        digest = chain(digest, line)
        rows.append(Row(number, line, digest))
    return rows
