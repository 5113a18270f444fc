"""The Bures-Wasserstein metric of SPD matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from ..._numerics.arrays import Array, device, expand, fails, namespace, safe_sqrt
from ..._numerics.gradients import attach, detached
from ..._numerics.linalg import cholesky, eigh_positive, eigvalsh, identity, svd
from ..._numerics.symmetric import hadamard, pack, sym, unpack
from ...errors import NotOnManifoldError
from .metric import Metric, flat_dot

__all__ = ["BuresWasserstein"]


class BuresWasserstein(Metric):
    """<U, V>_X = tr(A X B) for A, B with U = AX + XA, V = BX + XB: optimal transport of Gaussians.

    `dist` is the 2-Wasserstein distance of the centred Gaussians with covariances X and Y. With A
    for V as above, and T the symmetric positive definite matrix with T X T = Y:

        exp_X(V)     = (I + A) X (I + A), while I + A is positive definite
        log_X(Y)     = (T - I) X + X (T - I)
        dist(X, Y)²  = tr X + tr Y - 2 tr (X^{1/2} Y X^{1/2})^{1/2} = tr((T - I) X (T - I))

    The manifold is incomplete. A geodesic leaves it where I + tA becomes singular, at a length of
    sqrt(λ_min(X)) at the earliest; up to there it is the only minimising one.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.curvature = (0.0, math.inf) if n > 1 else (0.0, 0.0)
        self.typical_dist = math.sqrt(n) / 2

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return 0.5 * flat_dot(_lyapunov(x)(u), v)

    def dist_from(self, x: Array) -> Callable[[Array], Array]:
        return lambda y: safe_sqrt(_TransportMap(x, y).dist2())

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        xp = namespace(x, v)
        a = _lyapunov(x)(v)
        curve = a @ x @ a
        values = eigvalsh(detached(a))
        low, high = values[..., 0], values[..., -1]

        def point(t: float | Array) -> Array:
            least = 1 + xp.minimum(detached(t) * low, detached(t) * high)
            near = expand(xp.maximum(abs(detached(t) * low), abs(detached(t) * high)) <= 0.5, 2)
            t = expand(t, 2)
            ta = t * a
            # Both are (I + tA) X (I + tA): the first is exact at t = 0, the second does not cancel.
            far = x + ta @ x
            y = sym(xp.where(near, x + t * v + t * t * curve, far + far @ ta))
            return self._mark_outside(least, y)

        return point

    def extent(self, x: Array, v: Array) -> Array:
        xp, values = namespace(x, v), eigvalsh(detached(_lyapunov(x)(v)))
        most = xp.max(abs(values), axis=-1)
        return xp.where(most > 0, 1 / xp.where(most > 0, most, xp.ones_like(most)), math.inf)

    def log(self, x: Array, y: Array) -> Array:
        ax = _TransportMap(x, y).minus_identity() @ x
        return ax + ax.mT

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        return _parallel(x, _TransportMap(x, y).minus_identity(), v)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        """Parallel transport, by integration: a closed form is not known.

        Along L(t) = (I + tA) L, X = L Lᵀ, the horizontal lift W of w solves the linear equation
        W' = L Ω. Here Ω is skew and LᵀL Ω + Ω LᵀL = Wᵀ L' - L'ᵀ W. Gauss collocation of order 16 on
        steps over which I + tA changes little preserves inner products, and has converged to
        rounding.
        """
        a = _lyapunov(x)(v)
        least = 1 + eigvalsh(detached(a))[..., 0]
        inside = namespace(a).where(expand(least > 0, 2), a, namespace(a).zeros_like(a))
        return self._mark_outside(least, _parallel(x, inside, w))

    # The basis is the square root of the metric, continuous in x, as coordinates along eigenvectors
    # would not be. Torch takes it as constant.

    def to_coords(self, x: Array, v: Array) -> Array:
        values, q = eigh_positive(detached(x))
        return pack(hadamard(q, 1 / _root_of_sums(values), v))

    def from_coords(self, x: Array, c: Array) -> Array:
        values, q = eigh_positive(detached(x))
        return hadamard(q, _root_of_sums(values), unpack(c, self.n))

    def gradient(self, x: Array, g: Array) -> Array:
        gx = sym(g) @ x
        return 2 * (gx + gx.mT)

    def _mark_outside(self, least: Array, value: Array) -> Array:
        """Refuse what lies beyond the end of a geodesic: single points raise, stacks hold NaN."""
        xp = namespace(value)
        if value.ndim == 2:
            if fails(least > 0):
                raise NotOnManifoldError(
                    f"exp on SPD({self.n}, metric='bures-wasserstein'): the geodesic has left the "
                    f"manifold; the smallest eigenvalue of I + tA is {float(least):.3g}, not > 0"
                )
            return value
        return xp.where(expand(least > 0, 2), value, xp.full_like(value, math.nan))


