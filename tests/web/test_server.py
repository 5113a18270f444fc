"""Ports, addresses, the dashboard, what is said when a package is missing."""

from __future__ import annotations

import json
import re
import socket
from types import SimpleNamespace

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, MissingExtraError
from geoduel.web import server


@pytest.fixture
def served(monkeypatch):
    """Applications that would have been run."""
    apps = []
    monkeypatch.setattr(server, "run", lambda app, *_, **__: apps.append(app))
    return apps


def test_the_dashboard_shows_studies_that_come_later_and_survives_broken_ones(
    tmp_path, served, capsys, monkeypatch
):
    from starlette.testclient import TestClient

    storage = f"sqlite:///{tmp_path / 'duels.db'}"
    gd.create_study(gd.Sphere(3), storage=storage, study_name="first", rng=0)
    server.dashboard(storage, token=False)
    client = TestClient(served[0], base_url="http://localhost")
    assert [study["title"] for study in client.get("/api/studies").json()] == ["first"]
    gd.create_study(gd.Sphere(3), storage=storage, study_name="second", rng=0)
    gd.create_study(gd.Sphere(3), storage=storage, study_name="third", rng=0)
    load, away = gd.study.load_study, ["third"]

    def fails_for_the_third(name, *arguments):
        if name in away:
            raise ArgumentError("made by a method that is not here")
        return load(name, *arguments)

    monkeypatch.setattr(gd.study, "load_study", fails_for_the_third)
    monkeypatch.setattr(server, "_AGAIN", 0.0)  # tried again each time, and said once
    server.dashboard(storage, token=False)
    client = TestClient(served[1], base_url="http://localhost")
    for _ in range(2):
        assert [s["title"] for s in client.get("/api/studies").json()] == ["first", "second"]
    assert capsys.readouterr().err.count("third is left out") == 1
    away.clear()
    titles = [s["title"] for s in client.get("/api/studies").json()]
    assert titles == ["first", "second", "third"]
    client = TestClient(served[0], base_url="http://localhost")  # the one that runs already
    page = client.get("/owner").text
    assert "second" in page
    assert "export.csv" in page
    assert "Copy link" not in page


def test_a_study_that_was_deleted_leaves_the_dashboard_alone(tmp_path, served, live):
    """And returns once there is another one of its name; a study that fails is left out, too."""
    import httpx

    storage = f"sqlite:///{tmp_path / 'duels.db'}"
    for name in ("first", "second", "third"):
        study = gd.create_study(gd.Sphere(3), storage=storage, study_name=name, rng=0)
        study.tell(study.ask(), "a")
    server.dashboard(storage, token=False)
    boards = served[0].state.hub.boards
    boards["third"].study.progress = lambda *_, **__: 1 / 0

    def titles():
        return [study["title"] for study in client.get("/api/studies").json()]

    def streamed():
        with client.stream("GET", "/api/events") as events:
            lines = (line for line in events.iter_lines() if line.startswith("data: "))
            return json.loads(next(lines)[6:])["key"]

    with httpx.Client(base_url=live(served[0]).address, timeout=20) as client:
        assert titles() == ["first", "second"]
        gd.delete_study("first", storage)
        boards["first"]._progress = None  # what is kept of it may be some time late
        assert streamed() == "second"
        assert titles() == ["second"]
        page = client.get("/owner", headers={"accept": "text/html"})
        assert page.status_code == 200
        assert 'data-key="second"' in page.text
        assert 'data-key="first"' not in page.text
        gd.create_study(gd.Sphere(3), storage=storage, study_name="first", rng=1)
        assert titles() == ["first", "second"]
        assert client.get("/api/studies/first").json()["progress"]["answered"] == 0
        gd.delete_study("first", storage)
        assert client.get("/api/studies/first/recommend").status_code == 404
    assert "ZeroDivisionError" in boards["third"].trouble


def test_a_misspelt_database_is_not_made(tmp_path):
    file = tmp_path / "none.db"
    with pytest.raises(ArgumentError, match=r"no database .*none\.db"):
        server.dashboard(f"sqlite:///{file}")
    assert not file.exists()


