"""Every manifold against values of 60 digits: exp, log and dist, at usual points and in corners."""

from __future__ import annotations

import numpy as np
import pytest

import geoduel as gd

pytest.importorskip("mpmath", reason="mpmath is not installed (it comes with torch)")

from samples import exact
from samples.points import MANIFOLDS, corner, usual

CONTINUOUS = [m for m in MANIFOLDS if m.dim and not str(m).startswith("Product(Line")]
FLOATS = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])


def compared(m, draw, dtype, seed):
    """Errors in rounding units, of one direction and a length that may be short."""
    rng = np.random.default_rng(seed)
    x = draw(m, rng, (), dtype)
    u = m.unit_tangent(rng, x)
    reach = 0.9 * min(float(m.extent(x, u)), 2 * m.typical_dist)
    v = (reach * 10.0 ** rng.uniform(-9 if dtype == np.float64 else -4, 0) * u).astype(dtype)
    return exact.errors(m, x, v)


@FLOATS
@pytest.mark.parametrize("m", CONTINUOUS, ids=str)
def test_exp_log_and_dist_are_right_to_rounding(m, dtype):
    for seed in range(3):
        found = compared(m, usual, dtype, seed)
        for name in set(found) - {"digits"}:
            assert found[name] < 30, (name, seed, found)


@FLOATS
@pytest.mark.parametrize(
    "m", [gd.Sphere(3), gd.Torus(2), gd.Rotations(3), gd.Hyperbolic(3), gd.SPD(3)], ids=str
)
def test_short_distances_have_all_their_digits(m, dtype):
    for seed in range(10):
        assert compared(m, usual, dtype, seed)["digits"] < 30


CORNERS = [gd.Hyperbolic(3), gd.Simplex(3), gd.Correlation(3)]


@FLOATS
@pytest.mark.parametrize("m", CORNERS, ids=str)
def test_far_out_and_at_the_rim_nothing_is_lost(m, dtype):
    """Of exp and dist; log far out in hyperbolic space is as good as the entries of a vector."""
    for seed in range(6):
        found = compared(m, corner, dtype, seed)
        assert max(found["exp"], found["dist"]) < 100, (seed, found)
