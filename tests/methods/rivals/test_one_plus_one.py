"""(1+1)-ES: linear convergence on sphere functions, at the known rate."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.rivals.one_plus_one import OnePlusOne


@pytest.mark.parametrize("d", [5, 20])
def test_the_rate_on_sphere_functions(d, bowl, slope):
    """The best possible is 0.405/d nats of f a duel (Rechenberg, d large); 1/5 is near it."""
    rates = [d * slope(bowl(d).run("one-plus-one", 60 * d, seed)[1], 10 * d) for seed in range(3)]
    assert 0.6 * 0.405 < np.mean(rates) < 1.1 * 0.405


@pytest.mark.parametrize(("answer", "power"), [(-1.0, 1.0), (0.0, 1.0), (1.0, -0.25)])
def test_a_point_that_is_not_worse_wins_and_lengthens_steps(answer, power):
    plane, method = gd.Euclidean(3), OnePlusOne(initial_step=np.sqrt(3))
    state = method.start(plane, np.zeros(3), np.random.default_rng(0))
    step = method.step(plane, state, np.random.default_rng(1))
    y, x = next(step)
    np.testing.assert_allclose(y - x, np.random.default_rng(1).standard_normal(3))
    with pytest.raises(StopIteration) as end:
        step.send(answer)
    after = end.value.value
    np.testing.assert_array_equal(after.point, y if power > 0 else x)
    assert after.sigma == pytest.approx(np.exp(power / 2))


def test_one_duel_an_iteration_and_never_upwards(bowl):
    result, rows = bowl(4, 100).run("one-plus-one", 300)
    assert result.duels == result.iterations == 300
    assert (np.diff(rows[:, 2]) <= 0).all()


def test_wrong_first_steps_are_mended(bowl):
    for step in (1e-6, 1e4):
        _, rows = bowl(3).run("one-plus-one", 800, initial_step=step)
        assert rows[-1, 2] < 1e-9
