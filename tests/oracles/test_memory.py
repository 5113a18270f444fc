"""An incumbent is not evaluated again, and no point is taken for another."""

from __future__ import annotations

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR, Spy, square, torch

from geoduel.oracles import answers, from_objective


def test_an_iteration_of_rdngd_costs_three_evaluations():
    """It asks (ahead, behind), then (x, incumbent), whether or not the incumbent changes."""
    f = Spy(square)
    oracle = from_objective(f)
    rng = np.random.default_rng(0)
    best = rng.standard_normal(5)
    oracle(rng.standard_normal(5), best)
    f.points = 0
    for k in range(20):
        oracle(rng.standard_normal(5), rng.standard_normal(5))
        x = rng.standard_normal(5)
        if oracle(x, best) < 0 or k % 3 == 0:
            best = x
    assert f.points == 3 * 20


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("vectorized", [False, True])
def test_a_batch_of_directions_does_not_make_it_forget_the_incumbent(batch, vectorized):
    f = Spy(square)
    oracle = from_objective(f, vectorized=vectorized)
    rng = np.random.default_rng(0)
    best = rng.standard_normal(5)
    oracle.answers(rng.standard_normal(5), best, 1)
    f.points = 0
    for _ in range(10):
        answers(oracle, *rng.standard_normal((2, batch, 5)), 1)
        answers(oracle, rng.standard_normal(5), best, 1)
    assert f.points == 10 * (2 * batch + 1)


def test_one_point_against_a_batch_is_evaluated_once():
    f = Spy(square)
    answers(from_objective(f), BATCH, NEAR, 1)
    assert f.points == 4


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_rows_of_a_batch_that_are_known_are_not_evaluated(kind, vectorized):
    """Each row of the new incumbent is a row of the last iterate or of the old incumbent."""
    if kind == "torch" and torch is None:
        pytest.skip("torch is not installed")
    make = np.asarray if kind == "numpy" else torch.asarray
    f = Spy(square)
    oracle = from_objective(f, vectorized=vectorized)
    rng = np.random.default_rng(1)
    draw = lambda: rng.standard_normal((2, 4, 5))  # noqa: E731
    x, best = draw(), draw()
    answers(oracle, make(x), make(best), 1)
    for _ in range(10):
        f.points = 0
        answers(oracle, make(draw()), make(draw()), 1)
        best = np.where(rng.random((2, 4, 1)) < 0.5, x, best)
        x = draw()
        got = answers(oracle, make(x), make(best), 1)
        np.testing.assert_array_equal(np.asarray(got), np.sign(square(x) - square(best)))
        assert f.points == 3 * 8
    best[0, 0] += 1  # one row that is new: the whole is evaluated
    f.points = 0
    got = answers(oracle, make(x), make(best), 1)
    np.testing.assert_array_equal(np.asarray(got), np.sign(square(x) - square(best)))
    assert f.points == 2 * 8


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("lead", [(), (3,)])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_buffers_may_be_overwritten(vectorized, lead, kind):
    if kind == "torch" and torch is None:
        pytest.skip("torch is not installed")
    oracle = from_objective(square, vectorized=vectorized)
    x, y = np.ones((*lead, 2)), 2 * np.ones((*lead, 2))
    if kind == "torch":
        x, y = torch.asarray(x), torch.asarray(y)
    assert np.all(np.asarray(answers(oracle, x, y, 1)) == -1)
    x *= 3
    assert np.all(np.asarray(answers(oracle, x, y, 1)) == 1)
    y *= 2
    assert np.all(np.asarray(answers(oracle, x, y, 1)) == -1)
    np.asarray(x)[...] = 9  # past torch's own book-keeping
    assert np.all(np.asarray(answers(oracle, x, y, 1)) == 1)


def test_points_of_another_shape_or_kind_are_not_confused():
    oracle = from_objective(lambda x: float(x[0].sum()))
    a = np.arange(6.0)
    assert oracle(a.reshape(2, 3), np.zeros((2, 3))) == 1  # 0 + 1 + 2
    assert oracle(a.reshape(3, 2), np.ones((3, 2))) == -1  # 0 + 1
    if torch is not None:
        assert oracle(torch.asarray(a.reshape(2, 3)), torch.ones(2, 3)) == 0
        assert oracle(torch.ones(2, 3, dtype=torch.bfloat16), torch.zeros(2, 3)) == 1
        assert oracle(a.reshape(3, 2), np.ones((3, 2))) == -1


def test_a_changing_objective_is_asked_each_time():
    f = Spy(square)
    oracle = from_objective(f, cache=False)
    for vectorized in (False, True):
        oracle = from_objective(f, vectorized=vectorized, cache=False)
        f.points = 0
        for _ in range(3):
            answers(oracle, FAR, FAR, 1)
            answers(oracle, BATCH, BATCH, 1)
        assert f.points == 3 * (2 + 6), vectorized
