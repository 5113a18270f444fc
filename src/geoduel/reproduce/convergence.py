"""Experiments that are a figure of convergence: f - f* of several methods on one problem."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..domains.base import Domain
from ..errors import TiesWarning
from ..methods.named import MethodName
from ..optimize import Progress, minimize
from ..plotting import COLOURS, band, panels
from ..result import Result
from .claims import Claim, above, at_most
from .controls import CONTROLS, control
from .estimates import Estimate, median, median_band, number
from .experiment import Experiment, Outcome, Plan, Task, evenly
from .report import Figure, Pace, Section, Table, quantity

if TYPE_CHECKING:
    import matplotlib.figure

__all__ = [
    "DEFAULT",
    "Convergence",
    "Curve",
    "Line",
    "accuracy",
    "controlled",
    "convergence_figure",
    "duelled",
    "paces",
    "ratio",
    "slower",
    "summary",
    "valued",
]

Callback = Callable[[Progress], None]
KEPT_RECORDS = 400  # of a run, in the cache
KEPT_ITERATES = 200
CONTROL_SEEDS = 2  # that a control gets nowhere is no close call
DEFAULT = "default method"
PACED = "RDNGD cosine"
# Hues by method, numbers in `plotting.COLOURS`: one method looks the same in every figure.
HUES = {
    "RDNGD constant": 0,
    "RDNGD cosine": 1,
    "RDNGD cosine, projected": 1,
    DEFAULT: 2,
    "ZO-RGD": 3,
    "RRDNGD": 4,
    "RDFW": 0,
    "RDFW, M = 2d(k+1)": 4,
    "RGD": 6,
    "Frank-Wolfe, exact gradients": 6,
}
CHECKPOINTS = (10, 50, 80, 100)
REACHED = 1e-2  # share of the start's gap; a run of the paper that ends above it reached nothing


@dataclass(frozen=True)
class Line:
    """One method of a figure.

    Attributes
    ----------
    label : str
        As in the legend.
    run : callable
        ``run(problem, rng, watch)`` makes the run and returns its result, with the gap f - f* of
        the best point recorded. It calls ``watch(progress)`` after each iteration, if it can.
    settings : dict
        What the run depends on, as JSON values.
    sees : {"duels", "values", "gradients"}
        What the method is told. Unless "duels", ``duels`` count evaluations.
    control : str
        The oracle that took the true one's place, if any (`geoduel.reproduce.controls`). Controls
        stand in a table of their own.
    """

    label: str
    run: Callable[[Any, np.random.Generator, Callback | None], Result]
    settings: dict[str, Any] = field(default_factory=dict)
    sees: str = "duels"
    control: str = ""


def duelled(
    label: str,
    method: MethodName,
    iterations: int | None = None,
    domain: Callable[[Any], Domain] | None = None,
    ties: Literal["paper", "skip"] = "paper",
    lie: str = "",
    **settings: Any,
) -> Line:
    """Return a line that runs a method of the package through duels alone, true or of a control."""

    def run(problem: Any, rng: np.random.Generator, watch: Callback | None = None) -> Result:
        oracle = control(problem.oracle(), lie, rng.spawn(1)[0]) if lie else problem.oracle()
        with warnings.catch_warnings():  # the paper's radius gives ties near the optimum
            warnings.simplefilter("ignore", TiesWarning)
            return minimize(
                oracle,
                problem.manifold,
                problem.x0,
                method=method,
                iterations=iterations,
                rng=rng,
                monitor=problem.gap,
                callback=watch,
                ties=ties,
                domain=None if domain is None else domain(problem),
                **settings,
            )

    recorded = {"method": method, "iterations": iterations, "ties": ties, **settings}
    if domain is not None:
        recorded["domain"] = domain
    if lie:
        label, recorded["oracle"] = f"{label}, {lie}", lie
    plain = {k: _plain(v) for k, v in recorded.items() if v is not None}
    return Line(label, run, plain, control=lie)


def controlled(
    label: str,
    method: MethodName,
    iterations: int,
    domain: Callable[[Any], Domain] | None = None,
    *,
    lies: bool = True,
    **settings: Any,
) -> list[Line]:
    """Return the line of a method and, after it, the same with each control if ``lies``."""
    oracles = ("", *CONTROLS) if lies else ("",)
    return [duelled(label, method, iterations, domain, lie=lie, **settings) for lie in oracles]


def valued(
    label: str,
    run: Callable[[Any, np.random.Generator], Result],
    sees: str = "values",
    **settings: Any,
) -> Line:
    """Return a line that runs a yardstick, which sees more than duels."""

    def unwatched(problem: Any, rng: np.random.Generator, watch: Callback | None = None) -> Result:
        return run(problem, rng)

    return Line(label, unwatched, {k: _plain(v) for k, v in settings.items()}, sees)


class Iterates:
    """The gap of the iterates x_k, which the paper draws, at evenly spread iterations."""

    def __init__(self, problem: Any, iterations: int) -> None:
        self.problem, self.every = problem, max(1, iterations // KEPT_ITERATES)
        self.iteration: list[int] = []
        self.gap: list[float] = []

    def __call__(self, progress: Progress) -> None:
        if progress.iteration % self.every == 0:
            self.iteration.append(progress.iteration)
            self.gap.append(float(self.problem.gap(progress.point)))


def _plain(value: Any) -> Any:
    """A setting as JSON; a function by the first line of its docstring, which states its rule."""
    if isinstance(value, bool | int | float | str):
        return value
    if callable(value) and hasattr(value, "__qualname__"):
        return (value.__doc__ or value.__qualname__).strip().splitlines()[0].rstrip(".")
    return str(value)


@dataclass(frozen=True)
class Convergence(Experiment):
    """Methods on one problem, at the paper's sizes.

    Attributes
    ----------
    name, title : str
        On the command line, and above the section.
    sizes : tuple of int
        Sizes of the paper; the first is the one that runs by default.
    size_name : str
        How the paper calls the size, "d" or "n".
    problem : callable
        ``problem(size, seed)`` makes the problem.
    lines : callable
        ``lines(size, quick)`` are the methods of the figure; quick runs are a tenth as long.
    intro : str
        What the experiment is, for the report.
    claims : callable, optional
        ``claims(curves)`` compares what the paper says with what was measured in a full run.
    version : int
        See `Experiment`.
    """

    name: str
    title: str
    sizes: tuple[int, ...]
    size_name: str
    problem: Callable[[int, int], Any]
    lines: Callable[[int, bool], Sequence[Line]]
    intro: str = ""
    claims: Callable[[Sequence[Curve]], list[Claim]] | None = None
    version: int = 1

    def tasks(self, plan: Plan) -> list[Task]:
        return [
            Task(
                f"{self.name} {size}: {line.label}",
                {
                    "size": size,
                    "seed": seed,
                    "quick": plan.quick,
                    "label": line.label,
                    **line.settings,
                },
                turn=seed,
            )
            for seed in range(plan.seeds)
            for size in (self.sizes if plan.all_sizes else self.sizes[:1])[::-1]
            for line in self.lines(size, plan.quick)
            if not line.control or seed < CONTROL_SEEDS
        ]

    def run(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Make one run; the seed fixes the problem and, apart from it, the method's directions."""
        size, seed = settings["size"], settings["seed"]
        lines = list(self.lines(size, settings["quick"]))
        index = [line.label for line in lines].index(settings["label"])
        problem = self.problem(size, seed)
        start = float(problem.gap(problem.x0))  # solves for the optimum before the clocks run
        planned = settings.get("iterations")
        iterates = None if planned is None else Iterates(problem, planned)
        wall, cpu = time.perf_counter(), time.process_time()
        result = lines[index].run(problem, np.random.default_rng([seed, size, index]), iterates)
        # The history has the time on the clock; this much of it the processor worked here.
        share = (time.process_time() - cpu) / (time.perf_counter() - wall)
        h = result.history
        keep = evenly(len(h.iteration), KEPT_RECORDS)
        return {
            "sees": lines[index].sees,
            "dimension": problem.manifold.dim,
            "start": start,
            "iteration": [h.iteration[i] for i in keep],
            "duels": [h.duels[i] for i in keep],
            "seconds": [round(share * h.seconds[i], 6) for i in keep],
            "gap": [float(h.monitor[i]) for i in keep],
            "last_gap": float(problem.gap(result.x_last)),
            "iterates": {"iteration": iterates.iteration, "gap": iterates.gap} if iterates else {},
            "ties": result.ties,
            "stop": result.stop_reason,
        }

    def curves(self, outcomes: Sequence[Outcome]) -> list[Curve]:
        """Outcomes by size and line, in the order of both, with their seeds in order."""
        groups: dict[tuple[int, str], list[Outcome]] = {}
        for o in outcomes:
            groups.setdefault((o.task.settings["size"], o.task.settings["label"]), []).append(o)
        found = []
        for size in self.sizes:
            for line in self.lines(size, False):
                group = groups.get((size, line.label), [])
                group.sort(key=lambda o: o.task.settings["seed"])
                if group:
                    settings, records = group[0].task.settings, [o.record for o in group]
                    found.append(
                        Curve(self.name, size, line.label, settings, records, line.control)
                    )
        return found

    def section(self, plan: Plan, outcomes: Sequence[Outcome]) -> Section:
        found = self.curves(outcomes)
        true = [c for c in found if not c.control]
        rows = summary(found)
        tables = [self._results(true), self._controls(found), self._settings(found)]
        whole = len(found) == sum(len(self.lines(c, False)) for c in {c.size for c in found})
        return Section(
            self.name,
            self.title,
            [self.intro, *self._figures(true), *tables],
            claims=self.claims(found) if whole and self.claims is not None else [],
            paces=paces(self, true),
            rows=rows,
        )

    def _figures(self, found: Sequence[Curve]) -> list[Figure]:
        sizes = dict.fromkeys(c.size for c in found)
        titles = {size: f"{self.size_name} = {size}" for size in sizes}
        seeds = max(len(c.records) for c in found)
        caption = (
            "Gap f − f* of the point that the method would return, against iterations, duels and "
            f"CPU time: median and its 90 % interval over {seeds} "
            f"{'seeds' if seeds > 1 else 'seed'}. "
            "Dashed lines see values or gradients, and their evaluations are counted in place of "
            "duels. Dotted, on the left: the iterates x_k, which may be worse than the best point. "
            "A dot ends a line that is shorter than the others."
        )
        return [Figure(self.name, convergence_figure(found, titles, HUES), caption)]

    def _results(self, found: Sequence[Curve]) -> Table:
        body = []
        for c in found:
            unit = "" if c.sees == "duels" else f" {c.sees}"
            end = c.final()
            body.append(
                [
                    f"{self.size_name} = {c.size}",
                    c.label,
                    f"{c.median('duels'):,.0f}{unit}",
                    number(c.start().value),
                    *(number(c.at(p).value) for p in CHECKPOINTS),
                    f"{number(end.low)} … {number(end.high)}",
                    number(c.last().value),
                    f"{c.median('seconds'):.1f}",
                    f"{c.ties():.1%}" if c.sees == "duels" else "",
                ]
            )
        head = ["size", "method", "duels", "start", *_at(), "90 % interval", "x_T", "CPU s", "ties"]
        caption = (
            "Gap of the best point so far after a share of the iterations, medians over seeds; at "
            "the end with its 90 % interval, and beside it the gap of the last iterate x_T."
        )
        return Table(head, body, caption, name=self.name)

    def _controls(self, found: Sequence[Curve]) -> Table:
        names = dict.fromkeys(c.label.removesuffix(f", {c.control}") for c in found if c.control)
        ends = {(c.size, c.label): number(c.final().value) for c in found}
        body = [
            [
                f"{self.size_name} = {size}",
                name,
                *(ends.get((size, _lied(name, lie)), "") for lie in ("", *CONTROLS)),
            ]
            for size in dict.fromkeys(c.size for c in found)
            for name in names
        ]
        caption = (
            "Controls: the final gap with the true oracle, and with one that lies, one that never "
            "decides and one that tosses a coin. Medians over seeds."
        )
        return Table(["size", "method", "true", *CONTROLS], body, caption, folded=True)

    def _settings(self, found: Sequence[Curve]) -> Table:
        body = []
        for c in found:
            hidden = ("size", "quick", "label", "seed")
            text = ", ".join(f"{k} {quantity(v)}" for k, v in c.settings.items() if k not in hidden)
            body.append([f"{self.size_name} = {c.size}", c.label, text])
        return Table(["size", "method", "settings"], body, "Exact settings.", folded=True)


