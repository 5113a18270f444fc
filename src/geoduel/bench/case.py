"""What is measured: a problem with its start and its least value, and suites of problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._numerics.arrays import Array
from ..domains.base import Domain
from ..domains.mixture import Mixture, is_mixed
from ..errors import ArgumentError
from ..manifolds.base import Manifold
from ..oracles.base import Oracle
from ..oracles.noisy import Noisy
from ..oracles.objective import from_objective

__all__ = ["SHARES", "Case", "Suite"]

SHARES = 10.0 ** np.arange(-0.5, -9.01, -0.5)
"""The accuracies that are looked for: shares of the first gap, half a digit apart."""


@dataclass(frozen=True, eq=False)
class Case:
    """An objective on a manifold, a start, and the least value or the best one known.

    Parameters
    ----------
    manifold : Manifold
        Where the points live.
    objective : callable
        f of one point.
    x0 : array
        Start.
    least : float
        f at the optimum.
    group : str
        What the problem is an example of; curves are drawn by group.
    domain : Domain, optional
        Feasible set.
    step : float, optional
        The scale of the problem, a geodesic length: the first step of methods of others. The
        package's own get nothing: to find the scale is a part of what they do.
    noise : dict
        Settings of `geoduel.Noisy`; ``scale`` and ``ties`` are shares of the first gap.
    targets : array, optional
        Gaps to be reached, falling; by default `SHARES` of the first gap.
    draw : callable, optional
        ``draw(rng)``, another start, for solvers that restart; by default a random point.

    Examples
    --------
    >>> import geoduel as gd
    >>> case = Case(gd.Euclidean(2), lambda x: float(x @ x), np.ones(2), 0.0, group="bowls")
    >>> case.gap(np.zeros(2)), len(case.targets)
    (0.0, 18)
    """

    manifold: Manifold
    objective: Callable[[Array], Any]
    x0: Array
    least: float
    group: str = ""
    domain: Domain | None = None
    step: float | None = None
    noise: Mapping[str, Any] = field(default_factory=dict)
    targets: np.ndarray = None  # type: ignore[assignment]  # filled in below
    draw: Callable[[np.random.Generator], Array] | None = None

    def __post_init__(self) -> None:
        if self.targets is None:
            first = self.gap(self.x0)
            if not first > 0:
                raise ArgumentError(f"the start has to be worse than least, its gap is {first!r}")
            object.__setattr__(self, "targets", first * SHARES)

    @property
    def dim(self) -> int:
        """Number of parameters: the dimension, and one for each category and whole number."""
        values = len(Mixture(self.manifold).factors) if is_mixed(self.manifold) else 0
        return self.manifold.dim + values

    def gap(self, x: Array) -> float:
        """How far f(x) is above the least value."""
        return float(self.objective(x)) - self.least

    def oracle(self, f: Callable[[Array], Any], rng: np.random.Generator) -> Oracle:
        """Duels of f, which is the objective or counts its calls, with this case's noise."""
        oracle = from_objective(f)
        if not self.noise:
            return oracle
        first = self.gap(self.x0)
        units = {k: self.noise[k] * first for k in ("scale", "ties") if k in self.noise}
        return Noisy(oracle, **{**self.noise, **units}, rng=rng)


@dataclass(frozen=True)
class Suite:
    """Problems by name, each a function of a seed.

    Parameters
    ----------
    title : str
        One line.
    problems : dict
        ``problems[name](seed)`` is a `Case`.
    budget : int
        Duels a dimension, unless another number is asked for.
    seeds : tuple of int
        First seed, and how many.
    quick : tuple of str
        Problems of the short form.
    """

    title: str
    problems: Mapping[str, Callable[[int], Case]]
    budget: int = 300
    seeds: tuple[int, int] = (0, 5)
    quick: tuple[str, ...] = ()
