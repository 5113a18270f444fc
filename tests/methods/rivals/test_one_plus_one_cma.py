"""(1+1)-CMA-ES: the covariance, and that lopsided quadratics become like spheres."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.descent.covariance import CholeskyFactor
from geoduel.methods.rivals.one_plus_one_cma import OnePlusOneCMA


@pytest.mark.parametrize("success", [0.1, 0.9])
def test_the_factor_of_a_rank_one_update(success):
    """A Aᵀ = (1-c) A Aᵀ + c p pᵀ, and the inverse is one."""
    rng, d = np.random.default_rng(0), 4
    factor = CholeskyFactor.identity(d)._replace(path=rng.standard_normal(d))
    for _ in range(5):
        old, step = factor, factor.A @ rng.standard_normal(d)
        factor = factor.learn(step, success)
        fade, rate = 2 / (d + 2), 2 / (d * d + 6)
        keep = 1 - rate + (rate * fade * (2 - fade) if success > 0.44 else 0)
        path = (1 - fade) * old.path + (success < 0.44) * np.sqrt(fade * (2 - fade)) * step
        np.testing.assert_allclose(factor.path, path)
        wanted = keep * old.A @ old.A.T + rate * np.outer(factor.path, factor.path)
        np.testing.assert_allclose(factor.A @ factor.A.T, wanted, atol=1e-12)
        np.testing.assert_allclose(factor.A @ factor.inverse, np.eye(d), atol=1e-12)


@pytest.mark.parametrize(("answer", "won"), [(-1.0, 1), (0.0, 1), (1.0, 0)])
def test_a_point_that_is_not_worse_wins(answer, won):
    """p = (11 p + won)/12 from 2/11, and σ grows by exp((p - 2/11)/(1 - 2/11)/(1 + d/2))."""
    plane, method = gd.Euclidean(4), OnePlusOneCMA(initial_step=1.0)
    state = method.start(plane, np.zeros(4), np.random.default_rng(0))
    assert (state.sigma, state.success) == (0.5, 2 / 11)
    step = method.step(plane, state, np.random.default_rng(1))
    y, x = next(step)
    np.testing.assert_allclose(y - x, 0.5 * np.random.default_rng(1).standard_normal(4))
    with pytest.raises(StopIteration) as end:
        step.send(answer)
    after, p = end.value.value, (11 * 2 / 11 + won) / 12
    assert after.success == pytest.approx(p)
    assert after.sigma == pytest.approx(0.5 * np.exp((p - 2 / 11) / (9 / 11) / 3))
    np.testing.assert_allclose(after.point, y if won else x)
    assert bool(np.any(after.factor.path)) == bool(won)


def test_a_lopsided_quadratic_ends_as_fast_as_a_sphere_function(bowl, slope):
    d = 5
    rates = [
        np.mean([slope(bowl(d, c).run("one-plus-one-cma", 1600, s)[1], 800) for s in range(3)])
        for c in (1.0, 1e3)
    ]
    assert rates[1] > 0.7 * rates[0]
    assert d * rates[0] > 0.15


def test_it_does_not_matter_how_the_axes_lie(bowl):
    ends = []
    for f in (bowl(4, 1e4), bowl(4)._replace(H=np.diag(np.geomspace(1, 1e4, 4)))):
        ends.append(np.median([f.run("one-plus-one-cma", 1500, s)[1][-1, 2] for s in range(3)]))
    assert max(ends) < 1e-9
