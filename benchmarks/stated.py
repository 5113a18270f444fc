"""Stated distances: how far the optimum is, and what a run says when its budget ends.

    python benchmarks/stated.py [--full] [--save] [--noise] [--seeds 4] [--first-seed 30]
                                [--method NAME]

The functions are smooth, or have kinks, ridges, one-sided slopes and flat valleys, each in rotated
coordinates with a start of its own. A run of the default method is looked at after 25, 50, 100 and
200 duels a dimension, or where it ended by itself. A row counts the looks: how many stated no
distance, and how many stated less than a tenth, less than a thousandth, more than tenfold of the
true one. Distances below 1e-12 are not counted. The last column is the share within tenfold: a look
without a statement counts as one that is not. ``--noise``: the same with wrong answers and ties.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
from collections.abc import Callable
from typing import Any

from _results import Results, parser
from _timing import describe_machine

import numpy as np

import geoduel as gd

# Functions of rotated coordinates y, with their minimum 0 at y = 0; s rises from 1 to 10.
FUNCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "sphere": lambda y, s: float(y @ y),
    "condition 100": lambda y, s: float(s**2 @ y**2),
    "condition 10,000": lambda y, s: float(s**4 @ y**2),
    "Rosenbrock": lambda y, s: float(100 * np.sum((y[1:] + 1 - (y[:-1] + 1) ** 2) ** 2) + y @ y),
    "powers 2 to 6": lambda y, s: float(np.sum(abs(y) ** (2 + 4 * np.log10(s)))),
    "norm": lambda y, s: float(np.linalg.norm(s * y)),
    "sum of absolute values": lambda y, s: float(abs(y).sum()),
    "largest absolute value": lambda y, s: float(abs(y).max()),
    "slopes 1 and 100": lambda y, s: float(np.where(y > 0, y, -100 * y).sum()),
    "one side steeper": lambda y, s: float(np.sum(np.where(y > 0, 100 * y, y) ** 2)),
    "sharp ridge": lambda y, s: float(y[0] ** 2 + 100 * np.linalg.norm(s[1:] * y[1:])),
    "flat valley": lambda y, s: float(y[0] ** 2 + 1e6 * y[1:] @ y[1:]),
}
# Settings of `geoduel.Noisy`; sizes are shares of the first gap.
ANSWERS: dict[str, dict[str, Any]] = {
    "right": {},
    "5 % wrong": {"flip": 0.05},
    "20 % wrong": {"flip": 0.2},
    "35 % wrong": {"flip": 0.35},
    "Bradley-Terry": {"model": "bradley-terry", "scale": 0.01},
    "just noticeable": {"model": "thurstone", "scale": 1e-9, "ties": 0.01},
}
SMOOTH = set(list(FUNCTIONS)[:5])
WITH_NOISE = ("sphere", "condition 100", "Rosenbrock", "norm", "sum of absolute values")
COUNTS = ("looks", "none", "tenth", "thousandth", "tenfold", "within", "counted")
LOOKS = (25, 50, 100, 200)  # duels a dimension


def looks(
    name: str, d: int, seed: int, answers: str = "right", method: str = "auto"
) -> list[tuple[float, float | None]]:
    """True and stated distances of one run."""
    rng = np.random.default_rng([seed, d])
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    goal, x0 = rng.uniform(-4, 4, d), rng.uniform(-4, 4, d)
    if name == "Rosenbrock":  # other starts end in its local minimum
        turn, x0 = np.eye(d), goal + rng.uniform(-2.5, 0.5, d)
    f, s = FUNCTIONS[name], 10.0 ** (np.arange(d) / (d - 1))
    found: list[tuple[float, float | None]] = []

    def look(p: gd.optimize.Progress) -> None:
        if len(found) < len(LOOKS) and p.duels > LOOKS[len(found)] * d:
            found.append(last[0])
        last[0] = (float(np.linalg.norm(p.x - goal)), p.uncertainty)

    last: list[tuple[float, float | None]] = [(float("inf"), None)]
    oracle: gd.Oracle = gd.from_objective(lambda x: f(turn @ (x - goal), s))
    if how := dict(ANSWERS[answers]):
        for size in ("scale", "ties"):
            if size in how:
                how[size] *= f(turn @ (x0 - goal), s)
        oracle = gd.Noisy(oracle, rng=np.random.default_rng([seed, d, 1]), **how)
    budget = LOOKS[-1] * d + d
    gd.minimize(oracle, gd.Euclidean(d), x0, method=method, budget=budget, rng=seed, callback=look)
    return [*found, last[0]] if len(found) < len(LOOKS) else found


def main() -> None:
    p = parser(__doc__)
    p.add_argument("--noise", action="store_true", help="wrong answers and ties, five functions")
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--first-seed", type=int, default=30)
    p.add_argument("--method", default="auto", help="another one is shown, and not saved")
    args = p.parse_args()
    seeds = range(args.first_seed, args.first_seed + max(args.seeds, 4 if args.full else 1))
    dims = (2, 5, 10) if args.full and not args.noise else (2, 5)
    results = Results(
        __file__, args.save and args.method == "auto", seeds=f"{seeds[0]} to {seeds[-1]}"
    )
    print(describe_machine())
    heads = f"{'looks':>6} {'none':>5} {'< 1/10':>7} {'< 1e-3':>7} {'> 10':>5} {'within':>7}"
    print(f"{'answers':16} {'function':24} {'d':>3} {heads}")
    for answers in list(ANSWERS)[1:] if args.noise else ["right"]:
        total: dict[str, int] = dict.fromkeys(COUNTS, 0)
        for name in WITH_NOISE if args.noise else FUNCTIONS:
            for d in dims:
                found = [
                    each for seed in seeds for each in looks(name, d, seed, answers, args.method)
                ]
                near = [(t, u) for t, u in found if t > 1e-12]
                stated = [u / t for t, u in near if u is not None]
                count: dict[str, int] = {
                    "looks": len(found),
                    "none": len(near) - len(stated),
                    "tenth": sum(r < 0.1 for r in stated),
                    "thousandth": sum(r < 1e-3 for r in stated),
                    "tenfold": sum(r > 10 for r in stated),
                    "within": sum(0.1 <= r <= 10 for r in stated),
                    "counted": len(near),
                }
                total = {key: total[key] + count[key] for key in total}
                key = f"{name}, {d}" if answers == "right" else f"{name}, {d}, {answers}"
                results.add(
                    key, function=name, smooth=name in SMOOTH, d=d, answers=answers, **count
                )
                row(answers, name, d, count)
        row(answers, "all", "", total)


def row(answers: str, name: str, d: int | str, count: dict[str, int]) -> None:
    """Print counts, and the share within tenfold, for which no statement is a wrong one."""
    *counts, within, counted = (count[key] for key in COUNTS)
    cells = " ".join(f"{n:6}" for n in counts)
    print(f"{answers:16} {name:24} {d:3} {cells} {within / max(1, counted):7.2f}", flush=True)


if __name__ == "__main__":
    main()
