"""Records made by hand, and a case that takes no time."""

from __future__ import annotations

import numpy as np
import pytest

import geoduel as gd
from geoduel.bench import Case, Suite


@pytest.fixture
def record():
    """``record(hits, problem=..., method=..., ...)``: what `run` yields, with defaults."""

    def make(hits, **more):
        base = {
            "suite": "toys", "problem": "bowl", "group": "bowls", "seed": 0, "method": "auto",
            "budget": 100, "geoduel": "0", "d": 2, "duels": 200, "evaluations": 210,
            "stop": "budget", "targets": [10.0**-k for k in range(len(hits))], "hits": list(hits),
            "gap": 0.0, "last": 0.0, "seconds": 0.1,
        }  # fmt: skip
        return base | more

    return make


def bowl(seed: int) -> Case:
    """A sphere function in the plane, around another point for each seed."""
    goal = np.random.default_rng(seed).standard_normal(2)
    return Case(
        gd.Euclidean(2), lambda x: float(np.sum((x - goal) ** 2)), goal + 1, 0.0, group="bowls"
    )


@pytest.fixture
def toys():
    """A suite of two problems."""
    return {"toys": Suite("Toys", {"bowl": bowl, "bowl-too": bowl}, 60, (3, 2), ("bowl",))}
