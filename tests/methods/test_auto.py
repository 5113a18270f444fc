"""Auto: what every run of the default method keeps, whatever the answers are."""

from contextlib import nullcontext

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.descent.first_step import Begin
from geoduel.methods.descent.noise import PACE
from geoduel.methods.descent.plateau import PlateauWalk
from geoduel.methods.restarts import Restarted
from geoduel.problems import Karcher

METHODS = ["auto", "duel-csa", "block"]


@pytest.fixture
def bowl():
    """A quadratic in five dimensions: oracle, manifold, start, optimum."""
    scales, centre = np.geomspace(1, 30, 5), np.array([0.3, -1.0, 2.0, 0.5, 0.1])
    oracle = gd.from_objective(lambda x: (x - centre) ** 2 @ scales, vectorized=True)
    return oracle, gd.Euclidean(5), np.zeros(5), centre


@pytest.mark.parametrize("d", [2, 5, 10])
def test_isotropic_duels_do_not_grow_faster_than_the_bound(d, cases):
    """1.9, 1.7 and 1.7 times d/2 log2(1e9) were measured (medians of ten)."""
    centre = np.linspace(-1, 1, d)
    needed = []
    for seed in range(3):
        x0 = centre + np.random.default_rng(seed).standard_normal(d)
        first = np.sum((x0 - centre) ** 2)
        result = gd.minimize(
            gd.from_objective(lambda x: np.sum((x - centre) ** 2, -1), vectorized=True),
            gd.Euclidean(d), x0, budget=600, rng=seed,
            callback=lambda p, first=first: np.sum((p.x - centre) ** 2) <= 1e-9 * first,
        )  # fmt: skip
        needed.append(result.duels)
    assert np.median(needed) < 1.3 * 1.9 * d / 2 * np.log2(1e9)


@pytest.mark.parametrize("method", METHODS)
def test_geodesics_that_end_are_not_followed_too_far(method):
    """From a covariance whose eigenvalues are a hundredth and a fiftieth of those wanted."""
    manifold, wanted = gd.SPD(2, metric="bures-wasserstein"), np.array([[4.0, 1.0], [1.0, 2.0]])
    for kind in (manifold, gd.Product(gd.Euclidean(1), manifold)):
        goal = wanted if kind is manifold else kind.join(np.ones(1), wanted)
        x0 = wanted / 50 if kind is manifold else kind.join(np.zeros(1), wanted / 50)
        oracle = gd.from_objective(lambda x, kind=kind, goal=goal: kind.dist(x, goal))
        result = gd.minimize(oracle, kind, x0, method=method, budget=250, rng=0)
        assert kind.dist(result.x, goal) < 0.02 * kind.dist(x0, goal)


@pytest.mark.parametrize("method", METHODS)
def test_in_a_domain_of_one_point_a_run_ends(method):
    box = gd.Box(np.ones(2), np.ones(2))
    options = {"method": method, "domain": box, "budget": 9, "rng": 0}
    result = gd.minimize(lambda x, y: 1, box.manifold, np.ones(2), **options)
    assert result.stop_reason == "resolution"
    np.testing.assert_array_equal(result.x, 1)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_run(method, bowl):
    oracle, manifold, x0, _ = bowl
    a, b, c = (
        gd.minimize(oracle, manifold, x0, method=method, budget=150, rng=s).x for s in (0, 0, 1)
    )
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("budget", [1, 4, 7, 50, 123])
def test_the_budget_is_never_exceeded_and_something_is_returned(method, budget, bowl):
    oracle, manifold, x0, _ = bowl
    counted = gd.Counted(oracle)
    result = gd.minimize(counted, manifold, x0, method=method, budget=budget, rng=0)
    assert counted.duels == result.duels <= budget
    assert result.stop_reason == "budget"
    assert np.isfinite(result.x).all()


