"""Which method people get, and probes that they can tell."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError


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
    assert type(gd.for_people(manifold, 30)) is kind


def test_bad_budget_is_named():
    with pytest.raises(ArgumentError, match="budget"):
        gd.for_people(gd.Sphere(3), 0)


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
