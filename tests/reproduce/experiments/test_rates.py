"""Rates: no run needs more duels than its theorem allows, and exponents are fitted right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.reproduce.experiments.rates import SWEEPS, exponent


def test_exponents_are_recovered_with_their_error():
    rng = np.random.default_rng(0)
    values = np.geomspace(1e-4, 1e-1, 7)
    noise = 0.1 * rng.standard_normal((7, 50))
    points = [(v, {"duels": 3 * v**-1.5 * np.exp(e)}) for v, e in zip(values, noise, strict=True)]
    line = exponent(points)  # of 1/ε, since ε is below 1
    assert abs(line.slope - 1.5) <= 4 * line.stderr
    assert abs(np.exp(line.intercept) - 3) < 0.5
    # The standard error of a slope is σ/√(Σ (x - x̄)²).
    x = np.repeat(np.log(values), 50)
    assert line.stderr == pytest.approx(0.1 / math.sqrt(((x - x.mean()) ** 2).sum()), rel=0.15)
    dimensions = [(d, {"duels": [7 * d, 7 * d]}) for d in (4, 8, 16)]
    assert exponent(dimensions).slope == pytest.approx(1)  # of d itself


@pytest.mark.filterwarnings("ignore::geoduel.errors.RadiusWarning")  # the theorem's own radius
@pytest.mark.parametrize("name", SWEEPS)
def test_theorems_keep_their_promise(name):
    """No run needs more duels than the theorem allows for its ε and d."""
    sweep = SWEEPS[name]
    duels, allowed = sweep.run(sweep.dimension, sweep.accuracies[0], 1)
    assert np.isfinite(duels).all()
    assert duels.max() <= allowed


def test_rdngd_needs_more_duels_in_higher_dimension():
    """Table 1: in proportion to d."""
    few, many = (SWEEPS["bowl"].run(d, 1e-2, 0)[0].mean() for d in (4, 16))
    assert few < many
    assert 2.5 < many / few < 6.5
