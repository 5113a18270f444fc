"""How the linear minimiser amplifies noise (the appendix on the Frank-Wolfe search direction)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...domains.ball import Ball
from ...manifolds import Euclidean
from ...optimize import minimize
from ...oracles.objective import from_objective
from ...plotting import COLOURS, band, panels
from ...schedules import cosine
from ..claims import Claim, above, at_least, at_most, between
from ..estimates import Estimate, exact, median, median_band
from ..experiment import Experiment, Outcome, Plan, Task, evenly
from ..report import Figure, Section, Table
from .lemmas import directions

__all__ = ["AMPLIFICATION"]

D = 10
DRAWN = 40  # noisy directions in the picture
SHOWN = (4.0, 1.0)  # its radii, as in the paper's figure: large and small
STEP = 0.1  # η of the projected step that the linear minimiser is compared with
RADII = (1.0, 2.0, 4.0, 8.0)
BATCHES = (1, 3, 10, 30, 100, 300)
DRAWS = 2_000
DUELS = 20_000
CONTENDERS = ("RDFW, M = 1", "RDFW, M = 30", "RDFW, M = 2d(k+1)", "RDNGD")


def _center() -> np.ndarray:
    return np.full(D, 0.5 / math.sqrt(D))


def _objective(x: Any) -> Any:
    return _bowl(_center(), x)


def _bowl(center: np.ndarray, x: Any) -> Any:
    return 0.5 * ((x - center) ** 2).sum(axis=-1)


class Amplification(Experiment):
    """Search points and steps under noise, and runs that feel it."""

    name, title, version = "amplification", "Theory made visible: the noise that RDFW amplifies", 2

    def tasks(self, plan: Plan) -> list[Task]:
        draws, duels = (DRAWS // 10, DUELS // 10) if plan.quick else (DRAWS, DUELS)
        return [
            *(
                Task(f"noise: r = {r:g}, M = {m}", {"r": r, "M": m, "draws": draws, "seed": 5})
                for r in RADII
                for m in (BATCHES if r == 2 else (10,))
            ),
            *(
                Task(
                    f"run: {name}, r = {r:g}",
                    {"r": r, "method": name, "duels": duels, "seed": seed},
                    turn=seed,
                )
                for r in RADII
                for name in CONTENDERS
                for seed in range(plan.seeds)
            ),
        ]

    def run(self, settings: dict[str, Any]) -> dict[str, Any]:
        space = Euclidean(D)
        ball = Ball(space, np.zeros(D), settings["r"])
        if "method" in settings:
            return _run(space, ball, settings)
        return _search_points(space, ball, settings)

    def section(self, plan: Plan, outcomes: Sequence[Outcome]) -> Section:
        points = {
            (o.task.settings["r"], o.task.settings["M"]): o.record
            for o in outcomes
            if "M" in o.task.settings
        }
        runs: dict[tuple[float, str], list[dict[str, Any]]] = {}
        for o in outcomes:
            if "method" in o.task.settings:
                s = o.task.settings
                runs.setdefault((s["r"], s["method"]), []).append(o.record)
        rows = [
            [f"{r:g}", *(_end(runs[r, m]).text if (r, m) in runs else "" for m in CONTENDERS)]
            for r in RADII
        ]
        caption = (
            f"f = |x − c|²/2 on a ball of radius r in R^{D}, h̄ from M duels. Left: root mean "
            "square distance between the search points for h̄ and for the true gradient, at M = 10: "
            f"it grows with r, while a projected step of length η = {STEP:g} is off by a constant. "
            "Middle: both fall with M, at r = 2. Right: runs at r = 4."
        )
        return Section(
            self.name,
            self.title,
            [
                "A projection shortens distances, so an error of the direction moves the next "
                "iterate by at most η times it. The linear minimiser picks a boundary point, and "
                "an error moves it by the diameter times the angle; hence the batches of "
                "Theorem 4.1, and none in RDNGD.",
                Figure("search-points", _drawing(), PICTURE),
                Figure(self.name, _figure(points, runs), caption),
                Table(
                    ["radius r", *CONTENDERS],
                    rows,
                    "Gap after the same number of duels, medians with their 90 % intervals.",
                    name="amplification",
                ),
            ],
            claims=_claims(points, runs),
            rows=[{"r": r, "M": m, **record} for (r, m), record in points.items()],
        )


def _search_points(space: Euclidean, ball: Ball, settings: dict[str, Any]) -> dict[str, Any]:
    """Distances of what h̄ and the true gradient lead to, from a point on half the radius."""
    rng = np.random.default_rng(settings["seed"])
    x = np.zeros(D)
    x[0] = 0.5 * settings["r"]
    g = x - _center()
    points = np.broadcast_to(x, (settings["draws"], D))
    h = directions(space, _objective, points, 1e-4, rng, settings["M"])
    true = np.broadcast_to(g / np.linalg.norm(g), h.shape)
    aim = ball.linear_minimizer(points, h) - ball.linear_minimizer(points, true)
    unit = h / np.linalg.norm(h, axis=-1, keepdims=True)
    step = ball.project(points - STEP * unit) - ball.project(points - STEP * true)
    return {"search": _rms(aim), "step": _rms(step), "noise": _rms(unit - true)}


def _rms(v: np.ndarray) -> float:
    return float(np.sqrt((v * v).sum(axis=-1).mean()))


def _run(space: Euclidean, ball: Ball, settings: dict[str, Any]) -> dict[str, Any]:
    method, duels = settings["method"], settings["duels"]
    x0 = np.zeros(D)
    x0[0] = -0.9
    if method == "RDNGD":
        options: dict[str, Any] = {
            "method": "rdngd",
            "iterations": duels // 2,
            "step_size": cosine(STEP, 1e-6),
        }
    else:
        batch: Any = {"RDFW, M = 1": 1, "RDFW, M = 30": 30}.get(method, _growing)
        options = {"method": "rdfw", "budget": duels, "batch": batch}
    result = minimize(
        from_objective(_objective, vectorized=True),
        space,
        x0,
        domain=ball,
        radius=1e-6,
        rng=np.random.default_rng([settings["seed"], CONTENDERS.index(method)]),
        monitor=lambda x: float(_objective(x)),
        **options,
    )
    h = result.history
    keep = evenly(len(h.duels), 300)
    return {
        "duels": [h.duels[i] for i in keep],
        "gap": [float(h.monitor[i]) for i in keep],
        "final": float(_objective(result.x)),
    }


def _growing(k: int) -> int:
    return 2 * D * (k + 1)


def _end(records: Sequence[dict[str, Any]]) -> Estimate:
    return median([r["final"] for r in records])


def _claims(
    points: dict[tuple[float, int], dict[str, Any]],
    runs: dict[tuple[float, str], list[dict[str, Any]]],
) -> list[Claim]:
    """What appendix H says."""
    where, missing = ("appendix H",), "not run"
    ten = {r: points[r, 10] for r in RADII if (r, 10) in points}
    ratios = {
        f"r = {r:g}": median(
            [
                a["final"] / b["final"]
                for a, b in zip(runs[r, CONTENDERS[0]], runs[r, "RDNGD"], strict=True)
            ]
        )
        for r in RADII
        if len(runs.get((r, CONTENDERS[0]), ())) == len(runs.get((r, "RDNGD"), "no")) > 0
    }
    return [
        Claim(
            where,
            "A projected step is off by at most η|g̃ − g|",
            "deviation of the step over η|g̃ − g|, root mean squares",
            at_most(1 + 1e-9),
            {f"r = {r:g}": exact(p["step"] / (STEP * p["noise"])) for r, p in ten.items()},
            missing=missing,
        ),
        Claim(
            (*where, "figure 6"),
            "Noise moves the search point by the order of the diameter",
            "deviation of the search point over the diameter, M = 10",
            at_least(0.1),
            {f"r = {r:g}": exact(p["search"] / (2 * r)) for r, p in ten.items()},
            missing=missing,
        ),
        Claim(
            (*where, "figure 6"),
            "A smaller diameter mitigates the deviation, at constant noise",
            "deviation of the search point at r = 1 over that at r = 8",
            between(0, 0.25),
            {"M = 10": exact(ten[RADII[0]]["search"] / ten[RADII[-1]]["search"])}
            if len(ten) == len(RADII)
            else {},
            missing=missing,
        ),
        Claim(
            where,
            "Without batches RDFW is much less stable than projected steps",
            "final gap of RDFW with M = 1 over RDNGD's, after as many duels",
            above(10),
            ratios,
            missing=missing,
        ),
    ]


PICTURE = (
    f"The paper's figure 6 again, in the plane: the iterate (black), {DRAWN} directions h̄ from ten "
    "duels each, and where they lead. Circles: search points of the linear minimiser; dots: "
    f"projected steps of length η = {STEP:g}; stars: both for the true direction."
)


def _drawing() -> Any:
    """Search points and steps for true and noisy directions, on a wide and on a narrow disc."""
    space, rng = Euclidean(2), np.random.default_rng(6)
    c = np.array([0.35, 0.2])
    with panels(1, len(SHOWN), height=4.6) as (figure, axes):
        for axis, r in zip(axes[0], SHOWN, strict=True):
            ball = Ball(space, np.zeros(2), r)
            x = np.array([0.5 * r, -0.3 * r])
            points = np.broadcast_to(x, (DRAWN, 2))
            h = directions(
                space, lambda y: 0.5 * ((y - c) ** 2).sum(axis=-1), points, 1e-4, rng, 10
            )
            true = (x - c) / np.linalg.norm(x - c)
            noisy = h / np.linalg.norm(h, axis=-1, keepdims=True)
            t = np.linspace(0, 2 * math.pi, 200)
            axis.plot(r * np.cos(t), r * np.sin(t), color="#808890", lw=1.1)
            found = ball.linear_minimizer(points, noisy)
            steps = ball.project(x - STEP * noisy)
            axis.plot(*found.T, "o", ms=5, mfc="none", color=COLOURS[0], label="search points")
            axis.plot(*steps.T, ".", ms=4, color=COLOURS[1], label="projected steps")
            z = ball.linear_minimizer(x, true)
            axis.plot(*z, "*", ms=13, color=COLOURS[0], mec="white", mew=0.6)
            axis.plot(*ball.project(x - STEP * true), "*", ms=9, color=COLOURS[1], mec="white")
            axis.plot(*x, "ko", ms=5)
            reach = (-1.1 * SHOWN[0], 1.1 * SHOWN[0])
            axis.set(title=f"radius {r:g}", aspect="equal", xlim=reach, ylim=reach)
        axes[0, 1].legend(loc="upper right")
    return figure


def _figure(
    points: dict[tuple[float, int], dict[str, Any]],
    runs: dict[tuple[float, str], list[dict[str, Any]]],
) -> Any:
    with panels(1, 3, height=3.7) as (figure, axes):
        left, middle, right = axes[0]
        radii = [r for r in RADII if (r, 10) in points]
        batches = [m for m in BATCHES if (2.0, m) in points]
        for key, label, colour in (
            ("search", "search point of RDFW", COLOURS[0]),
            ("step", "step of RDNGD", COLOURS[1]),
        ):
            left.plot(radii, [points[r, 10][key] for r in radii], "o-", color=colour, label=label)
            middle.plot(batches, [points[2.0, m][key] for m in batches], "o-", color=colour)
        left.set(
            xscale="log", yscale="log", xlabel="radius r", title="deviation against the radius"
        )
        left.set_xticks(RADII, [f"{r:g}" for r in RADII])
        left.minorticks_off()
        left.legend()
        middle.set(
            xscale="log", yscale="log", xlabel="duels M", title="deviation against the batch"
        )
        for hue, name in zip((0, 4, 3, 1), CONTENDERS, strict=True):
            records = runs.get((4.0, name))
            if not records:
                continue
            length = min(len(r["gap"]) for r in records)
            gaps = np.array([r["gap"][:length] for r in records])
            x = np.median([r["duels"][:length] for r in records], axis=0)
            band(right, x[1:], *median_band(gaps[:, 1:]), colour=COLOURS[hue], label=name)
        right.set(xscale="log", yscale="log", xlabel="duels", title="f − f* of runs, r = 4")
        right.legend()
    return figure


AMPLIFICATION = Amplification()
