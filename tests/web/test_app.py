"""The HTTP interface: asking, telling, looking back, exporting; sides mapped back to points."""

from __future__ import annotations

import csv
import io
import itertools
import json

import numpy as np
import pytest

import geoduel as gd
from geoduel.web import Board

PIL = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra web)")


def angle(pane):
    """Degrees that a pane shows."""
    return float(pane["text"])


def ask(client, key="tilt", **body):
    reply = client.post(f"/api/studies/{key}/ask", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def table_of(reply):
    """Rows of a CSV that Excel knows to be UTF-8."""
    assert reply.content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(reply.content.decode("utf-8-sig"))))


def tell(client, question, answer, key="tilt", **body):
    body = {"id": question["id"], "run": question["run"], "answer": answer, **body}
    reply = client.post(f"/api/studies/{key}/tell", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_a_person_levels_by_the_interface_alone(client, board):
    target, question = -17.0, ask(client)
    for _ in range(14):
        errors = {side: abs(angle(question[side]) - target) for side in ("left", "right")}
        question = tell(client, question, min(errors, key=errors.__getitem__))
    best = np.degrees(board.study.manifold.to_angle(board.study.recommend()))
    assert abs(best - target) < 1
    assert question["progress"]["answered"] == 14
    assert question["progress"]["unit"] == "degrees"
    assert angle(client.get("/api/studies/tilt/best").json()) == pytest.approx(best, abs=1e-3)


def test_sides_are_shuffled_recorded_and_mapped_back(client, board):
    lefts, question = set(), ask(client)
    for n in range(16):
        duel = board.study.duels[question["id"]]
        lefts.add(duel.left)
        shown = {"a": duel.a, "b": duel.b}
        for side, point in (("left", duel.left), ("right", "ab".replace(duel.left, ""))):
            shown_angle = np.degrees(board.study.manifold.to_angle(shown[point]))
            assert angle(question[side]) == pytest.approx(shown_angle, abs=1e-3)
        said = ("left", "right")[n % 2]
        question = tell(client, question, said)
        answer = board.study.duels[duel.id].answer
        assert answer == (duel.left if said == "left" else "ab".replace(duel.left, ""))
    assert lefts == {"a", "b"}


def test_points_can_be_told_as_well(client, board):
    question = ask(client)
    tell(client, question, "b")
    assert board.study.duels[question["id"]].answer == "b"


def test_asking_again_is_the_same_question(client):
    assert ask(client) == ask(client)


def test_ties_and_skips(client, board):
    question = tell(client, ask(client), "tie")
    question = tell(client, question, "skip")
    assert [duel.answer for duel in board.study.duels[:2]] == ["tie", "skip"]
    progress = question["progress"]
    assert (progress["answered"], progress["ties"], progress["skips"]) == (1, 1, 1)


def test_the_second_answer_changes_nothing(client, board):
    question = ask(client)
    first = tell(client, question, "left")
    second = tell(client, question, "right")
    assert first["counted"] is True
    assert second["counted"] is False
    assert second["id"] == first["id"]
    assert board.study.duels[question["id"]].answer == board.study.duels[question["id"]].left
    assert second["progress"]["answered"] == 1


def test_an_answer_to_another_run_does_not_count(client):
    question = ask(client) | {"run": "of another study"}
    assert tell(client, question, "left")["counted"] is False


def test_tell_without_the_next_question(client, board):
    reply = tell(client, ask(client), "left", next=False)
    assert reply["state"] == "wait"
    assert board.study.open_duels == []


def test_undo_asks_the_same_question_again(client):
    question = ask(client)
    tell(client, question, "left")
    again = client.post("/api/studies/tilt/undo", json={}).json()
    assert (again["id"], again["left"], again["right"]) == (
        question["id"],
        question["left"],
        question["right"],
    )
    assert ask(client)["id"] == question["id"]
    assert client.post("/api/studies/tilt/undo", json={}).status_code == 409


def test_an_undo_that_names_an_answer_takes_no_other_back(client, board):
    """So whoever got no reply may ask again; so may whoever looks at a page of yesterday."""
    question = ask(client)
    assert question["last"] is None
    for said in ("left", "skip", "right"):
        question = tell(client, question, said)
    last = question["last"]
    assert last == board.study.duels[2].id
    for body in ({"run": "of another study"}, {"id": last, "run": "of another study"}, {"id": 0}):
        reply = client.post("/api/studies/tilt/undo", json=body).json()
        assert (reply["id"], reply["last"]) == (question["id"], last)
    assert ask(client)["last"] == last
    for _ in range(2):  # the reply to the first was lost
        reply = client.post("/api/studies/tilt/undo", json={"id": last, "run": question["run"]})
        assert (reply.json()["id"], reply.json()["last"]) == (last, 1)
    assert [duel.answer for duel in board.study.duels[:2]] == [board.study.duels[0].left, "skip"]
    assert board.study.duels[2].answer is None


@pytest.mark.parametrize(
    ("choices", "said", "others"),
    [
        (2, "left", ("right", "tie", "left slightly")),
        (2, "left clearly", ("left", "left slightly", "right clearly")),
        (2, "both infeasible", ("skip", "left infeasible")),
        (4, "3>1", ("3", "1>3")),
    ],
)
def test_an_answer_told_again_counts_and_another_does_not(choices, said, others):
    study = gd.create_study(gd.Sphere(3), rng=0, choices=choices)
    board = Board(study, strengths=True, infeasible=True, ranking=True)
    question = board.ask("Ann")
    assert [board.tell(question["id"], said, "Ann") for _ in range(2)] == [True, True]
    assert not any(board.tell(question["id"], other, "Ann") for other in others)
    assert not board.tell(question["id"], said, "Bob")
    assert board.version == 1


def test_history_goes_back_from_the_last(client):
    question, asked = ask(client), []
    for n in range(14):
        asked.append(question)
        question = tell(client, question, ("left", "right", "tie")[n % 3])
    page = client.get("/api/studies/tilt/history").json()
    assert page["total"] == 14
    assert [duel["id"] for duel in page["duels"]] == [q["id"] for q in asked[:1:-1]]
    assert page["duels"][0]["answer"] == "right"
    assert angle(page["duels"][0]["left"]) == angle(asked[-1]["left"])
    rest = client.get("/api/studies/tilt/history?start=12").json()
    assert [duel["id"] for duel in rest["duels"]] == [asked[1]["id"], asked[0]["id"]]


def test_the_page_ends_at_the_accuracy_and_can_go_on(make_client):
    study = gd.create_study(gd.Rotations(2), x0=np.eye(2), study_name="tilt", rng=0)
    outcomes = []
    board = Board(
        study,
        accuracy=np.radians(2),
        finish=lambda b: outcomes.append(b) or {"lines": ["done"]},
    )
    client = make_client(board)
    question = ask(client)
    for _ in range(30):
        if question["state"] != "question":
            break
        duel = study.duels[question["id"]]
        errors = {p: abs(study.manifold.to_angle(getattr(duel, p)) - 0.2) for p in "ab"}
        question = tell(client, question, min(errors, key=errors.__getitem__))
    assert question["state"] == "finished"
    assert question["reason"] == "accuracy"
    assert question["progress"]["share"] == 1
    assert study.progress().uncertainty <= np.radians(2)
    assert ask(client)["state"] == "finished"
    assert ask(client, beyond=True)["state"] == "question"
    outcome = client.post("/api/studies/tilt/finish", json={}).json()
    assert outcome["more"] == {"lines": ["done"]}
    assert outcomes == [board]
    assert outcome["numbers"]["rows"][0]["unit"] == "°"


def test_the_budget_ends_the_study(make_client):
    study = gd.create_study(gd.Rotations(2), budget=2, study_name="tilt", rng=0)
    client = make_client(Board(study))
    question = tell(client, ask(client), "left")
    assert question["progress"]["share"] == 0.5
    question = tell(client, question, "left")
    assert (question["state"], question["reason"]) == ("finished", "budget")


def test_someone_waits_where_all_questions_are_out(make_client):
    study = gd.create_study(
        gd.Sphere(3), method="rdngd", iterations=5, study_name="tilt", rng=0, x0=np.eye(3)[0]
    )
    client = make_client(Board(study), solo=False)
    states = [ask(client, rater=name)["state"] for name in ("Ann", "Bob", "Cem", "Dee")]
    assert states[0] == "question"
    reply = ask(client, rater="Eva")
    assert reply["state"] == "wait"
    assert reply["retry_after"] > 0


def test_raters_keep_their_questions_and_their_history(board, make_client):
    client = make_client(board, solo=False)
    ann, bob = ask(client, rater="Ann"), ask(client, rater="Bob")
    assert ann["id"] != bob["id"]
    assert tell(client, ann, "left", rater="Bob")["counted"] is False  # it is Ann's
    tell(client, ann, "left", rater="Ann")
    tell(client, bob, "tie", rater="Bob")
    history = client.get("/api/studies/tilt/history", params={"rater": "Bob"}).json()
    assert [duel["answer"] for duel in history["duels"]] == ["tie"]
    assert client.get("/api/studies/tilt/history").json()["total"] == 2  # the owner sees all
    assert client.post("/api/studies/tilt/ask", json={}).status_code == 422


def test_owner_sees_agreement_and_convergence(board, make_client):
    client, rng = make_client(board, solo=False), np.random.default_rng(0)
    for n in range(24):
        name = ("Ann", "Bob", "Mallory")[n % 3]
        question = ask(client, rater=name)
        errors = {side: abs(angle(question[side]) + 12) for side in ("left", "right")}
        better = min(errors, key=errors.__getitem__)
        if name == "Mallory" and rng.random() < 0.9:
            better = {"left": "right", "right": "left"}[better]
        tell(client, question, better, rater=name)
    found = client.get("/api/studies/tilt/agreement").json()
    by_name = {one["name"]: one for one in found["raters"]}
    assert set(by_name) == {"Ann", "Bob", "Mallory"}
    assert sum(one["answers"] for one in by_name.values()) == 24
    assert by_name["Mallory"]["with_result"] < by_name["Ann"]["with_result"]
    assert {tuple(pair["raters"]) for pair in found["pairs"]} == {
        ("Ann", "Bob"),
        ("Ann", "Mallory"),
        ("Bob", "Mallory"),
    }
    curves = client.get("/api/studies/tilt/convergence").json()
    assert curves["region"][0][0] <= curves["region"][-1][0] == 24
    assert "objective" not in curves
    assert len(client.get("/api/studies/tilt/map").json()["duels"]) == 24
    found = client.get("/api/studies/tilt/result").json()
    assert {one["name"] for one in found["raters"]} == {"Ann", "Bob", "Mallory"}
    assert found["best"]["pane"]["kind"] == "text"


def test_results_are_downloaded(board, make_client):
    picture = b"\x89PNG\r\n\x1a\n of some kind"
    board.render = lambda _: picture
    client = make_client(board)
    tell(client, ask(client), "left")
    done = client.post("/api/studies/tilt/finish", json={}).json()
    shown = client.get(f"/api/studies/tilt/{done['best']['url']}")
    assert (shown.content, shown.headers["content-type"]) == (picture, "image/png")
    assert "immutable" in shown.headers["cache-control"]
    other = client.get("/api/studies/tilt/best/of-another-server")
    assert other.content == picture
    assert other.headers["cache-control"] == "no-store"  # it is not what was named
    full = client.get("/api/studies/tilt/picture")
    assert full.headers["content-disposition"] == 'attachment; filename="tilt-best.png"'
    assert full.content == picture
    point = client.get("/api/studies/tilt/result.json").json()["best"]["point"]
    assert point == pytest.approx(board.study.recommend())
    rows = table_of(client.get("/api/studies/tilt/result.csv"))
    assert rows[0]["unit"] == "°"
    angle = np.degrees(board.study.manifold.to_angle(board.study.recommend()))
    assert float(rows[0]["values"]) == pytest.approx(float(angle))

    def fails(_):
        raise RuntimeError("no such model")

    board.render = fails
    board._shown.clear()
    assert client.post("/api/studies/tilt/finish", json={}).json()["best"]["kind"] == "failed"
    assert client.get("/api/studies/tilt/picture").status_code == 404
    assert client.get("/api/studies/tilt/result.json").status_code == 200


def test_a_picture_is_downloaded_as_the_browser_turned_it(make_client):
    from geoduel.pictures import largest_rectangle, seascape
    from geoduel.web import Turned, content

    picture, plane = content(seascape(0, 0.0, (300, 200))), gd.Rotations(2)
    study = gd.create_study(plane, x0=plane.from_angle(0.2), study_name="tilt", rng=0)
    client = make_client(Board(study, lambda r: Turned(picture, plane.to_angle(r), (300, 200))))
    full = client.get("/api/studies/tilt/picture")
    size = PIL.open(io.BytesIO(full.content)).size
    assert size == pytest.approx(largest_rectangle(300, 200, 0.2), abs=1)


def test_scripts_of_html_run_where_the_owner_wants_it_and_reach_nothing(board, make_client):
    board.render = lambda _: "<script>1</script>"
    for board.scripts in (False, True):
        board._shown.clear()
        client = make_client(board)
        reply = client.get(f"/api/studies/tilt/{ask(client)['left']['url']}")
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "allow-same-origin" not in policy
        assert ("sandbox allow-scripts;" in policy) is board.scripts
        assert ("script-src" in policy) is board.scripts


def test_exports(client, board, tmp_path):
    question = ask(client)
    for answer in ("left", "tie", "skip", "right"):
        question = tell(client, question, answer)
    table = client.get("/api/studies/tilt/export.csv")
    assert table.headers["content-disposition"] == 'attachment; filename="tilt.csv"'
    rows = table_of(table)
    assert [row["side"] for row in rows][:4] == ["left", "tie", "skip", "right"]
    for row, duel in zip(rows, board.study.duels, strict=True):
        assert row["answer"] == (duel.answer or "")
        assert np.array_equal(json.loads(row["a"]), duel.a)
    log = client.get("/api/studies/tilt/export.jsonl")
    (tmp_path / "tilt.jsonl").write_text(log.text)
    again = gd.import_study(tmp_path / "tilt.jsonl")
    assert [duel.answer for duel in again.duels] == [duel.answer for duel in board.study.duels]
    assert np.array_equal(again.recommend(), board.study.recommend())
    point = client.get("/api/studies/tilt/recommend").json()["point"]
    assert np.array_equal(point, board.study.recommend())


def test_a_name_like_a_formula_is_text_in_the_table(board, make_client):
    client = make_client(board, solo=False)
    tell(client, ask(client, rater="=1+1"), "left", rater="=1+1")
    rows = table_of(client.get("/api/studies/tilt/export.csv"))
    assert rows[0]["rater"] == "'=1+1"


def test_values_and_units_like_formulas_are_text_in_both_tables(make_client):
    place = gd.space({"tool": ["=1+1", "@saw"], "=depth": (-1, 1)})
    board = Board(gd.create_study(place, study_name="tilt", rng=0))
    client = make_client(board, solo=False)
    tell(client, ask(client, rater="Änn"), "left", rater="Änn")
    for path in ("result.csv", "export.csv"):
        rows = table_of(client.get(f"/api/studies/tilt/{path}"))
        cells = [v for row in rows for one in row.values() for v in np.atleast_1d(one) if v]
        assert any(v in ("'=1+1", "'@saw") for v in cells)
        numbers = [v for v in cells if v[0] in "=+-@\t\r"]
        assert all(float(v) < 0 for v in numbers)
        assert "Änn" in cells or path == "result.csv"
    result = table_of(client.get("/api/studies/tilt/result.csv"))
    assert {row["number"] for row in result} == {"tool", "'=depth"}


def test_questions_are_fetched_ahead_where_wanted(board, make_client):
    board.ahead = True
    client = make_client(board)
    question = ask(client)
    assert len(question["preload"]) == 2
    for path in question["preload"]:
        assert client.get(f"/api/studies/tilt/{path}").status_code == 200
    following = tell(client, question, "left")
    assert [following[side]["url"] for side in ("left", "right")] == question["preload"]


def test_studies_list_and_description(client):
    studies = client.get("/api/studies").json()
    assert studies == [client.get("/api/studies/tilt").json()]
    assert studies[0]["method"] == "bisection"
    assert studies[0]["manifold"] == "Rotations(2)"


def test_two_studies_of_one_name_get_two_addresses(make_client):
    boards = [Board(gd.create_study(gd.Sphere(3), study_name="Twins!", rng=n)) for n in (0, 1)]
    client = make_client(boards)
    assert [s["key"] for s in client.get("/api/studies").json()] == ["twins", "twins-2"]
    assert ask(client, "twins")["run"] != ask(client, "twins-2")["run"]


def test_a_study_that_was_deleted_is_not_found(make_client, tmp_path):
    """Its page is told so, and of no other study."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    for name in ("secret", "tilt"):
        gd.create_study(gd.Rotations(2), storage=url, study_name=name, rng=0)
    client = make_client(Board(gd.load_study("tilt", url)))
    ask(client)
    gd.delete_study("tilt", url)
    for _ in range(2):
        reply = client.post("/api/studies/tilt/ask", json={})
        assert (reply.status_code, reply.json()) == (404, {"error": "there is no such study"})


def test_events_stream_progress_as_it_changes(board, live):
    import httpx

    from geoduel.web import create_app

    server = live(create_app(board))
    with httpx.Client(base_url=server.address, timeout=5) as client:
        question = client.post("/api/studies/tilt/ask", json={}).json()
        with client.stream("GET", "/api/events") as events:
            assert events.headers["content-type"].startswith("text/event-stream")
            lines = (line for line in events.iter_lines() if line.startswith("data: "))
            assert json.loads(next(lines)[6:])["progress"]["answered"] == 0
            board.tell(question["id"], "left", "you")
            assert json.loads(next(lines)[6:])["progress"]["answered"] == 1


def test_the_interface_describes_itself(client):
    described = client.get("/api/openapi.json").json()
    assert described["openapi"].startswith("3.")
    for path in ("ask", "tell", "undo", "best", "history", "export.jsonl", "agreement"):
        assert f"/api/studies/{{key}}/{path}" in described["paths"]
    page = client.get("/api").text
    assert "Tell an answer" in page
    assert "http://" not in page.replace("http://localhost", "")
    assert "https://" not in page


# -- several servers of one study ------------------------------------------------------------------


def test_a_rater_may_land_on_any_server_of_a_study(make_client, tmp_path):
    """Two servers take turns at every request: nothing is lost, doubled, or shown to nobody."""
    url, sphere = f"sqlite:///{tmp_path / 'a.db'}", gd.Sphere(3)
    gd.create_study(sphere, storage=url, study_name="s", rng=0)
    boards = [
        Board(gd.load_study("s", url), lambda x: b"\x89PNG\r\n\x1a\n" + x.tobytes(), answers=9)
        for _ in range(2)
    ]
    token = "a token of many characters"
    clients = [make_client(board, token=token, solo=False) for board in boards]
    links = {"authorization": f"Bearer {clients[0].app.state.keys.rater}"}
    turn = itertools.cycle(clients)
    names, told = ["Ann", "Bob"], []
    held = {}
    for name in names:
        join = next(turn).post("/api/studies/s/join", json={"rater": name}, headers=links)
        held[name] = {"authorization": f"Bearer {join.json()['token']}"}
    for client in clients:  # taken on every server, before the first question is asked
        client.cookies.clear()
        for name in names:
            again = client.post("/api/studies/s/join", json={"rater": name}, headers=links)
            assert again.status_code == 409
    questions = {}
    for name in names:
        body = {"rater": name}
        questions[name] = next(turn).post("/api/studies/s/ask", json=body, headers=held[name])
    for _ in range(9):
        for name in names:
            question = questions[name].json()
            same = next(turn).post("/api/studies/s/ask", json={"rater": name}, headers=held[name])
            assert same.json()["id"] == question["id"]
            shown = next(turn).get(f"/api/studies/s/{question['left']['url']}", headers=held[name])
            assert shown.status_code == 200
            body = {"rater": name, "id": question["id"], "answer": "left"}
            for _ in range(2):  # the second time to the other server
                questions[name] = next(turn).post(
                    "/api/studies/s/tell", json=body, headers=held[name]
                )
                assert questions[name].json()["counted"] is True
            told.append(question["id"])
    assert len(set(told)) == len(told) == 18
    assert gd.load_study("s", url).progress().answered == 18
    for board in boards:
        board._progress = None  # what is known of other servers may be some time late
    for name in names:
        ended = next(turn).post("/api/studies/s/ask", json={"rater": name}, headers=held[name])
        assert ended.json()["reason"] == "answers"
        done = next(turn).post("/api/studies/s/finish", json={"rater": name}, headers=held[name])
        for pane in (done.json()["best"], done.json()["own"]["pane"]):
            shown = [c.get(f"/api/studies/s/{pane['url']}", headers=held[name]) for c in clients]
            assert shown[0].content == shown[1].content
            assert shown[0].status_code == 200


def test_a_name_stays_taken_after_a_restart(make_client, tmp_path):
    url, token = f"sqlite:///{tmp_path / 'a.db'}", "a token of many characters"
    gd.create_study(gd.Sphere(3), storage=url, study_name="s", rng=0)
    for code in (200, 409):
        client = make_client(Board(gd.load_study("s", url)), token=token)
        link = {"authorization": f"Bearer {client.app.state.keys.rater}"}
        reply = client.post("/api/studies/s/join", json={"rater": "Ann"}, headers=link)
        assert reply.status_code == code


def test_results_of_named_parts_and_categories_are_shown(make_client):
    """Their points are dictionaries: the last page, its pictures and the downloads."""
    place = gd.space(gain=(-12, 12), kind=["soft", "loud"], layers=range(1, 5))
    board = Board(gd.create_study(place, study_name="tilt", rng=0), solo=True)
    client, at = make_client(board), "/api/studies/tilt"
    for _ in range(3):
        question = client.post(f"{at}/ask", json={}).json()
        client.post(f"{at}/tell", json={"id": question["id"], "answer": "left"})
    found, best = client.post(f"{at}/finish", json={}).json(), board.study.recommend()
    values = [value for row in found["numbers"]["rows"] for value in row["values"]]
    assert best["kind"] in values
    for path in ("picture", "best/0", "result", "result.json", "result.csv", "history", "map"):
        assert client.get(f"{at}/{path}").status_code == 200, path
