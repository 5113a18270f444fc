"""The sphere: closed forms, the ends of the range, and arrays of any shape."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, CutLocusError, NotOnManifoldError, NotTangentError
from geoduel.manifolds.sphere import fast_unit_tangent

EPS = np.finfo(float).eps
SPHERE = gd.Sphere(4)
RNG = np.random.default_rng


def rotation(n, seed=0):
    q, _ = np.linalg.qr(RNG(seed).standard_normal((n, n)))
    return q


@pytest.mark.parametrize("angle", [0.0, 1e-150, 1e-12, 1e-8, 0.3, math.pi / 2, 3.0, math.pi - 1e-9])
def test_distance_is_the_angle_to_the_last_digits(angle):
    x = np.array([1.0, 0.0, 0.0, 0.0])
    y = np.array([math.cos(angle), math.sin(angle), 0.0, 0.0])
    # The angle of the rounded y is uncertain by half a unit in the last place of each entry.
    assert SPHERE.dist(x, y) == pytest.approx(angle, rel=4e-16, abs=3e-16 if angle > 1 else 0)


@pytest.mark.parametrize("n", [3, 10, 100])
def test_distance_and_logarithm_of_batches_near_far_and_mixed(n):
    """Against the angle in extended precision; |x| and |y| are off 1 by a rounding unit or so."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long double is double here")
    sphere, rng, unit = gd.Sphere(n), RNG(9), EPS
    x = sphere.random_point(rng, (200,))
    u = sphere.unit_tangent(rng, x)
    angles = (1e-9, 0.3, 0.64, 0.65, 1.5, 1.6, 2.4, 2.6, 3.1)
    batches = [np.full(200, a) for a in angles] + [
        np.resize(angles, 200),
        np.resize([0.0, 1.0], 200),
    ]
    for angle in batches:
        y = sphere.exp(x, angle[:, None] * u)
        wide_x, wide_y = x.astype(np.longdouble), y.astype(np.longdouble)
        along = np.vecdot(wide_x, wide_y)
        chord = wide_y - np.sign(along)[:, None] * wide_x  # whose radial part counts for nothing
        x2 = np.vecdot(wide_x, wide_x)
        aside = chord - (np.vecdot(chord, wide_x) / x2)[:, None] * wide_x
        exact = np.arctan2(np.sqrt(np.vecdot(aside, aside)), along / np.sqrt(x2))
        distance = sphere.dist(x, y)
        assert np.all(abs(distance - exact) <= 8 * unit * np.minimum(exact, 1))
        one_by_one = [sphere.dist(a, b) for a, b in zip(x, y, strict=True)]
        np.testing.assert_allclose(one_by_one, distance, rtol=8 * unit)
        v = sphere.log(x, y)
        np.testing.assert_allclose(sphere.norm(x, v), distance, rtol=1e-14, atol=6e-16)
        tolerance = 8 * unit * max(1, float(np.max(angle)) / math.sin(np.max(angle)))
        np.testing.assert_allclose(v, angle[:, None] * u, rtol=0, atol=tolerance)


def test_distance_of_a_point_to_itself_is_zero():
    x = SPHERE.random_point(RNG(0), (1000,))
    assert np.all(SPHERE.dist(x, x) == 0)


def test_rotations_are_isometries():
    q, x, y = rotation(4), SPHERE.random_point(RNG(1)), SPHERE.random_point(RNG(2))
    v = SPHERE.log(x, y)
    assert SPHERE.dist(x @ q, y @ q) == pytest.approx(SPHERE.dist(x, y), rel=1e-14)
    np.testing.assert_allclose(SPHERE.log(x @ q, y @ q), v @ q, atol=1e-14)
    np.testing.assert_allclose(
        SPHERE.transport_along(x @ q, v @ q, v @ q), SPHERE.transport_along(x, v, v) @ q, atol=1e-14
    )


def test_area_of_a_triangle_turns_a_transported_vector():
    """Around an octant of S² (area π/2) a tangent vector turns by π/2 (Gauss-Bonnet)."""
    sphere = gd.Sphere(3)
    a, b, c = np.eye(3)
    v = b.copy()  # tangent at a, along the way to b
    turned = sphere.transport(c, a, sphere.transport(b, c, sphere.transport(a, b, v)))
    np.testing.assert_allclose(turned, c, atol=1e-15)


def test_transport_along_a_vector_whose_square_overflows():
    """A turn in the plane of x and v, by an angle that float64 holds although its square is inf."""
    x, v = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, 1e200, 0.0, 0.0])
    for w, turned in [
        (v / 1e200, [-math.sin(1e200), math.cos(1e200), 0.0, 0.0]),
        (np.array([0.0, 0.0, 1.0, 0.0]), [0.0, 0.0, 1.0, 0.0]),
    ]:
        np.testing.assert_allclose(SPHERE.transport_along(x, v, w), turned, atol=4 * EPS)


