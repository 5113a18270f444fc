"""Who may do what: checks of every request before the application sees it.

Host names against DNS rebinding, origins against forged requests, tokens, sizes, rates; and the
headers that tell browsers to load nothing from elsewhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from .keys import NAMED, OWNER, RATER, Keys, Who

__all__ = ["NAMED", "OWNER", "RATER", "Guard", "Rate", "client_of", "cookie", "is_loopback"]

MAX_BODY = 16_384
_BODY_SECONDS = 10.0
_MOST_COOKIES = 30
_COOKIE_STAYS = 400 * 86_400  # seconds; browsers keep none for longer
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    b"content-security-policy": _POLICY.encode(),
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"cache-control": b"no-store",
}
_PUBLIC = "/static/"


class Rate:
    """Token buckets: ``burst`` at once, ``rate`` a second afterwards, for each key."""

    def __init__(self, rate: float, burst: float, most_keys: int = 10_000) -> None:
        self.rate, self.burst, self.most_keys = rate, burst, most_keys
        self._buckets: OrderedDict[Any, tuple[float, float]] = OrderedDict()

    def allow(self, key: Any, cost: float = 1.0) -> bool:
        """Take ``cost`` from the key's bucket; False if it does not hold 1."""
        now = time.monotonic()
        left, then = self._buckets.pop(key, (self.burst, now))
        left = min(self.burst, left + self.rate * (now - then))
        enough = left >= 1
        self._buckets[key] = (left - cost if enough else left, now)
        if len(self._buckets) > self.most_keys:
            self._buckets.popitem(last=False)
        return enough


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine alone.

    Examples
    --------
    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def client_of(scope: Any) -> str:
    """Return what tells one client from another: the address, or the network of an IPv6 one.

    Examples
    --------
    >>> client_of({"client": ("2001:db8::7:1", 4321)})
    '2001:db8::/64'
    """
    host = (scope.get("client") or ("?",))[0]
    if ":" in host:  # whoever has one such address has 2⁶⁴ of them
        try:
            return str(ipaddress.ip_network(f"{host.partition('%')[0]}/64", strict=False))
        except ValueError:
            pass
    return host


