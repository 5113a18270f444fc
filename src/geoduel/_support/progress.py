"""What long runs keep and show along the way: records that stay few, and a progress bar."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from ..errors import MissingExtraError
from .check import truth

__all__ = ["RECORDS", "progress_bar", "round_up", "thin"]

RECORDS = 1000
"""Entries of a history, about; never more than twice as many."""


def thin(history: Any, stride: int) -> int:
    """Delete every other entry of a history that has grown long; return the stride to go on with.

    Parameters
    ----------
    history : dataclass
        Lists, one a quantity, of one length but for those that stay empty; ``iteration`` is one.
    stride : int
        Iterations between two entries.
    """
    if len(history.iteration) <= 2 * RECORDS:
        return stride
    for column in fields(history):
        del getattr(history, column.name)[1::2]
    return 2 * stride


def round_up(value: float) -> int:
    """Smallest of 1, 2, 5, 10, 20, 50, ... at or above the value."""
    step = 10 ** max(0, math.floor(math.log10(value)))
    return next(m * step for m in (1, 2, 5, 10) if m * step >= value)


@contextmanager
def progress_bar(
    wanted: bool, iterations: int | None, budget: int | None
) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar on standard error; yields ``show(iteration, duels)``, or None if not wanted."""
    if not truth(wanted, "progress"):
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress as Bar
    except ImportError:
        raise MissingExtraError("progress=True needs rich: pip install rich") from None
    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("duels", total=iterations if iterations is not None else budget)

        def show(iteration: int, duels: int) -> None:
            done = iteration if iterations is not None else duels
            bar.update(task, completed=done, description=f"{duels:,} duels")

        yield show
