"""The three metrics of `SPD`: what differs between them. Formulas are in the class docstrings.

Each class is one geometry on the symmetric positive definite n x n matrices. Its methods are those
of `Manifold`, to which `SPD` adds what the metrics share.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Protocol, TypeAlias

import numpy as np

from .._arrays import Array, device, dot, expand, namespace, safe_sqrt
from .._linalg import (
    Polynomials,
    cholesky,
    congruence,
    economised,
    eigh,
    eigh_positive,
    eigvalsh,
    factor,
    identity,
    lanes,
    matmul,
    stop,
    svd,
    tracked,
)
from .._symmetric import (
    ExpLog,
    attach,
    exp_differences,
    exponential,
    exponentials,
    hadamard,
    norm,
    pack,
    spectral,
    sym,
    unpack,
)
from ..errors import NotOnManifoldError

__all__ = ["METRICS", "Metric"]


class Metric(Protocol):
    """What a metric on SPD(n) has to offer; the meaning is that of `Manifold`."""

    curvature: tuple[float, float]
    typical_dist: float

    def inner(self, x: Array, u: Array, v: Array) -> Array: ...
    def dist_from(self, x: Array) -> Callable[[Array], Array]: ...
    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]: ...

    def dist(self, x: Array, y: Array) -> Array:
        return self.dist_from(x)(y)

    def exp(self, x: Array, v: Array) -> Array:
        return self.geodesic(x, v)(1.0)

    def exp_pair(self, x: Array, v: Array) -> tuple[Array, Array]:
        point = self.geodesic(x, v)
        return point(1.0), point(-1.0)

    def log(self, x: Array, y: Array) -> Array: ...
    def transport(self, x: Array, y: Array, v: Array) -> Array: ...
    def transport_along(self, x: Array, v: Array, w: Array) -> Array: ...
    def to_coords(self, x: Array, v: Array) -> Array: ...
    def from_coords(self, x: Array, c: Array) -> Array: ...
    def gradient(self, x: Array, g: Array) -> Array: ...


class AffineInvariant(Metric):
    """<U, V>_X = tr(X⁻¹ U X⁻¹ V), the metric that every congruence X -> G X Gᵀ preserves.

    With X = L Lᵀ and everything seen from X (W = L⁻¹ V L⁻ᵀ, B = L⁻¹ Y L⁻ᵀ):

        exp_X(V)     = L e^W Lᵀ
        log_X(Y)     = L log(B) Lᵀ
        dist(X, Y)   = |log B|, from the eigenvalues
        transport of U along V is E U Eᵀ with E = L e^{W/2} L⁻¹

    Stacks of points, unless they are very far apart, and single near ones are seen from
    X + Y = M Mᵀ instead. The eigenvalues of S = M⁻¹ (Y - X) M⁻ᵀ are tanh(λ/2), λ those of log B.
    It is small for near points, so that products alone lead to

        log_X(Y)     = M (I - S) artanh(S) Mᵀ
        dist(X, Y)   = 2 |artanh S|
        transport    E = M (I + S) (I - S²)^{-1/2} M⁻¹
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.curvature = (-0.5, 0.0) if n > 1 else (0.0, 0.0)
        self.typical_dist = math.sqrt(n * (n + 1) / 2)

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        _, inverse = factor(x)
        a = congruence(inverse, u)
        return _dot(a, a if v is u else congruence(inverse, v))

    def dist_from(self, x: Array) -> Callable[[Array], Array]:
        low = inverse = steep = None

        def dist(y: Array) -> Array:
            nonlocal low, inverse, steep
            if low is None:  # else y was far, and it hardly pays to try again
                if (seen := _Between.of(x, y, 16)) and (distance := seen.dist()) is not None:
                    return seen.mended(distance, self.dist, x, y)
                low, inverse = factor(x)
                steep = low.ndim > 2 and _is_steep(low)
            if steep and not tracked(x, y):
                logs = _log_singular_values(low, inverse, y)
            else:
                e = congruence(inverse, y - x)
                if tracked(e):
                    logs = _flat(_log_matrix(e, *_log_spectrum(e, low, inverse, y)))
                else:
                    logs = _log_spectrum(e, low, inverse, y, vectors=False)[0]
            return safe_sqrt(dot(logs, logs))

        return dist

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        low, inverse = factor(x)
        return exponential(congruence(inverse, v), low, lanes(x))

    def exp(self, x: Array, v: Array) -> Array:
        low, inverse = factor(x)
        return exponentials(congruence(inverse, v), low, lanes(x), pair=False)[0]

    def exp_pair(self, x: Array, v: Array) -> tuple[Array, Array]:
        low, inverse = factor(x)
        ahead, behind = exponentials(congruence(inverse, v), low, lanes(x), pair=True)
        return ahead, behind

    def log(self, x: Array, y: Array) -> Array:
        if (seen := _Between.of(x, y, 8)) and (v := seen.log()) is not None:
            return seen.mended(v, self.log, x, y)
        low, inverse = factor(x)
        e = congruence(inverse, y - x)
        logs, q = _log_spectrum(e, low, inverse, y)
        if tracked(low, e):
            return sym(congruence(low, _log_matrix(e, logs, q)))
        return spectral(matmul(low, q), logs)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        return sym(congruence(self._carrier(x, y), v))

    def _carrier(self, x: Array, y: Array) -> Array:
        """E for which the transport of V is E V Eᵀ."""
        if (seen := _Between.of(x, y, 2)) and (carrier := seen.carrier()) is not None:
            return seen.mended(carrier, self._carrier, x, y)
        low, inverse = factor(x)
        e = congruence(inverse, y - x)
        spectrum = _log_spectrum(e, low, inverse, y)
        return exponential(_log_matrix(e, *spectrum), low, identity(x), inverse, spectrum)(0.5)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        low, inverse = factor(x)
        half = exponential(congruence(inverse, v), low, identity(x), inverse)(0.5)
        return sym(congruence(half, w))

    def to_coords(self, x: Array, v: Array) -> Array:
        _, inverse = factor(x)
        return pack(congruence(inverse, v))

    def from_coords(self, x: Array, c: Array) -> Array:
        return sym(congruence(cholesky(x), unpack(c, self.n)))

    def gradient(self, x: Array, g: Array) -> Array:
        return sym(congruence(x, sym(g)))


