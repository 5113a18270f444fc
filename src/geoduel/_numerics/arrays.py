"""The few array helpers every file shares. NumPy, torch and JAX run through one text.

The geometric functions are called a hundred thousand times on single small points, so the
helpers answer a plain float without building arrays around it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_jax_array,
    is_numpy_namespace,
    is_torch_array,
)

__all__ = [
    "Array",
    "arc_over_sin",
    "at_zero",
    "blas",
    "constant",
    "cos_sinc",
    "cosh_sinhc",
    "device",
    "dot",
    "eps",
    "expand",
    "fails",
    "fast_short_dot",
    "holds",
    "host",
    "namespace",
    "normal",
    "on_host",
    "safe_sqrt",
    "settled",
    "signs",
    "surely",
    "top",
    "vectors",
    "where",
]

Array: TypeAlias = Any
"""A NumPy, torch or JAX array: the Array API has no common static type yet."""


_FLOAT64, _NDARRAY = np.dtype(np.float64), np.ndarray
_NUMPY = frozenset({np.ndarray, np.float64, np.float32, float})


_SPACES: dict[type, Any] = {}  # looking a namespace up takes longer than many an operation


def namespace(*arrays: Array) -> Any:
    """Array namespace of the arguments; NumPy itself for NumPy arrays (it costs nothing)."""
    kind = type(arrays[0])
    if kind in _NUMPY and (len(arrays) == 1 or type(arrays[1]) in _NUMPY):
        return np
    if kind in _SPACES and all(type(a) is kind for a in arrays):
        return _SPACES[kind]
    xp = array_namespace(*(a for a in arrays if not isinstance(a, float | int)))
    xp = np if is_numpy_namespace(xp) else xp
    if is_torch_array(arrays[0]) or is_jax_array(arrays[0]):  # others may serve several namespaces
        _SPACES[kind] = xp
    return xp


def eps(x: Array) -> float:
    """Rounding unit of the array's dtype: the gap between 1 and the next number."""
    return float(namespace(x).finfo(x.dtype).eps)


def largest(x: Array) -> float:
    """The largest number of the array's dtype."""
    return float(namespace(x).finfo(x.dtype).max)


def expand(a: Array, axes: int) -> Array:
    """Append ``axes`` axes of length one, so that numbers scale points; plain floats stay."""
    if isinstance(a, float) or axes == 0 or isinstance(a, int):
        return a
    return a[..., None] if axes == 1 else a[(...,) + (None,) * axes]


def host(a: Array) -> np.ndarray:
    """Return the array as a NumPy array in main memory."""
    if not hasattr(a, "detach"):
        return np.asarray(a)
    a = a.detach().cpu()
    return (a.float() if str(a.dtype) == "torch.bfloat16" else a).numpy()  # unknown to NumPy


def copied(a: Array) -> Array:
    """A copy, for code of others that may write to what it is given."""
    if type(a) is _NDARRAY:
        return a.copy()
    return a.clone() if hasattr(a, "detach") else namespace(a).asarray(a, copy=True)


def normal(rng: np.random.Generator, shape: tuple[int, ...], like: Array = None) -> Array:
    """Draw standard Gaussian numbers of the dtype and on the device of ``like``.

    Numbers for the CPU come from ``rng`` itself, so that NumPy and torch see the same run. For an
    accelerator a generator is seeded from ``rng`` and the numbers are made where they are used.
    """
    if like is None or (type(like) is _NDARRAY and like.dtype is _FLOAT64):
        return rng.standard_normal(shape)
    if isinstance(like, np.ndarray):
        dtype = like.dtype if like.dtype == np.float32 else np.float64
        return rng.standard_normal(shape, dtype=dtype).astype(like.dtype, copy=False)
    where = device(like)
    if is_torch_array(like) and where.type != "cpu":
        import torch

        generator = torch.Generator(device=where).manual_seed(int(rng.integers(2**63)))
        return torch.randn(shape, generator=generator, dtype=like.dtype, device=where)
    xp = namespace(like)
    return xp.asarray(rng.standard_normal(shape), dtype=like.dtype, device=where)


def settled(
    x: Array,
    u: Array,
    least: float,
    project: Callable[[Array, Array], Array],
    product: Callable[[Array, Array], Array],
) -> tuple[Array, Array]:
    """Gaussian vectors that were projected on the tangent spaces at x, and their squared lengths.

    A vector of squared length below ``least`` holds mostly the rounding errors of the whole
    Gaussian, and is projected once more. On an accelerator, which is not asked, that are all.
    """
    square = product(u, u)
    if isinstance(square, float):
        if square >= least:
            return u, square
    elif type(square) is _NDARRAY:
        if square.size and square.flat[square.argmin()] < least:
            some = np.nonzero(square < least)
            rest = project(np.broadcast_to(x, u.shape)[some], u[some])
            u[some], square[some] = rest, product(rest, rest)
        return u, square
    u = project(x, u)
    return u, product(u, u)


