"""Whatever people do, in whatever order: all handles agree to the last bit, and nothing breaks.

Hypothesis makes histories of a study: questions, answers, ties, skips, rankings, infeasible points,
votes, late answers, undos, reports, several raters, handles that know more or less, reloads,
exports, imports, deletion; on manifolds, sets, catalogues, categories and whole numbers. Only
refusals that the documentation names may come of it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from itertools import count, permutations
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from samples.nudge import Nudge

import geoduel as gd
from geoduel import errors
from geoduel.methods.people.questions import QuestionMethod
from geoduel.study.log import INFEASIBLE
from geoduel.study.ranking import canonical
from geoduel.study.storage import MemoryStorage

SPHERE, CIRCLE = gd.Sphere(3), gd.Torus(1)
CAP = gd.Ball(SPHERE, np.array([0.0, 0.6, 0.8]), 0.5)
ITEMS = SPHERE.random_point(np.random.default_rng(0), (20,))
NAMED = gd.space(gain=(-12, 12), turn=CIRCLE)
MIXED = gd.space(kind=["a", "b", "c"], layers=range(1, 7), turn=CIRCLE)
VALUES = gd.space(kind=["a", "b", "c"], loud=[True, False])
FOLDER = tempfile.TemporaryDirectory()  # one for all histories
AT_ONCE = 1e-9  # a lease that ends at once
KINDS = {
    "newton": {"method": "duel-newton"},
    "newton, repeats": {"method": "duel-newton", "repeats": 0.4},
    "newton, votes 2": {"method": "duel-newton", "votes": 2},
    "newton, votes 5": {"method": "duel-newton", "votes": 5, "lease": AT_ONCE},
    "newton in a set": {"method": "duel-newton", "domain": CAP, "votes": 3},
    "csa": {"method": "duel-csa"},
    "csa, votes 3": {"method": "duel-csa", "votes": 3},
    "block": {"method": "block"},
    "block, votes 4": {"method": "block", "votes": 4},
    "rdngd": {"method": "rdngd", "budget": 40, "repeats": 0.3},
    "rdngd, votes 3": {"method": "rdngd", "budget": 60, "votes": 3, "repeats": 0.5},
    "rdngd, votes 5": {"method": "rdngd", "budget": 500, "votes": 5, "lease": AT_ONCE},
    "rdngd, batch, votes 3": {"method": "rdngd", "budget": 500, "batch": 3, "votes": 3},
    "rrdngd": {"method": "rrdngd", "phase_length": 3, "budget": 60, "votes": 3},
    "rdfw": {"method": "rdfw", "domain": CAP, "iterations": 30, "lease": AT_ONCE},
    "own": {"method": Nudge(), "repeats": 0.3},
    "own, leases": {"method": Nudge(), "repeats": 0.2, "lease": AT_ONCE},
    "own, budget": {"method": Nudge(), "budget": 12},
    "own, choices 3": {"method": Nudge(), "choices": 3},
    "own, choices 4": {"method": Nudge(), "choices": 4, "repeats": 0.3, "lease": AT_ONCE},
    "own, choices 6": {"method": Nudge(), "choices": 6, "budget": 12},
    "own, items": {"method": Nudge(), "among": ITEMS, "repeats": 0.2},
    "own, few items": {"method": Nudge(), "among": ITEMS[:4], "lease": AT_ONCE},
    "mixed": {"manifold": MIXED, "method": "auto", "repeats": 0.2},
    "mixed, csa, votes 3": {"manifold": MIXED, "method": "duel-csa", "votes": 3},
    "values alone": {"manifold": VALUES, "method": "auto", "lease": AT_ONCE},
    "named": {"manifold": NAMED, "method": "duel-newton", "repeats": 0.2},
    "ripples": {"method": "duel-newton", "smoothing": 1},
    "ranked": {"method": "duel-newton", "ranking": 4, "lease": AT_ONCE},
    "nelder-mead": {"method": "nelder-mead", "repeats": 0.2},
    "one-plus-one, votes 2": {"method": "one-plus-one", "votes": 2},
    "bisection": {"manifold": CIRCLE, "method": "bisection", "repeats": 0.3},
    "ideal-point": {"method": "ideal-point"},
    "ideal-point, items": {"method": "ideal-point", "among": ITEMS},
    "ideal-point, choices 4": {"method": "ideal-point", "choices": 4},
    "ideal-direction": {"manifold": gd.Euclidean(7), "method": "ideal-direction"},
}
PEOPLE = ["bisection", "ideal-point", "ideal-point, items", "ideal-point, choices 4"]
PEOPLE += ["ideal-direction"]
RATERS = st.sampled_from([None, "ann", "bob", "cyd"])
PAIRS = ["a", "b", "a", "b", "tie", "skip", "a infeasible", "b infeasible", "both infeasible"]
ORDERS = list(permutations("abcdef"))
WORDS = st.integers(0, len(PAIRS) * len(ORDERS) - 1)  # one number is drawn faster than its parts
WHICH = st.integers(0, 2)


NONE = errors.NothingToAskError, errors.StudyFinishedError


def said(duel: gd.Duel, word: int) -> str:
    """The answer that stands for what was drawn: to a pair, or to as many points as there are."""
    number, plain = divmod(word, len(PAIRS))
    if len(duel.points) == 2 or PAIRS[plain] in ("tie", "skip"):
        return PAIRS[plain]
    order = [letter for letter in ORDERS[number] if letter in duel.shown]
    best, rest, worst = order[0], "".join(order[1:-1]), order[-1]
    forms = best, f"{best}>{worst}", f"{best}>{rest}>{worst}", ">".join(order), "=".join(order)
    return forms[word % len(forms)]


def held(duel: gd.Duel, answer: str) -> tuple[str, str | None]:
    """The answer as the log has it, and which points cannot be."""
    if len(duel.points) > 2:
        return canonical(answer, len(duel.points)), None
    return INFEASIBLE.get(answer, (answer, None))


def attempt(call: Callable[[], Any], *refusals: type[Exception]) -> tuple[Any, Exception | None]:
    """What a call returns, and how it was refused."""
    try:
        return call(), None
    except refusals as refusal:
        return None, refusal


class Use(RuleBasedStateMachine):
    """Up to three handles on one study, in memory; each look at the clock is later."""

    kinds: ClassVar[list[str]] = [kind for kind in sorted(KINDS) if kind not in PEOPLE]

    def __init__(self):
        super().__init__()
        self.clock = mock.patch("time.time", count(1.8e9, 0.01).__next__)
        self.clock.start()

    @initialize(data=st.data(), seed=st.integers(0, 99))
    def create(self, data, seed):
        self.kind, self.seed = data.draw(st.sampled_from(self.kinds)), seed
        self.storage = MemoryStorage()
        self.stale: list[gd.Study] = []
        self._create()

    def _create(self):
        options = {"manifold": SPHERE, **KINDS[self.kind]}
        method = options["method"]
        self.own = {} if isinstance(method, str) else {"method": method}
        self.own |= {"among": options["among"]} if "among" in options else {}
        first = gd.create_study(storage=self.storage, study_name="s", rng=self.seed, **options)
        self.handles = [first, self._load()]
        self.manifold = first.manifold
        self.asks = isinstance(first.method, QuestionMethod)  # about whatever it knows
        self.learns = self.asks or first.method.learns(self.manifold)  # from any pair

    def _load(self) -> gd.Study:
        return gd.load_study("s", self.storage, **self.own)

    def study(self, which: int) -> gd.Study:
        return self.handles[which % len(self.handles)]

    def _check(self, point: Any) -> None:
        """A recommendation is a point, of the domain, or an item."""
        x = self.manifold.pack(point)
        self.manifold.check_point(x)
        first = self.handles[0]
        assert first.domain is None or first.domain.contains(x)
        assert first.catalogue is None or x in first.catalogue

    # -- what people do ----------------------------------------------------------------------------

    @rule(which=WHICH, n=st.sampled_from([1, 1, 1, 2, 5]), rater=RATERS, k=st.integers(1, 6))
    def ask(self, which, n, rater, k):
        study = self.study(which)
        more = k if self.asks and study.catalogue is None and k > 1 else None
        gone = self._infeasible(study)
        found, refusal = attempt(lambda: study.ask(n, rater=rater, choices=more), *NONE)
        if isinstance(refusal, errors.NothingToAskError):
            assert 0 <= refusal.retry_after <= study.settings["lease"]
        if isinstance(refusal, errors.StudyFinishedError):
            assert study.progress().finished == refusal.reason
        if refusal is not None:
            return
        duels = [found] if n == 1 else found
        assert 1 <= len(duels) <= n
        assert all(duel.state == "open" and duel.rater == rater for duel in duels)
        if study.catalogue is not None:
            fresh = [duel for duel in duels if duel.role == "question" and duel.id >= self.counted]
            assert all(duel.items is not None for duel in fresh)
            assert not {i for duel in fresh for i in duel.items or ()} & gone

    def _infeasible(self, study: gd.Study) -> set[int]:
        """Items of which somebody said that they cannot be; what is asked before is not new."""
        duels = study.duels
        self.counted = len(duels)
        which = {None: "", "both": "ab"}
        return {
            duel.items["ab".index(letter)]
            for duel in duels
            if duel.items is not None and duel.state == "answered"
            for letter in which.get(duel.infeasible, duel.infeasible) or ""
        }

    @rule(which=WHICH, of=st.integers(0, 20), word=WORDS, rater=RATERS)
    def tell(self, which, of, word, rater):
        study = self.study(which)
        if not (waiting := study.open_duels):
            return
        duel = waiting[of % len(waiting)]
        answer = said(duel, word)
        told = study.tell(duel if of % 2 else duel.id, answer, rater=rater)
        assert (told.answer, told.infeasible) == held(duel, answer)
        assert told.rater == (rater or duel.rater)

    @rule(which=WHICH, word=WORDS, rater=RATERS)
    def ask_and_tell(self, which, word, rater):
        """Most of what happens; by another handle than the one that asked."""
        with contextlib.suppress(*NONE):
            duel = self.study(which).ask(rater=rater)
            self.study(which + 1).tell(duel, said(duel, word))

    @rule(which=WHICH, of=st.integers(0, 99), word=WORDS)
    def tell_again(self, which, of, word):
        study = self.study(which)
        if not (over := [duel for duel in study.duels if duel.state != "open"]):
            return
        duel = over[of % len(over)]
        answer = said(duel, word)
        assert study.tell(duel, answer, skip_if_finished=True).answer == duel.answer
        with pytest.raises(errors.AlreadyAnsweredError):
            study.tell(duel, answer)

    @rule(which=WHICH, rater=RATERS)
    def undo(self, which, rater):
        study = self.study(which)
        before = study.progress()
        duel, refusal = attempt(lambda: study.undo(rater=rater), errors.ArgumentError)
        if refusal is not None:
            assert "others have answered what followed" in str(refusal)
            assert not self.asks
            return
        after = study.progress()
        was = before.answered + before.skips + before.reports
        assert after.answered + after.skips + after.reports == was - (duel is not None)

    @rule(which=WHICH, rater=RATERS, seed=st.integers(0, 99))
    def report(self, which, rater, seed):
        points = self.manifold.random_point(np.random.default_rng(seed), (2,))
        if self.learns:
            assert self.study(which).report_preference(*points, rater=rater).role == "report"
        else:
            with pytest.raises(errors.ArgumentError, match="its own questions only"):
                self.study(which).report_preference(*points)

    @rule(which=WHICH, rater=RATERS, seed=st.integers(0, 99))
    def enqueue(self, which, rater, seed):
        points = self.manifold.random_point(np.random.default_rng(seed), (2,))
        first = self.study(which)
        if first.domain is not None:
            points = first.domain.project(points)
        if first.catalogue is not None:
            points = [first.catalogue[(seed + i) % len(first.catalogue)] for i in range(2)]
        if self.learns:
            duel = self.study(which).enqueue(*points, rater=rater)
            assert (duel.role, duel.state, duel.rater) == ("enqueued", "open", rater)
        else:
            with pytest.raises(errors.ArgumentError, match="its own questions only"):
                self.study(which).enqueue(*points)

    @rule(which=WHICH, value=st.integers(0, 9))
    def attach(self, which, value):
        self.study(which).set_user_attr("mood", value)
        assert self.study(which + 1).user_attrs["mood"] == value

    # -- what they look at -------------------------------------------------------------------------

    @rule(which=WHICH, rater=RATERS)
    def result(self, which, rater):
        study = self.study(which)
        if rater is not None and not self.asks:
            with pytest.raises(errors.ArgumentError, match="no result for rater"):
                study.recommend(rater)
            return
        self._check(study.recommend(rater))
        radius = study.uncertainty(rater)
        assert radius is None or radius >= 0

    @rule(which=WHICH)
    def tastes(self, which):
        study = self.study(which)
        if not self.asks:
            return
        named = {name for name, rater in study.progress().raters.items() if name and rater.answers}
        members = [name for camp in study.camps() for name in camp.members]
        assert len(members) == len(set(members))
        assert set(members) <= named
        assert set(study.disagreement()) == named

    # -- handles -----------------------------------------------------------------------------------

    @rule(which=WHICH)
    def load(self, which):
        if len(self.handles) < 3:
            self.handles.append(self._load())
        else:
            self.handles[which] = self._load()

    @rule(which=WHICH)
    def export_and_import(self, which):
        """The import is the same study, and takes its place in another storage."""
        path, storage = Path(FOLDER.name, "s.jsonl"), MemoryStorage()
        text = self.study(which).export(path)
        copy = gd.import_study(path, storage, **self.own)
        assert copy.export() == text
        gd.copy_study("s", self.storage, storage, "t")
        assert storage.read("t", 0) == storage.read("s", 0)
        assert copy.duels == self.handles[0].duels
        assert str(copy.recommend()) == str(self.handles[0].recommend())
        if which == 0:
            self.storage, self.handles = storage, [copy, gd.load_study("s", storage, **self.own)]

    @precondition(lambda self: len(self.handles[0].duels) > 6)
    @rule()
    def delete_and_create(self):
        self.stale = self.handles
        gd.delete_study("s", self.storage)
        with pytest.raises(errors.UnknownStudyError):
            self._load()
        with pytest.raises(errors.UnknownStudyError):
            self.stale[0].set_user_attr("mood", 1)
        self.seed += 1
        self._create()

    @precondition(lambda self: self.stale)
    @rule(which=st.integers(0, 1))
    def use_a_stale_handle(self, which):
        """Its study was deleted, and there is another one of that name."""
        with pytest.raises((errors.ReplayError, errors.UnknownStudyError)):
            self.stale[which].ask()
        with pytest.raises((errors.ReplayError, errors.UnknownStudyError)):
            self.stale[which].set_user_attr("mood", 1)

    # -- what must hold ----------------------------------------------------------------------------

    @invariant()
    def no_handle_is_lost(self):
        if hasattr(self, "handles"):
            known = {
                (study.budget, study._book.answered) for study in self.handles
            }  # reads the log
            assert len(known) == 1

    def teardown(self):
        try:
            if hasattr(self, "handles"):
                self.agree()
        finally:
            self.clock.stop()

    def agree(self):
        """At the end all handles say the same."""
        studies = [*self.handles, self._load()]
        first = studies[0]
        points = [study.recommend() for study in studies]
        self._check(points[0])
        points = [self.manifold.pack(point) for point in points]
        assert all(np.array_equal(point, points[0]) for point in points)
        assert all(study.duels == first.duels for study in studies)
        assert len({str(study.progress()) for study in studies}) == 1
        asked = [study._player.questions(study._book, 10**6, "dee") for study in studies]
        assert len({str(next(questions, None)) for questions in asked}) == 1
        progress = first.progress()
        counted = [d for d in first.duels if d.state == "answered" and d.role != "report"]
        assert progress.answered + progress.skips == len(counted)
        assert sum(r.answers for r in progress.raters.values()) == progress.answered
        assert sum(d.state == "open" for d in first.duels) == progress.open
        assert all(0 <= r.agreed <= r.repeats for r in progress.raters.values())
        answered = {d.id: d for d in counted if d.answer != "skip"}
        pairs = [(answered[d.of], d) for d in answered.values() if d.of in answered]
        same = sum(first.rater == again.rater for first, again in pairs)
        assert sum(r.repeats for r in progress.raters.values()) == same


class Votes(Use):
    """The kinds in which an answer may come late."""

    kinds: ClassVar[list[str]] = [kind for kind in sorted(KINDS) if "votes" in kind]


class People(Use):
    """The methods of the package for people, which know camps; an answer takes them long."""

    kinds: ClassVar[list[str]] = PEOPLE


def only(kind: str) -> type[Use]:
    """Histories of one kind."""
    return type("Only", (Use,), {"kinds": [kind]})


few = {"stateful_step_count": 40}
TestUse = pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")(Use.TestCase)
TestUse.settings = settings(max_examples=40, **few)
TestVotes = Votes.TestCase
TestVotes.settings = settings(max_examples=40, **few)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_many_histories(kind):
    """10,000 histories of all kinds; `benchmarks/random_use.py` counts them."""
    from hypothesis.stateful import run_state_machine_as_test

    count = 20 if kind in PEOPLE else 320
    run_state_machine_as_test(only(kind), settings=settings(max_examples=count, **few))
