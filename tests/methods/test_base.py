"""The contract of a method: the defaults, and what those that lack something are told."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods import METHODS
from geoduel.methods.base import are_sound, default_radius, default_step, pick
from geoduel.methods.people.questions import QuestionMethod

SPHERE = gd.Sphere(3)
CAP = gd.Ball(SPHERE, np.array([0.0, 0.0, 1.0]), 0.5)


class Found(NamedTuple):
    point: np.ndarray
    best: np.ndarray


class Search(gd.Method):
    """Random search, as short as the contract allows; no dataclass."""

    def start(self, manifold, x0, rng):
        return Found(x0, x0)

    def step(self, manifold, state, rng):
        x = manifold.exp(state.best, 0.2 * manifold.unit_tangent(rng, state.best))
        answer = yield x, state.best
        return Found(x, x if answer < 0 else state.best)


@dataclass(frozen=True)
class Settled(Search):
    """The same as a dataclass that knows a domain."""

    domain: gd.Domain | None = None
    given: list[Any] = field(default_factory=list)

    def start(self, manifold, x0, rng):
        self.given.append(self.domain)
        return super().start(manifold, x0, rng)


def height(x):
    return -float(x[2])


def run(method, **options):
    options = {"budget": 100, "rng": 0} | options
    return gd.minimize(gd.from_objective(height), SPHERE, method=method, **options)


def test_start_and_step_are_enough():
    result = run(Search())
    assert result.x[2] > 0.95
    assert (result.duels, result.stop_reason) == (100, "budget")
    assert (result.noise, result.uncertainty) == (None, None)


def test_a_study_takes_it_too():
    method = Search()
    study = gd.create_study(SPHERE, method=method, rng=0)
    for _ in range(100):
        duel = study.ask()
        study.tell(duel, "a" if height(duel.a) < height(duel.b) else "b")
    assert study.recommend()[2] > 0.95
    assert study.settings["method_version"] == 1
    assert study.progress().uncertainty is None


def test_without_a_start_a_method_starts_at_random_and_stays_as_it_is():
    method = Search()
    same, x0 = method.without_start(SPHERE, np.random.default_rng(3))
    assert same is method
    assert np.array_equal(x0, SPHERE.random_point(np.random.default_rng(3)))


def test_what_a_method_says_of_a_missing_start_is_what_runs_and_studies_take():
    class Elsewhere(Search):
        def without_start(self, manifold, rng):
            return Away(), np.array([0.0, 1.0, 0.0])

    class Away(Search):
        pass

    result = run(Elsewhere(), budget=1)
    assert SPHERE.dist(result.x, np.array([0.0, 1.0, 0.0])) < 0.21  # one step
    study = gd.create_study(SPHERE, method=Elsewhere(), rng=0)
    assert np.array_equal(study.recommend(), [0, 1, 0])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_the_contract(name):
    d = 2 if name.startswith("ideal-") else 1
    ball = gd.Ball(gd.Euclidean(d), np.zeros(d), 2.0)
    kind = METHODS[name]
    method = kind(domain=ball) if name == "rdfw" else kind()
    assert isinstance(method, gd.Method)
    if name == "order-acd":  # its steps are not projected
        with pytest.raises(ArgumentError, match="takes no domain"):
            method.with_domain(ball)
    else:
        assert method.with_domain(ball).domain is ball
    assert type(method).version >= 1
    planned, _ = method.plan(ball.manifold, np.zeros(d), iterations=10, budget=None)
    state = planned.start(ball.manifold, np.zeros(d), np.random.default_rng(0))
    assert all(hasattr(state, part) for part in planned.state_has)
    assert planned.stop_reason(state) is None
    assert 0 <= (planned.noise(state) or 0.0) <= 0.5
    assert (planned.uncertainty(state) or 1.0) > 0


def test_what_a_state_tells_reaches_the_result():
    class Told(Search):
        def stop_reason(self, state):
            return "enough" if state.best[2] > 0 else None

        def noise(self, state):
            return 0.25

        def uncertainty(self, state):
            return 0.5

    result = run(Told())
    assert (result.stop_reason, result.noise, result.uncertainty) == ("enough", 0.25, 0.5)
    assert result.x[2] > 0


def test_a_domain_reaches_a_dataclass_with_a_field_for_it():
    method = Settled()
    run(method, domain=CAP)
    assert method.given == [CAP]
    assert method.domain is None  # settings are not changed by a run


def test_the_domain_decides_first_where_a_method_wants_that():
    asked = []

    class First(Settled):
        feasible_first = True

    def oracle(x, y):
        asked.extend([x, y])
        return 1 if height(x) > height(y) else -1

    gd.minimize(oracle, SPHERE, method=First(), domain=CAP, budget=50, rng=0)
    assert asked
    assert all(CAP.contains(x) for x in asked)


class Bare:
    """Has all that a method needs, but does not say that it is one."""

    start, step = Search.start, Search.step


class Stateless(Search):
    def start(self, manifold, x0, rng):
        return x0


class Pointless(Search):
    def start(self, manifold, x0, rng):
        class State(NamedTuple):
            best: Any

        return State(x0)


class Silent(Search):
    def step(self, manifold, state, rng):
        return state


class Forgetful(Search):
    def step(self, manifold, state, rng):
        yield state.point, state.best


class Single(Search):
    def step(self, manifold, state, rng):
        yield state.point
        return state


class Many(Search):
    def step(self, manifold, state, rng):
        yield np.stack([state.point] * 4), state.best
        return state


class Tangled(Search):
    def step(self, manifold, state, rng):
        yield 1.0, 2.0
        return state


WRONG = [
    (Search, "must be an instance such as Search\\(\\), got the class Search"),
    (Bare(), "a name or a method that inherits from geoduel.Method, got <.*Bare.*>$"),
    (7, "got 7, which lacks start and step"),
    (
        Stateless(),
        "Stateless.start must return a state with point, best; .* has no point and no",
    ),
    (Pointless(), "Pointless.start must return .* has no point"),
    (Silent(), "Silent.step must be a generator of pairs of points, got Found"),
    (
        Forgetful(),
        "Forgetful.step must return a state with .*; None has no point and no best",
    ),
    (Single(), r"Single.step must yield pairs .* arrays of one shape \(..., 3\); it yielded array"),
    (Many(), "Many.step must yield pairs"),
    (Tangled(), r"Tangled.step must yield pairs .* it yielded \(1.0, 2.0\)"),
]
IDS = [words.split(" ")[0] if isinstance(m, Search) else str(m)[:5] for m, words in WRONG]


@pytest.mark.parametrize(("method", "words"), WRONG, ids=IDS)
def test_what_is_missing_is_named(method, words):
    with pytest.raises(ArgumentError, match=words):
        run(method)


@pytest.mark.parametrize(("method", "words"), WRONG[1:], ids=IDS[1:])
def test_a_study_names_it_too(method, words):
    def start_and_answer():
        study = gd.create_study(SPHERE, method=method, rng=0)
        study.tell(study.ask(), "a")

    with pytest.raises(ArgumentError, match=words):
        start_and_answer()


@pytest.mark.parametrize("method", [Search(), Bare(), Search])
def test_a_domain_for_a_method_that_takes_none_is_refused(method):
    with pytest.raises(ArgumentError):
        run(method, domain=CAP)
    with pytest.raises(ArgumentError, match="Search is no dataclass with a field domain"):
        run(Search(), domain=CAP)


def test_a_method_learns_from_its_own_questions_alone_unless_it_says_otherwise():
    assert not Search().learns(SPHERE)
    with pytest.raises(NotImplementedError, match="Search learns from its own questions only"):
        Search().learn(SPHERE, None, SPHERE.origin(), SPHERE.origin(), 1)


def test_a_class_without_a_step_cannot_be_made():
    class Half(gd.Method):  # no step
        def start(self, manifold, x0, rng):
            return Found(x0, x0)

    with pytest.raises(TypeError, match="step"):
        Half()  # type: ignore[abstract]


def test_points_are_sound_if_each_of_them_is():
    sphere = gd.Sphere(3)
    good, bad = np.eye(3)[0], 2 * np.eye(3)[0]
    assert are_sound(sphere, good, good)
    assert not are_sound(sphere, bad, good)
    assert not are_sound(sphere, good, bad)


@pytest.mark.parametrize("xp", [np, pytest.param("torch", id="torch")])
def test_pick_takes_each_problem_by_itself(xp):
    xp = pytest.importorskip("torch") if xp == "torch" else xp
    a, b = xp.ones((3, 2)), xp.zeros((3, 2))
    picked = pick(xp.asarray([True, False, True]), a, b, gd.Euclidean(2))
    assert picked.tolist() == [[1, 1], [0, 0], [1, 1]]
    assert pick(True, a, b, gd.Euclidean(2)) is a
    assert pick(False, a, b, gd.Euclidean(2)) is b


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_default_radius_is_between_rounding_and_its_root(dtype):
    """A gap of 2 ν |grad f| is above rounding, and one of ν² drowns in it."""
    unit = np.finfo(dtype).eps
    radius = default_radius(SPHERE, np.zeros(3, dtype)) / SPHERE.typical_dist
    assert np.sqrt(unit) < radius < 1e-2


def test_the_default_step_shrinks_in_high_dimension():
    steps = [default_step(gd.Euclidean(d)) / gd.Euclidean(d).typical_dist for d in (1, 6, 100)]
    assert steps == pytest.approx([0.2, 0.2, 0.05])


def test_what_a_method_must_define():
    assert gd.Method.__abstractmethods__ == {"start", "step"}
    assert QuestionMethod.__abstractmethods__ == {"start", "propose", "update"}


def test_a_method_is_handed_all_problems_at_once_unless_it_says_otherwise():
    shapes = []

    class All(gd.RDNGD):
        def start(self, manifold, x0, rng):
            shapes.append(x0.shape)
            return super().start(manifold, x0, rng)

    class Each(All):
        single = True

    oracle = gd.from_objective(lambda x: -x[..., 2], vectorized=True)
    for kind in (All, Each):
        method = kind(step_size=0.1)
        gd.minimize(oracle, SPHERE, np.eye(3)[:2], method=method, iterations=2, rng=0)
    assert shapes == [(2, 3), (3,), (3,)]


MATRICES = {  # of d x d numbers, for runs that have hardly begun
    "auto": {},
    "duel-newton": {},
    "duel-csa": {},
    "block": {},
    "ideal-point": {},
    "ideal-direction": {},
    "order-cd": {},
    "order-acd": {},
    "scobo": {"sparsity": 5},
    "rank-sgd": {},
    "comparison-ngd": {},
    "one-plus-one-cma": {},
    "nelder-mead": {},
}


@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")
@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"bisection", "rdfw"}))
def test_the_memory_that_a_method_says_it_needs_is_what_it_takes_at_least(name):
    d = 12 if name == "ideal-point" else 400
    space = gd.Sphere(d + 1)
    method = METHODS[name](**MATRICES.get(name, {}))
    oracle = gd.from_objective(lambda x: x[..., 0], vectorized=True)
    tracemalloc.start()
    try:
        gd.minimize(oracle, space, method=method, budget=3 * d, rng=0, iterations=2)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if name in MATRICES:
        assert 8 * d**2 < method.memory_needed(space) < taken
    else:  # some points alone
        assert method.memory_needed(space) == 0
        assert taken < 8 * d**2


@pytest.mark.parametrize("name", MATRICES)
def test_a_method_whose_matrices_do_not_fit_in_memory_says_so_before_it_begins(name, monkeypatch):
    monkeypatch.setattr("geoduel.methods.base.machine_memory", lambda: 16e9)
    d = 10**5
    space, x0 = gd.Sphere(d + 1), np.eye(1, d + 1)[0]
    oracle = gd.from_objective(lambda x: pytest.fail("asked"), vectorized=True)
    words = r"needs [\d,]+ GB of memory or more in 100,000 dimensions, .* has 16 GB; method='rdn"
    with pytest.raises(ArgumentError, match=words):
        gd.minimize(oracle, space, x0, method=METHODS[name](**MATRICES[name]), budget=10, rng=0)
    with pytest.raises(ArgumentError, match=words):
        gd.create_study(space, x0=x0, method=METHODS[name](**MATRICES[name]), rng=0)
    found = gd.minimize(lambda x, y: 1, space, x0, method="rdngd", budget=2, rng=0)
    assert found.duels == 2
