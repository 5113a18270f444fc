"""What the owner sees: agreement and convergence, from answers that are known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import geoduel as gd
from geoduel.web import Board
from geoduel.web.owner import agreement, convergence

PLANE = gd.Rotations(2)


def answered(raters, count: int = 12, **more) -> Board:
    """A study in which each rater likes an angle of their own, in radians."""
    study = gd.create_study(PLANE, x0=np.eye(2), rng=0, **more)
    for n in range(count):
        name, liked = list(raters.items())[n % len(raters)]
        duel = study.ask(rater=name)
        off = {p: abs(float(PLANE.to_angle(getattr(duel, p))) - liked) for p in "ab"}
        study.tell(duel, min(off, key=off.__getitem__), rater=name)
    return Board(study)


def test_raters_of_one_mind_agree():
    found = agreement(answered({"Ann": 0.2, "Bob": 0.2}, 40))
    assert found["unit"] == "degrees"
    for one in found["raters"]:
        assert one["answers"] == 20
        assert one["with_result"] > 0.8
        assert one["apart"] < 0.3
        assert one["consistency"] in (None, 1.0)
    (pair,) = found["pairs"]
    assert pair["raters"] == ["Ann", "Bob"]
    assert pair["apart"] < 0.4


def test_raters_of_two_minds_are_apart():
    near = agreement(answered({"Ann": 0.2, "Bob": 0.2}, 40))["pairs"][0]["apart"]
    far = agreement(answered({"Ann": 0.4, "Bob": -0.4}, 40))["pairs"][0]["apart"]
    assert far > near + 0.2


def test_verdicts_and_tastes_are_told():
    liked = {"Ann": -0.3, "Bob": 0.3, "Cyd": -0.3, "Dan": 0.3}
    found = agreement(answered(liked, 80))
    for one in found["raters"]:
        assert one["verdict"]
        assert one["evidence"]
        assert one["compared"]
    assert sorted(camp["members"] for camp in found["camps"]) == [["Ann", "Cyd"], ["Bob", "Dan"]]
    assert all(camp["uncertainty"] > 0 for camp in found["camps"])
    assert agreement(answered({"Ann": 0.2, "Bob": 0.2}, 40))["camps"] == []


def test_where_nothing_is_known_nothing_is_said():
    empty = Board(gd.create_study(PLANE, rng=0))
    assert agreement(empty) == {"raters": [], "pairs": [], "camps": [], "unit": "degrees"}
    assert convergence(empty) == {"uncertainty": [], "step": [], "choices": []}
    study = gd.create_study(gd.Sphere(3), "rdngd", budget=9, rng=0)  # not for single raters
    study.tell(study.ask(rater="Ann"), "a", rater="Ann")
    (one,) = agreement(Board(study))["raters"]
    assert one["apart"] is None


def test_curves_are_distances_of_what_was_asked():
    board = answered({"Ann": 0.2}, 9)
    curves, duels = convergence(board), board.study.duels
    dist = PLANE.dist
    assert [n for n, _ in curves["choices"]] == list(range(1, 10))
    assert curves["choices"][0][1] == pytest.approx(dist(duels[0].a, duels[0].b))
    winners = [duel.a if duel.answer == "a" else duel.b for duel in duels]
    steps = [float(dist(x, y)) for x, y in pairwise(winners)]
    assert [u for _, u in curves["step"]] == pytest.approx(steps)
    assert curves["uncertainty"] == [[n, u] for n, u in board.study.progress().history]


def test_long_curves_are_thinned_to_their_end(monkeypatch):
    monkeypatch.setattr("geoduel.web.owner._MOST_POINTS", 4)
    curve = convergence(answered({"Ann": 0.2}, 9))["choices"]
    assert [n for n, _ in curve] == [3, 6, 9]
