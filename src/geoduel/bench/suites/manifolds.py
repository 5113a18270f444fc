"""Problems on manifolds, each with an optimum that is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..._numerics.arrays import Array
from ...manifolds.base import Manifold
from ...manifolds.euclidean import Euclidean
from ...manifolds.grassmann import Grassmann
from ...manifolds.hyperbolic import Hyperbolic
from ...manifolds.product import Power, Product
from ...manifolds.rotations import Rotations
from ...manifolds.simplex import Simplex
from ...manifolds.spd.spd import SPD
from ...manifolds.sphere import Sphere
from ...manifolds.stiefel import Stiefel
from ...problems import Karcher, Rayleigh
from ..case import Case, Suite

__all__ = ["MANIFOLDS", "fixed_point"]


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([23, seed])


def _orthogonal(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def _near(manifold: Manifold, x: Array, length: float, rng: np.random.Generator) -> Array:
    """A point so far away, in a random direction."""
    return manifold.exp(x, length * manifold.unit_tangent(rng, x))


def fixed_point(manifold: Manifold, data: Array, power: int, x: Array) -> Array:
    """Point of least Σ dist(x, data)^power, for power 2, the mean, and 1, the median (Weiszfeld).

    Newton's quadratic convergence is not needed: 2,000 iterations take a second at most.
    """
    for _ in range(2000):
        logs = manifold.log(x, data)
        lengths = manifold.norm(x, logs)
        w = np.ones_like(lengths) if power == 2 else 1 / np.maximum(lengths, 1e-300)
        step = np.tensordot(w / w.sum(), logs, axes=1)
        if float(manifold.norm(x, step)) < 1e-15:
            break
        x = manifold.exp(x, step)
    return x


# -- eigenvectors ----------------------------------------------------------------------------------


def quotient(spectrum: np.ndarray, start: int | None, seed: int) -> Case:
    """Rayleigh quotient with a given spectrum, falling; from an eigenvector, if given."""
    rng, n = _rng(seed), len(spectrum)
    Q = _orthogonal(n, rng)
    A, sphere = (Q * spectrum) @ Q.T, Sphere(n)
    x0 = sphere.random_point(rng) if start is None else Q[:, start].copy()
    group = "smooth" if start is None else "saddles and maxima"
    return Case(sphere, lambda x: -x @ A @ x, x0, -float(spectrum[0]), group)


def rayleigh(seed: int) -> Case:
    """The paper's."""
    problem = Rayleigh.random(20, _rng(seed))
    return Case(problem.manifold, problem.objective, problem.x0, problem.optimal_value, "smooth")


def components(spectrum: np.ndarray, seed: int) -> Case:
    """Three principal components: the subspace of the largest variance."""
    rng = _rng(seed)
    Q, manifold = _orthogonal(len(spectrum), rng), Grassmann(len(spectrum), 3)
    S, least = (Q * spectrum) @ Q.T, -float(spectrum[:3].sum())
    return Case(
        manifold, lambda X: -np.sum(X * (S @ X)), manifold.random_point(rng), least, "smooth"
    )


def sparse_components(seed: int) -> Case:
    """Sparse principal components: -tr(X'SX) + ρ Σ|x_ij|, least at the planted ones.

    S = λ (v_1 v_1' + v_2 v_2'), the v_i flat on k entries each. Then Σ|x| >= √k |<v_i, x>| summed
    over i, which bounds f by its value at the v_i where ρ √k <= λ.
    """
    rng, k, penalty = _rng(seed), 3, 0.2
    manifold, V = Stiefel(8, 2), np.zeros((8, 2))
    V[:k, 0] = V[k : 2 * k, 1] = k**-0.5
    V *= rng.choice([-1.0, 1.0], (8, 1))
    least = -2 * (1 - penalty * math.sqrt(k))
    return Case(
        manifold,
        lambda X: -np.sum((V.T @ X) ** 2) + penalty * np.sum(abs(X)),
        manifold.random_point(rng),
        least,
        "kinks",
    )


# -- alignments ------------------------------------------------------------------------------------


def procrustes(condition: float, seed: int) -> Case:
    """|AX - B|² on Stiefel, where B = A X* for some X*."""
    rng, manifold = _rng(seed), Stiefel(8, 3)
    A = rng.standard_normal((20, 8)) * np.geomspace(1, 1 / condition, 8)
    B = A @ manifold.random_point(rng)
    return Case(
        manifold, lambda X: np.sum((A @ X - B) ** 2), manifold.random_point(rng), 0.0, "smooth"
    )


