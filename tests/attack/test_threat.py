"""The set of images: on the sphere, within the pixels, and wide enough to tell apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

import geoduel as gd  # noqa: E402
from geoduel.attack import Threat, resolved_radius  # noqa: E402

SHAPE = (3, 6, 6)


@pytest.mark.parametrize("radius", [0.1, 1.0, 2.5])
def test_images_lie_on_the_sphere_and_in_the_box(radius):
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.uniform(0, 1, (50, *SHAPE)))
    threat = Threat(x, torch.full((50,), radius, dtype=torch.float64))
    p = gd.Sphere(*SHAPE).random_point(rng, (4, 50), x)
    images = threat.image(p)
    assert images.min() >= 0
    assert images.max() <= 1
    torch.testing.assert_close(
        (images - x).flatten(2).norm(dim=2), torch.full((4, 50), radius, dtype=torch.float64)
    )
    assert (((images - x) * p) >= 0).all()  # no pixel moves against the direction


def test_away_from_the_walls_the_image_is_the_plain_sum():
    x = torch.as_tensor(np.random.default_rng(1).uniform(0.4, 0.6, (5, *SHAPE)))
    p = gd.Sphere(*SHAPE).random_point(np.random.default_rng(2), (5,), x)
    radius = torch.linspace(0.1, 0.5, 5, dtype=torch.float64)
    expected = x + radius[:, None, None, None] * p
    torch.testing.assert_close(Threat(x, radius).image(p), expected, rtol=0, atol=1e-15)


def test_beyond_the_corner_the_image_is_the_corner(grey):
    p = torch.ones(1, *SHAPE, dtype=torch.float64) / math.sqrt(math.prod(SHAPE))
    image = Threat(grey(1, dtype=torch.float64), torch.tensor([100.0])).image(p)
    assert (image == 1).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_resolved_probes_are_no_ties(dtype):
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.uniform(0.1, 0.9, (20, *SHAPE)), dtype=torch.float32)
    threat = Threat(x, 0.05 * x.flatten(1).norm(dim=1))
    sphere = gd.Sphere(*SHAPE)
    p = sphere.random_point(rng, (20,), x)
    u = sphere.unit_tangent(rng, p)

    def pixels_that_differ(angle):
        a, b = (threat.image(sphere.exp(p, s * angle * u)).to(dtype) for s in (1, -1))
        return float((a != b).float().mean())

    least = resolved_radius(threat, dtype)
    assert pixels_that_differ(least) > 0.5
    if dtype == torch.bfloat16:  # in float32 the network's answers are what resolves less
        assert pixels_that_differ(0.02 * least) < 0.2
    assert 0 < resolved_radius(threat, torch.float32) < resolved_radius(threat, torch.bfloat16) < 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rays_bend_along_many_walls(dtype):
    """Most pixels at 0 or 1: a white page with ink."""
    rng = np.random.default_rng(3)
    x = torch.as_tensor(rng.choice([0.0, 1.0, 0.7], (6, 3, 16, 16), p=[0.3, 0.6, 0.1]), dtype=dtype)
    radius = torch.tensor([0.1, 0.5, 2.0, 6.0, 12.0, 15.0], dtype=dtype)
    p = gd.Sphere(3, 16, 16).random_point(rng, (4, 6), x)
    threat = Threat(x, radius)
    images = threat.image(p)
    assert images.dtype == dtype
    assert (threat.size(images) <= radius * (1 + 1e-5)).all()
    corner = torch.where(p > 0, 1 - x, x).flatten(2).norm(dim=2)
    expected = torch.minimum(radius.expand(4, 6), corner)
    tolerance = {"rtol": 1e-4, "atol": 0} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 0}
    torch.testing.assert_close(threat.size(images), expected, **tolerance)


@pytest.mark.parametrize("radius", [0.03, 0.3])
def test_in_the_largest_norm_every_pixel_is_at_the_radius_or_at_a_wall(radius):
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.uniform(0, 1, (20, *SHAPE)))
    threat = Threat(x, torch.full((20,), radius, dtype=torch.float64), norm="linf")
    p = gd.Sphere(*SHAPE).random_point(rng, (4, 20), x)
    images = threat.image(p)
    change = (images - x).abs()
    at_wall = (images == 0) | (images == 1)
    torch.testing.assert_close(change[~at_wall], torch.full_like(change, radius)[~at_wall])
    assert (change <= radius + 1e-15).all()
    assert (((images - x) * p) >= 0).all()
    assert torch.equal(threat.size(images), change.flatten(2).amax(2))
    torch.testing.assert_close(threat.size(images, "l2"), change.flatten(2).norm(dim=2))


def test_signs_pass_derivatives_on():
    x = torch.full((1, *SHAPE), 0.5, dtype=torch.float64)
    threat = Threat(x, torch.tensor([0.1], dtype=torch.float64), norm="linf")
    p = gd.Sphere(*SHAPE).random_point(0, (1,), x).requires_grad_()
    image = threat.image(p)
    assert torch.equal(image.detach(), threat.image(p.detach()))
    g = torch.randn(x.shape, dtype=x.dtype, generator=torch.Generator().manual_seed(0))
    (slope,) = torch.autograd.grad((image * g).sum(), p)
    torch.testing.assert_close(slope, 0.1 * math.sqrt(108) * g)


def test_probes_flip_some_signs():
    rng = np.random.default_rng(0)
    x = torch.full((50, *SHAPE), 0.5)
    threat = Threat(x, torch.full((50,), 0.1), norm="linf")
    sphere = gd.Sphere(*SHAPE)
    p = sphere.random_point(rng, (50,), x)
    u = sphere.unit_tangent(rng, p)
    least = resolved_radius(threat, x.dtype)
    probes = [threat.image(sphere.exp(p, s * least * u)) for s in (1, -1)]
    assert (probes[0] != probes[1]).flatten(1).any(1).all()
