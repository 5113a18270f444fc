"""The Karcher experiment: its laws of matrices, and what its claims compare."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel.reproduce import EXPERIMENTS
from geoduel.reproduce.experiments.karcher import claims


def test_the_three_laws_are_three_problems_with_one_condition():
    problems = [
        EXPERIMENTS[name].problem(5, 0)
        for name in ("karcher", "karcher-uniform", "karcher-toolbox")
    ]
    for problem in problems:
        assert problem.matrices.shape == (50, 5, 5)
        assert np.linalg.cond(problem.matrices) == pytest.approx(1e6, rel=1e-3)
    assert len({float(p.optimal_value) for p in problems}) == 3


def test_claims_are_ratios_of_the_final_gaps(curve):
    ends = {"RDNGD constant": 2e-4, "RDNGD cosine": 2e-9, "ZO-RGD": 1e-9, "RRDNGD": 1e-3}
    found = [curve(label, [[1.0, end]], [0, 20], size=5) for label, end in ends.items()]
    made = claims("uniform", found)
    assert made[0].ratio == pytest.approx(2)
    assert made[1].ratio == pytest.approx(1e5)
    assert made[2].measured == "0.0% ties at most"
    assert made[3].measured.startswith("residual ")
