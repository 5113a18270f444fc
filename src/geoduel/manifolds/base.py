"""What a manifold is: the contract that every geometry in this folder keeps.

A new manifold is one file with one class: representation, metric and source in its docstring, then
the abstract methods below. Everything else follows from them; override what has a faster form.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from .._numerics.arrays import Array, dot, eps, expand, namespace, normal, safe_sqrt
from ..errors import ArgumentError, CutLocusError, NotOnManifoldError, NotTangentError

__all__ = ["Manifold"]


class Manifold(ABC):
    """A Riemannian manifold whose points are arrays of one shape.

    Leading axes are independent problems: every method takes arrays of shape
    ``(..., *point_shape)`` and broadcasts the leading axes, returns numbers of shape ``(...)``,
    keeps dtype and device, and never writes to its inputs. NumPy and torch arrays run through one
    text. Lengths are geodesic lengths (radians on spheres and rotation groups).

    Attributes
    ----------
    dim : int
        Intrinsic dimension d.
    point_shape : tuple of int
        Shape of one point.
    curvature : tuple of float
        Lower and upper bound of the sectional curvature.
    injectivity_radius : float
        Largest r such that `exp` at any point is one-to-one on the open ball of radius r.
    typical_dist : float
        Length scale of the manifold, from which methods choose their first step.
    complete : bool
        Whether all geodesics go on for ever; for how long they do, see `extent`.
    """

    @property
    @abstractmethod
    def dim(self) -> int:
        """Intrinsic dimension."""

    @property
    @abstractmethod
    def point_shape(self) -> tuple[int, ...]:
        """Shape of one point."""

    @property
    @abstractmethod
    def curvature(self) -> tuple[float, float]:
        """Lower and upper bound of the sectional curvature."""

    @property
    @abstractmethod
    def injectivity_radius(self) -> float:
        """Injectivity radius, a geodesic length; infinite where exp is one-to-one."""

    @property
    @abstractmethod
    def typical_dist(self) -> float:
        """Length scale from which methods choose their first step, a geodesic length."""

    @property
    def complete(self) -> bool:
        """Whether all geodesics go on for ever."""
        return True

    # -- metric ----------------------------------------------------------------------------------

    @abstractmethod
    def inner(self, x: Array, u: Array, v: Array) -> Array:
        """Inner product <u, v>_x of tangent vectors, shape ``(...)``."""

    def norm(self, x: Array, u: Array) -> Array:
        """Length of a tangent vector, shape ``(...)``."""
        return safe_sqrt(self.inner(x, u, u))

    @abstractmethod
    def dist(self, x: Array, y: Array) -> Array:
        """Geodesic distance, shape ``(...)``. Exactly zero for equal points."""

    # -- geodesics -------------------------------------------------------------------------------

    @abstractmethod
    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        """Return the geodesic ``t -> exp(x, t v)`` from ``x`` with velocity ``v``.

        The points of one geodesic share the work of the first (an eigendecomposition, a Schur
        form), so a duel and the step along its direction cost little more than one `exp`. ``t`` is
        a number or an array of shape ``(...)``, one number a problem.
        """

    def exp(self, x: Array, v: Array) -> Array:
        """Point reached at time 1 by the geodesic from ``x`` with velocity ``v``.

        ``exp(x, 0)`` is ``x`` to the last bit.
        """
        return self.geodesic(x, v)(1.0)

    def exp_pair(self, x: Array, v: Array) -> tuple[Array, Array]:
        """``exp(x, v)`` and ``exp(x, -v)``, the two points of a duel."""
        point = self.geodesic(x, v)
        return point(1.0), point(-1.0)

    def extent(self, x: Array, v: Array) -> Array:
        """Time t up to which the geodesics of v and -v exist and are shortest, shape ``(...)``.

        By default what is sure of all geodesics, `injectivity_radius` over the length of v.
        """
        length = self.norm(x, v)
        xp, still = namespace(length), length == 0
        return xp.where(still, math.inf, self.injectivity_radius / xp.where(still, 1.0, length))

    @abstractmethod
    def log(self, x: Array, y: Array) -> Array:
        """Shortest tangent vector at ``x`` with ``exp(x, log(x, y)) = y``.

        Raises
        ------
        CutLocusError
            If it is not unique, for single points; entries of batches are NaN instead.
        """

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        """Parallel transport of ``v`` from ``x`` to ``y`` along the minimising geodesic."""
        return self.transport_along(x, self.log(x, y), v)

    @abstractmethod
    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        """Parallel transport of ``w`` from ``x`` to ``exp(x, v)`` along t -> exp(x, t v)."""

    # -- coordinates -----------------------------------------------------------------------------

    @abstractmethod
    def to_coords(self, x: Array, v: Array) -> Array:
        """Coordinates of ``v`` in a fixed orthonormal basis at ``x``, shape ``(..., dim)``."""

    @abstractmethod
    def from_coords(self, x: Array, c: Array) -> Array:
        """Tangent vector at ``x`` with coordinates ``c`` of shape ``(..., dim)``; isometric."""

    def unit_tangent(
        self, rng: np.random.Generator, x: Array, batch: tuple[int, ...] = ()
    ) -> Array:
        """Unit tangent vectors at ``x``, uniform in the metric.

        Gaussian coordinates in an orthonormal basis, normalised. Normalising an ambient Gaussian
        projected on the tangent space is the same only where the metric is the ambient one.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        x : array of shape (..., *point_shape)
            Base points.
        batch : tuple of int
            Leading axes to add: independent directions at each point.

        Returns
        -------
        array of shape (*batch, ..., *point_shape)
        """
        lead = tuple(x.shape[: x.ndim - len(self.point_shape)])
        c = normal(rng, (*batch, *lead, self.dim), x)
        return self.from_coords(x, c / expand(safe_sqrt(dot(c, c)), 1))

    def random_geodesic(self, rng: np.random.Generator, x: Array) -> Callable[..., Array]:
        """Geodesic from ``x`` of unit speed, in a direction that is uniform in the metric.

        The same as ``geodesic(x, unit_tangent(rng, x))`` up to rounding; a manifold may save work.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        x : array of shape (..., *point_shape)
            Base points.

        Returns
        -------
        callable
            ``t -> exp(x, t u)``, t a length: a number or an array of shape ``(...)``.
        """
        return self.geodesic(x, self.unit_tangent(rng, x))

    # -- between the ambient space and the manifold ----------------------------------------------

    @abstractmethod
    def to_tangent(self, x: Array, a: Array) -> Array:
        """Project an ambient array on the tangent space at ``x`` (a tangent vector stays)."""

    @abstractmethod
    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        """Gradient in the metric, from the array ``g`` of partial derivatives at ``x``."""

    @abstractmethod
    def to_manifold(self, a: Array) -> Array:
        """Map an ambient array near the manifold to a point on it (a point stays).

        Raises
        ------
        NotOnManifoldError
            Where there is no sensible point, such as the centre of a sphere.
        """

    @abstractmethod
    def random_point(
        self, rng: np.random.Generator, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Random points of shape ``(*batch, *point_shape)``, of the kind of ``like`` if given."""

    # -- checks at the border --------------------------------------------------------------------

    @abstractmethod
    def _point_defect(self, x: Array) -> tuple[str, Array]:
        """What measures the distance of ``x`` from the manifold (words), and its value >= 0."""

    @abstractmethod
    def _tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        """What measures the distance of ``v`` from the tangent space at ``x``, and its value."""

    def check_point(self, x: Array, name: str = "x") -> None:
        """Raise unless ``x`` is a finite array of points on the manifold, up to rounding.

        Raises
        ------
        ArgumentError
            If it is no floating-point array, has a wrong shape, or is not finite.
        NotOnManifoldError
            If it is off the manifold by more than the square root of the rounding unit.
        """
        self._check_array(x, name)
        words, defect = self._point_defect(x)
        worst = float(namespace(x).max(defect)) if getattr(defect, "ndim", 0) else float(defect)
        if not worst <= math.sqrt(eps(x)):
            raise NotOnManifoldError(
                f"{name} is not on {self}: {words} is {worst:.3g}, expected 0 up to rounding "
                f"(at most {math.sqrt(eps(x)):.1g})"
            )

    def check_tangent(self, x: Array, v: Array, name: str = "v") -> None:
        """Raise unless ``v`` is a finite array of tangent vectors at ``x``, up to rounding.

        Raises
        ------
        ArgumentError
            If it is no floating-point array, has a wrong shape, or is not finite.
        NotTangentError
            If it is not tangent.
        """
        self._check_array(v, name)
        words, defect = self._tangent_defect(x, v)
        worst = float(namespace(v).max(defect)) if getattr(defect, "ndim", 0) else float(defect)
        if not worst <= math.sqrt(eps(v)):
            raise NotTangentError(
                f"{name} is not tangent to {self} at the given point: {words} is {worst:.3g}, "
                f"expected 0 up to rounding (at most {math.sqrt(eps(v)):.1g})"
            )

    def _check_array(self, a: Array, name: str) -> None:
        try:
            xp = namespace(a)
        except TypeError:
            raise ArgumentError(
                f"{name} must be an array, got {type(a).__name__}: {a!r:.80}"
            ) from None
        if not hasattr(a, "dtype") or not xp.isdtype(a.dtype, "real floating"):
            kind = getattr(a, "dtype", type(a).__name__)
            raise ArgumentError(f"{name} must be an array of real floating numbers, got {kind}")
        k = len(self.point_shape)
        if tuple(a.shape[max(a.ndim - k, 0) :]) != self.point_shape:
            raise ArgumentError(
                f"{name} has shape {tuple(a.shape)}, expected {self._shape_words()} for {self}"
            )
        if not bool(xp.all(xp.isfinite(a))):
            raise ArgumentError(f"{name} is not finite: it holds NaN or infinite entries")

    def _shape_words(self) -> str:
        return "(..., " + ", ".join(map(str, self.point_shape)) + ")"

    def _mark_cut_locus(self, bad: Array, value: Array, x: Array, y: Array) -> Array:
        """Single points in the cut locus raise; entries of a batch become NaN."""
        if value.ndim == len(self.point_shape):
            if bool(bad):
                raise CutLocusError(
                    f"log on {self}: y is in the cut locus of x, the minimising geodesic is not "
                    f"unique; x = {x!r:.60}, y = {y!r:.60}"
                )
            return value
        xp = namespace(value)
        nan = xp.asarray(math.nan, dtype=value.dtype, device=value.device)
        return xp.where(expand(bad, len(self.point_shape)), nan, value)
