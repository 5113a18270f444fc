"""Solvers of other packages, fed by duels alone: they never see a value of f.

What a solver needs to know is paid for in duels as a fair implementation would pay. CMA-ES needs
the best μ of λ points in order, which a sort by insertion finds; a (1+1) strategy needs one duel.
Solvers that want values get the places of the points in a ranking of all that were asked before,
which costs log2 n duels for the n-th. Evaluations are counted beside. Each package is imported when
it is used.
"""

from __future__ import annotations

import warnings
from bisect import insort
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import MissingExtraError
from ..manifolds.adapters.pymanopt import to_pymanopt
from ..methods.rivals.ranking import place, top
from .meter import Meter

__all__ = ["OTHERS", "Places"]

Solver = Callable[[Meter], Any]


def _needs(package: str) -> Any:
    """The package, or an error that says how to get it."""
    from importlib import import_module

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(package)
    except ImportError:
        raise MissingExtraError(
            f"this solver needs {package}: pip install 'geoduel[bench-solvers]'"
        ) from None


class Places:
    """Numbers in the order of f, for solvers that want values: found by bisection, in duels."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.points: list[Any] = []
        self.values: list[float] = []

    def __call__(self, x: Any) -> float:
        """A number between those of the points before and behind x in the ranking."""
        at = self.meter.settle(place(x, self.points))
        if 0 < at < len(self.values):
            value = (self.values[at - 1] + self.values[at]) / 2
        else:  # beyond the ends
            value = (
                0.0 if not self.values else self.values[0] - 1 if at == 0 else self.values[-1] + 1
            )
        self.points.insert(at, x)
        insort(self.values, value)
        self.meter.returns(self.points[0])
        return value


def cma_es(meter: Meter, restarts: bool = False) -> str:
    """pycma, without the active update, which would need a full ranking; or IPOP with restarts."""
    cma, d = _needs("cma"), meter.case.dim
    size, start, best = 4 + int(3 * np.log(d)), np.zeros(d), meter.case.x0
    while True:
        es = cma.CMAEvolutionStrategy(
            start if d > 1 else np.append(start, 0.0),  # pycma knows no single dimension
            meter.sigma,
            {
                "verbose": -9, "CMA_active": False, "popsize": size, "tolx": 1e-12,
                "seed": int(meter.rng.integers(1, 2**31)), "tolfun": 0, "tolfunhist": 0,
                "integer_variables": list(range(meter.whole)),
                "tolflatfitness": 10**6, "maxfevals": 10**9, "maxiter": 10**9,
            },
        )  # fmt: skip
        mu = size // 2
        while not es.stop():
            asked = es.ask()
            points = [meter.point(c[:d]) for c in asked]
            order = meter.settle(top(points, mu))
            ranks = np.full(size, float(mu))
            ranks[order] = np.arange(mu)
            es.tell(asked, list(ranks))
            if meter.better(points[order[0]], best):
                best = points[order[0]]
            meter.returns(best)
        if not restarts:
            return "pycma stopped"
        size, start = 2 * size, meter.another_start()


def cma_ipop(meter: Meter) -> str:
    """Pycma with restarts from random points, the population doubled each time."""
    return cma_es(meter, restarts=True)


def nevergrad_one_plus_one(meter: Meter) -> str:
    """Nevergrad's OnePlusOne: the newcomer against the incumbent, one duel each."""
    ng, d = _needs("nevergrad"), meter.case.dim
    parameter = ng.p.Array(init=np.zeros(d)).set_mutation(sigma=meter.sigma)
    parameter.random_state.seed(int(meter.rng.integers(2**31)))
    optimizer = ng.optimizers.registry["OnePlusOne"](parameter, budget=meter.budget)
    best, value = None, 0.0
    while True:
        candidate = optimizer.ask()
        x = meter.point(candidate.value)
        if best is None or meter.better(x, best):
            best, value = x, value - 1
            optimizer.tell(candidate, value)
        else:
            optimizer.tell(candidate, value + 1)
        meter.returns(best)


def nevergrad_pso(meter: Meter) -> str:
    """Nevergrad's particle swarm, by places."""
    ng, d = _needs("nevergrad"), meter.case.dim
    parameter = ng.p.Array(init=np.zeros(d)).set_mutation(sigma=meter.sigma)
    parameter.random_state.seed(int(meter.rng.integers(2**31)))
    optimizer = ng.optimizers.registry["PSO"](parameter, budget=meter.budget)
    value_of = Places(meter)
    while True:
        candidate = optimizer.ask()
        optimizer.tell(candidate, value_of(meter.point(candidate.value)))


