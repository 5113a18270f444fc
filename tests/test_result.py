"""What a run returns: finding records, and showing a result without its arrays."""

from __future__ import annotations

import copy
import importlib
from contextlib import suppress
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from pkgutil import walk_packages

import numpy as np
import pytest

import geoduel as gd
from geoduel.result import MESSAGES, shown


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
    assert vars(other) == vars(gd.History()) == vars(gd.History([], [], [], []))


def test_what_holds_arrays_can_be_compared():
    """NumPy answers `==` with an array, whose truth is an error: they are equal to themselves."""
    for one in (result(), gd.History(points=[np.ones(2)])):
        assert one == one
        assert one != copy.deepcopy(one)
        assert one in [copy.deepcopy(one), one]


def test_no_dataclass_compares_arrays():
    for module in walk_packages(gd.__path__, "geoduel."):
        with suppress(ImportError):  # of an extra
            for kind in vars(importlib.import_module(module.name)).values():
                if isinstance(kind, type) and is_dataclass(kind) and "geoduel" in kind.__module__:
                    types = {str(f.type) for f in fields(kind) if f.compare}
                    arrays = types & {"Array", "np.ndarray", "torch.Tensor", "list[Array]"}
                    compares = kind.__dataclass_params__.eq  # type: ignore[attr-defined]
                    assert not (arrays and compares), f"{kind} needs eq=False"


def test_a_result_is_shown_in_one_line():
    assert repr(result(noise=0.1)) == (
        "Result(x=array of shape (4, 3), stop_reason='budget', duels=20, ties=1, iterations=10, "
        "rounds=15, uncertainty=None, noise=0.1, seconds=0.123)"
    )


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (np.array([1 / 3, -2.0]), "[0.3333, -2]"),
        (np.eye(3)[:2], "[[1, 0, 0], [0, 1, 0]]"),
        (np.array([1e-12, 1e6, 123456.7]), "[1e-12, 1e+06, 1.235e+05]"),
        (np.zeros(10), "array of shape (10,)"),
        (np.zeros((0, 3)), "[]"),
    ],
)
def test_a_short_point_is_shown(x, text):
    assert shown(x) == text


@pytest.mark.parametrize("reason", [*MESSAGES, "words of a method"])
def test_every_end_has_a_sentence(reason):
    said = replace(result(), stop_reason=reason)
    assert said.message.endswith(".")
    assert said.success == (reason in ("x_tol", "resolution", "iterations", "items"))


def test_scipys_names_and_keys():
    """As of `scipy.optimize.OptimizeResult`; and it can be spread out as a dict."""
    found = result()
    assert (found.nit, found.nfev) == (10, 20) == (found["nit"], found["nfev"])
    assert found["stop_reason"] == "budget"
    assert dict(**found)["duels"] == 20
    with pytest.raises(KeyError, match="fun"):
        found["fun"]


def test_what_a_method_does_not_estimate_is_none():
    assert (result().noise, result().uncertainty) == (None, None)
    assert (result(noise=0.1, uncertainty=2.0).noise, result().noise) == (0.1, None)


def test_a_result_is_not_changed():
    with pytest.raises(FrozenInstanceError):
        result().duels = 0
