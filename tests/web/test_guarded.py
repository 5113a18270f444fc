"""Who gets in, what a page may do, what the outside learns."""

from __future__ import annotations

import re
import socket
from urllib.parse import urljoin

import pytest

import geoduel as gd
from geoduel.errors import StorageError
from geoduel.web import Board, create_app
from geoduel.web.keys import Keys

TOKEN = "a long enough token"
PAGE = {"accept": "text/html"}
SHARED = Keys(TOKEN).rater


@pytest.fixture
def guarded(board, make_client):
    return make_client(board, token=TOKEN)


def bearer(token):
    return {"authorization": f"Bearer {token}"}


# -- tokens ----------------------------------------------------------------------------------------


ELSEWHERE = [
    "//evil.example/",
    "///evil.example",
    "/%5Cevil.example/phish",
    "/%5C%5Cevil.example",
    "/%2F/evil.example",
    "/%09/evil.example",
    "/%0a/evil.example",
    "/%0d%0aX-Evil:%20yes",
    "/x%0d%0a%0d%0a<script>",
    "/@evil.example",
    "/.%5Cevil.example",
    "/..//evil.example",
    "/%E3%80%82evil.example",
    "/%EF%BC%8F%EF%BC%8Fevil.example",
    "/%00",
    "/%ff%fe",
    "/https:%2F%2Fevil.example",
]


@pytest.mark.parametrize("path", ["/", "/owner", "/s/tilt", "/api", "/api/studies", "/api/events"])
def test_without_the_token_nothing_is_told(guarded, path):
    assert guarded.get(path).status_code == 401
    assert "tilt" not in guarded.get(path).text
    page = guarded.get(path, headers=PAGE)
    assert page.status_code == 401
    assert "private" in page.text


@pytest.mark.parametrize("given", ["", "wrong", TOKEN[:-1], TOKEN + "x", "é", "\N{SNOWMAN}"])
def test_a_wrong_token_is_refused(guarded, given):
    assert guarded.get("/api/studies", params={"token": given}).status_code == 401
    if given.isascii():
        assert guarded.get("/api/studies", headers=bearer(given)).status_code == 401


def test_tokens_are_compared_in_constant_time(guarded, monkeypatch):
    compared = []

    def compare(a, b):
        compared.append((a, b))
        return a == b

    monkeypatch.setattr("geoduel.web.keys.hmac.compare_digest", compare)
    guarded.get("/api/studies", headers=bearer("wrong"))
    assert (b"wrong", TOKEN.encode()) in compared


def test_the_token_leaves_the_address_and_stays_in_a_cookie(guarded):
    reply = guarded.get("/owner", params={"token": TOKEN, "x": "1"}, follow_redirects=False)
    assert reply.status_code == 303
    assert reply.headers["location"] == "/owner?x=1"
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert guarded.get("/owner").status_code == 200  # the client keeps cookies
    assert guarded.get("/api/studies", headers=bearer(TOKEN)).status_code == 200


@pytest.mark.parametrize("token", [TOKEN, SHARED, "wrong"])
def test_the_redirect_stays_here(guarded, token):
    guarded.get("/owner", params={"token": TOKEN})  # with a cookie any token redirects
    for path in ELSEWHERE:
        place = guarded.get(f"{path}?token={token}", follow_redirects=False).headers["location"]
        assert place.isascii(), path
        assert place.isprintable(), path
        assert "\\" not in place, path
        assert urljoin("http://localhost/x", place).startswith("http://localhost/"), path
        assert re.match("/(?!/)", place), path


