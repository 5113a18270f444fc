"""Manifolds of pymanopt, geoopt and geomstats, each where its package is installed."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from geoduel.manifolds.adapters import from_geomstats, from_geoopt, from_pymanopt


def pymanopt_manifold(name, *arguments, **options):
    return from_pymanopt(
        getattr(pytest.importorskip("pymanopt.manifolds"), name)(*arguments, **options)
    )


def geoopt_manifold(name, shape, **options):
    peer = getattr(pytest.importorskip("geoopt"), name)(**options)
    return from_geoopt(peer.double(), shape)


def geomstats_manifold(module, name, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        if not hasattr(np, "trapz"):  # NumPy 2.4 has dropped it, geomstats 2.8.0 imports it
            patch.setattr(np, "trapz", np.trapezoid, raising=False)
        pytest.importorskip("geomstats", exc_type=ImportError)
        space = getattr(importlib.import_module(f"geomstats.{module}"), name)
    return from_geomstats(space(*arguments))


PEERS = {
    "pymanopt sphere": lambda: pymanopt_manifold("Sphere", 4),
    "pymanopt SPD": lambda: pymanopt_manifold("SymmetricPositiveDefinite", 2),
    "pymanopt SPD^2": lambda: pymanopt_manifold("SymmetricPositiveDefinite", 2, k=2),
    "pymanopt SO": lambda: pymanopt_manifold("SpecialOrthogonalGroup", 3),
    "pymanopt Stiefel": lambda: pymanopt_manifold("Stiefel", 4, 2),
    "pymanopt Grassmann": lambda: pymanopt_manifold("Grassmann", 4, 2),
    "pymanopt Poincare": lambda: pymanopt_manifold("PoincareBall", 3),
    "pymanopt positive": lambda: pymanopt_manifold("Positive", 2, 2),
    "pymanopt symmetric": lambda: pymanopt_manifold("Symmetric", 3),
    "geoopt sphere": lambda: geoopt_manifold("Sphere", 4),
    "geoopt SPD": lambda: geoopt_manifold("SymmetricPositiveDefinite", (2, 2)),
    "geoopt Stiefel": lambda: geoopt_manifold("CanonicalStiefel", (4, 2)),
    "geoopt Poincare": lambda: geoopt_manifold("PoincareBall", 3),
    "geoopt Lorentz": lambda: geoopt_manifold("Lorentz", 4),
    "geoopt scaled": lambda: from_geoopt(
        pytest.importorskip("geoopt").Scaled(pytest.importorskip("geoopt").Sphere(), 2.0).double(),
        4,
    ),
    "geomstats sphere": lambda: geomstats_manifold("geometry.hypersphere", "Hypersphere", 3),
    "geomstats SPD": lambda: geomstats_manifold("geometry.spd_matrices", "SPDMatrices", 2),
    "geomstats SO": lambda: geomstats_manifold(
        "geometry.special_orthogonal", "SpecialOrthogonal", 3
    ),
    "geomstats Stiefel": lambda: geomstats_manifold("geometry.stiefel", "Stiefel", 4, 2),
    "geomstats Grassmann": lambda: geomstats_manifold(
        "geometry.grassmannian", "Grassmannian", 4, 2
    ),
    "geomstats hyperboloid": lambda: geomstats_manifold("geometry.hyperboloid", "Hyperboloid", 3),
}


@pytest.fixture(params=PEERS, scope="module")
def manifold(request):
    return PEERS[request.param]()


@pytest.fixture
def peers():
    """Manifolds of the packages by name, each made when it is called."""
    return PEERS


@pytest.fixture
def peer_of_pymanopt():
    return pymanopt_manifold


@pytest.fixture
def peer_of_geoopt():
    return geoopt_manifold


@pytest.fixture
def sample():
    """Function that draws points x, y and tangent vectors v, w at x of length 1/2."""
    return _sample


def _sample(manifold, seed, batch=()):
    """Points x, y and tangent vectors v, w at x of length 1/2, at random."""
    rng = np.random.default_rng(seed)
    x, y = manifold.random_point(rng, batch), manifold.random_point(rng, batch)
    return x, y, manifold.unit_tangent(rng, x) / 2, manifold.unit_tangent(rng, x) / 2
