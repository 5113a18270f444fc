"""Optuna's studies with points of manifolds: what is suggested, found, stored and taken back."""

from __future__ import annotations

import importlib
import math
import os
import pickle
import sys

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, MissingExtraError

optuna = pytest.importorskip("optuna")
bridge = pytest.importorskip("geoduel.bridges.optuna")

SPHERE = gd.Sphere(3)
GOAL = np.array([0.6, 0.0, 0.8])
MANIFOLDS = [
    gd.Euclidean(2, 2),
    gd.Sphere(3),
    gd.Simplex(3),
    gd.Torus(2),
    gd.Rotations(3),
    gd.SPD(2),
    gd.Hyperbolic(2),
    gd.Stiefel(4, 2),
    gd.Grassmann(4, 2),
    gd.Power(gd.Sphere(3), 2),
    gd.Product(gd.Rotations(3), gd.Euclidean(3)),
]


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def sampler(seed=0, **settings):
    return bridge.DuelSampler({"x": SPHERE}, seed=seed, **settings)


def cost(trial):
    return float(SPHERE.dist(bridge.suggest_point(trial, "x", SPHERE), GOAL))


def points(study):
    return [tuple(trial.params.values()) for trial in study.trials]


def run(n_trials=60, objective=cost, **options):
    study = optuna.create_study(**{"sampler": sampler()} | options)
    study.optimize(objective, n_trials=n_trials)
    return study


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_every_sampler_suggests_points_of_the_manifold(manifold):
    unbounded = isinstance(manifold, gd.Euclidean | gd.SPD | gd.Hyperbolic | gd.Product)
    own = bridge.DuelSampler({"x": manifold}, seed=0)
    for other, bounds in ((optuna.samplers.RandomSampler(0), (-3, 3) * unbounded), (own, ())):
        study = optuna.create_study(sampler=other)
        for _ in range(3):
            trial = study.ask()
            x = bridge.suggest_point(trial, "x", manifold, *bounds)
            manifold.check_point(x)
            study.tell(trial, float(np.sum(x)))
            assert np.array_equal(bridge.point_of(study.trials[-1], "x", manifold), x)


@pytest.mark.parametrize("method", ["duel-newton", "rdngd", "one-plus-one"])
def test_it_asks_what_minimize_asks(method):
    """Each point once, in another order: two of a duel, and d duels, are wanted at once."""
    seen = []

    def f(x):
        seen.append(tuple(x.tolist()))
        return float(SPHERE.dist(x, GOAL))

    options = {"step_size": 0.1, "radius": 0.01} if method == "rdngd" else {}
    gd.minimize(
        gd.from_objective(f), SPHERE, method=method, budget=60, iterations=60, rng=0, **options
    )
    study = run(20, sampler=sampler(method=method, **options))
    assert set(points(study)) <= set(seen)
    assert len(set(points(study))) == 20


def test_it_finds_the_best_point_and_ends():
    study = run(1000, sampler=sampler(x_tol=1e-4))
    assert SPHERE.dist(bridge.point_of(study.best_trial, "x", SPHERE), GOAL) < 1e-4
    assert len(study.trials) < 150


def test_only_the_order_of_the_values_matters():
    plain = points(run())
    assert points(run(objective=lambda trial: math.exp(5 * cost(trial)))) == plain
    assert points(run(objective=lambda trial: -cost(trial), direction="maximize")) == plain


def test_several_points_and_a_start():
    space = {"turn": gd.Rotations(3), "mix": gd.Simplex(3)}
    both, mix = gd.Product(*space.values()), np.array([0.2, 0.3, 0.5])
    start = both.join(np.eye(3), np.full(3, 1 / 3))
    study = optuna.create_study(sampler=bridge.DuelSampler(space, seed=0, x0=start))

    def f(trial):
        turn, w = (bridge.suggest_point(trial, name, space[name]) for name in space)
        return space["turn"].dist(turn, np.eye(3)) + space["mix"].dist(w, mix)

    study.optimize(f, n_trials=150)
    assert study.best_value < 0.02
    assert study.trials[0].params.keys() == {
        *(f"turn[{i},{j}]" for i in range(3) for j in range(3)),
        *(f"mix[{i}]" for i in range(3)),
    }


@pytest.mark.parametrize("seed", [0, None])
def test_a_stored_study_goes_on_where_it_was(seed, tmp_path):
    file = optuna.storages.journal.JournalFileBackend(str(tmp_path / "optuna.log"))
    place = {"study_name": "s", "storage": optuna.storages.JournalStorage(file)}
    optuna.create_study(sampler=sampler(seed), **place)
    for _ in range(3):  # three processes, one after the other
        optuna.load_study(sampler=sampler(seed), **place).optimize(cost, n_trials=10)
    study = optuna.load_study(**place)
    assert len(set(points(study))) == 30
    if seed == 0:
        assert points(study) == points(run(30))


def test_processes_that_take_turns_do_not_repeat_each_other():
    storage = optuna.storages.InMemoryStorage()
    place = {"study_name": "s", "storage": storage}
    optuna.create_study(**place)
    both = [optuna.load_study(sampler=sampler(), **place) for _ in range(2)]
    for _ in range(30):
        trials = [study.ask() for study in both]
        values = [cost(trial) for trial in trials]
        for study, trial, value in zip(both, trials, values, strict=True):
            study.tell(trial, value)
    assert len(set(points(both[0]))) > 50  # two that begin at the same moment may meet
    assert both[0].best_value < 0.05


