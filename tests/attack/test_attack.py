"""The attack: what it keeps, what it counts, and that it never sees more than it says."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

import geoduel as gd  # noqa: E402
from geoduel.attack import (  # noqa: E402
    METHODS,
    Averaging,
    Directions,
    Judge,
    Remote,
    ShapedSphere,
    Threat,
    attack,
    prior,
    resolved_radius,
)
from geoduel.errors import (  # noqa: E402
    ArgumentError,
    OracleError,
    RadiusWarning,
    TiesWarning,
)

SHAPE = (3, 6, 6)
DUELLING = ("auto", "averaging", "evolution", "rdngd")


class Linear(torch.nn.Module):
    """Two classes apart by a plane through 0.5: how far an image must move is known exactly."""

    def __init__(self, seed=0, offset=-0.2, dtype=torch.float32):
        super().__init__()
        g = torch.Generator().manual_seed(seed)
        w = torch.randn(math.prod(SHAPE), generator=g, dtype=torch.float64)
        self.w = torch.nn.Parameter((w / w.norm()).to(dtype))
        self.offset = offset
        self.seen = 0
        self.largest = 0

    def forward(self, images):
        self.seen += len(images)
        self.largest = max(self.largest, len(images))
        side = (images - 0.5).flatten(1) @ self.w + self.offset
        return torch.stack([-side, side], 1)


def grey(n=3, value=0.5, dtype=torch.float32):
    return torch.full((n, *SHAPE), value, dtype=dtype)


def lengths(result, images):
    return (result.images - images).double().flatten(1).norm(dim=1)


# -- the set ---------------------------------------------------------------------------------------


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


def test_beyond_the_corner_the_image_is_the_corner():
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


# -- attacks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*DUELLING, "zo-rgd", "rgd", "pgd"])
def test_every_method_crosses_a_plane(method):
    model, x = Linear(), grey()
    result = attack(
        model, x, torch.zeros(3, dtype=torch.int64), radius=0.4, method=method, budget=3000, rng=0,
        directions="all",
    )  # fmt: skip
    assert result.success.all()
    assert result.stop_reason == "done"
    assert (model(result.images).argmax(1) == 1).all()
    torch.testing.assert_close(lengths(result, x), torch.full((3,), 0.4).double())
    assert (result.comparisons > 0).all() == (result.sees == "comparisons")
    assert model.seen - 3 == int(result.forward_passes.sum())


@pytest.mark.parametrize("method", DUELLING)
def test_nothing_is_claimed_where_the_plane_is_out_of_reach(method):
    x = grey()
    result = attack(Linear(), x, radius=0.19, method=method, budget=60, rng=0)
    assert not result.success.any()
    assert result.stop_reason == "budget"
    assert (result.comparisons <= 60).all()
    torch.testing.assert_close(lengths(result, x), torch.full((3,), 0.19).double())


def test_the_best_image_comes_back_when_the_budget_ends():
    model, x = Linear(), grey()
    result = attack(model, x, radius=0.19, budget=300, rng=0, directions="all")
    gained = (result.images - x).flatten(1) @ model.w.detach()
    assert (gained > 0.8 * 0.19).all()  # close to the best direction, though it cannot reach


@pytest.mark.parametrize("oracle", ["loss", "margin"])
def test_seeds_repeat_and_comparisons_ignore_the_scale(oracle):
    x = grey()
    runs = [attack(Linear(), x, radius=0.4, budget=40, rng=s, oracle=oracle) for s in (0, 0, 1)]
    assert torch.equal(runs[0].images, runs[1].images)
    assert not torch.equal(runs[0].images, runs[2].images)
    if oracle == "margin":
        model = Linear()

        def louder(z):
            return 100 * model(z)

        again = attack(louder, x, radius=0.4, budget=40, rng=0)
        assert torch.equal(runs[0].images, again.images)


def test_misclassified_images_return_at_once():
    model, x = Linear(), grey()
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


def test_finished_images_are_dropped():
    """Images at different distances from the plane: the near ones cost the network nothing more."""
    model = Linear(offset=0.0)
    w = model.w.detach().reshape(SHAPE)
    x = torch.stack([0.5 - d * w for d in (0.01, 0.3)])
    result = attack(model, x, radius=0.32, budget=900, rng=0, directions="all")
    assert result.comparisons[0] < 20
    assert result.comparisons[1] > 5 * result.comparisons[0]
    assert result.forward_passes[0] == 2 + 2 * result.comparisons[0]


def test_an_incumbent_is_evaluated_once():
    result = attack(Linear(), grey(), radius=0.19, method="evolution", budget=100, rng=0)
    assert result.comparisons.tolist() == [100] * 3
    # The image itself and its label, the first incumbent, and one trial a comparison.
    assert result.forward_passes.tolist() == [103] * 3
    two = attack(
        Linear(), grey(), radius=0.19, method=gd.RDNGD(0.1, radius=0.1), budget=100, rng=0,
        directions="all",
    )  # fmt: skip
    assert two.comparisons.tolist() == [100] * 3
    assert (two.forward_passes <= 3 + 3 * 50).all()  # a mirrored pair, and x_next against x̂


def test_a_batch_counts_the_comparison_that_fooled():
    result = attack(Linear(), grey(40), radius=0.4, method="rdngd", budget=400, rng=0)
    assert len(set((result.comparisons % 10).tolist())) > 3
    assert int(result.forward_passes.max()) <= 2 + 2 * 400


def test_targets():
    class Quadrants(torch.nn.Module):
        def forward(self, z):
            left, right = z[..., :3].mean((1, 2, 3)), z[..., 3:].mean((1, 2, 3))
            return torch.stack([0.52 + 0 * left, left, right], 1)

    x = grey(2)
    aimed = attack(
        Quadrants(), x, targeted=torch.tensor([1, 2]), radius=0.5, budget=500, rng=0,
        directions="all",
    )  # fmt: skip
    assert aimed.success.all()
    assert Quadrants()(aimed.images).argmax(1).tolist() == [1, 2]
    assert attack(Quadrants(), x, targeted=0, budget=5).iterations == 0


def test_batches_eval_mode_and_history():
    model = Linear()
    model.train()
    calls = []
    result = attack(
        model, grey(5), torch.zeros(5, dtype=torch.int64), radius=0.4, budget=300, batch_size=2,
        rng=0, directions="all",
        callback=lambda p: calls.append((p.iteration, model.training, p.done)) and False,
    )  # fmt: skip
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
    blocks = attack(model, grey(), radius=0.4, method="zo-rgd", budget=501 + 400, rng=0)
    assert blocks.history.success[-1] == float(blocks.success.float().mean())
    assert blocks.history.forward_passes[-1] == int(blocks.forward_passes.sum())
    stopped = attack(model, grey(), radius=0.1, budget=99, callback=lambda p: p.iteration == 3)
    assert stopped.stop_reason == "callback"
    assert stopped.iterations == 3


def test_half_precision_is_checked_by_the_network_itself():
    x = grey()
    settings = {"budget": 300, "rng": 0, "directions": "all"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiesWarning)  # this network's margins are small numbers
        result = attack(Linear(), x, radius=0.5, dtype=torch.bfloat16, **settings)
        close = attack(Linear(), x, radius=0.1999, dtype=torch.bfloat16, **settings)
        half = attack(Linear(dtype=torch.bfloat16), x.bfloat16(), radius=0.5, **settings)
    assert result.success.all()
    assert (Linear()(result.images).argmax(1) == 1).all()
    assert not close.success.any()  # rounding alone would carry images over
    assert half.images.dtype == torch.bfloat16
    assert half.success.all()


def test_narrow_probes_are_widened_and_published_ones_are_not():
    narrow = gd.RDNGD(0.1, radius=1e-9, batch=4, returns="last")
    with pytest.warns(RadiusWarning, match="radius=1e-09"):
        result = attack(Linear(), grey(), radius=0.19, method=narrow, budget=40, rng=0)
    assert result.ties == 0
    with pytest.warns(TiesWarning):
        stalls = attack(Linear(), grey(), radius=0.19, method="rdngd-released", budget=40, rng=0)
    assert stalls.ties >= 12


def test_double_precision_is_kept():
    x = grey(dtype=torch.float64)
    result = attack(Linear(dtype=torch.float64), x, radius=0.4, budget=300, rng=0)
    assert result.images.dtype == torch.float64
    torch.testing.assert_close(
        lengths(result, x), torch.full((3,), 0.4, dtype=torch.float64), rtol=1e-12, atol=0
    )


# -- directions ------------------------------------------------------------------------------------


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


def test_natural_directions_follow_the_image():
    x = torch.full((2, 3, 32, 32), 0.5)
    x[1, :, 12:20, 12:20] = 1.0  # an edge near the centre
    u = prior("natural", x).draw(np.random.default_rng(0), (300, 2), x)
    power = (u * u).mean((0, 2))
    assert power[:, 14:18, 14:18].mean() > 5 * power[:, :4, :4].mean()
    assert power[1, 12, 14] > 1.5 * power[0, 12, 14]
    grey_part = u.mean(2)
    assert abs(torch.fft.fft2(grey_part)[..., 0, 0]).mean() < abs(torch.fft.fft2(grey_part)).mean()
    kept = prior("natural", x).take(torch.tensor([1]))
    assert kept.mask.shape == (1, 1, 32, 32)


def test_directions_of_ones_own():
    only_red = Directions(torch.tensor([1.0, 0.0, 0.0])[:, None, None].expand(3, 6, 6), SHAPE)
    x = grey()
    result = attack(Linear(), x, radius=0.4, budget=50, rng=0, directions=only_red)
    moved = (result.images - x).abs().amax((0, 2, 3))
    assert moved[0] > 0.01
    assert (moved[1:] < 1e-6).all()


def test_averaging_is_a_mean():
    """On a linear score the iterate is the normalised sum of the winning directions."""
    rng = np.random.default_rng(0)
    sphere = gd.Sphere(50)
    x = total = sphere.random_point(rng)
    eta = Averaging(1e-9)
    for k in range(20):
        u = sphere.unit_tangent(rng, x)
        total = total + np.linalg.norm(total) / math.sqrt(k + 1) * u
        x = sphere.exp(x, eta(k) * u)
        np.testing.assert_allclose(x, total / np.linalg.norm(total), atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(total), math.sqrt(21), rtol=1e-12)


# -- oracles of one's own --------------------------------------------------------------------------


class Server:
    """A remote interface that counts, and fails now and then."""

    def __init__(self, model, fail=()):
        self.model, self.fail, self.calls, self.pairs = model, set(fail), 0, 0

    def __call__(self, a, b):
        self.calls += 1
        if self.calls in self.fail:
            raise ConnectionError("try again")
        self.pairs += len(a)
        margin = [self.model(z)[:, 1] - self.model(z)[:, 0] for z in (a, b)]
        return torch.sign(margin[1] - margin[0])


def run(server, model=None, budget=60, **settings):
    remote = Remote(server, wait=0, **settings)
    result = attack(model, grey(), radius=0.4, budget=budget, rng=0, oracle=remote)
    return result, remote


def test_a_remote_oracle_is_followed_like_the_network():
    own = attack(Linear(), grey(), radius=0.19, budget=60, rng=0)
    far = attack(None, grey(), radius=0.19, budget=60, rng=0, oracle=Server(Linear()))
    assert torch.equal(own.images, far.images)
    assert not far.success.any()  # nobody said
    assert far.forward_passes.sum() == 0
    seen = attack(Linear(), grey(), radius=0.6, budget=200, rng=0, oracle=Server(Linear()))
    assert seen.success.all()


def test_remote_batches_and_retries():
    server = Server(Linear(), fail=[2, 3])
    result, remote = run(server, batch_size=2)
    assert result.stop_reason == "budget"
    assert remote.sent == server.pairs == 180
    assert server.calls == 2 * 60 + 2
    with pytest.raises(OracleError, match="ConnectionError"):
        run(Server(Linear(), fail=range(1, 9)), retries=2)


def test_the_remote_budget_is_hard():
    server = Server(Linear())
    result, _ = run(server, budget=100)
    assert server.pairs == 300
    server = Server(Linear())
    remote = Remote(server, budget=100)
    result = attack(None, grey(), radius=0.4, budget=100, rng=0, oracle=remote)
    assert result.stop_reason == "budget"
    assert server.pairs <= 100


def test_a_log_resumes(tmp_path):
    log = tmp_path / "answers.jsonl"
    whole, _ = run(Server(Linear()), log=tmp_path / "other.jsonl")
    with pytest.raises(OracleError):
        run(Server(Linear(), fail=range(30, 99)), retries=0, log=log)
    with log.open("a") as file:
        file.write('{"pair": "cut o')  # the process died in the middle of a line
    rest = Server(Linear())
    resumed, remote = run(rest, log=log)
    assert torch.equal(resumed.images, whole.images)
    assert rest.pairs == 180 - 29 * 3
    assert remote.sent == 180
    again = Server(Linear())
    run(again, log=log)
    assert again.pairs == 0
    log.write_text("no json\n")
    with pytest.raises(ArgumentError, match="line 1"):
        Remote(Server(Linear()), log=log)


def test_remote_is_told_which_image():
    told = []

    def compare(images_a, images_b, index):
        told.extend(index.tolist())
        return torch.ones(len(images_a))

    attack(None, grey(), radius=0.1, budget=2, rng=0, oracle=compare)
    assert told == [0, 1, 2, 0, 1, 2]


def test_wrong_answers_are_refused():
    for answer in (lambda a, b: torch.full((len(a),), 0.5), lambda a, b: 1, lambda a, b: None):
        with pytest.raises(OracleError):
            attack(None, grey(), radius=0.1, budget=2, oracle=Remote(answer, retries=0))
    with pytest.raises(OracleError, match="logits"):
        attack(lambda z: z, grey(), radius=0.1, budget=2)
    with pytest.raises(OracleError, match="ZeroDivisionError"):
        attack(lambda z: 1 / 0, grey(), radius=0.1, budget=2)
    with pytest.raises(OracleError, match="finite"):
        attack(lambda z: torch.full((len(z), 2), torch.nan), grey(), radius=0.1, budget=2)


def test_the_loss_is_the_cross_entropy():
    logits = torch.tensor([[2.0, -1.0, 0.5], [100.0, 0.0, -50.0]], dtype=torch.float64)
    labels = torch.tensor([2, 0])
    judge = Judge(lambda z: logits, labels, "loss")
    score, fools = judge.judge(torch.zeros(2, 1, 2, 2), torch.arange(2))
    torch.testing.assert_close(
        score, torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    )
    assert score[1] > 0  # e^-100, which the usual formula rounds away
    assert fools.tolist() == [True, False]


# -- arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"images": grey()[0]}, "shape"),
        ({"images": torch.zeros(1, *SHAPE)}, "zero everywhere"),
        ({"images": torch.zeros(1, *SHAPE, dtype=torch.uint8)}, "floating"),
        ({"images": grey(value=3.0)}, "within clip"),
        ({"images": grey(value=math.nan)}, "within clip"),
        ({"labels": torch.zeros(2, dtype=torch.int64)}, "labels"),
        ({"labels": torch.zeros(3)}, "labels"),
        ({"labels": torch.full((3,), -1)}, "labels"),
        ({"labels": torch.full((3,), 2)}, "labels must be below"),
        ({"eps": -1.0}, "eps"),
        ({"radius": torch.tensor([1.0, 0.0, 1.0])}, "radius"),
        ({"budget": 0}, "budget"),
        ({"budget": 2.5}, "budget"),
        ({"method": "newton"}, "method"),
        ({"oracle": "entropy"}, "oracle"),
        ({"clip": (1, 0)}, "clip"),
        ({"directions": "high"}, "directions"),
        ({"model": None}, "model"),
        ({"model": "vgg"}, "model"),
        ({"dtype": torch.bfloat16, "model": lambda z: z}, "dtype"),
        ({"rng": -1}, "rng"),
        ({"method": "rgd", "oracle": lambda a, b: 0}, "gradients"),
    ],
)
def test_bad_arguments_are_named(change, words):
    good = {"model": Linear(), "images": grey(), "labels": torch.zeros(3, dtype=torch.int64)}
    arguments = {"budget": 5, **good, **change}
    with pytest.raises(ArgumentError, match=words):
        attack(**arguments)


def test_methods_say_what_they_see():
    sees = {name: getattr(m, "sees", "comparisons") for name, (m, _) in METHODS.items()}
    assert sees["zo-rgd"] == "scores"
    assert sees["rgd"] == sees["pgd"] == "gradients"
    assert set(sees.values()) == {"comparisons", "scores", "gradients"}


def test_no_torch_no_attack(monkeypatch):
    import importlib
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "geoduel.attack._torch", raising=False)
    with pytest.raises(gd.errors.MissingExtraError, match="attack"):
        importlib.import_module("geoduel.attack._torch")


def test_the_import_is_light():
    import subprocess
    import sys

    code = "import sys, geoduel.attack; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
