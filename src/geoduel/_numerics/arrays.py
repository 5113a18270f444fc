"""The few array helpers every file shares. NumPy and torch run through one text.

The geometric functions are called a hundred thousand times on single small points, so the
helpers answer a plain float without building arrays around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_namespace, is_torch_array

__all__ = [
    "Array",
    "arc_over_sin",
    "at_zero",
    "blas",
    "combine",
    "combine_both",
    "cos_sin",
    "cos_sinc",
    "cosh_sinhc",
    "device",
    "dot",
    "eps",
    "expand",
    "host",
    "in_blocks",
    "namespace",
    "normal",
    "safe_sqrt",
    "surely",
    "vectors",
    "where",
]

Array: TypeAlias = Any
"""A NumPy or torch array: the Array API has no common static type yet."""


_FLOAT64, _NDARRAY = np.dtype(np.float64), np.ndarray
_KNOWN = (np.ndarray, np.bool)
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
    if is_torch_array(arrays[0]):  # other types may serve several namespaces
        _SPACES[kind] = xp
    return xp


def eps(x: Array) -> float:
    """Rounding unit of the array's dtype: the gap between 1 and the next number."""
    return float(namespace(x).finfo(x.dtype).eps)


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


def combine(a: Array, x: Array, b: Array, y: Array, axes: int, spend: bool = False) -> Array:
    """``a x + b y`` for numbers a and b, one a problem, and arrays with ``axes`` axes of a point.

    One pair of NumPy vectors goes to a single BLAS call, a plane rotation: the third of three
    array operations, on a path that runs several times an iteration. With ``spend`` the result may
    take the place of ``y``.
    """
    if type(a) is float is type(b) and vectors(x, y) and x.size < SHORT:  # thus one problem
        return blas.rot(x, y, a, b)[0]
    a, b = expand(a, axes), expand(b, axes)
    if _alike(x, y):
        total = np.multiply(b, y, y) if spend else b * y
        if total.size <= BLOCK or total.shape != x.shape:
            return total + a * x
        a = np.broadcast_to(a, x.shape)
        for part in _parts(x):
            total[part] += a[part] * x[part]
        return total
    return a * x + b * y


def combine_both(a: Array, x: Array, b: Array, y: Array, axes: int) -> tuple[Array, Array]:
    """``a x + b y`` and ``a x - b y``, as `combine` has them."""
    a, b = expand(a, axes), expand(b, axes)
    if not (_alike(x, y) and x.size > BLOCK):
        first, second = a * x, b * y
        return first + second, first - second
    a, b = np.broadcast_to(a, x.shape), np.broadcast_to(b, x.shape)
    both = np.empty((2, *x.shape), x.dtype)  # as one: memory is asked for, and given back, once
    plus, minus = both[0], both[1]
    for part in _parts(x):
        first, second = a[part] * x[part], b[part] * y[part]
        np.add(first, second, plus[part])
        np.subtract(first, second, minus[part])
    return plus, minus


def _alike(x: Array, y: Array) -> bool:
    return type(x) is _NDARRAY is type(y) and x.shape == y.shape and x.dtype is y.dtype


def in_blocks(f: Callable[..., Any], axes: int, *stacks: Array) -> Any:
    """``f`` of stacks of points with ``axes`` axes, large ones in parts that stay in the cache.

    Its result is an array, or a tuple of arrays of one shape, with the leading axes of the stacks.
    """
    first = stacks[0]
    if first.ndim <= axes or type(first) is not _NDARRAY or first.size <= BLOCK:
        return f(*stacks)
    if any(type(a) is not _NDARRAY or a.shape != first.shape for a in stacks):
        return f(*stacks)
    results = [f(*(a[part] for a in stacks)) for part in _parts(first)]
    if isinstance(results[0], tuple):
        return tuple(np.concat([np.stack(r) for r in results], axis=1))
    return np.concat(results)


def _parts(a: np.ndarray) -> list[slice]:
    """Slices of the first axis of an array, of about a block each.

    To allocate another large array, as an operation on whole ones does, takes longer than to fill
    it.
    """
    rows = 1 + BLOCK * len(a) // a.size
    return [slice(i, i + rows) for i in range(0, len(a), rows)]


BLOCK = 2**16  # numbers, which stay in the processor's cache


def vectors(u: Array, v: Array) -> bool:
    """Whether both are NumPy vectors of doubles, of one length: what BLAS takes as it is."""
    return (
        type(u) is _NDARRAY is type(v)
        and u.dtype is _FLOAT64 is v.dtype
        and u.ndim == 1
        and u.shape == v.shape
    )


SHORT = 1000  # entries, below which the call costs more than the arithmetic


