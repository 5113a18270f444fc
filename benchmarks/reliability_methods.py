"""How methods keep their word whatever the answers are.

Each method is asked on manifolds, domains and dtypes that it claims, one problem or two at once, by
oracles that no method can do well on: always a tie, always the same side, coins, circles, errors,
drift, no minimum. A run must end within its budget and its time, at a point of the manifold and of
the domain, and say what ended it. A failing oracle has to be named, with what was found until then.

    python benchmarks/reliability_methods.py [--full] [--save] [--thin 61] [--minutes 9]
                                             [--seeds 1] [--methods NAME ...] [--rows FILE]

Without arguments every 2999th case; with ``--full`` all, which takes hours: with ``--minutes``, as
many as there is time for, first each method once at each place. Cases that a method refuses before
it asks are not counted: a manifold or a set that it does not claim.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import argparse
import json
import math
import multiprocessing
import random
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from _results import Results
from _results import parser as results_parser

import numpy as np

import geoduel as gd
from geoduel.errors import ArgumentError, OracleError
from geoduel.methods.mixed import is_mixed
from geoduel.methods.named import METHODS as NAMES

BUDGET, SECONDS = 150, 30.0
LATE = 20  # answers after which a failing oracle fails
SHAPES: tuple[tuple[int, ...], ...] = ((), (2,))  # one problem, and two at once

MANIFOLDS: dict[str, gd.Manifold] = {
    "line": gd.Euclidean(1),
    "space": gd.Euclidean(3),
    "sphere": gd.Sphere(3),
    "circle": gd.Sphere(2),
    "SPD": gd.SPD(2),
    "log-Euclidean": gd.SPD(2, metric="log-euclidean"),
    "Bures-Wasserstein": gd.SPD(2, metric="bures-wasserstein"),
    "hyperbolic": gd.Hyperbolic(2),
    "rotations": gd.Rotations(3),
    "turns": gd.Rotations(2),
    "torus": gd.Torus(2),
    "simplex": gd.Simplex(3),
    "Grassmann": gd.Grassmann(3, 1),
    "Stiefel": gd.Stiefel(3, 2),
    "product": gd.Product(gd.Sphere(3), gd.Euclidean(2)),
    "mixed": gd.Product(gd.SPD(2), gd.Hyperbolic(2)),
    "power": gd.Power(gd.Euclidean(2), 2),
    "poses": gd.SE(2),
    "correlations": gd.Correlation(3),
    "oblique": gd.Oblique(3, 2),
    "complex": gd.ComplexSphere(2),
    "unitary": gd.Unitary(2),
    "many": gd.Euclidean(8),
    "values": gd.Product(gd.Categories("a", "b", "c"), gd.Integers(1, 6), gd.Torus(1)),
}
MORE: dict[str, tuple[str, dict[str, Any]]] = {  # methods with settings, by the name in the rows
    "auto, smoothing": ("auto", {"smoothing": 1.0}),
    "auto, restarts": ("auto", {"restarts": 2}),
    "auto, ranking": ("auto", {"ranking": 4}),
    "duel-csa, ranking": ("duel-csa", {"ranking": 4}),
}
METHODS = (*NAMES, *MORE)
SLOW_LOG = {"Stiefel", "Bures-Wasserstein", "unitary", "correlations"}
"""A projection on a ball takes milliseconds there."""
PEOPLE = ("ideal-point", "ideal-direction", "bisection")  # an answer takes them milliseconds


def domains(manifold: gd.Manifold) -> Iterator[tuple[str, gd.Domain | None]]:
    """Feasible sets that a manifold has, with thin ones; None is the whole manifold."""
    yield "none", None
    if is_mixed(manifold):
        return
    center = manifold.random_point(np.random.default_rng(7))
    yield "ball", gd.Ball(manifold, center, 0.3)
    if manifold == gd.Euclidean(3):
        yield "box", gd.Box(np.zeros(3), np.ones(3))
        yield "half-space", gd.Box(np.array([0.0, -np.inf, -np.inf]), np.inf)
        yield "flat box", gd.Box(np.zeros(3), np.array([1.0, 1.0, 0.0]))
        yield "simplex", gd.ProbabilitySimplex(3)
        yield "cross", gd.L1Ball(3, 1.0)
        yield "both", gd.Intersection(gd.L2Ball(3, 1.0), gd.Box(np.zeros(3), np.ones(3)))
        yield "point", gd.Box(np.full(3, 0.3), np.full(3, 0.3))
        yield "tiny ball", gd.Ball(manifold, np.zeros(3), 1e-300)
    if manifold == gd.SPD(2):
        yield "interval", gd.SPDInterval(np.eye(2), 3 * np.eye(2))


# -- oracles ---------------------------------------------------------------------------------------


def _always(answer: Any) -> Callable[[gd.Manifold, np.random.Generator], Any]:
    return lambda manifold, rng: lambda x, y: answer


def _coins(manifold: gd.Manifold, rng: np.random.Generator) -> Any:
    return lambda x, y: int(rng.integers(3)) - 1


def _circle(manifold: gd.Manifold, rng: np.random.Generator) -> Any:
    """Prefers by the sine of a number: whatever is best is beaten."""
    return lambda x, y: int(np.sign(np.sin(9 * (np.sum(x, dtype=float) - np.sum(y, dtype=float)))))


def _late(answer: Callable[[], Any]) -> Callable[[gd.Manifold, np.random.Generator], Any]:
    """Sensible for so many answers, then not."""

    def make(manifold: gd.Manifold, rng: np.random.Generator) -> Any:
        asked = []

        def oracle(x: Any, y: Any) -> Any:
            asked.append(None)
            return answer() if len(asked) > LATE else 1 if x.ravel()[0] > y.ravel()[0] else -1

        return oracle

    return make


def _fail() -> Any:
    raise ZeroDivisionError("the simulator is gone")


def _drift(manifold: gd.Manifold, rng: np.random.Generator) -> Any:
    """The ideal jumps after each answer."""

    def oracle(x: Any, y: Any) -> int:
        ideal = manifold.random_point(rng)
        return int(np.sign(float(manifold.dist(x, ideal)) - float(manifold.dist(y, ideal))))

    return oracle


def _biased(manifold: gd.Manifold, rng: np.random.Generator) -> Any:
    """The first is taken in nine of ten cases."""
    return lambda x, y: -1 if rng.random() < 0.9 else 1 if x.ravel()[0] > y.ravel()[0] else -1


def _objective(f: Callable[[Any], float]) -> Callable[[gd.Manifold, np.random.Generator], Any]:
    return lambda manifold, rng: gd.from_objective(f)


def _writes(manifold: gd.Manifold, rng: np.random.Generator) -> Any:
    def oracle(x: Any, y: Any) -> int:
        answer = 1 if x.ravel()[0] > y.ravel()[0] else -1
        x *= 2
        y[...] = np.nan
        return answer

    return oracle


def _size(x: Any) -> float:
    return float(np.log(np.sum(np.asarray(x, dtype=float) ** 2) + 1e-200))


ORACLES: dict[str, Callable[[gd.Manifold, np.random.Generator], Any]] = {
    "always a tie": _always(0),
    "always the second": _always(1),
    "always the first": _always(-1),
    "coins": _coins,
    "circles": _circle,
    "drifts": _drift,
    "nine of ten the first": _biased,
    "NaN": _late(lambda: float("nan")),
    "None": _late(lambda: None),
    "raises": _late(_fail),
    "linear": _objective(lambda x: float(x.ravel()[0])),
    "linear, upwards": _objective(lambda x: -float(x.ravel()[-1])),
    "larger is better": _objective(lambda x: -_size(x)),
    "smaller is better": _objective(_size),
    "plateaus": _objective(lambda x: float(np.floor(4 * x.ravel()[0]))),
    "writes to its input": _writes,
}
FAILING = {"NaN", "None", "raises"}


# -- runs ------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """What became of a run; ``wrong`` is empty where the method kept its word."""

    method: str
    manifold: str
    domain: str
    dtype: str
    oracle: str
    seed: int
    end: str
    seconds: float
    wrong: str


class Endless(BaseException):
    """A run was not back in time."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise in the main thread after so many seconds of work, whatever else the machine does.

    Where there are no such signals, never.
    """

    def ring(*_: Any) -> None:
        raise Endless

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run(
    method: str,
    manifold: gd.Manifold,
    domain: gd.Domain | None,
    dtype: Any,
    oracle: Any,
    seed: int,
    fails: bool = False,
    budget: int = BUDGET,
    seconds: float = SECONDS,
    lead: tuple[int, ...] = (),
) -> tuple[str, str]:
    """How a run ends, and what is wrong with that; nothing, if the method kept its word.

    With ``lead``, so many problems run at once, each with that budget.
    """
    rng = np.random.default_rng([seed, 1])
    x0 = manifold.random_point(rng, lead).astype(dtype)
    x0 = x0 if domain is None else domain.project(x0)
    asked: list[None] = []
    found: Any = None
    name, options = MORE.get(method, (method, {}))
    options = {"method": name, "domain": domain, "budget": budget, "rng": seed, **options}

    def watched(x: Any, y: Any) -> Any:
        asked.append(None)
        return oracle(*(manifold.pack(p) if isinstance(p, dict) else p for p in (x, y)))

    try:
        with time_limit(seconds), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", gd.errors.GeoduelWarning)
            found = gd.minimize(watched, manifold, x0, **options)
        end = found.stop_reason
    except Endless:
        return "endless", f"not back after {seconds:.0f} s"
    except OracleError as error:
        end, found = "OracleError", error.result
        if not fails:
            return end, f"the oracle is blamed: {error}"
    except ArgumentError as error:
        return ("refused", "") if not asked else ("ArgumentError", f"{error}")
    except Exception as error:
        return type(error).__name__, f"{error}"
    ends = set(found.each.stop_reason) if found.each is not None else {end}
    if (
        fails
        and len(asked) > LATE
        and end != "OracleError"
        and not ends <= {"ties", "resolution", "diverges"}
    ):
        return end, "a failing oracle is not named"
    if found.duels > budget:
        return end, f"{found.duels} duels asked, of {budget}"
    x = manifold.pack(found.x)
    try:
        manifold.check_point(x)
    except gd.errors.GeoduelError as error:
        return end, f"{error}"
    if (x.dtype != dtype and x is found.x) or x.shape != x0.shape:
        return end, f"dtype is {x.dtype}, shape {x.shape}"
    if domain is not None and not np.all(domain.contains(x)):
        return end, f"outside of the domain by {float(np.max(domain.violation(x))):.2g}"
    return end, ""


Case = tuple[str, str, str, str, Any, tuple[int, ...], int]


def cases(
    seeds: int = 1,
    methods: Iterable[str] = METHODS,
    manifolds: Iterable[str] = tuple(MANIFOLDS),
    thin: int = 1,
) -> list[Case]:
    """Runs in an order that is drawn; with ``thin``, only every so-manieth.

    Each method comes to each of its places, dtypes and shapes once before it comes there again.
    """
    places = [(place, name) for place in manifolds for name in dict(domains(MANIFOLDS[place]))]
    found: Any = [
        (method, *place, *rest)
        for method, place, *rest in product(
            methods, places, ORACLES, (np.float64, np.float32), SHAPES, range(seeds)
        )
        # Each of their steps takes tens of milliseconds: a numerical linear minimiser, and a cloud
        # of thousands of points, each by a numerical geodesic.
        if not (method == "rdfw" and place[0] in ("Grassmann", "mixed", *SLOW_LOG))
        and not (method in PEOPLE and not MANIFOLDS[place[0]].closed_form)
    ]
    random.Random(0).shuffle(found)
    turns: Counter[tuple[Any, ...]] = Counter()

    def turn(case: Case) -> int:
        method, place, name, _, *rest = case
        turns[method, place, name, *rest] += 1
        return turns[method, place, name, *rest]

    return sorted(found, key=turn)[::thin]


def row(case: Case) -> Row:
    """One run; its end is "refused" where the method does not claim the place."""
    method, place, name, oracle, dtype, lead, seed = case
    manifold = MANIFOLDS[place]
    domain = dict(domains(manifold))[name]
    slow = (place in SLOW_LOG and domain) or method in PEOPLE
    budget = BUDGET // 10 if method in PEOPLE else BUDGET // 5 if slow else BUDGET
    began = time.process_time()
    judge = ORACLES[oracle](manifold, np.random.default_rng([seed, 2]))
    fails = oracle in FAILING
    end, wrong = run(method, manifold, domain, dtype, judge, seed, fails, budget, lead=lead)
    return Row(*label(case), end, time.process_time() - began, wrong)


def label(case: Case) -> tuple[Any, ...]:
    """The entries of a row that say which run it is."""
    method, place, name, oracle, dtype, lead, seed = case
    return method, place, name, np.dtype(dtype).name + str(lead or ""), oracle, seed


def rows_of(
    of: Iterable[Any],
    work: Callable[[Any], Any],
    label: Callable[[Any], tuple[Any, ...]],
    given: argparse.Namespace,
) -> Iterator[list[Any]]:
    """Rows, lists of values, of cases as they are done, until the time is over.

    With ``--rows`` those that the file has are taken from it, and new ones are added: a run can be
    stopped and resumed, and cases are tried again once their lines are taken out.
    """
    until, done = time.monotonic() + 60 * given.minutes, dict[str, list[Any]]()
    if given.rows and given.rows.exists():
        found = [json.loads(line) for line in given.rows.read_text().splitlines()]
        done = {json.dumps(each[0]): each[1] for each in found}
    rest = []
    for case in of:
        known = done.get(json.dumps(label(case)))
        if known is None:
            rest.append(case)
        else:
            yield known
    spawn, many = multiprocessing.get_context("spawn"), given.workers > 1
    with (
        spawn.Pool(given.workers) if many else nullcontext() as pool,
        given.rows.open("a") if given.rows else nullcontext() as out,
    ):
        for row in pool.imap_unordered(work, rest) if pool else map(work, rest):
            values = [None if x == math.inf else x for x in row]
            if out:
                print(json.dumps([values[: len(label(rest[0]))], values]), file=out, flush=True)
            yield values
            if time.monotonic() > until:
                return


def arguments(document: str | None) -> argparse.ArgumentParser:
    """What both scripts about reliability take."""
    found = results_parser(document)
    found.add_argument("--minutes", type=float, default=math.inf, help="after which none begins")
    found.add_argument("--workers", type=int, default=1, help="processes")
    found.add_argument("--rows", type=Path, help="file of rows, to which new ones are added")
    found.add_argument("--methods", nargs="*")
    return found


def table(found: list[Row]) -> list[list[str]]:
    """A line for each oracle: runs, how many methods kept their word, and what ended them."""
    lines = []
    for oracle in ORACLES:
        own = [row for row in found if row.oracle == oracle]
        ends = ", ".join(
            f"{end} {count}" for end, count in Counter(r.end for r in own).most_common()
        )
        kept = sum(not row.wrong for row in own)
        lines.append([oracle, str(len(own)), str(kept), ends])
    return lines


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--thin", type=int, help="run every so-manieth case only")
    given = parser.parse_args()
    thin = given.thin or (1 if given.full else 2999)
    results = Results(__file__, given.save, seeds=given.seeds)
    found = []
    of = cases(given.seeds, given.methods or METHODS, thin=thin)
    for one in (Row(*each) for each in rows_of(of, row, label, given)):
        if one.end != "refused":
            found.append(one)
            print("WRONG" if one.wrong else "right", *one, flush=True)
    for oracle, runs, kept, ends in table(found):
        print(" | ".join((oracle, runs, kept, ends)))
        results.add(oracle, runs=int(runs), kept=int(kept), ends=ends)
    print(dict(Counter(row.method for row in found)))
    print(f"{len(found)} runs of {len(of)}, {sum(bool(one.wrong) for one in found)} wrong")


if __name__ == "__main__":
    main()
