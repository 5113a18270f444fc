"""What the library itself costs: RDNGD per iteration beside plain loops, the default per duel.

    python benchmarks/overhead.py [--full] [--save] [--check]

An RDNGD iteration is 2 duels and 3 evaluations of f. Reported per iteration of a run of 2000: in
all, and without the user's function (an oracle that answers without looking); and what a run costs
that ends after one iteration. The plain loop is what one would write with pymanopt by hand: sample,
normalise, two exps, two evaluations, a step, the incumbent; without f: with a function that returns
a constant.

The default method learns from the answers, so its cost is that of a real run: one on a Rayleigh
quotient, of 20 d duels, is recorded and then given the same answers again, without f.

``--check`` exits with 1 if a number of the targets is missed.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import sys

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine, least_times

import numpy as np

import geoduel as gd
from geoduel.problems import Karcher
from geoduel.problems import Rayleigh

ITERATIONS = 2000


def rdngd(oracle, problem, x0, iterations=ITERATIONS):
    return lambda: gd.minimize(
        oracle,
        problem.manifold,
        x0,
        method="rdngd",
        iterations=iterations,
        step_size=gd.cosine(1e-1, 1e-8),
        radius=1e-6,
        rng=0,
    )


def plain_loop(manifold, f, x0, iterations=ITERATIONS, radius=1e-6, step=1e-2):
    """RDNGD written directly on a pymanopt manifold."""

    def run():
        np.random.seed(0)  # noqa: NPY002 - pymanopt draws from the global state
        x = best = x0
        f_best = f(best)
        for _ in range(iterations):
            u = manifold.random_tangent_vector(x)
            u = u / manifold.norm(x, u)
            h = np.sign(f(manifold.exp(x, radius * u)) - f(manifold.exp(x, -radius * u))) * u
            x = manifold.exp(x, -step * h)
            value = f(x)
            if value < f_best:
                best, f_best = x, value
        return best

    return run


def blind(x, y):
    """Answer without looking: what remains is the library."""
    return -1


def default(n):
    """A run of the default method on a sphere of n entries with recorded answers, and its duels."""
    problem = Rayleigh.random(n, np.random.default_rng(0))
    ask, recorded = problem.oracle(), []

    def run(oracle):
        oracle.vectorized = True
        return gd.minimize(oracle, problem.manifold, problem.x0, budget=20 * n, rng=0)

    def recording(x, y):
        recorded.append(ask(x, y))
        return recorded[-1]

    def replay():
        answers = iter(recorded)
        run(lambda x, y: next(answers))

    return replay, run(recording).duels


def main() -> int:
    parser = results_parser(__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    check, repeats = options.check, 25 if options.full else 3
    results = Results(__file__, options.save)
    print(describe_machine())

    rayleigh = Rayleigh.random(100, np.random.default_rng(0))
    f = rayleigh.objective
    many = rayleigh.manifold.random_point(np.random.default_rng(1), (64,))
    karcher = Karcher.random(10, rng=np.random.default_rng(0))

    cases = {
        "Rayleigh d=100, in all": rdngd(gd.from_objective(f), rayleigh, rayleigh.x0),
        "Rayleigh d=100, without f": rdngd(blind, rayleigh, rayleigh.x0),
        "Rayleigh d=100, 64 runs": rdngd(rayleigh.oracle(), rayleigh, many, 50),
        "Karcher n=10, in all": rdngd(karcher.oracle(), karcher, karcher.x0, 20),
        "Rayleigh d=100, a run of one": rdngd(gd.from_objective(f), rayleigh, rayleigh.x0, 1),
        "f alone, Rayleigh": lambda: [f(rayleigh.x0) for _ in range(ITERATIONS)],
        "f alone, Karcher": lambda: [karcher.objective(karcher.x0) for _ in range(20)],
    }
    per = {
        "Rayleigh d=100, 64 runs": 50 * 64,
        "Rayleigh d=100, a run of one": 1,
        "Karcher n=10, in all": 20,
        "f alone, Karcher": 20,
    }
    try:
        from pymanopt.manifolds import Sphere, SymmetricPositiveDefinite

        cases["pymanopt loop, Rayleigh d=100"] = plain_loop(Sphere(100), f, rayleigh.x0)
        cases["pymanopt loop, without f"] = plain_loop(Sphere(100), lambda x: 1.0, rayleigh.x0)
        cases["pymanopt loop, Karcher n=10"] = plain_loop(
            SymmetricPositiveDefinite(10), karcher.objective, karcher.x0, 20
        )
        per["pymanopt loop, Karcher n=10"] = 20
    except ImportError:
        print("pymanopt is not installed: no plain loops")

    seconds = least_times(cases, repeats=repeats)
    defaults = {f"default, sphere d={n}, without f": default(n) for n in (30, 100, 300)}
    seconds |= least_times(
        {name: run for name, (run, _) in defaults.items()}, repeats=min(repeats, 7)
    )
    per |= {name: duels for name, (_, duels) in defaults.items()}
    times = {name: t / per.get(name, ITERATIONS) * 1e6 for name, t in seconds.items()}
    for name, microseconds in times.items():
        print(f"{name:32s} {microseconds:10.1f} us")
        results.add(name, microseconds=microseconds)

    targets = {
        "Rayleigh d=100, in all": 25.0,
        "Rayleigh d=100, without f": 15.0,
        "Rayleigh d=100, 64 runs": 8.0,
        "Karcher n=10, in all": 2400.0,
        "default, sphere d=100, without f": 300.0,
    }
    failed = [name for name, target in targets.items() if times[name] > target]
    for name, target in targets.items():
        print(
            f"{'missed' if name in failed else 'met':6s} {name}: {times[name]:.1f} of {target:g} us"
        )
    for name, ours in {
        "Rayleigh d=100": "Rayleigh d=100, in all",
        "without f": "Rayleigh d=100, without f",
        "Karcher n=10": "Karcher n=10, in all",
    }.items():
        if (loop := times.get(f"pymanopt loop, {name}")) is not None:
            print(f"{name}: {loop / times[ours]:.1f} times faster than the plain loop")
    return int(check and bool(failed))


if __name__ == "__main__":
    sys.exit(main())
