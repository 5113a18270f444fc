"""Every fast path does what its plain twin does.

A function named ``fast_...`` is a second way to a result, kept because it pays: the section on
paths in `benchmarks/README.md` says what it buys. Each has a case here: the fast path, the plain
one, and the arguments, among them those where the two differ most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

EPS = np.finfo(float).eps


class Case(NamedTuple):
    """A fast path beside its plain twin."""

    name: str
    fast: Callable[..., Any]
    plain: Callable[..., Any]
    arguments: tuple[Any, ...]
    units: float  # rounding units of the largest entry by which the two may differ


# -- vectors: arrays, spheres, hyperbolic space ----------------------------------------------------


def vector_cases() -> Iterator[Case]:
    yield from ()


# -- matrices: products, exponentials, SPD, rotations ----------------------------------------------


def matrix_cases() -> Iterator[Case]:
    yield from ()


# -- duels: oracles and methods --------------------------------------------------------------------


def duel_cases() -> Iterator[Case]:
    yield from ()


CASES = [*vector_cases(), *matrix_cases(), *duel_cases()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fast_is_plain(case):
    fast, plain = case.fast(*case.arguments), case.plain(*case.arguments)
    if not isinstance(fast, tuple):
        fast, plain = (fast,), (plain,)
    for a, b in zip(fast, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=case.units * EPS * np.max(np.abs(b)))
