"""Every manifold of the package keeps the contract, and so does one of a user's in 20 lines."""

# pyright: reportAssignmentType=false
from __future__ import annotations

import inspect
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, CutLocusError, NotOnManifoldError, NotTangentError
from geoduel.manifolds.base import Manifold
from geoduel.manifolds.correlation import Correlation
from geoduel.manifolds.discrete import Categories, Integers
from geoduel.manifolds.euclidean import Euclidean
from geoduel.manifolds.grassmann import Grassmann
from geoduel.manifolds.hyperbolic import Hyperbolic
from geoduel.manifolds.line import Line
from geoduel.manifolds.product import Power, Product
from geoduel.manifolds.rotations import Rotations
from geoduel.manifolds.simplex import Simplex
from geoduel.manifolds.spd import SPD
from geoduel.manifolds.sphere import Sphere
from geoduel.manifolds.stiefel import Stiefel
from geoduel.manifolds.torus import Torus
from geoduel.manifolds.unitary import Unitary
from geoduel.testing import ManifoldContract

BOTH = ("float32", "torch")
EVERY = (*BOTH, "array_api_strict")


def orthogonal(rng, n):
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def linear(f):
    """A linear isometry and its differential, itself."""
    return f, lambda x, v: f(v)


class EuclideanContract(ManifoldContract):
    supports = EVERY

    def isometries(self, rng):
        shift = rng.standard_normal(self.manifold.shape)
        yield lambda x: shift - x[..., ::-1], lambda x, v: -v[..., ::-1]


class SphereContract(ManifoldContract):
    supports = EVERY

    def isometries(self, rng):
        n = math.prod(self.manifold.shape)
        q = orthogonal(rng, n)
        yield linear(lambda x: (x.reshape(-1, n) @ q).reshape(x.shape))


class SPDContract(ManifoldContract):
    supports = BOTH

    def off_centre_point(self, rng):
        q = orthogonal(rng, self.manifold.n)
        x = (q * np.geomspace(1e-2, 1e2, self.manifold.n)) @ q.T
        return (x + x.T) / 2

    def isometries(self, rng):
        n = self.manifold.n
        q = orthogonal(rng, n)
        yield linear(lambda x: _symmetric(q @ x @ q.T))
        if self.manifold.metric == "affine-invariant":
            a = q + 0.3 * rng.standard_normal((n, n))
            yield linear(lambda x: _symmetric(a @ x @ a.T))
        if self.manifold.metric != "bures-wasserstein":

            def invert(x):
                return _symmetric(np.linalg.inv(x))

            yield invert, partial(_derivative_of_inverse, invert)


class BuresWassersteinContract(SPDContract):
    def reach(self, x):
        return 0.9 * np.sqrt(np.linalg.eigvalsh(x)[..., 0])


def _symmetric(a):
    return (a + a.mT) / 2


def _derivative_of_inverse(invert, x, v):
    return -_symmetric(invert(x) @ v @ invert(x))


class RotationsContract(ManifoldContract):
    supports = EVERY

    def isometries(self, rng):
        a, b = self.manifold.random_point(rng, (2,))
        yield linear(lambda x: a @ x @ b)
        yield linear(lambda x: a @ x.mT)


class StiefelContract(ManifoldContract):
    supports = EVERY

    def isometries(self, rng):
        a, b = orthogonal(rng, self.manifold.n), orthogonal(rng, self.manifold.p)
        yield linear(lambda x: a @ x @ b)


class GrassmannContract(ManifoldContract):
    supports = EVERY

    def isometries(self, rng):
        a = orthogonal(rng, self.manifold.n)
        yield linear(lambda x: a @ x)


class HyperbolicContract(ManifoldContract):
    supports = EVERY

    def isometries(self, rng):
        n = self.manifold.n
        turn = np.eye(n + 1)
        turn[1:, 1:] = orthogonal(rng, n)
        boost = np.eye(n + 1)
        boost[:2, :2] = [[math.cosh(0.8), math.sinh(0.8)], [math.sinh(0.8), math.cosh(0.8)]]
        move = turn @ boost
        yield linear(lambda x: x @ move.T)


