"""Many problems at once: the default beside itself one by one, and what RDNGD made of them before.

    python benchmarks/batches.py [--full] [--save] [--problems 1000] [--dims 10] [--budget 600]

Problem i is a Rayleigh quotient of its own: the smallest eigenvalue of a Gaussian symmetric matrix
on the sphere of so many dimensions, from a random start. All are run in one call of minimize; as
many as ``--alone`` of them also one by one, each with the same random numbers. Both get so many
duels a problem, and f costs next to nothing. A row says how many duels a problem took, the gap that
was left as a share of the spread of the eigenvalues (median and 99 of 100), processor time a
problem, how many times faster the batch was, and memory.

Processor time is that of the process, so other programs disturb it less than a clock.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import resource
import time

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

import geoduel as gd

SEED = 700
ALONE = 40


class Problems:
    """So many Rayleigh quotients in d dimensions."""

    def __init__(self, count: int, d: int) -> None:
        rng = np.random.default_rng(SEED)
        gauss = rng.standard_normal((count, d + 1, d + 1))
        self.sphere, self.matrices = gd.Sphere(d + 1), gauss + gauss.mT
        self.x0 = self.sphere.random_point(rng, batch=(count,))
        self.values = np.linalg.eigvalsh(self.matrices)

    def together(self, x):
        return np.vecdot(x, (x[..., None, :] @ self.matrices)[..., 0, :])

    def alone(self, i: int):
        A = self.matrices[i]
        return lambda x: np.vecdot(x, x @ A)

    def gaps(self, x: np.ndarray) -> np.ndarray:
        """Of points of the first problems."""
        low, high = self.values[: len(x), 0], self.values[: len(x), -1]
        f = np.vecdot(x, (x[:, None, :] @ self.matrices[: len(x)])[:, 0, :])
        return np.maximum(0.0, (f - low) / (high - low))


def megabytes() -> float:
    """Most memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds_of(run):
    began = time.process_time()
    result = run()
    return time.process_time() - began, result


def run(problems: Problems, budget: int, alone: int, method: str) -> dict:
    sphere, count = problems.sphere, len(problems.x0)
    oracle = gd.from_objective(problems.together, vectorized=True)
    options = {"method": method, "budget": budget}
    rngs = np.random.default_rng(SEED).spawn(count)
    before = megabytes()

    def one(i):
        f = gd.from_objective(problems.alone(i), vectorized=True)
        return gd.minimize(f, sphere, problems.x0[i], rng=rngs[i], **options)

    one_by_one, results = seconds_of(lambda: [one(i) for i in range(alone)])
    rng = np.random.default_rng(SEED)
    taken, many = seconds_of(lambda: gd.minimize(oracle, sphere, problems.x0, rng=rng, **options))
    gaps, gaps_alone = problems.gaps(many.x), problems.gaps(np.stack([r.x for r in results]))
    duels = many.duels if many.each is None else many.each.duels
    return {
        "duels": float(np.mean(duels)),
        "duels alone": float(np.mean([r.duels for r in results])),
        "gap": [float(np.quantile(gaps, q)) for q in (0.5, 0.99)],
        "gap alone": [float(np.quantile(gaps_alone, q)) for q in (0.5, 0.99)],
        "ms": 1e3 * taken / count,
        "ms alone": 1e3 * one_by_one / alone,
        "faster": one_by_one / alone / (taken / count),
        "megabytes": megabytes() - before,
    }


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--problems", type=int, help="100; 1,000 with --full")
    parser.add_argument("--dims", type=int, nargs="+", help="10; 3, 10 and 30 with --full")
    parser.add_argument("--budget", type=int, help="duels of a problem: 60 a dimension")
    parser.add_argument("--methods", nargs="+", default=["auto", "rdngd"])
    parser.add_argument("--alone", type=int, help="problems that are also run one by one")
    given = parser.parse_args()
    count = given.problems or (1000 if given.full else 100)
    alone = min(count, given.alone or (ALONE if given.full else 10))
    results = Results(__file__, given.save, problems=count, seeds=[SEED, SEED], alone=alone)
    print(describe_machine())
    print(f"{count} problems, {alone} of them one by one")
    print(
        "      method  dims  duels  alone      gap   99/100    alone   99/100     ms  alone "
        "faster    MB"
    )
    for d in given.dims or ([3, 10, 30] if given.full else [10]):
        for method in given.methods:
            budget = given.budget or 60 * d
            row = run(Problems(count, d), budget, alone, method)
            print(
                f"{method:>12s} {d:5d} {row['duels']:6.0f} {row['duels alone']:6.0f} "
                f"{row['gap'][0]:8.1e} {row['gap'][1]:8.1e} "
                f"{row['gap alone'][0]:8.1e} {row['gap alone'][1]:8.1e} "
                f"{row['ms']:6.1f} {row['ms alone']:6.0f} {row['faster']:6.1f} "
                f"{row['megabytes']:5.0f}",
                flush=True,
            )
            results.add(f"{method} {d}", method=method, d=d, budget=budget, **row)


if __name__ == "__main__":
    main()
