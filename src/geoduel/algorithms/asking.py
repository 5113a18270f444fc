"""What the methods for people share: settings, scales, and questions that can be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from .._check import positive
from ..errors import ArgumentError
from ..manifolds.base import Manifold
from .frame import to_numpy

if TYPE_CHECKING:
    from ..domains import Domain

__all__ = ["best_question", "check_answer", "check_settings", "inside", "scales"]


def check_settings(method: Any, *lengths: str) -> None:
    """Check the lengths that `Bisection` and `IdealPoint` may be given, and refuse others."""
    for name in lengths:
        if getattr(method, name) is not None:
            positive(getattr(method, name), name)
    if method.initial_step is not None:
        raise ArgumentError(
            f"initial_step is not used by {type(method).__name__}, got {method.initial_step!r}; "
            "give prior_radius="
        )


def check_answer(answer: int, left: int) -> None:
    """Raise unless both are -1, 0 or 1."""
    for name, value in {"answer": answer, "left": left}.items():
        if value not in (-1, 0, 1):
            raise ArgumentError(f"{name} must be -1, 0 or 1, got {value!r}")


def inside(
    domain: Domain | None, ends: Callable[[np.ndarray], tuple[Array, Array]], h: np.ndarray
) -> tuple[Array, Array]:
    """Pairs ``ends(h)``, with the half-widths h shortened until both ends are in the domain."""
    a, b = ends(h)
    if domain is None:
        return a, b
    for _ in range(10):
        feasible = to_numpy(domain.contains(a)) * to_numpy(domain.contains(b))
        if feasible.all():
            break
        h = np.where(feasible, h, 0.7 * h)
        a, b = ends(h)
    return domain.project(a), domain.project(b)


def best_question(manifold: Manifold, a: Array, b: Array, gain: np.ndarray, jnd: float) -> int:
    """Index of the pair that gains most, among those that can be told apart if there are any."""
    apart = to_numpy(manifold.dist(a, b)) >= jnd
    return int(np.argmax(np.where(apart | ~apart.any(), gain, -np.inf)))


def scales(method: Any, manifold: Manifold) -> tuple[float, float]:
    """Radius of the prior and assumed JND, geodesic lengths."""
    radius = manifold.typical_dist / 2 if method.prior_radius is None else method.prior_radius
    return radius, radius / 45 if method.jnd is None else method.jnd
