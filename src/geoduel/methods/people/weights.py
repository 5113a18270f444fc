"""A belief as weights, of particles or of the cells of a grid; and what an answer would tell.

``w`` holds n weights that sum to 1. ``worlds`` holds several such beliefs, shape (k, n): those that
answers still to come may lead to. ``chances`` holds the probabilities of the answers to m
questions, such as "a", "b" and tie, given each particle: shape (3, n, m).
"""

from __future__ import annotations

import numpy as np

__all__ = ["drawn", "imagined", "information", "radius_holding"]


def drawn(w: np.ndarray, n: int, offset: float) -> np.ndarray:
    """Indices of n particles, evenly spaced in the cumulated weights, from an offset in [0, 1)."""
    return np.minimum(np.searchsorted(np.cumsum(w), (np.arange(n) + offset) / n), len(w) - 1)


def radius_holding(share: float, distances: np.ndarray, w: np.ndarray) -> float:
    """Radius of the ball that holds a share of the weights, from the distances to its centre."""
    order = np.argsort(distances)
    return float(np.interp(share, np.cumsum(w[order]), distances[order]))


def imagined(rng: np.random.Generator, chances: np.ndarray, truth: int) -> np.ndarray:
    """Likelihoods (m, n) of answers that are drawn as if one particle were the truth."""
    m = chances.shape[-1]
    steps = np.cumsum(chances[:, truth], axis=0)
    answer = np.sum(rng.random(m) * steps[-1] > steps[:-1], axis=0)
    return chances[answer, :, np.arange(m)]


def information(worlds: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Mutual information of answer and particle for each question, in nats, averaged over worlds.

    H(Σ_i w_i p_i) - Σ_i w_i H(p_i), which an answer is expected to take from the entropy of w.
    """
    gain = np.zeros(chances.shape[-1])
    for p in chances:
        gain += np.mean(worlds @ _xlogx(p) - _xlogx(worlds @ p), axis=0)
    return gain


def _xlogx(x: np.ndarray) -> np.ndarray:
    return x * np.log(np.maximum(x, 1e-300))
