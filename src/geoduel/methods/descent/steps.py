"""The steps of DuelCSA, of many problems at once.

Each problem does what `DuelCSA` does for it alone, without a domain, and asks the same duels up to
rounding. Its matrices are stacked with those of others; its noise is its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...manifolds.base import Manifold
from ..frame import at_least, reach
from ..rounds import Rounds
from .base import DescentMethod, beyond_digits
from .covariance import Covariance, cumulated
from .stacks import Frames, Probes, together

__all__ = ["strides"]


def strides(
    method: DescentMethod,
    m: int,
    manifold: Manifold,
    states: Sequence[Any],
    rngs: Sequence[np.random.Generator],
) -> Rounds:
    """One step of each problem; returns the next states, None where duels were lacking.

    Parameters
    ----------
    method : DuelCSA
        Its settings; it has no domain.
    m : int
        Directions of a step.
    manifold : Manifold
        Where the points live.
    states : sequence of CSAState
        One a problem, with full covariances.
    rngs : sequence of numpy.random.Generator
        One a problem.
    """
    probe = partial(_probes, method, m, manifold)
    return together(manifold, states, rngs, probe, partial(_after, method, manifold))


def _probes(
    method: DescentMethod,
    m: int,
    manifold: Manifold,
    states: Sequence[Any],
    rngs: Sequence[np.random.Generator],
) -> Probes:
    """Directions, and probes along them, widened where answers differ like coins."""
    d = manifold.dim
    drawn = np.stack([rng.standard_normal((d, m)) for rng in rngs])
    z = math.sqrt(d) * np.linalg.qr(drawn)[0].mT
    again, noises = [], []
    for state, rng in zip(states, rngs, strict=True):
        repeats, noise = state.answering.due(m, d)
        again.append(rng.permutation(m)[:repeats] if repeats else np.zeros(0, dtype=int))
        noises.append(noise)

    widen, sigma, longest = (
        np.array(a)[:, None]
        for a in zip(*((s.widened, s.sigma, s.longest) for s in states), strict=True)
    )
    frames = Frames.of([state.frame for state in states])
    probe = sigma[..., None] * (z @ np.stack([s.metric.A for s in states]).mT)
    if (widen > 1).any():
        length = np.maximum(1e-300, np.sqrt(np.vecdot(probe, probe)))
        factor = np.maximum(1, np.minimum(widen, longest / length))
        longer = frames.lengthened(manifold, probe, factor)
        probe = np.where(widen[..., None] > 1, longer, probe)
    probe = at_least(probe, method.min_radius)
    return Probes(states, frames, z, probe, again, noises)


@np.errstate(all="ignore")  # what overflows ends a run
def _after(
    method: DescentMethod,
    manifold: Manifold,
    probes: Probes,
    signs: np.ndarray,
    asked: np.ndarray,
) -> list[Any]:
    """The states after the answers: a step, and the path, σ and covariance after it."""
    states, frames, d = probes.states, probes.frames, manifold.dim
    m = probes.e.shape[1]
    k = np.array([state.k for state in states])
    A = Covariance(*map(np.stack, zip(*(state.metric for state in states), strict=True)))
    path, to_mean = (np.stack(a) for a in zip(*((s.path, s.to_mean) for s in states), strict=True))
    old = np.array([state.sigma for state in states])
    s = signs[:, :m]
    h = -(s[:, None] @ probes.e)[:, 0] / math.sqrt(m)
    moved, step = frames.move(manifold, old[:, None] * (A @ h))

    tied = np.mean(s == 0, axis=1)
    each_ties = [state.tied(t, m / d) for state, t in zip(states, tied.tolist(), strict=True)]
    ties = np.array([each.share for each in each_ties])
    path, steady, power = cumulated(path, h, k, m, ties)
    good: Any = np.isfinite(path).all(axis=1) & np.isfinite(step).all(axis=1)
    A = A.learn(np.where(good[:, None], h, 0.0), steady, k, m)
    # NumPy's exp depends on the processor.
    sigma = old * np.array([math.exp(p) for p in np.where(good, power, 0.0).tolist()])
    size = 2 * np.sqrt(A.trace)
    longest: Any = reach(manifold, None, frames.points)  # the least one
    if (sigma * size > longest).any():
        longest = np.array([reach(manifold, None, x) for x in frames.points])
    sigma = np.minimum(sigma, longest / size)

    noises = [
        noise.rescaled(r)
        for noise, r in zip(probes.heard(signs), (sigma / old).tolist(), strict=True)
    ]
    keep = np.array([(1 - noise.capacity) ** (m / d) for noise in noises])
    to_mean = keep[:, None] * (to_mean - step)
    best = moved.recommended(manifold, to_mean)
    share = m / (m + d)
    draws = (1 - share) * np.array([state.draws for state in states]) + share * tied
    probed = abs(probes.steps).max(axis=(1, 2)).tolist()
    each = zip(
        states, moved.each(), sigma.tolist(), noises, each_ties, draws.tolist(), probed,
        good.tolist(), strict=True,
    )  # fmt: skip
    ends: list[Any] = []
    for j, (state, frame, sigma_, noise, ties, drawn, probe, fine) in enumerate(each):
        if not fine:
            ends.append(state._replace(stop=beyond_digits(manifold, state)))
            continue
        new = state._replace(
            k=state.k + 1,
            frame=frame,
            best=best[j, ...],
            sigma=sigma_,
            metric=Covariance(A.C[j], A.A[j], A.path[j]),
            path=path[j],
            answering=noise,
            to_mean=to_mean[j],
            draws=drawn,
            ties=ties,
        )
        ends.append(new.ended(manifold, method.x_tol, probe))
    return ends
