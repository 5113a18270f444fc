"""Attacks, one a test: what is tried, and that it does not work."""

from __future__ import annotations

import asyncio
import contextlib
import html
import http.client
import itertools
import json
import socket
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import geoduel as gd
from geoduel.cli import main
from geoduel.web import Board, Content, Turned, create_app
from geoduel.web.guard import MAX_BODY, Guard
from geoduel.web.keys import Keys

with warnings.catch_warnings():  # httpx or its successor, whichever is there
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

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


@pytest.fixture(scope="module")
def open_client():
    """A client of a study without tokens, for what changes nothing."""
    study = gd.create_study(gd.Rotations(2), x0=np.eye(2), study_name="tilt", rng=0)
    return TestClient(create_app(Board(study)), base_url="http://localhost")


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


def test_nobody_answers_undoes_or_reads_as_another(client, board):
    before = [(duel.rater, duel.answer) for duel in board.study.duels]
    others = [("tilt", "Ann"), ("other", "Bob"), ("tilt", "bob"), ("tilt", " Bob"), ("", "Bob")]
    for token in (KEYS.rater, *(KEYS.personal(*other) for other in others)):
        for name in ("Bob", " Bob ", "Bob\t"):
            codes = attempts(client, bearer(token), name)
            assert codes.pop("page") in (200, 403, 404)
            assert set(codes.values()) <= {403, 404}, codes
            page = client.get("/s/tilt", params={"rater": name}, headers=bearer(token) | PAGE)
            assert "data-rater" not in page.text  # at most the page that asks for a name
    assert [(duel.rater, duel.answer) for duel in board.study.duels] == before


def test_a_link_that_was_taken_back_opens_nothing(client, board):
    """Nor do its cookies; another rater's link, the owner's and all answers stay."""
    bob, ann, owner = KEYS.personal("tilt", "Bob"), KEYS.personal("tilt", "Ann"), bearer(TOKEN)
    browser = {
        name: f"geoduel-80{KEYS.cookie(KEYS.read(token))[0]}={token}"
        for name, token in (("Bob", bob), ("Ann", ann))
    }
    assert set(attempts(client, {"cookie": browser["Bob"]}, "Bob").values()) == {200}
    answers = [(duel.rater, duel.answer) for duel in board.study.duels]
    revoke = "/api/studies/tilt/revoke"
    for nobody in (bearer(ann), bearer(bob), bearer(KEYS.rater)):
        assert client.post(revoke, json={"rater": "Bob"}, headers=nobody).status_code == 403
    reply = client.post(revoke, json={"rater": " Bob"}, headers=owner).json()
    assert reply["rater"] == "Bob"
    for headers in (bearer(bob), {"cookie": browser["Bob"]}):
        assert set(attempts(client, headers, "Bob").values()) == {401}
    assert client.get(f"/s/tilt?rater=Bob&token={bob}", headers=PAGE).status_code == 401
    for headers in (bearer(ann), {"cookie": browser["Ann"]}):
        assert set(attempts(client, headers, "Ann").values()) <= {200, 409}
    shared = bearer(KEYS.rater)
    assert (
        client.post("/api/studies/tilt/join", json={"rater": "bob"}, headers=shared).status_code
        == 409
    )
    assert [d for d in ((d.rater, d.answer) for d in board.study.duels) if d[0] == "Bob"] == answers

    # The owner's page makes a new link, which opens the name and shows its own address.
    again = client.post("/api/studies/tilt/join", json={"rater": "Bob"}, headers=owner).json()
    assert again == reply
    assert reply["token"] not in (bob, None)
    page = client.get(f"/{reply['link']}", headers=PAGE)  # leaves a cookie
    assert "data-rater" in page.text
    assert html.escape(reply["token"]) in page.text
    assert set(attempts(client, bearer(reply["token"]), "Bob").values()) == {200}


def test_a_name_that_nobody_used_stays_shut_once_its_link_is_taken_back(client, board):
    made = client.post("/api/studies/tilt/join", json={"rater": "Cid"}, headers=bearer(TOKEN))
    assert KEYS.read(made.json()["token"]).rater == "Cid"
    for slip in ("cid", "Cyd"):  # would void nothing
        reply = client.post("/api/studies/tilt/revoke", json={"rater": slip}, headers=bearer(TOKEN))
        assert reply.status_code == 422
        assert ("'Cid'" in reply.json()["error"]) is (slip == "cid")
    client.post("/api/studies/tilt/revoke", json={"rater": "Cid"}, headers=bearer(TOKEN))
    for token in (KEYS.personal("tilt", "Cid"), KEYS.personal("tilt", "Cid", 2)):
        assert set(attempts(client, bearer(token), "Cid").values()) == {401}
    body = {"rater": "CID"}
    joined = client.post("/api/studies/tilt/join", json=body, headers=bearer(KEYS.rater))
    assert joined.status_code == 409


