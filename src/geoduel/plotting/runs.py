"""Figures against duels: how near runs have come, and how consistent the judge is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._numerics.arrays import host
from .._support.check import instance, real
from ..errors import ArgumentError
from ..manifolds.base import Manifold
from ..result import History, Result
from ..study.raters import agreement
from ..study.study import Study
from .style import COLOURS, band, drawn_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Course",
    "Run",
    "consistency",
    "convergence",
    "course_of",
    "length",
    "name_of",
    "unit_of",
]

Run = Result | History | Study
REPLAY = 60.0  # seconds that the replay of a study may take
INNER = (0.1, 0.9)  # of the share of repeats that agree: the band that is drawn
RADIANS = {"Sphere", "Torus", "Rotations", "Grassmann", "Stiefel", "Simplex"}
"""Manifolds whose geodesic lengths are angles."""


class Course(NamedTuple):
    """What a run kept along the way, one entry a record; what it did not keep is empty.

    Attributes
    ----------
    duels : ndarray of shape (n,)
        Duels asked, or answers given.
    values : ndarray of shape (n,)
        What the monitor returned, where that was a number.
    uncertainty, noise : ndarray of shape (n,)
        As the run stated them; NaN where it had no idea.
    points : ndarray of shape (n, *point_shape)
        The best points.
    """

    duels: np.ndarray
    values: np.ndarray
    uncertainty: np.ndarray
    noise: np.ndarray
    points: np.ndarray


def course_of(run: Run, points: bool = False) -> Course:
    """What a run kept; of a study with ``points``, after a replay that finds them."""
    nothing = np.zeros(0)
    if isinstance(run, Study):
        if points:
            trace = run.trace(REPLAY)
            found = np.array([run.manifold.pack(x) for _, x in trace])
            return Course(np.array([k for k, _ in trace]), nothing, nothing, nothing, found)
        told = np.array(run.progress().history, float).reshape(-1, 2)
        return Course(told[:, 0], nothing, told[:, 1], nothing, nothing)
    history = run.history if isinstance(run, Result) else run
    if not isinstance(history, History):
        raise ArgumentError(
            f"runs, or run, must be a Result, a History or a Study, got {type(run).__name__}; "
            "several go into a list, or into a dictionary with their names"
        )
    seen = [np.asarray(host(value)) for value in history.monitor]
    numbers = bool(seen) and all(s.ndim == 0 and s.dtype.kind in "biuf" for s in seen)
    kept = history.points
    if not kept and seen and not numbers:  # monitor=np.copy keeps points of any size
        kept = seen
    return Course(
        np.array(history.duels),
        np.array(seen, float) if numbers else nothing,
        np.array(history.uncertainty, float),
        np.array(history.noise, float),
        np.array([host(x) for x in kept]),
    )


def unit_of(manifold: Manifold | None) -> str:
    """What geodesic lengths are called: radians where they are angles.

    Examples
    --------
    >>> import geoduel as gd
    >>> unit_of(gd.Sphere(3)), unit_of(gd.SPD(2))
    ('radians', 'geodesic length')
    """
    return "radians" if type(manifold).__name__ in RADIANS else "geodesic length"


def length(value: float, manifold: Manifold) -> str:
    """A geodesic length in words."""
    unit = unit_of(manifold)
    return f"{value:.2g} {unit}" if unit == "radians" else f"{value:.2g}"


def name_of(manifold: Manifold) -> str:
    """A name that is short enough for a title."""
    name = repr(manifold)
    return name if len(name) <= 32 else type(manifold).__name__


def convergence(
    runs: Run | Sequence[Run] | Mapping[str, Run | Sequence[Run]],
    *,
    optimum: float | None = None,
    manifold: Manifold | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how near runs have come, against duels.

    Where every run has a ``monitor=`` that returns numbers, these are drawn. Where values are not
    known, the distance to the optimum that the method states is drawn, a geodesic length. For a
    single run the steps between the best points are drawn beside it.

    Parameters
    ----------
    runs : Result, History or Study, or several of them
        A list is drawn as its median with a band between the quartiles. A dictionary names runs, or
        lists of runs, which are drawn in one colour each.
    optimum : float, optional
        The least value there is: gaps to it are drawn, on a logarithmic scale. Gaps that rounding
        has made zero or negative are drawn where the least positive one is.
    manifold : Manifold, optional
        For steps and their unit; a study has its own.
    ax : matplotlib axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib axes
        With the figure as ``ax.figure``.

    Raises
    ------
    ArgumentError
        If there is nothing to draw: no monitor, and no distance stated.

    Examples
    --------
    >>> import geoduel as gd
    >>> from geoduel.plotting import convergence
    >>> sphere = gd.Sphere(4)
    >>> oracle = gd.from_objective(lambda x: 1 - x[0])
    >>> runs = [
    ...     gd.minimize(oracle, sphere, rng=seed, monitor=lambda x: 1 - x[0], budget=150)
    ...     for seed in range(5)
    ... ]
    >>> ax = convergence({"the default": runs}, optimum=0.0)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('duels', 'gap to the optimum')
    """
    if optimum is not None:
        real(optimum, "optimum")
    if manifold is not None:
        instance(manifold, "manifold", Manifold, "the Manifold of the runs")
    named = runs if isinstance(runs, Mapping) else {"": runs}
    groups = {label: _courses(group) for label, group in named.items()}
    everyone = [course for group in groups.values() for course in group]
    if not everyone:
        raise ArgumentError("runs is empty: expected at least one run")
    valued = all(len(course.values) for course in everyone)
    if not valued and not all(np.isfinite(course.uncertainty).any() for course in everyone):
        raise ArgumentError(
            "runs have neither a monitor that returns numbers nor a stated distance to the "
            "optimum: give minimize monitor=, such as the value or the distance to a known point"
        )
    single = _flat(named)[0] if len(everyone) == 1 else None
    if manifold is None and isinstance(single, Study):
        manifold = single.manifold
    least = _least_gap(everyone, optimum)
    with drawn_on(ax) as ax:
        for colour, (label, group) in zip(_colours(len(groups)), groups.items(), strict=True):
            curves = [(c.duels, c.values if valued else c.uncertainty) for c in group]
            if valued and optimum is not None:
                curves = [(x, np.maximum(y - optimum, least)) for x, y in curves]
            _draw_group(ax, curves, colour, label or ("" if valued else "stated distance"))
        if not valued and single is not None and manifold is not None:
            _draw_steps(ax, course_of(single, points=True), manifold)
        if not valued:
            ax.set_title("How near the optimum, as stated")
            ax.set_ylabel(f"distance, {unit_of(manifold)}")
        else:
            ax.set_title("Value of the best point" if optimum is None else "Gap to the optimum")
            ax.set_ylabel("monitor" if optimum is None else "gap to the optimum")
        drawn = np.concatenate([line.get_ydata() for line in ax.get_lines()])
        drawn = drawn[np.isfinite(drawn)]
        if optimum is not None or not valued or (len(drawn) and 0 < 20 * drawn.min() < drawn.max()):
            ax.set_yscale("log")
        ax.set_xlabel("answers" if all(isinstance(run, Study) for run in _flat(named)) else "duels")
        if ax.get_legend_handles_labels()[1]:
            ax.legend()
    return ax


