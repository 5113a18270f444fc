"""The log-Euclidean metric: against matrix logarithms, and where eigenvalues are close."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples.matrices import EPS, every_size, sample
from scipy.linalg import expm, logm

from geoduel.manifolds.spd import SPD


@every_size
def test_log_euclidean_formulas(n):
    spd, x, y, v, w = sample(10, n, "log-euclidean", (4,))
    step = 1e-6
    for a, b, u, z in zip(x, y, v, w, strict=True):
        assert spd.dist(a, b) == pytest.approx(np.linalg.norm(logm(a) - logm(b)), rel=1e-11)
        slope = (logm(a + step * u) - logm(a - step * u)) / (2 * step)
        assert spd.norm(a, u) == pytest.approx(np.linalg.norm(slope), rel=1e-8)
        np.testing.assert_allclose(spd.exp(a, u), expm(logm(a) + slope), rtol=0, atol=1e-8)
        # Parallel transport leaves the coordinates of the logarithm alone.
        moved = spd.transport(a, b, z)
        back = (logm(b + step * moved) - logm(b - step * moved)) / (2 * step)
        here = (logm(a + step * z) - logm(a - step * z)) / (2 * step)
        np.testing.assert_allclose(back, here, rtol=0, atol=1e-8)


def test_log_euclidean_is_right_for_close_eigenvalues():
    """D log at distinct eigenvalues, 1e-15 to 1 apart: entries log(a/b) / (a - b)."""
    spd = SPD(2, metric="log-euclidean")
    off = np.array([[0.0, 1.0], [1.0, 0.0]])
    for gap in 10.0 ** np.arange(-15, 1):
        a = 1 + gap
        exact = math.log1p(a - 1) / (a - 1)
        assert spd.norm(np.diag([1.0, a]), off) == pytest.approx(math.sqrt(2) * exact, rel=8 * EPS)
