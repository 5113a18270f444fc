"""Tests that a manifold of your own can inherit.

The tests state what a Riemannian manifold is, by identities and theorems, and know nothing of how
one is computed. A test that fails says in a sentence what is wrong and what was expected. They need
pytest only to be collected, and torch only for manifolds that claim it.
"""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple
from unittest import SkipTest

import numpy as np

from ._numerics.arrays import Array, eps, expand
from .errors import ArgumentError, GeoduelError, NotOnManifoldError, NotTangentError
from .manifolds._derived import tangent_rank
from .manifolds.base import Manifold

__all__ = ["ManifoldContract"]

EPS = float(np.finfo(float).eps)


class _Data(NamedTuple):
    """Arguments for every method: y = exp(x, v), w tangent at x, a ambient, c coordinates."""

    x: Array
    y: Array
    v: Array
    w: Array
    a: Array
    c: Array
    t: Array


_Method = Callable[[Manifold, _Data], Array]
_METHODS: dict[str, _Method] = {
    "inner": lambda m, d: m.inner(d.x, d.v, d.w),
    "norm": lambda m, d: m.norm(d.x, d.w),
    "dist": lambda m, d: m.dist(d.x, d.y),
    "geodesic": lambda m, d: m.geodesic(d.x, d.v)(d.t),
    "exp": lambda m, d: m.exp(d.x, d.v),
    "exp_pair, ahead": lambda m, d: m.exp_pair(d.x, d.v)[0],
    "exp_pair, behind": lambda m, d: m.exp_pair(d.x, d.v)[1],
    "log": lambda m, d: m.log(d.x, d.y),
    "transport": lambda m, d: m.transport(d.x, d.y, d.w),
    "transport_along": lambda m, d: m.transport_along(d.x, d.v, d.w),
    "to_coords": lambda m, d: m.to_coords(d.x, d.w),
    "from_coords": lambda m, d: m.from_coords(d.x, d.c),
    "to_tangent": lambda m, d: m.to_tangent(d.x, d.a),
    "riemannian_gradient": lambda m, d: m.riemannian_gradient(d.x, d.a),
    "to_manifold": lambda m, d: m.to_manifold(d.y),
}
_NUMBERS = ("inner", "norm", "dist")


