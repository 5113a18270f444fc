"""Every manifold of the package keeps the contract that users' manifolds are tested against."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from geoduel.manifolds.euclidean import Euclidean
from geoduel.manifolds.grassmann import Grassmann
from geoduel.manifolds.hyperbolic import Hyperbolic
from geoduel.manifolds.product import Power, Product
from geoduel.manifolds.rotations import Rotations
from geoduel.manifolds.simplex import Simplex
from geoduel.manifolds.spd import SPD
from geoduel.manifolds.sphere import Sphere
from geoduel.manifolds.stiefel import Stiefel
from geoduel.manifolds.torus import Torus
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

    def not_a_point(self, x):
        return None


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
    (FirstMirrored, Product(Sphere(3), SPD(2), Rotations(3))),
    (LastMirrored, Product(Rotations(2), Hyperbolic(2), weights=(4.0, 2.0))),
    (PowerContract, Power(Sphere(3), 2)),
]


def _class(base, manifold):
    words = "".join(c if c.isalnum() else "_" for c in repr(manifold)).strip("_")
    return type(f"Test_{words}", (base,), {"manifold": manifold, "__module__": __name__})


globals().update({new.__name__: new for new in (_class(*case) for case in CASES)})


@pytest.mark.slow
@pytest.mark.parametrize(("base", "manifold"), CASES, ids=[repr(m) for _, m in CASES])
def test_points_stay_on_the_manifold_for_long(base, manifold):
    contract = _class(base, manifold)()
    contract.steps = 100_000
    contract.test_points_stay_on_the_manifold()
