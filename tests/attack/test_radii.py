"""Radii that are looked for: duels from labels agree with the boundary, and radii follow it."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

import geoduel as gd  # noqa: E402
from geoduel.attack import Judge, LabelDuel, Threat, Tracker, attack  # noqa: E402
from geoduel.attack.open_images import OpenImages  # noqa: E402

SHAPE = (3, 6, 6)


def opened(model, x, radius=0.4, smallest=True):
    judge = Judge(model, torch.zeros(len(x), dtype=torch.int64), "label")
    return OpenImages(Threat(x, torch.full((len(x),), radius, dtype=x.dtype)), judge, smallest)


def aimed(model, shares, rng):
    """Directions with these parts along the normal of the plane, which is at 0.2 / share."""
    w = model.w.detach().reshape(SHAPE)
    v = gd.Sphere(*SHAPE).unit_tangent(rng, w.expand(len(shares), *SHAPE))
    c = torch.as_tensor(shares, dtype=w.dtype)[:, None, None, None]
    return c * w + torch.sqrt(1 - c * c) * v


@pytest.mark.parametrize("first_radius", [0.05, 0.4, 1.5])
def test_a_duel_from_labels_finds_whose_boundary_is_nearer(linear, first_radius):
    model, rng = linear(dtype=torch.float64), np.random.default_rng(0)
    x = torch.full((40, *SHAPE), 0.5, dtype=torch.float64)
    a, b = rng.uniform(0.2, 0.9, (2, 40))
    images = opened(model, x, first_radius)
    duel = LabelDuel(images, budget=1000, tolerance=1e-3, rounds=40)
    p, q = aimed(model, a, rng), aimed(model, b, rng)
    s = duel(p, q)
    assert model.seen == int(images.passes.sum())  # every label is counted
    further = np.abs(np.log(a / b)) > 3e-3
    assert further.sum() > 30
    assert (s.numpy()[further] == np.sign(b - a)[further]).all()
    assert set(s.tolist()) <= {-1.0, 0.0, 1.0}
    # What was kept fools, and is where it is said to be.
    assert (model(images.images).argmax(1) == 1)[images.radii.isfinite()].all()
    torch.testing.assert_close(
        images.threat.size(images.images),
        images.radii.where(images.radii.isfinite(), torch.zeros_like(images.radii)),
    )
    assert (images.radii >= torch.as_tensor(0.2 / np.maximum(a, b)) * (1 - 1e-9)).all()


def test_the_same_directions_are_a_tie_of_bounded_queries(linear):
    model = linear(dtype=torch.float64)
    x = torch.full((5, *SHAPE), 0.5, dtype=torch.float64)
    images = opened(model, x)
    p = aimed(model, [0.3, 0.5, 0.7, 0.9, -0.5], np.random.default_rng(0))
    duel = LabelDuel(images, budget=1000)
    assert (duel(p, p) == 0).all()
    assert int(images.passes.max()) <= 2 * duel.rounds


def test_no_label_is_asked_beyond_the_budget(linear):
    model, rng = linear(dtype=torch.float64), np.random.default_rng(0)
    x = torch.full((4, *SHAPE), 0.5, dtype=torch.float64)
    images = opened(model, x)
    duel = LabelDuel(images, budget=7)
    for _ in range(10):
        duel(*(aimed(model, rng.uniform(0.3, 0.9, 4), rng) for _ in range(2)))
        duel.close()
    assert (images.passes <= 7).all()
    assert (images.passes >= 6).all()
    assert images.done.all()


def test_radii_shrink_where_a_step_fooled_and_grow_elsewhere(linear):
    images = opened(linear(), torch.full((3, *SHAPE), 0.5))
    images.radii = torch.tensor([0.39, torch.inf, 0.41])
    Tracker(gain=0.2, least=0.1)(images, torch.tensor([0.5, torch.inf, 0.41]), 4)
    shorter, longer, capped = images.threat.radius.tolist()
    assert shorter == pytest.approx(0.39 * 0.9)  # 0.2 / sqrt(4), of the nearest that fooled
    assert 0.4 < longer < 0.4 * 1.01
    assert 0.4 < capped < 0.41  # nothing as large is of use


def test_a_step_that_fools_is_of_use_wherever_the_radius_has_grown_to(linear):
    """At the smallest radius that fooled, no picture is nearer, and the search would end."""
    images = opened(linear(), torch.full((1, *SHAPE), 0.5))
    images.radii = before = torch.tensor([0.41])
    for k in range(1, 200):
        Tracker()(images, before, k)
    assert 0.4 < float(images.threat.radius) < 0.41


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("oracle", ["margin", "label"])
def test_the_smallest_perturbation_is_sought(linear, norm, oracle):
    model, x = linear(dtype=torch.float64), torch.full((6, *SHAPE), 0.5, dtype=torch.float64)
    start = 0.6 if norm == "l2" else 0.08
    result = attack(
        model,
        x,
        torch.tensor([0, 0, 0, 0, 0, 1]),  # the last is misclassified as it is
        radius=start,
        norm=norm,
        smallest=True,
        oracle=oracle,
        budget=400,
        rng=0,
        directions="all",
    )
    assert result.success.all()
    assert model.seen == int(result.forward_passes.sum())
    assert result.radii[5] == 0
    assert torch.equal(result.images[5], x[5])
    assert (model(result.images[:5]).argmax(1) == 1).all()
    order = 2 if norm == "l2" else torch.inf
    size = torch.linalg.vector_norm((result.images - x).flatten(1), order, dim=1)
    torch.testing.assert_close(size, result.radii)
    w = model.w.detach()
    nearest = 0.2 if norm == "l2" else 0.2 / float(w.abs().sum())
    assert (result.radii[:5] >= nearest * (1 - 1e-9)).all()
    if oracle == "margin":  # labels may begin anywhere
        assert (result.radii[:5] <= start).all()
    # Along a random direction the plane is some √d ≈ 10 times as far as the nearest point.
    assert result.median_radius_after(10**6) < (2 if norm == "l2" else 3) * nearest
    after = [result.median_radius_after(n) for n in (50, 100, 200, 400)]
    assert after == sorted(after, reverse=True)
    torch.testing.assert_close(result.radii_after(10**6)[:5], result.radii[:5])
    if oracle == "label":
        assert result.sees == "labels"
        assert (result.forward_passes[:5] <= 401).all()
        assert (result.comparisons[:5] > 40).all()  # some four to seven labels a duel
    else:
        assert (result.comparisons[:5] == 400).all()


def test_labels_reach_a_given_radius(linear):
    model, x = linear(), torch.full((4, *SHAPE), 0.5)
    settings = {"oracle": "label", "rng": 0, "directions": "all"}

    def classes(z):
        return model(z).argmax(1)

    result = attack(classes, x, radius=0.4, budget=900, **settings)
    assert result.success.all()
    assert result.stop_reason == "done"
    assert (classes(result.images) == 1).all()
    assert ((result.images - x).flatten(1).norm(dim=1) <= 0.4001).all()
    failed = attack(classes, x, radius=0.19, budget=100, method="evolution", **settings)
    assert not failed.success.any()
    assert failed.stop_reason == "budget"
    assert (failed.forward_passes <= 102).all()
    torch.testing.assert_close((failed.images - x).flatten(1).norm(dim=1), torch.full((4,), 0.19))
    batches = attack(model, x, radius=0.4, budget=300, method="rdngd", **settings)
    assert (batches.forward_passes <= 302).all()


@pytest.mark.parametrize("method", ["evolution", "zo-rgd", "rgd"])
def test_every_kind_of_method_seeks_the_smallest(linear, method):
    model, x = linear(), torch.full((3, *SHAPE), 0.5)
    budget = 60 if method == "rgd" else 800
    settings = {"smallest": True, "directions": "all", "rng": 0, "method": method}
    result = attack(model, x, radius=0.5, budget=budget, **settings)
    assert result.success.all()
    assert (model(result.images).argmax(1) == 1).all()
    assert (result.radii < 0.5).all()
