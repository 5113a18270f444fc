"""Studies: questions now, answers when they come."""

from __future__ import annotations

import json
import logging
import math
import platform
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from .._numerics.arrays import Array
from .._support.check import (
    as_path,
    function,
    instance,
    nonnegative,
    plain_word,
    positive,
    positive_int,
    several,
    text,
    truth,
)
from .._support.pools import as_executor
from .._version import __version__
from ..domains.base import Domain
from ..domains.catalogue import Catalogue
from ..errors import (
    AlreadyAnsweredError,
    ArgumentError,
    NothingToAskError,
    OlderStudyWarning,
    ReplayError,
    StudyFinishedError,
)
from ..manifolds.base import Manifold
from ..methods import Method
from ..methods.frame import Frame
from ..methods.people.attention import Verdict
from ..methods.people.choice import no_choice
from ..methods.people.questions import PersonMethod, QuestionMethod
from ..oracles.base import Oracle, check_oracle, handed
from . import holders
from .answering import Answering
from .assign import Assigner
from .codec import check_json, decode_settings, encode_state, is_text
from .crowd import Camp, Disagreement, Heard, own_ideal, partition, shrunk
from .forecast import answers_left
from .journal import Journal, opening
from .log import GRADED, INFEASIBLE, WORDS, Book, Entry, Event, Given, Kept, Row
from .players import Player, player
from .ranking import canonical
from .raters import Rater, against_others, composed
from .records import Duel, Progress, Upgrade, as_duel, dataframe
from .settings import (
    catalogue_of,
    check_choices,
    method_version,
    part,
    read_settings,
    version_note,
)
from .storage.base import Storage
from .storage.memory import MemoryStorage
from .transfer import export_text, write_export

if TYPE_CHECKING:
    import pandas

__all__ = ["Study"]

Items: TypeAlias = Catalogue | Array | None

COSTLY = 0.5  # seconds of replay that are worth a snapshot
ENOUGH = 8  # answers of a doubtful rater, from which on the tastes of all are compared
ALONE = 64  # states of single raters and of camps that are kept
logger = logging.getLogger("geoduel")


