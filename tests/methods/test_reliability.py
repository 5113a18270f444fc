"""Whatever the answers, the set and the objective: a run ends in time, where it may, and says why.

The cases are those of ``benchmarks/reliability_methods.py``: some run always, all when slow.
"""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import (
    DivergenceWarning,
    GeoduelWarning,
    NotOnManifoldError,
    OracleError,
    OutOfRangeError,
)

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "reliability_methods.py"
DESCENT = ["duel-newton", "duel-csa", "block"]
METHODS = ("auto", *DESCENT, "rdngd", "rrdngd", "rdfw")
RNG = np.random.default_rng


@pytest.fixture(scope="module")
def matrix() -> Any:
    if not SCRIPT.is_file():
        pytest.skip("no benchmarks beside the tests")
    spec: Any = importlib.util.spec_from_file_location("reliability_methods", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)  # scripts share modules
        spec.loader.exec_module(module)
    return module


def quiet(oracle, manifold, x0, **options) -> gd.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeoduelWarning)
        return gd.minimize(oracle, manifold, x0, **options)


def test_bad_oracles(matrix):
    """A few of thousands of cases, spread over all."""
    rows = map(matrix.row, matrix.cases(1, METHODS, thin=1499))
    assert not [row for row in rows if row.wrong]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_bad_oracles_all(matrix, method):
    assert not [row for row in map(matrix.row, matrix.cases(1, (method,))) if row.wrong]


# -- optima on the boundary of a set ---------------------------------------------------------------

BALLS = {
    "space": gd.Euclidean(2),
    "sphere": gd.Sphere(3),
    "hyperbolic": gd.Hyperbolic(2),
    "hyperbolic, 5": gd.Hyperbolic(5),
    "SPD": gd.SPD(2),
    "SPD, 3": gd.SPD(3),
    "log-Euclidean": gd.SPD(2, metric="log-euclidean"),
    "Bures-Wasserstein": gd.SPD(2, metric="bures-wasserstein"),
    "rotations": gd.Rotations(3),
    "torus": gd.Torus(2),
    "simplex": gd.Simplex(3),
    "Grassmann": gd.Grassmann(3, 1),
    "Stiefel": gd.Stiefel(3, 2),
    "product": gd.Product(gd.Sphere(3), gd.Euclidean(2)),
    "mixed": gd.Product(gd.SPD(2), gd.Hyperbolic(2)),
}


def bounded_run(method, manifold, dtype, seed, budget, radius=0.3):
    """Towards a point outside of a ball, from beside its boundary: the nearest point is known."""
    rng = RNG(seed)
    center = manifold.random_point(rng).astype(dtype)
    out, start = (manifold.unit_tangent(rng, center).astype(dtype) for _ in range(2))
    ball = gd.Ball(manifold, center, radius)
    ideal, nearest = (manifold.exp(center, r * radius * out) for r in (1.5, 1.0))
    result = quiet(
        gd.from_objective(lambda x: float(manifold.dist(x, ideal))),
        manifold,
        ball.project(manifold.exp(center, 0.999 * radius * start)),
        method=method,
        domain=ball,
        budget=budget,
        rng=seed,
    )
    assert float(manifold.dist(center, result.x)) <= dtype(radius)  # as a number of the dtype
    manifold.check_point(result.x)
    return result, float(manifold.dist(result.x, nearest)) / radius


QUICK = ["space", "sphere", "hyperbolic", "SPD", "rotations"]


@pytest.mark.parametrize("method", ["auto", "duel-csa", "block"])
@pytest.mark.parametrize("name", QUICK)
def test_optima_on_the_boundary_of_a_ball(method, name):
    _, error = bounded_run(method, BALLS[name], np.float64, 3, 200 if method == "auto" else 300)
    assert error < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", ["auto", "duel-csa", "block"])
@pytest.mark.parametrize("name", BALLS)
def test_optima_on_the_boundary_of_a_ball_all(method, name, dtype):
    """24 seeds: none hangs or fails; no end at the resolution is far from the optimum."""
    for seed in range(24):
        result, error = bounded_run(method, BALLS[name], dtype, seed, 400)
        assert error < 0.1
        assert result.stop_reason != "resolution" or error < 0.02


@pytest.mark.parametrize("seed", [0, 1])
def test_linear_functions_on_balls_of_curved_spaces(seed):
    """Here runs had no end: exp of steps of 1e36, in a ball of radius 0.3."""
    plane, apex = gd.Hyperbolic(2), np.array([1.0, 0, 0])
    f = gd.from_objective(lambda x: float(x[1] + 0.5 * x[2]))
    x0 = plane.exp(apex, np.array([0, 0.15, 0]))
    result = quiet(f, plane, x0, domain=gd.Ball(plane, apex, 0.3), budget=200, rng=seed)
    assert result.x[1] + 0.5 * result.x[2] == pytest.approx(-np.sinh(0.3) * np.sqrt(1.25), abs=1e-6)


