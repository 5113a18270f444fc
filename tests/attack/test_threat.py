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