def _log_spectrum(
    e: Array, low: Array, inverse: Array, y: Array, vectors: bool = True
) -> tuple[Array, Array | None]:
    """Logarithms of the eigenvalues of B = I + E = L⁻¹ Y L⁻ᵀ, and its eigenvectors.

    From E, which is exactly zero for equal points and accurate for near ones, unless the spectrum
    of B is wide: its small eigenvalues are then lost in rounding, at condition 1e12 even their
    sign. The singular values of L⁻¹ M, Y = M Mᵀ, are their roots and keep twice the digits.
    """
    xp = namespace(e)
    values, q = eigh(stop(e)) if vectors else (eigvalsh(stop(e)), None)
    if values.ndim == 1:
        least, most = float(values[0]), float(values[-1])
        if max(-least, most) <= _WIDE * (1 + least):
            return xp.log1p(values), q
        u, s, _ = svd(_relative(low, inverse, y))
        return 2 * xp.log(s), u
    least, most = values[..., 0], values[..., -1]
    narrow = xp.maximum(-least, most) <= _WIDE * (1 + least)
    if bool(xp.all(narrow)):
        return xp.log1p(values), q
    values = xp.log1p(xp.where(narrow[..., None], values, xp.zeros_like(values)))
    u, s, _ = svd(_relative(low, inverse, y)[~narrow])
    values[~narrow] = 2 * xp.log(s)
    if q is not None:
        q[~narrow] = u
    return values, q


_WIDE = 64.0  # loss of accuracy by the spread of a spectrum that is accepted for speed


def _log_singular_values(low: Array, inverse: Array, y: Array) -> Array:
    """The logarithms of `_log_spectrum`, where most spectra are wide."""
    xp = namespace(low)
    return 2 * xp.log(xp.linalg.svdvals(_relative(low, inverse, y)))


def _relative(low: Array, inverse: Array, y: Array) -> Array:
    """L⁻¹ M with Y = M Mᵀ; exactly I for Y = X."""
    low = stop(low)
    return identity(low) + stop(inverse) @ (cholesky(stop(y)) - low)


def _is_steep(low: Array) -> bool:
    """Whether a matrix of the stack has a condition number of 1e3 or more, by its factor."""
    xp = namespace(low)
    pivots = stop(xp.linalg.diagonal(low))
    return bool(xp.any(xp.max(pivots, axis=-1) > 30 * xp.min(pivots, axis=-1)))


def _log_matrix(e: Array, logs: Array, vectors: Array) -> Array:
    """log(I + E) from its spectrum."""
    return attach(
        spectral(vectors, logs),
        (e,),
        lambda g: (hadamard(vectors, 1 / exp_differences(logs), g),),
    )


