"""Other ways to find what people like, on the people of `people.py`.

    python benchmarks/people_rivals.py [--full] [--save] [--rivals NAME ...] [--spaces NAME ...]
                                       [--kinds NAME ...] [--people 20] [--first-seed 80000]

`make rivals` sets up an environment with the packages; what is missing is named and left out.
Without arguments: two kinds of person, three people each.

- `scipy`: a dozen lines. Pairs lie to both sides of the best point so far, along axes that are
  drawn anew when all were used, at distances from 31 down to 9 degrees; the best point has the
  maximum likelihood under the model of `Person`, with their JND.
- `choix`: rounds of items in a box that halves about the best one, all pairs of a round, and
  Bradley-Terry scores.
- `optuna`: the preferential Gaussian process of optuna-dashboard, with two trials to choose from.
- `eubo`: BoTorch's PairwiseGP and the expected utility of the best option; four random pairs first.
- `aepsych`: AEPsych's pairwise probit model and noisy expected improvement, as in its examples.
- `questplus`: QUEST+, for tilts: which of two tilts x ± 10 degrees; the ideal is the mean of a
  psychometric function.

All but the first see coordinates of the tangent space at the start, in a box of 45 degrees to each
side: that is how one uses them on a manifold. Printed per cell: as the grid of `people.py`.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import logging
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from _people import ANSWERS, GRID, START, UNSEEN, Cell, degree, person_of

import geoduel as gd
from geoduel.oracles.people import KINDS, SLOPE, Person

SIDE = 45.0  # of the box, in degrees


@dataclass
class Session:
    """One person who answers some questions. Coordinates are those at the start, in degrees."""

    manifold: gd.Manifold
    x0: Any
    person: Person
    answers: int
    rng: np.random.Generator

    @property
    def d(self) -> int:
        return self.manifold.dim

    @property
    def unit(self) -> float:
        return degree(self.manifold)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        return [(-SIDE, SIDE)] * self.d

    def point(self, c: np.ndarray) -> Any:
        """Points with these coordinates, stacked like them."""
        step = self.manifold.from_coords(self.x0, np.asarray(c, dtype=float) * self.unit)
        return self.manifold.exp(self.x0, step)

    def second(self, c: np.ndarray, e: np.ndarray) -> bool:
        """Whether they prefer the second of two points."""
        return self.person(self.point(c), self.point(e)) > 0


# -- rivals: each asks its questions and returns the best coordinates ------------------------------


def scipy(s: Session) -> np.ndarray:
    """Pairs about the maximum of the likelihood."""
    cloud = np.vstack([np.zeros((1, s.d)), s.rng.uniform(-SIDE, SIDE, (1000, s.d))])
    cloud_points, cloud_costs = s.point(cloud), np.sum(cloud**2, axis=1) / (2 * SIDE**2)
    seen: list[tuple[Any, Any]] = []  # the better one first
    best, axes = np.zeros(s.d), np.eye(s.d)

    def surprise(x: Any, good: Any, bad: Any) -> Any:
        margin = (s.manifold.dist(x, bad) - s.manifold.dist(x, good)) / s.unit
        return -np.log(0.01 + 0.98 * expit(SLOPE * margin))

    for n, h in enumerate(np.geomspace(31, 9, s.answers)):
        if n % s.d == 0:
            axes = np.linalg.qr(s.rng.standard_normal((s.d, s.d)))[0]
        x = s.point(best)
        u = s.manifold.from_coords(x, h * s.unit * axes[n % s.d])
        a, b = s.manifold.exp(x, -u), s.manifold.exp(x, u)
        seen.append((b, a) if s.person(a, b) > 0 else (a, b))
        good, bad = (np.stack([pair[i] for pair in seen]) for i in (0, 1))

        def cost(c: np.ndarray, good: Any = good, bad: Any = bad) -> float:
            told = surprise(s.point(c)[None], good, bad)
            return float(np.sum(c**2) / (2 * SIDE**2) + np.sum(told))

        cloud_costs = cloud_costs + surprise(cloud_points, good[-1:], bad[-1:])
        start = min(best, cloud[np.argmin(cloud_costs)], key=cost)
        best = minimize(cost, start, method="BFGS", options={"maxiter": 20}).x
    return best


def choix(s: Session) -> np.ndarray:
    """Bradley-Terry scores of items in a shrinking box."""
    import choix
    from scipy.stats import qmc

    centre, side, left = np.zeros(s.d), SIDE, s.answers
    count = s.d + 2
    while left > 0:
        sobol = qmc.Sobol(s.d, rng=s.rng).random(count - 1)
        items = centre + side * np.vstack([np.zeros(s.d), 2 * sobol - 1])
        pairs = [(i, j) for i in range(count) for j in range(i)]
        s.rng.shuffle(pairs)
        wins = []
        for i, j in pairs[:left]:
            wins.append((j, i) if s.second(items[i], items[j]) else (i, j))
        left -= len(wins)
        centre = items[np.argmax(choix.ilsr_pairwise(count, wins, alpha=0.1))]
        side /= 2
    return centre


def optuna(s: Session) -> np.ndarray:
    """The preferential sampler of optuna-dashboard."""
    import optuna
    from optuna_dashboard.preferential import create_study
    from optuna_dashboard.preferential.samplers.gp import PreferentialGPSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = create_study(
        n_generate=2, sampler=PreferentialGPSampler(seed=int(s.rng.integers(2**31)))
    )

    def new() -> Any:
        trial = study.ask()
        for i in range(s.d):
            trial.suggest_float(f"c{i}", -SIDE, SIDE)
        return study.trials[trial.number]

    def where(trial: Any) -> np.ndarray:
        return np.array([trial.params[f"c{i}"] for i in range(s.d)])

    best = new()
    for _ in range(s.answers):
        other = new()
        second = s.second(where(best), where(other))
        study.report_preference(*((other, best) if second else (best, other)))
        best = other if second else best
    return where(best)


def eubo(s: Session) -> np.ndarray:
    """BoTorch's expected utility of the best option."""
    import torch
    from botorch.acquisition import PosteriorMean
    from botorch.acquisition.preference import AnalyticExpectedUtilityOfBestOption
    from botorch.exceptions import ModelFittingError
    from botorch.fit import fit_gpytorch_mll
    from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood
    from botorch.optim import optimize_acqf

    torch.manual_seed(int(s.rng.integers(2**31)))
    torch.set_num_threads(1)
    box = torch.tensor([[0.0] * s.d, [1.0] * s.d], dtype=torch.float64)
    points, order, model = [], [], None

    def highest(acquisition: Any, q: int) -> np.ndarray:
        found, _ = optimize_acqf(acquisition, box, q=q, num_restarts=4, raw_samples=64)
        return found.detach().numpy()

    for n in range(s.answers):
        if model is None or n < 4:
            pair = s.rng.random((2, s.d))
        else:
            pair = highest(AnalyticExpectedUtilityOfBestOption(pref_model=model), 2)
        i = len(points)
        second = s.second(*(SIDE * (2 * pair - 1)))
        points.extend(pair)
        order.append((i + 1, i) if second else (i, i + 1))
        model = PairwiseGP(torch.tensor(np.array(points)), torch.tensor(order))
        with suppress(ModelFittingError):  # then the settings are those before the fit
            fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
        model.eval()
    return SIDE * (2 * highest(PosteriorMean(model), 1)[0] - 1)