def test_trials_at_once():
    study = optuna.create_study(sampler=sampler())
    study.optimize(cost, n_trials=60, n_jobs=3)
    assert len(set(points(study))) == 60
    assert study.best_value == pytest.approx(run().best_value, abs=0.01)


def test_a_trial_that_died_is_tried_again():
    study = optuna.create_study(sampler=sampler())
    dead = study.ask()
    x = bridge.suggest_point(dead, "x", SPHERE)
    study.optimize(cost, n_trials=60)
    assert tuple(x.tolist()) in points(study)[1:]
    assert study.best_value < 0.05


@pytest.mark.parametrize("end", [ValueError, optuna.TrialPruned, None])
def test_points_without_a_value_lose(end):
    """Half of the sphere fails, is pruned or is NaN; a failure is tried once more."""

    def f(trial):
        x = bridge.suggest_point(trial, "x", SPHERE)
        if x[2] > 0.5:
            if end is None:
                return math.nan
            raise end
        return float(SPHERE.dist(x, GOAL))

    study = optuna.create_study(sampler=sampler(x0=np.array([0.0, 1.0, 0.0])))
    study.optimize(f, n_trials=150, catch=(ValueError,))
    best = bridge.point_of(study.best_trial, "x", SPHERE)
    assert best[2] <= 0.5
    assert SPHERE.dist(best, GOAL) < 0.5  # 0.40 is the least
    missed = [p for p, t in zip(points(study), study.trials, strict=True) if p[2] > 0.5]
    tries = {missed.count(p) for p in missed[:-1]}
    assert tries <= ({1} if end is optuna.TrialPruned else {1, 2})
    assert (max(tries) == 2) == (end is not optuna.TrialPruned)


def test_trials_that_were_enqueued_are_tried():
    study = optuna.create_study(sampler=sampler())
    study.enqueue_trial({"x[0]": 0.0, "x[1]": 1.0, "x[2]": 0.0})
    study.optimize(cost, n_trials=11)
    assert points(study)[0] == (0.0, 1.0, 0.0)
    assert points(study)[1:] == points(run(10))


def test_other_parameters_are_left_to_another_sampler():
    def f(trial):
        return cost(trial) + 1e-9 * trial.suggest_int("layers", 1, 4)

    other = optuna.samplers.RandomSampler(1)
    study = run(objective=f, sampler=sampler(independent_sampler=other))
    assert {trial.params["layers"] for trial in study.trials} == {1, 2, 3, 4}
    assert study.best_value < 0.05


def test_one_sampler_serves_one_study_after_the_other_and_other_processes():
    one = sampler()
    first, second = (run(sampler=one) for _ in "ab")
    assert points(first) == points(second) == points(run(sampler=pickle.loads(pickle.dumps(one))))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_goes_on_where_its_parent_was():
    study, through = run(10), run(20)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            study.optimize(cost, n_trials=10)
            status = int(points(study) != points(through))
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_a_study_with_two_values_is_refused():
    study = optuna.create_study(sampler=sampler(), directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match="multi-objective"):
        cost(study.ask())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (({},), "space must be a dict"),
        ((SPHERE,), "space must be a dict"),
        (({"x": 3},), r"space\['x'\] must be a Manifold, got 3"),
        (({"x": SPHERE}, "newton"), "method must be one of"),
    ],
)
def test_bad_settings_are_named_at_once(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        bridge.DuelSampler(*arguments)


def test_a_trial_without_the_point_says_so():
    study = optuna.create_study()
    with pytest.raises(ArgumentError, match=r"no point 'x'.*x\[0\]"):
        bridge.point_of(study.ask(), "x", SPHERE)


def test_without_optuna_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "geoduel.bridges.optuna")
    with pytest.raises(MissingExtraError, match=r"geoduel\[optuna\]"):
        importlib.import_module("geoduel.bridges.optuna")


# -- preferential studies ------------------------------------------------------------------------


def test_preferences_need_a_method_whose_questions_stand_alone():
    with pytest.raises(ArgumentError, match="method must be one made for people"):
        bridge.PreferenceSampler({"x": SPHERE}, method="duel-newton")


def asked(clicks, n_generate=3, seed=0):
    """A person who clicks the worst of the trials shown, as Optuna's dashboard has it."""
    preferential = pytest.importorskip("optuna_dashboard.preferential")
    chooser = bridge.PreferenceSampler({"x": SPHERE}, seed=seed)
    study = preferential.create_study(n_generate=n_generate, sampler=chooser)
    for _ in range(clicks):
        while study.should_generate():
            bridge.suggest_point(study.ask(), "x", SPHERE)
        worse = {trial.number for _, trial in study.preferences}
        shown = [trial for trial in study.trials if trial.number not in worse]
        shown.sort(key=lambda t: SPHERE.dist(bridge.point_of(t, "x", SPHERE), GOAL))
        study.report_preference(shown[:-1], shown[-1])
    return study, chooser


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_preferences_lead_to_the_ideal():
    study, chooser = asked(clicks=15)
    assert SPHERE.dist(chooser.recommend(study), GOAL) < 0.15
    assert chooser.uncertainty(study) < 0.3


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_preferences_that_are_taken_back_are_forgotten():
    study, chooser = asked(clicks=6)
    storage, number = study._study._storage, study._study._study_id
    knew = chooser.recommend(study)
    for key in storage.get_study_system_attrs(number):
        if key.startswith("preference:values"):
            storage.set_study_system_attr(number, key, [])
    forgot = chooser.recommend(study)
    assert not np.array_equal(forgot, knew)
    new, chooser = asked(clicks=0)
    assert np.array_equal(forgot, chooser.recommend(new))
