"""The set decides before the oracle is asked."""

from __future__ import annotations

import numpy as np
import pytest
from samples.duels import needs_torch, square, torch

from geoduel import Ball, Euclidean
from geoduel.domains import feasible_first
from geoduel.domains.feasibility import let_in
from geoduel.oracles import answers, from_objective


@pytest.mark.parametrize(
    "kind", [np.asarray, pytest.param(lambda a: torch.asarray(a), marks=needs_torch)]
)
def test_the_set_decides_before_the_oracle_is_asked(kind):
    disc = Ball(Euclidean(2), np.zeros(2), 2.0)
    x = kind(np.array([[3.0, 0.0], [1.0, 0.0], [4.0, 0.0], [3.0, 0.0], [0.5, 0.0]]))
    y = kind(np.array([[1.0, 0.0], [3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [1.0, 0.0]]))
    asked = []

    def ask(a, b):
        asked.append((np.asarray(a), np.asarray(b)))
        return answers(from_objective(square, vectorized=True), a, b, 1)

    got = feasible_first(disc, x, y, 1, ask)
    assert type(got) is type(x)
    # Infeasible loses, so does the larger violation; equal ones tie; only feasible pairs are asked.
    assert got.tolist() == [1, -1, 1, 0, -1]
    assert len(asked) == 1
    np.testing.assert_array_equal(asked[0], [[[0.5, 0.0]], [[1.0, 0.0]]])
    assert feasible_first(disc, x[0], y[0], 1, ask) == 1
    assert feasible_first(disc, x[4], y[4], 1, ask) == -1


@pytest.mark.parametrize(
    "kind", [np.asarray, pytest.param(lambda a: torch.asarray(a), marks=needs_torch)]
)
def test_points_that_only_the_tolerance_lets_in_are_led_inside(kind):
    disc = Ball(Euclidean(2), np.zeros(2), 2.0)
    points = np.array([[1.0, 1.0], [0.0, 2 + 1e-8], [2.0, 0.0], [3.0, 0.0], [np.nan, 0.0]])
    got = let_in(disc, kind(points), 1)
    assert type(got) is type(kind(points))
    for i in (0, 2, 3, 4):
        np.testing.assert_array_equal(np.asarray(got[i]), points[i])
        np.testing.assert_array_equal(np.asarray(let_in(disc, kind(points[i]), 1)), points[i])
    for near in (got[1], let_in(disc, kind(points[1]), 1)):
        np.testing.assert_allclose(np.asarray(near), [0.0, 2.0], rtol=1e-13)
        assert disc.violation(near) == 0
