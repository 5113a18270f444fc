"""The attack: what it finds, what it counts, and that it never sees more than it says."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

from geoduel.attack import attack  # noqa: E402
from geoduel.errors import ArgumentError, OracleError, TiesWarning  # noqa: E402

DUELLING = ("auto", "averaging", "evolution", "rdngd")


def lengths(result, images):
    return (result.images - images).double().flatten(1).norm(dim=1)


@pytest.mark.parametrize("method", [*DUELLING, "zo-rgd", "rgd", "pgd"])
def test_every_method_crosses_a_plane(method, linear, grey):
    model, x = linear(), grey()
    result = attack(
        model,
        x,
        torch.zeros(3, dtype=torch.int64),
        radius=0.4,
        method=method,
        budget=3000,
        rng=0,
        directions="all",
    )
    assert result.success.all()
    assert result.stop_reason == "done"
    assert (model(result.images).argmax(1) == 1).all()
    torch.testing.assert_close(lengths(result, x), torch.full((3,), 0.4).double())
    assert (result.comparisons > 0).all() == (result.sees == "comparisons")
    assert model.seen - 3 == int(result.forward_passes.sum())


@pytest.mark.parametrize("method", DUELLING)
def test_nothing_is_claimed_where_the_plane_is_out_of_reach(method, linear, grey):
    x = grey()
    result = attack(linear(), x, radius=0.19, method=method, budget=60, rng=0)
    assert not result.success.any()
    assert result.stop_reason == "budget"
    assert (result.comparisons <= 60).all()
    torch.testing.assert_close(lengths(result, x), torch.full((3,), 0.19).double())


def test_the_best_image_comes_back_when_the_budget_ends(linear, grey):
    model, x = linear(), grey()
    result = attack(model, x, radius=0.19, budget=300, rng=0, directions="all")
    gained = (result.images - x).flatten(1) @ model.w.detach()
    assert (gained > 0.8 * 0.19).all()  # close to the best direction, though it cannot reach


@pytest.mark.parametrize("oracle", ["loss", "margin"])
def test_seeds_repeat_and_comparisons_ignore_the_scale(oracle, linear, grey):
    x = grey()
    runs = [attack(linear(), x, radius=0.4, budget=40, rng=s, oracle=oracle) for s in (0, 0, 1)]
    assert torch.equal(runs[0].images, runs[1].images)
    assert not torch.equal(runs[0].images, runs[2].images)
    if oracle == "margin":
        model = linear()

        def louder(z):
            return 100 * model(z)

        again = attack(louder, x, radius=0.4, budget=40, rng=0)
        assert torch.equal(runs[0].images, again.images)


def test_misclassified_images_return_at_once(linear, grey):
    model, x = linear(), grey()
    result = attack(
        model, x, torch.tensor([0, 1, 0]), radius=0.4, budget=300, rng=0, directions="all"
    )
    assert result.success.all()
    assert torch.equal(result.images[1], x[1])
    assert result.comparisons[1] == 0
    assert result.forward_passes[1] == 1
    everything = attack(model, x, torch.ones(3, dtype=torch.int64), budget=300)
    assert everything.stop_reason == "done"
    assert everything.iterations == 0


def test_finished_images_are_dropped(linear):
    """Images at different distances from the plane: the near ones cost the network nothing more."""
    model = linear(offset=0.0)
    w = model.w.detach().reshape(3, 6, 6)
    x = torch.stack([0.5 - d * w for d in (0.01, 0.3)])
    result = attack(model, x, radius=0.32, budget=900, rng=0, directions="all")
    assert result.comparisons[0] < 20
    assert result.comparisons[1] > 5 * result.comparisons[0]
    assert result.forward_passes[0] == 2 + 2 * result.comparisons[0]


def test_a_batch_counts_the_comparison_that_fooled(linear, grey):
    result = attack(linear(), grey(40), radius=0.4, method="rdngd", budget=400, rng=0)
    assert len(set((result.comparisons % 10).tolist())) > 3
    assert int(result.forward_passes.max()) <= 2 + 2 * 400


def test_targets(grey):
    class Quadrants(torch.nn.Module):
        def forward(self, z):
            left, right = z[..., :3].mean((1, 2, 3)), z[..., 3:].mean((1, 2, 3))
            return torch.stack([0.52 + 0 * left, left, right], 1)

    x = grey(2)
    aimed = attack(
        Quadrants(),
        x,
        targeted=torch.tensor([1, 2]),
        radius=0.5,
        budget=500,
        rng=0,
        directions="all",
    )
    assert aimed.success.all()
    assert Quadrants()(aimed.images).argmax(1).tolist() == [1, 2]
    assert attack(Quadrants(), x, targeted=0, budget=5).iterations == 0


def test_batches_eval_mode_and_history(linear, grey):
    model = linear()
    model.train()
    calls = []
    result = attack(
        model,
        grey(5),
        torch.zeros(5, dtype=torch.int64),
        radius=0.4,
        budget=300,
        batch_size=2,
        rng=0,
        directions="all",
        callback=lambda p: calls.append((p.iteration, model.training, p.done)) and False,
    )
    assert model.training
    assert model.largest == 2
    assert [c[0] for c in calls] == list(range(1, result.iterations + 1))
    assert not any(c[1] for c in calls)
    h = result.history
    assert h.success[0] == 0
    assert h.success[-1] == 1 == calls[-1][2] / 5
    assert all(a <= b for a, b in zip(h.score, h.score[1:], strict=False))
    assert h.forward_passes[-1] == int(result.forward_passes.sum())
    assert result.success_after(int(result.comparisons.max())) == 1
    blocks = attack(model, grey(), radius=0.4, method="zo-rgd-paper", budget=501 + 400, rng=0)
    assert blocks.history.success[-1] == float(blocks.success.float().mean())
    assert blocks.history.forward_passes[-1] == int(blocks.forward_passes.sum())
    stopped = attack(model, grey(), radius=0.1, budget=99, callback=lambda p: p.iteration == 3)
    assert stopped.stop_reason == "callback"
    assert stopped.iterations == 3


def test_double_precision_is_kept(linear, grey):
    x = grey(dtype=torch.float64)
    result = attack(linear(dtype=torch.float64), x, radius=0.4, budget=300, rng=0)
    assert result.images.dtype == torch.float64
    torch.testing.assert_close(
        lengths(result, x), torch.full((3,), 0.4, dtype=torch.float64), rtol=1e-12, atol=0
    )


# -- endings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        *({"method": method} for method in ("auto", "zo-rgd", "rgd")),
        *({"method": method, "smallest": True} for method in ("auto", "zo-rgd", "rgd")),
        {"method": "auto", "oracle": "label"},
    ],
)
def test_a_model_that_fails_takes_nothing_with_it(settings, linear, grey):
    class Failing(linear):
        def forward(self, images):
            if self.seen > 300:
                raise ConnectionError("lost")
            return super().forward(images)

    x = grey()
    x[1] += 0.3 * Failing().w.detach().reshape(x.shape[1:])  # fools as it is
    radius = torch.tensor([0.4, 0.4, 0.1])  # the last is out of reach
    settings = {"radius": radius, "rng": 0, "directions": "all"} | settings
    with pytest.raises(OracleError, match="lost") as caught:
        attack(Failing(), x, torch.zeros(3).long(), budget=10**6, **settings)
    found = caught.value.result
    assert found.stop_reason == "oracle error"
    assert found.forward_passes.sum() > 250
    assert found.iterations > 3
    assert torch.equal(linear()(found.images).argmax(1) == 1, found.success)
    assert (found.images != x).flatten(1).any(1).tolist() == [True, False, True]
    assert "`result`" in caught.value.__notes__[0]


def test_a_callback_that_says_neither_is_named(linear, grey):
    settings = {"budget": 30, "rng": 0, "radius": 0.1}
    with pytest.raises(ArgumentError, match="callback must return") as caught:
        attack(linear(), grey(), callback=lambda p: torch.ones(2), **settings)
    assert caught.value.result.iterations == 1
    assert attack(linear(), grey(), callback=lambda p: torch.ones(1), **settings).iterations == 1


def test_a_warning_made_an_error_has_the_result(grey):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TiesWarning) as caught:
            attack(lambda x: x.flatten(1)[:, :2] * 0, grey(), budget=30, rng=0, radius=0.1)
    assert caught.value.result.ties > 0


def test_labels_alone_tell_of_the_images_that_are_classified_right(linear, grey):
    """The others leave at the first look, and take their places with them."""
    x = grey()
    x[0] += 0.3 * linear().w.detach().reshape(x.shape[1:])
    labels = torch.zeros(3).long()
    found = attack(linear(), x, labels, oracle="label", smallest=True, budget=400, rng=0, radius=2)
    assert found.radii[0] == 0
    assert found.success.all()


# -- starts ----------------------------------------------------------------------------------------


class Bands(torch.nn.Module):
    """Three classes by how bright the picture is; the last is a band that random images miss."""

    def forward(self, images):
        mean = images.flatten(1).mean(1)
        return torch.stack([0 * mean, mean - 0.55, 20 * (mean - 0.8)], 1)


@pytest.mark.parametrize("method", ["auto", "averaging", "evolution"])
def test_targets_are_reached_from_labels_alone_by_a_start(method, grey):
    """Random directions brighten a picture of 108 pixels by too little."""
    x = grey(2)
    settings = {"targeted": 2, "oracle": "label", "smallest": True, "rng": 0, "method": method}
    lost = attack(Bands(), x, budget=60, **settings, directions="all")
    assert not lost.success.any()
    start = x + 0.4
    start[:, :, :3, :] = 0.92
    found = attack(Bands(), x, budget=400, start=start, **settings, directions="all")
    assert found.success.all()
    assert (Bands()(found.images).argmax(1) == 2).all()
    away = lengths(found, x)
    torch.testing.assert_close(away, found.radii.double(), rtol=1e-4, atol=0)
    nearest = (15.45 / 19 - 0.5) * 108**0.5  # the last two logits are alike there
    assert (away < (start - x).double().flatten(1).norm(dim=1)).all()
    assert (away >= nearest * (1 - 1e-6)).all()


def test_the_first_label_is_about_the_start_itself(grey):
    seen = []

    def model(images):
        seen.append(images)
        return Bands()(images)

    x = grey(2)
    start = x + torch.tensor([0.5, 0.45])[:, None, None, None]
    attack(model, x, targeted=2, oracle="label", smallest=True, budget=1, rng=0, start=start)
    assert len(seen) == 2  # after the look at the images
    torch.testing.assert_close(seen[1], start)


def test_margins_begin_at_a_start_too(linear, grey):
    model, x = linear(), grey()
    aside = torch.linspace(-0.005, 0.005, 108).reshape(x.shape[1:])  # or the first duel ties
    start = x + 0.3 * model.w.detach().reshape(x.shape[1:]) + aside
    found = attack(model, x, torch.zeros(3).long(), radius=0.21, budget=3, rng=0, start=start)
    assert found.success.all()  # 0.2 is the distance of the plane


def test_starts_that_are_none_are_refused(linear, grey):
    from geoduel.errors import ArgumentError

    x = grey()
    for start, what in (
        (x, r"start\[0\] is images\[0\] itself"),
        (x[:2], r"start has shape \(2, 3, 6, 6\)"),
        (x + 1, "start has pixels from 1.5"),
        (x.long(), "start must be a torch tensor"),
    ):
        with pytest.raises(ArgumentError, match=what):
            attack(linear(), x, radius=0.4, budget=3, start=start)


@pytest.mark.parametrize("frozen", [False, True])
def test_each_part_of_a_network_keeps_its_mode_and_none_is_in_train_mode(frozen, linear, grey):
    """Also the copy that dtype= makes; a user may have frozen a part alone, or thawed one alone."""
    modes = set()

    class Spy(torch.nn.Dropout):
        def forward(self, x):
            modes.add((self.training, x.dtype))
            return x

    model = torch.nn.Sequential(Spy(), linear())
    model.train(frozen)
    model[0].train(not frozen)
    attack(model, grey(2), eps=0.05, budget=20, dtype=torch.bfloat16, rng=0)
    assert modes == {(False, torch.float32), (False, torch.bfloat16)}
    assert [m.training for m in (model, *model)] == [frozen, not frozen, frozen]