class SimplexContract(ManifoldContract):
    supports = EVERY

    def reach(self, x):
        return 0.9 * self.manifold.boundary_dist(x)

    def off_centre_point(self, rng):
        return self.manifold.to_manifold(np.geomspace(1e-4, 1.0, self.manifold.n))

    def isometries(self, rng):
        yield linear(lambda x: x[..., ::-1])


class TorusContract(ManifoldContract):
    supports = EVERY

    def isometries(self, rng):
        shift = rng.standard_normal(self.manifold.n)
        yield lambda x: self.manifold.to_manifold(shift - x), lambda x, v: -v

    def not_a_point(self, x):
        return x + 7


class LineContract(ManifoldContract):
    supports = EVERY

    def isometries(self, rng):
        line = self.manifold
        if line.ratios:
            yield lambda x: 3 / x, lambda x, v: -3 * v / x**2
        else:
            yield lambda x: 3 - x, lambda x, v: -v


class CorrelationContract(ManifoldContract):
    supports = BOTH
    rounding = 20_000.0  # the last Cholesky entries l are differences from 1, known to eps / l²

    def isometries(self, rng):
        sign = np.ones(self.manifold.n)
        sign[::2] = -1
        yield linear(lambda x: sign * x * sign[:, None])

    def not_a_tangent(self, rng, x):
        return np.ones((self.manifold.n, self.manifold.n))


class UnitaryContract(ManifoldContract):
    supports = BOTH

    def isometries(self, rng):
        unitary = self.manifold
        a, b = unitary.complex(unitary.random_point(rng, (2,)))
        yield linear(lambda x: unitary.real(a @ unitary.complex(x) @ b))
        yield linear(lambda x: unitary.real(unitary.complex(x).conj()))


class ProductContract(ManifoldContract):
    supports = BOTH

    def isometries(self, rng):
        mirror = np.ones(self.manifold.point_shape)
        mirror[self.mirrored] = -1.0
        yield linear(lambda x: mirror * x)


class FirstMirrored(ProductContract):
    mirrored = 0


class LastMirrored(ProductContract):
    mirrored = -1


class PowerContract(ManifoldContract):
    supports = BOTH

    def isometries(self, rng):
        yield linear(lambda x: x[..., ::-1, :])


CASES: list[tuple[type[ManifoldContract], Any]] = [
    (EuclideanContract, Euclidean(3)),
    (EuclideanContract, Euclidean(2, 3)),
    (SphereContract, Sphere(2)),
    (SphereContract, Sphere(5)),
    (SphereContract, Sphere(2, 3)),
    *(
        (SPDContract, SPD(n, metric))
        for n in (1, 3)
        for metric in ("affine-invariant", "log-euclidean")
    ),
    *((BuresWassersteinContract, SPD(n, "bures-wasserstein")) for n in (1, 3)),
    *((RotationsContract, Rotations(n)) for n in (2, 3, 5)),
    *(
        (StiefelContract, Stiefel(n, p, metric))
        for n, p in [(5, 2), (4, 4), (4, 3), (4, 1)]
        for metric in ("euclidean", "canonical")
    ),
    *((GrassmannContract, Grassmann(n, p)) for n, p in [(5, 2), (4, 3), (4, 1)]),
    (HyperbolicContract, Hyperbolic(3)),
    (SimplexContract, Simplex(4)),
    (TorusContract, Torus(3)),
    *((UnitaryContract, Unitary(n)) for n in (1, 3)),
    (LineContract, Line(-12.0, 12.0)),
    *((CorrelationContract, Correlation(n)) for n in (2, 4)),
    (LineContract, Line(1e-4, 1.0, ratios=True)),
    (FirstMirrored, Product(Sphere(3), SPD(2), Rotations(3))),
    (LastMirrored, Product(Rotations(2), Hyperbolic(2), weights=(4.0, 2.0))),
    (FirstMirrored, Product(Sphere(3), Integers(1, 5), Categories("a", "b"), weights=(1, 2, 3))),
    (PowerContract, Power(Sphere(3), 2)),
]