def consistency(run: Run, *, ax: Axes | None = None) -> Axes:
    """Draw how often the judge gives the same answer to the same question.

    A method that asks some questions twice estimates the share p of wrong answers; the same answer
    comes with probability 1 - 2p(1-p). Of a study the repeats themselves are counted, and the band
    holds the true share with probability 0.8.

    Parameters
    ----------
    run : Result, History or Study
        One run.
    ax : matplotlib axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ArgumentError
        If no question was asked twice.

    Examples
    --------
    >>> import geoduel as gd
    >>> from geoduel.plotting import consistency
    >>> oracle = gd.Noisy(gd.from_objective(lambda x: 1 - x[0]), flip=0.1, rng=0)
    >>> ax = consistency(gd.minimize(oracle, gd.Sphere(3), budget=300, rng=0))
    >>> ax.get_ylabel()
    'same answer when asked again, %'
    """
    if isinstance(run, Study):
        at, low, middle, high = _repeats(run)
    else:
        course = course_of(run)
        at, p = course.duels, course.noise
        middle = 1 - 2 * p * (1 - p)
        low = high = middle
    known = np.isfinite(middle)
    if not known.any():
        raise ArgumentError(
            "no question was asked twice, so nothing is known of the judge's consistency; studies "
            "repeat questions with repeats=, and the default method repeats some by itself"
        )
    with drawn_on(ax) as ax:
        x, *heights = (array[known] for array in (at, low, middle, high))
        band(ax, x, *(100 * h for h in heights), colour=COLOURS[1], label="consistency")
        ax.axhline(50, color=COLOURS[6], ls=":", lw=1.2)
        ax.annotate("a coin", (1, 50), (-2, 3), xycoords=("axes fraction", "data"), ha="right",
                    textcoords="offset points", fontsize="small", color=COLOURS[6])  # fmt: skip
        ax.set_ylim(min(45.0, 100 * heights[0].min() - 5), 102)
        ax.set_title("How consistent the judge is")
        ax.set_xlabel("answers" if isinstance(run, Study) else "duels")
        ax.set_ylabel("same answer when asked again, %")
    return ax


