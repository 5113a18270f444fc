"""Figures of points: the way of the best one, who beat whom, and where the ideal may lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._numerics.arrays import host
from .._support.check import instance, positive_int, several
from ..domains.base import Domain
from ..errors import ArgumentError
from ..manifolds import Manifold, Sphere
from ..methods.people.questions import PersonMethod
from ..oracles.wrappers import Record, Recorded
from ..result import History, Result
from ..study.ranking import decided
from ..study.study import Study
from .runs import Run, course_of, length, unit_of
from .style import COLOURS, FAINT, drawn_on
from .views import BEHIND, View, axes_of_space, title, turns_space, view_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["duels", "path", "region"]

GOAL = COLOURS[4]
CLOSE = 0.1  # a stated radius, in typical distances, below which a region is seen from close by


def path(
    run: Run,
    manifold: Manifold | None = None,
    *,
    goal: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the way of the best point.

    Spheres, hyperbolic planes, simplices, tori and planes of two dimensions look as one knows them.
    A rotation of space is drawn as the three places that it turns the axes to. On a manifold of one
    dimension the point is drawn against duels. Others are seen from the last point, in the plane of
    most of the movement; distances from that point are true there.

    Parameters
    ----------
    run : Result, History or Study
        One run of one problem. Points of more than 128 numbers need ``monitor=np.copy``.
    manifold : Manifold, optional
        Where the points live; a study has its own.
    goal : array of shape point_shape, optional
        A point to mark, such as the optimum where it is known.
    ax : matplotlib axes, optional
        Where to draw; by default on a new figure. What is drawn on the same axes is seen alike.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ArgumentError
        If the run kept no points, or its manifold is needed.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> from geoduel.plotting import path
    >>> sphere, home = gd.Sphere(3), np.array([0.0, 0.6, 0.8])
    >>> oracle = gd.from_objective(lambda x: -x @ home)
    >>> result = gd.minimize(oracle, sphere, [1, 0, 0], rng=0)
    >>> path(result, sphere, goal=home).get_title(loc="left")
    'The way of the best point, Sphere(3)'
    """
    manifold = _manifold(run, manifold)
    course = course_of(run, points=True)
    points, at = _points(course.points, manifold), course.duels
    goal = None if goal is None else _point(goal, manifold, "goal")
    with drawn_on(ax, *_size(manifold)) as ax:
        if turns_space(manifold):
            ends = points if goal is None else np.concatenate([points, goal[None]])
            around = np.concatenate(list(axes_of_space(ends).values()))
            view = view_on(ax, Sphere(3), around)
            ways = axes_of_space(points)
            goals = {} if goal is None else axes_of_space(goal)
            for (name, way), colour in zip(ways.items(), COLOURS, strict=False):
                _draw_way(ax, view, way, at, colour, name)
                _draw_ends(ax, view, way, at, goals.get(name), named=name.startswith("z"))
        else:
            view = view_on(ax, manifold, points)
            _draw_way(ax, view, points, at, COLOURS[1], None)
            _draw_ends(ax, view, points, at, goal)
        ax.set_title(title("The way of the best point", manifold))
        _legend(ax, view)
    return ax


