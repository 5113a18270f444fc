"""What a pane shows: whatever ``render(point)`` returns, as bytes of a known type."""

from __future__ import annotations

import io
import math
import mimetypes
import re
import sys
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from .._support.check import real
from ..errors import ArgumentError

__all__ = ["Content", "Turned", "content", "plain"]

_MEDIA_TYPE = re.compile(r"(?:audio|image|video)/[A-Za-z0-9][A-Za-z0-9.+-]*")  # it is a header
# The first bytes of a file; for RIFF and ISO media the kind follows after eight bytes.
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
)
_ISO = {b"avif": "image/avif", b"heic": "image/heic", b"mif1": "image/heif"}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


@dataclass(frozen=True)
class Content:
    """Bytes and their type, with words for those who cannot see them.

    Parameters
    ----------
    data : bytes
        The picture, sound, film, page or text (UTF-8).
    media_type : str
        "image/...", "audio/...", "video/...", "text/html" or "text/plain".
    alt : str
        Description for screen readers. It must not tell which choice is better.

    Raises
    ------
    ArgumentError
        If the type is another one.

    Examples
    --------
    >>> Content(b"...", "audio/wav").kind
    'audio'
    """

    data: bytes
    media_type: str
    alt: str = ""

    def __post_init__(self) -> None:
        text = self.media_type in ("text/plain", "text/html")
        if not text and not _MEDIA_TYPE.fullmatch(self.media_type):
            raise ArgumentError(
                f"media_type must be image/..., audio/..., video/..., text/html or text/plain, "
                f"got {self.media_type!r}"
            )
        if not isinstance(self.data, bytes):
            raise ArgumentError(f"data must be bytes, got {type(self.data).__name__}")

    @property
    def kind(self) -> str:
        """Image, audio, video, html or text."""
        kind, _, rest = self.media_type.partition("/")
        return {"html": "html", "plain": "text"}.get(rest, kind) if kind == "text" else kind


@dataclass(frozen=True)
class Turned:
    """A picture that the browser turns: sent once, shown at any angle without delay.

    Parameters
    ----------
    picture : Content
        An image; the same object for every angle.
    angle : float
        Radians, counter-clockwise positive.
    size : tuple of int
        Width and height of the picture; only their ratio matters.
    """

    picture: Content
    angle: float
    size: tuple[int, int]

    kind = "turned"

    def __post_init__(self) -> None:
        real(self.angle, "angle")
        if self.picture.kind != "image":
            raise ArgumentError(f"picture must be an image, got {self.picture.media_type!r}")


def content(result: Any, full: bool = False) -> Content | Turned:
    """Convert what ``render`` returned.

    Parameters
    ----------
    result : object
        A Pillow image, a Matplotlib figure, an array of uint8, the ``pathlib.Path`` of a file,
        bytes of a picture, sound or film, or a pair of bytes and type. Text that starts with
        ``<svg``, with any other ``<`` (HTML), or with neither (plain text). Anything that shows
        itself in a notebook (``_repr_svg_``, ``_repr_png_``, ``_repr_html_``). `Content` or
        `Turned`.
    full : bool
        Pictures in their full size and without loss, to be kept; else for the screen.

    Returns
    -------
    Content or Turned
        What to send to the browser.

    Raises
    ------
    ArgumentError
        If it is none of these.

    Examples
    --------
    >>> content("<p>Hello</p>").media_type, content("Hello").kind
    ('text/html', 'text')
    >>> content((b"RIFF", "audio/wav")).kind
    'audio'
    """
    if isinstance(result, Content | Turned):
        return result
    if isinstance(result, str):
        start = result.lstrip()[:200].lower()
        if start.startswith("<svg") or (start.startswith("<?xml") and "<svg" in result[:2000]):
            return Content(result.encode(), "image/svg+xml")
        return Content(result.encode(), "text/html" if start.startswith("<") else "text/plain")
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], str):
        return Content(bytes(result[0]), result[1])
    if isinstance(result, PurePath):
        data, guess = Path(result).read_bytes(), mimetypes.guess_type(result.name)[0]
        return Content(data, guess or _sniff(data[:16]))
    if isinstance(result, np.ndarray) and result.dtype == np.uint8:
        from PIL import Image

        return _picture(Image.fromarray(result), full)
    if isinstance(result, bytes | bytearray):
        return Content(bytes(result), _sniff(bytes(result[:16])))
    module = type(result).__module__.partition(".")[0]
    if module == "PIL":
        return _picture(result, full)
    if module == "matplotlib" and hasattr(result, "savefig"):
        return _figure(result, full)
    for name, media_type in (
        ("_repr_svg_", "image/svg+xml"),
        ("_repr_png_", "image/png"),
        ("_repr_html_", "text/html"),
    ):
        data = getattr(result, name, lambda: None)()
        if data:
            return Content(data.encode() if isinstance(data, str) else bytes(data), media_type)
    raise ArgumentError(
        "render must return a Pillow image, a Matplotlib figure, an array of uint8, the Path of a "
        "file, text, SVG, HTML, bytes, or bytes and their type; got "
        f"{type(result).__name__}{' of ' * hasattr(result, 'dtype')}{getattr(result, 'dtype', '')}"
    )


