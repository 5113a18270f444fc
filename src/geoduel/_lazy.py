"""Names of a package that are loaded when they are first used.

All geometries and sets together take longer to load than NumPy, and few programs use more than two.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["loader"]


def loader(package: str, homes: dict[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : dict
        Names to load by the module, relative to the package, where they live; a module without
        names is itself what is loaded.
    """
    where = {name: module for module, names in homes.items() for name in names or (module,)}

    def load(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f".{where[name]}", package)
        return module if name == where[name] else getattr(module, name)

    return load
