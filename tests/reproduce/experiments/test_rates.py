"""Rates: no run needs more duels than its theorem allows, and exponents are fitted right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.reproduce import Plan
from geoduel.reproduce.claims import FAILS, HOLDS
from geoduel.reproduce.experiment import Outcome
from geoduel.reproduce.experiments.rates import RATES, SWEEPS, exponent


def test_exponents_are_recovered_with_their_error():
    rng = np.random.default_rng(0)
    values = np.geomspace(1e-4, 1e-1, 7)
    noise = 0.1 * rng.standard_normal((7, 50))
    points = [(v, {"duels": 3 * v**-1.5 * np.exp(e)}) for v, e in zip(values, noise, strict=True)]
    fit = exponent(points)  # of 1/ε, since ε is below 1
    error = (fit.high - fit.value) / 1.645
    assert abs(fit.value - 1.5) <= 4 * error
    # The standard error of a slope is σ/√(Σ (x - x̄)²).
    x = np.repeat(np.log(values), 50)
    assert error == pytest.approx(0.1 / math.sqrt(((x - x.mean()) ** 2).sum()), rel=0.15)
    dimensions = [(d, {"duels": [7 * d, 7 * d]}) for d in (4, 8, 16)]
    assert exponent(dimensions).value == pytest.approx(1)  # of d itself
    digits = [(eps, {"duels": [5 * math.log(1 / eps)] * 2}) for eps in (1e-3, 1e-6, 1e-9)]
    assert exponent(digits, logarithmic=True).value == pytest.approx(1)  # of log 1/ε


@pytest.mark.filterwarnings("ignore::geoduel.errors.RadiusWarning")  # the theorem's own radius
@pytest.mark.parametrize(
    ("name", "rule"), [(name, r) for name, s in SWEEPS.items() for r in s.rules]
)
def test_theorems_keep_their_promise(name, rule):
    """No run needs more duels than the theorem allows for its ε and d."""
    sweep = SWEEPS[name]
    hits, allowed = sweep.run(sweep.dimension, sweep.accuracies[0], 1, **sweep.rules[rule])
    assert np.isfinite(hits.duels).all()
    assert hits.duels.max() <= allowed


def test_table_1_states_iterations_and_duels():
    """For RDFW they differ: 1/ε against d/ε²."""
    stated = SWEEPS["frank-wolfe"].stated
    assert stated["eps", "iterations"] == 1
    assert stated["eps", "duels"] == 2
    assert stated["d", "iterations"] == 0
    assert all(s.stated["d", "duels"] == 1 for s in SWEEPS.values())


def outcomes(name, take):
    """As if every run had taken a share of the printed bound."""
    sweep = SWEEPS[name]
    made = []
    for task in RATES.tasks(Plan()):
        s = task.settings
        if s["study"] == name and s["rule"] == "printed":
            iterations, duels = sweep.bound(s["d"], s["eps"], **sweep.rules["printed"])
            record = {
                "iterations": [take * iterations] * 3,
                "duels": [take * duels] * 3,
                "allowed": duels,
                "missed": 0,
            }
            made.append(Outcome("rates", task, record))
    return made


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize(("take", "verdict"), [(0.5, HOLDS), (1.5, FAILS)])
def test_a_row_of_table_1_holds_below_its_bound(name, take, verdict):
    row, growth = RATES.section(Plan(), outcomes(name, take)).claims
    assert row.verdict == verdict
    assert {round(e.value, 6) for e in row.cases.values()} == {take}
    assert growth.verdict == HOLDS  # the bounds are what they are


def test_runs_that_missed_their_bound_fail():
    made = outcomes("bowl", 0.5)
    made[0].record["missed"] = 1
    row, _ = RATES.section(Plan(), made).claims
    assert row.cases["duels, along 1/ε"].value == math.inf


def test_the_printed_rule_comes_first_and_is_measured_at_fewer_points():
    for sweep in SWEEPS.values():
        printed, better = sweep.rules
        assert printed == "printed"
        points = sweep.points(better, quick=False)
        assert set(sweep.points(printed, quick=False)) < set(points)
        assert sweep.points(better, quick=True) == sweep.points(printed, quick=False)
        assert len(sweep.points(printed, quick=True)) == 4


def test_rdngd_needs_more_duels_in_higher_dimension():
    """Table 1: in proportion to d."""
    few, many = (SWEEPS["bowl"].run(d, 1e-2, 0, rule="tight")[0].duels.mean() for d in (4, 16))
    assert few < many
    assert 2.5 < many / few < 6.5
