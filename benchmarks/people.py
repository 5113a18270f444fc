"""How many answers people need: the methods for human budgets, on simulated people.

    python benchmarks/people.py [--full] [--save] [--people 100] [--cells NAME ...] [--elsewhere]
                                [--first-seed 79000] [--processes 2]

Without arguments: three cells of ten people.

A cell is a manifold and a kind of person; see `geoduel.oracles.people` for what people are like.
All have a just-noticeable difference (JND) of one degree and 2 % lapses unless the cell says
otherwise, and their ideal lies in a random direction from the start, 20 degrees away unless it says
so (tilts: up to an eighth of a degree more or less, so that no ideal lies on a cell of a grid). On
manifolds other than spheres and rotations (`--elsewhere`) a "degree" is the ninetieth part of their
typical distance, as it is on a sphere.

Printed per cell: the share of people within 1 degree, or the median error, after so many answers;
how many answers until it stays below; how often the stated 80 % region held the ideal; the time of
an answer (CPU, ask and tell). Seeds below 5000 were used for tuning, later ones for the tables in
docs/people.md.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import heapq
import math
import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

import geoduel as gd
from geoduel.methods.people.questions import QuestionMethod
from geoduel.oracles.people import DEGREE
from geoduel.oracles import draw_crowd
from geoduel.oracles import draw_person

START = {
    "SO(2)": (gd.Rotations(2), np.eye(2)),
    "S^2": (gd.Sphere(3), np.eye(3)[0]),
    "SO(3)": (gd.Rotations(3), np.eye(3)),
    "S^5": (gd.Sphere(6), np.eye(6)[0]),
    "S^9": (gd.Sphere(10), np.eye(10)[0]),
    "SPD(2)": (gd.SPD(2), np.eye(2)),
    "H^2": (gd.Hyperbolic(2), gd.Hyperbolic(2).random_point(np.random.default_rng(0))),
    "Simplex(4)": (gd.Simplex(4), np.full(4, 0.25)),
    "Gr(4, 1)": (gd.Grassmann(4, 1), np.eye(4)[:, :1]),
    "S^2 x S^2": (gd.Power(gd.Sphere(3), 2), np.eye(3)[[0, 0]]),
}
ELSEWHERE = ("SPD(2)", "H^2", "Simplex(4)", "Gr(4, 1)", "S^2 x S^2")
HARD: dict[str, Any] = {"lapse": 0.05, "bias": 0.1, "tie": 0.5, "fatigue": 0.01}


@dataclass(frozen=True)
class Cell:
    """One kind of experiment."""

    space: str
    answers: int
    must: str
    person: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)  # of the method
    raters: int = 1
    method: str = ""  # by default the one for people


CELLS = {
    "tilt-9": Cell("SO(2)", 16, "80 % in 7, 95 % in 10", {"distance": 9 * DEGREE}),
    "tilt-20": Cell("SO(2)", 16, "80 % in 7, 95 % in 10", {"distance": 20 * DEGREE}),
    "tilt-38": Cell("SO(2)", 16, "80 % in 7, 95 % in 10", {"distance": 38 * DEGREE}),
    "tilt-left": Cell("SO(2)", 20, "80 % in 9", {"always_left": 0.1}),
    "tilt-hard-jnd-x3": Cell("SO(2)", 16, "clean + 30 %", HARD, {"jnd": 3 * DEGREE}),
    "tilt-hard-jnd-/3": Cell("SO(2)", 16, "clean + 30 %", HARD, {"jnd": DEGREE / 3}),
    "tilt-squared-loss": Cell("SO(2)", 16, "", {"power": 2.0}),
    "tilt-weber": Cell("SO(2)", 16, "", {"weber": 0.1}),
    "S^2": Cell("S^2", 30, "<= 5 in 6, <= 1 in 15"),
    "S^2-metric": Cell("S^2", 50, "0.7 after 50", {"spread": 3.0}),
    "SO(3)": Cell("SO(3)", 36, "<= 5 in 10, <= 1 in 26"),
    "SO(3)-metric": Cell("SO(3)", 50, "1.05 after 50", {"spread": 3.0}),
    "S^5": Cell("S^5", 60, "<= 5 in 16, <= 1 in 49"),
    "S^5-metric": Cell("S^5", 50, "1.8 after 50", {"spread": 3.0}),
    "SO(3)-hard-jnd-x3": Cell("SO(3)", 40, "clean + 30 %", HARD, {"jnd": 3 * DEGREE}),
    "SO(3)-hard-jnd-/3": Cell("SO(3)", 40, "clean + 30 %", HARD, {"jnd": DEGREE / 3}),
    "S^2-hard-jnd-x3": Cell("S^2", 40, "clean + 30 %", HARD, {"jnd": 3 * DEGREE}),
    "S^2-hard-jnd-/3": Cell("S^2", 40, "clean + 30 %", HARD, {"jnd": DEGREE / 3}),
    "S^2-between": Cell("S^2", 50, "", {"spread": 1.7}),
    "SO(3)-between": Cell("SO(3)", 50, "", {"spread": 1.7}),
    "SO(3)-slight": Cell("SO(3)", 50, "", {"spread": 1.3}),
    "S^2-squared-loss": Cell("S^2", 30, "", {"power": 2.0}),
    "SO(3)-squared-loss": Cell("SO(3)", 36, "", {"power": 2.0}),
    "S^2-weber": Cell("S^2", 30, "", {"weber": 0.1}),
    "SO(3)-weber": Cell("SO(3)", 36, "", {"weber": 0.1}),
    "S^2-weber-narrow": Cell("S^2", 30, "", {"weber": 0.1}, {"half_width": 30 * DEGREE}),
    "SO(3)-weber-narrow": Cell("SO(3)", 36, "", {"weber": 0.1}, {"half_width": 30 * DEGREE}),
    "SO(3)-left": Cell("SO(3)", 40, "", {"always_left": 0.1}),
    "S^2-crowd": Cell("S^2", 40, "1.5 x one rater", {}, raters=8),
    "SO(3)-crowd": Cell("SO(3)", 50, "1.5 x one rater", {}, raters=8),
    "S^2-crowd-each": Cell("S^2", 40, "1.5 x one rater", {}, {"parallel": 8}, raters=8),
    "SO(3)-crowd-each": Cell("SO(3)", 50, "1.5 x one rater", {}, {"parallel": 8}, raters=8),
    "S^9": Cell("S^9", 300, ""),
    "S^9-auto": Cell("S^9", 300, "", method="auto"),
}
QUICK = ("tilt-20", "S^2", "SO(3)")
CELLS |= {space: Cell(space, 40, "") for space in ELSEWHERE}


def degree(manifold: gd.Manifold) -> float:
    """The unit of length: a degree, on spheres."""
    return manifold.typical_dist / 90


def for_people(cell: Cell) -> Any:
    """The method for people, with the options of the cell."""
    method: Any = gd.for_people(START[cell.space][0])
    return replace(method, **cell.options)


def questions(cell: Cell, seed: int) -> Iterator[tuple[float, float, float]]:
    """Error and stated radius, degrees, and CPU seconds after each answer of one person."""
    manifold, x0 = START[cell.space]
    unit = degree(manifold)
    rng = np.random.default_rng(seed)
    if cell.raters > 1:
        people = draw_crowd(manifold, x0, rng, n=cell.raters, **cell.person)
    else:
        settings = {"distance": 20 * unit, "jnd": unit, **cell.person}
        if manifold.dim == 1:  # off the cells of a grid
            settings["distance"] += rng.uniform(-1, 1) * DEGREE / 8
        people = [draw_person(manifold, x0, rng, **settings)]
    method = for_people(cell)
    state = method.start(manifold, x0, rng)

    # Raters answer after random delays. Who is free gets a new question, but no more are open than
    # are useful at once, as from `Study.ask` of several.
    most = method.open_at_once(manifold) or len(people)
    waiting: list[int] = []
    queue: list[tuple[float, int]] = [(0.0, r) for r in range(len(people))]
    held: dict[int, tuple[Any, Any]] = {}
    spent = 0.0
    while True:
        now, r = heapq.heappop(queue)
        if r in held:
            a, b = held.pop(r)
            left = 1 if rng.random() < 0.5 else -1
            answer = people[r].answer(a, b, left)
            began = time.process_time()
            state = method.update(manifold, state, a, b, answer, rng, left=left, rater=f"rater {r}")
            spent += time.process_time() - began
            yield people[0].error(state.best) / unit, state.uncertainty / unit, spent
            for q in waiting:
                heapq.heappush(queue, (now, q))
            waiting = []
        if len(held) == most:
            waiting.append(r)
            continue
        began = time.process_time()
        held[r] = method.propose(manifold, state, rng, [held[q] for q in held])
        spent = time.process_time() - began
        heapq.heappush(queue, (now + rng.exponential(), r))


def duels(cell: Cell, seed: int) -> Iterator[tuple[float, float, float]]:
    """The same for a method that asks in blocks."""
    manifold, x0 = START[cell.space]
    rng = np.random.default_rng(seed)
    person = draw_person(manifold, x0, rng, **cell.person)
    method = cell.method or for_people(cell)
    found: list[tuple[float, float, float]] = []

    def note(progress: gd.Progress) -> None:
        unknown = getattr(progress.state, "uncertainty", None)
        row = person.error(progress.x) / DEGREE, (unknown or math.inf) / DEGREE, math.nan
        found.extend([row] * (progress.duels - len(found)))

    gd.minimize(
        person, manifold, x0, method=method, budget=cell.answers + 50, rng=rng, callback=note
    )
    yield from found


def measure(task: tuple[str, int]) -> np.ndarray:
    """Rows of `questions` for one person, shape (answers, 3)."""
    cell = CELLS[task[0]]
    asks = isinstance(for_people(cell), QuestionMethod) and not cell.method
    rows = (questions if asks else duels)(cell, task[1])
    return np.array([row for row, _ in zip(rows, range(cell.answers), strict=False)])


def first(good: np.ndarray) -> str:
    """From which answer on it stays good."""
    bad = np.flatnonzero(~good)
    n = 1 if not len(bad) else int(bad[-1]) + 2
    return str(n) if n <= len(good) else f">{len(good)}"


def report(name: str, rows: np.ndarray) -> dict[str, Any]:
    """Print one line for a cell, ``rows`` of shape (people, answers, 3); return what it says."""
    cell = CELLS[name]
    error, stated, spent = np.moveaxis(rows, -1, 0)
    n = error.shape[1]
    covered = np.mean(error <= stated, axis=0)
    if cell.space == "SO(2)":
        share = np.mean(error <= 1, axis=0)
        reached = f"80/95 % in {first(share >= 0.8)}/{first(share >= 0.95)}"
        at = [k for k in (5, 6, 7, 8, 9, 10, 12, 16) if k <= n]
        told = {"80 %": first(share >= 0.8), "95 %": first(share >= 0.95), "share": share}
        course = " ".join(f"{k}:{share[k - 1]:.2f}" for k in at)
    else:
        median = np.median(error, axis=0)
        reached = f"<=5/<=1 in {first(median <= 5)}/{first(median <= 1)}"
        at = [k for k in (6, 10, 15, 20, 26, 30, 40, 50, 100, 200, 300) if k <= n]
        told = {"5 degrees": first(median <= 5), "1 degree": first(median <= 1), "median": median}
        course = " ".join(f"{k}:{median[k - 1]:.2f}" for k in at)
    late = [k for k in (5, 10, 15, 20, 30, 40, 50, 100, 300) if k <= n]
    region = " ".join(f"{k}:{covered[k - 1]:.2f}" for k in late)
    print(f"{name:18} {len(rows):4} people | must {cell.must:22} | {reached:18} | {course}")
    print(
        f"{'':18} 80 % region, mean from the 5th on {covered[4:].mean():.2f}: {region}"
        f" | {1e3 * np.mean(spent):.0f} ms an answer, 95 % below"
        f" {1e3 * np.quantile(spent, 0.95):.0f} ms",
        flush=True,
    )
    region = [covered[4:].mean(), covered[4:].min(), covered[4:].max()]
    return {**told, "must": cell.must, "region": region, "ms": 1e3 * np.quantile(spent, 0.95)}


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--people", type=int, help="people a cell; by default 10, in full 100")
    parser.add_argument("--cells", nargs="+", choices=tuple(CELLS))
    parser.add_argument("--elsewhere", action="store_true", help="only the other manifolds")
    parser.add_argument("--first-seed", type=int, default=79_000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    print(describe_machine())
    people = options.people or (100 if options.full else 10)
    seeds = range(options.first_seed, options.first_seed + people)
    results = Results(__file__, options.save, people=people, seeds=[seeds[0], seeds[-1]])
    usual = CELLS if options.full else QUICK
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for name in options.cells or (ELSEWHERE if options.elsewhere else usual):
            rows = np.array(pool.map(measure, [(name, s) for s in seeds], chunksize=5))
            results.add(name, **report(name, rows))


if __name__ == "__main__":
    main()
