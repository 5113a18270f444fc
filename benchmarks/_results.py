"""Results of the benchmarks: files of JSON that the tables of the docs are made from."""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import argparse
import json
import math
from pathlib import Path
from typing import Any

from _timing import describe_machine


import geoduel as gd

__all__ = ["FOLDER", "Results", "parser", "read"]

FOLDER = Path(__file__).resolve().parent / "results"


class Results:
    """Rows of one script, by name; those of an earlier run stay unless they are measured again.

    Parameters
    ----------
    script : str
        ``__file__`` of the script, which names the file of results.
    save : bool
        Whether to write them.
    **settings
        What all rows of this run have in common, such as seeds.
    """

    def __init__(self, script: str, save: bool, **settings: Any) -> None:
        self.name, self.save = Path(script).stem, save
        self.common = {"geoduel": gd.__version__, "machine": describe_machine()} | settings

    def add(self, row: str, **values: Any) -> None:
        """Keep a row, in the file at once: a long run may be interrupted."""
        if not self.save:
            return
        rows = read(self.name) | {row: _plain(self.common | values)}
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
        (FOLDER / f"{self.name}.json").write_text(text, encoding="utf-8")


def read(name: str) -> dict[str, dict[str, Any]]:
    """Rows of a script; none if nothing was saved."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def parser(document: str | None) -> argparse.ArgumentParser:
    """Parser with the two flags that every script has; its help is the script's own text."""
    found = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--full", action="store_true", help="the size of the tables in the docs")
    found.add_argument("--save", action="store_true", help="keep the results in results/")
    return found


def _plain(value: Any) -> Any:
    """JSON value with four digits; an infinite number is null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str | bool) or value is None:
        return value
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, int):
        return value
    return float(f"{value:.4g}") if math.isfinite(value) else None
