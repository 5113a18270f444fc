"""ZO-RankSGD, of Tang, Rybin and Chang: stochastic descent along rankings of random points."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import positive, positive_int
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..base import default_radius
from ..frame import Frame
from .base import Rival
from .ranking import top

__all__ = ["RankSGD", "RankSGDState", "rank_weights"]


class RankSGDState(NamedTuple):
    """State of RankSGD: the point, and the estimates made there without finding a better one."""

    frame: Frame
    total: np.ndarray  # sum of the estimated gradients at this point
    averaged: int

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.frame.point

    @property
    def best(self) -> Array:
        """The iterate: it never gets worse."""
        return self.frame.point


def rank_weights(order: list[int], m: int) -> np.ndarray:
    """Weights of the m points in (1/|E|) Σ (ξ_j - ξ_i), E the pairs where i is known to be better.

    The first k are ranked, the others are known to be worse than these.

    Examples
    --------
    >>> rank_weights([2, 0], 3) * 3  # of three edges
    array([ 0.,  2., -2.])
    """
    k = len(order)
    weights = np.full(m, float(k))
    weights[order] = 2.0 * np.arange(k) - (m - 1)
    return weights / (k * (k - 1) / 2 + k * (m - k))


@dataclass(frozen=True)
class RankSGD(Rival):
    """Zeroth-order descent by rankings, each ranking counted in the duels that make it.

        repeat, in coordinates of a transported frame:
            ξ_1..ξ_m ~ N(0, I);   the best k of the Exp_x(μ ξ_i) ranked
            g = (1/|E|) Σ (ξ_j - ξ_i) over the edges (i better than j) of the ranking
            x = the best of x and Exp_x(-η γ^j g), j = 0..l-1

    Where x itself is best, the next g is averaged with this one. For smooth f the mean squared
    gradient of T iterations is O(√(d/T)).

    Parameters
    ----------
    initial_step : float, optional
        η, the length of the longest step over that of g, which is about 1.
    domain : Domain, optional
        Feasible set: an infeasible point is ranked behind.
    directions : int
        m, at least 2.
    ranked : int, optional
        k; by default all m.
    lengths : int
        l, the lengths tried along g; γ = 1/2.
    radius : float, optional
        μ, a geodesic length; by default `geoduel.methods.base.default_radius`.

    References
    ----------
    Tang, Rybin and Chang, Zeroth-order optimization meets human feedback: provable learning via
    ranking oracles, ICLR 2024, with the line search and the averaging of their program.

    Examples
    --------
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: x @ x)
    >>> result = gd.minimize(oracle, gd.Euclidean(3), np.ones(3), method="rank-sgd", budget=2000,
    ...                      rng=0)
    >>> bool(result.x @ result.x < 1e-3)
    True
    """

    directions: int = 15
    ranked: int | None = None
    lengths: int = 13
    radius: float | None = None

    matrices: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_int(self.directions, "directions", least=2)
        positive_int(self.lengths, "lengths")
        if self.ranked is not None and positive_int(self.ranked, "ranked") > self.directions:
            raise ArgumentError(
                f"ranked must be at most directions = {self.directions}, got {self.ranked}"
            )
        if self.radius is not None:
            positive(self.radius, "radius")

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> RankSGDState:
        d = manifold.dim
        return RankSGDState(Frame(x0, np.eye(d)), np.zeros(d), 0)

    def step(
        self, manifold: Manifold, state: RankSGDState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, RankSGDState]:
        frame, total, averaged = state
        m = self.directions
        mu = self.radius or default_radius(manifold, frame.point)
        xi = rng.standard_normal((m, manifold.dim))
        order = yield from top(frame.at(manifold, mu * xi), self.ranked or m)
        total, averaged = total + rank_weights(order, m) @ xi, averaged + 1

        scales = 0.5 ** np.arange(self.lengths)
        steps = -self.first_step(manifold) * scales[:, None] * (total / averaged)
        [j] = yield from top([frame.point, *frame.at(manifold, steps)], 1)
        if j == 0:
            return RankSGDState(frame, total, averaged)
        frame, _ = frame.move(manifold, steps[j - 1])
        return RankSGDState(frame, np.zeros_like(total), 0)
