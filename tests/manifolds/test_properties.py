"""Every manifold under whatever comes in: a right value or a typed error, and never off it."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from samples.points import MANIFOLDS, inputs

import geoduel as gd
from geoduel._numerics.arrays import expand
from geoduel.domains.mixture import is_mixed
from geoduel.errors import ArgumentError, GeoduelError

RNG = np.random.default_rng

GEOMETRIES = [m for m in MANIFOLDS if m.names is None and not is_mixed(m)]
FLOATS = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
EVERY = pytest.mark.parametrize("m", GEOMETRIES, ids=str)
ONE_OF_A_KIND = pytest.mark.parametrize(  # for what takes seconds; with -m slow, all of them
    "m",
    [
        pytest.param(m, marks=pytest.mark.slow if type(m) in map(type, GEOMETRIES[i + 1 :]) else ())
        for i, m in enumerate(GEOMETRIES)
    ],
    ids=str,
)


# -- rounding does not add up ------------------------------------------------------------------

# All in which a Gaussian is projected, and all of one dimension: there the projection may leave
# nothing but rounding errors.
PROJECTED = pytest.mark.parametrize(
    "m",
    [
        gd.Sphere(2),
        gd.Sphere(3),
        gd.Sphere(1, 2),
        gd.Stiefel(2, 1),
        gd.Stiefel(3, 1, metric="canonical"),
        gd.Stiefel(2, 2),
        gd.Stiefel(3, 2),
        gd.Stiefel(3, 2, metric="canonical"),
        gd.Grassmann(2, 1),
        gd.Grassmann(3, 2),
        gd.Torus(1),
        gd.Simplex(2),
        gd.Hyperbolic(1),
        gd.Rotations(2),
        gd.SPD(1),
    ],
    ids=str,
)


@FLOATS
@PROJECTED
def test_unit_tangents_are_tangent_to_rounding(m, dtype):
    """Also where the Gaussian is nearly normal: what is left of it may hold 60 of its units."""
    rng, unit = RNG(0), np.finfo(dtype).eps
    x = m.random_point(rng, (20_000,)).astype(dtype)
    u = m.unit_tangent(rng, x)
    assert u.dtype == dtype
    assert np.max(m.tangent_defect(x, u)[1]) < 60 * unit
    assert np.max(abs(m.norm(x, u) - 1)) < 8 * unit
    for i in range(500):
        u = m.unit_tangent(rng, x[i])
        assert m.tangent_defect(x[i], u)[1] < 60 * unit
        assert abs(m.norm(x[i], u) - 1) < 8 * unit


class Parallel(np.random.Generator):
    """A generator whose Gaussian vectors are all but parallel to a point."""

    def __init__(self, x, off):
        super().__init__(np.random.PCG64(0))
        self.g = x + off

    def standard_normal(self, shape, dtype=float):
        return np.broadcast_to(self.g, shape).astype(dtype)


@FLOATS
@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_nearly_normal_gaussians_give_directions(n, dtype):
    """Off the sphere by rounding, x has no say in it; and of nothing there is a direction, too."""
    m, unit = gd.Sphere(n), np.finfo(dtype).eps
    for seed in range(20):
        x = m.random_point(RNG(seed)).astype(dtype) * dtype(1 + 1e-6)
        away = m.unit_tangent(RNG(seed + 1), x).astype(float)
        for off in (1e-3, 1e-6) if n > 2 else (1e-3, 1e-9, 0.0):
            rng = Parallel(x, off * away)
            stack = np.stack([x, x])
            for u in (m.unit_tangent(rng, x), m.unit_tangent(rng, stack)[1]):
                assert abs(x @ u) < 60 * unit
                assert abs(u @ u - 1) < 8 * unit
                if off > unit:
                    assert u @ away > 1 - unit / off


@FLOATS
@PROJECTED
def test_walks_stay_on_the_manifold(m, dtype):
    """100 walkers and one; by half a radian a step, where errors grow quickest.

    The defect is that of the last step alone, as large as that of its direction may be.
    """
    rng, unit = RNG(1), np.finfo(dtype).eps
    for batch in ((100,), ()):
        x = m.random_point(rng, batch).astype(dtype)
        for _ in range(1500 if isinstance(m, gd.Sphere) else 150):
            u = m.unit_tangent(rng, x)
            x = m.exp(x, dtype(0.5) * u)
        m.check_point(x)
        assert np.max(m.point_defect(x)[1]) < 60 * unit
        x = m.random_point(rng, batch).astype(dtype)
        for _ in range(150):
            x = m.random_geodesic(rng, x)(0.5)
        assert np.max(m.point_defect(x)[1]) < 60 * unit


@FLOATS
@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")
@pytest.mark.parametrize("m", [gd.Sphere(2), gd.Stiefel(2, 1), gd.Grassmann(2, 1)], ids=str)
def test_rdngd_stays_on_the_circle(m, dtype):
    for seed in range(2):
        rng = RNG(seed)
        x0, goal = m.random_point(rng).astype(dtype), m.random_point(rng)
        result = gd.minimize(
            gd.from_objective(lambda x, goal=goal: -float(np.sum(x * goal))),
            m,
            x0,
            method="rdngd",
            iterations=1000,
            step_size=gd.cosine(0.5, 1e-4),
            radius=1e-2,
            rng=seed,
        )
        assert m.point_defect(result.x)[1] < 8 * np.finfo(dtype).eps


@pytest.mark.parametrize("length", [1e-3, 0.5, 0.8])
@pytest.mark.parametrize("m", [gd.Sphere(2), gd.Sphere(3), gd.Sphere(20)], ids=str)
def test_tangent_vectors_of_all_sources_keep_to_the_sphere(m, length):
    """Directions from coordinates, projections, logarithms and transport, 100 walkers at once."""
    rng = RNG(2)
    for source in ("coords", "project", "log", "transport", "along"):
        x = m.random_point(rng, (100,))
        v = length * m.unit_tangent(rng, x)
        for _ in range(500):
            y = m.exp(x, v)
            fresh = rng.standard_normal((100, m.dim + 1))
            if source == "coords":
                w = m.from_coords(y, fresh[..., 1:])
            elif source == "project":
                w = m.to_tangent(y, m.to_tangent(y, fresh))  # the first may leave rounding alone
            elif source == "log":
                w = -m.log(y, x)
            elif source == "transport":
                w = m.transport(x, y, v)
            else:
                w = m.transport_along(x, v, v)
            x, v = y, length / expand(m.norm(y, w), 1) * w
        # What two points differ in length is a part of their logarithm, so there rounding adds up
        # like a random walk: by half a unit times √500, and the worst of 100 is four times as far.
        most = 60 if source == "log" else 8
        assert np.max(m.point_defect(x)[1]) < most * np.finfo(float).eps
        assert np.max(m.tangent_defect(x, v)[1]) < 1e-13 / min(length, 1)


# -- empty stacks ------------------------------------------------------------------------------


def operations(m, x, y, v, w, a, c, t, rng):
    """Every operation, as calls without arguments, by name."""
    return {
        "inner": lambda: m.inner(x, v, w),
        "norm": lambda: m.norm(x, v),
        "dist": lambda: m.dist(x, y),
        "extent": lambda: m.extent(x, v),
        "point_defect": lambda: m.point_defect(x)[1],
        "tangent_defect": lambda: m.tangent_defect(x, v)[1],
        "to_coords": lambda: m.to_coords(x, v),
        "exp": lambda: m.exp(x, v),
        "exp_pair": lambda: m.exp_pair(x, v)[1],
        "geodesic": lambda: m.geodesic(x, v)(t),
        "log": lambda: m.log(x, y),
        "transport": lambda: m.transport(x, y, w),
        "transport_along": lambda: m.transport_along(x, v, w),
        "from_coords": lambda: m.from_coords(x, c),
        "unit_tangent": lambda: m.unit_tangent(rng, x),
        "random_geodesic": lambda: m.random_geodesic(rng, x)(0.1),
        "to_tangent": lambda: m.to_tangent(x, a),
        "riemannian_gradient": lambda: m.riemannian_gradient(x, a),
        "to_manifold": lambda: m.to_manifold(y),
    }


NUMBERS = ("inner", "norm", "dist", "extent", "point_defect", "tangent_defect")


@EVERY
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_empty_stacks_give_empty_stacks(m, library):
    convert = pytest.importorskip(library).asarray
    for batch in ((0,), (0, 3), (3, 0)):
        points = [convert(np.zeros((*batch, *m.point_shape))) for _ in range(5)]
        rest = convert(np.zeros((*batch, m.dim))), convert(np.zeros(batch))
        for name, call in operations(m, *points, *rest, RNG(0)).items():
            kind = () if name in NUMBERS else (m.dim,) if name == "to_coords" else m.point_shape
            assert tuple(call().shape) == (*batch, *kind), name
        m.check_point(points[0])
        m.check_tangent(*points[:2])
        assert m.random_point(RNG(0), batch).shape == points[0].shape
    one = convert(m.random_point(RNG(0)))
    none = points[0][:, :0] if batch == (3, 0) else points[0]
    assert tuple(m.exp(one, none).shape) == (3, 0, *m.point_shape)


@EVERY
def test_minimising_in_no_problem_at_once_ends(m):
    axes = tuple(range(-len(m.point_shape), 0))
    oracle = gd.from_objective(lambda x: np.sum(x, axis=axes), vectorized=True)
    for batch in ((0,), (2, 0)):
        x0 = np.zeros((*batch, *m.point_shape))
        assert gd.minimize(oracle, m, x0, method="rdngd", budget=20, rng=0).x.shape == x0.shape


# -- angles ------------------------------------------------------------------------------------


@FLOATS
def test_angles_of_any_size_keep_their_digits(dtype):
    """atan2(sin a, cos a) of the numbers as they are, by mpmath."""
    angles = {
        6.3: 0.016814692820413345439,
        9.42: 3.136814692820413452,
        1e10: -0.50923107216573478283,
        1e15: 2.1096981170701125979,
        1e22: -1.0201773925590869733,
    }
    for angle, expected in angles.items():
        if float(dtype(angle)) != angle:
            continue
        for sign in (1, -1):
            found = gd.Torus(1).to_manifold(np.array([sign * angle], dtype))
            np.testing.assert_allclose(found, sign * expected, rtol=2 * np.finfo(dtype).eps)
    torus = gd.Torus(2)
    for angle in (np.pi, -np.pi, np.nextafter(np.pi, 4), 3 * np.pi, -3 * np.pi, 1e300):
        wrapped = torus.to_manifold(np.array([angle, 0.0], dtype if angle < 1e30 else float))
        assert np.all(abs(wrapped) <= np.array(np.pi, wrapped.dtype))
        assert not np.any(wrapped == -np.array(np.pi, wrapped.dtype))
        np.testing.assert_array_equal(torus.to_manifold(wrapped), wrapped)


# -- lengths of any size, and what is not a number -----------------------------------------------

COMPACT = [m for m in GEOMETRIES if m.bounded]


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # so some processors say it
@pytest.mark.parametrize("library", ["numpy", "torch"])
@FLOATS
@pytest.mark.parametrize("m", COMPACT, ids=str)
def test_geodesics_of_any_length_end_on_the_manifold(m, dtype, library):
    """However often they turn; in a stack with ones of length zero and of a usual length."""
    convert, unit = pytest.importorskip(library).asarray, np.finfo(dtype).eps
    x = m.random_point(RNG(0), (3,)).astype(dtype)
    for length in (100.0, 1e16, 1e30 if dtype == np.float32 else 1e155, float("1e300")):
        if length > float(np.finfo(dtype).max):
            continue
        v = dtype(length) * m.unit_tangent(RNG(1), x)
        v[1], v[2] = 0, v[2] / dtype(length)
        for place in (slice(None), 0):
            ends = [m.exp(convert(x[place]), convert(v[place]))]
            ends += m.exp_pair(convert(x[place]), convert(v[place]))
            for y in ends:
                assert np.all(np.isfinite(np.asarray(y)))
                assert np.max(np.asarray(m.point_defect(y)[1])) < 20 * unit
        np.testing.assert_array_equal(m.exp(x, v)[1], x[1])
        tol = 1e-4 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(m.exp(x, v)[2], m.exp(x[2], v[2]), atol=tol)


def test_long_ways_round_the_circle_keep_what_digits_there_are():
    """The cosine of a large number is known to the last digit; a single axis has it exactly."""
    sphere, x = gd.Sphere(3), np.array([1.0, 0.0, 0.0])
    for length in (1e3, 1e16, 1e155, 1e300):
        expected = [np.cos(length), np.sin(length), 0.0]
        v = np.array([0.0, length, 0.0])
        np.testing.assert_allclose(sphere.exp(x, v), expected, atol=4e-16)
        np.testing.assert_allclose(sphere._far_geodesic(x, v)(1.0), expected, atol=4e-16)
        turned = sphere.transport_along(x, v, v / length)
        if length == 1e300:
            np.testing.assert_allclose(turned, [-expected[1], expected[0], 0], atol=4e-16)


@pytest.mark.parametrize("m", [gd.Grassmann(4, 2), gd.Stiefel(3, 2)], ids=str)
def test_transport_along_hopeless_ways_is_refused(m):
    x = m.random_point(RNG(0))
    with pytest.raises(ArgumentError, match=r"^v is too long for transport_along"):
        m.transport_along(x, 1e16 * m.unit_tangent(RNG(1), x), x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("m", [m for m in GEOMETRIES if m != gd.Stiefel(2, 2)], ids=str)
def test_what_is_not_finite_spoils_itself_alone(m):
    """An error of the package or NaN for one point; in a stack nothing but its own entry."""
    rng = RNG(0)
    x, y = m.random_point(rng, (2, 2))
    v, w = m.unit_tangent(rng, x), m.unit_tangent(rng, x)
    a, c, t = rng.standard_normal(x.shape), rng.standard_normal((2, m.dim)), np.full(2, 0.5)
    wanted = operations(m, x, y, v, w, a, c, t, RNG(1))
    for bad in (np.nan, np.inf):
        for place in range(3):
            arrays = [x, y, v, w, a]
            arrays[place] = arrays[place].copy()
            arrays[place][0].flat[0] = bad
            for name, call in operations(m, *arrays, c, t, RNG(1)).items():
                with suppress(GeoduelError):
                    value = call()
                    if name not in ("unit_tangent", "random_geodesic"):
                        np.testing.assert_allclose(
                            value[1], wanted[name]()[1], rtol=1e-9, atol=1e-9, err_msg=name
                        )
            single = operations(m, *(b[0] for b in arrays), c[0], 0.5, RNG(1))
            for call in single.values():
                with suppress(GeoduelError):
                    call()
        with pytest.raises(ArgumentError, match="start is not finite"):
            m.check_point(np.full_like(x, bad), "start")


# -- transformations of torch and JAX ------------------------------------------------------------


def beyond_vmap(m):
    """Operations that docs/manifolds.md excepts from `torch.func.vmap`, `jax.vmap`, `jax.jit`."""
    factors = m.factors if isinstance(m, gd.Product) else ()
    beyond = set().union(*map(beyond_vmap, factors))
    if isinstance(m, gd.Stiefel) and m.p > 1:
        beyond |= {"dist", "log", "transport", "transport_along"}
    if isinstance(m, gd.Grassmann) or getattr(m, "metric", "") == "bures-wasserstein":
        beyond |= {"transport", "transport_along"}
    return beyond | {"unit_tangent", "random_geodesic"}  # whose generator is NumPy's


def some_arguments(m):
    """Three of each argument of `operations`, at moderate distances."""
    rng = RNG(0)
    x = m.random_point(rng, (3,))
    v = 0.3 * m.unit_tangent(rng, x)
    given = [x, m.exp(x, v), v, m.unit_tangent(rng, x), rng.standard_normal(x.shape)]
    return [*given, rng.standard_normal((3, m.dim)), np.array([0.1, 0.2, 0.3])]


def one_of_three(m, name):
    """The operation of one problem, as a function of arrays."""
    return lambda *arrays: operations(m, *arrays, RNG(1))[name]()


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@EVERY
def test_batches_that_torch_hides_work_where_the_docs_say_so(m):
    torch, given = pytest.importorskip("torch"), some_arguments(m)
    wanted = operations(m, *given, RNG(1))
    for name in set(wanted) - beyond_vmap(m):
        found = torch.func.vmap(one_of_three(m, name))(*map(torch.asarray, given))
        np.testing.assert_allclose(found.numpy(), wanted[name](), atol=1e-12, err_msg=name)


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        yield jax


# JAX compiles each operation by itself where no transformation puts them together.
QUICK = [gd.Sphere(3), gd.Stiefel(3, 2)]
EAGER = [*QUICK, *(pytest.param(m, marks=pytest.mark.slow) for m in GEOMETRIES if m not in QUICK)]


@pytest.mark.parametrize("m", EAGER, ids=str)
def test_jax_arrays_come_out_where_they_went_in(m, jax):
    given = some_arguments(m)
    arrays = [jax.numpy.asarray(a) for a in given]
    for which in (lambda a: a, lambda a: a[0]):  # three problems, and one
        wanted = operations(m, *map(which, given), RNG(1))
        for name, call in operations(m, *map(which, arrays), RNG(1)).items():
            found = call()
            assert isinstance(found, jax.Array | float), name
            assert name == "extent" or found.dtype == np.float64, name
            np.testing.assert_allclose(found, wanted[name](), rtol=1e-9, atol=1e-9, err_msg=name)
    m.check_point(arrays[0])
    m.check_tangent(arrays[0], arrays[2])


@ONE_OF_A_KIND
def test_jax_transforms_what_the_docs_promise(m, jax):
    given = some_arguments(m)
    arrays = [jax.numpy.asarray(a) for a in given]
    wanted = operations(m, *given, RNG(1))
    names = sorted(set(wanted) - beyond_vmap(m))
    for name in names:
        jax.eval_shape(one_of_three(m, name), *arrays)  # all that jit needs but the compiler

    def all_of_them(*arrays):
        return [one_of_three(m, name)(*arrays) for name in names]

    compiled = jax.jit(jax.vmap(all_of_them))(*arrays)
    for name, found in zip(names, compiled, strict=True):
        np.testing.assert_allclose(found, wanted[name](), rtol=1e-9, atol=1e-9, err_msg=name)


@EVERY
def test_jax_says_what_it_cannot_transform(m, jax):
    """An error of JAX's, and never a wrong number."""
    if m.dim == 1:
        pytest.skip("in one dimension some of them have formulas, which JAX transforms")
    arrays = [jax.numpy.asarray(a) for a in some_arguments(m)]
    for name in beyond_vmap(m) - {"unit_tangent", "random_geodesic"}:
        with pytest.raises((TypeError, AttributeError)):
            jax.eval_shape(one_of_three(m, name), *arrays)


