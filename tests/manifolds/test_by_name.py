"""What is known by a name is what the literature means by it."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError


def test_poses_move_with_the_world_frame():
    """(R, t) -> (Q R, Q t + s) is an isometry; and dist² is that of both parts, weighted."""
    poses = gd.SE(3, weight=4.0)
    x, y = poses.random_point(0, (2, 20))
    move = gd.SE(3).unpack(gd.SE(3).random_point(1))
    q, s = move["rotation"], move["translation"]

    def moved(pose):
        parts = poses.unpack(pose)
        return {"rotation": q @ parts["rotation"], "translation": parts["translation"] @ q.T + s}

    np.testing.assert_allclose(poses.dist(moved(x), moved(y)), poses.dist(x, y), rtol=1e-12)
    (r, t), (u, v) = poses.split(x), poses.split(y)
    angle, length = gd.Rotations(3).dist(r, u), np.linalg.norm(t - v, axis=-1)
    np.testing.assert_allclose(poses.dist(x, y) ** 2, angle**2 + 4 * length**2, rtol=1e-12)
    assert poses.dim == 6


def test_rows_of_oblique_matrices_are_unit_vectors():
    oblique = gd.Oblique(3, 4)
    x = oblique.random_point(0)
    np.testing.assert_allclose((x * x).sum(axis=1), 1)
    assert (x.shape, oblique.dim) == ((4, 3), 8)


def test_the_complex_sphere_has_the_hermitian_product():
    """cos dist is its real part, and unitary matrices keep it."""
    sphere, rng = gd.ComplexSphere(3), np.random.default_rng(2)
    x, y = sphere.random_point(rng, (2,))
    z, w = x @ [1, 1j], y @ [1, 1j]
    assert np.cos(sphere.dist(x, y)) == pytest.approx(np.vdot(z, w).real)
    unitary = np.linalg.qr(rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)))[0]

    def turned(z):
        return np.stack([(unitary @ z).real, (unitary @ z).imag], axis=-1)

    assert sphere.dist(turned(z), turned(w)) == pytest.approx(sphere.dist(x, y))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gd.SE(1), "SE n must be an integer >= 2"),
        (lambda: gd.SE(3, weight=0), "SE weight must be > 0"),
        (lambda: gd.Oblique(1, 3), "Oblique n must be an integer >= 2"),
        (lambda: gd.Oblique(3, 0), "Oblique k must be an integer >= 1"),
        (lambda: gd.ComplexSphere(0), "ComplexSphere n must be an integer >= 1"),
    ],
)
def test_bad_sizes_are_refused(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()
