"""What is recommended, and why a descent method stops."""

from __future__ import annotations

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.descent.base import converged, recommend
from geoduel.methods.frame import Frame

SPHERE = gd.Sphere(3)


@pytest.mark.parametrize("kind", [gd.Auto, gd.DuelNewton, gd.DuelCSA, gd.Block])
@pytest.mark.parametrize(
    ("name", "value"),
    [("initial_step", 0.0), ("x_tol", -1.0), ("parallel", 0), ("min_radius", -1.0)],
)
def test_bad_settings_are_named(kind, name, value):
    with pytest.raises(ArgumentError, match=name):
        kind(**{name: value})


def test_what_is_recommended_is_in_the_domain():
    plane, disc = gd.Euclidean(2), gd.Ball(gd.Euclidean(2), np.zeros(2), 1.0)
    frame = Frame(np.array([1.0, 0.0]), np.eye(2))
    assert recommend(plane, frame, None, disc) is frame.point
    assert recommend(plane, frame, np.zeros(2), disc) is frame.point
    inside = recommend(plane, frame, np.array([-0.5, 0.0]), disc)
    np.testing.assert_allclose(inside, [0.5, 0.0])
    np.testing.assert_allclose(recommend(plane, frame, np.array([1.0, 0.0]), disc), [1.0, 0.0])


@pytest.mark.parametrize(
    ("x_tol", "ties", "probe", "reason"),
    [
        (None, 1.0, 1.0, None),
        (None, 0.4, 1e-9, None),
        (None, 0.5, 1e-9, "resolution"),
        (0.2, 1.0, 1e-9, "x_tol"),
        (0.1, 0.0, 1.0, "x_tol"),
        (0.05, 0.0, 1.0, None),
    ],
)
def test_converged(x_tol, ties, probe, reason):
    assert converged(SPHERE, State(np.array([0.0, 0.0, 1.0])), x_tol, ties, probe) == reason


class State:
    """A descent at a point."""

    def __init__(self, x):
        self.point, self.frame, self.uncertainty = x, Frame(x, np.eye(2)), 0.1


@pytest.mark.parametrize(
    ("manifold", "x", "probe", "reason"),
    [
        (gd.Euclidean(2), np.array([1e70, 0.0]), 1e69, None),
        (gd.Euclidean(2), np.array([1e200, 0.0]), 1e-3, "diverges"),
        (gd.Euclidean(2), np.array([1e20, 0.0], np.float32), 1e19, "diverges"),
        (gd.Hyperbolic(2), gd.Hyperbolic(2).exp(np.array([1.0, 0, 0]), np.eye(3)[1]), 1.0, None),
        (gd.Hyperbolic(2), np.array([1.4e12, 1.4e12, 0.0]), 1.0, "diverges"),
        (gd.Hyperbolic(2), np.array([1.4e12, 1.4e12, 0.0]), 1e-5, None),
    ],
)
def test_a_descent_diverges_where_its_steps_find_no_room(manifold, x, probe, reason):
    assert converged(manifold, State(x), None, 0.0, probe) == reason


@pytest.mark.parametrize(
    ("least", "probe", "reason"),
    [(1e-14, 1e-7, "diverges"), (1e-14, 1e-10, None), (0.1, 9.0, None)],
)
def test_a_descent_diverges_at_the_rim_of_an_incomplete_manifold(least, probe, reason):
    """The singular matrices are √λ away. Optima may be near them, so short probes go on."""
    state = State(np.diag([least, 1.0]))
    state.frame = Frame(state.point, np.eye(3))
    manifold = gd.SPD(2, metric="bures-wasserstein")
    assert converged(manifold, state, None, 0.0, probe) == reason
