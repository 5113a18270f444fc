"""Simulated people: the start is half a world away, and answers are mostly right."""

import numpy as np
import pytest

from geoduel.bench.suites.people import PEOPLE, PROBLEMS


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_person_mostly_prefers_what_is_nearer(name):
    case = PROBLEMS[name](0)
    assert case.gap(case.x0) == pytest.approx(case.manifold.typical_dist / 2, rel=1e-6)
    values = iter([0.3, 0.7] * 500)
    oracle = case.oracle(lambda x: next(values) * case.gap(case.x0), np.random.default_rng(0))
    x, y = np.zeros_like(case.x0), np.ones_like(case.x0)
    right = np.mean([oracle(x + 2 * i, y + 2 * i) < 0 for i in range(500)])
    assert 0.96 < right < 1  # four standard errors of the noise, and lapses: half of 2 % are wrong
    assert set(PEOPLE.quick) < set(PROBLEMS)