@dataclass(frozen=True)
class Curve:
    """One line of a figure at one size: the records of its seeds."""

    experiment: str
    size: int
    label: str
    settings: dict[str, Any]
    records: list[dict[str, Any]]
    control: str = ""

    @property
    def sees(self) -> str:
        return self.records[0]["sees"]

    def column(self, name: str) -> np.ndarray:
        """Shape (seeds, records); a run that stopped early keeps its last entry."""
        length = max(len(r[name]) for r in self.records)
        return np.array(
            [r[name] + r[name][-1:] * (length - len(r[name])) for r in self.records], dtype=float
        )

    def start(self) -> Estimate:
        """Gap at the start."""
        return median([r["start"] for r in self.records])

    def final(self) -> Estimate:
        """Gap at the end."""
        return self.at(100)

    def last(self) -> Estimate:
        """Gap of the last iterate, which may be worse than the point returned."""
        return median([max(0.0, r["last_gap"]) for r in self.records])

    def at(self, percent: int) -> Estimate:
        """Gap after a share of the iterations."""
        gaps = []
        for r in self.records:
            until = r["iteration"][-1] * percent / 100
            last = int(np.searchsorted(r["iteration"], until, "right")) - 1
            gaps.append(max(0.0, r["gap"][last]))  # rounding may end below the optimum
        return median(gaps)

    def rest(self) -> Estimate:
        """Share of the start's gap that is left at the end, seed by seed."""
        return ratio(self.final(), self.start())

    def median(self, what: str) -> float:
        """Median over seeds of the last entry of a column."""
        return float(np.median([r[what][-1] for r in self.records]))

    def ties(self) -> float:
        """Mean share of ties."""
        return float(np.mean([r["ties"] / r["duels"][-1] for r in self.records]))

    def reach(self, seed: int, gap: float, what: str = "duels") -> float:
        """Duels, or another column, of one seed until its gap is at most ``gap``; inf if never."""
        r = self.records[seed]
        hit = np.asarray(r["gap"]) <= gap
        return float(r[what][int(hit.argmax())]) if hit.any() else float("inf")


