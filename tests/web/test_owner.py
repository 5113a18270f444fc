"""What the owner sees: agreement and convergence, from answers that are known."""

from __future__ import annotations

import json

import numpy as np
import pytest

import geoduel as gd
from geoduel.web import Board
from geoduel.web.owner import agreement, answer_map, convergence

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
        assert one["apart"] < np.degrees(0.3)
        assert one["consistency"] in (None, 1.0)
    (pair,) = found["pairs"]
    assert pair["raters"] == ["Ann", "Bob"]
    assert pair["apart"] < np.degrees(0.4)


def test_raters_of_two_minds_are_apart():
    near = agreement(answered({"Ann": 0.2, "Bob": 0.2}, 40))["pairs"][0]["apart"]
    far = agreement(answered({"Ann": 0.4, "Bob": -0.4}, 40))["pairs"][0]["apart"]
    assert far > near + np.degrees(0.2)


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
    assert convergence(empty) == {"unit": "degrees", "complete": True, "region": [], "away": []}
    assert answer_map(empty)["duels"] == []
    study = gd.create_study(gd.Sphere(3), "rdngd", budget=9, rng=0)  # not for single raters
    study.tell(study.ask(rater="Ann"), "a", rater="Ann")
    (one,) = agreement(Board(study))["raters"]
    assert one["apart"] is None


def test_curves_tell_how_well_the_best_point_was_known_and_where_it_was():
    board = answered({"Ann": 0.2}, 9)
    curves, study = convergence(board), board.study
    known = [[n, np.degrees(u)] for n, u in study.progress().history]
    assert curves["region"] == pytest.approx(np.array(known))
    assert [n for n, _ in curves["away"]] == list(range(1, 10))
    assert curves["away"][-1][1] == pytest.approx(0, abs=1e-9)
    half = answered({"Ann": 0.2}, 5).study.recommend()  # the same answers, but fewer
    then = np.degrees(PLANE.dist(half, study.recommend()))
    assert curves["away"][4][1] == pytest.approx(then)
    assert curves["complete"] is True


def test_a_long_replay_goes_on_with_the_next_call(monkeypatch):
    monkeypatch.setattr("geoduel.web.owner._TRACING", 0.0)
    board = answered({"Ann": 0.2}, 3)
    found = convergence(board)
    assert (found["away"], found["complete"]) == ([], False)


def test_long_curves_are_thinned_to_their_end(monkeypatch):
    monkeypatch.setattr("geoduel.web.owner._MOST_POINTS", 4)
    curve = convergence(answered({"Ann": 0.2}, 9))["away"]
    assert [n for n, _ in curve] == [3, 6, 9]


MAPPED = [
    gd.Sphere(3),
    gd.Sphere(5),
    gd.SPD(2),
    gd.Euclidean(2),
    gd.Torus(2),
    gd.Simplex(2),
    gd.Simplex(4),
    gd.Hyperbolic(2),
]


@pytest.mark.parametrize("manifold", MAPPED, ids=str)
def test_the_map_is_true_to_distances_from_the_best_point(manifold):
    study = gd.create_study(manifold, rng=0)
    for n in range(9):
        study.tell(study.ask(rater="Ann"), ("a", "b", "tie")[n % 3], rater="Ann")
    found, best = answer_map(Board(study)), study.recommend()
    json.dumps(found, allow_nan=False)
    assert (found["kind"], found["best"]) == ("around", [0.0, 0.0])
    assert [one["tie"] for one in found["duels"]] == [False, False, True] * 3
    scale = np.degrees(1) if found["unit"] == "degrees" else 1.0
    for duel, shown in zip(study.duels, found["duels"], strict=True):
        won = duel.b if duel.answer == "b" else duel.a
        far = scale * float(manifold.dist(best, won))
        if manifold.dim == 1:
            assert abs(shown["won"][0]) == pytest.approx(far, rel=1e-6)
            assert shown["won"][1] == shown["lost"][1] == duel.id + 1
        elif manifold.dim == 2:
            assert np.hypot(*shown["won"]) == pytest.approx(far, rel=1e-6, abs=1e-6)
        else:  # a projection is no longer than what it shows
            assert np.hypot(*shown["won"]) <= far * (1 + 1e-6)


def test_weights_of_three_are_shown_in_a_triangle():
    study = gd.create_study(gd.Simplex(3), rng=0)
    study.tell(study.ask(rater="Ann"), "b", rater="Ann")
    found = answer_map(Board(study, labels=("red", "blue", "yellow")))
    assert (found["kind"], found["labels"]) == ("triangle", ["red", "blue", "yellow"])
    x, y = found["duels"][0]["won"]
    weights = study.duels[0].b
    assert (x, y) == pytest.approx((weights[1] + weights[2] / 2, weights[2] * np.sqrt(3) / 2))


def test_the_usual_time_of_an_answer_is_told(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    study = gd.create_study(PLANE, rng=0)
    for seconds in (1, 2, 9):
        duel = study.ask(rater="Ann")
        now[0] += seconds
        study.tell(duel, "a", rater="Ann")
    (one,) = agreement(Board(study))["raters"]
    assert one["seconds"] == pytest.approx(2)
