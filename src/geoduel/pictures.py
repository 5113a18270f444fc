"""Pictures to level: open, turn, save, and a seascape of known tilt. Needs Pillow (extra ``web``).

Angles are radians, positive counter-clockwise as seen. A horizon has tilt t if it rises to the
right by t; `turn` by -t levels it, the rotation R* = R(-t) of `geoduel.problems.Leveling`.
"""

from __future__ import annotations

import math
import os
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._check import as_generator, positive, positive_int, real
from .errors import ArgumentError, MissingExtraError, PictureError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "largest_rectangle",
    "open_photo",
    "picture_format",
    "save_photo",
    "seascape",
    "shrink",
    "turn",
]

MAX_PIXELS = 150_000_000
"""Most pixels of a picture: 450 MB of memory in colour."""
MAX_BYTES = 500_000_000
"""Largest file of a picture."""

_FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".webp": "WEBP"}
_SUFFIXES = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp"}
_ORIENTATION, _WIDTH, _HEIGHT = 0x0112, (0x0100, 0xA002), (0x0101, 0xA003)  # EXIF tags
_EXIF_IFD = 0x8769


def largest_rectangle(width: float, height: float, angle: float) -> tuple[float, float]:
    """Sides of the largest upright rectangle within a turned one.

    The sides (w, h) obey w c + h s <= width and w s + h c <= height, with c and s the sizes of the
    cosine and sine. The product w h is largest either on the tighter line alone, at its middle, or
    where both lines meet.

    Parameters
    ----------
    width, height : float
        Sides of the rectangle before it is turned, > 0.
    angle : float
        Angle it is turned by, radians.

    Returns
    -------
    tuple of float
        Width and height.

    Raises
    ------
    ArgumentError
        If a side is not positive or the angle not finite.

    Examples
    --------
    >>> largest_rectangle(3.0, 2.0, 0.0)
    (3.0, 2.0)
    >>> w, h = largest_rectangle(3.0, 2.0, np.pi / 6)
    >>> round(w, 3), round(h, 3)
    (2.0, 1.155)
    """
    width, height = positive(width, "width"), positive(height, "height")
    angle = real(angle, "angle")
    c, s = abs(math.cos(angle)), abs(math.sin(angle))
    short = min(width, height)
    if short <= 2 * s * c * max(width, height):
        along, across = short / (2 * s), short / (2 * c)
        return (along, across) if width >= height else (across, along)
    double = c * c - s * s
    return (width * c - height * s) / double, (height * c - width * s) / double


def open_photo(
    path: str | os.PathLike[str],
    *,
    preview: int | None = None,
    max_pixels: int = MAX_PIXELS,
    max_bytes: int = MAX_BYTES,
) -> Image:
    """Open a JPEG, PNG or WebP picture completely, upright as its EXIF orientation says.

    Parameters
    ----------
    path : path
        The file. Its content decides the format, not its ending.
    preview : int, optional
        Pixels of the longest side that are enough. A JPEG is then decoded at a half, a quarter or
        an eighth of its size, in a fraction of the time and memory.
    max_pixels, max_bytes : int
        Limits; what is larger is refused before it is decoded.

    Returns
    -------
    PIL.Image.Image
        In a mode that can be turned: L, LA, RGB, RGBA, CMYK or, for 16-bit grey, I;16. ``format``
        is that of the file, ``info`` holds its metadata, which `turn` and `save_photo` keep.

    Raises
    ------
    PictureError
        If the file is of another kind, damaged, cut short, animated, or too large.
    OSError
        If it cannot be read, or is not there.
    MissingExtraError
        If Pillow is not installed.

    Examples
    --------
    >>> import io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = Path(folder) / "sea.jpg"
    ...     _ = save_photo(seascape(0, tilt=0.1, size=(90, 60)), name)
    ...     open_photo(name).size
    (90, 60)
    """
    pil, path = _pil(), Path(path)
    size = path.stat().st_size
    if size > positive_int(max_bytes, "max_bytes"):
        raise PictureError(
            f"{path.name} has {size / 1e6:,.0f} MB, expected at most {max_bytes / 1e6:,.0f}"
        )
    if size == 0:
        raise PictureError(f"{path.name} is empty")
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's remarks on odd files; limits are checked below
        try:
            image = pil.open(file, formats=("JPEG", "PNG", "WEBP"))
        except pil.DecompressionBombError:
            raise PictureError(
                f"{path.name} has more than {max_pixels / 1e6:,.0f} megapixels"
            ) from None
        except Exception:  # hostile bytes can end in anything
            raise PictureError(f"{path.name} is not a JPEG, PNG or WebP picture") from None
        pixels = image.width * image.height
        if pixels > positive_int(max_pixels, "max_pixels"):
            raise PictureError(
                f"{path.name} has {image.width} x {image.height} = {pixels / 1e6:,.0f} megapixels, "
                f"expected at most {max_pixels / 1e6:,.0f}"
            )
        kind = "JPEG" if image.format == "MPO" else image.format
        if kind != "JPEG" and getattr(image, "is_animated", False):
            raise PictureError(f"{path.name} is animated, expected a single picture")
        if preview is not None:
            scale = positive_int(preview, "preview") / max(image.size)
            image.draft(None, (math.ceil(scale * image.width), math.ceil(scale * image.height)))
        try:
            image.load()
        except MemoryError:
            raise
        except Exception:
            raise PictureError(
                f"{path.name} is damaged or was cut short: it cannot be decoded to its end"
            ) from None
        image = _upright(image)
    image = _turnable(image)
    image.format = kind
    return image


