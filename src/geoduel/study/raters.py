"""Who answered, and how: what repeats, sides and turns tell of each rater."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass, field, replace

import numpy as np

from ..methods.people.attention import Attention, Verdict

__all__ = ["Rater", "Tally", "against_others", "agreement", "composed"]

PRIOR = (4.0, 1.0)  # repeats agreed and not, as if seen before the first: a rater wrong one in nine
SURE = 0.05  # least error rate that a rater is credited with
# How often a rater who looks answers a repeat as before; close pairs are told by chance.
ALIKE = 0.8
CHANCE = 0.05  # of so many wrong answers to easy questions, by coin: below it a rater contradicts


def composed(name: str) -> str:
    """The one of several spellings that look the same: "ë" in one character, no needless space."""
    return " ".join(unicodedata.normalize("NFC", name).split())


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
    verdict : str
        "looks", "answers like a coin", "contradicts" what the others say, "favours left", "favours
        right", "alternates sides", or "too early to say".
    evidence : str
        The counts behind the verdict, in words.
    doubt : float
        Probability that the answers do not depend on what is shown.
    """

    answers: int
    ties: int
    skips: int
    repeats: int
    agreed: float
    consistency: float | None
    weight: float
    verdict: str = "too early to say"
    evidence: str = ""
    doubt: float = 0.5


@dataclass(slots=True)
class Tally:
    """Running counts of one rater."""

    answers: int = 0
    ties: int = 0
    skips: int = 0
    repeats: int = 0
    agreed: float = 0.0
    sides: list[int] = field(default_factory=list)  # 1 for each answer "left", -1 for "right"

    def count(self, answer: str, by: int, left: str | None = None) -> None:
        """Count an answer (by = 1), or take the last one back (-1); ``left`` is the left point."""
        if left is not None and answer in ("a", "b"):
            if by > 0:
                self.sides.append(1 if answer == left else -1)
            else:
                self.sides.pop()
        self.answers += by * (answer != "skip")
        self.ties += by * (answer == "tie")
        self.skips += by * (answer == "skip")

    def compare(self, first: str, again: str, by: int) -> None:
        """Count the two answers to one duel. Skips say nothing."""
        if (alike := agreement(first, again)) is not None:
            self.repeats += by
            self.agreed += by * alike

    @property
    def weight(self) -> float:
        """Log-odds that an answer is right.

        A rater who is wrong with probability p gives the same answer twice with probability
        1 - 2p(1-p).
        """
        q = (self.agreed + PRIOR[0]) / (self.repeats + sum(PRIOR))
        p = (1 - math.sqrt(max(0.0, 2 * q - 1))) / 2
        return math.log((1 - p) / p) if p > SURE else MOST

    def verdict(self) -> Verdict:
        """Whether the rater looks, from repeats, sides and turns alone."""
        sides = np.array(self.sides)
        same = float(np.sum(sides[1:] == sides[:-1]))
        apart = self.repeats - self.agreed
        looks = self.agreed * math.log(2 * ALIKE) + apart * math.log(2 * (1 - ALIKE))
        found = Attention(
            looks=np.array([looks]),
            sides=np.array([[np.sum(sides > 0), np.sum(sides < 0)]]),
            turns=np.array([[same, max(len(sides) - 1, 0) - same]]),
            easy=np.zeros((1, 2)),
            last=np.zeros(1),
        ).verdict(0)
        if found.kind.startswith(("favours", "alternates")):
            return found
        alike = f"{self.agreed:g} of {self.repeats} repeats answered as before"
        return replace(found, evidence=alike if self.repeats else "no question was repeated")

    def report(self, verdict: Verdict | None = None) -> Rater:
        """The counts, frozen, with a verdict: by default what the counts say."""
        share = self.agreed / self.repeats if self.repeats else None
        said = self.verdict() if verdict is None else verdict
        return Rater(
            self.answers,
            self.ties,
            self.skips,
            self.repeats,
            self.agreed,
            share,
            self.weight,
            said.kind,
            said.evidence,
            said.doubt,
        )


def agreement(first: str, again: str) -> float | None:
    """How far two answers of one rater to one duel agree, from 0 to 1; None if one is a skip."""
    if "skip" in (first, again):
        return None
    return 1.0 if first == again else 0.5 if "tie" in (first, again) else 0.0


def against_others(verdict: Verdict, own: Verdict, right: float, wrong: float) -> Verdict:
    """The verdict on one of several raters, given easy questions answered as expected and not.

    Somebody whose answers go together, but not with those of the others, likes something else; so
    does somebody who mostly answers easy questions the other way. ``own`` is the verdict from the
    rater's own answers alone.
    """
    n, k = round(right + wrong), round(wrong)
    if verdict.kind not in ("answers like a coin", "too early to say"):
        return verdict
    if sum(math.comb(n, j) for j in range(k, n + 1)) < CHANCE * 2**n:
        against = f"{k} of {n} easy questions answered against what the others said"
        return Verdict("contradicts", verdict.doubt, against)
    if verdict.kind == "answers like a coin" and own.kind == "looks":
        against = f"by the own answers, {own.evidence}; by the others', {verdict.evidence}"
        return Verdict("contradicts", own.doubt, against)
    return verdict


MOST = math.log((1 - SURE) / SURE)
"""Weight of a rater whose repeats always agree."""
