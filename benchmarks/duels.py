"""How many duels to 3, 6 and 9 digits: the default method beside others.

    python benchmarks/duels.py [--full] [--save] [--sweep | --bounded | --elsewhere | --flips |
                                --bradley-terry | --corners | --rankings]
                               [--only NAME ...] [--methods NAME ...]
                               [--first-seed 340] [--seeds 10]

Without arguments: two problems, two methods and three seeds.

A duel is one comparison; a digit is a factor 10 of the gap f - f*. A duel tells at most one bit and
the level sets shrink with volume, so (d/2) log2(1/ratio) duels are the least there can be: the
bound. Reported per cell: the median over seeds of the duels until the recommended point has the
gap (infinite if it never does), the multiple of the bound and the range at nine digits.

The default's constants were tuned on other seeds, in part of the same classes; docs/methods.md says
which was seen when. ``--bounded``: problems with a domain, most with the optimum on its boundary.
``--elsewhere``: the other manifolds. ``--flips``: every fifth answer is wrong; the share of the gap
that is left after so many duels, by the default and by DuelCSA, and how far the optimum was said to
be. ``--bradley-terry``: the same where near points are told apart by chance. ``--corners``: with
wrong answers, where the optimum is at a corner of a domain. ``--rankings``: rounds and comparisons
where eight points are put in order at once, by a judge that ranks or by duels. pycma and nevergrad
run where they are installed, in normal coordinates at the start; pycma ranks λ points a generation,
counted as λ log2 λ duels; nevergrad's (1+1) strategy compares one point with the incumbent.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from _elsewhere import ELSEWHERE
from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

import geoduel as gd
from geoduel.methods.frame import Frame
from geoduel.methods.sorting import merge_insertion
from geoduel.problems import Karcher
from geoduel.problems import Problem
from geoduel.problems import Quadratic
from geoduel.problems import Rayleigh
from geoduel.problems import Rosenbrock

RATIOS = (1e-3, 1e-6, 1e-9)
FIRST_SEED = 340

# Name: problem of a seed, most duels.
PROBLEMS: dict[str, tuple[Callable[[int], Problem], int]] = {
    "quadratic-30-1e0": (lambda s: Quadratic.random(30, 1e0, s), 4_000),
    "quadratic-30-1e2": (lambda s: Quadratic.random(30, 1e2, s), 15_000),
    "quadratic-30-1e4": (lambda s: Quadratic.random(30, 1e4, s), 25_000),
    "rosenbrock-20": (lambda s: Rosenbrock.random(20, s), 25_000),
    "karcher-5": (lambda s: Karcher.random(5, rng=s), 5_000),
    "karcher-10": (lambda s: Karcher.random(10, rng=s), 10_000),
    "rayleigh-100": (lambda s: Rayleigh.random(100, s), 25_000),
    "rayleigh-150": (lambda s: Rayleigh.random(150, s), 40_000),
}
SWEEP = {
    f"isotropic-{d}": (lambda s, d=d: Quadratic.random(d, 1.0, s), 100 * d + 500)
    for d in (2, 5, 10, 30, 100, 300, 1000)
} | {
    f"condition-1e2-{d}": (lambda s, d=d: Quadratic.random(d, 1e2, s), 500 * d + 500)
    for d in (2, 5, 10, 30, 100, 300, 1000)
}


@dataclass(frozen=True)
class Bounded:
    """A quadratic of condition at most 30 whose least point a domain cuts off."""

    manifold: gd.Manifold
    bounds: gd.Domain
    matrix: np.ndarray
    goal: np.ndarray
    x0: np.ndarray

    @classmethod
    def random(cls, bounds: Callable[[np.ndarray], gd.Domain], n: int, seed: int) -> Bounded:
        """With a goal in R^n, about which the domain is chosen."""
        rng = np.random.default_rng(seed)
        Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
        goal = rng.standard_normal(n)
        domain = bounds(goal)
        manifold = domain.manifold
        x0 = manifold.random_point(rng)
        x0 = domain.project(x0 / 2 if isinstance(manifold, gd.Euclidean) else x0)
        return cls(manifold, domain, (Q * 30 ** rng.random(n)) @ Q.T, goal, x0)

    def objective(self, x: np.ndarray) -> Any:
        """Smaller is better."""
        return np.vecdot((x - self.goal) @ self.matrix, x - self.goal) / 2

    @cached_property
    def optimal_value(self) -> float:
        """By projected gradient steps; their rate is that of the condition."""
        x, step = self.x0, 1 / (30 + np.linalg.norm(self.matrix @ self.goal))
        for _ in range(5000):
            gradient = self.manifold.to_tangent(x, self.matrix @ (x - self.goal))
            x = self.bounds.project(self.manifold.exp(x, -step * gradient))
        return float(self.objective(x))

    def gap(self, x: np.ndarray) -> float:
        """The domains contain points that are outside by 1.5e-8, which may be better."""
        return float(self.objective(x)) - self.optimal_value

    def oracle(self) -> Any:
        """Compares values."""
        return gd.from_objective(self.objective, vectorized=True)


class BoundedKarcher(Karcher):
    """Between the harmonic and the arithmetic mean, which contain the optimum."""

    @cached_property
    def bounds(self) -> gd.Domain:
        """The interval."""
        return self.domain()


BOUNDED: dict[str, tuple[Callable[[int], Any], int]] = {
    "half-space-10": (
        lambda s: Bounded.random(
            lambda a: gd.Box(np.full(10, -np.inf), np.r_[a[0] - 0.3, np.full(9, np.inf)]), 10, s
        ),
        4_000,
    ),
    "ball-10": (
        lambda s: Bounded.random(
            lambda a: gd.Ball(gd.Euclidean(10), np.zeros(10), 0.6 * float(np.linalg.norm(a))), 10, s
        ),
        4_000,
    ),
    "box-10": (
        lambda s: Bounded.random(lambda a: gd.Box(np.full(10, -0.5), np.full(10, 0.5)), 10, s),
        4_000,
    ),
    "cap-9": (
        lambda s: Bounded.random(
            lambda a: gd.Ball(gd.Sphere(10), np.eye(10)[np.argmin(a)], 0.6), 10, s
        ),
        4_000,
    ),
    "simplex-10": (lambda s: Bounded.random(lambda a: gd.ProbabilitySimplex(10), 10, s), 4_000),
    "l1-ball-8": (
        lambda s: Bounded.random(lambda a: gd.L1Ball(8, 0.6 * float(abs(a).sum())), 8, s),
        4_000,
    ),
    "karcher-5-interval": (lambda s: BoundedKarcher.random(5, rng=s), 5_000),
    "karcher-10-interval": (lambda s: BoundedKarcher.random(10, rng=s), 10_000),
}
ALL: dict[str, tuple[Callable[[int], Any], int]] = PROBLEMS | SWEEP | BOUNDED | ELSEWHERE
QUICK = ("quadratic-30-1e0", "karcher-5")
QUICK_METHODS = ["auto", "duel-csa"]
METHODS = ("auto", "duel-newton", "duel-csa", "block", "rdngd")


class Hits:
    """Duels at which each ratio was first reached."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.first = problem, float(problem.gap(problem.x0))
        self.duels = dict.fromkeys(RATIOS, math.inf)

    def see(self, x: Any, duels: float) -> bool:
        """Note the gap at x; true once there is no more to reach."""
        ratio = float(self.problem.gap(x)) / self.first
        for r in RATIOS:
            if ratio <= r and duels < self.duels[r]:
                self.duels[r] = duels
        return ratio <= RATIOS[-1]


