"""How strongly a point is preferred: "slightly" or "clearly", and what a rater means by it.

A rater who looks sees a difference and calls it clear beyond a threshold of their own. Or the
strength has nothing to do with it, and is "clearly" in some share of these cases. Thresholds, that
share and how often strengths mean something are learned for each rater, on a grid. What is believed
of them is a `usage`: a row of weights, by which the probability of a strength is a mixture.
"""

from __future__ import annotations

import itertools

import numpy as np

from .observer import sigmoid

__all__ = ["CLEARLY", "SLIGHTLY", "USAGE", "learned", "share_clear", "stated", "unheard"]

SLIGHTLY, CLEARLY = 1, 2  # as methods take them; 0: no strength was stated

# Grid of what raters may mean, with prior weights. Thresholds are lengths, in the middle of the
# JNDs that are believed possible: a threshold in the rater's own JND would be as uncertain as that.
THRESHOLDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
LIKELY = (0.5, 1.0, 1.0, 1.0, 1.0, 0.7, 0.4)
ARBITRARY = ((0.05, 0.3, 1.0), (0.35, 0.15, 0.5))  # share of strengths that tell nothing
CLEAR = (0.1, 0.3, 0.5, 0.7, 0.9)  # share of "clearly" among those
USAGE = len(THRESHOLDS) + 3
"""Numbers in a usage: weights of the thresholds, of an arbitrary "clearly" and "slightly", which
sum to 1, and the share of "clearly" among arbitrary strengths."""


def _grid() -> tuple[np.ndarray, ...]:
    """Index of the threshold, arbitrary share, share of "clearly", and log prior, flattened."""
    axes = range(len(THRESHOLDS)), ARBITRARY[0], CLEAR
    k, share, clear = np.array(list(itertools.product(*axes))).T
    weights = LIKELY, ARBITRARY[1], np.ones(len(CLEAR))
    prior = np.prod(list(itertools.product(*weights)), axis=1)
    return k.astype(int), share, clear, np.log(prior / prior.sum())


GRID = _grid()


def unheard() -> np.ndarray:
    """The usage of a rater who has stated no strength yet, shape (USAGE,)."""
    return _usage(np.exp(GRID[3]))


def learned(y: np.ndarray, unit: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """The usage of a rater, from m answers with a strength, shape (USAGE,).

    Parameters
    ----------
    y : ndarray of shape (n, m)
        Differences in favour of what was preferred, in units of the logistic's argument, as n
        particles of equal weight see them. Their spread is what is not known of the differences.
    unit : ndarray of shape (n, m)
        The unit of the thresholds, in the same units.
    strength : ndarray of shape (m,)
        `SLIGHTLY` or `CLEARLY`.
    """
    seen = sigmoid(y)
    beyond = [sigmoid(y - t * unit) / seen for t in THRESHOLDS]
    clear = np.clip([np.mean(r, axis=0) for r in beyond], 1e-6, 1 - 1e-6)
    k, share, often, score = GRID
    for r, s in zip(clear.T, strength, strict=True):
        p = (1 - share) * r[k] + share * often
        score = score + np.log(p if s == CLEARLY else 1 - p)
    w = np.exp(score - score.max())
    return _usage(w / w.sum())


def _usage(w: np.ndarray) -> np.ndarray:
    k, share, often, _ = GRID
    thresholds = np.bincount(k, w * (1 - share), len(THRESHOLDS))
    return np.append(thresholds, [w @ (share * often), w @ (share * (1 - often)), w @ often])


def stated(
    y: np.ndarray, unit: np.ndarray, strength: np.ndarray, usage: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probability that a rater who looks prefers this point, and as strongly, shape (n, m).

    Also its derivatives with ``y`` and with the logarithm of ``unit``. Arguments are those of
    `learned`, and ``usage`` of shape (USAGE, m). Both strengths together have probability
    1/(1 + exp(-y)), that of a duel.
    """
    usage = usage.astype(y.dtype)
    any_ = sigmoid(y)
    bump = any_ * (1 - any_)
    clear, slope = usage[-3] * any_, usage[-3] * bump
    stretch = np.zeros_like(y)
    for t, weight in zip(THRESHOLDS, usage, strict=False):
        beyond = sigmoid(y - y.dtype.type(t) * unit)
        rise = weight * beyond * (1 - beyond)
        clear, slope = clear + weight * beyond, slope + rise
        stretch = stretch - rise * y.dtype.type(t) * unit
    is_clear = strength == CLEARLY
    return (
        np.where(is_clear, clear, np.maximum(any_ - clear, 0)),
        np.where(is_clear, slope, bump - slope),
        np.where(is_clear, stretch, -stretch),
    )


def share_clear(strength: np.ndarray, usage: np.ndarray) -> np.ndarray:
    """Share of a strength among the answers that ignore the question, shape (m,)."""
    return np.where(strength == CLEARLY, usage[-1], 1 - usage[-1])
