"""The widget for notebooks: it answers its page as the server does."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="anywidget is not installed")
pytest.importorskip("PIL", reason="Pillow is not installed (extra web)")

import geoduel as gd
from geoduel.pictures import seascape
from geoduel.web import DuelWidget


@pytest.fixture
def study():
    return gd.create_study(gd.Rotations(2), x0=np.eye(2), rng=0)


def exchange(widget, action, **body):
    """Send what the page sends, and return what it gets."""
    sent = []
    widget.send = lambda content, buffers=None: sent.append(content)
    widget._hear(widget, {"number": 7, "action": action, "body": body}, [])
    assert [one["to"] for one in sent] == [7]
    return sent[0]


def test_answers_go_straight_to_the_study(study):
    widget = DuelWidget(study, lambda r: seascape(0, 0.0, (30, 20)), question="Which?")
    assert widget.question == "Which?"
    message = exchange(widget, "ask")
    question = message["reply"]
    for side in ("left", "right"):
        data = message["pictures"][question[side]["url"]]
        assert data.startswith("data:image/png;base64,")
        assert base64.b64decode(data.partition(",")[2])[:4] == b"\x89PNG"
    answer = {"id": question["id"], "run": question["run"], "answer": "right"}
    reply = exchange(widget, "tell", **answer)["reply"]
    assert reply["counted"] is True
    assert study.duels[0].answer == "ab".replace(study.duels[0].left, "")
    history = exchange(widget, "history", start=0)
    assert history["reply"]["total"] == 1
    assert len(history["pictures"]) == 2
    done = exchange(widget, "finish")
    assert list(done["pictures"]) == [done["reply"]["best"]["url"]]
    assert exchange(widget, "undo")["reply"]["id"] == 0
    assert exchange(widget, "undo")["status"] == 409


def test_errors_reach_the_page(study):
    widget = DuelWidget(study)
    message = exchange(widget, "tell", id=99, answer="left")
    assert message["status"] == 422
    assert "99" in message["error"]


def test_a_render_that_fails_is_said_where_the_picture_would_be(study):
    def fails(_):
        raise RuntimeError("no such model")

    widget = DuelWidget(study, fails)
    message = exchange(widget, "ask")
    assert message["reply"]["left"]["kind"] == "failed"
    assert "RuntimeError: no such model" in message["reply"]["left"]["text"]
    assert message["pictures"] == {}
    assert exchange(widget, "tell", id=0, answer="skip")["reply"]["counted"] is True


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("tell", {"id": "none", "answer": "left"}),
        ("tell", {"id": None, "answer": "left"}),
        ("tell", {"answer": "left"}),
        ("tell", {"id": 0}),
        ("history", {"start": "none"}),
    ],
)
def test_whatever_the_page_sends_it_gets_a_reply(study, action, body):
    widget = DuelWidget(study)
    exchange(widget, "ask")
    message = exchange(widget, action, **body)
    assert message["status"] == 422
    assert message["error"]


def test_an_error_of_the_program_reaches_the_page_and_the_notebook(study, monkeypatch):
    widget, sent = DuelWidget(study), []
    monkeypatch.setattr(widget.board, "ask", lambda *_, **__: 1 / 0)
    widget.send = lambda content, buffers=None: sent.append(content)
    with pytest.raises(ZeroDivisionError):
        widget._hear(widget, {"number": 1, "action": "ask"}, [])
    assert sent[0]["status"] == 500


def test_one_script_serves_page_and_notebook(study):
    from geoduel.web.pages import static

    widget = DuelWidget(study)
    assert widget._esm.startswith(static("duel.js").decode())
    assert "export default" in widget._esm


def test_traits_follow_the_study(study):
    widget, seen = DuelWidget(study), []
    widget.observe(lambda change: seen.append((change["new"], widget.best)), "answers")
    assert widget.answers == 0
    for answer in ("left", "skip", "tie"):
        question = exchange(widget, "ask")["reply"]
        exchange(widget, "tell", id=question["id"], answer=answer)
    assert [answers for answers, _ in seen] == [1, 2]
    assert widget.best == study.recommend().tolist()
    assert seen[-1][1] == widget.best  # it is there once the number of answers changes
    assert (widget.progress["answered"], widget.progress["skips"]) == (2, 1)
    exchange(widget, "undo")
    assert widget.answers == 1
    synced = widget.traits(sync=True)
    assert {"answers", "best", "progress"} <= set(synced)
    assert widget.get_state(["answers", "best", "progress"])["answers"] == 1


def test_the_end_has_the_numbers_and_no_files(study):
    widget = DuelWidget(study, lambda r: seascape(0, 0.0, (30, 20)))
    reply = exchange(widget, "finish")["reply"]
    assert reply["numbers"]["rows"][0]["unit"] == "°"
    assert (reply["files"], reply["own"]) == (False, None)


# -- real notebooks --------------------------------------------------------------------------------

# Notebooks are no part of any extra: the variable names a Python that has JupyterLab and marimo.
PYTHON = os.environ.get("NOTEBOOK_PYTHON", sys.executable)
CHROMIUM = Path("/usr/bin/chromium")
CELL = """
import os
from pathlib import Path
import geoduel as gd
from geoduel.web import DuelWidget
study = gd.create_study(gd.Sphere(3), storage="sqlite:///duels.db", study_name="s", rng=0)
duels = DuelWidget(study, lambda x: f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 6'>"
                   f"<circle cx='4' cy='3' r='{1 + abs(x[0])}'/></svg>", question="Which?")
