"""The rectangle against brute force, the direction of turning by measured horizons."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoduel.errors import ArgumentError
from geoduel.problems import Leveling

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra web)")

from samples.photos import half_plane, horizon  # noqa: E402

from geoduel.pictures import (  # noqa: E402
    largest_rectangle,
    turn,
)


@given(st.floats(0.3, 30), st.floats(0.3, 30), st.floats(-7, 7, allow_subnormal=False))
def test_largest_rectangle_beats_every_other_one_that_fits(width, height, angle):
    w, h = largest_rectangle(width, height, angle)
    c, s = abs(math.cos(angle)), abs(math.sin(angle))
    slack = 1e-9 * (width + height)
    assert w > 0
    assert h > 0
    assert w * c + h * s <= width + slack
    assert w * s + h * c <= height + slack
    others = np.linspace(0, min(width / max(c, 1e-12), height / max(s, 1e-12)), 1001)[1:-1]
    tall = np.minimum((width - others * c) / max(s, 1e-200), (height - others * s) / max(c, 1e-200))
    assert w * h >= np.max(others * tall) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("angle", "expected"), [(0, (3, 2)), (math.pi / 2, (2, 3)), (math.pi, (3, 2))]
)
def test_quarter_turns_lose_nothing(angle, expected):
    assert largest_rectangle(3, 2, angle) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("bad", [(0, 1, 0.1), (1, -2, 0.1), (1, 1, math.nan), (1, math.inf, 0)])
def test_largest_rectangle_names_a_bad_argument(bad):
    with pytest.raises(ArgumentError, match=r"width|height|angle"):
        largest_rectangle(*bad)


@pytest.mark.parametrize("degrees", [-40, -12, -1, 0, 0.5, 3, 25, 60])
@pytest.mark.parametrize("crop", [True, False])
def test_positive_angles_turn_counter_clockwise(degrees, crop):
    turned = turn(half_plane(), math.radians(degrees), crop=crop)
    if not crop:  # without the black corners
        w, h = largest_rectangle(300, 200, math.radians(degrees))
        x, y = turned.width / 2, turned.height / 2
        turned = turned.crop(
            (int(x - w / 2) + 1, int(y - h / 2) + 1, int(x + w / 2), int(y + h / 2))
        )
    assert math.degrees(horizon(turned)) == pytest.approx(degrees, abs=0.25)


def test_the_levelling_rotation_levels():
    problem = Leveling.degrees(17.0)
    angle = float(problem.manifold.to_angle(problem.optimum))
    assert abs(math.degrees(horizon(turn(half_plane(tilt=problem.tilt), angle)))) < 0.1


@pytest.mark.parametrize("degrees", [-170, -90, -60, -45, -30, -7.3, 0, 4.2, 45, 90, 135, 180])
@pytest.mark.parametrize("size", [(90, 60), (61, 97), (50, 50)])
def test_no_corner_is_empty_and_the_cut_is_as_large_as_it_can_be(degrees, size):
    angle = math.radians(degrees)
    white = Image.new("L", size, 255)
    turned = turn(white, angle)
    assert np.asarray(turned).min() == 255
    assert turned.size == pytest.approx(largest_rectangle(*size, angle), abs=1)
    whole = turn(white, angle, crop=False)
    c, s = abs(math.cos(angle)), abs(math.sin(angle))
    bounds = size[0] * c + size[1] * s, size[0] * s + size[1] * c
    assert whole.size == pytest.approx(bounds, abs=1)
    assert np.asarray(whole, float).sum() / 255 == pytest.approx(size[0] * size[1], rel=0.02)


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "CMYK", "I;16"])
def test_quarter_turns_move_pixels_only_in_every_mode(mode):
    rng = np.random.default_rng(0)
    if mode == "I;16":
        image = Image.fromarray(rng.integers(0, 65536, (7, 5), dtype=np.uint16))
    else:
        image = Image.fromarray(rng.integers(0, 256, (7, 5), dtype=np.uint8)).convert(mode)
    assert image.mode == mode
    same, half = turn(image, 0.0), turn(image, math.pi)
    assert np.array_equal(np.asarray(same), np.asarray(image))
    assert np.array_equal(np.asarray(half), np.asarray(image)[::-1, ::-1])
    assert np.array_equal(np.asarray(turn(image, math.pi / 2)), np.rot90(np.asarray(image)))


def test_turn_keeps_metadata_and_refuses_no_number():
    image = half_plane()
    image.info["comment"], image.format = b"kept", "JPEG"
    turned = turn(image, 0.1)
    assert turned.info["comment"] == b"kept"
    assert turned.format == "JPEG"
    with pytest.raises(ArgumentError, match="angle"):
        turn(image, math.inf)
