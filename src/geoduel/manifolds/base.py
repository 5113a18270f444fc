"""What a manifold is: the contract that every geometry in this folder keeps.

Seven members define a geometry: `dim`, `point_shape`, `inner`, `exp` (or `geodesic`), `log`,
`to_tangent` and `to_manifold`. All else follows from these; override what has a formula.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from .._numerics.arrays import (
    HIDDEN,
    Array,
    device,
    dot,
    eps,
    expand,
    fails,
    largest,
    namespace,
    normal,
    safe_sqrt,
    signs,
)
from ..errors import (
    ArgumentError,
    CutLocusError,
    MissingOperationError,
    NotOnManifoldError,
    NotTangentError,
)
from ._border import Seed, as_array, at_the_border, name_misfits, own_border
from ._derived import (
    dist_by_variation,
    ladder_transport,
    median_dist,
    orthonormal_basis,
    relative_gap,
)

__all__ = ["Manifold"]


class Manifold(ABC):
    """A Riemannian manifold whose points are arrays of one shape.

    Leading axes are independent problems: every method takes arrays of shape
    ``(..., *point_shape)``, broadcasts the leading axes, and returns numbers of shape ``(...)``. It
    keeps dtype and device, and never writes to its inputs. NumPy and torch arrays run through one
    text. Lengths are geodesic lengths (radians on spheres and rotation groups). Lists, whole
    numbers and seeds are taken where arrays and generators are expected; see `pack`.

    For a manifold of your own, define `dim`, `point_shape`, `inner`, `exp`, `log`, `to_tangent` and
    `to_manifold`; CONTRIBUTING has an example, and `geoduel.testing.ManifoldContract` tests it. The
    docstrings here say how the other members follow. State `curvature` and `injectivity_radius`
    where they are known. Where dim is above some hundred, or methods are to run fast, override
    `to_coords` and `from_coords`, which cost dim³ operations here, and `transport_along`.

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
    bounded : bool
        Whether the diameter is finite, so that `random_point` draws from all of the manifold.
    closed_form : bool
        Whether `dist` of many pairs is cheap.
    names : tuple of str or None
        Names of the parts of a point, where it has any; see `unpack`.
    """

    names: tuple[str, ...] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        at_the_border(cls)

    @property
    @abstractmethod
    def dim(self) -> int:
        """Intrinsic dimension."""

    @property
    @abstractmethod
    def point_shape(self) -> tuple[int, ...]:
        """Shape of one point."""

    @property
    def curvature(self) -> tuple[float, float]:
        """Lower and upper bound of the sectional curvature.

        By default infinite, for unknown: a `Ball` then proves no convexity and looks for its linear
        minimiser nowhere.
        """
        return (-math.inf, math.inf)

    @property
    def injectivity_radius(self) -> float:
        """Injectivity radius, a geodesic length; infinite where exp is one-to-one.

        By default infinite. Where it is unknown, that limits no step: beyond the cut locus `exp`
        still leads to points, and duels judge them. Where it is known and finite, state it, for a
        `Ball` relies on it; `ManifoldContract` tells where it must be.
        """
        return math.inf

    @property
    def typical_dist(self) -> float:
        """Length scale from which methods choose their first step, a geodesic length.

        By default the median distance of 32 pairs of random points, always the same pairs. On the
        manifolds of this package that is 0.4 to 1.6 times what they state.
        """
        return median_dist(self)

    @property
    def complete(self) -> bool:
        """Whether all geodesics go on for ever; by default they do."""
        return True

    @property
    def bounded(self) -> bool:
        """Whether the diameter is finite; by default that is not known, and False."""
        return False

    @property
    def closed_form(self) -> bool:
        """Whether `dist` of many pairs is cheap; by default True. Where not, methods ask for few.

        A geometry whose `log` iterates, or that takes one point at a time, says False.
        """
        return True

    # -- metric ----------------------------------------------------------------------------------

    @abstractmethod
    def inner(self, x: Array, u: Array, v: Array) -> Array:
        """Inner product <u, v>_x of tangent vectors, shape ``(...)``."""

    @own_border
    def norm(self, x: Array, u: Array) -> Array:
        """Length of a tangent vector, shape ``(...)``: the square root of `inner`."""
        square = self.inner(x, u, u)
        # NumPy's numbers take [..., None] as arrays do, Python's do not.
        return np.sqrt(square) if type(square) is np.float64 else safe_sqrt(square)

    def dist(self, x: Array, y: Array) -> Array:
        """Geodesic distance, shape ``(...)``. Exactly zero for equal points.

        By default the length of `log`. Where that is not unique the distance still is: it follows
        from a point beside y, by the first variation of length, to about ten digits.
        """
        xp, axes = namespace(x, y), tuple(range(-len(self.point_shape), 0))
        try:
            d = self.norm(x, self.log(x, y))
        except CutLocusError:
            return dist_by_variation(self, x, y)
        d = np.float64(d) if isinstance(d, float) else d
        lost = xp.isnan(d) & xp.all(xp.isfinite(x + y), axis=axes)
        if bool(xp.any(lost)):
            d = xp.where(lost, dist_by_variation(self, x, y), d)
        d = xp.where(xp.all(x == y, axis=axes), xp.zeros_like(d), d)
        return d if d.ndim else d[()]

    # -- geodesics -------------------------------------------------------------------------------

    @own_border
    def exp(self, x: Array, v: Array) -> Array:
        """Point reached at time 1 by the geodesic from ``x`` with velocity ``v``.

        ``exp(x, 0)`` is ``x`` to the last bit. A manifold defines `exp`, or `geodesic`, from which
        it follows.
        """
        try:
            return self.geodesic(x, v)(1.0)
        except Exception as error:
            name_misfits(self, error, x=x, v=v)
            raise

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        """Return the geodesic ``t -> exp(x, t v)`` from ``x`` with velocity ``v``.

        ``t`` is a number or an array of shape ``(...)``, one number a problem. Override it where
        the points of one geodesic can share work, such as an eigendecomposition. A duel and the
        step along its direction then cost little more than one `exp`.
        """
        if type(self).exp is Manifold.exp:
            raise MissingOperationError(
                f"{type(self).__name__} must define exp(x, v), or geodesic(x, v), from which exp "
                "follows; it has neither"
            )
        return lambda t: self.exp(x, expand(t, len(self.point_shape)) * v)

    @own_border
    def exp_pair(self, x: Array, v: Array) -> tuple[Array, Array]:
        """``exp(x, v)`` and ``exp(x, -v)``, the two points of a duel."""
        try:
            point = self.geodesic(x, v)
            return point(1.0), point(-1.0)
        except Exception as error:
            name_misfits(self, error, x=x, v=v)
            raise

    @own_border
    def extent(self, x: Array, v: Array) -> Array:
        """Time t up to which the geodesics of v and -v exist and are shortest, shape ``(...)``.

        By default what is sure of all geodesics, `injectivity_radius` over the length of v.
        """
        length = self.norm(x, v)
        xp, still = namespace(length), length == 0
        return xp.where(still, math.inf, self.injectivity_radius / xp.where(still, 1.0, length))

    def room(self, x: Array) -> float:
        """Length of the steps from ``x`` whose ends numbers of its dtype can hold.

        The least one of several points. By default infinite where the manifold is `bounded`. Else
        it is what the largest entry lacks of the cube root of the largest number, and next to
        nothing once that is less than a hundredth.
        """
        if self.bounded:
            return math.inf
        most = largest(x) ** (1 / 3)
        left = most - float(namespace(x).max(abs(x)))
        return max(0.0, left if left > most / 100 else min(left, self.typical_dist / 1000))

    @abstractmethod
    def log(self, x: Array, y: Array) -> Array:
        """Shortest tangent vector at ``x`` with ``exp(x, log(x, y)) = y``.

        Raises
        ------
        CutLocusError
            If it is not unique, for single points; entries of batches are NaN instead. See
            `mark_cut_locus`.
        """

    def mark_cut_locus(self, bad: Array, value: Array, x: Array, y: Array) -> Array:
        """Return ``value`` of `log`, with what is not unique marked as `log` must.

        Parameters
        ----------
        bad : array of bool, shape (...)
            Where y is in the cut locus of x.
        value : array of shape (..., *point_shape)
            What `log` would return; there, it does not matter.
        x, y : array
            The points, for the message.

        Raises
        ------
        CutLocusError
            If ``bad`` holds for a single point. Entries of a batch become NaN.
        """
        if value.ndim == len(self.point_shape):
            try:
                cut = bool(bad)
            except HIDDEN:  # whether it is one problem or a batch
                cut = None
            if cut:
                raise CutLocusError(
                    f"log on {self}: y is in the cut locus of x, the minimising geodesic is not "
                    f"unique; x = {x!r:.60}, y = {y!r:.60}"
                )
            if cut is False:
                return value
        xp = namespace(value)
        nan = xp.asarray(math.nan, dtype=value.dtype, device=device(value))
        return xp.where(expand(bad, len(self.point_shape)), nan, value)

    @own_border
    def transport(self, x: Array, y: Array, v: Array) -> Array:
        """Parallel transport of ``v`` from ``x`` to ``y`` along the minimising geodesic."""
        return self.transport_along(x, self.log(x, y), v)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        """Parallel transport of ``w`` from ``x`` to ``exp(x, v)`` along t -> exp(x, t v).

        By default by pole ladders, which need `exp` and `log` alone. Lengths and angles are kept
        to rounding. On symmetric spaces (spheres, hyperbolic spaces, groups, SPD, products) the
        result is exact to rounding. Elsewhere a ladder of n rungs has an error of order 1/n²;
        ladders of up to 32 times as many rungs are extrapolated to about 1e-12. The cost is that of
        a dozen `exp` and `log` of dim vectors on symmetric spaces, and up to 20 times as much
        elsewhere.

        References
        ----------
        Guigui and Pennec, Numerical accuracy of ladder schemes for parallel transport on manifolds,
        Foundations of Computational Mathematics 22 (2022).
        """
        return ladder_transport(self, x, v, w)

    # -- coordinates -----------------------------------------------------------------------------

    def to_coords(self, x: Array, v: Array) -> Array:
        """Coordinates of ``v`` in a fixed orthonormal basis at ``x``, shape ``(..., dim)``.

        By default the basis is found numerically, from the projections `to_tangent` of the ambient
        unit vectors and their inner products. It depends on ``x`` alone and is smooth almost
        everywhere; it costs dim³ operations and is not remembered. Override both or neither of
        `to_coords` and `from_coords`.
        """
        _, dual = self._frame(x)
        xp, lead = namespace(v), v.shape[: v.ndim - len(self.point_shape)]
        flat = xp.reshape(v, (*lead, math.prod(self.point_shape)))
        return xp.matmul(dual, flat[..., None])[..., 0]

    def from_coords(self, x: Array, c: Array) -> Array:
        """Tangent vector at ``x`` with coordinates ``c`` of shape ``(..., dim)``; isometric.

        By default in the basis of `to_coords`.
        """
        basis, _ = self._frame(x)
        xp = namespace(c)
        flat = xp.matmul(c[..., None, :], basis)[..., 0, :]
        return xp.reshape(flat, (*flat.shape[:-1], *self.point_shape))

    def _frame(self, x: Array) -> tuple[Array, Array]:
        """Basis and dual of `to_coords`, rows of flat tangent vectors: ``(..., dim, size)``."""
        return orthonormal_basis(self, x)

    def unit_tangent(self, rng: Seed, x: Array, batch: tuple[int, ...] = ()) -> Array:
        """Unit tangent vectors at ``x``, uniform in the metric.

        Gaussian coordinates in an orthonormal basis, normalised. Normalising an ambient Gaussian
        projected on the tangent space is the same only where the metric is the ambient one.

        Parameters
        ----------
        rng : numpy.random.Generator or int
            Source of randomness, or a seed.
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
        if c.shape[-1] == 1:  # not by division: one in 2²³ numbers of float32 is zero
            return self.from_coords(x, signs(c))
        return self.from_coords(x, c / expand(safe_sqrt(dot(c, c)), 1))

    def random_geodesic(self, rng: Seed, x: Array) -> Callable[..., Array]:
        """Geodesic from ``x`` of unit speed, in a direction that is uniform in the metric.

        The same as ``geodesic(x, unit_tangent(rng, x))`` up to rounding; a manifold may save work.

        Parameters
        ----------
        rng : numpy.random.Generator or int
            Source of randomness, or a seed.
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

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        """Gradient in the metric, from the array ``g`` of partial derivatives at ``x``.

        By default its coordinates are the derivatives along the vectors of the basis of
        `from_coords`.
        """
        axes, size = len(self.point_shape), math.prod(self.point_shape)
        xp = namespace(g)
        identity = xp.eye(self.dim, dtype=g.dtype, device=device(g))
        basis = self.from_coords(xp.expand_dims(x, axis=-axes - 1), identity)
        basis = xp.reshape(basis, (*basis.shape[: basis.ndim - axes], size))
        flat = xp.reshape(g, (*g.shape[: g.ndim - axes], size, 1))
        return self.from_coords(x, xp.matmul(basis, flat)[..., 0])

    @abstractmethod
    def to_manifold(self, a: Array) -> Array:
        """Map an ambient array near the manifold to a point on it (a point stays).

        Raises
        ------
        NotOnManifoldError
            Where there is no sensible point, such as the centre of a sphere.
        """

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Random points of shape ``(*batch, *point_shape)``, of the kind of ``like`` if given.

        ``rng`` is a generator or a seed; None seeds from the operating system.

        By default `to_manifold` of arrays of independent standard Gaussian entries. Override it
        where `to_manifold` takes only arrays close to the manifold.
        """
        return self.to_manifold(normal(rng, (*batch, *self.point_shape), like))

    def origin(self) -> Array:
        """A point in the middle, float64 NumPy: where to start when nothing is known.

        By default a random point, always the same.
        """
        return self.random_point(np.random.default_rng(0))

    # -- what people write and read ----------------------------------------------------------------

    def pack(self, a: Any, name: str = "x") -> Array:
        """The array of floating-point numbers that is meant: of lists, or of whole numbers.

        All methods that take points or tangent vectors take what this takes. It does not check that
        they are some: see `check_point`.

        Parameters
        ----------
        a : array_like
            Numbers; of a `Product` also a tuple of parts, or a dictionary if these have names.
        name : str
            What to call it in an error.

        Raises
        ------
        ArgumentError
            If it holds anything but real numbers, or is of another shape.
        """
        array, k = as_array(a, name), len(self.point_shape)
        if array.ndim == 0 and self.point_shape == (1,):
            array = array[None]  # one number is a point
        if tuple(array.shape[max(array.ndim - k, 0) :]) != self.point_shape:
            raise ArgumentError(
                f"{name} has shape {tuple(array.shape)}, expected {self._shape_words()} for {self}"
            )
        return array

    def unpack(self, x: Array) -> Any:
        """What people are handed for a point: the array itself.

        A `Product` whose parts have names makes a dictionary of it.
        """
        return x

    # -- checks at the border --------------------------------------------------------------------

    def point_defect(self, x: Array) -> tuple[str, Array]:
        """What measures the distance of ``x`` from the manifold (words), and its value >= 0.

        By default the largest difference of ``x`` from ``to_manifold(x)``, relative to its largest
        entry. Override it where the defining equation says it better or quicker.
        """
        gap = relative_gap(x, self.to_manifold(x), len(self.point_shape))
        return "the largest change to_manifold makes, relative to the largest entry,", gap

    def tangent_defect(self, x: Array, v: Array) -> tuple[str, Array]:
        """What measures the distance of ``v`` from the tangent space at ``x``, and its value.

        By default the largest difference of ``v`` from ``to_tangent(x, v)``, relative to its
        largest entry.
        """
        gap = relative_gap(v, self.to_tangent(x, v), len(self.point_shape))
        return "the largest change to_tangent makes, relative to the largest entry,", gap

    def check_point(self, x: Array, name: str = "x") -> None:
        """Raise unless ``x`` is a finite array of points on the manifold, up to rounding.

        Raises
        ------
        ArgumentError
            If it is no floating-point array, has a wrong shape, or is not finite.
        NotOnManifoldError
            If `point_defect` exceeds the square root of the rounding unit.
        """
        self._check_array(x, name)
        try:
            words, defect = self.point_defect(x)
        except NotOnManifoldError as error:
            raise NotOnManifoldError(f"{name} is not on {self}: {error}") from error
        if not (worst := _largest(defect)) <= math.sqrt(eps(x)):
            raise NotOnManifoldError(
                f"{name} is not on {self}: {words} is {worst:.3g}, expected 0 up to rounding "
                f"(at most {math.sqrt(eps(x)):.1g}); manifold.to_manifold({name}) is, if it is near"
            )

    def check_tangent(self, x: Array, v: Array, name: str = "v") -> None:
        """Raise unless ``v`` is a finite array of tangent vectors at ``x``, up to rounding.

        Raises
        ------
        ArgumentError
            If it is no floating-point array, has a wrong shape, or is not finite.
        NotTangentError
            If `tangent_defect` exceeds the square root of the rounding unit.
        """
        self._check_array(v, name)
        words, defect = self.tangent_defect(x, v)
        if not (worst := _largest(defect)) <= math.sqrt(eps(v)):
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
        if fails(xp.isfinite(a)):
            raise ArgumentError(f"{name} is not finite: it holds NaN or infinite entries")

    def _shape_words(self) -> str:
        return "(..., " + ", ".join(map(str, self.point_shape)) + ")"

    def __repr__(self) -> str:
        return type(self).__name__


def _largest(defect: Array) -> float:
    """The largest of some numbers >= 0, NaN among them; 0 of none."""
    if not getattr(defect, "ndim", 0):
        return float(defect)
    return float(namespace(defect).max(defect)) if math.prod(defect.shape) else 0.0


at_the_border(Manifold)
