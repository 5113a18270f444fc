"""Levelling without a browser: what is saved, where, and what is said when it cannot be."""

from __future__ import annotations

import json
import math
import os
import struct
import threading
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL", reason="Pillow is not installed (extra web)")

import geoduel as gd
from geoduel.cli import main
from geoduel.errors import PictureError
from geoduel.level import FINE, KNOWN, LEAST, STALLED, Leveller, _photos, level
from geoduel.pictures import largest_rectangle, open_photo, save_photo, seascape
from geoduel.pictures.files import is_lossless

TILT = 0.15
# Two threads that catch warnings, Pillow's and FastAPI's, disturb each other before Python 3.14.
QUIET = pytest.mark.filterwarnings("ignore")


def deep_png() -> bytes:
    """A PNG of four pixels with 16 bits a colour, which Pillow cannot write."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        whole = kind + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", 2, 2, 16, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x12\x34" * 6) * 2)
    ends = chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + ends


@pytest.fixture
def photo(tmp_path):
    return save_photo(seascape(0, TILT, (120, 80)), tmp_path / "sea.jpg")


def answers(leveller, count, level):
    """Answer by the angle that is nearer to the level one."""
    for _ in range(count):
        question = leveller.board.ask("you", beyond=True)
        side = min(("left", "right"), key=lambda s: abs(question[s]["angle"] - level))
        leveller.board.tell(question["id"], side, "you")


def saved(leveller, angle=None):
    leveller.save(angle)
    for _ in range(500):
        said = leveller.outcome(leveller.board)
        if not said["pending"]:
            return said
        time.sleep(0.01)
    raise AssertionError("never saved")


def test_photo_and_json_are_saved_beside_the_original(photo, tmp_path):
    before = photo.read_bytes()
    leveller = Leveller(photo, rng=0)
    answers(leveller, 9, -TILT)
    said = saved(leveller)
    assert said["title"] == "Level"
    assert said["lines"][0].startswith("Turned 8.")
    assert " clockwise" in said["lines"][0]
    assert "with 80 % certainty" in said["lines"][0]
    assert said["lines"][-1] == "Saved as sea-level.jpg."
    assert leveller.saved
    record = json.loads((tmp_path / "sea-level.json").read_text())
    assert abs(math.radians(record["angle_degrees"]) + TILT) < 0.02
    assert record["photo"] == "sea.jpg"
    assert record["levelled"] == "sea-level.jpg"
    assert 0 < record["uncertainty_degrees"] < 3
    assert record["method"] == "bisection"
    assert len(record["duels"]) == 9
    for duel in record["duels"]:
        off = {s: abs(duel[f"{s}_degrees"] + math.degrees(TILT)) for s in ("left", "right")}
        assert duel["answer"] == min(off, key=off.__getitem__)
    image = open_photo(tmp_path / "sea-level.jpg")
    expected = largest_rectangle(120, 80, math.radians(record["angle_degrees"]))
    assert image.size == pytest.approx(expected, abs=1)
    assert photo.read_bytes() == before


def test_the_page_does_not_wait_for_the_saving(photo, monkeypatch):
    written = threading.Event()

    def slow(*arguments, **options):  # as a large photo is
        written.wait(10)
        return save_photo(*arguments, **options)

    monkeypatch.setattr("geoduel.level.save_photo", slow)
    leveller = Leveller(photo, rng=0)
    answers(leveller, 1, -TILT)
    leveller.save()
    assert leveller.outcome(leveller.board)["pending"]
    answers(leveller, 1, -TILT)
    assert leveller.board.best()["kind"] == "turned"
    assert not leveller.saved
    written.set()
    assert "Saved" in saved(leveller)["lines"][-1]


def test_a_file_name_that_is_no_utf8(photo, tmp_path, capsys):
    named = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jpg"))
    try:
        named.write_bytes(photo.read_bytes())
    except OSError:  # macOS has none
        pytest.skip("this file system has names in UTF-8 only")
    leveller = Leveller(named, storage=f"sqlite:///{tmp_path / 'kept.db'}", rng=0)
    leveller.study.tell(leveller.study.ask(), "a")
    assert leveller.board.ask("you")["state"] == "question"
    assert saved(leveller)["lines"][-1] == "Saved as caf\N{REPLACEMENT CHARACTER}-level.jpg."
    assert named.with_name(f"{named.stem}-level.jpg").is_file()
    record = json.loads(named.with_name(f"{named.stem}-level.json").read_text(encoding="utf-8"))
    assert record["photo"] == "caf\N{REPLACEMENT CHARACTER}.jpg"
    assert "saved" in capsys.readouterr().out


def test_more_answers_replace_the_own_result_and_no_other(photo, tmp_path):
    (tmp_path / "sea-level.jpg").write_text("mine")
    leveller = Leveller(photo, rng=0)
    for count in (3, 5):
        answers(leveller, count, -TILT)
        assert saved(leveller)["lines"][-1] == "Saved as sea-level-2.jpg."
    assert (tmp_path / "sea-level.jpg").read_text() == "mine"
    assert len(json.loads((tmp_path / "sea-level-2.json").read_text())["duels"]) == 8
    again = Leveller(photo, rng=1)
    assert "sea-level-3.jpg" in saved(again, 0.1)["lines"][-1]


def test_without_a_change_the_photo_stays_as_it_is(photo, tmp_path):
    before = photo.read_bytes()
    leveller = Leveller(photo, rng=0)
    assert leveller.outcome(leveller.board)["title"] == "Turn it by hand"
    said = saved(leveller)
    assert said["state"] == "same"
    assert said["lines"] == ["Nothing was changed, so sea.jpg stays as it is."]
    assert [file.name for file in tmp_path.iterdir()] == ["sea.jpg"]
    elsewhere = Leveller(photo, tmp_path / "out", rng=0)
    said = saved(elsewhere, math.radians(0.04))
    assert "copied bit for bit, as sea-level.jpg" in said["lines"][-1]
    assert (tmp_path / "out" / "sea-level.jpg").read_bytes() == photo.read_bytes() == before
    said = saved(elsewhere, math.radians(0.2))
    assert said["lines"][-1] == "Saved as sea-level.jpg."
    assert (tmp_path / "out" / "sea-level.jpg").read_bytes() != before
    assert saved(elsewhere, 2 * math.pi)["state"] == "same"  # a whole turn is none
    assert (tmp_path / "out" / "sea-level.jpg").read_bytes() == before


def test_what_is_chosen_by_hand_is_saved_until_more_is_answered(photo, tmp_path):
    leveller = Leveller(photo, rng=0)
    answers(leveller, 5, -TILT)
    by_answers = leveller.angle
    said = saved(leveller, by_answers + 0.02)
    assert said["angle"] == leveller.angle == pytest.approx(by_answers + 0.02)
    assert said["lines"] == ["Saved as sea-level.jpg."]
    record = json.loads((tmp_path / "sea-level.json").read_text())
    assert record["angle_degrees"] == pytest.approx(math.degrees(by_answers + 0.02), abs=1e-3)
    assert record["by_answers_degrees"] == pytest.approx(math.degrees(by_answers), abs=1e-3)
    answers(leveller, 1, -TILT)
    assert not leveller.saved
    assert leveller.angle == pytest.approx(
        leveller.record()["by_answers_degrees"] / 57.2958, abs=1e-4
    )
    with pytest.raises(gd.errors.ArgumentError, match="angle"):
        leveller.save(math.nan)
    with pytest.raises(gd.errors.ArgumentError, match="name"):
        leveller.act("sell")


def test_the_headline_is_no_more_than_what_is_known(photo):
    leveller = Leveller(photo, rng=0)
    answers(leveller, 1, -TILT)
    assert math.degrees(leveller.study.progress().uncertainty) > KNOWN
    said = leveller.outcome(leveller.board)
    assert said["title"] == "The best guess so far"
    assert not said["sure"]
    answers(leveller, 6, -TILT)
    assert leveller.outcome(leveller.board)["title"] == "Level"


def test_questions_begin_at_the_guess_and_end_when_answers_tell_no_more(photo):
    leveller = Leveller(photo, rng=0)
    first = leveller.board.ask("you")
    shown = [math.degrees(first[side]["angle"]) for side in ("left", "right")]
    assert np.mean(shown) == pytest.approx(-math.degrees(TILT), abs=1)
    assert max(shown) - min(shown) < 16
    assert first["progress"]["remaining"] == 6
    while leveller.board.ask("you")["state"] == "question":
        answers(leveller, 1, -TILT)
    p = leveller.study.progress()
    assert LEAST <= p.answered <= 12
    assert math.degrees(p.uncertainty) <= KNOWN
    radii = [math.degrees(radius) for _, radius in p.history]
    assert radii[-1] <= FINE or radii[-1] > STALLED * radii[-2]
    assert leveller.board.ask("you", beyond=True)["state"] == "question"


def test_who_cannot_tell_any_more_is_asked_no_more(photo):
    leveller = Leveller(photo, rng=0)
    for _ in range(3):
        question = leveller.board.ask("you")
        assert question["state"] == "question"
        leveller.board.tell(question["id"], "tie", "you")
    assert leveller.board.ask("you")["state"] == "finished"
    leveller.board.undo("you")
    assert leveller.board.ask("you")["state"] == "question"


def test_a_photo_on_its_side_is_turned_by_quarters(tmp_path):
    upright = seascape(0, 0.05, (120, 80))
    photo = save_photo(upright.transpose(2), tmp_path / "side.png")  # a quarter counter-clockwise
    leveller = Leveller(photo, storage=f"sqlite:///{tmp_path / 'kept.db'}", rng=0)
    for _ in range(3):
        answers(leveller, 1, 0)
        leveller.act("turn")
        assert leveller.study.progress().answered == 0
    run = leveller.board.run
    leveller.board.do("turn", run="of the photo as it was")  # a press of R that is sent again
    assert leveller.board.run == run
    assert leveller.outcome(leveller.board)["angle"] == pytest.approx(-math.pi / 2)
    answers(leveller, 8, -math.pi / 2 - 0.05)
    assert leveller.angle == pytest.approx(-math.pi / 2 - 0.05, abs=0.03)
    assert leveller.board.run == run
    assert len(gd.study_names(leveller.study.storage)) == 1
    saved(leveller)
    assert open_photo(tmp_path / "side-level.png").width > 80  # lies as the seascape did


def test_formats_are_kept(tmp_path):
    image = seascape(0, TILT, (60, 40))
    for name, lossless in (("a.webp", True), ("b.webp", False), ("c.png", False)):
        file = save_photo(image, tmp_path / name, lossless=lossless)
        assert is_lossless(file) is lossless
        leveller = Leveller(file, tmp_path / "out", rng=0)
        saved(leveller, TILT)
        result = tmp_path / "out" / f"{file.stem}-level{file.suffix}"
        assert is_lossless(result) is lossless
        assert open_photo(result).format == open_photo(file).format
    (tmp_path / "c.png").rename(tmp_path / "d.jpg")
    saved(Leveller(tmp_path / "d.jpg", rng=0), TILT)
    assert (tmp_path / "d-level.png").exists()


def test_what_cannot_be_saved_is_said_and_tried_again(photo, tmp_path, capsys):
    blocked = tmp_path / "out"
    blocked.write_text("a file where the folder should be")
    leveller = Leveller(photo, blocked, rng=0)
    said = saved(leveller)
    assert said["state"] == "failed"
    assert "could not be saved" in said["lines"][-1]
    assert not leveller.saved
    assert "sea.jpg: could not be saved" in capsys.readouterr().err
    blocked.unlink()
    answers(leveller, 1, -TILT)
    assert "Saved" in saved(leveller)["lines"][-1]


def test_the_demo_hides_its_tilt_and_tells_it_at_the_end():
    leveller = Leveller(None, rng=3)
    assert leveller.tilt is not None
    assert 4 <= abs(math.degrees(leveller.tilt)) <= 25
    answers(leveller, 10, -leveller.tilt)
    lines = leveller.outcome(leveller.board)["lines"]
    assert f"{abs(math.degrees(leveller.tilt)):.1f}°" in lines[1]
    off = float(lines[1].rpartition("off by ")[2].rstrip("°."))
    assert off == pytest.approx(abs(math.degrees(leveller.angle + leveller.tilt)), abs=0.05)
    assert off < 1
    assert leveller.saved


def test_an_interrupted_photo_goes_on(photo, tmp_path):
    storage = f"sqlite:///{tmp_path / 'level.db'}"
    first = Leveller(photo, storage=storage, rng=0)
    answers(first, 3, -TILT)
    second = Leveller(photo, storage=storage, rng=9)
    assert second.study.progress().answered == 3
    assert np.array_equal(second.study.recommend(), first.study.recommend())
    photo.write_bytes(photo.read_bytes() + b"\0")  # another photo of this name
    assert Leveller(photo, storage=storage, rng=0).study.progress().answered == 0


def test_large_photos_are_shown_small(tmp_path):
    photo = save_photo(seascape(0, 0.0, (300, 200)).resize((3000, 2000)), tmp_path / "large.jpg")
    leveller = Leveller(photo)
    assert leveller.render(np.eye(2)).size == (2000, 1333)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "PHOTO"),
        (["none.jpg"], "none.jpg is not a file"),
        (["empty"], "empty holds no photos"),
        (["done"], "levelled already"),
        (["text.jpg"], "text.jpg is not a JPEG, PNG, WebP, TIFF, HEIF or AVIF picture"),
        (["deep.png"], "deep.png has 16 bits a colour"),
        (["cut.jpg"], "cut.jpg is damaged or was cut short"),
        (["sea.jpg", "--out", "text.jpg"], "is not a folder"),
        (["sea.jpg", "--method", "guess"], "guess"),
    ],
)
def test_bad_input_is_one_line(photo, tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "text.jpg").write_text("no photo at all, but a text of some length")
    (tmp_path / "cut.jpg").write_bytes(photo.read_bytes()[:-300])
    (tmp_path / "deep.png").write_bytes(deep_png())
    (tmp_path / "empty").mkdir()
    (tmp_path / "done").mkdir()
    save_photo(seascape(0, TILT, (60, 40)), tmp_path / "done" / "a.png")
    saved(Leveller(tmp_path / "done" / "a.png", rng=0), TILT)
    capsys.readouterr()
    assert main(["level", *arguments, "--no-browser", "--port", "1"]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_a_folder_is_no_photo(tmp_path):
    with pytest.raises(PictureError, match="not a file"):
        Leveller(tmp_path)


def run_as_the_command(monkeypatch, act) -> None:
    """`level` with a server that does ``act(client)`` and ends."""
    with warnings.catch_warnings():  # httpx or its successor, whichever is there
        warnings.simplefilter("ignore")
        needs = "needs the extra web and httpx"
        testing = pytest.importorskip("starlette.testclient", reason=needs)

    def run(app, **_):
        act(testing.TestClient(app, base_url="http://localhost"))

    monkeypatch.setattr("geoduel.level.run", run)


def test_answers_are_kept_until_the_photo_is_saved(photo, tmp_path, monkeypatch):
    """An interrupted photo waits in the state folder; one without answers leaves nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    storage = f"sqlite:///{tmp_path / 'state' / 'geoduel' / 'level.db'}"

    def tell(client):
        question = client.post("/api/studies/sea/ask", json={}).json()
        body = {"id": question["id"], "answer": "left"}
        return client.post("/api/studies/sea/tell", json=body).json()["progress"]["answered"]

    def using(*acts):
        def act(client):
            said.extend(a(client) for a in acts)

        said: list = []
        run_as_the_command(monkeypatch, act)
        level([photo], browser=False, token=False)
        return said

    def finish(client):
        client.post("/api/studies/sea/act", json={"name": "save"}).raise_for_status()
        while client.post("/api/studies/sea/finish", json={}).json()["more"]["pending"]:
            time.sleep(0.01)

    assert using() == []
    assert gd.study_names(storage) == []
    assert using(tell, tell) == [1, 2]
    assert len(gd.study_names(storage)) == 1
    assert using(tell, finish)[0] == 3
    assert gd.study_names(storage) == []
    assert (tmp_path / "sea-level.jpg").is_file()


