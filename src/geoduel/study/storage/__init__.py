"""Where logs are kept: in memory, or in a database."""

from .base import Log, Storage
from .memory import MemoryStorage
from .place import as_storage
from .sql import SQLStorage

__all__ = ["Log", "MemoryStorage", "SQLStorage", "Storage", "as_storage"]
