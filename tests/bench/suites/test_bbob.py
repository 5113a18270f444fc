"""COCO's functions: optimum, start, groups; where coco-experiment is installed."""

import sys

import numpy as np
import pytest

from geoduel.bench import plan, run_one
from geoduel.bench.suites.bbob import BBOB, MIXINT, TARGETS
from geoduel.errors import MissingExtraError


def test_there_are_24_functions_in_four_dimensions():
    assert len(BBOB.problems) == 96
    assert set(BBOB.quick) < set(BBOB.problems)
    assert TARGETS[0] == pytest.approx(10)
    assert TARGETS[-1] == pytest.approx(1e-8)


@pytest.mark.parametrize("name", ["f1-d2", "f7-d5", "f24-d10"])
def test_the_optimum_is_the_least_value(name):
    pytest.importorskip("cocoex")
    case = BBOB.problems[name](1)
    assert (abs(case.x0) <= 4).all()
    assert case.step == pytest.approx(2 * np.sqrt(case.manifold.dim))
    assert case.draw is not None
    rng = np.random.default_rng(0)
    assert all(case.gap(case.draw(rng)) > 0 for _ in range(50))


def test_the_sphere_function_is_solved_and_not_passed():
    pytest.importorskip("cocoex")
    [task] = plan(["bbob"], problems=["f1-d2"], seeds=1, budget=100)
    record = run_one(task)
    assert record["group"] == "separable, d = 2"
    assert record["stop"] == "reached"
    assert record["gap"] > -1e-12


@pytest.mark.parametrize("name", ["f1-d5", "f8-d10"])
def test_whole_numbers_stand_before_real_ones(name):
    pytest.importorskip("cocoex")
    assert len(MIXINT.problems) == 72
    case, rng = MIXINT.problems[name](2), np.random.default_rng(0)
    case.manifold.check_point(case.x0)
    d = int(name.split("d")[1])
    assert (case.dim, case.manifold.dim) == (d, d // 5)
    assert [factor.bounds[1] + 1 for factor in case.manifold.factors[: d // 5]] == [2] * (d // 5)
    assert case.draw is not None
    assert all(case.gap(case.draw(rng)) > 0 for _ in range(50))


@pytest.mark.parametrize("method", ["auto", "pycma", "one-plus-one-cma"])
def test_solvers_reach_the_optimum_of_whole_and_real_numbers(method):
    pytest.importorskip("cocoex")
    if method == "pycma":
        pytest.importorskip("cma")
    [task] = plan(["mixint"], [method], problems=["f1-d5"], seeds=1, budget=300)
    record = run_one(task)
    assert record["d"] == 5
    assert record["gap"] < 5.0
    if method == "auto":
        assert record["stop"] == "reached"


def test_without_coco_its_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cocoex", None)
    with pytest.raises(MissingExtraError, match="coco-experiment"):
        BBOB.problems["f2-d2"](9)