class Study:
    """A run of a method whose answers come when they come; `create_study` makes one.

    All methods may be called from several threads, and a study in a database from several
    processes at once.

    Parameters
    ----------
    name : str
        Name in the storage.
    storage : Storage
        Where its log is.
    manifold, method : optional
        Parts that the settings cannot hold, of the user's own; see `load_study`.
    among : Catalogue or array, optional
        Items that the study was made with, which its settings do not hold either.

    Attributes
    ----------
    name : str
        Name in the storage.
    manifold, method
        Where the points live, and what asks.
    settings : dict
        What the study was made with, as in an export.
    catalogue : Catalogue or None
        The items that are shown; None if any point is, or if the items were not given.
    """

    def __init__(
        self,
        name: str,
        storage: Storage,
        manifold: Manifold | None = None,
        method: Method | None = None,
        among: Catalogue | Array | None = None,
    ) -> None:
        text(name, "name")
        instance(storage, "storage", Storage, "a Storage; load_study takes a URL, too")
        self.name = name
        self.settings = read_settings(storage.settings(name), name)
        self._journal = Journal(name, storage, self.settings)
        self._book = self._journal.book
        self._journal.read()
        self.manifold: Manifold = part(self.settings, "manifold", manifold, name)
        self.method: Any = part(self.settings, "method", method, name)
        self.catalogue = catalogue_of(self.settings, self.manifold, among, name)
        self._given = (manifold, method, self.catalogue)
        self._left: tuple[Catalogue, set[int], Catalogue] | None = None  # without the infeasible
        self._lock = threading.RLock()
        self._player = self._new_player()
        self._alone: dict[tuple[str, ...], Player] = {}  # by the raters whose answers they know
        self._assigner = Assigner(
            name, self.settings, self._book, self._player, self._alone_if_able, storage.now
        )
        self._camps: tuple[Any, list[tuple[str, ...]], list[float]] | None = None
        self._seconds = 0.0  # of replay since the last snapshot
        self._answering: list[Answering] = []  # runs of `optimize`
        self._tracing = threading.Lock()
        self._traced: tuple[list[Any], Player, list[tuple[int, np.ndarray]]] | None = None
        if self.note is not None:
            warnings.warn(f"study {name!r} was {self.note}", OlderStudyWarning, stacklevel=3)
        version = method_version(self.method)
        if (at := self._journal.load_snapshot(version)) is not None:
            self._player.resume(at)
            self._book.rewound = None
        try:
            self._follow()
        except ReplayError:
            raise
        except Exception:  # the method's own; `ask` says it, and `undo` may be the remedy
            return
        self._snapshot()

    @classmethod
    def _create(
        cls,
        storage: Storage,
        name: str,
        settings: str,
        manifold: Manifold | None,
        method: Method | None,
        among: Catalogue | Array | None = None,
        rows: Sequence[Row] = (),
        rehearse: bool = False,
    ) -> Study:
        """Store a new study, with the rows that its log holds already.

        It is replayed in memory first, so that no study is stored that cannot be opened, nor one
        that cannot be used: ``rehearse``.
        """
        draft = MemoryStorage()
        rows = rows or opening(json.loads(settings), storage.now())
        draft.create(name, settings, rows)
        study = cls(name, draft, manifold, method, among)
        if rehearse:
            study._rehearse()
        storage.create(name, settings, rows)
        study._journal.storage = storage
        study._snapshot()
        return study

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.method_name!r} on {self.manifold!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.storage.url is None:
            raise TypeError("a study in memory stays in its process; give it a storage")
        return Study, (self.name, self.storage, *self._given)

    # -- what it is ------------------------------------------------------------------------------

    @property
    def storage(self) -> Storage:
        """Where its log is."""
        return self._journal.storage

    @property
    def method_name(self) -> str:
        """Name of the method, as `create_study` takes it."""
        return self.settings["method_name"]

    @property
    def domain(self) -> Domain | None:
        """Feasible set, if any."""
        return self.method.domain

    @property
    def budget(self) -> int | None:
        """Most answers wanted."""
        with self._lock:
            self._journal.read()
            return self._assigner.budget

    @budget.setter
    def budget(self, most: int) -> None:
        """Want more answers, or fewer, from now on.

        Raises
        ------
        ArgumentError
            If it is no integer >= 1, or the method has planned its steps for another length.
        """
        positive_int(most, "budget")
        event = {"kind": "budget", "value": most}
        with self._lock:
            planned = self._new_player(most).method
            if planned != self._player.method:
                raise ArgumentError(
                    f"budget={most} is another run of {self.method_name!r}, whose steps depend on "
                    f"its length: make a new study"
                )
            self._journal.write(lambda: [event])

    @property
    def choices(self) -> int:
        """How many points a question shows, unless `ask` is told otherwise."""
        return self.settings.get("choices", 2)

    @property
    def note(self) -> str | None:
        """What is to be said of a study that another version of its method made, or None."""
        return version_note(self.settings, self.method, self._made_with())

    @property
    def duels(self) -> list[Duel]:
        """Every duel, by id."""
        with self._lock:
            self._journal.read()
            return [self._duel(entry) for entry in self._book.entries]

    def duel(self, number: int) -> Duel:
        """Return one duel by its id, without looking at the others."""
        number = positive_int(number, "number", least=0)
        with self._lock:
            self._journal.read()
            if number >= len(self._book.entries):
                raise ArgumentError(f"study {self.name!r} has no duel {number}")
            return self._duel(self._book.entries[number])

    def answered_ids(self, rater: str | None = None) -> list[int]:
        """Return the ids of the duels with an answer, the last first.

        Parameters
        ----------
        rater : str, optional
            Those that this rater answered, by default all. `duel` returns one of them, without the
            time that all take where there are many.
        """
        rater = self._who(rater)
        with self._lock:
            self._journal.read()
            return [
                entry.id
                for entry in reversed(self._book.entries)
                if entry.answer is not None and (rater is None or entry.rater == rater)
            ]

    def _asked(self) -> set[str]:
        """Names of the raters who have or had a question."""
        with self._lock:
            self._journal.read()
            return {entry.rater for entry in self._book.entries if entry.rater}

    @property
    def open_duels(self) -> list[Duel]:
        """Duels that wait for an answer, oldest first."""
        with self._lock:
            self._journal.read()
            return [self._duel(entry) for entry in self._book.open.values()]

    @property
    def user_attrs(self) -> dict[str, Any]:
        """What `set_user_attr` attached."""
        with self._lock:
            self._journal.read()
            return json.loads(json.dumps(self._book.attributes))

    def set_user_attr(self, key: str, value: Any, once: bool = False) -> bool:
        """Attach a value that JSON can hold; return whether it was attached.

        Parameters
        ----------
        key : str
            Name; what it held before is replaced.
        value : object
            Texts, finite numbers, booleans, None, and lists and dictionaries of these.
        once : bool
            Leave what the key holds already, whoever attached it. Of many processes that try at the
            same time one is the first.
        """
        text(key, "key")
        truth(once, "once")
        event = {"kind": "attribute", "key": key, "value": check_json(value, "value")}

        def decide() -> list[Event]:
            return [] if once and key in self._book.attributes else [event]

        with self._lock:
            return bool(self._journal.write(decide))

    # -- asking ----------------------------------------------------------------------------------

    @overload
    def ask(
        self,
        n: Literal[1] = 1,
        rater: str | None = None,
        *,
        among: Items = None,
        choices: int | None = None,
    ) -> Duel: ...
    @overload
    def ask(
        self,
        n: int,
        rater: str | None = None,
        *,
        among: Items = None,
        choices: int | None = None,
    ) -> list[Duel]: ...

    def ask(
        self,
        n: int = 1,
        rater: str | None = None,
        *,
        among: Items = None,
        choices: int | None = None,
    ) -> Any:
        """Return the question to put next.

        In this order: questions that this rater holds already; pairs of `enqueue`, and questions
        whose lease is over; now and then a repeat; new questions of the method. So a page that is
        loaded again shows the same question. Calls without a name are the same rater if they come
        from one thread of one process. Such a caller gets its own question again only where there
        is no other.

        Parameters
        ----------
        n : int
            Most questions to return; they can be answered in any order. Fewer, if no more are
            useful at once: see `geoduel.methods.people.questions.QuestionMethod.open_at_once`.
        rater : str, optional
            Who will answer. Named raters are told apart in `progress`.
        among : Catalogue or array of shape (n, *point_shape), optional
            Items that exist now: the questions are about two of these, and ``duel.items`` says
            which. By default those the study was made with, if any. Only for methods made for
            people, which learn from any pair. Make a `geoduel.Catalogue` once where there are many.
        choices : int, optional
            How many points a new question shows, from 2 to 6; by default what the study was made
            with. `Duel.points` has them all.

        Returns
        -------
        Duel or list of Duel
            One duel for n = 1, otherwise a list of 1 to n.

        Raises
        ------
        ArgumentError
            If items, or more than two points, are asked for and the method was not made for people.
        NothingToAskError
            If all questions are out and held by others; ``retry_after`` says for how long.
        StudyFinishedError
            If there are no more questions.
        StorageError
            If the database fails.
        """
        positive_int(n, "n")
        rater = self._who(rater)
        items = self._items(among)
        k = check_choices(self.choices if choices is None else choices, self.method, items)
        with self._lock:
            self._journal.read()
            if (reason := self._over()) is not None:
                raise self._finished(reason)
            self._follow()
            seen = self._book.number
            # Chosen before the turn to write, which should be short.
            choice = self._assigner.choose(n, rater, self._to_ask(items), k)

            def decide() -> list[Event]:
                nonlocal choice
                if self._book.number != seen:  # somebody wrote in between
                    self._follow()
                    choice = self._assigner.choose(n, rater, self._to_ask(items), k)
                return choice[1]

            written = self._journal.write(decide, durable=False) if choice[1] else []
            self._snapshot()
            ids = choice[0] + [event["duel"] for event in written]
            duels = [self._duel(self._book.entries[i]) for i in ids]
        logger.debug("study %r: duels %s are asked of %s", self.name, ids, rater or "anybody")
        return duels[0] if n == 1 else duels

    def _renew(self, at_work: dict[int, str]) -> None:
        """Let the leases of questions begin anew, by ids, for those who still hold them."""

        def decide() -> list[Event]:
            entries = ((self._book.open.get(duel), who) for duel, who in at_work.items())
            return [
                {"kind": "lease", "duel": entry.id, "holder": who, "renewed": True}
                for entry, who in entries
                if entry is not None and entry.holder == who
            ]

        with self._lock:
            self._journal.write(decide, durable=False)

    # -- telling ---------------------------------------------------------------------------------

    def tell(
        self,
        duel: Duel | int,
        answer: str | bool,
        rater: str | None = None,
        skip_if_finished: bool = False,
    ) -> Duel:
        """Record the answer to a duel.

        Parameters
        ----------
        duel : Duel or int
            The duel, or its id.
        answer : str or bool
            Which point is better, "a" or "b"; or True or False, whether a is. Capitals and spaces
            do not matter. A "tie" is an answer; a "skip" is none, and another question is asked.
            How much better it is may be said, too: "a slightly", "a clearly". Each rater may mean
            their own by it. A point that cannot be loses against the other one: "a infeasible", "b
            infeasible", or "both infeasible", which is a skip. An infeasible item of a catalogue is
            neither shown nor recommended again, as long as there is another.

            Of more than two points the answer may name the best one, such as "c", or rank some or
            all from the best to the worst: "c>a", "c>bd>a", "c>b=d>a". Letters side by side are not
            ordered, and those that are missing are worse than those named.
        rater : str, optional
            Who answered, by default the one it was asked of.
        skip_if_finished : bool
            Where the duel has an answer already, do nothing instead of raising.

        Returns
        -------
        Duel
            The duel with its answer.

        Raises
        ------
        AlreadyAnsweredError
            If it has an answer, or was withdrawn.
        ArgumentError
            If there is no such duel, it is another study's, or there is no such answer.
        StorageError
            If the database fails; the answer is then not recorded.
        """
        return self._tell(duel, answer, rater, truth(skip_if_finished, "skip_if_finished"))

    def _tell(
        self,
        duel: Duel | int,
        answer: str | bool,
        rater: str | None = None,
        skip_if_finished: bool = False,
        durable: bool = True,
    ) -> Duel:
        """`tell`, which need not wait for the disk."""
        number, rater = _number(duel), self._who(rater)

        def decide() -> list[Event]:
            entries = self._book.entries
            if number >= len(entries):
                raise ArgumentError(
                    f"duel {number} is not of study {self.name!r}, which has {len(entries)}"
                )
            entry = entries[number]
            if isinstance(duel, Duel) and not _same_points(duel, self._duel(entry)):
                raise ArgumentError(
                    f"duel {number} is not of study {self.name!r}, whose duel {number} has other "
                    "points: tell it to the study that asked"
                )
            infeasible = strength = None
            if entry.more:
                said = plain_word(answer) if isinstance(answer, str) else answer
                said = canonical(said, len(entry.points))  # type: ignore[arg-type]
            else:
                said = _word(answer)
                said, infeasible = INFEASIBLE.get(said, (said, None))
                said, strength = GRADED.get(said, (said, None))
            if not entry.is_open:
                if skip_if_finished:
                    return []
                what = "was withdrawn" if entry.withdrawn else f"was answered {entry.answer!r}"
                raise AlreadyAnsweredError(
                    f"duel {number} {what}; undo takes the last answer back, and "
                    "skip_if_finished=True ignores a second one"
                )
            event: Event = {"kind": "answer", "duel": number, "answer": said}
            event |= {"infeasible": infeasible} if infeasible else {}
            event |= {"strength": strength} if strength else {}
            who = rater if rater is not None else entry.rater
            return [event | ({"rater": who} if who else {})]

        with self._lock:
            self._journal.write(decide, durable)
            logger.debug("study %r: duel %d is told %r by %s", self.name, number, answer, rater)
            self._log_result()
            return self._duel(self._book.entries[number])

    def report_preference(self, better: Any, worse: Any, rater: str | None = None) -> Duel:
        """Record a comparison that the study did not ask for.

        Parameters
        ----------
        better, worse : array_like of shape point_shape
            Points of the manifold; dictionaries where their parts have names.
        rater : str, optional
            Who said so.

        Raises
        ------
        ArgumentError
            If the method asks its own pairs and cannot learn from others.
        NotOnManifoldError
            If a point is not on the manifold.
        """
        points = self._pair(better=better, worse=worse)
        who = {"rater": name} if (name := self._who(rater)) else {}
        pair = [np.asarray(point, self._player.dtype).tolist() for point in points]
        event = {"kind": "report", "better": pair[0], "worse": pair[1], **who}
        at = -1

        def decide() -> list[Event]:
            nonlocal at
            at = len(self._book.entries)
            return [event]

        with self._lock:
            self._journal.write(decide)
            logger.debug("study %r: a preference is reported by %s", self.name, rater)
            self._log_result()
            return self._duel(self._book.entries[at])

    def enqueue(self, a: Any, b: Any, rater: str | None = None) -> Duel:
        """Put a pair of one's own: it is asked next, before new questions of the method.

        The first `ask` after it returns the pair, or the first one of the rater named. Pairs that
        are put one after the other are asked in that order. Their answers count as any others.

        Parameters
        ----------
        a, b : array_like of shape point_shape
            Points of the manifold, and of the domain if there is one; dictionaries where their
            parts have names.
        rater : str, optional
            Who is to answer; by default whoever asks first.

        Returns
        -------
        Duel
            The open duel, of the role "enqueued".

        Raises
        ------
        ArgumentError
            If the method asks its own pairs and cannot learn from others, or a point is not in the
            domain.
        NotOnManifoldError
            If a point is not on the manifold.

        Examples
        --------
        >>> import numpy as np
        >>> import geoduel as gd
        >>> study = gd.create_study(gd.Sphere(3), rng=0)
        >>> x, y, z = np.eye(3)
        >>> study.enqueue(x, z).state
        'open'
        >>> study.ask().b
        array([0., 0., 1.])
        """
        points = self._pair(a=a, b=b)
        for name, point in zip("ab", points, strict=True):
            if self.domain is not None and not self.domain.contains(point):
                raise ArgumentError(f"{name} is not in the domain {self.domain!r:.80}")
            if self.catalogue is not None and point not in self.catalogue:
                raise ArgumentError(f"{name} is no item of the study's catalogue")
        who = {"rater": name} if (name := self._who(rater)) else {}
        pair = [np.asarray(point, self._player.dtype).tolist() for point in points]
        with self._lock:
            items = self.catalogue
            (event,) = self._journal.write(
                lambda: [self._assigner.enqueued(pair[0], pair[1], items) | who]
            )
            return self._duel(self._book.entries[event["duel"]])

    def _pair(self, **given: Any) -> list[Array]:
        """A pair that the method did not ask for, as arrays; refused where it learns nothing."""
        if not isinstance(self.method, QuestionMethod) and not self.method.learns(self.manifold):
            raise ArgumentError(
                f"method {self.method_name!r} learns from its own questions only: start it at the "
                "better point (x0=), or take one that learns from any pair: 'bisection' in one "
                "dimension, 'ideal-point', 'duel-newton'"
            )
        points = {name: self.manifold.pack(point, name) for name, point in given.items()}
        for name, point in points.items():
            self.manifold.check_point(point, name)
            if point.shape != self.manifold.point_shape:
                raise ArgumentError(f"{name} must be one point, got shape {point.shape}")
        if np.array_equal(*points.values()):
            raise ArgumentError(f"{' and '.join(points)} are the same point")
        return list(points.values())

    def undo(self, rater: str | None = None, duel: Duel | int | None = None) -> Duel | None:
        """Take back the last answer.

        The log keeps it, along with the undo; the method goes on as if it had not been given. The
        duel is open again, and goes to its rater.

        Parameters
        ----------
        rater : str, optional
            Take back the last answer of this rater, by default of anyone.
        duel : Duel or int, optional
            The duel whose answer is meant, or its id. If that is not the last answer, nothing is
            taken back: so whoever does not know whether a call arrived may repeat it.

        Returns
        -------
        Duel or None
            The duel; None if there is nothing to take back.

        Raises
        ------
        ArgumentError
            If the method has built on that answer: others answered what it led to.

        Examples
        --------
        >>> import geoduel as gd
        >>> study = gd.create_study(gd.Sphere(3), rng=0)
        >>> for _ in range(2):
        ...     duel = study.tell(study.ask(), "a")
        >>> study.undo(duel=duel).id, study.undo(duel=duel)  # the second changes nothing
        (1, None)
        """
        rater = self._who(rater)
        wanted = None if duel is None else _number(duel)
        taken: int | None = None

        def decide() -> list[Event]:
            nonlocal taken
            taken, last = None, self._last(rater)
            if last is None or wanted not in (None, last.duel):
                return []
            if self._book.is_built_on(last):
                raise ArgumentError(
                    f"the last answer of rater {rater!r}, to duel {last.duel}, cannot be taken "
                    "back: others have answered what followed from it"
                )
            taken = last.duel
            event: Event = {"kind": "undo", "number": last.number, "rater": rater}
            return [event if rater else event | {"rater": None, "holder": holders.me()}]

        with self._lock:
            self._journal.write(decide)
            logger.debug("study %r: the answer to duel %s is taken back", self.name, taken)
            self._log_result()
            return None if taken is None else self._duel(self._book.entries[taken])

    def last_answered(self, rater: str | None = None) -> int | None:
        """Return the id of the duel whose answer `undo` would take back; None if there is none."""
        with self._lock:
            self._journal.read()
            last = self._last(self._who(rater))
            return None if last is None else last.duel

    def _last(self, rater: str | None) -> Given | None:
        """The last answer that counts, of the rater if named."""
        said = reversed(self._book.given)
        return next((g for g in said if rater is None or g.rater == rater), None)

    # -- other versions ----------------------------------------------------------------------------

    def upgrade(self) -> Upgrade:
        """Go on with a study that an earlier version of its method made.

        The present version learns from all answers, and asks from then on. The log says so. Only
        methods made for people learn from questions that they have not asked themselves.

        Returns
        -------
        Upgrade
            What changed; the same version twice where nothing had to.

        Raises
        ------
        ArgumentError
            If the method cannot learn from the answers, or a later version made the study.
        StorageError
            If the database fails; the study is then as it was.
        """
        with self._lock:
            self._journal.read()
            now, made = method_version(self.method), self._made_with()
            if made > now or (made < now and not isinstance(self.method, QuestionMethod)):
                raise ArgumentError(f"study {self.name!r} cannot be upgraded: it was {self.note}")
            was, known = self._common()
            self._player.follow(self._book)
            event = {"kind": "upgrade", "version": now, "geoduel": __version__}
            self._journal.write(lambda: [event] if self._made_with() < now else [])
            self._log_result()
            point, knows = self._common()
            moved = float(self.manifold.dist(was, point))
            return Upgrade(made, now, len(self._book.given), moved, (known, knows))

    def _made_with(self) -> int:
        """The version of the method that the results are of."""
        return self._book.version or self.settings["method_version"]

    def _over(self) -> str | None:
        """Why another version's study asks no more; None for one of the present version."""
        if self.note is None:
            return None
        kept = self._book.results
        return self._assigner.over_budget() or (kept[-1].stopped if kept else None) or "version"

    def _finished(self, reason: str) -> StudyFinishedError:
        said = self.note if reason == "version" else f"{reason}; recommend() is the result"
        return StudyFinishedError(f"study {self.name!r} asks no more: {said}", reason)

    def _older_result(self) -> Kept | None:
        """The result of another version, as it was; None if this version makes the result."""
        if self.note is None:
            return None
        if self._book.results:
            return self._book.results[-1]
        if isinstance(self.method, QuestionMethod):
            return None  # of a log of format 1, from which this version has learned anew
        # Such a log does not hold results either: the point that was preferred last is one.
        for given in reversed(self._book.given):
            entry = self._book.entries[given.duel]
            if given.answer in ("a", "b"):
                point = entry.a if given.answer == "a" else entry.b
                return Kept(len(self._book.given), point, None, None, None)
        return Kept(0, self._player.state.best.tolist(), None, None, None)

    def _log_result(self) -> None:
        """Write what the study recommends now into its log, if it is not the last result there."""
        if self.note is not None:
            return
        try:
            self._follow()
            state, method = self._player.state, self._player.method
            radius, noise = method.uncertainty(state), method.noise(state)
            kept = Kept(
                len(self._book.given),
                np.asarray(state.best).tolist(),
                None if radius is None else float(radius),
                None if noise is None else float(noise),
                self._player.stop_reason,
            )
            if self._book.results and self._book.results[-1][1:] == kept[1:]:
                return
            event = {
                "kind": "result",
                "point": kept.point,
                "uncertainty": encode_state(kept.uncertainty),
                "noise": encode_state(kept.noise),
                "stopped": kept.stopped,
            }
            seen = self._book.number
            self._journal.write(lambda: [event] if self._book.number == seen else [], durable=False)
            logger.debug("study %r: a new best point, known to %s", self.name, kept.uncertainty)
            if kept.stopped is not None:
                logger.info("study %r: the method asks no more: %s", self.name, kept.stopped)
        except Exception:  # what was told is stored; the next answer's result comes after it
            logger.debug("study %r: its result was not logged", self.name, exc_info=True)

    # -- what it found ---------------------------------------------------------------------------

    def recommend(self, rater: str | None = None, *, among: Items = None) -> Any:
        """Return the best point so far, an array, or a dictionary if its parts have names.

        Parameters
        ----------
        rater : str, optional
            Recommend to this rater. Among several named raters, the result of the rater's own
            answers is drawn to the common one, or to that of the rater's camp if there are several.
            The more the own answers tell, the less it is drawn. Only methods made for people can
            leave answers out.
        among : Catalogue or array, optional
            Items that exist now, as in `ask`: the best of these.
        """
        items = self._items(among)
        if items is None:
            return self.manifold.unpack(self._result(rater)[0])
        return self.manifold.unpack(np.array(items[self.rank(1, rater, among=items)[0]]))

    def rank(self, k: int = 10, rater: str | None = None, *, among: Items = None) -> np.ndarray:
        """Return the indices of the k best items, the best first.

        Those come first that are most probably the very best one.

        Parameters
        ----------
        k : int
            How many; fewer if there are not so many at different points.
        rater : str, optional
            For this rater, as in `recommend`.
        among : Catalogue or array, optional
            Items that exist now, as in `ask`.

        Examples
        --------
        >>> import numpy as np
        >>> import geoduel as gd
        >>> sphere, goal = gd.Sphere(3), np.array([0.6, 0.0, 0.8])
        >>> items = sphere.random_point(np.random.default_rng(0), (500,))
        >>> study = gd.create_study(sphere, among=items, rng=0)
        >>> study.optimize(gd.from_objective(lambda x: -x @ goal), n_duels=20)
        >>> int(np.argmax(items @ goal)) in study.rank(5)
        True
        """
        items, rater = self._items(among), self._who(rater)
        if items is None:
            raise ArgumentError("rank needs items: create_study(..., among=) or rank(among=)")
        positive_int(k, "k")
        with self._lock:
            point, _ = self._result(rater)
            items = self._feasible(items)
            if self.note is None and rater is None:
                return self.method.rank(self.manifold, self._player.state, items, k)
            if self.note is None and not set(self._named()) - {rater}:
                return self.method.rank(self.manifold, self._of(str(rater)).state, items, k)
            return items.nearest(point, k)

    @overload
    def _feasible(self, items: Catalogue) -> Catalogue: ...
    @overload
    def _feasible(self, items: None) -> None: ...

    def _feasible(self, items: Catalogue | None) -> Catalogue | None:
        """The items of which nobody has said that they cannot be; all, if that was said of all."""
        if items is None or not (gone := self._infeasible(items)):
            return items
        if self._left is None or self._left[0] is not items or self._left[1] != gone:
            none_left = len(gone) == len(items.distinct)
            self._left = items, gone, items if none_left else items.without(gone)
        return self._left[2]

    def _infeasible(self, items: Catalogue) -> set[int]:
        """Indices of the items of which somebody has said that they cannot be."""
        return {items.index(x) for x in self._book.infeasible() if x in items}

    def _to_ask(self, items: Catalogue | None) -> Catalogue | None:
        """The items that may still be shown, two at least."""
        if not self._too_few(items):
            return self._feasible(items)
        if items is self.catalogue:
            raise self._finished(self._assigner.finished() or "items")
        raise ArgumentError(f"fewer than two items are left of among={items}")

    def _too_few(self, items: Catalogue | None) -> bool:
        return items is not None and len(items.distinct) - len(self._infeasible(items)) < 2

    def _items(self, among: Items) -> Catalogue | None:
        """The items to show, if only items are shown."""
        if among is None:
            made = self.settings.get("among")
            if made is not None and self.catalogue is None:
                raise ArgumentError(
                    f"study {self.name!r} shows only the {made['items']} items of a catalogue, "
                    "which its settings do not hold: load it with among=items"
                )
            return self.catalogue
        if not isinstance(self.method, QuestionMethod):
            raise no_choice(repr(self.method_name))
        return Catalogue.of(self.manifold, among)

    @property
    def best_point(self) -> Any:
        """Best point so far: `recommend` without a rater, as Optuna's users look for it."""
        return self.recommend()

    def uncertainty(self, rater: str | None = None) -> float | None:
        """Return how well `recommend` is known, a geodesic length, as in `Progress.uncertainty`.

        Parameters
        ----------
        rater : str, optional
            For what is recommended to this rater.
        """
        return self._result(rater)[1]

    def ideals(self, n: int = 500, rater: str | None = None) -> np.ndarray:
        """Return points that show where the ideal may lie: more of them where it is likelier.

        Parameters
        ----------
        n : int
            How many points.
        rater : str, optional
            From the answers of this rater alone, by default from those of all.

        Returns
        -------
        ndarray of shape (n, *point_shape)
            The same points for the same answers.

        Raises
        ------
        ArgumentError
            If the method is not made for people, and has no such belief.

        Examples
        --------
        >>> import numpy as np
        >>> import geoduel as gd
        >>> study = gd.create_study(gd.Sphere(3), rng=0)
        >>> for _ in range(12):  # this person likes the north
        ...     duel = study.ask()
        ...     answered = study.tell(duel, "a" if duel.a[2] > duel.b[2] else "b")
        >>> bool(np.mean(study.ideals()[:, 2] > 0.5) > 0.9)
        True
        """
        positive_int(n, "n")
        if not isinstance(self.method, PersonMethod):
            raise ArgumentError(
                f"method {self.method_name!r} has no belief about the ideal; methods made for "
                "people do, such as 'ideal-point'"
            )
        rater = self._who(rater)
        with self._lock:
            self._journal.read()
            self._follow()
            player = self._player if rater is None else self._of(rater)
            return np.array(player.method.ideals(self.manifold, player.state, n))

    def _result(self, rater: str | None) -> tuple[np.ndarray, Any]:
        """What is recommended, and how well it is known."""
        rater = self._who(rater)
        with self._lock:
            self._journal.read()
            self._follow()
            if rater is None:
                return self._common()
            own = self._point(self._of(rater))
            if not set(self._named()) - {rater}:
                return own
            common, (camps, scatters) = self._common(), self._split()
            if rater not in self._named():  # nothing is known of a newcomer
                own = common[0], math.inf
            scatter = max(scatters)
            for members, spread in zip(camps, scatters, strict=True):
                if rater in members and len(camps) > 1:
                    common, scatter = self._point(self._of(*members)), spread
            point, radius = shrunk(self.manifold, own, common, scatter)
            return np.array(point if self.domain is None else self.domain.project(point)), radius

    def _common(self) -> tuple[np.ndarray, Any]:
        """What is recommended to all, and how well it is known."""
        if (kept := self._older_result()) is not None:
            return np.array(kept.point, self._player.dtype), kept.uncertainty
        return self._point(self._player)

    def _point(self, player: Player) -> tuple[np.ndarray, Any]:
        return np.array(player.state.best), player.method.uncertainty(player.state)

    def camps(self) -> list[Camp]:
        """Return the raters in camps of one taste each, the largest first.

        One camp means that the answers of all named raters fit one taste, with own ideals that
        differ by a few degrees. More are reported only where they are far more likely than one.
        With some 20 answers each, tastes 30 degrees apart are told apart.

        Returns
        -------
        list of Camp
            Members, and the best point from their answers alone with its uncertainty. Raters who
            do not look at what they are shown are in none. Empty where no named rater has
            answered. Only methods made for people can leave answers out.
        """
        with self._lock:
            self._journal.read()
            self._follow()
            if not self._named():
                return []
            self._of(self._named()[0])  # a method that cannot leave answers out says so
            split = sorted(self._split()[0], key=lambda members: (-len(members), members))
            everyone = len(split) == 1 and all(g.rater in split[0] for g in self._book.given)
            found = [(split[0], self._common())]
            if not everyone:
                found = [(members, self._point(self._of(*members))) for members in split]
            unpack = self.manifold.unpack
            return [Camp(members, unpack(point), far) for members, (point, far) in found]

    def _who(self, rater: object) -> str | None:
        """A rater as the log names it: as the page would, or as it was before names were so."""
        name = _rater(rater)
        if name is None or (one := composed(name)) == name:
            return name
        return name if any(entry.rater == name for entry in self._book.entries) else one

    def _named(self) -> list[str]:
        """Named raters with an answer."""
        return sorted(name for name, tally in self._book.raters.items() if name and tally.answers)

    def _split(self) -> tuple[list[tuple[str, ...]], list[float]]:
        """Camps of the named raters, and the scatter of own ideals in each."""
        book = self._book
        at = (len(book.given), book.given[-1].number)
        if self._camps is None or self._camps[0] != at:
            said = _verdicts(self._player)
            doubtful = {name for name in said if name and said[name].kind != "looks"}
            silent = {name for name in doubtful if not self._may_look(name)}
            names = [name for name in self._named() if name not in silent] or self._named()
            manifold, player = self.manifold, self._player
            frame = Frame(player.state.best, np.eye(manifold.dim))
            heard: dict[str, list[Given]] = {name: [] for name in names}
            for given in book.given:
                if given.rater in heard and given.answer != "skip":
                    heard[given.rater].append(given)
            owns = []
            for of in heard.values():
                told = [pair for g in of for pair in player.told(book.entries[g.duel], g.answer)]
                a, b = (np.array([pair[i] for pair in told]) for i in (0, 1))
                signs = np.array([sign for _, _, sign in told])
                rng = np.random.default_rng([self.settings["seed"], len(of), 3])
                owns.append(own_ideal(manifold, frame, Heard(a, b, signs), rng))
            split = partition(owns, manifold.typical_dist / 2)
            camps = [tuple(names[i] for i in camp) for camp in split.camps]
            self._camps = at, camps, split.scatters
        return self._camps[1], self._camps[2]

    def _of(self, *raters: str) -> Player:
        """The method after the answers of some raters alone."""
        if not isinstance(self.method, QuestionMethod):
            raise ArgumentError(
                f"method {self.method_name!r} builds each question on all answers before: it has "
                f"no result for rater {' or '.join(map(repr, raters))} alone"
            )
        book = self._book.of_raters(*raters)
        found = self._alone.pop(raters, None)
        # Had one of its answers been taken back, the one at its end would have moved up.
        if found is None or (
            found.count and [g.number for g in book.given[found.count - 1 :][:1]] != [found.number]
        ):
            found = self._new_player()
        found.follow(book)
        found.checkpoints.clear()
        self._alone[raters] = found
        while len(self._alone) > ALONE:
            self._alone.pop(next(iter(self._alone)))
        return found

    def _alone_if_able(self, rater: str) -> Player | None:
        return self._of(rater) if isinstance(self.method, QuestionMethod) else None

    def disagreement(self, raters: Iterable[str] | None = None) -> dict[str, Disagreement]:
        """How far apart the raters are, and whether their uncertainty explains it.

        Parameters
        ----------
        raters : iterable of str, optional
            Those to compare, by default all named ones.

        Returns
        -------
        dict of str to Disagreement
            For each named rater, the geodesic distance between the result of the rater's answers
            alone and the common one, beside what the uncertainty of both explains. Only methods
            made for people can leave answers out. Takes as long as a replay of the study.
        """
        if raters is not None:
            raters = [text(rater, "raters") for rater in several(raters, "raters", "names")]
        with self._lock:
            self._journal.read()
            self._follow()
            common, around = self._common()
            found = {}
            for name in self._named() if raters is None else raters:
                own, radius = self._point(self._of(str(self._who(name))))
                distance = float(self.manifold.dist(own, common))
                found[name] = Disagreement.of(distance, radius, around)
            return found

    def progress(self, accuracy: float | None = None) -> Progress:
        """Report how far the study is.

        Parameters
        ----------
        accuracy : float, optional
            Geodesic length for `Progress.remaining`; by default the method's ``x_tol``.
        """
        if accuracy is not None:
            positive(accuracy, "accuracy")
        with self._lock:
            self._journal.read()
            self._follow()
            book, kept = self._book, self._older_result()
            history = list(self._player.history if kept is None else book.history)
            noise = self._player.method.noise(self._player.state) if kept is None else kept.noise
            finished = self._assigner.finished() if self.note is None else self._over()
            if finished is None and self._too_few(self.catalogue):
                finished = "items"
            wanted = accuracy if accuracy is not None else self.method.x_tol
            return Progress(
                answered=self._book.answered,
                ties=book.answers["tie"],
                skips=book.answers["skip"],
                open=len(book.open),
                reports=book.reports,
                budget=self._assigner.budget,
                uncertainty=self._common()[1],
                noise=noise,
                remaining=None if wanted is None else answers_left(history, wanted),
                finished=finished,
                raters=self._raters(),
                history=history,
                note=self.note,
            )

    def _raters(self) -> dict[str, Rater]:
        """How each rater answered, with what the method and the other raters say of it."""
        tallies, names = dict(sorted(self._book.raters.items())), self._named()
        said = _verdicts(self._player)
        doubtful = [n for n in names if n in said and said[n].kind != "looks"]
        enough = [n for n in doubtful if tallies[n].answers >= ENOUGH]
        if len(names) > 1 and enough:
            for name in enough:
                right, wrong = self._player.state.attention.easy[list(said).index(name)]
                own = _verdicts(self._of(name)).get(name, said[name])
                said[name] = against_others(said[name], own, right, wrong)
            largest, *others = sorted(self._split()[0], key=len, reverse=True)
            for name in (name for members in others for name in members):
                doubt = said[name].doubt if name in said else 0.0
                tastes = f"own ideal elsewhere than that of {', '.join(largest[:3])}"
                more = f" and {len(largest) - 3} more" if len(largest) > 3 else ""
                said[name] = Verdict("contradicts", doubt, tastes + more)
        return {name: tally.report(said.get(name)) for name, tally in tallies.items()}

    def _may_look(self, rater: str) -> bool:
        """Whether a rater's answers go together, whatever the others say."""
        said = _verdicts(self._of(rater)).get(rater)
        return said is None or said.kind in ("looks", "too early to say")

    def trace(self, seconds: float = 1.0) -> list[tuple[int, Any]]:
        """Return the best point after each answer, by a replay beside the study.

        Parameters
        ----------
        seconds : float
            How long the replay may go on; the next call carries on where it stopped. Infinity for
            as long as it takes.

        Returns
        -------
        list of (int, ndarray or dict)
            How many answers and skips there were, and the best point then. Empty where another
            version of the method made the study.

        Examples
        --------
        >>> import geoduel as gd
        >>> study = gd.create_study(gd.Sphere(3), rng=0)
        >>> answered = [study.tell(study.ask(), "a") for _ in range(3)]
        >>> [count for count, point in study.trace()]
        [1, 2, 3]
        >>> bool((study.trace()[-1][1] == study.recommend()).all())
        True
        """
        if seconds != math.inf:
            nonnegative(seconds, "seconds")
        with self._lock:
            self._journal.read()
            given, entries = list(self._book.given), self._book.entries
        if self.note is not None:
            return []
        with self._tracing:
            if self._traced is None or given[: len(self._traced[0])] != self._traced[0]:
                self._traced = [], self._new_player(), []
            known, player, points = self._traced
            end = time.perf_counter() + seconds
            while len(known) < len(given) and time.perf_counter() < end:
                known.append(given[len(known)])
                player.follow(Book(given=known, entries=entries))
                points.append((len(known), np.array(player.state.best)))
            return [(count, self.manifold.unpack(point)) for count, point in points]

    # -- running ---------------------------------------------------------------------------------

    def optimize(
        self,
        oracle: Oracle,
        n_duels: int | None = None,
        callbacks: Iterable[Callable[[Study, Duel], Any]] = (),
        *,
        timeout: float | None = None,
        workers: int = 1,
        executor: Executor | None = None,
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        progress: bool = False,
    ) -> None:
        """Let an oracle answer, here and in other processes at the same time.

        While others hold all questions that are useful, it waits for them. Its own questions stay
        its own for as long as the oracle takes, beyond the study's ``lease``. Once it has returned,
        all answers are on the disk; with callbacks, each is before they are called.

        Parameters
        ----------
        oracle : callable
            As in `geoduel.minimize`.
        n_duels : int, optional
            Most duels to answer now; fewer if the study finishes, or `stop` is called. Without it,
            all that the study asks.
        callbacks : iterable of callable
            ``callback(study, duel)`` after each answer.
        timeout : float, optional
            Seconds after which no further question is asked.
        workers : int
            Questions answered at once, in threads. Methods differ in how many are useful at once:
            DuelNewton has d.
        executor : concurrent.futures.Executor, optional
            Runs oracles that take one pair at a time in processes or on a cluster, or another pool
            with a ``map``; ``workers`` says how many duels at once.
        catch : exception type or tuple of them
            Errors of the oracle that skip the question and end nothing. Those of a broken executor
            do, and so does the fiftieth in a row: nothing would be answered any more.
        progress : bool
            Show a progress bar on standard error.

        Raises
        ------
        OracleError
            If the oracle fails; its question stays open and is asked again next time.
        ArgumentError
            If the oracle is at work in another run, whose points have other names.
        """
        check_oracle(oracle)
        if n_duels is not None:
            positive_int(n_duels, "n_duels")
        seconds = math.inf if timeout is None else positive(timeout, "timeout")
        positive_int(workers, "workers")
        pool = as_executor(executor)
        callbacks = several(callbacks, "callbacks", "functions of the study and a duel")
        for callback in callbacks:
            function(callback, "callbacks", "the study and a duel", 2)
        catch = (
            (catch,) if isinstance(catch, type) else several(catch, "catch", "types of exceptions")
        )
        for kind in catch:
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                raise ArgumentError(f"catch must hold types of exceptions, got {kind!r:.80}")
        unpack = None if self.manifold.names is None else self.manifold.unpack
        with handed(oracle, unpack) as judge:
            run = Answering(
                self, judge, n_duels, time.monotonic() + seconds, callbacks, pool, catch
            )
            self._answering.append(run)
            logger.info("study %r: an oracle answers", self.name)
            try:
                run.run(workers, progress)
            finally:
                self._answering.remove(run)
                told = run.answered
                logger.info("study %r: the oracle has answered %d duels", self.name, told)

    def stop(self) -> None:
        """End `optimize` after the duels that are asked now; for callbacks and other threads.

        From a callback it ends the run that called it, from elsewhere all runs of this object.
        """
        runs = list(self._answering)
        mine = [run for run in runs if threading.get_ident() in run.threads]
        for run in mine[-1:] or runs:  # of one within another, the inner one
            run.stop()

    # -- export ----------------------------------------------------------------------------------

    def export(self, path: str | Path | None = None) -> str:
        """Write the study as JSON lines, and return them.

        The first line is ``{"geoduel": ..., "name": ..., "settings": ...}``, and the next ones are
        the events of the log. By the last, ``{"events": count, "digest": ...}``, `import_study`
        sees that nothing is missing or altered.

        Parameters
        ----------
        path : path, optional
            File to write. It is complete or not there at all.
        """
        to = None if path is None else as_path(path, "path")
        with self._lock:
            rows = self.storage.read(self.name, 0)
        lines = export_text(self.name, self.settings, rows)
        if to is not None:
            write_export(to, lines)
        return lines

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the duels as a table of pandas, a row for each, by id.

        The index is the id, and the columns are the other attributes of `geoduel.Duel`. ``a`` and
        ``b`` hold arrays, so that ``numpy.stack(table["a"])`` has all first points. Where a
        question showed more than two, ``c``, ``d`` and so on hold these; questions of fewer have
        None there. ``asked``, ``answered`` and ``held`` are times in UTC. ``seconds`` is how long
        the rater had the question, from ``held`` to ``answered``.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return dataframe(self.duels, self.manifold)

    def backup(self, path: str | Path) -> None:
        """Copy the SQLite file of this study, with all studies in it, while it is in use.

        A plain copy of the file may lack the last answers: they may still be in the ``-wal`` beside
        it.

        Parameters
        ----------
        path : path
            File to write, which must not be there yet. It is complete or not there at all.

        Raises
        ------
        ArgumentError
            If the file is there already, or the study is in memory or on a server.
        StorageError
            If it cannot be written.
        """
        self.storage.backup(as_path(path, "path"))

    # -- replay ----------------------------------------------------------------------------------

    def _new_player(self, most: int | None = None) -> Player:
        s = self.settings
        x0 = None if s["x0"] is None else decode_settings(s["x0"])
        most = s["budget"] if most is None else most
        budget = None if most is None else max(1, most // s["votes"])
        length = s["iterations"], budget, s["votes"], s["format"] < 2
        return player(self.method, self.manifold, s["seed"], x0, *length)

    def _follow(self) -> None:
        """Give the method the answers it has not seen, unless another version asked for them."""
        if self.note is not None and not isinstance(self.method, QuestionMethod):
            return
        began = time.perf_counter()
        try:
            if count := self._player.follow(self._book):
                self._seconds += time.perf_counter() - began
                logger.debug("study %r: the method took in %d answers", self.name, count)
        except ReplayError as error:
            s = self.settings
            raise ReplayError(
                f"study {self.name!r}: {error}. It was made by geoduel {s['geoduel']} with "
                f"{s['method_name']} version {s['method_version']}, NumPy {s['numpy']} on "
                f"{s['machine']}; this is geoduel {__version__}, NumPy {np.__version__} on "
                f"{platform.machine()}"
            ) from error

    def _snapshot(self) -> None:
        """Store the state once its replay has become costly."""
        if self._seconds < COSTLY or not self._player.checkpoints or self.storage.url is None:
            return
        self._seconds = 0.0
        # The oldest one: an undo would make the last one useless.
        self._journal.save_snapshot(self._player.checkpoints[0], method_version(self.method))

    def _rehearse(self) -> None:
        """Go through what a study must be able to do; whatever is wrong with it is raised."""
        self._follow()
        for entry in self._book.open.values():
            if self.note is None and not self._player.fits(entry):
                raise ReplayError(f"open duel {entry.id} is no question of the method")
        self.progress()
        if self.note is None:
            with suppress(NothingToAskError, StudyFinishedError):
                self._assigner.choose(1, None, self.catalogue)

    def _duel(self, entry: Entry) -> Duel:
        return as_duel(entry, self._player.dtype, self.manifold)


# -- small things ----------------------------------------------------------------------------------


def _number(duel: Duel | int) -> int:
    """The id of a duel that may be given by itself."""
    if isinstance(duel, Duel):
        return duel.id
    if isinstance(duel, int | np.integer):
        return positive_int(duel, "duel", least=0)
    raise ArgumentError(f"duel must be a Duel or its id, got {duel!r:.80}")


def _verdicts(player: Player) -> dict[str, Verdict]:
    """What the method says of each rater it has heard."""
    if getattr(player.state, "attention", None) is None:  # not a method made for people
        return {}
    seen = player.method.observers(player.manifold, player.state)
    return {name: one.verdict for name, one in seen.items() if one.verdict is not None}


def _same_points(one: Duel, other: Duel) -> bool:
    pairs = zip(one.points, other.points, strict=False)
    return len(one.points) == len(other.points) and all(np.array_equal(a, b) for a, b in pairs)


def _word(answer: object) -> str:
    """The answer to a pair, as the log holds it."""
    if isinstance(answer, bool | np.bool_):
        return "a" if answer else "b"
    said: Any = plain_word(answer) if isinstance(answer, str) else answer
    words, hint = (*WORDS, *GRADED, *INFEASIBLE), ""
    if isinstance(said, str) and said in words:
        return said
    if isinstance(said, str) and said in ("left", "right"):
        hint = "; duel.left says which point that is"
    elif isinstance(answer, int | float | np.number):
        hint = "; a number may mean either point"
    raise ArgumentError(
        f"answer must be one of {', '.join(map(repr, words))}, got {answer!r:.80}{hint}"
    )


def _rater(rater: object) -> str | None:
    if rater is None or (isinstance(rater, str) and rater.strip() and is_text(rater)):
        return rater
    raise ArgumentError(
        f"rater must be a name, of characters that UTF-8 has, or None for nobody in particular; "
        f"got {rater!r}"
    )
