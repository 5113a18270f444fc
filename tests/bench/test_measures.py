"""Measures, by hand-made records whose numbers can be worked out."""

import math

import numpy as np
import pytest

from geoduel.bench import area, areas, distribution, expected, profiles, share
from geoduel.bench.measures import digits, split, usable


def test_expected_duels_are_those_of_restarts(record):
    """A method that succeeds with probability p after s duels, and wastes u else: s + u (1-p)/p."""
    runs = [record([30]), record([50]), record([None]), record([None])]
    assert expected(runs, 0) == 40 + 200
    assert expected([record([0])], 0) == 1
    assert expected([record([None])], 0) == math.inf


def test_the_distribution_and_its_area(record):
    """Two targets of one run, solved after 10 and never; 10 duels a dimension of 100."""
    runs = [record([20, None])]
    duels = np.array([1.0, 9.9, 10.0, 100.0])
    np.testing.assert_array_equal(distribution(runs, duels), [0, 0, 0.5, 0.5])
    assert area(runs) == pytest.approx(0.5 * 0.5)
    assert share(runs) == 0.5
    assert share([*runs, record([5])]) == pytest.approx(2 / 3)  # targets may differ in number
    assert area([record([1, 2])]) == 1


def test_the_area_is_the_integral_of_the_distribution(record):
    runs = [record([3, 40, None]), record([7, 90, 150])]
    logs = np.linspace(0, math.log10(100), 100_001)
    integral = distribution(runs, 10**logs).mean()
    assert area(runs) == pytest.approx(integral, abs=1e-4)


def test_the_area_of_a_budget_of_one(record):
    assert area([record([1, None], d=2, budget=1)]) == 0.5


def test_areas_by_group_and_the_mean_over_groups(record):
    runs = [record([20]), record([2], group="others"), record([20], method="stp")]
    assert areas(runs) == {
        "bowls": {"auto": 0.5, "stp": 0.5},
        "others": {"auto": 1.0},
        "all": {"auto": 0.75},  # stp was not run on the others
    }


def test_profiles_compare_with_the_best(record):
    runs = [record([10, 40]), record([20, 20], method="stp")]
    found = profiles(runs, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(found["auto"], [0.5, 1.0])
    np.testing.assert_array_equal(found["stp"], [0.5, 1.0])
    runs.append(record([1], problem="alone"))  # which stp was not run on
    np.testing.assert_array_equal(profiles(runs, np.array([1.0]))["auto"], [0.5])


def test_refusals_do_not_count(record):
    runs = [record([20]), record([None], method="people", stop="refused: dimension")]
    assert usable(runs) == runs[:1]
    assert list(areas(runs)["bowls"]) == ["auto"]


def test_digits_are_medians_a_dimension(record):
    shares, duels = digits([record([2, 4]), record([6, None]), record([4, 8])])
    np.testing.assert_allclose(shares, [1, 0.1])
    np.testing.assert_array_equal(duels, [2, 4])


def test_records_are_split_in_order(record):
    runs = [record([1], method=m, seed=s) for s in (1, 0) for m in "ba"]
    assert list(split(runs, "method")) == ["b", "a"]
    assert list(split(runs, "seed", "method")) == [(1, "b"), (1, "a"), (0, "b"), (0, "a")]
