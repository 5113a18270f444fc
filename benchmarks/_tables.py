"""Tables of the docs, made from the results that the benchmarks saved.

    python benchmarks/_tables.py          # writes them into docs/
    python benchmarks/_tables.py --check  # exits with 1 if a page holds another table

A page has a table between the lines ``<!-- table: NAME -->`` and ``<!-- end -->``. Under each
stands what it was measured with. No number is copied by hand: to change one, run the script that
``benchmarks/README.md`` names, with ``--full --save``, and then this one.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

from _people import FAR, GRID, HABITUAL, LATE, UNSEEN, Cell
from _results import FOLDER as RESULTS
from _results import read

from geoduel.bench import areas, load
from geoduel.bench.measures import split, usable

DOCS = Path(__file__).resolve().parents[1] / "docs"
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
PEERS = ("pymanopt", "geomstats", "geoopt")
OPERATIONS = ("exp", "log", "dist", "transport", "unit_tangent")
SIZES = (1, 100, 10_000)
COUNTED = ("histories", "duels", "answers", "wrong")
OWN_METHODS = ("auto", "auto-smoothed", "duel-newton", "duel-csa", "block")


def markdown(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Lines of a table."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def about(rows: Iterable[dict[str, Any]], *also: str, methods: bool = False) -> list[str]:
    """The line under a table: versions, settings that all rows share, and the rows' methods."""
    rows = list(rows)
    versions: dict[str, set[str]] = {}
    for row in rows:
        versions.setdefault(row["machine"], set()).add(row["geoduel"])
    words = [
        f"geoduel {listed(sorted(v, key=by_number))}, {m}" for m, v in sorted(versions.items())
    ]
    for key in also:
        found = [row[key] for row in rows]
        if key == "seeds" and all(isinstance(one, list) and len(one) == 2 for one in found):
            found = merged(found)
        told = sorted({str(one) for one in found})
        if len(told) > 3 and all(isinstance(one, int) for one in found):
            told = [f"{min(found)} to {max(found)}"]  # many counts in one table
        words.append(f"{key} {', '.join(told)}")
    asked = listed(sorted({row["method"] for row in rows}, key=by_number)) if methods else ""
    return ["", "Measured with " + "; ".join(words) + "." + (asked and f" Asked by {asked}.")]


def by_number(name: str) -> list[str | int]:
    """Key that sorts versions: "IdealPoint 9" before "IdealPoint 10", 0.9.0 before 0.10.0."""
    return [int(part) if part.isdigit() else part for part in re.split(r"[ .]", name)]


def listed(words: list[str]) -> str:
    """As in a sentence: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def merged(ranges: list[list[int]]) -> list[list[int]]:
    """First and last of ranges, those that overlap taken together."""
    found: list[list[int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1]:
            found[-1] = [found[-1][0], max(last, found[-1][1])]
        else:
            found.append([first, last])
    return found


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many digits, without an exponent where that reads better."""
    if value is None:
        return "∞"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        text = f"{value:.{digits}g}"
        return f"{value:.0f}" if "e" in text or abs(value) >= 10**digits else text
    mantissa, exponent = f"{value:.{max(digits - 1, 0)}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


# -- one function a table --------------------------------------------------------------------------


def overhead() -> list[str]:
    rows = read("overhead")
    lines = {
        "RDNGD, Rayleigh d = 100, an iteration: in all": "Rayleigh d=100, in all",
        "the same, without f": "Rayleigh d=100, without f",
        "a loop written by hand on pymanopt's sphere: in all": "pymanopt loop, Rayleigh d=100",
        "the same, without f ": "pymanopt loop, without f",
        "RDNGD, 64 runs in one batch, a run and iteration": "Rayleigh d=100, 64 runs",
        "RDNGD, Karcher mean n = 10 (50 matrices), an iteration": "Karcher n=10, in all",
        "a loop by hand on pymanopt's SPD matrices": "pymanopt loop, Karcher n=10",
        "a run of one iteration": "Rayleigh d=100, a run of one",
    } | {
        f"the default method, a duel without f, sphere d = {d}": f"default, sphere d={d}, without f"
        for d in (30, 100, 300)
    }
    used = {label: rows[key] for label, key in lines.items() if key in rows}
    cells = [(label.strip(), number(row["microseconds"])) for label, row in used.items()]
    return markdown(("what", "μs"), cells) + about(used.values())


def batches() -> list[str]:
    """Many problems at once beside one by one: duels, what is left, time."""
    rows = sorted(read("batches").values(), key=itemgetter("d", "method"))

    def cells(row: dict[str, Any]) -> list[str]:
        gaps = [", ".join(number(gap, 2) for gap in row[key]) for key in ("gap", "gap alone")]
        return [
            f"{row['method']}, d = {row['d']}",
            f"{row['duels']:.0f}, {row['duels alone']:.0f}",
            *gaps,
            f"{number(row['ms'], 2)}, {number(row['ms alone'])}",
            number(row["faster"], 2),
        ]

    heads = ("method", "duels", "gap at once", "gap one by one", "ms a problem", "times faster")
    return markdown(heads, map(cells, rows)) + about(rows, "problems", "alone", "seeds")


def gpu() -> list[str]:
    """Tests that passed there, milliseconds a problem, and rates of the attack."""
    rows = read("gpu")
    if not rows:
        return ["Not measured yet."]
    cells = []
    for name, row in rows.items():
        if "ms" in row:
            said = f"{number(row['ms']['cpu'])} ms a problem", f"{number(row['ms']['cuda'])} ms"
        elif "bare" in row:
            said = f"bare network {row['bare']:,.0f} a second", f"{row['attack']:,.0f} a second"
        else:
            said = "", f"{row['passed']} passed, {row['failed']} failed"
        cells.append([name, *said])
    return markdown(("what", "beside it", "on the GPU"), cells) + about(rows.values(), "device")


