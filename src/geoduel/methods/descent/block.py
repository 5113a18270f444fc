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
from .doubt import Symmetry, doubted
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
    longest: float = 0.0  # twice the longest step
    symmetry: Symmetry = Symmetry.begun(0.0)  # of f about x
    ends: int = 0  # ends so far that were no minimum

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.frame.point

    @property
    def noise(self) -> float:
        """Estimated flip rate."""
        return self.answering.flip_rate

    @property
    def size(self) -> float:
        """Length of the probes: d of them, each t/√d."""
        return self.length

    @property
    def unchecked(self) -> bool:
        """Whether probes have shrunk so far that symmetry has to be asked about."""
        return self.noise <= NOISY and self.symmetry.due(self.size)

    @property
    def uncertainty(self) -> float | None:
        """Estimated distance to the optimum: four times the last step.

        The ratio of the two was 1 to 16 on quadratics of condition 1 to 100. None after an end that
        was none, and where f is not symmetric about x, as beside a kink; that is asked once steps
        are a hundredth of the longest. None where answers are wrong, too: they are believed, so
        steps shrink anywhere.
        """
        if self.ends or self.symmetry.doubt or self.noise > NOISY:
            return None
        return 4 * self.length


@dataclass(frozen=True)
class Block(DescentMethod):
    """Descent along the average of d orthogonal duels, with a line search by duels.

        repeat:
            e_1..e_d random orthonormal;   ν = t/√d
            h = -Σ s_i e_i/√d,   s_i = Q(Exp_x(ν e_i), Exp_x(-ν e_i))
            t doubled, halved, then refined by √2 while duels along Exp_x(t h) say so
            x = Exp_x(t h) if it wins against x, else t = t/2
            now and then: two pairs far longer than t tell whether f is symmetric about x
        where that has ended: points at several distances are compared with x; once more from one
        that is better
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
    matrices: ClassVar[int] = 7

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
        new = state._replace(frame=frame, best=best, length=t, answering=noise, outside=outside)
        if 2 * t > state.longest:
            new = new._replace(longest=2 * t, symmetry=Symmetry.begun(2 * t))
        ties = float(np.mean(s == 0))
        new = new._replace(stop=converged(manifold, new, self.x_tol, ties, probe))

        def begun(frame: Frame, length: float) -> BlockState:
            best = recommend(manifold, frame, None, domain)
            return BlockState(frame, best, length, symmetry=Symmetry.begun(state.longest))

        return (yield from doubted(manifold, new, rng, domain, not self.min_radius, begun))
