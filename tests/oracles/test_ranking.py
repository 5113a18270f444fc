"""Oracles that rank: a pair is a ranking of two, and what is no order is refused by name."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, OracleError
from geoduel.oracles import from_ranking
from geoduel.oracles.base import answers
from geoduel.oracles.ranking import places_of


def by_length(points):
    return np.argsort(np.linalg.norm(points, axis=1))


def test_pairs_agree_with_an_objective():
    x, y = np.random.default_rng(0).standard_normal((2, 20, 3))
    objective = gd.from_objective(lambda x: float(x @ x))
    told = answers(from_ranking(by_length), x, y, 1)
    assert (told == answers(objective, x, y, 1)).all()
    assert from_ranking(by_length)(x[0], y[0]) == told[0]


def test_groups_are_ranked_each_for_itself():
    points = np.random.default_rng(0).standard_normal((6, 5, 2))
    lengths = np.linalg.norm(points, axis=2)
    expected = (lengths[:, :, None] > lengths[:, None, :]).sum(axis=2)
    assert (from_ranking(by_length).places(points) == expected).all()


def test_ties_share_a_place_wherever_they_stand():
    def rank(points):
        x = points[:, 0].round()
        return [list(np.flatnonzero(x == v)) for v in np.unique(x)]

    points = np.array([[[1.1], [0.9], [3.0], [0.2]]])
    assert from_ranking(rank).places(points).tolist() == [[1, 1, 3, 0]]
    assert from_ranking(rank)(np.array([1.1]), np.array([0.9])) == 0


def test_the_order_of_the_points_is_drawn():
    first = from_ranking(lambda points: range(len(points)))
    places = first.places(np.zeros((300, 3, 1)))
    assert abs((places == 0).mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 300)
    plain = from_ranking(lambda points: range(len(points)), shuffle=False)
    assert (plain.places(np.zeros((5, 3, 1))) == [0, 1, 2]).all()


def test_a_judge_may_overwrite_what_it_is_given():
    def rank(points):
        order = by_length(points)
        points[:] = np.nan
        return order

    points = np.ones((1, 3, 2))
    from_ranking(rank).places(points)
    assert (points == 1).all()


def test_named_parts_are_handed_as_dictionaries():
    sound = gd.space(gain=(-1.0, 1.0), bass=(-1.0, 1.0))

    def rank(points):
        return np.argsort([p["gain"] ** 2 + p["bass"] ** 2 for p in points])

    result = gd.minimize(from_ranking(rank), sound, {"gain": 0.5, "bass": 0.5}, budget=200, rng=0)
    assert abs(result.x["gain"]) < 1e-3


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ([0, 1], "lacks 2"),
        ([0, 1, 1], "holds 1 twice"),
        ([0, 1, 3], "holds 3"),
        ([0, 1, -1], "holds -1"),
        ([0, 1, np.nan], "holds nan, which is no index"),
        ([0, 1, 0.5], "holds 0.5, which is no index"),
        ([0, True, 2], "holds True, which is no index"),
        ([0, [1, 2], 2], "holds 2 twice"),
        ("abc", "holds 'a', which is no index"),
        (None, "is no order"),
        ([0, "b", 2], "holds 'b', which is no index"),
        ({0: 1, 1: 2, 2: 0}, "is no order"),
        ({2, 0, 1}, "is no order"),
    ],
)
def test_what_is_no_order_is_refused(order, words):
    with pytest.raises(OracleError, match=words):
        places_of(order, 3)


def test_whole_numbers_of_any_library_are_indices():
    torch = pytest.importorskip("torch")
    order = torch.tensor([2, 0, 1])
    for given in (order, list(order), order.numpy(), tuple(order.tolist()), order.to(torch.uint8)):
        assert places_of(given, 3).tolist() == [1, 2, 0]
    assert places_of([2, order[1:]], 3).tolist() == [1, 1, 0]
    for wrong in (order.double(), order > 0):
        with pytest.raises(OracleError, match="which is no index"):
            places_of(wrong, 3)


def test_wrong_arguments_are_named():
    with pytest.raises(ArgumentError, match="rank must be a function"):
        from_ranking([0, 1])
    with pytest.raises(ArgumentError, match="most must be an integer >= 2"):
        from_ranking(by_length, most=1)


def test_what_the_judge_raises_is_told():
    with pytest.raises(OracleError, match="the ranking raised ZeroDivisionError"):
        from_ranking(lambda points: 1 / 0)(np.zeros(1), np.ones(1))
