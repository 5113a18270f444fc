"""Algorithm 3 of the paper: Riemannian dueling Frank-Wolfe (RDFW), free of projections."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..._numerics.arrays import Array, namespace
from ..._support.check import positive_int
from ...domains.base import Domain
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ...schedules import as_schedule
from ..base import Method, chosen_radius
from .direction import estimate

__all__ = ["RDFW", "RDFWState"]


class RDFWState(NamedTuple):
    """State of RDFW after k iterations."""

    k: int
    point: Array  # x_k

    @property
    def best(self) -> Array:
        """The last iterate, which is what the theorem is about."""
        return self.point


@dataclass(frozen=True)
class RDFW(Method):
    """Riemannian dueling Frank-Wolfe.

    The averaged direction of M_k duels stands in for the gradient in the linear subproblem over
    the feasible set. The step along the geodesic to its solution stays in the set, without a
    projection.

        for k = 0, 1, ..., T-1:
            h̄ = (1/M_k) Σ_j Q(Exp_x(ν u_j), Exp_x(-ν u_j)) u_j
            z = argmin over z in X of <h̄, Log_x(z)>
            x = Exp_x(s_k Log_x(z)),   s_k = 2/(k+3)

    The linear minimiser amplifies the noise of h̄, so M_k has to grow: see
    `geoduel.theory.frank_wolfe`.

    Parameters
    ----------
    domain : Domain
        Feasible set X, geodesically convex, with a ``linear_minimizer``. An intersection has one
        where one of its sets is seen to lie in all the others.
    batch : int or callable
        M_k, duels of iteration k: a number, a callable k -> int, or the theorem's rule from
        `geoduel.theory.frank_wolfe`. The paper's experiments use ceil((k+1)/500).
    radius : float or callable, optional
        ν_k, a geodesic length; by default what the dtype resolves safely.

    References
    ----------
    Ren, Roy and Ma, Riemannian Dueling Optimization, Algorithm 3 and Theorem 4.1; Weber and Sra,
    Riemannian optimization via Frank-Wolfe methods, Math. Program. 199 (2023).

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> plane = gd.Euclidean(2)
    >>> disc = gd.Ball(plane, np.zeros(2), 1.0)
    >>> oracle = gd.from_objective(lambda x: (x[0] - 0.4) ** 2 + x[1] ** 2)
    >>> result = gd.minimize(oracle, plane, np.array([-1.0, 0.0]), method="rdfw", domain=disc,
    ...                      iterations=200, batch=lambda k: 1 + k // 4, rng=0)
    >>> bool(np.linalg.norm(result.x - [0.4, 0.0]) < 0.1)
    True
    """

    domain: Domain | None = None
    batch: int | Callable[[int], int] = 1
    radius: float | Callable[[int], float] | None = None

    def __post_init__(self) -> None:
        if self.domain is None:
            raise ArgumentError("RDFW needs domain=, a feasible set with a linear minimiser")
        if not callable(self.batch):
            positive_int(self.batch, "batch")
        if self.radius is not None:
            object.__setattr__(self, "radius", as_schedule(self.radius, "radius"))

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[RDFW, int | None]:
        domain: Any = self.domain
        domain.linear_minimizer(x0, namespace(x0).zeros_like(x0))  # refused before any duel
        radius = as_schedule(chosen_radius(self.radius, manifold, x0))
        return replace(self, radius=radius), iterations

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> RDFWState:
        return RDFWState(0, x0)

    def step(
        self, manifold: Manifold, state: RDFWState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, RDFWState]:
        k, x = state
        nu: Any = self.radius  # a schedule, since `plan`
        domain: Any = self.domain
        size = positive_int(self.batch(k), f"batch({k})") if callable(self.batch) else self.batch

        h = yield from estimate(manifold, rng, x, nu(k), size)
        z = domain.linear_minimizer(x, h)
        s = 2 / (k + 3)
        x = manifold.geodesic(x, manifold.log(x, z))(s)  # Exp_x(s Log_x(z))
        return RDFWState(k + 1, x)
