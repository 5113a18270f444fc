"""RDNGD: its bookkeeping, its convergence on lopsided problems, and its independence of values."""

from itertools import pairwise

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, RadiusWarning
from geoduel.problems import Karcher


def lopsided(x):
    """Condition 25, optimum (1, -2), value 0."""
    return (x[0] - 1) ** 2 + 25 * (x[1] + 2) ** 2


def run(f=lopsided, manifold=None, x0=None, **options):
    options = {"iterations": 1000, "step_size": gd.cosine(0.5, 1e-6), "radius": 1e-7} | options
    x0 = np.zeros(2) if x0 is None else x0
    oracle = gd.from_objective(f)
    return gd.minimize(oracle, manifold or gd.Euclidean(2), x0, method="rdngd", rng=3, **options)


def test_it_finds_the_optimum_of_a_lopsided_quadratic():
    assert lopsided(run().x) < 1e-6 * lopsided(np.zeros(2))


@pytest.mark.parametrize(
    ("returns", "batch", "duels"),
    [("best", 1, 2), ("last", 1, 1), ("random", 1, 1), ("best", 5, 6)],
)
def test_duels_an_iteration(returns, batch, duels):
    result = run(iterations=40, returns=returns, batch=batch)
    assert result.duels == 40 * duels
    assert result.iterations == 40


def test_budget_is_never_exceeded_and_sets_the_schedule():
    result = run(iterations=None, budget=1001)
    assert result.duels == 1000
    assert result.iterations == 500
    assert lopsided(result.x) < 1e-4 * lopsided(np.zeros(2))  # the cosine ended at 500


def test_a_radius_beyond_the_first_step_is_named():
    with pytest.raises(ArgumentError, match=r"radius must be at most .* got 1.5; .* step_size="):
        run(radius=1.5, step_size=None)
    assert run(radius=1.5, step_size=2.0, iterations=2).iterations == 2


def test_only_answers_matter():
    """Any increasing function of f gives the same run to the last bit."""
    a, b = run(), run(lambda x: np.arctan(lopsided(x) / 100))
    assert np.array_equal(a.x, b.x)
    assert np.array_equal(a.x_last, b.x_last)


def test_reversed_oracle_goes_the_other_way():
    result = gd.minimize(
        gd.Reversed(gd.from_objective(lambda x: x[0])),
        gd.Sphere(3),
        np.array([0.0, 1.0, 0.0]),
        method="rdngd",
        iterations=400,
        step_size=gd.cosine(0.5, 1e-4),
        rng=0,
    )
    assert result.x[0] > 0.999


def test_a_constant_oracle_tells_nothing():
    """Negative control: always the same answer is a random walk, and the gap does not shrink."""
    oracle = gd.from_preference(lambda a, b: "a")
    x0 = np.array([3.0, 0.0])
    result = gd.minimize(
        oracle, gd.Euclidean(2), x0, method="rdngd", iterations=300, step_size=0.01, rng=0
    )
    # 300 steps of 0.01 in random directions: mean square 0.03, so |x_last - x0| < 1 by far.
    assert np.linalg.norm(result.x_last - x0) < 1


@pytest.mark.parametrize("method", ["rdngd", "rrdngd", "rdfw"])
@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")
def test_radii_that_the_dtype_does_not_resolve_are_said_so(method):
    """1e-6 is nothing to single precision, and much to double."""
    sphere, oracle = gd.Sphere(100), gd.from_objective(lambda x: -float(x[0]))
    x0 = sphere.random_point(0)
    domain = gd.Ball(sphere, x0, 1.0)
    for radius in (1e-6, gd.constant(1e-6)) if method != "rdngd" else (1e-6,):
        settings = {"method": method, "domain": domain, "radius": radius, "budget": 20, "rng": 0}
        if method == "rdngd":
            settings["step_size"] = 0.1
        gd.minimize(oracle, sphere, x0, **settings)
        with pytest.warns(RadiusWarning, match=r"^radius=1e-06 is below what float32"):
            gd.minimize(oracle, sphere, x0.astype(np.float32), **settings)


@pytest.mark.parametrize("radius", [None, 1e-7])
def test_same_seed_same_run(radius):
    a, b = run(radius=radius), run(radius=radius)
    assert np.array_equal(a.x, b.x)
    assert a.history.duels == b.history.duels


def test_the_incumbent_never_gets_worse():
    best = []
    run(callback=lambda p: best.append(lopsided(p.x)) and False, step_size=0.3, iterations=200)
    assert all(b <= a for a, b in pairwise(best))
    assert min(best) == best[-1] < best[0]


def test_last_returns_the_last_iterate():
    result = run(returns="last")
    assert np.array_equal(result.x, result.x_last)


def test_random_iterate_has_the_distribution_of_the_theorem():
    """P(R = k) is proportional to η_k; with two steps of 3 and 1, R = 0 three times in four."""
    method = gd.RDNGD(step_size=lambda k: 3.0 - 2.0 * k, radius=1e-3, returns="random")
    plane, x0 = gd.Euclidean(2), np.zeros((20_000, 2))
    planned, _ = method.plan(plane, x0, iterations=2, budget=None)
    chosen = planned.start(plane, x0, np.random.default_rng(0)).chosen
    share = np.mean(chosen == 0)
    assert abs(share - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 20_000)


def test_random_iterate_is_one_of_the_iterates():
    points = [np.zeros(2)]
    result = run(
        returns="random", iterations=50, callback=lambda p: points.append(p.point) and None
    )
    assert any(np.array_equal(result.x, p) for p in points[:-1])


