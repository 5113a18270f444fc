"""Products and powers: factors side by side, weights, nesting, cut loci."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest

from geoduel.errors import ArgumentError, CutLocusError, NotOnManifoldError, NotTangentError
from geoduel.manifolds.euclidean import Euclidean
from geoduel.manifolds.hyperbolic import Hyperbolic
from geoduel.manifolds.product import Power, Product
from geoduel.manifolds.rotations import Rotations
from geoduel.manifolds.simplex import Simplex
from geoduel.manifolds.spd import SPD
from geoduel.manifolds.sphere import Sphere
from geoduel.manifolds.stiefel import Stiefel
from geoduel.manifolds.torus import Torus

MIXED = Product(Sphere(3), Euclidean(2, 2), Hyperbolic(2), Torus(1), weights=[1.0, 4.0, 0.25, 1.0])
MANIFOLDS = [
    MIXED,
    Product(MIXED, Simplex(3)),
    Product(Power(Sphere(2, 2), 3), Torus(2), weights=[2.0, 3.0]),
    Power(MIXED, 2),
    Power(Power(Torus(2), 2), 3),
]


def sample(manifold, seed=0, batch=()):
    """Points x, y and unit tangent vectors v, w at x, at random."""
    rng = np.random.default_rng(seed)
    x, y = manifold.random_point(rng, batch), manifold.random_point(rng, batch)
    return x, y, manifold.unit_tangent(rng, x), manifold.unit_tangent(rng, x)


# -- the factors ----------------------------------------------------------------------------------


def test_what_holds_of_all_factors_holds_of_a_product_and_of_a_power():
    """Bounded, and with cheap distances; the origin is that of the factors."""
    sphere, flat, frames = Sphere(3), Euclidean(2), Stiefel(4, 2)
    for factors in itertools.product((sphere, flat, frames), repeat=2):
        whole = Product(*factors)
        assert whole.bounded == all(m.bounded for m in factors)
        assert whole.closed_form == all(m.closed_form for m in factors)
        for part, m in zip(whole.split(whole.origin()), factors, strict=True):
            np.testing.assert_array_equal(part, m.origin())
    assert (sphere.bounded, flat.bounded, frames.bounded) == (True, False, True)
    assert (sphere.closed_form, flat.closed_form, frames.closed_form) == (True, True, False)
    for m in (sphere, flat, frames):
        power = Power(m, 3)
        assert (power.bounded, power.closed_form) == (m.bounded, m.closed_form)
        np.testing.assert_array_equal(power.origin(), np.stack([m.origin()] * 3))


@pytest.mark.parametrize("batch", [(), (5,)])
def test_operations_are_those_of_the_factors(batch):
    x, y, v, w = sample(MIXED, 1, batch)
    parts = [list(zip(*map(MIXED.split, arrays), strict=True)) for arrays in [(x, v), (x, y)]]
    tangents, pairs = (list(zip(MIXED.factors, p, strict=True)) for p in parts)
    for whole, factors in [
        (MIXED.exp(x, v), [m.exp(*p) for m, p in tangents]),
        (MIXED.log(x, y), [m.log(*p) for m, p in pairs]),
    ]:
        for got, expected in zip(MIXED.split(whole), factors, strict=True):
            np.testing.assert_array_equal(got, expected)
    squares = sum(k * m.dist(*p) ** 2 for k, (m, p) in zip(MIXED.weights, pairs, strict=True))
    np.testing.assert_allclose(MIXED.dist(x, y) ** 2, squares, rtol=1e-14)
    np.testing.assert_allclose(MIXED.norm(x, MIXED.log(x, y)), MIXED.dist(x, y), rtol=1e-12)
    carried = MIXED.transport(x, y, w)
    np.testing.assert_allclose(MIXED.norm(y, carried), 1, rtol=1e-12)
    np.testing.assert_allclose(MIXED.transport_along(x, MIXED.log(x, y), w), carried, atol=1e-12)


def golden_factor(kind, n):
    return {"sphere": Sphere, "hyperbolic": Hyperbolic, "so": Rotations, "spd": SPD}.get(
        kind, Euclidean
    )(n)


def test_reference_values(golden):
    for case in golden("product")["cases"]:
        product = Product(*(golden_factor(*factor) for factor in case["factors"]))
        x, y, v, w = (product.join(*map(np.array, case["inputs"][name])) for name in "xyvw")
        results = {
            "exp_x_v": product.exp(x, v),
            "log_x_y": product.log(x, y),
            "transport_x_y_w": product.transport(x, y, w),
            "dist_x_y": product.dist(x, y),
            "inner_x_v_w": product.inner(x, v, w),
            "norm_x_v": product.norm(x, v),
        }
        for op, expected in case["expected"].items():
            value = expected["value"]
            value = product.join(*map(np.array, value)) if isinstance(value, list) else value
            error = np.max(np.abs(results[op] - value))
            assert error <= expected["tol"], f"{case['id']} {op}: {error:.2g}"


def test_split_gives_views_and_join_undoes_it():
    x = MIXED.random_point(np.random.default_rng(2), (4, 5))
    parts = MIXED.split(x)
    assert [p.shape for p in parts] == [(4, 5, 3), (4, 5, 2, 2), (4, 5, 3), (4, 5, 1)]
    assert all(np.shares_memory(x, p) for p in parts)
    np.testing.assert_array_equal(MIXED.join(*parts), x)


def test_join_broadcasts_leading_axes():
    poses = Product(Rotations(3), Euclidean(3))
    x = poses.join(np.eye(3), np.arange(6.0).reshape(2, 3))
    assert x.shape == (2, 12)
    np.testing.assert_array_equal(poses.split(x)[0], np.stack([np.eye(3)] * 2))


def test_geodesics_of_a_product_end_with_the_first_of_the_factors():
    cone = SPD(2, metric="bures-wasserstein")
    both = Product(Euclidean(2), cone, cone, weights=[1.0, 4.0, 1.0])
    x, v = np.diag([4.0, 9.0]), np.diag([-1.0, 0.0])  # exp ends at t = 8
    end = both.extent(
        both.join(np.zeros(2), x, x), both.join(np.ones(2), v, np.stack([0 * v, 2 * v]))
    )
    np.testing.assert_allclose(end, [8.0, 4.0], rtol=1e-15)
    pair = Power(cone, 2)
    assert pair.extent(np.stack([x, x]), np.stack([v, -2 * v])) == pytest.approx(4.0, rel=1e-15)
    assert pair.extent(np.stack([x, x]), np.zeros((2, 2, 2))) == math.inf
    assert not both.complete
    assert not pair.complete
    assert MIXED.complete
    spheres = Product(Sphere(3), Sphere(3))
    x, v = np.tile([0.0, 0.0, 1.0], 2), np.array([0.6, 0.8, 0.0, 0.0, 2.0, 0.0])
    assert spheres.extent(x, v) == pytest.approx(math.pi / 2, rel=1e-15)


def test_numbers_of_a_product():
    assert MIXED.dim == 2 + 4 + 2 + 1
    assert MIXED.point_shape == (3 + 4 + 3 + 1,)
    assert MIXED.curvature == (-4.0, 1.0)  # a metric scaled by 1/4 is curved four times as much
    assert Product(Sphere(3), Sphere(4)).curvature == (0.0, 1.0)
    assert Product(Sphere(3), weights=[4.0]).curvature == (0.25, 0.25)
    assert MIXED.injectivity_radius == math.pi
    assert Product(Sphere(3), Euclidean(1), weights=[9.0, 1.0]).injectivity_radius == 3 * math.pi
    assert Product(Euclidean(4), Euclidean(5), weights=[4.0, 9.0]).typical_dist == math.hypot(
        4, 3 * 5**0.5
    )
    assert repr(Product(Sphere(3), Torus(2))) == "Product(Sphere(3), Torus(2))"
    assert eval(repr(MIXED)) == MIXED
    assert Product(Sphere(3)) != Product(Sphere(3), weights=[2.0])


def test_sphere_scaled_by_its_weight_is_a_sphere_of_other_radius():
    """Weight r² turns arcs on the unit sphere into arcs of radius r."""
    ball = Product(Sphere(3), weights=[4.0])
    x, y, v, _ = sample(ball, 3)
    assert ball.dist(x, y) == pytest.approx(2 * Sphere(3).dist(x, y), rel=1e-14)
    assert np.linalg.norm(v) == pytest.approx(0.5, rel=1e-14)  # unit length in the metric
    assert ball.dist(x, ball.exp(x, v)) == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_coordinates_are_isometric(manifold, batch):
    x, _, v, w = sample(manifold, 4, batch)
    c, d = manifold.to_coords(x, v), manifold.to_coords(x, w)
    assert c.shape == (*batch, manifold.dim)
    np.testing.assert_allclose(np.vecdot(c, d), manifold.inner(x, v, w), atol=1e-13)
    np.testing.assert_allclose(manifold.from_coords(x, c), v, atol=1e-13)


def test_unit_tangents_are_uniform_in_the_weighted_metric():
    """E cᵢcⱼ = δᵢⱼ/d in coordinates within five standard errors; weights differ 16 times."""
    rng = np.random.default_rng(5)
    x = MIXED.random_point(rng)
    c = MIXED.to_coords(x, MIXED.unit_tangent(rng, x, (20_000,)))
    products = c[:, :, None] * c[:, None, :]
    error = np.std(products, axis=0) / math.sqrt(20_000)
    assert np.all(np.abs(np.mean(products, axis=0) - np.eye(9) / 9) < 5 * error)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_riemannian_gradient_represents_the_derivative(manifold):
    x, _, v, _ = sample(manifold, 6, (3,))
    g = np.random.default_rng(7).standard_normal(x.shape)
    expected = np.sum((g * v).reshape(3, -1), axis=-1)
    gradient = manifold.riemannian_gradient(x, g)
    np.testing.assert_allclose(manifold.inner(x, gradient, v), expected, atol=1e-12)


def test_one_geodesic_takes_a_time_for_each_problem():
    for manifold in MANIFOLDS:
        x, _, v, _ = sample(manifold, 8, (3,))
        times = np.array([-0.5, 0.0, 0.7])
        point = manifold.geodesic(x, v)(times)
        for i, t in enumerate(times):
            np.testing.assert_allclose(point[i], manifold.exp(x[i], t * v[i]), atol=1e-14)


# -- nesting and powers ---------------------------------------------------------------------------


def test_nesting_changes_nothing():
    flat = Product(Sphere(3), Torus(2), Euclidean(2), weights=[6.0, 2.0, 5.0])
    nested = Product(
        Product(Sphere(3), Torus(2), weights=[3.0, 1.0]), Euclidean(2), weights=[2.0, 5.0]
    )
    x, y, v, w = sample(flat, 9, (4,))
    np.testing.assert_allclose(nested.dist(x, y), flat.dist(x, y), rtol=1e-14)
    np.testing.assert_allclose(nested.inner(x, v, w), flat.inner(x, v, w), atol=1e-14)
    np.testing.assert_array_equal(nested.exp(x, v), flat.exp(x, v))
    np.testing.assert_array_equal(nested.log(x, y), flat.log(x, y))
    np.testing.assert_allclose(nested.to_coords(x, v), flat.to_coords(x, v), rtol=1e-14)
    assert (nested.dim, nested.curvature) == (flat.dim, flat.curvature)


@pytest.mark.parametrize("manifold", [Sphere(3), Hyperbolic(2), SPD(2), Torus(3)], ids=repr)
def test_power_equals_the_product_of_copies(manifold):
    power, product = Power(manifold, 3), Product(manifold, manifold, manifold)
    for batch in [(), (4,)]:
        x, y, v, w = sample(power, 10, batch)
        fx, fy, fv, fw = (a.reshape(*batch, -1) for a in (x, y, v, w))
        close = {"rtol": 1e-11, "atol": 1e-12}
        np.testing.assert_allclose(power.dist(x, y), product.dist(fx, fy), **close)
        np.testing.assert_allclose(power.inner(x, v, w), product.inner(fx, fv, fw), **close)
        for got, expected in [
            (power.exp(x, v), product.exp(fx, fv)),
            (power.log(x, y), product.log(fx, fy)),
            (power.transport(x, y, v), product.transport(fx, fy, fv)),
            (power.transport_along(x, v, w), product.transport_along(fx, fv, fw)),
            (power.to_coords(x, v), product.to_coords(fx, fv)),
            (power.to_tangent(x, y), product.to_tangent(fx, fy)),
        ]:
            np.testing.assert_allclose(got.reshape(expected.shape), expected, **close)
    for name in ("dim", "curvature", "injectivity_radius"):
        assert getattr(power, name) == getattr(product, name)
    assert power.typical_dist == pytest.approx(product.typical_dist, rel=1e-15)


def test_power_of_one_keeps_the_curvature():
    assert Power(Sphere(3), 1).curvature == (1.0, 1.0)


# -- cut locus, zero, tiny ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("manifold", "x", "y", "distance"),
    [
        (Product(Sphere(3), Euclidean(1)), [1, 0, 0, 2], [-1, 0, 0, 3], math.hypot(math.pi, 1)),
        (Power(Sphere(2), 2), [[1, 0], [0, 1]], [[1, 0], [0, -1]], math.pi),
        (Product(Power(Sphere(2), 2), Torus(1)), [1, 0, 1, 0, 0], [1, 0, -1, 0, 0], math.pi),
    ],
    ids=["product", "power", "nested"],
)
def test_a_cut_locus_in_one_factor_is_one_of_the_point(manifold, x, y, distance):
    """Single points raise; in a batch the whole entry is NaN and its neighbours are right."""
    x, y = np.array(x, float), np.array(y, float)
    with pytest.raises(CutLocusError):
        manifold.log(x, y)
    v = manifold.log(np.stack([x, x]), np.stack([y, x]))
    assert np.all(np.isnan(v[0]))
    np.testing.assert_array_equal(v[1], 0)
    assert manifold.dist(x, y) == pytest.approx(distance, rel=1e-15)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_identical_points_and_tiny_steps(manifold):
    x, _, v, _ = sample(manifold, 11, (3,))
    np.testing.assert_array_equal(manifold.dist(x, x), 0)
    np.testing.assert_array_equal(manifold.log(x, x), 0)
    np.testing.assert_array_equal(manifold.exp(x, 0 * v), x)
    tiny = manifold.dist(x, manifold.exp(x, 1e-9 * v))
    np.testing.assert_allclose(tiny, 1e-9, atol=1e-14)


# -- arrays ---------------------------------------------------------------------------------------


def every_operation(manifold, x, y, v, w):
    return {
        "exp": manifold.exp(x, v),
        "still": manifold.exp(x, 0 * v),
        "log": manifold.log(x, y),
        "dist": manifold.dist(x, y),
        "inner": manifold.inner(x, v, w),
        "norm": manifold.norm(x, v),
        "transport": manifold.transport(x, y, v),
        "transport_along": manifold.transport_along(x, v, w),
        "coords": manifold.from_coords(x, manifold.to_coords(x, v)),
        "to_tangent": manifold.to_tangent(x, y),
        "riemannian_gradient": manifold.riemannian_gradient(x, y),
        "to_manifold": manifold.to_manifold(x),
    }


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries_agree_with_numpy(manifold, library, batch):
    xp = pytest.importorskip(library)
    arrays = sample(manifold, 12, batch)
    expected = every_operation(manifold, *arrays)
    for name, result in every_operation(manifold, *(xp.asarray(a) for a in arrays)).items():
        assert type(result).__module__.split(".")[0] == library, name
        assert result.dtype == xp.float64, name
        np.testing.assert_allclose(
            np.from_dlpack(result), expected[name], rtol=1e-12, atol=1e-13, err_msg=name
        )
    manifold.check_point(xp.asarray(arrays[0]))
    manifold.check_tangent(xp.asarray(arrays[0]), xp.asarray(arrays[2]))


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_gradients_are_finite_at_identical_points_and_zero_vectors(manifold):
    torch = pytest.importorskip("torch")
    x, _, v, _ = (torch.as_tensor(a) for a in sample(manifold, 13, (2,)))
    for function in (
        lambda x, y, v: manifold.dist(x, y).sum(),
        lambda x, y, v: (manifold.log(x, y) * v).sum(),
        lambda x, y, v: (manifold.exp(x, v) * y).sum(),
        lambda x, y, v: manifold.norm(x, v).sum(),
    ):
        leaves = [a.clone().requires_grad_() for a in (x, x, 0 * v)]
        function(*leaves).backward()
        assert all(a.grad is None or bool(torch.isfinite(a.grad).all()) for a in leaves)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_random_points_are_of_the_kind_asked(manifold):
    torch = pytest.importorskip("torch")
    like = torch.zeros(1, dtype=torch.float32)
    x = manifold.random_point(np.random.default_rng(14), (2,), like)
    assert x.dtype == torch.float32
    assert tuple(x.shape) == (2, *manifold.point_shape)
    manifold.check_point(x)


# -- bad input ------------------------------------------------------------------------------------


def test_products_name_what_is_wrong_with_their_arguments():
    for arguments, options, message in [
        ((), {}, "Product needs factors"),
        ((Sphere(3), 4), {}, r"Product factors\[1\] must be a Manifold, got 4"),
        ((Sphere(3),), {"weights": [1.0, 2.0]}, "one number a factor, 1; got 2"),
        ((Sphere(3), Torus(1)), {"weights": [1.0, 0.0]}, r"weights\[1\] must be > 0, got 0\.0"),
        ((Sphere(3),), {"weights": ["1"]}, r"weights\[0\] must be a finite number, got '1'"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            Product(*arguments, **options)
    with pytest.raises(ArgumentError, match="Power manifold must be a Manifold, got 'sphere'"):
        Power("sphere", 2)
    with pytest.raises(ArgumentError, match="Power k must be an integer >= 1, got 0"):
        Power(Sphere(3), 0)


def test_join_names_the_wrong_part():
    poses = Product(Rotations(3), Euclidean(3))
    with pytest.raises(ArgumentError, match="one part a factor, 2; got 1"):
        poses.join(np.eye(3))
    with pytest.raises(ArgumentError, match=r"parts\[1\] has shape \(2,\), expected \(\.\.\., 3\)"):
        poses.join(np.eye(3), np.zeros(2))


def test_checks_name_the_factor():
    product = Product(Euclidean(2), Sphere(3))
    x = np.array([5.0, 5.0, 0.0, 0.0, 2.0])
    with pytest.raises(NotOnManifoldError, match=r"x \(factor 1\) is not on Sphere\(3\)"):
        product.check_point(x)
    with pytest.raises(NotTangentError, match=r"v \(factor 1\) is not tangent to Sphere\(3\)"):
        product.check_tangent(x / 2, x)
    with pytest.raises(ArgumentError, match=r"shape \(4,\), expected \(\.\.\., 5\)"):
        product.check_point(np.zeros(4))
    with pytest.raises(NotOnManifoldError, match=r"Sphere\(3\)"):
        Power(Sphere(3), 2).check_point(np.ones((2, 3)))
    with pytest.raises(ArgumentError, match=r"shape \(3, 3\), expected \(\.\.\., 2, 3\)"):
        Power(Sphere(3), 2).check_point(np.eye(3))


# -- parts with names ------------------------------------------------------------------------------


POSE = Product(Rotations(3), Euclidean(3), Torus(1), names=["turn", "at", "zoom"])


def test_packing_undoes_unpacking():
    x = POSE.random_point(0, (2, 4))
    parts = POSE.unpack(x)
    assert {name: np.shape(part) for name, part in parts.items()} == {
        "turn": (2, 4, 3, 3),
        "at": (2, 4, 3),
        "zoom": (2, 4),
    }
    np.testing.assert_array_equal(POSE.pack(parts), x)
    np.testing.assert_array_equal(POSE.pack(tuple(parts.values())), x)
    assert type(POSE.unpack(x[0, 0])["zoom"]) is float


def test_unpacked_parts_are_copies():
    x = POSE.random_point(0)
    before = x.copy()
    for part in POSE.unpack(x).values():
        part *= 0
    np.testing.assert_array_equal(x, before)


def test_methods_take_parts():
    x, y = POSE.random_point(0, (2,))
    u, v = POSE.unpack(x), POSE.split(y)
    assert POSE.dist(u, v) == POSE.dist(x, y)
    np.testing.assert_array_equal(POSE.log(u, v), POSE.log(x, y))
    np.testing.assert_array_equal(
        POSE.exp(u, POSE.split(POSE.log(x, y))), POSE.exp(x, POSE.log(x, y))
    )


def test_points_without_names_stay_arrays():
    plain = Product(Sphere(3), Euclidean(1))
    x = plain.random_point(0)
    assert plain.unpack(x) is x
    assert plain.names is None
    numbers = Product(Torus(1), Torus(1), Torus(1))
    np.testing.assert_array_equal(numbers.pack((1, 2, 3)), [1.0, 2.0, 3.0])


def test_names_are_part_of_what_a_product_is():
    plain = Product(*POSE.factors)
    assert plain != POSE == Product(*POSE.factors, names=POSE.names)
    assert pickle.loads(pickle.dumps(POSE)) == POSE
    assert repr(POSE).endswith("names=('turn', 'at', 'zoom'))")
    assert repr(plain) == "Product(Rotations(3), Euclidean(3), Torus(1))"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("abc", "must be a list of texts, one a factor, got 'abc'"),
        (["a", "b"], "must be 3 different ones"),
        (["a", "b", "a"], "must be 3 different ones"),
        (["a", "b", ""], "must be texts"),
        (["a", "b", 3], "must be texts"),
    ],
)
def test_bad_names_are_refused(names, words):
    with pytest.raises(ArgumentError, match=words):
        Product(*POSE.factors, names=names)


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ({"turn": np.eye(3), "at": [0, 0, 0]}, "x lacks 'zoom'; expected 'turn', 'at', 'zoom'"),
        (
            {"turn": np.eye(3), "at": [0, 0, 0], "zoom": 0, "zom": 1},
            "x has 'zom', which are unknown; expected",
        ),
        ({"turn": [1, 0], "at": [0, 0, 0], "zoom": 0}, r"x\['turn'\] has shape \(2,\), expected"),
        (
            {"turn": np.eye(3), "at": "here", "zoom": 0},
            r"x\['at'\] must be an array",
        ),
        ((np.eye(3), [0, 0, 0]), "x must have one part for each factor of .*, 3; got 2"),
    ],
)
def test_bad_parts_are_named(point, words):
    with pytest.raises(ArgumentError, match=words):
        POSE.dist(point, POSE.random_point(0))


def test_a_dictionary_needs_names():
    with pytest.raises(ArgumentError, match="have no names; give them"):
        Product(Torus(1), Torus(1)).pack({"a": 1, "b": 2})
