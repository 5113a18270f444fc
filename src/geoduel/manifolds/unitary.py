"""Unitary matrices, by the rotations that they are of real vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._numerics.arrays import Array, namespace
from .._support.check import positive_int
from .base import Manifold
from .rotations import Rotations

__all__ = ["Unitary"]


@dataclass(frozen=True)
class Unitary(Manifold):
    """Unitary group U(n), as real arrays.

    Point         (n, n, 2), the real and imaginary parts A and B of a unitary matrix A + iB.
    Tangent       (n, n, 2), X Ω with Ω skew-Hermitian.
    Metric        <U, V> = Re tr(Uᴴ V), invariant under products from both sides;  dist is the
                  length of the vector of angles of the eigenvalues of XᴴY, taken in [-π, π].
    Dimension     n²;  curvature in [0, 1/2];  injectivity radius π.
    Source        Edelman, Arias and Smith, The geometry of algorithms with orthogonality
                  constraints, SIAM J. Matrix Anal. Appl. 20 (1998); Helgason, Differential
                  Geometry, Lie Groups, and Symmetric Spaces (1978), chapter 4.

    A point x stands for ``x[..., 0] + 1j * x[..., 1]``, since points are real everywhere in this
    package; `complex` and `real` lead there and back. What A + iB does to complex vectors, the
    rotation with the blocks A, -B; B, A does to real ones of twice the length. These rotations are
    a totally geodesic subgroup of SO(2n), whose formulas serve here.

    Matrices that differ by a phase are different points. Where the phase means nothing, every
    optimum is a circle of them.

    Parameters
    ----------
    n : int
        Size of the matrices, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> gates = Unitary(2)
    >>> hadamard = gates.real(np.array([[1, 1], [1, -1]]) / np.sqrt(2))
    >>> round(float(gates.dist(gates.origin(), hadamard)), 12)  # eigenvalues 1 and -1
    3.14159265359
    """

    n: int

    def __post_init__(self) -> None:
        positive_int(self.n, "Unitary n")

    @cached_property
    def _turns(self) -> Rotations:
        return Rotations(2 * self.n)

    @property
    def dim(self) -> int:
        return self.n**2

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.n, self.n, 2)

    @property
    def curvature(self) -> tuple[float, float]:
        return (0.0, 0.5 if self.n > 1 else 0.0)

    @property
    def injectivity_radius(self) -> float:
        return math.pi

    @property
    def bounded(self) -> bool:
        return True

    @property
    def typical_dist(self) -> float:
        return math.pi * math.sqrt(self.n) / 2

    def complex(self, x: Array) -> np.ndarray:
        """Complex matrices of shape ``(..., n, n)``, NumPy arrays."""
        return np.asarray(x[..., 0]) + 1j * np.asarray(x[..., 1])

    def real(self, matrix: np.ndarray) -> np.ndarray:
        """Points from complex matrices of shape ``(..., n, n)``."""
        return np.stack([np.real(matrix), np.imag(matrix)], axis=-1)

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return namespace(u, v).sum(u * v, axis=(-3, -2, -1))

    def dist(self, x: Array, y: Array) -> Array:
        return self._turns.dist(_turn(x), _turn(y))

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        path = self._turns.geodesic(_turn(x), _turn(v))
        return lambda t: _half(path(t), self.n)

    def log(self, x: Array, y: Array) -> Array:
        return _half(self._turns.log(_turn(x), _turn(y)), self.n)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        return _half(self._turns.transport_along(_turn(x), _turn(v), _turn(w)), self.n)

    def to_coords(self, x: Array, v: Array) -> Array:
        """Entries of Ω: imaginary on the diagonal, and above it √2 times both parts."""
        xp, omega = namespace(x, v), _times(_adjoint(x), v)
        above = [math.sqrt(2) * omega[..., i, j, :] for i, j in self._above]
        diagonal = xp.linalg.diagonal(omega[..., 1])
        return xp.concat([diagonal, *above], axis=-1)

    def from_coords(self, x: Array, c: Array) -> Array:
        xp, n = namespace(x, c), self.n
        zero = xp.zeros_like(c[..., :1])
        rows: list[list[Array]] = [[zero] * n for _ in range(n)]
        for i in range(n):
            rows[i][i] = xp.concat([zero, c[..., i : i + 1]], axis=-1)
        for k, (i, j) in enumerate(self._above):
            entry = c[..., n + 2 * k : n + 2 * k + 2] / math.sqrt(2)
            rows[i][j] = entry
            rows[j][i] = xp.concat([-entry[..., :1], entry[..., 1:]], axis=-1)
        omega = xp.stack([xp.stack(row, axis=-2) for row in rows], axis=-3)
        return _times(x, omega)

    @property
    def _above(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(self.n) for j in range(i + 1, self.n)]

    def to_tangent(self, x: Array, a: Array) -> Array:
        omega = _times(_adjoint(x), a)
        return _times(x, (omega - _adjoint(omega)) / 2)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return self.to_tangent(x, g)

    def to_manifold(self, a: Array) -> Array:
        """The nearest unitary matrix, the polar factor.

        Raises
        ------
        NotOnManifoldError
            If it is not unique: the matrix is singular, or not finite.
        """
        return _half(self._turns.to_manifold(_turn(a)), self.n)

    def origin(self) -> Array:
        """The identity."""
        return self.real(np.eye(self.n))

    def point_defect(self, x: Array) -> tuple[str, Array]:
        return self._turns.point_defect(_turn(x))

    def __repr__(self) -> str:
        return f"Unitary({self.n})"


def _turn(x: Array) -> Array:
    """The real matrix of twice the size that does the same."""
    xp, a, b = namespace(x), x[..., 0], x[..., 1]
    return xp.concat([xp.concat([a, -b], axis=-1), xp.concat([b, a], axis=-1)], axis=-2)


def _half(turn: Array, n: int) -> Array:
    """The inverse of `_turn`; rounding in both copies is averaged."""
    xp = namespace(turn)
    a = (turn[..., :n, :n] + turn[..., n:, n:]) / 2
    b = (turn[..., n:, :n] - turn[..., :n, n:]) / 2
    return xp.stack([a, b], axis=-1)


def _times(x: Array, y: Array) -> Array:
    """Products of complex matrices."""
    a, b, c, d = x[..., 0], x[..., 1], y[..., 0], y[..., 1]
    return namespace(x, y).stack([a @ c - b @ d, a @ d + b @ c], axis=-1)


def _adjoint(x: Array) -> Array:
    return namespace(x).stack([x[..., 0].mT, -x[..., 1].mT], axis=-1)