def geometry_ratios() -> list[str]:
    rows = {k: v for k, v in read("geometry").items() if not k.startswith("accuracy")}

    def ratio(manifold: str, k: int, operation: str) -> str:
        times = rows.get(f"{manifold} x {k} {operation}", {}).get("microseconds", {})
        best = min((times[peer] for peer in PEERS if peer in times), default=None)
        return "–" if best is None else number(best / times["geoduel"], 2)

    manifolds = list(dict.fromkeys(key.split(" x ")[0] for key in rows))
    cells = []
    for manifold in manifolds:
        cell = {op: [ratio(manifold, k, op) for k in SIZES] for op in OPERATIONS}
        shown = ["–" if set(c) == {"–"} else ", ".join(c) for c in cell.values()]
        cells.append([manifold, *shown])
    return markdown(("", *OPERATIONS), cells) + about(rows.values())


def geometry_accuracy() -> list[str]:
    rows = {k: v for k, v in read("geometry").items() if k.startswith("accuracy")}
    manifolds = list(dict.fromkeys(key.split()[1] for key in rows))

    def error(manifold: str, package: str) -> str:
        found = []
        for operation in ("exp", "log", "dist"):
            row = rows[f"accuracy {manifold} {operation}"]
            if package in row["infinite"]:
                found.append("inf")
            else:
                value = row["errors"].get(package)
                found.append("–" if value is None else number(value, 1))
        return "–" if set(found) == {"–"} else "; ".join(found)

    packages = ("geoduel", *PEERS)
    cells = [[f"{m} exp; log; dist", *(error(m, p) for p in packages)] for m in manifolds]
    return markdown(("", *packages), cells) + about(rows.values())


PROBLEMS = {
    "quadratic-30-1e0": "quadratic d = 30, condition 1",
    "quadratic-30-1e2": "condition 1e2",
    "quadratic-30-1e4": "condition 1e4",
    "rosenbrock-20": "Rosenbrock d = 20",
    "karcher-5": "Karcher mean n = 5",
    "karcher-10": "Karcher mean n = 10",
    "rayleigh-100": "Rayleigh n = 100",
    "rayleigh-150": "Rayleigh n = 150",
}


def duels() -> list[str]:
    rows, cells, used = read("duels"), [], []
    for problem, label in PROBLEMS.items():
        for method, words in {"auto": "", "duel-csa": ", DuelCSA alone"}.items():
            row = rows.get(f"{problem} {method}")
            if row is None:
                continue
            used.append(row)
            low, high = (number(v, 5) for v in row["range"])
            last = row["duels"][-1]
            over = "" if last is None else number(last / row["bound"], 2)
            cells.append(
                [label + words, *(number(v, 5) for v in row["duels"]), over, f"{low}–{high}"]
            )
    heads = ("problem", "1e-3", "1e-6", "1e-9", "×", "range at 1e-9")
    return markdown(heads, cells) + about(used, "seeds")


def duels_noise() -> list[str]:
    rows, lines, used = read("duels"), [], []
    for d in (30, 5, 2):
        found = {m: rows.get(f"quadratic-{d}-1e2 20% flips {m}") for m in ("auto", "duel-csa")}
        both = {m: row for m, row in found.items() if row is not None}
        if not both:
            continue
        used += both.values()
        after = [f"{n:,}" for n in next(iter(both.values()))["after"]]
        cells = [
            [
                {"auto": "default", "duel-csa": "DuelCSA"}[m],
                *(f"{v:.1e}".replace("e-0", "e-") for v in row["median"]),
                f"{row['worst'][-1]:.1e}".replace("e-0", "e-"),
            ]
            for m, row in both.items()
        ]
        lines += [*markdown((f"d = {d}", *after, "worst, last"), cells), ""]
    return lines[:-1] + about(used, "seeds")


def duels_rankings() -> list[str]:
    rows, lines, used = read("duels"), [], []
    for key, row in rows.items():
        ranked = rows.get(f"{key} rankings of 8")
        if not key.startswith("ranked ") or ranked is None:
            continue
        used += [row, ranked]
        name, _, method = key.removeprefix("ranked ").rpartition(" ")
        label = name + {"auto": "", "duel-csa": ", DuelCSA"}[method]
        least = f"{row['goal']:.0e}".replace("e-0", "e-")
        numbers = (number(each, 4) for each in (row["duels"], ranked["rounds"], ranked["duels"]))
        lines.append([label, least, *numbers])
    heads = ("problem", "goal", "duels alone", "rankings of 8: calls", "their comparisons")
    return markdown(heads, lines) + about(used, "seeds")


def _people(cells: dict[str, str], measured: Callable[[dict[str, Any]], str]) -> list[str]:
    rows = read("people")
    used = {label: rows[key] for key, label in cells.items() if key in rows}
    lines = []
    for label, row in used.items():
        mean, low, high = map(percent, row["region"])
        lines.append([label, measured(row), f"{mean} ({low} to {high})"])
    heads = ("people", "measured", "80 % region: mean from the 5th answer on (range)")
    return markdown(heads, lines) + about(used.values(), "people", "seeds", methods=True)


def tilts() -> list[str]:
    cells = {f"tilt-{d}": f"tilt {d}°" for d in (9, 20, 38)} | {
        "tilt-hard-jnd-x3": "hard people, JND assumed 3 times too large",
        "tilt-hard-jnd-/3": "hard people, JND assumed 3 times too small",
        "tilt-left": '"left" one time in ten whatever is shown',
    }

    def measured(row: dict[str, Any]) -> str:
        share = row["share"]
        return (
            f"{row['80 %']} and {row['95 %']} answers "
            f"(7: {percent(share[6])}, 10: {percent(share[9])})"
        )

    return _people(cells, measured)


