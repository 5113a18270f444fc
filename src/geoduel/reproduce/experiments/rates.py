"""Table 1 of the paper by measurement: iterations and duels against 1/ε and against d.

Every run takes step, radius and batch for its ε and d from a rule: the one that the paper prints,
or a better one from the same proof. The theorem's assumptions hold for its function, and it stops
when it has the accuracy that the theorem states.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
from ..claims import Claim, at_most
from ..estimates import Estimate, fitted, median_band, number
from ..experiment import Experiment, Outcome, Plan, Task
from ..report import Figure, Section, Table

__all__ = ["RATES", "exponent"]

COPIES = 16
VALLEY = 4.0  # f starts at VALLEY/2 times ε on the valley's floor


class Hits:
    """Duels and iterations at which each of several runs in lock step first had the accuracy."""

    def __init__(self, measure: Callable[[Any], np.ndarray], eps: float) -> None:
        self.measure, self.eps = measure, eps
        self.duels = np.full(COPIES, math.inf)
        self.iterations = np.full(COPIES, math.inf)

    def __call__(self, progress: Progress) -> bool:
        new = (self.measure(progress) <= self.eps) & np.isinf(self.duels)
        self.duels[new] = progress.duels
        self.iterations[new] = progress.iteration
        return bool(np.isfinite(self.duels).all())


def _run(
    manifold: Manifold,
    f: Callable[[Any], Any],
    x0: np.ndarray,
    hits: Hits,
    **options: Any,
) -> Hits:
    """Run copies in lock step until all have the accuracy."""
    minimize(
        from_objective(f, vectorized=True),
        manifold,
        np.tile(x0, (COPIES, 1)),
        callback=hits,
        **options,
    )
    return hits


Allowed = tuple[Hits, int]
"""When the copies had the accuracy, and the duels that the theorem allows them."""


def nonconvex(d: int, eps: float, seed: int, **rules: Any) -> Allowed:
    """Minimise -x_1²/2 on the sphere from 1.3 rad away, by the mean gradient norm up to now.

    That mean is E|grad f(x_R)| for the random iterate x_R that Theorem 3.6 returns.
    """
    rule = theory.nonconvex(d=d, L=1.0, D=1.3**2, eps=eps, **rules)
    total = np.zeros(COPIES)

    def mean_gradient(p: Progress) -> np.ndarray:
        nonlocal total
        x = p.x[..., 0]
        total = total + np.abs(x) * np.sqrt(np.maximum(0.0, 1 - x * x))
        return total / p.iteration

    x0 = math.cos(1.3) * _axis(d + 1) + math.sin(1.3) * np.eye(d + 1)[1]
    hits = _run(
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
    return hits, rule.iterations


def bowl(d: int, eps: float, seed: int, **rules: Any) -> Allowed:
    """Minimise |x|²/2 in a ball: the gradient points at the optimum."""
    return _convex(d, eps, seed, 1.0, **rules)


def valley(d: int, eps: float, seed: int, **rules: Any) -> Allowed:
    """The same, but of curvature 4ε along the way: the steps across drown the slope ahead."""
    return _convex(d, eps, seed, VALLEY * eps, **rules)


def _convex(d: int, eps: float, seed: int, along: float, **rules: Any) -> Allowed:
    curvature = np.ones(d)
    curvature[0] = along
    f = partial(_quadratic, curvature, np.zeros(d))
    rule = theory.convex(d=d, L=1.0, D=1.0, eps=eps, kappa=0.0, diameter=4.0, **rules)
    hits = _run(
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
    return hits, rule.duels


def strongly_convex(d: int, eps: float, seed: int, **rules: Any) -> Allowed:
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
        **rules,
    )
    hits = _run(
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
    return hits, rule.duels


def frank_wolfe(d: int, eps: float, seed: int, **rules: Any) -> Allowed:
    """Minimise |x - c|²/2 in the unit ball, c on its boundary, where the gradient vanishes."""
    f = partial(_quadratic, np.ones(d), _axis(d))
    rule = theory.frank_wolfe(d=d, L=1.0, eps=eps, diameter=2.0, D=4.0, **rules)
    hits = _run(
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
    return hits, rule.duels


def _quadratic(curvature: np.ndarray, center: np.ndarray, x: Any) -> Any:
    return 0.5 * (curvature * (x - center) ** 2).sum(axis=-1)


def _axis(d: int) -> np.ndarray:
    return np.eye(d)[0]


PRINTED = "printed"
WORST = {"rule": "printed", "constant": "worst"}  # the paper knows a bound of Ĉ alone


@dataclass(frozen=True)
class Sweep:
    """One row of Table 1: its run, where it is measured, and the exponents that it states.

    Attributes
    ----------
    label, theorem : str
        In the table.
    run : callable
        ``run(d, eps, seed, **rules)`` gives the hits, and the duels that the theorem allows.
    rules : dict
        Options of `geoduel.theory` by the name of the rule, the printed one first.
    accuracies, dimension
        Accuracies ε at one dimension. Quick runs leave out the last two, which take longest, and so
        does the printed rule, which needs several times the duels; its quick run has two points.
    dimensions, accuracy
        Dimensions at one ε, with the same exception.
    stated : dict
        Exponents of 1/ε in iterations and in duels, and of d in both; an exponent of 0 for 1/ε
        stands for log(1/ε).
    """

    label: str
    theorem: str
    run: Callable[..., Allowed]
    rules: dict[str, dict[str, Any]]
    accuracies: tuple[float, ...]
    accuracy: float
    dimension: int = 4
    dimensions: tuple[int, ...] = (4, 8, 16, 32, 64)
    stated: dict[tuple[str, str], float] = field(default_factory=dict)

    def points(self, rule: str, quick: bool) -> list[tuple[str, int, float]]:
        """What varies, d and ε of every point."""
        last = (2 if quick else -2) if rule == PRINTED else (-2 if quick else None)
        by_eps = [("eps", self.dimension, eps) for eps in self.accuracies[:last]]
        return by_eps + [("d", d, self.accuracy) for d in self.dimensions[:last]]


def _stated(eps: float, iterations: float | None = None, d: float = 1) -> dict[Any, float]:
    """Exponents of duels, and of iterations where they differ."""
    own = eps if iterations is None else iterations
    return {
        ("eps", "iterations"): own,
        ("eps", "duels"): eps,
        ("d", "iterations"): d,
        ("d", "duels"): 1,
    }


CONVEX: dict[str, dict[str, Any]] = {PRINTED: {"rule": "printed"}, "tight": {"rule": "tight"}}
SWEEPS = {
    "nonconvex": Sweep(
        "RDNGD, nonconvex",
        "3.6",
        nonconvex,
        {PRINTED: WORST, "balanced": {"rule": "balanced"}},
        accuracies=(0.16, 0.08, 0.04, 0.02, 0.01),
        accuracy=0.1,
        stated=_stated(2),
    ),
    "bowl": Sweep(
        "RDNGD, convex (bowl)",
        "3.7",
        bowl,
        CONVEX,
        accuracies=(3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4),
        accuracy=1e-2,
        stated=_stated(1),
    ),
    "valley": Sweep(
        "RDNGD, convex (valley)",
        "3.7",
        valley,
        CONVEX,
        accuracies=(3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5),
        accuracy=1e-3,
        stated=_stated(1),
    ),
    "strongly convex": Sweep(
        "RRDNGD",
        "3.10",
        strongly_convex,
        {
            PRINTED: {"rule": "printed"},
            "tight, direct": {"rule": "tight", "phases": "direct"},
        },
        accuracies=(1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12),
        accuracy=1e-7,
        stated=_stated(0),
    ),
    "frank-wolfe": Sweep(
        "RDFW",
        "4.1",
        frank_wolfe,
        {PRINTED: WORST, "scale-invariant": {"rule": "scale-invariant"}},
        accuracies=(1e-2, 3e-3, 1e-3, 3e-4, 1e-4),
        accuracy=1e-3,
        stated=_stated(2, iterations=1, d=0),
        dimension=2,
        dimensions=(2, 4, 8, 16, 32),
    ),
}


Points = list[tuple[float, dict[str, Any]]]


def _series(outcomes: Sequence[Outcome]) -> dict[tuple[str, str, str], Points]:
    """Records by sweep, rule and what varies, in order; points that no run reached are left out."""
    series: dict[tuple[str, str, str], Points] = {}
    for o in outcomes:
        s = o.task.settings
        if o.record["duels"]:
            name = (s["study"], s["rule"], s["axis"])
            series.setdefault(name, []).append((s[s["axis"]], o.record))
    return {k: sorted(v, key=lambda p: p[0]) for k, v in series.items()}


def exponent(points: Points, what: str = "duels", logarithmic: bool = False) -> Estimate:
    """The exponent of the growth against 1/ε, or d: whichever way it grows.

    Where it is logarithmic in 1/ε, against log(1/ε).
    """
    line, x = _line(points, what, logarithmic)
    return fitted(float(line.slope), float(line.stderr), len(x))


def _line(points: Points, what: str, logarithmic: bool) -> tuple[Any, np.ndarray]:
    from scipy.stats import linregress  # slow to load, and other commands do without

    x = np.concatenate([[float(value)] * len(r[what]) for value, r in points])
    counts = np.concatenate([r[what] for _, r in points])
    grown = _grown(x, logarithmic)
    return linregress(np.log(grown), np.log(counts)), x


def _grown(x: np.ndarray, logarithmic: bool) -> np.ndarray:
    """What the counts are a power of: d, 1/ε, or log 1/ε."""
    if x[0] >= 1:
        return x
    return np.log(1 / x) if logarithmic else 1 / x


def _plus_minus(e: Estimate) -> str:
    return f"{e.value:.2f} ± {e.high - e.value:.2f}"


class Rates(Experiment):
    """Table 1, one task a point."""

    name, title, version = "rates", "Theory made visible: Table 1 by measurement", 2

    def tasks(self, plan: Plan) -> list[Task]:
        return [
            Task(
                f"{name}, {rule}: d = {d}, ε = {eps:g}",
                {
                    "axis": axis,
                    "study": name,
                    "rule": rule,
                    "d": d,
                    "eps": eps,
                    "seed": 0,
                    "copies": COPIES,
                },
            )
            for name, s in SWEEPS.items()
            for rule in s.rules
            for axis, d, eps in s.points(rule, plan.quick)
        ]

    def run(self, settings: dict[str, Any]) -> dict[str, Any]:
        sweep = SWEEPS[settings["study"]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RadiusWarning)
            warnings.simplefilter("ignore", TiesWarning)
            hits, allowed = sweep.run(
                settings["d"], settings["eps"], settings["seed"], **sweep.rules[settings["rule"]]
            )
        # What never got there within the theorem's duels is left out of the fits and counted.
        got = np.isfinite(hits.duels) & (hits.duels <= allowed)
        return {
            "duels": hits.duels[got].tolist(),
            "iterations": hits.iterations[got].tolist(),
            "allowed": allowed,
            "missed": int((~got).sum()),
        }

    def section(self, plan: Plan, outcomes: Sequence[Outcome]) -> Section:
        series = _series(outcomes)
        rows, numbers, claims = [], [], []
        for name, s in SWEEPS.items():
            for rule in s.rules:
                found = {axis: series.get((name, rule, axis), []) for axis in ("eps", "d")}
                if min(map(len, found.values())) < 2:
                    continue
                fits = {
                    (axis, what): exponent(found[axis], what, s.stated["eps", "duels"] == 0)
                    for axis, what in s.stated
                }
                rows.append(_row(s, rule, found, fits))
                numbers.append(
                    {
                        "study": name,
                        "rule": rule,
                        **{
                            f"{axis} exponent of {what}": [e.low, e.value, e.high]
                            for (axis, what), e in fits.items()
                        },
                        "bound over measured": _shares(found["d"]),
                        "missed": sum(r["missed"] for points in found.values() for _, r in points),
                    }
                )
                if rule == PRINTED:
                    claims.append(_claim(s, fits))
        head = ["algorithm", "theorem", "rule", "1/ε, stated", "1/ε, measured", "d, stated"]
        table = Table(
            [*head, "d, measured", "bound / measured", "missed"],
            rows,
            "Exponents of iterations / duels in 1/ε and in d, fitted on a logarithmic scale to "
            f"{COPIES} runs a point, ± the half width of the 90 % interval; for RRDNGD in "
            "log(1/ε), of which the paper states the first power. Bound / measured: the rule's "
            "duels over the measured ones, at the smallest and at the largest d. Missed: runs that "
            "took more.",
            name="rates",
        )
        return Section(
            self.name,
            self.title,
            [
                "Each run takes step, radius and batch from a rule for its ε and d "
                "(`geoduel.theory`): the one that the paper prints, with its bound "
                "Ĉ ≥ 1/√(2π), or a better one from the same proof, under its own name. It stops "
                "when it has the accuracy: the mean gradient norm over the iterates for Theorem "
                "3.6, the gap f − f* elsewhere. The printed rules need more duels, so they are "
                "measured at fewer points.",
                Figure(
                    self.name,
                    _figure(series),
                    "Duels until the accuracy, medians with their 90 % intervals; filled: the "
                    "better rule; hollow: the printed one; dashed: the fitted lines.",
                ),
                table,
                "The theorems are upper bounds, so a smaller exponent is no contradiction. On a "
                "bowl the gradient points at the optimum; Theorem 3.7 allows for functions like "
                "the valley, of curvature 4ε along the way.",
            ],
            claims=claims,
            rows=numbers,
        )


def _row(
    s: Sweep, rule: str, found: dict[str, Points], fits: dict[tuple[str, str], Estimate]
) -> list[str]:
    """A row of the table; "iterations / duels" in one cell."""

    def both(axis: str, write: Callable[[str], str]) -> str:
        return " / ".join(write(what) for what in ("iterations", "duels"))

    def stated(axis: str) -> str:
        if axis == "eps" and s.stated["eps", "duels"] == 0:
            return "log"
        return both(axis, lambda what: f"{s.stated[axis, what]:g}")

    shares = _shares(found["d"])
    return [
        s.label,
        s.theorem,
        rule,
        stated("eps"),
        both("eps", lambda what: _plus_minus(fits["eps", what])),
        stated("d"),
        both("d", lambda what: _plus_minus(fits["d", what])),
        f"{number(shares[0])} … {number(shares[-1])}",
        str(sum(r["missed"] for points in found.values() for _, r in points)),
    ]


def _shares(by_d: Points) -> list[float]:
    """The bound over the median of the measured duels."""
    return [r["allowed"] / float(np.median(r["duels"])) for _, r in by_d if r["duels"]]


def _claim(s: Sweep, fits: dict[tuple[str, str], Estimate]) -> Claim:
    """The exponents against Table 1; log(1/ε) has the exponent 1 in log(1/ε)."""
    cases = {}
    for (axis, what), fit in fits.items():
        stated = s.stated[axis, what] or (1.0 if axis == "eps" else 0.0)
        name = f"{what} in {'1/ε' if axis == 'eps' else 'd'}"
        cases[name] = Estimate(
            fit.value - stated,
            fit.low - stated,
            fit.high - stated,
            fit.coverage,
            fit.values,
            fit.over,
        )
    return Claim(
        ("table 1", f"Theorem {s.theorem}"),
        f"{s.label}: iterations and duels grow as Table 1 states",
        "measured exponent less the stated one, with the printed rule",
        at_most(0.1),
        cases,
        remark="Exponents of single sweeps; the constants are compared in the table of rates.",
    )


def _figure(series: dict[tuple[str, str, str], Points]) -> Any:
    with panels(1, 3, height=3.9) as (figure, axes):
        left, middle, right = axes[0]
        for colour, (name, s) in zip(COLOURS, SWEEPS.items(), strict=False):
            for rule in s.rules:
                for axis, what in ((left, "eps"), (right, "d")):
                    points = series.get((name, rule, what), [])
                    if len(points) < 2:
                        continue
                    logarithmic = what == "eps" and s.stated["eps", "duels"] == 0
                    _points(middle if logarithmic else axis, points, s, rule, colour, logarithmic)
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


def _points(axis: Any, points: Points, s: Sweep, rule: str, colour: str, logarithmic: bool) -> None:
    """Medians with their intervals, and the fitted line."""
    values = np.array([v for v, _ in points], dtype=float)
    x = values if values[0] >= 1 else 1 / values
    low, mid, high = np.transpose([median_band(r["duels"]) for _, r in points])
    printed = rule == PRINTED
    axis.errorbar(
        x,
        mid,
        [mid - low, high - mid],
        fmt="o",
        ms=4,
        color=colour,
        markerfacecolor="none" if printed else colour,
        label=None if printed else s.label,
        lw=1.2,
    )
    line, _ = _line(points, "duels", logarithmic)
    fit = np.exp(line.intercept + line.slope * np.log(_grown(values, logarithmic)))
    axis.plot(x, fit, "--", color=colour, lw=1.1)


RATES = Rates()