# -- pieces ----------------------------------------------------------------------------------------


def _flat(named: Mapping[str, Any]) -> list[Any]:
    """All runs of a dictionary of runs and of lists of runs."""
    groups = [g if isinstance(g, Sequence) else [g] for g in named.values()]
    return [run for group in groups for run in group]


def _courses(group: Any) -> list[Course]:
    return [course_of(run) for run in (group if isinstance(group, Sequence) else [group])]


def _colours(count: int) -> list[str]:
    """Blue for one; of several the first hues, and they begin anew where these end."""
    return COLOURS[1:2] if count == 1 else [COLOURS[i % len(COLOURS)] for i in range(count)]


def _least_gap(courses: list[Course], optimum: float | None) -> float:
    """The least positive gap of all runs; without one, what rounding makes of an optimum."""
    if optimum is None:
        return -np.inf
    gaps = np.concatenate([course.values - optimum for course in courses])
    return float(min(gaps[gaps > 0], default=np.finfo(float).eps * max(1.0, abs(optimum))))


def _draw_group(
    ax: Axes, curves: list[tuple[np.ndarray, np.ndarray]], colour: str, label: str
) -> None:
    """One curve as a line; several as their median, with a band between the quartiles.

    A run that has ended stays where it ended.
    """
    if len(curves) == 1:
        ax.plot(*curves[0], color=colour, label=label or None)
        return
    at = np.unique(np.concatenate([duels for duels, _ in curves]))
    at = at[at >= max(duels[0] for duels, _ in curves)]
    each = [y[np.searchsorted(x, at, side="right") - 1] for x, y in curves]
    low, middle, high = np.percentile(each, [25, 50, 75], axis=0)
    label = f"{label}, {len(curves)} runs".removeprefix(", ")
    band(ax, at, low, middle, high, colour=colour, label=label)


def _draw_steps(ax: Axes, course: Course, manifold: Manifold) -> None:
    """How far the best point went from one record to the next."""
    if len(course.points) < 2:
        return
    steps = np.asarray(manifold.dist(course.points[:-1], course.points[1:]))
    moved = steps > 0
    ax.plot(course.duels[1:][moved], steps[moved], ".", color=COLOURS[0], ms=4, label="step")


def _repeats(study: Study) -> tuple[np.ndarray, ...]:
    """At each repeat: answers so far, and the share that agreed, with the ends of its band."""
    from scipy.stats import beta

    duels = study.duels
    told = sorted((d for d in duels if d.answer), key=lambda d: d.answered or 0.0)
    at, same, count, heights = [], 0.0, 0, []
    for i, duel in enumerate(told, 1):
        first = None if duel.of is None else duels[duel.of]
        # A repeat that went to somebody else, once its lease was over, says nothing of either.
        if first is None or first.answer is None or first.rater != duel.rater:
            continue
        alike = agreement(first.answer, str(duel.answer))
        if alike is None:
            continue
        count, same = count + 1, same + alike
        believed = beta(same + 0.5, count - same + 0.5)
        at.append(i)
        heights.append((believed.ppf(INNER[0]), same / count, believed.ppf(INNER[1])))
    return np.array(at), *np.array(heights).reshape(-1, 3).T
