"""Answers with errors: of the kind and rate that the name says."""

import numpy as np
import pytest

from geoduel.bench.suites.noise import KINDS, NOISE, PROBLEMS


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_of_wrong_answers(kind):
    """Of a pair whose values differ by half the first gap."""
    case = PROBLEMS[f"bowl-2-{kind}"](0)
    first = case.gap(case.x0)
    values = iter([0.0, first / 2] * 1000)
    oracle = case.oracle(lambda x: next(values), np.random.default_rng(0))
    answers = np.array([oracle(np.array([i, 0.0]), np.array([i, 1.0])) for i in range(1000)])
    wrong = {
        "flip-5": 0.05, "flip-20": 0.2, "flip-35": 0.35, "lapse-10": 0.05,
        "logistic-0.3": 1 / (1 + np.exp(0.5 / 0.3)),
    }.get(kind, 0.0)  # fmt: skip
    assert abs(np.mean(answers > 0) - wrong) <= 4 * np.sqrt(wrong * (1 - wrong) / 1000)
    assert (answers != 0).all()


@pytest.mark.parametrize("size", [1e-3, 1e-2, 0.1])
def test_just_noticeable_differences_tie(size):
    case = PROBLEMS[
        f"kinked-5-jnd-{size:g}" if size == 0.1 else f"kinked-5-jnd-1e{int(np.log10(size))}"
    ](0)
    first = case.gap(case.x0)
    for share, tie in ((0.9, True), (1.1, False)):
        values = iter([0.0, share * float(size) * first])
        oracle = case.oracle(lambda x, values=values: next(values), np.random.default_rng(0))
        assert (oracle(np.zeros(5), np.ones(5)) == 0) == tie


def test_names():
    assert len(PROBLEMS) == 4 * len(KINDS)
    assert set(NOISE.quick) < set(PROBLEMS)