def test_the_default_step_does_not_drift_away_where_curvature_is_negative():
    """A fifth of the typical distance of SPD(10) does: to matrices of condition 1e16."""
    problem = Karcher.random(10, m=10, rng=0)
    result = gd.minimize(
        problem.oracle(), problem.manifold, problem.x0, method="rdngd", budget=2000, rng=0
    )
    assert problem.gap(result.x) < 0.05 * problem.gap(problem.x0)


def test_domain_keeps_every_iterate_inside():
    disc = gd.Ball(gd.Euclidean(2), np.zeros(2), 1.0)
    inside = []
    result = run(domain=disc, callback=lambda p: inside.append(disc.contains(p.point)) and None)
    assert all(inside)
    # The optimum over the disc: nearest in the metric of f; solved on the circle to 1e-6.
    t = np.linspace(0, 2 * np.pi, 2_000_001)
    best = np.stack([np.cos(t), np.sin(t)])[
        :, np.argmin((np.cos(t) - 1) ** 2 + 25 * (np.sin(t) + 2) ** 2)
    ]
    np.testing.assert_allclose(result.x, best, atol=2e-3)


def test_leading_axes_are_independent_problems():
    """A batch of runs converges in every row, and one row's data never reaches another."""
    targets = np.array([[1.0, 2.0], [-3.0, 0.5], [0.0, -1.0]])
    oracle = gd.from_objective(lambda x: np.sum((x - targets) ** 2, axis=-1), vectorized=True)
    result = gd.minimize(
        oracle,
        gd.Euclidean(2),
        np.zeros((3, 2)),
        method="rdngd",
        iterations=800,
        step_size=gd.cosine(0.5, 1e-6),
        rng=0,
    )
    np.testing.assert_allclose(result.x, targets, atol=1e-4)
    assert result.duels == 1600  # of each problem


def test_batch_with_leading_axes():
    targets = np.array([[1.0, 2.0], [-3.0, 0.5]])
    oracle = gd.from_objective(lambda x: np.sum((x - targets) ** 2, axis=-1), vectorized=True)
    result = gd.minimize(
        oracle,
        gd.Euclidean(2),
        np.zeros((2, 2)),
        method="rdngd",
        iterations=400,
        batch=4,
        step_size=gd.cosine(0.5, 1e-6),
        rng=0,
    )
    np.testing.assert_allclose(result.x, targets, atol=1e-4)
    assert result.duels == 400 * 5


def test_ties_move_nothing_and_stop_the_run():
    with pytest.warns(gd.errors.TiesWarning, match="ties"):
        result = run(lambda x: 0.0, x0=np.array([1.0, 2.0]), iterations=10_000)
    assert np.array_equal(result.x_last, [1.0, 2.0])
    assert result.stop_reason == "ties"
    assert result.ties == result.duels < 1000


def test_ties_of_the_paper_move():
    with pytest.warns(gd.errors.TiesWarning):
        result = run(lambda x: 0.0, ties="paper", iterations=20)
    assert not np.array_equal(result.x_last, [0.0, 0.0])
    assert np.array_equal(result.x, result.x_last)  # a tie prefers the newer point


def test_float32_stays_float32_and_converges_to_its_resolution():
    x0 = np.array([0, 1, 0], dtype=np.float32)
    result = gd.minimize(
        gd.from_objective(lambda x: -x[0]),
        gd.Sphere(3),
        x0,
        method="rdngd",
        iterations=500,
        step_size=gd.cosine(0.5, 1e-3),
        rng=0,
    )
    assert result.x.dtype == np.float32
    assert result.x[0] > 0.999


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"radius": 0.0}, "radius must be"),
        ({"radius": np.nan}, "radius must be"),
        ({"batch": 0}, "batch must be"),
        ({"batch": 1.5}, "batch must be"),
        ({"returns": "mean"}, "returns must be"),
        ({"step_size": -1.0}, "step_size must be"),
        ({"step_size": "fast"}, "step_size must be"),
        ({"speed": 1}, "no option 'speed'"),
        ({"iterations": 0}, "iterations must be"),
        ({"iterations": None}, "give iterations= or budget="),
        ({"iterations": None, "budget": -5}, "budget must be"),
        ({"ties": "ignore"}, "ties must be"),
        ({"x0": np.array([0.0, np.nan])}, "x0 is not finite"),
        ({"x0": np.zeros(3)}, "x0 has shape"),
        ({"x0": "origin"}, "x0 must be an array"),
        ({"x0": np.zeros(2, dtype=complex)}, "x0 must be an array of real"),
    ],
)
def test_bad_input_is_named(options, words):
    with pytest.raises(ArgumentError, match=words):
        run(**options)


def test_how_long_a_run_will_be_is_no_part_of_what_is_shown_of_its_method():
    method, sphere = gd.RDNGD(step_size=0.1, radius=0.1), gd.Sphere(3)
    planned, _ = method.plan(sphere, sphere.random_point(0), iterations=5, budget=None)
    assert planned.total == 5
    assert repr(planned) == repr(method)


@pytest.mark.parametrize("settings", [{"step_size": 0.1}, {}, {"batch": 8, "returns": "random"}])
def test_a_budget_that_ends_within_the_first_iteration_is_spent(settings):
    x0 = np.array([1.0, 0.0, 0.0])
    oracle = gd.from_objective(lambda x: -x[2])
    result = gd.minimize(oracle, gd.Sphere(3), x0, method="rdngd", budget=1, rng=0, **settings)
    assert (result.stop_reason, result.iterations) == ("budget", 0)
    np.testing.assert_array_equal(result.x, x0)
    assert gd.create_study(gd.Sphere(3), "rdngd", budget=1, **settings).ask()
