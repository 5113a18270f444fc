"""A reader of CIFAR-10's pickles that runs nothing.

Unpickling a file runs whatever it says. This reader knows the few names those files use and gives
each a stand-in of its own that only collects bytes; any other name is an error.
"""

from __future__ import annotations

import pickle
from typing import Any, BinaryIO

import numpy as np

__all__ = ["Reader"]


class _Kind:
    """Stand-in for numpy.dtype: remembers the name of the type."""

    def __init__(self, name: str, *_: Any) -> None:
        self.name = name

    def __setstate__(self, state: Any) -> None:
        pass


class _Pixels:
    """Stand-in for an array: remembers shape and bytes."""

    shape: tuple[int, ...]
    content: bytes

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, columns_first, content = state
        if not isinstance(kind, _Kind) or kind.name != "u1" or columns_first:
            raise ValueError("an array that does not hold bytes row by row")
        self.shape = tuple(shape)
        self.content = content.encode("latin1") if isinstance(content, str) else bytes(content)

    def pixels(self) -> np.ndarray:
        return np.frombuffer(self.content, dtype=np.uint8).reshape(self.shape)


_STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): object,  # is passed on and never called
    ("numpy", "dtype"): _Kind,
    ("_codecs", "encode"): lambda text, encoding: text.encode("latin1"),
} | {
    (f"numpy.{core}.multiarray", "_reconstruct"): lambda *_: _Pixels() for core in ("core", "_core")
}


class Reader(pickle.Unpickler):
    """An unpickler that runs nothing: every name it accepts is a stand-in of this file."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, encoding="latin1")

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _STAND_INS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it wants to run {module}.{name}: refused") from None
