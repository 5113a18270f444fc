"""Simulated people: frequencies against the formulas, within four standard errors."""

from types import SimpleNamespace

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.oracles import Person, draw_crowd, draw_person
from geoduel.oracles.people import DEGREE

PLANE = gd.Rotations(2)
N = 2000


def degrees(t):
    return PLANE.from_angle(t * DEGREE)


def share(said, n=N, left=2.0, right=3.0, **settings):
    """How often a person with ideal 0 says so of two tilts, degrees."""
    settings = {"lapse": 0.0, **settings}
    person = Person(PLANE, degrees(0.0), 0, **settings)
    return np.mean([person.compare(degrees(left), degrees(right)) == said for _ in range(n)])


def near(p, n=N):
    return pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n) + 1e-12)


def test_one_jnd_is_told_three_times_out_of_four():
    assert share("left") == near(0.75)
    assert share("left", jnd=2 * DEGREE) == near(1 / (1 + 3**-0.5))


def test_lapses_and_left_clicks():
    assert share("left", left=40.0, right=0.0, lapse=0.3) == near(0.15)
    assert share("left", left=40.0, right=0.0, always_left=0.1) == near(0.1)


def test_bias_counts_as_a_difference():
    assert share("left", left=3.0, right=3.0, bias=1.0) == near(0.75)


def test_ties_are_small_differences():
    """P(tie) at equal losses: the logistic noise stays within ±1 JND, 2 σ(ln 3) - 1 = 1/2."""
    assert share("tie", left=3.0, right=3.0, tie=1.0) == near(0.5)
    assert share("tie") == 0


def test_fatigue_and_distance_blur():
    tired = Person(PLANE, degrees(0), 0, fatigue=1.0, lapse=0.0)
    tired.answers = 10**9
    right = np.mean([tired.compare(degrees(2), degrees(30)) == "left" for _ in range(500)])
    assert right == near(0.5, 500)
    assert share("left", weber=1.0, left=40.0, right=41.0) == near(1 / (1 + 3 ** (-1 / 41.5)))


def test_power_of_the_loss_orders_alike():
    person = Person(PLANE, degrees(0), 0, power=2.0)
    assert person.loss(degrees(20)) == pytest.approx(20 * DEGREE)
    assert person.loss(degrees(10)) == pytest.approx(5 * DEGREE)


def test_sensitivities_run_from_one_to_the_least():
    sphere, x0 = gd.Sphere(4), np.eye(4)[0]
    person = draw_person(sphere, x0, np.random.default_rng(0), spread=3.0)
    assert np.linalg.svd(person.sensitivity)[1] == pytest.approx([1, 3**-0.5, 1 / 3])
    c = np.array([0.1, 0.0, 0.0])
    x = sphere.exp(person.ideal, sphere.from_coords(person.ideal, c))
    assert person.loss(x) == pytest.approx(np.linalg.norm(person.sensitivity @ c))
    assert person.error(x) == pytest.approx(0.1)


def test_the_seed_makes_the_person():
    said = [
        [p.compare(degrees(1), degrees(2)) for _ in range(30)]
        for p in (Person(PLANE, degrees(0), 5), Person(PLANE, degrees(0), 5))
    ]
    assert said[0] == said[1]


def test_answers_as_oracle_method_and_rater_agree():
    person = Person(PLANE, degrees(0), 0, lapse=0.0)
    good, bad = degrees(1), degrees(40)
    assert person(good, bad) == person.answer(good, bad, -1) == -1
    assert person(bad, good) == 1
    assert person.rate(SimpleNamespace(a=bad, b=good, left="a")) == "b"
    assert person.rate(SimpleNamespace(a=bad, b=good, left="b")) == "b"
    assert share("right", left=30.0, right=1.0) == 1


def test_a_crowd_agrees_or_not():
    sphere, x0 = gd.Sphere(3), np.eye(3)[0]
    crowd = draw_crowd(sphere, x0, np.random.default_rng(0), n=5, varied=0.5)
    assert len({p.jnd for p in crowd}) == 5
    assert all(np.array_equal(p.ideal, crowd[0].ideal) for p in crowd)
    apart = draw_crowd(sphere, x0, np.random.default_rng(0), n=3, disagreement=0.1)
    assert sphere.dist(crowd[0].ideal, apart[1].ideal) == pytest.approx(0.1)


def test_a_person_levels_a_study():
    study = gd.create_study(PLANE, rng=0, x0=np.eye(2), budget=12)
    person = Person(PLANE, degrees(20), 1)
    for _ in range(12):
        duel = study.ask()
        study.tell(duel, person.rate(duel))
    assert person.error(study.recommend()) < 3 * DEGREE


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"jnd": 0.0}, "jnd"),
        ({"lapse": 1.5}, "lapse"),
        ({"always_left": -0.1}, "always_left"),
        ({"tie": -1.0}, "tie"),
        ({"power": 0.0}, "power"),
        ({"sensitivity": np.eye(2)}, "sensitivity"),
    ],
)
def test_bad_settings_are_named(settings, word):
    with pytest.raises(ArgumentError, match=word):
        Person(PLANE, degrees(0), 0, **settings)


def test_the_ideal_lies_on_the_manifold():
    with pytest.raises(NotOnManifoldError, match="ideal"):
        Person(PLANE, 2 * np.eye(2))