def test_a_link_can_be_taken_back_by_another_program(tmp_path, make_client, monkeypatch):
    """Noticed within `_LINKS_STAY`, here at once; and after a restart; and in a copy."""
    url = f"sqlite:///{tmp_path}/tilt.db"
    gd.create_study(gd.Rotations(2), storage=url, study_name="tilt", rng=0)
    ann, bob = (bearer(KEYS.personal("tilt", name)) for name in ("Ann", "Bob"))
    client = make_client(Board(gd.load_study("tilt", url)), token=TOKEN)
    ask = "/api/studies/tilt/ask"
    assert client.post(ask, json={}, headers=ann).status_code == 200
    assert main(["revoke", url, "tilt", "Ann"]) == 0
    monkeypatch.setattr("geoduel.web.board._LINKS_STAY", 0.0)
    for served in (client, make_client(Board(gd.load_study("tilt", url)), token=TOKEN)):
        assert served.post(ask, json={}, headers=ann).status_code == 401
        assert served.post(ask, json={}, headers=bob).status_code == 200
    assert main(["revoke", url, "tilt", "  "]) == 2


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


RESULTS = ["result", "result.json", "result.csv", "map", "agreement", "convergence", "recommend"]


def test_results_are_the_owners_to_show(client, board):
    tokens = [KEYS.personal("tilt", "Bob"), KEYS.rater]
    for path in (*RESULTS, "export.csv", "export.jsonl"):
        address = f"/api/studies/tilt/{path}"
        assert client.get(address, headers=bearer(TOKEN)).status_code == 200
        assert [client.get(address, headers=bearer(t)).status_code for t in tokens] == [403, 403]
    bob = bearer(tokens[0])
    for board.results, code in ((True, 200), ("own", 403), (False, 403)):
        for path in ("best", "picture"):
            assert client.get(f"/api/studies/tilt/{path}", headers=bob).status_code == code
        assert client.get("/api/studies/tilt/best/x", headers=bob).status_code == code
        own = client.get("/api/studies/tilt/best/x?rater=Bob", headers=bob)
        assert own.status_code == (200 if board.results else 403)
        others = client.get("/api/studies/tilt/best/x?rater=Ann", headers=bob)
        assert others.status_code == 403
        reply = client.post("/api/studies/tilt/finish", json={"rater": "Bob"}, headers=bob).json()
        assert (reply["numbers"] is None) is (board.results is not True)
        assert (reply["own"] is None) is (board.results is False)
        assert reply["files"] is False


def test_one_can_do_everything_by_the_own_link(client):
    assert set(attempts(client, bearer(KEYS.personal("tilt", "Bob")), "Bob").values()) == {200}
    assert set(attempts(client, bearer(KEYS.personal("tilt", "Bob")), "").values()) == {200}
    assert set(attempts(client, bearer(TOKEN), "Bob").values()) == {200}  # the owner's, too


def test_the_shared_link_opens_no_name_that_somebody_has(client):
    for name in ("Bob", "bob", " Bob ", "ＢＯＢ"):
        headers = bearer(KEYS.rater)
        reply = client.post("/api/studies/tilt/join", json={"rater": name}, headers=headers)
        assert reply.status_code == 409
        assert "somebody has this name" in reply.json()["error"]


def test_a_name_that_the_owner_gave_out_is_taken_before_its_first_question(client, board):
    join, owner, shared = "/api/studies/tilt/join", bearer(TOKEN), bearer(KEYS.rater)
    cid = client.post(join, json={"rater": "Cid"}, headers=owner).json()
    for name in ("Cid", "cid", "ＣＩＤ"):
        assert client.post(join, json={"rater": name}, headers=shared).status_code == 409
    assert client.post(join, json={"rater": "Cid"}, headers=owner).json() == cid
    for taken, alike in (("Cid", "cid"), ("Bob", "BOB")):  # the owner is told who has it
        reply = client.post(join, json={"rater": alike}, headers=owner)
        assert reply.status_code == 409
        assert taken in reply.json()["error"]


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