def _at() -> list[str]:
    return [f"at {percent} %" for percent in CHECKPOINTS]


def ratio(a: Estimate, b: Estimate) -> Estimate:
    """Median of the ratios, seed by seed; controls have the first seeds alone."""
    return median([_over(x, y) for x, y in zip(a.values, b.values, strict=False)])


def _over(x: float, y: float) -> float:
    return x / y if y else (1.0 if x == 0 else float("inf"))


def _lied(label: str, lie: str) -> str:
    return f"{label}, {lie}" if lie else label


By = Mapping[tuple[int, str], Curve]
Where = tuple[str, ...]


def accuracy(by: By, names: Mapping[int, str], where: Where, **under: Any) -> list[Claim]:
    """What the paper says of RDNGD's accuracy, for curves by size and label.

    The paper draws f(x_k), so the last iterate is judged beside the point that is returned.
    """
    compared, left, lied = {}, {}, ({}, {})
    for size, name in names.items():
        zo = by[size, "ZO-RGD"].final()
        annealed, fixed = by[size, "RDNGD cosine"], by[size, "RDNGD constant"]
        for suffix, gap in (("", Curve.final), (", x_T", Curve.last)):
            compared[name + suffix] = ratio(gap(annealed), zo)
            left[name + suffix] = ratio(gap(fixed), fixed.start())
        for c in by.values():
            if c.control and c.size == size:
                annealed_lie = c.label.startswith("RDNGD cosine")
                lie = ratio(c.final(), zo if annealed_lie else c.start())
                lied[0 if annealed_lie else 1][f"{c.control}, {name}"] = lie
    return [
        Claim(
            where,
            SIMILAR,
            "final gap of RDNGD-cosine over ZO-RGD's, seed by seed",
            at_most(10),
            compared,
            lied[0],
            **under,
        ),
        Claim(
            where,
            ACCEPTABLE,
            "share of the start's gap that RDNGD-constant leaves",
            at_most(REACHED),
            left,
            lied[1],
            remark=" ".join(
                _ending(by[size, "RDNGD constant"], name) for size, name in names.items()
            ),
            **under,
        ),
    ]


