"""Pictures that several tests measure."""

from __future__ import annotations

import math

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra web)")


def horizon(image) -> float:
    """Measured tilt in radians: a robust line through the sharpest fall of brightness."""
    grey = np.asarray(image.convert("L"), float)
    if grey.shape[0] > grey.shape[1] * 4:
        raise AssertionError("too narrow to measure")
    fall = grey[:-3] + grey[1:-2] - grey[2:-1] - grey[3:]
    columns, rows = np.arange(grey.shape[1]), fall.argmax(axis=0) + 1.5
    inside = fall.max(axis=0) > 0.5 * np.median(fall.max(axis=0))
    slope, offset = 0.0, np.median(rows)
    for width in (1e9, 20, 6, 3, 2, 2):
        if width > 1e8:  # start from the median slope of distant pairs
            half = len(columns) // 2
            steps = (rows[half : 2 * half] - rows[:half]) / half
            slope = np.median(steps)
            offset = np.median(rows - slope * columns)
            continue
        near = inside & (abs(rows - slope * columns - offset) < width)
        slope, offset = np.polyfit(columns[near], rows[near], 1)
    return -math.atan(slope)  # rows count downwards


def half_plane(size=(300, 200), tilt=0.0):
    """White above a line through the centre that rises to the right by ``tilt``."""
    width, height = size
    x, y = np.arange(width) + 0.5 - width / 2, height / 2 - np.arange(height)[:, None] - 0.5
    above = np.clip(0.5 + y * math.cos(tilt) - x * math.sin(tilt), 0, 1)
    return Image.fromarray((255 * above).astype(np.uint8)).convert("RGB")
