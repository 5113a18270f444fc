"""Sets of factors: what each does, done side by side; lengths are those of the product."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError

WEIGHTS = (1.0, 4.0, 9.0)
PRODUCT = gd.Product(gd.Sphere(3), gd.Euclidean(2), gd.Torus(1), weights=WEIGHTS)
CAP = gd.Ball(gd.Sphere(3), np.array([0.0, 0.0, 1.0]), 0.5)
BOX = gd.Box(np.zeros(2), np.ones(2))
ARC = gd.Ball(gd.Torus(1), np.zeros(1), 1.0)


def points(n=50):
    return PRODUCT.random_point(0, (n,))


def test_the_projection_is_the_nearest_point():
    """Of the set, none of a thousand others is nearer, in the product's metric."""
    space, y = gd.Space(PRODUCT, (CAP, BOX, ARC)), points(20)
    z = space.project(y)
    assert space.contains(z).all()
    others = space.project(points(1000))
    assert (PRODUCT.dist(y, z) <= PRODUCT.dist(y[:, None], others).min(axis=1) + 1e-12).all()
    np.testing.assert_allclose(space.violation(y), PRODUCT.dist(y, z), atol=1e-12)


def test_the_linear_minimiser_is_that_of_each_factor():
    space, x = gd.Space(PRODUCT, (CAP, BOX, ARC)), points(30)
    x = space.project(x)
    h = PRODUCT.unit_tangent(1, x)
    z = space.linear_minimizer(x, h)
    least = PRODUCT.inner(x, h, PRODUCT.log(x, z))
    for other in space.project(points(300)):
        assert (least <= PRODUCT.inner(x, h, PRODUCT.log(x, other)) + 1e-9).all()


def test_the_diameter_is_that_of_the_longest_diagonal():
    space = gd.Space(PRODUCT, (CAP, BOX, ARC))
    assert space.diameter == pytest.approx(math.sqrt(1 * 1.0 + 4 * 2.0 + 9 * 4.0))
    assert gd.Space(PRODUCT, (None, BOX, None)).diameter == math.inf


def test_factors_without_a_set_are_left_alone():
    space, y = gd.Space(PRODUCT, (None, BOX, None)), points()
    z = space.project(y)
    np.testing.assert_array_equal(np.delete(z, [3, 4], axis=1), np.delete(y, [3, 4], axis=1))
    np.testing.assert_array_equal(z[:, 3:5], np.clip(y[:, 3:5], 0, 1))
    np.testing.assert_array_equal(space.contains(y), BOX.contains(y[:, 3:5]))
    with pytest.raises(ArgumentError, match="needs a set in every factor; there is none in Sphere"):
        space.linear_minimizer(z, z)


def test_tolerances_are_lengths_of_the_product():
    """Weight 9 makes 0.1 of the third factor a length of 0.3."""
    space, y = gd.Space(PRODUCT, (None, None, ARC)), PRODUCT.join([0, 0, 1.0], [0, 0], [1.1])
    assert not space.contains(y, 0.29)
    assert space.contains(y, 0.31)


def test_whether_projections_are_nearest_is_up_to_all():
    half = gd.Where(gd.Euclidean(2), lambda x: x[0] > 0, inside=[1, 0])
    assert gd.Space(PRODUCT, (CAP, None, ARC)).has_nearest
    assert not gd.Space(PRODUCT, (CAP, half, ARC)).has_nearest


@pytest.mark.parametrize(
    ("manifold", "domains", "words"),
    [
        (gd.Sphere(3), (CAP,), "manifold must be a Product"),
        (PRODUCT, (CAP,), "domains must be one for each factor"),
        (
            PRODUCT,
            (BOX, None, None),
            r"domains\[0\] is a set in Euclidean\(2\); the factor is S",
        ),
        (PRODUCT, (3, None, None), r"domains\[0\] must be a Domain, got 3"),
    ],
)
def test_bad_sets_are_refused(manifold, domains, words):
    with pytest.raises(ArgumentError, match=words):
        gd.Space(manifold, domains)


def test_it_says_what_it_is():
    space = gd.space(gain=(-12, 12), angle=gd.Torus(1))
    assert repr(space) == "space(gain=Interval(-12.0, 12.0), angle=Torus(1))"
    assert repr(gd.Space(PRODUCT, (None, BOX, None))).startswith("Space(Product(Sphere(3)")


def test_a_set_of_another_manifold_of_the_same_shape_is_refused():
    """The clipped points would be on no sphere."""
    box = gd.Box(np.full(3, -0.5), np.full(3, 0.5))
    with pytest.raises(ArgumentError, match=r"domains\['p'\] is a set in Euclidean\(3\)"):
        gd.space(p=(gd.Sphere(3), box), q=(-1, 1))
    with pytest.raises(ArgumentError, match=r"domains\[0\] is a set in Euclidean\(3\)"):
        gd.Space(gd.Product(gd.Sphere(3), gd.Torus(1)), [box, None])
    part = gd.Space(gd.space(a=(0, 1)).manifold, [gd.Interval(0, 0.5)])
    assert part.project(np.array([0.7])) == 0.5