# -- whatever comes in ---------------------------------------------------------------------------

WAYS = {  # what comes out of an operation
    "point": ("exp", "exp_pair", "geodesic", "random_geodesic"),
    "tangent": ("log", "from_coords", "unit_tangent", "to_tangent", "riemannian_gradient"),
    "there": ("transport", "transport_along"),  # tangent at the other end
    "number": (*NUMBERS, "to_coords"),
}


def sound(data):
    """Of every operation: points on the manifold, tangent vectors, numbers; or a typed error.

    What is not finite says that a number was too large, or two points of a stack are cut off.
    """
    m, x, v = data.m, data.x, data.v
    before, tol = (x.copy(), v.copy()), np.sqrt(np.finfo(x.dtype).eps)
    with suppress(GeoduelError):
        y = m.exp(x, v)
        assert y.dtype == x.dtype
        assert y.shape == x.shape
        np.testing.assert_array_equal(m.exp(x, 0 * v), x)
        if not np.all(np.isfinite(y)):
            assert not m.bounded  # beyond the end of a manifold that is not complete
            return
        assert np.max(m.point_defect(y)[1], initial=0.0) < 100 * tol**2
        away = m.to_tangent(x, data.rng.standard_normal(x.shape).astype(x.dtype))
        c = data.rng.standard_normal((*x.shape[: x.ndim - len(m.point_shape)], m.dim))
        t = np.full(x.shape[: x.ndim - len(m.point_shape)], 0.5)
        rest = (data.u, away, c.astype(x.dtype), t.astype(x.dtype), data.rng)
        for name, call in operations(m, x, y, v, *rest).items():
            with suppress(GeoduelError):
                found = np.asarray(call())
                if not np.all(np.isfinite(found)):
                    continue
                way = next((way for way, names in WAYS.items() if name in names), "")
                if way == "point":
                    assert np.max(m.point_defect(found)[1], initial=0.0) < 100 * tol**2, name
                elif way in ("tangent", "there"):
                    off = m.tangent_defect(y if way == "there" else x, found)[1]
                    assert np.max(off, initial=0.0) <= tol, name
        for at in (x, y):
            assert np.all(np.asarray(m.dist(at, at)) == 0)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(v, before[1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=200)
@given(inputs())
def test_whatever_comes_in_what_comes_out_is_sound(data):
    sound(data)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=20_000)
