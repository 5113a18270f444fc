"""What a study asks of a place to keep its log.

A storage knows names, settings and lines, nothing else. What a study needs of it is one thing: to
read the log and append to it with nobody in between.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..log import Row

__all__ = ["Log", "Storage"]


class Log(Protocol):
    """The log of one study while nobody else can write to it."""

    def read(self, after: int) -> list[Row]:
        """Rows with a number above ``after``."""
        ...

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows, all or none."""
        ...


class Storage(ABC):
    """What a study asks of a place to keep its log.

    All methods may be called from several threads at once, and from several processes where the
    storage is shared.
    """

    url: str | None
    """Where it is, for `geoduel.load_study`; None for memory."""

    @abstractmethod
    def names(self) -> list[str]:
        """Names of the studies, in alphabetical order."""

    @abstractmethod
    def create(self, name: str, settings: str, rows: Sequence[Row] = ()) -> None:
        """Create a study, with what its log holds already; DuplicateStudyError if it exists."""

    @abstractmethod
    def settings(self, name: str) -> str:
        """Settings of a study as JSON; UnknownStudyError if there is none."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a study; UnknownStudyError if there is none."""

    @abstractmethod
    def read(self, name: str, after: int) -> list[Row]:
        """Rows with a number above ``after``."""

    @abstractmethod
    def write(self, name: str, act: Callable[[Log], Any], durable: bool = True) -> Any:
        """Return ``act(log)``, with nobody else writing meanwhile.

        What it appended is stored when this returns, and nothing of it if this raises, unless the
        disk fails after others have seen it. After a lost connection ``act`` is called again: it
        must look first at what was stored. Where it need not be ``durable``, a power cut that ends
        all writers may take it back, until `settle` has returned.
        """

    @abstractmethod
    def settle(self) -> None:
        """Wait until a power cut takes nothing back of what was written.

        Raises
        ------
        StorageError
            If the disk fails.
        """

    @abstractmethod
    def load_snapshot(self, name: str) -> str | None:
        """The last snapshot, if any."""

    @abstractmethod
    def save_snapshot(self, name: str, number: int, text: str) -> None:
        """Replace the snapshot, unless there is one of a later event."""

    def now(self) -> float:
        """Seconds since 1970 by a clock that all share who write here; by default the machine's.

        Leases are counted by it. A storage of several machines tells its own time.
        """
        return time.time()

    @abstractmethod
    def backup(self, path: Path) -> None:
        """Copy all there is to a file that is not there yet; ArgumentError if it cannot be."""
