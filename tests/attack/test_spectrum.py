"""What duels tell of where gradients lie: against planted spectra, on linear scores."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

import geoduel as gd  # noqa: E402
from geoduel.attack import ATTACKS, Directions, Learning, ShapedSphere, prior  # noqa: E402
from geoduel.attack.spectrum import Spectrum, bands_of  # noqa: E402

SHAPE = (3, 12, 12)


def planted(n, centre, seed=0):
    """Linear scores whose energies lie in a band of grey cosines around ``centre``."""
    images = torch.full((n, *SHAPE), 0.5, dtype=torch.float64)
    directions = prior("natural", images)
    basis = Directions(directions.weights, SHAPE, directions.colour)  # without the mask
    f = torch.hypot(torch.arange(12.0)[:, None], torch.arange(12.0)).double()
    e = torch.stack([torch.exp(-0.5 * ((f - centre) / 1.5) ** 2), 0.02 + 0 * f, 0.02 + 0 * f])
    e = e / e.sum()
    rng = np.random.default_rng(seed)
    c = e.sqrt() * torch.as_tensor(rng.standard_normal((n, *SHAPE)))
    g = basis.picture(c)
    return basis, e, g / g.flatten(1).norm(dim=1)[:, None, None, None]


def played(method, sphere, g, duels, seed=0):
    """The state after so many duels about the linear scores <g, x>."""
    rng = np.random.default_rng(seed)
    state = method.start(sphere, sphere.random_point(rng, g.shape[:1], g), rng)
    for _ in range(duels):
        questions = method.step(sphere, state, rng)
        x, y = next(questions)
        with pytest.raises(StopIteration) as done:
            questions.send(torch.sign(((y - x) * g).sum((1, 2, 3))))
        state = done.value.value
    return state


def aligned(state, g):
    """Mean square of the cosine between points and gradients."""
    return float(((state.point * g).sum((1, 2, 3)) ** 2).mean())


def by_band(e, band):
    return torch.zeros(int(band.max()) + 1).double().index_add_(0, band.flatten(), e.flatten())


@pytest.mark.parametrize("centre", [2.0, 7.0])
def test_a_planted_spectrum_is_recovered(centre):
    basis, e, g = planted(40, centre)
    state = played(Learning(memory=1e6), ShapedSphere(basis), g, 250)
    found, band = state.spectrum.energy / state.spectrum.energy.sum(), bands_of(e)
    wanted, got, sizes = by_band(e, band), by_band(found, band), torch.bincount(band.flatten())
    # A mean over n images and m cosines, whose squares are known with a precision of k e.
    told = by_band(e * state.spectrum.asked, band) / sizes.clamp(min=1)
    error = wanted * torch.sqrt(2 / (40 * sizes)) * (1 + 1 / told)
    known = (sizes > 0) & (told > 1)
    assert known.sum() >= 3
    assert (abs(got - wanted) < 4 * error + 0.05 * wanted)[known].all()


@pytest.mark.parametrize("centre", [2.0, 4.0, 7.0])
def test_ahead_of_the_lowest_cosines_whatever_the_spectrum(centre):
    basis, _, g = planted(30, centre)
    averaging = ATTACKS["averaging"][0]
    low = ShapedSphere(prior("low-frequency", g, q=6))
    ours = aligned(played(Learning(), ShapedSphere(basis), g, 150), g)
    theirs = aligned(played(averaging, low, g, 150), g)
    unlearned = aligned(played(averaging, ShapedSphere(basis), g, 150), g)
    assert ours > 1.1 * theirs
    assert ours > 1.1 * unlearned


def test_one_image_learns_from_its_own_answers():
    basis, _, g = planted(1, 5.0)
    few, many = (aligned(played(Learning(), ShapedSphere(basis), g, k), g) for k in (30, 200))
    assert many > 0.4 > few
    again = played(Learning(), ShapedSphere(basis), g, 30)
    assert aligned(again, g) == few


def test_an_image_that_is_done_leaves_the_spectrum_to_the_others(linear, grey):
    """Also where there are as many images as colours, so that shapes tell nothing apart."""
    from geoduel.attack import attack

    network = linear()
    some = grey(3)
    some[0] += 0.02 * network.w.detach().reshape(some[0].shape).sign()  # close to the boundary
    result = attack(network, some, radius=0.5, budget=60, rng=0, labels=torch.zeros(3).long())
    assert int(result.comparisons[0]) < int(result.comparisons[1:].min())
    assert result.success.all()


def test_the_mean_is_what_bayes_says():
    """One number, seen once with a known noise."""
    e, k, t = 2.0, 3.0, 1.5
    spectrum = Spectrum(*(torch.full((1, 1, 1), v).double() for v in (e, e, k, k)))
    torch.testing.assert_close(
        spectrum.mean(torch.full((1, 1, 1), t).double()),
        torch.full((1, 1, 1), t / (1 / e + k)).double(),
    )
    torch.testing.assert_close(spectrum.left, torch.full((1, 1, 1), 1 / (1 / e + k)).double())


def test_bands_are_half_octaves_of_each_colour():
    band = bands_of(torch.zeros(3, 8, 8))
    assert band[0, 0, 0] == 0
    assert band[0, 3, 0] == band[0, 0, 3] == band[0, 2, 2] == 4  # log2(1 + f) is near 2
    assert len(set(band[:, 0, 0].tolist())) == 3


def test_ties_move_nothing():
    sphere = gd.Sphere(*SHAPE)
    rng = np.random.default_rng(0)
    x = sphere.random_point(rng, (2,), torch.zeros(0))
    questions = Learning().step(sphere, Learning().start(sphere, x, rng), rng)
    next(questions)
    with pytest.raises(StopIteration) as done:
        questions.send(torch.tensor([0.0, 1.0]))
    point = done.value.value.point
    assert torch.equal(point[0], x[0])
    assert not torch.equal(point[1], x[1])
