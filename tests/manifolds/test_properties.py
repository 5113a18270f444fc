"""Every manifold under whatever comes in: a right value or a typed error, and never off it."""

from __future__ import annotations

import numpy as np
import pytest

import geoduel as gd
from geoduel._numerics.arrays import expand

RNG = np.random.default_rng

GEOMETRIES = [
    gd.Euclidean(2),
    gd.Euclidean(1),
    gd.Sphere(2),
    gd.Sphere(3),
    gd.Sphere(2, 3),
    gd.Torus(1),
    gd.Torus(3),
    gd.Rotations(2),
    gd.Rotations(3),
    gd.Rotations(4),
    gd.Stiefel(2, 1),
    gd.Stiefel(3, 2),
    gd.Stiefel(4, 2, metric="canonical"),
    gd.Stiefel(2, 2),
    gd.Grassmann(2, 1),
    gd.Grassmann(4, 2),
    gd.Hyperbolic(1),
    gd.Hyperbolic(2),
    gd.Simplex(2),
    gd.Simplex(3),
    gd.SPD(1),
    gd.SPD(2),
    gd.SPD(2, metric="log-euclidean"),
    gd.SPD(2, metric="bures-wasserstein"),
    gd.Product(gd.Sphere(2), gd.SPD(2), weights=(1.0, 2.0)),
    gd.Power(gd.Sphere(3), 2),
]
FLOATS = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
EVERY = pytest.mark.parametrize("m", GEOMETRIES, ids=str)


# -- rounding does not add up ------------------------------------------------------------------

# All in which a Gaussian is projected, and all of one dimension: there the projection may leave
# nothing but rounding errors.
PROJECTED = pytest.mark.parametrize(
    "m",
    [
        gd.Sphere(2),
        gd.Sphere(3),
        gd.Sphere(1, 2),
        gd.Stiefel(2, 1),
        gd.Stiefel(3, 1, metric="canonical"),
        gd.Stiefel(2, 2),
        gd.Stiefel(3, 2),
        gd.Stiefel(3, 2, metric="canonical"),
        gd.Grassmann(2, 1),
        gd.Grassmann(3, 2),
        gd.Torus(1),
        gd.Simplex(2),
        gd.Hyperbolic(1),
        gd.Rotations(2),
        gd.SPD(1),
    ],
    ids=str,
)


@FLOATS
@PROJECTED
def test_unit_tangents_are_tangent_to_rounding(m, dtype):
    """Also where the Gaussian is nearly normal: what is left of it may hold 60 of its units."""
    rng, unit = RNG(0), np.finfo(dtype).eps
    x = m.random_point(rng, (20_000,)).astype(dtype)
    u = m.unit_tangent(rng, x)
    assert u.dtype == dtype
    assert np.max(m.tangent_defect(x, u)[1]) < 60 * unit
    assert np.max(abs(m.norm(x, u) - 1)) < 8 * unit
    for i in range(500):
        u = m.unit_tangent(rng, x[i])
        assert m.tangent_defect(x[i], u)[1] < 60 * unit
        assert abs(m.norm(x[i], u) - 1) < 8 * unit


class Parallel:
    """A generator whose Gaussian vectors are all but parallel to a point."""

    def __init__(self, x, off):
        self.g = x + off

    def standard_normal(self, shape, dtype=float):
        return np.broadcast_to(self.g, shape).astype(dtype)


@FLOATS
@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_nearly_normal_gaussians_give_directions(n, dtype):
    """Off the sphere by rounding, x has no say in it; and of nothing there is a direction, too."""
    m, unit = gd.Sphere(n), np.finfo(dtype).eps
    for seed in range(20):
        x = m.random_point(RNG(seed)).astype(dtype) * dtype(1 + 1e-6)
        away = m.unit_tangent(RNG(seed + 1), x).astype(float)
        for off in (1e-3, 1e-6) if n > 2 else (1e-3, 1e-9, 0.0):
            rng = Parallel(x, off * away)
            stack = np.stack([x, x])
            for u in (m.unit_tangent(rng, x), m.unit_tangent(rng, stack)[1]):
                assert abs(x @ u) < 60 * unit
                assert abs(u @ u - 1) < 8 * unit
                if off > unit:
                    assert u @ away > 1 - unit / off


@FLOATS
@PROJECTED
def test_walks_stay_on_the_manifold(m, dtype):
    """100 walkers and one; by half a radian a step, where errors grow quickest."""
    rng, unit = RNG(1), np.finfo(dtype).eps
    for batch in ((100,), ()):
        x = m.random_point(rng, batch).astype(dtype)
        for _ in range(1500 if isinstance(m, gd.Sphere) else 150):
            u = m.unit_tangent(rng, x)
            x = m.exp(x, dtype(0.5) * u)
        m.check_point(x)
        assert np.max(m.point_defect(x)[1]) < 8 * unit
        x = m.random_point(rng, batch).astype(dtype)
        for _ in range(150):
            x = m.random_geodesic(rng, x)(0.5)
        assert np.max(m.point_defect(x)[1]) < 8 * unit


@FLOATS
@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")
@pytest.mark.parametrize("m", [gd.Sphere(2), gd.Stiefel(2, 1), gd.Grassmann(2, 1)], ids=str)
def test_rdngd_stays_on_the_circle(m, dtype):
    for seed in range(2):
        rng = RNG(seed)
        x0, goal = m.random_point(rng).astype(dtype), m.random_point(rng)
        result = gd.minimize(
            gd.from_objective(lambda x, goal=goal: -float(np.sum(x * goal))),
            m,
            x0,
            method="rdngd",
            iterations=1000,
            step_size=gd.cosine(0.5, 1e-4),
            radius=1e-2,
            rng=seed,
        )
        assert m.point_defect(result.x)[1] < 8 * np.finfo(dtype).eps


@pytest.mark.parametrize("length", [1e-3, 0.5, 0.8])
@pytest.mark.parametrize("m", [gd.Sphere(2), gd.Sphere(3), gd.Sphere(20)], ids=str)
def test_tangent_vectors_of_all_sources_keep_to_the_sphere(m, length):
    """Directions from coordinates, projections, logarithms and transport, 100 walkers at once."""
    rng = RNG(2)
    for source in ("coords", "project", "log", "transport", "along"):
        x = m.random_point(rng, (100,))
        v = length * m.unit_tangent(rng, x)
        for _ in range(500):
            y = m.exp(x, v)
            fresh = rng.standard_normal((100, m.dim + 1))
            if source == "coords":
                w = m.from_coords(y, fresh[..., 1:])
            elif source == "project":
                w = m.to_tangent(y, fresh)
            elif source == "log":
                w = -m.log(y, x)
            elif source == "transport":
                w = m.transport(x, y, v)
            else:
                w = m.transport_along(x, v, v)
            x, v = y, length / expand(m.norm(y, w), 1) * w
        assert np.max(m.point_defect(x)[1]) < 8 * np.finfo(float).eps
        assert np.max(m.tangent_defect(x, v)[1]) < 1e-13 / min(length, 1)
