"""Accelerated coordinate descent with an order oracle, of Lobanov, Gasnikov and Krasnov."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import nonnegative, positive
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..frame import Frame
from .base import Rival
from .order_cd import line_search

__all__ = ["OrderACD", "OrderACDState"]


class OrderACDState(NamedTuple):
    """State of OrderACD, in coordinates of the frame at x."""

    frame: Frame  # at x
    z: np.ndarray  # where z is, from x
    A: float
    B: float
    lengths: np.ndarray

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.frame.point

    @property
    def best(self) -> Array:
        """The iterate x, which the theorem is about; it may get worse for a while."""
        return self.frame.point


@dataclass(frozen=True)
class OrderACD(Rival):
    """OrderACDM: Nesterov's acceleration of coordinate descent, with golden-section steps.

        A = 0, B = 1, z = x;   repeat, in coordinates of a transported frame:
            i uniform on 1..d
            a from a² d² = (A + a)(B + σa);   A = A + a, B = B + σa;   α = a/A, β = σa/B
            y = ((1-α) x + α(1-β) z) / (1-αβ)
            η = argmin f(y + η e_i) by the golden ratio method
            x = y + η e_i
            z = (1-β) z + β y + (ad/B) η e_i

    For strongly convex f the gap falls like (1 - √σ/d)^k, for convex f like d²/k². This is the
    form with one line search a step, which gives the derivative, too: η stands for -f_i/L_i. It is
    the paper's choice α = 0, which needs no L_i.

    On a manifold, sums of points are sums of coordinates in the frame. Where the space is flat,
    this is the paper's text; elsewhere it is right to first order in the distance of x and z.

    Parameters
    ----------
    initial_step, accuracy
        As in `geoduel.methods.rivals.order_cd.OrderCD`.
    domain : None
        There is no projection in the paper: a domain is refused.
    strong_convexity : float
        σ: f is σ-strongly convex in the norm Σ L_i x_i², so σ <= 1. By default 0, for convex f.

    References
    ----------
    Lobanov, Gasnikov and Krasnov, Acceleration exists! Optimization problems when oracle can only
    compare objective function values, NeurIPS 2024, algorithm OrderACDM; Nesterov and Stich,
    Efficiency of the accelerated coordinate descent method on structured optimization problems,
    SIAM Journal on Optimization 27 (2017), for the method behind it.

    Examples
    --------
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: x @ x)
    >>> result = gd.minimize(oracle, gd.Euclidean(3), np.ones(3), method="order-acd", budget=600,
    ...                      strong_convexity=1.0, rng=0)
    >>> bool(result.x @ result.x < 1e-6)
    True
    """

    accuracy: float = 1e-2
    strong_convexity: float = 0.0

    matrices: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.accuracy, "accuracy")
        if nonnegative(self.strong_convexity, "strong_convexity") > 1:
            raise ArgumentError(f"strong_convexity must be <= 1, got {self.strong_convexity!r}")
        if self.domain is not None:
            raise ArgumentError(
                f"OrderACD takes no domain: its steps are not projected; got {self.domain!r:.80}. "
                "OrderCD takes one"
            )

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> OrderACDState:
        d = manifold.dim
        lengths = np.full(d, self.first_step(manifold))
        return OrderACDState(Frame(x0, np.eye(d)), np.zeros(d), 0.0, 1.0, lengths)

    def step(
        self, manifold: Manifold, state: OrderACDState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, OrderACDState]:
        frame, z, A, B, lengths = state
        d, sigma = manifold.dim, self.strong_convexity
        i = int(rng.integers(d))
        # a² d² = (A + a)(B + σa), the larger root
        p, q = max(d * d - sigma, 1e-9), B + sigma * A
        a = (q + math.sqrt(q * q + 4 * p * A * B)) / (2 * p)
        A, B = A + a, B + sigma * a
        alpha, beta = a / A, sigma * a / B

        to_y = alpha * (1 - beta) / (1 - alpha * beta) * z
        frame, _ = frame.move(manifold, to_y)
        z = z - to_y
        eta, lengths = yield from line_search(manifold, frame, i, lengths, self.accuracy)
        z = (1 - beta) * z + a * d / B * eta
        frame, _ = frame.move(manifold, eta)
        # A and B grow together without limit; only their ratios matter once σ > 0.
        scale = 1 / B if B > 1e100 else 1.0
        return OrderACDState(frame, z - eta, A * scale, B * scale, lengths)
