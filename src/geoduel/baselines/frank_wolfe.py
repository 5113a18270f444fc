"""Riemannian Frank-Wolfe with exact gradients, to compare with RDFW."""

from __future__ import annotations

from .._numerics.arrays import Array
from .._support.check import instance, nonnegative, positive_int
from ..domains.base import Domain
from ..errors import ArgumentError
from ..problems.base import Problem
from ..result import Result
from .iterates import Iterates, started

__all__ = ["frank_wolfe"]


def frank_wolfe(
    problem: Problem,
    *,
    iterations: int,
    domain: Domain | None = None,
    tolerance: float = 0.0,
    x0: Array | None = None,
) -> Result:
    """Minimise over a geodesically convex set by linear subproblems.

        for k = 0, 1, ..., T-1:
            z = argmin over z in X of <grad f(x), Log_x(z)>
            x = Exp_x(s_k Log_x(z)),   s_k = 2/(k+2)

    Parameters
    ----------
    problem : Problem
        What to minimise, by its gradient.
    iterations : int
        Most iterations T.
    domain : Domain, optional
        Feasible set X with a ``linear_minimizer``; by default the problem's own.
    tolerance : float, >= 0
        Duality gap -<grad f(x), Log_x(z)> at which the run stops. With a geodesically convex f and
        an exact linear minimiser it bounds f(x) - min over X of f.
    x0 : array of shape point_shape, optional
        Start in X, by default the problem's.

    Returns
    -------
    Result
        ``duels`` counts evaluations of f, which are for the record alone, and of its gradient.

    Raises
    ------
    ArgumentError
        If an argument is outside its range, or there is no domain.

    References
    ----------
    Weber and Sra, Riemannian optimization via Frank-Wolfe methods, Mathematical Programming 199
    (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.problems import Karcher
    >>> problem = Karcher(np.array([np.diag([4.0, 1.0]), np.diag([1.0, 9.0])]))
    >>> result = frank_wolfe(problem, iterations=200)
    >>> bool(result.history.monitor[-1] < 1e-3)
    True
    """
    x = started(problem, x0)
    domain = problem.domain() if domain is None else domain
    if domain is None:
        raise ArgumentError(f"{type(problem).__name__} has no domain of its own: give domain=")
    instance(domain, "domain", Domain, "a Domain such as SPDInterval(lower, upper)")
    manifold, f = problem.manifold, problem.objective
    positive_int(iterations, "iterations")
    nonnegative(tolerance, "tolerance")

    run = Iterates(problem, iterations)
    run.add(x, f(x), 1)
    for k in range(iterations):
        g = problem.gradient(x)
        toward = manifold.log(x, domain.linear_minimizer(x, g))
        if -float(manifold.inner(x, g, toward)) <= tolerance:
            return run.result("duality gap")
        x = manifold.geodesic(x, toward)(2 / (k + 2))
        run.add(x, f(x), 1 + 2 * (k + 1))
    return run.result("iterations")