def people() -> list[str]:
    spaces = {"S^2": "S²", "SO(3)": "SO(3)", "S^5": "S⁵"}
    cells = {}
    for key, label in spaces.items():
        cells |= {key: f"{label}, alike in all directions", f"{key}-metric": f"{label}, metric"}
    for key, label in list(spaces.items())[:2]:
        cells |= {
            f"{key}-hard-jnd-x3": f"{label}, hard people, JND assumed 3 times too large",
            f"{key}-hard-jnd-/3": f"{label}, hard people, JND assumed 3 times too small",
            f"{key}-crowd": f"{label}, eight raters",
        }

    def measured(row: dict[str, Any]) -> str:
        last = row["median"][-1]
        return (
            f"5° in {row['5 degrees']}, 1° in {row['1 degree']}; "
            f"{number(last, 2)}° after {len(row['median'])}"
        )

    return _people(cells, measured)


SPACES = {
    "SO(2)": "tilts",
    "S^2": "S²",
    "SO(3)": "SO(3)",
    "Simplex(4)": "Simplex(4)",
    "SPD(2)": "SPD(2)",
    "S^5": "S⁵",
    "R^4": "R⁴",
    "S^9": "S⁹",
    "S^31": "S³¹",
    "R^20": "R²⁰",
}


def _by_space(
    part: str, cells: dict[str, Cell], shown: Callable[[str, dict[str, Any]], str]
) -> list[str]:
    """A table with a row for each kind of person and a column for each space."""
    stored = read("people")
    rows = {
        (cell.kind, cell.space): stored[f"{part} {name}"]
        for name, cell in cells.items()
        if f"{part} {name}" in stored
    }
    if not rows:
        return ["Not measured yet."]
    spaces = [space for space in SPACES if any(space == s for _, s in rows)]
    lines = [
        [kind, *(shown(kind, rows[kind, s]) if (kind, s) in rows else "–" for s in spaces)]
        for kind in dict.fromkeys(kind for kind, _ in rows)
    ]
    heads = ("people", *(SPACES[space] for space in spaces))
    return markdown(heads, lines) + about(rows.values(), "people", "seeds", methods=True)


WANTED = 1.5  # JND, the median
HARD = {"asymmetric 20 %": 2.5, "saturating at 15 JND": 2.5}  # wanted of these


def _reached(kind: str, row: dict[str, Any]) -> str:
    low, high = number(row["regret"], 2), number(row["90 %"], 2)
    if row["regret"] > HARD.get(kind, WANTED):
        low = f"**{low}**"
    inside, also = percent(row["inside"]), percent(row["as good"])
    return f"{low}, {high}, {inside}" + (f" ({also})" if also != inside else "")


def kinds() -> list[str]:
    cells = {name: cell for name, cell in GRID.items() if cell.kind not in UNSEEN}
    return _by_space("grid", cells, _reached)


def unseen() -> list[str]:
    cells = {name: cell for name, cell in GRID.items() if cell.kind in UNSEEN}
    return _by_space("grid", cells, _reached)


def versions() -> list[str]:
    """Which methods the cells of each column of `kinds` and `unseen` are of, and how many are."""
    stored = read("people")
    counts: dict[str, Counter[str]] = {}
    for name, cell in GRID.items():
        if row := stored.get(f"grid {name}"):
            counts.setdefault(cell.space, Counter())[row["method"]] += 1
    lines = [
        [SPACES[s], ", ".join(f"{m} ({counts[s][m]})" for m in sorted(counts[s], key=by_number))]
        for s in SPACES
        if s in counts
    ]
    return markdown(("space", "methods, and how many kinds"), lines)


def late() -> list[str]:
    def told(kind: str, row: dict[str, Any]) -> str:
        after = [row["after"][n] for n in ("20", "40", "60")]
        return ", ".join(f"{number(one['regret'], 2)} ({percent(one['inside'])})" for one in after)

    return _by_space("late", LATE, told)


def habits() -> list[str]:
    def told(kind: str, row: dict[str, Any]) -> str:
        return ", ".join(percent(row["told"][n]) for n in ("20", "30", "40"))

    return _by_space("habits", HABITUAL, told)


def far() -> list[str]:
    stored = read("people")
    rows = {name: stored[f"far {name}"] for name in FAR if f"far {name}" in stored}
    if not rows:
        return ["Not measured yet."]
    cells = []
    for name, row in rows.items():
        cell = FAR[name]
        label = SPACES[cell.space] + (f", {cell.off:g}° off" if cell.start else ", no `x0`")
        mean, low, high = map(percent, row["region"])
        cells.append([label, row["half"], row["80 %"], f"{mean} ({low} to {high})"])
    heads = ("ideal", "half of the people in", "80 % in", "80 % region: mean (range)")
    return markdown(heads, cells) + about(rows.values(), "people", "seeds", methods=True)


def ceiling() -> list[str]:
    """What `people_ceiling.py` reaches, who is told all but the ideal, beside the method."""
    told, own = read("people_ceiling"), read("people")
    rows = {(cell.kind, cell.space): told[name] for name, cell in GRID.items() if name in told}
    if not rows:
        return ["Not measured yet."]
    spaces = [space for space in SPACES if any(space == s for _, s in rows)]
    lines = [
        [
            kind,
            *(
                f"{number(rows[kind, s]['regret'], 2)};"
                f" {number(own[f'grid {s}: {kind}']['regret'], 2)}"
                if (kind, s) in rows
                else "–"
                for s in spaces
            ),
        ]
        for kind in dict.fromkeys(kind for kind, _ in rows)
    ]
    heads = ("people", *(SPACES[space] for space in spaces))
    return markdown(heads, lines) + about(rows.values(), "people", "seeds")


