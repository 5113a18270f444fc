"""The Stiefel manifold: orthonormal frames."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from array_api_compat import is_jax_array

from .._numerics.arrays import (
    Array,
    at_zero,
    expand,
    namespace,
    normal,
    on_host,
    safe_sqrt,
    settled,
    signs,
)
from .._support.check import one_of, positive_int
from ..errors import ArgumentError, CutLocusError
from ._border import Seed
from ._endpoint import average, combine, coordinates, linearize, shortest, skew, solve, tolerance
from ._frames import (
    FrameManifold,
    expm,
    finite,
    flat,
    frobenius,
    generator,
    identity,
    largest,
    long_way,
    reflector,
    refuse_far_transport,
    relative,
    renew,
    shortened,
    skew_action,
    too_long,
)
from .rotations import Rotations
from .sphere import Sphere, directions

__all__ = ["Stiefel"]


@dataclass(frozen=True)
class Stiefel(FrameManifold):
    """Orthonormal p-frames in Rⁿ, with the Euclidean or the canonical metric.

    Point         (n, p), XᵀX = I.
    Tangent       (n, p), XᵀV skew.
    Metric        "euclidean": <U, V> = tr(Uᵀ V), inherited from the matrices around.
                  "canonical": <U, V> = tr(Uᵀ (I - X Xᵀ/2) V), inherited from the rotations.
                  They are the same for p = 1, the sphere. For p = n, the orthogonal group, they are
                  tr(Uᵀ V) and tr(Uᵀ V)/2, the latter as on `Rotations`.
    Dimension     n p - p (p+1)/2.
    Curvature     Euclidean: in [-1/2, 1]. Canonical: in [0, 5/4] (Zimmermann and Stoye,
                  arXiv:2403.01879). For p = 1 and p = n as on the sphere and the rotations, and for
                  p = n-1 the canonical metric makes it the rotations.
    Injectivity   Euclidean: π (Zimmermann and Stoye, arXiv:2405.02268), but √2 π for p = n.
    radius        Canonical: π for p = 1 and p >= n-1. Else it is between √(4/5) π = 0.894 π
                  (Rentmeesters 2013), the value given here, and 0.9133 π (Absil and Mataigne,
                  arXiv:2403.02079), which is conjectured to be it.
    Cost          O(n p²) for every method but `log` and `dist`, which solve a few linear systems of
                  size d = p (p-1)/2 + p min(p, n-p), at O(p² d²) each. They suit p up to 20 or so.
    Source        Edelman, Arias and Smith, The geometry of algorithms with orthogonality
                  constraints (1998), section 2.4; Hüper, Markina and Silva Leite, A Lagrangian
                  approach to extremal curves on Stiefel manifolds (2021).

    `log` solves the geodesic endpoint problem by a safeguarded Newton method. A geodesic shorter
    than the injectivity radius is the shortest, so there the answer is certain; beyond, it is the
    shortest found from several starts. Where none is found, or several equally short, it raises
    `CutLocusError`. O(n) has two components; across them the distance is infinite.

    Parameters
    ----------
    n, p : int, 1 <= p <= n, n >= 2
        Dimension of the space, and number of vectors.
    metric : {"euclidean", "canonical"}

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.manifolds.stiefel import Stiefel
    >>> frames = Stiefel(3, 2)
    >>> x = np.eye(3)[:, :2]
    >>> turn = np.array([[0.0, -1.0], [1.0, 0.0], [0.0, 0.0]])  # both vectors, in their plane
    >>> y = frames.exp(x, 0.5 * turn)
    >>> round(float(frames.dist(x, y)), 12), round(float(Stiefel(3, 2, "canonical").dist(x, y)), 12)
    (0.707106781187, 0.5)
    """

    n: int
    p: int
    metric: Literal["euclidean", "canonical"] = "euclidean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive_int(self.n, "n", 2))
        object.__setattr__(self, "p", positive_int(self.p, "p"))
        if self.p > self.n:
            raise ArgumentError(f"p must be <= n = {self.n} on Stiefel, got {self.p}")
        one_of(self.metric, "metric", ("euclidean", "canonical"))

    # Both metrics belong to one family: c/2 |XᵀV|² + |V - X XᵀV|² with c = 2 or 1. The geodesic is
    # e^{tΞ} X e^{(1-c)tA} with A = XᵀV, N = V - XA and Ξ = N Xᵀ - X Nᵀ + c X A Xᵀ.
    @cached_property
    def _c(self) -> int:
        return 2 if self.metric == "euclidean" else 1

    @cached_property
    def _twin(self) -> Sphere | Rotations | None:
        """The simpler manifold that this one is, up to the factor `_scale` of lengths."""
        return Sphere(self.n, 1) if self.p == 1 else Rotations(self.n) if self.p == self.n else None

    @cached_property
    def _scale(self) -> float:
        return math.sqrt(self._c) if self.p == self.n else 1.0

    @property
    def dim(self) -> int:
        return self.n * self.p - self.p * (self.p + 1) // 2

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.n, self.p)

    @property
    def curvature(self) -> tuple[float, float]:
        if self._twin:
            low, high = self._twin.curvature
            return low / self._scale**2, high / self._scale**2
        if self.metric == "euclidean":
            return (-0.5, 1.0)
        return Rotations(self.n).curvature if self.p == self.n - 1 else (0.0, 1.25)

    @property
    def injectivity_radius(self) -> float:
        if self.metric == "canonical" and 2 <= self.p <= self.n - 2:
            return math.pi * math.sqrt(0.8)
        return math.pi * self._scale

    @property
    def closed_form(self) -> bool:
        return bool(self._twin)

    @property
    def bounded(self) -> bool:
        return True

    @property
    def typical_dist(self) -> float:
        return math.pi / 2 * math.sqrt(self.p)

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        if self.metric == "euclidean":
            return frobenius(u, v)
        return frobenius(u, v) - 0.5 * frobenius(x.mT @ u, x.mT @ v)

    def dist(self, x: Array, y: Array) -> Array:
        if self._twin:
            distance = self._scale * self._twin.dist(x, y)
            if self.p == 1:
                return distance
            apart = self._apart(x, y)
            if apart.ndim == 0:
                return math.inf if bool(apart) else distance
            return namespace(x, y).where(apart, math.inf, distance)
        return self.norm(x, self._logarithm(x, y, unique=False))

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        if self._twin:
            return self._twin.geodesic(x, v)
        v, length2 = shortened(v, frobenius(v, v))
        a, b, gram = self._parts(x, v)
        m = generator(self._c * a, gram)
        size = math.sqrt(self._c) * safe_sqrt(length2)  # bounds the norms of Ξ and of A
        p = self.p

        def point(t: float | Array) -> Array:
            if too_long(abs(t) * size):
                y = long_way(x, a, b, self._c, t)
            else:
                e = expm(expand(t, 2) * m, abs(t) * size)[..., :p]
                y = x @ e[..., :p, :] + b @ e[..., p:, :]
                if self._c == 2:
                    y = y @ expm(expand(-t, 2) * a, abs(t) * size)
                y = renew(y)
            straight = x + expand(t, 2) * v
            return at_zero(expand(t * t * length2, 2), straight, y)  # exp(x, 0) is x

        return point

    def log(self, x: Array, y: Array) -> Array:
        if self.p < self.n:
            return self._twin.log(x, y) if self._twin else self._logarithm(x, y, unique=True)
        xp = namespace(x, y)
        apart = self._apart(x, y)
        if apart.ndim == 0 and bool(apart):
            raise CutLocusError(
                f"log on {self}: x and y have determinants of opposite signs, no path joins them"
            )
        # Entries of a batch with no path: the logarithm of the identity, then NaN.
        v = Rotations(self.n).log(x, xp.where(expand(apart, 2), x, y))
        return xp.where(expand(apart, 2), math.nan * xp.ones_like(v), v)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        if self._twin:
            return self._twin.transport_along(x, v, w)
        refuse_far_transport(self, v)
        # In the frame that moves with the geodesic, W = X(t) α + Z. The Levi-Civita connection
        # makes parallel transport a linear equation for α and Z with constant coefficients, skew in
        # the metric. The frame moves Z, normal to X, to e^Ξ Z = Z - (∫ e^{sΞ} X ds) Nᵀ Z.
        xp = namespace(x, v)
        p, c = self.p, self._c
        a, b, gram = self._parts(x, v)
        alpha, z, _ = self._parts(x, w)

        def rate(w: Array) -> Array:
            alpha, z = w[..., :p, :], w[..., p:, :]
            bz, aa = b.mT @ z, a @ alpha
            top = 0.5 * (bz - bz.mT) - (c - 0.5) * (aa - aa.mT)
            return xp.concat([top, -0.5 * c * (b @ alpha - z @ a)], axis=-2)

        length = safe_sqrt(frobenius(v, v))
        bound = (0.9, 1.5 * math.sqrt(2))[c - 1] * largest(length)
        w = skew_action(rate, xp.concat([alpha, z], axis=-2), bound)
        size = math.sqrt(c) * length
        e = expm(generator(c * a, gram, integral=True), size)[..., : 2 * p, :]
        e = x @ e[..., :p, :] + b @ e[..., p:, :]
        z = w[..., p:, :]
        w = e[..., :p] @ w[..., :p, :] + z - e[..., 2 * p :] @ (b.mT @ z)
        return w @ expm(-a, size) if c == 2 else w

    def to_coords(self, x: Array, v: Array) -> Array:
        if self._twin:
            return self._scale * self._twin.to_coords(x, v)
        xp = namespace(x, v)
        a = math.sqrt(self._c) * coordinates(x.mT @ v)
        return xp.concat([a, flat(reflector(x)(v)[..., self.p :, :])], axis=-1)

    def from_coords(self, x: Array, c: Array) -> Array:
        if self._twin:
            return self._twin.from_coords(x, c / self._scale)
        xp = namespace(x, c)
        n, p = self.n, self.p
        split = p * (p - 1) // 2
        a = skew(c[..., :split], p, p, 1) / math.sqrt(self._c)
        rows = xp.reshape(c[..., split:], (*c.shape[:-1], n - p, p))
        return x @ a + reflector(x)(xp.concat([xp.zeros_like(a), rows], axis=-2))

    def unit_tangent(self, rng: Seed, x: Array, batch: tuple[int, ...] = ()) -> Array:
        if self.p == 1:
            return directions(rng, x[..., 0], batch)[..., None]
        # A Gaussian, projected; its part X odd weighed for the metric.
        g = normal(rng, (*batch, *x.shape), x)
        k = x.mT @ g
        if self.dim == 1:  # of the two directions, the one on the side of g: nothing cancels
            return self.from_coords(x, signs(k[..., 1:, 0] - k[..., :1, 1]))
        odd = math.sqrt(0.5 / self._c) * (k - k.mT)
        u = g - x @ (k - odd)
        u, length2 = settled(x, u, self.n * self.p / 32, self.to_tangent, frobenius)
        if self._c == 1:
            odd = x.mT @ u
            length2 = length2 - 0.5 * frobenius(odd, odd)
        return u / expand(safe_sqrt(length2), 2)

    def to_tangent(self, x: Array, a: Array) -> Array:
        k = x.mT @ a
        return a - 0.5 * (x @ (k + k.mT))

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return self.to_tangent(x, g) if self.metric == "euclidean" else g - x @ (g.mT @ x)

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        a = x.mT @ v
        even = 0.5 * (a + a.mT)
        return "the symmetric part of xᵀv, relative to v,", relative(even, v)

    # -- private -----------------------------------------------------------------------------------

    def _apart(self, x: Array, y: Array) -> Array:
        """Whether two points of O(n) are in different components."""
        det = namespace(x, y).linalg.det
        return det(finite(x)[0]) * det(finite(y)[0]) < 0

    def _parts(self, x: Array, v: Array) -> tuple[Array, Array, Array]:
        """A and N of V = XA + N, with A skew and Xᵀ N = 0, and Nᵀ N."""
        k = x.mT @ v
        b = v - x @ k
        return 0.5 * (k - k.mT), b, b.mT @ b

    def _logarithm(self, x: Array, y: Array, unique: bool) -> Array:
        """Shortest geodesic found from x to y; with ``unique`` only if no other is as short."""
        if is_jax_array(x):  # which the search below could not write to
            return on_host(partial(self._logarithm, unique=unique), x, y)
        xp = namespace(x, y)
        x, y = xp.broadcast_arrays(x, y)
        tracked = getattr(x, "requires_grad", False) or getattr(y, "requires_grad", False)
        fixed_x, fixed_y = (x.detach(), y.detach()) if tracked else (x, y)
        lead, p, c = x.shape[:-2], self.p, self._c

        # Geodesics stay in the span of [X Q], which holds y: there the problem is at most 2p x p.
        q = xp.linalg.qr(xp.concat([fixed_x, fixed_y], axis=-1))[0][..., p:]
        target = renew(xp.concat([fixed_x.mT @ fixed_y, q.mT @ fixed_y], axis=-2))
        m = target.shape[-2]
        target, sound = finite(target)
        target = xp.where(expand(sound, 2), target, identity(target, m)[:, :p])
        found = shortest(xp.reshape(target, (-1, m, p)), c, self.injectivity_radius)
        bad = found.residual > tolerance(target)
        if unique:
            bad = bad | found.ambiguous
        u, residual, bad = (
            xp.reshape(a, lead + a.shape[1:]) for a in (found.u, found.residual, bad)
        )
        same = xp.all(flat(fixed_x) == flat(fixed_y), axis=-1)
        v = combine(fixed_x, q, u)
        v = xp.where(expand(same, 2), xp.zeros_like(v), v)
        if tracked:
            v = self._differentiate(x, y, v, q, u)
        bad = bad & sound & ~same
        if not lead and bool(bad):
            words = (
                f"no geodesic was found, the best one misses y by {float(residual):.2g}"
                if float(residual) > tolerance(target)
                else "several geodesics are equally short"
            )
            raise CutLocusError(f"log on {self}: {words}; x = {x!r:.60}, y = {y!r:.60}")
        return xp.where(expand(bad | ~sound, 2), math.nan * xp.ones_like(v), v)

    def _differentiate(self, x: Array, y: Array, v: Array, q: Array, u: Array) -> Array:
        """Give the solution v of exp(x, v) = y its derivatives, by the implicit function theorem.

        Adds one more Newton step: zero, but for its derivative.
        """
        xp = namespace(x)
        p = self.p
        v = self.to_tangent(x, v)
        rest = y - self.exp(x, v)
        fixed = x.detach()
        inside = xp.concat([fixed.mT @ rest, q.mT @ rest], axis=-2)
        outside = rest - fixed @ inside[..., :p, :] - q @ inside[..., p:, :]
        m = inside.shape[-2]
        flow = linearize(u, m, p, self._c)
        step = solve(flow.jacobian, coordinates(flow.back @ inside @ flow.turn))
        mean = average(u, m, p, self._c)[..., :p, :p]
        # Normal to [X Q] the differential is W -> W (∫ e^{sΩ} ds)₁₁ e^{(1-c)A}.
        return v + combine(fixed, q, step) + xp.linalg.solve(mean.mT, (outside @ flow.turn).mT).mT

    def __repr__(self) -> str:
        metric = "" if self.metric == "euclidean" else f", metric={self.metric!r}"
        return f"Stiefel({self.n}, {self.p}{metric})"
