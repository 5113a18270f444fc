"""Duels that a hidden function decides: which value is smaller, and what f may return."""

from __future__ import annotations

import math
import os
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR, needs_torch, square, torch

import geoduel as gd
from geoduel.errors import BudgetExhaustedError, InfeasibleError, OracleError
from geoduel.oracles import Counted, Noisy, answers, from_objective


@pytest.mark.parametrize("vectorized", [False, True])
def test_answers_say_which_value_is_smaller(vectorized):
    oracle = from_objective(square, vectorized=vectorized)
    assert (oracle(FAR, NEAR), oracle(NEAR, FAR), oracle(NEAR, -NEAR)) == (1, -1, 0)
    assert all(type(oracle(x, NEAR)) is int for x in (FAR, NEAR))


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor])
def test_leading_axes_broadcast(vectorized, executor):
    """A batch is answered as its pairs are, in the dtype of the points."""
    oracle = from_objective(square, vectorized=vectorized)
    x = np.stack([BATCH, BATCH[::-1]]).astype(np.float32)
    y = NEAR.astype(np.float32)
    pool = executor and executor(2)
    got = answers(oracle, x, y, 1, pool)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, [[1, 0, -1], [-1, 0, 1]])
    if pool:
        pool.shutdown()


def test_float32_points_are_compared_by_values_of_full_precision():
    """Rounding the values to the dtype of the points would make a tie of this."""
    oracle = from_objective(lambda x: 1.0 + 1e-12 * float(x[0]))
    x = np.array([[0.0], [1.0]], dtype=np.float32)
    np.testing.assert_array_equal(answers(oracle, x, x[::-1], 1), [-1, 1])


@pytest.mark.parametrize(
    "value", [np.float64(2), np.float32(2), np.array(2.0), 2, np.int64(2), np.array(2)]
)
def test_objectives_may_return_any_kind_of_number(value):
    oracle = from_objective(lambda x: value if x[0] == 1 else 1.0)
    assert oracle(NEAR, FAR) == 1


def test_infeasible_points_lose_and_tie_among_themselves():
    for vectorized in (False, True):
        oracle = from_objective(
            lambda x: np.where(x[..., 0] > 2, np.inf, square(x)), vectorized=vectorized
        )
        assert (oracle(FAR, NEAR), oracle(NEAR, FAR), oracle(FAR, 2 * FAR)) == (1, -1, 0)
        np.testing.assert_array_equal(
            answers(oracle, np.stack([FAR, NEAR]), np.stack([2 * FAR, FAR]), 1), [0, -1]
        )
        noisy = Noisy(oracle, model="thurstone", scale=1e-9, rng=0)
        assert answers(noisy, NEAR, FAR, 1) == -1
        assert {answers(noisy, FAR, 2 * FAR, 1) for _ in range(50)} == {-1, 1}


@needs_torch
@pytest.mark.parametrize("vectorized", [False, True])
def test_torch(vectorized):
    oracle = from_objective(square, vectorized=vectorized)
    x, y = torch.tensor(FAR), torch.tensor(NEAR)
    assert answers(oracle, x, y, 1) == 1
    got = answers(oracle, torch.tensor(BATCH), y, 1)
    assert got.dtype == torch.float64
    assert got.tolist() == [1, 0, -1]
    weight = torch.ones(2, dtype=torch.float64, requires_grad=True)  # as in a network
    network = from_objective(lambda x: (weight * x * x).sum(-1), vectorized=vectorized)
    assert answers(network, x, y, 1) == 1
    assert not answers(network, torch.tensor(BATCH), y, 1).requires_grad
    half = torch.tensor(BATCH).bfloat16()  # which NumPy does not have
    for _ in range(2):
        assert answers(oracle, half, half[1], 1).tolist() == [1, 0, -1]
        assert answers(oracle, half[0], half[1], 1) == 1


