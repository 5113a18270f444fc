"""What render may return, and how it reaches the browser."""

from __future__ import annotations

import io
import itertools
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.web import Board, Content, Turned, content

PIL = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra web)")


def figure():
    matplotlib = pytest.importorskip("matplotlib.figure", reason="needs the extra plot")
    fig = matplotlib.Figure(figsize=(2, 1))
    fig.subplots().plot([0, 1])
    return fig


SVG = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'><script>alert(1)</script></svg>"


@pytest.mark.parametrize(
    ("make", "kind", "media_type"),
    [
        (lambda: PIL.new("RGB", (30, 20)), "image", "image/png"),
        (lambda: PIL.new("RGB", (900, 600)), "image", "image/jpeg"),
        (lambda: PIL.new("RGBA", (900, 600)), "image", "image/png"),
        (figure, "image", "image/png"),
        (lambda: SVG, "image", "image/svg+xml"),
        (lambda: "<p>Hello <b>you</b></p>", "html", "text/html"),
        (lambda: "Hello <b>you</b>", "text", "text/plain"),
        (lambda: (b"RIFF....WAVEfmt ", "audio/wav"), "audio", "audio/wav"),
        (lambda: b"RIFF....WAVEfmt ", "audio", "audio/wav"),
        (lambda: b"OggS...", "audio", "audio/ogg"),
        (lambda: b"\0\0\0\x20ftypisom", "video", "video/mp4"),
        (lambda: b"\x1a\x45\xdf\xa3....", "video", "video/webm"),
        (lambda: b"\xff\xd8\xff\xe0", "image", "image/jpeg"),
        (lambda: SimpleNamespace(_repr_svg_=lambda: SVG), "image", "image/svg+xml"),
        (lambda: SimpleNamespace(_repr_html_=lambda: "<i>x</i>"), "html", "text/html"),
        (lambda: Content(b"x", "text/plain", "words"), "text", "text/plain"),
        (lambda: np.zeros((20, 30, 3), np.uint8), "image", "image/png"),
        (lambda: Path(__file__).parents[2] / "docs/images/palette.png", "image", "image/png"),
    ],
)
def test_every_kind_reaches_the_browser(make, kind, media_type, make_client):
    made = make()
    study = gd.create_study(gd.Sphere(3), study_name="any", rng=0)
    client = make_client(Board(study, lambda x: made))
    question = client.post("/api/studies/any/ask", json={}).json()
    assert question["left"]["kind"] == kind
    reply = client.get(f"/api/studies/any/{question['left']['url']}")
    assert reply.status_code == 200
    assert reply.headers["content-type"].partition(";")[0] == media_type
    assert reply.headers["x-content-type-options"] == "nosniff"
    if kind not in ("audio", "video"):
        assert "sandbox" in reply.headers["content-security-policy"]
        assert "script-src" not in reply.headers["content-security-policy"]
    if kind == "text":
        assert question["left"]["text"] == content(made).data.decode()


@pytest.mark.parametrize("bad", [None, 3, b"unknown", ("x", "y", "z"), {"a": 1}, np.zeros(3)])
def test_what_cannot_be_shown_is_named(bad):
    with pytest.raises(ArgumentError, match="render"):
        content(bad)


@pytest.mark.parametrize(
    "kind",
    [
        "text/javascript",
        "application/pdf",
        "image/",
        "image/a b",
        "image/\N{SNOWMAN}",
        "image/x\n",
        "",
    ],
)
def test_other_types_are_refused(kind):
    with pytest.raises(ArgumentError, match="media_type"):
        Content(b"", kind)


def test_a_figure_of_pyplot_is_closed_once_it_is_drawn():
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    made, _ = plt.subplots(figsize=(2, 1))
    assert content(made).media_type == "image/png"
    assert plt.get_fignums() == before


def decoded(shown):
    return PIL.open(io.BytesIO(shown.data)).convert("RGBA")


def test_a_photo_is_shown_as_the_camera_was_held(tmp_path):
    photo, exif = PIL.new("RGB", (40, 20), "red"), PIL.Exif()
    photo.putpixel((0, 0), (0, 0, 255))
    turned = {1: ((40, 20), (0, 0)), 3: ((40, 20), (39, 19)), 6: ((20, 40), (19, 0))}
    for orientation, (size, corner) in turned.items():
        exif[0x0112] = orientation
        photo.save(tmp_path / "phone.png", exif=exif)
        shown = decoded(content(PIL.open(tmp_path / "phone.png")))
        assert shown.size == size
        assert shown.getpixel(corner) == (0, 0, 255, 255)


