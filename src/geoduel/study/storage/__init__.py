"""Where logs are kept: in memory, or in a database."""

from .base import Log, Storage
from .memory import MemoryStorage
from .place import DeferredStorage, as_storage, deferred

__all__ = ["DeferredStorage", "Log", "MemoryStorage", "Storage", "as_storage", "deferred"]
