"""Stiefel: both metrics against formulas, the sphere, the rotations, and geodesic equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

from geoduel.errors import ArgumentError, CutLocusError, NotOnManifoldError, NotTangentError
from geoduel.manifolds.rotations import Rotations
from geoduel.manifolds.sphere import Sphere
from geoduel.manifolds.stiefel import Stiefel

METRICS = ["euclidean", "canonical"]
SHAPES = [(5, 2), (8, 3), (4, 3), (3, 2), (6, 5)]
metric = pytest.mark.parametrize("metric", METRICS)
shape = pytest.mark.parametrize(("n", "p"), SHAPES)


def setup(n, p, metric, length=1.0, seed=0, batch=()):
    """Random points, and tangent vectors of one length."""
    rng = np.random.default_rng(seed)
    m = Stiefel(n, p, metric)
    x = m.random_point(rng, batch)
    return rng, m, x, length * m.unit_tangent(rng, x)


def exponential(x, v, metric):
    """exp by exponentials of n x n matrices."""
    a, xi = x.T @ v, v @ x.T - x @ v.T
    if metric == "euclidean":
        return scipy.linalg.expm(xi) @ x @ scipy.linalg.expm(-a)
    return scipy.linalg.expm(xi - x @ a @ x.T) @ x


@metric
def test_distances_are_cheap_only_where_there_is_a_twin(metric):
    """The sphere for p = 1, the rotations for p = n; all are bounded."""
    for n, p in ((4, 1), (3, 3), *SHAPES):
        m = Stiefel(n, p, metric)
        assert m.closed_form == (p in (1, n))
        assert m.bounded


@metric
@shape
def test_exp_is_the_formula_in_large_matrices(n, p, metric):
    for length in (1e-12, 1e-3, 0.05, 1.0, 5.0, 30.0):
        _, m, x, v = setup(n, p, metric, length)
        expected = exponential(x, v, metric)
        np.testing.assert_allclose(m.exp(x, v), expected, atol=2e-14 * (1 + length))
        batch = m.exp(np.stack([x, x]), np.stack([v, 0 * v]))
        np.testing.assert_allclose(batch[0], expected, atol=2e-14 * (1 + length))
        np.testing.assert_array_equal(batch[1], x)


@metric
@shape
def test_geodesics_keep_their_speed_and_do_not_accelerate(n, p, metric):
    _, m, x, v = setup(n, p, metric, 1.5, seed=1)
    h, point = 1e-4, m.geodesic(x, v)
    for t in (0.3, 1.0):
        before, y, after = point(t - h), point(t), point(t + h)
        velocity, bend = (after - before) / (2 * h), (after - 2 * y + before) / h**2
        np.testing.assert_allclose(m.norm(y, velocity), 1.5, atol=1e-7)
        if metric == "euclidean":  # the acceleration is normal to the manifold
            turn = m.to_tangent(y, bend)
        else:  # Edelman, Arias and Smith, equation 2.41
            a, s = y.T @ velocity, velocity.T @ velocity
            turn = bend + velocity @ velocity.T @ y + y @ (a @ a + s)
        assert np.max(abs(turn)) < 1e-6


@metric
@pytest.mark.parametrize(("n", "p"), [*SHAPES, (12, 4)])
def test_log_inverts_exp_up_to_the_injectivity_radius(n, p, metric):
    for part, units in ((1e-9, 20), (0.5, 40), (0.995, 1000)):
        length = part * Stiefel(n, p, metric).injectivity_radius
        _, m, x, v = setup(n, p, metric, length, batch=(40,), seed=2)
        y = m.exp(x, v)
        np.testing.assert_allclose(m.log(x, y), v, rtol=0, atol=units * np.finfo(float).eps)
        np.testing.assert_allclose(m.dist(x, y), length, rtol=0, atol=1e-13)


@metric
@shape
def test_any_two_points_are_joined_and_the_distance_is_symmetric(n, p, metric):
    rng = np.random.default_rng(3)
    m = Stiefel(n, p, metric)
    x, y = m.random_point(rng, (2, 8))
    v = m.log(x, y)
    np.testing.assert_allclose(m.exp(x, v), y, atol=2e-13)
    np.testing.assert_allclose(m.dist(x, y), m.norm(x, v), atol=1e-13)
    np.testing.assert_allclose(m.dist(y, x), m.dist(x, y), atol=1e-12)


@shape
def test_the_metrics_bound_each_other(n, p):
    """|V|_c <= |V|_e <= √2 |V|_c for each vector, so the same holds for distances."""
    rng = np.random.default_rng(4)
    euclidean, canonical = (Stiefel(n, p, metric) for metric in METRICS)
    x, y = euclidean.random_point(rng, (2, 8))
    e, c = euclidean.dist(x, y), canonical.dist(x, y)
    assert np.all(c <= e + 1e-12)
    assert np.all(e <= math.sqrt(2) * c + 1e-12)


@metric
def test_one_vector_is_a_point_of_the_sphere(metric):
    rng, m, x, v = setup(5, 1, metric, 2.0)
    sphere, w, y = Sphere(5, 1), m.unit_tangent(rng, x), m.exp(x, v)
    np.testing.assert_array_equal(y, sphere.exp(x, v))
    np.testing.assert_array_equal(m.log(x, y), sphere.log(x, y))
    np.testing.assert_array_equal(m.transport_along(x, v, w), sphere.transport_along(x, v, w))
    np.testing.assert_allclose(m.inner(x, v, w), sphere.inner(x, v, w), atol=1e-15)
    assert m.dist(x, -x) == math.pi
    with pytest.raises(CutLocusError):
        m.log(x, -x)


@metric
def test_n_vectors_are_rotations_up_to_the_unit_of_length(metric):
    unit = math.sqrt(2) if metric == "euclidean" else 1.0
    m, rotations = Stiefel(4, 4, metric), Rotations(4)
    rng = np.random.default_rng(5)
    x = rotations.random_point(rng)
    v, w = rotations.unit_tangent(rng, x), rotations.unit_tangent(rng, x)
    y = m.exp(x, v)
    np.testing.assert_allclose(y, rotations.exp(x, v), atol=1e-15)
    np.testing.assert_allclose(y, exponential(x, v, metric), atol=1e-14)
    np.testing.assert_allclose(m.norm(x, v), unit, atol=1e-15)
    np.testing.assert_allclose(m.dist(x, y), unit, atol=1e-14)
    np.testing.assert_allclose(m.transport_along(x, v, w), rotations.transport_along(x, v, w))
    assert m.injectivity_radius == unit * rotations.injectivity_radius
    assert m.curvature == pytest.approx([k / unit**2 for k in rotations.curvature])


def test_the_orthogonal_group_has_two_components():
    m, x = Stiefel(3, 3), np.eye(3)
    y = np.diag([1.0, 1.0, -1.0])
    assert m.dist(x, y) == math.inf
    with pytest.raises(CutLocusError, match="no path"):
        m.log(x, y)
    both = np.stack([x, y])
    np.testing.assert_array_equal(m.dist(x, both), [0, math.inf])
    v = m.log(x, both)
    np.testing.assert_array_equal(v[0], 0)
    assert np.all(np.isnan(v[1]))


@pytest.mark.parametrize("n", [3, 5])
def test_all_but_one_vector_canonical_are_the_rotations(n):
    """The last column of a rotation follows from the others, and |V|² = |Ω|²/2 for both."""
    m, rotations = Stiefel(n, n - 1, "canonical"), Rotations(n)
    rng = np.random.default_rng(6)
    x, y = rotations.random_point(rng, (2, 20))
    v = rotations.log(x, y)
    np.testing.assert_allclose(m.dist(x[..., :-1], y[..., :-1]), rotations.dist(x, y), atol=1e-13)
    np.testing.assert_allclose(m.log(x[..., :-1], y[..., :-1]), v[..., :-1], atol=1e-12)
    w = rotations.unit_tangent(rng, x)
    moved = m.transport_along(x[..., :-1], v[..., :-1], w[..., :-1])
    np.testing.assert_allclose(moved, rotations.transport_along(x, v, w)[..., :-1], atol=1e-13)
    assert m.curvature == rotations.curvature
    assert m.injectivity_radius == rotations.injectivity_radius


@metric
@shape
def test_a_larger_space_changes_nothing(n, p, metric):
    """St(n, p) is totally geodesic in St(n+3, p)."""
    rng, m, x, v = setup(n, p, metric, 1.3, seed=7)
    w, large = m.unit_tangent(rng, x), Stiefel(n + 3, p, metric)

    def pad(a):
        return np.concatenate([a, np.zeros((3, p))])

    y = m.exp(x, v)
    np.testing.assert_allclose(large.exp(pad(x), pad(v)), pad(y), atol=1e-14)
    np.testing.assert_allclose(large.log(pad(x), pad(y)), pad(m.log(x, y)), atol=1e-13)
    moved = large.transport_along(pad(x), pad(v), pad(w))
    np.testing.assert_allclose(moved, pad(m.transport_along(x, v, w)), atol=1e-14)


@metric
@shape
def test_transport_is_isometric_and_a_flow(n, p, metric):
    rng, m, x, v = setup(n, p, metric, 2.0, seed=8)
    u, w = m.unit_tangent(rng, x), m.unit_tangent(rng, x)
    y = m.exp(x, v)
    moved_u, moved_w = (m.transport_along(x, v, a) for a in (u, w))
    m.check_tangent(y, moved_u)
    np.testing.assert_allclose(m.inner(y, moved_u, moved_w), m.inner(x, u, w), atol=1e-14)
    # Half the way twice, and back again.
    z, half = m.exp(x, v / 2), m.transport_along(x, v / 2, v / 2)
    twice = m.transport_along(z, half, m.transport_along(x, v / 2, u))
    np.testing.assert_allclose(twice, moved_u, atol=2e-14)
    back = m.transport_along(y, -m.transport_along(x, v, v), moved_u)
    np.testing.assert_allclose(back, u, atol=2e-14)


@metric
def test_transport_is_that_of_the_levi_civita_connection(metric):
    """dW/dt = -Γ(V, W), with Edelman, Arias and Smith's Γ for either metric."""
    rng, m, x, v = setup(6, 2, metric, seed=9)
    w, h = m.unit_tangent(rng, x), 1e-5
    change = (m.transport_along(x, h * v, w) - m.transport_along(x, -h * v, w)) / (2 * h)
    if metric == "euclidean":
        gamma = x @ (v.T @ w + w.T @ v) / 2
    else:
        normal = np.eye(6) - x @ x.T
        gamma = (v @ w.T + w @ v.T) @ x / 2 + x @ (v.T @ normal @ w + w.T @ normal @ v) / 2
    np.testing.assert_allclose(change, -gamma, atol=1e-9)


