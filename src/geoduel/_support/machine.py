"""What the machine has."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["machine_memory"]


@cache
def machine_memory() -> float:
    """Bytes of memory that this process may have, infinite where the system does not tell.

    Of a container those that it is allowed.
    """
    found = math.inf
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        found = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ValueError, OSError):  # "max" where there is no limit
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")
        found = min(found, float(int(limit)))
    return found if found > 0 else math.inf