class ManifoldContract:
    """What every manifold must do, as a class of tests.

    Derive a class whose name starts with ``Test``, set `manifold`, and run pytest. Where a manifold
    needs it, override the attributes and the hooks, the methods whose names do not start with
    ``test``.

    Attributes
    ----------
    manifold : Manifold
        The manifold under test.
    rounding : float
        Accepted error of a result, in rounding units of its largest entry (at least of 1).
    transport_error : float
        Accepted error of transports beside rounding, by default 0. Where `transport_along` is the
        default of `Manifold` and the space is not symmetric, 1e-11 suits.
    steps : int
        Length of the walk after which a point must still be on the manifold.
    supports : tuple of str
        What the manifold claims beside NumPy arrays of doubles: "float32", "torch", and
        "array_api_strict" if what the Array API standard covers is enough. Nothing else is asked.
        Tests need the library installed.
    device : str
        Where torch's arrays are put, "cuda" for one.

    Examples
    --------
    A test file for your manifold, here the sphere for lack of yours:

    >>> from geoduel.manifolds.sphere import Sphere
    >>> from geoduel.testing import ManifoldContract
    >>> class TestSphere(ManifoldContract):
    ...     manifold = Sphere(3)
    ...
    ...     def isometries(self, rng):
    ...         flip = np.array([1.0, -1.0, 1.0])
    ...         yield lambda x: flip * x, lambda x, v: flip * v

    pytest runs all tests; by hand, one of them:

    >>> TestSphere().test_log_undoes_exp()
    """

    manifold: Manifold
    rounding: float = 1000.0
    transport_error: float = 0.0
    steps: int = 2000
    supports: tuple[str, ...] = ()
    device: str = "cpu"

    # -- hooks -----------------------------------------------------------------------------------

    def reach(self, x: Array) -> Any:
        """Length up to which `log` undoes `exp` at ``x``, a number or an array of shape (...)."""
        return 0.95 * min(self.manifold.injectivity_radius, 2 * self.manifold.typical_dist)

    def off_centre_point(self, rng: np.random.Generator) -> Array:
        """Point where symmetry hides nothing: far out, ill-conditioned, close to a boundary."""
        x = self.manifold.random_point(rng)
        return self.manifold.exp(x, self.reach(x) * self.manifold.unit_tangent(rng, x))

    def isometries(
        self, rng: np.random.Generator
    ) -> Iterator[tuple[Callable[[Array], Array], Callable[[Array, Array], Array]]]:
        """Pairs of an isometry ``x -> f(x)`` and its differential ``x, v -> df(x)[v]``."""
        return iter(())

    def not_a_point(self, x: Array) -> Array | None:
        """Array of the shape of a point that is none; None if there is no such array.

        By default ``-2 x - 1``, unless every array may be a point: `dim` is the number of entries,
        and `to_manifold` returns this array as it is.
        """
        bad = -2 * x - 1
        if math.prod(self.manifold.point_shape) > self.manifold.dim:
            return bad
        try:
            return None if np.array_equal(self.manifold.to_manifold(bad), bad) else bad
        except NotOnManifoldError:
            return bad

    def not_a_tangent(self, rng: np.random.Generator, x: Array) -> Array | None:
        """Array of the shape of a tangent vector that is none; None if there is no such array."""
        if math.prod(self.manifold.point_shape) == self.manifold.dim:
            return None
        return rng.standard_normal(self.manifold.point_shape)

    # -- the manifold as an object ---------------------------------------------------------------

    def test_says_what_it_is(self) -> None:
        m = self.manifold
        _must(
            isinstance(m, Manifold),
            f"manifold must be an instance of a class derived from geoduel.Manifold, got {m!r:.80}",
        )
        _must(
            isinstance(m.dim, int) and m.dim >= 1, f"dim must be an integer >= 1, it is {m.dim!r}"
        )
        shape = m.point_shape
        _must(
            isinstance(shape, tuple) and all(isinstance(n, int) and n >= 1 for n in shape),
            f"point_shape must be a tuple of positive integers such as (3,), it is {shape!r}",
        )
        _must(
            len(m.curvature) == 2 and m.curvature[0] <= m.curvature[1],
            "curvature must be the lower and the upper bound of the sectional curvature, (-inf, "
            f"inf) where it is unknown; it is {m.curvature}",
        )
        _must(
            m.injectivity_radius > 0,
            f"injectivity_radius must be > 0, it is {m.injectivity_radius}",
        )
        _must(
            0 < m.typical_dist < math.inf,
            f"typical_dist must be > 0 and finite, it is {m.typical_dist}",
        )
        _must(
            isinstance(m.bounded, bool), f"bounded must be True or False, it is {m.bounded!r:.80}"
        )
        unknown = set(self.supports) - {"float32", "torch", "array_api_strict"}
        _must(not unknown, f"supports of the test class names {sorted(unknown)}, which is unknown")
        rank = tangent_rank(m, m.random_point(np.random.default_rng(0)))
        _must(
            rank == m.dim,
            f"dim is {m.dim}, but to_tangent at a random point has a range of dimension {rank}: "
            "one of the two is wrong",
        )

    def test_copies_are_equal(self) -> None:
        """Of a manifold that defines equality, which no geometry needs; dataclasses do."""
        m = self.manifold
        if type(m).__eq__ is object.__eq__:
            raise SkipTest("the manifold defines no equality")
        for way, other in {
            "copy.deepcopy": copy.deepcopy(m),
            "pickle": pickle.loads(pickle.dumps(m)),
        }.items():
            _must(other == m, f"a copy by {way} must be equal to {m!r}; it is {other!r}")
            _must(hash(other) == hash(m), f"a copy of {m!r} by {way} must have the same hash")
        _must(m != object(), f"{m!r} must not be equal to an object of another class")

    # -- points and tangent vectors --------------------------------------------------------------

    def test_random_points_are_points(self) -> None:
        m, rng = self.manifold, np.random.default_rng(1)
        for batch in ((), (3,), (2, 3)):
            x = m.random_point(rng, batch)
            _shape(x, (*batch, *m.point_shape), f"random_point(rng, {batch})")
            _must(x.dtype == np.float64, f"random_point must return float64, got {x.dtype}")
            self._is_point(x, "random_point")
        first, again = (m.random_point(np.random.default_rng(2), (2,)) for _ in range(2))
        _must(
            np.array_equal(first, again),
            "random_point must draw from the generator it is given: two of the same seed lead to "
            "different points",
        )
        _must(not np.array_equal(*first), "random_point returns the same point twice in a batch")

    def test_the_origin_is_one_point(self) -> None:
        m = self.manifold
        x = m.origin()
        _shape(x, m.point_shape, "origin()")
        _must(x.dtype == np.float64, f"origin must return float64, got {x.dtype}")
        self._is_point(x, "origin")
        _must(np.array_equal(x, m.origin()), "origin() must always be the same point")

    def test_unit_tangents_are_tangent_and_of_length_one(self) -> None:
        m, rng = self.manifold, np.random.default_rng(3)
        x = m.random_point(rng, (3,))
        for batch in ((), (2,), (4, 2)):
            u = m.unit_tangent(rng, x, batch)
            _shape(u, (*batch, 3, *m.point_shape), f"unit_tangent at 3 points with batch {batch}")
            self._is_tangent(x, u, "unit_tangent")
            self._close(m.norm(x, u), np.ones((*batch, 3)), "unit_tangent must have norm 1")
        _shape(m.unit_tangent(rng, x[0], (5,)), (5, *m.point_shape), "unit_tangent with batch (5,)")

    def test_unit_tangents_are_uniform(self) -> None:
        """E <u, e_i> = 0 and E <u, e_i><u, e_j> = δ_ij / d, in any orthonormal basis."""
        m, rng, count = self.manifold, np.random.default_rng(4), 6000
        x, d = self.off_centre_point(rng), m.dim
        coords = self._orthonormal(rng, x)(m.unit_tangent(rng, x, (count,)))
        words = f"unit_tangent is not uniform in the metric; see Manifold.unit_tangent. Of {count}"
        mean = abs(coords.mean(axis=0)).max()
        _must(
            mean < 5 / math.sqrt(d * count),
            f"{words}, the mean has a coordinate of {mean:.3g}, expected 0",
        )
        second = coords.T @ coords / count
        # On the sphere E c_i⁴ = 3 / d(d+2) and E c_i² c_j² = 1 / d(d+2).
        fourth = (1 + 2 * np.eye(d)) / (d * (d + 2))
        error = np.sqrt(np.maximum(fourth - np.eye(d) / d**2, 0) / count)
        gap = abs(second - np.eye(d) / d) - 5 * error
        i, j = np.unravel_index(np.argmax(gap), gap.shape)
        _must(
            gap.max() < 1e-6,
            f"{words}, the mean of <u, e_{i}><u, e_{j}> in an orthonormal basis is "
            f"{second[i, j]:.3g}, expected {float(i == j) / d:.3g} ± {error[i, j]:.1g}",
        )

    def test_random_geodesics_are_those_of_unit_tangents(self) -> None:
        m, x = self.manifold, self.manifold.random_point(np.random.default_rng(32), (3,))
        t = np.array([0.0, 0.2, -0.3]) * np.min(self.reach(x))
        words = "random_geodesic(rng, x) must be geodesic(x, unit_tangent(rng, x))"
        for point, times in ((x, (0.1 * np.min(self.reach(x)), t)), (x[0], (float(t[1]),))):
            walk = m.random_geodesic(np.random.default_rng(33), point)
            again = m.geodesic(point, m.unit_tangent(np.random.default_rng(33), point))
            for time in times:
                self._close(walk(time), again(time), words)
            self._exactly(walk(0.0), point, "random_geodesic(rng, x)(0.0) must be x")
        path = m.random_geodesic(np.random.default_rng(33), x)
        self._exactly(path(t)[0], x[0], "random_geodesic(rng, x) must be x where t is 0")

    def test_coordinates_are_an_isometry(self) -> None:
        m, rng = self.manifold, np.random.default_rng(5)
        x = m.random_point(rng, (4,))
        b, c = rng.standard_normal((2, 4, m.dim))
        u, v = m.from_coords(x, b), m.from_coords(x, c)
        self._is_tangent(x, v, "from_coords")
        self._close(m.to_coords(x, v), c, "to_coords must undo from_coords")
        self._close(
            m.inner(x, u, v),
            (b * c).sum(axis=-1),
            "coordinates must be orthonormal: inner(x, from_coords(x, b), from_coords(x, c)) = b·c",
            scale=m.dim,
        )
        self._close(m.from_coords(x, b + 2 * c), u + 2 * v, "from_coords must be linear")

    def test_projections_keep_what_is_there(self) -> None:
        m, rng = self.manifold, np.random.default_rng(6)
        x = m.random_point(rng, (4,))
        a = rng.standard_normal((4, *m.point_shape))
        v, u = m.to_tangent(x, a), m.unit_tangent(rng, x)
        self._is_tangent(x, v, "to_tangent")
        self._close(m.to_tangent(x, v), v, "to_tangent must keep what it returned")
        self._close(m.to_tangent(x, u), u, "to_tangent must keep tangent vectors")
        self._close(m.to_tangent(x, a + 3 * u), v + 3 * u, "to_tangent must be linear")
        self._close(m.to_manifold(x), x, "to_manifold must keep points")
        near = m.to_manifold(x + 1e-6 * a)
        self._is_point(near, "to_manifold")
        self._close(m.to_manifold(near), near, "to_manifold must keep what it returned")
        worst = float(np.max(abs(near - x)))
        _must(
            worst <= 1e-4 * (1 + abs(x).max()),
            f"to_manifold must lead to a point close by: it moves an array 1e-6 off by {worst:.2g}",
        )

    def test_gradient_is_the_derivative(self) -> None:
        """<grad f, u> is the derivative of f along u, for a smooth f of the entries."""
        m, rng = self.manifold, np.random.default_rng(7)
        x = m.random_point(rng)
        u = m.unit_tangent(rng, x, (6,))
        a, b = rng.standard_normal((2, *m.point_shape))

        def f(z: Array) -> Array:
            return (a * z + b * z * z).reshape(6, -1).sum(axis=-1)

        gradient = m.riemannian_gradient(x, a + 2 * b * x)
        self._is_tangent(x, gradient, "riemannian_gradient")
        h = 1e-5 * float(np.min(self.reach(x)))
        slope = (f(m.exp(x, h * u)) - f(m.exp(x, -h * u))) / (2 * h)
        self._within(
            m.inner(x, gradient, u),
            slope,
            1e-6 * max(1, abs(slope).max()),
            "inner(x, riemannian_gradient(x, ∂f), u) must be the derivative of f along exp(x, t u)",
        )

    def test_geodesics_are_shortest_up_to_their_extent(self) -> None:
        m, d = self.manifold, self._data(14)
        end = m.extent(d.x, d.v)
        _shape(end, d.x.shape[: d.x.ndim - len(m.point_shape)], "extent")
        axes = len(m.point_shape)
        v = expand(0.95 * np.minimum(end, 2 * m.typical_dist / m.norm(d.x, d.v)), axes) * d.v
        for y in m.exp_pair(d.x, v):
            self._is_point(y, "exp_pair")
            self._close(
                m.dist(d.x, y),
                m.norm(d.x, v),
                "dist(x, exp(x, v)) must be |v| up to extent(x, v) (state injectivity_radius if it "
                "is finite)",
            )
        _must(np.isinf(m.extent(d.x, 0 * d.v)), "extent(x, 0) must be infinite")
        if not m.complete:
            beyond = np.isnan(np.stack(m.exp_pair(d.x, expand(1.01 * end, axes) * d.v)))
            _must(
                beyond.any(axis=(0, *range(2, beyond.ndim))),
                "complete is False, so one of exp(x, ±1.01 extent(x, v) v) must be NaN: where "
                "geodesics end, extent must say so",
            )

    # -- metric ----------------------------------------------------------------------------------

    def test_inner_is_an_inner_product(self) -> None:
        m, d = self.manifold, self._data(8)
        vw, ww = m.inner(d.x, d.v, d.w), m.inner(d.x, d.w, d.w)
        self._close(vw, m.inner(d.x, d.w, d.v), "inner must be symmetric")
        self._close(m.norm(d.x, d.w) ** 2, ww, "norm(x, w) must be the root of inner(x, w, w)")
        self._close(m.inner(d.x, d.v + 2 * d.w, d.w), vw + 2 * ww, "inner must be linear")
        _must(m.norm(d.x, d.w) > 0, "norm of a tangent vector must be > 0, unless it is zero")
        self._exactly(m.norm(d.x, 0 * d.w), np.zeros(len(d.x)), "norm(x, 0) must be 0")

    def test_dist_is_a_metric(self) -> None:
        m, rng = self.manifold, np.random.default_rng(9)
        x = m.random_point(rng, (5,))
        y, z = (self._walk(rng, x, 0.45) for _ in range(2))
        xy, yz, xz = m.dist(x, y), m.dist(y, z), m.dist(x, z)
        _must(xy > 0, "dist of two points must be > 0")
        self._close(m.dist(y, x), xy, "dist must be symmetric")
        excess = float(np.max([xz - xy - yz, yz - xy - xz]))
        _must(excess <= 1e-9, f"dist breaks the triangle inequality by {excess:.2g}")
        self._exactly(m.dist(x, x), np.zeros(5), "dist(x, x) must be 0")
        for one in x:
            self._exactly(m.dist(one, one), 0.0, "dist(x, x) must be 0 for a single point")

    def test_dist_is_the_length_of_log(self) -> None:
        m, d = self.manifold, self._data(10)
        dist = m.dist(d.x, d.y)
        self._close(dist, m.norm(d.x, m.log(d.x, d.y)), "dist(x, y) must be the norm of log(x, y)")
        self._close(dist, m.norm(d.x, d.v), "dist(x, exp(x, v)) must be the norm of v")

    def test_close_points_are_apart_by_their_difference(self) -> None:
        """A second formula for `dist`, free of `exp` and `log`; and where `exp` leads at first."""
        m, rng = self.manifold, np.random.default_rng(11)
        x = m.random_point(rng, (5,))
        h = 1e-5 * float(np.min(self.reach(x)))
        u = m.unit_tangent(rng, x)
        y = m.exp(x, h * u)
        chord = m.to_tangent(x, y - x)
        off = float(np.max(m.norm(x, chord - h * u))) / h
        _must(
            off < 1e-3,
            f"exp(x, h u) must be x + h u for small h: the chord is off by {off:.2g} of its length",
        )
        apart, length = m.dist(x, y), m.norm(x, chord)
        self._within(
            apart / length,
            np.ones(5),
            1e-3,
            "dist of close points must be the norm of their difference; their ratio",
        )

    def test_gradient_of_dist_points_along_the_geodesic(self) -> None:
        """The first variation of length: only true geodesics have it."""
        m, rng, d = self.manifold, np.random.default_rng(112), self._data(12)
        w, h = m.unit_tangent(rng, d.y), 1e-5 * float(np.min(self.reach(d.y)))
        slope = (m.dist(d.x, m.exp(d.y, h * w)) - m.dist(d.x, m.exp(d.y, -h * w))) / (2 * h)
        toward = m.inner(d.y, w, m.log(d.y, d.x)) / m.dist(d.x, d.y)
        self._within(
            slope,
            -toward,
            1e-6,
            "the derivative of dist(x, y) along w must be -<w, log(y, x)> / dist(x, y): exp and "
            "log are not those of the geodesics of `inner`",
        )

    def test_curvature_is_within_its_bounds(self) -> None:
        """d(exp εu, exp εv)² = 2ε² - K ε⁴/3 + ... for orthonormal u, v that span curvature K."""
        m, rng = self.manifold, np.random.default_rng(13)
        if m.dim == 1:
            raise SkipTest("there are no planes in one dimension")
        x = m.random_point(rng)
        frames = np.linalg.qr(rng.standard_normal((8, m.dim, 2)))[0]
        u, v = m.from_coords(x, frames[..., 0]), m.from_coords(x, frames[..., 1])
        h = 0.05 * float(np.min(self.reach(x)))
        # Terms of odd order cancel between the two sides.
        ahead, behind = (m.dist(m.exp(x, s * u), m.exp(x, s * v)) ** 2 for s in (h, -h))
        k = 3 * (2 * h**2 - (ahead + behind) / 2) / h**4
        low, high = m.curvature
        error = 0.02 * (1 + abs(k)) + self.rounding * EPS / h**2
        _must(
            (k > low - error) & (k < high + error),
            f"a plane at a random point has sectional curvature between {k.min():.3g} and "
            f"{k.max():.3g}, which curvature = {m.curvature} excludes: that is wrong, or exp and "
            "log are not those of the geodesics of `inner`",
        )

    def test_isometries_change_nothing(self) -> None:
        m, rng, d = self.manifold, np.random.default_rng(114), self._data(14)
        count = 0
        for f, df in self.isometries(rng):
            count += 1
            x, y, v, w = f(d.x), f(d.y), df(d.x, d.v), df(d.x, d.w)
            self._is_point(x, f"isometry {count}")
            self._is_tangent(x, v, f"the differential of isometry {count}")
            words = f"isometry {count} must keep"
            self._close(m.inner(x, v, w), m.inner(d.x, d.v, d.w), f"{words} inner")
            self._close(m.dist(x, y), m.dist(d.x, d.y), f"{words} dist")
            self._close(m.exp(x, v), y, f"{words} exp")
            self._close(m.log(x, y), df(d.x, m.log(d.x, d.y)), f"{words} log")
            self._close(
                m.transport(x, y, w),
                df(d.y, m.transport(d.x, d.y, d.w)),
                f"{words} transport",
                beside=self.transport_error,
            )
        if not count:
            raise SkipTest("no isometries given")

    # -- geodesics -------------------------------------------------------------------------------

    def test_log_undoes_exp(self) -> None:
        m, d = self.manifold, self._data(15)
        self._is_point(d.y, "exp")
        v = m.log(d.x, d.y)
        self._is_tangent(d.x, v, "log")
        words = "log(x, exp(x, v)) must be v (up to injectivity_radius, or to `reach` of the test)"
        self._close(v, d.v, words)
        self._close(m.exp(d.x, v), d.y, "exp(x, log(x, y)) must be y")
        for x, y, v in zip(d.x, d.y, d.v, strict=True):
            self._close(m.log(x, y), v, f"{words}, for a single point too")

    def test_exp_of_zero_is_the_point(self) -> None:
        """To the last bit."""
        m, d = self.manifold, self._data(16)
        self._exactly(m.exp(d.x, 0 * d.v), d.x, "exp(x, 0) must be x")
        self._exactly(m.geodesic(d.x, d.v)(0.0), d.x, "geodesic(x, v)(0.0) must be x")
        self._exactly(m.exp_pair(d.x, 0 * d.v)[1], d.x, "exp_pair(x, 0) must be x and x")
        for x, v in zip(d.x, d.v, strict=True):
            self._exactly(m.exp(x, 0 * v), x, "exp(x, 0) must be x for a single point")
            self._exactly(m.geodesic(x, v)(0.0), x, "geodesic(x, v)(0.0) must be x for one point")

    def test_log_of_the_point_is_zero(self) -> None:
        m, d = self.manifold, self._data(17)
        size = 50 * EPS * max(1, abs(d.x).max())
        self._within(m.log(d.x, d.x), 0 * d.x, size, "log(x, x) must be 0")

    def test_tiny_steps_are_resolved(self) -> None:
        """A step of 1e-12 has a length to the digits that the point itself has, not to 1e-8."""
        m, rng = self.manifold, np.random.default_rng(18)
        x = m.random_point(rng, (5,))
        v = 1e-12 * m.unit_tangent(rng, x)
        y = m.exp(x, v)
        # What half a rounding unit of the entries of y is worth, as a length.
        noise = 50 * (m.norm(x, m.to_tangent(x, EPS * abs(x))) + EPS)
        hint = "an arccosine, for one, loses half the digits there"
        for words, error in {
            "dist(x, y)": abs(m.dist(x, y) - 1e-12),
            "log(x, y)": m.norm(x, m.log(x, y) - v),
        }.items():
            worst = int(np.argmax(error / noise))
            _must(
                error[worst] < noise[worst],
                f"{words} of points 1e-12 apart is wrong by {error[worst]:.2g}, expected at most "
                f"{noise[worst]:.2g}: {hint}",
            )

    def test_geodesic_agrees_with_exp(self) -> None:
        m, d = self.manifold, self._data(19)
        path = m.geodesic(d.x, d.v)
        ahead, behind = m.exp_pair(d.x, d.v)
        self._close(path(1.0), d.y, "geodesic(x, v)(1.0) must be exp(x, v)")
        self._close(ahead, d.y, "the first of exp_pair(x, v) must be exp(x, v)")
        self._close(behind, m.exp(d.x, -d.v), "the second of exp_pair(x, v) must be exp(x, -v)")
        self._close(path(-1.0), behind, "geodesic(x, v)(-1.0) must be exp(x, -v)")
        words = "geodesic(x, v)(t) must be exp(x, t v)"
        self._close(path(0.3), m.exp(d.x, 0.3 * d.v), words)
        t = np.linspace(-0.5, 0.5, len(d.x))
        along = expand(t, len(m.point_shape))
        self._close(path(t), m.exp(d.x, along * d.v), f"{words} for an array t")
        self._close(
            m.geodesic(d.x[0], d.v[0])(t),
            m.exp(d.x[0], along * d.v[0]),
            f"{words} for an array t and a single point x",
        )

    def test_geodesic_goes_on_from_any_of_its_points(self) -> None:
        """exp(x, (s + t) v) = exp(γ(s), t γ'(s)), at constant speed."""
        m, d = self.manifold, self._data(20)
        path = m.geodesic(d.x, d.v)
        middle = path(0.4)
        velocity = m.transport_along(d.x, 0.4 * d.v, d.v)
        self._close(
            m.exp(middle, 0.6 * velocity),
            d.y,
            "a geodesic must go on from its points: exp(γ(0.4), 0.6 γ'(0.4)) = γ(1), with γ'(0.4) "
            "= transport_along(x, 0.4 v, v)",
        )
        self._close(
            m.dist(path(0.2), path(0.7)),
            0.5 * m.norm(d.x, d.v),
            "a geodesic must have constant speed: dist(γ(0.2), γ(0.7)) = |v|/2",
        )
        h = 1e-5
        slope = m.to_tangent(middle, (path(0.4 + h) - path(0.4 - h)) / (2 * h))
        self._within(
            slope,
            velocity,
            1e-6 * max(1, abs(velocity).max()),
            "transport_along(x, t v, v) must be the velocity of the geodesic at t",
        )

    # -- transport -------------------------------------------------------------------------------

    def test_transport_preserves_inner_products(self) -> None:
        m, d = self.manifold, self._data(21)
        v, w = m.transport(d.x, d.y, d.v), m.transport(d.x, d.y, d.w)
        self._is_tangent(d.y, w, "transport")
        words = "(a projection in place of parallel transport does not)"
        self._close(m.norm(d.y, w), m.norm(d.x, d.w), f"transport must keep lengths {words}")
        self._close(
            m.inner(d.y, v, w),
            m.inner(d.x, d.v, d.w),
            f"transport must keep inner products {words}",
        )
        self._close(
            m.transport(d.x, d.y, d.v + 2 * d.w), v + 2 * w, "transport must be linear in v"
        )

    def test_transport_carries_the_velocity(self) -> None:
        m, d = self.manifold, self._data(22)
        along, beside = m.transport_along(d.x, d.v, d.v), self.transport_error
        self._close(
            along,
            -m.log(d.y, d.x),
            "transport_along(x, v, v) must be -log(exp(x, v), x)",
            beside=beside,
        )
        self._close(
            m.transport(d.x, d.y, d.v),
            along,
            "transport to exp(x, v) must be transport_along v",
            beside=beside,
        )

    def test_transport_there_and_back(self) -> None:
        m, d, beside = self.manifold, self._data(23), self.transport_error
        self._close(
            m.transport(d.y, d.x, m.transport(d.x, d.y, d.w)),
            d.w,
            "transport from x to y and back must change nothing",
            beside=beside,
        )
        self._close(m.transport_along(d.x, 0 * d.v, d.w), d.w, "transport_along(x, 0, w) must be w")
        half = m.transport_along(d.x, 0.5 * d.v, d.w)
        rest = 0.5 * m.transport_along(d.x, 0.5 * d.v, d.v)
        self._close(
            m.transport_along(m.exp(d.x, 0.5 * d.v), rest, half),
            m.transport_along(d.x, d.v, d.w),
            "transport along half a geodesic and then the other half must be transport along it",
            beside=beside,
        )

    def test_transport_is_parallel(self) -> None:
        """Against a rung of the pole ladder, two reflections, whose error is of third order."""
        m, rng = self.manifold, np.random.default_rng(24)
        x = m.random_point(rng, (5,))
        h = 0.01 * float(np.min(self.reach(x)))
        v, w = h * m.unit_tangent(rng, x, (2,))
        y, middle = m.exp(x, v), m.exp(x, 0.5 * v)
        opposite = m.exp(middle, -m.log(middle, m.exp(x, w)))
        rung = -m.log(y, opposite)
        for name, moved in {
            "transport": m.transport(x, y, w),
            "transport_along": m.transport_along(x, v, w),
        }.items():
            off = float(np.max(m.norm(y, moved - rung))) / h
            _must(
                off < 3e-4,
                f"{name} over a short way is not parallel: it differs from a rung of the pole "
                f"ladder by {off:.2g} of the vector, expected below 3e-4",
            )

    # -- arrays ----------------------------------------------------------------------------------

    def test_inputs_are_not_written_to(self) -> None:
        m, d = self.manifold, self._data(25)
        for array in d:
            array.flags.writeable = False
        calls = {
            **_METHODS,
            "check_point": lambda m, d: m.check_point(d.x),
            "check_tangent": lambda m, d: m.check_tangent(d.x, d.v),
            "unit_tangent": lambda m, d: m.unit_tangent(np.random.default_rng(0), d.x),
        }
        for name, method in calls.items():
            for given in (d, _first(d)):
                try:
                    method(m, given)
                except ValueError as error:
                    raise AssertionError(f"{name} writes to its arguments: {error}") from error

    def test_leading_axes_are_independent_problems(self) -> None:
        """Batches, broadcast among each other, hold what single problems give."""
        m, rng, lead = self.manifold, np.random.default_rng(26), (2, 3)
        x = m.random_point(rng, (2, 1))
        everywhere = np.broadcast_to(x, (*lead, *m.point_shape))
        d = self._fill(rng, everywhere, (*lead,))._replace(x=x)
        for name, method in _METHODS.items():
            words = f"{name} must take leading axes as independent problems, and broadcast them"
            try:
                together = method(m, d)
            except Exception as error:
                raise AssertionError(
                    f"{words}: with (2, 1) and (2, 3) it raised {error}"
                ) from error
            shape = () if name in _NUMBERS else np.shape(method(m, _first(_first(d))))
            _shape(together, (*lead, *shape), f"{words}: with (2, 1) and (2, 3) its result")
            for i in range(2):
                for j in range(3):
                    one = method(m, _Data(x[i, 0], *(array[i, j] for array in d[1:])))
                    self._close(
                        together[i, j],
                        one,
                        f"{words}: one problem alone gives another result",
                        beside=self._beside(name),
                    )

    def test_nan_stays_in_its_own_problem(self) -> None:
        """A batch may hold entries from a cut locus; the others are as they would be alone."""
        m, d = self.manifold, self._data(36)
        spoilt = _Data(d.x, *(array.copy() for array in d[1:]))
        for array in spoilt[1:]:
            array[1] = math.nan
        sound = [0, 2, 3]
        for name, method in _METHODS.items():
            if name == "to_manifold":  # raises: there is no point to return
                continue
            words = f"{name} with NaN in one problem of a batch, as `log` marks a cut locus,"
            try:
                result = method(m, spoilt)
            except Exception as error:
                raise AssertionError(f"{words} must not raise: {error}") from error
            _must(np.isnan(result[1]).any(), f"{words} must return NaN for that problem")
            self._close(
                result[sound],
                method(m, d)[sound],
                f"{words} must keep the others",
                beside=self._beside(name),
            )

    def test_float32_stays_float32(self) -> None:
        if "float32" not in self.supports:
            raise SkipTest("the manifold does not claim float32")
        m, d = self.manifold, self._data(27)
        rounded = _Data(*(array.astype(np.float32) for array in d))
        # The same problem, rounded: in double precision it shows what single precision can give.
        exact = _Data(*(array.astype(np.float64) for array in rounded))
        exact = exact._replace(
            x=m.to_manifold(exact.x), y=m.to_manifold(exact.y), v=m.to_tangent(exact.x, exact.v)
        )
        for name, method in _METHODS.items():
            for given, many in ((rounded, "batches"), (_first(rounded), "a single problem")):
                dtype = method(m, given).dtype
                _must(dtype == np.float32, f"{name} of float32 returns {dtype} for {many}")
            self._close(method(m, rounded), method(m, exact), f"{name} of float32 and float64")
        self._is_point(rounded.x, "float32 rounding")
        x = m.random_point(np.random.default_rng(0), (2,), np.zeros(1, dtype=np.float32))
        u = m.unit_tangent(np.random.default_rng(0), rounded.x)
        self._is_point(x, "random_point(rng, batch, like)")
        for name, array in {"random_point(rng, batch, like)": x, "unit_tangent": u}.items():
            _must(array.dtype == np.float32, f"{name} of float32 returns {array.dtype}")

    def test_points_stay_on_the_manifold(self) -> None:
        """Rounding errors do not add up over many steps."""
        m, rng = self.manifold, np.random.default_rng(28)
        start = x = m.random_point(rng)
        for k in range(self.steps):
            x = m.exp(x, 0.02 * self.reach(x) * m.unit_tangent(rng, x))
            if k % 50 == 0 and m.dist(start, x) > 3 * m.typical_dist:
                x = m.exp(x, 0.5 * m.log(x, start))  # not off to infinity
        self._is_point(x, f"a walk of {self.steps} steps by exp")
        words, defect = m.point_defect(x)
        _must(
            defect <= self.rounding * EPS,
            f"after {self.steps} steps by exp, {words} is {float(np.max(defect)):.2g}, expected at "
            f"most {self.rounding * EPS:.2g}: rounding errors add up, so exp should end with a "
            "correction such as to_manifold (but exp(x, 0) must stay x)",
        )

    # -- checks ----------------------------------------------------------------------------------

    def test_what_is_no_point_is_refused(self) -> None:
        m, rng = self.manifold, np.random.default_rng(29)
        x = m.random_point(rng, (2,))
        holes = x.copy()
        holes[(1, *(0 for _ in m.point_shape))] = math.nan
        wide = np.concat([*x], axis=-1)
        _refused(ArgumentError, "check_point", "NaN", m.check_point, holes, "start")
        _refused(ArgumentError, "check_point", "a wrong shape", m.check_point, wide, "start")
        _refused(ArgumentError, "check_point", "a text", m.check_point, "home", "start")
        if (bad := self.not_a_point(x)) is not None:
            what = "what is no point (override `not_a_point` of the test if it is)"
            _refused(NotOnManifoldError, "check_point", what, m.check_point, bad, "start")

    def test_what_is_no_tangent_is_refused(self) -> None:
        m, rng = self.manifold, np.random.default_rng(30)
        x = m.random_point(rng)
        v = m.unit_tangent(rng, x)
        self._is_tangent(x, 1e-12 * v, "1e-12 unit_tangent")
        self._is_tangent(x, 0 * v, "0 unit_tangent")
        name, wide = "check_tangent", np.concat([v, v], axis=-1)
        _refused(
            ArgumentError,
            name,
            "infinite entries",
            m.check_tangent,
            x,
            np.full_like(v, math.inf),
            "step",
        )
        _refused(ArgumentError, name, "a wrong shape", m.check_tangent, x, wide, "step")
        if (bad := self.not_a_tangent(rng, x)) is not None:
            what = "what is not tangent (override `not_a_tangent` of the test if it is)"
            _refused(NotTangentError, name, what, m.check_tangent, x, bad, "step")

    # -- other arrays ----------------------------------------------------------------------------

    def test_torch_agrees_with_numpy(self) -> None:
        m = self.manifold
        for dtype in (np.float64, np.float32) if "float32" in self.supports else (np.float64,):
            tensors = self._agree(
                lambda a, dtype=dtype: self._tensor(a.astype(dtype)), lambda a: a.cpu().numpy()
            )
            m.check_point(tensors.x)
            m.check_tangent(tensors.x, tensors.v)

    def test_plain_arrays_agree_with_numpy(self) -> None:
        """Nothing is used beyond the Array API standard."""
        strict, m = self._module("array_api_strict"), self.manifold
        arrays = self._agree(strict.asarray, np.asarray)
        m.check_point(arrays.x)
        m.check_tangent(arrays.x, arrays.v)

    def test_torch_draws_the_same_numbers(self) -> None:
        m = self.manifold
        x = m.random_point(np.random.default_rng(32), (3,), self._tensor(np.zeros(1)))
        u = m.unit_tangent(np.random.default_rng(33), x, (2,))
        for name, array in {"random_point": x, "unit_tangent": u}.items():
            _must(
                str(array.device).startswith(self.device),
                f"{name} must return arrays on {self.device}, got {array.device}",
            )
        if self.device == "cpu":
            y = m.random_point(np.random.default_rng(32), (3,))
            self._close(x.numpy(), y, "random_point must draw the same for torch and NumPy")
            self._close(
                u.numpy(),
                m.unit_tangent(np.random.default_rng(33), x.numpy(), (2,)),
                "unit_tangent must draw the same for torch and NumPy",
            )

    def test_torch_gradients_are_derivatives(self) -> None:
        """Of exp by the tangent vector, also at zero; of log and dist by the point they lead to."""
        self._module("torch")
        m, rng, d = self.manifold, np.random.default_rng(134), self._data(34)
        x, y, v, a = d.x[0], d.y[0], d.v[0], d.a[0]
        u, h = m.unit_tangent(rng, x), 1e-5 * float(np.min(self.reach(x)))
        at_y = m.transport(x, y, u)

        def check(
            name: str, f: Callable[..., Array], at: Array, u: Array, curve: Callable[..., Array]
        ) -> None:
            weight = a if np.ndim(f(x, at)) else np.ones(())
            variable = self._tensor(at).requires_grad_()
            (self._tensor(weight) * f(self._tensor(x), variable)).sum().backward()
            slope = weight * (f(x, curve(h)) - f(x, curve(-h))) / (2 * h)
            self._within(
                float((variable.grad.cpu().numpy() * u).sum()),
                float(np.sum(slope)),
                1e-5 * max(1.0, float(np.sum(abs(slope)))),
                f"torch's gradient of {name} must be its derivative",
            )

        check("exp(x, v) by v", m.exp, v, u, lambda t: v + t * u)
        check("exp(x, 0) by v", m.exp, 0 * v, u, lambda t: t * u)
        check("log(x, y) by y", m.log, y, at_y, lambda t: m.exp(y, t * at_y))
        check("log(x, x) by y", m.log, x, u, lambda t: m.exp(x, t * u))
        check("dist(x, y) by y", m.dist, y, at_y, lambda t: m.exp(y, t * at_y))

    def test_torch_gradients_are_finite(self) -> None:
        """Also at zero vectors and for equal points, single and in batches."""
        m, d = self.manifold, self._data(35)
        v = d.v * np.array([0.0, 1e-12, 1.0, 1.0]).reshape(4, *(1 for _ in m.point_shape))
        y = m.exp(d.x, v)
        for name, f, second in (
            ("exp", m.exp, v),
            ("log", m.log, y),
            ("dist", m.dist, y),
            ("norm", m.norm, v),
            ("transport", lambda a, b: m.transport(a, b, m.to_tangent(a, b)), y),
        ):
            for part in (slice(None), 0, 1):
                tensors = [self._tensor(a[part]).requires_grad_() for a in (d.x, second)]
                f(*tensors).sum().backward()
                for tensor in tensors:
                    # The norm of a flat metric does not depend on the point.
                    fine = tensor.grad is None or bool(tensor.grad.isfinite().all())
                    _must(fine, f"torch's gradient of {name} is not finite")

    # -- private ---------------------------------------------------------------------------------

    _batch: ClassVar[tuple[int, ...]] = (4,)

    def _data(self, seed: int) -> _Data:
        rng = np.random.default_rng(seed)
        return self._fill(rng, self.manifold.random_point(rng, self._batch), self._batch)

    def _fill(self, rng: np.random.Generator, x: Array, lead: tuple[int, ...]) -> _Data:
        m = self.manifold
        length = self.reach(x) * rng.uniform(0.2, 1.0, lead)
        v = expand(length, len(m.point_shape)) * m.unit_tangent(rng, x)
        return _Data(
            x=x,
            y=m.exp(x, v),
            v=v,
            w=m.unit_tangent(rng, x),
            a=rng.standard_normal((*lead, *m.point_shape)),
            c=rng.standard_normal((*lead, m.dim)),
            t=rng.uniform(-1.0, 1.0, lead),
        )

    def _walk(self, rng: np.random.Generator, x: Array, fraction: float) -> Array:
        length = fraction * self.reach(x) * rng.uniform(0.2, 1.0, len(x))
        step = expand(length, len(self.manifold.point_shape)) * self.manifold.unit_tangent(rng, x)
        return self.manifold.exp(x, step)

    def _orthonormal(self, rng: np.random.Generator, x: Array) -> Callable[[Array], Array]:
        """Coordinates in an orthonormal basis, by Gram-Schmidt: from `inner` alone."""
        m = self.manifold
        b = m.to_tangent(x, rng.standard_normal((m.dim, *m.point_shape)))
        b = b / expand(m.norm(x, b), len(m.point_shape))
        root = np.linalg.cholesky(m.inner(x, b[:, None], b[None, :]))
        return lambda u: np.linalg.solve(root, m.inner(x, b[:, None], u[None, :])).T

    def _beside(self, name: str) -> float:
        return self.transport_error if name.startswith("transport") else 0.0

    def _is_point(self, x: Array, name: str) -> None:
        """What a method returned must be a point, by the manifold's own check."""
        _sound(f"{name} must return points", lambda: self.manifold.check_point(x, "its result"))

    def _is_tangent(self, x: Array, v: Array, name: str) -> None:
        _sound(
            f"{name} must return tangent vectors",
            lambda: self.manifold.check_tangent(x, v, "its result"),
        )

    def _close(
        self, a: Array, b: Array, words: str, *, scale: float = 1.0, beside: float = 0.0
    ) -> None:
        """Equal up to `rounding` units of the largest entry, at least of ``scale``."""
        size = max(scale, float(np.max(np.abs(b))))
        unit = eps(a) if hasattr(a, "dtype") else EPS
        self._within(a, b, (self.rounding * unit + beside) * size, words)

    def _within(self, a: Array, b: Array, tolerance: float, words: str) -> None:
        _shape(a, np.shape(b), words)
        a, b = np.asarray(a), np.asarray(b)
        _must(
            np.array_equal(np.isnan(a), np.isnan(b)),
            f"{words}; there is NaN in one of the two and not in the other",
        )
        worst = float(np.nanmax(np.abs(a - b), initial=0.0))
        _must(
            worst <= tolerance,
            f"{words}; they differ by {worst:.2g}, expected at most {tolerance:.2g}",
        )

    def _exactly(self, a: Array, b: Array, words: str) -> None:
        self._within(a, b, 0.0, f"{words} to the last bit")

    def _agree(self, convert: Callable[[Array], Array], back: Callable[[Array], Array]) -> _Data:
        """Compare all methods with NumPy, for a batch and for one problem."""
        batch = _Data(*map(convert, self._data(31)))
        for given in (batch, _first(batch)):
            arrays = _Data(*map(back, given))
            for name, method in _METHODS.items():
                result = method(self.manifold, given)
                for what, wanted, got in (
                    ("type", type(batch.x), type(result)),
                    ("dtype", batch.x.dtype, result.dtype),
                    ("device", batch.x.device, result.device),
                ):
                    _must(got == wanted, f"{name} must keep the {what} {wanted}, got {got}")
                self._close(
                    back(result),
                    method(self.manifold, arrays),
                    f"{name} must give for {type(batch.x).__module__} what it gives for NumPy",
                )
        return batch

    def _tensor(self, a: Array) -> Any:
        return self._module("torch").tensor(a, device=self.device)

    def _module(self, name: str) -> Any:
        if name not in self.supports:
            raise SkipTest(f"the manifold does not claim {name}")
        if find_spec(name) is None:
            raise SkipTest(f"{name} is not installed")
        return import_module(name)


