"""The flat torus: wrapping, the cut locus, circles of the plane."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError, CutLocusError, NotOnManifoldError
from geoduel.manifolds.torus import Torus

EPS = np.finfo(float).eps
TORUS = Torus(3)


def sample(seed, batch=(40,)):
    """Points x, y and tangent vectors v, w, at random."""
    rng = np.random.default_rng(seed)
    x, y = TORUS.random_point(rng, batch), TORUS.random_point(rng, batch)
    return x, y, 5 * TORUS.unit_tangent(rng, x), TORUS.unit_tangent(rng, x)


def test_exp_turns_points_of_the_unit_circles():
    x, _, v, _ = sample(0)
    np.testing.assert_allclose(np.exp(1j * TORUS.exp(x, v)), np.exp(1j * (x + v)), atol=1e-14)


def test_distance_is_that_of_the_unit_circles():
    """Each angle is an arc: 2 asin of half the chord."""
    x, y, _, _ = sample(1)
    arcs = 2 * np.arcsin(np.abs(np.exp(1j * x) - np.exp(1j * y)) / 2)
    np.testing.assert_allclose(TORUS.dist(x, y), np.linalg.norm(arcs, axis=-1), rtol=1e-12)


def test_whole_turns_change_nothing():
    x, y, v, _ = sample(2)
    turns = 2 * math.pi * np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(TORUS.log(x + turns, y), TORUS.log(x, y), atol=1e-14)
    np.testing.assert_allclose(TORUS.exp(x, v + turns), TORUS.exp(x, v), atol=1e-14)


def test_translations_are_isometries():
    x, y, v, _ = sample(3)
    move = TORUS.random_point(np.random.default_rng(4))
    np.testing.assert_allclose(TORUS.dist(x + move, y + move), TORUS.dist(x, y), rtol=1e-13)
    np.testing.assert_array_equal(TORUS.transport(x, y, v), v)
    np.testing.assert_array_equal(TORUS.transport_along(x, v, v), v)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_angles_are_in_the_half_open_interval(dtype):
    pi = dtype(math.pi)
    ends = [pi, -pi, 3 * pi, -3 * pi, 7 * pi, 101 * pi, -101 * pi, np.nextafter(pi, dtype(9))]
    many = np.random.default_rng(5).uniform(-1e4, 1e4, 100_000)
    angles = np.concatenate([np.array(ends, dtype), many.astype(dtype)])[:, None]
    wrapped = Torus(1).to_manifold(angles)
    assert wrapped.dtype == dtype
    assert np.all((wrapped > -pi) & (wrapped <= pi))
    assert np.array_equal(wrapped[:2, 0], [pi, pi])
    error = np.abs(np.exp(1j * wrapped.astype(float)) - np.exp(1j * angles.astype(float)))
    assert np.all(error <= 4 * np.finfo(dtype).eps * (math.pi + np.abs(angles)))


def test_angles_within_stay_to_the_last_bit():
    inside = np.nextafter(math.pi, 0)
    x = np.array([[inside, -inside, math.pi], [0.0, 1e-300, -1e-17]])
    np.testing.assert_array_equal(TORUS.exp(x, np.zeros(3)), x)


def test_log_takes_the_short_way():
    x, y = np.array([3.0, 0.0, -3.0]), np.array([-3.0, 3.0, 3.0])
    short = 2 * math.pi - 6
    np.testing.assert_allclose(TORUS.log(x, y), [short, 3.0, -short], rtol=1e-15)


def test_opposite_angles_are_the_cut_locus():
    x = np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    y = np.array([[0.5, math.pi, 0.1], [0.1, -3.1, 0.2]])
    with pytest.raises(CutLocusError, match="Torus"):
        TORUS.log(x[0], y[0])
    v = TORUS.log(x, y)
    assert np.all(np.isnan(v[0]))
    np.testing.assert_array_equal(v[1], y[1])
    np.testing.assert_allclose(TORUS.dist(x, y)[0], math.hypot(math.pi, 0.1), rtol=1e-15)


def test_tiny_distances_keep_their_digits():
    x = np.array([1.0, -2.0, 3.0])
    y = x + np.array([1e-12, 0.0, 0.0])
    assert TORUS.dist(x, y) == y[0] - x[0]
    assert TORUS.dist(x, x) == 0


def test_random_points_are_uniform():
    """The characters exp(ix), exp(2ix) average to zero, within four standard errors."""
    x = TORUS.random_point(np.random.default_rng(6), (20_000,))
    for k in (1, 2):
        assert np.all(np.abs(np.mean(np.exp(1j * k * x), axis=0)) < 4 / math.sqrt(20_000))
    assert np.all(np.abs(x) <= math.pi)


def every_operation(torus, x, y, v, w):
    return {
        "exp": torus.exp(x, v),
        "geodesic": torus.geodesic(x, v)(-0.5),
        "log": torus.log(x, y),
        "dist": torus.dist(x, y),
        "inner": torus.inner(x, v, w),
        "norm": torus.norm(x, v),
        "transport": torus.transport(x, y, v),
        "to_coords": torus.to_coords(x, v),
        "from_coords": torus.from_coords(x, v),
        "to_manifold": torus.to_manifold(9 * x),
    }


@pytest.mark.parametrize("batch", [(), (4,)])
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries_agree_with_numpy(library, batch):
    xp = pytest.importorskip(library)
    arrays = sample(7, batch)
    expected = every_operation(TORUS, *arrays)
    for name, result in every_operation(TORUS, *(xp.asarray(a) for a in arrays)).items():
        assert type(result).__module__.split(".")[0] == library, name
        np.testing.assert_allclose(np.from_dlpack(result), expected[name], rtol=1e-14, atol=1e-15)
    TORUS.check_point(xp.asarray(arrays[0]))


def test_gradients_pass_through_the_wrap():
    torch = pytest.importorskip("torch")
    x = torch.tensor([3.0, math.pi, 0.0], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64, requires_grad=True)
    TORUS.exp(x, v).sum().backward()
    assert bool((x.grad == 1).all())
    assert bool((v.grad == 1).all())
    x.grad = None
    TORUS.dist(x, x.detach()).backward()
    assert bool((x.grad == 0).all())


@pytest.mark.parametrize("n", [0, 2.5, "3", True])
def test_number_of_angles_must_be_a_positive_integer(n):
    with pytest.raises(ArgumentError, match=r"Torus n must be an integer >= 1"):
        Torus(n)


def test_angles_outside_are_refused():
    with pytest.raises(NotOnManifoldError, match=r"largest angle, in radians, over π is 0\.858"):
        TORUS.check_point(np.array([0.0, -4.0, 1.0]))
    with pytest.raises(NotOnManifoldError, match="not finite"):
        TORUS.to_manifold(np.array([0.0, np.inf, 1.0]))
