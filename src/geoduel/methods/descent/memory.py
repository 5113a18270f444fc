"""What DuelNewton remembers: recent duels one by one, and gradients found from the older ones.

Both are kept in whitened coordinates relative to the present point, so they move along with it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .face import Face

__all__ = ["Memory", "Stretch", "Window", "logistic", "whitened"]

# Frozen; docs/notebook/duel-newton.md says what they were tuned on.
FAITH = 0.3  # precision of a remembered gradient, as a share of that of its answers
CURVED = (0.13, 10.0)  # misfit from which remembered gradients fade, and by how much a block


class Stretch(NamedTuple):
    """The symmetric matrix I + U diag(w - 1) U': the identity but for few directions.

    Attributes
    ----------
    w : ndarray of shape (r,)
        Eigenvalues.
    U : ndarray of shape (d, r)
        Their orthonormal eigenvectors.

    Examples
    --------
    >>> H = Stretch(np.array([4.0]), np.array([[1.0], [0.0]]))
    >>> H(np.ones(2)), H.root.inverse(np.ones(2))
    (array([4., 1.]), array([0.5, 1. ]))
    """

    w: np.ndarray
    U: np.ndarray

    @classmethod
    def identity(cls, d: int) -> Stretch:
        """The identity."""
        return cls(np.ones(0), np.zeros((d, 0)))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The matrix times the rows of x, shape (..., d)."""
        y = ((x @ self.U) * (self.w - 1)) @ self.U.T
        y += x
        return y

    @property
    def root(self) -> Stretch:
        """The square root, of positive eigenvalues."""
        return self._replace(w=np.sqrt(self.w))

    @property
    def inverse(self) -> Stretch:
        """The inverse."""
        return self._replace(w=1 / self.w)


class Window(NamedTuple):
    """The recent duels, whitened: s_i tells the sign of the slope along e_i at the centre z_i.

    Attributes
    ----------
    directions : ndarray of shape (N, d)
        e_i, of unit length in the metric of their time.
    centres : ndarray of shape (K, d)
        The different z_i, relative to the present point: one a block, but for domains.
    about : ndarray of shape (N,)
        The row of ``centres`` that is z_i.
    answers, blurs : ndarray of shape (N,)
        s_i (+1: downhill is -e_i; 0: a tie, so that the slope is small), and the width w_i of the
        sigmoid.
    """

    directions: np.ndarray
    centres: np.ndarray
    about: np.ndarray
    answers: np.ndarray
    blurs: np.ndarray

    @classmethod
    def empty(cls, d: int) -> Window:
        """Of no duels."""
        nothing = np.zeros(0)
        return cls(np.zeros((0, d)), np.zeros((0, d)), nothing.astype(int), nothing, nothing)

    @classmethod
    def of_pair(cls, a: np.ndarray, b: np.ndarray, answer: int, blur: float) -> Window:
        """Of one duel between any two points, whose sigmoid is so wide in half their distance."""
        half = (a - b) / 2
        length = float(np.linalg.norm(half))
        centre, about = (a + b)[None] / 2, np.zeros(1, dtype=int)
        return cls(
            half[None] / length, centre, about, np.array([float(answer)]), np.array([blur * length])
        )

    def append(self, new: Window) -> Window:
        """Add duels."""
        new = new._replace(about=len(self.centres) + new.about)
        return Window(*(np.concatenate(both) for both in zip(self, new, strict=True)))

    def part(self, kept: slice | np.ndarray) -> Window:
        """Some of the duels, and their centres alone."""
        used, about = np.unique(self.about[kept], return_inverse=True)
        return Window(
            self.directions[kept], self.centres[used], about, self.answers[kept], self.blurs[kept]
        )

    def moved(self, p: np.ndarray, L: Stretch) -> Window:
        """The same duels seen from p, in coordinates that are L times the old ones."""
        return self._replace(directions=L(self.directions), centres=L(self.centres - p))

    def pooled(self, n: int) -> Window:
        """With one centre for each n duels in a row, the mean of theirs."""
        about = np.arange(len(self.answers)) // n
        sums = np.zeros((int(about.max(initial=-1)) + 1, self.centres.shape[1]))
        np.add.at(sums, about, self.centres[self.about])
        return self._replace(centres=sums / np.bincount(about)[:, None], about=about)

    def along(self, face: Face, A: np.ndarray) -> Window:
        """The duels along a face, flattened; those across it only say where its inside is."""
        v = self.directions @ A.T
        flat = face.flatten(v)
        kept = np.vecdot(flat, flat) > 0.9 * np.vecdot(v, v)
        return Window(
            whitened(A, flat[kept]),
            whitened(A, face.flatten(self.centres @ A.T)),
            self.about[kept],
            self.answers[kept],
            self.blurs[kept],
        )


