"""The theorems keep their promise on flat and curved spaces, and break where theory says so."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel import theory
from geoduel.reproduce import EXPERIMENTS, Plan
from geoduel.reproduce.claims import HOLDS
from geoduel.reproduce.experiment import Outcome
from geoduel.reproduce.experiments.theorems import SILENT, SPACES, setup

EXPERIMENT = EXPERIMENTS["theorems"]


def tasks(**wanted):
    return [
        t
        for t in EXPERIMENT.tasks(Plan())
        if all(t.settings[name] == value for name, value in wanted.items())
    ]


def outcomes(chosen, copies=6):
    made = []
    for task in chosen:
        task.settings["copies"] = copies
        made.append(Outcome("theorems", task, EXPERIMENT.run(task.settings)))
    return made


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("theorem", ["3.7", "4.1"])
def test_problems_are_as_stated(space, theorem):
    s = setup(space, theorem)
    assert s.domain.contains(s.x0)
    assert s.domain.contains(s.optimum)
    assert s.manifold.dist(s.x0, s.optimum) == pytest.approx(1)
    assert s.f(s.optimum) == 0
    assert theory.zeta_bar(s.kappa, s.domain.diameter) > 1 or space == "R⁴"


def test_curvature_enters_the_numbers():
    """ζ̄ = 2/tanh 2 = 2.07 on the disc of radius 1 in H²."""
    assert pytest.approx(2.0745, abs=1e-3) == setup("H²", "3.7").L


@pytest.mark.parametrize("space", ["R⁴", "H²"])
def test_theorem_3_7_is_kept(space):
    (made,) = outcomes(tasks(theorem="3.7", space=space, step="constant", rule="tight", oracle=""))
    assert np.mean(made.record["left"]) < made.task.settings["eps"]


def test_phases_of_theorem_3_10_end_below_their_accuracies():
    chosen = tasks(theorem="3.10", space="H²", rule="tight, direct", oracle="")
    (made,) = outcomes(chosen)
    gaps = made.record["watch"]["gap"]
    assert len(gaps) >= 5
    assert all(gap <= 0.5 ** (k + 2) for k, gap in enumerate(gaps))


def test_an_optimum_on_the_boundary_breaks_theorems_3_7_and_4_1():
    """Erratum E5, f = x_1 on the unit ball of R¹⁰: T = 2 leaves about 0.63, not 0.05."""
    short, wide = outcomes(tasks(space=SILENT), copies=16)
    assert short.record["iterations"] == 2
    assert np.mean(short.record["left"]) == pytest.approx(0.63, abs=0.15)
    assert np.mean(wide.record["left"]) > 5 * wide.record["eps"]
    claims = {c.where[0]: c for c in EXPERIMENT.section(Plan(), [short, wide]).claims}
    assert SILENT in claims["Theorem 3.7"].why


@pytest.mark.parametrize("lie", ["reversed", "constant", "coin"])
def test_a_control_does_not_keep_the_theorem(lie):
    (task,) = tasks(theorem="3.7", space="R⁴", step="constant", rule="tight")
    task.settings["oracle"] = lie
    (made,) = outcomes([task])
    assert np.mean(made.record["left"]) > made.task.settings["eps"]


def test_claims_take_printed_rules_as_cases_and_lies_as_controls():
    left = {"": [0.01, 0.02, 0.01], "coin": [0.4, 0.5, 0.6]}
    made = [
        Outcome(
            "theorems",
            t,
            {"left": left[t.settings["oracle"] and "coin"], "iterations": 9, "duels": 18},
        )
        for t in tasks(theorem="3.7")
        if t.settings["space"] != SILENT
    ]
    claim = next(c for c in EXPERIMENT.section(Plan(), made).claims if "x̂) − f* <" in c.says)
    assert len(claim.cases) == 6  # three spaces, two schedules
    assert len(claim.controls) == 3
    assert claim.verdict == HOLDS


def test_a_liar_is_no_control_of_stationarity():
    lies = {t.settings["oracle"] for t in tasks(theorem="3.6")}
    assert lies == {"", "constant", "coin"}
