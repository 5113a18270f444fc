"""Tests that a manifold of your own can inherit.

The tests state what a Riemannian manifold is, by identities and theorems, and know nothing of how
one is computed. They need pytest only to be collected, torch only where it is installed.
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
from numpy.testing import assert_allclose, assert_array_equal

from ._numerics.arrays import Array, eps, expand
from .errors import ArgumentError, GeoduelError, NotOnManifoldError, NotTangentError
from .manifolds.base import Manifold

__all__ = ["ManifoldContract"]


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
    steps : int
        Length of the walk after which a point must still be on the manifold.
    namespaces : tuple of str
        Array libraries beside NumPy that the manifold is for: "torch", and "array_api_strict" if
        what the Array API standard covers is enough. Tests need the library installed.
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
    steps: int = 2000
    namespaces: tuple[str, ...] = ("torch",)
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
        """Array of the shape of a point that is none; None if there is no such array."""
        return -2 * x - 1

    def not_a_tangent(self, rng: np.random.Generator, x: Array) -> Array | None:
        """Array of the shape of a tangent vector that is none; None if there is no such array."""
        if math.prod(self.manifold.point_shape) == self.manifold.dim:
            return None
        return rng.standard_normal(self.manifold.point_shape)

    # -- the manifold as an object ---------------------------------------------------------------

    def test_says_what_it_is(self) -> None:
        m = self.manifold
        assert isinstance(m, Manifold)
        assert isinstance(m.dim, int)
        assert m.dim >= 1
        assert all(isinstance(n, int) and n >= 1 for n in m.point_shape)
        assert m.dim <= math.prod(m.point_shape)
        assert len(m.curvature) == 2
        assert m.curvature[0] <= m.curvature[1]
        assert m.injectivity_radius > 0
        assert 0 < m.typical_dist < math.inf
        assert repr(m).startswith(type(m).__name__)

    def test_copies_are_equal(self) -> None:
        for other in (copy.deepcopy(self.manifold), pickle.loads(pickle.dumps(self.manifold))):
            assert other == self.manifold
            assert hash(other) == hash(self.manifold)
            assert repr(other) == repr(self.manifold)
        assert self.manifold != object()

    # -- points and tangent vectors --------------------------------------------------------------

    def test_random_points_are_points(self) -> None:
        m, rng = self.manifold, np.random.default_rng(1)
        for batch in ((), (3,), (2, 3)):
            x = m.random_point(rng, batch)
            assert x.shape == (*batch, *m.point_shape)
            assert x.dtype == np.float64
            m.check_point(x)
        x = m.random_point(rng, (2,), np.zeros(1, dtype=np.float32))
        assert x.dtype == np.float32
        m.check_point(x)
        assert_array_equal(*(m.random_point(np.random.default_rng(2), (2,)) for _ in range(2)))
        assert np.ptp(m.random_point(rng, (2,)), axis=0).max() > 0

    def test_unit_tangents_are_tangent_and_of_length_one(self) -> None:
        m, rng = self.manifold, np.random.default_rng(3)
        x = m.random_point(rng, (3,))
        for batch in ((), (2,), (4, 2)):
            u = m.unit_tangent(rng, x, batch)
            assert u.shape == (*batch, 3, *m.point_shape)
            m.check_tangent(x, u)
            self._close(m.norm(x, u), np.ones((*batch, 3)))
        assert m.unit_tangent(rng, x[0], (5,)).shape == (5, *m.point_shape)

    def test_unit_tangents_are_uniform(self) -> None:
        """E <u, e_i> = 0 and E <u, e_i><u, e_j> = δ_ij / d, in any orthonormal basis."""
        m, rng, count = self.manifold, np.random.default_rng(4), 6000
        x, d = self.off_centre_point(rng), m.dim
        coords = self._orthonormal(rng, x)(m.unit_tangent(rng, x, (count,)))
        assert abs(coords.mean(axis=0)).max() < 5 / math.sqrt(d * count)
        second = coords.T @ coords / count
        # On the sphere E c_i⁴ = 3 / d(d+2) and E c_i² c_j² = 1 / d(d+2).
        fourth = (1 + 2 * np.eye(d)) / (d * (d + 2))
        error = np.sqrt(np.maximum(fourth - np.eye(d) / d**2, 0) / count)
        assert (abs(second - np.eye(d) / d) < 5 * error + 1e-6).all()

    def test_random_geodesics_are_those_of_unit_tangents(self) -> None:
        m, x = self.manifold, self.manifold.random_point(np.random.default_rng(32), (3,))
        t = np.array([0.0, 0.2, -0.3]) * np.min(self.reach(x))
        for point, times in ((x, (0.1 * np.min(self.reach(x)), t)), (x[0], (float(t[1]),))):
            walk = m.random_geodesic(np.random.default_rng(33), point)
            again = m.geodesic(point, m.unit_tangent(np.random.default_rng(33), point))
            for time in times:
                self._close(walk(time), again(time))
            assert_array_equal(walk(0.0), point)
        assert_array_equal(m.random_geodesic(np.random.default_rng(33), x)(t)[0], x[0])

    def test_coordinates_are_an_isometry(self) -> None:
        m, rng = self.manifold, np.random.default_rng(5)
        x = m.random_point(rng, (4,))
        b, c = rng.standard_normal((2, 4, m.dim))
        u, v = m.from_coords(x, b), m.from_coords(x, c)
        m.check_tangent(x, v)
        self._close(m.to_coords(x, v), c)
        self._close(m.inner(x, u, v), (b * c).sum(axis=-1), scale=m.dim)
        self._close(m.from_coords(x, b + 2 * c), u + 2 * v)

    def test_projections_keep_what_is_there(self) -> None:
        m, rng = self.manifold, np.random.default_rng(6)
        x = m.random_point(rng, (4,))
        a = rng.standard_normal((4, *m.point_shape))
        v = m.to_tangent(x, a)
        m.check_tangent(x, v)
        self._close(m.to_tangent(x, v), v)
        u = m.unit_tangent(rng, x)
        self._close(m.to_tangent(x, u), u)
        self._close(m.to_tangent(x, a + 3 * u), v + 3 * u)
        self._close(m.to_manifold(x), x)
        near = m.to_manifold(x + 1e-6 * a)
        m.check_point(near)
        self._close(m.to_manifold(near), near)
        assert_allclose(near, x, atol=1e-4 * (1 + abs(x).max()))

    def test_gradient_is_the_derivative(self) -> None:
        """<grad f, u> is the derivative of f along u, for a smooth f of the entries."""
        m, rng = self.manifold, np.random.default_rng(7)
        x = m.random_point(rng)
        u = m.unit_tangent(rng, x, (6,))
        a, b = rng.standard_normal((2, *m.point_shape))

        def f(z: Array) -> Array:
            return (a * z + b * z * z).reshape(6, -1).sum(axis=-1)

        gradient = m.riemannian_gradient(x, a + 2 * b * x)
        m.check_tangent(x, gradient)
        h = 1e-5 * float(np.min(self.reach(x)))
        slope = (f(m.exp(x, h * u)) - f(m.exp(x, -h * u))) / (2 * h)
        assert_allclose(m.inner(x, gradient, u), slope, atol=1e-6 * max(1, abs(slope).max()))

    def test_geodesics_are_shortest_up_to_their_extent(self) -> None:
        m, d = self.manifold, self._data(14)
        end = m.extent(d.x, d.v)
        assert end.shape == d.x.shape[: d.x.ndim - len(m.point_shape)]
        axes = len(m.point_shape)
        v = expand(0.95 * np.minimum(end, 2 * m.typical_dist / m.norm(d.x, d.v)), axes) * d.v
        for y in m.exp_pair(d.x, v):
            m.check_point(y)
            self._close(m.dist(d.x, y), m.norm(d.x, v))
        assert np.all(np.isinf(m.extent(d.x, 0 * d.v)))
        if not m.complete:
            beyond = np.isnan(np.stack(m.exp_pair(d.x, expand(1.01 * end, axes) * d.v)))
            assert beyond.any(axis=(0, *range(2, beyond.ndim))).all()

    # -- metric ----------------------------------------------------------------------------------

    def test_inner_is_an_inner_product(self) -> None:
        m, d = self.manifold, self._data(8)
        self._close(m.inner(d.x, d.v, d.w), m.inner(d.x, d.w, d.v))
        self._close(m.norm(d.x, d.w) ** 2, m.inner(d.x, d.w, d.w))
        self._close(
            m.inner(d.x, d.v + 2 * d.w, d.w),
            m.inner(d.x, d.v, d.w) + 2 * m.inner(d.x, d.w, d.w),
        )
        assert (m.norm(d.x, d.w) > 0).all()
        assert_array_equal(m.norm(d.x, 0 * d.w), 0)

    def test_dist_is_a_metric(self) -> None:
        m, rng = self.manifold, np.random.default_rng(9)
        x = m.random_point(rng, (5,))
        y, z = (self._walk(rng, x, 0.45) for _ in range(2))
        xy, yz, xz = m.dist(x, y), m.dist(y, z), m.dist(x, z)
        assert (xy > 0).all()
        self._close(m.dist(y, x), xy)
        assert (xz <= xy + yz + 1e-9).all()
        assert (yz <= xy + xz + 1e-9).all()
        assert_array_equal(m.dist(x, x), 0)
        for one in x:
            assert m.dist(one, one) == 0

    def test_dist_is_the_length_of_log(self) -> None:
        m, d = self.manifold, self._data(10)
        self._close(m.dist(d.x, d.y), m.norm(d.x, m.log(d.x, d.y)))
        self._close(m.dist(d.x, d.y), m.norm(d.x, d.v))

    def test_close_points_are_apart_by_their_difference(self) -> None:
        """A second formula for `dist`, free of `exp` and `log`; and where `exp` leads at first."""
        m, rng = self.manifold, np.random.default_rng(11)
        x = m.random_point(rng, (5,))
        h = 1e-5 * float(np.min(self.reach(x)))
        u = m.unit_tangent(rng, x)
        y = m.exp(x, h * u)
        chord = m.to_tangent(x, y - x)
        assert (m.norm(x, chord - h * u) < 1e-3 * h).all()
        assert_allclose(m.dist(x, y), m.norm(x, chord), rtol=1e-3)

    def test_gradient_of_dist_points_along_the_geodesic(self) -> None:
        """The first variation of length: only true geodesics have it."""
        m, rng, d = self.manifold, np.random.default_rng(112), self._data(12)
        w, h = m.unit_tangent(rng, d.y), 1e-5 * float(np.min(self.reach(d.y)))
        slope = (m.dist(d.x, m.exp(d.y, h * w)) - m.dist(d.x, m.exp(d.y, -h * w))) / (2 * h)
        toward = m.inner(d.y, w, m.log(d.y, d.x)) / m.dist(d.x, d.y)
        assert_allclose(slope, -toward, atol=1e-6)

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
        squares = [m.dist(m.exp(x, s * u), m.exp(x, s * v)) ** 2 for s in (h, -h)]
        k = 3 * (2 * h**2 - sum(squares) / 2) / h**4
        low, high = m.curvature
        error = 0.02 * (1 + abs(k)) + self.rounding * np.finfo(float).eps / h**2
        assert np.all(k > low - error)
        assert np.all(k < high + error)

    def test_isometries_change_nothing(self) -> None:
        m, rng, d = self.manifold, np.random.default_rng(114), self._data(14)
        count = 0
        for f, df in self.isometries(rng):
            count += 1
            x, y, v, w = f(d.x), f(d.y), df(d.x, d.v), df(d.x, d.w)
            m.check_point(x)
            m.check_tangent(x, v)
            self._close(m.inner(x, v, w), m.inner(d.x, d.v, d.w))
            self._close(m.dist(x, y), m.dist(d.x, d.y))
            self._close(m.exp(x, v), y)
            self._close(m.log(x, y), df(d.x, m.log(d.x, d.y)))
            self._close(m.transport(x, y, w), df(d.y, m.transport(d.x, d.y, d.w)))
        if not count:
            raise SkipTest("no isometries given")

    # -- geodesics -------------------------------------------------------------------------------

    def test_log_undoes_exp(self) -> None:
        m, d = self.manifold, self._data(15)
        m.check_point(d.y)
        v = m.log(d.x, d.y)
        m.check_tangent(d.x, v)
        self._close(v, d.v)
        self._close(m.exp(d.x, v), d.y)
        for x, y, v in zip(d.x, d.y, d.v, strict=True):
            self._close(m.log(x, y), v)

    def test_exp_of_zero_is_the_point(self) -> None:
        """To the last bit."""
        m, d = self.manifold, self._data(16)
        assert_array_equal(m.exp(d.x, 0 * d.v), d.x)
        assert_array_equal(m.geodesic(d.x, d.v)(0.0), d.x)
        assert_array_equal(m.exp_pair(d.x, 0 * d.v)[1], d.x)
        for x, v in zip(d.x, d.v, strict=True):
            assert_array_equal(m.exp(x, 0 * v), x)
            assert_array_equal(m.geodesic(x, v)(0.0), x)

    def test_log_of_the_point_is_zero(self) -> None:
        m, d = self.manifold, self._data(17)
        size = 50 * np.finfo(float).eps * max(1, abs(d.x).max())
        assert_allclose(m.log(d.x, d.x), 0 * d.x, atol=size)

    def test_tiny_steps_are_resolved(self) -> None:
        """A step of 1e-12 has a length to the digits that the point itself has, not to 1e-8."""
        m, rng = self.manifold, np.random.default_rng(18)
        x = m.random_point(rng, (5,))
        v = 1e-12 * m.unit_tangent(rng, x)
        y = m.exp(x, v)
        # What half a rounding unit of the entries of y is worth, as a length.
        noise = m.norm(x, m.to_tangent(x, np.finfo(float).eps * abs(x))) + np.finfo(float).eps
        assert (abs(m.dist(x, y) - 1e-12) < 50 * noise).all()
        assert (m.norm(x, m.log(x, y) - v) < 50 * noise).all()

    def test_geodesic_agrees_with_exp(self) -> None:
        m, d = self.manifold, self._data(19)
        path = m.geodesic(d.x, d.v)
        ahead, behind = m.exp_pair(d.x, d.v)
        self._close(path(1.0), d.y)
        self._close(ahead, d.y)
        self._close(behind, path(-1.0))
        self._close(behind, m.exp(d.x, -d.v))
        self._close(path(0.3), m.exp(d.x, 0.3 * d.v))
        t = np.linspace(-0.5, 0.5, len(d.x))
        self._close(path(t), m.exp(d.x, expand(t, len(m.point_shape)) * d.v))
        self._close(
            m.geodesic(d.x[0], d.v[0])(t), m.exp(d.x[0], expand(t, len(m.point_shape)) * d.v[0])
        )

    def test_geodesic_goes_on_from_any_of_its_points(self) -> None:
        """exp(x, (s + t) v) = exp(γ(s), t γ'(s)), at constant speed."""
        m, d = self.manifold, self._data(20)
        path = m.geodesic(d.x, d.v)
        middle = path(0.4)
        velocity = m.transport_along(d.x, 0.4 * d.v, d.v)
        self._close(m.exp(middle, 0.6 * velocity), d.y)
        self._close(m.dist(path(0.2), path(0.7)), 0.5 * m.norm(d.x, d.v))
        h = 1e-5
        slope = m.to_tangent(middle, (path(0.4 + h) - path(0.4 - h)) / (2 * h))
        assert_allclose(slope, velocity, atol=1e-6 * max(1, abs(velocity).max()))

    # -- transport -------------------------------------------------------------------------------

    def test_transport_preserves_inner_products(self) -> None:
        m, d = self.manifold, self._data(21)
        v, w = m.transport(d.x, d.y, d.v), m.transport(d.x, d.y, d.w)
        m.check_tangent(d.y, w)
        self._close(m.inner(d.y, v, w), m.inner(d.x, d.v, d.w))
        self._close(m.norm(d.y, w), m.norm(d.x, d.w))
        self._close(m.transport(d.x, d.y, d.v + 2 * d.w), v + 2 * w)

    def test_transport_carries_the_velocity(self) -> None:
        m, d = self.manifold, self._data(22)
        self._close(m.transport_along(d.x, d.v, d.v), -m.log(d.y, d.x))
        self._close(m.transport(d.x, d.y, d.v), m.transport_along(d.x, d.v, d.v))

    def test_transport_there_and_back(self) -> None:
        m, d = self.manifold, self._data(23)
        self._close(m.transport(d.y, d.x, m.transport(d.x, d.y, d.w)), d.w)
        self._close(m.transport_along(d.x, 0 * d.v, d.w), d.w)
        half = m.transport_along(d.x, 0.5 * d.v, d.w)
        rest = 0.5 * m.transport_along(d.x, 0.5 * d.v, d.v)
        self._close(
            m.transport_along(m.exp(d.x, 0.5 * d.v), rest, half),
            m.transport_along(d.x, d.v, d.w),
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
        assert (m.norm(y, m.transport(x, y, w) - rung) < 3e-4 * h).all()
        assert (m.norm(y, m.transport_along(x, v, w) - rung) < 3e-4 * h).all()

    # -- arrays ----------------------------------------------------------------------------------

    def test_inputs_are_not_written_to(self) -> None:
        d = self._data(25)
        for array in d:
            array.flags.writeable = False
        for name, method in _METHODS.items():
            try:
                method(self.manifold, d)
                method(self.manifold, _first(d))
            except ValueError as error:
                raise AssertionError(f"{name} writes to its arguments: {error}") from error
        self.manifold.check_point(d.x)
        self.manifold.check_tangent(d.x, d.v)
        self.manifold.unit_tangent(np.random.default_rng(0), d.x)

    def test_leading_axes_are_independent_problems(self) -> None:
        """Batches, broadcast among each other, hold what single problems give."""
        m, rng, lead = self.manifold, np.random.default_rng(26), (2, 3)
        x = m.random_point(rng, (2, 1))
        everywhere = np.broadcast_to(x, (*lead, *m.point_shape))
        d = self._fill(rng, everywhere, (*lead,))._replace(x=x)
        for name, method in _METHODS.items():
            together = method(m, d)
            for i in range(2):
                for j in range(3):
                    one = method(m, _Data(x[i, 0], *(array[i, j] for array in d[1:])))
                    assert np.shape(together) == (*lead, *np.shape(one)), (
                        f"{name}: shape {np.shape(together)} for leading axes {lead}"
                    )
                    self._close(together[i, j], one, name)

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
            result = method(m, spoilt)
            assert np.isnan(result[1]).any(), f"{name} hides NaN"
            self._close(result[sound], method(m, d)[sound], name)

    def test_float32_stays_float32(self) -> None:
        m, d = self.manifold, self._data(27)
        rounded = _Data(*(array.astype(np.float32) for array in d))
        # The same problem, rounded: in double precision it shows what single precision can give.
        exact = _Data(*(array.astype(np.float64) for array in rounded))
        exact = exact._replace(
            x=m.to_manifold(exact.x), y=m.to_manifold(exact.y), v=m.to_tangent(exact.x, exact.v)
        )
        for name, method in _METHODS.items():
            result = method(m, rounded)
            assert result.dtype == np.float32, f"{name} returns {result.dtype}"
            self._close(result, method(m, exact), name)
            single = method(m, _first(rounded))
            assert single.dtype == np.float32, f"{name} returns {single.dtype} for one point"
        m.check_point(rounded.x)
        assert m.unit_tangent(np.random.default_rng(0), rounded.x).dtype == np.float32

    def test_points_stay_on_the_manifold(self) -> None:
        """Rounding errors do not add up over many steps."""
        m, rng = self.manifold, np.random.default_rng(28)
        start = x = m.random_point(rng)
        for k in range(self.steps):
            x = m.exp(x, 0.02 * self.reach(x) * m.unit_tangent(rng, x))
            if k % 50 == 0 and m.dist(start, x) > 3 * m.typical_dist:
                x = m.exp(x, 0.5 * m.log(x, start))  # not off to infinity
        m.check_point(x)
        words, defect = m.point_defect(x)
        assert np.max(defect) <= self.rounding * np.finfo(float).eps, f"{words} is {defect}"

    # -- checks ----------------------------------------------------------------------------------

    def test_what_is_no_point_is_refused(self) -> None:
        m, rng = self.manifold, np.random.default_rng(29)
        x = m.random_point(rng, (2,))
        holes = x.copy()
        holes[(1, *(0 for _ in m.point_shape))] = math.nan
        _refused(ArgumentError, "start", m.check_point, holes, "start")
        _refused(ArgumentError, "start", m.check_point, np.concat([*x], axis=-1), "start")
        _refused(ArgumentError, "start", m.check_point, x.tolist(), "start")
        _refused(ArgumentError, "start", m.check_point, np.ones(m.point_shape, int), "start")
        if (bad := self.not_a_point(x)) is not None:
            _refused(NotOnManifoldError, "start", m.check_point, bad, "start")

    def test_what_is_no_tangent_is_refused(self) -> None:
        m, rng = self.manifold, np.random.default_rng(30)
        x = m.random_point(rng)
        v = m.unit_tangent(rng, x)
        m.check_tangent(x, 1e-12 * v)
        m.check_tangent(x, 0 * v)
        _refused(ArgumentError, "step", m.check_tangent, x, v * math.inf, "step")
        wide = np.concat([v, v], axis=-1)
        _refused(ArgumentError, "step", m.check_tangent, x, wide, "step")
        if (bad := self.not_a_tangent(rng, x)) is not None:
            _refused(NotTangentError, "step", m.check_tangent, x, bad, "step")

    # -- other arrays ----------------------------------------------------------------------------

    def test_torch_agrees_with_numpy(self) -> None:
        m = self.manifold
        for dtype in (np.float64, np.float32):
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
        assert str(x.device).startswith(self.device)
        assert str(u.device).startswith(self.device)
        if self.device == "cpu":
            y = m.random_point(np.random.default_rng(32), (3,))
            self._close(x.numpy(), y)
            self._close(u.numpy(), m.unit_tangent(np.random.default_rng(33), x.numpy(), (2,)))

    def test_torch_gradients_are_derivatives(self) -> None:
        """Of exp by the tangent vector, also at zero; of log and dist by the point they lead to."""
        m, rng, d = self.manifold, np.random.default_rng(134), self._data(34)
        x, y, v, a = d.x[0], d.y[0], d.v[0], d.a[0]
        u, h = m.unit_tangent(rng, x), 1e-5 * float(np.min(self.reach(x)))
        at_y = m.transport(x, y, u)

        def check(
            f: Callable[..., Array], at: Array, u: Array, curve: Callable[..., Array]
        ) -> None:
            weight = a if np.ndim(f(x, at)) else np.ones(())
            variable = self._tensor(at).requires_grad_()
            (self._tensor(weight) * f(self._tensor(x), variable)).sum().backward()
            slope = weight * (f(x, curve(h)) - f(x, curve(-h))) / (2 * h)
            assert_allclose(
                float((variable.grad.cpu().numpy() * u).sum()),
                float(np.sum(slope)),
                atol=1e-5 * max(1.0, float(np.sum(abs(slope)))),
            )

        check(m.exp, v, u, lambda t: v + t * u)
        check(m.exp, 0 * v, u, lambda t: t * u)
        check(m.log, y, at_y, lambda t: m.exp(y, t * at_y))
        check(m.log, x, u, lambda t: m.exp(x, t * u))
        check(m.dist, y, at_y, lambda t: m.exp(y, t * at_y))

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
                    assert fine, f"{name}: the gradient is not finite"

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

    def _close(self, a: Array, b: Array, name: str = "", scale: float = 1.0) -> None:
        size = max(scale, float(np.max(np.abs(b))))
        unit = eps(a) if hasattr(a, "dtype") else np.finfo(float).eps
        assert_allclose(a, b, rtol=0, atol=self.rounding * unit * size, err_msg=name)

    def _agree(self, convert: Callable[[Array], Array], back: Callable[[Array], Array]) -> _Data:
        """Compare all methods with NumPy, for a batch and for one problem."""
        batch = _Data(*map(convert, self._data(31)))
        for given in (batch, _first(batch)):
            arrays = _Data(*map(back, given))
            for name, method in _METHODS.items():
                result = method(self.manifold, given)
                assert isinstance(result, type(batch.x)), f"{name} returns {type(result)}"
                assert result.dtype == batch.x.dtype, f"{name} returns {result.dtype}"
                assert result.device == batch.x.device, f"{name} returns it on {result.device}"
                self._close(back(result), method(self.manifold, arrays), name)
        return batch

    def _tensor(self, a: Array) -> Any:
        return self._module("torch").tensor(a, device=self.device)

    def _module(self, name: str) -> Any:
        if name not in self.namespaces:
            raise SkipTest(f"not for {name}")
        if find_spec(name) is None:
            raise SkipTest(f"{name} is not installed")
        return import_module(name)


def _first(d: _Data) -> _Data:
    """First problem of a batch, alone."""
    return _Data(*(array[0, ...] for array in d))


def _refused(kind: type[GeoduelError], word: str, call: Callable[..., Any], *args: Any) -> None:
    try:
        call(*args)
    except kind as error:
        message = str(error)
    else:
        raise AssertionError(f"{call} accepts {args!r:.80}")
    assert word in message, f"the message does not name {word!r}: {message}"
