"""Table 1 of the paper by measurement: duels against 1/ε and against d.

Every run takes the theorem's own step, radius and batch for its ε and d, on a function for which
the theorem's assumptions hold. It stops when it has the accuracy that the theorem states.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ... import theory
from ...domains.ball import Ball
from ...errors import RadiusWarning, TiesWarning
from ...manifolds import Euclidean, Sphere
from ...manifolds.base import Manifold
from ...optimize import Progress, minimize
from ...oracles.objective import from_objective
from ...plotting import COLOURS, panels
from ..estimates import number
from ..experiment import Experiment, Outcome, Plan, Task
from ..report import Figure, Section, Table

__all__ = ["RATES", "exponent"]

COPIES = 16
VALLEY = 4.0  # f starts at VALLEY/2 times ε on the valley's floor


class Hits:
    """Duels at which each of several runs in lock step first had the accuracy."""

    def __init__(self, measure: Callable[[Any], np.ndarray], eps: float) -> None:
        self.measure, self.eps = measure, eps
        self.duels = np.full(COPIES, math.inf)

    def __call__(self, progress: Progress) -> bool:
        new = (self.measure(progress) <= self.eps) & np.isinf(self.duels)
        self.duels[new] = progress.duels
        return bool(np.isfinite(self.duels).all())


def _duels(
    manifold: Manifold,
    f: Callable[[Any], Any],
    x0: np.ndarray,
    hits: Hits,
    **options: Any,
) -> np.ndarray:
    """Run copies in lock step until all have the accuracy; return the duels of each."""
    minimize(
        from_objective(f, vectorized=True),
        manifold,
        np.tile(x0, (COPIES, 1)),
        callback=hits,
        **options,
    )
    return hits.duels


def nonconvex(d: int, eps: float, seed: int) -> tuple[np.ndarray, int]:
    """Minimise -x_1²/2 on the sphere from 1.3 rad away, by the mean gradient norm up to now.

    That mean is E|grad f(x_R)| for the random iterate x_R that Theorem 3.6 returns.
    """
    rule = theory.nonconvex(d=d, L=1.0, D=1.3**2, eps=eps, rule="balanced")
    total = np.zeros(COPIES)

    def mean_gradient(p: Progress) -> np.ndarray:
        nonlocal total
        x = p.x[..., 0]
        total = total + np.abs(x) * np.sqrt(np.maximum(0.0, 1 - x * x))
        return total / p.iteration

    x0 = math.cos(1.3) * _axis(d + 1) + math.sin(1.3) * np.eye(d + 1)[1]
    duels = _duels(
        Sphere(d + 1),
        lambda x: -0.5 * x[..., 0] ** 2,
        x0,
        Hits(mean_gradient, eps),
        method="rdngd",
        iterations=rule.iterations,
        step_size=rule.step_size,
        radius=rule.radius,
        returns="last",
        rng=seed,
    )
    return duels, rule.iterations


def bowl(d: int, eps: float, seed: int) -> tuple[np.ndarray, int]:
    """Minimise |x|²/2 in a ball: the gradient points at the optimum."""
    return _convex(d, eps, seed, 1.0)


def valley(d: int, eps: float, seed: int) -> tuple[np.ndarray, int]:
    """The same, but of curvature 4ε along the way: the steps across drown the slope ahead."""
    return _convex(d, eps, seed, VALLEY * eps)


def _convex(d: int, eps: float, seed: int, along: float) -> tuple[np.ndarray, int]:
    curvature = np.ones(d)
    curvature[0] = along
    f = partial(_quadratic, curvature, np.zeros(d))
    rule = theory.convex(d=d, L=1.0, D=1.0, eps=eps, kappa=0.0, diameter=4.0, rule="tight")
    duels = _duels(
        Euclidean(d),
        f,
        _axis(d),
        Hits(lambda p: f(p.x), eps),
        method="rdngd",
        iterations=rule.iterations,
        step_size=rule.step_size,
        radius=rule.radius,
        domain=Ball(Euclidean(d), np.zeros(d), 2.0),
        rng=seed,
    )
    return duels, rule.duels


def strongly_convex(d: int, eps: float, seed: int) -> tuple[np.ndarray, int]:
    """Minimise |x|²/2 in a ball, phase by phase."""
    f = partial(_quadratic, np.ones(d), np.zeros(d))
    rule = theory.strongly_convex(
        d=d,
        L=1.0,
        alpha=1.0,
        D=1.0,
        eps=eps,
        kappa=0.0,
        diameter=4.0,
        rule="tight",
        phases="direct",
    )
    duels = _duels(
        Euclidean(d),
        f,
        _axis(d),
        Hits(lambda p: f(p.x), eps),
        method="rrdngd",
        phase_length=rule.phase_length,
        phases=rule.phases,
        step_size=rule.step_size,
        radius=rule.radius,
        domain=Ball(Euclidean(d), np.zeros(d), 2.0),
        rng=seed,
    )
    return duels, rule.duels


def frank_wolfe(d: int, eps: float, seed: int) -> tuple[np.ndarray, int]:
    """Minimise |x - c|²/2 in the unit ball, c on its boundary, where the gradient vanishes."""
    f = partial(_quadratic, np.ones(d), _axis(d))
    rule = theory.frank_wolfe(d=d, L=1.0, eps=eps, diameter=2.0, D=4.0, rule="scale-invariant")
    duels = _duels(
        Euclidean(d),
        f,
        -_axis(d),
        Hits(lambda p: f(p.x), eps),
        method="rdfw",
        iterations=rule.iterations,
        batch=rule.batch,
        radius=rule.radius,
        domain=Ball(Euclidean(d), np.zeros(d), 1.0),
        rng=seed,
    )
    return duels, rule.duels


def _quadratic(curvature: np.ndarray, center: np.ndarray, x: Any) -> Any:
    return 0.5 * (curvature * (x - center) ** 2).sum(axis=-1)


def _axis(d: int) -> np.ndarray:
    return np.eye(d)[0]


@dataclass(frozen=True)
class Sweep:
    """One row of Table 1: its run, where it is measured, and the exponents that it states.

    Attributes
    ----------
    label, theorem : str
        In the table.
    run : callable
        ``run(d, eps, seed)`` gives the duels of each copy, and those that the theorem allows.
    accuracies, dimension
        Accuracies ε at one dimension; quick runs leave out the last two, which take longest.
    dimensions, accuracy
        Dimensions at one ε; quick runs leave out the last two.
    in_eps : float
        Stated exponent of 1/ε; 0 stands for log(1/ε).
    """

    label: str
    theorem: str
    run: Callable[[int, float, int], tuple[np.ndarray, int]]
    accuracies: tuple[float, ...]
    accuracy: float
    in_eps: float
    dimension: int = 4
    dimensions: tuple[int, ...] = (4, 8, 16, 32, 64)


SWEEPS = {
    "nonconvex": Sweep(
        "RDNGD, nonconvex",
        "3.6",
        nonconvex,
        accuracies=(0.16, 0.08, 0.04, 0.02, 0.01),
        accuracy=0.1,
        in_eps=2.0,
    ),
    "bowl": Sweep(
        "RDNGD, convex (bowl)",
        "3.7",
        bowl,
        accuracies=(3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4),
        accuracy=1e-2,
        in_eps=1.0,
    ),
    "valley": Sweep(
        "RDNGD, convex (valley)",
        "3.7",
        valley,
        accuracies=(3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5),
        accuracy=1e-3,
        in_eps=1.0,
    ),
    "strongly convex": Sweep(
        "RRDNGD",
        "3.10",
        strongly_convex,
        accuracies=(1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12),
        accuracy=1e-7,
        in_eps=0.0,
    ),
    "frank-wolfe": Sweep(
        "RDFW",
        "4.1",
        frank_wolfe,
        accuracies=(1e-2, 3e-3, 1e-3, 3e-4, 1e-4),
        accuracy=1e-3,
        in_eps=2.0,
        dimension=2,
        dimensions=(2, 4, 8, 16, 32),
    ),
}


class Rates(Experiment):
    """Table 1, one task a point."""

    name, title, version = "rates", "Theory made visible: Table 1 by measurement", 1

    def tasks(self, plan: Plan) -> list[Task]:
        points = []
        for name, s in SWEEPS.items():
            accuracies = s.accuracies[:-2] if plan.quick else s.accuracies
            dimensions = s.dimensions[:-2] if plan.quick else s.dimensions
            points += [("eps", name, s.dimension, eps) for eps in accuracies]
            points += [("d", name, d, s.accuracy) for d in dimensions]
        return [
            Task(
                f"{name}: d = {d}, ε = {eps:g}",
                {"axis": axis, "study": name, "d": d, "eps": eps, "seed": 0, "copies": COPIES},
            )
            for axis, name, d, eps in points
        ]

    def run(self, settings: dict[str, Any]) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RadiusWarning)
            warnings.simplefilter("ignore", TiesWarning)
            duels, allowed = SWEEPS[settings["study"]].run(
                settings["d"], settings["eps"], settings["seed"]
            )
        # What never got there within the theorem's duels is counted with those.
        missed = np.isinf(duels)
        duels = np.where(missed, allowed, duels)
        return {"duels": duels.tolist(), "allowed": allowed, "missed": int(missed.sum())}

    def section(self, plan: Plan, outcomes: Sequence[Outcome]) -> Section:
        series = _series(outcomes)
        rows, numbers = [], []
        for name, s in SWEEPS.items():
            if (name, "eps") not in series or (name, "d") not in series:
                continue
            by_eps, by_d = series[name, "eps"], series[name, "d"]
            shares = [r["allowed"] / float(np.median(r["duels"])) for _, r in by_d]
            share = f"{number(shares[0])} … {number(shares[-1])}"
            missed = sum(r["missed"] for _, r in by_eps + by_d)
            in_d = exponent(by_d)
            if s.in_eps == 0:
                line = _decades(by_eps)
                measured = f"{line.slope:,.0f} ± {line.stderr:,.0f} duels a digit"
                stated = "log(1/ε)"
            else:
                line = exponent(by_eps)
                measured, stated = _plus_minus(line), f"{s.in_eps:g}"
            exponents = [stated, measured, "1", _plus_minus(in_d)]
            rows.append([s.label, s.theorem, *exponents, share, str(missed)])
            numbers.append(
                {
                    "study": name,
                    "eps slope": float(line.slope),
                    "eps error": float(line.stderr),
                    "d slope": float(in_d.slope),
                    "d error": float(in_d.stderr),
                    "theorem over measured": shares,
                }
            )
        head = ["algorithm", "theorem", "1/ε, stated", "1/ε, measured", "d, stated"]
        table = Table(
            [*head, "d, measured", "bound / measured", "missed"],
            rows,
            "Exponents of the number of duels, fitted on a logarithmic scale to "
            f"{COPIES} runs a point, ± one standard error. Bound / measured: the "
            "theorem's duels over the measured ones, at the smallest and at the largest d. Missed: "
            "runs that took more.",
            name="rates",
        )
        explanation = (
            "The theorems are upper bounds. On the nonconvex function the exponents are the stated "
            "ones to a few hundredths. On a bowl the gradient points at the optimum and RDNGD "
            "needs only ε^(−1/2); Theorem 3.7 allows for functions like the valley, of curvature "
            "4ε along the way, whose exponent approaches 1. RRDNGD needs a constant number of "
            "duels for each digit. RDFW gains more than its bound, as Frank-Wolfe does on a ball. "
            "An exponent of d above 1 is no contradiction: small dimensions stay further below "
            "their bound."
        )
        return Section(
            self.name,
            self.title,
            [
                "Each run takes the step, radius and batch that the theorem prescribes for its ε "
                "and d (`geoduel.theory`), and stops when it has the accuracy: the mean gradient "
                "norm over the iterates for Theorem 3.6, the gap f − f* elsewhere.",
                Figure(
                    self.name,
                    _figure(series),
                    "Duels until the accuracy, medians and quartiles; dashed: the fitted lines.",
                ),
                table,
                explanation,
            ],
            rows=numbers,
        )


Points = list[tuple[float, dict[str, Any]]]


def _series(outcomes: Sequence[Outcome]) -> dict[tuple[str, str], Points]:
    """Records by sweep and by what varies, in order."""
    series: dict[tuple[str, str], Points] = {}
    for o in outcomes:
        s = o.task.settings
        series.setdefault((s["study"], s["axis"]), []).append((s[s["axis"]], o.record))
    return {k: sorted(v, key=lambda p: p[0]) for k, v in series.items()}


def exponent(points: Points) -> Any:
    """The straight line of log duels against log 1/ε, or log d: whichever way the duels grow."""
    x, duels = _flat(points)
    return _line(np.log(x if x[0] >= 1 else 1 / x), np.log(duels))


def _decades(points: Points) -> Any:
    """The straight line of the duels against -log₁₀ ε."""
    x, duels = _flat(points)
    return _line(-np.log10(x), duels)


def _line(x: np.ndarray, y: np.ndarray) -> Any:
    from scipy.stats import linregress  # slow to load, and other commands do without

    return linregress(x, y)


def _flat(points: Points) -> tuple[np.ndarray, np.ndarray]:
    x = np.concatenate([[value] * len(r["duels"]) for value, r in points])
    return np.asarray(x, dtype=float), np.concatenate([r["duels"] for _, r in points])


def _plus_minus(line: Any) -> str:
    return f"{line.slope:.2f} ± {line.stderr:.2f}"


def _figure(series: dict[tuple[str, str], Points]) -> Any:
    with panels(1, 3, height=3.9) as (figure, axes):
        left, middle, right = axes[0]
        for colour, (name, s) in zip(COLOURS, SWEEPS.items(), strict=False):
            for axis, points in (
                (left, series.get((name, "eps"))),
                (right, series.get((name, "d"))),
            ):
                if points is None:
                    continue
                logarithmic = axis is left and s.in_eps == 0
                axis = middle if logarithmic else axis
                x = np.array([v if axis is right else 1 / v for v, _ in points])
                low, mid, high = np.transpose(
                    [np.percentile(r["duels"], [25, 50, 75]) for _, r in points]
                )
                bars = [mid - low, high - mid]
                axis.errorbar(x, mid, bars, fmt="o", ms=4, color=colour, label=s.label, lw=1.2)
                line = _decades(points) if logarithmic else exponent(points)
                grown = (
                    line.intercept + line.slope * np.log10(x)
                    if logarithmic
                    else np.exp(line.intercept + line.slope * np.log(x))
                )
                axis.plot(x, grown, "--", color=colour, lw=1.1)
        left.set(xscale="log", yscale="log", xlabel="1/ε", ylabel="duels", title="accuracy")
        middle.set(
            xscale="log", xlabel="1/ε", ylabel="duels", title="accuracy, RRDNGD", ylim=(0, None)
        )
        right.set(
            xscale="log", yscale="log", xlabel="dimension d", ylabel="duels", title="dimension"
        )
        right.set_xticks([2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
        right.minorticks_off()
        handles, names = right.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=len(names))
    return figure


RATES = Rates()
