"""What the methods of others share: a first step, a domain, one problem at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ..._numerics.arrays import Array
from ..._support.check import positive
from ...domains.base import Domain
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..base import Method, in_memory, one_problem, one_set
from ..frame import reach

__all__ = ["Rival", "furthest"]


@dataclass(frozen=True)
class Rival(Method):
    """A method with a first step, which compares with points that it keeps.

    Parameters
    ----------
    initial_step : float, optional
        Length of the first step, a geodesic length; by default a fifth of the typical distance.
    domain : Domain, optional
        Feasible set. A duel with an infeasible point is decided by the set.
    """

    initial_step: float | None = None
    domain: Domain | None = None

    feasible_first: ClassVar[bool] = True
    projects: ClassVar[bool] = False
    single: ClassVar[bool] = True
    one_set: ClassVar[bool] = False  # steps on the domain, of which there is then one

    def __post_init__(self) -> None:
        if self.initial_step is not None:
            positive(self.initial_step, "initial_step")

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Self, int | None]:
        """Refuse what it cannot run; most need to know nothing else of the run."""
        one_problem(self, manifold, x0)
        in_memory(self, manifold)
        if self.one_set:
            one_set(self, x0)
        return self, iterations

    def at_scale(self, length: float) -> Self:
        """The same method for a problem of that scale, if it was given none: its first step."""
        return self if self.initial_step else replace(self, initial_step=length)

    def planned(self, iterations: int | None, budget: int | None, duels: int) -> int:
        """Iterations of so many duels that the run makes, for steps that depend on that."""
        if iterations is None and budget is None:
            raise ArgumentError(
                f"{type(self).__name__} plans its step: give iterations=, budget= or initial_step="
            )
        return iterations or max(1, (budget or 0) // duels)

    def first_step(self, manifold: Manifold) -> float:
        """Length of the first step."""
        return self.initial_step or manifold.typical_dist / 5


def furthest(manifold: Manifold) -> float:
    """Longest step, a geodesic length: beyond it nothing but an unbounded f is to be found."""
    return min(reach(manifold), 1e6 * manifold.typical_dist)
