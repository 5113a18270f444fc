"""Minimise over an interval of symmetric matrices {L ⪯ Y ⪯ U}: the numerical work of `SPDInterval`.

Everything happens in coordinates where the base point is the identity. A point of the interval is
Y = L + F W Fᵀ with F Fᵀ = U - L and 0 ⪯ W ⪯ I, so the constraint is on the eigenvalues of W alone.
Two steps alternate:

1. Frank-Wolfe. With M = Fᵀ G F, G the gradient at Y, the linear model is smallest at the projector
   on the negative eigenspace of M. It finds which eigenvalues of W are 0 and which are 1, and its
   gap tr(M (W - W')) is zero exactly at the first-order stationary points.
2. Newton, on W = sin²(T) with T symmetric and free: the constraint is gone, minimisers of W are
   minimisers of T, and the last digits come quadratically. It could rest at an eigenvalue 0 or 1
   that wants to leave; the Frank-Wolfe step frees it.

Matrices are NumPy float64. Functions of several problems take leading axes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from .._numerics.arrays import Array
from .._numerics.linalg import eigh, factor
from .._numerics.symmetric import pack, sym, unpack

__all__ = [
    "HalfSquaredDist",
    "LogTrace",
    "linear_bound",
    "newton",
    "newton_log_trace",
    "value_and_gap",
]

_EPS = float(np.finfo(np.float64).eps)
_FREE = -1  # a rank that may change


# -- objectives: functions of the eigenvalues y and eigenvectors Q of Y ----------------------------


class Smooth(Protocol):
    """Value, gradient and Hessian at Y = Q diag(y) Qᵀ; the last two in the eigenbasis of Y."""

    def value(self, y: Array, q: Array) -> Array: ...

    def gradient(self, y: Array, q: Array) -> Array: ...

    def hessian(self, y: Array, q: Array, a: Array) -> Array: ...


class LogTrace(NamedTuple):
    """Y -> tr(S log Y), the linear form <S, Log_I Y>."""

    s: Array

    def value(self, y: Array, q: Array) -> Array:
        return np.sum(((q * np.log(y)[..., None, :]) @ q.mT) * self.s, axis=(-2, -1))

    def gradient(self, y: Array, q: Array) -> Array:
        return _log_differences(y) * (q.mT @ self.s @ q)

    def hessian(self, y: Array, q: Array, a: Array) -> Array:
        differences = _second_differences(y, _log_differences(y), lambda m: -0.5 / m**2)
        return _second_derivative(differences, q.mT @ self.s @ q, a)


class HalfSquaredDist(NamedTuple):
    """Y -> |log Y|² / 2, half the squared distance from I."""

    def value(self, y: Array, q: Array) -> Array:
        return np.sum(np.log(y) ** 2, axis=-1) / 2

    def gradient(self, y: Array, q: Array) -> Array:
        return (np.log(y) / y)[..., None, :] * np.eye(y.shape[-1])

    def hessian(self, y: Array, q: Array, a: Array) -> Array:
        # Divided differences of y -> log(y) / y, by the product rule.
        log, inverse = np.log(y), 1 / y
        differences = _log_differences(y) * (inverse[:, None] + inverse) / 2
        differences -= (log[:, None] + log) * (inverse[:, None] * inverse) / 2
        return (a * differences).reshape(len(a), -1) @ a.reshape(len(a), -1).T


def _log_differences(y: Array) -> Array:
    """(log a - log b) / (a - b) over pairs of eigenvalues, without cancellation."""
    a, b = y[..., :, None], y[..., None, :]
    total = a + b
    z = (a - b) / total
    near = np.abs(z) < 1e-4
    safe = np.where(near, 0.5, z)
    return np.where(near, 1 + z * z / 3, np.arctanh(safe) / safe) * (2 / total)


def _second_differences(x: Array, first: Array, half_second_derivative) -> Array:
    """Second divided differences f[a, b, c] of a function from its first ones.

    Any two of the three arguments may be the pair that is subtracted, so the quotient is taken over
    one that is apart. Where all three agree it is half the second derivative.
    """
    a, b, c = x[:, None, None], x[None, :, None], x[None, None, :]
    size = 1e-4 * np.maximum(np.maximum(abs(a), abs(b)), abs(c))
    near_ac, near_ab = abs(a - c) <= size, abs(a - b) <= size
    by_ac = (first[:, :, None] - first[None, :, :]) / np.where(near_ac, 1.0, a - c)
    by_ab = (first[:, None, :] - first.T[None, :, :]) / np.where(near_ab, 1.0, a - b)
    with np.errstate(divide="ignore"):
        by_all = half_second_derivative((a + b + c) / 3)
    return np.where(near_ac, np.where(near_ab, by_all, by_ab), by_ac)


def _second_derivative(differences: Array, s: Array, a: Array) -> Array:
    """D² tr(S f(Y))[A_i, A_j] for a stack A of directions, all in the eigenbasis of Y.

    It is the sum over k, l, m of f[k, l, m] S_mk (A_kl B_lm + B_kl A_lm).
    """
    p, n = a.shape[:2]
    weights = differences * s  # (l, k, m): f is symmetric in its arguments
    left = (a.transpose(2, 0, 1) @ weights).transpose(1, 0, 2)  # (p, l, m)
    half = left.reshape(p, n * n) @ a.reshape(p, n * n).T
    return half + half.T


# -- the minimisation ------------------------------------------------------------------------------


class Iterate(NamedTuple):
    """W, the value there, and the eigenvalues and eigenvectors of Y = L + F W Fᵀ."""

    w: Array
    value: Array
    y: Array
    q: Array


def _at(objective: Smooth, low: Array, root: Array, w: Array) -> Iterate:
    y, q = eigh(sym(low + root @ w @ root.mT))
    y = np.maximum(y, _EPS * y[..., -1:])  # only rounding takes it below, or below zero
    return Iterate(w, objective.value(y, q), y, q)


def _gradient(objective: Smooth, root: Array, at: Iterate) -> Array:
    half = at.q.mT @ root
    return sym(half.mT @ objective.gradient(at.y, at.q) @ half)


def _frank_wolfe_step(
    objective: Smooth,
    low: Array,
    root: Array,
    at: Iterate,
    rank: Array | int = _FREE,
    tries: int = 10,
) -> tuple[Iterate, Array, Array]:
    """One Frank-Wolfe step, shortened until it descends; the gap before it, and its scale.

    With a rank k >= 0 the set is {0 ⪯ W ⪯ I, tr W = k}, and the gap is that of this set.
    """
    m = _gradient(objective, root, at)
    mu, p = eigh(m)
    rank = np.asarray(rank)[..., None]
    chosen = np.where(rank < 0, mu < 0, np.arange(mu.shape[-1]) < rank)
    towards = (p * chosen[..., None, :]) @ p.mT - at.w
    gap = np.maximum(-np.sum(m * towards, axis=(-2, -1)), 0.0)
    scale = np.sum(abs(mu), axis=-1)
    t = np.ones_like(gap)
    while True:
        trial = _at(objective, low, root, at.w + t[..., None, None] * towards)
        above = trial.value - at.value + t * gap  # the linear model
        fine = above <= 0.9999 * t * gap
        tries -= 1
        if fine.all():
            return trial, gap, scale
        if tries == 0:
            break
        shorter = t * gap / (2 * np.where(fine, 1.0, above))  # least of a parabola, in units of t
        t = np.where(fine, t, t * np.clip(shorter, 0.1, 0.5))
    axes = [fine.reshape(fine.shape + (1,) * (new.ndim - fine.ndim)) for new in trial]
    return Iterate(*map(np.where, axes, trial, at)), gap, scale


def _newton_step(objective: Smooth, low: Array, root: Array, at: Iterate) -> Iterate:
    """One Newton step of T in W = sin²(T), one problem; `at` itself if it does not descend."""
    w, v = eigh(at.w)
    t = np.arcsin(np.sqrt(np.clip(w, 0.0, 1.0)))
    basis = _symmetric_basis(len(t))
    half = at.q.mT @ root @ v
    gradient = objective.gradient(at.y, at.q)
    m = half.T @ gradient @ half
    a, b = t[:, None], t
    first = np.sin(a + b) * np.sinc((a - b) / np.pi)  # divided differences of sin²
    slope = pack(first * m)
    hessian = objective.hessian(at.y, at.q, half @ (basis * first) @ half.T)
    hessian += _second_derivative(
        _second_differences(t, first, lambda mean: np.cos(2 * mean)), m, basis
    )
    step = -_descent(hessian, slope)
    step /= max(1.0, math.sqrt(step @ step))  # radians: beyond one the model means nothing
    turn = unpack(step, len(t))
    # Near the minimum the descent is below the rounding of the value, and the step still right.
    noise = 8 * _EPS * (abs(at.value) + len(at.y) * at.y[-1] * np.max(np.abs(gradient)))
    scale = 1.0
    for _ in range(6):
        angles, axes = eigh(np.diag(t) + scale * turn)
        axes = v @ axes
        trial = _at(objective, low, root, (axes * np.sin(angles) ** 2) @ axes.T)
        if trial.value <= at.value + 1e-4 * scale * (slope @ step) + noise:
            return trial
        scale /= 4
    return at


def _descent(hessian: Array, slope: Array) -> Array:
    """|H|⁻¹ g: Newton's step, but away from saddles where curvature is negative."""
    try:
        np.linalg.cholesky(hessian)
        return np.linalg.solve(hessian, slope)
    except np.linalg.LinAlgError:
        curvature, axes = eigh(hessian)
        curvature = abs(curvature)
        floor = 1e-12 * curvature.max() + np.finfo(np.float64).tiny
        return axes @ ((axes.T @ slope) / np.maximum(curvature, floor))


