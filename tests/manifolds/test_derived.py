"""What follows numerically from seven members agrees with the formulas of each manifold."""

# pyright: reportAssignmentType=false
from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import CutLocusError, GeoduelError
from geoduel.manifolds._derived import orthonormal_basis, tangent_rank
from geoduel.manifolds.base import Manifold
from geoduel.manifolds.euclidean import Euclidean
from geoduel.manifolds.grassmann import Grassmann
from geoduel.manifolds.hyperbolic import Hyperbolic
from geoduel.manifolds.product import Product
from geoduel.manifolds.rotations import Rotations
from geoduel.manifolds.simplex import Simplex
from geoduel.manifolds.spd import SPD
from geoduel.manifolds.sphere import Sphere
from geoduel.manifolds.stiefel import Stiefel
from geoduel.manifolds.torus import Torus
from geoduel.testing import ManifoldContract


class Bare(Manifold):
    """A manifold that shows only what a geometry must define, and where its points lie."""

    def __init__(self, whole):
        self.whole = whole

    @property
    def dim(self):
        return self.whole.dim

    @property
    def point_shape(self):
        return self.whole.point_shape

    @property
    def injectivity_radius(self):
        return self.whole.injectivity_radius

    def inner(self, x, u, v):
        return self.whole.inner(x, u, v)

    def exp(self, x, v):
        return self.whole.exp(x, v)

    def log(self, x, y):
        return self.whole.log(x, y)

    def to_tangent(self, x, a):
        return self.whole.to_tangent(x, a)

    def to_manifold(self, a):
        return self.whole.to_manifold(a)

    def random_point(self, rng, batch=(), like=None):
        return self.whole.random_point(rng, batch, like)


class BareBounded(Bare):
    """The same where geodesics end or turn back: that is part of the geometry, too."""

    @property
    def complete(self):
        return self.whole.complete

    def extent(self, x, v):
        return self.whole.extent(x, v)


SYMMETRIC = [
    Bare(m)
    for m in (
        Euclidean(2, 3),
        Sphere(4),
        SPD(3),
        SPD(2, "log-euclidean"),
        Rotations(3),
        Hyperbolic(4),
        Grassmann(5, 2),
        Torus(3),
        Product(Sphere(3), SPD(2), weights=(4.0, 1.0)),
    )
] + [BareBounded(Simplex(4))]
OTHERS = [
    Bare(Stiefel(3, 2)),
    Bare(Stiefel(3, 2, "canonical")),
    BareBounded(SPD(2, "bures-wasserstein")),
]
ALL = [*SYMMETRIC, *OTHERS]


def name(bare):
    return repr(bare.whole)


def sample(bare, seed):
    """Points x, y = exp(x, v) and tangent vectors v, w at x, four of each."""
    m, rng = bare.whole, np.random.default_rng(seed)
    x = m.random_point(rng, (4,))
    v, w = m.unit_tangent(rng, x, (2,))
    longest = np.minimum(m.extent(x, v), 1.5 * m.typical_dist)
    v = (0.7 * longest).reshape(4, *(1 for _ in m.point_shape)) * v
    return x, m.exp(x, v), v, w


def close(a, b, units=100):
    size = max(1.0, float(np.max(np.abs(b))))
    np.testing.assert_allclose(a, b, rtol=0, atol=units * np.finfo(float).eps * size)


@pytest.mark.parametrize("bare", ALL, ids=name)
def test_distances_and_geodesics(bare):
    m, (x, y, v, _) = bare.whole, sample(bare, 1)
    close(bare.dist(x, y), m.dist(x, y), 1000 if isinstance(m, Stiefel) else 100)
    np.testing.assert_array_equal(bare.dist(x, x), 0)
    close(bare.norm(x, v), m.norm(x, v))
    t = np.array([0.0, 0.5, -0.5, 1.0])
    close(bare.geodesic(x, v)(t), m.geodesic(x, v)(t))
    for ours, theirs in zip(bare.exp_pair(x, v), m.exp_pair(x, v), strict=True):
        close(ours, theirs)


@pytest.mark.parametrize("bare", ALL, ids=name)
def test_coordinates_are_those_of_the_manifold_up_to_an_orthogonal_matrix(bare):
    m, (x, _, v, w) = bare.whole, sample(bare, 2)
    ours, theirs = (np.stack([k.to_coords(x, a) for a in (v, w)], axis=-1) for k in (bare, m))
    close(ours.mT @ ours, theirs.mT @ theirs)
    identity = np.eye(m.dim)
    q = m.to_coords(x[:, None], bare.from_coords(x[:, None], identity))
    close(q @ q.mT, np.broadcast_to(identity, q.shape))
    close(ours, q @ theirs)


@pytest.mark.parametrize("bare", ALL, ids=name)
def test_gradient(bare):
    m, x = bare.whole, sample(bare, 3)[0]
    g = m.to_tangent(x, np.random.default_rng(4).standard_normal(x.shape))
    close(bare.riemannian_gradient(x, g), m.riemannian_gradient(x, g), 1000)


@pytest.mark.parametrize("bare", SYMMETRIC, ids=name)
def test_transport_on_symmetric_spaces_is_exact(bare):
    m, (x, y, v, w) = bare.whole, sample(bare, 5)
    close(bare.transport_along(x, v, w), m.transport_along(x, v, w), 2000)
    close(bare.transport(x, y, w), m.transport(x, y, w), 2000)


@pytest.mark.parametrize("bare", OTHERS, ids=name)
def test_transport_elsewhere_is_right_to_eleven_digits(bare):
    m, (x, _, v, w) = bare.whole, sample(bare, 5)
    np.testing.assert_allclose(
        bare.transport_along(x, v, w), m.transport_along(x, v, w), rtol=0, atol=1e-11
    )


