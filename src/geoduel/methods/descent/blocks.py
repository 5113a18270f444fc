"""The blocks of DuelNewton, of many problems at once.

Each problem does what `DuelNewton` does for it alone, without a domain, and asks the same duels up
to rounding. Its matrices are stacked with those of others, so that the interpreter works once for
all of them; its noise and its counts are its own.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._numerics.arrays import namespace
from ...manifolds.base import Manifold
from ..frame import at_least, reach, to_numpy
from ..rounds import Round, Rounds
from .base import DescentMethod, beyond_digits
from .noise import Noise
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
from .stacks import Frames, Quadratics, Seen, fits

__all__ = ["STACKED", "Probes", "blocks", "mirrored", "parts"]

STACKED = 40  # most dimensions in which stacked matrices are faster than one by one
TOGETHER = 128  # problems whose matrices are stacked: more would not stay in the processor's cache


class Probes(NamedTuple):
    """What a stack of problems asks; n probes each, and some of them twice.

    Attributes
    ----------
    states : sequence of NewtonState or CSAState
        Of the problems before the block or the step.
    frames : Frames
        Their frames.
    e, steps : ndarray of shape (b, n, d)
        Whitened directions, and the probes along them.
    again : list of ndarray
        The rows asked twice.
    noises : list of Noise
        Which know that.
    """

    states: Sequence[Any]
    frames: Frames
    e: np.ndarray
    steps: np.ndarray
    again: list[np.ndarray]
    noises: list[Noise]

    @property
    def most(self) -> int:
        """Duels of the problem that asks most."""
        return self.e.shape[1] + max(map(len, self.again))

    def filled(self, rows: np.ndarray, k: int) -> np.ndarray:
        """The rows of each problem as they are asked, filled up to k with zeros."""
        b, n, d = rows.shape
        all_ = np.zeros((b, k, d))
        all_[:, :n] = rows
        for j, again in enumerate(self.again):
            if len(again):
                all_[j, n : n + len(again)] = rows[j, again]
        return all_

    def asked(self, k: int) -> np.ndarray:
        """Which of k duels are asked, shape (b, k)."""
        counts = self.e.shape[1] + np.array([len(again) for again in self.again])
        return np.arange(k) < counts[:, None]

    def heard(self, signs: np.ndarray) -> list[Noise]:
        """What the answers to duels asked twice add to the noises."""
        n = self.e.shape[1]
        return [
            noise.see(s[again], s[n : n + len(again)]) if len(again) else noise
            for noise, again, s in zip(self.noises, self.again, signs, strict=True)
        ]


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
    probes = [
        _probes(method, manifold, states[part], rngs[part], farthest) for part in parts(len(states))
    ]
    signs, asked, served = yield from mirrored(manifold, probes)
    ends: list[Any] = []
    for each, s, there in zip(probes, signs, asked, strict=True):
        ends += _after(method, manifold, each, s, there, farthest)
    return [end if right else None for end, right in zip(ends, served, strict=True)]


def parts(n: int) -> list[slice]:
    """Of n problems, those whose matrices are stacked."""
    return [slice(i, i + TOGETHER) for i in range(0, n, TOGETHER)]


def mirrored(
    manifold: Manifold, probes: Sequence[Probes]
) -> Generator[Round, Any, tuple[list[np.ndarray], list[np.ndarray], np.ndarray]]:
    """Ask the two ends of every probe of all stacks, in one round.

    For each stack the answers, shape (b, k), and which of them were asked; and which of all the
    problems were served.
    """
    k = max(each.most for each in probes)
    pairs = [each.frames.pairs(manifold, each.filled(each.steps, k)) for each in probes]
    xp = namespace(pairs[0][0])
    x, y = (xp.concat(ends, axis=1) for ends in zip(*pairs, strict=True))
    asked = [each.asked(k) for each in probes]
    who = np.arange(x.shape[1])
    answers, served = yield Round(who, x, y, np.concatenate(asked).T)

    axes = tuple(range(2, x.ndim))
    # Points that rounding makes equal tell nothing, whatever a noisy oracle says about them.
    signs = (to_numpy(answers) * to_numpy(xp.any(x != y, axis=axes))).T
    return [signs[part] for part in parts(len(who))], asked, served


def _probes(
    method: DescentMethod,
    manifold: Manifold,
    states: Sequence[Any],
    rngs: Sequence[np.random.Generator],
    farthest: float,
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
        longer = frames.within(manifold, steps * factor[..., None], farthest, 0.25)
        steps = np.where(widen[:, None, None] > 1, longer, steps)
    steps = at_least(steps, method.min_radius)

    again, noises = [], []
    for state, rng in zip(states, rngs, strict=True):
        repeats, noise = state.answering.due(d, d)
        again.append(rng.permutation(d)[:repeats])
        noises.append(noise)
    return Probes(states, frames, e, steps, again, noises)


@np.errstate(under="ignore")  # answers that say next to nothing weigh nothing
def _after(
    method: DescentMethod,
    manifold: Manifold,
    probes: Probes,
    signs: np.ndarray,
    asked: np.ndarray,
    farthest: float,
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
    delta = np.minimum(delta, farthest * math.sqrt(d) / np.sqrt(np.sum(A * A, axis=(1, 2))))

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
    for j, (state, frame, scale_, (window, memory), noise, cos, tied, probe, good) in enumerate(
        own
    ):
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
            tied=state.tied + 1 if tied >= 0.4 else max(0.0, state.tied - 0.5),
            stop=None,
        )
        ends.append(new.ended(manifold, method.x_tol, tied, probe, d))
    return ends
