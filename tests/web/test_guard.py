"""Each check of a request at its limit, the guard alone, on a clock that stands still."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

import pytest

from geoduel.web.guard import Guard, Rate, client_of, cookie, is_loopback
from geoduel.web.keys import NAMED, OWNER, Keys, Who

KEYS = Keys("a token of many characters")
LIMIT = 16_384  # bytes of a body
PAGE = {"accept": "text/html"}
COOKIE = "geoduel-8642"
ANN, BOB = Who(NAMED, "tilt", "Ann"), Who(NAMED, "tilt", "Bob", 3)


class Reply(NamedTuple):
    """What came back, and what the application was asked, if it was."""

    status: int
    headers: dict[str, str]
    cookies: list[str]
    body: bytes
    scope: Any
    received: list[Any]


class Application:
    """An ASGI application that keeps what it is asked."""

    scope: Any = None

    def __init__(self, *headers: tuple[bytes, bytes]) -> None:
        self.headers, self.received = headers, []

    async def __call__(self, scope, receive, send):
        self.scope = scope
        if scope["type"] == "http":
            self.received = [await receive(), await receive()]
            await send({"type": "http.response.start", "status": 200, "headers": self.headers})
            await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The time on every clock, as a list of one number."""
    now = [100.0]
    monkeypatch.setattr("geoduel.web.guard.time.monotonic", lambda: now[0])
    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda _: now[0])
    return now


async def asked(
    guard,
    method="GET",
    path="/",
    query="",
    headers=None,
    raw=None,
    pieces=(b"",),
    tick=lambda: None,
    **scope,
):
    """Send a request to the guard; ``tick`` is called before each piece of the body."""
    usual = {"host": "localhost:8642"}
    if method == "POST":
        usual["content-type"] = "application/json"
    if raw is None:
        pairs = usual | (headers or {})
        raw = [(name.encode(), value.encode("latin-1")) for name, value in pairs.items()]
    app, left, sent = guard.app, list(pieces), []
    app.scope, app.received = None, []
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": raw,
        "client": ("192.0.2.1", 5),
        "server": ("127.0.0.1", 8642),
        **scope,
    }

    async def receive():
        tick()
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # the clock of a body that is too slow rings here
        if not left:
            return {"type": "http.disconnect"}
        piece = left.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    await guard(scope, receive, send)
    start, body = sent
    assert (start["type"], body["type"]) == ("http.response.start", "http.response.body")
    replied = [(name.decode(), value.decode()) for name, value in start["headers"]]
    cookies = [value for name, value in replied if name == "set-cookie"]
    return Reply(start["status"], dict(replied), cookies, body["body"], app.scope, app.received)


def request(guard, *args, **more):
    """Reply to one request."""
    return asyncio.run(asked(guard, *args, **more))


def statuses(guard, n, *args, **more):
    """Statuses of so many requests, one after the other."""

    async def ask():
        return [(await asked(guard, *args, **more)).status for _ in range(n)]

    return asyncio.run(ask())


def guarded(*, headers=(), **options):
    return Guard(Application(*headers), **options)


def bearer(token):
    return {"authorization": f"Bearer {token}"}


# -- buckets ---------------------------------------------------------------------------------------


def test_a_bucket_holds_its_size_and_fills_at_its_rate(clock):
    rate = Rate(2.0, 3.0)
    assert [rate.allow("a") for _ in range(4)] == [True, True, True, False]
    clock[0] += 0.25
    assert not rate.allow("a")  # half of what is needed; asking in vain costs nothing
    clock[0] += 0.25
    assert [rate.allow("a"), rate.allow("a")] == [True, False]
    clock[0] += 60.0
    assert [rate.allow("a") for _ in range(4)] == [True, True, True, False]  # no more than it holds
    assert rate.allow("b")


def test_a_look_into_a_bucket_costs_nothing():
    rate = Rate(1.0, 2.0)
    assert all(rate.allow("a", cost=0) for _ in range(9))
    assert rate.allow("a", cost=1.5)
    assert not rate.allow("a", cost=0)  # a half is left


def test_the_bucket_unused_for_longest_is_forgotten():
    rate = Rate(1.0, 1.0, most_keys=2)
    assert rate.allow("a")
    assert rate.allow("b")
    assert not rate.allow("a")  # both are kept
    assert rate.allow("c")
    assert not rate.allow("a")
    assert rate.allow("b")  # was forgotten, and is full again


def test_ten_thousand_clients_are_remembered():
    rate = Rate(1.0, 1.0)
    assert all(rate.allow(client) for client in range(10_000))
    assert not rate.allow(0)
    assert rate.allow(10_000)
    assert rate.allow(1)


