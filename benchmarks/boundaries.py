"""Whether methods find optima on the boundary of a set, end there, and say nothing false.

Each place is a manifold and a set that claim each other, with a function whose optimum is known and
lies on the boundary: the nearest point of a ball to a point outside, a point of a polytope with a
slope in its normal cone, a bound of an interval of matrices. Some sets have no interior, some no
nearest points, some are one point, and of some the infimum is not in the set. Every method that
takes domains is run there.

A run is wrong if it has an error, is not back in time, asks about a point off the manifold, or out
of the set where a method says that it asks none, ends outside, or states an end that is none.

    python benchmarks/boundaries.py [--full] [--save] [--seeds 24] [--runs 60] [--minutes 9]
                                    [--methods NAME ...] [--places NAME ...] [--rows FILE]

The runs are drawn without order from all cases: 60, or with ``--full`` all, which takes hours. As
many as there is time for are a sample of the same matrix.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import math
import random
import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

from _results import Results
from reliability_methods import Endless, arguments, rows_of, time_limit

import numpy as np

import geoduel as gd
from geoduel.errors import ArgumentError, GeoduelWarning
from geoduel.methods.named import METHODS

RADIUS, SECONDS = 0.3, 30.0
FIRST_SEED = 500
DUELS = {"ideal-point": 12, "ideal-direction": 20, "bisection": 20}  # slow, and meant for people
BUDGET = 200
REFUSE = ("order-acd",)  # takes no domain, and says so
OUTSIDE = ("rdngd", "rrdngd", "rdfw")  # whose probes may lie outside by their radius
OWN = ("auto", "duel-newton", "duel-csa", "block")  # with all seeds; others with every fourth
ENDS = ("resolution", "x_tol")  # which say that the optimum is near
CLOSE = 0.02  # share of the way that may be left where an end is stated


class Place(NamedTuple):
    """A set and a function on it, with the share of the way to the optimum that is left at x."""

    manifold: gd.Manifold
    domain: gd.Domain | None
    x0: Any
    value: Callable[[Any], float]
    left: Callable[[Any], float]


Make = Callable[[np.random.Generator], Place]


# -- balls -----------------------------------------------------------------------------------------


def to_point(manifold: gd.Manifold, x0: Any, best: Any) -> Callable[[Any], float]:
    """Distance to the optimum as a share of that from the start."""
    whole = float(manifold.dist(x0, best))
    whole = whole if whole > 1e-6 else 1.0  # it starts there
    return lambda x: float(manifold.dist(np.asarray(x, best.dtype), best)) / whole


def ball(manifold: gd.Manifold, radius: float = RADIUS, beyond: float = 1.5) -> Make:
    """Towards a point outside of a ball, from beside its boundary."""

    def make(rng: np.random.Generator) -> Place:
        center = manifold.random_point(rng)
        out, aside = (manifold.unit_tangent(rng, center) for _ in range(2))
        domain = gd.Ball(manifold, center, radius)
        ideal, best = (manifold.exp(center, r * radius * out) for r in (beyond, 1.0))
        x0 = domain.project(manifold.exp(center, 0.999 * radius * aside))

        def value(x: Any) -> float:
            return float(manifold.dist(x, ideal.astype(x.dtype)))

        return Place(manifold, domain, x0, value, to_point(manifold, x0, best))

    return make


def tested(manifold: gd.Manifold) -> Make:
    """The same, where the ball is known by a test alone."""

    def make(rng: np.random.Generator) -> Place:
        found = ball(manifold)(rng)
        inside: Any = found.domain
        center = inside.center
        test = gd.Where(manifold, lambda x: bool(inside.contains(x)), inside=center)
        return found._replace(domain=test)

    return make


def two_balls(manifold: gd.Manifold) -> Make:
    """The same, where the ball lies in another one."""

    def make(rng: np.random.Generator) -> Place:
        found = ball(manifold)(rng)
        inner: Any = found.domain
        outer = gd.Ball(manifold, inner.center, 2 * RADIUS)
        return found._replace(domain=gd.Intersection(inner, outer))

    return make


# -- convex sets: an optimum is a point with a slope in its normal cone ---------------------------


def convex(domain: gd.Domain, draw: Callable[[np.random.Generator], tuple[Any, Any]]) -> Make:
    """A quadratic whose optimum is the point drawn, with the slope against the normal drawn."""

    def make(rng: np.random.Generator) -> Place:
        best, normal = draw(rng)
        n = len(best)
        turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
        hessian = (turn * np.geomspace(1, 10, n)) @ turn.T
        x0 = domain.project(best + rng.standard_normal(n))

        def value(x: Any) -> float:
            step = np.asarray(x, float) - best
            return float(0.5 * step @ hessian @ step - normal @ step)

        space = gd.Euclidean(n)
        return Place(space, domain, x0, value, to_point(space, x0, best))

    return make


def on_box(low: Any, high: Any, fixed: int = 2) -> Callable[[np.random.Generator], tuple[Any, Any]]:
    """A point of a box, at one of the bounds in so many coordinates."""
    low, high = np.asarray(low, float), np.asarray(high, float)

    def draw(rng: np.random.Generator) -> tuple[Any, Any]:
        best = rng.uniform(np.maximum(low, -1), np.minimum(high, 1))
        normal = np.zeros(len(low))
        bounded = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
        for i in rng.permutation(bounded)[:fixed]:
            upper = np.isfinite(high[i]) and (rng.random() < 0.5 or not np.isfinite(low[i]))
            best[i] = high[i] if upper else low[i]
            normal[i] = (1 if upper else -1) * rng.uniform(0.2, 2)
        return best, normal

    return draw


def on_simplex(n: int, inside: bool) -> Callable[[np.random.Generator], tuple[Any, Any]]:
    """A point of the probability simplex, inside of it or of one of its faces."""

    def draw(rng: np.random.Generator) -> tuple[Any, Any]:
        best, normal = rng.dirichlet(np.full(n, 2.0)), np.full(n, rng.normal())
        if not inside:
            zero = rng.permutation(n)[: rng.integers(1, n)]
            best[zero] = 0
            best /= best.sum()
            normal[zero] -= rng.uniform(0.2, 2, len(zero))
        return best, normal

    return draw


def on_cross(n: int) -> Callable[[np.random.Generator], tuple[Any, Any]]:
    """A point of a facet, an edge or a vertex of the ball of the 1-norm."""

    def draw(rng: np.random.Generator) -> tuple[Any, Any]:
        held = rng.permutation(n)[: rng.integers(1, n + 1)]
        sign = rng.choice([-1.0, 1.0], n)
        best = np.zeros(n)
        best[held] = sign[held] * rng.dirichlet(np.full(len(held), 2.0))
        normal = rng.uniform(-0.8, 0.8, n)
        normal[held] = sign[held]
        return best, normal

    return draw


def on_sphere(n: int, half: bool = False) -> Callable[[np.random.Generator], tuple[Any, Any]]:
    """A point of the unit sphere; with ``half``, of its part in the positive orthant."""

    def draw(rng: np.random.Generator) -> tuple[Any, Any]:
        best = rng.standard_normal(n)
        best = np.abs(best) if half else best
        best /= np.linalg.norm(best)
        return best, best * rng.uniform(0.2, 2)

    return draw


CUBE = np.zeros(3), np.ones(3)
FLAT = np.zeros(3), np.array([1.0, 1.0, 0.0])
HALF = np.array([0.0, -np.inf, -np.inf]), np.full(3, np.inf)
POINT = np.full(3, 0.3), np.full(3, 0.3)


# -- others ----------------------------------------------------------------------------------------


def matrices(upper: bool) -> Make:
    """The least trace of an interval of matrices, or the largest determinant: at its bounds."""

    def make(rng: np.random.Generator) -> Place:
        spd = gd.SPD(2)
        low = spd.random_point(rng)
        high = low + spd.random_point(rng)
        domain, best = gd.SPDInterval(low, high), high if upper else low
        x0 = domain.project((low + high) / 2)

        def value(x: Any) -> float:
            x = np.asarray(x, float)
            return -float(np.linalg.slogdet(x)[1]) if upper else float(np.trace(x))

        return Place(spd, domain, x0, value, to_point(spd, x0, best))

    return make


def parameters(mixed: bool) -> Make:
    """Named parameters whose optimum is at bounds: one of a log scale, one of a plain one."""

    def make(rng: np.random.Generator) -> Place:
        more = {"kind": ["a", "b", "c"], "layers": range(1, 9)} if mixed else {}
        place = gd.space(gain=(-12, 12), rate=gd.Interval(1e-4, 1, log=True), **more)
        sign, best = rng.choice([-1, 1]), ["a", "b", "c"][rng.integers(3)]

        def off(x: Any, rate: float = 0.0, gain: float = 12.0, layers: float = 8.0) -> float:
            """How far from these values, in units of the parameters."""
            p = place.manifold.unpack(x)
            most = abs(p["gain"] - sign * gain) / 12 + abs(np.log10(p["rate"]) - rate) / 4
            return most + (abs(p["layers"] - layers) / 8 + (p["kind"] != best) if mixed else 0.0)

        def value(x: Any) -> float:
            return off(x, 1.0, 20.0, 10.0)  # beyond the bounds

        start = {"gain": -sign * 3.0, "rate": 1e-2} | ({"layers": 2, "kind": "a"} if mixed else {})
        x0 = place.manifold.pack(start)
        whole = off(x0)
        return Place(place.manifold, place, x0, value, lambda x: off(x) / whole)

    return make


def factors(rng: np.random.Generator) -> Place:
    """A product with a set for each factor: a cap, and a box."""
    one, two = ball(gd.Sphere(3))(rng), convex(gd.Box(*CUBE), on_box(*CUBE))(rng)
    product = gd.Product(one.manifold, two.manifold)
    domain = gd.Space(product, [one.domain, two.domain])
    x0 = np.concatenate([one.x0, two.x0])

    def value(x: Any) -> float:
        return one.value(x[:3]) + two.value(x[3:])

    return Place(product, domain, x0, value, lambda x: max(one.left(x[:3]), two.left(x[3:])))


def open_half(rng: np.random.Generator) -> Place:
    """x₀ > 0, where x₀ has an infimum and no minimum."""
    plane, x0 = gd.Euclidean(2), np.array([1.0, rng.normal()])
    domain = gd.Where(plane, lambda x: bool(x[0] > 0), inside=np.array([1.0, 0.0]))

    def value(x: Any) -> float:
        return float(x[0] + x[1] ** 2)

    return Place(plane, domain, x0, value, to_point(plane, x0, np.zeros(2)))


def rim_of_the_simplex(rng: np.random.Generator) -> Place:
    """A linear function on the open simplex, whose infimum is at a vertex."""
    simplex, slope = gd.Simplex(3), rng.permutation([0.0, 0.5, 1.0])
    x0 = simplex.random_point(rng)

    def value(x: Any) -> float:
        return float(np.asarray(x, float) @ slope)

    return Place(simplex, None, x0, value, lambda x: np.sqrt(value(x) / value(x0)))


def rim_of_the_matrices(rng: np.random.Generator) -> Place:
    """Towards a singular matrix, which the Bures-Wasserstein metric reaches and does not hold."""
    spd = gd.SPD(2, metric="bures-wasserstein")
    x0, axis = spd.random_point(rng), rng.standard_normal(2)
    goal = np.outer(axis, axis)

    def value(x: Any) -> float:
        return float(np.sum((np.asarray(x, float) - goal) ** 2))

    return Place(spd, None, x0, value, lambda x: np.sqrt(value(x) / value(x0)))


def group(name: str, *manifolds: gd.Manifold) -> dict[str, Make]:
    return {f"{name}, {m}": ball(m) for m in manifolds}


PLACES: dict[str, dict[str, Make]] = {
    "ball": {
        **group("ball", gd.Euclidean(1), gd.Euclidean(2), gd.Sphere(2), gd.Sphere(3), gd.Torus(2)),
        **group("ball", gd.Hyperbolic(2), gd.Hyperbolic(5), gd.Simplex(3), gd.Rotations(2)),
        **group("ball", gd.Rotations(3), gd.SPD(2), gd.SPD(3), gd.SPD(2, metric="log-euclidean")),
        **group("ball", gd.SPD(2, metric="bures-wasserstein"), gd.Correlation(3), gd.Oblique(3, 2)),
        **group("ball", gd.Grassmann(3, 1), gd.Stiefel(3, 2), gd.ComplexSphere(2), gd.Unitary(2)),
        **group("ball", gd.SE(2), gd.Product(gd.Sphere(3), gd.Euclidean(2))),
        **group("ball", gd.Product(gd.SPD(2), gd.Hyperbolic(2)), gd.Power(gd.Euclidean(2), 2)),
        "hemisphere": ball(gd.Sphere(3), 1.5, 1.2),
        "wide ball, Hyperbolic(2)": ball(gd.Hyperbolic(2), 3.0, 1.2),
    },
    "ball known by a test": {f"test, {m}": tested(m) for m in (gd.Euclidean(2), gd.Sphere(3))},
    "intersection": {
        "two balls, sphere": two_balls(gd.Sphere(3)),
        "ball and box": convex(
            gd.Intersection(gd.L2Ball(3, 1.0), gd.Box(np.zeros(3), np.full(3, np.inf))),
            on_sphere(3, half=True),
        ),
    },
    "box": {
        "box": convex(gd.Box(*CUBE), on_box(*CUBE)),
        "corner": convex(gd.Box(*CUBE), on_box(*CUBE, fixed=3)),
        "half-space": convex(gd.Box(*HALF), on_box(*HALF)),
    },
    "balls of norms": {
        "L2Ball": convex(gd.L2Ball(3, 1.0), on_sphere(3)),
        "L1Ball": convex(gd.L1Ball(3, 1.0), on_cross(3)),
    },
    "interval of matrices": {"least trace": matrices(False), "largest det": matrices(True)},
    "factors": {
        "cap and box": factors,
        "parameters": parameters(False),
        "mixed parameters": parameters(True),
    },
    "no interior": {
        "simplex, inside": convex(gd.ProbabilitySimplex(3), on_simplex(3, True)),
        "simplex, faces": convex(gd.ProbabilitySimplex(4), on_simplex(4, False)),
        "flat box": convex(gd.Box(*FLAT), on_box(*FLAT)),
        "one point": convex(gd.Box(*POINT), on_box(*POINT)),
    },
    "infimum outside": {
        "open half-plane": open_half,
        "rim of Simplex(3)": rim_of_the_simplex,
        "rim of SPD(2), Bures-Wasserstein": rim_of_the_matrices,
    },
}


# -- runs ------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """What became of a run; ``wrong`` is empty where the method kept its word."""

    method: str
    kind: str
    place: str
    dtype: str
    seed: int
    end: str
    left: float | None  # None: not known
    seconds: float
    wrong: str


class _Left(Exception):
    """A point was asked about that is not where it may be."""


def watched(place: Place, method: str, dtype: Any) -> Any:
    """The function, which looks at each point, in the run's dtype, before it says its value."""
    m, domain = place.manifold, place.domain

    def value(x: Any) -> float:
        x = m.pack(x).astype(dtype) if isinstance(x, dict) else x
        try:
            m.check_point(x)
        except gd.errors.GeoduelError as error:
            raise _Left(f"asked about a point off the manifold: {error}") from None
        if domain is not None and method not in OUTSIDE and not bool(domain.contains(x)):
            off = float(domain.violation(x))
            raise _Left(f"asked about a point outside of the domain by {off:.2g}")
        return place.value(x)

    return gd.from_objective(value)


