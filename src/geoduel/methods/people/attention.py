"""Whether raters look at what they answer, or follow a habit: which predicts their answers better.

A method that asks what it cannot predict learns most of the ideal and nothing of the rater: a coin
answers such questions as well as anybody. Only easy questions, whose answer is all but known, tell
the two apart. `Attention` compares, for each rater, the probability that looking gave to the
answers with that of a coin, of a favoured side and of sides in turn. The methods for people report
no small region before the first is the more likely by far, and ask easy questions meanwhile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .weights import radius_holding

__all__ = ["EASY", "Attention", "Verdict", "stated_radius", "wary"]

# Prior probabilities that a rater answers like a coin, favours a side, or takes sides in turn; all
# others look.
COIN, SIDE, TURN = 0.35, 0.1, 0.05
EASY = 0.85  # a question is easy if the likelier answer is at least so likely
SURE = 0.8  # posterior probability from which on a verdict is given
WARY = 6.0  # times the odds that nobody looks, for the stated region: it is said once and for all
NEVER = 0.02  # a looking rater gives an answer at least so often, however unlikely it seems


@dataclass(frozen=True)
class Verdict:
    """What a rater's answers look like, and what it rests on.

    Attributes
    ----------
    kind : str
        "looks", "answers like a coin", "favours left", "favours right", "alternates sides",
        "contradicts" what is known from others, or "too early to say".
    doubt : float
        Probability that the answers do not depend on what is shown.
    evidence : str
        The counts behind it, in words.
    """

    kind: str
    doubt: float
    evidence: str


class Attention(NamedTuple):
    """Evidence of how raters answer; one entry a rater.

    Attributes
    ----------
    looks : ndarray of shape (raters,)
        Sum of log(2 p), where p is the probability of each answer if the rater looks.
    sides : ndarray of shape (raters, 2)
        Answers "left" and "right".
    turns : ndarray of shape (raters, 2)
        Answers for the same side as the last one, and for the other side.
    easy : ndarray of shape (raters, 2)
        Easy questions answered as expected, and otherwise.
    last : ndarray of shape (raters,)
        Side of the last answer: 1 for left, -1 for right, 0 where it is not known.
    """

    looks: np.ndarray
    sides: np.ndarray
    turns: np.ndarray
    easy: np.ndarray
    last: np.ndarray

    @classmethod
    def none(cls) -> Attention:
        """No raters yet."""
        return cls(np.zeros(0), np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0))

    def hear(self, r: int, expected: float, answer: int, left: int) -> Attention:
        """Count an answer of rater r, who may be the next new one.

        ``expected`` is the probability of "b" rather than "a" if the rater looks; ``answer`` and
        ``left`` are as in `QuestionMethod.update`. Ties tell nothing of habits.
        """
        new = self._with(r)
        if answer == 0:
            return new
        p = min(max(expected if answer > 0 else 1 - expected, NEVER), 1 - NEVER)
        new.looks[r] += math.log(2 * p)
        likelier = max(expected, 1 - expected)
        if likelier >= EASY:
            new.easy[r, int(p < 0.5)] += 1
        if side := -answer * left:
            new.sides[r, int(side < 0)] += 1
            if new.last[r]:
                new.turns[r, int(side != new.last[r])] += 1
        new.last[r] = side
        return new

    def hear_choice(self, r: int, chances: np.ndarray, best: int) -> Attention:
        """Count a choice of rater r among k points; ``chances`` are those of each, if they look.

        Places are not counted, so that it tells nothing of favoured sides.
        """
        new = self._with(r)
        k = len(chances)
        p = min(max(float(chances[best] / chances.sum()), NEVER), 1 - NEVER)
        new.looks[r] += math.log(k * p)
        if chances.max() / chances.sum() >= EASY:
            new.easy[r, int(chances[best] < chances.max())] += 1
        new.last[r] = 0
        return new

    def _with(self, r: int) -> Attention:
        """A copy, with a row for rater r."""
        new = Attention(*(x.copy() for x in self))
        if r == len(self.looks):
            new = Attention(*(np.concatenate([x, np.zeros((1, *x.shape[1:]))]) for x in self))
        return new

    def weights(self, r: int) -> dict[str, float]:
        """Posterior probabilities of how rater r answers."""
        logs = {
            "looks": math.log(1 - COIN - SIDE - TURN) + self.looks[r],
            "coin": math.log(COIN),
            "side": math.log(SIDE) + _log_share(*self.sides[r]),
            "turn": math.log(TURN) + _log_share(*self.turns[r]),
        }
        most = max(logs.values())
        total = sum(math.exp(v - most) for v in logs.values())
        return {k: math.exp(v - most) / total for k, v in logs.items()}

    def doubt(self) -> float:
        """Probability that nobody has looked: that of the rater who looks most surely."""
        if not len(self.looks):
            return COIN + SIDE + TURN
        return min(1 - self.weights(r)["looks"] for r in range(len(self.looks)))

    def verdict(self, r: int) -> Verdict:
        """What rater r's answers look like."""
        w = self.weights(r)
        doubt = 1 - w["looks"]
        left, right = map(int, self.sides[r])
        same, other = map(int, self.turns[r])
        right_easy, wrong_easy = map(int, self.easy[r])
        kind = max(w, key=lambda k: w[k])
        easy = f"{right_easy} of {right_easy + wrong_easy} easy questions answered as expected"
        if w[kind] < SURE and doubt < SURE:
            return Verdict("too early to say", doubt, easy)
        if kind == "side":
            side, n = ("left", left) if left > right else ("right", right)
            return Verdict(f"favours {side}", doubt, f"{n} of {left + right} answers were {side}")
        if kind == "turn":
            said = f"{other} of {same + other} answers were for the side not chosen before"
            if same > other:
                said = f"{same} of {same + other} answers were for the side chosen before"
            return Verdict("alternates sides", doubt, said)
        return Verdict("looks" if kind == "looks" else "answers like a coin", doubt, easy)


def wary(doubt: float) -> float:
    """The share of the stated belief for the case that nobody looks, from the doubt."""
    return WARY * doubt / (1 + (WARY - 1) * doubt)


def stated_radius(
    share: float, away: np.ndarray, w: np.ndarray, doubt: float, farthest: float
) -> float:
    """Radius of the ball that holds a share of the belief, part of which is doubt of the rater.

    ``away`` are the distances of particles with weights w from its centre, which hold if the rater
    looks. If not, the logarithm of the distance is evenly distributed between the radius for those
    who look and the ``farthest`` one.
    """
    known = radius_holding(share, away, w)
    if known >= farthest or doubt <= 0:
        return known
    order = np.argsort(away)
    radii = np.append(away[order], np.geomspace(max(known, 1e-9 * farthest), farthest, 50))
    radii = np.unique(radii)
    inside = np.interp(radii, away[order], np.cumsum(w[order]))
    lost = np.log(np.maximum(radii / known, 1)) / math.log(farthest / known)
    held = (1 - doubt) * inside + doubt * np.minimum(lost, 1)
    return float(np.interp(share, held, radii))


def _log_share(first: float, second: float) -> float:
    """Log evidence of an unknown, mostly extreme, share against a coin: Beta(1/2, 1/2)."""
    n = first + second
    evidence = math.lgamma(first + 0.5) + math.lgamma(second + 0.5) - math.lgamma(n + 1)
    return evidence - math.log(math.pi) + n * math.log(2)
