"""Asking, telling, taking back: what a study promises to those who answer."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from typing import Any

import numpy as np
import pytest
from samples.nudge import Nudge

import geoduel as gd
from geoduel import errors
from geoduel.oracles.people import draw_person
from geoduel.study.storage import MemoryStorage

SPHERE = gd.Sphere(3)
PLANE = gd.Rotations(2)


def newton(**more):
    return gd.create_study(SPHERE, "duel-newton", rng=0, **more)


def test_a_duel_says_all_that_a_page_needs():
    study = newton()
    duel = study.ask()
    assert (duel.id, duel.role, duel.answer, duel.state) == (0, "question", None, "open")
    assert duel.left in ("a", "b")
    assert study.duels[duel.id] == duel
    with pytest.raises(ValueError, match="read-only"):
        duel.a[0] = 2.0
    answered = study.tell(duel, "b", rater="ann")
    assert (answered.answer, answered.state, answered.rater) == ("b", "answered", "ann")
    assert answered.answered is not None
    assert answered.answered >= answered.asked
    assert duel.answer is None  # a snapshot


def test_sides_are_drawn():
    """Both sides, about as often, from the seed; and the same pair each time it is looked at."""
    study = gd.create_study(SPHERE, "rdngd", rng=0, budget=400)
    study.optimize(gd.from_objective(lambda x: x[0]), 400)
    lefts = [d.left for d in study.duels]
    assert 160 <= lefts.count("a") <= 240  # four standard errors
    other = gd.create_study(SPHERE, "rdngd", rng=0, budget=400)
    other.optimize(gd.from_objective(lambda x: x[0]), 400)
    assert [d.left for d in other.duels] == lefts


def test_double_answers():
    study = newton()
    duel = study.ask()
    study.tell(duel, "a")
    with pytest.raises(errors.AlreadyAnsweredError, match=r"duel 0 was answered 'a'.*skip_if_fin"):
        study.tell(duel, "b")
    assert study.tell(duel.id, "b", skip_if_finished=True).answer == "a"
    assert study.progress().answered == 1


def test_a_duel_is_told_to_the_study_that_asked(url):
    ours, others = (
        gd.create_study(gd.Sphere(3), storage=url, study_name=f"s{seed}", rng=seed)
        for seed in (0, 1)
    )
    four = gd.create_study(gd.Sphere(3), rng=0, choices=4).ask()
    asked = [ours.ask(), others.ask(), four]
    for duel in asked[1:]:
        with pytest.raises(errors.ArgumentError, match="not of study 's0', whose duel 0 has other"):
            ours.tell(duel, "a")
        with pytest.raises(errors.ArgumentError, match="other points"):
            ours.tell(duel, "a", skip_if_finished=True)
    assert ours.progress().answered == 0
    gd.copy_study("s0", url, to_name="copy")
    for name in ("copy", "s0"):  # the same question
        assert gd.load_study(name, url).tell(asked[0], "a").answer == "a"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda s: s.tell(0, "left"),
            "answer must be one of 'a', 'b', 'tie', 'skip', 'a slightly', 'a.*, got 'left'",
        ),
        (lambda s: s.tell(99, "a"), "duel 99 is not of study"),
        (lambda s: s.tell(-1, "a"), "duel must be an integer >= 0, got -1"),
        (lambda s: s.tell("a", "a"), "duel must be a Duel or its id"),
        (lambda s: s.ask(0), "n must be an integer >= 1, got 0"),
        (lambda s: s.ask(rater=""), "rater must be a name"),
        (lambda s: s.ask(rater=3), "rater must be a name"),
        (lambda s: s.progress(accuracy=-1), "accuracy must be > 0"),
        (lambda s: s.recommend(rater="ann"), "no result for rater 'ann' alone"),
        (lambda s: s.recommend(rater=" "), "rater must be a name"),
        (lambda s: s.report_preference(np.eye(3)[0], np.eye(3)[0]), "are the same point"),
        (lambda s: s.set_user_attr("k", {1: 2}), "value must be what JSON can hold"),
        (lambda s: s.set_user_attr("k", [np.nan]), r"value\[0\] must be what JSON"),
        (lambda s: s.set_user_attr(1, 2), "key must be a text"),
        (lambda s: s.optimize(lambda x, y: 1, 0), "n_duels must be an integer >= 1"),
    ],
)
def test_bad_arguments(call, words):
    study = newton()
    study.ask()
    with pytest.raises(errors.ArgumentError, match=words):
        call(study)
    assert len(study.duels) == 1
    assert study.progress().answered == 0


def test_attributes_have_limits():
    """Nested, cyclic, large: an error that names the place, and nothing is stored."""
    study, deep, cyclic = newton(), [0], []
    for _ in range(2000):
        deep = [deep]
    cyclic.append(cyclic)
    for value, words in (
        (deep, "value cannot be stored: it is nested more than 64 deep"),
        (cyclic, "value cannot be stored: it is nested"),
        ({"k": cyclic}, "value cannot be stored: it is nested"),
        ("x" * 2**20, "value has 1,048,578 characters as JSON"),
        ([10**5000], r"value\[0\] must be what JSON can hold"),
        ({"k" * 10**6: 1j}, "value.*must be what JSON"),
    ):
        with pytest.raises(errors.ArgumentError, match=words):
            study.set_user_attr("k", value)
    assert study.user_attrs == {}
    study.set_user_attr("k", [{"n": 10**299}, "ä\ud800"])
    assert study.user_attrs == {"k": [{"n": 10**299}, "ä\ud800"]}


# -- what it found ---------------------------------------------------------------------------------


def test_results_of_one_rater(nudge):
    """On the geodesic from the common result to that of her answers alone, from the same start."""
    study, alone = (gd.create_study(SPHERE, nudge(), rng=0, repeats=0.0) for _ in range(2))
    first = study.ask(rater="ann")
    study.tell(first, "a")
    alone.tell(alone.ask(), "a")
    assert np.array_equal(study.recommend(rater="ann"), alone.recommend())  # nobody else
    assert study.uncertainty(rater="ann") == alone.uncertainty() == alone.progress().uncertainty
    for _ in range(5):
        study.tell(study.ask(rater="bob"), "b")
    own, common, drawn = alone.recommend(), study.recommend(), study.recommend(rater="ann")
    assert SPHERE.dist(common, own) > 0.1
    parts = SPHERE.dist(common, drawn), SPHERE.dist(drawn, own)
    assert sum(parts) == pytest.approx(SPHERE.dist(common, own))
    assert min(parts) > 0
    assert study.uncertainty(rater="ann") < alone.uncertainty()
    apart = study.disagreement()
    assert set(apart) == {"ann", "bob"}
    assert apart["ann"].distance == SPHERE.dist(common, own)
    assert apart["ann"].explained == np.hypot(alone.uncertainty(), study.uncertainty())
    assert study.disagreement(["ann"]) == {"ann": apart["ann"]}


def test_an_undo_reaches_results_of_one_rater(nudge):
    """What is kept of a rater's answers alone is given up if one of them is taken back."""
    study, plain = (gd.create_study(SPHERE, nudge(), rng=0, repeats=0.0) for _ in range(2))
    for word in ("a", "b", "b"):
        duel = study.ask(rater="ann")
        study.tell(duel, word)
        plain.report_preference(*((duel.a, duel.b) if word == "a" else (duel.b, duel.a)), "ann")
    before = study.recommend(rater="ann")
    study.undo(rater="ann")
    assert not np.array_equal(study.recommend(rater="ann"), before)
    study.tell(study.open_duels[0], "b")
    assert np.array_equal(study.recommend(rater="ann"), before)
    assert np.array_equal(before, plain.recommend(rater="ann"))


