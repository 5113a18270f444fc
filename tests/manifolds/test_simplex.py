"""The Fisher-Rao simplex: an orthant of a sphere, closed forms, reflection at the boundary."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError, NotOnManifoldError, NotTangentError
from geoduel.manifolds.simplex import Simplex
from geoduel.manifolds.sphere import Sphere

EPS = np.finfo(float).eps
SIMPLEX = Simplex(5)


def sample(seed, batch=(30,), simplex=SIMPLEX):
    """Points x, y and unit tangent vectors v, w at x, at random."""
    rng = np.random.default_rng(seed)
    x, y = simplex.random_point(rng, batch), simplex.random_point(rng, batch)
    return x, y, simplex.unit_tangent(rng, x), simplex.unit_tangent(rng, x)


def inside(x, v):
    """The vectors, shortened to end half-way to the boundary."""
    return SIMPLEX.boundary_dist(x)[..., None] / 2 * v


# -- second formulas ------------------------------------------------------------------------------


def test_isometric_to_the_positive_orthant_of_the_sphere_of_radius_2():
    x, y, v, w = sample(0)
    v = inside(x, v)
    sphere = Sphere(5)

    def up(x, *vectors):  # of radius 1: lengths are halved
        return np.sqrt(x), *(u / (2 * np.sqrt(x)) for u in vectors)

    (s, sv, sw), (r,) = up(x, v, w), up(y)
    end = SIMPLEX.exp(x, v)
    close = {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(SIMPLEX.inner(x, v, w), 4 * sphere.inner(s, sv, sw), **close)
    np.testing.assert_allclose(SIMPLEX.dist(x, y), 2 * sphere.dist(s, r), **close)
    np.testing.assert_allclose(np.sqrt(end), sphere.exp(s, sv), **close)
    np.testing.assert_allclose(up(x, SIMPLEX.log(x, y))[1], sphere.log(s, r), **close)
    np.testing.assert_allclose(
        up(y, SIMPLEX.transport(x, y, w))[1], sphere.transport(s, r, sw), **close
    )
    np.testing.assert_allclose(
        up(end, SIMPLEX.transport_along(x, v, w))[1], sphere.transport_along(s, sv, sw), **close
    )


def test_distance_is_twice_the_angle_of_bhattacharyya():
    x, y, _, _ = sample(1)
    coefficient = np.sum(np.sqrt(x * y), axis=-1)
    np.testing.assert_allclose(SIMPLEX.dist(x, y), 2 * np.arccos(coefficient), rtol=1e-9)


def test_bernoulli_distance():
    """Two categories: the angle asin √p is the coordinate of constant metric."""
    p, q = np.array([0.1, 0.5, 1e-8]), np.array([0.9, 0.3, 0.2])
    x, y = np.stack([p, 1 - p], -1), np.stack([q, 1 - q], -1)
    expected = 2 * np.abs(np.arcsin(np.sqrt(p)) - np.arcsin(np.sqrt(q)))
    np.testing.assert_allclose(Simplex(2).dist(x, y), expected, rtol=1e-14)


def test_splitting_a_category_is_isometric():
    """The invariance that singles out this metric (Chentsov), up to scale."""
    x, y, v, w = sample(2)

    def split(a):
        return np.concatenate([a[..., :-1], 0.3 * a[..., -1:], 0.7 * a[..., -1:]], axis=-1)

    finer = Simplex(6)
    np.testing.assert_allclose(finer.dist(split(x), split(y)), SIMPLEX.dist(x, y), rtol=1e-13)
    np.testing.assert_allclose(finer.exp(split(x), split(v)), split(SIMPLEX.exp(x, v)), atol=1e-14)
    np.testing.assert_allclose(
        finer.transport(split(x), split(y), split(w)),
        split(SIMPLEX.transport(x, y, w)),
        rtol=1e-11,
        atol=1e-13,
    )


def test_metric_is_the_curvature_of_relative_entropy():
    """KL(x, x + εv) = ε²/2 |v|² + O(ε³)."""
    x, _, v, _ = sample(3)
    v = inside(x, v)
    scale = 1e-3
    y = x + scale * v
    entropy = np.sum(-x * np.log1p((y - x) / x), axis=-1)
    np.testing.assert_allclose(entropy, scale**2 / 2 * SIMPLEX.inner(x, v, v), rtol=2e-3)


def test_natural_gradient():
    x, _, v, _ = sample(4)
    g = np.random.default_rng(5).standard_normal(x.shape)
    gradient = SIMPLEX.riemannian_gradient(x, g)
    np.testing.assert_allclose(np.sum(gradient, axis=-1), 0, atol=1e-15)
    np.testing.assert_allclose(SIMPLEX.inner(x, gradient, v), np.vecdot(g, v), atol=1e-12)


def test_to_tangent_is_orthogonal_in_the_metric():
    x, _, v, _ = sample(6)
    a = np.random.default_rng(7).standard_normal(x.shape)
    rest = a - SIMPLEX.to_tangent(x, a)
    np.testing.assert_allclose(np.sum(rest * v / x, axis=-1), 0, atol=1e-11)
    np.testing.assert_allclose(SIMPLEX.to_tangent(x, v), v, atol=1e-15)


# -- the boundary ---------------------------------------------------------------------------------


def test_log_has_no_cut_locus_and_exp_undoes_it():
    """Corners are as far apart as points get, and joined by one minimising geodesic still."""
    x = np.full((3, 3), 1e-9) + (1 - 3e-9) * np.eye(3)
    y = np.roll(x, 1, axis=0)
    simplex = Simplex(3)
    assert np.all(np.abs(simplex.dist(x, y) - math.pi) < 3e-4)
    np.testing.assert_allclose(simplex.exp(x, simplex.log(x, y)), y, atol=1e-15, rtol=1e-6)


def test_corners_are_pi_apart():
    assert Simplex(3).dist(*np.eye(3)[:2]) == pytest.approx(math.pi, rel=4 * EPS)


def test_exp_is_one_to_one_up_to_the_boundary_and_not_beyond():
    x, _, v, _ = sample(8)
    v = v / SIMPLEX.norm(x, v)[..., None]
    short = 0.99 * SIMPLEX.boundary_dist(x)[..., None] * v
    np.testing.assert_allclose(SIMPLEX.log(x, SIMPLEX.exp(x, short)), short, atol=1e-12)
    assert np.all(SIMPLEX.dist(x, SIMPLEX.exp(x, 3 * v)) < 2.9)  # reflected on the way


def test_boundary_dist_is_attained():
    """Towards the nearest face, along the gradient of its coordinate."""
    x, _, _, _ = sample(9)
    face = np.argmin(x, axis=-1)
    v = -SIMPLEX.riemannian_gradient(x, np.eye(5)[face])
    v *= (SIMPLEX.boundary_dist(x) / SIMPLEX.norm(x, v))[..., None]
    reached = np.take_along_axis(SIMPLEX.exp(x, v), face[..., None], axis=-1)
    assert np.all(reached <= 1e-30)


@pytest.mark.parametrize("length", [0.5, 2.0, 5.0, 1e3])
def test_every_step_ends_in_the_simplex_no_farther_than_its_length(length):
    x, _, v, _ = sample(10)
    y = SIMPLEX.exp(x, length * v)
    SIMPLEX.check_point(y)
    assert np.all(SIMPLEX.dist(x, y) <= length * (1 + 1e-12))


def test_the_reflected_geodesic_returns_after_2_pi():
    """Half a great circle of radius 2 leads to -√x, which squares to x."""
    x, _, v, _ = sample(11)
    np.testing.assert_allclose(SIMPLEX.exp(x, 2 * math.pi * v), x, atol=1e-14)
    np.testing.assert_allclose(SIMPLEX.transport_along(x, 2 * math.pi * v, v), v, atol=1e-14)


def test_transport_along_a_reflected_geodesic_keeps_lengths_and_tangents():
    x, _, v, w = sample(12)
    y, carried = SIMPLEX.exp(x, 4 * v), SIMPLEX.transport_along(x, 4 * v, w)
    np.testing.assert_allclose(np.sum(carried, axis=-1), 0, atol=1e-13)
    np.testing.assert_allclose(SIMPLEX.norm(y, carried), 1, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_onto_the_boundary_can_go_on(dtype):
    """Exactly onto a face: the entry stays positive, and vectors there finite."""
    x = np.array([0.5, 0.5], dtype=dtype)
    y = Simplex(2).exp(x, np.array([0.5, -0.5], dtype=dtype) * np.pi / 2)
    assert y[1] == pytest.approx(0, abs=1e-14)
    corner = np.array([1, 1e-36], dtype=dtype)
    v = Simplex(2).unit_tangent(np.random.default_rng(13), corner)
    Simplex(2).check_point(corner)
    assert np.all(np.isfinite(v))
    assert Simplex(2).norm(corner, v) == pytest.approx(1, rel=1e-6)
    assert Simplex(2).dist(corner, Simplex(2).exp(corner, v)) == pytest.approx(1, rel=1e-6)


# -- tiny and zero --------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1e-12, 1e-8, 1e-4])
def test_tiny_distances_keep_their_digits(length):
    """The error is the rounding of y, as a length: ulp(yᵢ)/√xᵢ."""
    x, _, v, _ = sample(14)
    error = np.abs(SIMPLEX.dist(x, SIMPLEX.exp(x, length * v)) - length)
    assert np.all(error <= 4 * EPS)
    y = x.copy()
    y[..., 0] = np.nextafter(x[..., 0], 1)  # one ulp apart: the length itself, to all digits
    ulp = y[..., 0] - x[..., 0]
    np.testing.assert_allclose(SIMPLEX.dist(x, y), ulp / np.sqrt(x[..., 0]), rtol=1e-14)


def test_identical_points():
    x, _, v, _ = sample(15)
    np.testing.assert_array_equal(SIMPLEX.dist(x, x), 0)
    np.testing.assert_array_equal(SIMPLEX.log(x, x), 0)
    np.testing.assert_array_equal(SIMPLEX.exp(x, 0 * v), x)
    np.testing.assert_allclose(SIMPLEX.transport(x, x, v), v, atol=1e-15)


def test_random_points_are_uniform():
    """Dirichlet(1, ..., 1): moments 1/n and 2/(n(n+1)), within four standard errors."""
    n, count = 4, 20_000
    x = Simplex(n).random_point(np.random.default_rng(16), (count,))
    for sample_of, mean in [(x, 1 / n), (x**2, 2 / (n * (n + 1)))]:
        error = np.std(sample_of, axis=0) / math.sqrt(count)
        assert np.all(np.abs(np.mean(sample_of, axis=0) - mean) < 4 * error)


# -- arrays ---------------------------------------------------------------------------------------


def every_operation(simplex, x, y, v, w, c):
    return {
        "exp": simplex.exp(x, v),
        "still": simplex.exp(x, 0 * v),
        "geodesic": simplex.geodesic(x, v)(-0.5),
        "log": simplex.log(x, y),
        "dist": simplex.dist(x, y),
        "inner": simplex.inner(x, v, w),
        "norm": simplex.norm(x, v),
        "transport": simplex.transport(x, y, v),
        "transport_along": simplex.transport_along(x, v, w),
        "to_coords": simplex.to_coords(x, v),
        "from_coords": simplex.from_coords(x, c),
        "to_tangent": simplex.to_tangent(x, w + x),
        "riemannian_gradient": simplex.riemannian_gradient(x, y),
        "to_manifold": simplex.to_manifold(3 * x),
        "boundary_dist": simplex.boundary_dist(x),
    }


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries_agree_with_numpy(library, batch):
    xp = pytest.importorskip(library)
    arrays = (*sample(17, batch), np.random.default_rng(18).standard_normal((*batch, 4)))
    expected = every_operation(SIMPLEX, *arrays)
    for name, result in every_operation(SIMPLEX, *(xp.asarray(a) for a in arrays)).items():
        assert type(result).__module__.split(".")[0] == library, name
        assert result.dtype == xp.float64, name
        np.testing.assert_allclose(
            np.from_dlpack(result), expected[name], rtol=1e-13, atol=1e-14, err_msg=name
        )
    SIMPLEX.check_point(xp.asarray(arrays[0]))
    SIMPLEX.check_tangent(xp.asarray(arrays[0]), xp.asarray(arrays[2]))


def test_float32_is_kept_and_right():
    single = [a.astype(np.float32) for a in (*sample(19), np.zeros((30, 4)))]
    expected = every_operation(SIMPLEX, *(a.astype(float) for a in single))
    for name, result in every_operation(SIMPLEX, *single).items():
        assert result.dtype == np.float32, name
        size = np.max(np.abs(expected[name]))
        assert np.max(np.abs(result - expected[name])) <= 1e-5 * size, name


def test_geodesics_turn_back_at_their_extent():
    m, rng = Simplex(4), np.random.default_rng(11)
    x = m.random_point(rng, (50,))
    v = m.unit_tangent(rng, x)
    t = m.extent(x, v)  # a length, for v is a unit vector
    at_end = np.minimum(*m.exp_pair(x, t[:, None] * v)).min(axis=-1)
    np.testing.assert_allclose(at_end, 0.0, atol=1e-30)
    assert (t >= m.boundary_dist(x) * (1 - 1e-12)).all()
    beyond = [m.dist(x, y) for y in m.exp_pair(x, 1.1 * t[:, None] * v)]
    assert (np.minimum(*beyond) < 1.099 * t).all()


def test_gradients_are_finite_at_identical_points_and_zero_vectors():
    torch = pytest.importorskip("torch")
    x, _, v, _ = (torch.as_tensor(a) for a in sample(20))
    for function in (
        lambda x, y, v: SIMPLEX.dist(x, y).sum(),
        lambda x, y, v: SIMPLEX.log(x, y)[..., 0].sum(),
        lambda x, y, v: SIMPLEX.exp(x, v)[..., 0].sum(),
        lambda x, y, v: SIMPLEX.norm(x, v).sum(),
        lambda x, y, v: SIMPLEX.transport_along(x, v, v)[..., 0].sum(),
    ):
        leaves = [a.clone().requires_grad_() for a in (x, x, 0 * v)]
        function(*leaves).backward()
        assert all(a.grad is None or bool(torch.isfinite(a.grad).all()) for a in leaves)


def test_gradient_of_half_the_squared_distance_is_minus_log():
    torch = pytest.importorskip("torch")
    x, y, _, _ = (torch.as_tensor(a) for a in sample(21))
    x.requires_grad_()
    (SIMPLEX.dist(x, y) ** 2 / 2).sum().backward()
    gradient = SIMPLEX.riemannian_gradient(x.detach(), x.grad)
    torch.testing.assert_close(gradient, -SIMPLEX.log(x.detach(), y), rtol=1e-9, atol=1e-10)


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2.5, "3", True])
def test_number_of_categories_must_be_an_integer_of_at_least_two(n):
    with pytest.raises(ArgumentError, match=r"Simplex n must be an integer >= 2"):
        Simplex(n)


def test_points_off_the_simplex_are_refused():
    simplex = Simplex(3)
    with pytest.raises(NotOnManifoldError, match=r"\|sum - 1\| is 0\.5"):
        simplex.check_point(np.array([0.5, 0.5, 0.5]))
    with pytest.raises(NotOnManifoldError, match=r"smallest entry is -0\.1, expected > 0"):
        simplex.check_point(np.array([0.6, 0.5, -0.1]))
    with pytest.raises(NotOnManifoldError, match=r"smallest entry is 0, .*the simplex is open"):
        simplex.check_point(np.array([0.5, 0.5, 0.0]))
    with pytest.raises(NotTangentError):
        simplex.check_tangent(np.full(3, 1 / 3), np.array([1.0, 0.0, 0.0]))


def test_to_manifold():
    simplex = Simplex(3)
    np.testing.assert_allclose(simplex.to_manifold(np.array([2.0, 2.0, 4.0])), [0.25, 0.25, 0.5])
    repaired = simplex.to_manifold(np.array([1.0, 1.0, -1e-17]))
    simplex.check_point(repaired)
    for hopeless in ([-1.0, -2.0, 0.0], [1.0, np.nan, 0.0], [1.0, np.inf, 0.0]):
        with pytest.raises(NotOnManifoldError, match="finite entries, at least one positive"):
            simplex.to_manifold(np.array(hopeless))
