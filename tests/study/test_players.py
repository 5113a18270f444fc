"""Players: the same answers give the same state, in whatever process."""

from __future__ import annotations

import math

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.log import Book, Entry, Given, chain, event_line
from geoduel.study.log import Row as LogRow
from geoduel.study.players import Member, QuestionPlayer, StepPlayer, player

SPHERE = gd.Sphere(3)
START = np.array([1.0, 0.0, 0.0])


def tell(book: Book, play, word: str, rater: str | None = None, **altered: list[float]) -> None:
    """Ask the next question of a player, write both events, and let the player follow."""
    question = next(play.questions(book, book.number + 1, rater))
    duel = len(book.entries)
    at = {} if question.at is None else {"at": list(question.at)}
    points = {"a": question.a.tolist(), "b": question.b.tolist()} | altered
    asked = {"kind": "question", "duel": duel, **points, "role": question.role, "left": "a", **at}
    given = {"kind": "answer", "duel": duel, "answer": word, "rater": rater}
    for event in (asked, given):
        line = event_line(event | {"time": 1.0})
        book.take([LogRow(book.number + 1, line, chain(book.digest, line))])
    play.follow(book)


def undo(book: Book, number: int) -> None:
    line = event_line({"kind": "undo", "number": number, "rater": None, "time": 2.0})
    book.take([LogRow(book.number + 1, line, chain(book.digest, line))])


def make(method, **more):
    return player(method, SPHERE, 5, START, **more)


def test_each_kind_of_method_has_its_player(nudge):
    assert isinstance(make(nudge()), QuestionPlayer)
    assert isinstance(make(gd.DuelNewton()), StepPlayer)


@pytest.mark.parametrize("method", [gd.DuelNewton(), gd.RDNGD(step_size=0.1, batch=2), "nudge"])
def test_the_same_answers_give_the_same_state(method, nudge):
    method = nudge() if method == "nudge" else method
    first, book = make(method), Book()
    for word in "abbatba":
        tell(book, first, {"t": "tie"}.get(word, word))
    second = make(method)
    assert second.follow(book) == 7
    assert second.follow(book) == 0
    assert np.array_equal(first.state.best, second.state.best)
    nexts = [next(p.questions(book, 99, None)) for p in (first, second)]
    assert np.array_equal(nexts[0].a, nexts[1].a)
    assert first.checkpoints[-1].given == second.checkpoints[-1].given


def test_an_undo_goes_back_to_where_it_was(nudge):
    for method in (gd.DuelNewton(), nudge()):
        play, book = make(method), Book()
        for word in "abab":
            tell(book, play, word)
        before, number = play.checkpoint(), book.number
        tell(book, play, "b")
        undo(book, number + 2)
        play.follow(book)
        assert play.count == before.given
        assert np.array_equal(play.state.best, before.state.best)


def test_a_checkpoint_is_all_there_is(nudge):
    """Another player goes on from it, to the same state."""
    for method in (gd.RDNGD(step_size=0.1), nudge()):
        first, book = make(method), Book()
        for word in "abba":
            tell(book, first, word)
        second = make(method)
        second.resume(first.checkpoints[-1])
        for word in "ab":
            tell(book, first, word)
        second.follow(book)
        assert np.array_equal(first.state.best, second.state.best)
        assert len(second.checkpoints) >= 1


def test_a_log_of_another_method_does_not_replay():
    play, book = make(gd.RDNGD(step_size=0.1)), Book()
    for word in "abab":
        tell(book, play, word)
    with pytest.raises(errors.ReplayError, match=r"duel \d does not replay: the method now asks"):
        make(gd.RDNGD(step_size=0.3)).follow(book)
    with pytest.raises(errors.ReplayError, match="does not replay: it is number"):
        make(gd.RDNGD(step_size=0.1, batch=2)).follow(book)


@pytest.mark.parametrize("side", ["a", "b"])
def test_both_points_of_a_question_have_to_be_those_of_the_log(side):
    with pytest.raises(errors.ReplayError, match=r"duel 0 does not replay.*differs by"):
        tell(Book(), make(gd.RDNGD(step_size=0.1)), "a", **{side: [0.0, 0.0, -1.0]})


def test_a_schedule_needs_a_length():
    with pytest.raises(errors.ArgumentError, match="give iterations= or budget="):
        make(gd.RDNGD())
    assert make(gd.RDNGD(), iterations=3).stop_reason is None


