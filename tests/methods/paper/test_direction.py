"""The estimators h and h̄: their mean, and which duels they ask."""

from __future__ import annotations

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.paper.direction import estimate

RNG = np.random.default_rng


def ask(duels, judge):
    """The pairs asked, and the estimate once ``judge(ahead, behind)`` has answered them."""
    pair = next(duels)
    with pytest.raises(StopIteration) as done:
        duels.send(judge(*pair))
    return pair, done.value.value


def uphill(f):
    return lambda ahead, behind: np.sign(f(ahead) - f(behind))


def height(x):
    """On a sphere, f(exp(νu)) - f(exp(-νu)) = 2 sin ν <e, u> for every ν: no duel is wrong."""
    return x[..., -1]


def log_det(x):
    """Along an affine-invariant geodesic, it is linear: its gradient at X is X, of length √n."""
    return np.linalg.slogdet(x)[1]


def problem(name):
    """A manifold, f, a point of it, and the unit gradient of f there."""
    if name == "spd":
        x = np.diag([100.0, 1.0])
        return gd.SPD(2), log_det, x, x / math.sqrt(2)
    n = int(name.removeprefix("sphere in R^"))
    return gd.Sphere(n), height, np.eye(n)[0], np.eye(n)[-1]


@pytest.mark.parametrize("name", ["sphere in R^2", "sphere in R^3", "sphere in R^8", "spd"])
def test_the_mean_is_the_unit_gradient_times_its_constant(name):
    """E h = v/|v| · Γ(d/2) / (√π Γ((d+1)/2)), from 100,000 duels."""
    manifold, f, x, ascent = problem(name)
    batch, d = 100_000, manifold.dim
    _, h = ask(estimate(manifold, RNG(0), x, 0.5, batch), uphill(f))
    constant = math.gamma(d / 2) / (math.sqrt(math.pi) * math.gamma((d + 1) / 2))
    # E|h|² = 1, so that |h̄ - E h|² is (1 - constant²) / batch on average.
    error = manifold.norm(x, h - constant * ascent)
    assert error <= 3 * math.sqrt((1 - constant**2) / batch) + 1e-12


@pytest.mark.parametrize("manifold", [gd.Sphere(4), gd.SPD(3), gd.Hyperbolic(2)], ids=repr)
@pytest.mark.parametrize("batch", [1, 5])
def test_duels_are_across_the_point(manifold, batch):
    x, radius, lead = manifold.random_point(RNG(1)), 0.3, () if batch == 1 else (batch,)
    duels = estimate(manifold, RNG(2), x, radius, batch)
    (ahead, behind), h = ask(duels, lambda *_: np.ones(lead))
    assert ahead.shape == behind.shape == lead + manifold.point_shape
    np.testing.assert_allclose(manifold.dist(x, ahead), radius, rtol=1e-9)
    np.testing.assert_allclose(manifold.dist(x, behind), radius, rtol=1e-9)
    np.testing.assert_allclose(manifold.dist(ahead, behind), 2 * radius, rtol=1e-9)
    # Where all are won ahead, the estimate is the mean of the directions.
    u = manifold.log(x, ahead) / radius
    np.testing.assert_allclose(h, u if batch == 1 else u.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("batch", [1, 6])
def test_answers_weigh_the_directions(batch):
    manifold, x = gd.Sphere(3), np.eye(3)[0]
    f = uphill(height)

    def h(judge):
        return ask(estimate(manifold, RNG(3), x, 0.1, batch), judge)[1]

    np.testing.assert_array_equal(h(lambda a, b: -f(a, b)), -h(f))
    np.testing.assert_array_equal(h(lambda a, b: 0 * f(a, b)), 0)  # ties
    assert manifold.norm(x, h(f)) <= 1 + 1e-12
    assert (manifold.norm(x, h(f)) == pytest.approx(1)) == (batch == 1)


def test_leading_axes_are_problems_of_their_own():
    manifold, batch = gd.Sphere(3), 4
    x = manifold.random_point(RNG(4), (5,))
    (ahead, behind), h = ask(estimate(manifold, RNG(5), x, 0.1, batch), uphill(height))
    assert ahead.shape == behind.shape == (batch, 5, 3)
    answers = uphill(height)(ahead, behind)
    for i in range(5):
        u = manifold.log(x[i], ahead[:, i]) / 0.1
        np.testing.assert_allclose(h[i], (answers[:, i, None] * u).mean(axis=0), atol=1e-12)