class Memory(NamedTuple):
    """Gradients at the centres of the duels before the window, as fitted when it lost them.

    Each gradient counts once, while answers are explained anew by every fit. Signs tell the
    direction of a gradient better than its length, so its precision along itself is a separate
    number. Where f is no quadratic, no fit explains all of them: ``misfit``, the share that is not
    explained, fades them.

    Attributes
    ----------
    centres, gradients : ndarray of shape (K, d)
        z_k, relative to the present point, and g_k = g + H z_k.
    across, along : ndarray of shape (K,)
        Precision of an entry of the gradient, orthogonally to it and along it.
    misfit : float
        Running mean of the share.
    """

    centres: np.ndarray
    gradients: np.ndarray
    across: np.ndarray
    along: np.ndarray
    misfit: float = 0.1

    @classmethod
    def empty(cls, d: int) -> Memory:
        """Of nothing."""
        return cls(np.zeros((0, d)), np.zeros((0, d)), np.zeros(0), np.zeros(0))

    def weighted(self, v: np.ndarray) -> np.ndarray:
        """Rows v_k, of shape (K, d), times their precisions."""
        g = self.gradients
        share = np.vecdot(v, g) / np.maximum(np.vecdot(g, g), 1e-300)
        return self.across[:, None] * v + ((self.along - self.across) * share)[:, None] * g

    def judged(self, g: np.ndarray, H: Stretch) -> Memory:
        """Compared with a new fit, and faded if they contradict it."""
        if not len(self.centres):
            return self
        rest = self.gradients - g - H(self.centres)
        lost, explained = (float(np.vdot(a, self.weighted(a))) for a in (rest, self.gradients))
        misfit = 0.8 * self.misfit + 0.2 * lost / max(1e-300, explained)
        fade = math.exp(-CURVED[1] * max(0.0, misfit - CURVED[0]))
        return self._replace(across=fade * self.across, along=fade * self.along, misfit=misfit)

    def append(self, old: Window, g: np.ndarray, H: Stretch, lapse: float, most: int) -> Memory:
        """Add the gradients at the centres of old duels, and keep the last ``most``."""
        d = len(g)
        gradients = g + H(old.centres)
        slope = np.vecdot(old.directions, gradients[old.about])
        _, bend = logistic(1.7 * old.answers * slope / old.blurs, lapse)
        weight = FAITH * bend * (1.7 / old.blurs) ** 2

        def total(a: np.ndarray) -> np.ndarray:
            return np.bincount(old.about, a, len(gradients))

        along = total(weight * slope**2) / np.maximum(np.vecdot(gradients, gradients), 1e-300)
        across = (total(weight * np.vecdot(old.directions, old.directions)) - along) / max(1, d - 1)
        return self._replace(
            centres=np.concatenate([self.centres, old.centres])[-most:],
            gradients=np.concatenate([self.gradients, gradients])[-most:],
            across=np.concatenate([self.across, np.maximum(across, 0)])[-most:],
            along=np.concatenate([self.along, along])[-most:],
        )

    def moved(self, p: np.ndarray, L: Stretch) -> Memory:
        """The same seen from p, in coordinates that are L times the old ones."""
        return self._replace(centres=L(self.centres - p), gradients=L.inverse(self.gradients))


def whitened(A: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Coordinates, of shape (..., d), as whitened by A."""
    return np.linalg.solve(A, c.T).T


def logistic(margin: np.ndarray, lapse: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivative and majorised second derivative, negated, of log[ε + (1-2ε) σ(margin)]."""
    right = 1 / (1 + np.exp(-np.clip(margin, -40, 40)))
    rise = (1 - 2 * lapse) * right * (1 - right) / (lapse + (1 - 2 * lapse) * right)
    return rise, np.maximum(rise * (rise - (1 - 2 * right)), 0) + 1e-3 * rise + 1e-12
