"""Catalogue: items by index, and the nearest ones, by a tree and by looking at all."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.domains import catalogue as module
from geoduel.errors import ArgumentError, NotOnManifoldError

SPHERE = gd.Sphere(3)
SPACES = [
    gd.Sphere(3),
    gd.Euclidean(2),
    gd.Torus(2),
    gd.Hyperbolic(2),
    gd.SPD(2),
    gd.Rotations(3),
    gd.Sphere(12),
    gd.Product(gd.Hyperbolic(2), gd.Euclidean(1)),
    gd.Product(gd.Rotations(3), gd.Euclidean(3), weights=[1.0, 4.0]),
    gd.Simplex(4),
    gd.Rotations(4),
    gd.Power(gd.Sphere(3), 2),
    gd.Grassmann(4, 2),
]


def items_of(manifold, n, seed=0):
    return manifold.random_point(np.random.default_rng(seed), (n,))


@pytest.mark.parametrize("manifold", SPACES, ids=str)
def test_the_nearest_items_are_those_of_least_distance(manifold):
    catalogue = gd.Catalogue(manifold, items_of(manifold, 600))
    points = items_of(manifold, 5, seed=1)
    away = np.array([manifold.dist(catalogue.items, x[None]) for x in points])
    assert np.array_equal(catalogue.nearest(points, k=7), np.argsort(away, axis=1)[:, :7])


def test_far_out_in_a_chart_the_nearest_items_are_found_all_the_same():
    """Far from its origin the chart of hyperbolic space shows items nearer than they are."""
    plane = gd.Hyperbolic(2)
    v = np.random.default_rng(0).normal(size=(500, 2)) * 4
    o = plane.origin()
    items = plane.exp(o, plane.from_coords(o, v))
    catalogue = gd.Catalogue(plane, items)
    for x in items[:40]:
        away = plane.dist(items, x[None])
        assert away[catalogue.nearest(x, 3)].tolist() == np.sort(away)[:3].tolist()


def test_trees_are_used_where_they_are_right():
    used = [gd.Catalogue(m, items_of(m, 300))._tree is not None for m in SPACES]
    assert used == [True] * 6 + [False] + [True] * 5 + [False]
    assert gd.Catalogue(SPHERE, items_of(SPHERE, module.FEW))._tree is None


def test_an_item_is_known_by_its_point():
    catalogue = gd.Catalogue(SPHERE, items_of(SPHERE, 20))
    assert [catalogue.index(x) for x in catalogue.items] == list(range(20))
    assert catalogue[3] in catalogue
    assert catalogue[3].tolist() in catalogue
    assert -catalogue[3] not in catalogue
    assert "3" not in catalogue
    with pytest.raises(ArgumentError, match="no item"):
        catalogue.index(-catalogue[3])


def test_of_items_at_one_point_the_first_stands_for_all():
    a, b = np.eye(3)[:2]
    catalogue = gd.Catalogue(SPHERE, [a, a, b, a, b])
    assert len(catalogue) == 5
    assert catalogue.distinct.tolist() == [0, 2]
    assert catalogue.nearest(a, k=5).tolist() == [0, 2]
    assert catalogue.index(catalogue[4]) == 2


def test_minus_zero_is_zero():
    catalogue = gd.Catalogue(SPHERE, [[1.0, -0.0, 0.0], [0.0, 1.0, -0.0]])
    assert catalogue.index(np.array([1.0, 0.0, -0.0])) == 0


def test_pairs_are_of_two_different_items():
    catalogue = gd.Catalogue(SPHERE, items_of(SPHERE, 30))
    x = items_of(SPHERE, 50, seed=1)
    i, j = catalogue.pairs(x, x)
    assert (i != j).all()
    assert np.array_equal(i, catalogue.nearest(x)[:, 0])
    a, b = catalogue.pair(x[0], x[0])
    assert catalogue.index(a) == i[0]
    assert catalogue.index(b) == j[0]


@pytest.mark.parametrize("n", [30, 3000])
def test_spread_has_the_nearest_items_and_others_in_order(n):
    catalogue = gd.Catalogue(SPHERE, items_of(SPHERE, n))
    x = items_of(SPHERE, 1, seed=1)[0]
    order = catalogue.spread(x, 100, np.random.default_rng(0))
    assert len(set(order.tolist())) == len(order) <= 200
    near = min(n, 100)
    assert np.array_equal(order[:near], catalogue.nearest(x, near))
    away = SPHERE.dist(catalogue.items[order], x[None])
    assert (np.diff(away) >= -1e-12).all()


def test_digests_tell_catalogues_apart():
    items = items_of(SPHERE, 20)
    same, other = gd.Catalogue(SPHERE, items.tolist()), gd.Catalogue(SPHERE, items[::-1])
    assert gd.Catalogue(SPHERE, items).digest == same.digest != other.digest


def test_items_cannot_be_changed_from_outside():
    items = items_of(SPHERE, 5)
    catalogue = gd.Catalogue(SPHERE, items)
    items[:] = 0
    assert catalogue.items.any()
    assert not catalogue.items.flags.writeable


@pytest.mark.parametrize(
    ("items", "error", "words"),
    [
        ([[1, 0]], ArgumentError, r"shape \(n, 3\).*shape \(1, 2\)"),
        ([[1, 0, 0]], ArgumentError, "two different points, got 1"),
        ([[1, 0, 0], [1, 0, 0]], ArgumentError, "two different points, got 1 in 2 items"),
        ([[1, 0, 0], [1, 0, 1]], NotOnManifoldError, "items"),
        ([[1, 0, 0], [np.nan, 0, 1]], ArgumentError, "items is not finite"),
        ([[1, 0, 0], [1, 0]], ArgumentError, "items must be an array of points"),
        ("abc", ArgumentError, "items must be an array of points"),
        (3.0, ArgumentError, "shape"),
    ],
)
def test_bad_items_are_refused(items, error, words):
    with pytest.raises(error, match=words):
        gd.Catalogue(SPHERE, items)


def test_a_catalogue_of_another_manifold_is_refused():
    catalogue = gd.Catalogue(SPHERE, np.eye(3))
    assert module.Catalogue.of(gd.Sphere(3), catalogue) is catalogue
    with pytest.raises(ArgumentError, match=r"catalogue in Sphere\(3\)"):
        module.Catalogue.of(gd.Sphere(4), catalogue)
    with pytest.raises(ArgumentError, match="manifold must be"):
        gd.Catalogue("sphere", np.eye(3))


@pytest.mark.parametrize("n", [20, 600])
def test_items_may_be_left_out_and_keep_their_indices(n):
    catalogue = gd.Catalogue(SPHERE, items_of(SPHERE, n))
    x = items_of(SPHERE, 1, seed=1)[0]
    order = catalogue.nearest(x, n)
    left = catalogue.without(order[:3])
    assert np.array_equal(left.nearest(x, n), order[3:])
    assert catalogue[int(order[0])] not in left
    assert left.index(catalogue[int(order[5])]) == order[5]
    assert np.array_equal(catalogue.nearest(x, n), order)
    assert catalogue.without(order[1:]).nearest(x, 2).tolist() == [order[0]]
    with pytest.raises(ArgumentError, match="no item is left"):
        catalogue.without(order)


SOUND = gd.space(gain=(-12, 12), mix=gd.Simplex(3))
NAMED = [{"gain": 24 * k / 9 - 12, "mix": [0.1 * k, 0.5, 0.5 - 0.1 * k]} for k in range(1, 5)]


def test_items_of_a_space_are_dictionaries_or_tuples():
    catalogue = gd.Catalogue(SOUND, NAMED)
    assert catalogue.manifold == SOUND.manifold
    assert [SOUND.manifold.unpack(x)["gain"] for x in catalogue.items] == [x["gain"] for x in NAMED]
    same = gd.Catalogue(SOUND.manifold, [tuple(item.values()) for item in NAMED])
    assert same.digest == catalogue.digest
    assert gd.Catalogue.of(SOUND, catalogue) is catalogue


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gain": 13.0}, r"items\[1\] is not in space\(.*13\.0"),
        ({"mix": [1.0, 0.0]}, "shape"),
        ({"gain": "loud"}, r"items\[1\]\['gain'\]"),
        ({"pan": 0.0}, r"items\[1\] has 'pan'"),
    ],
)
def test_items_that_are_not_in_the_space_are_named(changed, message):
    with pytest.raises(ArgumentError, match=message):
        gd.Catalogue(SOUND, [NAMED[0], NAMED[1] | changed])


def test_a_catalogue_does_not_hide_that_its_items_are_outside():
    square = gd.space(at=(gd.Euclidean(2), [(0, 1), (0, 1)]))
    catalogue = gd.Catalogue(square.manifold, [[0.0, 1.0], [0.5, 0.5], [0.5, 2.0]])
    with pytest.raises(ArgumentError, match=r"items\[2\] is not in space.*2\."):
        gd.Catalogue.of(square, catalogue)
