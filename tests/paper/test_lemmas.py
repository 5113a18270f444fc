"""Lemmas 3.1 and 3.2 and Proposition 3.3, measured on curved spaces within standard errors."""

import numpy as np
import pytest

import geoduel as gd
from geoduel import theory
from geoduel.methods.paper.direction import estimate

DRAWS = 100_000


def off_centre(manifold):
    """A point without symmetry, where a direction that is not uniform shows."""
    if isinstance(manifold, gd.SPD):
        return np.diag(10.0 ** np.linspace(0, -2, manifold.n))
    return manifold.random_point(np.random.default_rng(7))


def batch_of_directions(manifold, f, x, radius, draws=DRAWS, seed=0):
    """Coordinates of the estimates h of many duels at x."""
    points = np.broadcast_to(x, (draws, *x.shape))  # independent problems at one point
    duels = estimate(manifold, np.random.default_rng(seed), points, radius)
    ahead, behind = next(duels)
    with pytest.raises(StopIteration) as done:
        duels.send(np.sign(f(ahead) - f(behind)))
    return manifold.to_coords(x, done.value.value)


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
    x = off_centre(manifold)
    d = manifold.dim
    g = np.random.default_rng(1).standard_normal(d)
    g /= np.linalg.norm(g)
    slope = manifold.from_coords(x, g)
    f = lambda y: manifold.inner(x, manifold.log(x, y), slope)  # noqa: E731
    h = batch_of_directions(manifold, f, x, 1e-3)
    mean = h.mean(axis=0)
    target = theory.direction_constant(d) / np.sqrt(d)
    along = h @ g
    error = along.std() / np.sqrt(DRAWS)
    assert abs(along.mean() - target) <= 5 * error + 1e-12
    across = mean - (mean @ g) * g
    # Each of the d - 1 other coordinates has variance at most 1/d · 3/2.
    assert np.linalg.norm(across) <= 5 * np.sqrt(1.5 / DRAWS)


@pytest.mark.parametrize("d", [3, 10])
def test_lemma_3_1_share_of_wrong_signs(d):
    """For the worst L-smooth function the share of wrong signs stays below γ."""
    space, x = gd.Euclidean(d), np.zeros(d)
    L, radius = 1.0, 0.05
    g = np.zeros(d)
    g[0] = 0.5

    def f(y):
        slope = y @ g
        return slope - L * np.sign(slope) * (y[:, 0] ** 2) / 2

    # Along g the odd part of f bends back; wrong signs need |<g, u>| < L ν <ĝ,u>²/2, so none here,
    # and a function bent in the other directions is what makes them.
    def bent(y):
        slope = y @ g
        return slope - L * np.sign(slope) * np.sum(y**2, axis=-1) / 2

    for function in (f, bent):
        h = batch_of_directions(space, function, x, radius)
        wrong = np.mean(h @ g < 0)
        gamma = theory.flip_bound(d=d, L=L, radius=radius, gradient_norm=0.5)
        assert wrong <= gamma + 4 * np.sqrt(gamma / DRAWS)
    assert wrong > 0  # the second does flip signs, so that the bound was tested


def test_proposition_3_3_bias_on_the_sphere():
    """|E<h, v> - Ĉ/√d <grad/|grad|, v>| <= 2γ for every unit v."""
    sphere = gd.Sphere(5)
    x = off_centre(sphere)
    A = np.diag([1.0, 2.0, 3.0, 4.0, 10.0])
    grad = sphere.to_tangent(x, -(A @ x))
    size = float(np.linalg.norm(grad))
    radius = 0.02
    h = batch_of_directions(sphere, lambda y: -0.5 * np.sum((y @ A) * y, axis=-1), x, radius)
    v = sphere.to_coords(x, grad) / size
    d = sphere.dim
    bias = h.mean(axis=0) - theory.direction_constant(d) / np.sqrt(d) * v
    gamma = theory.flip_bound(d=d, L=9.0, radius=radius, gradient_norm=size)
    noise = 5 * np.sqrt(d / DRAWS)
    assert np.linalg.norm(bias) <= 2 * gamma + noise


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
