"""The log of a study, and the book that is kept from it.

A study is an append-only list of events, one JSON line each, numbered 1, 2, ...:

    question   a pair goes out: duel, a, b, role, left, rater, and where in the method it belongs;
               of a catalogue, also the indices of the items; further points are in more, and the
               order in which all are shown in order
    lease      an unanswered duel goes out again, perhaps to someone else; renewed: its holder is
               still at work on it
    answer     "a", "b", "tie" or "skip"; infeasible: "a", "b" or "both", of points that cannot be;
               strength: "slightly" or "clearly", where one was stated; to more than two points
               also as `ranking` says
    report     an outside comparison: better, worse
    undo       the number of the answer (or report) that is taken back
    attribute  a user attribute: key, value
    settings   the digest of the settings, so that altered ones are recognised
    result     what the study recommends after the answers so far: point, uncertainty, noise
    upgrade    the version of the method that has learned from the answers so far
    budget     the number of answers that are wanted from now on: value

Nothing is ever changed or removed, an undo included, so that the log also says who did what when.
Each event is chained to those before it by a digest: a log that was altered is recognised.

`Book` follows the log and knows what is open, who holds it, and which answers count. It knows
nothing of manifolds and methods; `geoduel.study.players` replays those from what counts.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .codec import decode_state
from .ranking import canonical
from .raters import Tally

__all__ = [
    "EMPTY",
    "GRADED",
    "INFEASIBLE",
    "KINDS",
    "STRENGTHS",
    "UNASKED",
    "WORDS",
    "Book",
    "Entry",
    "Event",
    "Given",
    "Kept",
    "Row",
    "chain",
    "event_line",
    "seal",
]

EMPTY = "0" * 32  # digest of the log without events
KINDS = (
    "question",
    "lease",
    "answer",
    "report",
    "undo",
    "attribute",
    "settings",
    "result",
    "upgrade",
    "budget",
)
WORDS = ("a", "b", "tie", "skip")
INFEASIBLE = {
    "a infeasible": ("b", "a"),
    "b infeasible": ("a", "b"),
    "both infeasible": ("skip", "both"),
}
"""What is told of points that cannot be: the answer that it stands for, and which ones."""
STRENGTHS = ("slightly", "clearly")
GRADED = {f"{point} {strength}": (point, strength) for point in "ab" for strength in STRENGTHS}
"""What is told with a strength: the answer, and how much better the point is."""
UNASKED = ("report", "enqueued")  # roles of pairs that the method did not propose
RANKED = "ranked"  # in counts: an answer to more than two points
LAST = 8  # results that are remembered, for undo

Event = dict[str, Any]


class Row(NamedTuple):
    """One event as it is stored."""

    number: int
    line: str
    digest: str


def event_line(event: Event) -> str:
    """The event as one line of JSON."""
    return json.dumps(event, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def chain(digest: str, line: str) -> str:
    """Digest of a log that is longer by one line."""
    return hashlib.blake2b((digest + line).encode("ascii"), digest_size=16).hexdigest()


def seal(settings: dict[str, Any]) -> str:
    """Digest of settings, whatever the order of their keys and the spaces between them."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


@dataclass(slots=True)
class Entry:
    """What the book knows of one duel; points are nested lists as in the log."""

    id: int
    a: Any
    b: Any
    role: str
    left: str | None
    asked: float
    rater: str | None
    at: tuple[int, int] | None = None  # batch of the method and place in it
    of: int | None = None  # the duel that a repeat repeats
    items: tuple[int, int] | None = None  # which of a catalogue a and b are
    answer: str | None = None
    infeasible: str | None = None  # "a", "b" or "both"
    strength: str | None = None  # one of STRENGTHS
    answered: float | None = None
    number: int | None = None  # of the event that answered it
    withdrawn: bool = False
    holder: str | None = None
    held_since: float = 0.0
    leased: float = 0.0  # since when its lease counts: later than it is held, where it was renewed
    more: tuple[Any, ...] = ()  # points beyond a and b
    order: str | None = None  # letters of all points, as shown

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self.answer is None and not self.withdrawn

    @property
    def points(self) -> tuple[Any, ...]:
        """All points, two or more."""
        return self.a, self.b, *self.more


class Given(NamedTuple):
    """An answer that counts, as the method is given it."""

    number: int  # of its event
    duel: int
    answer: str
    rater: str | None
    weight: float  # of the rater, when it was given