def by_geoduel(method: str) -> Callable[[Problem, int, int], Hits]:
    def run(problem: Problem, seed: int, budget: int) -> Hits:
        hits = Hits(problem)
        bounds = getattr(problem, "bounds", None)
        domain = {} if bounds is None else {"domain": bounds}
        gd.minimize(
            problem.oracle(), problem.manifold, problem.x0, method=method, budget=budget, rng=seed,
            callback=lambda p: hits.see(p.x, p.duels), **domain,
        )  # fmt: skip
        return hits

    return run


def chart(problem: Problem) -> Callable[[np.ndarray], Any]:
    """Normal coordinates at the start."""
    manifold, x0 = problem.manifold, problem.x0
    return lambda c: manifold.exp(x0, manifold.from_coords(x0, np.asarray(c, dtype=float)))


def by_pycma(problem: Problem, seed: int, budget: int) -> Hits:
    import cma

    hits, point, d = Hits(problem), chart(problem), problem.manifold.dim
    step = problem.manifold.typical_dist / 5 / math.sqrt(d)
    es = cma.CMAEvolutionStrategy(
        np.zeros(d),
        step,
        {"seed": seed + 1, "verbose": -9, "tolfun": 0, "tolx": 0, "tolfunhist": 0},
    )
    duels = 0.0
    while duels < budget and not es.stop():
        asked = es.ask()
        values = [float(problem.objective(point(c))) for c in asked]
        es.tell(asked, values)
        duels += len(asked) * math.log2(len(asked))
        if hits.see(point(asked[int(np.argmin(values))]), duels):
            break
    return hits


