"""The 24 functions of COCO's bbob and bbob-mixint suites. Needs the extra ``bench-solvers``."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import MissingExtraError
from ...manifolds.base import Manifold
from ...manifolds.discrete import Integers
from ...manifolds.euclidean import Euclidean
from ...manifolds.product import Product
from ..case import Case, Suite

__all__ = ["BBOB", "MIXINT"]

DIMENSIONS, MIXED_DIMENSIONS = (2, 5, 10, 20), (5, 10, 20)
GROUPS = {
    "separable": range(1, 6),
    "moderate": range(6, 10),
    "ill-conditioned": range(10, 15),
    "multi-modal": range(15, 20),
    "weak structure": range(20, 25),
}
GROUP_OF = {f: name for name, functions in GROUPS.items() for f in functions}
TARGETS = 10.0 ** np.arange(1.0, -8.01, -0.2)
"""Gaps f - f*, as COCO's: absolute, from 10 to 1e-8."""


@cache
def _problem(name: str, f: int, d: int, instance: int) -> tuple[Any, Any, float]:
    """The suite, which has to live as long as its problem; the problem, and its least value."""
    try:
        import cocoex
    except ImportError:
        raise MissingExtraError(
            "bbob needs coco-experiment: pip install 'geoduel[bench-solvers]'"
        ) from None
    suite = cocoex.Suite(name, f"instances: {instance}", f"dimensions: {d} function_indices: {f}")
    problem = suite[0]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        problem._best_parameter("print")  # COCO hides the optimum in a file
        best = np.loadtxt(next(Path().glob("*best_parameter.txt")), ndmin=1)
    return suite, problem, float(problem(best))


def function(name: str, f: int, d: int, instance: int) -> Case:
    """A function from a start in [-4, 4]^d; the step is of the box's scale.

    Of bbob-mixint, where four of five parameters are whole numbers, from 2, 4, 8 and 16 values.
    """
    if instance < 1:
        instance += 1  # seed 0 is instance 1
    _, problem, least = _problem(name, f, d, instance)
    rng = np.random.default_rng(800_000 + 1000 * f + 10 * instance)
    whole = problem.number_of_integer_variables
    bounds = np.stack([problem.lower_bounds, problem.upper_bounds])[:, :whole].astype(int)
    space: Manifold = Euclidean(d)
    if whole:
        numbers = (Integers(low, high) for low, high in bounds.T.tolist())
        space = Product(*numbers, Euclidean(d - whole))

    def draw(rng: np.random.Generator) -> np.ndarray:
        numbers = rng.integers(bounds[0], bounds[1] + 1)
        return np.concatenate([numbers, rng.uniform(-4, 4, d - whole)])

    return Case(
        space,
        lambda x: float(problem(np.asarray(x, dtype=float))),
        draw(rng),
        least,
        f"{GROUP_OF[f]}, d = {d}",
        step=2 * math.sqrt(d),
        targets=TARGETS,
        draw=draw,
    )


def _problems(name: str, dimensions: tuple[int, ...]) -> dict[str, Callable[[int], Case]]:
    return {f"f{f}-d{d}": partial(function, name, f, d) for d in dimensions for f in range(1, 25)}


BBOB = Suite(
    "COCO's bbob functions",
    _problems("bbob", DIMENSIONS),
    budget=1000,
    seeds=(1, 3),
    quick=("f1-d2", "f6-d2", "f8-d2", "f10-d2", "f13-d2"),
)
MIXINT = Suite(
    "COCO's bbob-mixint functions, of whole and real numbers",
    _problems("bbob-mixint", MIXED_DIMENSIONS),
    budget=300,
    seeds=(1, 3),
    quick=("f1-d5", "f8-d5"),
)