def duels_of(method: str, manifold: gd.Manifold) -> int:
    """The budget: less where a step of RDFW takes half a second, a minimiser found by numbers."""
    slow = method == "rdfw" and not manifold.closed_form
    return 20 if slow else DUELS.get(method, BUDGET)


def run(method: str, make: Make, dtype: Any, seed: int) -> tuple[str, float, str]:
    """How a run ends, the share of the way that is left, and what is wrong, if anything is."""
    place = make(np.random.default_rng([seed, 3]))
    m, domain = place.manifold, place.domain
    x0 = place.x0.astype(dtype)
    x0 = x0 if domain is None else domain.project(x0)
    budget = duels_of(method, m)
    try:
        with time_limit(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", GeoduelWarning)
            found = gd.minimize(
                watched(place, method, dtype),
                m,
                x0,
                method=method,
                domain=domain,
                budget=budget,
                rng=seed,
            )
    except Endless:
        return "endless", np.inf, f"not back after {SECONDS:.0f} s"
    except ArgumentError as error:
        before = not getattr(error, "result", None)  # a refusal asks nothing
        return "refused" if before else "ArgumentError", np.inf, "" if before else f"{error}"
    except Exception as error:
        cause = error.__cause__ if isinstance(error.__cause__, _Left) else error
        return type(error).__name__, np.inf, f"{cause}"
    x = m.pack(found.x).astype(dtype) if isinstance(found.x, dict) else found.x
    end, left = found.stop_reason, place.left(x)
    try:
        m.check_point(x)
    except gd.errors.GeoduelError as error:
        return end, left, f"{error}"
    if found.duels > budget:
        return end, left, f"{found.duels} duels asked, of {budget}"
    if not isinstance(found.x, dict) and x.dtype != dtype:
        return end, left, f"dtype is {x.dtype}"
    if domain is not None and not bool(domain.contains(x)):
        return end, left, f"outside of the domain by {float(domain.violation(x)):.2g}"
    if end == "diverges" and domain is None:  # the word for an infimum at the rim of a manifold
        return end, left, ""
    if end == "diverges" or (end in ENDS and not left < CLOSE):
        return end, left, f"a false end: {left:.2g} of the way is left"
    return end, left, ""


def cases(
    methods: Sequence[str] = tuple(METHODS), places: Sequence[str] = (), seeds: int = 24
) -> list[tuple[str, str, str, Any, int]]:
    """Method, kind of place, place, dtype and seed of all runs, in an order that is drawn."""
    found = [
        (method, kind, name, dtype, seed)
        for method in methods
        if method not in REFUSE
        for kind, made in PLACES.items()
        for name in made
        if not places or kind in places or name in places
        for dtype in (np.float64, np.float32)
        for seed in range(FIRST_SEED, FIRST_SEED + seeds, 1 if method in OWN else 4)
    ]
    random.Random(0).shuffle(found)
    return found


def row(case: tuple[str, str, str, Any, int]) -> Row:
    """One run; its end is "refused" where the method does not claim the place."""
    method, kind, name, dtype, seed = case
    began = time.process_time()
    end, left, wrong = run(method, PLACES[kind][name], dtype, seed)
    return Row(*label(case), end, left, time.process_time() - began, wrong)


def label(case: tuple[str, str, str, Any, int]) -> tuple[Any, ...]:
    """The entries of a row that say which run it is."""
    return *case[:3], np.dtype(case[3]).name, case[4]


def left_of(row: Row) -> float:
    return math.inf if row.left is None else row.left


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--runs", type=int, help="most runs; without --full 20")
    parser.add_argument("--places", nargs="*", default=[], help="names of places, or of kinds")
    given = parser.parse_args()
    runs = given.runs or (None if given.full else 20)
    results = Results(__file__, given.save, seeds=[FIRST_SEED, FIRST_SEED + given.seeds - 1])
    of = cases(given.methods or tuple(METHODS), given.places, given.seeds)
    found: list[Row] = []
    for one in (Row(*each) for each in rows_of(of, row, label, given)):
        if one.end != "refused":
            found.append(one)
            print("WRONG" if one.wrong else "right", *one, flush=True)
        if len(found) == runs:
            break
    for kind in PLACES:
        for method in METHODS:
            own = [r for r in found if (r.kind, r.method) == (kind, method) and r.end != "refused"]
            if not own:
                continue
            left, wrong = [left_of(r) for r in own], sum(bool(r.wrong) for r in own)
            ended = [left_of(r) for r in own if r.end in ENDS]
            print(
                f"{kind:22s} {method:16s} runs {len(own):4d} wrong {wrong:3d} ended {len(ended):4d}"
                f" left {median(left):8.1e} worst {max(left):8.1e}"
            )
            results.add(
                f"{kind}, {method}",
                kind=kind,
                method=method,
                runs=len(own),
                wrong=wrong,
                ended=len(ended),
                left=median(left),
                worst=max(left),
                worst_ended=max(ended, default=0.0),
                budget=DUELS.get(method, BUDGET),
            )
    print(f"{len(found)} runs of {len(of)}, {sum(bool(one.wrong) for one in found)} wrong")


if __name__ == "__main__":
    main()
