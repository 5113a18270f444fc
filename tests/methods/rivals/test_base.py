"""What every method of others keeps, whatever its paper: budget, seed, domain, geometry, arrays."""

import json
import warnings

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.named import METHODS, named
from geoduel.methods.rivals.base import Rival, furthest
from geoduel.study.codec import decode_state, encode_state

RIVALS = [name for name, kind in METHODS.items() if issubclass(kind, Rival)]
PROJECTED = [name for name in RIVALS if name != "order-acd"]
MANIFOLDS = [
    gd.Sphere(3),
    gd.SPD(2),
    gd.Rotations(3),
    gd.Hyperbolic(2),
    gd.Product(gd.Sphere(3), gd.Euclidean(1)),
]


def test_there_are_ten():
    assert len(RIVALS) == 10


def run(method, manifold, f, x0, budget, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gd.errors.TiesWarning)  # a run that has arrived may tie
        return gd.minimize(
            gd.from_objective(f), manifold, x0, method=method, budget=budget, rng=0, **options
        )


@pytest.mark.parametrize("method", RIVALS)
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_it_comes_closer_on_every_manifold(method, manifold):
    goal = manifold.random_point(np.random.default_rng(1))
    x0 = manifold.random_point(np.random.default_rng(2))

    def f(x):
        return float(manifold.dist(x, goal)) ** 2

    result = run(method, manifold, f, x0, 400 if method != "scobo" else 900)
    manifold.check_point(result.x)
    assert f(result.x) < 0.3 * f(x0)


@pytest.mark.parametrize("method", RIVALS)
@pytest.mark.parametrize("budget", [1, 7, 50, 123])
def test_the_budget_is_never_exceeded_and_something_is_returned(method, budget):
    counted = gd.Counted(gd.from_objective(lambda x: float(x @ x)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gd.errors.TiesWarning)
        result = gd.minimize(
            counted, gd.Euclidean(4), np.ones(4), method=method, budget=budget, rng=0
        )
    assert counted.duels == result.duels <= budget
    assert np.isfinite(result.x).all()


@pytest.mark.parametrize("method", RIVALS)
def test_the_same_seed_gives_the_same_run(method):
    options = {"method": method, "budget": 150}
    oracle = gd.from_objective(lambda x: float(x @ x))
    a, b = (gd.minimize(oracle, gd.Euclidean(3), np.ones(3), rng=5, **options) for _ in range(2))
    assert np.array_equal(a.x, b.x)
    assert a.duels == b.duels


@pytest.mark.parametrize("method", RIVALS)
def test_states_can_be_kept_by_studies(method):
    states = []
    gd.minimize(
        gd.from_objective(lambda x: float(x @ x)), gd.Euclidean(3), np.ones(3), method=method,
        budget=150, rng=0, callback=lambda p: states.append(p.state) and None,
    )  # fmt: skip
    kept = encode_state(states[-1])
    assert encode_state(decode_state(json.loads(json.dumps(kept)))) == kept


@pytest.mark.parametrize("method", RIVALS)
def test_torch_sees_the_same_run(method):
    torch = pytest.importorskip("torch")
    sphere, scales = gd.Sphere(3), np.array([1.0, 2.0, 4.0])

    def of(x0, scales):
        return run(method, sphere, lambda x: (scales * x * x).sum(-1), x0, 120).x

    x0 = np.array([0.48, 0.6, 0.64])
    ours, theirs = of(x0, scales), of(torch.asarray(x0), torch.asarray(scales))
    assert theirs.dtype == torch.float64
    # Where values are equal but for rounding, a duel may go either way: √eps of the valley.
    np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-6)


@pytest.mark.parametrize("method", PROJECTED)
def test_only_feasible_points_are_asked_about_and_returned(method):
    plane = gd.Euclidean(2)
    ball = gd.Ball(plane, np.zeros(2), 1.0)

    def f(x):
        assert np.linalg.norm(x) <= 1 + 1e-7
        return float(x @ [3.0, 4.0])

    result = run(method, plane, f, np.zeros(2), 600, domain=ball)
    assert ball.contains(result.x)
    # The least value is -5, on the boundary, where steps of these methods mostly lose.
    assert f(result.x) < -3.5


def test_where_nothing_is_projected_a_domain_is_refused():
    with pytest.raises(ArgumentError, match="OrderACD takes no domain"):
        run("order-acd", gd.Euclidean(2), np.sum, np.zeros(2), 9, domain=gd.L2Ball(2, 1.0))


