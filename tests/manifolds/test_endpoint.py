"""The endpoint problem on Stiefel: against matrix exponentials, differences and quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm

from geoduel.manifolds import _endpoint as endpoint
from geoduel.manifolds.stiefel import Stiefel

EPS = np.finfo(float).eps
CANONICAL, EUCLIDEAN = 1, 2
both_metrics = pytest.mark.parametrize("c", [CANONICAL, EUCLIDEAN])
every_shape = pytest.mark.parametrize(("m", "p"), [(3, 2), (4, 2), (5, 3), (6, 3)])


def omega(u, m, p, c):
    """[[cA, -Bᵀ], [B, 0]], entry by entry in the order of the rows."""
    a, count = np.zeros((m, m)), iter(u)
    for i in range(m):
        for j in range(min(i, p)):
            a[i, j] = next(count) * (c if i < p else 1)
    return a - a.T


def end(u, m, p, c):
    """e^Ω [I; 0] e^{(1-c)A}."""
    return expm(omega(u, m, p, c))[:, :p] @ expm((1 - c) * omega(u, m, p, 1)[:p, :p])


def random_u(seed, m, p, batch=()):
    """Coordinates of random vectors, of length 1 at most in either metric."""
    u = np.random.default_rng(seed).standard_normal((*batch, m * p - p * (p + 1) // 2))
    return u / (math.sqrt(2) * np.linalg.norm(u, axis=-1, keepdims=True))


@both_metrics
@every_shape
def test_shortest_finds_the_vector_that_led_to_the_end(m, p, c):
    u = random_u(0, m, p, (5,))
    target = np.stack([end(w, m, p, c) for w in u])
    found = endpoint.shortest(target, c, Stiefel(m, p, "canonical").injectivity_radius)
    np.testing.assert_allclose(found.u, u, rtol=0, atol=100 * EPS)
    assert np.all(found.residual <= endpoint.tolerance(target))
    assert not found.ambiguous.any()


@both_metrics
def test_half_a_turn_either_way_is_ambiguous(c):
    """A = πJ and -πJ both lead to the antipodal frame: the shortest vectors have length π√c."""
    frame = np.eye(4)[:, :2]
    found = endpoint.shortest(np.stack([-frame, frame]), c, 0.5)
    assert found.ambiguous.tolist() == [True, False]
    assert np.all(found.residual <= endpoint.tolerance(frame))
    length = math.sqrt(c * found.u[0, 0] ** 2 + np.sum(found.u[0, 1:] ** 2))
    assert length == pytest.approx(math.pi * math.sqrt(c), rel=1e-9)
    np.testing.assert_array_equal(found.u[1], 0)


def test_what_no_geodesic_reaches_is_missed():
    reflection = np.diag([1.0, 1.0, -1.0])
    found = endpoint.shortest(np.stack([reflection, np.eye(3)]), CANONICAL, 0.5)
    missed = found.residual > endpoint.tolerance(reflection)
    assert missed.tolist() == [True, False]


@both_metrics
@every_shape
def test_the_flow_leads_back_and_its_jacobian_is_that_of_differences(m, p, c):
    u, h = random_u(1, m, p), 1e-5
    flow = endpoint.linearize(u, m, p, c)
    back = flow.back @ end(u, m, p, c) @ flow.turn
    np.testing.assert_allclose(back, np.eye(m)[:, :p], rtol=0, atol=20 * EPS)
    for k, e in enumerate(np.eye(u.size)):
        rise = (end(u + h * e, m, p, c) - end(u - h * e, m, p, c)) / (2 * h)
        moved = endpoint.coordinates(flow.back @ rise @ flow.turn)
        np.testing.assert_allclose(flow.jacobian[:, k], moved, rtol=0, atol=1e-9)


@both_metrics
@every_shape
def test_average_is_the_integral(m, p, c):
    u = random_u(2, m, p)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    powers = [expm((1 + s) / 2 * omega(u, m, p, c)) for s in nodes]
    expected = np.einsum("s,sij->ij", weights / 2, powers)
    np.testing.assert_allclose(endpoint.average(u, m, p, c), expected, rtol=0, atol=20 * EPS)


@pytest.mark.parametrize("c", [CANONICAL, 1.5, EUCLIDEAN])
@every_shape
def test_skew_and_coordinates(m, p, c):
    u = random_u(3, m, p, (2, 3))
    expected = np.stack([omega(w, m, p, c) for w in u.reshape(6, -1)]).reshape(2, 3, m, m)
    np.testing.assert_array_equal(endpoint.skew(u, m, p, c), expected)
    v = endpoint.skew(u, m, p, 1)[..., :p]
    np.testing.assert_array_equal(endpoint.coordinates(v), u)
    v[..., :p, :] += np.ones((p, p))  # a symmetric part does not count
    np.testing.assert_allclose(endpoint.coordinates(v), u, rtol=0, atol=2 * EPS)


def test_combine_is_a_tangent_vector_with_these_coordinates():
    rng, (n, m, p) = np.random.default_rng(4), (7, 4, 2)
    frame = np.linalg.qr(rng.standard_normal((n, m)))[0]
    x, q, u = frame[:, :p], frame[:, p:], random_u(4, m, p)
    v = endpoint.combine(x, q, u)
    Stiefel(n, p).check_tangent(x, v)
    np.testing.assert_allclose(endpoint.coordinates(frame.T @ v), u, rtol=0, atol=4 * EPS)


def test_solve_bears_a_singular_jacobian():
    rng = np.random.default_rng(5)
    jacobian, rest = rng.standard_normal((4, 4)), rng.standard_normal(4)
    expected = np.linalg.solve(jacobian, rest)
    np.testing.assert_allclose(endpoint.solve(jacobian, rest), expected, rtol=1e-10)
    flat = np.diag([2.0, 1.0, 0.0])
    np.testing.assert_allclose(endpoint.solve(flat, np.array([4.0, 3.0, 5.0])), [2.0, 3.0, 0.0])