def _must(holds: Any, words: str) -> None:
    """Fail with a sentence unless something holds, everywhere if it is an array."""
    __tracebackhide__ = True  # pytest then shows the test, and the sentence
    if not np.all(holds):
        raise AssertionError(words)


def _shape(a: Array, shape: tuple[int, ...], words: str) -> None:
    __tracebackhide__ = True
    _must(np.shape(a) == shape, f"{words}: shape {np.shape(a)}, expected {shape}")


def _sound(words: str, check: Callable[[], None]) -> None:
    try:
        check()
    except GeoduelError as error:
        raise AssertionError(f"{words}, but {error}") from error


def _first(d: _Data) -> _Data:
    """First problem of a batch, alone."""
    return _Data(*(array[0, ...] for array in d))


def _refused(
    kind: type[GeoduelError], name: str, what: str, call: Callable[..., Any], *args: Any
) -> None:
    """A check must raise an error of the kind whose message names the last argument."""
    word = args[-1]
    try:
        call(*args)
    except kind as error:
        message = str(error)
    except Exception as error:
        raise AssertionError(
            f"{name} must refuse {what} by {kind.__name__}, it raised {error!r}"
        ) from error
    else:
        raise AssertionError(f"{name} must refuse {what}, and accepts {args[-2]!r:.80}")
    _must(word in message, f"the message of {name} must name its argument, {word!r}: {message}")
