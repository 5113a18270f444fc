"""Functions, points and oracles that several tests ask."""

from __future__ import annotations

import importlib
import math
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from geoduel.oracles import from_objective

torch: Any = importlib.import_module("torch") if find_spec("torch") else None

needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


def square(x):
    return (x * x).sum(-1)


class Spy:
    """An objective that notes how many points it was asked for."""

    def __init__(self, f):
        self.f, self.points = f, 0

    def __call__(self, x):
        self.points += math.prod(x.shape[:-1])
        return self.f(x)


NEAR, FAR = np.array([1.0, 0.0]), np.array([3.0, 4.0])

BATCH = np.array([[3.0, 4.0], [1.0, 0.0], [0.5, 0.0]])

QUADRATIC = from_objective(square, vectorized=True)
