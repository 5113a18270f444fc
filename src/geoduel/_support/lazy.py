"""Names of a package that load when they are first used: for what needs an extra, or loads long."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from .moved import moved_names

__all__ = ["lazy"]


def lazy(package: str, file: str) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package: what its ``TYPE_CHECKING`` block imports, on demand.

    That block is what type checkers and editors read, so the names are listed nowhere else.

    Parameters
    ----------
    package, file : str
        ``__name__`` and ``__file__`` of the package.
    """
    elsewhere = moved_names(package)

    @cache
    def where() -> dict[str, str]:
        return {
            alias.name: "." * node.level + (node.module or "")
            for block in ast.parse(Path(file).read_text(encoding="utf-8")).body
            if isinstance(block, ast.If)
            for node in block.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def load(name: str) -> Any:
        if name not in where():
            return elsewhere(name)
        home = where()[name]
        if not home.strip("."):  # from . import name
            return import_module(home + name, package)
        return getattr(import_module(home, package), name)

    return load
