"""Who holds a question that was asked of nobody in particular: a thread of a process of a host."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

__all__ = ["is_dead", "me"]


def me() -> str:
    """Name of the host (hashed, since logs are passed on), the process and the thread."""
    return f"{_host()}:{os.getpid()}:{threading.get_ident()}"


@cache
def _host() -> str:
    """Of all processes whose numbers are told apart by one kernel, since it started.

    Containers, and machines that were cloned, may have one name: a process that is not seen from
    here may well live there.
    """
    told = [socket.gethostname()]
    with suppress(OSError):  # systems other than Linux have neither
        told.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        told.append(os.readlink("/proc/self/ns/pid"))
    return blake2b("\n".join(told).encode(errors="replace"), digest_size=4).hexdigest()


def is_dead(holder: str | None) -> bool:
    """Whether a holder is known to have ended: a process from here that is no more."""
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
