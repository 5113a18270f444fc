"""Lemmas 3.1 and 3.2 and Proposition 3.3 by sampling, on plain R^d.

A tangent space is a Euclidean space, so Gaussian directions and quadratic models are enough here;
the manifolds' own directions are tested elsewhere.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betainc

from geoduel import theory

DIMENSIONS = [1, 2, 3, 10]
DRAWS = 400_000


def unit_vectors(d, draws=DRAWS):
    """Uniform on the unit sphere of R^d, one a row."""
    u = np.random.default_rng([d, draws]).standard_normal((draws, d))
    return u / np.linalg.norm(u, axis=1, keepdims=True)


def signs(f, u, radius):
    """Answers of the duels f(νu) against f(-νu), exact ties answered by -1 as in the paper."""
    return np.where(f(radius * u) > f(-radius * u), 1.0, -1.0)


def gradient(d):
    """A lopsided gradient: symmetry would hide mistakes."""
    return 1.5 + np.arange(d) ** 2.0


def worst_model(g, L):
    """<g, x> - L/2 sign(<g, x>) |x|²: as wrong as |f(x) - f(0) - <g, x>| <= L/2 |x|² permits.

    That inequality is all the proof of Lemma 3.1 knows of f. f(νu) - f(-νu) has the wrong sign
    exactly where |<g, u>| < L ν/2.
    """
    return lambda x: x @ g - L / 2 * np.sign(x @ g) * (x**2).sum(axis=1)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_lemma_3_2_constant(d):
    """E[sign<v, u> u] = (Ĉ/√d) v/|v|: along v the constant, across v nothing."""
    u, v = unit_vectors(d), gradient(d)
    w = v / np.linalg.norm(v)
    h = np.sign(u @ v)[:, None] * u

    along = math.sqrt(d) * (h @ w)
    error = along.std() / math.sqrt(DRAWS)
    # In one dimension every draw is exactly 1 and only rounding is left.
    assert abs(along.mean() - theory.direction_constant(d)) < 4 * error + 4 * 2.0**-52

    across = h - (h @ w)[:, None] * w
    errors = across.std(axis=0) / math.sqrt(DRAWS)
    assert np.all(np.abs(across.mean(axis=0)) <= 4 * errors + 4 * 2.0**-52)


def test_lemma_3_2_range():
    """The paper's range [1/√(2π), 1] holds; the lower end is loose by a factor of two."""
    values = [theory.direction_constant(d) for d in range(1, 500)]
    assert max(values) == 1.0
    assert min(values) > 1.99 * theory.WORST_CONSTANT


@pytest.mark.parametrize("d", DIMENSIONS)
def test_lemma_3_1_linear_functions_are_never_misjudged(d):
    g, u = gradient(d), unit_vectors(d, 10_000)
    assert np.array_equal(signs(lambda x: x @ g, u, 0.3), np.sign(u @ g))


@pytest.mark.parametrize("d", [2, 3, 10])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_lemma_3_1_bound(d, share):
    """Wrong signs are as frequent as P(|Z| < b), b = L ν/(2|g|), and that is at most γ."""
    g, u, L = gradient(d), unit_vectors(d), 2.0
    norm = float(np.linalg.norm(g))
    radius = 2 * share * norm / L
    wrong = np.mean(signs(worst_model(g, L), u, radius) != np.sign(u @ g))
    exact = betainc(1 / 2, (d - 1) / 2, share**2)
    error = math.sqrt(exact * (1 - exact) / DRAWS)
    assert abs(wrong - exact) < 4 * error
    known = {"d": d, "L": L, "radius": radius, "gradient_norm": norm}
    sharp, printed = theory.flip_bound(**known), theory.flip_bound(**known, bound="printed")
    assert exact <= sharp * (1 + 1e-12) < printed
    if d == 3:  # Archimedes: Z is uniform on [-1, 1]
        assert exact == pytest.approx(sharp, rel=1e-12)


@pytest.mark.parametrize("d", [2, 3, 10])
def test_proposition_3_3_bound(d):
    """|E<h, v> - (Ĉ/√d) <g/|g|, v>| <= 2 γ for unit v; the bias points along g."""
    g, u, L = gradient(d), unit_vectors(d), 2.0
    norm = float(np.linalg.norm(g))
    radius = 0.3 * 2 * norm / L
    h = signs(worst_model(g, L), u, radius)[:, None] * u
    bias = h.mean(axis=0) - theory.direction_constant(d) / math.sqrt(d) * g / norm
    gamma = theory.flip_bound(d=d, L=L, radius=radius, gradient_norm=norm)
    noise = 4 * h.std(axis=0).max() / math.sqrt(DRAWS)
    assert np.linalg.norm(bias) < 2 * gamma
    assert bias @ g / norm < -noise, "the model does mislead"
    assert np.linalg.norm(bias - (bias @ g / norm**2) * g) < noise * math.sqrt(d)


@pytest.mark.parametrize("slope", [0.81, 0.9, 0.99])
def test_lemma_3_1_as_printed_fails_on_the_line(slope):
    """f'(t) = g - L|t| with g < Lν/2 < 1.25 g: every duel is wrong, though γ < 1.

    On a circle, SO(2), that is every duel of a run. The sharp coefficient 1/2 tells the truth.
    """
    L, radius = 2.0, 1.0
    g = slope * L * radius / 2

    def f(x):
        return (g * x - L / 2 * x * np.abs(x))[:, 0]

    u = unit_vectors(1, 1000)
    h = signs(f, u, radius)[:, None] * u
    assert np.all(h == -1), "downhill taken for uphill, always"
    known = {"d": 1, "L": L, "radius": radius, "gradient_norm": g}
    gamma = theory.flip_bound(**known, bound="printed")
    assert gamma < 1
    assert theory.flip_bound(**known) == 1
    bias = abs(h.mean() - theory.direction_constant(1))
    assert bias == 2 > 2 * gamma, "Proposition 3.3 as printed"


@pytest.mark.parametrize("slope", [1.01, 1.5])
def test_lemma_3_1_on_the_line_is_sharp(slope):
    """As soon as γ = L ν/(2 g) < 1, no duel of the same function is wrong."""
    L, radius = 2.0, 1.0
    g = slope * L * radius / 2
    u = unit_vectors(1, 1000)
    answers = signs(lambda x: (g * x - L / 2 * x * np.abs(x))[:, 0], u, radius)
    assert np.array_equal(answers, np.sign(u[:, 0]))
    assert theory.flip_bound(d=1, L=L, radius=radius, gradient_norm=g) < 1
