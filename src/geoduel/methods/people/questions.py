"""What the methods for people share: settings, scales, and questions that can be asked."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import positive
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..base import DuelMethod
from ..frame import to_numpy

if TYPE_CHECKING:
    from ...domains.base import Domain

__all__ = ["QuestionMethod", "best_question", "check_answer", "check_settings", "inside", "scales"]


@dataclass(frozen=True)
class QuestionMethod(DuelMethod):
    """A method whose step is one question: it can have several open, and hear of others' duels.

    People answer in any order, or not at all. `propose` therefore looks at the questions that are
    still open, and `update` takes any answered pair, whoever asked for it.

    Parameters
    ----------
    domain, initial_step, x_tol
        As in `geoduel.methods.base.DuelMethod`.
    parallel : int, optional
        Most questions open at once; by default `open_at_once` has a say.
    """

    def open_at_once(self, manifold: Manifold) -> int | None:
        """How many open questions are useful at once; None for any number."""
        return self.parallel

    @abstractmethod
    def propose(
        self,
        manifold: Manifold,
        state: Any,
        rng: np.random.Generator,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> tuple[Array, Array]:
        """Return the pair (a, b) to ask next, useful beside the ``pending`` ones."""

    @abstractmethod
    def update(
        self,
        manifold: Manifold,
        state: Any,
        a: Array,
        b: Array,
        answer: int,
        rng: np.random.Generator,
        *,
        left: int = 0,
        rater: str | None = None,
    ) -> Any:
        """Return the state that knows one more answer.

        ``answer``: +1 if b is preferred, -1 if a is, 0 for a tie. ``left``: +1 if a was shown on
        the left (or first), -1 if b was, 0 if unknown. ``rater``: who answered.
        """

    def step(
        self, manifold: Manifold, state: Any, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Any]:
        a, b = self.propose(manifold, state, rng)
        answer = yield a, b
        return self.update(manifold, state, a, b, answer, rng)


def check_settings(method: Any, *lengths: str) -> None:
    """Check the lengths that `Bisection` and `IdealPoint` may be given, and refuse others."""
    for name in lengths:
        if getattr(method, name) is not None:
            positive(getattr(method, name), name)
    if method.initial_step is not None:
        raise ArgumentError(
            f"initial_step is not used by {type(method).__name__}, got {method.initial_step!r}; "
            "give prior_radius="
        )


def check_answer(answer: int, left: int) -> None:
    """Raise unless both are -1, 0 or 1."""
    for name, value in {"answer": answer, "left": left}.items():
        if value not in (-1, 0, 1):
            raise ArgumentError(f"{name} must be -1, 0 or 1, got {value!r}")


def inside(
    domain: Domain | None, ends: Callable[[np.ndarray], tuple[Array, Array]], h: np.ndarray
) -> tuple[Array, Array]:
    """Pairs ``ends(h)``, with the half-widths h shortened until both ends are in the domain."""
    a, b = ends(h)
    if domain is None:
        return a, b
    for _ in range(10):
        feasible = to_numpy(domain.contains(a)) * to_numpy(domain.contains(b))
        if feasible.all():
            break
        h = np.where(feasible, h, 0.7 * h)
        a, b = ends(h)
    return domain.project(a), domain.project(b)


def best_question(manifold: Manifold, a: Array, b: Array, gain: np.ndarray, jnd: float) -> int:
    """Index of the pair that gains most, among those that can be told apart if there are any."""
    apart = to_numpy(manifold.dist(a, b)) >= jnd
    return int(np.argmax(np.where(apart | ~apart.any(), gain, -np.inf)))


def scales(method: Any, manifold: Manifold) -> tuple[float, float]:
    """Radius of the prior and assumed JND, geodesic lengths."""
    radius = manifold.typical_dist / 2 if method.prior_radius is None else method.prior_radius
    return radius, radius / 45 if method.jnd is None else method.jnd
