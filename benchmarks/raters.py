"""The duel page at full size: how long people wait, alone and among many; what a crowd loses.

    python benchmarks/raters.py                          # a few raters, for five seconds
    python benchmarks/raters.py page                     # first and next question, in Chromium
    python benchmarks/raters.py crowd --full             # answers by HTTP, on SQLite
    python benchmarks/raters.py crowd --raters 200 --url postgresql+psycopg://...
    python benchmarks/raters.py crowd --processes 4 --url postgresql+psycopg://...
    python benchmarks/raters.py readers --raters 45      # one answers while others only look

`page` starts `geoduel level` on a 12-megapixel photo and answers in a browser. `crowd` serves one
study in a process and lets raters answer from another: each keeps a connection and answers at
random times, together `--rate` answers a second. The study's method asks 4,096 directions at once,
so that nobody waits for another's answer and the page and the storage are what is measured.
Afterwards the log is compared with what raters were told: nothing may be lost or counted twice.
With `--processes` several servers share the study, and each request goes to any of them, as from a
proxy that deals them out. `--method` is what the study asks with, such as ideal-point.
`readers` lets people load the best point, which takes 0.1 s to draw, as fast as they can while one
person answers; then a thousand connections stay open in silence while somebody asks.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import _timing
import numpy as np
from _results import parser as results_parser

import geoduel as gd

NAME = "raters"
CHROMIUM = "/usr/bin/chromium"
COMMAND = "import sys; from geoduel.cli import main; sys.exit(main())"


# -- one person ------------------------------------------------------------------------------------


def page(answers: int) -> None:
    """Time from the command to the first question, and from an answer to the next question."""
    from playwright.sync_api import sync_playwright

    from geoduel.pictures import seascape

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        photo = Path(folder) / "large.jpg"
        seascape(0, 0.1, (1000, 750)).resize((4000, 3000)).save(photo, quality=92)
        chromium = p.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        tab = chromium.new_page()
        command, first, following = [], [], []
        for turn in range(3):
            began = time.perf_counter()
            server = subprocess.Popen(
                [sys.executable, "-c", COMMAND, "level", str(photo), "--no-browser"],
                stdout=subprocess.PIPE, text=True,
                env={**os.environ, "XDG_STATE_HOME": tempfile.mkdtemp(dir=folder)},
            )  # fmt: skip
            assert server.stdout is not None
            try:
                address = server.stdout.readline().split()[1]
                loading = time.perf_counter()
                tab.goto(address)
                tab.wait_for_selector("[data-state=fresh], [data-state=question]")
                first.append(time.perf_counter() - loading)
                command.append(time.perf_counter() - began)
                while turn == 2 and len(following) < answers:
                    tab.wait_for_selector("[data-state=question], [data-state=done]")
                    if tab.locator("main").get_attribute("data-state") == "done":
                        tab.click("[data-do=more]")
                        tab.wait_for_selector("[data-state=question]")
                    following.append(tab.evaluate(NEXT, random.choice(("left", "right"))))
            finally:
                stop(server)
        chromium.close()
    photo_of = "first question of a 12-megapixel photo"
    print(f"{photo_of}, from the page's load: {', '.join(f'{s:.2f}' for s in first)} s")
    print(f"{photo_of}, from the command: {', '.join(f'{s:.2f}' for s in command)} s")
    print(f"next question, {answers} answers: {percentiles(following)} ms")


# From the click until the frame after the one that shows the next question.
NEXT = """async (side) => {
  const main = document.querySelector("main"), before = main.dataset.question;
  const start = performance.now();
  document.querySelector(`.choose[data-answer=${side}]`).click();
  const frame = () => new Promise(requestAnimationFrame);
  while (main.dataset.question === before && main.dataset.state !== "done") await frame();
  await frame();
  return performance.now() - start; }"""


# -- many ------------------------------------------------------------------------------------------


def crowd(
    raters: int, rate: float, seconds: float, url: str | None, processes: int, method: str
) -> bool:
    """Let raters answer; return whether nothing was lost or doubled and nobody waited long."""
    with tempfile.TemporaryDirectory() as folder:
        if url is None:
            url = f"sqlite:///{folder}/duels.db"
        elif NAME in gd.study_names(url):  # of a run that was broken off
            gd.delete_study(NAME, url)
        settings: dict[str, Any] = {}
        if method == "rdngd":
            settings = {"batch": 4096, "iterations": 10, "step_size": 0.1, "radius": 0.2}
        gd.create_study(
            gd.Sphere(3), method, storage=url, study_name=NAME, rng=0, x0=np.eye(3)[0], **settings
        )
        servers = [
            subprocess.Popen(
                [sys.executable, __file__, "serve", "--url", url], stdout=subprocess.PIPE, text=True
            )
            for _ in range(processes)
        ]
        try:
            ports = [one.stdout.readline().split(":")[-1].split("/")[0].strip() for one in servers]  # type: ignore[union-attr]
            load = subprocess.run(
                [sys.executable, __file__, "load", "--ports", *ports, "--raters", str(raters),
                 "--rate", str(rate), "--seconds", str(seconds)],
                stdout=subprocess.PIPE, text=True, check=True, timeout=2 * seconds + 60,
            )  # fmt: skip
        finally:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            for server in servers:
                stop(server)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        told = json.loads(load.stdout)
        study = gd.load_study(NAME, url)
        stored = {duel.id: duel for duel in study.duels if duel.state == "answered"}
        counted = {number: (rater, side) for number, rater, side in told["counted"]}
        lost = [
            number
            for number, (rater, side) in counted.items()
            if number not in stored
            or stored[number].rater != rater
            or (stored[number].answer == stored[number].left) != (side == "left")
        ]
        doubled = len(told["counted"]) - len(counted) + len(stored) - len(counted)
        times = told["milliseconds"]
        where = "PostgreSQL" if url.startswith("postgresql") else "SQLite"
        print(
            f"{where}, {processes} servers, {raters} raters: {len(counted)} answers in "
            f"{seconds:.0f} s ({len(counted) / seconds:.1f}/s), {percentiles(times)} ms; "
            f"lost {len(lost)}, doubled {doubled}, waits {told['waits']}, errors {told['errors']}; "
            f"the servers worked {1000 * work / len(counted):.0f} ms an answer, its start included"
        )
        gd.delete_study(NAME, url)
    return not lost and not doubled and not told["errors"] and np.percentile(times, 99) < 500


def serve(url: str) -> None:
    """Serve the study, as `geoduel serve` does."""
    gd.serve(gd.load_study(NAME, url), solo=False, port=None, token=False)


async def load(ports: list[int], raters: int, rate: float, seconds: float) -> dict[str, Any]:
    """Answer as many raters do, and return what each was told."""
    counted: list[tuple[int, str, str]] = []
    times: list[float] = []
    waits = errors = 0
    pause = raters / rate  # between the answers of one rater, on average
    ends = time.monotonic() + pause + seconds  # the first pause is for first questions

    async def one(number: int) -> None:
        nonlocal waits, errors
        rng, rater = random.Random(number), f"rater {number}"
        target = [rng.gauss(0.6, 0.1), rng.gauss(0, 0.1), rng.gauss(0.8, 0.1)]
        await asyncio.sleep(rng.uniform(0, pause))
        connections: dict[int, Any] = {}
        who = {"rater": rater, "beyond": True}
        action, body, due = "ask", who, time.monotonic()
        while due < ends:
            began = time.monotonic()
            port = rng.choice(ports)
            try:
                status, reply = await post(connections[port], action, body)
            except (KeyError, OSError, asyncio.IncompleteReadError):  # none yet, or silent too long
                connections[port] = await asyncio.open_connection("127.0.0.1", port)
                status, reply = await post(connections[port], action, body)
            times.append(1000 * (time.monotonic() - began))
            if status != 200:
                errors += 1
            elif action == "tell" and reply["counted"]:
                counted.append((body["id"], rater, body["answer"]))
            if status == 200 and reply["state"] == "question":
                side = min(("left", "right"), key=lambda s: far(reply[s]["text"], target))
                action = "tell"
                body = who | {"id": reply["id"], "run": reply["run"], "answer": side}
                # Steady on average, whatever an answer takes: the load does not follow the server.
                due = max(time.monotonic(), due + rng.uniform(0.5, 1.5) * pause)
            else:
                waits += 1
                action, body = "ask", who
                due = time.monotonic() + reply.get("retry_after", 1.0)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        for connection in connections.values():
            connection[1].close()

    await asyncio.gather(*(one(number) for number in range(raters)))
    return {"counted": counted, "milliseconds": times, "waits": waits, "errors": errors}


# -- one among those who only look -----------------------------------------------------------------


def readers(count: int, answers: int = 8) -> None:
    """Time from an answer to the next question, alone, among readers, and among the silent."""
    server = subprocess.Popen([sys.executable, __file__, "slow"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = int(server.stdout.readline().split(":")[-1].split("/")[0])
    try:
        asyncio.run(_among_readers(port, count, answers))
    finally:
        stop(server)


def slow() -> None:
    """Serve a study whose points take 0.1 s to draw."""

    def render(point: np.ndarray) -> str:
        time.sleep(0.1)
        return f"<p>{point}</p>"

    study = gd.create_study(gd.Sphere(3), rng=0, study_name=NAME)
    gd.serve(study, render, solo=False, port=None, token=False)


async def _among_readers(port: int, count: int, answers: int) -> None:
    async def answer() -> str:
        connection = await asyncio.open_connection("127.0.0.1", port)
        times, action, body = [], "ask", {"rater": "Eve"}
        for _ in range(answers):
            began = time.perf_counter()
            status, reply = await post(connection, action, body)
            times.append(1000 * (time.perf_counter() - began))
            assert status == 200
            action, body = "tell", {"rater": "Eve", "id": reply["id"], "answer": "left"}
        connection[1].close()
        return percentiles(times)

    async def look() -> None:
        connection = await asyncio.open_connection("127.0.0.1", port)
        while True:
            if (await post(connection, "best", None))[0] != 200:
                await asyncio.sleep(0.5)  # too many at once: come again

    print(f"alone: {await answer()} ms")
    tasks = [asyncio.create_task(look()) for _ in range(count)]
    await asyncio.sleep(1)
    print(f"beside {count} readers: {await answer()} ms")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(1050)]
    print(f"beside {len(silent)} silent connections: {await answer()} ms")


async def post(connection: Any, action: str, body: dict[str, Any] | None) -> tuple[int, Any]:
    """Send a body, or ask for something without one; return the status and the reply."""
    reader, writer = connection
    data = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{'GET' if body is None else 'POST'} /api/studies/{NAME}/{action} HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    writer.write(head.encode() + data)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    length = next(line for line in lines if line.startswith("content-length")).split(":")[1]
    return int(lines[0].split()[1]), json.loads(await reader.readexactly(int(length)))


def far(text: str, target: list[float]) -> float:
    """Squared distance of a point, as the page writes it, from a rater's own ideal."""
    return sum((float(a) - b) ** 2 for a, b in zip(text.split(), target, strict=True))


