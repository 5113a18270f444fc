"""Checks: what is right comes back, what is wrong is named with its value and what was expected."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from geoduel._support.check import (
    as_generator,
    function,
    nonnegative,
    one_of,
    positive,
    positive_int,
    positive_shape,
    real,
    truth,
)
from geoduel.errors import ArgumentError


@pytest.mark.parametrize("check", [real, positive, nonnegative])
@pytest.mark.parametrize("value", [1, 1.5, np.float32(1.5), np.int64(2)])
def test_numbers_come_back_as_floats(check, value):
    number = check(value, "size")
    assert type(number) is float
    assert number == value


@pytest.mark.parametrize("check", [real, positive, nonnegative])
@pytest.mark.parametrize("value", ["1", None, True, float("nan"), float("inf"), 1j, [1.0]])
def test_no_finite_number_is_named(check, value):
    with pytest.raises(ArgumentError, match="size must be a finite number, got"):
        check(value, "size")


@pytest.mark.parametrize("check", [real, positive, nonnegative])
def test_whole_numbers_beyond_all_floats_are_named(check):
    with pytest.raises(
        ArgumentError, match=r"size must be a finite number, at most 1\.8e\+308 in size, got more"
    ):
        check(10**400, "size")


def test_functions_that_do_nothing_when_they_are_called_are_named():
    async def waits(x):
        return x

    class Waits:
        async def __call__(self, x):
            return x

    for f in (waits, Waits(), partial(waits)):
        with pytest.raises(ArgumentError, match=r"f must answer at once; .* has to be awaited"):
            function(f, "f", "a point")
        function(f, "f", "a point", may_wait=True)

    def yields(x):
        yield x

    async def both(x):
        yield x

    for f in (yields, both):
        with pytest.raises(ArgumentError, match=r"f must return its answer; .* has a yield"):
            function(f, "f", "a point", may_wait=True)


def test_zero_is_nonnegative_and_not_positive():
    assert nonnegative(0, "size") == 0.0
    with pytest.raises(ArgumentError, match="size must be > 0, got 0"):
        positive(0, "size")
    with pytest.raises(ArgumentError, match="size must be >= 0, got -1"):
        nonnegative(-1, "size")


@pytest.mark.parametrize("value", [1, np.int8(3), np.array(2)])
def test_integers_come_back_as_ints(value):
    number = positive_int(value, "count")
    assert type(number) is int
    assert number == value


@pytest.mark.parametrize("value", [0, -1, 1.0, "1", None, True, np.array([1, 2])])
def test_no_positive_integer_is_named(value):
    with pytest.raises(ArgumentError, match="count must be an integer >= 1, got"):
        positive_int(value, "count")


def test_the_least_integer_may_be_given():
    assert positive_int(0, "count", least=0) == 0
    with pytest.raises(ArgumentError, match=">= 2, got 1"):
        positive_int(1, "count", least=2)


def test_words_are_listed():
    assert one_of("b", "side", ("a", "b")) == "b"
    with pytest.raises(ArgumentError, match="side must be one of 'a', 'b', got 'c'"):
        one_of("c", "side", ("a", "b"))
    for value in (np.zeros(3), 1, None, ["a"]):
        with pytest.raises(ArgumentError, match="side must be one of 'a', 'b', got"):
            one_of(value, "side", ("a", "b"))


def test_shapes():
    assert positive_shape((np.int64(3), 2), "Sphere") == (3, 2)
    with pytest.raises(ArgumentError, match=r"Sphere\(3\); got no argument"):
        positive_shape((), "Sphere")
    with pytest.raises(ArgumentError, match=r"Sphere shape\[1\] must be an integer >= 1, got 0"):
        positive_shape((3, 0), "Sphere")


def test_generators_are_kept_and_seeds_make_one():
    rng = np.random.default_rng(1)
    assert as_generator(rng) is rng
    assert as_generator(np.int64(1)).random() == np.random.default_rng(1).random()
    assert as_generator(None).random() != as_generator(None).random()


@pytest.mark.parametrize("wrong", [-1, 1.5, "seed", np.random.RandomState(0)])
def test_no_seed_is_named(wrong):
    with pytest.raises(ArgumentError, match="rng must be an int >= 0"):
        as_generator(wrong)


def test_only_truth_values_are_true_or_false():
    assert truth(np.True_, "on") is True
    assert truth(False, "on") is False
    assert truth("ends", "on", "ends") == "ends"
    for wrong in ("no", 1, 0, None, np.array([True]), "own"):
        with pytest.raises(ArgumentError, match='on must be True, False or "ends", got'):
            truth(wrong, "on", "ends")
    with pytest.raises(ArgumentError, match="on must be True or False, got 'ends'"):
        truth("ends", "on")
