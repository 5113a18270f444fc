"""Who gets which question: one held already, one whose time is over, a repeat, or a new one."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study import holders
from geoduel.study.storage import MemoryStorage

SPHERE = gd.Sphere(3)


def newton(**more):
    return gd.create_study(SPHERE, "duel-newton", rng=0, **more)


def test_a_named_rater_gets_her_question_again():
    """A page that is loaded again shows the same duel; others get other ones."""
    study = newton()
    first = study.ask(rater="ann")
    assert study.ask(rater="ann") == first
    assert study.ask(rater="bob").id != first.id
    study.tell(1, "a")
    study.tell(first, "a")
    both = study.ask(2, rater="ann")
    assert [d.id for d in both] == [2]  # the line search asks one by one
    assert study.ask(2, rater="ann") == both
    assert study.ask(rater="ann") == both[0]


def test_batches_go_out_in_parts():
    """A block of DuelNewton is d duels: each goes out once, and the next block waits for them."""
    study = newton()
    duels = study.ask(10)
    assert len(duels) == 2
    answer = threading.Thread(target=lambda: [study.tell(d, "a") for d in duels])
    caught = []

    def other():
        with pytest.raises(errors.NothingToAskError) as caught_here:
            study.ask()
        caught.append(caught_here.value)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert 590 < caught[0].retry_after <= 600.01  # times are stored in milliseconds
    assert study.ask() == duels[0]  # their holder gets them again, where there is nothing else
    answer.start()
    answer.join()
    assert study.ask().id == 2


def test_a_lease_ends():
    study = newton(lease=0.05)
    first = study.ask(rater="ann")
    study.ask(rater="bob")
    with pytest.raises(errors.NothingToAskError):
        study.ask(rater="cyd")
    time.sleep(0.06)
    again = study.ask(rater="cyd")
    assert (again.id, again.rater) == (first.id, "cyd")
    assert np.array_equal(again.a, first.a)
    assert study.tell(first, "a").rater == "cyd"  # unless tell says who it was
    assert len(study.duels) == 2


def test_the_wait_is_for_the_question_that_has_been_out_for_longest(monkeypatch):
    study, now = newton(lease=600.0), time.time()
    for seconds, rater in ((0, "ann"), (100, "bob")):
        monkeypatch.setattr(time, "time", lambda seconds=seconds: now + seconds)
        study.ask(rater=rater)
    for seconds, wait in ((150, 450), (599, 1)):
        monkeypatch.setattr(time, "time", lambda seconds=seconds: now + seconds)
        with pytest.raises(errors.NothingToAskError, match="all 2 open") as caught:
            study.ask(rater="cyd")
        assert caught.value.retry_after == pytest.approx(wait, abs=0.01)


def test_no_more_questions_than_are_useful_at_once(monkeypatch):
    """Three on a sphere of two dimensions, but no rater has to wait for another."""
    study = gd.create_study(SPHERE, "ideal-point", rng=0)
    store = study.ask(8, rater="ann")
    assert len(store) == 3
    assert study.ask(8, rater="ann") == store  # no more for her
    assert len(study.ask(8, rater="bob")) == 1
    assert study.ask(rater="cyd").id == 4
    for duel in store[:2]:
        study.tell(duel, "a")
    assert study.ask(8, rater="ann") == store[2:]  # three are out
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + 61)  # they are late
    assert len(study.ask(8, rater="fay")) == 3
    patient = gd.create_study(SPHERE, gd.IdealPoint(parallel=8), rng=0)
    assert len(patient.ask(100)) == 8


def test_questions_of_a_process_that_ended_are_free(monkeypatch):
    """No waiting for the lease where it is certain that nobody will answer."""
    study = newton()
    host = holders.me().partition(":")[0]
    monkeypatch.setattr(holders, "me", lambda: f"{host}:{2**22 + 1}:1")  # above all pids
    lost = study.ask(2)
    monkeypatch.undo()
    assert [d.id for d in study.ask(2)] == [d.id for d in lost]


def test_votes_are_a_majority(north):
    """Three raters a question; one always errs, and the run is that of the other two."""
    voted = gd.create_study(SPHERE, "rdngd", rng=0, budget=300, votes=3)
    plain = gd.create_study(SPHERE, "rdngd", rng=0, budget=100)
    flip = {"a": "b", "b": "a", "tie": "tie"}
    for _ in range(20):
        duel = plain.ask()
        right = "a" if duel.a[2] > duel.b[2] else "b"
        plain.tell(duel, right)
        for rater in ("ann", "eve", "bob"):
            try:
                vote = voted.ask(rater=rater)
            except errors.NothingToAskError:
                break
            assert np.array_equal(vote.a, duel.a)
            voted.tell(vote, flip[right] if rater == "eve" else right)
    assert np.array_equal(voted.recommend(), plain.recommend())
    assert {d.role for d in voted.duels} == {"question", "vote"}
    assert voted.progress().answered == 60
    agreeing = gd.create_study(SPHERE, "rdngd", rng=0, budget=300, votes=3)
    for rater in ("ann", "bob"):
        agreeing.tell(agreeing.ask(rater=rater), "a")
    third = agreeing.ask(rater="cyd")
    assert (third.id, third.role) == (2, "question")  # two of three have decided


@pytest.mark.parametrize("more", [{}, {"repeats": 0.2}], ids=str)
def test_repeats_start_after_fifteen_answers_of_a_rater(nudge, more):
    """Unless they are asked for: a share that is given applies from the start."""
    study = gd.create_study(SPHERE, nudge(), rng=0, **more)
    for _ in range(60):
        for name in ("ann", "bob"):
            study.tell(study.ask(rater=name), "a")
    for name in ("ann", "bob"):
        roles = [duel.role for duel in study.duels if duel.rater == name]
        assert roles.count("repeat") >= 2
        assert roles.index("repeat") < 6 if more else roles.index("repeat") == 16


def test_who_is_away_from_the_others_is_asked_about_the_own_result(nudge):
    """Every second question is about the rater's own point; those who agree are asked none."""
    study = gd.create_study(SPHERE, nudge(shrink=0.8), rng=0, repeats=0.0)
    pole, about_own = np.eye(3)[2], []
    for step in range(12):
        for name, ideal in {"ann": pole, "bob": pole, "eve": -pole}.items():
            own = study._of(name).state.best
            away = SPHERE.dist(own, study.recommend()) > SPHERE.typical_dist / 18
            duel = study.ask(rater=name)
            middle = SPHERE.exp(duel.a, 0.5 * SPHERE.log(duel.a, duel.b))
            if SPHERE.dist(own, study.recommend()) > 1e-3:
                about_own.append(SPHERE.dist(middle, own) < 1e-6)
                assert about_own[-1] == (away and step % 2 == 1)
            closer = SPHERE.dist(duel.a, ideal) < SPHERE.dist(duel.b, ideal)
            study.tell(duel, "a" if closer else "b")
    assert 0 < sum(about_own) < len(about_own)