@given(inputs())
def test_whatever_comes_in_what_comes_out_is_sound_at_length(data):
    sound(data)


@settings(max_examples=150)
@given(inputs(GEOMETRIES))
def test_log_undoes_exp_for_short_ways_of_any_size(data):
    """In rounding units of what the point holds: of 1, or of its entries."""
    m, x, v = data.m, data.x, data.v
    if data.hard or not -150 <= data.power <= -1 or not x.size:
        return
    unit = np.finfo(x.dtype).eps
    y = m.exp(x, v)
    size = max(1.0, float(np.max(abs(x))))
    worst = m.norm(x, m.to_tangent(x, unit * size * np.ones_like(x))) + unit
    off = m.norm(x, m.log(x, y) - v)
    assert np.all(off <= 1000 * np.asarray(worst) * size)
    assert np.all(abs(m.dist(x, y) - m.norm(x, v)) <= 1000 * np.asarray(worst) * size)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrices_beyond_what_floats_hold_are_refused(dtype):
    spd, x = gd.SPD(2), np.eye(2, dtype=dtype)
    for length in (800.0, -800.0):
        v = np.diag(np.array([length, 0.0], dtype))
        for at, u in ((x, v), (np.stack([x, x]), np.stack([0 * v, v]))):
            with pytest.raises(ArgumentError, match=r"^v is too long for exp on SPD"):
                spd.exp(at, u)
