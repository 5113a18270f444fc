"""Finished work, kept by what it depends on.

A task is its experiment, that experiment's version and its settings. Their hash is the name of the
task's file: another setting makes another file, and an interrupted run finds what it had finished.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from .._support.files import write_whole
from .._version import __version__

__all__ = ["Cache", "key"]


def key(experiment: str, version: int, settings: dict[str, Any]) -> str:
    """Name of a task's result: a hash of everything it depends on.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    version : int
        Its version, raised by hand when its code changes what it computes.
    settings : dict
        JSON values; their order does not matter.

    Returns
    -------
    str
        The experiment's name and 16 hexadecimal digits.

    Examples
    --------
    >>> key("rayleigh", 1, {"d": 100, "seed": 0}) == key("rayleigh", 1, {"seed": 0, "d": 100})
    True
    >>> key("rayleigh", 1, {"seed": 0}) == key("rayleigh", 2, {"seed": 0})
    False
    """
    whole = {"geoduel": __version__, "version": version, "settings": settings}
    text = json.dumps(whole, sort_keys=True, allow_nan=False)
    return f"{experiment}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


class Cache:
    """A folder of JSON files, one a finished task.

    Parameters
    ----------
    folder : Path
        Made when the first result is stored.
    fresh : bool
        Find nothing; results are stored all the same.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder, self.fresh = folder, fresh

    def load(self, name: str) -> dict[str, Any] | None:
        """Return a stored record, or None. A file that cannot be read counts as absent."""
        if self.fresh:
            return None
        try:
            record = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def save(self, name: str, record: dict[str, Any]) -> None:
        """Store a record, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / f"{name}.json", json.dumps(record))
