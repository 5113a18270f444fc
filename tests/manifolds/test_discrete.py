"""Values without geodesics: nothing moves them, and what people write is what they are handed."""

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, CutLocusError, NotOnManifoldError

FACTORS = [gd.Categories("a", "b", "c"), gd.Integers(-3, 5), gd.Integers(1, 512, ratios=True)]
NET = gd.Product(gd.Sphere(3), *FACTORS, gd.Euclidean(2), weights=(1, 2, 3, 4, 5))
NAMED = gd.space(kind=["a", "b", "c"], layers=range(1, 13), turn=gd.Torus(1)).manifold


@pytest.mark.parametrize("factor", FACTORS)
def test_no_geodesic_moves_a_value(factor):
    rng = np.random.default_rng(0)
    x = factor.random_point(rng, (50,))
    v = factor.unit_tangent(rng, x)
    assert factor.dim == 0
    assert not v.any()
    assert np.array_equal(factor.exp(x, v), x)
    assert not factor.inner(x, v, v).any()
    assert factor.to_coords(x, v).shape == (50, 0)
    assert np.array_equal(factor.from_coords(x, np.zeros((50, 0))), v)
    assert not factor.to_tangent(x, x).any()
    assert not factor.riemannian_gradient(x, x).any()
    factor.check_tangent(x, v)


@pytest.mark.parametrize("factor", FACTORS)
def test_log_is_there_for_equal_values_alone(factor):
    x = factor.random_point(0, (40,))
    y = factor.random_point(1, (40,))
    v = factor.log(x, y)
    assert np.array_equal(np.isnan(v[:, 0]), (x != y)[:, 0])
    assert factor.log(x[0], x[0]) == 0
    apart = int(np.argmax(x != y))
    with pytest.raises(CutLocusError):
        factor.log(x[apart], y[apart])


@pytest.mark.parametrize("factor", FACTORS)
def test_distances_are_those_of_a_metric_space(factor):
    x, y, z = (factor.random_point(seed, (200,)) for seed in range(3))
    d = factor.dist
    assert not d(x, x).any()
    assert (d(x, y)[(x != y)[:, 0]] > 0).all()
    assert np.array_equal(d(x, y), d(y, x))
    assert (d(x, z) <= d(x, y) + d(y, z) + 1e-12).all()


@pytest.mark.parametrize("factor", [gd.Integers(1, 9), gd.Categories("a", "b", "c")])
def test_the_distance_of_two_points_is_a_number(factor):
    """Not an array, which prints, hashes and is written to JSON otherwise."""
    assert isinstance(factor.dist(np.array([1.0]), np.array([2.0])), float)
    assert factor.dist(np.ones((3, 1)), np.array([2.0])).shape == (3,)


def test_distances_have_the_stated_lengths():
    kinds, numbers, sizes = FACTORS
    assert kinds.dist([0.0], [2.0]) == 1
    assert numbers.dist([-3.0], [5.0]) == 2
    assert numbers.dist([0.0], [2.0]) == 0.5
    assert sizes.dist([1.0], [512.0]) == pytest.approx(2)
    assert sizes.dist([4.0], [8.0]) == pytest.approx(2 / 9)


@pytest.mark.parametrize("factor", FACTORS)
def test_values_are_all_there_and_equally_likely(factor):
    """Counts of n draws differ from n/k by at most 5 standard errors."""
    low, high = factor.bounds
    n, k = 6000, high - low + 1
    found, counts = np.unique(factor.random_point(0, (n,)), return_counts=True)
    assert found[0] >= low
    assert found[-1] <= high
    if k < 20:
        assert len(found) == k
        assert (abs(counts - n / k) < 5 * math.sqrt(n / k)).all()
    factor.check_point(factor.origin())


def test_a_product_has_the_geometry_of_its_other_factors():
    """Coordinates, dimension and directions know nothing of values; distances do."""
    plain = gd.Product(gd.Sphere(3), gd.Euclidean(2), weights=(1, 5))
    rng = np.random.default_rng(0)
    x, y = NET.random_point(rng, (20,)), NET.random_point(rng, (20,))
    v = NET.unit_tangent(rng, x)
    assert NET.dim == plain.dim == 4
    assert NET.typical_dist == pytest.approx(plain.typical_dist)
    np.testing.assert_allclose(NET.norm(x, v), 1)
    z = NET.exp(x, 0.3 * v)
    assert np.array_equal(z[:, 3:6], x[:, 3:6])
    np.testing.assert_allclose(NET.log(x, z), 0.3 * v, atol=1e-12)
    np.testing.assert_allclose(NET.from_coords(x, NET.to_coords(x, v)), v, atol=1e-12)
    np.testing.assert_allclose(NET.dist(x, z), 0.3)
    parts = zip(NET.factors, NET.split(x), NET.split(y), NET.weights, strict=True)
    squares = sum(w * m.dist(a, b) ** 2 for m, a, b, w in parts)
    np.testing.assert_allclose(NET.dist(x, y), np.sqrt(squares))
    NET.check_point(NET.origin())


def test_dictionaries_go_round():
    point = {"kind": "c", "layers": 7, "turn": 0.5}
    x = NAMED.pack(point)
    assert x.tolist() == [2.0, 7.0, 0.5]
    back = NAMED.unpack(x)
    assert back == point
    assert type(back["layers"]) is int
    many = NAMED.unpack(NAMED.random_point(0, (4,)))
    assert set(many["kind"].tolist()) <= {"a", "b", "c"}
    assert many["layers"].dtype.kind == "i"
    assert np.array_equal(NAMED.pack(many), NAMED.random_point(0, (4,)))