class Kept(NamedTuple):
    """What the study recommended once so many answers had counted."""

    given: int
    point: Any  # nested lists
    uncertainty: float | None
    noise: float | None
    stopped: str | None  # why the method asks no more


@dataclass
class Book:
    """State of a study as far as the log alone tells it; `take` brings it up to date.

    Attributes
    ----------
    digests : list of str
        Of the log after each event.
    entries : list of Entry
        All duels by id.
    open : dict of int to Entry
        Those that wait for an answer, oldest first.
    given : list of Given
        Answers that count, in the order of the log.
    raters : dict of str to Tally
        Counts of each rater.
    answers : dict of str to int
        How many answers of each kind count, all rankings together; ``reports`` are counted apart.
    results : deque of Kept
        The last results, of answers that still count.
    history : list of (int, float)
        Answers given, and the uncertainty after them, of all results.
    sealed : str or None
        Digest of the settings; None in a log of an earlier version of the package.
    version : int or None
        Of the method that the study was upgraded to.
    budget : int or None
        Most answers, where that was changed after the study was made.
    """

    digests: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    open: dict[int, Entry] = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)
    raters: dict[str, Tally] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*WORDS, RANKED), 0))
    reports: int = 0
    repeats: dict[int, list[int]] = field(default_factory=dict)  # of each duel
    results: deque[Kept] = field(default_factory=lambda: deque(maxlen=LAST))
    history: list[tuple[int, float]] = field(default_factory=list)
    sealed: str | None = None
    version: int | None = None
    budget: int | None = None
    rewound: int | None = None  # the first index of `given` that changed since a player looked

    @property
    def number(self) -> int:
        """Of the last event."""
        return len(self.digests)

    @property
    def digest(self) -> str:
        """Of the log."""
        return self.digests[-1] if self.digests else EMPTY

    @property
    def answered(self) -> int:
        """Answers that count, ties included."""
        return sum(self.answers.values()) - self.answers["skip"]

    def is_built_on(self, given: Given) -> bool:
        """Whether an answer led to questions that have answers, so that it cannot be taken back.

        A vote that came when those had answers already is one that led to nothing. A comparison
        that a method with batches did not ask for may have led to anything that came after it.
        """
        at = self.entries[given.duel].at
        if self.entries[given.duel].role in UNASKED:
            later = (other.duel for other in self.given if other.number > given.number)
            return any(self.entries[duel].at is not None for duel in later)
        if at is None:
            return False
        places = ((self.entries[other.duel].at, other.number) for other in self.given)
        later = (number for place, number in places if place is not None and place[0] > at[0])
        return next(later, 0) > given.number

    def infeasible(self) -> list[Any]:
        """Points of which somebody has said that they cannot be."""
        said = [(entry, entry.infeasible) for entry in self.entries if entry.infeasible]
        points = [entry.a for entry, which in said if which != "b"]
        return points + [entry.b for entry, which in said if which != "a"]

    def of_raters(self, *raters: str) -> Book:
        """A book of the same duels in which only the answers of some raters count."""
        return Book(entries=self.entries, given=[g for g in self.given if g.rater in raters])

    def take(self, rows: Iterable[Row]) -> list[Event]:
        """Take the next events, those already known left out; returns the new ones.

        Raises
        ------
        ValueError
            If a number is missing or a digest is wrong: the log is not what was written.
        """
        events = []
        for number, line, digest in rows:
            if number <= self.number:
                continue
            if number != self.number + 1 or chain(self.digest, line) != digest:
                raise ValueError(f"event {number} does not follow event {self.number}")
            event = json.loads(line)
            if event["kind"] not in KINDS:
                raise ValueError(f"event {number} is of an unknown kind {event['kind']!r}")
            getattr(self, "_" + event["kind"])(number, event)
            self.digests.append(digest)
            events.append(event)
        return events

    # -- one method for each kind of event -------------------------------------------------------

    def _question(self, number: int, event: Event) -> None:
        at = event.get("at")
        if event["duel"] != len(self.entries):
            raise ValueError(f"event {number} has duel {event['duel']}, not {len(self.entries)}")
        if event.get("of") is not None and event["of"] >= len(self.entries):
            raise ValueError(f"event {number} repeats duel {event['of']}, which is not there")
        entry = Entry(
            id=event["duel"],
            a=event["a"],
            b=event["b"],
            role=event["role"],
            left=event["left"],
            asked=event["time"],
            rater=event.get("rater"),
            at=None if at is None else tuple(at),
            of=event.get("of"),
            items=None if event.get("items") is None else tuple(event["items"]),
            more=tuple(event.get("more", ())),
            order=event.get("order"),
        )
        if entry.of is not None:
            self.repeats.setdefault(entry.of, []).append(entry.id)
        self.entries.append(entry)
        self.open[entry.id] = entry
        self._hold(entry, event)

    def _lease(self, number: int, event: Event) -> None:
        entry = self.open[event["duel"]]
        if event.get("renewed"):
            entry.leased = event["time"]
            return
        entry.rater = event.get("rater")
        self._hold(entry, event)

    def _hold(self, entry: Entry, event: Event) -> None:
        entry.holder = event.get("holder")
        entry.held_since = entry.leased = event["time"]

    def _answer(self, number: int, event: Event) -> None:
        entry, answer = self.open[event["duel"]], event["answer"]
        k = len(entry.points)
        if not (answer in WORDS if k == 2 else answer == canonical(answer, k)):
            raise ValueError(f"event {number} has no answer to duel {entry.id}: {answer!r}")
        strength = event.get("strength")
        if strength is not None and (k > 2 or answer not in ("a", "b")):
            raise ValueError(f"event {number} has a strength of {answer!r}, to duel {entry.id}")
        entry.answer, entry.answered, entry.number = answer, event["time"], number
        entry.rater, entry.infeasible = event.get("rater"), event.get("infeasible")
        entry.strength = strength
        del self.open[entry.id]
        weight = self._tally(entry, answer, +1).weight
        self.given.append(Given(number, entry.id, answer, entry.rater, weight))

    def _report(self, number: int, event: Event) -> None:
        rater = event.get("rater")
        entry = Entry(
            id=len(self.entries),
            a=event["better"],
            b=event["worse"],
            role="report",
            left=None,
            asked=event["time"],
            rater=rater,
            answer="a",
            answered=event["time"],
            number=number,
        )
        self.entries.append(entry)
        self.reports += 1
        weight = self.raters.get(rater or "", Tally()).weight
        self.given.append(Given(number, entry.id, "a", rater, weight))

    def _undo(self, number: int, event: Event) -> None:
        index = next(i for i, g in enumerate(self.given) if g.number == event["number"])
        given = self.given.pop(index)
        entry = self.entries[given.duel]
        self.rewound = index if self.rewound is None else min(index, self.rewound)
        for known in (self.results, self.history):
            while known and known[-1][0] > index:
                known.pop()
        if entry.role == "report":
            self.reports -= 1
            entry.withdrawn = True
        else:
            self._tally(entry, given.answer, -1)
            self._hold(entry, event)
            self.open[entry.id] = entry
        entry.answer = entry.answered = entry.number = None
        entry.infeasible = entry.strength = None
        for other in list(self.open.values()):  # what the method asked because of that answer
            followed = other.at[0] > entry.at[0] if entry.at and other.at else False
            if followed or (other.at and entry.role in UNASKED):
                other.withdrawn = True
                del self.open[other.id]

    def _budget(self, number: int, event: Event) -> None:
        self.budget = event["value"]

    def _attribute(self, number: int, event: Event) -> None:
        self.attributes[event["key"]] = event["value"]

    def _settings(self, number: int, event: Event) -> None:
        if self.sealed not in (None, event["digest"]):
            raise ValueError(f"event {number} belongs to other settings")
        self.sealed = event["digest"]

    def _result(self, number: int, event: Event) -> None:
        uncertainty, noise = decode_state(event["uncertainty"]), decode_state(event["noise"])
        kept = Kept(len(self.given), event["point"], uncertainty, noise, event["stopped"])
        self.results.append(kept)
        if uncertainty is not None and math.isfinite(uncertainty):
            self.history.append((kept.given, uncertainty))

    def _upgrade(self, number: int, event: Event) -> None:
        self.version = event["version"]

    # -- counts ----------------------------------------------------------------------------------

    def _tally(self, entry: Entry, answer: str, by: int) -> Tally:
        """Count an answer (by = 1), or take it back (-1); returns the counts of its rater."""
        self.answers[answer if answer in WORDS else RANKED] += by
        rater = self.raters.setdefault(entry.rater or "", Tally())
        rater.count(answer, by, entry.left)
        pairs = [(entry, self.entries[i]) for i in self.repeats.get(entry.id, ())]
        if entry.of is not None:
            pairs.append((self.entries[entry.of], entry))
        for first, again in pairs:  # counted while both have an answer, whichever came last
            if first.answer is not None and again.answer is not None and first.rater == again.rater:
                rater.compare(first.answer, again.answer, by)
        return rater