def test_tangent_parts_are_orthogonal_to_points_that_are_off_by_rounding():
    """<x, a - <x, a> x / <x, x>> = 0 for x of any length, so that no step adds to an excess."""
    x = (1 + 1e-7) * SPHERE.random_point(RNG(0))
    a = 1e6 * x
    assert abs(x @ SPHERE.to_tangent(x, a)) <= 8 * EPS * 1e6


def test_log_at_the_antipode():
    x = SPHERE.random_point(RNG(0))
    with pytest.raises(CutLocusError, match="cut locus"):
        SPHERE.log(x, -x)
    assert SPHERE.dist(x, -x) == math.pi
    batch = SPHERE.log(np.stack([x, x]), np.stack([-x, x]))
    assert np.isnan(batch[0]).all()
    assert np.array_equal(batch[1], np.zeros(4))


def test_exp_wraps_around():
    x = SPHERE.random_point(RNG(3))
    v = 2 * math.pi * SPHERE.unit_tangent(RNG(4), x)
    np.testing.assert_allclose(SPHERE.exp(x, v), x, atol=2e-15)


def test_one_pair_of_vectors_goes_the_way_of_a_batch():
    """Single vectors have their own text, for speed: up to rounding it says the same."""
    tol = 4e-15  # an angle of 9 rounded to half a unit, twice, and three roundings of the sum
    x = SPHERE.random_point(RNG(1))
    for length in (0.0, 1e-9, 0.7, 9.0):
        v = length * SPHERE.unit_tangent(RNG(2), x)
        many, times = SPHERE.geodesic(x[None], v[None]), np.array([0.0, 0.5, -1.0, 1.0])
        expected = many(times)
        one = SPHERE.geodesic(x, v)
        np.testing.assert_allclose(one(times), expected, rtol=0, atol=tol)
        singles = [one(0), one(np.float64(0.5)), one(np.array(-1)), one(1)]
        np.testing.assert_allclose(singles, expected, rtol=0, atol=tol)
        np.testing.assert_array_equal(one(0.0), x)
        pair = [SPHERE.exp(x, v), *SPHERE.exp_pair(x, v)]
        np.testing.assert_allclose(pair, expected[[3, 3, 2]], rtol=0, atol=tol)
    speed = SPHERE.random_geodesic(RNG(3), x)
    assert SPHERE.dist(x, speed(0.4)) == pytest.approx(0.4, rel=1e-14)
    np.testing.assert_allclose(speed(np.array([0.4, 0.4]))[1], speed(0.4), rtol=0, atol=tol)


@pytest.mark.parametrize("reach", [1e-300, 1e-9, 0.1, 1.0, math.pi, 7.0, 1e3])
def test_exp_of_many_points_is_right_to_rounding(reach):
    """Also half turns, exactly."""
    x = SPHERE.random_point(RNG(5), (2000,))
    t = np.concatenate([reach * RNG(6).random(1990), math.pi * np.arange(10) / 2])
    v = t[:, None] * SPHERE.unit_tangent(RNG(7), x)
    speed = np.sqrt(np.sum(v * v, axis=1, keepdims=True))
    # The angle is rounded a few times, the numbers and their sum as well.
    tol = {"rtol": 0, "atol": 8 * EPS * max(1, reach)}
    c, s = np.cos(speed) * x, np.sin(speed) * v / np.where(speed == 0, 1, speed)
    np.testing.assert_allclose(SPHERE.exp(x, v), c + s, **tol)
    np.testing.assert_allclose(SPHERE.exp_pair(x, v), [c + s, c - s], **tol)


def test_images_are_points_of_one_sphere():
    flat, images = gd.Sphere(24), gd.Sphere(2, 3, 4)
    x = images.random_point(RNG(0), (5,))
    v = images.unit_tangent(RNG(1), x)
    assert images.dim == flat.dim == 23
    assert x.shape == (5, 2, 3, 4)
    for a, b in [
        (images.exp(x, v), flat.exp(x.reshape(5, 24), v.reshape(5, 24))),
        (
            images.from_coords(x, v.reshape(5, 24)[:, 1:]),
            flat.from_coords(x.reshape(5, 24), v.reshape(5, 24)[:, 1:]),
        ),
    ]:
        np.testing.assert_allclose(a.reshape(5, 24), b, atol=1e-15)


