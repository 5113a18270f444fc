"""A study as the page sees it; one protocol for the board, the models and the script."""

from __future__ import annotations

import csv
import io
import json
import re
import time

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.study.names import rater_name
from geoduel.web import Board, Content, Turned
from geoduel.web.app import (
    About,
    AnsweredReply,
    HistoryReply,
    OutcomeReply,
    PaneReply,
    ProgressReply,
    QuestionReply,
    SummaryReply,
    Tell,
    Undo,
)
from geoduel.web.board import slug
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
    "result": OutcomeReply,
    "outcome": OutcomeReply,
    "page": HistoryReply,
    "duel": AnsweredReply,
}


@pytest.mark.parametrize("name", READ)
def test_the_script_reads_what_is_sent(name):
    """Each ``name.key`` in duel.js is a field of the model."""
    code = re.sub(r"//.*|part\.question|options\.page|result\.(json|csv)", "", SCRIPT)
    keys = set(re.findall(rf"(?<![.\w]){name}\??\.(\w+)", code))
    assert keys
    assert keys <= set(READ[name].model_fields)


def test_the_script_takes_apart_what_is_sent():
    (names,) = re.findall(r"const \{([^}]*)\} = progress;", SCRIPT)
    assert {name.strip() for name in names.split(",")} <= set(ProgressReply.model_fields)
    (names,) = re.findall(r"function enlarge\(\{([^}]*)\}", SCRIPT)
    assert {name.strip() for name in names.split(",")} <= set(PaneReply.model_fields)


def test_the_script_sends_what_is_read():
    """Every call names rater, beyond and run; an answer and an undo add their own keys."""
    (always,) = re.findall(r"const body = \{([^}]*)\};", SCRIPT)
    assert {key.strip() for key in always.split(",")} == {*About.model_fields, "...more"}
    for action, model in (("tell", Tell), ("undo", Undo)):
        (more,) = re.findall(rf'call\("{action}", \{{([^}}]*)\}}', SCRIPT)
        keys = {key.partition(":")[0].strip() for key in more.split(",")}
        assert keys <= set(model.model_fields)
        needed = {name for name, field in model.model_fields.items() if field.is_required()}
        assert needed <= keys


def test_the_owners_script_reads_what_is_sent():
    code = static("owner.js").decode()
    assert set(re.findall(r"\bstudy\.(\w+)", code)) <= set(SummaryReply.model_fields)
    body = code[code.index("function heard") : code.index("async function refresh")]
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


def several(k=4, **options) -> Board:
    study = gd.create_study(gd.Simplex(3), study_name="palette", rng=0, choices=k)
    return Board(study, **options)


def test_what_cannot_be_is_told_where_the_board_takes_it():
    board = create(infeasible=True)
    for said in ("left infeasible", "right infeasible", "both infeasible", "a infeasible"):
        question = board.ask("ann")
        fits(QuestionReply, question)
        fits(Tell, {"rater": "ann", "id": question["id"], "answer": said})
        assert question["infeasible"] is True
        assert board.tell(question["id"], said, "ann")
        duel = board.duel(question["id"])
        which = said.split()[0]
        if which in ("left", "right"):
            assert duel.infeasible == board.point_on(duel, which) != duel.answer
        else:
            assert duel.infeasible == which
        told = board.history("ann")["duels"][0]["answer"]
        assert which == "a" or told == said
    with pytest.raises(ArgumentError, match=r"left infeasible.*, got 'up infeasible'"):
        board.tell(board.ask("ann")["id"], "up infeasible", "ann")


def test_what_is_no_answer_does_not_count_towards_the_end_of_a_page():
    board = create(infeasible=True, answers=3, solo=False)
    board.ask("ann")
    found = board._progress
    board._progress = (time.monotonic(), 100.0, *found[2:])  # as where counting is slow
    for said in ("both infeasible", "skip", "both infeasible"):
        assert board.tell(board.ask("ann")["id"], said, "ann")
    assert board.progress("ann")["own"] == 0
    board.tell(board.ask("ann")["id"], "left infeasible", "ann")
    assert board.progress("ann")["own"] == 1


