"""The log-Euclidean metric of SPD matrices."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..._numerics.arrays import Array, expand, namespace, safe_sqrt
from ..._numerics.symmetric import ExpLog, pack, refuse_beyond, sym, unpack
from .metric import Metric, flat_dot

__all__ = ["LogEuclidean"]


class LogEuclidean(Metric):
    """<U, V>_X = tr(D log_X[U] D log_X[V]): the logarithm is an isometry onto a flat space.

    With S = log X and H = D log_X[V]:

        exp_X(V)     = e^{S + H}
        log_X(Y)     = D exp_S[log Y - S]
        dist(X, Y)   = |log Y - log X|
        transport of U to Y is D exp_{log Y}[D log_X[U]], along every curve
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.curvature = (0.0, 0.0)
        self.typical_dist = math.sqrt(n * (n + 1) / 2)

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        at = ExpLog.of_point(x)
        a = at.dlog(u)
        return flat_dot(a, a if v is u else at.dlog(v))

    def dist_from(self, x: Array) -> Callable[[Array], Array]:
        s = ExpLog.of_point(x).log

        def dist(y: Array) -> Array:
            h = ExpLog.of_point(y).log - s
            return safe_sqrt(flat_dot(h, h))

        return dist

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        at = ExpLog.of_point(x)
        h = at.dlog(v)

        def point(t: float | Array) -> Array:
            t = expand(t, 2)
            # At a standstill x itself, with the derivative that exp has there.
            still = namespace(h).all(t * h == 0, axis=(-2, -1), keepdims=True)
            end, xp = ExpLog.of_log(at.log + t * h), namespace(h)
            reach = xp.maximum(abs(end.values[..., 0]), abs(end.values[..., -1]))
            refuse_beyond(reach, h, "are as large or small as")
            return xp.where(still, x + t * v, end.point())

        return point

    def log(self, x: Array, y: Array) -> Array:
        at = ExpLog.of_point(x)
        return at.dexp(ExpLog.of_point(y).log - at.log)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        return ExpLog.of_point(y).dexp(ExpLog.of_point(x).dlog(v))

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        at = ExpLog.of_point(x)
        return ExpLog.of_log(at.log + at.dlog(v)).dexp(at.dlog(w))

    def to_coords(self, x: Array, v: Array) -> Array:
        return pack(ExpLog.of_point(x).dlog(v))

    def from_coords(self, x: Array, c: Array) -> Array:
        return ExpLog.of_point(x).dexp(unpack(c, self.n))

    def gradient(self, x: Array, g: Array) -> Array:
        at = ExpLog.of_point(x)
        return at.dexp(at.dexp(sym(g)))
