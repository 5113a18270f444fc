"""Sets of Euclidean space against general solvers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from samples.sets import POLYTOPES, RNG
from scipy.optimize import minimize as general_solver

import geoduel as gd
from geoduel.domains import L2Ball
from geoduel.errors import ArgumentError


def vertices(domain):
    """All vertices of a small polytope."""
    if isinstance(domain, gd.Box):
        return np.array(list(itertools.product(*zip(domain.lower, domain.upper, strict=True))))
    n = domain.manifold.dim
    if isinstance(domain, gd.L1Ball):
        return domain.center + domain.radius * np.concatenate([np.eye(n), -np.eye(n)])
    return domain.scale * np.eye(n)


@pytest.mark.parametrize("name", POLYTOPES)
def test_polytope_projection_minimiser_and_diameter(name):
    """Everything is decided by the vertices."""
    domain = POLYTOPES[name]
    corners, n, rng = vertices(domain), domain.manifold.dim, RNG(0)
    y, h = 3 * rng.standard_normal((200, n)), rng.standard_normal((200, n))
    p, z = domain.project(y), domain.linear_minimizer(y, h)
    assert np.all(domain.contains(p, 1e-13))
    assert np.all(domain.contains(corners, 1e-13))
    np.testing.assert_allclose(domain.project(p), p, atol=1e-14)
    assert np.max(np.einsum("ki,kji->kj", y - p, corners - p[:, None])) <= 1e-12
    np.testing.assert_allclose(np.sum(h * z, -1), np.min(h @ corners.T, axis=1), atol=1e-13)
    gaps = np.linalg.norm(corners[:, None] - corners, axis=-1)
    assert domain.diameter == pytest.approx(gaps.max(), rel=1e-14)


def test_l1_projection_against_a_general_solver():
    ball = gd.L1Ball(3, 1.0)
    rng = RNG(4)
    for y in 2 * rng.standard_normal((5, 3)):
        # |z|₁ <= 1 with z = a - b, a, b >= 0 is smooth.
        solved = general_solver(
            lambda ab, y=y: np.sum((ab[:3] - ab[3:] - y) ** 2),
            np.full(6, 0.1),
            method="SLSQP",
            bounds=[(0, None)] * 6,
            constraints={"type": "ineq", "fun": lambda ab: 1 - ab.sum()},
            options={"ftol": 1e-15},
        )
        np.testing.assert_allclose(ball.project(y), solved.x[:3] - solved.x[3:], atol=1e-6)


def test_points_inside_stay():
    for domain, y in [
        (gd.L1Ball(2, 1.0), np.array([0.3, -0.2])),
        (POLYTOPES["box"], np.array([0.1, 0.2, 2.0])),
        (L2Ball(2, 1.0), np.array([0.3, -0.2])),
    ]:
        np.testing.assert_array_equal(domain.project(y), y)
        np.testing.assert_array_equal(domain.linear_minimizer(y, np.zeros_like(y)), y)


def test_l2_ball_is_a_ball():
    ball = L2Ball(2, 2.0, center=np.array([1.0, 0.0]))
    assert isinstance(ball, gd.Ball)
    np.testing.assert_allclose(ball.project(np.array([5.0, 0.0])), [3.0, 0.0])
    np.testing.assert_allclose(ball.linear_minimizer(np.ones(2), np.array([0.0, 1.0])), [1.0, -2.0])


def test_box_may_be_unbounded():
    orthant = gd.Box(np.zeros(2), math.inf)
    np.testing.assert_array_equal(orthant.project(np.array([-1.0, 7.0])), [0.0, 7.0])
    assert orthant.contains(np.array([1e9, 0.0]))
    assert orthant.diameter == math.inf
    with pytest.raises(ArgumentError, match="bounded"):
        orthant.linear_minimizer(np.zeros(2), np.ones(2))
    matrices = gd.Box(np.zeros((2, 2)), 1.0)
    assert matrices.manifold == gd.Euclidean(2, 2)
    np.testing.assert_array_equal(matrices.project(np.full((5, 2, 2), 3.0)), np.ones((5, 2, 2)))


def nearest(y, total):
    """The nearest point with entries >= 0 and a sum, in fractions: exact."""
    y, ordered = [*map(Fraction, y)], sorted(map(Fraction, y), reverse=True)
    sums = itertools.accumulate(ordered)
    theta = max((s - total) / k for k, s in enumerate(sums, 1))
    return [max(v - theta, Fraction(0)) for v in y]


@pytest.mark.parametrize("scale", [1.0, 1e9, 1e15, 1e100])
@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_projections_of_points_far_out_are_exact(scale, size):
    """To rounding of the set, however far the point: sums of its entries would lose the set."""
    rng = RNG(5)
    step = max(size, np.spacing(scale))
    for _ in range(20):
        y = scale + step * rng.integers(-3, 4, 6) / 4
        y[rng.integers(6)] *= rng.choice([0.0, -1.0, 0.5])
        exact = [float(v) for v in nearest(y, Fraction(size))]
        z = gd.ProbabilitySimplex(6, size).project(y)
        np.testing.assert_allclose(z, exact, rtol=0, atol=4e-15 * size)
        sign, center = rng.choice([-1.0, 1.0], 6), rng.integers(-8, 9, 6) / 8 * (scale < 1e50)
        offset = [Fraction(a) - Fraction(c) for a, c in zip(sign * y, center, strict=True)]
        if sum(map(abs, offset)) <= Fraction(size):
            continue
        exact = nearest([abs(o) for o in offset], Fraction(size))
        exact = [math.copysign(1, o) * float(v) for o, v in zip(offset, exact, strict=True)]
        z = gd.L1Ball(6, size, center).project(sign * y)
        np.testing.assert_allclose(z - center, exact, rtol=0, atol=4e-15 * max(1.0, size))


def test_points_far_out_in_single_precision_and_torch():
    y = np.array([1e9, 1e9, 3.0], np.float32)
    for point in (y, pytest.importorskip("torch").tensor(y)):
        for domain in (gd.ProbabilitySimplex(3), gd.L1Ball(3, 1.0)):
            assert domain.project(point).tolist() == [0.5, 0.5, 0.0]
