"""What is remembered of the open images, and what the network is spared."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

import geoduel as gd  # noqa: E402
from geoduel.attack import Judge, Threat, attack  # noqa: E402
from geoduel.attack.open_images import OpenImages  # noqa: E402


def test_an_incumbent_is_evaluated_once(linear, grey):
    result = attack(linear(), grey(), radius=0.19, method="evolution", budget=100, rng=0)
    assert result.comparisons.tolist() == [100] * 3
    # The image itself and its label, the first incumbent, and one trial a comparison.
    assert result.forward_passes.tolist() == [103] * 3
    two = attack(
        linear(),
        grey(),
        radius=0.19,
        method=gd.RDNGD(0.1, radius=0.1),
        budget=100,
        rng=0,
        directions="all",
    )
    assert two.comparisons.tolist() == [100] * 3
    assert (two.forward_passes <= 3 + 3 * 50).all()  # a mirrored pair, and x_next against x̂


@pytest.fixture
def opened(linear, grey):
    """Three images 0.2 away from the plane, and the network that knows it."""
    model, x = linear(), grey()
    judge = Judge(model, torch.zeros(3, dtype=torch.int64), "margin")
    return OpenImages(Threat(x, torch.full((3,), 0.4)), judge), model


def towards(model, share):
    """Directions, a share of them towards the plane, for three images."""
    w = model.w.detach().reshape(3, 6, 6)
    u = torch.randn(w.shape, generator=torch.Generator().manual_seed(1), dtype=w.dtype)
    u -= (u * w).sum() * w
    return (share * w + (1 - share**2) ** 0.5 * u / u.norm()).expand(3, *w.shape).contiguous()


def test_scores_are_the_network_s_and_what_fools_is_kept(opened):
    images, model = opened
    far, near = towards(model, 0.1), towards(model, 0.9)
    near[2] = far[2]
    low, high = images.ask(far, near)
    for asked in (low, high):
        side = model(images.picture(asked.p))
        torch.testing.assert_close(asked.score, side[:, 1] - side[:, 0])
    assert high.fools.tolist() == images.success.tolist() == [True, True, False]
    torch.testing.assert_close(images.images[:2], images.picture(near)[:2])
    assert (images.images[2] == 0.5).all()
    torch.testing.assert_close(images.top, high.score)


def test_what_is_remembered_costs_no_pass(opened):
    images, model = opened
    x, y, z = (towards(model, share) for share in (0.1, 0.2, 0.3))
    images.ask(x, y)
    assert images.passes.tolist() == [2, 2, 2]
    again, _ = images.ask(y, z)
    assert images.passes.tolist() == [3, 3, 3]
    torch.testing.assert_close(again.score, images.ask(y)[0].score)
    mixed = y.clone()
    mixed[1] = towards(model, 0.05)[1]
    images.ask(mixed)  # one of three is new
    assert images.passes.tolist() == [3, 4, 3]
    assert model.seen == 10


def test_fooled_images_are_closed(opened):
    images, model = opened
    assert images.close_done() is None
    p = towards(model, 0.1)
    p[1] = towards(model, 0.9)[1]
    images.ask(p)
    assert images.close_done().tolist() == [0, 2]
    assert images.live.tolist() == [0, 2]
    assert len(images) == len(images.threat.x) == 2
    images.ask(p[[0, 2]])  # still remembered
    assert images.passes.tolist() == [1, 1, 1]


def test_slopes_are_those_of_the_scores(linear, grey):
    model, x = linear(dtype=torch.float64), grey(dtype=torch.float64)
    judge = Judge(model, torch.zeros(3, dtype=torch.int64), "loss", batch_size=2)
    images = OpenImages(Threat(x, torch.full((3,), 0.4, dtype=torch.float64)), judge)
    p, u = towards(model, 0.1), towards(model, 0.3) - towards(model, 0.2)
    g = images.slopes(p)
    assert images.passes.tolist() == [1, 1, 1]
    ahead, behind = (images.ask(p + s * 1e-4 * u)[0].score for s in (1, -1))
    slope = (ahead - behind) / 2e-4
    torch.testing.assert_close((g * u).sum((1, 2, 3)), slope.detach(), rtol=1e-6, atol=0)


def test_points_stacked_along_a_first_axis_are_asked_in_batches(opened):
    images, model = opened
    images.judge.batch_size = 7  # two points of three images fit
    p = torch.stack([towards(model, share) for share in (0.1, 0.2, 0.3, 0.4, 0.45)])
    (asked,) = images.ask(p)
    assert asked.score.shape == (5, 3)
    assert model.largest == 6
    assert images.passes.tolist() == [5, 5, 5]
    assert (asked.score.diff(dim=0) > 0).all()
