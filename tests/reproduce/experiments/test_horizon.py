"""Horizons: a picture turned by the rotation that duels found is level."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.problems import Leveling
from geoduel.reproduce.claims import FAILS, HOLDS, PARTLY
from geoduel.reproduce.controls import CONTROLS
from geoduel.reproduce.experiment import Outcome, Plan
from geoduel.reproduce.experiments.horizon import (
    CLAIMED,
    CLOSE,
    HORIZON,
    PLATEAU,
    STEP,
    enough,
    horizon_claims,
    undo_tilt,
)
from geoduel.reproduce.photos import Photo, read_photos, seascapes
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
    text = " ".join(part for part in section.parts if isinstance(part, str))
    assert "it does for 2 of 2" in text
    assert "the pictures play no part" in text
    assert [row["tilt"] for row in section.rows] == [9.17, 62.0]
    assert section.rows[1]["left after 100"] > 4  # 100 steps undo 57.3 degrees
    pictures = next(b for b in section.parts if isinstance(b, Gallery))
    assert all(data.startswith(b"\xff\xd8") for row in pictures.rows for data, _ in row)
    assert not section.claims  # nobody's photographs
    assert "not the paper's data" in text


@pytest.mark.parametrize("lie", CONTROLS)
def test_a_false_oracle_levels_nothing(lie):
    found = undo_tilt(20.05, "frobenius", 100, lie=lie)
    assert abs(found["left"][-1]) > 5
    assert len(found["duels"]) == 101


# -- claims ----------------------------------------------------------------------------------------


def settled(angle, tilt=9.17, k=16):
    """Records of a photo whose iterates stay at an angle (radians) after k iterations."""
    theta = np.where(np.arange(101) < k, math.radians(tilt), angle)
    degrees = np.degrees(theta).tolist()
    run = {"loss": (8 * np.sin(theta / 2) ** 2).tolist(), "left": degrees, "duels": [1] * 101}
    lost = {**run, "loss": [1.0] * 101, "left": [tilt] * 101}
    record = {
        "frobenius": run,
        "angle": {**run, "loss": (theta**2 / 2).tolist()},
        "enough": run,
        "finer": {**run, "loss": [x / 16 for x in run["loss"]]},
        **dict.fromkeys(CONTROLS, lost),
    }
    return Photo("", tilt, "natural", lambda: None), record


def claim(found, beginning):
    (one,) = [c for c in horizon_claims(found) if c.says.startswith(beginning)]
    return one


@pytest.mark.parametrize(
    ("angle", "text", "code"),
    [(STEP / 8, HOLDS, HOLDS), (STEP / 3, FAILS, HOLDS), (STEP / 2, FAILS, FAILS)],
)
def test_early_losses_are_judged_photo_by_photo(angle, text, code):
    """The text's loss, twice the squared angle, is four times the code's."""
    one = claim([settled(angle)] * 6, "Across all cases")
    assert one.judged == {"the text's loss": text, "the code's loss": code}
    late = claim([settled(angle)] * 5 + [settled(angle, k=31)], "Across all cases")
    assert HOLDS not in late.judged.values()
    assert claim([settled(angle)] * 6, "The same, read as η²/2").verdict == HOLDS
    assert not one.fooled


def test_the_level_is_five_times_the_papers():
    """η²/2 = 5e-5: where the largest angle that steps of η leave is η/2."""
    assert PLATEAU["frobenius"] == pytest.approx(5e-5, rel=1e-4)
    assert PLATEAU["frobenius"] / CLAIMED == pytest.approx(5, rel=1e-4)
    assert Leveling(STEP / 2).objective(np.eye(2)) == pytest.approx(PLATEAU["frobenius"], rel=1e-4)
    assert Leveling(STEP / 2, "angle").objective(np.eye(2)) == pytest.approx(PLATEAU["angle"])


def test_a_steep_photo_is_not_levelled_in_time():
    good = [settled(STEP / 4)] * 6
    assert claim(good, "In each example").verdict == HOLDS
    steep = settled(STEP / 4, tilt=74.0, k=101)
    mixed = claim([*good, steep], "In each example")
    assert mixed.verdict == PARTLY
    assert "6 of 7 photos" in mixed.why
    assert claim([*good, steep], "The loss stabilizes").cases["the text's loss"].values == (
        pytest.approx((STEP**2 / 8,) * 6, rel=1e-3)
    )  # steeper ones have not arrived


def test_shorter_steps_stay_lower():
    assert claim([settled(STEP / 4)] * 6, "It stabilizes").verdict == HOLDS
    for m in (1, 4):  # the angle left is at most half a step, and the loss twice its square
        ends = undo_tilt(9.17, "frobenius", 40 * m, step=STEP / m)["loss"][-1]
        assert ends <= (STEP / m) ** 2 / 2


def test_seascapes_are_the_default():
    tasks = HORIZON.tasks(Plan())
    assert [t.settings["tilt_deg"] for t in tasks] == [p.degrees for p in seascapes()]
