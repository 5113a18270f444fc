"""Solvers of other packages: they see duels alone, and get what a ranking costs."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.bench import OTHERS, Case, Meter, Suite, plan, run
from geoduel.bench.others import Places
from geoduel.errors import MissingExtraError

NEEDS = {
    "pycma": "cma",
    "pycma-ipop": "cma",
    "nevergrad-one-plus-one": "nevergrad",
    "nevergrad-pso": "nevergrad",
    "scipy-nelder-mead": "scipy",
    "pymanopt-nelder-mead": "pymanopt",
    "pymanopt-pso": "pymanopt",
    "optuna-preferential": "optuna_dashboard",
    "botorch-eubo": "botorch",
}


def bend(seed):
    goal = np.array([0.0, 0.6, 0.8])
    sphere = gd.Sphere(3)
    return Case(sphere, lambda x: float(sphere.dist(x, goal)) ** 2, np.array([0.0, 1.0, 0.0]), 0.0)


def test_every_solver_names_its_package():
    assert set(NEEDS) == set(OTHERS)


SLOW = ("pymanopt-nelder-mead", "optuna-preferential", "botorch-eubo")  # 10 ms to 1 s a duel


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in OTHERS]
)
def test_it_comes_closer_by_duels_alone(name):
    pytest.importorskip(NEEDS[name])
    few = name in ("optuna-preferential", "botorch-eubo")
    suite = {"toys": Suite("Toys", {"bend": bend}, budget=10 if few else 120, seeds=(0, 1))}
    [record] = run(plan(suite, [name]))
    assert record["stop"] in ("budget", "reached")
    assert record["duels"] <= 2 * suite["toys"].budget
    assert record["gap"] < (1.0 if few else 0.4) * bend(0).gap(bend(0).x0)


@pytest.mark.parametrize("name", [n for n in OTHERS if n != "scipy-nelder-mead"])
def test_a_missing_package_is_named(name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, NEEDS[name], None)
    if name == "optuna-preferential":
        pytest.importorskip("optuna")
    if name == "botorch-eubo":
        pytest.importorskip("torch")
    with pytest.raises(MissingExtraError, match=NEEDS[name]):
        OTHERS[name](Meter(bend(0), 9, np.random.default_rng(0)))


def test_places_are_in_the_order_of_f_and_cost_a_bisection_each():
    case = Case(gd.Euclidean(1), lambda x: float(x[0] ** 2), np.array([2.0]), 0.0)
    meter = Meter(case, 10_000, np.random.default_rng(0))
    value_of = Places(meter)
    points = np.random.default_rng(1).uniform(-1, 1, (100, 1))
    values = [value_of(x) for x in points]
    np.testing.assert_array_equal(np.argsort(values), np.argsort(points[:, 0] ** 2))
    assert meter.duels <= sum(math.ceil(math.log2(n + 1)) for n in range(100))
