"""What a run returns: finding records, and showing a result without its arrays."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import geoduel as gd


def result(**more) -> gd.Result:
    x = np.zeros((4, 3))
    return gd.Result(x, x, 10, 20, 1, 15, "budget", 0.123456, gd.History(), **more)


def test_at_is_the_last_record_at_or_before_the_iteration():
    history = gd.History(iteration=[0, 1, 5, 10])
    assert [history.at(k) for k in (0, 1, 4, 5, 9, 10, 1000)] == [0, 1, 1, 2, 2, 3, 3]
    with pytest.raises(ValueError, match="empty"):
        history.at(-1)


def test_histories_share_nothing():
    one, other = gd.History(), gd.History()
    for records in (one.iteration, one.duels, one.seconds, one.monitor):
        records.append(1)
    assert other == gd.History() == gd.History([], [], [], [])


def test_a_result_is_shown_in_one_line():
    assert repr(result(noise=0.1)) == (
        "Result(x=array of shape (4, 3), iterations=10, duels=20, ties=1, rounds=15, "
        "stop_reason='budget', seconds=0.123)"
    )


def test_what_a_method_does_not_estimate_is_none():
    assert (result().noise, result().uncertainty) == (None, None)
    assert (result(noise=0.1, uncertainty=2.0).noise, result().noise) == (0.1, None)


def test_a_result_is_not_changed():
    with pytest.raises(FrozenInstanceError):
        result().duels = 0
