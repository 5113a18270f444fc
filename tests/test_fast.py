"""Every fast path does what its plain twin does.

A function named ``fast_...`` is a second way to a result, kept because it pays: the section on
paths in `benchmarks/README.md` says what it buys. Each has a case here: the fast path, the plain
one, and the arguments, among them those where the two differ most.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import geoduel as gd
from geoduel._numerics.arrays import cos_sinc, cosh_sinhc, dot, fast_short_dot
from geoduel._numerics.exponential import fast_series, series
from geoduel._numerics.linalg import fast_lapack, fast_matmul
from geoduel.manifolds.grassmann import fast_squared_angles, squared_angles
from geoduel.manifolds.sphere import fast_angle, fast_walk
from geoduel.problems import Rayleigh
from geoduel.problems.karcher import Karcher, fast_log_eigenvalues, log_eigenvalues
from geoduel.problems.karcher_mean import whiten

EPS = np.finfo(float).eps


class Case(NamedTuple):
    """A fast path beside its plain twin."""

    name: str
    fast: Callable[..., Any]
    plain: Callable[..., Any]
    arguments: tuple[Any, ...]
    units: float  # rounding units of the largest entry by which the two may differ


# -- vectors: arrays, spheres, hyperbolic space ----------------------------------------------------


def vector_cases() -> Iterator[Case]:
    for n in (2, 3, 100):
        x = gd.Sphere(n).random_point(np.random.default_rng(n))
        for t in (0.0, 1e-9, -1e-3, 0.7, 9.0, 1, np.array([0.0, 0.5])):
            units = 4 + 2 * np.max(np.abs(t))  # the length of the direction is 1 up to rounding
            yield Case(f"walk {n} {t}", walk(fast_walk), walk(plain_walk), (x, t), units)
        yield Case(f"dot {n}", dot, np.vecdot, (x, x), 4)
        problem = Rayleigh.random(n, 0)
        f = problem.objective
        yield Case(f"Rayleigh {n}", f, lambda x, f=f: f(x[None])[0], (problem.optimum,), 16)
    # Masks, asked for by one more entry at which a formula fails, change nothing for the others.
    stack = np.array([1e-300, 1e-9, 0.3, 4.0, 1e4])
    for f in (cos_sinc, cosh_sinhc):
        beside = lambda a, f=f: tuple(b[1:] for b in f(np.append(0.0, a)))  # noqa: E731
        yield Case(f.__name__, f, beside, (stack,), 0)
    x, y = gd.Sphere(5).random_point(np.random.default_rng(2), (2, 7))
    y = np.where(np.vecdot(x, y)[:, None] < 0, -y, y)
    yield Case("log of near points", gd.Sphere(5).log, log_beside_far, (x, y), 0)
    for n in (1, 2, 16):  # n products and sums are rounded in another order
        u, v = np.random.default_rng(n).standard_normal((2, 9, n))
        yield Case(f"short dot {n}", fast_short_dot, np.vecdot, (u, v), 4 * n)
        later = lambda u, v: np.vecdot(u[:, 1:], v[:, 1:])  # noqa: E731
        from_one = lambda u, v: fast_short_dot(u, v, 1)  # noqa: E731
        yield Case(f"short dot {n}, from 1", from_one, later, (u, v), 4 * n)
    angles = np.array([0.65, 1.0, np.pi / 2, 2.4])
    x, y = np.eye(3)[[0] * 4], np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    yield Case("angle of a stack", lambda x, y: fast_angle(np.vecdot(x, y)), plain_angle, (x, y), 4)
    yield Case(
        "angle of a pair", lambda x, y: fast_angle(float(x @ y)), plain_angle, (x[0], y[0]), 4
    )


def walk(random_geodesic):
    return lambda x, t: random_geodesic(gd.Sphere(x.size), np.random.default_rng(1), x)(t)


def plain_walk(sphere, rng, x):
    return gd.Manifold.random_geodesic(sphere, rng, x)


def plain_angle(x, y):
    return 2 * np.atan2(np.linalg.norm(x - y, axis=-1), np.linalg.norm(x + y, axis=-1))


def log_beside_far(x, y):
    far = np.roll(x[:1], 1), -np.roll(y[:1], 2)
    far = far if np.vecdot(*far)[0] < 0 else (far[0], -far[1])
    return gd.Sphere(5).log(np.concatenate([x, far[0]]), np.concatenate([y, far[1]]))[:-1]


# -- matrices: products, exponentials, SPD, rotations ----------------------------------------------


def matrix_cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 5, 5))
    x = a @ a.T + np.eye(5)
    for name, pair in {
        "two": (a, b),
        "transposed": (a.T, b.T),
        "stack": (a, np.stack([b, a])),
    }.items():
        yield Case(f"matmul, {name}", fast_matmul, operator.matmul, pair, 8)

    def lapack(routine: str, place: int, *options: int) -> Callable[..., Any]:
        return lambda m: fast_lapack(routine, m, *options)[place]

    yield Case("eigenvalues", lapack("syevd", 0), np.linalg.eigvalsh, (x,), 8)
    yield Case("singular values", lapack("gesdd", 1), np.linalg.svdvals, (a,), 8)
    yield Case("Cholesky", lapack("potrf", 0, 1), np.linalg.cholesky, (x,), 8)
    yield Case("inverse factor", lapack("trtri", 0, 1), np.linalg.inv, (np.linalg.cholesky(x),), 64)
    for rows in (1, 2, 4):
        yield Case(f"series, {rows}", fast_series, series, (a, rng.standard_normal((rows, 4))), 8)
    for angles in ([0.1, 0.7, 1.5], [0.0, 1e-7, 0.3], [0.0, 0.0, 1e-9]):
        sines, cosines = np.diag(np.sin(angles)), np.diag(np.cos(angles))
        name = f"squared angles up to {max(angles):g}"
        yield Case(name, fast_squared_angles, squared_angles, (cosines, sines), 16)
    for condition in (10.0, 1e6):
        matrices = Karcher.random(5, 10, condition, rng=0).matrices
        wt = np.ascontiguousarray(whiten(matrices).mT)
        w = whiten(matrices).reshape(-1, 5)
        yield Case(
            f"eigenvalues of A⁻¹X, condition {condition:g}",
            fast_log_eigenvalues,
            lambda w, wt, x: log_eigenvalues(w, x)[..., ::-1],
            (w, wt, matrices.mean(axis=0)),
            64,
        )


# -- duels: oracles and methods --------------------------------------------------------------------


def duel_cases() -> Iterator[Case]:
    yield from ()


CASES = [*vector_cases(), *matrix_cases(), *duel_cases()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fast_is_plain(case):
    fast, plain = case.fast(*case.arguments), case.plain(*case.arguments)
    if not isinstance(fast, tuple):
        fast, plain = (fast,), (plain,)
    for a, b in zip(fast, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=case.units * EPS * np.max(np.abs(b)))
