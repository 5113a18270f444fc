"""Photos from files and back: opened with limits, turned upright, saved with what they carried."""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from .._support.check import positive_int
from .._support.files import write_whole
from ..errors import MissingExtraError, PictureError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["open_photo", "picture_format", "pillow", "save_photo", "shrink", "upright"]


MAX_PIXELS = 150_000_000
"""Most pixels of a picture: 450 MB of memory in colour."""
MAX_BYTES = 500_000_000
"""Largest file of a picture."""

_FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".webp": "WEBP"}
_SUFFIXES = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp"}
_ORIENTATION, _WIDTH, _HEIGHT = 0x0112, (0x0100, 0xA002), (0x0101, 0xA003)  # EXIF tags
_EXIF_IFD = 0x8769


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
    >>> from geoduel.pictures import seascape
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = Path(folder) / "sea.jpg"
    ...     _ = save_photo(seascape(0, tilt=0.1, size=(90, 60)), name)
    ...     open_photo(name).size
    (90, 60)
    """
    pil, path = pillow(), Path(path)
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
        image = upright(image)
    image = _turnable(image)
    image.format = kind
    return image


def shrink(image: Image, longest: int) -> Image:
    """Return a preview whose longest side is at most ``longest`` pixels; 8 bits, L, RGB or RGBA.

    Examples
    --------
    >>> from geoduel.pictures import seascape
    >>> shrink(seascape(0, size=(300, 200)), 150).size
    (150, 100)
    """
    pil = pillow()
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
    >>> from geoduel.pictures import seascape
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
            white = pillow().new("RGBA", image.size, "white")
            flat = pillow().alpha_composite(white, image.convert("RGBA")).convert("RGB")
            flat.info, image = dict(image.info), flat
        elif image.mode.startswith("I"):
            raise PictureError(f"JPEG holds 8 bits, the picture for {path.name} has 16; save PNG")

    def write(file: BinaryIO) -> None:
        try:
            image.save(file, kind, **_options(image, kind, lossless))
        except ValueError as error:
            raise PictureError(f"cannot write {path.name} as {kind}: {error}") from None

    write_whole(path, write, overwrite=overwrite)
    return path


def save_name(image: Image, path: Path) -> Path:
    """``path`` with an ending that fits the picture's format: a PNG named .jpg becomes .png."""
    fits = _FORMATS.get(path.suffix.lower()) == image.format or image.format not in _SUFFIXES
    return path if fits else path.with_suffix(_SUFFIXES[image.format or ""])


# -- private ---------------------------------------------------------------------------------------


def pillow() -> Any:
    """Pillow's ``Image``; an error that names the extra where it is missing."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("pictures need Pillow: pip install 'geoduel[web]'") from None
    return Image


def upright(image: Image) -> Image:
    """Turn a photo as its metadata say that the camera was held."""
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
