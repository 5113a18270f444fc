"""The one place that imports torch, so that its absence is said in one way."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import MissingExtraError

__all__ = ["nn", "safetensors", "torch"]

try:
    import torch
    from torch import nn
except ImportError:
    raise MissingExtraError("attacks need torch: pip install 'geoduel[attack]'") from None


def safetensors() -> Any:
    """The reader and writer of safetensors files."""
    try:
        return import_module("safetensors.torch")
    except ImportError:
        raise MissingExtraError(
            "weight files need safetensors: pip install 'geoduel[attack]'"
        ) from None