def aepsych(s: Session) -> np.ndarray:
    """AEPsych's pairwise model and generator."""
    import torch
    from aepsych.generators import OptimizeAcqfGenerator
    from aepsych.models import PairwiseProbitModel
    from botorch.acquisition import PosteriorMean, qNoisyExpectedImprovement
    from botorch.exceptions import ModelFittingError
    from botorch.optim import optimize_acqf

    logging.disable(logging.WARNING)
    torch.manual_seed(int(s.rng.integers(2**31)))
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    low, high = torch.full((s.d,), -SIDE), torch.full((s.d,), SIDE)
    generator = OptimizeAcqfGenerator(
        lb=low, ub=high, acqf=qNoisyExpectedImprovement, restarts=4, samps=64, stimuli_per_trial=2
    )
    pairs, answers, model = [], [], PairwiseProbitModel(lb=low, ub=high)
    for n in range(s.answers):
        if n < 4:
            pair = torch.tensor(s.rng.uniform(-SIDE, SIDE, (s.d, 2)))
        else:
            pair = generator.gen(1, model)[0]
        pairs.append(pair)
        answers.append(float(s.second(*pair.numpy().T)))
        with suppress(ModelFittingError):
            model.fit(torch.stack(pairs), torch.tensor(answers))
        model.eval()
    found, _ = optimize_acqf(
        PosteriorMean(model), torch.stack([low, high]), q=1, num_restarts=4, raw_samples=64
    )
    return found.detach().numpy()[0]


