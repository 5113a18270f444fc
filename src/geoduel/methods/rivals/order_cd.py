"""Random coordinate descent with an order oracle, of Lobanov, Gasnikov and Krasnov."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import positive
from ...manifolds.base import Manifold
from ..descent.golden import golden_section
from ..frame import Frame, reach
from .base import Rival

__all__ = ["OrderCD", "OrderCDState", "line_search"]


class OrderCDState(NamedTuple):
    """State of OrderCD: the point with its coordinates, and the last step along each."""

    frame: Frame
    lengths: np.ndarray

    @property
    def point(self) -> Array:
        """The current iterate."""
        return self.frame.point

    @property
    def best(self) -> Array:
        """The iterate: a line search leads upwards by no more than its accuracy."""
        return self.frame.point


def line_search(
    manifold: Manifold, frame: Frame, i: int, lengths: np.ndarray, accuracy: float
) -> Generator[tuple[Array, Array], Any, tuple[np.ndarray, np.ndarray]]:
    """Step along the i-th coordinate, as coordinates, and the lengths with this one's."""
    e = np.eye(manifold.dim)[i]
    length = lengths[i]
    t = yield from golden_section(
        lambda t: frame.at(manifold, t * e), length, accuracy, reach(manifold)
    )
    lengths = lengths.copy()
    lengths[i] = max(abs(t), accuracy * length)
    return t * e, lengths


@dataclass(frozen=True)
class OrderCD(Rival):
    """OrderRCD: random coordinate descent whose steps are found by golden-section search.

        repeat, in coordinates of a transported frame:
            i uniform on 1..d
            η = argmin f(Exp_x(η e_i)) by the golden ratio method;   x = P(Exp_x(η e_i))

    For strongly convex f the gap falls like (1 - μ/(dL))^k, as with the exact derivatives, and a
    step costs O(log 1/ε) duels. This is the paper's choice α = 0, which needs no constant of f.

    Parameters
    ----------
    initial_step : float, optional
        First step of the first line searches; later ones begin with the last step along the same
        coordinate.
    domain : Domain, optional
        Feasible set, which decides duels with points outside. P projects on it: the middle of the
        last bracket may be outside by half its width.
    accuracy : float
        Final width of a line search, as a share of the first bracket.

    References
    ----------
    Lobanov, Gasnikov and Krasnov, Acceleration exists! Optimization problems when oracle can only
    compare objective function values, NeurIPS 2024, algorithm OrderRCD.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: x @ x)
    >>> result = gd.minimize(oracle, gd.Euclidean(3), np.ones(3), method="order-cd", budget=300,
    ...                      rng=0)
    >>> bool(result.x @ result.x < 1e-6)
    True
    """

    accuracy: float = 1e-2

    version: ClassVar[int] = 2
    matrices: ClassVar[int] = 2
    one_set: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.accuracy, "accuracy")

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> OrderCDState:
        d = manifold.dim
        return OrderCDState(Frame(x0, np.eye(d)), np.full(d, self.first_step(manifold)))

    def step(
        self, manifold: Manifold, state: OrderCDState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, OrderCDState]:
        frame, lengths = state
        i = int(rng.integers(manifold.dim))
        eta, lengths = yield from line_search(manifold, frame, i, lengths, self.accuracy)
        frame, _ = frame.move(manifold, eta)
        frame, _, _ = frame.enter(manifold, self.domain)
        return OrderCDState(frame, lengths)