def test_a_link_opens_no_study_of_another_server_that_has_the_same_key(make_client):
    """Keys lose letters, and two programs may have one token."""
    pairs = [("色", "音"), ("x" * 40 + "1", "x" * 40 + "2"), ("tilt", "tilt")]
    for n, names in enumerate(pairs):
        boards = [
            Board(gd.create_study(gd.Rotations(2), study_name=name, rng=k))
            for k, name in enumerate(names)
        ]
        first, second = (make_client(board, token=TOKEN) for board in boards)
        key = boards[0].key
        assert boards[1].key == key
        links = bearer(KEYS.rater)
        join = first.post(f"/api/studies/{key}/join", json={"rater": "Ann"}, headers=links)
        boards[1].study.tell(boards[1].study.ask(rater="Ann"), "a")
        here = bearer(join.json()["token"])
        old = bearer(KEYS.personal(key, "Ann"))  # of an earlier version, which names the key alone
        for client, headers, good in (
            (first, here, True),
            (second, here, False),
            (first, old, n == 2),  # where the key is the whole name
            (second, old, n == 2),
        ):
            client.cookies.clear()
            ask = client.post(f"/api/studies/{key}/ask", json={"rater": "Ann"}, headers=headers)
            assert ask.status_code == (200 if good else 401)


def test_the_link_for_raters_opens_no_study_for_one(make_client):
    """Nor does a rater's own link of a time when the study was for several."""
    mine, theirs = (
        Board(gd.create_study(gd.Rotations(2), study_name=name, rng=0), solo=name == "mine")
        for name in ("mine", "theirs")
    )
    mine.study.tell(mine.study.ask(rater="you"), "a")
    client = make_client([mine, theirs], token=TOKEN, solo=False)
    owner, rater = bearer(TOKEN), bearer(KEYS.rater)
    for headers in (rater, bearer(KEYS.personal("mine", "you"))):
        for action in ("ask", "undo", "finish", "join"):
            address = f"/api/studies/mine/{action}"
            assert client.post(address, json={"rater": "you"}, headers=headers).status_code == 404
        for path in ("", "/history", "/best", "/duels/0/left", "/picture"):
            assert client.get(f"/api/studies/mine{path}", headers=headers).status_code == 404
        assert client.get("/s/mine", headers=headers).status_code == 404
    assert mine.study.progress().answered == 1
    home = client.get("/", headers=rater | PAGE, follow_redirects=False)
    assert home.headers["location"] == "/s/theirs"
    assert client.post("/api/studies/mine/undo", json={}, headers=owner).status_code == 200


def test_a_cookie_of_an_earlier_version_becomes_one_that_stays(client, board):
    kept = f"geoduel-80{KEYS.cookie(KEYS.read(KEYS.personal('tilt', 'Bob')))[0]}"
    old = {"cookie": f"{kept}={KEYS.personal('tilt', 'Bob')}"}
    made = client.get("/s/tilt?rater=Bob", headers=old | PAGE).headers["set-cookie"]
    name, _, value = made.partition(";")[0].partition("=")
    assert name == kept
    assert KEYS.recall(value) == board.who("Bob")
    assert "Max-Age" in made


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
        codes.append((reply.status_code, reply.headers.get("retry-after")))
    assert codes[:60] == [(200, None)] * 60
    assert codes[-1] == (429, "30")
    # The owner gives links to as many as there are.
    reply = client.post("/api/studies/tilt/join", json={"rater": "guest 99"}, headers=bearer(TOKEN))
    assert reply.status_code == 200


def test_links_hold_as_long_as_the_token(board, make_client):
    ann = bearer(KEYS.personal("tilt", "Ann"))
    for token, code in ((TOKEN, 200), ("another token of many letters", 401)):
        again = make_client(board, token=token)  # the server, started anew
        reply = again.post("/api/studies/tilt/ask", json={"rater": "Ann"}, headers=ann)
        assert reply.status_code == code


# -- other sites -----------------------------------------------------------------------------------


FOREIGN = [
    {"origin": "http://evil.example"},
    {"origin": "https://localhost.evil.example"},
    {"origin": "http://localhost:1"},
    {"origin": "null"},
    {"origin": ""},
    {"origin": "localhost"},
    {"sec-fetch-site": "cross-site"},
    {"content-type": "text/plain"},
    {"content-type": "application/x-www-form-urlencoded"},
    {"content-type": "multipart/form-data; boundary=application/json"},
]