SIMILAR = "RDNGD-cosine achieves accuracy comparable with ZO-RGD's"
ACCEPTABLE = "RDNGD-constant is worse, but its accuracy is acceptable"


def _ending(c: Curve, name: str) -> str:
    """How a run ends: a gap that still falls by half in the last fifth has too few steps."""
    before, after = c.at(80).value, c.final().value
    if after < before / 2:
        return f"{name}: still falling at the end, {number(before)} to {number(after)}."
    return f"{name}: settled at the end, {number(before)} to {number(after)}."


def slower(by: By, names: Mapping[int, str], where: Where, **under: Any) -> Claim:
    """What the paper says of RDNGD's CPU time."""
    cases = {}
    for size, name in names.items():
        seconds = {}
        for label in ("RDNGD constant", "RDNGD cosine", "ZO-RGD"):
            c = by[size, label]
            seconds[label] = [c.reach(s, PACED_GAP, "seconds") for s in range(len(c.records))]
        for label in ("RDNGD constant", "RDNGD cosine"):
            pairs = list(zip(seconds[label], seconds["ZO-RGD"], strict=True))
            if all(np.isfinite(b) for _, b in pairs):
                cases[f"{name}, {label}"] = median([a / b for a, b in pairs])
    return Claim(
        where,
        "In CPU time RDNGD converges more slowly than ZO-RGD",
        f"CPU time to a gap of {PACED_GAP:g} over ZO-RGD's (∞: never got there)",
        above(1),
        cases,
        missing="" if cases else f"ZO-RGD did not reach {PACED_GAP:g} on every seed",
        **under,
    )


