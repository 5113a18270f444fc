"""Photos from files and back: opened with limits, turned upright, saved with what they carried."""

from __future__ import annotations

import math
import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from .._support.check import as_path, instance, positive_int, truth
from .._support.files import write_whole
from ..errors import MissingExtraError, PictureError
from .metadata import deep, keep, options

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "SUFFIXES",
    "is_lossless",
    "open_photo",
    "picture_format",
    "pillow",
    "plain",
    "save_name",
    "save_photo",
    "shrink",
    "upright",
]


MAX_PIXELS = 150_000_000
"""Most pixels of a picture: 450 MB of memory in colour."""
MAX_BYTES = 500_000_000
"""Largest file of a picture."""

_SUFFIXES = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "WEBP": (".webp",),
    "TIFF": (".tif", ".tiff"),
    "HEIF": (".heic", ".heif", ".hif"),
    "AVIF": (".avif",),
}
SUFFIXES = tuple(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes)
"""Endings of the files that can be opened and saved."""
_NAMES = "JPEG, PNG, WebP, TIFF, HEIF or AVIF"
_HEAD = 1 << 16  # bytes of a file in which it says what it is
# The same colours in a mode whose pixels can be interpolated.
_PLAIN = {"1": "L", "HSV": "RGB", "RGBX": "RGB", "YCbCr": "RGB", "PA": "RGBA", "RGBa": "RGBA"}
_PLAIN |= {"La": "LA", "I;16L": "I;16", "I;16B": "I;16", "I;16N": "I;16"}
_TURNABLE = ("L", "LA", "RGB", "RGBA", "CMYK", "I;16")


def open_photo(
    path: str | os.PathLike[str],
    *,
    preview: int | None = None,
    max_pixels: int = MAX_PIXELS,
    max_bytes: int = MAX_BYTES,
) -> Image:
    """Open a picture completely, upright as its EXIF orientation says.

    JPEG, PNG, WebP and TIFF; HEIF and AVIF with the extra ``photos``.

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
        ``info["bits"]`` is there where a HEIF or AVIF has more than 8 bits a colour: these are
        opened with 8.

    Raises
    ------
    PictureError
        If the file is of another kind, damaged, cut short, animated, of several pages, or too
        large. If it has 16 bits a colour, since it would be saved with 8; grey keeps its 16.
    OSError
        If it cannot be read, or is not there.
    MissingExtraError
        If Pillow, or what it needs for the file's kind, is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from geoduel.pictures import seascape
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = Path(folder) / "sea.jpg"
    ...     _ = save_photo(seascape(0, tilt=0.1, size=(90, 60)), name)
    ...     open_photo(name).size
    (90, 60)
    """
    pil, path = pillow(), as_path(path, "path")
    size = path.stat().st_size
    if size > positive_int(max_bytes, "max_bytes"):
        raise PictureError(
            f"{path.name} has {size / 1e6:,.0f} MB, expected at most {max_bytes / 1e6:,.0f}"
        )
    if size == 0:
        raise PictureError(f"{path.name} is empty")
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's remarks on odd files; limits are checked below
        head = file.read(_HEAD)
        file.seek(0)
        kinds = _readable(pil, head, path.name)
        try:
            image = pil.open(file, formats=kinds)
        except pil.DecompressionBombError:
            raise PictureError(
                f"{path.name} has more than {max_pixels / 1e6:,.0f} megapixels"
            ) from None
        except Exception:  # hostile bytes can end in anything
            raise PictureError(f"{path.name} is not a {_NAMES} picture") from None
        pixels = image.width * image.height
        if pixels > positive_int(max_pixels, "max_pixels"):
            raise PictureError(
                f"{path.name} has {image.width} x {image.height} = {pixels / 1e6:,.0f} megapixels, "
                f"expected at most {max_pixels / 1e6:,.0f}"
            )
        kind = "JPEG" if image.format == "MPO" else image.format
        # Of several pictures in a JPEG or HEIF, the first is the photo.
        if kind not in ("JPEG", "HEIF") and getattr(image, "is_animated", False):
            many = "has several pages" if kind == "TIFF" else "is animated"
            raise PictureError(f"{path.name} {many}, expected a single picture")
        bits = deep(image, head)
        _check_colours(image, bits, path.name)
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
        keep(image)
        image = upright(image)
    image = plain(image)
    image.format = kind
    if bits > 8 and kind in ("HEIF", "AVIF"):
        image.info["bits"] = bits
    return image


