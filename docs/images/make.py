"""Pictures of the tutorials and of "Why it works", drawn by the package; each is one function.

python docs/images/make.py [FOLDER]   # by default where this file lies
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import geoduel as gd
import numpy as np
from geoduel.oracles.people import Person
from geoduel.plotting import COLOURS, INK, band, convergence, panels
from geoduel.plotting.views import view_on

FAINT = "#9aa1aa"


def asked(
    f: Any, manifold: gd.Manifold, start: Any, **settings: Any
) -> tuple[gd.Result, list[Any]]:
    """A run and the pairs it asked about; the monitor records the best points."""
    pairs: list[Any] = []

    def oracle(x: Any, y: Any) -> int:
        pairs.append((x.copy(), y.copy()))
        return int(np.sign(f(x) - f(y)))

    result = gd.minimize(oracle, manifold, start, rng=0, monitor=np.copy, **settings)
    return result, pairs


def geodesic(manifold: gd.Manifold, x: Any, y: Any) -> np.ndarray:
    """Points on the way from x to y."""
    v = manifold.log(x, y)
    return np.array([manifold.exp(x, t * v) for t in np.linspace(0, 1, 20)])


def draw_search(
    axis: Any, manifold: gd.Manifold, goal: Any, start: Any, flat: Any
) -> Any:
    """Duels in grey, the way of the best point in colour, the optimum as a star."""
    result, pairs = asked(lambda x: manifold.dist(x, goal), manifold, start, budget=200)
    for x, y in pairs:
        axis.plot(*flat(geodesic(manifold, x, y)).T, color=FAINT, lw=0.7, alpha=0.7)
    way = flat(np.array(result.history.monitor))
    axis.plot(*way.T, ".-", color=COLOURS[1], ms=5, lw=1.6)
    axis.plot(*flat(np.asarray(goal)[None]).T, "*", color=COLOURS[0], ms=13)
    axis.set_aspect("equal")
    axis.axis("off")
    return result


# A view of the globe: which way is right, and which is up.
RIGHT, UP = np.array([0.8, 0.6, 0.0]), np.array([-0.24, 0.32, 0.91651514])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])


def from_outside(x: np.ndarray) -> np.ndarray:
    """The globe seen from far away."""
    return np.stack([x @ RIGHT, x @ UP], axis=-1)


def draw_globe(axis: Any) -> None:
    """Draw the outline, and circles of latitude on the near side."""
    t = np.linspace(0, 2 * np.pi, 400)
    axis.plot(np.cos(t), np.sin(t), color=FAINT, lw=0.8)
    near = np.cross(RIGHT, UP)
    for latitude in np.radians([-60, -30, 0, 30, 60]):
        flat = np.stack([np.cos(t), np.sin(t)], axis=-1) * np.cos(latitude)
        circle = np.column_stack([flat, np.full_like(t, np.sin(latitude))])
        shown = np.where((circle @ near > 0)[:, None], from_outside(circle), np.nan)
        axis.plot(*shown.T, color=FAINT, lw=0.4)


def quartiles(runs: list[Any]) -> np.ndarray:
    """The lower quartile, the median and the upper quartile of curves."""
    return np.percentile(np.array(runs), [25, 50, 75], axis=0)


def first_duel() -> Any:
    """The run of the first tutorial."""
    globe, start = gd.Sphere(3), np.array([0.6, -0.8, 0.0])
    home = globe.to_manifold(np.array([1.0, 2.0, 2.0]))
    with panels(1, 2, width=8.5, height=3.6) as (figure, axes):
        left, right = axes[0]
        draw_globe(left)
        draw_search(left, globe, home, start, from_outside)
        left.set_title("The way to the hidden place")
        result, _ = asked(lambda x: globe.dist(x, home), globe, start)
        gaps = [globe.dist(x, home) for x in result.history.monitor]
        right.semilogy(result.history.duels, np.maximum(gaps, 1e-16), color=COLOURS[1])
        right.set_title("Distance to it, in radians")
        right.set_xlabel("duels")
    return figure


def manifolds() -> Any:
    """Three runs of the same method."""
    with panels(1, 3, width=9.0, height=3.3) as (figure, axes):
        sphere, simplex, plane = axes[0]
        draw_globe(sphere)
        globe = gd.Sphere(3)
        home = globe.to_manifold(np.array([1.0, 2.0, 2.0]))
        draw_search(sphere, globe, home, np.array([0.6, -0.8, 0.0]), from_outside)
        sphere.set_title("Sphere(3)")
        simplex.fill(*CORNERS.T, fill=False, edgecolor=FAINT, lw=0.8)
        goal, start = np.array([0.1, 0.3, 0.6]), np.array([0.7, 0.2, 0.1])
        draw_search(simplex, gd.Simplex(3), goal, start, lambda w: w @ CORNERS)
        simplex.set_title("Simplex(3)")
        disc = gd.Hyperbolic(2)
        t = np.linspace(0, 2 * np.pi, 400)
        plane.plot(np.cos(t), np.sin(t), color=FAINT, lw=0.8)
        goal, start = (
            disc.from_poincare(np.array(p)) for p in ([0.5, 0.6], [-0.7, 0.1])
        )
        draw_search(plane, disc, goal, start, disc.to_poincare)
        plane.set_title("Hyperbolic(2), Poincaré's disc")
    return figure


def noise(runs: int = 12) -> Any:
    """Distance against duels, by the share of wrong answers."""
    sphere, goal, start = gd.Sphere(4), np.eye(4)[0], np.array([0.0, 0.6, 0.8, 0.0])
    clean = gd.from_objective(lambda x: -x @ goal)
    duels = np.arange(20, 601, 10)
    with panels(1, 1, width=7.0, height=3.6) as (figure, axes):
        axis = axes[0, 0]
        for flip, colour in ((0.0, COLOURS[2]), (0.1, COLOURS[1]), (0.3, COLOURS[0])):
            gaps = []
            for seed in range(runs):
                noisy = gd.Noisy(clean, flip=flip, rng=100 + seed)
                way = gd.minimize(
                    noisy, sphere, start, budget=600, rng=seed,
                    monitor=lambda x: sphere.dist(x, goal),
                ).history  # fmt: skip
                at = np.searchsorted(way.duels, duels, side="right") - 1
                gaps.append(np.maximum(np.array(way.monitor)[at], 1e-9))
            band(
                axis,
                duels,
                *quartiles(gaps),
                colour=colour,
                label=f"{flip:.0%} of answers wrong",
            )
        axis.set_yscale("log")
        axis.set_xlabel("duels")
        axis.set_title("Distance to the optimum, in radians")
        axis.legend()
    return figure


def people(runs: int = 12) -> Any:
    """What is left after so many answers, and what the study says is left."""
    mixes = gd.Simplex(3)
    left, said = [], []
    for seed in range(runs):
        favourite = np.random.default_rng(seed).dirichlet(3 * np.ones(3))
        person = Person(mixes, favourite, rng=seed, jnd=0.03, lapse=0.02)
        study = gd.create_study(mixes, rng=seed)
        left.append([])
        said.append([])
        for _ in range(40):
            duel = study.ask()
            study.tell(duel, person.rate(duel))
            left[-1].append(float(mixes.dist(study.recommend(), favourite)))
            said[-1].append(study.uncertainty() or np.nan)
    with panels(1, 1, width=7.0, height=3.6) as (figure, axes):
        axis, answers = axes[0, 0], np.arange(1, 41)
        label = "stated: four people in five are within"
        band(
            axis, answers, *quartiles(said), colour=COLOURS[1], label=label, style="--"
        )
        band(
            axis,
            answers,
            *quartiles(left),
            colour=COLOURS[0],
            label="distance to the favourite",
        )
        axis.set_yscale("log")
        axis.set_xlabel("answers")
        axis.set_title("Twelve simulated people")
        axis.legend()
    return figure


def workers(dimensions: tuple[int, ...] = (4, 8, 16, 32)) -> Any:
    """Rounds against workers."""
    with panels(1, 1, width=7.0, height=3.6) as (figure, axes):
        axis = axes[0, 0]
        for d, colour in zip(dimensions, COLOURS[1:], strict=False):
            goal = np.eye(d + 1)[0]
            oracle = gd.from_objective(lambda x, goal=goal: -x @ goal)
            counts = [2**k for k in range(7)]
            rounds = [
                gd.minimize(
                    oracle, gd.Sphere(d + 1), np.full(d + 1, (d + 1) ** -0.5),
                    method=gd.DuelNewton(parallel=k, x_tol=1e-3), rng=0,
                ).rounds
                for k in counts
            ]  # fmt: skip
            axis.loglog(
                counts, rounds, "o-", color=colour, label=f"{d} dimensions", base=2
            )
        axis.set_xticks(counts, [str(k) for k in counts])
        axis.set_yticks(ticks := [2**k for k in range(4, 10)], [str(k) for k in ticks])
        axis.set_xlabel("workers")
        axis.set_title("Rounds of questions until a thousandth of a radian")
        axis.legend()
    return figure


def explain_geodesic() -> Any:
    """A tangent vector, and the geodesic that it begins."""
    globe, x = gd.Sphere(3), np.array([0.35, -0.85, 0.4])
    x = globe.to_manifold(x)
    v = 1.1 * globe.to_tangent(x, np.array([0.9, 0.35, 0.6]))
    with panels(1, 1, width=4.6, height=3.6) as (figure, axes):
        axis = axes[0, 0]
        view = view_on(axis, globe, np.stack([x, globe.exp(x, v)]))
        frame = globe.from_coords(
            x, 0.55 * np.array([[1, 1], [1, -1], [-1, -1], [-1, 1.0]])
        )
        axis.fill(*view.flat(x + frame).T, color=COLOURS[5], alpha=0.25, lw=0)
        way = globe.exp(x, np.linspace(0, 1, 60)[:, None] * v)
        axis.plot(*view.flat(way).T, color=COLOURS[1], lw=2.0)
        tip = view.flat((x + v)[None])[0]
        foot, end = view.flat(np.stack([x, way[-1]]))
        arrow = {
            "arrowstyle": "-|>",
            "color": COLOURS[0],
            "lw": 1.6,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        axis.annotate("", tip, foot, arrowprops=arrow)
        axis.plot(*np.stack([foot, end]).T, "o", color=COLOURS[1], ms=5)
        for word, place, shift in (
            ("x", foot, (-11, -9)),
            ("v", tip, (6, 3)),
            ("Exp(x, v)", end, (8, -11)),
        ):
            axis.annotate(
                word, place, shift, textcoords="offset points", style="italic"
            )
        axis.set_title("A tangent plane, and a geodesic")
    return figure


def explain_bits() -> Any:
    """Where the optimum may still be, answer by answer: half of it goes each time."""
    side, goal = np.linspace(-1, 1, 300), np.array([0.35, -0.25])
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    rng, possible = np.random.default_rng(4), np.ones(grid.shape[:2], bool)
    with panels(1, 4, width=9.6, height=2.7) as (figure, axes):
        panes = dict(zip((1, 2, 4, 8), axes[0], strict=True))
        for count in range(1, 9):
            left = grid[possible]
            centre = left.mean(axis=0)  # a cut through the middle of what is left
            u = np.linalg.svd(left - centre, full_matrices=False)[2][
                0
            ] + 0.2 * rng.normal(size=2)
            better = (
                1
                if np.linalg.norm(centre + u - goal) < np.linalg.norm(centre - u - goal)
                else -1
            )
            possible &= better * (grid - centre) @ u > 0
            if count in panes:
                axis = panes[count]
                axis.contourf(
                    side, side, possible, [0.5, 1.5], colors=[COLOURS[5]], alpha=0.6
                )
                axis.plot(*goal, "*", color=COLOURS[0], ms=10)
                axis.set_title(f"{count} answer{'s' * (count > 1)}")
                axis.set(
                    xlim=(-1, 1), ylim=(-1, 1), aspect="equal", xticks=[], yticks=[]
                )
    return figure


def explain_speed(runs: int = 10) -> Any:
    """The distance that is left: of two methods, and the least that answers of a bit allow."""
    sphere = gd.Sphere(6)
    goal, start = np.eye(6)[0], sphere.to_manifold(np.array([1.0, 1, 1, 1, 1, 1]))
    scales = np.array([1.0, 1, 2, 4, 8, 16])

    def f(x: np.ndarray) -> float:
        return float((scales * (x - goal) ** 2).sum())

    settings: dict[str, dict[str, Any]] = {
        "RDNGD, of the paper": {
            "method": "rdngd",
            "iterations": 300,
            "step_size": gd.cosine(0.3, 1e-4),
            "radius": 1e-5,
        },
        "the default": {"budget": 600},
    }
    found = {
        name: [
            gd.minimize(
                gd.from_objective(f), sphere, start, rng=seed,
                monitor=lambda x: sphere.dist(x, goal), **how,
            )
            for seed in range(runs)
        ]
        for name, how in settings.items()
    }  # fmt: skip
    with panels(1, 1, width=7.0, height=3.6) as (figure, axes):
        axis = convergence(found, ax=axes[0, 0])
        duels = np.arange(0, 150)
        least = sphere.dist(start, goal) * 2.0 ** (-duels / sphere.dim)
        axis.plot(duels, least, "--", color=INK, lw=1.2, label="what bits allow")
        axis.set_yscale("log")
        axis.set(
            ylim=(1e-9, 3),
            ylabel="",
            title="Distance to the optimum in five dimensions, radians",
        )
        axis.legend()
    return figure


def explain_noise() -> Any:
    """How often an unsure judge is right, and what a wrong share costs."""
    with panels(1, 2, width=8.4, height=3.0) as (figure, axes):
        left, right = axes[0]
        apart = np.linspace(0, 4, 200)
        left.plot(apart, 100 / (1 + np.exp(-np.log(3) * apart)), color=COLOURS[1])
        left.plot([1, 1, 0], [50, 75, 75], ":", color=FAINT)
        left.set(title="Right answers of an unsure judge", ylim=(50, 102))
        left.set(xlabel="difference, in just-noticeable ones", ylabel="%")
        wrong = np.linspace(0.0, 0.45, 200)
        bits = 1 + sum(p * np.log2(np.maximum(p, 1e-300)) for p in (wrong, 1 - wrong))
        right.plot(100 * wrong, 1 / bits, color=COLOURS[0])
        right.set(
            title="Duels for the worth of one",
            xlabel="answers that are wrong, %",
            yscale="log",
        )
        right.set_yticks(ticks := [1, 2, 5, 10, 20, 50, 100], [str(t) for t in ticks])
    return figure


PICTURES = {
    "explain-bits": explain_bits,
    "explain-geodesic": explain_geodesic,
    "explain-noise": explain_noise,
    "explain-speed": explain_speed,
    "learn-first-duel": first_duel,
    "learn-manifolds": manifolds,
    "learn-noise": noise,
    "learn-people": people,
    "learn-workers": workers,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, draw in PICTURES.items():
        draw().savefig(folder / f"{name}.png", dpi=130, facecolor="white")
        print(folder / f"{name}.png")
