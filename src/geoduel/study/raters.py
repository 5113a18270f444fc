"""Who answered, and how consistently: what repeats tell of each rater."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Rater", "Tally"]

PRIOR = (4.0, 1.0)  # repeats agreed and not, as if seen before the first: a rater wrong one in nine
SURE = 0.05  # least error rate that a rater is credited with


@dataclass(frozen=True)
class Rater:
    """How one rater answered.

    Attributes
    ----------
    answers : int
        Answers that count, ties included and skips not.
    ties, skips : int
        Ties among them, and duels skipped.
    repeats : int
        Duels this rater was asked twice, with sides flipped the second time.
    agreed : float
        Those with the same answer; a tie against a win counts half.
    consistency : float or None
        Share of repeats that agreed, None before the first repeat.
    weight : float
        Log-odds that an answer is right, as far as the repeats tell: the rater's weight in a
        majority of votes.
    """

    answers: int
    ties: int
    skips: int
    repeats: int
    agreed: float
    consistency: float | None
    weight: float


@dataclass(slots=True)
class Tally:
    """Running counts of one rater."""

    answers: int = 0
    ties: int = 0
    skips: int = 0
    repeats: int = 0
    agreed: float = 0.0

    def count(self, answer: str, by: int) -> None:
        """Count an answer (by = 1), or take it back (-1)."""
        self.answers += by * (answer != "skip")
        self.ties += by * (answer == "tie")
        self.skips += by * (answer == "skip")

    def compare(self, first: str, again: str, by: int) -> None:
        """Count the two answers to one duel. Skips say nothing."""
        if first == "skip":
            return
        self.repeats += by
        self.agreed += by * (1.0 if first == again else 0.5 if "tie" in (first, again) else 0.0)

    @property
    def weight(self) -> float:
        """Log-odds that an answer is right.

        A rater who is wrong with probability p gives the same answer twice with probability
        1 - 2p(1-p).
        """
        q = (self.agreed + PRIOR[0]) / (self.repeats + sum(PRIOR))
        p = (1 - math.sqrt(max(0.0, 2 * q - 1))) / 2
        return math.log((1 - p) / p) if p > SURE else MOST

    def report(self) -> Rater:
        """The counts, frozen."""
        share = self.agreed / self.repeats if self.repeats else None
        return Rater(
            self.answers, self.ties, self.skips, self.repeats, self.agreed, share, self.weight
        )


MOST = math.log((1 - SURE) / SURE)
"""Weight of a rater whose repeats always agree."""