def test_what_another_board_drew_has_another_address():
    """Browsers keep a picture for days: after `render` was edited it is not to be judged."""
    first = create(RENDERS["image"])
    again = Board(first.study, lambda r: Content(b"\x89PNG edited", "image/png"))
    old, new = first.ask("ann"), again.ask("ann")
    assert old["id"] == new["id"]
    for side in ("left", "right"):
        assert old[side]["url"] != new[side]["url"]
        assert old[side]["url"] == first.ask("ann")[side]["url"]
    assert first.best()["url"] != again.best()["url"]


def test_strengths_are_told_where_the_board_asks_for_them():
    board = create(strengths=True)
    for said in ("left clearly", "right slightly", "left"):
        question = board.ask("ann")
        fits(QuestionReply, question)
        fits(Tell, {"rater": "ann", "id": question["id"], "answer": said})
        assert question["strengths"] is True
        assert board.tell(question["id"], said, "ann")
        duel = board.duel(question["id"])
        side, _, strength = said.partition(" ")
        assert (duel.answer, duel.strength) == (board.point_on(duel, side), strength or None)
        assert board.history("ann")["duels"][0]["answer"] == said
    rows = list(csv.DictReader(io.StringIO(board.table())))
    assert [row["strength"] for row in rows][:3] == ["clearly", "slightly", ""]
    for other, word in ((create(), "left clearly"), (board, "left strongly")):
        with pytest.raises(ArgumentError, match="answer must be one of left, right"):
            other.tell(other.ask("ann")["id"], word, "ann")


def test_what_cannot_be_is_told_nowhere_else():
    board = create()
    question = board.ask("ann")
    assert question["infeasible"] is False
    with pytest.raises(ArgumentError, match="answer must be one of left, right"):
        board.tell(question["id"], "left infeasible", "ann")
    board = several(infeasible=True)
    question = board.ask("ann")
    assert "infeasible" not in question
    with pytest.raises(ArgumentError, match="left infeasible"):
        board.tell(question["id"], "left infeasible", "ann")


@pytest.mark.parametrize("ranking", [False, True, "ends"])
def test_questions_of_several_points_are_what_the_models_say(ranking):
    board = several(ranking=ranking, ahead=True)
    reply = board.ask("ann")
    for word in ("3", "2>4", "1>23>4", "1=2>3>4", "tie", "skip"):
        fits(QuestionReply, reply)
        assert (len(reply["panes"]), reply["ranking"]) == (4, ranking)
        assert board.tell(reply["id"], word, "ann")
        reply = board.ask("ann") | {"counted": True}
    history = board.history(None)
    fits(HistoryReply, history)
    said = [duel["answer"] for duel in history["duels"]]
    assert said[:2] == ["skip", "tie"]
    assert said[2] in ("1=2>3>4", "2=1>3>4")
    assert said[-1][0] == "3"


def test_places_are_those_of_the_page():
    """The point at a place is the one that the page shows there, and what is said of it counts."""
    board = several(6)
    reply = board.ask("ann")
    duel = board.duel(reply["id"])
    for place, pane in zip(board.sides(duel), reply["panes"], strict=True):
        point = duel.points["abcdef".index(board.point_on(duel, place))]
        assert pane["text"] == board.render(point)
    board.tell(duel.id, "5>2", "ann")
    answered = board.study.duels[0]
    assert answered.answer.startswith(f"{duel.shown[4]}>{duel.shown[1]}>")
    assert board.side_of(answered).startswith("5>2>")
    assert not board.is_drawn(duel.id, "left")


@pytest.mark.parametrize("word", ["7", "left", "1>1", "5", "1>", "c>a"])
def test_places_that_are_not_there_are_refused(word):
    board = several()
    reply = board.ask("ann")
    with pytest.raises(ArgumentError):
        board.tell(reply["id"], word, "ann")


