"""What a descent doubts: that longer probes are right, and that nothing better is left."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...domains.base import Domain
from ...manifolds.base import Manifold
from ..duels import duels
from ..frame import Frame
from .first_step import directions
from .noise import votes

__all__ = ["Anchor", "Claim", "beats", "look_around"]

FOLLOWS = 1.5  # the anchor follows where probes are shorter by this factor
UNEARNED = 2.0  # growth of the probes, times what chance makes of it, that no duel has to confirm
MOVED = 0.003  # share of the length of its first probes by which a descent moves from a false end
MOST = 10  # directions at each length
STRIDE = 10.0  # ratio of the lengths at which a run looks around before it ends


class Anchor(NamedTuple):
    """The last point from which probes were allowed to grow, and their length there.

    Where f is steeper on one side, a mirrored duel of length δ balances at a distance of about δ
    from the optimum. Then x has to move by the change of δ. New signs follow that displacement
    whichever way δ changes, so growth would feed itself. Only a duel with a point of the past
    can tell such growth from progress.
    """

    point: Array
    length: float

    def follow(self, point: Array, length: float) -> Anchor:
        """The anchor after a block: probes that have shrunk take it along."""
        return Anchor(point, length) if length < self.length / FOLLOWS else self

    def doubts(self, length: float, d: int, gain: float) -> bool:
        """Whether a duel has to confirm that probes have grown to that length."""
        return length > UNEARNED * math.exp(2 * gain / math.sqrt(d)) * self.length


class Claim(NamedTuple):
    """The end of a run that is doubted, for the descent after it to beat.

    Attributes
    ----------
    point : array
        Where it was; it is returned until it is beaten.
    length, compared : float
        Length of the probes with which the descent after it began, and when the two were compared
        last.
    uncertainty : float or None
        What was stated there; None once it is known to be no minimum.
    """

    point: Array
    length: float
    compared: float
    uncertainty: float | None

    @classmethod
    def of(cls, point: Array, length: float, uncertainty: float | None) -> Claim:
        """Before the descent that doubts it."""
        return cls(point, length, length, uncertainty)

    def due(self, length: float) -> bool:
        """Whether probes have become short enough for another comparison."""
        return not self.compared / 3 <= length <= 3 * self.compared

    def asked(self, length: float) -> Claim:
        """After a comparison that it has not lost."""
        return self._replace(compared=length)

    @property
    def least(self) -> float:
        """Least distance of a point that shows it to be wrong, beyond what rounding does."""
        return MOVED * self.length


def beats(x: Array, y: Array, flip_rate: float) -> Generator[tuple[Array, Array], Any, float]:
    """Duels of x and y: positive if x is better, 0 for ties; with noise a majority, 19 of 20 right.

    Parameters
    ----------
    x, y : array
        Points.
    flip_rate : float
        Probability of a wrong answer.
    """
    ahead = 0.0
    for _ in range(votes(flip_rate)):
        ahead -= float((yield x, y))
    return ahead


def look_around(
    manifold: Manifold,
    frame: Frame,
    shortest: float,
    longest: float,
    rng: np.random.Generator,
    domain: Domain | None,
    flip_rate: float,
) -> Generator[tuple[Array, Array], Any, np.ndarray | None]:
    """Duels of the base point with others at several distances, in up to ten directions each.

    Returns the coordinates of a point that is better, or None: the farthest of those that won,
    if it wins again where answers are noisy.
    """
    m, n = min(manifold.dim, MOST), 1 + math.ceil(math.log(max(1.0, longest / shortest), STRIDE))
    lengths = np.geomspace(longest, min(longest, shortest), n)
    c = np.concatenate([r * directions(rng, manifold.dim, m) for r in lengths])
    won = yield from duels(manifold, frame, c, 0 * c, domain)
    if not (won < 0).any():
        return None
    better = c[int(np.argmax(won < 0))]
    if flip_rate:
        ahead = yield from beats(frame.at(manifold, better, domain), frame.point, flip_rate)
        return better if ahead > 0 else None
    return better
