"""The Rayleigh experiment: quick runs are a tenth, and its claims measure what they say."""

from __future__ import annotations

import pytest

from geoduel.reproduce.claims import HOLDS
from geoduel.reproduce.experiments.rayleigh import RAYLEIGH, claims, largest_curvature, problem


def test_quick_runs_are_a_tenth_as_long():
    quick, full = (
        {line.label: line.settings for line in RAYLEIGH.lines(100, q)} for q in (True, False)
    )
    assert quick.keys() == full.keys()
    for label in ("RDNGD constant", "RDNGD cosine", "ZO-RGD", "RDNGD cosine, coin"):
        assert 10 * quick[label]["iterations"] == full[label]["iterations"]


def test_the_smoothness_constant_is_attained_and_not_exceeded():
    """L = λ_max - λ_min, from the optimum towards the least eigenvector."""
    assert largest_curvature(problem(20, 0), 0) == pytest.approx(1, abs=1e-5)


def test_claims_measure_the_final_gaps(curve):
    ends = {"RDNGD constant": 1e-3, "RDNGD cosine": 1e-8, "ZO-RGD": 1e-6, "RGD": 0.0}
    found = [curve(k, [[1.0, 1e-4, end]] * 5, [0, 10, 20]) for k, end in ends.items()]
    made = {c.says: c for c in claims(found)}
    similar = made["RDNGD-cosine achieves accuracy comparable with ZO-RGD's"]
    assert similar.cases["d = 100"].value == pytest.approx(1e-2)
    worse = made["RDNGD-constant performed worse than RDNGD-cosine and ZO-RGD"]
    assert worse.cases["d = 100, over RDNGD cosine"].value == pytest.approx(1e5)
    assert made["f* = −λ_max/2"].verdict == HOLDS
    assert all(
        set(c.where) <= {"5.1.1", "figure 1", "figure 7", "appendix I.1"} for c in made.values()
    )