def turn(image: Image, angle: float, crop: bool = True) -> Image:
    """Turn a picture about its centre, by bicubic interpolation.

    Parameters
    ----------
    image : PIL.Image.Image
        Of a mode that `open_photo` returns.
    angle : float
        Radians, positive counter-clockwise as seen.
    crop : bool
        Cut to `largest_rectangle`, which has no empty corner. False keeps the whole picture, on
        a larger canvas with empty (black, or transparent) corners.

    Returns
    -------
    PIL.Image.Image
        A new picture with the format and metadata of the old.

    Raises
    ------
    ArgumentError
        If the angle is not finite.

    Examples
    --------
    >>> level = turn(seascape(0, tilt=0.2, size=(300, 200)), -0.2)
    >>> level.size
    (276, 148)
    """
    pil = _pil()
    angle = real(angle, "angle")
    quarters = round(angle / (math.pi / 2))
    if abs(angle - quarters * math.pi / 2) < 1e-12:  # moves pixels, mixes none
        method = (None, "ROTATE_90", "ROTATE_180", "ROTATE_270")[quarters % 4]
        turned = image.transpose(pil.Transpose[method]) if method else image.copy()
        turned.format = image.format
        return turned
    if image.mode == "I;16":  # Pillow interpolates only the 32-bit integers
        wide = turn(pil.fromarray(np.asarray(image).astype(np.int32)), angle, crop)
        turned = pil.fromarray(np.clip(np.asarray(wide), 0, 65535).astype(np.uint16))
        turned.format, turned.info = image.format, dict(image.info)
        return turned
    width, height = image.size
    c, s = math.cos(angle), math.sin(angle)
    if crop:
        size = largest_rectangle(width, height, angle)
        # Floored, since half a pixel more would show an empty corner; but no pixel for rounding.
        new_width, new_height = (max(1, math.floor(side + 1e-9)) for side in size)
    else:
        new_width = math.ceil(abs(width * c) + abs(height * s) - 1e-9)
        new_height = math.ceil(abs(width * s) + abs(height * c) - 1e-9)
    # Each new pixel is looked up in the old picture, turned back; rows count downwards.
    shift_x = width / 2 - (c * new_width - s * new_height) / 2
    shift_y = height / 2 - (s * new_width + c * new_height) / 2
    turned = image.transform(
        (new_width, new_height),
        pil.Transform.AFFINE,
        (c, -s, shift_x, s, c, shift_y),
        pil.Resampling.BICUBIC,
    )
    turned.format, turned.info = image.format, dict(image.info)
    return turned


def shrink(image: Image, longest: int) -> Image:
    """Return a preview whose longest side is at most ``longest`` pixels; 8 bits, L, RGB or RGBA.

    Examples
    --------
    >>> shrink(seascape(0, size=(300, 200)), 150).size
    (150, 100)
    """
    pil = _pil()
    positive_int(longest, "longest")
    scale = min(1.0, longest / max(image.size))
    size = (max(1, round(scale * image.width)), max(1, round(scale * image.height)))
    # The gap lets Pillow halve large pictures first, which is quick and invisible.
    small = image.resize(size, pil.Resampling.LANCZOS, reducing_gap=3.0) if scale < 1 else image
    if small.mode.startswith("I"):
        small = pil.fromarray((np.asarray(small) >> 8).astype(np.uint8))
    mode = {"LA": "RGBA", "CMYK": "RGB"}.get(small.mode, small.mode)
    return small.convert(mode) if mode != small.mode else small.copy()


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return "JPEG", "PNG" or "WEBP" by a file's ending; refuse other endings.

    Examples
    --------
    >>> picture_format("sea.JPG")
    'JPEG'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise PictureError(
            f"the ending of {Path(path).name!r} is {suffix!r}, expected {', '.join(_FORMATS)}"
        )
    return _FORMATS[suffix]


