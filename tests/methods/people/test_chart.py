"""Charts: right where a manifold is flat, at the nodes, and to third order in between."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.frame import Frame
from geoduel.methods.people.chart import Chart, features, upper

SPHERE = gd.Sphere(3)
PLACES = ((SPHERE, np.eye(3)[0]), (gd.Rotations(3), np.eye(3)), (gd.SPD(2), np.eye(2)))


def about(manifold, x0, size):
    d = manifold.dim
    return Chart.about(manifold, Frame(x0, np.eye(d)), size, np.zeros(d))


def logs_at(chart, manifold, c, x):
    """The logs of points x, as ideals c see them: shape (n, d, m)."""
    coefficients = chart.logs(manifold, x)
    return np.einsum("nf,fdm->ndm", features(c), coefficients)


def test_chart_sees_what_the_manifold_sees():
    """Right at the nodes; in between to third order in the size."""
    rng = np.random.default_rng(0)
    for manifold, x0 in PLACES:
        d = manifold.dim
        x = manifold.exp(x0, 0.8 * manifold.unit_tangent(rng, x0, (6,)))
        errors = []
        for size in (0.3, 0.15):
            chart = about(manifold, x0, size)
            lengths = np.linalg.norm(logs_at(chart, manifold, chart.nodes, x), axis=1)
            assert np.allclose(lengths, manifold.dist(chart.points[:, None], x[None]), atol=1e-5)
            c = size * rng.standard_normal((50, d)) / 2
            between = np.linalg.norm(logs_at(chart, manifold, c, x), axis=1)
            exact = manifold.dist(chart.frame.at(manifold, c)[:, None], x[None])
            errors.append(abs(between - exact).max())
        assert errors[0] < 0.02
        assert errors[1] < errors[0] / 3


def test_on_a_flat_space_the_log_is_the_difference():
    rng = np.random.default_rng(1)
    flat = gd.Euclidean(3)
    c, x = rng.standard_normal((2, 5, 3))
    found = logs_at(about(flat, np.zeros(3), 0.4), flat, c, x)
    assert np.allclose(found, x.T[None] - c[:, :, None], atol=1e-5)


def test_logs_of_pairs_are_those_of_their_points():
    rng = np.random.default_rng(2)
    a, b = (np.stack([SPHERE.random_point(rng) for _ in range(4)]) for _ in range(2))
    chart = about(SPHERE, np.eye(3)[0], 0.3)
    pairs = chart.pair_logs(SPHERE, a, b)
    assert pairs.shape == (6, 2, 2, 4)
    assert pairs.dtype == np.float32
    for side, x in enumerate((a, b)):
        assert np.allclose(pairs[:, :, side], chart.logs(SPHERE, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("manifold", "x0"), PLACES, ids=str)
def test_points_keep_their_place_in_another_frame(manifold, x0):
    rng = np.random.default_rng(3)
    d = manifold.dim
    chart = about(manifold, x0, 0.3)
    centre, c = 0.2 * rng.standard_normal(d), 0.3 * rng.standard_normal((5, d))
    frame, _ = chart.frame.move(manifold, centre)
    there = chart.in_frame(manifold, frame, centre, c)
    assert np.allclose(frame.at(manifold, there), chart.frame.at(manifold, c), atol=1e-9)
    assert np.allclose(chart.in_frame(manifold, frame, centre, centre[None]), 0, atol=1e-7)


def test_at_a_cut_locus_logs_are_those_of_a_flat_space():
    """The antipode has no log at the centre, and coefficients are finite all the same."""
    x0 = np.eye(3)[0]
    assert np.isfinite(about(SPHERE, x0, 0.3).logs(SPHERE, np.stack([-x0, np.eye(3)[1]]))).all()


def test_features_are_the_monomials_up_to_degree_two():
    c = np.array([[2.0, 3.0, 5.0]])
    assert features(c)[0].tolist() == [1, 2, 3, 5, 4, 6, 10, 9, 15, 25]
    assert [i.tolist() for i in upper(2)] == [[0, 0, 1], [0, 1, 1]]
