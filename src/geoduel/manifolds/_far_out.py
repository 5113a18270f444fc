"""Hyperbolic space far from the apex, from the spatial entries of points and vectors alone.

A point is x = a x̂ with x₀ = √(1 + a²) and a up to what floats hold. A vector v at x is taken apart
into the part w across x, and v̂ = x̂·v along it, of length v̂ / x₀ in the metric. The part across is
found from products of two entries whose difference is exact to rounding; from there on only numbers
of one sign are added. So results are right for the entries as they are stored, at every radius.
The price is three to ten times the time of the formulas in `hyperbolic`, which serve up to `FAR`.

Arrays here are spatial parts, of float64; float32 is widened.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .._numerics.arrays import Array, expand, namespace

__all__ = ["Pair", "carried", "coords", "length", "moved", "pair", "split", "time"]


class Split(NamedTuple):
    """A vector or point taken apart at x."""

    size: Array  # a = |x|
    hat: Array  # x̂, zero at the apex
    along: Array  # x̂·v
    across: Array  # v - along x̂


class Pair(NamedTuple):
    """How y lies from x."""

    d: Array  # distance
    forth: Array  # direction of y: in the frame of coordinates at x, its part along x̂
    across: Array  # and its part across x; both up to one factor
    turn: tuple[Array, Array]  # cosine and sine of the area of the triangle x, y and the apex


def split(x: Array, v: Array) -> Split:
    """Take v apart at x, exactly to rounding."""
    xp = namespace(x, v)
    scale_x, scale_v = _power(x), _power(v)
    x, v = x / scale_x, v / scale_v
    # With k the largest entry of x, v - (vₖ/xₖ) x is never almost along x.
    places = xp.arange(x.shape[-1], device=_device(x))
    first = places == xp.argmax(abs(x), axis=-1)[..., None]
    zero = xp.zeros_like(x[..., :1])
    x_k = xp.sum(xp.where(first, x, zero), axis=-1)[..., None]
    v_k = xp.sum(xp.where(first, v, zero), axis=-1)[..., None]
    apex = x_k == 0
    x_k = xp.where(apex, xp.ones_like(x_k), x_k)
    z = _difference(v, x_k, v_k, x) / x_k
    size = xp.sqrt(_sum(x * x))
    hat = x / xp.where(apex, xp.ones_like(size[..., None]), size[..., None])
    across = z - _sum(hat * z)[..., None] * hat
    return Split(size * scale_x[..., 0], hat, _sum(hat * v) * scale_v[..., 0], across * scale_v)


def coords(x: Array, v: Array) -> Array:
    """Coordinates of the vector v in the frame of the boost that moves x to the apex."""
    part = split(x, v)
    return part.across + (part.along / time(part.size))[..., None] * part.hat


def moved(x: Array, v: Array, t: Any) -> tuple[Array, Array]:
    """Spatial part of exp(x, t v), infinite or NaN where floats do not hold it; and |t v|."""
    xp = namespace(x, v)
    a, hat, along, across = split(x, v)
    x0 = time(a)
    c_r, across = t * along / x0, expand(t, 1) * across
    w = length(across)
    size = xp.hypot(w, c_r)
    still = size == 0
    safe = xp.where(still, xp.ones_like(size), size)
    sinhc = xp.where(still, xp.ones_like(size), xp.sinh(safe) / safe)
    # Inwards a cosh L - x₀ sinh L = sinh(ρ - L) cancels; it is written so that nothing does.
    inwards = xp.asinh(a) - size
    rest = x0 * (w / xp.where(c_r < 0, safe - c_r, safe)) * (sinhc * w)
    radial = xp.where(c_r < 0, xp.sinh(inwards) + rest, a * xp.cosh(size) + x0 * (sinhc * abs(c_r)))
    y = radial[..., None] * hat + sinhc[..., None] * across
    return xp.where(still[..., None], x + 0 * y, y), size


def pair(x: Array, y: Array) -> Pair:
    """The distance, and y as seen from x."""
    xp = namespace(x, y)
    a, _, c, across = split(x, y)
    b, s = length(y), length(across)
    x0, y0 = time(a), time(b)
    one = xp.ones_like(b + a)

    def over(p: Array, q: Array) -> Array:  # 0 / 0 is 0
        return p / xp.where(q == 0, one, q)

    # sinh of the difference of the radii, ρ - σ, from a² - b² = <x - y, x + y>.
    scale = xp.maximum(xp.maximum(_power(x)[..., 0], _power(y)[..., 0]), one)
    minus, plus = (x - y) / scale[..., None], (x / scale[..., None] + y / scale[..., None])
    radii = (a / scale) * (y0 / scale) + (b / scale) * (x0 / scale)
    radial = over(_sum(minus * plus), radii)
    cosh = xp.hypot(one, radial)
    # q = 4 sinh²(d/2) = 4 sinh²((ρ - σ)/2) + 2ab (1 - cos θ), here the roots of the two.
    near = c >= 0
    root_a = xp.sqrt(2 * a)
    wide = xp.where(near, over(s, xp.sqrt(b + abs(c))), xp.sqrt(b + abs(c))) * root_a
    narrow = math.sqrt(2) * abs(radial) / xp.sqrt(1 + cosh)
    d = 2 * xp.asinh(xp.hypot(narrow, wide) / 2)

    # y boosted: across x it stays, along x it is b cos θ x₀ - a y₀; over e^(d/2), as both may be
    # as long as e^d.
    large = xp.maximum(xp.hypot(narrow, wide), one)
    share = a / x0
    below = abs(c) + share * y0
    forth = xp.where(
        near,
        -radial / large * over(share * y0 + b, below) - over(s, below) * (s / large) * x0,
        -below / large * x0,
    )
    forth = xp.where(a == 0, xp.zeros_like(forth), forth)  # at the apex all is across
    # tan(φ/2) = |p ∧ r| / (1 - p·r) for the points p, r of the Poincare ball.
    roots = xp.sqrt(1 + x0) * xp.sqrt(1 + y0)
    sine = (a / xp.sqrt(1 + x0)) * (s / xp.sqrt(1 + y0)) / 2
    cosine = xp.sqrt((1 + cosh) / 2) + (wide / xp.sqrt(roots) / 2) ** 2
    whole = xp.hypot(sine, cosine)
    sine, cosine = sine / whole, cosine / whole
    turn = (cosine - sine) * (cosine + sine), 2 * sine * cosine
    return Pair(d, forth, across / large[..., None], turn)


def carried(x: Array, y: Array, v: Array) -> Array:
    """Coordinates at y of the vector v at x, after parallel transport: turned by the area."""
    xp = namespace(x, y)
    seen, c, (_, hat, _, across) = pair(x, y), coords(x, v), split(x, y)
    s = length(across)[..., None]
    aside = across / xp.where(s == 0, xp.ones_like(s), s)
    cos, sin = (number[..., None] for number in seen.turn)
    p, r = _sum(c * hat)[..., None], _sum(c * aside)[..., None]
    return c + ((cos - 1) * p + sin * r) * hat + ((cos - 1) * r - sin * p) * aside


def time(size: Array) -> Array:
    """√(1 + a²), without squares that overflow."""
    xp = namespace(size)
    return xp.hypot(xp.ones_like(size), size)


def length(v: Array) -> Array:
    """Euclidean length, of entries of any size."""
    scale = _power(v)
    v = v / scale
    return namespace(v).sqrt(_sum(v * v)) * scale[..., 0]


def _sum(a: Array) -> Array:
    return namespace(a).sum(a, axis=-1)


def _power(a: Array) -> Array:
    """Power of two not above the largest entry; 1 for zeros. Shape (..., 1)."""
    xp = namespace(a)
    fixed = a.detach() if hasattr(a, "detach") else a
    top = xp.max(abs(fixed), axis=-1)[..., None]
    usual = (top > 0) & (top < math.inf)
    one = xp.ones_like(top)
    return xp.where(usual, 2.0 ** xp.floor(xp.log2(xp.where(usual, top, one))), one)


def _difference(a: Array, b: Array, c: Array, d: Array) -> Array:
    """The difference a b - c d to rounding, however much it cancels (Kahan; Dekker 1971)."""
    p, q = a * b, c * d
    return (p - q) + (_rest(a, b, p) - _rest(c, d, q))


def _rest(a: Array, b: Array, product: Array) -> Array:
    """What rounding took from a product."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Array) -> tuple[Array, Array]:
    """The upper and the lower half of the digits of float64."""
    shifted = 134217729.0 * a  # 2²⁷ + 1
    high = shifted - (shifted - a)
    return high, a - high


def _device(a: Array) -> Any:
    return getattr(a, "device", None)
