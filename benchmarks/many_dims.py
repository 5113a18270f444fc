"""How many answers it takes to find what people like in 9 to 31 dimensions, by method.

    python benchmarks/many_dims.py [--full] [--save] [--methods NAME ...] [--spaces NAME ...]
                                   [--kinds NAME ...] [--people N] [--answers N]

- `ideal-direction`: the method of `gd.for_people`.
- `auto`: what it was before, DuelNewton with probes of 4 degrees at least.
- `random`: random pairs, and the most probable ideal and JND of a person who sees all directions
  alike.
- `line`: sequential line search (Koyama and others 2017): a Gaussian process of what is liked, a
  line from the best point through the one of largest expected improvement. The slider is moved by
  four duels, those of a golden-section search.
- `eubo`: BoTorch's PairwiseGP and the expected utility of the best option, as in
  `people_rivals.py`; left out where BoTorch is missing. Its regret is measured at the end alone.

All are told the start, `random` and `line` a ball of 75 degrees about it that holds the ideal, and
`eubo` a box of 45 degrees to each side. Printed per cell: answers after which the median regret
stays below 2 JND, its course, and of methods that state a region how often it held the ideal, or a
point as good, at the end.

Seeds 88000 to 88099 were used for tuning.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np
from people_rivals import Session, eubo
from rankings import first
from scipy.optimize import minimize
from scipy.special import expit, log_expit, ndtr

from _people import MANY, START, Cell, degree, person_of

import geoduel as gd
from geoduel.oracles.people import KINDS, SLOPE, Person

BELOW = 2.0  # JND
AT = (20, 50, 100, 150, 200, 300)
SPACES = ("S^9", "S^31", "R^20")
OFF = (20.0, 60.0)  # distances of the ideal from the start, in "degrees"
REACH = 75.0  # of the rivals from the start, in "degrees"
REFIT = 5  # answers of `random` between two fits

# Regret, stated radius, seconds and error, after each answer.
Course = Iterator[tuple[float, float, float, float]]


def ideal_direction(s: Session) -> Course:
    """The method for people in so many dimensions."""
    method: Any = gd.IdealDirection()
    state = method.start(s.manifold, s.x0, s.rng)
    while True:
        began = time.process_time()
        a, b = method.propose(s.manifold, state, s.rng)
        left = 1 if s.rng.random() < 0.5 else -1
        answer = s.person.answer(a, b, left)
        state = method.update(s.manifold, state, a, b, answer, s.rng, left=left)
        spent = time.process_time() - began
        error = s.person.error(state.best)
        yield s.person.regret(state.best), state.uncertainty, spent, error


def auto(s: Session) -> Course:
    """The default for functions, with probes that a person can tell."""
    regrets: list[float] = []

    def note(progress: gd.Progress) -> None:
        more = progress.duels - len(regrets)
        regrets.extend([s.person.regret(progress.x)] * more)

    least = 4 * s.unit
    gd.minimize(
        s.person,
        s.manifold,
        s.x0,
        method="auto",
        min_radius=least,
        budget=s.answers + 2 * s.d,
        rng=s.rng,
        callback=note,
    )
    for regret in regrets:
        yield regret, np.nan, np.nan, np.nan


def random(s: Session) -> Course:
    """Random pairs in a ball, and the ideal and JND that make the answers most probable."""
    best, seen = np.zeros(s.d + 1), []

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        c, rise = x[:-1], SLOPE * np.exp(x[-1])
        good, bad = (np.array([pair[i] for pair in seen]) - c for i in (0, 1))
        far = [np.linalg.norm(v, axis=1, keepdims=True) for v in (good, bad)]
        margin = far[1] - far[0]
        p = expit(rise * margin)
        told = 0.01 + 0.98 * p
        pull = 0.98 * rise * p * (1 - p) / told
        slope = np.append(np.sum(pull * (good / far[0] - bad / far[1]), axis=0), pull.T @ margin)
        value = c @ c / (2 * REACH**2) + x[-1] ** 2 / 4 - np.sum(np.log(told))
        return float(value), np.append(c / REACH**2, x[-1] / 2) - slope

    while True:
        pair = REACH * in_ball(s.rng, 2, s.d)
        seen.append(pair[::-1] if s.second(*pair) else pair)
        if len(seen) % REFIT == 0:
            best = minimize(cost, best, jac=True, method="L-BFGS-B").x
        yield s.person.regret(s.point(best[:-1])), np.nan, np.nan, np.nan


def line(s: Session) -> Course:
    """Sequential line search: lines through the best point and the most promising one."""
    length, noise = REACH, 0.1
    points, better, worse = [np.zeros(s.d)], [], []
    best = points[0]

    def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        apart = np.sum((x[:, None] - y[None]) ** 2, axis=2)
        return np.exp(-apart / (2 * length**2))

    while True:
        X = np.array(points)
        K = kernel(X, X) + 1e-4 * np.eye(len(X))
        root = np.linalg.cholesky(K)

        def cost(w: np.ndarray, root: np.ndarray = root) -> tuple[float, np.ndarray]:
            g = root @ w
            z = (g[better] - g[worse]) / noise
            pull = np.zeros(len(g))
            np.add.at(pull, better, expit(-z) / noise)
            np.add.at(pull, worse, -expit(-z) / noise)
            return float(w @ w / 2 - np.sum(log_expit(z))), w - root.T @ pull

        w = (
            minimize(cost, np.zeros(len(X)), jac=True, method="L-BFGS-B").x
            if better
            else 0 * X[:, 0]
        )
        g = root @ w
        best = X[np.argmax(g)]
        near = best + REACH / 4 * in_ball(s.rng, 500, s.d)
        tried = np.concatenate([REACH * in_ball(s.rng, 500, s.d), near])
        across = np.linalg.solve(root, kernel(X, tried))
        mean, spread = across.T @ w, np.sqrt(np.maximum(1 - np.sum(across**2, axis=0), 1e-9))
        z = (mean - g.max()) / spread
        promise = spread * (z * ndtr(z) + np.exp(-z * z / 2) / np.sqrt(2 * np.pi))
        step = 1.25 * (tried[np.argmax(promise)] - best)
        low, high, golden = -0.2, 1.0, (np.sqrt(5) - 1) / 2
        for _ in range(4):
            inner = high - golden * (high - low), low + golden * (high - low)
            pair = [best + t * step for t in inner]
            second = s.second(*pair)
            points += pair
            m = len(points)
            better.append(m - 1 if second else m - 2)
            worse.append(m - 2 if second else m - 1)
            low, high = (inner[0], high) if second else (low, inner[1])
            yield s.person.regret(s.point(best)), np.nan, np.nan, np.nan
        better.append(better[-1])  # what the slider is left at beats where it came from
        worse.append(int(np.argmax(g)))


def in_ball(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Random points of the unit ball, shape (n, d)."""
    x = rng.standard_normal((n, d))
    return x * (rng.random((n, 1)) ** (1 / d) / np.linalg.norm(x, axis=1, keepdims=True))


