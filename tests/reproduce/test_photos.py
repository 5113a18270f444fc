"""Tilts are read with the right sign, and a picture turned by the rotation found is level."""

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError
from geoduel.reproduce.experiment import Outcome, Plan
from geoduel.reproduce.experiments.horizon import CLOSE, HORIZON, enough, undo_tilt
from geoduel.reproduce.photos import line_tilt, read_photos, seascapes
from geoduel.reproduce.report import Pictures

pytest.importorskip("PIL")
from geoduel.pictures import save_photo, seascape, turn


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


@pytest.mark.parametrize(
    ("ends", "degrees"),
    [
        ((-10, 0, 10, 20), 45.0),  # y is up: rising to the right is positive
        ((-10, 20, 10, 0), -45.0),
        ((10, 20, -10, 0), 45.0),  # a line has no direction
        ((-1, 0, 1, 0), 0.0),
        ((0, -1, 0, 1), 90.0),
    ],
)
def test_line_tilt(ends, degrees):
    assert line_tilt(*ends) == pytest.approx(degrees)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "images" / "a").mkdir(parents=True)
    for name in ("one", "two"):
        save_photo(seascape(0, tilt=0.1, size=(60, 40)), tmp_path / "images" / "a" / f"{name}.jpg")
    return tmp_path


def test_both_releases_of_hlw_are_read(folder):
    (folder / "metadata.csv").write_text(
        "a/one.jpg,-5000,-500,5000,500\n"
        "a/two.jpg, 40, 60, -30, 3, 30, -3\n"
        "a/not-here.jpg,-5000,0,5000,0\n"
    )
    one, two = read_photos(folder)
    assert one.degrees == pytest.approx(math.degrees(math.atan(0.1)))
    assert two.degrees == pytest.approx(-math.degrees(math.atan(0.1)))
    assert one.kind == "natural"
    assert one.open().size == (60, 40)


def test_a_truth_file_is_read(folder):
    (folder / "truth.csv").write_text("file,tilt_deg,kind\na/one.jpg,5.7,rotated\n")
    (photo,) = read_photos(folder)
    assert (photo.name, photo.degrees, photo.kind) == ("a/one.jpg", 5.7, "rotated")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("metadata.csv", "a/one.jpg,1,2,3\n", "4 columns, expected 5 or 7"),
        ("metadata.csv", "a/one.jpg,1,2,3,up\n", "'up' where a number is expected"),
        ("metadata.csv", "b.jpg,1,2,3,4\n", "none of the 1 pictures"),
        ("truth.csv", "file,angle\na/one.jpg,3\n", "no column 'tilt_deg'"),
        ("truth.csv", "file,tilt_deg\na/one.jpg,nan\n", "'nan' where a number is expected"),
        ("other.csv", "", "neither truth.csv nor"),
    ],
)
def test_bad_folders_are_named(folder, name, text, message):
    (folder / name).write_text(text)
    with pytest.raises(ArgumentError, match=message):
        read_photos(folder)


def test_the_two_files_of_the_shared_photos_agree(shared):
    """HLW's layout and the truth file were made from the same lines."""
    photos = read_photos(shared / "horizons")
    assert len(photos) == 56
    rows = (shared / "horizons" / "metadata.csv").read_text().splitlines()
    lines = {row.split(",")[0]: [float(x) for x in row.split(",")[-4:]] for row in rows}
    for photo in photos:
        assert line_tilt(*lines[photo.name]) == pytest.approx(photo.degrees, abs=0.01)


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
    pictures = next(b for b in section.parts if isinstance(b, Pictures))
    assert all(data.startswith(b"\xff\xd8") for row in pictures.rows for data, _ in row)
    never = section.claims[0]
    assert never.measured == "1 of 2"  # level within 30 iterations


def test_seascapes_are_the_default_and_the_same_for_everyone():
    tasks = HORIZON.tasks(Plan())
    assert [t.settings["tilt_deg"] for t in tasks] == [p.degrees for p in seascapes()]
    first, again = (seascapes()[0].open() for _ in range(2))
    assert np.array_equal(np.asarray(first), np.asarray(again))
