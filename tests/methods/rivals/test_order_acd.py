"""OrderACDM: the bound of the theorem, and that it is an acceleration."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.rivals.order_acd import OrderACD


@pytest.fixture
def chain(bowl):
    """The quadratic of the second differences: condition about (2d/π)²."""
    d = 12
    H = 2 * np.eye(d) - np.eye(d, k=1) - np.eye(d, k=-1)
    return bowl(d)._replace(H=H, x0=np.ones(d))


def test_the_gap_is_below_the_bound_of_the_theorem(chain):
    """f(x_k) <= 2σR²/((1+√σ/2d)^k - (1-√σ/2d)^k)², in the norm of the L_i = H_ii = 2."""
    d, sigma = 12, chain.mu / 2
    square = 2 * chain.x0 @ chain.x0
    rows = [
        chain.run("order-acd", 7000, s, strong_convexity=sigma, accuracy=1e-4)[1] for s in range(3)
    ]
    for k in (50, 150, 250):
        a = math.sqrt(sigma) / (2 * d)
        bound = 2 * sigma * square / ((1 + a) ** k - (1 - a) ** k) ** 2
        assert np.mean([r[k, 2] for r in rows]) <= bound


def stepped(method, space, state, f):
    rng = np.random.default_rng(0)
    step, answer = method.step(space, state, rng), None
    try:
        while True:
            x, y = step.send(answer)
            answer = np.sign(f(x) - f(y))
    except StopIteration as end:
        return end.value


def test_the_sums_solve_the_equation_of_each_step(bowl):
    """a² d² = (A + a)(B + σa), and the points are the sums of the algorithm."""
    method, space, f = OrderACD(strong_convexity=0.3), gd.Euclidean(3), bowl(3, 4.0)
    state = method.start(space, f.x0, np.random.default_rng(0))
    assert (state.A, state.B, state.z.tolist()) == (0, 1, [0, 0, 0])
    i = np.random.default_rng(0).integers(3)
    for _ in range(4):
        before, state = state, stepped(method, space, state, f)
        a, b = state.A - before.A, state.B - before.B
        assert a > 0
        assert b == pytest.approx(0.3 * a)
        assert (3 * a) ** 2 == pytest.approx(state.A * state.B)
        alpha, beta = a / state.A, 0.3 * a / state.B
        x, z = before.point, before.point + before.z
        y = ((1 - alpha) * x + alpha * (1 - beta) * z) / (1 - alpha * beta)
        eta = state.point - y
        np.testing.assert_allclose(np.delete(eta, i), 0, atol=1e-14)
        assert eta[i] != 0
        z = (1 - beta) * z + beta * y + 3 * a / state.B * eta
        np.testing.assert_allclose(state.point + state.z, z)
    large = state._replace(A=1e120 * state.A, B=1e120 * state.B)
    after, scaled = stepped(method, space, state, f), stepped(method, space, large, f)
    np.testing.assert_allclose([scaled.A, scaled.B], [after.A / after.B, 1])  # only ratios matter
    np.testing.assert_allclose(scaled.point, after.point)
    np.testing.assert_allclose(scaled.z, after.z)


@pytest.mark.slow
def test_it_is_faster_than_without_acceleration(chain):
    ends = {
        name: np.median([chain.run(name, 6000, s, **more)[1][-1, 2] for s in range(2)])
        for name, more in {
            "order-cd": {},
            "order-acd": {"strong_convexity": chain.mu / 2},
        }.items()
    }
    assert ends["order-acd"] < 0.1 * ends["order-cd"]


def test_without_strong_convexity_it_converges_as_the_square(chain):
    """f(x_k) <= 2 d² R²/k² for σ = 0."""
    _, rows = chain.run("order-acd", 5000)
    k = np.arange(50, len(rows), 50)
    square = 2 * chain.x0 @ chain.x0  # R², in the norm of the L_i = 2
    assert (rows[k, 2] <= 2 * (12 / k) ** 2 * square).all()


@pytest.mark.parametrize("sigma", [-0.1, 1.1, np.nan])
def test_the_convexity_is_relative(sigma):
    with pytest.raises(ArgumentError, match="strong_convexity must be"):
        OrderACD(strong_convexity=sigma)


def test_one_dimension_is_one_search(bowl):
    _, rows = bowl(1).run("order-acd", 200, strong_convexity=1.0)
    assert rows[-1, 2] < 1e-9
