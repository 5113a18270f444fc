"""What is learned from steps that have won: their length, and their covariance."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["SUCCESS", "CholeskyFactor", "Covariance", "Factors", "cumulated", "success_rule"]

SUCCESS, PATIENCE = 2 / 11, 1 / 12  # the success rate aimed at, and how fast it is averaged
SMOOTH = 0.44  # a success rate above which the path does not learn


def cumulated(
    path: np.ndarray, h: np.ndarray, k: Any, m: int, ties: Any = 0.0
) -> tuple[np.ndarray, Any, Any]:
    """Cumulative step-size adaptation: |p| of steps that ignore each other is that of N(0, I).

    The path p after step h of iteration k, along m directions; whether it is no longer than theirs
    may be; and the logarithm of the factor on σ. Directions that have tied are missing in a step,
    which shortens |p| and says nothing of σ. ``ties`` is their running share. Leading axes are
    problems of their own.
    """
    d = h.shape[-1]
    c = (m + 2) / (d + m + 5)
    path = (1 - c) * path + math.sqrt(c * (2 - c)) * h
    normal = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))
    length = np.sqrt(np.vecdot(path, path)) / normal
    steady = length < (1.4 + 2 / (d + 1)) * np.sqrt(1 - (1 - c) ** (2 * (k + 1)))
    return path, steady, np.minimum(1.0, c / (1 + c) * (length - np.sqrt(1 - ties)))


class Covariance(NamedTuple):
    """Rank-one CMA: C = A Aᵀ learned from the path of steps, O(d²) a step.

    Coordinates are those of a transported frame, so nothing has to be carried. Leading axes of the
    arrays are problems of their own.
    """

    C: np.ndarray
    A: np.ndarray  # symmetric root of C, updated lazily
    path: np.ndarray  # p_c

    @classmethod
    def of(cls, C: np.ndarray) -> Covariance:
        """With the given covariance and no path."""
        return cls(C, _root(C), np.zeros(len(C)))

    def __matmul__(self, z: np.ndarray) -> np.ndarray:
        """A z, for one vector a problem, or for the rows of matrices."""
        if z.ndim < self.A.ndim > 2:
            return (z[..., None, :] @ self.A.mT)[..., 0, :]
        return z @ self.A.mT

    def solve(self, v: np.ndarray) -> np.ndarray:
        """A⁻¹ v, for one vector."""
        return np.linalg.solve(self.A, v)

    def learn(self, h: np.ndarray, steady: Any, k: Any, m: int, least: float = 1e-14) -> Covariance:
        """After step A h of iteration k; without ``steady`` the path only fades (h_σ of CMA-ES).

        Eigenvalues of C below ``least`` times the largest are raised in A.
        """
        d = h.shape[-1]
        cc = (4 + m / d) / (d + 4 + 2 * m / d)
        c1 = 2 / ((d + 1.3) ** 2 + m)
        new = math.sqrt(cc * (2 - cc)) * (self @ h)
        path = (1 - cc) * self.path + np.where(np.asarray(steady)[..., None], new, 0.0)
        C = (1 - c1) * self.C + c1 * (path[..., :, None] * path[..., None, :])
        late = np.asarray(k % max(1, int(1 / (c1 * d * 10))) == 0)
        A = self.A
        if late.any():
            A = A.copy()
            A[late] = _root(C[late], least)
        return Covariance(C, A, path)

    @property
    def trace(self) -> Any:
        """Tr C."""
        return np.trace(self.C, axis1=-2, axis2=-1)

    def vectors(self) -> np.ndarray:
        """What has to be transported: nothing."""
        return np.zeros((0, len(self.path)))

    def with_vectors(self, vectors: np.ndarray) -> Covariance:
        """The same with transported vectors."""
        return self


class Factors(NamedTuple):
    """LM-MA: A as a product of 4 + 3 log d rank-one factors, O(d log d) a step.

    A z = z_n with z_j = (1 - c_j) z_{j-1} + c_j m_j m_j' z_{j-1}, where m_j is a fading memory of
    steps with horizon 4^j/4 · d. The m_j are tangent vectors that are transported themselves.
    """

    m: np.ndarray  # (n, d)
    used: int = 0

    @classmethod
    def empty(cls, d: int) -> Factors:
        """A = I."""
        return cls(np.zeros((4 + int(3 * math.log(d)), d)))

    def __matmul__(self, z: np.ndarray) -> np.ndarray:
        """A z, for z of shape (..., d)."""
        d = z.shape[-1]
        for j, m in enumerate(self.m[: self.used]):
            c = 1 / (1.5**j * d)
            z = (1 - c) * z + c * (z @ m)[..., None] * m
        return z

    def solve(self, v: np.ndarray) -> np.ndarray:
        """A⁻¹ v, for one vector."""
        for j, m in reversed(list(enumerate(self.m[: self.used]))):
            c = 1 / (1.5**j * len(v))
            v = (v - c * (v @ m) / (1 - c + c * (m @ m)) * m) / (1 - c)
        return v

    def learn(self, h: np.ndarray, steady: bool, k: int, m: int, least: float = 0.0) -> Factors:
        """After the step A h of iteration k."""
        n, d = self.m.shape
        c = 4 / (4.0 ** np.arange(n) * d)[:, None]
        used = min(n, k + 1)
        learned = (1 - c) * self.m + np.sqrt(c * (2 - c)) * h
        learned[used:] = 0
        return Factors(learned, used)

    @property
    def trace(self) -> float:
        """Tr A Aᵀ, taken as d: the factors stretch few directions."""
        return float(self.m.shape[1])

    def vectors(self) -> np.ndarray:
        """The m_j in use."""
        return self.m[: self.used]

    def with_vectors(self, vectors: np.ndarray) -> Factors:
        """The same with transported m_j."""
        return Factors(np.concatenate([vectors, self.m[self.used :]]), self.used)


def _root(C: np.ndarray, least: float = 1e-14) -> np.ndarray:
    w, V = np.linalg.eigh(C)
    return (V * np.sqrt(np.maximum(w, least * w[..., -1:]))[..., None, :]) @ V.mT


def success_rule(success: float, won: bool, d: int) -> tuple[float, float]:
    """The running share of trials that won, and the factor on σ that leads it to 2/11.

    References
    ----------
    Igel, Suttorp and Hansen, A computational efficient covariance matrix update and a (1+1)-CMA for
    evolution strategies, GECCO 2006, with its constants.
    """
    success += PATIENCE * (won - success)
    return success, math.exp((success - SUCCESS) / (1 - SUCCESS) / (1 + d / 2))


class CholeskyFactor(NamedTuple):
    """A with the covariance A Aᵀ, its inverse, and the path of steps: O(d²) an update."""

    A: np.ndarray
    inverse: np.ndarray
    path: np.ndarray

    @classmethod
    def identity(cls, d: int) -> CholeskyFactor:
        """No direction is preferred."""
        return cls(np.eye(d), np.eye(d), np.zeros(d))

    def learn(self, step: np.ndarray, success: float) -> CholeskyFactor:
        """After a successful step A z: C = (1 - c) C + c p pᵀ, by a rank-one update of A."""
        A, inverse, path = self
        d = len(path)
        fade, rate = 2 / (d + 2), 2 / (d * d + 6)
        path, keep = (1 - fade) * path, 1 - rate
        if success < SMOOTH:
            path = path + math.sqrt(fade * (2 - fade)) * step
        else:
            keep += rate * fade * (2 - fade)
        w = inverse @ path
        size = float(w @ w)
        if size < 1e-20:
            return CholeskyFactor(A, inverse, path)
        root, grow = math.sqrt(keep), math.sqrt(1 + rate / keep * size)
        A = root * A + root / size * (grow - 1) * np.outer(path, w)
        inverse = (inverse - (1 - 1 / grow) / size * np.outer(w, w @ inverse)) / root
        return CholeskyFactor(A, inverse, path)