@pytest.mark.parametrize("method", RIVALS)
def test_several_problems_at_once_are_refused_by_the_method_itself(method):
    """`minimize` runs each for itself."""
    with pytest.raises(ArgumentError, match="one problem at a time"):
        named(method).plan(gd.Euclidean(2), np.zeros((3, 2)), iterations=None, budget=9)


@pytest.mark.parametrize("method", RIVALS)
@pytest.mark.parametrize("step", [0.0, -1.0, np.nan, "a"])
def test_the_first_step_is_a_length(method, step):
    with pytest.raises(ArgumentError, match="initial_step must be"):
        METHODS[method](initial_step=step)


@pytest.mark.parametrize("method", RIVALS)
def test_an_oracle_that_only_ties_ends(method):
    with pytest.warns(gd.errors.TiesWarning):
        result = gd.minimize(
            lambda x, y: 0, gd.Sphere(3), np.array([0.0, 0.6, 0.8]), method=method,
            budget=2000, rng=0,
        )  # fmt: skip
    assert result.stop_reason == "ties"


@pytest.mark.parametrize("method", RIVALS)
def test_a_scale_is_taken_where_none_was_given(method):
    given = METHODS[method](initial_step=2.0)
    assert given.at_scale(5.0) is given
    told = METHODS[method]().at_scale(5.0)
    if method in ("comparison-ngd", "minibatch-stp"):  # whose steps are planned for a distance
        assert (told.distance, told.initial_step) == (5.0, None)
    else:
        assert told.initial_step == 5.0


def test_steps_end_where_geodesics_come_back():
    assert furthest(gd.Torus(2)) == np.pi
    assert furthest(gd.Euclidean(4)) == 2e6


@pytest.mark.parametrize("name", RIVALS)
def test_a_scale_is_taken_unless_a_first_step_is_given(name):
    method = METHODS[name]()
    scaled = method.at_scale(2.0)
    assert getattr(scaled, "distance", scaled.initial_step) == 2
    given = METHODS[name](initial_step=0.5)
    assert given.at_scale(2.0) is given
    assert given.first_step(gd.Sphere(3)) == 0.5
    assert Rival.first_step(method, gd.Sphere(3)) == gd.Sphere(3).typical_dist / 5


@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")  # where a run has arrived
@pytest.mark.parametrize("method", PROJECTED)
def test_sets_of_several_problems_are_kept_apart_or_refused(method):
    """Those that step on a set take one; for the others it decides duels, problem by problem."""
    space, centres = gd.Euclidean(3), np.array([[0.0, 0, 0], [5, 5, 5]])
    goals = np.array([[2.0, 0, 0], [5, 9, 5]])
    f = gd.from_objective(lambda x: ((x - goals) ** 2).sum(-1), vectorized=True)
    balls = gd.Ball(space, centres, 1.0)

    def found():
        return gd.minimize(f, space, centres, method=method, domain=balls, budget=400, rng=0).x

    if METHODS[method].one_set:
        with pytest.raises(ArgumentError, match=r"sets of several problems, of shape \(2,\)"):
            found()
    else:
        x = found()
        assert balls.contains(x).all()
        assert (np.linalg.norm(x - goals, axis=-1) < [1.5, 3.5]).all()  # from 2 and 4, to 1 and 3


@pytest.mark.parametrize("method", PROJECTED)
@pytest.mark.parametrize(("lead", "dtype"), [((), np.float64), ((2,), np.float32)])
@pytest.mark.parametrize(
    "domain", [gd.Box(np.zeros(3), np.ones(3)), gd.Ball(gd.Simplex(3), np.full(3, 1 / 3), 0.3)]
)
def test_its_result_is_in_the_set_and_not_outside_by_a_tolerance(method, lead, dtype, domain):
    """Its search ends there: points that the tolerance lets in are compared like those inside."""
    x0 = np.broadcast_to(np.asarray(domain.random_point(0), dtype), (*lead, 3))

    def f(x):
        return float(x[0] + 2 * x[1])

    result = run(method, domain.manifold, f, x0, 150, domain=domain)
    assert result.x.dtype == dtype
    rounding = 4 * np.finfo(dtype).eps  # of a distance; tolerances are thousands of times that
    assert np.max(domain.violation(result.x)) <= rounding
    assert np.max(domain.violation(result.x_last)) <= rounding