def test_the_table_holds_all_points():
    board = several(3)
    board.tell(board.ask("ann")["id"], "2", "ann")
    board.tell(board.study.ask(rater="ann", choices=2).id, "left", "ann")
    first, second = csv.DictReader(io.StringIO(board.table()))
    assert json.loads(first["c"]) == pytest.approx(board.study.duels[0].points[2].tolist())
    assert second["c"] == ""


def test_what_cannot_be_told_is_named():
    board = create()
    question = board.ask("ann")
    with pytest.raises(ArgumentError, match="answer must be one of left, right"):
        board.tell(question["id"], "middle", "ann")
    with pytest.raises(ArgumentError, match="no question 99"):
        board.tell(99, "left", "ann")
    with pytest.raises(ArgumentError, match="side must be one of left, right"):
        board.shown(board.duel(0), "top")
    with pytest.raises(ArgumentError, match="accuracy"):
        create(accuracy=-1.0)
    for lang in ("German, please", "", 'de" onload="', "xx", "qq-DE", "german", "x"):
        with pytest.raises(ArgumentError, match='lang must be a language such as "de"'):
            create(lang=lang)
    for lang in ("DE", "pt-BR", "zh-Hant-TW", "gsw"):
        assert create(lang=lang).lang == lang
    assert not board.tell(0, "left", "bob")  # it is Ann's
    assert not board.tell(0, "left", "ann", run="another study")
    assert board.study.progress().answered == 0


def test_a_question_that_went_to_someone_else_by_another_server_is_not_answered():
    study = gd.create_study(gd.Rotations(2), rng=0, study_name="s", lease=0.05)
    here, there = Board(study), Board(gd.load_study("s", study.storage))
    number = here.ask("ann")["id"]
    time.sleep(0.06)
    assert there.ask("bob")["id"] == number
    assert not here.tell(number, "left", "ann")
    assert there.tell(number, "right", "bob")
    assert study.duel(number).rater == "bob"


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


# -- where a page ends -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("manifold", "count"), [(gd.Rotations(2), 20), (gd.Sphere(3), 30), (gd.Sphere(7), 60)]
)
def test_a_page_ends_by_default_and_says_from_the_start_how_far_it_is(manifold, count):
    board = Board(gd.create_study(manifold, rng=0), solo=True)
    assert board.answers == count
    left = []
    while (reply := board.ask("you"))["state"] == "question" and len(left) < 4:
        left.append(reply["progress"]["remaining"])
        board.tell(reply["id"], "left", "you")
    assert left == [count, count - 1, count - 2, count - 3]


def test_each_rater_has_an_end_and_may_go_on():
    board = Board(gd.create_study(gd.Sphere(3), rng=0), answers=2, solo=False)
    for rater in ("ann", "bob"):
        for n in range(2):
            reply = board.ask(rater)
            assert reply["progress"]["remaining"] == 2 - n
            assert reply["progress"]["own"] == n
            board.tell(reply["id"], "left", rater)
        reply = board.ask(rater)
        assert (reply["state"], reply["reason"]) == ("finished", "answers")
        assert reply["progress"]["share"] == 1.0
        fits(QuestionReply, reply)
    assert board.ask("ann", beyond=True)["state"] == "question"


def test_pages_are_as_long_as_method_and_space_need():
    """Beyond IdealPoint's six dimensions, and where there are other values to ask about."""
    net = gd.space(kind=["a", "b", "c"], layers=range(1, 9), turn=gd.Torus(1))
    for space, method, most in (
        (gd.Sphere(10), "auto", 50 + 22),
        (gd.Sphere(32), "auto", 50 + 77),
        (gd.Sphere(61), "auto", 10 + 300),
        (gd.Sphere(3), "duel-newton", 30),
        (net, "auto", 10 + 10 + 2 * 2 + 2 * 3),
        (gd.space(kind=["a", "b", "c"]), "auto", 10 + 2 * 2),
    ):
        study = gd.create_study(space, method, rng=0)
        assert Board(study).answers == most, space
    assert Board(gd.create_study(gd.Sphere(32), rng=0), answers=200).answers == 200


