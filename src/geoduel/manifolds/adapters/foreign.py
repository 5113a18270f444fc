"""Manifolds of other packages: what they lack, and what is made of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from ..._numerics.arrays import Array, expand, namespace
from ..._support.check import several
from ...errors import ArgumentError, MissingOperationError, NotOnManifoldError
from .._border import Seed
from .._derived import orthonormal_basis, tangent_rank
from ..base import Manifold

__all__ = ["ForeignManifold", "refuse_foreign", "require", "seeded", "together"]


class ForeignManifold(Manifold):
    """A manifold of another package; `from_pymanopt`, `from_geomstats` and `from_geoopt` make it.

    What the other package has is used as it is, and what it lacks raises `MissingOperationError`
    when it is asked for. Its own random tangent vectors are not used: `unit_tangent` here is
    uniform in the metric, from an orthonormal basis at x. The basis comes from the projections of
    the ambient unit vectors by a singular value decomposition, and their Gram matrix by Cholesky:
    about dim²/2 inner products, once for each point. The last one is remembered.

    Parameters
    ----------
    peer : object
        The manifold of the other package.
    operations : mapping of str to callable
        Its operations under our names and in our order of arguments.
    random_points : callable
        ``random_points(rng, count)`` returns that many points of the package's own kind of array.
    leading_axes : callable
        ``leading_axes(f, k, *arrays)`` applies an operation on points of k axes to batches.
    dim : int, optional
        Intrinsic dimension; by default the rank of the projection at a point.
    typical_dist : float, optional
        Length scale, by default the square root of the dimension.
    curvature : tuple of float
        Bounds of the sectional curvature; infinite where unknown.
    injectivity_radius : float
        Injectivity radius; infinite where unknown.
    """

    def __init__(
        self,
        peer: Any,
        operations: Mapping[str, Callable[..., Any]],
        random_points: Callable[[np.random.Generator, int], Array],
        *,
        leading_axes: Callable[..., Any],
        dim: int | None = None,
        typical_dist: float | None = None,
        curvature: tuple[float, float] = (-math.inf, math.inf),
        injectivity_radius: float = math.inf,
    ) -> None:
        self.peer = peer
        bounds = several(curvature, "curvature", "two numbers, the lower and the upper bound")
        for name, given, count in (
            ("curvature", bounds, 2),
            ("injectivity_radius", (injectivity_radius,), 1),
        ):
            if len(given) != count or not all(isinstance(k, Real) and k == k for k in given):
                words = "a number" if count == 1 else "two numbers, the lower and the upper bound"
                raise ArgumentError(f"{name} must be {words}; got {given!r:.80}")
        self._operations = operations
        self._random_points = random_points
        self._leading_axes = leading_axes
        self._curvature = curvature
        self._injectivity_radius = injectivity_radius
        self._remembered: tuple[Array, tuple[Array, Array]] | None = None
        self._point_shape: tuple[int, ...] = ()
        self._sample = self._real_point()
        self._point_shape = tuple(self._sample.shape)
        self._dim = tangent_rank(self, self._sample) if dim is None else dim
        self._typical_dist = typical_dist or math.sqrt(self._dim)

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self._point_shape

    @property
    def curvature(self) -> tuple[float, float]:
        return self._curvature

    @property
    def injectivity_radius(self) -> float:
        return self._injectivity_radius

    @property
    def closed_form(self) -> bool:
        return False

    @property
    def typical_dist(self) -> float:
        return self._typical_dist

    # -- what the other package has --------------------------------------------------------------

    def inner(self, x: Array, u: Array, v: Array) -> Array:
        return self._ask("inner", x, u, v)

    def dist(self, x: Array, y: Array) -> Array:
        return self._ask("dist", x, y)

    def geodesic(self, x: Array, v: Array) -> Callable[[float | Array], Array]:
        axes = len(self.point_shape)

        def point(t: float | Array) -> Array:
            xp, step = namespace(x, v), expand(t, axes) * v
            still = xp.all(step == 0, axis=tuple(range(-axes, 0)), keepdims=True)
            return xp.where(still, x, self._ask("exp", x, step))  # exp(x, 0) is x

        return point

    def log(self, x: Array, y: Array) -> Array:
        return self._ask("log", x, y)

    def transport(self, x: Array, y: Array, v: Array) -> Array:
        return self._ask("transport", x, y, v)

    def transport_along(self, x: Array, v: Array, w: Array) -> Array:
        if "transport_along" in self._operations:
            return self._ask("transport_along", x, v, w)
        return self._ask("transport", x, self.exp(x, v), w)

    def to_tangent(self, x: Array, a: Array) -> Array:
        return self._ask("to_tangent", x, a)

    def to_manifold(self, a: Array) -> Array:
        """Project on the manifold; where the package cannot, the array is taken for a point."""
        return self._ask("to_manifold", a) if "to_manifold" in self._operations else a

    def riemannian_gradient(self, x: Array, g: Array) -> Array:
        if "riemannian_gradient" in self._operations:
            return self._ask("riemannian_gradient", x, g)
        return self._like(x, super().riemannian_gradient(self._native(x), self._native(g)))

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Random points of the other package, from a global generator seeded by ``rng``."""
        points = self._random_points(rng, math.prod(batch))
        points = namespace(points).reshape(points, (*batch, *self.point_shape))
        return self._like(np.empty(0) if like is None else like, points)

    # -- an orthonormal basis of the metric, in the package's own kind of array --------------------

    def to_coords(self, x: Array, v: Array) -> Array:
        return self._like(v, super().to_coords(self._native(x), self._native(v)))

    def from_coords(self, x: Array, c: Array) -> Array:
        return self._like(c, super().from_coords(self._native(x), self._native(c)))

    def _frame(self, x: Array) -> tuple[Array, Array]:
        x = x.detach() if is_torch_array(x) else x
        xp = namespace(x)
        if self._remembered is not None:
            seen, frame = self._remembered
            if seen.shape == x.shape and seen.dtype == x.dtype and bool(xp.all(seen == x)):
                return frame
        # Without the tilt: runs and stored studies on these manifolds began without it.
        frame = orthonormal_basis(self, x, tilt=0.0)
        self._remembered = (x + 0, frame)  # a copy, since x may be written to later
        return frame

    # -- checks ----------------------------------------------------------------------------------

    def check_point(self, x: Array, name: str = "x") -> None:
        self._check_array(x, name)
        if "check_point" in self._operations:
            found = np.asarray(self._call("check_point", self._native(x)))
            if not bool(np.all(found)):
                raise NotOnManifoldError(f"{name} is not on {self}, which says so itself")

    # -- private -----------------------------------------------------------------------------------

    def _real_point(self) -> Array:
        """A point, which shows the shape and the kind of array."""
        try:
            point = self._random_points(np.random.default_rng(0), 1)[0]
            if namespace(point).isdtype(point.dtype, "real floating"):
                return point
        except NotImplementedError as error:
            raise MissingOperationError(f"{self} has no random points: {error}") from error
        except (TypeError, ValueError):
            pass
        raise ArgumentError(f"points of {self} must be arrays of real numbers, and are not")

    def _ask(self, name: str, *arrays: Array) -> Array:
        """Result of an operation, of the kind of the first array."""
        return self._like(arrays[0], self._call(name, *map(self._native, arrays)))

    def _call(self, name: str, *arrays: Array) -> Array:
        """Result of an operation of the package on its own kind of arrays."""
        try:
            return self._leading_axes(self._operations[name], len(self.point_shape), *arrays)
        except NotImplementedError as error:
            raise MissingOperationError(f"{self} has no {name}: {error}") from error

    def _native(self, a: Array) -> Array:
        xp = namespace(self._sample)
        if namespace(a) is xp:
            return a
        # A copy, for torch warns about arrays that must not be written to.
        plain = a.cpu().numpy() if is_torch_array(a) else np.array(a)
        return xp.asarray(plain, dtype=self._sample.dtype)

    def _like(self, like: Array, a: Any) -> Array:
        xp = namespace(like)
        if getattr(a, "dtype", None) == like.dtype:
            return a
        if is_torch_array(a) and not is_torch_array(like):
            a = a.detach().cpu()
        return xp.asarray(a, dtype=like.dtype, device=like.device)

    def __repr__(self) -> str:
        package = type(self.peer).__module__.split(".")[0]
        name = " ".join(str(self.peer).split())
        if " object at 0x" in name:  # no name of its own
            name = f"{type(self.peer).__name__.lstrip('_')} with points of shape {self.point_shape}"
        return f"{name:.80} of {package}"