FORMS = {
    "pairs": "the better of two",
    "strengths": "the same, and how much",
    "best": "the best of four",
    "best and worst": "the best and the worst of four",
    "ranking": "a ranking of four",
}


def _answers_of(row: dict[str, Any] | None) -> str:
    """Answers of `rankings.py` to a median regret of 1.5 and 1 JND; how often the region held."""
    if row is None:
        return "–"
    after = " / ".join(str(row["after"][below] or "–") for below in ("1.5", "1.0"))
    return f"{after} ({percent(row['inside'])})"


def rankings() -> list[str]:
    """Answers that people need, by the form of the question."""
    rows = {k: row for k, row in read("rankings").items() if not k.endswith("strengths")}
    if not rows:
        return ["Not measured yet."]
    lines = []
    for space, kind in dict.fromkeys(tuple(name.split(": ")[:2]) for name in rows):
        of = (rows.get(f"{space}: {kind}: {form}") for form in FORMS if form != "strengths")
        lines.append([SPACES[space], kind, *map(_answers_of, of)])
    heads = ("space", "people", *(name for form, name in FORMS.items() if form != "strengths"))
    return markdown(heads, lines) + about(rows.values(), "people", "seeds")


def strengths() -> list[str]:
    """Answers that people need who say how much better a point is, and who do not."""
    rows = read("rankings")
    ways = {
        "pairs": "no strengths",
        "strengths": "clear beyond a threshold",
        "arbitrary strengths": "clear by a coin",
    }
    lines, used = [], []
    for cell in (name.removesuffix(": strengths") for name in rows if name.endswith(": strengths")):
        of = [rows.get(f"{cell}: {way}") for way in ways]
        used += [row for row in of if row]
        space, kind = cell.split(": ")
        lines.append([SPACES[space], kind, *map(_answers_of, of)])
    if not lines:
        return ["Not measured yet."]
    return markdown(("space", "people", *ways.values()), lines) + about(used, "people", "seeds")


def mixed() -> list[str]:
    """Duels of `mixed.py`: the default's, those of runs that know something, and the ratio."""
    rows = read("mixed")
    ways = ("default", "knows categories", "knows all values", "relaxed")
    lines = []
    for family in ("separable", "ties", "flips", "shifted", "shifted with flips", "shifted far"):
        of = [rows.get(f"{family}: {way}") for way in ways]
        if not any(of):
            continue
        needed = ["–" if row is None else number(row["duels"], 3) for row in of]
        right = ["" if row is None else f" ({percent(row['right'])})" for row in of]
        ratio = "–"
        if of[0] and of[1] and of[0]["duels"]:
            ratio = number(of[0]["duels"] / of[1]["duels"], 2)
        last = needed[3] + right[3]
        lines.append([family, needed[0] + right[0], needed[1], ratio, needed[2], last])
    if not lines:
        return ["Not measured yet."]
    heads = (
        "loss", "default (right categories)", "knows the categories", "×", "knows all values",
        "relaxed (right categories)",
    )  # fmt: skip
    said = "Medians of the duels until the gap stays below 1e-6 of the first, with flips 1e-2."
    return [*markdown(heads, lines), *about(rows.values(), "runs", "seeds"), "", said]


def ranking_times() -> list[str]:
    """Time to a median regret of 1 JND relative to pairs, by two assumptions about a glance."""
    rows = read("rankings")
    # Answers to choose from in turn, of four points; the last one of a ranking is between two. With
    # a strength there are four answers to two points.
    stages = {
        "pairs": [2],
        "strengths": [4],
        "best": [4],
        "best and worst": [4, 3],
        "ranking": [4, 3, 2],
    }
    points = {form: 2 if form in ("pairs", "strengths") else 4 for form in FORMS}
    cells = dict.fromkeys(name.rpartition(": ")[0] for name in rows)
    cells = [cell for cell in cells if not cell.startswith("SO(2)")]  # which shows three
    lines = []
    for form, name in FORMS.items():
        both = [[rows.get(f"{cell}: {f}") for f in (form, "pairs")] for cell in cells]
        after = [[row and row["after"]["1.0"] for row in pair] for pair in both]
        shares = [math.log(ours / pairs) for ours, pairs in after if ours and pairs]
        if not shares:
            continue
        share = math.exp(sum(shares) / len(shares))
        decide = sum(math.log2(k + 1) for k in stages[form]) / math.log2(3)
        times = (1.0, decide, points[form] / 2)
        lines.append([name, *(number(share * time, 2) for time in times)])
    if not lines:
        return ["Not measured yet."]
    heads = ("question", "answers", "time, if deciding takes it", "time, if looking takes it")
    return markdown(heads, lines)


MANY = {
    "ideal-direction": "`ideal-direction`",
    "auto": "`auto` with `min_radius`",
    "random": "random pairs, a fit",
    "line": "line search",
    "eubo": "BoTorch",
}


def _many() -> dict[tuple[str, str, str], dict[str, dict[str, Any]]]:
    """Rows of `many_dims.py` by method, for each space, kind and distance."""
    found: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for name, row in read("many_dims").items():
        space, kind, off, method = name.split(": ")
        found.setdefault((space, kind, off), {})[method] = row
    return found


