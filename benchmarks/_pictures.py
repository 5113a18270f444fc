"""Draw the pictures of the page that the docs show, in Chromium: `make pictures`.

People are simulated; the owner's page needs some, one of whom answers blindly.
"""

from __future__ import annotations

import contextlib
import io
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import geoduel as gd
from geoduel.level import Leveller
from geoduel.web import Board, create_app

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
LIKED = np.array([0.5, 0.3, 0.2])


def palette(shares: np.ndarray) -> Image.Image:
    picture, left = Image.new("RGB", (900, 600)), 0
    for share, colour in zip(shares, ("#c8503c", "#28527a", "#f4c430"), strict=True):
        width = round(900 * float(share))
        picture.paste(colour, (left, 0, left + width, 600))
        left += width
    return picture


def palettes(name: str, **options: Any) -> Board:
    study = gd.create_study(gd.Simplex(3), study_name=name, rng=0)
    question = "Which palette do you like better?"
    labels = ("red", "blue", "yellow")
    return Board(study, palette, question=question, labels=labels, title="palette", **options)


def answers(board: Board, raters: dict[str, bool], count: int) -> None:
    """Let raters answer in turn, each looking or not, and each at a pace of a person."""
    rng, now = np.random.default_rng(1), time.time()
    dist = board.study.manifold.dist
    real = time.time
    for n in range(count):
        name, looks = list(raters.items())[n % len(raters)]
        time.time = lambda: now  # noqa: B023 - the study's clock
        duel = board.study.ask(rater=name)
        a, b = float(dist(duel.a, LIKED)), float(dist(duel.b, LIKED))
        likely = 1 / (1 + np.exp((a - b) / 0.15)) if looks else 0.5
        now += float(rng.lognormal(0.9 if looks else -0.6, 0.3))
        board.study.tell(duel, "a" if rng.random() < likely else "b", rater=name)
    time.time = real


@contextlib.contextmanager
def served(boards: Board | list[Board]) -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(50)
        config = uvicorn.Config(create_app(boards), lifespan="off", ws="none", log_level="error")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(5)


def level(page: Page, tilt: float) -> None:
    """Answer as somebody who sees the horizon, until the page has the result."""
    angles = """() => [...document.querySelectorAll(".pane img")].map((i) =>
      -parseFloat(i.style.transform.match(/rotate\\(([^r]+)rad/)[1]))"""
    while True:
        page.wait_for_selector("[data-state=question], [data-state=done]")
        if page.get_attribute("main", "data-state") == "done":
            return
        left, right = page.evaluate(angles)
        key = "ArrowLeft" if abs(left + tilt) < abs(right + tilt) else "ArrowRight"
        step(page, key)


def step(page: Page, key: str) -> None:
    before = page.get_attribute("main", "data-question")
    page.keyboard.press(key)
    page.wait_for_function(
        """(before) => { const d = document.querySelector("main").dataset;
             return d.state === "done" || (d.state === "question" && d.question !== before); }""",
        arg=before,
    )


def main() -> None:
    with sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

        def open_page(address: str, scheme: str = "light", **size: Any) -> Page:
            size = size or {"viewport": {"width": 1280, "height": 720}}
            page = chromium.new_page(color_scheme=scheme, reduced_motion="reduce", **size)
            page.goto(address)
            page.wait_for_selector("[data-state=question], .cards")
            return page

        def draw(page: Page, name: str, whole: bool = False) -> None:
            page.mouse.move(0, 0)
            page.wait_for_timeout(400)
            image = Image.open(io.BytesIO(page.screenshot(full_page=whole)))
            image.thumbnail((960, 10_000))
            image.convert("RGB").quantize(256).save(IMAGES / f"{name}.png", optimize=True)
            print(name)

        phone = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
        leveller = Leveller(None, rng=5)
        assert leveller.tilt is not None
        with served(leveller.board) as address:
            for scheme in ("light", "dark"):
                draw(open_page(address, scheme), f"duel-{scheme}")
            draw(open_page(address, **phone), "duel-phone")
            page = open_page(address)
            level(page, leveller.tilt)
            draw(page, "duel-done")

        board = palettes("palette")
        with served(board) as address:
            draw(open_page(address), "palette")
            answers(board, {"you": True}, 29)
            page = open_page(address)
            step(page, "ArrowLeft")
            draw(page, "palette-result")

        board = palettes("crowd", solo=False)
        answers(board, {"Ann": True, "Ben": True, "Cleo": True, "Mallory": False}, 88)
        with served(board) as address:
            page = open_page(f"{address}/owner")
            page.wait_for_selector("[data-part=map] svg")
            curves = f"{address}/api/studies/{board.study.name}/convergence"
            while not page.request.get(curves).json()["complete"]:  # the replay goes on
                page.wait_for_timeout(1000)
            page.wait_for_timeout(3000)  # the page asks again after 2.5 s
            draw(page, "duel-owner", whole=True)
        chromium.close()


if __name__ == "__main__":
    main()
