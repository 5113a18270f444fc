"""Where points lie that geometry is tried at: random ones, and those in the corners of manifolds.

A draw is a function of a manifold, a generator, leading axes and a dtype, that returns points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import geoduel as gd

__all__ = ["CORNERS", "LAYOUTS", "MANIFOLDS", "Inputs", "corner", "inputs", "laid_out", "usual"]

MANIFOLDS: list[gd.Manifold] = [
    gd.Euclidean(2),
    gd.Euclidean(1),
    gd.Sphere(2),
    gd.Sphere(3),
    gd.Sphere(2, 3),
    gd.ComplexSphere(1),
    gd.ComplexSphere(3),
    gd.Oblique(2, 3),
    gd.Torus(1),
    gd.Torus(3),
    gd.Rotations(2),
    gd.Rotations(3),
    gd.Rotations(4),
    gd.Unitary(1),
    gd.Unitary(2),
    gd.SE(2),
    gd.SE(3, weight=2.0),
    gd.Stiefel(2, 1),
    gd.Stiefel(3, 2),
    gd.Stiefel(4, 2, metric="canonical"),
    gd.Stiefel(2, 2),
    gd.Grassmann(2, 1),
    gd.Grassmann(4, 2),
    gd.Hyperbolic(1),
    gd.Hyperbolic(3),
    gd.Simplex(2),
    gd.Simplex(3),
    gd.Correlation(2),
    gd.Correlation(3),
    gd.SPD(1),
    gd.SPD(3),
    gd.SPD(2, metric="log-euclidean"),
    gd.SPD(2, metric="bures-wasserstein"),
    gd.Product(gd.Sphere(2), gd.SPD(2), weights=(1.0, 2.0)),
    gd.Product(gd.Sphere(3), gd.Hyperbolic(2), names=("direction", "place")),
    gd.Power(gd.Sphere(3), 2),
    gd.Product(gd.Categories("a", "b"), gd.Integers(1, 5)),
    gd.space(gain=(-12, 12), mix=gd.Simplex(3), kind=["a", "b"], layers=range(1, 5)).manifold,
]


def usual(m: gd.Manifold, rng: np.random.Generator, lead: tuple[int, ...], dtype: Any) -> Any:
    """Random points."""
    return m.random_point(rng, lead).astype(dtype)


def corner(m: gd.Manifold, rng: np.random.Generator, lead: tuple[int, ...], dtype: Any) -> Any:
    """Points where numbers are strained: far out, at the rim, of large condition, huge or tiny."""
    if isinstance(m, gd.Product):
        return m.join(*(corner(part, rng, lead, dtype) for part in m.factors))
    draw = CORNERS.get(type(m), usual)
    return draw(m, rng, lead, dtype)


def _double(dtype: Any) -> bool:
    return np.finfo(dtype).eps < 1e-10


def _scaled(m: Any, rng: np.random.Generator, lead: tuple[int, ...], dtype: Any) -> Any:
    most = 150 if _double(dtype) else 15
    return (10.0 ** rng.uniform(-most, most) * usual(m, rng, lead, float)).astype(dtype)


def _far_out(m: Any, rng: np.random.Generator, lead: tuple[int, ...], dtype: Any) -> Any:
    """At radius 15, or 5 with single precision; of correlations at 4 and 2."""
    single, double = (5, 15) if isinstance(m, gd.Hyperbolic) else (2, 4)
    most = double if _double(dtype) else single
    origin = np.broadcast_to(m.origin().astype(dtype), (*lead, *m.point_shape))
    return m.exp(origin, dtype(rng.uniform(0, most)) * m.unit_tangent(rng, origin))


def _at_the_rim(m: Any, rng: np.random.Generator, lead: tuple[int, ...], dtype: Any) -> Any:
    """Probabilities down to 1e-30."""
    w = 10.0 ** rng.uniform(-30, 0, (*lead, m.n))
    return (w / w.sum(axis=-1, keepdims=True)).astype(dtype)


def _conditioned(m: Any, rng: np.random.Generator, lead: tuple[int, ...], dtype: Any) -> Any:
    """Of condition up to 1e12 at any scale; or 1e5, and at moderate ones."""
    spread, size = (12, 140) if _double(dtype) else (5, 12)
    q = gd.Rotations(m.n).random_point(rng, lead) if m.n > 1 else np.ones((*lead, 1, 1))
    power = rng.uniform(-size, size) + rng.uniform(-spread / 2, spread / 2, (*lead, 1, m.n))
    x = (q * 10.0**power) @ np.swapaxes(q, -1, -2)
    return ((x + np.swapaxes(x, -1, -2)) / 2).astype(dtype)


CORNERS: dict[type, Any] = {
    gd.Euclidean: _scaled,
    gd.Hyperbolic: _far_out,
    gd.Correlation: _far_out,
    gd.Simplex: _at_the_rim,
    gd.SPD: _conditioned,
}
"""By the kind of manifold, how points are drawn that are hard."""


# -- memory ----------------------------------------------------------------------------------------

LAYOUTS = ("plain", "read-only", "strided", "reversed", "fortran")


def laid_out(a: np.ndarray, layout: str) -> np.ndarray:
    """The same numbers in another place of memory."""
    if layout == "strided":
        a = np.repeat(a, 2, axis=-1)[..., ::2]
    elif layout == "reversed":
        a = np.ascontiguousarray(a[..., ::-1])[..., ::-1]
    elif layout == "fortran":
        a = np.asfortranarray(a)
    elif layout == "read-only":
        a = a.copy()
        a.flags.writeable = False
    return a


# -- whatever comes in -----------------------------------------------------------------------------


class Inputs:
    """A manifold, points of it, directions, vectors along them, and a generator for the rest.

    ``power`` is the size of the vectors, ten to that power; ``hard`` says that points lie in
    corners.
    """

    def __init__(
        self, m: Any, x: Any, u: Any, v: Any, power: float, hard: bool, rng: np.random.Generator
    ) -> None:
        self.m, self.x, self.u, self.v, self.power, self.hard = m, x, u, v, power, hard
        self.rng = rng

    def __repr__(self) -> str:
        return f"Inputs({self.m}, x={self.x!r}, v={self.v!r})"


@st.composite
def inputs(draw: st.DrawFn, manifolds: Any = None) -> Inputs:
    """Inputs of all manifolds, or some; dtypes, leading axes, memory layouts and sizes vary."""
    m = draw(st.sampled_from(MANIFOLDS if manifolds is None else manifolds))
    if manifolds is None and draw(st.integers(0, 4)) == 0:
        other = draw(st.sampled_from(MANIFOLDS))
        m = gd.Product(m, other, weights=(1.0, draw(st.sampled_from([0.5, 3.0]))))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    lead = draw(st.sampled_from([(), (1,), (3,), (2, 1), (0,), (2, 0)]))
    most = 150 if dtype == np.float64 else 18
    power = draw(st.one_of(st.integers(-most, most), st.integers(-3, 1)))
    hard = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    layout = draw(st.sampled_from(LAYOUTS))
    x = (corner if hard else usual)(m, rng, lead, dtype)
    u = m.unit_tangent(rng, x)
    v = (10.0**power * u).astype(dtype)
    return Inputs(m, laid_out(x, layout), u, laid_out(v, layout), power, hard, rng)
