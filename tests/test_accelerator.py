"""Whole runs on an accelerator, or on the pretence of one: points stay where x0 is."""

from __future__ import annotations

import numpy as np
import pytest
from samples.sets import BALLS, POLYTOPES, ball_of, interval

import geoduel as gd
from geoduel.methods.named import METHODS
from geoduel.oracles import answers

torch = pytest.importorskip("torch")
from samples.accelerator import accelerator  # noqa: E402 - it needs torch

SPHERE = gd.Sphere(3)
FEW = {"ideal-point": 3, "ideal-direction": 3}  # duels, where each takes long
DOMAINS = {name: ball_of(name)[1] for name in BALLS} | POLYTOPES
DOMAINS |= {"interval": gd.SPDInterval(*interval(7, 3)), "line": gd.Interval(1e-3, 10.0, log=True)}


@pytest.fixture(autouse=True)
def device():
    with accelerator() as name:
        yield name


def height(x):
    return x[..., 0]


@pytest.mark.parametrize("name", METHODS)
def test_methods(name, device):
    """Three problems at once."""
    circle = name == "bisection"
    space = gd.Sphere(2) if circle else SPHERE
    start = space.random_point(np.random.default_rng(0), (3,))
    x0 = torch.tensor(start, device=device)
    domain = gd.Ball(SPHERE, x0[0], 0.5) if name == "rdfw" else None
    x0 = domain.project(x0) if domain else x0
    oracle = gd.from_objective(height, vectorized=True)
    budget = FEW.get(name, 20)
    result = gd.minimize(oracle, space, x0, method=name, domain=domain, budget=budget, rng=0)
    assert result.x.device == x0.device
    assert result.x.dtype == x0.dtype
    assert (height(result.x) <= height(x0)).all() or name in FEW or domain


@pytest.mark.parametrize("name", DOMAINS)
def test_domains(name, device):
    domain = DOMAINS[name]
    space, rng = domain.manifold, np.random.default_rng(0)
    y = space.random_point(rng, (3,))
    x = domain.project(y)
    h = space.unit_tangent(rng, x)
    there = [torch.tensor(a, device=device) for a in (x, h, y)]
    for got, here in (
        (domain.project(there[2]), x),
        (domain.linear_minimizer(*there[:2]), domain.linear_minimizer(x, h)),
        (domain.contains(there[2]), domain.contains(y)),
    ):
        assert got.device == there[0].device
        np.testing.assert_allclose(got.cpu().numpy(), here, atol=1e-7)


ORACLES = {
    "values": gd.from_objective(height),
    "many values": gd.from_objective(height, vectorized=True),
    "noisy": gd.Noisy(gd.from_objective(height), flip=0.2, rng=0),
    "repeated": gd.Repeated(gd.Noisy(gd.from_objective(height), flip=0.2, rng=0), 0.9),
    "shuffled": gd.Shuffled(gd.from_objective(height), rng=0),
}


@pytest.mark.parametrize("name", ORACLES)
def test_oracles(name, device):
    a = SPHERE.random_point(np.random.default_rng(0), (5,), torch.zeros(1, device=device))
    got = answers(ORACLES[name], a, -a, 1)
    assert got.device == a.device
    assert got.dtype == a.dtype
    assert set(got.cpu().tolist()) <= {-1.0, 0.0, 1.0}