def test_reading_is_limited_and_files_of_the_page_are_not(clock):
    guard = guarded()
    assert statuses(guard, 1001) == [200] * 1000 + [429]
    reply = request(guard)
    assert reply.headers["retry-after"] == "2"
    assert json.loads(reply.body) == {"error": "too many requests; slow down"}
    assert reply.scope is None
    assert request(guard, path="/static/duel.js").status == 200
    assert request(guard, client=("192.0.2.2", 5)).status == 200
    assert request(guard, "POST").status == 200  # a bucket of its own
    clock[0] += 1.0
    assert statuses(guard, 201) == [200] * 200 + [429]


def test_changes_are_limited(clock):
    guard = guarded()
    assert statuses(guard, 601, "POST") == [200] * 600 + [429]
    assert request(guard, "POST").headers["retry-after"] == "2"
    clock[0] += 1.0
    assert statuses(guard, 301, "POST") == [200] * 300 + [429]
    assert statuses(guarded(per_client=Rate(1.0, 2.0)), 3, "POST") == [200, 200, 429]


def test_twenty_wrong_tokens_shut_a_client_out_for_two_seconds_each(clock):
    guard = guarded(keys=KEYS)
    wrong, right = bearer("wrong"), bearer(KEYS.owner)
    assert statuses(guard, 30, headers=right) == [200] * 30  # right ones cost nothing
    assert statuses(guard, 21, headers=wrong) == [401] * 20 + [429]
    reply = request(guard, headers=right)
    assert reply.status == 429  # it is not even looked at
    assert json.loads(reply.body) == {"error": "too many wrong tokens; wait a minute"}
    assert request(guard).status == 401  # who brings none is told to
    assert request(guard, headers=right, client=("192.0.2.2", 5)).status == 200
    inside = {"cookie": f"{COOKIE}={KEYS.cookie(Who(OWNER))[1]}"}
    assert request(guard, headers=inside | wrong).status == 200  # who is in stays in
    clock[0] += 1.9
    assert request(guard, headers=right).status == 429
    clock[0] += 0.1
    assert statuses(guard, 2, headers=wrong) == [401, 429]


# -- who is asking ---------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]"])
def test_this_machine_alone(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "localhost.evil.example", ""])
def test_beyond_this_machine(host):
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"),
        ("2001:db8:0:1::9", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a:b", "a:b"),
    ],
)
def test_a_network_is_one_client(address, client):
    assert client_of({"client": (address, 1)}) == client
    assert client_of({}) == client_of({"client": None}) == "?"


# -- names, origins, methods -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:1",
        "127.0.0.1",
        "10.0.0.1:80",
        "[::1]",
        "[2001:db8::1]:8642",
        "Duel.x",
    ],
)
def test_numbers_and_names_that_were_given_are_known(host):
    assert request(guarded(hosts=["duel.X"]), headers={"host": host}).status == 200


@pytest.mark.parametrize("host", ["", ":8642", "evil.example", "localhost.evil.example:80", "[x]"])
def test_other_names_are_not(host):
    reply = request(guarded(hosts=["duel.x"]), headers={"host": host})
    assert reply.status == 421
    assert reply.scope is None
    assert "--allow-host" in json.loads(reply.body)["error"]


def test_there_is_one_name():
    for n, status in enumerate((421, 200, 421, 421)):
        names = [(b"host", b"localhost")] * n
        assert request(guarded(), raw=names).status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://localhost:8642"}, 200),
        ({"origin": "https://localhost:8642"}, 200),
        ({"origin": "https://duel.x"}, 200),
        ({"origin": "https://duel.x:80"}, 403),
        ({"origin": "http://localhost"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_only_pages_of_this_server_change_something(headers, status):
    guard = guarded(origin="duel.x")
    assert request(guard, "POST", headers=headers).status == status
    assert (guard.app.scope is not None) is (status == 200)
    assert request(guard, headers=headers).status == 200  # reading does no harm


def test_without_a_proxy_no_page_without_an_origin_changes_anything():
    assert request(guarded(), "POST", headers={"origin": "null"}).status == 403


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON ; charset=utf-8", 200),
        ("text/plain", 415),
        ("text/plain; application/json", 415),
        ("", 415),
    ],
)
def test_only_json_changes_something(kind, status):
    assert request(guarded(), "POST", headers={"content-type": kind}).status == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "get"])