def rated(ideals: dict[str, np.ndarray], answers: int, **more) -> gd.Study:
    """A study in which raters with ideals of their own answer in turn, each so many times."""
    study = gd.create_study(PLANE, x0=np.eye(2), **{"rng": 0, "repeats": 0.0, **more})
    for _ in range(answers):
        for name, ideal in ideals.items():
            duel = study.ask(rater=name)
            closer = PLANE.dist(duel.a, ideal) < PLANE.dist(duel.b, ideal)
            study.tell(duel, "a" if closer else "b")
    return study


def test_tastes_far_apart_are_told_apart():
    """Two camps of three, 30 degrees apart, within 20 answers each; one taste is one camp."""
    far, near = (PLANE.from_angle(np.radians(angle)) for angle in (-10, 20))
    study = rated({"ann": far, "bob": near, "cyd": far, "dan": near, "eve": far, "flo": near}, 20)
    one, other = study.camps()
    assert {one.members, other.members} == {("ann", "cyd", "eve"), ("bob", "dan", "flo")}
    ideals = {"ann": far, "bob": near}
    for camp in (one, other):
        ideal = ideals[camp.members[0]]
        assert PLANE.dist(camp.point, ideal) < np.radians(5)
        for name in camp.members:
            assert PLANE.dist(study.recommend(rater=name), ideal) < np.radians(5)
    (all_,) = rated({"ann": far, "bob": far, "cyd": far}, 10).camps()
    assert all_.members == ("ann", "bob", "cyd")


def test_who_does_not_look_is_in_no_camp():
    ideal = PLANE.from_angle(0.3)
    study = rated({"ann": ideal}, 4)
    for _ in range(8):
        duel = study.ask(rater="left")
        study.tell(duel, duel.left)
    assert [camp.members for camp in study.camps()] == [("ann",)]


def test_one_against_many_contradicts():
    """A camp of one is seen 60 degrees from the others; 35 degrees from them hardly ever."""
    far, near = (PLANE.from_angle(np.radians(angle)) for angle in (-15, 45))
    study = rated({"ann": far, "bob": far, "cyd": far, "dan": far, "eve": near}, 20)
    raters = study.progress().raters
    assert [camp.members for camp in study.camps()] == [("ann", "bob", "cyd", "dan"), ("eve",)]
    found = study.disagreement()
    assert "another taste" in found["eve"].words
    assert all("another taste" not in found[name].words for name in ("ann", "bob", "cyd", "dan"))
    assert "contradicts" not in [raters[name].verdict for name in ("ann", "bob", "cyd", "dan")]
    assert raters["eve"].verdict == "contradicts"
    assert 0 < raters["eve"].doubt < 0.05  # who has another taste does look


def test_who_has_not_answered_gets_the_common_result():
    ideal = PLANE.from_angle(0.3)
    study = rated({"ann": ideal, "bob": ideal}, 6)
    assert np.array_equal(study.recommend(rater="new"), study.recommend())
    assert study.uncertainty(rater="new") > study.uncertainty()
    assert study.camps()[0].members == ("ann", "bob")


def test_studies_without_raters_have_no_camps():
    assert gd.create_study(PLANE, rng=0).camps() == []
    study = gd.create_study(SPHERE, "duel-newton", rng=0)
    for name in ("ann", "bob"):
        study.tell(study.ask(rater=name), "a", rater=name)
    with pytest.raises(errors.ArgumentError, match="no result for rater"):
        study.camps()


# -- skips, ties, undo -----------------------------------------------------------------------------


def test_a_skipped_question_is_replaced(nudge):
    """The only question of a step: the step begins anew, with another question."""
    for method in (gd.RDNGD(step_size=0.1), nudge()):
        study = gd.create_study(SPHERE, method, rng=0)
        first = study.ask()
        study.tell(first, "skip")
        second = study.ask()
        assert not np.array_equal(first.a, second.a)
        progress = study.progress()
        assert (progress.answered, progress.skips) == (0, 1)
        assert np.array_equal(study.recommend(), study.undo().a * 0 + study.recommend())


def test_a_skip_within_a_step_counts_as_a_tie():
    """Later questions of a step depend on it, so it cannot be asked anew."""
    skipped, tied = newton(), newton()
    for study, word in ((skipped, "skip"), (tied, "tie")):
        for answer in ("a", word, "b", "a", word):
            study.tell(study.ask(), answer)
    assert np.array_equal(skipped.ask().a, tied.ask().a)
    assert (skipped.progress().skips, skipped.progress().ties) == (2, 0)
    assert (tied.progress().skips, tied.progress().ties) == (0, 2)


def test_skipping_for_ever_stays_quick(nudge):
    for method in (gd.RDNGD(step_size=0.1), gd.Auto(), nudge()):
        study = gd.create_study(SPHERE, method, rng=0)
        began = time.process_time()
        for _ in range(100):
            study.tell(study.ask(), "skip")
        assert time.process_time() - began < 1.5
        assert study.progress().answered == 0


@pytest.mark.parametrize("answer", ["a", "b", "tie"])
def test_any_answers_at_all(answer, nudge):
    """Cycles, ties for ever: still a recommendation on the manifold, and no drift under ties."""
    for method in (gd.RDNGD(step_size=0.1), gd.Auto(), gd.DuelCSA(), gd.Block()):
        study = gd.create_study(SPHERE, method, rng=0)
        start = study.recommend()
        for _ in range(40):
            study.tell(study.ask(), answer)
        SPHERE.check_point(study.recommend())
        if answer == "tie":
            assert np.array_equal(study.recommend(), start)


def test_asking_for_too_many_stays_quick(nudge):
    study = gd.create_study(SPHERE, nudge(), rng=0)
    assert len(study.ask(10**9)) == 32
    assert len(newton().ask(10**9)) == 2


def test_undo_withdraws_what_followed():
    study = newton()
    for answer in "ab":
        study.tell(study.ask(rater="ann"), answer)
    next_block = study.ask(rater="bob")
    reopened = study.undo()
    assert (reopened.id, reopened.state, reopened.rater) == (1, "open", "ann")
    assert study.duels[next_block.id].state == "withdrawn"
    with pytest.raises(errors.AlreadyAnsweredError, match="withdrawn"):
        study.tell(next_block, "a")
    assert study.tell(next_block, "a", skip_if_finished=True).answer is None
    assert study.ask(rater="ann").id == 1
    study.tell(1, "b")
    assert np.array_equal(study.ask(rater="bob").a, next_block.a)  # the same question, a new duel