def test_a_study_that_ends_by_itself_has_no_other_end():
    assert create().answers is None  # a budget
    assert create(answers=3).answers == 3
    study = gd.create_study(PLANE, rng=0)
    board = Board(study, accuracy=0.1, solo=True)
    assert board.answers is None
    assert board.ask("you")["progress"]["remaining"] == 10  # as long as nothing is known
    with pytest.raises(ArgumentError, match="answers must be"):
        Board(study, answers=0)


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("manifold", "words"),
    [(gd.Sphere(3), "80 % sure"), (gd.Sphere(9), "80 % sure"), (gd.Sphere(60), "estimated")],
    ids=repr,
)
def test_what_a_person_method_states_is_a_region_in_any_dimension(manifold, words):
    board = Board(gd.create_study(manifold, rng=0), solo=False)
    assert board.known(0.1).endswith(f"({words})")


def shared(**options) -> Board:
    study = gd.create_study(gd.Simplex(3), study_name="palette", rng=0)
    board = Board(study, lambda x: PICTURE, solo=False, **options)
    for rater in ("ann", "bob") * 3:
        reply = board.ask(rater)
        board.tell(reply["id"], "left", rater)
    return board


def test_an_end_page_has_the_picture_and_the_numbers():
    board = shared(labels=("red", "blue", "yellow"))
    found = board.outcome("ann", everything=False)
    fits(OutcomeReply, found | {"following": None, "more": {}})
    assert [row["name"] for row in found["numbers"]["rows"]] == ["red", "blue", "yellow"]
    assert sum(row["values"][0] for row in found["numbers"]["rows"]) == pytest.approx(100)
    assert found["best"]["kind"] == found["own"]["pane"]["kind"] == "image"
    assert "80 % sure" in found["progress"]["known"]
    name = found["best"]["url"].removeprefix("best/").partition("?")[0]
    assert board.best_named(name) == (PICTURE, True)
    assert board.best_named("of another server") == (PICTURE, False)
    assert found["own"]["pane"]["url"].endswith("&rater=ann")


@pytest.mark.parametrize(
    ("results", "best", "own"), [(True, True, True), ("own", False, True), (False, False, False)]
)
def test_the_owner_says_what_raters_see(results, best, own):
    board = shared(results=results)
    found = board.outcome("ann", everything=False)
    assert (found["best"] is not None, found["own"] is not None) == (best, own)
    assert (found["numbers"] is not None, bool(found["progress"]["known"])) == (best, best)
    assert found["files"] is False
    all_of_it = board.outcome("ann")
    assert all_of_it["best"]
    assert all_of_it["own"]
    assert all_of_it["files"] is True
    fits(OutcomeReply, found | {"following": None, "more": {}})


def test_numbers_are_not_shown_twice():
    board = create(solo=True)
    board.tell(board.ask("you")["id"], "left", "you")
    found = board.outcome("you")
    assert found["best"] is None
    assert found["numbers"]["rows"][0]["unit"] == "°"
    assert found["own"] is None