@metric
def test_antipodal_frames_have_a_distance_but_no_logarithm(metric):
    m, x = Stiefel(4, 2, metric), np.eye(4)[:, :2]
    # Half a turn in the plane of the frame: A = π J, of norm √2 π and π.
    expected = math.pi * (math.sqrt(2) if metric == "euclidean" else 1.0)
    np.testing.assert_allclose(m.dist(x, -x), expected, atol=1e-12)
    with pytest.raises(CutLocusError, match="equally short"):
        m.log(x, -x)
    v = m.log(x, np.stack([-x, x]))
    assert np.all(np.isnan(v[0]))
    np.testing.assert_array_equal(v[1], 0)


@metric
def test_a_pair_of_points_is_two_points(metric):
    _, m, x, v = setup(7, 3, metric, 1.0, batch=(4,))
    for a, b in ((x, v), (x[0], v[0]), (x, v[0])):
        y, z = m.exp_pair(a, b)
        np.testing.assert_allclose(y, m.exp(a, b), atol=2e-15)
        np.testing.assert_allclose(z, m.exp(a, -b), atol=2e-15)


@metric
@pytest.mark.parametrize("length", [0.0, 0.03, 1.5])
@pytest.mark.parametrize(("n", "p"), [(6, 2), (4, 3)])
def test_torch_gradients_are_right(n, p, length, metric):
    """Also at equal points, where neither SVD nor QR has a derivative."""
    torch = pytest.importorskip("torch")
    rng, m, x, v = setup(n, p, metric, length, seed=10)
    y, w, weight = m.exp(x, v), m.unit_tangent(rng, x), rng.standard_normal((n, p))
    dx, dy, dv = m.unit_tangent(rng, x), m.unit_tangent(rng, y), rng.standard_normal((n, p))
    on_x, on_y, free = (
        lambda t: m.exp(x, t * dx),
        lambda t: m.exp(y, t * dy),
        lambda t: v + t * dv,
    )

    def check(f, *moves):
        """Derivative along curves, given with their velocity, by torch and by differences."""

        def value(*points):
            return (torch.tensor(weight) * f(*points)).sum()

        leaves = [torch.tensor(curve(0.0), requires_grad=True) for curve, _ in moves]
        value(*leaves).backward()
        slope = sum(np.vdot(a.grad.numpy(), d) for a, (_, d) in zip(leaves, moves, strict=True))
        h = 1e-5
        ends = [float(value(*(torch.tensor(curve(t)) for curve, _ in moves))) for t in (h, -h)]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * h), atol=1e-8)

    check(m.log, (on_x, dx), (on_y, dy))
    check(lambda x, v: m.exp(x, m.to_tangent(x, v)), (on_x, dx), (free, dv))
    to = m.to_tangent
    check(
        lambda x, v: m.transport_along(x, to(x, v), to(x, torch.tensor(w))), (on_x, dx), (free, dv)
    )


