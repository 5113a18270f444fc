"""Who holds a question that was asked of nobody in particular: a thread of a process of a host."""

from __future__ import annotations

import os
import socket
import threading
from functools import cache
from hashlib import blake2b

__all__ = ["is_dead", "me"]


def me() -> str:
    """Name of the host (hashed, since logs are passed on), the process and the thread."""
    return f"{_host()}:{os.getpid()}:{threading.get_ident()}"


@cache
def _host() -> str:
    return blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def is_dead(holder: str | None) -> bool:
    """Whether a holder is known to have ended: a process of this host that is no more."""
    if holder is None:
        return False
    host, pid, _ = holder.split(":")
    if host != _host() or os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False
