"""SPD matrices: which are points, which are repaired, which are refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from samples.matrices import EPS, METRICS, every_metric, sample

from geoduel._numerics.symmetric import sym
from geoduel.errors import ArgumentError, NotOnManifoldError, NotTangentError
from geoduel.manifolds.spd import SPD


def test_rounding_below_zero_is_repaired():
    """A smallest eigenvalue of -1e-17 counts as rounding; what comes out is positive definite."""
    q = np.linalg.qr(np.random.default_rng(34).standard_normal((3, 3)))[0]
    for least in (-1e-16, -1e-17, 0.0, 1e-17):
        a = sym((q * [1.0, 0.5, least]) @ q.T)
        for metric in METRICS:
            spd = SPD(3, metric=metric)
            repaired = spd.to_manifold(a)
            np.testing.assert_allclose(repaired, a, atol=20 * EPS)
            np.testing.assert_array_equal(repaired, repaired.T)
            np.linalg.cholesky(repaired)
            assert np.isfinite(spd.dist(a, np.eye(3)))
            assert np.isfinite(spd.log(np.eye(3), a)).all()
            pair = np.stack([a, np.eye(3)])
            np.testing.assert_array_equal(spd.to_manifold(pair)[1], np.eye(3))
            assert np.isfinite(spd.dist(pair, np.eye(3))).all()


@every_metric
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_to_manifold_returns_is_a_point(metric, dtype):
    """At the rim rounding gives the smallest eigenvalue its sign: a point is one to every check."""
    spd, rng, eps = SPD(3, metric=metric), np.random.default_rng(36), np.finfo(dtype).eps
    q = np.linalg.qr(rng.standard_normal((60, 3, 3)))[0]
    least = eps * rng.uniform(-0.5, 0.5, (60, 1, 1))
    a = sym((q * [1.0, 0.5, 0.0]) @ q.mT + least * q[..., 2:] @ q.mT[:, 2:]).astype(dtype)
    assert (np.linalg.eigvalsh(a)[:, 0] < 0).any()
    for one in a:
        spd.check_point(spd.to_manifold(one))
    spd.check_point(spd.to_manifold(a))


def test_points_are_left_alone():
    spd, x, _, _, _ = sample(35, 3)
    np.testing.assert_array_equal(spd.to_manifold(x), x)
    tiny = np.diag([1.0, 1e-200, 1e-20])
    np.testing.assert_array_equal(spd.to_manifold(tiny), tiny)


@every_metric
def test_indefinite_matrices_are_refused(metric):
    spd, bad = SPD(2, metric=metric), np.array([[1.0, 2.0], [2.0, 1.0]])
    eye = np.eye(2)
    for call in (
        lambda: spd.check_point(bad),
        lambda: spd.to_manifold(bad),
        lambda: spd.to_manifold(np.stack([eye, bad])),
        lambda: spd.dist(bad, eye),
        lambda: spd.log(bad, eye),
        lambda: spd.inner(bad, eye, eye),
        lambda: spd.geodesic(np.stack([eye, bad]), eye),
    ):
        with pytest.raises(NotOnManifoldError, match="smallest eigenvalue is -1"):
            call()
    with pytest.raises(NotOnManifoldError, match="smallest eigenvalue is 0"):
        spd.check_point(np.diag([1.0, 0.0]))
    with pytest.raises(NotOnManifoldError, match="smallest eigenvalue"):
        spd.to_manifold(np.zeros((2, 2)))


@every_metric
def test_asymmetric_matrices_are_refused(metric):
    spd, eye = SPD(2, metric=metric), np.eye(2)
    skewed = np.array([[2.0, 1.0], [0.0, 2.0]])
    for call in (spd.check_point, spd.to_manifold):
        with pytest.raises(NotOnManifoldError, match=r"difference from its transpose.* is 0\.5"):
            call(skewed)
    with pytest.raises(NotTangentError, match="transpose"):
        spd.check_tangent(eye, skewed)
    spd.check_tangent(eye, np.zeros((2, 2)))
    near = spd.to_manifold(eye + 1e-3 * skewed)
    np.testing.assert_array_equal(near, near.T)
    np.testing.assert_allclose(near, [[1.002, 0.0005], [0.0005, 1.002]], rtol=4 * EPS)
    np.testing.assert_array_equal(spd.to_tangent(eye, skewed), [[2.0, 0.5], [0.5, 2.0]])


def test_bad_arguments_are_named():
    spd = SPD(2)
    for bad in (0, -1, 2.5, "2", True, None):
        with pytest.raises(ArgumentError, match=r"n must be an integer >= 1"):
            SPD(bad)
    with pytest.raises(ArgumentError, match=r"metric must be one of 'affine-invariant'.*'euclid'"):
        SPD(2, metric="euclid")
    with pytest.raises(ArgumentError, match=r"shape \(3, 3\), expected \(\.\.\., 2, 2\)"):
        spd.check_point(np.eye(3))
    with pytest.raises(ArgumentError, match="not finite"):
        spd.check_point(np.full((2, 2), np.nan))
    with pytest.raises(ArgumentError, match="not finite"):
        spd.to_manifold(np.full((2, 2), np.inf))
    with pytest.raises(ArgumentError, match="real numbers"):
        spd.check_point(np.eye(2, dtype=complex))


@every_metric
def test_it_is_a_value(metric):
    spd = SPD(3, metric=metric)
    assert isinstance(spd, SPD)
    assert spd == SPD(3, metric=metric) == pickle.loads(pickle.dumps(spd)) == eval(repr(spd))
    assert spd != SPD(2, metric=metric)
    assert hash(spd) == hash(SPD(3, metric=metric))
    assert (spd.dim, spd.point_shape) == (6, (3, 3))
    assert spd.curvature[0] <= spd.curvature[1]
    assert SPD(1, metric=metric).curvature == (0.0, 0.0)
    with pytest.raises(AttributeError):
        spd.n = 4


def test_room_is_left_as_long_as_a_fifth_of_the_digits():
    """A step of length r spreads the logarithms of eigenvalues by √2 r, and shifts them by r."""
    spread, most = 0.8 * 52 * np.log(2), np.log(np.finfo(float).max) / 3
    for space in (SPD(2), SPD(2, "log-euclidean")):
        assert space.room(np.eye(2)) == pytest.approx(spread / np.sqrt(2))
        assert space.room(np.diag([np.exp(-4), 1])) == pytest.approx((spread - 4) / np.sqrt(2))
        both = np.stack([np.eye(2), np.exp(-230) * np.eye(2)])
        assert space.room(both) == pytest.approx(most - 230)
        assert space.room(np.diag([np.exp(-30), 1])) == 0  # no digits are left
        for bad in (np.diag([1.0, 0.0]), np.diag([1.0, np.inf])):
            assert space.room(bad) == 0
    assert SPD(2, "bures-wasserstein").room(np.eye(2)) == np.finfo(float).max ** (1 / 3)