def test_transport_goes_on_beyond_the_cut_locus():
    sphere, bare = Sphere(3), Bare(Sphere(3))
    x, v, w = np.eye(3)[0], 9 * np.eye(3)[1], np.array([0.0, 1.0, 2.0])
    close(bare.transport_along(x, v, w), sphere.transport_along(x, v, w))


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_transport_does_not_depend_on_the_unit_of_length(unit):
    class Scaled(Bare):
        injectivity_radius = unit * np.pi
        typical_dist = unit * np.pi / 2

        def inner(self, x, u, v):
            return unit**2 * self.whole.inner(x, u, v)

    sphere = Sphere(3)
    x, v, w = np.eye(3)[0], 5 * np.eye(3)[1], np.array([0.0, 1.0, 2.0])
    close(Scaled(sphere).transport_along(x, v, w), sphere.transport_along(x, v, w))


def test_many_vectors_are_transported_along_one_geodesic():
    sphere, bare, rng = Sphere(4), Bare(Sphere(4)), np.random.default_rng(6)
    x = sphere.random_point(rng)
    v, w = sphere.unit_tangent(rng, x), sphere.unit_tangent(rng, x, (2, 5))
    close(bare.transport_along(x, v, w), sphere.transport_along(x, v, w))


@pytest.mark.parametrize(
    ("whole", "x", "y"),
    [
        (Sphere(3), np.eye(3)[0], -np.eye(3)[0]),
        (Rotations(3), np.eye(3), np.diag([1.0, -1.0, -1.0])),
        (Torus(2), np.array([0.5, 0.2]), np.array([0.5 - math.pi, 0.9])),
        (Grassmann(4, 2), np.eye(4)[:, :2], np.eye(4)[:, 1:3]),
    ],
    ids=repr,
)
def test_dist_is_right_where_log_is_not_unique(whole, x, y):
    bare = Bare(whole)
    with pytest.raises(CutLocusError):
        bare.log(x, y)
    assert bare.dist(x, y) == pytest.approx(whole.dist(x, y), rel=1e-10)
    other = whole.random_point(np.random.default_rng(7))
    both = bare.dist(x, np.stack([y, other]))
    np.testing.assert_allclose(both, whole.dist(x, np.stack([y, other])), rtol=1e-10)
    assert np.isnan(bare.dist(x, y * math.nan))


def test_basis_is_orthonormal_where_the_metric_is_ill_conditioned():
    """Eigenvalues from 1e-4 to 1e4: inner products of unit matrices span 16 orders."""
    spd, q = Bare(SPD(3)), np.linalg.qr(np.random.default_rng(8).standard_normal((3, 3)))[0]
    x = (q * [1e-4, 1.0, 1e4]) @ q.T
    x = (x + x.T) / 2
    c = np.random.default_rng(9).standard_normal((20, 6))
    u = spd.from_coords(x, c)
    np.testing.assert_allclose(spd.whole.norm(x, u), np.linalg.norm(c, axis=-1), rtol=1e-7)


def test_basis_is_smooth_and_the_same_each_time():
    sphere, rng = Bare(Sphere(6)), np.random.default_rng(10)
    x = sphere.random_point(rng)
    y = sphere.exp(x, 1e-6 * sphere.unit_tangent(rng, x))
    (a, _), (b, _), (c, _) = (orthonormal_basis(sphere, z) for z in (x, x.copy(), y))
    np.testing.assert_array_equal(a, b)
    assert np.max(abs(a - c)) < 1e-4


def test_large_bases_are_made_in_parts():
    """The products of 300 vectors with each other do not fit into one array."""
    sphere = Bare(Sphere(301))
    x = sphere.random_point(np.random.default_rng(11))
    basis, dual = orthonormal_basis(sphere, x)
    close(basis @ basis.T, np.eye(300))
    close(dual, basis)


def test_rank_of_the_tangent_space():
    rng = np.random.default_rng(12)
    for bare in ALL:
        assert tangent_rank(bare, bare.random_point(rng)) == bare.dim


def test_a_wrong_dimension_is_reported():
    class Wrong(Bare):
        dim = 3

    wrong = Wrong(Sphere(3))
    with pytest.raises(GeoduelError, match="do not span 3 dimensions"):
        wrong.to_coords(np.eye(3)[0], np.eye(3)[1])


def test_typical_dist_is_near_what_the_manifolds_state():
    for bare in ALL:
        assert 0.4 < bare.typical_dist / bare.whole.typical_dist < 1.7
        assert bare.typical_dist == bare.typical_dist


class BareContract(ManifoldContract):
    supports = ("float32", "torch", "array_api_strict")
    steps = 100  # exp is that of the whole manifold, which is walked further elsewhere


class TestBareSphere(BareContract):
    manifold = Bare(Sphere(4))


class TestBareProjectivePlane(BareContract):
    manifold = Bare(Grassmann(3, 1))


class TestBareHyperbolicSpace(BareContract):
    manifold = Bare(Hyperbolic(2))


class TestBareSPD(BareContract):
    manifold = Bare(SPD(2))
    supports = ("float32", "torch")


class TestBareSimplex(BareContract):
    manifold = BareBounded(Simplex(3))

    def reach(self, x):
        return 0.9 * self.manifold.whole.boundary_dist(x)


class TestBareBuresWasserstein(BareContract):
    manifold = BareBounded(SPD(2, "bures-wasserstein"))
    supports = ()
    transport_error = 1e-11

    def reach(self, x):
        return 0.9 * np.sqrt(np.linalg.eigvalsh(x)[..., 0])
