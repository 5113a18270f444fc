"""Problems: gradients, optima, constants, batches, and how noisy their values are."""

from __future__ import annotations

import importlib
import math
import pickle
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.oracles import answers
from geoduel.problems import Karcher, Leveling, Quadratic, Rayleigh, Rosenbrock
from geoduel.problems.karcher import random_spd

torch: Any = importlib.import_module("torch") if find_spec("torch") else None
EPS = np.finfo(float).eps

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


# -- every problem ---------------------------------------------------------------------------------


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


# -- Rayleigh --------------------------------------------------------------------------------------


def test_rayleigh_has_the_paper_s_law():
    """Off the diagonal the entries of A have variance 1/(2n), on it 1/n; mean 0."""
    n = 60
    rng = np.random.default_rng(7)
    A = np.array([Rayleigh.random(n, rng).A for _ in range(20)])
    off = A[:, *np.triu_indices(n, 1)].ravel()
    diagonal = A.diagonal(axis1=1, axis2=2).ravel()
    for sample, variance in ((off, 1 / (2 * n)), (diagonal, 1 / n)):
        assert abs(sample.mean()) < 4 * math.sqrt(variance / sample.size)
        assert abs(sample.var() / variance - 1) < 4 * math.sqrt(2 / sample.size)


def test_rayleigh_eigenpairs():
    problem = Rayleigh.random(30, 8)
    values, vectors = np.linalg.eigh(problem.A)
    assert problem.smoothness == pytest.approx(values[-1] - values[0])
    for value, vector in zip(values, vectors.T, strict=True):
        assert problem.objective(vector) == pytest.approx(-value / 2)
        assert np.linalg.norm(problem.gradient(vector)) < 1e-13
    assert problem.optimum @ problem.x0 > 0


def test_rayleigh_gradient_stays_tangent_off_the_sphere():
    """Otherwise descent leaves the sphere: its error would grow by L/f'' every step."""
    problem = Rayleigh.random(10, 9)
    x = (1 + 1e-6) * problem.x0
    assert abs(x @ problem.gradient(x)) < 1e-15


@pytest.mark.parametrize(
    "A", [np.ones((2, 3)), np.array([[1.0, 1.0], [0.0, 1.0]]), np.diag([1.0, math.nan]), np.ones(3)]
)
def test_wrong_rayleigh_matrix(A):
    with pytest.raises(ArgumentError, match="A must be"):
        Rayleigh(A, np.array([1.0, 0.0]))


def test_rayleigh_start_is_on_the_sphere():
    with pytest.raises(NotOnManifoldError, match="x0"):
        Rayleigh(np.eye(2), np.array([1.0, 1.0]))


# -- Euclidean -------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", [1.0, 1e4])
def test_quadratic_spectrum(condition):
    problem = Quadratic.random(6, condition, 10)
    values = np.linalg.eigvalsh(problem.root.T @ problem.root)
    np.testing.assert_allclose(values, np.geomspace(1, condition, 6), rtol=1e-10)
    assert problem.smoothness == pytest.approx(condition)


# -- Karcher ---------------------------------------------------------------------------------------


