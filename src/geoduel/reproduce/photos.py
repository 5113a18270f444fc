"""Photos whose tilt is known: HLW's own layout, a folder with a truth file, or painted seascapes.

HLW ("Horizon Lines in the Wild", Workman, Zhai and Jacobs, BMVC 2016) lists one photo a row in
``metadata.csv``, without a header. A row has the path, then in the second release height and width,
then x1, y1, x2, y2 of the horizon. Their origin is the centre of the picture, x to the right, y
upwards.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArgumentError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Photo", "jpeg", "line_tilt", "read_photos", "seascapes"]

# The three corrections that the paper prints (9.17, 20.05 and 37.82 degrees), and others.
SEASCAPES = (9.17, -20.05, 37.82, 2.5, -14.0, 27.0, -5.5, 62.0)


@dataclass(frozen=True)
class Photo:
    """A picture and its tilt.

    Attributes
    ----------
    name : str
        What tells it from the others.
    degrees : float
        Tilt; positive where the horizon rises to the right.
    kind : str
        "natural", "rotated" on purpose, or "painted".
    open : callable
        Returns the picture, upright.
    """

    name: str
    degrees: float
    kind: str
    open: Callable[[], Image] = field(repr=False)


def read_photos(folder: Path) -> list[Photo]:
    """Read the photos of a folder.

    Parameters
    ----------
    folder : Path
        With ``truth.csv`` (a header; columns ``file`` and ``tilt_deg``, and ``kind`` if there), or
        with HLW's ``metadata.csv``. Pictures lie in it or in its ``images``.

    Returns
    -------
    list of Photo
        In the order of the file. Rows whose picture is not there are left out.

    Raises
    ------
    ArgumentError
        If there is no such file, a row cannot be read, or no picture is there.
    """
    truth, metadata = folder / "truth.csv", folder / "metadata.csv"
    if truth.is_file():
        rows = _truth(truth)
    elif metadata.is_file():
        rows = _metadata(metadata)
    else:
        raise ArgumentError(f"{folder} holds neither truth.csv nor HLW's metadata.csv")
    photos = []
    for name, degrees, kind in rows:
        for path in (folder / "images" / name, folder / name):
            if path.is_file():
                photos.append(Photo(name, degrees, kind, _Opener(path)))
                break
    if not photos:
        raise ArgumentError(f"none of the {len(rows)} pictures listed in {folder} is there")
    return photos


def seascapes() -> list[Photo]:
    """Seascapes of known tilt, painted from their number: the same for everyone."""
    return [
        Photo(f"seascape {i + 1}", degrees, "painted", _Painter(i, degrees))
        for i, degrees in enumerate(SEASCAPES)
    ]


def jpeg(image: Image, longest: int) -> bytes:
    """A small JPEG whose longer side has at most ``longest`` pixels."""
    from ..pictures.files import shrink

    stream = io.BytesIO()
    shrink(image, longest).convert("RGB").save(stream, "JPEG", quality=80)
    return stream.getvalue()


def line_tilt(x1: float, y1: float, x2: float, y2: float) -> float:
    """Tilt in degrees, in (-90, 90], of the line through two points with y upwards.

    Examples
    --------
    >>> line_tilt(-5.0, 0.0, 5.0, 10.0)
    45.0
    """
    degrees = math.degrees(math.atan2(y2 - y1, x2 - x1))
    if degrees > 90:  # HLW's first point is on the left; a line has no direction of its own
        return degrees - 180
    return degrees if degrees > -90 else degrees + 180


@dataclass(frozen=True)
class _Opener:
    path: Path

    def __call__(self) -> Image:
        from ..pictures.files import open_photo

        return open_photo(self.path)


@dataclass(frozen=True)
class _Painter:
    seed: int
    degrees: float

    def __call__(self) -> Image:
        return _painted(self.seed, self.degrees)


@cache
def _painted(seed: int, degrees: float) -> Image:
    from ..pictures.seascape import seascape

    return seascape(seed, tilt=math.radians(degrees), size=(600, 400))


Row = tuple[str, float, str]


def _truth(path: Path) -> list[Row]:
    rows = []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        for name in ("file", "tilt_deg"):
            if name not in (reader.fieldnames or ()):
                raise ArgumentError(f"{path} has no column {name!r}; it has {reader.fieldnames}")
        for line, row in enumerate(reader, 2):
            degrees = _number(row["tilt_deg"], path, line)
            rows.append((row["file"], degrees, row.get("kind") or "natural"))
    return rows


def _metadata(path: Path) -> list[Row]:
    rows = []
    with path.open(newline="", encoding="utf-8") as file:
        for line, row in enumerate(csv.reader(file), 1):
            if not row:
                continue
            if len(row) not in (5, 7):
                raise ArgumentError(f"{path}:{line} has {len(row)} columns, expected 5 or 7")
            x1, y1, x2, y2 = (_number(text, path, line) for text in row[-4:])
            rows.append((row[0].strip(), line_tilt(x1, y1, x2, y2), "natural"))
    return rows


def _number(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError(f"{path}:{line} has {text!r} where a number is expected")
    return value