PACED_GAP = 1e-3


def summary(found: Sequence[Curve]) -> list[dict[str, Any]]:
    """One row a line: medians over seeds of duels, gaps at checkpoints and at the end, seconds."""
    rows = []
    for c in found:
        ends = {"": c.final(), " of x_T": c.last()}
        rows.append(
            {
                "experiment": c.experiment,
                "size": c.size,
                "method": c.label,
                "sees": c.sees,
                "control": c.control,
                "seeds": len(c.records),
                "iterations": int(c.median("iteration")),
                "duels": int(c.median("duels")),
                "start gap": c.start().value,
                **{name: c.at(p).value for name, p in zip(_at(), CHECKPOINTS, strict=True)},
                **{f"final gap{k}": [e.low, e.value, e.high] for k, e in ends.items()},
                "coverage": c.final().coverage,
                "seconds": c.median("seconds"),
                "ties": c.ties(),
            }
        )
    return rows


def paces(experiment: Convergence, found: Sequence[Curve]) -> list[Pace]:
    """Duels of the default method to the accuracy where the paper's run ended, seed by seed."""
    lines = {(c.size, c.label): c for c in found}
    made = []
    for size in dict.fromkeys(c.size for c in found):
        paper = lines.get((size, PACED)) or lines.get((size, "RDFW"))
        own = lines.get((size, DEFAULT))
        if paper is None or own is None:
            continue
        seeds = [
            s
            for s in range(min(len(paper.records), len(own.records)))
            if paper.records[s]["gap"][-1] < REACHED * paper.records[s]["start"]
        ]
        if not seeds:  # the paper's run got nowhere
            continue
        ends = [paper.records[s]["gap"][-1] for s in seeds]
        theirs = [paper.reach(s, end) for s, end in zip(seeds, ends, strict=True)]
        ours = [own.reach(s, end) for s, end in zip(seeds, ends, strict=True)]
        ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
        made.append(
            Pace(
                f"{experiment.title}, {experiment.size_name} = {size}",
                paper.label,
                float(np.median(ends)),
                float(np.median(theirs)),
                float(np.median(ours)),
                median(ratios),
                int(np.sum(np.isinf(ours))),
                len(seeds),
            )
        )
    return made


