"""Studies to serve, a client without a network, and a server with one."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed (extra web)")
pytest.importorskip("httpx", reason="httpx is not installed")

import uvicorn

with warnings.catch_warnings():  # httpx or its successor, whichever is there
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

import geoduel as gd
from geoduel.web import Board, create_app


@pytest.fixture
def board() -> Board:
    """A study for one person: its points are shown as their angle in words."""
    study = gd.create_study(gd.Rotations(2), x0=np.eye(2), study_name="tilt", rng=0)
    return Board(study, lambda r: f"{np.degrees(gd.Rotations(2).to_angle(r)):.3f}")


@pytest.fixture
def make_client() -> Callable[..., TestClient]:
    """Make a client of some boards; other arguments are those of `create_app`."""

    def make(boards: Any, **options: Any) -> TestClient:
        app = create_app(boards, **options)
        return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)

    return make


@pytest.fixture
def client(board: Board, make_client: Callable[..., TestClient]) -> TestClient:
    """A client of the study for one person, who is its owner."""
    return make_client(board)


class Live:
    """The application on a real port, in a thread."""

    def __init__(self, app: Any, port: int = 0, **options: Any) -> None:
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        options = {"log_level": "warning", "timeout_graceful_shutdown": 1} | options
        config = uvicorn.Config(app, lifespan="off", ws="none", **options)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.listener],), daemon=True)

    def __enter__(self) -> Live:
        self.listener.listen(128)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.005)
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.listener.close()


class Proxy:
    """A reverse proxy as nginx or Caddy are: it shows a server at some path.

    Parameters
    ----------
    server : Live
        What it shows.
    path : str
        Where.
    strips : bool
        Whether the server is asked without the path.
    host : bool
        Whether the server is told the name that the proxy is called by.
    """

    def __init__(self, server: Live, path: str, strips: bool = True, host: bool = True) -> None:
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_GET(self) -> None:
                place = self.path
                if not place.startswith(f"{path}/"):
                    self.send_error(404)
                    return
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                dropped = ("connection",) if host else ("connection", "host")
                headers = {k: v for k, v in self.headers.items() if k.lower() not in dropped}
                said = headers.get("X-Forwarded-For")
                # The client's own address is the last: what clients say comes before.
                headers["X-Forwarded-For"] = f"{said}, {proxy.client}" if said else proxy.client
                headers["X-Forwarded-Proto"] = "https"
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
                with contextlib.closing(connection) as c:
                    c.request(self.command, place[len(path) :] if strips else place, body, headers)
                    reply = c.getresponse()
                    self.send_response_only(reply.status)
                    for name, value in reply.getheaders():
                        if name.lower() not in ("connection", "transfer-encoding"):
                            self.send_header(name, value)
                    self.end_headers()
                    with contextlib.suppress(OSError):
                        while piece := reply.read1(65536):
                            self.wfile.write(piece)
                            self.wfile.flush()

            do_HEAD = do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self.client = "192.0.2.1"
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_port}{path}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Proxy:
        self.thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def proxied() -> Iterator[Callable[..., Proxy]]:
    """Start proxies; they stop after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *args, **more: stack.enter_context(Proxy(*args, **more))


@pytest.fixture
def live() -> Iterator[Callable[..., Live]]:
    """Start applications on real ports; they stop after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda app, port=0, **more: stack.enter_context(Live(app, port, **more))
