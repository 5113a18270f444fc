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
from ..estimates import Estimate, exact, fitted, median_band, number
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


def _nonconvex(d: int, eps: float, **rules: Any) -> Any:
    return theory.nonconvex(d=d, L=1.0, D=1.3**2, eps=eps, **rules)


def _bowl(d: int, eps: float, **rules: Any) -> Any:
    return theory.convex(d=d, L=1.0, D=1.0, eps=eps, kappa=0.0, diameter=4.0, **rules)


def _strongly_convex(d: int, eps: float, **rules: Any) -> Any:
    numbers = {"L": 1.0, "alpha": 1.0, "D": 1.0, "kappa": 0.0, "diameter": 4.0}
    return theory.strongly_convex(d=d, eps=eps, **numbers, **rules)


def _frank_wolfe(d: int, eps: float, **rules: Any) -> Any:
    return theory.frank_wolfe(d=d, L=1.0, eps=eps, diameter=2.0, D=4.0, **rules)


def nonconvex(d: int, eps: float, seed: int, **rules: Any) -> Allowed:
    """Minimise -x_1²/2 on the sphere from 1.3 rad away, by the mean gradient norm up to now.

    That mean is E|grad f(x_R)| for the random iterate x_R that Theorem 3.6 returns.
    """
    rule = _nonconvex(d, eps, **rules)
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
    rule = _bowl(d, eps, **rules)
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
    rule = _strongly_convex(d, eps, **rules)
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
    rule = _frank_wolfe(d, eps, **rules)
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
WHAT = ("iterations", "duels")
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
    numbers : callable
        ``numbers(d, eps, **rules)`` are the numbers that the theorem prescribes.
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
    numbers: Callable[..., Any]
    rules: dict[str, dict[str, Any]]
    accuracies: tuple[float, ...]
    accuracy: float
    dimension: int = 4
    dimensions: tuple[int, ...] = (4, 8, 16, 32, 64)
    stated: dict[tuple[str, str], float] = field(default_factory=dict)

    def bound(self, d: int, eps: float, **rules: Any) -> tuple[int, int]:
        """Iterations and duels that the theorem allows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RadiusWarning)
            found = self.numbers(d, eps, **rules)
        if self.theorem == "3.10":
            return found.phases * found.phase_length, found.duels
        # x_R is drawn without duels, so Theorem 3.6 takes one an iteration.
        return found.iterations, found.iterations if self.theorem == "3.6" else found.duels

    def logarithmic(self, axis: str) -> bool:
        """Whether the counts grow with the logarithm of what varies."""
        return axis == "eps" and self.stated["eps", "duels"] == 0

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
        _nonconvex,
        {PRINTED: WORST, "balanced": {"rule": "balanced"}},
        accuracies=(0.16, 0.08, 0.04, 0.02, 0.01),
        accuracy=0.1,
        stated=_stated(2),
    ),
    "bowl": Sweep(
        "RDNGD, convex (bowl)",
        "3.7",
        bowl,
        _bowl,
        CONVEX,
        accuracies=(3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4),
        accuracy=1e-2,
        stated=_stated(1),
    ),
    "valley": Sweep(
        "RDNGD, convex (valley)",
        "3.7",
        valley,
        _bowl,
        CONVEX,
        accuracies=(3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5),
        accuracy=1e-3,
        stated=_stated(1),
    ),
    "strongly convex": Sweep(
        "RRDNGD",
        "3.10",
        strongly_convex,
        _strongly_convex,
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
        _frank_wolfe,
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


def _line(
    points: Points, what: str, logarithmic: bool, power: bool = True
) -> tuple[Any, np.ndarray]:
    """The straight line of the counts, on logarithmic scales for a power law."""
    from scipy.stats import linregress  # slow to load, and other commands do without

    x = np.concatenate([[float(value)] * len(r[what]) for value, r in points])
    counts = np.concatenate([r[what] for _, r in points])
    grown = _grown(x, logarithmic)
    return linregress(*((np.log(grown), np.log(counts)) if power else (grown, counts))), x


def _grown(x: np.ndarray, logarithmic: bool) -> np.ndarray:
    """What the counts are a power of: d, 1/ε, or log 1/ε."""
    if x[0] >= 1:
        return x
    return np.log(1 / x) if logarithmic else 1 / x


def _a_digit(points: Points, what: str) -> str:
    """Counts for each further digit of accuracy, with the half width of the 90 % interval."""
    line, _ = _line(points, what, True, power=False)
    e = fitted(float(line.slope), float(line.stderr), 0)
    digit = math.log(10)
    return f"{e.value * digit:,.0f} ± {(e.high - e.value) * digit:,.0f}"


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
        rows, numbers = [], []
        printed: dict[str, dict[str, Points]] = {}
        for name, s in SWEEPS.items():
            for rule in s.rules:
                found = {axis: series.get((name, rule, axis), []) for axis in ("eps", "d")}
                if min(map(len, found.values())) < 2:
                    continue
                fits = {
                    (axis, what): exponent(found[axis], what, s.logarithmic(axis))
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
                    printed[name] = found
        head = ["algorithm", "theorem", "rule", "1/ε, stated", "1/ε, measured", "d, stated"]
        table = Table(
            [*head, "d, measured", "bound / measured", "missed"],
            rows,
            "Exponents of iterations / duels in 1/ε and in d, fitted on a logarithmic scale to "
            f"{COPIES} runs a point, ± the half width of the 90 % interval; for RRDNGD the "
            "counts for each further digit of ε, which should be constant. Bound / measured: the "
            "rule's duels over the measured ones, at the smallest and at the largest d. Missed: "
            "runs that took more.",
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
            claims=_claims(printed),
            rows=numbers,
        )


def _row(
    s: Sweep, rule: str, found: dict[str, Points], fits: dict[tuple[str, str], Estimate]
) -> list[str]:
    """A row of the table; "iterations / duels" in one cell."""

    def both(axis: str, write: Callable[[str], str]) -> str:
        if s.logarithmic(axis):
            return " / ".join(_a_digit(found[axis], what) for what in WHAT) + " a digit"
        return " / ".join(map(write, WHAT))

    def stated(axis: str) -> str:
        if s.logarithmic(axis):
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


def _claims(printed: dict[str, dict[str, Points]]) -> list[Claim]:
    """Each row of Table 1: no run passes the printed bound, and the bounds grow as stated."""
    claims, growth = [], {}
    for name, found in printed.items():
        s = SWEEPS[name]
        cases = {}
        for axis, points in found.items():
            bounds = [s.bound(*_place(s, axis, x), **s.rules[PRINTED]) for x, _ in points]
            over = "1/ε" if axis == "eps" else "d"
            for i, what in enumerate(WHAT):
                cases[f"{what}, along {over}"] = exact(
                    max(
                        math.inf if r["missed"] else max(r[what]) / bound[i]
                        for (_, r), bound in zip(points, bounds, strict=True)
                    )
                )
                grown = _grown(np.array([float(x) for x, _ in points]), s.logarithmic(axis))
                first, last = bounds[0][i], bounds[-1][i]
                power = math.log(last / first) / math.log(grown[-1] / grown[0])
                stated = s.stated[axis, what] or float(s.logarithmic(axis))
                growth[f"{s.label}, {what} in {over}"] = exact(abs(power) - stated)
        claims.append(
            Claim(
                ("table 1", f"Theorem {s.theorem}"),
                f"{s.label}: enough iterations and duels at every ε and d",
                "most that any run took, over the bound that the theorem prints",
                at_most(1),
                cases,
            )
        )
    claims.append(
        Claim(
            ("table 1",),
            "The theorems' bounds grow with 1/ε and d as Table 1 states",
            "exponent of the printed bound less the stated one",
            at_most(0.05),
            growth,
            missing="not run",
            remark="The exponents of what the runs took stand in the table of rates. At small d "
            "they stay further below their bound, so that an exponent of d may pass 1.",
        )
    )
    return claims


def _place(s: Sweep, axis: str, x: float) -> tuple[int, float]:
    """D and ε of a point."""
    return (s.dimension, x) if axis == "eps" else (int(x), s.accuracy)


def _figure(series: dict[tuple[str, str, str], Points]) -> Any:
    with panels(1, 3, height=3.9) as (figure, axes):
        left, middle, right = axes[0]
        for colour, (name, s) in zip(COLOURS, SWEEPS.items(), strict=False):
            for rule in s.rules:
                for axis, what in ((left, "eps"), (right, "d")):
                    points = series.get((name, rule, what), [])
                    if len(points) < 2:
                        continue
                    logarithmic = s.logarithmic(what)
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
    line, _ = _line(points, "duels", logarithmic, power=not logarithmic)
    grown = _grown(values, logarithmic)
    if logarithmic:  # a straight line against the digits of ε
        fit = line.intercept + line.slope * grown
    else:
        fit = np.exp(line.intercept + line.slope * np.log(grown))
    axis.plot(x, fit, "--", color=colour, lw=1.1)


RATES = Rates()
