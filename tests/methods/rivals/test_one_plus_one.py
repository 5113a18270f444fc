"""(1+1)-ES: linear convergence on sphere functions, at the known rate."""

import numpy as np
import pytest


@pytest.mark.parametrize("d", [5, 20])
def test_the_rate_on_sphere_functions(d, bowl, slope):
    """The best possible is 0.405/d nats of f a duel (Rechenberg, d large); 1/5 is near it."""
    rates = [d * slope(bowl(d).run("one-plus-one", 60 * d, seed)[1], 10 * d) for seed in range(3)]
    assert 0.6 * 0.405 < np.mean(rates) < 1.1 * 0.405


def test_one_duel_an_iteration_and_never_upwards(bowl):
    result, rows = bowl(4, 100).run("one-plus-one", 300)
    assert result.duels == result.iterations == 300
    assert (np.diff(rows[:, 2]) <= 0).all()


def test_wrong_first_steps_are_mended(bowl):
    for step in (1e-6, 1e4):
        _, rows = bowl(3).run("one-plus-one", 800, initial_step=step)
        assert rows[-1, 2] < 1e-9
