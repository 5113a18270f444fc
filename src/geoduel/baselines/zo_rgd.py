"""Zeroth-order Riemannian gradient descent, the paper's yardstick that sees values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._numerics.arrays import Array, device, expand, namespace
from .._support.check import as_generator, positive, positive_int
from ..manifolds.base import Manifold
from ..problems.base import Problem
from ..result import Result
from .iterates import Iterates, started

__all__ = ["zo_rgd"]


def zo_rgd(
    problem: Problem,
    *,
    iterations: int,
    step_size: float | None = None,
    smoothing: float = 1e-6,
    directions: int = 1,
    x0: Array | None = None,
    rng: np.random.Generator | int | None = None,
) -> Result:
    """Gradient descent with a gradient estimated from differences of values.

        for k = 0, 1, ..., T-1:
            g = (1/m) Σ_j (f(Exp_x(μ u_j)) - f(x))/μ u_j,   u_j Gaussian in T_x M
            x = Exp_x(-η g)

    Parameters
    ----------
    problem : Problem
        What to minimise; only its objective is used (its smoothness for the default step).
    iterations : int
        T.
    step_size : float, optional
        η; by default 1/(2 d L), with d the dimension and L the smoothness of the problem, as the
        paper takes it for the Rayleigh quotient.
    smoothing : float
        μ, a geodesic length: the perturbation is μ|u|, about μ√d.
    directions : int
        m.
    x0 : array of shape (..., *point_shape), optional
        Start, by default the problem's. Leading axes are independent runs in lock step.
    rng : int or numpy.random.Generator, optional
        Source of the directions.

    Returns
    -------
    Result
        ``duels`` counts evaluations of f: m + 1 an iteration, and one at the start.

    Raises
    ------
    ArgumentError
        If an argument is outside its range.

    References
    ----------
    Li, Balasubramanian and Ma, Stochastic zeroth-order Riemannian derivative estimation and
    optimization, Mathematics of Operations Research 48 (2023).

    Examples
    --------
    >>> from geoduel.problems import Rayleigh
    >>> problem = Rayleigh(np.diag([1.0, 2.0, 3.0]), np.array([0.6, 0.8, 0.0]))
    >>> result = zo_rgd(problem, iterations=500, rng=0)
    >>> abs(result.x).round(3), result.duels
    (array([0., 0., 1.]), 1001)
    """
    x = started(problem, x0)
    manifold, f = problem.manifold, problem.objective
    positive_int(iterations, "iterations")
    positive_int(directions, "directions")
    positive(smoothing, "smoothing")
    step = 1 / (2 * manifold.dim * problem.smoothness) if step_size is None else step_size
    positive(step, "step_size")
    rng = as_generator(rng)

    axes = len(manifold.point_shape)
    batch = () if directions == 1 else (directions,)
    shape = (*batch, *x.shape[: x.ndim - axes])
    run = Iterates(problem, iterations)
    value = f(x)
    run.add(x, value, evaluations := 1)
    for _ in range(iterations):
        # A Gaussian vector is a uniform direction times an independent length.
        u, length = manifold.unit_tangent(rng, x, batch), _gaussian_length(rng, shape, manifold, x)
        walk = manifold.geodesic(x, u)
        slope = (f(walk(smoothing * length)) - value) / smoothing  # along the Gaussian vector
        if directions == 1:
            x = walk(-step * slope * length)
        else:
            x = manifold.exp(x, -step * namespace(x).mean(expand(slope * length, axes) * u, axis=0))
        value = f(x)
        evaluations += directions + 1
        run.add(x, value, evaluations)
    return run.result("iterations")


def _gaussian_length(
    rng: np.random.Generator, shape: tuple[int, ...], manifold: Manifold, x: Array
) -> Any:
    """Lengths of standard Gaussian tangent vectors, χ distributed; a float for a single one."""
    square = rng.chisquare(manifold.dim, shape)
    if not shape:
        return math.sqrt(square)
    return namespace(x).asarray(np.sqrt(square), dtype=x.dtype, device=device(x))