def test_pages_of_other_sites_do_nothing_in_an_owners_browser(client, board):
    client.get("/owner", params={"token": TOKEN})  # the browser keeps the cookie
    before = [(duel.rater, duel.answer) for duel in board.study.duels]
    body = json.dumps({"rater": "Eve", "id": 1, "answer": "left"})
    for headers in FOREIGN:
        headers = {"content-type": "application/json"} | headers
        for action in ("ask", "tell", "undo", "finish", "join"):
            path = f"/api/studies/tilt/{action}"
            reply = client.post(path, content=body, headers=headers)
            assert reply.status_code in (403, 415), (headers, action)
            assert reply.json()["error"]
    assert [(duel.rater, duel.answer) for duel in board.study.duels] == before
    assert board.claim("Eve")


@pytest.mark.parametrize("prefix", ["", "/duel"])
def test_a_page_behind_a_proxy_may_call_by_its_own_name(board, make_client, prefix):
    client = make_client(board, hosts=["duels.example"], origin="duels.example", root="/duel")
    for origin, code in (("https://duels.example", 200), ("https://evil.example", 403)):
        reply = client.post(f"{prefix}/api/studies/tilt/ask", json={}, headers={"origin": origin})
        assert reply.status_code == code


def test_what_is_below_the_root_is_the_servers_own_and_nothing_beside_it(board, make_client):
    client = make_client(board, root="/duel")
    page = client.get("/").text
    assert client.get("/duel").text == client.get("/duel/").text == page
    assert client.get("/duel/api/studies").json() == client.get("/api/studies").json()
    for beside in ("/duels", "/duelapi/studies", "/duel/duel"):
        assert client.get(beside).status_code == 404


def test_names_that_claim_to_be_the_server(open_client):
    hosts = ("evil.example", "localhost.evil.example", "localhost@evil.example", "", "[", "a b")
    for host, method in itertools.product(hosts, ("GET", "POST")):
        reply = open_client.request(method, "/api/studies", headers={"host": host})
        assert reply.status_code == 421
        assert reply.json()["error"]


def test_two_host_names_are_none(board, live):
    server = live(create_app(board))
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as s:
        s.sendall(b"GET /api/studies HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n")
        assert int(s.recv(65536).split()[1]) in (400, 421)


def test_what_a_client_says_of_its_address_is_not_believed(client):
    """Without a trusted proxy each wrong token counts for the one address there is."""
    codes = [
        client.get(
            "/api/studies", headers=bearer(f"guess {n}") | {"x-forwarded-for": f"192.0.2.{n}"}
        ).status_code
        for n in range(30)
    ]
    assert codes[0] == 401
    assert codes[-1] == 429
    owner = client.get("/owner?token=" + TOKEN, follow_redirects=False)
    assert owner.headers["retry-after"] == "2"


# -- bodies ----------------------------------------------------------------------------------------


