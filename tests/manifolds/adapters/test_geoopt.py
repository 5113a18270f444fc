"""What is geoopt's own: shapes, powers and products, and gradients."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel.errors import ArgumentError
from geoduel.manifolds.adapters import from_geoopt
from geoduel.manifolds.euclidean import Euclidean
from geoduel.manifolds.product import Power, Product
from geoduel.manifolds.sphere import Sphere


def test_geoopt_axes_in_front_make_a_power(sample, peer_of_geoopt):
    power = peer_of_geoopt("Sphere", (3, 4))
    assert isinstance(power, Power)
    x, y, _, _ = sample(Power(Sphere(4), 3), 14)
    assert power.dist(x, y) == pytest.approx(Power(Sphere(4), 3).dist(x, y), rel=1e-9)
    assert peer_of_geoopt("Euclidean", (2, 3)) == Euclidean(2, 3)


def test_geoopt_products_know_their_shape(sample):
    geoopt = pytest.importorskip("geoopt")
    product = from_geoopt(geoopt.ProductManifold((geoopt.Sphere(), 3), (geoopt.Euclidean(1), 2)))
    own = Product(Sphere(3), Euclidean(2))
    assert (product.dim, product.point_shape) == (own.dim, own.point_shape)
    x, y, v, _ = sample(own, 15, (2,))
    np.testing.assert_allclose(product.dist(x, y), own.dist(x, y), rtol=1e-6)
    np.testing.assert_allclose(product.exp(x, v), own.exp(x, v), atol=1e-12)


def test_geoopt_canonical_stiefel_projects(peers, sample):
    """Its own `proju` doubles the part of a tangent vector along x."""
    manifold = peers["geoopt Stiefel"]()
    x, _, v, _ = sample(manifold, 16)
    np.testing.assert_allclose(manifold.to_tangent(x, v), v, atol=1e-13)


def test_gradients_flow_through_geoopt(peers, sample):
    torch = pytest.importorskip("torch")
    manifold = peers["geoopt sphere"]()
    x, _, v, _ = (torch.as_tensor(a) for a in sample(Sphere(4), 18))
    v.requires_grad_()
    manifold.exp(x, v)[0].backward()
    expected = torch.func.grad(lambda v: Sphere(4).exp(x, v)[0])(v.detach())
    torch.testing.assert_close(v.grad, expected)


def test_geoopt_needs_a_shape_that_fits(peer_of_geoopt):
    with pytest.raises(ArgumentError, match="shape is missing: Sphere manifold of geoopt"):
        peer_of_geoopt("Sphere", None)
    with pytest.raises(ArgumentError, match=r"shape must have 2 axes .* got \(3,\)"):
        peer_of_geoopt("EuclideanStiefel", 3)
    with pytest.raises(ArgumentError, match=r"shape\[0\] must be an integer >= 1"):
        peer_of_geoopt("Sphere", (0,))
    with pytest.raises(ArgumentError, match="must be arrays of real numbers"):
        peer_of_geoopt("UpperHalf", (2, 2))