def test_other_methods_are_refused(method):
    reply = request(guarded(), method)
    assert reply.status == 405
    assert reply.headers["allow"] == "GET, HEAD, POST"
    assert reply.scope is None


def test_only_the_head_is_sent_where_it_is_all_that_is_wanted():
    reply = request(guarded(), "HEAD")
    assert (reply.status, reply.body) == (200, b"")
    assert reply.scope["method"] == "GET"
    assert reply.scope["state"]["head"] is True
    refused = request(guarded(keys=KEYS), "HEAD")
    assert (refused.status, refused.body) == (401, b"")
    assert int(refused.headers["content-length"]) > 0
    entered = request(guarded(keys=KEYS), "HEAD", query=f"token={KEYS.owner}")
    assert (entered.status, entered.headers["location"]) == (303, "/")
    whole = request(guarded())
    assert whole.body == b"hello"
    assert whole.scope["state"]["head"] is False


def test_there_are_no_web_sockets_and_the_end_is_passed_on():
    guard = guarded()
    asyncio.run(guard({"type": "websocket"}, None, None))
    assert guard.app.scope is None
    asyncio.run(guard({"type": "lifespan"}, None, None))
    assert guard.app.scope == {"type": "lifespan"}


# -- bodies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "status"),
    [
        ("0", 200),
        (str(LIMIT), 200),
        (str(LIMIT + 1), 413),
        ("000016384", 200),
        ("0000016384", 400),
        ("-1", 400),
        ("1e3", 400),
        ("\xb2", 400),  # a digit to Python
        ("", 400),
    ],
)
def test_the_length_that_is_declared(length, status):
    reply = request(guarded(), "POST", headers={"content-length": length})
    assert reply.status == status
    assert status != 413 or json.loads(reply.body) == {"error": "at most 16384 bytes"}


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("count", [1, 3])
def test_the_length_that_comes(count, more):
    """Whatever was declared."""
    whole = b"x" * LIMIT + b"y" * more
    pieces = [whole[:-count], *(whole[n : n + 1] for n in range(LIMIT + more - count, len(whole)))]
    reply = request(guarded(), "POST", headers={"content-length": "3"}, pieces=pieces)
    if more:
        assert reply.status == 413
        assert json.loads(reply.body) == {"error": "at most 16384 bytes"}
        assert reply.headers["connection"] == "close"
        assert reply.scope is None
    else:
        assert reply.status == 200
        assert reply.received == [
            {"type": "http.request", "body": whole, "more_body": False},
            {"type": "http.disconnect"},
        ]


def test_a_client_that_leaves_sends_no_more():
    reply = request(guarded(), "POST", pieces=())
    assert reply.received[0]["body"] == b""


@pytest.mark.parametrize(("seconds", "status"), [(4.9, 200), (5.0, 408)])
def test_a_body_has_ten_seconds(clock, seconds, status):
    def wait():
        clock[0] += seconds

    reply = request(guarded(), "POST", headers=PAGE, pieces=(b"{", b"}"), tick=wait)
    assert reply.status == status
    if status == 408:
        assert json.loads(reply.body) == {"error": "the body took more than 10 seconds"}
        assert reply.headers["retry-after"] == "2"
        assert reply.scope is None


def test_nobody_waits_for_the_body_of_a_request_that_reads():
    reply = request(guarded(), pieces=(b"a", b"b"))
    assert [message["body"] for message in reply.received] == [b"a", b"b"]


# -- replies ---------------------------------------------------------------------------------------


def test_headers_are_added_to_what_the_application_says():
    reply = request(guarded(headers=((b"Cache-Control", b"max-age=60"), (b"x-own", b"1"))))
    assert reply.headers["Cache-Control"] == "max-age=60"
    assert "cache-control" not in reply.headers
    assert reply.headers["x-own"] == "1"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert request(guarded()).headers["cache-control"] == "no-store"


def test_who_is_refused_is_told_why():
    guard = guarded(keys=KEYS)
    reply = request(guard, root_path="/duel")
    assert reply.status == 401
    assert json.loads(reply.body) == {"error": "a token is needed"}
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["www-authenticate"] == "Bearer"
    assert int(reply.headers["content-length"]) == len(reply.body)
    assert "retry-after" not in reply.headers
    page = request(guard, headers=PAGE, root_path="/duel")
    assert page.status == 401
    assert page.headers["content-type"].startswith("text/html")
    assert b"private" in page.body
    assert b"/duel/static" in page.body
    other = request(guard, headers=PAGE | {"host": "evil.example"})  # no page for strangers
    assert (other.status, other.headers["content-type"]) == (421, "application/json")
    assert "www-authenticate" not in other.headers


