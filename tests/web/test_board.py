"""A study as the page sees it; one protocol for the board, the models and the script."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.web import Board, Content, Turned
from geoduel.web.app import (
    AnsweredReply,
    Ask,
    HistoryReply,
    OutcomeReply,
    PaneReply,
    ProgressReply,
    QuestionReply,
    SummaryReply,
    Tell,
)
from geoduel.web.board import rater_name, slug
from geoduel.web.pages import static

PLANE = gd.Rotations(2)
PICTURE = Content(b"\x89PNG", "image/png", "a horizon")
RENDERS = {
    "numbers": None,
    "text": lambda r: "words",
    "image": lambda r: PICTURE,
    "turned": lambda r: Turned(PICTURE, float(PLANE.to_angle(r)), (30, 20)),
}


def create(render=None, **options) -> Board:
    study = gd.create_study(PLANE, x0=np.eye(2), study_name="tilt", rng=0, budget=5)
    return Board(study, render, **options)


def fits(model, reply) -> None:
    """The reply has the model's keys and types, to the letter, and survives JSON."""
    model.model_validate_json(json.dumps(reply), strict=True)


# -- one protocol ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", RENDERS)
def test_replies_are_what_the_models_say(kind):
    board = create(RENDERS[kind], ahead=True)
    reply = board.ask("ann")
    assert reply["state"] == "question"
    for word in ("left", "right", "tie", "skip", "a"):
        fits(QuestionReply, reply)
        assert board.tell(reply["id"], word, "ann")
        reply = board.ask("ann") | {"counted": True}
    fits(QuestionReply, board.undo("ann"))
    fits(ProgressReply, board.progress())
    fits(PaneReply, board.best())
    fits(HistoryReply, board.history(None))
    assert {duel["answer"] for duel in board.history(None)["duels"]} >= {"left", "right", "skip"}


def test_replies_without_a_question_are_what_the_models_say():
    study = gd.create_study(gd.Sphere(3), "rdngd", iterations=5, rng=0)
    board = Board(study)
    board.ask("ann")
    waiting = board.ask("bob")
    assert waiting["state"] == "wait"
    fits(QuestionReply, waiting)
    board = create()
    while (reply := board.ask("ann"))["state"] == "question":
        board.tell(reply["id"], "left", "ann")
    assert (reply["state"], reply["reason"]) == ("finished", "budget")
    fits(QuestionReply, reply)


def test_a_key_that_no_model_has_is_an_error():
    reply = create().ask("ann")
    for bad in (reply | {"colour": "red"}, reply | {"id": "0"}, {"state": "question"}):
        with pytest.raises(ValueError, match="validation error"):
            fits(QuestionReply, bad)


SCRIPT = static("duel.js").decode()
READ = {
    "reply": QuestionReply,
    "question": QuestionReply,
    "progress": ProgressReply,
    "pane": PaneReply,
    "left": PaneReply,
    "right": PaneReply,
    "result": OutcomeReply,
    "outcome": OutcomeReply,
    "page": HistoryReply,
    "duel": AnsweredReply,
}


@pytest.mark.parametrize("name", READ)
def test_the_script_reads_what_is_sent(name):
    """Each ``name.key`` in duel.js is a field of the model."""
    code = re.sub(r"//.*|part\.question|options\.page", "", SCRIPT)
    keys = set(re.findall(rf"(?<![.\w]){name}\??\.(\w+)", code))
    assert keys
    assert keys <= set(READ[name].model_fields)


def test_the_script_takes_apart_what_is_sent():
    (names,) = re.findall(r"const \{([^}]*)\} = progress;", SCRIPT)
    assert {name.strip() for name in names.split(",")} <= set(ProgressReply.model_fields)
    (names,) = re.findall(r"function enlarge\(\{([^}]*)\}", SCRIPT)
    assert {name.strip() for name in names.split(",")} <= set(PaneReply.model_fields)


