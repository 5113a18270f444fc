"""A painted seascape whose horizon is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._support.check import as_generator, positive_int, real, several
from ..errors import ArgumentError
from .files import pillow
from .turning import turn

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["seascape"]


def seascape(
    rng: np.random.Generator | int | None = None,
    tilt: float = 0.0,
    size: tuple[int, int] = (1200, 800),
) -> Image:
    """Paint a sea at sunset whose horizon has exactly the given tilt.

    Colours, sun, clouds and waves are drawn from ``rng``; nothing in them tells the tilt but the
    horizon itself. The horizon passes a little above the centre.

    Parameters
    ----------
    rng : numpy.random.Generator, int or None
        Generator or its seed.
    tilt : float
        Radians; positive: the horizon rises to the right.
    size : tuple of int
        Width and height, pixels.

    Returns
    -------
    PIL.Image.Image
        RGB.

    Raises
    ------
    ArgumentError
        If a side is not a positive integer or the tilt not finite.

    Examples
    --------
    >>> seascape(1, tilt=np.radians(12), size=(120, 80)).size
    (120, 80)
    """
    pil = pillow()
    rng = as_generator(rng)
    tilt = real(tilt, "tilt")
    size = several(size, "size", "a width and a height")
    if len(size) != 2:
        raise ArgumentError(f"size must be a width and a height, got {size!r}")
    width, height = (positive_int(n, f"size[{i}]") for i, n in enumerate(size))
    c, s = abs(math.cos(tilt)), abs(math.sin(tilt))
    # A level scene that covers the turned frame, with a margin for the interpolation.
    wide, high = math.ceil(width * c + height * s) + 6, math.ceil(width * s + height * c) + 6
    scene = _Scene(rng, wide, high, height).paint()
    turned = turn(pil.fromarray(scene), tilt, crop=False)
    left, top = (turned.width - width) // 2, (turned.height - height) // 2
    return turned.crop((left, top, left + width, top + height))


_Colour = tuple[float, float, float]
# Sky from the zenith to the horizon, lit clouds, dark clouds, near sea, far sea, sun.
_PALETTES: tuple[dict[str, Sequence[_Colour]], ...] = (
    {
        "sky": ((0.12, 0.20, 0.42), (0.36, 0.42, 0.62), (0.93, 0.62, 0.45), (1.0, 0.83, 0.55)),
        "cloud": ((1.0, 0.72, 0.52), (0.34, 0.30, 0.44)),
        "sea": ((0.03, 0.10, 0.18), (0.42, 0.36, 0.42)),
        "sun": ((1.0, 0.94, 0.72),),
    },
    {
        "sky": ((0.16, 0.14, 0.36), (0.47, 0.30, 0.52), (0.90, 0.48, 0.48), (0.99, 0.74, 0.56)),
        "cloud": ((0.98, 0.60, 0.52), (0.30, 0.22, 0.42)),
        "sea": ((0.06, 0.07, 0.20), (0.50, 0.32, 0.42)),
        "sun": ((1.0, 0.88, 0.70),),
    },
    {
        "sky": ((0.16, 0.42, 0.72), (0.38, 0.63, 0.85), (0.74, 0.86, 0.93), (0.93, 0.95, 0.92)),
        "cloud": ((1.0, 0.99, 0.96), (0.66, 0.74, 0.82)),
        "sea": ((0.02, 0.22, 0.32), (0.25, 0.52, 0.62)),
        "sun": ((1.0, 1.0, 0.94),),
    },
)


class _Scene:
    """A level sea of ``wide`` x ``high`` pixels, its details sized for a frame ``frame`` high."""

    def __init__(self, rng: np.random.Generator, wide: int, high: int, frame: int) -> None:
        self.rng, self.frame = rng, frame
        self.palette = _PALETTES[rng.integers(len(_PALETTES))]
        self.x = ((np.arange(wide) + 0.5 - wide / 2) / frame).astype(np.float32)[None, :]
        # Height above the horizon, in frames; the horizon lies between pixels or on one, as drawn.
        horizon = high / 2 - frame * rng.uniform(0.03, 0.12)
        self.y = ((horizon - np.arange(high) - 0.5) / frame).astype(np.float32)[:, None]
        self.sun_x = rng.uniform(0.12, 0.4) * rng.choice((-1, 1))
        self.sun_y = rng.uniform(0.06, 0.16)

    def paint(self) -> np.ndarray:
        above = self.y[:, 0] * self.frame  # pixels above the horizon
        picture = np.zeros((self.y.size, self.x.size, 3), np.float32)
        picture[above > -1] = self._sky(self.y[above > -1])
        share = np.clip(0.5 - above, 0, 1)[above < 1, None, None]  # smooth over one pixel
        picture[above < 1] += share * (self._sea(self.y[above < 1]) - picture[above < 1])
        picture += self.rng.normal(0, 0.006, picture.shape[:2]).astype(np.float32)[..., None]
        return (255 * np.clip(picture, 0, 1) + 0.5).astype(np.uint8)

    def _sky(self, y: np.ndarray) -> np.ndarray:
        up = np.clip(y, 0, 0.9)
        sky = np.repeat(_blend(1 - np.sqrt(up / 0.9), self.palette["sky"]), self.x.size, axis=1)
        away = np.hypot(self.x - self.sun_x, y - self.sun_y)
        sun = np.asarray(self.palette["sun"][0], np.float32)
        sky += (0.55 * np.exp(-away / 0.16) + 0.25 * np.exp(-away / 0.5))[..., None] * (sun - sky)
        # Clouds lie flatter and denser towards the horizon, as seen from below.
        depth = 0.35 / (up + 0.10)
        density = self._noise(self.x * depth + 7, depth * 1.6, 5)
        cover = _smooth((density - 0.50) / 0.20) * _smooth(up / 0.05) * 0.85
        lit, dark = (np.asarray(colour, np.float32) for colour in self.palette["cloud"])
        shade = (_smooth((density - 0.50) / 0.35) * (1 - 0.5 * np.exp(-away / 0.35)))[..., None]
        sky += cover[..., None] * (lit + shade * (dark - lit) - sky)
        disc = _smooth((0.035 - away) * self.frame / 2 + 0.5)[..., None]
        return sky + disc * (sun - sky)

    def _sea(self, y: np.ndarray) -> np.ndarray:
        down = np.clip(-y, 0, None)
        share = np.exp(-down / 0.18)
        sea = np.repeat(_blend(share, self.palette["sea"]), self.x.size, axis=1)
        depth = 0.5 / (down + 0.02)  # distance on the water
        waves = self._noise(self.x * depth * 5, depth * 9, 4) - 0.5
        size = _smooth(down / 0.25)  # far waves are finer than a pixel
        sea += (0.55 * size * waves)[..., None] * np.asarray((0.5, 0.6, 0.65), np.float32)
        path = np.exp(-(((self.x - self.sun_x) / (0.05 + 0.28 * down)) ** 2))
        sparkle = _smooth((waves + 0.06 - 0.10 * down) / 0.16) * (1 - share)
        glitter = np.clip(path * (0.30 + 0.9 * sparkle) * np.exp(-down / 0.6), 0, 0.9)
        return sea + glitter[..., None] * (np.asarray(self.palette["sun"][0], np.float32) - sea)

    def _noise(self, u: np.ndarray, v: np.ndarray, octaves: int) -> np.ndarray:
        """Fractal noise about 1/2 at the places (u, v), one lattice step a unit."""
        lattice = self.rng.random((64, 64), dtype=np.float32)
        total = np.zeros(np.broadcast_shapes(u.shape, v.shape), np.float32)
        for octave in range(octaves):
            scale = 2.0**octave
            total += _lookup(lattice, u * scale + 3.1 * octave, v * scale + 1.7 * octave) / scale
        return total / (2 - 2.0 ** (1 - octaves))


def _lookup(lattice: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Smoothly interpolated values of a lattice that repeats."""
    n = len(lattice)
    left, below = np.floor(u), np.floor(v)
    s, t = _smooth(u - left), _smooth(v - below)
    i, j = left.astype(np.int32) % n, below.astype(np.int32) % n
    lattice = np.pad(lattice, ((0, 1), (0, 1)), mode="wrap").ravel()
    corner = j * (n + 1) + i
    low, low_right, high, high_right = (lattice[corner + k] for k in (0, 1, n + 1, n + 2))
    low += s * (low_right - low)
    high += s * (high_right - high)
    return low + t * (high - low)


def _smooth(t: np.ndarray) -> np.ndarray:
    """A smooth step from 0 at t <= 0 to 1 at t >= 1."""
    t = np.clip(t, 0, 1)
    return t * t * (3 - 2 * t)


def _blend(t: np.ndarray, colours: Sequence[_Colour]) -> np.ndarray:
    """Colours along a gradient, t from 0 to 1; shape of t and three channels."""
    stops = np.linspace(0, 1, len(colours))
    channels = [np.interp(t, stops, [colour[k] for colour in colours]) for k in range(3)]
    return np.stack(channels, axis=-1).astype(np.float32)
