"""Ways, duels and regions: the points of runs, as they lie in the axes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
import geoduel as gd
from geoduel.errors import ArgumentError, GeoduelError
from geoduel.oracles.people import Person
from geoduel.plotting import duels, path, region
from geoduel.plotting.views import axes_of_space, view_on

SPACES = [
    gd.Sphere(3),
    gd.Hyperbolic(2),
    gd.Simplex(3),
    gd.Torus(2),
    gd.Euclidean(2),
    gd.Rotations(2),
    gd.SPD(2),
    gd.Product(gd.Rotations(3), gd.Euclidean(1)),
]


def ran(manifold, budget=60, recorded=False, **settings):
    rng = np.random.default_rng(1)
    start, goal = manifold.random_point(rng), manifold.random_point(rng)
    oracle = gd.Recorded(gd.from_objective(lambda x: manifold.dist(x, goal)))
    result = gd.minimize(oracle, manifold, start, budget=budget, rng=0, **settings)
    return result, oracle, goal


def asked(manifold, answers=12, **settings):
    ideal = manifold.random_point(np.random.default_rng(2))
    person = Person(manifold, ideal, rng=1, jnd=0.02, lapse=0.0)
    study = gd.create_study(manifold, rng=0, **settings)
    for _ in range(answers):
        duel = study.ask()
        study.tell(duel, person.rate(duel))
    return study, ideal


def drawn(ax) -> dict:
    """Places of what has a name in the legend, by name."""
    return {
        line.get_label(): np.asarray(line.get_xydata())
        for line in ax.get_lines()
        if not line.get_label().startswith("_")
    }


@pytest.mark.parametrize("manifold", SPACES, ids=repr)
def test_the_way_goes_from_the_start_to_the_best_point(manifold):
    result, _, goal = ran(manifold)
    ax = path(result, manifold, goal=goal)
    view = view_on(ax, manifold, goal[None])  # the same again
    named, points = drawn(ax), np.array(result.history.points)
    ends = view.dots(points[[0, -1]], np.array(result.history.duels)[[0, -1]])
    assert np.allclose([named["start"][0], named["best"][0]], ends)
    there = view.dots(goal[None], np.zeros(1))[0]
    assert np.allclose(named["goal"][0][1], there[1])
    assert np.allclose(named["best"][0][1], there[1], atol=0.2)


@pytest.mark.parametrize("manifold", SPACES, ids=str)
def test_a_run_that_ended_at_its_start_is_drawn(manifold):
    result, _, goal = ran(manifold, budget=1)
    assert len(result.history.points) == 1
    ax = path(result, manifold, goal=goal)
    ax.figure.canvas.draw()


def test_the_way_passes_through_all_points():
    sphere = gd.Sphere(3)
    result, _, _ = ran(sphere)
    ax = path(result, sphere)
    view = view_on(ax, sphere, np.eye(3))
    corners = np.concatenate([line for c in ax.collections for line in c.get_segments()])
    for point in view.flat(np.array(result.history.points)):
        assert np.nanmin(np.linalg.norm(corners - point, axis=1)) < 1e-9


def test_a_rotation_is_the_way_of_three_axes():
    turns = gd.Rotations(3)
    result, _, goal = ran(turns, 100)
    ax = path(result, turns, goal=goal)
    assert {"x axis", "y axis", "z axis"} <= {c.get_label() for c in ax.collections}
    view = view_on(ax, gd.Sphere(3), np.eye(3))
    stars = np.concatenate(
        [np.asarray(x.get_xydata()) for x in ax.get_lines() if x.get_marker() == "*"]
    )
    expected = np.stack([view.flat(x) for x in axes_of_space(goal).values()])
    assert np.allclose(stars, expected)


def test_a_study_has_its_own_manifold():
    study, ideal = asked(gd.Simplex(3))
    ax = path(study, goal=ideal)
    view = view_on(ax, study.manifold, ideal[None])
    assert np.allclose(drawn(ax)["best"][0], view.flat(study.recommend()))


@pytest.mark.parametrize("manifold", SPACES, ids=repr)
def test_each_duel_is_a_line_with_a_dot_at_the_winner(manifold):
    _, oracle, goal = ran(manifold, 30)
    ax = duels(oracle, manifold)
    view = view_on(ax, manifold, goal[None])
    winners = np.array([y if answer > 0 else x for x, y, answer in oracle.records])
    places = view.dots(winners, np.arange(1, len(winners) + 1))
    dots = np.concatenate(
        [
            np.asarray(x.get_xydata())
            for x in ax.get_lines()
            if x.get_markersize() == 3.6 and len(np.asarray(x.get_xydata()))
        ]
    )
    assert sorted(map(tuple, dots.round(9))) == sorted(map(tuple, places.round(9)))
    assert ax.get_title(loc="left").startswith(f"{len(winners)} duels") or ax.get_title()


def test_ties_are_dotted_and_nobody_wins():
    plane = gd.Euclidean(2)
    records = [(np.zeros(2), np.ones(2), 0), (np.zeros(2), np.array([1.0, 0.0]), 1)]
    ax = duels([gd.oracles.Record(*r) for r in records], plane)
    assert "1 ties" in {c.get_label() for c in ax.collections}
    named = drawn(ax)
    assert named["preferred"].tolist() == [[1, 0]]
    assert named["not preferred"].tolist() == [[0, 0]]


def test_a_study_shows_what_was_answered():
    study, _ = asked(gd.Sphere(3), 9)
    study.tell(study.ask(), "skip")
    study.ask()
    assert duels(study).get_title(loc="left") == "9 duels, Sphere(3)"


@pytest.mark.parametrize("manifold", [gd.Sphere(3), gd.Hyperbolic(2), gd.Simplex(3), gd.SPD(2)],
                         ids=repr)  # fmt: skip
def test_the_region_is_the_belief_with_the_stated_ring(manifold):
    study, ideal = asked(manifold)
    ax = region(study, goal=ideal, n=100)
    best, radius = study.recommend(), study.uncertainty()
    view = view_on(ax, manifold, best[None])
    assert np.allclose(drawn(ax)["recommended"][0], view.flat(best[None])[0])
    dots = [x for x in ax.get_lines() if x.get_markersize() == 2.2]
    assert sum(len(np.asarray(x.get_xydata())) for x in dots) == 100
    legend = [t.get_text() for t in ax.get_legend().get_texts()]
    assert any(t.startswith(f"stated: within {radius:.2g}") for t in legend)
    if manifold.dim == 2:
        ring = [line for c in ax.collections for line in c.get_segments()]
        places = np.concatenate(ring)
        places = places[np.isfinite(places).all(axis=1)]
        if isinstance(manifold, gd.Hyperbolic):
            there = manifold.from_poincare(places)
            apart = manifold.dist(there, np.broadcast_to(best, there.shape))
            assert np.allclose(apart, radius, rtol=1e-6)


def test_a_small_region_is_seen_from_close_by():
    study, _ = asked(gd.Sphere(3), 60)
    radius = study.uncertainty() or np.inf
    assert radius < 0.1
    ax = region(study)
    assert radius < ax.get_xlim()[1] < 10 * radius


def test_on_a_line_the_belief_is_a_histogram():
    study, ideal = asked(gd.Rotations(2))
    ax = region(study, goal=ideal)
    heights = [bar.get_height() for bar in ax.patches if bar.get_label() != "stated"]
    assert 90 < sum(heights[: 50 + 1]) < 110  # nearly all of it: single dots are far away
    assert ax.get_ylabel() == "share of the belief, %"


def test_a_method_without_a_belief_states_a_distance():
    study = gd.create_study(gd.Sphere(3), "duel-newton", x0=np.eye(3)[0], rng=0)
    for _ in range(20):
        duel = study.ask()
        study.tell(duel, "a" if duel.a[2] > duel.b[2] else "b")
    ax = region(study)
    assert "the ideal, as believed" not in drawn(ax)
    assert "recommended" in drawn(ax)


def test_before_any_answer_nothing_is_stated_or_drawn():
    study = gd.create_study(gd.Sphere(3), rng=0)
    assert region(study).get_title(loc="left") == "Where the ideal may lie, Sphere(3)"
    for draw in (path, duels):
        with pytest.raises(ArgumentError, match="answer"):
            draw(study)


def test_the_ideals_of_a_belief_are_near_the_ideal():
    """The 80 % ball about the best point holds about as many of them, once the rater looks."""
    for manifold in (gd.Sphere(3), gd.Rotations(2)):
        study, ideal = asked(manifold, 60)
        found = study.ideals(400)
        assert found.shape == (400, *manifold.point_shape)
        assert np.array_equal(found, study.ideals(400))
        apart = manifold.dist(found, np.broadcast_to(ideal, found.shape))
        assert np.median(apart) < 3 * max(study.uncertainty() or 0.0, 0.02)


def test_the_ideals_of_one_rater_are_those_of_their_answers():
    sphere = gd.Sphere(3)
    study = gd.create_study(sphere, rng=0)
    for _ in range(20):
        for name, side in (("ann", 2), ("bob", 0)):
            duel = study.ask(rater=name)
            better = "a" if duel.a[side] > duel.b[side] else "b"
            study.tell(duel, better, rater=name)
    ann, bob = (study.ideals(200, rater=name).mean(axis=0) for name in ("ann", "bob"))
    assert ann[2] > 0.7
    assert bob[0] > 0.7
    assert region(study, rater="ann").get_legend() is not None


def test_wrong_arguments_are_named():
    result, _, goal = ran(gd.Sphere(3), 20)
    with pytest.raises(ArgumentError, match="manifold must be"):
        path(result)
    with pytest.raises(ArgumentError, match="shape"):
        path(result, gd.Sphere(4))
    with pytest.raises(ArgumentError, match="Recorded"):
        duels(result, gd.Sphere(3))
    with pytest.raises(ArgumentError, match="study must be"):
        region(result)
    with pytest.raises(GeoduelError, match="goal"):
        path(result, gd.Sphere(3), goal=2 * goal)
    with pytest.raises(ArgumentError, match="n must be"):
        region(gd.create_study(gd.Sphere(3), rng=0), n=0)
    study = gd.create_study(gd.Sphere(3), "duel-newton", rng=0)
    with pytest.raises(ArgumentError, match="no belief"):
        study.ideals()


def test_values_alone_are_not_drawn():
    space = gd.space(kind=["x", "y"], size=range(4)).manifold
    oracle = gd.Recorded(gd.from_objective(lambda p: p["size"] + (p["kind"] == "x") / 2))
    result = gd.minimize(oracle, space, budget=9, rng=0)
    for draw in (lambda: path(result, space), lambda: duels(oracle, space)):
        with pytest.raises(ArgumentError, match="has categories and whole numbers alone"):
            draw()


def test_several_problems_at_once_are_refused():
    sphere = gd.Sphere(3)
    oracle = gd.from_objective(lambda x: -x @ np.array([0.48, 0.6, 0.64]), vectorized=True)
    result = gd.minimize(
        oracle, sphere, np.eye(3), method="rdngd", iterations=20, step_size=0.1, radius=1e-3, rng=0
    )
    with pytest.raises(ArgumentError, match="several problems"):
        path(result, sphere)


def test_torch_points_are_drawn():
    torch = pytest.importorskip("torch")
    sphere = gd.Sphere(3)
    oracle = gd.from_objective(lambda x: -x[2])
    start = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    result = gd.minimize(oracle, sphere, start, budget=40, rng=0)
    assert path(result, sphere, goal=start).get_title(loc="left")


def test_points_whose_parts_have_names_are_drawn():
    place = gd.space(gain=(-12, 12), tone=gd.Interval(20, 20_000, log=True, unit="Hz"))
    study, goal = gd.create_study(place, rng=0), {"gain": 3.0, "tone": 440.0}
    for _ in range(6):
        duel = study.ask()
        study.tell(duel, "a" if duel.a["gain"] > duel.b["gain"] else "b")
    assert duels(study).get_title(loc="left").startswith("6 duels")
    assert path(study).lines
    assert region(study, goal=goal).lines
    loss = gd.from_objective(lambda p: abs(p["gain"] - 3))
    result = gd.minimize(loss, place, goal | {"gain": 0}, budget=60, rng=0)
    assert path(result, place, goal=goal).lines  # a domain stands for its manifold


def test_of_more_points_the_duels_that_are_decided_are_drawn():
    study = gd.create_study(gd.Sphere(3), rng=0, choices=4)
    for answer in ("c", "skip", "tie", "a>b>c>d"):  # 3, none, 3 ties, and 3 + 2 + 1
        study.tell(study.ask(), answer)
    assert duels(study).get_title(loc="left").startswith("12 duels")
