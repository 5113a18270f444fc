"""Logs in memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import ArgumentError, DuplicateStudyError, StorageError, UnknownStudyError
from ..log import Row
from .base import Log, Storage

__all__ = ["MemoryStorage"]


@dataclass
class _Kept:
    """One study in memory."""

    described: str
    rows: list[Row] = field(default_factory=list)

    def read(self, after: int) -> list[Row]:
        return self.rows[after:]

    def append(self, rows: Sequence[Row]) -> None:
        self.rows.extend(rows)


class MemoryStorage(Storage):
    """Logs in the memory of this process, gone when it ends.

    A fork has a copy that nobody else would see: it can be read there, and not written.
    """

    url = None

    def __init__(self) -> None:
        self._studies: dict[str, _Kept] = {}
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def names(self) -> list[str]:
        return sorted(self._studies)

    def create(self, name: str, settings: str, rows: Sequence[Row] = ()) -> None:
        self._check_process()
        with self._lock:
            if name in self._studies:
                raise DuplicateStudyError(name)
            self._studies[name] = _Kept(settings, list(rows))

    def settings(self, name: str) -> str:
        return self._find(name).described

    def delete(self, name: str) -> None:
        self._check_process()
        with self._lock:
            self._find(name)
            del self._studies[name]

    def read(self, name: str, after: int) -> list[Row]:
        return self._find(name).read(after)

    def write(self, name: str, act: Callable[[Log], Any], durable: bool = True) -> Any:
        self._check_process()
        with self._lock:
            kept = self._find(name)
            before = len(kept.rows)
            try:
                return act(kept)
            except BaseException:
                del kept.rows[before:]
                raise

    def settle(self) -> None:
        """Memory has no disk to wait for."""

    def load_snapshot(self, name: str) -> str | None:
        return None

    def save_snapshot(self, name: str, number: int, text: str) -> None:
        """Memory ends with the process: there is nothing to load faster."""

    def backup(self, path: Path) -> None:
        raise ArgumentError("a study in memory is copied by study.export")

    def _find(self, name: str) -> _Kept:
        if name not in self._studies:
            raise UnknownStudyError(name, others=self.names())
        return self._studies[name]

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise StorageError(
                "a study in memory stays in the process that made it, and what a fork writes would "
                "be lost: give it a storage"
            )
