"""Block: d orthogonal duels for a direction, a duel line search for its length."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...manifolds.base import Manifold
from ..duels import duels
from ..frame import Frame
from .base import DescentMethod, asked_twice, capped, converged, recommend
from .first_step import POINT, begin, directions, line_search, mirrored_or_off
from .noise import Noise
from .rates import NOISY

__all__ = ["Block", "BlockState"]


class BlockState(NamedTuple):
    """State of Block after a block."""

    frame: Frame
    best: Array
    length: float  # t, geodesic length of the last step
    answering: Noise = Noise()
    stop: str | None = None
    outside: np.ndarray | float = 0.0  # from the point to where the search is, out of the domain

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.frame.point

    @property
    def noise(self) -> float:
        """Estimated flip rate."""
        return self.answering.flip_rate

    @property
    def uncertainty(self) -> float | None:
        """Estimated distance to the optimum: four times the last step.

        The ratio of the two was 1 to 16 on quadratics of condition 1 to 100. Beside a kink it may
        be far too small. None where answers are wrong: they are believed, so steps shrink anywhere.
        """
        return None if self.noise > NOISY else 4 * self.length


@dataclass(frozen=True)
class Block(DescentMethod):
    """Descent along the average of d orthogonal duels, with a line search by duels.

        repeat:
            e_1..e_d random orthonormal;   ν = t/√d
            h = -Σ s_i e_i/√d,   s_i = Q(Exp_x(ν e_i), Exp_x(-ν e_i))
            t doubled, halved, then refined by √2 while duels along Exp_x(t h) say so
            x = Exp_x(t h) if it wins against x, else t = t/2
        a start about which f is even is left: see `geoduel.methods.descent.first_step`

    In a domain f of the projection is minimised, and only projections are compared; the search may
    then be outside by a few probes, as that of `DuelCSA`.

    With a ``min_radius`` a step is twice as long at least, so the end is about that far off, too.

    About d + 5 duels a block. Close to the best possible where f is the same in all directions
    (condition 1); hopeless where it is not: there take `DuelNewton`. It believes every answer. A
    few duels are asked twice, only to say how many answers are wrong.

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

    version: ClassVar[int] = 4

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> BlockState:
        first = begin(manifold, x0, self.initial_step, frame=False)
        return BlockState(first.frame, x0, first.length)

    def step(
        self, manifold: Manifold, state: BlockState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, BlockState]:
        frame, d = state.frame, manifold.dim
        t = max(state.length, 2 * self.min_radius)  # of the step, whose end is compared with x
        domain, outside = self.domain, state.outside
        if domain is not None and domain.diameter < POINT:
            return state._replace(stop="resolution")

        e = directions(rng, d, d)
        probe = max(t / math.sqrt(d), self.min_radius)
        off, noise = None, state.answering
        if frame.moves == 0:
            s, off = yield from mirrored_or_off(manifold, frame, probe * e, t, domain)
        else:
            repeats, noise = noise.due(d, d)
            again = rng.permutation(d)[:repeats]
            s, noise = yield from asked_twice(
                manifold, frame, probe * e, again, noise, outside, domain
            )
        if off is not None:
            step, end = frame.land(manifold, off, domain)
            frame, _ = frame.move(manifold, step, end=end)
        elif s.any():
            h = -(s @ e) / np.linalg.norm(s)
            # Of probes that leave a domain h may lead up, and t would then be halved for ever.
            most = 60 if domain is None else 4
            t = yield from line_search(
                manifold, frame, h, t, domain, True, outside, most, min_radius=self.min_radius
            )
            ahead = outside + t * h
            answer = yield from duels(manifold, frame, ahead[None], 0 * h[None], domain)
            step, end = frame.land(manifold, ahead, domain)
            outside = ahead - step
            if answer[0] < 0:
                frame, along = frame.move(manifold, step, outside[None], end)
                outside = along[0]
            else:
                t /= 2
            outside = capped(outside, t / d)  # some probes look inside
        elif np.any(outside):  # all probes end at one point of the boundary: look inside again
            t, outside = t / 2, outside / 4
        best, noise = recommend(manifold, frame, None, domain), noise.rescaled(t / state.length)
        new = BlockState(frame, best, t, noise, outside=outside)
        ties = float(np.mean(s == 0))
        return new._replace(stop=converged(manifold, new, self.x_tol, ties, probe))
