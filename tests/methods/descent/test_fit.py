"""The fit: consistent, equal to dense Newton steps, and it believes what it should."""

import numpy as np
import pytest

from geoduel.methods.descent.fit import fit
from geoduel.methods.descent.memory import Memory, Window


def test_fit_finds_gradient_and_hessian_of_a_quadratic():
    """Answers drawn from the model: consistent estimates, standard errors about 0.05."""
    rng = np.random.default_rng(0)
    d, n = 3, 6000
    g = np.array([0.5, -0.5, 0.3])
    H = np.eye(d) + 0.4 * np.array([[1.0, 0.5, 0.0], [0.5, -1.0, 0.2], [0.0, 0.2, 0.0]])
    E = rng.standard_normal((n, d))
    E /= np.linalg.norm(E, axis=1)[:, None]
    Z = rng.standard_normal((n, d))
    slope = E @ g + np.einsum("ij,ij->i", E @ H, Z)
    s = np.where(rng.random(n) < 0.05 + 0.9 / (1 + np.exp(-1.7 * slope)), 1.0, -1.0)
    found_g, found_H = fit(Window(E, Z, np.arange(n), s, np.ones(n)), 1.0, 0.05)
    assert abs(found_g - g).max() < 0.2
    assert abs(found_H(np.eye(d)) - H).max() < 0.2


def newton_steps(duels, tau, lapse):
    """What `fit` does, with dense matrices and exact solutions: unknowns g and H's upper half."""
    E, Z, about, s, blur = duels
    Z, d = Z[about], E.shape[1]
    rows, columns = np.triu_indices(d)
    twice = np.where(rows == columns, 1.0, 2.0)  # off-diagonal entries count twice in |H - I|²
    outer = E[:, :, None] * Z[:, None, :]
    outer = (outer + outer.swapaxes(1, 2))[:, rows, columns] * (twice / 2)
    features = np.concatenate([E, outer], axis=1)
    prior = np.concatenate([np.zeros(d), twice]) / tau**2
    mean = np.concatenate([np.zeros(d), rows == columns])
    x = mean.copy()
    for _ in range(2):
        right = 1 / (1 + np.exp(-1.7 * s / blur * (features @ x)))
        likelihood = lapse + (1 - 2 * lapse) * right
        rise = (1 - 2 * lapse) * right * (1 - right) / likelihood
        bend = np.maximum(rise * (rise - (1 - 2 * right)), 0) + 1e-3 * rise + 1e-12
        weight, force = bend * (1.7 / blur) ** 2, 1.7 * rise * s / blur
        curvature = features.T @ (features * weight[:, None]) + np.diag(prior)
        x += np.linalg.solve(curvature, features.T @ force - prior * (x - mean))
    H = np.zeros((d, d))
    H[rows, columns] = H[columns, rows] = x[d:]
    return x[:d], H


def random_duels(d, n, k):
    """Duels about k centres in d dimensions, of a quadratic with H near I."""
    rng = np.random.default_rng(3)
    E = rng.standard_normal((n, d))
    E /= np.linalg.norm(E, axis=1)[:, None]
    Z, about = 0.5 * rng.standard_normal((k, d)), rng.integers(0, k, n)
    B = rng.standard_normal((d, d)) / np.sqrt(8 * d)
    slope = E @ rng.standard_normal(d) + np.vecdot(E @ (np.eye(d) + B + B.T), Z[about])
    return Window(E, Z, about, np.sign(slope), np.full(n, 0.5))


@pytest.mark.parametrize("k", [2, 5, 40])
def test_fit_equals_newton_steps_with_dense_matrices(k):
    """Up to a hundredth of a step, where the conjugate gradients end."""
    duels, one = random_duels(4, 60, k), np.eye(4)
    g, H = fit(duels, 0.2, 0.05)
    exact_g, exact_H = newton_steps(duels, 0.2, 0.05)
    assert np.linalg.norm(g - exact_g) < 0.03 * np.linalg.norm(exact_g)
    assert np.linalg.norm(H(one) - exact_H) < 0.03 * np.linalg.norm(exact_H - one)