def test_a_start_and_a_direction_from_the_same_seed():
    """The first direction must not be the Gaussian that the point was made of."""
    for seed in range(20):
        x = SPHERE.random_point(RNG(seed))
        u = SPHERE.unit_tangent(RNG(seed), x)
        assert abs(x @ u) < 1e-14
        assert u @ u == pytest.approx(1, rel=1e-14)


def test_rounding_does_not_drift_off_the_sphere():
    x, rng = SPHERE.random_point(RNG(0)), RNG(1)
    for _ in range(20_000):
        x = SPHERE.exp(x, 0.1 * SPHERE.unit_tangent(rng, x))
    assert abs(np.linalg.norm(x) - 1) < 1e-15


def test_huge_and_tiny_arrays_have_a_direction():
    for scale in (1e-200, 1.0, 1e200):
        x = SPHERE.to_manifold(scale * np.array([3.0, 0.0, 4.0, 0.0]))
        np.testing.assert_allclose(x, [0.6, 0, 0.8, 0], atol=1e-16)
    for bad in (np.zeros(4), np.full(4, np.nan)):
        with pytest.raises(NotOnManifoldError, match="no direction"):
            SPHERE.to_manifold(bad)


def test_a_vector_of_another_length_is_refused():
    x, v = np.array([1.0, 0.0, 0.0]), np.zeros(5)
    for operation in (SPHERE.exp, SPHERE.exp_pair, SPHERE.dist, SPHERE.log):
        with pytest.raises(ValueError, match=r"^x has shape \(3,\), expected"):
            operation(x, v)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2.5,), (-3,), ("3",), (True, 3)])
def test_a_sphere_needs_a_shape(shape):
    with pytest.raises(ArgumentError, match="Sphere"):
        gd.Sphere(*shape)


def test_checks_name_what_is_wrong():
    x = SPHERE.random_point(RNG(0))
    SPHERE.check_point(x)
    SPHERE.check_tangent(x, SPHERE.unit_tangent(RNG(1), x))
    with pytest.raises(NotOnManifoldError, match=r"\| \|x\| - 1 \| is 0.5"):
        SPHERE.check_point(1.5 * x)
    with pytest.raises(NotTangentError, match=r"<x, v>"):
        SPHERE.check_tangent(x, x)
    with pytest.raises(ArgumentError, match=r"start has shape \(3,\), expected \(\.\.\., 4\)"):
        SPHERE.check_point(np.ones(3), "start")


def test_equal_spheres_are_equal():
    assert gd.Sphere(4) == SPHERE
    assert hash(gd.Sphere(4)) == hash(SPHERE)
    assert gd.Sphere(5) != SPHERE
    assert repr(gd.Sphere(3, 32)) == "Sphere(3, 32)"


def test_random_geodesics_go_where_unit_tangents_of_a_subclass_do():
    class Flat(gd.Sphere):
        def unit_tangent(self, rng, x, batch=()):
            u = np.zeros((*batch, *x.shape))
            u[..., 1] = 1.0
            return u

    north = np.array([1.0, 0, 0])
    for x in (north, np.stack([north, north])):
        walk = Flat(3).random_geodesic(np.random.default_rng(0), x)
        np.testing.assert_allclose(walk(0.3)[..., 1], np.sin(0.3), rtol=1e-15)


@pytest.mark.parametrize("along", [1.0, -1.0])
@pytest.mark.parametrize("across", [1e-9, -0.1, 10.0])
@pytest.mark.parametrize("n", [2, 5])
def test_a_direction_is_across_however_near_to_the_point_it_was_drawn(n, along, across):
    """Where the part across is small, the rounding of the part along would be left in it."""
    x, e = np.linalg.qr(np.random.default_rng(3).standard_normal((n, 2)))[0].T
    x *= 1.001  # as rounding may leave it

    class Drawn:
        def standard_normal(self, size):
            return along * x + across * e

    u, x2 = fast_unit_tangent(Drawn(), x)
    assert x2 == pytest.approx(1.001**2)
    assert abs(u @ x) < 2e-16
    np.testing.assert_allclose(u, np.sign(across) * e, atol=1e-15 + 1e-15 / abs(across))


def test_the_basis_is_that_of_both_zeros():
    """Of a last entry +0 and -0; one vector of coordinates serves several points."""
    plus, minus = np.array([0.6, 0.8, 0.0]), np.array([0.6, 0.8, -0.0])
    c = np.array([0.3, -0.2])
    each = gd.Sphere(3).from_coords(np.stack([plus, minus, -plus]), c)
    np.testing.assert_array_equal(each[0], each[1])
    for x, v in zip((plus, minus, -plus), each, strict=True):
        np.testing.assert_allclose(v, gd.Sphere(3).from_coords(x, c), rtol=1e-15)
