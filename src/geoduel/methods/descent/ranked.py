"""Descent by rankings: the points that are put in order, and what their order says."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from ...manifolds.base import Manifold
from ..duels import duels, rankings
from ..frame import Frame
from .first_step import directions
from .memory import Window
from .noise import Noise

__all__ = [
    "APART",
    "FASTER",
    "STEPS",
    "SURE",
    "corners",
    "corners_of_block",
    "coverage",
    "groups",
    "heard",
    "ranked",
    "scores",
    "whole",
]

# Frozen; docs/notebook/duel-newton.md says what they were tuned on.
SHARE = 0.5  # of the directions, in a block: with fresh ones the point moves twice as often
FASTER = 2.0  # shrinking of the probes, to that by as many duels as directions
STEPS = 4  # of the fit: margins are sharp
SURE = 0.03  # `LAPSE` of rankings
APART = 2  # places between the pairs that are heard, where answers are wrong
SHARP = 0.1  # width of the sigmoid, in probe lengths: neighbours in an order are close


def groups(d: int, k: int) -> tuple[int, int]:
    """How many groups of k points a block has, and how many directions each tells of.

    Examples
    --------
    >>> groups(30, 8), groups(2, 8)
    ((2, 7), (1, 2))
    """
    each = min(k - 1, d)
    return max(1, round(SHARE * d / each)), each


def coverage(d: int, k: int) -> float:
    """Share of the directions that a block tells of."""
    count, each = groups(d, k)
    return min(1.0, count * each / d)


def corners(rng: np.random.Generator, k: int, n: int) -> np.ndarray:
    """K unit vectors in n < k dimensions, turned at random, shape (k, n).

    They are the corners of a regular simplex for n = k - 1, and else those seen from n of its
    directions. Since all are as long, a sphere about the best point lies under none of them.
    """
    ones = np.ones((k, 1))
    B = np.linalg.qr(np.concatenate([ones, rng.standard_normal((k, n))], axis=1))[0][:, 1:]
    return B / np.sqrt(np.vecdot(B, B))[:, None]


def corners_of_block(rng: np.random.Generator, k: int, d: int) -> np.ndarray:
    """The unit vectors of a block, shape (r, k, d): groups in subspaces orthogonal to each other.

    The order of a group tells of its subspace, as a gradient that is known but for its length.
    """
    count, each = groups(d, k)
    e = directions(rng, d, min(d, count * each)).reshape(count, each, d)
    return np.stack([corners(rng, k, each) @ part for part in e])


def scores(places: np.ndarray) -> np.ndarray:
    """From -1 for the best to +1 for the worst, ties in the middle, shape (..., k).

    Examples
    --------
    >>> scores(np.array([1, 0, 1]))
    array([ 0.5, -1. ,  0.5])
    """
    worse = places[..., :, None] > places[..., None, :]
    return (worse.sum(axis=-1) - worse.sum(axis=-2)) / (places.shape[-1] - 1)


def whole(k: int) -> float:
    """Length of the sum of the corners times their scores, where nothing ties."""
    w = np.linspace(-1, 1, k)
    return float(np.sqrt(w @ w * k / (k - 1)))


def ranked(
    manifold: Manifold, frame: Frame, steps: np.ndarray, noise: Noise, rng: np.random.Generator
) -> Generator[Any, Any, tuple[np.ndarray, Noise]]:
    """Places of points with coordinates of shape (r, k, d); pairs of them are asked again.

    These are half of all places apart: neighbours would differ where answers are mostly right.
    """
    r, k, d = steps.shape
    places = yield from rankings(manifold, frame, steps)
    repeats, noise = noise.due(r * (k - 1), d)
    if not repeats:
        return places, noise
    row = rng.integers(r, size=repeats)
    order, place = np.argsort(places[row], axis=1), rng.integers(k - k // 2, size=repeats)
    i, j = (order[np.arange(repeats), p] for p in (place, place + k // 2))
    again = yield from duels(manifold, frame, steps[row, i], steps[row, j])
    return places, noise.see(np.sign(places[row, i] - places[row, j]), again)


def heard(e: np.ndarray, places: np.ndarray, scale: float, apart: int = 1) -> Window:
    """What rankings of the points ``scale`` e say: a duel of each pair so many places apart.

    From neighbours all others follow. Where answers are wrong, these are who changes places. Each
    duel has a centre of its own, the middle of the pair.
    """
    order = np.argsort(places, axis=1, kind="stable")
    sorted_ = np.take_along_axis(e, order[..., None], axis=1)
    at = np.take_along_axis(places, order, axis=1)
    first, second = slice(None, -apart), slice(apart, None)
    better, worse = (sorted_[:, rows].reshape(-1, e.shape[-1]) for rows in (first, second))
    signs = np.sign(at[:, second] - at[:, first]).ravel().astype(float)
    n, middles = len(signs), scale / 2 * (worse + better)
    return Window((worse - better) / 2, middles, np.arange(n), signs, np.full(n, SHARP * scale))
