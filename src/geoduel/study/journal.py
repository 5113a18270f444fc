"""The journal of a study: its log in a storage, and snapshots from which a long log loads fast."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from .._version import __version__
from ..errors import ReplayError, StorageError
from .codec import NotStorableError, decode_state, encode_state
from .log import Book, Event, Row, chain, event_line, seal
from .players import Checkpoint
from .storage.base import Log, Storage

__all__ = ["Journal", "opening"]

LAYOUT = 5  # of snapshots: raised when classes of states move or change, so that old ones go unread


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
    """

    def __init__(self, name: str, storage: Storage, settings: dict[str, Any]) -> None:
        self.name, self.storage, self.book = name, storage, Book()
        self._seal = seal(settings)

    def read(self) -> None:
        """Take what others have written.

        Raises
        ------
        ReplayError
            If the log, or the settings, are not what was written.
        """
        self.follow(self.storage.read(self.name, self._seen))

    def follow(self, rows: Sequence[Row]) -> None:
        """Take rows that were read, from the last event known on."""
        self._follow(rows)
        if self.book.sealed not in (None, self._seal):
            raise ReplayError(
                f"the settings of study {self.name!r} are not what was written: their digest is "
                f"{self._seal}, and the log says {self.book.sealed}"
            )

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
                return [event for event in stored if event["kind"] != "settings"]
            now = self.storage.now()
            events = stamped(decide(), token, now)
            # A log of an earlier version is sealed with the next thing it holds.
            sealing: list[Event] = []
            if self.book.sealed is None:
                sealing = stamped(sealing_event(self._seal), token, now)
            written[:] = rows_after(self.book, events + sealing) if events else []
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

    def _fingerprint(self, version: int) -> str:
        """Of what a snapshot is good for: these settings, and that version of the method."""
        made_by = [self._seal, __version__, np.__version__, LAYOUT, version]
        return blake2b(json.dumps(made_by).encode(), digest_size=16).hexdigest()

    def save_snapshot(self, at: Checkpoint, version: int) -> None:
        """Store where the player of that version of the method was, if it can be."""
        try:
            body = {
                "settings": self._fingerprint(version),
                "digest": self.book.digests[at.number - 1],
                "checkpoint": encode_state(tuple(at)),
            }
            text = json.dumps(body | {"checksum": seal(body)})
            self.storage.save_snapshot(self.name, at.number, text)
        except (NotStorableError, StorageError):
            pass

    def load_snapshot(self, version: int) -> Checkpoint | None:
        """The last snapshot, if it is whole, of this log, and was written by this version."""
        text = self.storage.load_snapshot(self.name)
        if text is None:
            return None
        try:
            body = json.loads(text)
            checksum = body.pop("checksum")
            if checksum != seal(body) or body["settings"] != self._fingerprint(version):
                return None
            at = Checkpoint(*decode_state(body["checkpoint"]))
            same = body["digest"] == self.book.digests[at.number - 1]
            # Had an answer before it been taken back, the one at its end would have moved up.
            same &= self.book.given[at.given - 1].number == at.number
        except Exception:  # whatever it holds, the log has it all
            return None
        return at if same else None


def sealing_event(digest: str) -> list[Event]:
    """The event that says which settings a log belongs to, in a list."""
    return [{"kind": "settings", "digest": digest}]


def stamped(events: Sequence[Event], token: str, now: float) -> list[Event]:
    """Events with the time, and with a token by which their writer knows them again."""
    return [event | {"time": round(now, 3), "token": token} for event in events]


def rows_after(book: Book, events: Sequence[Event]) -> list[Row]:
    """Events as rows that follow the last one of a book."""
    rows, digest = [], book.digest
    for number, event in enumerate(events, book.number + 1):
        line = event_line(event)
        digest = chain(digest, line)
        rows.append(Row(number, line, digest))
    return rows


def opening(settings: dict[str, Any], now: float) -> list[Row]:
    """The rows of a new log."""
    events = stamped(sealing_event(seal(settings)), secrets.token_hex(4), now)
    return rows_after(Book(), events)
