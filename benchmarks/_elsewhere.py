"""Problems of known optimum on the manifolds that the other benchmarks do not visit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import geoduel as gd


@dataclass(frozen=True)
class Elsewhere:
    """An objective on a manifold, vectorized, and its least value."""

    manifold: gd.Manifold
    objective: Callable[[np.ndarray], Any]
    optimal_value: float
    x0: np.ndarray

    def gap(self, x: np.ndarray) -> float:
        """How far f(x) is above the least value."""
        return float(self.objective(x)) - self.optimal_value

    def oracle(self) -> Any:
        """Compares values."""
        return gd.from_objective(self.objective, vectorized=True)


def _symmetric(n: int, condition: float, rng: np.random.Generator) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return (Q * np.geomspace(1, condition, n)) @ Q.T


def brockett(metric: str, seed: int) -> Elsewhere:
    """Three lowest eigenvectors of a 10 x 10 matrix, in order: tr(X'AX diag(3, 2, 1))."""
    rng, manifold = np.random.default_rng(seed), gd.Stiefel(10, 3, metric=metric)
    A, weights = _symmetric(10, 30, rng), np.array([3.0, 2.0, 1.0])
    least = float(np.linalg.eigvalsh(A)[:3] @ weights)
    return Elsewhere(
        manifold,
        lambda X: np.sum(X * (A @ X) * weights, axis=(-2, -1)),
        least,
        manifold.random_point(rng),
    )


def components(seed: int) -> Elsewhere:
    """The three principal components of a 12 x 12 covariance."""
    rng, manifold = np.random.default_rng(seed), gd.Grassmann(12, 3)
    A = _symmetric(12, 100, rng)
    least = -float(np.linalg.eigvalsh(A)[-3:].sum())
    return Elsewhere(
        manifold,
        lambda X: -np.sum(X * (A @ X), axis=(-2, -1)),
        least,
        manifold.random_point(rng),
    )


def stein(metric: str, seed: int) -> Elsewhere:
    """Stein's divergence log det (X + C)/2 - log det(XC)/2 to a matrix of condition 1000."""
    rng, manifold = np.random.default_rng(seed), gd.SPD(4, metric=metric)
    C = _symmetric(4, 1000, rng)

    def logdet(X: np.ndarray) -> Any:
        return np.linalg.slogdet(X)[1]

    return Elsewhere(
        manifold,
        lambda X: logdet((X + C) / 2) - logdet(X) / 2 - logdet(C) / 2,
        0.0,
        manifold.random_point(rng),
    )


def procrustes(seed: int) -> Elsewhere:
    """The rotation of R^5 nearest to a matrix."""
    rng, manifold = np.random.default_rng(seed), gd.Rotations(5)
    K = rng.standard_normal((5, 5))
    values = np.linalg.svd(K)[1]
    values[-1] *= np.sign(np.linalg.det(K))
    return Elsewhere(
        manifold,
        lambda R: -np.sum(R * K, axis=(-2, -1)),
        -float(values.sum()),
        manifold.random_point(rng),
    )


def hyperbolic_mean(seed: int) -> Elsewhere:
    """The Karcher mean of eight points of H^5."""
    rng, manifold = np.random.default_rng(seed), gd.Hyperbolic(5)
    data = manifold.random_point(rng, (8,))

    def objective(x: np.ndarray) -> Any:
        return np.sum(manifold.dist(x[..., None, :], data) ** 2, axis=-1)

    x = x0 = manifold.random_point(rng)
    for _ in range(200):
        x = manifold.exp(x, manifold.log(x, data).mean(axis=0))
    return Elsewhere(manifold, objective, float(objective(x)), x0)


def divergence(seed: int) -> Elsewhere:
    """The Kullback-Leibler divergence to six probabilities."""
    rng, manifold = np.random.default_rng(seed), gd.Simplex(6)
    q = manifold.random_point(rng)
    return Elsewhere(
        manifold,
        lambda p: np.sum(p * np.log(p / q), axis=-1),
        0.0,
        manifold.random_point(rng),
    )


def phases(seed: int) -> Elsewhere:
    """Four coupled angles: 1 - cos of each from where it should be, and of their differences."""
    rng, manifold = np.random.default_rng(seed), gd.Torus(4)
    goal = manifold.random_point(rng)

    def objective(x: np.ndarray) -> Any:
        a = x - goal
        across = np.sum(1 - np.cos(a[..., :, None] - a[..., None, :]), axis=(-2, -1))
        return np.sum(1 - np.cos(a), axis=-1) + across / 2

    x0 = manifold.exp(goal, 0.5 * manifold.log(goal, manifold.random_point(rng)))
    return Elsewhere(manifold, objective, 0.0, x0)


def pose(seed: int) -> Elsewhere:
    """Rotation and shift, SE(3), that lay ten points on their images."""
    rng, manifold = np.random.default_rng(seed), gd.Product(gd.Rotations(3), gd.Euclidean(3))
    points = rng.standard_normal((10, 3)) * [1.0, 2.0, 4.0]
    R, shift = manifold.split(manifold.random_point(rng))
    images = points @ R.T + shift

    def objective(x: np.ndarray) -> Any:
        R, shift = manifold.split(x)
        miss = points @ R.mT + shift[..., None, :] - images
        return np.sum(miss**2, axis=(-2, -1))

    x0 = manifold.exp(manifold.join(R, shift), manifold.unit_tangent(rng, manifold.join(R, shift)))
    return Elsewhere(manifold, objective, 0.0, x0)


ELSEWHERE: dict[str, tuple[Callable[[int], Any], int]] = {
    "brockett-stiefel": (lambda s: brockett("euclidean", s), 12_000),
    "brockett-canonical": (lambda s: brockett("canonical", s), 12_000),
    "components-grassmann": (components, 12_000),
    "stein-affine": (lambda s: stein("affine-invariant", s), 5_000),
    "stein-log-euclidean": (lambda s: stein("log-euclidean", s), 5_000),
    "stein-bures-wasserstein": (lambda s: stein("bures-wasserstein", s), 5_000),
    "procrustes-rotations": (procrustes, 5_000),
    "mean-hyperbolic": (hyperbolic_mean, 3_000),
    "divergence-simplex": (divergence, 3_000),
    "phases-torus": (phases, 3_000),
    "pose-se3": (pose, 3_000),
}
