"""The methods of the attack, each stating what it may see.

They are steps that ask, as everywhere in the package. A pair of points is a comparison, answered +1
where the second is more adversarial; `Values` asks for scores and `Slopes` for their derivatives.
Leading axes are images; each is a problem of its own.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from .._numerics.arrays import Array, expand, namespace, normal
from .._support.check import nonnegative, one_of, positive, positive_int, real
from ..errors import ArgumentError
from ..manifolds import Manifold
from ..methods import RDNGD, Method
from ..methods.base import check_method, pick
from ..schedules import Schedule, as_schedule, cosine
from .priors import directions_of
from .spectrum import Spectrum

__all__ = [
    "ATTACKS",
    "ZORGD",
    "Averaging",
    "Climb",
    "Evolution",
    "Learning",
    "Slopes",
    "Values",
    "named",
]


AT_ONCE = 50  # directions held in memory


class Values(NamedTuple):
    """Asks for the scores of points, shape (..., n); higher is more adversarial."""

    x: Array


class Slopes(NamedTuple):
    """Asks for the scores of points and the partial derivatives of their sum."""

    x: Array


@dataclass(frozen=True)
class Averaging:
    """Step sizes η_k with tan η_k = max(1/√(k+1), tan ``least``): the schedule of the default.

    On a sphere, steps of this size along s_i u_i turn x into the direction of Σ s_i u_i, all with
    equal weights. Were the score linear, each answer would say as much about its slope whenever it
    was asked, and x would be their mean. Below ``least`` the mean forgets, over some 1/least²
    duels, since slopes change along the way.

    Parameters
    ----------
    least : float
        Smallest step, an angle in radians.

    Examples
    --------
    >>> [round(Averaging(0.1)(k), 3) for k in (0, 3, 1000)]
    [0.785, 0.464, 0.1]
    """

    least: float = 0.05

    def __post_init__(self) -> None:
        positive(self.least, "least")

    def __call__(self, k: int, /) -> float:
        return max(math.atan(1 / math.sqrt(k + 1)), self.least)

    def bind(self, total: int, /) -> Averaging:
        """The same: the schedule needs no plan."""
        return self


class Learned(NamedTuple):
    """State of `Learning`: what the answers told of each image, and the spectrum they share."""

    k: int
    point: Array
    best: Array
    at: Any  # coefficients of the point
    anchor: Array  # what the first point counts beside the table
    table: Any
    spectrum: Any  # a tuple of its own, which the end of an image leaves alone


@dataclass(frozen=True)
class Learning(Method):
    """The default: steps to the expected gradient, whose spectrum is learned from the same duels.

        u ~ N(0, where_to_ask), tangent at x, of unit length
        s = Q(Exp_x(ν u), Exp_x(-ν u))
        tables, spectrum told that s u won              `geoduel.attack.spectrum`
        x = the expected gradient, scaled to the sphere

    Directions are drawn where most of the gradient is still unknown. Answers are weighted by how
    much of the gradient lies there. Both follow from the energies of cosines and colours, which
    the duels about all images tell together.

    Parameters
    ----------
    radius : float
        ν, an angle in radians.
    memory : float
        After so many duels an answer counts 1/e of a new one, since slopes change along the way.
        After as many as were asked about the image, where that is more: later steps are smaller.
    trust : float
        How many answers the first point counts as: none where it is random. By name, the method
        takes some where ``start=`` says where to begin.

    References
    ----------
    Minka, A family of algorithms for approximate Bayesian inference, PhD thesis, MIT 2001, chapter
    3, for matching moments after each answer (assumed-density filtering).

    Examples
    --------
    >>> import torch
    >>> from geoduel.attack import attack
    >>> weights = torch.linspace(-1, 1, 48)
    >>> def model(x):
    ...     side = (x - 0.52).flatten(1) @ weights - 0.2
    ...     return torch.stack([-side, side], 1)
    >>> images = torch.full((5, 3, 4, 4), 0.5)
    >>> attack(model, images, method=Learning(memory=200), budget=100, rng=0).success.all()
    tensor(True)
    """

    radius: float = 0.2
    memory: float = 400
    trust: float = 0

    sees: ClassVar[str] = "comparisons"

    def __post_init__(self) -> None:
        positive(self.radius, "radius")
        positive(self.memory, "memory")
        nonnegative(self.trust, "trust")

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Learned:
        weights = directions_of(manifold, x0).weights.to(x0)
        nothing = weights * namespace(x0).zeros_like(x0[..., :1, :1, :1])
        spectrum = Spectrum.before(weights)
        anchor = math.sqrt(self.trust) * spectrum.weight(spectrum.where_to_ask()) * x0
        return Learned(0, x0, x0, nothing, anchor, nothing, spectrum)

    def step(
        self, manifold: Manifold, state: Learned, rng: np.random.Generator
    ) -> Generator[Any, Any, Learned]:
        k, x, _, at, anchor, table, spectrum = state
        picture = directions_of(manifold, x).picture
        share = spectrum.where_to_ask()
        c = share**0.5 * normal(rng, table.shape, x)
        a = picture(c)
        along = expand(manifold.inner(x, x, a), 3)
        u = _unit(manifold, x, a - along * x)
        s = expand((yield manifold.exp_pair(x, -self.radius * u)), 3)
        winner = s * _unit(manifold, x, c - along * at)
        fade = math.exp(-1 / max(self.memory, k))
        spectrum, table = spectrum.told(table, share, winner, fade)

        mean, anchor = spectrum.mean(table), fade * anchor
        g = picture(mean)
        if self.trust:  # as though directions like c had won, and were left in the mean as they are
            kept = manifold.norm(x, picture(spectrum.mean(c))) / manifold.norm(x, c)
            g = g + expand(kept, 3) * anchor
        length = manifold.norm(x, g)
        moved, length = length > 0, expand(length, 3)  # not where there were ties alone
        x = pick(moved, g / length, x, manifold)
        at = pick(moved, mean / length, at, manifold)
        return Learned(k + 1, x, x, at, anchor, table, spectrum)


class Steps(NamedTuple):
    """State of all methods here: after k iterations, at a point, with one size a problem."""

    k: int
    point: Array
    best: Array
    size: Array | None = None


class _Steps(Method):
    """What the methods here have in common: a start at the given point, and no plan."""

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Steps:
        return Steps(0, x0, x0)


@dataclass(frozen=True)
class Evolution(_Steps):
    """(1+1) evolution strategy: a trial replaces the point if it wins. One new image a comparison.

    The step grows by a factor √e with every success and shrinks by the fourth root of √e with every
    failure. So one trial in five wins (the 1/5 rule).

    Parameters
    ----------
    initial_step : float
        Angle of the first trial in radians.

    References
    ----------
    Rechenberg, Evolutionsstrategie, 1973; Kern et al., Natural Computing 3 (2004), for this form.
    """

    initial_step: float = 0.5

    sees: ClassVar[str] = "comparisons"

    def __post_init__(self) -> None:
        positive(self.initial_step, "initial_step")

    def step(
        self, manifold: Manifold, state: Steps, rng: np.random.Generator
    ) -> Generator[Any, Any, Steps]:
        k, x, _, size = state
        xp = namespace(x)
        if size is None:
            size = xp.full_like(x[..., 0, 0, 0], self.initial_step)
        u = manifold.unit_tangent(rng, x)
        y = manifold.exp(x, expand(size, 3) * u)
        won = (yield x, y) > 0
        x = pick(won, y, x, manifold)
        size = xp.clip(size * xp.where(won, math.exp(0.5), math.exp(-0.125)), 1e-3, math.pi / 2)
        return Steps(k + 1, x, x, size)


@dataclass(frozen=True)
class ZORGD(_Steps):
    """Zeroth-order Riemannian gradient ascent, which sees scores: the paper's yardstick.

        g = (1/m) Σ_j (f(Exp_x(μ u_j)) - f(x))/μ u_j;   x = Exp_x(η g/|g|)

    Parameters
    ----------
    directions : int
        m; the paper's attack takes 500, which leaves time for few steps.
    smoothing : float
        μ, an angle in radians.
    step_size : float
        η, an angle in radians.

    References
    ----------
    Li, Balasubramanian and Ma, Stochastic zeroth-order Riemannian derivative estimation and
    optimization, Mathematics of Operations Research 48 (2023).
    """

    directions: int = 20
    smoothing: float = 1e-2
    step_size: float = 0.2

    sees: ClassVar[str] = "scores"

    def __post_init__(self) -> None:
        positive_int(self.directions, "directions")
        positive(self.smoothing, "smoothing")
        positive(self.step_size, "step_size")

    def step(
        self, manifold: Manifold, state: Steps, rng: np.random.Generator
    ) -> Generator[Any, Any, Steps]:
        k, x = state.k, state.point
        here = yield Values(x)
        g = namespace(x).zeros_like(x)
        for first in range(0, self.directions, AT_ONCE):
            u = manifold.unit_tangent(rng, x, (min(AT_ONCE, self.directions - first),))
            slope = (yield Values(manifold.exp(x, self.smoothing * u))) - here
            g = g + namespace(x).sum(expand(slope, 3) * u, axis=0)
        x = manifold.exp(x, self.step_size * _unit(manifold, x, g))
        return Steps(k + 1, x, x)


class Moving(NamedTuple):
    """State of `Climb`: the point and the direction of the last step."""

    k: int
    point: Array
    best: Array
    velocity: Array


@dataclass(frozen=True)
class Climb(Method):
    """Gradient ascent, white box: the bound that no black box should pass.

        v = momentum v + g/|g|;   x = Exp_x(η v/|v|)

    It begins anew at a random point after every ``1/restarts`` of the steps, where nothing fooled
    by then. A single ascent ends at a local maximum more often than a black box does.

    Parameters
    ----------
    step_size : float or schedule
        Angle of a step in radians.
    momentum : float
        Share of the last direction that is kept, at least 0 and below 1.
    restarts : int
        Starts in all.
    along : {"geodesic", "pixels"}
        Riemannian gradient ascent (RGD), or the plain gradient added to the perturbation and the
        sum scaled back to the sphere, projected gradient ascent (PGD).

    References
    ----------
    Madry et al., Towards deep learning models resistant to adversarial attacks, ICLR 2018, for PGD.
    """

    step_size: float | Schedule = field(default_factory=lambda: cosine(0.5, 0.01))
    along: Literal["geodesic", "pixels"] = "geodesic"
    momentum: float = 0.75
    restarts: int = 3
    period: int | None = field(default=None, repr=False)  # steps from one start, set by `plan`

    sees: ClassVar[str] = "gradients"

    def __post_init__(self) -> None:
        object.__setattr__(self, "step_size", as_schedule(self.step_size))
        one_of(self.along, "along", ("geodesic", "pixels"))
        positive_int(self.restarts, "restarts")
        if self.period is not None:
            positive_int(self.period, "period")
        if not 0 <= real(self.momentum, "momentum") < 1:
            raise ArgumentError(f"momentum must be in [0, 1), got {self.momentum!r}")

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Climb, int | None]:
        steps = iterations or budget
        if not steps:
            return self, iterations
        period = max(1, math.ceil(steps / self.restarts))
        schedule = as_schedule(self.step_size).bind(period)
        return replace(self, step_size=schedule, period=period), iterations

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Moving:
        return Moving(0, x0, x0, 0 * x0)

    def step(
        self, manifold: Manifold, state: Moving, rng: np.random.Generator
    ) -> Generator[Any, Any, Moving]:
        k, x, _, v = state
        period = self.period or k + 1
        if k and k % period == 0:
            x, v = manifold.random_point(rng, tuple(x.shape[:-3]), x), 0 * v
        eta: Any = self.step_size  # a schedule, since __post_init__
        g = yield Slopes(x)
        if self.along == "geodesic":
            g = manifold.riemannian_gradient(x, g)
            v = manifold.to_tangent(x, v)
        v = self.momentum * v + _unit(manifold, x, g)
        step = eta(k % period) * _unit(manifold, x, v)
        x = manifold.exp(x, step) if self.along == "geodesic" else manifold.to_manifold(x + step)
        return Moving(k + 1, x, x, v)


def _unit(manifold: Manifold, x: Array, g: Array) -> Array:
    length = manifold.norm(x, g)
    return g / expand(namespace(g).where(length == 0, namespace(g).ones_like(length), length), 3)


# The authors' code steps 0.1 in pixels on a sphere of radius 1.35, along h/|h|; the mean of ten
# nearly orthogonal signs has length 1/√10.
RELEASED = RDNGD(step_size=0.074 * math.sqrt(10), radius=1e-6, batch=10, returns="last")

# Probes are wide, because the trend decides a duel between images far apart, and not the noise of
# the network. Besides, a probe that fools ends the attack.
ATTACKS: dict[str, tuple[Any, str]] = {
    "learning": (Learning(), "natural"),
    "averaging": (RDNGD(Averaging(), radius=0.2, returns="last"), "natural"),
    "rdngd": (RDNGD(cosine(0.4, 0.04), radius=0.1, batch=10, returns="last"), "all"),
    "rdngd-released": (RELEASED, "all"),
    "rdngd-paper": (replace(RELEASED, step_size=1e-6), "all"),
    "evolution": (Evolution(), "natural"),
    "zo-rgd": (ZORGD(), "all"),
    "zo-rgd-paper": (ZORGD(500), "all"),
    "rgd": (Climb(), "all"),
    "pgd": (Climb(along="pixels"), "all"),
}
"""Methods by name, each with the directions that it takes unless others are asked for."""


def named(method: str | Method) -> tuple[Any, str]:
    """A method and its directions, by name; "auto" is "learning". An instance takes "natural"."""
    if not isinstance(method, str):
        return check_method(method), "natural"
    one_of(method, "method", ("auto", *ATTACKS))
    return ATTACKS["learning" if method == "auto" else method]