@pytest.mark.parametrize(
    ("root", "root_path", "path", "seen", "base"),
    [
        ("", "", "/owner", "/owner", ""),
        ("/duel", "", "/duel/owner", "/owner", "/duel"),
        ("/duel", "", "/duel", "/", "/duel"),
        ("/duel", "", "/dueling", "/dueling", "/duel"),
        ("/duel", "", "/owner", "/owner", "/duel"),  # the proxy has cut it off
        ("", "/duel/", "/duel/owner", "/owner", "/duel"),
        ("/a", "/b", "/a/x", "/x", "/a"),
    ],
)
def test_the_application_sees_its_own_paths(root, root_path, path, seen, base):
    scope = request(guarded(root=root), path=path, root_path=root_path, state={"x": 1}).scope
    assert (scope["path"], scope["root_path"]) == (seen, "")
    assert scope["state"]["root"] == base
    assert scope["state"]["x"] == 1


# -- tokens and cookies ----------------------------------------------------------------------------


def admitted(guard, **more):
    state = request(guard, **more).scope["state"]
    return state["role"], state["names"]


def held(who, name=COOKIE):
    """The cookie of somebody, as a browser sends it."""
    ending, value = KEYS.cookie(who)
    return f"{name}{ending}={value}"


def test_without_keys_everyone_is_the_owner():
    assert admitted(guarded()) == ("owner", set())
    reply = request(guarded(), query="token=x&b=1&c=")
    assert (reply.status, reply.headers["location"]) == (303, "/?b=1&c=")
    assert reply.cookies == []


def test_whom_a_request_speaks_for():
    guard = guarded(keys=KEYS)
    ann, bob = KEYS.personal("tilt", "Ann"), KEYS.personal("tilt", "Bob", 3)
    assert admitted(guard, headers=bearer(KEYS.owner)) == ("owner", set())
    assert admitted(guard, headers=bearer(f" {KEYS.rater} ")) == ("rater", set())
    assert admitted(guard, headers=bearer(ann)) == ("named", {("tilt", "Ann")})
    assert admitted(guard, headers={"authorization": f"bearer {bob}"})[1] == {("tilt", "Bob")}
    assert request(guard, headers={"authorization": f"Basic {bob}"}).status == 401
    both = {"cookie": f"a=b; {held(ANN)} ;{held(BOB)}; c"}
    assert admitted(guard, headers=both) == ("named", {("tilt", "Ann"), ("tilt", "Bob")})
    assert admitted(guard, headers=both | bearer(KEYS.rater))[0] == "rater"
    assert admitted(guard, headers=both | bearer(KEYS.owner))[0] == "owner"
    assert admitted(guard, headers=both | bearer("wrong"))[0] == "named"
    other = {"cookie": held(ANN, "geoduel-8643")}  # of another server of this machine
    assert request(guard, headers=other).status == 401
    assert request(guard, "POST", query=f"token={ann}").scope["state"]["role"] == "named"


def test_files_of_the_page_are_for_all():
    guard = guarded(keys=KEYS)
    assert admitted(guard, path="/static/duel.js") == ("named", set())
    assert request(guard, path="/staticky").status == 401
    statuses(guard, 20, headers=bearer("wrong"))
    shut = request(guard, path="/static/duel.js", headers=bearer("wrong"))
    assert shut.status == 429


@pytest.mark.parametrize(("others", "status"), [(29, 200), (30, 401)])
def test_thirty_cookies_are_looked_at(others, status):
    cookies = [f"{COOKIE}-{n}=x" for n in range(others)]
    cookies.append(held(ANN))
    reply = request(guarded(keys=KEYS), headers={"cookie": "; ".join(cookies)})
    assert reply.status == status


def test_links_that_were_taken_back_open_nothing():
    asked = []

    async def holds(who):
        asked.append(who)
        return who.rater != "Bob"

    guard = guarded(keys=KEYS, holds=holds)
    both = {"cookie": f"{held(ANN)}; {held(BOB)}"}
    assert admitted(guard, headers=both) == ("named", {("tilt", "Ann")})
    assert set(asked) == {ANN, BOB}
    bob = KEYS.personal("tilt", "Bob", 3)
    assert request(guard, headers=bearer(bob)).status == 401
    assert admitted(guard, headers=bearer(KEYS.owner))[0] == "owner"
    assert admitted(guard, headers=bearer(KEYS.rater))[0] == "rater"
    assert set(asked) == {ANN, BOB}  # only links of one rater can be taken back