@pytest.mark.parametrize("kind", ["h11", "httptools"])
def test_the_redirect_stays_here_over_the_wire(board, live, kind):
    pytest.importorskip(kind, reason=f"{kind} is not installed")
    server = live(create_app(board), http=kind)
    for path in ELSEWHERE:
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as s:
            s.sendall(f"GET {path}?token=x HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            head = s.recv(65536).decode("latin-1").partition("\r\n\r\n")[0]
        lines = head.split("\r\n")
        assert lines[0].startswith("HTTP/1.1 303"), (path, head)
        assert [line for line in lines if line.lower().startswith("location: /")], (path, head)
        assert not [line for line in lines if line.lower().startswith(("x-evil", "set-cookie"))]


def test_raters_answer_and_see_no_more(guarded):
    headers = bearer(Keys(TOKEN).personal("tilt", "Ann"))
    body = {"rater": "Ann"}
    assert guarded.post("/api/studies/tilt/ask", json=body, headers=headers).status_code == 200
    assert guarded.get("/s/tilt?rater=Ann", headers=headers).status_code == 200
    for path in ("/api/studies", "/api/events", "/owner"):
        assert guarded.get(path, headers=headers).status_code == 403
    for path in ("export.csv", "export.jsonl", "agreement", "convergence", "recommend"):
        assert guarded.get(f"/api/studies/tilt/{path}", headers=headers).status_code == 403
    assert "/owner" not in guarded.get("/s/tilt?rater=Ann", headers=headers).text


def test_an_owner_who_opens_a_link_for_raters_stays_the_owner(guarded):
    guarded.get("/owner", params={"token": TOKEN})
    assert guarded.get("/s/tilt", params={"token": SHARED}).status_code == 200
    assert guarded.get("/owner").status_code == 200


def test_guessing_is_slowed_down(guarded):
    guarded.get("/owner", params={"token": TOKEN})
    inside = dict(guarded.cookies)
    guarded.cookies.clear()
    codes = [
        guarded.get("/api/studies", headers=bearer(f"guess {n}")).status_code for n in range(40)
    ]
    assert codes[0] == 401
    assert codes[-1] == 429
    # Not even the right one is looked at; who is in already stays in.
    assert guarded.get("/api/studies", headers=bearer(TOKEN)).status_code == 429
    guarded.cookies.update(inside)
    assert guarded.get("/api/studies").status_code == 200


# -- other sites -----------------------------------------------------------------------------------


def test_dns_rebinding_meets_an_unknown_name(client):
    for host in ("evil.example", "evil.example:8642", "localhost.evil.example", ""):
        assert client.get("/", headers={"host": host}).status_code == 421


def test_names_can_be_allowed(board, make_client):
    client = make_client(board, hosts=["duels.example"])
    assert client.get("/api/studies", headers={"host": "duels.example"}).status_code == 200


def test_pages_and_forms_of_other_sites_change_nothing(client, board):
    ask = "/api/studies/tilt/ask"
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert client.post(ask, json={}, headers=headers).status_code == 403
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post(ask, content=b"{}", headers=form).status_code == 415
    assert board.study.duels == []


def test_reading_changes_nothing(client, board):
    for path in (
        "/s/tilt",
        "/api/studies/tilt",
        "/api/studies/tilt/best",
        "/api/studies/tilt/history",
    ):
        assert client.get(path).status_code == 200
    assert board.study.duels == []
    assert client.request("DELETE", "/api/studies/tilt").status_code == 405
    assert client.get("/api/studies/tilt/ask").status_code == 405


@pytest.mark.parametrize("path", ["/s/tilt", "/owner", "/api", "/nothing", "/static/duel.js"])
def test_every_reply_forbids_what_is_not_ours(client, path):
    reply = client.get(path, headers=PAGE)
    policy = dict(
        part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in reply.headers
    if reply.headers["content-type"].startswith("text/html"):
        assert "style=" not in reply.text
        assert "<script>" not in reply.text
        assert "//" not in reply.text.replace("http://localhost", "").replace("</", "")


# -- input -----------------------------------------------------------------------------------------


NASTY = "<script>alert('x')</script>\"&"


def test_names_are_escaped(make_client):
    study = gd.create_study(gd.Sphere(3), study_name=NASTY, rng=0)
    client = make_client(Board(study, question=NASTY), solo=False)
    for page in ("/owner", f"/s/script-alert-x-script?rater={NASTY}", "/s/script-alert-x-script"):
        reply = client.get(page)
        assert reply.status_code == 200
        assert "<script>" not in reply.text
        assert "&lt;script&gt;" in reply.text


@pytest.mark.parametrize("name", ["x" * 41, "a\x00b", "\u202egnp.exe", "\x1b[31m"])
def test_bad_names_are_refused_in_words(board, name, make_client):
    client = make_client(board, solo=False)
    reply = client.post("/api/studies/tilt/ask", json={"rater": name})
    assert reply.status_code == 422
    assert "name" in reply.json()["error"]
    assert "1 to 40" in client.get("/s/tilt", params={"rater": name}).text


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/guard.py",
        "/static/style.css/../../app.py",
        "/static//etc/passwd",
        "/s/..%2f..%2fetc%2fpasswd",
        "/api/studies/..%2ftilt/best",
        "/api/studies/tilt/pictures/..%2f..%2fsetup",
        "/api/studies/tilt/duels/0/..%2fleft",
    ],
)
def test_no_path_leads_elsewhere(client, path):
    assert client.get(path).status_code in (401, 404)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"id": 99, "answer": "left"}, 422),
        ({"id": -1, "answer": "left"}, 422),
        ({"id": 0, "answer": "middle"}, 422),
        ({"id": "zero", "answer": "left"}, 422),
        ({"answer": "left"}, 422),
        ({"id": 0, "answer": "left", "rater": "x" * 500}, 422),
        ({"id": 10**30, "answer": "left"}, 422),
        ([], 422),
        ("text", 422),
    ],
)
def test_malformed_answers_are_refused_in_words(client, body, code):
    reply = client.post("/api/studies/tilt/tell", json=body)
    assert reply.status_code == code
    assert "Traceback" not in reply.text
    assert isinstance(reply.json()["error"], str)