def many_dims() -> list[str]:
    """Answers of `many_dims.py` to a median regret of 2 JND, by method."""
    cells = _many()
    if not cells:
        return ["Not measured yet."]

    def shown(row: dict[str, Any] | None) -> str:
        if row is None:
            return "–"
        felt = row["medians"]
        at = [n for n in ("50", "150") if n in felt] or list(felt)
        reached = str(row["after"] or f">{row['answers']}")
        course = ", ".join(number(felt[n], 2) for n in at)
        return f"{reached} ({course}{'' if '50' in at else f' after {at[-1]}'})"

    run = [method for method in MANY if any(method in of for of in cells.values())]
    lines = [
        [SPACES[space], f"{kind}, {off}°", *(shown(of.get(method)) for method in run)]
        for (space, kind, off), of in cells.items()
    ]
    heads = ("space", "people", *(MANY[method] for method in run))
    rows = [row for of in cells.values() for row in of.values()]
    return markdown(heads, lines) + about(rows, "people", "seeds")


def many_dims_regions() -> list[str]:
    """How often the region of `ideal-direction` held in the end, and what an answer costs."""
    rows = {cell: of["ideal-direction"] for cell, of in _many().items() if "ideal-direction" in of}
    if not rows:
        return ["Not measured yet."]
    lines = [
        [
            SPACES[space],
            f"{kind}, {off}°",
            percent(row["inside"]),
            f"{number(row['stated'], 2)}°",
            number(row["ms"], 2),
        ]
        for (space, kind, off), row in rows.items()
    ]
    heads = ("space", "people", "held", "radius", "ms, 95 % below")
    return markdown(heads, lines)


RIVALS = {
    "scipy": "SciPy",
    "questplus": "QUEST+",
    "choix": "choix",
    "optuna": "Optuna",
    "eubo": "BoTorch",
    "aepsych": "AEPsych",
}
FELT = 0.1  # JND: whoever is nearer by less is not ahead


def rivals() -> list[str]:
    own, others = read("people"), read("people_rivals")
    shown: dict[tuple[str, str], dict[str, float]] = {}  # by kind and space: how far behind
    lines, used = [], []
    for rival, label in RIVALS.items():
        people, ahead, cells = set(), [], 0
        for name, cell in GRID.items():
            mine, row = own.get(f"grid {name}"), others.get(f"{rival} {name}")
            if mine is None or row is None or mine["seeds"][0] != row["seeds"][0]:
                continue
            used += [mine, row]
            cells += 1
            n = min(mine["people"], row["people"])  # the same people
            people.add(n)
            a, b = (median(r["each"][:n]) for r in (mine, row))
            text = f"{number(a, 2)}; {label} {number(b, 2)}"
            if b < a - FELT:
                ahead.append(f"{SPACES[cell.space]}, {cell.kind}")
                text = f"**{text}**"
            shown.setdefault((cell.kind, cell.space), {})[text] = b - a
        if cells:
            which = ", ".join(map(str, sorted(people)))
            lines.append([label, str(cells), which, "; ".join(ahead) or "none"])
    if not used:
        return ["Not measured yet."]
    spaces = [space for space in SPACES if any(space == s for _, s in shown)]
    rows = [
        [
            kind,
            *(min(shown.get((kind, s), {"–": 0.0}).items(), key=itemgetter(1))[0] for s in spaces),
        ]
        for kind in dict.fromkeys(cell.kind for cell in GRID.values())
        if any(kind == k for k, _ in shown)
    ]
    return [
        *markdown(("people", *(SPACES[s] for s in spaces)), rows),
        "",
        *markdown(("other", "cells", "people a cell", "ahead in"), lines),
        *about(used),
    ]


def attack() -> list[str]:
    rows = read("attack")
    marks = max((row["marks"] for row in rows.values()), key=len)
    cells = [
        [
            key,
            row["knows"],
            str(row["n"]),
            *(f"{share:.2f}" for share in row["success"]),
            *[""] * (len(marks) - len(row["marks"])),
        ]
        for key, row in rows.items()
    ]
    heads = ("images and method", "knows beforehand", "n", *(f"{m:,}" for m in marks))
    return markdown(heads, cells) + about(rows.values(), "eps", "seed")


def attack_rivals() -> list[str]:
    """Smallest perturbations of several attacks at equal queries, the best of each kind first."""
    rows = read("attack_rivals")
    marks = max((row["marks"] for row in rows.values()), key=len)
    norms = {"l2": "L2", "linf": "L∞"}

    def order(item: tuple[str, dict[str, Any]]) -> tuple[Any, ...]:
        key, row = item
        last = row["median"][-1]
        return key.split(",")[0] != "digits", row["norm"], math.inf if last is None else last

    def cell(row: dict[str, Any], i: int) -> str:
        if i >= len(row["marks"]):
            return ""
        share = f"{row['within'][i]:.2f}"
        fixed = all(value is None for value in row["median"])
        return f"– ({share})" if fixed else f"{number(row['median'][i])} ({share})"

    cells = [
        [key.replace(", L∞", ""), row["sees"], norms[row["norm"]]]
        + [cell(row, i) for i in range(len(marks))]
        for key, row in sorted(rows.items(), key=order)
    ]
    heads = ("images and attack", "sees", "norm", *(f"{m:,}" for m in marks))
    return markdown(heads, cells) + about(rows.values(), "n", "near", "seed")


