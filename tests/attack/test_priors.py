"""Priors: which directions they draw, and how much of each."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

from geoduel.attack import Directions, ShapedSphere, attack, prior  # noqa: E402
from geoduel.errors import ArgumentError  # noqa: E402


def test_low_frequencies_are_a_subspace():
    x = torch.rand(2, 3, 16, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = prior("low-frequency", x, q=4)
    sphere = ShapedSphere(found)
    rng = np.random.default_rng(0)
    p = sphere.random_point(rng, (2,), x)
    u = sphere.unit_tangent(rng, p, (200,))
    assert torch.linalg.matrix_rank(u.flatten(2).flatten(0, 1), tol=1e-9) == 3 * 4 * 4
    torch.testing.assert_close(
        sphere.norm(p, u), torch.ones(200, 2, dtype=torch.float64), rtol=1e-12, atol=0
    )
    assert abs(sphere.inner(p, p, u)).max() < 1e-12
    cosine = torch.cos(torch.pi / 16 * (torch.arange(16).double() + 0.5) * 7)
    assert abs((u @ cosine).max()) < 1e-12  # nothing at the seventh frequency


def test_low_frequency_directions_are_isotropic_in_their_subspace():
    x = torch.zeros(1, 1, 8, 8, dtype=torch.float64)
    u = prior("low-frequency", x, q=2).draw(np.random.default_rng(0), (40_000, 1), x)
    covariance = torch.einsum("nahw,nakl->hwkl", u[:, 0], u[:, 0]) / len(u)
    eigenvalues = torch.linalg.eigvalsh(covariance.reshape(64, 64))
    assert (abs(eigenvalues[-4:] - 1) < 5 * math.sqrt(2 / 40_000)).all()
    assert (abs(eigenvalues[:-4]) < 1e-12).all()


@pytest.fixture
def edge():
    """A grey image, and one with an edge near the centre."""
    x = torch.full((2, 3, 32, 32), 0.5)
    x[1, :, 12:20, 12:20] = 1.0
    return x


@pytest.mark.parametrize(("name", "centred", "edged"), [("fitted", 5, 1.5), ("natural", 2, 1.2)])
def test_priors_that_know_pictures_follow_the_image(edge, name, centred, edged):
    u = prior(name, edge).draw(np.random.default_rng(0), (300, 2), edge)
    power = (u * u).mean((0, 2))
    assert power[:, 14:18, 14:18].mean() > centred * power[:, :4, :4].mean()
    assert power[1, 12, 14] > edged * power[0, 12, 14]
    kept = prior(name, edge).take(torch.tensor([1]))
    assert kept.mask.shape == (1, 1, 32, 32)


def test_the_fitted_prior_is_a_band_and_the_natural_one_falls(edge):
    fitted, natural = (prior(name, edge).weights for name in ("fitted", "natural"))
    assert fitted[0, 0, 0] < 0.1 * fitted[0, 0, 17]
    assert (natural.diff(dim=1) < 0).all()
    assert (natural.diff(dim=2) < 0).all()
    torch.testing.assert_close(2 * natural[1:] ** 2, natural[:1].expand(2, -1, -1) ** 2)


def test_pictures_of_a_basis_are_orthonormal(edge):
    found = replace(prior("natural", edge), mask=None)
    c = torch.zeros(7, 3, 32, 32)
    c[torch.arange(7), torch.arange(7) % 3, torch.arange(7), 5] = 1.0
    a = found.picture(c).flatten(1)
    torch.testing.assert_close(a @ a.T, torch.eye(7), atol=1e-5, rtol=0)


def test_directions_of_ones_own(linear, grey):
    only_red = Directions(torch.tensor([1.0, 0.0, 0.0])[:, None, None].expand(3, 6, 6), (3, 6, 6))
    x = grey()
    result = attack(linear(), x, radius=0.4, budget=50, rng=0, directions=only_red)
    moved = (result.images - x).abs().amax((0, 2, 3))
    assert moved[0] > 0.01
    assert (moved[1:] < 1e-6).all()


def test_all_directions_are_the_plain_sphere():
    assert prior("all", torch.zeros(1, 3, 4, 4)) is None


def test_a_subspace_too_small_to_turn_in_is_refused():
    with pytest.raises(ArgumentError, match="at least 3 directions"):
        prior("low-frequency", torch.zeros(1, 1, 4, 4), q=1)