def test_it_stops_after_its_iterations():
    play, book = make(gd.RDNGD(step_size=0.1), iterations=2), Book()
    while play.stop_reason is None:
        tell(book, play, "a")
    assert play.stop_reason == "iterations"
    assert play.iteration == 2
    assert list(play.questions(book, 99, None)) == []


def test_pairs_that_the_set_decides_are_not_asked():
    cap = gd.Ball(SPHERE, START, 0.3)
    play, book = make(gd.DuelNewton(domain=cap)), Book()
    for _ in range(30):
        tell(book, play, "a")
    assert all(cap.contains(np.array(e.a)) and cap.contains(np.array(e.b)) for e in book.entries)


def test_a_preference_that_was_not_asked_for_waits_until_the_method_learns_it():
    """DuelNewton does once its first steps are over, and then asks other questions."""
    better, worse = np.array([0.0, 0.6, 0.8]), np.array([0.0, -0.6, 0.8])

    def played(reported: bool) -> gd.Study:
        study = gd.create_study(SPHERE, "duel-newton", x0=START, rng=5, study_name="s")
        for k in range(16):
            if reported and k == 1:
                study.report_preference(better, worse)
            duel = study.ask()
            study.tell(duel, "a" if duel.a @ better > duel.b @ better else "b")
        return study

    study, other = played(True), played(False)
    asked = [[d.a for d in s.duels if d.role == "question"] for s in (study, other)]
    alike = [np.array_equal(*pair) for pair in zip(*asked, strict=True)]
    assert alike[:3] == [True] * 3
    assert not all(alike)
    again = gd.load_study("s", study.storage)
    assert np.array_equal(again.recommend(), study.recommend())


def test_points_of_a_choice_that_are_alike_are_ties(nudge):
    play, (a, b, c) = make(nudge()), np.eye(3).tolist()
    entry = Entry(0, a, b, "step", "a", 0.0, "ann", more=(c,), order="abc")
    play.give(entry, Given(1, 0, "tie", "ann", 1.0))
    assert [(answer, rater) for answer, _, rater, _ in play.state.heard] == [(0, "ann")] * 2


def test_votes_are_decided_once_the_rest_cannot_change_them():
    play, book = make(gd.RDNGD(step_size=0.1), iterations=9, votes=3), Book()
    tell(book, play, "a", "ann")
    second = next(play.questions(book, 99, "bob"))
    assert second.role == "vote"
    tell(book, play, "a", "bob")
    assert next(play.questions(book, 99, "cyd")).at[0] == second.at[0] + 1


def test_two_votes_that_disagree_are_a_tie():
    pair = Member(np.zeros(3), np.ones(3), math.nan)
    pair.vote(-1, 1.0, 2)
    assert pair.answer is None
    pair.vote(1, 1.0, 2)
    assert pair.answer == 0


def test_iterations_of_methods_for_people_are_answers_but_skips(nudge):
    play, book = make(nudge(), iterations=3), Book()
    for word, count in [("a", 1), ("skip", 1), ("tie", 2)]:
        tell(book, play, word)
        assert play.iteration == count
        assert play.stop_reason is None
    tell(book, play, "b")
    assert play.stop_reason == "iterations"


@pytest.mark.parametrize("by_event", [False, True])
def test_an_answer_has_random_numbers_of_its_own(nudge, by_event):
    """Those of its duel, so that other events change nothing; in format 1 those of its event."""
    play, book = make(nudge(), by_event=by_event), Book()
    for word in "aba":
        tell(book, play, word)
    keys = [[5, given.number] if by_event else [5, given.duel, 4] for given in book.given]
    drawn = [np.random.default_rng(key).integers(1000) for key in keys]
    assert [heard[-1] for heard in play.state.heard] == drawn


def test_the_history_is_thinned_where_it_is_old(nudge):
    play, book, answered = make(nudge(shrink=1.0)), Book(), []
    for k in range(1, 402):
        tell(book, play, "a")
        answered = [count for count, _ in play.history]
        assert len(answered) == (k if k <= 400 else 301)
    assert answered == [*range(1, 200, 2), *range(201, 402)]


def test_methods_hear_side_and_rater(nudge, replay):
    study = gd.create_study(SPHERE, nudge(), rng=0)
    duel = study.ask(rater="ann")
    study.tell(duel, "b")
    study.report_preference(np.eye(3)[0], np.eye(3)[1], rater="bob")
    heard = replay(study, nudge()).state.heard
    assert heard[0][:3] == (1, 1 if duel.left == "a" else -1, "ann")
    assert heard[1][:3] == (-1, 0, "bob")
