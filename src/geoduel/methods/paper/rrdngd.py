"""Algorithm 2 of the paper: Riemannian recurrent dueling NGD (RRDNGD)."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import positive, positive_int
from ...domains.base import Domain
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ...schedules import Schedule, as_schedule, geometric
from ..base import Method, chosen_radius, default_step
from .rdngd import RDNGD, RDNGDState

__all__ = ["RRDNGD", "RRDNGDState"]


class RRDNGDState(NamedTuple):
    """State of RRDNGD: the phase, and the state of RDNGD within it."""

    phase: int  # k
    inner: RDNGDState

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.inner.point

    @property
    def best(self) -> Array:
        """The incumbent by duels."""
        return self.inner.best


@dataclass(frozen=True)
class RRDNGD(Method):
    """Recurrent RDNGD for geodesically strongly convex objectives.

    Phases of RDNGD with a constant step each. A phase halves the bound D_k on the squared distance
    to the optimum, so the steps shrink by √2 a phase; the next phase starts from its best point.

        for k = 0, 1, ..., K-1:
            x = best point of t iterations of RDNGD from x with steps η_k and radius ν_k
            D_{k+1} = D_k / 2

    The paper prints accuracies ε_k that grow with k; its proof needs ε_k = α D_k / 4, which halves
    each phase, and η_k proportional to √ε_k. That is what this file does. On `Euclidean` it is
    (α, β)-NGD of Saha, Koren and Mansour (ICML 2021).

    Parameters
    ----------
    phase_length : int, optional
        t, iterations of RDNGD in one phase; by default 20 times the dimension, which suits
        well-conditioned objectives. `geoduel.theory.strongly_convex` gives the theorem's, 203 for
        x²/2 in one dimension and about 242,000 for the paper's Karcher means with n = 5.
    step_size : float, schedule or callable, optional
        η_k, geodesic length of the steps in phase k. A number is the step of the first phase, which
        shrinks by √2 a phase. By default `geoduel.methods.base.default_step`.
    radius : float or callable, optional
        ν_k, perturbation of phase k, a geodesic length; by default what the dtype resolves safely.
    phases : int, optional
        K; by default as many as the run's iterations or budget allow.
    batch, domain
        As in `RDNGD`.

    References
    ----------
    Ren, Roy and Ma, Riemannian Dueling Optimization, Algorithm 2 and Theorem 3.10.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: x @ x)
    >>> result = gd.minimize(oracle, gd.Euclidean(2), np.array([1.0, 1.0]), method="rrdngd",
    ...                      phase_length=20, phases=30, step_size=0.5, rng=0)
    >>> bool(result.x @ result.x < 1e-6), result.iterations
    (True, 600)
    """

    version: ClassVar[int] = 2

    phase_length: int | None = None
    step_size: float | Schedule | Callable[[int], float] | None = None
    radius: float | Callable[[int], float] | None = None
    phases: int | None = None
    batch: int = 1
    domain: Domain | None = None

    def __post_init__(self) -> None:
        if self.phase_length is not None:
            positive_int(self.phase_length, "phase_length")
        if self.phases is not None:
            positive_int(self.phases, "phases")
        if self.step_size is not None and not isinstance(self.step_size, float | int):
            object.__setattr__(self, "step_size", as_schedule(self.step_size))
        elif self.step_size is not None:
            first = positive(self.step_size, "step_size")
            object.__setattr__(self, "step_size", geometric(first, math.sqrt(0.5)))
        if self.radius is not None:
            object.__setattr__(self, "radius", as_schedule(self.radius, "radius"))
        positive_int(self.batch, "batch")

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[RRDNGD, int | None]:
        phase_length = self.phase_length or 20 * manifold.dim
        if self.phases is not None:
            full = self.phases * phase_length
            iterations = full if iterations is None else min(iterations, full)
        elif iterations is None and budget is None:
            raise ArgumentError("RRDNGD needs one of phases=, iterations= and budget=")
        return (
            replace(
                self,
                phase_length=phase_length,
                step_size=self.step_size or geometric(default_step(manifold), math.sqrt(0.5)),
                radius=as_schedule(chosen_radius(self.radius, manifold, x0)),
            ),
            iterations,
        )

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> RRDNGDState:
        return RRDNGDState(0, RDNGDState(0, x0, x0))

    def step(
        self, manifold: Manifold, state: RRDNGDState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, RRDNGDState]:
        k, inner = state
        eta: Any = self.step_size  # schedules of the phase, since `plan`
        nu: Any = self.radius
        if inner.k == self.phase_length:  # a new phase, from the best point of the last
            k, inner = k + 1, RDNGDState(0, inner.best, inner.best)
        rdngd = RDNGD(eta(k), nu(k), self.batch, self.domain)
        inner = yield from rdngd.step(manifold, inner, rng)
        return RRDNGDState(k, inner)
