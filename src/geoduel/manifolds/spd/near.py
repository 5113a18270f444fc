"""Logarithm and distance of SPD matrices that are near each other, by series."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import numpy as np

from ..._numerics.arrays import Array, dot, namespace, safe_sqrt
from ..._numerics.gradients import tracked
from ..._numerics.linalg import (
    Polynomials,
    congruence,
    economised,
    eigh,
    eigvalsh,
    factor,
    identity,
    matmul,
)
from ..._numerics.symmetric import norm, spectral, sym
from ...errors import NotOnManifoldError
from .metric import flattened

__all__ = ["Between"]


class Between:
    """Two points, or stacks of them, seen from X + Y = M Mᵀ, through S = M⁻¹ (Y - X) M⁻ᵀ.

    Functions of Z = S² are summed as power series while the points are near, and else found from
    eigenvalues. Pairs so far apart that digits would be lost are left to `mended`; where they are
    most, methods return None.
    """

    far: Array | None = None

    def __init__(self, s: Array, root: Array, inverse: Array) -> None:
        self.s, self.root, self.inverse = s, root, inverse
        self.size2 = norm(s) ** 2
        self.near = self.size2 <= _REACHES[-1]

    @classmethod
    def of(cls, x: Array, y: Array, least: int) -> Between | None:
        """None for what torch differentiates, and for single points where it does not pay.

        It pays from the size ``least`` on, if they are near: smaller ones are diagonalised in less
        time than the powers take.
        """
        single = max(x.ndim, y.ndim) < 3
        if (single and (x.shape[-1] < least or type(x) is not np.ndarray)) or tracked(x, y):
            return None
        try:
            root, inverse = factor(x + y)
        except NotOnManifoldError:  # let the caller find out which of the two is to blame
            return None
        seen = cls(congruence(inverse, y - x), root, inverse)
        return None if single and not seen.near else seen

    def dist(self) -> Array | None:
        if self.near:
            more = matmul(self.s, _artanh(self.size2)(matmul(self.s, self.s)))
            artanh = flattened(self.s + more)
        else:
            values = self._narrow(eigvalsh(self.s))
            if values is None:
                return None
            artanh = namespace(values).atanh(values)
        return 2 * safe_sqrt(dot(artanh, artanh))

    def log(self) -> Array | None:
        z = matmul(self.s, self.s)
        more = self._function(z, _artanh, _artanh_of)
        if more is None:
            return None
        start = self.s - z
        return sym(congruence(self.root, start + matmul(start, more)))

    def carrier(self) -> Array | None:
        """The map that carries tangent vectors from X to Y; exactly I for Y = X."""
        z = matmul(self.s, self.s)
        change = self._function(z, _root, _root_of)
        if change is None:
            return None
        change = change + self.s + matmul(self.s, change)
        return identity(change) + matmul(matmul(self.root, change), self.inverse)

    def _function(self, z: Array, series: Series, f: Callable[[Array], Array]) -> Array | None:
        if self.near:
            return series(self.size2)(z)
        values, q = eigh(self.s)
        values = self._narrow(values)
        return None if values is None else spectral(q, f(values * values))

    def _narrow(self, values: Array) -> Array | None:
        """Eigenvalues s, but 0 for the pairs of which 1 - |s| has lost a factor of 32: `far`."""
        xp = namespace(values)
        far = ~(xp.max(abs(values), axis=-1) <= 31 / 32)
        count = int(xp.sum(xp.astype(far, xp.int64)))
        if not count:
            return values
        self.far = far
        return xp.where(far[..., None], 0.0, values) if 2 * count <= math.prod(far.shape) else None

    def mended(
        self, result: Array, method: Callable[[Array, Array], Array], x: Array, y: Array
    ) -> Array:
        """The result, with what ``method`` says of the far pairs alone."""
        if self.far is not None:
            x, y = namespace(x, y).broadcast_arrays(x, y)
            result[self.far] = method(x[self.far], y[self.far])
        return result


Series: TypeAlias = Callable[[float], Polynomials]

# The largest |S|² for which 4, 8, ... terms of the series, economised, are right to rounding.
_REACH = tuple(Fraction(r) for r in ("1/2500", "1/25", "4/25", "3/10", "9/20"))
_REACHES = tuple(map(float, _REACH))


def _series(taylor: Callable[[int], Fraction]) -> Series:
    """Polynomials for a power series that is 0 at 0 and converges up to 1, by the largest z."""

    @cache
    def economical(rows: int) -> Polynomials:
        reach = _REACH[rows - 1]
        enough = math.ceil(44 / -math.log(reach))  # reach to this power is 1e-19
        over_z = [taylor(k) for k in range(1, 4 * rows + enough)]
        return Polynomials([0.0, *economised(over_z, 4 * rows, reach)])

    return lambda size2: economical(1 + bisect_left(_REACHES, size2))


# artanh(s) / s - 1 in z = s²,  and  (1 - z)^{-1/2} - 1.
_artanh = _series(lambda k: Fraction(1, 2 * k + 1))
_root = _series(lambda k: Fraction(math.comb(2 * k, k), 4**k))


def _artanh_of(z: Array) -> Array:
    xp = namespace(z)
    s = xp.sqrt(xp.where(z > 0, z, xp.ones_like(z) / 2))
    return xp.where(z > 0, xp.atanh(s) / s - 1, xp.zeros_like(z))


def _root_of(z: Array) -> Array:
    root = namespace(z).sqrt(1 - z)
    return z / ((1 + root) * root)
