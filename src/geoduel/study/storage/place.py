"""A storage from what a caller may pass as ``storage``."""

from __future__ import annotations

from ...errors import ArgumentError
from .base import Storage
from .memory import MemoryStorage
from .sql import SQLStorage

__all__ = ["as_storage"]


def as_storage(
    storage: str | Storage | None, create: bool = True, name: str = "storage"
) -> Storage:
    """Turn what a caller may pass as ``storage`` into one: a URL, a storage, or None for memory.

    A file that is not there is an ArgumentError, unless it may be made: ``create``.
    """
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, Storage):
        return storage
    if isinstance(storage, str):
        try:
            return SQLStorage(storage, create=create)
        except ArgumentError as error:
            raise error if name == "storage" else ArgumentError(f"{name}: {error}") from None
    raise ArgumentError(
        f"{name} must be a URL such as 'sqlite:///duels.db', a Storage or None for memory; "
        f"got {storage!r:.80}"
    )