def duels(
    run: Study | Recorded | Sequence[Record],
    manifold: Manifold | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw who beat whom: each duel as a line, with a dot at the preferred end.

    Of more than two points the duels are those that the answer decides.

    Parameters
    ----------
    run : Study, Recorded or list of Record
        A study keeps its duels. `geoduel.minimize` does not: give it ``gd.Recorded(oracle)``, and
        that oracle to this function.
    manifold : Manifold, optional
        Where the points live; a study has its own.
    ax : matplotlib axes, optional
        Where to draw, as in `path`.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ArgumentError
        If there are no duels, or the manifold is needed.

    Examples
    --------
    >>> import geoduel as gd
    >>> from geoduel.plotting import duels
    >>> disc = gd.Hyperbolic(2)
    >>> oracle = gd.Recorded(gd.from_objective(lambda x: disc.dist(x, disc.origin())))
    >>> result = gd.minimize(oracle, disc, budget=40, rng=0)
    >>> duels(oracle, disc).get_title(loc="left")
    '39 duels, Hyperbolic(2)'
    """
    if isinstance(run, Result | History):
        raise ArgumentError(
            "a Result keeps no duels: give minimize gd.Recorded(oracle), and draw that oracle"
        )
    manifold = _manifold(run, manifold)
    if isinstance(run, Study):
        told = [
            (d.points[i], d.points[j], sign)
            for d in run.duels
            for i, j, sign in decided(d.answer or "skip", len(d.points))
        ]
    else:
        kept = run.records if isinstance(run, Recorded) else several(run, "run", "records")
        for record in kept:
            instance(record, "run", tuple, "a Study, a Recorded oracle or a list of records")
        told = [tuple(record) for record in kept]
    if not told:
        raise ArgumentError("no duel was answered yet, so there is nothing to draw")
    x, y = (_points(np.array([host(duel[i]) for duel in told]), manifold) for i in (0, 1))
    answer = np.array([duel[2] for duel in told])
    at = np.arange(1, len(told) + 1)
    with drawn_on(ax, *_size(manifold)) as ax:
        both = np.concatenate([x, y])
        view = view_on(ax, manifold, both)
        tied = answer == 0
        _draw_lines(ax, view, view.lines(x[~tied], y[~tied], at[~tied], at[~tied]), FAINT, 0.8)
        if tied.any():
            lines = view.lines(x[tied], y[tied], at[tied], at[tied])
            _draw_lines(ax, view, lines, COLOURS[3], 0.9, ls=":", label=f"{tied.sum()} ties")
        wins = _pick(answer, y, x)[~tied]
        loses = _pick(answer, x, y)[~tied]
        _draw_dots(ax, view, loses, at[~tied], "o", FAINT, 2.2, "not preferred")
        _draw_dots(ax, view, wins, at[~tied], "o", COLOURS[1], 3.6, "preferred")
        count = len(told)
        ax.set_title(title(f"{count} duel{'s' * (count > 1)}", manifold))
        _legend(ax, view)
    return ax


def region(
    study: Study,
    *,
    goal: Any = None,
    rater: str | None = None,
    n: int = 600,
    ax: Axes | None = None,
) -> Axes:
    """Draw where the ideal of a person may lie.

    Dots stand for the belief of a method made for people: there are more where the ideal is
    likelier. The ring is the stated region, which holds the ideal of four people in five. It is
    wider than the dots until easy questions have shown that the rater looks. Other methods state a
    distance to the optimum, and have no dots.

    Parameters
    ----------
    study : Study
        With answers or without.
    goal : array of shape point_shape, optional
        A point to mark, such as the ideal of a simulated person.
    rater : str, optional
        From the answers of this rater.
    n : int
        How many dots.
    ax : matplotlib axes, optional
        Where to draw, as in `path`.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import geoduel as gd
    >>> from geoduel.plotting import region
    >>> study = gd.create_study(gd.Simplex(3), rng=0)
    >>> for _ in range(10):
    ...     duel = study.ask()
    ...     answered = study.tell(duel, "a" if duel.a[0] > duel.b[0] else "b")
    >>> region(study).get_title(loc="left")
    'Where the ideal may lie, Simplex(3)'
    """
    if not isinstance(study, Study):
        raise ArgumentError(f"study must be a Study, got {type(study).__name__}")
    positive_int(n, "n")
    manifold = study.manifold
    goal = None if goal is None else _point(goal, manifold, "goal")
    best, radius = manifold.pack(study.recommend(rater)), study.uncertainty(rater)
    asked = isinstance(study.method, PersonMethod)
    believed = study.ideals(n, rater) if asked else best[None]
    with drawn_on(ax, *_size(manifold)) as ax:
        close = radius is not None and radius < CLOSE * manifold.typical_dist
        view = view_on(ax, manifold, believed, best, close)
        if view.timed:
            _draw_shares(ax, view, believed, best, radius, goal)
        else:
            here, nothing = best[None], np.zeros(n)
            if asked:
                label = "the ideal, as believed"
                _draw_dots(ax, view, believed, nothing, "o", COLOURS[5], 2.2, label, alpha=0.7)
            _draw_ring(ax, view, best, radius)
            if goal is not None:
                _draw_goal(ax, view, goal)
            _draw_dots(ax, view, here, nothing[:1], "o", COLOURS[0], 5.0, "recommended")
            if radius is not None and close:
                _look_at(ax, view, here, believed, radius, goal)
        ax.set_title(title("Where the ideal may lie", manifold))
        _legend(ax, view)
    return ax


# -- what is drawn ---------------------------------------------------------------------------------


def _draw_way(
    ax: Axes, view: View, points: np.ndarray, at: np.ndarray, colour: str, label: str | None
) -> None:
    """The way from each point to the next that differs."""
    same = (points[1:] == points[:-1]).all(axis=tuple(range(1, points.ndim)))
    stays = np.append(False, same)
    if view.timed:
        ax.step(at, view.flat(points), where="post", color=colour, label=label)
        return
    way, when = points[~stays], at[~stays]
    lines = view.lines(way[:-1], way[1:], when[:-1], when[1:])
    _draw_lines(ax, view, lines, colour, 1.5, label=label)
    _draw_dots(ax, view, way[1:-1], when[1:-1], "o", colour, 3.0, None)


def _draw_ends(
    ax: Axes,
    view: View,
    points: np.ndarray,
    at: np.ndarray,
    goal: np.ndarray | None,
    named: bool = True,
) -> None:
    """Where the way begins and ends, and what it was to reach."""

    def draw(point: np.ndarray, when: Any, size: float, label: str, fill: str) -> None:
        place = view.dots(point[None], np.array([when]))
        ax.plot(*place.T, "o", ms=size, mec=COLOURS[0], mfc=fill, mew=1.4, zorder=5, ls="none",
                label=label if named else None)  # fmt: skip

    if goal is not None and view.timed:
        ax.axhline(float(view.flat(goal[None])[0]), color=GOAL, lw=1.2, label="goal")
    elif goal is not None:
        _draw_goal(ax, view, goal, named)
    draw(points[0], at[0], 6.5, "start", "white")
    draw(points[-1], at[-1], 5.0, "best", COLOURS[0])


def _draw_goal(ax: Axes, view: View, goal: np.ndarray, named: bool = True) -> None:
    """A star at the point that is looked for."""
    place = view.dots(goal[None], np.zeros(1))
    ax.plot(*place.T, "*", ms=13, mfc=GOAL, mec="white", mew=0.6, zorder=4, ls="none",
            label="goal" if named else None)  # fmt: skip


def _draw_lines(
    ax: Axes,
    view: View,
    lines: tuple[list[np.ndarray], list[np.ndarray]],
    colour: str,
    width: float,
    ls: str = "-",
    label: str | None = None,
) -> None:
    from matplotlib.collections import LineCollection

    for some, alpha in zip(lines, (1.0, BEHIND), strict=True):
        if some:
            made = LineCollection(some, colors=colour, linewidths=width, linestyles=ls,
                                  alpha=alpha, label=label)  # fmt: skip
            ax.add_collection(made)
            label = None
    ax.autoscale_view()


def _draw_dots(
    ax: Axes,
    view: View,
    points: np.ndarray,
    at: np.ndarray,
    mark: str,
    colour: str,
    size: float,
    label: str | None,
    alpha: float = 1.0,
) -> None:
    """Dots, paler on the far side."""
    if not len(points):
        return
    places, near = view.dots(points, at), view.near(points)
    for some, opacity in ((~near, alpha * BEHIND), (near, alpha)):
        if some.any():
            shown = label if some is near or not near.any() else None
            ax.plot(*places[some].T, mark, color=colour, ms=size, mec="none", alpha=opacity,
                    ls="none", label=shown, zorder=3)  # fmt: skip


def _draw_ring(ax: Axes, view: View, best: np.ndarray, radius: float | None) -> None:
    """The points at the stated distance: a circle about the best point, in the plane of view."""
    manifold = view.manifold
    if radius is None or not np.isfinite(radius):
        ax.plot([], [], ls="none", label="nothing stated yet")
        return
    label = f"stated: within {length(radius, manifold)}"
    t = np.linspace(0, 2 * np.pi, 200)
    circle = radius * np.stack([np.cos(t), np.sin(t)], axis=-1)
    if manifold.dim == 2:
        base = np.broadcast_to(best, (len(t), *best.shape))
        ring = manifold.exp(base, manifold.from_coords(base, circle))
        _draw_lines(ax, view, view.curves(ring[None]), COLOURS[0], 1.5, label=label)
    else:  # in a chart about the best point, the ball of this radius is a disc
        middle = view.flat(best[None])[0]
        ax.plot(*(middle + circle).T, color=COLOURS[0], lw=1.5, label=label)


def _draw_shares(
    ax: Axes,
    view: View,
    believed: np.ndarray,
    best: np.ndarray,
    radius: float | None,
    goal: np.ndarray | None,
) -> None:
    """On a line, how much of the belief lies where."""
    places, middle = view.flat(believed), float(view.flat(best[None])[0])
    low, high = np.nanquantile(places, [0.005, 0.995])
    if radius is not None and np.isfinite(radius):
        low, high = min(low, middle - radius), max(high, middle + radius)
        label = f"stated: within {length(radius, view.manifold)}"
        ax.axvspan(middle - radius, middle + radius, color=COLOURS[0], alpha=0.12, label=label)
    share = np.full(len(places), 100 / len(places))
    label = "the ideal, as believed"
    ax.hist(places, 50, range=(low, high), weights=share, color=COLOURS[5], label=label)
    ax.axvline(middle, color=COLOURS[0], label="recommended")
    if goal is not None:
        ax.axvline(float(view.flat(goal[None])[0]), color=GOAL, ls="--", label="goal")
    ax.set_xlabel(f"from the recommended point, {unit_of(view.manifold)}")
    ax.set_ylabel("share of the belief, %")


def _look_at(
    ax: Axes,
    view: View,
    here: np.ndarray,
    believed: np.ndarray,
    radius: float,
    goal: np.ndarray | None,
) -> None:
    """Leave single dots outside, which are far away."""
    away = np.nanquantile(abs(view.flat(believed) - view.flat(here)), 0.97)
    if goal is not None:
        away = max(away, abs(view.flat(goal[None]) - view.flat(here)).max())
    x, y = view.flat(here)[0]
    reach = 1.25 * max(away, radius)
    ax.set_aspect("equal", adjustable="box")
    ax.set(xlim=(x - reach, x + reach), ylim=(y - reach, y + reach))


def _legend(ax: Axes, view: View) -> None:
    """Beside the picture, where it can hide nothing."""
    if not ax.get_legend_handles_labels()[1]:
        return
    if view.timed:
        ax.legend()
    else:
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        legend = ax.legend(**place, handlelength=1.2, markerscale=1.0)
        for handle in legend.legend_handles:
            if handle is not None:
                handle.set_alpha(1.0)  # what lies on the far side is drawn faint


# -- what is given ---------------------------------------------------------------------------------


def _manifold(run: Any, manifold: Manifold | None) -> Manifold:
    if manifold is None and isinstance(run, Study):
        return run.manifold
    if isinstance(manifold, Domain):  # which stands for its manifold, as in `minimize`
        return manifold.manifold
    if not isinstance(manifold, Manifold):
        raise ArgumentError(f"manifold must be the Manifold of the run, got {manifold!r:.80}")
    return manifold


def _points(points: np.ndarray, manifold: Manifold) -> np.ndarray:
    """Points (n, *point_shape), which there must be."""
    shape = manifold.point_shape
    if not len(points):
        raise ArgumentError(
            "the run kept no points: points of more than 128 numbers need monitor=np.copy, and a "
            "study needs an answer"
        )
    if points.shape[1:] != shape:
        raise ArgumentError(
            f"points have shape {points.shape[1:]}, and those of {manifold!r} have {shape}; of "
            "several problems at once, draw one"
        )
    return points


def _point(x: Any, manifold: Manifold, name: str) -> np.ndarray:
    point = np.asarray(host(x) if hasattr(x, "detach") else manifold.pack(x, name), float)
    manifold.check_point(point, name)
    return point


def _pick(answer: np.ndarray, when_up: np.ndarray, when_down: np.ndarray) -> np.ndarray:
    return np.where((answer > 0).reshape(-1, *(1,) * (when_up.ndim - 1)), when_up, when_down)


def _size(manifold: Manifold) -> tuple[float, float]:
    """Width and height of a new figure: a square picture with room for its legend."""
    return (5.6, 3.8) if manifold.dim == 1 else (5.4, 4.0)
