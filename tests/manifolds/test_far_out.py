"""Hyperbolic space far from the apex, against values of 1300 digits (mpmath).

They are computed from the spatial entries as they stand, which are exact numbers, by

    cosh d = x₀y₀ - x·y,  exp = cosh|v| x + sinh|v| v/|v|,  log = d / sinh d (y - cosh d x).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.manifolds import _far_out as far_out

UNIT = np.finfo(float).eps
RNG = np.random.default_rng


def point(*space, dtype=np.float64):
    return gd.Hyperbolic(len(space)).to_manifold(np.array([0.0, *space], dtype))


def vector(x, *space):
    """The tangent vector with these spatial entries, of which the first is along x."""
    return np.array([x[1:] @ np.array(space) / x[0], *space])


DISTANCES = [
    ((2.0**20,), (1.5 * 2.0**20,), 0.40546510810803806327),
    ((2.0**60,), (1.5 * 2.0**60,), 0.40546510810816438198),
    ((2.0**500,), (1.5 * 2.0**500,), 0.40546510810816438198),
    ((2.0**1000,), (1.5 * 2.0**1000,), 0.40546510810816438198),
    ((3 * 2.0**20, 4 * 2.0**20), (4 * 2.0**20, 3 * 2.0**20), 28.419034402958667181),
    ((3 * 2.0**60, 4 * 2.0**60), (4 * 2.0**60, 3 * 2.0**60), 83.870808847753382439),
    ((3 * 2.0**10, 4 * 2.0**10), (3 * 2.0**10 + 1, 4 * 2.0**10), 0.78002712654983262356),
    ((3 * 2.0**45, 4 * 2.0**45), (3 * 2.0**45 + 1, 4 * 2.0**45), 0.78007063954142928549),
    ((2.0**60, 1.0), (2.0**60, 0.5), 0.49493292309452690589),
    ((2.0**400, 0.0, 1.0), (-(2.0**-20), 2.0**300, 1.0), 485.8961735725216619),
]


@pytest.mark.parametrize("case", DISTANCES)
def test_distances_are_right_to_rounding(case):
    x, y, d = point(*case[0]), point(*case[1]), case[2]
    m = gd.Hyperbolic(len(case[0]))
    assert m.dist(x, y) == m.dist(y, x) == pytest.approx(d, rel=8 * UNIT)
    if m.dim == 1:  # beyond, rounding of its entries turns the vector
        assert m.norm(x, m.log(x, y)) == pytest.approx(d, rel=8 * UNIT)
    # A stack with the apex in it, for which all goes the same way.
    apex = m.origin()
    near = 0.25 * m.unit_tangent(RNG(0), apex)
    stack = m.dist(np.stack([x, apex]), np.stack([y, m.exp(apex, near)]))
    np.testing.assert_allclose(stack, [d, 0.25], rtol=8 * UNIT)


def test_who_stands_still_stays_to_the_last_bit():
    x = np.array([[2.0**60, 1.0], [3.0, 4.0], [0.0, 0.0]])
    v = np.array([[0.0, 0.0], [0.0, 0.0], [0.5, 0.0]])
    y, size = far_out.moved(x, v, 1.0)
    np.testing.assert_array_equal(y[:2], x[:2])
    assert size.tolist() == [0, 0, 0.5]
    np.testing.assert_allclose(y[2], [math.sinh(0.5), 0])
    np.testing.assert_array_equal(far_out.moved(x, v + 0.25, 0.0)[0], x)


@pytest.mark.parametrize("case", [c for c in DISTANCES if max(map(abs, c[0])) < 2.0**44])
def test_single_precision_is_right_for_its_own_entries(case):
    x, y = (point(*c, dtype=np.float32) for c in case[:2])
    d = gd.Hyperbolic(len(case[0])).dist(x, y)
    assert d.dtype == np.float32
    assert d == pytest.approx(case[2], rel=3e-7)


def test_single_precision_up_to_its_last_radius():
    x, y = point(2.0**126, dtype=np.float32), point(1.5 * 2.0**126, dtype=np.float32)
    assert gd.Hyperbolic(1).dist(x, y) == pytest.approx(math.log(1.5), rel=3e-7)


@pytest.mark.parametrize(
    ("x", "v", "y"),
    [
        ((0.0, 0.0), (360.0, 0.0), (1.1091326487692777184e156, 0.0)),
        ((2.0**30, 0.0), (-(2.0**34), 3.0), (107987564253685.17036, 1082107.1804661123908)),
        (
            (2.0**60, 0.0, 0.0),
            (2.0**58, 1.0, -2.0),
            (6131015723233211564.8, 2.0849636915103691964, -4.1699273830207383928),
        ),
    ],
)
def test_exp_is_right_to_rounding(x, v, y):
    x = point(*x)
    v = vector(x, *v)
    m = gd.Hyperbolic(len(y))
    end = m.exp(x, v)
    m.check_point(end)
    size = np.max(np.abs(y))
    # The rounded length L makes a relative error of L units in e^L.
    rel = 4 * UNIT * (1 + float(m.norm(x, v)))
    np.testing.assert_allclose(end[1:], y, rtol=rel, atol=rel * size * 1e-12)
    np.testing.assert_allclose(m.exp(np.stack([x, x]), np.stack([v, 0 * v])), [end, x], rtol=rel)
    np.testing.assert_array_equal(m.exp(x, 0 * v), x)


@pytest.mark.parametrize(
    ("x", "y", "v", "d", "carried"),
    [
        (
            (2.0**30, 0.0),
            (2.0**29, 8.0),
            (-5191063062.3435903618, 0.59731943984100609826),
            4.871314502546129913,
            (0.72452832879674313336, -1.864150932937297992),
        ),
        (
            (2.0**80, 2.0**80),
            (2.0**81, 2.0**81 + 2.0**50),
            (-8.2120425290174646673e25, -8.2120425290174646673e25),
            67.928423694641809679,
            (0.50000000011641909001, -0.49999999988358090996),
        ),
    ],
)
def test_logarithms_and_transport_are_right_to_rounding(x, y, v, d, carried):
    m, x, y = gd.Hyperbolic(2), point(*x), point(*y)
    log = m.log(x, y)
    np.testing.assert_allclose(log[1:], v, rtol=1e-13)
    assert m.dist(x, y) == pytest.approx(d, rel=8 * UNIT)
    # Coordinates at y of the vector with spatial entries (1, 2), after transport.
    moved = far_out.carried(x[1:], y[1:], np.array([1.0, 2.0]))
    np.testing.assert_allclose(moved, carried, rtol=1e-14)


def test_lengths_come_from_the_spatial_entries():
    """At x = (2³⁰, 1) the vector (2³⁰, 8) is 1 long along x and 7 long across."""
    x = point(2.0**30, 1.0)
    assert gd.Hyperbolic(2).norm(x, vector(x, 2.0**30, 8.0)) == pytest.approx(
        7.0710678118654752418, rel=4 * UNIT
    )


@pytest.mark.parametrize("n", [1, 2, 5])
def test_formulas_far_out_agree_with_those_of_near_points(n):
    """At radius 2 both serve."""
    m, rng = gd.Hyperbolic(n), RNG(n)
    x, y = m.random_point(rng, (2, 50))
    v, t = 2 * m.unit_tangent(rng, x), rng.uniform(-1, 1, 50)
    a, b, w = x[:, 1:], y[:, 1:], v[:, 1:]
    tol = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(far_out.pair(a, b).d, m.dist(x, y), **tol)
    np.testing.assert_allclose(far_out.coords(a, w), m.to_coords(x, v), **tol)
    np.testing.assert_allclose(far_out.moved(a, w, t)[0], m.geodesic(x, v)(t)[:, 1:], **tol)
    np.testing.assert_allclose(
        far_out.carried(a, b, w), m.to_coords(y, m.transport(x, y, v)), **tol
    )
    np.testing.assert_allclose(m._far_log(x, y), m.log(x, y), **tol)
    np.testing.assert_allclose(m._far_point(x, v, t), m.geodesic(x, v)(t), **tol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("length", [720.0, 1e16, 1e200])
def test_geodesics_beyond_what_floats_hold_are_refused(dtype, length):
    if length > float(np.finfo(dtype).max):
        pytest.skip("no number of this dtype")
    m, v = gd.Hyperbolic(2), np.array([0.0, length, 0.0], dtype)
    apex = m.origin().astype(dtype)
    for x, u in ((apex, v), (np.stack([apex, apex]), np.stack([0 * v, v]))):
        for call in (m.exp, m.exp_pair):
            with pytest.raises(ArgumentError, match=r"^v is too long for exp on Hyperbolic\(2\)"):
                call(x, u)


def test_torch_refuses_and_agrees():
    torch = pytest.importorskip("torch")
    m = gd.Hyperbolic(2)
    x, y = point(3 * 2.0**45, 4 * 2.0**45), point(3 * 2.0**45 + 1, 4 * 2.0**45)
    d = m.dist(torch.tensor(x), torch.tensor(y))
    assert float(d) == pytest.approx(float(m.dist(x, y)), rel=1e-15)
    with pytest.raises(ArgumentError, match="too long"):
        m.exp(torch.tensor(m.origin()), torch.tensor([0.0, 720.0, 0.0], dtype=torch.float64))


def test_what_is_not_a_number_stays_so_and_spoils_nothing_else():
    m = gd.Hyperbolic(2)
    x, v = m.origin(), np.array([0.0, np.nan, 0.0])
    assert np.isnan(m.exp(x, v)[1])
    ends = m.exp(np.stack([x, x]), np.stack([v, [0.0, 0.5, 0.0]]))
    assert np.isnan(ends[0, 1])
    assert m.dist(x, ends[1]) == pytest.approx(0.5, rel=1e-14)


def test_a_time_entry_that_disagrees_is_refused():
    m, x = gd.Hyperbolic(2), point(2.0**600, 1.0)
    m.check_point(x)
    m.check_tangent(x, m.unit_tangent(RNG(0), x))
    with pytest.raises(NotOnManifoldError, match=r"is 0\.5"):
        m.check_point(x * np.array([0.5, 1.0, 1.0]))