def test_the_least_trace_of_an_interval_is_its_lower_bound():
    interval = gd.SPDInterval(np.eye(2), 3 * np.eye(2))
    f = gd.from_objective(lambda x: float(np.trace(x)))
    result = quiet(f, interval.manifold, 2 * np.eye(2), domain=interval, budget=100, rng=0)
    assert np.trace(result.x) == pytest.approx(2, abs=1e-5)


# -- sets without interior -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", ["auto", "duel-csa", "block"])
@pytest.mark.parametrize("n", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_flat_sets(method, n, dtype):
    """The probability simplex, and a box with a fixed entry: the optimum inside of them."""
    ideal = RNG(n).dirichlet(np.ones(n))
    fixed = np.r_[np.ones(n - 1), 0.0]
    sets = {
        "simplex": (gd.ProbabilitySimplex(n), ideal, np.full(n, 1 / n, dtype)),
        "box": (gd.Box(np.zeros(n), fixed), ideal * fixed, (fixed / 2).astype(dtype)),
    }
    for domain, best, x0 in sets.values():
        f = gd.from_objective(lambda x: float(np.sum((x - best) ** 2)))  # noqa: B023
        result = quiet(f, gd.Euclidean(n), x0, domain=domain, method=method, budget=120 * n, rng=0)
        error = np.linalg.norm(result.x - best)
        assert error < 1e-3
        assert domain.contains(result.x, 1e-6 if dtype == np.float32 else 1e-15)


@pytest.mark.parametrize(
    "method", ["auto", "smoothed", "duel-csa", "block", "rdngd", "rrdngd", "rdfw"]
)
def test_sets_of_one_point(method):
    options = {"method": "auto", "smoothing": 1.0} if method == "smoothed" else {"method": method}
    plane, p = gd.Euclidean(2), np.array([0.3, 0.4])
    sets = [
        gd.Box(p, p),
        gd.Ball(plane, p, 0.0),
        gd.Ball(plane, p, 1e-300),
        gd.Ball(plane, 0 * p, 1e-300),
        gd.Box(0 * p, 1e-300 + 0 * p),
        gd.L1Ball(2, 0.0),
    ]
    for domain in sets:
        x0 = domain.project(np.zeros(2))
        f = gd.from_objective(lambda x: float(x[0]))
        result = quiet(f, plane, x0, domain=domain, budget=300, rng=0, **options)
        assert np.abs(result.x - x0).max() <= 1e-300
        assert domain.contains(result.x, 0.0)


@pytest.mark.parametrize("method", ["auto", "duel-csa", "block"])
def test_only_points_of_a_box_are_asked_to_the_last_bit(method):
    """So a function that ends at the bounds, as a root does, is asked nowhere else."""
    box = gd.Box(np.zeros(3), np.ones(3))
    f = gd.from_objective(lambda x: float(np.sum(np.sqrt(x))))  # NaN outside
    result = quiet(f, box.manifold, np.full(3, 0.5), domain=box, method=method, budget=300, rng=1)
    assert np.array_equal(result.x, np.zeros(3))


# -- objectives without a minimum ------------------------------------------------------------------

ENDLESS = {
    "line": (gd.Euclidean(1), lambda x: float(x[0])),
    "space": (gd.Euclidean(3), lambda x: float(x[0])),
    "square": (gd.Euclidean(3), lambda x: -float(np.dot(x, x))),
    "hyperbolic": (gd.Hyperbolic(2), lambda x: float(x[1])),
    "trace": (gd.SPD(2), lambda x: float(np.trace(x))),
    "-trace": (gd.SPD(3), lambda x: -float(np.trace(x))),
    "condition": (gd.SPD(2), lambda x: -float(np.linalg.cond(x))),
    "Bures-Wasserstein": (
        gd.SPD(2, metric="bures-wasserstein"),
        lambda x: float(np.trace(x)),
    ),
    "log-Euclidean": (
        gd.SPD(2, metric="log-euclidean"),
        lambda x: float(np.linalg.det(x)),
    ),
    "mixed": (gd.Product(gd.SPD(2), gd.Hyperbolic(2)), lambda x: float(x[0])),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", DESCENT)
@pytest.mark.parametrize("name", ENDLESS)
def test_descents_without_end_say_so(method, name, dtype):
    manifold, f = ENDLESS[name]
    asked = []

    def only_points(x):
        manifold.check_point(x)  # an oracle's error would name the method's point
        asked.append(f(x))
        return asked[-1]

    x0 = manifold.random_point(RNG(0)).astype(dtype)
    oracle = gd.from_objective(only_points)
    result = quiet(oracle, manifold, x0, method=method, budget=3000, rng=0)
    assert (result.stop_reason, result.uncertainty) == ("diverges", None)
    manifold.check_point(result.x)
    assert f(result.x) < asked[0]


def test_a_descent_without_end_warns():
    f = gd.from_objective(lambda x: float(np.trace(x)))
    with pytest.warns(DivergenceWarning, match="nothing stopped the descent"):
        result = gd.minimize(f, gd.SPD(2), np.eye(2), budget=3000, rng=0)
    assert result.stop_reason == "diverges"


@pytest.mark.parametrize("method", ["duel-newton", "duel-csa"])
def test_a_study_without_end_is_finished(method):
    """A person who always prefers the smaller is enough."""
    study = gd.create_study(gd.SPD(3), method, rng=0, x0=np.eye(3))
    reason = None
    for _ in range(1000):
        try:
            duel = study.ask(rater="ann")
        except gd.errors.StudyFinishedError as error:
            reason = error.reason
            break
        study.manifold.check_point(np.stack([duel.a, duel.b]))
        study.tell(duel, "a" if np.trace(duel.a) < np.trace(duel.b) else "b", rater="ann")
    assert reason == "diverges"
    study.manifold.check_point(study.recommend())


def test_the_last_sound_point_is_returned_where_a_method_leaves_the_manifold():
    """RDNGD looks for itself every 64 steps, and an error from outside is told at once."""

    class Leaving(gd.RDNGD):
        def step(self, manifold, state, rng):
            new = yield from super().step(manifold, state, rng)
            return new._replace(point=new.point * 1.001, best=new.best * 1.001)

    with pytest.warns(DivergenceWarning):
        result = gd.minimize(lambda x, y: 1, gd.Sphere(3), method=Leaving(), iterations=1000, rng=0)
    assert result.stop_reason == "diverges"
    assert result.iterations == 64
    assert abs(np.linalg.norm(result.x) - 1) < 1e-8


@pytest.mark.parametrize("kind", [NotOnManifoldError, OutOfRangeError])
def test_errors_of_callbacks_are_their_own(kind):
    def callback(progress):
        raise kind("mine")

    with pytest.raises(kind, match="mine") as caught:
        gd.minimize(lambda x, y: 1, gd.Sphere(3), budget=50, rng=0, callback=callback)
    assert caught.value.result.iterations == 1


# -- runs that ask nothing -------------------------------------------------------------------------


class Silent(gd.Method):
    """A method whose steps ask nothing, and one whose duels the domain decides."""

    feasible_first = True

    def __init__(self, domain=None):
        self.domain = domain

    def start(self, manifold, x0, rng):
        return gd.methods.paper.rdngd.RDNGDState(0, x0, x0)

    def step(self, manifold, state, rng):
        while self.domain is not None:
            yield state.point, -state.point
        return state
        yield


@pytest.mark.parametrize("domain", [None, gd.Ball(gd.Sphere(3), np.array([0, 0, 1.0]), 0.5)])
def test_a_run_that_asks_nothing_ends(domain):
    result = gd.minimize(
        lambda x, y: 1, gd.Sphere(3), np.array([0, 0, 1.0]), method=Silent(domain), budget=9, rng=0
    )
    assert (result.stop_reason, result.duels) == ("idle", 0)


# -- floating-point errors -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "duel-csa", "block", "rdngd", "rrdngd"])
@pytest.mark.parametrize(
    "manifold", [gd.Euclidean(1), gd.Sphere(2), gd.Rotations(2), gd.SPD(2), gd.Simplex(3)]
)
def test_methods_run_where_floating_point_errors_are_raised(method, manifold):
    ideal = manifold.random_point(RNG(9))
    f = gd.from_objective(lambda x: float(manifold.dist(x, ideal)))
    for seed in range(2):
        with np.errstate(all="raise"):
            result = quiet(f, manifold, None, method=method, budget=300, rng=seed)
        assert f(result.x, manifold.random_point(RNG(seed))) <= 0


def test_failing_oracles_are_named_at_sound_points():
    with pytest.raises(OracleError, match="returned nan"):
        gd.minimize(gd.from_objective(lambda x: np.nan), gd.SPD(2), budget=20, rng=0)
