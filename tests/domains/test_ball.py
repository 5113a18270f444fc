"""Balls: projections and least linear forms against golden values and points of the ball."""

import math

import numpy as np
import pytest
from samples.sets import BALLS, RNG, ball_of

import geoduel as gd
from geoduel.errors import ArgumentError, CutLocusError

EPS = np.finfo(float).eps

SPACES = {
    "euclidean": lambda n: gd.Euclidean(n),
    "sphere": lambda n: gd.Sphere(n),
    "hyperbolic": lambda n: gd.Hyperbolic(n - 1),
    "spd": lambda n: gd.SPD(n),
}


def test_balls_match_the_golden_values(golden):
    for case in golden("lmo_projection")["balls"]:
        given = {k: np.array(v) for k, v in case["inputs"].items()}
        space = SPACES[case["kind"]](given["center"].shape[0])
        ball = gd.Ball(space, given["center"], float(given["radius"]))
        want = case["expected"]
        p, z = ball.project(given["y"]), ball.linear_minimizer(given["x"], given["h"])
        got = {
            "projection_of_y": p,
            "dist_to_set_y": space.dist(given["y"], p),
            "lmo_point": z,
            "lmo_value": space.inner(given["x"], given["h"], space.log(given["x"], z)),
        }
        for op, value in got.items():
            np.testing.assert_allclose(
                value, want[op]["value"], rtol=0, atol=want[op]["tol"], err_msg=f"{case['id']} {op}"
            )


@pytest.mark.parametrize("name", BALLS)
def test_ball_projection_is_on_the_way_to_the_centre(name):
    space, ball, center, radius, rng = ball_of(name)
    u = space.unit_tangent(rng, center, (6,))
    far = min(2.0 * radius, 0.9 * space.injectivity_radius)
    y = space.exp(center, np.linspace(0.0, far, 6).reshape(-1, *(1,) * len(space.point_shape)) * u)
    p = ball.project(y)
    np.testing.assert_allclose(
        space.dist(center, p), np.minimum(np.linspace(0.0, far, 6), radius), atol=1e-12
    )
    np.testing.assert_allclose(
        space.dist(center, p) + space.dist(p, y), space.dist(center, y), atol=1e-12
    )
    assert np.all(ball.contains(p, 1e-12))
    np.testing.assert_allclose(ball.project(p), p, atol=1e-12)
    np.testing.assert_array_equal(p[0], y[0])  # inside: not touched
    np.testing.assert_array_equal(ball.project(y[1]), y[1])
    assert ball.diameter == 2 * radius


def boundary(space, center, radius, rng, count):
    u = space.unit_tangent(rng, center, (count,))
    return space.exp(center, radius * u)


@pytest.mark.parametrize("where", ["centre", "near the centre", "inside", "near the edge", "edge"])
@pytest.mark.parametrize("name", BALLS)
def test_ball_minimiser_beats_points_of_the_ball(name, where):
    space, ball, center, radius, rng = ball_of(name, seed=1)
    share = {"centre": 0, "near the centre": 1e-9, "inside": 0.6, "near the edge": 1 - 1e-9}
    x = space.exp(center, share.get(where, 1.0) * radius * space.unit_tangent(rng, center))
    for _ in range(2):
        h = 3 * space.unit_tangent(rng, x)
        z = ball.linear_minimizer(x, h)
        v = space.log(x, z)
        least = space.inner(x, h, v)
        # Each of the products in <h, v> is rounded once; in the hyperboloid's they are large.
        slack = 1e-12 + EPS * float(np.sum(abs(h * v)))
        assert ball.contains(z, 1e-12)
        assert least <= 1e-12  # standing still gives 0
        rivals = boundary(space, center, radius, rng, 400)
        assert least <= np.min(space.inner(x, h, space.log(x, rivals))) + slack
        # and none of its neighbours on the boundary is better: a maximum to the second order
        w = space.log(center, z)
        for size in (1e-2, 1e-4):
            near = w + size * radius * space.unit_tangent(rng, center, (50,))
            length = space.norm(center, near).reshape(-1, *(1,) * len(space.point_shape))
            rivals = space.exp(center, radius * near / length)
            assert least <= np.min(space.inner(x, h, space.log(x, rivals))) + slack


