"""Random positive definite matrices that several tests use."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel._numerics.symmetric import sym
from geoduel.manifolds.spd import SPD

EPS = np.finfo(float).eps
METRICS = ("affine-invariant", "log-euclidean", "bures-wasserstein")
every_metric = pytest.mark.parametrize("metric", METRICS)
every_size = pytest.mark.parametrize("n", [1, 2, 3, 6])


def sample(seed, n=3, metric="affine-invariant", batch=(20,)):
    """Points x, y and tangent vectors v, w of length 0.2 at x, at random."""
    spd, rng = SPD(n, metric=metric), np.random.default_rng(seed)
    x, y = spd.random_point(rng, batch), spd.random_point(rng, batch)
    v, w = (0.2 * spd.unit_tangent(rng, x) for _ in range(2))
    return spd, x, y, v, w


def with_condition(rng, n, condition):
    """Eigenvalues from 1/condition to 1, log-uniform; random eigenvectors."""
    exponents = np.concatenate([[0, 1], rng.random(n - 2)])
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return sym((q * condition**-exponents) @ q.T)