def test_undo_of_one_rater(nudge, replay):
    study = gd.create_study(SPHERE, nudge(), rng=0)
    for rater in ("ann", "bob", "ann"):
        study.tell(study.ask(rater=rater), "a")
    assert study.undo(rater="bob").id == 1
    assert study.undo(rater="bob") is None
    assert study.undo().id == 2
    assert study.progress().answered == 1
    assert len(replay(study, nudge()).state.heard) == 1


def test_undo_of_one_duel_alone(nudge):
    study = gd.create_study(SPHERE, nudge(), rng=0)
    assert study.last_answered() is None
    duels = [study.tell(study.ask(rater=rater), "a") for rater in ("ann", "bob", "ann")]
    assert study.undo(duel=1) is study.undo("bob", duel=duels[0]) is None
    assert (study.last_answered(), study.last_answered("bob")) == (2, 1)
    assert study.undo("bob", duel=duels[1]).id == 1
    assert study.undo("bob", duel=duels[1]) is None  # the same call once more
    assert study.undo(duel=2).id == 2
    assert study.progress().answered == 1
    with pytest.raises(errors.ArgumentError, match="duel must be a Duel or its id, got 'a'"):
        study.undo(duel="a")


def test_undo_of_what_others_built_on():
    study = newton()
    duels = [study.ask(rater=r) for r in ("ann", "bob")]
    for duel in duels:
        study.tell(duel, "a")
    study.tell(study.ask(rater="bob"), "a")
    with pytest.raises(errors.ArgumentError, match="others have answered what followed"):
        study.undo(rater="ann")
    assert study.progress().answered == 3


def test_undo_of_a_vote_beside_a_late_one():
    """The late vote comes after the answer to what followed; it can be taken back itself."""
    study = gd.create_study(SPHERE, "rdngd", rng=0, votes=3, budget=60)
    duels = {rater: study.ask(rater=rater) for rater in ("ann", "bob", "eve")}
    study.tell(duels["ann"], "a")
    study.tell(duels["bob"], "a")
    study.tell(study.ask(rater="ann"), "a")
    before = study.recommend()
    study.tell(duels["eve"], "b")
    with pytest.raises(errors.ArgumentError, match="others have answered what followed"):
        study.undo(rater="bob")
    assert study.undo(rater="eve").id == duels["eve"].id
    assert np.array_equal(study.recommend(), before)
    study.tell(study.ask(rater="bob"), "b")
    assert study.progress().answered == 4


def test_undo_of_a_report(nudge, replay):
    study = gd.create_study(SPHERE, nudge(), rng=0)
    assert study.undo() is None
    duel = study.report_preference(np.eye(3)[0], np.eye(3)[1])
    assert (duel.role, duel.answer, study.progress().reports) == ("report", "a", 1)
    assert study.undo().state == "withdrawn"
    assert study.progress().reports == 0
    assert replay(study, nudge()).state.heard == ()
    with pytest.raises(errors.NotOnManifoldError, match="worse"):
        study.report_preference(np.eye(3)[0], np.ones(3))
    with pytest.raises(errors.ArgumentError, match="same point"):
        study.report_preference(np.eye(3)[0], np.eye(3)[0])


def test_what_is_reported_is_returned_whatever_others_do_meanwhile(nudge, monkeypatch):
    study = gd.create_study(SPHERE, nudge(), rng=0)
    other = gd.load_study(study.name, study.storage, method=nudge())
    log_result = study._log_result
    monkeypatch.setattr(study, "_log_result", lambda: (other.ask(), log_result()))
    told = study.report_preference(np.eye(3)[0], np.eye(3)[1])
    assert (told.id, told.role) == (0, "report")
    assert [duel.role for duel in study.duels] == ["report", "question"]


@pytest.mark.parametrize("between", ["tell", "undo"])
def test_an_undo_that_is_tried_again_returns_what_it_took_back(nudge, between):
    """After a connection that was lost in its turn, when others have written meanwhile."""

    class Lost(MemoryStorage):
        def write(self, name, act, durable=True):
            if self.lost:
                self.lost = False

                def fails(log):
                    act(log)
                    raise ConnectionError

                with pytest.raises(ConnectionError):
                    super().write(name, fails)
                if between == "tell":
                    other.tell(second.id, "a")
                else:
                    other.undo()
            return super().write(name, act, durable)

    storage = Lost()
    storage.lost = False
    study = gd.create_study(SPHERE, nudge(), rng=0, storage=storage, study_name="s")
    other = gd.load_study("s", storage, method=nudge())
    first, second = study.ask(), study.ask()
    study.tell(first, "a")
    storage.lost = True
    taken = study.undo()
    if between == "tell":
        assert (taken.id, taken.state) == (second.id, "open")
        assert study.duel(first.id).state == "answered"
    else:
        assert taken is None


def test_ids_of_answered_duels_come_the_last_first(nudge):
    study = gd.create_study(SPHERE, nudge(), rng=0)
    for said, rater in (("a", "ann"), ("skip", "bob"), ("tie", "ann"), ("b", None)):
        study.tell(study.ask(rater=rater), said, rater=rater)
    study.report_preference(np.eye(3)[0], np.eye(3)[1], rater="bob")
    study.ask()
    assert study.answered_ids() == [4, 3, 2, 1, 0]
    assert study.answered_ids("bob") == [4, 1]
    study.undo("bob")
    assert study.answered_ids("bob") == [1]


# -- the end ---------------------------------------------------------------------------------------


def test_finished_by_accuracy(nudge):
    study = gd.create_study(SPHERE, nudge(x_tol=0.1), rng=0)
    study.optimize(gd.from_objective(lambda x: x[0]), 1000)
    assert study.progress().finished == "x_tol"
    assert study.progress().remaining == 0
    with pytest.raises(errors.StudyFinishedError, match="x_tol; recommend"):
        study.ask()


def test_a_budget_may_be_raised_while_others_look_on(tmp_path):
    url = f"sqlite:///{tmp_path}/s.db"
    study = gd.create_study(SPHERE, "duel-newton", rng=0, budget=5, storage=url, study_name="s")
    other = gd.load_study("s", url)
    oracle = gd.from_objective(lambda x: x[0])
    study.optimize(oracle)
    with pytest.raises(errors.StudyFinishedError, match="budget"):
        other.ask()
    study.budget = 20
    assert other.budget == 20 == other.progress().budget
    other.optimize(oracle)
    assert study.progress().answered == 20
    kept = gd.import_study(study.export(tmp_path / "s.jsonl") and tmp_path / "s.jsonl")
    assert kept.budget == 20 == gd.load_study("s", url).budget
    whole = gd.create_study(SPHERE, "duel-newton", rng=0, budget=20)
    whole.optimize(oracle)
    assert np.array_equal(study.recommend(), whole.recommend())


def test_a_budget_that_the_steps_depend_on_is_not_changed(nudge):
    study = gd.create_study(SPHERE, "rdngd", rng=0, budget=50)
    with pytest.raises(errors.ArgumentError, match="steps depend on its length"):
        study.budget = 60
    with pytest.raises(errors.ArgumentError, match="budget must be an integer >= 1"):
        study.budget = 0
    assert study.budget == 50