def _class(base, manifold):
    words = "".join(c if c.isalnum() else "_" for c in repr(manifold)).strip("_")
    return type(f"Test_{words}", (base,), {"manifold": manifold, "__module__": __name__})


globals().update({new.__name__: new for new in (_class(*case) for case in CASES)})


TORCH = [case for case in CASES if "torch" in case[0].supports]
LAST = list({type(manifold): (base, manifold) for base, manifold in TORCH}.values())


@pytest.mark.parametrize(("base", "manifold"), LAST, ids=[repr(m) for _, m in LAST])
def test_torch_stays_on_an_accelerator(base, manifold):
    pytest.importorskip("torch")
    from samples.accelerator import accelerator

    contract = _class(base, manifold)()
    with accelerator() as contract.device:
        contract.test_torch_agrees_with_numpy()
        contract.test_torch_draws_the_same_numbers()


@pytest.mark.slow
@pytest.mark.parametrize(("base", "manifold"), TORCH, ids=[repr(m) for _, m in TORCH])
def test_an_accelerator_does_all_that_torch_does(base, manifold):
    test_torch_stays_on_an_accelerator(base, manifold)
    from samples.accelerator import accelerator

    contract = _class(base, manifold)()
    with accelerator() as contract.device:
        contract.test_torch_gradients_are_derivatives()
        contract.test_torch_gradients_are_finite()


@pytest.mark.slow
@pytest.mark.parametrize(("base", "manifold"), CASES, ids=[repr(m) for _, m in CASES])
def test_points_stay_on_the_manifold_for_long(base, manifold):
    contract = _class(base, manifold)()
    contract.steps = 100_000
    contract.test_points_stay_on_the_manifold()


# -- a manifold of one's own -----------------------------------------------------------------------


CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
EXAMPLE = re.search(r"^class Globe.*?(?=^\w+ = )", CONTRIBUTING.read_text("utf-8"), re.M | re.S)
NAMES: dict[str, Any] = {"__name__": __name__, "np": np, "gd": gd}
exec(EXAMPLE[0], NAMES)
Globe: Any = NAMES["Globe"]  # the example of CONTRIBUTING


class Ratios(Manifold):
    """Three positive numbers, compared by their ratios: the metric is the sum of (u/x)(v/x)."""

    dim, point_shape = 3, (3,)

    def inner(self, x, u, v):
        return np.vecdot(u / x, v / x)

    def exp(self, x, v):
        return x * np.exp(v / x)

    def log(self, x, y):
        return x * np.log(y / x)

    def to_tangent(self, x, a):
        return a

    def to_manifold(self, a):
        return np.maximum(abs(a), 1e-300)


class TestGlobe(ManifoldContract):
    manifold = Globe()


class TestRatios(ManifoldContract):
    manifold = Ratios()


OWN = [Globe(), Ratios()]


@pytest.mark.parametrize("source", [EXAMPLE[0], inspect.getsource(Ratios)], ids=["Globe", "Ratios"])
def test_an_own_manifold_takes_twenty_lines(source):
    assert len([line for line in source.splitlines() if line.strip()]) <= 20


@pytest.mark.parametrize("own", OWN, ids=repr)
@pytest.mark.parametrize(
    ("method", "options", "accuracy"),
    [
        ("auto", {"budget": 600}, 1e-6),
        ("rdngd", {"iterations": 600}, 1e-2),
        ("rrdngd", {"iterations": 1000}, 1e-2),
    ],
)
def test_methods_find_the_optimum_on_an_own_manifold(own, method, options, accuracy):
    goal, x0 = own.random_point(np.random.default_rng(3), (2,))
    oracle = gd.from_objective(lambda x: own.dist(x, goal) ** 2)
    result = gd.minimize(oracle, own, x0, method=method, rng=0, **options)
    assert own.dist(result.x, goal) < accuracy * own.typical_dist
    assert own.dist(x0, goal) > 0.1 * own.typical_dist