def by_one_plus_one_cma(problem: Problem, seed: int, budget: int) -> Hits:
    """(1+1)-CMA-ES: Igel, Suttorp and Hansen, GECCO 2006, with its own constants.

    One candidate against the incumbent a duel; the covariance is kept in a transported frame.
    """
    hits, manifold, rng = Hits(problem), problem.manifold, np.random.default_rng(seed)
    d, duel = manifold.dim, problem.oracle()
    frame = Frame(problem.x0, np.eye(d))
    sigma, success = manifold.typical_dist / 5 / math.sqrt(d), 2 / 11
    A, inverse, path = np.eye(d), np.eye(d), np.zeros(d)  # C = A A'
    for duels in range(1, budget + 1):
        z = rng.standard_normal(d)
        c = sigma * (A @ z)
        won = bool(duel(frame.point, frame.at(manifold, c)) > 0)
        success += (won - success) / 12
        if won:
            frame, _ = frame.move(manifold, c)
            if hits.see(frame.point, duels):
                break
            stalled, fade, rate = success >= 0.44, 2 / (d + 2), 2 / (d * d + 6)
            path = (1 - fade) * path
            keep = 1 - rate
            if stalled:
                keep += rate * fade * (2 - fade)
            else:
                path = path + math.sqrt(fade * (2 - fade)) * (A @ z)
            w = inverse @ path
            size = float(w @ w)
            grown = math.sqrt(1 + rate / keep * size)
            A = math.sqrt(keep) * (A + (grown - 1) / size * np.outer(path, w))
            inverse -= (1 - 1 / grown) / size * np.outer(w, w @ inverse)
            inverse /= math.sqrt(keep)
        sigma *= math.exp((success - 2 / 11) / (1 - 2 / 11) / (1 + d / 2))
    return hits


def by_nevergrad(problem: Problem, seed: int, budget: int) -> Hits:
    import nevergrad as ng

    hits, point = Hits(problem), chart(problem)
    parameter = ng.p.Array(init=np.zeros(problem.manifold.dim))
    parameter.random_state.seed(seed)
    optimizer = ng.optimizers.registry["OnePlusOne"](parametrization=parameter, budget=budget)
    best = math.inf
    for duels in range(budget):
        candidate = optimizer.ask()
        x = point(candidate.value)
        value = float(problem.objective(x))
        optimizer.tell(candidate, value)
        if value < best:
            best = value
            if hits.see(x, duels):
                break
    return hits


def methods(names: list[str] | None) -> dict[str, Callable[[Problem, int, int], Hits]]:
    found = {name: by_geoduel(name) for name in METHODS}
    found["(1+1)-cma"] = by_one_plus_one_cma
    if find_spec("cma"):
        found["pycma"] = by_pycma
    if find_spec("nevergrad"):
        found["nevergrad"] = by_nevergrad
    return {k: v for k, v in found.items() if names is None or k in names}


def report(name: str, runs: dict[str, Any], seeds: range, results: Results) -> None:
    make, budget = ALL[name]
    problems = [make(s) for s in seeds]
    d = problems[0].manifold.dim
    bound = d / 2 * math.log2(1 / RATIOS[-1])
    print(f"\n{name}: d = {d}, bound {bound:.0f} duels to 1e-9, budget {budget}")
    print(
        f"  {'method':12s}" + "".join(f"{r:>9.0e}" for r in RATIOS) + "   bounds  range, failures"
    )
    for label, run in runs.items():
        began = time.perf_counter()
        hits = [run(p, s, budget) for p, s in zip(problems, seeds, strict=True)]
        took = (time.perf_counter() - began) / len(hits)
        table = np.array([[h.duels[r] for r in RATIOS] for h in hits])
        last = np.sort(table[:, -1])
        print(
            f"  {label:12s}"
            + "".join(f"{m:9.0f}" for m in np.median(table, axis=0))
            + f"{np.median(last) / bound:8.2f}x  {last[0]:.0f} to {last[-1]:.0f},"
            + f" {int(np.sum(np.isinf(last)))}/{len(last)}; {took:.2f} s a run",
            flush=True,
        )
        results.add(
            f"{name} {label}",
            d=d,
            bound=bound,
            duels=np.median(table, axis=0),
            range=[last[0], last[-1]],
            failures=int(np.sum(np.isinf(last))),
        )


