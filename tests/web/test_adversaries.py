"""Attacks, one a test: what is tried, and that it does not work."""

from __future__ import annotations

import pytest

import geoduel as gd
from geoduel.web import Board
from geoduel.web.keys import Keys

TOKEN = "a token of many characters"
KEYS = Keys(TOKEN)
NASTY = "<script>alert('x')</script>\"&{{7*7}}"
PAGE = {"accept": "text/html"}


def bearer(token):
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def client(board, make_client):
    """A client of a guarded study; Bob has answered one of its questions and holds another."""
    made = make_client(board, token=TOKEN)
    bob = bearer(KEYS.personal("tilt", "Bob"))
    question = made.post("/api/studies/tilt/ask", json={"rater": "Bob"}, headers=bob).json()
    body = {"rater": "Bob", "id": question["id"], "answer": "left"}
    made.post("/api/studies/tilt/tell", json=body, headers=bob)
    return made


# -- forged names ----------------------------------------------------------------------------------


def attempts(client, headers, name):
    """Status of everything that one can do in the study as somebody."""
    body = {"rater": name}
    held = next((d.id for d in client.app.state.hub.boards["tilt"].study.open_duels), 0)
    post = {
        "ask": body,
        "tell": body | {"id": held, "answer": "left"},
        "undo": body,
        "finish": body,
    }
    codes = {
        action: client.post(f"/api/studies/tilt/{action}", json=b, headers=headers).status_code
        for action, b in post.items()
    }
    history = client.get("/api/studies/tilt/history", params=body, headers=headers)
    page = client.get("/s/tilt", params=body, headers=headers | PAGE)
    return codes | {"history": history.status_code, "page": page.status_code}


@pytest.mark.parametrize(
    "token",
    [
        KEYS.rater,
        KEYS.personal("tilt", "Ann"),
        KEYS.personal("other", "Bob"),
        KEYS.personal("tilt", "bob"),
        KEYS.personal("tilt", " Bob"),
    ],
)
@pytest.mark.parametrize("name", ["Bob", " Bob ", "Bob\t"])
def test_nobody_answers_undoes_or_reads_as_another(client, board, token, name):
    before = [(duel.rater, duel.answer) for duel in board.study.duels]
    codes = attempts(client, bearer(token), name)
    page = codes.pop("page")
    assert set(codes.values()) <= {403, 404}, codes
    assert page in (200, 403, 404)
    reply = client.get("/s/tilt", params={"rater": name}, headers=bearer(token) | PAGE)
    assert "data-rater" not in reply.text  # at most the page that asks for a name
    assert [(duel.rater, duel.answer) for duel in board.study.duels] == before


def test_a_rater_sees_the_choices_of_no_other(client):
    picture = "/api/studies/tilt/duels/{}/left"
    for token, code in (
        (KEYS.personal("tilt", "Bob"), 200),
        (TOKEN, 200),
        (KEYS.personal("tilt", "Ann"), 404),
        (KEYS.rater, 404),
    ):
        assert [
            client.get(picture.format(n), headers=bearer(token)).status_code for n in (0, 1)
        ] == [code, code]


def test_one_can_do_everything_by_the_own_link(client):
    assert set(attempts(client, bearer(KEYS.personal("tilt", "Bob")), "Bob").values()) == {200}
    assert set(attempts(client, bearer(KEYS.personal("tilt", "Bob")), "").values()) == {200}
    assert set(attempts(client, bearer(TOKEN), "Bob").values()) == {200}  # the owner's, too


@pytest.mark.parametrize("name", ["Bob", "bob", " Bob ", "ＢＯＢ"])
def test_the_shared_link_opens_no_name_that_somebody_has(client, name):
    headers = bearer(KEYS.rater)
    reply = client.post("/api/studies/tilt/join", json={"rater": name}, headers=headers)
    assert reply.status_code == 409
    assert "somebody has this name" in reply.json()["error"]


def test_a_new_name_gets_a_link_and_a_cookie_of_its_own(client, board):
    join = client.post(
        "/api/studies/tilt/join", json={"rater": "Änn Lee"}, headers=bearer(KEYS.rater)
    )
    content = join.json()
    assert KEYS.read(content["token"]).rater == "Änn Lee"
    assert "HttpOnly" in join.headers["set-cookie"]
    ask = client.post("/api/studies/tilt/ask", json={"rater": "Änn Lee"})  # by cookie
    assert ask.status_code == 200
    again = client.post(
        "/api/studies/tilt/join", json={"rater": "Änn Lee"}, headers=bearer(KEYS.rater)
    )
    assert again.status_code == 200  # whoever has it may ask for it again
    client.cookies.clear()
    assert (
        client.post(
            "/api/studies/tilt/join", json={"rater": "Änn Lee"}, headers=bearer(KEYS.rater)
        ).status_code
        == 409
    )
    page = client.get(f"/{content['link']}", headers=PAGE)
    assert page.url.path == "/s/tilt"
    assert "token" not in str(page.url)
    assert 'data-rater="Änn Lee"' in page.text
    assert client.get("/", headers=PAGE).url.params["rater"] == "Änn Lee"
    assert board.study.open_duels[-1].rater == "Änn Lee"


def test_a_personal_link_opens_no_other_name_and_no_other_study(make_client):
    boards = [
        Board(gd.create_study(gd.Sphere(3), study_name=name, rng=0)) for name in ("one", "two")
    ]
    client = make_client(boards, token=TOKEN)
    ann = bearer(KEYS.personal("one", "Ann"))
    reply = client.post("/api/studies/one/join", json={"rater": "Eve"}, headers=ann)
    assert reply.status_code == 403
    for path in ("", "/best", "/history", "/duels/0/left"):
        assert client.get(f"/api/studies/two{path}", headers=ann).status_code == 404
    assert (
        client.post("/api/studies/two/ask", json={"rater": "Ann"}, headers=ann).status_code == 404
    )
    assert client.get("/s/two?rater=Ann", headers=ann).status_code == 404
    for path in ("/owner", "/api/studies", "/api/studies/one/export.csv", "/api/events"):
        assert client.get(path, headers=ann).status_code == 403


def test_a_name_is_given_away_once_before_it_has_a_question(client):
    codes = []
    for _ in range(3):
        client.cookies.clear()
        reply = client.post(
            "/api/studies/tilt/join", json={"rater": "Eve"}, headers=bearer(KEYS.rater)
        )
        codes.append(reply.status_code)
    assert codes == [200, 409, 409]


def test_new_names_from_one_address_are_limited(client, board):
    codes = []
    for n in range(70):
        client.cookies.clear()
        reply = client.post(
            "/api/studies/tilt/join", json={"rater": f"guest {n}"}, headers=bearer(KEYS.rater)
        )
        codes.append(reply.status_code)
    assert codes[:60] == [200] * 60
    assert codes[-1] == 429
    assert reply.headers["retry-after"] == "30"
    # The owner gives links to as many as there are.
    reply = client.post("/api/studies/tilt/join", json={"rater": "guest 99"}, headers=bearer(TOKEN))
    assert reply.status_code == 200


def test_links_hold_as_long_as_the_token(board, make_client):
    ann = bearer(KEYS.personal("tilt", "Ann"))
    for token, code in ((TOKEN, 200), ("another token of many letters", 401)):
        again = make_client(board, token=token)  # the server, started anew
        reply = again.post("/api/studies/tilt/ask", json={"rater": "Ann"}, headers=ann)
        assert reply.status_code == code
