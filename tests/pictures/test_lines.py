"""The guess of a tilt against painted horizons, real ones and pictures that say nothing."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra web)")

from samples.photos import half_plane  # noqa: E402

from geoduel.pictures import open_photo, seascape, turn  # noqa: E402
from geoduel.pictures.lines import guess_tilt  # noqa: E402


@pytest.mark.parametrize("degrees", [-50, -12.3, -0.4, 0, 3.3, 28])
def test_a_single_horizon_is_found(degrees):
    picture = half_plane((300, 200), math.radians(degrees))
    assert math.degrees(guess_tilt(picture)) == pytest.approx(degrees, abs=0.4)


@pytest.mark.parametrize("seed", range(3))
def test_painted_seas(seed):
    picture = seascape(seed, math.radians(-7.6), (360, 240))
    assert math.degrees(guess_tilt(picture)) == pytest.approx(-7.6, abs=0.5)


def test_upright_lines_tell_the_tilt_where_there_is_no_horizon():
    wide = np.zeros((300, 300), np.uint8)
    wide[:, ::40] = 255  # pillars
    picture = turn(Image.fromarray(wide), math.radians(6))
    assert math.degrees(guess_tilt(picture)) == pytest.approx(6, abs=0.5)


@pytest.mark.parametrize("size", [(1, 1), (8, 300), (90, 60)])
def test_a_picture_without_edges_is_taken_for_level(size):
    assert guess_tilt(Image.new("RGB", size, "grey")) == 0


@pytest.mark.parametrize("mode", ["L", "LA", "RGBA", "CMYK", "I;16"])
def test_every_mode_that_can_be_opened(mode):
    picture = half_plane((300, 200), 0.1)
    if mode == "I;16":
        grey = np.asarray(picture.convert("L")).astype(np.uint16) * 257
        picture = Image.fromarray(grey)
    else:
        picture = picture.convert(mode)
    assert guess_tilt(picture) == pytest.approx(0.1, abs=0.01)


def test_most_real_horizons_are_guessed_to_three_degrees(shared):
    with (shared / "horizons" / "truth.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[::4]
    found = [
        math.degrees(guess_tilt(open_photo(shared / "horizons" / "images" / row["file"])))
        for row in rows
    ]
    off = [abs(a - float(row["tilt_deg"])) for a, row in zip(found, rows, strict=True)]
    assert np.mean(np.array(off) < 3) >= 0.75  # 88 % of all 56