def _root_of_sums(values: Array) -> Array:
    """√(2 (λᵢ + λⱼ)), by which an orthonormal frame at X is longer than one of Frobenius."""
    return namespace(values).sqrt(2 * (values[..., :, None] + values[..., None, :]))


def _lyapunov(x: Array) -> Callable[[Array], Array]:
    """Return U -> A with A X + X A = U, for symmetric or skew U."""
    values, q = eigh_positive(detached(x))
    weights = 1 / (values[..., :, None] + values[..., None, :])

    def solve(u: Array) -> Array:
        def map_(b: Array) -> Array:
            return q @ (weights * (q.mT @ b @ q)) @ q.mT

        a = map_(detached(u))

        def adjoint(g: Array) -> tuple[Array, Array]:
            back = map_(g)
            return -sym(back @ a.mT + a.mT @ back), back

        return attach(a, (x, u), adjoint)

    return solve


class _TransportMap:
    """T - I for the symmetric positive definite T with T X T = Y.

    With X = R Rᵀ and S = Rᵀ T R = (Rᵀ Y R)^{1/2}, the matrix G = S - Rᵀ R solves
    S G + G Rᵀ R = Rᵀ (Y - X) R. This linear equation has no cancellation: G has relative accuracy
    for near points, and is exactly zero for equal ones.
    """

    def __init__(self, x: Array, y: Array) -> None:
        self.x, self.y = x, y
        values, q = eigh_positive(detached(x))
        roots = namespace(values).sqrt(values)[..., None, :]
        self.root, self.inverse = q * roots, (q / roots).mT
        self.u, self.s, _ = svd(self.root.mT @ cholesky(detached(y)))
        rhs = self.u.mT @ (self.root.mT @ detached(y - x) @ self.root)
        self.g = sym(self.u @ (rhs / (self.s[..., :, None] + values[..., None, :])))

    def minus_identity(self) -> Array:
        a = sym(self.inverse.mT @ self.g @ self.inverse)

        def adjoint(g: Array) -> tuple[Array, Array]:
            weights = 1 / (self.s[..., :, None] + self.s[..., None, :])
            inner = hadamard(self.u, weights, self.inverse @ g @ self.inverse.mT)
            back = self.root @ inner @ self.root.mT
            back_t = back + back @ a
            return -(back_t + a @ back_t), back

        return attach(a, (self.x, self.y), adjoint)

    def dist2(self) -> Array:
        """tr((T - I) X (T - I)), the squared distance."""
        move = self.inverse.mT @ self.g

        def adjoint(g: Array) -> tuple[Array, Array]:
            a = detached(self.minus_identity())
            g = expand(g, 2)
            return -g * a, g * sym(namespace(a).linalg.solve(identity(a) + a, a))

        return attach(flat_dot(move, move), (self.x, self.y), adjoint)


def _parallel(x: Array, a: Array, w: Array) -> Array:
    """Parallel transport of w along t -> (I + tA) X (I + tA) to t = 1; see `transport_along`."""
    xp = namespace(x, w)
    lift, start = _lyapunov(x)(w), cholesky(x)
    lift, velocity = lift @ start, a @ start
    values = eigvalsh(detached(a))
    values = xp.where(xp.isfinite(values), values, xp.zeros_like(values))
    if not math.prod(values.shape):
        return 0 * a * w
    low, high = float(xp.min(values)), float(xp.max(values))
    nodes, matrix, weights = (xp.asarray(g, dtype=x.dtype, device=device(x)) for g in _gauss(8))
    t = 0.0
    while t < 1.0:
        rate = max(high / (1 + t * high), -low / (1 + t * low))  # of the relative change of I + tA
        h = min(1.0 - t, 0.25 / rate) if rate > 0 else 1.0
        at = expand(t + h * nodes, max(lift.ndim, velocity.ndim))
        curve = start + at * velocity
        solve = _lyapunov(curve.mT @ curve)
        slopes = 0 * curve * lift
        for _ in range(16):
            stages = lift + h * xp.tensordot(matrix, slopes, axes=1)
            turn = stages.mT @ velocity
            slopes = curve @ solve(turn - turn.mT)
        lift = lift + h * xp.tensordot(weights, slopes, axes=1)
        t += h
    moved = lift @ (start + velocity).mT
    return moved + moved.mT


@cache
def _gauss(stages: int) -> tuple[Array, Array, Array]:
    """Nodes, matrix and weights of Gauss collocation on [0, 1], of order twice the stages."""
    legendre = np.polynomial.legendre
    nodes, weights = legendre.leggauss(stages)
    basis = np.eye(stages)
    values = legendre.legvander(nodes, stages - 1)
    integrals = np.stack([legendre.legval(nodes, legendre.legint(b, lbnd=-1)) for b in basis], -1)
    return (1 + nodes) / 2, integrals @ np.linalg.inv(values) / 2, weights / 2
