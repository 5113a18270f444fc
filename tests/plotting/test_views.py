"""Views: what lies where on paper, what is behind, and where lines are interrupted."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.plotting.views import axes_of_space, title, turns_space, view_on


def axes():
    return Figure().subplots()


def some(manifold, n=40):
    return manifold.random_point(np.random.default_rng(0), (n,))


NUMBERS = np.arange(40.0)


def test_the_globe_is_seen_from_above_the_points():
    """Orthographic: the distance on paper is that of the points in space, seen from the eye."""
    sphere = gd.Sphere(3)
    here = sphere.exp(np.array([0.0, 1.0, 0.0]), 0.3 * sphere.to_tangent(
        np.array([0.0, 1.0, 0.0]), some(sphere)))  # fmt: skip
    view = view_on(axes(), sphere, here)
    assert view.near(here).all()
    assert not view.near(-here).any()
    assert np.allclose(view.flat(here), -view.flat(-here))
    assert (np.linalg.norm(view.flat(some(sphere)), axis=1) <= 1 + 1e-15).all()


@pytest.mark.parametrize("points", [np.eye(3)[[2]], np.eye(3)[[0, 1, 2]] * [[1], [-1], [1]]])
def test_the_globe_may_be_seen_from_the_pole(points):
    view = view_on(axes(), gd.Sphere(3), points)
    assert np.isfinite(view.flat(points)).all()


def test_points_that_are_everywhere_have_a_view():
    sphere = gd.Sphere(3)
    both = np.concatenate([some(sphere), -some(sphere)])
    both = np.concatenate([both, [[0, 0, -0.35 * len(both)]]])  # what would look from nowhere
    assert np.isfinite(view_on(axes(), sphere, both).flat(some(sphere))).all()


def test_geodesics_on_the_globe_are_cut_at_the_edge():
    """A great circle through the middle of the picture: a quarter in front, a quarter behind."""
    sphere = gd.Sphere(3)
    middle, up = np.array([[0.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
    view = view_on(axes(), sphere, middle)
    front, back = view.lines(middle, np.array([[0.1, -0.9, 0.0]]) / 0.82**0.5, *np.ones((2, 1)))
    for part in (front[0], back[0]):
        assert 5 < np.isfinite(part).all(axis=1).sum() < 20
    front, back = view.lines(middle, up, *np.ones((2, 1)))
    assert np.isfinite(front[0]).all()


def test_the_disc_is_poincares():
    disc = gd.Hyperbolic(2)
    view = view_on(axes(), disc, some(disc))
    inside = view.flat(some(disc))
    assert (np.linalg.norm(inside, axis=1) < 1).all()
    assert np.allclose(disc.from_poincare(inside), some(disc))
    x, y = (disc.from_poincare(np.array([p])) for p in ([0.6, 0.0], [0.0, 0.6]))
    (arc,), none = view.lines(x, y, *np.ones((2, 1)))
    assert none == []
    assert (np.linalg.norm(arc, axis=1).argmin(), len(arc)) == (12, 25)  # bent to the middle
    assert np.linalg.norm(arc[12]) < 0.6 / 2**0.5


def test_the_corners_of_the_triangle_are_single_shares():
    simplex = gd.Simplex(3)
    view = view_on(axes(), simplex, some(simplex))
    corners = view.flat(np.eye(3))
    assert np.allclose([np.linalg.norm(corners[i] - corners[i - 1]) for i in range(3)], 1)
    assert np.allclose(view.flat(np.full((1, 3), 1 / 3)), corners.mean(axis=0))


def test_lines_across_the_seam_of_a_torus_are_interrupted():
    torus = gd.Torus(2)
    view = view_on(axes(), torus, some(torus))
    x, y = np.array([[3.0, 0.0]]), np.array([[-3.0, 0.5]])  # 0.28 apart in the first angle
    (line,), _ = view.lines(x, y, *np.ones((2, 1)))
    steps = abs(np.diff(line, axis=0))
    assert np.isnan(steps).any()
    assert np.nanmax(steps) < 0.05


def test_one_dimension_is_drawn_against_duels():
    torus = gd.Torus(1)
    points = np.array([[3.0], [-3.0], [3.1]])
    view = view_on(axes(), torus, points)
    assert view.timed
    dots = view.dots(points, np.array([0, 5, 9]))
    assert dots[:, 0].tolist() == [0, 5, 9]
    assert np.allclose(dots[:, 1], [-0.1, 2 * np.pi - 6.1, 0.0])


OTHERS = [
    gd.SPD(2),
    gd.Rotations(3),
    gd.Sphere(6),
    gd.Simplex(5),
    gd.Product(gd.Sphere(3), gd.Euclidean(2)),
]


@pytest.mark.parametrize("manifold", OTHERS, ids=repr)
def test_others_are_seen_from_the_last_point(manifold):
    """It is in the middle, no point looks farther from it than it is, and most spread is shown."""
    points = some(manifold)
    view = view_on(axes(), manifold, points)
    flat = view.flat(points)
    assert np.allclose(flat[-1], 0)
    apart = manifold.dist(points, np.broadcast_to(points[-1], points.shape))
    assert (np.linalg.norm(flat, axis=1) <= apart * (1 + 1e-9)).all()
    first, second = (flat**2).mean(axis=0)
    assert first >= second >= ((apart**2).mean() - first - second) / max(1, manifold.dim - 2)


def test_from_close_by_the_globe_is_flat():
    sphere = gd.Sphere(3)
    view = view_on(axes(), sphere, some(sphere), middle=np.eye(3)[0], close=True)
    apart = sphere.dist(some(sphere), np.broadcast_to(np.eye(3)[0], (40, 3)))
    assert np.allclose(np.linalg.norm(view.flat(some(sphere)), axis=1), apart)


def test_the_same_axes_keep_their_view():
    ax, sphere = axes(), gd.Sphere(3)
    view = view_on(ax, sphere, some(sphere))
    drawn = len(ax.get_lines())
    assert view_on(ax, gd.Sphere(3), -some(sphere)) is view
    assert len(ax.get_lines()) == drawn > 5
    with pytest.raises(ArgumentError, match=r"show Sphere\(3\)"):
        view_on(ax, gd.Euclidean(2), np.zeros((1, 2)))


def test_many_lines_are_straight():
    sphere = gd.Sphere(3)
    x = some(sphere, 500)
    front, back = view_on(axes(), sphere, x).lines(x, -x[::-1], *np.ones((2, 500)))
    assert len(front) + len(back) == 500
    assert {len(line) for line in (*front, *back)} == {2}


def test_rotations_of_space_are_three_places():
    assert turns_space(gd.Rotations(3))
    assert not turns_space(gd.Rotations(2))
    assert not turns_space(gd.SPD(3))
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])  # x to y
    assert {name: way.tolist() for name, way in axes_of_space(turn).items()} == {
        "x axis": [0, 1, 0], "y axis": [-1, 0, 0], "z axis": [0, 0, 1]
    }  # fmt: skip


def test_titles_name_the_manifold():
    assert title("Way", gd.Sphere(3)) == "Way, Sphere(3)"
