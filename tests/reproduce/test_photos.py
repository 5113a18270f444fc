"""Photos with a horizon: tilts are read with the right sign, bad files are named."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError
from geoduel.reproduce.photos import jpeg, line_tilt, read_photos, seascapes

pytest.importorskip("PIL")
from geoduel.pictures import save_photo, seascape


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


def test_seascapes_are_the_same_for_everyone():
    first, again = (seascapes()[0].open() for _ in range(2))
    assert np.array_equal(np.asarray(first), np.asarray(again))


def test_jpegs_are_small():
    from PIL import Image

    image = Image.open(io.BytesIO(jpeg(seascape(0, tilt=0.1, size=(60, 40)), 30)))
    assert (image.format, image.size) == ("JPEG", (30, 20))