def test_broken_json_and_large_bodies(client):
    headers = {"content-type": "application/json"}
    assert client.post("/api/studies/tilt/ask", content=b"{", headers=headers).status_code == 422
    large = b'{"rater": "' + b"x" * 20_000 + b'"}'
    assert client.post("/api/studies/tilt/ask", content=large, headers=headers).status_code == 413

    def pieces():  # of unknown length
        yield from (large[n : n + 1000] for n in range(0, len(large), 1000))

    reply = client.post("/api/studies/tilt/ask", content=pieces(), headers=headers)
    assert reply.status_code >= 400


def test_rates_are_limited(board, make_client):
    client = make_client(board, rate=1.0)
    codes = [client.post("/api/studies/tilt/ask", json={}).status_code for _ in range(14)]
    assert codes[:10] == [200] * 10
    assert codes[-1] == 429


# -- errors ----------------------------------------------------------------------------------------


def test_trouble_with_the_storage_is_told_without_its_inside(client, board, monkeypatch):
    def fails(*_, **__):
        raise StorageError("connection to postgresql://ann:secret@db failed")

    monkeypatch.setattr(board.study, "ask", fails)
    reply = client.post("/api/studies/tilt/ask", json={})
    assert reply.status_code == 503
    assert reply.headers["retry-after"]
    assert "secret" not in reply.text


def test_an_unknown_study_or_page(client):
    assert client.post("/api/studies/none/ask", json={}).json() == {
        "error": "there is no such study"
    }
    page = client.get("/s/none", headers=PAGE)
    assert page.status_code == 404
    assert "no such study" in page.text
    assert client.get("/nothing", headers=PAGE).status_code == 404


def test_a_dashboard_takes_no_answers(board, make_client):
    client = make_client(board, read_only=True)
    assert client.post("/api/studies/tilt/ask", json={}).status_code == 403
    assert client.get("/", follow_redirects=False).headers["location"] == "/owner"
    assert "tilt" in client.get("/owner").text
