"""Geometry with 60 digits (mpmath), from other formulas than the package's where there are any.

Arrays are NumPy's, of dtype object, with one mpmath number an entry. Points are put on the manifold
first, since rounding has left them beside it: unit vectors are divided by their lengths, and
frames replaced by the nearest ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import mpmath as mp
import numpy as np

import geoduel as gd

__all__ = ["dist", "errors", "exact", "exp", "has_dist"]

Exact = np.ndarray
DIGITS = 60


def exact(a: Any) -> Exact:
    """Floating-point numbers as they are."""
    return np.vectorize(lambda x: mp.mpf(float(x)), otypes=[object])(np.asarray(a))


def exp(m: gd.Manifold, x: Any, v: Any) -> Exact:
    """``m.exp(x, v)`` for one point."""
    with mp.workdps(DIGITS):
        return _exp(m, exact(x), exact(v))


def dist(m: gd.Manifold, x: Any, y: Any) -> Any:
    """``m.dist(x, y)`` for one pair of points."""
    with mp.workdps(DIGITS):
        return _dist(m, exact(x), exact(y))


def has_dist(m: gd.Manifold) -> bool:
    """Whether there is a formula for distances: on Stiefel manifolds there is none."""
    factors = m.factors if isinstance(m, gd.Product) else (getattr(m, "manifold", m),)
    return not any(isinstance(f, gd.Stiefel) for f in factors)


def errors(m: gd.Manifold, x: Any, v: Any) -> dict[str, float]:
    """What `exp`, `log` and `dist` are off at x and y = exp(x, v), in rounding units of the dtype.

    Returns
    -------
    dict
        ``exp``: of y, relative to its largest entry or 1. ``log``: of y from the exact end of
        log(x, y), likewise. ``dist``: of the distance, relative to it or 1. ``digits``: of the
        distance, relative to it, however short it is. The last two where there is a formula.
    """
    y, unit = m.exp(x, v), float(np.finfo(x.dtype).eps)
    found = {"exp": _off(exp(m, x, v), y), "log": _off(exp(m, x, m.log(x, y)), y)}
    if has_dist(m) and (d := dist(m, x, y)) > 0:
        off = float(abs(exact(m.dist(x, y))[()] - d))
        found |= {"dist": off / max(1.0, float(d)), "digits": off / float(d)}
    return {name: error / unit for name, error in found.items()}


def _off(wanted: Exact, found: Any) -> float:
    size = max(1.0, float(np.max(abs(wanted))))
    return float(np.max(abs(np.reshape(wanted, np.shape(found)) - exact(found)))) / size


@singledispatch
def _exp(m: Any, x: Exact, v: Exact) -> Exact:
    raise NotImplementedError(f"no formula for {m}")


@singledispatch
def _dist(m: Any, x: Exact, y: Exact) -> Any:
    raise NotImplementedError(f"no formula for {m}")


# -- tools -----------------------------------------------------------------------------------------


def _each(f: Callable[[Any], Any], a: Exact) -> Exact:
    return np.vectorize(f, otypes=[object])(a)


def _length(a: Exact) -> Any:
    return mp.sqrt(np.sum(a * a))


def _eigh(a: Exact) -> tuple[Exact, Exact]:
    values, vectors = mp.eigsy(mp.matrix((a + a.T).tolist()) / 2)
    return np.array(list(values)), np.array(vectors.tolist(), dtype=object)


def _function(f: Callable[[Any], Any], a: Exact) -> Exact:
    """f of a symmetric matrix."""
    values, vectors = _eigh(a)
    return (vectors * _each(f, values)) @ vectors.T


def _expm(a: Exact) -> Exact:
    return np.array(mp.expm(mp.matrix(a.tolist())).tolist(), dtype=object)


def _eye(n: int) -> Exact:
    return exact(np.eye(n))


def _frame(x: Exact) -> Exact:
    """The nearest matrix with orthonormal columns."""
    return x @ _function(lambda w: 1 / mp.sqrt(w), x.T @ x)


def _angles(k: Exact) -> Any:
    """Length of the angles whose cosines are the singular values of k."""
    squares, _ = _eigh(k.T @ k)
    return _length(_each(lambda w: mp.acos(mp.sqrt(min(max(w, 0), 1))), squares))


# -- spheres, and what follows from them -----------------------------------------------------------


@_exp.register
def _(m: gd.Sphere, x: Exact, v: Exact) -> Exact:
    x, t = x / _length(x), _length(v)
    return x if t == 0 else mp.cos(t) * x + mp.sin(t) / t * v


@_dist.register
def _(m: gd.Sphere, x: Exact, y: Exact) -> Any:
    x, y = x / _length(x), y / _length(y)
    return 2 * mp.atan2(_length(x - y), _length(x + y))


@_exp.register
def _(m: gd.Simplex, x: Exact, v: Exact) -> Exact:
    root = _each(mp.sqrt, x / np.sum(x))
    return _exp(gd.Sphere(m.n), root, v / (2 * root)) ** 2


@_dist.register
def _(m: gd.Simplex, x: Exact, y: Exact) -> Any:
    return 2 * _dist(gd.Sphere(m.n), *(_each(mp.sqrt, p) for p in (x, y)))


# -- flat ------------------------------------------------------------------------------------------


@_exp.register
def _(m: gd.Euclidean, x: Exact, v: Exact) -> Exact:
    return x + v


@_dist.register
def _(m: gd.Euclidean, x: Exact, y: Exact) -> Any:
    return _length(x - y)


def _wrapped(angle: Any) -> Any:
    return angle - 2 * mp.pi * mp.ceil(angle / (2 * mp.pi) - mp.mpf(1) / 2)


@_exp.register
def _(m: gd.Torus, x: Exact, v: Exact) -> Exact:
    return _each(_wrapped, x + v)


@_dist.register
def _(m: gd.Torus, x: Exact, y: Exact) -> Any:
    return _length(_each(_wrapped, y - x))


# -- hyperbolic space, and correlation matrices ----------------------------------------------------


def _lifted(x: Exact) -> Exact:
    """The point above spatial entries, which stand for it."""
    return np.concatenate([[mp.sqrt(1 + np.sum(x * x))], x])


@_exp.register
def _(m: gd.Hyperbolic, x: Exact, v: Exact) -> Exact:
    x = _lifted(x[1:])
    v = np.concatenate([[np.sum(x[1:] * v[1:]) / x[0]], v[1:]])
    t = mp.sqrt(np.sum(v[1:] ** 2) - v[0] ** 2)
    return x if t == 0 else mp.cosh(t) * x + mp.sinh(t) / t * v


@_dist.register
def _(m: gd.Hyperbolic, x: Exact, y: Exact) -> Any:
    x, y = _lifted(x[1:]), _lifted(y[1:])
    return mp.acosh(x[0] * y[0] - np.sum(x[1:] * y[1:]))


def _lower(c: Exact) -> Exact:
    return np.array(mp.cholesky(mp.matrix(c.tolist())).tolist(), dtype=object)


def _rows(low: Exact) -> list[Exact]:
    """A point of a hyperboloid for each row of a Cholesky factor but the first."""
    return [np.concatenate([[1 / low[i, i]], low[i, :i] / low[i, i]]) for i in range(1, len(low))]


@_exp.register
def _(m: gd.Correlation, x: Exact, v: Exact) -> Exact:
    low = _lower(x)
    inverse = np.array((mp.matrix(low.tolist()) ** -1).tolist(), dtype=object)
    half = inverse @ v @ inverse.T
    moved = low @ np.array(
        [[half[i, j] * mp.mpf((i >= j) + (i > j)) / 2 for j in range(m.n)] for i in range(m.n)]
    )
    end = _eye(m.n)
    for i, row in enumerate(_rows(low), start=1):
        last = -moved[i, i] / low[i, i] ** 2  # derivative of 1 / l
        u = np.concatenate([[last], low[i, :i] * last + moved[i, :i] / low[i, i]])
        z = _exp(gd.Hyperbolic(i), row, u)
        end[i, :i], end[i, i] = z[1:] / z[0], 1 / z[0]
    return end @ end.T


@_dist.register
def _(m: gd.Correlation, x: Exact, y: Exact) -> Any:
    pairs = zip(_rows(_lower(x)), _rows(_lower(y)), strict=True)
    return _length(np.array([_dist(gd.Hyperbolic(len(a) - 1), a, b) for a, b in pairs]))


# -- frames and groups -----------------------------------------------------------------------------


@_exp.register
def _(m: gd.Rotations, x: Exact, v: Exact) -> Exact:
    x = _frame(x)
    turn = x.T @ v
    return x @ _expm((turn - turn.T) / 2)


@_dist.register
def _(m: gd.Rotations, x: Exact, y: Exact) -> Any:
    turn = _frame(x).T @ _frame(y)
    cosines, _ = _eigh((turn + turn.T) / 2)  # of each angle two
    return _length(_each(lambda c: mp.acos(min(max(c, -1), 1)), cosines)) / mp.sqrt(2)


def _turn(x: Exact) -> Exact:
    return np.block([[x[..., 0], -x[..., 1]], [x[..., 1], x[..., 0]]])


@_exp.register
def _(m: gd.Unitary, x: Exact, v: Exact) -> Exact:
    end = _exp(gd.Rotations(2 * m.n), _turn(x), _turn(v))
    return np.stack([end[: m.n, : m.n], end[m.n :, : m.n]], axis=-1)


@_dist.register
def _(m: gd.Unitary, x: Exact, y: Exact) -> Any:
    return _dist(gd.Rotations(2 * m.n), _turn(x), _turn(y))


@_exp.register
def _(m: gd.Grassmann, x: Exact, v: Exact) -> Exact:
    gram = v.T @ v
    cosine = _function(lambda w: mp.cos(mp.sqrt(max(w, 0))), gram)
    return _frame(x) @ cosine + v @ _function(lambda w: mp.sinc(mp.sqrt(max(w, 0))), gram)


@_dist.register
def _(m: gd.Grassmann, x: Exact, y: Exact) -> Any:
    return _angles(_frame(x).T @ _frame(y))


@_exp.register
def _(m: gd.Stiefel, x: Exact, v: Exact) -> Exact:
    x = _frame(x)
    if m.metric == "canonical":
        half = v - x @ (x.T @ v) / 2
        return _expm(half @ x.T - x @ half.T) @ x
    a, s = x.T @ v, v.T @ v
    a = (a - a.T) / 2
    block = np.block([[a, -s], [_eye(m.p), a]])
    return np.concatenate([x, v], axis=1) @ _expm(block)[:, : m.p] @ _expm(-a)


# -- symmetric positive definite matrices ----------------------------------------------------------


def _differences(f: Callable[[Any], Any], slope: Callable[[Any], Any], w: Exact) -> Exact:
    """Divided differences of f at eigenvalues."""
    return np.array(
        [[slope(a) if a == b else (f(a) - f(b)) / (a - b) for b in w] for a in w], dtype=object
    )


@_exp.register
def _(m: gd.SPD, x: Exact, v: Exact) -> Exact:
    values, q = _eigh(x)
    inside = q.T @ v @ q
    if m.metric == "log-euclidean":
        rates = _differences(mp.log, lambda w: 1 / w, values)
        log = (q * _each(mp.log, values)) @ q.T
        return _function(mp.exp, log + q @ (rates * inside) @ q.T)
    if m.metric == "bures-wasserstein":
        a = q @ (inside / (values[:, None] + values)) @ q.T
        step = _eye(m.n) + a
        return step @ x @ step
    root = _each(mp.sqrt, values)
    white = _function(mp.exp, inside / root / root[:, None])
    half = q * root
    return half @ white @ half.T


@_dist.register
def _(m: gd.SPD, x: Exact, y: Exact) -> Any:
    if m.metric == "log-euclidean":
        return _length(_function(mp.log, x) - _function(mp.log, y))
    if m.metric == "bures-wasserstein":
        root = _function(mp.sqrt, x)
        cross = _function(mp.sqrt, root @ y @ root)
        return mp.sqrt(np.trace(x) + np.trace(y) - 2 * np.trace(cross))
    inverse = _function(lambda w: 1 / mp.sqrt(w), x)
    return _length(_each(mp.log, _eigh(inverse @ y @ inverse)[0]))


# -- products --------------------------------------------------------------------------------------


@_exp.register
def _(m: gd.Product, x: Exact, v: Exact) -> Exact:
    parts = zip(m.factors, m.split(x), m.split(v), strict=True)
    return np.concatenate([np.ravel(_exp(f, a, b)) for f, a, b in parts])


@_dist.register
def _(m: gd.Product, x: Exact, y: Exact) -> Any:
    parts = zip(m.weights, m.factors, m.split(x), m.split(y), strict=True)
    return mp.sqrt(sum(mp.mpf(w) * _dist(f, a, b) ** 2 for w, f, a, b in parts))


@_exp.register
def _(m: gd.Power, x: Exact, v: Exact) -> Exact:
    return np.stack([_exp(m.manifold, a, b) for a, b in zip(x, v, strict=True)])


@_dist.register
def _(m: gd.Power, x: Exact, y: Exact) -> Any:
    return _length(np.array([_dist(m.manifold, a, b) for a, b in zip(x, y, strict=True)]))
