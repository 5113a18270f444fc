"""Comparison-GDE and its descent: accuracy, duels, and the rate of the theorem."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.frame import Frame
from geoduel.methods.rivals.comparison_ngd import ComparisonNGD, direction


def found(gradient, accuracy):
    """Direction from duels of a linear function, and how many there were."""
    d = len(gradient)
    duels, answer, count = (
        direction(gd.Euclidean(d), Frame(np.zeros(d), np.eye(d)), 1e-3, accuracy), None, 0,
    )  # fmt: skip
    try:
        while True:
            x, y = duels.send(answer)
            answer, count = np.sign((x - y) @ gradient), count + len(x)
    except StopIteration as done:
        return done.value, count


@pytest.mark.parametrize("accuracy", [0.5, 1 / 6, 1e-3])
@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_the_direction_is_as_accurate_as_wanted(d, accuracy):
    for seed in range(5):
        gradient = np.random.default_rng(seed).standard_normal(d)
        g, count = found(gradient, accuracy)
        assert np.linalg.norm(g - gradient / np.linalg.norm(gradient)) <= accuracy
        assert count == ComparisonNGD(accuracy=accuracy).duels_per_iteration(d) - 1


def test_a_gradient_along_an_axis_is_found():
    g, _ = found(np.array([0.0, 0.0, -2.0]), 0.1)
    assert np.linalg.norm(g - [0, 0, -1]) <= 0.1


@pytest.mark.parametrize("budget", [1000, 4000])
def test_the_best_gap_is_below_the_bound(bowl, budget):
    """Steps η = R √(2/T) come within 3R/√(8T) of a level set of f*, so the gap is < LR²/T."""
    f, d = bowl(5, 4), 5
    R = np.linalg.norm(f.x0)
    T = budget // ComparisonNGD().duels_per_iteration(d)
    result, rows = f.run("comparison-ngd", budget, distance=R)
    assert result.iterations == T
    assert rows[-1, 2] <= f.L * R**2 / T
    assert (np.diff(rows[:, 2]) <= 0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"accuracy": 2.0}, "accuracy must be at most 1"),
        ({"distance": 0.0}, "distance must be"),
        ({"radius": 0.0}, "radius must be"),
    ],
)
def test_bad_settings_are_named(options, words):
    with pytest.raises(ArgumentError, match=words):
        ComparisonNGD(**options)


def test_the_step_is_planned():
    with pytest.raises(ArgumentError, match="plans its step"):
        gd.minimize(lambda x, y: 0, gd.Euclidean(2), np.zeros(2), method="comparison-ngd")


@pytest.mark.parametrize(("answer", "kept"), [(-1.0, False), (0.0, True), (1.0, True)])
def test_the_incumbent_goes_only_for_a_better_point(answer, kept):
    plane, rng = gd.Euclidean(1), np.random.default_rng(0)
    method = ComparisonNGD(initial_step=0.5)
    state = method.start(plane, np.zeros(1), rng)
    step = method.step(plane, state, rng)
    next(step)
    step.send(np.ones(1))  # downhill to the left
    with pytest.raises(StopIteration) as end:
        step.send(answer)
    np.testing.assert_allclose(abs(end.value.value.point), 0.5)
    assert bool(end.value.value.best[0] == 0) is kept
