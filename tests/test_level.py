"""Levelling without a browser: what is saved, where, and what is said when it cannot be."""

from __future__ import annotations

import json
import math
import os
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL", reason="Pillow is not installed (extra web)")

import geoduel as gd
from geoduel.cli import main
from geoduel.errors import PictureError
from geoduel.level import Leveller, _lossless, level
from geoduel.pictures import largest_rectangle, open_photo, save_photo, seascape

TILT = 0.15


@pytest.fixture
def photo(tmp_path):
    return save_photo(seascape(0, TILT, (120, 80)), tmp_path / "sea.jpg")


def answers(leveller, count, level):
    """Answer by the angle that is nearer to the level one."""
    for _ in range(count):
        question = leveller.board.ask("you", beyond=True)
        side = min(("left", "right"), key=lambda s: abs(question[s]["angle"] - level))
        leveller.board.tell(question["id"], side, "you")


def saved(leveller):
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
    assert "clockwise" in said["lines"][0]
    assert "counter" not in said["lines"][0]
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
    assert "sea-level-3.jpg" in saved(again)["lines"][-1]


def test_formats_are_kept(tmp_path):
    image = seascape(0, TILT, (60, 40))
    for name, lossless in (("a.webp", True), ("b.webp", False), ("c.png", False)):
        file = save_photo(image, tmp_path / name, lossless=lossless)
        assert _lossless(file) is lossless
        leveller = Leveller(file, tmp_path / "out", rng=0)
        saved(leveller)
        result = tmp_path / "out" / f"{file.stem}-level{file.suffix}"
        assert _lossless(result) is lossless
        assert open_photo(result).format == open_photo(file).format
    (tmp_path / "c.png").rename(tmp_path / "d.jpg")
    saved(Leveller(tmp_path / "d.jpg", rng=0))
    assert (tmp_path / "d-level.png").exists()


def test_what_cannot_be_saved_is_said_and_tried_again(photo, tmp_path, capsys):
    blocked = tmp_path / "out"
    blocked.write_text("a file where the folder should be")
    leveller = Leveller(photo, blocked, rng=0)
    said = saved(leveller)
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
        (["."], "is not a file"),
        (["text.jpg"], "text.jpg is not a JPEG, PNG or WebP picture"),
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
        while client.post("/api/studies/sea/finish", json={}).json()["more"]["pending"]:
            time.sleep(0.01)

    assert using() == []
    assert gd.study_names(storage) == []
    assert using(tell, tell) == [1, 2]
    assert len(gd.study_names(storage)) == 1
    assert using(tell, finish)[0] == 3
    assert gd.study_names(storage) == []
    assert (tmp_path / "sea-level.jpg").is_file()


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


def test_the_same_photo_twice(photo, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run_as_the_command(monkeypatch, lambda client: None)
    level([photo, photo], browser=False)
