"""How many duels categories and whole numbers cost, beside a simplex and an angle.

    python benchmarks/mixed.py [--full] [--save] [--runs 20] [--families NAME ...]
                               [--ways NAME ...] [--first-seed 540]

Three categories of five, two whole numbers from 1 to 20, a point of the simplex in three, and an
angle. In the families:

- separable: the loss is a sum over the parameters;
- shifted: each category moves the optimum of the others, by about as much as a poor one costs;
- shifted far: three times as far, so that the best category often looks poor at first;
- ties: two categories of each kind are the same, and three whole numbers are equally good;
- flips, and shifted with flips: one answer in ten is wrong.

The default is compared with runs that know something: the best categories, and then all values, so
that only the simplex and the angle are left. Nobody knows these; whoever enumerates has to run all
125 triples. "Relaxed" is the same method on numbers alone: the largest of five numbers says which
category, and a number between 1 and 20 is rounded. Printed and stored: the median of the duels
after which the best point stays within a relative gap of 1e-6 (flips: 1e-2) of the optimum, how
many runs end in the right categories, and the median of the duels of whole runs.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import math
from dataclasses import dataclass
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

import geoduel as gd

KINDS, LARGEST = "abcde", 20
FAMILIES = {
    "separable": 0.0,
    "ties": 0.0,
    "flips": 0.0,
    "shifted": 0.25,
    "shifted with flips": 0.25,
    "shifted far": 0.75,
}
WAYS = ("default", "knows categories", "knows all values", "relaxed")
BUDGET = 400
STIFFNESS = np.array([1.0, 3.0, 10.0])
Point = dict[str, Any]


@dataclass
class Problem:
    """A loss with its optimum, 0, at known categories and numbers."""

    family: str
    seed: int

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.seed, 77])
        shift, ties = FAMILIES[self.family], self.family == "ties"
        self.best = {f"kind{j}": KINDS[rng.integers(5)] for j in range(3)}
        cost = rng.uniform(0.05, 1.0, (3, 5))
        logits, turns, rises = (shift * rng.standard_normal((3, 5, size)) for size in (3, 1, 2))
        for j in range(3):
            at = KINDS.index(self.best[f"kind{j}"])
            cost[j, at] = 0
            if ties:
                cost[j, (at + 1) % 5] = 0
            for moved in (logits, turns, rises):
                moved[j] -= moved[j, at].copy()
        self.cost, self.logits, self.turns, self.rises = cost, logits, turns, 5 * rises
        self.numbers = rng.integers(3, LARGEST - 1, 2)
        self.slope = shift * rng.standard_normal((2, 3)) / 2  # of the logits by the numbers
        self.plateau = 1 if ties else 0
        self.middle, self.turn = rng.standard_normal(3) / 2, rng.uniform(-math.pi, math.pi)
        self.start = self.space().manifold.unpack(self.space().manifold.random_point(rng))

    def space(self, known: str = "default") -> gd.Space:
        """What is searched: all parameters, or those that are not known."""
        kinds = {f"kind{j}": gd.Categories(*KINDS) for j in range(3)}
        numbers = {f"number{k}": gd.Integers(1, LARGEST) for k in range(2)}
        parts: dict[str, Any] = {"mix": gd.Simplex(3), "angle": gd.Torus(1)}
        if known == "relaxed":
            kinds = {name: gd.Euclidean(5) for name in kinds}
            return gd.space(**kinds, **dict.fromkeys(numbers, (1, LARGEST)), **parts)
        if known != "knows all values":
            parts = numbers | parts
        return gd.space(**(kinds | parts if known == "default" else parts))

    def loss(self, p: Point) -> float:
        """Of a point; what it lacks is at its optimum."""
        at = self.kinds(p)
        n = np.array([round(p.get(f"number{k}", self.numbers[k])) for k in range(2)], dtype=float)
        three = range(3)
        off = n - self.numbers
        away = off - np.round(sum(self.rises[j, at[j]] for j in three))
        away = np.maximum(0, abs(away) - self.plateau)
        logits = self.middle + sum(self.logits[j, at[j]] for j in three) + off / 10 @ self.slope
        y = np.exp((logits - logits.max()) / 2)
        y /= np.linalg.norm(y)
        turn = self.turn + sum(self.turns[j, at[j], 0] for j in three)
        costs = sum(self.cost[j, at[j]] for j in three)
        inside = STIFFNESS @ (np.sqrt(p["mix"]) - y) ** 2
        return float(
            costs + 4 * ((away / LARGEST) ** 2).sum() + inside + 1 - np.cos(p["angle"] - turn)
        )

    def kinds(self, p: Point) -> list[int]:
        """Places of the categories; of five numbers that of the largest."""
        found = [(self.best | p)[f"kind{j}"] for j in range(3)]
        return [KINDS.index(k) if isinstance(k, str) else int(np.argmax(k)) for k in found]

    def is_right(self, p: Point) -> bool:
        """Whether the categories are the best ones."""
        return all(self.cost[j, kind] == 0 for j, kind in enumerate(self.kinds(p)))

    def oracle(self) -> Any:
        """Duels alone."""
        oracle = gd.from_objective(self.loss)
        return gd.Noisy(oracle, flip=0.1, rng=self.seed) if "flips" in self.family else oracle


def run(problem: Problem, way: str, method: Any = "auto") -> tuple[float, bool, int]:
    """Duels until the gap stays small, whether it ends in the right categories, all duels."""
    space = problem.space(way)
    start = {name: problem.start[name] for name in space.manifold.names or ()}
    if way == "relaxed":
        start |= {f"kind{j}": np.eye(5)[kind] for j, kind in enumerate(problem.kinds(start))}
    seen: list[tuple[int, float]] = []
    result = gd.minimize(
        problem.oracle(), space, start, method=method, budget=BUDGET, rng=problem.seed,
        callback=lambda p: seen.append((p.duels, problem.loss(p.x))),
    )  # fmt: skip
    goal = (1e-2 if "flips" in problem.family else 1e-6) * problem.loss(problem.start)
    above = [duels for duels, loss in seen if loss > goal]
    after = [duels for duels, loss in seen if duels > max(above, default=0)]
    return (after[0] if after else math.inf), problem.is_right(result.x), result.duels


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--runs", type=int, help="runs a cell; by default 1, in full 20")
    parser.add_argument("--families", nargs="+", choices=tuple(FAMILIES))
    parser.add_argument("--ways", nargs="+", choices=WAYS)
    parser.add_argument("--first-seed", type=int, default=540)
    options = parser.parse_args()
    print(describe_machine())
    runs = options.runs or (20 if options.full else 1)
    seeds = range(options.first_seed, options.first_seed + runs)
    results = Results(__file__, options.save, seeds=[seeds[0], seeds[-1]])
    for family in options.families or tuple(FAMILIES)[: None if options.full else 1]:
        for way in options.ways or WAYS:
            found = [run(Problem(family, seed), way) for seed in seeds]
            needed, right, whole = zip(*found, strict=True)
            values = {
                "duels": float(np.median(needed)),
                "worst": float(max(needed)),
                "reached": float(np.isfinite(needed).mean()),
                "right": float(np.mean(right)),
                "whole": float(np.median(whole)),
            }
            print(f"{family:18} {way:17}", {k: round(v, 2) for k, v in values.items()}, flush=True)
            results.add(f"{family}: {way}", runs=runs, **values)


if __name__ == "__main__":
    main()
