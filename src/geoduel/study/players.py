"""Players: a method run from the answers in a log.

A player holds the state of the method after the answers it was given. The same answers give the
same state to the last bit, in whatever process, so nothing but the log needs to be kept. There are
two, for the two kinds of methods:

    QuestionPlayer   each question stands alone; answers come in any order
    StepPlayer       a step yields batches of pairs; its answers are collected until a batch is full
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._numerics.arrays import Array
from ..domains.catalogue import Catalogue
from ..domains.feasibility import feasible_first
from ..errors import ReplayError
from ..manifolds.base import Manifold
from ..methods import Method
from ..methods.base import check_state, questions
from ..methods.named import start_point
from ..methods.people.questions import QuestionMethod
from .log import STRENGTHS, UNASKED, Book, Entry, Given
from .ranking import choices_in, decided
from .raters import MOST

__all__ = ["Checkpoint", "Player", "Question", "player"]

ANSWERS = {"a": -1, "b": 1, "tie": 0, "skip": 0}
KEPT = 8  # checkpoints in memory, for undo
IDLE = 1000  # batches in a row without a question, after which there are none
SAME = 1e-6  # pairs that differ by less, relative to their size, differ by rounding alone
BESIDE = 32  # open questions that a proposal takes into account, and new ones at once, at most


class Question(NamedTuple):
    """A pair that the method wants compared."""

    a: Array
    b: Array
    at: tuple[int, int] | None  # batch and place in it; None for a question that stands alone
    role: str = "question"
    more: tuple[Array, ...] = ()  # points beyond the pair


class Checkpoint(NamedTuple):
    """All that a player needs to go on from where it was."""

    given: int  # answers given before
    number: int  # of the last event among them
    iteration: int
    batch: int
    state: Any
    rng: Any  # state of the generator
    history: tuple[tuple[int, float], ...]  # answers and uncertainty, thinned


@dataclass
class Player(ABC):
    """What both kinds have in common.

    Parameters
    ----------
    method : Method
        What asks the questions.
    manifold : Manifold
        Where the points live.
    seed : int
        Of all randomness.
    x0 : ndarray or None
        Start; None draws a random point.
    iterations, budget : int or None
        Length of the run, as in `geoduel.minimize`.
    votes : int
        Answers wanted to each question.
    by_event : bool
        Number random draws by events, as studies of format 1 do, and not by duels.
    """

    method: Any
    manifold: Manifold
    seed: int
    x0: np.ndarray | None = None
    iterations: int | None = None
    budget: int | None = None
    votes: int = 1
    by_event: bool = False
    count: int = field(init=False, default=0)  # answers given so far
    number: int = field(init=False, default=0)  # of the last event among them
    iteration: int = field(init=False, default=0)
    batch: int = field(init=False, default=0)
    idle: bool = field(init=False, default=False)  # nothing is left that could be told apart
    history: list[tuple[int, float]] = field(init=False, default_factory=list)
    state: Any = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.method, x0 = start_point(self.method, self.manifold, self.x0, self.rng)
        self.dtype = x0.dtype
        self.method, self.iterations = self.method.plan(
            self.manifold, x0, iterations=self.iterations, budget=self.budget
        )
        state = self.method.start(self.manifold, x0, self.rng)
        self.state = check_state(self.method, state, "start")
        self.first = self.checkpoint()
        self.checkpoints: deque[Checkpoint] = deque(maxlen=KEPT)

    # -- given answers ---------------------------------------------------------------------------

    def follow(self, book: Book) -> int:
        """Catch up with the book; returns how many answers were new."""
        if book.rewound is not None:
            if book.rewound < self.count:
                self.rewind(book.rewound)
            book.rewound = None
        news = book.given[self.count :]
        try:
            for given in news:
                self.give(book.entries[given.duel], given)
                self.count += 1
                self.number = given.number
                self._settle()
        except BaseException:  # Ctrl-C in the middle of a step, too
            self.rewind(self.count)
            raise
        return len(news)

    def rewind(self, count: int) -> None:
        """Go back to a checkpoint at or before that many answers."""
        while self.checkpoints and self.checkpoints[-1].given > count:
            self.checkpoints.pop()
        self.restore(self.checkpoints[-1] if self.checkpoints else self.first)

    @abstractmethod
    def give(self, entry: Entry, given: Given) -> None:
        """Take the next answer that counts."""

    @abstractmethod
    def _settle(self) -> None:
        """Do what is due once an answer is counted."""

    # -- questions -------------------------------------------------------------------------------

    @abstractmethod
    def questions(
        self,
        book: Book,
        number: int,
        rater: str | None,
        items: Catalogue | None = None,
        k: int = 2,
    ) -> Iterator[Question]:
        """Questions of at most k points to put now, the most useful first.

        ``number`` is that of the next duel. With ``items``, a method made for people asks about
        two of these.
        """

    @property
    def stop_reason(self) -> str | None:
        """Why the method asks no more."""
        if self.iterations is not None and self.iteration >= self.iterations:
            return "iterations"
        return self.method.stop_reason(self.state) or ("resolution" if self.idle else None)

    # -- checkpoints -----------------------------------------------------------------------------

    def checkpoint(self) -> Checkpoint:
        """Where the player is now."""
        return Checkpoint(
            self.count,
            self.number,
            self.iteration,
            self.batch,
            self.state,
            self.rng.bit_generator.state,
            tuple(self.history),
        )

    def restore(self, at: Checkpoint) -> None:
        """Go to a checkpoint."""
        self.count, self.number, self.iteration, self.batch, self.state, state, history = at
        self.rng.bit_generator.state = state
        self.history, self.idle = list(history), False

    def resume(self, at: Checkpoint) -> None:
        """Go to a checkpoint of another process, and remember it for undos."""
        self.restore(at)
        self.checkpoints.append(at)

    def _mark(self) -> None:
        """Remember this point, and how well the answer is known here."""
        uncertainty = self.method.uncertainty(self.state)
        if uncertainty is not None and math.isfinite(uncertainty):
            self.history.append((self.count, float(uncertainty)))
            if len(self.history) > 400:  # the older half by every second one
                self.history[:200] = self.history[:200:2]
        self.checkpoints.append(self.checkpoint())

    def fits(self, entry: Entry) -> bool:
        """Whether an answer to an open question could be taken."""
        return True

    @property
    def open_at_once(self) -> int | None:
        """How many open questions are useful at once; None for any number."""
        return None

    def points(self, entry: Entry) -> tuple[np.ndarray, np.ndarray]:
        """The pair of an entry, as arrays."""
        return np.array(entry.a, self.dtype), np.array(entry.b, self.dtype)

    def told(self, entry: Entry, answer: str) -> list[tuple[np.ndarray, np.ndarray, int]]:
        """The duels (a, b, sign) that an answer decides; -1 if a is preferred."""
        points = np.array(entry.points, self.dtype)
        return [(points[i], points[j], sign) for i, j, sign in decided(answer, len(points))]


@dataclass
class QuestionPlayer(Player):
    """Plays a `QuestionMethod`. Each duel k has generators of its own, for question and answer.

    They are default_rng([seed, k]) and default_rng([seed, k, 4]). In studies of format 1 each event
    has one, so that a question depends on how often others were put again.
    """

    @property
    def open_at_once(self) -> int | None:
        return self.method.open_at_once(self.manifold)

    def give(self, entry: Entry, given: Given) -> None:
        if given.answer == "skip":
            return
        if entry.more:
            return self._choose(entry, given)
        left = {"a": 1, "b": -1, None: 0}[entry.left]
        graded = {}
        if entry.strength is not None and self.method.graded:
            graded = {"strength": 1 + STRENGTHS.index(entry.strength)}
        self.state = self.method.update(
            self.manifold,
            self.state,
            *self.points(entry),
            ANSWERS[given.answer],
            self._own(given.number) if self.by_event else self._own(given.duel, 4),
            left=left,
            rater=given.rater,
            **graded,
        )
        self.iteration += 1

    def _choose(self, entry: Entry, given: Given) -> None:
        """Take an answer to more than two points, as the choices that it holds."""
        points = np.array(entry.points, self.dtype)
        rng = self._own(given.duel, 4)
        for i, (best, others, worst) in enumerate(choices_in(given.answer, len(points))):
            if best is None:
                pair = (points[j] for j in others)
                self.state = self.method.update(
                    self.manifold, self.state, *pair, 0, rng, rater=given.rater
                )
            else:
                some = points[[best, *others]]
                how = {"worst": worst, "rater": given.rater} | ({"more": True} if i else {})
                self.state = self.method.choose(self.manifold, self.state, some, 0, rng, **how)
        self.iteration += 1

    def _settle(self) -> None:
        self._mark()

    def questions(
        self,
        book: Book,
        number: int,
        rater: str | None,
        items: Catalogue | None = None,
        k: int = 2,
    ) -> Iterator[Question]:
        self.idle = False
        pending = [pair for e in list(book.open.values())[-BESIDE:] for pair in self._pairs(e)]
        for given in reversed(book.given[-BESIDE:]):  # skipped just now: ask something else
            if given.answer != "skip":
                break
            pending += self._pairs(book.entries[given.duel])
        for duel in range(number, number + BESIDE):
            rng = self._own(duel)
            for _ in range(5):
                proposed = self._points(rng, items, k, pending)
                points = list({point.tobytes(): point for point in proposed}.values())
                if len(points) > 1:  # fewer than k, where the method has no more to ask about
                    break
            else:
                self.idle = True
                return
            a, b, *more = points
            yield Question(a, b, None, more=tuple(more))
            pending += zip(points[::2], points[1::2], strict=False)

    def _points(
        self, rng: np.random.Generator, items: Catalogue | None, k: int, pending: list[Any]
    ) -> Array:
        method, manifold, state = self.method, self.manifold, self.state
        if items is None:
            return method.propose_several(manifold, state, rng, k, pending)
        return np.stack(method.propose_among(manifold, state, rng, items, pending))

    def _pairs(self, entry: Entry) -> list[tuple[np.ndarray, np.ndarray]]:
        """The pairs that a question was made of."""
        points = np.array(entry.points, self.dtype)
        return list(zip(points[::2], points[1::2], strict=False))

    def _own(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *key])


class Member:
    """One pair of a batch, and the votes on it."""

    def __init__(self, a: Array, b: Array, answer: float) -> None:
        self.a, self.b = a, b
        self.answer = None if math.isnan(answer) else answer
        self.votes: list[tuple[int, float]] = []

    def vote(self, sign: int, weight: float, votes: int) -> None:
        """Count a vote; the pair is decided once the votes to come cannot change the majority."""
        self.votes.append((sign, weight))
        lead = sum(s * w for s, w in self.votes)
        if abs(lead) > (votes - len(self.votes)) * MOST or len(self.votes) == votes:
            self.answer = float(np.sign(lead)) if votes > 1 else sign


@dataclass
class StepPlayer(Player):
    """Plays a method whose steps are generators, with one generator of random numbers for all.

    Pairs that the domain decides, and pairs of equal points, are not asked. A skipped duel counts
    as a tie, unless it is all that the first batch of a step asks: then the step begins anew.
    """

    members: list[Member] = field(init=False, default_factory=list)
    decided: int = field(init=False, default=0)  # members before this one are
    steps: Any = field(init=False, default=None)  # the step under way; None: to begin anew
    heard: list[Any] = field(init=False, default_factory=list)  # pairs not asked, yet to be learned
    fresh: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.domain = self.method.domain if self.method.feasible_first else None
        self.axes = len(self.manifold.point_shape)
        self._begin_step()

    def restore(self, at: Checkpoint) -> None:
        super().restore(at)
        self.heard = []
        self._begin_step()

    def give(self, entry: Entry, given: Given) -> None:
        if entry.at is None:
            if entry.role in UNASKED and given.answer != "skip":  # not a repeat
                self.heard.append((*self.points(entry), ANSWERS[given.answer]))
            return
        batch, place = entry.at
        if self.votes > 1 and (batch < self.batch or not self.members):
            return  # a vote that came when the others had decided
        if batch != self.batch or place >= len(self.members):
            raise ReplayError(
                f"duel {entry.id} does not replay: it is number {place} of batch {batch}, and the "
                f"method is at batch {self.batch} with {len(self.members)} questions"
            )
        member = self.members[place]
        self._same(entry, member)
        if given.answer == "skip" and self.fresh and len(self.members) == 1 == self.votes:
            self.steps = None  # to begin anew
        elif member.answer is None:
            member.vote(ANSWERS[given.answer], given.weight, self.votes)

    def fits(self, entry: Entry) -> bool:
        if entry.at is None or (self.votes > 1 and entry.at[0] < self.batch):
            return True
        if entry.at[0] != self.batch or entry.at[1] >= len(self.members):
            return False
        try:
            self._same(entry, self.members[entry.at[1]])
        except ReplayError:
            return False
        return True

    def _settle(self) -> None:
        if self.steps is None:
            self._mark()
            self._begin_step()
        elif self.members and self._first_open() == len(self.members):
            self._next(self._answers())

    def questions(
        self,
        book: Book,
        number: int,
        rater: str | None,
        items: Catalogue | None = None,
        k: int = 2,
    ) -> Iterator[Question]:
        assert items is None  # the study refuses these and more points
        if self.votes == 1:  # an answered pair is decided, so that the open ones are all there is
            taken = {e.at[1] for e in book.open.values() if e.at and e.at[0] == self.batch}
            for j in range(self._first_open(), len(self.members)):
                member = self.members[j]
                if j not in taken and member.answer is None:
                    yield Question(member.a, member.b, (self.batch, j))
            return
        out: dict[int, list[Entry]] = {j: [] for j in range(len(self.members))}
        for entry in reversed(book.entries):  # those of this batch are among the last
            if entry.at is not None and not entry.withdrawn:
                if entry.at[0] < self.batch:
                    break
                out[entry.at[1]].append(entry)

        def order(j: int) -> tuple[bool, int, int]:  # better the vote of someone else
            return rater is not None and any(e.rater == rater for e in out[j]), len(out[j]), j

        for j in sorted(out, key=order):
            member = self.members[j]
            if member.answer is None and len(out[j]) < self.votes:
                at = (self.batch, j)
                yield Question(member.a, member.b, at, "vote" if out[j] else "question")

    def _first_open(self) -> int:
        """Place of the first pair that is not decided; batches may be thousands long."""
        while self.decided < len(self.members) and self.members[self.decided].answer is not None:
            self.decided += 1
        return self.decided

    # -- the steps -------------------------------------------------------------------------------

    def _mark(self) -> None:
        """Between two steps: the method learns what it has not asked, as soon as it can."""
        while self.heard:
            new = self.method.learn(self.manifold, self.state, *self.heard[0])
            if new is None:
                break
            self.state = new
            del self.heard[0]
        super()._mark()
        if self.heard:  # which a checkpoint does not hold
            self.checkpoints.pop()

    def _begin_step(self) -> None:
        self.steps = questions(self.method, self.manifold, self.state, self.rng)
        self._next(None)

    def _next(self, answers: Any) -> None:
        """Send answers until the method asks something, or asks no more."""
        self.members, self.decided = [], 0
        for _ in range(IDLE):
            if self.stop_reason is not None:
                return
            try:
                pair = self.steps.send(answers)
            except StopIteration as end:
                self.state, answers = end.value, None
                self.iteration += 1
                self._mark()
                self.steps = questions(self.method, self.manifold, self.state, self.rng)
                continue
            self.fresh = answers is None  # the first question of its step
            self._pose(*pair)
            if any(m.answer is None for m in self.members):
                return
            answers = self._answers()
        self.members, self.idle = [], True

    def _pose(self, x: Array, y: Array) -> None:
        """Hold a batch, with the answers that need not be asked."""
        self.batch += 1
        self.single = x.ndim == self.axes
        known = self._unknown(x)
        if self.domain is not None:
            known = feasible_first(self.domain, x, y, self.axes, lambda x, y: self._unknown(x))
        pairs = [(x, y)] if self.single else list(zip(x, y, strict=True))
        self.members = [
            Member(a, b, 0.0 if np.array_equal(a, b) else float(k))
            for (a, b), k in zip(pairs, np.ravel(known), strict=True)
        ]

    def _unknown(self, x: Array) -> Any:
        return np.full(x.shape[: x.ndim - self.axes], math.nan)

    def _answers(self) -> Any:
        """What the method is sent: an int for one pair, an array for a batch."""
        answers: Sequence[Any] = [m.answer for m in self.members]
        return int(answers[0]) if self.single else np.array(answers, dtype=self.dtype)

    def _same(self, entry: Entry, member: Member) -> None:
        """Check that the method asks again what it asked then."""
        for logged, now in zip(self.points(entry), (member.a, member.b), strict=True):
            if np.array_equal(logged, now):
                continue
            error = float(np.max(abs(logged - now)))
            if not error <= SAME * max(1.0, float(np.max(abs(now)))):
                raise ReplayError(
                    f"duel {entry.id} does not replay: the method now asks about a point that "
                    f"differs by {error:.2g} from the one in the log"
                )


def player(method: Method, *settings: Any, **more: Any) -> Player:
    """Return the player for a method."""
    return (QuestionPlayer if isinstance(method, QuestionMethod) else StepPlayer)(
        method, *settings, **more
    )