def test_remaining_is_about_right(nudge):
    """The toy method shrinks by a tenth an answer; real ones scatter."""
    study = gd.create_study(SPHERE, nudge(), rng=0, repeats=0.0)
    assert study.progress(1e-3).remaining is None
    study.optimize(gd.from_objective(lambda x: x[0]), 20)
    now: Any = study.progress().uncertainty
    assert study.progress(now * 0.9**12).remaining == 12
    assert study.progress().remaining is None  # no accuracy stated


def test_remaining_of_a_real_method():
    """The median is right to a factor of three, two thirds of the way."""
    ratios = []
    for seed in range(8):
        study = gd.create_study(gd.Sphere(5), "duel-newton", rng=seed)
        study.optimize(gd.from_objective(lambda x: -x[2]), 90)
        expected, needed = study.progress(1e-7).remaining, 0
        while study.progress(1e-7).remaining != 0:
            study.optimize(gd.from_objective(lambda x: -x[2]), 1)
            needed += 1
        if expected is not None:
            ratios.append(expected / needed)
    assert len(ratios) >= 6
    assert 1 / 3 < np.median(ratios) < 3


def test_optimize_stops_and_survives_errors():
    study = newton()
    seen = []

    def callback(study, duel):
        seen.append(duel.answer)
        if len(seen) == 5:
            study.stop()

    study.optimize(gd.from_objective(lambda x: -x[2]), 100, callbacks=[callback])
    assert len(seen) == 5 == study.progress().answered

    def broken(x, y):
        raise RuntimeError("the lab is closed")

    with pytest.raises(errors.OracleError, match="lab is closed"):
        study.optimize(broken, 10)
    assert study.progress().open == 1
    study.optimize(gd.from_objective(lambda x: -x[2]), 20)
    assert study.progress().answered == 25
    assert study.progress().open <= 1


def test_domains_decide_first():
    """Pairs with a point outside are decided by the set; people see feasible points only."""
    cap = gd.Ball(SPHERE, np.array([0.0, 0.0, 1.0]), 0.8)
    study = gd.create_study(SPHERE, gd.Auto(domain=cap), rng=0)
    study.optimize(gd.from_objective(lambda x: x[2]), 60)
    assert all(cap.contains(d.a) and cap.contains(d.b) for d in study.duels)
    assert abs(SPHERE.dist(study.recommend(), cap.center) - 0.8) < 0.05


def test_many_threads_one_study(threads, nudge):
    study = gd.create_study(SPHERE, nudge(), rng=0, budget=300, repeats=0.0)
    assert sorted(threads(lambda i: study)) == list(range(300))
    assert study.progress().answered == 300


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_replay_is_taken_up_again(error, monkeypatch, nudge):
    """Ctrl-C, or an error of the method, in the middle of a step: the answers are there."""
    for method, part in ((gd.Auto(), gd.manifolds.Sphere), (nudge(), nudge)):
        study, plain = (gd.create_study(SPHERE, method, rng=0) for _ in range(2))
        for _ in range(9):  # and one more, which ends a block of both methods
            for s in (study, plain):
                s.tell(s.ask(), "a")
        plain.tell(plain.ask(), "a")
        duel = study.ask()
        name = "exp" if part is gd.Sphere else "update"

        def fail(*args, **options):
            raise error

        monkeypatch.setattr(part, name, fail)
        with contextlib.suppress(KeyboardInterrupt):
            study.tell(duel, "a")
        with pytest.raises(error):
            study.recommend()
        monkeypatch.undo()
        assert study.progress().answered == 10
        assert np.array_equal(study.recommend(), plain.recommend())
        assert np.array_equal(study.ask().a, plain.ask().a)


@pytest.mark.parametrize("error", [np.linalg.LinAlgError, errors.NotOnManifoldError])
def test_a_method_that_fails_for_ever_is_undone(error, monkeypatch, nudge):
    """An answer that it cannot take is stored; the study can be loaded, and the answer undone."""
    storage = MemoryStorage()
    study = gd.create_study(SPHERE, nudge(), storage=storage, study_name="s", rng=0)
    study.tell(study.ask(rater="ann"), "a")
    before, update = study.recommend(), nudge.update

    def dies_of_b(self, manifold, state, a, b, answer, rng, **more):
        if answer > 0:
            raise error("Singular matrix")
        return update(self, manifold, state, a, b, answer, rng, **more)

    monkeypatch.setattr(nudge, "update", dies_of_b)
    study.tell(study.ask(rater="ann"), "b")
    for handle in (study, gd.load_study("s", storage, method=nudge())):
        for call in (handle.ask, handle.recommend, handle.progress):
            with pytest.raises(error):
                call()
        assert len(handle.duels) == 2
    handle.undo(rater="ann")
    assert np.array_equal(study.recommend(), before)
    assert study.ask(rater="ann").id == 1


# -- other versions --------------------------------------------------------------------------------


def older(monkeypatch, method: str, url: str, **more) -> tuple[gd.Study, dict[str, Any]]:
    """A study whose method has changed since, as it is opened now; and what it said then."""
    study = gd.create_study(SPHERE, method, storage=url, study_name=method, rng=3, **more)
    for i in range(12):
        duel = study.ask(rater="ann")
        study.tell(duel, {4: "tie", 7: "skip"}.get(i, "a" if duel.a[2] > duel.b[2] else "b"))
    study.undo()
    last = study.ask(rater="ann")
    then = study.progress()
    said = {
        "point": study.recommend(),
        "progress": {f: getattr(then, f) for f in ("answered", "uncertainty", "noise", "skips")},
        "export": study.export(),
        "last": last.id,
    }
    monkeypatch.setattr(type(study.method), "version", study.method.version + 1)
    with pytest.warns(errors.OlderStudyWarning, match="was made with version"):
        return gd.load_study(method, url), said


@pytest.mark.parametrize("method", ["duel-newton", "duel-csa", "block", "rdngd", "ideal-point"])
def test_a_study_of_an_earlier_version_is_as_it_was(method, monkeypatch, url, tmp_path):
    """Answers, recommendation, progress and export; an answer that comes now is kept, too."""
    more = {"budget": 60} if method == "rdngd" else {}
    study, said = older(monkeypatch, method, url, **more)
    assert np.array_equal(study.recommend(), said["point"])
    progress = study.progress()
    assert {name: getattr(progress, name) for name in said["progress"]} == said["progress"]
    assert progress.finished == "version"
    assert progress.note == study.note
    assert study.export(tmp_path / "s.jsonl") == said["export"]
    with pytest.raises(errors.StudyFinishedError, match=r"and nothing is asked; ") as caught:
        study.ask()
    assert caught.value.reason == "version"
    with pytest.warns(errors.OlderStudyWarning):
        copy = gd.import_study(tmp_path / "s.jsonl")
    assert np.array_equal(copy.recommend(), said["point"])
    assert copy.duels == study.duels
    study.tell(said["last"], "a")
    assert study.progress().answered == progress.answered + 1


