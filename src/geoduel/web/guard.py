"""Who may do what: checks of every request before the application sees it.

Host names against DNS rebinding, origins against forged requests, tokens, sizes, rates; and the
headers that tell browsers to load nothing from elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import time
from collections import OrderedDict
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

__all__ = ["OWNER", "RATER", "Guard", "Rate", "is_loopback", "rater_token"]

OWNER, RATER = "owner", "rater"
MAX_BODY = 16_384
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


def rater_token(token: str) -> str:
    """Return the token in raters' links; the owner's cannot be found from it.

    Examples
    --------
    >>> len(rater_token("secret"))
    32
    """
    return hmac.new(token.encode(), b"geoduel rater", hashlib.sha256).hexdigest()[:32]


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


class Guard:
    """ASGI middleware that lets good requests through.

    Parameters
    ----------
    app : ASGI application
        What is guarded. It finds "owner" or "rater" in ``scope["state"]["role"]``.
    token : str, optional
        The owner's token. None: everyone who reaches the server is the owner.
    hosts : iterable of str
        Names the server may be called by, besides ``localhost`` and addresses in numbers, which no
        foreign domain can claim to be.
    per_client : Rate
        Limit of requests that change something, for each address.
    """

    def __init__(
        self,
        app: Any,
        token: str | None = None,
        hosts: Iterable[str] = (),
        per_client: Rate | None = None,
    ) -> None:
        self.app = app
        self.hosts = {host.lower() for host in hosts} | {"localhost"}
        self.tokens = {} if token is None else {OWNER: token, RATER: rater_token(token)}
        self.cookies = {role: _stretch(token) for role, token in self.tokens.items()}
        self.changes = per_client or Rate(300, 600)
        self.failures = Rate(0.5, 20)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Check one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # there are no web sockets
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        client = (scope.get("client") or ("?",))[0]
        send = _with_headers(send)
        problem = self._problem(scope, headers, client)
        if problem:
            await _refuse(send, *problem)
            return
        role = self._remembered(scope, headers)
        given = _tokens(scope, headers)
        if self.tokens and given and (role is None or "token" in _query(scope)):
            if not self.failures.allow(client, cost=0):  # before it is looked at
                await _refuse(send, 429, "too many wrong tokens; wait a minute")
                return
            role = role if role == OWNER else _role(given, self.tokens) or role
            if role is None:
                self.failures.allow(client)
        if role is None and scope["path"].startswith(_PUBLIC):
            role = RATER
        if role is None:
            await _refuse(send, 401, "a token is needed", html=_wants_page(headers))
            return
        if scope["method"] == "GET" and "token" in _query(scope):
            await self._remember(scope, send, role)  # the token leaves the address bar
            return
        scope.setdefault("state", {})["role"] = role
        await self.app(scope, _limited(receive), send)

    def _problem(self, scope: Any, headers: dict[str, str], client: str) -> tuple[Any, ...] | None:
        host = headers.get("host", "")
        if not self._knows(host):
            return 421, "this name is not one of the server's; name it with --allow-host"
        if scope["method"] not in ("GET", "HEAD"):
            if scope["method"] != "POST":
                return 405, "only GET and POST"
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, "send application/json"
            origin = headers.get("origin")
            if origin is not None and origin.partition("://")[2] != host:
                return 403, "a page of another site sent this"
            if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return 403, "a page of another site sent this"
            length = headers.get("content-length", "0")
            if not length.isdigit() or int(length) > MAX_BODY:
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

    def _remembered(self, scope: Any, headers: dict[str, str]) -> str | None:
        """Return the role that a cookie gives, or everyone has."""
        if not self.tokens:
            return OWNER
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(_cookie(scope))
        except CookieError:
            return None
        return _role([cookie.value] if cookie else [], self.cookies)

    async def _remember(self, scope: Any, send: Any, role: str) -> None:
        rest = urlencode([(k, v) for k, v in _query(scope).items() if k != "token"])
        place = "/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else "")
        headers = [(b"location", place.encode("ascii", "ignore"))]
        if self.tokens:
            safe = "; Secure" if scope.get("scheme") == "https" else ""
            cookie = f"{_cookie(scope)}={self.cookies[role]}"
            headers.append(
                (b"set-cookie", f"{cookie}; Path=/; HttpOnly; SameSite=Lax{safe}".encode())
            )
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def _stretch(token: str) -> str:
    """What a cookie holds in the token's place; slow to make, so that it is no way to guess."""
    return hashlib.pbkdf2_hmac("sha256", token.encode(), b"geoduel cookie", 100_000).hex()


def _role(given: list[str], secrets: dict[str, str]) -> str | None:
    """Return the best role that the given words open; all are compared, whichever fits."""
    fits = [role for role, secret in secrets.items() for text in given if _same(text, secret)]
    return OWNER if OWNER in fits else fits[0] if fits else None


def _query(scope: Any) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))


def _tokens(scope: Any, headers: dict[str, str]) -> list[str]:
    """Return the tokens a request brings, in its address and in its header."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    bearer = [value.strip()] if scheme.lower() == "bearer" else []
    return [text for name, text in _query(scope).items() if name == "token"] + bearer


def _same(given: str, token: str) -> bool:
    """Compare in constant time, whatever was given."""
    return hmac.compare_digest(given.encode(), token.encode())


def _cookie(scope: Any) -> str:
    """One cookie a port: browsers give all servers of a machine the same ones."""
    return f"geoduel-{(scope.get('server') or ('', 0))[1] or 0}"


def _wants_page(headers: dict[str, str]) -> bool:
    return "text/html" in headers.get("accept", "")


def _limited(receive: Any) -> Any:
    """Read no more of a body than the limit, whatever its length was said to be."""
    total = 0

    async def read() -> Any:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MAX_BODY:
            return {"type": "http.disconnect"}
        return message

    return read


def _with_headers(send: Any) -> Any:
    async def sender(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name, value) for name, value in _HEADERS.items() if name not in own]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return sender


async def _refuse(send: Any, status: int, why: str, html: bool = False) -> None:
    if html:
        from .pages import token_page

        body, kind = token_page().encode(), b"text/html; charset=utf-8"
    else:
        body, kind = json.dumps({"error": why}).encode(), b"application/json"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if status == 429:
        headers.append((b"retry-after", b"2"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
