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


def test_intersection_minimiser_is_that_of_a_member_inside_the_others():
    box = gd.Box(np.zeros(2), np.ones(2))
    h = np.array([1.0, -1.0])
    nested = gd.Intersection(L2Ball(2, 5.0), box)
    np.testing.assert_array_equal(nested.linear_minimizer(np.zeros(2), h), [0.0, 1.0])
    with_orthant = gd.Intersection(gd.Box(np.zeros(2), math.inf), box)
    np.testing.assert_array_equal(with_orthant.linear_minimizer(np.zeros(2), h), [0.0, 1.0])
    cut = gd.Intersection(L2Ball(2, 0.9), box)
    with pytest.raises(ArgumentError, match="project instead"):
        cut.linear_minimizer(np.zeros(2), np.array([-1.0, 0.2]))
    # In a batch each entry may be served by another member.
    lens = gd.Intersection(L2Ball(2, 1.0), L2Ball(2, 1.0, np.array([1.5, 0.0])))
    z = lens.linear_minimizer(np.array([0.75, 0.0]), np.array([[-1.0, 0.0], [1.0, 0.0]]))
    np.testing.assert_allclose(z, [[1.0, 0.0], [0.5, 0.0]])