def studies() -> list[str]:
    rows, cells = read("studies"), []
    for key, row in rows.items():
        what, _, rest = key.partition(" ")
        if what == "wait":
            text = f"`ask` and `tell` after 200 answers, {rest}"
            cells.append([text, f"{row['median']:.0f} ms, worst of 20 {row['worst']:.0f} ms"])
        elif what == "load":
            told = f"loading {row['load']:.2f} s, full replay {row['replay']:.1f} s"
            if "wait" in row:
                told += f", export {row['export']:.1f} s ({row['megabytes']:.1f} MB)"
                told += f", `ask` and `tell` {1e3 * row['wait']:.0f} ms"
            cells.append([f"{row['answers']:,} answers, {rest.split()[0]}", told])
        elif what == "share":
            text = f"{row['duels']} duels of 40 ms, {row['seeds']} seeds: "
            if rest == "ideal":
                text += "if no worker ever waited for a question"
                cells.append([text, f"{row['share']:.2f} of one process's time"])
                continue
            busy = f"measured, {row['load']:.0f} programs on two cores"
            text += busy if rest == "measured" else f"by time of the processor, {rest} of one's own"
            told = f"{row['four']:.1f} s in place of {row['alone']:.1f} s"
            cells.append([f"four processes beside one, {text}", f"{told}: {row['share']:.2f}"])
        else:
            text = f"{row['workers']} processes on one {rest} database, {row['answers']:,} answers"
            lost = f"{row['lost']} lost, {row['doubled']} doubled"
            cells.append([text, f"{lost}; {row['rate']:.0f} answers a second"])
    return markdown(("what", "result"), cells) + about(rows.values())


# -- geoduel bench ---------------------------------------------------------------------------------

BENCH_SUITES = {
    "manifolds": "on manifolds", "bbob": "bbob", "mixint": "whole numbers", "noise": "noise",
    "paper": "the paper",
}  # fmt: skip


@cache
def bench_runs() -> list[dict[str, Any]]:
    return load(RESULTS / "bench.jsonl.gz")


def bench_about(rows: list[dict[str, Any]]) -> list[str]:
    versions = ", ".join(sorted({row["geoduel"] for row in rows}))
    seeds = max(len({r["seed"] for r in each}) for each in split(rows, "problem").values())
    budgets = " and ".join(str(b) for b in sorted({row["budget"] for row in rows}))
    return [
        "",
        f"{len(rows)} runs, geoduel {versions}; at most {seeds} seeds a problem, "
        f"and {budgets} d duels.",
    ]


def bench_areas(suite: str, ending: str = "") -> list[str]:
    """Areas by group, a row a method, the best first."""
    rows = [r for r in bench_runs() if r["suite"] == suite and r["group"].endswith(ending)]
    if not rows:
        return ["Not measured yet."]
    found = areas(rows)
    total = found.pop("all")
    order = sorted(total, key=lambda m: -total[m])
    best = {group: max(row.values()) for group, row in (*found.items(), ("all", total))}

    def cell(group: str, value: float) -> str:
        text = f"{value:.3f}"
        return f"**{text}**" if text == f"{best[group]:.3f}" else text

    cells = [
        [f"`{m}`", *(cell(g, found[g][m]) for g in found), cell("all", total[m])] for m in order
    ]
    heads = [group.removesuffix(ending) for group in found]
    return markdown(("method", *heads, "mean"), cells) + bench_about(rows)


def bench_when() -> list[str]:
    """For each situation the methods whose area is within a twentieth of the best one's."""
    cells, used = [], []
    for suite, where in BENCH_SUITES.items():
        rows = [r for r in bench_runs() if r["suite"] == suite]
        used += rows
        for group, row in areas(rows).items():
            if group == "all":
                continue
            order = sorted(row, key=lambda m: -row[m])
            near = [f"`{m}`" for m in order if row[m] >= 0.95 * row[order[0]]]
            others = [m for m in order if m not in OWN_METHODS]
            cells.append(
                [
                    f"{where}: {group}",
                    ", ".join(near),
                    f"{row[order[0]]:.3f}",
                    f"{row['auto']:.3f}" if "auto" in row else "–",
                    f"`{others[0]}` {row[others[0]]:.3f}" if others else "–",
                ]
            )
    heads = ("where", "within 5 % of the best", "best", "default", "best of others")
    if not cells:
        return ["Not measured yet."]
    return markdown(heads, cells) + bench_about(used)


def bench_costs() -> list[str]:
    """Evaluations a duel and faults: by method, over all suites."""
    cells = []
    if not bench_runs():
        return ["Not measured yet."]
    for m, rows in split(usable(bench_runs()), "method").items():
        asked = [r for r in rows if r["duels"]]
        failed = sum(r["stop"].startswith("failed") for r in rows)
        cells.append(
            [
                f"`{m}`",
                str(len(rows)),
                f"{sum(r['evaluations'] for r in asked) / sum(r['duels'] for r in asked):.2f}",
                str(failed or "–"),
            ]
        )
    cells.sort()
    heads = ("method", "runs", "evaluations a duel", "failed runs")
    return markdown(heads, cells) + bench_about(bench_runs())


def crowds() -> list[str]:
    rows = read("crowds")
    if not rows:
        return ["Not measured yet."]
    cells = [
        [
            name.replace("^2", "²"),
            str(row["crowds"]),
            row["method"],
            ", ".join(map(str, row["after"].values())),
            str(row["right"]),
            number(row["camp"], 2),
            number(row["own"], 2),
        ]
        for name, row in rows.items()
    ]
    heads = (
        "crowds",
        "how many",
        "asked by",
        "several camps after 10, 15, 20",
        "members right",
        "camp's result, °",
        "own, °",
    )
    return markdown(heads, cells) + about(rows.values(), "seeds")