def tangent_if_short(
    x: Array,
    v: Array,
    square: Array,
    axes: int,
    project: Callable[[Array, Array], Array],
) -> Array:
    """Differences of points near x, made tangent where rounding has turned them off.

    Points are on a manifold up to rounding, so a difference of length d is tangent up to ε/d. From
    d = 4√ε on that is as tangent as `Manifold.check_tangent` asks for, and nothing is done.

    Parameters
    ----------
    x : array of shape (..., *point_shape)
        Points.
    v : array of shape (..., *point_shape)
        Vectors that would be tangent at x without rounding.
    square : array of shape (...)
        Their squared lengths, in units of the entries.
    axes : int
        Axes of a point.
    project : callable
        ``project(x, v)`` is the nearest tangent vector.
    """
    least = 16 * eps(v)
    if surely(square >= least):
        return v
    # What the first projection leaves may be rounding alone.
    return where(expand(square < least, axes), project(x, project(x, v)), v)


def signs(a: Array) -> Array:
    """1 and -1, by the sign of each number; 1 for zero."""
    if type(a) is _NDARRAY:
        return np.copysign(1.0, a)
    xp = namespace(a)
    return xp.copysign(xp.ones_like(a), a)


def vectors(u: Array, v: Array) -> bool:
    """Whether both are NumPy vectors of doubles, of one length: what BLAS takes as it is."""
    return (
        type(u) is _NDARRAY is type(v)
        and u.dtype is _FLOAT64 is v.dtype
        and u.ndim == 1
        and u.shape == v.shape
    )


@cache
def blas() -> Any:
    """SciPy's BLAS: for short vectors, calls in a third of the time of NumPy's functions."""
    from scipy.linalg import blas  # a slow import, for `import geoduel`

    return blas


def dot(u: Array, v: Array, first: int = 0) -> Array:
    """Sum of the products over the last axis, from the entry ``first`` on.

    One pair of NumPy vectors gives a Python float. Functions of one number, and its products with
    an array, are several times faster for Python's floats than for NumPy's.
    """
    xp = np if type(u) is _NDARRAY is type(v) else namespace(u, v)  # a call less
    if xp is np:
        n = u.shape[-1]
        if u.ndim == v.ndim == 1:
            if not first and u.dtype is _FLOAT64 is v.dtype and n == v.shape[0] and n:
                return blas().ddot(u, v)  # quicker than NumPy's, and silent where it overflows
        elif n == v.shape[-1] and n <= _SHORT:
            return fast_short_dot(u, v, first)
    if first:
        return dot(u[..., first:], v[..., first:])
    # The compatibility layer takes ten times as long for torch's vecdot.
    return np.vecdot(u, v) if xp is np else xp.sum(u * v, axis=-1)


def fast_short_dot(u: Array, v: Array, first: int = 0) -> Array:
    """`dot` of stacks of short NumPy vectors: one matrix product sums all rows at once."""
    product = u * v
    return product.dot(_ones(product.shape[-1], first, product.dtype))


_SHORT = 16  # entries of a vector, up to which that is faster than a call for each


@cache
def _ones(n: int, first: int, dtype: Any) -> Array:
    return np.asarray(np.arange(n) >= first, dtype)


def where(condition: Any, a: Array, b: Array) -> Array:
    """``a`` where the condition holds and ``b`` elsewhere; a plain bool just chooses."""
    if isinstance(condition, bool):
        return a if condition else b
    return namespace(condition).where(condition, a, b)


def at_zero(t2: Array, a: Array, b: Array) -> Array:
    """``a`` where ``t2`` is zero and ``b`` elsewhere."""
    return b if surely(t2 != 0) else where(t2 == 0, a, b)


def surely(condition: Any) -> bool:
    """Whether a condition is known to hold for all entries, so that a mask can be saved.

    Only bools and NumPy's arrays are asked; for others the answer is no. On an accelerator the
    question would wait for what runs there.
    """
    return condition is True or (
        isinstance(condition, np.ndarray | np.bool)
        and np.count_nonzero(condition) == condition.size
    )


HIDDEN = (RuntimeError, TypeError)
"""Errors of torch and JAX where a transformation such as ``vmap`` or ``jit`` hides numbers."""