@pytest.mark.parametrize("method", METHODS)
def test_an_oracle_that_only_ties_stops_where_it_began(method):
    sphere = gd.Sphere(4)
    x0 = np.array([0.5, 0.5, 0.5, 0.5])
    with pytest.warns(gd.errors.TiesWarning):
        result = gd.minimize(lambda x, y: 0, sphere, x0, method=method, budget=10_000, rng=0)
    assert result.stop_reason in ("ties", "resolution")
    assert result.duels < 300
    assert np.array_equal(result.x, x0)


def test_twenty_percent_of_wrong_answers(measure, cases):
    def needed(seed):
        objective = cases["quadratic"](seed).objective
        noisy = gd.Noisy(gd.from_objective(objective, vectorized=True), flip=0.2, rng=seed)
        return measure("quadratic", "auto", seed, oracle=noisy, target=1e-6)

    # Median of seeds 0 to 4; one of them (3) needs more than 5000.
    assert np.median([needed(s) for s in range(3)]) <= 1.3 * 2393


def test_the_noise_is_estimated(bowl):
    oracle, manifold, x0, _ = bowl
    result = gd.minimize(gd.Noisy(oracle, flip=0.2, rng=0), manifold, x0, budget=1500, rng=0)
    assert result.noise is not None
    assert 0.1 < result.noise < 0.35  # about 50 pairs: standard error 0.06
    assert gd.minimize(oracle, manifold, x0, budget=300, rng=0).noise == 0


def test_noise_that_grows_as_probes_shrink(bowl):
    """Bradley-Terry noise, 1 % of the first gap: the answers of small probes are coins."""
    oracle, manifold, x0, centre = bowl

    def run(seed):
        noisy = gd.Noisy(oracle, model="bradley-terry", scale=0.6, rng=seed)
        result = gd.minimize(noisy, manifold, x0, budget=1200, rng=seed)
        return float(np.linalg.norm(result.x - centre)), result.uncertainty

    distance, uncertainty = np.median([run(seed) for seed in range(3)], axis=0)
    assert distance < 0.2
    assert distance / 10 < uncertainty < 30 * distance + 0.3


def test_the_uncertainty_is_honest(cases):
    case = cases["karcher"](0)
    optimum = Karcher.random(3, m=10, rng=0).optimum
    ratios = []
    gd.minimize(
        gd.from_objective(case.objective, vectorized=True), case.manifold, case.x0, budget=180,
        rng=0, callback=lambda p: p.duels > 40
        and ratios.append(float(case.manifold.dist(p.x, optimum)) / p.state.uncertainty),
    )  # fmt: skip
    assert 0.1 < np.median(ratios) < 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("manifold", [gd.Rotations(2), gd.Sphere(2), gd.Torus(1), gd.Sphere(3)])