def test_a_taken_port_is_left_alone(monkeypatch, capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        monkeypatch.setattr(server, "PORT", taken)
        ports = []
        monkeypatch.setattr(
            "uvicorn.Server.run", lambda _, sockets: ports.append(sockets[0].getsockname()[1])
        )
        server.run(None)
        assert ports != [taken]
        assert f"Open http://127.0.0.1:{ports[0]}/\n" in capsys.readouterr().out
        with pytest.raises(OSError, match=f"cannot listen at host 127.0.0.1 port {taken}: "):
            server.run(None, port=taken)


@pytest.fixture
def calls(monkeypatch):
    """What `run` was called with."""
    made = []
    names = ("app", "host", "port", "token", "browser", "path", "front")
    monkeypatch.setattr(
        server, "run", lambda *args: made.append(dict(zip(names, args, strict=True)))
    )
    return made


def test_there_is_a_token_unless_one_says_no(board, calls):
    for host in ("127.0.0.1", "localhost", "0.0.0.0", "::"):
        server.serve(board, host=host)
        assert len(calls[-1]["token"]) == 32
        assert calls[-1]["app"].state.hub.solo == (host not in ("0.0.0.0", "::"))
    server.serve(board, token=False)
    assert calls[-1]["token"] is None
    for more in ({"host": "0.0.0.0"}, {"public_url": "https://duels.example"}):
        with pytest.raises(ArgumentError, match="others can come"):
            server.serve(board, token=False, **more)


def test_made_tokens_stay_with_the_studies(board, calls, tmp_path):
    server.serve(board)
    server.serve(board)
    url = f"sqlite:///{tmp_path / 'other.db'}"
    server.serve(gd.create_study(gd.Sphere(3), storage=url, study_name="tilt", rng=0))
    server.dashboard(url)
    tokens = [call["token"] for call in calls]
    assert tokens[0] == tokens[1]
    assert len(set(tokens)) == 3


@pytest.mark.parametrize("token", ["short", "sunshine2024", "a" * 30, ""])
def test_tokens_that_are_easy_to_guess_are_refused(board, calls, token):
    with pytest.raises(ArgumentError, match="token must have at least"):
        server.serve(board, token=token)


@pytest.mark.parametrize(
    ("url", "root", "origin"),
    [
        ("https://duels.example", "", "duels.example"),
        ("https://duels.example/", "", "duels.example"),
        ("https://duels.example:8443/a/b/", "/a/b", "duels.example:8443"),
        ("http://192.0.2.7/palette", "/palette", "192.0.2.7"),
    ],
)
def test_the_address_of_a_proxy(board, calls, url, root, origin):
    server.serve(board, public_url=url)
    front = calls[-1]["front"]
    assert front.settings == {"root": root, "origin": origin}
    assert front.trusted == ("127.0.0.1", "::1")
    assert calls[-1]["app"].state.hub.solo is False  # people come from elsewhere


@pytest.mark.parametrize(
    "url",
    [
        "duels.example",
        "ftp://duels.example",
        "https://",
        "https://ann:secret@duels.example",
        "https://duels.example/?a=b",
        "https://duels.example/#x",
        "https://duels.example:port/",
        "https://[::1",
        "https://duels.example/api",
        "https://duels.example/s/x",
    ],
)
def test_an_address_of_no_proxy(board, url):
    with pytest.raises(ArgumentError, match="public_url"):
        server.serve(board, public_url=url)


@pytest.mark.parametrize("one", ["*", "proxy.example", "10.0.0.0/33", ""])
def test_only_addresses_are_trusted(board, one):
    with pytest.raises(ArgumentError, match="trust_proxy"):
        server.serve(board, trust_proxy=["10.0.0.0/8", one])


def test_what_is_printed(board, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    monkeypatch.setattr(server, "_open_browser", opened.append)
    server.serve(board, port=0, browser=True)
    said = capsys.readouterr()
    link = re.fullmatch(
        r"Open (http://127\.0\.0\.1:\d+/)\?token=([\w-]{32})\nCtrl-C ends it\.\n", said.out
    )
    assert link
    assert "nothing is encrypted" not in said.err
    # Others can read what starts a browser: its token is another one, which is good once.
    assert opened[0].startswith(f"{link[1]}?token=")
    assert link[2] not in opened[0]
    board.solo = False
    server.serve(board, port=0, host="0.0.0.0")
    said = capsys.readouterr()
    assert "For raters: http://" in said.out
    assert "nothing is encrypted" in said.err
    server.serve(board, port=0, public_url="https://duels.example/palette/")
    said = capsys.readouterr()
    assert "Open https://duels.example/palette/?token=" in said.out
    assert "For raters: https://duels.example/palette/?token=" in said.out
    assert "nothing is encrypted" not in said.err


def test_a_study_in_memory_says_so_and_prints_its_result(board, monkeypatch, capsys):
    def answers(*_):
        board.tell(board.ask("you")["id"], "left", "you")

    monkeypatch.setattr(server, "run", answers)
    server.serve(board)
    said = capsys.readouterr()
    assert "tilt: kept in memory alone, so Ctrl-C loses the answers" in said.err
    assert said.err.count("\n") == 1
    first, angle, known, point = said.out.splitlines()
    assert first == "tilt: 1 answer; the best point"
    assert angle.startswith("angle: ")
    assert known.endswith("(80 % sure)")
    assert json.loads(point) == pytest.approx(board.study.recommend())


def test_a_study_on_disk_without_answers_says_nothing(tmp_path, monkeypatch, capsys):
    study = gd.create_study(gd.Sphere(3), storage=f"sqlite:///{tmp_path / 'a.db'}", study_name="s")
    monkeypatch.setattr(server, "run", lambda *_: None)
    server.serve(study, labels=("x", "y", "z"), accuracy=0.1, results=False, question="Which?")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_names_of_others_do_not_steer_the_terminal(monkeypatch, capsys):
    place = gd.space(**{"\x1b[2J": ["a\x1b[31m", "b\x1b[31m"], "y": (0, 1)})
    study = gd.create_study(place, study_name="x\x1b]0;owned\x07y", rng=0)
    study.tell(study.ask(), "a")
    monkeypatch.setattr(server, "run", lambda *_: None)
    server.serve(study)
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\x07" not in said.out + said.err
    assert "owned" in said.out


def test_boards_bring_their_own_options(board):
    with pytest.raises(ArgumentError, match="options such as question come with a study"):
        server.serve(board, question="Which?")
    with pytest.raises(ArgumentError, match="at least one"):
        server.serve([])


def test_a_missing_package_is_named_with_its_extra():
    with (
        pytest.raises(MissingExtraError, match=r"fastapi.*geoduel\[web\]"),
        server.web_extra(),
    ):
        raise ModuleNotFoundError("no module", name="fastapi")
    with pytest.raises(ModuleNotFoundError), server.web_extra():
        raise ModuleNotFoundError("no module", name="geoduel.mistake")


def test_a_study_file(tmp_path):
    file = tmp_path / "tilt.py"
    file.write_text(
        "import geoduel as gd\n"
        "from geoduel.web import Board\n"
        "study = gd.create_study(gd.Rotations(2), rng=0)\n"
        "def render(r): return str(study.name)\n"
        "board, number = Board(study), 3\n"
    )
    study, render = server.load_study_file(f"{file}:study")
    assert render(np.eye(2)) == study.name
    boards, nothing = server.load_study_file(f"{file}:board")
    assert len(boards) == 1
    assert nothing is None
    assert type(server.load_study_file(str(file))[0]) is type(study)  # "study" if left out
    for place in (f"{file}:none", f"{file}:number", "none.py:study", "tilt.txt:study"):
        with pytest.raises(ArgumentError):
            server.load_study_file(place)


# -- behind a proxy --------------------------------------------------------------------------------

URL = "https://duels.example/palette/"
TOKEN = "a token of many characters"
PAGE = {"accept": "text/html"}


@pytest.fixture
def shown(board, live, proxied, calls):
    """The server that `serve` runs, and a proxy in front that speaks HTTPS."""

    def make(**proxy):
        server.serve(board, public_url=URL, token=TOKEN, hosts=("127.0.0.1",))
        front = calls[-1]["front"]
        behind = live(
            calls[-1]["app"], proxy_headers=True, forwarded_allow_ips=",".join(front.trusted)
        )
        return behind, proxied(behind, "/palette", **proxy)

    return make


@pytest.mark.parametrize("proxy", [{}, {"strips": False}, {"host": False}])
def test_behind_a_proxy_at_some_path(shown, proxy):
    import httpx

    _, front = shown(**proxy)
    name = {"host": "duels.example", "origin": "https://duels.example"}
    with httpx.Client(base_url=front.address, timeout=20, headers=name) as client:
        reply = client.get("/", params={"token": TOKEN})
        assert reply.status_code == 303
        assert reply.headers["location"] == "/palette/"
        assert "; Secure" in reply.headers["set-cookie"]
        cookies = {"cookie": reply.headers["set-cookie"].partition(";")[0]}
        home = client.get("/", headers=cookies)
        assert home.headers["location"] == "/palette/owner"
        page = client.get("/owner", headers=cookies).text
        places = re.findall(r'(?:href|src|action|data-copy)="([^"]*)"', page)
        assert len(places) > 8
        # Each is where the proxy shows the server, or within the page.
        assert [p for p in places if not p.startswith(("/palette/", "#"))] == []
        for place in (p for p in places if "/static/" in p or p.endswith("/api")):
            assert client.get(place.removeprefix("/palette"), headers=cookies).status_code == 200
        body = {"rater": "Ann"}
        join = client.post("/api/studies/tilt/join", json=body, headers=cookies).json()
        own = client.get(f"/{join['link']}")
        assert own.headers["location"] == "/palette/s/tilt?rater=Ann"
        ann = {"cookie": own.headers["set-cookie"].partition(";")[0]}
        ask = client.post("/api/studies/tilt/ask", json=body, headers=ann)
        assert ask.json()["state"] == "question"
        evil = ann | {"origin": "https://evil.example"}
        assert client.post("/api/studies/tilt/ask", json=body, headers=evil).status_code == 403
        assert client.get("/none", headers=PAGE).text.count("/palette/static/style.css") == 1


def test_behind_a_proxy_each_client_has_limits_of_its_own(shown):
    import httpx

    behind, front = shown()
    with httpx.Client(timeout=20) as client:

        def guess(n):  # whatever the attacker says of itself, the proxy adds who it is
            headers = {"authorization": f"Bearer guess {n}", "x-forwarded-for": f"192.0.2.{n}"}
            return client.get(f"{front.address}/api/studies", headers=headers).status_code

        codes = [guess(n) for n in range(24)]
        assert (codes[0], codes[-1]) == (401, 429)
        front.client = "192.0.2.2"  # the owner, elsewhere
        assert client.get(f"{front.address}/owner?token={TOKEN}").status_code == 303
        assert client.get(f"{behind.address}/owner?token={TOKEN}").status_code == 303


def test_only_trusted_proxies_are_believed(board, live, proxied):
    import httpx

    from geoduel.web import create_app

    front = proxied(live(create_app(board, token=TOKEN), proxy_headers=False), "/palette")
    reply = httpx.get(f"{front.address}/owner?token={TOKEN}")
    assert "Secure" not in reply.headers["set-cookie"]


def test_the_server_is_started_with_its_limits(board, monkeypatch):
    seen = {}

    class Config:
        def __init__(self, app, **options):
            seen.update(options)

    monkeypatch.setattr("uvicorn.Config", Config)
    monkeypatch.setattr("uvicorn.Server", lambda _: SimpleNamespace(run=lambda **_: None))
    server.serve(board, port=0)
    assert seen["proxy_headers"] is False
    assert "Limited" in seen["http"].__name__
    server.serve(board, port=0, trust_proxy=["10.0.0.7"])
    assert seen["proxy_headers"] is True
    assert seen["forwarded_allow_ips"] == "10.0.0.7"
    server.serve(board, port=0, public_url=URL)
    assert seen["forwarded_allow_ips"] == "127.0.0.1,::1"