def questplus(s: Session) -> np.ndarray:
    """QUEST+: the mean of a psychometric function."""
    from questplus import QuestPlus

    grid = np.arange(-SIDE, SIDE + 1, 2)
    quest = QuestPlus(
        stim_domain={"intensity": grid},
        param_domain={
            "mean": np.arange(-SIDE, SIDE + 0.5, 0.5),
            "sd": np.array([0.5, 1.0, 2.0, 4.0]),
            "lower_asymptote": np.array([0.01]),
            "lapse_rate": np.array([0.02]),
        },
        outcome_domain={"response": ["lower", "upper"]},
        func="norm_cdf",
        stim_scale="linear",
        param_estimation_method="mean",
    )
    for _ in range(s.answers):
        x = quest.next_stim["intensity"]
        upper = s.second(np.array([x - 10]), np.array([x + 10]))
        # P("lower") grows with the pair's position: half at the ideal.
        quest.update(stim={"intensity": x}, outcome={"response": "lower" if not upper else "upper"})
    return np.array([quest.param_estimate["mean"]])


RIVALS: dict[str, Callable[[Session], np.ndarray]] = {
    "scipy": scipy,
    "choix": choix,
    "optuna": optuna,
    "eubo": eubo,
    "aepsych": aepsych,
    "questplus": questplus,
}
# On which spaces each is run in full, and with how many people a cell.
FULL = {
    "questplus": (("SO(2)",), 100),
    "choix": (tuple(ANSWERS), 40),
    "scipy": (tuple(ANSWERS), 20),
    "optuna": (("S^2",), 10),
    "eubo": (("S^2",), 10),
    "aepsych": (("S^2",), 10),
}


def measure(rival: str, cell: Cell, seed: int) -> tuple[float, float, float]:
    """Regret and error, degrees, after the last answer of one person, and seconds an answer."""
    manifold, x0 = START[cell.space]
    rng = np.random.default_rng(seed)
    person = person_of(cell, rng)
    began = time.process_time()
    c = RIVALS[rival](Session(manifold, x0, person, cell.answers, rng))
    spent = (time.process_time() - began) / cell.answers
    x = manifold.exp(x0, manifold.from_coords(x0, c * degree(manifold)))
    return person.regret(x), person.error(x) / degree(manifold), spent


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--rivals", nargs="+", choices=tuple(RIVALS), default=tuple(RIVALS))
    parser.add_argument("--spaces", nargs="+", choices=tuple(ANSWERS))
    parser.add_argument("--kinds", nargs="+", choices=(*KINDS, *UNSEEN))
    parser.add_argument("--people", type=int, help="people a cell")
    parser.add_argument("--first-seed", type=int, default=80_000)
    options = parser.parse_args()
    print(describe_machine())
    warnings.simplefilter("ignore")
    quick = {"SO(2): fits the model", "S^2: fits the model"}
    for rival in options.rivals:
        spaces, usual = FULL[rival]
        people = options.people or (usual if options.full else 3)
        seeds = range(options.first_seed, options.first_seed + people)
        results = Results(__file__, options.save, people=people, seeds=[seeds[0], seeds[-1]])
        for name, cell in GRID.items():
            if cell.space not in spaces or cell.space not in (options.spaces or spaces):
                continue
            if cell.kind not in (options.kinds or (cell.kind,)):
                continue
            if not (options.full or options.spaces or options.kinds or name in quick):
                continue
            try:
                rows = np.array([measure(rival, cell, seed) for seed in seeds])
            except ImportError as missing:
                print(f"{rival}: left out, {missing}; `make rivals` sets up what it needs")
                break
            regret, error, spent = rows.T
            median, high = np.quantile(regret, [0.5, 0.9])
            print(
                f"{rival:9} {name:52} {people:4} people | median {median:5.2f} JND, 90 % below"
                f" {high:6.2f} | {np.median(error):5.2f} degrees"
                f" | {1e3 * np.mean(spent):4.0f} ms an answer",
                flush=True,
            )
            told = {"regret": median, "90 %": high, "error": np.median(error), "each": regret}
            results.add(f"{rival} {name}", **told, ms=1e3 * np.mean(spent))


if __name__ == "__main__":
    main()
