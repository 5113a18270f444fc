"""What is taken apart is put together again, nested products and domains included."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.domains.mixture import Mixture, is_mixed
from geoduel.errors import ArgumentError

ARM = gd.space(kind=["a", "b"], turn=gd.Torus(1), gain=(0, 1))
SPACE = gd.space(layers=range(1, 9), arm=ARM, mix=gd.Simplex(3), on=[True, False])
PLAIN = gd.space(turn=gd.Torus(1), gain=(0, 1))
VALUES = gd.space(kind=["a", "b"], layers=range(1, 9))


@pytest.mark.parametrize("place", [SPACE, ARM, PLAIN, VALUES, gd.space(one=VALUES, two=PLAIN)])
def test_join_undoes_split(place):
    parts = Mixture(place.manifold)
    x = place.manifold.random_point(0, (7,))
    moving, values = parts.split(x)
    assert values.shape == (7, len(parts.factors))
    for i in range(7):
        assert np.array_equal(parts.join(moving[i], values[i]), x[i])
    same = parts.join(moving, values[0])
    assert same.shape == x.shape
    assert np.array_equal(parts.split(same)[0], moving)
    assert (parts.split(same)[1] == values[0]).all()


def test_the_parts_are_a_geometry_and_values():
    parts = Mixture(SPACE.manifold)
    assert [m.dim for m in parts.continuous.factors] == [2, 2]
    assert parts.factors == (gd.Integers(1, 8), gd.Categories("a", "b"), gd.Categories(True, False))
    assert parts.continuous.dim == SPACE.manifold.dim == 4
    assert Mixture(VALUES.manifold).continuous is None
    assert [is_mixed(p.manifold) for p in (SPACE, ARM, VALUES, PLAIN)] == [True, True, True, False]


def test_distances_at_equal_values_are_those_of_the_continuous_part():
    product = gd.Product(gd.Integers(1, 3), gd.Sphere(3), gd.Euclidean(1), weights=(2, 3, 4))
    parts = Mixture(product)
    x, y = parts.continuous.random_point(0, (2, 5))
    ends = (parts.join(a, np.array([2.0])) for a in (x, y))
    np.testing.assert_allclose(product.dist(*ends), parts.continuous.dist(x, y))


def test_the_domain_is_that_of_the_continuous_part():
    parts = Mixture(SPACE.manifold)
    domain = parts.domain(SPACE)
    x = SPACE.manifold.random_point(0, (30,))
    x[:, 3] = np.linspace(-1, 2, 30)  # the gain
    moving, values = parts.split(x)
    wanted = SPACE.project(x)
    for i in range(30):
        assert np.array_equal(parts.join(domain.project(moving[i]), values[i]), wanted[i])
    assert parts.domain(None) is None
    assert Mixture(VALUES.manifold).domain(VALUES) is None


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (gd.Where(SPACE.manifold, lambda p: True), "a domain goes factor by factor"),
        (
            gd.Space(SPACE.manifold, [gd.Where(gd.Integers(1, 8), lambda p: True), *3 * [None]]),
            r"Integers\(1, 8\) takes no domain",
        ),
    ],
)
def test_domains_that_tie_values_to_points_are_refused(domain, words):
    with pytest.raises(ArgumentError, match=words):
        Mixture(SPACE.manifold).domain(domain)
