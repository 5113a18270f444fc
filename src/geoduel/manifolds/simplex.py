"""The probability simplex with the Fisher-Rao metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._numerics.arrays import (
    Array,
    arc_over_sin,
    at_zero,
    cos_sinc,
    dot,
    expand,
    fails,
    namespace,
    normal,
    safe_sqrt,
    tangent_if_short,
    top,
)
from .._support.check import positive_int
from ..errors import NotOnManifoldError
from ._border import Seed
from .base import Manifold
from .sphere import Sphere

__all__ = ["Simplex"]

_FLOOR = 1e-36  # the squares of smaller entries' rates leave the range of float32


@dataclass(frozen=True)
class Simplex(Manifold):
    """Open probability simplex of n categories, Fisher-Rao metric.

    Point         (n,), positive entries with sum 1.
    Tangent       (n,), entries with sum 0.
    Metric        <u, v>_x = sum of uᵢvᵢ/xᵢ;  dist = 4 asin(|√x - √y| / 2) = 2 arccos(sum of √xᵢyᵢ).
    Dimension     n - 1;  curvature 1/4;  diameter π.
    Source        Amari and Nagaoka, Methods of Information Geometry (2000), section 2.2; Åström,
                  Petra, Schmitzer and Schnörr, "Image labeling by assignment", JMIV 2017.

    x -> 2√x is an isometry onto the positive part of the sphere of radius 2, which is convex. Any
    two points are joined by one minimising geodesic, so `log` and `transport` have no cut locus.

    The open simplex is incomplete: a geodesic reaches the boundary, at `boundary_dist` at the
    earliest and before 2π in any case. `exp` goes on by reflection, since squaring folds the whole
    sphere onto the closed simplex. The result is a point for every tangent vector, continuous in
    it, and no farther from x than |v|, so that methods may step anywhere. It always undoes `log`;
    the converse, log(x, exp(x, v)) = v, holds up to the first reflection only. A radius at which it
    holds at every point would be 0, which helps nobody: `injectivity_radius` is π, the diameter,
    below which `log` takes all its values. Entries stop at 1e-36, within 2e-18 of the boundary.

    Parameters
    ----------
    n : int
        Number of categories, at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> simplex = Simplex(3)
    >>> x, y = np.array([0.25, 0.25, 0.5]), np.array([0.5, 0.25, 0.25])
    >>> round(float(simplex.dist(x, y)), 6)
    0.587901
    >>> half_way = simplex.exp(x, simplex.log(x, y) / 2)
    >>> half_way.round(6)
    array([0.37226 , 0.255479, 0.37226 ])
    """

    n: int

    def __post_init__(self) -> None:
        positive_int(self.n, "Simplex n", least=2)

    @property
    def dim(self) -> int:
        return self.n - 1

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.n,)

    @property
    def curvature(self) -> tuple[float, float]:
        return (0.25, 0.25)

    @property
    def injectivity_radius(self) -> float:
        return math.pi

    @property
    def bounded(self) -> bool:
        return True

    @property
    def typical_dist(self) -> float:
        return math.pi / 2

    def boundary_dist(self, x: Array) -> Array:
        """Distance from x to the boundary, 2 asin √(smallest entry); up to it exp is one-to-one."""
        xp = namespace(x)
        return 2 * xp.asin(xp.sqrt(xp.min(x, axis=-1)))

    # -- metric ----------------------------------------------------------------------------------

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return dot(u / x, v)

    def dist(self, x: Array, y: Array) -> Array:
        return 4 * namespace(x, y).asin(safe_sqrt(_chord2(x, y)[2]) / 2)

    # -- geodesics: great circles of s = √x, unit radius, hence half the lengths -------------------

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        xp = namespace(x, v)
        v = _shortened(x, v)
        rate = v / (2 * x)  # s' / s
        speed2 = self.inner(x, v, v) / 4

        def point(t: float | Array) -> Array:
            angle2 = t * t * speed2
            c, s = cos_sinc(angle2)
            y = x * (expand(c, 1) + expand(s * t, 1) * rate) ** 2
            y = xp.where(y < _FLOOR, _FLOOR, y)
            # Rounding drifts, hence the division; exp(x, 0) is x to the last bit.
            return y / expand(at_zero(angle2, 1.0, xp.sum(y, axis=-1)), 1)

        return point

    def extent(self, x: Array, v: Array) -> Array:
        # At the boundary, where an entry of √x vanishes, geodesics turn back.
        xp, speed = namespace(x, v), self.norm(x, v) / 2
        still = speed == 0
        speed, rate = xp.where(still, 1.0, speed), xp.max(abs(v / (2 * x)), axis=-1)
        return xp.where(still, math.inf, xp.atan2(speed, rate) / speed)

    def log(self, x: Array, y: Array) -> Array:
        root, difference, m = _chord2(x, y)
        # √y - cos(θ) √x, times √x: with m = 2 - 2 cos θ it vanishes without cancellation.
        u = root * difference + expand(m / 2, 1) * x
        return expand(2 * arc_over_sin(m), 1) * self._summed(x, u)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        xp = namespace(x, y)
        root_x, root_y = xp.sqrt(x), xp.sqrt(y)
        carried = root_y / root_x * v
        ratio = xp.sum(carried, axis=-1) / (1 + dot(root_x, root_y))
        return self._summed(y, carried - expand(ratio, 1) * (root_x * root_y + y))

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        v = _shortened(x, v)
        rate = v / (2 * x)
        t2 = self.inner(x, v, v) / 4
        c, s = cos_sinc(t2)
        half = cos_sinc(t2 / 4)[1]
        vw = self.inner(x, v, w) / 4
        carried = w - expand(2 * s * vw, 1) * x - expand(half * half / 2 * vw, 1) * v
        stretch = expand(c, 1) + expand(s, 1) * rate
        return self._summed(x * stretch**2, stretch * carried)

    # -- coordinates -----------------------------------------------------------------------------

    def to_coords(self, x: Array, v: Array) -> Array:
        root = namespace(x).sqrt(x)
        return Sphere(self.n).to_coords(root, v / root)

    def from_coords(self, x: Array, c: Array) -> Array:
        root = namespace(x).sqrt(x)
        return self._summed(x, root * Sphere(self.n).from_coords(root, c))

    # -- between the ambient space and the manifold ----------------------------------------------

    def to_tangent(self, x: Array, a: Array) -> Array:
        return a - namespace(a).sum(a, axis=-1)[..., None] * x

    def _summed(self, x: Array, v: Array) -> Array:
        """Tangent vectors; where entries are small, of points near a corner say, those sum to 0."""
        return tangent_if_short(x, v, dot(v, v), 1, self.to_tangent)

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        return self.to_tangent(x, x * g)

    def to_manifold(self, a: Array) -> Array:
        """Divide by the sum, after raising entries that are not positive to 1e-36.

        Raises
        ------
        NotOnManifoldError
            If no entry is positive or an entry is not finite.
        """
        xp = namespace(a)
        y = xp.where(a < _FLOOR, _FLOOR, a)
        largest = xp.max(a, axis=-1)
        if fails(largest > 0) or fails(xp.isfinite(a)):
            raise NotOnManifoldError(
                f"to_manifold on {self}: expected finite entries, at least one positive; "
                f"the largest is {float(xp.min(largest)):.3g}"
            )
        y = y / xp.sum(y, axis=-1)[..., None]
        return xp.where(y < _FLOOR, _FLOOR, y)  # where the others are large

    def origin(self) -> Array:
        """The barycentre, where all categories are as likely."""
        return np.full(self.n, 1 / self.n)

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Points uniform in volume of the flat simplex: Dirichlet(1, ..., 1)."""
        g = normal(rng, (*batch, self.n, 2), like)
        return self.to_manifold(dot(g, g))  # squared radii are exponential

    # -- checks ----------------------------------------------------------------------------------

    def check_point(self, x: Array, name: str = "x") -> None:
        super().check_point(x, name)
        if not bool(namespace(x).all(x > 0)):
            least = float(namespace(x).min(x))
            raise NotOnManifoldError(
                f"{name} is not on {self}: its smallest entry is {least:.3g}, expected > 0 "
                f"(the simplex is open; `to_manifold` moves a point off the boundary)"
            )

    def point_defect(self, x: Array) -> tuple[str, Array]:
        return "|sum - 1|", abs(namespace(x).sum(x, axis=-1) - 1)

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        xp = namespace(v)
        size = xp.sum(xp.abs(v), axis=-1)
        return "|sum| / (sum of sizes)", abs(xp.sum(v, axis=-1)) / xp.where(
            size == 0, xp.ones_like(size), size
        )

    def __repr__(self) -> str:
        return f"Simplex({self.n})"


def _shortened(x: Array, v: Array) -> Array:
    """Tangent vectors, shorter where their squares overflow: no digit of the angle was left."""
    xp = namespace(x, v)
    limit = 1e-10 * math.sqrt(xp.finfo(v.dtype).max)
    size = abs(v) / xp.sqrt(x)
    size = xp.max(size, axis=-1)
    if not top(size) > limit:
        return v
    over = size > limit
    return v * expand(xp.where(over, limit / xp.where(over, size, xp.ones_like(size)), 1.0), 1)


def _chord2(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """√x, √y - √x and its squared length, from y - x: right for the closest points."""
    xp = namespace(x, y)
    root = xp.sqrt(x)
    difference = (y - x) / (root + xp.sqrt(y) + _FLOOR)  # 0, not 0/0, where both are on a face
    return root, difference, dot(difference, difference)