def chunked(server, pieces, pause=0.0):
    """Send a body in chunks, of a length that is not said; return the reply."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=8)) as c:
        c.putrequest("POST", "/api/studies/tilt/ask")
        c.putheader("Content-Type", "application/json")
        c.putheader("Transfer-Encoding", "chunked")
        c.endheaders()
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                c.send(b"%x\r\n%s\r\n" % (len(piece), piece))
                time.sleep(pause)
            c.send(b"0\r\n\r\n")
        reply = c.getresponse()
        return reply.status, json.loads(reply.read())


def test_bodies_of_unknown_length_are_limited(board, live):
    server = live(create_app(board))
    fits = b'{"rater": "you"' + b" " * (MAX_BODY - 16) + b"}"
    assert len(fits) == MAX_BODY
    pieces = [fits[n : n + 1000] for n in range(0, len(fits), 1000)]
    assert chunked(server, pieces)[0] == 200
    status, reply = chunked(server, [*pieces, b" "])
    assert status == 413
    assert str(MAX_BODY) in reply["error"]


def test_a_body_has_its_time(board, live, monkeypatch):
    monkeypatch.setattr("geoduel.web.guard._BODY_SECONDS", 0.2)
    server = live(create_app(board))
    status, reply = chunked(server, [b" "] * 5, pause=0.1)
    assert status == 408
    assert "seconds" in reply["error"]
    assert board.study.duels == []


def test_nothing_is_read_of_those_who_may_not_come_in():
    """The body is asked for once everything else is right."""
    asked, sent = [], []

    async def receive():
        asked.append(1)
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message):
        sent.append(message)

    async def app(scope, receive, send):
        await receive()

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/studies/x/ask", "query_string": b""}
    for more, reads in (([], 0), ([(b"authorization", b"Bearer " + TOKEN.encode())], 1)):
        asked.clear()
        request = scope | {"headers": headers + more, "client": ("192.0.2.1", 1)}
        asyncio.run(Guard(app, KEYS)(request, receive, send))
        assert len(asked) == reads
    assert sent[0]["status"] == 401
    assert (b"connection", b"close") in sent[0]["headers"]


@pytest.mark.parametrize("length", ["-1", "1e3", "²", "9" * 30, "0x10"])
def test_a_length_that_is_none(length):
    sent = []

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    headers.append((b"content-length", length.encode("latin-1")))
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
    asyncio.run(Guard(None)(scope, None, send))
    assert sent[0]["status"] == 400


@pytest.mark.parametrize(
    ("path", "method", "headers", "body", "code"),
    [
        ("/api/studies/tilt/ask", "POST", {}, b"{", 422),
        ("/api/studies/tilt/ask", "POST", {}, b"\xff\xfe", 422),
        ("/api/studies/tilt/ask", "POST", {}, b"[" * 15000, 400),
        ("/api/studies/tilt/ask", "POST", {}, b"null", 422),
        ("/api/studies/tilt/ask", "POST", {}, b'{"rater": "\\ud800"}', 422),
        ("/api/studies/tilt/tell", "POST", {}, b'{"id": 1e400, "answer": "left"}', 422),
        ("/api/studies/tilt/tell", "POST", {}, b'{"id": NaN, "answer": "left"}', 422),
        ("/api/studies/tilt/nothing", "GET", {}, b"", 404),
        ("/api/studies/none", "GET", {}, b"", 404),
        ("/api/studies/tilt/ask", "GET", {}, b"", 405),
        ("/api/studies/tilt", "DELETE", {}, b"", 405),
        ("/api/studies/tilt", "TRACE", {}, b"", 405),
        ("/api/studies/tilt/ask", "POST", {"content-type": "text/html"}, b"{}", 415),
        ("/api/studies/tilt/history?start=-1", "GET", {}, b"", 422),
        ("/api/studies/tilt/duels/0/middle", "GET", {}, b"", 404),
        ("/api/studies/tilt/duels/" + "9" * 30 + "/left", "GET", {}, b"", 404),
        ("/api/studies/tilt/duels/x/left", "GET", {}, b"", 422),
        ("/api/studies", "GET", {"host": "evil.example"}, b"", 421),
    ],
)
def test_every_problem_is_said_in_the_same_way(path, method, headers, body, code, open_client):
    kind = {"content-type": "application/json"} if method == "POST" else {}
    reply = open_client.request(method, path, content=body, headers=kind | headers)
    assert reply.status_code == code
    assert reply.headers["content-type"] == "application/json"
    assert list(reply.json()) == ["error"]
    assert reply.json()["error"]


def test_only_a_browser_without_a_token_is_shown_a_page(client):
    for headers, kind in (({}, "application/json"), (PAGE, "text/html; charset=utf-8")):
        reply = client.get("/owner", headers=headers)
        assert reply.status_code == 401
        assert reply.headers["content-type"] == kind
        assert reply.headers["www-authenticate"] == "Bearer"
        assert client.get("/owner", headers=headers | {"host": "x.example"}).json()["error"]
        assert client.delete("/owner", headers=headers | bearer(TOKEN)).json()["error"]


WHOLE = ["/", "/owner", "/s/tilt", "/api", "/api/studies", "/api/openapi.json", "/none"]
WHOLE += ["/api/studies/tilt/best", "/api/studies/tilt/export.csv", "/static/duel.js"]


def test_the_head_of_a_reply_is_that_of_the_whole(open_client):
    for path in WHOLE:
        whole = open_client.get(path, follow_redirects=False)
        head = open_client.head(path, follow_redirects=False)
        assert head.status_code == whole.status_code
        assert head.content == b""
        assert dict(head.headers) == dict(whole.headers)


def test_the_head_of_an_endless_reply_ends(client):
    reply = client.head("/api/events", headers=bearer(TOKEN))
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/event-stream")


# -- work ------------------------------------------------------------------------------------------


def test_those_who_only_look_hold_nobody_up(board, live, monkeypatch):
    looked, may_end = threading.Event(), threading.Event()

    def best():
        looked.set()
        may_end.wait(20)
        return {"kind": "text", "url": "best", "alt": "", "text": "x"}

    monkeypatch.setattr(board, "best", best)
    server = live(create_app(board))

    def status(method, path):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port)) as c:
            body = b"{}" if method == "POST" else None
            kind = {"content-type": "application/json"}
            c.request(method, f"/api/studies/tilt/{path}", body, kind)
            return c.getresponse().status

    with ThreadPoolExecutor(60) as pool:
        readers = [pool.submit(status, "GET", "best") for _ in range(60)]
        looked.wait(10)
        try:
            assert [status("POST", "ask") for _ in range(3)] == [200] * 3
        finally:
            may_end.set()
        codes = [reader.result() for reader in readers]
    # One client may have so many waiting; those beyond are told to come again.
    assert codes.count(200) >= 32
    assert set(codes) <= {200, 429}


# -- what owners and raters write ------------------------------------------------------------------


def test_no_text_becomes_script(make_client):
    """Study, title, question, rater: each is text wherever it is shown."""
    study = gd.create_study(gd.Sphere(3), study_name=NASTY, rng=0)
    board = Board(study, lambda _: NASTY, title=NASTY, question=NASTY, key="x")
    client = make_client(board, token=TOKEN, solo=False)
    name = NASTY[:40]
    owner = bearer(TOKEN)
    join = client.post("/api/studies/x/join", json={"rater": name}, headers=owner).json()
    question = client.post("/api/studies/x/ask", json={"rater": name}, headers=owner).json()
    client.post(
        "/api/studies/x/tell", json={"rater": name, "id": 0, "answer": "left"}, headers=owner
    )
    assert question["left"]["kind"] == "html"  # shown in a frame of its own, without scripts
    pages = [
        client.get(path, headers=owner | PAGE)
        for path in ("/owner", "/s/x", f"/{join['page']}", f"/s/{NASTY}", f"/{NASTY}", "/api")
    ]
    pages.append(client.get(f"/{join['link']}", headers=PAGE))
    for page in pages:
        assert page.headers["content-type"].startswith("text/html")
        assert "<script>" not in page.text
        assert "&49" not in html.unescape(page.text)  # nor is it a template
    choice = client.get(f"/api/studies/x/{question['left']['url']}", headers=owner)
    assert "sandbox" in choice.headers["content-security-policy"]
    assert "script-src" not in choice.headers["content-security-policy"]
    table = client.get("/api/studies/x/export.csv", headers=owner)
    assert table.headers["content-disposition"] == 'attachment; filename="x.csv"'
    assert table.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "made",
    [
        lambda: (
            "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>1</script></svg>"
        ),
        lambda: "<iframe src='//evil.example'></iframe>",
        lambda: Content(b"<script>alert(1)</script>", "text/html"),
        lambda: Content(b"<script>alert(1)</script>", "image/svg+xml"),
        lambda: Content(b"<script>alert(1)</script>", "image/png"),
        lambda: Turned(Content(b"<svg onload='alert(1)'/>", "image/svg+xml"), 0.1, (1, 1)),
    ],
)
def test_what_render_returns_does_nothing_on_its_own(board, make_client, made):
    board.render = lambda _: made()
    client = make_client(board)
    question = client.post("/api/studies/tilt/ask", json={}).json()
    reply = client.get(f"/api/studies/tilt/{question['left']['url']}")
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"


def test_a_picture_that_bombs_is_a_pair_that_cannot_be_shown(board, monkeypatch):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra web)")
    import io

    file = io.BytesIO()
    pillow.new("1", (3000, 3000)).save(file, "PNG")
    monkeypatch.setattr(pillow, "MAX_IMAGE_PIXELS", 1_000_000)
    board.render = lambda _: pillow.open(io.BytesIO(file.getvalue()))
    assert board.ask("you")["left"]["kind"] == "failed"
    assert "DecompressionBomb" in board.trouble


def test_a_study_from_somebody_else_is_shown_as_text_alone(tmp_path, make_client):
    name = "<script>1</script>"
    study = gd.create_study(gd.Rotations(2), study_name=f"</title>{name}", x0=np.eye(2), rng=0)
    study.tell(study.ask(rater=name), "a", rater=name)
    study.export(tmp_path / "theirs.jsonl")
    board = Board(gd.import_study(tmp_path / "theirs.jsonl"))
    client = make_client(board, solo=False)
    assert "<script>" not in client.get("/owner").text
    found = client.get(f"/api/studies/{board.key}/agreement")
    assert found.headers["content-type"] == "application/json"
    assert found.json()["raters"][0]["name"] == "<script>1</script>"
