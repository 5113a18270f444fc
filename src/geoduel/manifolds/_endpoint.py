"""The geodesic endpoint problem on the Stiefel manifold, by Newton's method.

Geodesics from the frame X stay in the span of [X Q], Q orthonormal and normal to X, that holds the
end point. In this basis all matrices are at most 2p x 2p. The tangent vector is [A; B], its
coordinates u are the entries of A below the diagonal and those of B, and it leads to

    e^Ω [I; 0] e^{(1-c)A},    Ω = [[cA, -Bᵀ], [B, 0]],

with c = 1 for the canonical metric and 2 for the Euclidean one. Shooting (Zimmermann and Hüper
2022) converges linearly, the slower the farther the points. Newton's method takes three to seven
steps up to the injectivity radius, and gives the derivative of the logarithm as well.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._numerics.arrays import Array, constant, cos_sinc, device, dot, eps, namespace, safe_sqrt
from ._frames import flat, frobenius, identity

__all__ = [
    "Flow",
    "Shortest",
    "average",
    "combine",
    "coordinates",
    "layout",
    "linearize",
    "shortest",
    "skew",
    "solve",
    "tolerance",
]


class Shortest(NamedTuple):
    """Shortest geodesics found for a stack of targets."""

    u: Array
    residual: (
        Array  # Frobenius distance by which the target was missed; above `tolerance`: not found
    )
    ambiguous: Array  # another geodesic is as short, or is infinitely near


class Flow(NamedTuple):
    """The geodesic of u, and how its end point moves with u."""

    back: Array  # e^{-Ω}
    turn: Array  # e^{(c-1)A}
    jacobian: Array  # of the end point, moved back to the start by `back` and `turn`


def shortest(target: Array, c: int, radius: float) -> Shortest:
    """Solve for a stack of targets; where the answer may not be the shortest, from many starts.

    A geodesic shorter than the injectivity radius is the shortest. Of the others the search goes on
    until two more starts have led to the best.
    """
    xp = namespace(target)
    m, p = target.shape[-2:]
    chord = _chord(target)
    u, residual = _newton(target, chord, c)
    length = _length(u, residual, target, c)
    doubt, ambiguous = ~(length < radius), length > math.inf
    votes = xp.zeros_like(length)
    close = eps(u) ** 0.375
    count = xp.arange(1, u.shape[-1] + 1, dtype=u.dtype, device=device(u))
    for k in range(c - 1, 9):
        if not bool(xp.any(doubt)):
            break
        some, old, best = target[doubt], u[doubt], length[doubt]
        if k == 0:  # the Euclidean problem is the more benign; it leads on to the canonical one
            new, _ = _newton(some, chord[doubt], 2.0)
            new, _ = _newton(some, new, 1.5)
        else:  # as good as random, but the same each time
            far = xp.cos(k * count * count)
            new = xp.zeros_like(old) + (1 + 0.5 * k) / xp.sqrt(dot(far, far)) * far
        new, miss = _newton(some, new, c)
        reach = _length(new, miss, some, c)
        shorter = reach < best
        level = (reach < best + close) & (reach > best - close)
        equal = dot(new - old, new - old) < 1e-6
        u[doubt] = xp.where(shorter[..., None], new, old)
        residual[doubt] = xp.where(shorter, miss, residual[doubt])
        length[doubt] = xp.where(shorter, reach, best)
        ambiguous[doubt] = xp.where(level, ambiguous[doubt] | ~equal, ambiguous[doubt] & ~shorter)
        if k > 0:
            votes[doubt] += xp.where(level & equal, 1.0, 0.0)
            doubt = doubt & (votes < 2)
    doubt = ~(length < radius)
    if bool(xp.any(doubt)):
        jacobian = linearize(u[doubt], m, p, c).jacobian
        ambiguous[doubt] = ambiguous[doubt] | (xp.linalg.svdvals(jacobian)[..., -1] < close)
    return Shortest(u, residual, ambiguous)


def linearize(u: Array, m: int, p: int, c: float) -> Flow:
    """The end point of the geodesic u, and how it moves with u."""
    xp = namespace(u)
    rows, columns, *_ = layout(m, p, c, xp, u.dtype, device(u))
    back, jacobian = _moving(skew(u, m, p, c), rows, columns)
    split = p * (p - 1) // 2
    jacobian[..., :split] *= c
    if c == 1:
        return Flow(back, identity(u, p), jacobian)
    omega = (c - 1) * skew(u, m, p, 1)[..., :p, :p]
    unturn, turning = _moving(omega, rows[:split], columns[:split])
    jacobian[..., :split, :split] -= (c - 1) * turning
    return Flow(back, unturn.mT, jacobian)


def average(u: Array, m: int, p: int, c: float) -> Array:
    """∫ e^{sΩ} ds over [0, 1]."""
    i, w, q = _eigen(skew(u, m, p, c))
    return _function(q, _mean(-i, w))


def solve(jacobian: Array, rest: Array) -> Array:
    """Least-squares step, damped just enough to bear a singular Jacobian."""
    normal = jacobian.mT @ jacobian + eps(rest) * identity(rest, jacobian.shape[-1])
    return namespace(rest).linalg.solve(normal, jacobian.mT @ rest[..., None])[..., 0]


def coordinates(v: Array) -> Array:
    """Coordinates u of [A; B], m x p; of the top the skew part counts."""
    xp = namespace(v)
    m, p = v.shape[-2:]
    rows, columns, *_ = layout(m, p, 1, xp, v.dtype, device(v))
    top = v[..., :p, :]
    v = xp.concat([0.5 * (top - top.mT), v[..., p:, :]], axis=-2)
    return xp.take(flat(v), p * rows + columns, axis=-1)


def combine(x: Array, q: Array, u: Array) -> Array:
    """The tangent vector XA + QB."""
    p = x.shape[-1]
    v = skew(u, p + q.shape[-1], p, 1)[..., :p]
    return x @ v[..., :p, :] + q @ v[..., p:, :]


def skew(u: Array, m: int, p: int, c: float) -> Array:
    """Ω = [[cA, -Bᵀ], [B, 0]] of size m."""
    xp = namespace(u)
    *_, index, factor = layout(m, p, c, xp, u.dtype, device(u))
    return xp.reshape(xp.take(u, index, axis=-1), (*u.shape[:-1], m, m)) * factor


def tolerance(target: Array) -> float:
    """Residual below which one more Newton step is exact to rounding."""
    return max(eps(target) ** 0.75, 4 * target.shape[-2] * eps(target))


@constant
def layout(m: int, p: int, c: float, xp: Any, dtype: Any, where: Any) -> tuple[Array, ...]:
    """Row and column of each coordinate; coordinate and factor of each of the m² entries of Ω."""
    below = np.tri(m, k=-1, dtype=bool)
    below[:, p:] = False
    rows, columns = np.nonzero(below)
    index, factor = np.zeros((m, m), dtype=np.int64), np.zeros((m, m))
    index[rows, columns] = index[columns, rows] = np.arange(rows.size)
    factor[rows, columns] = np.where(rows < p, c, 1.0)
    factor -= factor.T
    tables = [xp.asarray(a, device=where) for a in (rows, columns, index.ravel())]
    return *tables, xp.asarray(factor, dtype=dtype, device=where)


# -- private ---------------------------------------------------------------------------------------


def _newton(target: Array, start: Array, c: float) -> tuple[Array, Array]:
    """Solve for a stack of targets; u, and by how much its predecessor missed the target."""
    xp = namespace(target)
    m, p = target.shape[-2:]
    goal = tolerance(target)
    u, step = xp.zeros_like(start), start + 0.0
    best = xp.full(start.shape[:-1], math.inf, dtype=start.dtype, device=device(start))
    live = best > goal
    for _ in range(40):
        trial = u[live] + step[live]
        flow = linearize(trial, m, p, c)
        rest = flow.back @ target[live] @ flow.turn - identity(target, m)[:, :p]
        miss = safe_sqrt(frobenius(rest, rest))
        newton = solve(flow.jacobian, coordinates(rest))
        # Half a radian at most, so that the path from the start is not left for another one.
        length = xp.sqrt(dot(newton, newton))
        newton = newton * (0.5 / xp.where(length < 0.5, 0.5, length))[..., None]
        better = miss < best[live]
        u[live] = xp.where(better[..., None], trial, u[live])
        best[live] = xp.where(better, miss, best[live])
        step[live] = xp.where(better[..., None], newton, 0.5 * step[live])
        # A step that must be cut this short has run into a minimum of the residual.
        stuck = xp.zeros_like(live)
        stuck[live] = ~better & (dot(step[live], step[live]) < 1e-6)
        live = live & (best > goal) & ~stuck
        if not bool(xp.any(live)):
            break
    return u + step, best


def _chord(target: Array) -> Array:
    """A first guess: the direction of the chord from [I; 0], with the length of an arc above it."""
    xp = namespace(target)
    m, p = target.shape[-2:]
    rest = target - identity(target, m)[:, :p]
    u = coordinates(rest)
    chord = xp.sqrt(frobenius(rest, rest) / (4 * p))
    arc = 2 * math.sqrt(p) * xp.asin(xp.where(chord < 1, chord, 1.0))
    length = xp.sqrt(dot(u, u))
    return u * (arc / xp.where(length == 0, 1.0, length))[..., None]


def _length(u: Array, residual: Array, target: Array, c: float) -> Array:
    """Length of the geodesic u, infinite if it misses its target."""
    xp = namespace(u)
    m, p = target.shape[-2:]
    v = skew(u, m, p, 1)[..., :p]
    top, low = v[..., :p, :], v[..., p:, :]
    length = xp.sqrt(0.5 * c * frobenius(top, top) + frobenius(low, low))
    return xp.where(residual <= tolerance(target), length, math.inf)


def _moving(omega: Array, rows: Array, columns: Array) -> tuple[Array, Array]:
    """e^{-Ω}, and in coordinates the map E -> ∫ e^{-sΩ} E e^{sΩ} ds on skew matrices E."""
    xp = namespace(omega)
    i, w, q = _eigen(omega)
    # The coordinate (r, c) is the entry there of E, and has the opposite at (c, r).
    above, below = xp.take(q, rows, axis=-2), xp.take(q, columns, axis=-2)
    pair = above[..., :, None] * xp.conj(below)[..., None, :]
    opposite = below[..., :, None] * xp.conj(above)[..., None, :]
    weight = _mean(i, w[..., :, None] - w[..., None, :])[..., None, :, :]
    jacobian = xp.real(flat(pair * weight) @ xp.conj(flat(pair - opposite)).mT)
    return _function(q, xp.exp(i * w)), jacobian


def _eigen(omega: Array) -> tuple[Array, Array, Array]:
    """i, w and Q with Ω = -i Q w Qᴴ."""
    xp = namespace(omega)
    i = xp.asarray(1j, dtype=xp.result_type(omega.dtype, xp.complex64), device=device(omega))
    return i, *xp.linalg.eigh(i * omega)


def _function(q: Array, values: Array) -> Array:
    xp = namespace(q)
    return xp.real((q * values[..., None, :]) @ xp.conj(q).mT)


def _mean(i: Array, w: Array) -> Array:
    """∫ e^{isw} ds over [0, 1]."""
    return namespace(w).exp(0.5 * i * w) * cos_sinc(0.25 * w * w)[1]