@metric
def test_single_precision_is_kept_and_right_to_its_rounding(metric):
    _, m, x, v = setup(8, 3, metric, 2.0, batch=(5,))
    y = m.exp(x, v)
    low = m.log(x.astype(np.float32), y.astype(np.float32))
    assert low.dtype == np.float32
    np.testing.assert_allclose(low, v, atol=3e-5)
    assert m.exp(x.astype(np.float32), v.astype(np.float32)).dtype == np.float32


@metric
def test_projections_and_gradients_fit_the_metric(metric):
    """<grad f, v> = Df(v) for every tangent v."""
    rng, m, x, v = setup(6, 3, metric)
    g = rng.standard_normal((6, 3))
    grad = m.riemannian_gradient(x, g)
    m.check_tangent(x, grad)
    np.testing.assert_allclose(m.inner(x, grad, v), np.vdot(g, v), atol=1e-14)


def test_published_bounds():
    assert Stiefel(5, 2).injectivity_radius == math.pi
    assert Stiefel(5, 2).curvature == (-0.5, 1.0)
    canonical = Stiefel(5, 2, "canonical")
    assert canonical.curvature == (0.0, 1.25)
    # Klingenberg: π over the root of the largest curvature; above it a known conjugate point.
    assert canonical.injectivity_radius == pytest.approx(math.pi / math.sqrt(1.25))
    assert canonical.injectivity_radius < 0.9133 * math.pi
    assert Stiefel(5, 3, "canonical").injectivity_radius == canonical.injectivity_radius


def test_wrong_arguments_are_named():
    with pytest.raises(ArgumentError, match=r"p must be <= n = 3 .* got 4"):
        Stiefel(3, 4)
    with pytest.raises(ArgumentError, match="n must be an integer >= 2"):
        Stiefel(1, 1)
    with pytest.raises(ArgumentError, match="p must be an integer"):
        Stiefel(3, True)
    with pytest.raises(ArgumentError, match="metric must be one of 'euclidean', 'canonical'"):
        Stiefel(3, 2, "flat")
    m, x = Stiefel(3, 2), np.eye(3)[:, :2]
    with pytest.raises(NotOnManifoldError, match="xᵀx"):
        m.check_point(1.01 * x)
    with pytest.raises(NotTangentError, match="symmetric part"):
        m.check_tangent(x, x)
    with pytest.raises(NotOnManifoldError, match="linearly dependent"):
        m.to_manifold(np.ones((3, 2)))