def holds(condition: Array, hidden: bool) -> bool:
    """Whether a condition holds for all entries; ``hidden`` where a transformation hides them."""
    try:
        return bool(namespace(condition).all(condition))
    except HIDDEN:
        return hidden


def fails(condition: Array) -> bool:
    """Whether a condition fails for some entry; where a transformation hides it, no."""
    return not holds(condition, True)


def constant(make: Callable[..., Any]) -> Callable[..., Any]:
    """Make an array, or several, once for each arguments; also while JAX traces a function."""

    @cache
    def made(*arguments: Any) -> Any:
        jax = sys.modules.get("jax")
        with nullcontext() if jax is None else jax.ensure_compile_time_eval():
            return make(*arguments)

    return made


def on_host(f: Callable[..., Array], *arrays: Array) -> Array:
    """``f`` of these arrays, which cannot be written to, by way of NumPy; no derivatives."""
    like = arrays[0]
    result = f(*map(host, arrays))
    return namespace(like).asarray(result, dtype=like.dtype, device=device(like))


def top(a: Array) -> float:
    """Largest of some numbers, NaN if one is NaN, as a plain float; -inf if there are none.

    Where to ask would take a while, on an accelerator, or where a transformation hides them, the
    answer is -inf.
    """
    if type(a) is _NDARRAY:
        return a.item(a.argmax()) if a.size else -math.inf
    if isinstance(a, float):
        return a
    if isinstance(a, np.generic):
        return float(a)
    if is_torch_array(a) and (a.device.type != "cpu" or not a.numel()):
        return -math.inf
    a = a.detach() if hasattr(a, "detach") else a
    try:
        return float(namespace(a).max(a))
    except (*HIDDEN, ValueError):
        return -math.inf


def safe_sqrt(a: Array) -> Array:
    """Square root whose gradient at zero is zero instead of infinite."""
    if isinstance(a, float):
        return math.sqrt(a) if a >= 0 else math.nan
    xp = namespace(a)
    if xp is np or not getattr(a, "requires_grad", False):
        return xp.sqrt(a)
    zero = a == 0
    return xp.where(zero, xp.zeros_like(a), xp.sqrt(xp.where(zero, xp.ones_like(a), a)))


def cos_sinc(t2: Array) -> tuple[Array, Array]:
    """``cos t`` and ``sin(t) / t`` from ``t²``, smooth at zero."""
    if isinstance(t2, float):
        if not 0 < t2 < math.inf:
            return (1.0, 1.0) if t2 == 0 else (math.nan, math.nan)
        t = math.sqrt(t2)
        return math.cos(t), math.sin(t) / t
    return _even_odd(t2, "cos", "sin", -1)


def arc_over_sin(m: Array) -> Array:
    """``θ / sin θ`` from ``m = 4 sin²(θ/2) < 4``, a squared chord; smooth at zero."""
    if isinstance(m, float):
        if not m < 4:
            return math.nan  # no chord: a point is not one
        h = math.sqrt(m) / 2
        return math.asin(h) / (h * math.sqrt(1 - h * h)) if h > 0 else 1.0
    xp = namespace(m)
    zero = m == 0
    h = xp.sqrt(xp.where(zero, xp.ones_like(m), m)) / 2
    return xp.where(zero, 1 + m / 6, xp.asin(h) / (h * xp.sqrt(1 - h * h)))


def cosh_sinhc(t2: Array) -> tuple[Array, Array]:
    """``cosh t`` and ``sinh(t) / t`` from ``t²``, smooth at zero."""
    if isinstance(t2, float):
        t = math.sqrt(t2)
        return math.cosh(t), (math.sinh(t) / t if t > 0 else 1.0)
    return _even_odd(t2, "cosh", "sinh", 1)


def _even_odd(t2: Array, even_name: str, odd_name: str, sign: int) -> tuple[Array, Array]:
    """``even(t)`` and ``odd(t) / t`` of arrays; series 1 + sign t²/2 and 1 + sign t²/6 at zero."""
    xp = namespace(t2)
    even, odd = getattr(xp, even_name), getattr(xp, odd_name)
    if surely(t2 != 0):
        t = xp.sqrt(t2)
        return even(t), odd(t) / t
    zero = t2 == 0
    t = xp.sqrt(xp.where(zero, 1.0, t2))
    # The series carries the derivative where the quotient is 0/0.
    return (
        xp.where(zero, 1 + sign * t2 / 2, even(t)),
        xp.where(zero, 1 + sign * t2 / 6, odd(t) / t),
    )
