"""The measurements of the lemmas: in short runs they agree with the constants."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel import theory
from geoduel.manifolds import SPD, Hyperbolic, Rotations
from geoduel.reproduce.experiments.lemmas import mean_direction, triangles, wrong_signs


@pytest.mark.parametrize("manifold", [Rotations(2), SPD(2)], ids=repr)
def test_lemma_3_2_is_measured(manifold):
    found = mean_direction(manifold, 20_000, np.random.default_rng(0))
    assert abs(found["constant"] - found["exact"]) <= 5 * found["error"] + 1e-12


def test_lemma_3_1_fails_as_printed_on_so_2():
    """Erratum E4: beyond Lν/|g| = 2 every sign is wrong, though γ < 1."""
    found = wrong_signs(1, 100, np.random.default_rng(0))
    broken = dict(zip(found["reach"], found["wrong"], strict=True))
    assert broken[2.2] == 1.0 > theory.flip_coefficient(1, "printed") * 2.2
    assert broken[1.6] == 0.0


def test_lemma_b_2_bounds_triangles_of_the_hyperbolic_plane():
    found = triangles(Hyperbolic(2), -1.0, 5_000, np.random.default_rng(0))
    for largest, bound in zip(found["largest"], found["bound"], strict=True):
        assert 0.8 * bound <= largest <= bound * (1 + 1e-9)
