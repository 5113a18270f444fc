"""The Karcher experiment: its laws of matrices, and what its claims measure."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel.reproduce import EXPERIMENTS
from geoduel.reproduce.experiments.karcher import (
    LAWS,
    PAPER,
    claims,
    curvatures,
    growth,
    problem,
    richardson,
)

METHODS = {"RDNGD constant": 2e-4, "RDNGD cosine": 2e-9, "ZO-RGD": 1e-9, "RRDNGD": 1e-3}


def test_the_three_laws_are_three_problems_with_one_condition():
    problems = [problem(law, 5, 0) for law in LAWS]
    for p in problems:
        assert p.matrices.shape == (50, 5, 5)
        assert np.linalg.cond(p.matrices) == pytest.approx(1e6, rel=1e-3)
    assert len({float(p.optimal_value) for p in problems}) == 3


def test_the_experiment_of_the_paper_s_name_has_the_paper_s_law():
    assert "Matrix Means Toolbox" in LAWS[PAPER]
    one, two = EXPERIMENTS["karcher"].problem(5, 0), problem(PAPER, 5, 0)
    assert np.array_equal(one.matrices, two.matrices)


def test_claims_are_ratios_of_the_final_gaps(curve):
    found = [curve(k, [[1.0, end]] * 5, [0, 20], size=5) for k, end in METHODS.items()]
    made = {c.says: c for c in claims("uniform", found)}
    assert all(c.again and c.under == "uniform" for c in made.values())
    similar = made["RDNGD-cosine achieves accuracy comparable with ZO-RGD's"]
    assert similar.cases["n = 5"].value == pytest.approx(2)
    slightly = made["RDNGD-constant performed slightly worse than RDNGD-cosine"]
    assert slightly.cases["n = 5"].value == pytest.approx(1e5)


def test_ties_are_those_of_both_variants_and_of_no_other_method(curve):
    found = [curve(k, [[1.0, end]] * 2, [0, 20], size=5) for k, end in METHODS.items()]
    for record in found[-1].records:
        record["ties"] = 10  # of RRDNGD
    made = claims(PAPER, found)
    ties = next(c for c in made if "ν = 1e-8" in c.says)
    assert {name: e.value for name, e in ties.cases.items()} == {
        "n = 5, RDNGD constant": 0,
        "n = 5, RDNGD cosine": 0,
    }


def test_the_objective_is_convex_and_its_curvature_grows():
    p = problem(PAPER, 5, 0)
    assert curvatures(p).min() >= 1 - 1e-5  # 1-strongly convex
    assert growth(p) > 1
    assert richardson(p) < 1e-10