class _Blas:
    """BLAS routines for vectors of doubles, loaded at the first call.

    SciPy's are called in a third of the time of NumPy's functions. Plain attributes are looked up
    in a third of the time of those that `__getattr__` finds.
    """

    def __init__(self) -> None:
        self.axpy: Any = partial(self._load, "axpy")
        self.dot: Any = partial(self._load, "dot")
        self.gemv: Any = partial(self._load, "gemv")
        self.nrm2: Any = partial(self._load, "nrm2")
        self.rot: Any = partial(self._load, "rot")
        self.scal: Any = partial(self._load, "scal")

    def _load(self, name: str, *arguments: Any) -> Any:
        from scipy.linalg import get_blas_funcs  # a slow import, for `import geoduel`

        routine: Any = get_blas_funcs(name, dtype=_FLOAT64)
        setattr(self, name, routine)
        return routine(*arguments)


blas = _Blas()


def dot(u: Array, v: Array, first: int = 0) -> Array:
    """Sum of the products over the last axis, from the entry ``first`` on.

    One pair of NumPy vectors gives a Python float, which scales an array twice as fast as a NumPy
    number does; this is where a run on a small problem spends its time.
    """
    if vectors(u, v):
        return blas.dot(u[first:], v[first:]) if first else blas.dot(u, v)
    xp = np if type(u) is _NDARRAY is type(v) else namespace(u, v)  # a call less
    n = u.shape[-1]
    if xp is np and 1 < n <= _FEW and u.ndim + v.ndim > 2:
        product = u * v
        return product.dot(_ones(n, first, product.dtype))
    if first:
        u, v = u[..., first:], v[..., first:]
    # The compatibility layer takes ten times as long for torch's vecdot.
    return np.vecdot(u, v) if xp is np else xp.sum(u * v, axis=-1)


_FEW = 16  # entries, of which a matrix product sums rows quicker than the calls, one a row, do


@cache
def _ones(n: int, first: int, dtype: Any) -> Array:
    return np.asarray(np.arange(n) >= first, dtype)


def where(condition: Any, a: Array, b: Array) -> Array:
    """``a`` where the condition holds and ``b`` elsewhere; a plain bool just chooses."""
    if isinstance(condition, bool):
        return a if condition else b
    return namespace(condition).where(condition, a, b)


def cos_sin(t: float | Array) -> tuple[Array, Array]:
    """``cos t`` and ``sin t``; of many NumPy numbers from the tangent of t/2.

    NumPy has vector instructions for the tangent, but not for the two of doubles: a fifth of the
    time, and where it has for none, about the same.
    """
    if isinstance(t, float):
        return math.cos(t), math.sin(t)
    if type(t) is not _NDARRAY or t.size <= _MANY or t.dtype != _FLOAT64:
        xp = namespace(t)
        return xp.cos(t), xp.sin(t)
    tan = np.tan(0.5 * t)
    square = tan * tan
    scale = 1 / (1 + square)
    return (1 - square) * scale, 2 * tan * scale


_MANY = 500  # numbers


def at_zero(t2: Array, a: Array, b: Array) -> Array:
    """``a`` where ``t2`` is zero and ``b`` elsewhere."""
    if isinstance(t2, float):
        return b if t2 else a
    return b if surely(t2) else namespace(t2).where(t2 == 0, a, b)


def surely(condition: Array) -> bool:
    """Whether a condition holds for all, or numbers are all nonzero, so that masks can be saved.

    Masks cost the most. Arrays that are not NumPy's are not asked, which is taken for a no: on an
    accelerator the question would wait for what runs there.
    """
    return condition is True or (
        isinstance(condition, _KNOWN) and np.count_nonzero(condition) == condition.size
    )


def safe_sqrt(a: Array) -> Array:
    """Square root whose gradient at zero is zero instead of infinite."""
    if isinstance(a, float):
        return math.sqrt(a)
    xp = namespace(a)
    if xp is np or not getattr(a, "requires_grad", False):
        return xp.sqrt(a)
    zero = a == 0
    return xp.where(zero, xp.zeros_like(a), xp.sqrt(xp.where(zero, xp.ones_like(a), a)))


def cos_sinc(t2: Array) -> tuple[Array, Array]:
    """``cos t`` and ``sin(t) / t`` from ``t²``, smooth at zero."""
    if isinstance(t2, float):
        t = math.sqrt(t2)
        return math.cos(t), (math.sin(t) / t if t > 0 else 1.0)
    return _even_odd(t2, "cos", "sin", -1)


def arc_over_sin(m: Array) -> Array:
    """``θ / sin θ`` from ``m = 4 sin²(θ/2) < 4``, a squared chord; smooth at zero."""
    if isinstance(m, float):
        h = math.sqrt(m) / 2
        return math.asin(h) / (h * math.sqrt(1 - h * h)) if h > 0 else 1.0
    xp = namespace(m)
    if surely(m):
        h = xp.sqrt(m) / 2
        return xp.asin(h) / (h * xp.sqrt(1 - h * h))
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
    if surely(t2):
        t = xp.sqrt(t2)
        return even(t), odd(t) / t
    zero = t2 == 0
    t = xp.sqrt(xp.where(zero, xp.ones_like(t2), t2))
    # The series carries the derivative where the quotient is 0/0.
    return (
        xp.where(zero, 1 + sign * t2 / 2, even(t)),
        xp.where(zero, 1 + sign * t2 / 6, odd(t) / t),
    )