@QUIET
def test_a_photo_that_is_damaged_is_left_out(photo, tmp_path, monkeypatch, capsys):
    """Those before and after it are shown."""
    (tmp_path / "cut.jpg").write_bytes(photo.read_bytes()[:-300])
    other = save_photo(seascape(1, TILT, (60, 40)), tmp_path / "other.jpg")
    seen = []

    def look(client):
        for _ in range(500):
            seen[:] = [study["title"] for study in client.get("/api/studies").json()]
            if len(seen) == 2:
                return
            time.sleep(0.01)

    run_as_the_command(monkeypatch, look)
    level([photo, tmp_path / "cut.jpg", other], browser=False, resume=False, token=False)
    assert seen == ["sea.jpg", "other.jpg"]
    assert "cut.jpg is damaged" in capsys.readouterr().err


@QUIET
def test_a_folder_stands_for_its_photos_that_are_left(photo, tmp_path, monkeypatch, capsys):
    for number in range(12):
        save_photo(seascape(number, TILT, (30, 20)), tmp_path / f"p{number:02}.png")
    (tmp_path / "notes.txt").write_text("no photo")
    (tmp_path / ".hidden.jpg").write_bytes(b"")
    (tmp_path / "p03.png").write_bytes(b"cut")
    saved(Leveller(tmp_path / "p00.png", rng=0), TILT)
    seen: list[str] = []

    def look(client):
        for number in range(1, 12):
            if number != 3:
                reply = client.post(f"/api/studies/p{number:02}/ask", json={})
                for _ in range(500):  # those far ahead are prepared when others were looked at
                    if reply.status_code == 200:
                        break
                    time.sleep(0.01)
                    reply = client.post(f"/api/studies/p{number:02}/ask", json={})
                seen.append(client.get(f"/s/p{number:02}").text)
        more = client.post("/api/studies/p02/finish", json={}).json()
        seen.append(more["following"])

    run_as_the_command(monkeypatch, look)
    level([tmp_path], browser=False, resume=False, token=False)
    assert "1 of 12 · 1" in seen[0]  # eleven are left, or ten once one is known to be damaged
    assert "1 left" in seen[-2]  # the last is the seascape "sea.jpg"
    assert seen[-1] == "p04"
    told = capsys.readouterr()
    assert "p03.png is not a JPEG" in told.err