def test_a_ticket_lets_the_owner_in_once():
    guard, ticket = guarded(keys=KEYS), KEYS.ticket()
    first = request(guard, query=f"token={ticket}")
    assert first.cookies[0].startswith(f"{held(Who(OWNER))};")
    assert request(guard, query=f"token={ticket}").status == 401


def test_a_token_leaves_the_address_for_cookies():
    guard = guarded(keys=KEYS)
    ann = KEYS.personal("tilt", "Ann")
    reply = request(guard, path="/s/tilt", query=f"rater=Ann&token={ann}&empty=")
    assert reply.status == 303
    assert reply.scope is None
    assert reply.body == b""
    assert reply.headers["location"] == "/s/tilt?rater=Ann&empty="
    assert reply.cookies == [f"{held(ANN)}; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax"]
    again = request(guard, query=f"token={ann}", headers={"cookie": held(BOB)})
    assert {one.split(";")[0] for one in again.cookies} == {held(ANN), held(BOB)}
    owner = request(guard, query=f"token={ann}", headers={"cookie": held(Who(OWNER))})
    assert owner.cookies == [f"{held(Who(OWNER))}; Path=/; HttpOnly; SameSite=Lax"]  # and stays it
    under = request(guard, path="/owner", query=f"token={ann}", root_path="/duel")
    assert under.headers["location"] == "/duel/owner"
    assert request(guard, query="token=").status == 401


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("//evil.example", "/evil.example"),
        ("/\\evil.example", "/%5Cevil.example"),
        ("/x\r\nset-cookie: a=b", "/x%0D%0Aset-cookie%3A%20a%3Db"),
        ("/é", "/%C3%A9"),
    ],
)
def test_the_redirect_names_no_other_place(path, place):
    reply = request(guarded(keys=KEYS), path=path, query=f"token={KEYS.owner}")
    assert reply.headers["location"] == place


@pytest.mark.parametrize(
    ("scope", "start", "end"),
    [
        ({"scheme": "http", "server": ("127.0.0.1", 8642)}, "geoduel-8642-x=y;", "SameSite=Lax"),
        ({"scheme": "https", "server": ("127.0.0.1", 443)}, "geoduel-443-x=y;", "; Secure"),
        ({"server": ("/run/duel.sock", None)}, "geoduel-0-x=y;", "SameSite=Lax"),
        ({"server": None}, "geoduel-0-x=y;", "SameSite=Lax"),
        ({}, "geoduel-0-x=y;", "SameSite=Lax"),
    ],
)
def test_a_cookie_is_named_by_port_and_secure_behind_https(scope, start, end):
    made = cookie(scope | {"state": {"root": "", "origin": ""}}, "-x", "y")
    assert made.startswith(start)
    assert made.endswith(end)
    assert "; HttpOnly; " in made


def shown_at(root, port, origin="duels.example"):
    """A server that a proxy shows, and what a request to it is."""
    guard = guarded(keys=KEYS, hosts=["duels.example"], root=root, origin=origin)
    return guard, {"headers": {"host": origin}, "server": ("127.0.0.1", port)}


def test_a_cookie_is_good_at_all_servers_behind_one_address_and_goes_nowhere_else():
    """Whatever ports they listen at; what is at other paths of that host is not theirs."""
    guard, there = shown_at("/palette", 8001)
    reply = request(guard, path="/palette/", query=f"token={KEYS.personal('tilt', 'Ann')}", **there)
    assert reply.headers["location"] == "/palette/"
    kept, *attributes = reply.cookies[0].split("; ")
    assert "Path=/palette" in attributes

    def status(root, port, origin="duels.example", kept=kept):
        guard, there = shown_at(root, port, origin)
        there["headers"]["cookie"] = kept
        return request(guard, path=f"{root}/", **there).status

    assert [status("/palette", port) for port in (8001, 8002)] == [200, 200]
    assert status("/tilt", 8001) == status("", 8001) == 401  # where another may be shown
    assert status("/palette", 8001, "duels.example:81") == 401
    assert status("/palette", 8001, kept=held(ANN, "geoduel-8001")) == 200  # of earlier versions
    assert status("/palette", 8002, kept=held(ANN, "geoduel-8001")) == 401


@pytest.mark.parametrize(
    ("root", "place"), [("/a;b", "/a%3Bb"), ("/ä", "/%C3%A4"), ("/%41", "/%41")]
)
def test_the_path_of_a_cookie_is_as_browsers_write_it(root, place):
    made = cookie({"state": {"root": root, "origin": ""}}, "", "y")
    assert f"; Path={place};" in made
