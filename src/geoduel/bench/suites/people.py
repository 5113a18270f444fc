"""Simulated people: few answers, near points hard to tell, a lapse now and then.

A small look; ``benchmarks/people.py`` has people of every kind on every space.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...manifolds.base import Manifold
from ...manifolds.euclidean import Euclidean
from ...manifolds.rotations import Rotations
from ...manifolds.sphere import Sphere
from ..case import Case, Suite

__all__ = ["PEOPLE"]

SPREAD, LAPSE = 0.1, 0.02  # of the distances that a person compares, and of answers
TARGETS = 0.8 ** np.arange(1, 16)
"""Shares of the first distance, down to 0.035: nobody tells points closer than that."""


def person(manifold: Manifold, seed: int) -> Case:
    """Prefers points near an ideal, by distances seen with a normal error."""
    rng = np.random.default_rng([31, seed])
    ideal = manifold.random_point(rng)
    x0 = manifold.exp(ideal, manifold.typical_dist / 2 * manifold.unit_tangent(rng, ideal))

    def f(x: np.ndarray) -> float:
        return float(manifold.dist(x, ideal))

    noise = {"model": "thurstone", "scale": SPREAD, "lapse": LAPSE}
    return Case(manifold, f, x0, 0.0, "people", noise=noise, targets=f(x0) * TARGETS)


PROBLEMS: dict[str, Callable[[int], Case]] = {
    "tilt": partial(person, Rotations(2)),
    "direction": partial(person, Sphere(3)),
    "colour": partial(person, Euclidean(3)),
}

PEOPLE = Suite("Simulated people", PROBLEMS, budget=40, seeds=(0, 10), quick=("tilt", "direction"))