def wahba(power: int, seed: int) -> Case:
    """The attitude that turns directions into those seen; by power 1 with three that are wrong."""
    rng, manifold = _rng(seed), Rotations(3)
    R = manifold.random_point(rng)
    a = rng.standard_normal((12, 3))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    b = a @ R.T
    if power == 1:  # the nine others agree, and outweigh them
        b[:3] = b[[1, 2, 0]]
        best = R
    else:
        b += 0.1 * rng.standard_normal(b.shape)
        U, _, Vt = np.linalg.svd(b.T @ a)
        best = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt

    def f(X: Array) -> float:
        return float(np.sum(np.linalg.norm(b - a @ X.T, axis=1) ** power))

    group = "smooth" if power == 2 else "kinks"
    return Case(manifold, f, manifold.random_point(rng), f(best), group)


def hand_eye(seed: int) -> Case:
    """Hand-eye calibration: X with A_i X = X B_i, rotation and shift, SE(3) as a product."""
    rng, manifold = _rng(seed), Product(Rotations(3), Euclidean(3))
    turns = Rotations(3).random_point(rng, (6,))
    shifts = rng.standard_normal((6, 3))
    R, t = Rotations(3).random_point(rng), rng.standard_normal(3)
    seen = R.T @ turns @ R
    seen_shifts = (turns @ t + shifts - t) @ R  # R_A t + t_A = R t_B + t

    def f(x: Array) -> float:
        X, s = manifold.split(x)
        across = turns @ s + shifts - seen_shifts @ X.T - s
        return float(np.sum((turns @ X - X @ seen) ** 2) + np.sum(across**2))

    x0 = _near(manifold, manifold.join(R, t), 1.0, rng)
    return Case(manifold, f, x0, 0.0, "smooth")


def registration(seed: int) -> Case:
    """Points laid onto others, each onto the nearest one, by the mean distance."""
    rng, manifold = _rng(seed), Product(Rotations(3), Euclidean(3))
    P = rng.standard_normal((25, 3)) * [1.0, 2.0, 3.0]
    R, t = Rotations(3).random_point(rng), rng.standard_normal(3)
    Y = P @ R.T + t

    def f(x: Array) -> float:
        X, s = manifold.split(x)
        apart = np.linalg.norm((P @ X.T + s)[:, None] - Y[None], axis=2)
        return float(np.mean(apart.min(axis=1)))

    return Case(manifold, f, _near(manifold, manifold.join(R, t), 0.4, rng), 0.0, "kinks")


# -- means and medians -----------------------------------------------------------------------------


def centre(manifold: Manifold, spread: float, power: int, far: float, seed: int) -> Case:
    """Fréchet mean (power 2) or median (1) of nine points, from a start so far away."""
    rng = _rng(seed)
    c = manifold.random_point(rng)
    lengths = spread * np.sqrt(rng.chisquare(manifold.dim, 9) / manifold.dim)
    data = np.array([_near(manifold, c, float(t), rng) for t in lengths])

    def f(x: Array) -> float:
        return float(np.mean(manifold.dist(x, data) ** power))

    least = f(fixed_point(manifold, data, power, c))
    group = "smooth" if power == 2 else "kinks"
    return Case(manifold, f, _near(manifold, c, far, rng), least, group)


def median_at_data(seed: int) -> Case:
    """A median that is one of the points, since it weighs more than all others: a kink."""
    rng, manifold = _rng(seed), Sphere(7)
    c = manifold.random_point(rng)
    data = np.array([_near(manifold, c, 0.8 * float(t), rng) for t in rng.random(9)])
    weights = np.r_[1.2, np.full(8, 1 / 9)]

    def f(x: Array) -> float:
        return float(weights @ manifold.dist(x, data))

    return Case(manifold, f, _near(manifold, c, 0.7, rng), f(data[0]), "kinks")


def karcher(bounded: bool, seed: int) -> Case:
    """The paper's mean of positive definite matrices, free or between the harmonic and another."""
    p = Karcher.random(3, m=10, rng=_rng(seed))
    domain = p.domain() if bounded else None
    return Case(p.manifold, p.objective, p.x0, p.optimal_value, "smooth", domain)


def fisher_rao(seed: int) -> Case:
    """The distribution in the middle of six, by squared Fisher-Rao distances."""
    return centre(Simplex(6), 0.3, 2, 0.5, seed)


# -- many points -----------------------------------------------------------------------------------


