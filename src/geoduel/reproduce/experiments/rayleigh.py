"""Rayleigh quotient maximisation on the sphere: f(x) = -x'Ax/2 (the paper's first experiment)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...baselines import rgd, zo_rgd
from ...problems import Rayleigh
from ...schedules import constant, cosine
from ..claims import Claim, above, at_most, between, equal
from ..convergence import (
    DEFAULT,
    Convergence,
    Curve,
    Line,
    accuracy,
    controlled,
    duelled,
    ratio,
    slower,
    valued,
)
from ..estimates import Estimate, median

__all__ = ["RAYLEIGH"]

RADIUS = 1e-8
SIZES = (100, 150)


def problem(size: int, seed: int) -> Rayleigh:
    """B with entries N(0, 1/d), A = (B + B')/2, start uniform on the sphere."""
    return Rayleigh.random(size, np.random.default_rng(3000 + seed))


def lines(size: int, quick: bool) -> list[Line]:
    """The paper's three methods, the default method, and gradient descent, which sees gradients."""
    T = 5_000 if quick else 50_000
    descents = 200 if quick else 1_000
    lies = size == SIZES[0]
    steps = {"RDNGD constant": constant(1e-2), "RDNGD cosine": cosine(1e-1, 1e-8)}
    (fixed, *fixed_lies), (annealed, *annealed_lies) = (
        controlled(label, "rdngd", T, step_size=step, radius=RADIUS, lies=lies)
        for label, step in steps.items()
    )
    return [
        fixed,
        annealed,
        duelled(DEFAULT, "auto", ties="skip", budget=2_000 if quick else 12_000),
        valued(
            "ZO-RGD",
            lambda p, rng: zo_rgd(p, iterations=T, smoothing=1e-6, rng=rng),
            iterations=T,
            smoothing=1e-6,
            step_size="1/(2dL), d = n - 1",
        ),
        valued(
            "RGD",
            lambda p, rng: rgd(p, iterations=descents),
            sees="gradients",
            iterations=descents,
            step_size="Armijo",
        ),
        *fixed_lies,
        *annealed_lies,
    ]


def claims(found: Sequence[Curve]) -> list[Claim]:
    """What section 5.1.1 and appendix I.1 say of this experiment."""
    by = {(c.size, c.label): c for c in found}
    sizes = list(dict.fromkeys(c.size for c in found))
    seeds = len(found[0].records)
    problems = {(d, s): problem(d, s) for d in sizes for s in range(seeds)}
    over: dict[str, Estimate] = {}
    for d in sizes:
        for rival in ("RDNGD cosine", "ZO-RGD"):
            ends = by[d, "RDNGD constant"].final(), by[d, rival].final()
            over[f"d = {d}, over {rival}"] = ratio(*ends)
    names = {size: f"d = {size}" for size in sizes}
    return [
        *accuracy(by, names, ("5.1.1", "figure 1")),
        Claim(
            ("5.1.1", "figure 1"),
            "RDNGD-constant performed worse than RDNGD-cosine and ZO-RGD",
            "final gap of RDNGD-constant over the other's",
            above(1),
            over,
        ),
        slower(by, names, ("appendix I.1", "figure 7")),
        Claim(
            ("5.1.1",),
            "f is geodesically smooth with L = λ_max − λ_min",
            "largest second derivative along geodesics over L: random ones, and those that leave "
            "the optimum towards the least eigenvector",
            equal(1, 1e-4),
            {
                names[d]: median([largest_curvature(problems[d, s], s) for s in range(seeds)])
                for d in sizes
            },
            remark="Along a geodesic f'' = xᵀAx − uᵀAu with a unit tangent u.",
        ),
        Claim(
            ("5.1.1",),
            "f* = −λ_max/2",
            "least f that any method found, less −λ_max/2, over the gap at the start",
            between(-1e-12, 1e-6),
            {names[d]: median(_least(d, found, seeds)) for d in sizes},
            remark="Gradient descent reaches it; nothing passes it but for rounding.",
        ),
        Claim(
            ("5.1.1",),
            "Smoothing and step of ZO-RGD are tuned by a grid search",
            "final gap over the best one of the grid",
            at_most(1),
            {},
            missing="the paper names no grid; smoothing and step are taken as printed",
        ),
    ]


def largest_curvature(p: Rayleigh, seed: int) -> float:
    """Largest second derivative of f along unit-speed geodesics, over L.

    Central differences at distance t: their error is of order t², that of rounding of order 1e-16
    over t².
    """
    rng, t = np.random.default_rng(seed), 1e-3
    x = np.concatenate([p.manifold.random_point(rng, (200,)), p.optimum[None]])
    u = p.manifold.unit_tangent(rng, x)
    u[-1] = np.linalg.eigh(p.A)[1][:, 0]
    ahead, behind = p.manifold.exp_pair(x, t * u)
    second = (p.objective(ahead) - 2 * p.objective(x) + p.objective(behind)) / t**2
    return float(second.max() / p.smoothness)


def _least(d: int, found: Sequence[Curve], seeds: int) -> list[float]:
    own = [c for c in found if c.size == d and not c.control]
    return [
        min(c.records[s]["gap"][-1] for c in own) / own[0].records[s]["start"] for s in range(seeds)
    ]


RAYLEIGH = Convergence(
    "rayleigh",
    "Rayleigh quotient on the sphere",
    SIZES,
    "d",
    problem,
    lines,
    "min f(x) = −xᵀAx/2 over unit vectors, A = (B + Bᵀ)/2, entries of B independent N(0, 1/d), "
    "start uniform. The paper's settings: T = 50,000, radius 1e-8, constant step 1e-2 or a cosine "
    "from 1e-1 to 1e-8; ZO-RGD with smoothing 1e-6 and step 1/(2dL). RGD is gradient descent with "
    "Armijo's rule, a yardstick. The paper's d is that of the ambient space (E18): the sphere has "
    "one dimension less, which is the d of the step 1/(2dL) here.",
    claims,
    version=2,
)
