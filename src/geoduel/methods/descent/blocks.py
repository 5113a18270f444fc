"""The blocks of DuelNewton, of many problems at once.

Each problem does what `DuelNewton` does for it alone, without a domain, and asks the same duels up
to rounding. Its matrices are stacked with those of others, so that the interpreter works once for
all of them; its noise and its counts are its own.
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
from .rates import (
    BLUR,
    CLIP,
    NOISY,
    freedom,
    gain,
    lapse_of,
    nearness,
    recent,
    shrink,
)
from .stacks import Frames, Probes, Quadratics, Seen, fits, together

__all__ = ["blocks"]


def blocks(
    method: DescentMethod,
    manifold: Manifold,
    states: Sequence[Any],
    rngs: Sequence[np.random.Generator],
) -> Rounds:
    """One block of each problem; returns the next states, None where duels were lacking.

    Parameters
    ----------
    method : DuelNewton
        Its settings; it has no domain.
    manifold : Manifold
        Where the points live.
    states : sequence of NewtonState
        One a problem.
    rngs : sequence of numpy.random.Generator
        One a problem.
    """
    farthest = reach(manifold) / 4
    probe = partial(_probes, method, manifold, farthest)
    return together(manifold, states, rngs, probe, partial(_after, method, manifold, farthest))


def _probes(
    method: DescentMethod,
    manifold: Manifold,
    farthest: float,
    states: Sequence[Any],
    rngs: Sequence[np.random.Generator],
) -> Probes:
    d = manifold.dim
    frames = Frames.of([state.frame for state in states])
    metric = np.stack([state.metric for state in states])
    scale = np.array([state.scale for state in states])
    e = np.linalg.qr(np.stack([rng.standard_normal((d, d)) for rng in rngs]))[0].mT
    steps = scale[:, None, None] * (e @ metric.mT)
    steps = frames.within(manifold, steps, farthest, 0.25)
    widen = np.array([state.answering.widen for state in states])
    if (widen > 1).any():
        longest = np.array([[state.longest] for state in states])
        length = np.sqrt(np.vecdot(steps, steps))
        factor = np.maximum(1, np.minimum(widen[:, None], longest / length))
        longer = frames.lengthened(manifold, steps, factor)
        longer = frames.within(manifold, longer, farthest, 0.25)
        steps = np.where(widen[:, None, None] > 1, longer, steps)
    steps = at_least(steps, method.min_radius)

    again, noises = [], []
    for state, rng in zip(states, rngs, strict=True):
        repeats, noise = state.answering.due(d, d)
        again.append(rng.permutation(d)[:repeats])
        noises.append(noise)
    return Probes(states, frames, e, steps, again, noises)


@np.errstate(over="ignore", under="ignore", invalid="ignore")  # what overflows ends a run
def _after(
    method: DescentMethod,
    manifold: Manifold,
    farthest: float,
    probes: Probes,
    signs: np.ndarray,
    asked: np.ndarray,
) -> list[Any]:
    """The states after the answers: a model, a step, and scale, metric and memory after it."""
    states, d = probes.states, manifold.dim
    noises = probes.heard(signs)
    scale = np.array([state.scale for state in states])
    metric = np.stack([state.metric for state in states])
    kappa = [state.contradiction for state in states]

    # Gradient and Hessian that explain the answers.
    seen = Seen.of(
        [state.window for state in states],
        [state.memory for state in states],
        probes.filled(probes.e, signs.shape[1]),
        signs,
        BLUR * scale,
        asked,
    )
    lapse = np.array([lapse_of(noise) for noise in noises])
    tau = np.array([freedom(d, k, noise) for k, noise in zip(kappa, noises, strict=True)])
    near = np.array([nearness(d, noise) for noise in noises]) / scale**2
    g, H = fits(seen, tau, lapse, near)
    kept = np.array(
        [
            recent(d) if noise.astray > NOISY else recent(d, misfit)
            for noise, misfit in zip(noises, seen.misfit.tolist(), strict=True)
        ]
    )
    seen = seen.judged(g, H).aged(g, H, lapse, kept, 3 * recent(d) // d)
    H = Quadratics(np.clip(abs(H.w), CLIP, 1 / CLIP), H.U)

    # A saddle-free Newton step.
    p = -H(g[:, None], -1)
    length = np.sqrt(np.vecdot(p, p))
    p *= np.minimum(1.0, 3 * math.sqrt(d) * scale[:, None] / np.maximum(1e-300, length))[..., None]
    wanted = p @ metric.mT
    step = probes.frames.within(manifold, wanted, 2 * farthest, 0.5)[:, 0]
    frames, step = probes.frames.move(manifold, step)
    wanted = wanted[:, 0]
    size = np.vecdot(wanted, wanted)
    p = p[:, 0] * (np.vecdot(step, wanted) / np.where(size > 0, size, 1.0))[:, None]

    # Scale, metric and memory for the next block.
    A = H(metric, -0.5)
    path = np.stack([state.path for state in states])
    toward = -(signs[:, None, :d] @ probes.e)[:, 0]
    squares = np.vecdot(toward, toward) * np.vecdot(path, path)
    cosine = np.vecdot(toward, path) / np.sqrt(np.maximum(1e-300, squares))
    ties = np.mean(signs[:, :d] == 0, axis=1)
    size = scale * np.sqrt(np.sum(metric * metric, axis=(1, 2)))
    longest = np.array([state.longest for state in states])
    patience = np.array([state.patience for state in states])
    learned = np.array([noise.learned for noise in noises]) * patience
    learned = np.where((ties <= 0.5) | (size < longest), learned * (1 - 2 * ties), learned)
    rates = np.array([noise.slow * noise.capacity for noise in noises]) * patience
    gains = np.array([gain(d, rate) for rate in rates.tolist()])
    delta = scale * (shrink(d) ** learned * np.exp(gains * cosine))
    spread = np.sqrt(np.sum(A * A, axis=(1, 2)))
    delta = np.minimum(delta, farthest * math.sqrt(d) / spread)
    tied = np.array([state.ties.many > 0 for state in states])
    delta = np.where(tied, np.minimum(delta, np.maximum(scale, longest / spread)), delta)

    ratios = (delta / scale).tolist()
    noises = [noise.rescaled(r) for noise, r in zip(noises, ratios, strict=True)]
    stays = 1 - np.array([[noise.capacity] for noise in noises])
    to_mean = stays * (np.stack([state.to_mean for state in states]) - step)
    best = frames.recommended(manifold, to_mean)
    path = H((p / scale[:, None] + stays * path)[:, None], 0.5)[:, 0]
    seen = seen.moved(p, H)

    probed = abs(probes.steps).max(axis=(1, 2)).tolist()
    finite: Any = np.isfinite(A).all(axis=(1, 2)) & np.isfinite(step).all(axis=1)
    own = zip(
        states, frames.each(), delta.tolist(), seen.each(), noises, cosine.tolist(), ties.tolist(),
        probed, finite.tolist(), strict=True,
    )  # fmt: skip
    ends: list[Any] = []
    for j, each in enumerate(own):
        state, frame, scale_, (window, memory), noise, cos, tied, probe, good = each
        if not good:
            ends.append(state._replace(stop=beyond_digits(manifold, state)))
            continue
        new = state._replace(
            frame=frame,
            recommended=best[j, ...],
            scale=scale_,
            metric=A[j],
            path=path[j],
            contradiction=0.7 * state.contradiction + 0.3 * cos,
            window=window,
            memory=memory,
            answering=noise,
            to_mean=to_mean[j],
            held=False,
            stop=None,
            ties=state.ties.after(tied, state.size),
        )
        ends.append(new.ended(manifold, method.x_tol, tied, probe, d))
    return ends
