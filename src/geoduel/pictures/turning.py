"""Turning a picture, and the largest rectangle that is left of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .._support.check import positive, real, truth
from .files import check_image, pillow

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["largest_rectangle", "turn"]


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
    >>> from geoduel.pictures import seascape
    >>> level = turn(seascape(0, tilt=0.2, size=(300, 200)), -0.2)
    >>> level.size
    (276, 148)
    """
    pil = pillow()
    check_image(image)
    truth(crop, "crop")
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