def wrong_answers(
    name: str,
    make: Callable[[int], Any],
    noise: float | str,
    method: str,
    seeds: range,
    after: tuple[int, ...],
    results: Results,
) -> None:
    """Print what share of the gap is left after so many duels.

    And, where the optimum is known, how many times the true distance the stated one is then.

    ``noise`` is the part of them that is wrong; or "bradley-terry", of scale 1 % of the first gap.
    """
    left, stated = [], []
    for seed in seeds:
        problem = make(seed)
        first, shares = float(problem.gap(problem.x0)), []

        def note(p: gd.Progress, problem: Any = problem, shares: Any = shares) -> None:
            if len(shares) < len(after) and p.duels >= after[len(shares)]:
                shares.append(float(problem.gap(p.x)))
                if isinstance(problem, Quadratic):
                    stated.append(p.state.uncertainty / np.linalg.norm(p.x - problem.optimum))

        how: Any = {"flip": noise}
        if isinstance(noise, str):
            how = {"model": noise, "scale": 0.01 * first}
        result = gd.minimize(
            gd.Noisy(problem.oracle(), rng=seed, **how), problem.manifold, problem.x0,
            method=method, budget=after[-1] + 60, rng=seed, callback=note,
            domain=getattr(problem, "bounds", None),
        )  # fmt: skip
        # Runs that end before, at a vertex, stay where they are.
        shares += [float(problem.gap(result.x))] * (len(after) - len(shares))
        left.append(np.maximum(shares, 0) / first)
    middle, worst = np.median(left, axis=0), np.max(left, axis=0)
    cells = (f"{n}: {m:.1e}, worst {w:.1e}" for n, m, w in zip(after, middle, worst, strict=True))
    words = noise if isinstance(noise, str) else f"{noise:.0%} flips"
    print(f"{name}, {words}, {method:9s} after " + "   ".join(cells), flush=True)
    if stated:
        few, most = np.quantile(stated, (0.1, 0.9))
        print(f"    stated distance {few:.1g} to {most:.1g} times the true one, 80 % of", end=" ")
        print(f"{len(stated)}; least {min(stated):.1g}", flush=True)
    results.add(f"{name} {words} {method}", after=list(after), median=middle, worst=worst)


def flips(seeds: range, results: Results) -> None:
    """Quadratics of condition 100 in 30, five and two dimensions, by the default and by DuelCSA."""
    for d, after in ((30, (500, 1000, 3000, 5000)), (5, (200, 500, 1000)), (2, (100, 200, 400))):
        for method in ("auto", "duel-csa"):
            wrong_answers(
                f"quadratic-{d}-1e2",
                lambda s, d=d: Quadratic.random(d, 1e2, s), 0.2, method, seeds, after, results,
            )  # fmt: skip


def bradley_terry(seeds: range, results: Results) -> None:
    """Quadratics of d = 30, 5 and 2, by the default and by DuelCSA."""
    for d, condition in ((30, 1e0), (30, 1e2), (5, 1e0), (5, 1e2), (2, 1e0), (2, 1e2)):
        for method in ("auto", "duel-csa"):
            wrong_answers(
                f"quadratic-{d}-{condition:.0e}",
                lambda s, d=d, condition=condition: Quadratic.random(d, condition, s),
                "bradley-terry", method, seeds, (1000, 3000, 10000), results,
            )  # fmt: skip


def corners(seeds: range, results: Results) -> None:
    """A box and a simplex, with the optimum where many of their sides meet."""
    for name in ("box-10", "simplex-10"):
        for flip in (0.1, 0.2):
            wrong_answers(name, BOUNDED[name][0], flip, "auto", seeds, (1000, 2000, 4000), results)


RANKED = {
    "quadratic d = 30, condition 1e2": (PROBLEMS["quadratic-30-1e2"][0], 0.0, 1e-6, 10_000),
    "Rayleigh n = 30": (lambda s: Rayleigh.random(30, s), 0.0, 1e-6, 20_000),
    "Rosenbrock d = 20": (PROBLEMS["rosenbrock-20"][0], 0.0, 1e-6, 40_000),
    "quadratic, 10 % wrong": (PROBLEMS["quadratic-30-1e2"][0], 0.1, 1e-2, 6_000),
}
AT_ONCE = 8


