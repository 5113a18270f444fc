"""What a method is: settings that are frozen, a state that is a tuple, and a step that asks.

A method holds no function, no clock and no loop. Its step yields the pairs it wants compared and is
sent the answers, so a function, a person and a batch on an accelerator drive one text.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from .._numerics.arrays import Array, eps, expand, namespace
from .._support.check import nonnegative, positive, positive_int
from .._support.machine import machine_memory
from ..domains.base import Domain
from ..errors import ArgumentError, RadiusWarning
from ..manifolds.base import Manifold
from .rounds import Rounds, in_lock_step
from .sorting import in_pairs

__all__ = [
    "IDLE",
    "SOUND",
    "TIES_IN_A_ROW",
    "DuelMethod",
    "Method",
    "State",
    "are_sound",
    "check_method",
    "check_state",
    "chosen_radius",
    "default_radius",
    "default_step",
    "in_memory",
    "one_problem",
    "one_set",
    "pick",
    "questions",
]

TIES_IN_A_ROW = 200  # duels, after which a run ends
IDLE = 1000  # steps or batches in a row without a duel to ask, after which there are none
SOUND = 64  # iterations between two looks at whether the points are still on the manifold


class State(Protocol):
    """The least a method's state holds; each method's file adds what it needs."""

    @property
    def point(self) -> Array:
        """The current iterate."""

    @property
    def best(self) -> Array:
        """The point the method would return now."""


class Method(ABC):
    """A method: `start` gives its first state, and `step` asks duels and returns the next state.

    These two have to be written; all else has a default. A frozen dataclass suits the settings, a
    `typing.NamedTuple` with ``point`` and ``best`` the state. CONTRIBUTING.md has a whole one.

    Attributes
    ----------
    domain : Domain or None
        Feasible set. A method that has one projects on it or keeps to it.
    parallel : int or None
        Most duels asked at once, one round; None for as many as the step yields.
    x_tol : float or None
        Accuracy at which to stop, a geodesic length; None if it is not used.
    version : int
        Raised whenever the same answers lead elsewhere than before: studies of another version
        refuse to go on.
    feasible_first : bool
        Whether the domain decides duels where it can: see `geoduel.domains.feasible_first`.
    projects : bool
        Whether its points are in the domain to rounding. Those of other methods may be outside by
        the tolerance of `geoduel.Domain.contains`, and their results are projected.
    ranking : int or None
        Most points that the step wants put in order at once: it may then yield
        `geoduel.methods.sorting.Ranks`, too, and be sent places. None for pairs alone.
    single : bool
        Whether it runs one problem: several are then run in lock step, see `steps`. Other methods
        take a start with leading axes themselves.
    matrices : int
        How many d x d matrices of doubles it holds at once, at least; see `memory_needed`.
    sees : {"comparisons", "scores", "gradients"}
        What answers the step needs; other than comparisons only the baselines of the attack.
    state_has : tuple of str
        Attributes of every state.
    """

    domain: Domain | None = None
    parallel: int | None = None
    x_tol: float | None = None
    ranking: int | None = None
    version: ClassVar[int] = 1
    feasible_first: ClassVar[bool] = False
    projects: ClassVar[bool] = True
    single: ClassVar[bool] = False
    matrices: ClassVar[int] = 0
    sees: ClassVar[str] = "comparisons"
    state_has: ClassVar[tuple[str, ...]] = ("point", "best")

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Method, int | None]:
        """Settle what depends on the length of the run; by default nothing does.

        Returns the method with its schedules bound and its defaults filled in, and the number of
        iterations it will make (None if only the budget limits it).
        """
        return self, iterations

    def without_start(self, manifold: Manifold, rng: np.random.Generator) -> tuple[Method, Array]:
        """The method and the point to start at where the caller gives none: by default random.

        `geoduel.methods.named.start_point` projects it on the domain. Logs of studies hold no
        start: another one is another version of the method.
        """
        return self, manifold.random_point(rng)

    @abstractmethod
    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Any:
        """Return the state before the first iteration."""

    @abstractmethod
    def step(
        self, manifold: Manifold, state: Any, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Any]:
        """One iteration: yield pairs, be sent answers, return the next state.

        An answer is +1 where the second point of the pair is preferred, -1 where the first is, 0
        for a tie. Points with a leading axis are that many pairs, and so are their answers.
        """

    def learns(self, manifold: Manifold) -> bool:
        """Whether `learn` takes comparisons that the step has not asked for; by default not."""
        return False

    def learn(self, manifold: Manifold, state: Any, a: Array, b: Array, answer: int) -> Any:
        """The state after a comparison from outside, between two steps; None if it is too early.

        ``answer`` is as in `step`. Only for methods that `learns` says it of.
        """
        raise NotImplementedError(f"{type(self).__name__} learns from its own questions only")

    def steps(
        self, manifold: Manifold, states: list[Any], rngs: list[np.random.Generator]
    ) -> Rounds:
        """One iteration of each of several problems, in lock step.

        By default that is `step` of each, with its own state and generator. A method may share work
        between problems, if each asks the same duels as alone, up to rounding.
        """
        each = zip(states, rngs, strict=True)
        steps = (self.step(manifold, state, rng) for state, rng in each)
        if self.ranking:
            steps = map(in_pairs, steps)
        return in_lock_step(steps, len(manifold.point_shape))

    def again(self, manifold: Manifold, state: Any, rng: np.random.Generator, length: float) -> Any:
        """The state to go on with after a change that has moved the optimum by about a length.

        See `Mixed`. By default a new start from where it is.
        """
        return self.start(manifold, state.best, rng)

    def with_domain(self, domain: Domain) -> Method:
        """The same method on a feasible set; for dataclasses with a field ``domain``."""
        if is_dataclass(self) and any(f.name == "domain" for f in fields(self)):
            return replace(self, domain=domain)
        raise ArgumentError(
            f"domain goes with methods that know one; {_name(self)} is no dataclass with a field "
            "domain, and has no with_domain(domain) of its own"
        )

    def memory_needed(self, manifold: Manifold) -> float:
        """Bytes that a run of one problem takes at least, beside its points.

        By default those of its ``matrices``.
        """
        return 8.0 * self.matrices * manifold.dim**2

    def typical_answers(self, manifold: Manifold) -> int:
        """About how many answers a person is asked for; by default ten a dimension, 300 at most.

        A page goes by it where nothing else ends the questions.
        """
        return min(300, 10 * manifold.dim)

    def stop_reason(self, state: Any) -> str | None:
        """Why to stop after this state; None to go on, the default."""
        return None

    def ended(self, state: Any, reason: str) -> str:
        """The reason to report where a run is over for another one, such as its budget."""
        return reason

    def noise(self, state: Any) -> float | None:
        """Estimated probability that an answer is wrong; None, the default, if not known."""
        return None

    def uncertainty(self, state: Any) -> float | None:
        """Estimated distance of ``state.best`` to the optimum; None, the default, if not known."""
        return None


def check_method(method: object) -> Method:
    """Return the method, or raise an error that says why it is none."""
    if isinstance(method, Method):
        return method
    if isinstance(method, type) and issubclass(method, Method):
        name = method.__name__
        raise ArgumentError(f"method must be an instance such as {name}(), got the class {name}")
    lacks = " and ".join(name for name in ("start", "step") if not hasattr(method, name))
    raise ArgumentError(
        f"method must be a name or a method that inherits from geoduel.Method, got {method!r:.80}"
        + (f", which lacks {lacks}" if lacks else "")
    )


def check_state(method: Method, state: Any, source: str) -> Any:
    """Return the state, or raise an error that says what it lacks; ``source`` returned it."""
    lacks = [name for name in method.state_has if not hasattr(state, name)]
    if lacks:
        raise ArgumentError(
            f"{_name(method)}.{source} must return a state with {', '.join(method.state_has)}; "
            f"{state!r:.80} has no {' and no '.join(lacks)}"
        )
    return state


def are_sound(manifold: Manifold, *points: Array) -> bool:
    """Whether these are points on the manifold, up to rounding."""
    try:
        for x in points:
            manifold.check_point(x)
    except Exception:
        return False
    return True


def questions(
    method: Method,
    manifold: Manifold,
    state: Any,
    rng: np.random.Generator,
    rank: Callable[[Array], np.ndarray] | None = None,
) -> Generator[tuple[Array, Array], Any, Any]:
    """`Method.step` in pairs, with errors that say what it yields or returns that it should not.

    Rankings are answered by ``rank``, or made of duels.
    """
    step = method.step(manifold, state, rng)
    if not isinstance(step, Generator):
        raise ArgumentError(
            f"{_name(method)}.step must be a generator of pairs of points, got {step!r:.80}"
        )
    if method.ranking:
        step = in_pairs(step, rank)
    shape, answer = manifold.point_shape, None
    try:
        while True:
            pair = step.send(answer)
            try:
                x, y = pair[:2]  # of many problems also which pairs are asked: `LockStep`
                fits = x.shape == y.shape and x.shape[x.ndim - len(shape) :] == shape
            except (AttributeError, TypeError, ValueError):
                fits = False
            if not fits:
                raise ArgumentError(
                    f"{_name(method)}.step must yield pairs (x, y) of points, arrays of one shape "
                    f"(..., {', '.join(map(str, shape))}); it yielded {pair!r:.80}"
                )
            answer = yield pair
    except StopIteration as end:
        if type(end.value) is not type(state):
            check_state(method, end.value, "step")
        return end.value


def one_problem(method: Method, manifold: Manifold, x0: Array) -> None:
    """Refuse a start with leading axes, for methods that run one problem at a time."""
    if x0.ndim > len(manifold.point_shape):
        raise ArgumentError(
            f"{_name(method)} runs one problem at a time, got x0 of shape {tuple(x0.shape)}; "
            "geoduel.minimize runs several in lock step, and RDNGD takes leading axes"
        )


def in_memory(method: Method, manifold: Manifold) -> None:
    """Refuse dimensions in which a method needs more memory than there is."""
    needed, there = method.memory_needed(manifold), machine_memory()
    if needed > there:
        raise ArgumentError(
            f"{_name(method)} needs {needed / 1e9:,.0f} GB of memory or more in {manifold.dim:,} "
            f"dimensions, for matrices of that size, and this machine has {there / 1e9:,.0f} GB; "
            "method='rdngd' keeps a few points alone, in any dimension"
        )


def one_set(method: Method, x0: Array) -> None:
    """Refuse a domain that holds a set for each of several problems: they would be mixed up."""
    if method.domain is not None and (lead := tuple(np.shape(method.domain.contains(x0)))):
        raise ArgumentError(
            f"domain {method.domain} holds sets of several problems, of shape {lead}, and "
            f"{_name(method)} takes one set for all: run each problem with its own set, or "
            "take method='rdngd'"
        )


def _name(method: Method) -> str:
    return type(method).__name__


def pick(condition: Any, a: Array, b: Array, manifold: Manifold) -> Array:
    """``a`` where the condition holds and ``b`` elsewhere, problem by problem."""
    if isinstance(condition, bool):
        return a if condition else b
    return namespace(a, b).where(expand(condition, len(manifold.point_shape)), a, b)


@dataclass(frozen=True)
class DuelMethod(Method):
    """What the methods that choose their own steps have in common: four settings, one problem.

    Their states also have ``stop``, ``noise`` and ``uncertainty``, None where they are not known.

    Parameters
    ----------
    domain : Domain, optional
        Feasible set. Only feasible points are compared.
    x_tol : float, optional
        Stop once the estimated distance to the optimum is below this geodesic length.
    parallel : int, optional
        Most duels asked at once.
    min_radius : float
        Least distance of the points of a duel from their middle, a geodesic length; by default 0.
        For people, who cannot tell closer points. In a domain that is so before the projection.
    """

    domain: Domain | None = None
    x_tol: float | None = None
    parallel: int | None = None
    min_radius: float = 0.0

    feasible_first: ClassVar[bool] = True
    single: ClassVar[bool] = True
    state_has: ClassVar[tuple[str, ...]] = ("point", "best", "stop", "noise", "uncertainty")

    def __post_init__(self) -> None:
        if self.x_tol is not None:
            positive(self.x_tol, "x_tol")
        if self.parallel is not None:
            positive_int(self.parallel, "parallel")
        nonnegative(self.min_radius, "min_radius")

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Method, int | None]:
        """Refuse what it cannot run; nothing else depends on the run."""
        one_problem(self, manifold, x0)
        in_memory(self, manifold)
        one_set(self, x0)
        return self, iterations

    def stop_reason(self, state: Any) -> str | None:
        return state.stop

    def noise(self, state: Any) -> float | None:
        return state.noise

    def uncertainty(self, state: Any) -> float | None:
        return None if state.stop == "diverges" else state.uncertainty


def default_radius(manifold: Manifold, x: Array) -> float:
    """Perturbation radius that the dtype resolves.

    A duel is decided by a difference of f of about 2 ν |grad f|, which must exceed the rounding of
    f, a few units ε of its size. The power 0.4 leaves ν well above √ε, where a gap of ν² would
    drown, and small against the manifold: 5e-7 of its typical distance in float64, 2e-3 in float32.
    """
    return eps(x) ** 0.4 * manifold.typical_dist


def chosen_radius(radius: Any, manifold: Manifold, x: Array) -> Any:
    """The radius as it was given, a number or a schedule, or else `default_radius`.

    Warns
    -----
    RadiusWarning
        If it is, or begins, below √ε/10 of the typical distance: that is 3e-5 of it in float32. Of
        values of size one rounding then decides many duels, wrongly and without a tie.
    """
    if radius is None:
        return default_radius(manifold, x)
    first: Any = radius(0) if callable(radius) else radius
    least = math.sqrt(eps(x)) / 10 * manifold.typical_dist
    if first < least:
        warnings.warn(
            f"radius={first:.2g} is below what {x.dtype} resolves on {manifold}, about "
            f"{least:.1g}: rounding may decide duels",
            RadiusWarning,
            stacklevel=2,
        )
    return radius


def default_step(manifold: Manifold) -> float:
    """First step of the paper's methods, a geodesic length.

    A step η down the sign of one duel leads about 0.8 η/√d closer to a point at distance r, and
    away again by η²/(2r). Where curvature is negative it leads away by a share of η² at any
    distance. So long steps in high dimension drift outwards. Below d = 7 the first step is a fifth
    of the typical distance.
    """
    return manifold.typical_dist / max(5.0, 2 * math.sqrt(manifold.dim))
