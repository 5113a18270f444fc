"""Lemmas 3.1 and 3.2 and Proposition 3.3, measured on curved spaces within standard errors.

The measurements are those of the report (`geoduel.reproduce.experiments.lemmas`).
"""

import numpy as np
import pytest

import geoduel as gd
from geoduel import theory
from geoduel.reproduce.experiments.lemmas import directions, mean_direction, wrong_signs

DRAWS = 100_000

MANIFOLDS = [
    gd.Euclidean(4),
    gd.Sphere(6),
    gd.SPD(2),
    gd.SPD(3),
    gd.Rotations(2),
    gd.Rotations(3),
    gd.Stiefel(4, 2),
    gd.Stiefel(4, 2, metric="canonical"),
    gd.Hyperbolic(3),
]


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_lemma_3_2_mean_direction(manifold):
    """E h = Ĉ(d)/√d grad/|grad| for a function that is linear along geodesics from x."""
    draws = DRAWS // 10 if isinstance(manifold, gd.Stiefel) else DRAWS  # whose log takes long
    found = mean_direction(manifold, draws, np.random.default_rng(0))
    assert found["exact"] == theory.direction_constant(manifold.dim)
    assert abs(found["constant"] - found["exact"]) <= 5 * found["error"] + 1e-12
    assert found["across"] <= 5  # in standard errors


@pytest.mark.parametrize("d", [3, 10])
def test_lemma_3_1_share_of_wrong_signs(d):
    """For the worst L-smooth function the share of wrong signs stays below γ, at every radius."""
    found = wrong_signs(d, DRAWS // 10, np.random.default_rng(0))
    for reach, wrong in zip(found["reach"], found["wrong"], strict=True):
        gamma = theory.flip_bound(d=d, L=1.0, radius=reach, gradient_norm=1.0)
        assert wrong <= gamma + 4 * np.sqrt(gamma / (DRAWS // 10))
        assert wrong > 0  # the function does flip signs, so that the bound was tested


@pytest.mark.parametrize("d", [3, 10])
def test_proposition_3_3_bias_of_the_worst_function(d):
    found = wrong_signs(d, DRAWS // 10, np.random.default_rng(1))
    for reach, bias in zip(found["reach"], found["bias"], strict=True):
        gamma = theory.flip_bound(d=d, L=1.0, radius=reach, gradient_norm=1.0)
        assert bias <= 2 * gamma + 5 / np.sqrt(DRAWS // 10)


def test_functions_bent_along_the_gradient_alone_flip_no_sign():
    """Wrong signs need |⟨g, u⟩| < L ν ⟨ĝ, u⟩²/2, and no unit u has that where L ν < 2 |g|."""
    space, x = gd.Euclidean(3), np.zeros((DRAWS, 3))

    def f(y):
        slope = 0.5 * y[:, 0]
        return slope - np.sign(slope) * y[:, 0] ** 2 / 2

    h = directions(space, f, x, 0.05, np.random.default_rng(0))
    assert np.all(h[:, 0] >= 0)


def test_proposition_3_3_bias_on_the_sphere():
    """|E<h, v> - Ĉ/√d <grad/|grad|, v>| <= 2γ for every unit v."""
    sphere = gd.Sphere(5)
    x = sphere.random_point(np.random.default_rng(7))
    A = np.diag([1.0, 2.0, 3.0, 4.0, 10.0])
    grad = sphere.to_tangent(x, -(A @ x))
    size = float(np.linalg.norm(grad))
    radius, d = 0.02, sphere.dim
    points = np.broadcast_to(x, (DRAWS, 5))  # independent problems at one point
    f = lambda y: -0.5 * np.sum((y @ A) * y, axis=-1)  # noqa: E731
    h = sphere.to_coords(x, directions(sphere, f, points, radius, np.random.default_rng(0)))
    v = sphere.to_coords(x, grad) / size
    bias = h.mean(axis=0) - theory.direction_constant(d) / np.sqrt(d) * v
    gamma = theory.flip_bound(d=d, L=9.0, radius=radius, gradient_norm=size)
    assert np.linalg.norm(bias) <= 2 * gamma + 5 * np.sqrt(d / DRAWS)


def test_a_projected_gaussian_is_not_uniform_on_spd():
    """Erratum E20: what the contract's uniformity test must catch, at X = diag(1, 0.01)."""
    spd = gd.SPD(2)
    x = np.diag([1.0, 0.01])
    rng = np.random.default_rng(0)
    w = rng.standard_normal((DRAWS, 2, 2))
    w = (w + np.swapaxes(w, -1, -2)) / 2
    w /= spd.norm(x, w)[:, None, None]
    wrong = np.sort(np.mean(spd.to_coords(x, w) ** 2, axis=0))
    right = np.mean(spd.to_coords(x, spd.unit_tangent(rng, x, (DRAWS,))) ** 2, axis=0)
    np.testing.assert_allclose(wrong, [0.003, 0.090, 0.907], atol=0.005)
    np.testing.assert_allclose(right, 1 / 3, atol=5 * np.sqrt(4 / 45 / DRAWS))
