"""Block: duels needed where f is alike in all directions, and that no step goes up."""

import numpy as np
import pytest

import geoduel as gd

MEDIANS = {"karcher": 340, "rotation": 131}


@pytest.mark.parametrize("name", MEDIANS)
def test_duels_to_nine_digits(name, measure):
    assert np.median([measure(name, "block", s) for s in range(3)]) <= 1.3 * MEDIANS[name]


def test_isotropic_quadratic_in_three_times_the_bound():
    """d/2 log2(1e9) duels at least; 2.0 times that was measured."""
    oracle = gd.from_objective(lambda x: np.vecdot(x, x), vectorized=True)
    result = gd.minimize(oracle, gd.Euclidean(10), np.ones(10), method="block", budget=450, rng=0)
    assert result.x @ result.x < 1e-9 * 10


def test_every_accepted_step_goes_down(cases):
    case = cases["quadratic"](0)
    oracle = gd.from_objective(case.objective, vectorized=True)
    values = []
    gd.minimize(
        oracle, case.manifold, case.x0, method="block", budget=1000, rng=0,
        callback=lambda p: values.append(float(case.objective(p.x))),
    )  # fmt: skip
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]