def turned(shown: Turned) -> Content:
    """Return the picture as the browser would turn it, cut to a rectangle without corners."""
    from PIL import Image

    from ..pictures.turning import turn

    return _picture(turn(Image.open(io.BytesIO(shown.picture.data)), shown.angle), full=True)


def plain(point: Any) -> str:
    """The numbers of a point, for studies without ``render``.

    Examples
    --------
    >>> print(plain(np.array([[1.0, 0.25], [0.0, -3.0]])))
    1  0.25
    0    -3
    """
    a = np.asarray(point)
    rows = np.atleast_2d(a.reshape(len(a), -1) if a.ndim > 2 else a)
    cells = [[f"{value:.4g}" for value in row] for row in rows]
    width = max(len(cell) for row in cells for cell in row)
    return "\n".join("  ".join(cell.rjust(width) for cell in row).strip() for row in cells)


def _sniff(start: bytes) -> str:
    for signature, media_type in _SIGNATURES:
        if start.startswith(signature):
            return media_type
    if start[:4] == b"RIFF" and start[8:12] in _RIFF:
        return _RIFF[start[8:12]]
    if start[4:8] == b"ftyp":
        return _ISO.get(start[8:12], "video/mp4")
    raise ArgumentError(
        "render returned bytes of an unknown kind; return (bytes, type) instead, for example "
        "(data, 'audio/mpeg')"
    )


def _picture(image: Any, full: bool) -> Content:
    from ..pictures.files import plain as plain_colours
    from ..pictures.files import shrink, upright

    image = plain_colours(upright(image))
    if image.mode not in ("1", "L", "LA", "RGB", "RGBA", "CMYK") and image.mode[:1] != "I":
        raise ArgumentError(
            f"render returned a picture of mode {image.mode}, expected L, RGB, RGBA or one that "
            "Pillow converts to these"
        )
    small, file = image if full else shrink(image, 1600), io.BytesIO()
    # Small pictures are often drawings, which JPEG would blur; so are all with transparency.
    drawing = math.prod(small.size) <= 400_000 or small.mode not in ("L", "RGB")
    if full or drawing:
        small.save(file, "PNG", compress_level=3)
        return Content(file.getvalue(), "image/png")
    small.save(file, "JPEG", quality=92, subsampling=0)
    return Content(file.getvalue(), "image/jpeg")


def _figure(figure: Any, full: bool) -> Content:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=300 if full else 160)
    if "matplotlib.pyplot" in sys.modules:  # which keeps each figure until it is closed
        sys.modules["matplotlib.pyplot"].close(figure)
    return Content(file.getvalue(), "image/png")