def convergence_figure(
    curves: Sequence[Curve], titles: dict[int, str], hues: dict[str, int]
) -> matplotlib.figure.Figure:
    """Draw the gap f - f* against iterations, duels and CPU time, one row a size.

    Parameters
    ----------
    curves : sequence of Curve
        Of one experiment.
    titles : dict
        Title of a row by size.
    hues : dict
        Number of the colour by method; methods that are not named get the colours left.

    Returns
    -------
    matplotlib Figure
        With the median and its interval over seeds.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    labels = list(dict.fromkeys(c.label for c in curves))
    free = [i for i in range(len(COLOURS)) if i not in {hues.get(name) for name in labels}]
    others = [name for name in labels if name not in hues]
    hues = {**hues, **dict(zip(others, cycle(free or [0]), strict=False))}
    shown: dict[str, Callable[[Any], None]] = {
        "iteration": lambda axis: axis.set_xlabel("iterations"),
        "duels": lambda axis: axis.set(xlabel="duels (dashed: evaluations)", xscale="log"),
        "seconds": lambda axis: axis.set(xlabel="CPU time in seconds", xscale="log"),
    }
    with panels(len(titles), 3) as (figure, axes):
        for (size, title), row in zip(titles.items(), axes, strict=True):
            group = [c for c in curves if c.size == size]
            for axis, (column, name) in zip(row, shown.items(), strict=True):
                for c in group:
                    _curve(axis, c, column, COLOURS[hues[c.label]])
                axis.set_yscale("log")
                name(axis)
            row[0].set(ylabel="f(x) − f*", title=title)
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=len(names))
    return figure


def _curve(axis: Any, c: Curve, column: str, colour: str) -> None:
    start = np.array([[r["start"]] for r in c.records])
    # A gap is known to about 15 digits of the start's; below that it would be rounding, or zero.
    gaps = np.maximum(c.column("gap"), 1e-15 * start)
    x = np.median(c.column(column), axis=0)
    keep = x > 0 if column != "iteration" else x >= 0
    style = "-" if c.sees == "duels" else "--"
    band(axis, x[keep], *median_band(gaps[:, keep]), colour=colour, label=c.label, style=style)
    if column == "iteration":
        _iterates(axis, c, start, colour)
    planned = c.settings.get("iterations")
    if x[keep].size and (planned is None or c.records[0]["iteration"][-1] < planned):
        axis.plot(x[keep][-1], np.median(gaps[:, -1]), "o", color=colour, markersize=4)


def _iterates(axis: Any, c: Curve, start: np.ndarray, colour: str) -> None:
    """The median gap of the iterates x_k, where they were recorded."""
    found = [r["iterates"] for r in c.records if r.get("iterates", {}).get("iteration")]
    if len(found) == len(c.records):
        gaps = np.maximum([i["gap"] for i in found], 1e-15 * start)
        _, middle, _ = median_band(gaps)
        axis.plot(found[0]["iteration"], middle, ":", color=colour, lw=0.9, alpha=0.8)
