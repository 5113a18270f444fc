"""Hyperbolic space: Lorentz isometries, the Poincare ball, tiny and large distances."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError, NotOnManifoldError, NotTangentError
from geoduel.manifolds.hyperbolic import Hyperbolic

EPS = np.finfo(float).eps
SPACE = Hyperbolic(4)


def sample(seed, batch=(20,), space=SPACE):
    """Points x, y and tangent vectors v, w at x, at random."""
    rng = np.random.default_rng(seed)
    x, y = space.random_point(rng, batch), space.random_point(rng, batch)
    v, w = (2 * space.unit_tangent(rng, x) for _ in range(2))
    return x, y, v, w


def lorentz(u, v):
    return np.vecdot(u[..., 1:], v[..., 1:]) - u[..., 0] * v[..., 0]


def isometry(seed, n=4):
    """A rotation of space, a boost of rapidity 1.3 along the first axis, a rotation again."""
    rng = np.random.default_rng(seed)
    boost = np.eye(n + 1)
    boost[:2, :2] = [[math.cosh(1.3), math.sinh(1.3)], [math.sinh(1.3), math.cosh(1.3)]]
    turns = []
    for _ in range(2):
        turn = np.eye(n + 1)
        turn[1:, 1:] = np.linalg.qr(rng.standard_normal((n, n)))[0]
        turns.append(turn)
    return turns[0] @ boost @ turns[1]


# -- isometries and second formulas ---------------------------------------------------------------


def test_lorentz_transformations_are_isometries():
    x, y, v, w = sample(0)
    move = isometry(1)
    gx, gy, gv, gw = (a @ move.T for a in (x, y, v, w))
    size = 200 * EPS * np.max(np.abs(gy))
    np.testing.assert_allclose(SPACE.dist(gx, gy), SPACE.dist(x, y), rtol=1e-13)
    np.testing.assert_allclose(SPACE.inner(gx, gv, gw), SPACE.inner(x, v, w), atol=1e-12)
    for moved, expected in [
        (SPACE.exp(gx, gv), SPACE.exp(x, v)),
        (SPACE.log(gx, gy), SPACE.log(x, y)),
        (SPACE.transport(gx, gy, gv), SPACE.transport(x, y, v)),
        (SPACE.transport_along(gx, gv, gw), SPACE.transport_along(x, v, w)),
    ]:
        np.testing.assert_allclose(moved, expected @ move.T, rtol=1e-12, atol=100 * size)


def test_distance_is_arcosh_of_the_lorentz_product():
    x, y, _, _ = sample(2)
    np.testing.assert_allclose(SPACE.dist(x, y), np.arccosh(-lorentz(x, y)), rtol=1e-12)


def test_distance_is_symmetric_to_the_last_bit():
    x, y, _, _ = sample(3)
    np.testing.assert_array_equal(SPACE.dist(x, y), SPACE.dist(y, x))
    x[0], y[1] = SPACE.to_manifold(1e6 * x[0]), SPACE.to_manifold(1e6 * y[1])  # neither is nearer
    np.testing.assert_array_equal(SPACE.dist(x, y), SPACE.dist(y, x))
    one_by_one = [SPACE.dist(a, b) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(SPACE.dist(x, y), one_by_one, rtol=1e-14)


def test_inner_is_the_lorentz_product():
    x, _, v, w = sample(4)
    np.testing.assert_allclose(SPACE.inner(x, v, w), lorentz(v, w), rtol=1e-12, atol=1e-13)


def test_law_of_cosines():
    """cosh c = cosh a cosh b - sinh a sinh b cos γ in every geodesic triangle."""
    x, y, v, _ = sample(5)
    z = SPACE.exp(x, v)
    to_y, to_z = SPACE.log(x, y), SPACE.log(x, z)
    a, b, c = SPACE.dist(x, y), SPACE.dist(x, z), SPACE.dist(y, z)
    cosine = SPACE.inner(x, to_y, to_z) / (a * b)
    expected = np.cosh(a) * np.cosh(b) - np.sinh(a) * np.sinh(b) * cosine
    np.testing.assert_allclose(np.cosh(c), expected, rtol=1e-11)


def test_transport_is_the_ladder_of_reflections():
    """In a symmetric space, reflecting through x and then through the midpoint to y transports."""
    x, y, v, _ = sample(6)
    middle = SPACE.exp(x, SPACE.log(x, y) / 2)

    def reflect(m, a):
        return -a - 2 * lorentz(m, a)[..., None] * m

    expected = reflect(middle, reflect(x, v))
    size = np.max(np.abs(expected))
    np.testing.assert_allclose(SPACE.transport(x, y, v), expected, atol=1e3 * EPS * size)


def test_riemannian_gradient_represents_the_derivative():
    x, _, v, _ = sample(7)
    g = np.random.default_rng(8).standard_normal(x.shape)
    gradient = SPACE.riemannian_gradient(x, g)
    SPACE.check_tangent(x, gradient)
    np.testing.assert_allclose(SPACE.inner(x, gradient, v), np.vecdot(g, v), rtol=1e-10, atol=1e-10)


def test_to_tangent_is_the_lorentz_projection():
    x, _, v, _ = sample(9)
    np.testing.assert_allclose(SPACE.to_tangent(x, v), v, atol=1e-13)
    np.testing.assert_allclose(SPACE.to_tangent(x, v + 3 * x), v, atol=1e-12)


# -- the Poincare ball -----------------------------------------------------------------------------


def test_the_ball_and_back():
    x, _, v, _ = sample(10)
    p, u = SPACE.to_poincare(x), SPACE.to_poincare_tangent(x, v)
    assert p.shape == (20, 4)
    np.testing.assert_allclose(SPACE.from_poincare(p), x, rtol=1e-12)
    np.testing.assert_allclose(SPACE.from_poincare_tangent(p, u), v, rtol=1e-11, atol=1e-11)


def test_poincare_metric_and_distance():
    x, y, v, w = sample(11)
    p, q = SPACE.to_poincare(x), SPACE.to_poincare(y)
    room_p, room_q = 1 - np.vecdot(p, p), 1 - np.vecdot(q, q)
    gap = np.linalg.norm(p - q, axis=-1)
    distance = 2 * np.arcsinh(gap / np.sqrt(room_p * room_q))
    product = 4 * np.vecdot(SPACE.to_poincare_tangent(x, v), SPACE.to_poincare_tangent(x, w))
    np.testing.assert_allclose(SPACE.dist(x, y), distance, rtol=1e-12)
    np.testing.assert_allclose(SPACE.inner(x, v, w), product / room_p**2, rtol=1e-11, atol=1e-12)


def test_pushforward_is_the_derivative_of_the_map():
    torch = pytest.importorskip("torch")
    x, _, v, _ = (torch.as_tensor(a) for a in sample(14))
    _, expected = torch.func.jvp(SPACE.to_poincare, (x,), (v,))
    torch.testing.assert_close(SPACE.to_poincare_tangent(x, v), expected, rtol=1e-12, atol=1e-12)


def test_poincare_reference_values(golden):
    """The published values of the ball, reached through the hyperboloid, in every digit asked."""
    for case in golden("hyperbolic_poincare")["cases"]:
        p, q, u, w = (np.array(case["inputs"][name]) for name in "xyvw")
        space = Hyperbolic(p.size)
        x, y = space.from_poincare(p), space.from_poincare(q)
        v, w = space.from_poincare_tangent(p, u), space.from_poincare_tangent(p, w)
        results = {
            "exp_x_v": space.to_poincare(space.exp(x, v)),
            "log_x_y": space.to_poincare_tangent(x, space.log(x, y)),
            "dist_x_y": space.dist(x, y),
            "transport_x_y_w": space.to_poincare_tangent(y, space.transport(x, y, w)),
            "inner_x_v_w": space.inner(x, v, w),
            "norm_x_v": space.norm(x, v),
        }
        for op, expected in case["expected"].items():
            error = np.max(np.abs(results[op] - np.array(expected["value"])))
            assert error <= expected["tol"], f"{case['id']} {op}: {error:.2g}"


# -- tiny, zero, far ------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1e-300, 1e-150, 1e-12, 1e-8, 1e-3, 1.0, 20.0, 300.0])
def test_distance_from_the_apex_at_every_scale(length):
    apex, along = np.eye(3)[0], np.array([0.0, 0.6, 0.8])
    y = Hyperbolic(2).exp(apex, length * along)
    shown = length if length > 1e-160 else 0.0  # the square underflows
    assert Hyperbolic(2).dist(apex, y) == pytest.approx(shown, rel=8 * EPS)
    np.testing.assert_allclose(Hyperbolic(2).log(apex, y), length * along, rtol=1e-14)


@pytest.mark.parametrize("length", [1e-12, 1e-8, 1e-4])
def test_tiny_distances_off_the_apex_keep_their_digits(length):
    """The spatial differences are exact; only the rounding of y to the grid of floats remains."""
    x, _, v, _ = sample(15)
    v = length * v / SPACE.norm(x, v)[..., None]
    grid = EPS * np.max(np.abs(x), axis=-1)
    error = np.abs(SPACE.dist(x, SPACE.exp(x, v)) - length)
    assert np.all(error <= 4 * grid + 8 * EPS * length)


@pytest.mark.parametrize("radius", [1.0, 5.0, 10.0, 15.0])
@pytest.mark.parametrize("gap", [1e-3, 1.0, 4.0])
def test_neighbours_far_out_on_one_ray(radius, gap):
    """Place is known to eʳ rounding units out there, and no more than that is lost."""
    apex, along = np.eye(3)[0], np.array([0.0, 0.6, 0.8])
    x, y = (Hyperbolic(2).exp(apex, r * along) for r in (radius, radius + gap))
    assert Hyperbolic(2).dist(x, y) == pytest.approx(gap, abs=4 * EPS * math.exp(radius + gap))


def test_opposite_points_far_out():
    apex, along = np.eye(3)[0], np.array([0.0, 0.6, 0.8])
    x, y = (Hyperbolic(2).exp(apex, r * along) for r in (20.0, -20.0))
    assert Hyperbolic(2).dist(x, y) == pytest.approx(40.0, rel=8 * EPS)


@pytest.mark.parametrize(("dtype", "radius"), [(np.float32, 30.0), (np.float64, 300.0)])
def test_the_longest_distances_do_not_overflow(dtype, radius):
    side = math.sinh(radius) * np.array([0.0, 1.0, 0.0, 0.0, 0.0], dtype)
    x, y = SPACE.to_manifold(side), SPACE.to_manifold(-side)
    assert SPACE.dist(x, y) == pytest.approx(2 * radius, rel=1e-6)
    np.testing.assert_allclose(SPACE.dist(x[None], y[None]), 2 * radius, rtol=1e-6)


def test_points_stay_on_the_sheet_and_tangents_tangent_far_out():
    rng = np.random.default_rng(16)
    x, y = SPACE.random_point(rng, (9,)), SPACE.random_point(rng, (9,))
    x = SPACE.exp(x, 12 * SPACE.unit_tangent(rng, x))
    v = SPACE.unit_tangent(rng, x)
    SPACE.check_point(x)
    for point, vector in [(x, v), (x, SPACE.log(x, y)), (y, SPACE.transport(x, y, v))]:
        # Tangent to rounding of the largest product in <x, v>_L.
        size = np.max(np.abs(point), axis=-1) * np.max(np.abs(vector), axis=-1)
        assert np.all(np.abs(lorentz(point, vector)) <= 8 * EPS * size)
    np.testing.assert_allclose(SPACE.norm(x, v), 1, rtol=1e-9)


def test_identical_points():
    x, _, v, _ = sample(17)
    np.testing.assert_array_equal(SPACE.dist(x, x), 0)
    np.testing.assert_array_equal(SPACE.log(x, x), 0)
    np.testing.assert_array_equal(SPACE.exp(x, 0 * v), x)
    np.testing.assert_allclose(SPACE.transport(x, x, v), v, rtol=1e-13, atol=1e-13)


# -- arrays ---------------------------------------------------------------------------------------


def every_operation(space, x, y, v, w, c):
    return {
        "exp": space.exp(x, v),
        "still": space.exp(x, 0 * v),
        "geodesic": space.geodesic(x, v)(-0.5),
        "log": space.log(x, y),
        "dist": space.dist(x, y),
        "inner": space.inner(x, v, w),
        "norm": space.norm(x, v),
        "transport": space.transport(x, y, v),
        "transport_along": space.transport_along(x, v, w),
        "to_coords": space.to_coords(x, v),
        "from_coords": space.from_coords(x, c),
        "to_tangent": space.to_tangent(x, w + x),
        "riemannian_gradient": space.riemannian_gradient(x, y),
        "to_manifold": space.to_manifold(x),
        "to_poincare": space.to_poincare(x),
        "from_poincare": space.from_poincare(space.to_poincare(x)),
        "poincare_tangent": space.from_poincare_tangent(
            space.to_poincare(x), space.to_poincare_tangent(x, v)
        ),
    }


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries_agree_with_numpy(library, batch):
    xp = pytest.importorskip(library)
    arrays = (*sample(18, batch), np.random.default_rng(19).standard_normal((*batch, 4)))
    expected = every_operation(SPACE, *arrays)
    for name, result in every_operation(SPACE, *(xp.asarray(a) for a in arrays)).items():
        assert type(result).__module__.split(".")[0] == library, name
        assert result.dtype == xp.float64, name
        np.testing.assert_allclose(
            np.from_dlpack(result), expected[name], rtol=1e-13, atol=1e-13, err_msg=name
        )
    SPACE.check_point(xp.asarray(arrays[0]))
    SPACE.check_tangent(xp.asarray(arrays[0]), xp.asarray(arrays[2]))


def test_float32_is_kept_and_right():
    x, y, v, w = sample(20)
    single = [a.astype(np.float32) for a in (x, y, v, w)]
    single[0], single[1] = SPACE.to_manifold(single[0]), SPACE.to_manifold(single[1])
    c = np.zeros((20, 4), np.float32)
    expected = every_operation(SPACE, *(a.astype(float) for a in single), c.astype(float))
    for name, result in every_operation(SPACE, *single, c).items():
        assert result.dtype == np.float32, name
        size = np.max(np.abs(expected[name]))
        assert np.max(np.abs(result - expected[name])) <= 1e-4 * size + 1e-6, name


def test_gradients_are_finite_at_identical_points_and_zero_vectors():
    torch = pytest.importorskip("torch")
    x, _, v, _ = (torch.as_tensor(a) for a in sample(21))
    for function in (
        lambda x, y, v: SPACE.dist(x, y).sum(),
        lambda x, y, v: SPACE.log(x, y).sum(),
        lambda x, y, v: SPACE.exp(x, v).sum(),
        lambda x, y, v: SPACE.norm(x, v).sum(),
        lambda x, y, v: SPACE.transport(x, y, v).sum(),
        lambda x, y, v: SPACE.transport_along(x, v, v).sum(),
    ):
        leaves = [a.clone().requires_grad_() for a in (x, x, 0 * v)]
        function(*leaves).backward()
        assert all(a.grad is None or bool(torch.isfinite(a.grad).all()) for a in leaves)


def test_gradient_of_half_the_squared_distance_is_minus_log():
    torch = pytest.importorskip("torch")
    x, y, _, _ = (torch.as_tensor(a) for a in sample(22))
    x.requires_grad_()
    (SPACE.dist(x, y) ** 2 / 2).sum().backward()
    gradient = SPACE.riemannian_gradient(x.detach(), x.grad)
    torch.testing.assert_close(gradient, -SPACE.log(x.detach(), y), rtol=1e-9, atol=1e-9)


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", True])
def test_dimension_must_be_a_positive_integer(n):
    with pytest.raises(ArgumentError, match=r"Hyperbolic n must be an integer >= 1"):
        Hyperbolic(n)


def test_points_off_the_sheet_are_refused():
    x = SPACE.random_point(np.random.default_rng(23))
    with pytest.raises(NotOnManifoldError, match=r"x₀"):
        SPACE.check_point(x * np.array([-1, 1, 1, 1, 1]))  # the lower sheet
    with pytest.raises(NotOnManifoldError, match="not finite"):
        SPACE.to_manifold(x * np.nan)
    with pytest.raises(NotTangentError):
        SPACE.check_tangent(x, x)


def test_points_outside_the_ball_are_refused():
    with pytest.raises(NotOnManifoldError, match=r"open unit ball.* is -?0"):
        SPACE.from_poincare(np.array([1.0, 0.0, 0.0, 0.0]))
    with pytest.raises(ArgumentError, match=r"shape \(3,\), expected \(\.\.\., 4\)"):
        SPACE.from_poincare(np.zeros(3))