def percentiles(milliseconds: list[float]) -> str:
    """Median, 95th and 99th percentile and the largest, in words."""
    numbers = np.percentile(milliseconds, (50, 95, 99, 100))
    names = ("median", "95 %", "99 %", "most")
    return ", ".join(f"{name} {value:.0f}" for name, value in zip(names, numbers, strict=True))


def stop(process: subprocess.Popen[str]) -> None:
    """End a server as Ctrl-C does, or at once if it does not heed that."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()


def main() -> int:
    parser = results_parser(__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        default="crowd",
        choices=("page", "crowd", "readers", "serve", "load", "slow"),
    )
    parser.add_argument("--url", help="database of the crowd's study; by default SQLite")
    parser.add_argument("--raters", type=int, help="by default 5, in full 50")
    parser.add_argument("--rate", type=float, default=50.0, help="answers a second, together")
    parser.add_argument("--seconds", type=float, help="by default 5, in full 60")
    parser.add_argument("--answers", type=int, default=40)
    parser.add_argument("--ports", type=int, nargs="+")
    parser.add_argument("--processes", type=int, default=1, help="servers of the crowd's study")
    parser.add_argument("--method", default="rdngd", help="of the crowd's study")
    given = parser.parse_args()
    given.raters = given.raters or (50 if given.full else 5)
    given.seconds = given.seconds or (60.0 if given.full else 5.0)
    if given.what == "serve":
        serve(given.url)
    elif given.what == "slow":
        slow()
    elif given.what == "load":
        told = load(given.ports, given.raters, given.rate, given.seconds)
        print(json.dumps(asyncio.run(told)))
    else:
        print(_timing.describe_machine())
        if given.what == "page":
            page(given.answers)
        elif given.what == "readers":
            readers(given.raters)
        else:
            options = given.raters, given.rate, given.seconds, given.url
            return 0 if crowd(*options, given.processes, given.method) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
