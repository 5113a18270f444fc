"""Every problem: its gradient, its optimum, its constants, batches, kinds of arrays."""

from __future__ import annotations

import importlib
import math
import pickle
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from geoduel.oracles import answers
from geoduel.problems import Karcher, Leveling, Quadratic, Rayleigh, Rosenbrock
from geoduel.problems.base import PortableArray

torch: Any = importlib.import_module("torch") if find_spec("torch") else None

MAKERS = {
    "rayleigh": lambda rng: Rayleigh.random(8, rng),
    "quadratic": lambda rng: Quadratic.random(5, 1e2, rng),
    "rosenbrock": lambda rng: Rosenbrock.random(4, rng),
    "karcher": lambda rng: Karcher.random(3, m=6, condition=1e3, rng=rng),
    "leveling": lambda rng: Leveling(0.4),
    "leveling-angle": lambda rng: Leveling(-1.2, "angle"),
}


@pytest.fixture(params=MAKERS)
def problem(request):
    return MAKERS[request.param](np.random.default_rng(0))


def near(problem, rng, distance=0.3):
    """A point off the start, where nothing is special."""
    return problem.manifold.exp(
        problem.x0, distance * problem.manifold.unit_tangent(rng, problem.x0)
    )


def test_gradient_is_the_slope_along_geodesics(problem):
    """(f(Exp(t u)) - f(Exp(-t u)))/2t = <grad f, u> + O(t²), in every direction of a basis."""
    rng = np.random.default_rng(1)
    manifold, f = problem.manifold, problem.objective
    x = near(problem, rng)
    gradient = problem.gradient(x)
    manifold.check_tangent(x, gradient)
    t = 1e-4
    for coords in np.eye(manifold.dim):
        u = manifold.from_coords(x, coords)
        slope = (f(manifold.exp(x, t * u)) - f(manifold.exp(x, -t * u))) / (2 * t)
        scale = 1 + abs(f(x)) + float(manifold.norm(x, gradient))
        assert abs(slope - manifold.inner(x, gradient, u)) < 1e-5 * scale


def test_optimum_is_one(problem):
    rng = np.random.default_rng(2)
    manifold, x = problem.manifold, problem.optimum
    manifold.check_point(x)
    assert problem.objective(x) == pytest.approx(problem.optimal_value, abs=1e-14)
    assert float(manifold.norm(x, problem.gradient(x))) < 1e-12
    for distance in (1e-3, 0.1, 1.0):
        u = manifold.unit_tangent(rng, x, (50,))
        assert np.all(problem.objective(manifold.exp(x, distance * u)) > problem.optimal_value)
    assert problem.gap(problem.x0) > 0


def test_smoothness_bounds_second_differences(problem):
    """At the start and at the optimum; reached at one of them where it is a largest eigenvalue."""
    if not math.isfinite(problem.smoothness):
        pytest.skip("not smooth on the whole space, and says so")
    rng = np.random.default_rng(3)
    manifold, f, t = problem.manifold, problem.objective, 1e-3
    steepest = 0.0
    for x in (problem.x0, problem.optimum):
        u = manifold.unit_tangent(rng, x, (500,))
        curvature = (f(manifold.exp(x, t * u)) + f(manifold.exp(x, -t * u)) - 2 * f(x)) / t**2
        steepest = max(steepest, float(curvature.max()))
    assert steepest <= problem.smoothness * (1 + 1e-4)
    assert steepest >= 0.4 * problem.smoothness


def test_leading_axes(problem):
    """Values and gradients of a batch are those of its points."""
    rng = np.random.default_rng(4)
    points = np.stack([np.stack([near(problem, rng) for _ in range(3)]) for _ in range(2)])
    values, gradients = problem.objective(points), problem.gradient(points)
    assert values.shape == (2, 3)
    for i in np.ndindex(2, 3):
        assert values[i] == pytest.approx(problem.objective(points[i]), rel=1e-12)
        np.testing.assert_allclose(gradients[i], problem.gradient(points[i]), rtol=0, atol=1e-10)
    other = near(problem, rng)
    got = answers(problem.oracle(), points, other, len(problem.manifold.point_shape))
    np.testing.assert_array_equal(got, np.sign(values - problem.objective(other)))


def test_float32_and_torch(problem):
    rng = np.random.default_rng(5)
    points = np.stack([near(problem, rng) for _ in range(3)])
    expected = problem.objective(points)
    single = points.astype(np.float32)
    assert problem.objective(single).dtype == np.float32
    assert problem.gradient(single).dtype == np.float32
    np.testing.assert_allclose(problem.objective(single), expected, rtol=1e-4)
    if torch is not None:
        tensor = torch.asarray(points)
        values = problem.objective(tensor)
        assert values.dtype == torch.float64
        np.testing.assert_allclose(values.numpy(), expected, rtol=1e-12)
        np.testing.assert_allclose(
            problem.gradient(tensor).numpy(), problem.gradient(points), rtol=0, atol=1e-10
        )
        tensor.requires_grad_()
        problem.objective(tensor).sum().backward()
        ours = problem.manifold.riemannian_gradient(points, tensor.grad.numpy())
        np.testing.assert_allclose(ours, problem.gradient(points), rtol=0, atol=1e-8)


def test_arguments_are_not_written_to(problem):
    x = np.stack([problem.x0, problem.optimum])
    x.flags.writeable = False
    problem.objective(x)
    problem.gradient(x)


def test_problems_travel_to_other_processes(problem):
    problem.objective(problem.x0.astype(np.float32))
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.objective(copy.x0) == problem.objective(problem.x0)


def test_the_same_seed_gives_the_same_problem():
    for make in MAKERS.values():
        one, two = make(np.random.default_rng(6)), make(np.random.default_rng(6))
        assert one.objective(one.x0) == two.objective(two.x0)


def test_a_portable_array_is_made_once_for_each_kind():
    array = PortableArray(np.arange(3.0))
    single = array.like(np.zeros(1, dtype=np.float32))
    assert single.dtype == np.float32
    assert array.like(np.ones(2, dtype=np.float32)) is single
    assert array.like(np.zeros(1)) is array.array
    if torch is not None:
        tensor = array.like(torch.zeros(1, dtype=torch.float64))
        assert tensor.dtype == torch.float64
        assert array.like(torch.ones(2, dtype=torch.float64)) is tensor
    copy = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(copy.array, array.array)
