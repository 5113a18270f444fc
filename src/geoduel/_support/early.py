"""Ctrl-C while the command ``geoduel`` loads: one line and the code 130, not a traceback.

Most of the time goes by before the command's own module is reached: the package, NumPy and SciPy
are imported first, and this before them. Whoever imports the package elsewhere sees nothing of it,
nor do the processes that the command starts.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from itertools import pairwise
from typing import Any

__all__ = ["loaded"]


def _is_command() -> bool:
    """Whether this process was started as the command, or as ``python -m geoduel``."""
    given, name = sys.orig_argv, (sys.argv or [""])[0]
    if name == "-m":  # what it is while the package is imported
        return ("-m", "geoduel") in pairwise(given)
    return os.path.basename(name) in ("geoduel", "geoduel.exe") and name in given


def _end(*_: Any) -> None:
    os.write(2, b"geoduel: interrupted\n")
    os._exit(130)  # nothing has been begun, and an import might swallow an exception


def loaded() -> None:
    """Let Ctrl-C be KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler  # neither theirs nor ignored
    and _is_command()
):
    signal.signal(signal.SIGINT, _end)
