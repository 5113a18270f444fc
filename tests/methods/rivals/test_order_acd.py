"""OrderACDM: the bound of the theorem, and that it is an acceleration."""

import math

import numpy as np
import pytest

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
