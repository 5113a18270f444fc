"""Manifolds from pymanopt, and to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import as_generator, instance
from ...errors import ArgumentError, MissingExtraError
from ..base import Manifold
from ..product import Product, is_mixed
from .foreign import ForeignManifold, require, seeded, together

__all__ = ["from_pymanopt", "parts_of_problem", "to_pymanopt"]


def from_pymanopt(
    manifold: Any,
    *,
    curvature: tuple[float, float] = (-math.inf, math.inf),
    injectivity_radius: float = math.inf,
) -> Manifold:
    """Make a manifold of pymanopt usable by every method here.

    Points and tangent vectors are those of pymanopt. On its rotation groups, for instance, a
    tangent vector at x is the skew-symmetric factor Ω of x Ω, and lengths are √2 times the angle.
    A pymanopt product becomes a `Product`, whose points are flat vectors.

    Parameters
    ----------
    manifold : pymanopt.manifolds.manifold.Manifold
        A manifold whose points are real arrays.
    curvature : tuple of float, optional
        Bounds of the sectional curvature, which pymanopt does not tell. Those of a product hold for
        its factors.
    injectivity_radius : float, optional
        The injectivity radius, which pymanopt does not tell either, as a product's is the least.

    Returns
    -------
    Manifold
        Computes in NumPy, one point at a time; torch tensors on the CPU are converted. `transport`
        is pymanopt's, which on most of its manifolds is no parallel transport but a projection.
        pymanopt has neither checks of points nor a projection on the manifold: `check_point` checks
        the shape, and `to_manifold` returns what it is given.

    Raises
    ------
    ArgumentError
        If it is no such manifold, or its points are not real arrays.

    Examples
    --------
    >>> from pymanopt.manifolds import SymmetricPositiveDefinite
    >>> spd = from_pymanopt(SymmetricPositiveDefinite(2))
    >>> x = np.diag([100.0, 1.0])
    >>> u = spd.unit_tangent(np.random.default_rng(0), x)  # uniform in the metric at x
    >>> round(float(spd.norm(x, u)), 12)
    1.0
    """
    require(manifold, "manifold", "pymanopt", ("inner_product", "projection", "random_point"))
    if isinstance(factors := getattr(manifold, "manifolds", None), tuple):
        known: Any = {"curvature": curvature, "injectivity_radius": injectivity_radius}
        return Product(*(from_pymanopt(factor, **known) for factor in factors))

    from pymanopt.manifolds.manifold import Manifold as Base

    # Where tangent vectors are not ambient ones (rotations), `projection` takes ambient ones only;
    # elsewhere it is the one to trust, for pymanopt's symmetric matrices keep the other's identity.
    ambient = type(manifold).embedding is Base.embedding
    project = manifold.projection if ambient else manifold.to_tangent_space

    def random_points(rng: np.random.Generator, count: int) -> Array:
        with seeded(rng):
            return np.stack([manifold.random_point() for _ in range(count)])

    return ForeignManifold(
        manifold,
        {
            "inner": manifold.inner_product,
            "dist": manifold.dist,
            "exp": manifold.exp,
            "log": manifold.log,
            "transport": manifold.transport,
            "to_tangent": project,
            "riemannian_gradient": manifold.euclidean_to_riemannian_gradient,
        },
        random_points,
        leading_axes=_one_by_one,
        dim=int(manifold.dim),
        typical_dist=_typical_dist(manifold),
        curvature=curvature,
        injectivity_radius=injectivity_radius,
    )


def to_pymanopt(manifold: Manifold, rng: np.random.Generator | int | None = None) -> Any:
    """Make one of our manifolds a pymanopt manifold, for pymanopt's solvers.

    Parameters
    ----------
    manifold : Manifold
        Any manifold of this package.
    rng : numpy.random.Generator, int or None
        Source of randomness for random points, or its seed.

    Returns
    -------
    pymanopt.manifolds.manifold.Manifold
        With `exp` for retraction and parallel transport for transport. It serves first-order
        and derivative-free solvers; the Hessian that trust regions need is not converted.

    Raises
    ------
    ArgumentError
        If it has categories or integers, which no geodesic changes.
    MissingExtraError
        If pymanopt is not installed.

    Examples
    --------
    >>> from geoduel.manifolds.sphere import Sphere
    >>> sphere = to_pymanopt(Sphere(3), rng=0)
    >>> sphere.retraction(np.eye(3)[0], np.pi / 2 * np.eye(3)[1]).round(6)
    array([0., 1., 0.])
    """
    instance(manifold, "manifold", Manifold, "a Manifold of geoduel")  # the import takes a while
    if is_mixed(manifold):
        raise ArgumentError(
            f"to_pymanopt takes no categories and integers, as {manifold!r:.120} has them: a "
            "solver would leave them as they are"
        )
    try:
        import pymanopt.manifolds.manifold as pymanopt
    except ImportError:
        raise MissingExtraError(
            "to_pymanopt needs pymanopt: pip install 'geoduel[bench]', or pymanopt itself"
        ) from None
    generator = as_generator(rng)
    base: Any = pymanopt.Manifold

    class PymanoptManifold(base):
        """One of our manifolds, with pymanopt's names."""

        def __init__(self) -> None:
            super().__init__(repr(manifold), manifold.dim)

        @property
        def typical_dist(self) -> float:
            return manifold.typical_dist

        inner_product = staticmethod(manifold.inner)
        norm = staticmethod(manifold.norm)
        dist = staticmethod(manifold.dist)
        exp = staticmethod(manifold.exp)
        retraction = staticmethod(manifold.exp)
        log = staticmethod(manifold.log)
        transport = staticmethod(manifold.transport)
        projection = staticmethod(manifold.to_tangent)
        to_tangent_space = staticmethod(manifold.to_tangent)
        euclidean_to_riemannian_gradient = staticmethod(manifold.riemannian_gradient)
        zero_vector = staticmethod(np.zeros_like)

        def random_point(self) -> np.ndarray:
            return manifold.random_point(generator)

        def random_tangent_vector(self, point: np.ndarray) -> np.ndarray:
            return manifold.unit_tangent(generator, point)

        def pair_mean(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
            return manifold.exp(point_a, manifold.log(point_a, point_b) / 2)

    return PymanoptManifold()


def parts_of_problem(problem: Any) -> tuple[Callable[[Array], Any], Manifold]:
    """Return the cost of a pymanopt problem, as a function of our points, and its manifold here.

    Raises
    ------
    ArgumentError
        If it has no cost or no manifold; the message is about the arguments of `minimize`.
    """
    if not (hasattr(problem, "cost") and hasattr(problem, "manifold")):
        raise ArgumentError(
            "manifold is missing: minimize(oracle, manifold), or minimize(problem) with a "
            f"pymanopt.Problem; got {problem!r:.80}"
        )
    cost, manifold = problem.cost, from_pymanopt(problem.manifold)
    if not isinstance(manifold, Product):
        return cost, manifold
    return lambda x: cost(_parts(manifold, x)), manifold


def _parts(manifold: Manifold, x: Array) -> Any:
    """A point of a product as pymanopt has it, a list."""
    if not isinstance(manifold, Product):
        return x
    return [_parts(*pair) for pair in zip(manifold.factors, manifold.split(x), strict=True)]


def _typical_dist(manifold: Any) -> float | None:
    try:
        return float(manifold.typical_dist)
    except NotImplementedError:
        return None


def _one_by_one(f: Callable[..., Any], axes: int, *arrays: Array) -> Any:
    """Batches for a package that takes single points."""
    if all(a.ndim == axes for a in arrays):
        return f(*arrays)
    lead, stacks = together(axes, arrays)
    results = np.stack([np.asarray(f(*points)) for points in zip(*stacks, strict=True)])
    return results.reshape(*lead, *results.shape[1:])
