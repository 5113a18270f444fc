"""Studies to serve, a client without a network, and a server with one."""

from __future__ import annotations

import contextlib
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


@pytest.fixture
def live() -> Iterator[Callable[..., Live]]:
    """Start applications on real ports; they stop after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda app, port=0, **more: stack.enter_context(Live(app, port, **more))