def test_one_and_two_dimensions(method, manifold):
    goal = manifold.random_point(np.random.default_rng(1))
    oracle = gd.from_objective(lambda x: float(manifold.dist(x, goal)))
    result = gd.minimize(oracle, manifold, method=method, budget=250, rng=0)
    # In two dimensions DuelCSA needs seven times the bound.
    assert manifold.dist(result.x, goal) < (1e-4 if method == "duel-csa" else 1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_float32_stops_at_its_resolution(method):
    sphere, goal = gd.Sphere(5), np.eye(5, dtype=np.float32)[0]
    oracle = gd.from_objective(lambda x: -float(x @ goal))
    result = gd.minimize(
        oracle, sphere, np.eye(5, dtype=np.float32)[1], method=method, budget=5000, rng=0
    )
    assert result.stop_reason == "resolution"
    assert result.x.dtype == np.float32
    assert sphere.dist(result.x, goal) < 2e-3  # f is flat to √eps around its least value
    assert result.duels < 1000


@pytest.mark.parametrize("method", METHODS)
def test_it_stops_where_x_is_known_well_enough(method, bowl):
    oracle, manifold, x0, centre = bowl
    result = gd.minimize(oracle, manifold, x0, method=method, budget=9000, x_tol=1e-3, rng=0)
    assert result.stop_reason == "x_tol"
    assert 1e-6 < np.linalg.norm(result.x - centre) < 1e-2


@pytest.mark.parametrize("method", METHODS)
def test_torch_sees_the_same_run(method):
    torch = pytest.importorskip("torch")
    sphere = gd.Sphere(4)
    scales = np.array([1.0, 2.0, 4.0, 8.0])

    def run(x0, scales):
        oracle = gd.from_objective(lambda x: (scales * x * x).sum(-1), vectorized=True)
        return gd.minimize(oracle, sphere, x0, method=method, budget=80, rng=0)

    ours = run(np.full(4, 0.5), scales)
    theirs = run(torch.full((4,), 0.5, dtype=torch.float64), torch.asarray(scales))
    assert theirs.x.dtype == torch.float64
    np.testing.assert_allclose(theirs.x.numpy(), ours.x, atol=1e-9)


@pytest.mark.parametrize("restarts", [0, 1])
def test_several_problems_at_once_end_as_each_alone(restarts):
    """Two valleys, from either side; in the second run only those that ended are started anew."""
    x0 = np.array([[1.4, 1.0], [-1.3, 0.5], [0.2, 2.0]])
    oracle = gd.from_objective(
        lambda x: (x[..., 0] ** 2 - 1) ** 2 + 0.3 * x[..., 0] + x[..., 1] ** 2, vectorized=True
    )
    options = {"x_tol": 1e-4, "restarts": restarts, "budget": 600}
    many = gd.minimize(oracle, gd.Euclidean(2), x0, rng=np.random.default_rng(0), **options)
    for i, rng in enumerate(np.random.default_rng(0).spawn(3)):
        one = gd.minimize(oracle, gd.Euclidean(2), x0[i], rng=rng, **options)
        assert (many.each.duels[i], many.each.stop_reason[i]) == (one.duels, one.stop_reason)
        np.testing.assert_allclose(many.x[i], one.x, atol=1e-9)


@pytest.mark.parametrize(("method", "most"), [("auto", 600), ("duel-csa", 1000)])
def test_karcher_mean_between_its_bounds(method, most):
    """From a corner of the interval; with m = 50, 402 and 700 were measured (seeds 0 to 2)."""
    problem = Karcher.random(5, m=20, rng=0)
    interval = problem.domain()
    first = problem.gap(problem.x0)
    result = gd.minimize(
        problem.oracle(), problem.manifold, problem.x0, method=method, domain=interval,
        budget=most, rng=0, callback=lambda p: problem.gap(p.x) <= 1e-9 * first,
    )  # fmt: skip
    assert result.stop_reason == "callback"
    assert interval.contains(result.x)


@pytest.mark.parametrize("method", METHODS)
def test_only_feasible_points_are_asked_about_and_returned(method):
    plane = gd.Euclidean(3)
    ball = gd.Ball(plane, np.zeros(3), 1.0)

    def objective(x):
        assert np.linalg.norm(x) <= 1 + 1e-7
        return float(x @ [1.0, 2.0, -2.0])

    counted = gd.Counted(gd.from_objective(objective))
    result = gd.minimize(counted, plane, np.zeros(3), method=method, domain=ball, budget=300, rng=0)
    assert ball.contains(result.x)
    assert result.duels == counted.duels <= 300
    # The least value is -3, on the boundary, where the line search of Block gets stuck.
    assert objective(result.x) < (-1.5 if method == "block" else -2.8)


def wavy(x):
    """Nine local minima on the torus of angles, the best at 0."""
    return np.sum(2 - np.cos(x) - np.cos(3 * x), axis=-1)


@pytest.mark.slow  # `test_restarts.py` has less
@pytest.mark.parametrize("flip", [0.0, 0.1])
def test_restarts_find_the_best_of_several_minima(flip):
    torus, x0 = gd.Torus(2), np.array([2.0, -2.0])
    found = {}  # 40 restarts all miss the best with probability 0.01
    for restarts in (0, 40):
        # Noise never ends a run by itself, so that the accuracy has to.
        oracle = gd.Noisy(gd.from_objective(wavy, vectorized=True), flip=flip, rng=1)
        options = {"x_tol": 1e-2} if flip else {}
        result = gd.minimize(oracle, torus, x0, budget=20_000, restarts=restarts, rng=0, **options)
        found[restarts] = wavy(result.x)
        assert result.stop_reason == ("x_tol" if flip else "resolution")
    assert found[0] > 1
    assert found[40] < 1e-2


def test_restarts_take_turns_between_smoothing_and_elsewhere():
    seen = []
    gd.minimize(
        gd.from_objective(wavy, vectorized=True), gd.Torus(2), np.array([2.0, -2.0]), budget=2000,
        smoothing=1.0, restarts=4, rng=0, callback=lambda p: seen.append(p.state) and None,
    )  # fmt: skip
    paces: dict[int, float] = {}
    starts: dict[int, bool] = {}
    for state in seen:
        run, local = (state.run, state.local) if isinstance(state, Restarted) else (0, state)
        if isinstance(local, Begin) and run:
            starts[run] = np.array_equal(local.point, state.champion)
        elif not isinstance(local, Begin):
            paces.setdefault(run, local.answering.slow)
    assert paces == {0: PACE, 1: 1.0, 2: PACE / 2, 3: 1.0, 4: PACE / 4}
    assert starts == {1: False, 2: True, 3: False, 4: True}


@pytest.mark.parametrize(("smoothing", "alone"), [(0.0, 4), (1.0, 3)])
def test_runs_that_are_not_smoothed_are_counted(smoothing, alone):
    """The next one from elsewhere begins twice as far away."""
    ended = Restarted(None, np.zeros(2), 1.0, smoothing=smoothing, alone=3)
    judging = gd.Auto()._judged(gd.Euclidean(2), ended, True, np.random.default_rng(0))
    with pytest.raises(StopIteration) as end:
        next(judging)
    assert end.value.value.alone == alone


@pytest.mark.parametrize(("most", "bounded"), [(2000, False), (300, True)])
def test_smoothing_goes_as_far_as_the_matrices_of_duel_newton(most, bounded):
    for d in (most, most + 1):
        x0 = np.zeros(d)
        domain = gd.Ball(gd.Euclidean(d), x0, 1.0) if bounded else None
        method = gd.Auto(domain=domain, smoothing=1.0)
        refused = pytest.raises(gd.errors.ArgumentError, match=f"at most {most} dimensions")
        with nullcontext() if d == most else refused:
            method.start(gd.Euclidean(d), x0, np.random.default_rng(0))


def test_a_run_that_is_cut_short_returns_the_champion():
    seen = []
    result = gd.minimize(
        gd.from_objective(wavy, vectorized=True), gd.Torus(2), np.array([2.0, -2.0]), budget=700,
        restarts=15, rng=0, callback=lambda p: seen.append((p.state, wavy(p.x))) and None,
    )  # fmt: skip
    assert result.stop_reason == "budget"
    # From the first end on the champion is never given up for worse.
    ends = [value for state, value in seen if isinstance(state, Restarted)]
    assert len(ends) > 10
    assert (np.diff(ends) < 1e-12).all()


def test_parallel_asks_as_many_at_once_and_changes_nothing():
    sizes = []

    class Oracle:
        vectorized = True

        def __call__(self, x, y):
            sizes.append(len(x) if x.ndim > 1 else 1)
            return np.sign(np.sum(x * x, -1) - np.sum(y * y, -1))

    runs = [
        gd.minimize(Oracle(), gd.Euclidean(8), np.ones(8), budget=200, rng=0, parallel=k)
        for k in (None, 8, 3)
    ]
    assert max(sizes[-runs[2].rounds :]) == 3
    for run in runs[1:]:
        np.testing.assert_array_equal(run.x, runs[0].x)
        assert run.duels == runs[0].duels
    assert len(sizes) == sum(run.rounds for run in runs)
    assert runs[0].rounds < runs[2].rounds < runs[0].duels


def test_parallel_steps_of_duel_csa_take_few_more_duels():
    needed = {}
    for k in (None, 10):
        needed[k] = np.median(
            [
                gd.minimize(
                    gd.from_objective(lambda x: np.sum(x * x, -1), vectorized=True),
                    gd.Euclidean(30), np.ones(30), method="duel-csa", budget=3000, rng=seed,
                    parallel=k, callback=lambda p: p.x @ p.x <= 30e-6,
                ).duels
                for seed in range(3)
            ]
        )  # fmt: skip
    assert needed[10] < 1.5 * needed[None]


@pytest.mark.parametrize("option", [{"restarts": -1}, {"restarts": 1.5}, {"parallel": 0}])
def test_restarts_and_parallel_are_counts(option):
    with pytest.raises(gd.errors.ArgumentError, match=next(iter(option))):
        gd.Auto(**option)


EVEN = {
    "maximum": (gd.Euclidean(5), lambda x: np.sum(np.cos(x)), np.zeros(5)),
    "maximum of a Rayleigh quotient": (gd.Sphere(8), lambda x: -np.arange(8) @ x**2, np.eye(8)[0]),
    "saddle": (gd.Sphere(8), lambda x: -np.arange(8) @ x**2, np.eye(8)[6]),
    "a line": (gd.Euclidean(1), lambda x: np.sum((x**2 - 1) ** 2), np.zeros(1)),
    "high dimension": (gd.Euclidean(40), lambda x: np.sum((x**2 - 1) ** 2), np.zeros(40)),
    "antipode": (gd.Sphere(6), lambda x: -x[0], -np.eye(6)[0]),
}


@pytest.mark.parametrize("method", ["auto", "duel-newton", "duel-csa", "block"])
@pytest.mark.parametrize("name", EVEN)
def test_starts_about_which_f_is_even_are_left_within_twenty_duels(name, method):
    """Mirrored duels tie there for ever."""
    manifold, f, x0 = EVEN[name]
    moved = []

    def note(progress):
        moved.append((progress.duels, not np.array_equal(progress.x, x0)))

    result = gd.minimize(
        gd.from_objective(lambda x: float(f(x))), manifold, x0, method=method, budget=1000, rng=0,
        callback=note,
    )  # fmt: skip
    assert next(duels for duels, left in moved if left) <= 20
    assert f(result.x) < f(x0) - 0.1 or (name, method) == ("saddle", "block")


@pytest.mark.parametrize("restarted", [False, True])
def test_a_walk_begins_again_from_its_best_point_and_has_no_use_for_other_duels(restarted):
    plane, rng, method = gd.Euclidean(2), np.random.default_rng(0), gd.Auto(restarts=np.inf)
    walk = PlateauWalk().start(plane, np.ones(2), 0.5)._replace(best=np.zeros(2))
    state = Restarted(walk, np.ones(2), 1.0, stop="budget") if restarted else walk
    assert method.learn(plane, state, np.ones(2), np.zeros(2), 1) == state
    again = method.again(plane, state, rng, 0.1)
    local = again.local if restarted else again
    assert isinstance(local, Begin)
    np.testing.assert_array_equal(local.point, np.zeros(2))
    assert again.stop is None


def test_restarts_are_for_budgets_without_an_accuracy():
    assert gd.Auto().spending().restarts == np.inf
    assert gd.Auto(restarts=2).spending().restarts == 2
    for ends_early in (gd.Auto(x_tol=1e-3), gd.Auto(min_radius=0.1)):
        assert ends_early.spending() == ends_early