def test_a_study_on_an_own_manifold_is_stored_and_goes_on(tmp_path):
    globe, place = Globe(), f"sqlite:///{tmp_path / 'globe.db'}"
    goal = globe.random_point(np.random.default_rng(4))
    oracle = gd.from_objective(lambda x: globe.dist(x, goal))
    study = gd.create_study(globe, storage=place, study_name="globe", budget=80, rng=0)
    study.optimize(oracle, 40)
    with pytest.raises(ArgumentError, match="pass manifold= when loading it"):
        gd.load_study("globe", storage=place)
    again = gd.load_study("globe", storage=place, manifold=globe)
    np.testing.assert_array_equal(again.recommend(), study.recommend())
    again.optimize(oracle, 40)
    assert globe.dist(again.recommend(), goal) < 0.01 * globe.typical_dist


# -- what follows from the members of a geometry ---------------------------------------------------


def test_lengths_of_single_vectors_take_axes():
    """As arrays do, so that a formula for batches serves single points."""
    globe, x = Globe(), np.array([6371.0, 0.0, 0.0])
    assert globe.norm(x, np.array([0.0, 3.0, 4.0]))[..., None].shape == (1,)
    assert globe.dist(x, x)[..., None].shape == (1,)


def test_cut_points_raise_alone_and_are_nan_in_batches():
    globe, x = Globe(), np.array([6371.0, 0.0, 0.0])
    with pytest.raises(CutLocusError, match="log on Globe: y is in the cut locus of x"):
        globe.log(x, -x)
    y = np.stack([-x, x])
    np.testing.assert_array_equal(np.isnan(globe.log(x, y)).all(axis=-1), [True, False])
    assert globe.dist(x, -x) == pytest.approx(np.pi * 6371, rel=1e-9)


def test_what_is_unknown():
    ratios = Ratios()
    assert ratios.curvature == (-math.inf, math.inf)
    assert ratios.injectivity_radius == math.inf
    assert ratios.complete
    assert repr(ratios) == "Ratios"
    assert not gd.domains.Ball(ratios, np.ones(3), 1.0).convex


@pytest.mark.parametrize(
    ("manifold", "diameter"),
    [
        (Sphere(3), math.pi),
        (Sphere(2, 2), math.pi),
        (Simplex(4), math.pi),
        (Rotations(3), math.pi),
        (Rotations(4), math.pi * math.sqrt(2)),
        (Torus(3), math.pi * math.sqrt(3)),
        (Grassmann(4, 1), math.pi / 2),
        (Grassmann(5, 2), math.pi / 2 * math.sqrt(2)),
        (Power(Sphere(3), 4), 2 * math.pi),
        (Product(Sphere(3), Torus(1), weights=[4.0, 9.0]), math.pi * math.sqrt(13)),
    ],
    ids=str,
)
def test_random_points_of_a_bounded_manifold_lie_within_its_diameter(manifold, diameter):
    """Known diameters; nowhere do they gather about the origin."""
    assert manifold.bounded
    far = manifold.dist(manifold.origin(), manifold.random_point(np.random.default_rng(0), (200,)))
    assert diameter / 3 < far.max() < diameter * (1 + 1e-9)


@pytest.mark.parametrize("manifold", [Euclidean(2), Hyperbolic(2), SPD(2)], ids=str)
def test_where_geodesics_are_shortest_for_ever_nothing_is_bounded(manifold):
    x = manifold.origin()
    far = manifold.exp(x, 12 * manifold.unit_tangent(np.random.default_rng(0), x))
    assert manifold.injectivity_radius == math.inf
    assert manifold.dist(x, far) == pytest.approx(12)
    assert not manifold.bounded


