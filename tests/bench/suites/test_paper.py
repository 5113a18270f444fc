"""The paper's problems: known optima, and domains where the paper has them."""

import numpy as np
import pytest

from geoduel.bench.suites.paper import PAPER, PROBLEMS


@pytest.mark.parametrize("name", PROBLEMS)
def test_starts_and_optima(name):
    case = PROBLEMS[name](1)
    case.manifold.check_point(case.x0)
    assert case.gap(case.x0) > 0
    assert (case.domain is not None) == name.endswith("interval")
    assert case.domain is None or case.domain.contains(case.x0)


def test_seeds_make_different_problems():
    a, b = (PROBLEMS["rayleigh-20"](seed) for seed in (0, 1))
    assert not np.array_equal(a.x0, b.x0)
    assert set(PAPER.quick) < set(PROBLEMS)
