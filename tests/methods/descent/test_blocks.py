"""Blocks of many problems: each asks the duels it would ask alone, up to rounding.

Runs of whole problems are in `tests/methods/test_lock_step.py`.
"""

import numpy as np
import pytest
from samples.together import runs

import geoduel as gd
from geoduel.methods.descent import stacks as module
from geoduel.methods.descent.duel_newton import NewtonState

RNG = np.random.default_rng


def agree(together, alone, eps):
    for many, one in zip(together, alone, strict=True):
        assert isinstance(many, NewtonState)
        np.testing.assert_allclose(many.point, one.point, rtol=eps, atol=eps)
        np.testing.assert_allclose(many.best, one.best, rtol=eps, atol=eps)
        np.testing.assert_allclose(many.scale, one.scale, rtol=eps)
        np.testing.assert_allclose(many.metric, one.metric, rtol=eps, atol=eps)
        np.testing.assert_allclose(many.path, one.path, rtol=eps, atol=eps)
        np.testing.assert_allclose(many.to_mean, one.to_mean, rtol=eps, atol=eps)
        np.testing.assert_array_equal(many.window.answers, one.window.answers)
        assert len(many.memory.centres) == len(one.memory.centres)
        assert many.answering.total == one.answering.total
        assert (many.ties.many, many.stop, many.refuted) == (one.ties.many, one.stop, one.refuted)


@pytest.mark.parametrize(
    "manifold",
    [gd.Euclidean(2), gd.Euclidean(7), gd.Sphere(4), gd.SPD(2), gd.Rotations(3), gd.Hyperbolic(2)],
    ids=repr,
)
def test_the_same_states(manifold):
    rng = RNG(1)
    goal = manifold.random_point(rng)
    x0 = manifold.random_point(rng, batch=(3,))
    agree(*runs(gd.DuelNewton(), manifold, lambda x: manifold.dist(x, goal) ** 2, x0), 1e-6)


@pytest.mark.parametrize("settings", [{}, {"min_radius": 0.1}, {"initial_step": 1e-3}])
def test_the_same_states_where_answers_are_wrong(settings):
    """Probes are then widened, asked again more often, and the mean of points is returned."""
    scales = np.array([1.0, 5.0, 25.0])
    x0 = RNG(2).standard_normal((4, 3))
    together, alone = runs(
        gd.DuelNewton(**settings), gd.Euclidean(3), lambda x: x**2 @ scales, x0, flip=0.3, steps=25
    )
    agree(together, alone, 1e-6)
    assert any((state.noise or 0) > 0.05 for state in together)
    assert any(np.any(state.to_mean) for state in together)


def test_the_same_states_where_probes_are_a_little_wider():
    method, space, x0 = gd.DuelNewton(), gd.Euclidean(3), RNG(2).standard_normal((3, 3))

    def f(x):  # so that wider probes have other answers
        return np.sum(np.sin(99 * x), -1)

    _, alone = runs(method, space, f, x0, steps=3)
    usual = runs(method, space, f, x0, states=alone, steps=1)
    wider = [s._replace(answering=s.answering._replace(widen=1.5)) for s in alone[:2]] + alone[2:]
    together, alone = runs(method, space, f, x0, states=wider, steps=1)
    agree(together, alone, 1e-6)
    same = [np.allclose(a.point, b.point) for a, b in zip(together, usual[0], strict=True)]
    assert same == [False, False, True]


@pytest.mark.parametrize("flip", [0.0, 0.3])
def test_the_same_states_where_ripples_are_smoothed(flip):
    def ripples(x):
        return np.sum(x**2 - np.cos(9 * x) / 9, -1)

    x0 = RNG(2).standard_normal((4, 3))
    together, alone = runs(gd.DuelNewton(smoothing=1.0), gd.Euclidean(3), ripples, x0, flip, 40)
    agree(together, alone, 1e-6)
    assert ({state.answering.coarse for state in together} == {0.0}) == (flip == 0)


def test_the_same_states_where_most_duels_tie():
    x0 = RNG(3).standard_normal((4, 3))
    together, alone = runs(
        gd.DuelNewton(), gd.Euclidean(3), lambda x: np.round(np.sum(x**2, -1), 1), x0, steps=30
    )
    agree(together, alone, 1e-6)


@pytest.mark.parametrize("step", [1e-2, 1e2])
def test_the_same_states_on_a_slope(step):
    """Newton steps are as long as the probes allow, however long these are."""
    method, x0 = gd.DuelNewton(initial_step=step), RNG(3).standard_normal((3, 3))
    agree(*runs(method, gd.Euclidean(3), lambda x: x[..., 0], x0, steps=8), 1e-6)


def test_stacks_of_any_size_are_alike(monkeypatch):
    sphere = gd.Sphere(3)
    x0 = sphere.random_point(RNG(4), batch=(5,))
    whole, _ = runs(gd.DuelNewton(), sphere, lambda x: -x[..., 0], x0, steps=8)
    monkeypatch.setattr(module, "TOGETHER", 2)
    parts, _ = runs(gd.DuelNewton(), sphere, lambda x: -x[..., 0], x0, steps=8)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a.point, b.point, atol=1e-12)


def test_the_same_states_where_geodesics_end():
    """Probes go a quarter of the way there at most."""
    space = gd.SPD(2, metric="bures-wasserstein")
    x0 = space.random_point(RNG(1), batch=(3,))

    def f(x):
        return x[..., 0, 0] + abs(x[..., 1, 1] - 1)

    agree(*runs(gd.DuelNewton(initial_step=1.0), space, f, x0, steps=4), 1e-6)
