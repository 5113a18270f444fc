"""Sorting by duels: as few as can be, right with ties, and the same as a ranking told at once."""

from itertools import permutations, product

import numpy as np
import pytest

from geoduel.methods.sorting import Ranks, in_pairs, merge_insertion, most_duels, sorted_by_duels

LEAST = {1: 0, 2: 1, 3: 3, 4: 5, 5: 7, 6: 10, 7: 13, 8: 16, 9: 19, 10: 22}  # Knuth 5.3.1


def sorted_(values):
    """The groups, and how many comparisons they took."""
    sort, answer, count = merge_insertion(len(values)), None, 0
    try:
        while True:
            i, j = sort.send(answer)
            answer, count = int(np.sign(values[i] - values[j])), count + 1
    except StopIteration as end:
        return end.value, count


def groups_of(values):
    return [[i for i, v in enumerate(values) if v == w] for w in sorted(set(values))]


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_every_order_is_found_by_the_least_number_of_comparisons(k):
    counts = []
    for values in permutations(range(k)):
        groups, count = sorted_(values)
        assert groups == groups_of(values)
        counts.append(count)
    assert max(counts) == LEAST[k] == most_duels(k)


@pytest.mark.parametrize("k", [7, 8, 9, 10])
def test_the_worst_of_many_orders_takes_the_least_number(k):
    rng = np.random.default_rng(0)
    counts = [sorted_(rng.permutation(k))[1] for _ in range(1000)]
    assert max(counts) == LEAST[k] == most_duels(k)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_every_order_with_ties_is_found_by_no_more(k):
    for values in product(range(k), repeat=k):
        groups, count = sorted_(values)
        assert [sorted(group) for group in groups] == groups_of(values)
        assert count <= LEAST[k]


def test_groups_are_sorted_at_once():
    points = np.random.default_rng(0).standard_normal((3, 5, 2))
    points[1, 2] = points[1, 4]
    sort, answer, batches = sorted_by_duels(points), None, []
    try:
        while True:
            x, y = sort.send(answer)
            batches.append(len(x))
            # An oracle that is sure of points that are the same is not believed.
            answer = np.where(x[:, 0] >= y[:, 0], 1.0, -1.0)
    except StopIteration as end:
        places = end.value
    assert batches[0] == 3
    assert len(batches) <= most_duels(5)
    for row in range(3):
        expected = (points[row, :, None, 0] > points[row, None, :, 0]).sum(axis=1)
        assert (places[row] == expected).all()


def test_a_step_hears_the_same_from_a_ranking_and_from_duels():
    points = np.random.default_rng(1).standard_normal((2, 4, 3))

    def step():
        first = yield points[0, 0], points[0, 1]
        return first, (yield Ranks(points))

    def answered(rank):
        asked, answer, count = in_pairs(step(), rank), None, 0
        try:
            while True:
                x, y = asked.send(answer)
                answer, count = np.sign(x[..., 0] - y[..., 0]), count + 1
        except StopIteration as end:
            return end.value, count

    def rank(points):
        return points[..., 0].argsort(axis=1).argsort(axis=1)

    (first, places), one = answered(rank)
    (again, sorted_places), more = answered(None)
    assert first == again
    assert (places == sorted_places).all()
    assert one == 1 < more
