"""Two versions: equal runs pass, a real loss fails, a loss within the noise does not."""

import math

import numpy as np
import pytest

from geoduel.bench import changes
from geoduel.bench.against import copied


def runs(record, factor, spread=0.0, count=20, **more):
    noise = np.exp(spread * np.random.default_rng(0).standard_normal(count))
    return [
        record([10 * factor * e, 50 * factor * e], seed=s, problem=f"p{s % 4}", **more)
        for s, e in enumerate(noise)
    ]


def test_the_same_runs_have_not_changed(record):
    [change] = changes(runs(record, 1), runs(record, 1, seconds=0.2))
    assert (change.ratio, change.error, change.runs, change.failed) == (1, 0, 20, False)


@pytest.mark.parametrize(("factor", "spread", "failed"), [
    (1.04, 0.0, False), (1.06, 0.0, True), (0.5, 0.0, False), (1.2, 0.1, True), (1.2, 2.0, False),
])  # fmt: skip
def test_a_loss_fails_only_above_a_twentieth_and_beyond_the_noise(record, factor, spread, failed):
    [change] = changes(runs(record, factor, spread), runs(record, 1))
    assert change.failed == failed


def test_a_target_that_is_lost_counts_as_twice_the_budget(record):
    now, then = record([10, None], d=2, budget=100), record([10, 100], d=2, budget=100)
    [change] = changes([now, now | {"seed": 1}], [then, then | {"seed": 1}])
    assert change.ratio == pytest.approx(math.sqrt(400 / 100))


def test_only_shared_runs_count_and_the_worst_problem_is_named(record):
    now = [record([20], problem="slow"), record([10], problem="new")]
    [change] = changes(now, [record([10], problem="slow"), record([10], problem="gone")])
    assert change.runs == 1
    assert change.worst == "slow: 2.00"
    assert not change.failed  # one run says nothing about noise
    assert changes(now, [record([10], method="another", problem="slow")]) == []


def test_one_run_is_not_compared_with_itself(record):
    then = runs(record, 1)
    now = [*then[:5], *runs(record, 2)[5:]]
    [change] = changes(now, then)
    assert change.runs == 15
    assert change.ratio == pytest.approx(2)
    assert copied(now, then) == 5


def test_problems_with_other_targets_are_not_compared(record):
    then = record([10, 20])
    for more in ({"targets": [1.0, 0.2]}, {"targets": [1.0, None]}, {"d": 3}):
        assert changes([record([30, 60]) | more], [then]) == []
    assert changes([record([30, 60, 90])], [then]) == []
