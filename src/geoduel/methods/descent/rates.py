"""The rates at which DuelNewton adapts, and the numbers that were tuned for them."""

from __future__ import annotations

import math

from .noise import Noise

__all__ = [
    "BLUR",
    "CLIP",
    "GAIN",
    "NOISY",
    "freedom",
    "gain",
    "lapse_of",
    "nearness",
    "recent",
    "shrink",
]

# Frozen; docs/notebook/duel-newton.md says what they were tuned on.
TAU = (0.06, 0.4)  # prior deviation of H from I: least, and per unit of contradiction
BLUR = 0.3  # width of the sigmoid of a duel, in probe lengths
GAIN = 1.2  # growth of log δ, per unit of contradiction, at most; see `gain`
CLIP = 0.3  # eigenvalues of H are kept in [CLIP, 1/CLIP]
LAPSE = 0.05  # least probability of an answer that has nothing to do with the model
NOISY = 0.02  # flip rate above which single duels are not believed
TRUST = (0.2, 0.4)  # misfit of old gradients from which the window is shorter, and shortest


def lapse_of(noise: Noise, least: float = LAPSE) -> float:
    """ε, the probability of an answer that has nothing to do with the model."""
    return min(0.4, max(least, 1.2 * noise.astray))


def freedom(d: int, kappa: float, noise: Noise) -> float:
    """τ, of an entry: as 1/√d in high dimension, as for a norm of H - I; wider in low dimension."""
    tau = TAU[0] + TAU[1] * max(0.0, kappa)
    return tau * (1 + 6 * noise.capacity / d) * math.sqrt(min(1.0, 100 / d))


def nearness(d: int, noise: Noise) -> float:
    """(δ/ρ)²: none where answers are right, nor in small d, where δ is no measure of |g|."""
    return (1 - noise.capacity) * max(0.0, 1 - 5 / d)


def shrink(d: int) -> float:
    """Factor on δ a block, as long as answers do not contradict: larger models lag more."""
    return min(0.8, max(0.7, 0.7 * (d / 40) ** 0.12))


def gain(d: int, rate: float) -> float:
    """Growth of log δ per unit of contradiction, where δ shrinks at a rate from 0 to 1.

    Where the model is right, log δ drifts down by rate log(1/shrink) a block and is spread by
    gain²/d, the variance of the cosine. A ratio of the two well above 1/2 keeps the tail of δ thin.
    It matters for d <= 3, and for noisy answers or patience up to d = 10 and beyond.
    """
    return min(GAIN, math.sqrt(0.7 * rate * d))


def recent(d: int, misfit: float = 0.0) -> int:
    """Duels in the window: 7.5d, and 4d in high dimension. Longer ones lag, with noise too.

    Where old gradients contradict new ones it is shortened, down to 4d.
    """
    most = min(7.5, max(4.0, 7.5 * (30 / d) ** 0.7))
    trust = min(1.0, max(0.0, (TRUST[1] - misfit) / (TRUST[1] - TRUST[0])))
    return int(d * min(most, 4 + 3.5 * trust))
