"""How methods keep their word whatever the answers are.

Each method is asked on manifolds, domains and dtypes that it claims, by oracles that no method can
do well on: always a tie, always the same side, coins, circles, errors, drift, no minimum. A run
must end within its budget and its time, at a point of the manifold and of the domain, and say what
ended it. A failing oracle has to be named, with what was found until then.

    python benchmarks/reliability_methods.py [--full] [--save] [--thin 499] [--seeds 1]
                                             [--methods NAME ...]

Without arguments every 499th case; with ``--full`` every 13th.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from _results import Results
from _results import parser as results_parser

import numpy as np

import geoduel as gd
from geoduel.errors import OracleError

BUDGET, SECONDS = 150, 30.0

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
}
METHODS = ("auto", "duel-newton", "duel-csa", "block", "rdngd", "rrdngd", "rdfw", "ideal-point")
SLOW_LOG = {"Stiefel", "Bures-Wasserstein"}  # a projection on a ball takes milliseconds there


def domains(manifold: gd.Manifold) -> Iterator[tuple[str, gd.Domain | None]]:
    """Feasible sets that a manifold has, with thin ones; None is the whole manifold."""
    yield "none", None
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
    """Sensible for a while, then not."""

    def make(manifold: gd.Manifold, rng: np.random.Generator) -> Any:
        asked = []

        def oracle(x: Any, y: Any) -> Any:
            asked.append(None)
            return answer() if len(asked) > 20 else 1 if x.ravel()[0] > y.ravel()[0] else -1

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
) -> tuple[str, str]:
    """How a run ends, and what is wrong with that; nothing, if the method kept its word."""
    rng = np.random.default_rng([seed, 1])
    x0 = manifold.random_point(rng).astype(dtype)
    x0 = x0 if domain is None else domain.project(x0)
    found: Any = None
    try:
        with time_limit(seconds), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", gd.errors.GeoduelWarning)
            found = gd.minimize(
                oracle, manifold, x0, method=method, domain=domain, budget=budget, rng=seed
            )
        end = found.stop_reason
    except Endless:
        return "endless", f"not back after {seconds:.0f} s"
    except OracleError as error:
        end, found = "OracleError", error.result
        if not fails:
            return end, f"the oracle is blamed: {error}"
    except Exception as error:
        return type(error).__name__, f"{error}"
    if fails and end not in ("OracleError", "ties", "resolution", "diverges"):
        return end, "a failing oracle is not named"
    if found.duels > budget:
        return end, f"{found.duels} duels asked, of {budget}"
    try:
        manifold.check_point(found.x)
    except gd.errors.GeoduelError as error:
        return end, f"{error}"
    if found.x.dtype != dtype:
        return end, f"dtype is {found.x.dtype}"
    if domain is not None and not bool(domain.contains(found.x)):
        return end, f"outside of the domain by {float(domain.violation(found.x)):.2g}"
    return end, ""


def rows(
    seeds: int = 1,
    methods: tuple[str, ...] = METHODS,
    manifolds: dict[str, gd.Manifold] | None = None,
    thin: int = 1,
) -> Iterator[Row]:
    """Rows of the matrix; with ``thin``, only every so-manieth of them."""
    number = 0
    for method in methods:
        for place, manifold in (manifolds or MANIFOLDS).items():
            for name, domain in domains(manifold):
                if method == "rdfw" and (name in ("none", "both", "half-space")):
                    continue  # needs a linear minimiser
                if method == "ideal-point" and (manifold.dim < 2 or not manifold.closed_form):
                    continue
                if method == "rdfw" and place in ("Grassmann", "Stiefel", "mixed", *SLOW_LOG):
                    continue  # tens of milliseconds a step: a numerical linear minimiser
                for oracle, make in ORACLES.items():
                    for dtype in (np.float64, np.float32):
                        for seed in range(seeds):
                            number += 1
                            if number % thin:
                                continue
                            began = time.perf_counter()
                            rng = np.random.default_rng([seed, 2])
                            slow = (place in SLOW_LOG and domain) or method == "ideal-point"
                            budget = BUDGET // 5 if slow else BUDGET
                            end, wrong = run(
                                method,
                                manifold,
                                domain,
                                dtype,
                                make(manifold, rng),
                                seed,
                                oracle in FAILING,
                                budget,
                            )
                            took = time.perf_counter() - began
                            kind = np.dtype(dtype).name
                            yield Row(method, place, name, kind, oracle, seed, end, took, wrong)


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
    parser = results_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--thin", type=int, help="run every so-manieth case only")
    parser.add_argument("--methods", nargs="*", default=METHODS)
    given = parser.parse_args()
    thin = given.thin or (13 if given.full else 499)
    results = Results(__file__, given.save, seeds=given.seeds, every=thin)
    found = []
    for row in rows(given.seeds, tuple(given.methods), thin=thin):
        found.append(row)
        if row.wrong:
            print("WRONG", *row, flush=True)
    for oracle, runs, kept, ends in table(found):
        print(" | ".join((oracle, runs, kept, ends)))
        results.add(oracle, runs=int(runs), kept=int(kept), ends=ends)
    print(f"{len(found)} runs, {sum(bool(row.wrong) for row in found)} wrong")


if __name__ == "__main__":
    main()