METHODS: dict[str, Callable[[Session], Course]] = {
    "ideal-direction": ideal_direction,
    "auto": auto,
    "random": random,
    "line": line,
}


def cells(options: Any) -> dict[str, Cell]:
    """The cells to run, by name."""
    kinds = options.kinds or [MANY]
    found = {}
    for space in options.spaces or (SPACES if options.full else SPACES[:1]):
        for kind in kinds:
            for off in options.off:
                answers = options.answers or (150 if options.full else 60)
                found[f"{space}: {kind}: {off:g}"] = Cell(space, answers, kind=kind, off=off)
    return found


def session(cell: Cell, seed: int) -> Session:
    """One person of a cell, about to be asked."""
    manifold, x0 = START[cell.space]
    rng = np.random.default_rng(seed)
    return Session(manifold, x0, person_of(cell, rng), cell.answers, rng)


def held(cell: Cell, person: Person, regret: float, error: float, stated: float) -> bool:
    """Whether the region holds the ideal, or a point as good if they hardly see some directions.

    The distance to the nearest of those is what they see of it.
    """
    return (regret * person.jnd if cell.kind == MANY else error) <= stated


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--methods", nargs="+", choices=(*METHODS, "eubo"), default=[*METHODS])
    parser.add_argument("--spaces", nargs="+", choices=SPACES)
    parser.add_argument("--kinds", nargs="+", choices=tuple(KINDS))
    parser.add_argument("--off", nargs="+", type=float, default=OFF)
    parser.add_argument("--people", type=int, help="people a cell; by default 3, in full 12")
    parser.add_argument("--answers", type=int)
    parser.add_argument("--first-seed", type=int, default=89_000)
    options = parser.parse_args()
    print(describe_machine())
    people = options.people or (12 if options.full else 3)
    seeds = range(options.first_seed, options.first_seed + people)
    results = Results(__file__, options.save, people=people, seeds=[seeds[0], seeds[-1]])
    for name, cell in cells(options).items():
        for method in options.methods:
            if method == "eubo":
                if not last_only(name, cell, seeds, results):
                    break
                continue
            runs = []
            inside = []
            for seed in seeds:
                s = session(cell, seed)
                run = np.array(list(islice(METHODS[method](s), cell.answers)))
                runs.append(run)
                regret, stated, _, error = run[-1]
                inside.append(held(cell, s.person, regret, error, stated))
            rows = np.array(runs)
            medians = np.median(rows[:, :, 0], axis=0)
            after = first(medians, BELOW)
            states = bool(np.isfinite(rows[:, -1, 1]).all())
            told: dict[str, Any] = {
                "answers": cell.answers,
                "after": after,
                "medians": {n: medians[n - 1] for n in AT if n <= cell.answers},
                "inside": np.mean(inside) if states else None,
                "stated": np.median(rows[:, -1, 1]) / degree(START[cell.space][0]),
                "ms": 1e3 * np.quantile(rows[:, :, 2], 0.95),
            }
            course = ", ".join(f"{n}: {x:.2f}" for n, x in told["medians"].items())
            region = f" | inside {np.mean(inside):.2f}" if states else ""
            print(f"{name:34} {method:16} | {after or '–'} | {course}{region}", flush=True)
            results.add(f"{name}: {method}", **told)


def last_only(name: str, cell: Cell, seeds: range, results: Results) -> bool:
    """Run BoTorch, whose regret is known at the end; whether it is there."""
    regrets = []
    for seed in seeds:
        s = session(cell, seed)
        try:
            regrets.append(s.person.regret(s.point(eubo(s))))
        except ImportError as missing:
            print(f"eubo: left out, {missing}; `make rivals` sets up what it needs")
            return False
    regret = float(np.median(regrets))
    print(f"{name:34} {'eubo':16} | {cell.answers}: {regret:.2f}", flush=True)
    results.add(f"{name}: eubo", answers=cell.answers, after=None, medians={cell.answers: regret})
    return True


if __name__ == "__main__":
    main()