def tree(seed: int) -> Case:
    """Seven points of the hyperbolic plane at given distances: a tree of depth two, as drawn there.

    The stress of an embedding; turning all points changes nothing.
    """
    rng, plane = _rng(seed), Hyperbolic(2)
    manifold = Power(plane, 7)
    root = plane.random_point(rng)

    def place(length: float, angle: float) -> Array:
        v = length * np.array([np.cos(angle), np.sin(angle)])
        return plane.exp(root, plane.from_coords(root, v))

    points = [root]
    for angle in (0.0, 2 * np.pi / 3):
        points += [place(1.5, angle), place(3.0, angle - 0.4), place(3.0, angle + 0.4)]
    points = np.array(points)
    i, j = np.triu_indices(7, 1)
    wanted = plane.dist(points[i], points[j])

    def f(x: Array) -> float:
        return float(np.sum((plane.dist(x[i], x[j]) - wanted) ** 2))

    x0 = np.array([_near(plane, p, 0.5, rng) for p in points])
    return Case(manifold, f, x0, 0.0, "many points")


def thomson(seed: int) -> Case:
    """Eight charges on a sphere, at the corners of a square antiprism."""
    rng, manifold = _rng(seed), Power(Sphere(3), 8)
    i, j = np.triu_indices(8, 1)

    def f(X: Array) -> float:
        return float(np.sum(1 / np.maximum(1e-12, np.linalg.norm(X[i] - X[j], axis=1))))

    return Case(manifold, f, manifold.random_point(rng), 19.675287861, "many points")


def max_cut(seed: int) -> Case:
    """The relaxed largest cut of an odd cycle: neighbours on a circle turn by π (n-1)/n."""
    rng, n = _rng(seed), 11
    manifold = Power(Sphere(3), n)
    least = n * math.cos(math.pi * (n - 1) / n)
    return Case(
        manifold,
        lambda X: float(np.sum(X * np.roll(X, 1, axis=0))),
        manifold.random_point(rng),
        least,
        "many points",
    )


# -- subspaces -------------------------------------------------------------------------------------


def completion(seed: int) -> Case:
    """A matrix of rank 2, a third of it unseen, by its column space."""
    rng, manifold = _rng(seed), Grassmann(12, 2)
    A = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 10))
    seen = rng.random((12, 10)) < 0.7

    def f(U: Array) -> float:
        left = 0.0
        for column, rows in zip(A.T, seen.T, strict=True):
            c = np.linalg.lstsq(U[rows], column[rows], rcond=None)[0]
            left += float(np.sum((U[rows] @ c - column[rows]) ** 2))
        return left

    return Case(manifold, f, manifold.random_point(rng), 0.0, "smooth")


def robust_subspace(seed: int) -> Case:
    """The plane that 40 points lie in, and 6 others do not: the sum of distances, not squared."""
    rng, manifold = _rng(seed), Grassmann(8, 2)
    basis = _orthogonal(8, rng)[:, :2]
    data = np.r_[rng.standard_normal((40, 2)) @ basis.T, 0.5 * rng.standard_normal((6, 8))]

    def f(U: Array) -> float:
        return float(np.sum(np.linalg.norm(data - data @ U @ U.T, axis=1)))

    return Case(manifold, f, manifold.random_point(rng), f(basis), "kinks")


# -- several minima, kinks, rims -------------------------------------------------------------------


def wells(seed: int) -> Case:
    """Twelve wells on a sphere, one deeper and wider than the others."""
    rng, manifold = _rng(seed), Sphere(5)
    C = manifold.random_point(rng, (12,))
    depth, sharp = np.r_[1.0, rng.uniform(0.5, 0.9, 11)], 12.0

    def f(x: Array) -> float:
        return -float(np.sum(depth * np.exp(-sharp * (1 - C @ x))))

    x = C[0]
    for _ in range(2000):  # ascent of a sum of exponentials: a fixed point, as for means
        w = depth * np.exp(-sharp * (1 - C @ x))
        x = w @ C / np.linalg.norm(w @ C)
    return Case(manifold, f, manifold.random_point(rng), f(x), "several minima")


def ripples(seed: int) -> Case:
    """Distance in SO(3) with three shells of local minima around the optimum."""
    rng, manifold = _rng(seed), Rotations(3)
    goal = manifold.random_point(rng)

    def f(X: Array) -> float:
        t = float(manifold.dist(X, goal))
        return t * t + 0.5 * (1 - math.cos(6 * t))

    return Case(manifold, f, manifold.random_point(rng), 0.0, "several minima")