def shrink(image: Image, longest: int) -> Image:
    """Return a preview whose longest side is at most ``longest`` pixels; 8 bits, L, RGB or RGBA.

    Examples
    --------
    >>> from geoduel.pictures import seascape
    >>> shrink(seascape(0, size=(300, 200)), 150).size
    (150, 100)
    """
    check_image(image)
    pil = pillow()
    positive_int(longest, "longest")
    scale = min(1.0, longest / max(image.size))
    size = (max(1, round(scale * image.width)), max(1, round(scale * image.height)))
    # The gap lets Pillow halve large pictures first, which is quick and invisible.
    small = image.resize(size, pil.Resampling.LANCZOS, reducing_gap=3.0) if scale < 1 else image
    if small.mode.startswith("I"):
        small = pil.fromarray(np.clip(np.asarray(small) >> 8, 0, 255).astype(np.uint8))
    mode = {"LA": "RGBA", "CMYK": "RGB"}.get(small.mode, small.mode)
    return small.convert(mode) if mode != small.mode else small.copy()


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return "JPEG", "PNG", ... by a file's ending; refuse other endings.

    Examples
    --------
    >>> picture_format("sea.JPG"), picture_format("phone.heic")
    ('JPEG', 'HEIF')
    """
    path = as_path(path, "path")
    suffix = path.suffix.lower()
    for kind, suffixes in _SUFFIXES.items():
        if suffix in suffixes:
            return kind
    raise PictureError(f"the ending of {path.name!r} is {suffix!r}, expected {', '.join(SUFFIXES)}")


def save_photo(
    image: Image, path: str | os.PathLike[str], *, overwrite: bool = False, lossless: bool = False
) -> Path:
    """Save a picture at full quality with its metadata; complete or not at all.

    JPEG is written at quality 95 without thinning out colours. EXIF keeps everything but its
    thumbnail, with size and orientation put right; colour profile, XMP, IPTC, resolution and
    comments are kept.

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
        If the ending is of no such format, or the format cannot hold the picture.
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
    path = as_path(path, "path")
    check_image(image)
    kind = picture_format(path)
    truth(lossless, "lossless")
    if not truth(overwrite, "overwrite") and path.exists():
        raise FileExistsError(f"{path} exists")
    if image.mode == "CMYK" and kind not in ("JPEG", "TIFF"):
        raise PictureError(
            f"{kind} holds no CMYK, the mode of the picture for {path.name}; save JPEG"
        )
    if image.mode.startswith("I") and kind not in ("PNG", "TIFF", "HEIF"):
        raise PictureError(f"{kind} holds 8 bits, the picture for {path.name} has 16; save PNG")
    if kind == "JPEG" and image.mode in ("LA", "RGBA"):
        white = pillow().new("RGBA", image.size, "white")
        flat = pillow().alpha_composite(white, image.convert("RGBA")).convert("RGB")
        flat.info, image = dict(image.info), flat
    if kind in ("HEIF", "AVIF"):
        _openers(pillow())

    def write(file: BinaryIO) -> None:
        try:
            image.save(file, kind, **options(image, kind, lossless))
        except (ValueError, KeyError) as error:  # no such format here, or it cannot be
            raise PictureError(f"cannot write {path.name} as {kind}: {error}") from None

    write_whole(path, write, overwrite=overwrite)
    return path


def check_image(image: Any) -> None:
    """Raise an error unless it is a picture of Pillow."""
    instance(image, "image", pillow().Image, "a PIL.Image.Image")


def save_name(image: Image, path: Path) -> Path:
    """``path`` with an ending that fits the picture's format: a PNG named .jpg becomes .png."""
    fitting = _SUFFIXES.get(image.format or "", (path.suffix.lower(),))
    return path if path.suffix.lower() in fitting else path.with_suffix(fitting[0])


def is_lossless(path: Path) -> bool:
    """Whether a WebP file is of the lossless kind: its pixels are in a VP8L chunk."""
    with path.open("rb") as file:
        head = file.read(12)
        if head[:4] != b"RIFF" or head[8:] != b"WEBP":
            return False
        while len(chunk := file.read(8)) == 8:
            if chunk[:4] in (b"VP8 ", b"VP8L"):
                return chunk[:4] == b"VP8L"
            size = int.from_bytes(chunk[4:], "little")
            file.seek(size + size % 2, os.SEEK_CUR)
    return False


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


def plain(image: Image) -> Image:
    """In a mode whose pixels can be interpolated: no palette, no single colour for transparent."""
    clear = "transparency" in image.info
    mode = _PLAIN.get(image.mode, image.mode)
    if mode == "P":
        mode = "RGBA" if clear else "RGB"
    if clear:
        mode = {"L": "LA", "RGB": "RGBA"}.get(mode, mode)
    if mode == "I" and image.format == "PNG":  # as old versions of Pillow open 16 bits
        mode = "I;16"
    if mode != image.mode:
        info, kind = image.info, image.format
        if mode == "I;16":  # which `convert` cuts down to 8 bits
            image = pillow().fromarray(np.asarray(image).astype(np.uint16))
        else:
            image = image.convert(mode)
        image.info = {key: value for key, value in info.items() if key != "transparency"}
        image.format = kind
    return image


def _check_colours(image: Image, bits: int, name: str) -> None:
    """Refuse what would lose colours without a word."""
    kind = "HEIF" if image.format == "AVIF" else image.format
    grey = image.mode == "I" and kind == "PNG"
    if bits > 8 and kind != "HEIF" and not image.mode.startswith("I;16") and not grey:
        raise PictureError(
            f"{name} has {bits} bits a colour, and would be saved with 8; save a copy with 8 first"
        )
    if _PLAIN.get(image.mode, image.mode) not in (*_TURNABLE, "P") and not grey:
        raise PictureError(f"{name} has pixels of mode {image.mode}, expected grey or colours")


def _openers(pil: Any) -> list[str]:
    """The formats that can be opened here."""
    with suppress(ImportError):
        import pillow_heif

        pillow_heif.register_heif_opener()
    pil.init()
    return [kind for kind in _SUFFIXES if kind in pil.OPEN]


def _readable(pil: Any, head: bytes, name: str) -> list[str]:
    """The formats that can be opened here; an error where that of the file needs an extra."""
    kinds = _openers(pil)
    if head[4:8] == b"ftyp":
        brands = head[8 : int.from_bytes(head[:4])]
        kind = "AVIF" if b"avif" in brands else "HEIF" if b"he" in brands else ""
        if kind and kind not in kinds:
            raise MissingExtraError(f"{name} is {kind}: pip install 'geoduel[photos]'")
    return kinds
