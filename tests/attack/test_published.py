"""The attacks as published: each step against its formula, and the oddities that were released."""

from __future__ import annotations

import math
from itertools import islice, pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

from geoduel.attack import published  # noqa: E402
from geoduel.attack.published import PUBLISHED, Victim  # noqa: E402
from geoduel.errors import ArgumentError  # noqa: E402

DOUBLE = torch.float64
MU = 1e-3  # probes that finite differences in double precision resolve well


@pytest.fixture
def victim(linear, grey):
    """A grey image and a linear network that its brightest direction fools."""

    def victim(eps=0.05, value=0.5, offset=-0.2, answer=None):
        network = linear(offset=offset, dtype=DOUBLE)
        with torch.no_grad():
            return Victim(network, grey(1, value, DOUBLE), 0, eps, answer)

    return victim


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.no_grad():
        yield


def loss_of(v, image):
    """Cross entropy of class 0, log(1 + exp(2 side)), and its gradient, written by hand."""
    w = v.network.w.reshape(v.image.shape[1:])
    side = float(((image - 0.5) * w).sum()) + v.network.offset
    return math.log1p(math.exp(2 * side)), 2 / (1 + math.exp(-2 * side)) * w[None]


def gaussian(seed, many, v):
    """The draws of a method, in its order."""
    return torch.as_tensor(np.random.default_rng(seed).standard_normal((many, *v.image.shape[1:])))


def on_sphere(v, e):
    return v.image + v.radius * e / e.norm()


def tangent(u, e):
    return u - (u * e).sum() / (e * e).sum() * e


def close(a, b, rtol=0.0, atol=1e-13):
    torch.testing.assert_close(a, b, rtol=rtol, atol=atol)


def test_losses_are_cross_entropies(victim):
    v = victim()
    look = v.look(v.image + 0.01)
    loss, gradient = loss_of(v, v.image + 0.01)
    assert look.loss == pytest.approx(loss, rel=1e-12)
    g, again = v.slope(v.image + 0.01)
    close(g, gradient)
    assert again.loss == pytest.approx(loss, rel=1e-12)
    assert not look.fooled
    assert v.look(v.image + 0.5 * v.network.w.reshape(v.image.shape)).fooled
    assert v.passes == 3


def test_pgd_adds_the_sign_and_stays_in_the_ball(victim):
    v = victim(eps=1e-3)
    first, second, *_, last = islice(published.pgd(v, None), 200)
    close(first.image, v.image)
    close(second.image, v.image + 1e-4 * torch.sign(loss_of(v, v.image)[1]))
    assert float((last.image - v.image).norm()) <= v.radius * (1 + 1e-12)
    close(last.image, on_sphere(v, torch.sign(v.network.w.reshape(v.image.shape))))


def test_rgd_climbs_on_the_sphere_through_pgds_result(victim):
    v = victim()
    before = victim()
    looks = list(islice(published.pgd(before, None), 151))
    end = next((look for look in looks if look.fooled), looks[-1])
    reached = float((end.image - v.image).norm())
    assert reached < v.radius  # 150 steps of 1e-4 do not get there
    first, second = islice(published.rgd(v, np.random.default_rng(3)), 2)
    assert v.radius == pytest.approx(reached, rel=1e-12)
    close(first.image, on_sphere(v, gaussian(3, 1, v)))
    e = first.image - v.image
    g = tangent(loss_of(v, first.image)[1], e)
    close(second.image, on_sphere(v, e + 2e-3 * g))


def test_zo_rgd_estimates_from_values(victim):
    v = victim()
    looks = published.zo_rgd(v, np.random.default_rng(0), smoothing=MU, samples=7, first_step=9.0)
    start, first, second = islice(looks, 3)  # one long step ends the walk
    close(start.image, v.image)
    assert [look.outwards for look in (start, first, second)] == [True, False, False]
    rng = np.random.default_rng(0)
    u = torch.as_tensor(rng.standard_normal((100, *v.image.shape[1:])))
    g = torch.zeros_like(v.image)
    for a in u:
        g = g + (loss_of(v, v.image + MU * a)[0] - start.loss) / MU * a / 100
    close(first.image, on_sphere(v, g), atol=1e-9)
    e = first.image - v.image
    g = torch.zeros_like(e)
    for a in torch.as_tensor(rng.standard_normal((7, *v.image.shape[1:]))):
        a = tangent(a, e)
        probe = on_sphere(v, e + MU * a)
        g = g + (loss_of(v, probe)[0] - first.loss) / MU * a / 7
    close(second.image, on_sphere(v, e + 1e-3 * g), atol=1e-10)
    assert v.passes == 1 + 100 + 1 + 7 + 1


def test_the_walk_of_zo_rgd_loses_its_way(victim):
    """From the second step on, the losses it subtracts are of two places: a random walk."""
    v = victim(eps=0.5)
    looks = [x for x in islice(published.zo_rgd(v, np.random.default_rng(1)), 60) if x.outwards]
    steps = torch.cat([b.image - a.image for a, b in pairwise(looks)])
    close(steps.flatten(1).norm(dim=1), torch.full((len(steps),), 0.1, dtype=DOUBLE))
    along = torch.cat([loss_of(v, v.image)[1]] * len(steps)).flatten(1)
    cosines = torch.cosine_similarity(steps.flatten(1), along)
    assert cosines[0] > 0.5  # 100 values in 108 dimensions
    d = along.shape[1]
    assert abs(float(cosines[1:].mean())) < 4 / math.sqrt(d * (len(cosines) - 1))


