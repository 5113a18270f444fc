"""Histories stay short and even; the bar goes to standard error."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import pytest

from geoduel._support.progress import RECORDS, progress_bar, round_up, thin
from geoduel.errors import MissingExtraError


@dataclass
class History:
    iteration: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    unused: list[float] = field(default_factory=list)


def test_a_history_is_thinned_evenly():
    history, stride = History(), 1
    for k in range(10_000):
        if k % stride == 0:
            history.iteration.append(k)
            history.value.append(k / 2)
            stride = thin(history, stride)
    assert RECORDS < len(history.iteration) <= 2 * RECORDS
    assert history.iteration == list(range(0, 10_000, stride))
    assert history.value == [k / 2 for k in history.iteration]
    assert history.unused == []


def test_a_short_history_is_left_alone():
    history = History(list(range(2 * RECORDS)))
    assert thin(history, 7) == 7
    assert len(history.iteration) == 2 * RECORDS


@pytest.mark.parametrize(
    ("value", "rounded"), [(0.3, 1), (1, 1), (1.2, 2), (3, 5), (10, 10), (12.3, 20), (999, 1000)]
)
def test_strides_are_round(value, rounded):
    assert round_up(value) == rounded


def test_a_bar_counts_iterations_or_else_duels(capsys):
    pytest.importorskip("rich")
    for iterations, budget in ((10, None), (None, 10)):
        with progress_bar(True, iterations, budget) as show:
            assert show is not None
            show(5, 5)
    assert capsys.readouterr().out == ""


def test_no_bar_is_no_function():
    with progress_bar(False, 10, None) as show:
        assert show is None


def test_without_rich_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(MissingExtraError, match="rich"), progress_bar(True, 10, None):
        pass