@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool", "object"])
@pytest.mark.parametrize("kind", ["numpy", pytest.param("torch", marks=needs_torch)])
def test_vectorized_values_of_any_kind_of_number_have_their_order(kind, dtype):
    """Negatives and differences of unsigned numbers would turn it round."""
    if kind == "torch" and dtype == "object":
        pytest.skip("torch has none")
    high, low = (True, False) if dtype == "bool" else (120, 0 if dtype == "uint8" else -120)
    table = np.array([high, low], dtype=dtype)
    x, y = np.zeros((1, 1)), np.ones((1, 1))
    if kind == "torch":
        table, x, y = torch.tensor(table), torch.tensor(x), torch.tensor(y)

    def f(x):
        return table[x[..., 0].round().astype(int) if kind == "numpy" else x[..., 0].long()]

    smaller, larger = from_objective(f, True), from_objective(f, True, maximize=True)
    noisy = Noisy(from_objective(f, True), model="thurstone", scale=1e-9, rng=0)
    for oracle, right in ((smaller, 1), (larger, -1), (noisy, 1)):
        assert answers(oracle, x, y, 1).tolist() == [right]
        assert answers(oracle, y, x, 1).tolist() == [-right]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "returned nan at array"),
        (-math.inf, "returned -inf"),
        (np.array([1.0, 2.0]), r"shape \(2,\) for one point of shape \(2,\)"),
        (None, "returned NoneType"),
        ("1.0", "returned str"),
        (1j, "returned complex"),
    ],
)
def test_objectives_that_return_no_number(value, words):
    with pytest.raises(OracleError, match=words):
        from_objective(lambda x: value)(NEAR, FAR)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: np.where(x[..., 0] < 1, math.nan, 1.0), "returned nan at 1 of 3 points.*2,"),
        (lambda x: np.where(x[..., 0] < 2, -math.inf, 1.0), "returned -inf at 2 of 3 points.*1,"),
        (lambda x: x, r"shape \(3, 2\) for points of shape \(3, 2\); expected \(3,\)"),
        (lambda x: 1.0, r"shape \(\) for points"),
        (lambda x: np.array(["a"] * 3), "array of numbers"),
        (lambda x: x[..., 0] + 1j, "array of numbers"),
    ],
)
def test_vectorized_objectives_that_return_no_numbers(f, words):
    with pytest.raises(OracleError, match=words):
        answers(from_objective(f, vectorized=True), BATCH, NEAR, 1)


def test_objectives_travel_to_other_processes():
    oracle = from_objective(square)
    oracle(FAR, NEAR)
    copy = pickle.loads(pickle.dumps(oracle))
    assert copy(FAR, NEAR) == 1
    assert len(pickle.dumps(oracle)) < 300  # nothing remembered goes along


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_budget_that_ends_inside_an_objective_is_no_error_of_it(vectorized):
    """An objective may ask a counted oracle itself; a run then ends with what it has found."""
    inner = Counted(from_objective(square), budget=2)

    def height(x):
        return np.asarray(answers(inner, x, NEAR, 1), dtype=float)

    oracle = from_objective(height, vectorized=vectorized)
    assert oracle(FAR, NEAR) == 1
    with pytest.raises(BudgetExhaustedError):
        answers(oracle, BATCH, FAR, 1)


def test_an_executor_that_fails_is_named():
    class Broken(ThreadPoolExecutor):
        def map(self, *args):
            raise OSError("no workers left")

    with Broken(1) as pool:
        for oracle in (from_objective(square), lambda x, y: 1):
            with pytest.raises(OracleError, match="raised OSError: no workers left"):
                answers(oracle, BATCH, NEAR, 1, pool)


@pytest.mark.slow
def test_a_worker_that_dies_is_an_oracles_error():
    with ProcessPoolExecutor(1) as pool, pytest.raises(OracleError, match="BrokenProcessPool"):
        answers(from_objective(os.abort), BATCH, NEAR, 1, pool)


@pytest.mark.slow
def test_process_pools():
    oracle = Counted(from_objective(square))
    with ProcessPoolExecutor(2) as pool:
        np.testing.assert_array_equal(answers(oracle, BATCH, NEAR, 1, pool), [1, 0, -1])
    assert (oracle.duels, oracle.ties) == (3, 1)


# -- points that cannot be -------------------------------------------------------------------------


@pytest.mark.parametrize("maximize", [False, True])
def test_an_infeasible_point_loses_and_two_of_them_tie(maximize):
    def f(x):
        if x[0] < 0:
            raise InfeasibleError("left of zero")
        return x[0]

    oracle = from_objective(f, maximize=maximize)
    inside, outside = np.array([1.0]), np.array([-1.0])
    assert oracle(inside, outside) == -1
    assert oracle(outside, inside) == 1
    assert oracle(outside, 2 * outside) == 0
    batch = answers(oracle, np.array([[1.0], [-1.0], [-1.0]]), np.array([[-1.0], [1.0], [-2.0]]), 1)
    assert batch.tolist() == [-1, 1, 0]


def test_an_unknown_constraint_is_found_by_answers():
    """The least |x - (2, 1)|² with x_0 + x_1 <= 1: at (1, 0)."""

    def f(x):
        if x.sum() > 1:
            raise InfeasibleError("the bridge falls down")
        return (x - [2, 1]) @ (x - [2, 1])

    result = gd.minimize(from_objective(f), gd.Euclidean(2), np.zeros(2), budget=400, rng=0)
    assert result.x.sum() <= 1
    assert f(result.x) < 2.2  # 5 at the start, 2 at the optimum


def test_a_vectorized_objective_returns_infinity_instead():
    def f(x):
        raise InfeasibleError("some of them")

    oracle = from_objective(f, vectorized=True)
    with pytest.raises(OracleError, match="expected an infinite value"):
        answers(oracle, np.ones((2, 1)), np.zeros((2, 1)), 1)