def require(thing: Any, name: str, package: str, attributes: tuple[str, ...]) -> None:
    """Refuse what has not the attributes of a manifold of the package, and its class."""
    if isinstance(thing, type):
        raise ArgumentError(
            f"{name} must be an instance, such as {thing.__name__}(...); got the class"
        )
    missing = [a for a in attributes if not hasattr(thing, a)]
    if missing:
        raise ArgumentError(
            f"{name} must be a manifold of {package}, got {type(thing).__name__} "
            f"without {', '.join(missing)}"
        )


def refuse_foreign(manifold: Any) -> None:
    """Refuse a manifold of another package where one of ours belongs, and say what makes it one."""
    for kind in type(manifold).__mro__:
        package = kind.__module__.split(".")[0]
        if package in ("pymanopt", "geomstats", "geoopt"):
            raise ArgumentError(
                f"manifold is one of {package}, {type(manifold).__name__}: convert it with "
                f"gd.from_{package}(manifold)"
            )


def together(axes: int, arrays: tuple[Array, ...]) -> tuple[tuple[int, ...], list[Array]]:
    """Common leading axes of arrays of points, and the arrays with one axis in their place."""
    xp = namespace(arrays[0])
    lead = np.broadcast_shapes(*(tuple(a.shape[: a.ndim - axes]) for a in arrays))
    shapes = [tuple(a.shape[a.ndim - axes :]) for a in arrays]
    return lead, [
        xp.reshape(xp.broadcast_to(a, (*lead, *shape)), (math.prod(lead), *shape))
        for a, shape in zip(arrays, shapes, strict=True)
    ]


@contextmanager
def seeded(rng: np.random.Generator) -> Iterator[None]:
    """Seed the global generators, which the packages draw from, and put them back afterwards."""
    seed, before = int(rng.integers(2**32)), np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")  # not loaded, it is not drawn from
    with nullcontext() if torch is None else torch.random.fork_rng(devices=[]):
        np.random.seed(seed)  # noqa: NPY002
        if torch is not None:
            torch.default_generator.manual_seed(seed)
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002
