"""A storage from what a caller may pass as ``storage``."""

from __future__ import annotations

from ...errors import ArgumentError
from .base import Storage
from .memory import MemoryStorage
from .sql import SQLStorage

__all__ = ["as_storage"]


def as_storage(storage: str | Storage | None, create: bool = True) -> Storage:
    """Turn what a caller may pass as ``storage`` into one: a URL, a storage, or None for memory.

    A file that is not there is an ArgumentError, unless it may be made: ``create``.
    """
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, Storage):
        return storage
    if isinstance(storage, str):
        return SQLStorage(storage, create=create)
    raise ArgumentError(
        "storage must be a URL such as 'sqlite:///duels.db', a Storage or None for memory; "
        f"got {storage!r:.80}"
    )
