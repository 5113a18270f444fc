"""STP: two duels an iteration, never upwards, and the rate of its theorem."""

import math

import numpy as np


def test_two_duels_an_iteration_and_never_upwards(bowl):
    result, rows = bowl(5, 10).run("stp", 400)
    assert result.duels == 2 * result.iterations
    assert (np.diff(rows[:, 2]) <= 0).all()


def test_the_least_gradient_is_below_the_bound_of_the_theorem(bowl):
    """μ Σ α_k E|grad f(x_k)| <= f(x_0) + L/2 Σ α_k², with μ = E|<g, s>| for |g| = 1."""
    f, d, step = bowl(8, 20), 8, 0.5
    mu = math.gamma(d / 2) / (math.sqrt(math.pi) * math.gamma((d + 1) / 2))
    for K in (100, 800):
        steps = step / np.sqrt(np.arange(1, K + 1))
        bound = (f(f.x0) + f.L / 2 * np.sum(steps**2)) / (mu * np.sum(steps))
        least = []
        for seed in range(3):
            points = []
            f.run("stp", 2 * K, seed, initial_step=step, monitor=lambda x, p=points: p.append(x))
            least.append(min(np.linalg.norm(f.H @ x) for x in points))
        assert np.mean(least) < bound


def test_the_gap_falls_with_the_square_of_the_steps(bowl):
    """α_k² is 16 times less after 16 times the iterations, and so is the gap, about."""
    f, ratios = bowl(5, 5), []
    for seed in range(4):
        _, rows = f.run("stp", 3200, seed)
        ratios.append(rows[100, 2] / rows[1600, 2])
    assert 16 / 4 < np.exp(np.mean(np.log(ratios))) < 16 * 4
