"""How a run ends: errors and warnings carry what it found; what listeners say is looked at."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from geoduel._support.endings import carry, listen, wants_to_stop, warn
from geoduel.errors import ArgumentError, TiesWarning


def test_an_error_carries_what_was_found():
    error = KeyError("a")
    carry(error, "found", 3, "7 duels")
    assert vars(error)["result"] == "found"
    assert error.__notes__[0].startswith("the run had finished 3 iterations, with 7 duels asked;")


def test_a_warning_carries_it_only_as_an_error():
    def caller():
        warn(TiesWarning, "many", "found")

    with pytest.warns(TiesWarning, match="many") as seen:
        caller()
    assert seen[0].filename == __file__
    assert TiesWarning.result is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TiesWarning, match="many") as caught:
            caller()
    assert caught.value.result == "found"


def test_what_a_listener_raises_is_its_own_but_for_the_end_of_a_loop():
    assert listen(len, "four", "monitor") == 4
    with pytest.raises(TypeError):
        listen(len, 4, "monitor")
    with pytest.raises(ArgumentError, match=r"callback raised StopIteration; .* returns True"):
        listen(next, iter([]), "callback")


def test_what_has_to_be_awaited_is_no_answer():
    async def later(_):
        return False

    with pytest.raises(ArgumentError, match="callback must answer at once, it returned <coroutine"):
        listen(later, "four", "callback")  # as a lambda that calls it


@pytest.mark.parametrize("said", [np.array([1, 2]), np.array([])])
def test_neither_true_nor_false_is_refused(said):
    assert wants_to_stop(np.array([True]))
    assert not wants_to_stop(None)
    with pytest.raises(ArgumentError, match="callback must return something true"):
        wants_to_stop(said)
