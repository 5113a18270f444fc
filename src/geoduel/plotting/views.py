"""How points of a manifold come to lie on paper: one `View` for each kind of manifold.

    Sphere(3)                  the globe, seen from far away
    Hyperbolic(2)              Poincare's disc
    Simplex(3)                 the triangle
    Torus(2)                   a square, whose opposite sides are one
    Euclidean(2)               the plane
    of one dimension           the signed distance to a point, against duels
    all others                 the plane of most of the movement, seen from a point of it

From close by, all manifolds look like the last kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import ArgumentError
from ..manifolds import Euclidean, Hyperbolic, Manifold, Rotations, Simplex, Sphere, Torus
from .runs import name_of, unit_of
from .style import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BEHIND", "View", "axes_of_space", "title", "turns_space", "view_on"]

BEHIND = 0.3  # opacity of what lies on the far side, relative to the near one
CORNERS = np.array([[0.5, 3**0.5 / 2], [0.0, 0.0], [1.0, 0.0]])
MOST_CURVED = 400  # curves that are drawn as geodesics; of more, each is a few pixels long
PIECES = 24  # straight pieces of a geodesic


@dataclass(frozen=True)
class View:
    """A way to draw a manifold.

    Attributes
    ----------
    manifold : Manifold
    flat : callable
        Maps points (n, *point_shape) to (n, 2), or to (n,) on manifolds of one dimension.
    ground : callable
        Draws on axes what the manifold looks like without points.
    front : callable, optional
        Which of the points are on the near side.
    period : float
        What coordinates that jump by more than half of it have jumped across.
    curved : bool
        Whether geodesics are drawn as curves.
    """

    manifold: Manifold
    flat: Callable[[np.ndarray], np.ndarray]
    ground: Callable[[Axes], None]
    front: Callable[[np.ndarray], np.ndarray] | None = None
    period: float = np.inf
    curved: bool = True

    @property
    def timed(self) -> bool:
        """Whether the horizontal axis is the number of duels."""
        return self.manifold.dim == 1

    def dots(self, points: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Places of points (n, *point_shape), the i-th after ``at[i]`` duels, shape (n, 2)."""
        flat = self.flat(points)
        return np.stack([at, flat], axis=-1) if self.timed else flat

    def near(self, points: np.ndarray) -> np.ndarray:
        """Which of the points are on the near side."""
        return np.ones(len(points), bool) if self.front is None else self.front(points)

    def lines(
        self, x: np.ndarray, y: np.ndarray, at: np.ndarray, to: np.ndarray
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Geodesics from each x to its y, as polylines: those on the near side, and the others."""
        if not self.curved or self.timed or len(x) > MOST_CURVED:
            ends = np.stack([self.dots(x, at), self.dots(y, to)], axis=1)
            seen = self.near(x) & self.near(y)
            return [*self._cut(ends[seen])], [*self._cut(ends[~seen])]
        t = np.linspace(0, 1, PIECES + 1).reshape(-1, *(1,) * x.ndim)
        return self.curves(self.manifold.exp(x, t * self.manifold.log(x, y)).swapaxes(0, 1))

    def curves(self, points: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Curves through points (m, n, *point_shape): their parts in front, and the others."""
        if not len(points):
            return [], []
        flat = np.stack([self.flat(curve) for curve in points])
        if self.front is None:
            return [*self._cut(flat)], []
        seen = np.stack([self.near(curve) for curve in points])
        hidden = ~seen
        hidden[:, :-1] |= hidden[:, 1:]  # the two meet at the edge
        parts = [self._cut(np.where(which[..., None], flat, np.nan)) for which in (seen, hidden)]
        front, back = ([c for c in part if np.isfinite(c).any()] for part in parts)
        return front, back

    def _cut(self, curves: np.ndarray) -> np.ndarray:
        """Curves (m, n, 2), interrupted where a coordinate jumps across a seam."""
        if np.isinf(self.period) or self.timed or not len(curves):
            return curves
        jump = (abs(np.diff(curves, axis=1)) > self.period / 2).any(axis=-1)
        cut = curves.copy()
        cut[:, 1:][jump] = np.nan
        return cut


_VIEWS: WeakKeyDictionary[Any, View] = WeakKeyDictionary()


def view_on(
    ax: Axes,
    manifold: Manifold,
    points: np.ndarray,
    middle: np.ndarray | None = None,
    close: bool = False,
) -> View:
    """The view of these axes; the first one is chosen so that the points are in sight, and drawn.

    What is drawn on the same axes later is seen from the same side. From ``close`` by, every
    manifold looks flat.
    """
    if manifold.dim == 0:
        raise ArgumentError(
            f"{manifold!r:.80} has categories and whole numbers alone, which have no place to draw"
        )
    known = _VIEWS.get(ax)
    if known is not None:
        if known.manifold != manifold:
            raise ArgumentError(f"these axes show {known.manifold!r}, and not {manifold!r}")
        return known
    flat = _chart if close and manifold.dim > 1 else _chosen
    view = flat(manifold, points, points[-1] if middle is None else middle)
    view.ground(ax)
    _VIEWS[ax] = view
    return view


def _chosen(manifold: Manifold, points: np.ndarray, middle: np.ndarray) -> View:
    shape = manifold.point_shape
    if manifold.dim == 1:
        return _line(manifold, middle)
    if isinstance(manifold, Sphere) and shape == (3,):
        return _globe(manifold, points)
    if isinstance(manifold, Hyperbolic) and manifold.dim == 2:
        return View(manifold, manifold.to_poincare, _disc)
    if isinstance(manifold, Simplex) and shape == (3,):
        return View(manifold, lambda w: w @ CORNERS, _triangle)
    if isinstance(manifold, Torus) and shape == (2,):
        return View(manifold, lambda x: x, _square, period=2 * np.pi)
    if isinstance(manifold, Euclidean) and shape == (2,):
        return View(manifold, lambda x: x, _plane, curved=False)
    return _chart(manifold, points, middle)


def axes_of_space(points: np.ndarray) -> dict[str, np.ndarray]:
    """Where rotations turn the three axes of space to, as points of a sphere."""
    return {f"{name} axis": points[..., i] for i, name in enumerate("xyz")}


def turns_space(manifold: Manifold) -> bool:
    """Whether points are rotations of space."""
    return isinstance(manifold, Rotations) and manifold.point_shape == (3, 3)


# -- the views -------------------------------------------------------------------------------------


def _globe(manifold: Manifold, points: np.ndarray) -> View:
    """From above the middle of the points, a little from the north."""
    eye = np.mean(points, axis=0) + np.array([0.0, 0.0, 0.35])
    if not np.linalg.norm(eye) > 0.2:  # they are everywhere
        eye = np.array([0.6, -0.7, 0.4])
    eye = eye / np.linalg.norm(eye)
    right = np.cross([0.0, 0.0, 1.0], eye)
    if not np.linalg.norm(right) > 1e-3:
        right = np.array([1.0, 0.0, 0.0])
    right = right / np.linalg.norm(right)
    up = np.cross(eye, right)

    def flat(x: np.ndarray) -> np.ndarray:
        return np.stack([x @ right, x @ up], axis=-1)

    def ground(ax: Axes) -> None:
        t = np.linspace(0, 2 * np.pi, 400)
        ax.fill(np.cos(t), np.sin(t), color=FAINT, alpha=0.07, lw=0)
        ax.plot(np.cos(t), np.sin(t), color=FAINT, lw=1.0)
        circles = [
            np.stack([np.cos(t) * np.cos(h), np.sin(t) * np.cos(h), np.sin(h) + 0 * t], axis=-1)
            for h in np.radians([-60, -30, 0, 30, 60])
        ] + [
            np.stack([np.cos(t) * np.cos(h), np.cos(t) * np.sin(h), np.sin(t)], axis=-1)
            for h in np.radians([0, 30, 60, 90, 120, 150])
        ]
        for circle in circles:
            ax.plot(*np.where((circle @ eye > 0)[:, None], flat(circle), np.nan).T,
                    color=FAINT, lw=0.4, alpha=0.8)  # fmt: skip
        _bare(ax)

    return View(manifold, flat, ground, lambda x: x @ eye >= 0)


def _disc(ax: Axes) -> None:
    t = np.linspace(0, 2 * np.pi, 400)
    ax.fill(np.cos(t), np.sin(t), color=FAINT, alpha=0.07, lw=0)
    ax.plot(np.cos(t), np.sin(t), color=FAINT, lw=1.0)
    for distance in (1, 2, 3):  # circles that far from the middle
        r = np.tanh(distance / 2)
        ax.plot(r * np.cos(t), r * np.sin(t), color=FAINT, lw=0.4, alpha=0.8)
    _bare(ax)


def _triangle(ax: Axes) -> None:
    ax.fill(*CORNERS.T, color=FAINT, alpha=0.07, lw=0)
    ax.fill(*CORNERS.T, fill=False, edgecolor=FAINT, lw=1.0)
    for share in (0.25, 0.5, 0.75):
        for i in range(3):
            ends = np.zeros((2, 3))
            ends[:, i] = share
            ends[0, i - 1] = ends[1, i - 2] = 1 - share
            ax.plot(*(ends @ CORNERS).T, color=FAINT, lw=0.4, alpha=0.8)
    for (x, y), which, side in zip(
        CORNERS + np.array([[0.06, 0.0], [-0.02, 0.0], [0.02, 0.0]]),
        ("1st", "2nd", "3rd"),
        ("left", "right", "left"),
        strict=True,
    ):
        ax.text(x, y, f"all {which}", ha=side, va="center", fontsize="small")
    _bare(ax)


def _square(ax: Axes) -> None:
    ax.set_xlim(-np.pi, np.pi)
    ax.set_ylim(-np.pi, np.pi)
    ticks = np.pi * np.array([-1, -0.5, 0, 0.5, 1])
    ax.set_xticks(ticks, ["−π", "−π/2", "0", "π/2", "π"])
    ax.set_yticks(ticks, ["−π", "−π/2", "0", "π/2", "π"])
    ax.set_xlabel("1st angle, radians")
    ax.set_ylabel("2nd angle, radians")
    ax.set_aspect("equal")


def _plane(ax: Axes) -> None:
    ax.set_xlabel("1st coordinate")
    ax.set_ylabel("2nd coordinate")
    ax.set_aspect("equal", adjustable="datalim")


def _line(manifold: Manifold, middle: np.ndarray) -> View:
    """Signed distances to a point."""

    def flat(x: np.ndarray) -> np.ndarray:
        return manifold.to_coords(middle, manifold.log(middle, x))[..., 0]

    def ground(ax: Axes) -> None:
        ax.set_xlabel("duels")
        ax.set_ylabel(f"from the best point, {unit_of(manifold)}")

    return View(manifold, flat, ground, curved=False)


def _chart(manifold: Manifold, points: np.ndarray, middle: np.ndarray) -> View:
    """Seen from a point: directions and distances from it are true; most movement is in sight."""

    def coords(x: np.ndarray) -> np.ndarray:
        base = np.broadcast_to(middle, x.shape)
        return manifold.to_coords(base, manifold.log(base, x))

    c = coords(points)
    c = c[np.isfinite(c).all(axis=1)]
    _, _, directions = np.linalg.svd(c, full_matrices=len(c) < 2)
    main = directions[:2]

    def ground(ax: Axes) -> None:
        ax.set_xlabel(f"1st principal direction, {unit_of(manifold)}")
        ax.set_ylabel(f"2nd principal direction, {unit_of(manifold)}")
        ax.set_aspect("equal", adjustable="datalim")

    return View(manifold, lambda x: coords(x) @ main.T, ground, curved=False)


def _bare(ax: Axes) -> None:
    """No ticks or frame: what is drawn has no axes; room for corners and their names."""
    ax.set_aspect("equal")
    ax.axis("off")
    ax.margins(0.04)


def title(what: str, manifold: Manifold) -> str:
    """What is drawn, and where."""
    return f"{what}, {name_of(manifold)}"
