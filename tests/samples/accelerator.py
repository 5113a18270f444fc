"""An accelerator, or the pretence of one: what tests on the processor alone cannot see.

With a GPU at hand tests run on it. Elsewhere torch's tensors only say that they are on one. They
then refuse what tensors on a GPU refuse: to meet tensors in main memory, and to become NumPy
arrays. Numbers are computed by the processor all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as trees

__all__ = ["accelerator"]

DEVICE = torch.device("cuda", 0)
# Indices may be in main memory, and copies lead from one place to the other.
_MAY_MIX = {torch.Tensor.__getitem__, torch.Tensor.__setitem__, torch.Tensor.copy_}
_TO_NUMPY = {torch.Tensor.numpy, torch.Tensor.__array__}


@contextmanager
def accelerator() -> Iterator[str]:
    """The name of the device; while the context lasts, it can be used."""
    if torch.cuda.is_available():
        yield "cuda"
        return
    seeded = torch.Generator()

    def generator(device: Any = None) -> torch.Generator:
        return seeded

    with Pretence(), mock.patch("torch.Generator", generator):
        yield "cuda"


class There(torch.Tensor):
    """A tensor on the pretended device."""


class Pretence(TorchFunctionMode):
    """Makes functions of torch follow the rules of a second device."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [a for a in trees.tree_leaves((args, kwargs)) if isinstance(a, torch.Tensor)]
        there = any(isinstance(a, There) for a in tensors)
        with torch._C.DisableTorchFunctionSubclass():
            if there and func in _TO_NUMPY:
                raise TypeError(f"can't convert {DEVICE} device type tensor to numpy")
            if func == torch.Tensor.device.__get__:
                return DEVICE if there else func(*args, **kwargs)
            if func == torch.Tensor.is_cuda.__get__:
                return there
            if func is torch.Tensor.cpu:
                return _plain(args[0])
            asked = [a for a in (*args, *kwargs.values()) if _names_a_device(a)]
            if asked:
                there = torch.device(asked[0]).type == DEVICE.type
                here = torch.device("cpu")
                args, kwargs = trees.tree_map(
                    lambda a: here if _names_a_device(a) else a, (args, kwargs)
                )
            elif there and not (func in _MAY_MIX and isinstance(args[0], There)):
                main = [a for a in tensors if not isinstance(a, There) and a.ndim]
                if main:
                    raise RuntimeError(
                        f"{func.__name__}: expected all tensors to be on the same device, but "
                        f"found at least two devices, {DEVICE} and cpu"
                    )
            result = func(*args, **kwargs)
            return trees.tree_map_only(torch.Tensor, _moved if there else _plain, result)


def _names_a_device(a: Any) -> bool:
    return isinstance(a, torch.device) or (isinstance(a, str) and a[:4] in {"cuda", "cpu"})


def _plain(a: torch.Tensor) -> torch.Tensor:
    return a.as_subclass(torch.Tensor) if isinstance(a, There) else a


def _moved(a: torch.Tensor) -> torch.Tensor:
    return a if isinstance(a, There) else a.as_subclass(There)
