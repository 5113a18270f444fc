"""What baselines keep of their iterates: the best one, and a history that stays short."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel.baselines.iterates import Iterates
from geoduel.problems import Quadratic

PROBLEM = Quadratic(np.eye(2), np.zeros(2), np.ones(2))


def followed(points, iterations):
    """The result after these iterates, each of which took two evaluations."""
    run = Iterates(PROBLEM, iterations)
    for k, x in enumerate(np.asarray(points, dtype=float)):
        run.add(x, PROBLEM.objective(x), 2 * k + 1)
    return run.result("iterations")


def test_the_best_iterate_is_kept_beside_the_last():
    result = followed([[2, 0], [0, 1], [3, 0]], 2)
    assert (result.x.tolist(), result.x_last.tolist()) == ([0, 1], [3, 0])
    assert (result.iterations, result.duels, result.ties) == (2, 5, 0)
    assert result.history.monitor == [2.0, 0.5, 0.5]  # gaps of the best so far
    assert result.history.duels == [1, 3, 5]


def test_each_of_several_problems_keeps_its_own_best():
    result = followed([[[2, 0], [0, 1]], [[1, 0], [0, 4]]], 1)
    assert result.x.tolist() == [[1, 0], [0, 1]]
    np.testing.assert_array_equal(result.history.monitor[-1], [0.5, 0.5])


@pytest.mark.parametrize(("iterations", "stride"), [(1000, 1), (1001, 2), (5000, 5)])
def test_about_a_thousand_entries_are_kept_and_the_last(iterations, stride):
    result = followed(np.ones((iterations + 1, 2)), iterations)
    assert result.history.iteration[:2] == [0, stride]
    assert result.history.iteration[-1] == iterations
    assert len(result.history.iteration) == -(-iterations // stride) + 1