def catalogues() -> list[str]:
    rows = read("catalogues")
    if not rows:
        return ["Not measured yet."]
    cells = []
    for name, row in rows.items():
        share = row["share"]
        cells.append(
            [
                name.replace("^2", "²").replace("^15", "¹⁵"),
                str(row["people"]),
                *(percent(share[n]) for n in ("15", "20", "25")),
                number(row["better"], 2),
                number(row["ms"], 2),
            ]
        )
    heads = (
        "items and ideals",
        "people",
        "after 15",
        "after 20",
        "after 25",
        "better items",
        "ms an answer",
    )
    return markdown(heads, cells) + about(rows.values(), "items", "seeds")


def level() -> list[str]:
    rows = read("level")
    if not rows:
        return ["Not measured yet."]
    cells = []
    for name, row in rows.items():
        (median, high), (error, far, most) = row["answers"], row["error"]
        cells.append(
            [
                name,
                f"{median:g} ({high:g})",
                f"{number(error, 2)} ({number(far, 2)}; {number(most, 2)})",
                percent(row["within"]),
                f"{number(row['guess'][0], 2)} ({number(row['guess'][1], 2)})",
            ]
        )
    heads = (
        "people",
        "answers (90 %)",
        "error, ° (90 %; largest)",
        "within 1.5°",
        "the guess off by, ° (90 %)",
    )
    return markdown(heads, cells) + about(rows.values(), "photos", "people", "seeds")


def digits() -> list[str]:
    """Worst errors of the geometry in rounding units, double and single precision."""
    rows = read("digits")
    if not rows:
        return ["Not measured yet."]
    known = {  # manifolds that are others of the package
        "Sphere(3, 2)": "ComplexSphere(3)",
        "Power(Sphere(3), 2)": "Oblique(3, 2)",
        "Product(Rotations(3), Euclidean(3), names=('rotation', 'translation'))": "SE(3)",
    }
    cells = []
    for name, row in rows.items():
        found = [
            ", ".join(
                number(row[dtype][op], 2) if op in row[dtype] else "–"
                for dtype in ("float64", "float32")
            )
            for op in ("exp", "log", "dist", "digits")
        ]
        cells.append([known.get(name, name), *found])
    heads = ("", "exp", "log", "dist", "dist, relative")
    return markdown(heads, cells) + about(rows.values(), "seeds")


def faults() -> list[str]:
    rows = read("faults")
    if not rows:
        return ["Not measured yet."]
    groups = {
        "killed while asking, answering, taking back": (
            ", ",
            "rdngd duel-newton duel-csa bisection",
        ),
        "killed in an import": (", imports", ""),
        "the server killed": (", server", ""),
    }
    cells = []
    for place in ("sqlite", "postgresql"):
        for label, (mark, methods) in groups.items():
            own = [
                row
                for name, row in rows.items()
                if name.startswith(place + mark)
                and (not methods or name.split(", ")[1] in methods.split())
            ]
            if own:
                bad = ("lost", "doubled", "torn", "unsound", "errors", "differ")
                kills, wrong = (
                    sum(row.get(key, 0) for row in own for key in keys)
                    for keys in (("kills",), bad)
                )
                where = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[place]
                cells.append([f"{where}, {label}", str(kills), str(wrong)])
    for name, row in rows.items():
        if ", " not in name:
            cells.append([name, "–", str(row["errors"])])
    return markdown(("fault", "kills", "wrong"), cells) + about(rows.values())


def bad_oracles() -> list[str]:
    rows = read("reliability_methods")
    if not rows:
        return ["Not measured yet."]
    cells = [
        [name, str(r["runs"]), str(r["runs"] - r["kept"]), r["ends"]] for name, r in rows.items()
    ]
    return markdown(("answers", "runs", "wrong", "what ended them"), cells) + about(rows.values())


def boundaries(of: str) -> list[str]:
    """Optima on the boundary of a set: by ``of``, "kind" of the set or "method"."""
    rows = list(read("boundaries").values())
    cells = []
    for name in dict.fromkeys(row[of] for row in rows):
        own = [row for row in rows if row[of] == name]
        runs, wrong, ended = (str(sum(r[key] for r in own)) for key in ("runs", "wrong", "ended"))
        worst = max((r["worst_ended"] or 0.0 for r in own if r["ended"]), default=None)
        shown = f"`{name}`" if of == "method" else name
        far = "–" if worst is None else number(worst, 2)
        cells.append([shown, runs, wrong, ended, far])
    heads = ("set" if of == "kind" else of, "runs", "wrong", "ended", "left then, at worst")
    return markdown(heads, cells) + about(rows, "seeds")


def random_use() -> list[str]:
    """Histories of studies: groups of kinds, each with what was done."""
    rows = read("random_use")
    groups = {
        "methods for people": ("ideal", "bisection"),
        "several points at a time": ("own, choices",),
        "catalogues": ("own, items", "own, few items"),
        "categories, whole numbers, names": ("mixed", "values", "named"),
        "several votes": ("votes",),
        "pairs, other methods": ("",),
    }
    cells, left = [], dict(rows)
    for label, words in groups.items():
        own = [left.pop(name) for name in list(left) if any(word in name for word in words)]
        counts = [sum(row.get(key, 0) for row in own) for key in COUNTED]
        if counts[1]:  # some histories ask nothing
            cells.append([label, *map(str, counts)])
    cells.append(["all", *(str(sum(int(c[i]) for c in cells)) for i in range(1, 5))])
    heads = ("studies", "histories", "questions", "answers", "wrong")
    return markdown(heads, cells) + about(rows.values())


def hostile_exports() -> list[str]:
    """Damaged and forged exports: what became of them."""
    labels = {
        "newton": "pairs",
        "votes": "several votes, repeats",
        "mixed": "categories and whole numbers",
        "bisection": "several raters, reports",
        "rankings": "rankings of four points",
    }
    rows = read("hostile_exports")
    cells = [
        [
            labels[kind],
            *(str(n) for n in (r["refused"] + r["loaded"], r["refused"], r["loaded"], r["wrong"])),
            f"{number(r['slowest'] / 1e3, 2)} s",
        ]
        for kind, r in rows.items()
    ]
    heads = ("study", "files", "refused", "sound", "wrong", "longest")
    return markdown(heads, cells) + about(rows.values(), "seeds")