MODES = ["L", "P", "RGB", "RGBA", "CMYK", "HSV", "YCbCr", "RGBX", "LA", "PA", "La", "RGBa", "I;16"]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_of_pillow_is_shown(mode):
    grey = PIL.new("L", (9, 9), 204)
    if mode == "I;16":
        image = PIL.fromarray(np.full((9, 9), 204 * 257, np.uint16))
    else:
        steps = {"PA": ["RGBA", "P", "PA"], "La": ["LA", "La"], "RGBa": ["RGBA", "RGBa"]}
        image = grey if mode in ("L", "LA", "La") else grey.convert("RGB")
        for step in steps.get(mode, [mode]):
            image = image.convert(step)
    assert image.mode == mode
    shown = decoded(content(image)).getpixel((4, 4))
    assert np.allclose(shown, (204, 204, 204, 255), atol=3)


@pytest.mark.parametrize("mode", ["F", "LAB"])
def test_modes_without_a_meaning_are_named(mode):
    with pytest.raises(ArgumentError, match=f"mode {mode}, expected"):
        content(PIL.new(mode, (9, 9)))


def test_large_pictures_are_scaled():
    shown = content(PIL.new("RGB", (4000, 3000)))
    assert PIL.open(io.BytesIO(shown.data)).size == (1600, 1200)


def test_a_turned_picture_is_sent_once(board, make_client):
    picture = content(PIL.new("RGB", (30, 20)))
    board.render = lambda r: Turned(picture, float(gd.Rotations(2).to_angle(r)), (30, 20))
    client = make_client(board)
    question = client.post("/api/studies/tilt/ask", json={}).json()
    left, right = question["left"], question["right"]
    assert left["url"] == right["url"]
    assert left["angle"] != right["angle"]
    reply = client.get(f"/api/studies/tilt/{left['url']}")
    assert reply.content == picture.data
    assert "immutable" in reply.headers["cache-control"]
    assert client.get("/api/studies/tilt/pictures/other").status_code == 404
    again = make_client(Board(board.study, board.render))  # a server started again
    assert again.get(f"/api/studies/tilt/{left['url']}").content == picture.data


def test_all_turned_pictures_of_a_page_of_the_history_are_there(board, monkeypatch):
    """Whatever their size; beyond that the oldest go."""
    count = itertools.count()
    board.render = lambda _: Turned(Content(b"%04d" % next(count), "image/png"), 0.1, (3, 2))
    for _ in range(14):
        board.tell(board.ask("you")["id"], "left", "you")

    def found():
        pages = board.history("you")["duels"]
        names = [duel[side]["url"].split("/")[1] for duel in pages for side in ("left", "right")]
        return [board.picture(name) is not None for name in names]

    assert found() == [True] * 24
    kept = len(board._pictures)
    monkeypatch.setattr("geoduel.web.board._CACHE_BYTES", 40)
    board.render = lambda _: Turned(Content(b"last", "image/png"), 0.1, (3, 2))
    board.best()
    assert len(board._pictures) == 24 < kept
    assert board._pictures_bytes == 4 * 24


@pytest.mark.parametrize(
    ("asked", "status", "got", "where"),
    [
        ("bytes=0-1", 206, b"01", "bytes 0-1/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=3-2", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),  # several parts need not be sent
        ("bytes=-", 200, b"0123456789", None),
        ("lines=0-1", 200, b"0123456789", None),
        ("", 200, b"0123456789", None),
    ],
)
def test_parts_of_sounds_and_films(board, make_client, asked, status, got, where):
    """Safari asks for the first two bytes, and plays nothing that is not sent in parts."""
    board.render = lambda _: Content(b"0123456789", "audio/wav")
    client = make_client(board)
    url = client.post("/api/studies/tilt/ask", json={}).json()["left"]["url"]
    reply = client.get(f"/api/studies/tilt/{url}", headers={"range": asked})
    assert reply.status_code == status
    assert reply.headers.get("content-range") == where
    assert got is None or reply.content == got
    assert got is None or reply.headers["accept-ranges"] == "bytes"
    late = client.get(f"/api/studies/tilt/{url}", headers={"range": asked, "if-range": '"x"'})
    assert (late.status_code, late.content) == (200, b"0123456789")