@pytest.mark.parametrize(
    "values", [(16, 32, 64), (True, False), (None, "l1"), (0.1, 0.5), ("1", 1)]
)
def test_any_plain_value_is_a_category(values):
    kinds = gd.Categories(*values)
    for i, value in enumerate(values):
        x = kinds.pack(value)
        assert x.tolist() == [i]
        assert kinds.unpack(x) is value
    assert eval(repr(kinds), {"Categories": gd.Categories}) == kinds


def test_values_of_numpy_are_taken():
    assert gd.Categories(*np.array(["a", "b"])).pack(np.array("b")) == 1
    assert gd.Categories(np.float64(0.5), 2).pack(np.float64(0.5)) == 0
    assert gd.Integers(np.int64(1), 3).pack(np.int64(2)) == 2


@pytest.mark.parametrize(("values", "kind"), [(("a", "b"), "U"), (("a", 1), "O"), ((1, 2), "O")])
def test_many_values_are_texts_or_what_they_are(values, kind):
    many = gd.Categories(*values).unpack(np.array([[1.0], [0.0], [1.0]]))
    assert many.dtype.kind == kind
    assert many.tolist() == [values[1], values[0], values[1]]


@pytest.mark.parametrize("factor", FACTORS[1:])
def test_both_bounds_are_values_and_their_neighbours_are_none(factor):
    for bound, side in zip(factor.bounds, (-1, 1), strict=True):
        assert factor.pack(bound) == bound
        with pytest.raises(ArgumentError, match="must be a whole number from"):
            factor.pack(bound + side)


def packed(kind, layers):
    return NAMED.pack({"kind": kind, "layers": layers, "turn": 0})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gd.Categories("a"), "two values at least"),
        (lambda: gd.Categories("a", "a"), "all different"),
        (lambda: gd.Categories(1, True), "all different"),
        (lambda: gd.Categories("a", [1]), r"values\[1\] must be a text"),
        (lambda: gd.Categories("a", math.nan), r"values\[1\] must be a text, a finite number"),
        (lambda: gd.Integers(3, 3), "lower must be below upper, got 3 and 3"),
        (lambda: gd.Integers(1.5, 3), "lower must be a whole number"),
        (lambda: gd.Integers(1, 2**60), "upper must be a whole number of at most 15 digits"),
        (lambda: gd.Integers(0, 3, ratios=True), "lower must be > 0 where ratios count"),
        (lambda: gd.Integers(1, 3, unit=4), "unit must be a text"),
        (lambda: gd.Power(gd.Integers(1, 3), 2), "Power of Integers.1, 3. has no geodesics"),
        (
            lambda: gd.Power(gd.Product(gd.Sphere(2), gd.Product(gd.Integers(1, 3))), 2),
            "Power of Product.* has no geodesics",
        ),
        (lambda: packed("z", 1), r"x\['kind'\] must be one of 'a'"),
        (lambda: packed(0, 1), r"x\['kind'\] must be one of"),
        (lambda: packed("a", 13), r"x\['layers'\] must be a whole"),
        (lambda: packed("a", 1.5), r"x\['layers'\] must be a whole"),
        (lambda: packed("a", "x"), r"x\['layers'\] must be an array"),
    ],
)  # fmt: skip
def test_bad_values_are_named(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


@pytest.mark.parametrize("x", [[3.0, 1.0, 0.0], [0.0, 13.0, 0.0], [0.0, 1.5, 0.0], [0.5, 1.0, 0.0]])
def test_arrays_are_checked(x):
    with pytest.raises(NotOnManifoldError, match="nearest whole number from"):
        NAMED.check_point(np.array(x))
    NAMED.check_point(NAMED.to_manifold(np.array(x)))


@pytest.mark.parametrize("factor", FACTORS[1:])
def test_steps_of_whole_numbers_end_at_the_bounds(factor):
    low, high = factor.bounds
    assert factor.beyond(low, 1) == low + 1
    assert factor.beyond(low, -1, 5.0) == low
    assert factor.beyond(high, -1) == high - 1
    assert factor.beyond(high, 1) == high
    assert factor.beyond(low, 1, 2.0) == high
    assert factor.beyond(high, -1, 2.0) == low
    assert low < factor.beyond(low, 1, 1.0) < high


def test_torch_points_stay_what_they_are():
    torch = pytest.importorskip("torch")
    x = torch.asarray(NET.random_point(0, (3,)), dtype=torch.float32)
    v = NET.unit_tangent(0, x)
    z = NET.exp(x, v)
    assert z.dtype == torch.float32
    assert torch.equal(z[:, 3:6], x[:, 3:6])
    like = NAMED.random_point(0, like=x)
    assert isinstance(NAMED.unpack(like)["kind"], str)


def test_single_precision_does_not_hold_all_large_numbers():
    few, many = gd.Integers(0, 2**24), gd.Integers(-(2**24) - 1, 0)
    few.check_point(np.array([5.0], np.float32))
    many.check_point(np.array([-5.0]))
    for manifold in (many, gd.Product(many, gd.Euclidean(1))):
        x0 = np.zeros(manifold.point_shape, np.float32)
        with pytest.raises(ArgumentError, match=r"x0.* must be of float64 for Integers"):
            gd.minimize(lambda a, b: 1, manifold, x0, budget=5, rng=0)