def scipy_nelder_mead(meter: Meter) -> str:
    """SciPy's Nelder-Mead in normal coordinates, by places."""
    from scipy.optimize import minimize

    d, value_of = meter.case.dim, Places(meter)
    edge = meter.sigma * np.sqrt(d)
    simplex = np.vstack([np.zeros(d), edge * np.eye(d)])
    minimize(
        lambda c: value_of(meter.point(c)), simplex[0], method="Nelder-Mead",
        options={
            "initial_simplex": simplex, "adaptive": True, "xatol": 1e-12, "fatol": -1.0,
            "maxiter": 10**9, "maxfev": 10**9,
        },
    )  # fmt: skip
    return "SciPy stopped"


def _pymanopt(meter: Meter, solver: str, **options: Any) -> str:
    """A derivative-free solver of pymanopt on its own manifold, by places."""
    pymanopt = _needs("pymanopt")
    home, value_of = meter.case.manifold, Places(meter)
    manifold = to_pymanopt(home)

    @pymanopt.function.numpy(manifold)
    def cost(x: Any) -> float:
        return value_of(home.to_manifold(np.asarray(x)))  # its points drift off the manifold

    kind = getattr(pymanopt.optimizers, solver)
    state = np.random.get_state()  # noqa: NPY002 - pymanopt draws from the global generator
    np.random.seed(int(meter.rng.integers(2**31)))  # noqa: NPY002
    try:
        kind(verbosity=0, max_time=1e9, max_iterations=10**9, **options).run(
            pymanopt.Problem(manifold, cost)
        )
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return "pymanopt stopped"


def pymanopt_nelder_mead(meter: Meter) -> str:
    """Pymanopt's Nelder-Mead, from its own random simplex."""
    return _pymanopt(meter, "NelderMead", max_cost_evaluations=10**9)


def pymanopt_pso(meter: Meter) -> str:
    """Pymanopt's particle swarm, from its own random points."""
    return _pymanopt(meter, "ParticleSwarm", max_cost_evaluations=10**9)


def optuna_preferential(meter: Meter) -> str:
    """The preferential Gaussian process of optuna-dashboard: for some dozens of duels."""
    optuna = _needs("optuna")
    _needs("optuna_dashboard")
    from optuna_dashboard.preferential import create_study
    from optuna_dashboard.preferential.samplers.gp import PreferentialGPSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    d, reach = meter.case.dim, 5 * meter.sigma * np.sqrt(meter.case.dim)
    study = create_study(
        n_generate=2, sampler=PreferentialGPSampler(seed=int(meter.rng.integers(2**31)))
    )

    def trial() -> tuple[Any, Any]:
        one = study.ask()
        c = [one.suggest_float(f"c{i}", -reach, reach) for i in range(d)]
        return one, meter.point(np.array(c))

    best, x = trial()
    while True:
        other, y = trial()
        if meter.better(y, x):
            study.report_preference(other, best)
            best, x = other, y
        else:
            study.report_preference(best, other)
        meter.returns(x)


def botorch_eubo(meter: Meter) -> str:
    """BoTorch's expected utility of the best option, a Gaussian process of duels: some dozens."""
    torch = _needs("torch")
    _needs("botorch")
    from botorch.acquisition.preference import AnalyticExpectedUtilityOfBestOption
    from botorch.fit import fit_gpytorch_mll
    from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood
    from botorch.optim import optimize_acqf

    d, reach = meter.case.dim, 5 * meter.sigma * np.sqrt(meter.case.dim)
    torch.manual_seed(int(meter.rng.integers(2**31)))
    bounds = torch.stack([torch.zeros(d), torch.ones(d)]).double()

    def point(u: Any) -> Any:
        return meter.point(reach * (2 * u.numpy() - 1))

    asked = [torch.full((d,), 0.5).double(), torch.rand(d).double()]
    pairs: list[list[int]] = []
    best = 0
    while True:
        new = len(asked) - 1
        won = meter.better(point(asked[new]), point(asked[best]))
        pairs.append([new, best] if won else [best, new])
        best = new if won else best
        meter.returns(point(asked[best]))
        model = PairwiseGP(torch.stack(asked), torch.tensor(pairs))
        fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
        choice = AnalyticExpectedUtilityOfBestOption(
            pref_model=model, previous_winner=asked[best][None]
        )
        found, _ = optimize_acqf(choice, bounds, q=1, num_restarts=3, raw_samples=64)
        asked.append(found[0])


OTHERS: dict[str, Solver] = {
    "pycma": cma_es,
    "pycma-ipop": cma_ipop,
    "nevergrad-one-plus-one": nevergrad_one_plus_one,
    "nevergrad-pso": nevergrad_pso,
    "scipy-nelder-mead": scipy_nelder_mead,
    "pymanopt-nelder-mead": pymanopt_nelder_mead,
    "pymanopt-pso": pymanopt_pso,
    "optuna-preferential": optuna_preferential,
    "botorch-eubo": botorch_eubo,
}
"""Solvers of other packages by name."""
