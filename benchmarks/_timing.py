"""Timing shared by the benchmarks: one thread, interleaved repeats, the least of each.

Import this before NumPy: the BLAS libraries read the thread counts when they load.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

__all__ = ["describe_machine", "least_times"]


def least_times(
    functions: dict[str, Callable[[], object]], repeats: int = 15, least: float = 0.01
) -> dict[str, float]:
    """Seconds a call, the least over repeats that take turns.

    Taking turns lets a slow spell of the machine hit all functions alike, so that ratios hold even
    where absolute times do not.

    Parameters
    ----------
    functions : dict of callables
        What to time, by name.
    repeats : int
        Rounds.
    least : float
        Seconds that one measurement takes at least.
    """
    counts = {}
    for name, function in functions.items():
        function()  # warm up
        count, took = 1, 0.0
        while took < least / 2:
            began = time.perf_counter()
            for _ in range(count):
                function()
            took = time.perf_counter() - began
            count = count if took >= least / 2 else 2 * count
        counts[name] = count
    times = dict.fromkeys(functions, float("inf"))
    for _ in range(repeats):
        for name, function in functions.items():
            began = time.perf_counter()
            for _ in range(counts[name]):
                function()
            times[name] = min(times[name], (time.perf_counter() - began) / counts[name])
    return times


def describe_machine() -> str:
    """One line: processor, Python and array packages."""
    import numpy
    import scipy

    return (
        f"{platform.machine()}, Python {platform.python_version()}, NumPy {numpy.__version__}, "
        f"SciPy {scipy.__version__}, one thread"
    )