def rankings(seeds: range, results: Results, names: list[str], methods: list[str]) -> None:
    """By duels, and by rankings of eight: rounds, one question each, and comparisons.

    A ranking is one round, and a duel is one. Comparisons are duels of a sort by merge insertion.
    Without wrong answers the judge ranks, so that a run has both numbers from the same questions.
    """
    for name in names:
        make, flip, goal, budget = RANKED[name]
        for method in methods:
            for k in (None, AT_ONCE):
                found = [to_goal(make(s), flip, goal, budget, method, k, s) for s in seeds]
                rounds, duels = np.median(found, axis=0)
                low, high = np.min(found, axis=0)[1], np.max(found, axis=0)[1]
                label = f"{name} {method}" + (f" rankings of {k}" if k else "")
                print(
                    f"{label:60s} {rounds:.0f} rounds, {duels:.0f} comparisons ({low:.0f} to "
                    f"{high:.0f})",
                    flush=True,
                )
                results.add(
                    f"ranked {label}", goal=goal, rounds=rounds, duels=duels, range=[low, high]
                )


def to_goal(
    problem: Any, flip: float, goal: float, budget: int, method: str, k: int | None, seed: int
) -> tuple[float, float]:
    """Rounds and comparisons to a share of the first gap; infinite where it is not reached."""
    rounds = duels = 0  # as asked
    first, end = float(problem.gap(problem.x0)), (math.inf, math.inf)
    judge = gd.Noisy(problem.oracle(), flip=flip, rng=seed) if flip else problem.oracle()

    def rank(points: np.ndarray) -> list[list[int]]:
        """By merge insertion, so that wrong answers do what they would do there."""
        nonlocal rounds, duels
        sort, answer = merge_insertion(len(points)), None
        rounds += 1
        try:
            while True:
                i, j = sort.send(answer)  # type: ignore[arg-type]
                answer, duels = int(judge(points[i], points[j])), duels + 1
        except StopIteration as order:
            return order.value

    def seen(progress: gd.Progress) -> bool:
        nonlocal end
        if float(problem.gap(progress.x)) > goal * first:
            return False
        end = rounds, duels
        return True

    oracle = gd.from_ranking(rank, most=k or 2, rng=seed)
    gd.minimize(
        oracle, problem.manifold, problem.x0, method=method, budget=budget, rng=seed, callback=seen
    )
    return end


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--sweep", action="store_true", help="quadratics of dimension 2 to 1000")
    parser.add_argument("--bounded", action="store_true", help="problems with a domain")
    parser.add_argument("--elsewhere", action="store_true", help="the other manifolds")
    parser.add_argument("--flips", action="store_true", help="every fifth answer wrong")
    parser.add_argument("--bradley-terry", action="store_true", help="near points told by chance")
    parser.add_argument("--corners", action="store_true", help="wrong answers at vertices")
    parser.add_argument("--rankings", action="store_true", help="eight points put in order at once")
    parser.add_argument("--only", nargs="+", choices=[*ALL, *RANKED], metavar="NAME")
    parser.add_argument("--methods", nargs="+", metavar="NAME")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--seeds", type=int, help="seeds a problem; by default 3, in full 10")
    args = parser.parse_args()
    chosen = SWEEP if args.sweep else BOUNDED if args.bounded else PROBLEMS
    chosen = ELSEWHERE if args.elsewhere else chosen
    quick = not args.full
    names = args.only or (QUICK if quick and chosen is PROBLEMS else chosen)
    count = args.seeds or (3 if quick else 10)
    seeds = range(args.first_seed, args.first_seed + count)
    results = Results(__file__, args.save, seeds=[seeds[0], seeds[-1]])
    print(describe_machine())
    for wanted, run in (
        (args.flips, flips),
        (args.bradley_terry, bradley_terry),
        (args.corners, corners),
    ):
        if wanted:
            return run(seeds, results)
    if args.rankings:
        return rankings(seeds, results, args.only or [*RANKED], args.methods or QUICK_METHODS)
    wanted = args.methods or (QUICK_METHODS if quick else None)
    for name in names:
        report(name, methods(wanted), seeds, results)


if __name__ == "__main__":
    main()