class Guard:
    """ASGI middleware that lets good requests through.

    Parameters
    ----------
    app : ASGI application
        What is guarded. It finds in ``scope["state"]`` the ``role``: "owner", "rater" or "named".
        ``names`` are the pairs of study and rater that the request may speak for. ``root`` and
        ``origin`` are as below; ``head`` says that only the head of the reply is wanted.
    keys : Keys, optional
        The tokens. None: everyone who reaches the server is the owner.
    hosts : iterable of str
        Names the server may be called by, besides ``localhost`` and addresses in numbers, which no
        foreign domain can claim to be.
    root : str
        Path at which a proxy shows the server, such as "/duel".
    origin : str
        Name, and port if it is no usual one, by which browsers call that proxy.
    per_client : Rate
        Limit of requests that change something, for each address.
    holds : callable, optional
        ``await holds(who)`` says whether a rater's link is still good: it may have been taken back.
    """

    def __init__(
        self,
        app: Any,
        keys: Keys | None = None,
        hosts: Iterable[str] = (),
        root: str = "",
        origin: str = "",
        per_client: Rate | None = None,
        holds: Callable[[Who], Awaitable[bool]] | None = None,
    ) -> None:
        self.app, self.keys, self.root, self.origin = app, keys, root, origin
        self.hosts = {host.lower() for host in hosts} | {"localhost"}
        self.changes, self.reads = per_client or Rate(300, 600), Rate(200, 1000)
        self.failures, self.holds = Rate(0.5, 20), holds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Check one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # there are no web sockets
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        scope, client, send = self._inside(scope), client_of(scope), _with_headers(send)
        if scope["state"]["head"]:
            send = _head_alone(send)
        page = "text/html" in headers.get("accept", "")
        people = self._problem(scope, headers, client) or await self._people(scope, headers, client)
        if isinstance(people, tuple):
            await _refuse(send, *people, root=scope["state"]["root"], page=page)
            return
        _admit(scope, people)
        if scope["method"] == "GET" and "token" in _query(scope):
            await self._remember(scope, send, people)  # the token leaves the address bar
            return
        if scope["method"] == "POST":
            body = await _body(receive)
            if not isinstance(body, bytes):
                await _refuse(send, *body, root=scope["state"]["root"], page=page)
                return
            receive = _replayed(body, receive)
        await self.app(scope, receive, send)

    def _inside(self, scope: Any) -> dict[str, Any]:
        """The request as the application sees it: its own addresses, GET for HEAD."""
        root = self.root or scope.get("root_path", "").rstrip("/")
        path = scope["path"]
        if root and (path == root or path.startswith(f"{root}/")):
            path = path[len(root) :] or "/"
        head = scope["method"] == "HEAD"
        state = {**scope.get("state", {}), "root": root, "head": head, "origin": self.origin}
        method = "GET" if head else scope["method"]
        return {**scope, "path": path, "root_path": "", "method": method, "state": state}

    def _problem(self, scope: Any, headers: dict[str, str], client: str) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._knows(host) or [name for name, _ in scope["headers"]].count(b"host") != 1:
            return 421, "this name is not one of the server's; name it with --allow-host"
        if scope["method"] == "GET":
            if not scope["path"].startswith(_PUBLIC) and not self.reads.allow(client):
                return 429, "too many requests; slow down"
            return None
        if scope["method"] != "POST":
            return 405, "only GET, HEAD and POST"
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return 415, "send application/json"
        origin = headers.get("origin", f"http://{host}").partition("://")[2]
        if origin != host and (not origin or origin != self.origin):
            return 403, "a page of another site sent this"
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "a page of another site sent this"
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 10):
            return 400, "the length of the body is no number"
        if int(length) > MAX_BODY:
            return 413, f"at most {MAX_BODY} bytes"
        if not self.changes.allow(client):
            return 429, "too many requests; slow down"
        return None

    def _knows(self, host: str) -> bool:
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        name = name.lower()
        if name in self.hosts:
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    async def _people(
        self, scope: Any, headers: dict[str, str], client: str
    ) -> set[Who] | tuple[int, str]:
        """Whom the request speaks for, by its cookies and tokens, or why it speaks for nobody."""
        if self.keys is None:
            return {Who(OWNER)}
        values = _cookies(headers, _cookie(scope), _by_port(scope))
        people = await self._good(map(self.keys.recall, values))
        given = _tokens(scope, headers)
        if given and not self.failures.allow(client, cost=0):  # before they are looked at
            if not people:
                return 429, "too many wrong tokens; wait a minute"
        elif given:
            found = await self._good(map(self._read, given))
            people |= found
            if not found:
                self.failures.allow(client)
        if not people and not scope["path"].startswith(_PUBLIC):
            return 401, "a token is needed"
        return people

    async def _good(self, people: Iterable[Who | None]) -> set[Who]:
        """Those there are, without raters whose links were taken back."""
        found = {who for who in people if who is not None}
        if self.holds is not None:
            found -= {who for who in found if who.role == NAMED and not await self.holds(who)}
        return found

    def _read(self, token: str) -> Who | None:
        assert self.keys is not None
        return Who(OWNER) if self.keys.redeem(token) else self.keys.read(token)

    async def _remember(self, scope: Any, send: Any, people: set[Who]) -> None:
        """Send the browser to the same address without the token, and with cookies."""
        rest = urlencode([(k, v) for k, v in _query(scope).items() if k != "token"])
        # The path as it came may hold anything once it is decoded, and two slashes are a host.
        place = scope["state"]["root"] + "/" + quote(scope["path"].lstrip("/"))
        headers = [(b"location", f"{place}?{rest}".rstrip("?").encode())]
        if Who(OWNER) in people:  # the owner who opens another link stays the owner
            people = {Who(OWNER)}
        if self.keys is not None:
            held = [cookie(scope, *self.keys.cookie(who)) for who in people]
            headers += [(b"set-cookie", one.encode()) for one in held]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def cookie(scope: Any, ending: str, value: str) -> str:
    """Return a header that makes the browser keep a cookie of `Keys.cookie`.

    A rater's own stays, since nobody else may open the name; others end with the browser.
    """
    place = quote(scope["state"]["root"], safe="/%") or "/"
    stays = f"; Max-Age={_COOKIE_STAYS}" if ending else ""
    safe = "; Secure" if scope.get("scheme") == "https" else ""
    name = f"{_cookie(scope)}{ending}"
    return f"{name}={value}; Path={place}{stays}; HttpOnly; SameSite=Lax{safe}"


