"""What the methods for people share: interface, settings, and questions that can be asked."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..._numerics.arrays import Array, namespace
from ..._support.check import positive, real
from ...domains.base import Domain
from ...domains.catalogue import Catalogue
from ...errors import ArgumentError
from ...manifolds.base import Manifold
from ..base import DuelMethod, Method
from ..frame import to_numpy
from .attention import Attention, stated_radius, wary
from .strengths import CLEARLY, SLIGHTLY

__all__ = [
    "REGION",
    "PersonMethod",
    "QuestionMethod",
    "best_question",
    "check_answer",
    "inside",
    "stacked",
]

REGION = 0.8  # share of the belief in the stated region


@dataclass(frozen=True)
class QuestionMethod(DuelMethod):
    """A method with steps of one question: several may be open, and answers to others count too.

    People answer in any order, or not at all. `propose` therefore looks at the questions that are
    still open, and `update` takes any answered pair, whether or not the method asked for it.

    Parameters
    ----------
    domain, x_tol, parallel, min_radius
        As in `geoduel.methods.base.DuelMethod`. The domain holds the questions and the
        recommendation; ``parallel`` is the most questions open at once, where one program asks
        several people, by default what `open_at_once` says.
    """

    graded: ClassVar[bool] = False
    """Whether `update` takes the strength of an answer; others are told which point is preferred,
    and no more."""

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

    def propose_among(
        self,
        manifold: Manifold,
        state: Any,
        rng: np.random.Generator,
        items: Catalogue,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> tuple[Array, Array]:
        """Return two items to ask about next; by default those nearest to what is proposed."""
        return items.pair(*self.propose(manifold, state, rng, pending))

    def rank(self, manifold: Manifold, state: Any, items: Catalogue, k: int) -> np.ndarray:
        """Indices of the k items to recommend, the best first; by default those nearest to it."""
        return items.nearest(state.best, k)

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
        the left (or first), -1 if b was, 0 if unknown. ``rater``: who answered. Methods that are
        `graded` also take ``strength``: 1 for "slightly", 2 for "clearly", 0 where none was stated.
        """

    def propose_several(
        self,
        manifold: Manifold,
        state: Any,
        rng: np.random.Generator,
        k: int = 2,
        pending: Sequence[tuple[Array, Array]] = (),
    ) -> Array:
        """Return k points to ask for the best of, shape (k, *point_shape).

        By default pairs, each useful beside those before it: two of them cross.
        """
        pairs: list[tuple[Array, Array]] = []
        while 2 * len(pairs) < k:
            pairs.append(self.propose(manifold, state, rng, [*pending, *pairs]))
        points = [point for pair in pairs for point in pair]
        return namespace(*points).stack(points[:k])

    def choose(
        self,
        manifold: Manifold,
        state: Any,
        points: Array,
        best: int,
        rng: np.random.Generator,
        *,
        worst: bool = False,
        rater: str | None = None,
        more: bool = False,
    ) -> Any:
        """Return the state that knows which of several points is the best, or the worst.

        ``points`` have shape (k, *point_shape), and ``best`` is an index. ``more``: the choice
        belongs to the same answer as the last one, such as the second best of a ranking. By default
        the best one wins a duel against each other one, as if these were k - 1 answers; the worst
        one loses it.
        """
        answer = 1 if worst else -1
        for j in range(len(points)):
            if j != best:
                pair = points[best], points[j]
                state = self.update(manifold, state, *pair, answer, rng, rater=rater)
        return state

    def step(
        self, manifold: Manifold, state: Any, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Any]:
        a, b = self.propose(manifold, state, rng)
        answer = yield a, b
        return self.update(manifold, state, a, b, answer, rng)