def test_a_turned_picture_must_be_a_picture():
    with pytest.raises(ArgumentError, match="picture"):
        Turned(Content(b"", "text/plain"), 0.0, (1, 1))
    with pytest.raises(ArgumentError, match="angle"):
        Turned(Content(b"", "image/png"), np.nan, (1, 1))


def test_points_without_render_are_numbers(make_client):
    client = make_client(Board(gd.create_study(gd.Rotations(2), study_name="n", rng=0)))
    text = client.post("/api/studies/n/ask", json={}).json()["left"]["text"]
    assert len(text.split()) == 4


def test_drawn_choices_are_kept_up_to_a_size(board, monkeypatch, make_client):
    calls = []
    board.render = lambda r: calls.append(1) or "x" * 1000
    client = make_client(board)
    client.post("/api/studies/tilt/ask", json={})
    drawn = len(calls)
    client.post("/api/studies/tilt/ask", json={})
    assert len(calls) == drawn
    monkeypatch.setattr("geoduel.web.board._CACHE_BYTES", 1500)
    for _ in range(4):
        question = client.post("/api/studies/tilt/ask", json={}).json()
        client.post("/api/studies/tilt/tell", json={"id": question["id"], "answer": "left"})
    duel, drawn = board.study.open_duels[0], len(calls)
    for side in ("left", "right"):  # there is room for one
        board.shown(duel, side)
        board.shown(duel, side)
    assert len(calls) == drawn + 2


def test_a_pair_that_cannot_be_shown_can_be_skipped_and_the_owner_learns_why(
    board, make_client, caplog
):
    shows = board.render

    def fails(_):
        raise RuntimeError("secret path /home/ann")

    board.render = fails
    client = make_client(board)
    question = client.post("/api/studies/tilt/ask", json={}).json()
    assert question["state"] == "question"
    assert {question[side]["kind"] for side in ("left", "right")} == {"failed"}
    assert "secret" not in str(question)
    assert client.get("/api/studies/tilt/duels/0/left").status_code == 404
    assert client.get("/api/studies/tilt/best").json()["kind"] == "failed"
    assert client.post("/api/studies/tilt/finish", json={}).json()["best"]["kind"] == "failed"
    assert client.get("/api/studies/tilt").json()["trouble"] is None  # for everybody
    (summary,) = client.get("/api/studies").json()  # for the owner
    assert "RuntimeError: secret path" in summary["trouble"]
    assert "secret path /home/ann" in client.get("/owner").text
    assert caplog.text.count("RuntimeError: ") == 1  # said once, not with each attempt
    board.render = shows
    body = {"id": question["id"], "answer": "skip"}
    following = client.post("/api/studies/tilt/tell", json=body).json()
    assert following["left"]["kind"] == following["right"]["kind"] == "text"
    assert board.study.duels[0].answer == "skip"


@pytest.mark.parametrize("made", [None, 3, b"unknown", PIL.new("F", (9, 9))])
def test_what_render_may_not_return_is_a_pair_that_cannot_be_shown(board, made):
    board.render = lambda _: made
    assert board.ask("you")["left"]["kind"] == "failed"
    assert board.trouble


def test_a_script_that_ends_itself_within_render_is_a_pair_that_cannot_be_shown(board, make_client):
    board.render = lambda _: sys.exit("no such model")
    client = make_client(board)
    question = client.post("/api/studies/tilt/ask", json={}).json()
    assert question["left"]["kind"] == "failed"
    assert "no such model" in board.trouble


def test_a_render_that_does_not_come_back_holds_nobody_for_ever(board, monkeypatch):
    monkeypatch.setattr("geoduel.web.board._PATIENCE", 0.01)
    with board._pen:
        assert board.ask("you")["left"]["kind"] == "failed"
    assert "not come back" in board.trouble


def test_readers_of_one_picture_wait_for_one_drawing(board):
    calls, began, may_end = [], threading.Event(), threading.Event()

    def draws(_):
        calls.append(1)
        began.set()
        may_end.wait(5)
        return "x"

    board.render = draws
    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(board.best) for _ in range(8)]
        began.wait(5)
        may_end.set()
        assert [reader.result()["text"] for reader in readers] == ["x"] * 8
    board.best()
    assert len(calls) == 1
