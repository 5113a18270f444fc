"""How people answer: what a method assumes about them, and what it has learned of each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

__all__ = [
    "BIAS",
    "JND",
    "LAPSE",
    "LEFT",
    "SLOPE",
    "TIE",
    "WEBER",
    "Observer",
    "chance",
    "sigmoid",
]

SLOPE = math.log(3)  # a difference of one JND is told right three times out of four

# Priors: median and spread of what differs from person to person. Bias and tie width are in units
# of the logistic's argument.
JND = 0.8  # log about uniform between two ends: tanh(this * normal) runs from one to the other
WEBER = 0.06  # Weber fraction: this times max(normal, 0)², so that half have none
LAPSE = (0.03, 0.8)  # logit-normal: share of answers that do not depend on the question
LEFT = (0.5, 1.2)  # logit-normal: share of "left" among those
BIAS = 0.25  # normal about 0: what is added for the left picture
TIE = (0.35, 1.0)  # log-normal, of those who call ties: half the width of what they call so


@dataclass(frozen=True)
class Observer:
    """What is known about one rater: posterior means.

    Attributes
    ----------
    answers : int
        How many there were, ties included.
    jnd : float
        Just-noticeable difference near the ideal, a geodesic length: told right three times out of
        four.
    lapse : float
        Share of answers that do not depend on the question.
    left : float
        Share of "left" among those; 1/2 if neither side is favoured.
    bias : float
        Advantage of the left picture, in JND.
    tie : float
        Differences below this many JND are called a tie, where the rater calls any.
    weber : float
        Growth of the JND with the mean distance from the ideal of what is shown, a fraction; 0
        where that is not asked for, as by `Bisection`.
    """

    answers: int
    jnd: float
    lapse: float
    left: float
    bias: float
    tie: float
    weber: float = 0.0


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1/(1 + exp(-x)) without overflow, in the dtype of ``x``."""
    return 1 / (1 + np.exp(-np.clip(x, -40, 40)))


def chance(seen: np.ndarray, lapse: np.ndarray, share: np.ndarray | float) -> np.ndarray:
    """Probability of an answer, λ·share + (1 - λ)·seen.

    ``seen`` is its probability if the rater looks, ``share`` its share among the answers of one
    who does not; ties get a thousandth of those.
    """
    return lapse * share + (1 - lapse) * seen