class _Between:
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
    def of(cls, x: Array, y: Array, least: int) -> _Between | None:
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
            artanh = _flat(self.s + more)
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
        return _dot(a, a if v is u else at.dlog(v))

    def dist_from(self, x: Array) -> Callable[[Array], Array]:
        s = ExpLog.of_point(x).log

        def dist(y: Array) -> Array:
            h = ExpLog.of_point(y).log - s
            return safe_sqrt(_dot(h, h))

        return dist

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        at = ExpLog.of_point(x)
        h = at.dlog(v)

        def point(t: float | Array) -> Array:
            t = expand(t, 2)
            # At a standstill x itself, with the derivative that exp has there.
            still = namespace(h).all(t * h == 0, axis=(-2, -1), keepdims=True)
            return namespace(h).where(still, x + t * v, ExpLog.of_log(at.log + t * h).point())

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
        return 0.5 * _dot(_lyapunov(x)(u), v)

    def dist_from(self, x: Array) -> Callable[[Array], Array]:
        return lambda y: safe_sqrt(_TransportMap(x, y).dist2())

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        xp = namespace(x, v)
        a = _lyapunov(x)(v)
        curve = a @ x @ a
        values = eigvalsh(stop(a))
        low, high = values[..., 0], values[..., -1]

        def point(t: float | Array) -> Array:
            least = 1 + xp.minimum(stop(t) * low, stop(t) * high)
            near = expand(xp.maximum(abs(stop(t) * low), abs(stop(t) * high)) <= 0.5, 2)
            t = expand(t, 2)
            ta = t * a
            # Both are (I + tA) X (I + tA): the first is exact at t = 0, the second does not cancel.
            far = x + ta @ x
            y = sym(xp.where(near, x + t * v + t * t * curve, far + far @ ta))
            return self._mark_outside(least, y)

        return point

    def extent(self, x: Array, v: Array) -> Array:
        xp, values = namespace(x, v), eigvalsh(stop(_lyapunov(x)(v)))
        most = xp.max(abs(values), axis=-1)
        return xp.where(most > 0, 1 / xp.where(most > 0, most, xp.ones_like(most)), math.inf)

    def log(self, x: Array, y: Array) -> Array:
        ax = _TransportMap(x, y).minus_identity() @ x
        return ax + ax.mT

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        return _parallel(x, _TransportMap(x, y).minus_identity(), v)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        """Parallel transport, by integration: a closed form is not known.

        The horizontal lift W of w along L(t) = (I + tA) L, X = L Lᵀ, solves the linear equation
        W' = L Ω, with Ω skew and LᵀL Ω + Ω LᵀL = Wᵀ L' - L'ᵀ W. Gauss collocation of order 16 on
        steps over which I + tA changes little preserves inner products, and has converged to
        rounding.
        """
        a = _lyapunov(x)(v)
        least = 1 + eigvalsh(stop(a))[..., 0]
        inside = namespace(a).where(expand(least > 0, 2), a, namespace(a).zeros_like(a))
        return self._mark_outside(least, _parallel(x, inside, w))

    # The basis is the square root of the metric, continuous in x, as coordinates along eigenvectors
    # would not be. Torch takes it as constant.

    def to_coords(self, x: Array, v: Array) -> Array:
        values, q = eigh_positive(stop(x))
        return pack(hadamard(q, 1 / _root_of_sums(values), v))

    def from_coords(self, x: Array, c: Array) -> Array:
        values, q = eigh_positive(stop(x))
        return hadamard(q, _root_of_sums(values), unpack(c, self.n))

    def gradient(self, x: Array, g: Array) -> Array:
        gx = sym(g) @ x
        return 2 * (gx + gx.mT)

    def _mark_outside(self, least: Array, value: Array) -> Array:
        """Refuse what lies beyond the end of a geodesic: single points raise, stacks hold NaN."""
        xp = namespace(value)
        if value.ndim == 2:
            if not bool(least > 0):
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
    values, q = eigh_positive(stop(x))
    weights = 1 / (values[..., :, None] + values[..., None, :])

    def solve(u: Array) -> Array:
        def map_(b: Array) -> Array:
            return q @ (weights * (q.mT @ b @ q)) @ q.mT

        a = map_(stop(u))

        def adjoint(g: Array) -> tuple[Array, Array]:
            back = map_(g)
            return -sym(back @ a.mT + a.mT @ back), back

        return attach(a, (x, u), adjoint)

    return solve


class _TransportMap:
    """T - I for the symmetric positive definite T with T X T = Y.

    With X = R Rᵀ and S = Rᵀ T R = (Rᵀ Y R)^{1/2}, the matrix G = S - Rᵀ R solves
    S G + G Rᵀ R = Rᵀ (Y - X) R, a linear equation without cancellation: relative accuracy for near
    points, exactly zero for equal ones.
    """

    def __init__(self, x: Array, y: Array) -> None:
        self.x, self.y = x, y
        values, q = eigh_positive(stop(x))
        roots = namespace(values).sqrt(values)[..., None, :]
        self.root, self.inverse = q * roots, (q / roots).mT
        self.u, self.s, _ = svd(self.root.mT @ cholesky(stop(y)))
        rhs = self.u.mT @ (self.root.mT @ stop(y - x) @ self.root)
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
            a = stop(self.minus_identity())
            g = expand(g, 2)
            return -g * a, g * sym(namespace(a).linalg.solve(identity(a) + a, a))

        return attach(_dot(move, move), (self.x, self.y), adjoint)


def _parallel(x: Array, a: Array, w: Array) -> Array:
    """Parallel transport of w along t -> (I + tA) X (I + tA) to t = 1; see `transport_along`."""
    xp = namespace(x, w)
    lift, start = _lyapunov(x)(w), cholesky(x)
    lift, velocity = lift @ start, a @ start
    values = eigvalsh(stop(a))
    values = xp.where(xp.isfinite(values), values, xp.zeros_like(values))
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


def _flat(a: Array) -> Array:
    return namespace(a).reshape(a, (*a.shape[:-2], a.shape[-1] ** 2))


def _dot(a: Array, b: Array) -> Array:
    return dot(_flat(a), _flat(b))


METRICS: dict[str, Callable[[int], Metric]] = {
    "affine-invariant": AffineInvariant,
    "log-euclidean": LogEuclidean,
    "bures-wasserstein": BuresWasserstein,
}
