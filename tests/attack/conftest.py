"""A network whose boundary is a plane, and grey images at a known distance from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

SHAPE = (3, 6, 6)


@pytest.fixture
def linear() -> type:
    """Two classes apart by a plane through 0.5: how far an image must move is known exactly."""
    torch = pytest.importorskip("torch")

    class Linear(torch.nn.Module):
        def __init__(self, seed=0, offset=-0.2, dtype=torch.float32):
            super().__init__()
            g = torch.Generator().manual_seed(seed)
            w = torch.randn(math.prod(SHAPE), generator=g, dtype=torch.float64)
            self.w = torch.nn.Parameter((w / w.norm()).to(dtype))
            self.offset = offset
            self.seen = 0
            self.largest = 0

        def forward(self, images):
            self.seen += len(images)
            self.largest = max(self.largest, len(images))
            side = (images - 0.5).flatten(1) @ self.w + self.offset
            return torch.stack([-side, side], 1)

    return Linear


@pytest.fixture
def grey() -> Callable[..., Any]:
    """Images of one grey each."""
    torch = pytest.importorskip("torch")

    def grey(n=3, value=0.5, dtype=torch.float32):
        return torch.full((n, *SHAPE), value, dtype=dtype)

    return grey
