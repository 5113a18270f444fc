"""Every rival in one place: the runs behind docs/benchmarks.md.

    python benchmarks/bench.py [--full] [--save] [--suites NAME ...] [--methods NAME ...]
                               [--out DIR] [--quick-baseline]

Without arguments: the short form of `geoduel bench`, two methods. With ``--full``: the runs of the
tables, hours on one processor. They are kept in ``--out`` as they finish, so the same command goes
on after an interruption, and more methods, suites or seeds extend it. ``--save`` packs what is
there into ``results/bench.jsonl.gz``; an empty folder begins with what that file holds.

``--quick-baseline`` writes ``results/bench-quick.jsonl``, which the continuous integration compares
with: ``geoduel bench --quick --methods auto,duel-csa --suites manifolds,noise --no-page --against
benchmarks/results/bench-quick.jsonl``.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import gzip
import json
import time
from pathlib import Path

from _results import FOLDER
from _results import parser as results_parser
from _timing import describe_machine

from geoduel.bench import load
from geoduel.bench import plan
from geoduel.bench import run

PACKED = FOLDER / "bench.jsonl.gz"
QUICK = FOLDER / "bench-quick.jsonl"

OWN = ("auto", "duel-csa", "block")
RIVALS = (
    "one-plus-one-cma", "one-plus-one", "nelder-mead", "pycma-ipop", "pycma", "rdngd", "stp",
    "order-cd", "rank-sgd", "scobo", "comparison-ngd", "order-acd",
)  # fmt: skip
ERRORS = (*OWN, "one-plus-one-cma", "one-plus-one", "nelder-mead", "pycma", "rdngd", "stp",
          "rank-sgd", "order-cd")  # fmt: skip


def functions(d: int) -> list[str]:
    """COCO's functions in d dimensions."""
    return [f"f{f}-d{d}" for f in range(1, 25)]


FULL = (  # suite, problems, methods, seeds, duels a dimension
    ("bbob", functions(2), (*OWN, "auto-smoothed", *RIVALS), 3, 1000),
    ("bbob", functions(5), (*OWN, "auto-smoothed", *RIVALS[:9]), 3, 1000),
    ("bbob", functions(10), (*OWN, "auto-smoothed", *RIVALS[:8]), 1, 1000),
    ("bbob", functions(20), (*OWN, "auto-smoothed", *RIVALS[:8]), 1, 300),
    ("mixint", functions(5), ("auto", *RIVALS[:1], *RIVALS[2:5]), 3, 300),
    ("manifolds", [], (*OWN, *RIVALS, "scipy-nelder-mead"), 2, 200),
    ("noise", [], ERRORS, 2, 150),
    ("paper", [], ERRORS, 2, 150),
)


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--suites", nargs="+", metavar="NAME")
    parser.add_argument("--methods", nargs="+", metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("bench"), help="folder for runs.jsonl")
    parser.add_argument("--quick-baseline", action="store_true")
    args = parser.parse_args()
    print(describe_machine())
    if args.quick_baseline:
        tasks = plan(["manifolds", "noise"], ["auto", "duel-csa"], quick=True)
        QUICK.write_text("".join(json.dumps(r) + "\n" for r in run(tasks)), encoding="utf-8")
        return
    if not args.full:
        for record in run(plan(["manifolds"], args.methods or ["auto", "nelder-mead"], quick=True)):
            print(f"{record['problem']:20s} {record['method']:14s} {record['duels']:6d} duels")
        return

    path = args.out / "runs.jsonl"
    if not path.exists() and PACKED.exists():
        args.out.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.decompress(PACKED.read_bytes()))
    for suite, problems, methods, seeds, budget in FULL:
        if args.suites and suite not in args.suites:
            continue
        for method in methods if not args.methods else set(methods) & set(args.methods):
            began = time.perf_counter()
            tasks = plan([suite], [method], seeds=seeds, budget=budget, problems=problems)
            count = sum(1 for _ in run(tasks, path))
            print(f"{suite:10s} {method:20s} {count} runs, {time.perf_counter() - began:.0f} s")
    if args.save:
        lines = sorted(json.dumps(r, ensure_ascii=False) for r in load(path))
        PACKED.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))


if __name__ == "__main__":
    main()
