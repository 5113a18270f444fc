"""What a study hands out: one duel, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtraError
from ..manifolds.base import Manifold
from .log import Entry
from .ranking import LETTERS
from .raters import Rater

if TYPE_CHECKING:
    import pandas

__all__ = ["Duel", "Progress", "Upgrade", "as_duel", "dataframe"]


@dataclass(frozen=True, eq=False)
class Duel:
    """One question of a study, as it was when it was looked at.

    Attributes
    ----------
    id : int
        0, 1, 2, ... in the order of asking.
    a, b : ndarray of shape point_shape, or dict
        The two points, read-only; dictionaries where their parts have names.
    role : str
        "question"; "repeat" of an earlier duel, with sides flipped; "vote", the same question to
        someone else. "enqueued" is a pair that the method did not propose, and "report" a
        comparison that came from outside.
    left : {"a", "b"} or None
        Which point to show on the left, or first. Drawn by the study, so that a rater who prefers
        one side does not mislead it. None for reports, and where more than two are shown.
    rater : str or None
        Name of the rater who has the duel, or answered it.
    answer : str or None
        "a", "b", "tie" or "skip"; of more than two points also a ranking, such as "c>abd". None
        without an answer.
    state : {"open", "answered", "withdrawn"}
        Withdrawn are questions that followed from an answer that was taken back.
    asked, answered : float or None
        Seconds since 1970.
    of : int or None
        The duel that a repeat repeats.
    points : tuple of ndarray
        All points, two or more, as arrays, whether or not their parts have names.
    items : tuple of int or None
        Which items of a catalogue a and b are; None without one.
    infeasible : {"a", "b", "both"} or None
        Of which points it was said that they cannot be.
    strength : {"slightly", "clearly"} or None
        How much better the preferred one of two points is, where that was said.
    order : str or None
        The letters of all points of a question that shows more than two, in the order to show them.
    held : float or None
        Since when the rater has it, or had it until the answer, seconds since 1970: a question may
        have been with others before.
    """

    id: int
    a: Any
    b: Any
    role: str
    left: str | None
    rater: str | None
    answer: str | None
    state: str
    asked: float
    answered: float | None
    of: int | None
    points: tuple[np.ndarray, ...] = field(repr=False)
    items: tuple[int, int] | None = None
    infeasible: str | None = None
    strength: str | None = None
    order: str | None = None
    held: float | None = None

    @property
    def seconds(self) -> float | None:
        """How long the rater had it until the answer; None without one, and for reports."""
        if self.answered is None or self.held is None:
            return None
        return max(0.0, self.answered - self.held)  # clocks differ

    @property
    def more(self) -> tuple[np.ndarray, ...]:
        """Points c, d, ... of a question that shows more than two."""
        return self.points[2:]

    @property
    def shown(self) -> str:
        """The letters of the points, in the order to show them."""
        return self.order or {"a": "ab", "b": "ba", None: "ab"}[self.left]

    @property
    def in_order(self) -> tuple[np.ndarray, ...]:
        """The points as arrays, in the order to show them."""
        return tuple(self.points[LETTERS.index(letter)] for letter in self.shown)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.id)

    def _key(self) -> tuple[Any, ...]:
        points = tuple(point.tobytes() for point in self.points)
        said = self.rater, self.answer, self.strength
        return (self.id, *points, self.role, self.left, *said, self.state)


def as_duel(entry: Entry, dtype: np.dtype, manifold: Manifold) -> Duel:
    """What the book knows of a duel, as it is handed out."""
    a, b, *more = (np.array(point, dtype) for point in entry.points)
    for point in (a, b, *more):
        point.flags.writeable = False
    return Duel(
        id=entry.id,
        a=manifold.unpack(a),
        b=manifold.unpack(b),
        role=entry.role,
        left=entry.left,
        rater=entry.rater,
        answer=entry.answer,
        state="open" if entry.is_open else "withdrawn" if entry.withdrawn else "answered",
        asked=entry.asked,
        answered=entry.answered,
        of=entry.of,
        points=(a, b, *more),
        items=entry.items,
        infeasible=entry.infeasible,
        strength=entry.strength,
        order=entry.order,
        held=None if entry.role == "report" else entry.held_since,
    )


def dataframe(duels: Sequence[Duel], manifold: Manifold) -> pandas.DataFrame:
    """Duels as a table of pandas; see `geoduel.Study.to_dataframe`."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("to_dataframe needs pandas: pip install pandas") from None
    names = [f.name for f in fields(Duel) if f.repr]
    columns = {name: [getattr(duel, name) for duel in duels] for name in names}
    most = max((len(duel.points) for duel in duels), default=2)
    for k, letter in enumerate(LETTERS[2:most], start=2):
        columns[letter] = [
            manifold.unpack(duel.points[k]) if k < len(duel.points) else None for duel in duels
        ]
    table = pandas.DataFrame({k: pandas.Series(v, dtype=object) for k, v in columns.items()})
    table["of"] = table["of"].astype("Int64")
    for name in ("asked", "answered", "held"):
        table[name] = pandas.to_datetime(table[name].astype(float), unit="s", utc=True)
    table["seconds"] = pandas.Series([duel.seconds for duel in duels], dtype=float)
    points = list(LETTERS[:most])
    others = [name for name in table if name not in ("id", *points)]
    return table.set_index("id").reindex(columns=[*points, *others])


@dataclass(frozen=True)
class Progress:
    """How far a study is.

    Attributes
    ----------
    answered : int
        Answers that count, ties included.
    ties, skips, open, reports : int
        Ties among them, questions skipped, questions that wait for an answer, and comparisons that
        came from outside.
    budget : int or None
        Most answers wanted.
    uncertainty : float or None
        How well the answer is known, a geodesic length. Methods made for people give the radius of
        their 80 % region, the others an estimated distance to the optimum.
    noise : float or None
        Estimated probability that an answer is wrong.
    remaining : int or None
        About how many more answers reach the accuracy asked for; None if there is no telling.
    finished : str or None
        Why the study asks no more: "budget", "iterations", "x_tol", "resolution". "items": fewer
        than two items are feasible. "version": another version of its method made it. None if it
        asks.
    raters : dict of str to Rater
        How each rater answered, and how consistently; "" are those without a name.
    history : list of (int, float)
        Answers given, and the uncertainty after them.
    note : str or None
        What is to be said of a study that another version of its method made.
    """

    answered: int
    ties: int
    skips: int
    open: int
    reports: int
    budget: int | None
    uncertainty: float | None
    noise: float | None
    remaining: int | None
    finished: str | None
    raters: dict[str, Rater]
    history: list[tuple[int, float]]
    note: str | None = None


@dataclass(frozen=True)
class Upgrade:
    """What changed when a study was handed over to the present version of its method.

    Attributes
    ----------
    before, after : int
        Versions of the method.
    answers : int
        Answers and reports that the new version has learned from.
    moved : float
        Geodesic distance between the old recommendation and the new one.
    uncertainties : tuple of float or None
        How well each of them is known, as in `Progress.uncertainty`.
    """

    before: int
    after: int
    answers: int
    moved: float
    uncertainties: tuple[float | None, float | None]
