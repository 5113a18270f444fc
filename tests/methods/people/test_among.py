"""Among: runs over the items of a catalogue, and the knock-out at their end."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.people.among import FIRST, LEAD

SPHERE = gd.Sphere(3)
GOAL = np.array([0.6, 0.0, 0.8])


def wavy(x):
    """Many minima: no distance to an ideal."""
    return math.sin(9 * x[0]) + math.cos(7 * x[1]) + x[2]


def items_of(n, seed=0, manifold=SPHERE):
    return manifold.random_point(np.random.default_rng(seed), (n,))


@pytest.mark.parametrize("n", [2, 3, 15, 16, 60])
@pytest.mark.parametrize("f", [wavy, lambda x: -x @ GOAL], ids=["wavy", "linear"])
def test_consistent_answers_lead_to_the_best_item_of_any_function(n, f):
    """Every other item has lost a duel, and answers are transitive."""
    items = items_of(n)
    result = gd.minimize(gd.from_objective(f), SPHERE, among=items, rng=0)
    assert result.index == np.argmin([f(x) for x in items])
    assert np.array_equal(result.x, items[result.index])
    assert result.stop_reason == "items"
    assert result.success
    if n <= FIRST[0]:  # a loser a duel, and a champion is made by a lead of 5
        assert n - 1 <= result.duels <= (n - 1) * LEAD
    else:
        assert result.duels <= FIRST[0] + n - 1 + 8 * (LEAD - 1)


@pytest.mark.parametrize("n", [3, 31])
def test_where_every_item_is_beaten_one_is_recommended_all_the_same(n):
    """As in rock, paper, scissors: each item beats the half of the others that come after it."""
    items = items_of(n)

    def ahead(x, y):
        i, j = (int(np.argmin(np.sum((items - p) ** 2, axis=1))) for p in (x, y))
        return 1 if (i - j) % n <= n // 2 else -1

    result = gd.minimize(ahead, SPHERE, among=items, rng=0)
    assert (result.stop_reason, result.duels < 5 * n) == ("items", True)
    study = gd.create_study(SPHERE, among=items, rng=0)
    for _ in range(20):
        duel = study.ask()
        study.tell(duel, "b" if ahead(duel.a, duel.b) > 0 else "a")
    assert (items == study.recommend()).all(axis=1).any()
    assert (study.uncertainty() or 0.0) > 0.5  # far from known


def test_only_items_are_asked_about_and_never_one_with_itself():
    items = items_of(20)
    oracle = gd.Recorded(gd.from_objective(wavy))
    gd.minimize(oracle, SPHERE, among=items, rng=0)
    catalogue = gd.Catalogue(SPHERE, items)
    assert all(catalogue.index(x) != catalogue.index(y) for x, y, _ in oracle.records)


def test_one_wrong_answer_in_ten_seldom_costs_the_best_item():
    """It is lost where it loses its first duel, one time in ten, or its lead, one time in nine.

    So it is found in 80 % of runs at least; four standard errors of 100 are 16 %.
    """
    found = 0
    for seed in range(100):
        items = items_of(FIRST[0], seed)
        oracle = gd.Noisy(gd.from_objective(lambda x: -x @ GOAL), flip=0.1, rng=seed)
        result = gd.minimize(oracle, SPHERE, among=items, rng=seed)
        found += result.index == np.argmax(items @ GOAL)
    assert found >= 64


def test_of_ten_thousand_items_the_best_is_found_in_forty_duels():
    items = items_of(10_000)
    result = gd.minimize(
        gd.from_objective(lambda x: -x @ GOAL), SPHERE, among=items, budget=40, rng=0
    )
    assert (items @ GOAL > result.x @ GOAL).sum() <= 2


def test_ties_all_along_end_with_an_item():
    items = items_of(5)
    result = gd.minimize(lambda x, y: 0, SPHERE, among=items, rng=0)
    assert result.index in range(5)
    assert result.stop_reason == "items"


@pytest.mark.parametrize(
    "manifold", [gd.Rotations(2), gd.Euclidean(1), gd.Hyperbolic(2), gd.Sphere(12)], ids=str
)
def test_any_manifold_has_a_method(manifold):
    items = items_of(30, manifold=manifold)
    goal = items[7]
    oracle = gd.from_objective(lambda x: manifold.dist(x, goal))
    result = gd.minimize(oracle, manifold, among=items, rng=0, budget=150)
    assert result.index == 7


def test_a_run_with_a_log_goes_on(tmp_path):
    items, oracle = items_of(20), gd.from_objective(wavy)
    first = {"among": items, "rng": 3, "log": tmp_path / "run.log"}
    gd.minimize(oracle, SPHERE, budget=10, **first)
    again = gd.minimize(oracle, SPHERE, **first)
    assert again.index == gd.minimize(oracle, SPHERE, among=items, rng=3).index


def test_what_does_not_go_together_is_refused():
    items, oracle = items_of(10), gd.from_objective(wavy)
    with pytest.raises(ArgumentError, match=r"can ask about any pair.*RDNGD"):
        gd.minimize(oracle, SPHERE, among=items, method="rdngd")
    with pytest.raises(ArgumentError, match="among= and domain= are both given"):
        gd.minimize(oracle, SPHERE, among=items, domain=gd.Ball(SPHERE, GOAL, 0.5))
    with pytest.raises(ArgumentError, match="x0"):
        gd.minimize(oracle, SPHERE, [1.0, 0.0], among=items)
    with pytest.raises(ArgumentError, match=r"shape \(n, 3\)"):
        gd.minimize(oracle, SPHERE, among=np.eye(2))
