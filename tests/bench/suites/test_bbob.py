"""COCO's functions: optimum, start, groups; where coco-experiment is installed."""

import sys

import numpy as np
import pytest

from geoduel.bench import plan, run_one
from geoduel.bench.suites.bbob import BBOB, PROBLEMS, TARGETS
from geoduel.errors import MissingExtraError


def test_there_are_24_functions_in_four_dimensions():
    assert len(PROBLEMS) == 96
    assert set(BBOB.quick) < set(PROBLEMS)
    assert TARGETS[0] == pytest.approx(10)
    assert TARGETS[-1] == pytest.approx(1e-8)


@pytest.mark.parametrize("name", ["f1-d2", "f7-d5", "f24-d10"])
def test_the_optimum_is_the_least_value(name):
    pytest.importorskip("cocoex")
    case = PROBLEMS[name](1)
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


def test_without_coco_its_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cocoex", None)
    with pytest.raises(MissingExtraError, match="coco-experiment"):
        PROBLEMS["f2-d2"](9)
