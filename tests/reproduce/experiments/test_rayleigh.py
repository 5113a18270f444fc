"""The Rayleigh experiment: quick runs are a tenth, and the claims compare the ends."""

from __future__ import annotations

import pytest

from geoduel.reproduce.experiments.rayleigh import RAYLEIGH, claims


def test_quick_runs_are_a_tenth_as_long():
    quick, full = (
        {line.label: line.settings for line in RAYLEIGH.lines(100, q)} for q in (True, False)
    )
    assert quick.keys() == full.keys()
    for label in ("RDNGD constant", "RDNGD cosine", "ZO-RGD"):
        assert 10 * quick[label]["iterations"] == full[label]["iterations"]


def test_claims_are_ratios_of_the_final_gaps(curve):
    ends = {"RDNGD constant": 1e-3, "RDNGD cosine": 1e-8, "ZO-RGD": 1e-6}
    found = [curve(label, [[1.0, 1e-4, end]], [0, 10, 20]) for label, end in ends.items()]
    cosine, constant, time = claims(found)[:3]
    assert cosine.ratio == pytest.approx(1e-2)
    assert constant.ratio == pytest.approx(1e5)
    assert time.ratio == 1  # all are below 1e-3 after as many seconds
    assert cosine.where == "5.1, d = 100"
