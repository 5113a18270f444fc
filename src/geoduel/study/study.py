"""Studies: questions now, answers when they come."""

from __future__ import annotations

import json
import math
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from .._numerics.arrays import Array
from .._support.check import one_of, positive, positive_int
from .._support.files import write_whole
from .._version import __version__
from ..errors import (
    AlreadyAnsweredError,
    ArgumentError,
    NothingToAskError,
    ReplayError,
    StorageError,
    StudyFinishedError,
)
from ..manifolds.base import Manifold
from ..methods import Method
from ..methods.people.questions import QuestionMethod
from ..oracles.base import Oracle, answers
from . import holders
from .codec import NotStorableError, check_json, decode_settings, decode_state, encode_state
from .forecast import answers_left
from .log import EMPTY, WORDS, Book, Entry, Event, Row, chain, event_line
from .players import Checkpoint, Player, Question, player
from .records import Duel, Progress
from .settings import check_version, part
from .storage.base import Log, Storage

if TYPE_CHECKING:
    from ..domains.base import Domain

__all__ = ["FORMAT", "Study"]

FORMAT = 1  # of settings, events and exports
COSTLY = 0.5  # seconds of replay that are worth a snapshot
APART = 5  # duels between a question and its repeat, at least
LATE = 60.0  # seconds after which an open question does not hold others back


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
    """

    def __init__(
        self,
        name: str,
        storage: Storage,
        manifold: Manifold | None = None,
        method: Method | None = None,
    ) -> None:
        self.name = name
        self.storage = storage
        self.settings: dict[str, Any] = json.loads(storage.settings(name))
        if self.settings["format"] > FORMAT:
            raise ReplayError(
                f"study {name!r} has format {self.settings['format']}, made by geoduel "
                f"{self.settings['geoduel']}; version {__version__} reads formats up to {FORMAT}"
            )
        self.manifold: Manifold = part(self.settings, "manifold", manifold, name)
        self.method: Any = part(self.settings, "method", method, name)
        self._given = (manifold, method)
        check_version(self.settings, self.method, name)
        self._lock = threading.RLock()
        self._book = Book()
        self._player = self._new_player()
        self._seconds = 0.0  # of replay since the last snapshot
        self._stopped = False
        self._read()
        self._resume()
        self._follow()
        self._snapshot()

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.method_name!r} on {self.manifold!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.storage.url is None:
            raise TypeError("a study in memory stays in its process; give it a storage")
        return Study, (self.name, self.storage, *self._given)

    # -- what it is ------------------------------------------------------------------------------

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
        return self.settings["budget"]

    @property
    def duels(self) -> list[Duel]:
        """Every duel, by id."""
        with self._lock:
            self._read()
            return [self._duel(entry) for entry in self._book.entries]

    @property
    def open_duels(self) -> list[Duel]:
        """Duels that wait for an answer, oldest first."""
        with self._lock:
            self._read()
            return [self._duel(entry) for entry in self._book.open.values()]

    @property
    def user_attrs(self) -> dict[str, Any]:
        """What `set_user_attr` attached."""
        with self._lock:
            self._read()
            return json.loads(json.dumps(self._book.attributes))

    def set_user_attr(self, key: str, value: Any) -> None:
        """Attach a value that JSON can hold.

        Parameters
        ----------
        key : str
            Name; what it held before is replaced.
        value : object
            Texts, finite numbers, booleans, None, and lists and dictionaries of these.
        """
        if not isinstance(key, str):
            raise ArgumentError(f"key must be a str, got {key!r:.80}")
        event = {"kind": "attribute", "key": key, "value": check_json(value, "value")}
        self._write(lambda: [event])

    # -- asking ----------------------------------------------------------------------------------

    @overload
    def ask(self, n: Literal[1] = 1, rater: str | None = None) -> Duel: ...
    @overload
    def ask(self, n: int, rater: str | None = None) -> list[Duel]: ...

    def ask(self, n: int = 1, rater: str | None = None) -> Any:
        """Return the question to put next.

        In this order: questions this rater holds already (a page that was loaded again gets the
        same one; calls without a name are told apart by process and thread, and get their own
        question again only where there is no other); questions whose lease is over; now and then a
        repeat; new questions of the method.

        Parameters
        ----------
        n : int
            Most questions to return; they can be answered in any order. Fewer, if no more are
            useful at once: see `geoduel.methods.base.QuestionMethod.open_at_once`.
        rater : str, optional
            Who will answer. Named raters are told apart in `progress`.

        Returns
        -------
        Duel or list of Duel
            One duel for n = 1, otherwise a list of 1 to n.

        Raises
        ------
        NothingToAskError
            If all questions are out and held by others; ``retry_after`` says for how long.
        StudyFinishedError
            If there are no more questions.
        StorageError
            If the database fails.
        """
        positive_int(n, "n")
        rater = _rater(rater)
        with self._lock:
            self._read()
            self._follow()
            seen = self._book.number
            choice = self._choose(n, rater)  # before the turn to write, which should be short

            def decide() -> list[Event]:
                nonlocal choice
                if self._book.number != seen:  # somebody wrote in between
                    self._follow()
                    choice = self._choose(n, rater)
                return choice[1]

            written = self._write(decide, durable=False) if choice[1] else []
            self._snapshot()
            ids = choice[0] + [event["duel"] for event in written]
            duels = [self._duel(self._book.entries[i]) for i in ids]
        return duels[0] if n == 1 else duels

    def _choose(self, n: int, rater: str | None) -> tuple[list[int], list[Event]]:
        """Questions for a rater: ids of those she holds, and events that give her more."""
        book, now = self._book, time.time()
        me = rater or holders.me()
        held: list[int] = []
        events: list[Event] = []
        who = {"rater": rater} if rater else {"holder": me}

        def enough() -> bool:
            return len(held) + len(events) >= n

        # By id: those that were opened again by an undo come first.
        mine = [e for _, e in sorted(book.open.items()) if (e.rater or e.holder) == me]
        if rater is not None:
            held = [e.id for e in mine if not self._is_free(e, now)][:n]
        for entry in book.open.values():
            if not enough() and entry.id not in held and self._is_free(entry, now):
                events.append({"kind": "lease", "duel": entry.id, **who})

        def pose(**question: Any) -> None:
            duel = len(book.entries) + sum(e["kind"] == "question" for e in events)
            events.append({"kind": "question", "duel": duel, **question, **who})

        wanted = math.inf if self.budget is None else self.budget - self._out()
        if self._finished() is not None:
            wanted = 0
        if not enough() and wanted > 0 and (entry := self._repeat(rater)) is not None:
            left = {"a": "b", "b": "a", None: "a"}[entry.left]
            pose(a=entry.a, b=entry.b, role="repeat", left=left, of=entry.id)
            wanted -= 1
        wanted = min(wanted, self._room(mine, now)) if n > 1 else wanted
        if not enough() and wanted > 0:
            questions = self._player.questions(book, book.number + len(events) + 1, rater)
            while not enough() and wanted > 0 and (question := next(questions, None)) is not None:
                pose(**self._details(question, book.number + len(events) + 1))
                wanted -= 1
        if not events and not held and not (held := [e.id for e in mine][:n]):
            raise self._nothing(now)
        return held, events

    def _room(self, mine: list[Entry], now: float) -> float:
        """How many new questions are useful for someone who wants several, given those out.

        Whoever holds none gets one in any case: raters are not kept waiting for each other.
        """
        most = self._player.open_at_once
        if most is None:
            return math.inf
        out = sum(now - entry.held_since < LATE for entry in self._book.open.values())
        return max(most - out, 0 if mine else 1)

    def _details(self, question: Question, number: int) -> Event:
        """What the event of a new question says of it."""
        side = np.random.default_rng([self.settings["seed"], number, 1]).random() < 0.5
        details: Event = {
            "a": question.a.tolist(),
            "b": question.b.tolist(),
            "role": question.role,
            "left": "a" if side else "b",
        }
        return details if question.at is None else details | {"at": list(question.at)}

    def _is_free(self, entry: Entry, now: float) -> bool:
        """Whether an open question may go to someone else: its time is over, or its process."""
        return now - entry.held_since > self.settings["lease"] or holders.is_dead(entry.holder)

    def _repeat(self, rater: str | None) -> Entry | None:
        """A duel to ask this rater again, if one is due."""
        share = self.settings["repeats"]
        if not share:
            return None
        book = self._book
        tally = book.raters.get(rater or "")
        if tally is None:
            return None
        waiting = sum(e.role == "repeat" and e.rater == rater for e in book.open.values())
        if (tally.repeats + waiting) >= share * (tally.answers + tally.skips):
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

    def _out(self) -> int:
        """Questions answered or open: what counts against the budget."""
        return self._answered() + len(self._book.open)

    def _answered(self) -> int:
        counts = self._book.answers
        return counts["a"] + counts["b"] + counts["tie"]

    def _finished(self) -> str | None:
        if self.budget is not None and self._answered() >= self.budget:
            return "budget"
        return self._player.stop

    def _nothing(self, now: float) -> Exception:
        """The error that says why there is no question."""
        if (reason := self._finished()) is not None:
            return StudyFinishedError(
                f"study {self.name!r} asks no more: {reason}; recommend() is the result", reason
            )
        since = [e.held_since for e in self._book.open.values()]
        wait = max(0.0, min(since, default=now) + self.settings["lease"] - now)
        return NothingToAskError(
            f"study {self.name!r}: all {len(since)} open questions are out, and nothing can be "
            f"asked before one is answered; the first may be asked again in {wait:.0f} s",
            wait,
        )

    # -- telling ---------------------------------------------------------------------------------

    def tell(
        self,
        duel: Duel | int,
        answer: str,
        rater: str | None = None,
        skip_if_finished: bool = False,
    ) -> Duel:
        """Record the answer to a duel.

        Parameters
        ----------
        duel : Duel or int
            The duel, or its id.
        answer : {"a", "b", "tie", "skip"}
            Which point is better. A tie is an answer; a skip is none, and another question is
            asked.
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
            If there is no such duel, or no such answer.
        StorageError
            If the database fails; the answer is then not recorded.
        """
        number = duel.id if isinstance(duel, Duel) else positive_int(duel, "duel", least=0)
        one_of(answer, "answer", WORDS)
        rater = _rater(rater)

        def decide() -> list[Event]:
            entries = self._book.entries
            if number >= len(entries):
                raise ArgumentError(
                    f"duel {number} is not of study {self.name!r}, which has {len(entries)}"
                )
            entry = entries[number]
            if not entry.is_open:
                if skip_if_finished:
                    return []
                what = "was withdrawn" if entry.withdrawn else f"was answered {entry.answer!r}"
                raise AlreadyAnsweredError(
                    f"duel {number} {what}; skip_if_finished=True ignores a second answer"
                )
            event: Event = {"kind": "answer", "duel": number, "answer": answer}
            who = rater if rater is not None else entry.rater
            return [event | ({"rater": who} if who else {})]

        with self._lock:
            self._write(decide)
            return self._duel(self._book.entries[number])

    def report_preference(self, better: Array, worse: Array, rater: str | None = None) -> Duel:
        """Record a comparison that the study did not ask for.

        Parameters
        ----------
        better, worse : array of shape point_shape
            Points of the manifold.
        rater : str, optional
            Who said so.

        Raises
        ------
        ArgumentError
            If the method asks its own pairs and cannot learn from others.
        NotOnManifoldError
            If a point is not on the manifold.
        """
        if not isinstance(self.method, QuestionMethod):
            raise ArgumentError(
                f"method {self.method_name!r} learns from its own questions only; start it at the "
                "better point (x0=), or take a method made for people"
            )
        points = {"better": better, "worse": worse}
        for name, point in points.items():
            self.manifold.check_point(point, name)
            if point.shape != self.manifold.point_shape:
                raise ArgumentError(f"{name} must be one point, got shape {point.shape}")
        if np.array_equal(better, worse):
            raise ArgumentError("better and worse are the same point")
        who = {"rater": rater} if _rater(rater) else {}
        lists = {k: np.asarray(v, self._player.dtype).tolist() for k, v in points.items()}
        with self._lock:
            self._write(lambda: [{"kind": "report", **lists, **who}])
            return self._duel(self._book.entries[-1])

    def undo(self, rater: str | None = None) -> Duel | None:
        """Take back the last answer.

        The log keeps it, along with the undo; the method goes on as if it had not been given. The
        duel is open again, and goes to its rater.

        Parameters
        ----------
        rater : str, optional
            Take back the last answer of this rater, by default of anyone.

        Returns
        -------
        Duel or None
            The duel; None if there is nothing to take back.

        Raises
        ------
        ArgumentError
            If the method has built on that answer: others answered what it led to.
        """
        rater = _rater(rater)
        taken: list[int] = []

        def decide() -> list[Event]:
            given = [g for g in self._book.given if rater is None or g.rater == rater]
            taken[:] = [g.duel for g in given[-1:]]
            if not given:
                return []
            entry = self._book.entries[given[-1].duel]
            if entry.at is not None and entry.at[0] < self._last_batch():
                raise ArgumentError(
                    f"the last answer of rater {rater!r}, to duel {entry.id}, cannot be taken "
                    "back: others have answered what followed from it"
                )
            event: Event = {"kind": "undo", "number": given[-1].number, "rater": rater}
            return [event if rater else event | {"rater": None, "holder": holders.me()}]

        with self._lock:
            self._write(decide)
            return self._duel(self._book.entries[taken[0]]) if taken else None

    def _last_batch(self) -> int:
        """The last batch of the method with an answer."""
        for given in reversed(self._book.given):
            if (at := self._book.entries[given.duel].at) is not None:
                return at[0]
        return 0

    # -- what it found ---------------------------------------------------------------------------

    def recommend(self, rater: str | None = None) -> np.ndarray:
        """Return the best point so far.

        Parameters
        ----------
        rater : str, optional
            Recommend from the answers of this rater alone, from the same start. Only methods made
            for people can leave answers out.
        """
        rater = _rater(rater)
        with self._lock:
            self._read()
            self._follow()
            state = self._player.state if rater is None else self._alone(rater)
            return np.array(state.best)

    def _alone(self, rater: str) -> Any:
        """State from the answers of one rater."""
        if not isinstance(self.method, QuestionMethod):
            raise ArgumentError(
                f"method {self.method_name!r} builds each question on all answers before: it has "
                f"no result for rater {rater!r} alone"
            )
        only = Book(entries=self._book.entries)
        only.given = [g for g in self._book.given if g.rater == rater]
        alone = self._new_player()
        alone.follow(only)
        return alone.state

    def disagreement(self) -> dict[str, float]:
        """How far apart the raters are.

        Compare with `Progress.uncertainty`: far larger distances mean that they like different
        things, and that the common result pleases nobody in particular.

        Returns
        -------
        dict of str to float
            Geodesic distance between the result of each named rater alone and the common one. Only
            methods made for people can leave answers out. Takes as long as a replay of the study.
        """
        names = [name for name in self.progress().raters if name]
        common = self.recommend()
        return {name: float(self.manifold.dist(self.recommend(name), common)) for name in names}

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
            self._read()
            self._follow()
            state, book, history = self._player.state, self._book, list(self._player.history)
            wanted = accuracy if accuracy is not None else self.method.x_tol
            return Progress(
                answered=self._answered(),
                ties=book.answers["tie"],
                skips=book.answers["skip"],
                open=len(book.open),
                reports=book.reports,
                budget=self.budget,
                uncertainty=self._player.method.uncertainty(state),
                noise=self._player.method.noise(state),
                remaining=None if wanted is None else answers_left(history, wanted),
                finished=self._finished(),
                raters={name: tally.report() for name, tally in sorted(book.raters.items())},
                history=history,
            )

    # -- running ---------------------------------------------------------------------------------

    def optimize(
        self,
        oracle: Oracle,
        n_duels: int,
        callbacks: Iterable[Callable[[Study, Duel], Any]] = (),
    ) -> None:
        """Let an oracle answer.

        Parameters
        ----------
        oracle : callable
            As in `geoduel.minimize`.
        n_duels : int
            Most duels to answer now; fewer if the study finishes, or `stop` is called.
        callbacks : iterable of callable
            ``callback(study, duel)`` after each answer.

        Raises
        ------
        OracleError
            If the oracle fails; its question stays open and is asked again next time.
        """
        self._stopped = False
        callbacks = tuple(callbacks)
        for _ in range(positive_int(n_duels, "n_duels")):
            try:
                duel = self.ask()
            except StudyFinishedError:
                return
            sign = answers(oracle, duel.a, duel.b, duel.a.ndim)
            duel = self.tell(duel, {-1: "a", 0: "tie", 1: "b"}[sign])
            for callback in callbacks:
                callback(self, duel)
            if self._stopped:
                return

    def stop(self) -> None:
        """End `optimize` after the present duel; for callbacks and other threads."""
        self._stopped = True

    # -- export ----------------------------------------------------------------------------------

    def export(self, path: str | Path | None = None) -> str:
        """Write the study as JSON lines, and return them.

        The first line is ``{"geoduel": ..., "name": ..., "settings": ...}``, the next ones are the
        events of the log, and the last is ``{"events": count, "digest": ...}``, by which
        `import_study` sees that nothing is missing or altered.

        Parameters
        ----------
        path : path, optional
            File to write. It is complete or not there at all.
        """
        with self._lock:
            rows = self.storage.read(self.name, 0)
        head = {"geoduel": "study", "format": FORMAT, "name": self.name, "settings": self.settings}
        tail = {"events": len(rows), "digest": rows[-1].digest if rows else EMPTY}
        lines = [event_line(head), *(row.line for row in rows), event_line(tail)]
        text = "\n".join(lines) + "\n"
        if path is not None:
            try:
                write_whole(Path(path), text)
            except OSError as error:
                raise StorageError(f"path {str(path)!r} cannot be written: {error}") from error
        return text

    # -- the log ---------------------------------------------------------------------------------

    def _read(self) -> None:
        """Take what others have written."""
        self._take(self.storage.read(self.name, self._book.number))

    def _take(self, rows: Sequence[Row]) -> list[Event]:
        try:
            return self._book.take(rows)
        except (ValueError, LookupError, TypeError, StopIteration) as error:
            raise ReplayError(
                f"the log of study {self.name!r} is not what was written: {error}"
            ) from error

    def _write(self, decide: Callable[[], list[Event]], durable: bool = True) -> list[Event]:
        """Append the events that ``decide`` returns, having seen all that others wrote."""
        token = secrets.token_hex(4)

        def act(log: Log) -> list[Event]:
            book = self._book
            rows = log.read(max(0, book.number - 1))
            if book.number and (not rows or rows[0].digest != book.digest):
                raise ReplayError(
                    f"the log of study {self.name!r} has lost event {book.number}, which was "
                    "written (was a backup restored?); load the study anew"
                )
            news = self._take(rows)
            stored = [event for event in news if event.get("token") == token]
            if stored:  # the answer to the last try was lost, not what it wrote
                return stored
            events = [event | {"time": round(time.time(), 3), "token": token} for event in decide()]
            rows, digest = [], book.digest
            for number, event in enumerate(events, book.number + 1):
                line = event_line(event)
                digest = chain(digest, line)
                rows.append(Row(number, line, digest))
            log.append(rows)
            pending[:] = rows
            return events

        with self._lock:
            pending: list[Row] = []
            events = self.storage.write(self.name, act, durable)
            self._take(pending)
            return events

    # -- replay ----------------------------------------------------------------------------------

    def _new_player(self) -> Player:
        s = self.settings
        x0 = None if s["x0"] is None else decode_settings(s["x0"])
        budget = None if s["budget"] is None else max(1, s["budget"] // s["votes"])
        return player(
            self.method, self.manifold, s["seed"], x0, s["iterations"], budget, s["votes"]
        )

    def _follow(self) -> None:
        """Give the method the answers it has not seen."""
        began = time.perf_counter()
        try:
            if self._player.follow(self._book):
                self._seconds += time.perf_counter() - began
        except ReplayError as error:
            s = self.settings
            raise ReplayError(
                f"study {self.name!r}: {error}. It was made by geoduel {s['geoduel']} with "
                f"{s['method_name']} version {s['method_version']}, NumPy {s['numpy']} on "
                f"{s['machine']}; this is geoduel {__version__}, NumPy {np.__version__} on "
                f"{platform.machine()}"
            ) from error

    def _snapshot(self) -> None:
        """Store the state once its replay has become costly: a cache, on which nothing depends."""
        checkpoints = self._player.checkpoints
        if self._seconds < COSTLY or not checkpoints or self.storage.url is None:
            return
        self._seconds = 0.0
        at = checkpoints[0]  # not the last, which an undo would make useless
        try:
            body = {
                "settings": self._fingerprint(),
                "digest": self._book.digests[at.number - 1],
                "checkpoint": encode_state(tuple(at)),
            }
            self.storage.save_snapshot(self.name, at.number, json.dumps(body))
        except (NotStorableError, StorageError):
            pass

    def _resume(self) -> None:
        """Start from the snapshot, where it is of this log and this version."""
        text = self.storage.load_snapshot(self.name)
        if text is None:
            return
        try:
            body = json.loads(text)
            at = Checkpoint(*decode_state(body["checkpoint"]))
            same = body["settings"] == self._fingerprint()
            same &= body["digest"] == self._book.digests[at.number - 1]
            # Had an answer before it been taken back, the one at its end would have moved up.
            same &= self._book.given[at.given - 1].number == at.number
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, ImportError):
            return
        if same:
            self._player.restore(at)
            self._player.checkpoints.append(at)
            self._book.rewound = None

    def _fingerprint(self) -> str:
        text = json.dumps([self.settings, __version__, np.__version__], sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def _duel(self, entry: Entry) -> Duel:
        a, b = (np.array(p, self._player.dtype) for p in (entry.a, entry.b))
        for point in (a, b):
            point.flags.writeable = False
        return Duel(
            id=entry.id,
            a=a,
            b=b,
            role=entry.role,
            left=entry.left,
            rater=entry.rater,
            answer=entry.answer,
            state="open" if entry.is_open else "withdrawn" if entry.withdrawn else "answered",
            asked=entry.asked,
            answered=entry.answered,
            of=entry.of,
        )


# -- small things ----------------------------------------------------------------------------------


def _rater(rater: object) -> str | None:
    if rater is None or (isinstance(rater, str) and rater.strip()):
        return rater
    raise ArgumentError(f"rater must be a name, or None for nobody in particular; got {rater!r}")
