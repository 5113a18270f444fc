"""A study as the page sees it: questions with a left and a right side, progress, history."""

from __future__ import annotations

import csv
import hashlib
import inspect
import io
import json
import logging
import math
import re
import secrets
import threading
import time
import traceback
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlencode

import numpy as np

from .._support.check import function, instance, positive, positive_int, several, takes, text, truth
from ..errors import (
    AlreadyAnsweredError,
    ArgumentError,
    GeoduelError,
    NothingToAskError,
    StudyFinishedError,
)
from ..methods.people.questions import PersonMethod
from ..study.log import STRENGTHS
from ..study.names import claim, holders, link_numbers, revoke_link
from ..study.ranking import LETTERS, canonical
from ..study.study import Study
from .keys import NAMED, Who
from .numbers import Numbers, as_json, numbers, unit, within
from .panes import Content, Turned, content, plain

if TYPE_CHECKING:
    from ..study import Duel, Progress

__all__ = ["Board", "slug"]

log = logging.getLogger("geoduel.web")

SIDES = ("left", "right")
ANSWERS = (*SIDES, "a", "b", "tie", "skip")
CANNOT = re.compile(r"(left|right|a|b|both) infeasible")
GRADED = re.compile(rf"(left|right|a|b) ({'|'.join(STRENGTHS)})")
RANKING = re.compile(r"[1-6](=?[1-6])*(>[1-6](=?[1-6])*)*")  # by the places on the page
_LANG = re.compile(r"([A-Za-z]{2,3})(-[A-Za-z0-9]{1,8})*")
_LANGS = (  # of two letters, in ISO 639; those of three are thousands, and taken as they are
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy "
    "da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu "
    "hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb "
    "lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om "
    "or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv "
    "sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_CACHE_BYTES = 64_000_000
_SLOW = 0.06  # seconds to draw a choice; beyond it the next question is fetched ahead
_FEWEST = 3  # answers before a stated accuracy is believed
_BEYOND = 10  # answers of one rater beyond what is typical, after which a page ends by itself
_LINKS_STAY = 1.0  # seconds after which a link may turn out to be taken back elsewhere
_MOST_PANES = 24  # of pairs on a page of the history
_PATIENCE = 30.0  # seconds that a choice waits for another one to be drawn


class Board:
    """A study, how to show its points, and what to ask.

    Parameters
    ----------
    study : Study
        From `geoduel.create_study` or `geoduel.load_study`.
    render : callable, optional
        ``render(point)`` returns what a pane shows, see `geoduel.web.content`. Without it the page
        shows the numbers. Where the study has a catalogue, a function of two arguments is also
        given the index of the item: ``render(point, index)``, neither with a default.
    title : str, optional
        Name on the page; by default the study's.
    question : str
        What to ask.
    lang : str, optional
        Language in which the title, the question and what is shown are read out, such as "de" or
        "pt-BR". The page's own words are English.
    accuracy : float, optional
        Geodesic length: the page ends when the best point is known as well as this.
    answers : int, optional
        The page of a rater ends after so many answers, and offers to go on. By default 10 more than
        the method's `typical_answers`, unless the study ends otherwise: by ``accuracy``, its budget
        or its method's ``x_tol``.
    labels : sequence of str
        Names of the weights, angles, coordinates or rows of a point, for the page of results.
    results : bool or "own"
        What raters see at the end, where there are several: the common best point and their own,
        neither, or their own alone. The owner sees everything.
    match_levels : bool
        Play the louder of two sounds as quietly as the other one.
    scripts : bool
        Let the HTML that ``render`` returns run scripts, in a frame that reaches nothing else.
    ranking : bool or "ends"
        Where a question shows more than two points: ask for a ranking, or for the best and the
        worst ("ends"), and not for the best alone.
    strengths : bool
        Of two points ask how much better the preferred one is, slightly or clearly.
    infeasible : bool
        Take it, too, that the left choice, the right one or both are impossible; see
        `geoduel.Study.tell`. Questions of more than two points take it of none.
    ahead : bool, optional
        Ask for the next question while one is being answered, so that it is drawn in time. The
        method then knows one answer less. By default only where drawing is slow.
    solo : bool, optional
        One person, who need not give a name. By default decided by `serve`.
    finish : callable, optional
        ``finish(board)`` returns what the last page says besides the best point: a dict of JSON.
    key : str, optional
        Name in addresses; by default made from the study's name.

    Raises
    ------
    ArgumentError
        If ``accuracy`` or ``answers`` is not positive, or ``labels`` do not fit the points.

    Examples
    --------
    >>> import geoduel as gd
    >>> board = Board(gd.create_study(gd.Sphere(3), study_name="Colours", rng=0))
    >>> question = board.ask("Ann")
    >>> board.key, question["state"]
    ('colours', 'question')
    >>> [board.tell(question["id"], said, "Ann") for said in ("left", "right")]  # too late
    [True, False]
    """

    page: ClassVar[str] = "duel.html"
    """Template of the page."""
    act: Callable[[str, float | None], None] | None = None
    """``act(name, value)`` does what buttons of an own page stand for."""

    def __init__(
        self,
        study: Study,
        render: Callable[..., Any] | None = None,
        *,
        title: str | None = None,
        question: str = "Which one is better?",
        lang: str | None = None,
        accuracy: float | None = None,
        answers: int | None = None,
        labels: Sequence[str] = (),
        results: bool | Literal["own"] = True,
        match_levels: bool = True,
        scripts: bool = False,
        ranking: bool | Literal["ends"] = False,
        strengths: bool = False,
        infeasible: bool = False,
        ahead: bool | None = None,
        solo: bool | None = None,
        finish: Callable[[Board], dict[str, Any]] | None = None,
        key: str | None = None,
    ) -> None:
        instance(study, "study", Study, "a Study")
        if render is not None:
            items = study.catalogue is not None and takes(render, 2)  # point and index
            function(render, "render", "a point", 2 if items else 1)
        if finish is not None:
            function(finish, "finish", "the board")
        for name, value in {"title": title, "question": question, "key": key}.items():
            if value is not None or name == "question":
                text(value, name)
        self.study, self.render = study, _of_items(study, render) or plain
        self.title, self.question = title or study.name, question
        if lang is not None:
            found = _LANG.fullmatch(text(lang, "lang"))
            if not found or (len(found[1]) == 2 and found[1].lower() not in _LANGS.split()):
                raise ArgumentError(
                    f'lang must be a language such as "de" or "pt-BR", got {lang!r:.80}'
                )
        self.lang = lang or "en"
        self.accuracy = None if accuracy is None else positive(accuracy, "accuracy")
        self.ranking = truth(ranking, "ranking", "ends")
        self.results = truth(results, "results", "own")
        self.strengths = truth(strengths, "strengths")
        self.infeasible = truth(infeasible, "infeasible")
        self.scripts = truth(scripts, "scripts")
        self.match_levels = truth(match_levels, "match_levels")
        self.ahead = None if ahead is None else truth(ahead, "ahead")
        self.solo = None if solo is None else truth(solo, "solo")
        self.finish = finish
        self._called = key or study.name
        self.key = slug(self._called)
        self.labels = several(labels, "labels", "texts")
        numbers(study.manifold, np.zeros(study.manifold.point_shape), self.labels)  # they fit
        self.answers = None if answers is None else positive_int(answers, "answers")
        self._typical = study.method.typical_answers(study.manifold)
        if answers is None and not (accuracy or study.budget or study.method.x_tol):
            self.answers = self._typical + _BEYOND
        self.closed = False
        """Whether it is off the page for good: its study can no longer be shown."""
        self.version = 0
        """Grows with every change made through this board."""
        self.run = _run(study)
        """Tells the study from another one that answers at the same address later."""
        self._shows = secrets.token_hex(4)  # in addresses: browsers keep what another board drew
        self.trouble: str | None = None
        """Traceback of the last error of ``render``, for the owner."""
        self._links, self._links_read = link_numbers(study), time.monotonic()
        self._reading = threading.Lock()
        self._acting = threading.Lock()
        self._lock = threading.Lock()  # for the cache: never held for long
        self._pen = threading.Lock()  # the user's function need not be safe for threads
        self._shown: OrderedDict[tuple[Any, ...], Content | Turned] = OrderedDict()
        self._shown_bytes = 0
        self._pictures: OrderedDict[str, Content] = OrderedDict()
        self._pictures_bytes = 0
        self._bests: OrderedDict[str, Any] = OrderedDict()  # points, by the names in addresses
        self._open: OrderedDict[int, Duel] = OrderedDict()
        self._drawing = 0.0  # seconds, a running mean
        # When they were found, what that cost, the numbers, and the version they belong to.
        self._progress: tuple[float, float, Progress, int] | None = None
        self._since: Counter[str] = Counter()  # answers of each rater since then

    # -- questions ---------------------------------------------------------------------------------

    def ask(self, rater: str, *, beyond: bool = False) -> dict[str, Any]:
        """Return the rater's present question, or why there is none.

        Parameters
        ----------
        rater : str
            Name of who answers.
        beyond : bool
            Go on although the page has ended.

        Returns
        -------
        dict
            ``state`` is "question", "wait" (with ``retry_after``, seconds) or "finished" (with
            ``reason``).
        """
        progress = self.progress(rater)
        if not beyond and (reason := self._ended(progress)):
            return self._reply("finished", rater, reason=reason, progress=progress)
        try:
            # With one question at a time, asking again returns the same one.
            held = self.study.ask(2 if self._fetches_ahead() else 1, rater=rater)
        except NothingToAskError as error:
            return self._reply("wait", rater, retry_after=error.retry_after, progress=progress)
        except StudyFinishedError as error:
            return self._reply("finished", rater, reason=error.reason, progress=progress)
        duels = sorted(held if isinstance(held, list) else [held], key=lambda duel: duel.id)
        return self._question(duels[0], rater, progress, duels[1:])

    def tell(self, duel_id: int, answer: str, rater: str, run: str | None = None) -> bool:
        """Store an answer.

        Parameters
        ----------
        duel_id : int
            Which question.
        answer : str
            A side ("left", "right"), a point ("a", "b"), "tie" or "skip". Of more than two points
            the place of the best one, such as "3", or places from the best to the worst: "3>1>24",
            see `geoduel.Study.tell`. With ``strengths``, how much better a side is, such as "left
            clearly". With ``infeasible``, a side that is impossible, such as "left infeasible", or
            "both infeasible".
        rater : str
            Who answered.
        run : str, optional
            The `run` the question came with.

        Returns
        -------
        bool
            True if it counts, also where it is told again. False for another answer than the one
            that was told, for a question that went to someone else, and for another study's.

        Raises
        ------
        ArgumentError
            If the answer is none of the words, or there is no such question.
        """
        cannot = CANNOT.fullmatch(answer) if self.infeasible else None
        graded = GRADED.fullmatch(answer) if self.strengths else None
        if answer not in ANSWERS and not RANKING.fullmatch(answer) and not (cannot or graded):
            more = "".join(f", left {s}, right {s}" for s in STRENGTHS) if self.strengths else ""
            more += ", left infeasible, right infeasible, both infeasible" * self.infeasible
            raise ArgumentError(
                f"answer must be one of {', '.join(ANSWERS)}{more}, or a ranking of places such as "
                f"3>1, got {answer!r}"
            )
        if run is not None and run != self.run:
            return False
        self._open.pop(duel_id, None)  # it may have gone to someone else by another server
        duel = self.duel(duel_id)
        if duel.rater not in (None, rater):
            return False
        if (found := cannot or graded) and found[1] in SIDES and not duel.more:
            answer = self.point_on(duel, found[1]) + answer.removeprefix(found[1])
        elif answer in SIDES and not duel.more:
            answer = self.point_on(duel, answer)
        elif duel.more and answer not in ("tie", "skip"):
            answer = "".join(self.point_on(duel, x) if x.isdigit() else x for x in answer)
        try:
            told = self.study.tell(duel.id, answer, rater=rater)
        except AlreadyAnsweredError:
            stored = self.study.duel(duel.id)  # perhaps this one, whose reply was lost
            return stored.rater == rater and _same(stored, answer)
        self.version += 1
        self._since[rater] += told.answer != "skip"
        return True

    def undo(
        self, rater: str, duel_id: int | None = None, run: str | None = None
    ) -> dict[str, Any] | None:
        """Take back the rater's last answer and return its question; None: there is none.

        Parameters
        ----------
        rater : str
            Whose answer.
        duel_id : int, optional
            The question whose answer is meant: a reply's ``last``. If that is not the last answer
            any more, nothing is taken back, and the present question is returned.
        run : str, optional
            The `run` of that question; of another study nothing is taken back.
        """
        if run not in (None, self.run):
            return self.ask(rater, beyond=True)
        duel = self.study.undo(rater=rater, duel=duel_id)
        if duel is None:
            return None if duel_id is None else self.ask(rater, beyond=True)
        self._open.clear()
        self._progress = None
        self.version += 1
        return self._question(duel, rater, self.progress(rater), [])

    def do(self, name: str, value: float | None = None, run: str | None = None) -> None:
        """Do what a button of an own page stands for, if ``run`` is None or the present `run`."""
        with self._acting:
            if self.act is not None and run in (None, self.run):
                self.act(name, value)

    def duel(self, duel_id: int) -> Duel:
        """Return a question by its number."""
        if (found := self._open.get(duel_id)) is not None:
            return found
        try:
            return self.study.duel(duel_id)
        except ArgumentError:
            raise ArgumentError(f"there is no question {duel_id}") from None

    @staticmethod
    def sides(duel: Duel) -> tuple[str, ...]:
        """Return the places of a question: "left" and "right", or "1", "2", ..."""
        return tuple(str(n + 1) for n in range(len(duel.points))) if duel.more else SIDES

    @staticmethod
    def point_on(duel: Duel, side: str) -> str:
        """Return "a", "b", ...: which point is on the side."""
        sides = Board.sides(duel)
        if side not in sides:
            raise ArgumentError(f"side must be one of {', '.join(sides)}, got {side!r}")
        return duel.shown[sides.index(side)]

    @staticmethod
    def side_of(duel: Duel) -> str:
        """Return the answer as it was given: a side, "tie", "skip", or "" if there is none.

        With a strength, where one was stated: "left clearly". Of a side that was said to be
        impossible, "left infeasible" or "right infeasible"; of both, "both infeasible".
        """
        if (cannot := duel.infeasible) is not None:
            side = cannot if cannot == "both" else SIDES[duel.shown.index(cannot)]
            return f"{side} infeasible"
        if duel.answer in ("a", "b"):
            side = "left" if duel.answer == duel.left else "right"
            return side if duel.strength is None else f"{side} {duel.strength}"
        if duel.more and duel.answer not in (None, "tie", "skip"):
            return "".join(str(duel.shown.index(x) + 1) if x.isalpha() else x for x in duel.answer)
        return duel.answer or ""

    def claim(self, rater: str) -> bool:
        """Give a name away; False if somebody has it, or one that looks much like it."""
        return claim(self.study, rater)

    def holders(self, rater: str) -> list[str]:
        """Return the names that are given away and are this one, or look much like it."""
        return holders(self.study, rater)

    # -- links -------------------------------------------------------------------------------------

    def who(self, rater: str) -> Who:
        """Return whom a rater's own link stands for, as it is now."""
        return Who(NAMED, self.key, rater, self.link(rater), self.run)

    @property
    def is_named_by_key(self) -> bool:
        """Whether the key has all letters of the name, so that no other name has this key.

        Links of earlier versions name the key alone.
        """
        letters = filter(str.isalnum, self._called.lower())
        return "".join(letters) == self.key.replace("-", "")

    def link(self, rater: str) -> int:
        """Return the number of a rater's link that is good, as it was at `read_links`."""
        return self._links.get(rater, 0)

    def links_are_old(self) -> bool:
        """Whether it is time for `read_links`; of many who ask at once, one is told so."""
        with self._lock:
            now = time.monotonic()
            old = now - self._links_read > _LINKS_STAY
            self._links_read = now if old else self._links_read
            return old

    def read_links(self) -> None:
        """See in the study which links were taken back, perhaps by another program."""
        with self._reading:  # what was read later is kept
            self._links = link_numbers(self.study)

    def revoke(self, rater: str) -> int:
        """Take a rater's link back; return the number of the next one: see `revoke_link`."""
        number = revoke_link(self.study, rater)
        self.read_links()
        return number

    # -- what is known -----------------------------------------------------------------------------

    def progress(self, rater: str | None = None) -> dict[str, Any]:
        """Return the numbers of the progress line, for a rater if named.

        Lengths are geodesic, ``known`` says them in words. The numbers may be a little late when
        computing them is slow and answers come fast.
        """
        p = self._study_progress()
        own = p.answered
        if rater is not None and not self.solo:
            own = p.raters[rater].answers if rater in p.raters else 0
            own += self._since[rater]
        remaining = self._remaining(p, own)
        return {
            "answered": p.answered,
            "own": own,
            "ties": p.ties,
            "skips": p.skips,
            "open": p.open,
            "raters": len(p.raters),
            "remaining": remaining,
            "share": None if remaining is None else own / max(1, own + remaining),
            "uncertainty": _finite(p.uncertainty),
            "unit": unit(self.study.manifold),
            "known": self.known(p.uncertainty) if p.answered else "",
            "finished": p.finished,
        }

    def known(self, uncertainty: float | None) -> str:
        """Return how well a best point is known, in words and in units."""
        if uncertainty is None or not math.isfinite(uncertainty):
            return ""
        sure = "80 % sure" if isinstance(self.study.method, PersonMethod) else "estimated"
        return f"{within(self.study.manifold, uncertainty)} ({sure})"

    def best(self, rater: str | None = None) -> dict[str, Any]:
        """Return the pane of the best point so far."""
        return self._best_pane(self.study.recommend(rater=rater))

    def best_content(self, rater: str | None = None, full: bool = False) -> Content | Turned | None:
        """Draw the best point so far, in ``full`` size if wanted; None if it cannot be shown."""
        best = self.study.recommend(rater=rater)
        return self._drawn(("full" if full else "best", self._bytes(best)), best)

    def best_named(
        self, name: str, rater: str | None = None
    ) -> tuple[Content | Turned | None, bool]:
        """Draw a point that was the best when its pane was sent, or else the best one now.

        The latter where another server of the same study sent the pane. Whether it is the point
        that was named is returned, too.
        """
        best = self._bests.get(name)
        if best is None:
            best = self.study.recommend(rater=rater)
        drawn = self._drawn(("best", self._bytes(best)), best)
        return drawn, self._point_name(best) == name

    def _bytes(self, point: Any) -> bytes:
        """What tells a point from others, also one that is a dictionary."""
        return self.study.manifold.pack(point).tobytes()

    def outcome(self, rater: str, everything: bool = True) -> dict[str, Any]:
        """Return what the last page of a rater shows.

        Parameters
        ----------
        rater : str
            Who has answered.
        everything : bool
            Whether the rater is the owner, or alone: then ``results`` holds nothing back.

        Returns
        -------
        dict
            The ``best`` point's pane and ``numbers``, and the rater's ``own`` ones where there are
            several raters. None stands for what is held back or unknown, and for a pane that would
            show the same numbers again.
        """
        self._progress = None  # the last numbers are not to be late
        progress = self.progress(rater)
        common = everything or self.results is True
        own = None
        if not self.solo and (everything or self.results) and progress["own"]:
            with suppress(GeoduelError):  # methods for one rater only
                point = self.study.recommend(rater=rater)
                pane = None if self.render is plain else self._best_pane(point, rater)
                own = {"pane": pane, "numbers": self.numbers(point).as_json()}
        best = self.study.recommend() if common else None
        if not common:
            progress |= {"uncertainty": None, "known": ""}
        return {
            "best": None if best is None or self.render is plain else self._best_pane(best),
            "numbers": None if best is None else self.numbers(best).as_json(),
            "own": own,
            "files": everything,
            "progress": progress,
        }

    def numbers(self, point: Any) -> Numbers:
        """Return the numbers of a point, with the board's labels."""
        return numbers(self.study.manifold, point, self.labels)

    def result(self, panes: bool = False, most: int | None = None) -> dict[str, Any]:
        """Return the best point and what each rater liked best, as JSON.

        Parameters
        ----------
        panes : bool
            With what the page shows of each.
        most : int, optional
            Look at so many raters only.
        """
        p, best = self.study.progress(), self.study.recommend()
        raters = []
        for name, one in list(p.raters.items())[:most]:
            try:
                point, far = self.study.recommend(rater=name), self.study.uncertainty(rater=name)
            except GeoduelError:  # methods for one rater only, and answers without a name
                continue
            own = self._found(point, far, panes, name)
            raters.append({"name": name, "answers": one.answers, **own})
        return {
            "study": self.study.name,
            "question": self.question,
            "manifold": str(self.study.manifold),
            "method": self.study.method_name,
            "answers": p.answered,
            "ties": p.ties,
            "skips": p.skips,
            "best": self._found(best, p.uncertainty, panes),
            "raters": raters,
        }

    def result_table(self) -> str:
        """Return the best point and what each rater liked best, as CSV."""
        found = self.result()
        lines: list[list[Any]] = [["who", "answers", "number", "unit", "values"]]
        best = {"name": "all", "answers": found["answers"], **found["best"]}
        for one in (best, *found["raters"]):
            for row in one["numbers"]["rows"]:
                lines.append(
                    [one["name"], one["answers"], row["name"], row["unit"], *row["values"]]
                )
        return _csv(lines)

    def shown(self, duel: Duel, side: str) -> Content | Turned | None:
        """Draw one side of a question, or take it from the cache; None if it cannot be shown."""
        letter = self.point_on(duel, side)
        point = duel.in_order[self.sides(duel).index(side)]
        return self._drawn((duel.id, letter), self.study.manifold.unpack(point))

    def is_drawn(self, duel_id: int, side: str) -> bool:
        """Whether a side of an open question is in the cache: showing it takes no time."""
        duel = self._open.get(duel_id)
        if duel is None or side not in self.sides(duel):
            return False
        return (duel_id, self.point_on(duel, side)) in self._shown

    def replace(self, study: Study) -> None:
        """Show another study from now on, of the same things."""
        self.study, self.run, self._progress = study, _run(study), None
        self._open.clear()
        with self._lock:
            self._shown.clear()
            self._shown_bytes = 0
        self.version += 1

    def picture(self, digest: str) -> Content | None:
        """Return a picture that the browser turns, by the name in its address."""
        return self._pictures.get(digest)

    def history(self, rater: str | None, start: int = 0, count: int = 12) -> dict[str, Any]:
        """Return answered questions, the last first, with both panes; of all raters for None."""
        done = self.study.answered_ids(rater)
        shown = [self.study.duel(number) for number in done[start : start + count]]
        page = [
            {
                "id": duel.id,
                "answer": self.side_of(duel),
                "when": duel.answered,
                **self._panes(duel),
            }
            for duel in shown
            if duel.answer is not None  # it may have been taken back just now
        ]
        return {"total": len(done), "start": start, "duels": page}

    def table(self) -> str:
        """Return all questions and answers as CSV."""
        names = ["id", "role", "rater", "state", "answer", "strength", "side", "left"]
        names += ["asked", "answered"]
        zero = self.numbers(np.zeros(self.study.manifold.point_shape))
        duels = self.study.duels
        letters = LETTERS[: max((len(duel.points) for duel in duels), default=2)]
        entries = [f"{letter}: {name}" for letter in letters for name in zero.names]
        lines: list[list[Any]] = [[*names, "seconds", *letters, *entries]]
        for duel in duels:
            unpacked = [self.study.manifold.unpack(point) for point in duel.points]
            points = [json.dumps(as_json(point)) for point in unpacked]
            points += [""] * (len(letters) - len(points))
            rows = [row for point in unpacked for row in self.numbers(point).rows]
            values = [value for row in rows for value in row.values]
            said = [duel.answer or "", duel.strength or "", self.side_of(duel), duel.left]
            row = [duel.id, duel.role, duel.rater or "", duel.state, *said]
            taken = "" if duel.seconds is None else round(duel.seconds, 3)
            lines.append([*row, duel.asked, duel.answered or "", taken, *points, *values])
        return _csv(lines)

    # -- private -----------------------------------------------------------------------------------

    def _study_progress(self) -> Progress:
        now, last = time.monotonic(), self._progress
        # For one person the line is exact; for a crowd it takes 5 % of the time at most.
        late = last is None or now - last[0] > (0.5 if self.solo else 20 * last[1])
        if last is None or late or (self.solo and last[3] != self.version):
            version = self.version
            self._since.clear()
            p = self.study.progress(accuracy=self.accuracy)
            self._progress = last = (now, time.monotonic() - now, p, version)
        return last[2]

    def _remaining(self, p: Progress, own: int) -> int | None:
        """About how many answers are left until the page ends; None if there is no telling."""
        left = []
        if p.finished:
            return 0
        if p.budget:
            left.append(max(0, p.budget - p.answered))
        if self.answers:
            left.append(max(0, self.answers - own))
        if self.accuracy or self.study.method.x_tol:
            # Before there is anything to go by: what is typical.
            guess = self._typical - p.answered
            if p.remaining is not None:
                left.append(p.remaining)
            elif guess > 0:
                left.append(guess)
        return min(left) if left else None

    def _ended(self, progress: dict[str, Any]) -> str | None:
        """Return why a rater's page is at its end, or None."""
        known = progress["uncertainty"]
        if self.accuracy and known is not None and known <= self.accuracy:
            return "accuracy" if progress["answered"] >= _FEWEST else None
        return "answers" if self.answers and progress["own"] >= self.answers else None

    def _found(
        self, point: Any, uncertainty: float | None, panes: bool, rater: str | None = None
    ) -> dict[str, Any]:
        shown = self.numbers(point).as_json()
        found = {"point": as_json(point), "numbers": shown, "uncertainty": _finite(uncertainty)}
        found["known"] = self.known(uncertainty)
        return found | ({"pane": self._best_pane(point, rater)} if panes else {})

    def _best_pane(self, point: Any, rater: str | None = None) -> dict[str, Any]:
        key, name = self._bytes(point), self._point_name(point)
        self._bests[name] = point
        while len(self._bests) > 1000:
            self._bests.popitem(last=False)
        query = urlencode(
            {"run": f"{self.run}-{self._shows}"} | ({"rater": rater} if rater else {})
        )
        return self._pane(self._drawn(("best", key), point), f"best/{name}?{query}")

    def _point_name(self, point: Any) -> str:
        """Name of a point in addresses."""
        return hashlib.sha256(self._bytes(point)).hexdigest()[:24]

    def _fetches_ahead(self) -> bool:
        return self._drawing > _SLOW if self.ahead is None else self.ahead

    def _reply(self, state: str, rater: str, **more: Any) -> dict[str, Any]:
        last = self.study.last_answered(rater)
        return {"state": state, "run": self.run, "last": last, **more}

    def _question(
        self, duel: Duel, rater: str, progress: dict[str, Any], following: list[Duel]
    ) -> dict[str, Any]:
        for one in (duel, *following):
            self._open[one.id] = one
        while len(self._open) > 10_000:
            self._open.popitem(last=False)
        preload = [self._address(one, side) for one in following for side in self.sides(one)]
        more: dict[str, Any] = self._panes(duel)
        if duel.more:
            more |= {"ranking": self.ranking}
        else:
            more |= {"strengths": self.strengths, "infeasible": self.infeasible}
        return self._reply(
            "question",
            rater,
            id=duel.id,
            role=duel.role,
            progress=progress,
            preload=preload,
            **more,
        )

    def _panes(self, duel: Duel) -> dict[str, Any]:
        """The panes of a question: left and right, or a list of more."""
        panes = {side: self._side(duel, side) for side in self.sides(duel)}
        return {"panes": list(panes.values())} if duel.more else panes

    def _side(self, duel: Duel, side: str) -> dict[str, Any]:
        return self._pane(self.shown(duel, side), self._address(duel, side))

    def _address(self, duel: Duel, side: str) -> str:
        return f"duels/{duel.id}/{side}?run={self.run}-{self._shows}"

    def _pane(self, shown: Content | Turned | None, address: str) -> dict[str, Any]:
        if shown is None:
            return {"kind": "failed", "url": "", "alt": "", "text": "This one cannot be shown."}
        if isinstance(shown, Turned):
            digest = hashlib.sha256(shown.picture.data).hexdigest()[:24]
            self._keep_picture(digest, shown.picture)
            return {
                "kind": "turned",
                "url": f"pictures/{digest}",
                "alt": shown.picture.alt,
                "angle": shown.angle,
                "width": shown.size[0],
                "height": shown.size[1],
            }
        pane: dict[str, Any] = {"kind": shown.kind, "url": address, "alt": shown.alt}
        if shown.kind == "html":
            pane["scripts"] = self.scripts
        if shown.kind == "audio":
            pane["matched"] = self.match_levels
        if shown.kind == "text":
            pane["text"] = shown.data.decode(errors="replace")
        return pane

    def _keep_picture(self, digest: str, picture: Content) -> None:
        with self._lock:
            if self._pictures.pop(digest, None) is None:
                self._pictures_bytes += len(picture.data)
            self._pictures[digest] = picture
            # Those of a page of the history stay, however large they are.
            while self._pictures_bytes > _CACHE_BYTES and len(self._pictures) > _MOST_PANES:
                self._pictures_bytes -= len(self._pictures.popitem(last=False)[1].data)

    def _drawn(self, key: tuple[Any, ...], point: Any) -> Content | Turned | None:
        """Return what is drawn of a point; those who want the same one wait for one drawing."""
        found = self._cached(key)
        if found is not None:
            return found
        if not self._pen.acquire(timeout=_PATIENCE):
            self.fails(f"render has not come back for {_PATIENCE:.0f} seconds")
            return None
        try:
            return self._cached(key) or self._keep(key, self._draw(point, key[0] == "full"))
        # Whatever the user's function raises, or a script in it that ends by itself: this pair can
        # still be skipped.
        except (Exception, SystemExit):
            self.fails(traceback.format_exc())
            return None
        finally:
            self._pen.release()

    def _draw(self, point: Any, full: bool = False) -> Content | Turned:
        start = time.perf_counter()
        named = self.render is plain and isinstance(point, dict)
        drawn = content(str(self.numbers(point)) if named else self.render(point), full)
        self._drawing += 0.3 * (time.perf_counter() - start - self._drawing)
        return drawn

    def _cached(self, key: tuple[Any, ...]) -> Content | Turned | None:
        with self._lock:
            found = self._shown.get(key)
            if found is not None:
                self._shown.move_to_end(key)
        return found

    def _keep(self, key: tuple[Any, ...], drawn: Content | Turned) -> Content | Turned:
        with self._lock:
            self._shown[key] = drawn
            self._shown_bytes += _size(drawn)
            while self._shown_bytes > _CACHE_BYTES and len(self._shown) > 1:
                self._shown_bytes -= _size(self._shown.popitem(last=False)[1])
        return drawn

    def fails(self, why: str) -> None:
        """Keep why something cannot be shown, for the owner and the log."""
        if why != self.trouble:  # once, however often the page asks again
            log.error("of study %r something cannot be shown:\n%s", self.study.name, why)
        self.trouble = why


def _of_items(study: Study, render: Callable[..., Any] | None) -> Callable[[Any], Any] | None:
    """What draws a point: of an item also by its index, if the user's function takes two."""
    if render is None or (items := study.catalogue) is None:
        return render
    try:
        given = inspect.signature(render).parameters.values()
    except (TypeError, ValueError):  # of builtin code, which does not tell
        return render
    needed = [p for p in given if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(needed) != 2:
        return render
    return lambda point: render(point, int(items.nearest(point)[0]))


def _same(duel: Duel, answer: str) -> bool:
    """Whether the duel was given this answer, which names points."""
    if duel.more:
        return duel.answer == canonical(answer, len(duel.points))
    if duel.infeasible is not None:
        return answer == f"{duel.infeasible} infeasible"
    return answer == " ".join(filter(None, (duel.answer, duel.strength)))


def _run(study: Study) -> str:
    """Tell a study from all others."""
    settings = json.dumps([study.name, study.settings], sort_keys=True, default=str)
    return hashlib.sha256(settings.encode()).hexdigest()[:16]


def slug(name: str) -> str:
    """Return a name for addresses.

    Examples
    --------
    >>> slug("My study: No. 1")
    'my-study-no-1'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "study"


def _size(shown: Content | Turned) -> int:
    """Bytes that a drawn side keeps from others in the cache."""
    return 200 + (len(shown.data) if isinstance(shown, Content) else 0)


def _csv(lines: list[list[Any]]) -> str:
    """Return lines as CSV of which a spreadsheet takes no text for a formula."""
    file = io.StringIO()
    csv.writer(file).writerows([[_safe(cell) for cell in line] for line in lines])
    return file.getvalue()


def _safe(cell: Any) -> Any:
    return re.sub(r"^(?=[=+\-@\t\r])", "'", cell) if isinstance(cell, str) else cell


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