@lru_cache(maxsize=32)
def _symmetric_basis(n: int) -> Array:
    """Orthonormal basis of the symmetric n × n matrices, the one of `pack`."""
    basis = unpack(np.eye(n * (n + 1) // 2), n)
    basis.flags.writeable = False
    return basis


def newton(
    objective: Smooth,
    low: Array,
    root: Array,
    w: Array,
    rank: int = _FREE,
    plain: int = 0,
    most: int = 100,
) -> tuple[Array, float, float]:
    """Stationary point reached from W, its value and its Frank-Wolfe gap; one problem.

    A given rank of W is kept until the gap is small. The first `plain` rounds are without Newton.
    Stops when the gap is at its rounding, or when six rounds have neither halved it nor lowered
    the value by a hundredth of it.
    """
    columns = np.any(root != 0, axis=0)
    if not columns.all():  # directions in which the interval has no width
        root, w, rank = root[:, columns], w[np.ix_(columns, columns)], _FREE
    at = _at(objective, low, root, w)
    best, least, since = at, np.inf, 0
    for k in range(most):
        # While Newton makes its way, Frank-Wolfe need not insist.
        tries = 10 if k <= plain or since > 0 else 2
        ahead, gap, scale = _frank_wolfe_step(objective, low, root, at, rank, tries)
        if rank != _FREE and gap <= 1e-3 * scale:
            rank = _FREE
            ahead, gap, scale = _frank_wolfe_step(objective, low, root, at, rank, tries)
        falls = at.value < best.value - 0.01 * gap - 8 * _EPS * abs(best.value)
        since = 0 if falls or gap < least / 2 else since + 1
        if falls or gap < least:
            best, least = at, float(gap)
        if gap <= 16 * _EPS * scale or since > 6:
            break
        at = ahead if k < plain else _newton_step(objective, low, root, ahead)
    return sym(low + root @ best.w @ root.T), float(best.value), max(0.0, least)


def newton_log_trace(
    s: Array, low: Array, root: Array, starts: int, steps: int = 3
) -> tuple[Array, Array, Array]:
    """Minimise tr(S log Y), which has local minima: Y, value and gap of a stack of problems.

    A few Frank-Wolfe steps from every start show which are worth finishing. The starts are random
    ones and, for every rank of W, the solution with Y in place of log Y. The rank is held while
    such a start descends: the minima of one problem mostly differ in rank, and free descents run
    into the same one.
    """
    mu, axes = eigh(sym(root.mT @ s @ root))
    w = (axes * (mu < 0)[..., None, :]) @ axes.mT
    if starts == 0:
        found = [newton(LogTrace(s[i]), low[i], root[i], w[i], plain=3) for i in range(len(s))]
    else:
        n = w.shape[-1]
        others = np.broadcast_to(_starts(n, starts), (len(w), n + 1 + starts, n, n))
        rank = np.concatenate([[_FREE], np.arange(n + 1), np.full(starts, _FREE)])
        objective, lows, roots = LogTrace(s[:, None]), low[:, None], root[:, None]
        at = _at(objective, lows, roots, np.concatenate([w[:, None], others], axis=1))
        gap = np.zeros(at.value.shape)
        for _ in range(steps):
            at, gap, _ = _frank_wolfe_step(objective, lows, roots, at, rank, tries=3)
        found = [
            _best_of(LogTrace(s[i]), low[i], root[i], at.w[i], at.value[i], gap[i], rank)
            for i in range(len(s))
        ]
    y, value, gap = zip(*found, strict=True)
    return np.stack(y), np.array(value), np.array(gap)


def _best_of(
    objective: Smooth, low: Array, root: Array, w: Array, value: Array, gap: Array, rank: Array
) -> tuple[Array, float, float]:
    """Finish the starts that may end below the best so far, unless they are on the way to it.

    The gap is the descent that the linear model promises, and most descents stay below twice that.
    """
    y = low + root @ w @ root.T
    best, ends = (y[0], math.inf, 0.0), []
    for i in np.argsort(value):
        if value[i] - 2 * gap[i] >= best[1] or any(_near(seen, y[i]) for seen in ends):
            continue
        found = newton(objective, low, root, w[i], int(rank[i]))
        ends.append(factor(found[0])[1])
        best = min(best, found, key=lambda result: result[1])
    return best


def _near(inverse: Array, y: Array) -> bool:
    """Whether Y is within a distance 0.1 of the point with this inverse factor."""
    ratios = np.linalg.eigvalsh(sym(inverse @ y @ inverse.T))
    return ratios[0] > 0 and float(np.linalg.norm(np.log(ratios))) <= 0.1


@lru_cache(maxsize=32)
def _starts(n: int, count: int) -> Array:
    """W = (k / n) I for every rank k, then random 0 ⪯ W ⪯ I, the same every time."""
    rng = np.random.default_rng(0)
    axes, _ = np.linalg.qr(rng.standard_normal((count, n, n)))
    random = (axes * rng.random((count, 1, n))) @ axes.mT
    return np.concatenate([np.arange(n + 1)[:, None, None] / n * np.eye(n), random])


def value_and_gap(objective: Smooth, y: Array, low: Array, root: Array) -> tuple[Array, Array]:
    """Value and Frank-Wolfe gap at given points Y; leading axes of problems."""
    values, q = eigh(y)
    at = Iterate(y, objective.value(values, q), values, q)
    along = np.sum(objective.gradient(values, q) * (q.mT @ (y - low) @ q), axis=(-2, -1))
    mu = np.linalg.eigvalsh(_gradient(objective, root, at))
    return at.value, along - np.sum(np.minimum(mu, 0.0), axis=-1)


def linear_bound(s: Array, low: Array, up: Array, pieces: int = 8) -> Array:
    """Lower bound of tr(S log Y) over L ⪯ Y ⪯ U, proved by operator monotone functions.

    For nodes 0 = s_0 < ... < s_J, log Y is the sum of g_j(Y) = log(Y + s_j) - log(Y + s_{j+1})
    and g_J(Y) = log(Y + s_J). By Löwner each is operator monotone, an integral of -(Y + σ)⁻¹, so
    g_j(L) ⪯ g_j(Y) ⪯ g_j(U). On that interval of g_j(Y) the linear form has the exact minimum
    tr(S g_j(L)) - tr (R S R)₋, R² = g_j(U) - g_j(L). The sum of the minima is below tr(S log Y).
    Splitting a piece never lowers it. It is attained where the bounds commute with S, and for S ⪰ 0
    and S ⪯ 0.
    """
    l, l_axes = eigh(low)
    u, u_axes = eigh(up)
    tiny = np.finfo(np.float64).tiny
    l, u = np.maximum(l, tiny), np.maximum(u, tiny)
    # Nodes that cover the spectrum; outside of it the pieces are nearly linear anyway.
    span = np.linspace(0.0, 1.0, pieces)
    nodes = (l[..., :1] / 3) ** (1 - span) * (u[..., -1:] * 3) ** span
    nodes = np.concatenate([np.zeros_like(nodes[..., :1]), nodes], axis=-1)

    def monotone(values: Array, axes: Array) -> Array:
        g = np.log(values[..., None, :] + nodes[..., :, None])
        g[..., :-1, :] -= g[..., 1:, :].copy()
        axes = axes[..., None, :, :]
        return (axes * g[..., None, :]) @ axes.mT

    at_low = monotone(l, l_axes)
    width, axes = eigh(sym(monotone(u, u_axes) - at_low))
    root = axes * np.sqrt(np.maximum(width, 0.0))[..., None, :]
    s = s[..., None, :, :]
    below = np.minimum(np.linalg.eigvalsh(sym(root.mT @ s @ root)), 0.0)
    return np.sum(at_low * s, axis=(-3, -2, -1)) + np.sum(below, axis=(-2, -1))
