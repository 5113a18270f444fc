"""Frames: coordinates stay, the basis is parallel-transported, and stays orthonormal."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, CutLocusError
from geoduel.methods.frame import Frame, reach
from geoduel.methods.named import named

MANIFOLDS = [
    gd.Sphere(4),
    gd.SPD(3),
    gd.Rotations(3),
    gd.Grassmann(4, 2),
    gd.Hyperbolic(3),
    gd.Torus(2),
    gd.Product(gd.Sphere(3), gd.Euclidean(2)),
]


def frame_on(manifold, rotation=True, like=None):
    x = manifold.random_point(np.random.default_rng(3), like=like)
    return Frame(x, np.eye(manifold.dim) if rotation else None)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_a_moved_vector_is_the_transported_vector(manifold):
    rng = np.random.default_rng(0)
    frame = frame_on(manifold)
    for _ in range(2):  # the second move starts from a turned frame
        c, w = 0.3 * rng.standard_normal((2, manifold.dim))
        moved, _ = frame.move(manifold, c)
        expected = manifold.transport_along(
            frame.point, frame.tangent(manifold, c), frame.tangent(manifold, w)
        )
        np.testing.assert_allclose(moved.tangent(manifold, w), expected, atol=1e-12)
        np.testing.assert_array_equal(moved.point, frame.at(manifold, c))
        frame = moved


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_without_a_rotation_the_vectors_themselves_are_carried(manifold):
    rng = np.random.default_rng(1)
    c, *along = 0.3 * rng.standard_normal((3, manifold.dim))
    with_basis, same = frame_on(manifold).move(manifold, c, np.array(along))
    without, carried = frame_on(manifold, rotation=False).move(manifold, c, np.array(along))
    np.testing.assert_array_equal(same, along)
    np.testing.assert_allclose(
        without.tangent(manifold, carried), with_basis.tangent(manifold, same), atol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_frame_is_orthonormal_after_a_thousand_moves(dtype):
    manifold, rng = gd.Sphere(6), np.random.default_rng(2)
    frame = frame_on(manifold, like=np.zeros(1, dtype))
    for _ in range(1000):
        frame, _ = frame.move(manifold, 0.5 * rng.standard_normal(manifold.dim))
    gram = frame.rotation.T @ frame.rotation
    # The last renewal was at most 32 moves ago; a move turns a column by a few units of rounding.
    assert abs(gram - np.eye(5)).max() < 32 * 4 * np.finfo(dtype).eps
    assert frame.point.dtype == dtype


def test_holonomy_around_an_octant_is_a_quarter_turn():
    sphere = gd.Sphere(3)
    frame = Frame(np.array([1.0, 0.0, 0.0]), np.eye(2))
    vector = frame.tangent(sphere, np.array([1.0, 0.0]))
    for corner in ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]):
        v = sphere.log(frame.point, np.array(corner))
        c = sphere.to_coords(frame.point, v) @ frame.rotation
        frame, _ = frame.move(sphere, c)
    turned = frame.tangent(sphere, np.array([1.0, 0.0]))
    assert abs(vector @ turned) < 1e-12  # the area π/2 of the octant


def test_own_coordinates_are_those_of_the_manifold_and_of_any_length():
    manifold, own = gd.Sphere(4), np.array([[1.0, -2.0, 9.0]])
    frame = Frame(manifold.random_point(np.random.default_rng(5)), np.eye(3)[:, [2, 0, 1]])
    v = frame.vectors(manifold, own)
    np.testing.assert_allclose(manifold.to_coords(frame.point, v), own, atol=1e-14)
    np.testing.assert_allclose(manifold.norm(frame.point, v), [np.sqrt(86)], rtol=1e-15)


def test_steps_beyond_the_injectivity_radius_are_shortened():
    frame = frame_on(gd.Torus(2))
    assert np.linalg.norm(frame.tangent(gd.Torus(2), np.array([30.0, 40.0]))) < np.pi
    assert reach(gd.Torus(2)) == np.pi
    assert np.isfinite(frame_on(gd.SPD(2)).at(gd.SPD(2), np.full(3, 1e4))).all()


def test_steps_reach_a_hundred_times_the_unit_of_negative_curvature():
    """Farther out hyperbolic points have entries that nothing holds."""
    assert reach(gd.Hyperbolic(2)) == 100
    wide = gd.Product(gd.Hyperbolic(2), weights=[4.0])  # lengths are doubled
    assert reach(wide) == pytest.approx(200)
    assert reach(gd.Euclidean(2)) == np.inf


def test_lengthened_probes_stay_mirrored():
    """On the simplex geodesics turn back at the boundary, so that a pair may lie askew."""
    manifold, rng = gd.Simplex(4), np.random.default_rng(3)
    frame = Frame(np.array([0.01, 0.39, 0.3, 0.3]), np.eye(3))
    short = 0.02 * rng.standard_normal((50, 3))
    longer = frame.lengthened(manifold, short, np.full(50, 100.0))
    length = np.linalg.norm(longer, axis=1)
    ratio = length / np.linalg.norm(short, axis=1)
    assert (ratio >= 1).all()
    assert ratio.max() > 10
    for y in frame.pair(manifold, longer):
        np.testing.assert_allclose(manifold.dist(frame.point, y), length, rtol=1e-7)
    # Those that have turned back by themselves are left as they are; elsewhere nothing turns back.
    far = 3 * rng.standard_normal((50, 3))
    assert (frame.lengthened(manifold, far, np.full(50, 2.0)) == far)[length > 2].all()
    plane = frame_on(gd.Euclidean(3))
    assert np.array_equal(plane.lengthened(gd.Euclidean(3), short, np.full(50, 7.0)), 7.0 * short)


def test_where_there_is_no_transport_the_coordinates_stay():
    class NoTransport(gd.Sphere):
        def transport_along(self, x, v, w):
            raise CutLocusError("none")

    manifold = NoTransport(3)
    frame = frame_on(manifold)
    moved, _ = frame.move(manifold, np.array([0.1, 0.2]))
    np.testing.assert_array_equal(moved.rotation, np.eye(2))
    assert not np.array_equal(moved.point, frame.point)


def test_entering_a_domain_ends_at_the_projection():
    plane = gd.Euclidean(2)
    disc = gd.Ball(plane, np.zeros(2), 1.0)
    frame, inwards, _ = Frame(np.array([3.0, 4.0]), np.eye(2)).enter(plane, disc)
    np.testing.assert_allclose(frame.point, [0.6, 0.8], atol=1e-15)
    np.testing.assert_allclose(inwards, [-2.4, -3.2], atol=1e-15)
    assert frame.enter(plane, disc)[0] is frame


def test_what_has_no_nearest_point_of_a_domain_becomes_the_base():
    """Both ends of an arc of the circle are as near to the point opposite to its middle."""
    circle, x = gd.Torus(1), np.array([np.pi / 2])
    frame, arc = Frame(x, None), gd.Ball(circle, np.zeros(1), 2.0)
    opposite, beside = np.array([np.pi / 2]), np.array([1.0])
    np.testing.assert_array_equal(frame.at(circle, opposite, arc), x)
    step, end = frame.land(circle, opposite, arc)
    np.testing.assert_array_equal(step, 0)
    np.testing.assert_array_equal(end, x)
    both = frame.at(circle, np.array([opposite, beside]), arc)
    np.testing.assert_allclose(both, [x, [2.0]], rtol=1e-15)


def test_no_step_ends_opposite_to_where_it_began():
    """There the way back is not unique, and coordinates would be any."""
    sphere, x = gd.Sphere(3), np.array([0.0, 0.0, 1.0])

    class Opposite(gd.Ball):
        def project(self, x):
            return -self.center

    step, end = Frame(x, np.eye(2)).land(sphere, np.array([0.3, 0.0]), Opposite(sphere, x, 1.0))
    np.testing.assert_array_equal(step, 0)
    np.testing.assert_array_equal(end, x)


@pytest.mark.parametrize("method", ["duel-newton", "duel-csa", "block"])
def test_several_problems_at_once_are_refused_by_the_method_itself(method):
    """`minimize` runs each for itself."""
    with pytest.raises(ArgumentError, match="one problem at a time"):
        named(method).plan(gd.Euclidean(2), np.zeros((3, 2)), iterations=None, budget=9)
