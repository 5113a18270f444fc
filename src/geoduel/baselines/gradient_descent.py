"""Riemannian gradient descent, which sees gradients."""

from __future__ import annotations

from .._numerics.arrays import Array, eps
from .._support.check import nonnegative, positive, positive_int
from ..problems.base import Problem
from ..result import Result
from .iterates import Iterates, started

__all__ = ["rgd"]


def rgd(
    problem: Problem,
    *,
    iterations: int,
    step_size: float | None = None,
    tolerance: float = 0.0,
    x0: Array | None = None,
) -> Result:
    """Gradient descent along geodesics, x ← Exp_x(-η grad f(x)).

    Parameters
    ----------
    problem : Problem
        What to minimise, by its objective and its gradient.
    iterations : int
        Most iterations.
    step_size : float, optional
        Constant η. By default Armijo's rule: twice the last step, halved until the value falls by
        at least η |grad f|²/4.
    tolerance : float, >= 0
        Norm of the gradient at which the run stops.
    x0 : array of shape point_shape, optional
        Start, by default the problem's.

    Returns
    -------
    Result
        ``duels`` counts evaluations of f and of its gradient. ``stop_reason`` is "iterations",
        "gradient", or "no descent" if no step decreases the value.

    Raises
    ------
    ArgumentError
        If an argument is outside its range.

    References
    ----------
    Boumal, An Introduction to Optimization on Smooth Manifolds (2023), chapter 4.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.problems import Rayleigh
    >>> problem = Rayleigh(np.diag([1.0, 2.0, 3.0]), np.array([0.6, 0.0, 0.8]))
    >>> result = rgd(problem, iterations=100, tolerance=1e-9)
    >>> abs(result.x).round(6), result.stop_reason
    (array([0., 0., 1.]), 'gradient')
    """
    x = started(problem, x0)
    manifold, f = problem.manifold, problem.objective
    positive_int(iterations, "iterations")
    nonnegative(tolerance, "tolerance")
    t = 0.5 if step_size is None else positive(step_size, "step_size")

    run = Iterates(problem, iterations)
    value = f(x)
    run.add(x, value, evaluations := 1)
    for _ in range(iterations):
        g = problem.gradient(x)
        evaluations += 1
        square = float(manifold.inner(x, g, g))
        if square <= tolerance**2:
            return run.result("gradient")
        geodesic = manifold.geodesic(x, -g)
        if step_size is not None:
            x = geodesic(t)
            value = f(x)
            evaluations += 1
        else:
            # Where rounding hides the decrease, the last step that worked is kept.
            rounding = 8 * eps(x) * abs(float(value))
            if t * square > 4 * rounding:
                t *= 2
            while True:
                ahead = geodesic(t)
                at = f(ahead)
                evaluations += 1
                if at <= value - t * square / 4 + rounding:
                    break
                t /= 2
                if t < 1e-15:
                    return run.result("no descent")
            x, value = ahead, at
        run.add(x, value, evaluations)
    return run.result("iterations")