def test_an_upgrade_learns_from_all_answers(monkeypatch, url):
    """As if the new version had been given them from the start; other handles follow."""
    study, said = older(monkeypatch, "ideal-point", url)
    with pytest.warns(errors.OlderStudyWarning):
        other = gd.load_study(study.name, url)
    found = study.upgrade()
    assert (found.before + 1, found.answers) == (found.after, 11)
    assert found.uncertainties[0] == said["progress"]["uncertainty"]
    assert found.moved == SPHERE.dist(said["point"], study.recommend())
    assert study.note is None is study.progress().finished
    duel = study.ask(rater="ann")
    assert other.ask(rater="ann") == duel
    other.tell(duel, "a")
    again = gd.load_study(study.name, url)  # any warning is an error here
    assert np.array_equal(again.recommend(), study.recommend())
    assert again.upgrade().before == again.upgrade().after
    monkeypatch.setattr(gd.IdealPoint, "version", gd.IdealPoint.version - 1)
    with pytest.warns(errors.OlderStudyWarning, match="a later version of geoduel"):
        back = gd.load_study(study.name, url)
    assert np.array_equal(back.recommend(), again.recommend())
    with pytest.raises(errors.ArgumentError, match="cannot be upgraded"):
        back.upgrade()


def test_what_cannot_be_upgraded_says_so(monkeypatch, url):
    """And names what can be done: a new study from where the old one was."""
    study, said = older(monkeypatch, "duel-newton", url)
    with pytest.raises(errors.ArgumentError, match=r"cannot be upgraded.*x0=study\.recommend\(\)"):
        study.upgrade()
    assert study.export() == said["export"]
    new = gd.create_study(SPHERE, "duel-newton", x0=study.recommend(), rng=0)
    assert np.allclose(new.recommend(), said["point"], rtol=0, atol=1e-15)


@pytest.mark.parametrize("method", ["ideal-point", "duel-newton", "rdngd"])
def test_a_trace_is_what_was_recommended_then(method):
    study, then = gd.create_study(gd.Sphere(3), method, rng=0, budget=40), []
    for n in range(12):
        study.tell(study.ask(), ("a", "b", "tie")[n % 3])
        then.append(study.recommend())
    trace = study.trace(60.0)
    assert [n for n, _ in trace] == list(range(1, 13))
    for (_, point), recommended in zip(trace, then, strict=True):
        np.testing.assert_array_equal(point, recommended)
    study.undo()
    study.tell(study.ask(), "b")  # another answer in the place of the last
    trace = study.trace(60.0)
    assert len(trace) == 12
    np.testing.assert_array_equal(trace[-1][1], study.recommend())
    study.tell(study.ask(), "b")
    assert len(study.trace(0.0)) == 12  # no time to go on
    assert len(study.trace(60.0)) == 13