def test_repeats_measure_consistency(nudge):
    """One duel in five is asked again, sides flipped: a rater who says "left" contradicts it."""
    study = gd.create_study(SPHERE, nudge(), rng=0, repeats=0.2)
    for _ in range(60):
        duel = study.ask(rater="ann")
        study.tell(duel, "a" if duel.a[2] > duel.b[2] else "b")
        duel = study.ask(rater="lefty")
        study.tell(duel, duel.left)
    repeats = [d for d in study.duels if d.role == "repeat"]
    assert 18 <= len(repeats) <= 26
    for duel in repeats:
        first = study.duels[duel.of]
        assert np.array_equal(duel.a, first.a)
        assert duel.left != first.left
        assert duel.rater == first.rater
        assert duel.id - first.id >= 5
    assert len({d.of for d in repeats}) == len(repeats)
    raters = study.progress().raters
    assert raters["ann"].consistency == 1.0
    assert raters["lefty"].consistency == 0.0
    assert raters["lefty"].weight < 0.5 < 2 < raters["ann"].weight
    assert raters["ann"].answers == 60


@pytest.mark.parametrize("told", ["a", "skip"])
def test_repeats_are_due_by_their_share_of_what_a_rater_was_asked(nudge, told):
    """Of n questions a quarter n are repeats, as soon as a duel is old enough; skips count."""
    study, roles = gd.create_study(SPHERE, nudge(), rng=0, repeats=0.25), []
    for n in range(16):
        duel, done = study.ask(rater="ann"), roles.count("repeat")
        old = [d for d in study.duels[: max(0, n - 5)] if d.role == "question"]
        due = done < 0.25 * n and sum(d.answer == "a" for d in old) > done
        assert (duel.role == "repeat") == due
        study.tell(duel, told if n % 3 == 2 and not due else "a")
        roles.append(duel.role)
    assert roles.count("repeat") == 4


def test_repeats_that_are_out_count_as_done_for_their_rater_alone(nudge):
    study = gd.create_study(SPHERE, nudge(), rng=0, repeats=0.5)
    for name in 3 * ("ann", "bob") + 6 * ("cyd",):
        study.tell(study.ask(rater=name), "a")
    for name in ("ann", "bob"):  # of three questions 1.5 are due: two
        held = [study.ask(n, rater=name) for n in (2, 3, 4, 5)]
        assert [sum(d.role == "repeat" for d in duels) for duels in held] == [1, 2, 2, 2]


def test_a_repeat_that_somebody_else_took_over_is_due_again(nudge):
    study = gd.create_study(SPHERE, nudge(), rng=0, repeats=0.9, lease=0.05)
    for name in ("ann", *5 * ["cyd"]):
        study.tell(study.ask(rater=name), "a")
    assert study.ask(rater="ann").of == 0
    time.sleep(0.06)
    taken = study.ask(rater="bob")
    assert (taken.role, taken.of) == ("repeat", 0)
    assert study.ask(rater="ann").of == 0