@dataclass(frozen=True)
class PersonMethod(QuestionMethod):
    """A question method that assumes a person with an ideal, and where it and the JND may lie.

    Parameters
    ----------
    domain, x_tol, parallel, min_radius
        As in `QuestionMethod`. By default one question more is open than there are dimensions: a
        question asked before the last answers arrive cannot use them.
    jnd : float, optional
        Roughly the just-noticeable difference, a geodesic length. By default a forty-fifth of
        ``prior_radius``, or of its default if that is less.
    prior_radius : float, optional
        The ideal is expected within this distance of the start, a geodesic length, and may still
        lie anywhere. By default half the manifold's typical distance, 45 degrees on spheres.
        Infinite: all of a bounded manifold is as likely, which is the default without a start.
    catch : float
        Largest share of easy questions, whose answer is all but known. They are asked once nothing
        but doubt whether the rater looks keeps the stated region wide. 0: never; the rater is then
        taken to look, for example who levels a photo of their own.
    """

    jnd: float | None = None
    prior_radius: float | None = None
    catch: float = 1 / 6

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jnd is not None:
            positive(self.jnd, "jnd")
        if self.prior_radius not in (None, math.inf):
            positive(self.prior_radius, "prior_radius")
        if not 0 <= real(self.catch, "catch") <= 0.5:
            raise ArgumentError(f"catch must be a share from 0 to 0.5, got {self.catch!r}")

    @abstractmethod
    def ideals(self, manifold: Manifold, state: Any, n: int) -> Array:
        """Return n points that stand for the belief: more of them where the ideal is likelier."""

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Method, int | None]:
        """Refuse what has no uniform prior, and several problems at once."""
        if self.prior_radius == math.inf and not manifold.bounded:
            raise ArgumentError(
                f"prior_radius=inf needs a bounded manifold; {manifold} is not known to be one"
            )
        return super().plan(manifold, x0, iterations=iterations, budget=budget)

    def without_start(self, manifold: Manifold, rng: np.random.Generator) -> tuple[Method, Array]:
        """Start in the middle; on a bounded manifold the ideal may then lie anywhere."""
        anywhere = self.prior_radius is None and manifold.bounded and manifold.closed_form
        return replace(self, prior_radius=math.inf) if anywhere else self, manifold.origin()

    def open_at_once(self, manifold: Manifold) -> int | None:
        """One more than there are dimensions, or what ``parallel`` says."""
        return self.parallel or manifold.dim + 1

    def typical_answers(self, manifold: Manifold) -> int:
        """Ten for each dimension, 50 at most: many more, and people answer without looking."""
        return min(50, super().typical_answers(manifold))

    def scales(self, manifold: Manifold) -> tuple[float, float]:
        """Radius of the prior and assumed JND, geodesic lengths."""
        usual = manifold.typical_dist / 2
        radius = usual if self.prior_radius is None else self.prior_radius
        return radius, min(radius, usual) / 45 if self.jnd is None else self.jnd

    def stated(
        self,
        manifold: Manifold,
        off: float,
        away: np.ndarray,
        w: np.ndarray,
        attention: Attention,
    ) -> float:
        """Radius of the region to state, which holds its share of the belief and of the doubt.

        ``away`` and ``w`` are distances from its centre and their weights, if somebody looks. If
        not, the ideal may be at the other end of the prior; ``off`` is how far the centre is from
        the start.
        """
        radius, _ = self.scales(manifold)
        farthest = radius + off if math.isfinite(radius) else manifold.typical_dist
        doubt = wary(attention.doubt()) if self.catch > 0 else 0.0
        return stated_radius(REGION, away, w, doubt, farthest)

    def settled(self, uncertainty: float) -> str | None:
        """Why to stop, once the region that holds the ideal has this radius."""
        return "x_tol" if self.x_tol is not None and uncertainty <= self.x_tol else None


def check_answer(answer: int, left: int, strength: int = 0) -> None:
    """Raise unless both are -1, 0 or 1, and the strength one that such an answer may have."""
    for name, value in {"answer": answer, "left": left}.items():
        if value not in (-1, 0, 1):
            raise ArgumentError(f"{name} must be -1, 0 or 1, got {value!r}")
    if strength not in ((0, SLIGHTLY, CLEARLY) if answer else (0,)):
        raise ArgumentError(
            f"strength must be 0, {SLIGHTLY} or {CLEARLY}, and 0 for a tie, got {strength!r}"
        )


def stacked(questions: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Several questions as arrays of their first and of their second points."""
    xp = namespace(questions[0][0])
    return tuple(xp.stack([pair[i] for pair in questions]) for i in (0, 1))


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