def test_fit_is_the_same_with_a_centre_for_every_duel():
    """Three centres have a span of three dimensions, repeated ones are not known to have."""
    duels = random_duels(12, 100, 3)
    repeated = duels._replace(centres=duels.centres[duels.about], about=np.arange(100))
    g, H = fit(duels, 0.2, 0.05)
    same_g, same_H = fit(repeated, 0.2, 0.05)
    assert len(H.w) == 6
    assert np.allclose(H.U.T @ H.U, np.eye(6), atol=1e-14)
    assert np.allclose(g, same_g, atol=1e-13)
    assert np.allclose(H(np.eye(12)), same_H(np.eye(12)), atol=1e-13)


def test_fit_of_nothing_is_the_prior():
    nothing = Window(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, int), np.zeros(0), np.zeros(0))
    g, H = fit(nothing, 0.1, 0.05)
    assert np.array_equal(g, np.zeros(3))
    assert np.array_equal(H(np.eye(3)), np.eye(3))


def remembered(d, k, g, H, precision):
    """Gradients of a quadratic at k centres, equally sure in all directions."""
    Z = np.random.default_rng(5).standard_normal((k, d))
    sure = np.full(k, precision)
    return Memory(Z, g + Z @ H, sure, sure)


def test_fit_believes_remembered_gradients():
    """d + 1 precise ones determine g and H, whatever the answers of two duels."""
    g = np.array([0.3, -0.2, 0.1])
    H = np.array([[1.2, 0.2, 0.0], [0.2, 0.8, 0.2], [0.0, 0.2, 1.0]])
    memory = remembered(3, 4, g, H, 1e8)
    duels = Window(np.eye(3)[:2], np.zeros((1, 3)), np.zeros(2, int), np.ones(2), np.ones(2))
    found_g, found_H = fit(duels, 0.5, 0.05, memory=memory)
    assert np.allclose(found_g, g, atol=1e-4)
    assert np.allclose(found_H(np.eye(3)), H, atol=1e-4)


def test_fit_of_ties_alone_is_the_prior():
    ties, one = np.zeros(2), np.zeros(2, dtype=int)
    g, H = fit(Window(np.eye(2), np.ones((1, 2)), one, ties, np.ones(2)), 0.1, 0.05)
    assert abs(g).max() < 1e-15
    assert np.array_equal(H.w, np.ones(2))


def test_fit_of_ties_and_of_next_to_nothing_remembered():
    """Squares of such precisions are no numbers; once they ended a run on a plateau."""
    ties, one = np.zeros(2), np.zeros(2, dtype=int)
    window = Window(np.ones((2, 1)), np.zeros((1, 1)), one, ties, np.ones(2))
    for precision in (1e-100, 1e-160, 1e-300):
        memory = remembered(1, 2, np.array([0.3]), np.array([[0.5]]), precision)
        g, H = fit(window, 0.5, 0.05, memory=memory)
        assert abs(g).max() < 1e-50
        assert np.array_equal(H.w, np.ones(1))


def test_fit_believes_few_of_many_wrong_answers():
    rng = np.random.default_rng(1)
    E = np.tile(np.eye(4), (100, 1))
    s = np.where(rng.random(400) < 0.3, -1.0, 1.0)
    duels = Window(E, np.zeros((1, 4)), np.zeros(400, dtype=int), s, np.ones(400))
    assert (fit(duels, 0.1, 0.36)[0] > 0).all()


def test_a_prior_near_zero_shortens_the_gradient():
    s = np.array([1.0, -1.0, 1.0, 1.0])
    duels = Window(np.eye(4), np.zeros((1, 4)), np.zeros(4, dtype=int), s, np.ones(4))
    lengths = [np.linalg.norm(fit(duels, 0.1, 0.05, near)[0]) for near in (0.0, 1.0, 100.0)]
    # The slope of the likelihood is at most 1.7 an answer.
    assert lengths[0] > lengths[1] > lengths[2]
    assert lengths[2] < 1.7 * 2 / 100
