"""How many answers people need: the methods for human budgets, on simulated people.

    python benchmarks/people.py [--full] [--save] [--parts table grid late far habits] [--people 40]
                                [--spaces NAME ...] [--kinds NAME ...] [--cells NAME ...]
                                [--first-seed 80000] [--processes 1]

Without arguments: a few cells of one person.

A cell is a space and a kind of person; see `geoduel.oracles.people` for what people are like, and
`_people.py` for the cells. All have a just-noticeable difference (JND) of one degree and 2 % lapses
unless their kind says otherwise, and their ideal lies in a random direction from the start, 20
degrees away unless the cell says so. Tilts have but two directions: in the table they are up to an
eighth of a degree nearer or farther, so that no ideal lies on a cell of a grid; elsewhere up to 5
degrees, so that a method whose first questions are always alike has neither good nor bad luck. On
manifolds other than spheres and rotations a "degree" is the ninetieth part of their typical
distance, as it is on a sphere.

The parts:

- `table`: people who fit the model, more or less. Printed per cell: the share of people within 1
  degree, or the median error, after so many answers; how many answers until it stays below; how
  often the stated 80 % region held the ideal; the time of an answer (CPU, ask and tell).
- `grid`: every kind on every space, and kinds that are not in the package ("unseen"). Printed
  after the last answer: the median regret (the person's own loss of the recommended point, in their
  JND), the 90th percentile over it, the share of people whose ideal is inside the stated region
  (and that of people with a point inside that is as good as their ideal), the median error, the
  mean stated radius and the time of an answer.
- `late`: kinds that a long study might make certain and wrong. Printed after 20, 40 and 60 answers:
  the median regret, the 90th percentile, the share inside the stated region and its median radius.
- `far`: ideals far from the start, and no start: from which answer on the median regret is at most
  1 JND, and from which on that of 80 % of the people.
- `habits`: people who do not look: the share ever told "known to 1 degree", beside people who look.

Seeds below 5000 were used for tuning, later ones for the tables in docs/people.md.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import heapq
import math
import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

from _people import (
    FAR,
    GRID,
    HABITUAL,
    LATE,
    START,
    UNSEEN,
    Cell,
    asked_by,
    degree,
    missed,
    person_of,
)

import geoduel as gd
from geoduel.methods.named import METHODS
from geoduel.methods.people.questions import QuestionMethod
from geoduel.oracles.people import DEGREE, HABITS, KINDS
from geoduel.oracles import draw_crowd

ELSEWHERE = ("SPD(2)", "H^2", "Simplex(4)", "Gr(4, 1)", "S^2 x S^2")
HARD: dict[str, Any] = {"lapse": 0.05, "bias": 0.1, "tie": 0.5, "fatigue": 0.01}

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
CELLS |= {space: Cell(space, 40, "") for space in ELSEWHERE}
CELLS["S^5-long"] = Cell("S^5", 200, "<= 100 ms an answer")
CELLS = {name: replace(cell, wobble=1 / 8) for name, cell in CELLS.items()}  # off a grid's cells


def for_people(cell: Cell) -> Any:
    """The method for people, with the options of the cell."""
    method: Any = gd.for_people(START[cell.space][0])
    return replace(method, **cell.options)


def questions(cell: Cell, seed: int) -> Iterator[tuple[float, ...]]:
    """What is measured after each answer of one person.

    Error and stated radius, degrees, CPU seconds, regret, and the distance to a point that is as
    good as the ideal, degrees.
    """
    manifold, x0 = START[cell.space]
    unit = degree(manifold)
    rng = np.random.default_rng(seed)
    if cell.raters > 1:
        people = draw_crowd(manifold, x0, rng, n=cell.raters, **cell.person)
    else:
        people = [person_of(cell, rng)]
    method = for_people(cell)
    if not cell.start:
        method, x0 = method.without_start(manifold, rng)
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
            best, person = state.best, people[0]
            lengths = person.error(best) / unit, state.uncertainty / unit
            yield *lengths, spent, person.regret(best), missed(cell, person, best) / unit
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


def duels(cell: Cell, seed: int) -> Iterator[tuple[float, ...]]:
    """The same for a method that asks in blocks."""
    manifold, x0 = START[cell.space]
    rng = np.random.default_rng(seed)
    person = person_of(cell, rng)
    method = cell.method or for_people(cell)
    found: list[tuple[float, ...]] = []

    def note(progress: gd.Progress) -> None:
        unknown = getattr(progress.state, "uncertainty", None)
        stated, error = (unknown or math.inf) / DEGREE, person.error(progress.x) / DEGREE
        row = error, stated, math.nan, person.regret(progress.x), error
        found.extend([row] * (progress.duels - len(found)))

    gd.minimize(
        person, manifold, x0, method=method, budget=cell.answers + 50, rng=rng, callback=note
    )
    yield from found


def measure(task: tuple[Cell, int]) -> np.ndarray:
    """Rows of `questions` for one person, shape (answers, 5)."""
    cell, seed = task
    asks = isinstance(for_people(cell), QuestionMethod) and not cell.method
    rows = (questions if asks else duels)(cell, seed)
    return np.array([row for row, _ in zip(rows, range(cell.answers), strict=False)])


def first(good: np.ndarray) -> str:
    """From which answer on it stays good."""
    bad = np.flatnonzero(~good)
    n = 1 if not len(bad) else int(bad[-1]) + 2
    return str(n) if n <= len(good) else f">{len(good)}"


def report(name: str, cell: Cell, rows: np.ndarray) -> dict[str, Any]:
    """Print one line for a cell, ``rows`` of shape (people, answers, 5); return what it says."""
    error, stated, spent, _, _ = np.moveaxis(rows, -1, 0)
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


def report_kind(name: str, cell: Cell, rows: np.ndarray) -> dict[str, Any]:
    """The same for a cell of the grid: what was reached after the last answer."""
    error, stated, spent, regret, off = np.moveaxis(rows, -1, 0)
    median, high = np.quantile(regret[:, -1], [0.5, 0.9])
    told = {
        "regret": median,
        "90 %": high,
        "each": regret[:, -1],  # beside that of rivals, person by person
        "inside": np.mean(error[:, -1] <= stated[:, -1]),
        "as good": np.mean(off[:, -1] <= stated[:, -1]),  # a point as good as the ideal
        "error": np.median(error[:, -1]),
        "stated": np.mean(stated[:, -1]),
        "ms": 1e3 * np.quantile(spent, 0.95),
    }
    times = high / median if median > 0.05 else math.nan
    print(
        f"{name:52} {len(rows):4} people | median {median:5.2f} JND, 90 % below {high:6.2f}"
        f" ({times:4.1f} x) | inside {told['inside']:.2f} (as good {told['as good']:.2f})"
        f" | {told['error']:5.2f} degrees, stated {told['stated']:5.2f} | {told['ms']:3.0f} ms",
        flush=True,
    )
    return told | {"answers": cell.answers}


def report_late(name: str, cell: Cell, rows: np.ndarray) -> dict[str, Any]:
    """The same for a cell of the late ones: whether what is stated stays true."""
    error, stated, _, regret, _ = np.moveaxis(rows, -1, 0)
    course = {
        n: {
            "regret": np.median(regret[:, n - 1]),
            "90 %": np.quantile(regret[:, n - 1], 0.9),
            "inside": np.mean(error[:, n - 1] <= stated[:, n - 1]),
            "stated": np.median(stated[:, n - 1]),
        }
        for n in (20, 40, 60)
    }
    told = " | ".join(
        f"{n}: {one['regret']:.2f} JND, 90 % below {one['90 %']:.2f}, inside {one['inside']:.2f},"
        f" stated {one['stated']:.1f}"
        for n, one in course.items()
    )
    print(f"{name:48} {len(rows):4} people | {told}", flush=True)
    return {"after": course}


def report_far(name: str, cell: Cell, rows: np.ndarray) -> dict[str, Any]:
    """The same for ideals that may be far: after how many answers they are found."""
    error, stated, _, regret, _ = np.moveaxis(rows, -1, 0)
    covered = np.mean(error <= stated, axis=0)[4:]
    told = {
        "half": first(np.median(regret, axis=0) <= 1),
        "80 %": first(np.mean(regret <= 1, axis=0) >= 0.8),
        "inside": np.mean(error[:, -1] <= stated[:, -1]),
        "region": [covered.mean(), covered.min(), covered.max()],
    }
    print(
        f"{name:52} {len(rows):4} people | at most 1 JND: half in {told['half']},"
        f" 80 % in {told['80 %']} | inside {told['inside']:.2f}, from the 5th answer on"
        f" {told['region'][0]:.2f} ({told['region'][1]:.2f} to {told['region'][2]:.2f})",
        flush=True,
    )
    return told


def report_habit(name: str, cell: Cell, rows: np.ndarray) -> dict[str, Any]:
    """The same for people who may not look: how many are ever told "known to 1 degree"."""
    stated = rows[..., 1]
    told = {n: np.mean((stated[:, :n] <= 1).any(axis=1)) for n in (10, 20, 30, 40)}
    course = ", ".join(f"{n}: {share:.2f}" for n, share in told.items())
    wide = np.median(stated[:, -1])
    print(
        f"{name:52} {len(rows):4} people | told within {course} | stated at last {wide:.1f}",
        flush=True,
    )
    return {"told": told, "stated": wide}


PARTS: dict[str, tuple[dict[str, Cell], Any]] = {
    "table": (CELLS, report),
    "grid": (GRID, report_kind),
    "late": (LATE, report_late),
    "far": (FAR, report_far),
    "habits": (HABITUAL, report_habit),
}
# People a cell in full: ten to fifteen seconds of one processor a cell.
PEOPLE = {"SO(2)": 100, "S^2": 40, "SO(3)": 20}
QUICK = {
    "table": ("tilt-20", "S^2", "SO(3)"),
    "grid": ("SO(2): asymmetric 20 %", "S^2: saturating at 15 JND"),
    "late": ("S^2: asymmetric 40 %",),
    "far": ("SO(2): 90 off", "S^2: no x0"),
    "habits": ("SO(2): coin flips", "SO(2): fits the model"),
}


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--parts", nargs="+", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--people", type=int, help="people a cell")
    parser.add_argument("--cells", nargs="+", help="only these, whatever their part")
    parser.add_argument("--spaces", nargs="+", choices=tuple(START))
    parser.add_argument("--kinds", nargs="+", choices=(*KINDS, *UNSEEN, *HABITS))
    parser.add_argument("--elsewhere", action="store_true", help="the other manifolds' table")
    parser.add_argument("--first-seed", type=int, default=80_000)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    print(describe_machine())
    chosen = options.cells or (ELSEWHERE if options.elsewhere else None)
    known = {name for cells, _ in PARTS.values() for name in cells}
    if unknown := set(chosen or ()) - known:
        parser.error(f"no cells {sorted(unknown)}; known: {', '.join(sorted(known))}")
    everything = options.full or options.spaces or options.kinds
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for part in options.parts:
            cells, told = PARTS[part]
            usual = set(cells) - {*ELSEWHERE, "S^5-long"} if everything else QUICK[part]
            names = chosen or usual
            for name, cell in cells.items():
                wanted = (options.spaces or START, options.kinds or (cell.kind,))
                if name not in names or cell.space not in wanted[0] or cell.kind not in wanted[1]:
                    continue
                many = {"table": 100, "habits": 40}.get(part, PEOPLE.get(cell.space, 10))
                people = options.people or (many if options.full else 1)
                seeds = range(options.first_seed, options.first_seed + people)
                results = Results(
                    __file__, options.save, people=people, seeds=[seeds[0], seeds[-1]]
                )
                tasks = [(cell, seed) for seed in seeds]
                rows = np.array(pool.map(measure, tasks, chunksize=2))
                key = name if part == "table" else f"{part} {name}"
                method = METHODS[cell.method]() if cell.method else for_people(cell)
                results.add(key, method=asked_by(method), **told(name, cell, rows))


if __name__ == "__main__":
    main()