"""
MARIMO = f"""
import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo
{textwrap.indent(CELL, "    ")}
    shown = mo.ui.anywidget(duels)
    shown
    return Path, shown

@app.cell
def _(Path, shown):
    Path("seen.txt").write_text(f"{{shown.value['answers']}} {{len(shown.value['best'])}}")
    return
"""
JUPYTER = f"""{CELL}
duels.observe(lambda change: Path("seen.txt").write_text(f"{{change['new']}} {{len(duels.best)}}"),
              "answers")
duels
"""


@contextlib.contextmanager
def notebook(folder: Path, module: str, *options: str) -> Iterator[str]:
    """Run a program of notebooks in a folder; yields its address."""
    if not CHROMIUM.exists():
        pytest.skip("no /usr/bin/chromium")
    here = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if subprocess.run(
        [PYTHON, "-c", f"import {module}, anywidget"], check=False, **here
    ).returncode:
        pytest.skip(f"{module} is not installed; NOTEBOOK_PYTHON may name a Python that has it")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    source = str(Path(gd.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "HOME": str(folder)}
    command = [PYTHON, "-m", module, *options, f"--port={port}"]
    process = subprocess.Popen(command, env=environment, **here)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def answer_in(address: str, folder: Path, run: str | None) -> None:
    """Open a notebook, run it by some keys, and answer twice; the notebook sees the answers."""
    sync = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with sync.sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = chromium.new_page()
        page.set_default_timeout(90_000)
        page.goto(address)
        seen = ""
        if run is not None:
            page.click(".jp-Notebook .jp-CodeCell .cm-content")
            page.wait_for_selector("[data-status=idle]")  # the kernel
            page.keyboard.press(run)
        for count in (1, 2):
            page.wait_for_selector(".duel[data-state=question] img")
            assert page.locator("h1:has-text('Which?')").count() == 1
            page.click(".choose >> nth=0")
            for _ in range(300):
                if (folder / "seen.txt").exists():
                    seen = (folder / "seen.txt").read_text()
                    if seen == f"{count} 3":
                        break
                page.wait_for_timeout(100)
            assert seen == f"{count} 3"
        chromium.close()
    study = gd.load_study("s", f"sqlite:///{folder / 'duels.db'}")
    assert [duel.answer for duel in study.duels[:2]] == [duel.left for duel in study.duels[:2]]


@pytest.mark.slow
def test_a_study_is_answered_in_jupyterlab(tmp_path):
    cell = {"cell_type": "code", "source": JUPYTER, "metadata": {}, "outputs": [],
            "execution_count": None, "id": "one"}  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}}
    book = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "x.ipynb").write_text(json.dumps(book))
    options = ("--no-browser", "--allow-root", "--IdentityProvider.token=")
    with notebook(tmp_path, "jupyterlab", *options) as address:
        answer_in(f"{address}/lab/tree/x.ipynb", tmp_path, "Shift+Enter")


@pytest.mark.slow
def test_a_study_is_answered_in_marimo(tmp_path):
    (tmp_path / "x.py").write_text(MARIMO)
    with notebook(tmp_path, "marimo", "run", "x.py", "--headless", "--no-token") as address:
        answer_in(address, tmp_path, None)