def test_an_own_result_is_asked_about_in_the_first_sixty_questions(nudge, monkeypatch):
    """With two in place of sixty: at a rater's third question it is about the common result."""
    monkeypatch.setattr("geoduel.study.assign.OWN_AMONG", 2)
    study = gd.create_study(SPHERE, nudge(shrink=0.8), rng=0, repeats=0.0)
    own = []
    for _ in range(8):
        for name, ideal in {"ann": np.eye(3)[2], "eve": -np.eye(3)[2]}.items():
            alone = study._of(name).state.best
            duel = study.ask(rater=name)
            middle = SPHERE.exp(duel.a, 0.5 * SPHERE.log(duel.a, duel.b))
            if name == "eve" and SPHERE.dist(alone, study.recommend()) > 1e-3:
                own.append(SPHERE.dist(middle, alone) < 1e-6)
            closer = SPHERE.dist(duel.a, ideal) < SPHERE.dist(duel.b, ideal)
            study.tell(duel, "a" if closer else "b")
    assert own.index(True) == 1
    assert own.count(True) == 1


def test_sides_follow_from_the_seed_and_the_number_of_the_duel(nudge):
    """Whatever else was logged in between; earlier formats counted all events."""
    study = gd.create_study(SPHERE, nudge(), rng=5, repeats=0.0)
    for point in SPHERE.random_point(np.random.default_rng(0), (6,)):
        study.tell(study.ask(rater="ann"), "a")
        study.enqueue(point, np.eye(3)[0])
        study.tell(study.ask(rater="bob"), "skip")
    seed = study.settings["seed"]
    for duel in study.duels:
        first = np.random.default_rng([seed, duel.id, 1]).random() < 0.5
        assert duel.left == ("a" if first else "b")


def test_the_budget_is_kept(nudge):
    study = gd.create_study(SPHERE, nudge(), rng=0, budget=4)
    first = study.ask(3)
    assert len(study.ask(3, rater="ann")) == 1  # three are out
    for duel in first:
        study.tell(duel, "a")
    study.tell(3, "skip")  # no answer: another question
    study.tell(study.ask(), "b")
    with pytest.raises(errors.StudyFinishedError) as caught:
        study.ask()
    assert caught.value.reason == "budget" == study.progress().finished
    assert study.progress().answered == 4


def test_a_clock_that_was_wrong_holds_nobody(monkeypatch):
    """A question that went out in a year to come is held for one lease, counted from now."""
    study = newton(lease=600.0)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 365 * 86400)
    held = study.ask(2, rater="ann")
    assert len(held) == 2
    monkeypatch.setattr(time, "time", lambda: now)
    for handle in (study, gd.load_study(study.name, study.storage)):
        with pytest.raises(errors.NothingToAskError) as caught:
            handle.ask(rater="bob")
        assert caught.value.retry_after <= 600.0
    monkeypatch.setattr(time, "time", lambda: now + 601)
    assert study.ask(rater="bob").id == held[0].id
    assert study.tell(held[0], "a", rater="bob").answered == pytest.approx(now + 601, abs=0.01)


def test_a_clock_that_is_ahead_takes_no_question_away_where_the_storage_has_a_clock(monkeypatch):
    """Two servers on one database, one of them a day ahead: both count by the database's time."""

    class Shared(MemoryStorage):
        hour = 0.0

        def now(self):
            return 1.8e9 + 3600 * self.hour

    storage = Shared()
    study = gd.create_study(SPHERE, "rdngd", storage=storage, lease=600.0, rng=0, iterations=9)
    held = study.ask(rater="ann")
    other = gd.load_study(study.name, storage)
    for wrong in (86400.0, -86400.0):
        monkeypatch.setattr(time, "time", lambda wrong=wrong: 1.8e9 + wrong)
        with pytest.raises(errors.NothingToAskError) as caught:
            other.ask(rater="bob")
        assert caught.value.retry_after == 600
    storage.hour = 1
    assert other.ask(rater="bob").id == held.id
    assert other.tell(held, "a", rater="bob").answered == 1.8e9 + 3600


def test_the_time_of_a_rater_begins_when_it_has_the_question(monkeypatch):
    """Not when the question went to somebody else before."""
    now = time.time()
    study = gd.create_study(gd.Rotations(2), rng=0, lease=100)

    def at(seconds):
        monkeypatch.setattr(time, "time", lambda: now + seconds)

    at(0)
    duel = study.ask(rater="ann")
    at(130)
    assert study.ask(rater="bob").id == duel.id
    at(133)
    told = study.tell(duel, "a", rater="bob")
    assert told.seconds == pytest.approx(3, abs=0.01)
    assert told.answered == pytest.approx(told.asked + 133, abs=0.01)
    at(140)
    study.undo()
    at(150)
    assert study.tell(duel, "b").seconds == pytest.approx(10, abs=0.01)
    assert study.report_preference(duel.a, duel.b).seconds is None
    at(200)
    mine = study.enqueue(duel.a, duel.b)
    at(260)
    assert study.ask(rater="ann").id == mine.id
    at(264)
    assert study.tell(mine, "a").seconds == pytest.approx(4, abs=0.01)
    at(0)  # the clock was set back
    assert study.tell(study.ask(), "a").seconds == 0