def _admit(scope: Any, people: set[Who]) -> None:
    roles = [role for role in (OWNER, RATER) if Who(role) in people]
    scope["state"]["role"] = roles[0] if roles else NAMED
    scope["state"]["names"] = {(who.study, who.rater) for who in people if who.role == NAMED}


def _query(scope: Any) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))


def _tokens(scope: Any, headers: dict[str, str]) -> list[str]:
    """Return the tokens a request brings, in its address and in its header."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    bearer = [value.strip()] if scheme.lower() == "bearer" else []
    return [text for name, text in _query(scope).items() if name == "token"] + bearer


def _cookie(scope: Any) -> str:
    """One name for all servers that a proxy shows at one address, or else for each port."""
    state = scope["state"]
    if not state["origin"]:
        return _by_port(scope)
    address = state["origin"] + state["root"]
    return f"geoduel-{hashlib.sha256(address.encode()).hexdigest()[:8]}"


def _by_port(scope: Any) -> str:
    """Browsers give all servers of a machine the same cookies."""
    return f"geoduel-{(scope.get('server') or ('', 0))[1] or 0}"


def _cookies(headers: dict[str, str], *names: str) -> list[str]:
    """Return what the cookies of this server hold, those of the first name first."""
    pairs = [part.strip().partition("=") for part in headers.get("cookie", "").split(";")]
    found = [
        value
        for name in dict.fromkeys(names)
        for key, _, value in pairs
        if key == name or key.startswith(f"{name}-")
    ]
    return found[:_MOST_COOKIES]


async def _body(receive: Any) -> bytes | tuple[int, str]:
    """Read the whole body, or return why it is refused, whatever its length was said to be."""
    body = b""
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while True:
                message = await receive()
                body += message.get("body", b"")
                if len(body) > MAX_BODY:
                    return 413, f"at most {MAX_BODY} bytes"
                if not message.get("more_body"):  # the end, or the client is gone
                    return body
    except TimeoutError:
        return 408, f"the body took more than {_BODY_SECONDS:.0f} seconds"


def _replayed(body: bytes, receive: Any) -> Any:
    """Give the application the body that was read."""
    first = True

    async def read() -> Any:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return read


def _with_headers(send: Any) -> Any:
    async def sender(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name, value) for name, value in _HEADERS.items() if name not in own]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return sender


def _head_alone(send: Any) -> Any:
    async def sender(message: Any) -> None:
        await send({**message, "body": b""} if "body" in message else message)

    return sender


async def _refuse(send: Any, status: int, why: str, *, root: str, page: bool) -> None:
    if page and status == 401:
        from .pages import token_page

        body, kind = token_page(root).encode(), b"text/html; charset=utf-8"
    else:
        body, kind = json.dumps({"error": why}).encode(), b"application/json"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))  # who is refused holds no connection
    more = {401: (b"www-authenticate", b"Bearer"), 405: (b"allow", b"GET, HEAD, POST")}
    more |= dict.fromkeys((408, 429), (b"retry-after", b"2"))
    headers += [more[status]] if status in more else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
