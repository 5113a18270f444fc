"""Grassmann: principal angles of every size, any basis, projectors, and the sphere and Stiefel."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

from geoduel.errors import ArgumentError, CutLocusError, NotOnManifoldError, NotTangentError
from geoduel.manifolds.grassmann import Grassmann, _slopes
from geoduel.manifolds.sphere import Sphere
from geoduel.manifolds.stiefel import Stiefel

SHAPES = [(5, 2), (8, 3), (4, 3), (4, 1), (9, 4)]
shape = pytest.mark.parametrize(("n", "p"), SHAPES)


def orthogonal(rng, n):
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def at_angles(rng, n, *angles):
    """Two subspaces with these principal angles, in arbitrary bases."""
    p = len(angles)
    q = orthogonal(rng, n)
    x, normal = q[:, :p], q[:, p : 2 * p]
    y = x * np.cos(angles) + normal * np.sin(angles)
    return x @ orthogonal(rng, p), y @ orthogonal(rng, p)


def pair(n, p, length=1.0, seed=0, batch=()):
    rng = np.random.default_rng(seed)
    m = Grassmann(n, p)
    x = m.random_point(rng, batch)
    v = length * m.unit_tangent(rng, x)
    return rng, m, x, v


@pytest.mark.parametrize(
    "angles",
    [
        (0.3, 0.8),
        (1e-3, 1e-3),
        (1e-8, 1.5),
        (0.0, 0.7),
        (math.pi / 2 - 1e-6, 0.4),
        (math.pi / 2 - 1e-9, math.pi / 2 - 1e-9),
        (1.2, 1.2),
    ],
)
def test_distance_is_the_norm_of_the_principal_angles(angles):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        m = Grassmann(6, 2)
        x, y = at_angles(rng, 6, *angles)
        expected = math.hypot(*angles)
        # The angles themselves are uncertain by the rounding of x and y, some units each.
        assert abs(m.dist(x, y) - expected) < 1e-14
        assert abs(m.norm(x, m.log(x, y)) - expected) < 1e-14
        assert abs(m.dist(np.stack([x, x]), np.stack([y, y]))[1] - expected) < 1e-14


@pytest.mark.parametrize("angle", [1e-7, 1e-10, 1e-13])
def test_distance_of_near_subspaces_keeps_its_digits(angle):
    """An arccosine would return 0 or 1.5e-8."""
    m = Grassmann(6, 2)
    x = np.eye(6)[:, :2]
    v = np.zeros((6, 2))
    v[2, 0] = v[3, 1] = angle
    y = m.exp(x, v)
    np.testing.assert_allclose(m.dist(x, y), math.sqrt(2) * angle, rtol=1e-13)
    np.testing.assert_allclose(m.log(x, y), v, rtol=1e-12, atol=1e-28)


@shape
def test_equal_points_are_at_distance_zero(n, p):
    rng, m, x, _ = pair(n, p, batch=(3,))
    assert m.dist(x[0], x[0]) == 0
    np.testing.assert_array_equal(m.dist(x, x), 0)
    assert m.dist(x[0], x[0] @ orthogonal(rng, p)) < 1e-14


@shape
def test_nothing_depends_on_the_bases(n, p):
    rng, m, x, v = pair(n, p, 1.1)
    y, w = m.exp(x, v), m.unit_tangent(rng, x)
    q, r = orthogonal(rng, p), orthogonal(rng, p)
    np.testing.assert_allclose(m.dist(x @ q, y @ r), m.dist(x, y), atol=1e-14)
    np.testing.assert_allclose(m.log(x @ q, y @ r), m.log(x, y) @ q, atol=1e-13)
    np.testing.assert_allclose(m.exp(x @ q, v @ q), m.exp(x, v) @ q, atol=1e-14)
    moved = m.transport(x, y, w)
    np.testing.assert_allclose(m.transport(x @ q, y @ r, w @ q), moved @ r, atol=1e-13)
    m.check_tangent(y, moved)


@shape
def test_geodesics_are_those_of_the_projectors(n, p):
    """P(t) = e^{tΩ} P e^{-tΩ} with Ω = V Xᵀ - X Vᵀ."""
    for length in (1e-9, 0.5, 3.0, 20.0):
        _, m, x, v = pair(n, p, length, seed=1)
        y = m.exp(x, v)
        turn = scipy.linalg.expm(v @ x.T - x @ v.T)
        np.testing.assert_allclose(y @ y.T, turn @ x @ x.T @ turn.T, atol=5e-14 * (1 + length))


@shape
def test_horizontal_geodesics_are_geodesics_of_frames(n, p):
    for metric in ("euclidean", "canonical"):
        _, m, x, v = pair(n, p, 2.0, seed=2)
        np.testing.assert_allclose(m.exp(x, v), Stiefel(n, p, metric).exp(x, v), atol=2e-14)


@shape
def test_parallel_transport_is_the_rotation_of_the_geodesic(n, p):
    """On a symmetric space e^Ω carries lifts along; here at the basis e^Ω X."""
    rng, m, x, v = pair(n, p, 1.7, seed=3)
    w = m.unit_tangent(rng, x)
    turn = scipy.linalg.expm(v @ x.T - x @ v.T)
    np.testing.assert_allclose(m.transport_along(x, v, w), turn @ w, atol=2e-14)


@shape
def test_taking_complements_is_an_isometry(n, p):
    _, m, x, v = pair(n, p, 1.0, seed=4)
    y = m.exp(x, v)

    def complement(z):
        return np.linalg.svd(z)[0][:, p:]

    other = Grassmann(n, n - p)
    np.testing.assert_allclose(other.dist(complement(x), complement(y)), m.dist(x, y), atol=1e-14)
    assert other.dim == m.dim
    assert other.curvature == m.curvature


def test_lines_are_points_of_the_sphere_up_to_sign():
    rng = np.random.default_rng(5)
    m, sphere = Grassmann(4, 1), Sphere(4, 1)
    x, y = m.random_point(rng, (2,))
    y = y * np.sign(np.vdot(x, y))
    for sign in (1, -1):
        np.testing.assert_allclose(m.dist(x, sign * y), sphere.dist(x, y), atol=1e-15)
        np.testing.assert_allclose(m.log(x, sign * y), sphere.log(x, y), atol=1e-14)


@shape
def test_chordal_distance_bounds_the_distance(n, p):
    """|P - Q|² = 2 sum sin²θ, and sin θ >= 2θ/π."""
    rng = np.random.default_rng(6)
    m = Grassmann(n, p)
    x, y = m.random_point(rng, (2, 50))
    chord = np.linalg.norm(x @ x.mT - y @ y.mT, axis=(-2, -1)) / math.sqrt(2)
    d = m.dist(x, y)
    assert np.all(chord <= d * (1 + 1e-14))
    assert np.all(d <= math.pi / 2 * chord)
    assert np.all(d <= 2 * m.typical_dist)  # the diameter


def test_beyond_the_injectivity_radius_the_way_back_is_shorter():
    _, m, x, v = pair(6, 1, 2.5)
    np.testing.assert_allclose(m.dist(x, m.exp(x, v)), math.pi - 2.5, atol=1e-14)
    assert math.pi / 2 == m.injectivity_radius


def test_cut_locus_is_marked():
    m, e = Grassmann(5, 2), np.eye(5)
    x, y = e[:, :2], e[:, 1:3]
    np.testing.assert_allclose(m.dist(x, y), math.pi / 2, atol=1e-15)
    with pytest.raises(CutLocusError, match="cut locus"):
        m.log(x, y)
    both = m.log(np.stack([x, x]), np.stack([y, x]))
    assert np.all(np.isnan(both[0]))
    np.testing.assert_array_equal(both[1], 0)


@pytest.mark.parametrize("angles", [(0.4, 0.4), (0.0, 0.0), (0.0, 0.9), (1e-7, 1.1), (0.3, 1.2)])
def test_torch_gradients_are_right_where_angles_coincide(angles):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(7)
    m = Grassmann(6, 2)
    x, y = at_angles(rng, 6, *angles)
    weight = rng.standard_normal((6, 2))
    dx, dy = m.unit_tangent(rng, x), m.unit_tangent(rng, y)

    def f(x, y):
        return (m.log(x, y) * torch.tensor(weight)).sum()

    a, b = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    f(a, b).backward()
    slope = np.vdot(a.grad.numpy(), dx) + np.vdot(b.grad.numpy(), dy)
    h = 1e-5
    ends = [f(torch.tensor(m.exp(x, t * dx)), torch.tensor(m.exp(y, t * dy))) for t in (h, -h)]
    np.testing.assert_allclose(slope, float(ends[0] - ends[1]) / (2 * h), atol=1e-8)
    m.dist(a, b).backward()
    assert torch.all(torch.isfinite(a.grad))


def test_single_precision_is_kept_and_right_to_its_rounding():
    _, m, x, v = pair(8, 3, 1.2)
    y = m.exp(x, v)
    low = m.log(x.astype(np.float32), y.astype(np.float32))
    assert low.dtype == np.float32
    np.testing.assert_allclose(low, v, atol=1e-5)
    np.testing.assert_allclose(m.dist(x.astype(np.float32), y.astype(np.float32)), 1.2, atol=1e-5)


def test_wrong_arguments_are_named():
    with pytest.raises(ArgumentError, match=r"p must be < n = 3 .* got 3"):
        Grassmann(3, 3)
    with pytest.raises(ArgumentError, match="p must be an integer"):
        Grassmann(3, 0)
    with pytest.raises(ArgumentError, match="n must be an integer"):
        Grassmann(2.5, 1)
    m, x = Grassmann(3, 1), np.eye(3)[:, :1]
    with pytest.raises(NotOnManifoldError, match="xᵀx"):
        m.check_point(2 * x)
    with pytest.raises(NotTangentError, match="xᵀv"):
        m.check_tangent(x, x)
    with pytest.raises(ArgumentError, match=r"\(\.\.\., 3, 1\)"):
        m.check_point(np.eye(3))
    with pytest.raises(NotOnManifoldError, match="linearly dependent"):
        m.to_manifold(np.zeros((3, 1)))


def test_what_is_known_of_its_size_and_curvature():
    m = Grassmann(5, 2)
    assert (m.dim, m.point_shape, m.bounded) == (6, (5, 2), True)
    assert (m.injectivity_radius, m.curvature) == (math.pi / 2, (0.0, 2.0))
    assert m.typical_dist == math.pi / 4 * math.sqrt(2)
    for sphere in (Grassmann(4, 1), Grassmann(4, 3)):  # up to signs
        assert sphere.curvature == (1.0, 1.0)
        assert sphere.typical_dist == math.pi / 4


def test_a_long_way_of_short_steps_is_a_long_way():
    """e^{2e4 Ω} by squaring loses more digits than its angles, by eigenvectors it does not."""
    _, m, x, v = pair(6, 2, 100.0, seed=3)
    y, end = m.geodesic(x, v)(200.0), m.exp(x, 200.0 * v)
    np.testing.assert_allclose(y, end, atol=1e-14)


def test_between_cosines_near_one_the_slope_of_the_angle_over_its_sine_has_its_digits():
    """d/dc of t / sin t at c = cos t is (t cos t - sin t) / sin³ t."""
    for gap in (1e-7, 1e-6, 5e-6, 1e-5, 1e-4):
        t = 2 * math.asin(math.sqrt(gap / 2))
        f = t / math.sin(t)
        exact = (t * math.cos(t) - math.sin(t)) / math.sin(t) ** 3
        slopes = _slopes(np.full(2, 1 - gap), np.full(2, f))
        np.testing.assert_allclose(slopes, exact, rtol=3e-8)
