"""What ties tell a descent: its probes are too short to be noticed, or it is on a plateau."""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["Ties"]

# Frozen; docs/notebook/duel-newton.md and duel-csa.md say what they were chosen on.
TIED = 60  # blocks of ties, more than of others, after which to end
MANY = 0.4  # share of ties from which a block counts as one of ties, and probes are widened
WIDEST = 1e6  # most that they are


class Ties(NamedTuple):
    """Ties of duels between different points, and how long the probes were.

    Attributes
    ----------
    share : float
        Running share of ties among duels.
    many : float
        Blocks of ties, less half of the others.
    alike : float
        Length of the longest probes most of which tied, since differences were noticed last.
    level : bool or None
        Whether x ties with points as far away as the longest probes lead; None before that is
        asked.
    least : float
        Length of the shortest probes, where ties make them grow.
    widen : float
        Factor >= 1 by which to lengthen probes, but no steps: with 40 % of ties it stays.
    """

    share: float = 0.0
    many: float = 0.0
    alike: float = 0.0
    level: bool | None = None
    least: float = math.inf
    widen: float = 1.0

    def after(self, share: float, length: float, blocks: float = 1.0) -> Ties:
        """With the share of ties among duels of probes of a length; a block is as many as d."""
        many = self.many + blocks if share >= MANY else max(0.0, self.many - blocks / 2)
        widen = self.widen * math.exp(blocks * (share - MANY))
        return Ties(
            share=(self.share + blocks * share) / (1 + blocks),
            many=many,
            alike=(max(self.alike, length) if share > 0.5 else self.alike) if many else 0.0,
            level=self.level if many else None,
            least=self.least,
            widen=min(WIDEST, max(1.0, widen)),
        )

    def before(self, length: float) -> Ties:
        """Before probes of that length."""
        return self._replace(least=min(length, self.least))

    @property
    def endless(self) -> bool:
        """Whether so many have tied that the next ones will."""
        return self.many >= TIED

    def everywhere(self, longest: float) -> bool:
        """Whether probes tie that are as long as they may be."""
        return self.many >= 1 and self.alike > 0.99 * longest

    def unclear(self, longest: float) -> bool:
        """Whether they do, and it has not been asked why: x is very good, or on a plateau."""
        return self.level is None and self.everywhere(longest)

    def lost(self, longest: float) -> bool:
        """Whether nothing tells how far the optimum is: a plateau may have no end."""
        return self.level is not False and self.everywhere(longest)
