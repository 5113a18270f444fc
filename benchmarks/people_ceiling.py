"""How well people can be known at all: a method that is told all of a person but the ideal.

    python benchmarks/people_ceiling.py [--full] [--save] [--people 20] [--spaces NAME ...]
                                        [--kinds NAME ...] [--first-seed 80000]

The method knows the form of the loss, the just-noticeable difference (JND), how it grows, the noise
and the share of lapses. So all that is left of a person is the ideal, and of those who drift where
they go: they are told how far each answer moves it, up to a normal factor. The belief is a set
of points in normal coordinates about the start, evenly distributed in length up to 45 "degrees" at
first. They are weighed by exact distances and moved by Metropolis steps. Each question is the one
that tells most of 160, of all widths, and of as many near the best of these. The recommended point
is the one of least expected loss.

Printed and stored: the median regret in JND after the answers that `people.py` asks of the same
people, the 90th percentile, and the information of an answer in bits. Each question is the best for
the moment, and no proof says that others are not better in the long run. But where even this method
misses what is wanted, no better model of people would reach it.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import math
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

from _people import ANSWERS, GRID, START, Cell, degree, person_of

from geoduel.methods.people.observer import chance, sigmoid
from geoduel.methods.people.weights import drawn, information
from geoduel.oracles.people import SLOPE, Person

KNOWN = (
    "fits the model",
    "root loss",
    "Weber fraction 0.06",
    "Weber fraction 0.15",
    "heavy-tailed noise",
    "tiring",
    "JND a third of that assumed",
    "drifting",  # on R^4 alone, where every step is the same one
)
POINTS, SOME = 3000, 500  # that stand for the belief, and where questions are compared
CANDIDATES, BEST = 160, 8  # questions that are compared, and those that others are tried near
SWEEPS = 6  # Metropolis steps of each point after resampling


class Known:
    """A person whose loss depends on the distance alone, all known but the ideal."""

    def __init__(self, person: Person) -> None:
        self.person = person

    def loss(self, length: np.ndarray) -> np.ndarray:
        """Loss at a distance."""
        power = self.person.power
        return length**power * (20 * self.person.jnd) ** (1 - power)

    def first(self, near: np.ndarray, far: np.ndarray, answered: np.ndarray | int) -> np.ndarray:
        """Probability that the first point of a pair is preferred, by the ideal's distances.

        ``answered`` is how many answers they have given before.
        """
        p = self.person
        losses = self.loss(near), self.loss(far)
        jnd = p.jnd * (1 + p.fatigue * answered) + p.weber * (losses[0] + losses[1]) / 2
        seen = (losses[1] - losses[0]) / jnd
        looked = {
            "logistic": lambda: sigmoid(SLOPE * seen),
            "cauchy": lambda: 0.5 + np.arctan(seen) / math.pi,
        }[p.noise]()
        return chance(looked, np.array(p.lapse), 0.5)


class Asked:
    """The belief about one person, and the questions that follow from it."""

    def __init__(self, cell: Cell, rng: np.random.Generator) -> None:
        self.person = person_of(cell, rng)
        self.known, self.rng = Known(self.person), rng
        self.manifold, self.start = START[cell.space]
        self.reach = 45 * degree(self.manifold)
        d = self.manifold.dim
        c = rng.standard_normal((POINTS, d))
        lengths = rng.uniform(0, self.reach, (POINTS, 1))
        self.c = c / np.linalg.norm(c, axis=1, keepdims=True) * lengths
        self.step = 0.0  # deviation of what an answer moves the ideal by, in each direction
        if self.person.drift is not None:
            self.step = float(np.linalg.norm(self.person.drift)) / math.sqrt(d)
            self.c = np.concatenate([self.c, self.step * rng.standard_normal((POINTS, d))], axis=1)
        self.logw = np.zeros(POINTS)
        self.ends = np.zeros((2, 0, d))  # coordinates of the preferred points, and of the others

    def at(self, c: np.ndarray) -> np.ndarray:
        """Points of these coordinates."""
        return self.manifold.exp(self.start, self.manifold.from_coords(self.start, c))

    def ideals(self, c: np.ndarray, answered: np.ndarray | int) -> np.ndarray:
        """Coordinates of the ideals after so many answers, which may be an array (m, 1)."""
        d = self.manifold.dim
        return c[..., :d] + answered * c[..., d:] if self.step else c

    def apart(self, c: np.ndarray, e: np.ndarray, answered: np.ndarray | int) -> np.ndarray:
        """Distances of the ideals, after so many answers, from points, shape (len(c), len(e))."""
        ideals = self.ideals(c[:, None], answered)
        return self.manifold.dist(self.at(ideals), self.at(e)[None])

    def weights(self) -> np.ndarray:
        """Weights that sum to 1."""
        w = np.exp(self.logw - self.logw.max())
        return w / w.sum()

    def log_posterior(self, c: np.ndarray) -> np.ndarray:
        """Logarithm of the posterior density at coordinates c."""
        d = self.manifold.dim
        lengths = np.linalg.norm(c[:, :d], axis=1)
        prior = -(d - 1) * np.log(lengths + 1e-9)
        if self.step:
            prior -= np.sum((c[:, d:] / self.step) ** 2, axis=1) / 2
        before = np.arange(self.ends.shape[1])[:, None]
        near, far = (self.apart(c, e, before) for e in self.ends)
        likelihood = np.log(self.known.first(near, far, np.arange(near.shape[1]))).sum(axis=1)
        return np.where(lengths < self.reach, prior + likelihood, -np.inf)

    def ask(self) -> float:
        """Ask the best question and hear the answer; return what it was expected to tell, bits."""
        rng, w = self.rng, self.weights()
        answered = self.ends.shape[1]
        some = self.ideals(self.c[drawn(w, SOME, rng.random())], answered)
        spread = np.cov(some.T).reshape(some.shape[1], -1) + 1e-16 * np.eye(some.shape[1])
        root = np.linalg.cholesky(spread)
        u = rng.standard_normal((CANDIDATES, len(root)))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        half = u @ root.T * np.geomspace(0.02, 5, CANDIDATES)[:, None]
        mean = some.mean(axis=0)
        middle = mean + rng.uniform(0, 1, (CANDIDATES, 1)) * (
            some[rng.integers(SOME, size=CANDIDATES)] - mean
        )
        gain = self.tells(some, middle, half)
        best = np.argsort(-gain)[:BEST].repeat(CANDIDATES // BEST)
        middles = middle[best] + 0.15 * rng.standard_normal(half.shape) @ root.T
        size = np.exp(0.3 * rng.standard_normal((CANDIDATES, 1)))
        length = np.linalg.norm(half[best], axis=1, keepdims=True) / math.sqrt(len(root))
        halves = size * half[best] + 0.2 * length * rng.standard_normal(half.shape)
        gains = self.tells(some, middles, halves)
        if gains.max() > gain.max():
            gain, middle, half = gains, middles, halves
        j = int(np.argmax(gain))
        a, b = middle[j] + half[j], middle[j] - half[j]
        x, y = self.at(np.stack([a, b]))
        pair = np.stack([a, b] if self.person.answer(x, y) < 0 else [b, a])
        near, far = (self.apart(self.c, e[None], answered)[:, 0] for e in pair)
        self.logw += np.log(self.known.first(near, far, answered))
        self.ends = np.concatenate([self.ends, pair[:, None]], axis=1)
        self.renew()
        return gain[j] / math.log(2)

    def tells(self, some: np.ndarray, middle: np.ndarray, half: np.ndarray) -> np.ndarray:
        """Mutual information of the ideal and the answers to questions."""
        ideals = self.at(some)[:, None]
        near, far = (
            self.manifold.dist(ideals, self.at(e)[None]) for e in (middle + half, middle - half)
        )
        first = self.known.first(near, far, self.ends.shape[1])
        w = np.full((1, len(some)), 1 / len(some))
        return information(w, np.stack([first, 1 - first]))

    def renew(self) -> None:
        """Resample and move the points where few of them count."""
        w, rng, n = self.weights(), self.rng, POINTS
        if w @ w * n < 2:
            return
        self.c, self.logw = self.c[drawn(w, n, rng.random())], np.zeros(n)
        value = self.log_posterior(self.c)
        d = self.c.shape[1]
        for _ in range(SWEEPS):
            spread = np.cov(self.c.T).reshape(d, d)
            root = np.linalg.cholesky(spread + 1e-16 * np.eye(d))
            step = rng.standard_normal((n, d)) @ root.T * rng.choice([0.1, 0.4, 1.0], (n, 1))
            moved = self.c + step * 2 / math.sqrt(d)
            new = self.log_posterior(moved)
            accept = np.log(rng.random(n)) < new - value
            self.c[accept], value[accept] = moved[accept], new[accept]

    def regret(self) -> float:
        """What the person feels of the point of least expected loss, in JND."""
        w = self.weights()
        now = self.ideals(self.c, self.ends.shape[1])
        tried = np.concatenate([now[drawn(w, SOME, 0.5)], w[None] @ now])
        some = self.at(now[drawn(w, 2 * SOME, self.rng.random())])
        losses = self.known.loss(self.manifold.dist(self.at(tried)[:, None], some[None]))
        j = np.argmin(losses.mean(axis=1))
        return self.person.regret(self.at(tried[j]))


def measure(cell: Cell, seed: int) -> tuple[float, float]:
    """Regret after the cell's answers, and the mean information of one, bits."""
    asked = Asked(cell, np.random.default_rng(seed))
    bits = np.mean([asked.ask() for _ in range(cell.answers)])
    return asked.regret(), float(bits)


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--people", type=int, help="people a cell; by default 2, in full 20")
    parser.add_argument("--spaces", nargs="+", choices=tuple(ANSWERS))
    parser.add_argument("--kinds", nargs="+", choices=KNOWN)
    parser.add_argument("--first-seed", type=int, default=80_000)
    options = parser.parse_args()
    print(describe_machine())
    people = options.people or (20 if options.full else 2)
    seeds = range(options.first_seed, options.first_seed + people)
    spaces = options.spaces or (ANSWERS if options.full else ("SO(2)", "S^2"))
    results = Results(__file__, options.save, people=people, seeds=[seeds[0], seeds[-1]])
    for space in spaces:
        for kind in options.kinds or (KNOWN if options.full else KNOWN[:2]):
            if kind == "drifting" and space != "R^4":
                continue
            cell = GRID[f"{space}: {kind}"]
            regret, bits = np.array([measure(cell, seed) for seed in seeds]).T
            told: dict[str, Any] = {
                "regret": np.median(regret),
                "90 %": np.quantile(regret, 0.9),
                "bits": bits.mean(),
            }
            print(
                f"{space + ': ' + kind:32} {people:4} people, {cell.answers} answers | median"
                f" {told['regret']:5.2f} JND, 90 % below {told['90 %']:5.2f}"
                f" | {told['bits']:.2f} bits an answer",
                flush=True,
            )
            results.add(f"{space}: {kind}", **told, answers=cell.answers)


if __name__ == "__main__":
    main()
