"""Ports, addresses, the dashboard, what is said when a package is missing."""

from __future__ import annotations

import socket

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
    server.dashboard(storage)
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
    monkeypatch.setattr(server, "AGAIN", 0.0)  # tried again each time, and said once
    server.dashboard(storage)
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
        with pytest.raises(OSError, match=f"cannot listen at 127.0.0.1 port {taken}: "):
            server.run(None, port=taken)


def test_boards_bring_their_own_options(board):
    with pytest.raises(ArgumentError, match="render and options"):
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
    for place in (f"{file}:none", f"{file}:number", f"{file}", "none.py:study", "tilt.txt:study"):
        with pytest.raises(ArgumentError):
            server.load_study_file(place)
