"""Intersections: Dykstra finds the nearest point."""

import math

import numpy as np
import pytest
from samples.sets import RNG
from scipy.optimize import minimize as general_solver

import geoduel as gd
from geoduel.domains import L2Ball
from geoduel.errors import ArgumentError, EmptySetError


def test_dykstra_against_a_general_solver():
    ball, box = L2Ball(3, 1.0), gd.Box(np.full(3, -0.3), np.array([0.5, 2.0, 0.4]))
    both = gd.Intersection(ball, box)
    for y in 2 * RNG(0).standard_normal((6, 3)):
        solved = general_solver(
            lambda z, y=y: np.sum((z - y) ** 2),
            np.zeros(3),
            method="SLSQP",
            bounds=list(zip(box.lower, box.upper, strict=True)),
            constraints={"type": "ineq", "fun": lambda z: 1 - z @ z},
            options={"ftol": 1e-15},
        )
        p = both.project(y)
        np.testing.assert_allclose(p, solved.x, atol=1e-6)
        assert both.contains(p)
    assert both.diameter == min(ball.diameter, box.diameter)


def test_dykstra_finds_the_nearest_point_where_alternating_projections_do_not():
    """A half-plane and a slab through boxes: x + y is not met by either projection alone."""
    simplex, box = gd.ProbabilitySimplex(3), gd.Box(np.array([0.0, 0.5, 0.0]), np.ones(3))
    p = gd.Intersection(simplex, box).project(np.array([2.0, -1.0, 0.0]))
    np.testing.assert_allclose(p, [0.5, 0.5, 0.0], atol=1e-9)
    p = gd.Intersection(simplex, box).project(np.array([0.4, 0.1, 0.3]))
    np.testing.assert_allclose(p, [0.3, 0.5, 0.2], atol=1e-9)


def test_intersection_on_a_manifold():
    sphere = gd.Sphere(3)
    a, b = np.eye(3)[:2]
    both = gd.Intersection(gd.Ball(sphere, a, 1.0), gd.Ball(sphere, b, 1.0))
    y = sphere.random_point(RNG(0), (20,))
    p = both.project(y)
    assert np.all(both.contains(p))
    np.testing.assert_allclose(both.project(p), p, atol=1e-9)


def test_empty_intersections_are_found_out():
    apart = gd.Intersection(
        L2Ball(2, 1.0), gd.Box(np.full(2, 2.0), np.full(2, 3.0)), max_cycles=200
    )
    with pytest.raises(EmptySetError, match="no common point found in 200"):
        apart.project(np.zeros(2))
    sphere = gd.Sphere(3)
    caps = [gd.Ball(sphere, c, 0.5) for c in np.eye(3)[:2]]
    with pytest.raises(EmptySetError, match="outside Ball"):
        gd.Intersection(*caps, max_cycles=200).project(np.eye(3)[2])


CUBE = gd.Box(np.zeros(2), np.ones(2))
NESTED = {
    "box in ball": (CUBE, L2Ball(2, 1.5)),
    "box in box": (CUBE, gd.Box(np.zeros(2), math.inf)),
    "box in cross": (CUBE, gd.L1Ball(2, 2.0)),
    "ball in ball": (L2Ball(2, 0.5, np.array([0.5, 0.0])), L2Ball(2, 1.0)),
    "ball in box": (L2Ball(2, 0.5, np.array([0.5, 0.5])), CUBE),
    "cross in cross": (gd.L1Ball(2, 0.5, np.array([0.2, -0.3])), gd.L1Ball(2, 1.0)),
    "cross in box": (gd.L1Ball(2, 0.5, np.array([0.5, 0.5])), CUBE),
    "simplex in box": (gd.ProbabilitySimplex(2), CUBE),
    "cap in cap": (
        gd.Ball(gd.Sphere(3), np.eye(3)[0], 0.4),
        gd.Ball(gd.Sphere(3), np.array([0.8, 0.6, 0.0]), 1.1),
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_the_minimiser_is_that_of_a_member_inside_the_others(name):
    inner, outer = NESTED[name]
    x = inner.project(inner.manifold.random_point(1))
    h = inner.manifold.unit_tangent(2, x)
    for both in (gd.Intersection(inner, outer), gd.Intersection(outer, inner)):
        z = both.linear_minimizer(x, h)
        np.testing.assert_array_equal(z, inner.linear_minimizer(x, h))
        assert outer.contains(z)


@pytest.mark.parametrize(
    "sets",
    [
        (L2Ball(2, 1.4), CUBE),
        (CUBE, gd.L1Ball(2, 1.9)),
        (CUBE, gd.Box(np.full(2, 0.1), 2.0)),
        (gd.L1Ball(2, 0.6, np.array([0.5, 0.5])), CUBE),
        (L2Ball(2, 1.0), L2Ball(2, 1.0, np.array([1.5, 0.0]))),
        (gd.ProbabilitySimplex(2), gd.Box(np.full(2, 0.1), np.ones(2))),
        (CUBE, gd.Where(gd.Euclidean(2), lambda x: True, np.zeros(2))),
    ],
)
def test_what_may_have_no_minimiser_is_refused_before_any_duel(sets):
    """Also for h = 0, as of a first look: whether a run has a step must not show on the way."""
    both = gd.Intersection(*sets)
    with pytest.raises(ArgumentError, match=r"Intersection\(.*has no linear minimiser.*project"):
        both.linear_minimizer(np.full(2, 0.5), np.zeros(2))
    asked = []
    with pytest.raises(ArgumentError, match="no linear minimiser") as refused:
        gd.minimize(
            lambda a, b: asked.append(a) or 0, gd.Euclidean(2), both.project(np.full(2, 0.5)),
            domain=both, method="rdfw", iterations=3, rng=0,
        )  # fmt: skip
    assert not asked
    assert not hasattr(refused.value, "result")
