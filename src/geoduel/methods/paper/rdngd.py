"""Algorithm 1 of the paper: Riemannian dueling normalized gradient descent (RDNGD)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ..._numerics.arrays import Array, device, namespace
from ..._support.check import one_of, positive, positive_int
from ...domains.base import Domain
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ...schedules import Schedule, as_schedule, cosine, draw_iterate, planned
from ..base import Method, chosen_radius, default_step, pick
from .direction import estimate

__all__ = ["RDNGD", "RDNGDState"]


class RDNGDState(NamedTuple):
    """State of RDNGD after k iterations."""

    k: int
    point: Array  # x_k
    best: Array  # x̂_k, the incumbent by duels (or the point that `returns` names)
    chosen: Any = None  # R, the index of the random iterate


@dataclass(frozen=True)
class RDNGD(Method):
    """Riemannian dueling normalized gradient descent.

    One duel between the ends of a random short geodesic tells which way is uphill along it; the
    step goes the other way. Asks ``batch`` duels an iteration, and one more for the incumbent.

        for k = 0, 1, ..., T-1:
            u uniform on the unit sphere of T_x M                          line 3
            h = Q(Exp_x(ν u), Exp_x(-ν u)) u                                line 4
            x = P_X(Exp_x(-η_k h))                                         line 5
            if Q(x, x̂) = -1: x̂ = x                                         lines 6-7

    On `Euclidean` it is β-NGD of Saha, Koren and Mansour (ICML 2021).

    Parameters
    ----------
    step_size : float, schedule or callable, optional
        η_k, a geodesic length. By default a cosine from
        `geoduel.methods.base.default_step` down to the radius.
    radius : float, optional
        ν, the geodesic length of the perturbation. By default the least that the dtype resolves
        safely, `geoduel.methods.base.default_radius`.
    batch : int
        M, directions averaged in one step.
    domain : Domain, optional
        Feasible set X; every step is projected on it. None is the whole manifold.
    returns : {"best", "last", "random"}
        What the run returns: the incumbent x̂ by duels (one more duel an iteration), the last
        iterate, or x_R with P(R = k) proportional to η_k. Theorem 3.6 is stated for x_R.

    References
    ----------
    Ren, Roy and Ma, Riemannian Dueling Optimization, Algorithm 1, Theorems 3.6 and 3.7.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: -x[0])
    >>> result = gd.minimize(oracle, gd.Sphere(3), np.array([0.0, 1.0, 0.0]), method="rdngd",
    ...                      iterations=300, step_size=gd.cosine(0.5, 1e-4), rng=0)
    >>> bool(result.x[0] > 0.999), result.duels
    (True, 600)
    """

    step_size: float | Schedule | Callable[[int], float] | None = None
    radius: float | None = None
    batch: int = 1
    domain: Domain | None = None
    returns: Literal["best", "last", "random"] = "best"
    total: int | None = field(default=None, repr=False)  # T, filled in by `plan`

    version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        positive_int(self.batch, "batch")
        if self.total is not None:
            positive_int(self.total, "total")
        one_of(self.returns, "returns", ("best", "last", "random"))
        if self.radius is not None:
            positive(self.radius, "radius")
        if self.step_size is not None:
            object.__setattr__(self, "step_size", as_schedule(self.step_size))

    @property
    def duels_per_iteration(self) -> int:
        """Two by the paper: one for the direction, one for the incumbent."""
        return self.batch + (self.returns == "best")

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[RDNGD, int | None]:
        if iterations is None and budget is not None:
            iterations = max(1, budget // self.duels_per_iteration)  # a last one may be cut short
        if iterations is None and self.returns == "random":
            raise ArgumentError('returns="random" draws R below T: give iterations= or budget=')
        radius = chosen_radius(self.radius, manifold, x0)
        first = default_step(manifold)
        if self.step_size is None and radius > first:
            raise ArgumentError(
                f"radius must be at most {first:.3g}, the first step by default, got {radius!r}; "
                "for a larger one give step_size=, too"
            )
        schedule = planned(self.step_size or cosine(first, radius), iterations)
        return replace(self, radius=radius, step_size=schedule, total=iterations), iterations

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> RDNGDState:
        chosen = None
        if self.returns == "random":  # drawn before the loop, P(R = k) = η_k / Σ η
            lead = tuple(x0.shape[: x0.ndim - len(manifold.point_shape)])
            schedule: Any = self.step_size
            chosen = draw_iterate(schedule, self.total or 1, rng, lead)
            chosen = namespace(x0).asarray(chosen, device=device(x0)) if lead else chosen
        return RDNGDState(0, x0, x0, chosen)

    def step(
        self, manifold: Manifold, state: RDNGDState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, RDNGDState]:
        k, x, best, chosen = state
        eta: Any = self.step_size  # a schedule and a number, since `plan`
        nu: Any = self.radius

        if self.batch == 1:  # one geodesic carries the duel and the step, and shares their work
            walk = manifold.random_geodesic(rng, x)  # line 3: t -> Exp_x(t u)
            sign = yield walk(nu), walk(-nu)  # line 4: h = sign · u
            x_next = walk(-eta(k) * sign)  # line 5
        else:
            h = yield from estimate(manifold, rng, x, nu, self.batch)
            x_next = manifold.exp(x, -eta(k) * h)
        if self.domain is not None:
            x_next = self.domain.project(x_next)

        if self.returns == "best":
            answer = yield x_next, best  # lines 6-7
            best = pick(answer < 0, x_next, best, manifold)
        elif self.returns == "last":
            best = x_next
        else:
            best = pick(k <= chosen, x, best, manifold)  # x_R once k = R
        return RDNGDState(k + 1, x_next, best, chosen)
