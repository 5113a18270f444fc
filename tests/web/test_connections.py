"""Connections that wait make room for those that ask."""

from __future__ import annotations

import contextlib
import http.client
import importlib
import socket
import time

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra web)")

from geoduel.web import create_app
from geoduel.web.connections import HEAD_BYTES, limited

REQUEST = b"GET /api/studies/tilt HTTP/1.1\r\nHost: localhost\r\n\r\n"
KINDS = {
    "h11": "uvicorn.protocols.http.h11_impl:H11Protocol",
    "httptools": "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol",
}


@pytest.fixture(params=list(KINDS))
def serve(request, board, live):
    """Start the server with some limits, on each of the protocols that are there."""
    pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    module, _, name = KINDS[request.param].partition(":")
    base = getattr(importlib.import_module(module), name)
    return lambda **limits: live(create_app(board), http=limited(base, **limits))


@pytest.fixture
def connect():
    with contextlib.ExitStack() as stack:
        yield lambda server, address="127.0.0.1": stack.enter_context(
            socket.create_connection(
                ("127.0.0.1", server.port), timeout=5, source_address=(address, 0)
            )
        )


def status(connection, request=REQUEST):
    """Send a request; return the status of the reply, 0 if the connection was closed."""
    reply = http.client.HTTPResponse(connection)
    try:
        connection.sendall(request)
        reply.begin()
        reply.read()
    except (ConnectionError, http.client.HTTPException):
        return 0
    return reply.status


def is_open(connection):
    """Whether the other side has not closed it."""
    connection.settimeout(0.05)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False
    finally:
        connection.settimeout(5)


def test_silent_connections_keep_nobody_out(serve, connect):
    server = serve(most=20, most_each=10)
    crowd = [connect(server) for _ in range(30)]
    assert status(connect(server)) == 200
    assert sum(map(is_open, crowd)) <= 10
    assert is_open(crowd[-1])  # the oldest went first


def test_one_client_does_not_crowd_out_others(serve, connect):
    server = serve(most=100, most_each=10)
    other = connect(server, "127.0.0.2")
    for _ in range(30):
        connect(server)
    assert is_open(other)
    assert status(other) == 200


def test_connections_in_all_are_limited(serve, connect):
    server = serve(most=10, most_each=10)
    crowd = [connect(server, f"127.0.0.{n}") for n in range(2, 32)]
    assert status(connect(server)) == 200
    assert sum(map(is_open, crowd)) <= 10


def test_one_that_asks_is_kept(serve, connect):
    server = serve(most=10, most_each=5)
    busy = connect(server)
    assert status(busy) == 200
    for _ in range(4):
        connect(server)
        time.sleep(0.01)
        assert status(busy) == 200  # it asked later than the others came
    for _ in range(3):
        connect(server)
        assert status(busy) == 200


def test_proxies_may_bring_any_number(serve, connect):
    server = serve(most=100, most_each=5, trusted=("127.0.0.1",))
    crowd = [connect(server) for _ in range(20)]
    time.sleep(0.1)
    assert all(map(is_open, crowd))
    assert [status(one) for one in crowd] == [200] * 20


def test_the_head_of_a_request_has_its_time(serve, connect):
    server = serve(head_seconds=0.3)
    silent, slow, quick = connect(server), connect(server), connect(server)
    assert status(quick) == 200
    for byte in REQUEST[:6]:
        with contextlib.suppress(ConnectionError):
            slow.sendall(bytes([byte]))
        time.sleep(0.08)
    assert not is_open(silent)
    assert not is_open(slow)
    assert status(quick) == 200  # one may rest between requests
    quick.sendall(REQUEST[:5])  # but not within one
    time.sleep(0.5)
    assert not is_open(quick)


def test_the_head_of_a_request_has_its_size(serve, connect):
    server = serve()
    large = connect(server)
    with contextlib.suppress(ConnectionError):
        large.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        for _ in range(HEAD_BYTES // 1000 + 60):
            large.sendall(b"x" * 1000)
    reply = b""
    with contextlib.suppress(ConnectionError):
        reply = large.recv(1000)
    assert reply == b"" or reply.split()[1] == b"400"
    assert status(connect(server)) == 200
