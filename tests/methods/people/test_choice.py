"""Which method people get, and probes that they can tell."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.domains.catalogue import Catalogue
from geoduel.errors import ArgumentError
from geoduel.methods.people.choice import for_items


@pytest.mark.parametrize(
    ("manifold", "kind"),
    [
        (gd.Rotations(2), gd.Bisection),
        (gd.Sphere(3), gd.IdealPoint),
        (gd.Sphere(7), gd.IdealPoint),
        (gd.Sphere(8), gd.IdealDirection),
        (gd.Euclidean(50), gd.IdealDirection),
        (gd.Euclidean(51), gd.Auto),
    ],
)
def test_the_dimension_decides(manifold, kind):
    assert type(gd.for_people(manifold)) is kind


def test_a_space_is_taken_by_its_manifold():
    assert type(gd.for_people(gd.space(tilt=(-1, 1)))) is gd.Bisection
    assert type(gd.for_people(gd.space(tilt=(-1, 1), kind=["a", "b"]))).__name__ == "Mixed"
    with pytest.raises(ArgumentError, match="manifold must be a Manifold"):
        gd.for_people((-1, 1))


@pytest.mark.parametrize("method", [gd.DuelNewton, gd.DuelCSA, gd.Auto, gd.Block])
def test_probes_stay_as_long_as_asked(method):
    """After the first step every duel but those of line searches is twice the radius apart."""
    sphere, asked = gd.Sphere(9), []

    def oracle(x, y):
        asked.extend(np.atleast_1d(sphere.dist(x, y)))
        return gd.from_objective(lambda p: -p[..., 0], vectorized=True)(x, y)

    oracle.vectorized = True
    rounds = 8 if method is gd.Block else 40  # Block goes on to find ties
    gd.minimize(oracle, sphere, method=method(min_radius=0.1), iterations=rounds, rng=0)
    short = np.array(asked[40:]) < 0.2 - 1e-9
    assert np.mean(short) < (0.5 if method is gd.Block else 1e-9)
    with pytest.raises(ArgumentError, match="min_radius"):
        method(min_radius=-1.0)


PLANE = gd.Euclidean(2)
LINE = np.stack([np.arange(101.0), np.zeros(101)], axis=1)


def test_the_prior_of_a_catalogue_is_about_its_middle_and_holds_nine_items_in_ten():
    items = Catalogue(PLANE, LINE)
    method, centre = for_items(PLANE, items, gd.IdealPoint())
    away = abs(LINE[:, 0] - centre[0])
    assert abs(centre[0] - 50) <= 1  # one in two items is tried
    assert method.prior_radius == pytest.approx(np.quantile(away, 0.9))
    method, centre = for_items(PLANE, items, gd.IdealPoint(), [0, 0])
    np.testing.assert_array_equal(centre, [0, 0])
    assert method.prior_radius == pytest.approx(90)
    with pytest.raises(ArgumentError, match="x0"):
        for_items(gd.Sphere(3), Catalogue(gd.Sphere(3), np.eye(3)), gd.IdealPoint(), np.ones(3))


def test_what_the_caller_says_of_ideals_stays():
    method, x0 = gd.IdealPoint(prior_radius=2.0), np.ones(2)
    assert for_items(PLANE, Catalogue(PLANE, LINE), method, x0) == (method, x0)
    turns = gd.Rotations(2)
    method = gd.Bisection()
    items = Catalogue(turns, turns.random_point(0, (9,)))
    assert for_items(turns, items, method) == (method, None)


def test_items_all_over_a_sphere_leave_the_ideal_anywhere():
    sphere = gd.Sphere(3)
    items = Catalogue(sphere, sphere.random_point(0, (200,)))
    assert for_items(sphere, items, gd.IdealPoint()) == (gd.IdealPoint(), None)
    method, centre = for_items(sphere, items, gd.IdealPoint(), np.eye(3)[0])
    assert method == gd.IdealPoint()
    np.testing.assert_array_equal(centre, np.eye(3)[0])


@pytest.mark.parametrize(("d", "sweeps"), [(6, None), (7, 20)])
def test_many_dimensions_take_more_sweeps(d, sweeps):
    space = gd.Euclidean(d)
    items = Catalogue(space, space.random_point(0, (30,)))
    assert for_items(space, items, gd.IdealPoint())[0].sweeps == sweeps
    assert for_items(space, items, gd.IdealPoint(sweeps=3))[0].sweeps == 3


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (gd.Auto(), "among= goes with methods that can ask about any pair.*; Auto asks"),
        (gd.IdealPoint(domain=gd.Ball(PLANE, np.zeros(2), 1.0)), "among= and domain= are both"),
    ],
)
def test_methods_that_cannot_choose_are_refused(method, words):
    with pytest.raises(ArgumentError, match=words):
        for_items(PLANE, Catalogue(PLANE, LINE), method)
