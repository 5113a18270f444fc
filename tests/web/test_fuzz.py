"""The HTTP interface under generated requests: no reply is the server's own fault.

Needs schemathesis, which asks for newer packages than the rest: `make fuzz` gives it an environment
of its own. Elsewhere name its command in SCHEMATHESIS.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

import geoduel as gd
from geoduel.web import Board, create_app
from geoduel.web.keys import Keys

COMMAND = os.environ.get("SCHEMATHESIS") or shutil.which("schemathesis")
SECONDS = os.environ.get("FUZZ_SECONDS", "20")
TOKEN = "a token of many characters"
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
]
CONFIG = """
[parameters]
"path.key" = "tilt"
"path.duel_id" = 0
"""


def ranked():
    """Four choices at once, to be put in order, of which some cannot be."""
    study = gd.create_study(gd.Sphere(3), study_name="tilt", rng=0, choices=4)
    return Board(study, ranking=True, infeasible=True)


def catalogue():
    """A list of items, one of which is the best."""
    items = gd.Sphere(3).random_point(0, (30,))
    return Board(gd.create_study(gd.Sphere(3), among=items, study_name="tilt", rng=0))


def mixed():
    """Numbers beside categories and whole numbers."""
    place = gd.space(gain=(-12, 12), mix=gd.Simplex(3), kind=["a", "b"], layers=range(1, 13))
    return Board(gd.create_study(place, study_name="tilt", rng=0), infeasible=True)


BOARDS = {"ranked": ranked, "catalogue": catalogue, "mixed": mixed}


@pytest.mark.slow
@pytest.mark.skipif(not COMMAND, reason="schemathesis is not installed (make fuzz)")
@pytest.mark.parametrize(
    ("who", "kind"),
    [(who, "tilt") for who in ("owner", "rater", "Ann", "nobody")]
    + [(who, kind) for kind in BOARDS for who in ("owner", "Ann")],
)
def test_no_request_breaks_the_server(board, live, tmp_path, who, kind):
    board = BOARDS[kind]() if kind in BOARDS else board
    keys = Keys(TOKEN)
    token = {"owner": TOKEN, "rater": keys.rater, "Ann": keys.personal("tilt", "Ann")}
    app = create_app(board, token=TOKEN, solo=False, rate=1e6)
    app.state.newcomers.burst = 1e6
    server = live(app)
    (tmp_path / "schemathesis.toml").write_text(CONFIG, encoding="utf-8")
    described = tmp_path / "openapi.json"
    described.write_text(json.dumps(app.openapi()), encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}  # it has its own
    command = [
        *(str(COMMAND), "--config-file", str(tmp_path / "schemathesis.toml"), "run"),
        *(str(described), "--url", server.address),
        *("--exclude-path", "/api/events", "--checks", ",".join(CHECKS), "--max-time", SECONDS),
        *("--seed", "0", "--no-color", "--continue-on-failure", "--warnings", "off"),
        *("--header", f"Authorization: Bearer {token.get(who, 'none')}"),
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    print(done.stdout[-1000:])  # how many requests, for those who run it with -s
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert board.study.progress().finished is None  # it is there, and goes on
    assert board.ask("Bob")["state"] in ("question", "wait")  # for what others hold
