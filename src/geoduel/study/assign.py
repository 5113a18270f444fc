"""Who gets which question: one held already, one that is nobody's, a repeat, or a new one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from ..domains.catalogue import Catalogue
from ..errors import NothingToAskError, StudyFinishedError
from . import holders
from .log import Book, Entry, Event
from .players import Player, Question
from .ranking import LETTERS

__all__ = ["Assigner"]

APART = 5  # duels between a question and its repeat, at least
# Of a rater among several whose own result is so far from the common one, every second question
# follows the rater's own answers, among the first so many. In half the typical distance.
OWN_FAR, OWN_AMONG = 1 / 9, 60
LATE = 60.0  # seconds after which an open question does not hold others back


class Assigner:
    """Chooses questions for raters, from the log and from what the method proposes.

    Parameters
    ----------
    name : str
        Name of the study, for messages.
    settings : dict
        Of the study: ``budget``, ``lease``, ``repeats``, ``repeats_after`` and ``seed``.
    book : Book
        What the log says.
    player : Player
        The method, after the answers in the book.
    alone : callable
        ``alone(rater)`` is the method after the answers of one rater; None where it has none.
    now : callable
        The time by which leases are counted: `Storage.now`.
    """

    def __init__(
        self,
        name: str,
        settings: dict[str, Any],
        book: Book,
        player: Player,
        alone: Callable[[str], Player | None],
        now: Callable[[], float],
    ) -> None:
        self.name, self.settings, self.book, self.player = name, settings, book, player
        self.alone, self.now = alone, now

    def choose(
        self, n: int, rater: str | None, items: Catalogue | None = None, k: int = 2
    ) -> tuple[list[int], list[Event]]:
        """Up to n questions for a rater: ids of those the rater holds, and events that give more.

        With ``items``, all of them are about two of these. New ones show k points.

        Raises
        ------
        NothingToAskError, StudyFinishedError
            If there is none.
        """
        book, now = self.book, self.now()
        me = rater or holders.me()
        # By id: those that were opened again by an undo come first.
        mine = [e for _, e in sorted(book.open.items()) if (e.rater or e.holder) == me]
        mine = [e for e in mine if _is_about(e, items)]
        held = [e.id for e in mine if rater and not self._is_free(e, now)][:n]
        free = (e for e in book.open.values() if self._is_free(e, now) and _is_about(e, items))
        events: list[Event] = [
            {"kind": "lease", "duel": entry.id} for entry in islice(free, n - len(held))
        ]
        if len(held) + len(events) < n:
            most = self._room(mine, now) if n > 1 else math.inf
            by_event = self.settings["format"] < 2
            number = book.number + len(events) + 1 if by_event else len(book.entries)
            new = self._new(rater, number, most, items, k)
            events += islice(new, n - len(held) - len(events))
        if not held and not events and not (held := [e.id for e in mine][:n]):
            raise self._nothing(now)
        who = {"rater": rater} if rater else {"holder": me}
        return held, [event | who for event in events]

    def enqueued(self, a: Any, b: Any, items: Catalogue | None = None) -> Event:
        """The event of a pair that the method did not propose, held by nobody yet."""
        by_event = self.settings["format"] < 2
        number = self.book.number + 1 if by_event else len(self.book.entries)
        more = _indices(items, a, b)
        return _question(len(self.book.entries), a, b, "enqueued", self._side(number), **more)

    def finished(self) -> str | None:
        """Why the study asks no more; None if it does."""
        return self.over_budget() or self.player.stop_reason

    def over_budget(self) -> str | None:
        """The word for it where the budget is spent, otherwise None."""
        budget = self.budget
        return "budget" if budget is not None and self.book.answered >= budget else None

    @property
    def budget(self) -> int | None:
        """Most answers: as the study was made with, or as it was changed to."""
        return self.settings["budget"] if self.book.budget is None else self.book.budget

    # -- new questions ---------------------------------------------------------------------------

    def _new(
        self, rater: str | None, number: int, most: float, items: Catalogue | None, k: int
    ) -> Iterator[Event]:
        """Events of new questions, drawn by that number on: a repeat if due, then others."""
        book, budget = self.book, self.budget
        left = math.inf if budget is None else budget - book.answered - len(book.open)
        if left <= 0 or self.finished() is not None:
            return
        duel = len(book.entries)
        if (again := self._repeat(rater)) is not None and _is_about(again, items):
            flipped = {"a": "b", "b": "a", None: "a"}[again.left]
            more = _indices(items, again.a, again.b)
            yield _question(duel, again.a, again.b, "repeat", flipped, of=again.id, **more)
            duel, number, left = duel + 1, number + 1, left - 1
        if (left := min(left, most)) <= 0:
            return
        for question in self._questions(rater, number, items, k):
            more: Event = {} if question.at is None else {"at": list(question.at)}
            pair = question.a.tolist(), question.b.tolist()
            more |= _indices(items, *pair)
            side: str | None = self._side(number)
            if question.more:
                side = None
                more["more"] = [point.tolist() for point in question.more]
                more["order"] = self._order(number, 2 + len(question.more))
            yield _question(duel, *pair, question.role, side, **more)
            duel, number, left = duel + 1, number + 1, left - 1
            if left <= 0:
                return

    def _side(self, number: int) -> str:
        """Which point of the question of that number is on the left."""
        first = np.random.default_rng([self.settings["seed"], number, 1]).random() < 0.5
        return "a" if first else "b"

    def _order(self, number: int, k: int) -> str:
        """The letters of the k points of the question of that number, as they are shown."""
        rng = np.random.default_rng([self.settings["seed"], number, 1])
        return "".join(rng.permutation(list(LETTERS[:k])))

    def _questions(
        self, rater: str | None, number: int, items: Catalogue | None, k: int
    ) -> Iterator[Question]:
        """New questions of the method: about the common result, or first about the rater's own.

        Questions about the common result tell on which side of it a rater's own ideal is, and not
        how far.
        """
        common = self.player.questions(self.book, number, rater, items, k)
        if rater is None or (own := self._away(rater)) is None:
            return common
        return chain(own.questions(self.book, number, rater, items, k), common)

    def _away(self, rater: str) -> Player | None:
        """The method after the answers of this rater, if due and away from the common result."""
        raters, manifold = self.book.raters, self.player.manifold
        if rater not in raters or not any(name not in ("", rater) for name in raters):
            return None
        asked = raters[rater].answers + raters[rater].skips
        if asked % 2 == 0 or asked > OWN_AMONG or (own := self.alone(rater)) is None:
            return None
        apart = manifold.dist(own.state.best, self.player.state.best)
        return own if apart > OWN_FAR * manifold.typical_dist / 2 else None

    def _repeat(self, rater: str | None) -> Entry | None:
        """A duel to ask this rater again, if one is due."""
        book, share = self.book, self.settings["repeats"]
        tally = book.raters.get(rater or "")
        if not share or tally is None:
            return None
        waiting = sum(e.role == "repeat" and e.rater == rater for e in book.open.values())
        # Studies of earlier versions repeat from the start.
        since = tally.answers + tally.skips - self.settings.get("repeats_after", 0)
        if tally.repeats + waiting >= share * since:
            return None
        taken = {e.of for e in book.entries if e.of is not None and e.rater == rater}
        choice = [
            e
            for e in book.entries[:-APART]
            if e.answer in ("a", "b") and e.rater == rater and e.of is None and e.left
        ]
        choice = [e for e in choice if e.id not in taken]
        if not choice:
            return None
        rng = np.random.default_rng([self.settings["seed"], len(book.entries), 2])
        return choice[rng.integers(len(choice))]

    def _room(self, mine: list[Entry], now: float) -> float:
        """How many new questions are useful for someone who wants several, given those out.

        A rater who holds none gets one in any case: raters are not kept waiting for each other.
        """
        most = self.player.open_at_once
        if most is None:
            return math.inf
        out = sum(_held(entry, now) < LATE for entry in self.book.open.values())
        return max(most - out, 0 if mine else 1)

    # -- questions that are out ------------------------------------------------------------------

    def _is_free(self, entry: Entry, now: float) -> bool:
        """Whether an open question may go to someone else: its time is over, or its process.

        One that was enqueued for anybody is nobody's.
        """
        if entry.role == "enqueued" and entry.rater is None and entry.holder is None:
            return True
        return _held(entry, now) > self.settings["lease"] or holders.is_dead(entry.holder)

    def _nothing(self, now: float) -> Exception:
        """The error that says why there is no question."""
        if (reason := self.finished()) is not None:
            return StudyFinishedError(
                f"study {self.name!r} asks no more: {reason}; recommend() is the result", reason
            )
        since = [_held(e, now) for e in self.book.open.values()]
        wait = max(0.0, self.settings["lease"] - max(since, default=0.0))
        return NothingToAskError(
            f"study {self.name!r}: all {len(since)} open questions are out, and nothing can be "
            f"asked before one is answered; the first may be asked again in {wait:.0f} s",
            wait,
        )


def _held(entry: Entry, now: float) -> float:
    """Seconds for which a lease has run; from now on where a clock was wrong."""
    entry.held_since, entry.leased = min(entry.held_since, now), min(entry.leased, now)
    return now - entry.leased


def _question(duel: int, a: Any, b: Any, role: str, left: str | None, **more: Any) -> Event:
    """The event of a new question; points as in the log."""
    return {"kind": "question", "duel": duel, "a": a, "b": b, "role": role, "left": left, **more}


def _is_about(entry: Entry, items: Catalogue | None) -> bool:
    """Whether a duel is about two of the items, if there are any."""
    return items is None or (entry.a in items and entry.b in items)


def _indices(items: Catalogue | None, a: Any, b: Any) -> Event:
    """Which items the points of a question are, for its event."""
    return {} if items is None else {"items": [items.index(a), items.index(b)]}
