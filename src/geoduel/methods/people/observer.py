"""Raters: what the methods assume about how people answer, and what they have learned of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .attention import Verdict

__all__ = ["Observer", "Raters", "chance", "sigmoid"]

# Priors of what differs from person to person. Bias and tie width are in units of the logistic's
# argument, where a JND is `SLOPE`.
JND_SPREAD = 0.8  # log JND: tanh(this · normal) runs about evenly over its range, from -1 to 1
WEBER_MEDIAN, WEBER_SPREAD = 0.015, 1.5  # log-normal: the Weber fraction
LAPSE_MEDIAN, LAPSE_SPREAD = 0.03, 0.8  # logit-normal: share of answers that ignore the question
LEFT_MEDIAN, LEFT_SPREAD = 0.5, 1.2  # logit-normal: share of "left" among those
BIAS_SPREAD = 0.25  # normal about 0: what is added for the left picture
TIE_MEDIAN, TIE_SPREAD = 0.35, 1.0  # log-normal: differences below are ties, if any are
LAPSED_TIES = 1e-3  # share of ties among the answers that ignore the question


@dataclass(frozen=True)
class Observer:
    """What is known about one rater: posterior means.

    Attributes
    ----------
    answers : int
        Number of questions answered, ties included; a ranking is one answer.
    jnd : float
        Just-noticeable difference near the ideal, a geodesic length: a difference that is told
        right three times out of four.
    lapse : float
        Share of answers that ignore the question.
    left : float
        Share of "left" among those; 1/2 if neither side is favoured.
    bias : float
        Advantage of the left picture, in JND.
    tie : float
        Differences below this many JND are called a tie, where the rater calls any.
    weber : float
        Growth of the JND with the mean distance of the two points from the ideal, a fraction.
    verdict : Verdict, optional
        Whether they look at what they are shown, and what says so.
    """

    answers: int
    jnd: float
    lapse: float
    left: float
    bias: float
    tie: float
    weber: float = 0.0
    verdict: Verdict | None = None


class Raters(NamedTuple):
    """The raters so far, and how often each has answered; "" is for answers without a name.

    ``answers`` counts the choices that they made, and ``questions`` the questions answered: a
    ranking of four is three choices.
    """

    names: tuple[str, ...] = ()
    answers: tuple[int, ...] = ()
    questions: tuple[int, ...] = ()

    def hear(self, name: str, most: float = math.inf, more: bool = False) -> tuple[Raters, int]:
        """Count one choice of a rater; also return the index of the rater.

        A new rater takes the next index, or the first if nobody has answered. Beyond ``most``
        raters, new ones share the last index. ``more``: the choice belongs to the last answer.
        """
        names, answers, questions = self if any(self.answers) else ((), (), ())
        if name not in names and len(names) < most:
            names, answers, questions = (*names, name), (*answers, 0), (*questions, 0)
        r = names.index(name) if name in names else len(names) - 1
        choices = tuple(n + (i == r) for i, n in enumerate(answers))
        answered = tuple(n + (i == r and not more) for i, n in enumerate(questions))
        return Raters(names, choices, answered), r


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1/(1 + exp(-x)) without overflow, in the dtype of ``x``."""
    return 1 / (1 + np.exp(-np.clip(x, -40, 40)))


def chance(looked: np.ndarray, lapse: np.ndarray, share: np.ndarray | float) -> np.ndarray:
    """Probability of an answer, λ·share + (1 - λ)·looked.

    ``looked`` is its probability if the rater looks at the question, ``share`` its share among the
    answers that ignore it; for a tie that is `LAPSED_TIES`.
    """
    return lapse * share + (1 - lapse) * looked
