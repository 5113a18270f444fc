"""What the errata change shows in short runs."""

from __future__ import annotations

import pytest

from geoduel.reproduce import EXPERIMENTS, Plan


@pytest.fixture(scope="module")
def errata():
    """Records of the quick errata by what they show."""
    experiment = EXPERIMENTS["errata"]
    tasks = experiment.tasks(Plan(quick=True, seeds=1))
    return {
        t.label: experiment.run({**t.settings, "draws": 100})
        for t in tasks
        if "float32, radius" not in t.label and "d = 4" not in t.label
    }


@pytest.mark.parametrize("eps", ["1e-06", "1e-08"])
def test_growing_accuracies_stall(errata, eps):
    """Erratum E1: the printed ε_k grow, and the run ends where its first phases left it."""
    printed = errata[f"RRDNGD, d = 1, ε = {eps}, ε_k as printed"]["gap"]
    proven = errata[f"RRDNGD, d = 1, ε = {eps}, ε_k as the proof needs"]["gap"]
    assert proven[-1] <= float(eps) < printed[-1]
    half = len(printed) // 2
    assert printed[half] == printed[-1]  # no progress any more


@pytest.mark.parametrize("eps", ["1e-06", "1e-08"])
def test_the_printed_numbers_stall_where_another_program_found(errata, eps):
    """8.024e-5 on f = x²/2 in R for either target, in a program that shares nothing with this."""
    end = errata[f"RRDNGD, d = 1, ε = {eps}, ε_k as printed"]["gap"][-1]
    assert end == pytest.approx(8.024e-5, rel=1e-3)


def test_radii_below_rounding_make_coin_flips(errata):
    """Erratum E9: in float32 a radius of 1e-6 tells nothing, in float64 it does."""
    single, double = (errata[f"right signs: Rayleigh, {t}"] for t in ("float32", "float64"))
    at = dict(zip(single["radius"], range(99), strict=False))
    assert 0.3 < single["right"][at[1e-8]] < 0.7
    assert single["right"][at[1e-3]] > 0.97
    assert double["right"][at[1e-8]] > 0.97