def game(seed: int) -> Case:
    """The least largest loss in a matrix game: piecewise linear on the simplex."""
    from scipy.optimize import linprog

    rng, n = _rng(seed), 6
    A, manifold = rng.standard_normal((n, n)), Simplex(n)
    best = linprog(
        np.r_[np.zeros(n), 1.0],
        A_ub=np.c_[A, -np.ones(n)],
        b_ub=np.zeros(n),
        A_eq=np.r_[np.ones(n), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
    )
    return Case(
        manifold, lambda p: float(np.max(A @ p)), np.full(n, 1 / n), float(best.fun), "kinks"
    )


def smallest_ball(seed: int) -> Case:
    """The centre of the smallest ball: the largest of distances, three pairs of them opposite."""
    rng, manifold = _rng(seed), Sphere(6)
    c = manifold.random_point(rng)
    V = np.array([manifold.from_coords(c, v) for v in _orthogonal(5, rng)[:3]])
    data = np.array([manifold.exp(c, 0.6 * s * v) for v in V for s in (-1.0, 1.0)])

    def f(x: Array) -> float:
        return float(np.max(manifold.dist(x, data)))

    return Case(manifold, f, _near(manifold, c, 0.5, rng), f(c), "kinks")


def antipode(manifold: Any, seed: int) -> Case:
    """The squared distance to a point, from the point opposite."""
    rng = _rng(seed)
    goal = manifold.random_point(rng)
    if isinstance(manifold, Sphere):
        return Case(manifold, lambda x: float(manifold.dist(x, goal)) ** 2, -goal, 0.0, "smooth")
    a = rng.standard_normal(3)
    half_turn = 2 * np.outer(a, a) / (a @ a) - np.eye(3)
    x0 = manifold.to_manifold(goal @ half_turn)
    return Case(manifold, lambda x: -float(np.sum(goal * x)), x0, -3.0, "saddles and maxima")


def simplex_rim(seed: int) -> Case:
    """A cross-entropy whose best distribution has zeros, which no point of the manifold has."""
    rng, manifold = _rng(seed), Simplex(5)
    q = np.r_[rng.dirichlet(np.ones(3)), 0.0, 0.0]
    least = -float(np.sum(q[:3] * np.log(q[:3])))
    return Case(
        manifold, lambda p: -float(q @ np.log(p)), np.full(5, 0.2), least, "infimum at the rim"
    )


def spd_rim(seed: int) -> Case:
    """The trace on positive definite matrices: its infimum 0 is infinitely far."""
    manifold = SPD(3)
    return Case(
        manifold, lambda X: float(np.trace(X)), manifold.random_point(_rng(seed)), 0.0,
        "infimum at the rim",
    )  # fmt: skip


PROBLEMS: dict[str, Callable[[int], Case]] = {
    "rayleigh": rayleigh,
    "rayleigh-cluster": partial(quotient, np.r_[1, 0.999, 0.998, np.linspace(0.9, 0, 27)], None),
    "rayleigh-saddle": partial(quotient, np.linspace(1, 0, 15), 1),
    "rayleigh-maximum": partial(quotient, np.linspace(1, 0, 15), -1),
    "pca": partial(components, np.geomspace(1, 0.01, 12)),
    "pca-cluster": partial(components, np.r_[1 - 0.01 * np.arange(6), np.linspace(0.5, 0.01, 6)]),
    "sparse-pca": sparse_components,
    "procrustes": partial(procrustes, 1.0),
    "procrustes-ill": partial(procrustes, 30.0),
    "wahba": partial(wahba, 2),
    "wahba-l1": partial(wahba, 1),
    "hand-eye": hand_eye,
    "registration": registration,
    "karcher": partial(karcher, False),
    "karcher-interval": partial(karcher, True),
    "median-spd": partial(centre, SPD(3), 1.0, 1, 1.5),
    "mean-sphere": partial(centre, Sphere(7), 0.5, 2, 0.7),
    "median-sphere": partial(centre, Sphere(7), 0.5, 1, 0.7),
    "median-at-data": median_at_data,
    "mean-hyperbolic": partial(centre, Hyperbolic(5), 1.0, 2, 2.0),
    "median-hyperbolic": partial(centre, Hyperbolic(5), 1.0, 1, 2.0),
    "mean-hyperbolic-far": partial(centre, Hyperbolic(5), 1.0, 2, 12.0),
    "tree": tree,
    "fisher-rao": fisher_rao,
    "thomson": thomson,
    "max-cut": max_cut,
    "completion": completion,
    "robust-subspace": robust_subspace,
    "wells": wells,
    "ripples": ripples,
    "game": game,
    "smallest-ball": smallest_ball,
    "antipode-sphere": partial(antipode, Sphere(10)),
    "antipode-rotation": partial(antipode, Rotations(3)),
    "simplex-rim": simplex_rim,
    "spd-rim": spd_rim,
}

MANIFOLDS = Suite(
    "Problems on manifolds, optima known",
    PROBLEMS,
    budget=300,
    quick=("wahba", "karcher", "median-sphere", "rayleigh-maximum", "game", "mean-hyperbolic"),
)
