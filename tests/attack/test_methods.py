"""The methods of the attack: what each may see, and how it steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

import geoduel as gd  # noqa: E402
from geoduel.attack import ATTACKS, ZORGD, Averaging, Climb, Evolution, attack  # noqa: E402
from geoduel.attack.command import prepared  # noqa: E402
from geoduel.attack.methods import Slopes, Values, named  # noqa: E402
from geoduel.errors import ArgumentError  # noqa: E402


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


def test_methods_say_what_they_see():
    sees = {name: getattr(m, "sees", "comparisons") for name, (m, _) in ATTACKS.items()}
    assert sees["zo-rgd"] == "scores"
    assert sees["rgd"] == sees["pgd"] == "gradients"
    assert set(sees.values()) == {"comparisons", "scores", "gradients"}


@pytest.fixture
def start():
    """A sphere of images, two points of it, and a direction for each."""
    rng = np.random.default_rng(0)
    sphere = gd.Sphere(1, 3, 3)
    x = sphere.random_point(rng, (2,), torch.empty(0, dtype=torch.float64))
    return sphere, x, sphere.unit_tangent(rng, x)


def step(method, sphere, x, answer, seed=1):
    """The state after one iteration, its questions answered by a function."""
    rng = np.random.default_rng(seed)
    questions = method.step(sphere, method.start(sphere, x, rng), rng)
    question = next(questions)
    while True:
        try:
            question = questions.send(answer(question))
        except StopIteration as done:
            return done.value


def test_evolution_grows_after_a_success_and_shrinks_four_times_as_slowly(start):
    sphere, x, _ = start
    won = torch.tensor([1.0, -1.0], dtype=torch.float64)
    state = step(Evolution(0.5), sphere, x, lambda pair: won)
    torch.testing.assert_close(state.size, 0.5 * torch.exp(won.where(won > 0, won / 4) / 2))
    torch.testing.assert_close(sphere.dist(x, state.point), torch.tensor([0.5, 0.0]).double())


def test_zo_rgd_climbs_a_linear_score(start):
    sphere, x, a = start
    method = ZORGD(directions=2000, smoothing=1e-4, step_size=0.1)
    state = step(method, sphere, x, lambda ask: (ask.x * a).sum((-3, -2, -1)))
    assert isinstance(next(method.step(sphere, method.start(sphere, x, None), None)), Values)
    torch.testing.assert_close(sphere.dist(x, state.point), torch.full((2,), 0.1).double())
    cosine = (sphere.log(x, state.point) * a).sum((-3, -2, -1)) / 0.1
    assert (cosine > 0.99).all()


@pytest.mark.parametrize("along", ["geodesic", "pixels"])
def test_a_climb_follows_the_gradient(start, along):
    sphere, x, a = start
    method, _ = Climb(0.1, along).plan(sphere, x, iterations=None, budget=10)

    def answer(question):
        assert isinstance(question, Slopes)
        return a + 5 * x  # the part along x leads off the sphere

    moved = sphere.log(x, step(method, sphere, x, answer).point)
    cosine = (moved * a).sum((-3, -2, -1)) / moved.flatten(1).norm(dim=1)
    torch.testing.assert_close(cosine, torch.ones(2).double(), rtol=0, atol=1e-12)


def test_methods_by_name():
    assert named("auto") is named("learning") is ATTACKS["learning"]
    own = gd.RDNGD(0.1, radius=0.1)
    assert named(own) == (own, "natural")
    with pytest.raises(ArgumentError, match="method"):
        named("newton")
    with pytest.raises(ArgumentError, match="name or a method"):
        named(3)


def test_the_white_box_fools_at_least_as_many_as_a_black_box():
    pytest.importorskip("safetensors", reason="needs the extra attack")
    pytest.importorskip("sklearn", reason="needs the extra attack")
    network, pictures = prepared("digits", None, 40)
    fooled = {
        method: int(
            attack(
                network,
                pictures.images,
                pictures.labels,
                eps=0.14,
                method=method,
                budget=budget,
                rng=0,
            ).success.sum()
        )
        for method, budget in (("rgd", 50), ("auto", 150))
    }
    assert 0 < fooled["auto"] <= fooled["rgd"] < 40


def test_climbs_start_again(start):
    sphere, x, a = start
    rng = np.random.default_rng(0)
    method, _ = Climb(0.1, restarts=3).plan(sphere, x, iterations=None, budget=6)
    state, continued = method.start(sphere, x, rng), []
    for _ in range(6):
        questions = method.step(sphere, state, rng)
        continued.append(bool((next(questions).x == state.point).all()))
        with pytest.raises(StopIteration) as done:
            questions.send(a)
        state = done.value.value
    assert continued == [True, True, False, True, False, True]
    for wrong in ({"momentum": 1.0}, {"restarts": 0}):
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            Climb(**wrong)