def test_the_script_sends_what_is_read():
    """Every call names rater and beyond; an answer adds its own keys."""
    (always,) = re.findall(r"server\.send\(action, \{([^}]*)\}", SCRIPT)
    assert {key.strip() for key in always.split(",")} == {*Ask.model_fields, "...body"}
    (more,) = re.findall(r'call\("tell", \{([^}]*)\}', SCRIPT)
    keys = {key.partition(":")[0].strip() for key in more.split(",")}
    assert keys <= set(Tell.model_fields)
    needed = {name for name, field in Tell.model_fields.items() if field.is_required()}
    assert needed <= keys


def test_the_owners_script_reads_what_is_sent():
    code = static("owner.js").decode()
    assert set(re.findall(r"\bstudy\.(\w+)", code)) <= set(SummaryReply.model_fields)
    body = code[code.index("events.onmessage") : code.index("async function refresh")]
    keys = set(re.findall(r"\bp\.(\w+)", body))
    assert keys
    assert keys <= set(ProgressReply.model_fields)


# -- the board itself ------------------------------------------------------------------------------


def test_sides_and_points():
    board = create()
    question = board.ask("ann")
    duel = board.duel(question["id"])
    points = [board.point_on(duel, side) for side in ("left", "right")]
    assert points[0] == duel.left
    assert sorted(points) == ["a", "b"]
    board.tell(duel.id, "left", "ann")
    answered = board.study.duels[0]
    assert answered.answer == duel.left
    assert board.side_of(answered) == "left"
    assert board.side_of(duel) == ""


def test_what_cannot_be_told_is_named():
    board = create()
    question = board.ask("ann")
    with pytest.raises(ArgumentError, match="answer must be one of left, right"):
        board.tell(question["id"], "middle", "ann")
    with pytest.raises(ArgumentError, match="no question 99"):
        board.tell(99, "left", "ann")
    with pytest.raises(ArgumentError, match="side must be left or right"):
        board.shown(board.duel(0), "top")
    with pytest.raises(ArgumentError, match="accuracy"):
        create(accuracy=-1.0)
    assert not board.tell(0, "left", "bob")  # it is Ann's
    assert not board.tell(0, "left", "ann", run="another study")
    assert board.study.progress().answered == 0


def test_the_version_grows_with_every_change():
    board = create()
    versions = [board.version]
    board.tell(board.ask("ann")["id"], "tie", "ann")
    versions.append(board.version)
    board.undo("ann")
    versions.append(board.version)
    assert versions == sorted(set(versions))
    assert board.undo("ann") is None


def test_progress_is_exact_for_one_person():
    board = create(solo=True)
    for answered in range(4):
        assert board.progress()["answered"] == answered
        assert board.progress()["share"] == answered / 5
        board.tell(board.ask("you")["id"], "left", "you")


def test_a_closed_board_is_off_the_page(make_client):
    boards = [create(key=key) for key in ("first", "second", "third")]
    client = make_client(boards, solo=True)
    boards[1].closed = True
    assert [study["key"] for study in client.get("/api/studies").json()] == ["first", "third"]
    assert client.post("/api/studies/second/ask", json={}).status_code == 404
    ended = client.post("/api/studies/first/finish", json={}).json()
    assert ended["following"] == "third"
    boards[0].closed = boards[2].closed = True
    assert client.get("/", follow_redirects=False).headers["location"] == "/owner"


@pytest.mark.parametrize(("name", "key"), [("Ä b!", "b"), ("", "study"), ("x" * 99, "x" * 40)])
def test_names_in_addresses(name, key):
    assert slug(name) == key


@pytest.mark.parametrize("bad", ["", "  ", "x" * 41, "a\x00b", "\x1b[31m"])
def test_names_of_raters(bad):
    assert rater_name("A\u0308nn") == "\u00c4nn"
    with pytest.raises(ArgumentError, match="1 to 40 printable characters"):
        rater_name(bad)
