"""Horizons: a picture turned by the rotation that duels found is level."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.reproduce.experiment import Outcome, Plan
from geoduel.reproduce.experiments.horizon import CLOSE, HORIZON, enough, undo_tilt
from geoduel.reproduce.photos import read_photos, seascapes
from geoduel.reproduce.report import Gallery

pytest.importorskip("PIL")
from geoduel.pictures import seascape, turn


def horizon_tilt(image):
    """Tilt in degrees of the sharpest edge between two halves: the line of largest row changes.

    The edge is sought in each column near the middle of the picture, and a line fitted to it.
    """
    grey = np.asarray(image.convert("L"), dtype=float)
    height, width = grey.shape
    # Bands above and below a row: their difference peaks at the horizon, whatever the waves do.
    band = max(3, height // 40)
    sums = np.cumsum(np.vstack([np.zeros(width), grey]), axis=0)
    rows = np.arange(band, height - band)
    above = sums[rows] - sums[rows - band]
    below = sums[rows + band] - sums[rows]
    edge = rows[np.argmax(np.abs(above - below), axis=0)]
    x, y = np.arange(width), -edge.astype(float)
    keep, slope = np.ones(width, dtype=bool), 0.0
    for _ in range(8):  # what lies off the line (clouds, glitter) is left out
        slope, offset = np.polyfit(x[keep], y[keep], 1)
        rest = np.abs(y - slope * x - offset)
        keep = rest <= max(1.5, 1.5 * np.median(rest))
    return math.degrees(math.atan(slope))


@pytest.mark.parametrize("degrees", [12.0, -7.5])
def test_the_edge_finder_sees_the_painted_tilt(degrees):
    """The tests below would be worth little if it did not."""
    image = seascape(3, tilt=math.radians(degrees), size=(480, 320))
    assert horizon_tilt(image) == pytest.approx(degrees, abs=0.4)


@pytest.mark.parametrize("degrees", [12.0, -7.5])
@pytest.mark.parametrize("loss", ["frobenius", "angle"])
def test_duels_level_a_rendered_picture(degrees, loss):
    """The rotation found by duels, applied to the picture, turns it the right way round."""
    image = seascape(3, tilt=math.radians(degrees), size=(480, 320))
    found = undo_tilt(degrees, loss, enough(degrees))
    upright = turn(image, math.radians(found["turn"]))
    assert abs(horizon_tilt(upright)) <= CLOSE + 0.4
    wrong_way = turn(image, -math.radians(found["turn"]))
    assert abs(horizon_tilt(wrong_way)) > abs(degrees)


@pytest.mark.parametrize("degrees", [0.3, -9.17, 20.05, -37.82, 74.0])
def test_enough_iterations_level_any_tilt(degrees):
    found = undo_tilt(degrees, "frobenius", enough(degrees))
    assert abs(found["left"][-1]) <= CLOSE
    assert found["turn"] == pytest.approx(-degrees, abs=CLOSE)
    assert found["duels"][-1] == 2 * enough(degrees)


def test_both_losses_give_the_same_run():
    """They order rotations alike (E17), and near level their values differ by 4."""
    one, other = undo_tilt(9.17, "frobenius", 40), undo_tilt(9.17, "angle", 40)
    assert one["left"] == other["left"]
    assert one["loss"][-1] / other["loss"][-1] == pytest.approx(4, rel=1e-3)


def test_thirty_iterations_cannot_undo_twenty_degrees():
    found = undo_tilt(20.05, "frobenius", 30)
    assert found["left"][-1] == pytest.approx(20.05 - 30 * math.degrees(0.01), abs=1e-6)


def test_all_natural_photos_are_levelled(shared):
    """The paper's RDNGD, given the tilt in steps of 0.573 degrees and ten more, levels all 40."""
    photos = [p for p in read_photos(shared / "horizons") if p.kind == "natural"]
    assert len(photos) == 40
    for i, photo in enumerate(photos):
        found = undo_tilt(photo.degrees, "frobenius", enough(photo.degrees), seed=i)
        assert abs(found["left"][-1]) <= CLOSE, photo.name


def test_the_section_shows_every_picture(monkeypatch):
    monkeypatch.setattr("geoduel.reproduce.photos.SEASCAPES", (9.17, 62.0))
    monkeypatch.setattr("geoduel.reproduce.experiments.horizon._figure", lambda found: None)
    tasks = HORIZON.tasks(Plan())
    outcomes = [Outcome("horizon", t, HORIZON.run(t.settings)) for t in tasks]
    section = HORIZON.section(Plan(), outcomes[::-1])  # in whatever order they finish
    assert "levels 2 of 2 pictures to within 0.6 degrees" in section.parts[1]
    assert [row["tilt"] for row in section.rows] == [9.17, 62.0]
    assert section.rows[1]["left after 100"] > 4  # 100 steps undo 57.3 degrees
    pictures = next(b for b in section.parts if isinstance(b, Gallery))
    assert all(data.startswith(b"\xff\xd8") for row in pictures.rows for data, _ in row)


def test_seascapes_are_the_default():
    tasks = HORIZON.tasks(Plan())
    assert [t.settings["tilt_deg"] for t in tasks] == [p.degrees for p in seascapes()]
