"""Block: d orthogonal duels for a direction, a duel line search for its length."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...manifolds.base import Manifold
from ..duels import duels, mirrored_duels
from ..frame import Frame
from .base import DescentMethod, converged, recommend
from .first_step import begin, directions, line_search, mirrored_or_off

__all__ = ["Block", "BlockState"]


class BlockState(NamedTuple):
    """State of Block after a block."""

    frame: Frame
    best: Array
    length: float  # t, geodesic length of the last step
    stop: str | None = None
    noise = None  # every answer is believed

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.frame.point

    @property
    def uncertainty(self) -> float:
        """Estimated distance to the optimum: four times the last step.

        The ratio of the two was 1 to 16 on quadratics of condition 1 to 100.
        """
        return 4 * self.length


@dataclass(frozen=True)
class Block(DescentMethod):
    """Descent along the average of d orthogonal duels, with a line search by duels.

        repeat:
            e_1..e_d random orthonormal;   ν = t/√d
            h = -Σ s_i e_i/√d,   s_i = Q(Exp_x(ν e_i), Exp_x(-ν e_i))
            t doubled, halved, then refined by √2 while duels along Exp_x(t h) say so
            x = Exp_x(t h) if it wins against x, else t = t/2
        a start about which f is even is left: see `geoduel.methods.descent.first_step`

    About d + 5 duels a block. Close to the best possible where f is the same in all directions
    (condition 1); hopeless where it is not: there take `DuelNewton`. It believes every answer.

    Parameters
    ----------
    domain, initial_step, x_tol, min_radius
        As in `geoduel.DuelNewton`.

    References
    ----------
    Jamieson, Nowak and Recht, Query complexity of derivative-free optimization, NIPS 2012, for line
    searches by comparisons; Saha, Koren and Mansour, ICML 2021, for directions from them.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: x @ x)
    >>> result = gd.minimize(oracle, gd.Euclidean(5), np.ones(5), method="block", budget=200, rng=0)
    >>> bool(result.x @ result.x < 1e-6)
    True
    """

    version: ClassVar[int] = 2

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> BlockState:
        first = begin(manifold, x0, self.initial_step, frame=False)
        return BlockState(first.frame, x0, first.length)

    def step(
        self, manifold: Manifold, state: BlockState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, BlockState]:
        frame, t, d = state.frame, state.length, manifold.dim

        e = directions(rng, d, d)
        probe = max(t / math.sqrt(d), self.min_radius)
        off = None
        if frame.moves:
            s = yield from mirrored_duels(manifold, frame, probe * e)
        else:
            s, off = yield from mirrored_or_off(manifold, frame, probe * e, t)
        if off is not None:
            frame, _ = frame.move(manifold, off)
            frame, _, _ = frame.enter(manifold, self.domain)
        elif s.any():
            h = -(s @ e) / np.linalg.norm(s)
            t = yield from line_search(manifold, frame, h, t, self.domain, refine=True)
            answer = yield from duels(manifold, frame, t * h[None], 0 * h[None], self.domain)
            if answer[0] < 0:
                frame, _ = frame.move(manifold, t * h)
                frame, _, _ = frame.enter(manifold, self.domain)
            else:
                t /= 2
        new = BlockState(frame, recommend(manifold, frame, None, self.domain), t)
        ties = float(np.mean(s == 0))
        return new._replace(stop=converged(manifold, new, self.x_tol, ties, probe))