@pytest.mark.parametrize("name", ["plane", "sphere", "wide hyperbolic", "rotations", "torus"])
@pytest.mark.parametrize("sign", [1, -1])
def test_ball_minimiser_along_the_diameter_through_the_point(name, sign):
    """With h along the way to the centre the minimiser is an end of the diameter through x."""
    space, ball, center, radius, rng = ball_of(name, seed=2)
    u = space.unit_tangent(rng, center)
    x = space.exp(center, 0.4 * radius * u)
    h = sign * space.log(x, center)
    np.testing.assert_allclose(
        ball.linear_minimizer(x, h), space.exp(center, sign * radius * u), atol=1e-7
    )


def test_ball_minimiser_of_nothing_is_the_point():
    for name in BALLS:
        space, ball, center, radius, rng = ball_of(name)
        x = space.exp(center, 0.3 * radius * space.unit_tangent(rng, center))
        np.testing.assert_array_equal(ball.linear_minimizer(x, np.zeros_like(x)), x)


def test_numerical_minimiser_agrees_with_the_exact_one():
    """The same ascent as on general manifolds, where the answer is known."""
    for name in ("plane", "sphere", "wide hyperbolic", "rotations", "torus"):
        space, ball, center, radius, rng = ball_of(name, seed=3)
        x = space.exp(center, 0.7 * radius * space.unit_tangent(rng, center))
        h = space.unit_tangent(rng, x)
        exact, found = ball.linear_minimizer(x, h), ball._general(center, x, h)
        assert space.inner(x, h, space.log(x, found)) == pytest.approx(
            space.inner(x, h, space.log(x, exact)), abs=1e-12
        )


@pytest.mark.parametrize("name", ["plane", "hyperbolic", "spd"])
def test_ball_projection_in_hadamard_manifolds(name):
    """Obtuse angles at the projection, and shorter distances."""
    space, ball, center, radius, rng = ball_of(name)
    y = boundary(space, center, 2.5 * radius, rng, 40)
    z = boundary(space, center, radius, rng, 40)
    p = ball.project(y)
    assert np.all(space.inner(p, space.log(p, y), space.log(p, z)) <= 1e-10)
    assert np.all(space.dist(p[::2], p[1::2]) <= space.dist(y[::2], y[1::2]) + 1e-12)


def test_ball_projection_on_the_sphere():
    """It comes closer to points of a small cap, all that the proofs use; pairs may part."""
    sphere = gd.Sphere(3)
    pole = np.array([0.0, 0.0, 1.0])
    rng = RNG(0)
    small = gd.Ball(sphere, pole, math.pi / 4)
    y, z = sphere.random_point(rng, (2000,)), boundary(sphere, pole, math.pi / 4, rng, 2000)
    assert np.all(sphere.dist(small.project(y), z) <= sphere.dist(y, z) + 1e-12)
    a, b = sphere.exp(-pole, 0.1 * np.eye(3)[:2])  # near the antipode, a quarter turn apart
    p, q = small.project(a), small.project(b)
    assert sphere.dist(p, q) > 5 * sphere.dist(a, b)
    with pytest.raises(CutLocusError):
        small.project(-pole)


def test_ball_convexity_follows_curvature():
    pole = np.array([0.0, 0.0, 1.0])
    assert gd.Ball(gd.Sphere(3), pole, 1.57).convex
    wide = gd.Ball(gd.Sphere(3), pole, 1.6)
    assert not wide.convex
    assert wide.contains(np.array([1.0, 0.0, 0.0]))
    with pytest.raises(ArgumentError, match=r"convex ball; radius 1\.6"):
        wide.linear_minimizer(pole, np.array([1.0, 0.0, 0.0]))
    assert gd.Ball(gd.Hyperbolic(2), np.array([1.0, 0.0, 0.0]), 20.0).convex


def test_ball_of_radius_zero_is_its_centre():
    ball = gd.Ball(gd.Euclidean(2), np.ones(2), 0.0)
    np.testing.assert_array_equal(ball.project(np.zeros(2)), np.ones(2))
    np.testing.assert_array_equal(ball.linear_minimizer(np.ones(2), np.ones(2)), np.ones(2))
    assert ball.diameter == 0


def test_gradients_pass_through_a_ball_projection():
    torch = pytest.importorskip("torch")
    ball = gd.Ball(gd.Sphere(3), np.array([0.0, 0.0, 1.0]), 0.5)
    y = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.6, 0.8], [0.0, 0.8, 0.6]], dtype=torch.float64)
    y.requires_grad_()
    ball.project(y).square().sum().backward()
    assert torch.isfinite(y.grad).all()