def long_runs() -> list[str]:
    """Runs of millions of iterations: whether points stay on the manifold, and memory flat."""
    rows = sorted(read("long_runs").values(), key=lambda row: -row["iterations"])
    keys = ("worst", "last", "megabytes")
    cells = [
        [r["manifold"], f"{r['iterations']:,}", *(number(r[key], 2) for key in keys)] for r in rows
    ]
    heads = ("", "iterations", "worst defect", "last defect", "memory gained, MB")
    return markdown(heads, cells) + about(rows)


def mutants() -> list[str]:
    rows = read("mutants")
    if not rows:
        return ["Not measured yet."]

    def cell(name: str, each: Sequence[dict[str, Any]]) -> list[str]:
        modules, drawn, alike, first, killed = (
            sum(row[key] for row in each)
            for key in ("modules", "drawn", "alike", "at_first", "killed")
        )
        shares = [percent(n / (drawn - alike)) for n in (first, killed)]
        for key in ("lines", "branches"):
            run, there = (sum(row[key][k] for row in each) for k in (0, 1))
            shares.append(percent(run / there))
        return [name, *map(str, (modules, drawn, alike)), *shares]

    cells = [cell(f"`{room}`", [row]) for room, row in sorted(rows.items())]
    cells.append(cell("all", list(rows.values())))
    heads = ("where", "modules", "mutants", "mean the same", "killed at first", "killed")
    return markdown((*heads, "lines", "branches"), cells) + about(
        rows.values(), "seed", "seconds", "watched"
    )


LOOKS = {
    "looks": "looks",
    "none": "not stated",
    "tenth": "below 1/10",
    "thousandth": "below 1/1000",
    "tenfold": "above tenfold",
}


def stated() -> list[str]:
    """How far the optimum is, and what runs say: a row a function, over dimensions."""
    rows = [row for row in read("stated").values() if row.get("answers", "right") == "right"]
    return markdown(["function", *LOOKS.values()], looks(rows, "function")) + about(rows, "seeds")


def stated_noise() -> list[str]:
    """The same with wrong answers and ties: a row for each kind of answers, over functions."""
    rows = [row for row in read("stated").values() if row.get("answers", "right") != "right"]
    table = looks(rows, "answers")
    for cells in table:
        found = [row for row in rows if row["answers"] == cells[0]]
        within, counted = (sum(row[key] for row in found) for key in ("within", "counted"))
        cells.append(percent(within / counted))
    return markdown(["answers", *LOOKS.values(), "within"], table) + about(rows, "seeds")


def looks(rows: list[dict[str, Any]], by: str) -> list[list[str]]:
    """How often runs were looked at, and what they said, summed over rows of one function or so."""
    table = []
    for name in dict.fromkeys(row[by] for row in rows):
        found = [row for row in rows if row[by] == name]
        table.append([name, *(str(sum(row[key] for row in found)) for key in LOOKS)])
    return table


TABLES: dict[str, Callable[[], list[str]]] = {
    "overhead": overhead,
    "batches": batches,
    "gpu": gpu,
    "geometry-ratios": geometry_ratios,
    "geometry-accuracy": geometry_accuracy,
    "duels": duels,
    "duels-noise": duels_noise,
    "duels-rankings": duels_rankings,
    "stated": stated,
    "stated-noise": stated_noise,
    "people": people,
    "tilts": tilts,
    "kinds": kinds,
    "unseen": unseen,
    "people-versions": versions,
    "late": late,
    "far": far,
    "habits": habits,
    "ceiling": ceiling,
    "rankings": rankings,
    "mixed": mixed,
    "ranking-times": ranking_times,
    "strengths": strengths,
    "many-dims": many_dims,
    "many-dims-regions": many_dims_regions,
    "rivals": rivals,
    "attack": attack,
    "attack-rivals": attack_rivals,
    "studies": studies,
    "bench-when": bench_when,
    "bench-manifolds": partial(bench_areas, "manifolds"),
    "bench-bbob-2": partial(bench_areas, "bbob", ", d = 2"),
    "bench-bbob-5": partial(bench_areas, "bbob", ", d = 5"),
    "bench-mixint": partial(bench_areas, "mixint", ", d = 5"),
    "bench-noise": partial(bench_areas, "noise"),
    "bench-paper": partial(bench_areas, "paper"),
    "bench-costs": bench_costs,
    "long-runs": long_runs,
    "mutants": mutants,
    "crowds": crowds,
    "catalogues": catalogues,
    "level": level,
    "digits": digits,
    "faults": faults,
    "bad-oracles": bad_oracles,
    "boundaries": partial(boundaries, "kind"),
    "boundary-methods": partial(boundaries, "method"),
    "random-use": random_use,
    "hostile-exports": hostile_exports,
}


def filled(page: str) -> str:
    """The page with its tables as the results have them."""

    def table(match: re.Match[str]) -> str:
        return match[1] + "\n".join(TABLES[match[2]]()) + "\n\n" + match[3]

    return MARKED.sub(table, page)


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 if a page differs")
    check = parser.parse_args().check
    stale = []
    for path in sorted(DOCS.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        new = filled(page)
        if new != page:
            stale.append(path.name)
            if not check:
                path.write_text(new, encoding="utf-8")
    print("changed:" if not check else "stale:", ", ".join(stale) or "none")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