def roughness(f, points):
    """Rounding noise of f, from second differences along a line; σ of each value."""
    values = [float(f(p)) for p in points]
    middle = values[len(values) // 2]
    return float(np.std(np.diff([v - middle for v in values], 2)) / math.sqrt(6))


def fine_line(problem, rng, distance):
    """Points 1e-8 apart on a geodesic at a distance from the optimum."""
    manifold = problem.manifold
    x = manifold.exp(problem.optimum, distance * manifold.unit_tangent(rng, problem.optimum))
    walk = manifold.geodesic(x, manifold.unit_tangent(rng, x))
    return [walk(1e-8 * k) for k in range(-60, 61)]


@pytest.mark.parametrize("n", [5, 10])
@pytest.mark.parametrize("distance", [0.0, 1e-3, 0.1])
def test_karcher_is_quiet_near_the_optimum(n, distance):
    """Condition 1e6, and the noise is below a unit in the last place of f, 1.4e-14."""
    problem = Karcher.random(n, rng=np.random.default_rng(11))
    noise = roughness(problem.objective, fine_line(problem, np.random.default_rng(12), distance))
    assert noise <= 1e-14


@pytest.mark.parametrize("n", [5, 10])
def test_karcher_is_quiet_with_log_uniform_eigenvalues(n):
    """Relative to f; eigenvalues of the product leave a hundred times as much."""
    rng = np.random.default_rng(13)
    problem = Karcher.random(n, eigenvalues="log-uniform", rng=rng)
    line = fine_line(problem, rng, 1e-3)
    assert roughness(problem.objective, line) <= 1e-15 * problem.optimal_value

    def naive(x):
        inverse_root = np.linalg.inv(np.linalg.cholesky(problem.matrices))
        values = np.linalg.eigvalsh(inverse_root @ x @ inverse_root.mT)
        return (np.log(values) ** 2).sum() / (2 * len(values))

    assert roughness(naive, line) > 1e-14 * problem.optimal_value


def test_karcher_is_half_the_mean_squared_distance():
    """Against the manifold's own distance, X well and badly conditioned."""
    rng = np.random.default_rng(14)
    problem = Karcher.random(4, m=7, condition=1e6, rng=rng)
    manifold = problem.manifold
    for x in (problem.x0, problem.optimum, problem.matrices[0], np.diag([1.0, 1e3, 1e-3, 1e5])):
        squares = manifold.dist(x, problem.matrices) ** 2
        assert problem.objective(x) == pytest.approx(squares.mean() / 2, rel=1e-10)


def test_karcher_survives_condition_1e12():
    """The products have condition 1e24, where their Cholesky factor does not exist any more."""
    rng = np.random.default_rng(15)
    problem = Karcher.random(4, m=5, condition=1e12, eigenvalues="log-uniform", rng=rng)
    x = random_spd(4, 1e12, "log-uniform", rng)
    squares = problem.manifold.dist(x, problem.matrices) ** 2
    assert problem.objective(x) == pytest.approx(squares.mean() / 2, rel=1e-4)
    assert problem.manifold.norm(problem.optimum, problem.gradient(problem.optimum)) < 1e-9


def test_karcher_reference_values(golden):
    for case in golden("karcher")["cases"]:
        problem = Karcher(np.array(case["inputs"]["A"]))
        expected = case["expected"]
        for value, key in (
            (problem.optimal_value, "f_star"),
            (problem.objective(problem.x0), "f_at_arithmetic_mean"),
        ):
            assert value == pytest.approx(expected[key]["value"], rel=expected[key]["rel_tol"])
        np.testing.assert_allclose(
            problem.x0, expected["arithmetic_mean"]["value"], rtol=0, atol=EPS
        )
        # The inverses lose as many digits as the condition number has.
        condition = np.linalg.cond(problem.matrices).max()
        harmonic = np.array(expected["harmonic_mean"]["value"])
        gap = problem.manifold.dist(problem.harmonic_mean, harmonic)
        assert gap < 64 * EPS * condition
        reference = expected["smoothness_bound_at_arithmetic_mean"]
        assert reference <= problem.smoothness_bound <= 1.05 * reference
        assert 1 <= problem.smoothness <= problem.smoothness_bound


def test_karcher_interval_holds_the_optimum():
    """Harmonic mean ⪯ Karcher mean ⪯ arithmetic mean."""
    problem = Karcher.random(4, m=6, rng=np.random.default_rng(16))
    domain = problem.domain()
    assert bool(domain.contains(problem.optimum))
    assert bool(domain.contains(problem.x0))
    for larger, smaller in (
        (problem.arithmetic_mean, problem.optimum),
        (problem.optimum, problem.harmonic_mean),
    ):
        assert np.linalg.eigvalsh(larger - smaller)[0] > -1e-15


def test_karcher_of_commuting_matrices_is_the_geometric_mean():
    """diag(e², 1) and I: diag(e, 1), where another package once found diag(4.19, ...)."""
    problem = Karcher(np.array([np.diag([math.e**2, 1.0]), np.eye(2)]))
    np.testing.assert_allclose(problem.optimum, np.diag([math.e, 1.0]), rtol=0, atol=1e-14)
    assert problem.optimal_value == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("law", ["uniform", "log-uniform", "toolbox"])
def test_random_spd_has_the_condition(law):
    rng = np.random.default_rng(17)
    for n in (2, 7):
        values = np.linalg.eigvalsh(random_spd(n, 1e4, law, rng))
        assert values[-1] == pytest.approx(1)
        assert values[0] == pytest.approx(1e-4, rel=1e-9)


@pytest.mark.parametrize(("law", "mean"), [("uniform", 0.5), ("log-uniform", (1 - 1e-6) / 13.8155)])
def test_random_spd_inner_eigenvalues(law, mean):
    """Mean of the eigenvalues between the ends: (1 + c)/2 and (1 - c)/log(1/c), c = 1e-6."""
    rng = np.random.default_rng(18)
    inner = np.concatenate(
        [np.linalg.eigvalsh(random_spd(12, 1e6, law, rng))[1:-1] for _ in range(200)]
    )
    assert abs(inner.mean() - mean) < 4 * inner.std() / math.sqrt(inner.size)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n": 1}, "n must be"),
        ({"condition": 1.0}, "condition must be > 1"),
        ({"condition": math.inf}, "condition must be a finite"),
        ({"eigenvalues": "gamma"}, "eigenvalues must be one of"),
        ({"m": 0}, "m must be"),
    ],
)
def test_wrong_random_karcher(settings, words):
    with pytest.raises(ArgumentError, match=words):
        Karcher.random(**({"n": 3, "rng": 0} | settings))


