"""Long runs: whether iterates keep to the manifold, and memory stays flat.

    python benchmarks/long_runs.py [--full] [--save] [--iterations 10000] [--seconds 2]
                                   [--dtype float32] [--only "Sphere(2)" ...]

RDNGD descends a linear function on every manifold, the distance to a point on those without end, by
steps of 0.1 at a constant length, so that it never comes to rest. A row says how many iterations
were made, the defect of the last iterate in rounding units at ten moments (the worst and the last),
and how much the memory of the process grew from the first of them to the end. ``--seconds`` stops
each manifold after that time. With ``--full`` there are ten million iterations and no limit of
time; where a step is dear, a tenth.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import resource
import time
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

import geoduel as gd

QUICK = [
    gd.Euclidean(3),
    gd.Sphere(2),
    gd.Sphere(3),
    gd.Sphere(100),
    gd.Torus(1),
    gd.Torus(3),
    gd.Rotations(2),
    gd.Rotations(3),
    gd.Hyperbolic(2),
    gd.Simplex(3),
]
DEAR = [
    gd.Rotations(4),
    gd.Stiefel(2, 1),
    gd.Stiefel(4, 2),
    gd.Stiefel(4, 2, metric="canonical"),
    gd.Grassmann(2, 1),
    gd.Grassmann(4, 2),
    gd.SPD(3),
    gd.SPD(3, metric="log-euclidean"),
    gd.SPD(3, metric="bures-wasserstein"),
    gd.Product(gd.Sphere(3), gd.SPD(2)),
    gd.Power(gd.Sphere(3), 4),
]


def megabytes() -> float:
    """Most memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(m: gd.Manifold, iterations: int, seconds: float, dtype: type) -> dict[str, Any]:
    """One manifold: iterations, defects in rounding units, megabytes, seconds."""
    rng, unit = np.random.default_rng(0), float(np.finfo(dtype).eps)
    x0, goal = m.random_point(rng).astype(dtype), m.random_point(rng).astype(dtype)

    def value(x: np.ndarray) -> float:
        return -float(np.sum(x * goal)) if m.bounded else float(m.dist(x, goal))

    began, before, worst, last, done = time.perf_counter(), 0.0, 0.0, 0.0, 0

    def look(progress: gd.optimize.Progress) -> bool:
        nonlocal before, worst, last, done
        done = progress.iteration
        if done % max(1, iterations // 10) == 0:
            last = float(m.point_defect(progress.point)[1]) / unit
            worst, before = max(worst, last), before or megabytes()
        return bool(seconds) and done % 1000 == 0 and time.perf_counter() - began > seconds

    result = gd.minimize(
        gd.from_objective(value),
        m,
        x0,
        method="rdngd",
        iterations=iterations,
        step_size=0.1 * min(1.0, m.typical_dist),
        radius=1e-2,
        returns="last",
        callback=look,
        rng=0,
    )
    last = float(m.point_defect(result.x_last)[1]) / unit
    took = time.perf_counter() - began
    grown = megabytes() - before if before else 0.0
    return {
        "iterations": done,
        "worst": max(worst, last),
        "last": last,
        "megabytes": grown,
        "seconds": took,
    }


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a manifold; 0: no limit")
    parser.add_argument("--only", nargs="*", help="names of manifolds")
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    given = parser.parse_args()
    if given.full:
        given.iterations, given.seconds = 10_000_000, 0.0
    results = Results(__file__, given.save)
    print(describe_machine())
    heads = ("iterations", "worst", "last", "megabytes", "seconds")
    print(f"{'manifold':45s}" + "".join(f"{head:>12s}" for head in heads))
    for manifolds, share in ((QUICK, 1), (DEAR, 10)):
        for m in manifolds:
            if not given.only or str(m) in given.only:
                count = max(1, given.iterations // share)
                row = run(m, count, given.seconds, getattr(np, given.dtype))
                print(f"{m!s:45s}" + "".join(f"{row[head]:12.6g}" for head in heads), flush=True)
                results.add(f"{m}, {given.dtype}", manifold=str(m), dtype=given.dtype, **row)


if __name__ == "__main__":
    main()
