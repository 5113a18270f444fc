"""The log and the book that is kept from it."""

from __future__ import annotations

from typing import Any

import pytest

from geoduel.study.log import EMPTY, Book, Row, chain, event_line


def rows(*events):
    made, digest = [], EMPTY
    for number, event in enumerate(events, 1):
        line = event_line(event)
        digest = chain(digest, line)
        made.append(Row(number, line, digest))
    return made


def question(duel: int, **more):
    points = {"a": [0], "b": [1], "role": "question", "left": "a"}
    return {"kind": "question", "duel": duel, **points, "time": 1.0, **more}


def answer(duel: int, word: str, **more):
    return {"kind": "answer", "duel": duel, "answer": word, "time": 2.0, **more}


def kept(*events) -> Book:
    book = Book()
    book.take(rows(*events))
    return book


def test_a_book_takes_each_event_once():
    log = rows(question(0), answer(0, "a"))
    book = Book()
    assert len(book.take(log[:1])) == 1
    assert len(book.take(log)) == 1
    assert book.take(log) == []
    assert (book.number, book.digest) == (2, log[-1].digest)
    assert book.answers["a"] == 1


@pytest.mark.parametrize("harm", ["gap", "digest", "line", "duel"])
def test_a_book_sees_what_was_altered(harm):
    log = rows(question(0), question(1), question(2 if harm != "duel" else 7))
    if harm == "gap":
        del log[1]
    elif harm == "digest":
        log[1] = log[1]._replace(digest="f" * 32)
    elif harm == "line":
        log[1] = log[1]._replace(line=log[1].line.replace("[1]", "[2]"))
    with pytest.raises(ValueError, match=r"event [23]"):
        Book().take(log)


def test_a_book_knows_what_it_can_take():
    for event in ({"kind": "take", "time": 1.0}, {"kind": "count"}, question(1)):
        with pytest.raises(ValueError, match="event 1"):
            Book().take(rows(event))


@pytest.mark.parametrize(
    "event",
    [
        answer(7, "a"),
        answer(0, "left"),
        answer(0, "tie", strength="clearly"),
        answer(0, None),
        {"kind": "undo", "number": 1},
        {"kind": "lease", "duel": 7, "time": 2.0},
    ],
)
def test_events_that_fit_nothing_are_errors(event: dict[str, Any]):
    with pytest.raises((ValueError, LookupError, StopIteration)):
        kept(question(0), event)
    with pytest.raises(LookupError):
        kept(question(0), answer(0, "a"), answer(0, "b"))


def test_counts_follow_answers_and_undos():
    words = ("a", "b", "tie", "skip")
    events = [e for i, w in enumerate(words) for e in (question(i), answer(i, w, rater="ann"))]
    book = kept(*events)
    assert (book.answered, book.answers) == (3, dict.fromkeys(words, 1) | {"ranked": 0})
    assert (book.raters["ann"].answers, book.raters["ann"].skips) == (3, 1)
    assert not book.open
    book = kept(*events, {"kind": "undo", "number": 4, "time": 3.0})
    assert (book.answered, list(book.open), book.rewound) == (2, [1], 1)
    assert [given.duel for given in book.given] == [0, 2, 3]
    assert book.raters["ann"].answers == 2


def test_repeats_are_compared_with_the_first_answer():
    again = question(1, of=0)
    for word, agreed in (("a", 1.0), ("b", 0.0), ("tie", 0.5)):
        tally = kept(question(0), answer(0, "a"), again, answer(1, word)).raters[""]
        assert (tally.repeats, tally.agreed) == (1, agreed)
    other = kept(question(0), answer(0, "a", rater="ann"), again, answer(1, "a", rater="bob"))
    assert other.raters["bob"].repeats == 0


def test_a_pair_of_answers_counts_while_both_are_there():
    """Whichever of the two is taken back first, and whichever is given anew."""
    events = [question(0), answer(0, "a"), question(1, of=0), answer(1, "a")]
    undo = {"kind": "undo", "time": 3.0}
    steps = [
        ([{**undo, "number": 2}], (0, 0.0)),
        ([{**undo, "number": 2}, answer(0, "b")], (1, 0.0)),
        ([{**undo, "number": 2}, {**undo, "number": 4}], (0, 0.0)),
        ([{**undo, "number": 2}, answer(0, "tie"), {**undo, "number": 4}], (0, 0.0)),
        ([{**undo, "number": 2}, answer(0, "skip"), answer(1, "b")][:2], (0, 0.0)),
    ]
    for more, counts in steps:
        tally = kept(*events, *more).raters[""]
        assert (tally.repeats, tally.agreed) == counts


def test_an_undo_withdraws_later_batches():
    asked = [question(0, at=[1, 0]), answer(0, "a"), question(1, at=[2, 0])]
    book = kept(*asked)
    assert not book.is_built_on(book.given[0])
    book.take(rows(*asked, {"kind": "undo", "number": 2, "time": 3.0}))
    assert (list(book.open), book.entries[1].withdrawn) == ([0], True)


def test_a_late_vote_hides_nothing():
    """Two votes of three decide; what follows is answered before the third vote comes."""
    votes = [question(i, at=[1, 0]) for i in range(3)]
    early = [answer(0, "a", rater="ann"), answer(1, "a", rater="bob")]
    later = [question(3, at=[2, 0]), answer(3, "a", rater="ann")]
    book = kept(*votes, *early, *later, answer(2, "b", rater="eve"))
    built = {given.duel: book.is_built_on(given) for given in book.given}
    assert built == {0: True, 1: True, 2: False, 3: False}


def test_one_rater_alone():
    first, second = question(0), question(1)
    book = kept(first, answer(0, "a", rater="ann"), second, answer(1, "b", rater="bob"))
    assert [given.duel for given in book.of_raters("bob").given] == [1]
    assert len(book.given) == 2


def test_reports_and_attributes():
    report = {"kind": "report", "better": [0], "worse": [1], "time": 1.0}
    note = {"kind": "attribute", "key": "room", "value": 3}
    book = kept(report, note)
    assert (book.reports, book.answered, book.attributes) == (1, 0, {"room": 3})
    book = kept(report, note, {"kind": "undo", "number": 1, "time": 2.0})
    assert (book.reports, book.entries[0].withdrawn, book.open) == (0, True, {})


def test_settings_once_sealed_stay():
    first, other = ({"kind": "settings", "time": 1.0, "digest": d * 32} for d in "ab")
    assert kept(first, first).sealed == "a" * 32
    with pytest.raises(ValueError, match="event 2 belongs to other settings"):
        kept(first, other)