def test_photos_of_one_name_in_several_folders_are_told_apart(tmp_path):
    """Cameras call their photos alike; what is levelled is found by its folder, too."""
    folders, out = [tmp_path / name for name in ("trip1", "trip2")], tmp_path / "level"
    for folder in folders:
        folder.mkdir()
        save_photo(seascape(0, TILT, (30, 20)), folder / "a.png")
    saved(Leveller(folders[0] / "a.png", out, rng=0), TILT)
    assert json.loads((out / "a-level.json").read_text())["folder"] == "../trip1"
    assert [*_photos(folders, out)] == [folders[1] / "a.png"]
    assert not [*_photos([out], None)]  # results are not levelled again
    moved = tmp_path / "moved"
    moved.mkdir()
    for folder in (folders[0], out):
        folder.rename(moved / folder.name)
    assert not [*_photos([moved / "trip1"], moved / "level")]
    # A record of old does not say in which folder the photo was.
    record = json.loads((moved / "level" / "a-level.json").read_text())
    del record["folder"]
    (moved / "level" / "a-level.json").write_text(json.dumps(record))
    assert not [*_photos([moved / "trip1", folders[1]], moved / "level")]


def test_the_same_photo_twice(photo, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run_as_the_command(monkeypatch, lambda client: None)
    level([photo, photo], browser=False)


@pytest.mark.parametrize("mode", ["L", "CMYK", "RGB"])
def test_a_preview_has_the_colours_of_the_photo(tmp_path, mode):
    """Its profile goes along, but for that of a press: the preview is in RGB."""
    photo = seascape(0, TILT, (60, 40)).convert(mode)
    photo.save(tmp_path / "a.tif", icc_profile=b"\0\0\0\x80" + b"profile" * 20)
    data = Leveller(tmp_path / "a.tif").render(np.eye(2)).picture.data
    assert (b"profile" in data) is (mode != "CMYK")
