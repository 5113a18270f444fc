"""Quadratics, and what a method makes of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import geoduel as gd


class Bowl(NamedTuple):
    """f(x) = <x, H x>/2, least at 0; L and μ are the largest and the least eigenvalue."""

    H: np.ndarray
    x0: np.ndarray

    def __call__(self, x):
        return 0.5 * np.vecdot(x @ self.H, x)

    @property
    def L(self):
        return float(np.linalg.eigvalsh(self.H)[-1])

    @property
    def mu(self):
        return float(np.linalg.eigvalsh(self.H)[0])

    def run(self, method, budget, seed=0, **options):
        """The result, and rows (iteration, duels, f of the best point)."""
        rows = [(0, 0, float(self(self.x0)))]
        result = gd.minimize(
            gd.from_objective(self, vectorized=True),
            gd.Euclidean(len(self.x0)),
            self.x0,
            method=method,
            budget=budget,
            rng=seed,
            callback=lambda p: rows.append((p.iteration, p.duels, float(self(p.x)))) and None,
            **options,
        )
        return result, np.array(rows)


@pytest.fixture
def bowl():
    """``bowl(d, condition)``: eigenvalues from 1 to the condition, in random directions."""

    def make(d, condition=1.0, seed=0):
        rng = np.random.default_rng(seed)
        Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
        return Bowl((Q * np.geomspace(1, condition, d)) @ Q.T, rng.standard_normal(d))

    return make


@pytest.fixture
def slope():
    """``slope(rows, after)``: nats by which f falls a duel, after so many duels."""

    def slope(rows, after=0):
        rows = rows[(rows[:, 1] >= after) & (rows[:, 2] > 0)]
        return -np.polyfit(rows[:, 1], np.log(rows[:, 2]), 1)[0]

    return slope