@pytest.mark.parametrize(
    ("options", "says"),
    [({"labels": ("red",)}, "labels must name each of the 3"), ({"labels": "rgb"}, "labels"),
     ({"results": "all"}, "results must be")],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(options, says):
    with pytest.raises(ArgumentError, match=says):
        shared(**options)


def test_the_result_as_a_file():
    board = shared(labels=("red", "blue", "yellow"))
    found = json.loads(json.dumps(board.result(), allow_nan=False))
    assert found["best"]["point"] == pytest.approx(board.study.recommend())
    assert found["answers"] == 6
    assert [one["name"] for one in found["raters"]] == ["ann", "bob"]
    assert found["raters"][0]["point"] == pytest.approx(board.study.recommend(rater="ann"))
    rows = list(csv.DictReader(io.StringIO(board.result_table())))
    assert [row["who"] for row in rows] == ["all"] * 3 + ["ann"] * 3 + ["bob"] * 3
    assert [row["number"] for row in rows[:3]] == ["red", "blue", "yellow"]
    assert sum(float(row["values"]) for row in rows[:3]) == pytest.approx(100)
    assert rows[0]["unit"] == "%"


def test_the_table_has_every_answer_with_its_time_and_numbers():
    board = shared(labels=("red", "blue", "=1+1"))
    rows = list(csv.DictReader(io.StringIO(board.table())))
    duel = board.study.duels[0]
    assert float(rows[0]["seconds"]) == pytest.approx((duel.answered or 0) - duel.asked, abs=1e-3)
    assert float(rows[0]["a: red"]) == pytest.approx(100 * duel.a[0])
    assert float(rows[0]["b: =1+1"]) == pytest.approx(100 * duel.b[2])


def test_html_has_scripts_only_where_the_owner_wants_it():
    for scripts in (False, True):
        board = Board(gd.create_study(PLANE, rng=0), lambda _: "<p>Hello", scripts=scripts)
        assert board.ask("ann")["left"]["scripts"] is scripts


def test_items_of_a_catalogue_are_drawn_by_their_index():
    sphere = gd.Sphere(3)
    study = gd.create_study(sphere, among=np.eye(3), rng=0)
    board = Board(study, lambda point, index: f"{index}: {point.argmax()}")
    question = board.ask("Ann")
    texts = {question[side]["text"] for side in ("left", "right")}
    assert texts < {"0: 0", "1: 1", "2: 2"}
    assert len(texts) == 2
    assert Board(study, lambda point, size=3: str(size)).ask("Ann")["left"]["text"] == "3"


def test_categories_on_the_page_and_in_its_files():
    """A space of values alone is asked about until none wins; spreadsheets run no formula."""
    net = gd.space(kind=["=a", "b"], layers=range(1, 4))
    study = gd.create_study(net, rng=0)
    board = Board(study)
    while not study.progress().finished:
        duel = study.ask()
        text = board.shown(duel, "left").data.decode()
        assert re.fullmatch(r"kind: (=a|b)\nlayers: [123]", text)
        better = min("ab", key=lambda letter: abs(getattr(duel, letter)["layers"] - 3))
        study.tell(duel, "tie" if duel.a["layers"] == duel.b["layers"] else better)
    assert study.recommend()["layers"] == 3
    assert len(study.duels) < 12
    rows = list(csv.DictReader(io.StringIO(board.table())))
    assert {row["a: kind"] for row in rows} <= {"'=a", "b"}
    assert [int(row["b: layers"]) for row in rows] == [d.b["layers"] for d in study.duels]


def test_named_parameters_on_the_page_and_in_its_files():
    """Without a picture, panes show names, numbers and units; render is given a dictionary."""
    sound = gd.space(gain=gd.Interval(-12, 12, unit="dB"), mix=gd.Simplex(2))
    study = gd.create_study(sound, rng=0)
    board, duel = Board(study), study.ask()
    shown = board.shown(duel, "left").data.decode()
    assert re.fullmatch(r"gain: -?[\d.]+ dB\n(mix, weight [12]: [\d.]+ %\n?){2}", shown)
    study.tell(duel, "a")
    assert board.result(panes=True)["best"]["point"].keys() == {"gain", "mix"}
    rows = list(csv.DictReader(io.StringIO(board.table())))
    assert json.loads(rows[0]["a"])["gain"] == float(rows[0]["a: gain"])
    seen = Board(study, lambda p: f"{p['gain']:.1f} dB")
    assert seen.shown(study.ask(), "left").data.endswith(b" dB")