@pytest.mark.parametrize("number", [2, 0.5, np.float64(0.5)])
def test_one_number_is_a_point_where_points_have_one(number):
    line, plane = gd.Euclidean(1), gd.Euclidean(2)
    assert line.pack(number).tolist() == [number]
    assert line.pack([number]).tolist() == [number]
    with pytest.raises(ArgumentError, match=r"x has shape \(\)"):
        plane.pack(0.5)


def test_the_origin_is_in_the_middle():
    """The barycentre of the simplex, as far from all its corners; elsewhere it is named."""
    corners = np.eye(4)
    far = Simplex(4).dist(Simplex(4).origin(), corners)
    assert np.allclose(far, 2 * math.acos(1 / 2))
    for manifold, origin in (
        (Euclidean(2, 3), np.zeros((2, 3))),
        (Sphere(2, 2), [[1, 0], [0, 0]]),
        (Rotations(3), np.eye(3)),
        (SPD(3), np.eye(3)),
        (Torus(2), np.zeros(2)),
        (Grassmann(4, 2), np.eye(4, 2)),
        (Stiefel(4, 2), np.eye(4, 2)),
    ):
        assert np.array_equal(manifold.origin(), origin)


def test_random_points_are_gaussian_arrays_on_the_manifold():
    globe = Globe()
    a = np.random.default_rng(5).standard_normal((2, 3))
    x = globe.random_point(np.random.default_rng(5), (2,))
    np.testing.assert_array_equal(x, globe.to_manifold(a))
    assert globe.random_point(np.random.default_rng(5), (2,), np.zeros(1, "f4")).dtype == "f4"


@pytest.mark.parametrize(
    ("x", "kind", "message"),
    [
        ([1.0, 0.0, 0.0], NotOnManifoldError, "start is not on Globe: the largest change"),
        (np.ones(3, int), NotOnManifoldError, "start is not on Globe: the largest change"),
        ("here", ArgumentError, "start must be"),
        (np.ones(4), ArgumentError, "start has shape (4,), expected (..., 3) for Globe"),
        (np.array([1.0, np.nan, 0.0]), ArgumentError, "start is not finite: it holds NaN or infin"),
        (
            np.array([6372.0, 0.0, 0.0]),
            NotOnManifoldError,
            "start is not on Globe: the largest change to_manifold makes, relative to the largest "
            "entry, is 0.000157, expected 0 up to rounding (at most 1e-08)",
        ),
    ],
)
def test_what_is_no_point_is_told(x, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        Globe().check_point(x, "start")


def test_what_to_manifold_refuses_is_no_point():
    with pytest.raises(NotOnManifoldError, match=r"start is not on .*: to_manifold on Sphere\(3\)"):
        NoCentre().check_point(np.zeros(3), "start")


class NoCentre(Globe):
    def to_manifold(self, a):
        return self.r * Sphere(3).to_manifold(a)


def test_what_is_not_tangent_is_told():
    x = np.array([6371.0, 0.0, 0.0])
    Globe().check_tangent(x, np.array([0.0, 1.0, 0.0]))
    Globe().check_tangent(x, np.zeros(3))
    with pytest.raises(
        NotTangentError,
        match="step is not tangent to Globe at the given point: the largest change to_tangent "
        "makes, relative to the largest entry, is 1, expected 0",
    ):
        Globe().check_tangent(x, x, "step")


SIX = ("dim", "point_shape", "inner", "log", "to_tangent", "to_manifold")


@pytest.mark.parametrize("lacks", SIX)
def test_a_class_that_lacks_what_defines_a_geometry_has_no_instances(lacks):
    """`exp` may be left to `geodesic`, and either to the other: which is said when it is called."""
    kind = type("Some", (Manifold,), {name: None for name in SIX if name != lacks})
    with pytest.raises(TypeError, match=f"abstract method '?{lacks}'?"):
        kind()


def test_what_is_known_of_a_manifold_are_properties():
    names = ("dim", "point_shape", "curvature", "injectivity_radius", "typical_dist")
    flags = ("complete", "bounded", "closed_form")
    assert all(isinstance(getattr(gd.Manifold, name), property) for name in (*names, *flags))