def test_wrong_matrices():
    with pytest.raises(ArgumentError, match="shape"):
        Karcher(np.eye(3))
    with pytest.raises(NotOnManifoldError, match="matrices"):
        Karcher(np.array([np.eye(2), np.diag([1.0, -1.0])]))
    with pytest.raises(NotOnManifoldError, match="x0"):
        Karcher(np.array([np.eye(2)]), -np.eye(2))


# -- levelling -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tilt", [-170.0, -38.0, 9.0, 20.0, 179.0])
def test_leveling_is_the_frobenius_norm(tilt):
    """|R R_tilt - I|² of the paper's text, and four times less from its code near the optimum."""
    problem, angle = Leveling.degrees(tilt), Leveling.degrees(tilt, "angle")
    plane = problem.manifold
    rng = np.random.default_rng(19)
    for x in plane.random_point(rng, (20,)):
        rest = x @ plane.from_angle(math.radians(tilt)) - np.eye(2)
        assert problem.objective(x) == pytest.approx((rest**2).sum(), abs=32 * EPS)
    close = plane.from_angle(1e-4 - math.radians(tilt))
    assert problem.objective(close) / angle.objective(close) == pytest.approx(4, rel=1e-6)
    assert math.degrees(problem.residual_angle(problem.x0)) == pytest.approx(tilt)


def test_both_losses_order_rotations_alike():
    points = Leveling(0.3).manifold.random_point(np.random.default_rng(20), (2, 500))
    one, two = Leveling(0.3), Leveling(0.3, "angle")
    np.testing.assert_array_equal(
        np.sign(one.objective(points[0]) - one.objective(points[1])),
        np.sign(two.objective(points[0]) - two.objective(points[1])),
    )


def test_wrong_leveling():
    with pytest.raises(ArgumentError, match="loss must be one of"):
        Leveling(0.1, "squared")
    with pytest.raises(ArgumentError, match="tilt must be"):
        Leveling(math.nan)