def test_an_attribute_is_attached_once_if_wanted(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    first = gd.create_study(gd.Sphere(3), storage=url, study_name="s", rng=0)
    second = gd.load_study("s", url)
    assert first.set_user_attr("name", 1, once=True) is True
    assert second.set_user_attr("name", 2, once=True) is False
    assert first.user_attrs == second.user_attrs == {"name": 1}
    assert second.set_user_attr("name", 3) is True


def test_one_duel_by_its_number():
    study = gd.create_study(gd.Sphere(3), rng=0)
    study.tell(study.ask(), "a")
    study.ask()
    assert [study.duel(n) for n in range(2)] == study.duels
    for number, words in {-1: "number must be an integer >= 0, got -1", 2: "has no duel 2"}.items():
        with pytest.raises(gd.errors.ArgumentError, match=words):
            study.duel(number)


# -- catalogues ------------------------------------------------------------------------------------

GOAL = np.array([0.6, 0.0, 0.8])
ITEMS = SPHERE.random_point(np.random.default_rng(0), (300,))


def prefer_goal(study, n, **how):
    for _ in range(n):
        duel = study.ask(**how)
        study.tell(duel, "a" if duel.a @ GOAL > duel.b @ GOAL else "b")


def test_only_items_are_shown_and_recommended():
    study = gd.create_study(SPHERE, among=ITEMS, rng=0)
    prefer_goal(study, 16, rater="ann")
    pairs = [duel.items for duel in study.duels]
    for duel in study.duels:
        assert duel.items[0] != duel.items[1]
        assert np.array_equal(ITEMS[list(duel.items)], [duel.a, duel.b])
    new = [frozenset(p) for p, d in zip(pairs, study.duels, strict=True) if d.role == "question"]
    assert len(set(new)) == len(new)  # a pair that has its answer is not asked once more
    best = int(np.argmax(ITEMS @ GOAL))
    assert study.rank(1).tolist() == [study.catalogue.index(study.recommend())]
    assert best in study.rank(5)
    assert best in study.rank(5, rater="ann")
    assert len(set(study.rank(300).tolist())) == 300


def test_a_study_of_items_is_replayed_with_and_without_them(tmp_path):
    url = f"sqlite:///{tmp_path / 'items.db'}"
    study = gd.create_study(SPHERE, among=ITEMS, storage=url, study_name="items", rng=0)
    prefer_goal(study, 8)
    again = gd.load_study("items", url, among=ITEMS.tolist())
    assert np.array_equal(again.recommend(), study.recommend())
    assert again.ask(rater="ann").items == study.ask(rater="ann").items
    bare = gd.load_study("items", url)
    assert bare.progress().answered == 8
    assert bare.duels == study.duels
    for call in (bare.ask, bare.recommend, bare.rank):
        with pytest.raises(errors.ArgumentError, match=r"300 items.*load it with among=items"):
            call()
    with pytest.raises(errors.ArgumentError, match=r"300 items with digest .*, got 299 items"):
        gd.load_study("items", url, among=ITEMS[1:])
    study.export(tmp_path / "items.jsonl")
    copy = gd.import_study(tmp_path / "items.jsonl", among=ITEMS)
    assert np.array_equal(copy.rank(3), study.rank(3))
    more = {"storage": url, "study_name": "items", "load_if_exists": True}
    assert gd.create_study(SPHERE, among=ITEMS, **more).progress().answered == 8
    with pytest.raises(errors.ArgumentError, match="among="):
        gd.create_study(SPHERE, among=ITEMS[::-1], **more)


def test_a_pair_of_ones_own_is_of_items_where_only_these_are_shown():
    study = gd.create_study(SPHERE, among=ITEMS, rng=0)
    study.enqueue(ITEMS[3], ITEMS[8])
    assert study.ask().items == (3, 8)
    with pytest.raises(errors.ArgumentError, match="b is no item"):
        study.enqueue(ITEMS[3], GOAL)


def test_items_may_be_dictionaries_of_named_parts(tmp_path):
    """In `ask`, `recommend` and `minimize`; the items are in the space, so its bounds are kept."""
    sound = gd.space(gain=(-12, 12), mix=gd.Simplex(3))
    rng = np.random.default_rng(0)
    items = [{"gain": 24 * k / 29 - 12, "mix": rng.dirichlet(np.ones(3))} for k in range(30)]
    nearer = gd.from_objective(lambda p: abs(p["gain"] - items[20]["gain"]))
    url = f"sqlite:///{tmp_path / 'items.db'}"
    study = gd.create_study(sound, among=items, storage=url, study_name="items", rng=0)
    study.optimize(nearer, n_duels=12)
    duel = study.ask(rater="ann")
    assert duel.a["gain"] == items[duel.items[0]]["gain"]
    assert study.recommend()["gain"] == items[study.rank(1)[0]]["gain"]
    assert gd.load_study("items", url, among=items).ask(rater="ann").items == duel.items

    free = gd.create_study(sound, rng=0)
    duel = free.ask(among=items)
    assert duel.b["gain"] == items[duel.items[1]]["gain"]
    free.tell(duel, "a")
    assert free.recommend(among=items[3:])["gain"] in [item["gain"] for item in items[3:]]

    result = gd.minimize(nearer, sound, among=items, rng=0)
    assert result.index == 20
    assert result.x["gain"] == items[20]["gain"]


def test_questions_about_items_show_two():
    with pytest.raises(errors.ArgumentError, match="items of a catalogue show two"):
        gd.create_study(SPHERE, among=ITEMS, rng=0, choices=3)
    with pytest.raises(errors.ArgumentError, match="items of a catalogue show two"):
        gd.create_study(SPHERE, among=ITEMS, rng=0).ask(choices=3)


def test_what_is_in_stock_may_change_from_question_to_question():
    """A question that is open and shows what is gone stays open, and another one is asked."""
    study = gd.create_study(SPHERE, rng=0)
    first = study.ask(rater="ann", among=ITEMS)
    left = np.delete(ITEMS, first.items[0], axis=0)
    second = study.ask(rater="ann", among=left)
    assert second.id != first.id
    assert np.array_equal(left[list(second.items)], [second.a, second.b])
    assert study.ask(rater="ann", among=ITEMS).id in (first.id, second.id)
    for duel in (first, second):
        study.tell(duel, "a" if duel.a @ GOAL > duel.b @ GOAL else "b")
    prefer_goal(study, 12, rater="ann", among=left)
    assert study.catalogue is None
    assert study.ask().items is None
    assert study.recommend(among=left) in gd.Catalogue(SPHERE, left)


def test_items_in_many_dimensions_and_in_one():
    many = gd.Sphere(12)
    study = gd.create_study(many, among=many.random_point(np.random.default_rng(0), (50,)), rng=0)
    assert study.method.sweeps
    assert study.ask().items is not None
    angles = PLANE.random_point(np.random.default_rng(0), (50,))
    study = gd.create_study(PLANE, among=angles, rng=0)
    assert study.method_name == "bisection"
    for _ in range(12):
        duel = study.ask()
        near, far = (PLANE.dist(x, angles[3]) for x in (duel.a, duel.b))
        study.tell(duel, "a" if near < far else "b")
    assert 3 in study.rank(3)


def test_items_of_a_plain_are_not_looked_for_where_none_are():
    """Of a catalogue far from the origin, the middle and the extent are known from the start."""
    plane = gd.Euclidean(2)
    items = np.random.default_rng(0).normal(size=(400, 2)) * 50 + 3000
    study = gd.create_study(plane, among=items, rng=0)
    study.optimize(gd.from_objective(lambda x: plane.dist(x, items[7])), n_duels=20)
    assert 7 in study.rank(5)


def test_methods_that_make_their_own_points_refuse_items():
    with pytest.raises(errors.ArgumentError, match="can ask about any pair"):
        newton(among=ITEMS)
    with pytest.raises(errors.ArgumentError, match="'duel-newton' asks about points that it makes"):
        newton().ask(among=ITEMS)
    with pytest.raises(errors.ArgumentError, match="among= and domain="):
        gd.create_study(SPHERE, among=ITEMS, domain=gd.Ball(SPHERE, GOAL, 0.5))
    with pytest.raises(errors.ArgumentError, match="rank needs items"):
        gd.create_study(SPHERE).rank()


# -- points that cannot be -------------------------------------------------------------------------


def test_an_infeasible_point_loses_and_the_log_says_why(tmp_path):
    study = newton()
    first, second = study.ask(), None
    told = study.tell(first, "a infeasible")
    assert (told.answer, told.infeasible) == ("b", "a")
    second = study.ask()
    assert study.tell(second, "b infeasible").answer == "a"
    third = study.tell(study.ask(), "both infeasible")
    assert (third.answer, third.infeasible) == ("skip", "both")
    twin = newton()
    for word in ("b", "a", "skip"):
        twin.tell(twin.ask(), word)
    assert np.array_equal(twin.recommend(), study.recommend())
    study.export(tmp_path / "a.jsonl")
    assert gd.import_study(tmp_path / "a.jsonl").duels == study.duels
    assert [d.infeasible for d in gd.import_study(tmp_path / "a.jsonl").duels] == ["a", "b", "both"]
    with pytest.raises(errors.ArgumentError, match="'both infeasible'"):
        study.tell(study.ask(), "c infeasible")


def test_a_strength_is_told_kept_taken_back_and_learned_from(tmp_path):
    """It leads to other questions, also after a replay; a method that knows none takes the sign."""
    study = gd.create_study(SPHERE, x0=np.eye(3)[0], rng=0)
    twin = gd.create_study(SPHERE, x0=np.eye(3)[0], rng=0)
    for word in ("a", "b", "a", "a"):
        assert study.tell(study.ask(), f"{word} slightly").strength == "slightly"
        assert twin.tell(twin.ask(), word).strength is None
    assert not np.array_equal(study.recommend(), twin.recommend())
    study.export(tmp_path / "a.jsonl")
    again = gd.import_study(tmp_path / "a.jsonl")
    assert again.duels == study.duels
    assert np.array_equal(again.ask().a, study.ask().a)
    undone = study.undo()
    assert (undone.answer, undone.strength) == (None, None)
    assert study.tell(undone, "skip").strength is None
    step, plain = newton(), newton()
    for word in ("a", "b", "a"):
        step.tell(step.ask(), f"{word} clearly")
        plain.tell(plain.ask(), word)
    assert np.array_equal(step.ask().a, plain.ask().a)
    for bad in ("tie clearly", "c clearly", "clearly"):
        with pytest.raises(errors.ArgumentError, match="'b clearly'"):
            step.tell(step.ask(), bad)
    several = gd.create_study(SPHERE, rng=0, choices=3)
    with pytest.raises(errors.ArgumentError, match="answer must name some"):
        several.tell(several.ask(), "a clearly")


@pytest.mark.parametrize("method", ["ideal-point", Nudge()])
def test_a_study_ends_where_fewer_than_two_items_are_feasible(method, tmp_path):
    study = gd.create_study(SPHERE, method, among=ITEMS[:3], rng=0)
    first = study.tell(study.ask(), "a infeasible").items[0]
    last = study.tell(study.ask(), "b infeasible").items[0]
    assert study.progress().finished == "items"
    with pytest.raises(errors.StudyFinishedError, match="no more: items"):
        study.ask()
    assert np.array_equal(study.recommend(), ITEMS[last])
    assert study.rank().tolist() == [last]
    with pytest.raises(errors.ArgumentError, match="fewer than two items are left of among="):
        study.ask(among=ITEMS[[first, last]])
    assert study.undo().items[0] == last
    assert study.progress().finished is None
    study.tell(study.ask(), "both infeasible")  # of all, that is
    assert study.progress().finished == "items"
    assert study.recommend() in gd.Catalogue(SPHERE, ITEMS[:3])


def test_infeasible_items_are_neither_shown_nor_recommended_again():
    study = gd.create_study(SPHERE, among=ITEMS[:40], rng=0)
    gone = set()
    for k in range(12):
        duel = study.ask()
        assert not gone & set(duel.items)
        if k % 3 == 0:
            gone |= set(duel.items)
            study.tell(duel, "both infeasible")
        elif k % 3 == 1:
            gone.add(duel.items[1])
            study.tell(duel, "b infeasible")
        else:
            study.tell(duel, "a" if duel.a @ GOAL > duel.b @ GOAL else "b")
    left = study.rank(40).tolist()
    assert sorted(left) == sorted(set(range(40)) - gone)
    assert study.catalogue.index(study.recommend()) == left[0]
    undone = study.undo()
    while undone.infeasible is None and undone.id % 3 != 1:
        undone = study.undo()
    assert set(undone.items) - gone <= set(study.rank(40).tolist())


def test_an_enqueued_pair_is_asked_next(nudge, replay):
    """Of anybody, or of the rater named; the method learns from it as from any other."""
    study = gd.create_study(SPHERE, nudge(), rng=0)
    held = study.ask(rater="ann")
    x, y, z = np.eye(3)
    first, second = study.enqueue(x, y), study.enqueue(z, x)
    of_bob = study.enqueue(y, z, rater="bob")
    assert (first.role, first.state, first.rater, of_bob.rater) == ("enqueued", "open", None, "bob")
    assert study.ask(rater="ann").id == held.id  # who holds a question keeps it
    assert [study.ask().id for _ in range(2)] == [first.id, second.id]
    assert study.ask(rater="cyd").role == "question"
    assert study.ask(2, rater="bob")[0].id == of_bob.id
    study.tell(first, "a")
    assert np.array_equal(study.recommend(), replay(study, nudge()).state.best)
    asked = {d.left for d in (study.enqueue(x, y) for _ in range(20))}
    assert asked == {"a", "b"}  # sides are drawn


def test_a_shared_queue_is_handed_out_once(tmp_path):
    """Of two programs each gets another pair, and an import knows them."""
    url, (x, y, z) = f"sqlite:///{tmp_path / 'a.db'}", np.eye(3)
    study = gd.create_study(SPHERE, storage=url, study_name="s", rng=0)
    other = gd.load_study("s", url)
    pairs = [other.enqueue(x, y).id, other.enqueue(y, z).id]
    assert [study.ask(rater="ann").id, other.ask(rater="bob").id] == pairs
    study.tell(pairs[0], "b", rater="ann")
    study.export(tmp_path / "s.jsonl")
    assert gd.import_study(tmp_path / "s.jsonl").duels == other.duels


def test_what_cannot_be_enqueued():
    x, y, z = np.eye(3)
    with pytest.raises(errors.ArgumentError, match="'duel-csa' learns from its own questions"):
        gd.create_study(SPHERE, "duel-csa", rng=0).enqueue(x, y)
    cap = gd.Ball(SPHERE, z, 0.5)
    study = gd.create_study(SPHERE, domain=cap, rng=0)
    for pair, words in (
        ((z, x), "b is not in the domain"),
        ((z, z), "a and b are the same point"),
        ((2 * z, z), "a is not on"),
        ((np.eye(3), z), "a must be one point"),
    ):
        with pytest.raises(errors.ArgumentError, match=words):
            study.enqueue(*pair)
    with pytest.raises(errors.ArgumentError, match="rater must be a name"):
        study.enqueue(z, np.array([0.28, 0.0, 0.96]), rater="")
    assert study.duels == []


def test_the_best_point_is_what_is_recommended():
    study = newton()
    study.optimize(gd.from_objective(lambda x: -x[2]), 30)
    assert np.array_equal(study.best_point, study.recommend())


def test_the_table_has_a_row_a_duel():
    pandas = pytest.importorskip("pandas")
    study = gd.create_study(SPHERE, rng=0)
    x, _, z = np.eye(3)
    empty = study.to_dataframe()
    study.report_preference(z, x, rater="ann")
    study.tell(study.ask(rater="bob"), "tie")
    study.ask()
    table = study.to_dataframe()
    assert list(table.columns) == list(empty.columns)
    assert list(table.index) == [0, 1, 2]
    assert table.index.name == "id"
    assert list(table["role"]) == ["report", "question", "question"]
    assert list(table["answer"].fillna("")) == ["a", "tie", ""]
    assert np.array_equal(np.stack(table["a"]), [d.a for d in study.duels])
    for frame in (empty, table):
        assert isinstance(frame["asked"].dtype, pandas.DatetimeTZDtype)
        assert frame["seconds"].dtype == float
    duel = study.duel(1)
    assert duel.answered is not None
    took = duel.answered - duel.asked
    assert list(table["seconds"])[1] == pytest.approx(took, abs=1e-3)
    assert all(pandas.isna(table[name][2]) for name in ("answered", "seconds", "of"))


def test_the_table_has_the_points_of_questions_of_several():
    """In columns of their letters, as the manifold hands them out; others have none."""
    pandas = pytest.importorskip("pandas")
    view = gd.space(angle=gd.Torus(1), tone=gd.Simplex(3))
    study = gd.create_study(view, rng=0)
    study.tell(study.ask(), "a")
    four = study.ask(choices=4)
    table = study.to_dataframe()
    assert list(table.columns[:5]) == ["a", "b", "c", "d", "role"]
    assert pandas.isna(table["c"][0])
    for letter, point in zip("abcd", four.points, strict=True):
        assert np.array_equal(view.manifold.pack(table[letter][four.id]), point)


def test_a_table_needs_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(errors.MissingExtraError, match="pip install pandas"):
        newton().to_dataframe()


def test_a_study_is_logged(caplog, tmp_path, nudge):
    """What it is at INFO, each question and answer at DEBUG."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with caplog.at_level(logging.DEBUG, logger="geoduel"):
        study = gd.create_study(SPHERE, nudge(), storage=url, study_name="s", rng=0)
        study.tell(study.ask(rater="ann"), "b")
        study.undo()
        study.optimize(gd.from_objective(lambda x: -x[2]), 3)
        gd.load_study("s", url, method=nudge())
        gd.delete_study("s", url)
    said = [(r.levelname, r.getMessage().removeprefix("study 's'")) for r in caplog.records]
    info = [words for level, words in said if level == "INFO"]
    assert info[0].startswith(" is made: Nudge")
    assert info[1:] == [
        ": an oracle answers",
        ": the oracle has answered 3 duels",
        " is loaded, with 4 duels",
        " is deleted",
    ]
    debug = [words for level, words in said if level == "DEBUG"]
    assert ": duels [0] are asked of ann" in debug
    assert ": duel 0 is told 'b' by None" in debug
    assert ": the answer to duel 0 is taken back" in debug
    assert any(words.startswith(": a new best point, known to") for words in debug)


# -- more than two points --------------------------------------------------------------------------


def four(**options):
    return gd.create_study(gd.Sphere(3), x0=np.eye(3)[0], rng=0, choices=4, **options)


def test_a_question_shows_as_many_points_as_wanted():
    study = four()
    duel = study.ask()
    assert study.choices == 4
    assert len(duel.points) == 4
    assert sorted(duel.shown) == list("abcd")
    assert duel.left is None
    assert len(study.ask(rater="ann", choices=2).points) == 2
    assert len(study.ask(rater="ben", choices=3).points) == 3
    assert study.tell(duel, "c").answer == "c>abd"
    assert study.progress().answered == 1
    assert {study.ask(rater=f"r{n}", choices=6).shown for n in range(5)} != {"abcdef"}


def test_rankings_are_kept_undone_skipped_and_exported(tmp_path):
    study = four(storage=f"sqlite:///{tmp_path}/s.db", study_name="s")
    for said in ("c", "b>a", "d>bc>a", "tie", "a>b=c>d", "skip", "a>b>c>d"):
        study.tell(study.ask(), said)
    progress = study.progress()
    assert (progress.answered, progress.skips, progress.ties) == (6, 1, 1)
    best = study.recommend()
    assert np.array_equal(gd.load_study("s", study.storage).recommend(), best)
    study.export(tmp_path / "s.jsonl")
    again = gd.import_study(tmp_path / "s.jsonl")
    assert np.array_equal(again.recommend(), best)
    assert again.duels == study.duels
    undone = study.undo()
    assert undone.answer is None
    assert not np.array_equal(study.recommend(), best)
    study.tell(undone, "a>b>c>d")
    assert np.array_equal(study.recommend(), best)


@pytest.mark.slow
def test_several_raters_may_rank():
    """Each finds an own ideal, from rankings as from pairs."""
    sphere, study = gd.Sphere(3), four()
    rng = np.random.default_rng(5)
    people = {name: draw_person(sphere, np.eye(3)[0], rng) for name in ("ann", "ben")}
    for n in range(20):
        name = ("ann", "ben")[n % 2]
        duel = study.ask(rater=name)
        study.tell(duel, people[name].rate(duel, "ranking"))
    assert all(people[name].regret(study.recommend(rater=name)) < 6 for name in people)
    assert set(study.disagreement()) == {"ann", "ben"}
    assert study.progress().raters["ann"].answers == 10


def test_an_oracle_of_pairs_finds_the_best_of_several():
    sphere, study = gd.Sphere(3), four()
    ideal = sphere.to_manifold(np.array([1.0, 0.3, -0.2]))
    study.optimize(gd.from_objective(lambda x: sphere.dist(x, ideal)), n_duels=12)
    answers = {duel.answer[0]: duel for duel in study.duels}
    for letter, duel in answers.items():
        nearest = np.argmin([sphere.dist(point, ideal) for point in duel.points])
        assert letter == "abcd"[nearest]
    assert sphere.dist(study.recommend(), ideal) < 0.1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gd.create_study(gd.Sphere(3), "duel-newton", choices=3), "made for people"),
        (lambda: gd.create_study(gd.Sphere(3), choices=7), "from 2 to 6"),
        (lambda: four().ask(choices=1), "choices"),
        (lambda: (lambda s: s.tell(s.ask(), "e"))(four()), "a, b, c, d"),
        (lambda: (lambda s: s.tell(s.ask(), "left"))(four()), "a, b, c, d"),
        (lambda: (lambda s: s.tell(s.ask(choices=2), "c"))(four()), "answer"),
    ],
)
def test_bad_choices_are_named(call, words):
    with pytest.raises(errors.ArgumentError, match=words):
        call()


@pytest.mark.parametrize("manifold", [PLANE, gd.Euclidean(1)])
def test_a_question_shows_fewer_points_where_there_are_no_more_to_ask_about(manifold):
    """In one dimension six points soon repeat; the study goes on, and no point is shown twice."""
    person = draw_person(manifold, manifold.origin(), np.random.default_rng(3))
    study = gd.create_study(manifold, x0=manifold.origin(), rng=0, choices=6)
    for _ in range(25):
        duel = study.ask()
        assert 2 <= len({point.tobytes() for point in duel.points}) == len(duel.points)
        study.tell(duel, person.rate(duel))
    assert person.regret(study.recommend()) < 1


# -- comparisons that DuelNewton has not asked for -------------------------------------------------


def informed(url, early=3, late=2):
    """A study of eight dimensions that hears of pairs before its first step is over, and after."""
    sphere, rng = gd.Sphere(8), np.random.default_rng(5)
    nearer = gd.from_objective(lambda x: -x[0])
    study = gd.create_study(sphere, "duel-newton", storage=url, study_name="informed", rng=0)

    def report():
        a, b = sphere.random_point(rng, (2,))
        study.report_preference(*((a, b) if nearer(a, b) < 0 else (b, a)))

    for k in range(30):
        if k in range(2, 2 + early) or k in range(20, 20 + late):
            report()
        study.optimize(nearer, 1)
    return study


def test_duel_newton_learns_from_pairs_of_others(tmp_path):
    """Each of them is in its window, and the log replays to the last bit."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    study = informed(url)
    assert study.progress().reports == 5
    again = gd.load_study("informed", url)
    assert np.array_equal(again.recommend(), study.recommend())
    assert np.array_equal(again.ask(rater="ann").a, study.ask(rater="ann").a)
    without = informed(f"sqlite:///{tmp_path / 'b.db'}", 0, 0)
    windows = [s._player.state.window for s in (study, without)]
    assert len(windows[0].answers) == len(windows[1].answers) + 5
    assert not np.array_equal(study.recommend(), without.recommend())


def test_what_is_learned_late_is_not_lost_by_a_checkpoint():
    """Reports before the first step is over wait; whoever goes back has them again."""
    study = informed(None)
    player = study._player
    before = player.state
    for count in range(player.count, -1, -1):
        player.rewind(count)
        player.follow(study._book)
        for now, then in zip(player.state.window, before.window, strict=True):
            assert np.array_equal(now, then)


def test_a_pair_of_ones_own_is_learned_and_can_be_taken_back():
    study = newton()
    x, _, z = np.eye(3)
    study.enqueue(x, z)
    first = study.ask(rater="ann")
    assert (first.role, study.tell(first, "b").answer) == ("enqueued", "b")
    assert study.undo().id == first.id
    study.tell(first.id, "a")
    study.tell(study.ask(rater="bob"), "a")
    with pytest.raises(errors.ArgumentError, match="others have answered what followed"):
        study.undo(rater="ann")
    assert study.undo(rater="bob").state == "open"
    assert study.undo(rater="ann").state == "open"
    assert [duel.role for duel in study.open_duels] == ["enqueued"]
    study.tell(first.id, "tie")
    study.optimize(gd.from_objective(lambda x: -x[2]), 60)
    assert study.recommend()[2] > 1 - 1e-3


def test_auto_learns_where_it_is_duel_newton():
    study = gd.create_study(gd.Sphere(9), rng=0)
    study.report_preference(*np.eye(9)[:2])
    assert study.progress().reports == 1
    with pytest.raises(errors.ArgumentError, match="'duel-csa' learns from its own"):
        gd.create_study(SPHERE, "duel-csa", rng=0).report_preference(*np.eye(3)[:2])