@pytest.mark.parametrize("method", ["zo-rgd", "rdngd-released"])
def test_no_answer_ends_the_walk(victim, method):
    v = victim(eps=0.5, offset=-1e-3)
    looks = []
    for look in islice(PUBLISHED[method][0](v, np.random.default_rng(0)), 600):
        looks.append(look)
        if look.fooled and not look.outwards:
            break
    assert any(look.fooled for look in looks if look.outwards)
    lengths = [float((look.image - v.image).norm()) for look in looks]
    outwards = sum(look.outwards for look in looks)
    assert max(lengths[:outwards]) <= v.radius
    assert lengths[outwards:] == pytest.approx([v.radius] * (len(looks) - outwards), rel=1e-12)


def test_released_rdngd_normalises_the_mean(victim):
    v = victim()
    looks = published.rdngd_released(v, np.random.default_rng(5), radius=MU, first_step=9.0)
    start, first, second = islice(looks, 3)
    rng = np.random.default_rng(5)
    h = torch.zeros_like(v.image)
    for a in torch.as_tensor(rng.standard_normal((10, *v.image.shape[1:]))):
        a = a[None] / a.norm()
        ahead, behind = (loss_of(v, v.image + s * MU * a)[0] for s in (1, -1))
        h = h + (1 if ahead > behind else -1) * a / 10
    close(first.image, on_sphere(v, h))
    e = first.image - v.image
    h = torch.zeros_like(e)
    for a in torch.as_tensor(rng.standard_normal((10, *v.image.shape[1:]))):
        a = tangent(a[None], e)
        a = a / a.norm()
        ahead, behind = (loss_of(v, on_sphere(v, e + s * MU * a))[0] for s in (1, -1))
        h = h + (1 if ahead > behind else -1) * a / 10
    close(second.image, on_sphere(v, e + 0.1 * h / h.norm()))
    assert start.outwards
    assert (v.duels, v.ties, v.passes) == (20, 0, 3 + 40)


def test_a_tie_answers_minus_one(victim):
    """Of a constant network the mean direction is that of the negative directions."""
    v = victim()
    v.network = lambda x: torch.zeros(len(x), 2, dtype=x.dtype)
    x = on_sphere(v, gaussian(7, 1, v))
    e = x - v.image
    h = published.slope_by_duels(v, np.random.default_rng(2), x)
    u = torch.cat([tangent(a[None], e) for a in gaussian(2, 10, v)])
    u = u / u.flatten(1).norm(dim=1)[:, None, None, None]
    close(h, -u.mean(0, keepdim=True))
    assert v.ties == v.duels == 10


def test_nothing_is_clipped(victim):
    v = victim(value=0.999)
    look = list(islice(published.rdngd_released(v, np.random.default_rng(0)), 30))[-1]
    assert float(look.image.max()) > 1
    assert float((look.image - v.image).norm()) == pytest.approx(v.radius, rel=1e-12)


def test_rdngd_of_the_text_does_not_normalise(victim):
    """Algorithm 1 with h̄: a step is η|h̄| long, on the geodesic along h̄."""
    v = victim()
    eta = 1e-2
    first, second = islice(
        published.rdngd_text(v, np.random.default_rng(4), radius=MU, step=eta), 2
    )
    e = first.image - v.image
    assert float(e.norm()) == pytest.approx(v.radius, rel=1e-12)
    moved = second.image - v.image
    angle = math.acos(float((moved * e).sum()) / v.radius**2)
    w = tangent(loss_of(v, first.image)[1], e)
    assert float((moved * w).sum()) > 0  # uphill
    length = angle * v.radius / eta
    assert 0.15 < length < 0.6  # |h̄| of ten directions, about 1/√10
    assert (v.duels, v.passes) == (10, 22)


def test_the_steps_of_the_text_move_nowhere(victim):
    v = victim()
    looks = list(islice(published.rdngd_text(v, np.random.default_rng(0)), 200))
    assert float((looks[-1].image - looks[0].image).norm()) <= 200 * 1e-6
    assert not looks[-1].fooled


@pytest.mark.parametrize(("lie", "fooled"), [("honest", True), ("reversed", False)])
def test_a_reversed_oracle_fools_nobody(victim, lie, fooled):
    v = victim(answer=None if lie == "honest" else lambda s: -s)
    looks = []
    for look in islice(published.rdngd_released(v, np.random.default_rng(0), radius=MU), 300):
        looks.append(look)
        if look.fooled and not look.outwards:
            break
    assert looks[-1].fooled is fooled
    assert (looks[-1].loss > looks[0].loss) is fooled


def test_many_images_go_through_the_network_in_parts(victim):
    v = victim()
    images = v.image + torch.linspace(0, 0.1, 250, dtype=DOUBLE)[:, None, None, None]
    loss, fooled = v.losses(images)
    assert v.network.largest == 100
    assert v.passes == 250
    assert loss.shape == fooled.shape == (250,)
    assert float(loss[-1]) == pytest.approx(loss_of(v, images[-1:])[0], rel=1e-12)


def test_an_image_at_a_time(linear, grey):
    with pytest.raises(ArgumentError, match="image has shape"):
        Victim(linear(), grey(2), 0)


def test_attacks_by_name():
    assert {name: (sees, most) for name, (_, sees, most) in PUBLISHED.items()} == {
        "pgd": ("gradients", 150),
        "rgd": ("gradients", 150),
        "zo-rgd": ("scores", 1000),
        "rdngd-released": ("comparisons", 1000),
        "rdngd-text": ("comparisons", 1000),
    }