def save_photo(
    image: Image, path: str | os.PathLike[str], *, overwrite: bool = False, lossless: bool = False
) -> Path:
    """Save a picture at full quality with its metadata; complete or not at all.

    JPEG is written at quality 95 without thinning out colours. EXIF keeps everything but its
    thumbnail, with size and orientation put right; colour profile, XMP, resolution and comments
    are kept.

    Parameters
    ----------
    image : PIL.Image.Image
        The picture, its metadata in ``info``.
    path : path
        The file; its ending names the format.
    overwrite : bool
        Replace a file of this name.
    lossless : bool
        For WebP, which can be either.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FileExistsError
        If the file exists and ``overwrite`` is False.
    PictureError
        If the ending is none of .jpg, .jpeg, .png, .webp, or the format cannot hold the picture.
    OSError
        If it cannot be written; no part of a file is left behind.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_photo(seascape(0, size=(90, 60)), Path(folder) / "sea.webp").name
    'sea.webp'
    """
    path = Path(path)
    kind = picture_format(path)
    if not overwrite and path.exists():
        raise FileExistsError(f"{path} exists")
    if kind == "PNG" and image.mode == "CMYK":
        raise PictureError(f"PNG holds no CMYK, the mode of the picture for {path.name}; save JPEG")
    if kind == "JPEG":
        if image.mode in ("LA", "RGBA"):
            white = _pil().new("RGBA", image.size, "white")
            flat = _pil().alpha_composite(white, image.convert("RGBA")).convert("RGB")
            flat.info, image = dict(image.info), flat
        elif image.mode.startswith("I"):
            raise PictureError(f"JPEG holds 8 bits, the picture for {path.name} has 16; save PNG")
    handle, name = tempfile.mkstemp(prefix=f".{path.stem[:80]}-", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            try:
                image.save(file, kind, **_options(image, kind, lossless))
            except ValueError as error:
                raise PictureError(f"cannot write {path.name} as {kind}: {error}") from None
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())  # a temporary file is private; a photo is not
        _publish(name, path, overwrite)
    finally:
        Path(name).unlink(missing_ok=True)
    return path


def save_name(image: Image, path: Path) -> Path:
    """``path`` with an ending that fits the picture's format: a PNG named .jpg becomes .png."""
    fits = _FORMATS.get(path.suffix.lower()) == image.format or image.format not in _SUFFIXES
    return path if fits else path.with_suffix(_SUFFIXES[image.format or ""])


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
    pil = _pil()
    rng = as_generator(rng)
    tilt = real(tilt, "tilt")
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


# -- the seascape ----------------------------------------------------------------------------------

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


# -- private ---------------------------------------------------------------------------------------


def _pil() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("pictures need Pillow: pip install 'geoduel[web]'") from None
    return Image


def _upright(image: Image) -> Image:
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # metadata that cannot be read says nothing; the picture itself is sound
        image.info.pop("exif", None)
        return image.copy()


def _turnable(image: Image) -> Image:
    """In a mode whose pixels can be interpolated: no palette, no single colour for transparent."""
    clear = "transparency" in image.info
    mode = {"1": "L", "P": "RGBA" if clear else "RGB", "PA": "RGBA"}.get(image.mode, image.mode)
    if clear:
        mode = {"L": "LA", "RGB": "RGBA"}.get(mode, mode)
    if image.mode.startswith("I"):
        mode = "I;16"
    if mode != image.mode:
        info, image = image.info, image.convert(mode)
        image.info = {key: value for key, value in info.items() if key != "transparency"}
    return image


def _options(image: Image, kind: str, lossless: bool) -> dict[str, Any]:
    """Arguments of Pillow's ``save``: quality and metadata."""
    info = image.info
    options: dict[str, Any] = {"icc_profile": info.get("icc_profile"), "exif": _exif(image)}
    if kind == "JPEG":
        options |= {"quality": 95, "subsampling": 0}
        options |= {key: info[key] for key in ("dpi", "xmp", "comment") if key in info}
    elif kind == "WEBP":
        options |= {"quality": 95, "method": 4, "lossless": lossless, "exact": lossless}
        options |= {key: info[key] for key in ("xmp",) if key in info}
    else:
        from PIL.PngImagePlugin import PngInfo

        texts = PngInfo()
        for key, value in info.items():
            if isinstance(value, str) and isinstance(key, str) and not key.startswith("Raw "):
                texts.add_itxt(key, value, zip=len(value) > 1000)
        if isinstance(info.get("xmp"), bytes) and "XML:com.adobe.xmp" not in info:
            texts.add_itxt("XML:com.adobe.xmp", info["xmp"].decode("utf-8", "replace"))
        options |= {"pnginfo": texts} | {key: info[key] for key in ("dpi",) if key in info}
    return {key: value for key, value in options.items() if value is not None}


def _exif(image: Image) -> bytes | None:
    """The picture's EXIF for its pixels as they are now."""
    try:
        exif = image.getexif()
        if not exif:
            return None
        exif[_ORIENTATION] = 1
        for tags in (exif, exif.get_ifd(_EXIF_IFD)):
            for names, value in ((_WIDTH, image.width), (_HEIGHT, image.height)):
                for tag in names:
                    if tag in tags:
                        tags[tag] = value
        data = exif.tobytes()
    except Exception:  # damaged metadata is no reason to lose the picture
        return None
    return data if len(data) < 65_500 else None  # what one JPEG segment holds


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _publish(name: str, path: Path, overwrite: bool) -> None:
    """Give a finished temporary file its name, without replacing another unasked."""
    if overwrite:
        os.replace(name, path)
        return
    try:
        os.link(name, path)  # fails if the name is taken, in one step
    except FileExistsError:
        raise FileExistsError(f"{path} exists") from None
    except OSError:  # a file system without links
        with path.open("xb"):
            os.replace(name, path)
