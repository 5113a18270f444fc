"""What a method is: settings that are frozen, a state that is a tuple, and a step that asks.

A method holds no function, no clock and no loop. Its step yields the pairs it wants compared and is
sent the answers, so a function, a person and a batch on an accelerator drive one text.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from .._numerics.arrays import Array, eps, expand, namespace
from .._support.check import nonnegative, positive, positive_int
from ..manifolds.base import Manifold
from .frame import Frame, one_problem

if TYPE_CHECKING:
    from ..domains.base import Domain

__all__ = [
    "DuelMethod",
    "Method",
    "State",
    "default_radius",
    "default_step",
    "pick",
    "recommend",
    "stop_reason",
]


class State(Protocol):
    """The least a method's state holds; each method's file adds what it needs."""

    @property
    def point(self) -> Array:
        """The current iterate."""

    @property
    def best(self) -> Array:
        """The point the method would return now."""


class Method(Protocol):
    """The interface of a method; see `geoduel.methods.paper.rdngd` for the model."""

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Method, int | None]:
        """Settle what depends on the length of the run.

        Returns the method with its schedules bound and its defaults filled in, and the number of
        iterations it will make (None if only the budget limits it).
        """
        ...

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Any:
        """Return the state before the first iteration."""
        ...

    def step(
        self, manifold: Manifold, state: Any, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Any]:
        """One iteration: yield pairs, be sent answers, return the next state."""
        ...


def pick(condition: Any, a: Array, b: Array, manifold: Manifold) -> Array:
    """``a`` where the condition holds and ``b`` elsewhere, problem by problem."""
    if isinstance(condition, bool):
        return a if condition else b
    return namespace(a, b).where(expand(condition, len(manifold.point_shape)), a, b)


@dataclass(frozen=True)
class DuelMethod(ABC):
    """What the methods that choose their own steps have in common: five settings, one problem.

    Parameters
    ----------
    domain : Domain, optional
        Feasible set.
    initial_step : float, optional
        Geodesic length of the first trial.
    x_tol : float, optional
        Accuracy at which to stop, a geodesic length.
    parallel : int, optional
        Most duels asked at once, one round, and the number that methods with a choice aim at. By
        default as many as a step of the method has.
    min_radius : float
        Least length of a probe, a geodesic length: the points of a duel that looks for a direction
        are twice as far apart. For people, who cannot tell closer ones. By default 0.
    """

    domain: Domain | None = None
    initial_step: float | None = None
    x_tol: float | None = None
    parallel: int | None = None
    min_radius: float = 0.0

    feasible_first: ClassVar[bool] = True
    """Duels are decided by the domain where it can; see `geoduel.domains.feasible_first`."""

    def __post_init__(self) -> None:
        for name in ("initial_step", "x_tol"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name)
        if self.parallel is not None:
            positive_int(self.parallel, "parallel")
        nonnegative(self.min_radius, "min_radius")

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Any, int | None]:
        """Settle the length of the run: only its limits do. Refuse several problems at once."""
        one_problem(manifold, x0, self)
        return self, iterations

    @abstractmethod
    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Any:
        """Return the state before the first iteration."""

    @abstractmethod
    def step(
        self, manifold: Manifold, state: Any, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Any]:
        """One iteration: yield pairs, be sent answers, return the next state."""


def default_radius(manifold: Manifold, x: Array) -> float:
    """Perturbation radius that the dtype resolves.

    A duel is decided by a difference of f of about 2 ν |grad f|, which must exceed the rounding of
    f, a few units ε of its size. The power 0.4 leaves ν well above √ε, where a gap of ν² would
    drown, and small against the manifold: 5e-7 of its typical distance in float64, 2e-3 in float32.
    """
    return eps(x) ** 0.4 * manifold.typical_dist


def default_step(manifold: Manifold) -> float:
    """First step of the paper's methods, a geodesic length.

    A step η down the sign of one duel leads about 0.8 η/√d closer to a point at distance r, and
    away again by η²/(2r), or by a share of η² at any distance where curvature is negative: long
    steps in high dimension drift outwards. Below d = 7 it is a fifth of the typical distance.
    """
    return manifold.typical_dist / max(5.0, 2 * math.sqrt(manifold.dim))


def recommend(
    manifold: Manifold, frame: Frame, to_mean: np.ndarray | None, domain: Domain | None
) -> Array:
    """The point to return: the base point, or the mean of recent ones, inside the domain.

    ``to_mean`` leads from the base point to the mean. No duel decides, so that one lucky answer
    cannot.
    """
    x = frame.point if to_mean is None or not to_mean.any() else frame.at(manifold, to_mean)
    if domain is not None and not bool(domain.contains(x)):
        x = domain.project(x)
    return x


def stop_reason(
    manifold: Manifold, state: Any, x_tol: float | None, ties: float, probe: float
) -> str | None:
    """Why to stop: the wanted accuracy, or duels that tie at probes of the dtype's resolution."""
    if x_tol is not None and state.uncertainty <= x_tol:
        return "x_tol"
    if ties >= 0.5 and probe < default_radius(manifold, state.point):
        return "resolution"
    return None
