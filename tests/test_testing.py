"""The contract says in words what is wrong with a manifold, and asks for geometry alone."""

# pyright: reportAssignmentType=false
from __future__ import annotations

import math
import re
from dataclasses import dataclass
from unittest import SkipTest

import numpy as np
import pytest

from geoduel.errors import MissingOperationError
from geoduel.manifolds.base import Manifold
from geoduel.manifolds.spd import SPD
from geoduel.manifolds.sphere import Sphere
from geoduel.testing import ManifoldContract


def contract(given, **attributes):
    return type("Contract", (ManifoldContract,), {"manifold": given, **attributes})()


class Solid(Sphere):
    """The dimension of the space around."""

    @property
    def dim(self):
        return 4


class ListedShape(Sphere):
    @property
    def point_shape(self):
        return [4]


class Upward(Sphere):
    @property
    def curvature(self):
        return (2.0, 1.0)


class Pointlike(Sphere):
    @property
    def typical_dist(self):
        return 0.0


class Unlike(Sphere):
    """A copy is another thing."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


class Global(Sphere):
    """Random points that no generator given decides."""

    def random_point(self, rng, batch=(), like=None):
        return super().random_point(np.random.default_rng(), batch, like)


class Careless(Sphere):
    """A sphere whose tangent vectors favour the poles, as if the metric were another."""

    def unit_tangent(self, rng, x, batch=()):
        u = super().unit_tangent(rng, x, batch)
        u = self.to_tangent(x, u * np.array([1.0, 1.0, 1.3, 1.0]))
        return u / np.asarray(self.norm(x, u))[..., None]


class Long(Sphere):
    def unit_tangent(self, rng, x, batch=()):
        return 2 * super().unit_tangent(rng, x, batch)


class Off(Sphere):
    def to_tangent(self, x, a):
        return super().to_tangent(x, a) + 1e-3 * x


class Stretched(Sphere):
    """Coordinates in a basis that is not orthonormal."""

    def to_coords(self, x, v):
        return super().to_coords(x, v) / np.array([1.0, 1.0, 2.0])

    def from_coords(self, x, c):
        return super().from_coords(x, c * np.array([1.0, 1.0, 2.0]))


class Ambient(SPD):
    """The gradient of the ambient metric."""

    def riemannian_gradient(self, x, g):
        return self.to_tangent(x, g)


class Lopsided(Sphere):
    def inner(self, x, u, v):
        return super().inner(x, u, v) + 0.1 * u[..., 0] * v[..., 1]


class Arccosine(Sphere):
    def dist(self, x, y):
        d = np.acos(np.clip(np.vecdot(x, y), -1, 1))
        return np.where(np.all(x == y, axis=-1), 0.0, d)


class Apart(Sphere):
    def dist(self, x, y):
        return super().dist(x, y) + 1e-12


class OneWay(Sphere):
    def dist(self, x, y):
        return super().dist(x, y) * (1 + 1e-3 * (x[..., 0] > y[..., 0]))


class Linear(Sphere):
    """A retraction and its inverse instead of exp and log."""

    def geodesic(self, x, v):
        return lambda t: self.to_manifold(x + np.asarray(t)[..., None] * v)

    def exp(self, x, v):
        return self.geodesic(x, v)(1.0)

    def exp_pair(self, x, v):
        return self.exp(x, v), self.exp(x, -v)

    def log(self, x, y):
        return y / np.asarray(self._dot(x, y))[..., None] - x

    def dist(self, x, y):
        return self.norm(x, self.log(x, y))


class Curved(Sphere):
    @property
    def curvature(self):
        return (4.0, 4.0)


class Endless(Sphere):
    @property
    def injectivity_radius(self):
        return math.inf

    @property
    def typical_dist(self):
        return 3.0


class Short(Sphere):
    def log(self, x, y):
        return 0.99 * super().log(x, y)


class Shifted(Sphere):
    """A correction that moves points which need none."""

    def exp(self, x, v):
        y = super().exp(x, v)
        return y + 3e-9 * (1 - y)


class Backwards(Sphere):
    def exp_pair(self, x, v):
        return super().exp_pair(x, -v)


class Projecting(Sphere):
    """Projection in place of transport."""

    def transport(self, x, y, v):
        return self.to_tangent(y, v)


class Standing(Sphere):
    """No transport at all, in place of one along a geodesic."""

    def transport_along(self, x, v, w):
        return w


class Writing(Sphere):
    def to_tangent(self, x, a):
        a -= np.asarray(self._dot(x, a))[..., None] * x
        return a


class Summing(Sphere):
    """One norm for a whole batch."""

    def norm(self, x, u):
        return np.linalg.norm(u)


class Keeping(Sphere):
    """Axes that NumPy has kept."""

    def dist(self, x, y):
        return np.asarray(super().dist(x, y))[..., None]


class Single(Sphere):
    """Written for one problem."""

    def log(self, x, y):
        return x * 0 + super().log(x.reshape(4), y.reshape(4))


class Hiding(Sphere):
    def dist(self, x, y):
        return np.nan_to_num(super().dist(x, y))


class Double(Sphere):
    def dist(self, x, y):
        return np.asarray(super().dist(x, y), dtype=np.float64)


class Drifting(Sphere):
    """Exp that errs outwards."""

    def exp(self, x, v):
        return super().exp(x, v) * (1 + 1e-12 * bool(np.any(v)))


class Credulous(Sphere):
    def check_point(self, x, name="x"):
        self._check_array(x, name)


class Nameless(Sphere):
    def check_tangent(self, x, v, name="v"):
        super().check_tangent(x, v, "it")


class NumPyOnly(Sphere):
    def dist(self, x, y):
        return np.asarray(super().dist(x, y))


class Incomplete(Sphere):
    @property
    def complete(self):
        return False


@pytest.mark.parametrize(
    ("broken", "test", "sentence"),
    [
        (Sphere, "says_what_it_is", "must be an instance of a class derived from geoduel.Manifold"),
        (Solid(4), "says_what_it_is", "dim is 4, but to_tangent .* a range of dimension 3"),
        (ListedShape(4), "says_what_it_is", r"point_shape must be a tuple .*, it is \[4\]"),
        (Upward(4), "says_what_it_is", "curvature must be the lower and the upper bound"),
        (Pointlike(4), "says_what_it_is", "typical_dist must be > 0 and finite, it is 0.0"),
        (Unlike(4), "copies_are_equal", r"a copy by copy.deepcopy must be equal to Sphere\(4\)"),
        (Global(4), "random_points_are_points", "must draw from the generator it is given"),
        (Careless(4), "unit_tangents_are_uniform", "not uniform in the metric; see Manifold.unit_"),
        (Long(4), "unit_tangents_are_tangent", "unit_tangent must have norm 1; they differ by 1"),
        (
            Off(4),
            "projections_keep",
            "to_tangent must return tangent vectors, but its result is no",
        ),
        (Stretched(4), "coordinates_are", "coordinates must be orthonormal: inner"),
        (Ambient(3), "gradient_is_the", "must be the derivative of f along exp"),
        (Lopsided(4), "inner_is_an", "inner must be symmetric; they differ by"),
        (Arccosine(4), "tiny_steps", "1e-12 apart is wrong by .*: an arccosine, for one, loses"),
        (Apart(4), "dist_is_a_metric", r"dist\(x, x\) must be 0 to the last bit; .* by 1e-12"),
        (OneWay(4), "dist_is_a_metric", "dist must be symmetric"),
        (Linear(4), "curvature_is", "exp and log are not those of the geodesics of `inner`"),
        (Linear(4), "gradient_of_dist", "exp and log are not those of the geodesics of `inner`"),
        (
            Curved(4),
            "curvature_is",
            r"has sectional curvature between 1 and 1, which curvature = \(4.0, 4.0\)",
        ),
        (Endless(4), "geodesics_are_shortest", "state injectivity_radius if it is finite"),
        (Endless(4), "log_undoes_exp", r"must be v \(up to injectivity_radius"),
        (Short(4), "log_undoes_exp", r"log\(x, exp\(x, v\)\) must be v"),
        (Short(4), "dist_is_the_length", r"dist\(x, y\) must be the norm of log\(x, y\)"),
        (
            Shifted(4),
            "exp_of_zero",
            r"exp\(x, 0\) must be x to the last bit; they differ by 5.*e-09",
        ),
        (Backwards(4), "geodesic_agrees", r"the first of exp_pair\(x, v\) must be exp\(x, v\)"),
        (Projecting(4), "transport_preserves", r"must keep lengths \(a projection in place of"),
        (Standing(4), "transport_is_parallel", "transport_along over a short way is not parallel"),
        (Standing(4), "geodesic_goes_on", "must go on from its points"),
        (Writing(4), "inputs_are_not", "to_tangent writes to its arguments: "),
        (Summing(4), "leading_axes", "norm must take leading axes as independent problems"),
        (Keeping(4), "leading_axes", r"its result: shape \(2, 3, 1\), expected \(2, 3\)"),
        (Single(4), "leading_axes", r"log must take leading axes .* it raised cannot reshape"),
        (
            Hiding(4),
            "nan_stays",
            "dist with NaN in one problem .* must return NaN for that problem",
        ),
        (Double(4), "float32_stays", "dist of float32 returns float64 for batches"),
        (Drifting(4), "points_stay", "rounding errors add up, so exp should end with a correction"),
        (
            Credulous(4),
            "what_is_no_point",
            "check_point must refuse what is no point .*, and accep",
        ),
        (Nameless(4), "what_is_no_tangent", "message of check_tangent must name its argument, 'st"),
        (NumPyOnly(4), "torch_agrees", "dist must keep the type <class 'torch.Tensor'>, got"),
        (Incomplete(4), "geodesics_are_shortest", "where geodesics end, extent must say so"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Manifold) else None,
)
def test_each_fault_has_its_sentence(broken, test, sentence):
    supports = ("float32", "torch")
    if "torch" in test:
        pytest.importorskip("torch")
    (name,) = (n for n in dir(ManifoldContract) if n.startswith(f"test_{test}"))
    base = SPD(3) if isinstance(broken, SPD) else Sphere(4)
    getattr(contract(base, supports=supports), name)()  # the sound manifold passes
    with pytest.raises(AssertionError) as caught:
        getattr(contract(broken, supports=supports), name)()
    assert re.search(sentence, str(caught.value)), str(caught.value)


def test_an_unknown_claim_is_refused():
    with pytest.raises(AssertionError, match=r"supports of the test class names \['jax'\]"):
        contract(Sphere(3), supports=("jax",)).test_says_what_it_is()


@pytest.mark.parametrize(
    "name",
    [
        "float32_stays_float32",
        "torch_agrees_with_numpy",
        "torch_draws_the_same_numbers",
        "torch_gradients_are_derivatives",
        "torch_gradients_are_finite",
        "plain_arrays_agree_with_numpy",
    ],
)
def test_only_what_is_claimed_is_asked(name):
    with pytest.raises(SkipTest, match="does not claim"):
        getattr(contract(Sphere(3)), f"test_{name}")()


def test_equality_is_asked_only_of_those_that_define_it():
    class Plain(Sphere):
        __eq__ = object.__eq__
        __hash__ = object.__hash__

    with pytest.raises(SkipTest, match="defines no equality"):
        contract(Plain(3)).test_copies_are_equal()


def test_a_space_of_all_arrays_needs_no_hook():
    @dataclass(frozen=True)
    class Line(Manifold):
        dim, point_shape = 1, (1,)

        def inner(self, x, u, v):
            return u[..., 0] * v[..., 0]

        def exp(self, x, v):
            return x + v

        def log(self, x, y):
            return y - x

        def to_tangent(self, x, a):
            return a

        def to_manifold(self, a):
            return a

    tests = contract(Line())
    assert tests.not_a_point(np.ones(1)) is None
    tests.test_what_is_no_point_is_refused()
    assert contract(Sphere(3)).not_a_point(np.ones(3)) is not None


def test_a_manifold_without_exp_is_told_so():
    class Still(Manifold):
        dim, point_shape = 1, (1,)
        inner = log = to_tangent = to_manifold = None

    with pytest.raises(MissingOperationError, match=r"Still must define exp\(x, v\), or geodesic"):
        Still().exp(np.ones(1), np.ones(1))
